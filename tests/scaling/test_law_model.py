"""The model of scaling laws: predictions, remarks, its file, and what it refuses."""

import json

import numpy as np
import pandas as pd
import pytest

import perfcore
from perf_gate.api import verify
from perfcore.base.errors import DataError, ModelFileError

LEVELS = np.array([4.0, 8, 16, 32, 64])


@pytest.fixture(scope="module")
def model():
    rng = np.random.default_rng(5)
    means = {"solve": 10 + 1000 / LEVELS, "exchange": 2 + 0.5 * LEVELS}
    rows = [
        (p, path, y * (1 + 0.05 * z))
        for path, own in means.items()
        for p, y in zip(LEVELS, own, strict=True)
        for z in rng.standard_normal(5)
    ]
    return perfcore.fit(pd.DataFrame(rows, columns=["p", "function", "time_s"]), fitter="scaling", at="p=256")


def test_predictions_are_near_the_means_that_were_measured(model):
    for path, means in zip(model.paths, model.means, strict=True):
        predicted = model.predict({"p": LEVELS, "path": [path] * 5})
        assert predicted == pytest.approx(means, rel=3 * 0.05 / np.sqrt(5))


def test_bounds_of_a_run_are_wider_than_those_of_the_mean(model):
    points = {"p": [16.0, 16.0], "path": list(model.paths)}
    value, low, high = model.predict(points, interval=0.95).T
    band = model.band([[16.0]], 0.95)[:, 0]
    assert value == pytest.approx(band[:, 0])
    assert (low < band[:, 1]).all()
    assert (high > band[:, 2]).all()
    assert (low >= 0).all()


def test_another_target_changes_what_is_said_and_nothing_that_was_fitted(model):
    other = model.at({"p": 1024.0})
    assert (other.target, model.target) == ({"p": 1024.0}, {"p": 256.0})
    assert other.posterior is model.posterior
    assert other.leading is model.leading
    (row,) = [row for row in other.rows if row.path == "solve"]
    assert row.predicted == pytest.approx(model.predict({"p": [1024.0], "path": ["solve"]})[0])
    with pytest.raises(ValueError, match="target is not a point"):
        model.at({"n": 4.0})


def term(exponent):
    return {"symbol": "p", "exponent": exponent, "logarithm": 0}


@pytest.mark.parametrize(
    ("change", "message"),
    [
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
    ],
)
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
    found = verify(model, pd.DataFrame(later, columns=["p", "callpath", "time_s"]))
    assert found.labels == ("scan, p=128", "split, p=128")
    assert found.measured.tolist() == [67.0, 5.125]
    assert np.abs(found.errors).max() < 0.05
    assert ((found.lower < found.measured) & (found.measured < found.upper)).all()
    with pytest.raises(DataError, match="none of the model's paths"):
        verify(model, pd.DataFrame([(128, "new", 7.0)], columns=["p", "callpath", "time_s"]))


def test_measurements_are_seen_as_means_of_each_path_at_each_point():
    """Roles and conditions are those of the fit, unless others are given; a path that has no law is left out."""
    rows = [(p, path, machine, p + k) for p in LEVELS for path in "abc" for machine in "xy" for k in (0, 2)]
    runs = pd.DataFrame(rows, columns=["n", "function", "machine", "cost_ms"])
    given = {"parameter": "n", "path": "function", "value": "cost_ms"}
    model = perfcore.fit(runs, fitter="scaling", where="machine=x,function=a|b", **given)
    runs.loc[runs["machine"] == "y", "cost_ms"] *= 10
    seen = model.observed(runs)
    assert sorted(zip(seen.points["p"], seen.points["path"], seen.value, strict=True)) == [
        (p, path, p + 1) for p in LEVELS for path in "ab"
    ]
    assert seen.labels[0] == "a, n=4"
    assert (seen.unit, seen.parts, seen.of_part.shape) == ("ms", (), (10, 0))
    other = model.observed(runs, where="machine=y,n=8")
    assert sorted(zip(other.labels, other.value, strict=True)) == [("a, n=8", 90), ("b, n=8", 90)]
    with pytest.raises(DataError, match=r"none of the model's paths \(a, b\)"):
        model.observed(runs, where="function=c")


@pytest.mark.parametrize(
    ("column", "rate"),
    [
        ("speedup", lambda p: 1.0 / (0.03 + 0.97 / p)),  # Amdahl
        ("tokens_per_s", lambda p: 2600.0 * p / (p + 38.0)),  # saturates
        ("requests/s", lambda p: 900.0 * p / (1.0 + 0.02 * (p - 1.0) + 1e-3 * p * (p - 1.0))),  # falls again
    ],
)
def test_rates_are_what_the_time_of_a_unit_of_work_says(column, rate, tmp_path):
    levels = 2.0 ** np.arange(7)
    noise = np.random.default_rng(1).lognormal(0.0, 0.005, 7)
    model = perfcore.fit(
        pd.DataFrame({"threads": levels, column: rate(levels) * noise}), fitter="scaling", value=(column,)
    )
    middle, low, high = model.predict({"p": np.array([256.0])}, interval=0.95)[0]
    assert middle == pytest.approx(rate(256.0), rel=0.15)
    assert low < rate(256.0) < high < 5.0 * rate(256.0)
    assert model.formula.startswith("1/(")
    model.save(tmp_path / "model.json")
    again = perfcore.load(tmp_path / "model.json").predict({"p": np.array([256.0])}, interval=0.95)[0]
    assert again.tolist() == pytest.approx([middle, low, high])
