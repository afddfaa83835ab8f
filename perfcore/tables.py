"""Tables of results: declared columns over rows of numbers, and one renderer for all that shows them.

A presenter says what the columns are; from that come the table of the terminal, CSV, LaTeX, HTML, a data frame and
rows of JSON. Nothing here is imported that is heavy; pandas and rich are where they are used.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import isnan, nan
from typing import Any, Literal

from perfcore.base import pd

# Always shown, only without --all, only with it, and only in CSV, frames and JSON.
Importance = Literal["default", "brief", "verbose", "data"]

_NANOSECONDS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
_DAY = 86_400 * 10**9  # the unit of two days and more
_LONGEST, _LEAST_WIDTH = 240, 12  # letters of a cell where the width is not limited, and where it is very small
_LONGEST_HEADING = 20  # letters of one that is never shortened
_ESTIMATE = 3  # parts of a value with its interval
_SAME_UNIT = 100  # durations of a table that differ by less have one unit
_ROWS, _MANY_DIGITS = 12, re.compile(r"\.[5-9]g")  # of the short form: rows, and formats that it rounds to four digits
_WHOLE = 2**53  # whole numbers that a float holds exactly
_JOINERS = "\u200c\u200d"  # within words of some languages, and within emojis
# Cells of numbers, with a unit or a sign of per cent, of intervals, and of what is missing.
_NUMBER = r"[-+]?(?:[0-9][0-9.,]*(?:e[-+]?[0-9]+)?|nan|inf|open)(?: ?(?:%|[a-zµ]{1,3}))?"
_AMOUNTS = re.compile(rf"-|{_NUMBER}(?: \.\. {_NUMBER})?|(?:{_NUMBER} )?\[{_NUMBER}, {_NUMBER}\]")

_FORMULA = ("=", "+", "-", "@", "\t", "\r")  # by which spreadsheets take a text for a formula
# What TeX reads as a command, and what its usual fonts show as something else.
_TEX = {
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    **{"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"},
    **{"<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}", "±": r"\(\pm\)", "µ": r"\(\mu\)"},
}


@dataclass(frozen=True)
class Column:
    """One column: what it is called, where its values are, and how they are written.

    A pair as value is an interval, and three numbers are an estimate with its interval.
    """

    name: str  # heading without the unit, a noun of one to three words
    value: Any  # key or attribute of a row, place in it, or function of it; without rows the values themselves
    unit: str = ""  # of all values, shown behind the name
    format: str | Callable[[Any], str] = ""  # of a number, such as ``.1%``; ``time`` scales durations; else four digits
    key: str | tuple[str, ...] | None = None  # in CSV, frames and JSON, one for each part; () keeps it out of them
    importance: Importance = "default"
    least: int = _LEAST_WIDTH  # letters that texts keep where columns behind can be left out instead

    @property
    def keys(self) -> tuple[str, ...]:
        """Its names in CSV, data frames and JSON."""
        if self.key is None:
            return ("_".join(re.findall(r"\w+", f"{self.name} {self.unit}".lower())),)
        return (self.key,) if isinstance(self.key, str) else self.key

    def longest_ns(self, values: Sequence[Any]) -> float:
        """The largest finite duration; 0 without any, and of other columns."""
        if self.format != "time":
            return 0
        amounts = (abs(v) * _NANOSECONDS[self.unit] for value in values for v in _parts(value) if _is_known(v))
        return max((amount for amount in amounts if amount != float("inf")), default=0)

    def cells(self, values: Sequence[Any], longest_ns: float = 0) -> tuple[str, list[str]]:
        """Heading and cells, all in one unit; durations not far below the table's longest in the unit of that."""
        if self.format != "time":
            return f"{self.name} [{self.unit}]" if self.unit else self.name, [_text(v, self.format) for v in values]
        largest = self.longest_ns(values)
        largest = largest if 0 < largest * _SAME_UNIT < longest_ns else longest_ns or largest
        unit = next((name for name, size in _NANOSECONDS.items() if largest >= size), "ns" if largest else "s")
        unit = "d" if largest >= 2 * _DAY else unit
        factor = _NANOSECONDS[self.unit] / (_DAY if unit == "d" else _NANOSECONDS[unit])
        scaled = [tuple(v if v is None else v * factor for v in _parts(value)) for value in values]
        digits = ".3g" if any(len(v) == _ESTIMATE for v in scaled) else ".4g"
        return f"{self.name} [{unit}]", [_text(v[0] if len(v) == 1 else v, digits) for v in scaled]


