"""Parts of a run: between times or markers, and only some of its locations and states."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from perf_traces.joined_trace import positions, run_of
from perf_traces.nesting import Columns, merged_states
from perf_traces.options import CurveOptions, TraceOptions
from perf_traces.states import matches
from perfcore.base import grouped, progress
from perfcore.base.arrays import Booleans, Ints
from perfcore.base.errors import DataError, OptionError, UnknownNameError, listing
from perfcore.data.curve import UtilizationCurve
from perfcore.data.trace import Trace
from perfcore.data.units import LABELS, nanoseconds_per, readable, same_unit, seconds_per, shown_origin

CUT = "cut_markers"  # of the facts of a part: positions of the markers that reach beyond it

_COUNTED = re.compile(r"(.*?\D)[#:\s_(\[]*(\d{1,9})[)\]\s]*")
_SAME = 0.5  # of a marker that lies within the one before: then both are one occurrence
_MOST_LINES = 12

# An exponent of more digits is no time, and takes a Fraction very long.
_AMOUNT = re.compile(r"\s*([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,3})?)\s*([^\d\s].*?|)\s*")
_KINDS = ("location", "state")
_EVER = (-(1 << 63), (1 << 63) - 1)
_FACTS = ("time_unit", "busy_states", "span_ns", "source", "notes", "markers", "levels", "facts")
_LONGEST_NAME = 60  # in a message
Moment = str | float | None
_Time = int | Fraction


@dataclass(frozen=True)
class Occurrences:
    """Where markers of one name are, in the order of time."""

    labels: tuple[str, ...]  # the name of each: of a family such as ``ProfilerStep`` those of its members
    starts: Ints
    ends: Ints
    cut: Booleans  # whether it reaches beyond the part of the run that the trace is

    def __len__(self) -> int:
        return len(self.labels)


def families(names: Iterable[str]) -> dict[str, dict[int, str]]:
    """Return names that count, such as ``step#1`` and ``step#2``: the members of each family by their numbers."""
    by_family: dict[str, dict[int, str]] = {}
    for name in names:
        if match := _COUNTED.fullmatch(name.strip()):
            by_family.setdefault(match[1].strip(" #:_([") or match[1], {})[int(match[2])] = name
    return by_family


def occurrences(trace: Trace, name: str) -> Occurrences:
    """Return where the markers of a name are."""
    cut = frozenset(trace.facts.get(CUT, ()))
    spans = grouped((marker, (start, end, k in cut)) for k, (marker, start, end) in enumerate(trace.markers))
    if name in spans:
        return _in_order({name: merged_spans(spans[name])})
    base, sign, number = name.rpartition("#")
    if sign and number.isdecimal() and base in spans:
        merged = merged_spans(spans[base])
        if not 1 <= int(number) <= len(merged):
            times = "once" if len(merged) == 1 else f"{len(merged)} times"
            raise OptionError(f"{trace.source}: marker {name!r}: {base!r} occurs {times}")
        return _in_order({name: [merged[int(number) - 1]]})
    if members := families(spans).get(name):
        return _in_order({member: merged_spans(spans[member]) for member in members.values()})
    if own_states := [name] if name in trace.states else list(families(trace.states).get(name, {}).values()):
        hulls: dict[str, list[tuple[int, int, bool]]] = {}
        for state in own_states:
            rows = np.flatnonzero(trace.state == trace.states.index(state))
            if len(rows):
                hulls[state] = [(int(trace.start_ns[rows].min()), int(trace.end_ns[rows].max()), False)]
        return _in_order(hulls)
    candidates = [*spans, *families(spans)] or [*trace.states, *families(trace.states)]
    raise UnknownNameError(f"time or marker of {trace.source}", name, dict.fromkeys(candidates))


def merged_spans(spans: Sequence[tuple[int, int, bool]]) -> list[tuple[int, int, bool]]:
    """Return spans in the order of time, those as one of which more than half lies within the one before."""
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
    """Return name, number and mean duration of markers; those that count as one, the longest in all first."""
    spans = grouped((name, end - start) for name, start, end in trace.markers)
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


