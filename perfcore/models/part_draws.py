"""What data leave open about a model, part by part: draws by which two models are compared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from perfcore.base.errors import PerfError
from perfcore.base.plain_name import plain_name

if TYPE_CHECKING:
    from perfcore.models.model import Model

__all__ = [
    "CATEGORY",
    "N_DRAWS",
    "Drawn",
    "GrowthDraws",
    "PartDraws",
    "draws_by_interval",
    "sum_of_parts",
    "whole_by_interval",
]

Floats = npt.NDArray[np.float64]

CATEGORY = "category"  # the variable of models by category; their first level is the total
N_DRAWS = 256  # of each part; pairs of independent draws then resolve probabilities of 2e-5
_SUMS = 8  # ways to put the draws of independent parts together, for smooth tails of their sum
_COVERAGE = 0.95  # of the bounds that stand for draws where a model has none


@dataclass(frozen=True)
class Drawn:
    """Predicted values and what is left open about them.

    Parameters
    ----------
    values : (..., T) float
        As the model predicts them at T points.
    draws : (..., T, N) float
        Equally probable values at each point, ascending; NaN where the model gives no bounds. N is a multiple of 64.
    """

    values: Floats
    draws: Floats


@dataclass(frozen=True)
class PartDraws:
    """A model at T points by its K parts, which are independent of one another.

    Parameters
    ----------
    what : str
        What a part is: ``"category"``, ``"path"``; empty where the model has none.
    names : tuple of str
    keys : tuple of str
        What parts of two models are matched by.
    parts : Drawn
        Values (K, T), draws (K, T, N).
    total : Drawn or None
        Values (T,), draws (T, N) of the whole; None where it is the sum of the parts.
    single_runs : bool
        The draws are of single runs, which hold their noise, and not of means.
    left_out : mapping of str to str
        Parts that no model could be fitted to, and why.
    """

    what: str
    names: tuple[str, ...]
    keys: tuple[str, ...]
    parts: Drawn
    total: Drawn | None
    single_runs: bool
    left_out: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class GrowthDraws:
    """How the K parts of a model grow.

    Parameters
    ----------
    laws : tuple of str
        The likeliest of each part.
    classes : tuple of str
        All classes of growth, such as ``"linear"``; later ones grow faster (C).
    probabilities : (K, q, C) float
        Of the classes, over each parameter.
    symbols : tuple of str
        Parameters.
    exponents : (K, q, N) float
        Equally probable exponents of a power of each parameter that grows as the part does, ascending.
    """

    laws: tuple[str, ...]
    classes: tuple[str, ...]
    probabilities: Floats
    symbols: tuple[str, ...]
    exponents: Floats


def draws_by_interval(model: Model, points: Mapping[str, npt.NDArray[Any]]) -> PartDraws:
    """Draws of a model that has none of its own: two halves of normal distributions with its bounds.

    Parameters
    ----------
    model : Model
        Its categories are the parts; a model without has none.
    points : mapping of str to (T,) float or str
        Without the category.
    """
    if CATEGORY not in model.levels:
        return whole_by_interval(model, points)
    here = {name: values for name, values in points.items() if name in model.variables}
    whole_name, *names = model.levels[CATEGORY]
    drawn = [_by_interval(model, {**here, CATEGORY: np.full(_length(points), name)}) for name in (whole_name, *names)]
    parts = Drawn(np.stack([one.values for one in drawn[1:]]), np.stack([one.draws for one in drawn[1:]]))
    return PartDraws(CATEGORY, tuple(names), tuple(map(plain_name, names)), parts, drawn[0], single_runs=True)


def whole_by_interval(model: Model, points: Mapping[str, npt.NDArray[Any]]) -> PartDraws:
    """The same of a model that has no parts.

    Parameters
    ----------
    model : Model
    points : mapping of str to (T,) float or str
    """
    here = {name: values for name, values in points.items() if name in model.variables}
    none = Drawn(np.empty((0, _length(points))), np.empty((0, _length(points), N_DRAWS)))
    whole = _by_interval(model, next(iter(here.values())) if len(model.variables) == 1 else here)
    return PartDraws("", (), (), none, whole, single_runs=True)


def _length(points: Mapping[str, npt.NDArray[Any]]) -> int:
    return len(next(iter(points.values())))


def _by_interval(model: Model, points: Any) -> Drawn:
    from scipy.special import ndtri

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
    """The sum of independent parts.

    Parameters
    ----------
    parts : Drawn
        Values (K, T), draws (K, T, N).
    chosen : (K,) bool
    seed : int
        Of the order in which draws are put together.

    Returns
    -------
    Drawn
        Values (T,), the medians of the sum, and draws (T, 8 N).

    Examples
    --------
    >>> exact = Drawn(np.array([[1.0], [2.0]]), np.repeat([[[1.0]], [[2.0]]], 64, axis=2))
    >>> sum_of_parts(exact, np.array([True, True]), seed=0).values
    array([3.])
    """
    rng = np.random.default_rng(seed)
    n_draws = parts.draws.shape[-1]
    found = np.empty((parts.draws.shape[1], _SUMS * n_draws))
    for place, row in enumerate(found):
        own = parts.draws[chosen, place]
        row[:] = np.concatenate([rng.permuted(own, axis=1).sum(axis=0) for _ in range(_SUMS)])
    found.sort(axis=1)
    if chosen.sum() == 1:
        return Drawn(parts.values[chosen][0], found)
    return Drawn(np.median(found, axis=1), found)