@dataclass(frozen=True)
class Table:
    """Columns over rows; it unpacks into title, header and cells as they are shown.

    Examples
    --------
    >>> table = Table([Column("ranks", 0), Column("time", 1, "ms", "time")], [(1, 2500.0), (2, None)])
    >>> list(table)
    ['', ['ranks', 'time [s]'], [['1', '2.5'], ['2', '-']]]
    >>> table.records()
    [{'ranks': 1, 'time_ms': 2500.0}, {'ranks': 2, 'time_ms': None}]
    """

    columns: Sequence[Column]
    rows: Sequence[Any] | None = None  # mappings, records or tuples; without them the columns have the values
    title: str = ""
    importance: Importance = "default"
    limit: int | None = None  # of rows that are shown; CSV, frames and JSON have all
    drops_empty: bool = True  # columns that have no value in the shown rows
    shows_last: bool = False  # rather than the first rows, where not all are shown

    @cached_property
    def data(self) -> list[tuple[str, list[Any]]]:
        """Names and values of everything, as CSV, data frames and JSON have it."""
        data: list[tuple[str, list[Any]]] = []
        for column in self.columns:
            keys, values = column.keys, self._values(column)
            parts = [values]
            if len(keys) != 1:
                parts = [[None if v is None else v[k] for v in values] for k in range(len(keys))]
            data += zip(keys, parts, strict=True)
        return data

    def _values(self, column: Column) -> list[Any]:
        value = column.value
        if self.rows is None:
            return [*(value.tolist() if hasattr(value, "tolist") else value)]
        if callable(value):
            return [value(row) for row in self.rows]
        if isinstance(value, int):
            return [row[value] for row in self.rows]
        return [row.get(value) if isinstance(row, Mapping) else getattr(row, value) for row in self.rows]

    def shown(self, verbose: bool = True) -> tuple[list[str], list[list[str]]]:
        """Header and cells of what is shown; columns without any value are left out."""
        header, columns = [], []
        chosen = [c for c in self.columns if c.importance == "default" or (verbose and c.importance == "verbose")]
        first = self.left_out(verbose) if self.shows_last else 0
        values = [self._values(column)[first:][: self.most_rows(verbose)] for column in chosen]
        longest_ns = max(map(Column.longest_ns, chosen, values), default=0)
        for column, known in zip(chosen, values, strict=True):
            rounds = not verbose and isinstance(column.format, str) and _MANY_DIGITS.fullmatch(column.format)
            name, cells = (replace(column, format=".4g") if rounds else column).cells(known, longest_ns)
            if not self.drops_empty or not cells or any(cell not in ("", "-") for cell in cells):
                header.append(name)
                columns.append(cells)
        return header, [list(row) for row in zip(*columns, strict=True)]

    def most_rows(self, verbose: bool = True) -> int | None:
        """How many rows are shown at most."""
        return self.limit if verbose else min(_ROWS, self.limit or _ROWS)

    def left_out(self, verbose: bool = True) -> int:
        """How many rows are not shown."""
        count = len(self.rows if self.rows is not None else self.columns[0].value if self.columns else ())
        most = self.most_rows(verbose)
        return max(0, count - (count if most is None else most))

    def __iter__(self) -> Iterator[Any]:
        return iter((self.title, *self.shown()))

    def __getitem__(self, place: int) -> Any:
        return tuple(self)[place]

    def records(self) -> list[dict[str, Any]]:
        """A mapping for each row, as JSON has it."""
        names = [name for name, _ in self.data]
        return [dict(zip(names, row, strict=True)) for row in zip(*(values for _, values in self.data), strict=True)]

    def frame(self) -> pd.DataFrame:
        """All rows as a data frame with true numbers."""
        # A column of which nothing is known is one of numbers, not of objects.
        known = (column if any(v is not None for v in column) else [nan] * len(column) for _, column in self.data)
        frame = pd.DataFrame(dict(enumerate(known)))
        frame.columns = [name for name, _ in self.data]
        return frame


