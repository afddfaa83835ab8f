"""What readers of results share: a format as a declaration, its rows as measurements, files as one table."""

from __future__ import annotations

import csv
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, NoReturn

import msgspec

from perf_io.options import MessageOptions
from perf_io.text import decode_document, numbered_lines
from perf_tables.meanings import is_repetition
from perfcore.base import pd, progress
from perfcore.base.errors import DataError, InputError, OptionError
from perfcore.data.columns import can_stand, guess_roles
from perfcore.data.measurements import Measurements
from perfcore.data.units import unit_of
from perfcore.reading.source import Reader, Source

_FILE = "file"
_WORD_AND_NUMBER = re.compile(r"([A-Za-z]*)([=_-]?)([0-9]{1,18})")
ARROW = "->"  # between the regions of a call path, as in Extra-P
Row = dict[str, Any]
SHARE = "share"  # unit of efficiencies
_LONGEST_NAME = 120
_UNNAMED = "unnamed"


def join_measurements(
    parts: Iterable[tuple[Path, Measurements]], fields: Sequence[Mapping[str, Any]], name: str
) -> Measurements:
    """Return measurements of several files as one table with what the files' names say."""
    tables, parts = [], list(parts)
    if not fields[0] and not any(data.roles.parameters for _, data in parts):
        found = _numbers_in_names([path for path, _ in parts], name)
        columns = {column for _, data in parts for column in data.table.columns}
        fields = found if found and not columns & found[0].keys() else fields
    for (path, data), name_fields in zip(parts, fields, strict=True):
        table = data.table
        duplicates = [field for field in (*name_fields, *([_FILE] if len(parts) > 1 else [])) if field in table.columns]
        if duplicates and duplicates[0] in name_fields:
            raise OptionError(f"--from-name: {path} has a column {duplicates[0]!r} already; call the field otherwise")
        extra = {**name_fields, _FILE: str(path)} if len(parts) > 1 and not duplicates else name_fields
        tables.append(table.assign(**extra))
    together = pd.concat(tables, ignore_index=True)
    first = parts[0][1]
    for path, data in parts:
        for role in ("value", "unit"):
            own, other = getattr(first.roles, role), getattr(data.roles, role)
            if own != other:
                problem = f"{parts[0][0]} has the {role} {own!r} and {path} {other!r}; read them as two sets"
                raise DataError(problem)
    words = [field for field in fields[0] if not is_repetition(field) and isinstance(fields[0][field], str)]
    code, system, category = (
        list(dict.fromkeys(column for _, data in parts for column in getattr(data.roles, role)))
        for role in ("code", "system", "category")
    )
    has_lines = len(parts) == 1 and first.line(0) is not None
    return Measurements(
        together,
        _parameters(together, parts, [f for f in fields[0] if f not in words and not is_repetition(f)]),
        first.roles.value, code=[*words, *code], system=system, category=category, unit=first.roles.unit,
        source=f"{name} ({len(parts)} files)" if len(parts) > 1 else first.source,
        lines=[first.line(row) or 0 for row in range(len(first.table))] if has_lines else None,
    )  # fmt: skip


def _numbers_in_names(paths: Sequence[Path], name: str) -> list[dict[str, Any]]:
    """Return numbers by the words before them in names of files, as ``run_p8``, that differ in nothing else."""
    found = [_WORD_AND_NUMBER.findall(path.name) for path in paths]
    if len({_WORD_AND_NUMBER.sub(r"\1\2", path.name) for path in paths}) > 1 or len({*map(str, found)}) < len(paths):
        return []
    varied = [k for k, of_files in enumerate(zip(*found, strict=True)) if len({*of_files}) > 1]
    words = [found[0][k][0].lower() for k in varied]
    levels = [word for word in words if not is_repetition(word)]
    if not levels or "" in words or len({*words}) < len(words):
        return []
    progress.note(f"{name}: assumed: {' and '.join(levels)} as in the names of the files (set with --from-name)")
    return [{word: int(numbers[k][2]) for word, k in zip(words, varied, strict=True)} for numbers in found]


def _parameters(table: pd.DataFrame, parts: Sequence[tuple[Path, Any]], named: Sequence[str]) -> dict[str, str]:
    """Return symbols and columns of what was varied: those of the names first, then those of the files."""
    symbols = {column: symbol for _, data in parts for symbol, column in data.roles.parameters.items()}
    columns = list(dict.fromkeys([*named, *symbols]))
    kept = (varied_columns(table, columns, named) if len(parts) > 1 else columns) or columns
    processors = guess_roles(kept, set(kept)).parameters.values()
    parameters: dict[str, str] = {}
    for column in sorted(kept, key=lambda one: one not in processors):
        symbol = column if column in named else symbols[column]
        parameters[symbol if symbol not in parameters else column] = column
    if parameters and "p" not in parameters:
        symbol = next(iter(parameters))
        parameters = {"p": parameters.pop(symbol), **parameters}
    return parameters


