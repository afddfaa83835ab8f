"""Tables of text: comma, semicolon, tab or bar separated, with a line of column names."""

from __future__ import annotations

import array
import codecs
import contextlib
import csv
import io
import itertools
import os
import re
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from perf_io.options import TableOptions, TableReader, TextTableOptions
from perf_io.tables.columns import assign_roles
from perf_io.tables.duck import (
    DECIMAL_COMMA,
    POINTED_THOUSANDS,
    Column,
    Database,
    Table,
    TableError,
    csv_scan,
    quoted_name,
    sql_number,
)
from perf_io.tables.read_table import read_table
from perfcore.base import progress
from perfcore.base.errors import InputError
from perfcore.data.selection import is_mark, is_number
from perfcore.data.units import unit_of_text
from perfcore.reading.recognise import UNSURE
from perfcore.reading.source import HEAD_BYTES, Source

DELIMITERS = ",;\t|"
INDEX = "(unnamed)"  # the first column where only it has no name: numbers of rows, as pandas writes them
_UNNAMED = "(unnamed {})"
_FILLING = f"{DELIMITERS} \r\n"  # behind the last cell of a line
_TAIL = 4096  # bytes at the end, of which the first line may be a part
_MOST_COLUMNS = 10_000
_LOOKED_AT = 50  # rows behind the column names
_BARS = re.compile(r"[|\u2502\u2503\u2551]")
_BREAK = re.compile(r"\s*<br\s*/?>\s*")
_RULER = re.compile(r"[\s\-=+:|_\u2500-\u257f]*[-=\u2500\u2501\u2550][\s\-=+:|_\u2500-\u257f]*")
_COMMENT = re.compile(r"\s*(?:#|%|//)")
_HASH_LINE, _COMMENTS_SOUGHT = re.compile(rb"\n[ \t]*#"), 1 << 24  # bytes at the beginning of a file
_LINE_END = "\r\n"
_SPACES = re.compile(r"\n +\r?(?:\n|$)")  # a line of nothing else
_WORDS = re.compile(r'"[^"]*"|\S+')
_HEADINGS = re.compile(r'"[^"]*"|[^\s(\[]\S*(?:[ \t]+[(\[][^)\]]*[)\]])?|\S+')  # a unit in brackets belongs to its name
_DECIMALS = re.compile(r"[+-]?[0-9]*\.([0-9]*)(?:[eE][+-]?[0-9]+)?")
_BROKEN = re.compile(r"[+-]?[0-9]*(?:\.|\.?[0-9]+[eE][+-]?)|[+-]")
_AMPERSAND = re.compile(r"(?<!\\)&")  # between cells of LaTeX
_LONGEST_UNIT = 12  # signs, as of requests/min; of a line of them half are known
_GROUPED = re.compile(r"[+-]?[1-9][0-9]{0,2},[0-9]{3}")  # thousands, as a rule
_FEWEST = 3  # numbers with as many decimals as one another, which a shorter one stands out from
_AT_ONCE = 256  # columns that a query looks at
_SAMPLE_ROWS = 200  # rows that tell whether a column holds numbers


class UnclearTableError(InputError):
    """A table of text of which more must be known before it is read."""


@dataclass(frozen=True)
class Layout:
    """Where the table begins in its text and how its fields are separated."""

    names: tuple[str, ...]
    delimiter: str
    skip: int  # lines up to and with the column names
    encoding: str = "utf-8-sig"
    rewrite: Callable[[str], str] | None = None  # makes each line one with delimiters; empty where it is no row
    steps: tuple[str, ...] = ()  # what was done, for a person
    has_empty_rows: bool = False
    holds_numbers: bool = False  # and nothing else, in several rows
    decimal: str = "."

    @property
    def is_plain(self) -> bool:
        """Whether the file can be read as it is."""
        return self.rewrite is None and self.encoding == "utf-8-sig"


