"""How paths grow: class and local exponent, which growth the data do not determine, and what to measure to tell it."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from perf_scaling.family import DRIFTS_FREELY, changes
from perf_scaling.posterior import SIDES, Draws
from perf_scaling.terms import Law
from perf_statistics.outcomes import DrawnOutcomes
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
GrowthColumns = tuple[list[str], list[float], list[float], list[float], list[float], list[str]]

_SAME = 0.09  # exponents nearer than this to 0, 1 or 2 are taken for these
_PIVOTS = ((0.0, "constant"), (1.0, "linear"), (2.0, "quadratic"))
_BETWEEN = ("falling", "sublinear", "subquadratic", "superquadratic")
_LIMITS = np.array([limit for pivot, _ in _PIVOTS for limit in (pivot - _SAME, pivot + _SAME)])
_CLASSES_BETWEEN = np.array(
    [CLASSES.index(name) for below, (_, at) in zip(_BETWEEN, _PIVOTS, strict=False) for name in (below, at)]
    + [CLASSES.index(_BETWEEN[-1])]
)
_REACH = 2.0  # times the largest measured level: farther costs more than what it is to tell
_DEVIATIONS = 2.0  # between two classes at a point that distinguishes them
_INVISIBLE = 1e-4  # a relative difference too small to measure
# Of all paths together, only the largest are looked at: the others add nothing that would be seen.
_MOST_PATHS = 500
_GAP = 3.0  # levels farther apart than by this factor have room for one between


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
    """Return the two points (2, q) between which the local exponent is taken; the second is the target."""
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
    cells = (np.arange(len(classes))[:, None] * len(CLASSES) + classes).ravel()
    probability = np.bincount(cells, minlength=len(classes) * len(CLASSES)).reshape(-1, len(CLASSES)) / classes.shape[1]
    best = probability.argmax(axis=1)
    ordered = np.sort(slope, axis=1)  # quantiles of sorted numbers take a quarter of the time
    columns = (probability.max(axis=1), *np.quantile(ordered, [SIDES[1], SIDES[0], SIDES[2]], axis=1))
    names = [CLASSES[number] for number in best.tolist()]
    return (names, *(column.tolist() for column in columns), _statements(probability))


def _statements(probability: Floats) -> list[str]:
    """Return what is sure of the class of each path: itself, a bound on one side, or on both."""
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
    """Say that the class is sure (kind 0), that both bounds together are (1), or each alone (2)."""
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
    """Return exponents of the powers of a parameter that lead from values to others."""
    return np.asarray(np.log(end / start) / np.log(factor))


def classes_of_draws(model: ScalingModel, symbol: str, draws: Draws, slopes: Floats) -> Ints:
    """Return the class of each draw (K, N): of its law, or of its slope if it drifts freely or is of a rate."""
    posterior = draws.posterior
    of_law = np.array([class_of(law, symbol) for law in model.laws], dtype=np.int64)
    # Of a rate the slope tells: its law is that of one over it.
    is_free = (posterior.settings[:, 1] >= DRIFTS_FREELY) | posterior.reciprocal
    of_components = np.where(is_free[posterior.setting], -1, of_law[posterior.law])
    classes = np.take_along_axis(of_components, draws.component, axis=1)
    free = classes < 0
    classes[free] = class_of_slope(slopes[free])
    return classes


def class_of_slope(slope: npt.ArrayLike) -> Ints:
    """Return the class of the power that grows alike, of each slope; limits belong to the classes of a pivot."""
    place = np.searchsorted(_LIMITS[::2], slope, side="right") + np.searchsorted(_LIMITS[1::2], slope, side="left")
    return np.asarray(_CLASSES_BETWEEN[place])


def class_of(law: Law, symbol: str) -> int:
    """Return the class of a law: of the term that outgrows the others; what falls to a constant falls."""
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


def outcomes(model: ScalingModel, points: npt.ArrayLike, paths: Sequence[int]) -> DrawnOutcomes:
    """Draws of the target and of one more measurement, of as many runs as the others, at each point (C, q)."""
    draws = model.draws(np.vstack([model.target_point, np.asarray(points, dtype=np.float64)]), paths)
    every, logs = np.asarray(paths, dtype=np.int64), draws.logs
    # Repeating a run does not help against the scatter of its level.
    noise = draws.scatter + draws.noise / np.sqrt(draws.posterior.median_runs)[:, None]
    medians = np.where(model.whole.counted[every], np.exp(np.median(logs[:, :, 0], axis=1)), 0.0)
    shares = medians / medians.sum() if medians.sum() > 0.0 else np.full(len(every), 1.0 / len(every))
    lowest, highest = model.posterior.of_paths(every).measured_range
    places = draws.at
    # Up to a point that was measured it is known that no slope has changed.
    after = [_by_changes(np.minimum(lowest, point), np.maximum(highest, point), places[:1]) for point in places[1:]]
    beyond = _by_changes(lowest, highest, places[:1])
    with_one = np.stack(after, axis=1) if after else np.empty((len(every), 0))
    return DrawnOutcomes(logs[:, :, 0], logs[:, :, 1:] + noise[:, :, None], shares, beyond, with_one)


def _by_changes(lowest: Floats, highest: Floats, target: Floats) -> Floats:
    """Return the variance (K,) of the logarithm at the target by changes of the slope beyond the data."""
    rate, deviation = changes(lowest, highest, target)
    return np.asarray(rate * deviation**2)[:, 0]


class Advice(NamedTuple):
    """What the data of a path do not determine."""

    path: str
    point: dict[str, float] | None  # that tells the two apart; None if no point within reach does
    rivals: tuple[str, ...]  # the two classes of growth that cannot be told apart, the likelier first
    here: float
    there: float | None


def advice(model: ScalingModel, paths: Sequence[int] | None = None) -> tuple[Advice, ...]:
    """Return the two likeliest classes of growth of each path whose growth is not sure, and where they part."""
    chosen = np.arange(len(model.paths)) if paths is None else np.asarray(paths, dtype=np.int64)
    number = {row.path: [growth.probability for growth in row.growths] for row in model.rows}
    sure = np.array([number[model.paths[k]] for k in chosen.tolist()]).reshape(len(chosen), len(model.symbols))
    unsure = sure.argmin(axis=1)  # the parameter whose growth is least sure
    by_row: dict[int, Advice] = {}
    for place, symbol in enumerate(model.symbols):
        rows = np.flatnonzero((sure.min(axis=1) < SURE) & (unsure == place))
        if len(rows):
            by_row.update(zip(rows.tolist(), _advice_over(model, symbol, chosen[rows]), strict=True))
    return tuple(by_row[row] for row in sorted(by_row))


def _advice_over(model: ScalingModel, symbol: str, paths: Ints) -> list[Advice]:
    candidates = deciding_points(model, symbol)
    ends = slope_points(model, symbol)
    places = np.vstack([ends, model.measured, candidates])
    place = model.symbols.index(symbol)
    n = len(model.measured)
    entries = []
    for block, draws in model.draws_in_blocks(places, paths.tolist()):
        values = draws.unchanged()
        slope = slopes_between(values[:, :, 0], values[:, :, 1], ends[1, place] / ends[0, place])
        logs = np.log(values[:, :, 2:])
        of_draws = classes_of_draws(model, symbol, draws, slope)
        for row, path in enumerate(paths[block].tolist()):
            of_draw = of_draws[row]
            first, second = np.argsort(-np.bincount(of_draw, minlength=len(CLASSES)), kind="stable")[:2]
            first_logs, second_logs = logs[row][of_draw == first], logs[row][of_draw == second]
            measured = np.isfinite(model.means[path])
            runs = float(np.median(np.array(model.data[path].counts)[measured]))
            noise = float(np.var(draws.scatter[row] + draws.noise[row] / np.sqrt(runs)))
            gaps = np.abs(first_logs.mean(axis=0) - second_logs.mean(axis=0))
            variances = 0.5 * (first_logs.var(axis=0) + second_logs.var(axis=0)) + noise
            tells = gaps[n:] >= _DEVIATIONS * np.sqrt(variances[n:])
            point, there, number = None, None, int(tells.argmax())
            if tells[number]:
                point = dict(zip(model.symbols, candidates[number].tolist(), strict=True))
                there = float(np.expm1(gaps[n + number]))
            here = float(np.expm1(gaps[:n][measured].max()))
            entries.append(Advice(model.paths[path], point, (CLASSES[first], CLASSES[second]), here, there))
    return entries


def percent(share: float) -> str:
    """Return a relative difference as a person writes it."""
    if share < _INVISIBLE:
        return f"under {100.0 * _INVISIBLE:g}%"
    return f"{100.0 * share:.2g}%" if share < 0.995 else f"{100.0 * share:.0f}%"


def deciding_points(model: ScalingModel, symbol: str) -> Floats:
    """Return points that tell growth over a parameter, in the order in which they are preferred (C, q)."""
    place = model.symbols.index(symbol)
    levels = np.unique(model.measured[:, place])
    pairs = itertools.pairwise(levels.tolist())
    chosen = [2.0 ** round(0.5 * np.log2(low * high)) for low, high in pairs if high > _GAP * low]
    below = [levels[0] / factor for factor in (2.0, 4.0)]
    if (levels == np.round(levels)).all():  # processors come whole
        below = [level for level in below if level >= 1.0 and level == round(level)]
    chosen += [levels[-1] * _REACH, *below]
    points = np.tile(model.measured.max(axis=0), (len(chosen), 1))
    points[:, place] = chosen
    return points


def next_point(model: ScalingModel) -> dict[str, float]:
    """Return the point whose measurement, of all paths together by their shares, leaves least open at the target.

    Candidates have the largest level of each parameter, or twice that.
    """
    top, target = model.measured.max(axis=0), model.target_point
    points = np.array([top * factors for factors in itertools.product((1.0, 2.0), repeat=len(top))])
    is_beyond = target > top
    if is_beyond.any():
        points[:, ~is_beyond] = target[~is_beyond]
    is_before = (points <= np.where(is_beyond, target, np.inf)).all(axis=1)  # farther costs more than the target
    points = points[is_before] if is_before.any() else points
    place = {path: k for k, path in enumerate(model.paths)}
    rows = model.rows[:_MOST_PATHS]
    best = int(outcomes(model, points, [place[row.path] for row in rows]).variances_with_one().argmin())
    return dict(zip(model.symbols, points[best].tolist(), strict=True))
