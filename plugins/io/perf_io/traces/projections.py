"""Projections traces of Charm++: entry methods of the processors, and when these were idle.

A trace is ``NAME.sts``, which names the entry methods, and ``NAME.0.log``, ``NAME.1.log``, ... of the processors, also
compressed; a tar archive of them is read too. Read are the records BEGIN_COMPUTATION and END_COMPUTATION (6, 7), the
begin and end of entry methods (2, 3), of idle times (14, 15) and of tracing (11, 12); what is left of the time belongs
to the scheduler. Messages are those that are created (1), broadcast (20) and sent to several (21), and begin an entry
method (`perf_io.traces.projections`). Other records (packing, user events) are counted and passed over. Times
are microseconds.

Source: the tracer of Charm++ (``trace-projections.C``) and the "Projections manual", section on log files.
"""

from __future__ import annotations

import enum
import re
from array import array
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar, cast

import numpy as np
import numpy.typing as npt

from perf_io.shared.times import parse_ns
from perf_io.traces.nested_states import NestedStates
from perf_io.traces.several_files import anchor_file, holds, is_tar
from perf_io.traces.used_states import used_states
from perf_traces.messages.communication import NO_COLLECTIVES, Calls, Communication, Messages, carry
from perfcore.base import progress
from perfcore.base.errors import InputError, listing
from perfcore.contracts import Reader
from perfcore.data.trace import Trace
from perfcore.reading.compression import COMPRESSED_ENDINGS, without_compressed_ending
from perfcore.reading.source import Source

# Messages of a Charm++ program, taken while the logs of Projections are read.
#
# A message is sent where a processor creates it, and received where another one, or the same, first begins an entry
# method by it. Both records have the processor and the number of the creation. The runtime system forwards a message
# to
# other entry methods as it is, so that these may differ as long as the bytes do not; a thread that goes on, and
# further
# elements of an array on the same processor, begin by a message that is there already. A begin without a message
# names
# number 0.
#
# Source: the tracer of Charm++ (``trace-projections.C``), records CREATION, CREATION_BCAST, CREATION_MULTICAST and
# BEGIN_PROCESSING.

_WITHOUT_MESSAGE = 0  # the number that a begin names which no message causes; it is also that of the first creation
_NOT_REPLAYED = (
    "a Charm++ scheduler takes messages in the order in which they come, and another network or other computation "
    "gives another order"
)
_MOST_NAMED = 4

Integers = npt.NDArray[np.int64]