def wanted_part(data: Any, options: CurveOptions) -> Any:
    """Return the part of a trace or a curve that options ask for; a note says which it is."""
    if isinstance(options, TraceOptions):
        part: Any = part_of(data, since=options.since, until=options.until, region=options.region, only=options.only)
    else:
        part = part_of_curve(data, since=options.since, until=options.until)
    if part is not data and (notes := part.notes[len(data.notes) :]):
        progress.note(f"{data.source}: {'; '.join(notes)}")
    return part


def part_of(
    trace: Trace,
    *,
    since: Moment = None,
    until: Moment = None,
    region: str | None = None,
    only: str | Sequence[str] = (),
) -> Trace:
    """Return a part of a run."""
    patterns = (only,) if isinstance(only, str) else tuple(only)
    if since is None and until is None and region is None and not patterns:
        return trace
    if region is not None and not (since is None and until is None):
        raise OptionError("--region says both where the part begins and where it ends: leave out --from and --to")
    run = run_of(trace)
    since, until = (since, until) if region is None else (region, region)
    first, last, span_text = _window(trace, run, since, until)
    (locations, states), words, notes = _chosen(trace, patterns)
    if (first, last) != run:
        words.insert(0, span_text)
        notes.insert(0, f"part of the run: {span_text}, {(last - first) / (run[1] - run[0]):.1%} of it")
    # Before the first state and after the last one, markers may go on; there they are not cut.
    low, high = (first if first > run[0] else _EVER[0]), (last if last < run[1] else _EVER[1])
    markers = [
        (k, (name, max(start, low), min(end, high)), start < low or end > high)
        for k, (name, start, end) in enumerate(trace.markers)
        if (start < high and end > low) or low <= start == end < high
    ]
    cut_before, busy = frozenset(trace.facts.get(CUT, ())), frozenset(trace.busy_states)
    facts: dict[str, Any] = {
        "time_unit": trace.time_unit,
        "busy_states": [trace.states[k] for k in states if trace.states[k] in busy],
        "span_ns": (first, last),
        "source": f"{trace.source} [{', '.join(words)}]" if words else trace.source,
        "notes": (*trace.notes, *notes),
        "markers": [marker for _, marker, _ in markers],
        "levels": {name: [values[k] for k in locations] for name, values in trace.levels.items()},
        "facts": {**trace.facts, CUT: [new for new, (k, _, cut) in enumerate(markers) if cut or k in cut_before]},
    }
    stop = last + (last == run[1])  # what has no duration at the very end belongs to the last part
    part = cut_trace(trace, first, stop, locations, states, facts)
    if part is None or not part.n_intervals:
        subject = f"nothing of {listing(patterns, 6)} is" if patterns else "no location is in any state"
        raise DataError(f"{trace.source}: {subject} in the part {span_text}")
    return part


def part_of_curve(curve: UtilizationCurve, *, since: Moment = None, until: Moment = None) -> UtilizationCurve:
    """Return a part of a curve; times as for `part_of`."""
    if since is None and until is None:
        return curve
    factor = nanoseconds_per(curve.time_unit)
    run = round(Fraction(curve.start) * factor), round(Fraction(curve.end) * factor)
    first, last, span_text = _window(curve, run, since, until)
    begin = curve.start if first == run[0] else first / factor
    end = curve.end if last == run[1] else last / factor
    inner = curve.edges[(curve.edges > begin) & (curve.edges < end)]
    steps = np.searchsorted(curve.edges, [begin, *inner.tolist()], side="right") - 1
    note = f"part of the run: {span_text}, {(last - first) / (run[1] - run[0]):.1%} of it"
    return UtilizationCurve(
        np.concatenate([[begin], inner, [end]]), curve.heights[steps], curve.time_unit, n_locations=curve.n_locations,
        quantity=curve.quantity, source=f"{curve.source} [{span_text}]", notes=(*curve.notes, note),
    )  # fmt: skip


