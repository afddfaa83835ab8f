"""A model and measurements become a verification."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from perf_gate.compare.points import points_of
from perf_gate.compare.verification.verification import Verification
from perf_tables.points import check_coverage
from perfcore.base.errors import DataError, PerfError
from perfcore.models.model import Model
from perfcore.models.observed import Observed

Floats = npt.NDArray[np.float64]


@runtime_checkable
class KnowsItsPoints(Protocol):
    """A model that says which points it was fitted to, so that others are told from them."""

    @property
    def fitted_points(self) -> Mapping[str, Floats]:
        """Parameters by symbol (n,)."""


def verify_model(model: Model, data: Any, interval: float = 0.95, where: str | None = None) -> Verification:
    """Predict what was measured, and compare; see `perf_gate.compare.api.verify`."""
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
    if not isinstance(model, KnowsItsPoints):
        return None
    fitted_points = model.fitted_points
    fitted = set(zip(*(np.asarray(values).tolist() for values in fitted_points.values()), strict=True))
    predicted_points = zip(*(np.asarray(points[symbol]).tolist() for symbol in fitted_points), strict=True)
    return np.array([point in fitted for point in predicted_points], dtype=np.bool_)