def _parts(value: Any) -> Sequence[Any]:
    return value if isinstance(value, (tuple, list)) else (value,)


def _is_known(value: Any) -> bool:
    return not (value is None or (isinstance(value, float) and isnan(value)))


def _text(value: Any, spec: str | Callable[[Any], str]) -> str:
    """One cell: missing values are a hyphen, pairs an interval."""
    if isinstance(value, (tuple, list)):
        *middle, lower, upper = (_text(part, spec) for part in value)
        interval = "" if lower == upper == "-" else f"[{lower}, {upper}]"
        return " ".join([*middle, interval]).strip() or "-"
    if not _is_known(value):
        return "-"
    if callable(spec):
        return spec(value)
    if isinstance(value, bool):
        return "yes" if value else ""
    if isinstance(value, float) or (spec and not isinstance(value, str)):
        return level_text(value) if spec == "g" else f"{value:{spec or '.4g'}}"
    return str(value)


def level_text(level: float) -> str:
    """Return a level of a parameter in six digits, a whole number in full: 0.3, 4194304, 1e+09."""
    text = f"{level:g}"
    return str(int(level)) if abs(level) < _WHOLE and level == int(level) != float(text) else text


def point_text(point: Mapping[str, Any], separator: str = ", ") -> str:
    """Return levels with their names, as messages and options have them: ``ranks=16, n=128``."""
    return separator.join(f"{name}={v if isinstance(v, str) else level_text(v)}" for name, v in point.items())


def printable(text: str, keep: str = "") -> str:
    """Spell out what moves the cursor, turns the direction or colours a terminal, but for the signs to keep."""
    if text.isprintable():
        return text
    return "".join(sign if sign.isprintable() or sign in _JOINERS + keep else ascii(sign)[1:-1] for sign in text)


