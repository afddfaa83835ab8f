"""Two runs phase by phase: durations, processor time and levels of the phases that are the same."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

import perfcore
from perf_tables.meanings import is_repetition
from perf_worley.activity import Activity, joined
from perfcore import Measurements
from perfcore.base import grouped, pd, progress
from perfcore.base.errors import DataError, OptionError, listing
from perfcore.data.columns import guess_roles
from perfcore.data.curve import UtilizationCurve
from perfcore.data.units import NANOSECONDS
from perfcore.report import Result

if TYPE_CHECKING:
    from perf_worley.phase_model import PhaseModel


# Measured on simulated pairs of runs of one program, and on recorded ones.
_RISE, _SHARE, _JOINED, _ALONE = 0.5, 0.15, 0.03, 0.5
_RUNS = 0.5  # of two phases with nothing in common: as dear as both without partner
_MOST_JOINED = 3
ALIKE = 0.25  # cost above which two runs are not one program's: one program's cost 0.03 to 0.22, others' 0.24 to 0.82
_NORMAL = 1.959964
_NUMBERS = ("duration", "duration_within", "processor_time", "level", "level_within")
_SAME_NAMES = 0.5  # up to which two runs may differ in what runs, that names tell which phases are the same
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(8)

_PHASE, _DURATION, _PROCESSOR_TIME, _FILE = "phase", "duration_s", "processor_time_s", "file"


class Shape(NamedTuple):
    """One phase, or some neighbouring ones together."""

    share: float  # of the run's duration
    level: float  # mean, as a share of the processors
    rise: float  # mean of the second half less that of the first, also
    runs: Mapping[str, float] | None = None  # share of each state in the computing time


class Pair(NamedTuple):
    """Phases of the first run and the same of the second, counted from 0; one of both may be empty."""

    first: range
    second: range


def match_phases(
    counts: tuple[int, int], shapes: tuple[Callable[[int, int], Shape], Callable[[int, int], Shape]], ratio: float = 1.0
) -> tuple[list[Pair], float]:
    """Return which phases of two runs are the same: the cheapest pairing that keeps their order, and its cost.

    A phase is what runs in it,
    where that is known, and its shape: its share of the run, its level as a share of the processors, and how far it
    rises from its first half to its second. Phases with nothing in common that runs in them are never the same. Pairs
    are of one phase with one, two or three neighbours of the other run, or a phase has no partner.
    """
    n, m = counts
    spans = [(1, 1), *((1, q) for q in range(2, _MOST_JOINED + 1)), *((q, 1) for q in range(2, _MOST_JOINED + 1))]
    all_shapes = [
        {(i, j): shape(i, j) for j in range(1, count + 1) for i in range(max(0, j - _MOST_JOINED), j)}
        for count, shape in zip(counts, shapes, strict=True)
    ]
    cost = np.full((n + 1, m + 1), np.inf)
    cost[0, 0] = 0.0
    before: dict[tuple[int, int], tuple[int, int]] = {}
    of_names: dict[tuple[int, int, int, int], float] = {}  # what a pair costs next to its shape
    for i in range(n + 1):
        for j in range(m + 1):
            options = []
            if i:
                options.append((cost[i - 1, j] + _ALONE * all_shapes[0][i - 1, i].share, (i - 1, j)))
            if j:
                options.append((cost[i, j - 1] + _ALONE * all_shapes[1][j - 1, j].share, (i, j - 1)))
            for k, q in spans:
                if i >= k and j >= q:
                    one, other = all_shapes[0][i - k, i], all_shapes[1][j - q, j]
                    size = one.share + other.share
                    level = abs(one.level - other.level)
                    if ratio != 1.0:
                        level = min(level, abs(one.level * ratio - other.level) / max(1.0, ratio))
                    distance = level + _RISE * abs(one.rise - other.rise)
                    distance += _SHARE * abs(math.log(one.share / other.share))
                    price = (distance + _JOINED * (k + q - 2)) * size
                    named = of_names[i - k, j - q, i, j] = _RUNS * unlike(one.runs, other.runs) * size
                    options.append((cost[i - k, j - q] + price + named, (i - k, j - q)))
            if options:
                cost[i, j], before[i, j] = min(options)
    pairs, cell, names = [], (n, m), 0.0
    while cell != (0, 0):
        earlier = before[cell]
        names += of_names.get((*earlier, *cell), 0.0)
        pairs.append(Pair(range(earlier[0], cell[0]), range(earlier[1], cell[1])))
        cell = earlier
    return pairs[::-1], max(float(cost[n, m]) - names, 0.0)


def unlike(one: Mapping[str, float] | None, other: Mapping[str, float] | None) -> float:
    """Return how much two stretches differ in what runs: total variation, 1 with nothing in common; 0 where one is not
    known.
    """
    if not one or not other:
        return 0.0
    return 0.5 * sum(abs(one.get(name, 0.0) - other.get(name, 0.0)) for name in one.keys() | other.keys())


@dataclass(frozen=True)
class Side:
    """Some neighbouring phases of one run together; times in the unit of the comparison."""

    phases: range  # counted from 0
    duration: float  # ``level`` in processors is the mean, ``processor_time`` its integral
    processor_time: float
    level: float
    duration_within: tuple[float, float] | None  # 95 % intervals, where the model has any
    level_within: tuple[float, float] | None
    activity: Activity | None = None  # what runs in them


@dataclass(frozen=True, repr=False)
class PhaseComparison(Result):
    """Two runs, phase by phase."""

    reporter: ClassVar[str] = "perf_worley.answers:comparison_report"
    json_kind: ClassVar[str] = "comparison"
    limit: ClassVar[float] = ALIKE

    names: tuple[str, str]
    models: tuple[PhaseModel, PhaseModel]
    time_unit: str  # of all times here
    pairs: tuple[tuple[Side | None, Side | None], ...]  # the same phases of both, in order; None without partner
    totals: tuple[Side, Side]  # both runs as wholes
    cost: float  # how unlike they are in shape, see `ALIKE`
    by_name: bool | None = None  # whether what runs in the phases took part; None where it is not known of both

    @property
    def alike(self) -> bool:
        """Whether these may be runs of one program; if not, the pairs say nothing."""
        return self.cost <= ALIKE

    def to_dict(self) -> dict[str, Any]:
        return {
            "models": self.names,
            **{name: getattr(self, name) for name in ("time_unit", "cost", "alike", "by_name")},
            "total": [_facts(side) for side in self.totals],
            "phases": [[_facts(side) for side in pair] for pair in self.pairs] if self.alike else [],
        }


def compare_phases(one: PhaseModel, other: PhaseModel, names: tuple[str, str]) -> PhaseComparison:
    """Match the phases of two runs and compare them."""
    models = (one, other)
    factors = (1.0, NANOSECONDS[other.time_unit] / NANOSECONDS[one.time_unit])
    processors = [model.n_locations for model in models]
    if all(processors):
        scales = [float(number or 1) for number in processors]
    else:  # without the number of processors the levels are compared as they are
        scales = [max(*(_mean(model, p.start, p.end) for model in models for p in model.phases), 1e-300)] * 2
    activities = [_activity(model.phases) for model in models]
    by_name = None
    if activities[0] is not None and activities[1] is not None:
        by_name = unlike(activities[0].shares, activities[1].shares) <= _SAME_NAMES
    shapes = (_shape_of(one, scales[0], by_name is True), _shape_of(other, scales[1], by_name is True))
    pairs, cost = match_phases((len(one.phases), len(other.phases)), shapes, scales[0] / scales[1])
    pairs = [*pairs, Pair(range(len(one.phases)), range(len(other.phases)))]  # and both runs as wholes
    firsts = [side_of(one, pair.first, factors[0]) if pair.first else None for pair in pairs]
    seconds = [side_of(other, pair.second, factors[1]) if pair.second else None for pair in pairs]
    *sides, totals = zip(firsts, seconds, strict=True)
    assert totals[0] is not None
    assert totals[1] is not None
    return PhaseComparison(names, models, one.time_unit, tuple(sides), (totals[0], totals[1]), cost, by_name)


def _activity(phases: Sequence[Any]) -> Activity | None:
    """Return what runs in some phases together; None where it is not known of all."""
    parts = [phase.activity for phase in phases]
    return joined(parts) if all(part is not None for part in parts) else None


def _mean(model: PhaseModel, begin: float, end: float) -> float:
    """Return the mean of the model over a stretch; exact for polynomials."""
    total = 0.0
    for phase in model.phases:
        low, high = max(begin, phase.start), min(end, phase.end)
        if low < high:
            inner = low + 0.5 * (high - low) * (_NODES + 1.0)
            total += float(model.evaluate(phase, inner) @ _WEIGHTS) * 0.5 * (high - low)
    return total / (end - begin)


def _shape_of(model: PhaseModel, scale: float, by_name: bool) -> Callable[[int, int], Shape]:
    def shape(first: int, last: int) -> Shape:
        begin, end = model.phases[first].start, model.phases[last - 1].end
        middle = 0.5 * (begin + end)
        halves = _mean(model, begin, middle) / scale, _mean(model, middle, end) / scale
        activity = _activity(model.phases[first:last]) if by_name else None
        return Shape(
            (end - begin) / (model.end - model.start),
            0.5 * (halves[0] + halves[1]),
            halves[1] - halves[0],
            None if activity is None else activity.shares,
        )

    return shape


def side_of(model: PhaseModel, phases: range, factor: float = 1.0) -> Side:
    """Return some neighbouring phases of a run together, at least one; times in the model's unit times a factor."""
    chosen = [model.phases[k] for k in phases]
    begin, end = chosen[0].start, chosen[-1].end
    level = _mean(model, begin, end)
    starts = (begin, begin) if phases[0] == 0 else chosen[0].break_interval
    ends = (end, end) if phases[-1] + 1 == len(model.phases) else model.phases[phases[-1] + 1].break_interval
    duration_within = None
    # Where a run begins and ends is known, and says nothing of how long the next one takes.
    if starts is not None and ends is not None and (starts[0] < starts[1] or ends[0] < ends[1]):
        duration_within = (max(ends[0] - starts[1], 0.0) * factor, (ends[1] - starts[0]) * factor)
    level_within = None
    if all(phase.level_error is not None for phase in chosen):
        errors = [(p.level_error or 0.0) * (p.end - p.start) / (end - begin) for p in chosen]
        half = _NORMAL * float(np.sqrt(np.sum(np.square(errors))))
        level_within = (level - half, level + half)
    lasts = end - begin
    activity = _activity(chosen)
    return Side(phases, lasts * factor, level * lasts * factor, level, duration_within, level_within, activity)


