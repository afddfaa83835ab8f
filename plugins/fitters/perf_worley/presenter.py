"""How phases are shown: what was fitted and how well, the phases, and how the fit depends on their number."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from perf_views.colours import AREAS, RULE
from perf_views.names import existing_file
from perf_worley.comparison import ALIKE, PhaseComparison, Side
from perf_worley.iterations.iterations import period_text
from perf_worley.phase_model import WORTH, Evidence, PhaseModel
from perfcore.base.errors import listing
from perfcore.data.units import NANOSECONDS, moment_text, readable, shown_origin
from perfcore.results import Column, Panel, Panels, Presenter, Table, Tables

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from perf_worley.phase_model import Phase, PhaseModel, SequenceEntry
    from perf_worley.views import PhaseViews


_FORMS = ("constant", "linear", "quadratic", "cubic")
_NORMAL = 1.959964  # 95 % of a normal distribution
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(8)  # for means of functions that are no polynomials


def _phase_tables(model: PhaseModel) -> Tables:
    """Where each phase lies, what it looks like, how far the curve is from it: in short, and all."""
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
        Column(
            "mean" if model.n_locations is None else "busy",
            means,
            key=("mean", "mean_lower", "mean_upper"),
            format=".3g",
        ),
        Column("at start", heights[:, 1], format=".3g"),
        Column("at end", heights[:, 2], format=".3g"),
        Column("L2 error", [phase.error for phase in phases], format=".6g"),
        Column("stability", list(map(kept, phases)), key=()),
        Column("iterations", [repeated and (period_text(phase, repeated, unit) or None) for phase in phases], key=()),
        Column("activity", [None if p.activity is None else p.activity.name for p in phases], key="what_runs"),
    ]
    title = f"times are relative to {moment_text(origin, unit)}" if origin else ""
    hidden = ("form", "L2 error", "stability", "iterations", "activity")
    brief = [column for column in columns if column.name not in hidden]
    categories = _category_table(model)
    brief += categories.columns[1:4] if categories is not None else []
    return [Table(brief, title=title, importance="brief"), Table(columns, title=title, importance="verbose")]


def _category_table(model: PhaseModel) -> Table | None:
    """Share of each phase's processor time in each class of states."""
    activities = [phase.activity for phase in model.phases if phase.activity is not None]
    times: dict[str, int] = {}
    for activity in activities:
        for category, time in activity.categories_ns.items():
            times[category] = times.get(category, 0) + time
    if times.keys() <= {"computing", "idle", "no state"}:
        return None
    names = sorted(times, key=lambda category: (category != "computing", category == "no state", -times[category]))
    shares = {name: [each.categories_ns.get(name, 0) / each.processor_ns for each in activities] for name in names}
    columns = [Column(name, values, format=".1%") for name, values in shares.items()]
    title = "Time breakdown by phase"
    return Table([Column("phase", range(1, len(activities) + 1)), *columns], title=title, importance="verbose")


def _sequence_table(sequence: Sequence[SequenceEntry], title: str) -> Table:
    """One model a row, as in Worley's Figures 6, 7 and 18."""
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
    """Mean of a phase's function, and its values at the start and at the end."""
    inner = model.evaluate(phase, phase.start + 0.5 * (phase.end - phase.start) * (_NODES + 1.0))
    at_start, at_end = model.evaluate(phase, np.array([phase.start, phase.end])).tolist()
    return float(inner @ _WEIGHTS) / 2.0, at_start, at_end


