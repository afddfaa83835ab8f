"""Paraver traces: the state records of a ``.prv`` file, with the names of states from the ``.pcf`` beside it.

The first line is ``#Paraver (date):duration[_unit]:nodes:applications...``; the unit is microseconds unless the
duration says ``_ns``. A state is ``1:cpu:application:task:thread:begin:end:state``. Events (2), communications (3),
global operations (4) and groups of threads (``c``) are counted and passed over. A location is one thread,
``application.task.thread``, also where it has no states. Source: "Paraver: Parallel Program Visualization and Analysis
tool, Tracefile Description", Barcelona Supercomputing Center.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from perf_io.duck import Database, lines_scan
from perf_io.state_table import StateTable, read_states
from perf_io.text_lines import line_of_record
from perf_io.times import parse_ns, sql_ns
from perfcore.contracts import Reader
from perfcore.errors import InputError
from perfcore.source import Source
from perfcore.trace import Trace

__all__ = ["ParaverReader"]

_MAGIC = b"#Paraver"
_HEADER = re.compile(r"#Paraver\s*\([^)]*\):(?P<duration>[0-9]+)(?:_(?P<unit>ns|us|ms|s))?:(?P<rest>.*)", re.DOTALL)
_APPLICATION = re.compile(r"(?P<tasks>[0-9]+)\((?P<threads>[0-9:,\s]*)\)")
_FIELDS = 8  # of a state record
# State numbers as Extrae and Dimemas write them without a .pcf (Paraver's default configuration).
_DEFAULT_STATES = {
    "0": "Idle",
    "1": "Running",
    "2": "Not created",
    "3": "Waiting a message",
    "4": "Blocking Send",
    "5": "Synchronization",
    "6": "Test/Probe",
    "7": "Scheduling and Fork/Join",
    "8": "Wait/WaitAll",
    "9": "Blocked",
    "10": "Immediate Send",
    "11": "Immediate Receive",
    "12": "I/O",
    "13": "Group Communication",
    "14": "Tracing Disabled",
    "15": "Others",
    "16": "Send Receive",
    "17": "Memory transfer",
}
_RUNNING, _RUNNING_NUMBER = "Running", "1"
# Records by their first character, with the word for those that are counted only.
_KINDS = {
    "1": "",
    "#": "",
    "2": "event",
    "3": "communication",
    "4": "global operation",
    "c": "communicator",
}


@dataclass(frozen=True)
class _Header:
    """What the first line says."""

    time_unit: str
    duration_ns: int
    locations: tuple[str, ...]


class ParaverReader(Reader):
    """States of the threads of a Paraver trace.

    Choose it for what Extrae, Dimemas and MPItrace write. A thread computes while it is `Running`.
    """

    def sniff(self, source: Source) -> float:
        """Sure by the first word."""
        return 1.0 if source.head.startswith(_MAGIC) else 0.0

    def read(self, source: Source, options: Any) -> Trace:
        """Read the states.

        Raises
        ------
        InputError
            A header or a state record that is cut short or has no numbers, or overlapping states of one thread; with
            its line.
        """
        first = source.head.split(b"\n", 1)[0].decode(errors="replace").strip()
        header = _header(first, source.name)
        names = _state_names(source)
        with source.plain_file() as path:
            return _read(source.name, path, header, names)


def _header(line: str, source: str) -> _Header:
    found = _HEADER.fullmatch(line)
    if found is None:
        raise InputError(
            source,
            f"{line[:60]!r} is no header of Paraver; expected #Paraver (date):duration:nodes:...",
            line=1,
        )
    unit = found["unit"] or "us"
    locations = []
    # The nodes come first, "4(1,1,1,1)" or just "4", then the number of applications, then each application.
    _, separator, applications = re.sub(r"^[0-9]+(\([0-9,\s]*\))?", "", found["rest"]).lstrip(":").partition(":")
    for number, application in enumerate(_APPLICATION.finditer(applications), start=1):
        threads = [part.split(":")[0] for part in application["threads"].split(",") if part.strip()]
        for task, count in enumerate(threads, start=1):
            if not count.strip().isdecimal() or len(count) > 7:
                raise InputError(source, f"the header has {count[:20]!r} threads in task {task}", line=1)
            locations += [f"{number}.{task}.{thread}" for thread in range(1, int(count) + 1)]
    if not separator:
        raise InputError(source, f"the header {line[:60]!r} names no applications; the file is cut short", line=1)
    return _Header(unit, parse_ns(found["duration"], unit, source, 1), tuple(locations))


def _state_names(source: Source) -> dict[str, str] | None:
    """Names of states by number, from the ``.pcf`` beside the trace; None where there is none."""
    if source.is_stdin:
        return None
    beside = source.path.with_name(re.sub(r"\.prv(\.gz)?$", "", source.path.name, flags=re.IGNORECASE) + ".pcf")
    try:
        lines = beside.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return None
    names: dict[str, str] = {}
    within = False
    for line in lines:
        words = line.split(None, 1)
        if within and len(words) == 2 and words[0].isdecimal():
            names[words[0]] = words[1].strip()
        elif words:
            within = words[0] == "STATES"
    return names or None


def _read(source: str, path: Path, header: _Header, named: Mapping[str, str] | None) -> Trace:
    database = Database(source)
    lines = lines_scan(database.link(path))
    counts = dict(database.rows(f"SELECT left(line, 1), count(*) FROM {lines} WHERE trim(line) <> '' GROUP BY 1"))
    if unknown := counts.keys() - _KINDS.keys():
        line, text = line_of_record(path, lambda text: text.startswith(tuple(unknown)), 0)
        raise InputError(source, f"{text[:60]!r} is no record of Paraver; the file is damaged", line=line)
    begin, end = (sql_ns(f"f[{position}]", "text", header.time_unit) for position in (6, 7))
    database.run(
        "CREATE TABLE records AS SELECT f[3] || '.' || f[4] || '.' || f[5] AS location, "
        "CAST(TRY_CAST(f[8] AS UINTEGER) AS VARCHAR) AS state, "
        f"{begin} AS start_ns, {end} AS end_ns, len(f) AS n_fields "
        f"FROM (SELECT string_split(line, ':') AS f FROM {lines} WHERE starts_with(line, '1'))"
    )

    def at_row(row: int) -> tuple[int, Mapping[str, str]]:
        line, text = line_of_record(path, lambda text: text.startswith("1"), row)
        fields = [*text.split(":"), *[""] * _FIELDS]
        return line, {
            "location": ".".join(fields[2:5]),
            "start": fields[5],
            "end": fields[6],
            "state": fields[7],
        }

    wrong = database.rows(f"SELECT rowid, n_fields FROM records WHERE n_fields <> {_FIELDS} ORDER BY rowid LIMIT 1")
    if wrong:
        row, n_fields = wrong[0]
        raise InputError(
            source,
            f"state record has {n_fields} fields, expected {_FIELDS}; the file is cut short or is not Paraver 2",
            line=at_row(row)[0],
        )
    met = [row[0] for row in database.rows("SELECT DISTINCT state FROM records WHERE state IS NOT NULL ORDER BY state")]
    # Tracers use numbers that their own .pcf leaves out (a synchronization state 15 is common).
    known = _DEFAULT_STATES if named is None else named
    names = {number: known.get(number, f"State {number}") for number in sorted(met, key=int)}
    running = _RUNNING if _RUNNING in names.values() else names.get(_RUNNING_NUMBER)
    notes = [f"{counts[kind]} {what} records passed over" for kind, what in _KINDS.items() if what and kind in counts]
    if named is None:
        notes.append("no .pcf beside it: the states have their usual names")
    elif met and (unnamed := [number for number in names if number not in named]):
        notes.append(f"states without a name in the .pcf: {', '.join(unnamed)}")
    return read_states(
        StateTable(
            database,
            "SELECT location, state, start_ns, end_ns FROM records",
            at_row,
            keeps=True,
            time_unit=header.time_unit,
            locations=header.locations,
            state_names=names,
            busy_states=None if running is None else (running,),
            span_ns=(0, header.duration_ns),
            notes=tuple(notes),
        )
    )
