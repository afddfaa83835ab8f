"""Columns that say how far the runs behind a mean lie apart, and how many they are.

Understood are standard deviations (``sd_s``, ``time_std``, ``std dev [ms]``), standard errors (``sem``, ``stderr``) and
half widths of 95 % confidence intervals (``ci95``), as columns of the value's unit, with a number of runs (``N``,
``n_runs``, ``samples``, ``reps``).
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from perf_tables.suites import paths_of
from perfcore.base.arrays import Booleans, Floats, Ints
from perfcore.base.errors import OptionError, listing
from perfcore.data.columns import (
    RUN_COLUMNS,
    SPREADS,
    counts_runs,
    direction,
    is_called_rate,
    is_called_time,
    is_of_spread,
    is_run_identifier,
    is_size,
    plain_name,
    shown_names,
    spread_kind,
    without_copies,
    without_unit,
    words,
)
from perfcore.data.observations import differs, distinct, numbers_of, points_of, values_of
from perfcore.data.units import is_rate, is_time, seconds_per, split_unit, unit_of

if TYPE_CHECKING:
    import pandas as pd

    from perfcore.data.measurements import Measurements


_NORMAL_95 = 1.959963984540054
_MEAN = words("spread", "mean")[0]
_MEAN_OF = re.compile(rf"(?:(?:{_MEAN}) )?(?P<rest>.*?)(?: (?:{_MEAN}))?")
_FEWEST = 2.0  # runs that have a spread


class SpreadColumns(NamedTuple):
    """Columns about the runs behind a value."""

    spread: str
    kind: str
    number: str | None  # column with the number of runs

    @property
    def text(self) -> str:
        runs = f"{self.number} runs each" if self.number else "their number is unknown: two, the fewest"
        return f"noise from {self.spread}, {runs}"


class Spread(NamedTuple):
    """Of each row that is kept (n,)."""

    variances: Floats  # of the runs, in the value's unit squared
    counts: Floats  # how many runs the value is the mean of
    text: str


def spread_columns(data: Measurements, *, named: bool = False) -> SpreadColumns | None:
    """The columns about the runs behind the value; those of another value are passed over."""
    roles = data.roles
    if roles.value is None:
        return None
    used = {*roles.parameters.values(), roles.value, *roles.category, *roles.code, *roles.system}
    free = [str(column) for column in data.table.columns if column not in used]
    kinds = {column: spread_kind(column) for column in free}
    spreads = {column: (kind, rest) for column, (kind, rest) in kinds.items() if kind is not None}
    stem = stem_of_mean(roles.value)
    columns = [column for column, (_, rest) in spreads.items() if rest == stem]
    if not columns and not named:
        columns = [column for column, (_, rest) in spreads.items() if not rest]
    columns = [c for c in columns if _factor(c, roles.unit) is not None and np.isfinite(data.numbers(c)).any()]
    if not columns:
        return None
    order = list(SPREADS)
    spread = min(columns, key=lambda column: order.index(str(spreads[column][0])))
    numbers = [column for column in free if counts_runs(column) and _whole(data, column)]
    numbers += [column for column in free if counts_runs(column, True) and _whole(data, column)]
    return SpreadColumns(spread, str(spreads[spread][0]), numbers[0] if numbers else None)


def stem_of_mean(column: str) -> str:
    """Return what a value's name says, without that it is a mean."""
    plain = plain_name(split_unit(column)[0])
    if re.fullmatch(_MEAN, plain):
        return ""
    match = _MEAN_OF.fullmatch(plain)
    return without_unit(match["rest"] if match else plain)


def spread_of_rows(data: Measurements, kept: Booleans, cell: Ints) -> Spread | None:
    """What the columns about runs say of each row; None where there are none, or where the rows are runs themselves."""
    import pandas as pd

    columns = spread_columns(data)
    if columns is None:
        return None
    spread = data.numbers(columns.spread)[kept]
    several = len(np.unique(cell)) < len(cell)
    if several and (pd.Series(spread).groupby(cell).nunique() <= 1).all():
        return None
    if several and columns.number is not None and not counts_runs(columns.number):
        columns = columns._replace(number=None)
    counts = np.full(len(spread), _FEWEST)
    if columns.number is not None:
        counts = data.numbers(columns.number)[kept]
    unknown = ~((spread < _LARGEST) & (spread >= 0.0) & (counts > 1.0))
    counts[unknown] = 1.0
    deviation = np.where(unknown, 0.0, spread) * (_factor(columns.spread, data.roles.unit) or 1.0)
    if columns.kind == "confidence":
        deviation /= _half_widths(counts) if columns.number else _NORMAL_95
    if columns.kind != "deviation":
        deviation *= np.sqrt(counts)
    return Spread(deviation**2, counts, columns.text)


