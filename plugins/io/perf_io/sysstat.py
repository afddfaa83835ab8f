"""Utilization of processors as the tools of sysstat record it: mpstat and sadf."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Generic, TypeVar

import msgspec
import numpy as np

from perf_io.options import CpuOptions
from perf_io.text import decode_document, numbered_lines
from perfcore.base.arrays import Floats
from perfcore.base.errors import DataError, InputError
from perfcore.data.series import Series
from perfcore.reading.source import Reader, Source


def shares_of(idle: Floats, iowait: Floats, steal: Floats) -> dict[str, Floats]:
    """All measures, by name, of shares of a processor's time."""
    # Printed with two digits, the parts may sum to a little more than 1.
    available = np.clip(idle + iowait, 0.0, 1.0)
    return {"busy": 1.0 - available, "available": available, "iowait": iowait, "steal": steal}


class CpuLoad(msgspec.Struct):
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


class CpuShares:
    """Collects records of processors, then gives them as a series.

    Busy is what is neither idle nor iowait: a processor that waits for I/O has nothing to run, so another process could
    have it. Time that a hypervisor took (steal) is busy, since it was not to be had.
    """

    def __init__(self, source: str) -> None:
        self._source = source
        self._times: list[float] = []
        self._rows: list[int] = []
        self._cpus: list[int] = []
        self._values: list[tuple[float, float, float]] = []
        self._names: dict[str, int] = {}

    @property
    def last_time(self) -> float | None:
        """Time of the latest record in seconds; None before the first."""
        return self._times[-1] if self._times else None

    def add(self, time_s: float, cpu: str, percent: Mapping[str, float]) -> None:
        if not self._times or time_s != self._times[-1]:
            self._times.append(time_s)
        self._rows.append(len(self._times) - 1)
        self._cpus.append(self._names.setdefault(cpu, len(self._names)))
        online = any(percent.values())
        shares = tuple(percent.get(name, 0.0) for name in ("idle", "iowait", "steal"))
        self._values.append(shares if online else (np.nan,) * 3)  # type: ignore[arg-type]

    def add_loads(self, time_s: float, loads: Sequence[CpuLoad]) -> None:
        for load in loads:
            percent = msgspec.structs.asdict(load)
            self.add(time_s, str(percent.pop("cpu")), percent)

    def series(self, measures: Sequence[str], notes: Sequence[str] = ()) -> Series:
        """One column for each processor and measure; NaN where a processor was offline or not recorded."""
        if not self._times:
            raise InputError(
                self._source,
                "holds no utilization of processors; record it with `mpstat -P ALL 1 -o JSON`, or export it with "
                "`sadf -j -- -u -P ALL` or `sadf -d -- -u -P ALL`",
            )
        table = np.full((3, len(self._names), len(self._times)), np.nan)
        table[:, self._cpus, self._rows] = np.array(self._values).T / 100.0
        by_name = shares_of(*table)
        columns: dict[str, Floats] = {
            f"cpu {cpu} {measure}": by_name[measure][row] for cpu, row in self._names.items() for measure in measures
        }
        try:
            return Series(np.array(self._times), columns, "s", source=self._source, notes=notes)
        except DataError as error:
            problem = str(error).removeprefix(f"{self._source}: ")
            raise InputError(self._source, f"{problem}; was the clock set back? cut the file there") from None


_DAY_S = 86_400
_CLOCK = re.compile(r"(\d{1,2}):(\d{2}):(\d{2})(?: ?([AaPp])\.?[Mm]\.?)?")
_STARTS = re.compile(rb'\s*\{\s*"sysstat"\s*:')
_TIME_OF_DAY = re.compile(rb'"timestamp"\s*:\s*"')


S = TypeVar("S")


class _Host(msgspec.Struct, Generic[S]):
    nodename: str = "unknown host"
    date: str = "an unknown date"
    statistics: tuple[S, ...] = ()


