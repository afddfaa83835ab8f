"""What a design costs: the time of each point from a model or from runs, and which points a budget leaves out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from perf_experiments.design import Design
from perf_experiments.points import Point, duration_text, is_number, point_text
from perfcore.base.arrays import Floats
from perfcore.base.errors import DataError, OptionError, UnknownNameError

if TYPE_CHECKING:
    from perfcore.models.model import Model


def costs_by_model(model: Model, points: Sequence[Point], seconds_per_unit: float = 1.0) -> Floats:
    """Time of one run at each point, as a model predicts it."""
    columns: dict[str, list[Any]] = {}
    for symbol, column in model.variables.items():
        name = next((name for name in (symbol, column) if name in points[0]), None)
        if name is None and symbol in model.levels:  # the model takes the only one, the total, or says what is missing
            continue
        if name is None:
            raise UnknownNameError("factor, which is a variable of the model", symbol, points[0])
        columns[symbol] = [point[name] for point in points]
    coordinates: Any = next(iter(columns.values())) if len(model.variables) == 1 else columns
    seconds = np.asarray(model.predict(coordinates), dtype=np.float64).reshape(len(points), -1)[:, 0] * seconds_per_unit
    for point, value in zip(points, seconds.tolist(), strict=True):
        if not 0.0 < value < float("inf"):
            raise DataError(f"the model predicts {value:g} s at {point_text(point)}; a positive time is expected")
    return seconds


def costs_by_runs(measured: Sequence[tuple[Point, float]], points: Sequence[Point]) -> Floats:
    """Time of one run at each point, from runs of some."""
    if not measured:
        raise DataError("there are no runs to estimate from yet")
    names = list(points[0])
    measured_points = [point for point, _ in measured]
    logs = np.log([seconds for _, seconds in measured])
    features = _features([*measured_points, *points], names)
    # Centred, so that the smallest norm leaves the level free and shrinks the slopes alone.
    middle = features[: len(measured_points)].mean(axis=0)
    slopes = _clear_slopes(features[: len(measured_points)] - middle, logs - logs.mean())
    seconds = np.exp(logs.mean() + (features[len(measured_points) :] - middle) @ slopes)
    for number, point in enumerate(points):
        point_seconds = [value for other, value in measured if dict(other) == dict(point)]
        if point_seconds:
            seconds[number] = np.median(point_seconds)
    return np.asarray(seconds, dtype=np.float64)


def _clear_slopes(features: Floats, logs: Floats) -> Floats:
    """Slopes of smallest norm (n_features,), of which those within two standard errors are 0, the least clear first."""
    slopes = np.zeros(features.shape[1])
    used = np.flatnonzero(np.ptp(features, axis=0) > 0.0)
    while len(used):
        chosen = features[:, used]
        slopes[used] = np.linalg.lstsq(chosen, logs, rcond=None)[0]
        freedom = len(logs) - int(np.linalg.matrix_rank(chosen)) - 1
        if freedom <= 0:  # the noise is unknown
            break
        noise = float(np.sum((logs - chosen @ slopes[used]) ** 2)) / freedom
        errors = np.sqrt(noise * np.diag(np.linalg.pinv(chosen.T @ chosen, hermitian=True)))
        unclear = np.abs(slopes[used]) - 2.0 * errors
        worst = int(np.argmin(unclear))
        if unclear[worst] >= 0.0:
            break
        slopes[used[worst]] = 0.0
        used = np.delete(used, worst)
    return slopes


def _features(points: Sequence[Point], names: Sequence[str]) -> Floats:
    """Logarithms of positive factors, and an indicator for each level of the others (n_points, n_features)."""
    columns = []
    for name in names:
        levels = [point[name] for point in points]
        if all(is_number(level) and float(level) > 0.0 for level in levels):
            columns.append(np.log(np.array(levels, dtype=np.float64)))
        else:
            columns += [np.array([level == one for level in levels], dtype=np.float64) for one in dict.fromkeys(levels)]
    return np.stack(columns, axis=1)


class Budgeted(Design, frozen=True, forbid_unknown_fields=True):
    """A design whose runs have a price, and that is within its budget where there is one."""

    total_s: float = 0.0  # what its runs take, all replications
    too_dear_s: dict[str, float] = msgspec.field(default_factory=dict)


def within_budget(design: Design, costs: Floats, budget_s: float | None) -> Budgeted:
    """Leave out the dearest points until the rest fits."""
    points = design.chosen()
    each = costs * np.array(design.counts(points))
    total = float(each.sum())
    dropped: list[int] = []
    if budget_s is not None:
        for number in np.argsort(-each, kind="stable").tolist():
            if total <= budget_s:
                break
            dropped.append(number)
            total -= float(each[number])
        if len(dropped) == len(points):
            cheapest = int(np.argmin(each))
            raise OptionError(
                f"the budget of {duration_text(budget_s)} does not suffice for one point: "
                f"{point_text(points[cheapest])} alone takes {duration_text(float(each[cheapest]))}"
            )
    left_out = [*design.left_out, *(dict(points[number]) for number in dropped)]
    return Budgeted(
        **{**msgspec.structs.asdict(design), "left_out": left_out},
        total_s=float(np.delete(each, dropped).sum()),
        too_dear_s={point_text(points[number]): float(costs[number]) for number in dropped},
    )
