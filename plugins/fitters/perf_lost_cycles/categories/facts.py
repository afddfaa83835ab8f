"""What times by category hold, for a person who has just been handed a file."""

from __future__ import annotations

import shlex
from typing import Any

from perf_tables.category_table import by_category
from perfcore.base.errors import PerfError, listing
from perfcore.data.measurements import Measurements
from perfcore.hooks.registry import registry

_FITTERS = ("lca", "modgen", "scaling")  # that take times by category, the simplest model first


def category_facts(data: Measurements) -> dict[str, Any]:
    """Points, categories and totals, of the code and the system that most rows are of."""
    conditions = [
        f"{column}={data.table[column].mode().iloc[0]}"
        for column in (*data.roles.code, *data.roles.system)
        if data.table[column].nunique() > 1
    ]
    chosen = data.where(conditions) if conditions else data
    flags = f" --where {shlex.quote(','.join(conditions))}" if conditions else ""
    try:
        table = by_category(chosen)
    except PerfError as error:
        try:
            table = by_category(chosen, duplicates="drop")
        except PerfError:
            return {"categories": f"none: {error}", "next": []}
        flags += " --duplicates drop"
    facts: dict[str, Any] = {
        "points": [
            f"{table.shown_names[symbol]}: {len(set(values))} values, {values.min():g} to {values.max():g}"
            for symbol, values in table.points.items()
        ],
        "observations": f"{len(table)} points",
        "categories": listing(table.categories, 8),
        "total": f"{table.total.min():.6g} to {table.total.max():.6g} {table.unit or ''}".rstrip(),
    }
    if table.notes:
        facts["rows to know about"] = list(table.notes)
    if conditions:
        facts["of these rows"] = ", ".join(conditions)
    suited = [name for name in _FITTERS if registry().load("fitters", name).suits(chosen)]
    return facts | {"next": [f"--fitter {name}{flags}" for name in suited]}