def varied_columns(table: pd.DataFrame, columns: Sequence[str], named: Sequence[str] = ()) -> list[str]:
    """Return the columns that differ between rows, less those that repeat one before, such as nodes and tasks."""
    kept: list[str] = []
    for column in columns:
        levels = table[column].nunique()
        if levels < 2:
            continue
        same = any(levels == table[other].nunique() == len(table[[column, other]].drop_duplicates()) for other in kept)
        if column in named or not same:
            kept.append(column)
    return kept


def profile(
    run: Row, exclusive: Mapping[str, float], inclusive: Mapping[str, float], value: str, source: str, **roles: Any
) -> Measurements:
    """Return a row for each call path of a run, with what was spent in it alone and with all that it called."""
    rows = [{**run, "callpath": path, value: amount, f"inclusive_{value}": inclusive.get(path)}
            for path, amount in exclusive.items()]  # fmt: skip
    return results(rows, source, value=value, category=["callpath"], **roles)


def exclusive_of(inclusive: Mapping[tuple[str, ...], float]) -> dict[str, float]:
    """Return what was spent in each call path itself: the inclusive amount less that of the paths called from it."""
    left = dict(inclusive)
    for path, amount in inclusive.items():
        # The nearest caller that was measured; regions between may have been filtered out.
        caller = path[:-1]
        while caller and caller not in left:
            caller = caller[:-1]
        if caller:
            left[caller] -= amount
    return {ARROW.join(path): max(amount, 0.0) for path, amount in left.items()}


def inclusive_of(exclusive: Mapping[tuple[str, ...], float]) -> dict[str, float]:
    """Return what was spent in each call path and in those called from it."""
    total = dict(exclusive)
    for path, amount in exclusive.items():
        for caller in filter(total.__contains__, (path[:length] for length in range(1, len(path)))):
            total[caller] += amount
    return {ARROW.join(path): amount for path, amount in total.items()}


class Found:
    """Rows of one input so far."""

    def __init__(self, source: str, reader: ResultReader) -> None:
        self.source, self.value = source, reader.value
        self.parameters, self.code = list(reader.parameters), list(reader.code)
        self.rows: list[Row] = []
        self.lines: list[int] = []
        self.user_columns: dict[str, None] = {}
        self.left_out: Counter[str] = Counter()  # by a reason with a place for the count

    def add(self, row: Row, varied: Row | None = None, line: int | None = None, counters: Row | None = None) -> None:
        """Take a row with columns that the user named: parameters, and what else was measured."""
        self.user_columns.update(dict.fromkeys(map(one_line, varied or ())))
        row = dict(row)
        for name, value in (*(varied or {}).items(), *(counters or {}).items()):
            column = one_line(name)
            if column in row:
                self.refuse(f"the name {column!r} stands for two columns; rename the parameter")
            row[column] = number_or_text(value)
        self.rows.append(row)
        if line is not None:
            self.lines.append(line)

    def refuse(self, problem: str, line: int | None = None) -> NoReturn:
        raise InputError(self.source, problem, line=line)

    def cells(self, fields: Sequence[str], headings: Sequence[str], line: int, hint: str = "") -> dict[str, str]:
        """Return the fields of a line by their headings."""
        if len(fields) != len(headings):
            problem = f"has {len(fields)} fields for {len(headings)} columns ({', '.join(headings)[:120]}){hint}"
            self.refuse(problem, line)
        return dict(zip(headings, fields, strict=True))

    def number(self, text: str, name: str, line: int) -> int | float:
        value: int | float | str = number_or_text(text)
        if isinstance(value, str):
            self.refuse(f"{name} {text[:40]!r} is no number", line)
        return value

    def numbers(self, fields: Sequence[str], headings: Sequence[str], line: int, texts: Sequence[str] = ()) -> Row:
        """Return the numbers of a line by their headings; those of ``texts`` may be none."""
        row = dict(zip(headings, [number_or_text(field) for field in fields], strict=False))
        if len(fields) != len(headings) or any(isinstance(row[name], str) for name in row if name not in texts):
            self.refuse(f"{len(headings)} numbers ({', '.join(headings)[:120]}) are expected", line)
        return row


