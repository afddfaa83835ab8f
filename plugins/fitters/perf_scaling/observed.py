"""Measurements by path, as a model of scaling laws is compared with them."""

from __future__ import annotations

from typing import Any

import numpy as np

from perf_scaling.columns import with_values
from perf_scaling.path_laws import PATH, PathLaws
from perfcore.base.errors import DataError, listing
from perfcore.data.measurements import Measurements
from perfcore.data.observations import numbers_of, paths_of
from perfcore.models.observed import Observed, measurements_for


def observed_by_path(model: PathLaws, data: Any, where: str | None = None) -> Observed:
    """The mean of the runs of each path of a model at each point; paths that it does not have are left out."""
    import pandas as pd

    options = model.origin.options
    if isinstance(data, pd.DataFrame):
        data = Measurements(data, source="table")
    if isinstance(data, Measurements):
        data = with_values(data, options.get("value"), options.get("path"))
    roles = {"unit": options.get("unit")}
    runs = measurements_for(model, data, options.get("where") if where is None else where, roles)
    runs.require_roles()
    assert runs.roles.value is not None
    value = numbers_of(runs, runs.roles.value, optional=True, zero=True)
    kept = value > 0.0  # no error can be relative to 0
    names, path = paths_of(runs, kept)
    if len(model.paths) == 1 and not (runs.roles.code or runs.roles.system or runs.roles.category):
        names = model.paths  # without a column that names it, a path is called as the value is
    columns = {symbol: numbers_of(runs, column, kept)[kept] for symbol, column in runs.roles.parameters.items()}
    table = pd.DataFrame({PATH: np.array(names)[path], **columns, "value": value[kept]})
    table = table[table[PATH].isin(model.paths)]
    if table.empty:
        raise DataError(f"{runs.source}: has none of the model's paths ({listing(model.paths, 5)})")
    joined = table.groupby([PATH, *columns], sort=False)["value"].mean().reset_index()
    called = [model.parameter_names[symbol] for symbol in columns]
    labels = (
        ", ".join([str(name), *(f"{word}={level:.6g}" for word, level in zip(called, levels, strict=True))])
        for name, *levels in joined[[PATH, *columns]].itertuples(index=False)
    )
    return Observed(
        points={name: joined[name].to_numpy() for name in model.variables},
        labels=tuple(labels),
        value=joined["value"].to_numpy(dtype=np.float64),
        unit=runs.roles.unit,
        source=runs.source,
        parts=(),
        of_part=np.empty((len(joined), 0)),
    )
