"""The model of scaling laws: predictions, remarks, its file, and what it refuses."""

import itertools
import json

import numpy as np
import pandas as pd
import pytest
from scaling.test_law_growth import LEVELS, two_paths

import perfcore
from perfcore.base.errors import DataError, ModelFileError


@pytest.fixture(scope="module")
def model():
    return two_paths(5)


def test_predictions_are_near_the_means_that_were_measured(model):
    for path, means in zip(model.paths, model.means, strict=True):
        predicted = model.predict({"p": LEVELS, "path": [path] * 5})
        assert predicted == pytest.approx(means, rel=3 * 0.05 / np.sqrt(5))


def test_bounds_of_a_run_are_wider_than_those_of_the_mean(model):
    value, low, high = model.predict_array({"p": [16.0, 16.0], "path": list(model.paths)}, interval=0.95).T
    band = model.band([[16.0]], 0.95)[:, 0]
    assert value == pytest.approx(band[:, 0])
    assert (low < band[:, 1]).all()
    assert (high > band[:, 2]).all()
    assert (low >= 0).all()


@pytest.mark.parametrize(("change", "message"), [
    (lambda content: content["paths"].pop(), "not as many paths as data"),
    (lambda content: content["points"].update(p=[4, 8]), "as there are points"),
    (lambda content: content["data"][0].update(laws=[10_000] * len(content["data"][0]["laws"])), "does not have"),
    (lambda content: content["data"][0].update(laws=[]), "not as many weights as laws"),
    (lambda content: content.update(target={"q": 3.0}), "target"),
    (lambda content: content.update(points={}), "points"),
    (lambda content: content["points"]["p"].__setitem__(0, -4.0), "no positive numbers that differ"),
    (lambda content: content["target"].update(p=0.0), "no positive numbers that differ"),
    (lambda content: content["data"][0]["weights"].__setitem__(0, -0.5), "add up to 1"),
    (lambda content: content["data"][0]["levels"].__setitem__(0, 5), "deviates that was not measured"),
    (lambda content: content["data"][0].update(spread=-1.0), "noise of a path"),
    (lambda content: content["settings"].__setitem__(0, [0.0, 0.0, 3.0]), "no positive number"),
    (lambda content: content["data"][0]["means"].__setitem__(0, 1e300), "no positive numbers"),
    (lambda content: content["laws"].__setitem__(0, [[1.0, [["p", 99.0, 0]]]]), "no powers of a term"),
    (lambda content: content["laws"].__setitem__(0, [[1.0, [["p", 0.0, 0]]]]), "constant"),
])  # fmt: skip
def test_a_file_that_was_edited_wrongly_is_refused(model, tmp_path, change, message):
    content = json.loads(json.dumps(model.to_dict()))
    change(content["model"])
    (tmp_path / "laws.json").write_text(json.dumps(content))
    with pytest.raises(ModelFileError, match=message):
        perfcore.load(tmp_path / "laws.json")


def test_other_measurements_verify_the_model(tmp_path):
    """A model of two paths against the truth at twice the largest level, and a path that it does not know."""
    laws = {"scan": lambda p: 3 + 0.5 * p, "split": lambda p: 2 + 400 / p}
    rows = [(p, name, law(p)) for p in (4, 8, 16, 32, 64) for name, law in laws.items()]
    model = perfcore.fit(pd.DataFrame(rows, columns=["p", "callpath", "time_s"]), fitter="scaling")
    later = [(128, name, law(128)) for name, law in laws.items()] * 2 + [(128, "new", 7.0), (128, "scan", 0.0)]
    found = perfcore.validate(model, pd.DataFrame(later, columns=["p", "callpath", "time_s"]))
    assert found.labels == ("scan, p=128", "split, p=128")
    assert found.measured.tolist() == [67.0, 5.125]
    assert np.abs(found.errors).max() < 0.05
    assert ((found.lower < found.measured) & (found.measured < found.upper)).all()
    with pytest.raises(DataError, match="none of the model's paths"):
        perfcore.validate(model, pd.DataFrame([(128, "new", 7.0)], columns=["p", "callpath", "time_s"]))