class ProjectionsMessages:
    """Takes creations and begins of all processors, in 48 bytes each."""

    def __init__(self, n_processors: int) -> None:
        self._n_processors = n_processors
        self._created, self._begun = array("q"), array("q")
        self._damaged = 0
        self._strangers: dict[int, int] = {}
        self._ends: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self._begun) // 6

    def end(self, processor: int, time: int) -> None:
        """A processor was still in its states."""
        self._ends[processor] = max(time, self._ends.get(processor, time))

    def create(self, processor: int, entry: int, time: int, words: Sequence[str]) -> None:
        """A message is created; ``words`` are event, processor, bytes and so on."""
        numbers = _numbers(words, 3)
        if numbers is None:
            self._damaged += 1
            return
        event, _, size = numbers
        self._created.extend((processor, event, entry, time, size, 0))

    def multicast(self, words: Sequence[str]) -> None:
        """Those to whom one that was created goes; ``words`` are how many, and their numbers."""
        for word in words[1:]:
            if word.isdecimal() and int(word[:9]) >= self._n_processors:
                self._strange(int(word[:9]))

    def begin(self, processor: int, entry: int, time: int, words: Sequence[str]) -> None:
        """An entry method begins; ``words`` are event, processor that created the message, and bytes."""
        numbers = _numbers(words, 3)
        if numbers is None:
            self._damaged += 1
            return
        event, source, size = numbers
        if 0 <= source < self._n_processors:
            self._begun.extend((source, event, entry, time, size, processor))
        elif source >= 0 and event != _WITHOUT_MESSAGE:
            self._strange(source)

    def _strange(self, processor: int) -> None:
        self._strangers[processor] = self._strangers.get(processor, 0) + 1

    def communication(
        self,
        processors: Sequence[int],
        locations: Sequence[str],
        entries: Sequence[str],
        span_ns: tuple[int, int],
        source: str,
    ) -> Communication:
        """All messages."""
        place = np.full(self._n_processors, -1, np.int64)
        place[list(processors)] = np.arange(len(processors))
        created = np.array(self._created, np.int64).reshape(-1, 6)
        begun = np.array(self._begun, np.int64).reshape(-1, 6)
        created, n_again = _first_of_each(created, created[:, :2])
        sent, received = _joined(created, begun)
        begun, _ = _first_of_each(begun[received], np.column_stack([begun[received, :2], begun[received, 5]]), sent)
        sent, begun = begun[:, -1], begun[:, :-1]
        n_created, n_entries = len(created), len(entries)
        # A call is a moment: of each message that is created, then of each that begins an entry method.
        location = place[np.concatenate([created[:, 0], begun[:, 5]])]
        time = np.concatenate([created[:, 3], begun[:, 3]])
        operation = np.concatenate([created[:, 2], begun[:, 2] + n_entries])
        order = np.lexsort((time, location))
        new = np.empty(len(order), np.int64)
        new[order] = np.arange(len(order))
        used, codes = np.unique(operation[order], return_inverse=True)
        names = tuple(
            f"{'begin' if code >= n_entries else 'send'} {entries[code % n_entries]}" for code in used.tolist()
        )
        calls = Calls(
            location[order].astype(np.int32), time[order], time[order], codes.reshape(-1).astype(np.int32), names
        )
        first, last = new[sent], new[n_created + np.arange(len(begun))]
        created = created[sent]
        messages = Messages(
            first, first, last, last, created[:, 4], created[:, 2], np.zeros(len(sent), np.int64), created[:, 3],
            created[:, 3], begun[:, 3], begun[:, 3],
        )  # fmt: skip
        ends = np.array([min(self._ends[processor], span_ns[1]) for processor in processors], np.int64)
        n_lost = n_created - len(np.unique(sent))
        unmatched = {
            "messages were sent and not received in the logs": n_lost,
            "records of messages have no numbers, and are left out": self._damaged,
            "messages have the number of one before, and are left out": n_again,
            f"events of messages name processors that do not exist{self._named()}": sum(self._strangers.values()),
        }
        return Communication(
            tuple(locations), span_ns[0], ends, calls, messages, NO_COLLECTIVES, unmatched, source, _NOT_REPLAYED
        )

    def _named(self) -> str:
        return f" ({listing([f'PE {number}' for number in sorted(self._strangers)], _MOST_NAMED)})"


def _numbers(words: Sequence[str], count: int) -> tuple[int, ...] | None:
    """The first words as whole numbers; None where they are none, or beyond 62 bits."""
    try:
        numbers = tuple(int(word) for word in words[:count] if len(word) < 19)
    except ValueError:
        return None
    return numbers if len(numbers) == count and numbers[-1] >= 0 else None


def _first_of_each(rows: Integers, keys: Integers, *more: Integers) -> tuple[Integers, int]:
    """The rows whose key no row before has, with more columns; and how many others there are."""
    rows = np.column_stack([rows, *more]) if more else rows
    if not len(rows):
        return rows, 0
    order = np.lexsort((rows[:, 3], *keys.T[::-1]))
    ordered = keys[order]
    first = np.concatenate([[True], (ordered[1:] != ordered[:-1]).any(axis=1)])
    return rows[np.sort(order[first])], int((~first).sum())