def _facts(side: Side | None) -> dict[str, Any] | None:
    if side is None:
        return None
    return {
        "phases": [number + 1 for number in side.phases],
        **{name: getattr(side, name) for name in _NUMBERS},
        "what_runs": None if side.activity is None else side.activity.name,
    }


# Curves of several runs as one table of measurements: how long each phase takes in each run.
#
# Any fitter of measurements then fits it: each phase has a law of its duration, or of its processor time, over the
# processors.


def agreed_models(
    models: Sequence[Any], names: Sequence[str], with_phases: Callable[[int, int], Any]
) -> list[tuple[Any, bool]]:
    """Return models with the number of phases that most runs have, where a run agrees better with the others so.

    Runs of one program have the same phases; of which one that is noisier may show fewer, or one too many.
    """
    counts = [len(model.phases) for model in models]
    usual = max(set(counts), key=lambda count: (counts.count(count), count))
    agreed = []
    for k, model in enumerate(models):
        others = [i for i, count in enumerate(counts) if count == usual and i != k]
        if counts[k] == usual or not others:
            agreed.append((model, False))
            continue
        nearest = min(others, key=lambda i: abs(i - k))
        again = with_phases(k, usual)
        costs = [compare_phases(models[nearest], each, (names[nearest], names[k])).cost for each in (model, again)]
        agreed.append((again, True) if costs[1] < costs[0] else (model, False))
    return agreed


