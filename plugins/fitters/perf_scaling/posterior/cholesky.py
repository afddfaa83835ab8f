"""Compiled Cholesky factors of small positive definite matrices, of which only a leading part may be used."""

from __future__ import annotations

import math

from perfcore.base.kernels import kernel


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
def factor_and_solve(matrix, size, right, solution):  # type: ignore[no-untyped-def]
    """Solution of a positive definite system; the factor in place, and the logarithm of the determinant."""
    determinant = factorised(matrix, size, 1e-200)
    for i in range(size):
        value = right[i]
        for t in range(i):
            value -= matrix[i, t] * solution[t]
        solution[i] = value / matrix[i, i]
    for i in range(size - 1, -1, -1):
        value = solution[i]
        for t in range(i + 1, size):
            value -= matrix[t, i] * solution[t]
        solution[i] = value / matrix[i, i]
    return determinant
