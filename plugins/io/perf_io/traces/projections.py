"""Projections traces of Charm++: entry methods of the processors, and when these were idle.

A trace is ``NAME.sts``, which names the entry methods, and logs ``NAME.0.log``, ... of the processors, also
compressed or in a tar archive. Time outside of entry methods and idle times belongs to the scheduler; messages,
packing and user events are counted. Times are microseconds.

Source: the tracer of Charm++ (``trace-projections.C``) and the "Projections manual", section on log files.
"""

from __future__ import annotations

import enum
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar, cast

from perf_io.text import parse_ns
from perf_io.traces.intervals import NestedStates, used_states
from perf_io.traces.several_files import anchor_file, holds, is_tar
from perfcore.base import progress
from perfcore.base.errors import InputError
from perfcore.data.trace import Trace
from perfcore.reading.source import COMPRESSED_ENDINGS, Reader, Source, without_compressed_ending

_SCHEDULER, _IDLE = "scheduler", "idle"
_HEADER = "PROJECTIONS-RECORD"
_SUMMARY = b"ver:"
_IDENTITY = b"PROJECTIONS_ID"  # the first line of newer versions
_LONGEST_LINE = 1 << 16
_MOST_PROCESSORS = 1 << 20
_LOGS = tuple(f".log{packed}" for packed in ("", *COMPRESSED_ENDINGS))
_LOG = re.compile(r"\.(\d{1,7})\.log")


class _Kind(enum.IntEnum):
    """Types of the records that are read."""

    BEGIN_ENTRY, END_ENTRY = 2, 3
    BEGIN_RUN, END_RUN = 6, 7
    BEGIN_TRACING, END_TRACING = 11, 12
    BEGIN_IDLE, END_IDLE = 14, 15


# Where a record has its time, counted from its type.
_TIME_AT = {kind: 3 if kind in (_Kind.BEGIN_ENTRY, _Kind.END_ENTRY) else 1 for kind in _Kind}


class ProjectionsReader(Reader):
    """Read entry methods of a Charm++ program linked with ``-tracemode projections``, in which a processor computes."""

    parts: ClassVar[tuple[str, ...]] = (".log", ".sum", ".sum.sts")

    def sniff(self, source: Source) -> float:
        """Nearly sure by the first words of the definitions, or by the names in an archive."""
        words = source.head.split(None, 300)
        if words[:1] in ([b"VERSION"], [_IDENTITY]) and {b"PROCESSORS", b"TOTAL_EPS"} <= set(words):
            return 0.95
        if words[:1] == [_HEADER.encode()] or (source.suffix == ".sum" and source.head.startswith(_SUMMARY)):
            return 0.6
        return 0.9 if holds(source, (b".sts", *(ending.encode() for ending in _LOGS))) else 0.0

    def read(self, source: Source, options: Any) -> Trace:
        if source.head.startswith((_HEADER.encode(), _SUMMARY)):
            kind = "summary" if source.head.startswith(_SUMMARY) else "log"
            raise InputError(source.name, f"is the {kind} of one processor; name the .sts file instead")
        with anchor_file(source, ".sts", _LOGS, "a Projections trace", never=".sum.sts") as anchor:
            name = f"{source.name}({anchor.name})" if is_tar(source) else source.name
            return _Run(anchor, source.name, name).trace()


