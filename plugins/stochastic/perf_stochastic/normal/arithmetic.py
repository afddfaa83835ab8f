"""Arithmetic of normal distributions: the mean and standard deviation of a result, and how far it is from a normal.

Sums and differences are exact. For the others the mean and standard deviation are exact too, but for a quotient, which
has none: there they are the delta method's. The result is a normal in name only, and its error is estimated with it.

Sources: J. M. Schopf and F. Berman, "Performance Prediction in Production Environments", IPPS/SPDP 1998 (unrelated and
related values: here correlation 0 and 1); C. E. Clark, "The Greatest of a Finite Set of Random Variables", Operations
Research 9 (1961), equations 2 to 8; R. C. Geary, "The Frequency Distribution of the Quotient of Two Normal Variates",
Journal of the Royal Statistical Society 93 (1930); the skewness of a product from the cumulants of quadratic forms.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr, ndtri

from perfcore.base.errors import DataError


Floats = npt.NDArray[np.float64]

_GRID = np.linspace(-5.0, 5.0, 401)  # standard deviations at which two distribution functions are compared
_MIDPOINTS = ndtri((np.arange(4000) + 0.5) / 4000.0)
_HERMITE_NODES = 64
_LEGENDRE_NODES = 400
_REACH = 12.0  # standard deviations: the density there is 2e-32


@dataclass(frozen=True)
class Moments:
    """A result."""

    mean: float
    std: float
    error: float = 0.0
    remark: str = ""  # what else is to be said when the error is


def add(x: Moments, y: Moments, correlation: float) -> Moments:
    """Sum: means add, and variances with twice the covariance."""
    return Moments(x.mean + y.mean, _deviation(x.std, y.std, correlation))


def _deviation(a: float, b: float, correlation: float) -> float:
    """Standard deviation of a sum; hypot alone would not know of correlation, and the plain formula may overflow."""
    return math.hypot(a + correlation * b, b * math.sqrt(1.0 - correlation**2))


def _error_of_skewness(third: float, std: float) -> float:
    """Largest difference that a third central moment makes to the distribution function, by Edgeworth's first term."""
    return abs(third / std) / std / std / (6.0 * math.sqrt(2.0 * math.pi)) if std else 0.0


def multiply(x: Moments, y: Moments, correlation: float) -> Moments:
    """Product, with the exact mean and standard deviation."""
    both = x.std * y.std
    covariance = correlation * both
    linear = _deviation(y.mean * x.std, x.mean * y.std, correlation)
    std = math.hypot(linear, math.sqrt(both**2 + covariance**2))
    with_x = y.mean * x.std**2 + x.mean * covariance
    with_y = y.mean * covariance + x.mean * y.std**2
    third = 6.0 * with_x * with_y + 2.0 * covariance**3 + 6.0 * covariance * both**2
    return Moments(x.mean * y.mean + covariance, std, _error_of_skewness(third, std))


def divide(x: Moments, y: Moments, correlation: float) -> Moments:
    """Quotient, by the delta method; its error is seen against Geary's approximation of the distribution function."""
    if abs(y.mean) <= y.std:
        raise DataError(
            f"divide: the divisor {y.mean:.6g} ± {y.std:.6g} may well be 0; give a histogram or an interval without 0"
        )
    ratio, relative = x.mean / y.mean, y.std / y.mean
    mean = ratio * (1.0 + relative**2) - correlation * (x.std / y.mean) * relative
    std = _deviation(x.std / abs(y.mean), abs(ratio * relative), -correlation * math.copysign(1.0, ratio))
    if y.std == 0.0 or std == 0.0:
        return Moments(mean, std)
    values = mean + std * _GRID
    spread = np.sqrt(np.maximum(x.std**2 - 2.0 * correlation * x.std * y.std * values + (values * y.std) ** 2, 0.0))
    with np.errstate(divide="ignore", invalid="ignore"):
        score = (values * y.mean - x.mean) * math.copysign(1.0, y.mean) / spread
    # Related operands may leave no spread at one place, where the score jumps or is undefined.
    score = np.where(np.isnan(score), 0.0, score)
    sign_change = float(ndtr(-abs(y.mean) / y.std))  # Geary takes the divisor never to change its sign
    error = float(np.abs(ndtr(score) - ndtr(_GRID)).max()) + sign_change
    return Moments(mean, std, error, f"the divisor is {abs(y.mean) / y.std:.3g} standard deviations away from 0")


def largest(x: Moments, y: Moments, correlation: float) -> tuple[Moments, float]:
    """Clark's moments of the maximum, and the probability that ``x`` is the larger."""
    a = _deviation(x.std, y.std, -correlation)
    if a == 0.0:
        # They differ by a constant: the larger mean is always the larger value.
        return (x, 1.0) if x.mean >= y.mean else (y, 0.0)
    # Relative to one of the means, since squares of large means would hide the variances.
    origin, step = y.mean, x.mean - y.mean
    alpha = step / a
    p, q = float(ndtr(alpha)), float(ndtr(-alpha))
    phi = math.exp(-0.5 * alpha**2) / math.sqrt(2.0 * math.pi)
    u, v, w = x.std**2, y.std**2, correlation * x.std * y.std
    first = step * p + a * phi
    second = (step**2 + u) * p + v * q + step * a * phi
    third = (step**3 + 3.0 * step * u) * p
    third += (step**2 * a + (2.0 * u**2 + u * v + 2.0 * v**2 - 2.0 * (u + v) * w - w**2) / a) * phi
    std = math.sqrt(max(second - first**2, 0.0))
    central = third - 3.0 * first * second + 2.0 * first**3
    return Moments(origin + first, std, _error_of_skewness(central, std)), p


def transformed(
    function: Callable[[Floats], Floats], x: Moments, *, positive: bool = False, polynomial: bool = False
) -> Moments:
    """A function of one normal, its moments by quadrature."""
    if polynomial:
        nodes, weights = np.polynomial.hermite_e.hermegauss(_HERMITE_NODES)
    else:
        start = max(-_REACH, -x.mean / x.std) if positive else -_REACH
        unit, weights = np.polynomial.legendre.leggauss(_LEGENDRE_NODES)
        nodes = 0.5 * (start + _REACH) + 0.5 * (_REACH - start) * unit
        weights = weights * np.exp(-0.5 * nodes**2)
    weights = weights / weights.sum()
    points = x.mean + x.std * _MIDPOINTS
    if positive:
        points = points[points > 0.0]
    with np.errstate(over="raise"):
        values = function(x.mean + x.std * nodes)
        actual = np.sort(function(points))
        mean = float(weights @ values)
        std = math.sqrt(float(weights @ (values - mean) ** 2))
    levels = (np.arange(len(actual)) + 0.5) / len(actual)
    error = float(np.abs(ndtr((actual - mean) / std) - levels).max()) if std > 0.0 else 0.0
    return Moments(mean, std, error)
