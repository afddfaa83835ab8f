"""Two models beside each other: their ratio, and the category that makes the difference."""

import itertools
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import perfcore
from perfcore.base import progress
from perfcore.base.errors import DataError, OptionError
from perfcore.data.measurements import Measurements
from perfcore.models.model import Model, Origin, Parameter


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


def compare(one, other, at):
    return perfcore.compare(one, other, at=at, names=("A", "B"))


@pytest.fixture(scope="module")
def pair():
    return model(3.0, 0.5), model(5.0, 0.1)


def test_ratio_and_the_category_that_makes_the_difference(pair):
    found = compare(*pair, {"p": [2.0, 64.0], "D": 20.0})
    assert found.ratio == pytest.approx([50.2 / 31.0, (100 / 64 + 6.4) / (60 / 64 + 32.0)], rel=1e-8)
    np.testing.assert_allclose(found.of_part.values.sum(axis=1), found.totals.values)
    np.testing.assert_allclose(found.part_ratio(1), [5.0 / 3.0, 0.2], rtol=1e-8)
    np.testing.assert_allclose(found.difference(1), [40 / 64, -0.4 * 64], rtol=1e-8)
    assert any(table.title == "Categories at P=64, D=20" for table in found.report().tables)
    found.of_part.values[0, 0] = 0.0  # a part that takes no time at first
    assert np.isnan(found.part_ratio(1)).tolist() == [True, False]


def test_a_part_of_one_model_alone_has_no_ratio(pair):
    found = compare(pair[0], model(3.0, 0.5, names=("work", "startup")), {"p": 2.0, "D": 20.0})
    assert (found.only_in(0), found.only_in(1)) == (["start"], ["startup"])
    assert np.isnan(found.part_ratio(0)).tolist() == [False, True, True]


def test_refusals(pair):
    with pytest.raises(OptionError, match="leave out at='category'"):
        compare(*pair, {"p": 2.0, "D": 20.0, "category": "work"})
    p = np.array([1.0, 2.0, 4.0, 8.0])
    other = perfcore.fit(pd.DataFrame({"p": p, "time_s": 8.0 / p + 1.0}), fitter="individual", functions="1/p,1")
    with pytest.raises(OptionError, match="A is a model of D, p, B of p"):
        compare(pair[0], other, {"p": 2.0, "D": 20.0})
    with pytest.raises(DataError, match="A is in s, B in ms"):
        compare(pair[0], model(3.0, 0.5, unit="time_ms"), {"p": 2.0, "D": 20.0})


def test_measured_points_come_first_and_then_what_is_predicted():
    """Times that are 5 to 24 % longer, of three runs of known spread: ratios of the means, and their noise."""
    p, noise = [1, 2, 4, 8, 16], np.array([-0.01, 0.0, 0.01])
    old = [100.0 / n + 2 for n in p]
    factors = [1.05, 1.08, 1.12, 1.16, 1.24]
    sides = [
        pd.DataFrame([(n, y * (1 + e)) for n, y in zip(p, times, strict=True) for e in noise], columns=["p", "time_s"])
        for times in (old, [y * f for y, f in zip(old, factors, strict=True)])
    ]
    found = perfcore.compare(*sides, at="p=128", fitter="scaling", names=("a.csv", "b.csv"))
    assert found.measured.ratio == pytest.approx(factors)
    assert found.to_dict()["measured"]["ratio"] == pytest.approx(factors)
    spread = (10 * 0.01**2 + 0.01**2) / 11  # each model: ten degrees of freedom, and one of 1 % before any
    half = stats.t.ppf(0.975, 11) * np.sqrt(2 * spread / 3)
    bounds = [found.measured.low, found.measured.high]
    np.testing.assert_allclose(bounds, np.outer(np.exp([-half, half]), factors), rtol=1e-3)
    answer = found.report().answer
    assert answer.startswith("b.csv is slower by 5\N{EN DASH}24% at every measured p, more with p; at p=128 1.")
    same = perfcore.compare(sides[0], sides[0], at="p=16", fitter="scaling", names=("a", "b")).report()
    assert same.answer.startswith("b and a do not differ beyond noise at any measured p (at most 2%)")


