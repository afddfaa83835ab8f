"""Single runs behind the points of a line, from the data that a model was fitted to."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from perf_lost_cycles.views.subject import Subject
from perfcore.base.errors import PerfError
from perfcore.data.measurements import Measurements
from perfcore.data.observations import labels_of, numbers_of


Floats = npt.NDArray[np.float64]


def runs_on_line(
    subject: Subject, data: Any, category: str, symbol: str, points: npt.NDArray[np.int64]
) -> tuple[Floats, Floats]:
    """Level of the factor and time of every run on a line (r,), (r,)."""
    none = np.empty(0), np.empty(0)
    if not isinstance(data, Measurements):
        return none
    options, columns = subject.model.origin.options, subject.model.factors
    try:
        measurements = data.with_roles(
            dict(columns), subject.model.value_name, category=options["category"], unit=options["unit"]
        )
        if options["where"]:
            measurements = measurements.where(options["where"])
        roles = measurements.roles
        if roles.value is None or not roles.category:
            return none
        value = numbers_of(measurements, roles.value, optional=True, zero=True)
        kept = np.isfinite(value)
        levels = {name: numbers_of(measurements, column, kept) for name, column in columns.items()}
        names, of_row = labels_of(measurements, "category", kept)
    except PerfError:  # the data were changed since; the model's own observations are shown all the same
        return none
    rows = np.flatnonzero(kept)[of_row == names.index(category)] if category in names else np.empty(0, dtype=np.int64)
    for name, values in levels.items():
        if name != symbol:
            rows = rows[values[rows] == subject.points[name][points[0]]]
    rows = rows[np.isin(levels[symbol][rows], subject.points[symbol][points])]
    return levels[symbol][rows], value[rows]
