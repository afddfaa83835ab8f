"""Selection of rows: compared with the conditions evaluated row by row in plain Python."""

import operator
from dataclasses import dataclass

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perfcore.base.errors import OptionError
from perfcore.data import units
from perfcore.data.selection import Condition, parse_conditions, rows_that_meet
from perfcore.hooks.options import build, describe, option

QUICK = settings(max_examples=60, deadline=None, derandomize=True)
ORDER = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}


@pytest.mark.parametrize(("text", "conditions"), [
    ("class=D", [Condition("class", "=", ("D",))]), ("class==D", [Condition("class", "=", ("D",))]),
    ("code = LU | BT ,procs>= 16", [Condition("code", "=", ("LU", "BT")), Condition("procs", ">=", ("16",))]),
    ("p!=1", [Condition("p", "!=", ("1",))]),
    ("p<1e3,p<=8,p>2", [Condition("p", "<", ("1e3",)), Condition("p", "<=", ("8",)), Condition("p", ">", ("2",))]),
    ("wall [s]>0.5", [Condition("wall [s]", ">", ("0.5",))]), ("remark=", [Condition("remark", "=", ("",))]),
])  # fmt: skip
def test_conditions_as_a_user_types_them(text, conditions):
    assert parse_conditions(text) == tuple(conditions)


row = st.tuples(st.sampled_from("abc"), st.sampled_from([1, 2, 4]), st.sampled_from([0.5, 1.0, 2.5, None]))
tables = st.lists(row, min_size=1, max_size=12)


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


@pytest.mark.parametrize(("text", "problem"), [
    ("proc=1", "unknown column 'proc': did you mean 'procs'"),
    ("code=ly", "no row has code=ly; unknown value 'ly': did you mean 'lu'"),
    ("code!=ly", "no row has code=ly"),
    ("code=lu|cq", "no row has code=cq; unknown value 'cq': did you mean 'cg'"),
    ("procs=3", r"no row has procs=3; unknown value '3': choose from 1, 2"),
    ("code>1", "column 'code' does not hold numbers; use = or !="),
])  # fmt: skip
def test_what_the_table_does_not_have_is_refused(text, problem):
    table = pd.DataFrame({"code": ["lu", "cg"], "procs": [1, 2]})
    with pytest.raises(OptionError, match=problem):
        rows_that_meet(table, parse_conditions(text))


# Units: times, rates, amounts, and how names of columns say them.
@pytest.mark.parametrize(("duration", "unit", "text"), [
    (0, "s", "0 ns"), (999, "ns", "999 ns"), (1000, "ns", "1 us"), (0.5, "us", "500 ns"), (1.5, "ms", "1.5 ms"),
    (-2500, "ms", "-2.5 s"), (7200, "s", "7200 s"), (54_000, "s", "15 h"), (216_000_000, "ms", "2.5 d"),
])  # fmt: skip
def test_a_duration_is_read_in_the_largest_unit_that_keeps_it_at_least_1(duration, unit, text):
    assert units.readable(duration, unit) == text


@pytest.mark.parametrize(("column", "unit"), [
    ("time_s", "s"), ("time_MS", "ms"), ("wall [s]", "s"), ("wall(us)", "us"), ("elapsed (sec)", "s"),
    ("real_time_nsec", "ns"), ("run_time_h", "h"), ("elapsed [minutes]", "min"), ("Seconds", "s"),
    ("elapsed [us]", "us"), ("time (ms)", "ms"), ("Wall time [min]", "min"), ("runtime_ms", "ms"), ("time_s_min", "s"),
    ("time_per_step_s", "s"), ("time per step (s)", "s"), ("time/s", "s"), ("ns/op", "ns/op"), ("time", None),
    ("tasks", None), ("class", None), ("energy_J", None), ("s", None), ("time-s", None),
])  # fmt: skip
def test_times_are_read_from_the_ending_of_a_name(column, unit):
    assert units.unit_of(column) == unit
    assert units.is_time(unit) == (unit is not None)


@pytest.mark.parametrize(("column", "bare", "label", "factor"), [
    ("rate_per_s", "rate", "1/s", 1), ("bandwidth_MB_s", "bandwidth", "MB/s", 1e6),
    ("io_throughput_MiB_s", "io_throughput", "MiB/s", 2**20), ("flops_s", "", "flop/s", 1), ("GB/s", "", "GB/s", 1e9),
    ("requests_per_second", "", "requests/s", 1), ("ops/s", "", "ops/s", 1), ("MB_per_s", "", "MB/s", 1e6),
    ("gflops", "", "Gflop/s", 1e9), ("GFLOP/s", "", "Gflop/s", 1e9), ("tokens/s", "", "tokens/s", 1),
    ("images per minute", "", "images/min", 1 / 60), ("Bandwidth (MBytes/sec)", "Bandwidth", "MB/s", 1e6),
    ("net_Gbps", "net", "Gbit/s", 1e9 / 8), ("GBps", "", "GB/s", 1e9), ("read_iops", "read", "ops/s", 1),
    ("bandwidth_s", "bandwidth", "1/s", 1), ("Triad MB/s/core", "Triad", "MB/s/core", 1e6),
    ("ns/day", "", "ns/day", 1e-9 / 86400), ("tokens_per_s_per_gpu", "", "tokens/s/gpu", 1),
    ("throughput (tokens/s per GPU)", "throughput", "tokens/s/GPU", 1), ("t/s", "t", "t/s", 1),
    ("prompt (t/s)", "prompt", "t/s", 1), ("decode t/s/user", "decode t", "t/s/user", 1),
])  # fmt: skip
def test_a_rate_is_not_a_time(column, bare, label, factor):
    """Each of these ends with a time, and is something over it."""
    name, unit = units.split_unit(column)
    assert (name, unit.kind, unit.label) == (bare, "rate", label)
    assert unit.factor == pytest.approx(factor, rel=1e-12)
    assert units.is_rate(units.unit_of(column))
    assert not units.is_time(units.unit_of(column))


