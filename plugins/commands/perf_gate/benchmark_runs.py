"""Benchmarks of any tool as one long table, a row for each run, and those of two versions matched by name."""

from __future__ import annotations

import functools
import itertools
import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from perf_tables.meanings import (
    DIRECTIONS,
    MAY_NAME_CASES,
    NUMBERS,
    called,
    directions_of,
    meaning_of,
    meanings_of,
    moments_of,
    spread_columns,
    spread_of_rows,
)
from perfcore.base import pd, progress
from perfcore.base.arrays import Floats
from perfcore.base.errors import DataError, OptionError, UnknownNameError, listing
from perfcore.data import type_in_words
from perfcore.data.columns import direction, guess_roles, is_of_spread, is_run_identifier, last_word, words
from perfcore.data.measurements import Measurements
from perfcore.data.observations import distinct, values_of, without_duplicates
from perfcore.data.selection import is_mark, is_number
from perfcore.data.units import LABELS, KnownUnit, split_unit, unit_of, unit_of_text

if TYPE_CHECKING:
    from perfcore.reading.recognise import Reading

_SECONDS = 60.0  # between the end of a run and the start of the next one of its round
_TIMES = 10.0  # as long as usual between runs of a round: what lies farther apart was interrupted
# Formats whose rows say more than their columns: hyperfine measures one command after the other, in the order of its
# file; Google Benchmark numbers repetitions, of all benchmarks alike.
_IN_ORDER_OF_TIME = ("hyperfine",)
_REPETITION_IS_ROUND = ("google-benchmark",)
_STORES = ("experiments",)  # of `perf experiment run`: replications are rounds, times are of one clock
TABLES = ("csv", "parquet", "json-records")  # formats whose columns may be called anything
_NO_NAMES = ("", "unnamed")  # cells of benchmarks without an argument that others have
PRINTED = "printed name"  # column of readers: a benchmark's name as its tool prints it, with all arguments
TEXTS = ["unit", "better", "metric"]  # of a benchmark, whose runs agree in them
_USUAL_RUNS = 10.0  # behind a mean whose number of runs is not recorded: the fewest of hyperfine
_EACH = ("iter", "op", "iteration")  # of a time for each, which a plain time is too
_IN_COMMON = 0.5  # of the names of the side that has fewer
_COUNTS = ("instructions", "allocations", "allocs", "bytes", "calls")
# What other benchmarks give is no benchmark: their sum, or the mean of them or of their logarithms.
_OF_OTHERS: Mapping[str, Callable[[Floats], float]] = {
    **dict.fromkeys(("total", "sum", "overall", "all"), np.sum),
    **dict.fromkeys(("mean", "average", "avg"), np.mean),
    **dict.fromkeys(("geomean", "geometricmean", "gmean"), lambda values: math.exp(np.log(values).mean())),
}
_GIVEN_BY_OTHERS = 0.05  # relative difference: the median of noisy sums is no sum of medians
BUILD, HOST = "library_build_type", "host_name"  # debug or release; of one of several alike machines, perhaps
_LONGEST = 80  # letters of two values
_CLOCK, _SAME_CLOCK = "mhz_per_cpu", 1.05  # varies a little from run to run


