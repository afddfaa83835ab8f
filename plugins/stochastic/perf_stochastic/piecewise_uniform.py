"""Distributions whose distribution function is linear between knots: what exact histogram arithmetic is made of."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
import numpy.typing as npt

from perfcore.base.arrays import Floats

# Where a closed form divides differences by widths, a piece narrower than this share of what it is combined with counts
# as a single value: at the square root of the machine's precision, rounding costs as much as moving it.
NARROW = 2.0**-26

_NARROWEST = 1.0 / sys.float_info.max  # below it a density is no number
_GUIDE = 2048  # levels at which a quantile's search may begin


@dataclass(frozen=True, eq=False)
class PiecewiseUniform:
    """Pieces with probabilities, each spread evenly or, without width, on one value.

    The distribution function F is linear on each piece, its integral quadratic, and the integral of that cubic. They
    are evaluated from the knot to the left, at all places with one search.
    """

    knots: Floats
    masses: Floats  # their sum is 1
    narrow: float | Floats = 0.0  # pieces up to this width are taken as single values at their upper knots
    is_smooth: bool = False  # it stands for a smooth one, as that of samples does

    @cached_property
    def widths(self) -> Floats:
        return np.asarray(self.knots[1:] - self.knots[:-1])

    @property
    def range(self) -> float:
        return float(self.knots[-1] - self.knots[0])

    @cached_property
    def is_spread(self) -> npt.NDArray[np.bool_]:
        """Whether a piece is wide enough to have a density (n,)."""
        wide: npt.NDArray[np.bool_] = self.widths > np.maximum(self.narrow, _NARROWEST)
        return wide

    @cached_property
    def densities(self) -> Floats:
        """Density on each piece (n,); 0 for single values."""
        return np.divide(self.masses, self.widths, out=np.zeros(len(self.masses)), where=self.is_spread)

    @cached_property
    def jumps(self) -> Floats:
        """By how much the density rises at each knot (n + 1,)."""
        rises = np.zeros(len(self.knots))
        rises[:-1] = self.densities
        rises[1:] -= self.densities
        return rises

    @cached_property
    def atoms(self) -> tuple[Floats, Floats]:
        """Single values and their probabilities (k,), (k,)."""
        is_atom = ~self.is_spread & (self.masses > 0.0)
        places, masses = self.knots[1:][is_atom], self.masses[is_atom]
        if (places[1:] == places[:-1]).any():
            places, first = np.unique(places, return_index=True)
            masses = np.add.reduceat(masses, first)
        return places, masses

    @cached_property
    def levels(self) -> Floats:
        """F at the knots, the jump at a knot included in the last of equal knots (n + 1,)."""
        cumulative = np.zeros(len(self.knots))
        np.cumsum(self.masses, out=cumulative[1:])
        return np.minimum(cumulative, 1.0, out=cumulative)

    @cached_property
    def table(self) -> Floats:
        """For each place in the order of the knots, ``searchsorted(knots, place, side="right")``, four rows."""
        rows = np.zeros((4, len(self.knots) + 1))
        rows[0, 0], rows[0, 1:] = self.knots[0], self.knots
        rows[1, 1:-1], rows[1, -1] = self.levels[:-1], 1.0
        rows[2, 1:-1] = self.densities
        rises = self.widths * (rows[1, 1:-1] + 0.5 * self.widths * self.densities)
        np.cumsum(rises, out=rows[3, 2:])
        return rows

    @cached_property
    def second(self) -> Floats:
        """The integral of the integral of F, in the order of `table` (n + 2,)."""
        _, starts, slopes, integrals = self.table[:, 1:-1]
        w = self.widths
        second_integral = np.zeros(len(self.knots) + 1)
        np.cumsum(w * (integrals + w * (0.5 * starts + w * slopes / 6.0)), out=second_integral[2:])
        return second_integral

    @property
    def support(self) -> tuple[float, float]:
        return float(self.knots[0]), float(self.knots[-1])

    @cached_property
    def mean(self) -> float:
        return float(self.masses @ (self.knots[:-1] + 0.5 * self.widths))

    def place(self, x: Floats) -> npt.NDArray[np.intp]:
        """The columns of `table` for places (...)."""
        return self.knots.searchsorted(x, side="right")

    def cdf(self, x: Floats) -> Floats:
        """F at ``x`` (...)."""
        base, start, slope = self.table[:3, self.place(x)]
        return np.asarray(start + slope * (x - base))

    def cdf_and_integral(self, x: Floats) -> tuple[Floats, Floats]:
        """F and its integral up to ``x`` (...)."""
        base, start, slope, integral = self.table[:, self.place(x)]
        ahead = x - base
        rise = slope * ahead
        return start + rise, integral + ahead * (start + 0.5 * rise)

    def integrals(self, x: Floats) -> tuple[Floats, Floats]:
        """The integral of F up to ``x``, and the integral of that (...)."""
        index = self.place(x)
        base, start, slope, integral = (row.take(index) for row in self.table)
        second = self.second.take(index)
        # In place: new arrays would cost more than the arithmetic.
        np.subtract(x, base, out=base)
        slope *= base
        second += base * (integral + base * (0.5 * start + slope / 6.0))
        slope *= 0.5
        slope += start
        slope *= base
        integral += slope
        return integral, second

    def quantile(self, q: Floats) -> Floats:
        """Smallest x with F(x) >= ``q`` (...); NaN where ``q`` is not from 0 to 1."""
        inside = (q >= 0.0) & (q <= 1.0)
        level = np.minimum(np.where(inside, q, 0.0), self.levels[-1]).ravel()
        piece = self._piece_of(level)
        ahead = level - self.levels.take(piece)
        ahead *= self._slopes.take(piece)
        np.clip(ahead, 0.0, self.widths.take(piece), out=ahead)
        ahead += self.knots.take(piece)
        return np.where(inside, ahead.reshape(np.shape(q)), np.nan)

    def _piece_of(self, level: Floats) -> npt.NDArray[np.intp]:
        """The piece on which F comes to a level (n,), at most the last one."""
        # A binary search for each of many levels in no order mostly waits for mispredicted branches: five times the
        # time of looking up where a level of 11 bits lies, and going on from there.
        piece = self._guide.take((level * _GUIDE).astype(np.intp))
        upper = self.levels[1:]
        while (behind := upper.take(piece) < level).any():
            piece += behind
        return piece

    @cached_property
    def _guide(self) -> npt.NDArray[np.intp]:
        """The piece on which F comes to each of evenly spaced levels (_GUIDE + 1,)."""
        pieces = self.levels.searchsorted(np.arange(_GUIDE + 1) / _GUIDE, side="left") - 1
        return np.clip(pieces, 0, len(self.masses) - 1)

    @cached_property
    def _slopes(self) -> Floats:
        """By how much a piece's values rise with F (n,); 0 where it has no probability."""
        return np.divide(self.widths, self.masses, out=np.zeros(len(self.masses)), where=self.masses > 0.0)

    def negated(self) -> Self:
        return type(self)(-self.knots[::-1], self.masses[::-1])

    def mapped(self, slope: float, constant: float) -> Self:
        """Distribution of ``slope X + constant``."""
        if slope < 0.0:
            return self.negated().mapped(-slope, constant)
        return type(self)(slope * self.knots + constant, self.masses)

    def places(self) -> Floats:
        return self.knots

    def coarse(self, pieces: int = sys.maxsize) -> Self:
        """Roughly the same distribution, in at most so many pieces."""
        if len(self.masses) <= pieces:
            return self
        kept = np.arange(pieces + 1) * len(self.masses) // pieces
        levels = self.levels[kept]
        return type(self)(self.knots[kept], levels[1:] - levels[:-1])

    def split(self) -> tuple[tuple[float, Self | None], float, tuple[float, Self | None]]:
        """Probability and distribution of ``-X`` where X < 0, probability of 0, and both of X where X > 0."""
        above = self._above()
        below = self.negated()._above()
        zero = 1.0 - above[0] - below[0]
        return below, max(zero, 0.0) if zero > 1e-15 else 0.0, above

    def _above(self) -> tuple[float, Self | None]:
        if self.knots[0] > 0.0:
            return 1.0, self
        level = float(self.cdf(np.zeros(1))[0])
        if self.knots[-1] <= 0.0 or level >= 1.0:
            return 0.0, None
        first = int(self.knots.searchsorted(0.0, side="right"))
        knots = np.concatenate([[0.0], self.knots[first:]])
        levels = np.concatenate([[level], self.levels[first:]])
        masses = np.diff(levels)
        return 1.0 - level, type(self)(knots, masses / masses.sum())