class PhasePresenter(Presenter):
    """Text, tables, picture and page of a `PhaseModel`."""

    def title(self, result: PhaseModel) -> str:
        count = len(result.phases)
        return f"{count} phase{'s' if count > 1 else ''} in {Path(result.origin.source).name}"

    def answer(self, result: PhaseModel) -> str:
        length = result.end - result.start
        areas = [_heights(result, phase)[0] * (phase.end - phase.start) for phase in result.phases]
        busy = sum(areas) / length if length else 0.0
        count = result.n_locations
        of_all = f" of {count} processor{'s' * (count > 1)} ({busy / count:.0%}) busy" if count else ""
        fit, how_long = result.statistics["r2_centered"], readable(length, result.time_unit, digits=3)
        line = f"{self.title(result)} ({how_long}); mean {busy:.3g}{of_all}"
        return line if fit is None else f"{line}, R^2 {fit:.2f}"

    def summary(self, result: PhaseModel) -> list[str]:
        figures = result.statistics
        lines = [
            self.answer(result),
            f"{result.n_steps:,} steps; {_breakpoints(result)}",
            f"largest L2 error of a phase (epsilon): {result.epsilon:.6g}",
            f"SSE {result.sum_of_squares:.6g}",
        ]
        for name, label in (("r2_uncentered", "uncentered"), ("r2_centered", "centered")):
            value = figures[name]
            if value is not None:
                lines[-1] += f", R^2 {label} {value:.5f}"
        if result.iterations is not None:
            lines.append(f"iterations: {result.iterations.text}")
        search = ", ".join(f"{name} {value:.6g}" for name, value in result.cost.items())
        return [*lines, f"search: {search}"] if search else lines

    def caveats(self, result: PhaseModel) -> dict[str, Sequence[str]]:
        return {"Assumed": _number_lines(result)}

    def next_command(self, result: PhaseModel) -> str:
        file, count = existing_file(result.origin.source), len(result.phases)
        if not file or all(phase.activity is None for phase in result.phases):
            return ""
        if result.iterations is not None:
            return f"perf iterations {file}"
        return f"perf overheads {file}" + f" --phases {count}" * (count > 1)

    def tables(self, result: PhaseModel) -> Tables:
        tables = [*_phase_tables(result), _category_table(result)]
        if result.sequence:
            title = "Model selection: number of phases" + " (before refinement)" * bool(result.evidence)
            tables.append(_sequence_table(result.sequence, title))
        return [table for table in tables if table is not None]

    def panels(self, result: PhaseModel, data: Any = None) -> Panels:
        from perf_worley.picture import phase_panels

        return phase_panels(result, data)

    def views(self, result: PhaseModel, data: Any = None, file: Path | None = None) -> PhaseViews:
        from perf_worley.views import PhaseViews

        return PhaseViews(result, data)


def _breakpoints(result: PhaseModel) -> str:
    """The segmentation algorithm and its objective."""
    options = result.origin.options
    if markers := options.get("phases_from"):
        return f"breakpoints: markers {listing(markers, 6)}"
    refined = ", refined" if options["refine"] and not result.functions else ""
    search = options.get("segmenter") or f"Algorithm {'M' if options['tolerance'] is None else 'K'}"
    return f"breakpoints minimize {result.objective} ({search}{refined})"


def _number_lines(result: PhaseModel) -> list[str]:
    """How the number of phases was chosen."""
    count, requested = len(result.phases), result.origin.options["phases"]
    if result.rule is not None:
        first, last = result.sequence[0].n_phases, result.sequence[-1].n_phases
        line = f"number of phases by rule {result.rule!r} from {first}..{last}"
        if result.evidence is not None:
            line += f": {_evidence(result.evidence)}"
            if result.evidence.period:
                line += f", of means over the period of {readable(result.evidence.period, result.time_unit)}"
        elif result.rule == "knee" and count == first:
            line += f": more explain less than {WORTH:.0%} of the rest"
        lines = [f"{line} (--phases N)"]
        if result.evidence is not None and count == last > 1 and last < result.n_steps:
            lines.append(
                f"warning: {last} is the largest number tried; extend with --phases 1..{min(2 * last, result.n_steps)}"
            )
        return lines
    if (tolerance := result.origin.options.get("tolerance")) is not None:
        return [f"fewest phases for the tolerance {tolerance:g}"]
    if (
        requested == str(count)
        or result.origin.options.get("phases_from")
        or (requested == "auto" and result.n_steps == 1)
    ):
        return []
    reason = f"the curve has only {count} steps" if result.epsilon == 0.0 else f"{count} reach the smallest tolerance"
    return [f"{requested} phases requested, but {reason}"]


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


_LONGEST_HEADING = 8  # letters of a run's name; the first line has the whole


