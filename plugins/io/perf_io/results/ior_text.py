"""What IOR prints for people, and its table as CSV: a line for each repetition of each access.

The columns are told by the heading, since versions differ: 3.0 has neither IOPS nor latency. What a run was set up
with stands above the table, in lines ``tasks : 16``, or ``clients = 16 (8 per node)`` until 3.1.

Source: IOR 3.0 to 4.0, ``src/ior-output.c``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from perf_io.results.result_table import Row, number_or_text
from perf_io.shared.numbered_lines import numbered_lines
from perfcore.base.errors import InputError
from perfcore.reading.source import Source


_TITLE = re.compile(r"IOR-\S+: MPI Coordinated Test of Parallel I/O")
_HEADING = re.compile(r"access(?:,| +)bw\(MiB/s\)[^\n]*")
_SETTING = re.compile(r"(api|access|nodes|tasks|clients per node|segments|clients)\s*[:=]\s*(\S.*)")
_CLIENTS = re.compile(r"([0-9]{1,9}) \(([0-9]{1,9}) per node\)")
_SETTINGS = {
    **{"api": "api", "access": "file_access", "nodes": "nodes", "tasks": "tasks", "clients per node": "tasks_per_node"},
    **{"segments": "segments"},
}
# The columns that headings become; removing the file has no bandwidth and is no row.
_COLUMNS = {
    **{"access": "operation", "bw(MiB/s)": "bandwidth", "IOPS": "iops", "Latency(s)": "latency_s"},
    **{"Latency": "latency_s", "block(KiB)": "block_kib", "xfer(KiB)": "transfer_kib", "open(s)": "open_s"},
    **{"wr/rd(s)": "transfer_s", "close(s)": "close_s", "total(s)": "total_s", "numTasks": "tasks"},
    **{"iter": "repetition"},
}
_ACCESSES = ("write", "read")
_AFTER_TABLE = ("Max ", "Summary of all tests", "Operation ")


def text_results(source: Source) -> tuple[list[Row], list[int]]:
    """Rows of all tables of a text, and their lines."""
    setup: Row = {}
    headings: Sequence[str] = ()
    rows: list[Row] = []
    lines: list[int] = []
    for number, text in numbered_lines(source):
        stripped = text.strip()
        if _TITLE.match(stripped):
            setup, headings = {}, ()
        elif _HEADING.fullmatch(stripped):
            headings = _fields(stripped)
        elif stripped.startswith(_AFTER_TABLE):
            headings = ()
        elif headings:
            fields = _fields(stripped)
            if fields and fields[0] in _ACCESSES:
                rows.append({**setup, **_row(fields, headings, source.name, number)})
                lines.append(number)
        elif match := _SETTING.fullmatch(stripped):
            setup |= _setting(match[1], match[2])
    return rows, lines


def _fields(text: str) -> list[str]:
    return [" ".join(field.split()) for field in text.split(",")] if "," in text else text.split()


def _setting(name: str, text: str) -> Row:
    """Columns of one line of the setup."""
    if name != "clients":
        return {_SETTINGS[name]: number_or_text(text)}
    match = _CLIENTS.fullmatch(text)
    return {"tasks": int(match[1]), "tasks_per_node": int(match[2])} if match else {}


def _row(fields: Sequence[str], headings: Sequence[str], source: str, line: int) -> Row:
    if len(fields) != len(headings):
        raise InputError(source, f"has {len(fields)} fields, expected {', '.join(headings)[:120]}", line=line)
    row: Row = {}
    for heading, field in zip(headings, fields, strict=True):
        column = _COLUMNS.get(heading)
        if column is None:
            continue
        value = None if field in ("-", "NA") else number_or_text(field)
        if column != "operation" and isinstance(value, str):
            raise InputError(source, f"{heading} {field[:40]!r} is no number", line=line)
        row[column] = value
    if row.get("bandwidth") is None:
        raise InputError(source, f"the {row['operation']} has no bandwidth", line=line)
    if row.get("repetition") is not None:
        row["repetition"] += 1  # they are counted from 0
    return row
