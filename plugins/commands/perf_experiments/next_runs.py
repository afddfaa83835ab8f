"""Which runs to make next: for a model's prediction, or for the precision of a store."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from perf_experiments.design import (
    Design,
    Point,
    check_factors,
    full_factorial,
    level_of,
    meeting,
    read_design,
)
from perf_experiments.recommendation import Recommendation, recommend
from perf_experiments.replications import Replications, needed_replications
from perf_experiments.run_records import parse_share
from perf_experiments.store import Store, is_store
from perf_tables.arguments import levels_at, parse_duration
from perfcore.base.errors import OptionError
from perfcore.data.units import NANOSECONDS
from perfcore.models.model import Model, load

PathLike = str | os.PathLike[str]
Places = str | Iterable[str] | Mapping[str, Any]


def advice_on(
    source: Model | PathLike, target: Places | None, candidates: Any, points: int | None, *, constraints: Sequence[str],
    per_second: bool, largest: Places | None, max_cost: str | float | None, precision: str | float | None,
    most: int | None, value: str | None,
) -> Recommendation | Replications:  # fmt: skip
    """What `perf_experiments.api.next_points` gives."""
    from_model: dict[str, Any] = {
        "target": target,
        "candidates": candidates,
        "points": points,
        "constraint": [*constraints] or None,
    }
    from_model |= {"per-second": per_second or None, "max": largest, "max-cost": max_cost}
    from_store = {"precision": precision, "most": most, "value": value}
    advice: Recommendation | Replications
    if not isinstance(source, Model) and is_store(_head(source)):
        _refuse(from_model, "a model")
        share = parse_share("2%" if precision is None else precision, "--precision")
        with Store.read(source) as store:
            advice = Replications(tuple(needed_replications(store.runs(), share, most or 30, value)), share)
    else:
        _refuse(from_store, "a store of runs")
        if target is None:
            raise OptionError("Missing option '--target': where the prediction matters, such as --target p=1024")
        count = 4 if points is None else points
        model = source if isinstance(source, Model) else load(source)
        possible = _candidates(model, candidates, constraints)
        advice = recommend(
            model,
            _target(model, target),
            possible,
            count,
            per_second=per_second,
            largest=_largest(model, largest),
            most_seconds=_seconds(max_cost),
        )
    return advice


def _target(model: Model, places: Places) -> Point:
    """The one level of each variable that is named."""
    levels = levels_at(model, places, "--target")
    for name, several in levels.items():
        if len(several) > 1:
            raise OptionError(f"--target {name}: one level is expected, not {len(several)}")
    return {name: level_of(name, one) for name, (one,) in levels.items()}


def _largest(model: Model, places: Places | None) -> dict[str, float]:
    """Limits by variable."""
    limits = {}
    for name, levels in ({} if places is None else levels_at(model, places, "--max")).items():
        try:
            (limit,) = map(float, levels)
        except (TypeError, ValueError):
            limit = 0.0
        if not limit > 0.0:
            raise OptionError(f"--max {name}: one positive number is expected")
        limits[name] = limit
    return limits


def _seconds(duration: str | float | None) -> float | None:
    if duration is None:
        return None
    seconds = parse_duration(duration) / NANOSECONDS["s"] if isinstance(duration, str) else float(duration)
    if not seconds > 0.0:
        raise OptionError("--max-cost: a positive time is expected")
    return seconds


def _candidates(model: Model, candidates: Any, constraints: Sequence[str]) -> list[Point] | None:
    """Points that can be measured; None for those that the model knows."""
    if candidates is None:
        if constraints:
            raise OptionError("--constraint needs --candidates")
        return None
    texts = [candidates] if isinstance(candidates, str) else candidates
    if isinstance(candidates, os.PathLike) or any(_is_design(item) for item in texts if isinstance(item, str)):
        if not isinstance(candidates, os.PathLike) and len(texts) > 1:
            raise OptionError("--candidates: one design, or levels of each variable, are expected")
        candidates = read_design(candidates if isinstance(candidates, os.PathLike) else texts[0])
    if isinstance(candidates, Design):
        points = candidates.chosen()
    elif isinstance(candidates, Mapping) or (texts and all(isinstance(item, str) for item in texts)):
        levels = check_factors(levels_at(model, candidates, "--candidates"))
        # Constraints may name a variable as the model does or as its column is called.
        points = [
            {**{model.variables[symbol]: level for symbol, level in point.items()}, **point}
            for point in full_factorial(levels)
        ]
    else:
        points = list(candidates)
    return meeting(points, constraints)[0]


def _is_design(text: str) -> bool:
    return text.lower().endswith(".toml")


def _refuse(options: Mapping[str, Any], belongs_to: str) -> None:
    flags = sorted(name for name, value in options.items() if value is not None)
    if flags:
        raise OptionError(f"--{flags[0]} is for {belongs_to}")


def _head(path: PathLike) -> bytes:
    """The first bytes of a file; none where it cannot be read, which is said by whoever reads it."""
    try:
        with Path(path).open("rb") as stream:
            return stream.read(100)
    except OSError:
        return b""