def cut_trace(
    trace: Trace, first: int, stop: int, locations: Sequence[int], states: Sequence[int], facts: dict[str, Any]
) -> Trace | None:
    """Return the intervals that begin before ``stop`` and end after ``first``; None if there are none."""
    cut_method: Callable[..., Trace | None] | None = getattr(trace, "cut", None)
    if cut_method is not None:  # of one whose intervals are not in memory
        return cut_method(first, stop, locations, states, **facts)
    location = positions(locations, len(trace.locations))[trace.location]
    state = positions(states, len(trace.states))[trace.state]
    inside = (trace.start_ns < stop) & ((trace.end_ns > first) | (trace.start_ns >= first))
    inside &= (location >= 0) & (state >= 0)
    if not inside.any():
        return None
    times = np.maximum(trace.start_ns[inside], first), np.minimum(trace.end_ns[inside], facts["span_ns"][1])
    names = [trace.locations[k] for k in locations], [trace.states[k] for k in states]
    return Trace(location[inside], state[inside], *times, *names, **facts)


def with_intervals(trace: Trace, columns: Sequence[npt.NDArray[Any]], **changes: Any) -> Trace:
    """Return a trace with other intervals; ``changes`` are the facts that differ, such as ``states``."""
    names = changes.pop("locations", trace.locations), changes.pop("states", trace.states)
    facts = {name: getattr(trace, name) for name in _FACTS}
    location, state, start, end = columns
    return Trace(location, state, start, end, *names, **{**facts, **changes})


def overlaid(trace: Trace, columns: Columns, states: Sequence[str]) -> Trace:
    """Return a trace in which further states replace its own, except computing ones."""
    n, n_own = len(trace.locations), len(trace.states)
    # What is added lies next to each location as another one, with which it is merged.
    added = columns[0] + np.int32(n), columns[1] + np.int32(n_own), columns[2], columns[3]
    own: Columns = (trace.location, trace.state, trace.start_ns, trace.end_ns)
    location, state, start, end = (np.concatenate([one, other]) for one, other in zip(own, added, strict=True))
    busy = frozenset(trace.busy_states)
    rank = np.array([*(0 if name in busy else 2 for name in trace.states), *[1] * len(states)])
    merged = merged_states(location, state, start, end, place=np.tile(np.arange(n), 2), rank=rank)
    return with_intervals(trace, merged, states=(*trace.states, *states))


def _chosen(trace: Trace, patterns: Sequence[str]) -> tuple[list[list[int]], list[str], list[str]]:
    """Return positions of locations and states that fit, how many in words, and these with the patterns."""
    names: list[list[tuple[str, ...]]] = [
        [(name, *(values[k] for values in trace.levels.values())) for k, name in enumerate(trace.locations)],
        [(name,) for name in trace.states],
    ]
    found: tuple[dict[str, set[int]], dict[str, set[int]]] = ({}, {})
    for text in patterns:
        kind, sign, name_pattern = text.partition(":")
        kinds = [_KINDS.index(kind)] if sign and kind in _KINDS else [0, 1]
        pattern = name_pattern if len(kinds) == 1 else text
        for which in kinds:
            if fitting := {k for k, entry in enumerate(names[which]) if any(matches(name, pattern) for name in entry)}:
                found[which][pattern] = fitting
                break
        else:
            known = (name for which in kinds for entry in names[which] for name in entry if name)
            most = _LONGEST_NAME
            candidates = [name if len(name) <= most else f"{name[: most - 3]}..." for name in dict.fromkeys(known)]
            hint = str(UnknownNameError("name", pattern.strip("*?"), candidates)).partition(": ")[2]
            kinds_text = " or ".join(_KINDS[which] for which in kinds)
            raise OptionError(f"{trace.source}: --only {text!r} fits no {kinds_text}: {hint}")
    chosen = [
        sorted(set().union(*fitting.values())) if fitting else list(range(len(entries)))
        for fitting, entries in zip(found, names, strict=True)
    ]
    fits = [(f"{len(chosen[k])} of {len(names[k])} {_KINDS[k]}s", found[k]) for k in (0, 1) if found[k]]
    return chosen, [words for words, _ in fits], [f"only {words} ({listing(used, 6)})" for words, used in fits]


