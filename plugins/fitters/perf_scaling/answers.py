"""What a scaling model answers: sentences, tables and plots of its numbers."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from perf_scaling.data import UNLIKE, describe_paths
from perf_scaling.growth import (
    CLASSES,
    COVERAGE,
    DEVIATES,
    LIKELY,
    MISSED,
    SURE,
    UNDETERMINED,
    advice,
    next_point,
    outcomes,
    percent,
)
from perfcore.base.arrays import Floats
from perfcore.base.errors import listing
from perfcore.data.units import is_rate
from perfcore.report import (
    Axis,
    Band,
    Figure,
    Line,
    Mark,
    Note,
    Plot,
    Points,
    Report,
    Rule,
    interval_text,
    number_format,
    number_text,
)
from perfcore.tables import Column, Importance, Table, level_text, point_text

if TYPE_CHECKING:
    from perf_scaling.model import Level, PathRow, ScalingModel, Speedup

RUN = "95% interval of a single run"
WHY = "real codes level off or degrade beyond the last level, see docs/explanation/scaling.md"
_MOST_PATHS, _MOST_ADVICE, _MOST_NAMED = 40, 10, 3
_HARDLY_LESS = 0.9  # of the variance
_TWO_LEVELS, _FEW_LEVELS = 3, 4  # fewer than these
_HUNDREDFOLD = math.log(100.0)
_MOST_PLOTS, _PLACES = 6, 49  # curves that are drawn, and places of each
_LONGEST = 46  # letters over one of several plots
_APART = 0.05  # logarithm of the formula's value over the prediction, from which on they are told apart
_MOST_BEYOND = 5.0  # times the largest of means and median: bounds that go farther are cut, with the axis


def report_of(model: ScalingModel) -> Report:
    """Return the prediction at the target, measured and predicted levels or the paths, and what it depends on."""
    what = model.paths[0] if len(model.paths) == 1 else f"{len(model.paths):,} paths"
    return Report(
        title=f"Scaling of {what} in {Path(model.origin.source).name}",
        answer=_answer(model),
        figures=_figures(model),
        tables=_tables(model),
        draw=lambda: _plots(model),
        notes=_notes(model),
        next=_next_measurement(model),
        details=_details(model),
        formula=model.formula,
    )


def _amount(value: float, unit: str | None) -> str:
    return f"{number_text(value)} {unit or ''}".rstrip()


def _target_text(model: ScalingModel) -> str:
    ratio = max(model.target[symbol] / max(model.points[symbol]) for symbol in model.symbols)
    low = max(min(model.points[symbol]) / model.target[symbol] for symbol in model.symbols)
    is_measured = bool((model.measured == model.target_point).all(axis=1).any())
    far = f" ({number_text(low)}x below the data)" if low > 1.0 else ""
    far = f" ({number_text(ratio)}x beyond the data)" if ratio > 1.0 else far
    return model.target_text + (" (measured)" if is_measured else far)


def _is_undetermined(model: ScalingModel) -> str:
    """Return why nothing is determined at the target; empty if it is."""
    row = model.rows[0]
    if len(model.paths) > 1:
        return ""
    count = int(np.isfinite(model.means[0]).sum())
    if count < _TWO_LEVELS and len(model.symbols) == 1:
        return f"{count} levels do not determine a model"
    return "the 95% interval" if row.high > UNDETERMINED * row.low else ""


def _estimate(model: ScalingModel) -> tuple[float, float, float]:
    """Return value and interval at the target: of the path, of all that add up, or of the largest."""
    row = model.rows[0]
    if len(model.paths) == 1 or not model.adds_up:
        return row.predicted, row.low, row.high
    last = next((row for row in model.levels_along if row.level == model.target[model.symbols[0]]), None)
    if last is not None and last.predicted is not None:
        return last.predicted
    return tuple(model.totals(model.target_point[None])[0, :3].tolist())


def _answer(model: ScalingModel) -> str:
    row, unit = model.rows[0], model.unit
    value, *ends = _estimate(model)
    if reason := _is_undetermined(model):
        spans = f"{_amount(ends[0], '')} to {_amount(ends[1], unit)}"
        why = f"{reason} ({spans})" if "levels" in reason else spans
        return f"Not determined at {_target_text(model)}: {why}; {_decision(model)}"
    amounts = f"{_amount(value, unit)}{{}}, 95% interval {interval_text(ends, number_format(value))}"
    if len(model.paths) == 1:
        figure, gain = _efficiency(model), ""
        if figure is not None and figure.interval is not None:
            ends_text = interval_text(figure.interval, ".0%")
            gain = f"; {figure.name} {figure.value:.0%}"
            gain += f" ({ends_text})" if figure.interval[0] < figure.interval[1] else ""
        return f"At {_target_text(model)}: {amounts.format('')}{gain}"
    if not model.adds_up:
        named = row.path if re.search(r"[^\W\d]", row.path) else f"series {row.path}:"  # version 1, not 1 s
        return f"At {_target_text(model)}: {named} {amounts.format('')}; {len(model.paths):,} series"
    how = "does not grow" if row.model.is_constant else f"scales like {row.model.growth}"
    return f"At {_target_text(model)}: {amounts.format(' in total')}; {row.path} takes {row.share:.0%} and {how}"


def _efficiency(model: ScalingModel) -> Figure | None:
    curve = model.speedup
    last = next((row for row in curve.levels if row.level == model.target[curve.symbol]), None) if curve else None
    if curve is None or last is None or last.efficiency is None:
        return None
    name = "weak-scaling efficiency" if curve.scaling == "weak" else "efficiency"
    return Figure(name, last.efficiency[0], "", last.efficiency[1:], RUN, ".0%", "efficiency")


def _figures(model: ScalingModel) -> list[Figure]:
    value, *ends = _estimate(model)
    efficiency = _efficiency(model)
    name = "predicted" if len(model.paths) == 1 else "total" if model.adds_up else model.rows[0].path
    figures = [Figure(name, value, model.unit or "", (ends[0], ends[1]), RUN, number_format(value), "predicted")]
    return [*figures, *([] if efficiency is None else [efficiency])]


def _notes(model: ScalingModel) -> list[Note]:
    """Return the model of the measured range, and what could make the answer wrong, most important first."""
    missing = "left out, "
    curve, parameter = model.speedup, next(iter(model.parameter_names.values()))
    notes = [Note(label, text) for label, text in _model_lines(model)]
    if curve is not None and not curve.is_told:
        why = "since the time falls" if curve.scaling == "strong" else "since the time stays flat"
        other = "weak" if curve.scaling == "strong" else "strong"
        notes.append(Note("Assumed", f"{curve.scaling} scaling, {why} (--scaling {other} otherwise)"))
    if curve is not None and not model.scaling and is_rate(model.unit):
        told, other, whose = "strong", "weak", "a rate of all processors"
        if curve.scaling == "rate of each":
            told, other, whose = "weak", "strong", "a rate of each processor"
        why = f"since {model.value_name} is {whose}"
        notes.append(Note("Assumed", f"{told} scaling, {why} (--scaling {other} otherwise)"))
    notes += [Note("Uncertain", note) for note in model.notes if note.startswith(UNLIKE)]
    notes += [Note("Assumed", note) for note in model.notes if not note.startswith((missing, UNLIKE))]
    exact = [path for path, is_exact in zip(model.paths, model.posterior.is_exact.tolist(), strict=True) if is_exact]
    if exact and max(row.reach_of_target for row in model.rows) > 1.0:
        whose = "" if len(model.paths) == 1 else f" of {listing(exact, _MOST_NAMED)}"
        notes.append(Note("Assumed", f"values{whose} are computed, not timed, since a formula gives them to 0.01%: "
                          "no change of behaviour beyond the data"))  # fmt: skip
    notes += [Note("Uncertain", text) for text in _uncertain(model)]
    if model.check is not None:
        notes.append(Note("Check" if model.check.inside >= 0.5 else "Uncertain", _check_text(model)))
    if not any(count > 1.0 for entry in model.data for count in entry.counts):
        notes.append(Note("Uncertain", "no repeated runs, so run-to-run noise is not known"))
    if model.scaling_kind == "" and model._is_time and not model.scaling and model._counts_processors:
        if model.whole.several:
            text = "no speedup of all paths: values of several metrics, programs or systems do not add up (--where)"
        else:
            text = f"no speedup: set --scaling weak or strong (does the problem grow with {parameter}?)"
        notes.append(Note("Not recorded", text))
    notes += [Note("Left out", note.removeprefix(missing)) for note in model.notes if note.startswith(missing)]
    return [*notes, *(Note("Not fitted", line) for line in describe_paths(model.unfitted))]


def _model_lines(model: ScalingModel) -> list[tuple[str, str]]:
    """Return the model of one series in its measured range, and why the prediction differs from it beyond."""
    if len(model.paths) > 1 or "levels" in _is_undetermined(model):
        return []
    row = model.rows[0]
    spans = [f"{name}={level_text(min(v))}..{level_text(max(v))}" for name, v in
             zip(model.parameter_names.values(), model.points.values(), strict=True)]  # fmt: skip
    text = f"{row.model.text(3)}, error {row.model.fit_error:.1%}"
    if abs(row.missed) > max(MISSED, row.model.fit_error * math.sqrt(len(model.measured))):  # an exception, not fitted
        text += f" but for {model.point_text(row.missed_at)}"
    is_apart = abs(math.log(row.continued / row.predicted)) > _APART
    if row.reach_of_target > 1.0 and is_apart and not row.likely[0] <= row.continued <= row.likely[1]:
        text += f"; continued it gives {_amount(row.continued, model.unit)}, but {WHY}"
    return [(f"Model ({', '.join(spans)})", text)]


def _uncertain(model: ScalingModel) -> list[str]:
    """Return what could make the answer wrong."""
    texts, one = [], len(model.paths) == 1
    parameter = next(iter(model.parameter_names.values()))

    def named(rows: Sequence[PathRow], text: Callable[[PathRow], str]) -> str:
        return listing((text(row) if one else f"{row.path} ({text(row)})" for row in rows), _MOST_NAMED)

    if turning := [row for row in model.rows if row.turn]:
        levels = named(
            turning,
            lambda row: f"{parameter}={level_text(row.reach[parameter])} by {percent(abs(math.expm1(row.turn)))}",
        )
        texts.append(f"the last two levels lie on one side of the model: another behaviour may begin there ({levels}); "
                     "the interval allows for it")  # fmt: skip
    changed = [row for row in model.rows if row.changes_at is not None]
    if changed:
        levels = named(changed, lambda row: f"{parameter}={level_text(row.changes_at or 0.0)}")
        texts.append(f"behaviour changes near the largest level (after {levels}); measure beyond it")
    missed = [row for row in model.rows if abs(row.missed) > MISSED]
    if missed:
        levels = named(missed, lambda row: f"{model.point_text(row.missed_at)} by {percent(abs(row.missed))}")
        texts.append(f"the model misses {levels}; measure there again")
    deviating = [row for row in model.rows if row.deviates >= DEVIATES]
    if deviating and not one:
        texts.append(
            f"the last value may be an exception: {listing((row.path for row in deviating), _MOST_NAMED)}; repeat it"
        )
    elif deviating and not missed:
        texts.append(f"the value at {model.point_text(deviating[0].reach)} is an exception or a change; repeat it")
    if one and len(model.measured) == _FEW_LEVELS - 1 and len(model.symbols) == 1:
        texts.append("with 3 levels this is a line through them, not a selection among models")
    if max(row.reach_of_target for row in model.rows) > 100.0:
        texts.append("the target is more than 100x beyond the data: no measured program was checked so far out")
    return texts


def _check_text(model: ScalingModel) -> str:
    check = model.check
    assert check is not None
    error = f"{percent(check.median_error)} off"
    if check.paths == 1:
        where = "inside" if check.inside == 1.0 else "outside"
        last = model.rows[0].reach
        name = next(iter(last))
        return f"{name}={level_text(last[name])} predicted from the others, {error}, {where} the 95% interval"
    return (
        f"the largest level predicted from the others: median {error}, {check.inside:.0%} of "
        f"{check.paths:,} paths inside the 95% interval"
    )


def _details(model: ScalingModel) -> list[str]:
    """Return further lines: what was measured, and how many paths grow how."""
    unit = f" [{model.unit}]" if model.unit else ""
    counts = [count for path_data in model.data for count in path_data.counts if count > 0.0]
    low, high = math.ceil(min(counts)), math.ceil(max(counts))
    runs = f"{low} run{'s' if low > 1 else ''} each" if low == high else f"{low} to {high} runs each"
    over = []
    for symbol, levels in model.points.items():
        column, name = model.columns[symbol], model.parameter_names[symbol]
        called = column if name == column else f"{name}={column}"
        over.append(f"{called} ({level_text(min(levels))} to {level_text(max(levels))})")
    lines = [f"{len(model.measured)} points of {model.value_name}{unit} over {', '.join(over)}, {runs}"]
    for place, name in enumerate(model.parameter_names.values()):
        growths = [row.growths[place] for row in model.rows]
        sure = Counter(growth.name for growth in growths if growth.probability >= SURE)
        parts = [f"{sure[kind]:,} {kind}" for kind in CLASSES if sure[kind]]
        unsure = Counter(growth.statement for growth in growths if growth.probability < SURE)
        parts += [f"{count:,} {statement}" for statement, count in unsure.most_common()]
        lines.append(f"growth over {name}: {', '.join(parts)}")
    if high > 1:
        of = " (median of the paths)" if len(model.paths) > 1 else ""
        lines.append(f"run-to-run noise: {percent(float(np.median(np.sqrt(model.posterior.spread))))}{of}")
    lines.append("intervals: of the mean where measured, of a single run where predicted")
    return lines


def _narrowed(model: ScalingModel) -> tuple[dict[str, float], float, float] | None:
    """Return the next measurement, and half of the 95% interval at the target as a logarithm: now, and after it."""
    rows = [row for row in model.rows[:_MOST_PATHS] if row.low > 0.0]
    share = np.array([row.share for row in rows])
    if not share.sum() > 0.0:
        return None
    point = next_point(model)
    points = np.array([[point[symbol] for symbol in model.symbols]])
    drawn = outcomes(model, points, [model.paths.index(row.path) for row in rows])
    before, after = drawn.variance, float(drawn.variances_with_one()[0])
    now = float(share @ [0.5 * math.log(row.high / row.low) for row in rows] / share.sum())
    if after >= _HARDLY_LESS * before and point != model.target:
        return model.target, now, math.nan
    return point, now, now * math.sqrt(after / before)


def _next_measurement(model: ScalingModel) -> str:
    """Return which measurement narrows the interval of the largest paths most, and how much."""
    found = _narrowed(model)
    if found is None:
        return ""
    point, now, then = found
    target = model.target_text
    if math.isnan(then):
        return f"measure {target} itself: nothing before it narrows the interval there, {_factor_text(now)}"
    itself = " itself" if point == model.target else ""
    return (
        f"measure {model.point_text(point)}{itself}: narrows the 95% interval at {target} "
        f"from {_factor_text(now)} to about {_factor_text(then)}"
    )


def _decision(model: ScalingModel) -> str:
    """Return the measurement that would decide, in a clause."""
    found = _narrowed(model)
    if found is None:
        return "measure more levels"
    point, _, then = found
    if math.isnan(then):
        return f"measure {model.point_text(point)} itself"
    return f"measuring {model.point_text(point)} would narrow it to {_factor_text(then)}"


def _factor_text(side: float) -> str:
    """Return half of an interval of a logarithm as a person writes it."""
    return (
        f"±{percent(math.expm1(side))}"
        if side < math.log(2.0)
        else f"a factor of {math.exp(side):.{2 if side < _HUNDREDFOLD else 3}g}"
    )


def _tables(model: ScalingModel) -> list[Table]:
    """Return levels of one series, or paths by their share at the target; candidates; what is not identifiable."""
    rows, one = model.rows, len(model.paths) == 1
    shares = f"; {model.whole.shares_text}" if model.has_parts else ""
    columns, curve = _path_columns(model), model.speedup
    by_path = Table(columns, rows, f"At {_target_text(model)}{shares}", "verbose" if one else "default", _MOST_PATHS)
    tables, data = [by_path], [Table(columns, rows, importance="data")]
    levels = curve.levels if curve is not None else model.levels_along
    if levels and (one or curve is not None):
        of = "" if one else "All paths together"
        tables.insert(0 if one else 1, _level_table(model, levels, curve, of))
        data.insert(0 if one else 1, Table(_level_columns(model, curve), levels, importance="data"))
    tables += data
    if chosen := [row.path for row in rows[:_MOST_PATHS] if not row.determined][:_MOST_ADVICE]:
        entries = advice(model, [model.paths.index(path) for path in chosen])
        unsure = sum(not row.determined for row in rows)
        more = f"; the first {len(chosen)} of {unsure:,}" if len(chosen) < unsure else ""
        tables.append(Table(_advice_columns(model), entries, f"Not identifiable from these data{more}", "verbose"))
    shown = model.origin.options.get("show")
    if shown in model.paths:
        part = model.part(model.paths.index(str(shown)))
        tables.append(_candidate_table(part, "default"))
        if not one and part.levels_along:
            tables.append(_level_table(part, part.speedup.levels if part.speedup else part.levels_along, part.speedup,
                                       str(shown)))  # fmt: skip
    elif one:
        tables.append(_candidate_table(model, "verbose"))
    return tables


def _level_columns(model: ScalingModel, curve: Speedup | None) -> list[Column]:
    parameter, unit = next(iter(model.parameter_names.values())), model.unit or ""
    repeated = any(count > 1.0 for entry in model.data for count in entry.counts)

    def measured(row: Level) -> Any:
        return row.measured if repeated or row.measured is None else (row.measured[0], None, None)

    columns = [
        Column(parameter, "level", format="g", key=parameter),
        Column("measured", measured, unit, number_text, ("measured", "measured_low", "measured_high")),
        Column("predicted", lambda row: row.predicted or (None,) * 3, unit, number_text,
               ("predicted", "predicted_low", "predicted_high")),
        Column("50% interval", lambda row: row.likely or (None, None), unit, number_text,
               ("likely_lower", "likely_upper"), "verbose"),
    ]  # fmt: skip
    if curve is None:
        return columns
    base = f"{parameter}={level_text(curve.base)}"
    formats: tuple[tuple[str, Any, str], ...] = (
        ("speedup", number_text, "speedup"), ("efficiency", ".0%", "efficiency"), ("cost", ".2f", f"cost of {base}"),
    )  # fmt: skip
    for name, form, heading in formats:
        columns += [
            Column(heading, lambda row, name=name: float(getattr(row, name)[0]), format=form, key=name),
            Column(f"{name} interval", lambda row, name=name: getattr(row, name)[1:] if row.predicted else (None, None),
                   "", form, (f"{name}_low", f"{name}_high"), "verbose"),
        ]  # fmt: skip
    return columns


def _level_table(model: ScalingModel, levels: Sequence[Level], curve: Speedup | None, of: str) -> Table:
    parameter, *others = model.parameter_names.values()
    held = dict(zip(others, model.target_point[1:].tolist(), strict=True))
    at = f"at {point_text(held)}" if held else ""
    parts = [of, at]
    if curve is not None:
        kind = f"{curve.scaling} scaling " if not curve.scaling.startswith("rate") else ""
        half = f"efficiency below 50% from {parameter}={curve.half:.3g}" if curve.half is not None else ""
        parts = [of, f"{kind}from {parameter}={level_text(curve.base)}{f' {at}' if at else ''}", half]
    title = "; ".join(filter(None, parts))
    return Table(
        _level_columns(model, curve), levels, title[:1].upper() + title[1:], limit=_MOST_PATHS, shows_last=True
    )


def _candidate_table(model: ScalingModel, importance: Importance) -> Table:
    unit = model.unit or ""
    columns = [
        Column("probability", "probability", format=".1%"),
        Column("model", lambda row: row.candidate.text(3)),
        Column("predicted", "predicted", unit, number_text),
        Column("95% interval", lambda row: (row.low, row.high), unit, number_text, ("low", "high")),
        Column("continued", "continued", unit, number_text),
        Column("fit error", lambda row: row.candidate.fit_error, format=".1%"),
    ]
    title = (
        f"Candidates{'' if len(model.paths) > 1 else f' of {model.paths[0]}'} at {_target_text(model)}; "
        "each with its drift, they mix to the prediction"
    )
    return Table(columns, model.candidate_rows(), title, importance)


def _path_columns(model: ScalingModel) -> list[Column]:
    unit, parts = model.unit or "", len(model.paths) > 1
    shown: Importance = "verbose" if parts else "default"
    columns = [
        Column("call path" if model.has_parts else "series", "path", key="path"),
        Column("share", "share", format=".1%", importance="default" if parts and model.has_parts else "data"),
        Column("predicted", "predicted", unit, number_text, key="predicted"),
        Column("50% interval", "likely", unit, number_text, ("likely_lower", "likely_upper"), "verbose"),
        Column("95% interval", lambda row: (row.low, row.high), unit, number_text, key=("low", "high")),
        Column("scales like", lambda row: row.model.growth, key="scales_like",
               importance="default" if parts else "data"),
        Column("model in measured range", lambda row: row.model.formula, key="model", importance=shown),
        Column("continued", "continued", unit, number_text, "continued", "verbose"),
        Column("fit error", lambda row: row.model.fit_error, format=".1%", key="fit_error", importance="verbose"),
    ]  # fmt: skip
    names = tuple(model.parameter_names.values())
    for place, parameter in enumerate(names):
        over, of = (f" in {parameter}", f"_{parameter}") if len(names) > 1 else ("", "")

        def fact(name: str, place: int = place) -> Callable[[PathRow], Any]:
            return lambda row: getattr(row.growths[place], name)

        columns += [
            Column(f"growth{over}", fact("statement"), key=f"growth_statement{of}", importance="verbose"),
            Column("growth", fact("name"), key=f"growth{of}", importance="data"),
            Column("probability", fact("probability"), "", ".0%", f"growth_probability{of}", "verbose"),
            Column("exponent at target", lambda row, place=place: row.growths[place][2:5], "", ".2g",
                   tuple(f"exponent{end}{of}" for end in ("", "_low", "_high")), "verbose"),
        ]  # fmt: skip
    top = {model.parameter_names[symbol]: max(levels) for symbol, levels in model.points.items()}
    return [*columns, Column("note", lambda row: _path_note(row, top), importance="verbose")]


def _path_note(row: PathRow, top: Mapping[str, float]) -> str:
    """Return remarks on a path; `top` are the largest levels that any path was measured at."""
    notes = [f"model misses a level by {percent(abs(row.missed))}"] if abs(row.missed) > MISSED else []
    notes += [] if row.determined else ["inconclusive"]
    if row.deviates >= DEVIATES:
        notes.append(f"possible change point at largest level ({row.deviates:.0%})")
    notes += [f"measured to {name}={level_text(level)}" for name, level in row.reach.items() if level < top[name]]
    return ", ".join(notes)


def _advice_columns(model: ScalingModel) -> list[Column]:
    return [
        Column("path", "path"),
        Column("candidates", lambda entry: " or ".join(entry.rivals)),
        Column("difference here", "here", format=percent),
        Column("next measurement", lambda entry: None if entry.point is None else model.point_text(entry.point)),
        Column("difference there", "there", format=percent),
    ]


class _Measured(NamedTuple):
    """What was measured of a path over one parameter, the others held."""

    over: Floats
    mean: Floats
    error: Floats  # standard errors of the means, relative
    held: dict[str, float]


def _plots(model: ScalingModel) -> list[Plot]:
    """Return the curves of the largest paths over the first parameter, of a single path over each parameter."""
    chosen = [model.paths.index(row.path) for row in model.rows[:_MOST_PLOTS]]
    symbols = model.symbols if len(chosen) == 1 else model.symbols[:1]
    plots = [_curve_plot(model, path, symbol) for path in chosen for symbol in symbols]
    names = [f"curves-{number}" if number > 1 else "curves" for number in range(1, len(plots) + 1)]
    if len(plots) > 1:
        return [replace(plot, name=name) for name, plot in zip(names, plots, strict=True)]
    others = [_efficiency_plot(model.speedup, next(iter(model.columns.values())))] if model.speedup is not None else []
    return [replace(plots[0], height=5.6, width=1.0), *others, _residual_plot(model)]


def _efficiency_plot(curve: Speedup, parameter: str) -> Plot:
    """Return measured and predicted efficiency over the processors, with their intervals."""
    marks: list[Mark] = []
    for is_measured, label, colour in ((True, "measured", "data"), (False, "predicted", "accent")):
        chosen = [row for row in curve.levels if (row.predicted is None) == is_measured and row.efficiency is not None]
        values, low, high = np.array([row.efficiency for row in chosen], dtype=float).reshape(-1, 3).T.tolist()
        names = [f"speedup {row.speedup[0]:.3g}" for row in chosen if row.speedup is not None]
        ends = ([], []) if is_measured else (low, high)
        marks.append(Points([row.level for row in chosen], values, label, colour, *ends, names=names))
    marks.append(Rule([0.5], "y"))
    x = Axis(parameter, scale="log", base=_tick_base([row.level for row in curve.levels]))
    y = Axis("efficiency", format=".0%", limits=(0.0, None))
    return Plot("efficiency", marks, x, y, "Efficiency and speedup", 3.4, 0.5)


def _residual_plot(model: ScalingModel) -> Plot:
    """Return measured means over the model, less 1, with their standard errors."""
    symbol = model.symbols[0]
    points = _measured(model, 0, symbol)
    fitted = model.rows[0].model.values(model.symbols, curve_points(model, points.over, symbol, points.held))
    residual, error = points.mean / fitted - 1.0, points.error * points.mean / fitted
    ends = (residual - error).tolist(), (residual + error).tolist()
    measured = Points(points.over.tolist(), residual.tolist(), "measured (mean ± SE)", "data", *ends)
    x = Axis(model.columns[symbol], scale="log", base=_tick_base(points.over))
    y = Axis("relative residual", format=".1%")
    return Plot("residuals", [measured, Rule([0.0], "y")], x, y, "Residuals of the model", 3.4, 0.5)


def _tick_base(levels: Any) -> int:
    """Return 2 if all levels are powers of two, which get ticks of their own, else 10."""
    logs = np.log2(levels)
    return 2 if np.allclose(logs, np.round(logs)) else 10


def _measured(model: ScalingModel, path: int, symbol: str) -> _Measured:
    """Return what was measured with the others at the target's levels if two points were, else where most were."""
    place = model.symbols.index(symbol)
    others = np.delete(model.measured, place, axis=1)
    is_measured = np.isfinite(model.means[path])
    other_levels, number = np.unique(others, axis=0, return_inverse=True)
    counts = np.bincount(number.ravel()[is_measured], minlength=len(other_levels))
    best = int(np.flatnonzero(counts == counts.max())[-1])
    names = [name for name in model.symbols if name != symbol]
    aimed = np.flatnonzero((other_levels == [model.target[name] for name in names]).all(axis=1) & (counts > 1))
    best = int(aimed[0]) if len(aimed) else best
    rows = np.flatnonzero(is_measured & (number.ravel() == best))
    rows = rows[np.argsort(model.measured[rows, place])]
    return _Measured(
        model.measured[rows, place], model.means[path, rows], np.sqrt(model.posterior.noise[path, rows]),
        dict(zip(names, other_levels[best].tolist(), strict=True)),
    )  # fmt: skip


