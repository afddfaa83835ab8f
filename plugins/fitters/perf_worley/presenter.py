"""How phases are shown: what was fitted and how well, the phases, and how the fit depends on their number."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from perf_worley.iterations.iterations import period_text
from perf_worley.phase_model import Evidence, PhaseModel
from perfcore.base.errors import listing
from perfcore.data.units import readable, shown_origin
from perfcore.results import Presenter, Tables

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from perf_worley.phase_model import Phase, PhaseModel, SequenceEntry
    from perf_worley.views import PhaseViews


_FORMS = ("constant", "linear", "quadratic", "cubic")
_NORMAL = 1.959964  # 95 % of a normal distribution
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(8)  # for means of functions that are no polynomials


def table(columns: Sequence[tuple[str, Sequence[str]]]) -> tuple[list[str], list[list[str]]]:
    """Header and rows of the columns that hold anything."""
    columns = [(name, cells) for name, cells in columns if any(cells)]
    return [name for name, _ in columns], [list(row) for row in zip(*(cells for _, cells in columns), strict=True)]


def phase_table(model: PhaseModel) -> tuple[list[str], list[list[str]]]:
    """Header and rows: where each phase lies, what it looks like, how far the curve is from it."""
    unit, phases, repeated = model.time_unit, model.phases, model.iterations
    origin = shown_origin(model.start, model.end)
    lengths = [phase.end - phase.start for phase in phases]
    heights = [_heights(model, phase) for phase in phases]
    following = sum(entry.n_phases > len(phases) for entry in model.sequence)

    def interval(phase: Phase) -> str:
        return " .. ".join(readable(place - origin, unit) for place in phase.break_interval or ())

    def error(phase: Phase, mean: float) -> str:
        return "" if phase.level_error is None else _level_bounds(mean, phase.level_error, model.n_locations)

    return table(
        [
            ("phase", [str(number) for number in range(1, len(phases) + 1)]),
            ("marker", [phase.marker or "" for phase in phases]),
            ("start", [readable(phase.start - origin, unit) for phase in phases]),
            ("started within (95%)", [interval(phase) for phase in phases]),
            ("end", [readable(phase.end - origin, unit) for phase in phases]),
            ("duration", [readable(length, unit) for length in lengths]),
            ("share", [f"{length / (model.end - model.start):.1%}" for length in lengths]),
            ("form", [_form(model, phase) for phase in phases]),
            ("mean", [f"{mean:.4g}" for mean, _, _ in heights]),
            ("+- (95%)", [error(phase, mean) for phase, (mean, _, _) in zip(phases, heights, strict=True)]),
            ("at start", [f"{at_start:.4g}" for _, at_start, _ in heights]),
            ("at end", [f"{at_end:.4g}" for _, _, at_end in heights]),
            ("L2 error", [f"{phase.error:.6g}" for phase in phases]),
            ("break kept", ["" if p.kept is None or not following else f"{p.kept} of {following}" for p in phases]),
            ("iterations", ["" if repeated is None else period_text(phase, repeated, unit) for phase in phases]),
            ("what runs", ["" if phase.activity is None else phase.activity.name for phase in phases]),
        ]
    )


def _level_bounds(mean: float, error: float, most: int | None) -> str:
    """Half the width of the interval of a level, or both ends where it reaches beyond what is possible."""
    half = _NORMAL * error
    low, high = max(mean - half, 0.0), min(mean + half, np.inf if most is None else most)
    return f"{half:.2g}" if high - low > 1.999 * half else f"{low:.3g} .. {high:.3g}"


def category_table(model: PhaseModel) -> tuple[list[str], list[list[str]]] | None:
    """Header and rows: what share of each phase's processor time each class of states takes.

    None where all there is, is computing or in no state, so that the levels of the phases say the same.
    """
    activities = [phase.activity for phase in model.phases]
    times: dict[str, int] = {}
    for activity in activities:
        for category, time in ({} if activity is None else activity.categories_ns).items():
            times[category] = times.get(category, 0) + time
    if times.keys() <= {"computing", "idle", "no state"}:
        return None
    header = sorted(times, key=lambda category: (category != "computing", category == "no state", -times[category]))
    rows = [
        [str(number), *(f"{activity.categories_ns.get(each, 0) / activity.processor_ns:.1%}" for each in header)]
        for number, activity in enumerate(activities, 1)
        if activity is not None
    ]
    return ["phase", *header], rows


def phase_frame(model: PhaseModel) -> pd.DataFrame:
    """One row for each phase: times in the model's unit as the data count them, utilization in processors."""
    import pandas as pd

    rows = []
    for number, phase in enumerate(model.phases, 1):
        length = phase.end - phase.start
        form, heights = _form(model, phase), _heights(model, phase)
        name = "" if phase.activity is None else phase.activity.name
        rows.append((number, phase.start, phase.end, length, form, *heights, phase.error, name))
    times = [f"{name}_{model.time_unit}" for name in ("start", "end", "duration")]
    columns = ["phase", *times, "form", "mean", "at_start", "at_end", "l2_error", "what_runs"]
    frame = pd.DataFrame(rows, columns=columns)
    if any(phase.marker is not None for phase in model.phases):
        frame.insert(1, "marker", [phase.marker or "" for phase in model.phases])
    return frame


def _form(model: PhaseModel, phase: Phase) -> str:
    return "+".join(model.functions) or _FORMS[phase.degree]


def _heights(model: PhaseModel, phase: Phase) -> tuple[float, float, float]:
    """Mean of a phase's function, and its values at the start and at the end."""
    inner = model.evaluate(phase, phase.start + 0.5 * (phase.end - phase.start) * (_NODES + 1.0))
    at_start, at_end = model.evaluate(phase, np.array([phase.start, phase.end])).tolist()
    return float(inner @ _WEIGHTS) / 2.0, at_start, at_end


def sequence_table(sequence: Sequence[SequenceEntry], *, verbose: bool = False) -> tuple[list[str], list[list[str]]]:
    """Header and rows: one model a row, as in Worley's Figures 6, 7 and 18, with what changes and what stays."""
    # For polynomials of one degree the tolerance is the largest error, and one column says it.
    weighted = any(e.tolerance is not None and abs(e.tolerance - e.epsilon) > 1e-9 * e.epsilon for e in sequence)
    tolerances, sums = [entry.tolerance for entry in sequence], [entry.sum_of_squares for entry in sequence]
    possible = [len(entry.kept) * entry.following for entry in sequence]
    columns = [
        ("phases", [str(entry.n_phases) for entry in sequence]),
        ("gain", [f"{e.gain:.3g}" if e.gain is not None and e.n_phases > 1 else "" for e in sequence]),
        ("epsilon", [f"{e.epsilon:.6g}" if verbose or e.gain is None else "" for e in sequence]),
        ("tolerance", [f"{tolerance:.6g}" if weighted and tolerance is not None else "" for tolerance in tolerances]),
        ("drop", _drops(tolerances)),
        ("sum of squares", [f"{squares:.6g}" for squares in sums]),
        ("drop", _drops(sums)),
        ("breaks kept", [f"{sum(e.kept) / n:.0%}" if n else "" for e, n in zip(sequence, possible, strict=True)]),
        ("evaluations", ["" if e.evaluations is None or not verbose else str(e.evaluations) for e in sequence]),
        ("updates", ["" if e.updates is None or not verbose else str(e.updates) for e in sequence]),
    ]
    return table(columns)


def _drops(values: Sequence[float | None]) -> list[str]:
    return [
        "" if not before or now is None else f"{1.0 - now / before:.1%}"
        for before, now in zip((None, *values[:-1]), values, strict=True)
    ]


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
