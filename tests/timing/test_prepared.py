"""Measurements made ready for fitting: steps of the scale in their order, and weights."""

import gzip
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import perfcore
from perf_timing.options import ScalingOptions, parse_quantities
from perf_timing.prepared import prepare, quantities_of
from perfcore import Measurements
from perfcore.base.errors import OptionError, PerfError
from perfcore.hooks.options import build

OPERATIONS = {"BT": 168.284, "LU": 119.297}
PEAK = {"SP2": 0.266, "T3D": 0.15}


@pytest.fixture
def runs():
    """Two codes on two systems, with two runs at each point of the first system and one at those of the second."""
    rng = np.random.default_rng(0)
    rows = [
        (code, system, p, rng.uniform(1, 2) / p)
        for code in OPERATIONS
        for system, repetitions in (("SP2", 2), ("T3D", 1))
        for p in (4, 16, 64)
        for _ in range(repetitions)
    ]
    return pd.DataFrame(rows, columns=["code", "system", "procs", "time_s"])


def prepared(data, **options):
    return prepare(data, build(ScalingOptions, options, "test"), "test")


def test_equation_4(runs):
    """t' = t p / W_c * r_peak, each step in its turn."""
    ready = prepared(runs, operations=OPERATIONS, peak=PEAK)
    assert ready.preparation.formula == "t' = t * p / operations * peak"
    seen = ready.seen
    for at in range(len(seen)):
        code, system = seen.codes[seen.code[at]], seen.systems[seen.system[at]]
        expected = seen.value[at] * seen.points["p"][at] / OPERATIONS[code] * PEAK[system]
        assert ready.target[at] == pytest.approx(expected, rel=1e-14)
    assert ready.by_point == pytest.approx(seen.points["p"])
    assert ready.target == pytest.approx(seen.value * ready.factor)
    assert (ready.root_weight == 1).all()


@pytest.mark.parametrize("column", ["bandwidth_MB_s", "rate_per_s", "gflops", "tokens/s"])
def test_a_rate_is_fitted_as_it_was_measured(runs, column):
    """t * p of a code that scales perfectly is constant; its rate times p grows like p^2 and says nothing."""
    runs[column] = 1.0 / runs.pop("time_s")
    ready = prepared(runs, value=column)
    assert ready.preparation.formula == "t' = t"
    assert (ready.factor == 1.0).all()
    assert prepared(runs, value=column, prepare="parameter").preparation.formula == "t' = t * p"  # as it was said


def test_the_unit_decides_what_a_rate_is_and_not_the_name(runs):
    runs = runs.rename(columns={"time_s": "result"})
    assert prepared(runs, value="result").preparation.formula == "t' = t * p"
    assert prepared(runs, value="result", unit="GB/s").preparation.formula == "t' = t"
    assert prepared(runs.assign(unit="items/sec"), value="result").preparation.formula == "t' = t"


def test_a_sum_of_works_over_speeds_is_no_model_of_a_rate(runs):
    """Times of the parts of a program add up to its time; their rates do not add up to its rate."""
    runs = runs.rename(columns={"time_s": "bandwidth_GB_s"})
    for call in (perfcore.fit, perfcore.rank):
        with pytest.raises(OptionError, match=r"is a rate \(GB/s\), and strohmaier adds up times") as caught:
            call(runs, fitter="strohmaier", value="bandwidth_GB_s")
        assert len(str(caught.value).splitlines()) == 1
    perfcore.fit(runs, fitter="strohmaier", value="bandwidth_GB_s", functions="1/p", prepare="none")


def test_a_law_of_a_rate_is_found_in_its_own_scale():
    """10 p of perfect scaling: one function, its coefficient, and a prediction in MB/s."""
    table = pd.DataFrame({"p": [1, 2, 4, 8, 16], "bandwidth_MB_s": [10.0, 20.0, 40.0, 80.0, 160.0]})
    model = perfcore.fit(table, fitter="individual", functions="p")
    assert model.unit == "MB/s"
    assert model.predict({"p": [32]}) == pytest.approx([320.0])


@pytest.mark.parametrize(
    ("steps", "formula"),
    [
        ("auto", "t' = t * p / operations * peak"),
        ("none", "t' = t"),
        ("parameter", "t' = t * p"),
        ("operations", "t' = t / operations"),
        ("peak", "t' = t * peak"),
        ("peak,parameter", "t' = t * p * peak"),
    ],
)
def test_steps_by_name(runs, steps, formula):
    ready = prepared(runs, operations=OPERATIONS, peak=PEAK, prepare=steps)
    assert ready.preparation.formula == formula
    assert ready.target / ready.factor == pytest.approx(ready.seen.value, rel=1e-14)


