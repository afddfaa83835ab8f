"""Benchmarks of two versions, matched by name."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from perf_gate.reading.cases import case_columns
from perf_gate.reading.long_table import TABLES, VERSIONS, LongTable, better_of, unsure_of_better
from perfcore.base import progress
from perfcore.base.errors import DataError, listing
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


@dataclass(frozen=True)
class Matched:
    """Runs of the benchmarks that both versions have."""

    names: tuple[str, ...]  # in the order of the first version
    runs: tuple[dict[str, pd.DataFrame], dict[str, pd.DataFrame]]  # of each benchmark
    larger_is_better: dict[str, bool]
    units: dict[str, str]
    only: tuple[tuple[str, ...], tuple[str, ...]]  # benchmarks of one version alone


def match(first: LongTable, second: LongTable, better: str | None = None) -> Matched:
    """Match benchmarks by name; one that each side has alone is the same, whatever it is called."""
    second = _called_alike(first, second)
    named = _named((first, second))
    groups = tuple({str(name): rows for name, rows in side.groupby("benchmark", sort=False)} for side in named)
    if len(groups[0]) == len(groups[1]) == 1:
        (one,), (other,) = groups
        groups = (groups[0], {one: groups[1][other]})
    names = tuple(name for name in groups[0] if name in groups[1])
    only = tuple(tuple(name for name in groups[k] if name not in groups[1 - k]) for k in (0, 1))
    if not names:
        raise DataError(
            f"{first.source} and {second.source} have no benchmark in common ({listing(only[0], 3)}; "
            f"{listing(only[1], 3)}); name the columns that tell them apart with -r code=NAME"
        )
    units, larger, unsure = {}, {}, dict[str, None]()
    for name in names:
        units[name] = str(groups[0][name]["unit"].iloc[0])
        for side, group in zip((first, second), groups, strict=True):
            converted = in_unit(group[name], units[name])
            if converted is None:
                foreign = next(unit for unit in group[name]["unit"] if unit != units[name])
                problem = f"{first.source} is in {units[name] or 'no unit'}, {side.source} in {foreign or 'no unit'}"
                raise DataError(f"{name}: {problem}; convert one")
            group[name] = converted
        if better is None and unsure_of_better(groups[0][name]):
            unsure[str(groups[0][name]["metric"].iloc[0])] = None
        larger[name] = (better or better_of(groups[0][name])) == "larger"
    if unsure:
        progress.note(
            f"nothing says which values of {listing(unsure, 3)} are better; smaller is taken, --better larger says "
            "otherwise"
        )
    return Matched(names, (groups[0], groups[1]), larger, units, (only[0], only[1]))


def _called_alike(first: LongTable, second: LongTable) -> LongTable:
    """The second with what it measures called as by the first, where it is the same but for spelling and unit."""
    names = same_metrics(list(dict.fromkeys(first.runs["metric"])), list(dict.fromkeys(second.runs["metric"])))
    for name, metric in names.items():
        progress.note(f"{name} of {second.source} is taken as {metric} of {first.source}")
    return replace(second, runs=second.runs.assign(metric=second.runs["metric"].replace(names))) if names else second


def _named(sides: tuple[LongTable, LongTable]) -> list[pd.DataFrame]:
    """Runs of both with a column ``benchmark``: what tells benchmarks apart in either file, and no more."""
    keys = [key for key in dict.fromkeys([*sides[0].keys, *sides[1].keys]) if all(key in s.labels for s in sides)]
    # What tells the files apart does not tell benchmarks apart.
    keys = [key for key in keys if key.lower() not in VERSIONS or any(s.labels[key].nunique() > 1 for s in sides)]
    if sides[0].reader in TABLES and sides[1].reader in TABLES and sides[0] is not sides[1]:
        metric = {str(name) for side in sides for name in side.runs["metric"]}
        keys += case_columns([side.labels for side in sides], keys, metric)
    telling = [key for key in keys if any(side.labels[key].nunique(dropna=False) > 1 for side in sides)]
    code = {key for side in sides for key in keys if side.labels[key].dtype.kind not in "iuf"}
    name_keys = telling or [key for key in keys if key in code][:1]
    metrics = {str(metric) for side in sides for metric in side.runs["metric"]}
    several = any(side.runs["metric"].nunique() > 1 for side in sides)
    tables = []
    for side in sides:
        names = None
        for key in name_keys:
            texts = side.labels[key].map(text_of)
            part = (texts if key in code else f"{key}=" + texts).where(side.labels[key].notna(), "")
            names = part if names is None else (names + " " + part).str.strip()
        if names is None:
            names = side.runs["metric"]
        elif several:
            names = names + " " + side.runs["metric"]
        across = side.local and (side.files > 1 or sides[0].source != sides[1].source)
        unknown = {"order": float("nan"), "round": float("nan")} if across else {}
        if side.local_rounds and (side.files > 1 or sides[0].source != sides[1].source):
            unknown = {"round": float("nan")}
        tables.append(side.runs.assign(benchmark=names, **unknown))
    if not several and len(metrics) > 1:
        raise DataError(
            f"{sides[0].source} and {sides[1].source} measure different things, or in different units "
            f"({', '.join(sorted(metrics))}); name what both have with --value, or convert one"
        )
    return tables


def text_of(value: object) -> str:
    """A cell as a name."""
    if isinstance(value, float) and value.is_integer():  # also of whole numbers among which some are missing
        value = int(value)
    return " ".join(str(value).split())
