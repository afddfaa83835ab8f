r"""Distributions that can be evaluated anywhere; those of two independent piecewise uniform values, and their sum.

For each value y of the second operand the result is up to z where the first is up to some g(z, y). So the result's
distribution function is F(z) = E[F_X(g(z, Y))], an integral over the pieces of Y in which F_X has an antiderivative in
closed form. Summed up by parts it is a sum over the knots y_k of Y, at which its density rises by d_k:

    sum       F(z) = sum_k d_k A(z - y_k)              A(t) = E[(t - X)+], the integral of F_X
    product   F(z) = - sum_k d_k y_k C(z/y_k)          C(t) = E[min(1, t/X)]            (X, Y > 0)
    quotient  F(z) = - sum_k d_k y_k A(z y_k)/(z y_k)                                   (X, Y > 0)

The integral of F, from which come the means of bins, is had likewise from one more antiderivative. Single values of Y
that have a probability of their own enter with F_X itself.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol, Self

import numpy as np
import numpy.typing as npt

from perf_stochastic.exact.piecewise_uniform import NARROW, PiecewiseUniform

Floats = npt.NDArray[np.float64]

# Pairs of a knot and a place that are evaluated at a time: their arrays fit into the processor's cache.
_BLOCK = 8192
# Pairs, as of two histograms of 360 bins: hundreds of such sums take as long as loading the kernels.
_COMPILED_FROM = 2**17
_COARSE_PIECES = 16
_COARSE_PLACES = 8


_NONE = (np.empty(0), np.empty(0))


class Law(Protocol):
    """A distribution that can be evaluated anywhere."""

    @property
    def support(self) -> tuple[float, float]:
        """Smallest and largest value."""

    @property
    def mean(self) -> float:
        """Expected value."""

    @property
    def atoms(self) -> tuple[Floats, Floats]:
        """Single values with a probability of their own, and those; (k,), (k,)."""

    @property
    def is_smooth(self) -> bool:
        """Whether the density is continuous but for single values; if not, its jumps are at `places`."""

    def cdf_and_integral(self, z: Floats) -> tuple[Floats, Floats]:
        """The distribution function at ``z`` (n,), in order and within the support, and its integral up to there."""

    def coarse(self) -> Law:
        """Roughly the same, quicker to evaluate."""

    def places(self) -> Floats:
        """Some places (k,) about where it bends, in any order, within the support."""


@dataclass(frozen=True, eq=False)
class LawOfTwo:
    """What the laws of two operands share."""

    x: PiecewiseUniform
    y: PiecewiseUniform

    @property
    def is_smooth(self) -> bool:
        """Yes: jumps are smeared by the other operand, but for what its single values copy."""
        return True

    def combine(self, x: Floats, y: Floats) -> Floats:
        """The operation itself."""
        raise NotImplementedError

    def of_knots(self, z: Floats, knots: Floats, jumps: Floats) -> tuple[Floats, Floats]:
        """What knots of Y (k, 1) at which its density rises by ``jumps`` (k,) add to F and its integral, (n,) each."""
        raise NotImplementedError

    def of_many(self, z: Floats) -> tuple[Floats, Floats]:
        """What all knots of Y add to F and its integral, (n,) each: a block of them at a time."""
        knots, jumps = self.y.knots[:, None], self.y.jumps
        cdf, integral = np.zeros(len(z)), np.zeros(len(z))
        rows = max(1, _BLOCK // len(z))
        for first in range(0, len(knots), rows):
            part = self.of_knots(z, knots[first : first + rows], jumps[first : first + rows])
            cdf += part[0]
            integral += part[1]
        return cdf, integral

    def of_many_compiled(self, z: Floats) -> tuple[Floats, Floats]:
        """The same by a compiled kernel, where there is one."""
        return self.of_many(z)

    def of_atoms(self, z: Floats, atoms: Floats, masses: Floats) -> tuple[Floats, Floats]:
        """What single values of Y (k, 1) with their probabilities (k,) add, likewise."""
        raise NotImplementedError

    def cdf_and_integral(self, z: Floats) -> tuple[Floats, Floats]:
        """F at ``z`` (n,) within the support, in order, and its integral up to there."""
        is_large = len(z) * len(self.y.knots) >= _COMPILED_FROM
        cdf, integral = self.of_many_compiled(z) if is_large else self.of_many(z)
        atoms, masses = self.y.atoms
        if len(atoms):
            part = self.of_atoms(z, atoms[:, None], masses)
            cdf += part[0]
            integral += part[1]
        return cdf, integral

    def coarse(self) -> Self:
        """The law of coarser operands."""
        return type(self)(self.x.coarse(_COARSE_PIECES), self.y.coarse(_COARSE_PIECES))

    def places(self) -> Floats:
        """Results of some pairs of knots."""
        x, y = self.x.coarse(_COARSE_PLACES).knots, self.y.coarse(_COARSE_PLACES).knots
        return self.combine(x[:, None], y).ravel()

    @cached_property
    def atoms(self) -> tuple[Floats, Floats]:
        """Results of pairs of single values."""
        (at_x, of_x), (at_y, of_y) = self.x.atoms, self.y.atoms
        if not (len(at_x) and len(at_y)):
            return _NONE
        places, inverse = np.unique(self.combine(at_x[:, None], at_y).ravel(), return_inverse=True)
        masses = np.zeros(len(places))
        np.add.at(masses, inverse, np.outer(of_x, of_y).ravel())
        return places, masses


class SumLaw(LawOfTwo):
    """X + Y, of any sign; X - Y is the sum with the negated Y."""

    def combine(self, x: Floats, y: Floats) -> Floats:
        """X + Y."""
        return x + y

    def __post_init__(self) -> None:
        if self.x.range > self.y.range:  # the narrower one first: more places lie outside of it, where less is to do
            first, second = self.y, self.x
            object.__setattr__(self, "x", first)
            object.__setattr__(self, "y", second)
        # The integrals of F_X are rounded in proportion to the range.
        object.__setattr__(self, "y", replace(self.y, narrow=NARROW * max(self.x.range, self.y.range)))

    @property
    def support(self) -> tuple[float, float]:
        """Sums of the ends."""
        return self.x.support[0] + self.y.support[0], self.x.support[1] + self.y.support[1]

    @property
    def mean(self) -> float:
        """Sum of the means."""
        return self.x.mean + self.y.mean

    def of_knots(self, z: Floats, knots: Floats, jumps: Floats) -> tuple[Floats, Floats]:
        """By the integral of F_X and the integral of that."""
        first, second = self.x.integrals(z - knots)
        return jumps @ first, jumps @ second

    def of_many_compiled(self, z: Floats) -> tuple[Floats, Floats]:
        """By the same integrals."""
        from perf_stochastic.exact.pair_kernels import sum_pairs

        return sum_pairs(self.x, z, self.y.knots, self.y.jumps)

    def of_atoms(self, z: Floats, atoms: Floats, masses: Floats) -> tuple[Floats, Floats]:
        """By F_X and its integral."""
        cdf, integral = self.x.cdf_and_integral(z - atoms)
        return masses @ cdf, masses @ integral
