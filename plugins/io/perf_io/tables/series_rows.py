"""Tables of many series in bounded memory: whole series after each other, and files with a row for each."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from perf_io.tables.duck import Database, parquet_scan, quoted_name
from perfcore.base.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

_VECTORS = 12  # of 2,048 rows that are read at a time
_ANSWERS = "answers"  # the table of what was written


class SeriesTable:
    """A Parquet or CSV file, read by series."""

    def __init__(self, path: Path) -> None:
        if not path.is_file():
            raise InputError(str(path), "there is no such file")
        self.database = Database(str(path))
        link = self.database.link(path)
        with path.open("rb") as file:
            is_parquet = file.read(4) == b"PAR1"
        self.relation = parquet_scan(link) if is_parquet else f"read_csv({link})"

    def head(self, count: int) -> pd.DataFrame:
        """Return the first rows."""
        return self.database.frame(f"SELECT * FROM {self.relation} LIMIT {count}")

    def blocks(self, by: Sequence[str]) -> Iterator[pd.DataFrame]:
        """Yield tens of thousands of rows at a time, those of a series together, in the order of their names."""
        import pandas as pd

        keys, left = list(by), None
        order = ", ".join(map(quoted_name, keys))
        for frame in self.database.frames(f"SELECT * FROM {self.relation} ORDER BY {order}", _VECTORS):
            rows = frame if left is None else pd.concat([left, frame], ignore_index=True)
            is_last = (rows[keys] == rows[keys].iloc[-1]).all(axis=1)  # its other rows may follow
            left = rows[is_last]
            if not is_last.all():
                yield rows[~is_last].reset_index(drop=True)
        if left is not None:
            yield left.reset_index(drop=True)


def answers_bytes(rows: pd.DataFrame, facts: Mapping[str, Any]) -> bytes:
    """Return a Parquet file of some rows."""
    database = Database("answers")
    database.add_frame(_ANSWERS, rows, is_new=True)
    with tempfile.TemporaryDirectory(prefix="perfcore-") as folder:
        path = Path(folder) / "answers.parquet"
        database.copy(f"SELECT * FROM {_ANSWERS}", path, "parquet", facts)
        return path.read_bytes()


def join_answers(files: Sequence[Path], path: Path, facts: Mapping[str, Any]) -> None:
    """Write the rows of several Parquet files to one, in their order."""
    database = Database(str(path))
    links = ", ".join(database.links(files))
    database.copy(f"SELECT * FROM {parquet_scan(f'[{links}]')}", path, "parquet", facts)


def facts_of(path: Path) -> Mapping[str, Any]:
    """Return what `answers_bytes` noted in a file; nothing of files of others."""
    database = Database(str(path))
    return database.parquet_facts(database.link(path))


def read_answers(path: Path, order: str, most: int) -> pd.DataFrame:
    """Return the rows with the largest values in a column, at most so many."""
    database = Database(str(path))
    relation = parquet_scan(database.link(path))
    return database.frame(f"SELECT * FROM {relation} ORDER BY {quoted_name(order)} DESC NULLS LAST LIMIT {most}")
