"""Quasi-Monte Carlo: scrambled Sobol points through the inputs' quantiles, several times, so that the error is seen.

Sources: A. B. Owen, "Scrambled net variance for integrals of smooth functions", Annals of Statistics 25, 1997 (why
scrambling), and "Monte Carlo theory, methods and examples", 2013, section 17.3 (several scramblings to see the error).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr, ndtri

from perf_structural.correlation import Pair, factor_of
from perf_structural.expression import Expression, leaves
from perf_structural.pointwise import PointwiseEvaluation
from perfcore.base.errors import DataError
from perfcore.stochastic import StochasticValue

__all__ = ["FEWEST_NETS", "Sample", "draw_sample"]

Floats = npt.NDArray[np.float64]

# Few enough that each net stays large, many enough for a standard error that is itself known to a quarter.
FEWEST_NETS = 8

# Numbers drawn at once; larger nets of many inputs are drawn in pieces to bound the memory.
_MOST_AT_ONCE = 2**22


@dataclass(frozen=True)
class Sample:
    """Values of an expression.

    Parameters
    ----------
    values : (nets, points) float
        Each row sorted; the rows are independent of one another.
    notes : tuple of str
    """

    values: Floats
    notes: tuple[str, ...]


def draw_sample(
    root: Expression,
    values: Mapping[str, StochasticValue],
    correlations: Mapping[Pair, float],
    samples: int,
    seed: int,
) -> Sample:
    """Values of an expression at points that fill the space of its inputs evenly.

    Parameters
    ----------
    root : Expression
    values : mapping of str to StochasticValue
        At least the expression's leaves.
    correlations : mapping of frozenset of str to float
    samples : int, >= 8
        In all. At least 8 nets share them, each of the same power of 2; so it may be rounded up by less than an eighth.
    seed : int

    Raises
    ------
    DataError
        A divisor can be zero, or a logarithm or root is taken of what can be negative; correlations contradict one
        another; there are more inputs than Sobol points have dimensions.
    """
    from scipy.stats import qmc  # half a second that exact arithmetic does not need

    names = leaves(root)
    if len(names) > qmc.Sobol.MAXDIM:
        raise DataError(f"{len(names):,} uncertain inputs; sampling takes at most {qmc.Sobol.MAXDIM:,}")
    size = 2 ** int(math.log2(samples / FEWEST_NETS))
    nets = math.ceil(samples / size)
    transform = _Transform(names, values, correlations)
    pointwise = PointwiseEvaluation(root, {name: values[name].support for name in names})
    rows = np.empty((nets, size))
    for row, child in zip(rows, np.random.SeedSequence(seed).spawn(nets), strict=True):
        at = 0
        for uniforms in _nets(len(names), size, child):
            piece = pointwise.values_at(transform.quantities(uniforms))
            row[at : at + len(piece)] = piece
            at += len(piece)
    rows.sort(axis=1)
    return Sample(rows, pointwise.notes())


def _nets(dimensions: int, size: int, seed: np.random.SeedSequence) -> Iterator[Floats]:
    """A scrambled net in pieces (dimensions, points of the piece), strictly between 0 and 1."""
    from scipy.stats import qmc

    engine = qmc.Sobol(dimensions, scramble=True, rng=np.random.default_rng(seed))
    piece = size
    while piece > 1 and piece * dimensions > _MOST_AT_ONCE:
        piece //= 2
    # The points are multiples of 2^-30 and begin at 0, where a normal has its -infinity.
    half = 2.0**-31
    for _ in range(size // piece):
        yield np.ascontiguousarray(engine.random(piece).T) + half


class _Transform:
    """From uniform numbers to the quantities, correlated as declared."""

    def __init__(
        self, names: Sequence[str], values: Mapping[str, StochasticValue], correlations: Mapping[Pair, float]
    ) -> None:
        self.quantiles = [(name, values[name]) for name in names]
        present = {pair: value for pair, value in correlations.items() if pair <= set(names)}
        self.rows = [k for k, name in enumerate(names) if any(name in pair for pair in present)]
        self.factor = factor_of([names[k] for k in self.rows], present)

    def quantities(self, uniforms: Floats) -> dict[str, Floats]:
        """A column of values for each quantity."""
        if self.rows:
            correlated = ndtr(self.factor @ ndtri(uniforms[self.rows]))
            # What rounding takes to 0 or 1 would be infinite as a normal.
            uniforms[self.rows] = np.clip(correlated, np.finfo(np.float64).tiny, 1.0 - 2.0**-53)
        return {
            name: np.asarray(value.quantile(row)) for (name, value), row in zip(self.quantiles, uniforms, strict=True)
        }
