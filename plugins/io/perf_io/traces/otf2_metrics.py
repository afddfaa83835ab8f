"""Hardware counters of an OTF2 trace: which metrics count something, and their readings, in a pass of their own.

A metric event holds a value for each member of its class. An **accumulated** value is a running total, a **relative**
one what was counted since the last event, or until the next one where the mode says so; an **absolute** one is a
running total where PAPI counts, and else a gauge such as a temperature, which is left out. A value counts in units of
``base ** exponent``. A total since the start counts from zero, any other from its first reading.

Source: the reference manual of OTF2 3, ``OTF2_MetricMode`` and ``OTF2_MetricType``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import otf2  # type: ignore[import-untyped]

from perf_traces.messages.bursts import CYCLES, INSTRUCTIONS, Readings
from perfcore.base.errors import DataError

_LARGEST_EXPONENT = 18  # 10 to it is nearly what 64 bits hold
_LARGEST = 1 << 62
_PRESET = "PAPI_"
# What Score-P calls the counters of the operating system's perf.
_SAME = {"instructions": INSTRUCTIONS, "cycles": CYCLES, "cpu-cycles": CYCLES}
_MODE = otf2.MetricMode
_FROM_ZERO = (_MODE.ACCUMULATED_START,)
_TOTALS = (*_FROM_ZERO, _MODE.ACCUMULATED_POINT, _MODE.ACCUMULATED_LAST, _MODE.ACCUMULATED_NEXT)
_RELATIVE = (_MODE.RELATIVE_POINT, _MODE.RELATIVE_LAST, _MODE.RELATIVE_NEXT)


@dataclass(frozen=True)
class _Member:
    """A counter among the values of a metric event."""

    name: str
    position: int  # among the values
    field: str  # of the union that holds a value
    base: int
    exponent: int
    is_total: bool  # running total, counted from zero; counted until the next event
    from_zero: bool
    of_next: bool

    def scaled(self, value: Any) -> int:
        """The value as a whole number; a part of one is rounded."""
        if isinstance(value, float):
            number = round(value * float(self.base) ** self.exponent)
        elif self.exponent >= 0:
            number = int(value) * self.base**self.exponent
        else:
            unit = self.base**-self.exponent
            number = (2 * int(value) + unit) // (2 * unit)
        if not -_LARGEST < number < _LARGEST:
            raise OverflowError
        return number


@dataclass(frozen=True)
class Metrics:
    """Metrics that count, by the number of their events' metric."""

    names: tuple[str, ...]  # of the counters; those of perf's are called as PAPI calls them
    members: Mapping[int, tuple[_Member, ...]]
    scopes: Mapping[int, int]  # location that a metric is of, where it is another than the one that writes it

    def recorder(self, names: Sequence[str], source: str) -> MetricRecorder:
        """Takes the events."""
        chosen = {key: [each for each in members if each.name in names] for key, members in self.members.items()}
        return MetricRecorder(chosen, self.scopes, source)


class MetricRecorder:
    """Takes metric events of one location after the other."""

    def __init__(self, members: Mapping[int, Sequence[_Member]], scopes: Mapping[int, int], source: str) -> None:
        self._members, self._scopes, self._source = members, scopes, source
        self._taken: dict[tuple[_Member, int], list[tuple[int, int]]] = {}

    def take(self, location: int, tick: int, metric: int, values: Sequence[Any]) -> None:
        """One event; of a value only what its member is taken."""
        place = self._scopes.get(metric, location)
        for member in self._members.get(metric, ()):
            if member.position >= len(values) or place < 0:
                continue
            try:
                value = member.scaled(getattr(values[member.position], member.field))
            except (ValueError, OverflowError):
                raise DataError(
                    f"{self._source}: {member.name} has a value at tick {tick} that 64 bits do not hold"
                ) from None
            self._taken.setdefault((member, place), []).append((tick, value))

    def readings(
        self, names: Sequence[str], codes: Mapping[int, int], nanoseconds: Callable[[int], int]
    ) -> dict[str, Readings]:
        """What was taken, by name."""
        rows: dict[str, list[tuple[int, int, int]]] = {name: [] for name in names}
        for (member, place), events in self._taken.items():
            if place in codes:
                rows[member.name] += [
                    (codes[place], nanoseconds(tick), value) for tick, value in self._counted(member, events)
                ]
        by_name = {}
        for name, columns in rows.items():
            table = np.array(columns, np.int64).reshape(-1, 3)
            moments, inverse = np.unique(table[:, :2], axis=0, return_inverse=True)
            value = np.zeros(len(moments), np.int64)
            np.add.at(value, inverse.reshape(-1), table[:, 2])
            by_name[name] = Readings(moments[:, 0], moments[:, 1], value, every=True)
        return by_name

    def _counted(self, member: _Member, events: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
        """What was counted until each event since the one before it."""
        if member.of_next:
            return [(tick, value) for (tick, _), (_, value) in zip(events[1:], events, strict=False)]
        if not member.is_total:
            return list(events)
        counts, before = [], 0 if member.from_zero else events[0][1]
        for tick, value in events:
            if value < before:
                raise DataError(
                    f"{self._source}: {member.name} falls from {before} to {value} at tick {tick}, and a running total "
                    "never does; what was counted is not known"
                )
            counts.append((tick, value - before))
            before = value
        return counts


def metrics_of(definitions: Any) -> Metrics:
    """The metrics of an archive that count something."""
    members, scopes = {}, {}
    for metric in definitions.metric_classes:
        members[int(metric._ref)] = _members(metric)
    for metric in definitions.metric_instances:
        members[int(metric._ref)] = _members(metric.metric_class)
        scopes[int(metric._ref)] = int(metric.scope._ref) if isinstance(metric.scope, otf2.definitions.Location) else -1
    names = dict.fromkeys(each.name for metric_members in members.values() for each in metric_members)
    return Metrics(tuple(names), members, scopes)


def _members(metric: Any) -> tuple[_Member, ...]:
    fields = {
        otf2.Type.UINT64: "unsigned_int",
        otf2.Type.INT64: "signed_int",
        otf2.Type.DOUBLE: "floating_point",
    }
    members = []
    for position, member in enumerate(metric.members):
        name, mode = str(member.name), member.metric_mode
        is_total = mode in _TOTALS or (mode not in _RELATIVE and name.startswith(_PRESET))
        exponent, field = int(member.exponent), fields.get(member.value_type)
        if (is_total or mode in _RELATIVE) and abs(exponent) <= _LARGEST_EXPONENT and field is not None:
            base = 10 if member.base == otf2.Base.DECIMAL else 2
            members.append(
                _Member(
                    _SAME.get(name, name), position, field, base, exponent, is_total,
                    mode in _FROM_ZERO, mode == _MODE.RELATIVE_NEXT,
                )
            )  # fmt: skip
    return tuple(members)
