"""PICL traces: the new format, and the old one with numbers or with words.

New: ``rectype event time node task ndata [descriptor data...]``, times in seconds; record -3 enters an event, -4 leaves
it, others are counted and passed over. Event -901 is tracing, -21 send, -52 receive. A node computes within tracing
while it is in no event of the library (negative number); events that users define are not negative and compute.

Old: ``rectype seconds microseconds node [data...]``, or ``send clock S US node N to 3 type 5 lth 8`` and the like.
A node computes from its first to its last record except from recv_blocking (7) to recv_waking (8), within blocks
(20, 21) of the library (types below 0: barrier, broadcast, global operation) and in trace_flush (18, which says when
it finished). Sends and receives that did not wait are moments: the format does not say how long they took.

Sources: P. Worley, "A new PICL trace file format", ORNL/TM-12125, by way of the coNCePTuaL user's guide; G. Geist,
M. Heath, B. Peyton, P. Worley, "A user's guide to PICL", ORNL/TM-11616, and the header of its reader in Upshot
(Argonne). Uncertain: numbers of old records above 22 and what is in their fields; they are counted and passed over.
Numbers of library events in the new format other than the three above have no names here.

Of the new format messages are read too: data of a send that is entered are bytes, type, node and task of the receiver;
of a receive that is left, of the sender. The k-th send of a type from one to another is the k-th receive.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Any, ClassVar

from perf_io.text import parse_ns
from perf_io.traces.call_recorder import CallRecorder
from perf_io.traces.nested_states import NestedStates
from perf_traces.messages.communication import carry
from perfcore.base import progress
from perfcore.base.errors import InputError
from perfcore.contracts import Reader
from perfcore.data.trace import Trace
from perfcore.reading.source import Source

_NEW = re.compile(rb"\s*-\d+\s+-?\d+\s+\d*\.?\d+\s+-?\d+\s+-?\d+\s+\d+(\s|$)")
_OLD = re.compile(rb"\s*\d{1,2}\s+\d+\s+\d+\s+-?\d+(\s+-?\d+)*\s*$")
_OLD_WORDS = re.compile(rb"\s*[a-z]+(_[a-z]+)*\s+clock\s+\d+\s+\d+\s+node\s+-?\d+(\s|$)")

_INTEGER = re.compile(r"[+-]?[0-9]{1,18}")
_LINES_PER_REPORT = 50_000
_NEW_FIELDS, _OLD_FIELDS = 6, 3  # new: all before the data; old: the numbers after the record's type
_USER = "user event"  # begins the names of states that users define
_WAITING = "recv"
_ENTER, _LEAVE = -3, -4
_LATEST_NS = 2**63 - 1
_TRACING, _SEND, _RECEIVE = -901, -21, -52
_INTEGERS = "2"  # the descriptor of data that are ndata whole numbers
_EVENT_NAMES = {_TRACING: "computing", _SEND: "send", _RECEIVE: "recv"}
_CALLS = {_SEND: "send", _RECEIVE: "recv"}
_COMPUTING = _EVENT_NAMES[_TRACING]

# Old records in the order of their numbers from 1.
_RECORD_NAMES = (
    "trace_start open load send probe recv recv_blocking recv_waking message sync compstats commstats close "
    "trace_level trace_mark trace_message trace_stop trace_flush trace_exit block_begin block_end trace_marks"
)
_RECORDS = tuple(_RECORD_NAMES.split())
# Written with words only: their numbers are unknown.
_OTHER_RECORDS = ("trace_mark_array", "trace_files", "clock_sync")
_LAST_NUMBER = 29
_DATA = {"block_begin": 1, "block_end": 1, "trace_flush": 2}  # numbers after the node that are used here
_BLOCKS = {-1: "barrier", -2: "broadcast", -3: "broadcast", -4: "global operation"}
_HOST = -32768


class PiclReader(Reader):
    """States of the nodes of a PICL trace.

    Choose it for what PICL, MPICL and coNCePTuaL write. A location is a node, or ``node.task`` where a node has
    several tasks.
    """

    def sniff(self, source: Source) -> float:
        """Nearly sure of the new format; less so of the old one, which is only numbers."""
        lines = [line for line in source.head.splitlines() if line.strip()][:5]
        if not lines or b"\0" in source.head:
            return 0.0
        if _NEW.match(lines[0]):
            return 0.9
        if _OLD_WORDS.match(lines[0]):
            return 0.9
        likely = all(_OLD.match(line) for line in lines[: max(1, len(lines) - 1)])
        return (0.9 if source.suffix in (".trf", ".picl") else 0.4) if likely else 0.0

    def read(self, source: Source, options: Any) -> Trace:
        first = next((line for line in source.head.splitlines() if line.strip()), b"")
        form = _NewFormat(source.name) if _NEW.match(first) else _OldFormat(source.name)
        with progress.bar(f"reading {source.name}") as advance:
            for line, raw in source.lines():
                if words := raw.decode("latin-1").split():
                    form.take(words, line)
                if line % _LINES_PER_REPORT == 0:
                    advance(_LINES_PER_REPORT)
        return form.trace()


class _Format:
    """What both formats share: nodes, names of states, and whole numbers with their line."""

    time_unit: ClassVar[str]

    def __init__(self, source: str) -> None:
        self._source = source
        self._nodes: dict[tuple[int, int], int] = {}
        self._names = {_COMPUTING: 0}
        self._intervals = NestedStates(source, background=self._names[_COMPUTING])
        self._passed_over: Counter[str] = Counter()

    def take(self, words: list[str], line: int) -> None:
        raise NotImplementedError

    def trace(self) -> Trace:
        """All states; each node is traced until its last record."""
        self._intervals.finish()
        several = Counter(node for node, _ in self._nodes)
        names = [
            "host" if node == _HOST else str(node) if several[node] == 1 else f"{node}.{task}"
            for node, task in self._nodes
        ]
        return self._intervals.trace(
            [names[code] for code in self._intervals.locations],
            tuple(self._names),
            time_unit=self.time_unit,
            notes=[f"{count} {kind} records passed over" for kind, count in sorted(self._passed_over.items())],
        )

    def _node(self, node: int, task: int) -> tuple[int, bool]:
        """The node's number here, and whether it is new."""
        code = self._nodes.setdefault((node, task), len(self._nodes))
        return code, code not in self._intervals.locations

    def _state(self, name: str) -> int:
        return self._names.setdefault(name, len(self._names))

    def _enter(self, node: int, name: str, time: int, line: int) -> None:
        self._intervals.push(node, self._state(name), time, line)

    def _leave(self, node: int, name: str, time: int, line: int) -> None:
        inner = self._intervals.innermost(node)
        if inner != self._state(name):
            current = "no state" if inner is None else repr(list(self._names)[inner])
            raise self._error(f"{name!r} is left although the node is in {current}", line)
        self._intervals.pop(node, time, line)

    def _integer(self, word: str, line: int) -> int:
        if _INTEGER.fullmatch(word) is None:
            raise self._error(f"{word[:40]!r} is met where a whole number is expected", line)
        return int(word)

    def _error(self, problem: str, line: int) -> InputError:
        return InputError(self._source, problem, line=line)


