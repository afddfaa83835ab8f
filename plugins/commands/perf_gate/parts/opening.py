"""Traces and models of runs: which files they are, and their parts."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from perf_gate.parts.table import PartTimes
from perf_gate.reading.sets import files_of
from perfcore.base.errors import DataError, OptionError, PerfError
from perfcore.data.curve import UtilizationCurve
from perfcore.data.kinds import type_in_words
from perfcore.data.measurements import Measurements
from perfcore.data.trace import Trace
from perfcore.models.model import Model, is_model_file, load

__all__ = ["PARTS", "RunFiles", "part_times", "run_files"]

PARTS = ("phases", "categories")

ReadData = Callable[[str, Sequence[type]], Any]


@dataclass(frozen=True)
class RunFiles:
    """Runs of one version, each a trace, a curve or a model.

    Parameters
    ----------
    source : str
        As the user named them.
    runs : tuple of str, Model, Trace or UtilizationCurve
        Files are read one at a time.
    read : callable
        Reads a file of data as one of the types.
    """

    source: str
    runs: tuple[Any, ...]
    read: ReadData

    def models(self) -> Iterator[Model]:
        """The phases of each run."""
        from perfcore.models.fitting import default_fitter, fit

        fitter = None
        for run in self.runs:
            if isinstance(run, Model):
                yield run
            elif isinstance(run, str) and is_model_file(run):
                yield load(run)
            else:
                data = self._data(run, (Trace, UtilizationCurve))
                fitter = fitter or default_fitter(data, {})[0]
                yield fit(data, fitter=fitter)

    def with_categories(self) -> Iterator[Trace | Measurements]:
        """The trace of each run, or the table that `perf overheads` wrote of them.

        Raises
        ------
        DataError
            It is a model, a curve without states, or a table without categories.
        """
        for run in self.runs:
            if isinstance(run, Model) or (isinstance(run, str) and is_model_file(run)):
                raise DataError(f"{_called(run, self.source)} is a model; categories need the traces")
            data = self.read(run, (Trace,)) if isinstance(run, str) else run
            if not isinstance(data, (Trace, Measurements)):
                raise DataError(f"{_called(run, self.source)} holds {type_in_words(data)}; categories need a trace")
            yield data

    def _data(self, run: Any, types: tuple[type, ...]) -> Any:
        data = self.read(run, types) if isinstance(run, str) else run
        if not isinstance(data, (Trace, UtilizationCurve)):
            raise DataError(f"{_called(run, self.source)} holds {type(data).__name__}, neither a trace nor a curve")
        return data


def run_files(side: Any, read: ReadData, parts: str | None, values: Sequence[str] = ()) -> RunFiles | None:
    """Runs, where that is what they are; None of tables of benchmarks.

    Parameters
    ----------
    side : str, path, Model, Trace, UtilizationCurve, or a sequence of these
    read : callable
    parts : {"phases", "categories"}, optional
        What is asked for; by default it is told from the first file.
    values : sequence of str
        Columns that were measured, where the user names some: then it is a table.
    """
    if isinstance(side, (Model, Trace, UtilizationCurve)):
        return RunFiles(_called(side, "run"), (side,), read)
    if isinstance(side, (list, tuple)):
        runs = tuple(os.fspath(each) if isinstance(each, os.PathLike) else each for each in side)
        if not runs:
            raise OptionError("there are no runs")
        return RunFiles(_called(runs[0], "runs"), runs, read)
    if not isinstance(side, (str, os.PathLike)):
        is_table = parts is not None and isinstance(side, Measurements)
        return RunFiles(side.source, (side,), read) if is_table else None
    name = os.fspath(side)
    files = files_of(name)
    if parts is None and not is_model_file(files[0]) and not _holds_run(files[0], read, values):
        return None
    return RunFiles(name, tuple(files), read)


def part_times(first: RunFiles, second: RunFiles, parts: str | None) -> PartTimes:
    """How long each part of each run takes."""
    if parts == "categories":
        from perf_gate.parts.categories import category_times

        return category_times(first.with_categories(), second.with_categories())
    from perf_gate.parts.phases import phase_times

    return phase_times(list(first.models()), list(second.models()))


def _holds_run(file: str, read: ReadData, values: Sequence[str]) -> bool:
    """Whether it is a trace or a curve; of tables that may be both only where nothing tells what was measured."""
    try:
        data = read(file, (Measurements,))
    except OptionError:  # such as a part, which measurements have not
        data = read(file, ())
    if isinstance(data, Measurements) and data.roles.value is None and not values and "value" not in data.table:
        try:
            data = read(file, ())
        except PerfError:  # it is no trace either; whoever takes it as a table says what it lacks
            return False
    return isinstance(data, (Trace, UtilizationCurve))


def _called(run: Any, otherwise: str) -> str:
    if isinstance(run, str):
        return run
    return str(getattr(run, "source", None) or getattr(getattr(run, "origin", None), "source", None) or otherwise)
