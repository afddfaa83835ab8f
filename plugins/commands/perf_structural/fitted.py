"""Fitted models as components: predictions and their intervals become distributions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from perfcore.base.errors import DataError, UnknownNameError
from perfcore.models.model import Model
from perfcore.stochastic import StochasticValue, default_representation, of_moments

Floats = npt.NDArray[np.float64]

# Both tails beyond an interval of this coverage are what a run time is planned by, so a normal is made to agree with
# the model there, and not at one standard deviation.
_COVERAGE = 0.95
_ASYMMETRY = 0.2
# Of these a lopsided one is made.
_COVERAGES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, _COVERAGE, 0.98, 0.99, 0.998, 0.9998)


@dataclass(frozen=True)
class FittedPrediction:
    """What a fitted model says about one place."""

    value: StochasticValue  # A number where the model has no interval
    notes: tuple[str, ...] = ()


def check_places(model: Model, names: Sequence[str]) -> None:
    """Refuse places that name what the model does not have, or leave out what it needs."""
    for name in names:
        if name not in model.variables:
            raise UnknownNameError("variable of the model", name, model.variables)
    for name in model.variables:
        if name not in names:
            choices = f", one of {', '.join(model.levels[name])}" if name in model.levels else ""
            raise DataError(f"the model needs {name}{choices}; give at = {{{name} = ...}}")


def predict_fitted(model: Model, points: Sequence[dict[str, float | str]]) -> list[FittedPrediction]:
    """A distribution at each point."""
    columns = {name: [point[name] for point in points] for name in model.variables}
    for name, levels in model.levels.items():
        for level in columns[name]:
            if level not in levels:
                raise UnknownNameError(name, str(level), levels)
    coordinates = next(iter(columns.values())) if len(columns) == 1 else columns
    rows = _bounds(model, coordinates, len(points), _COVERAGE)
    finite = np.asarray(np.isfinite(rows[:, 1:]).all(axis=1))
    skew = np.abs(rows[:, 1] + rows[:, 2] - 2.0 * rows[:, 0])
    lopsided = np.asarray(finite & (skew > _ASYMMETRY * (rows[:, 2] - rows[:, 1])))
    further = [_bounds(model, coordinates, len(points), coverage) for coverage in _COVERAGES] if lopsided.any() else []
    remarks = model.remarks(coordinates) or [""] * len(points)
    predictions = []
    for row, (point, remark) in enumerate(zip(points, remarks, strict=True)):
        where = ", ".join(
            f"{name}={coordinate if isinstance(coordinate, str) else f'{coordinate:g}'}"
            for name, coordinate in point.items()
        )
        mean, lower, upper = rows[row].tolist()
        if not math.isfinite(mean):
            raise DataError(f"the model has no value at {where}")
        notes = [f"at {where}: {remark}"] if remark else []
        if lopsided[row]:
            value = _between(mean, np.array([each[row, 1:] for each in further]))
        elif finite[row]:
            value = of_moments(mean, (upper - lower) / (2.0 * float(ndtri(0.5 + _COVERAGE / 2.0))))
        else:
            value = of_moments(mean, 0.0)
            notes.append(f"at {where} the model has no interval: taken as one number")
        predictions.append(FittedPrediction(value, tuple(notes)))
    return predictions


def _bounds(model: Model, points: Any, n_points: int, coverage: float) -> Floats:
    """Value, lower and upper bound (n, 3)."""
    return np.reshape(model.predict(points, interval=coverage), (n_points, 3))


def _between(middle: float, bounds: Floats) -> StochasticValue:
    """The histogram whose quantiles are a middle and the ends (k, 2) of intervals of `_COVERAGES`."""
    shares = np.array(_COVERAGES)
    levels = np.concatenate([(1.0 - shares[::-1]) / 2.0, [0.5], (1.0 + shares) / 2.0])
    places = np.maximum.accumulate(np.concatenate([bounds[::-1, 0], [middle], bounds[:, 1]]))
    levels[0], levels[-1] = 0.0, 1.0
    kept = np.concatenate([[True], np.diff(places) > 0.0])
    content = {"edges": places[kept].tolist(), "masses": np.diff([*levels[kept][:-1], 1.0]).tolist()}
    histogram: StochasticValue = default_representation("distributions").from_dict(content)
    return histogram
