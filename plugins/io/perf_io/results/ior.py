"""Results of IOR: what it prints, as text, JSON (``-O summaryFormat=JSON``) or CSV.

Source: IOR 3.0 to 4.0, ``src/ior-output.c``; the results of the repetitions stand in the options of their test.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from perf_io.results.result_table import Row, number_or_text, results
from perf_io.shared.json_document import decode_document
from perf_io.shared.numbered_lines import numbered_lines
from perfcore.base.errors import InputError
from perfcore.contracts import NoOptions, Reader
from perfcore.data.measurements import Measurements
from perfcore.reading.source import Source

# What IOR prints for people, and its table as CSV: a line for each repetition of each access.
#
# The columns are told by the heading, since versions differ: 3.0 has neither IOPS nor latency. What a run was set up
# with stands above the table, in lines ``tasks : 16``, or ``clients = 16 (8 per node)`` until 3.1.
#
# Source: IOR 3.0 to 4.0, ``src/ior-output.c``.

_TITLE = re.compile(r"IOR-\S+: MPI Coordinated Test of Parallel I/O")
_HEADING = re.compile(r"access(?:,| +)bw\(MiB/s\)[^\n]*")
_SETTING = re.compile(r"(api|access|nodes|tasks|clients per node|segments|clients)\s*[:=]\s*(\S.*)")
_CLIENTS = re.compile(r"([0-9]{1,9}) \(([0-9]{1,9}) per node\)")
_SETTINGS = {
    **{"api": "api", "access": "file_access", "nodes": "nodes", "tasks": "tasks", "clients per node": "tasks_per_node"},
    **{"segments": "segments"},
}
# The columns that headings become; removing the file has no bandwidth and is no row.
_COLUMNS_IOR_TEXT = {
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
        column = _COLUMNS_IOR_TEXT.get(heading)
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


_STARTS = re.compile(rb'\s*\{\s*"Version"\s*:\s*"')
_KEYS = re.compile(rb'"(?:Command line|tests|TestID)"\s*:')
_TEXT = re.compile(rb"^\s*(?:IOR-\S+: MPI Coordinated Test of Parallel I/O|access(?:,| +)bw\(MiB/s\))", re.MULTILINE)
# Columns that tests have, by the option or parameter that holds them.
_SETUP = {
    **{"api": "api", "access": "file_access", "nodes": "nodes", "tasks": "tasks", "clients per node": "tasks_per_node"},
    **{"segments": "segments"},
}
_COLUMNS = (
    *("operation", "api", "file_access", "nodes", "tasks", "tasks_per_node", "segments", "repetition"),
    *("block_kib", "transfer_kib", "bandwidth", "iops", "latency_s", "open_s", "transfer_s", "close_s", "total_s"),
)


class _Result(msgspec.Struct):
    access: str
    bandwidth: float = msgspec.field(name="bwMiB")
    block: float | None = msgspec.field(default=None, name="blockKiB")
    transfer: float | None = msgspec.field(default=None, name="xferKiB")
    iops: float | None = None
    latency: float | None = None
    open: float | None = msgspec.field(default=None, name="openTime")
    moved: float | None = msgspec.field(default=None, name="wrRdTime")
    close: float | None = msgspec.field(default=None, name="closeTime")
    total: float | None = msgspec.field(default=None, name="totalTime")


class _Test(msgspec.Struct):
    parameters: dict[str, Any] = msgspec.field(default_factory=dict, name="Parameters")
    options: dict[str, Any] = msgspec.field(default_factory=dict, name="Options")
    results: list[Any] = msgspec.field(default_factory=list, name="Results")


class _Document(msgspec.Struct):
    tests: list[_Test]


class IorReader(Reader):
    """Runs of IOR; each repetition of each access (write, read) is a row.

    The value is the bandwidth in MiB/s; the times in seconds are columns. The access is the code; tasks, nodes, block
    and transfer size are the parameters. A text may hold the output of several runs.
    """

    def sniff(self, source: Source) -> float:
        """Sure by the title or the heading of the table; in JSON by the version it begins with, and its other keys."""
        head = source.head
        if _STARTS.match(head):
            return 0.95 if _KEYS.search(head) else 0.0
        return 0.95 if b"\0" not in head and _TEXT.search(head) else 0.0

    def read(self, source: Source, options: NoOptions) -> Measurements:
        """Read all repetitions.

        Raises
        ------
        InputError
            No results, a document of another shape, or a row of the table that is cut short; with its line.
        """
        lines: Sequence[int] | None = None
        if source.head.lstrip().startswith(b"{"):
            rows = list(_rows(decode_document(source, _Document, "JSON of IOR"), source.name))
        else:
            rows, lines = text_results(source)
        present = [column for column in _COLUMNS if any(column in row for row in rows)]
        return results(
            [{column: row.get(column) for column in present} for row in rows],
            source.name,
            parameters=["tasks", "nodes", "block_kib", "transfer_kib"],
            value="bandwidth",
            code=["operation"],
            unit="MiB/s",
            lines=lines,
        )


def _rows(document: _Document, source: str) -> Iterator[Row]:
    for index, test in enumerate(document.tests):
        setup = _setup({**test.parameters, **test.options})
        repetitions: dict[str, int] = {}
        for entry in _flat([test.results, test.options.get("Results", [])]):
            try:
                result = msgspec.convert(entry, _Result)
            except msgspec.ValidationError as error:
                place = str(error).replace("`$", f"`$.tests[{index}]...Results[]")
                raise InputError(source, f"is not JSON of IOR: {place}") from None
            repetitions[result.access] = repetitions.get(result.access, 0) + 1
            yield {
                "operation": result.access,
                **setup,
                "repetition": repetitions[result.access],
                "block_kib": result.block,
                "transfer_kib": result.transfer,
                "bandwidth": result.bandwidth,
                "iops": result.iops,
                "latency_s": result.latency,
                "open_s": result.open,
                "transfer_s": result.moved,
                "close_s": result.close,
                "total_s": result.total,
            }


def _setup(options: Mapping[str, Any]) -> Row:
    row = {column: number_or_text(options[key]) for key, column in _SETUP.items() if key in options}
    if "tasks" not in row and "numTasks" in options:
        row["tasks"] = number_or_text(options["numTasks"])
    return row


def _flat(nested: list[Any]) -> Iterator[Any]:
    """Results in order; some versions put those of a repetition into a list of their own."""
    for entry in nested:
        if isinstance(entry, list):
            yield from _flat(entry)
        else:
            yield entry
