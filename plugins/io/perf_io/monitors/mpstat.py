"""Utilization of processors as ``mpstat -P ALL 1 -o JSON`` records it."""

from __future__ import annotations

import re

import msgspec

from perf_io.monitors.cpu_shares import CpuLoad, CpuShares
from perf_io.monitors.options import CpuOptions
from perf_io.shared.json_document import decode_document
from perfcore.base.errors import InputError
from perfcore.contracts import Reader
from perfcore.data.series import Series
from perfcore.reading.source import Source

_DAY_S = 86_400
_CLOCK = re.compile(r"(\d{1,2}):(\d{2}):(\d{2})(?: ?([AaPp])\.?[Mm]\.?)?")
_STARTS = re.compile(rb'\s*\{\s*"sysstat"\s*:')
_TIME_OF_DAY = re.compile(rb'"timestamp"\s*:\s*"')


class _Statistics(msgspec.Struct, rename="kebab"):
    timestamp: str
    cpu_load: tuple[CpuLoad, ...] = ()


class _Host(msgspec.Struct):
    nodename: str = "unknown host"
    date: str = "an unknown date"
    statistics: tuple[_Statistics, ...] = ()


class _Sysstat(msgspec.Struct):
    hosts: tuple[_Host, ...]


class _Document(msgspec.Struct):
    sysstat: _Sysstat


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
        """Read the load of each processor."""
        document = decode_document(source, _Document, "the output of mpstat -o JSON")
        if len(document.sysstat.hosts) != 1:
            raise InputError(source.name, f"is of {len(document.sysstat.hosts)} hosts; one is expected")
        host = document.sysstat.hosts[0]
        shares = CpuShares(source.name)
        for number, sample in enumerate(host.statistics):
            if not sample.cpu_load:
                continue
            time_s: float = _seconds(sample.timestamp, source.name, number)
            last = shares.last_time
            if last is not None:
                days, before = divmod(last, _DAY_S)
                # Only midnight takes a clock back by half a day or more.
                time_s += (days + (before - time_s > _DAY_S / 2)) * _DAY_S
            shares.add_loads(time_s, sample.cpu_load)
        return shares.series(options.measures, [f"recorded on {host.nodename}, {host.date}; times count from midnight"])


def _seconds(text: str, source: str, number: int) -> int:
    """Seconds since midnight of ``17:05:59`` or ``05:05:59 PM``."""
    match = _CLOCK.fullmatch(text.strip())
    if match is None:
        raise InputError(
            source, f"timestamp {text[:40]!r} - at `$.sysstat.hosts[0].statistics[{number}]`; HH:MM:SS is expected"
        )
    hour, minute, second = (int(part) for part in match.groups()[:3])
    if match[4] is not None:
        hour = hour % 12 + 12 * (match[4] in "Pp")
    return hour * 3600 + minute * 60 + second