def curve_points(model: ScalingModel, over: Floats, symbol: str, held: Mapping[str, float]) -> Floats:
    """Return points (T, q) along one parameter, the others held."""
    return np.stack([over if name == symbol else np.full(len(over), held[name]) for name in model.symbols], axis=1)


def _curve_plot(model: ScalingModel, path: int, symbol: str) -> Plot:
    points = _measured(model, path, symbol)
    row = next(row for row in model.rows if row.path == model.paths[path])
    aim = {name: model.target[name] for name in points.held}
    target = model.target[symbol]
    ends = [*points.over.tolist(), target]
    over = np.unique([*np.geomspace(min(ends), max(ends), _PLACES)[1:-1], *ends])
    places = curve_points(model, over, symbol, points.held)
    run, likely = (model.band(places, interval, [path], run=True)[0] for interval in (COVERAGE, LIKELY))
    sides = (0.5 - 0.5 * COVERAGE, 0.5 - 0.5 * LIKELY, 0.5, 0.5 + 0.5 * LIKELY, 0.5 + 0.5 * COVERAGE)
    inside = (over >= points.over.min()) & (over <= points.over.max())
    # Within the measured range the curve is that of a new level, which those that were measured are not.
    new = model.posterior.of_paths([path]).quantiles(places, sides, run=True, smooth=True)[0]
    run[inside, 1:], likely[inside, 1:] = new[inside][:, [0, 4]], new[inside][:, [1, 3]]
    middle = np.where(inside, new[:, 2], run[:, 0])
    predicted = float(model.band(model.target_point[None], COVERAGE, [path], run=True)[0, 0, 0])
    continued = row.model.values(model.symbols, places)
    aside = np.zeros(0)  # the curve of the target's other parameters, if they were not measured
    if aim != points.held:
        aside = model.band(curve_points(model, over, symbol, aim), COVERAGE, [path], run=True)[0, :, 0]
    values = np.concatenate([points.mean, middle, continued, aside, [predicted]])
    low, high = float(values.min()), float(values.max())
    ends_of_all = np.clip(run[:, 1:], low / _MOST_BEYOND, high * _MOST_BEYOND)
    low, high = min(low, float(ends_of_all.min())), max(high, float(ends_of_all.max()))
    margin = min(max((high / low) ** 0.04, 1.05), 2.0)
    x, kinds = over.tolist(), (("95% interval (single run)", run, 0.13), ("50% interval", likely, 0.28))
    marks: list[Mark] = []
    for label, bounds, opacity in kinds:
        ends_low, ends_high = np.clip(bounds[:, 1:], low, high).T.tolist()
        marks.append(Band(x, ends_low, ends_high, label, "model", opacity))
    marks.append(Line(over[inside].tolist(), middle[inside].tolist(), "prediction (median)"))
    for outside in (over <= points.over.min(), over >= points.over.max()):
        if outside.sum() > 1:
            line = over[outside].tolist(), middle[outside].tolist()
            marks.append(Line(*line, "extrapolated", "model", "dashed", 1.3))
    if len(aside):
        marks.append(Line(x, aside.tolist(), f"predicted at {model.point_text(aim)}", "accent", "dashed", 1.3))
    error_bars = (points.mean * (1.0 - points.error)).tolist(), (points.mean * (1.0 + points.error)).tolist()
    marks += [
        Line(x, continued.tolist(), "model, continued", "data", "dotted", 1.1),
        Points(points.over.tolist(), points.mean.tolist(), "measured (mean ± SE)", "data", *error_bars),
        Rule([target], "x", "", "accent", drag=f"at={symbol}" if len(model.symbols) == 1 else ""),
        Points([target], [predicted], "target", "accent", shape="diamond", size=5.0),
    ]
    share = f"  {row.share:.1%}" if len(model.paths) > 1 and model.has_parts else ""
    base = _tick_base(points.over)
    held = f" at {model.point_text(points.held)}" if points.held else ""
    title = f"{model.paths[path]}{share}: {row.model.text(3)}"
    title = title if len(model.paths) == 1 or len(title) <= _LONGEST else title[: _LONGEST - 3] + "..."
    return Plot(
        "curves", marks, Axis(f"{model.columns[symbol]}{held}", scale="log", base=base),
        Axis(model.value_name, model.unit or "", "log", (low / margin, high * margin)), title,
    )  # fmt: skip