def rounds_together(table: pd.DataFrame, keys: Sequence[str]) -> npt.NDArray[np.float64]:
    """The replication of each run as its round; a run outside of its round gets a new round.

    Runs that were interrupted and resumed the next day, made again after a failure, or made by jobs of a scheduler in
    any order bear the same number and met another machine.
    """
    times = pd.to_datetime(table["started"], utc=True, format="ISO8601")
    started = times.dt.as_unit("ns").astype("int64").to_numpy() / 1e9
    ended = started + table["wall_s"].to_numpy(dtype=float)
    rounds = table["repetition"].to_numpy(dtype=float)
    grouped = table.groupby([*keys] or np.zeros(len(table)), sort=False, dropna=False)
    names = grouped.ngroup().to_numpy()
    order = np.lexsort((started, names))
    same_name = np.diff(names[order]) == 0
    same_round = same_name & (np.diff(rounds[order]) == 0)
    idle = started[order][1:] - ended[order][:-1]
    usual = float(np.quantile(idle[same_round], 0.5, method="lower")) if same_round.any() else 0.0
    together = same_round & (idle <= max(_SECONDS, _TIMES * usual))
    stretch = np.cumsum(np.r_[True, ~together])  # of runs that follow one another within a round
    # Of a round in several stretches the largest is the round, where it alone is.
    new_rounds = rounds.copy()
    pieces = pd.DataFrame({"name": names[order], "round": rounds[order], "stretch": stretch, "row": order})
    sizes = pieces.groupby(["name", "round", "stretch"], sort=False)["row"].size().reset_index()
    largest = sizes.groupby(["name", "round"], sort=False)["row"].transform("max")
    ties = sizes[sizes["row"] == largest].groupby(["name", "round"], sort=False)["stretch"].transform("size")
    main_stretches = set(sizes.loc[ties.index[ties == 1], "stretch"].tolist())
    alone = pieces.loc[~pieces["stretch"].isin(main_stretches), "row"].to_numpy()
    new_rounds[alone] = -1.0 - np.arange(len(alone))
    return new_rounds


@dataclass(frozen=True)
class LongTable:
    """Runs of benchmarks."""

    runs: pd.DataFrame  # A row for each run: ``value``; ``session``, the number of its file
    labels: pd.DataFrame  # the file's own columns, row by row
    keys: tuple[str, ...]  # columns of these that name a benchmark
    source: str  # as the user named it
    reader: str  # format
    files: int
    local: bool  # order and rounds are counted per file, and not comparable across files
    local_rounds: bool = False  # rounds alone are
    machines: tuple[Mapping[str, str], ...] = ()  # what the files say of theirs
    program: str = ""  # that ran the benchmarks, if the files name it

    @property
    def command(self) -> str | None:
        """The one command that hyperfine measured; None of other formats, and if there are several."""
        commands = self.labels["command"].unique().tolist() if self.reader == "hyperfine" else []
        return str(commands[0]) if len(commands) == 1 else None

    def split(self, column: str, version_names: Sequence[str | None]) -> tuple[LongTable, LongTable, tuple[str, str]]:
        """Two versions that a column identifies, and their names."""
        versions = self._versions(column)
        present = versions.unique().tolist()
        for name in version_names:
            if name is not None and name not in present:
                raise UnknownNameError(f"version in column {column} of {self.source}", name, present)
        free = [name for name in present if name not in version_names]
        missing = sum(name is None for name in version_names)
        if len(free) < missing or (missing and len(free) > missing):
            raise OptionError(
                f"{self.source}: column {column} holds {len(present)} versions ({', '.join(present[:5])}); choose two "
                "with --base and --new"
            )
        names = tuple(free.pop(0) if name is None else name for name in version_names)
        if names[0] == names[1]:
            raise OptionError(f"--base and --new are both {names[0]!r}; name two versions")
        keys = tuple(key for key in self.keys if key != column)
        first, second = (self._rows(versions == name, keys) for name in names)
        return first, second, (names[0], names[1])

    def column_of(self, meaning: str, fewest: int = 1) -> str | None:
        """Return the first column whose name means versions or commits, with so many of them; None without one."""
        columns = called(meaning, map(str, self.labels.columns))
        return next((column for column in columns if self.labels[column].nunique() >= fewest), None)

    def only(self, column: str, name: str | None) -> LongTable:
        """One version alone: the one of this name, or the first of the file."""
        versions = self._versions(column)
        if name is not None and name not in (present := versions.unique().tolist()):
            raise UnknownNameError(f"version in column {column} of {self.source}", name, present)
        chosen = versions == (versions.iloc[0] if name is None else name)
        return self._rows(chosen, tuple(key for key in self.keys if key != column))

    def _versions(self, column: str) -> pd.Series:
        if column not in self.labels.columns:
            raise UnknownNameError(f"column of {self.source}", column, self.labels.columns)
        return self.labels[column].convert_dtypes().astype(str)  # 1, not 1.0

    def _rows(self, chosen: Any, keys: tuple[str, ...]) -> LongTable:
        runs, labels = (table[chosen].reset_index(drop=True) for table in (self.runs, self.labels))
        return replace(self, runs=runs, labels=labels, keys=keys)


