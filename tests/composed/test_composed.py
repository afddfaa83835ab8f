"""Models made of models: values, bounds, points, units, files and pictures."""

import json
import pickle
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import optimize, stats

import perfcore
from perfcore import Measurements, Series, UtilizationCurve, max_
from perfcore.base.errors import ModelFileError, OptionError, PerfError
from perfcore.hooks.registry import registry
from perfcore.models.model import Model, Origin

P = np.array([1.0, 2.0, 4.0, 8.0, 16.0])
POINTS = np.array([1.0, 3.0, 8.0, 16.0])


def timed(times, functions="1/p,1", **options):
    table = pd.DataFrame({"p": P, "time_s": times})
    return perfcore.fit(table, fitter="individual", functions=functions, **options)


@pytest.fixture(scope="module")
def solver():
    return timed([8.2, 4.4, 2.4, 1.45, 0.93])


@pytest.fixture(scope="module")
def output():
    return timed([2.1, 2.4, 1.9, 2.2, 2.0], functions="1")


@pytest.fixture(scope="module")
def law():
    return perfcore.fit(pd.DataFrame({"p": P, "time_s": [5.1, 5.3, 5.9, 7.2, 9.8]}), fitter="scaling")


@pytest.fixture(scope="module")
def phases():
    return perfcore.fit(UtilizationCurve([0, 2, 7, 8, 12, 20], [1, 2, 9, 8, 4]), phases=2, degree=0)


@pytest.fixture(scope="module")
def forecast():
    series = Series(np.arange(40), {"cpu": 0.5 + 0.3 * np.sin(np.arange(40.0))}, "s", source="load.csv")
    return perfcore.fit(series, fitter="forecast", horizon=4)


def pairs(codes, systems, seed=0):
    rng = np.random.default_rng(seed)
    rows = [
        (code, system, p, (10.0 / p + 1.0) * rng.uniform(0.95, 1.05)) for code in codes for system in systems for p in P
    ]
    table = pd.DataFrame(rows, columns=["code", "system", "p", "time_s"])
    return Measurements(table, source=f"{'-'.join(codes)}.csv")


def categories(names):
    rows = [(p, name, k + 5.0 / p + 0.05 * np.sin(9 * p + k)) for p in P for k, name in enumerate(names, 1)]
    table = pd.DataFrame(rows, columns=["p", "category", "time_s"])
    totals = table.groupby("p", as_index=False)["time_s"].sum().assign(category="total")
    return Measurements(pd.concat([table, totals]), source=f"{'-'.join(names)}.csv")


class TestValues:
    def test_are_those_of_the_expression(self, solver, output):
        a, b = solver.predict(POINTS), output.predict(POINTS)
        for composed, expected in (
            (solver + output, a + b), (2 * solver, 2 * a), (solver * np.float64(0.5), 0.5 * a), (solver / 4, a / 4),
            (solver * output, a * b), (0 * solver, 0 * a), (solver + 1.5, a + 1.5),
            (max_(solver, output, 1.0), np.maximum(np.maximum(a, b), 1.0)),
            (max_(solver, output) + 2 * (solver + output), np.maximum(a, b) + 2 * (a + b)),
            (sum([solver, output, solver]), a + b + a),
        ):  # fmt: skip
            assert isinstance(composed, registry().load("models", "composed"))
            np.testing.assert_allclose(composed.predict(POINTS), expected, rtol=1e-14)
            np.testing.assert_array_equal(composed.predict_array(POINTS, 0.9)[:, 0], composed.predict(POINTS))

    def test_many_parts(self, output):
        parts = [timed(time + np.zeros(5), functions="1") for time in np.linspace(1.0, 2.0, 60)]
        assert max_(*parts).predict([4.0])[0] == pytest.approx(2.0)
        assert sum(parts).predict([4.0])[0] == pytest.approx(90.0)


