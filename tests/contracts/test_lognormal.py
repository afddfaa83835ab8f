"""Families of two numbers, written from the contract alone, pass the suite and work wherever other values do."""

import dataclasses
import json
import math
from dataclasses import dataclass

import numpy as np
import pytest
from scipy import stats

from perf_structural import StructuralModel, StructuralModelError, judge
from perfcore.base.errors import DataError, UnknownNameError
from perfcore.hooks.registry import Entry
from perfcore.stochastic import add, checked_samples, exp, from_text, log, maximum, representation_named
from perfcore.testing import RepresentationSuite

Exponential, Gamma, Lognormal = map(representation_named, ("exponential", "gamma", "lognormal"))

LOAD = Entry.load
X, Y = Lognormal(1.0, 0.3), Lognormal(0.5, 0.4)


class TestLognormal(RepresentationSuite):
    representation = Lognormal
    values = (X, Y)


class TestLognormalOfLongTail(RepresentationSuite):
    representation = Lognormal
    values = (Lognormal(1.0, 0.9), Lognormal(0.0, 0.0))


class TestGamma(RepresentationSuite):
    representation = Gamma
    values = (Gamma(2.0, 1.0), Gamma(3.0, 2.5))


class TestExponential(RepresentationSuite):
    representation = Exponential
    values = (Exponential(0.0, 2.0), Exponential(3.0, 0.5))


def test_it_is_closed_under_products_and_nothing_else():
    for product in (X * Y, X / Y, X**2, 3 / X, X / 4, (X * Y) ** 0.5):
        assert isinstance(product, Lognormal)
        assert product.notes == ()
    for other in (X + Y, X - Y, -X, 2 + X, -2 * X, maximum(X, Y), log(X), exp(X), X * from_text("normal:3,0.1")):
        assert other.name == "histogram"
        assert "taken as histogram: 50 bins, from " in other.notes[0]


def test_samples_of_it_are_found_again():
    """Its own maximum likelihood estimate: errors of sigma/sqrt(n) and sigma/sqrt(2n)."""
    summary = Lognormal.from_samples(X.sample(10_000, np.random.default_rng(3)))
    assert summary.mu == pytest.approx(X.mu, abs=4 * X.sigma / 100)
    assert summary.sigma == pytest.approx(X.sigma, abs=4 * X.sigma / math.sqrt(20_000))
    with pytest.raises(DataError, match="all must be above 0"):
        Lognormal.from_samples([1.0, 0.0])


def test_a_sum_is_near_the_true_distribution():
    """By 200,000 pairs of quantiles in random order, whose empirical distribution errs by less than 0.004."""
    rng = np.random.default_rng(8)
    levels = (np.arange(200_000) + 0.5) / 200_000
    drawn = np.sort(X.quantile(levels) + rng.permutation(Y.quantile(levels)))
    total = add(X, Y, bins=100)
    assert np.abs(total.cdf(drawn) - levels).max() < 0.006
    assert total.mean == pytest.approx(X.mean + Y.mean, rel=1e-6)
    assert total.support[0] > 0.0  # so that it can be divided by
    assert (1 / total).mean == pytest.approx((1 / drawn).mean(), rel=2e-3)


def test_with_bounds_only_bounds_are_left():
    """Three standard deviations, but not below 0."""
    total = X + from_text("interval:1,2")
    assert total.support == pytest.approx((1.0 + max(0.0, X.mean - 3 * X.std), 2.0 + X.mean + 3 * X.std))


def test_a_normal_of_it_says_how_far_off_it_is():
    """A representation that ranks below it converts it, though it has never heard of it."""
    converted, lost = representation_named("normal").convert(X)
    assert (converted.mean, converted.std) == (X.mean, X.std)
    true = np.abs(converted.cdf(X.quantile(np.linspace(0.001, 0.999, 999))) - np.linspace(0.001, 0.999, 999)).max()
    assert lost == f"the shape: probabilities differ by up to {true:.2g}"


def test_it_is_typed_written_in_files_and_judged(tmp_path):
    assert from_text("lognormal:1,0.3") == X
    exact = StructuralModel("2*x", inputs={"x": {"lognormal": [1, 0.3]}}).predict()
    assert exact.value == Lognormal(1.0 + math.log(2.0), 0.3)
    by_name = {"x": {"lognormal": {"mu": 1.0, "sigma": 0.3}, "unit": "s"}, "y": "lognormal:1,0.3"}
    assert StructuralModel("x", inputs=by_name).predict().value == X
    assert StructuralModel("y", inputs=by_name).predict().value == X
    sampled = {"x": {"samples": [1.0, 2.0, 4.0], "as": "lognormal"}}
    assert StructuralModel("x", inputs=sampled).predict().value.mean == Lognormal.from_samples([1.0, 2.0, 4.0]).mean
    correlated = StructuralModel("x*y", inputs={"x": X, "y": Y}, correlations={"x,y": 0.5}).predict(bins=200)
    spread = math.sqrt(0.3**2 + 0.4**2 + 2 * 0.5 * 0.3 * 0.4)  # logarithms are normal, so theirs is the correlation
    assert correlated.statistics["mean"] == pytest.approx(math.exp(1.5 + spread**2 / 2), rel=1e-3)
    found = judge([X], X.sample(2000, np.random.default_rng(2)))
    assert all(row["low"] <= row["promised"] <= row["high"] for row in found.coverage())
    assert stats.chisquare(found.place_counts()).pvalue > 0.001