def long_table(reading: Reading, values: Sequence[str] = (), session: int = 0) -> LongTable:
    """Return measurements of one file as a long table."""
    data = reading.data
    if not isinstance(data, Measurements):
        is_trace = getattr(data, "data_kind", "") == "trace"
        hint = ": `perf profile TRACE -o run.csv` writes one of each run" if is_trace else ""
        raise OptionError(f"a gate needs benchmarks or a table of runs, not {type_in_words(data)}{hint}")
    roles, table = data.roles, data.table
    guessed = roles.value or ("value" if "value" in table.columns else None)
    meanings = meanings_of(data)
    measurable = [column for column, meaning in meanings.items() if meaning in NUMBERS]
    if guessed is None or meaning_of(table[guessed], guessed) == "date":
        guessed = measurable[0] if len(measurable) == 1 else None
    columns = list(values) or ([guessed] if guessed is not None else [])
    for column in columns:
        if column not in table.columns:
            raise UnknownNameError(f"column of {data.source}", column, table.columns)
    if not columns:
        raise OptionError(
            f"{data.source}: which column was measured? Name it with --value, one of "
            f"{', '.join(measurable or meanings)}"
        )
    keys = tuple(
        k for k in dict.fromkeys([*roles.code, *roles.category, *roles.parameters.values()]) if k not in columns
    )
    if PRINTED in table:  # in place of the code and its arguments
        code = next(column for column in ("command", "benchmark", "test") if column in table)
        table = table.assign(**{code: table[PRINTED].fillna(table[code])})
        keys = tuple(dict.fromkeys([*(key for key in keys if key not in roles.parameters.values()), code]))
    is_store = reading.reader in _STORES
    order = range(len(table)) if reading.reader in _IN_ORDER_OF_TIME else moments_of(table, columns)
    with_meaning = {meaning: column for column, meaning in reversed(meanings.items()) if column not in columns}
    rounds: Any = math.nan
    if is_store:
        rounds = rounds_together(table, [key for key in keys if not called("version", [key])])
    elif counted := with_meaning.get("repetition" if reading.reader in _REPETITION_IS_ROUND else "round"):
        rounds = pd.to_numeric(table[counted], errors="coerce").astype(float)
    units = table[with_meaning["unit"]].fillna("").astype(str) if "unit" in with_meaning else ""
    deviation, number = _spread(data) if columns == [roles.value] else (math.nan, 1.0)
    systems = [table[column].astype(str) for column in roles.system]
    parts, labels, notes = list[pd.DataFrame](), list[pd.DataFrame](), list[str]()
    not_copied = without_duplicates(data, np.ones(len(table), dtype=np.bool_), notes=notes)
    for column in columns:
        numbers = values_of(data if column == roles.value else data.with_roles(value=column), notes, points=False)
        kept = not_copied & ~np.isnan(numbers)
        unit = (roles.unit if column == roles.value else None) or unit_of(column)
        row = math.nan if any(map(is_run_identifier, table.columns)) else np.arange(len(table), dtype=np.int32)
        constant = {"session": session, "order": math.nan if order is None else order, "round": rounds, "row": row}
        constant |= {"written": math.nan, "deviation": deviation, "number": number}
        texts: dict[str, Any] = {"metric": column, "unit": units if unit is None else unit}
        texts["machine"] = list(map(" ".join, zip(*systems, strict=True))) if systems else ""
        texts["better"] = directions_of(table)
        alike = np.zeros(len(table), dtype=np.int8)
        part = pd.DataFrame(
            {
                "value": numbers,
                # A constant takes no memory.
                **{
                    k: np.broadcast_to(np.float32(v), alike.shape) if np.ndim(v) == 0 else v
                    for k, v in constant.items()
                },
                **{
                    k: pd.Categorical.from_codes(alike, pd.Index([v])) if isinstance(v, str) else v
                    for k, v in texts.items()
                },
            },
            copy=False,
        )
        parts.append(part if kept.all() else part[kept])
        labels.append(table if kept.all() else table[kept])
    for note in notes:
        progress.note(f"{data.source}: {note}")
    runs, own = (frames[0].reset_index(drop=True) if len(frames) == 1 else pd.concat(frames, ignore_index=True)
                 for frames in (parts, labels))  # fmt: skip
    local = reading.reader in (*_IN_ORDER_OF_TIME, *_REPETITION_IS_ROUND)
    return LongTable(runs, own, keys, data.source, reading.reader, 1, local, is_store)


