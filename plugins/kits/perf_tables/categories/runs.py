"""Rows of categories as single runs: what tells runs apart, what the total is, and what is left of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from perf_tables.categories.plain_name import plain_name
from perfcore.base.errors import DataError, UnknownNameError, listing
from perfcore.data.observations import numbers_of

if TYPE_CHECKING:
    from perfcore.data.measurements import Measurements


Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Booleans = npt.NDArray[np.bool_]

# Profiles print three or four digits, and a sum of twenty rounded times is off by some units of the last of them.
_ROUNDING = 2e-3

# A category of this name is the whole run.
_TOTALS = ("total", "whole run", "overall", "run time", "wall time", "elapsed", "elapsed time")

# A column of this name tells the runs of one point apart.
RUN_COLUMNS = (
    *("run", "run id", "run no", "run number", "run index", "runid", "repetition", "repetition index", "rep", "rep id"),
    *("repeat", "replication", "replicate", "trial", "attempt", "try", "iteration", "iter"),
    *("job", "job id", "jobid", "slurm job id", "pid", "process id"),
)


class Runs(NamedTuple):
    """Times of single runs."""

    point: Ints  # (R,)
    values: Floats  # (R, C)
    total: Floats  # (R,) NaN where it is not known


def runs_of_rows(
    data: Measurements,
    kept: Booleans,
    point: Ints,
    category: Ints,
    value: Floats,
    names: tuple[str, ...],
    total: str | None,
) -> tuple[Runs, tuple[str, ...]]:
    """Rows as runs by categories; the total taken out of the categories."""
    import pandas as pd

    marks = next((c for c in data.table.columns if plain_name(c) in RUN_COLUMNS and c not in _told_columns(data)), None)
    of_run = np.zeros(len(point), dtype=np.int64) if marks is None else pd.factorize(data.table[marks][kept])[0]
    again = pd.DataFrame({"point": point, "run": of_run, "category": category})
    again["again"] = again.groupby(["point", "run", "category"]).cumcount()
    run = np.asarray(again.groupby(["point", "run", "again"]).ngroup(), dtype=np.int64)
    values = np.full((run.max() + 1, len(names)), np.nan)
    values[run, category] = value
    of_point = np.zeros(len(values), dtype=np.int64)
    of_point[run] = point
    totals = np.full(len(values), np.nan)
    which = _total_category(names, total)
    if which is not None:
        totals = values[:, which]
        values, names = np.delete(values, which, axis=1), (*names[:which], *names[which + 1 :])
        if not names:
            raise DataError(f"{data.source}: there is no category besides the total")
    elif total is not None:
        column = next((c for c in data.table.columns if c == total), None)
        if column is None:
            raise UnknownNameError("category or column for the total", total, [*names, *map(str, data.table.columns)])
        totals[run] = numbers_of(data, column, kept)[kept]
    return Runs(of_point, values, totals), names


def _told_columns(data: Measurements) -> set[str]:
    """Columns that cannot number the runs, since they mean something else."""
    roles = data.roles
    return {*roles.parameters.values(), str(roles.value), *roles.category}


def _total_category(names: tuple[str, ...], total: str | None) -> int | None:
    total_names = _TOTALS if total is None else (plain_name(total),)
    return next((k for k, name in enumerate(names) if plain_name(name) in total_names), None)


def refuse_overlap(runs: Runs, names: tuple[str, ...], points: Any, source: str, total: str | None) -> None:
    """Refuse categories that add up to more than the run took: some time is then in two of them."""
    added = np.nansum(runs.values, axis=1)
    over = added > runs.total * (1.0 + _ROUNDING)
    if not over.any():
        return
    worst = int(np.argmax(np.where(over, added / np.where(runs.total > 0, runs.total, np.nan), -1.0)))
    where = ", ".join(f"{name}={points[name][runs.point[worst]]:.6g}" for name in points.columns)
    raise DataError(
        f"{source}: the categories overlap: at {where} they add up to {added[worst]:.6g} of a total of "
        f"{runs.total[worst]:.6g} ({int(over.sum())} of {len(over)} runs); leave out what is part of another "
        f"(--where 'COLUMN!=NAME'), of {listing(names, 8)}" + ("" if total else "; or name the right --total")
    )


def with_other(runs: Runs, names: tuple[str, ...], other: str, notes: list[str]) -> tuple[Runs, tuple[str, ...]]:
    """What no category accounts for as a category of its own, where it is more than rounding."""
    rest = runs.total - np.nansum(runs.values, axis=1)
    if not (rest > _ROUNDING * runs.total).any():
        return runs, names
    rest = np.maximum(rest, 0.0)
    share = float(np.nansum(rest) / np.nansum(np.where(np.isnan(rest), np.nan, runs.total)))
    notes.append(f"{other}: {share:.1%} of the total is in no category")
    same = next((k for k, name in enumerate(names) if plain_name(name) == plain_name(other)), None)
    if same is None:
        return runs._replace(values=np.column_stack([runs.values, rest])), (*names, other)
    values = runs.values.copy()
    values[:, same] = np.where(np.isnan(rest), values[:, same], np.nan_to_num(values[:, same]) + rest)
    return runs._replace(values=values), names
