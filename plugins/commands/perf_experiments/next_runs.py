"""What `perf_experiments.next_points` is given: a target, limits and candidates of a model."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from perf_experiments.design import Design, Point, check_factors, full_factorial, level_of, meeting, read_design
from perf_tables.arguments import levels_at
from perfcore.base.errors import OptionError
from perfcore.models.model import Model

Places = str | Iterable[str] | Mapping[str, Any]


def target_point(model: Model, places: Places) -> Point:
    """One level of each variable: as named, else of the model's target and of its largest part there."""
    levels = levels_at(model, places, "--target")
    for name, several in levels.items():
        if len(several) > 1:
            raise OptionError(f"--target {name}: one level is expected, not {len(several)}")
    point = {name: level_of(name, one) for name, (one,) in levels.items()}
    point = {**{name: int(v) if v == int(v) else v for name, v in model.target.items()}, **point}
    open_levels = {name: names for name, names in model.levels.items() if name not in point}
    if open_levels and set(point) | set(open_levels) == set(model.variables):
        rows = list(itertools.product(*open_levels.values()))
        columns = dict(zip(open_levels, map(list, zip(*rows, strict=True)), strict=True))
        point |= zip(open_levels, rows[int(model.predict({**point, **columns}).argmax())], strict=True)
    return {name: point[name] for name in model.variables if name in point}


def largest_levels(model: Model, places: Places | None) -> dict[str, float]:
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


def candidate_points(model: Model, candidates: Any, constraints: Sequence[str]) -> list[Point] | None:
    """Points that can be measured; None for those that the model knows."""
    if candidates is None:
        if constraints:
            raise OptionError("--constraint needs --candidates")
        return None
    texts = [candidates] if isinstance(candidates, str) else candidates
    if isinstance(candidates, os.PathLike) or any(
        isinstance(item, str) and item.lower().endswith(".toml") for item in texts
    ):
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


def refuse(options: Mapping[str, Any], belongs_to: str) -> None:
    """Refuse options that are given and mean nothing here."""
    flags = sorted(name for name, value in options.items() if value is not None)
    if flags:
        raise OptionError(f"--{flags[0]} is for {belongs_to}")
