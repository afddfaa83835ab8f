"""How lost cycles are shown: one run, several, efficiencies by themselves, and what a trace's page has of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from perf_analysis.efficiencies import Efficiencies, level_factors, meanings, of_gpus
from perf_analysis.overhead_profile import OverheadProfile
from perf_analysis.overheads import By, check_same_categories
from perf_analysis.scaling_efficiencies import burst_table
from perf_views.file_names import told_apart
from perf_views.function_names import short_name
from perfcore.base.errors import PerfError
from perfcore.data.units import readable, shown_origin
from perfcore.results import Presenter, Tables

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from perf_analysis.efficiencies import Efficiencies
    from perf_analysis.overhead_profile import OverheadProfile
    from perf_analysis.overheads import OverheadRuns
    from perf_views.contents import Viewable
    from perfcore.data.trace import Trace


Table = tuple[str, list[str], list[list[str]]]

_MOST_MARKERS = 30
_HIDDEN = ["(hidden communication)", "(hidden copies)"]  # in parentheses, as they are parts of computing
_NO_MESSAGES = "serialisation and transfer need the messages of a whole run, and its usual classes"


def profile_tables(profile: OverheadProfile, by: By = "category") -> list[Table]:
    """Tables by category, which come always, by location, phase, marker or burst; then GPUs, ranks and efficiencies."""
    tables = [_category_table(profile)]
    if by == "location":
        rows = [[name, *cells] for name, cells in zip(profile.locations, _shares(profile.by_location_ns), strict=True)]
        tables.append(("Share of each location's time", ["location", *profile.categories], rows))
    elif by == "phase":
        tables.append(_phase_table(profile))
    elif by == "marker":
        tables.append(_marker_table(profile))
    elif by == "burst" and (bursts := burst_table(profile)) is not None:
        tables.append(bursts)
    table = _efficiency_table(profile, by == "phase" and profile.n_phases > 1)
    devices = [_device_table(profile)] if profile.devices else []
    ranks = [_rank_table(profile)] if profile.ranks else []
    levels = _level_table(profile)
    return [
        *map(_without_empty, tables), *devices, *ranks, *(each for each in (table, levels) if each is not None)
    ]  # fmt: skip


def comparison(profiles: Sequence[OverheadProfile]) -> Table:
    """Title, header and rows of a table with a row for each run."""
    check_same_categories(profiles)
    rows = []
    for profile, name in zip(profiles, told_apart([each.source for each in profiles]), strict=True):
        [cells] = _shares(profile.by_category_ns[:, None])
        rows.append([name, str(len(profile.locations)), readable(profile.elapsed_ns, "ns"), *cells])
    header = ["run", "locations", "elapsed", *profiles[0].categories]
    return _without_empty(("Share of each run's cycles", header, rows))


def efficiency_cells(stretches: Efficiencies) -> list[list[str]]:
    """Efficiencies as per cent, one row for each stretch; ``-`` where one is not known."""
    columns = list(stretches.columns.values())
    return [
        ["-" if column is None or np.isnan(column[row]) else f"{column[row]:.2%}" for column in columns]
        for row in range(len(stretches.load_balance))
    ]


def _category_table(profile: OverheadProfile) -> Table:
    rows = [
        [
            name,
            *(
                ("-", "-")
                if name in profile.untold and not time
                else (readable(int(time), "ns"), f"{time / profile.total_ns:.2%}")
            ),
            text,
        ]
        for name, time, text in zip(profile.categories, profile.by_category_ns, profile.texts, strict=True)
    ]
    rows.append(["sum", readable(profile.total_ns, "ns"), "100.00%", "locations x elapsed time"])
    return ("Cycles by category", ["category", "time of all", "share", "meaning"], rows)


def _phase_table(profile: OverheadProfile) -> Table:
    edges = [int(edge) for edge in profile.edges_ns]
    origin = int(shown_origin(edges[0], edges[-1]))
    rows = [
        [str(number), readable(start - origin, "ns"), readable(end - start, "ns"), *cells]
        for number, (start, end, cells) in enumerate(
            zip(edges[:-1], edges[1:], _shares(profile.by_phase_ns), strict=True), 1
        )
    ]
    since = f", start since {origin} ns" if origin else ""
    header = ["phase", "start", "duration", *profile.categories]
    if _hides_besides(profile):
        for row, times, total in zip(
            rows, profile.hidden_ns.sum(axis=1).T, profile.by_phase_ns.sum(axis=0), strict=True
        ):
            row += [f"{time / total:.2%}" for time in times]
        header += _HIDDEN
    return (f"Share of each phase's cycles{since}", header, rows)


def _marker_table(profile: OverheadProfile) -> Table:
    rows = []
    for each in profile.markers[:_MOST_MARKERS]:
        [cells] = _shares(np.array(each.cycles_ns)[:, None])
        row = [short_name(each.name), str(each.count), readable(each.elapsed_ns, "ns"), *cells]
        if _hides_besides(profile):
            hidden = each.hidden_communication_ns, each.hidden_copies_ns
            row += [f"{time / sum(each.cycles_ns):.2%}" for time in hidden]
        rows.append(row)
    more = len(profile.markers) - len(rows)
    left = f" (the longest {len(rows)}; {more} more by --json)" if more else ""
    header = ["marker", "times", "elapsed", *profile.categories, *(_HIDDEN if _hides_besides(profile) else ())]
    return (f"Share of the cycles within markers{left}", header, rows)


def _hides_besides(profile: OverheadProfile) -> bool:
    """Whether what computing hides is no category by itself."""
    return bool(profile.devices) and "hidden communication" not in profile.categories


def _rank_table(profile: OverheadProfile) -> Table:
    """Who is waited for; the one that holds up the others most first."""
    rows = [
        [each.rank, *(readable(time, "ns") for time in (each.computing_ns, each.held_up_ns)), str(each.n_last),
         readable(each.waited_ns, "ns")]
        for each in sorted(profile.ranks, key=lambda each: -each.held_up_ns)
    ]  # fmt: skip
    header = ["rank", "computing", "held up all others by", "times last", "waited for others"]
    return ("Who waits for whom in collectives", header, rows)


def _device_table(profile: OverheadProfile) -> Table:
    """What any stream of each GPU does, and how much of collectives and copies happens while another one computes."""
    rows = []
    for device in profile.devices:
        cells = [device.device, str(device.n_streams), readable(device.span_ns, "ns")]
        for busy, hidden in (
            (device.computing_ns, None),
            (device.communicating_ns, device.hidden_communication_ns),
            (device.copying_ns, device.hidden_copies_ns),
        ):
            cells.append(readable(busy, "ns"))
            if hidden is not None:
                cells.append(f"{hidden / busy:.3%}" if busy else "-")
        rows.append([*cells, f"{device.idle_ns / profile.elapsed_ns:.2%}"])
    header = ["GPU", "streams", "span", "computing", "communicating", "hidden", "copying", "hidden", "idle"]
    return ("What runs at once on each GPU (hidden: while another of its streams computes)", header, rows)


def _efficiency_table(profile: OverheadProfile, by_phase: bool) -> Table | None:
    efficiencies = profile.efficiencies()
    if efficiencies is None:
        return None
    rows = [["run", *cells] for cells in efficiency_cells(efficiencies)]
    if by_phase and (parts := profile.efficiencies(by_phase=True)) is not None:
        rows += [[f"phase {number}", *cells] for number, cells in enumerate(efficiency_cells(parts), 1)]
    header = ["POP efficiency", *(name.replace("_", " ") for name in efficiencies.columns)]
    reason = f" ({_NO_MESSAGES})"
    if (replayed := profile.replayed) is not None:
        rules = (
            "by the rules that the trace shows" if replayed.definition == "strict" else "by the rules of BSC's tools"
        )
        reason = (
            f" ({rules}; on a network that takes no time {readable(replayed.ideal_ns, 'ns')}; "
            f"{replayed.contradictions} of {replayed.calls} calls contradict them)"
        )
    elif profile.devices:
        reason = " (serialisation and transfer: the kernels of collectives both wait and transfer)"
    return (f"Efficiencies{reason}", header, rows)


def _level_table(profile: OverheadProfile) -> Table | None:
    """Factors of MPI x OpenMP or of GPUs, and what each means."""
    factors = level_factors(profile)
    if not factors:
        return None
    title, factor_meanings = "Efficiencies of GPUs", meanings(profile)
    if not of_gpus(profile):
        counts = sorted({each.n_threads for each in profile.threads})
        each = str(counts[0]) if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
        n = len(profile.threads)
        title = f"Efficiencies of MPI x OpenMP ({n} process{'es' if n > 1 else ''} of {each} threads)"
    return title, ["factor", "value", "meaning"], [
        [name, f"{value:.2%}", factor_meanings[name]] for name, value in factors.items()
    ]  # fmt: skip


def _shares(times: npt.NDArray[np.int64]) -> list[list[str]]:
    """Percentages of each column's sum, one row for each column of (n_categories, n)."""
    return [[f"{time / column.sum():.2%}" for time in column] for column in times.T]


