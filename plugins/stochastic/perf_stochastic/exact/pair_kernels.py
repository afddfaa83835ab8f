"""Compiled sums over pairs of a knot and a place, for histograms of many bins; `laws` and `products` say what they are.

A place is found by a guide: even steps over the knots of X, each with the number of knots up to it. From there a few
steps forward are left, where a binary search would wait for as many branches as the number of knots has bits.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from perf_stochastic.exact.piecewise_uniform import PiecewiseUniform
from perfcore.base.kernels import announce_compilation, kernel

__all__ = ["product_pairs", "sum_pairs"]

Floats = npt.NDArray[np.float64]
Places = npt.NDArray[np.int32]

_THIRD = 1.0 / 3.0
_STEPS_PER_KNOT = 8
_SMALL = 0.02  # up to which what the series of the logarithm leaves out, with the tenth power, is below rounding


@kernel
def _sum(
    z: Floats, knots: Floats, jumps: Floats, ends: Floats, columns: Floats, guide: Places, cdf: Floats, integral: Floats
) -> None:
    first, last, scale = ends[0], ends[-2], (len(guide) - 1) / (ends[-2] - ends[0])
    whole = columns[:, -1].copy()
    base, starts, slopes, integrals, seconds = columns[0], columns[1], columns[2], columns[3], columns[4]
    at = np.empty(len(z), np.int32)
    begin = end = 0
    for k in range(len(knots)):
        y, jump = knots[k], jumps[k]
        while begin < len(z) and z[begin] - y <= first:
            begin += 1
        while end < len(z) and z[end] - y < last:
            end += 1
        for n in range(begin, end):
            t = z[n] - y
            j = guide[int((t - first) * scale)]
            j += ends[j] <= t
            while ends[j] <= t:
                j += 1
            at[n] = j
        for n in range(begin, end):
            j = at[n]
            ahead = z[n] - y - base[j]
            start, integral_before, rise = starts[j], integrals[j], 0.5 * ahead * slopes[j]
            cdf[n] += jump * (integral_before + ahead * (start + rise))
            integral[n] += jump * (seconds[j] + ahead * (integral_before + ahead * (0.5 * start + rise * _THIRD)))
        for n in range(end, len(z)):
            ahead = z[n] - y - last
            cdf[n] += jump * (whole[3] + ahead)
            integral[n] += jump * (whole[4] + ahead * (whole[3] + 0.5 * ahead))


@kernel
def _product(
    z: Floats,
    knots: Floats,
    jumps: Floats,
    ends: Floats,
    columns: Floats,
    guide: Places,
    cdf: Floats,
    integral: Floats,
) -> None:
    # As if all were parts of the largest: logarithms of what matters are then small, and differ by little rounding.
    z_logs, y_logs = np.log(z / (ends[-2] * knots[-1])), np.log(knots / knots[-1])
    first, last, scale = ends[0], ends[-2], (len(guide) - 1) / (ends[-2] - ends[0])
    base, starts, slopes, rights = columns[0], columns[1], columns[2], columns[3]
    means, beyond, logs = columns[4], columns[5], columns[6]
    inverses, mean_of_all = beyond[0], means[-1]
    at = np.empty(len(z), np.int32)
    begin = end = 0
    for k in range(len(knots)):
        y = knots[k]
        inverse_y, weight = 1.0 / y, -jumps[k] * y
        by_y = weight * y
        while begin < len(z) and z[begin] * inverse_y <= first:
            begin += 1
        while end < len(z) and z[end] * inverse_y < last:
            end += 1
        for n in range(begin):
            t = z[n] * inverse_y
            cdf[n] += weight * (t * inverses)
            integral[n] += by_y * (0.5 * t * t * inverses)
        for n in range(begin, end):
            t = z[n] * inverse_y
            j = guide[int((t - first) * scale)]
            j += ends[j] <= t
            while ends[j] <= t:
                j += 1
            at[n] = j
        for n in range(begin, end):
            t = z[n] * inverse_y
            j = at[n]
            slope, right = slopes[j], rights[j]
            ratio = (right - t) / (right + t)
            square = ratio * ratio
            series = ratio * (2.0 + square * (2 / 3 + square * (2 / 5 + square * (2 / 7 + square * (2 / 9)))))
            log = series if ratio < _SMALL else logs[j] - (z_logs[n] - y_logs[k])
            inverse = t * (beyond[j] + slope * log)
            share = slope * (t - base[j])
            start = starts[j] + share
            mean = means[j] + 0.5 * share * (t + base[j])
            cdf[n] += weight * (start + inverse)
            integral[n] += by_y * (t * start - 0.5 * (mean - t * inverse))
        for n in range(end, len(z)):
            cdf[n] += weight
            integral[n] += by_y * (z[n] * inverse_y - 0.5 * mean_of_all)


def _guide(knots: Floats) -> Places:
    steps = np.linspace(knots[0], knots[-1], _STEPS_PER_KNOT * len(knots) + 1)
    return knots.searchsorted(steps, side="left").astype(np.int32)


def _summed(
    compiled: object, x: PiecewiseUniform, columns: Floats, z: Floats, knots: Floats, jumps: Floats
) -> tuple[Floats, Floats]:
    announce_compilation(_sum, _product)
    found = np.zeros((2, len(z)))
    ends = np.append(x.knots, np.inf)
    compiled(z, knots, jumps, ends, columns, _guide(x.knots), found[0], found[1])  # type: ignore[operator]
    return found[0], found[1]


def _logarithms(x: Floats) -> Floats:
    """Of what is above 0; before a first knot of 0 there is no place that needs one."""
    return np.log(x, out=np.zeros(len(x)), where=x > 0.0)


def sum_pairs(x: PiecewiseUniform, z: Floats, knots: Floats, jumps: Floats) -> tuple[Floats, Floats]:
    """What `SumLaw.of_knots` gives.

    Parameters
    ----------
    x : PiecewiseUniform
    z : (n,) float, not decreasing
    knots, jumps : (k,) float
        Of Y.

    Returns
    -------
    cdf, integral : (n,) float
    """
    return _summed(_sum, x, np.vstack([x.table, x.second]), z, knots, jumps)


def product_pairs(
    x: PiecewiseUniform, columns: tuple[Floats, Floats, Floats], z: Floats, knots: Floats, jumps: Floats
) -> tuple[Floats, Floats]:
    """What `ProductLaw.of_knots` gives, for places and knots above 0.

    Parameters
    ----------
    x : PiecewiseUniform
    columns : tuple of (m,) float
        In the order of X's table: the knot to the right, E[X; X <= knot to the left], and E[1/X; X > right].
    z : (n,) float, not decreasing
    knots, jumps : (k,) float
        Of Y.

    Returns
    -------
    cdf, integral : (n,) float
    """
    return _summed(
        _product, x, np.vstack([x.table[:3], *columns, _logarithms(columns[0] / x.knots[-1])]), z, knots, jumps
    )