def _spread(data: Measurements) -> tuple[Any, Any]:
    """Return standard deviation and number of the runs behind each row; NaN and 1 where rows are runs."""
    columns, rows = spread_columns(data), np.arange(len(data.table))
    spread = None if columns is None else spread_of_rows(data, np.ones(len(rows), dtype=bool), rows)
    if columns is None or spread is None:
        return math.nan, 1.0
    if columns.number is None:
        progress.note(f"{data.source}: assumed {_USUAL_RUNS:g} runs behind each mean, since no column counts them")
    counts = spread.counts if columns.number else np.where(spread.counts > 1.0, _USUAL_RUNS, 1.0)
    return np.where(counts > 1.0, np.sqrt(spread.variances), np.nan), counts


def with_better(table: LongTable, better: str | Iterable[str] | None) -> LongTable:
    """Return the table with the user's directions, by measured column; without a column for all others."""
    if not better:
        return table
    columns = table.runs["metric"].unique().tolist()
    directions = {}
    for text in [better] if isinstance(better, str) else better:
        column, _, word = (part.strip() for part in text.rpartition("="))
        if word not in DIRECTIONS:
            raise UnknownNameError("--better", word, DIRECTIONS)
        if column and column not in columns:
            raise UnknownNameError(f"measured column of {table.source}", column, columns)
        directions[column] = word
    metrics = table.runs["metric"]
    given = metrics.astype(object).map({name: directions.get(name, directions.get("")) for name in columns})
    return replace(table, runs=table.runs.assign(better=given.fillna(table.runs["better"].astype(object))))


@functools.cache
def better_of(unit: str, better: str, metric: str) -> str:
    """Return which values are better: as the file says, otherwise larger of rates and smaller of all else."""
    return better or direction(unit, metric) or "smaller"


def case_columns(sides: Sequence[pd.DataFrame], keys: Collection[str], but: Collection[str]) -> list[str]:
    """Return columns of text whose values differ and mostly agree on all sides; of numbers, all agree.

    Runs of different cases are no repeated runs: pooled, one that is twice as slow is lost among the others. Numbers
    that count from 0 or 1 may number the runs: they tell cases apart where each has several runs.
    """
    free = [
        column
        for column in map(str, sides[0].columns)
        if column not in {*keys, *but}
        and all(column in side for side in sides)
        and meaning_of(sides[0][column], column) in MAY_NAME_CASES
        and not guess_roles([column], ()).system
    ]
    numbers = [column for column in free if all(side[column].dtype.kind in "iuf" for side in sides)]
    texts = [column for column in free if sides[0][column].dtype.kind not in "iufbmM"]
    cases = [column for column in texts if _are_names(sides, column)]
    for column in numbers:
        if unit_of(column) is None and _are_levels(sides, column, [*keys, *cases]):
            cases.append(column)
    return cases


def _are_names(sides: Sequence[pd.DataFrame], column: str) -> bool:
    values = [set(side[column].dropna().astype(str)) for side in sides]
    fewest = min(map(len, values))
    marks = set(filter(is_mark, values[0]))
    if marks and all(map(is_number, values[0] - marks)):
        return False  # of numbers, of which some rows have none
    return max(map(len, values)) > 1 and fewest > 0 and len(set.intersection(*values)) >= _IN_COMMON * fewest