def _without_empty(table: Table) -> Table:
    """Without the columns of categories in which nothing is lost, to keep lines short."""
    title, header, rows = table
    keep = [0, *(k for k in range(1, len(header)) if any(row[k] not in ("0.00%", "") for row in rows))]
    return title, [header[k] for k in keep], [[row[k] for k in keep] for row in rows]


class ProfilePresenter(Presenter):
    """The profile of one run."""

    def title(self, result: OverheadProfile) -> str:
        """What it is of."""
        return f"Where the cycles go: {Path(result.source).name or result.source}"

    def summary(self, result: OverheadProfile) -> list[str]:
        """The run in a line, and what must be known about it."""
        phases = f", {result.n_phases} phases" if result.n_phases > 1 else ""
        n = len(result.locations)
        return [
            f"{result.source}: {n} location{'s' if n != 1 else ''} x {readable(result.elapsed_ns, 'ns')} = "
            f"{readable(result.total_ns, 'ns')}{phases}; every nanosecond is in exactly one category",
            *result.notes,
        ]

    def tables(self, result: OverheadProfile) -> Tables:
        """Cycles by category, by phase where there are phases, and the efficiencies."""
        from perf_analysis.overhead_presenters import profile_tables

        return profile_tables(result, "category" if result.n_phases == 1 else "phase")

    def frame(self, result: OverheadProfile) -> pd.DataFrame:
        """A row for each phase and category."""
        from perf_analysis.overheads import stacked

        return stacked([result])

    def draw(self, result: OverheadProfile, figure: Figure, data: Any = None) -> None:
        """Categories over time and by location."""
        from perf_analysis.overhead_plots import draw_profile

        draw_profile(result, self.title(result), figure)