def test_on_the_command_line(perf, tmp_path):
    words = ["stochastic", "eval", "a*b", "--with", "a=3", "--with", "b=lognormal:1,0.2", "--json"]
    value = json.loads(perf(*words).out)["value"]
    assert value == {"representation": "lognormal", "mu": pytest.approx(1 + math.log(3)), "sigma": 0.2}
    (tmp_path / "value.json").write_text(json.dumps(value))
    given = ("--with", f"b={tmp_path / 'value.json'}", "--with", "c=normal:3,1")
    printed = perf("stochastic", "eval", "b + c", *given).out
    assert "taken as histogram" in printed
    (tmp_path / "load.csv").write_text("time,load\n" + "".join(f"{k},{1 + k % 7}\n" for k in range(50)))
    words = ["stochastic", "summarize", tmp_path / "load.csv", "--as", "lognormal", "--window", "all", "--json"]
    assert json.loads(perf(*words).out)["value"]["representation"] == "lognormal"


def test_mistakes_name_what_there_is():
    with pytest.raises(UnknownNameError, match="unknown representation 'lognorml': did you mean 'lognormal'"):
        from_text("lognorml:1,2")
    with pytest.raises(StructuralModelError, match="MU,SIGMA is expected, 1 of these are given"):
        StructuralModel("x", inputs={"x": {"lognormal": [1]}})
    with pytest.raises(StructuralModelError, match="finite and 0 or more"):
        StructuralModel("x", inputs={"x": "lognormal:1,-1"})
    for too_large in ("4294967296,0.4", "0,27", "700,1"):
        with pytest.raises(StructuralModelError, match="too large for a float"):
            StructuralModel("x", inputs={"x": f"lognormal:{too_large}"})
    assert from_text("lognormal:699,0.5").std < float("inf")


def _fitted(cls, numbers):
    return cls(float(numbers.mean()), float(numbers.std()))


def _spreads_added(cls, operation, operands, options=None):
    if operation == "multiply" and all(isinstance(x, Lognormal) for x in operands):
        return cls(sum(x.mu for x in operands), sum(x.sigma for x in operands))
    return super(cls, cls).operate(operation, operands, options)


def _sum_as_product(cls, operation, operands, options=None):
    return super(cls, cls).operate("multiply" if operation == "add" else operation, operands, options)


def _without_notes(cls, operation, operands, options=None):
    return dataclasses.replace(super(cls, cls).operate(operation, operands, options), notes=())


# Mistakes that a stranger makes, and the test of the suite that finds each.
MISTAKES = {
    "variance for standard deviation": (
        {"std": property(lambda x: x.mean**2 * math.expm1(x.sigma**2))},
        "mean_and_std",
    ),
    "median for mean": ({"mean": property(lambda x: math.exp(x.mu))}, "mean_and_std"),
    "decimal logarithms of samples": (
        {"from_samples": classmethod(lambda cls, samples, _=None: _fitted(cls, np.log10(checked_samples(samples))))},
        "samples",
    ),
    "logarithms forgotten": (
        {"from_samples": classmethod(lambda cls, samples, _=None: _fitted(cls, checked_samples(samples)))},
        "samples",
    ),
    "upper tail": ({"cdf": lambda x, at: 1.0 - Lognormal.cdf(x, at)}, "distribution_function"),
    "density of the logarithm": ({"pdf": lambda x, at: stats.norm.pdf(np.log(at), x.mu, x.sigma)}, "density"),
    "spreads add in products": ({"operate": classmethod(_spreads_added)}, "means_of_sums"),
    "a sum as if it were a product": ({"operate": classmethod(_sum_as_product)}, "numbers"),
    "notes of operands dropped": ({"operate": classmethod(_without_notes)}, "notes"),
    "squared score": ({"crps": lambda x, at: Lognormal.crps(x, at) ** 2}, "scores"),
    "words without the name": ({"to_text": lambda x: f"{x.mu},{x.sigma}"}, "words"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_the_suite_finds_mistakes(mistake, register_representation):
    body, expected = MISTAKES[mistake]
    wrong = dataclass(frozen=True)(type("Wrong", (Lognormal,), body | {"__module__": __name__}))
    register_representation(wrong)

    class Suite(RepresentationSuite):
        representation = wrong
        values = (wrong(1.0, 0.3), wrong(0.5, 0.4))

    suite = Suite()
    tests = [name for name in dir(suite) if name.startswith("test_") and name != "test_bad_samples"]
    failed = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Entry, "load", lambda entry: wrong if entry.name == "lognormal" else LOAD(entry))
        for name in tests:
            try:
                getattr(suite, name)()
            except (Exception, pytest.fail.Exception):
                failed.append(name)
    assert any(expected in name for name in failed), failed
