"""What the tests of NCCL and RCCL print: time and bandwidth of a collective by the size of its messages.

Source: nccl-tests 2, ``src/common.cu`` and ``doc/PERFORMANCE.md``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from perf_io.results.message_tables import without_empty_messages
from perf_io.results.options import MessageOptions
from perf_io.results.result_table import Row, number_or_text, results
from perf_io.shared.numbered_lines import numbered_lines
from perfcore.base import progress
from perfcore.base.errors import InputError
from perfcore.contracts import Reader
from perfcore.data.measurements import Measurements
from perfcore.reading.source import Source

# How mpirun and srun mark the lines of a process: `[1,0]<stdout>:`, `0: `.
_TAG = r"(?:\[[0-9]{1,9},[0-9]{1,9}\]<stdout>: ?|[0-9]{1,9}: )?"
_BEGINS = re.compile(r"# (?:nccl-tests version|nThread |Collective test starting: )")
_IN_HEAD = re.compile(
    rf"^{_TAG}# +(?:nccl-tests version |nThread [0-9]+ |size +count .*\balgbw +busbw\b)".encode(), re.MULTILINE
)
_TAGGED = re.compile(_TAG)
_TEST = re.compile(r"# Collective test starting: (\S{1,80})")
_RANK = re.compile(r"#\s+Rank\s+([0-9]{1,9})\b.*")
_HEADING = re.compile(r"#\s+size\s+count\s+type\b.*\balgbw\s+busbw\b.*")
_PLACES = ("out-of-place", "in-place")
# Time in us and bandwidths in 10^9 bytes a second, as the line below the heading says in all versions.
_MEASURED = {"time": "time_us", "algbw": "algorithm_GB_s", "busbw": "bus_GB_s"}


class NcclTestsReader(Reader):
    """Tables of nccl-tests; each size is a row out of place, and one in place.

    The value is the time, the parameters are processes (ranks) and bytes; the bandwidths of the algorithm and of the
    bus are columns. Test, type, operation and place are the code. Sizes with wrong results are left out.
    """

    Options = MessageOptions

    def sniff(self, source: Source) -> float:
        """Sure by the line of settings or the heading of the table."""
        return 0.95 if _IN_HEAD.search(source.head) and b"\0" not in source.head else 0.0

    def read(self, source: Source, options: MessageOptions) -> Measurements:
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
        wrong = 0
        for number, text in numbered_lines(source):
            stripped = _TAGGED.sub("", text, count=1).strip()
            if match := _TEST.match(stripped):
                settings, headings = {"test": match[1].removesuffix("_perf")}, ()
            elif _BEGINS.match(stripped):
                settings, headings = {"test": settings["test"]} if "test" in settings and not rows else {}, ()
            elif match := _RANK.fullmatch(stripped):
                settings["processes"] = max(settings.get("processes", 0), int(match[1]) + 1)
            elif _HEADING.fullmatch(stripped):
                headings = stripped.removeprefix("#").split()
            elif headings and (fields := stripped.split()) and fields[0].isdecimal():
                for row in _rows(fields, headings, source.name, number):
                    if row.pop("wrong"):
                        wrong += 1
                        continue
                    rows.append({**settings, **row})
                    lines.append(number)
        if wrong:
            progress.note(f"{source.name}: left out, since their results were wrong: {wrong} measurements")
        kept, lines = without_empty_messages(rows, lines, source.name, options)
        return results(
            kept,
            source.name,
            parameters=["processes", "bytes"],
            value="time_us",
            code=["test", "type", "redop", "placement"],
            lines=lines,
        )


def _rows(fields: Sequence[str], headings: Sequence[str], source: str, line: int) -> list[Row]:
    """The measurement out of place, and that in place where there is one."""
    if len(fields) != len(headings):
        raise InputError(source, f"{len(headings)} fields ({' '.join(headings)}) are expected", line=line)
    first = headings.index("time")
    setup = dict(zip(headings[:first], fields[:first], strict=True))
    width = headings[first:].index("time", 1) if "time" in headings[first + 1 :] else len(headings) - first
    rows = []
    for place, begin in zip(_PLACES, range(first, len(headings), width), strict=False):
        measured = dict(zip(headings[begin : begin + width], fields[begin : begin + width], strict=True))
        if measured["time"] == "N/A":  # alltoall in place, for one
            continue
        row: Row = {
            "bytes": number_or_text(setup["size"]),
            "type": setup["type"],
            "redop": setup.get("redop", "none").replace("none", ""),
            "placement": place,
        }
        row |= {column: number_or_text(measured[name]) for name, column in _MEASURED.items() if name in measured}
        if any(isinstance(row[column], str) for column in ("bytes", *_MEASURED.values()) if column in row):
            raise InputError(source, f"numbers are expected for {', '.join(('size', *_MEASURED))}", line=line)
        row["wrong"] = measured.get("#wrong", "0") not in ("0", "N/A")
        rows.append(row)
    return rows
