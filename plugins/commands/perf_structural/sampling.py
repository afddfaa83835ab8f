"""Quasi-Monte Carlo: scrambled Sobol points through the inputs' quantiles, several times, so that the error is seen.

Sources: A. B. Owen, "Scrambled net variance for integrals of smooth functions", Annals of Statistics 25, 1997, and
"Monte Carlo theory, methods and examples", 2013, section 17.3 (several nets to see the error).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr, ndtri

from perf_structural.algebra import Expression, leaves
from perf_structural.correlation import Pair, factor_of
from perf_structural.pointwise import PointwiseEvaluation
from perfcore.base.arrays import Floats
from perfcore.base.errors import DataError
from perfcore.base.executors import thread_count
from perfcore.stochastic import StochasticValue

# One scrambled net, shifted again by digits for each of several (P. L'Ecuyer and C. Lemieux, "Recent Advances in
# Randomized Quasi-Monte Carlo Methods", 2002, section 4): as independent as scrambled again, in a fraction of the time.

# Numbers drawn at once; larger nets of many inputs are drawn in pieces to bound the memory.
_MOST_AT_ONCE = 2**20

_DIGITS = 30  # binary ones, of each coordinate of a point


class Nets(NamedTuple):
    """Points by which formulas are evaluated."""

    number: int
    size: int  # points of each, a power of 2
    seed: int


@dataclass(frozen=True)
class Formula:
    """An expression, and the quantities that its leaves stand for."""

    root: Expression
    values: Mapping[str, StochasticValue]  # at least the expression's leaves
    correlations: Mapping[Pair, float]  # of leaves
    keys: Mapping[str, str] = field(default_factory=dict)
    name: str = ""  # for messages, where there are several

    def key(self, leaf: str) -> str:
        """The quantity that a leaf stands for."""
        return self.keys.get(leaf, leaf)


@dataclass(frozen=True)
class Drawn:
    """Values of one formula."""

    values: Floats  # in the order of the points
    pointwise: PointwiseEvaluation  # which has seen the divisors


def quantities_of(formulas: Sequence[Formula]) -> list[str]:
    """What is drawn for formulas, each quantity once."""
    return list(dict.fromkeys(formula.key(leaf) for formula in formulas for leaf in leaves(formula.root)))


def draw(formulas: Sequence[Formula], nets: Nets) -> list[Drawn]:
    """Values of formulas at the points of all nets."""
    keys = quantities_of(formulas)
    correlated, factor = _correlation_of(keys, formulas)
    parts = [_Evaluated(formula, keys, np.empty((nets.number, nets.size))) for formula in formulas]
    rng = np.random.default_rng(nets.seed)
    shifts = rng.integers(2**_DIGITS, size=(nets.number, len(keys), 1), dtype=np.uint32)
    offset = 0
    for digits in _net(len(keys), nets.size, rng):
        for row, shift in enumerate(shifts):
            # The points are multiples of 2^-30 and begin at 0, where a normal has its -infinity.
            uniforms = np.multiply(digits ^ shift, 2.0**-_DIGITS)
            uniforms += 2.0 ** -(_DIGITS + 1)
            if correlated:  # what rounding takes to 0 or 1 would be infinite as a normal
                scores = ndtr(factor @ ndtri(uniforms[correlated]))
                uniforms[correlated] = np.clip(scores, np.finfo(np.float64).tiny, 1.0 - 2.0**-53)
            for part in parts:
                part.add(row, offset, uniforms)
        offset += digits.shape[1]
    return [Drawn(part.rows, part.pointwise) for part in parts]


class _Evaluated:
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
    from scipy.stats import qmc  # half a second that exact arithmetic does not need

    engine = qmc.Sobol(dimensions, scramble=True, bits=_DIGITS, rng=rng)
    piece = size
    while piece > 1 and piece * dimensions > _MOST_AT_ONCE:
        piece //= 2
    for _ in range(size // piece):
        yield np.ascontiguousarray((engine.random(piece) * 2.0**_DIGITS).astype(np.uint32).T)


def _correlation_of(keys: Sequence[str], formulas: Sequence[Formula]) -> tuple[list[int], Floats]:
    """Which quantities are correlated, and the matrix that makes their normal scores so."""
    present = {
        frozenset(map(formula.key, pair)): value
        for formula in formulas
        for pair, value in formula.correlations.items()
        if pair <= formula.values.keys()
    }
    present = {pair: value for pair, value in present.items() if pair <= set(keys)}
    rows = [k for k, key in enumerate(keys) if any(key in pair for pair in present)]
    return rows, factor_of([keys[k] for k in rows], present)


# Few enough that each net stays large, many enough for a standard error that is itself known to a quarter.
FEWEST_NETS = 8

# Default number of points: so many, or of many inputs so many numbers together, of which a second draws as
# many. A sum of hundreds of inputs is not smoother for more: its p95 is known to 0.02 standard deviations.
_POINTS = 100_000
_NUMBERS = 2**24
_FEWEST_POINTS = 1024
_MOST_INPUTS = 21_201  # dimensions of scipy's Sobol points


@dataclass(frozen=True)
class Sample:
    """Values of an expression."""

    values: Floats  # in the order of the points, or each row sorted
    notes: tuple[str, ...]
    reaches_zero: bool = False  # whether a divisor comes down to zero or beyond, so that there may be no mean
    is_sorted: bool = False  # whether each row is


def draw_sample(
    root: Expression,
    values: Mapping[str, StochasticValue],
    correlations: Mapping[Pair, float],
    samples: int | None,
    seed: int,
) -> Sample:
    """Values of one expression, each row sorted; see `draw_together`."""
    formula = Formula(root, values, correlations)
    nets = _nets_for([formula], samples, seed)
    (drawn,) = draw([formula], nets)
    sort_at_once(list(drawn.values))
    return Sample(drawn.values, drawn.pointwise.notes(), drawn.pointwise.reaches_zero, is_sorted=True)


def sort_at_once(arrays: Sequence[Floats]) -> None:
    """Sort each in place, by threads; what consists of sorted stretches is merged."""
    with ThreadPoolExecutor(thread_count(len(arrays))) as threads:
        list(threads.map(lambda array: array.sort(kind="stable"), arrays))


def points_for(samples: int | None, inputs: int) -> int:
    """How many points are drawn: those asked for, or as many as so many inputs can have in a second."""
    if samples is not None:
        return samples
    most = 1 << int(math.log2(_NUMBERS / max(inputs, 1)))
    return max(min(_POINTS, most), _FEWEST_POINTS)


def draw_together(formulas: Sequence[Formula], samples: int | None, seed: int) -> list[Sample]:
    """Values of expressions at the same points, which fill the space of all their inputs evenly."""
    nets = _nets_for(formulas, samples, seed)
    drawn = draw(formulas, nets)
    return [Sample(each.values, each.pointwise.notes(), each.pointwise.reaches_zero) for each in drawn]


def _nets_for(formulas: Sequence[Formula], samples: int | None, seed: int) -> Nets:
    """As many points as are asked for, or somewhat more."""
    inputs = len(quantities_of(formulas))
    if inputs > _MOST_INPUTS:
        raise DataError(f"{inputs:,} uncertain inputs; sampling takes at most {_MOST_INPUTS:,}")
    samples = points_for(samples, inputs)
    size = 2 ** int(math.log2(samples / FEWEST_NETS))
    return Nets(math.ceil(samples / size), size, seed)