def _joined(created: Integers, begun: Integers) -> tuple[Integers, Integers]:
    """Rows of creations and of begins that are of one message."""
    if not len(created) or not len(begun):
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    both = np.concatenate([created[:, :2], begun[:, :2]])
    _, code = np.unique(both, axis=0, return_inverse=True)
    code = code.reshape(-1)
    row_of_code = np.full(int(code.max()) + 1, -1, np.int64)
    row_of_code[code[: len(created)]] = np.arange(len(created))
    sent = row_of_code[code[len(created) :]]
    has_creation = sent >= 0
    same_entry = created[sent, 2] == begun[:, 2]
    same_bytes = (created[sent, 4] == begun[:, 4]) & (begun[:, 1] != _WITHOUT_MESSAGE)
    received = np.flatnonzero(has_creation & (same_entry | same_bytes))
    return sent[received], received


class _Kind(enum.IntEnum):
    """Types of the records that are read."""

    CREATION, BROADCAST, MULTICAST = 1, 20, 21
    BEGIN_ENTRY, END_ENTRY = 2, 3
    BEGIN_RUN, END_RUN = 6, 7
    BEGIN_TRACING, END_TRACING = 11, 12
    BEGIN_IDLE, END_IDLE = 14, 15


_CREATED = (_Kind.CREATION, _Kind.BROADCAST, _Kind.MULTICAST)
# Where a record has its time, counted from its type.
_TIME_AT = {kind: 3 if kind in (_Kind.BEGIN_ENTRY, _Kind.END_ENTRY, *_CREATED) else 1 for kind in _Kind}
_SENT_TO = 8  # where a message to several has their number
_SCHEDULER, _IDLE = "scheduler", "idle"
_HEADER = "PROJECTIONS-RECORD"
_SUMMARY = b"ver:"
_IDENTITY = b"PROJECTIONS_ID"  # the first line of newer versions
_LONGEST_LINE = 1 << 16
_MOST_PROCESSORS = 1 << 20
_LOGS = tuple(f".log{packed}" for packed in ("", *COMPRESSED_ENDINGS))
_LOG = re.compile(r"\.(\d{1,7})\.log")


class ProjectionsReader(Reader):
    """Entry methods of a Charm++ program.

    Choose it for what programs linked with ``-tracemode projections`` write; name the ``.sts`` file. A processor
    computes within entry methods.
    """

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
        """Read the entry methods.

        Raises
        ------
        InputError
            Definitions or a record that is cut short or has no numbers, no log of any processor, a time that goes
            back, or an entry method that is not defined; with its line.
        """
        if source.head.startswith((_HEADER.encode(), _SUMMARY)):
            kind = "summary" if source.head.startswith(_SUMMARY) else "log"
            raise InputError(source.name, f"is the {kind} of one processor; name the .sts file beside it")
        with anchor_file(source, ".sts", _LOGS, "a Projections trace", never=".sum.sts") as anchor:
            name = f"{source.name}({anchor.name})" if is_tar(source) else source.name
            return _Run(anchor, source.name, name).trace()


class _Run:
    """Definitions and logs."""

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
        self._messages = ProjectionsMessages(self._n_processors)
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
        trace = used_states(original, notes=notes)
        if not len(self._messages):
            return trace
        communication = self._messages.communication(
            list(self._intervals.locations), trace.locations, list(self._states), trace.span_ns, self._source
        )
        return carry(trace, lambda: communication)

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
            raise InputError(self._source, f"there is no log of a processor beside it, such as {base}.0.log")
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
            if kind in _CREATED:
                self._messages.create(processor, self._entry(words[2], name, number), time, words[place + 1 :])
                if kind == _Kind.MULTICAST:
                    self._messages.multicast(words[_SENT_TO:])
                continue
            self._messages.end(processor, time)
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
                    self._messages.begin(processor, self._entry(words[2], name, number), time, words[place + 1 :])
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
    """Lines with their numbers from 1, also of a compressed file."""
    try:
        with Source(path) as source:
            for number, line in source.lines(_LONGEST_LINE):
                yield number, line.decode(errors="replace")
    except InputError as error:  # the path may be that of a copy
        raise InputError(name, error.problem, line=error.line) from None
