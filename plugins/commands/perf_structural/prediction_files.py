"""Predictions and what then happened, from the files in which a user keeps them."""

from __future__ import annotations

import csv
import io
import json
import math
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from perfcore.base.arrays import Floats
from perfcore.base.errors import DataError, InputError, OptionError, PerfError, UnknownNameError, listing

if TYPE_CHECKING:
    from perfcore.stochastic import StochasticValue

_ACCEPTED = (
    'a value as `perf stochastic summarize` writes it, a number, or {"lower": ..., "upper": ...} as '
    "`perf predict --interval --json` prints it, is expected"
)


def read_predictions(path: str | os.PathLike[str]) -> list[StochasticValue]:
    """The values of a file: one JSON document after another, each a value or a list of them."""
    name, values = os.fspath(path), []
    for number, entry in enumerate(_entries(path), start=1):
        try:
            values.append(_value(entry))
        except PerfError as error:
            raise InputError(name, f"prediction {number}: {error}") from None
    if not values:
        raise InputError(name, f"holds no predictions; {_ACCEPTED}")
    return values


def first_prediction(path: str | os.PathLike[str]) -> StochasticValue:
    """The first value of a file of predictions, by which it is recognised."""
    for entry in _entries(path):
        return _value(entry)
    raise InputError(path, f"holds no predictions; {_ACCEPTED}")


def _entries(path: str | os.PathLike[str]) -> Iterator[Any]:
    """What the documents hold, lists entry by entry; commands print those below ``rows``."""
    for document in _documents(path):
        entries = document.get("rows", document) if isinstance(document, dict) else document
        yield from entries if isinstance(entries, list) else [entries]


def _documents(path: str | os.PathLike[str]) -> Iterator[Any]:
    name = os.fspath(path)
    text = read_text(path)
    decoder, position = json.JSONDecoder(parse_constant=_refuse_constant), 0
    while text[position:].strip():
        position += len(text[position:]) - len(text[position:].lstrip())
        try:
            document, position = decoder.raw_decode(text, position)
        except json.JSONDecodeError as error:
            problem = f"is not JSON: {error.msg}, column {error.colno}"
            raise InputError(name, problem, line=error.lineno) from None
        except (ValueError, RecursionError) as error:
            line = text.count("\n", 0, position) + 1
            problem = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
            raise InputError(name, f"is not JSON: {problem}", line=line) from None
        yield document


def _refuse_constant(word: str) -> float:
    raise ValueError(f"{word} is met; a prediction is made of finite numbers")


def _value(entry: Any) -> StochasticValue:
    from perfcore.stochastic import as_value, from_dict, of_bounds

    if isinstance(entry, bool) or not isinstance(entry, (int, float, dict)):
        raise DataError(f"{str(entry)[:40]!r} is met; {_ACCEPTED}")
    if isinstance(entry, (int, float)):
        return as_value(float(entry))
    if isinstance(entry.get("value"), dict):
        entry = entry["value"]
    if "representation" not in entry and {"lower", "upper"} <= set(entry):
        return of_bounds(entry["lower"], entry["upper"])
    return from_dict(entry)


def read_actual(
    path: str | os.PathLike[str], column: str | None = None, at: str | None = None
) -> tuple[str, Floats, Floats | None]:
    """Measured values from one column of a CSV table, a row for each run, in the order of the predictions."""
    name = os.fspath(path)
    if read_text(path).lstrip()[:1] in ("[", "{"):
        raise InputError(
            name, "is JSON, and the ACTUAL values are a CSV table; name the file of PREDICTIONS first", line=1
        )
    rows = read_rows(path)
    names = list(rows[0][1])
    if column is None:
        candidates = [title for title in names if title != at and is_number(rows[0][1].get(title, ""))]
        called = [title for title in candidates if title.lower().partition("_")[0] == "actual"]
        chosen = called if len(called) == 1 else candidates
        if len(chosen) != 1:
            raise OptionError(f"{name}: name the column of actual values (--column NAME): {listing(names)}")
        column = chosen[0]
    for required in (column, at):
        if required is not None and required not in names:
            raise UnknownNameError(f"column of {name}", required, names)
    return column, _column(rows, column, name), None if at is None else _column(rows, at, name)


def read_rows(path: str | os.PathLike[str], name: str = "") -> list[tuple[int, Mapping[str, str]]]:
    """The rows of a table of text, by the names in its first line, and the line of each."""
    name, text = name or os.fspath(path), read_text(path)
    first = text.lstrip().partition("\n")[0]
    reader = csv.DictReader(
        io.StringIO(text, newline=""), delimiter=max(",;\t", key=first.count), skipinitialspace=True
    )
    rows = list(_rows(reader, name))
    if not rows:
        raise InputError(name, "holds no rows; a line of column names and a row for each run are expected", line=1)
    return rows


def _rows(reader: csv.DictReader[str], name: str) -> Iterator[tuple[int, Mapping[str, str]]]:
    try:
        for row in reader:
            if None in row or None in row.values():
                number = "more" if None in row else "fewer"
                problem = (
                    f"the row has {number} fields than there are columns ({', '.join(reader.fieldnames or ())[:120]})"
                )
                raise InputError(name, problem, line=reader.line_num)
            yield reader.line_num, {title.strip(): text for title, text in row.items()}
    except csv.Error as error:
        raise InputError(name, f"the table cannot be read: {error}", line=reader.line_num) from None


def _column(rows: list[tuple[int, Mapping[str, str]]], column: str, name: str) -> Floats:
    for line, row in rows:
        if not is_number(row[column]):
            raise InputError(name, f"{column} is {row[column][:40]!r}; expected a finite number", line=line)
    return np.array([float(row[column]) for _, row in rows])


def is_number(text: str) -> bool:
    """Whether a text is a finite number."""
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def read_text(path: str | os.PathLike[str]) -> str:
    """Contents of a text file; errors take one line."""
    name = os.fspath(path)
    try:
        return Path(path).read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise InputError(name, "there is no such file") from None
    except OSError as error:
        raise InputError(name, f"cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError:
        raise InputError(name, "is not UTF-8 text") from None
