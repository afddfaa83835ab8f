"""The exact distribution of a function of one piecewise uniform value."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
import numpy.typing as npt

from perf_stochastic.exact.piecewise_uniform import PiecewiseUniform

Floats = npt.NDArray[np.float64]

_PLACES_IN_PIECE = 4


@dataclass(frozen=True)
class Monotone:
    """A function that rises throughout."""

    at: Callable[[Floats], Floats]  # its values at places (n,)
    inverse: Callable[[Floats], Floats]  # the place of each value (n,)
    average: Callable[[Floats, Floats], Floats]

    def averages(self, low: Floats, high: Floats) -> Floats:
        """Averages, also over stretches of no width (n,)."""
        means = self.at(low)
        wide = high > low
        means[wide] = self.average(low[wide], high[wide])
        return means


@dataclass(frozen=True, eq=False)
class MonotoneLaw:
    """g(X) for a rising g."""

    function: Monotone
    x: PiecewiseUniform

    @cached_property
    def _knots(self) -> Floats:
        return self.function.at(self.x.knots)

    @cached_property
    def _averages(self) -> Floats:
        """Averages of g over the pieces of X (n,)."""
        low, high = self.x.knots[:-1], self.x.knots[1:]
        return np.where(self.x.is_spread, self.function.averages(low, high), self._knots[1:])

    @property
    def is_smooth(self) -> bool:
        """No: its density jumps at the knots of X."""
        return False

    @property
    def support(self) -> tuple[float, float]:
        """Values at the ends of X."""
        return float(self._knots[0]), float(self._knots[-1])

    @cached_property
    def mean(self) -> float:
        """From averages over the pieces of X."""
        return float(self.x.masses @ self._averages)

    @cached_property
    def atoms(self) -> tuple[Floats, Floats]:
        """Values at the single values of X."""
        places, masses = self.x.atoms
        return self.function.at(places), masses

    def cdf_and_integral(self, z: Floats) -> tuple[Floats, Floats]:
        """F_X at the inverse, and by parts ``z F(z) - E[g(X); g(X) <= z]``, for ``z`` (n,)."""
        index = self._knots.searchsorted(z, side="right")
        base, start, slope = (row.take(index) for row in self.x.table[:3])
        # Not beyond the piece by rounding.
        place = np.clip(self.function.inverse(z), base, self.x.knots.take(np.minimum(index, len(self.x.masses))))
        rise = slope * (place - base)
        up_to = np.zeros(len(self.x.knots) + 1)
        np.cumsum(self.x.masses * self._averages, out=up_to[2:])
        cdf = start + rise
        return cdf, z * cdf - up_to.take(index) - rise * self.function.averages(base, place)

    def coarse(self) -> Self:
        """The law itself, which is quick."""
        return self

    def places(self) -> Floats:
        """Values at the knots of X, and at evenly spaced places between."""
        knots = self.x.knots
        shares = np.arange(_PLACES_IN_PIECE) / _PLACES_IN_PIECE
        inner = (knots[:-1, None] + self.x.widths[:, None] * shares).ravel()
        return self.function.at(np.append(inner, knots[-1]))


def _exp_average(low: Floats, high: Floats) -> Floats:
    width = high - low
    mean: Floats = np.exp(low) * np.expm1(width) / width
    return mean


def _log_average(low: Floats, high: Floats) -> Floats:
    width = high - low
    mean: Floats = np.log(low) + (high / width * np.log1p(width / low) - 1.0)
    return mean


def _sqrt_average(low: Floats, high: Floats) -> Floats:
    a, b = np.sqrt(low), np.sqrt(high)
    mean: Floats = 2.0 / 3.0 * (a * a + a * b + b * b) / (a + b)
    return mean


EXP = Monotone(np.exp, lambda z: np.log(np.maximum(z, np.finfo(np.float64).tiny)), _exp_average)
LOG = Monotone(np.log, np.exp, _log_average)
SQRT = Monotone(np.sqrt, np.square, _sqrt_average)


def power(exponent: float) -> Monotone:
    """``x**exponent`` for x >= 0; where the exponent is negative, ``-x**exponent`` for x > 0, which rises too."""
    sign = -1.0 if exponent < 0.0 else 1.0

    def average(low: Floats, high: Floats) -> Floats:
        # From the upper end, so that the lower one may be 0: the integral of (high s)^e over s from low/high to 1.
        with np.errstate(divide="ignore"):
            logarithm = np.log(low / high)
        rise = -logarithm if exponent == -1.0 else -np.expm1((exponent + 1.0) * logarithm) / (exponent + 1.0)
        mean: Floats = sign * high**exponent * rise / (1.0 - low / high)
        return mean

    return Monotone(lambda x: sign * x**exponent, lambda z: (sign * z) ** (1.0 / exponent), average)
