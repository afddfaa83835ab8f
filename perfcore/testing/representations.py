"""What every representation of stochastic values promises."""

from __future__ import annotations

import dataclasses
import itertools
import json
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from perfcore.base.errors import DataError, OptionError, UnknownNameError
from perfcore.hooks.registry import registry
from perfcore.stochastic import StochasticValue, add, exp, from_dict, log, maximum, minimum, sqrt
from perfcore.testing._options import check_options

__all__ = ["RepresentationSuite"]

_LEVELS = np.linspace(0.0, 1.0, 1001)
_MIDDLES = (np.arange(20_000) + 0.5) / 20_000


class RepresentationSuite:
    """Tests of one representation.

    Attributes
    ----------
    representation : type of `perfcore.stochastic.StochasticValue`
    values : sequence of StochasticValue
        At least two that differ, above 0 (a normal by six standard deviations).
    options : object, optional
        Instance of its `Options` for samples; the defaults when left out.
    std_tolerance : float
        Largest relative error of the standard deviation of 1,000 samples; infinite where a summary widens or forgets.
    """

    representation: type[StochasticValue]
    values: Sequence[StochasticValue]
    options: Any = None
    std_tolerance: float = 0.1

    @property
    def has_distribution(self) -> bool:
        """Whether it knows what lies between its bounds."""
        return not math.isnan(self.values[0].mean)

    def test_has_a_name_and_a_generality(self) -> None:
        """By the name it is registered and read again; the generality says who performs an operation."""
        assert issubclass(self.representation, StochasticValue)
        assert registry().load("representations", self.representation.name) is self.representation
        assert isinstance(self.representation.generality, int)

    def test_options(self) -> None:
        """Options can be listed and accept their defaults; unknown ones are refused."""
        check_options(self.representation.Options)
        check_options(self.representation.Arithmetic)
        with pytest.raises(UnknownNameError):
            add(*self.values, no_such_option=1)

    def test_is_frozen_and_readable(self) -> None:
        """Nothing can be changed in place; the text is one line."""
        for value in self.values:
            assert len(repr(value).splitlines()) == 1
            with pytest.raises((AttributeError, dataclasses.FrozenInstanceError)):
                value.notes = ("changed",)

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
        for given in wrong:
            with pytest.raises(DataError) as caught:
                from_dict(given)
            assert len(str(caught.value).splitlines()) == 1

    @pytest.mark.parametrize("samples", [[], [1.0, math.nan], [1.0, math.inf], [[1.0, 2.0]], ["one"]])
    def test_bad_samples(self, samples: list[Any]) -> None:
        """None, not finite, not in one row, no numbers: one line each."""
        with pytest.raises(DataError):
            self.representation.from_samples(samples)

    def test_samples(self) -> None:
        """The mean is kept exactly, the spread about; equal samples are one value."""
        samples = np.random.default_rng(5).gamma(4.0, 1.0, 1000)
        value = self.representation.from_samples(samples, self.options)
        if self.has_distribution:
            assert value.mean == pytest.approx(samples.mean(), rel=1e-12)
            if math.isfinite(self.std_tolerance):
                assert value.std == pytest.approx(samples.std(), rel=self.std_tolerance)
        low, high = value.support
        assert low <= np.median(samples) <= high or low == high
        equal = self.representation.from_samples([2.5, 2.5, 2.5])
        assert equal.support == (2.5, 2.5)
        assert equal.quantile(0.3) == 2.5

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
            places = np.linspace(low, high, 200_001)
            density = value.pdf(0.5 * (places[1:] + places[:-1]))
            assert (density >= 0.0).all()
            rises = np.diff(value.cdf(places))
            smooth = rises < 1e-3  # but for single values with a probability of their own
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

    def test_conversion(self) -> None:
        """Nothing is lost from itself or a point; what is lost from others is said."""
        for value in self.values:
            assert self.representation.convert(value) == (value, "")
        point = registry().load("representations", "point")(3.0)
        converted, lost = self.representation.convert(point)
        assert (converted.support, lost) == ((3.0, 3.0), "")
        for name in registry().entries("representations"):
            other = registry().load("representations", name).from_samples([1.0, 2.0, 4.0])
            converted, lost = self.representation.convert(other)
            assert isinstance(converted, self.representation)
            assert lost == lost.strip()

    def test_arithmetic_with_numbers(self) -> None:
        """Shifts and factors act on every quantile; a change of sign turns them round."""
        levels = np.array([0.0, 0.25, 0.5, 0.75, 1.0])
        for x in self.values:
            at = x.quantile(levels)
            for value, expected in (
                (x + 2, at + 2.0),
                (2 + x, at + 2.0),
                (x - 1.5, at - 1.5),
                (4 * x, 4.0 * at),
                (x / 4, at / 4.0),
                (np.float64(0.5) * x, 0.5 * at),
                (10 - x, 10.0 - at[::-1]),
                (x * -2, -2.0 * at[::-1]),
                (-x, -at[::-1]),
            ):
                assert isinstance(value, self.representation)
                np.testing.assert_allclose(value.quantile(levels), expected, rtol=1e-12, atol=1e-12)

    def test_sums_and_products_commute(self) -> None:
        """The order of operands does not matter."""
        x, y = self.values[:2]
        for one, other in (
            (x + y, y + x),
            (x * y, y * x),
            (maximum(x, y), maximum(y, x)),
            (minimum(x, y), minimum(y, x)),
        ):
            ends = [end for end in one.support if math.isfinite(end)]
            np.testing.assert_allclose(ends, [end for end in other.support if math.isfinite(end)], rtol=1e-12)
            if self.has_distribution:
                assert one.mean == pytest.approx(other.mean, rel=1e-12)
                places = one.quantile(_LEVELS[1:-1])
                # Another order may place the bins of a result a little differently.
                assert np.abs(one.cdf(places) - other.cdf(places)).max() < 0.02

    def test_means_of_sums_and_products(self) -> None:
        """Of independent values means add and multiply exactly, and variances add."""
        x, y = self.values[:2]
        if not self.has_distribution:
            assert math.isnan((x + y).mean)
            return
        assert (x + y).mean == pytest.approx(x.mean + y.mean, rel=1e-12)
        assert (x - y).mean == pytest.approx(x.mean - y.mean, rel=1e-12, abs=1e-12)
        assert (x * y).mean == pytest.approx(x.mean * y.mean, rel=1e-12)
        assert (x + y).std == pytest.approx(math.hypot(x.std, y.std), rel=0.05, abs=1e-12)

    def test_the_largest_is_not_below_any(self) -> None:
        """The maximum's distribution function is below those of its operands, the minimum's above."""
        x, y = self.values[:2]
        largest, smallest = maximum(x, y), minimum(x, y)
        assert largest.support == tuple(map(max, zip(x.support, y.support, strict=True)))
        assert smallest.support == tuple(map(min, zip(x.support, y.support, strict=True)))
        if self.has_distribution:
            assert largest.mean >= max(x.mean, y.mean) - 1e-9
            assert smallest.mean <= min(x.mean, y.mean) + 1e-9
            assert largest.mean + smallest.mean == pytest.approx(x.mean + y.mean, rel=1e-9)

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
        for x in self.values:
            there_and_back: Sequence[Callable[[StochasticValue], StochasticValue]] = (
                lambda v: sqrt(v**2),
                lambda v: 10 * log(exp(v / 10)),
                lambda v: 1 / (1 / v),
                lambda v: abs(-v),
            )
            for way in there_and_back:
                for found, expected in zip(way(x).support, x.support, strict=True):
                    if math.isfinite(expected):
                        assert found == pytest.approx(expected, rel=1e-9)
                if self.has_distribution:
                    assert way(x).mean == pytest.approx(x.mean, rel=0.02)

    def test_notes_stay_out_of_comparisons(self) -> None:
        """They are words for a reader, and go with the value into results."""
        value: Any = self.values[0]
        told = dataclasses.replace(value, notes=("measured on a Monday",))
        assert told == value
        assert (told + 1).notes == ("measured on a Monday",)
