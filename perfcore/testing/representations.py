"""What every representation of stochastic values promises.

Nothing here asks for more than a distribution of that kind can give. A sum of two lognormals is no lognormal: its
representation may leave the operation to a more general one, and then the result has a note. So the rule of all tests
of arithmetic is: a result whose notes say nothing is exact, any other is near.
"""

from __future__ import annotations

import dataclasses
import itertools
import json
import math
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np
import pytest

from perfcore.base.arrays import Floats
from perfcore.base.errors import DataError, OptionError, UnknownNameError
from perfcore.hooks.registry import registry
from perfcore.stochastic import StochasticValue, add, as_value, exp, from_dict, from_text, log, maximum, minimum, sqrt
from perfcore.testing._options import check_options

__all__ = ["RepresentationSuite"]


_LEVELS = np.linspace(0.0, 1.0, 1001)
_MIDDLES = (np.arange(20_000) + 0.5) / 20_000
_INNER = np.linspace(0.02, 0.98, 97)
_COVERAGES = (0.5, 0.9)


class RepresentationSuite:
    """Tests of one representation.

    Attributes
    ----------
    representation : type of `perfcore.stochastic.StochasticValue`
    values : sequence of StochasticValue
        At least two that differ, above 0 (a normal by six standard deviations).
    options : object, optional
        Instance of its `Options` for samples; the defaults when left out.
    mean_tolerance : float
        Largest error, in standard deviations, of the mean of 1,000 samples that are spread as one of `values`.
    std_tolerance : float
        Largest relative error of their standard deviation; infinite where a summary widens or forgets.
    tolerance : float
        Largest error of a result that has a note: in probabilities, and in means as a share of the standard deviation.
    """

    representation: type[StochasticValue]
    values: Sequence[StochasticValue]
    options: Any = None
    mean_tolerance: float = 0.02
    std_tolerance: float = 0.1
    tolerance: ClassVar[float] = 0.02

    @property
    def has_distribution(self) -> bool:
        """Whether it knows what lies between its bounds."""
        return self.values[0].has_distribution

    def test_has_a_name_and_a_generality(self) -> None:
        """By the name it is registered and read again; the generality says who performs an operation."""
        assert issubclass(self.representation, StochasticValue)
        assert registry().load("representations", self.representation.name) is self.representation
        assert isinstance(self.representation.generality, int)

    def test_options(self) -> None:
        """Options can be listed and accept their defaults; unknown ones are refused."""
        check_options(self.representation.Options)
        check_options(self.representation.arithmetic())
        with pytest.raises(UnknownNameError):
            add(*self.values, no_such_option=1)

    def test_is_frozen_and_readable(self) -> None:
        """Nothing can be changed in place; the text is one line."""
        for value in self.values:
            assert len(repr(value).splitlines()) == 1
            with pytest.raises((AttributeError, dataclasses.FrozenInstanceError)):
                setattr(value, "notes", ("changed",))  # noqa: B010 (the type checker would refuse the plain form)

    # Forms in files and on the command line.

    def test_json(self) -> None:
        """A value is what was written of it."""
        for value in self.values:
            written = json.loads(json.dumps(value.to_dict(), allow_nan=False))
            assert from_dict(written) == value
            assert hash(from_dict(written)) == hash(value)
        assert self.values[0] != self.values[1]

    def test_json_is_read_strictly(self) -> None:
        """Unknown and missing keys, texts and NaN in place of numbers: one line each."""
        content = self.values[0].to_dict()
        numbers = [key for key in content if key != "representation"]
        wrong: list[dict[str, Any]] = [content | {"no_such_key": 1}]
        wrong += [{key: content[key] for key in content if key != numbers[0]}]
        for key, bad in itertools.product(numbers, ("text", math.nan, {})):
            wrong.append(content | {key: [bad] if isinstance(content[key], list) else bad})
        for wrong_content in wrong:
            with pytest.raises(DataError) as caught:
                from_dict(wrong_content)
            assert len(str(caught.value).splitlines()) == 1

    def test_words(self) -> None:
        """What a user types behind the name is read without loss; what is no value is refused in one line."""
        name = self.representation.name
        for value in self.values:
            text = value.to_text()
            assert text.startswith(f"{name}:")
            assert len(text.splitlines()) == 1
            assert from_text(text) == value
        for words in ("", "few", "nan", ",".join(["1"] * 99), "/".join(["1"] * 99)):
            with pytest.raises(DataError) as caught:
                from_text(f"{name}:{words}")
            assert len(str(caught.value).splitlines()) == 1

    # Samples, and values of other representations.

    @pytest.mark.parametrize("samples", [[], [1.0, math.nan], [1.0, math.inf], [[1.0, 2.0]], ["one"]])
    def test_bad_samples(self, samples: list[Any]) -> None:
        """None, not finite, not in one row, no numbers: one line each."""
        with pytest.raises(DataError):
            self.representation.from_samples(samples)

    def test_samples(self) -> None:
        """Samples that are spread as a value does give about that value; their order does not count."""
        for value in self.values:
            low, high = value.support
            levels = _MIDDLES[::20]
            samples = value.quantile(levels) if self.has_distribution else low + (high - low) * levels
            summary = self.representation.from_samples(samples, self.options)
            shuffled = self.representation.from_samples(np.random.default_rng(5).permutation(samples), self.options)
            np.testing.assert_allclose(shuffled.support, summary.support, rtol=1e-9)
            assert summary.support[0] <= np.median(samples) <= summary.support[1] or value.std == 0.0
            if not self.has_distribution:
                continue
            # The second terms are for a value without spread.
            assert shuffled.mean == pytest.approx(summary.mean, rel=1e-9)
            assert summary.mean == pytest.approx(
                samples.mean(), abs=self.mean_tolerance * samples.std() + 1e-12 * abs(value.mean)
            )
            if math.isfinite(self.std_tolerance):
                assert summary.std == pytest.approx(samples.std(), rel=self.std_tolerance)

    def test_equal_samples(self) -> None:
        """They are one value."""
        equal = self.representation.from_samples([2.5, 2.5, 2.5])
        assert equal.support == pytest.approx((2.5, 2.5), rel=1e-12)
        assert equal.quantile(0.3) == equal.support[0] == equal.support[1]
        draws = self.representation.from_draws(np.full(1000, 2.5), 20)
        assert isinstance(draws, self.representation)
        assert draws.support == pytest.approx((2.5, 2.5), rel=1e-12)

    def test_conversion(self) -> None:
        """Conversion from itself or a number is lossless; other losses are reported."""
        for value in self.values:
            assert self.representation.convert(value) == (value, "")
        converted, lost = self.representation.convert(as_value(3.0))
        assert converted.support == pytest.approx((3.0, 3.0), rel=1e-12)
        assert lost == ""
        for name in registry().entries("representations"):
            other = registry().load("representations", name).from_samples([11.0, 12.0, 12.5, 14.0])
            converted, lost = self.representation.convert(other)
            assert isinstance(converted, self.representation)
            assert lost == lost.strip()

    # What a value knows.

    def test_distribution_function_and_quantiles(self) -> None:
        """Each is the other's inverse; both rise, and keep the shape of what they are asked for."""
        for value in self.values:
            for shape in ((), (0,), (2, 3)):
                for function in (value.cdf, value.pdf, value.quantile):
                    assert np.shape(function(np.full(shape, 0.5))) == shape
            low, high = value.support
            ends = value.quantile([0.0, 1.0, -0.1, 1.1, math.nan])
            assert ends[:2].tolist() == [low, high]
            assert np.isnan(ends[2:]).all()
            assert value.cdf(np.nextafter(low, -np.inf)) == 0.0
            assert value.cdf(high) == 1.0
            if not self.has_distribution:
                continue
            places = value.quantile(_LEVELS)
            levels = value.cdf(places)
            assert (places[1:] >= places[:-1]).all()
            assert (levels[1:] >= levels[:-1]).all()
            assert (levels >= _LEVELS - 1e-12).all()
            assert (value.cdf(np.nextafter(places[1:], -np.inf)) <= _LEVELS[1:] + 1e-9).all()

    def test_mean_and_std_are_those_of_the_quantiles(self) -> None:
        """By quadrature over the quantiles; or there are none."""
        for value in self.values:
            if not self.has_distribution:
                assert math.isnan(value.mean)
                assert math.isnan(value.std)
                continue
            places = value.quantile(_MIDDLES)
            spread = value.std or abs(value.mean)
            assert places.mean() == pytest.approx(value.mean, abs=1e-3 * spread)
            assert places.std() == pytest.approx(value.std, rel=1e-2, abs=1e-12)

    def test_density_is_the_slope(self) -> None:
        """What a density adds up to between two places is what the distribution function rises by."""
        for value in self.values if self.has_distribution else ():
            low, high = value.quantile([0.01, 0.99])
            if low == high:
                continue
            places = np.linspace(low, high, 20_001)
            density = value.pdf(0.5 * (places[1:] + places[:-1]))
            assert (density >= 0.0).all()
            rises = np.diff(value.cdf(places))
            smooth = rises < 1e-2  # but for single values with a probability of their own
            total = density[smooth].sum() * (places[1] - places[0])
            assert total == pytest.approx(rises[smooth].sum(), abs=1e-3)

    def test_sampling(self) -> None:
        """Independent values from the distribution, repeatable; refused where there is none."""
        for value in self.values:
            if not self.has_distribution:
                with pytest.raises(DataError, match="distribution"):
                    value.sample(3, np.random.default_rng(1))
                continue
            drawn = value.sample(10_000, np.random.default_rng(1))
            np.testing.assert_array_equal(drawn, value.sample(10_000, np.random.default_rng(1)))
            low, high = value.support
            assert low <= drawn.min() <= drawn.max() <= high
            # Five standard errors; the second term is for a value without spread.
            assert drawn.mean() == pytest.approx(value.mean, abs=0.05 * value.std + 1e-12)

    def test_central_intervals(self) -> None:
        """They hold what they say; one that says more holds those that say less."""
        for value in self.values:
            inner, outer = (value.central_interval(coverage) for coverage in _COVERAGES)
            if not self.has_distribution:
                assert np.isnan([*inner, *outer]).all()
                continue
            assert outer[0] <= inner[0] <= inner[1] <= outer[1]
            for coverage, (low, high) in zip(_COVERAGES, (inner, outer), strict=True):
                probability = float(value.cdf(high)) - float(value.cdf(np.nextafter(low, -np.inf)))
                assert probability >= coverage - 1e-9

    def test_scores(self) -> None:
        """The score is the integral of its definition, the place the distribution function; NaN where there is none."""
        for value in self.values:
            if not self.has_distribution:
                assert np.isnan([value.crps(3.0), value.place_of(3.0)]).all()
                continue
            if value.std == 0.0:
                assert [value.crps(value.mean), value.crps(value.mean - 2.0)] == [0.0, 2.0]
                assert math.isnan(value.place_of(value.mean))
                continue
            low, high = value.quantile([1e-9, 1.0 - 1e-9])
            for actual in value.quantile([0.0001, 0.3, 0.9]).tolist():
                edges = np.linspace(low, high, 100_001)
                middles = 0.5 * (edges[1:] + edges[:-1])
                expected = np.sum((value.cdf(middles) - (middles >= actual)) ** 2) * (edges[1] - edges[0])
                assert value.crps(actual) == pytest.approx(expected, abs=1e-3 * value.std)
                assert value.place_of(actual) == value.cdf(actual)

    def test_bins(self) -> None:
        """Edges and probabilities of what is made of bins are those of its distribution function."""
        for value in self.values:
            if value.binned is not None:
                edges, masses = value.binned
                assert (edges[0], edges[-1]) == value.support
                assert (np.diff(edges) >= 0.0).all()
                below = np.cumsum(masses)
                distinct = np.append(edges[1:-1] < edges[2:], True)  # no single value follows
                np.testing.assert_allclose(value.cdf(edges[1:])[distinct], below[distinct], atol=1e-9)

    # Arithmetic.

    def check(self, result: StochasticValue, levels: Floats, expected: Floats, support: tuple[float, float]) -> None:
        """Assert that a result has these quantiles: exactly if it has no notes, else nearly and within the support."""
        low, high = result.support
        if not result.notes:
            np.testing.assert_allclose([low, high], support, rtol=1e-12, atol=1e-12)
            if self.has_distribution:
                np.testing.assert_allclose(result.quantile(levels), expected, rtol=1e-9, atol=1e-12)
            return
        margin = 1e-9 * np.abs(expected).max()
        assert support[0] - margin <= low <= high <= support[1] + margin
        if self.has_distribution:
            np.testing.assert_allclose(result.cdf(expected), levels, atol=self.tolerance)

    def near(self, result: StochasticValue, exact: float, spread: float) -> Any:
        """What the mean of a result must equal: exactly if it has no notes, else nearly."""
        return pytest.approx(exact, rel=1e-12, abs=self.tolerance * spread if result.notes else 1e-12)

    def test_arithmetic_with_numbers(self) -> None:
        """Shifts and factors act on every quantile; a change of sign turns them round."""
        for x in self.values:
            places, backwards = x.quantile(_INNER), x.quantile(1.0 - _INNER)
            low, high = x.support
            for value, expected, support in (
                (x + 2, places + 2.0, (low + 2.0, high + 2.0)),
                (2 + x, places + 2.0, (low + 2.0, high + 2.0)),
                (x - 1.5, places - 1.5, (low - 1.5, high - 1.5)),
                (4 * x, 4.0 * places, (4.0 * low, 4.0 * high)),
                (x / 4, places / 4.0, (low / 4.0, high / 4.0)),
                (np.float64(0.5) * x, 0.5 * places, (0.5 * low, 0.5 * high)),
                (10 - x, 10.0 - backwards, (10.0 - high, 10.0 - low)),
                (x * -2, -2.0 * backwards, (-2.0 * high, -2.0 * low)),
                (-x, -backwards, (-high, -low)),
            ):
                assert isinstance(value, StochasticValue)
                self.check(value, _INNER, expected, support)

    def test_sums_and_products_commute(self) -> None:
        """The order of operands does not matter."""
        x, y = self.values[:2]
        self.check_same(x + y, y + x)
        self.check_same(x * y, y * x)
        self.check_same(maximum(x, y), maximum(y, x))
        self.check_same(minimum(x, y), minimum(y, x))

    def check_same(self, one: StochasticValue, other: StochasticValue) -> None:
        """Assert that two results say the same."""
        assert type(one) is type(other)
        np.testing.assert_allclose(one.support, other.support, rtol=1e-12)
        if one.has_distribution:
            assert one.mean == pytest.approx(other.mean, rel=1e-12)
            places = one.quantile(_LEVELS[1:-1])
            # Another order may place the bins of a result a little differently.
            assert np.abs(one.cdf(places) - other.cdf(places)).max() < 0.02

    def test_mixes_with_every_other(self) -> None:
        """With a value of any registered representation, in either order; what has no distribution leaves bounds."""
        x = self.values[0]
        for name in registry().entries("representations"):
            other = registry().load("representations", name).from_samples([11.0, 12.0, 12.5, 14.0])
            total = x + other
            self.check_same(total, other + x)
            self.check_same(maximum(x, other), maximum(other, x))
            if total.has_distribution:
                std = math.hypot(x.std, other.std)
                assert total.mean == pytest.approx(x.mean + other.mean, abs=self.tolerance * std + 1e-9)
                assert (x * other).mean == pytest.approx(x.mean * other.mean, rel=self.tolerance)
            else:
                assert not (x.has_distribution and other.has_distribution)
            changed = type(total) is not type(x) or not isinstance(other, type(x))
            assert not changed or total.notes or 0.0 in (x.std, other.std)

    def test_means_of_sums_and_products(self) -> None:
        """Of independent values means add and multiply, and variances add."""
        x, y = self.values[:2]
        if not self.has_distribution:
            assert math.isnan((x + y).mean)
            return
        std = math.hypot(x.std, y.std)
        assert (x + y).mean == self.near(x + y, x.mean + y.mean, std)
        assert (x - y).mean == self.near(x - y, x.mean - y.mean, std)
        assert (x * y).mean == self.near(x * y, x.mean * y.mean, x.mean * y.std + y.mean * x.std)
        assert (x + y).std == pytest.approx(std, rel=0.05, abs=1e-12)

    def test_the_largest_is_not_below_any(self) -> None:
        """The maximum's distribution function is below those of its operands, the minimum's above."""
        x, y = self.values[:2]
        ends = list(zip(x.support, y.support, strict=True))
        for result, pick in ((maximum(x, y), max), (minimum(x, y), min)):
            (low, high), (least, most) = result.support, map(pick, ends)
            assert least <= low <= high <= most if result.notes else (low, high) == (least, most)
        if self.has_distribution:
            largest, smallest = maximum(x, y), minimum(x, y)
            std = math.hypot(x.std, y.std)
            margin = self.tolerance * std if largest.notes else 1e-9
            assert largest.mean >= max(x.mean, y.mean) - margin
            assert smallest.mean <= min(x.mean, y.mean) + margin
            assert largest.mean + smallest.mean == pytest.approx(x.mean + y.mean, rel=1e-9, abs=margin)

    def test_outside_the_domain(self) -> None:
        """A divisor that can be 0, a root or logarithm of what can be negative: one line each, what to do included."""
        x = self.values[0]
        around_zero = x - (x.mean if self.has_distribution else x.support[0])
        outside: Sequence[Callable[[], StochasticValue]] = (
            lambda: x / 0,
            lambda: x / around_zero,
            lambda: log(-x),
            lambda: sqrt(-x),
            lambda: (-x) ** 0.5,
            lambda: exp(1e6 * x),
        )
        for impossible in outside:
            with pytest.raises((DataError, OptionError)) as caught:
                impossible()
            assert len(str(caught.value).splitlines()) == 1

    def test_functions_of_one(self) -> None:
        """Powers, roots, exponentials and logarithms undo each other, roughly where a result is a summary."""
        there_and_back: Sequence[Callable[[StochasticValue], StochasticValue]] = (
            lambda v: sqrt(v**2),
            lambda v: 10 * log(exp(v / 10)),
            lambda v: 1 / (1 / v),
            lambda v: abs(-v),
        )
        for x, way in itertools.product(self.values, there_and_back):
            result = way(x)
            (low, high), (least, most) = result.support, x.support
            if result.notes:
                assert least - 1e-9 * abs(low) <= low <= high <= most + 1e-9 * abs(high)
            else:
                for end, expected in ((low, least), (high, most)):
                    assert end == pytest.approx(expected, rel=1e-9) or not math.isfinite(expected)
            if self.has_distribution:
                assert result.mean == pytest.approx(x.mean, rel=0.02)

    def test_notes_stay_out_of_comparisons(self) -> None:
        """They are words for a reader, and go with the value into results."""
        value: Any = self.values[0]
        noted = dataclasses.replace(value, notes=("measured on a Monday",))
        assert noted == value
        assert (noted + 1).notes[0] == "measured on a Monday"
        assert (noted * 2).notes[0] == "measured on a Monday"
