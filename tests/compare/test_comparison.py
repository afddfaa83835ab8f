"""Two models beside each other: crossings where algebra puts them, and the category that makes the difference."""

import itertools

import numpy as np
import pandas as pd
import pytest

import perfcore
from perf_gate.comparison import compare_models, crossings_between, draws_of
from perfcore.base.errors import DataError, OptionError


def profile(work, start, unit="time_s", names=("work", "start")):
    """Times work D/P and start P, exact."""
    rows = [
        (p, d, name, time)
        for p, d in itertools.product((2, 4, 8, 16), (10, 20, 40, 80))
        for name, time in zip(names, (work * d / p, start * p), strict=True)
    ]
    return pd.DataFrame(rows, columns=["P", "D", "category", unit])


def model(*given, **options):
    return perfcore.fit(profile(*given, **options), fitter="modgen", parameter="P,D")


@pytest.fixture(scope="module")
def pair():
    return model(3.0, 0.5), model(5.0, 0.1)


def test_they_cross_where_the_formulas_are_equal(pair):
    """3 D/P + 0.5 P = 5 D/P + 0.1 P at P = sqrt(5 D)."""
    found = compare_models(*pair, {"p": [2.0, 64.0] * 2, "D": [20.0, 20.0, 80.0, 80.0]})
    assert found.along == "p"
    assert [crossing.at for crossing in found.crossings] == pytest.approx([10.0, 20.0], rel=1e-8)
    assert [crossing.value for crossing in found.crossings] == pytest.approx([11.0, 22.0], rel=1e-8)
    assert [crossing.held for crossing in found.crossings] == [{"D": 20.0}, {"D": 80.0}]
    assert [crossing.below for crossing in found.crossings] == [0, 0]


def test_ratio_and_the_category_that_makes_the_difference(pair):
    found = compare_models(*pair, {"p": [2.0, 64.0], "D": 20.0})
    assert found.ratio == pytest.approx([50.2 / 31.0, (100 / 64 + 6.4) / (60 / 64 + 32.0)], rel=1e-8)
    assert found.largest(0) == ("work", pytest.approx(20.0))
    assert found.largest(1) == ("start", pytest.approx(-25.6))
    np.testing.assert_allclose(found.of_part.values.sum(axis=1), found.totals.values)


def test_swapping_the_models_swaps_the_outcome(pair):
    one = compare_models(*pair, {"p": [2.0, 64.0], "D": 20.0})
    other = compare_models(*pair[::-1], {"p": [2.0, 64.0], "D": 20.0})
    assert one.ratio * other.ratio == pytest.approx([1.0, 1.0])
    assert other.crossings[0].at == pytest.approx(one.crossings[0].at)
    assert other.crossings[0].below == 1


def test_categories_are_matched_by_plain_names_and_missing_ones_are_nothing(pair):
    other = model(3.0, 0.5, names=("WORK", "wait"))
    found = compare_models(pair[0], other, {"p": 4.0, "D": 20.0})
    assert found.parts == ("work", "start", "wait")
    assert found.of_part.values[:, :, 0].T.tolist() == [
        pytest.approx([15.0, 15.0]), pytest.approx([2.0, 0.0]), pytest.approx([0.0, 2.0])
    ]  # fmt: skip


def test_refusals(pair):
    with pytest.raises(OptionError, match="leave out --at category"):
        compare_models(*pair, {"p": 2.0, "D": 20.0, "category": "work"})
    p = np.array([1.0, 2.0, 4.0, 8.0])
    other = perfcore.fit(pd.DataFrame({"p": p, "time_s": 8.0 / p + 1.0}), fitter="individual", functions="1/p,1")
    with pytest.raises(OptionError, match="A is a model of D, p, B of p"):
        compare_models(pair[0], other, {"p": 2.0, "D": 20.0})
    with pytest.raises(DataError, match="A is in s, B in ms"):
        compare_models(pair[0], model(3.0, 0.5, unit="time_ms"), {"p": 2.0, "D": 20.0})


def test_crossings_between_points():
    """Of powers they are exact: 1 p^2 and 8 p^0.5 meet at p = 4, at 16."""
    p = np.array([1.0, 2.0, 16.0, 1.0, 16.0])
    n = np.array([1.0, 1.0, 1.0, 2.0, 2.0])
    values = np.stack([p**2.0, np.where(n == 1.0, 8.0 * p**0.5, 0.5 * p**2.0)])
    (crossing,) = crossings_between(values, {"p": p, "n": n}, "p")
    assert (crossing.at, crossing.value) == (pytest.approx(4.0), pytest.approx(16.0))
    assert (crossing.below, crossing.held) == (0, {"n": 1.0})


def test_draws_of_a_model_with_bounds_are_its_bounds():
    """The central 95 % of the draws are the interval of `predict`, and their median is the value."""
    rng = np.random.default_rng(3)
    data = profile(3.0, 0.5)
    data["time_s"] *= rng.normal(1.0, 0.05, len(data))
    fitted = perfcore.fit(data, fitter="modgen", parameter="P,D")
    points = {"p": np.array([4.0, 16.0]), "D": np.array([20.0, 20.0])}
    assert fitted.part_draws(points) is None
    drawn = draws_of(fitted, points)
    assert drawn.names == ("work", "start")
    bounds = fitted.predict({**points, "category": np.array(["total", "total"])}, interval=0.95)
    np.testing.assert_allclose(drawn.total.values, bounds[:, 0])
    np.testing.assert_allclose(np.quantile(drawn.total.draws, [0.025, 0.975], axis=1).T, bounds[:, 1:], rtol=0.01)
    assert (np.diff(drawn.parts.draws, axis=2) >= 0.0).all()


def test_without_bounds_there_is_a_ratio_alone(monkeypatch, pair):
    def refuse(self, points, interval=None):
        if interval is not None:
            raise OptionError("no bounds")
        return predict(self, points)

    predict = type(pair[0]).predict
    monkeypatch.setattr(type(pair[0]), "predict", refuse)
    found = compare_models(*pair, {"p": [2.0, 64.0], "D": 20.0})
    assert found.ratio[0] == pytest.approx(50.2 / 31.0)
    assert found.tables()[0][1] == ["P", "D", "A", "B", "ratio", "most of the difference", "of it"]


def test_a_part_that_one_lacks_has_no_ratio(pair):
    found = compare_models(pair[0], model(3.0, 0.5, names=("WORK", "wait")), {"p": 4.0, "D": 20.0}, ("old", "new"))
    assert found.part_ratio(0) == pytest.approx([1.0, np.nan, np.nan], nan_ok=True)
    assert {"only in old: start", "only in new: wait"} <= set(found.summary())
    rows = {row[0]: row for row in found.tables()[1][2]}
    assert rows["start"][2] == "-"
    assert rows["start"][4:] == ["-", "-", "-"]
