"""Compiled covariances of measured levels, their Cholesky factors and inverses."""

from __future__ import annotations

import math

import numpy as np

from perf_statistics.kernels import kernel


@kernel
def half_exponential(square):  # type: ignore[no-untyped-def]
    """``exp(-square / 2)`` for squares of 0 to 36 without a branch, so that several are worked out at once.

    Taylor's series of a 64th of it, squared six times: to 3e-14.
    """
    y = square * (-0.5 / 64.0)
    value = 1.0 + y * (1.0 / 9.0) * (1.0 + y * (1.0 / 10.0) * (1.0 + y * (1.0 / 11.0)))
    value = 1.0 + y * (1.0 / 6.0) * (1.0 + y * (1.0 / 7.0) * (1.0 + y * (1.0 / 8.0) * value))
    value = 1.0 + y * (1.0 / 3.0) * (1.0 + y * (1.0 / 4.0) * (1.0 + y * (1.0 / 5.0) * value))
    value = 1.0 + y * (1.0 + y * (1.0 / 2.0) * value)
    value *= value
    value *= value
    value *= value
    value *= value
    value *= value
    return value * value


@kernel
def factorised(matrix, size, least):  # type: ignore[no-untyped-def]
    """Cholesky factor in place of a matrix (size, size) or larger; the logarithm of its determinant."""
    determinant = 0.0
    for i in range(size):
        for j in range(i + 1):
            value = matrix[i, j]
            for t in range(j):
                value -= matrix[i, t] * matrix[j, t]
            if i == j:
                matrix[i, i] = math.sqrt(max(value, least))
                determinant += 2.0 * math.log(matrix[i, i])
            else:
                matrix[i, j] = value / matrix[j, j]
    return determinant


@kernel
def half_variogram(distance, length):  # type: ignore[no-untyped-def]
    """Half the variance of an Ornstein-Uhlenbeck process of variance 1 that is integrated over a distance."""
    return length * (distance + length * math.expm1(-distance / length))


@kernel
def variograms(points, places, settings):  # type: ignore[no-untyped-def]
    """Half variograms between measured points and these and others, for each length of a drift."""
    n, n_settings = len(points), len(settings)
    length_number, first = np.zeros(n_settings, dtype=np.int64), np.zeros(n_settings, dtype=np.int64)
    lengths = 0
    for h in range(n_settings):
        number = 0
        while number < lengths and settings[first[number], 2] != settings[h, 2]:
            number += 1
        if number == lengths:
            first[lengths] = h
            lengths += 1
        length_number[h] = number
    half_variograms = np.zeros((lengths, n, n + len(places)))
    for number in range(lengths):
        length = settings[first[number], 2]
        for i in range(n):
            for j in range(n + len(places)):
                for p in range(points.shape[1]):
                    other = points[j, p] if j < n else places[j - n, p]
                    half_variograms[number, i, j] += half_variogram(abs(points[i, p] - other), length)
    return half_variograms, length_number


@kernel
def inverse_of(matrix, k, inverse, work):  # type: ignore[no-untyped-def]
    """Invert a symmetric positive definite matrix (k, k) by Cholesky; the logarithm of its determinant."""
    log_determinant = factorised(matrix, k, 1e-300)
    for j in range(k):  # the inverse of the factor
        for i in range(k):
            work[i, j] = 0.0
        work[j, j] = 1.0 / matrix[j, j]
        for i in range(j + 1, k):
            value = 0.0
            for t in range(j, i):
                value -= matrix[i, t] * work[t, j]
            work[i, j] = value / matrix[i, i]
    for i in range(k):
        for j in range(i + 1):
            value = 0.0
            for t in range(i, k):
                value += work[t, i] * work[t, j]
            inverse[i, j] = value
            inverse[j, i] = value
    return log_determinant


@kernel
def projected(inverse, k, sums, projection):  # type: ignore[no-untyped-def]
    """Take the flat level out of an inverse covariance; the sum of the inverse."""
    total = 0.0
    for i in range(k):
        value = 0.0
        for j in range(k):
            value += inverse[i, j]
        sums[i] = value
        total += value
    for i in range(k):
        for j in range(k):
            projection[i, j] = inverse[i, j] - sums[i] * sums[j] / total
    return total
