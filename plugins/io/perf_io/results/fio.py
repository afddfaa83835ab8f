"""JSON of fio (``--output-format=json`` or ``json+``).

Source: fio, ``HOWTO``, section "JSON output", and ``stat.c``.
"""

from __future__ import annotations

import re

import msgspec

from perf_io.results.result_table import Row, results
from perf_io.shared.json_document import decode_document
from perfcore.base import progress
from perfcore.base.errors import InputError
from perfcore.contracts import NoOptions, Reader
from perfcore.data.measurements import Measurements
from perfcore.reading.source import Source

_STARTS = re.compile(rb'\s*\{\s*"fio version"\s*:')
# fio counts in powers of 1024 unless kb_base says otherwise, and drops a B at the end.
_SIZE = re.compile(r"([0-9]{1,15})\s*([kmgtp]?)i?b?", re.IGNORECASE)
_POWERS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4, "p": 5}


class _Latency(msgspec.Struct):
    mean: float = 0.0


class _Traffic(msgspec.Struct):
    io_bytes: float = 0.0
    bw_bytes: float = 0.0
    iops: float = 0.0
    runtime: float = 0.0
    total_ios: float = 0.0
    lat_ns: _Latency = msgspec.field(default_factory=_Latency)


class _Job(msgspec.Struct):
    jobname: str
    groupid: int = 0
    error: int = 0
    options: dict[str, str] = msgspec.field(default_factory=dict, name="job options")
    read: _Traffic = msgspec.field(default_factory=_Traffic)
    write: _Traffic = msgspec.field(default_factory=_Traffic)
    trim: _Traffic = msgspec.field(default_factory=_Traffic)


class _Document(msgspec.Struct):
    jobs: list[_Job]
    global_options: dict[str, str] = msgspec.field(default_factory=dict, name="global options")


class FioReader(Reader):
    """Jobs of fio; each direction (read, write, trim) in which a job moved data is a row.

    The value is the bandwidth in bytes per second; ``iops``, ``runtime_ms`` and ``latency_ns`` (the mean) are columns.
    Job and direction are the code; ``numjobs``, ``iodepth``, ``bs_bytes`` and ``size_bytes`` are the parameters.
    """

    def sniff(self, source: Source) -> float:
        """Sure by the version with which the document begins."""
        return 0.95 if _STARTS.match(source.head) else 0.0

    def read(self, source: Source, options: NoOptions) -> Measurements:
        """Read all jobs that moved data.

        Raises
        ------
        InputError
            No such document, or no job that moved data.
        """
        document = decode_document(source, _Document, "JSON of fio")
        rows: list[Row] = []
        failed = 0
        for job in document.jobs:
            if job.error:
                failed += 1
                continue
            job_options = {**document.global_options, **job.options}
            for direction in ("read", "write", "trim"):
                traffic: _Traffic = getattr(job, direction)
                if traffic.total_ios <= 0:
                    continue
                rows.append(
                    {
                        "job": job.jobname,
                        "operation": direction,
                        "ioengine": job_options.get("ioengine", ""),
                        "rw": job_options.get("rw", job_options.get("readwrite", "")),
                        "numjobs": _count(job_options.get("numjobs", "1")),
                        "iodepth": _count(job_options.get("iodepth", "1")),
                        "bs_bytes": _bytes(job_options.get("bs", job_options.get("blocksize", "4k"))),
                        "size_bytes": _bytes(job_options.get("size", "")),
                        "bandwidth": traffic.bw_bytes,
                        "iops": traffic.iops,
                        "runtime_ms": traffic.runtime,
                        "latency_ns": traffic.lat_ns.mean,
                        "io_bytes": traffic.io_bytes,
                    }
                )
        if failed:
            progress.note(f"{source.name}: left out, since they failed: {failed} jobs")
        if not rows:
            raise InputError(source.name, "holds no job that moved data")
        return results(
            rows,
            source.name,
            parameters=["numjobs", "iodepth", "bs_bytes", "size_bytes"],
            value="bandwidth",
            code=["job", "operation"],
            unit="B/s",
        )


def _count(text: str) -> int | None:
    return int(text) if re.fullmatch(r"[0-9]{1,9}", text) else None


def _bytes(text: str) -> int | None:
    """A size as fio reads it; None for ranges, shares and what else is not one number."""
    match = _SIZE.fullmatch(text.strip())
    return int(match[1]) * 1024 ** _POWERS[match[2].lower()] if match else None