class _NewFormat(_Format):
    """``rectype event time node task ndata [descriptor data...]``."""

    time_unit = "s"

    def __init__(self, source: str) -> None:
        super().__init__(source)
        self._last: dict[int, int] = {}
        self._called: dict[int, list[tuple[int, int, int, list[int]]]] = {}  # record, event, time, data of each node

    def trace(self) -> Trace:
        """All states, and the messages where there are any."""
        trace = super().trace()
        places = list(self._intervals.locations)
        recorder = CallRecorder(_CALLS, {0: range(len(self._nodes))}, lambda time: time)
        for place in places:
            recorder.begin(place)
            for record, event, event_time, data in self._called.get(place, []):
                partner = self._nodes.get((data[2], data[3]), len(self._nodes)) if len(data) == 4 else None
                if record == _ENTER:
                    recorder.enter(event_time, event)
                    if event == _SEND and partner is not None:
                        recorder.send(partner, 0, data[1], data[0])
                    continue
                if event == _RECEIVE and partner is not None:
                    recorder.receive(partner, 0, data[1])
                recorder.leave(event_time, event)
            recorder.end(self._last[place])
        if not recorder.n_calls:
            return trace
        communication = recorder.communication(places, trace.locations, trace.span_ns[0], self._source)
        return carry(trace, lambda: communication)

    def take(self, words: list[str], line: int) -> None:
        if len(words) < _NEW_FIELDS:
            problem = f"record has {len(words)} fields, expected {_NEW_FIELDS} or more; the file is cut short"
            raise self._error(problem, line)
        record, event = self._integer(words[0], line), self._integer(words[1], line)
        time = parse_ns(words[2], self.time_unit, self._source, line)
        node, task, n_data = (self._integer(word, line) for word in words[3:_NEW_FIELDS])
        data = words[_NEW_FIELDS:]
        if n_data and (not data or (data[0] == _INTEGERS and len(data) != n_data + 1)):
            problem = f"record announces {n_data} data and has {max(len(data) - 1, 0)}; the file is cut short"
            raise self._error(problem, line)
        if record not in (_ENTER, _LEAVE):
            self._passed_over[f"type {record}"] += 1
            return
        code, is_new = self._node(node, task)
        self._last[code] = time
        name = _EVENT_NAMES.get(event, f"{_USER} {event}" if event >= 0 else f"library event {event}")
        if is_new and name != _COMPUTING:
            self._enter(code, _COMPUTING, time, line)  # its tracing began before the file
        if event in _CALLS:
            numbers = [self._integer(word, line) for word in data[1:]] if data[:1] == [_INTEGERS] else []
            self._called.setdefault(code, []).append((record, event, time, numbers))
        if record == _ENTER:
            self._enter(code, name, time, line)
        else:
            self._leave(code, name, time, line)