# Models of a fitter that nobody here knows: without options, with one variable, perhaps without bounds or a unit.
ORIGIN = Origin(fitter="reciprocal", options={}, source="old.csv", fingerprint="", version="0")


class Reciprocal(Model, frozen=True):
    """Seconds work / nodes, with bounds of 10 % to both sides."""

    work: float

    kind: ClassVar[str] = "reciprocal law"

    @property
    def variables(self):
        return {"k": "nodes"}

    @property
    def unit(self):
        return "s"

    def predict_array(self, points, interval=None):
        value = self.work / np.asarray(points, dtype=float)  # takes an array alone
        return value if interval is None else np.column_stack([value, 0.9 * value, 1.1 * value])

    @property
    def parameters(self):
        return (Parameter("work", self.work, None, "s"),)


class Unbounded(Reciprocal, frozen=True):
    """Neither bounds nor a unit."""

    @property
    def unit(self):
        return None

    def predict_array(self, points, interval=None):
        if interval is not None:
            raise OptionError("no bounds")
        return super().predict_array(points)


NODES = [1, 2, 4, 4]
RUNS = pd.DataFrame({"nodes": NODES, "time_s": [12.0, 6.6, 2.5, 2.5], "host": "a", "run": [1, 1, 1, 2]})


def test_columns_by_variables_and_the_value_as_the_table_says():
    """12 / k against 12, 6.6 and twice 2.5, which are one point: errors 0, 6/6.6 - 1 and 3/2.5 - 1."""
    verification = perfcore.validate(Reciprocal(ORIGIN, 12.0), RUNS)
    np.testing.assert_allclose(verification.errors, [0.0, 6.0 / 6.6 - 1.0, 0.2])
    figures = verification.figures(verification.groups["all points"])
    assert figures["n_points"] == 3
    assert figures["coverage"] == pytest.approx(2 / 3)  # 6.6 is the upper bound itself
    frame = verification.to_frame()
    assert frame["nodes"].tolist() == [1.0, 2.0, 4.0]
    np.testing.assert_allclose(frame["upper"], 1.1 * frame["predicted"])
    assert len(repr(verification).splitlines()) <= 10


def test_a_point_must_be_named_where_no_target_stands_for_it():
    with pytest.raises(OptionError, match=r"the model is one of k; give at='k="):
        perfcore.predict(Reciprocal(ORIGIN, 12.0), at=())


def test_without_bounds_and_unit():
    verification = perfcore.validate(Unbounded(ORIGIN, 12.0), RUNS)
    assert verification.unit == "s"
    assert np.isnan(verification.lower).all()
    assert verification.figures(verification.groups["all points"])["coverage"] is None


class Wide(Reciprocal, frozen=True):
    """Bounds of twice the value to both sides."""

    def predict_array(self, points, interval=None):
        value = self.work / np.asarray(points, dtype=float)
        return value if interval is None else value[:, None] * [1.0, -1.0, 3.0]


def test_draws_of_positive_values_are_cut_off_at_0():
    """The lower bound is twice as far away as 0, which 0.98 standard deviations reach; values below 0 are kept."""
    found = perfcore.compare(Wide(ORIGIN, 12.0), Wide(ORIGIN, -12.0), at={"nodes": [1, 24]})
    positive, negative = found.totals.draws
    assert (positive == 0.0).mean(axis=1) == pytest.approx(stats.norm.cdf(-1.96 / 2), abs=0.003)
    assert (negative > 0.0).mean(axis=1) == pytest.approx(stats.norm.cdf(-1.96 / 2), abs=0.003)
    assert np.quantile(positive, 0.975, axis=1) == pytest.approx([36.0, 1.5], rel=0.02)


def test_two_of_them_are_compared():
    """15 / k for 12 / k: 1.25 times everywhere."""
    models = (Reciprocal(ORIGIN, 12.0), Reciprocal(ORIGIN, 15.0))
    comparison = perfcore.compare(*models, at={"nodes": [1, 8]}, names=("old", "new"))
    np.testing.assert_allclose(comparison.ratio, 1.25)
    frame = comparison.to_frame()
    assert frame["part"].tolist() == ["total", "total"]
    np.testing.assert_allclose(frame["second"], [15.0, 15.0 / 8.0])
    assert len(repr(comparison).splitlines()) <= 10


