"""The records of a Paraver trace, block by block, as columns.

In large blocks a compiled loop takes the lines that are as most are. Python takes all others, such as a state with
decimal times or of a location that the header does not have, and those of small files, and says what is wrong where.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from perf_io.text import parse_ns
from perf_io.traces.paraver_scan import DISORDER, FIELDS, LINE, MET, MOST_DIGITS, ROW, scan
from perfcore.base import progress
from perfcore.base.errors import InputError
from perfcore.base.kernels import kernel
from perfcore.data.units import nanoseconds_per

_BLOCK_BYTES = 1 << 20
_COMPILED_FROM = 1 << 18  # bytes of a block; below, loading the compiler takes longer than Python does for all lines
_LARGEST_LINE = 1 << 26  # bytes; one of a communicator lists its tasks
_QUICK_STATES = 1 << 10  # numbers below are looked up in an array
_LARGEST_STATE = 1 << 32
_NEVER = np.iinfo(np.int64).min
_PASSED_OVER = b"#234c"  # comments, events, communications, global operations, communicators

Columns = dict[str, npt.NDArray[Any]]


_scan = kernel(scan)


class StateRecords:
    """The state records of a trace, and what its other lines are."""

    def __init__(self, source: str, threads: Sequence[Sequence[int]], time_unit: str) -> None:
        self._source, self._unit = source, time_unit
        self.locations = [
            f"{application}.{task}.{thread}"
            for application, tasks in enumerate(threads, start=1)
            for task, count in enumerate(tasks, start=1)
            for thread in range(1, count + 1)
        ]
        self._tasks = np.array([0, *itertools.accumulate(map(len, threads))])
        self._threads = np.array([0, *itertools.accumulate(count for tasks in threads for count in tasks)])
        self._location_codes: dict[str, int] = {}
        self._last_end = np.full(len(self.locations), _NEVER)
        self._state_codes = np.full(_QUICK_STATES, -1, np.int32)
        self._other_states: dict[int, int] = {}
        self._counts = np.full(256, -1)
        self._counts[list(_PASSED_OVER + b"\n")] = 0
        self._cursor = np.zeros(4, np.int64)

    @property
    def in_order(self) -> bool:
        """Whether no state begins before the one before it at its location ends."""
        return not self._cursor[DISORDER]

    @property
    def states(self) -> list[int]:
        """Numbers of the states that occur, by their code."""
        codes = {int(self._state_codes[number]): int(number) for number in np.flatnonzero(self._state_codes >= 0)}
        codes |= {code: number for number, code in self._other_states.items()}
        return [codes[code] for code in range(len(codes))]

    def count(self, kind: str) -> int:
        return int(self._counts[ord(kind)])

    def blocks(self, stream: BinaryIO, n_rows: int) -> Iterator[Columns]:
        """Columns ``location, state, start_ns, end_ns``, of ``n_rows`` each but for the last; states as their codes."""
        types = {"location": np.int32, "state": np.int32, "start_ns": np.int64, "end_ns": np.int64}
        columns: Columns = {name: np.empty(n_rows, dtype) for name, dtype in types.items()}
        for text, end in self._lines(stream):
            start = 0
            while start < end:
                start = self._take(text, start, end, columns)
                if self._cursor[ROW] == n_rows:
                    yield columns
                    columns = {name: np.empty(n_rows, dtype) for name, dtype in types.items()}
                    self._cursor[ROW] = 0
        if row := int(self._cursor[ROW]):
            yield {name: column[:row] for name, column in columns.items()}

    def _take(self, text: bytes, start: int, end: int, columns: Columns) -> int:
        """Take some lines from ``start`` on; tell where the next one begins."""
        if end >= _COMPILED_FROM:
            start = self._scan(text, start, end, columns)
            if start == end or self._cursor[ROW] == len(columns["state"]):
                return start
        after = text.index(b"\n", start) + 1
        self._cursor[LINE] += 1
        if self._counts[text[start]] >= 0:
            self._counts[text[start]] += 1
        elif (line := text[start:after].decode()).strip():
            row = self._cursor[ROW]
            for column, value in zip(columns.values(), self._state(line), strict=True):
                column[row] = value
            self._cursor[ROW] += 1
        return after

    def _scan(self, text: bytes, start: int, end: int, columns: Columns) -> int:
        stopped: int = _scan(
            np.frombuffer(text, np.uint8),
            start,
            end,
            self._tasks,
            self._threads,
            nanoseconds_per(self._unit),
            self._state_codes,
            self._last_end,
            self._counts,
            self._cursor,
            *columns.values(),
        )
        return stopped

    def _lines(self, stream: BinaryIO) -> Iterator[tuple[bytes, int]]:
        """Texts, and how much of each are whole lines."""
        rest = b""
        with progress.bar(f"reading {self._source}") as advance:
            while chunk := stream.read(max(_BLOCK_BYTES, len(rest))):
                advance(len(chunk))
                text = rest + chunk
                end = text.rfind(b"\n") + 1
                if end:
                    self._refuse_undecodable(text, end)
                    yield text, end
                rest = text[end:]
                if len(rest) > _LARGEST_LINE:
                    raise self._error(f"the line is longer than {_LARGEST_LINE >> 20} MiB; the file is damaged", 1)
        if rest:  # the last line need not have an end
            self._refuse_undecodable(rest, len(rest))
            yield rest + b"\n", len(rest) + 1

    def _refuse_undecodable(self, text: bytes, end: int) -> None:
        if text.isascii():
            return
        try:
            text[:end].decode()
        except UnicodeDecodeError as error:
            raise self._error(f"is no UTF-8: {error.reason}", 1 + text.count(b"\n", 0, error.start)) from None

    def _state(self, line: str) -> tuple[int, int, int, int]:
        """Location, state, start and end of a state record that is not as most are."""
        text = line.rstrip("\r\n")
        fields = text.split(":")
        if fields[0] != "1":
            raise self._error(f"{text[:60]!r} is no record of Paraver; the file is damaged")
        if len(fields) != FIELDS:
            raise self._error(
                f"state record has {len(fields)} fields, expected {FIELDS}; the file is cut short or is not Paraver 2"
            )
        name, (begin, until, state) = ".".join(fields[2:5]), fields[5:]
        start_ns, end_ns = self._time("start", begin), self._time("end", until)
        if end_ns < start_ns:
            problem = f"the state of {name[:40]!r} ends at {until.strip()}, before it starts at {begin.strip()}"
            raise self._error(problem)
        place, code = self._location(name), self._state_code(state)
        if end_ns > start_ns:
            self._cursor[DISORDER] |= start_ns < self._last_end[place]
            self._last_end[place] = end_ns
        return place, code, start_ns, end_ns

    def _time(self, role: str, text: str) -> int:
        try:
            return parse_ns(text.strip(), self._unit, self._source, 0)
        except InputError:
            problem = f"the {role} is {text[:40]!r}; a finite number within 64 bits of nanoseconds is expected"
            raise self._error(problem) from None

    def _state_code(self, text: str) -> int:
        number = text.strip()
        if not (number.isascii() and number.isdecimal() and len(number) <= MOST_DIGITS):
            raise self._error(f"the state is {text[:40]!r}; a whole number is expected")
        if int(number) >= _LARGEST_STATE:
            raise self._error(f"the state is {text[:40]!r}; a number below {_LARGEST_STATE} is expected")
        if int(number) < _QUICK_STATES:
            code = int(self._state_codes[int(number)])
            if code < 0:
                code = self._state_codes[int(number)] = self._next_state()
            return code
        if int(number) not in self._other_states:
            self._other_states[int(number)] = self._next_state()
        return self._other_states[int(number)]

    def _next_state(self) -> int:
        code = int(self._cursor[MET])
        self._cursor[MET] += 1
        return code

    def _location(self, name: str) -> int:
        if not self._location_codes:
            self._location_codes = {location: code for code, location in enumerate(self.locations)}
        code = self._location_codes.setdefault(name, len(self.locations))
        if code == len(self.locations):
            self.locations.append(name)
            self._last_end = np.append(self._last_end, _NEVER)
        return code

    def _error(self, problem: str, ahead: int = 0) -> InputError:
        """The error about the line that was passed last, or about one ahead of it."""
        return InputError(self._source, problem, line=int(self._cursor[LINE]) + ahead)
