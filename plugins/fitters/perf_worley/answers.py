"""What phases report: where they lie and what runs in them, how many there are, two runs phase by phase; their page."""

from __future__ import annotations

import math
from collections import Counter, OrderedDict
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import perfcore
from perf_views.contents import Field, Form, NoViewError, Query, View, Viewable, ViewPath, model_blocks
from perf_views.names import existing_file, plain_names
from perf_worley.activity import summed
from perf_worley.fitter import as_curve
from perf_worley.options import DEGREES, PhasesOptions
from perfcore.base.arrays import Floats
from perfcore.base.errors import DataError, OptionError, listing
from perfcore.data.answers import plot_of_curve, time_axis
from perfcore.data.curve import UtilizationCurve
from perfcore.data.series import Series
from perfcore.data.trace import Trace
from perfcore.data.units import NANOSECONDS, moment_text, readable, shown_origin
from perfcore.hooks.options import build
from perfcore.hooks.registry import option_fields, registry
from perfcore.report import Axis, Figure, Line, Mark, Note, Plot, Points, Report, Rule, Spans, Steps, Text
from perfcore.tables import Column, Table

if TYPE_CHECKING:
    from perf_worley.comparison import PhaseComparison, Side
    from perf_worley.phase_model import Evidence, Phase, PhaseModel


_FORMS = ("constant", "linear", "quadratic", "cubic")
_NORMAL = 1.959964  # 95 % of a normal distribution
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(8)  # for means of functions that are no polynomials
_MARGIN = 0.02  # of the processors, by which a phase may leave them unnoticed
_LONGEST_HEADING = 8  # letters of a run's name; the first line has the whole
_MOST_COMPUTING, _MOST_IDLE = 5, 2  # states that are drawn
_POINTS_PER_PHASE = 101
_ROOM = 0.011  # of the width of a plot, for a digit
# Breakpoints by the share of the models with more phases that keep them.
_KEPT = ((2.0 / 3.0, "dark", "kept by most larger models"), (1.0 / 3.0, "muted", "by some"), (-1.0, "faint", "by few"))
_PHASES, _DEGREE = "phases", "degree"
_OF_DATA = ("busy", "idle", "column", "phases_from", "tolerance")  # that a curve and a number of phases do without
_MOST_ON_SLIDER = 40
_MOST_FITS = 32  # that are remembered


def phase_report(model: PhaseModel, data: Any = None) -> Report:
    """Return the number of phases and the mean, each phase, and how the fit depends on their number."""
    count, length = len(model.phases), model.end - model.start
    title = f"{count} phase{'s' if count > 1 else ''} in {Path(model.origin.source).name}"
    areas = [_heights(model, phase)[0] * (phase.end - phase.start) for phase in model.phases]
    busy, number, r2 = sum(areas) / length if length else 0.0, model.n_locations, model.statistics["r2_centered"]
    mean = Figure("mean", busy, format=".3g")
    of_all = f" of {number} processor{'s' * (number > 1)} ({busy / number:.0%}) busy" if number else ""
    figures = [Figure("phases", count, format=",d"), mean]
    figures += [Figure("busy", busy / number, format=".0%")] if number else []
    figures += [Figure("R^2", r2, format=".2f", key="r2_centered")] if isinstance(r2, float) else []
    error_unit = f"height · √{model.time_unit}"  # that of processors, or of whatever the curve counts
    figures.append(Figure("largest L2 error", model.epsilon, error_unit, format=".4g", key="epsilon"))
    fit = f", R^2 {r2:.2f}" if isinstance(r2, float) else ""
    return Report(
        title=title,
        answer=f"{title} ({readable(length, model.time_unit, digits=3)}); mean {mean.text}{of_all}{fit}",
        figures=figures,
        tables=[table for table in _tables(model) if table is not None],
        draw=lambda: _plots(model, data),
        notes=[*(Note("Assumed", text) for text in (*model.assumed, *_number_lines(model))), *_range_notes(model)],
        next=_next_command(model),
        details=_details(model),
        formula=model.formula,
    )


def _next_command(model: PhaseModel) -> str:
    file, count = existing_file(model.origin.source), len(model.phases)
    if not file or all(phase.activity is None for phase in model.phases):
        return ""
    if model.iterations is not None:
        return f"perf iterations {file}"
    return f"perf overheads {file}" + f" --phases {count}" * (count > 1)