def same_phases(models: Sequence[Any], names: Sequence[str]) -> list[list[range]]:
    """Return phases of several runs that are the same, in order."""
    parent = {(run, phase): (run, phase) for run, model in enumerate(models) for phase in range(len(model.phases))}

    def root(node: tuple[int, int]) -> tuple[int, int]:
        while parent[node] != node:
            node = parent[node]
        return node

    for run in range(len(models) - 1):
        match = compare_phases(models[run], models[run + 1], (names[run], names[run + 1]))
        if not match.alike:
            raise DataError(
                f"{names[run]} and {names[run + 1]} do not look like runs of one program (cost {match.cost:.2f}, up to "
                f"{ALIKE} do), so their phases cannot be matched; fit each separately"
            )
        for one, other in match.pairs:
            if one is None or other is None:
                continue
            together = [(run, phase) for phase in one.phases] + [(run + 1, phase) for phase in other.phases]
            for node in together[1:]:
                parent[root(node)] = root(together[0])
    groups = grouped((root(node), node) for node in parent)

    def place(node: tuple[int, int]) -> float:
        """Return where it lies in its run, as a share of the duration."""
        model, phase = models[node[0]], models[node[0]].phases[node[1]]
        return float((0.5 * (phase.start + phase.end) - model.start) / (model.end - model.start))

    result = []
    for nodes in sorted(groups.values(), key=lambda nodes: sum(map(place, nodes)) / len(nodes)):
        each = [[phase for of, phase in nodes if of == run] for run in range(len(models))]
        result.append([range(min(phases), max(phases) + 1) if phases else range(0) for phases in each])
    return result