# `perfcore.compare` of data: the fitter of their kind, sides of any sort, names.
def timings(rest):
    p = np.array([1.0, 2.0, 4.0, 8.0, 16.0])
    return pd.DataFrame({"p": p, "time_s": 8.0 / p + rest})


def by_category(start):
    rows = [(p, name, time) for p in (1, 2, 4, 8, 16) for name, time in (("work", 64.0 / p), ("start", start * p))]
    return pd.DataFrame(rows, columns=["p", "category", "time_s"])


@pytest.fixture
def notes(monkeypatch):
    heard = []
    monkeypatch.setattr(progress, "note", heard.append)
    return heard


@pytest.mark.parametrize(("make", "kind"), [(timings, "timings"), (by_category, "times by category")])
def test_the_kind_of_data_chooses_the_fitter_once(make, kind, notes):
    comparison = perfcore.compare(make(1.0), make(2.0), at="p=64")
    assert [note for note in notes if note.startswith("fitter: ")] == [notes[0]]
    assert f"(for {kind};" in notes[0]
    expected = [make(rest)["time_s"].to_numpy() for rest in (1.0, 2.0)]
    assert (expected[1] >= expected[0]).all()
    assert comparison.ratio[0] > 1.0


def test_parts_of_different_kinds_are_not_compared():
    """Categories of one model, paths of the other."""
    found = perfcore.compare(*(perfcore.fit(by_category(1.0), fitter=name) for name in ("modgen", "scaling")), at="p=8")
    assert (found.what, found.parts, found.growth) == ("", (), {})
    assert found.ratio == pytest.approx([1.0], rel=0.01)


def test_models_files_and_data_are_the_same(tmp_path):
    options = {"fitter": "individual", "functions": "1/p,1"}
    for name, rest in (("old", 1.0), ("new", 2.0)):
        timings(rest).to_csv(tmp_path / f"{name}.csv", index=False)
    model = perfcore.fit(tmp_path / "old.csv", **options)
    model.save(tmp_path / "old.json")
    sides = itertools.product((model, tmp_path / "old.json", tmp_path / "old.csv", timings(1.0)),
                              (tmp_path / "new.csv", timings(2.0)))  # fmt: skip
    for first, second in sides:
        comparison = perfcore.compare(first, second, at={"p": [1, 8]}, **options)
        np.testing.assert_allclose(comparison.ratio, [10.0 / 9.0, 1.5])
    assert perfcore.compare(model, tmp_path / "new.csv", at="p=1", **options).names == ("old", "new")


# Models against measurements: figures by their definitions, new points, models with and without categories.
@pytest.fixture(scope="module")
def profile_of_verification():
    return profile(3.0, 0.5)


@pytest.fixture(scope="module")
def model_of_verification(profile_of_verification):
    return perfcore.fit(profile_of_verification, fitter="modgen", parameter="P,D", set_aside="25%", seed=3)


def test_exact_data_are_predicted_at_all_points(model_of_verification, profile_of_verification):
    found = perfcore.validate(model_of_verification, Measurements(profile_of_verification))
    assert list(found.groups) == ["not fitted", "fitted"]
    assert [int(kept.sum()) for kept in found.groups.values()] == [4, 12]
    np.testing.assert_allclose(found.predicted, found.measured, rtol=1e-8)
    figures = found.figures(found.groups["not fitted"])
    assert figures["r2_centered"] == pytest.approx(1.0)
    assert figures["median_relative_error"] == pytest.approx(0.0, abs=1e-8)


def test_figures_are_those_of_their_definitions(model_of_verification, profile_of_verification):
    """Measured times 10% higher: every relative error is 1/1.1 - 1, which the bounds of exact data hold as well."""
    higher = profile_of_verification.assign(time_s=1.1 * profile_of_verification["time_s"])
    found = perfcore.validate(model_of_verification, higher)
    kept = found.groups["fitted"]
    np.testing.assert_allclose(found.errors, 1.0 / 1.1 - 1.0, rtol=1e-8)
    y = found.measured[kept]
    figures = found.figures(kept)
    assert figures["r2_centered"] == pytest.approx(1.0 - ((y / 11.0) ** 2).sum() / ((y - y.mean()) ** 2).sum())
    assert figures["max_relative_error"] == pytest.approx(1.0 / 11.0)
    low, high = model_of_verification.predict_array(dict(found.points), interval=0.95)[:, 1:].T
    assert figures["coverage"] == np.mean((low <= found.measured) & (found.measured <= high), where=kept)


