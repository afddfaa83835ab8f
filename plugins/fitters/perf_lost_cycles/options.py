"""Options that the fitters of categories share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from perfcore.data.selection import ABSENT, AGGREGATES, DUPLICATES, parse_where
from perfcore.hooks.options import option

CRITERIA = {
    "loo": "leave-one-out cross-validation error",
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
    aggregate: str = option("median", "aggregate of repeated runs", choices=AGGREGATES)
    duplicates: str = option("refuse", "treatment of identical rows", choices=DUPLICATES)
    models: tuple[str, ...] = option(
        ("standard",), "default models: names of registered sets, or TOML files", metavar="NAME|FILE,..."
    )
    criterion: str = option(
        "loo",
        "model selection criterion: " + "; ".join(f"{k}, {v}" for k, v in CRITERIA.items()),
        choices=tuple(CRITERIA),
    )
    weights: str = option(
        "relative",
        "weight of each point: " + "; ".join(f"{k}, {v}" for k, v in WEIGHTS.items()),
        choices=tuple(WEIGHTS),
    )


@dataclass(frozen=True)
class LcaOptions(CategoryOptions):
    """Options of the fitter `lca`."""

    factor: str | None = option(
        None, "the parameter to model over, if several vary; the others are held by --where", metavar="SYMBOL"
    )
    absent: str = option("unknown", "categories that a run does not list: not measured there, or 0", choices=ABSENT)
    show: str | None = option(
        None, "the category whose candidates `perf rank` lists and the picture shows", metavar="CATEGORY"
    )


def parse_share(value: Any) -> float:
    """Return a share of the points, ``20%`` or 0.2."""
    text = str(value).strip()
    try:
        share = float(text.removesuffix("%")) / (100.0 if text.endswith("%") else 1.0)
    except ValueError:
        share = -1.0
    if isinstance(value, bool) or not 0.0 <= share <= 0.5:
        raise ValueError("a share of the points from 0% to 50% is expected, such as 20%")
    return share


@dataclass(frozen=True)
class ModgenOptions(CategoryOptions):
    """Options of the fitter `modgen`."""

    absent: str = option(
        "refuse",
        "categories that some points do not have: zero, they took no time there; skip, they were not measured there",
        choices=("refuse", "zero", "skip"),
    )
    set_aside: float = option(
        0.0, "share of the points, chosen at random, to hold out", parse=parse_share, metavar="N%",
        flag="--holdout",
    )  # fmt: skip
    seed: int = option(0, "seed of the random choice of points to hold out", minimum=0)
