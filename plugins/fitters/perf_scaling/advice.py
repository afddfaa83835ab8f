"""Which growth the data do not determine, and which measurement would: what to measure next."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from perf_scaling.growth import CLASSES, SURE, classes_of_draws, slope_points, slopes_between
from perf_scaling.posterior.family import changes
from perf_statistics.outcomes import DrawnOutcomes
from perfcore.base.arrays import Floats, Ints

if TYPE_CHECKING:
    from perf_scaling.model import ScalingModel


_REACH = 2.0  # times the largest measured level: farther costs more than what it is to tell
_DEVIATIONS = 2.0  # between two classes at a point that distinguishes them
_INVISIBLE = 1e-4  # a relative difference too small to measure
# Of all paths together, only the largest are looked at: the others add nothing that would be seen.
_MOST_PATHS = 500
_GAP = 3.0  # levels farther apart than by this factor have room for one between


def outcomes(model: ScalingModel, points: npt.ArrayLike, paths: Sequence[int] | None = None) -> DrawnOutcomes:
    """Draws of the target and of one more measurement, of as many runs as the others, at each point (C, q)."""
    draws = model.draws(np.vstack([model.target_point, np.asarray(points, dtype=np.float64)]), paths)
    every = np.arange(len(model.paths)) if paths is None else np.asarray(paths, dtype=np.int64)
    logs = draws.logs
    # Repeating a run does not help against the scatter of its level.
    noise = draws.scatter + draws.noise / np.sqrt(draws.posterior.median_runs)[:, None]
    medians = np.where(model.whole.counted[every], np.exp(np.median(logs[:, :, 0], axis=1)), 0.0)
    shares = medians / medians.sum() if medians.sum() > 0.0 else np.full(len(every), 1.0 / len(every))
    lowest, highest = model.posterior.of_paths(every).measured_range
    places = draws.at
    after = [
        _by_changes(np.minimum(lowest, point), np.maximum(highest, point), places[:1]) for point in places[1:]
    ]  # up to a point it is then known that no slope has changed
    beyond = _by_changes(lowest, highest, places[:1])
    with_one = np.stack(after, axis=1) if after else np.empty((len(every), 0))
    return DrawnOutcomes(logs[:, :, 0], logs[:, :, 1:] + noise[:, :, None], shares, beyond, with_one)


def _by_changes(lowest: Floats, highest: Floats, target: Floats) -> Floats:
    """Variance (K,) of the logarithm at the target (1, q) by changes of the slope beyond what was measured."""
    rate, deviation = changes(lowest, highest, target)
    return np.asarray(rate * deviation**2)[:, 0]


def measurable(model: ScalingModel, largest: float) -> Floats:
    """Points that may be measured next (C, q): the largest level of each parameter, and steps of 2 up to the target."""
    top = model.measured.max(axis=0)
    steps = [1.0]
    while 2.0 * steps[-1] <= largest:
        steps.append(2.0 * steps[-1])
    if steps[-1] < largest:
        steps.append(largest)
    points = np.array([top * factors for factors in itertools.product(steps, repeat=len(top))])
    limit = np.where(model.target_point > top, model.target_point, np.inf)  # what is farther costs more than the target
    is_before = (points <= limit).all(axis=1)
    return points[is_before] if is_before.any() else points


class Advice(NamedTuple):
    """What the data of a path do not determine."""

    path: str
    text: str  # one sentence
    point: dict[str, float] | None  # where to discriminating point; None where no point within reach does
    rivals: tuple[str, ...]  # the two classes of growth that cannot be told apart, the likelier first
    here: float
    there: float | None


def advice(model: ScalingModel, paths: Sequence[int] | None = None) -> tuple[Advice, ...]:
    """For each path whose growth is not sure, the two likeliest classes of growth and where they part."""
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
            names = CLASSES[first], CLASSES[second]
            here, there = float(np.expm1(gaps[:n][measured].max())), np.expm1(gaps[n:])
            text = f"not identifiable from these data: {names[0]} and {names[1]} differ by {percent(here)} here"
            point, at_point = None, None
            if tells.any():
                number = int(tells.argmax())
                point, at_point = (
                    dict(zip(model.symbols, candidates[number].tolist(), strict=True)),
                    float(there[number]),
                )
                text += f"; measure at {model.point_text(point)} to tell ({percent(at_point)} there)"
            else:
                text += f", and too little to tell up to {_REACH:g} times the largest level; more runs or levels may"
            entries.append(Advice(model.paths[path], text, point, names, here, at_point))
    return entries


def percent(share: float) -> str:
    """A relative difference as a person writes it."""
    if share < _INVISIBLE:
        return f"under {100.0 * _INVISIBLE:g}%"
    return f"{100.0 * share:.2g}%" if share < 0.995 else f"{100.0 * share:.0f}%"


def deciding_points(model: ScalingModel, symbol: str) -> Floats:
    """Points to measure at to tell growth over a parameter, in the order in which they are preferred (C, q)."""
    place = model.symbols.index(symbol)
    levels = np.unique(model.measured[:, place])
    pairs = itertools.pairwise(levels.tolist())
    between = [2.0 ** round(0.5 * np.log2(low * high)) for low, high in pairs if high > _GAP * low]
    above = [levels[-1] * _REACH]
    below = [levels[0] / factor for factor in (2.0, 4.0)]
    if (levels == np.round(levels)).all():  # processors come whole
        below = [level for level in below if level >= 1.0 and level == round(level)]
    points = np.tile(model.measured.max(axis=0), (len(between) + len(above) + len(below), 1))
    points[:, place] = [*between, *above, *below]
    return points


def next_point(model: ScalingModel, largest: float = 2.0) -> dict[str, float]:
    """The point whose measurement, of all paths together, leaves least open at the target.

    Paths count by their share of the value at the target.
    """
    points = measurable(model, largest)
    place = {path: k for k, path in enumerate(model.paths)}
    rows = model.rows[:_MOST_PATHS]
    best = int(outcomes(model, points, [place[row.path] for row in rows]).variances_with_one().argmin())
    return dict(zip(model.symbols, points[best].tolist(), strict=True))
