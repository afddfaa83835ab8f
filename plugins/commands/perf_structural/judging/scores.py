"""How good a distribution was as a prediction of what then happened: proper scores and places in the distribution.

Source: T. Gneiting and A. E. Raftery, "Strictly Proper Scoring Rules, Prediction, and Estimation", Journal of the
American Statistical Association 102 (2007). All scores here are losses, in the unit of the quantity: less is better.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

__all__ = ["crps_normal", "crps_piecewise_linear", "crps_quantiles", "interval_score", "shares_by_rank"]

Floats = npt.NDArray[np.float64]

_NODES = 200  # of the quadrature over quantiles, on each side of the actual value


def crps_normal(mean: npt.ArrayLike, std: npt.ArrayLike, actual: npt.ArrayLike) -> Floats:
    """Continuous ranked probability score of normal distributions (section 4.2 of the source).

    Parameters
    ----------
    mean, std, actual : (...) float
        Where a standard deviation is 0, the score is the absolute error.

    Examples
    --------
    >>> round(float(crps_normal(0.0, 1.0, 0.0)), 6)  # (sqrt(2) - 1) / sqrt(pi)
    0.233695
    """
    from scipy import special

    centre, spread, x = (np.asarray(given, dtype=np.float64) for given in (mean, std, actual))
    error = x - centre
    z = np.divide(error, spread, out=np.zeros(np.broadcast_shapes(error.shape, spread.shape)), where=spread > 0.0)
    density = np.exp(-0.5 * z**2) / np.sqrt(2.0 * np.pi)
    score = spread * (z * (2.0 * special.ndtr(z) - 1.0) + 2.0 * density - 1.0 / np.sqrt(np.pi))
    return np.where(spread > 0.0, score, np.abs(error))


def crps_piecewise_linear(knots: npt.ArrayLike, cdf: npt.ArrayLike, actual: float) -> float:
    """Continuous ranked probability score of a distribution whose CDF is linear between knots; exact.

    Integrates ``(F(x) - [x >= actual])^2`` piece by piece: on each, the integrand is the square of a line.

    Parameters
    ----------
    knots : (n,) float
        Not decreasing; a jump of the CDF is two equal knots.
    cdf : (n,) float
        From 0 to 1.
    actual : float

    Examples
    --------
    >>> round(crps_piecewise_linear([0.0, 1.0], [0.0, 1.0], 0.5), 6)  # uniform: the integral of x^2 up to 1/2, twice
    0.083333
    """
    at, height = np.asarray(knots, dtype=np.float64), np.asarray(cdf, dtype=np.float64)
    outside = max(at[0] - actual, actual - at[-1], 0.0)  # there F is 0 or 1 and the integrand 1
    inner = np.clip(actual, at[0], at[-1])
    first, last = at.searchsorted(inner, side="left"), at.searchsorted(inner, side="right")
    # Within a piece F is the same from both sides; at a knot it may jump.
    below, above = (height[first], height[last - 1]) if last > first else np.interp([inner, inner], at, height)
    left = _square_of_lines(np.append(at[:first], inner), np.append(height[:first], below))
    right = _square_of_lines(np.append(inner, at[last:]), 1.0 - np.append(above, height[last:]))
    return float(outside + left + right)


def _square_of_lines(at: Floats, height: Floats) -> float:
    first, second = height[:-1], height[1:]
    return float(np.sum(np.diff(at) * (first**2 + first * second + second**2)) / 3.0)


def crps_quantiles(quantile: Callable[[Floats], Floats], level: float, actual: float) -> float:
    """Continuous ranked probability score of any distribution, by quadrature over its quantiles.

    The score is twice the integral of the quantile loss over all levels (Gneiting and Raftery, section 4.2, and
    Laio and Tamea, 2007), by Gauss-Legendre nodes on both sides of the actual value's own level, where the loss bends.

    Parameters
    ----------
    quantile : callable
        Levels (n,) between 0 and 1 to values (n,).
    level : float
        Probability of values up to ``actual``.
    actual : float
    """
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    u = 0.5 * (nodes + 1.0)
    # A step so smooth that nodes crowd at both of its ends, where quantiles may grow without bounds.
    step, slope = u**3 * (10.0 - 15.0 * u + 6.0 * u**2), 30.0 * u**2 * (1.0 - u) ** 2
    low, high = level * step, 1.0 - (1.0 - level) * step
    # A level that was rounded to 0 or 1 may have an infinite quantile, but no weight.
    low, high = np.maximum(low, np.finfo(np.float64).tiny), np.minimum(high, np.nextafter(1.0, 0.0))
    below = level * np.sum(weights * slope * low * (actual - quantile(low)))
    above = (1.0 - level) * np.sum(weights * slope * (1.0 - high) * (quantile(high) - actual))
    return float(below + above)  # twice the loss, and half of Gauss's weights, which belong to an interval of length 2


def interval_score(lower: npt.ArrayLike, upper: npt.ArrayLike, coverage: float, actual: npt.ArrayLike) -> Floats:
    """Score of central prediction intervals (the source's equation 43): width, and a fine for what lies outside.

    Parameters
    ----------
    lower, upper, actual : (...) float
    coverage : float, 0 to 1
        Probability that the interval is to hold: its bounds are the quantiles ``(1 - coverage) / 2`` and
        ``(1 + coverage) / 2``.

    Examples
    --------
    >>> interval_score(1.0, 3.0, 0.8, [2.0, 3.5])
    array([2., 7.])
    """
    low, high, x = (np.asarray(given, dtype=np.float64) for given in (lower, upper, actual))
    fine = 2.0 / (1.0 - coverage)
    return (high - low) + fine * np.maximum(low - x, 0.0) + fine * np.maximum(x - high, 0.0)


def shares_by_rank(masses: npt.ArrayLike, bin_of_actual: int | None) -> Floats:
    """Which of the bins, ordered from the most to the least probable, the actual value fell into.

    Parameters
    ----------
    masses : (m,) float
        Probabilities of the bins.
    bin_of_actual : int, optional
        None where the value lies outside of all bins.

    Returns
    -------
    (m + 1,) float
        One in the place of the bin's rank, last: outside. Bins of equal probability have no order among themselves;
        each of their ranks gets an equal part.

    Examples
    --------
    >>> shares_by_rank([0.2, 0.5, 0.3], 2)
    array([0., 1., 0., 0.])
    >>> shares_by_rank([0.25, 0.5, 0.25], 0)
    array([0. , 0.5, 0.5, 0. ])
    """
    probability = np.asarray(masses, dtype=np.float64)
    found = np.zeros(len(probability) + 1)
    if bin_of_actual is None:
        found[-1] = 1.0
        return found
    ranked = np.sort(probability)[::-1]
    alike = np.isclose(ranked, probability[bin_of_actual], rtol=1e-12, atol=0.0)
    found[:-1][alike] = 1.0 / alike.sum()
    return found