def _are_levels(sides: Sequence[pd.DataFrame], column: str, keys: Sequence[str]) -> bool:
    """Return whether numbers were chosen: the same on all sides, with several runs of most, no numbers of rows."""
    levels = [set(side[column].dropna()) for side in sides]
    if len(levels[0]) < 2 or any(each != levels[0] for each in levels[1:]):
        return False
    are_means = all(any(map(is_of_spread, map(str, side.columns))) for side in sides)
    if any(side[column].isna().any() or (2 * len(levels[0]) > len(side) and not are_means) for side in sides):
        return False
    if keys and all(side.groupby(list(keys), dropna=False)[column].nunique().max() == 1 for side in sides):
        return False  # it distinguishes no runs that the keys don't
    runs = [side.groupby([*keys, column], dropna=False).size() for side in sides]
    are_numbered = any(levels[0] == set(range(first, first + len(levels[0]))) for first in (0, 1))
    return not are_numbered or all((counts > 1).mean() > 0.5 for counts in runs)


def same_metrics(metrics: Collection[str], others: Collection[str]) -> Mapping[str, str]:
    """Return names of the second that mean what one of the first does: the same but for case, spelling and the unit."""
    renamed = {}
    for other in others:
        if other in metrics:
            continue
        name, unit = _taken_apart(other)
        same = [
            metric
            for metric in metrics
            if metric not in others
            and _taken_apart(metric)[0] == name
            and None not in (unit, one := _taken_apart(metric)[1])
            and _unit_factor(unit, one) is not None
        ]
        if len(same) == 1:
            renamed[other] = same[0]
    return {other: metric for other, metric in renamed.items() if list(renamed.values()).count(metric) == 1}


def _taken_apart(column: str) -> tuple[str, KnownUnit | None]:
    name, unit = split_unit(column)
    return re.sub(r"[\s_.:-]+", "", name).lower(), unit


def _unit_factor(unit: KnownUnit | None, other: KnownUnit | None) -> float | None:
    """Return how many of the other unit one is; None if they measure different things."""
    if unit is None or other is None or unit.kind != other.kind or _counted(unit) != _counted(other):
        return None
    return unit.factor / other.factor


def conversion(unit: str, other: str) -> float | None:
    """Return how many of another unit one is, of units of files; None if they measure different things."""
    return 1.0 if unit == other else _unit_factor(unit_of_text(unit), unit_of_text(other))


def _counted(unit: KnownUnit) -> tuple[str, ...]:
    """Return what a unit counts, without its prefix and the time of a rate: B of GB/s, images of images/min."""
    amount, *over = unit.label.split("/")
    over = [each for each in over if each not in _EACH]
    base = LABELS[amount][0] if amount in LABELS else amount
    return (base, *(over[1:] if unit.kind == "rate" else over))


def quantile(values: Floats, share: float = 0.5) -> float:
    """Return a quantile of few values, for which NumPy's own takes twenty times as long."""
    ordered, place = np.sort(values), share * (len(values) - 1)
    low = int(place)
    return float(ordered[low] + (place - low) * (ordered[min(low + 1, len(values) - 1)] - ordered[low]))


class Runs(NamedTuple):
    """Runs of one version of a benchmark."""

    value: Floats
    session: Floats
    order: Floats  # when, on the clock of the file; NaN where nothing says it
    round: Floats
    written: Floats  # time of the file, in seconds
    deviation: Floats  # of the runs behind a row that is a summary, in the value's unit
    number: Floats  # of these runs; 1 of a run
    row: Floats  # in a table that holds both versions, and nothing that numbers its runs; NaN otherwise

    @property
    def is_one_session(self) -> bool:
        """Return whether all runs are of one session."""
        return bool((self.session == self.session[0]).all())

    def of_sessions(self) -> list[Runs]:
        """Return the runs of each session, in the order of their numbers."""
        if self.is_one_session:
            return [self]
        return [self.take(self.session == number) for number in np.unique(self.session)]

    def medians(self, groups: Floats) -> tuple[Floats, Floats]:
        """Return sorted distinct groups, and the median of each."""
        if (groups == groups[0]).all():
            return groups[:1], np.array([quantile(self.value)])
        names, places = np.unique(groups, return_inverse=True)
        if len(names) == len(groups):
            return names, self.value[np.argsort(groups, kind="stable")]
        return names, np.array([quantile(self.value[places == k]) for k in range(len(names))])

    def take(self, rows: Any) -> Runs:
        return Runs(*(column[rows] for column in self))

    def in_time(self) -> Runs:
        """Return the runs in order of time if it is known."""
        return self.take(np.argsort(self.order, kind="stable")) if np.isfinite(self.order).all() else self


