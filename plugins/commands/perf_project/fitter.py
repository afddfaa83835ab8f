"""Times by category over processors to the projection of their sum, as `perf project` makes it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import msgspec

from perf_project.build import Components, projected, with_changes
from perf_project.model import ProjectionModel
from perfcore.data.measurements import Measurements
from perfcore.data.selection import DUPLICATES, parse_where
from perfcore.hooks.options import option, to_dict
from perfcore.models.fitter import Fitter


def parse_targets(raw: Any) -> tuple[str, ...]:
    """Return the texts of targets: ``p=16``, ``p=64..4096*4``, or of the only parameter its value alone."""
    if isinstance(raw, Mapping):
        return tuple(f"{name}={value}" for name, value in raw.items())
    return (str(raw),) if isinstance(raw, (str, int, float)) else tuple(map(str, raw))


@dataclass(frozen=True)
class ProjectionOptions:
    """Options of the fitter `projection`."""

    parameter: str | None = option(None, "column with the scale", metavar="COLUMN,...")
    value: str | None = option(None, "column with the times", metavar="COLUMN")
    unit: str | None = option(None, "unit of the value (default: the ending of the column's name)")
    where: tuple[str, ...] = option(
        (), "only rows that meet all conditions: COLUMN=A|B, COLUMN!=A, COLUMN>3", parse=parse_where, metavar="COND,..."
    )
    duplicates: str = option("refuse", "treatment of identical rows", choices=DUPLICATES)
    at: tuple[str, ...] = option(
        (), "scales to project to, such as p=64 (default: 4 times the largest)", parse=parse_targets, metavar="p=N,..."
    )
    scaling: str = option(
        "auto", "weak: the problem grows with p; strong: it does not; auto: from the table",
        choices=("auto", "weak", "strong"),
    )  # fmt: skip


class ProjectionFitter(Fitter):
    """Projects tables of times by category to other scales."""

    Options: ClassVar[type] = ProjectionOptions
    model_type = ProjectionModel
    takes = (Measurements,)

    @classmethod
    def suits(cls, data: Any) -> bool:
        return "categories over processors" in data.narrower_kinds and all(
            data.table[column].nunique() > 1 for column in data.roles.parameters.values()
        )

    def fit(self, data: Any, options: ProjectionOptions, **parts: Any) -> ProjectionModel:
        named = {
            name: value
            for name in ("parameter", "value", "unit", "where", "duplicates")
            if (value := getattr(options, name))
        }
        model = projected(Components(data, named, data.source), options.at or None, options.scaling)
        origin = msgspec.structs.replace(model.origin, fitter="projection", options=to_dict(options))
        return with_changes(model, origin=origin)