class _OldFormat(_Format):
    """``rectype seconds microseconds node [data...]``, or with words between."""

    time_unit = "us"

    def take(self, words: list[str], line: int) -> None:
        record, numbers = self._record(words, line)
        if len(numbers) < _OLD_FIELDS + _DATA.get(record, 0):
            raise self._error(f"{record} has {len(numbers)} numbers; the file is cut short", line)
        time, node = self._time(numbers), numbers[2]
        if time > _LATEST_NS:
            raise self._error("the time is beyond 64 bits of nanoseconds", line)
        if record == "load" and node < 0:
            return  # to all nodes: no record of one of them
        code, is_new = self._node(node, 0)
        if is_new:
            self._enter(code, _COMPUTING, time, line)
        match record:
            case "recv_blocking":
                self._enter(code, _WAITING, time, line)
            case "recv_waking":
                self._leave(code, _WAITING, time, line)
            case "block_begin":
                self._enter(code, self._block(numbers[3]), time, line)
            case "block_end":
                self._leave(code, self._block(numbers[3]), time, line)
            case "trace_flush":
                self._enter(code, "trace flush", time, line)
                self._leave(code, "trace flush", max(time, self._time(numbers[3:])), line)
            case _:
                self._intervals.touch(code, time, line)
                self._passed_over[record] += 1

    def _record(self, words: list[str], line: int) -> tuple[str, list[int]]:
        """The record's name and all its numbers."""
        if words[0].isalpha() or "_" in words[0]:
            if words[0] not in (*_RECORDS, *_OTHER_RECORDS):
                raise self._error(f"unknown record {words[0][:40]!r}", line)
            return words[0], [int(word) for word in words[1:] if _INTEGER.fullmatch(word)]
        number, *rest = (self._integer(word, line) for word in words)
        if not 1 <= number <= _LAST_NUMBER:
            raise self._error(f"unknown record type {number}; 1 to {len(_RECORDS)} are known", line)
        return _RECORDS[number - 1] if number <= len(_RECORDS) else f"type {number}", rest

    @staticmethod
    def _time(numbers: list[int]) -> int:
        return numbers[0] * 1_000_000_000 + numbers[1] * 1_000

    @staticmethod
    def _block(number: int) -> str:
        return _BLOCKS.get(number, f"{_USER} {number}" if number >= 0 else f"library block {number}")
