"""How well a model predicts measurements: those that it was fitted to, and those that it never saw."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from perf_gate.comparison import points_of
from perf_tables.points import check_coverage
from perfcore.base.arrays import Booleans, Floats
from perfcore.base.errors import DataError, PerfError
from perfcore.models.model import Model
from perfcore.models.observed import Observed
from perfcore.results import Result


@dataclass(frozen=True, repr=False)
class Verification(Result):
    """Measured and predicted values at n points."""

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
        """How well the points of a group are predicted."""
        measured, predicted, errors = self.measured[kept], self.predicted[kept], np.abs(self.errors[kept])
        bounded = kept & np.isfinite(self.lower)
        inside = (self.lower <= self.measured) & (self.measured <= self.upper)
        return {
            "n_points": int(kept.sum()),
            "r2_centered": _r2_centered(measured, predicted),
            "median_relative_error": float(np.median(errors)),
            "max_relative_error": float(errors.max()),
            "coverage": float(inside[bounded].mean()) if bounded.any() else None,
        }

    def category_figures(self, kept: Booleans) -> list[dict[str, str | float | None]]:
        """How well each category is predicted at the points of a group, the largest error first.

        ``error_of_total`` is the median of the absolute errors, each as a share of its point's total; ``share`` the
        category's part of the measured time.
        """
        rows: list[dict[str, str | float | None]] = []
        for number, name in enumerate(self.categories):
            measured, predicted = self.of_category[kept, number].T
            finite = np.isfinite(measured)
            if not finite.any():
                continue
            measured, predicted, total = measured[finite], predicted[finite], self.measured[kept][finite]
            rows.append(
                {
                    "category": name,
                    "share": float(measured.sum() / self.measured[kept].sum()),
                    "r2_centered": _r2_centered(measured, predicted),
                    "error_of_total": float(np.median(np.abs(predicted - measured) / total)),
                }
            )
        return sorted(rows, key=lambda row: -float(row["error_of_total"] or 0.0))

    def to_dict(self) -> dict[str, Any]:
        columns = {"point": self.labels, "measured": self.measured.tolist(), "predicted": self.predicted.tolist()}
        columns |= {"lower": self.lower.tolist(), "upper": self.upper.tolist()}
        if self.fitted is not None:
            columns["fitted"] = self.fitted.tolist()
        return {
            "model": self.model,
            "data": self.source,
            "unit": self.unit,
            "interval": self.interval,
            "groups": {
                name: {**self.figures(kept), "categories": self.category_figures(kept)}
                for name, kept in self.groups.items()
            },
            "points": [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)],
        }


def _r2_centered(measured: Floats, predicted: Floats) -> float | None:
    """About the mean of these points; None where all are the same."""
    around = float(((measured - measured.mean()) ** 2).sum())
    return 1.0 - float(((measured - predicted) ** 2).sum()) / around if around > 0.0 else None


def verify_model(model: Model, data: Any, interval: float = 0.95, where: str | None = None) -> Verification:
    """Predict what was measured, and compare; see `perf_gate.api.verify`."""
    check_coverage(interval)
    observed = model.observed(data, where)
    if None not in (model.unit, observed.unit) and model.unit != observed.unit:
        raise DataError(f"{observed.source}: the values are in {observed.unit}, those of the model in {model.unit}")
    value, lower, upper = _predicted(model, points_of(model, observed.points), interval)
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


def _predicted(model: Model, points: Any, interval: float) -> tuple[Floats, Floats, Floats]:
    try:
        value, lower, upper = model.predict(points, interval=interval).T
    except PerfError:  # models of this kind, or of these data, have no bounds
        value = model.predict(points)
        lower = upper = np.full(len(value), np.nan)
    return value, lower, upper


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
