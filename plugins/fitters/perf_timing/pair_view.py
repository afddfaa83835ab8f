"""One code on one system: what was measured, what the model says, and what it predicts elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from perf_timing.scaling_model import ScalingModel
from perf_views.colours import DARK, MODEL, RULE
from perf_views.contents import Block, Chart, Field, Form, Link, Notice, Query, Table, Text, View, ViewPath
from perfcore.base.errors import OptionError, PerfError

if TYPE_CHECKING:
    from matplotlib.figure import Figure


_COVERAGE = 0.95
_AT = "at."  # before the name of a parameter in the address


def pair_view(
    model: ScalingModel, code: str, system: str, path: ViewPath, query: Query, trail: tuple[Link, ...]
) -> View:
    """The view of a pair, also of one that was never measured."""
    places = model.measured_places
    rows = np.flatnonzero((places.code == model.codes.index(code)) & (places.system == model.systems.index(system)))
    blocks: list[Block] = []
    if len(rows):
        blocks.append(_chart(model, code, system, rows))
    else:
        blocks.append(Notice("never measured; what follows is predicted from the others"))
    blocks += _elsewhere(model, code, system, path, query)
    return View(f"{code} on {system}", tuple(blocks), path, trail)


def _chart(model: ScalingModel, code: str, system: str, rows: np.ndarray[tuple[int], np.dtype[np.intp]]) -> Chart:
    points = {symbol: values[rows] for symbol, values in model.measured_places.points.items()}
    order = np.lexsort(tuple(points.values())[::-1])
    points, rows = {symbol: values[order] for symbol, values in points.items()}, rows[order]
    value = np.array(model.observations.value)[rows]
    predicted = model.predict({**points, "code": code, "system": system}, interval=_COVERAGE)
    first = next(iter(points))
    unit = f" ({model.unit})" if model.unit else ""

    def draw(figure: Figure) -> None:
        axes, below = figure.subplots(2, 1, sharex=True, height_ratios=[2.5, 1.0])
        if len(points) == 1:
            axes.fill_between(points[first], *predicted[:, 1:].T, color=MODEL, alpha=0.2, linewidth=0.0,
                              label=f"{_COVERAGE:.0%} of single runs")  # fmt: skip
        axes.plot(points[first], predicted[:, 0], "-" if len(points) == 1 else "x", color=MODEL, label="model")
        axes.plot(points[first], value, "o", color=DARK, markersize=4, label="measured")
        axes.set(xscale="log", yscale="log", ylabel=f"{model.value_name}{unit}")
        axes.legend(fontsize=8, frameon=False)
        below.axhline(0.0, color=RULE, linewidth=0.7)
        below.plot(points[first], 100.0 * (value / predicted[:, 0] - 1.0), "o", color=DARK, markersize=4)
        below.set(xlabel=model.columns[first], ylabel="residual (%)")

    header = (*(model.columns[symbol] for symbol in points), f"measured{unit}", "model", "lower", "upper", "residual")
    table = [
        (*(f"{values[k]:.6g}" for values in points.values()), f"{value[k]:.6g}",
         *("-" if np.isnan(figure) else f"{figure:.6g}" for figure in predicted[k]),
         f"{value[k] / predicted[k, 0] - 1.0:.1%}")
        for k in range(len(rows))
    ]  # fmt: skip
    return Chart(draw, f"{code} on {system}: measured and model", (Table.of("", header, table),), size=(10.0, 4.8))


def _elsewhere(model: ScalingModel, code: str, system: str, path: ViewPath, query: Query) -> list[Block]:
    """A form for any point, and the prediction there."""
    texts = {symbol: query.get(_AT + symbol, "") for symbol in model.columns}
    fields = tuple(Field(_AT + symbol, model.columns[symbol], text, "number") for symbol, text in texts.items())
    form = Form(fields, path, "Predict", "Predict elsewhere")
    if not all(texts.values()):
        return [form]
    try:
        points = {**{symbol: [_number(text)] for symbol, text in texts.items()}, "code": code, "system": system}
        value, lower, upper = model.predict(points, interval=_COVERAGE)[0]
        remark = model.remarks(points)[0]
    except PerfError as error:
        return [form, Notice(str(error), "error")]
    unit = f" {model.unit}" if model.unit else ""
    bounds = "no bounds" if np.isnan(lower) else f"{_COVERAGE:.0%} of single runs between {lower:.6g} and {upper:.6g}"
    return [form, Text((f"{value:.6g}{unit}; {bounds}",)), *([Notice(remark, "warning")] if remark else [])]


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise OptionError(f"{text!r}: a number is expected") from None
