"""How profiles are shown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from perfcore.data.units import readable
from perfcore.results import Presenter, Tables

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from perf_analysis.profile.profiles import Profiles


class ProfilesPresenter(Presenter):
    """One run, or several beside one another."""

    def title(self, result: Profiles) -> str:
        """Of which run, or of how many."""
        return f"Time by function: {result.source}"

    def summary(self, result: Profiles) -> list[str]:
        """The run in a line, or how many there are; and what must be known about them."""
        first = result[0]
        if len(result) == 1:
            n = len(first.locations)
            line = (
                f"{first.source}: {n} location{'s' if n != 1 else ''} x {readable(first.elapsed_ns, 'ns')} = "
                f"{readable(first.total_ns, 'ns')}"
            )
        else:
            line = f"{len(result)} runs over {', '.join(result.parameters)}"
        return [f"{line}; every nanosecond of a location is in exactly one function", *result.remarks()]

    def tables(self, result: Profiles) -> Tables:
        """A flat profile, or one row for each function and one column for each run; then the parts."""
        from perf_analysis.profile.tables import profile_tables

        return profile_tables(result)

    def plain_tables(self, result: Profiles) -> Tables:
        """The whole table."""
        frame = result.table()
        cells = frame.astype(object).where(frame.notna(), "").map(str)
        return [("", list(map(str, frame.columns)), cells.to_numpy().tolist())]

    def frame(self, result: Profiles) -> pd.DataFrame:
        """A row for each function of each run, and of each part of it; see `Profiles.measurements`."""
        return result.table()

    def draw(self, result: Profiles, figure: Figure, data: Any = None) -> None:
        """The longest functions of the run, or over what was varied."""
        from perf_analysis.profile.picture import draw_run, draw_runs

        if len(result) == 1:
            draw_run(result, self.title(result), figure)
        else:
            draw_runs(result, self.title(result), figure)
