"""Candidates of an allocation, and work divided among machines, for ``perf stochastic schedule``."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from perf_structural.algebra import leaves
from perf_structural.decomposition import Decomposition, Draws, balance
from perf_structural.model_file import read_candidates
from perf_structural.prediction import Part, Prediction, predict_jointly
from perf_structural.statistic import Statistic
from perf_structural.structural_model import StructuralModel
from perfcore.base.errors import OptionError


def all_candidates(
    model: StructuralModel, candidates: Sequence[str | os.PathLike[str]] | Mapping[str, Mapping[str, Any]]
) -> dict[str, Mapping[str, Any]]:
    """Candidates of a model and of files or mappings, each name once."""
    gathered = dict(model.candidates)
    sources = (
        {"candidates": candidates}
        if isinstance(candidates, Mapping)
        else {os.fspath(path): read_candidates(path) for path in candidates}
    )
    for source, inputs_by_name in sources.items():
        for name, inputs in inputs_by_name.items():
            if name in gathered:
                raise OptionError(f"{source}: there is a candidate {name!r} already")
            gathered[name] = inputs
    return gathered


def divided(
    model: StructuralModel,
    total: int,
    statistic: Statistic,
    unit_time: str | None,
    fixed_time: str | None,
    options: Mapping[str, Any],
) -> Decomposition:
    """Work divided so that all machines end at the same time by a statistic."""
    if unit_time is None:
        raise OptionError("--divide needs --unit-time NAME, the component with each machine's time for one unit")
    parts = [model.part_named(name) for name in (unit_time, fixed_time) if name is not None]
    times, *others = predict_jointly(parts, options)
    fixed = others[0] if others else None
    if fixed is not None and fixed[0].unit != times[0].unit:
        raise OptionError(
            f"--unit-time is in {times[0].unit or 'no unit'} and --fixed-time in {fixed[0].unit or 'no unit'}"
        )
    return balance(
        [time.value for time in times],
        total,
        statistic,
        None if fixed is None else [time.value for time in fixed],
        times[0].unit,
        _draws(parts, times, fixed),
    )


def _draws(
    parts: Sequence[Part], times: Sequence[Prediction], fixed: Sequence[Prediction] | None
) -> list[Draws] | None:
    """Of each machine; they decide where both of its times use one quantity, or were sampled anyway."""
    needs = [[set(leaves(cell)) for cell in part.composition.result.cells.values()] for part in parts]
    draws = []
    for machine, time in enumerate(times):
        fixed_time = fixed[machine] if fixed is not None and machine < len(fixed) else None
        if time.draws is None or (fixed_time is not None and fixed_time.draws is None):
            return None
        shared = fixed_time is not None and bool(needs[0][machine] & needs[1][machine])
        was_sampled = any(each is not None and each.evaluation.sample is not None for each in (time, fixed_time))
        fixed_draws = (
            np.zeros(time.draws.size) if fixed_time is None or fixed_time.draws is None else fixed_time.draws.ravel()
        )
        draws.append(Draws(time.draws.ravel(), fixed_draws, shared or was_sampled))
    return draws