def layout_of(source: Source, decimal: str = "auto") -> Layout:
    """Return the layout of a table, by the first lines of its file."""
    encoding, text = _decoded(source)
    lines = text.splitlines(keepends=True)
    separator = re.fullmatch(r"sep=(.)\s*", lines[0]) if lines else None  # of Excel
    first = next(
        (n for n, line in enumerate(lines) if line.strip() and not line.startswith("#") and (n or not separator)), None
    )
    if first is None:
        raise InputError(source.name, "contains no table, only blank lines and comments", line=1)
    if not set(DELIMITERS) & set(lines[first]) or re.search("=|: ", lines[first]):  # column names hold none
        from perf_io.tables.key_values import key_values

        if (pairs := key_values(lines, decimal)) is not None:
            return Layout(pairs[0], ",", 0, encoding, pairs[1], pairs[2])
    rewrite: Callable[[str], str] | None = None
    steps = list[str]()
    if not separator and (below := _below_title(lines, first)) > first:
        steps.append(f"lines above the table left out: {lines[first].strip(_FILLING)[:40]!r} and what follows it")
        first = below
    delimiter = separator[1] if separator else max(DELIMITERS, key=lines[first].count)
    candidates = range(first, len(lines)) if _BARS.search(text) else ()
    is_latex = "\\begin{tabular" in text
    if is_latex or all(line.rstrip().endswith(r"\\") for line in lines[first:] if line.strip()):
        rewrite, delimiter = _cells_of_latex, "\t"
        begin = next((n for n, line in enumerate(lines) if is_latex and "\\begin{tabular" in line), first)
        first = next((n for n in range(begin, len(lines)) if rewrite(lines[n])), first)
    elif (boxed := next((n for n in candidates if _is_boxed(lines, n)), None)) is not None:
        first, rewrite, delimiter = boxed, _cells_of_box, "\t"
        prose = [line.strip() for line in lines if line.strip() and not _RULER.fullmatch(line.strip())]
        if outside := [line for line in prose if not _BARS.search(line)]:
            steps.append(f"{len(outside)} lines outside the table left out: {outside[0][:40]!r}, ...")
    elif (not all(delimiter in line for line in lines[first : first + 2]) or "\t\t" in lines[first]) and (
        by_blanks := _by_blanks(lines[first:])
    ):
        rewrite, delimiter = by_blanks, "\t"
        marked = next((n for n in range(first - 1, -1, -1) if lines[n].strip("#%/ \t\r\n")), first)
        cells, title = by_blanks(lines[first]).split("\t"), lines[marked].lstrip("#%/ \t")
        headings = next((text for part in (by_blanks, _by_several_blanks)
                         if (text := part(title)).count("\t") == len(cells) - 1), "")  # fmt: skip
        headings = _with_units_below(headings, [by_blanks(line.lstrip("#%/ \t")) for line in lines[:marked]])
        words = headings.split("\t")
        if is_number(cells[0]) and headings and (len(words) > 2 or not any(map(is_number, words))):
            first, rewrite = marked, _but_for(by_blanks, lines[marked], lambda _: headings)
        elif (below := _below_words(by_blanks, lines, first)) > first:
            steps.append(f"lines above the table left out: {lines[first].strip()[:40]!r}")
            first = below
    comments = {number for number, line in enumerate(lines, 1) if _COMMENT.match(line)}
    n_comments = 0 if rewrite else _count_comments(source, lines, first)
    ends = "" if source.compression else tail_of(source.path).decode("latin-1")
    if n_comments or (rewrite is None and ("\r\r\n" in text or any(map(_SPACES.search, (text, ends))))):
        rewrite = _without_comment
        steps += [f"{n_comments} lines that begin with # left out"] if n_comments else []
    if rewrite is not None:
        lines = [rewrite(line) + "\n" for line in lines]
    names, length = _fields(source, lines, first, delimiter)
    if len(names) > _MOST_COLUMNS:
        problem = f"has {len(names):,} columns, more than the {_MOST_COLUMNS:,} that are read; keep those that you need"
        raise InputError(source.name, problem, line=first + 1)
    skip = first + length
    # The first name may begin as a comment does: `#Cores,time_s`, or `# p  time` above columns for gnuplot.
    above: tuple[str, ...] = ()
    if first and any(map(is_number, names)) and lines[first - 1].startswith("#"):
        with contextlib.suppress(InputError):
            above = _fields(source, [lines[first - 1].lstrip("# ")], 0, delimiter)[0]
    if 1 < len(above) == len(names) and not any(map(is_number, above)):
        names, skip, first = above, first, first - 1
    # Numbers among names are levels of what was varied, whole and increasing; a row is no header.
    levels = [float(name) for name in names if is_number(name)]
    are_levels = levels == sorted({*levels}) and all(level % 1.0 == 0.0 for level in levels)
    if not any(name and not is_number(name) for name in names):
        names, skip = _names_of_numbers(source, names, lines, first, delimiter), first
        filled = [name for name in names if name]
        ends = (" and " if len(filled) < 3 else " to ").join(dict.fromkeys((filled[0], filled[-1])))
        steps.append(f"no line of column names: assumed {ends}")
    elif len(levels) > 1 and not are_levels:
        problem = f"the first line {lines[first].strip()[:40]!r} holds numbers and no column names"
        raise InputError(source.name, f"{problem}; put a line of names above", line=first + 1)
    rows = list[list[str]]()
    with contextlib.suppress(csv.Error):  # which the reading of the rows says with its line
        rows += [row for row in csv.reader(lines[skip : skip + _LOOKED_AT], delimiter=delimiter) if any(row)]
    if (again := _second_heading(lines, names, skip, delimiter, comments)) is not None:
        number, text = again
        if text:
            problem = f"a second table begins here ({text[:40]!r}); put each table into a file of its own"
            raise UnclearTableError(source.name, problem, line=number)
        row_of, heading = rewrite or (lambda line: line.rstrip(_LINE_END)), lines[first].rstrip(_LINE_END)
        rewrite = lambda line: "" if (row := row_of(line)) == heading else row  # noqa: E731
        rows = [row for row in rows if tuple(cell.strip() for cell in row) != names]
        steps.append(f"the line of column names comes again, first in line {number}: left out there")
    is_two_levels = len(rows) > 2 and len(rows[0]) == len(rows[1]) == len(names) and not names[0]
    has_index = is_two_levels and not any(cell.strip() for cell in (rows[0][0], *rows[1][1:]))
    if has_index and not any(map(is_number, rows[0])) and (third := rows[1][0].strip()):  # as pandas writes them
        joint = [f"{cell.strip()} {name}".strip() for name, cell in zip(names[1:], rows[0][1:], strict=True)]
        skip += [bool(line.strip()) for line in lines[skip:]].index(True) + 2
        names, rows = (third, *joint), rows[2:]
        steps.append("three lines of column names")
    elif (joined := _with_second_line(names, rows)) is not None:
        skip += next(n for n, line in enumerate(lines[skip:], 1) if line.strip())
        names, rows = joined, rows[1:]
        steps.append("two lines of column names")
    if not names[0] and len(names) > 1 and all(names[1:]):
        cells, first_name = [row[0].strip() for row in rows], "name"
        if all(map(is_number, cells)):  # they may be the numbers of rows
            levels = [float(cell) for cell in cells]
            counts_on = all(after - before == 1.0 for before, after in itertools.pairwise(levels))
            first_name = INDEX if counts_on or len(names) > 2 else _names_of_levels(levels)[0]
        names = (first_name, *names[1:])
        steps += [] if first_name == INDEX else [f"the first column has no name and is called {first_name}"]
    named = [name or _UNNAMED.format(number) for number, name in enumerate(names, start=1)]
    counts, numbers = Counter(named), defaultdict[str, Iterator[int]](lambda: itertools.count(1))
    names = tuple(f"{name} {next(numbers[name])}" if counts[name] > 1 else name for name in named)
    if len({name.casefold() for name in names}) < len(names) or not all(len(name.splitlines()) == 1 for name in names):
        problem = f"the column names {', '.join(names)[:120]!r} must be one line each, not empty, and differ in more"
        raise InputError(source.name, f"{problem} than case", line=first + 1)
    if decimal == "auto":
        cells = [cell.strip() for row in rows for cell in row]
        has_points = any("." in cell and is_number(cell) and not POINTED_THOUSANDS.fullmatch(cell) for cell in cells)
        has_commas = any(DECIMAL_COMMA.fullmatch(cell) and not _GROUPED.fullmatch(cell) for cell in cells)
        decimal = "," if delimiter != "," and has_commas and not has_points else "."
        steps += ["numbers have a decimal comma"] if decimal == "," else []
        if decimal == "." and delimiter != "," and (cell := _pointed_thousands(rows)) is not None:
            plain = cell.replace(".", "")
            problem = f"{cell} may be {plain}, with points between thousands; give -r decimal=, if so, or else"
            raise UnclearTableError(source.name, f"{problem} -r decimal=.", line=skip + 1)
    mark = re.escape(delimiter)
    is_empty = re.compile(rf"\n[{mark} \r]*{mark}[{mark} \r]*(?:\n|$)")
    has_empty_rows = any(map(is_empty.search, (f"\n{''.join(lines[skip:])}", f"\n{ends}")))
    holds_numbers = len(rows) > 1 and all(is_number(cell) or is_mark(cell) for row in rows for cell in row)
    how = encoding, rewrite, tuple(steps), has_empty_rows, holds_numbers, decimal
    return Layout(names, delimiter, skip, *how)