class TestBounds:
    @pytest.mark.parametrize("coverage", [0.5, 0.95])
    def test_one_component_is_one_quantity(self, solver, coverage):
        bounds = solver.predict_array(POINTS, coverage)
        for composed, expected in (
            (solver + solver, 2 * bounds), (max_(solver, solver + solver), 2 * bounds), (solver / 3, bounds / 3),
            (solver * solver, bounds**2), (max_(solver, 2.0), np.maximum(bounds, 2.0)),
        ):  # fmt: skip
            np.testing.assert_allclose(composed.predict_array(POINTS, coverage), expected, rtol=1e-12)

    def test_a_product_of_what_can_be_negative(self):
        curve = perfcore.fit(UtilizationCurve([0, 1, 2, 3, 4], [0, 9, 1, 8]), phases=1, degree=0)
        value, lower, upper = curve.predict_array([2.0], 0.95)[0]
        assert lower < 0.0
        spread = (upper - value) / 1.959964
        # P(x^2 <= q) of a normal x, by its distribution.
        from scipy.stats import ncx2

        expected = spread**2 * ncx2.ppf([0.025, 0.975], 1, (value / spread) ** 2)
        np.testing.assert_allclose((curve * curve).predict_array([2.0], 0.95)[0, 1:], expected, rtol=0.01, atol=0.01)

    @settings(max_examples=3, deadline=None)
    @given(
        first=st.lists(st.floats(0.5, 20.0), min_size=5, max_size=5),
        second=st.lists(st.floats(0.5, 20.0), min_size=5, max_size=5),
        factor=st.floats(0.0, 1e3),
        coverage=st.sampled_from([0.1, 0.5, 0.95]),
    )
    def test_properties(self, first, second, factor, coverage):
        a, b = timed(first), timed(second)
        whole = a + b
        np.testing.assert_array_equal(whole.predict(POINTS), a.predict(POINTS) + b.predict(POINTS))
        value, lower, upper = whole.predict_array(POINTS, coverage).T
        assert (lower <= value).all()
        assert (value <= upper).all()
        np.testing.assert_array_equal((b + a).predict_array(POINTS, coverage), whole.predict_array(POINTS, coverage))
        np.testing.assert_allclose((factor * whole).predict_array(POINTS, coverage)[:, 1], factor * lower, rtol=1e-9)
        largest = max_(a, b).predict_array(POINTS, coverage)
        for part in (a, b):
            own = part.predict_array(POINTS, coverage)
            slack = 0.01 * (own[:, 2] - own[:, 1])
            assert (largest[:, 1] >= own[:, 1] - slack).all()

    @settings(max_examples=3, deadline=None)
    @given(
        first=st.lists(st.floats(9.0, 11.0), min_size=5, max_size=5),
        second=st.lists(st.floats(9.0, 11.0), min_size=5, max_size=5),
    )
    def test_independent_errors_do_not_all_go_one_way(self, first, second):
        # Of light tails alone: quantiles of wide skewed distributions may add up to less than the quantile of the sum.
        a, b = timed(first), timed(second)
        assume(a != b)
        _, lower, upper = (a + b).predict_array(POINTS, 0.95).T
        apart = a.predict_array(POINTS, 0.95) + b.predict_array(POINTS, 0.95)
        assert (upper - lower <= 1.02 * (apart[:, 2] - apart[:, 1])).all()

    def test_independence_is_said(self, solver, output):
        assert "independent" in (solver + output).remarks(POINTS)[0]
        assert (2 * solver).remarks([2.0, 64.0]) == ["", "m1: extrapolated: p was 1 to 16"]
        lines = (solver + timed([8.2, 4.4, 2.4, 1.45, 0.93], functions="1")).report().closing()
        assert any("fitted to the same data" in line for line in lines)
        assert not any("fitted to the same data" in line for line in (solver + output).report().closing())