def test_relative_weights_make_every_value_one(runs):
    ready = prepared(runs, weights="relative")
    assert ready.target * ready.root_weight == pytest.approx(np.ones(12))


def test_weights_by_number_of_runs(runs):
    weight = prepared(runs, weights="repetitions").root_weight ** 2
    count = prepared(runs).seen.repetitions
    assert weight.mean() == pytest.approx(1)
    assert weight / count == pytest.approx(np.full(12, 1 / 1.5))  # 18 runs of 12 points


def test_weights_by_the_spread_of_the_runs(runs):
    """Smyth's moderated variance of the relative errors: 4 shared degrees of freedom and the point's own."""
    ready = prepared(runs, weights="spread", aggregate="mean")
    seen = ready.seen
    expected = []
    shared = np.mean([_variance(runs, seen, at) for at in range(12) if seen.repetitions[at] == 2])
    for at in range(12):
        own = seen.repetitions[at] - 1
        moderated = (4 * shared + own * _variance(runs, seen, at)) / (4 + own) if own else shared
        expected.append(seen.repetitions[at] / (moderated * ready.target[at] ** 2))
    assert ready.root_weight**2 == pytest.approx(np.array(expected) / np.mean(expected), rel=1e-12)


def _variance(runs, seen, at):
    """Squared relative standard deviation of the runs of one point."""
    mine = (
        (runs["code"] == seen.codes[seen.code[at]])
        & (runs["system"] == seen.systems[seen.system[at]])
        & (runs["procs"] == seen.points["p"][at])
    )
    times = runs["time_s"][mine]
    return (times.std(ddof=1) / times.mean()) ** 2 if len(times) > 1 else 0.0


def test_a_spread_that_is_zero_by_chance_does_not_rule(runs):
    """Two runs that agree to the last digit weigh more than others, but not without bound."""
    equal = runs.copy()
    first = (equal["code"] == "BT") & (equal["system"] == "SP2") & (equal["procs"] == 4)
    equal.loc[first, "time_s"] = equal["time_s"][first].mean()
    equal.loc[equal.index[first][1], "procs"] = 4.0
    relative = prepared(equal, weights="spread", duplicates="keep")
    weight = relative.root_weight**2 * relative.target**2 / relative.seen.repetitions
    assert weight.max() <= weight[relative.seen.repetitions == 1][0] * 5 / 4 * (1 + 1e-12)


QUICK = settings(max_examples=40, deadline=None, derandomize=True)


# Quantities of codes and systems: from columns, formulas, small tables, or typed.
@pytest.fixture
def data():
    return Measurements(
        pd.DataFrame(
            {
                "code": ["lu", "lu", "cg", "cg"],
                "class": ["A", "B", "A", "A"],
                "nodes": [16.0, 8.0, 16.0, 8.0],
                "p": [1, 2, 4, 8],
                "time_s": [8.0, 4.0, 2.0, 1.0],
                "mops": [2.0, 4.004, 10.0, 20.0],
                "gflop": [1.5, 1.5, 3.0, 3.0],
                "size": [1, 2, 4, 8],
                "peak": [2.5, 5.0, 2.5, 5.0],
                "wrong": [1.0, 1.0, -2.0, -2.0],
                "none": [1.0, 1.0, 3.0, np.nan],
                "text": ["a", "a", "b", "b"],
            }
        ),
        system="nodes",
        source="runs.csv",
    )


def of_codes(given, data):
    return quantities_of(parse_quantities(given), data, "code", "--operations")


@pytest.fixture
def small_table(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def write(text, name="counts.csv"):
        Path(name).write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
        return name

    return write


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"SP": 85.01, "BT D": 7}, ("SP=85.01", "BT D=7.0")),
        ("SP=85,BT=168.3", ("SP=85", "BT=168.3")),
        ("mops*time_s", ("mops*time_s",)),
        (" max(mops,gflop) ", ("max(mops,gflop)",)),
        ("counts.csv:gflop", ("counts.csv:gflop",)),
        (Path("counts.csv"), ("counts.csv",)),
        (["SP=85", "BT=168"], ("SP=85", "BT=168")),
    ],
)
def test_quantities_as_an_option_takes_them(given, words):
    assert parse_quantities(given) == words


def test_a_column_gives_its_value_of_each_code(data):
    assert of_codes("gflop", data) == ("gflop", {"lu": 1.5, "cg": 3.0})


def test_a_column_gives_its_value_of_each_system(data):
    """Systems that are numbers are called without a needless .0, here as in the observations."""
    assert quantities_of(("peak",), data, "system", "--peak") == ("peak", {"16": 2.5, "8": 5.0})
    assert data.observations().systems == ("16", "8")


