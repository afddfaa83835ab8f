"""PICL traces, new format: ``rectype event time node task ndata [descriptor data...]``, times in seconds.

Record -3 enters an event, -4 leaves it. Event -901 is tracing, -21 send, -52 receive. A node computes within tracing
while it is in no event of the library (negative number). Data of a send are bytes, type, node and task of the
receiver, of a receive those of the sender; the k-th send of a type is the k-th receive.

Source: P. Worley, "A new PICL trace file format", ORNL/TM-12125, by way of the coNCePTuaL user's guide.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

from perf_io.text import parse_ns
from perf_io.traces.call_recorder import CallRecorder
from perf_io.traces.intervals import NestedStates
from perf_traces.messages.communication import carry
from perfcore.base import progress
from perfcore.base.errors import InputError
from perfcore.data.trace import Trace
from perfcore.reading.source import Reader, Source

_NEW = re.compile(rb"\s*-\d+\s+-?\d+\s+\d*\.?\d+\s+-?\d+\s+-?\d+\s+\d+(\s|$)")

_INTEGER = re.compile(r"[+-]?[0-9]{1,18}")
_LINES_PER_REPORT = 50_000
_FIELDS = 6  # before the data
_USER = "user event"  # begins the names of states that users define
_TIME_UNIT = "s"
_ENTER, _LEAVE = -3, -4
_TRACING, _SEND, _RECEIVE = -901, -21, -52
_INTEGERS = "2"  # the descriptor of data that are ndata whole numbers
_EVENT_NAMES = {_TRACING: "computing", _SEND: "send", _RECEIVE: "recv"}
_CALLS = {_SEND: "send", _RECEIVE: "recv"}
_COMPUTING = _EVENT_NAMES[_TRACING]


class PiclReader(Reader):
    """Read states of the nodes, or of ``node.task``, of a PICL trace, as PICL, MPICL and coNCePTuaL write them."""

    def sniff(self, source: Source) -> float:
        first = next((line for line in source.head.splitlines() if line.strip()), b"")
        return 0.9 if _NEW.match(first) and b"\0" not in source.head else 0.0

    def read(self, source: Source, options: Any) -> Trace:
        form = _Nodes(source.name)
        with progress.bar(f"reading {source.name}") as advance:
            for line, raw in source.lines():
                if words := raw.decode("latin-1").split():
                    form.take(words, line)
                if line % _LINES_PER_REPORT == 0:
                    advance(_LINES_PER_REPORT)
        return form.trace()


class _Nodes:
    """Nodes and their states, as the records tell them."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._nodes: dict[tuple[int, int], int] = {}
        self._names = {_COMPUTING: 0}
        self._intervals = NestedStates(source, background=self._names[_COMPUTING])
        self._passed_over: Counter[str] = Counter()
        self._last: dict[int, int] = {}
        self._called: dict[int, list[tuple[int, int, int, list[int]]]] = {}  # record, event, time, data of each node

    def trace(self) -> Trace:
        """Return all states, and the messages where there are any; each node is traced until its last record."""
        self._intervals.finish()
        several = Counter(node for node, _ in self._nodes)
        names = [str(node) if several[node] == 1 else f"{node}.{task}" for node, task in self._nodes]
        places = list(self._intervals.locations)
        trace = self._intervals.trace(
            [names[code] for code in places],
            tuple(self._names),
            time_unit=_TIME_UNIT,
            notes=[f"{count} {kind} records passed over" for kind, count in sorted(self._passed_over.items())],
        )
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

    def _integer(self, word: str, line: int) -> int:
        if _INTEGER.fullmatch(word) is None:
            raise InputError(self._source, f"{word[:40]!r} is met where a whole number is expected", line=line)
        return int(word)

    def take(self, words: list[str], line: int) -> None:
        if len(words) < _FIELDS:
            problem = f"record has {len(words)} fields, expected {_FIELDS} or more; the file is cut short"
            raise InputError(self._source, problem, line=line)
        record, event = self._integer(words[0], line), self._integer(words[1], line)
        time = parse_ns(words[2], _TIME_UNIT, self._source, line)
        node, task, n_data = (self._integer(word, line) for word in words[3:_FIELDS])
        data = words[_FIELDS:]
        if n_data and (not data or (data[0] == _INTEGERS and len(data) != n_data + 1)):
            problem = f"record announces {n_data} data and has {max(len(data) - 1, 0)}; the file is cut short"
            raise InputError(self._source, problem, line=line)
        if record not in (_ENTER, _LEAVE):
            self._passed_over[f"type {record}"] += 1
            return
        code = self._nodes.setdefault((node, task), len(self._nodes))
        self._last[code] = time
        name = _EVENT_NAMES.get(event, f"{_USER} {event}" if event >= 0 else f"library event {event}")
        state = self._names.setdefault(name, len(self._names))
        if code not in self._intervals.locations and name != _COMPUTING:
            self._intervals.push(code, self._names[_COMPUTING], time, line)  # its tracing began before the file
        if event in _CALLS:
            numbers = [self._integer(word, line) for word in data[1:]] if data[:1] == [_INTEGERS] else []
            self._called.setdefault(code, []).append((record, event, time, numbers))
        if record == _ENTER:
            self._intervals.push(code, state, time, line)
            return
        inner = self._intervals.innermost(code)
        if inner != state:
            current = "no state" if inner is None else repr(list(self._names)[inner])
            problem = f"{name!r} is left although the node is in {current}"
            raise InputError(self._source, problem, line=line)
        self._intervals.pop(code, time, line)