class RunsPresenter(Presenter):
    """One run, or several beside one another."""

    def title(self, result: OverheadRuns) -> str:
        """Of which run, or of how many."""
        return result[0].title if len(result) == 1 else f"Where the cycles of {len(result)} runs go"

    def summary(self, result: OverheadRuns) -> list[str]:
        """Each run in a line, or how many are compared; and what must be known about them."""
        if len(result) == 1:
            return result[0].summary()
        from perf_analysis.overheads import common_notes
        from perf_analysis.scaling_efficiencies import limit, work_differs

        runs = [profile.summary()[0] for profile in result]
        if result.is_comparison:
            n = len(result)
            runs = [
                f"{n} run{'s' if n != 1 else ''}; every nanosecond of each is in exactly one category",
                *limit(list(result)),
            ]
            runs += [*work_differs(list(result)), *(each.summary() for each in result.predicted)]
        return [*runs, *common_notes(list(result))]

    def tables(self, result: OverheadRuns) -> Tables:
        """A comparison, or the tables of each run."""
        from perf_analysis.overhead_presenters import comparison, profile_tables
        from perf_analysis.scaling_efficiencies import burst_table, burst_tables, scaling_tables

        if result.is_comparison:
            bursts = burst_tables(list(result)) if result.by == "burst" else []
            if result.by == "burst" and not bursts:  # all runs have one size
                bursts = [table for profile in result if (table := burst_table(profile)) is not None]
            at_sizes = [table for each in result.predicted for table in each.tables()]
            return [comparison(list(result)), *scaling_tables(list(result), result.others), *bursts, *at_sizes]
        run_tables = []
        for profile in result:
            run = f"{profile.source}: " if len(result) > 1 else ""
            for title, header, rows in profile_tables(profile, result.by or "category"):
                run_tables.append((f"{run}{title}", header, rows))
        return run_tables

    def frame(self, result: OverheadRuns) -> pd.DataFrame:
        """A row for each run, phase and category; see `perf_analysis.overheads.stacked`."""
        from perf_analysis.overheads import stacked

        return stacked(list(result), result.settings)

    def draw(self, result: OverheadRuns, figure: Figure, data: Any = None) -> None:
        """The only run over time and by location, or shares of several side by side."""
        from perf_analysis.overhead_plots import draw_comparison

        if len(result) + len(result.others) == 1:
            result[0].draw(figure)
        else:
            draw_comparison(result, self.title(result), figure)


class EfficienciesPresenter(Presenter):
    """POP's efficiencies by themselves."""

    def title(self, result: Efficiencies) -> str:
        """Of how many stretches."""
        n = len(result.load_balance)
        return f"POP efficiencies of {n} stretch{'es' if n != 1 else ''}"

    def tables(self, result: Efficiencies) -> Tables:
        """A row for each stretch."""
        from perf_analysis.overhead_presenters import efficiency_cells

        rows = [[str(number), *cells] for number, cells in enumerate(efficiency_cells(result), 1)]
        return [("", ["stretch", *(name.replace("_", " ") for name in result.columns)], rows)]

    def frame(self, result: Efficiencies) -> pd.DataFrame:
        """A column for each efficiency, NaN where it is not known; a row for each stretch, counted from 1."""
        import pandas as pd

        frame = pd.DataFrame(result.columns, dtype=float)
        frame.index = pd.RangeIndex(1, len(frame) + 1, name="stretch")
        return frame

    def draw(self, result: Efficiencies, figure: Figure, data: Any = None) -> None:
        """Each efficiency over the stretches."""
        from perf_analysis.overhead_plots import draw_efficiencies

        draw_efficiencies(result, figure)


class TracePresenter(Presenter):
    """What the page of a trace, and that of a model of it, have of lost cycles."""

    def title(self, result: Trace) -> str:
        """On the link that leads there."""
        return "Where the cycles go"

    def views(self, result: Trace, data: Any = None, file: Path | None = None) -> Viewable:
        """Cycles by category, and phase by phase where the model has phases; classes of states can be chosen."""
        from perf_analysis.overhead_views import TraceViews

        return TraceViews(result, data)

    def commands(self, result: Trace, file: str) -> list[str]:
        """Where the cycles go, if the trace lasts and the standard categories have a class for every state."""
        from perf_analysis.categories import classify, read_categories
        from perf_traces.joined_trace import run_of

        try:
            classify(result, read_categories())
            run_of(result)
        except PerfError:
            return []
        return [f"perf overheads {file}"]
