"""What the functions take: paths, levels, durations, as Python values or as the command line has them."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from perf_experiments.design.factors import parse_factor
from perf_tables.arguments import parse_duration
from perfcore.models.model import Model, load

PathLike = str | os.PathLike[str]
Levels = Mapping[str, Sequence[Any] | str]


def seconds_of(duration: str | float) -> float:
    """Seconds of a duration: ``"2h"``, or a number of them."""
    return parse_duration(str(duration)) / 1e9


def levels_of(factors: Levels) -> dict[str, Sequence[Any]]:
    """Levels of each factor, those given as a text read as the command line's."""
    return {
        name: parse_factor(f"{name}={levels}")[1] if isinstance(levels, str) else levels
        for name, levels in factors.items()
    }


def model_of(model: Model | PathLike) -> Model:
    """A model, read where a path is given."""
    return model if isinstance(model, Model) else load(model)
