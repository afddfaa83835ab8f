"""Where a model is asked to predict."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from perf_tables.arguments import grid, levels_at, parse_places
from perf_tables.points import places
from perfcore.base.errors import DataError, OptionError, UnknownNameError

CODES, SYSTEMS = ("BT", "LU"), ("SP2", "T3D", "Paragon")
COLUMNS = {"p": "procs", "n": "size"}


def test_a_mapping_of_columns_by_symbol_or_by_name():
    given = {"code": ["LU", "BT"], "system": ["T3D", "T3D"], "p": [4, 8], "size": [100, 200]}
    at = places(given, COLUMNS, CODES, SYSTEMS)
    assert len(at) == 2
    assert list(at.points) == ["p", "n"]
    assert at.points["p"].tolist() == [4.0, 8.0]
    assert at.points["n"].tolist() == [100.0, 200.0]
    assert at.points["n"].dtype == np.float64
    assert at.code.tolist() == [1, 0]
    assert at.system.tolist() == [1, 1]


def test_a_table_of_pandas_whatever_its_index():
    table = pd.DataFrame({"procs": [1, 2], "size": [8, 8], "code": ["BT", "LU"], "system": "T3D"}, index=[7, 3])
    table["code"] = table["code"].astype("category")
    at = places(table, COLUMNS, CODES, SYSTEMS)
    assert at.code.tolist() == [0, 1]


@pytest.mark.parametrize("given", [[1, 2], (1, 2), np.array([1, 2]), pd.Series([1, 2])])
def test_an_array_is_the_only_parameter(given):
    at = places(given, {"p": "procs"}, CODES[:1], SYSTEMS[:1])
    assert at.points["p"].tolist() == [1.0, 2.0]
    assert at.code.tolist() == at.system.tolist() == [0, 0]


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"q": 1}, UnknownNameError, "unknown variable 'q'"),
        ({"code": "SP"}, UnknownNameError, "unknown code 'SP': .*hoose from BT, LU"),
        ({"system": "T3E"}, UnknownNameError, "unknown system 'T3E': did you mean 'T3D'"),
        ({"p": 0}, DataError, "p=0: a positive number is expected"),
        ({"p": [4, -2]}, DataError, "p=-2: a positive number is expected"),
        ({"p": np.nan}, DataError, "p=nan: a positive number is expected"),
        ({"n": np.inf}, DataError, "n=inf: a positive number is expected"),
        ({"n": ["64", "big"]}, DataError, "n must be numbers, not 'big'"),
        ({"p": [1, 2, 4], "n": [1, 2]}, DataError, r"different lengths \(p: 3, n: 2, code: 1, system: 1\)"),
    ],
)
def test_mistakes(change, error, message):
    with pytest.raises(error, match=message):
        places({"p": 1, "n": 1, "code": "BT", "system": "SP2"} | change, COLUMNS, CODES, SYSTEMS)


# Points as they are typed: one grammar, names that hold its signs, and one message for what is none.
CODES_OF_PLACES = ("LU", "SP, class A", "SP", "k=3, n=4")
MODEL = SimpleNamespace(variables={"p": "procs", "n": "n", "code": "code"}, levels={"code": CODES_OF_PLACES}, target={})


@pytest.mark.parametrize(
    ("texts", "places"),
    [
        (["p=1,2,4"], {"p": "1,2,4"}),
        (["p=1..64*4,n=10"], {"p": "1..64*4", "n": "10"}),
        (["n=512,m=64"], {"n": "512", "m": "64"}),
        (["p=1", "n=2", "p=8,16"], {"p": "1,8,16", "n": "2"}),
        ("p=1, n = 2", {"p": "1", "n": "2"}),
        (["path=main/a=3"], {"path": "main/a=3"}),
        ([], {}),
    ],
)
def test_a_piece_with_a_sign_of_equality_begins_another_name(texts, places):
    assert parse_places(texts) == places


def test_levels_go_by_symbol_or_column_in_the_order_of_the_model():
    assert levels_at(MODEL, ["code=LU", "n=10..30:10,procs=2,8"]) == {
        "p": [2.0, 8.0],
        "n": [10.0, 20.0, 30.0],
        "code": ["LU"],
    }


def test_values_of_python():
    asked = levels_at(MODEL, {"procs": np.array([2, 4]), "n": 10, "code": ["LU", "k=3, n=4"]})
    assert asked == {"p": [2.0, 4.0], "n": [10.0], "code": ["LU", "k=3, n=4"]}
    assert levels_at(MODEL, {"p": "1..4*2", "code": "SP, class A"}) == {"p": [1.0, 2.0, 4.0], "code": ["SP, class A"]}
    assert levels_at(MODEL, "p=1,n=2") == {"p": [1.0], "n": [2.0]}


def test_every_combination_with_all_names_that_were_left_out():
    columns = grid(MODEL, ["p=1,2", "n=5"])
    assert list(columns) == ["p", "n", "code"]
    assert columns["p"] == [1.0] * 4 + [2.0] * 4
    assert columns["n"] == [5.0] * 8
    assert columns["code"] == [*CODES_OF_PLACES, *CODES_OF_PLACES]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("p=many", r"at='p=many': NAME=VALUE,\.\.\. is expected.*such as p=1\.\.1024\*2"),
        ("p=1..1e9*1.000000001", "and at most 1,000,000 can be asked for"),
        ("p=1..900000:1,1..900000:1", "and at most 1,000,000 can be asked for"),
        ("p=1..900000:1,n=1,2", r"at: 7.2e\+06 points, and at most 1,000,000 can be asked for"),
        ("p=1,,2", r"at='p=': "),
        ("p=1 and n=2", r"at='p=1' and n=2: "),
        ("n=5", "the model is one of p, n, code; give at='p="),
    ],
)
def test_mistakes_of_places(text, message):
    with pytest.raises(OptionError, match=message):
        grid(MODEL, [text])
