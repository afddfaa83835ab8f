"""A table of the laws of very many paths on disk: its first rows and single paths, without reading the others."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from perf_io.tables.duck import METADATA_KEY, Database, parquet_scan, quoted, quoted_name
from perfcore.base.errors import InputError, OptionError, PerfError

_KIND = "laws of paths"
_NEAR = 3  # names that are told where one is unknown
_HAS_PART = "contains(lower(path), lower($1))"

Row = dict[str, Any]


class PathTable:
    """Laws of paths as `perf fit -o FILE.parquet` writes them, the largest share first."""

    def __init__(self, file: str | os.PathLike[str]) -> None:
        self.file = os.fsdecode(file)
        self._database = Database(self.file)
        if not Path(self.file).is_file():
            raise InputError(self.file, "there is no such file")
        link = self._database.link(Path(self.file))
        self._relation = parquet_scan(link)
        metadata = dict(self._database.rows(f"SELECT key, value FROM parquet_kv_metadata({link})"))
        try:
            self.facts = msgspec.json.decode(metadata.get(METADATA_KEY.encode(), b"{}"), type=dict[str, Any])
        except msgspec.MsgspecError:
            self.facts = {}
        if self.facts.get("kind") != _KIND:
            raise InputError(
                self.file, "is no table of laws; perf fit DATA --fitter scaling -o FILE.parquet writes one"
            )

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(row[0] for row in self._database.rows(f"DESCRIBE SELECT * FROM {self._relation}"))

    def top(self, count: int, start: int = 0, part: str = "") -> list[Row]:
        """Some rows from one on, in the order of the file; only paths with a part in their name, whatever its case."""
        rows = f"LIMIT {int(count)} OFFSET {int(start)}"
        if not part:
            return self._rows(f"SELECT * FROM {self._relation} {rows}")
        return self._rows(f"SELECT * FROM {self._relation} WHERE {_HAS_PART} {rows}", [part])

    def count(self, part: str = "") -> int:
        """How many rows there are, or of paths with a part in their name."""
        if not part:
            return int(self.facts["paths"]) + int(self.facts["unfitted"])
        rows = self._database.rows(f"SELECT count(*) FROM {self._relation} WHERE {_HAS_PART}", [part])
        return int(rows[0][0])

    def row(self, path: str) -> Row:
        """The row of a path."""
        rows = self._rows(f"SELECT * FROM {self._relation} WHERE path = $1 LIMIT 1", [path])
        if not rows:
            nearest = f"ORDER BY jaro_winkler_similarity(path, $1) DESC, path LIMIT {_NEAR}"
            names = [row[0] for row in self._database.rows(f"SELECT path FROM {self._relation} {nearest}", [path])]
            raise OptionError(f"unknown path {path!r} among {self.count():,}; nearest are {', '.join(names)}")
        return rows[0]

    def counts(self, column: str) -> dict[str, int]:
        """How many rows have each text of a column, the most frequent first; rows without one are left out."""
        name = quoted_name(column)
        rows = self._database.rows(
            f"SELECT {name}, count(*) FROM {self._relation} WHERE {name} IS NOT NULL GROUP BY 1 ORDER BY 2 DESC, 1"
        )
        return dict(rows)

    def _rows(self, sql: str, parameters: list[Any] | None = None) -> list[Row]:
        return [dict(zip(self.columns, row, strict=True)) for row in self._database.rows(sql, parameters or ())]


def is_path_table(file: Path) -> bool:
    """Whether a file is a `PathTable`."""
    try:
        PathTable(file)
    except PerfError:
        return False
    return True


def column_of(file: Path, column: str) -> npt.NDArray[Any]:
    """One column of a Parquet file."""
    database = Database(str(file))
    return database.columns(f"SELECT {quoted_name(column)} AS one FROM {parquet_scan(database.link(file))}")["one"]


def write_path_table(
    parts: Sequence[Path], target: Path, group: str, totals: Mapping[str, float], facts: Mapping[str, Any]
) -> None:
    """Write the laws of all parts to one file, the largest share first; paths without a law come last."""
    database = Database(target.name)
    database.add_arrays(
        "totals", {group: np.array(list(totals), dtype=object), "total": np.array(list(totals.values()))}
    )
    name, files = quoted_name(group), ", ".join(quoted(str(part)) for part in parts)
    laws = f"read_parquet([{files}], union_by_name = true, hive_partitioning = false)"
    database.copy(
        f"SELECT laws.* EXCLUDE ({name}) REPLACE (laws.predicted / totals.total AS share) FROM {laws} AS laws "
        f"LEFT JOIN totals USING ({name}) ORDER BY share DESC NULLS LAST, path",
        target, "parquet", {"kind": _KIND, **facts},
    )  # fmt: skip
