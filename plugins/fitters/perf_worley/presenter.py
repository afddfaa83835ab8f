"""How phases are shown: what was fitted and how well, the phases, and how the fit depends on their number."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from perf_worley.phase_model import PhaseModel
from perfcore.data.units import readable, shown_origin
from perfcore.results import Presenter, Tables

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from perf_worley.views import PhaseViews

__all__ = ["PhasePresenter"]


class PhasePresenter(Presenter):
    """Text, tables, picture and page of a `PhaseModel`."""

    def title(self, result: PhaseModel) -> str:
        """How many phases, and the source."""
        count = len(result.phases)
        return f"{count} phase{'s' if count > 1 else ''} of {Path(result.origin.source).name}"

    def summary(self, result: PhaseModel) -> list[str]:
        """What was fitted, by which objective, how well, and at what cost."""
        figures, options = result.statistics, result.origin.options
        lines = [
            f"{self.title(result)} ({result.n_steps:,} steps, {readable(result.end - result.start, result.time_unit)})",
            f"breakpoints: least {result.objective} ({options['segmenter']}"
            + (", refined)" if options["refine"] else ")"),
            f"largest local L2 error (epsilon): {result.epsilon:.6g}",
            f"sum of squared errors: {result.sum_of_squares:.6g}",
        ]
        for name, label in (("r2_uncentered", "uncentered"), ("r2_centered", "centered")):
            value = figures[name]
            if value is not None:
                lines[-1] += f"   R^2 {label}: {value:.5f}"
        if result.rule is not None:
            lines.append(
                f"number of phases: chosen from {result.sequence[0].n_phases}..{result.sequence[-1].n_phases} "
                f"by the rule {result.rule!r}; --phases N sets it"
            )
        elif (asked := options["phases"]) != str(len(result.phases)):
            reason = "the curve has no more steps" if result.epsilon == 0.0 else "no tolerance gives that many"
            lines.append(f"number of phases: {asked} was asked for, but {reason}")
        return lines

    def tables(self, result: PhaseModel) -> Tables:
        """The phases, and the sequence that they were chosen from."""
        from perf_worley.tables import phase_table, sequence_table

        origin = shown_origin(result.start, result.end)
        caption = f"times count from {origin:.15g} {result.time_unit}" if origin else ""
        tables = [(caption, *phase_table(result))]
        if result.sequence:
            tables.append(("How the fit changes with the number of phases", *sequence_table(result.sequence)))
        return tables

    def frame(self, result: PhaseModel) -> pd.DataFrame:
        """One row for each phase; times in the model's unit, utilization in processors."""
        from perf_worley.tables import phase_frame

        return phase_frame(result)

    def draw(self, result: PhaseModel, figure: Figure, data: Any = None) -> None:
        """Draw the model, over its curve where given; with a sequence also how the fit depends on n."""
        from perf_worley.picture import draw_phases

        draw_phases(result, figure, data)

    def views(self, result: PhaseModel, data: Any = None, file: Path | None = None) -> PhaseViews:
        """The phases and, with data, sliders that fit anew and a picture that zooms."""
        from perf_worley.views import PhaseViews

        return PhaseViews(result, data)