class _Run:
    def __init__(self, anchor: Path, source: str, definitions: str) -> None:
        self._anchor, self._source, self._definitions = anchor, source, definitions
        self._states: dict[str, int] = {_SCHEDULER: 0, _IDLE: 1}
        self._entries: dict[int, int] = {}
        self._n_processors = 0
        self._passed_over: Counter[int] = Counter()
        self._single: Counter[int] = Counter()
        self._intervals = NestedStates(source, background=self._states[_SCHEDULER])

    def trace(self) -> Trace:
        self._define()
        logs = self._logs()
        with progress.bar(f"reading {self._source}", len(logs)) as advance:
            for processor, log in logs.items():
                self._read_log(processor, log)
                advance(1)
        self._intervals.finish()
        notes = [f"{count} records of type {kind} passed over" for kind, count in sorted(self._passed_over.items())]
        notes += [f"{count} ends of type {kind} without a begin" for kind, count in sorted(self._single.items())]
        if len(logs) < self._n_processors:
            notes.append(f"logs of {self._n_processors - len(logs)} of {self._n_processors} processors are missing")
        original = self._intervals.trace(
            [f"PE {processor}" for processor in self._intervals.locations], list(self._states), time_unit="us"
        )
        return used_states(original, notes=notes)

    def _define(self) -> None:
        """Number of processors, and names of entry methods with those of their classes."""
        chares: dict[str, str] = {}
        for number, line in _lines(self._anchor, self._definitions):
            match line.split():
                case ["PROCESSORS", count]:
                    if not count.isdecimal() or not 0 < int(count[:9]) <= _MOST_PROCESSORS:
                        raise InputError(self._definitions, f"{count[:20]!r} processors", line=number)
                    self._n_processors = int(count)
                case ["CHARE", code, name, *_]:
                    chares[code] = name.strip('"')
                case ["ENTRY", _, code, *name, chare, _]:
                    if not code.isdecimal() or len(code) > 9:
                        raise InputError(self._definitions, f"{code[:20]!r} is no number of an entry", line=number)
                    label = " ".join(name).strip('"')
                    label = f"{chares[chare]}::{label}" if chare in chares else label
                    self._entries[int(code)] = self._states.setdefault(label, len(self._states))
                case ["ENTRY", *_]:
                    raise InputError(self._definitions, "an entry method is cut short", line=number)
        if not self._n_processors:
            raise InputError(self._definitions, "does not say how many PROCESSORS there are; it is cut short")

    def _logs(self) -> dict[int, Path]:
        base = self._anchor.name.removesuffix(".sts")
        logs: dict[int, Path] = {}
        for path in self._anchor.parent.iterdir():
            name = without_compressed_ending(path.name)
            match = _LOG.fullmatch(name.removeprefix(base)) if name.startswith(base) else None
            if match and int(match[1]) < self._n_processors:
                logs.setdefault(int(match[1]), path)
        if not logs:
            raise InputError(self._source, f"there is no log of a processor next to it, such as {base}.0.log")
        return dict(sorted(logs.items()))

    def _read_log(self, processor: int, path: Path) -> None:
        name = f"{self._source}({path.name})"
        intervals = self._intervals
        lines = _lines(path, name)
        header = next(lines, (1, ""))[1].split()
        if header[:1] != [_HEADER] or "DELTA" in header:
            raise InputError(name, f"does not begin with {_HEADER}, or has differences of times", line=1)
        for number, line in lines:
            words = line.split()
            if not words:
                continue
            kind = int(words[0]) if words[0].isdecimal() and len(words[0]) < 9 else -1
            place = _TIME_AT.get(cast("_Kind", kind))
            if kind < 0:
                raise InputError(name, f"{words[0][:20]!r} is no type of a record", line=number)
            if place is None:
                self._passed_over[kind] += 1
                continue
            if len(words) <= place:
                raise InputError(name, f"record of type {kind} has {len(words)} fields; it is cut short", line=number)
            time = parse_ns(words[place], "us", name, number)
            inner = intervals.innermost(processor)
            match kind:
                case _Kind.BEGIN_RUN | _Kind.BEGIN_TRACING:
                    intervals.push(processor, self._states[_SCHEDULER], time, number)
                case _Kind.END_RUN | _Kind.END_TRACING:
                    intervals.clear(processor, time, number)
                case _Kind.BEGIN_IDLE:
                    intervals.push(processor, self._states[_IDLE], time, number)
                case _Kind.END_IDLE if inner == self._states[_IDLE]:
                    intervals.pop(processor, time, number)
                case _Kind.BEGIN_ENTRY:
                    intervals.push(processor, self._entry(words[2], name, number), time, number)
                case _Kind.END_ENTRY if inner == self._entry(words[2], name, number):
                    intervals.pop(processor, time, number)
                case _:  # programs that exit within an entry method end it twice
                    intervals.touch(processor, time, number)
                    self._single[kind] += 1

    def _entry(self, word: str, name: str, line: int) -> int:
        code = self._entries.get(int(word)) if word.isdecimal() and len(word) < 10 else None
        if code is None:
            raise InputError(name, f"entry {word[:20]!r} is not defined in {self._anchor.name}", line=line)
        return code


def _lines(path: Path, name: str) -> Iterator[tuple[int, str]]:
    """Yield lines with their numbers from 1, also of a compressed file."""
    try:
        with Source(path) as source:
            for number, line in source.lines(_LONGEST_LINE):
                yield number, line.decode(errors="replace")
    except InputError as error:  # the path may be that of a copy
        raise InputError(name, error.problem, line=error.line) from None
