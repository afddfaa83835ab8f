"""A file of a history that grows with each commit, such as a CI cache keeps."""

from __future__ import annotations

import datetime
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from perf_gate.reading.json_lines import rows_of
from perf_gate.reading.long_table import LongTable, better_of
from perf_gate.reading.matching import text_of
from perfcore.base.errors import DataError, OptionError
from perfcore.base.files import write_bytes
from perfcore.results import Result


@dataclass(frozen=True, repr=False)
class Added(Result):
    """What was added to a history.

    Parameters
    ----------
    path : str
    commit : str
    benchmarks : tuple of str
    values : int
        That the file holds now.
    """

    path: str
    commit: str
    benchmarks: tuple[str, ...]
    values: int


def rows_to_add(table: LongTable, commit: str, machine: str = "", better: str | None = None) -> list[dict[str, Any]]:
    """A row for each benchmark and machine of a long table: the median of its runs.

    Benchmarks are called by all columns that name them, so that a name does not depend on what else was measured.
    """
    names = None
    for key in table.keys:
        texts = table.labels[key].map(text_of)
        part = f"{key}=" + texts if table.labels[key].dtype.kind in "iuf" else texts
        names = part if names is None else names + " " + part
    several = table.runs["metric"].nunique() > 1
    if names is None or several:
        names = table.runs["metric"] if names is None else names + " " + table.runs["metric"]
    now = datetime.datetime.now(datetime.UTC).isoformat(timespec="microseconds")
    return [
        {
            **{"commit": commit, "benchmark": str(name), "value": float(runs["value"].median())},
            **{"unit": str(runs["unit"].iloc[0]), "better": better or better_of(runs)},
            **{"machine": machine or str(where), "started": now},
        }
        for (name, where), runs in table.runs.assign(benchmark=names).groupby(["benchmark", "machine"], sort=False)
    ]


def append_rows(path: str | os.PathLike[str], rows: Iterable[Mapping[str, Any]]) -> Added:
    """Append rows to a file of JSON lines, all or none of them; it is made where it is not there."""
    new = [dict(row) for row in rows]
    if not new:
        raise DataError(f"{os.fspath(path)}: there is nothing to add")
    target = Path(path)
    if target.suffix.lower() not in (".jsonl", ".ndjson"):
        raise OptionError(f"{os.fspath(path)}: a history is kept in a file that ends in .jsonl")
    old = [row for _, row in rows_of(target)] if target.is_file() else []
    units = {row.get("benchmark"): row.get("unit", "") for row in old}
    for row in new:
        if (file_unit := units.get(row["benchmark"], row["unit"])) != row["unit"]:
            raise DataError(f"{os.fspath(path)}: {row['benchmark']} is in {file_unit or 'no unit'}, not {row['unit']}")
    before = target.read_bytes() if target.is_file() else b""
    if before and not before.endswith(b"\n"):
        before += b"\n"
    write_bytes(path, before + b"".join(msgspec.json.encode(row) + b"\n" for row in new))
    names = tuple(dict.fromkeys(str(row["benchmark"]) for row in new))
    return Added(os.fspath(path), str(new[0]["commit"]), names, len(old) + len(new))