class _Hosts(msgspec.Struct, Generic[S]):
    hosts: tuple[_Host[S], ...]


class _Document(msgspec.Struct, Generic[S]):
    sysstat: _Hosts[S]


class _MpstatSample(msgspec.Struct, rename="kebab"):
    timestamp: str
    cpu_load: tuple[CpuLoad, ...] = ()


class MpstatReader(Reader):
    """Reads what mpstat of the sysstat tools prints with ``-o JSON``.

    Times are seconds since midnight of the first day by the host's clock: the format's date depends on the locale of
    who recorded it, so that it cannot be read safely; the notes give it as it stands. Each sample is about the interval
    that ends at its time.
    """

    Options = CpuOptions

    def sniff(self, source: Source) -> float:
        """Sure where sysstat's frame holds timestamps that are times of day, which `sadf` does not write."""
        return 0.95 if _STARTS.match(source.head) and _TIME_OF_DAY.search(source.head) else 0.0

    def read(self, source: Source, options: CpuOptions) -> Series:
        document = decode_document(source, _Document[_MpstatSample], "the output of mpstat -o JSON")
        if len(document.sysstat.hosts) != 1:
            raise InputError(source.name, f"is of {len(document.sysstat.hosts)} hosts; one is expected")
        host = document.sysstat.hosts[0]
        shares = CpuShares(source.name)
        for number, sample in enumerate(host.statistics):
            if not sample.cpu_load:
                continue
            time_s: float = _since_midnight(sample.timestamp, source.name, number)
            last = shares.last_time
            if last is not None:
                days, before = divmod(last, _DAY_S)
                # Only midnight takes a clock back by half a day or more.
                time_s += (days + (before - time_s > _DAY_S / 2)) * _DAY_S
            shares.add_loads(time_s, sample.cpu_load)
        return shares.series(options.measures, [f"recorded on {host.nodename}, {host.date}; times count from midnight"])


def _since_midnight(text: str, source: str, number: int) -> int:
    """Seconds since midnight of ``17:05:59`` or ``05:05:59 PM``."""
    match = _CLOCK.fullmatch(text.strip())
    if match is None:
        problem = f"timestamp {text[:40]!r} - at `$.sysstat.hosts[0].statistics[{number}]`; HH:MM:SS is expected"
        raise InputError(source, problem)
    hour, minute, second = (int(part) for part in match.groups()[:3])
    if match[4] is not None:
        hour = hour % 12 + 12 * (match[4] in "Pp")
    return hour * 3600 + minute * 60 + second


_JSON_TIME = re.compile(rb'"file-date"\s*:|"timestamp"\s*:\s*\{')
_TABLE = b"# hostname;interval;timestamp"
_EVENT = "-1"  # stands for the interval in lines about restarts and in comments
_ALL = ("-1", "all")  # how the tables call all processors together


class _Timestamp(msgspec.Struct):
    date: str
    time: str
    tz: str = ""
    utc: int = 0


class _SadfSample(msgspec.Struct, rename="kebab"):
    timestamp: _Timestamp | None = None
    cpu_load: tuple[CpuLoad, ...] = ()
    cpu_load_all: tuple[CpuLoad, ...] = ()  # the name until sysstat 12


