"""What the functions of `perf_gate.api` take: files, models and data, directions, shares, versions."""

from __future__ import annotations

import itertools
import math
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from perf_gate.benchmark_files import read_set
from perf_gate.benchmark_runs import BETTER, LongTable, long_table, with_better
from perfcore.base.errors import DataError, OptionError, UnknownNameError
from perfcore.data.measurements import Measurements
from perfcore.reading import Read

Named = str | os.PathLike[str]

_NUMBER = re.compile(r"(?P<number>[0-9]+(?:\.[0-9]*)?|\.[0-9]+)\s*(?P<unit>x|%)?")


def factor_of(factor: str | float) -> float:
    """How many times as slow is too slow: ``"1.05x"``, ``"5%"``."""
    text = str(factor).strip()
    match = _NUMBER.fullmatch(text)
    number = math.nan if match is None else float(match["number"])
    if match is not None and match["unit"] == "%":
        number = 1.0 + number / 100.0
    if not 1.0 < number < math.inf:
        raise OptionError(f"--slower-than {text}: above 1 is expected, such as 1.05x or 5%")
    return number


def share_of(share: str | float) -> float:
    """How much sessions differ: ``"2%"``, 0.02."""
    text = str(share).strip()
    match = _NUMBER.fullmatch(text)
    number = math.nan if match is None or match["unit"] == "x" else float(match["number"])
    number /= 100.0 if text.endswith("%") else 1.0
    if not 0.0 <= number < 10.0:
        raise OptionError(f"--session-cv {text}: a share is expected, such as 2%")
    return number


def one_of(word: str, choices: Sequence[str], option: str) -> str:
    """One of the words that an option takes."""
    if word not in choices:
        raise UnknownNameError(option, word, choices)
    return word


def better_by_column(better: str | Iterable[str] | None) -> dict[str, str]:
    """Which values are better, by column; of all others under the empty name."""
    directions = {}
    for text in [better] if isinstance(better, str) else better or ():
        column, _, word = text.rpartition("=")
        directions[column.strip()] = one_of(word.strip(), BETTER, "--better")
    return directions


def versions_of(texts: Sequence[str]) -> dict[str, str]:
    """Versions and their commands: ``old=./old/app input``."""
    commands: dict[str, str] = {}
    for text in texts:
        name, equals, command = (part.strip() for part in text.partition("="))
        if not equals or not name or not command:
            raise OptionError(f"--version {text!r}: with --run NAME=COMMAND is expected, such as old='./old/app input'")
        if name in commands:
            raise OptionError(f"--version {name}: the name stands there twice")
        commands[name] = command
    return commands


def opened(
    side: Any,
    values: Sequence[str] = (),
    read: Read | None = None,
    better: Mapping[str, str] = MappingProxyType({}),
    reader: str | None = None,
) -> LongTable:
    """Runs of a version, or of several, as a long table."""
    import pandas as pd

    from perfcore.reading.recognise import Reading, read_named

    def read_measurements(path: str) -> Any:
        return read(path, (Measurements,)) if read else read_named(path, reader=reader, wanted=(Measurements,))

    if isinstance(side, (str, os.PathLike)):
        return with_better(read_set(side, read_measurements, values), better)
    if isinstance(side, (list, tuple, np.ndarray, pd.Series)):
        if not len(side):
            raise DataError("a list of runs is empty; give at least 3 numbers of each version")
        side = pd.DataFrame({"value": np.asarray(side)})
    data = Measurements(side) if isinstance(side, pd.DataFrame) else side
    return with_better(long_table(Reading(data, "", 1), values), better)


def version_column(table: LongTable, column: str | None) -> str:
    """The column that identifies the version."""
    chosen = column or table.column_of_versions()
    if chosen is not None:
        return chosen
    if table.reader == "hyperfine" and table.labels["command"].nunique() == 2:
        return "command"
    raise OptionError(
        f"{table.source}: nothing to compare with. Name a second file, or the column of versions "
        "with --version COLUMN, or for a history the column of commits with --commit"
    )


def names_of(first: str | os.PathLike[str], second: str | os.PathLike[str]) -> tuple[str, str]:
    """What two files, folders or patterns are called: without folders and endings where that keeps them distinct."""
    first, second = os.fspath(first), os.fspath(second)
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
