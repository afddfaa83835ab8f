"""A model of a run while it is still being recorded: extended as its file grows."""

from __future__ import annotations

import contextlib
import csv
import io
import itertools
import json
import os
import select
import signal
import stat
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from perfcore.base import progress
from perfcore.base.errors import DataError, InputError, OptionError, PerfError
from perfcore.data.curve import UtilizationCurve
from perfcore.data.series import Series
from perfcore.data.trace import Trace
from perfcore.hooks.registry import registry
from perfcore.models.fitting import default_fitter, resolve
from perfcore.reading.compression import compression_of

_POLL_S = 0.1
_CHUNK = 1 << 22  # bytes read at a time
_ENOUGH_ROWS = 3  # to tell what a table is: one sample has no duration


def growing_lines(path: str, idle_s: float, stopped: Callable[[], bool] = lambda: False) -> Iterator[bytes]:
    """Whole lines as they are written; nothing (``b""``) where none came for a moment."""
    waited_from = time.monotonic()
    while path != "-" and not Path(path).exists():
        if stopped() or time.monotonic() - waited_from > idle_s:
            raise InputError(path, "there is no such file")
        time.sleep(_POLL_S)
    if Path(path).is_dir():
        raise InputError(path, "is a folder; name a file in it")
    descriptor = os.dup(sys.stdin.fileno()) if path == "-" else os.open(path, os.O_RDONLY)
    try:
        is_file = stat.S_ISREG(os.fstat(descriptor).st_mode)
        rest, read, last = b"", 0, time.monotonic()
        while not stopped():
            ready = is_file or select.select([descriptor], [], [], _POLL_S)[0]
            new = os.read(descriptor, _CHUNK) if ready else b""
            if new:
                if not read and compression_of(new[:16]) is not None:
                    raise InputError(path, "is compressed; what is followed is text, as it is written")
                read, last = read + len(new), time.monotonic()
                lines, end, rest = (rest + new).rpartition(b"\n")
                if lines or end:
                    yield lines + end
                continue
            if is_file and os.fstat(descriptor).st_size < read:
                raise InputError(path, "became shorter while it was followed")
            if (ready and not is_file) or time.monotonic() - last > idle_s:
                break  # the writer is gone, or has nothing more to say
            yield b""
            if is_file:
                time.sleep(_POLL_S)
    finally:
        os.close(descriptor)
    if rest:
        yield rest + b"\n"


class GrowingTable:
    """States, a curve or a series of which lines are added; each line is read once."""

    def __init__(self, name: str, read: Callable[..., Any]) -> None:
        self.name, self.rows = name, 0
        self._read = read
        self._head: list[bytes] = []  # lines up to and with the column names
        self._waiting: list[bytes] = []
        self._pieces: list[Any] = []
        self._kind: type | None = None
        self._as_series = False
        self._keys: list[str] | None = None  # of JSON lines

    def add(self, text: bytes, *, last: bool = False) -> None:
        """Add whole lines; ``last``: no more will come."""
        for line in text.splitlines(keepends=True):
            if self._keys is None and self._named:
                self._waiting.append(line)
            elif not line.strip() or (self._keys is None and line.startswith(b"#")):
                self._head.append(line)
            else:
                self._begin_or_convert(line)
        if not self._waiting or (self._kind is None and len(self._waiting) < _ENOUGH_ROWS and not last):
            return
        rows, self._waiting = self._waiting, []
        self._pieces.append(self._piece(rows))
        self.rows += len(rows)

    @property
    def _named(self) -> bool:
        return bool(self._head) and bool(self._head[-1].strip()) and not self._head[-1].startswith(b"#")

    def _begin_or_convert(self, line: bytes) -> None:
        """The line of column names, or an object of JSON lines, whose keys are the columns."""
        if not line.lstrip().startswith(b"{"):
            if self._keys is not None:
                raise InputError(self.name, "is no JSON object, as the lines before are", line=self._line(0))
            self._head.append(line)
            return
        try:
            record = json.loads(line)
        except ValueError as error:
            raise InputError(self.name, f"is not JSON: {error}", line=self._line(0)) from None
        if self._keys is None:
            self._keys = list(record)
            self._head.append(_csv_line(self._keys))
        if set(record) - set(self._keys):
            unknown = next(iter(set(record) - set(self._keys)))
            raise InputError(self.name, f"the first line has no key {unknown!r}", line=self._line(0))
        self._waiting.append(_csv_line([record.get(key) for key in self._keys]))

    def _line(self, row: int) -> int:
        """Line of a row that waits, from 1."""
        return (len(self._head) if self._keys is None else 0) + self.rows + len(self._waiting) + row + 1

    def _piece(self, rows: Sequence[bytes]) -> Any:
        if self._kind is None:
            piece = self._parsed(rows)
            self._kind = type(piece)
            if isinstance(piece, Trace):
                self._kind = Trace
            elif isinstance(piece, UtilizationCurve):
                try:
                    piece, self._as_series = self._parsed(rows, kind="series"), True
                except InputError:  # steps with a start and an end
                    self._as_series = False
            elif not isinstance(piece, Series):
                raise InputError(self.name, f"holds {type(piece).__name__}; states, curves and series are followed")
            return piece
        return self._parsed(rows, **({"kind": "series"} if self._as_series else {}))

    def _parsed(self, rows: Sequence[bytes], **options: str) -> Any:
        suffix = Path(self.name).suffix if self._keys is None and Path(self.name).suffix else ".csv"
        with tempfile.NamedTemporaryFile(prefix="perfcore-follow-", suffix=suffix) as file:
            file.write(b"".join([*self._head, *rows]))
            file.flush()
            try:
                return self._read(file.name, options)
            except InputError as error:
                line = error.line
                if line is not None and line > len(self._head):
                    line += self.rows - (len(self._head) if self._keys is not None else 0)
                raise InputError(self.name, error.problem, line=line) from None

    @property
    def data(self) -> Trace | UtilizationCurve | Series:
        """What the lines make so far."""
        if not self._pieces:
            raise InputError(self.name, "has no rows")
        if self._kind is Trace:
            return self._trace()
        if self._kind is UtilizationCurve and not self._as_series:
            return self._steps()
        first = self._pieces[0]
        times = np.concatenate([piece.times for piece in self._pieces])
        columns: Mapping[str, Any] = {
            name: np.concatenate([piece.columns[name] for piece in self._pieces]) for name in first.columns
        }
        if not self._as_series:
            return Series(times, columns, first.time_unit, source=self.name)
        (heights,) = columns.values()
        if len(heights) > 1 and np.isnan(heights[-1]):
            return UtilizationCurve(times, heights[:-1], first.time_unit, source=self.name)
        return UtilizationCurve.from_samples(times, heights, first.time_unit, source=self.name)

    def _steps(self) -> UtilizationCurve:
        first = self._pieces[0]
        for one, other in zip(self._pieces, self._pieces[1:], strict=False):
            if one.end != other.start:
                raise DataError(f"{self.name}: a step ends at {one.end!s} and the next one starts at {other.start!s}")
        edges = np.concatenate([first.edges[:1], *(piece.edges[1:] for piece in self._pieces)])
        heights = np.concatenate([piece.heights for piece in self._pieces])
        return UtilizationCurve(edges, heights, first.time_unit, source=self.name)

    def _trace(self) -> Trace:
        locations = list(dict.fromkeys(name for piece in self._pieces for name in piece.locations))
        states = list(dict.fromkeys(name for piece in self._pieces for name in piece.states))
        codes = []
        for piece in self._pieces:
            location_codes = np.array([locations.index(name) for name in piece.locations], np.int32)
            state_codes = np.array([states.index(name) for name in piece.states], np.int32)
            codes.append((location_codes[piece.location], state_codes[piece.state], piece.start_ns, piece.end_ns))
        location, state, start_ns, end_ns = (np.concatenate(each) for each in zip(*codes, strict=True))
        # One piece: next time only what is new is put together with it.
        trace = Trace(
            location, state, start_ns, end_ns, locations, states, time_unit=self._pieces[0].time_unit, source=self.name
        )
        self._pieces = [trace]
        return trace


