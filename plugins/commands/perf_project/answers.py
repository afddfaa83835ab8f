"""What a projection reports: the elapsed time at the last target, its components and efficiencies, and two plots."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from perf_project.extrapolation import power_of_scales
from perf_traces.messages.bursts import BEGIN, END
from perf_views.names import existing_file, shortened
from perfcore.base.arrays import Floats
from perfcore.data.units import readable
from perfcore.report import RANGE, Axis, Bars, Column, Figure, Line, Mark, Note, Plot, Points, Report, Rule, Table
from perfcore.tables import level_text, point_text

if TYPE_CHECKING:
    from perf_project.model import At, Bounds, Projection

_MOST_ROWS = 5  # of components above efficiencies, in the short form
_MOST_AREAS, _LETTERS, _ANSWER_LETTERS = 7, 24, 48  # of the plot, its legend, and the answer
_DRAWN_EFFICIENCIES = ("global", "parallel", "computation scalability", "scaling")
_CERTAIN = 1.05  # a factor of the interval that no further scale need narrow
_TIMES = ("s", "ms", "us", "ns")
_REMEDIES = {"load imbalance": "--balance", "transfer": "--network 2x", "GPU communication": "--network 2x"}


def report_of(projection: Projection, data: Any = None) -> Report:
    """Return the elapsed time, components and efficiencies at the targets."""
    model, at = projection.model, projection.at[-1]
    if model.is_single and len(projection.at) == 1 and not model.factors:
        fitted: Report = model.law.at(at.point).report()
        note = Note("Assumed", "one component, so this is the answer of `perf fit`")
        return replace(fitted, notes=[note, *fitted.notes])
    unit, largest, scale = model.unit or "", float(model.sizes.max()), at.point[model.symbol]
    far = f"{scale / largest:.3g}x the largest run" if scale > largest else "interpolated"
    far = "below the measured range" if scale < model.sizes.min() else far
    is_measured = tuple(at.point[symbol] for symbol in model.points) in zip(*model.points.values(), strict=True)
    far = "measured" if is_measured else far
    time, low, high = (_time(value, unit) for value in at.elapsed)
    if (symbol := high.rpartition(" ")[2]) == low.rpartition(" ")[2]:
        low = low.removesuffix(f" {symbol}")
    name = main_efficiency(at)
    efficiency = Figure(f"{name} efficiency", at.efficiencies[name][0], "", at.efficiencies[name][1:], format=".0%")
    speedup = Figure("speedup", at.speedup[0], "", at.speedup[1:])
    ratio = Figure("ratio to the smallest run", 1.0 / at.speedup[0], "", (1.0 / at.speedup[2], 1.0 / at.speedup[1]))
    is_weak = model.scaling == "weak"
    gained = f"{ratio.value:.3g}x the time at {_smallest(model)}" if is_weak else (
        f"speedup {speedup.value:.3g} over {_smallest(model)}")  # fmt: skip
    changed = f" with {model.notes['What if'][0]}" if "What if" in model.notes else ""
    saved = ""
    if at.baseline is not None:
        saved = f", {abs(at.elapsed[0] / at.baseline - 1.0):.0%} less than the {_time(at.baseline, unit)} without it"
    limits = at.limits
    limited = ""
    if len(at.components) > 1:
        label = _in_words(shortened(at.labels[limits.name], _ANSWER_LETTERS))
        limited = f"; limited by {label}, {limits.lost:.0%} of the time" if limits.lost > 0.0 else (
            "; no loss relative to the smallest run")  # fmt: skip
    few = "Only two scales: at" if len(set(model.sizes.tolist())) == 2 else "At"
    return Report(
        title=f"Projection of {Path(model.origin.source).name} to {_text(model, at.point)}",
        answer=f"{few} {_text(model, at.point)} ({far}){changed}: {time}, 95% interval {low}{RANGE}{high}{saved}; "
        f"{gained}, {name} efficiency {efficiency.text}{limited}",
        figures=[
            Figure("elapsed time", at.elapsed[0], unit, at.elapsed[1:], key="elapsed"),
            ratio if is_weak else speedup, efficiency,
            *([Figure("loss", limits.lost, format=".0%", key=f"lost to {limits.name}")] if limited else []),
        ],
        tables=list(_tables(projection)),
        draw=lambda: _plots(projection),
        notes=list(_notes(projection)),
        next=_next(projection),
        formula="\n".join(f"{name} = {law}" for name, law in model.laws.items()),
    )  # fmt: skip


def _notes(projection: Projection) -> Iterator[Note]:
    model = projection.model
    if (check := model.check) is not None:
        inside = "inside" if check.lower <= check.measured <= check.upper else "outside"
        run = _text(model, {model.symbol: check.p})
        off = round(check.median / check.measured - 1.0, 3) + 0.0  # no -0.0%
        yield Note("Check", f"{run} predicted from the smaller scales {off:+.1%}, {inside} the 95% interval")
    for text in model.notes.get("What if", ())[1:]:
        yield Note("Check", text)
    for label, texts in model.notes.items():
        yield from (Note(label, text) for text in texts if label != "What if")


def _in_words(component: str) -> str:
    """Return a component in a sentence; of computing between two calls of the library what it is."""
    first, arrow, second = component.partition(" -> ")
    if not arrow:
        return component
    if BEGIN in (first, second) or END in (first, second):
        return f"computing before {second}" if first == BEGIN else f"computing after {first}"
    return f"computing between calls of {first}" if first == second else f"computing from {first} to {second}"


def _next(projection: Projection) -> str:
    """What would help against the largest loss, or the scale that narrows the interval most."""
    model, at = projection.model, projection.at[-1]
    limits, file = at.limits, existing_file(model.origin.source.partition(" and ")[0])
    scales, name = sorted({*model.sizes.tolist()}), model.shown_names[model.symbol]
    power, _ = power_of_scales(scales)
    above = (round(scales[-1] ** (1.0 / power)) + 1) ** power if power > 1 else 2 * scales[-1]
    if len(scales) == 2:
        middle = round((scales[0] * scales[1]) ** (0.5 / power)) ** power
        another = f"{name}={level_text(middle if scales[0] < middle < scales[1] else above)}"
        return f"measure {another}: three scales show how components grow, and can be checked"
    if not model.alone:
        if (target := at.point[model.symbol]) <= above or len(model.points) > 1:
            return ""
        nearer = math.log(target / above) / math.log(target / scales[-1])  # errors grow with the doublings
        factor = (at.elapsed[2] / at.elapsed[1]) ** (0.5 * nearer)
        at_target = f"{name}={level_text(target)}"
        narrower = f"narrows the 95% interval at {at_target} to about a factor of {factor:.2g}"
        return f"measure {name}={level_text(above)}: {narrower}" if factor > _CERTAIN else ""
    if not file:
        return ""
    step = limits.name.partition(": ")[0]
    if "What if" not in model.notes and limits.lost > 0.0 and step in _REMEDIES:
        return f"perf whatif {file} {_REMEDIES[step]}"
    return f"perf overheads {file}"


def _tables(projection: Projection) -> Iterator[Table]:
    model = projection.model
    unit, names = model.unit or "", model.shown_names
    duration = "time" if unit in _TIMES else ".3g"
    if len(projection.at) > 1:
        name = main_efficiency(projection.at[-1])
        keys = ("elapsed", "elapsed_lower", "elapsed_upper")
        columns: list[Column] = [
            *(Column(names[symbol], lambda each, s=symbol: each.point[s]) for symbol in model.points),
            Column("elapsed", lambda each: each.elapsed, unit, duration, keys),
            Column("speedup", lambda each: each.speedup[0], format=".3g"),
            Column(f"{name} efficiency", lambda each: each.efficiencies[name], format=".1%",
                   key=("efficiency", "efficiency_lower", "efficiency_upper")),
            Column("limited by", lambda each: each.limits.name if each.limits.lost > 0.0 else None),
        ]  # fmt: skip
        yield Table(columns, projection.at, "Targets")
    at = projection.at[-1]
    components, efficiencies = _components(projection, at, duration), _efficiencies(projection, at)
    if len(components.rows or ()) > _MOST_ROWS and len(at.efficiencies) > 1:  # room for both on a screen
        yield replace(components, limit=_MOST_ROWS, importance="brief")
        components = replace(components, importance="verbose")
    yield components
    yield efficiencies


def _components(projection: Projection, at: At, duration: str) -> Table:
    model, labels, unit = projection.model, at.labels, projection.model.unit or ""
    measured = float(model.elapsed[model.largest])
    whole = replace(at.components[0], name="elapsed", model="", measured=measured, time=at.elapsed, share=1.0)
    columns = [
        Column("component", lambda row: labels.get(row.name, row.name), key=()),
        Column("component", "name", importance="data"),
        Column(_run(model), "measured", unit, duration, "measured"),
        Column(f"at {_text(model, at.point)}", "time", unit, duration, ("median", "lower", "upper")),
        Column("growth", lambda row: row.time[0] / row.measured if row.measured else None, format=".2f", key=()),
        Column("share", "share", format=".1%"),
        Column("loss", lambda row: None if row is whole else row.lost, format=".1%"),
        Column("largest loss", lambda row: None if row is whole else row.probability_largest, format=".0%"),
        Column("model", "model", importance="verbose"),
    ]
    parts = [] if model.is_single else [each for each in at.components if each.measured or each.time[2]]
    return Table(columns, [whole, *parts])


def _efficiencies(projection: Projection, at: At) -> Table:
    model = projection.model
    largest = np.array([values[model.largest] for values in model.points.values()])
    times = {name: values[model.largest] for name, values in model.measured.items()}
    measured = model.efficiencies(times, largest[0], model.reference(largest))
    rows: list[tuple[str, float, Bounds]] = [
        (name, float(measured[name]), bounds) for name, bounds in at.efficiencies.items()
    ]
    columns = [
        Column("efficiency", 0),
        Column(_run(model), 1, format=".1%", key="measured"),
        Column(f"at {_text(model, at.point)}", 2, format=".1%", key=("median", "lower", "upper")),
    ]
    return Table(columns, rows)


def main_efficiency(at: At) -> str:
    """Return the name of the efficiency that the answer states."""
    return "parallel" if "parallel" in at.efficiencies else "scaling"


def _text(model: Any, point: Mapping[str, float]) -> str:
    return point_text({model.shown_names[symbol]: value for symbol, value in point.items()})


def _smallest(model: Any) -> str:
    return _text(model, {model.symbol: model.sizes.min()})


def _run(model: Any) -> str:
    return _text(model, {symbol: values[model.largest] for symbol, values in model.points.items()})


def _time(value: float, unit: str) -> str:
    return readable(value, "s", 3) if unit == "s" else f"{value:.3g} {unit}".strip()


def _plots(projection: Projection) -> list[Plot]:
    """Return times and efficiencies over the scales: runs, and targets with the other parameters of the last one."""
    model, others = projection.model, tuple(projection.at[-1].point.values())[1:]
    runs = enumerate(zip(*model.points.values(), strict=True))
    bars: list[tuple[float, int | At]] = [(point[0], k) for k, point in runs if point[1:] == others]
    bars += [(at.point[model.symbol], at) for at in projection.at if tuple(at.point.values())[1:] == others]
    bars.sort(key=lambda bar: (bar[0], not isinstance(bar[1], int)))
    are_projected = [not isinstance(bar, int) for _, bar in bars]
    names = [f"{level_text(p)}{' (projected)' * new}" for (p, _), new in zip(bars, are_projected, strict=True)]
    x = Axis(model.variables[model.symbol], scale="category", names=names)
    boundaries = [k - 0.5 for k in range(1, len(bars)) if are_projected[k] != are_projected[k - 1]]
    rules = [Rule(boundaries)] if boundaries else []
    return [_component_plot(projection, bars, x, rules), _efficiency_plot(projection, bars, x, rules)]


def _component_plot(projection: Projection, bars: list[tuple[float, int | At]], x: Axis, rules: list[Rule]) -> Plot:
    """Times of the largest components and of the rest, stacked, and the elapsed time with its interval."""
    model, last = projection.model, projection.at[-1]
    names = [each.name for each in last.components if any(model.measured[each.name]) or each.time[2]]
    columns = []
    for _, bar in bars:
        times = {each.name: each.time[0] for each in bar.components} if not isinstance(bar, int) else {
            name: model.measured[name][bar] for name in names}  # fmt: skip
        columns.append([times[name] for name in names])
    table: Floats = np.array(columns).T
    order = np.argsort(-(table / table.sum(axis=0)).max(axis=1), kind="stable")
    labels, table = [last.labels[names[k]] for k in order.tolist()], table[order]
    if len(labels) > _MOST_AREAS + 1:
        labels = [*labels[:_MOST_AREAS], f"{len(labels) - _MOST_AREAS} others"]
        table = np.vstack([table[:_MOST_AREAS], table[_MOST_AREAS:].sum(axis=0)])
    base = table.cumsum(axis=0) - table
    marks: list[Mark] = [
        Bars(np.arange(len(bars)), row, shortened(label, _LETTERS), f"area:{k}", base=base[k], width=0.7)
        for k, (label, row) in enumerate(zip(labels, table, strict=True))
    ]
    targets = [(k, bar.elapsed) for k, (_, bar) in enumerate(bars) if not isinstance(bar, int)]
    places, elapsed = [k for k, _ in targets], np.array([bounds for _, bounds in targets])
    marks.append(Points(places, elapsed[:, 0], "elapsed (95% interval)", low=elapsed[:, 1], high=elapsed[:, 2],
                        shape="diamond"))  # fmt: skip
    y = Axis("time", model.unit or "", "time" if model.unit in _TIMES else "linear", (0.0, None))
    return Plot("components", [*marks, *rules], x, y, height=4.4, width=1.0)


def _efficiency_plot(projection: Projection, bars: list[tuple[float, int | At]], x: Axis, rules: list[Rule]) -> Plot:
    """Efficiencies at each scale: measured, or projected with intervals."""
    model, last = projection.model, projection.at[-1]
    reference = model.reference(np.array(list(last.point.values())))
    names = [name for name in _DRAWN_EFFICIENCIES if name in last.efficiencies]
    marks: list[Mark] = []
    for number, name in enumerate(names):
        rows = []
        for p, bar in bars:
            if not isinstance(bar, int):
                rows.append(bar.efficiencies[name])
            else:
                measured = {each: values[bar] for each, values in model.measured.items()}
                rows.append((float(model.efficiencies(measured, p, reference)[name]),) * 3)
        middle, low, high = np.array(rows).T
        places: Any = np.arange(len(bars)) + 0.04 * (number - (len(names) - 1) / 2)
        colour = ("model", "area:0", "area:2")[number % 3]
        marks += [Line(places, middle, colour=colour, width=1.0),
                  Points(places, middle, name, colour, low=low, high=high)]  # fmt: skip
    y = Axis("efficiency", limits=(0.0, None), format=".0%")
    return Plot("efficiency", [*marks, *rules], x, y, height=2.4, width=1.0)
