"""Results of IOR: what it prints, as text, JSON (``-O summaryFormat=JSON``) or CSV.

Source: IOR 3.0 to 4.0, ``src/ior-output.c``; the results of the repetitions stand in the options of their test.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from perf_io.results.ior_text import text_results
from perf_io.results.result_table import Row, number_or_text, results
from perf_io.shared.json_document import decode_document
from perfcore.base.errors import InputError
from perfcore.contracts import NoOptions, Reader
from perfcore.data.measurements import Measurements
from perfcore.reading.source import Source


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