class ResultReader(Reader):
    """A format as a declaration; `_take` gives the rows of its document, or of its numbered lines."""

    shape: ClassVar[Any] = None  # of a document; None of a text
    description: ClassVar[str] = ""  # of a document, for messages
    nothing: ClassVar[str] = "holds no results"  # what is wrong with an input without rows
    parameters: ClassVar[Sequence[str]] = ()
    value: ClassVar[str] = "value"
    unit: ClassVar[str | None] = None
    code: ClassVar[Sequence[str]] = ()
    system: ClassVar[Sequence[str]] = ()
    category: ClassVar[Sequence[str]] = ()
    words_are_code: ClassVar[bool] = False  # columns of the user that hold texts

    def read(self, source: Source, options: Any) -> Measurements:
        found = Found(source.name, self)
        try:
            content = self._content(source)
        except csv.Error as error:
            raise InputError(source.name, f"is no table of {self.description}: {error}") from None
        self._take(content, found, options)
        if not found.rows:
            found.refuse(self.nothing)
        kept = [index for index, row in enumerate(found.rows) if row.get("bytes") != 0]
        if isinstance(options, MessageOptions) and not options.empty and 0 < len(kept) < len(found.rows):
            found.left_out["since they are of 0 bytes: {} rows; -r empty=yes keeps them"] = len(found.rows) - len(kept)
            found.rows, found.lines = [found.rows[k] for k in kept], [found.lines[k] for k in kept]
        for reason, count in found.left_out.items():
            progress.note(f"{source.name}: left out, {reason.replace('{}', str(count), 1)}")
        return self.measurements(found)

    def measurements(self, found: Found) -> Measurements:
        texts = [name for name in found.user_columns if any(isinstance(row.get(name), str) for row in found.rows)]
        parameters = [*found.parameters, *found.user_columns]
        code = [*found.code, *(texts if self.words_are_code else ())]
        roles: dict[str, Any] = {"code": code, "system": self.system, "category": self.category, "unit": self.unit}
        lines = found.lines or None
        return results(found.rows, found.source, parameters=parameters, value=found.value, **roles, lines=lines)

    def _content(self, source: Source) -> Any:
        """Return what `_take` takes: the document, numbered lines, or a table in place of the document."""
        if self.shape is None:
            return numbered_lines(source)
        if source.head.lstrip()[:1] in (b"{", b"[") or not self.sniff(source):
            return decode_document(source, self.shape, self.description)
        lines = (text for _, text in numbered_lines(source))
        try:
            return msgspec.convert(self._of_table(list(csv.DictReader(lines, restval=""))), self.shape, strict=False)
        except msgspec.ValidationError as error:  # as of a row with more fields than names
            raise InputError(source.name, f"is no table of {self.description}: {error}") from None

    def _of_table(self, rows: list[dict[str, str]]) -> Any:
        raise NotImplementedError

    def _take(self, content: Any, found: Found, options: Any) -> None:
        raise NotImplementedError


def results(
    rows: Sequence[Row], source: str, *, parameters: Sequence[str], value: str, code: Sequence[str] = (),
    system: Sequence[str] = (), category: Sequence[str] = (), unit: str | None = None,
    lines: Sequence[int] | None = None,
) -> Measurements:  # fmt: skip
    """Return measurements with the roles that a format suggests."""
    if not rows:
        raise InputError(source, "holds no results")
    table = pd.DataFrame(list(rows))
    code = list(code)
    if "metric" in table.columns:
        only = one_line(rows[0]["metric"])
        if table[["metric", "unit"]].drop_duplicates().shape[0] == 1 and only not in table.columns:
            unit = rows[0]["unit"] or None
            table = table.drop(columns=["metric", "unit"]).rename(columns={value: only})
            value = only
        else:
            code.append("metric")
    present = [column for column in dict.fromkeys(parameters) if column in table.columns and column != value]
    cells = {column: table[column].dropna().tolist() for column in present}
    numeric = [
        column for column in present
        if cells[column] and all(isinstance(cell, (int, float)) and math.isfinite(cell) for cell in cells[column])
    ]  # fmt: skip
    return Measurements(
        table,
        _symbols(varied_columns(table, numeric) or numeric),
        value,
        code=_naming(table, code),
        system=_naming(table, system),
        category=_naming(table, category),
        unit=unit if unit_of(value) is None else None,  # of a metric called ``time_s`` that is enough
        source=source,
        lines=lines,
    )


def number_or_text(value: Any) -> Any:
    """Return a finite number where a text is one; anything that is neither number nor text as a text."""
    if value is None or (isinstance(value, (int, float)) and not isinstance(value, bool)):
        return value
    text = str(value).strip()
    try:
        number = float(text)
    except ValueError:
        return text
    if not math.isfinite(number) or "_" in text:
        return text
    return int(text) if re.fullmatch(r"[-+]?[0-9]{1,15}", text) else number


def one_line(name: str) -> str:
    """Return a name that can stand in a message and above a column."""
    return " ".join(name.split())[:_LONGEST_NAME] or _UNNAMED


def _naming(table: pd.DataFrame, columns: Sequence[str]) -> list[str]:
    """Return the columns that name something, with a name in each row."""
    named = []
    for column in columns:
        if column not in table.columns:
            continue
        blank = table[column].isna() | (table[column].astype(str).str.strip() == "")
        if not blank.all():
            table[column] = table[column].astype(object).mask(blank, _UNNAMED)  # a name may be a number
            named.append(column)
    return named


def _symbols(columns: Sequence[str]) -> dict[str, str]:
    """Return what parameters are called in formulas: the number of processors, or else the first, is ``p``."""
    first = guess_roles(list(columns), set(columns)).parameters.values()
    ordered = [*first, *(column for column in columns if column not in first)]
    symbols: dict[str, str] = {}
    for column in ordered:
        symbol = column if symbols or "p" in columns else "p"
        if not can_stand(symbol):
            symbol = "x_" + re.sub(r"\W", "_", column, flags=re.ASCII)[:_LONGEST_NAME]
        while symbol in symbols:
            symbol += "_"
        symbols[symbol] = column
    return symbols
