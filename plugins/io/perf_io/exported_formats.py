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
_JMH_TEXT = re.compile(rb"^(?:# JMH version: |Benchmark +(?:\([^\n]*\) +)?Mode +Cnt +Score\b)", re.MULTILINE)
_XML_HEAD = 4096  # bytes, within which its type stands

# Of Perfetto's protos/perfetto/trace: a Trace is packets (field 1), of which each has one of these first fields:
# clock snapshots, time stamps, sequences, events, track descriptors, configurations, markers of synchronization.
_PACKET = 0x0A
_PACKET_FIELDS = frozenset({3, 6, 8, 10, 11, 12, 13, 33, 36, 41, 42, 44, 45, 58, 59, 60, 79})
_LARGEST_FIELD = 1000
_VARINT_BYTES = 10


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
    if _JMH_TEXT.search(head):
        return "is what JMH prints for people; its JSON is read: java -jar benchmarks.jar -rf json -rff jmh.json"
    if _is_perfetto(head):
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


def _is_perfetto(head: bytes) -> bool:
    """Whether bytes begin with a packet of Perfetto, all of whose fields are whole; and another, if there is more."""
    begin = _packet_end(head, 0)
    if begin is None:
        return False
    return begin >= len(head) or head[begin] == _PACKET


def _packet_end(head: bytes, position: int) -> int | None:
    """Where the packet that begins there ends; None where it is no packet, or not whole."""
    if position >= len(head) or head[position] != _PACKET:
        return None
    length, position = _varint(head, position + 1)
    end = position + length
    if not 0 < length <= len(head) - position:
        return None
    has_known_field = False
    while position < end:
        tag, position = _varint(head, position)
        field, wire = tag >> 3, tag & 7
        has_known_field |= field in _PACKET_FIELDS
        if not 0 < field <= _LARGEST_FIELD or wire not in (0, 1, 2, 5):
            return None
        if wire == 0:
            _, position = _varint(head, position)
        elif wire == 2:
            size, position = _varint(head, position)
            position += size
        else:
            position += 8 if wire == 1 else 4
    return end if has_known_field and position == end else None


def _varint(head: bytes, position: int) -> tuple[int, int]:
    """A number of seven bits a byte, and where it ends; beyond the bytes it is more than they can hold."""
    number = 0
    for place in range(_VARINT_BYTES):
        if position + place >= len(head):
            break
        byte = head[position + place]
        number |= (byte & 0x7F) << 7 * place
        if byte < 0x80:
            return number, position + place + 1
    return len(head) + 1, len(head) + 1
