"""How well a model predicts measurements: those that it was fitted to, and those that it never saw."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from perf_gate.comparison import points_of
from perfcore.base.arrays import Booleans, Floats
from perfcore.base.errors import DataError, PerfError
from perfcore.data.measurements import Measurements
from perfcore.data.observations import without_duplicates
from perfcore.models.model import Model
from perfcore.models.points import Observed, check_coverage
from perfcore.report import Axis, Figure, Line, Mark, Note, Plot, Points, Report, Result, Steps, number_text
from perfcore.tables import Column, Table

_GROUPS = {"not fitted": "held-out points", "fitted": "training points", "all points": "points"}
_COLOURS = {"not fitted": "series:1", "fitted": "series:0", "all points": "series:0"}
_MOST_ROWS = 40


@dataclass(frozen=True, repr=False)
class Verification(Result):
    """Measured and predicted values at n points."""

    reporter: ClassVar[str] = "perf_gate.verification:_report_of"

    model: str  # what was verified, with which data
    source: str
    unit: str | None
    interval: float  # coverage of the bounds
    points: Mapping[str, npt.NDArray[Any]]  # by variable of the model
    labels: tuple[str, ...]  # the points as a person reads them
    measured: Floats  # (n,), in ``unit``; bounds of a single run, NaN where the model has none
    predicted: Floats  # (n,)
    lower: Floats  # (n,)
    upper: Floats  # (n,)
    fitted: Booleans | None  # (n,), points that the model was fitted to, where it knows them
    categories: tuple[str, ...]  # empty for models without
    of_category: Floats  # (n, C, 2), measured and predicted values of each category; NaN where one was not measured

    @property
    def groups(self) -> dict[str, Booleans]:
        """Which points (n,) are new to the model and which it was fitted to; groups without points are left out."""
        if self.fitted is None:
            return {"all points": np.ones(len(self.measured), dtype=np.bool_)}
        groups = {"not fitted": ~self.fitted, "fitted": self.fitted}
        return {name: kept for name, kept in groups.items() if kept.any()}

    @property
    def errors(self) -> Floats:
        """Relative errors of the predictions (n,), positive where they are too high."""
        return self.predicted / self.measured - 1.0

    def figures(self, kept: Booleans) -> dict[str, float | int | None]:
        """Return how well the points of a group are predicted."""
        measured, predicted, errors = self.measured[kept], self.predicted[kept], np.abs(self.errors[kept])
        inside = self.inside[kept & np.isfinite(self.lower)]
        return {
            "n_points": int(kept.sum()),
            "r2_centered": _r2_centered(measured, predicted),
            "median_relative_error": float(np.median(errors)),
            "max_relative_error": float(errors.max()),
            "coverage": float(inside.mean()) if len(inside) else None,
        }

    @property
    def inside(self) -> Booleans:
        """Which points (n,) lie inside their interval."""
        return (self.lower <= self.measured) & (self.measured <= self.upper)

    def category_figures(self, kept: Booleans) -> list[dict[str, str | float | None]]:
        """Return how well each category is predicted at the points of a group, the largest error first.

        ``error_of_total`` is the median of the absolute errors, each as a share of its point's total; ``share`` the
        category's part of the measured time.
        """
        rows: list[dict[str, str | float | None]] = []
        for name, (measured, predicted) in zip(self.categories, self.of_category[kept].transpose(1, 2, 0), strict=True):
            finite = np.isfinite(measured)
            if finite.any():
                total, error = self.measured[kept], np.abs(predicted - measured)
                row: dict[str, str | float | None] = {"category": name}
                row["share"] = float(measured[finite].sum() / total[finite].sum())
                row["r2_centered"] = _r2_centered(measured[finite], predicted[finite])
                row["error_of_total"] = float(np.median((error / total)[finite]))
                rows.append(row)
        return sorted(rows, key=lambda row: -float(row["error_of_total"] or 0.0))

    def to_dict(self) -> dict[str, Any]:
        return {
            "model": self.model,
            "data": self.source,
            "unit": self.unit,
            "interval": self.interval,
            "groups": {
                name: {**self.figures(kept), "categories": self.category_figures(kept)}
                for name, kept in self.groups.items()
            },
            "points": self.to_frame().to_dict("records"),
        }


def _r2_centered(measured: Floats, predicted: Floats) -> float | None:
    """Return R^2 about the mean of these points; None if all are the same."""
    around = float(((measured - measured.mean()) ** 2).sum())
    return 1.0 - float(((measured - predicted) ** 2).sum()) / around if around > 0.0 else None


def verify_model(model: Model, data: Any, interval: float = 0.95, where: str | None = None) -> Verification:
    """Predict what was measured, and compare; see `perf_gate.api.verify`."""
    check_coverage(interval)
    if isinstance(data, Measurements):
        data = data.rows(np.flatnonzero(without_duplicates(data, np.ones(len(data.table), dtype=np.bool_))))
    observed = model.observed(data, where)
    if None not in (model.unit, observed.unit) and model.unit != observed.unit:
        raise DataError(f"{observed.source}: the values are in {observed.unit}, those of the model in {model.unit}")
    points = points_of(model, observed.points)
    try:
        value, lower, upper = model.predict_array(points, interval=interval).T
    except PerfError:  # models of this kind, or of these data, have no bounds
        value = model.predict(points)
        lower = upper = np.full(len(value), np.nan)
    parts, of_part = _parts(model, observed)
    return Verification(
        model=model.title,
        source=observed.source,
        unit=model.unit or observed.unit,
        interval=interval,
        points={
            model.shown_names[symbol]: np.broadcast_to(np.asarray(values), len(observed.value))
            for symbol, values in observed.points.items()
        },
        labels=observed.labels,
        measured=observed.value,
        predicted=value,
        lower=lower,
        upper=upper,
        fitted=_fitted(model, observed.points),
        categories=parts,
        of_category=of_part,
    )


def _parts(model: Model, observed: Observed) -> tuple[tuple[str, ...], Floats]:
    """Parts that were measured and that are levels of a variable, with both values of each (n, K, 2)."""
    variable = next((symbol for symbol, names in model.levels.items() if set(observed.parts) <= set(names)), None)
    if not observed.parts or variable is None:
        return (), np.empty((len(observed.value), 0, 2))
    predicted = [
        model.predict({**observed.points, variable: np.full(len(observed.value), part)}) for part in observed.parts
    ]
    return observed.parts, np.stack([observed.of_part, np.stack(predicted, axis=1)], axis=2)


def _fitted(model: Model, points: Mapping[str, Any]) -> npt.NDArray[np.bool_] | None:
    """Which points (n,) the model was fitted to; None where it does not say."""
    fitted_points = getattr(model, "fitted_points", None)  # by symbol (n,)
    if fitted_points is None:
        return None
    fitted = set(zip(*(np.asarray(values).tolist() for values in fitted_points.values()), strict=True))
    predicted_points = zip(*(np.asarray(points[symbol]).tolist() for symbol in fitted_points), strict=True)
    return np.array([point in fitted for point in predicted_points], dtype=np.bool_)


def _report_of(result: Verification, data: Any = None) -> Report:
    """Return whether intervals hold and how large errors are, of held-out points if there are any."""
    from scipy.stats import binomtest

    name, kept = next(iter(result.groups.items()))
    figures = result.figures(kept)
    answer = score = _score(result, name)
    shown = [
        Figure("median error", figures["median_relative_error"], format=".1%"),
        Figure("largest error", figures["max_relative_error"], format=".1%"),
    ]
    if figures["coverage"] is not None:
        inside = result.inside[kept & np.isfinite(result.lower)]
        low, high = map(float, binomtest(int(inside.sum()), len(inside)).proportion_ci(method="wilson"))
        shown.insert(0, Figure("coverage", figures["coverage"], "", (low, high), "95% confidence interval", ".0%"))
        level, count = f"{result.interval:.0%}", f"{figures['n_points']:,} {_GROUPS[name]}"
        verdict = "Predictions agree with what was measured"
        if high < result.interval:
            verdict = "Predictions are too narrow"
        elif low > result.interval:
            verdict = "Predictions are wider than they need to be"
        hold = f"{level} intervals hold {figures['coverage']:.0%} of {count} [{low:.0%}, {high:.0%}]"
        answer = f"{verdict}: {hold}; {_errors(figures)}, bias {float(np.median(result.errors[kept])):+z.1%}"
        if figures["n_points"] == 1:
            where = "inside" if figures["coverage"] == 1.0 else "outside"
            points = _GROUPS[name].removesuffix("s")
            answer = f"1 {points}: {result.errors[kept][0]:+.1%} off, {where} the {level} prediction interval"
    training = [_score(result, group) for group in list(result.groups)[1:]]
    notes = [Note("Training", text) for text in training]
    if name == "fitted":
        notes.append(Note("Uncertain", "training points only: errors of held-out points are larger"))
    return Report(
        title=f"{result.model}, against {result.source}",
        answer=answer,
        figures=shown,
        tables=_tables(result, name),
        draw=lambda: [_value_plot(result), _error_plot(result)],
        notes=notes,
        details=[score, *training],
    )


def _score(result: Verification, name: str) -> str:
    figures = result.figures(result.groups[name])
    points = _GROUPS[name] if figures["n_points"] != 1 else _GROUPS[name].removesuffix("s")
    r2 = "" if figures["r2_centered"] is None else f", R^2 {figures['r2_centered']:.4f}"
    held = f", {figures['coverage']:.1%} inside the {result.interval:.0%} prediction interval"
    return f"{figures['n_points']:,} {points}: {_errors(figures)}{r2}{held if figures['coverage'] is not None else ''}"


def _errors(figures: dict[str, float | int | None]) -> str:
    return f"median error {figures['median_relative_error']:.1%}, max {figures['max_relative_error']:.1%}"


def _tables(result: Verification, name: str) -> list[Table]:
    kept = result.groups[name]
    categories = [
        Column("category", "category"),
        Column("share", "share", format=".1%"),
        Column("R^2 centered", "r2_centered", format=".4f"),
        Column("error of total", "error_of_total", format=".2%"),
    ]
    order = np.flatnonzero(kept)[np.argsort(-np.abs(result.errors[kept]), kind="stable")]
    points = [
        Column("point", [result.labels[k] for k in order.tolist()]),
        Column("measured", result.measured[order], result.unit or "", number_text),
        Column("predicted", result.predicted[order], result.unit or "", number_text),
        Column(f"{result.interval:.0%} PI", np.stack([result.lower, result.upper], axis=1)[order], format=number_text),
        Column("error", result.errors[order], format="+z.1%"),
    ]
    worst = Table(
        categories, result.category_figures(kept), f"Categories, {_GROUPS[name]}, largest error first", limit=_MOST_ROWS
    )
    every = [Column(symbol, values, key=symbol) for symbol, values in result.points.items()]
    every += [Column(field, getattr(result, field)) for field in ("measured", "predicted", "lower", "upper")]
    every += [Column("error", result.errors)]
    every += [] if result.fitted is None else [Column("fitted", result.fitted)]
    return [
        *([worst] if result.categories else []),
        Table(points, title=f"{_GROUPS[name].capitalize()}, largest error first", limit=_MOST_ROWS),
        Table(every, importance="data"),
    ]


def _value_plot(result: Verification) -> Plot:
    """The points of each group, with their intervals, beside the line where both are equal."""
    marks: list[Mark] = []
    for name, kept in reversed(result.groups.items()):  # the new points lie on top
        is_bounded = bool(np.isfinite([result.lower[kept], result.upper[kept]]).all())
        low, high = (side[kept].tolist() if is_bounded else [] for side in (result.lower, result.upper))
        measured, predicted = result.measured[kept].tolist(), result.predicted[kept].tolist()
        marks.append(Points(measured, predicted, _GROUPS[name], _COLOURS[name], low, high, size=3.0))
    positive = np.concatenate([result.measured, result.predicted[result.predicted > 0.0]])
    ends = float(positive.min()) / 1.4, float(positive.max()) * 1.4
    marks.append(Line(ends, ends, "", "muted", width=0.7))
    unit = result.unit or ""
    label = f"predicted, {result.interval:.0%} PI"
    return Plot("values", marks, Axis("measured", unit, "log", ends), Axis(label, unit, "log", ends))


def _error_plot(result: Verification) -> Plot:
    """Share of points whose absolute relative error is at most so large."""
    marks: list[Mark] = []
    for name, kept in reversed(result.groups.items()):
        order = np.sort(np.abs(result.errors[kept]))
        shares = np.arange(1, len(order) + 1) / len(order)
        edges = [*order.tolist(), float(order[-1]) * 1.05 + 1e-12]
        marks.append(Steps(edges, shares.tolist(), _GROUPS[name], _COLOURS[name]))
    x, y = Axis("absolute relative error", limits=(0.0, None)), Axis("share of points", limits=(0.0, 1.02))
    return Plot("errors", marks, x, y)
