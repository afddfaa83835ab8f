"""How a projection is shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from perf_project.projection import At, Bounds, ComponentAt, Projection
from perf_views.names import existing_file, shortened
from perfcore.data.units import readable
from perfcore.results import Column, Panel, Panels, Presenter, Table, Tables

_MOST_ROWS = 5  # of components above efficiencies, in the short form


class ProjectionPresenter(Presenter):
    """Text, tables and picture of a projection, or of the model that it is the answer of."""

    def title(self, result: Any) -> str:
        found = _answer(result)
        return f"Projection of {Path(found.model.origin.source).name} to {_text(found.model, found.at[-1].point)}"

    def formula(self, result: Any) -> str:
        laws = _answer(result).model.laws
        return "\n".join(f"{name} = {laws[name]}" for name in laws)

    def summary(self, result: Any) -> list[str]:
        return [self.answer(result)]

    def answer(self, result: Any) -> str:
        found = _answer(result)
        model, at = found.model, found.at[-1]
        unit, largest = model.unit or "", float(model.sizes.max())
        scale = at.point[model.symbol]
        far = (
            f"{scale / largest:.3g}x the largest run" if scale > largest else "inside the measured range: interpolated"
        )
        far = "below the measured range" if scale < model.sizes.min() else far
        if_ = f" with {model.notes['What if'][0]}" if "What if" in model.notes else ""
        saved = ""
        if at.baseline is not None:
            saved = f", {abs(at.elapsed[0] / at.baseline - 1.0):.0%} less than the {_time(at.baseline, unit)} without"
        name = _main_efficiency(at)
        time, low, high = (_time(value, unit) for value in at.elapsed)
        limits, label = at.limits, shortened(at.labels[at.limits.name], 48)
        limited = "" if len(at.components) == 1 else (
            f"; limited by {label}, {limits.lost:.0%} of the time (largest loss with probability "
            f"{limits.probability_largest:.0%})" if limits.lost > 0.0 else "; no loss relative to the smallest run"
        )  # fmt: skip
        return (
            f"At {_text(model, at.point)} ({far}){if_}: {time} elapsed (95% interval {low} to {high}){saved}, "
            f"{_against_smallest(model, at)}{' with the same change' if saved else ''}, {name} efficiency "
            f"{at.efficiencies[name][0]:.1%}{limited}"
        )

    def caveats(self, result: Any) -> dict[str, Sequence[str]]:
        model = _answer(result).model
        notes: dict[str, Sequence[str]] = {label: texts for label, texts in model.notes.items() if label != "What if"}
        check = model.check
        if check is not None:
            inside = "inside" if check.lower <= check.measured <= check.upper else "outside"
            off = check.median / check.measured - 1.0
            run = _text(model, {model.symbol: check.p})
            text = f"{run} predicted from the smaller scales {off:+.1%}, {inside} the 95% interval"
            notes = {"Hold-out check": (text,), **notes}
        if model.notes.get("What if", ())[1:]:
            notes["Replay check"] = model.notes["What if"][1:]
        return notes

    def next_command(self, result: Any) -> str:
        found = _answer(result)
        file = existing_file(found.model.origin.source.partition(" and ")[0])
        return f"perf overheads {file}" if file and found.model.alone else ""

    def tables(self, result: Any) -> Tables:
        found = _answer(result)
        unit, names = found.model.unit or "", found.model.shown_names
        tables = []
        if len(found.at) > 1:
            name = _main_efficiency(found.at[-1])
            columns: list[Column] = [
                *(Column(names[symbol], lambda each, s=symbol: each.point[s]) for symbol in found.model.points),
                Column(
                    "elapsed",
                    lambda each: each.elapsed,
                    unit,
                    _duration(unit),
                    ("elapsed", "elapsed_lower", "elapsed_upper"),
                ),
                Column("speedup", lambda each: each.speedup[0], format=".3g"),
                Column(f"{name} efficiency", lambda each: each.efficiencies[name][0], format=".1%"),
                Column("limited by", lambda each: each.limits.name if each.limits.lost > 0.0 else None),
            ]
            tables.append(Table(columns, found.at, "Targets"))
        for at in found.at[-1:] if len(found.at) > 1 else found.at:
            components, efficiencies = _components(found, at, unit), _efficiencies(found, at)
            if len(components.rows or ()) > _MOST_ROWS and len(at.efficiencies) > 1:  # room for both on a screen
                tables.append(replace(components, limit=_MOST_ROWS, importance="brief"))
                components = replace(components, importance="verbose")
            tables += [components, efficiencies]
            if at.counters:
                columns = [
                    Column("computation", 0),
                    Column("growth", 1, format="+.1%", key=("growth", "lower", "upper")),
                ]
                rows = [(name, tuple(value - 1.0 for value in bounds)) for name, bounds in at.counters.items()]
                tables.append(
                    Table(columns, rows, f"Counters at {_text(found.model, at.point)} against {_smallest(found.model)}")
                )
        return tables

    def panels(self, result: Any, data: Any = None) -> Panels:
        from perf_project.plots import draw_components, draw_efficiencies

        found = _answer(result)
        return {
            "components": Panel(partial(draw_components, found), 4.4, 1.0),
            "efficiency": Panel(partial(draw_efficiencies, found), 2.4, 1.0),
        }


def _answer(result: Any) -> Projection:
    found: Projection = result if isinstance(result, Projection) else result.answer
    return found


def _text(model: Any, point: Mapping[str, float]) -> str:
    return ", ".join(f"{model.shown_names[symbol]}={value:g}" for symbol, value in point.items())


def _smallest(model: Any) -> str:
    return _text(model, {model.symbol: model.sizes.min()})


def _against_smallest(model: Any, at: At) -> str:
    if model.scaling == "weak":
        return f"{1.0 / at.speedup[0]:.3g}x the time at {_smallest(model)}"
    return f"speedup {at.speedup[0]:.3g} over {_smallest(model)}"


def _time(value: float, unit: str) -> str:
    return readable(value, "s", 3) if unit == "s" else f"{value:.3g} {unit}".strip()


def _duration(unit: str) -> str:
    """Format of a column of times."""
    return "time" if unit in ("s", "ms", "us", "ns") else ".3g"


def _main_efficiency(at: Any) -> str:
    return "parallel" if "parallel" in at.efficiencies else "scaling"


def _components(found: Projection, at: At, unit: str) -> Table:
    model, labels = found.model, at.labels
    largest = model.largest
    whole = ComponentAt("elapsed", "", float(model.elapsed[largest]), at.elapsed, 1.0, 0.0, float("nan"))
    columns = [
        Column("component", lambda row: labels.get(row.name, row.name), key=()),
        Column("component", "name", importance="data"),
        Column(_run(model), "measured", unit, _duration(unit), "measured"),
        Column(f"at {_text(model, at.point)}", "time", unit, _duration(unit), ("median", "lower", "upper")),
        Column("growth", lambda row: row.time[0] / row.measured if row.measured else None, format=".2f", key=()),
        Column("share", "share", format=".1%"),
        Column("loss", lambda row: None if row is whole else row.lost, format=".1%"),
        Column("largest loss", lambda row: None if row is whole else row.probability_largest, format=".0%"),
        Column("model", "model", importance="verbose"),
    ]
    return Table(columns, [whole, *(each for each in at.components if each.measured or each.time[2])])


def _run(model: Any) -> str:
    return _text(model, {symbol: values[model.largest] for symbol, values in model.points.items()})


def _efficiencies(found: Projection, at: At) -> Table:
    model = found.model
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