class Benchmark(NamedTuple):
    """A benchmark that both versions have."""

    runs: tuple[Runs, Runs]
    unit: str
    larger_is_better: bool
    is_count: bool  # whether values are counts, which may be exact


class Matched(NamedTuple):
    """Benchmarks that two versions have in common, with those that one has alone."""

    benchmarks: dict[str, Benchmark]  # of both, in the order of the first version
    only: tuple[tuple[str, ...], tuple[str, ...]]  # benchmarks of one version alone
    computed: tuple[str, ...]  # rows that the others give


def match(first: LongTable, second: LongTable) -> Matched:
    """Match benchmarks by name; one that each side has alone is the same, whatever it is called."""
    metrics = same_metrics(*(side.runs["metric"].unique().tolist() for side in (first, second)))
    for name, metric in metrics.items():
        progress.note(f"{name} of {second.source} is taken as {metric} of {first.source}")
    if metrics:
        second = replace(second, runs=second.runs.assign(metric=second.runs["metric"].astype(object).replace(metrics)))
    named = _named((first, second))
    grouped = [side.groupby("benchmark", sort=False, observed=True).indices for side in named]
    groups = [{str(name): rows for name, rows in side.items()} for side in grouped]
    if len(groups[0]) == len(groups[1]) == 1:
        groups[1] = dict(zip(groups[0], groups[1].values(), strict=True))
    names = [name for name in groups[0] if name in groups[1]]
    only = tuple(tuple(name for name in groups[k] if name not in groups[1 - k]) for k in (0, 1))
    if not names:
        raise DataError(
            f"{first.source} and {second.source} have no benchmark in common ({listing(only[0], 3)}; "
            f"{listing(only[1], 3)}). Give equal benchmarks equal names, or name the column of their names with "
            "-r code=NAME"
        )
    numbers = [[_as_numbers(side[name].to_numpy()) for name in Runs._fields] for side in named]
    is_one_unit = len({unit for side in named for unit in side["unit"].unique().tolist()}) == 1
    labels = [None if is_one_unit else side["unit"].to_numpy(dtype=object) for side in named]
    texts = named[0][TEXTS].iloc[[groups[0][name][0] for name in names]].astype(str).to_numpy().tolist()
    benchmarks = {}
    for name, (unit, better, metric) in zip(names, texts, strict=True):
        runs = []
        for side, group, columns, label_of in zip((first, second), groups, numbers, labels, strict=True):
            chosen, own = group[name], None if label_of is None else label_of[group[name]]
            rows = [column[: len(chosen)] if column.strides == (0,) else column[chosen] for column in columns]
            for label in set() if own is None else {*map(str, own)} - {unit}:
                factor = conversion(label, unit)
                if factor is None:
                    problem = f"{first.source} is in {unit or 'no unit'}, {side.source} in {label or 'no unit'}"
                    raise DataError(f"{name}: {problem}. Convert one")
                for number in (Runs._fields.index("value"), Runs._fields.index("deviation")):
                    rows[number] = np.where(own == label, factor * rows[number], rows[number])
            runs.append(Runs(*rows))
        larger = better_of(unit, better, metric) == "larger"
        benchmarks[name] = Benchmark((runs[0], runs[1]), unit, larger, _is_count(unit, metric))
    kinds = dict.fromkeys(map(tuple, texts))
    if unsure := {metric: None for unit, better, metric in kinds if not (better or direction(unit, metric))}:
        progress.note(f"assumed that smaller values of {listing(unsure, 3)} are better; set it with --better larger")
    values = ({name: quantile(each.runs[side].value) for name, each in benchmarks.items()} for side in (0, 1))
    computed = computed_rows(values) if any(map(of_others, names)) else ()
    kept = {name: each for name, each in benchmarks.items() if name not in computed}
    return Matched(kept, (only[0], only[1]), computed)


