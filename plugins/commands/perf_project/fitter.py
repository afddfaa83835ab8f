"""Times by category over processors to the projection of their sum, as `perf project` makes it."""

from __future__ import annotations

from typing import Any, ClassVar

import msgspec

from perf_project.build import Components, projected
from perf_project.model import ProjectionModel
from perf_project.options import ProjectionOptions
from perf_tables.confounders import several_parameters
from perfcore.base.errors import PerfError
from perfcore.data.measurements import Measurements
from perfcore.hooks.options import to_dict
from perfcore.models.fitting import Fitter


class ProjectionFitter(Fitter):
    """Projects tables of times by category to other scales."""

    Options: ClassVar[type] = ProjectionOptions
    model_type = ProjectionModel
    takes = (Measurements,)

    @classmethod
    def suits(cls, data: Any) -> bool:
        columns = data.roles.parameters.values()
        if data.data_kind != "times by category" or any(data.table[column].nunique() < 2 for column in columns):
            return False
        try:
            return not several_parameters(data)
        except PerfError:
            return False

    def fit(self, data: Any, options: ProjectionOptions, **parts: Any) -> ProjectionModel:
        named = {
            name: value
            for name in ("parameter", "value", "unit", "where", "duplicates")
            if (value := getattr(options, name))
        }
        model = projected(Components(data, named, data.source), options.at or None, options.scaling)
        origin = msgspec.structs.replace(model.origin, fitter="projection", options=to_dict(options))
        return msgspec.structs.replace(model, origin=origin)
