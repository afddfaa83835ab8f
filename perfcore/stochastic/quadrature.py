"""What follows from a distribution's quantiles or its distribution function alone, for any distribution."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from perfcore.base.arrays import Floats

Function = Callable[[Floats], npt.ArrayLike]

_PANELS, _NODES = 50, 20  # of Gauss-Legendre: a kink in one panel costs little
_NODES_OF_SCORE = 200  # on each side of the actual value
_STEP = 1e-5  # of the middle half's width: between the errors of rounding and of curvature


@functools.cache
def levels_and_weights(panels: int = _PANELS, count: int = _NODES) -> tuple[Floats, Floats]:
    """Levels (n,) strictly between 0 and 1, and weights (n,): means of functions of quantiles."""
    nodes, weights = np.polynomial.legendre.leggauss(count)
    u = ((0.5 * (nodes + 1.0) + np.arange(panels)[:, None]) / panels).ravel()
    # A step from 0 to 1 so smooth that nodes crowd at both ends, where quantiles may be infinite; and its slope.
    levels, slope = u**3 * (10.0 - 15.0 * u + 6.0 * u**2), 30.0 * u**2 * (1.0 - u) ** 2
    return levels, np.tile(0.5 * weights, panels) / panels * slope


def moments_of(quantile: Function) -> tuple[float, float]:
    """Mean and standard deviation by quadrature over the quantiles."""
    levels, weights = levels_and_weights()
    values = np.asarray(quantile(levels), dtype=np.float64)
    mean = float(weights @ values)
    return mean, math.sqrt(float(weights @ (values - mean) ** 2))


def _flipped(bits: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """The bits of floats as whole numbers in the order of the floats, neighbours for neighbours; and back."""
    order: npt.NDArray[np.int64] = bits ^ ((bits >> 63) & np.iinfo(np.int64).max)
    return order


def _as_floats(order: npt.NDArray[np.int64]) -> Floats:
    return np.asarray(_flipped(order)).view(np.float64)


def _least_float(reached: Callable[[Floats], npt.NDArray[np.bool_]], low: Floats, high: Floats) -> Floats:
    """The smallest float from ``low`` to ``high`` at which something is reached that is reached at ``high``."""
    order = [_flipped(np.asarray(ends + 0.0).view(np.int64)) for ends in (low, high)]  # -0.0 becomes 0.0
    below, above = order[0] - 1, order[1]
    for _ in range(65):  # halves what 64 bits can tell apart, so that no bracket is needed that suits the scale
        middle = (below >> 1) + (above >> 1) + (below & above & 1)
        middle = np.where(middle <= below, above, middle)
        is_reached = reached(_as_floats(middle))
        below, above = np.where(is_reached, below, np.minimum(middle, above - 1)), np.where(is_reached, middle, above)
    return _as_floats(above)


def places_reaching(cdf: Function, support: tuple[float, float], q: npt.ArrayLike) -> Floats:
    """Quantiles from a distribution function: the smallest float at which it reaches ``q`` (...)."""
    levels = np.asarray(q, dtype=np.float64)
    low, high = (np.full(levels.shape, end, dtype=np.float64) for end in support)
    inside = np.where((levels > 0.0) & (levels < 1.0), levels, 0.5)
    places = _least_float(lambda x: np.asarray(cdf(x)) >= inside, low, high)
    places = np.where(levels == 0.0, low, np.where(levels == 1.0, high, places))
    return np.where((levels >= 0.0) & (levels <= 1.0), places, np.nan)


def levels_reached(quantile: Function, x: npt.ArrayLike) -> Floats:
    """Distribution function from quantiles: the largest level whose quantile is at most ``x`` (...)."""
    places = np.asarray(x, dtype=np.float64)
    above: Floats = _least_float(
        lambda q: ~(np.asarray(quantile(np.minimum(q, 1.0))) <= places) | (q > 1.0),
        np.zeros(places.shape),
        np.full(places.shape, np.nextafter(1.0, 2.0)),
    )
    levels = np.nextafter(above, -1.0)  # beyond the last level that is small enough
    return np.where(np.isnan(places), np.nan, np.maximum(levels, 0.0))


def density_of(cdf: Function, quartiles: tuple[float, float], x: npt.ArrayLike) -> Floats:
    """Density as the slope of a distribution function at ``x`` (...)."""
    places = np.asarray(x, dtype=np.float64)
    width = _STEP * (quartiles[1] - quartiles[0])
    if width == 0.0:
        return np.zeros(places.shape)
    low, high = places - width, places + width
    slope: Floats = (np.asarray(cdf(high)) - np.asarray(cdf(low))) / (high - low)
    return np.maximum(slope, 0.0)


def crps_of(quantile: Function, level: float, actual: float) -> float:
    """Continuous ranked probability score of any distribution, by quadrature over its quantiles.

    The score is twice the integral of the quantile loss over all levels (T. Gneiting and A. E. Raftery, "Strictly
    Proper Scoring Rules, Prediction, and Estimation", 2007, section 4.2, and Laio and Tamea, 2007), by Gauss-Legendre
    nodes on both sides of the actual value's own level, where the loss bends.
    """
    step, weights = levels_and_weights(1, _NODES_OF_SCORE)
    low, high = level * step, 1.0 - (1.0 - level) * step
    # A level that was rounded to 0 or 1 may have an infinite quantile, but no weight.
    low, high = np.maximum(low, np.finfo(np.float64).tiny), np.minimum(high, np.nextafter(1.0, 0.0))
    below = level * np.sum(weights * low * (actual - np.asarray(quantile(low))))
    above = (1.0 - level) * np.sum(weights * (1.0 - high) * (np.asarray(quantile(high)) - actual))
    return 2.0 * float(below + above)