def _second_heading(
    lines: Sequence[str], names: Sequence[str], skip: int, delimiter: str, comments: Set[int]
) -> tuple[int, str] | None:
    """Return line and text of the heading of another table below; no text if it is the heading of this one again."""
    if any(line.count('"') % 2 for line in lines[skip:]):
        return None
    n_rows, numeric, is_behind_gap, n_blank, first = 0, set[int](), False, 0, ""
    for number, line in enumerate(lines[skip:], skip + 1):
        if not line.strip():
            is_behind_gap, n_blank = True, n_blank + (2 if number in comments else 1)
            continue
        cells = [cell.strip().strip('"') for cell in line.rstrip(_LINE_END).split(delimiter)]
        numbers = {k for k, cell in enumerate(cells) if is_number(cell)}
        if n_rows > 1 and numeric and not numbers and not any(map(is_mark, cells)):
            if is_behind_gap:
                return number, " ".join(cells)
            if tuple(cells) == tuple(names):
                return number, ""
        if n_rows > 1 and n_blank > 1 and cells[0] == first:  # two blank lines end a data set of gnuplot, or a comment
            return number, " ".join(cells)
        first, n_blank = first or cells[0], 0
        numeric = numbers if not n_rows else numeric & numbers
        n_rows, is_behind_gap = n_rows + 1, False
    return None


