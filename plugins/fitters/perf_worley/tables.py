"""The tables of a phase model: as the command line prints them, and with full numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from perf_worley.iterations.of_phases import period_text
from perfcore.data.units import readable, shown_origin

if TYPE_CHECKING:
    import pandas as pd

    from perf_worley.phase import Phase, SequenceEntry
    from perf_worley.phase_model import PhaseModel


_FORMS = ("constant", "linear", "quadratic", "cubic")
_NORMAL = 1.959964  # 95 % of a normal distribution
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(8)  # for means of functions that are no polynomials


def phase_table(model: PhaseModel) -> tuple[list[str], list[list[str]]]:
    """Header and rows: where each phase lies, what it looks like, how far the curve is from it."""
    header = [
        "phase",
        "start",
        "end",
        "duration",
        "share",
        "form",
        "mean",
        "at start",
        "at end",
        "L2 error",
    ]
    with_interval = any(phase.break_interval is not None for phase in model.phases)
    if with_interval:
        header.insert(2, "started within (95%)")
    with_error = any(phase.level_error is not None for phase in model.phases)
    if with_error:
        header.insert(header.index("mean") + 1, "+- (95%)")
    with_kept = any(phase.kept is not None for phase in model.phases)
    if with_kept:
        header.append("break kept")
        following = sum(entry.n_phases > len(model.phases) for entry in model.sequence)
    if with_marker := any(phase.marker is not None for phase in model.phases):
        header.insert(1, "marker")
    with_name = any(phase.activity is not None for phase in model.phases)
    if model.iterations is not None:
        header.append("iterations")
    if with_name:
        header.append("what runs")
    origin = shown_origin(model.start, model.end)
    rows = []
    for number, phase in enumerate(model.phases, 1):
        length = phase.end - phase.start
        mean, at_start, at_end = _heights(model, phase)
        row = [
            str(number),
            readable(phase.start - origin, model.time_unit),
            readable(phase.end - origin, model.time_unit),
            readable(length, model.time_unit),
            f"{length / (model.end - model.start):.1%}",
            _form(model, phase),
            f"{mean:.4g}",
            f"{at_start:.4g}",
            f"{at_end:.4g}",
            f"{phase.error:.6g}",
        ]
        if with_error:
            row.insert(
                7, "" if phase.level_error is None else _level_bounds(mean, phase.level_error, model.n_locations)
            )
        if with_interval:
            interval = (
                ""
                if phase.break_interval is None
                else " .. ".join(readable(place - origin, model.time_unit) for place in phase.break_interval)
            )
            row.insert(2, interval)
        if with_kept:
            row.append("" if phase.kept is None or not following else f"{phase.kept} of {following}")
        if model.iterations is not None:
            row.append(period_text(phase, model.iterations, model.time_unit))
        if with_marker:
            row.insert(1, phase.marker or "")
        if with_name:
            row.append("" if phase.activity is None else phase.activity.name)
        rows.append(row)
    return header, rows


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
    header = ["phases", "gain", "epsilon", "tolerance", "drop", "sum of squares", "drop"]
    header += ["breaks kept", *(["evaluations", "updates"] if verbose else [])]
    # For polynomials of one degree the tolerance is the largest error, and one column says it.
    weighted = any(e.tolerance is not None and abs(e.tolerance - e.epsilon) > 1e-9 * e.epsilon for e in sequence)
    rows = []
    before: SequenceEntry | None = None
    for entry in sequence:
        possible = len(entry.kept) * entry.following
        rows.append(
            [
                str(entry.n_phases),
                f"{entry.gain:.3g}" if entry.gain is not None and entry.n_phases > 1 else "",
                f"{entry.epsilon:.6g}" if verbose or entry.gain is None else "",
                f"{entry.tolerance:.6g}" if weighted and entry.tolerance is not None else "",
                "" if entry.tolerance is None else _drop(before.tolerance if before else None, entry.tolerance),
                f"{entry.sum_of_squares:.6g}",
                _drop(before.sum_of_squares if before else None, entry.sum_of_squares),
                f"{sum(entry.kept) / possible:.0%}" if possible else "",
                "" if entry.evaluations is None else str(entry.evaluations),
                "" if entry.updates is None else str(entry.updates),
            ][: len(header)]
        )
        before = entry
    # Columns that a segmenter has no figures for are left out.
    columns = [column for column in range(len(header)) if any(row[column] for row in rows)]
    return [header[c] for c in columns], [[row[c] for c in columns] for row in rows]


def _drop(before: float | None, now: float) -> str:
    return "" if not before else f"{1.0 - now / before:.1%}"
