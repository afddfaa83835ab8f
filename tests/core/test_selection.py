"""Selection of rows: compared with the conditions evaluated row by row in plain Python."""

import operator

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perfcore import Measurements
from perfcore.base.errors import OptionError
from perfcore.data.selection import Condition, parse_conditions, rows_that_meet

QUICK = settings(max_examples=150, deadline=None, derandomize=True)
ORDER = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}


@pytest.mark.parametrize(
    ("text", "conditions"),
    [
        ("class=D", [Condition("class", "=", ("D",))]),
        ("class==D", [Condition("class", "=", ("D",))]),
        ("code = LU | BT ,procs>= 16", [Condition("code", "=", ("LU", "BT")), Condition("procs", ">=", ("16",))]),
        ("p!=1", [Condition("p", "!=", ("1",))]),
        ("p<1e3,p<=8,p>2", [Condition("p", "<", ("1e3",)), Condition("p", "<=", ("8",)), Condition("p", ">", ("2",))]),
        ("wall [s]>0.5", [Condition("wall [s]", ">", ("0.5",))]),
        ("remark=", [Condition("remark", "=", ("",))]),
    ],
)
def test_conditions_as_a_user_types_them(text, conditions):
    assert parse_conditions(text) == tuple(conditions)


tables = st.lists(
    st.tuples(st.sampled_from("abc"), st.sampled_from([1, 2, 4]), st.sampled_from([0.5, 1.0, 2.5, None])),
    min_size=1,
    max_size=12,
)


@QUICK
@given(tables, st.sampled_from(["=", "!=", *ORDER]), st.sampled_from([0.5, 1.0, 2.5, 4.0]), st.sampled_from("px"))
def test_numbers_are_compared_as_numbers(found, relation, bound, column):
    """What is missing equals nothing and stands in no order."""
    table = pd.DataFrame(found, columns=["code", "p", "x"]).astype({"x": float})
    values = [row[1 if column == "p" else 2] for row in found]
    if relation in ORDER:
        expected = [value is not None and ORDER[relation](value, bound) for value in values]
    elif bound not in values:
        with pytest.raises(OptionError, match=f"no row has {column}={bound}"):
            rows_that_meet(table, parse_conditions(f"{column}{relation}{bound}"))
        return
    else:
        expected = [(value == bound) == (relation == "=") for value in values]
    assert rows_that_meet(table, parse_conditions(f"{column}{relation}{bound}")).tolist() == expected


@QUICK
@given(tables, st.sets(st.sampled_from("abc"), min_size=1), st.booleans(), st.sampled_from([1, 2, 4]))
def test_conditions_hold_together_and_values_side_by_side(found, chosen, negated, least):
    table = pd.DataFrame(found, columns=["code", "p", "x"])
    chosen &= {code for code, *_ in found}
    if not chosen:
        return
    text = f"code{'!=' if negated else '='}{'|'.join(sorted(chosen))},p>={least}"
    expected = [(code in chosen) != negated and p >= least for code, p, _ in found]
    assert rows_that_meet(table, parse_conditions(text)).tolist() == expected


@pytest.mark.parametrize("text", ["p=2", "p=2.0", "p=02", "p==2e0", " p = 2 "])
@pytest.mark.parametrize("dtype", ["int64", "float32", "Int64", "Float64"])
def test_a_number_may_be_spelt_in_several_ways(text, dtype):
    table = pd.DataFrame({"p": pd.Series([1, 2, 4]).astype(dtype)})
    assert rows_that_meet(table, parse_conditions(text)).tolist() == [False, True, False]


@pytest.mark.parametrize(
    "values",
    [["a b", " c ", None], pd.Categorical(["a b", "c", None]), pd.array(["a b", "c", None], dtype="string")],
    ids=["object", "category", "string"],
)
def test_texts_are_compared_without_the_blanks_around_them(values):
    table = pd.DataFrame({"host": values})
    assert rows_that_meet(table, parse_conditions("host=c")).tolist() == [False, True, False]
    assert rows_that_meet(table, parse_conditions("host != a b")).tolist() == [False, True, True]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("proc=1", "unknown column 'proc': did you mean 'procs'"),
        ("code=ly", "no row has code=ly; unknown value 'ly': did you mean 'lu'"),
        ("code!=ly", "no row has code=ly"),
        ("code=lu|cq", "no row has code=cq; unknown value 'cq': did you mean 'cg'"),
        ("procs=3", r"no row has procs=3; unknown value '3': Known: 1, 2"),
        ("code>1", "column 'code' does not hold numbers; use = or !="),
    ],
)
def test_what_the_table_does_not_have_is_refused(text, problem):
    table = pd.DataFrame({"code": ["lu", "cg"], "procs": [1, 2]})
    with pytest.raises(OptionError, match=problem):
        rows_that_meet(table, parse_conditions(text))


@QUICK
@given(tables, st.sampled_from([1, 2, 4]))
def test_one_condition_after_another_is_both_at_once(found, least):
    table = pd.DataFrame(found, columns=["code", "p", "x"]).assign(time_s=np.arange(len(found)) + 1.0)
    code = found[0][0]
    data = Measurements(table)
    try:
        both = data.where(f"code={code},p>={least}").table
    except OptionError:
        assert not any(row[0] == code and row[1] >= least for row in found)
        return
    assert data.where(f"code={code}").where(f"p>={least}").table.equals(both)
    assert both["time_s"].tolist() == [k + 1.0 for k, row in enumerate(found) if row[0] == code and row[1] >= least]