def test_measurements_are_seen_as_means_of_each_path_at_each_point():
    """Roles and conditions are those of the fit, unless others are given; a path that has no law is left out."""
    rows = [(p, path, machine, p + k) for p in LEVELS for path in "abc" for machine in "xy" for k in (0, 2)]
    runs = pd.DataFrame(rows, columns=["n", "function", "machine", "cost_ms"])
    given = {"parameter": "n", "path": "function", "value": "cost_ms"}
    model = perfcore.fit(runs, fitter="scaling", where="machine=x,function=a|b", **given)
    runs.loc[runs["machine"] == "y", "cost_ms"] *= 10
    seen = model.observed(runs)
    found = sorted(zip(seen.points["p"], seen.points["path"], seen.value, strict=True))
    assert found == [(p, path, p + 1) for p in LEVELS for path in "ab"]
    assert seen.labels[0] == "a, n=4"
    assert (seen.unit, seen.parts, seen.of_part.shape) == ("ms", (), (10, 0))
    other = model.observed(runs, where="machine=y,n=8")
    assert sorted(zip(other.labels, other.value, strict=True)) == [("a, n=8", 90), ("b, n=8", 90)]
    with pytest.raises(DataError, match=r"none of the model's paths \(a, b\)"):
        model.observed(runs, where="function=c")


@pytest.mark.parametrize(("column", "rate"), [
    ("speedup", lambda p: 1.0 / (0.03 + 0.97 / p)),  # Amdahl
    ("tokens_per_s", lambda p: 2600.0 * p / (p + 38.0)),  # saturates
    ("requests/s", lambda p: 900.0 * p / (1.0 + 0.02 * (p - 1.0) + 1e-3 * p * (p - 1.0))),  # falls again
])  # fmt: skip
def test_rates_are_what_the_time_of_a_unit_of_work_says(column, rate, tmp_path):
    levels = 2.0 ** np.arange(7)
    noise = np.random.default_rng(1).lognormal(0.0, 0.005, 7)
    table = pd.DataFrame({"threads": levels, column: rate(levels) * noise})
    model = perfcore.fit(table, fitter="scaling", value=(column,))
    middle, low, high = model.predict_array({"p": np.array([256.0])}, interval=0.95)[0]
    assert middle == pytest.approx(rate(256.0), rel=0.15)
    assert low < rate(256.0) < high < 5.0 * rate(256.0)
    assert model.formula.startswith("1/(")
    model.save(tmp_path / "model.json")
    again = perfcore.load(tmp_path / "model.json").predict_array({"p": np.array([256.0])}, interval=0.95)[0]
    assert again.tolist() == pytest.approx([middle, low, high])


# From tables to paths: what was measured of each, and what is refused before anything is fitted.
P = (4, 8, 16, 32)
CALLS = ("main", "main->solve step", "main->io")


def table(*columns, values=P):
    """One row for each combination of the values of the columns, at each point."""
    names = [name for name, _ in columns]
    keys = itertools.product(*(of for _, of in columns))
    rows = [(*key, p, y) for key in keys for p, y in zip(P, values, strict=True)]
    return pd.DataFrame(rows, columns=[*names, "p", "value"])


def seen(data, **options):
    return perfcore.fit(data, fitter="scaling", parameter="p", value="value", **options)


def test_each_path_knows_its_metric():
    found = seen(table(("callpath", CALLS), ("metric", ("time", "L1 misses"))), path=("callpath", "metric"))
    assert found.paths == tuple(f"{call} {metric}" for call in CALLS for metric in ("time", "L1 misses"))
    assert found.metrics == ("time", "L1 misses") * 3


def test_a_single_metric_is_no_part_of_the_tree():
    data = table(("callpath", CALLS), ("metric", ("time",)))
    model = perfcore.fit(data, fitter="scaling", parameter="p", value="value", path="callpath,metric")
    (tree,) = model.whole.trees
    assert (tree.metric, tree.full_names) == ("", CALLS)


def runs_table(**columns):
    """Three runs of each point, which only the given columns tell apart."""
    rows = [(p, 100.0 / p * (1 + 0.01 * k)) for p in P for k in range(3)]
    data = pd.DataFrame(rows, columns=["p", "time_s"])
    return data.assign(**{name: list(values) * len(P) for name, values in columns.items()})


