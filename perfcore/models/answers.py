"""The report of a model that makes none of its own: from its parameters, statistics and predictions."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from perfcore.base.errors import PerfError
from perfcore.report import Axis, Band, Column, Figure, Line, Mark, Plot, Points, Report, Table, interval_text
from perfcore.tables import point_text

if TYPE_CHECKING:
    from perfcore.base.arrays import Floats
    from perfcore.models.model import Model

_FARTHEST = 1024.0  # end of the first variable if the model does not say what was measured
_POINTS = 200  # of a line
_ROWS = 10  # of predictions
_BEYOND = (2.0, 4.0)  # how far the table goes beyond what was measured
_MOST_STATISTICS = 4  # more are not taken in at a glance
_COVERAGE = 0.95


def report_of(model: Model, data: Any = None) -> Report:
    """Return the report: the prediction at the target, predictions over the first variable, and the parameters."""
    title = f"{model.kind or type(model).__name__} of {Path(model.origin.source).name}"
    statistics = statistic_figures(model)
    details = [line for line in (model.formula, ", ".join(f"{each.name} {each.text}" for each in statistics)) if line]
    predicted, answer = _at_target(model), title
    if predicted is None:
        figures = [*_parameter_figures(model), *statistics]
        answer = ": ".join(part for part in (title, ", ".join(f"{each.name} {each.text}" for each in figures)) if part)
    else:
        figures = [predicted, *statistics]
        at = point_text({model.shown_names[name]: value for name, value in model.target.items()})
        ends = predicted.interval
        bounds = "" if ends is None else f", {predicted.kind} {interval_text(ends)}"
        unit = f" {predicted.unit}" if predicted.unit else ""
        answer, details = f"At {at}: {predicted.value:.3g}{unit}{bounds}", [title, *details]
    return Report(
        title=title,
        answer=answer,
        figures=figures,
        tables=[*_predictions(model), parameter_table(model)],
        draw=lambda: _plots(model, data),
        details=details,
        formula=model.formula,
    )


def statistic_figures(model: Model) -> list[Figure]:
    """Return the first statistics of a fit that are numbers: the most telling ones."""
    figures = []
    for key, value in model.statistics.items():
        if isinstance(value, (int, float)) and np.isfinite(value):
            name = key.removeprefix("n_").replace("_n_", " ").replace("_", " ")
            figures.append(Figure(name, value, format="," if isinstance(value, int) else ".4g", key=key))
    return figures[:_MOST_STATISTICS]


def _parameter_figures(model: Model) -> list[Figure]:
    """Return the parameters with intervals of two standard errors, if they are few."""
    if len(model.parameters) > _MOST_STATISTICS:
        return []
    figures = []
    for each in model.parameters:
        side = 2.0 * (each.standard_error or 0.0)
        ends = (each.estimate - side, each.estimate + side) if side else None
        figures.append(Figure(each.name, each.estimate, each.unit or "", ends, "± 2 standard errors"))
    return figures


def parameter_table(model: Model) -> Table:
    """Return every parameter with its standard error."""
    columns = [
        Column("parameter", "name", key="name"),
        Column("estimate", "estimate", format=".6g"),
        Column("standard error", "standard_error", format=".3g"),
        Column("unit", "unit"),
    ]
    return Table(columns, model.parameters, "Parameters")


def _interval_kind(model: Model) -> str:
    return "95% interval" if model.bounds_meaning else "95% prediction interval"


def _predict(model: Model, points: Mapping[str, Any]) -> tuple[Floats, Floats | None]:
    """Return predictions (n,) and their interval (n, 2), None if models of this kind, or of these data, have none."""
    asked: Any = next(iter(points.values())) if len(points) == 1 else points
    try:
        table = np.asarray(model.predict_array(asked, interval=_COVERAGE), dtype=np.float64)
    except PerfError:
        return np.asarray(model.predict(asked), dtype=np.float64), None
    return table[:, 0], table[:, 1:] if np.isfinite(table).any(axis=0).all() else None


def _points(model: Model, symbol: str, places: Floats) -> dict[str, Any]:
    """Return points over one variable, the others at their target or first name."""
    points: dict[str, Any] = {name: model.target.get(name, 1.0) for name in model.variables}
    return points | {name: names[0] for name, names in model.levels.items()} | {symbol: places}


def _first(model: Model) -> str | None:
    return next((name for name in model.variables if name not in model.levels), None)


def _at_target(model: Model) -> Figure | None:
    symbol = _first(model)
    if symbol is None or symbol not in model.target or model.levels:
        return None
    try:
        value, bounds = _predict(model, _points(model, symbol, np.array([float(model.target[symbol])])))
    except PerfError:
        return None
    interval = None if bounds is None else (float(bounds[0, 0]), float(bounds[0, 1]))
    return Figure("prediction", float(value[0]), model.unit or "", interval, _interval_kind(model), key="value")


def _predictions(model: Model) -> list[Table]:
    """Return the table of predictions over the first variable, to four times what was measured."""
    symbol = _first(model)
    if symbol is None or symbol not in model.ranges or model.levels:
        return []
    low, high = model.ranges[symbol]
    inside = np.linspace(low, high, _ROWS - len(_BEYOND))
    if low > 0:
        inside = np.unique([*(low * 2.0 ** np.arange(np.floor(np.log2(high / low)) + 1)), float(high)])
        inside = inside[np.unique(np.linspace(0, len(inside) - 1, _ROWS - len(_BEYOND)).round().astype(int))]
    places = np.array([*inside, *(factor * high for factor in _BEYOND if high > 0)])
    points = _points(model, symbol, places)
    try:
        values, bounds = _predict(model, points)
        remarks = model.remarks(places if len(points) == 1 else points)
    except PerfError:
        return []
    columns = [
        Column(model.shown_names[symbol], places, format="g"),
        Column("predicted", values, model.unit or "", key="value"),
        *([] if bounds is None else [Column("95% interval", [*map(tuple, bounds)], key=("lower", "upper"))]),
        Column("note", remarks or [""] * len(places)),
    ]
    return [Table(columns, title="Predictions")]


def _plots(model: Model, data: Any) -> list[Plot]:
    """Return the prediction over the first variable with its interval, and the measurements."""
    symbol = _first(model)
    if symbol is None:
        return []
    low, high = measured = model.ranges.get(symbol, (1.0, _FARTHEST))
    marks: list[Mark] = []
    if data is not None:
        observed = model.observed(data)
        across, value = observed.points[symbol], observed.value
        low, high = min(low, across.min()), max(high, across.max())
        marks.append(Points(across, value, "measured", size=3.0))
    places = np.union1d(np.geomspace(low, high, _POINTS), measured) if low > 0 else np.linspace(low, high, _POINTS)
    values, bounds = _predict(model, _points(model, symbol, places))
    if bounds is not None:
        marks.insert(0, Band(places, bounds[:, 0], bounds[:, 1], _interval_kind(model)))
    inside = (places >= measured[0]) & (places <= measured[1])
    marks.append(Line(places, np.where(inside, values, np.nan), "model"))
    if not inside.all():
        marks += [
            Line(places[side], values[side], label, style="dashed")
            for side, label in ((places <= measured[0], ""), (places >= measured[1], "extrapolated"))
        ]
    is_log = low > 0 and bool((values > 0).all())
    levels = np.log2([low, high]) if low > 0 else np.array([0.5])
    x = Axis(model.shown_names[symbol], scale="log" if low > 0 else "linear", base=2 if (levels % 1 == 0).all() else 10)
    return [Plot("model", marks, x, Axis("predicted value", model.unit or "", "log" if is_log else "linear"))]
