"""One quantity under two spellings or in two units, as one: ``latency_ms``, ``latency [ms]`` and ``latency (s)``."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

from perfcore.data.units import LABELS, KnownUnit, split_unit, unit_of_text

if TYPE_CHECKING:
    import pandas as pd


def same_metrics(metrics: Collection[str], others: Collection[str]) -> Mapping[str, str]:
    """Names of the second that mean what one of the first does: the same but for case, spelling and the unit."""
    renamed = {}
    for other in others:
        if other in metrics:
            continue
        name, unit = _taken_apart(other)
        same = [
            metric
            for metric in metrics
            if metric not in others
            and _taken_apart(metric)[0] == name
            and None not in (unit, one := _taken_apart(metric)[1])
            and _factor(unit, one) is not None
        ]
        if len(same) == 1:
            renamed[other] = same[0]
    return {other: metric for other, metric in renamed.items() if list(renamed.values()).count(metric) == 1}


def in_unit(runs: pd.DataFrame, unit: str) -> pd.DataFrame | None:
    """Runs with their values in a unit; None where one of theirs is of another quantity, or not known."""
    factors = {}
    for label in dict.fromkeys(runs["unit"]):
        factor = 1.0 if label == unit else _factor(unit_of_text(str(label)), unit_of_text(unit))
        if factor is None:
            return None
        factors[label] = factor
    return runs.assign(value=runs["value"] * runs["unit"].map(factors), unit=unit)


def _taken_apart(column: str) -> tuple[str, KnownUnit | None]:
    name, unit = split_unit(column)
    return re.sub(r"[\s_.:-]+", "", name).lower(), unit


def _factor(unit: KnownUnit | None, other: KnownUnit | None) -> float | None:
    """How many of the other unit one is; None where they measure different things."""
    if unit is None or other is None or unit.kind != other.kind or _counted(unit) != _counted(other):
        return None
    return unit.factor / other.factor


def _counted(unit: KnownUnit) -> tuple[str, ...]:
    """What a unit counts, of its prefix and of the time that a rate is over aside: B of GB/s, images of images/min."""
    amount, *over = unit.label.split("/")
    base = LABELS[amount][0] if amount in LABELS else amount
    return (base, *(over[1:] if unit.kind == "rate" else over))
