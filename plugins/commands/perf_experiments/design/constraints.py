"""Conditions that every point of a design meets."""

from __future__ import annotations

import os
from collections.abc import Sequence

import numpy as np

from perf_experiments.design.factors import Point, is_number
from perf_formulas.formula import Formula
from perfcore.base.errors import OptionError, UnknownNameError


def available_cores() -> int:
    """Processors that this process may use, which in a batch job or container are fewer than the machine has."""
    return len(os.sched_getaffinity(0))


def meeting(points: Sequence[Point], constraints: Sequence[str]) -> tuple[list[Point], dict[str, int]]:
    """The points that meet all constraints, and how many each constraint was the first to refuse."""
    kept, refused = list(points), {}
    for text in constraints:
        formula = Formula(text)
        if not points:
            break
        first_point = points[0]
        for name in formula.names:
            if name != "cores" and name not in first_point:
                raise OptionError(f"constraint {text!r}: {UnknownNameError('factor', name, [*first_point, 'cores'])}")
            if name != "cores" and not is_number(first_point[name]):
                raise OptionError(f"constraint {text!r}: the levels of {name} are words, which no formula takes")
        values = {name: [point[name] for point in kept] for name in formula.names if name != "cores"}
        shape = {"": np.zeros(len(kept))}  # also where the formula is one of cores alone
        outcomes = formula.evaluate({**shape, **values, "cores": available_cores()})  # type: ignore[dict-item]
        fits = (outcomes != 0.0) & ~np.isnan(outcomes)
        refused[text] = int((~fits).sum())
        kept = [point for point, fit in zip(kept, fits.tolist(), strict=True) if fit]
    return kept, refused
