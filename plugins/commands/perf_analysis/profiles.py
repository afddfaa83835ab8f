"""Profiles of runs as one result, and as one table of measurements."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from perf_analysis.categories import NO_STATE
from perf_analysis.nested_calls import CallPaths
from perf_traces.reading import next_step
from perf_traces.runs import REPETITIONS, symbols_of
from perfcore.base.arrays import Floats, Ints
from perfcore.base.errors import DataError, OptionError, listing
from perfcore.data.measurements import Measurements
from perfcore.data.units import readable
from perfcore.reading.recognise import write
from perfcore.results import Result

if TYPE_CHECKING:
    import pandas as pd


By = Literal["function", "location", "rank", "phase", "marker"]

FUNCTION, PATH, STATE = "function", "path", "state"
_ARROW = "->"  # as Extra-P's files part the names of a path
_OWN = frozenset(
    [
        *(FUNCTION, PATH, STATE, "location", "rank", "phase", "marker", "time_s", "longest_s", "all_locations_ns"),
        *("inclusive_s", "calls", "imbalance", "longest_location", "file"),
    ]
)
_INCLUSIVE = "inclusive_"  # before the column of a counter: with what callees counted
_ALIKE = 2.0  # runs of one point that differ by more are hardly repetitions


@dataclass(frozen=True, eq=False)
class RunProfile:
    """Times of one run; of each location the exclusive ones sum to the time that the run took."""

    functions: tuple[str, ...]  # states by name, each once, and the time in none of them
    locations: tuple[str, ...]
    parts: tuple[str, ...]  # phases or markers; one, without a name, for the whole run
    times_ns: Ints
    inclusive_ns: Ints  # with what callees take
    calls: Ints  # calls that begin there; intervals where no states are nested
    parts_ns: Ints  # duration of each part
    computing: tuple[str, ...]  # functions that count as computing
    source: str  # the trace
    notes: tuple[str, ...] = ()  # what a reader of the numbers must know
    ranks: tuple[str, ...] = ()  # the rank of each location, where it was asked for
    parameters: Mapping[str, Any] = field(default_factory=dict)  # what was varied
    has_calls: bool = True
    counted: Mapping[str, Ints] = field(default_factory=dict)
    counted_inclusive: Mapping[str, Ints] = field(default_factory=dict)  # with their callees
    paths: CallPaths | None = None  # of a trace with calls within calls

    @property
    def elapsed_ns(self) -> int:
        return int(self.parts_ns.sum())

    @property
    def total_ns(self) -> int:
        """Locations times duration, which is what all functions sum to."""
        return int(self.times_ns.sum())

    @functools.cached_property
    def by_location_ns(self) -> Ints:
        """Time of each function in each location (n_functions, n_locations)."""
        total: Ints = self.times_ns.sum(axis=2)
        return total

    @functools.cached_property
    def by_function_ns(self) -> Ints:
        """Time of each function in all locations (n_functions,)."""
        total: Ints = self.by_location_ns.sum(axis=1)
        return total

    @functools.cached_property
    def occurs(self) -> npt.NDArray[np.bool_]:
        """Which functions the run has at all (n_functions,)."""
        occurring = (self.by_function_ns > 0) | self.calls.any(axis=(1, 2))
        for counts in self.counted.values():
            occurring |= counts.any(axis=(1, 2))
        return np.asarray(occurring)

    @functools.cached_property
    def imbalance(self) -> Floats:
        """Longest over mean time of each function (n_functions,)."""
        return imbalance_of(self.by_location_ns)

    @property
    def present(self) -> frozenset[str]:
        return frozenset(name for name, occurs in zip(self.functions, self.occurs.tolist(), strict=True) if occurs)


def imbalance_of(times_ns: Ints) -> Floats:
    """The largest time over the mean time of locations; NaN where there is no time."""
    mean, ratio = times_ns.mean(axis=1), np.full(len(times_ns), np.nan)
    np.divide(times_ns.max(axis=1), mean, out=ratio, where=mean > 0)
    return ratio


@dataclass(frozen=True, eq=False, repr=False)
class Profiles(Result):
    """Times of every function of runs of one program."""

    reporter: ClassVar[str] = "perf_analysis.profile_answers:report_of"
    json_kind: ClassVar[str] = "profile"

    runs: tuple[RunProfile, ...]  # at least one
    by: By = "function"  # split of the times, next to functions
    notes: tuple[str, ...] = ()  # of all runs together

    def save(self, path: str | os.PathLike[str]) -> list[str]:
        """Write the table, a row for each function of each run; gives what the command line says of it."""
        path = os.fspath(path)
        write(self.measurements, path)
        lines = [f"table: {path}"]
        if path.endswith(".jsonl") and self.counters:
            lines.append(f"{path} holds times alone; a file .csv or .parquet holds {', '.join(self.counters)}, too")
        if len(self) > 1 and self.by not in ("location", "rank"):
            lines.append(next_step(path, [run.parameters for run in self.runs], self.parameters))
        return lines

    def __post_init__(self) -> None:
        """Refuse runs that are no runs of one program."""
        fields = [tuple(run.parameters) for run in self.runs]
        if len(set(fields)) > 1:
            raise OptionError(f"the names of some files say {listing(fields[0])}, and those of others not")
        counted = {f"{prefix}{name}" for name in self.counters for prefix in ("", _INCLUSIVE)}
        if clashes := (_OWN | counted) & set(fields[0]):
            raise OptionError(f"--from-name: profiles have a column {min(clashes)!r}; call the field otherwise")
        _refuse_different_programs(self.runs)

    def __len__(self) -> int:
        return len(self.runs)

    def __iter__(self) -> Iterator[RunProfile]:
        return iter(self.runs)

    def __getitem__(self, run: int) -> RunProfile:
        return self.runs[run]

    @property
    def parameters(self) -> dict[str, str]:
        """Symbols of what was varied, processors first, and their columns; of runs at one point all that is known."""
        return symbols_of([run.parameters for run in self.runs])

    @property
    def counters(self) -> tuple[str, ...]:
        """Columns of what was counted in any run."""
        return tuple(dict.fromkeys(name for run in self.runs for name in run.counted))

    @property
    def functions(self) -> tuple[str, ...]:
        """Functions that occur in any run, those with the longest times first and no state last."""
        total: dict[str, float] = {}
        for run in self.runs:
            for name, time, occurs in zip(run.functions, run.by_function_ns.tolist(), run.occurs.tolist(), strict=True):
                if occurs:
                    total[name] = total.get(name, 0.0) + time / run.total_ns
        return tuple(sorted(total, key=lambda name: (name == NO_STATE, -total[name])))

    @property
    def measurements(self) -> Measurements:
        """The table with its roles, which `perfcore.fit` takes and `perfcore.write` writes."""
        parameters = self.runs[0].parameters.items()
        words = [name for name, value in parameters if isinstance(value, str) and name not in REPETITIONS]
        part = FUNCTION if self.by == "function" else PATH
        roles, source = self.parameters, self.source
        return Measurements(self.table(), roles, "time_s", code=words, system=(), category=part, source=source)

    @property
    def source(self) -> str:
        return self.runs[0].source if len(self.runs) == 1 else f"{len(self.runs)} traces"

    def table(self) -> pd.DataFrame:
        import pandas as pd

        functions = self.functions
        rows = [(index, row) for index, run in enumerate(self.runs) for row in _rows_of(run, self.by, functions)]
        named = FUNCTION if self.by == "function" else PATH
        values = ("calls", "all_locations_ns", *self.counters)
        occurring = {row[named] for _, row in rows if not row["calls"] >= 0 or any(row.get(name, 0) for name in values)}
        table_rows = []
        for index, row in rows:
            if row[named] not in occurring:
                continue
            names = {key: row.pop(key) for key in (FUNCTION, PATH, self.by, STATE) if key in row}
            parameters = self.runs[index].parameters
            number = {} if "run" in parameters else {"run": index + 1}
            table_rows.append({**names, **parameters, **row, **number, "file": self.runs[index].source})
        return pd.DataFrame(table_rows)

    def remarks(self) -> list[str]:
        """What a reader of the numbers must know."""
        lines = list(self.notes)
        if len(self.runs) == 1:
            return [*lines, *self.runs[0].notes]
        lines += [f"{run.source}: {note}" for run in self.runs for note in run.notes]
        alone: dict[str, list[str]] = {}
        for name in self.functions:
            having = [run.source for run in self.runs if name in run.present]
            if len(having) == 1 and name != NO_STATE:
                alone.setdefault(having[0], []).append(name)
        lines += [f"only in {source}: {listing(names, 6)}; counted as 0 elsewhere" for source, names in alone.items()]
        for name in self.counters:
            if lacking := [run.source for run in self.runs if name not in run.counted]:
                lines.append(f"{name} have no values of {listing(lacking, 4)}")
        lines += _different_sizes(self)
        if self.by in ("phase", "marker") and len({run.parts for run in self.runs}) > 1:
            counts = listing([f"{len(run.parts)} in {run.source}" for run in self.runs], 6)
            lines.append(f"the runs have different {self.by}s: {counts}; missing ones are omitted")
        return lines

    def to_dict(self) -> dict[str, Any]:
        def parts_of(run: RunProfile) -> list[dict[str, Any]]:
            pairs = zip(run.parts, run.parts_ns.tolist(), strict=True)
            return [{"name": name, "duration_ns": duration} for name, duration in pairs if name]

        runs = [
            {"source": run.source, "parameters": dict(run.parameters), "elapsed_ns": run.elapsed_ns,
             "locations": list(run.locations), "parts": parts_of(run)}
            for run in self.runs
        ]  # fmt: skip
        return {"by": self.by, "runs": runs, "rows": self.table().to_dict("records"), "notes": self.remarks()}


def _rows_of(run: RunProfile, by: By, functions: Sequence[str]) -> list[dict[str, Any]]:
    """Rows of one run: of all functions, and of all locations, ranks or parts that it has."""
    if by == "function":
        return _values(run, functions, {})
    rows = []
    if by in ("phase", "marker"):
        for part, name in enumerate(run.parts):
            label = {by: part + 1 if by == "phase" else name, PATH: name}
            rows += _values(run, functions, label, parts=slice(part, part + 1))
        return rows
    names = run.locations if by == "location" else run.ranks
    for name in dict.fromkeys(names):
        members = [index for index, each in enumerate(names) if each == name]
        rank_name = name or "(no rank)"
        rows += _values(run, functions, {by: rank_name, PATH: rank_name}, members)
    return rows


def _values(
    run: RunProfile, functions: Sequence[str], label: dict[str, Any], members: list[int] | None = None,
    parts: slice = slice(None),
) -> list[dict[str, Any]]:  # fmt: skip
    """A row for each function, of some locations and parts."""
    chosen: Any = slice(None) if members is None else members

    def by_function(table: Any) -> Any:
        return table[:, chosen, parts].sum(axis=(1, 2))

    counted = {name: by_function(table) for name, table in run.counted.items()}
    if run.has_calls:
        counted |= {f"{_INCLUSIVE}{name}": by_function(table) for name, table in run.counted_inclusive.items()}
    inclusive, calls = by_function(run.inclusive_ns), by_function(run.calls)
    times_ns = run.times_ns[:, chosen, parts].sum(axis=2)
    n_locations = times_ns.shape[1]
    longest, spread, total = times_ns.argmax(axis=1), imbalance_of(times_ns), times_ns.sum(axis=1)
    index_of = {name: index for index, name in enumerate(run.functions)}
    rows = []
    for name in functions:
        index = index_of.get(name, -1)  # a function of another run took no time in this one
        all_ns = int(total[index]) if index >= 0 else 0
        row: dict[str, Any] = (
            {FUNCTION: name} if not label else {**label, PATH: f"{label[PATH]}{_ARROW}{name}", STATE: name}
        )
        row |= {"time_s": all_ns / n_locations / 1e9, "inclusive_s": float("nan"), "calls": float("nan")}
        if run.has_calls:
            row["inclusive_s"] = int(inclusive[index]) / n_locations / 1e9 if index >= 0 else 0.0
            row["calls"] = int(calls[index]) if index >= 0 else 0
        if n_locations > 1 or members is None:
            row |= {"longest_s": 0.0, "imbalance": float("nan"), "longest_location": ""}
            if all_ns:
                where = int(longest[index])
                row |= {"longest_s": int(times_ns[index, where]) / 1e9, "imbalance": float(spread[index])}
                row["longest_location"] = run.locations[where if members is None else members[where]]
        row["all_locations_ns"] = all_ns
        row |= {key: int(counts[index]) if index >= 0 else 0 for key, counts in counted.items()}
        rows.append(row)
    return rows


def _refuse_different_programs(runs: Sequence[RunProfile]) -> None:
    """Refuse a run that computes in nothing in which any other one does."""
    computing = [run.present & set(run.computing) for run in runs]
    for index, (run, functions) in enumerate(zip(runs, computing, strict=True)):
        others = set().union(*(names for k, names in enumerate(computing) if k != index))
        if functions and others and not functions & others:
            raise DataError(
                f"{run.source}: computes in {listing(sorted(functions), 3)} only, and the others in "
                f"{listing(sorted(others), 3)}: these are no runs of one program; profile them apart"
            )


def _different_sizes(profiles: Profiles) -> list[str]:
    """Runs of one point that took very different times."""
    points: dict[tuple[Any, ...], list[RunProfile]] = {}
    for run in profiles.runs:
        point = (value for name, value in run.parameters.items() if name not in REPETITIONS)
        points.setdefault(tuple(point), []).append(run)
    notes = []
    for runs in points.values():
        short, long = (choose(runs, key=lambda run: run.elapsed_ns) for choose in (min, max))
        if long.elapsed_ns > _ALIKE * short.elapsed_ns:
            notes.append(
                f"runs of one point took from {readable(short.elapsed_ns, 'ns')} ({short.source}) to "
                f"{readable(long.elapsed_ns, 'ns')} ({long.source}): if something was varied between them, such as the "
                "size, say it by --from-name"
            )
    return notes
