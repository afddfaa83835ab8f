"""Times by category: one row for each point, one column for each category, and the total that they must add up to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from perf_tables.confounders import differing_columns, refuse_unnamed_factors
from perf_tables.meanings import SUM_ROUNDING, whole_of_parts
from perfcore.base import pd
from perfcore.base.arrays import Booleans, Floats, Ints
from perfcore.base.errors import DataError, OptionError, UnknownNameError, listing
from perfcore.data.columns import RUN_COLUMNS, plain_name, shown_names
from perfcore.data.observations import labels_of, numbers_of, values_of, without_duplicates
from perfcore.data.selection import ABSENT, AGGREGATES, DUPLICATES
from perfcore.tables import point_text

if TYPE_CHECKING:
    from perfcore.data.measurements import Measurements

_CALL_PATH, _ARROW = "callpath", "->"  # how readers of Extra-P's files call the column, and part the names of a path


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
    """Return rows as runs by categories; the total taken out of the categories."""
    used = {*data.roles.parameters.values(), data.roles.value, *data.roles.category}
    marks = next((c for c in data.table.columns if plain_name(c) in RUN_COLUMNS and c not in used), None)
    of_run = np.zeros(len(point), dtype=np.int64) if marks is None else pd.factorize(data.table[marks][kept])[0]
    again = pd.DataFrame({"point": point, "run": of_run, "category": category})
    again["again"] = again.groupby(["point", "run", "category"]).cumcount()
    run = np.asarray(again.groupby(["point", "run", "again"]).ngroup(), dtype=np.int64)
    values = np.full((run.max() + 1, len(names)), np.nan)
    values[run, category] = value
    of_point = np.zeros(len(values), dtype=np.int64)
    of_point[run] = point
    totals = np.full(len(values), np.nan)
    if total is None:
        which = whole_of_parts(names, values)
    else:
        which = next((k for k, name in enumerate(names) if plain_name(name) == plain_name(total)), None)
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


def refuse_overlap(runs: Runs, names: tuple[str, ...], points: Any, source: str, total: str | None) -> None:
    """Refuse categories that add up to more than the run took: some time is then in two of them."""
    added = np.nansum(runs.values, axis=1)
    over = added > runs.total * (1.0 + SUM_ROUNDING)
    if not over.any():
        return
    worst = int(np.argmax(np.where(over, added / np.where(runs.total > 0, runs.total, np.nan), -1.0)))
    where = point_text({name: points[name][runs.point[worst]] for name in points.columns})
    raise DataError(
        f"{source}: the categories overlap: at {where} they add up to {added[worst]:.6g} of a total of "
        f"{runs.total[worst]:.6g} ({int(over.sum())} of {len(over)} runs); leave out what is part of another "
        f"(--where 'COLUMN!=NAME'), of {listing(names, 8)}" + ("" if total else "; or name the right --total")
    )


def with_other(runs: Runs, names: tuple[str, ...], other: str, notes: list[str]) -> tuple[Runs, tuple[str, ...]]:
    """Return what no category accounts for as a further category, where it is more than rounding."""
    rest = runs.total - np.nansum(runs.values, axis=1)
    if not (rest > SUM_ROUNDING * runs.total).any():
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


@dataclass(frozen=True)
class CategoryTable:
    """What models of categories are fitted to: one row for each point, repeated runs joined."""

    points: Mapping[str, Floats]  # parameters by their symbol in formulas, positive
    columns: Mapping[str, str]  # symbol to the column's name in the source
    categories: tuple[str, ...]  # in order of appearance; the rest of the total comes last
    values: Floats  # time of each category in ``unit``, >= 0; NaN where it was not measured
    repetitions: Ints  # runs of each point
    spread: Floats  # standard deviation of the runs, in ``unit``; NaN for a single run
    total: Floats  # time of the whole run: as measured, or where that is not known the sum of the categories
    unit: str | None
    value_name: str
    source: str
    notes: tuple[str, ...] = field(default=())  # what a user should know about the rows

    def __len__(self) -> int:
        return len(self.total)

    def describe(self, row: int) -> str:
        """Return one point as a person reads it: ``ranks=16, n=128``."""
        names = self.shown_names
        return point_text({names[symbol]: values[row] for symbol, values in self.points.items()})

    @property
    def shown_names(self) -> Mapping[str, str]:
        """What texts call the parameters, by symbol."""
        return shown_names(self.columns)

    def select(self, kept: Booleans | Ints) -> CategoryTable:
        """Return those points, with all categories."""
        return replace(
            self,
            points={symbol: values[kept] for symbol, values in self.points.items()},
            values=self.values[kept],
            repetitions=self.repetitions[kept],
            spread=self.spread[kept],
            total=self.total[kept],
        )

    def only(self, kept: Booleans) -> CategoryTable:
        """Return those categories (C,), at all points; the total stays as it is."""
        names = tuple(name for name, stays in zip(self.categories, kept.tolist(), strict=True) if stays)
        return replace(self, categories=names, values=self.values[:, kept], spread=self.spread[:, kept])

    def fingerprint(self) -> str:
        """Return the digest of points, categories and values, whatever their order: the same data have the same."""
        import hashlib

        order = np.lexsort(tuple(self.points.values()))
        by_name = np.argsort(self.categories)
        digest = hashlib.sha256(repr((sorted(self.categories), list(self.points), self.unit)).encode())
        for array in (*self.points.values(), self.total, self.repetitions):
            digest.update(np.ascontiguousarray(array[order]).tobytes())
        for table in (self.values, self.spread):
            digest.update(np.ascontiguousarray(table[order][:, by_name]).tobytes())
        return f"sha256:{digest.hexdigest()}"


def by_category(
    data: Measurements,
    *,
    total: str | None = None,
    other: str = "other",
    aggregate: str = "median",
    duplicates: str = "refuse",
    absent: str = "unknown",
) -> CategoryTable:
    """Return measurements of which each row is one category of a run, as a table of points by categories.

    Rows of one point are identified as runs by a column such as ``run`` or ``repetition``; without one, the k-th row of
    each category belongs to the k-th run. What was computed of a table once is not computed again.
    """
    checked = (aggregate, AGGREGATES, "aggregate"), (duplicates, DUPLICATES, "duplicates"), (absent, ABSENT, "absent")
    for choice, choices, option in checked:
        if choice not in choices:
            raise UnknownNameError(option, choice, choices)
    data.require_roles()
    data, how = with_call_paths(data), (total, other, aggregate, duplicates, absent)
    table: CategoryTable = data.once(("by category", repr(data.roles), *how), lambda: _by_category(data, *how))
    return table


def _by_category(
    data: Measurements, total: str | None, other: str, aggregate: str, duplicates: str, absent: str
) -> CategoryTable:
    roles, notes = data.roles, list[str]()
    if not roles.category:
        raise OptionError(
            f"{data.source}: it does not say which column names the categories: --category COLUMN; the columns are "
            f"{listing(map(str, data.table.columns))}"
        )
    assert roles.value is not None
    value = values_of(data, notes, zeros=True)
    kept = ~np.isnan(value)
    _refuse_several(data, kept)
    points = {symbol: numbers_of(data, column, kept) for symbol, column in roles.parameters.items()}
    kept &= without_duplicates(data, kept, duplicates, notes)
    names, category = labels_of(data, "category", kept)
    keys = pd.DataFrame({symbol: values[kept] for symbol, values in points.items()})
    groups = keys.groupby(list(keys.columns), sort=True)
    point = np.asarray(groups.ngroup(), dtype=np.int64)
    refuse_unnamed_factors(data, kept, point, category, {symbol: values[kept] for symbol, values in points.items()})
    first = pd.Series(np.arange(len(point))).groupby(point).min().to_numpy()
    runs, names = runs_of_rows(data, kept, point, category, value[kept], names, total)
    run_points = keys.iloc[first].rename(columns=shown_names(roles.parameters)).reset_index(drop=True)
    refuse_overlap(runs, names, run_points, data.source, total)
    runs, names = with_other(runs, names, other, notes)
    if absent == "zero":
        runs = runs._replace(values=np.nan_to_num(runs.values))
    values, spread, repetitions = _joined(runs.values, runs.point, aggregate)
    added = np.nansum(runs.values, axis=1)
    totals, _, _ = _joined(np.where(np.isnan(runs.total), added, runs.total)[:, None], runs.point, aggregate)
    if (repetitions > 1).any():
        # What differs within a run is measured like the value, so only what is the same for a whole run is compared.
        different = {
            name: pd.Series(column).groupby(point).nunique()
            for name, column in differing_columns(data, kept, point, category).items()
        }
        varied = [name for name, n in different.items() if (n > 1).any() and (n.to_numpy() <= repetitions).all()]
        several = int((repetitions > 1).sum())
        notes.append(
            f"{several} of {len(repetitions)} points have several runs (up to {repetitions.max()}); the {aggregate} "
            "stands for them"
            + (f"; they differ in {listing(varied, 6)} (--parameter names what was varied)" if varied else "")
        )
    missing = zip(names, np.isnan(values).sum(axis=0).tolist(), strict=True)
    if partly := [f"{name} ({count})" for name, count in missing if count]:
        notes.append(
            f"not measured at some of the {len(values)} points: {listing(partly, 8)}; --absent zero if they took no "
            "time there"
        )
    return CategoryTable(
        points={symbol: keys[symbol].to_numpy()[first] for symbol in points},
        columns=dict(roles.parameters),
        categories=names,
        values=values,
        repetitions=repetitions,
        spread=spread,
        total=totals[:, 0],
        unit=roles.unit,
        value_name=roles.value,
        source=data.source,
        notes=tuple(notes),
    )


def with_call_paths(data: Measurements) -> Measurements:
    """Call paths as categories, where nothing else is one and no path is a part of another, as in a flat profile."""
    if data.roles.category or list(data.roles.code) != [_CALL_PATH]:
        return data
    names = set(map(str, data.table[_CALL_PATH].unique()))
    paths = [name.split(_ARROW) for name in names]
    callers = {_ARROW.join(parts[:length]) for parts in paths for length in range(1, len(parts))}
    return data if names & callers else data.with_roles(code=(), category=_CALL_PATH)


def _refuse_several(data: Measurements, kept: Booleans) -> None:
    """Refuse several codes or systems: a model by categories is one of one application on one machine."""
    for role, columns in (("code", data.roles.code), ("system", data.roles.system)):
        if not columns:
            continue
        names = labels_of(data, role, kept)[0]
        if len(names) > 1:
            raise OptionError(
                f"{data.source}: there are {len(names)} {role}s ({listing(names, 4)}), and categories are modelled for "
                f"one; choose it with --where '{columns[0]}={data.table[columns[0]][kept].iloc[0]}'"
            )


def _joined(values: Floats, point: Ints, aggregate: str) -> tuple[Floats, Floats, Ints]:
    """Return repeated runs as one value, their standard deviation, and their number."""
    runs = pd.DataFrame(values).groupby(point)
    joined = runs.agg("min" if aggregate == "minimum" else aggregate).to_numpy(dtype=np.float64)
    return joined, runs.std(ddof=1).to_numpy(dtype=np.float64), np.bincount(point).astype(np.int64)
