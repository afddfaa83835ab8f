"""What ``go test -bench`` prints.

Source: Go's design document 14313, "Proposal: Go Benchmark Data Format"; package ``testing``.
"""

from __future__ import annotations

import re

from perf_io.results.result_table import Row, joined, number_or_text, results
from perf_io.shared.numbered_lines import numbered_lines
from perfcore.base import progress
from perfcore.base.errors import InputError
from perfcore.contracts import NoOptions, Reader
from perfcore.data.measurements import Measurements
from perfcore.reading.source import Source

_IN_HEAD = re.compile(rb"^Benchmark[^\s\x00]*[ \t]+[0-9]+[ \t]+[0-9][0-9.e+-]* [^\s\d]\S*(?:[ \t]|\r?$)", re.MULTILINE)
_LINE = re.compile(r"Benchmark(\S*)\s+([0-9]{1,15})\s+(\S.*)")
_PACKAGE = re.compile(r"(pkg|cpu):\s+(\S.*)")
_PROCESSORS = re.compile(r"(.+)-([0-9]{1,6})")
_TIME = "ns/op"


class GoBenchReader(Reader):
    """Benchmarks of Go's testing package; each line is a row, also of ``-count``.

    ``BenchmarkSort/n=100-8`` gives the code ``Sort`` and the parameters ``n`` and ``procs`` (``GOMAXPROCS``). The value
    is the time of an operation; what else is measured has columns by its unit, such as ``allocs/op``.
    """

    def sniff(self, source: Source) -> float:
        """Sure by a line of a benchmark: a name, how often it ran, a number and a unit."""
        return 0.95 if _IN_HEAD.search(source.head) else 0.0

    def read(self, source: Source, options: NoOptions) -> Measurements:
        """Read all lines of benchmarks; what else programs print between them is passed over.

        Raises
        ------
        InputError
            No benchmark has a time, or a line has a number without unit; with its line.
        """
        setup: Row = {}
        rows: list[Row] = []
        lines: list[int] = []
        parameters: dict[str, None] = {}
        without_time = 0
        for number, text in numbered_lines(source):
            if match := _PACKAGE.fullmatch(text.strip()):
                setup[match[1]] = match[2]
            elif match := _LINE.fullmatch(text.strip()):
                measured = _measured(match[3].split(), source.name, number)
                if _TIME not in measured:
                    without_time += 1
                    continue
                code, arguments = _taken_apart(match[1])
                parameters.update(dict.fromkeys(arguments))
                columns = {**setup, "benchmark": code, "iterations": int(match[2]), "time": measured.pop(_TIME)}
                rows.append(joined(joined(columns, arguments, source.name), measured, source.name))
                lines.append(number)
        if without_time:
            progress.note(f"{source.name}: left out, since they have no {_TIME}: {without_time} lines")
        names = [name for name in parameters if any(isinstance(row.get(name), str) for row in rows)]
        return results(
            rows,
            source.name,
            parameters=list(parameters),
            value="time",
            code=["pkg", "benchmark", *names],
            system=["cpu"],
            unit=_TIME,
            lines=lines,
        )


def _measured(fields: list[str], source: str, line: int) -> Row:
    """Numbers by their units."""
    numbers = [number_or_text(field) for field in fields[::2]]
    if len(fields) % 2 or any(isinstance(number, str) for number in numbers):
        raise InputError(source, "pairs of a number and a unit are expected after the count of iterations", line=line)
    return dict(zip(fields[1::2], numbers, strict=True))


def _taken_apart(name: str) -> tuple[str, dict[str, str]]:
    """Code and arguments of a name without its first word."""
    match = _PROCESSORS.fullmatch(name)
    name, processors = (match[1], match[2]) if match else (name, "1")
    parts = [part.partition("=") for part in name.split("/")]
    code = "/".join(key for key, equals, _ in parts if not equals)
    return code, {**{key: value for key, equals, value in parts if equals and key}, "procs": processors}
