"""Utilization of processors from the archives of sysstat, as ``sadf -j`` and ``sadf -d`` export them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime

import msgspec

from perf_io.monitors.cpu_shares import CpuLoad, CpuShares
from perf_io.monitors.options import CpuOptions
from perf_io.shared.json_document import decode_document
from perf_io.shared.numbered_lines import numbered_lines
from perfcore.base.errors import InputError
from perfcore.contracts import Reader
from perfcore.data.series import Series
from perfcore.reading.source import Source

_JSON = re.compile(rb'\s*\{\s*"sysstat"\s*:')
_JSON_TIME = re.compile(rb'"file-date"\s*:|"timestamp"\s*:\s*\{')
_TABLE = b"# hostname;interval;timestamp"
_EVENT = "-1"  # stands for the interval in lines about restarts and in comments
_ALL = ("-1", "all")  # how the tables call all processors together


class _Timestamp(msgspec.Struct):
    date: str
    time: str
    tz: str = ""
    utc: int = 0


class _Statistics(msgspec.Struct, rename="kebab"):
    timestamp: _Timestamp | None = None
    cpu_load: tuple[CpuLoad, ...] = ()
    cpu_load_all: tuple[CpuLoad, ...] = ()  # the name until sysstat 12


class _Host(msgspec.Struct):
    nodename: str = "unknown host"
    statistics: tuple[_Statistics, ...] = ()


class _Sysstat(msgspec.Struct):
    hosts: tuple[_Host, ...]


class _Document(msgspec.Struct):
    sysstat: _Sysstat


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
        return 0.95 if _JSON.match(source.head) and _JSON_TIME.search(source.head) else 0.0

    def read(self, source: Source, options: CpuOptions) -> Series:
        """Read the load of each processor."""
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
    document = decode_document(source, _Document, "the output of sadf -j")
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
                raise InputError(
                    source.name,
                    f"timestamp {stamp.date[:20]!r}, {stamp.time[:20]!r} - at "
                    f"`$.sysstat.hosts[{position}].statistics[{number}]`; YYYY-MM-DD and HH:MM:SS are expected",
                ) from None
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
