"""Speedup and efficiency of all paths together, or of one, with all that the data leave open."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from perf_scaling.posterior.posterior import DRAWS
from perfcore.base.arrays import Booleans, Floats
from perfcore.data.columns import guess_roles
from perfcore.data.units import is_time

if TYPE_CHECKING:
    from perf_scaling.fitted import FittedModel


_HALF = 0.5
_FALLS = 1.2  # less is what a problem that grows with the processors may gain by caches or noise
_SIDES = (0.5, 0.025, 0.975)
_STEPS = 15  # levels at which the fall of the efficiency is looked for
_PATHS_AT_ONCE = 256
_SEED = 0  # of the order in which draws of different paths are put together


class AtLevel(NamedTuple):
    """At one number of processors; bounds are of 95 %."""

    level: float
    measured: bool
    time: tuple[float, float, float]  # median, lower and upper bound
    speedup: tuple[float, float, float]
    efficiency: tuple[float, float, float]


class Speedup(NamedTuple):
    """How well more processors are used: by a problem that stays the same, or by one that grows with them.

    G. M. Amdahl, "Validity of the single processor approach", 1967; J. L. Gustafson, "Reevaluating Amdahl's law", 1988.
    """

    symbol: str  # the parameter that counts processors
    base: float  # its smallest measured level
    levels: tuple[AtLevel, ...]  # the measured ones and the target
    half: float | None  # where the efficiency falls below 50 %; None where it does not up to the last level
    scaling: str
    is_told: bool  # whether the table or the user says so; otherwise it is strong, since the time falls


def speedup(model: FittedModel, path: int | None = None) -> Speedup | None:
    """Speedup and efficiency over the first parameter, others held at the target."""
    symbol = model.symbols[0]
    whole = model.whole
    if not _is_of_processors(model) or is_open(model):
        return None
    base, target = float(model.measured[:, 0].min()), model.target[symbol]
    shown_levels = sorted({*model.measured[:, 0].tolist(), *([target] if target > base else [])})
    steps = np.geomspace(base, shown_levels[-1], _STEPS)
    levels = np.concatenate([shown_levels, steps])
    points = np.tile(model.target_point, (len(levels), 1))
    points[:, 0] = levels
    paths = np.flatnonzero(whole.counted).tolist() if path is None else [path]
    measured = np.isin(levels, model.measured[:, 0])
    times = _drawn_sums(model, points, paths, measured)
    ratio = times[:, :1] / times
    gain = levels / base
    weak = model.scaling == "weak"
    share = ratio if weak else ratio / gain
    faster = ratio * gain if weak else ratio
    sides = [np.quantile(draws, _SIDES, axis=0).T.tolist() for draws in (times, faster, share)]
    if len(paths) == 1:  # the same digits as of its prediction
        mean, run = (model.band(points, 0.95, paths, run=run)[0] for run in (False, True))
        sides[0] = np.where(measured[:, None], mean, run).tolist()
    return Speedup(
        symbol=symbol,
        base=base,
        levels=tuple(
            AtLevel(level, bool(measured[k]), *(tuple(side[k]) for side in sides))
            for k, level in enumerate(shown_levels)
        ),
        half=_falls_below(steps, np.median(share[:, len(shown_levels) :], axis=0)),
        scaling="weak" if weak else "strong",
        is_told=bool(model.scaling),
    )


def is_open(model: FittedModel) -> bool:
    """Whether speedup is left out for one reason: nobody says which scaling it is, and the time does not fall."""
    return _is_of_processors(model) and not model.scaling and not _falls(model)


def is_apart(model: FittedModel) -> bool:
    """Whether speedup is left out for one reason: paths are of several metrics or systems, and have no sum."""
    return model.whole.several and _is_time(model) and _counts_processors(model.columns[model.symbols[0]])


def _is_of_processors(model: FittedModel) -> bool:
    return not model.whole.several and _is_time(model) and _counts_processors(model.columns[model.symbols[0]])


def _falls(model: FittedModel) -> bool:
    """Whether the time at the largest measured level is clearly less than at the smallest."""
    points = np.tile(model.target_point, (2, 1))
    points[:, 0] = model.measured[:, 0].min(), model.measured[:, 0].max()
    paths = np.flatnonzero(model.whole.counted)
    first, last = model.posterior.of_paths(paths).quantiles(points, [0.5])[:, :, 0].sum(axis=0)
    return bool(first > _FALLS * last)


def _is_time(model: FittedModel) -> bool:
    if model.unit is not None:
        return is_time(model.unit)
    name = model.value_name
    return guess_roles([name], {name}).value == name


def _counts_processors(column: str) -> bool:
    return bool(guess_roles([column], {column}).parameters)


def total_draws(model: FittedModel) -> Floats:
    """Equally probable sums (N,) of all paths of a measurement at the target."""
    paths = np.flatnonzero(model.whole.counted).tolist()
    return _drawn_sums(model, model.target_point[None], paths, np.zeros(1, dtype=np.bool_))[:, 0]


def _drawn_sums(model: FittedModel, points: Floats, paths: Sequence[int], measured: Booleans) -> Floats:
    """Equally probable sums of paths (N, T), of means where they were measured and of a run elsewhere.

    What is uncertain of one path is independent of the others.
    """
    rng = np.random.default_rng(_SEED)
    sums = np.zeros((DRAWS, len(points)))
    for begin in range(0, len(paths), _PATHS_AT_ONCE):
        draws = model.draws(points, paths[begin : begin + _PATHS_AT_ONCE])
        # In an order of their own for each path.
        order = rng.permuted(np.tile(np.arange(DRAWS), (len(draws.values), 1)), axis=1)
        values = np.where(measured, draws.values, draws.runs())
        sums += np.take_along_axis(values, order[:, :, None], axis=1).sum(axis=0)
    return sums


def _falls_below(levels: Floats, efficiency: Floats) -> float | None:
    """First level where the efficiency is a half, between those that enclose it on a logarithmic axis."""
    below = np.flatnonzero(efficiency < _HALF)
    if not len(below):
        return None
    k = int(below[0])
    share = (efficiency[k - 1] - _HALF) / (efficiency[k - 1] - efficiency[k])
    return float(levels[k - 1] * (levels[k] / levels[k - 1]) ** share)
