"""All places of a series tried at once: how much likelier is it with a step there, or an outlier?

The noise is ARMA(1,1) (`perf_statistics.known_order`), its parameters profiled over a grid under both hypotheses. A
whitened step is a + c theta^k from its place on and a whitened outlier 1, -(phi - theta) theta^(k-1), so that their
products with any series are suffix sums: O(T p) for each point of the grid, with p regressors.
"""

from __future__ import annotations

import math

import numpy as np

from perfcore.base.kernels import kernel

NEVER = -1e300  # likelihood of what is not tried
EXACT = 1e-10  # variance below which values of unit variance have no noise
_NEGLIGIBLE = 1e-12  # of a whitened outlier's tail
_DEPENDENT = 0.02  # squared length of a whitened step or outlier that the regressors leave, below which it is not tried


@kernel
def scan(y, dense, steps, outliers, grid, margin):  # type: ignore[no-untyped-def]
    """Profile log-likelihoods of one more step or outlier.

    Parameters
    ----------
    y : (T,) float
        Of unit variance.
    dense : (q, T) float
        Regressors of any form, the constant among them.
    steps, outliers : (s,), (o,) int
        Places of those that are in the model, ascending.
    grid : (G, 2) float
        phi and theta.
    margin : int
        Points that a step leaves on either side.

    Returns
    -------
    with_step, with_outlier : (T,) float
        Largest over the grid; NEVER where none is tried.
    grid_of_step : (T,) int
        Where the largest is.
    without : float
    grid_without : int
    """
    n, n_dense, n_steps, n_outliers = y.size, dense.shape[0], steps.size, outliers.size
    p = n_dense + n_steps + n_outliers
    with_step, with_outlier = np.full(n, NEVER), np.full(n, NEVER)
    grid_of_step = np.zeros(n, np.int64)
    without, grid_without = NEVER, 0
    basis = np.zeros((p, n))
    begins, ends = np.zeros(p, np.int64), np.full(p, n, np.int64)
    residual, raw = np.empty(n), np.empty(n)
    step_square, outlier_square = np.empty(n), np.empty(n)
    step_product, outlier_product = np.empty(n), np.empty(n)
    for grid_index in range(grid.shape[0]):
        phi, theta = grid[grid_index, 0], grid[grid_index, 1]
        first = 1.0 / math.sqrt((1.0 + theta * theta - 2.0 * phi * theta) / (1.0 - phi * phi))
        constant = math.log(first)
        reach = 3
        if theta > 0.0:
            reach += int(math.log(_NEGLIGIBLE) / math.log(theta))
        _whiten(y, phi, theta, first, residual)
        for j in range(p):
            vector = basis[j]
            vector[:] = 0.0
            if j < n_outliers:  # first, since they are short: most pairs don't overlap
                place = outliers[j]
                begins[j], ends[j] = place, min(n, place + reach)
                vector[place] = first if place == 0 else 1.0
                value = -(phi - theta) if place else -phi + theta * first
                for t in range(place + 1, ends[j]):
                    vector[t] = value
                    value *= theta
            else:
                begins[j], ends[j] = 0, n
                if j < n_outliers + n_dense:
                    for t in range(n):
                        raw[t] = dense[j - n_outliers, t]
                else:
                    raw[:] = 0.0
                    raw[steps[j - n_outliers - n_dense] :] = 1.0
                _whiten(raw, phi, theta, first, vector)
            for k in range(j):
                low, high = max(begins[j], begins[k]), min(ends[j], ends[k])
                if low >= high:
                    continue
                product = 0.0
                for t in range(low, high):
                    product += vector[t] * basis[k, t]
                if product != 0.0:
                    begins[j], ends[j] = min(begins[j], begins[k]), max(ends[j], ends[k])
                    for t in range(begins[k], ends[k]):
                        vector[t] -= product * basis[k, t]
            square = 0.0
            for t in range(begins[j], ends[j]):
                square += vector[t] * vector[t]
            scale = 1.0 / math.sqrt(max(square, _NEGLIGIBLE))
            product = 0.0
            for t in range(begins[j], ends[j]):
                vector[t] *= scale
                product += vector[t] * residual[t]
            for t in range(begins[j], ends[j]):
                residual[t] -= product * vector[t]
        squares = 0.0
        for t in range(n):
            squares += residual[t] * residual[t]
        likelihood = -0.5 * n * math.log(max(squares, n * EXACT)) + constant
        if likelihood > without:
            without, grid_without = likelihood, grid_index
        level = (1.0 - phi) / (1.0 - theta)
        fading = 1.0 - level
        # Squared lengths of whitened steps and outliers, by how many points are left of the series.
        step_sum, outlier_sum, power, tail = 0.0, 0.0, 1.0, 1.0
        for k in range(n):
            step_sum += (level + fading * power) ** 2
            outlier_sum += tail * tail
            step_square[n - 1 - k], outlier_square[n - 1 - k] = step_sum, outlier_sum
            tail = -(phi - theta) * power
            power *= theta
        for j in range(p + 1):
            total, faded = 0.0, 0.0
            for t in range(n - 1, -1, -1):
                value = residual[t] if j == p else basis[j, t]
                of_outlier = value - (phi - theta) * faded
                total += value
                faded = value + theta * faded
                of_step = level * total + fading * faded
                if j == p:
                    step_product[t], outlier_product[t] = of_step, of_outlier
                else:
                    step_square[t] -= of_step * of_step
                    outlier_square[t] -= of_outlier * of_outlier
        for t in range(1, n):
            if margin <= t <= n - margin and step_square[t] > _DEPENDENT:
                left = max(squares - step_product[t] ** 2 / step_square[t], n * EXACT)
                likelihood = -0.5 * n * math.log(left) + constant
                if likelihood > with_step[t]:
                    with_step[t], grid_of_step[t] = likelihood, grid_index
            if outlier_square[t] > _DEPENDENT:
                left = max(squares - outlier_product[t] ** 2 / outlier_square[t], n * EXACT)
                likelihood = -0.5 * n * math.log(left) + constant
                with_outlier[t] = max(with_outlier[t], likelihood)
    return with_step, with_outlier, grid_of_step, without, grid_without


@kernel
def _whiten(x, phi, theta, first, out):  # type: ignore[no-untyped-def]
    """`perf_statistics.known_order.whitened` of one row."""
    out[0] = x[0] * first
    for t in range(1, x.size):
        out[t] = x[t] - phi * x[t - 1] + theta * out[t - 1]