class SadfReader(Reader):
    """Reads ``sadf -j FILE -- -u ALL -P ALL`` and ``sadf -d FILE -- -u ALL -P ALL``.

    Choose it for what the collector of sysstat kept over days. Times are seconds since 1970; a time without a zone
    counts as UTC, and the notes say so. Other activities in the file are passed over.
    """

    Options = CpuOptions

    def sniff(self, source: Source) -> float:
        """Sure by the tables' first line; in JSON by timestamps that have a date, which `mpstat` does not write."""
        if source.head.startswith(_TABLE):
            return 0.95
        return 0.95 if _STARTS.match(source.head) and _JSON_TIME.search(source.head) else 0.0

    def read(self, source: Source, options: CpuOptions) -> Series:
        shares = CpuShares(source.name)
        hosts_and_zones = (
            _read_json(source, shares) if source.head.lstrip()[:1] == b"{" else _read_table(source, shares)
        )
        hosts, zones = (sorted(" ".join(name.split()) for name in names) for names in hosts_and_zones)
        if len(hosts) > 1:
            raise InputError(source.name, f"is of several hosts: {', '.join(hosts)[:120]}; export them one by one")
        notes = [f"recorded on {hosts[0]}"] if hosts else []
        if zones:
            notes.append(f"times are local ({', '.join(zones)}) and taken as if they were UTC")
        return shares.series(options.measures, notes)


def _read_json(source: Source, shares: CpuShares) -> tuple[set[str], set[str]]:
    """Add all records; returns the hosts, and the time zones other than UTC."""
    document = decode_document(source, _Document[_SadfSample], "the output of sadf -j")
    zones: set[str] = set()
    for position, host in enumerate(document.sysstat.hosts):
        for number, sample in enumerate(host.statistics):
            loads = sample.cpu_load or sample.cpu_load_all
            if sample.timestamp is None or not loads:
                continue
            stamp = sample.timestamp
            try:
                time_s = _seconds(f"{stamp.date} {stamp.time}")
            except ValueError:
                place = f"`$.sysstat.hosts[{position}].statistics[{number}]`; YYYY-MM-DD and HH:MM:SS are expected"
                problem = f"timestamp {stamp.date[:20]!r}, {stamp.time[:20]!r} - at {place}"
                raise InputError(source.name, problem) from None
            if stamp.tz != "UTC" and not stamp.utc:
                zones.add(stamp.tz or "of an unknown zone")
            shares.add_loads(time_s, loads)
    return {host.nodename for host in document.sysstat.hosts}, zones


def _read_table(source: Source, shares: CpuShares) -> tuple[set[str], set[str]]:
    """Add all records; returns the hosts, and the time zones other than UTC."""
    hosts: set[str] = set()
    zones: set[str] = set()
    names: Sequence[str] | None = None  # of the section's fields; None where the section is not about processors
    for line, text in numbered_lines(source):
        fields = text.split(";")
        if fields[0].startswith("#"):
            # Softirq statistics, too, have a column CPU; only utilization has an idle share.
            names = [field.lstrip("%") for field in fields] if {"timestamp", "CPU", "%idle"} <= set(fields) else None
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
        if zone:
            zones.add(zone)
        hosts.add(fields[0])
        shares.add(time_s, "all" if row["CPU"] in _ALL else row["CPU"], spent)
    return hosts, zones


def _stamp(text: str) -> tuple[float, str]:
    """Seconds since 1970 and a zone other than UTC, of ``2019-04-18 13:20:19 UTC`` or, with ``-U``, ``1555593619``."""
    if text.isdecimal() and text.isascii() and len(text) < 15:
        return float(text), ""
    moment, _, zone = text.rpartition(" ") if text.count(" ") > 1 else (text, "", "of an unknown zone")
    try:
        return _seconds(moment), "" if zone == "UTC" else zone
    except ValueError:
        raise ValueError(f"timestamp {text[:40]!r}; YYYY-MM-DD HH:MM:SS is expected") from None


def _seconds(moment: str) -> float:
    """Seconds since 1970 of a date and a time, taken as UTC."""
    return datetime.strptime(moment, "%Y-%m-%d %H:%M:%S").replace(tzinfo=UTC).timestamp()


def _percent(text: str) -> float:
    try:
        value = float(text.replace(",", "."))  # a decimal comma, where the locale has one
    except ValueError:
        raise ValueError(f"{text[:40]!r} is met where per cent of time are expected") from None
    if not 0.0 <= value <= 1000.0:
        raise ValueError(f"{text[:40]!r} is met where per cent of time are expected")
    return value
