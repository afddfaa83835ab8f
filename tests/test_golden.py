"""What was recorded once and must not change: models of each fitter, their predictions, JSON output and help."""

import json
import math

import golden_cases
import pytest

import perfcore

_TOLERANCE = 1e-9  # of libraries, between versions and machines


@pytest.fixture(autouse=True)
def at_the_top(monkeypatch):
    monkeypatch.chdir(golden_cases.REPOSITORY)
    monkeypatch.setenv("COLUMNS", golden_cases.COLUMNS)


def same(one, other) -> bool:
    """Whether two JSON documents agree, numbers within the tolerance."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[name], other[name]) for name in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, float) and isinstance(other, (int, float)):
        return math.isclose(one, other, rel_tol=_TOLERANCE, abs_tol=_TOLERANCE)
    return one == other


@pytest.mark.parametrize("fitter", golden_cases.MODELS)
def test_a_model_file_of_the_first_version_predicts_the_same(fitter):
    file = golden_cases.FOLDER / "models" / f"{fitter}.json"
    model = perfcore.load(file)
    points = golden_cases.MODELS[fitter][2]
    expected = json.loads(file.with_suffix(".predictions").read_text())
    assert same(golden_cases.predictions(model, points), expected)
    assert json.loads(json.dumps(model.to_dict())) == json.loads(file.read_text())


@pytest.mark.parametrize("fitter", golden_cases.MODELS)
def test_a_fit_gives_the_recorded_predictions(fitter):
    data, options, points = golden_cases.MODELS[fitter]
    model = perfcore.fit(data, fitter=fitter, **options)
    expected = json.loads((golden_cases.FOLDER / "models" / f"{fitter}.predictions").read_text())
    for row, expected_row in zip(golden_cases.predictions(model, points), expected, strict=True):
        assert row == pytest.approx(expected_row, rel=1e-6)


@pytest.mark.parametrize("name", golden_cases.JSON)
def test_json_output_is_the_recorded_one(name):
    expected = json.loads((golden_cases.FOLDER / "json" / f"{name}.json").read_text())
    printed = json.loads(golden_cases.run([*golden_cases.JSON[name], "--json"]))
    assert {"schema", "kind"} <= printed.keys()
    assert same(printed, expected)


@pytest.mark.parametrize("name", golden_cases.HELP)
def test_help_is_the_recorded_one(name):
    assert golden_cases.run(golden_cases.HELP[name]) == (golden_cases.FOLDER / "help" / f"{name}.txt").read_text()
