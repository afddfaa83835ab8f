"""Seconds of each category of lost cycles in several runs."""

from __future__ import annotations

from collections.abc import Iterable

from perf_gate.parts.table import WHOLE, PartTimes
from perfcore.base.errors import DataError
from perfcore.data.measurements import Measurements
from perfcore.data.trace import Trace

__all__ = ["category_times"]


def category_times(first: Iterable[Trace | Measurements], second: Iterable[Trace | Measurements]) -> PartTimes:
    """Processor seconds of each category, run by run; traces are taken one at a time.

    Parameters
    ----------
    first, second : iterable of Trace or Measurements
        Of each run its trace, or of several the table that `perfcore.overheads` makes of them.

    Raises
    ------
    DataError
        A table without a column of categories, or of several settings.
    """
    sides = [[run for data in side for run in _runs(data)] for side in (first, second)]
    return PartTimes("category", sides[0], sides[1])


def _runs(data: Trace | Measurements) -> list[dict[str, float]]:
    """Seconds by category, and of all together, of each run."""
    import pandas as pd

    if isinstance(data, Trace):
        import perfcore

        table = perfcore.overheads([data]).to_frame()
        return [_with_whole(dict(zip(table["category"].astype(str), table["time_s"].astype(float), strict=True)))]
    roles, table = data.roles, data.table
    if len(roles.category) != 1 or roles.value is None:
        raise DataError(
            f"{data.source}: categories need a column of them and one of seconds, as `perf overheads -o` writes"
        )
    for column in roles.parameters.values():
        if table[column].nunique() > 1:
            levels = f"{table[column].min()} to {table[column].max()}"
            raise DataError(
                f"{data.source}: runs of several {column} ({levels}); put those of one into a file of their own"
            )
    names = table[roles.category[0]].astype(str)
    seconds = pd.to_numeric(table[roles.value], errors="coerce")
    if (bad := ~(seconds >= 0.0)).any():
        data.refuse(int(bad.to_numpy().argmax()), f"{roles.value} is no number of at least 0; mend or remove the row")
    runs: dict[int, dict[str, float]] = {}
    for name, run, value in zip(names, table.groupby(names).cumcount(), seconds, strict=True):
        runs.setdefault(int(run), {})[name] = float(value)
    return list(map(_with_whole, runs.values()))


def _with_whole(seconds: dict[str, float]) -> dict[str, float]:
    return {WHOLE: sum(seconds.values()), **seconds}