def _details(model: PhaseModel) -> list[str]:
    figures = model.statistics
    lines = [
        f"{model.n_steps:,} steps; {_breakpoints(model)}",
        f"largest L2 error of a phase (epsilon): {model.epsilon:.6g} height · √{model.time_unit}",
        f"SSE {model.sum_of_squares:.6g}",
    ]
    for name, label in (("r2_uncentered", "uncentered"), ("r2_centered", "centered")):
        value = figures[name]
        if value is not None:
            lines[-1] += f", R^2 {label} {value:.5f}"
    if model.iterations is not None:
        lines.append(f"iterations: {model.iterations.text}")
    search = ", ".join(f"{name} {value:.6g}" for name, value in model.cost.items())
    return [*lines, f"search: {search}"] if search else lines


def _tables(model: PhaseModel) -> list[Table | None]:
    """Return where each phase lies, what it looks like, how far the curve is from it: in short, and all."""
    unit, phases, repeated = model.time_unit, model.phases, model.iterations
    origin, length = shown_origin(model.start, model.end), model.end - model.start
    heights = np.array([_heights(model, phase) for phase in phases])
    starts, ends = np.array([phase.start for phase in phases]), np.array([phase.end for phase in phases])
    following = sum(entry.n_phases > len(phases) for entry in model.sequence)

    def with_interval(phase: Phase, mean: float) -> tuple[float, float | None, float | None]:
        if phase.level_error is None:
            return mean, None, None
        half, most = _NORMAL * phase.level_error, np.inf if model.n_locations is None else model.n_locations
        return mean, max(mean - half, 0.0), float(min(mean + half, most))

    def kept(phase: Phase) -> str | None:
        return None if phase.kept is None or not following else f"{phase.kept} of {following}"

    breaks = [phase.break_interval and tuple(place - origin for place in phase.break_interval) for phase in phases]
    markers = Column("marker", [phase.marker for phase in phases])
    means = [with_interval(phase, mean) for phase, mean in zip(phases, heights[:, 0].tolist(), strict=True)]
    columns = [
        Column("phase", range(1, len(phases) + 1)),
        *([markers] if any(markers.value) else []),
        Column("start", starts - origin, unit, "time", key=()),
        Column("start 95% CI", breaks, unit, "time", key=()),
        Column("end", ends - origin, unit, "time", key=(), importance="verbose"),
        Column("start", starts, unit, importance="data"),
        Column("end", ends, unit, importance="data"),
        Column("duration", ends - starts, unit, "time", key=f"duration_{unit}"),
        Column("share", (ends - starts) / length, format=".1%"),
        Column("form", ["+".join(model.functions) or _FORMS[phase.degree] for phase in phases]),
        Column("mean" if model.n_locations is None else "busy", means, key=("mean", "mean_lower", "mean_upper"),
               format=".3g"),
        Column("at start", heights[:, 1], format=".3g"),
        Column("at end", heights[:, 2], format=".3g"),
        Column("L2 error", [phase.error for phase in phases], format=".6g"),
        Column("stability", list(map(kept, phases)), key=()),
        Column("iterations", [repeated and (repeated.text_within(phase, unit) or None) for phase in phases], key=()),
        Column("activity", [None if p.activity is None else p.activity.name for p in phases], key="what_runs"),
    ]  # fmt: skip
    title = f"times are relative to {moment_text(origin, unit)}" if origin else ""
    hidden = ("form", "L2 error", "stability", "iterations", "activity")
    brief = [column for column in columns if column.name not in hidden]
    categories = _category_table(model)
    brief += categories.columns[1:4] if categories is not None else []
    by_phase = [Table(brief, title=title, importance="brief"), Table(columns, title=title, importance="verbose")]
    return [*by_phase, categories, _sequence_table(model) if model.sequence else None]


def _category_table(model: PhaseModel) -> Table | None:
    """Return the share of each phase's processor time in each class of states."""
    activities = [phase.activity for phase in model.phases if phase.activity is not None]
    names = summed(activity.categories_ns for activity in activities)
    if names.keys() <= {"computing", "idle", "no state"}:
        return None
    shares = {name: [each.categories_ns.get(name, 0) / each.processor_ns for each in activities] for name in names}
    columns = [Column(name, values, format=".1%") for name, values in shares.items()]
    title = "Time breakdown by phase"
    return Table([Column("phase", range(1, len(activities) + 1)), *columns], title=title, importance="verbose")


