"""How lost cycles are shown: one run, several, efficiencies by themselves, and what a trace's page has of them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from perfcore.base.errors import PerfError
from perfcore.data.units import readable
from perfcore.results import Presenter, Tables

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from perf_analysis.overheads.pop_efficiencies import Efficiencies
    from perf_analysis.overheads.profile import OverheadProfile
    from perf_analysis.overheads.runs import OverheadRuns
    from perf_views.contents import Viewable
    from perfcore.data.trace import Trace


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
        from perf_analysis.overheads.tables import profile_tables

        return profile_tables(result, "category" if result.n_phases == 1 else "phase")

    def frame(self, result: OverheadProfile) -> pd.DataFrame:
        """A row for each phase and category."""
        from perf_analysis.overheads.stacking import stacked

        return stacked([result])

    def draw(self, result: OverheadProfile, figure: Figure, data: Any = None) -> None:
        """Categories over time and by location."""
        from perf_analysis.overheads.picture import draw_profile

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
        from perf_analysis.overheads.scaling import limit, work_differs
        from perf_analysis.overheads.stacking import common_notes

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
        from perf_analysis.overheads.by_burst import burst_table, burst_tables
        from perf_analysis.overheads.scaling import scaling_tables
        from perf_analysis.overheads.tables import comparison, profile_tables

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
        from perf_analysis.overheads.stacking import stacked

        return stacked(list(result), result.settings)

    def draw(self, result: OverheadRuns, figure: Figure, data: Any = None) -> None:
        """The only run over time and by location, or shares of several side by side."""
        from perf_analysis.overheads.picture import draw_comparison

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
        from perf_analysis.overheads.tables import efficiency_cells

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
        from perf_analysis.overheads.picture import draw_efficiencies

        draw_efficiencies(result, figure)


class TracePresenter(Presenter):
    """What the page of a trace, and that of a model of it, have of lost cycles."""

    def title(self, result: Trace) -> str:
        """On the link that leads there."""
        return "Where the cycles go"

    def views(self, result: Trace, data: Any = None, file: Path | None = None) -> Viewable:
        """Cycles by category, and phase by phase where the model has phases; classes of states can be chosen."""
        from perf_analysis.overheads.views.trace_views import TraceViews

        return TraceViews(result, data)

    def commands(self, result: Trace, file: str) -> list[str]:
        """Where the cycles go, if the trace lasts and the standard categories have a class for every state."""
        from perf_analysis.overheads.category_set import read_categories
        from perf_analysis.overheads.state_classes import classify
        from perf_traces.joined_trace import run_of

        try:
            classify(result, read_categories())
            run_of(result)
        except PerfError:
            return []
        return [f"perf overheads {file}"]
