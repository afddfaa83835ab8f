"""Seconds of the phases that several runs have in common, matched by the models themselves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from perf_gate.parts.table import LEAST_SHARE, WHOLE, PartTimes
from perfcore.base.errors import DataError
from perfcore.data.units import NANOSECONDS
from perfcore.models.model import Model

__all__ = ["phase_times"]


def phase_times(first: Sequence[Model], second: Sequence[Model]) -> PartTimes:
    """Match the phases of all runs with those of the first one.

    Phases that one run joins are joined in all, so that a part is the same stretch of the program in each.

    Parameters
    ----------
    first, second : sequence of Model
        Of one kind, which compares itself (`perfcore.Model.compared_with`) by parts with durations.

    Raises
    ------
    DataError
        The models don't match their parts.
    """
    models = [*first, *second]
    compared = [_compared(models[0], model) for model in models]
    places = [f"run {k + 1} of the first version" for k in range(len(first))]
    places += [f"run {k + 1} of the second version" for k in range(len(second))]
    unlike = [place for place, each in zip(places, compared, strict=True) if not each["alike"]]
    if unlike:
        wholes = [{WHOLE: _seconds(each["total"][1], each)} for each in compared]
        return PartTimes(
            "phase", wholes[: len(first)], wholes[len(first) :], tuple(f"phases of {place}" for place in unlike)
        )
    groups = _groups(compared)
    names = {number: _name(group) for group in groups for number in group}
    runs, alone = [], []
    for place, each in zip(places, compared, strict=True):
        total = _seconds(each["total"][1], each)
        seconds: dict[str, float] = {WHOLE: total}
        for one, other in each["phases"]:
            if other is not None and one is None and _seconds(other, each) >= LEAST_SHARE * total:
                alone.append(f"{_name(other['phases'])} of {place}")
            if one is not None and other is not None:
                name = names[one["phases"][0]]
                seconds[name] = seconds.get(name, 0.0) + _seconds(other, each)
        runs.append(seconds)
    return PartTimes("phase", runs[: len(first)], runs[len(first) :], tuple(alone))


def _compared(one: Model, other: Model) -> Mapping[str, Any]:
    comparison: Any = one.compared_with(other, ("first", "this"))
    content = None if comparison is None else comparison.to_dict()
    if content is None or not {"alike", "total", "phases", "time_unit"} <= set(content):
        raise DataError(
            f"models of the kinds {one.kind!r} and {other.kind!r} have no phases to match; `perf compare --fail-if` "
            "judges laws"
        )
    return content  # type: ignore[no-any-return]


def _groups(compared: Sequence[Mapping[str, Any]]) -> list[list[int]]:
    """Phases of the first run, joined where any run has them joined."""
    joined: list[set[int]] = []
    for each in compared:
        for one, _ in each["phases"]:
            if one is None:
                continue
            new = set(one["phases"])
            for group in [group for group in joined if group & new]:
                joined.remove(group)
                new |= group
            joined.append(new)
    return sorted(sorted(group) for group in joined)


def _name(numbers: Sequence[int]) -> str:
    """Which phases of the first run these are.

    Examples
    --------
    >>> _name([2]), _name([3, 4, 5])
    ('phase 2', 'phase 3-5')
    """
    return f"phase {numbers[0]}" + (f"-{numbers[-1]}" if len(numbers) > 1 else "")


def _seconds(side: Mapping[str, Any], compared: Mapping[str, Any]) -> float:
    return float(side["duration"]) * NANOSECONDS[compared["time_unit"]] / NANOSECONDS["s"]
