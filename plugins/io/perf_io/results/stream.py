"""What STREAM and BabelStream print: the bandwidth of each kernel.

Source: STREAM 5.9 and 5.10, ``stream.c`` and ``stream_mpi.c``; BabelStream 4, ``src/main.cpp``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from perf_io.results.result_table import Row, number_or_text, results
from perf_io.shared.numbered_lines import numbered_lines
from perfcore.base import progress
from perfcore.base.errors import InputError
from perfcore.contracts import NoOptions, Reader
from perfcore.data.measurements import Measurements
from perfcore.reading.source import Source

_RATES = {"Best Rate MB/s": "MB/s", "Rate (MB/s)": "MB/s", "MBytes/sec": "MB/s", "MiBytes/sec": "MiB/s"}
_TIMES = {
    **{"Avg time": "average_s", "Average": "average_s", "Average (sec)": "average_s"},
    **{"Min time": "minimum_s", "Min (sec)": "minimum_s", "Max time": "maximum_s", "Max": "maximum_s"},
    "Max (sec)": "maximum_s",
}
_HEADING = re.compile(r"Function {2,}(" + "|".join(map(re.escape, _RATES)) + r") {2,}\S.*")
_IN_HEAD = re.compile(rb"^[ \t]*(?:STREAM version \$|Function  +(?:Best )?(?:Rate|M(?:i)?Bytes/sec)\b)", re.MULTILINE)
_BEGINS = re.compile(r"STREAM version .*|BabelStream")
_SETTINGS = {
    "threads": re.compile(r"Number of Threads (?:requested|counted)\s*=\s*([0-9]{1,9})"),
    "processes": re.compile(r"Data are distributed across ([0-9]{1,9}) MPI ranks"),
    "elements": re.compile(r"(?:Total Aggregate )?Array size\s*=\s*([0-9]{1,15})\b.*"),
}
_ROW = re.compile(r"([A-Za-z]\w{0,30}):?((?:\s+[-+0-9.eE]+)+)")
_FAILED = re.compile(r"Failed Validation\b.*|Validation failed\b.*")


class StreamReader(Reader):
    """Tables of STREAM and BabelStream; each kernel of each run is a row.

    The value is the bandwidth, the kernel the code; threads, processes and elements are the parameters. Runs of which
    the validation failed are left out.
    """

    def sniff(self, source: Source) -> float:
        """Sure by the title or the heading of the table."""
        return 0.95 if _IN_HEAD.search(source.head) and b"\0" not in source.head else 0.0

    def read(self, source: Source, options: NoOptions) -> Measurements:
        """Read all tables.

        Raises
        ------
        InputError
            No table, or a row with other fields than its heading; with its line.
        """
        settings: Row = {}
        headings: Sequence[str] = ()
        rows: list[Row] = []
        lines: list[int] = []
        begin = failed = 0
        for number, text in numbered_lines(source):
            stripped = text.strip()
            if not stripped:
                continue
            if _BEGINS.fullmatch(stripped):
                settings, headings, begin = {}, (), len(rows)
            elif _HEADING.fullmatch(stripped):
                headings, begin = re.split(r" {2,}", stripped), len(rows)
            elif headings and (match := _ROW.fullmatch(stripped)):
                rows.append({**settings, **_row(match[1], match[2].split(), headings, source.name, number)})
                lines.append(number)
            elif _FAILED.match(stripped) and begin < len(rows):
                failed += 1
                del rows[begin:], lines[begin:]
            else:
                found = ((name, pattern.match(stripped)) for name, pattern in _SETTINGS.items())
                settings |= {name: int(match[1]) for name, match in found if match}
        if failed:
            progress.note(f"{source.name}: left out, since their validation failed: {failed} runs of STREAM")
        return results(
            rows,
            source.name,
            parameters=["threads", "processes", "elements"],
            value="value",
            code=["kernel"],
            lines=lines,
        )


def _row(kernel: str, fields: Sequence[str], headings: Sequence[str], source: str, line: int) -> Row:
    numbers = [number_or_text(field) for field in fields]
    if len(numbers) != len(headings) - 1 or any(isinstance(number, str) for number in numbers):
        raise InputError(source, f"{len(headings) - 1} numbers ({', '.join(headings[1:])}) are expected", line=line)
    row: Row = {"kernel": kernel, "metric": "bandwidth"}
    for heading, number in zip(headings[1:], numbers, strict=True):
        if heading in _RATES:
            row |= {"value": number, "unit": _RATES[heading]}
        elif heading in _TIMES:
            row[_TIMES[heading]] = number
    return row