class TestPoints:
    def test_of_all_components(self, solver):
        sizes = pd.DataFrame({"n": [10, 20, 40, 80], "time_s": [1.0, 2.1, 3.9, 8.2]})
        other = perfcore.fit(sizes, fitter="individual", functions="n", parameter="n=n")
        composed = solver + other
        assert dict(composed.variables) == {"p": "p", "n": "n"}
        expected = solver.predict([2.0, 4.0]) + other.predict([10.0, 10.0])
        for points in ({"p": [2, 4], "n": 10}, pd.DataFrame({"n": [10, 10], "p": [2, 4]})):
            np.testing.assert_allclose(composed.predict(points), expected)
        for points, message in (
            ([1.0], "is one of p, n"),
            ({"p": [1.0]}, "n is missing"),
            ({"p": 1.0, "n": 1.0, "q": 1.0}, "unknown variable"),
            ({"p": [1.0, 2.0], "n": [1.0, 2.0, 3.0]}, "different lengths"),
        ):
            with pytest.raises(PerfError, match=message):
                composed.predict(points)

    def test_one_symbol_for_two_columns(self, solver):
        table = pd.DataFrame({"procs": P, "time_s": P})
        other = perfcore.fit(table, fitter="individual", functions="p", parameter="p=procs")
        with pytest.raises(OptionError, match=r"p is 'p' in m1 .* and 'procs' in m2"):
            solver + other


class TestUnits:
    def test_of_sums_and_products(self, solver, output):
        assert (solver + output).unit == (2 * solver + 1).unit == max_(solver, output).unit == "s"
        assert (solver * output).unit == (output * solver / 2).unit == "s*s"
        with pytest.raises(OptionError, match=r"m1\*m2 is in s\*s and m1 in s: .*\(m1: "):
            solver * output + solver


class TestFile:
    @pytest.fixture
    def content(self, solver, output):
        return json.loads(json.dumps((2 * solver + max_(solver, output)).to_dict()))

    @pytest.fixture
    def refused(self, tmp_path):
        def refused(content):
            path = tmp_path / "composed.json"
            path.write_text(json.dumps(content))
            with pytest.raises(ModelFileError) as caught:
                perfcore.load(path)
            message = str(caught.value)
            assert message.startswith(f"{path}: ")
            assert "\n" not in message
            return message.removeprefix(f"{path}: ")

        return refused

    def test_round_trip(self, solver, output, law, phases, forecast, tmp_path):
        by_category = perfcore.fit(categories(("compute", "wait")), fitter="lca")
        generated = perfcore.fit(categories(("compute", "io")), fitter="modgen")
        joint = perfcore.fit(pairs(("lu", "cg"), ("old", "new")), fitter="strohmaier", functions="1/p,1")
        place = {"p": POINTS, "code": "cg", "system": "old"}
        for model, points in (
            (2 * solver + max_(solver, output) * 3, POINTS), (law + output / 7, POINTS),
            (phases * 2, np.array([1.0, 7.5, 30.0])), (forecast + forecast, np.array([1, 3])),
            (by_category + generated, {"p": POINTS}), (by_category + generated, {"p": POINTS, "category": "compute"}),
            (max_(joint, solver, law), place),
        ):  # fmt: skip
            model.save(tmp_path / "composed.json")
            loaded = perfcore.load(tmp_path / "composed.json")
            assert loaded == model
            assert loaded.to_dict() == model.to_dict()
            np.testing.assert_array_equal(loaded.predict(points), model.predict(points))
            assert pickle.loads(pickle.dumps(model)) == model

    def test_a_composition_as_a_component(self, content, refused, solver):
        content["model"]["components"]["m2"] = json.loads(json.dumps((2 * solver).to_dict()))
        assert "m2 is composed itself; write out its expression, 2*m1" in refused(content)


# Bounds of functions of independent models, against exact distributions and random draws.
DISTRIBUTIONS = {}