def test_the_worst_category_comes_first(model_of_verification, profile_of_verification):
    wrong = profile_of_verification.copy()
    wrong.loc[wrong["category"] == "start", "time_s"] *= 2.0
    first, second = perfcore.validate(model_of_verification, wrong).category_figures(np.ones(16, dtype=bool))
    assert (first["category"], second["category"]) == ("start", "work")
    assert second["r2_centered"] == pytest.approx(1.0)
    assert first["share"] + second["share"] == pytest.approx(1.0)


def test_refusals_of_verification(model_of_verification, profile_of_verification):
    curve = perfcore.UtilizationCurve([0, 4, 10], [2, 8])
    with pytest.raises(DataError, match="columns that the model requires are missing: unknown column"):
        perfcore.validate(perfcore.fit(curve, phases=2, degree=0), profile_of_verification)
    with pytest.raises(DataError, match="not with UtilizationCurve"):
        perfcore.validate(model_of_verification, curve)
    with pytest.raises(DataError, match="the values are in ms, those of the model in s"):
        perfcore.validate(model_of_verification, profile_of_verification.rename(columns={"time_s": "time_ms"}))
    renamed = profile_of_verification.assign(category="x" + profile_of_verification["category"])
    with pytest.raises(DataError, match="none of the model's categories"):
        perfcore.validate(model_of_verification, renamed)


def test_series_that_do_not_add_up_are_compared_by_their_geometric_mean():
    """One of two schemes is a fifth slower at p=1: 9.5 % in the geometric mean; their sum is a time of nothing."""
    times = [10.0, 6.0, 4.0, 3.0, 20.0, 11.0, 6.5, 4.0]
    table = pd.DataFrame({"scheme": list("aaaabbbb"), "p": [1, 2, 4, 8] * 2, "time_s": times})
    slower = table.assign(time_s=table["time_s"].where(table.index > 0, 12.0))
    comparison = perfcore.compare(table, slower, path="scheme", at="p=1")
    assert comparison.measured.means[:, 0] == pytest.approx([200**0.5, 240**0.5])
    assert comparison.measured.ratio[0] == pytest.approx(1.2**0.5)
    assert "10% at p=1, beyond noise, in the geometric mean of 2 series" in comparison.report().answer


def test_of_series_that_do_not_add_up_both_models_have_those_of_both():
    """A third scheme of one model alone changes nothing; as a part of a time it would."""
    times = [10.0, 6.0, 4.0, 3.0, 20.0, 11.0, 6.5, 4.0, 90.0, 80.0, 70.0, 60.0]
    table = pd.DataFrame({"scheme": list("aaaabbbbcccc"), "p": [1, 2, 4, 8] * 3, "time_s": times})
    expected = perfcore.compare(table[:8], table[:8], path="scheme", at="p=8").totals.values
    found = perfcore.compare(table[:8], table, path="scheme", at="p=8").totals.values
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    parts = table.rename(columns={"scheme": "region"})
    fitted = [perfcore.fit(rows, fitter="modgen") for rows in (parts[:8], parts)]
    one, other = perfcore.compare(*fitted, at="p=8").totals.values[:, 0]
    assert other > 5.0 * one


def test_calls_within_calls_count_once():
    rows = [(path, p, time / p) for p in (1, 2, 4, 8) for path, time in (("main", 10.0), ("main/io", 4.0))]
    table = pd.DataFrame(rows, columns=["callpath", "p", "inclusive_s"])
    comparison = perfcore.compare(table, table, at="p=2", path="callpath", value="inclusive_s")
    assert comparison.totals.values[:, 0] == pytest.approx([5.0, 5.0], rel=0.1)
    assert comparison.measured.means[0] == pytest.approx([10.0, 5.0, 2.5, 1.25])
