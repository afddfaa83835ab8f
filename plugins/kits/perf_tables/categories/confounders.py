"""Columns in which the rows of one point differ: what was varied and not named, or only measured as well."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from perf_tables.categories.plain_name import plain_name
from perf_tables.categories.runs import RUN_COLUMNS
from perf_tables.categories.spread_columns import is_of_spread
from perfcore.base.errors import OptionError, listing
from perfcore.data.observations import numbers_of, paths_of
from perfcore.data.roles import shown_names
from perfcore.data.units import is_rate, is_time, unit_of

if TYPE_CHECKING:
    import pandas as pd

    from perfcore.data.measurements import Measurements


Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Booleans = npt.NDArray[np.bool_]

# A column of this name tells runs apart, says when and where they were, or the chance in them: not what was varied.
_OF_RUNS = {
    *RUN_COLUMNS,
    *("seed", "random seed", "rng seed", "sample", "index", "row", "timestamp", "time stamp", "date", "day", "month"),
    *("year", "hour", "weekday", "start", "start time", "started", "begin", "end", "end time", "finished", "epoch"),
    *("submit time", "exit code", "exit status", "return code", "returncode", "status", "noisy", "node id"),
}


_FOLD = 2.0  # between values of one point; the worst hosts and compilers are seldom so far apart by chance
_FEWEST_CELLS = 2
_CHOSEN_DIGITS = 4  # of a fraction that was chosen, such as a step of 0.00125 or a clock of 2.995 GHz


def differing_columns(data: Measurements, kept: Booleans, point: Ints, category: Ints) -> dict[str, npt.NDArray[Any]]:
    """Columns of numbers without a role in which rows of one category of one point differ (n,).

    Those that number the runs are not among them.
    """
    import pandas as pd

    roles = data.roles
    used = {*roles.parameters.values(), str(roles.value), *roles.category, *roles.code, *roles.system}
    columns = {}
    for column in data.table.columns:
        values = data.table[column]
        if column in used or values.dtype.kind not in "iuf" or is_run_identifier(str(column)):
            continue
        chosen = values[kept].to_numpy()
        if (pd.Series(chosen).groupby([point, category]).nunique() > 1).any():
            columns[str(column)] = chosen
    return columns


def is_run_identifier(column: str) -> bool:
    """Whether a name is that of a column in which runs differ that were meant to be the same."""
    plain = plain_name(column).strip("# ")
    return plain in _OF_RUNS or plain.removesuffix(" #") in _OF_RUNS or is_of_spread(column)


def refuse_unnamed_factors(
    data: Measurements, kept: Booleans, point: Ints, category: Ints, points: Mapping[str, Floats]
) -> None:
    """Refuse rows that would pass for repeated runs of one point though something was varied in them."""
    import pandas as pd

    varied = {}
    for column, values in differing_columns(data, kept, point, category).items():
        # A time or a rate is measured, however it was rounded.
        rows = pd.DataFrame({"point": point, "category": category, "level": values}).dropna()
        unit = unit_of(column)
        if not is_time(unit) and not is_rate(unit) and _are_chosen(rows["level"]) and _recurs(rows):
            varied[column] = rows
    if not varied:
        return
    first = next(iter(varied.values()))
    several = first.groupby("point")["level"].nunique()
    row = int(np.flatnonzero(point == several.index[several > 1][0])[0])
    names = shown_names(data.roles.parameters)
    place = ", ".join(f"{names[symbol]}={values[row]:.6g}" for symbol, values in points.items())
    levels = " and ".join(
        f"{column} ({listing([f'{level:g}' for level in sorted(rows['level'].unique())], 4)})"
        for column, rows in varied.items()
    )
    # Columns that were varied together are held together: at the levels of one row.
    where = ",".join(f"{column}={data.table[column][kept].iloc[row]:g}" for column in varied)
    raise OptionError(
        f"{data.source}: rows of one point, such as {place}, differ in {levels}, so they are no repeated runs; name it "
        f"with --parameter {','.join([*data.roles.parameters.values(), *varied])}, or hold it with --where '{where}'"
    )


def refuse_unnamed_of_codes(data: Measurements) -> None:
    """Refuse rows of a code on a system that would pass for repeated runs though something was varied in them.

    Numbers as `refuse_unnamed_factors` judges them, texts as `refuse_unnamed_names`.
    """
    roles = data.roles
    value = numbers_of(data, str(roles.value), optional=True)
    kept = ~np.isnan(value)
    if not kept.any():
        return
    points = {symbol: numbers_of(data, column, kept)[kept] for symbol, column in roles.parameters.items()}
    _, pair = paths_of(data, kept)
    _, point = np.unique(np.column_stack(list(points.values())), axis=0, return_inverse=True)
    refuse_unnamed_factors(data, kept, point.ravel(), pair, points)
    refuse_unnamed_names(data, kept, point.ravel(), pair, value[kept], points, by="code")


def refuse_unnamed_names(
    data: Measurements,
    kept: Booleans,
    point: Ints,
    path: Ints,
    value: Floats,
    points: Mapping[str, Floats],
    by: Literal["path", "code"] = "path",
) -> None:
    """Refuse rows that would pass for repeated runs though a text, such as a problem's class, tells them apart.

    A column of text, unlike one of numbers, may also say where a run was or how it ended. It counts as varied where two
    of its levels recur and values of one are at least twice another's, at most points where there are several.
    """
    import pandas as pd

    roles = data.roles
    used = {*roles.parameters.values(), str(roles.value), *roles.category, *roles.code, *roles.system}
    for column in data.table.columns:
        levels = data.table[column]
        if column in used or levels.dtype.kind in "iufM" or is_run_identifier(str(column)):
            continue
        rows = pd.DataFrame({"point": point, "path": path, "level": levels[kept].to_numpy(), "value": value}).dropna()
        rows = rows[rows["value"] > 0.0]
        if len(_recurring(rows)) < 2:
            continue
        rows["cell"] = rows.groupby(["path", "point"]).ngroup()
        medians = rows.groupby(["cell", "level"])["value"].median().groupby("cell")
        folds = (medians.max() / medians.min())[medians.size() > 1]
        if len(folds) < _FEWEST_CELLS or (folds >= _FOLD).mean() < 0.5:
            continue
        cell = rows[rows["cell"] == folds.idxmax()]
        row = int(cell.index[0])
        shown = shown_names(roles.parameters)
        place = ", ".join(f"{shown[symbol]}={values[row]:.6g}" for symbol, values in points.items())
        names = sorted(map(str, cell["level"].unique()))
        joined = roles.code if by == "code" else (*roles.code, *roles.system, *roles.category)
        what = "model" if by == "code" else "law"
        raise OptionError(
            f"{data.source}: rows of one point, such as {place}, differ in {column} ({listing(names, 4)}) and are up "
            f"to {folds.max():.3g}-fold apart, so they are no repeated runs; give each its own {what} with --{by} "
            f"{','.join([*joined, str(column)])}, or choose one with --where '{column}={rows['level'].mode().iloc[0]}'"
        )


def _are_chosen(levels: pd.Series) -> bool:
    """Whether most numbers are such as people choose: whole, or fractions of few digits."""
    few = [level % 1.0 == 0.0 or float(f"{level:.{_CHOSEN_DIGITS}g}") == level for level in levels.unique().tolist()]
    return bool(sum(few) >= 0.5 * len(few))


def _recurring(rows: pd.DataFrame) -> list[Any]:
    """Levels that are met at several points."""
    points_of_level = rows.drop_duplicates(["point", "level"]).groupby("level").size()
    return list(points_of_level[points_of_level > 1].index)


def _recurs(rows: pd.DataFrame) -> bool:
    """Whether levels (columns point, category, level) recur as those of a factor do."""
    again = _recurring(rows)
    if len(again) < 2 or rows["level"].isin(again).mean() < 0.5:
        return False
    categories_of_point = rows.groupby("point")["category"].nunique()
    several = rows.groupby("point")["level"].nunique() > 1
    cells = rows[rows["point"].map(several)].groupby(["point", "level"])["category"].nunique()
    share = cells / categories_of_point.loc[cells.index.get_level_values("point")].to_numpy()
    return bool((share > 0.5).mean() > 0.5)
