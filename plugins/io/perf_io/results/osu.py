"""What the OSU Micro-Benchmarks print.

Source: OSU Micro-Benchmarks 3 to 7, ``README``, ``util/osu_util.c`` and ``util/osu_util_mpi.c``.
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

_TITLE = re.compile(r"# ?OSU (.+?)(?: v[0-9][\w.]*)?")
_TITLE_IN_HEAD = re.compile(rb"^[ \t]*#[ \t]*OSU [^\n]+(?: v[0-9]|\bTest[ \t\r]*$)", re.MULTILINE)
# Comments that say how a table was measured.
_SETTING = re.compile(r"#\s*(Datatype|Window creation|Synchronization):\s*(\S.*?)\.?")
_BUFFERS = re.compile(r"#\s*Send Buffer on (\w+) \(\w+\) and Receive Buffer on (\w+) \(\w+\)")
_PAIRS = re.compile(r"#\s*\[ pairs: ([0-9]{1,9}) \](?: \[ window size: ([0-9]{1,9}) \])?.*")
# Non-blocking collectives without messages have this heading without a #.
_HEADING = re.compile(r"#\s*(?:Size\b.*|Avg Latency ?\(us\).*)|Overall\(us\).*")
_STARTUP = re.compile(
    r"nprocs: ([0-9]{1,9}), min: ([0-9.]{1,20}) (\w+), max: ([0-9.]{1,20}) \w+, avg: ([0-9.]{1,20}) \w+"
)
_VALIDATION = "validation"


class OsuReader(Reader):
    """Tables of the OSU Micro-Benchmarks; each message size is a row.

    The test is the code, the message size and the number of pairs are the parameters, the first column after the size
    is the value. How many processes ran is printed by few tests: take it from the name of the file, ``--from-name
    'osu_p{p:int}.out'``. Sizes of which the validation failed are left out.
    """

    Options = MessageOptions

    def sniff(self, source: Source) -> float:
        """Sure by the title, which has a version or ends in Test."""
        return 0.95 if _TITLE_IN_HEAD.search(source.head) and b"\0" not in source.head else 0.0

    def read(self, source: Source, options: MessageOptions) -> Measurements:
        """Read all tables.

        Raises
        ------
        InputError
            No table, or a line in one that is no row of it; with its line.
        """
        tables = _Tables(source.name)
        for number, text in numbered_lines(source):
            tables.take(text.strip(), number)
        if not tables.rows:
            raise InputError(source.name, "holds no table of the OSU Micro-Benchmarks")
        if tables.invalid:
            progress.note(f"{source.name}: left out, since their validation failed: {tables.invalid} message sizes")
        kept, lines = without_empty_messages(tables.rows, tables.lines, source.name, options)
        return results(
            kept,
            source.name,
            parameters=["processes", "pairs", "bytes"],
            value="value",
            code=["test"],
            lines=lines,
        )


class _Tables:
    """Rows of the tables so far, and what was said of the one that is being read."""

    def __init__(self, source: str) -> None:
        self.rows: list[Row] = []
        self.lines: list[int] = []
        self.invalid = 0
        self._source = source
        self._settings: Row = {}
        self._headings: list[str] = []
        self._begun = False  # whether the table has a row, after which a blank line ends it

    def take(self, text: str, line: int) -> None:
        """Take one line."""
        if not text:
            self._headings = [] if self._begun else self._headings
        elif text.startswith("#") and (match := _TITLE.fullmatch(" ".join(text.split()))):
            self._settings, self._headings, self._begun = {"test": match[1]}, [], False
        elif not self._settings:
            return
        elif match := _SETTING.fullmatch(text):
            self._settings[match[1].lower().replace(" ", "_")] = match[2]
        elif match := _BUFFERS.fullmatch(text):
            self._settings |= {"send_buffer": match[1].lower(), "receive_buffer": match[2].lower()}
        elif match := _PAIRS.fullmatch(text):
            self._settings |= {"pairs": int(match[1]), "window": int(match[2]) if match[2] else None}
        elif _HEADING.fullmatch(text):
            names = re.split(r"\s{2,}|(?<=\))\s+", re.sub(r"^#\s*", "", text))
            self._headings, self._begun = [" ".join(name.split()) for name in names], False
        elif match := _STARTUP.fullmatch(text):
            row = {"processes": int(match[1]), "minimum": float(match[2]), "maximum": float(match[4])}
            self._add({**self._settings, **row, "metric": "average", "value": float(match[5]), "unit": match[3]}, line)
        elif self._headings and text[0].isdecimal():
            self._begun = True
            self._add(self._row(text.split(), line), line)

    def _add(self, row: Row, line: int) -> None:
        if row.pop(_VALIDATION, "Pass") != "Pass":
            self.invalid += 1
            return
        self.rows.append(row)
        self.lines.append(line)

    def _row(self, fields: list[str], line: int) -> Row:
        headings = [named(heading) for heading in self._headings]
        numbers = [number_or_text(field) for field in fields]
        texts = [number for (column, _), number in zip(headings, numbers, strict=False) if column != _VALIDATION]
        if len(fields) != len(headings) or any(isinstance(number, str) for number in texts):
            expected = ", ".join(self._headings)[:120]
            raise InputError(self._source, f"{len(headings)} numbers ({expected}) are expected", line=line)
        row = dict(self._settings)
        units = {}
        for (column, unit), number in zip(headings, numbers, strict=True):
            row["bytes" if column == "size" else column] = number
            if column not in ("size", _VALIDATION):
                units[column] = unit
        metric = next(iter(units), None)
        if metric is None:
            raise InputError(self._source, "the table has sizes only", line=line)
        value = row.pop(metric)
        return {**row, "metric": metric, "value": value, "unit": units[metric]}