def _names_of_numbers(
    source: Source, names: Sequence[str], lines: Sequence[str], first: int, delimiter: str
) -> tuple[str, ...]:
    """Return names of columns of numbers without a line of names: a value, processors and times, or their numbers."""
    filled = [name for name in names if name]
    rows = [line.strip().split(delimiter) for line in lines[first : first + _LOOKED_AT] if line.strip()]
    if len(rows) >= _FEWEST < len(filled) + 1 and all(
        len(row) == len(names) and all(map(is_number, row)) for row in rows
    ):
        return tuple(f"column{number}" for number in range(1, len(names) + 1))
    if len(filled) > 2 or not filled or any(names[len(filled) :]):
        problem = f"the first line {lines[first].strip()[:40]!r} holds no column names"
        raise InputError(source.name, f"{problem}; put a line such as time,value above", line=first + 1)
    assumed: tuple[str, ...] = ("value",)
    if len(filled) == 2:
        cells = [line.split(delimiter)[0].strip() for line in lines[first : first + _LOOKED_AT] if line.strip()]
        assumed = _names_of_levels([float(cell) for cell in cells if is_number(cell)])
    return (*assumed, *[""] * (len(names) - len(filled)))


def _below_words(rewrite: Callable[[str], str], lines: Sequence[str], first: int) -> int:
    """Return the next line if it, and not the first, holds the names above rows of numbers, as below a title."""
    places = [n for n in range(first, len(lines)) if rewrite(lines[n])][:3]
    if len(places) < 3:
        return first
    cells, below = (rewrite(lines[n]).split("\t") for n in places[1:])
    are_units = all(not cell.strip("()[]-") or unit_of_text(cell.strip("()[]-")) is not None for cell in cells)
    is_heading = not are_units and not any(map(is_number, cells)) and 2 * sum(map(is_number, below)) >= len(below)
    return places[1] if is_heading else first


def _below_title(lines: Sequence[str], first: int) -> int:
    """Return the first line of the table, where lines of other text stand above it."""
    bare = lines[first].rstrip(_FILLING)  # spreadsheets fill up the line of a title with delimiters
    if max(map(bare.count, DELIMITERS)) or _by_blanks(lines[first:]) or _is_boxed(lines, first):
        return first
    if (delimiter := lines[first].rstrip("\r\n")[len(bare) :].strip()[:1]) and bare:
        rows = ([cell.strip() for cell in line.split(delimiter)] for line in lines[first + 1 : first + _LOOKED_AT])
        below = next(((n, row) for n, row in enumerate(rows, first + 1) if sum(map(bool, row)) > 1), None)
        return first if below is None or any(map(is_number, below[1])) else below[0]
    texts = [n for n in range(first + 1, min(first + _LOOKED_AT, len(lines) - 1)) if lines[n].strip()]
    for n, after in itertools.pairwise(texts):
        same = any(lines[n].count(mark) == lines[after].count(mark) > 0 for mark in DELIMITERS)
        if (same and "" not in re.split(r"[,;\t|]", lines[n].strip())) or _by_blanks(lines[n:]):
            return n if not _is_no_row(lines[n]) else first
    return first


