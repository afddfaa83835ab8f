"""Distributions of Student's t and Fisher's F in array operations: ``scipy.special`` takes longer to import."""

from __future__ import annotations

import math
import sys
from statistics import NormalDist
from typing import Any

import numpy as np

from perfcore.base import special
from perfcore.base.arrays import Floats

_FEW, _MANY_DEGREES = 24, 1e5  # numbers that take no longer than the import; degrees from which a series is exact
_MOST_DEGREES = 1e4  # of which tails have twelve digits
_log_gamma = np.vectorize(math.lgamma, otypes=[np.float64])


def distributions_for(freedom: Floats) -> Any:
    """Return what has `stdtr`, `stdtrit` and `fdtrc` for so many degrees of freedom: this module, or scipy's."""
    if freedom.size <= _FEW and bool((freedom < _MOST_DEGREES).all()):
        return sys.modules[__name__]
    return special


def fdtrc(freedom: Floats, other: Floats, ratio: Floats) -> Floats:
    """Return the upper tail of Fisher's F, as ``scipy.special``."""
    with np.errstate(divide="ignore", invalid="ignore"):
        odds = np.asarray(freedom * ratio / other)
        return _beta(0.5 * other, 0.5 * np.asarray(freedom), 1.0 / (1.0 + odds), 1.0 / (1.0 + 1.0 / odds))


def stdtr(freedom: Floats | float, t: Floats) -> Floats:
    """Return the distribution of Student's t, as ``scipy.special``."""
    freedom, squares = np.asarray(freedom), t * t
    tail = 0.5 * _beta(0.5 * freedom, np.array(0.5), freedom / (freedom + squares), squares / (freedom + squares))
    return np.where(t < 0.0, tail, 1.0 - tail)


def stdtrit(freedom: Floats | float, level: float) -> Floats:
    """Return the quantile of Student's t, as ``scipy.special``: by Newton's method, left of the median.

    It starts from 26.7.5 of Abramowitz and Stegun, Handbook of Mathematical Functions, which many degrees need alone.
    """
    freedom, tail = np.asarray(freedom, dtype=np.float64), min(level, 1.0 - level)
    z, few = NormalDist().inv_cdf(tail), freedom < _MANY_DEGREES
    terms = (z, (z**3 + z) / 4.0, (5.0 * z**5 + 16.0 * z**3 + 3.0 * z) / 96.0)
    t = np.asarray(sum(term / freedom**k for k, term in enumerate(terms)))
    t = np.where(few, z, t)
    scale = np.exp(_log_gamma(0.5 * freedom + 0.5) - _log_gamma(0.5 * freedom)) / np.sqrt(freedom * math.pi)
    for _ in range(100):
        step = (stdtr(freedom, t) - tail) / (scale * (1.0 + t * t / freedom) ** (-0.5 * freedom - 0.5))
        step = np.where(few, step, 0.0)
        t -= step
        if (np.abs(step) <= 1e-11 * np.abs(t)).all():
            break
    return t if level < 0.5 else -t


def _beta(a: Floats, b: Floats, x: Floats, y: Floats) -> Floats:
    """Return the regularized incomplete beta function of x = 1 - y: continued fraction 8.17.22 of DLMF, by Lentz."""
    log_beta = _log_gamma(a) + _log_gamma(b) - _log_gamma(a + b)
    is_right = x > (a + 1.0) / (a + b + 2.0)
    a, b = np.where(is_right, b, a), np.where(is_right, a, b)
    x, y = np.where(is_right, y, x), np.where(is_right, x, y)
    with np.errstate(divide="ignore"):
        value = np.exp(a * np.log(x) + b * np.log(y) - log_beta) / a
    above, below = np.ones_like(x), 1.0 / (1.0 - (a + b) * x / (a + 1.0))
    value *= below
    for m in range(1, 10_000):
        at = a + 2.0 * m
        for step in (m * (b - m) * x / ((at - 1.0) * at), -(a + m) * (a + b + m) * x / (at * (at + 1.0))):
            below, above = 1.0 / (1.0 + step * below), 1.0 + step / above
            value *= above * below
        if (np.abs(above * below - 1.0) < 4e-15).all():
            break
    return np.asarray(np.where(is_right, 1.0 - value, value))
