"""What the NAS Parallel Benchmarks print.

Source: NPB 3.4, ``common/print_results.f90`` of the MPI, OpenMP and serial versions.
"""

from __future__ import annotations

import re

from perf_io.results.result_table import Row, number_or_text, results
from perf_io.shared.numbered_lines import numbered_lines
from perfcore.base import progress
from perfcore.base.errors import InputError
from perfcore.contracts import NoOptions, Reader
from perfcore.data.measurements import Measurements
from perfcore.reading.source import Source

_TITLE = b"NAS Parallel Benchmarks"
_COMPLETED = re.compile(r"\s*(\w+)\s+Benchmark Completed\.?\s*")
# What is printed, and the column that it becomes.
_COLUMNS = {
    **{"Class": "class", "Size": "size", "Iterations": "iterations", "Time in seconds": "time_s"},
    **{"Total processes": "processes", "Active processes": "active_processes"},
    **{"Total threads": "threads", "Avail threads": "available_threads"},
    **{"Mop/s total": "mops_total", "Verification": "verification", "Version": "version"},
}


class NpbReader(Reader):
    """Runs of the NAS Parallel Benchmarks; each ``Benchmark Completed`` in the output is a row.

    Benchmark and class are the code, the number of processes or threads is the parameter. Runs that were verified as
    wrong are left out.
    """

    def sniff(self, source: Source) -> float:
        """Sure by the title that every benchmark prints."""
        return 0.95 if _TITLE in source.head and b"\0" not in source.head else 0.0

    def read(self, source: Source, options: NoOptions) -> Measurements:
        """Read all completed runs.

        Raises
        ------
        InputError
            No run was completed, or one has no time or no number where one belongs; with its line.
        """
        rows: list[Row] = []
        lines: list[int] = []
        in_run = False
        for number, text in numbered_lines(source):
            if completed := _COMPLETED.fullmatch(text):
                rows.append({"benchmark": completed[1]})
                lines.append(number)
                in_run = True
            elif in_run and (column := _COLUMNS.get(text.partition("=")[0].strip())):
                _add(rows[-1], column, text.partition("=")[2].strip(), source.name, number)
            elif text.strip() == "Compile options:":
                in_run = False
        if not rows:
            raise InputError(source.name, "no benchmark was completed; the output has no 'Benchmark Completed'")
        for row, line in zip(rows, lines, strict=True):
            if "time_s" not in row:
                raise InputError(source.name, f"{row['benchmark']} has no 'Time in seconds'; cut short?", line=line)
            if "threads" not in row:
                row.setdefault("processes", 1)  # the serial version prints none
        wrong = [str(row.get("verification", "")).startswith("UNSUCC") for row in rows]
        if any(wrong):
            progress.note(f"{source.name}: left out, since they were verified as wrong: {sum(wrong)} runs")
        kept = [index for index, bad in enumerate(wrong) if not bad]
        return results(
            [rows[index] for index in kept],
            source.name,
            parameters=["processes", "threads"],
            value="time_s",
            code=["benchmark", "class"],
            lines=[lines[index] for index in kept],
        )


def _add(row: Row, column: str, text: str, source: str, line: int) -> None:
    value = number_or_text(text) if column not in ("class", "size", "version") else text
    if column in ("time_s", "processes", "threads", "mops_total") and isinstance(value, str):
        raise InputError(source, f"{column} {text[:40]!r} is no number", line=line)
    row[column] = value
