"""Quantities that are known to lie within bounds: a share between 0 and 1, a time that is not negative."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from perf_structural.options import parse_support
from perf_tables.series import check_durations
from perfcore.base.arrays import Floats
from perfcore.base.errors import DataError
from perfcore.stochastic import StochasticValue, as_value, default_representation, of_bounds

Range = tuple[float, float]

_LEAST = 0.5  # probability that must be left: a distribution that is mostly outside is a mistake
_NOTEWORTHY = 0.01


@dataclass(frozen=True, repr=False, eq=False)
class Bounds(StochasticValue):
    """A distribution under the condition that it lies between two bounds; its arithmetic is that of histograms."""

    name: ClassVar[str] = "within"
    generality: ClassVar[int] = 15

    value: StochasticValue  # with a distribution
    lower: float  # may be infinite
    upper: float

    @classmethod
    def from_samples(cls, samples: npt.ArrayLike, options: Any = None) -> Self:
        """No: samples become something else, which is then bounded."""
        raise DataError("samples cannot become a bounded value; represent them first")

    @property
    def _levels(self) -> tuple[float, float]:
        """Probabilities below the bounds."""
        low = 0.0 if math.isinf(self.lower) else float(self.value.cdf(np.nextafter(self.lower, -math.inf)))
        return low, 1.0 if math.isinf(self.upper) else float(self.value.cdf(self.upper))

    @property
    def support(self) -> tuple[float, float]:
        low, high = self.value.support
        return max(low, self.lower), min(high, self.upper)

    def cdf(self, x: npt.ArrayLike) -> Floats:
        low, high = self._levels
        probability: Floats = np.clip((np.asarray(self.value.cdf(x)) - low) / (high - low), 0.0, 1.0)
        return np.where(np.asarray(x) >= self.upper, 1.0, probability)

    def quantile(self, q: npt.ArrayLike) -> Floats:
        low, high = self._levels
        levels = np.asarray(q, dtype=np.float64)
        return np.clip(self.value.quantile(low + (high - low) * levels), *self.support)

    def to_dict(self) -> dict[str, Any]:
        """As the histogram that stands for it."""
        return default_representation("distributions").convert(self)[0].to_dict()  # type: ignore[no-any-return]

    def __repr__(self) -> str:
        return f"{self.value!r} within {self.lower:g} to {self.upper:g}"


def within(quantity: StochasticValue | float, lower: float, upper: float) -> StochasticValue:
    """Return a quantity that is known to lie between bounds.

    Bounds alone are cut; a distribution is what it was under the condition that it lies between them. One that lies
    there anyway is returned as it is.
    """
    if not lower < upper:
        raise DataError(f"within {lower:g}, {upper:g}: the lower bound must be below the upper one")
    value = as_value(quantity)
    low, high = value.support
    if lower <= low and high <= upper:
        return value
    if not value.has_distribution or low == high:
        if high < lower or low > upper or low == high:
            raise DataError(f"{value!r} is outside of {lower:g} to {upper:g}")
        return replace(of_bounds(max(low, lower), min(high, upper)), notes=value.notes)
    bounded = Bounds(value, lower, upper, notes=value.notes)
    below, up_to = bounded._levels
    kept = up_to - below
    if kept < _LEAST:
        raise DataError(f"{value!r} lies within {lower:g} to {upper:g} with probability {kept:.2g} only")
    if kept < 1.0 - _NOTEWORTHY:
        note = f"{value!r} lies outside of {lower:g} to {upper:g} with probability {1.0 - kept:.2g}, which is left out"
        return replace(bounded, notes=(*value.notes, note))
    return bounded


def check_within(samples: npt.ArrayLike, bounds: Range | None, column: str = "", source: str = "") -> None:
    """Refuse samples outside of their given bounds, or those that their name implies."""
    if bounds is None:
        check_durations(samples, column, source)
        return
    lower, upper = bounds
    values = np.asarray(samples, dtype=np.float64)
    outside = np.flatnonzero((values < lower) | (values > upper))
    if len(outside):
        first = int(outside[0])
        others = f"; so are {len(outside) - 1} more" if len(outside) > 1 else ""
        place = f"sample {first + 1} of {len(values)} is {values[first]:.6g}"
        raise DataError(f"{place}, outside of {lower:g} to {upper:g}{others}")


def parse_bounds(text: str) -> Range:
    """Return ``0,1`` or ``0,inf`` as two numbers."""
    try:
        return parse_support(text)
    except ValueError:
        raise DataError(f"within {text!r}: two rising numbers are expected, such as 0,1 or 0,inf") from None
