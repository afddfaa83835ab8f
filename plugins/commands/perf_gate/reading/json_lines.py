"""Tables of JSON lines: one flat object for each run, as `perf gate record` keeps them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from perfcore.base.errors import InputError
from perfcore.data.measurements import Measurements
from perfcore.reading.recognise import Reading

_ENDINGS = (".jsonl", ".ndjson")


def is_json_lines(path: Path) -> bool:
    """Whether a file is such a table; lines of other shapes are other formats'."""
    return bool(first_row(path))


def first_row(path: Path) -> dict[str, Any]:
    """The first row; empty of what is no such table."""
    if path.suffix.lower() not in _ENDINGS or not path.is_file():
        return {}
    with path.open("rb") as file:
        first = next((line for line in file if line.strip()), b"")
    try:
        row = msgspec.json.decode(first)
    except (UnicodeDecodeError, msgspec.MsgspecError):
        return {}
    return row if _is_flat(row) else {}


def read_json_lines(path: Path) -> Reading:
    """Read all lines as measurements."""
    import pandas as pd

    rows = rows_of(path)
    if not rows:
        raise InputError(path, "holds no rows")
    lines, objects = zip(*rows, strict=True)
    return Reading(Measurements(pd.DataFrame(list(objects)), source=str(path), lines=lines), "json-lines", 1)


def rows_of(path: Path) -> list[tuple[int, dict[str, Any]]]:
    """Number and object of each line."""
    rows = []
    for number, line in enumerate(path.read_bytes().splitlines(), start=1):
        if not line.strip():
            continue
        try:
            row = msgspec.json.decode(line)
        except (UnicodeDecodeError, msgspec.MsgspecError) as error:
            raise InputError(path, f"is not JSON: {error}", line=number) from None
        if not _is_flat(row):
            raise InputError(path, "an object of numbers and texts is expected", line=number)
        rows.append((number, row))
    return rows


def _is_flat(row: Any) -> bool:
    return isinstance(row, dict) and not any(isinstance(value, (dict, list)) for value in row.values())
