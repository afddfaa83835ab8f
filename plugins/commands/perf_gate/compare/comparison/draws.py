"""Draws of models: their own, or such as their bounds allow; and sums of independent parts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from perf_gate.compare.points import CATEGORY, points_of
from perf_tables.categories.plain_name import plain_name
from perfcore.base.errors import PerfError
from perfcore.hooks.registry import registry
from perfcore.models.model import Model
from perfcore.models.part_draws import N_DRAWS, Drawn, PartDraws


Columns = Mapping[str, npt.NDArray[Any]]

_SUMS = 8  # ways to put the draws of independent parts together, for smooth tails of their sum
_COVERAGE = 0.95  # of the bounds that stand for draws where a model has none


def draws_of(model: Model, points: Columns) -> PartDraws:
    """What a model says of its parts, or else what its bounds say."""
    drawn = model.part_draws(points)
    return draws_by_interval(model, points) if drawn is None else drawn


def draws_by_interval(model: Model, points: Columns) -> PartDraws:
    """Draws of a model that has none of its own: two halves of normal distributions with its bounds."""
    count = len(next(iter(points.values())))
    if CATEGORY not in model.levels or model.kind in registry().entries("models"):
        none = Drawn(np.empty((0, count)), np.empty((0, count, N_DRAWS)))
        return PartDraws("", (), (), none, _by_interval(model, points), single_runs=True)
    whole_name, *names = model.levels[CATEGORY]
    whole, *drawn = (_by_interval(model, {**points, CATEGORY: np.full(count, name)}) for name in (whole_name, *names))
    parts = Drawn(np.stack([part.values for part in drawn]), np.stack([part.draws for part in drawn]))
    return PartDraws(CATEGORY, tuple(names), tuple(map(plain_name, names)), parts, whole, single_runs=True)


def _by_interval(model: Model, columns: Columns) -> Drawn:
    from scipy.special import ndtri

    points = points_of(model, columns)
    values = model.predict(points)
    try:
        bounds = model.predict(points, interval=_COVERAGE)[:, 1:]
    except PerfError:  # models of this kind, or of these data, have no bounds
        return Drawn(values, np.full((len(values), N_DRAWS), np.nan))
    places = ndtri((np.arange(N_DRAWS) + 0.5) / N_DRAWS)
    below, above = (values - bounds[:, 0])[:, None], (bounds[:, 1] - values)[:, None]
    spread = np.where(places < 0.0, below, above) / ndtri(0.5 + 0.5 * _COVERAGE)
    draws = values[:, None] + places * spread
    # Bounds of times are cut off at 0, and so are these.
    return Drawn(values, np.where((values > 0.0)[:, None], np.maximum(draws, 0.0), draws))


def sum_of_parts(parts: Drawn, chosen: npt.NDArray[np.bool_], seed: int) -> Drawn:
    """The sum of independent parts."""
    rng = np.random.default_rng(seed)
    n_draws = parts.draws.shape[-1]
    sums = np.empty((parts.draws.shape[1], _SUMS * n_draws))
    for place, row in enumerate(sums):
        draws = parts.draws[chosen, place]
        row[:] = np.concatenate([rng.permuted(draws, axis=1).sum(axis=0) for _ in range(_SUMS)])
    sums.sort(axis=1)
    if chosen.sum() == 1:
        return Drawn(parts.values[chosen][0], sums)
    return Drawn(np.median(sums, axis=1), sums)
