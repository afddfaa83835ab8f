"""How well a model predicts measurements: those that it was fitted to, and those that it never saw."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from perfcore.results import Result

Floats = npt.NDArray[np.float64]
Booleans = npt.NDArray[np.bool_]


@dataclass(frozen=True, repr=False)
class Verification(Result):
    """Measured beside predicted values at n points.

    Parameters
    ----------
    model, source : str
        What was verified, with which data.
    unit : str or None
    interval : float
        Coverage of the bounds.
    points : mapping of str to (n,) float or str
        By variable of the model.
    labels : tuple of str
        The points as a person reads them.
    measured, predicted, lower, upper : (n,) float
        In ``unit``; bounds of a single run, NaN where the model has none.
    fitted : (n,) bool, optional
        Points that the model was fitted to, where it knows them.
    categories : tuple of str
        Empty for models without.
    of_category : (n, C, 2) float
        Measured and predicted values of each category; NaN where one was not measured.
    """

    model: str
    source: str
    unit: str | None
    interval: float
    points: Mapping[str, npt.NDArray[Any]]
    labels: tuple[str, ...]
    measured: Floats
    predicted: Floats
    lower: Floats
    upper: Floats
    fitted: Booleans | None
    categories: tuple[str, ...]
    of_category: Floats

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
        """How well the points of a group are predicted.

        Returns
        -------
        dict
            Number of points, centered R^2 (about the mean of these points), median and largest absolute relative error,
            and the share of measured values within the bounds; None where it is not defined.
        """
        measured, predicted, errors = self.measured[kept], self.predicted[kept], np.abs(self.errors[kept])
        around = float(((measured - measured.mean()) ** 2).sum())
        bounded = kept & np.isfinite(self.lower)
        inside = (self.lower <= self.measured) & (self.measured <= self.upper)
        return {
            "n_points": int(kept.sum()),
            "r2_centered": 1.0 - float(((measured - predicted) ** 2).sum()) / around if around > 0.0 else None,
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
            around = float(((measured - measured.mean()) ** 2).sum())
            squares = float(((measured - predicted) ** 2).sum())
            rows.append(
                {
                    "category": name,
                    "share": float(measured.sum() / self.measured[kept].sum()),
                    "r2_centered": 1.0 - squares / around if around > 0.0 else None,
                    "error_of_total": float(np.median(np.abs(predicted - measured) / total)),
                }
            )
        return sorted(rows, key=lambda row: -float(row["error_of_total"] or 0.0))

    def to_dict(self) -> dict[str, Any]:
        """Everything, JSON-ready but for NaN."""
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