def _csv_line(fields: Sequence[Any]) -> bytes:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow(["" if field is None else field for field in fields])
    return text.getvalue().encode()


_GROWN = 1.05  # the model is made anew when there are so many times the lines, so that all fits cost some 20 last ones
_APART_S = 0.25


def follow(
    path: str, read: Callable[..., Any], fitter: str | None, options: dict[str, Any], idle_s: float
) -> tuple[Any, Any]:
    """Fit a file that grows until nothing comes any more, or who started it interrupts."""
    if fitter is not None:
        _able(fitter)
    table = GrowingTable(path, read)
    with _interrupts() as stopped:
        grown = _states(table, growing_lines(path, idle_s, stopped.is_set))
        first = next(grown)
        if fitter is None:
            fitter, note = default_fitter(first, options)
            progress.note(note)
        implementation = _able(fitter)
        chosen, parts = resolve(registry().entry("fitters", fitter), options)
        return implementation().follow(itertools.chain([first], grown), chosen, **parts), table.data


def _able(fitter: str) -> Any:
    implementation = registry().entry("fitters", fitter).load()
    if not hasattr(implementation, "follow"):
        able = [name for name, entry in registry().entries("fitters").items() if _follows(entry)]
        raise OptionError(f"--follow: {fitter} fits whole files; {', '.join(able) or 'no fitter'} follows growing ones")
    return implementation


def _follows(entry: Any) -> bool:
    try:
        return hasattr(entry.load(), "follow")
    except PerfError:  # one that lacks its library
        return False


def _states(table: GrowingTable, lines: Iterator[bytes]) -> Iterator[Any]:
    """The data each time that they grew enough, or nothing came for a moment; and at the end."""
    shown_rows, last_time = 0, 0.0
    for new in lines:
        table.add(new)
        enough = not new or table.rows > _GROWN * shown_rows
        if table.rows > shown_rows and enough and time.monotonic() - last_time > _APART_S:
            yield table.data
            shown_rows, last_time = table.rows, time.monotonic()
    table.add(b"", last=True)
    if table.rows > shown_rows or not shown_rows:
        yield table.data


@contextlib.contextmanager
def _interrupts() -> Iterator[threading.Event]:
    """An event that Ctrl-C sets; a second one interrupts as always."""
    stopped = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield stopped
        return

    def stop(*_: Any) -> None:
        if stopped.is_set():
            raise KeyboardInterrupt
        stopped.set()

    before = signal.signal(signal.SIGINT, stop)
    try:
        yield stopped
    finally:
        signal.signal(signal.SIGINT, before)
