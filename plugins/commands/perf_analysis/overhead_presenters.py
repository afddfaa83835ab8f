"""How lost cycles are shown: of one run, of several, and as efficiencies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from perf_analysis.attribution import UNSEEN
from perf_analysis.efficiencies import level_factors, meanings, of_gpus
from perf_analysis.overhead_profile import OverheadProfile
from perf_analysis.overheads import By, OverheadRuns, check_same_categories, common_notes, stacked
from perf_analysis.scaling_efficiencies import (
    burst_table,
    burst_tables,
    limit,
    scaling_tables,
    time_column,
    work_differs,
)
from perf_views.names import existing_file, short_name, unique_suffixes
from perfcore.data.units import readable, shown_origin
from perfcore.results import Column, Panels, Presenter, Table, Tables

if TYPE_CHECKING:
    import pandas as pd


_MOST_MARKERS = 30
_LEAST_SHARE = 5e-5  # what is 0.00% in print
_HIDDEN = ["(hidden communication)", "(hidden copies)"]  # in parentheses, as they are parts of computing
_NO_MESSAGES = "serialisation and transfer need messages of a whole run, and the default classes"


def profile_tables(profile: OverheadProfile, by: By = "category") -> list[Table]:
    """Tables by category, which come always, by location, phase, marker or burst; then GPUs, ranks and efficiencies."""
    tables: list[Table] = [_category_table(profile)]
    if by == "location":
        columns = [Column("location", profile.locations), *_shares(profile.categories, profile.by_location_ns)]
        tables.append(Table(columns, title="Time breakdown by location"))
    elif by == "phase":
        tables.append(_phase_table(profile))
    elif by == "marker":
        tables.append(_marker_table(profile))
    elif by == "burst" and (bursts := burst_table(profile)) is not None:
        tables.append(bursts)
    if profile.devices:
        idle = Column("idle", lambda device: device.idle_ns / profile.elapsed_ns, format=".2%")
        title = "GPU overlap (overlapped: concurrent with compute on another stream)"
        tables.append(Table([*_DEVICES, idle], profile.devices, title))
    if profile.ranks:
        ranks = sorted(profile.ranks, key=lambda each: -each.held_up_ns)
        tables.append(Table(_RANKS, ranks, "Wait time in collectives by rank"))
    return [*tables, *_efficiency_table(profile, by == "phase" and profile.n_phases > 1), *_level_table(profile)]


def comparison(profiles: Sequence[OverheadProfile]) -> Table:
    """A row for each run."""
    check_same_categories(profiles)
    columns = [
        Column("run", unique_suffixes([each.source for each in profiles])),
        Column("locations", [len(each.locations) for each in profiles]),
        time_column("elapsed", [each.elapsed_ns for each in profiles]),
    ]
    times = np.array([each.by_category_ns for each in profiles]).T
    return Table([*columns, *_shares(profiles[0].categories, times)], title="Time breakdown by run")


def _share_of(part: str, whole: str) -> Any:
    return lambda row: getattr(row, part) / getattr(row, whole) if getattr(row, whole) else None


_DEVICES = [
    Column("GPU", "device"),
    Column("streams", "n_streams"),
    time_column("span", "span_ns"),
    time_column("computing", "computing_ns"),
    time_column("communicating", "communicating_ns"),
    Column(
        "overlapped", _share_of("hidden_communication_ns", "communicating_ns"), format=".3%", key="hidden_communication"
    ),
    time_column("copying", "copying_ns"),
    Column("overlapped", _share_of("hidden_copies_ns", "copying_ns"), format=".3%", key="hidden_copies"),
]
_RANKS = [
    Column("rank", "rank"),
    time_column("computing", "computing_ns"),
    time_column("delay imposed", "held_up_ns", key="held_up_all_others_by"),
    Column("last arrivals", "n_last", key="times_last"),
    time_column("wait time", "waited_ns", key="waited_for_others"),
]


def _category_table(profile: OverheadProfile) -> Table:
    known = [
        None if name in profile.untold and not time else int(time)
        for name, time in zip(profile.categories, profile.by_category_ns, strict=True)
    ]
    times = [*known, profile.total_ns]
    columns = [
        Column("category", [*profile.categories, "total"]),
        time_column("total time", times),
        Column("share", [None if time is None else time / profile.total_ns for time in times], format=".2%"),
        Column("meaning", [*profile.texts, "locations x elapsed time"]),
    ]
    return Table(columns, title="Lost cycles by category")


def _brief_tables(profile: OverheadProfile, by: By) -> list[Table]:
    """Categories that occur, the largest first, the breakdown that was asked for, and efficiencies."""
    rows = [*_losses(profile), ("total", profile.total_ns, "locations x elapsed time")]
    columns = [
        Column("category", 0),
        Column("total time", 1, "ns", "time"),
        Column("share", lambda row: row[1] / profile.total_ns, format=".1%"),
        Column("meaning", 2),
    ]
    asked = profile_tables(profile, by)[1:2] if by != "category" else []
    efficiencies = [replace(each, title="", drops_empty=True) for each in _efficiency_table(profile, by_phase=False)]
    tables = [Table(columns, rows), *asked, *efficiencies, *_level_table(profile)]
    return [replace(table, importance="brief") for table in tables]


def _losses(profile: OverheadProfile) -> list[tuple[str, int, str]]:
    """Name, time and meaning of the categories that occur, the largest first."""
    rows = zip(profile.categories, profile.by_category_ns.tolist(), profile.texts, strict=True)
    return sorted((row for row in rows if row[1]), key=lambda row: -row[1])


def _answer(profile: OverheadProfile) -> str:
    """Shares of the two largest categories."""
    parts = [f"{time / profile.total_ns:.1%} {name}" for name, time, _ in _losses(profile)[:2]]
    n = len(profile.locations)
    size = f"{n} location{'s' * (n != 1)} x {readable(profile.elapsed_ns, 'ns', 4)}"
    return f"{Path(profile.source).name or profile.source}: {', '.join(parts)} of {size}"


def _caveats(notes: Sequence[str]) -> dict[str, Sequence[str]]:
    assumed = [note.removeprefix("assumes: ") for note in notes if note.startswith("assumes: ")]
    unseen = [note.removeprefix(UNSEEN) for note in notes if note.startswith(UNSEEN)]
    others = [note for note in notes if not note.startswith(("assumes: ", UNSEEN))]
    return {"Assumed": assumed, "Uncertain": others, "Not recorded": unseen}


def _phase_table(profile: OverheadProfile) -> Table:
    edges = profile.edges_ns
    origin = int(shown_origin(int(edges[0]), int(edges[-1])))
    columns = [
        Column("phase", np.arange(1, len(edges))),
        Column("start", edges[:-1] - origin, "ns", "time"),
        Column("duration", np.diff(edges), "ns", "time"),
        *_shares(profile.categories, profile.by_phase_ns),
    ]
    if _hides_besides(profile):
        columns += _shares(_HIDDEN, profile.hidden_ns.sum(axis=1), profile.by_phase_ns.sum(axis=0))
    since = f", start since {origin} ns" if origin else ""
    return Table(columns, title=f"Time breakdown by phase{since}")


def _marker_table(profile: OverheadProfile) -> Table:
    markers = profile.markers
    cycles = np.array([each.cycles_ns for each in markers]).T
    columns = [
        Column("marker", [short_name(each.name) for each in markers]),
        Column("times", [each.count for each in markers]),
        time_column("elapsed", [each.elapsed_ns for each in markers]),
        *_shares(profile.categories, cycles),
    ]
    if _hides_besides(profile):
        hidden = np.array([(each.hidden_communication_ns, each.hidden_copies_ns) for each in markers]).T
        columns += _shares(_HIDDEN, hidden, cycles.sum(axis=0))
    return Table(columns, title="Time breakdown by marker", limit=_MOST_MARKERS)


def _hides_besides(profile: OverheadProfile) -> bool:
    """Whether overlap with computing is no category."""
    return bool(profile.devices) and "hidden communication" not in profile.categories


def _efficiency_table(profile: OverheadProfile, by_phase: bool) -> list[Table]:
    efficiencies = profile.efficiencies()
    if efficiencies is None:
        return []
    parts = profile.efficiencies(by_phase=True) if by_phase else None
    n_parts = 0 if parts is None else profile.n_phases
    columns = [Column("POP efficiency", ["run", *(f"phase {number}" for number in range(1, n_parts + 1))])]
    for name, shares in efficiencies.columns.items():
        of_parts = None if parts is None else parts.columns[name]
        values = [np.nan] if shares is None else shares.tolist()
        values += [np.nan] * n_parts if of_parts is None else of_parts.tolist()
        columns.append(Column(name.replace("_", " "), values, format=".2%"))
    reason = _NO_MESSAGES
    if (replayed := profile.replayed) is not None:
        whose = "inferred from the trace" if replayed.definition == "strict" else "of BSC's tools"
        reason = (
            f"synchronisation rules {whose}, violated by {replayed.contradictions} of {replayed.calls} calls; ideal "
            f"network {readable(replayed.ideal_ns, 'ns')}"
        )
    elif profile.devices:
        reason = "serialisation and transfer: the kernels of collectives both wait and transfer"
    return [Table(columns, title=f"Efficiencies ({reason})", drops_empty=False)]


def _level_table(profile: OverheadProfile) -> list[Table]:
    """Factors of MPI x OpenMP or of GPUs, and what each means."""
    factors, factor_meanings = level_factors(profile), meanings(profile)
    if not factors:
        return []
    title = "Efficiencies of GPUs"
    if not of_gpus(profile):
        counts = sorted({each.n_threads for each in profile.threads})
        each = str(counts[0]) if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
        n = len(profile.threads)
        title = f"Efficiencies of MPI x OpenMP ({n} process{'es' if n > 1 else ''} of {each} threads)"
    meaning = Column("meaning", lambda row: factor_meanings[row[0]])
    return [Table([Column("factor", 0), Column("value", 1, format=".2%"), meaning], list(factors.items()), title)]


def _shares(names: Sequence[str], times: Any, totals: Any = None) -> list[Column]:
    """Columns of (n_names, n) times as shares of the sum of all; none of those in which nothing is lost."""
    shares = times / (times.sum(axis=0) if totals is None else totals)
    return [
        Column(name, row, format=".2%") for name, row in zip(names, shares, strict=True) if (row >= _LEAST_SHARE).any()
    ]


class ProfilePresenter(Presenter):
    """The profile of one run."""

    def title(self, result: OverheadProfile) -> str:
        return f"Lost cycles: {Path(result.source).name or result.source}"

    def answer(self, result: OverheadProfile) -> str:
        return _answer(result)

    def caveats(self, result: OverheadProfile) -> dict[str, Sequence[str]]:
        return _caveats(result.notes)

    def tables(self, result: OverheadProfile) -> Tables:
        by: By = "category" if result.n_phases == 1 else "phase"
        return [*_brief_tables(result, by), *(replace(t, importance="verbose") for t in profile_tables(result, by))]

    def frame(self, result: OverheadProfile) -> pd.DataFrame:
        return stacked([result])

    def panels(self, result: OverheadProfile, data: Any = None) -> Panels:
        from perf_analysis.overhead_plots import profile_panels

        return profile_panels(result)


class RunsPresenter(Presenter):
    """One run, or several side by side."""

    def title(self, result: OverheadRuns) -> str:
        return result[0].title if len(result) == 1 else f"Lost cycles of {len(result)} runs"

    def summary(self, result: OverheadRuns) -> list[str]:
        if not result.is_comparison:
            return [_answer(profile) for profile in result]
        n, (first, *more) = len(result), limit(list(result)) or [""]
        start = f"{n} run{'s' * (n != 1)}" + (f": {first}" if first else "")
        return [start, *more, *work_differs(list(result))]

    def caveats(self, result: OverheadRuns) -> dict[str, Sequence[str]]:
        return _caveats(result[0].notes if len(result) == 1 else common_notes(list(result)))

    def next_command(self, result: OverheadRuns) -> str:
        file = existing_file(result[0].source)
        return f"perf profile {file}" if file and len(result) == 1 else ""

    def tables(self, result: OverheadRuns) -> Tables:
        if result.is_comparison:
            bursts = burst_tables(list(result)) if result.by == "burst" else []
            if result.by == "burst" and not bursts:  # all runs have one size
                bursts = [table for profile in result if (table := burst_table(profile)) is not None]
            return [comparison(list(result)), *scaling_tables(list(result), result.others), *bursts]
        run_tables = []
        for profile in result:
            run = f"{profile.source}: " if len(result) > 1 else ""
            by: By = result.by or "category"
            run_tables += _brief_tables(profile, by)
            tables = profile_tables(profile, by)
            run_tables += [replace(table, title=f"{run}{table.title}", importance="verbose") for table in tables]
        return run_tables

    def frame(self, result: OverheadRuns) -> pd.DataFrame:
        return stacked(list(result), result.settings)

    def panels(self, result: OverheadRuns, data: Any = None) -> Panels:
        from perf_analysis.overhead_plots import comparison_panels, profile_panels

        return profile_panels(result[0]) if len(result) + len(result.others) == 1 else comparison_panels(result)