def _sequence_table(model: PhaseModel) -> Table:
    """Tabulate the models, one a row, as in Worley's Figures 6, 7 and 18."""
    sequence = model.sequence
    title = "Model selection: number of phases" + " (before refinement)" * bool(model.evidence)
    # For polynomials of one degree the tolerance is the largest error, and one column says it.
    weighted = any(e.tolerance is not None and abs(e.tolerance - e.epsilon) > 1e-9 * e.epsilon for e in sequence)
    tolerances, sums = [entry.tolerance for entry in sequence], [entry.sum_of_squares for entry in sequence]
    kept = [sum(e.kept) / (len(e.kept) * e.following) if e.kept and e.following else None for e in sequence]
    columns = [
        Column("phases", [e.n_phases for e in sequence]),
        Column("evidence", [e.gain if e.n_phases > 1 else None for e in sequence], format=".3g", key="gain"),
        Column("epsilon", [e.epsilon for e in sequence], format=".6g"),
        Column("tolerance", tolerances if weighted else [None] * len(sequence), format=".6g"),
        Column("drop", _drops(tolerances), format=".1%", key="tolerance_drop"),
        Column("SSE", sums, format=".6g", key="sum_of_squares"),
        Column("drop", _drops(sums), format=".1%", key="squares_drop"),
        Column("stability", kept, format=".0%", key="breaks_kept"),
        Column("evaluations", [e.evaluations for e in sequence]),
        Column("updates", [e.updates for e in sequence]),
    ]
    return Table(columns, title=title, importance="verbose")


def _drops(values: Sequence[float | None]) -> list[float | None]:
    before = (None, *values[:-1])
    return [1.0 - b / a if a and b is not None else None for a, b in zip(before, values, strict=True)]


def _heights(model: PhaseModel, phase: Phase) -> tuple[float, float, float]:
    """Return the mean of a phase's function, and its values at the start and at the end."""
    inner = model.evaluate(phase, phase.start + 0.5 * (phase.end - phase.start) * (_NODES + 1.0))
    at_start, at_end = model.evaluate(phase, np.array([phase.start, phase.end])).tolist()
    return float(inner @ _WEIGHTS) / 2.0, at_start, at_end


def _breakpoints(model: PhaseModel) -> str:
    """Return the segmentation algorithm and its objective."""
    options = model.origin.options
    if markers := options.get("phases_from"):
        return f"breakpoints: markers {listing(markers, 6)}"
    refined = ", refined" if options["refine"] and not model.functions else ""
    search = options.get("segmenter") or f"Algorithm {'M' if options['tolerance'] is None else 'K'}"
    return f"breakpoints minimize {model.objective} ({search}{refined})"


def _number_lines(model: PhaseModel) -> list[str]:
    """Return how the number of phases was chosen."""
    count, requested = len(model.phases), model.origin.options["phases"]
    if model.rule is not None:
        first, last = model.sequence[0].n_phases, model.sequence[-1].n_phases
        line = f"number of phases by rule {model.rule!r} from {first}..{last}"
        if model.evidence is not None:
            line += f": {_evidence(model.evidence)}"
            if model.evidence.period:
                line += f", of means over the period of {readable(model.evidence.period, model.time_unit)}"
        elif model.rule == "knee" and count == first:
            line += f": more explain less than {model.worth:.0%} of the rest"
        return [f"{line} (--phases N)"]
    if (tolerance := model.origin.options.get("tolerance")) is not None:
        return [f"fewest phases for the tolerance {tolerance:g}"]
    is_marked = bool(model.origin.options.get("phases_from"))
    if is_marked or requested == str(count) or (requested == "auto" and model.n_steps == 1):
        return []
    reason = f"the curve has only {count} steps" if model.epsilon == 0.0 else f"{count} reach the smallest tolerance"
    return [f"{requested} phases requested, but {reason}"]


def _range_notes(model: PhaseModel) -> list[Note]:
    """Return what may be wrong: phases beyond the processors, and that more phases than were tried may be better."""
    notes, number = [], model.n_locations
    if number:
        margin = _MARGIN * number
        heights = [_heights(model, phase) for phase in model.phases]
        outside = [k for k, each in enumerate(heights, 1) if min(each) < -margin or max(each) > number + margin]
        if outside:
            one, several = f"phase {outside[0]} leaves", f"phases {listing(map(str, outside), 6)} leave"
            phases = one if len(outside) == 1 else several
            text = f"{phases} the range of 0 to {number} busy processors; --fitter phases stays within"
            notes.append(Note("Uncertain", text))
    if model.evidence is not None and model.rule is not None:
        last = model.sequence[-1].n_phases
        if len(model.phases) == last > 1 and last < model.n_steps:
            farther = min(2 * last, model.n_steps)
            notes.append(Note("Uncertain", f"{last} is the largest number tried; extend with --phases 1..{farther}"))
    return notes