def tail_of(path: Path) -> bytes:
    """Return the last bytes of a file."""
    with path.open("rb") as file:
        file.seek(max(0, file.seek(0, os.SEEK_END) - _TAIL))
        return file.read()


def _fields(source: Source, lines: Sequence[str], first: int, delimiter: str) -> tuple[tuple[str, ...], int]:
    """Return the names of columns in a line, and how many lines of the file they take."""
    reader = csv.reader(io.StringIO("".join(lines[first:]), newline=""), delimiter=delimiter)
    try:
        return tuple(name.strip() for name in next(reader)), reader.line_num
    except csv.Error as error:
        raise InputError(source.name, f"the column names cannot be read: {error}", line=first + 1) from None


def _is_boxed(lines: Sequence[str], number: int) -> bool:
    """Return whether a line begins a table with bars or rulers, as Markdown and databases print them."""
    line, after = lines[number].strip(), lines[number + 1].strip() if number + 1 < len(lines) else ""
    if _BARS.search(line) is None or _RULER.fullmatch(line):
        return False
    framed = _BARS.match(line[0]) is not None and _BARS.match(line[-1]) is not None
    return (framed and _BARS.match(after[:1]) is not None) or (len(after) > 1 and _RULER.fullmatch(after) is not None)


def _cells_of_box(line: str) -> str:
    line = _BREAK.sub(" ", line.strip()).replace("**", "")
    if _BARS.search(line) is None or _RULER.fullmatch(line):
        return ""
    cells = _BARS.split(re.sub(r"^[|\u2502\u2503\u2551]|[|\u2502\u2503\u2551]$", "", line))
    return "\t".join(cell.strip().strip("*`'").replace('"', "") for cell in cells)


def _cells_of_latex(line: str) -> str:
    row = re.sub(r"(?<!\\)%.*", "", line).partition(r"\\")[0]
    if _AMPERSAND.search(row) is None:
        return ""
    row = re.sub(
        r"\\(?:text|math)\w+|\\num|\\(?:top|mid|bottom)rule|\\hline|\\[cm]line\{[^}]*\}|\\[,;!]|[{}$]|~", "", row
    )
    return "\t".join(re.sub(r"\\([%_#&$])", r"\1", cell).strip() for cell in _AMPERSAND.split(row))


def _by_blanks(lines: Sequence[str]) -> Callable[[str], str] | None:
    """Return how lines are parted at blanks, where as many fields are in each as in the first."""
    rows = [line for line in lines if line.strip() and not _COMMENT.match(line) and not _RULER.fullmatch(line.strip())]
    for parted in (_by_single_blanks, _by_several_blanks):
        sizes = [len(parted(row).split("\t")) for row in rows[: _LOOKED_AT + 1]]
        counts = set(sizes)
        names = [name.strip() for name in next(csv.reader(rows))] if len(rows) > 2 and "," not in rows[1] else []
        if len(names) > 1 and {*sizes[1:]} == {len(names)}:
            heading = "\t".join(names)  # with commas, above blanks
            return _but_for(parted, rows[0], lambda line: heading)  # noqa: B023
        if len(rows) > 2 and counts == {sizes[0], sizes[0] + 1} and sizes.count(sizes[0]) == 1:
            # R's write.table, whose rows have names and the line of column names has none for these.
            named = _but_for(parted, rows[0], lambda line: f"\t{parted(line)}")  # noqa: B023
            return named if any(map(is_number, parted(rows[1]).split("\t"))) else None
        if len(rows) > 2 and len(counts) == 1 and counts.pop() > 1:
            cells = [is_number(cell) for row in rows[1 : _LOOKED_AT + 1] for cell in parted(row).split("\t")]
            return parted if 3 * sum(cells) > len(cells) else None
    return None


def _but_for(rewrite: Callable[[str], str], line: str, other: Callable[[str], str]) -> Callable[[str], str]:
    """As the function given, with another one for one line."""
    return lambda text: other(text) if text == line else rewrite(text)


def _by_single_blanks(line: str) -> str:
    if _is_no_row(line):
        return ""
    return "\t".join((_WORDS if is_number(line.split(maxsplit=1)[0]) else _HEADINGS).findall(line))


def _by_several_blanks(line: str) -> str:
    return "" if _is_no_row(line) else "\t".join(re.split(r"\s{2,}", line.strip()))


def _is_no_row(line: str) -> bool:
    return not line.strip() or _COMMENT.match(line) is not None or _RULER.fullmatch(line.strip()) is not None