def test_means_with_a_deviation_and_a_number_are_runs():
    data = pd.DataFrame({"p": P, "mean_s": [8.0, 4, 2, 1], "sd_s": [0.8, 0.4, 0.1, 0.1], "N": [5, 5, 4, 1]})
    found = perfcore.fit(data, fitter="scaling")
    assert found.value_name == "mean_s"
    assert found.means.tolist() == [[8.0, 4.0, 2.0, 1.0]]
    assert found.posterior.counts.tolist() == [[5.0, 5.0, 4.0, 1.0]]
    assert found.notes == ("noise from sd_s, N runs each",)
    # Relative variances of 0.01, 0.01 and 0.0025 with 4, 4 and 3 degrees of freedom, and 1 % that counts as a run.
    spread = (4 * 0.01 + 4 * 0.01 + 3 * 0.0025 + 0.01**2) / (4 + 4 + 3 + 1)
    assert found.data[0].spread == pytest.approx(spread)


def test_means_and_single_runs_say_the_same():
    """Three runs as rows, and as their mean with its standard deviation, error or interval."""
    runs = runs_table(run=(1, 2, 3))
    grouped = runs.groupby("p")["time_s"]
    means = pd.DataFrame({"p": list(P), "time_s": grouped.mean().tolist(), "n_runs": 3})
    single = perfcore.fit(runs, fitter="scaling")
    deviation = grouped.std().to_numpy()
    error = deviation / 3**0.5
    half_width = 4.302652729911275 * error  # Student's t of two degrees of freedom
    for name, spread in (("time_std_ms", 1e3 * deviation), ("stderr", error), ("ci95", half_width)):
        told = perfcore.fit(means.assign(**{name: spread}), fitter="scaling")
        for field in ("means", "counts"):
            assert getattr(told.posterior, field) == pytest.approx(getattr(single.posterior, field)), name
        assert told.data[0].spread == pytest.approx(single.data[0].spread), name


def test_without_a_number_a_spread_is_of_two_runs():
    found = perfcore.fit(pd.DataFrame({"p": P, "time_s": [8.0, 4, 2, 1], "std": 0.1}), fitter="scaling")
    assert found.posterior.counts.tolist() == [[2.0] * 4]
    assert "noise from std, their number is unknown: two, the fewest" in map(str, found.notes)


def test_a_spread_that_is_repeated_for_each_run_is_no_spread_of_means():
    found = perfcore.fit(runs_table(run=(1, 2, 3), sd_s=(0.5, 0.5, 0.5), N=(3, 3, 3)), fitter="scaling")
    assert found.posterior.counts.tolist() == [[3.0] * 4]


def test_zeros_are_left_out_where_enough_is_left():
    data = table(("callpath", ("main", "io")), values=(8.0, 4.0, 2.0, 1.0))
    data = pd.concat([data, pd.DataFrame({"callpath": ["io", "main"], "p": [64, 64], "value": [0.0, 0.5]})])
    found = seen(data, path=("callpath",))
    assert found.posterior.counts.tolist() == [[1.0] * 5, [1.0] * 4 + [0.0]]
    assert "1 zero left out: below what the clock sees (io)" in map(str, found.notes)


def test_a_point_that_is_mostly_zero_is_left_out_whole():
    data = pd.DataFrame([(p, 8.0 / p) for p in P] + [(64, 0.0), (64, 0.0), (64, 0.1)], columns=["p", "value"])
    found = seen(data.assign(run=range(len(data))))
    assert found.points["p"] == P
    assert "2 zeros left out: below what the clock sees (value)" in map(str, found.notes)


def test_a_column_with_a_comma_in_its_name_is_one():
    data = pd.DataFrame({"p": P, "Time, s": [8.0, 4, 2, 1], "Time": 1.0})
    assert perfcore.fit(data, fitter="scaling", value="Time, s").value_name == "Time, s"


