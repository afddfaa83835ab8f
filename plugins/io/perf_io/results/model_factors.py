"""The table ``modelfactors.csv`` of BSC's basicanalysis: POP's efficiencies of traces, a column for each.

``"Number of processes";2;8``, then a line for each factor with its name, which dashes put below another one, and its
values in per cent; ``Non-Avail``, ``Warning!`` and ``NaN`` stand for none. ``#`` begins a comment.

Source: basicanalysis (BSC Performance Tools), ``modelfactors.py``.
"""

from __future__ import annotations

import csv
import math
import re

from perf_io.results.result_table import SHARE, Row, one_line, results
from perf_io.shared.numbered_lines import numbered_lines
from perfcore.base.errors import InputError
from perfcore.contracts import NoOptions, Reader
from perfcore.data.measurements import Measurements
from perfcore.reading.source import Source

_STARTS = re.compile(rb'\s*"?Number of processes"?;')
_NONE = {"", "nan", "non-avail", "warning!", "n/a"}
_PER_CENT = re.compile(r".*(efficiency|scalability|balance)", re.IGNORECASE)
_PROCESSES = re.compile(r"([0-9]{1,9})(?![0-9]).*")  # of several traces with as many, a number follows


class ModelFactorsReader(Reader):
    """Factors of several runs; one row for each factor of each run, efficiencies as shares.

    Factors have the names that `perf overheads` prints: ``parallel``, ``load balance``, ``IPC scalability``. Their unit
    is ``share``; other figures have none.
    """

    def sniff(self, source: Source) -> float:
        """Sure by the first name."""
        return 0.95 if _STARTS.match(source.head) else 0.0

    def read(self, source: Source, options: NoOptions) -> Measurements:
        """Read the table.

        Raises
        ------
        InputError
            No such table, a line with another number of values, or a value that is no number; with its line.
        """
        processes: list[int] = []
        rows: list[Row] = []
        lines: list[int] = []
        for number, text in numbered_lines(source):
            if not text.strip() or text.lstrip().startswith("#"):
                continue
            name, *values = _cells(text, source.name, number)
            if not processes:
                processes = [_processes(value, source.name, number) for value in values]
                continue
            if len(values) != len(processes):
                problem = f"has {len(values)} values for {len(processes)} runs; is it cut short?"
                raise InputError(source.name, problem, line=number)
            label = one_line(name.strip().lstrip("-"))
            share, unit = (0.01, SHARE) if _PER_CENT.fullmatch(label) else (1.0, "")
            for run, (p, value) in enumerate(zip(processes, values, strict=True), start=1):
                figure = _figure(value, source.name, number)
                if figure is not None:
                    rows.append({"p": p, "run": run, "metric": _called(label), "unit": unit, "value": figure * share})
                    lines.append(number)
        return results(rows, source.name, parameters=["p"], value="value", lines=lines)


def _cells(text: str, source: str, line: int) -> list[str]:
    try:
        return next(csv.reader([text], delimiter=";"))
    except csv.Error as error:
        raise InputError(source, f"is no line of a table: {error}", line=line) from None


def _called(label: str) -> str:
    """A factor as `perf overheads` calls it."""
    words = label.removesuffix(" efficiency").replace("erialization", "erialisation").split(" ")
    if words[0][1:].islower():
        words[0] = words[0].lower()
    return " ".join(words)


def _processes(text: str, source: str, line: int) -> int:
    match = _PROCESSES.fullmatch(text.strip())
    if match is None or not int(match[1]):
        raise InputError(source, f"the number of processes is {text[:40]!r}; a whole number is expected", line=line)
    return int(match[1])


def _figure(text: str, source: str, line: int) -> float | None:
    if text.strip().lower() in _NONE:
        return None
    try:
        figure = float(text)
    except ValueError:
        figure = math.nan
    if not math.isfinite(figure):
        raise InputError(source, f"the value is {text[:40]!r}; a number is expected", line=line)
    return figure