class PhaseComparisonPresenter(Presenter):
    """Text, table and picture of a `PhaseComparison`."""

    def title(self, result: PhaseComparison) -> str:
        return f"{result.names[1]} against {result.names[0]}, phase by phase"

    def answer(self, result: PhaseComparison) -> str:
        first, second = result.totals
        return f"{result.names[1]} takes {second.duration / first.duration:.3g} times as long as {result.names[0]}"

    def caveats(self, result: PhaseComparison) -> dict[str, Sequence[str]]:
        if not result.alike:
            return {"Uncertain": [f"runs not alike (cost {result.cost:.2f}, limit {ALIKE}): totals only"]}
        alone = [
            f"only in {name}: phase {_numbers(side)}"
            for pair in result.pairs
            for name, side, partner in zip(result.names, pair, pair[::-1], strict=True)
            if side is not None and partner is None
        ]
        note = "intervals cover breakpoints, not run-to-run variation (one run each)"
        by_shape = "by shape, in order (names of activities differ)"
        how = {True: "by activity and shape, in order", False: by_shape, None: "in order"}[result.by_name]
        return {
            "Assumed": [f"phases matched {how} (cost {result.cost:.2f}, limit {ALIKE})", *alone],
            "Uncertain": [note],
        }

    def tables(self, result: PhaseComparison) -> Tables:
        unit, pairs = result.time_unit, [*(result.pairs if result.alike else ()), result.totals]
        headings = result.names if max(map(len, result.names)) <= _LONGEST_HEADING else ("old", "new")

        def of_each(name: str, value: Callable[[Side], Any], *keys: str, **how: Any) -> list[Column]:
            return [
                Column(
                    f"{name} {run}",
                    [None if side is None else value(side) for side in sides],
                    key=tuple(f"{key}_{which}" for key in keys),
                    **how,
                )
                for run, which, sides in zip(headings, ("first", "second"), zip(*pairs, strict=True), strict=True)
            ]

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
            *of_each(
                "level",
                lambda side: (side.level, *(side.level_within or (None, None))),
                "level",
                "level_lower",
                "level_upper",
            ),
            *of_each("activity", lambda side: side.activity and side.activity.name, "what_runs"),
        ]
        return [Table(columns)]

    def panels(self, result: PhaseComparison, data: Any = None) -> Panels:
        names = ("first", "second")
        return {name: Panel(partial(_draw_one, result, k), height=2.0, width=1.0) for k, name in enumerate(names)}


def _draw_one(result: PhaseComparison, which: int, axes: Axes) -> None:
    from perf_views.data_pictures import readable_unit
    from perf_worley.picture import number_phases

    longest = max((model.end - model.start) * NANOSECONDS[model.time_unit] for model in result.models)
    per_ns, unit = readable_unit(longest, "ns")
    model = result.models[which]
    factor = NANOSECONDS[model.time_unit] * per_ns
    for number, pair in enumerate(result.pairs):
        side, partner = pair[which], pair[1 - which]
        color = AREAS[number % len(AREAS)] if result.alike and partner is not None else RULE
        for k in side.phases if side is not None else ():
            phase = model.phases[k]
            times = np.linspace(phase.start, phase.end, 61)
            most = math.inf if model.n_locations is None else float(model.n_locations)
            heights = np.clip(model.evaluate(phase, times), 0.0, most)  # no more compute than there are
            axes.plot((times - model.start) * factor, heights, color=color, linewidth=1.6)
    edges = np.array([*(phase.start for phase in model.phases), model.end])
    number_phases(axes, (edges - model.start) * factor)
    axes.set(xlim=(0.0, longest * per_ns), ylim=(0.0, 1.15 * axes.get_ylim()[1]), ylabel="busy processors")
    axes.set_xlabel(f"time [{unit}]")
    axes.set_title(result.names[which], fontsize=9, loc="left", parse_math=False)


def _numbers(side: Side) -> str:
    first, last = side.phases[0] + 1, side.phases[-1] + 1
    return str(first) if first == last else f"{first}..{last}"


def _limits(first: Side, second: Side) -> tuple[float, float] | None:
    if first.duration_within is None or second.duration_within is None:
        return None
    low, high = first.duration_within, second.duration_within
    return high[0] / low[1], high[1] / low[0] if low[0] > 0.0 else math.inf
