"""What a user names as runs: files, folders, patterns, or what is in memory."""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from perf_gate.parts.opening import RunFiles, run_files
from perf_gate.reading.asv import is_asv
from perf_gate.reading.benchmark_action import is_benchmark_action
from perf_gate.reading.json_lines import is_json_lines
from perf_gate.reading.long_table import LongTable, long_table, with_better
from perf_gate.reading.sets import read_set
from perfcore.base.errors import OptionError
from perfcore.data.measurements import Measurements

if TYPE_CHECKING:
    from perfcore.reading.recognise import Reading

__all__ = ["ReadFile", "named_reader", "names_of", "opened", "version_column"]

ReadFile = Callable[[str, Sequence[type]], "Reading"]


def named_reader(reader: str | None) -> ReadFile:
    """What reads files by the name of a format, or tells the format."""
    from perfcore.reading.recognise import read_named

    return lambda path, types: read_named(path, reader=reader, wanted=types)


def opened(
    side: Any,
    values: Sequence[str] = (),
    read: ReadFile | None = None,
    parts: str | None = None,
    better: Mapping[str, str] | None = None,
) -> LongTable | RunFiles:
    """Runs of a version, or of several, as a long table; or the traces and models that they are.

    Parameters
    ----------
    side : object
        As of `perf_gate.api.gate`.
    values : sequence of str
        Columns that were measured; by default what the format says.
    read : callable, optional
        By default the format is told from the file.
    parts : str, optional
        What of traces is asked for.
    better : mapping of str to str, optional
        As of `perf_gate.reading.long_table.with_better`.
    """
    import pandas as pd

    from perfcore.reading.recognise import Reading

    kept: dict[tuple[str, Sequence[type]], Reading] = {}

    def read_once(path: str, types: Sequence[type]) -> Reading:
        """What is looked at to tell what it is, is not read again."""
        if (path, types) not in kept:
            kept.clear()
            kept[path, types] = (read or named_reader(None))(path, types)
        return kept[path, types]

    if isinstance(side, (str, os.PathLike)):
        path = Path(side)
        tells = any(is_it(path) for is_it in (is_asv, is_benchmark_action, is_json_lines))
        runs = None if tells else run_files(side, lambda one, types: read_once(one, types).data, parts, values)
        if runs is not None:
            return runs
        table = read_set(side, lambda one: read_once(one, (Measurements,)), values)
    else:
        runs = run_files(side, lambda one, types: read_once(one, types).data, parts, values)
        if runs is not None:
            return runs
        data = Measurements(side) if isinstance(side, pd.DataFrame) else side
        table = long_table(Reading(data, "", 1), values)
    return with_better(table, better or {})


def version_column(table: LongTable, column: str | None) -> str:
    """The column that tells versions apart.

    Raises
    ------
    OptionError
        It is not known.
    """
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
    """What two files, folders or patterns are called: without folders and endings where that tells them apart.

    Examples
    --------
    >>> names_of("runs/old.json", "runs/new.json"), names_of("old_*.json", "new_*.json")
    (('old', 'new'), ('old', 'new'))
    >>> names_of("a/*.prv", "b/*.prv"), names_of("old1.prv,old2.prv", "x")
    (('a', 'b'), ('old', 'x'))
    >>> names_of("x", "x")
    ('A', 'B')
    """
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
