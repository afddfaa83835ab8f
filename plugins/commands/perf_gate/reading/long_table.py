"""Benchmarks of any tool as one long table: a row for each run."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from perf_gate.arguments import BETTER
from perf_tables.confounders import is_run_identifier
from perf_tables.names import is_speed
from perfcore.base.errors import OptionError, UnknownNameError
from perfcore.data.kinds import type_in_words
from perfcore.data.measurements import Measurements
from perfcore.data.roles import MeasurementRoles, guess_roles
from perfcore.data.units import unit_of

if TYPE_CHECKING:
    import pandas as pd

    from perfcore.reading.recognise import Reading

_SECONDS = 60.0  # between the end of a run and the start of the next one of its round
_TIMES = 10.0  # as long as usual between runs of a round: what lies farther apart was interrupted


def rounds_together(table: pd.DataFrame, keys: Sequence[str]) -> npt.NDArray[np.float64]:
    """The replication of each run as its round; what was made apart from its round gets a round of its own.

    Runs that were interrupted and resumed the next day, made again after a failure, or made by jobs of a scheduler in
    any order bear the same number and met another machine.
    """
    import pandas as pd

    times = pd.to_datetime(table["started"], utc=True, format="ISO8601")
    started = times.dt.as_unit("ns").astype("int64").to_numpy() / 1e9
    ended = started + table["wall_s"].to_numpy(dtype=float)
    rounds = table["replication"].to_numpy(dtype=float)
    names: Any = (
        table.groupby(list(keys), sort=False, dropna=False).ngroup().to_numpy() if keys else np.zeros(len(table))
    )
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


# What columns of tables are called that say when a run was, and which round it belongs to.
_ORDER = ("started", "t0", "order", "timestamp", "start_time", "datetime", "date", "time")
_ROUND = ("round", "rounds")
# Formats whose rows say more than their columns: hyperfine measures one command after the other, in the order of its
# file; Google Benchmark numbers repetitions, of all benchmarks alike.
_IN_ORDER_OF_TIME = ("hyperfine",)
_REPETITION_IS_ROUND = ("google-benchmark",)
# Last words of names without a unit.
_BETTER_LARGER = frozenset(["accuracy", "score", "hits", "utilization", "utilisation"])
_BETTER_SMALLER = frozenset(
    [
        *("latency", "cost", "energy", "memory", "rss", "misses", "errors", "loss", "cycles", "instructions", "cpi"),
        *("faults", "overhead", "size", "times", "value", "drops", "stalls", "switches", "retries", "retransmits"),
    ]
)
_STORES = ("experiments",)  # of `perf experiment run`: replications are rounds, times are of one clock
TABLES = ("csv", "parquet")  # formats whose columns may be called anything
VERSIONS = ("version", "build", "revision", "branch", "variant")  # what columns that tell versions apart are called


@dataclass(frozen=True)
class LongTable:
    """Runs of benchmarks."""

    runs: pd.DataFrame  # A row for each run: ``value``; ``session``, the number of its file
    labels: pd.DataFrame  # the file's own columns, row by row
    keys: tuple[str, ...]  # columns of these that name a benchmark
    source: str  # as the user named it
    reader: str  # format
    files: int
    local: bool  # order and rounds are counted in each file anew, and say nothing across files
    local_rounds: bool = False  # rounds alone are

    def split(self, column: str, version_names: Sequence[str | None]) -> tuple[LongTable, LongTable, tuple[str, str]]:
        """Two versions that a column tells apart, and what they are called."""
        if column not in self.labels.columns:
            raise UnknownNameError(f"column of {self.source}", column, self.labels.columns)
        versions = self.labels[column].astype(str)
        present = list(dict.fromkeys(versions))
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

    def column_of_versions(self) -> str | None:
        """A column that is called as one that tells versions apart."""
        return next((str(c) for c in self.labels.columns if str(c).strip().lower() in VERSIONS), None)

    def only(self, column: str, name: str | None) -> LongTable:
        """One version alone: the one of this name, or the first of the file."""
        if column not in self.labels.columns:
            raise UnknownNameError(f"column of {self.source}", column, self.labels.columns)
        versions = self.labels[column].astype(str)
        if name is not None and name not in set(versions):
            raise UnknownNameError(f"version in column {column} of {self.source}", name, dict.fromkeys(versions))
        chosen = versions == (versions.iloc[0] if name is None else name)
        return self._rows(chosen, tuple(key for key in self.keys if key != column))

    def _rows(self, chosen: Any, keys: tuple[str, ...]) -> LongTable:
        runs, labels = (table[chosen].reset_index(drop=True) for table in (self.runs, self.labels))
        return replace(self, runs=runs, labels=labels, keys=keys)


def long_table(reading: Reading, values: Sequence[str] = (), session: int = 0) -> LongTable:
    """Measurements of one file as a long table.

    Raises
    ------
    DataError, InputError
        A value is no positive number; with its line.
    OptionError
        The data are no measurements, or it is not known what was measured.
    """
    import pandas as pd

    data = reading.data
    if not isinstance(data, Measurements):
        raise OptionError(f"a gate needs benchmarks or a table of runs, not {type_in_words(data)}")
    roles, table = data.roles, data.table
    guessed = roles.value or ("value" if "value" in table.columns else None)
    columns = list(values) or ([guessed] if guessed is not None else _only_numbers(table, roles))
    for column in columns:
        if column not in table.columns:
            raise UnknownNameError(f"column of {data.source}", column, table.columns)
    if not columns:
        raise OptionError(
            f"{data.source}: which column was measured? Name it with --value, one of "
            f"{', '.join(map(str, table.columns))}"
        )
    keys = tuple(
        k for k in dict.fromkeys([*roles.code, *roles.category, *roles.parameters.values()]) if k not in columns
    )
    is_store = reading.reader in _STORES
    order = _order(table, columns, reading.reader)
    rounds = _rounds_of_store(table, keys) if is_store else _rounds(table, columns, reading.reader)
    parts = []
    for column in columns:
        numbers = pd.to_numeric(table[column], errors="coerce")
        good = (numbers > 0.0) & (numbers < float("inf"))
        if not good.all():
            row = int((~good).to_numpy().argmax())
            cell_text = str(table[column].iloc[row])[:40]
            data.refuse(row, f"{column} is {cell_text}; a positive number is expected; mend or remove the row")
        unit = (roles.unit if column == roles.value else None) or unit_of(column)
        parts.append(
            pd.DataFrame(
                {
                    "value": numbers.astype(float),
                    "session": session,
                    "order": order,
                    "round": rounds,
                    "machine": _joined(table, roles.system),
                    "metric": column,
                    "unit": _units(table) if unit is None else unit,
                    "better": _better(table),
                }
            )
        )
    runs = pd.concat(parts, ignore_index=True)
    labels = pd.concat([table] * len(columns), ignore_index=True)
    local = reading.reader in (*_IN_ORDER_OF_TIME, *_REPETITION_IS_ROUND)
    return LongTable(runs, labels, keys, data.source, reading.reader, 1, local, is_store)


def with_better(table: LongTable, better: Mapping[str, str]) -> LongTable:
    """The table with what the user says of which values are better."""
    metrics = table.runs["metric"]
    columns = list(dict.fromkeys(metrics))
    for column in better:
        if column and column not in columns:
            raise UnknownNameError(f"measured column of {table.source}", column, columns)
    directions = metrics.map({name: better.get(name, better.get("", "")) for name in columns})
    return replace(table, runs=table.runs.assign(better=directions.where(directions != "", table.runs["better"])))


def better_of(runs: pd.DataFrame) -> str:
    """Which values of a benchmark are better: as the file says, otherwise larger of rates and smaller of all else."""
    better, unit, metric = (str(runs[column].iloc[0]) for column in ("better", "unit", "metric"))
    return better or ("larger" if _is_better_larger(unit, metric) else "smaller")


def unsure_of_better(runs: pd.DataFrame) -> bool:
    """Whether neither the file, nor the unit, nor the name of what was measured says which values are better."""
    better, unit, metric = (str(runs[column].iloc[0]) for column in ("better", "unit", "metric"))
    if better or unit.strip("%") or (unit_of(metric) or "").strip("%") or _is_better_larger(unit, metric):
        return False
    return guess_roles([metric], {metric}).value is None and _last_word(metric) not in _BETTER_SMALLER


def _is_better_larger(unit: str, metric: str) -> bool:
    counted = _last_word(unit.partition("/")[0])
    if counted in _BETTER_SMALLER:  # misses/s
        return False
    return is_speed(unit, metric) or (not unit.strip("%") and _last_word(metric.rstrip("[(%)] ")) in _BETTER_LARGER)


def _last_word(name: str) -> str:
    words = re.findall(r"[a-z]+", name.lower())
    return words[-1] if words else ""


def _only_numbers(table: pd.DataFrame, roles: MeasurementRoles) -> list[str]:
    """The one column of numbers that has no other meaning, if there is one."""
    in_roles = {*roles.parameters.values(), *roles.code, *roles.system, *roles.category}
    numbers = [
        str(column)
        for column in table.columns
        if column not in in_roles and table[column].dtype.kind in "iuf" and not is_run_identifier(str(column))
    ]
    return numbers if len(numbers) == 1 else []


def _order(table: pd.DataFrame, values: Sequence[str], reader: str) -> Any:
    """When each run was, as a number; NaN where no column says it."""
    import pandas as pd

    if reader in _IN_ORDER_OF_TIME:
        return range(len(table))
    for name in _ORDER:
        column = next((c for c in table.columns if c.strip().lower() == name and c not in values), None)
        if column is None:
            continue
        numbers = pd.to_numeric(table[column], errors="coerce")
        if numbers.notna().all():
            return numbers.astype(float)
        times = pd.to_datetime(table[column], errors="coerce", utc=True, format="ISO8601")
        if times.notna().all():
            return times.astype("int64").astype(float)
    return float("nan")


def _rounds(table: pd.DataFrame, values: Sequence[str], reader: str) -> Any:
    import pandas as pd

    names = ("repetition",) if reader in _REPETITION_IS_ROUND else _ROUND
    column = next((c for c in table.columns if c.strip().lower() in names and c not in values), None)
    return float("nan") if column is None else pd.to_numeric(table[column], errors="coerce").astype(float)


def _rounds_of_store(table: pd.DataFrame, keys: Sequence[str]) -> Any:
    return rounds_together(table, [key for key in keys if key.lower() not in VERSIONS])


def _units(table: pd.DataFrame) -> Any:
    column = next((c for c in table.columns if c.strip().lower() in ("unit", "units")), None)
    return "" if column is None else table[column].fillna("").astype(str)


def _better(table: pd.DataFrame) -> Any:
    """What a column ``better`` says; empty where there is none."""
    if "better" not in table.columns:
        return ""
    directions = table["better"].fillna("").astype(str).str.strip().str.lower()
    return directions.where(directions.isin(BETTER), "")


def _joined(table: pd.DataFrame, columns: Sequence[str]) -> Any:
    if not columns:
        return ""
    return table[list(columns)].astype(str).agg(" ".join, axis=1)