def _with_units_below(headings: str, above: Sequence[str]) -> str:
    """Return the names of the line above with these units, if a line of headings in brackets is one of units."""
    units, names = headings.split("\t"), above[-1].split("\t") if above else []
    if len(names) != len(units) or not all(re.fullmatch(r"\[[^\[\]]+\]|\([^()]+\)", unit) for unit in units):
        return headings
    pairs = zip(names, units, strict=True)
    return "\t".join(name if is_mark(unit[1:-1]) or unit[1:-1] == "1" else f"{name} {unit}" for name, unit in pairs)


def _without_comment(line: str) -> str:
    return "" if not line.strip() or line.lstrip().startswith("#") else line.rstrip(_LINE_END)


def _count_comments(source: Source, lines: Sequence[str], first: int) -> int:
    """Return how many lines below the column names begin with ``#``, in the beginning and the end of a large file."""
    with source.open() as stream:
        body = stream.read(_COMMENTS_SOUGHT)
    found = len(_HASH_LINE.findall(body)) + body.lstrip(b" \t").startswith(b"#")
    if len(body) == _COMMENTS_SOUGHT and not source.compression:
        found += len(_HASH_LINE.findall(b"\n" + tail_of(source.path)))
    return max(0, found - sum(line.lstrip().startswith("#") for line in lines[: first + 1]))


def _with_second_line(names: Sequence[str], rows: Sequence[Sequence[str]]) -> tuple[str, ...] | None:
    """Return names with those, or the units, of a second line; None if that is a row."""
    if len(rows) < 2 or not len(names) == len(rows[0]) == len(rows[1]):
        return None
    below = [cell.strip() for cell in rows[0]]
    filled = [cell for cell in rows[1] if cell.strip()]
    numbers = [cell for cell in filled if is_number(cell) or DECIMAL_COMMA.fullmatch(cell)]
    if any(map(is_number, below)) or 2 * len(numbers) < len(filled) or not any(below):
        return None
    bare = [cell.strip("()[]-") for cell in below]
    units, known = [cell for cell in bare if cell], [cell for cell in bare if unit_of_text(cell) is not None]
    if 2 * len(known) >= len(units) and max(map(len, units)) <= _LONGEST_UNIT:
        return tuple(f"{name} [{cell}]" if cell else name for name, cell in zip(names, bare, strict=True))
    if "" not in names:
        return None
    group, joined = "", []
    for name, cell in zip(names, below, strict=True):
        group = name or group
        joined.append(" ".join(filter(None, (group, cell))))
    return tuple(joined)


def _names_of_levels(levels: Sequence[float]) -> tuple[str, str]:
    """Return names of a column with these numbers, and of what was measured over it."""
    rises = all(level % 1.0 == 0.0 for level in levels) and levels == sorted(levels) and levels[0] >= 1.0
    return ("p", "time") if rises else ("x", "y")


def _pointed_thousands(rows: Sequence[Sequence[str]]) -> str | None:
    """Return a number such as 10.200 if all with a point in its column are such ones, and others whole, as 860."""
    for column in itertools.zip_longest(*rows, fillvalue=""):
        numbers = [cell.strip() for cell in column if is_number(cell) or POINTED_THOUSANDS.fullmatch(cell)]
        pointed = [cell for cell in numbers if "." in cell]
        is_padded = any(cell.endswith("0") or cell.count(".") > 1 for cell in pointed)  # as no plain decimals are
        if is_padded and len(pointed) < len(numbers) and all(map(POINTED_THOUSANDS.fullmatch, pointed)):
            return pointed[0]
    return None


def _decoded(source: Source) -> tuple[str, str]:
    """Return the encoding of a file, and its first lines."""
    encoding = "utf-16" if source.head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) else "utf-8-sig"
    head = source.head
    if len(head) >= HEAD_BYTES and head.count(b"\n") < _FEWEST:  # lines of thousands of columns
        head = b"".join(line for _, line in itertools.islice(source.lines(), _FEWEST))
    if encoding == "utf-16":
        text = head[: len(head) & ~1].decode(encoding, "replace")
        if 2 * sum(map(str.isascii, text)) < len(text):  # signs of tables are: digits, delimiters
            raise InputError(source.name, "is binary, not a table of text", line=1)
        return encoding, text
    if b"\0" in head:
        raise InputError(source.name, "is binary, not a table of text", line=1)
    try:
        # The head may end within a character; what follows the last line end is not needed.
        complete = head[: head.rfind(b"\n") + 1] or head
        return encoding, complete.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = head.count(b"\n", 0, error.start) + 1
        raise InputError(source.name, f"is not UTF-8 text: byte {error.object[error.start]:#04x}", line=line) from None


