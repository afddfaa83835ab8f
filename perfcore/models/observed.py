"""Measurements as a model sees them: at points of the model's variables, to compare with its predictions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from perfcore.base.arrays import Floats
from perfcore.base.errors import DataError, UnknownNameError
from perfcore.data.measurements import Measurements


class HasVariables(Protocol):
    """What is asked of a `perfcore.Model`."""

    @property
    def variables(self) -> Mapping[str, str]:
        """Names in the data by symbol."""

    @property
    def levels(self) -> Mapping[str, tuple[str, ...]]:
        """Names that a variable takes."""


@dataclass(frozen=True)
class Observed:
    """Measured values at n points of a model."""

    points: Mapping[str, Any]  # by variable of the model, as `Model.predict` takes them
    labels: tuple[str, ...]  # the points as a person reads them
    value: Floats  # in ``unit``
    unit: str | None
    source: str
    parts: tuple[str, ...]  # categories or the like whose sum the value is; empty where there are none
    of_part: Floats  # measured values of each part; NaN where one was not measured


def measurements_for(
    model: HasVariables, data: Any, where: str | Iterable[str] | None = None, roles: Mapping[str, Any] | None = None
) -> Measurements:
    """Measurements with the roles that the model's variables say, selected by conditions."""
    if not isinstance(data, Measurements):
        import pandas as pd

        if not isinstance(data, pd.DataFrame):
            raise DataError(f"a model is compared with measurements, not with {type(data).__name__}")
        data = Measurements(data, source="table")
    factors = {symbol: column for symbol, column in model.variables.items() if symbol not in model.levels}
    try:
        runs: Measurements = data.with_roles(parameters=factors, **(roles or {}))
    except UnknownNameError as error:
        raise DataError(f"{data.source}: columns that the model requires are missing: {error}") from None
    return runs.where(where) if where else runs


def observed_by_pair(model: HasVariables, runs: Measurements, **observing: str) -> Observed:
    """Each code on each system at each point, repeated runs joined; options as of `Measurements.observations`."""
    observed = runs.observations(**observing)
    points: dict[str, Any] = dict(observed.points)
    for variable, names, index in (
        ("code", observed.codes, observed.code),
        ("system", observed.systems, observed.system),
    ):
        if variable in model.variables:
            points[variable] = np.array(names)[index]
    labels = tuple(observed.describe(number) for number in range(len(observed)))
    return Observed(points, labels, observed.value, observed.unit, runs.source, (), np.empty((len(observed), 0)))
