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
from perfcore.base.errors import InputError, UnknownNameError

__all__ = ["PathTable", "column_of", "write_path_table"]

_KIND = "laws of paths"

Row = dict[str, Any]


class PathTable:
    """Laws of paths as `perf fit -o FILE.parquet` writes them, the largest share first.

    Parameters
    ----------
    file : str or path

    Attributes
    ----------
    facts : dict
        ``source``, ``value``, ``unit``, ``columns`` (symbol to column), ``points``, ``target``, ``options``, ``paths``
        and ``unfitted`` (how many), ``notes``, ``inclusive`` and ``several`` (metrics).
    columns : tuple of str

    Raises
    ------
    InputError
        The file is none of these.
    """

    def __init__(self, file: str | os.PathLike[str]) -> None:
        self.file = os.fsdecode(file)
        self._database = Database(self.file)
        if not Path(self.file).is_file():
            raise InputError(self.file, "there is no such file")
        link = self._database.link(Path(self.file))
        self._relation = parquet_scan(link)
        found = dict(self._database.rows(f"SELECT key, value FROM parquet_kv_metadata({link})"))
        try:
            self.facts = msgspec.json.decode(found.get(METADATA_KEY.encode(), b"{}"), type=dict[str, Any])
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

    def top(self, count: int, start: int = 0) -> list[Row]:
        """Some rows from one on, in the order of the file."""
        return self._rows(f"SELECT * FROM {self._relation} LIMIT {int(count)} OFFSET {int(start)}")

    def row(self, path: str) -> Row:
        """The row of a path.

        Raises
        ------
        UnknownNameError
            There is none of this name.
        """
        found = self._rows(f"SELECT * FROM {self._relation} WHERE path = $1 LIMIT 1", [path])
        if not found:
            raise UnknownNameError("path", path, [row["path"] for row in self.top(1000)])
        return found[0]

    def counts(self, column: str) -> dict[str, int]:
        """How many rows have each text of a column, the most frequent first; rows without one are left out."""
        name = quoted_name(column)
        rows = self._database.rows(
            f"SELECT {name}, count(*) FROM {self._relation} WHERE {name} IS NOT NULL GROUP BY 1 ORDER BY 2 DESC, 1"
        )
        return dict(rows)

    def _rows(self, sql: str, parameters: list[Any] | None = None) -> list[Row]:
        return [dict(zip(self.columns, row, strict=True)) for row in self._database.rows(sql, parameters or ())]


def column_of(file: Path, column: str) -> npt.NDArray[Any]:
    """One column of a Parquet file."""
    database = Database(str(file))
    return database.columns(f"SELECT {quoted_name(column)} AS one FROM {parquet_scan(database.link(file))}")["one"]


def write_path_table(
    parts: Sequence[Path], target: Path, group: str, totals: Mapping[str, float], facts: Mapping[str, Any]
) -> None:
    """Write the laws of all parts to one file, the largest share first; paths without a law come last.

    Parameters
    ----------
    parts : sequence of Path
    target : Path
    group : str
        Column of the parts by which shares are told; it is left out.
    totals : mapping of str to float
        What the shares of each group are shares of.
    facts : mapping
        See `PathTable`.
    """
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
