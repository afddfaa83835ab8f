"""Utilization of processors as mpstat and sadf of sysstat record it, and answers of Prometheus.

Busy is what is neither idle nor iowait, for then another process could run; steal is busy.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, ClassVar, NamedTuple

import msgspec
import numpy as np

from perf_io.options import CpuOptions
from perf_io.text import decode_document, decode_json, numbered_lines
from perfcore.base.arrays import Floats
from perfcore.base.errors import DataError, InputError
from perfcore.data.series import Series
from perfcore.reading.source import Reader, Source

_DAY_S = 86_400
_CLOCK = re.compile(r"(\d{1,2}):(\d{2}):(\d{2})(?: ?([AaPp])\.?[Mm]\.?)?")
_EVENT = "-1"  # stands for the interval in lines about restarts and in comments
_ALL = ("-1", "all")  # how the tables call all processors together
_UNKNOWN_ZONE = "of an unknown zone"
_HOW_TO_RECORD = (
    "holds no utilization of processors; record it with `mpstat -P ALL 1 -o JSON`, or export it with `sadf -j -- -u -P "
    "ALL` or `sadf -d -- -u -P ALL`"
)
_NAME = "__name__"
_MOST_NOTED = 20


class _CpuLoad(msgspec.Struct):
    """One processor in one interval, in per cent of its time; `user` and `system` are older names of two fields."""

    cpu: str | int
    idle: float
    usr: float = 0.0
    user: float = 0.0
    nice: float = 0.0
    sys: float = 0.0
    system: float = 0.0
    iowait: float = 0.0
    irq: float = 0.0
    soft: float = 0.0
    steal: float = 0.0
    guest: float = 0.0
    gnice: float = 0.0


class _Timestamp(msgspec.Struct):
    """As sadf writes it; mpstat writes a text."""

    date: str
    time: str
    tz: str = ""
    utc: int = 0


class _Sample(msgspec.Struct, rename="kebab"):
    timestamp: str | _Timestamp | None = None
    cpu_load: tuple[_CpuLoad, ...] = ()
    cpu_load_all: tuple[_CpuLoad, ...] = ()  # sadf's name until sysstat 12


class _Host(msgspec.Struct):
    nodename: str = "unknown host"
    date: str = "an unknown date"
    statistics: tuple[_Sample, ...] = ()


class _Hosts(msgspec.Struct):
    hosts: tuple[_Host, ...]


class _Document(msgspec.Struct):
    sysstat: _Hosts


class _Load(NamedTuple):
    """Per cent of the time of one processor, by what it was spent in."""

    time_s: float
    cpu: str
    percent: Mapping[str, float]


class _SysstatReader(Reader):
    """One column for each processor and measure; NaN where a processor was offline or not recorded."""

    Options = CpuOptions
    description: ClassVar[str]

    def read(self, source: Source, options: CpuOptions) -> Series:
        notes: list[str] = []
        loads = list(self._loads(source, notes))
        if not loads:
            raise InputError(source.name, _HOW_TO_RECORD)
        # Records of one time follow one another; a clock that is set back is refused below.
        times = np.array([load.time_s for load in loads])
        begins = np.append(True, times[1:] != times[:-1])
        cpus = {cpu: row for row, cpu in enumerate(dict.fromkeys(load.cpu for load in loads))}
        table = np.full((3, len(cpus), int(begins.sum())), np.nan)
        table[:, [cpus[load.cpu] for load in loads], np.cumsum(begins) - 1] = np.transpose([
            [load.percent.get(name, 0.0) / 100.0 for name in ("idle", "iowait", "steal")]
            if any(load.percent.values())
            else [np.nan] * 3  # offline
            for load in loads
        ])  # fmt: skip
        idle, iowait, steal = table
        available = np.clip(idle + iowait, 0.0, 1.0)  # printed with two digits, parts may sum to a little more
        shares = {"busy": 1.0 - available, "available": available, "iowait": iowait, "steal": steal}
        columns = {f"cpu {cpu} {name}": shares[name][row] for cpu, row in cpus.items() for name in options.measures}
        try:
            return Series(times[begins], columns, "s", source=source.name, notes=notes)
        except DataError as error:
            problem = str(error).removeprefix(f"{source.name}: ")
            raise InputError(source.name, f"{problem}; was the clock set back? cut the file there") from None

    def _loads(self, source: Source, notes: list[str]) -> Iterator[_Load]:
        raise NotImplementedError

    def _samples(self, source: Source) -> Iterator[tuple[_Host, str, _Sample]]:
        """Yield the host, place in the document and sample of each interval in which processors were recorded."""
        document = decode_document(source, _Document, self.description)
        for position, host in enumerate(document.sysstat.hosts):
            for number, sample in enumerate(host.statistics):
                sample.cpu_load = sample.cpu_load or sample.cpu_load_all
                if sample.cpu_load and sample.timestamp is not None:
                    yield host, f"`$.sysstat.hosts[{position}].statistics[{number}]`", sample


def _loads_of(sample: _Sample, time_s: float) -> Iterator[_Load]:
    for load in sample.cpu_load:
        percent = msgspec.structs.asdict(load)
        yield _Load(time_s, str(percent.pop("cpu")), percent)


class MpstatReader(_SysstatReader):
    """Read what mpstat prints with ``-o JSON``.

    Times are seconds since midnight of the first day, since the date depends on the locale. A sample is about the
    interval that ends at its time.
    """

    description = "the output of mpstat -o JSON"

    def _loads(self, source: Source, notes: list[str]) -> Iterator[_Load]:
        first: _Host | None = None
        last = 0.0
        for host, place, sample in self._samples(source):
            if first is not None and host is not first:
                raise InputError(source.name, "is of several hosts; one is expected")
            if first is None:
                first = host
                notes.append(f"recorded on {host.nodename}, {host.date}; times count from midnight")
            match = _CLOCK.fullmatch(sample.timestamp.strip()) if isinstance(sample.timestamp, str) else None
            if match is None:
                stamp = str(sample.timestamp)[:40]
                raise InputError(source.name, f"timestamp {stamp!r} - at {place}; HH:MM:SS is expected")
            hour, minute, second = (int(part) for part in match.groups()[:3])
            hour = hour % 12 + 12 * (match[4] in "Pp") if match[4] else hour
            time_s = hour * 3600 + minute * 60 + second
            days, before = divmod(last, _DAY_S)
            # Only midnight takes a clock back by half a day or more.
            last = time_s + (days + (before - time_s > _DAY_S / 2)) * _DAY_S
            yield from _loads_of(sample, last)


class SadfReader(_SysstatReader):
    """Read ``sadf -j FILE -- -u ALL -P ALL`` and ``sadf -d FILE -- -u ALL -P ALL``.

    Times are seconds since 1970; one without a zone counts as UTC, with a note.
    """

    description = "the output of sadf -j"

    def _loads(self, source: Source, notes: list[str]) -> Iterator[_Load]:
        hosts, zones = set[str](), set[str]()
        is_json = source.head.lstrip()[:1] == b"{"
        yield from (self._of_json if is_json else self._of_table)(source, hosts, zones)
        names, local = (sorted(" ".join(name.split()) for name in found) for found in (hosts, zones))
        if len(names) > 1:
            raise InputError(source.name, f"is of several hosts: {', '.join(names)[:120]}; export them one by one")
        notes += [f"recorded on {name}" for name in names]
        if local:
            notes.append(f"times are local ({', '.join(local)}) and taken as if they were UTC")

    def _of_json(self, source: Source, hosts: set[str], zones: set[str]) -> Iterator[_Load]:
        for host, place, sample in self._samples(source):
            stamp = sample.timestamp
            stamp = stamp if isinstance(stamp, _Timestamp) else _Timestamp("", str(stamp))
            try:
                time_s = _seconds(f"{stamp.date} {stamp.time}")
            except ValueError:
                problem = f"timestamp {stamp.date[:20]!r}, {stamp.time[:20]!r} - at {place}"
                raise InputError(source.name, f"{problem}; YYYY-MM-DD and HH:MM:SS are expected") from None
            if stamp.tz != "UTC" and not stamp.utc:
                zones.add(stamp.tz or _UNKNOWN_ZONE)
            hosts.add(host.nodename)
            yield from _loads_of(sample, time_s)

    def _of_table(self, source: Source, hosts: set[str], zones: set[str]) -> Iterator[_Load]:
        names: Sequence[str] | None = None  # of the section's fields; None if the section is not about processors
        for line, text in numbered_lines(source):
            fields = text.split(";")
            if fields[0].startswith("#"):
                # Softirq statistics, too, have a column CPU; only utilization has an idle share.
                is_load = {"timestamp", "CPU", "%idle"} <= set(fields)
                names = [field.lstrip("%") for field in fields] if is_load else None
                continue
            if names is None or fields[1:2] == [_EVENT]:
                continue
            if len(fields) != len(names):
                problem = f"has {len(fields)} fields, but there are {len(names)} columns; the file is cut short"
                raise InputError(source.name, problem, line=line)
            row = dict(zip(names, fields, strict=True))
            try:
                time_s, zone = _stamp(row["timestamp"])
                spent = {name: _percent(row[name]) for name in names[names.index("CPU") + 1 :]}
            except ValueError as error:
                raise InputError(source.name, str(error), line=line) from None
            zones |= {zone} - {""}
            hosts.add(fields[0])
            yield _Load(time_s, "all" if row["CPU"] in _ALL else row["CPU"], spent)


def _stamp(text: str) -> tuple[float, str]:
    """Return seconds since 1970 and a zone other than UTC, of ``2019-04-18 13:20:19 UTC`` or ``1555593619`` (-U)."""
    if text.isdecimal() and text.isascii() and len(text) < 15:
        return float(text), ""
    moment, _, zone = text.rpartition(" ") if text.count(" ") > 1 else (text, "", _UNKNOWN_ZONE)
    try:
        return _seconds(moment), "" if zone == "UTC" else zone
    except ValueError:
        raise ValueError(f"timestamp {text[:40]!r}; YYYY-MM-DD HH:MM:SS is expected") from None


def _seconds(moment: str) -> float:
    """Return seconds since 1970 of a date and a time, taken as UTC."""
    return datetime.strptime(moment, "%Y-%m-%d %H:%M:%S").replace(tzinfo=UTC).timestamp()


def _percent(text: str) -> float:
    try:
        value = float(text.replace(",", "."))  # a decimal comma, where the locale has one
    except ValueError:
        value = -1.0
    if not 0.0 <= value <= 1000.0:
        raise ValueError(f"{text[:40]!r} is met where per cent of time are expected")
    return value


class _Samples(msgspec.Struct):
    """One series: its labels, and pairs of a time in seconds and a number as text."""

    metric: dict[str, str]
    values: tuple[tuple[float, str], ...] = ()


class _Data(msgspec.Struct, rename="camel"):
    result_type: str
    result: msgspec.Raw  # its shape depends on the type


class _Answer(msgspec.Struct, rename="camel"):
    status: str
    data: _Data | None = None
    error_type: str = ""
    error: str = ""
    warnings: tuple[str, ...] = ()


class PrometheusReader(Reader):
    """Read the JSON of ``/api/v1/query_range``.

    A series is a column, named by the labels in which it differs. Times are seconds since 1970; a sample that is
    absent, NaN or infinite is missing.
    """

    def read(self, source: Source, options: Any) -> Series:
        answer = decode_document(source, _Answer, "an answer of Prometheus")
        if answer.status != "success" or answer.data is None:
            problem = f"the server refused the query: {' '.join(f'{answer.error_type}: {answer.error}'.split())[:300]}"
            raise InputError(source.name, problem)
        if answer.data.result_type != "matrix":
            problem = f"holds a {answer.data.result_type[:20]!r}; ask the server for a range: /api/v1/query_range"
            raise InputError(source.name, problem)
        try:  # what was taken as raw was not looked at: neither its texts nor its depth
            matrix = decode_json(answer.data.result, tuple[_Samples, ...])
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            place = str(error).replace("`$", "`$.data.result")
            raise InputError(source.name, f"is not a matrix of Prometheus: {place}") from None
        with_samples = [(position, samples) for position, samples in enumerate(matrix) if samples.values]
        if not with_samples:
            raise InputError(source.name, "the query found no samples; check its labels and its range of time")
        names, shared = _column_names([samples.metric for _, samples in with_samples])
        notes = [f"all series: {shared}"] if shared else []
        notes += [" ".join(warning.split()) for warning in answer.warnings]
        read = [_numbers(samples, position, source.name) for position, samples in with_samples]
        times = np.unique(np.concatenate([sample_times for sample_times, _ in read]))
        columns = {}
        for name, (sample_times, values) in zip(names, read, strict=True):
            if infinite := int(np.isinf(values).sum()):
                notes.append(f"{name}: {infinite} infinite samples are taken as missing")
            columns[name] = np.full(len(times), np.nan)
            columns[name][np.searchsorted(times, sample_times)] = np.where(np.isinf(values), np.nan, values)
        return Series(times, columns, "s", source=source.name, notes=notes[:_MOST_NOTED])


def _numbers(samples: _Samples, position: int, source: str) -> tuple[Floats, Floats]:
    """Return times and values of one series; the server writes NaN, +Inf and -Inf as Python reads them."""
    times = np.array([time for time, _ in samples.values])
    try:
        values = np.array([float(text) for _, text in samples.values])
    except ValueError as error:
        raise InputError(source, f"{error} - at `$.data.result[{position}].values`") from None
    if not (rising := np.diff(times) > 0).all():
        late = int(np.argmin(rising)) + 1
        problem = f"time {times[late]!s} follows {times[late - 1]!s} - at `$.data.result[{position}].values[{late}]`"
        raise InputError(source, f"{problem}; times must increase")
    return times, values


def _column_names(metrics: Sequence[Mapping[str, str]]) -> tuple[list[str], str]:
    """Return a name for each series from the labels that differ, and the labels that all share."""
    labels = sorted({label for metric in metrics for label in metric})
    differing = [label for label in labels if len({metric.get(label) for metric in metrics}) > 1]
    if not differing and _NAME in labels:
        differing = [_NAME]
    names = []
    for metric in metrics:
        own = (label for label in differing if label in metric)
        parts = (metric[label] if label == _NAME else f"{label}={metric[label]}" for label in own)
        names.append(", ".join(" ".join(part.split()) for part in parts) or "value")
    # Labels that hold line ends or commas, or a damaged answer, could make two names alike.
    counts = Counter(name.casefold() for name in names)
    unique = [f"{name} #{position}" if counts[name.casefold()] > 1 else name for position, name in enumerate(names)]
    shared = ", ".join(f"{label}={metrics[0][label]}" for label in labels if label not in differing)
    return unique, " ".join(shared.split())
