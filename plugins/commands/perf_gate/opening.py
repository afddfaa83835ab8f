"""What a user names as runs: files, folders, patterns, or what is in memory."""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from perf_gate.reading.long_table import LongTable, long_table, with_better
from perf_gate.reading.sets import read_set
from perfcore.base.errors import OptionError
from perfcore.data.measurements import Measurements

if TYPE_CHECKING:
    from perfcore.reading.recognise import Reading


ReadFile = Callable[[str, Sequence[type]], "Reading"]


def named_reader(reader: str | None) -> ReadFile:
    """What reads files by the name of a format, or tells the format."""
    from perfcore.reading.recognise import read_named

    return lambda path, types: read_named(path, reader=reader, wanted=types)


def opened(
    side: Any,
    values: Sequence[str] = (),
    read: ReadFile | None = None,
    better: Mapping[str, str] | None = None,
) -> LongTable:
    """Runs of a version, or of several, as a long table."""
    import pandas as pd

    from perfcore.reading.recognise import Reading

    if isinstance(side, (str, os.PathLike)):
        read_file = read or named_reader(None)
        table = read_set(side, lambda path: read_file(path, (Measurements,)), values)
    else:
        data = Measurements(side) if isinstance(side, pd.DataFrame) else side
        table = long_table(Reading(data, "", 1), values)
    return with_better(table, better or {})


def version_column(table: LongTable, column: str | None) -> str:
    """The column that tells versions apart."""
    chosen = column or table.column_of_versions()
    if chosen is not None:
        return chosen
    if table.reader == "hyperfine" and table.labels["command"].nunique() == 2:
        return "command"
    raise OptionError(
        f"{table.source}: what is it to be compared with? Name a second file, or the column that tells versions apart "
        "with --version COLUMN, or for a history the column of commits with --commit"
    )


def names_of(first: str, second: str) -> tuple[str, str]:
    """What two files, folders or patterns are called: without folders and endings where that tells them apart."""
    for names in ((_short(first), _short(second)), (first, second)):
        if names[0] != names[1]:
            return names
    return "A", "B"


def _short(name: str) -> str:
    """The last part of a path that says something: of a pattern or list what all its files have."""
    paths = [Path(part.strip()) for part in name.split(",")]
    letters = itertools.takewhile(lambda each: len(set(each)) == 1, zip(*(path.stem for path in paths), strict=False))
    for part in ("".join(each[0] for each in letters), *reversed(paths[0].parent.parts)):
        if words := re.split(r"[*?]|\[[^]]*\]", part)[0].rstrip("_-. "):
            return words
    return name