def ends_within_line(path: Path) -> bool:
    """Return whether the last line of a file has no end."""
    return tail_of(path)[-1:] not in (b"", b"\n", b"\r")


def cut_cell(path: Path, delimiter: str) -> str | None:
    """Return the last number of a file without an end if it breaks off or has fewer decimals than all above."""
    if not ends_within_line(path):
        return None
    lines = tail_of(path).decode("utf-8", "replace").splitlines()
    *above, last = [line.rpartition(delimiter)[2].strip().strip('"') for line in lines]
    if _BROKEN.fullmatch(last):
        return last
    decimals = {len(match[1]) if (match := _DECIMALS.fullmatch(cell)) else 0 for cell in above[1:]}
    match = _DECIMALS.fullmatch(last)
    if len(above) <= _FEWEST or len(decimals) != 1 or not re.fullmatch(r"[+-]?[0-9.]+", last):
        return None
    return last if (len(match[1]) if match else 0) < decimals.pop() else None


class CsvReader(TableReader):
    """Read curves, series, traces and measurements from text.

    Times without a unit are microseconds; ISO timestamps become seconds since 1970 (UTC without an offset). State
    times are taken to whole nanoseconds by decimal arithmetic.

    Examples
    --------
    >>> import perfcore
    >>> perfcore.read("examples/step.csv", reader="csv").mean
    2.3333333333333335
    """

    Options = TextTableOptions
    writes, file_format = True, "csv"

    def sniff(self, source: Source) -> float:
        """Sure where the columns have known names; unsure where only the ending or the shape of the lines says so."""
        # Unsure is still the best guess for these endings: the message of `read` then says what is wrong.
        guess = 0.3 if source.suffix in (".csv", ".tsv") and b"\0" not in source.head else 0.0
        try:
            layout = layout_of(source)
            if not layout.is_plain or (layout.holds_numbers and len(layout.names) == 1):
                guess = guess or UNSURE  # formats of other readers are such tables, too
            elif len(layout.names) > 1 and not source.head.lstrip().startswith(b"{"):  # an object of JSON
                guess = max(guess, UNSURE * layout.holds_numbers)
                columns = [Column(name, "number") for name in layout.names if name != INDEX]
                assign_roles(columns, TableOptions(), source.name)
                return 0.8
        except UnclearTableError:
            guess = 0.3
        except InputError:
            pass
        return guess if _how_to_export(source) is None else 0.8

    def read(self, source: Source, options: TextTableOptions) -> Any:
        try:
            layout = layout_of(source, options.decimal)
            is_table = layout.is_plain and re.match(rb"[^{<][^\n]*,", source.head) is not None
            if not is_table and (cure := _how_to_export(source)) is not None:
                raise InputError(source.name, cure)
            return self._read(source, layout, options)
        except InputError:
            if (cure := _how_to_export(source)) is not None:
                raise InputError(source.name, cure) from None
            raise

    def _read(self, source: Source, layout: Layout, options: TextTableOptions) -> Any:
        with source.plain_file() as path, _with_delimiters(path, layout) as plain:
            try:
                data = read_table(_open(source, plain, layout), options)
            except TableError as error:
                _explain(plain, source, layout, error)
            if (cell := cut_cell(plain, layout.delimiter)) is not None:
                short = f"its last number, {cell[:40]}, is shorter than those above: was the file cut short?"
                progress.note(f"{source.name}: the last line has no end, and {short}")
            return data


def _how_to_export(source: Source) -> str | None:
    """Return what to do with a file that is no table, if it is of a format that another program exports."""
    from perf_io.exported_formats import export_command  # a table does without

    return export_command(source)


@contextlib.contextmanager
def _with_delimiters(path: Path, layout: Layout) -> Iterator[Path]:
    """The file, or a copy of it that has the same lines with delimiters."""
    if layout.is_plain:
        yield path
        return
    with tempfile.TemporaryDirectory(prefix="perfcore-") as folder:
        copy = Path(folder) / "table"
        with path.open(encoding=layout.encoding, errors="replace") as lines, copy.open("w", encoding="utf-8") as rows:
            rewrite = layout.rewrite or str
            rows.writelines(f"{rewrite(line).rstrip(_LINE_END)}\n" for line in lines)
        yield copy