def test_a_formula_is_averaged_over_the_rows_of_a_code(data):
    """Printed rates are rounded, so products of rate and time differ in their last digits."""
    name, found = of_codes("mops*time_s/1000", data)
    assert name == "mops*time_s/1000"
    assert found == pytest.approx({"lu": (2.0 * 8.0 + 4.004 * 4.0) / 2000, "cg": 0.02})


@QUICK
@given(st.lists(st.floats(0.999, 1.001), min_size=1, max_size=9), st.floats(1e-9, 1e15))
def test_what_differs_by_rounding_is_one_quantity(factors, size):
    values = np.array(factors) * size
    table = pd.DataFrame({"code": "lu", "p": range(1, len(factors) + 1), "time_s": 1.0, "work": values})
    _, found = of_codes("work", Measurements(table))
    assert found["lu"] == pytest.approx(values.mean(), rel=1e-12)


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ("size", r"^runs.csv: size of code lu is between 1 and 2; .*name the code by more columns, or give a table"),
        ("wrong", r"^runs.csv: row 2: wrong of code cg is -2; a positive number is expected"),
        ("gflop - 1.5", r"^runs.csv: row 0: gflop - 1.5 of code lu is 0; a positive number"),
        ("1/(size - 1)", r"of code lu is inf; a positive number"),
        ("text", r"^runs.csv: row 0: text is 'a'; a number is expected"),
        ("gflops", r"^unknown column of runs.csv \(and there is no such file\) 'gflops': did you mean 'gflop'"),
        ("mops*tim_s", r"unknown column .* 'tim_s': did you mean 'time_s'"),
        ("mops *", r"^operations='mops \*': neither a column, nor a file, nor a formula"),
        ("counts.csv", r"^operations='counts.csv': neither a column, nor a file, nor a formula"),
        ("lu=1,cg=", r"^operations='cg=': NAME=VALUE with a positive number is expected"),
        ("lu=1,cg=x", r"'cg=x': NAME=VALUE with a positive number"),
        ("lu=0", r"'lu=0': NAME=VALUE with a positive number"),
        ("lu=-1", r"'lu=-1': NAME=VALUE with a positive number"),
        ("lu=inf", r"'lu=inf': NAME=VALUE with a positive number"),
        ("lu=nan", r"'lu=nan': NAME=VALUE with a positive number"),
        ("lu=1,gflop", r"^operations="),
    ],
)
def test_what_is_no_quantity_is_refused_in_one_line(data, given, problem):
    with pytest.raises(PerfError, match=problem) as caught:
        of_codes(given, data)
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize("given", ["counts.csv:gflop", "counts.csv", "counts.csv:", Path("counts.csv")])
def test_a_small_table_gives_the_only_numbers_or_the_column_named(data, small_table, given):
    small_table("code,gflop,source\nlu,119.297,print_results\ncg,1.508,print_results\nmg,3.892,\n")
    assert of_codes(given, data) == ("gflop", {"lu": 119.297, "cg": 1.508, "mg": 3.892})


def test_a_small_table_may_be_compressed_and_scaled(data, small_table):
    name = small_table("code;gflop\nlu;2\ncg;3\n", "counts.csv.gz")
    assert of_codes(f"{name}:gflop*1000", data) == ("gflop*1000", {"lu": 2000.0, "cg": 3000.0})


def test_a_small_table_is_joined_by_all_columns_of_the_name(data, small_table):
    name = small_table("class,code,gflop\nA,lu,119.297\nB,lu,498.824\nA,cg,1.508\n")
    runs = data.with_roles(code="code,class")
    assert of_codes(name, runs)[1] == {"lu A": 119.297, "lu B": 498.824, "cg A": 1.508}


@pytest.mark.real_data
def test_printed_rates_and_published_counts_agree(real_data):
    """FT and MG of class C are in both files; rates are printed with two decimals, in Mop/s."""
    runs = perfcore.read(real_data / "scaling" / "npb_mpi_picluster.csv").with_roles(code="code,class")
    _, measured = of_codes("mops_total*time_s/1000", runs)
    _, published = of_codes(f"{real_data / 'scaling' / 'npb_opcounts.csv'}:gflop", runs)
    assert set(measured) & set(published) == {"FT C", "MG C"}
    for code in ("FT C", "MG C"):
        assert measured[code] == pytest.approx(published[code], rel=1e-4)
    assert published["FT C"] == 396.388
    with pytest.raises(OptionError, match=r"npb_opcounts.csv: say which column to take, .*iterations, gflop"):
        of_codes(real_data / "scaling" / "npb_opcounts.csv", runs)