def _evidence(evidence: Evidence) -> str:
    if evidence.needed is None:
        return evidence.reason
    gain = f"{evidence.gain:.3g}" if evidence.gain < 1e4 else "over 10000"
    stretches = f"n_eff {evidence.stretches:.0f}"
    if evidence.reason and evidence.gain <= evidence.needed:
        most = f"{evidence.needed:.3g}"
        return f"{evidence.reason} (evidence for a second {gain}, noise threshold {most}, {stretches})"
    if evidence.reason:
        return f"{evidence.reason} ({stretches})"
    return f"evidence {gain}, noise threshold {evidence.needed:.3g}, {stretches}"


def _curve_of(model: PhaseModel, data: Any) -> UtilizationCurve:
    if isinstance(data, Trace):
        options = model.origin.options
        return data.utilization(options.get("busy"), idle=options.get("idle")).counted_from_start()
    if isinstance(data, Series):
        return data.curve(model.origin.options.get("column"))
    if not isinstance(data, UtilizationCurve):
        raise DataError(f"phases are drawn over a trace, a curve or a time series, not over {type(data).__name__}")
    return data.counted_from_start()


def _plots(model: PhaseModel, data: Any) -> list[Plot]:
    """Return ``model``, and as far as there are any ``activity``, ``breaks`` and ``errors``.

    Those over time have the whole width, so that a time is at the same place in all.
    """
    curve = None if data is None else _curve_of(model, data)
    start, end = (model.start, model.end) if curve is None else (float(curve.start), float(curve.end))
    x, origin = time_axis(start, end, model.time_unit)
    plots = [_model_plot(model, curve, x, origin)]
    if all(phase.activity is not None for phase in model.phases):
        plots.append(_activity_plot(model, x, origin))
    if model.sequence:
        plots += [_break_plot(model, x, origin), _error_plot(model)]
    return plots


def _model_plot(model: PhaseModel, curve: UtilizationCurve | None, x: Axis, origin: float) -> Plot:
    """Return the phases over their curve, breakpoints with intervals, and the number of each phase."""
    marks: list[Mark] = []
    top, label = 0.0, "busy processors"
    if curve is not None:
        drawn = plot_of_curve(curve)
        marks, top, label = list(drawn.marks), float(drawn.y.limits[1] or 0.0), drawn.y.label
    times = [np.linspace(phase.start, phase.end, _POINTS_PER_PHASE) for phase in model.phases]
    fitted = np.concatenate([model.evaluate(phase, at) for phase, at in zip(model.phases, times, strict=True)])
    most = np.inf if model.n_locations is None else float(model.n_locations)
    shown = np.clip(fitted, 0.0, most)  # no processors compute beyond all of them, nor fewer than none
    is_cut = not np.allclose(shown, fitted, rtol=1e-6, atol=1e-6 * float(shown.max()))
    top = max(top, 1.05 * float(shown.max()), 1e-9)
    intervals = np.array([p.break_interval for p in model.phases if p.break_interval is not None]) - origin
    if len(intervals):
        low, high = intervals.T
        marks.insert(0, Spans(low, high, "breakpoint 95% CI", "series:0", opacity=0.13))
        at_top = np.full(len(low), top)  # a bar shows also intervals that are a line wide
        marks.append(Points(0.5 * (low + high), at_top, "", "series:0", left=low, right=high, shape="bar"))
    starts = np.array([phase.start for phase in model.phases[1:]]) - origin
    if len(starts):
        marks.append(Rule(starts, label="breakpoint"))
    # One line through all phases: it connects them vertically at the breakpoints.
    ends = "0" if np.isinf(most) else f"0 and {most:g}"
    marks.append(Line(np.concatenate(times) - origin, shown, f"model, cut at {ends}" if is_cut else "model"))
    edges = np.array([*(phase.start for phase in model.phases), model.end]) - origin
    digits = np.array([len(str(number)) for number in range(1, len(edges))])
    marks += _numbered(edges, _ROOM * (edges[-1] - edges[0]) * digits)
    return Plot("model", marks, x, Axis(label, limits=(0.0, 1.08 * top)), height=4.5, width=1.0)