def spread_in_words(data: Measurements) -> str | None:
    """What is taken from where, of all rows; None where no column says how far runs lie apart."""
    roles = data.roles
    if spread_columns(data) is None:
        return None
    keys = [*roles.parameters.values(), *roles.code, *roles.system, *roles.category]
    rows = data.table.groupby(keys, dropna=False, sort=False).ngroup() if keys else data.table.index
    cell = np.asarray(rows, dtype=np.int64)
    spread = spread_of_rows(data, np.ones(len(cell), dtype=np.bool_), cell)
    return None if spread is None else spread.text


def pooled_runs(cell: Ints, value: Floats, spread: Spread, n_cells: int) -> tuple[Floats, Floats, Floats]:
    """Means, numbers and relative variances of the runs of each cell (n_cells,), of means that are rows."""
    counts = np.asarray(np.bincount(cell, spread.counts, minlength=n_cells), dtype=np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        means = np.bincount(cell, spread.counts * value, minlength=n_cells) / counts
    squares = (spread.counts - 1.0) * spread.variances + spread.counts * (value - means[cell]) ** 2
    total = np.bincount(cell, squares, minlength=n_cells)
    scale = np.maximum(counts - 1.0, 0.0) * np.where(np.isfinite(means), means, 1.0) ** 2
    variances: Floats = np.divide(total, scale, out=np.zeros(n_cells), where=scale > 0.0)
    return means, counts, variances


def _factor(column: str, unit: str | None) -> float | None:
    """What a spread is multiplied by to be in the value's unit; None where it cannot be."""
    column_unit = unit_of(column)
    if column_unit is None or column_unit == unit:
        return 1.0
    sizes = seconds_per(column_unit), None if unit is None else seconds_per(unit)
    return None if sizes[0] is None or sizes[1] is None else sizes[0] / sizes[1]


def _whole(data: Measurements, column: str) -> bool:
    """Whether a column holds whole numbers of at least 1, where it holds any."""
    values = data.numbers(column)
    values = values[np.isfinite(values)]
    return len(values) > 0 and bool((values >= 1.0).all() and (values == np.rint(values)).all())


def _half_widths(counts: Floats) -> Floats:
    """Half widths of 95 % intervals of a mean, in standard errors, by Student's t."""
    from scipy.special import stdtrit

    return np.asarray(stdtrit(np.maximum(counts - 1.0, 1.0), 0.975))


_APART, _CHANCE = 1.05, 0.01  # of levels that shift all points alike: their medians, and how seldom it may be chance
_FOLD = 2.0  # between values of one point; the worst hosts and compilers are seldom so far apart by chance
_LARGEST = 1e100  # of a spread; squares of larger values overflow
_FEWEST_CELLS = 2
_SAME = 5e-3  # relative, between numbers that were rounded to three digits
_NAMED_MEANINGS = {
    "repetition": RUN_COLUMNS,
    "version": words("roles", "version"),
    "date": (*words("rows", "date"), *words("rows", "commit_date")),
    "round": words("rows", "round"),
    "outcome": (*words("outcome", "states"), *words("outcome", "exits")),
    "unit": words("rows", "unit"),
}
NUMBERS = ("rate", "time", "size", "number", "alternative")  # what may have been measured or varied
_GIVEN = ("parameter", "value", "alternative", "code", "system", "category")
_NOT_VARIED = (*_GIVEN, "repetition", "identifier", "spread", "date", "round", "version")
_TEXTS = {
    **{kind: f"{kind} (--value, --parameter)" for kind in NUMBERS},
    "alternative": "alternative value, a model of its own (--value)",
    "code": "code (--path)",
    "repetition": "repetition",
    "version": "version (perf gate --version)",
    "date": "date (perf gate)",
    "round": "round (perf gate)",
    "outcome": "outcome of the run",
    "unit": "unit of the value",
    "spread": "spread of runs, of another value",
    "identifier": "identifier, not used",
    "text": "text (--path)",
}
_EARLIEST = 3e8  # seconds of Unix time: no run takes nine years
_LOOKED_AT = 10_000  # levels, at even distances
_CHOSEN_DIGITS = 4  # of a fraction that was chosen, such as a step of 0.00125 or a clock of 2.995 GHz


def differing_columns(data: Measurements, kept: Booleans, point: Ints, category: Ints) -> dict[str, npt.NDArray[Any]]:
    """Columns of numbers without a role in which rows of one category of one point differ (n,).

    Those that number the runs are not among them.
    """
    _, cell = distinct([point, category])
    free = [c for c, meaning in meanings_of(data).items() if meaning not in _NOT_VARIED]
    numeric = [column for column in free if data.table[column].dtype.kind in "iuf"]
    return {c: data.numbers(c)[kept] for c in numeric if differs(data.levels(c)[0][kept], cell)}


def unnamed_factors(data: Measurements, kept: Booleans, point: Ints, category: Ints) -> dict[str, pd.DataFrame]:
    """Return the columns of numbers, without a role, that were varied in rows which would pass for repeated runs."""
    import pandas as pd

    varied = {}
    for column, values in differing_columns(data, kept, point, category).items():
        unit, levels = unit_of(column), pd.unique(values[~np.isnan(values)])
        if is_time(unit) or is_rate(unit) or not _are_chosen(levels):
            continue  # a time or a rate is measured, however it was rounded
        first, number = distinct([point, category, data.levels(column)[0][kept] + 1])
        rows = pd.DataFrame({"point": point[first], "category": category[first], "level": values[first]})
        rows = rows.assign(runs=np.bincount(number)).dropna()
        if _recurs(rows):
            varied[column] = rows
    # Of columns that say the same, such as tasks and threads of a full node, one is a parameter.
    return {column: varied[column] for column in without_copies(data.table, list(varied))} if varied else {}


def further_parameters(data: Measurements) -> list[str]:
    """Return what was varied besides the parameters in rows that would pass for repeated runs."""
    kept = ~np.isnan(values_of(data, [], zeros=True, signed=True))
    for column in data.roles.parameters.values():
        numbers_of(data, column, kept)
    return list(unnamed_factors(data, kept, points_of(data, kept)[1], paths_of(data, kept)[1]))


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
    place = ", ".join(f"{names[symbol]}={values[row]:.6g}" for symbol, values in points.items())
    levels = " and ".join(
        f"{column} ({listing([f'{level:g}' for level in sorted(rows['level'].unique())], 4)})"
        for column, rows in varied.items()
    )
    # Columns that were varied together are held together: at the levels of one row.
    where = ",".join(f"{column}={data.table[column][kept].iloc[row]:g}" for column in varied)
    named = ",".join([*data.roles.parameters.values(), *varied])
    raise OptionError(
        f"{data.source}: rows of one point, such as {place}, differ in {levels}, so they are no repeated runs; name it "
        f"with --parameter {shlex.quote(named)}, or hold it with --where '{where}'"
    )


def refuse_unnamed_of_codes(data: Measurements, by: Literal["path", "code"] = "code") -> None:
    """Refuse rows of a code on a system that would pass for repeated runs though something was varied in them.

    Numbers as `refuse_unnamed_factors` judges them, texts as `unnamed_text`.
    """
    roles = data.roles
    value = values_of(data, [])
    kept = ~np.isnan(value)
    if not kept.any():
        return
    points = {symbol: numbers_of(data, column, kept)[kept] for symbol, column in roles.parameters.items()}
    _, pair = paths_of(data, kept)
    _, point = points_of(data, kept)
    refuse_unnamed_factors(data, kept, point, pair, points)
    refuse_unnamed_text(data, unnamed_text(data, kept, point, pair, value[kept], points), by)


_MOST_DERIVED = 12  # columns of numbers, of which all pairs are compared


def meanings_of(data: Measurements) -> dict[str, str]:
    """Return what each column is: asked once of measurements, for fits, gates and `perf info` alike.

    A role that `perfcore.data.columns` or the user gave, or by name and values ``repetition``, ``version``, ``date``,
    ``round``, ``outcome``, ``unit``, ``spread``, ``identifier``, ``text``, ``rate``, ``time``, ``size`` or ``number``.
    """
    roles = data.roles
    named = {
        **dict.fromkeys(roles.alternatives, "alternative"),
        **dict.fromkeys(roles.parameters.values(), "parameter"),
    }
    named |= {column: role for role in ("code", "system", "category") for column in getattr(roles, role)}
    named |= {roles.value: "value"} if roles.value else {}

    def find() -> dict[str, str]:
        return {c: named.get(c) or meaning_of(data.table[c], c) for c in map(str, data.table.columns)}

    meanings: dict[str, str] = data.once(("meanings", repr(roles)), find)
    return meanings


def meaning_of(column: pd.Series, name: str) -> str:
    """Return what a column without a role is, by its name and its values."""
    plain, bare, is_number = plain_name(name), name.strip().lower(), column.dtype.kind in "iuf"
    for meaning, names in _NAMED_MEANINGS.items():
        is_moment = meaning != "date" or not is_number or bool((column > _EARLIEST).all())
        if is_moment and (bare in names or plain in names):
            return meaning
    if is_of_spread(name):
        return "spread"
    kinds = {"rate": is_called_rate, "time": is_called_time, "size": is_size, "identifier": is_run_identifier}
    return next((kind for kind, is_kind in kinds.items() if is_kind(name)), "number") if is_number else "text"


def column_meanings(data: Measurements) -> dict[str, str]:
    """Return what each column is as a person reads it, and the option that overrides it."""
    roles, meanings = data.roles, meanings_of(data)
    texts = {column: _TEXTS.get(meaning, f"{meaning} (--{meaning})") for column, meaning in meanings.items()}
    texts |= {c: f"parameter{'' if s == c else f' {s}'} (--parameter)" for s, c in roles.parameters.items()}
    if roles.value:
        better, unit = direction(roles.unit or "", roles.value), f" [{roles.unit}]" if roles.unit else ""
        texts[roles.value] = f"value{unit}{f', {better} is better' if better else ''} (--value)"
    spread = spread_columns(data)
    if spread is not None:
        texts[spread.spread] = f"spread of runs ({spread.kind})"
        texts |= {spread.number: "number of runs"} if spread.number else {}
    counted = () if spread is None else (spread.spread, spread.number)
    free = [c for c, meaning in meanings.items() if meaning not in _GIVEN and c not in counted]
    return texts | _derived_columns(data, free)


def _derived_columns(data: Measurements, columns: Sequence[str]) -> dict[str, str]:
    """Columns that are a multiple, a ratio or a product of others, with the formula."""
    roles = data.roles
    used = [*roles.parameters.values(), *([roles.value] if roles.value else []), *roles.alternatives, *columns]
    numbers = {c: data.numbers(c) for c in dict.fromkeys(used) if data.table[c].dtype.kind in "iuf"}
    numbers = {c: n for c, n in numbers.items() if len(np.unique(n)) > 2 and (n > 0.0).all()}
    derived: dict[str, str] = {}
    candidates = [c for c in reversed(columns) if c in numbers and not is_called_time(c)]
    for column in candidates if len(numbers) <= _MOST_DERIVED else []:
        others = [c for c in numbers if c != column and c not in derived]
        if is_size(column):  # what was chosen follows from nothing that was measured
            others = [c for c in others if c != roles.value and not is_called_time(c) and not is_called_rate(c)]
        forms = {f"{c}": numbers[c] for c in others}
        forms |= {f"{a}/{b}": numbers[a] / numbers[b] for a in others for b in others if a != b}
        forms |= {f"{a}*{b}": numbers[a] * numbers[b] for k, a in enumerate(others) for b in others[:k]}
        for text, expected in forms.items():
            factor = numbers[column] / expected
            if np.ptp(factor) <= _SAME * factor.mean():
                constant = f"{factor.mean():.4g} * " if abs(factor.mean() - 1.0) > _SAME else ""
                derived[column] = f"derived, {constant}{text}: not used"
                break
    return derived


class Unnamed(NamedTuple):
    """A text without a role that distinguishes rows which would pass for repeated runs."""

    column: str
    differ: str  # which rows differ in it, and how far
    level: str  # the most frequent one


def unnamed_text(
    data: Measurements, kept: Booleans, point: Ints, path: Ints, value: Floats, points: Mapping[str, Floats]
) -> Unnamed | None:
    """The first text, such as a problem's class, that distinguishes rows which would pass for repeated runs.

    A column of text, unlike one of numbers, may also say where a run was or how it ended. It counts as varied where two
    of its levels recur and values of one are at least twice another's, at most points where there are several; or are
    apart by more than chance (analysis of variance of the logarithms) and by 5 %.
    """
    import pandas as pd

    roles, meanings = data.roles, meanings_of(data)
    used = {*roles.parameters.values(), str(roles.value), *roles.category, *roles.code, *roles.system}
    for column in data.table.columns:
        levels = data.table[column]
        is_number = levels.dtype.kind in "iufM" and meanings[str(column)] != "version"  # 1.0 and 2.0 are names
        if column in used or is_number or is_run_identifier(str(column)):
            continue
        rows = pd.DataFrame({"point": point, "path": path, "level": levels[kept].to_numpy(), "value": value}).dropna()
        rows = rows[rows["value"] > 0.0]
        if len(_recurring(rows)) < 2:
            continue
        rows["cell"] = rows.groupby(["path", "point"]).ngroup()
        medians = rows.groupby(["cell", "level"])["value"].median().groupby("cell")
        folds = (medians.max() / medians.min())[medians.size() > 1]
        if len(folds) < _FEWEST_CELLS or ((folds >= _FOLD).mean() < 0.5 and not _is_apart(rows, folds)):
            continue
        cell = rows[rows["cell"] == folds.idxmax()]
        row = int(cell.index[0])
        shown = shown_names(roles.parameters)
        place = ", ".join(f"{shown[symbol]}={values[row]:.6g}" for symbol, values in points.items())
        names = sorted(map(str, cell["level"].unique()))
        differ = f"such as {place}, differ in {column} ({listing(names, 4)}) and are up to {folds.max():.3g}-fold apart"
        return Unnamed(str(column), differ, str(rows["level"].mode().iloc[0]))
    return None


def _is_apart(rows: pd.DataFrame, folds: pd.Series) -> bool:
    """Whether levels shift the values (columns cell, level, value) of all cells alike, more than chance does."""
    from scipy.special import fdtrc

    logs = np.log(rows["value"])
    within = logs - logs.groupby(rows["cell"]).transform("mean")
    effects = within.groupby(rows["level"]).transform("mean")
    levels, cells = rows["level"].nunique(), rows["cell"].nunique()
    free = len(rows) - cells - levels + 1
    explained, left = float((effects**2).sum()), float(((within - effects) ** 2).sum())
    if free < 1 or folds.median() < _APART or explained == 0.0:
        return False
    return left == 0.0 or bool(fdtrc(levels - 1, free, explained / (levels - 1) / (left / free)) < _CHANCE)


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


def _are_chosen(levels: Floats) -> bool:
    """Whether most numbers are such as people choose: whole, or fractions of few digits."""
    shown = levels[:: max(1, len(levels) // _LOOKED_AT)].tolist()
    few = [level % 1.0 == 0.0 or float(f"{level:.{_CHOSEN_DIGITS}g}") == level for level in shown]
    return bool(sum(few) >= 0.5 * len(few))


def _recurring(rows: pd.DataFrame) -> list[Any]:
    """Levels that are met at several points."""
    points_of_level = rows.drop_duplicates(["point", "level"]).groupby("level").size()
    return list(points_of_level[points_of_level > 1].index)


def _recurs(rows: pd.DataFrame) -> bool:
    """Whether levels (columns point, category, level, and number of runs) recur as those of a factor do."""
    again = _recurring(rows)
    if len(again) < 2 or np.average(rows["level"].isin(again), weights=rows["runs"]) < 0.5:
        return False
    categories_of_point = rows.groupby("point")["category"].nunique()
    several = rows.groupby("point")["level"].nunique() > 1
    cells = rows[rows["point"].map(several)].groupby(["point", "level"])["category"].nunique()
    share = cells / categories_of_point.loc[cells.index.get_level_values("point")].to_numpy()
    return bool((share > 0.5).mean() > 0.5)