def test_a_rate_of_zero_is_no_short_time():
    rows = [(p, rate) for p, rate in zip((1, 2, 4, 8, 16), (1.0, 0.0, 3.0, 5.0, 6.0), strict=True)]
    model = perfcore.fit(pd.DataFrame(rows, columns=["p", "speedup"]), fitter="scaling")
    left_out = "1 zero left out: nothing was done, which no model of a rate covers"
    assert any(left_out in line for line in model.report().closing())


# The fitter `scaling`: what it takes, what it finds, and which paths it leaves out.
def frame(values, levels=LEVELS):
    rows = [(p, path, y) for path, own in values.items() for p, y in zip(levels, own, strict=True) if not np.isnan(y)]
    return pd.DataFrame(rows, columns=["p", "function", "time_s"])


GOOD = {"solve": 10 + 1000 / LEVELS, "exchange": 2 + 0.5 * LEVELS}


def test_coefficients_of_noiseless_laws():
    model = perfcore.fit(frame(GOOD), fitter="scaling")
    assert model.formula == "solve = 10 + 1000/p\nexchange = 2 + 0.5*p"
    assert [fit.coefficients for fit in model.named] == [pytest.approx((10, 1000)), pytest.approx((2, 0.5))]


@pytest.mark.parametrize(
    "law", [lambda n: 10 + 3 * n, lambda n: 8 / n, lambda n: 3 + n**1.5, lambda n: 5 + n * np.log2(n)]
)
def test_exact_laws_are_continued(law):
    levels = 2.0 ** np.arange(6)
    model = perfcore.fit(pd.DataFrame({"batch": levels, "time_s": law(levels)}), fitter="scaling", at="batch=128")
    value, low, high = model.predict_array([128.0], 0.95)[0]
    assert value == pytest.approx(law(128.0), rel=1e-6)
    assert value / 1.1 < low < high < 1.1 * value
    noise = 1 + 1e-3 * np.random.default_rng(0).standard_normal(6)  # measured series change their behaviour
    frame = pd.DataFrame({"batch": levels, "time_s": law(levels) * noise})
    _, low, high = perfcore.fit(frame, fitter="scaling").predict_array([128.0], 0.95)[0]
    assert high > 1.5 * low


def test_three_points_have_a_law_with_wide_bounds():
    """A power law goes through them within a few per cent, so that far away much remains open."""
    data = pd.DataFrame({"p": [1, 2, 4], "time_s": [100.0, 50.5, 26.0]})
    _, lower, upper = perfcore.fit(data, fitter="scaling").predict_array([16], interval=0.95)[0]
    assert lower < 100 / 16 + 2 < upper
    assert upper / lower > 2
    two = pd.DataFrame({"p": [1, 2, 4], "n": [1, 4, 2], "time_s": [100.0, 50.5, 26.0]})
    with pytest.raises(DataError, match="3 distinct points; 4 are required"):
        perfcore.fit(two, fitter="scaling", parameter="p,n")


def test_a_path_missing_at_some_points_is_fitted_from_the_others():
    values = {**GOOD, "holes": np.where(LEVELS == 16, np.nan, 3 + 0.2 * LEVELS)}
    model = perfcore.fit(frame(values), fitter="scaling")
    assert model.unfitted == {}
    assert model.named[2].formula == "3 + 0.2*p"


@pytest.mark.parametrize(("points", "reason"), [
    ([(p, 10.0) for p in LEVELS], "only one value of n"),
    ([(p, 100 * p) for p in LEVELS], "n = 100 x p at every point"),
])  # fmt: skip
def test_two_parameters_that_cannot_be_told_apart(points, reason):
    data = pd.DataFrame([(p, n, 1 + p * n) for p, n in points], columns=["p", "n", "time_s"])
    with pytest.raises(DataError) as raised:
        perfcore.fit(data, fitter="scaling", parameter="p,n")
    assert reason in str(raised.value)


@pytest.mark.parametrize("level", [128, 128.0, np.int64(128), np.float64(128), np.array([128.0]), [128]])
def test_a_target_is_any_number(level):
    runs = pd.DataFrame({"p": [1, 2, 4, 8], "time_s": [8.0, 4.5, 2.7, 1.9]})
    model = perfcore.fit(runs, fitter="scaling", at={"p": level})
    assert [float(text.partition("=")[2]) for text in model.origin.options["at"]] == [128.0]
