"""Quasi-Monte Carlo: scrambled Sobol points through the inputs' quantiles, several times, so that the error is seen.

Sources: A. B. Owen, "Scrambled net variance for integrals of smooth functions", Annals of Statistics 25, 1997 (why
scrambling), and "Monte Carlo theory, methods and examples", 2013, section 17.3 (several nets to see the error);
P. L'Ecuyer and C. Lemieux, "Recent Advances in Randomized Quasi-Monte Carlo Methods", 2002, section 4 (one scrambled
net, shifted anew by digits for each of them: as independent, and made in a fraction of the time).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr, ndtri

from perf_structural.correlation import Pair, factor_of
from perf_structural.expression import Expression, leaves
from perf_structural.pointwise import PointwiseEvaluation
from perfcore.base.errors import DataError
from perfcore.stochastic import StochasticValue

__all__ = ["FEWEST_NETS", "Formula", "Sample", "draw_sample", "draw_together", "points_for"]

Floats = npt.NDArray[np.float64]

# Few enough that each net stays large, many enough for a standard error that is itself known to a quarter.
FEWEST_NETS = 8

# Points where nobody says how many: so many, or of many inputs so many numbers together, of which a second draws as
# many. A sum of hundreds of inputs is not smoother for more: its p95 is known to 0.02 standard deviations.
_POINTS = 100_000
_NUMBERS = 2**24
_FEWEST_POINTS = 1024

# Numbers drawn at once; larger nets of many inputs are drawn in pieces to bound the memory.
_MOST_AT_ONCE = 2**20

_DIGITS = 30  # binary ones, of each coordinate of a point


@dataclass(frozen=True)
class Formula:
    """An expression, and the quantities that its leaves stand for.

    Parameters
    ----------
    root : Expression
    values : mapping of str to StochasticValue
        At least the expression's leaves.
    correlations : mapping of frozenset of str to float
        Of leaves.
    keys : mapping of str to str
        For leaves that are another quantity than the leaf of this name in other formulas: what tells them apart.
    name : str
        For messages, where there are several.
    """

    root: Expression
    values: Mapping[str, StochasticValue]
    correlations: Mapping[Pair, float]
    keys: Mapping[str, str] = field(default_factory=dict)
    name: str = ""

    def key(self, leaf: str) -> str:
        """The quantity that a leaf stands for."""
        return self.keys.get(leaf, leaf)


@dataclass(frozen=True)
class Sample:
    """Values of an expression.

    Parameters
    ----------
    values : (nets, points) float
        In the order of the points; given the one scrambling, the rows are independent of one another.
    notes : tuple of str
    reaches_zero : bool
        Whether a divisor comes down to zero or beyond, so that there may be no mean.
    """

    values: Floats
    notes: tuple[str, ...]
    reaches_zero: bool = False


def draw_sample(
    root: Expression,
    values: Mapping[str, StochasticValue],
    correlations: Mapping[Pair, float],
    samples: int | None,
    seed: int,
) -> Sample:
    """Values of one expression; see `draw_together`."""
    return draw_together([Formula(root, values, correlations)], samples, seed)[0]


def points_for(samples: int | None, inputs: int) -> int:
    """How many points are drawn: those asked for, or as many as so many inputs can have in a second.

    Examples
    --------
    >>> points_for(500, 3), points_for(None, 3), points_for(None, 1024)
    (500, 100000, 16384)
    """
    if samples is not None:
        return samples
    most = 1 << int(math.log2(_NUMBERS / max(inputs, 1)))
    return max(min(_POINTS, most), _FEWEST_POINTS)


def draw_together(formulas: Sequence[Formula], samples: int | None, seed: int) -> list[Sample]:
    """Values of expressions at the same points, which fill the space of all their inputs evenly.

    Parameters
    ----------
    formulas : sequence of Formula
        What has one key in several of them is one quantity.
    samples : int, >= 8, or None
        In all; by default as `points_for` says. At least 8 nets share them, each of the same power of 2; so it may be
        rounded up by less than an eighth.
    seed : int

    Raises
    ------
    DataError
        A divisor can be zero, or a logarithm or root is taken of what can be negative; correlations contradict one
        another; there are more inputs than Sobol points have dimensions.
    """
    from scipy.stats import qmc  # half a second that exact arithmetic does not need

    keys = list(dict.fromkeys(formula.key(leaf) for formula in formulas for leaf in leaves(formula.root)))
    if len(keys) > qmc.Sobol.MAXDIM:
        raise DataError(f"{len(keys):,} uncertain inputs; sampling takes at most {qmc.Sobol.MAXDIM:,}")
    samples = points_for(samples, len(keys))
    size = 2 ** int(math.log2(samples / FEWEST_NETS))
    nets = math.ceil(samples / size)
    correlate = _Correlated(keys, formulas)
    parts = [_Evaluated(formula, keys, np.empty((nets, size))) for formula in formulas]
    rng = np.random.default_rng(seed)
    shifts = rng.integers(2**_DIGITS, size=(nets, len(keys), 1), dtype=np.uint32)
    offset = 0
    for digits in _net(len(keys), size, rng):
        for net, shift in enumerate(shifts):
            # The points are multiples of 2^-30 and begin at 0, where a normal has its -infinity.
            uniforms = np.multiply(digits ^ shift, 2.0**-_DIGITS)
            uniforms += 2.0 ** -(_DIGITS + 1)
            correlate(uniforms)
            for part in parts:
                part.add(net, offset, uniforms)
        offset += digits.shape[1]
    return [Sample(part.rows, part.pointwise.notes(), part.pointwise.reaches_zero) for part in parts]


class _Evaluated:
    """One formula and its values so far."""

    def __init__(self, formula: Formula, keys: Sequence[str], rows: Floats) -> None:
        names, place = leaves(formula.root), {key: row for row, key in enumerate(keys)}
        self.name, self.rows = formula.name, rows
        self.quantiles = [(name, formula.values[name], place[formula.key(name)]) for name in names]
        self.pointwise = PointwiseEvaluation(formula.root, {name: formula.values[name].support for name in names})

    def add(self, net: int, offset: int, uniforms: Floats) -> None:
        """Values at further points (keys, n)."""
        quantities = {name: np.asarray(value.quantile(uniforms[row])) for name, value, row in self.quantiles}
        try:
            self.rows[net, offset : offset + uniforms.shape[1]] = self.pointwise.values_at(quantities)
        except DataError as error:
            raise DataError(f"{self.name}: {error}" if self.name else str(error)) from None


def _net(dimensions: int, size: int, rng: np.random.Generator) -> Iterator[npt.NDArray[np.uint32]]:
    """The binary digits of a scrambled net in pieces (dimensions, points of the piece)."""
    from scipy.stats import qmc

    engine = qmc.Sobol(dimensions, scramble=True, bits=_DIGITS, rng=rng)
    piece = size
    while piece > 1 and piece * dimensions > _MOST_AT_ONCE:
        piece //= 2
    for _ in range(size // piece):
        yield np.ascontiguousarray((engine.random(piece) * 2.0**_DIGITS).astype(np.uint32).T)


class _Correlated:
    """Makes uniform numbers correlated as declared, in place."""

    def __init__(self, keys: Sequence[str], formulas: Sequence[Formula]) -> None:
        present = {
            frozenset(map(formula.key, pair)): value
            for formula in formulas
            for pair, value in formula.correlations.items()
            if pair <= formula.values.keys()
        }
        present = {pair: value for pair, value in present.items() if pair <= set(keys)}
        self.rows = [k for k, key in enumerate(keys) if any(key in pair for pair in present)]
        self.factor = factor_of([keys[k] for k in self.rows], present)

    def __call__(self, uniforms: Floats) -> None:
        if self.rows:
            correlated = ndtr(self.factor @ ndtri(uniforms[self.rows]))
            # What rounding takes to 0 or 1 would be infinite as a normal.
            uniforms[self.rows] = np.clip(correlated, np.finfo(np.float64).tiny, 1.0 - 2.0**-53)
