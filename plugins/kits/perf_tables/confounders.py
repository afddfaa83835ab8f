"""Columns in which rows differ that would pass for repeated runs of one point: what was varied, and not named."""

from __future__ import annotations

import itertools
import shlex
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from perf_tables.meanings import NOT_VARIED, are_alternatives, is_layout, meanings_of, paths_of
from perfcore.base import pd, special
from perfcore.base.arrays import Booleans, Floats, Ints
from perfcore.base.errors import OptionError, listing
from perfcore.data.columns import (
    is_named,
    is_processors,
    is_run_identifier,
    is_size,
    shown_names,
    without_copies,
    words,
    words_of,
)
from perfcore.data.observations import differs, distinct, numbers_of, points_of, values_of
from perfcore.data.units import is_rate, is_time, unit_of
from perfcore.tables import level_text, point_text

if TYPE_CHECKING:
    from perfcore.data.measurements import Measurements

_APART, _CHANCE = 1.05, 0.01  # of levels that shift all points alike: their medians, and how seldom it may be chance
_FOLD = 2.0  # between values of one point; the worst hosts and compilers are seldom so far apart by chance
_FEWEST_CELLS, _FEWEST_CROSSED = 2, 3
_RESULTS = frozenset(words("words", "result"))
_LOOKED_AT = 10_000  # levels, at even distances
MOST_PARAMETERS = 4  # of a model
_ROUNDED, _SIGNS = 1e-9, ((1, -1), (-1, -1), (-1, 1))  # of logarithms; of a product or quotient that is constant
_CHOSEN_DIGITS = 4  # of a fraction that was chosen, such as a step of 0.00125 or a clock of 2.995 GHz


def differing_columns(data: Measurements, kept: Booleans, point: Ints, category: Ints) -> dict[str, npt.NDArray[Any]]:
    """Return columns of numbers without a role in which rows of one category of one point differ (n,).

    Those that number the runs are not among them.
    """
    free = [c for c, meaning in meanings_of(data).items() if meaning not in NOT_VARIED]
    numeric = [column for column in free if data.table[column].dtype.kind in "iuf"]
    cell = distinct([point, category])[1] if numeric else point
    return {c: data.numbers(c)[kept] for c in numeric if differs(data.levels(c)[0][kept], cell)}