def join_runs(
    parts: Iterable[tuple[Path, UtilizationCurve]], fields: Sequence[Mapping[str, Any]], name: str
) -> Measurements:
    """Return durations and processor times of the phases that several runs have in common.

    Each run is fitted separately, phases of neighbours are matched in their order, and a phase is called by its place:
    ``phase 1``. Several phases of one run count together where another has them as one.
    """
    reserved = {_PHASE, _DURATION, _PROCESSOR_TIME, _FILE} & set(fields[0])
    if reserved:
        raise OptionError(f"--from-name: the phases of runs have a column {reserved.pop()!r}; call the field otherwise")
    runs = list(parts)
    paths, curves = [path for path, _ in runs], [curve for _, curve in runs]
    run_fields, parameters = _with_processors(fields, curves, name)
    for k, (curve, each) in enumerate(zip(curves, run_fields, strict=True)):
        # The name of a file may say how many processors there are, where the file says none and it can be that.
        processors = each.get(parameters[0])
        if not curve.n_locations and processors and float(curve.heights.max()) <= processors:
            curves[k] = UtilizationCurve(
                curve.edges, curve.heights, curve.time_unit, n_locations=int(processors), source=curve.source
            )
    order = sorted(range(len(paths)), key=lambda k: [run_fields[k][parameter] for parameter in parameters])
    models = []
    with progress.bar("phases of runs", len(order)) as advance:
        for k in order:
            models.append(perfcore.fit(curves[k], fitter="phases"))
            advance(1)
    names = [str(paths[k]) for k in order]
    agreed = agreed_models(models, names, lambda k, n: perfcore.fit(curves[order[k]], fitter="phases", phases=n))
    if others := [of for of, (_, is_other) in zip(names, agreed, strict=True) if is_other]:
        progress.note(f"{name}: with as many phases as the other runs have: {listing(others, 3)}")
    groups = same_phases([model for model, _ in agreed], names)
    rows = [
        {
            _PHASE: f"phase {number}",
            **run_fields[k],
            _DURATION: side.duration * seconds,
            _PROCESSOR_TIME: side.processor_time * seconds,
            **({_FILE: run} if len(runs) > 1 else {}),
        }
        for number, group in enumerate(groups, 1)
        for (model, _), run, k, phases in zip(agreed, names, order, group, strict=True)
        if phases
        for side, seconds in [(side_of(model, phases), NANOSECONDS[model.time_unit] * 1e-9)]
    ]
    words = [field for field, value in fields[0].items() if isinstance(value, str) and not is_repetition(field)]
    return Measurements(
        pd.DataFrame(rows),
        {(column if "p" in parameters or number else "p"): column for number, column in enumerate(parameters)},
        _DURATION,
        code=[*words, _PHASE],
        unit="s",
        source=f"{name} ({len(paths)} runs)" if len(paths) > 1 else name,
    )


def _with_processors(
    fields: Sequence[Mapping[str, Any]], curves: Sequence[UtilizationCurve], name: str
) -> tuple[list[dict[str, Any]], list[str]]:
    """Return what is known of each run, with its number of processors, and the parameters, processors first."""
    numbers = [f for f, value in fields[0].items() if not isinstance(value, str) and not is_repetition(f)]
    run_fields = [dict(each) for each in fields]
    named = bool(guess_roles(numbers, set(numbers)).parameters)
    if not named and "p" not in run_fields[0] and all(curve.n_locations for curve in curves):
        for each, curve in zip(run_fields, curves, strict=True):
            each["p"] = curve.n_locations
        if not numbers or len({each["p"] for each in run_fields}) > 1:
            numbers = ["p", *numbers]
    if not numbers:
        raise OptionError(
            f"{name}: nothing says how many processors each run had; --from-name 'run_p{{p:int}}.csv' takes it from "
            "the names of the files"
        )
    processors = guess_roles(numbers, set(numbers)).parameters.values()
    return run_fields, sorted(numbers, key=lambda column: column not in processors)
