"""Markers of a trace by name: where they occur, which of them count, and what they are in a line each."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from perfcore.base.errors import OptionError, UnknownNameError
from perfcore.data.trace import Trace
from perfcore.data.units import readable

CUT = "cut_markers"  # of the facts of a part: positions of the markers that reach beyond it

_COUNTED = re.compile(r"(.*?\D)[#:\s_(\[]*(\d{1,9})[)\]\s]*")
_SAME = 0.5  # of a marker that lies within the one before: then both are one occurrence
_MOST_LINES = 12

Integers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Occurrences:
    """Where markers of one name are, in the order of time."""

    labels: tuple[str, ...]  # the name of each: of a family such as ``ProfilerStep`` those of its members
    starts: Integers
    ends: Integers
    cut: npt.NDArray[np.bool_]  # whether it reaches beyond the part of the run that the trace is

    def __len__(self) -> int:
        """How many there are."""
        return len(self.labels)


def families(names: Iterable[str]) -> dict[str, dict[int, str]]:
    """Names that count, such as ``step#1`` and ``step#2``: the members of each family by their numbers."""
    by_family: dict[str, dict[int, str]] = {}
    for name in names:
        if match := _COUNTED.fullmatch(name.strip()):
            by_family.setdefault(match[1].strip(" #:_([") or match[1], {})[int(match[2])] = name
    return by_family


def occurrences(trace: Trace, name: str) -> Occurrences:
    """Where the markers of a name are."""
    cut = frozenset(trace.facts.get(CUT, ()))
    spans: dict[str, list[tuple[int, int, bool]]] = {}
    for k, (marker, start, end) in enumerate(trace.markers):
        spans.setdefault(marker, []).append((start, end, k in cut))
    if name in spans:
        return _in_order({name: _merged(spans[name])})
    base, sign, number = name.rpartition("#")
    if sign and number.isdecimal() and base in spans:
        merged = _merged(spans[base])
        if not 1 <= int(number) <= len(merged):
            times = "once" if len(merged) == 1 else f"{len(merged)} times"
            raise OptionError(f"{trace.source}: marker {name!r}: {base!r} occurs {times}")
        return _in_order({name: [merged[int(number) - 1]]})
    if members := families(spans).get(name):
        return _in_order({member: _merged(spans[member]) for member in members.values()})
    if own_states := [name] if name in trace.states else list(families(trace.states).get(name, {}).values()):
        return _in_order({state: hull for state in own_states if (hull := _hull(trace, state))})
    candidates = [*spans, *families(spans)] or [*trace.states, *families(trace.states)]
    raise UnknownNameError(f"time or marker of {trace.source}", name, dict.fromkeys(candidates))


def _hull(trace: Trace, state: str) -> list[tuple[int, int, bool]]:
    in_state = trace.state == trace.states.index(state)
    return [(int(trace.start_ns[in_state].min()), int(trace.end_ns[in_state].max()), False)] if in_state.any() else []


def _merged(spans: Sequence[tuple[int, int, bool]]) -> list[tuple[int, int, bool]]:
    """Spans in the order of time, those as one of which more than half lies within the one before."""
    merged: list[tuple[int, int, bool]] = []
    for start, end, cut in sorted(spans):
        if merged and merged[-1][1] - start > _SAME * (end - start):
            first, last, before = merged[-1]
            merged[-1] = (first, max(last, end), cut or before)
        else:
            merged.append((start, end, cut))
    return merged


def _in_order(spans: Mapping[str, Sequence[tuple[int, int, bool]]]) -> Occurrences:
    rows = sorted((*span, name) for name, name_spans in spans.items() for span in name_spans)
    times = np.array([row[:2] for row in rows], dtype=np.int64).reshape(len(rows), 2)
    cut = np.array([row[2] for row in rows], dtype=bool)
    return Occurrences(tuple(row[3] for row in rows), times[:, 0], times[:, 1], cut)


def marker_lines(trace: Trace) -> list[str]:
    """What markers a trace has: name, number and mean duration; those that count as one, the longest in all first."""
    spans: dict[str, list[int]] = {}
    for name, start, end in trace.markers:
        spans.setdefault(name, []).append(end - start)
    lines: list[tuple[int, str]] = []
    for members in families(spans).values():
        if len(members) > 1:
            names = [members[number] for number in sorted(members)]
            lengths = [length for name in names for length in spans.pop(name)]
            lines.append((sum(lengths), _line(f"{names[0]} .. {names[-1]}", lengths)))
    lines += [(sum(lengths), _line(name, lengths)) for name, lengths in spans.items()]
    lines.sort(key=lambda each: -each[0])
    longest = [line for _, line in lines[:_MOST_LINES]]
    return longest if len(lines) <= _MOST_LINES else [*longest, f"... ({len(lines)} in all)"]


def _line(name: str, lengths: Sequence[int]) -> str:
    return f"{name} ({len(lengths)} x {readable(float(f'{sum(lengths) / len(lengths):.4g}'), 'ns')})"
