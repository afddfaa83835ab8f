"""A file, or all files of a folder or pattern, as one long table."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from perf_gate.reading.asv import is_asv, read_asv
from perf_gate.reading.benchmark_action import is_benchmark_action, read_benchmark_action
from perf_gate.reading.json_lines import is_json_lines, read_json_lines
from perf_gate.reading.long_table import LongTable, long_table

if TYPE_CHECKING:
    from perfcore.reading.recognise import Reading


ReadFile = Callable[[str], "Reading"]


def read_set(path: str | os.PathLike[str], read_file: ReadFile, values: Sequence[str] = ()) -> LongTable:
    """Read a file, or the files of a folder or pattern, each of which is a session."""
    import pandas as pd

    name = os.fspath(path)
    for recognised, read_it in ((is_asv, read_asv), (is_benchmark_action, read_benchmark_action)):
        if recognised(Path(name)):
            return read_it(Path(name))
    files = list(map(Path, files_of(name)))

    def read_one(file: Path) -> Reading:
        return read_json_lines(file) if is_json_lines(file) else read_file(str(file))

    tables = [long_table(reading, values, session) for session, reading in enumerate(map(read_one, files))]
    keys = tuple(dict.fromkeys(key for table in tables for key in table.keys))
    if len(tables) == 1:
        return replace(tables[0], source=name)
    runs, labels = (
        pd.concat([getattr(table, part) for table in tables], ignore_index=True) for part in ("runs", "labels")
    )
    return LongTable(runs, labels, keys, name, tables[0].reader, len(tables), tables[0].local, tables[0].local_rounds)


def files_of(name: str) -> list[str]:
    """The files that a folder, a pattern or a list with commas names, or the one file."""
    from perfcore.reading.many_files import named_files

    parts = [name] if Path(name).exists() or "," not in name else [part.strip() for part in name.split(",")]
    return [str(file) for part in parts for file in named_files(part) or [Path(part)]]