@pytest.mark.parametrize("label", sorted(units.LABELS))
def test_each_label_is_read_back_with_its_factor(label):
    """Also under a rate: a label is spelt in one way, so reading it twice changes nothing."""
    if label == "d":
        return  # spelt day, as in ns/day
    assert units.same_unit(label) == label
    assert units.same_unit(f"{label}/s") == f"{label}/s"
    assert units.unit_in_name(f"value [{label}]").factor == float(units.LABELS[label][1])


def test_factors_of_times_agree_with_nanoseconds():
    for unit, nanoseconds in (("ns", 1), ("us", 10**3), ("ms", 10**6), ("s", 10**9)):
        assert units.nanoseconds_per(unit) == nanoseconds == units.LABELS[unit][1] / units.LABELS["ns"][1]
    assert (units.seconds_per("minutes"), units.seconds_per("h"), units.seconds_per("1/s")) == (60.0, 3600.0, None)


# Options: declared once, converted and checked the same from Python and from text.
def parse_even(given):
    if int(given) % 2:
        raise ValueError("an even number is expected")
    return int(given)


@dataclass(frozen=True)
class Options:
    degree: int = option(2, "degree", minimum=0)
    scale: float | None = option(None, "scale", above=0.0)
    refine: bool = option(False, "refine")
    method: str = option("fast", "method", choices=("fast", "exact"))
    states: tuple[str, ...] = option((), "states", choices=lambda: ("run", "wait"))
    sizes: tuple[int, ...] | None = option(None, "sizes", minimum=1, metavar="N,...")
    even: int = option(0, "even", parse=parse_even)


@pytest.mark.parametrize(("name", "given", "value"), [
    ("degree", "3", 3), ("degree", 3.0, 3), ("scale", "1e-3", 0.001), ("scale", 2, 2.0), ("scale", None, None),
    ("refine", "yes", True), ("refine", "False", False), ("refine", True, True), ("method", "exact", "exact"),
    ("states", "run, wait", ("run", "wait")), ("states", ["wait"], ("wait",)), ("sizes", "1,2,3", (1, 2, 3)),
    ("sizes", range(1, 3), (1, 2)), ("sizes", None, None), ("even", "4", 4),
])  # fmt: skip
def test_accepted_values(name, given, value):
    converted = getattr(build(Options, {name: given}, "demo"), name)
    assert converted == value
    assert type(converted) is type(value)


@pytest.mark.parametrize(("name", "given", "message"), [
    ("degree", -1, "demo: degree=-1: must be at least 0"),
    ("degree", "two", r"degree='two': a number is expected \(int\)"),
    ("degree", 2.5, "degree=2.5: a whole number is expected"), ("degree", "2.5", r"a number is expected \(int\)"),
    ("degree", True, "a number is expected"), ("degree", None, "a number is expected"),
    ("degree", float("nan"), "a number is expected"), ("scale", 0, "scale=0: must be greater than 0"),
    ("scale", "nan", "expected a finite number"), ("scale", float("nan"), "expected a finite number"),
    ("scale", float("inf"), "expected a finite number"), ("scale", 10**400, r"a number is expected \(float\)"),
    ("refine", "maybe", "true or false is expected"),
    ("method", "fasst", "method='fasst': unknown value 'fasst': did you mean 'fast'"),
    ("states", "run,wat", "did you mean 'wait'. Choose from run, wait"),
    ("states", "", "unknown value ''"), ("sizes", "1,0", "must be at least 1"), ("sizes", 7, "sizes=7"),
    ("even", 3, "even=3: an even number is expected"),
])  # fmt: skip
def test_refused_values(name, given, message):
    with pytest.raises(OptionError, match=message) as caught:
        build(Options, {name: given}, "demo")
    assert "\n" not in str(caught.value)


def test_a_name_is_spelt_with_hyphens_on_the_command_line():
    @dataclass(frozen=True)
    class Long:
        break_tolerance: float = option(0.0, "tolerance")

    assert describe(Long)[0].flag == "--break-tolerance"
