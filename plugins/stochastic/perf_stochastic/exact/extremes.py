"""The exact distribution of the largest of independent piecewise uniform values."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
import numpy.typing as npt

from perf_stochastic.exact.piecewise_uniform import PiecewiseUniform

Floats = npt.NDArray[np.float64]

# On each stretch all n distribution functions are lines, and their product is a polynomial of degree n: Gauss' rule is
# exact with n/2 + 1 nodes. Where the product grows by less than a factor of four, eight are as good: the
# growth of such a polynomial beyond the stretch bounds the error by 1e-12 of it.
_ENOUGH_NODES = 8
_STEEP = 4.0
_NEGLIGIBLE = 1e-18


@dataclass(frozen=True, eq=False)
class MaximumLaw:
    """max(X_1, X_2, ...): its distribution function is the product of theirs."""

    of: Sequence[PiecewiseUniform]

    @property
    def is_smooth(self) -> bool:
        """No: its density jumps where theirs do."""
        return False

    @cached_property
    def support(self) -> tuple[float, float]:
        """The largest of the lower ends, and of the upper ends."""
        return max(x.support[0] for x in self.of), max(x.support[1] for x in self.of)

    @cached_property
    def mean(self) -> float:
        """The upper end less the integral of the distribution function."""
        return self.support[1] - float(self._stretches[1][-1])

    @cached_property
    def atoms(self) -> tuple[Floats, Floats]:
        """Single values of the operands that can be the largest."""
        places = np.unique(np.concatenate([x.atoms[0] for x in self.of]))
        places = places[places >= self.support[0]]
        at_or_below, below = np.ones(len(places)), np.ones(len(places))
        for x in self.of if len(places) else ():
            levels = x.cdf(places)
            at_or_below *= levels
            possible = x.atoms[0] >= self.support[0]
            np.subtract.at(levels, places.searchsorted(x.atoms[0][possible]), x.atoms[1][possible])
            below *= levels
        return places, np.maximum(at_or_below - below, 0.0)

    def coarse(self) -> Self:
        """The law itself: once the integral over all stretches is known, it is quick."""
        return self

    def places(self) -> Floats:
        """All knots."""
        return self._stretches[0]

    def cdf_and_integral(self, z: Floats) -> tuple[Floats, Floats]:
        """The product, and its integral up to ``z`` (n,): over whole stretches, and over a part of the last."""
        knots, integrals = self._stretches
        last = knots.searchsorted(z, side="right") - 1
        starts, slopes = self._lines(knots[last])
        ahead = z - knots[last]
        levels = (starts + slopes * ahead).prod(axis=0)
        return levels, integrals[last] + ahead * _average(starts, slopes * ahead)

    @cached_property
    def _stretches(self) -> tuple[Floats, Floats]:
        """All knots (k,), and the integral of the product up to each (k,)."""
        low, high = self.support
        knots = np.unique(np.concatenate([*(x.knots for x in self.of), [low]]))
        knots = knots[(knots >= low) & (knots <= high)]
        starts, slopes = self._lines(knots)
        widths = knots[1:] - knots[:-1]
        rises = np.zeros(len(knots))
        rises[1:] = widths * _average(starts[:, :-1], slopes[:, :-1] * widths)
        return knots, np.cumsum(rises)

    def _lines(self, places: Floats) -> tuple[Floats, Floats]:
        """Distribution functions and their slopes from ``places`` (n,) on: (m, n) each."""
        starts, slopes = np.empty((2, len(self.of), len(places)))
        for row, x in enumerate(self.of):
            index = x.place(places)
            base, start, slope = x.table[:3]
            slope.take(index, out=slopes[row])
            np.multiply(slopes[row], places - base.take(index), out=starts[row])
            starts[row] += start.take(index)
        return starts, slopes


def _average(starts: Floats, rises: Floats) -> Floats:
    """Averages of products of lines over stretches, from their starts and rises (m, n): (n,)."""
    first, last = starts.prod(axis=0), (starts + rises).prod(axis=0)
    counts, steep = last > _NEGLIGIBLE, last > _STEEP * first
    exact_nodes = len(starts) // 2 + 1
    averages = np.zeros(starts.shape[1])
    for chosen, nodes in ((counts & ~steep, min(_ENOUGH_NODES, exact_nodes)), (counts & steep, exact_nodes)):
        index = np.flatnonzero(chosen)
        lines, slopes = starts.take(index, axis=1), rises.take(index, axis=1)
        for node, weight in _gauss(nodes) if len(index) else ():
            averages[index] += weight * (lines + node * slopes).prod(axis=0)
    return averages


@functools.cache
def _gauss(count: int) -> list[tuple[float, float]]:
    """Nodes and weights of the Gauss-Legendre rule on [0, 1]."""
    nodes, weights = np.polynomial.legendre.leggauss(count)
    return list(zip((0.5 * (nodes + 1.0)).tolist(), (0.5 * weights).tolist(), strict=True))