def _varied_numbers(data: Measurements, kept: Booleans, point: Ints, category: Ints) -> dict[str, pd.DataFrame]:
    """Return the columns of numbers, without a role, that were varied in rows which would pass for repeated runs."""
    varied = {}
    for column, values in differing_columns(data, kept, point, category).items():
        unit, levels = unit_of(column), pd.unique(values[~np.isnan(values)])
        shown = levels[:: max(1, len(levels) // _LOOKED_AT)].tolist()
        few = [level % 1.0 == 0.0 or float(f"{level:.{_CHOSEN_DIGITS}g}") == level for level in shown]
        # People choose whole numbers, or fractions of few digits.
        if is_time(unit) or is_rate(unit) or sum(few) < 0.5 * len(few):
            continue  # a time or a rate is measured, however it was rounded
        if not _RESULTS.isdisjoint(words_of(column)) and _texts_tell_apart(data, kept):
            continue  # texts say what was varied, and the number came out
        first, number = distinct([point, category, data.levels(column)[0][kept] + 1])
        rows = pd.DataFrame({"point": point[first], "category": category[first], "level": values[first]})
        rows = rows.assign(runs=np.bincount(number)).dropna()
        # Processes with other numbers of threads are no repeated runs.
        is_factor = is_named("threads", column) or ((is_size(column) or is_processors(column)) and _is_star(rows))
        if is_factor or _recurs(rows):
            varied[column] = rows
    return varied


def unnamed_factors(data: Measurements, kept: Booleans, point: Ints, category: Ints) -> dict[str, pd.DataFrame]:
    """Return what was varied, each number once, and none of those that follow from points and texts."""
    varied = _varied_numbers(data, kept, point, category)
    for behind in _texts_behind(data, kept, point, category, varied).values():
        varied = {column: rows for column, rows in varied.items() if column not in behind}
    # Of columns that say the same, such as tasks and threads of a full node, one is a parameter.
    factors = without_copies(data.table, list(varied)) if varied else []
    # Of three numbers of which one is the product of the others, such as processors and tiles in x and y, or a size and
    # its share on each node, a parameter and the factor with the fewest levels say all.
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = {c: np.log(data.numbers(c)[kept]) for c in (*data.roles.parameters.values(), *factors)}
    for column in sorted(factors, key=lambda column: (-data.table[column].nunique(), -factors.index(column))):
        others = [logs[other] for other in factors if other != column]
        pairs = itertools.product(others, [logs[parameter] for parameter in data.roles.parameters.values()])
        if any(np.ptp(logs[column] + s * a + t * b) < _ROUNDED for a, b in pairs for s, t in _SIGNS):
            factors.remove(column)
    return {column: varied[column] for column in factors}


def _texts_behind(
    data: Measurements, kept: Booleans, point: Ints, category: Ints, numbers: Iterable[str]
) -> dict[str, list[str]]:
    """Return the texts without a role that say which variant ran, and the numbers that follow from text and point.

    A text with more levels than a number has at some point, such as a host, says where a run was; one that says the
    same as a number goes behind it.
    """
    roles = data.roles
    used = {*roles.parameters.values(), roles.value, *roles.code, *roles.system, *roles.category}
    levels = {column: data.levels(column)[0][kept] for column in numbers}
    group = distinct([point, category])[1] if levels else point
    behind = {}
    for text in data.table.columns if levels else ():
        if text in used or data.table[text].dtype.kind in "iufMb" or is_run_identifier(str(text)):
            continue
        level = data.levels(text)[0][kept]
        n_points = np.bincount(level[distinct([level, point])[0]]) if (level >= 0).all() else np.zeros(0)
        n_points = n_points[n_points > 0]
        if len(n_points) < 2 or n_points.min() < 2:
            continue
        cell = distinct([group, level])[1]
        behind[str(text)] = [
            column
            for column, number in levels.items()
            if not differs(number, cell)
            and np.bincount(group[distinct([group, number])[0]]).max() >= len(n_points)
            and not len(distinct([level, number])[0]) == len(n_points) == len(np.unique(number))
        ]
    return {text: columns for text, columns in behind.items() if columns}


def _texts_tell_apart(data: Measurements, kept: Booleans) -> bool:
    """Return whether columns of texts without a role part all rows of a point."""
    roles = data.roles
    used = {*roles.parameters.values(), roles.value, *roles.code, *roles.system, *roles.category}
    texts = [c for c in data.table.columns if c not in used and data.table[c].dtype.kind not in "iuf"]
    return bool(texts) and not data.table[kept].duplicated([*roles.parameters.values(), *texts]).any()


def several_parameters(data: Measurements) -> tuple[str, ...]:
    """Return the parameters and what else was varied in rows that would pass for repeated runs, layouts last.

    Empty if nothing else was.
    """
    kept = ~np.isnan(values_of(data, [], zeros=True, signed=True))
    parameters = tuple(data.roles.parameters.values())
    for column in parameters:
        numbers_of(data, column, kept)
    further = unnamed_factors(data, kept, points_of(data, kept)[1], paths_of(data, kept)[1])
    return tuple(sorted((*parameters, *further), key=lambda column: is_layout(data, column))) if further else ()


def with_table(data: Measurements, table: pd.DataFrame, value: str, *system: str) -> Measurements:
    """Return measurements of a table with the same rows, with a further system for each of these columns."""
    roles = data.roles
    about: dict[str, Any] = {"code": roles.code, "system": (*roles.system, *system), "category": roles.category}
    about |= {"source": data.source, "notes": data.notes, "duplicates": data.duplicates}
    lines = [line for row in range(len(table)) if (line := data.line(row)) is not None]
    about |= {"unit": roles.unit} if value == roles.value else {}
    return type(data)(table, roles.parameters, value, **about, lines=lines or None)


def split_by_switches(data: Measurements, notes: list[str]) -> Measurements:
    """Return measurements with a system for each number that was varied and is 0 in rows, and add a note on each.

    0 of something is without it: a switch, or another test. No model goes over it.
    """
    further = [column for column in several_parameters(data) if column not in data.roles.parameters.values()]
    switches = [column for column in further if (data.numbers(column) == 0.0).any()]
    if not switches:
        return data
    names = {column: [f"{column}={level_text(level)}" for level in data.numbers(column)] for column in switches}
    notes.append(f"one model for each {listing(switches, 4)}, which is 0 in some rows (set with --path)")
    return with_table(data, data.table.assign(**names), str(data.roles.value), *switches)


def refuse_unnamed_factors(
    data: Measurements, kept: Booleans, point: Ints, category: Ints, points: Mapping[str, Floats]
) -> None:
    """Refuse rows that would pass for repeated runs of one point though something was varied in them."""
    varied = unnamed_factors(data, kept, point, category)
    if not varied:
        return
    first = next(iter(varied.values()))
    several = first.groupby("point")["level"].nunique()
    row = int(np.flatnonzero(point == several.index[several > 1][0])[0])
    names = shown_names(data.roles.parameters)
    place = point_text({names[symbol]: values[row] for symbol, values in points.items()})
    levels = " and ".join(
        f"{column} ({listing([level_text(level) for level in sorted(rows['level'].unique())], 4)})"
        for column, rows in varied.items()
    )
    # Columns that were varied together are held together: at the levels of the row that leaves most points.
    held = pd.DataFrame({column: data.table[column][kept].to_numpy() for column in varied}).assign(point=point)
    chosen = held.groupby(list(varied))["point"].nunique().idxmax()
    values = chosen if isinstance(chosen, tuple) else (chosen,)
    where = ",".join(f"{column}={value:.15g}" for column, value in zip(varied, values, strict=True))
    named = [*data.roles.parameters.values(), *varied]
    by_name = f"name it with --parameter {shlex.quote(','.join(named))}, or " if len(named) <= MOST_PARAMETERS else ""
    raise OptionError(
        f"{data.source}: rows of one point, such as {place}, differ in {levels}, so they are no repeated runs; "
        f"{by_name}hold it with --where '{where}'"
    )


def refuse_unnamed_of_codes(data: Measurements, by: Literal["path", "code"] = "code") -> None:
    """Refuse rows of a code on a system that would pass for repeated runs though something was varied in them.

    Numbers as `refuse_unnamed_factors` judges them; texts as `unnamed_text`.
    """
    value = values_of(data, [])
    kept = ~np.isnan(value)
    if not kept.any():
        return
    points = {symbol: numbers_of(data, column, kept)[kept] for symbol, column in data.roles.parameters.items()}
    _, pair = paths_of(data, kept)
    _, point = points_of(data, kept)
    refuse_unnamed_factors(data, kept, point, pair, points)
    refuse_unnamed_text(data, unnamed_text(data, kept, point, pair, value[kept], points), by)


def split_by_texts(
    data: Measurements, kept: Booleans, point: Ints, value: Floats, points: Mapping[str, Floats], notes: list[str]
) -> Measurements:
    """Return measurements with a system for each text that distinguishes rows of one point, and add a note on each."""
    while (
        found := unnamed_text(data, kept, point, paths_of(data, kept)[1], value, points, alike := list[str]())
    ) is not None:
        notes.append(f"one model for each {found.column}, since rows of one point, {found.differ} (set with --path)")
        if (empty := data.table[found.column].isna()).any():  # as of a serial run, which has no schedule
            filled = data.table[found.column].astype(object).mask(empty, f"no {found.column}")
            data = with_table(data, data.table.assign(**{found.column: filled}), str(data.roles.value))
        data = data.with_roles(system=(*data.roles.system, found.column))  # runs of two of them do not add up
    notes += alike
    return data


class Unnamed(NamedTuple):
    """A text without a role that distinguishes rows which would pass for repeated runs."""

    column: str
    differ: str  # which rows differ in it, and how far
    level: str  # the most frequent one


def unnamed_text(
    data: Measurements, kept: Booleans, point: Ints, path: Ints, value: Floats, points: Mapping[str, Floats],
    alike: list[str] | None = None,
) -> Unnamed | None:  # fmt: skip
    """Return the first text, such as a problem's class, that distinguishes rows which would pass for repeated runs.

    A column of text, unlike one of numbers, may also say where a run was or how it ended. It counts as varied where two
    of its levels recur and values of one are at least twice another's, at most points where there are several; or are
    apart by 5 %, and by more than chance (analysis of variance of the logarithms) or each equally often at each point;
    or where numbers, such as those of threads, follow from it, or its words are ways to run, such as serial and openmp.
    A note in ``alike`` is on each that was run equally often at each point, and does not count.
    """
    roles, meanings = data.roles, meanings_of(data)
    used = {*roles.parameters.values(), str(roles.value), *roles.category, *roles.code, *roles.system}
    behind = _texts_behind(data, kept, point, path, _varied_numbers(data, kept, point, path))
    for column in data.table.columns:
        levels = data.table[column]
        is_number = levels.dtype.kind in "iufM" and meanings[str(column)] != "version"  # 1.0 and 2.0 are names
        if column in used or is_number or is_run_identifier(str(column)):
            continue
        rows = pd.DataFrame({"point": point, "path": path, "level": levels[kept].to_numpy(), "value": value}).dropna()
        rows = rows[rows["value"] > 0.0]
        rows["cell"] = rows.groupby(["path", "point"]).ngroup()
        is_named = are_alternatives(rows["level"])
        if len(_recurring(rows)) < 2 and not _are_groups(rows) and not is_named:
            continue
        medians = rows.groupby(["cell", "level"])["value"].median().groupby("cell")
        folds = (medians.max() / medians.min())[medians.size() > 1]
        is_apart = len(folds) >= _FEWEST_CELLS and (
            (folds >= _FOLD).mean() >= 0.5 or _is_apart(rows, folds) or (_is_crossed(rows) and folds.median() >= _APART)
        )
        if not is_apart and not ((is_named or column in behind) and len(folds)):
            counts = rows.groupby(["cell", "level"]).size().unstack()
            is_even = bool((counts.to_numpy() == counts.to_numpy()[:1, :1]).all())
            if alike is not None and len(folds) >= _FEWEST_CELLS and is_even:
                pooled = listing(sorted(map(str, counts.columns)), 4)
                alike.append(f"{pooled} are repeated runs, at most {folds.max() - 1:.0%} apart (--path {column})")
            continue
        cell = rows[rows["cell"] == folds.idxmax()]
        row = int(cell.index[0])
        shown = shown_names(roles.parameters)
        place = point_text({shown[symbol]: values[row] for symbol, values in points.items()})
        names = sorted(map(str, cell["level"].unique()))
        differ = f"such as {place}, differ in {column} ({listing(names, 4)}) and are up to {folds.max():.3g}-fold apart"
        return Unnamed(str(column), differ, str(rows["level"].mode().iloc[0]))
    return None


def _are_groups(rows: pd.DataFrame) -> bool:
    """Return whether each level of a cell with several has several runs, all of them apart from those of the others."""
    spans = rows.groupby(["cell", "level"])["value"].agg(["size", "min", "max"]).sort_values(["cell", "min"])
    spans = spans[spans.groupby("cell")["size"].transform("size") > 1]
    gaps = spans.groupby("cell")["min"].shift(-1) - spans["max"]
    return len(spans) > 0 and bool((spans["size"] > 1).all() and (gaps.dropna() > 0.0).all())


def _is_apart(rows: pd.DataFrame, folds: pd.Series) -> bool:
    """Return whether levels shift the values (columns cell, level, value) of all cells alike, more than chance does."""
    logs = np.log(rows["value"])
    within = logs - logs.groupby(rows["cell"]).transform("mean")
    effects = within.groupby(rows["level"]).transform("mean")
    levels, cells = rows["level"].nunique(), rows["cell"].nunique()
    free = len(rows) - cells - levels + 1
    explained, left = float((effects**2).sum()), float(((within - effects) ** 2).sum())
    if free < 1 or folds.median() < _APART or explained == 0.0:
        return False
    return left == 0.0 or bool(special.fdtrc(levels - 1, free, explained / (levels - 1) / (left / free)) < _CHANCE)


def _is_crossed(rows: pd.DataFrame) -> bool:
    """Return whether each level was run equally often in each cell, as a factor of a design is, and repeats agree."""
    groups = np.log(rows["value"]).groupby([rows["cell"], rows["level"]])
    cells, n_groups = rows["cell"].nunique(), len(groups)
    if cells < _FEWEST_CROSSED or n_groups < cells * rows["level"].nunique() or groups.size().nunique() > 1:
        return False
    means, free = groups.mean(), len(rows) - n_groups
    explained = float(groups.size().iloc[0] * ((means - means.groupby("cell").transform("mean")) ** 2).sum())
    left = float(groups.var(ddof=0).sum() * groups.size().iloc[0])
    return left == 0.0 or bool(
        special.fdtrc(n_groups - cells, free, explained / (n_groups - cells) / (left / free)) < _CHANCE
    )


def refuse_unnamed_text(data: Measurements, found: Unnamed | None, by: Literal["path", "code"]) -> None:
    """Refuse rows that a text distinguishes, where one was found."""
    if found is None:
        return
    roles = data.roles
    joined = roles.code if by == "code" else (*roles.code, *roles.system, *roles.category)
    raise OptionError(
        f"{data.source}: rows of one point, {found.differ}, so they are no repeated runs; give each its own model with "
        f"--{by} {','.join([*joined, found.column])}, or choose one with --where '{found.column}={found.level}'"
    )


def _recurring(rows: pd.DataFrame) -> list[Any]:
    """Return levels that are met at several points."""
    points_of_level = rows.drop_duplicates(["point", "level"]).groupby("level").size()
    return list(points_of_level[points_of_level > 1].index)


def _is_star(rows: pd.DataFrame) -> bool:
    """Whether one point alone has several levels (columns point and level), as if one factor varied at a time."""
    levels = rows.groupby("point")["level"]
    several = levels.nunique() > 1
    base = levels.first()[~several].unique()
    return bool(several.sum() == 1 and len(base) == 1 and levels.nunique().max() > 2) and bool(
        (rows["level"][rows["point"].map(several)] == base[0]).any()
    )


def _recurs(rows: pd.DataFrame) -> bool:
    """Return whether levels (columns point, category, level, and number of runs) recur as those of a factor do."""
    again = _recurring(rows)
    if len(again) < 2 or np.average(rows["level"].isin(again), weights=rows["runs"]) < 0.5:
        return False
    categories_of_point = rows.groupby("point")["category"].nunique()
    several = rows.groupby("point")["level"].nunique() > 1
    cells = rows[rows["point"].map(several)].groupby(["point", "level"])["category"].nunique()
    share = cells / categories_of_point.loc[cells.index.get_level_values("point")].to_numpy()
    return bool((share > 0.5).mean() > 0.5)
