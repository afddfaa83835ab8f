"""Values of formulas at scrambled Sobol points: several nets of them, each a digital shift of one scrambling.

Sources: A. B. Owen, "Scrambled net variance for integrals of smooth functions", Annals of Statistics 25, 1997 (why
scrambling); P. L'Ecuyer and C. Lemieux, "Recent Advances in Randomized Quasi-Monte Carlo Methods", 2002, section 4 (one
scrambled net, shifted anew by digits for each of them: as independent, and made in a fraction of the time).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr, ndtri

from perf_structural.correlation import Pair, factor_of
from perf_structural.expression import Expression, leaves
from perf_structural.pointwise import PointwiseEvaluation
from perfcore.base.errors import DataError
from perfcore.stochastic import StochasticValue

Floats = npt.NDArray[np.float64]

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


def evaluation_of(formula: Formula) -> PointwiseEvaluation:
    """What evaluates a formula at points."""
    return PointwiseEvaluation(formula.root, {name: formula.values[name].support for name in leaves(formula.root)})


def draw(formulas: Sequence[Formula], nets: Nets, chosen: range, points: range) -> list[Drawn]:
    """Values of formulas at some points of some nets."""
    keys = quantities_of(formulas)
    correlate = _Correlated(keys, formulas)
    parts = [_Evaluated(formula, keys, np.empty((len(chosen), len(points)))) for formula in formulas]
    rng = np.random.default_rng(nets.seed)
    shifts = rng.integers(2**_DIGITS, size=(nets.number, len(keys), 1), dtype=np.uint32)[chosen.start : chosen.stop]
    offset = 0
    for digits in _net(len(keys), points, rng):
        for row, shift in enumerate(shifts):
            # The points are multiples of 2^-30 and begin at 0, where a normal has its -infinity.
            uniforms = np.multiply(digits ^ shift, 2.0**-_DIGITS)
            uniforms += 2.0 ** -(_DIGITS + 1)
            correlate(uniforms)
            for part in parts:
                part.add(row, offset, uniforms)
        offset += digits.shape[1]
    return [Drawn(part.rows, part.pointwise) for part in parts]


class _Evaluated:
    """One formula and its values so far."""

    def __init__(self, formula: Formula, keys: Sequence[str], rows: Floats) -> None:
        names, place = leaves(formula.root), {key: row for row, key in enumerate(keys)}
        self.name, self.rows = formula.name, rows
        self.quantiles = [(name, formula.values[name], place[formula.key(name)]) for name in names]
        self.pointwise = evaluation_of(formula)

    def add(self, net: int, offset: int, uniforms: Floats) -> None:
        """Values at further points (keys, n)."""
        quantities = {name: np.asarray(value.quantile(uniforms[row])) for name, value, row in self.quantiles}
        try:
            self.rows[net, offset : offset + uniforms.shape[1]] = self.pointwise.values_at(quantities)
        except DataError as error:
            raise DataError(f"{self.name}: {error}" if self.name else str(error)) from None


def _net(dimensions: int, points: range, rng: np.random.Generator) -> Iterator[npt.NDArray[np.uint32]]:
    """The binary digits of some points of a scrambled net in pieces (dimensions, points of the piece)."""
    from scipy.stats import qmc  # half a second that exact arithmetic does not need

    engine = qmc.Sobol(dimensions, scramble=True, bits=_DIGITS, rng=rng)
    if points.start:
        engine.fast_forward(points.start)
    piece = len(points)
    while piece > 1 and piece * dimensions > _MOST_AT_ONCE:
        piece //= 2
    for _ in range(len(points) // piece):
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
