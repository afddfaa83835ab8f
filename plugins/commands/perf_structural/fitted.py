"""Fitted models as components: a prediction and its interval become a normal."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from perfcore.base.errors import DataError, UnknownNameError
from perfcore.models.model import Model

__all__ = ["FittedPrediction", "check_places", "predict_fitted"]

# Both tails beyond an interval of this coverage are what a run time is planned by, so the normal is made to agree with
# the model there, and not at one standard deviation.
_COVERAGE = 0.95
_ASYMMETRY = 0.2


@dataclass(frozen=True)
class FittedPrediction:
    """What a fitted model says about one place.

    Parameters
    ----------
    mean : float
    std : float
        0 where the model has no interval.
    notes : tuple of str
    """

    mean: float
    std: float
    notes: tuple[str, ...] = ()


def check_places(model: Model, given: Sequence[str]) -> None:
    """Refuse places that name what the model does not have, or leave out what it needs.

    Raises
    ------
    UnknownNameError, DataError
    """
    for name in given:
        if name not in model.variables:
            raise UnknownNameError("variable of the model", name, model.variables)
    for name in model.variables:
        if name not in given:
            known = f", one of {', '.join(model.levels[name])}" if name in model.levels else ""
            raise DataError(f"the model needs {name}{known}; give at = {{{name} = ...}}")


def predict_fitted(model: Model, points: Sequence[dict[str, float | str]]) -> list[FittedPrediction]:
    """A mean and a standard deviation at each point.

    The standard deviation is half the width of the 95% prediction interval over 1.96. With few data the interval comes
    from Student's distribution, whose tails this keeps at 2.5% and 97.5%.

    Parameters
    ----------
    model : Model
    points : sequence of dict
        Each with a number or a level's name for every variable of the model.

    Raises
    ------
    DataError
        A prediction is not finite.
    UnknownNameError
        A level has no such name.
    """
    columns = {name: [point[name] for point in points] for name in model.variables}
    for name, levels in model.levels.items():
        for value in columns[name]:
            if value not in levels:
                raise UnknownNameError(name, str(value), levels)
    asked = next(iter(columns.values())) if len(columns) == 1 else columns
    rows = np.reshape(model.predict(asked, interval=_COVERAGE), (len(points), 3)).tolist()
    remarks = model.remarks(asked) or [""] * len(points)
    return [
        _as_normal(point, mean, lower, upper, remark)
        for point, (mean, lower, upper), remark in zip(points, rows, remarks, strict=True)
    ]


def _as_normal(point: dict[str, float | str], mean: float, lower: float, upper: float, remark: str) -> FittedPrediction:
    where = ", ".join(f"{name}={value if isinstance(value, str) else f'{value:g}'}" for name, value in point.items())
    if not math.isfinite(mean):
        raise DataError(f"the model has no value at {where}")
    notes = [f"at {where}: {remark}"] if remark else []
    if not (math.isfinite(lower) and math.isfinite(upper)):
        return FittedPrediction(mean, 0.0, (*notes, f"at {where} the model has no interval: taken as one number"))
    if abs((upper - mean) - (mean - lower)) > _ASYMMETRY * (upper - lower):
        notes.append(
            f"at {where} the interval {lower:.6g} .. {upper:.6g} is lopsided about {mean:.6g}; a normal is not"
        )
    std = (upper - lower) / (2.0 * float(ndtri(0.5 + _COVERAGE / 2.0)))
    return FittedPrediction(mean, std, tuple(notes))
