"""How phases are shown: what was fitted and how well, the phases, and how the fit depends on their number."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from perf_worley.phase import Evidence
from perf_worley.phase_model import PhaseModel
from perfcore.base.errors import listing
from perfcore.data.units import readable, shown_origin
from perfcore.results import Presenter, Tables

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from perf_worley.views import PhaseViews


class PhasePresenter(Presenter):
    """Text, tables, picture and page of a `PhaseModel`."""

    def title(self, result: PhaseModel) -> str:
        """How many phases, and the source."""
        count = len(result.phases)
        return f"{count} phase{'s' if count > 1 else ''} of {Path(result.origin.source).name}"

    def summary(self, result: PhaseModel) -> list[str]:
        """What was fitted, by which objective, how well, and how many phases the data tell."""
        figures, options = result.statistics, result.origin.options
        lines = [
            f"{self.title(result)} ({result.n_steps:,} steps, {readable(result.end - result.start, result.time_unit)})",
            _breakpoints(result),
            f"largest local L2 error (epsilon): {result.epsilon:.6g}",
            f"sum of squared errors: {result.sum_of_squares:.6g}",
        ]
        for name, label in (("r2_uncentered", "uncentered"), ("r2_centered", "centered")):
            value = figures[name]
            if value is not None:
                lines[-1] += f"   R^2 {label}: {value:.5f}"
        if options["verbose"]:
            lines.append("search: " + ", ".join(f"{name} {value:.6g}" for name, value in result.cost.items()))
        if result.iterations is not None:
            lines.append(f"iterations: {result.iterations.text} (`perf iterations` shows each)")
        return [*lines, *_number_lines(result)]

    def tables(self, result: PhaseModel) -> Tables:
        """The phases, and the sequence that they were chosen from."""
        from perf_worley.tables import category_table, phase_table, sequence_table

        origin = shown_origin(result.start, result.end)
        caption = f"times count from {origin:.15g} {result.time_unit}" if origin else ""
        tables = [(caption, *phase_table(result))]
        if (categories := category_table(result)) is not None:
            tables.append(("What the processors do in each phase, share of their time", *categories))
        if result.sequence:
            rows = sequence_table(result.sequence, verbose=bool(result.origin.options["verbose"]))
            where = "" if result.evidence is None else " (before refinement)"
            tables.append((f"How the fit changes with the number of phases{where}", *rows))
        return tables

    def frame(self, result: PhaseModel) -> pd.DataFrame:
        """One row for each phase; times in the model's unit, utilization in processors."""
        from perf_worley.tables import phase_frame

        return phase_frame(result)

    def panels(self, result: PhaseModel, data: Any = None) -> dict[str, Callable[[Axes], None]]:
        """The model, what runs, and how breakpoints and errors change with the number of phases."""
        from perf_worley.picture import phase_panels

        return phase_panels(result, data)

    def draw(self, result: PhaseModel, figure: Figure, data: Any = None) -> None:
        """Draw the model, over its curve where given; with a sequence also how the fit depends on n."""
        from perf_worley.picture import draw_phases

        draw_phases(result, figure, data)

    def views(self, result: PhaseModel, data: Any = None, file: Path | None = None) -> PhaseViews:
        """The phases and, with data, sliders that fit anew and a picture that zooms."""
        from perf_worley.views import PhaseViews

        return PhaseViews(result, data)


def _breakpoints(result: PhaseModel) -> str:
    """What places them."""
    options = result.origin.options
    if markers := options.get("phases_from"):
        return f"breakpoints: where markers begin and end ({listing(markers, 6)})"
    refined = ", refined" if options["refine"] and not result.functions else ""
    return f"breakpoints: least {result.objective} ({options['segmenter']}{refined})"


def _number_lines(result: PhaseModel) -> list[str]:
    """How the number of phases came about, and what it does not say."""
    count, requested = len(result.phases), result.origin.options["phases"]
    if result.rule is not None:
        first, last = result.sequence[0].n_phases, result.sequence[-1].n_phases
        line = f"number of phases: chosen from {first}..{last} by the rule {result.rule!r}"
        if result.evidence is not None:
            line += f": {_evidence(result.evidence)}"
            if result.evidence.period:
                line += f", of means over {readable(result.evidence.period, result.time_unit)}, after which it repeats"
        lines = [f"{line}; --phases N sets it"]
        if result.evidence is not None and count == last > 1 and last < result.n_steps:
            lines.append(
                f"warning: {last} phases are the end of the range; "
                f"--phases 1..{min(2 * last, result.n_steps)} looks further"
            )
        return lines
    if (
        requested == str(count)
        or result.origin.options.get("phases_from")
        or (requested == "auto" and result.n_steps == 1)
    ):
        return []
    reason = "the curve has no more steps" if result.epsilon == 0.0 else f"the least tolerance needs only {count}"
    return [f"number of phases: {requested} was asked for, but {reason}"]


def _evidence(evidence: Evidence) -> str:
    """Why so many."""
    if evidence.needed is None:
        return evidence.reason
    gain = f"{evidence.gain:.3g}" if evidence.gain < 1e4 else "over 10000"
    stretches = f"{evidence.stretches:.0f} independent stretches"
    if evidence.reason and evidence.gain <= evidence.needed:
        most = f"{evidence.needed:.3g}"
        return f"{evidence.reason} (a second phase gains {gain} units of noise, noise alone up to {most}; {stretches})"
    if evidence.reason:
        return f"{evidence.reason} ({stretches})"
    return f"they gain up to {gain} units of noise each, noise alone up to {evidence.needed:.3g} ({stretches})"
