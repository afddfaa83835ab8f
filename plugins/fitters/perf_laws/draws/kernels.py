"""Compiled draws from the posterior: laws by their probability, noise, coefficients that are not negative.

Draws are made of a lattice of points, so that a few hundred do for quantiles. Coefficients below 0 are cut off one
after the other, each draw weighing what is left of the normal distribution (A. Genz, "Numerical computation of
multivariate normal probabilities", Journal of Computational and Graphical Statistics 1, 1992).
"""

from __future__ import annotations

import math

import numpy as np

from perf_laws.evidence.kernels import (
    _centre,
    _covariance,
    _inverse_gram,
    _least_squares,
    _projected,
    _without_signs,
)
from perfcore.base.kernels import kernel

__all__ = ["draw_values"]

_ROOT_2 = math.sqrt(2.0)


@kernel
def _tail_quantile(p):  # type: ignore[no-untyped-def]
    """Quantile of the normal distribution for small p (P. J. Acklam; relative error below 1.2e-9)."""
    q = math.sqrt(-2.0 * math.log(max(p, 1e-300)))
    above = -7.784894002430293e-03
    for c in (-3.223964580411365e-01, -2.400758277161838, -2.549732539343734, 4.374664141464968, 2.938163982698783):
        above = above * q + c
    below = 7.784695709041462e-03
    for c in (3.224671290700398e-01, 2.445134137142996, 3.754408661907416, 1.0):
        below = below * q + c
    return above / below


@kernel
def _normal_quantile(p):  # type: ignore[no-untyped-def]
    """Quantile of the normal distribution."""
    if p < 0.02425:
        return _tail_quantile(p)
    if p > 1.0 - 0.02425:
        return -_tail_quantile(1.0 - p)
    q = p - 0.5
    r = q * q
    above = -3.969683028665376e01
    for c in (
        2.209460984245205e02,
        -2.759285104469687e02,
        1.383577518672690e02,
        -3.066479806614716e01,
        2.506628277459239,
    ):
        above = above * r + c
    below = -5.447609879822406e01
    for c in (1.615858368580409e02, -1.556989798598866e02, 6.680131188771972e01, -1.328068155288572e01, 1.0):
        below = below * r + c
    return above * q / below


@kernel
def draw_values(  # type: ignore[no-untyped-def]
    means, root_weights, columns, members, within, freedom, kept, probability, at, lattice, values, noise, weights
):
    """Values of the laws at other points, drawn from what the data leave open.

    Parameters
    ----------
    means, root_weights, columns, members, within, freedom
        As `perf_laws.evidence.kernels.weigh_hypotheses`.
    kept, probability : (K, L) int and float
        Laws of each path and their probabilities.
    at : (F, T) float
        Columns at the other points, in the scale of `columns`.
    lattice : (N, D) float
        Numbers between 0 and 1, as even as can be; D is 2 more than the coefficients of any law.
    values : (K, N, T) float
        Written: means at the other points.
    noise : (K, N) float
        Written: the relative error of a single run.
    weights : (K, N) float
        Written: weights of the draws, adding up to 1 for each path.
    """
    n_paths, n = means.shape
    n_columns, most = len(columns), members.shape[1]
    n_draws, n_places = len(lattice), at.shape[1]
    beside = np.empty((n_columns, n))
    overlap, length, along = np.empty(n_columns), np.empty(n_columns), np.empty(n_columns)
    base, rest = np.empty(n), np.empty(n)
    mean, drawn, z = np.empty(most + 1), np.empty(most + 1), np.empty(most + 1)
    covariance, gram, products = np.empty((most + 1, most + 1)), np.empty((most, most)), np.empty((most, most))
    part_gram, part = np.empty((most + 1, most + 1)), np.empty(most + 1, dtype=np.int64)
    trial, solution = np.empty(most + 1), np.empty(most + 1)
    for k in range(n_paths):
        total, level, rest_squares, met = _centre(means[k], root_weights[k], base, rest)
        begin, reached = 0, 0.0
        for j in range(kept.shape[1]):
            h = kept[k, j]
            if h < 0:
                break
            reached += probability[k, j]
            end = min(n_draws, round(reached * n_draws))
            if j + 1 == kept.shape[1] or kept[k, j + 1] < 0:
                end = n_draws
            if end == begin:
                continue
            count = 0
            while count < most and members[h, count] >= 0:
                _projected(columns, members[h, count], root_weights[k], base, rest, beside, overlap, length, along)
                count += 1
            _inverse_gram(members[h], count, beside, length, products, gram)
            residual = rest_squares - _least_squares(members[h], count, gram, along, overlap, total, level, mean)
            _covariance(members[h], count, gram, overlap, total, covariance)
            size = count + 1
            for s in range(size):  # Cholesky, in place of the lower triangle
                for t in range(s + 1):
                    value = covariance[s, t]
                    for i in range(t):
                        value -= covariance[s, i] * covariance[t, i]
                    covariance[s, t] = math.sqrt(max(value, 0.0)) if s == t else value / max(covariance[t, t], 1e-300)
            own = freedom[k] + met - size
            residual, negative = max(residual, 0.0), False
            for s in range(size):
                negative = negative or mean[s] < 0.0
            if negative:
                gain = _without_signs(
                    members[h], count, products, along, overlap, total, level, part_gram, part, trial, solution
                )
                residual = max(rest_squares + level * level - gain, residual)
            usual = (within[k] + residual) / own
            summed = 0.0
            for i in range(begin, end):
                # Chi squared by Wilson and Hilferty.
                share = 2.0 / (9.0 * own)
                cube = 1.0 - share + _normal_quantile(lattice[i, 0]) * math.sqrt(share)
                spread = math.sqrt(usual / max(cube * cube * cube, 1e-2))
                noise[k, i] = spread * _normal_quantile(lattice[i, 1])
                weight = 1.0
                for s in range(size):
                    centre = mean[s]
                    for t in range(s):
                        centre += spread * covariance[s, t] * z[t]
                    deviation = spread * covariance[s, s]
                    if deviation <= 1e-14 * abs(centre):
                        drawn[s], z[s] = max(centre, 0.0), 0.0
                        continue
                    least = -centre / deviation
                    if least < -8.0:
                        z[s] = _normal_quantile(lattice[i, s + 2])
                    elif least < 6.0:
                        above = 0.5 * math.erfc(least / _ROOT_2)
                        weight *= above
                        z[s] = -_normal_quantile(above * lattice[i, s + 2])
                    else:  # the tail is exponential
                        weight *= 0.5 * math.erfc(least / _ROOT_2)
                        z[s] = least - math.log(lattice[i, s + 2]) / least
                    drawn[s] = max(centre + deviation * z[s], 0.0)
                weights[k, i] = weight
                summed += weight
                for place in range(n_places):
                    value = drawn[0]
                    for s in range(count):
                        value += drawn[s + 1] * at[members[h, s], place]
                    values[k, i, place] = value
            mass = (end - begin) / n_draws
            for i in range(begin, end):
                weights[k, i] = weights[k, i] / summed * mass if summed > 0.0 else mass / (end - begin)
            begin = end