def shorten(names: Sequence[str], width: int) -> list[str]:
    """Names of which the middle is left out where they are too long, so that different ones stay different.

    Examples
    --------
    >>> shorten(["main/solve/exchange/wait", "main/solve/exchange/send"], 12)
    ['main/so…wait', 'main/so…send']
    """
    short, long = list(names), [name for name in names if len(name) > width]

    def cost(tail: int) -> float:  # letters off a third; beginning within a word costs a quarter
        return abs(tail - width // 3) + width / 4 * sum(n[-tail - 1 :][:2].isalnum() for n in long) / (len(long) or 1)

    for tail in sorted(range(width), key=cost):
        short = [n if len(n) <= width else f"{n[: width - tail - 1]}…{n[len(n) - tail :]}" for n in names]
        if len(set(short)) == len(set(names)):
            return short
    return shorten(names, 2 * width) if width < max(map(len, names)) else short


def is_numeric(column: Sequence[str]) -> bool:
    """Return whether all cells but empty ones are amounts, and there are any."""
    return all(_AMOUNTS.fullmatch(cell) for cell in column if cell) and any(column)


def printed(table: Table, width: int | None = None, verbose: bool = True) -> tuple[list[tuple[str, ...]], list[bool]]:
    """Header and rows as a terminal shows them, names shortened to its width, and which columns are of numbers."""
    header, rows = table.shown(verbose)
    columns = [[printable(cell) for cell in column] for column in zip(header, *rows, strict=True)]
    kept = {column.name: column.least for column in table.columns}
    while True:
        numeric = [is_numeric(column[1:]) for column in columns]
        limits = [_LONGEST] * len(columns) if width is None else _limits(columns, numeric, width, kept)
        texts = [
            shorten(column, most) if max(map(len, column)) > most else column
            for column, most in zip(columns, limits, strict=True)
        ]
        needed = sum(max(map(len, column)) + 2 for column in texts) - 2
        if verbose or width is None or needed <= width or len(texts) < 2:
            return list(zip(*texts, strict=True)) or [()], numeric
        columns.pop()  # what is declared first matters most


def _limits(
    columns: Sequence[Sequence[str]], numeric: Sequence[bool], width: int, kept: Mapping[str, int]
) -> list[int]:
    """Widths that fit together: the widest columns of text give way."""
    limits = [max(map(len, column)) for column in columns]
    least = [
        max(min(kept.get(name, 0), width * 3 // 5), _LEAST_WIDTH, len(name) if len(name) <= _LONGEST_HEADING else 0)
        for name, *_ in columns
    ]
    while sum(limits) + 2 * len(limits) - 2 > width:
        widest = max(range(len(limits)), key=lambda k: -1 if numeric[k] else limits[k] - least[k])
        if numeric[widest] or limits[widest] <= least[widest]:
            break
        limits[widest] -= 1
    return limits


def csv_lines(table: Table, for_spreadsheet: bool = False) -> Iterator[str]:
    """RFC 4180 but for the ends of lines, which are the system's; the title, where there is one, after ``#``.

    For spreadsheets, texts that they would take for formulas have an apostrophe before them.
    """
    import csv
    import io

    if table.title:
        yield f"# {printable(table.title)}"
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")

    def cell(value: Any) -> Any:
        if not isinstance(value, str):
            return value if _is_known(value) else ""
        lines = map(printable, value.split("\n"))
        return "'" * (for_spreadsheet and value.startswith(_FORMULA)) + "\n".join(lines)

    writer.writerow([cell(name) for name, _ in table.data])
    for row in zip(*(values for _, values in table.data), strict=True):
        writer.writerow(map(cell, row))
    yield text.getvalue().removesuffix("\n")


def _tex(text: str) -> str:
    """A text as TeX prints it letter for letter; two hyphens stay two, which would be a dash."""
    return re.sub("-(?=-)", "-{}", "".join(_TEX.get(sign, sign) for sign in printable(" ".join(text.split()))))


def latex_lines(table: Table) -> Iterator[str]:
    """A table of booktabs, as it is shown; the title is its caption."""
    title, header, rows = table
    yield from (r"\begin{table}", r"  \centering")
    if title:
        yield rf"  \caption{{{_tex(title)}}}"
    columns = zip(header, *rows, strict=True)
    yield rf"  \begin{{tabular}}{{{''.join('r' if is_numeric(column[1:]) else 'l' for column in columns)}}}"
    yield from (r"    \toprule", f"    {' & '.join(map(_tex, header))} \\\\", r"    \midrule")
    for row in rows:
        line = " & ".join(map(_tex, row))
        # After the end of a row, a bracket or star would be its argument.
        yield f"    {'{}' if line.startswith(('[', '*')) else ''}{line} \\\\"
    yield from (r"    \bottomrule", r"  \end{tabular}", r"\end{table}")


def html_table(
    table: Table, most_rows: int | None = None, most_columns: int | None = None, most: int = _LONGEST
) -> str:
    """A table as it is shown, or its first rows and columns and how many there are more."""
    title, header, rows = table
    lines = []
    for k, row in enumerate([header, *rows[:most_rows]]):
        tag = "td" if k else "th"
        cells = (html.escape(text[:most] + "…" * (len(text) > most)) for text in row[:most_columns])
        lines.append(f"<tr>{''.join(f'<{tag}>{cell}</{tag}>' for cell in cells)}</tr>")
    caption = f"<caption>{html.escape(title[:_LONGEST])}</caption>" if title else ""
    counts = ((len(rows), most_rows, "row"), (len(header), most_columns, "column"))
    left_out = [(n - limit, what) for n, limit, what in counts if limit is not None and n > limit]
    more = " and ".join(f"{count} more {what}{'s' * (count != 1)}" for count, what in left_out)
    more = f"<p>{more}: to_frame()</p>" if more else ""
    return f"<table>{caption}<thead>{lines[0]}</thead><tbody>{''.join(lines[1:])}</tbody></table>{more}"
