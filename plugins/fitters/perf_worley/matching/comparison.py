"""Two runs phase by phase: durations, processor time and levels of the phases that are the same."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from perf_worley.matching.order_preserving import ALIKE, Shape, match_phases, unlike
from perf_worley.names.activity import Activity, joined
from perfcore.data.units import NANOSECONDS
from perfcore.results import Result

_NORMAL = 1.959964
_SAME_NAMES = 0.5  # up to which two runs may differ in what runs, that names tell which phases are the same
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(8)


class _HasPhases(Protocol):
    """What is asked here of a `perf_worley.phase_model.PhaseModel`, which compares itself by these functions."""

    @property
    def phases(self) -> Sequence[Any]: ...
    @property
    def time_unit(self) -> str: ...
    @property
    def start(self) -> float: ...
    @property
    def end(self) -> float: ...
    @property
    def n_locations(self) -> int | None: ...
    def evaluate(self, phase: Any, times: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]: ...


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
    """Two runs, phase by phase.

    Parameters
    ----------
    names : pair of str
    models : pair of PhaseModel
    time_unit : str
        Of all times here.
    pairs : tuple of pairs of Side or None
        The same phases of the first and the second run, in order; None where a phase has no partner.
    totals : pair of Side
        Both runs as wholes.
    cost : float
        How unlike they are in shape, see `perf_worley.matching.order_preserving.ALIKE`.
    by_name : bool or None
        Whether what runs in the phases took part; None where it is not known of both.
    """

    names: tuple[str, str]
    models: tuple[_HasPhases, _HasPhases]
    time_unit: str
    pairs: tuple[tuple[Side | None, Side | None], ...]
    totals: tuple[Side, Side]
    cost: float
    by_name: bool | None = None

    @property
    def alike(self) -> bool:
        """Whether these may be runs of one program; if not, the pairs say nothing."""
        return self.cost <= ALIKE

    def to_dict(self) -> dict[str, Any]:
        """Everything, JSON-ready."""
        return {
            "models": self.names,
            "time_unit": self.time_unit,
            "cost": self.cost,
            "alike": self.alike,
            "by_name": self.by_name,
            "total": [_facts(side) for side in self.totals],
            "phases": [[_facts(side) for side in pair] for pair in self.pairs] if self.alike else [],
        }


def compare_phases(one: _HasPhases, other: _HasPhases, names: tuple[str, str]) -> PhaseComparison:
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
    return PhaseComparison(
        names=names,
        models=models,
        time_unit=one.time_unit,
        pairs=tuple((_side(one, pair.first, factors[0]), _side(other, pair.second, factors[1])) for pair in pairs),
        totals=(
            _whole(one, factors[0]),
            _whole(other, factors[1]),
        ),
        cost=cost,
        by_name=by_name,
    )


def _activity(phases: Sequence[Any]) -> Activity | None:
    """What runs in some phases together; None where it is not known of all."""
    parts = [phase.activity for phase in phases]
    return joined(parts) if all(part is not None for part in parts) else None


def side_of(model: _HasPhases, phases: range) -> Side:
    """Some neighbouring phases of a run together, at least one; times in the model's unit."""
    side = _side(model, phases, 1.0)
    assert side is not None
    return side


def _mean(model: _HasPhases, begin: float, end: float) -> float:
    """Mean of the model over a stretch; exact for polynomials."""
    total = 0.0
    for phase in model.phases:
        low, high = max(begin, phase.start), min(end, phase.end)
        if low < high:
            inner = low + 0.5 * (high - low) * (_NODES + 1.0)
            total += float(model.evaluate(phase, inner) @ _WEIGHTS) * 0.5 * (high - low)
    return total / (end - begin)


def _shape_of(model: _HasPhases, scale: float, by_name: bool) -> Callable[[int, int], Shape]:
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


def _side(model: _HasPhases, phases: range, factor: float) -> Side | None:
    if not phases:
        return None
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
    return Side(
        phases,
        (end - begin) * factor,
        level * (end - begin) * factor,
        level,
        duration_within,
        level_within,
        _activity(chosen),
    )


def _whole(model: _HasPhases, factor: float) -> Side:
    side = _side(model, range(len(model.phases)), factor)
    assert side is not None
    return side


def _facts(side: Side | None) -> dict[str, Any] | None:
    if side is None:
        return None
    return {
        "phases": [number + 1 for number in side.phases],
        "duration": side.duration,
        "duration_within": side.duration_within,
        "processor_time": side.processor_time,
        "level": side.level,
        "level_within": side.level_within,
        "what_runs": None if side.activity is None else side.activity.name,
    }