class Distributed(Model, frozen=True):
    """Predicts the median and central bounds of a distribution of scipy; those of a name that is none are unknown."""

    name: str

    kind: ClassVar[str] = "distributed"
    unit: ClassVar[None] = None

    @property
    def variables(self):
        return {"p": "p"}

    def predict_array(self, points, interval=None):
        half = 0.5 * (interval or 0.0)
        found = DISTRIBUTIONS[self.name].ppf([0.5, 0.5 - half, 0.5 + half])
        rows = np.tile(found, (len(np.atleast_1d(points)), 1))
        return rows[:, 0] if interval is None else rows


def distributed(*distributions):
    """One model for each distribution; a different source for each, so that they are independent."""
    models = []
    for distribution in distributions:
        name = f"x{len(DISTRIBUTIONS)}"
        DISTRIBUTIONS[name] = distribution
        models.append(Distributed(Origin("distributed", {}, f"{name}.csv", name, "0"), name))
    return models


def bounds(model, coverage):
    return model.predict_array([1.0], coverage)[0, 1:]


@pytest.mark.parametrize("coverage", [0.5, 0.9, 0.95, 0.99])
@pytest.mark.parametrize(("count", "tolerance"), [(1, 0.002), (2, 0.005), (5, 0.01), (20, 0.02)])
def test_sums_of_normals_are_normal(count, tolerance, coverage):
    rng = np.random.default_rng(count)
    means, spreads = rng.uniform(-5.0, 20.0, count), rng.uniform(0.2, 2.0, count)
    half = stats.norm.ppf(0.5 + 0.5 * coverage) * np.sqrt((spreads**2).sum())
    expected = means.sum() + half * np.array([-1.0, 1.0])
    found = bounds(sum(distributed(*map(stats.norm, means, spreads))), coverage)
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=tolerance * half)


@pytest.mark.parametrize("coverage", [0.5, 0.95, 0.99])
def test_distributions_of_a_maximum_multiply(coverage):
    one, other = stats.norm(10.0, 1.0), stats.norm(10.5, 2.0)
    levels = (0.5 - 0.5 * coverage, 0.5 + 0.5 * coverage)
    expected = [optimize.brentq(lambda x, q=q: one.cdf(x) * other.cdf(x) - q, 0.0, 30.0) for q in levels]
    np.testing.assert_allclose(bounds(max_(*distributed(one, other)), coverage), expected, rtol=1e-3)


CASES = {
    "product": ([stats.norm(10.0, 1.0), stats.norm(5.0, 1.0)], lambda x: x[0] * x[1]),
    "heavy tails": ([stats.t(3, 10.0, 1.0), stats.t(4, 5.0, 2.0)], lambda x: x[0] + x[1]),
    "skewed": ([stats.lognorm(0.5), stats.lognorm(1.0)], lambda x: x[0] + x[1]),
    "one of them twice": (
        [stats.norm(10.0, 1.0), stats.t(5, 5.0, 1.0), stats.lognorm(0.5)],
        lambda x: (max_ if isinstance(x[0], Model) else np.maximum)(x[0], x[1] * x[2]) + x[0],
    ),
}


@pytest.mark.parametrize("coverage", [0.5, 0.95, 0.99])
@pytest.mark.parametrize("case", CASES)
def test_bounds_against_random_draws(case, coverage):
    distributions, function = CASES[case]
    rng = np.random.default_rng(5)
    drawn = function([distribution.rvs(10**6, random_state=rng) for distribution in distributions])
    middle, *expected = np.quantile(drawn, [0.5, 0.5 - 0.5 * coverage, 0.5 + 0.5 * coverage])
    distances = (bounds(function(distributed(*distributions)), coverage) - middle) / (np.array(expected) - middle)
    # 10^6 draws themselves err by up to 0.5 % here.
    np.testing.assert_allclose(distances, 1.0, atol=0.015)


def test_a_model_without_bounds_leaves_none():
    class Unsure:
        def ppf(self, levels):
            return np.array([1.0, np.nan, np.nan])

    sure, unsure = distributed(stats.norm(2.0, 1.0), Unsure())
    assert np.isnan(bounds(sure + unsure, 0.9)).all()
    assert np.isfinite(bounds(sure + 1.0, 0.9)).all()
