"""Laws made of others: products and quotients of any sign, folded values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from perf_stochastic.exact.laws import Law, SumLaw
from perf_stochastic.exact.piecewise_uniform import PiecewiseUniform
from perf_stochastic.exact.products import ProductLaw, QuotientLaw


Floats = npt.NDArray[np.float64]

_AS_GOOD_AS_0 = 1e-100  # of the largest value
# Where both operands vary by less than this share of their values, products and quotients are linear to as much, and
# the closed forms, which are rounded in proportion to the values, would lose what little they vary.
_CONCENTRATED = 1e-5


@dataclass(frozen=True, eq=False)
class PlainLaw:
    """A piecewise uniform distribution itself."""

    x: PiecewiseUniform
    is_smooth: bool = False  # it stands for a smooth one, as that of samples does

    @property
    def support(self) -> tuple[float, float]:
        """Smallest and largest value."""
        return self.x.support

    @property
    def mean(self) -> float:
        """Expected value."""
        return self.x.mean

    @property
    def atoms(self) -> tuple[Floats, Floats]:
        """Single values and their probabilities."""
        return self.x.atoms

    def cdf_and_integral(self, z: Floats) -> tuple[Floats, Floats]:
        """The distribution function and its integral at ``z`` (n,)."""
        return self.x.cdf_and_integral(z)

    def coarse(self) -> PlainLaw:
        """The law itself, which is quick."""
        return self

    def places(self) -> Floats:
        """The knots."""
        return self.x.knots


@dataclass(frozen=True, eq=False)
class NegatedLaw:
    """The law of -Z."""

    of: Law

    @property
    def is_smooth(self) -> bool:
        """As of what is negated."""
        return self.of.is_smooth

    @property
    def support(self) -> tuple[float, float]:
        """Smallest and largest value."""
        low, high = self.of.support
        return -high, -low

    @property
    def mean(self) -> float:
        """Expected value."""
        return -self.of.mean

    @cached_property
    def atoms(self) -> tuple[Floats, Floats]:
        """Single values and their probabilities."""
        places, masses = self.of.atoms
        return -places, masses

    def cdf_and_integral(self, z: Floats) -> tuple[Floats, Floats]:
        """The distribution function and its integral at ``z`` (n,)."""
        cdf, integral = self.of.cdf_and_integral(-z[::-1])
        cdf, integral = cdf[::-1], integral[::-1]
        below = cdf.copy()
        for place, mass in zip(*self.of.atoms, strict=True):
            below[-z == place] -= mass
        # E[(z + Z)+] = z + E[Z] + E[(-z - Z)+]
        return 1.0 - below, z + self.of.mean + integral

    def coarse(self) -> NegatedLaw:
        """Roughly the same."""
        return NegatedLaw(self.of.coarse())

    def places(self) -> Floats:
        """Some places where it bends."""
        return -self.of.places()


@dataclass(frozen=True, eq=False)
class MixtureLaw:
    """One of several laws, each with its probability."""

    parts: Sequence[tuple[float, Law]]

    @property
    def is_smooth(self) -> bool:
        """Whether one of its parts is: it does not know where that bends."""
        return any(law.is_smooth for _, law in self.parts)

    @property
    def support(self) -> tuple[float, float]:
        """Smallest and largest value."""
        ends = [law.support for _, law in self.parts]
        return min(low for low, _ in ends), max(high for _, high in ends)

    @property
    def mean(self) -> float:
        """Expected value."""
        return sum(weight * law.mean for weight, law in self.parts)

    @cached_property
    def atoms(self) -> tuple[Floats, Floats]:
        """Single values and their probabilities."""
        part_atoms = [law.atoms for _, law in self.parts]
        weighted = [weight * masses for (weight, _), (_, masses) in zip(self.parts, part_atoms, strict=True)]
        places, inverse = np.unique(np.concatenate([part_places for part_places, _ in part_atoms]), return_inverse=True)
        masses = np.zeros(len(places))
        np.add.at(masses, inverse, np.concatenate(weighted))
        return places, masses

    def cdf_and_integral(self, z: Floats) -> tuple[Floats, Floats]:
        """The distribution function and its integral at ``z`` (n,)."""
        cdf, integral = np.zeros(len(z)), np.zeros(len(z))
        for weight, law in self.parts:
            low, high = law.support
            inner = (z >= low) & (z <= high)
            above = z > high
            cdf[above] += weight
            integral[above] += weight * (z[above] - law.mean)
            if inner.any():
                part = law.cdf_and_integral(z[inner])
                cdf[inner] += weight * part[0]
                integral[inner] += weight * part[1]
        return cdf, integral

    def coarse(self) -> MixtureLaw:
        """Roughly the same."""
        return MixtureLaw([(weight, law.coarse()) for weight, law in self.parts])

    def places(self) -> Floats:
        """Some places where it bends."""
        return np.concatenate([law.places() for _, law in self.parts])


def product(x: PiecewiseUniform, y: PiecewiseUniform) -> Law:
    """X Y of any signs, from products of what is positive."""
    if _is_concentrated(x) and _is_concentrated(y):
        return _linear(x, y, y.mean, x.mean)
    return _by_signs(ProductLaw, _snapped(x), _snapped(y))


def quotient(x: PiecewiseUniform, y: PiecewiseUniform) -> Law:
    """X / Y where all of Y has one sign."""
    if _is_concentrated(x) and _is_concentrated(y):
        return _linear(x, y, 1.0 / y.mean, -x.mean / y.mean**2)
    return _by_signs(QuotientLaw, _snapped(x), y)


def _is_concentrated(x: PiecewiseUniform) -> bool:
    return bool(x.range < _CONCENTRATED * np.abs(x.knots).min())


def _linear(x: PiecewiseUniform, y: PiecewiseUniform, slope_x: float, slope_y: float) -> Law:
    """A function of X and Y about their means, of which the value is that of ``slope_x X`` at the mean of X."""
    return SumLaw(x.mapped(slope_x, 0.0), y.mapped(slope_y, -slope_y * y.mean))


def _snapped(x: PiecewiseUniform) -> PiecewiseUniform:
    """With knots that are as good as 0 moved there, so that no ratio of two values is beyond all floats."""
    sizes = np.abs(x.knots)
    tiny = (sizes < _AS_GOOD_AS_0 * sizes.max()) & (sizes > 0.0)
    return PiecewiseUniform(np.where(tiny, 0.0, x.knots), x.masses) if tiny.any() else x


def _by_signs(law: type[ProductLaw] | type[QuotientLaw], x: PiecewiseUniform, y: PiecewiseUniform) -> Law:
    if x.knots[0] >= 0.0 and y.knots[0] >= 0.0 and not (_zero(x) or _zero(y)):
        return law(x, y)
    (x_below, x_negative), x_zero, (x_above, x_positive) = x.split()
    (y_below, y_negative), y_zero, (y_above, y_positive) = y.split()
    parts: list[tuple[float, Law]] = []
    for p, a, x_sign in ((x_below, x_negative, -1), (x_above, x_positive, 1)):
        for q, b, y_sign in ((y_below, y_negative, -1), (y_above, y_positive, 1)):
            if a is not None and b is not None:
                both = law(a, b)
                parts.append((p * q, both if x_sign == y_sign else NegatedLaw(both)))
    zero = x_zero + y_zero - x_zero * y_zero
    if zero > 0.0 or not parts:
        parts.append((zero if parts else 1.0, PlainLaw(PiecewiseUniform(np.zeros(2), np.ones(1)))))
    return MixtureLaw(parts)


def _zero(x: PiecewiseUniform) -> bool:
    """Whether 0 has a probability of its own."""
    return bool((x.atoms[0] == 0.0).any())