def _numbered(edges: Floats, widths: Floats) -> list[Mark]:
    """Return the number of each of several phases in its upper end, if it is wider than the number."""
    middles, wide = 0.5 * (edges[1:] + edges[:-1]), np.diff(edges) > widths
    if len(middles) < 2 or not wide.any():
        return []
    numbers = [str(number + 1) for number in np.flatnonzero(wide)]
    return [Text(middles[wide], "top", numbers, "model", "center", 9.0)]


def _activity_plot(model: PhaseModel, x: Axis, origin: float) -> Plot:
    """Return the mean number of locations in each state, phase by phase, upon one another."""
    edges = np.array([phase.start for phase in model.phases] + [model.end]) - origin
    activities = [phase.activity for phase in model.phases if phase.activity is not None]
    totals: Counter[tuple[str, bool]] = Counter()
    for each in activities:
        totals.update({(state.state, state.computing): state.time_ns for state in each.states})
    ordered = [key for key, _ in totals.most_common()]
    computing = [name for name, computes in ordered if computes][:_MOST_COMPUTING]
    idle = [name for name, computes in ordered if not computes][:_MOST_IDLE]
    short = dict(zip((*computing, *idle), plain_names([*computing, *idle]), strict=True))
    durations = np.array([max(each.duration_ns, 1) for each in activities])

    def mean_of(names: Sequence[str]) -> Any:
        times = [sum(state.time_ns for state in each.states if state.state in names) for each in activities]
        return np.array(times) / durations

    mean_computing = np.array([each.computing_ns for each in activities]) / durations
    layers = [(short[name], mean_of([name]), f"series:{number}") for number, name in enumerate(computing)]
    mean_others = mean_computing - mean_of(computing)
    if (mean_others > 1e-9 * mean_computing.max(initial=1.0)).any():
        layers.append(("others", mean_others, "area:9"))
    greys = zip(idle, ("muted", "faint"), strict=False)
    layers += [(f"{short[name]} (idle)", mean_of([name]), grey) for name, grey in greys]
    marks: list[Mark] = []
    below = np.zeros(len(activities))
    for name, heights, colour in layers:
        marks.append(Steps(edges, below + heights, name, colour, is_filled=True, base=below))
        below = below + heights
    marks.append(Rule(edges[1:-1], colour="paper", style="solid"))
    top = min(activities[0].n_locations, 1.15 * float(below.max(initial=0.0))) or 1.0
    y = Axis("locations (mean)", limits=(0.0, top))
    return Plot("activity", marks, x, y, "activity by phase", 2.5, 1.0)


def _break_plot(model: PhaseModel, x: Axis, origin: float) -> Plot:
    """Return the breakpoints of each model; the darker, the more of the following models keep them."""
    rows = [
        (place - origin, entry.n_phases, kept / entry.following if entry.following else 0.0)
        for entry in model.sequence
        for place, kept in zip(entry.breaks, entry.kept or [0] * len(entry.breaks), strict=True)
    ]
    marks: list[Mark] = []
    above = math.inf
    for least, colour, label in _KEPT:
        chosen = [(place, count) for place, count, share in rows if least <= share < above]
        above = least
        if chosen:
            places, numbers = zip(*chosen, strict=True)
            marks.append(Points(places, numbers, label, colour))
    marks.append(Rule([len(model.phases)], "y", "chosen", "model", "solid"))
    starts = [phase.start for phase in model.phases[1:]]
    moved = any(entry.n_phases == len(model.phases) and list(entry.breaks) != starts for entry in model.sequence)
    counts = [entry.n_phases for entry in model.sequence]
    y = Axis("phases", limits=(min(counts) - 0.5, max(counts) + 0.5), ticks=_whole(counts))
    title = f"breakpoints by number of phases{' before they were refined' if moved else ''}"
    return Plot("breaks", marks, x, y, title, 3.0, 1.0)