def of_others(name: str) -> Callable[[Floats], float] | None:
    """Return how a benchmark of this name follows from the others, such as a total; None for one of its own."""
    return _OF_OTHERS.get(re.sub(r"[\W_]", "", name.lower()))


def computed_rows(values: Iterable[Mapping[str, float]]) -> tuple[str, ...]:
    """Return the benchmarks that are called a total or mean, and are one of the others of each side that has them."""
    sides = list(values)
    kinds = {name: of_others(name) for side in sides for name in side}

    def is_given(value: float, side: Mapping[str, float], compute: Callable[[Floats], float]) -> bool:
        others = np.array([value for other, value in side.items() if kinds[other] is None])
        is_sound = len(others) > 1 and others.min() > 0.0
        return is_sound and bool(abs(value / compute(others) - 1.0) < _GIVEN_BY_OTHERS)

    called = [(name, compute) for name, compute in kinds.items() if compute is not None]
    return tuple(n for n, compute in called if all(is_given(side[n], side, compute) for side in sides if n in side))


def _as_numbers(column: npt.NDArray[Any]) -> Floats:
    """Return a column as floats, which takes no memory where all are the same."""
    numbers = column.astype(np.float64, copy=False)
    is_one = len(numbers) and ((numbers == numbers[0]).all() or np.isnan(numbers).all())
    return np.broadcast_to(numbers[:1].copy(), numbers.shape) if is_one else numbers


@functools.cache
def _is_count(unit: str, metric: str) -> bool:
    known_unit = unit_of_text(unit)
    return last_word(metric) in _COUNTS or (known_unit is not None and known_unit.kind in ("bytes", "operations"))


def machine_difference(first: LongTable, second: LongTable) -> str:
    """Return in what the machines or builds of two versions differ; empty if nothing shows it."""
    differences: dict[str, str] = {}
    for one, other in itertools.product(first.machines, second.machines):
        for name in sorted(name for name in one.keys() & other.keys() if one[name] != other[name]):
            clocks = sorted([float(one[name]), float(other[name])]) if name == _CLOCK else [1.0, math.inf]
            values = f" {one[name]} and {other[name]}" if len(one[name] + other[name]) < _LONGEST else ""
            if clocks[1] > _SAME_CLOCK * clocks[0]:
                differences.setdefault(name, f"{'build' if name == BUILD else name}{values}")
    if differences:
        return ", ".join(differences.values())
    names = [set(map(str, side.runs["machine"].unique())) - {""} for side in (first, second)]
    if first.machines or second.machines or not all(names) or names[0] & names[1]:
        return ""
    return f"machine {min(names[0])} and {min(names[1])}"


def are_other_machines(machines: str, between: float | None) -> bool:
    """Return whether machines differ in more than their names, without a given variation between sessions."""
    return between is None and re.fullmatch(rf"(?:{HOST} [^,]*)?", machines) is None


