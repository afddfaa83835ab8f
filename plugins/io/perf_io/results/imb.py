"""What the Intel MPI Benchmarks print.

Source: Intel MPI Benchmarks, User Guide, "Output"; tables of IMB-MPI1, -NBC, -P2P, -RMA and -MT.
"""

from __future__ import annotations

import re

from perf_io.results.message_tables import named, without_empty_messages
from perf_io.results.options import MessageOptions
from perf_io.results.result_table import Row, number_or_text, results
from perf_io.shared.numbered_lines import numbered_lines
from perfcore.base import progress
from perfcore.base.errors import InputError
from perfcore.contracts import Reader
from perfcore.data.measurements import Measurements
from perfcore.reading.source import Source

_TITLE = re.compile(rb"#\s*Intel\(R\) MPI Benchmarks|^#\s*Benchmarking \w+\s*$", re.MULTILINE)
_BENCHMARK = re.compile(r"#\s*Benchmarking\s+(\S+).*")
_PROCESSES = re.compile(r"#\s*#processes\s*=\s*([0-9]{1,9}).*")
_MEASURED = ("t_avg", "t", "t_ovrl", "bandwidth")  # what stands for a line, in this order


class ImbReader(Reader):
    """Tables of the Intel MPI Benchmarks; each message size is a row.

    The benchmark is the code, the number of processes and the message size are the parameters, the average time, or
    else the time or the bandwidth, is the value. Sizes for which the memory did not suffice are left out.
    """

    Options = MessageOptions

    def sniff(self, source: Source) -> float:
        """Sure by the title, or by the heading of a table."""
        return 0.95 if _TITLE.search(source.head) and b"\0" not in source.head else 0.0

    def read(self, source: Source, options: MessageOptions) -> Measurements:
        """Read all tables.

        Raises
        ------
        InputError
            No table, or a line in one that is no row of it; with its line.
        """
        benchmark, processes = "", 0
        headings: list[str] = []
        rows: list[Row] = []
        lines: list[int] = []
        missing = 0
        for number, text in numbered_lines(source):
            stripped = text.strip()
            if match := _BENCHMARK.fullmatch(stripped):
                benchmark, processes, headings = match[1], 0, []
            elif match := _PROCESSES.fullmatch(stripped):
                processes = int(match[1])
            elif benchmark and stripped.startswith(("#bytes", "#repetitions")):
                headings = stripped.split()
            elif not stripped or stripped.startswith("#"):
                headings = [] if not stripped and rows else headings
            elif headings:
                if "out-of-mem" in stripped or "time-out" in stripped:
                    missing += 1
                    continue
                rows.append(_row(stripped.split(), headings, benchmark, processes, source.name, number))
                lines.append(number)
        if not rows:
            raise InputError(source.name, "holds no table of the Intel MPI Benchmarks")
        if missing:
            progress.note(f"{source.name}: not measured, for want of memory or time: {missing} message sizes")
        kept, lines = without_empty_messages(rows, lines, source.name, options)
        return results(
            kept, source.name, parameters=["processes", "bytes"], value="value", code=["benchmark"], lines=lines
        )


def _row(fields: list[str], headings: list[str], benchmark: str, processes: int, source: str, line: int) -> Row:
    numbers = [number_or_text(field) for field in fields]
    if len(fields) != len(headings) or any(isinstance(number, str) for number in numbers):
        raise InputError(source, f"{len(headings)} numbers ({', '.join(headings)[:120]}) are expected", line=line)
    row: Row = {"benchmark": benchmark, "processes": processes or None}
    units = {}
    for heading, number in zip(headings, numbers, strict=True):
        column, unit = named(heading)
        row[column] = number
        units[column] = unit
    metric = next((name for name in _MEASURED if name in units), next(reversed(units)))
    value = row.pop(metric)
    return {**row, "metric": metric, "value": value, "unit": units[metric]}
