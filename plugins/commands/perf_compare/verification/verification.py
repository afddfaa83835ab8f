"""How well a model predicts measurements: those that it was fitted to, and those that it never saw."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from perf_categories.table import by_category
from perfcore.base.errors import DataError, OptionError, listing
from perfcore.data.measurements import Measurements
from perfcore.data.observations import numbers_of, paths_of
from perfcore.models.model import Model

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["KnowsItsPoints", "Verification", "verify"]

Floats = npt.NDArray[np.float64]
Booleans = npt.NDArray[np.bool_]

CATEGORY = "category"  # the variable of models by category; their first level is the total
PATH = "path"  # the variable of models with a law for each path
_MOST_ROWS = 40


@runtime_checkable
class KnowsItsPoints(Protocol):
    """A model that says which points it was fitted to, so that others are told from them."""

    @property
    def fitted_points(self) -> Mapping[str, Floats]:
        """Parameters by symbol (n,)."""


@dataclass(frozen=True)
class Verification:
    """Measured beside predicted values at n points.

    Parameters
    ----------
    model, source : str
        What was verified, with which data.
    unit : str or None
    interval : float
        Coverage of the bounds.
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
        found = {"not fitted": ~self.fitted, "fitted": self.fitted}
        return {name: kept for name, kept in found.items() if kept.any()}

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
        within = (self.lower <= self.measured) & (self.measured <= self.upper)
        return {
            "n_points": int(kept.sum()),
            "r2_centered": 1.0 - float(((measured - predicted) ** 2).sum()) / around if around > 0.0 else None,
            "median_relative_error": float(np.median(errors)),
            "max_relative_error": float(errors.max()),
            "coverage": float(within[bounded].mean()) if bounded.any() else None,
        }

    def category_figures(self, kept: Booleans) -> list[dict[str, str | float | None]]:
        """How well each category is predicted at the points of a group, the largest error first.

        ``error_of_total`` is the median of the absolute errors, each as a share of its point's total; ``share`` the
        category's part of the measured time.
        """
        found: list[dict[str, str | float | None]] = []
        for number, name in enumerate(self.categories):
            measured, predicted = self.of_category[kept, number].T
            known = np.isfinite(measured)
            if not known.any():
                continue
            measured, predicted, total = measured[known], predicted[known], self.measured[kept][known]
            around = float(((measured - measured.mean()) ** 2).sum())
            squares = float(((measured - predicted) ** 2).sum())
            found.append(
                {
                    "category": name,
                    "share": float(measured.sum() / self.measured[kept].sum()),
                    "r2_centered": 1.0 - squares / around if around > 0.0 else None,
                    "error_of_total": float(np.median(np.abs(predicted - measured) / total)),
                }
            )
        return sorted(found, key=lambda row: -float(row["error_of_total"] or 0.0))

    @property
    def title(self) -> str:
        """One line over a picture."""
        return f"{self.model}, against {self.source}"

    @property
    def formula(self) -> str:
        """Nothing: a verification has no formula."""
        return ""

    def summary(self) -> list[str]:
        """What was verified, and the figures of each group of points."""
        lines = [self.title]
        for name, kept in self.groups.items():
            figures = self.figures(kept)
            text = (
                f"{name} ({figures['n_points']:,}): R^2 centered {_shown(figures['r2_centered'], '.4f')}; relative "
                f"error: median {figures['median_relative_error']:.1%}, largest {figures['max_relative_error']:.1%}"
            )
            if figures["coverage"] is not None:
                text += f"; {figures['coverage']:.1%} within the {self.interval:.0%} bounds"
            lines.append(text)
        return lines

    def tables(self) -> list[tuple[str, list[str], list[list[str]]]]:
        """Categories and points of the first group, the points that are new to the model where there are any."""
        name, kept = next(iter(self.groups.items()))
        found = []
        if self.categories:
            rows = [
                [str(row["category"]), *(_shown(row[key], form) for key, form in
                 (("share", ".1%"), ("r2_centered", ".4f"), ("error_of_total", ".2%")))]
                for row in self.category_figures(kept)[:_MOST_ROWS]
            ]  # fmt: skip
            found.append(
                (f"Categories, {name}, worst first", ["category", "share", "R^2 centered", "error of total"], rows)
            )
        order = np.flatnonzero(kept)[np.argsort(-np.abs(self.errors[kept]), kind="stable")]
        bounds = ["lower", "upper"] if np.isfinite(self.lower[kept]).any() else []
        rows = [
            [
                self.labels[k],
                *(f"{column[k]:.6g}" for column in (self.measured, self.predicted)),
                *(f"{column[k]:.6g}" for column in (self.lower, self.upper)[: len(bounds)]),
                f"{self.errors[k]:+.1%}",
            ]
            for k in order[:_MOST_ROWS].tolist()
        ]
        shown = f" ({_MOST_ROWS} of {len(order):,})" if len(order) > _MOST_ROWS else ""
        header = ["point", "measured", "predicted", *bounds, "error"]
        found.append((f"Points, {name}, worst first{shown}", header, rows))
        return found

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

    def draw(self, figure: Figure, data: Any = None) -> None:
        """Draw measured against predicted values, and the relative errors."""
        from perf_compare.verification.picture import draw_verification

        draw_verification(self, figure)


