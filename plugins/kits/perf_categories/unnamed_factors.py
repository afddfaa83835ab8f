"""Columns in which the rows of one point differ: what was varied and not named, or only measured as well."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from perf_categories.plain_name import plain_name
from perf_categories.runs import RUN_COLUMNS
from perf_categories.spread_columns import is_of_spread
from perfcore.base.errors import OptionError, listing
from perfcore.data.units import is_rate, is_time, unit_of

if TYPE_CHECKING:
    import pandas as pd

    from perfcore.data.measurements import Measurements

__all__ = ["differing_columns", "refuse_unnamed_factors"]

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


def differing_columns(data: Measurements, kept: Booleans, point: Ints, category: Ints) -> dict[str, npt.NDArray[Any]]:
    """Columns of numbers without a role in which rows of one category of one point differ (n,).

    Those that number the runs are not among them.

    Parameters
    ----------
    data : Measurements
    kept : (rows of the table,) bool
    point, category : (n,) int
        Of each row that is kept.
    """
    import pandas as pd

    roles = data.roles
    used = {*roles.parameters.values(), str(roles.value), *roles.category, *roles.code, *roles.system}
    found = {}
    for column in data.table.columns:
        values = data.table[column]
        if column in used or values.dtype.kind not in "iuf" or _tells_runs_apart(str(column)):
            continue
        chosen = values[kept].to_numpy()
        if (pd.Series(chosen).groupby([point, category]).nunique() > 1).any():
            found[str(column)] = chosen
    return found


def _tells_runs_apart(column: str) -> bool:
    """Whether a name is that of a column in which runs differ that were meant to be the same."""
    plain = plain_name(column).strip("# ")
    return plain in _OF_RUNS or plain.removesuffix(" #") in _OF_RUNS or is_of_spread(column)


def refuse_unnamed_factors(
    data: Measurements, kept: Booleans, point: Ints, category: Ints, points: Mapping[str, Floats]
) -> None:
    """Refuse rows that would pass for repeated runs of one point though something was varied in them.

    A column is taken as varied where its levels recur: at several points, and at each in most of its categories. What
    is measured beside the time recurs at most by chance; what is counted for each category, such as calls, is another
    number for another category.

    Parameters
    ----------
    data : Measurements
    kept : (rows of the table,) bool
    point, category : (n,) int
        Of each row that is kept.
    points : mapping of str to (n,) float
        Parameters of each row that is kept.

    Raises
    ------
    OptionError
        Names the columns, and both ways to go on.
    """
    import pandas as pd

    varied = {}
    for column, values in differing_columns(data, kept, point, category).items():
        # A time or a rate is measured, however it was rounded.
        rows = pd.DataFrame({"point": point, "category": category, "level": values}).dropna()
        unit = unit_of(column)
        if not is_time(unit) and not is_rate(unit) and _recurs(rows):
            varied[column] = rows
    if not varied:
        return
    first = next(iter(varied.values()))
    several = first.groupby("point")["level"].nunique()
    row = int(np.flatnonzero(point == several.index[several > 1][0])[0])
    place = ", ".join(f"{symbol}={values[row]:.6g}" for symbol, values in points.items())
    shown = " and ".join(
        f"{column} ({listing([f'{level:g}' for level in sorted(rows['level'].unique())], 4)})"
        for column, rows in varied.items()
    )
    # Columns that were varied together are held together: at the levels of one row.
    held = ",".join(f"{column}={data.table[column][kept].iloc[row]:g}" for column in varied)
    raise OptionError(
        f"{data.source}: rows of one point, such as {place}, differ in {shown}, so they are no repeated runs; name it "
        f"with --parameter {','.join([*data.roles.parameters.values(), *varied])}, or hold it with --where '{held}'"
    )


def _recurs(rows: pd.DataFrame) -> bool:
    """Whether levels (columns point, category, level) recur as those of a factor do."""
    points_of_level = rows.drop_duplicates(["point", "level"]).groupby("level").size()
    again = points_of_level > 1
    if again.sum() < 2 or again.mean() < 0.5:
        return False
    categories_of_point = rows.groupby("point")["category"].nunique()
    several = rows.groupby("point")["level"].nunique() > 1
    cells = rows[rows["point"].map(several)].groupby(["point", "level"])["category"].nunique()
    share = cells / categories_of_point.loc[cells.index.get_level_values("point")].to_numpy()
    return bool((share > 0.5).mean() > 0.5)
