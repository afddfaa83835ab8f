"""How the paths grow: the class of growth with its probability, and the local exponent towards the target."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from perf_scaling.posterior.family import DRIFTS_FREELY
from perf_scaling.posterior.posterior import SIDES, Draws
from perf_scaling.terms import Law
from perfcore.base.arrays import Floats, Ints

if TYPE_CHECKING:
    from perf_scaling.model import ScalingModel


CLASSES = (
    *("falling", "constant", "logarithmic", "sublinear", "linear", "n log n"),
    *("subquadratic", "quadratic", "superquadratic"),
)

# Of what is said: below, one of ten answers would be wrong.
SURE = 0.9
COVERAGE, LIKELY = 0.95, 0.5  # of intervals
MISSED = 0.1  # a level that the named model misses by more is named
DEVIATES = 0.5  # probability from which on a last level is said to deviate
UNDETERMINED = 10.0  # the ends of an interval that determines nothing differ by more than this factor

_SAME = 0.09  # exponents nearer than this to 0, 1 or 2 are taken for these
_PIVOTS = ((0.0, "constant"), (1.0, "linear"), (2.0, "quadratic"))
_BETWEEN = ("falling", "sublinear", "subquadratic", "superquadratic")
_LIMITS = np.array([limit for pivot, _ in _PIVOTS for limit in (pivot - _SAME, pivot + _SAME)])
_CLASSES_BETWEEN = np.array(
    [CLASSES.index(name) for below, (_, at) in zip(_BETWEEN, _PIVOTS, strict=False) for name in (below, at)]
    + [CLASSES.index(_BETWEEN[-1])]
)
GrowthColumns = tuple[list[str], list[float], list[float], list[float], list[float], list[str]]


class Growth(NamedTuple):
    """How a path grows over one parameter."""

    name: str  # the most probable of `CLASSES`
    probability: float  # of that class
    exponent: float
    low: float
    high: float
    statement: str

    @property
    def is_sure(self) -> bool:
        """Whether the class is as probable as a statement should be."""
        return self.probability >= SURE


def growths_at_target(model: ScalingModel) -> list[GrowthColumns]:
    """Return the fields of `Growth` of all paths, for each parameter."""
    points = np.concatenate([slope_points(model, symbol) for symbol in model.symbols])
    found: list[tuple[list[Any], ...]] = [([], [], [], [], [], []) for _ in model.symbols]
    for _, draws in model.draws_in_blocks(points):
        for number, symbol in enumerate(model.symbols):
            columns: tuple[list[Any], ...] = _growths_of_draws(model, symbol, draws, (2 * number, 2 * number + 1))
            for values, own in zip(found[number], columns, strict=True):
                values.extend(own)
    return found  # type: ignore[return-value]


def slope_points(model: ScalingModel, symbol: str) -> Floats:
    """The two points (2, q) between which the local exponent is taken; the second is the target."""
    place = model.symbols.index(symbol)
    points = np.tile(model.target_point, (2, 1))
    low, high = model.measured[:, place].min(), model.measured[:, place].max()
    to = points[1, place]
    points[0, place] = high if to > high or to == low else low
    return points


def _growths_of_draws(model: ScalingModel, symbol: str, draws: Draws, places: tuple[int, int]) -> GrowthColumns:
    """Return growth by values at two of the points that were drawn."""
    ends = slope_points(model, symbol)[:, model.symbols.index(symbol)]
    start, end = (draws.logs[:, :, place] for place in places)
    slope = np.asarray((end - start) / np.log(ends[1] / ends[0]))
    classes = classes_of_draws(model, symbol, draws, slope)
    probability = np.stack([(classes == number).mean(axis=1) for number in range(len(CLASSES))], axis=1)
    best = probability.argmax(axis=1)
    ordered = np.sort(slope, axis=1)  # quantiles of sorted numbers take a quarter of the time
    columns = (probability.max(axis=1), *np.quantile(ordered, [SIDES[1], SIDES[0], SIDES[2]], axis=1))
    names = [CLASSES[number] for number in best.tolist()]
    return (names, *(column.tolist() for column in columns), _statements(probability))


def _statements(probability: Floats) -> list[str]:
    """What is sure of the class of each path: itself, a bound on one side, or on both."""
    below = np.cumsum(probability, axis=1)
    above = 1.0 - below + probability
    last = len(CLASSES) - 1
    best, least = probability.argmax(axis=1), last - (above >= SURE)[:, ::-1].argmax(axis=1)
    most = (below >= SURE - 1e-12).argmax(axis=1)
    every = np.arange(len(probability))
    range_probability = above[every, least] - above[every, most] + probability[every, most]
    kinds = np.where(probability[every, best] >= SURE, 0, np.where(range_probability >= SURE, 1, 2))
    return [
        _statement(*facts) for facts in zip(kinds.tolist(), best.tolist(), least.tolist(), most.tolist(), strict=True)
    ]


@functools.cache
def _statement(kind: int, best: int, least: int, most: int) -> str:
    """In words: of kind 0 the class is sure, of kind 1 both bounds together are, of kind 2 each alone."""
    last = len(CLASSES) - 1
    if kind == 0:
        return CLASSES[best]
    if kind == 1 and least and most < last:
        return f"{CLASSES[least]} to {CLASSES[most]}"
    if least > 1 or (least == 1 and most == last):
        return f"at least {CLASSES[least]}"
    if most < last:
        return f"at most {CLASSES[most]}"
    return "inconclusive"


def slopes_between(start: Floats, end: Floats, factor: float) -> Floats:
    """Exponents of the powers of a parameter that lead from values to others."""
    return np.asarray(np.log(end / start) / np.log(factor))


def classes_of_draws(model: ScalingModel, symbol: str, draws: Draws, slopes: Floats) -> Ints:
    """Number of the class of each draw (K, N): of its law, or of its slope where it drifts freely or is of a rate."""
    posterior = draws.posterior
    of_law = np.array([class_of(law, symbol) for law in model.laws], dtype=np.int64)
    law, setting = (np.take_along_axis(array, draws.component, axis=1) for array in (posterior.law, posterior.setting))
    # Of a rate the slope tells: its law is that of one over it.
    is_free = (posterior.settings[:, 1] >= DRIFTS_FREELY) | posterior.reciprocal
    return np.where(is_free[setting], class_of_slope(slopes), of_law[law])


def class_of_slope(slope: npt.ArrayLike) -> Ints:
    """Number of the class of the power that grows alike, of each slope; limits belong to the classes of a pivot."""
    place = np.searchsorted(_LIMITS[::2], slope, side="right") + np.searchsorted(_LIMITS[1::2], slope, side="left")
    return np.asarray(_CLASSES_BETWEEN[place])


def class_of(law: Law, symbol: str) -> int:
    """Number of the class of a law: of the term that outgrows the others; what falls to a constant falls."""
    orders = [(factor.exponent, factor.logarithm) for term in law for factor in term.factors if factor.symbol == symbol]
    if not orders:
        return CLASSES.index("constant")
    exponent, logarithm = max(orders)
    if logarithm:
        if abs(exponent) < _SAME:
            return CLASSES.index("logarithmic")
        if abs(exponent - 1.0) < _SAME:
            return CLASSES.index("n log n")
        if abs(exponent - 2.0) < _SAME:
            return CLASSES.index("superquadratic")
    return int(class_of_slope(exponent))
