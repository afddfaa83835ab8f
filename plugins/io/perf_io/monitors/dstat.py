"""What dstat, its successor dool and pcp-dstat record with ``--output FILE``.

A title, lines about the author, the host and the command, a row of groups (``"total cpu usage",,,,,"dsk/total",``) of
which each stands for the fields up to the next, a row of fields (``"usr","sys","idl",...``), and one row for each
sample. dool adds further recordings to a file that exists, each with a head of its own.

Source: Dstat 0.7.4, ``dstat``; dool 1.3, ``dool``; pcp 6, ``pcp-dstat``.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime

import numpy as np
import numpy.typing as npt

from perf_io.monitors.cpu_shares import shares_of
from perf_io.monitors.options import CpuOptions
from perf_io.shared.numbered_lines import numbered_lines
from perfcore.base.errors import DataError, InputError
from perfcore.contracts import Reader
from perfcore.data.series import Series
from perfcore.reading.source import Source

_HEAD = re.compile(r"(?:dstat|dool|pcp-dstat) [0-9][\w.]* CSV output|Author:|Host:|Cmdline:", re.IGNORECASE)
_COMMAND, _DATE = "Cmdline:", "Date:"


class Recordings:
    """The samples of one or several recordings with the same columns."""

    def __init__(self, source: str, *, since_start: bool) -> None:
        self.source = source
        self.names: list[str] = []
        self.rows: list[list[str]] = []
        self.lines: list[int] = []
        self.command = self.date = ""
        self.count = 0
        self._skips_first = since_start
        self._in_head = True
        self._groups: list[str] | None = None
        self._skipped = 0
        self._skip_next = False

    @property
    def notes(self) -> list[str]:
        """What a user should know."""
        since = "about the time since the machine was started"
        return [f"left out, {since}: {self._skipped} samples"] if self._skipped else []

    def take(self, fields: Sequence[str], line: int) -> None:
        """Take the fields of one line that is not blank."""
        if _HEAD.match(fields[0].strip()):
            self._in_head, self._groups = True, None
            if fields[0] == _COMMAND and not self.command:
                self.command = fields[1] if len(fields) > 1 else ""
                index = fields.index(_DATE) + 1 if _DATE in fields else len(fields)
                self.date = fields[index] if index < len(fields) else ""
        elif self._in_head and self._groups is None:
            self._groups = list(fields)
        elif self._in_head:
            self._begin(_names(self._groups or [], fields), line)
        elif self._skip_next:
            self._skip_next, self._skipped = False, self._skipped + 1
        else:
            self._add(list(fields), line)

    def check(self) -> None:
        """Refuse a file without samples."""
        if not self.rows:
            raise InputError(self.source, "holds no samples after the first, which is about the time since the start")

    def numbers(self, column: int) -> npt.NDArray[np.float64] | None:
        """A column as numbers, NaN where a sample is missing; None where it holds texts."""
        parsed = np.full(len(self.rows), np.nan)
        has_number = False
        for position, (row, line) in enumerate(zip(self.rows, self.lines, strict=True)):
            text = row[column].strip()
            if not text:
                continue
            try:
                parsed[position] = float(text)
            except ValueError:
                if not has_number:
                    return None
                problem = f"{self.names[column][:60]} is {text[:40]!r}; a number is expected"
                raise InputError(self.source, problem, line=line) from None
            if not np.isfinite(parsed[position]):
                raise InputError(self.source, f"{self.names[column][:60]} is {text[:40]}, no finite number", line=line)
            has_number = True
        return parsed

    def _begin(self, names: list[str], line: int) -> None:
        if self.names and names != self.names:
            problem = f"another recording has other columns: {', '.join(names)}"[:200]
            raise InputError(self.source, f"{problem}; cut the file there", line=line)
        self.names = names
        self.count += 1
        self._in_head, self._skip_next = False, self._skips_first

    def _add(self, fields: list[str], line: int) -> None:
        if len(fields) == len(self.names) + 1 and not fields[-1]:
            fields.pop()  # some versions end a row with a comma
        if len(fields) != len(self.names):
            raise InputError(
                self.source,
                f"has {len(fields)} fields, but the head names {len(self.names)}; the file is cut short, or was "
                "recorded on a terminal that is too narrow for the names",
                line=line,
            )
        self.rows.append(fields)
        self.lines.append(line)


def _names(groups: Sequence[str], fields: Sequence[str]) -> list[str]:
    """Names of columns: a group stands for what follows it; pcp-dstat repeats it before a field."""
    names, group = [], ""
    for position, field in enumerate(fields):
        group = (groups[position].strip() if position < len(groups) else "") or group
        label = field.strip().removeprefix(f"{group}:")
        names.append(
            " ".join((group if label in ("", group) else f"{group} {label}").split()) or f"column {position + 1}"
        )
    counts = Counter(name.casefold() for name in names)
    return [
        f"{name} #{position}" if counts[name.casefold()] > 1 else name for position, name in enumerate(names, start=1)
    ]


Floats = npt.NDArray[np.float64]

_TITLE = re.compile(rb'"?(?:dstat|dool|pcp-dstat) [0-9][\w.]* CSV output', re.IGNORECASE)
_PROCESSOR = re.compile(r"(?:total(?: cpu)?|cpu([0-9]{1,6})) usage")
_EPOCH, _CLOCK = "epoch", "system time"
_DATES = ("%d %b %Y", "%d-%m %H:%M:%S", "%b-%d %H:%M:%S")  # of the head; of a sample by dstat, by dool
_DELAY = re.compile(r"\s([1-9][0-9]{0,5})(?:\s+[0-9]{1,9})?$")
_HALF_YEAR_S = 182 * 86_400
_MOST_NOTED = 20


class DstatReader(Reader):
    """Every column of the recording, and the shares of processors as the other readers of them call these.

    Choose it for what ``dstat -T --output load.csv 1`` recorded. Columns are called by their group and field, such as
    ``dsk/total read``, in the units of dstat (bytes, per second where they are rates). Times are seconds since 1970
    where there are any (``-T`` or ``-t``), else count from the first sample. The first sample of a recording by dstat
    and dool is about the time since the machine was started and is left out.
    """

    Options = CpuOptions

    def sniff(self, source: Source) -> float:
        """Sure by the title."""
        return 0.95 if _TITLE.match(source.head) else 0.0

    def read(self, source: Source, options: CpuOptions) -> Series:
        """Read all samples.

        Raises
        ------
        InputError
            No sample, a row of another length than the head, a text where numbers are expected, or times that do not
            increase; with its line.
        """
        recordings = Recordings(source.name, since_start=not source.head.lower().startswith((b'"pcp', b"pcp")))
        for number, text in numbered_lines(source):
            try:
                fields = next(csv.reader([text]), [])
            except csv.Error as error:
                raise InputError(source.name, f"the line cannot be read: {error}", line=number) from None
            if any(fields):
                recordings.take(fields, number)
        recordings.check()
        notes = list(recordings.notes)
        times = _times(recordings, notes)
        columns, texts = {}, []
        for column, name in enumerate(recordings.names):
            if name in (_EPOCH, _CLOCK):
                continue
            values = recordings.numbers(column)
            if values is None:
                texts.append(name)
            else:
                columns[name] = values
        if texts:
            notes.append(f"columns of texts passed over: {', '.join(texts)}"[:200])
        try:
            shares = _shares(columns, options.measures)
            return Series(times, {**shares, **columns}, "s", source=source.name, notes=notes[:_MOST_NOTED])
        except DataError as error:
            problem = str(error).removeprefix(f"{source.name}: ")
            raise InputError(source.name, f"{problem}; record times with -T, which has milliseconds") from None


def _shares(columns: dict[str, Floats], measures: Sequence[str]) -> dict[str, Floats]:
    """``cpu all busy``, ``cpu 0 busy``, ... of the groups that are about processors."""
    cpu_columns = {}
    for name, idle in columns.items():
        group, _, field = name.rpartition(" ")
        processor = _PROCESSOR.fullmatch(group)
        if field != "idl" or processor is None:
            continue
        nothing = np.zeros(len(idle))
        waiting, stolen = (columns.get(f"{group} {field}", nothing) for field in ("wai", "stl"))
        shares = shares_of(idle / 100.0, waiting / 100.0, stolen / 100.0)
        cpu_columns.update({f"cpu {processor[1] or 'all'} {measure}": shares[measure] for measure in measures})
    return cpu_columns


def _times(recordings: Recordings, notes: list[str]) -> Floats:
    """Seconds of all samples, and notes of where they come from."""
    if _EPOCH in recordings.names:
        times = recordings.numbers(recordings.names.index(_EPOCH))
        if times is None or np.isnan(times).any():
            raise InputError(recordings.source, "a time is missing", line=recordings.lines[0])
        return times
    if _CLOCK in recordings.names:
        notes.append("times are local and taken as if they were UTC")
        return _moments(recordings)
    if recordings.count > 1:
        raise InputError(
            recordings.source,
            f"holds {recordings.count} recordings without times; record them with -T, or cut the file",
        )
    delay = _DELAY.search(recordings.command)
    every = int(delay[1]) if delay else 1
    notes.append(f"without times: one sample every {every} s, by its command")
    return every * np.arange(len(recordings.rows), dtype=np.float64)


def _moments(recordings: Recordings) -> Floats:
    """Times of samples such as ``03-12 14:10:38``, whose year is that of the head."""
    column = recordings.names.index(_CLOCK)
    try:
        year = datetime.strptime(" ".join(recordings.date.split()[:3]), _DATES[0]).replace(tzinfo=UTC).year
    except ValueError:
        raise InputError(
            recordings.source, f"date {recordings.date[:40]!r} of the head is no date such as 03 Dec 2020"
        ) from None
    times: list[float] = []
    for row, line in zip(recordings.rows, recordings.lines, strict=True):
        moment = _moment(row[column], year)
        if moment is None:
            problem = f"time {row[column][:40]!r} is none such as 03-12 14:10:38"
            raise InputError(recordings.source, problem, line=line)
        if times and moment < times[-1] - _HALF_YEAR_S:  # New Year; a clock is set back by less
            year += 1
            moment = _moment(row[column], year) or moment
        times.append(moment)
    return np.array(times)


def _moment(text: str, year: int) -> float | None:
    for form in _DATES[1:]:
        try:
            return datetime.strptime(f"{year} {text}", f"%Y {form}").replace(tzinfo=UTC).timestamp()
        except ValueError:
            continue
    return None
