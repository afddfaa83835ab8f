"""Measurements made ready for fitting: steps of the scale in their order, and weights."""

import gzip
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import perfcore
from perfcore import Measurements
from perfcore.base.errors import OptionError, PerfError
from perfcore.hooks.registry import build_options, registry

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


def fitted(data, **options):
    return perfcore.fit(data, fitter="individual", functions="1", **options)


def columns_of(model):
    """Values, factors to the scale of the fit, weights and numbers of runs."""
    seen = model.observations
    value, p = np.array(seen.value), np.array(seen.points["p"])
    names = [model.codes[k] for k in seen.code], [model.systems[k] for k in seen.system]
    factor = model.preparation.factor({"p": p}, *names)
    return value, factor, np.array(model.root_weights) ** 2, np.array(seen.repetitions)


def test_equation_4(runs):
    """t' = t p / W_c * r_peak, each step in its turn; a fit in that scale has the errors of one by hand."""
    model = fitted(runs, operations=OPERATIONS, peak=PEAK)
    assert model.preparation.formula == "t' = t * p / operations * peak"
    value, factor, weights, _ = columns_of(model)
    seen, squares = model.observations, {}
    for at, p in enumerate(seen.points["p"]):
        code, system = model.codes[seen.code[at]], model.systems[seen.system[at]]
        assert factor[at] == pytest.approx(p / OPERATIONS[code] * PEAK[system], rel=1e-14)
        squares.setdefault((code, system), []).append((p, value[at] * factor[at]))
    assert (weights == 1).all()
    for pair in model.pairs:
        (p, scaled) = np.array(squares[pair.code, pair.system]).T  # t' = c p
        assert pair.sum_of_squares == pytest.approx(scaled @ scaled - (p @ scaled) ** 2 / (p @ p), rel=1e-9)


@pytest.mark.parametrize("column", ["bandwidth_MB_s", "rate_per_s", "gflops", "tokens/s"])
def test_a_rate_is_fitted_as_it_was_measured(runs, column):
    """t * p of a code that scales perfectly is constant; its rate times p grows like p^2 and says nothing."""
    runs[column] = 1.0 / runs.pop("time_s")
    assert fitted(runs, value=column).preparation.formula == "t' = t"
    assert fitted(runs, value=column, prepare="parameter").preparation.formula == "t' = t * p"  # as it was said


def test_the_unit_decides_what_a_rate_is_and_not_the_name(runs):
    runs = runs.rename(columns={"time_s": "result"})
    assert fitted(runs, value="result").preparation.formula == "t' = t * p"
    assert fitted(runs, value="result", unit="GB/s").preparation.formula == "t' = t"
    assert fitted(runs.assign(unit="items/sec"), value="result").preparation.formula == "t' = t"


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


@pytest.mark.parametrize(("steps", "formula"), [
    ("auto", "t' = t * p / operations * peak"), ("none", "t' = t"), ("parameter", "t' = t * p"),
    ("operations", "t' = t / operations"), ("peak", "t' = t * peak"), ("peak,parameter", "t' = t * p * peak"),
])  # fmt: skip
def test_steps_by_name(runs, steps, formula):
    assert fitted(runs, operations=OPERATIONS, peak=PEAK, prepare=steps).preparation.formula == formula


def test_weights_by_number_of_runs(runs):
    _, _, weights, runs_of = columns_of(fitted(runs, weights="repetitions"))
    assert weights.mean() == pytest.approx(1)
    assert weights / runs_of == pytest.approx(np.full(12, 1 / 1.5))  # 18 runs of 12 points


def test_weights_by_the_spread_of_the_runs(runs):
    """Smyth's moderated variance of the relative errors: 4 shared degrees of freedom and the point's own."""
    model = fitted(runs, weights="spread", aggregate="mean")
    value, factor, weights, runs_of = columns_of(model)
    expected, own = [], [_variance(runs, model, at) for at in range(12)]
    shared = np.mean([variance for variance, number in zip(own, runs_of, strict=True) if number == 2])
    for at in range(12):
        more = runs_of[at] - 1
        moderated = (4 * shared + more * own[at]) / (4 + more) if more else shared
        expected.append(runs_of[at] / (moderated * (value[at] * factor[at]) ** 2))
    assert weights == pytest.approx(np.array(expected) / np.mean(expected), rel=1e-12)


def _variance(runs, model, at):
    """Squared relative standard deviation of the runs of one point."""
    seen = model.observations
    pair = (runs["code"] == model.codes[seen.code[at]]) & (runs["system"] == model.systems[seen.system[at]])
    mine = pair & (runs["procs"] == seen.points["p"][at])
    times = runs["time_s"][mine]
    return (times.std(ddof=1) / times.mean()) ** 2 if len(times) > 1 else 0.0


def test_a_spread_that_is_zero_by_chance_does_not_rule(runs):
    """Two runs that agree to the last digit weigh more than others, but not without bound."""
    equal = runs.copy()
    first = (equal["code"] == "BT") & (equal["system"] == "SP2") & (equal["procs"] == 4)
    equal.loc[first, "time_s"] = equal["time_s"][first].mean()
    equal.loc[equal.index[first][1], "procs"] = 4.0
    value, factor, weights, runs_of = columns_of(fitted(equal, weights="spread", duplicates="keep"))
    weight = weights * (value * factor) ** 2 / runs_of
    assert weight.max() <= weight[runs_of == 1][0] * 5 / 4 * (1 + 1e-12)


