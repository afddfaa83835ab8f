"""Options that the fitters of categories share."""

from __future__ import annotations

from dataclasses import dataclass

from perfcore.data.selection import AGGREGATES, DUPLICATES, parse_where
from perfcore.hooks.options import option

CRITERIA = {
    "loo": "error of predicting each point from the others",
    "adjusted": "adjusted R^2",
    "r2": "R^2, as in the paper, which rewards every further term",
}

WEIGHTS = {
    "relative": "1/total^2 of its point, for errors that are proportional to the run time",
    "equal": "1",
    "repetitions": "number of runs",
}


@dataclass(frozen=True)
class CategoryOptions:
    """What is measured, where, and how models of categories are compared."""

    parameter: tuple[str, ...] | None = option(
        None, "columns that were varied, COLUMN or SYMBOL=COLUMN: the factors", metavar="COLUMN,..."
    )
    value: str | None = option(None, "column that was measured", metavar="COLUMN")
    category: tuple[str, ...] | None = option(None, "columns that together name the category", metavar="COLUMN,...")
    total: str | None = option(None, "category, or column, that holds the total; what categories leave is `other`")
    unit: str | None = option(None, "unit of the value (default: the ending of the column's name)")
    where: tuple[str, ...] = option(
        (), "only rows that meet all conditions: COLUMN=A|B, COLUMN!=A, COLUMN>3", parse=parse_where, metavar="COND,..."
    )
    aggregate: str = option("median", "what stands for repeated runs", choices=AGGREGATES)
    duplicates: str = option("refuse", "rows that agree in every column: copies or repeated runs", choices=DUPLICATES)
    models: tuple[str, ...] = option(
        ("standard",), "default models: names of registered sets, or TOML files", metavar="NAME|FILE,..."
    )
    criterion: str = option(
        "loo",
        "what models are compared by: " + "; ".join(f"{k}, {v}" for k, v in CRITERIA.items()),
        choices=tuple(CRITERIA),
    )
    weights: str = option(
        "relative",
        "weight of each point: " + "; ".join(f"{k}, {v}" for k, v in WEIGHTS.items()),
        choices=tuple(WEIGHTS),
    )
