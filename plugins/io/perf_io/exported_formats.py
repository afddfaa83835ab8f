"""Formats that are known by their first bytes and not read themselves: each with the export that is."""

from __future__ import annotations

import re
import shlex
from pathlib import PurePath

from perfcore.reading.source import Source

_HPCTOOLKIT = (b"HPCTOOLKIT", b"HPCRUN-profile", b"HPCRUN-trace")  # databases; measurements that no database is of yet
_HPCTOOLKIT_XML = b"<!DOCTYPE HPCToolkitExperiment"
_PERF_STAT_HEAD = 4096
_PERF_SCRIPT = re.compile(rb"\S[^\n]*?\s[0-9]+(?:/[0-9]+)?\s+(?:\[[0-9]+\]\s+)?[0-9]+\.[0-9]{6}:\s+[0-9]+ [\w:./-]+:\s")
_SEFF = re.compile(rb"\s*Job ID: ([0-9_]{1,20})[^\n]*\n(?:Array Job ID: [^\n]*\n)?Cluster: ")
_SAR = re.compile(rb"Linux \S+ \([^()\n]*\)[ \t]+\S+[ \t]+_\w+_[ \t]+\([0-9]+ CPU\)")
_ASV = re.compile(rb'\s*\{\s*(?=[^\0]*"commit_hash"\s*:)(?=[^\0]*"results"\s*:)')
_JMH_TEXT = re.compile(rb"^(?:# JMH version: |Benchmark +(?:\([^\n]*\) +)?Mode +Cnt +Score\b)", re.MULTILINE)
_XML_HEAD = 4096  # bytes, within which its type stands

# Of Perfetto's protos/perfetto/trace: a Trace is packets (field 1), of which each has one of these first fields,
# numbers or bytes: clock snapshots, time stamps, sequences, events, descriptors, configurations, markers.
_TAGS = sorted(
    field << 3 | wire for field in (3, 6, 8, 10, 11, 12, 13, 33, 36, 41, 42, 44, 45, 58, 59, 60, 79) for wire in (0, 2)
)
_PERFETTO = re.compile(
    rb"\n([\x80-\xff]{0,3}[\x01-\x7f])(?:"
    + b"|".join(re.escape(bytes([tag] if tag < 0x80 else [tag & 0x7F | 0x80, tag >> 7])) for tag in _TAGS)
    + rb")"
)


def export_command(source: Source) -> str | None:
    """What to do with a file of such a format, as one line; None for any other file."""
    head, name = source.head, source.name
    if head.startswith(_HPCTOOLKIT) or _HPCTOOLKIT_XML in head[:_XML_HEAD]:
        folder = shlex.quote(str(PurePath(name).parent))
        code = shlex.quote(
            "import sys, pipit; pipit.Trace.from_hpctoolkit(sys.argv[1]).events.to_csv('events.csv', index=False)"
        )
        return (
            "is of a database of HPCToolkit, which is not read; its traces are as a table of events, by Pipit "
            f"(github.com/hpcgroup/pipit): python -c {code} {folder} && perf info events.csv"
        )
    if (of_perf := _of_linux_perf(head)) is not None:
        return (
            f"{of_perf}, which is not read: samples say where a program was met, and not how long its calls took; read "
            "are counts, by perf stat -x, -o FILE, and traces and profiles of the tools in `perf info --formats`"
        )
    if head[:_PERF_STAT_HEAD].lstrip().startswith(b"Performance counter stats for"):
        return (
            "is what `perf stat` prints for people; its counts are read with -x, or -j: perf stat -x, -o FILE COMMAND"
        )
    if match := _SEFF.match(head):
        return (
            "is what Slurm's seff prints of a job; the same is read of any number of jobs from sacct: "
            f"sacct -j {match[1].decode()} --parsable2 --format=JobID,JobName,State,Elapsed,NNodes,NCPUS > jobs.txt"
        )
    if _SAR.match(head):
        return (
            "is what sar, mpstat or iostat print for people; the same is read as sadf -d FILE > cpu.csv, where FILE is "
            "what sar recorded (sar -o FILE, or /var/log/sa/saDD), and as mpstat -P ALL -o JSON 1 > cpu.json"
        )
    if _ASV.match(head):
        folder = shlex.quote(str(PurePath(name).parent.parent))
        return f"is a result of airspeed velocity (asv) for one commit; the folder of all is read: perf gate {folder}"
    if _JMH_TEXT.search(head):
        return "is what JMH prints for people; its JSON is read: java -jar benchmarks.jar -rf json -rff jmh.json"
    match = _PERFETTO.match(head)
    end = 0 if match is None else match.end(1) + sum((byte & 0x7F) << 7 * place for place, byte in enumerate(match[1]))
    if end and (end == len(head) or head[end : end + 1] == b"\n"):
        json = shlex.quote(f"{PurePath(name).name}.json")
        return (
            "is Perfetto's binary format, which is not read; its JSON is, by Perfetto's traceconv: "
            f"traceconv json {shlex.quote(name)} {json} && perf info {json}"
        )
    return None


def _of_linux_perf(head: bytes) -> str | None:
    """What of Linux's sampling a file is."""
    if head.startswith(b"PERFILE2"):
        return "is the record of Linux's `perf record`"
    if head.startswith(b"# To display the perf.data header info"):
        return "is what Linux's `perf explore --stdio` prints"
    return "is what Linux's `perf script` prints" if _PERF_SCRIPT.match(head) else None
