"""Samples of one quantity from whatever holds them: a series over time, a table of runs, numbers."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from perf_structural.judging.prediction_files import is_number, read_rows
from perf_structural.samples import RunSamples, read_numbers, samples_of_rows, samples_of_table
from perf_structural.support import Bounds, check_within
from perf_tables.series.window import Window, select_column, take_window
from perfcore.base.errors import DataError, InputError, OptionError
from perfcore.data.curve import UtilizationCurve
from perfcore.data.measurements import Measurements
from perfcore.data.series import Series
from perfcore.data.units import readable
from perfcore.reading.source import Source


Samples = Window | RunSamples
ReadFile = Callable[[str, Sequence[type]], Any]

KINDS = (Series, UtilizationCurve, Measurements)  # that a reader may give
_HEAD = 4096  # bytes, of which the first two lines are
FEWEST = 20  # samples: with as many a 90 % interval leaves out one on each side


def read_samples(
    path: str | os.PathLike[str],
    window: str,
    column: str | None = None,
    until: float | str | None = None,
    where: str | Iterable[str] | None = None,
    read: ReadFile | None = None,
    within: Bounds | None = None,
) -> tuple[Samples, tuple[str, ...]]:
    """Samples of a file, and what is to be said about them."""
    data = _read_any(path, column, where, read or _read)
    if isinstance(data, Series) and where is not None:
        data = samples_of_table(_as_table(data), column, where, data.source)
    return samples_of(data, window, column, until, where, within)


def _read_any(
    path: str | os.PathLike[str], column: str | None, where: str | Iterable[str] | None, read: ReadFile
) -> Any:
    """Numbers, a column of a table of text, or what a reader gives."""
    if os.fspath(path) == "-" or Path(path).is_file():
        with Source(path) as source:
            samples = read_numbers(source, column, where)
            if samples is not None:
                return samples
            with _as_stdin(source):
                try:
                    return read(os.fspath(path), KINDS)
                except InputError as error:
                    # A table of text whose names say nothing needs no more than them, if a column is named or is to be.
                    is_table = error.line == 1 and _has_named_numbers(source.head)
                    if column is None and where is None and not is_table:
                        raise
            table = _plain_table(source, path, read)
            return samples_of_table(table, column, where, source.name)
    return read(os.fspath(path), KINDS)


def _plain_table(source: Source, path: str | os.PathLike[str], read: ReadFile) -> Any:
    """A table of text as its reader reads cells, or, where none knows the file, as it is."""
    import pandas as pd

    try:
        with _as_stdin(source):
            return read(os.fspath(path), (Measurements,)).table
    except InputError as error:
        if error.line not in (None, 1):
            raise
    with source.plain_file() as file:
        return pd.DataFrame([row for _, row in read_rows(file, source.name)])


def _has_named_numbers(head: bytes) -> bool:
    """Whether a file begins as a table of several columns with names, some of numbers, so that naming one helps."""
    lines = head[:_HEAD].decode("utf-8-sig", errors="replace").splitlines()[:2]
    mark = max(",;\t", key=lines[0].count) if lines else ","
    names, *rows = ([word.strip() for word in line.split(mark)] for line in lines)
    return (
        bool(rows)
        and len(names) == len(rows[0]) > 1
        and not any(map(is_number, names))
        and any(map(is_number, rows[0]))
    )


@contextlib.contextmanager
def _as_stdin(source: Source) -> Iterator[None]:
    """What was taken from standard input once, for who reads it himself; nothing of a file."""
    if not source.is_stdin:
        yield
        return
    before = sys.stdin
    with source.path.open() as stream:
        sys.stdin = stream
        try:
            yield
        finally:
            sys.stdin = before


def _as_table(series: Series) -> Any:
    import pandas as pd

    return pd.DataFrame({"time": series.times, **series.columns})


def _read(path: str, types: Sequence[type]) -> Any:
    from perfcore.reading.recognise import read

    return read(path, wanted=types)


def samples_of(
    data: Any,
    window: str,
    column: str | None = None,
    until: float | str | None = None,
    where: str | Iterable[str] | None = None,
    within: Bounds | None = None,
) -> tuple[Samples, tuple[str, ...]]:
    """Samples of what was read, likewise."""
    samples, warnings = _samples_in_window(data, window, column, until, where)
    try:
        check_within(samples.values, within, samples.column, samples.source)
    except DataError as error:
        raise DataError(f"{samples.source}, {samples.column!r}: {error}") from None
    return samples, warnings


def _samples_in_window(
    data: Any, window: str, column: str | None, until: float | str | None, where: str | Iterable[str] | None
) -> tuple[Samples, tuple[str, ...]]:
    if isinstance(data, Measurements):
        data = samples_of_rows(data, column, where)
    if isinstance(data, RunSamples):
        if until is not None:
            raise OptionError(f"--until {until}: {data.source} is no series over time")
        return data, (*few_samples(data.size), *data.notes)
    if where is not None:
        raise OptionError(f"--where {where!r} picks rows of a table; {data.source} is a series over time")
    selected = take_window(data, window, column, until)
    return selected, few_samples(len(selected.values), _longer(data, selected))


def few_samples(count: int, enough: str = "") -> tuple[str, ...]:
    """The warning where a value is made of few samples."""
    if count >= FEWEST:
        return ()
    warning = f"{count} sample{'s are' if count > 1 else ' is'} few: beyond them nothing is known; {FEWEST} say more"
    return (f"{warning}{enough}",)


def _longer(data: Any, selected: Window) -> str:
    """The window that would have enough."""
    _, times, values, unit = select_column(data, selected.column)
    finite = times[np.isfinite(values) & (times <= selected.times[-1])]
    if len(finite) < FEWEST:
        return f", and the series has {len(finite)} in all"
    return f", as --window all or one longer than {readable(float(selected.times[-1] - finite[-FEWEST]), unit)} has"