# Quantities of codes and systems: from columns, formulas, small tables, or typed.
COLUMNS = {
    "code": ["lu", "lu", "cg", "cg"], "class": ["A", "B", "A", "A"], "nodes": [16.0, 8.0, 16.0, 8.0],
    "time_s": [8.0, 4.0, 2.0, 1.0], "mops": [2.0, 4.004, 10.0, 20.0], "gflop": [1.5, 1.5, 3.0, 3.0],
    "size": [1, 2, 4, 8], "peak": [2.5, 5.0, 2.5, 5.0], "wrong": [1.0, 1.0, -2.0, -2.0],
    "none": [1.0, 1.0, 3.0, np.nan], "text": ["a", "a", "b", "b"],
}  # fmt: skip


@pytest.fixture
def data():
    table = pd.concat([pd.DataFrame({**COLUMNS, "p": p}) for p in (1, 2, 4)], ignore_index=True)
    return Measurements(table, system="nodes", source="runs.csv")


def of_codes(given, data, what="operations"):
    """Name of the quantities of codes, or peaks of systems, in the scale of a fit, and their values."""
    steps = fitted(data, **{what: given}).preparation.steps
    return next((step.name, step.quantities) for step in steps if step.of != "parameter")


@pytest.fixture
def small_table(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def write(text, name="counts.csv"):
        Path(name).write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
        return name

    return write


@pytest.mark.parametrize(("given", "words"), [
    ({"SP": 85.01, "BT D": 7}, ("SP=85.01", "BT D=7.0")), ("SP=85,BT=168.3", ("SP=85", "BT=168.3")),
    ("mops*time_s", ("mops*time_s",)), (" max(mops,gflop) ", ("max(mops,gflop)",)),
    ("counts.csv:gflop", ("counts.csv:gflop",)), (Path("counts.csv"), ("counts.csv",)),
    (["SP=85", "BT=168"], ("SP=85", "BT=168")),
])  # fmt: skip
def test_quantities_as_an_option_takes_them(given, words):
    chosen, _ = build_options(registry().entry("fitters", "individual"), {"operations": given})
    assert chosen.operations == words


def test_a_column_gives_its_value_of_each_system(data):
    """Systems that are numbers are called without a needless .0, here as in the observations."""
    assert of_codes("peak", data, "peak") == ("peak", {"16": 2.5, "8": 5.0})
    assert data.observations().systems == ("16", "8")


def test_a_formula_is_averaged_over_the_rows_of_a_code(data):
    """Printed rates are rounded, so products of rate and time differ in their last digits."""
    name, found = of_codes("mops*time_s/1000", data)
    assert name == "mops*time_s/1000"
    assert found == pytest.approx({"lu": (2.0 * 8.0 + 4.004 * 4.0) / 2000, "cg": 0.02})


@given(st.lists(st.floats(0.999, 1.001), min_size=1, max_size=9), st.floats(1e-9, 1e15))
def test_what_differs_by_rounding_is_one_quantity(factors, size):
    values = np.array(factors) * size
    table = pd.DataFrame({"code": "lu", "p": range(1, len(factors) + 1), "time_s": 1.0, "work": values})
    _, found = of_codes("work", Measurements(table))
    assert found["lu"] == pytest.approx(values.mean(), rel=1e-12)


@pytest.mark.parametrize(("given", "problem"), [
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
    ("lu=0", r"'lu=0': NAME=VALUE with a positive number"), ("lu=-1", r"'lu=-1': NAME=VALUE with a positive number"),
    ("lu=inf", r"'lu=inf': NAME=VALUE with a positive number"),
    ("lu=nan", r"'lu=nan': NAME=VALUE with a positive number"), ("lu=1,gflop", r"^operations="),
])  # fmt: skip
def test_what_is_no_quantity_is_refused_in_one_line(data, given, problem):
    with pytest.raises(PerfError, match=problem) as caught:
        of_codes(given, data)
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize("given", ["counts.csv:gflop", "counts.csv", "counts.csv:", Path("counts.csv")])
def test_a_small_table_gives_the_only_numbers_or_the_column_named(data, small_table, given):
    small_table("code,gflop,source\nlu,119.297,print_results\ncg,1.508,print_results\nmg,3.892,\n")
    name, found = of_codes(given, data)
    assert (name, found["lu"], found["cg"]) == ("gflop", 119.297, 1.508)


def test_a_small_table_may_be_compressed_and_scaled(data, small_table):
    name = small_table("code;gflop\nlu;2\ncg;3\n", "counts.csv.gz")
    assert of_codes(f"{name}:gflop*1000", data) == ("gflop*1000", {"lu": 2000.0, "cg": 3000.0})


def test_a_small_table_is_joined_by_all_columns_of_the_name(data, small_table):
    name = small_table("class,code,gflop\nA,lu,119.297\nB,lu,498.824\nA,cg,1.508\n")
    runs = data.with_roles(code="code,class")
    assert of_codes(name, runs)[1] == {"lu A": 119.297, "lu B": 498.824, "cg A": 1.508}