def ends_of(data: Trace | UtilizationCurve, name: str) -> tuple[int, int]:
    """Return the start of the first and the end of the last marker of a name."""
    if isinstance(data, Trace):
        marks = occurrences(data, name)
        return int(marks.starts.min()), int(marks.ends.max())
    raise OptionError(
        f"{data.source}: {name!r} is no time, such as 1.5s, 10% or a number of {data.time_unit}; markers are those "
        "of traces"
    )


def _window(data: Trace | UtilizationCurve, run: tuple[int, int], since: Moment, until: Moment) -> tuple[int, int, str]:
    """Return the part as nanoseconds, within the run, and in words."""
    first, last = map(round, stretch_ns(since, until, run, data.time_unit, functools.partial(ends_of, data)))
    origin = shown_origin(*run)
    begin, end, start, stop = (readable(moment - origin, "ns") for moment in (first, last, *run))
    if first >= run[1] or last <= run[0]:
        raise OptionError(f"{data.source}: the part from {begin} to {end} lies outside of the run, {start} to {stop}")
    if last <= first:
        empty = f"is empty: it begins and ends at {begin}"
        reason = empty if last == first else f"ends at {end}, before it begins at {begin}"
        raise OptionError(f"{data.source}: the part {reason}")
    first, last = max(first, run[0]), min(last, run[1])
    return first, last, " .. ".join(readable(time - (round(origin) and run[0]), "ns") for time in (first, last))


def stretch_ns(
    since: Moment, until: Moment, run: tuple[_Time, _Time], time_unit: str, ends_of: Callable[[str], tuple[int, int]]
) -> tuple[Fraction, Fraction]:
    """Return a part as users write it, on the clock of the run; also one that is empty, or beyond the run."""
    first = Fraction(run[0]) if since is None else _moment(since, run, time_unit, lambda name: ends_of(name)[0])
    last = Fraction(run[1]) if until is None else _moment(until, run, time_unit, lambda name: ends_of(name)[1])
    return first, last


def _moment(moment: str | float, run: tuple[_Time, _Time], time_unit: str, marked: Callable[[str], int]) -> Fraction:
    origin = Fraction(run[0]) if shown_origin(float(run[0]), float(run[1])) else Fraction(0)
    if not isinstance(moment, str):
        return origin + Fraction(moment) * nanoseconds_per(time_unit)
    match = _AMOUNT.fullmatch(moment)
    if match is None:
        return Fraction(marked(moment))
    amount, unit = Fraction(match[1]), match[2]
    if unit == "%":
        return run[0] + amount * (run[1] - run[0]) / 100
    if unit and seconds_per(unit) is None:
        return Fraction(marked(moment))
    return origin + amount * Fraction(LABELS[same_unit(unit) if unit else time_unit][1]) * 10**9


def moment_text(time_ns: float) -> str:
    """Return a time as `stretch_ns` takes it, in the largest unit that keeps it at least 1."""
    unit = next((name for name in ("s", "ms", "us") if abs(time_ns) >= nanoseconds_per(name)), "ns" if time_ns else "s")
    return f"{time_ns / nanoseconds_per(unit):.14g}{unit}"


def model_edges(model: Any) -> list[int]:
    """Return where the phases of a model begin and end."""
    phases = getattr(model, "phases", None)
    if not phases:
        raise DataError(
            f"{model.origin.source}: the model of {model.origin.fitter} has no phases; `perf fit TRACE "
            "--fitter phases -o model.json` makes one"
        )
    factor = nanoseconds_per(model.time_unit)
    return [round(phases[0].start * factor), *(round(phase.end * factor) for phase in phases)]