def _open(source: Source, path: Path, layout: Layout) -> Table:
    database = Database(source.name)
    relation = csv_scan(database.link(path), layout.names, layout.delimiter, layout.skip)
    if layout.has_empty_rows:
        relation = f"(SELECT * FROM {relation} WHERE coalesce({', '.join(map(quoted_name, layout.names))}) IS NOT NULL)"
    # Numbers with the other decimal sign count as numbers: that is the error to report. Between
    # commas 0,1 is as often a list of two.
    decimal = layout.decimal
    signs = (decimal,) if layout.delimiter == "," else (decimal, "," if decimal == "." else ".")
    unnamed = [name for name in layout.names if name.startswith(_UNNAMED[:-3]) and name != INDEX]
    counts = ", ".join(f"count({quoted_name(name)})" for name in unnamed)
    filled = dict(zip(unnamed, database.rows(f"SELECT {counts} FROM {relation}")[0], strict=True)) if unnamed else {}
    used = [name for name in layout.names if name != INDEX and filled.get(name) != 0]
    kinds = _kinds(database, relation, used, signs)
    columns = [Column(name, kind) for name, kind in zip(used, kinds, strict=True)]
    types = {column.name: "text timestamp" if column.kind == "timestamp" else "text" for column in columns}

    def at_row(row: int) -> tuple[int, Mapping[str, str]]:
        line, fields = next(itertools.islice(_records(path, layout, source.name), row, None))
        return line, dict(zip(layout.names, fields, strict=False))

    def lines() -> Iterator[int]:
        return (line for line, _ in _records(path, layout, source.name))

    if path != source.path or source.name == "-":  # a copy, which is removed
        numbers = array.array("q", lines())
        lines = numbers.__iter__  # type: ignore[assignment]

    empty = [name for name, count in filled.items() if not count]
    notes = (*layout.steps, *([f"{len(empty)} empty columns left out"] if empty else []))
    return Table(database, relation, tuple(columns), types, at_row, lines=lines, decimal=decimal, notes=notes)


def _kinds(database: Database, relation: str, names: Sequence[str], decimals: Sequence[str]) -> list[str]:
    """Return what the first rows of columns hold; the majority decides, so that a bad value is refused."""
    counts = []
    for name in names:
        numbers_in = ", ".join(f"TRY_CAST({sql_number(name, sign)} AS DOUBLE)" for sign in decimals)
        column = quoted_name(name)
        counts.append(f"count({column}), count(coalesce({numbers_in})), count(TRY_CAST({column} AS TIMESTAMP))")
    # Tables of thousands of columns take a query for some at a time: one for each would parse the rows that often.
    counted = list[int]()
    for few in (slice(first, first + _AT_ONCE) for first in range(0, len(names), _AT_ONCE)):
        rows = f"SELECT {', '.join(map(quoted_name, names[few]))} FROM {relation} LIMIT {_SAMPLE_ROWS}"
        counted += database.rows(f"SELECT {', '.join(counts[few])} FROM ({rows})")[0]
    # A column without any value is one of numbers: then what is missing is what gets reported.
    return [
        "number" if 2 * numbers >= n_values else "timestamp" if 2 * moments > n_values else "text"
        for n_values, numbers, moments in zip(counted[::3], counted[1::3], counted[2::3], strict=True)
    ]


def _records(path: Path, layout: Layout, name: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the line and fields of each row, as DuckDB counts rows: blank lines are none."""
    with path.open(encoding="utf-8-sig", errors="replace", newline="") as text:
        for _ in range(layout.skip):
            text.readline()
        reader = csv.reader(text, delimiter=layout.delimiter)
        line = layout.skip + 1
        try:
            for fields in reader:
                if any(fields) if layout.has_empty_rows else fields:
                    yield line, fields
                line = layout.skip + reader.line_num + 1
        except csv.Error as error:
            raise InputError(name, f"the table cannot be read: {error}", line=line) from None


def _explain(path: Path, source: Source, layout: Layout, error: TableError) -> NoReturn:
    """Say where the text is at fault, which DuckDB says in many lines."""
    records = _records(path, layout, source.name)
    for line, fields in records:
        if any("\ufffd" in field for field in fields):
            raise InputError(source.name, "is not UTF-8 text", line=line)
        if len(fields) != len(layout.names):
            problem = f"has {len(fields)} fields, but there are {len(layout.names)} columns"
            is_last = len(fields) < len(layout.names) and next(records, None) is None
            cut = "; it is the last, and has no end: was the file cut short?" * (is_last and ends_within_line(path))
            raise InputError(source.name, f"{problem} ({', '.join(layout.names)[:120]}){cut}", line=line)
    raise error