def verify(model: Model, data: Any, interval: float = 0.95, where: str | None = None) -> Verification:
    """Predict measurements and compare.

    Parameters
    ----------
    model : Model
        Of measurements, such as `modgen`, `lca`, `individual` or `strohmaier` make.
    data : Measurements or pandas.DataFrame
        Read with the columns, units and selection that the model was fitted with.
    interval : float
        Coverage of the bounds that are checked.
    where : str, optional
        Conditions on the rows, instead of those of the fit.

    Raises
    ------
    OptionError
        The model is not one of measurements.
    DataError
        The data are no measurements, are in another unit, or there is nothing to compare.
    """
    options = model.origin.options
    if "parameter" not in options or "where" not in options:
        raise OptionError(f"a {model.kind} is not a model of measurements; fit one with --fitter modgen or individual")
    if not isinstance(data, Measurements):
        import pandas as pd

        if not isinstance(data, pd.DataFrame):
            raise DataError(f"a model is verified with measurements, not with {type(data).__name__}")
        data = Measurements(data, source="table")
    factors = {symbol: column for symbol, column in model.variables.items() if symbol not in model.levels}
    roles = {role: options.get(role) for role in ("code", "system", "category", "unit", "value")}
    if options.get("path") is not None:  # the whole of what names a path
        roles |= {"code": options["path"], "system": (), "category": ()}
    runs = data.with_roles(parameters=factors, **roles)
    if conditions := (options["where"] if where is None else where):
        runs = runs.where(conditions)
    by = _by_category if CATEGORY in model.levels else _by_path if PATH in model.levels else _by_code
    seen = by(model, runs)
    value, lower, upper = model.predict(seen.points, interval=interval).T
    unit = getattr(model, "unit", None)
    if unit != runs.roles.unit:
        raise DataError(f"{runs.source}: the values are in {runs.roles.unit}, those of the model in {unit}")
    return Verification(
        model=model.title,
        source=runs.source,
        unit=unit,
        interval=interval,
        labels=seen.labels,
        measured=seen.value,
        predicted=value,
        lower=lower,
        upper=upper,
        fitted=_fitted(model, seen.points),
        categories=seen.categories,
        of_category=seen.of_category,
    )


@dataclass(frozen=True)
class _Seen:
    """Data at the points of a model."""

    points: dict[str, Any]
    labels: tuple[str, ...]
    value: Floats
    categories: tuple[str, ...]
    of_category: Floats


def _by_category(model: Model, runs: Measurements) -> _Seen:
    options = model.origin.options
    names = {name: options[name] for name in ("total", "aggregate", "duplicates") if name in options}
    table = by_category(runs, **names)
    total, *known = model.levels[CATEGORY]
    if not set(known) & set(table.categories):
        raise DataError(f"{table.source}: has none of the model's categories ({', '.join(known[:5])})")
    values = np.full((len(table), len(known), 2), np.nan)
    for number, name in enumerate(known):
        if name in table.categories:
            values[:, number, 0] = table.values[:, table.categories.index(name)]
        values[:, number, 1] = model.predict({**table.points, CATEGORY: name})
    if options.get("absent") == "zero":
        values[:, :, 0] = np.nan_to_num(values[:, :, 0])
    labels = tuple(table.describe(k) for k in range(len(table)))
    return _Seen({**table.points, CATEGORY: total}, labels, table.total, tuple(known), values)


def _by_path(model: Model, runs: Measurements) -> _Seen:
    """The mean of the runs of each path of the model at each point."""
    import pandas as pd

    runs.require_roles()
    assert runs.roles.value is not None
    value = numbers_of(runs, runs.roles.value, optional=True, zero=True)
    kept = value > 0.0  # no error can be relative to 0
    names, path = paths_of(runs, kept)
    columns = {symbol: numbers_of(runs, column, kept)[kept] for symbol, column in runs.roles.parameters.items()}
    table = pd.DataFrame({PATH: np.array(names)[path], **columns, "value": value[kept]})
    table = table[table[PATH].isin(model.levels[PATH])]
    if table.empty:
        raise DataError(f"{runs.source}: has none of the model's paths ({listing(model.levels[PATH], 5)})")
    joined = table.groupby([PATH, *columns], sort=False)["value"].mean().reset_index()
    points: dict[str, Any] = {name: joined[name].to_numpy() for name in (*columns, PATH)}
    labels = tuple(
        ", ".join([str(row[0]), *(f"{symbol}={level:.6g}" for symbol, level in zip(columns, row[1:], strict=True))])
        for row in joined[[PATH, *columns]].itertuples(index=False)
    )
    return _Seen(points, labels, joined["value"].to_numpy(dtype=np.float64), (), np.empty((len(joined), 0, 2)))


def _by_code(model: Model, runs: Measurements) -> _Seen:
    options = model.origin.options
    names = {name: options[name] for name in ("aggregate", "duplicates") if name in options}
    seen = runs.observations(**names)
    points: dict[str, Any] = dict(seen.points)
    for what, known, index in (("code", seen.codes, seen.code), ("system", seen.systems, seen.system)):
        if what in model.variables:
            points[what] = np.array(known)[index]
    labels = tuple(seen.describe(k) for k in range(len(seen)))
    return _Seen(points, labels, seen.value, (), np.empty((len(seen), 0, 2)))


def _fitted(model: Model, points: Mapping[str, Any]) -> Booleans | None:
    """Which points (n,) the model was fitted to; None where it does not say."""
    if not isinstance(model, KnowsItsPoints):
        return None
    known = model.fitted_points
    own = set(zip(*(values.tolist() for values in known.values()), strict=True))
    asked = zip(*(points[symbol].tolist() for symbol in known), strict=True)
    return np.array([point in own for point in asked], dtype=np.bool_)


def _shown(value: str | float | int | None, form: str) -> str:
    return "-" if value is None else format(value, form)
