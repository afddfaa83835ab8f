"""What the OSU Micro-Benchmarks print.

Source: OSU Micro-Benchmarks 7, ``README`` and ``util/osu_util.c``.
"""

from __future__ import annotations

import re

from perf_io.results.documents import text_lines
from perf_io.results.message_tables import MessageOptions, named, without_empty_messages
from perf_io.results.result_table import Row, number_or_text, results
from perfcore.contracts import Reader
from perfcore.errors import InputError
from perfcore.measurements import Measurements
from perfcore.source import Source

__all__ = ["OsuReader"]

_TITLE = re.compile(r"# ?OSU (.+?)(?: v[0-9][\w.]*)?")
_TITLE_IN_HEAD = re.compile(rb"^#\s*OSU [^\n]+ v[0-9]", re.MULTILINE)


class OsuReader(Reader):
    """Tables of the OSU Micro-Benchmarks; each message size is a row.

    The test is the code, the message size the parameter, the first column after it the value. How many processes ran
    is not printed: take it from the name of the file, ``--from-name 'osu_p{p:int}.out'``.
    """

    Options = MessageOptions

    def sniff(self, source: Source) -> float:
        """Sure by the title with its version."""
        return 0.95 if _TITLE_IN_HEAD.search(source.head) and b"\0" not in source.head else 0.0

    def read(self, source: Source, options: MessageOptions) -> Measurements:
        """Read all tables.

        Raises
        ------
        InputError
            No table, or a line in one that is no row of it; with its line.
        """
        test = ""
        headings: list[str] = []
        rows: list[Row] = []
        lines: list[int] = []
        for number, text in text_lines(source):
            stripped = text.strip()
            if stripped.startswith("#") and (found := _TITLE.fullmatch(" ".join(stripped.split()))):
                test, headings = found[1], []
            elif test and (headed := _headings(stripped)):
                headings = headed
            elif headings and re.match(r"[0-9]", stripped):
                rows.append(_row(stripped.split(), headings, test, source.name, number))
                lines.append(number)
        if not rows:
            raise InputError(source.name, "holds no table of the OSU Micro-Benchmarks")
        kept, lines = without_empty_messages(rows, lines, source.name, options)
        return results(kept, source.name, parameters=["bytes"], value="value", code=["test"], lines=lines)


def _headings(text: str) -> list[str]:
    """Column names of a table, or nothing where the line is another comment."""
    found = re.sub(r"^#\s*", "", text) if text.startswith("#") else ""
    names = re.split(r"\s{2,}|(?<=\))\s+", found)
    sized = bool(re.match(r"Size\b", found))
    return names if sized or "Latency(us)" in found.replace(" (", "(") else []


def _row(fields: list[str], headings: list[str], test: str, source: str, line: int) -> Row:
    numbers = [number_or_text(field) for field in fields]
    if len(fields) != len(headings) or any(isinstance(number, str) for number in numbers):
        raise InputError(source, f"{len(headings)} numbers ({', '.join(headings)[:120]}) are expected", line=line)
    row: Row = {"test": test}
    units = {}
    for heading, number in zip(headings, numbers, strict=True):
        column, unit = named(heading)
        if column == "size":
            row["bytes"] = number
        else:
            units[column] = unit
            row[column] = number
    metric = next(iter(units), None)
    if metric is None:
        raise InputError(source, "the table has sizes only", line=line)
    value = row.pop(metric)
    return {**row, "metric": metric, "value": value, "unit": units[metric]}