def _named(sides: tuple[LongTable, LongTable]) -> list[pd.DataFrame]:
    """Return runs of both with a column ``benchmark``: what identifies benchmarks in either file, and no more."""
    first, second = sides
    keys = [key for key in dict.fromkeys([*first.keys, *second.keys]) if all(key in s.labels for s in sides)]
    # What distinguishes the files does not distinguish benchmarks.
    keys = [key for key in keys if not called("version", [key]) or any(s.labels[key].nunique() > 1 for s in sides)]
    if sides[0].reader in TABLES and sides[1].reader in TABLES and sides[0] is not sides[1]:
        metric = {str(name) for side in sides for name in side.runs["metric"].unique()}
        keys += case_columns([side.labels for side in sides], keys, metric)
    telling = [key for key in keys if any(side.labels[key].nunique(dropna=False) > 1 for side in sides)]
    code = {key for side in sides for key in keys if side.labels[key].dtype.kind not in "iuf"}
    name_keys = telling or [key for key in keys if key in code][:1]
    metrics = {str(metric) for side in sides for metric in side.runs["metric"].unique()}
    several = any(side.runs["metric"].nunique() > 1 for side in sides)
    if first.reader != second.reader and not name_keys and any(side.keys for side in sides):
        raise DataError(f"{_contents(first)}, {_contents(second)}: they have no benchmark in common. Give two files of "
                        "one tool")  # fmt: skip
    tables = []
    for side in sides:
        names = names_of_rows(side, name_keys, ["" if key in code else f"{key}=" for key in name_keys], several)
        unknown = {}
        if side.files > 1 or sides[0].source != sides[1].source:
            local = ["round"] if side.local_rounds else ["order", "round"] if side.local else []
            unknown = dict.fromkeys(["row", *local], float("nan"))
        tables.append(side.runs.assign(benchmark=names, **unknown))
        _refuse_duplicates(side, names)
    if not several and len(metrics) > 1:
        raise DataError(
            f"{sides[0].source} and {sides[1].source} measure different things, or in different units "
            f"({', '.join(sorted(metrics))}); choose a common one with --value, or convert one"
        )
    return tables


def _contents(side: LongTable) -> str:
    """Return the file, and its first benchmarks if something names them, or what it measures."""
    texts = [side.labels[key].map(text_of) for key in side.keys if side.labels[key].dtype.kind not in "iuf"]
    names = dict.fromkeys(texts[-1] if texts else side.runs["metric"].astype(str))
    return f"{side.source} has {listing(list(names), 2)}"


def names_of_rows(
    table: LongTable, keys: Sequence[str], prefixes: Sequence[str], several: bool | None = None
) -> pd.Series:
    """Return the texts of columns, each behind a prefix, joined with blanks, as categories in their order.

    If there are several metrics, the metric is one of the texts.
    """
    columns = [(prefix, table.labels[key]) for prefix, key in zip(prefixes, keys, strict=True)]
    if (table.runs["metric"].nunique() > 1 if several is None else several) or not columns:
        columns.append(("", table.runs["metric"]))
    numbers, texts = [], []
    for prefix, column in columns:  # few of many rows differ
        number, values = pd.factorize(column)
        numbers.append(number)
        texts.append([*(prefix + text_of(value) for value in values), ""])
    first, together = distinct([number % len(text) for number, text in zip(numbers, texts, strict=True)])
    cells = [[text[k] for k in number[first]] for number, text in zip(numbers, texts, strict=True)]
    rows = ([cell for cell in row if cell not in _NO_NAMES] for row in zip(*cells, strict=True))
    joined = np.array([" ".join(row) or _NO_NAMES[-1] for row in rows], dtype=object)
    names, number = np.unique(joined, return_inverse=True)
    return pd.Series(pd.Categorical.from_codes(number[together], pd.Index(names)))


def _refuse_duplicates(side: LongTable, names: pd.Series) -> None:
    """Refuse two results of one name in a file: repetitions are numbered again, or both are summaries."""
    if side.reader in TABLES:
        return
    about = {
        column: side.labels[column]
        for column in ("repetition", "fork", *words("rows", "round"))
        if column in side.labels
    }
    rows = side.runs[["session", "metric", "machine"]].assign(benchmark=names, **about)
    twice = rows.duplicated() & (("repetition" in about) | (side.runs["number"] > 1.0))
    if twice.any():
        name = rows.loc[twice, "benchmark"].iloc[0]
        raise DataError(f"{side.source}: two benchmarks are called {name!r}. Give each its own name")


def text_of(value: object) -> str:
    """Return a cell as a name."""
    if isinstance(value, float) and value.is_integer():  # also of whole numbers among which some are missing
        value = int(value)
    return " ".join(str(value).split())