def _error_plot(model: PhaseModel) -> Plot:
    """Return the error of each model over its number of phases."""
    from perf_views.marks import readable_unit

    counts = [entry.n_phases for entry in model.sequence]
    factor, unit = readable_unit(model.end - model.start, model.time_unit)  # that of the plots over time
    unit, title = f"height² · {unit}", "sum of squared errors"  # in processors only if the curve is of them
    if model.sequence[0].tolerance is not None:  # of L2 errors, which are roots of integrals
        factor, unit, title = factor**0.5, unit.replace("² · ", " · √"), "tolerance of local errors"
    bounds = [factor * entry.bound for entry in model.sequence]
    marks: list[Mark] = [Line(counts, bounds, colour="series:0", width=1.0), Points(counts, bounds, colour="series:0")]
    marks.append(Rule([len(model.phases)], label="chosen", colour="model", style="solid"))
    y = Axis("error", unit, limits=(0.0, 1.05 * max(bounds) or 1.0))
    x = Axis("phases", limits=(min(counts) - 0.5, max(counts) + 0.5), ticks=_whole(counts))
    return Plot("errors", marks, x, y, title, 2.3, 1.0)


def _whole(counts: Sequence[int]) -> list[int]:
    """Return at most about ten of the numbers, evenly chosen, as places of ticks."""
    return list(counts[:: -(-len(counts) // 10)])


def comparison_report(found: PhaseComparison, data: Any = None) -> Report:
    """Return how many times as long the second run takes, and both phase by phase."""
    first, second = found.totals
    ratio = Figure("ratio of durations", second.duration / first.duration, format=".3g", key="ratio")
    return Report(
        title=f"{found.names[1]} against {found.names[0]}, phase by phase",
        answer=f"{found.names[1]} takes {ratio.text} times as long as {found.names[0]}".replace(" 1 times as", " as"),
        figures=[ratio],
        tables=[_pairs(found)],
        draw=lambda: [_run_plot(found, which) for which in (0, 1)],
        notes=_comparison_notes(found),
    )


def _comparison_notes(found: PhaseComparison) -> list[Note]:
    if not found.alike:
        return [Note("Uncertain", f"runs not alike (cost {found.cost:.2f}, limit {found.limit}): totals only")]
    alone = [
        f"only in {name}: phase {_numbers(side)}"
        for pair in found.pairs
        for name, side, partner in zip(found.names, pair, pair[::-1], strict=True)
        if side is not None and partner is None
    ]
    note = "intervals cover breakpoints, not run-to-run variation (one run each)"
    by_shape = "by shape, in order (names of activities differ)"
    how = {True: "by activity and shape, in order", False: by_shape, None: "in order"}[found.by_name]
    assumed = [f"phases matched {how} (cost {found.cost:.2f}, limit {found.limit})", *alone]
    return [*(Note("Assumed", text) for text in assumed), Note("Uncertain", note)]


def _pairs(found: PhaseComparison) -> Table:
    unit, pairs = found.time_unit, [*(found.pairs if found.alike else ()), found.totals]
    headings = found.names if max(map(len, found.names)) <= _LONGEST_HEADING else ("old", "new")

    def of_each(name: str, value: Callable[[Side], Any], *keys: str, **how: Any) -> list[Column]:
        columns = []
        for run, which, sides in zip(headings, ("first", "second"), zip(*pairs, strict=True), strict=True):
            values = [None if side is None else value(side) for side in sides]
            columns.append(Column(f"{name} {run}", values, key=tuple(f"{key}_{which}" for key in keys), **how))
        return columns

    def of_both(name: str, value: Callable[[Side, Side], Any], key: Any, **how: Any) -> Column:
        return Column(name, [value(a, b) if a and b else None for a, b in pairs], key=key, **how)

    columns = of_each("phases", _numbers, "phases")
    for column in columns:
        column.value[-1] = "all"
    columns += [
        *of_each("duration", lambda side: side.duration, f"duration_{unit}", unit=unit, format="time"),
        of_both("ratio", lambda a, b: b.duration / a.duration, "ratio", format=".3g"),
        of_both("ratio 95% CI", _limits, ("lower", "upper"), format=".3g"),
        *of_each("processor time", lambda s: s.processor_time, f"processor_time_{unit}", unit=unit, format="time"),
        *of_each("level", lambda side: (side.level, *(side.level_within or (None, None))),
                 "level", "level_lower", "level_upper"),
        *of_each("activity", lambda side: side.activity and side.activity.name, "what_runs"),
    ]  # fmt: skip
    return Table(columns)


def _run_plot(found: PhaseComparison, which: int) -> Plot:
    """Return the phases of one run, in the colours of their partners, on an axis as long as the longer run's."""
    model = found.models[which]
    ns = NANOSECONDS[model.time_unit]
    longest = max((each.end - each.start) * NANOSECONDS[each.time_unit] for each in found.models)
    most = math.inf if model.n_locations is None else float(model.n_locations)
    marks: list[Mark] = []
    top = 0.0
    for number, pair in enumerate(found.pairs):
        side, partner = pair[which], pair[1 - which]
        colour = f"area:{number}" if found.alike and partner is not None else "muted"
        for k in side.phases if side is not None else ():
            phase = model.phases[k]
            times = np.linspace(phase.start, phase.end, 61)
            heights = np.clip(model.evaluate(phase, times), 0.0, most)  # no more compute than there are
            top = max(top, float(heights.max()))
            marks.append(Line((times - model.start) * ns, heights, colour=colour, width=1.6))
    edges = (np.array([*(phase.start for phase in model.phases), model.end]) - model.start) * ns
    marks += _numbered(edges, np.full(len(model.phases), 2.0 * _ROOM * edges[-1]))
    x, y = Axis("time", "ns", "time", (0.0, float(longest))), Axis("busy processors", limits=(0.0, 1.2 * top or 1.0))
    return Plot(("first", "second")[which], marks, x, y, found.names[which], 2.0, 1.0)


def _numbers(side: Side) -> str:
    first, last = side.phases[0] + 1, side.phases[-1] + 1
    return str(first) if first == last else f"{first}..{last}"


def _limits(first: Side, second: Side) -> tuple[float, float] | None:
    if first.duration_within is None or second.duration_within is None:
        return None
    low, high = first.duration_within, second.duration_within
    return high[0] / low[1], high[1] / low[0] if low[0] > 0.0 else math.inf


class PhaseViews(Viewable):
    """One view of a model; with its data also of models with other numbers of phases."""

    def __init__(self, model: PhaseModel, data: Any = None) -> None:
        self.title, self._model, self._curve = model.title, model, None
        if data is not None:
            chosen = {name: model.origin.options.get(name) for name in ("busy", "idle", "column")}
            options: PhasesOptions = build(PhasesOptions, {n: v for n, v in chosen.items() if v is not None}, "phases")
            # The error tree belongs to the curve with equal neighbours joined: kept here, every refit finds it.
            self._curve = as_curve(data, options).merged()
        self._fits: OrderedDict[tuple[str, str], PhaseModel] = OrderedDict()

    def view(self, path: ViewPath, query: Query) -> View:
        """Return the phases that the address asks for; see `Viewable.view`."""
        if path:
            raise NoViewError(path)
        model = self._chosen(query)
        blocks = model_blocks(model, self._curve)
        return View(model.title, blocks if self._curve is None else (*blocks, self._sliders(model)))

    def _chosen(self, query: Query) -> PhaseModel:
        options = self._model.origin.options
        usual = str(len(self._model.phases)), str(options["degree"])
        phases, degree = key = query.get(_PHASES) or usual[0], query.get(_DEGREE) or usual[1]
        if self._curve is None or key == usual:
            return self._model
        if not phases.isdecimal():
            raise OptionError(f"phases {phases!r}: a number is expected")
        if key not in self._fits:
            fitter, known = _fitter_of(self._model)
            kept = {name: value for name, value in options.items() if name in known and name not in _OF_DATA}
            fitted = perfcore.fit(self._curve, fitter=fitter, **{**kept, _PHASES: phases, _DEGREE: degree})
            self._fits[key] = fitted  # type: ignore[assignment]
            if len(self._fits) > _MOST_FITS:
                self._fits.popitem(last=False)
        return self._fits[key]

    def _sliders(self, model: PhaseModel) -> Form:
        most = str(max(_MOST_ON_SLIDER, len(model.phases)))
        count = str(len(model.phases))
        fields = [Field(_PHASES, "number of phases", count, "range", minimum="1", maximum=most, step="1")]
        if not model.functions:
            degree = str(model.origin.options["degree"])
            fields.append(Field(_DEGREE, "degree", degree, "choice", DEGREES[_fitter_of(model)[0]]))
        return Form(tuple(fields), (), "Fit")


def _fitter_of(model: PhaseModel) -> tuple[str, Collection[str]]:
    """Return a model's fitter and its options with those of the selected part; files of 0.1 name another one."""
    name = "phases" if "segmenter" in model.origin.options else model.origin.fitter
    groups = option_fields(registry().entry("fitters", name), model.origin.options)
    return name, {field.name for fields in groups.values() for field in fields}
