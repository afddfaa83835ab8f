"""Models against measurements: figures by their definitions, new points, models with and without categories."""

import itertools

import numpy as np
import pandas as pd
import pytest

import perfcore
from perf_gate.api import validate
from perfcore.base.errors import DataError
from perfcore.data.measurements import Measurements


@pytest.fixture(scope="module")
def profile():
    """Two exact categories over processors and size."""
    rows = [
        (p, d, name, time)
        for p, d in itertools.product((2, 4, 8, 16), (10, 20, 40, 80))
        for name, time in (("work", 3.0 * d / p), ("start", 2.0 + 0.5 * p))
    ]
    return pd.DataFrame(rows, columns=["P", "D", "category", "time_s"])


@pytest.fixture(scope="module")
def model(profile):
    return perfcore.fit(profile, fitter="modgen", parameter="P,D", set_aside="25%", seed=3)


def test_exact_data_are_predicted_at_all_points(model, profile):
    found = validate(model, Measurements(profile))
    assert list(found.groups) == ["not fitted", "fitted"]
    assert [int(kept.sum()) for kept in found.groups.values()] == [4, 12]
    np.testing.assert_allclose(found.predicted, found.measured, rtol=1e-8)
    figures = found.figures(found.groups["not fitted"])
    assert figures["r2_centered"] == pytest.approx(1.0)
    assert figures["median_relative_error"] == pytest.approx(0.0, abs=1e-8)


def test_figures_are_those_of_their_definitions(model, profile):
    """Measured times 10% higher: every relative error is 1/1.1 - 1, which the bounds of exact data hold as well."""
    higher = profile.assign(time_s=1.1 * profile["time_s"])
    found = validate(model, higher)
    kept = found.groups["fitted"]
    np.testing.assert_allclose(found.errors, 1.0 / 1.1 - 1.0, rtol=1e-8)
    y = found.measured[kept]
    figures = found.figures(kept)
    assert figures["r2_centered"] == pytest.approx(1.0 - ((y / 11.0) ** 2).sum() / ((y - y.mean()) ** 2).sum())
    assert figures["max_relative_error"] == pytest.approx(1.0 / 11.0)
    low, high = model.predict(dict(found.points), interval=0.95)[:, 1:].T
    assert figures["coverage"] == np.mean((low <= found.measured) & (found.measured <= high), where=kept)


def test_the_worst_category_comes_first(model, profile):
    wrong = profile.copy()
    wrong.loc[wrong["category"] == "start", "time_s"] *= 2.0
    found = validate(model, wrong)
    first, second = found.category_figures(np.ones(16, dtype=bool))
    assert (first["category"], second["category"]) == ("start", "work")
    assert second["r2_centered"] == pytest.approx(1.0)
    assert first["share"] + second["share"] == pytest.approx(1.0)


def test_refusals(model, profile):
    curve = perfcore.UtilizationCurve([0, 4, 10], [2, 8])
    with pytest.raises(DataError, match="lacks what the model was fitted to: unknown column"):
        validate(perfcore.fit(curve, phases=2, degree=0), profile)
    with pytest.raises(DataError, match="not with UtilizationCurve"):
        validate(model, curve)
    with pytest.raises(DataError, match="the values are in ms, those of the model in s"):
        validate(model, profile.rename(columns={"time_s": "time_ms"}))
    with pytest.raises(DataError, match="none of the model's categories"):
        validate(model, profile.assign(category="x" + profile["category"]))
