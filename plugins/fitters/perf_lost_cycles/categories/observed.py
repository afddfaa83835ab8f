"""Measurements by category, as a model of their sum is compared with them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from perf_lost_cycles.categories.points import CATEGORY, TOTAL
from perf_tables.categories.table import by_category
from perfcore.base.errors import DataError
from perfcore.models.model import Model
from perfcore.models.observed import Observed, measurements_for


def observed_by_category(model: Model, names: Sequence[str], data: Any, where: str | None = None) -> Observed:
    """Totals of a model's points, and what of them the model's categories took."""
    options = model.origin.options
    roles = {role: options.get(role) for role in ("value", "category", "unit")}
    runs = measurements_for(model, data, options.get("where") if where is None else where, roles)
    table = by_category(
        runs, absent="zero" if options.get("absent") == "zero" else "unknown",
        **{name: options[name] for name in ("total", "aggregate", "duplicates") if name in options},
    )  # fmt: skip
    if not set(names) & set(table.categories):
        raise DataError(f"{table.source}: has none of the model's categories ({', '.join(names[:5])})")
    of_part = np.full((len(table), len(names)), 0.0 if options.get("absent") == "zero" else np.nan)
    for number, name in enumerate(names):
        if name in table.categories:
            of_part[:, number] = table.values[:, table.categories.index(name)]
    return Observed(
        points={**table.points, CATEGORY: np.full(len(table), TOTAL)},
        labels=tuple(table.describe(number) for number in range(len(table))),
        value=table.total,
        unit=table.unit,
        source=table.source,
        parts=tuple(names),
        of_part=of_part,
    )
