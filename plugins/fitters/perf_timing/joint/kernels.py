"""Compiled kernels of the joint fit: row compression, and Newton steps on the compressed rows.

Importing this module imports numba; `perf_timing.joint.descent` does so when the first joint fit is asked for.
"""

from __future__ import annotations

import numpy as np

from perfcore.base.kernels import kernel

# Rounds of alternating linear fits before the first step.
_SWEEPS = 3
# Alternating linear fits have this part of the diagonal added: what a code or system leaves open stays where it is.
_SWEEP_DAMPING = 1e-9
# Damping begins here when a plain step fails, changes by this factor, and is given up below and above these.
_FIRST_DAMPING = 1e-3
_DAMPING_FACTOR = 10.0
_LEAST_DAMPING = 1e-5
_MOST_DAMPING = 1e8
# A pivot of which elimination leaves less than this part is zero by rounding.
_LEAST_PIVOT = 1e-13
# A tenth of a millionth of the way out of the confidence region: Newton's steps now square the error each time.
_NEAR_OFFSET_SQUARED = 1e-10
# An exact fit has residuals of rounding, whose offset says nothing; there a step must be small next to the parameters.
_NEAR_STEP_SQUARED = 1e-16
# Final steps square the error; one that gains less than this is rounding.
_LEAST_GAIN_SQUARED = 0.64
# Sum of the variance inflation factors from which normal equations lose too many digits; singular values lose half.
_MOST_INFLATION = 1e8
# In units of the reference's, as in `perf_timing.joint.solver`: beyond, the reference has no part in a function.
_LARGEST_INVERSE_SPEED = 1e6
# A fit takes some ten evaluations; more are a case for the careful search.
_MOST_EVALUATIONS = 100


@kernel
def compress(basis, target, code, system, triangles):  # type: ignore[no-untyped-def]
    """Rotate each row [basis | target] (n, m + 1) into the triangle of its cell, (C, S, m + 1, m + 1), zero before.

    Givens rotations, as in W. M. Gentleman, "Least Squares Computations by Givens Transformations Without Square
    Roots", 1973, but with them: a triangle T has T'T of the rows, so that every sum of squares stays what it was.
    """
    m = basis.shape[1]
    row = np.empty(m + 1)
    for n in range(len(target)):
        if not (0 <= code[n] < len(triangles) and 0 <= system[n] < triangles.shape[1]):
            raise IndexError("code or system out of range")  # compiled code would write anywhere
        for i in range(m):
            row[i] = basis[n, i]
        row[m] = target[n]
        triangle = triangles[code[n], system[n]]
        for k in range(m + 1):
            if row[k] == 0.0:
                continue
            length = np.sqrt(triangle[k, k] ** 2 + row[k] ** 2)
            cosine, sine = triangle[k, k] / length, row[k] / length
            for i in range(k, m + 1):
                above, below = triangle[k, i], row[i]
                triangle[k, i] = cosine * above + sine * below
                row[i] = cosine * below - sine * above


@kernel
def evaluate(basis, target, code, system, place, theta, residuals, jacobian):  # type: ignore[no-untyped-def]
    """Write residuals (n,) and Jacobian (n, P, zero before) at theta; the same as those of `JointProblem`."""
    m = basis.shape[1]
    n_systems = len(place)
    n_codes = len(theta) // m - n_systems + 1
    for n in range(len(target)):
        column = place[system[n]]
        total = -target[n]
        for i in range(m):
            work = i * n_codes + code[n]
            speed = m * n_codes + i * (n_systems - 1) + column
            inverse_speed = theta[speed] if column >= 0 else 1.0
            total += basis[n, i] * theta[work] * inverse_speed
            jacobian[n, work] = basis[n, i] * inverse_speed
            if column >= 0:
                jacobian[n, speed] = basis[n, i] * theta[work]
        residuals[n] = total


@kernel
def search(triangles, place, v, theta, root):  # type: ignore[no-untyped-def]
    """Find theta (P,) from inverse speeds v (m, S): alternating linear fits and `_minimise`, all with the gauge open.

    With v of the reference held at 1 the way to the optimum may lead through infinity. With the gauge open each
    function holds the system that counts most at the moment, so that there is no such place. `descend` has the end.
    """
    n_codes, n_systems, m = triangles.shape[0], triangles.shape[1], triangles.shape[2] - 1
    works = m * n_codes
    everywhere = np.arange(n_systems)
    parameters = np.zeros(works + m * n_systems)
    for i in range(m):
        for s in range(n_systems):
            parameters[works + i * n_systems + s] = v[i, s]
    size = len(parameters)
    free = np.ones(size, dtype=np.bool_)
    normal, factor = np.empty((size, size)), np.empty((size, size))
    gradient, step = np.empty(size), np.empty(size)
    # Work first and work last: with it the start of inverse speeds is complete.
    for half in range(2 * _SWEEPS + 1):
        free[:works] = half % 2 == 0
        free[works:] = half % 2 == 1
        _accumulate(triangles, everywhere, parameters, False, normal, gradient)
        if not _factorize(normal, free, _SWEEP_DAMPING, factor):
            return False, np.nan, half + 1
        _solve(factor, gradient, free, step)
        parameters += step
    sweeps = 2 * _SWEEPS + 1
    free[:] = True
    converged, squares, evaluations = _minimise(triangles, everywhere, parameters, free, True)
    if not converged:
        return False, squares, sweeps + evaluations
    for i in range(m):
        speeds = parameters[works + i * n_systems : works + (i + 1) * n_systems]
        for s in range(n_systems):
            if place[s] < 0:
                scale = speeds[s]
        for s in range(n_systems):
            if place[s] >= 0:
                theta[works + i * (n_systems - 1) + place[s]] = speeds[s] / scale
        for work in range(i * n_codes, (i + 1) * n_codes):
            theta[work] = parameters[work] * scale
    converged, squares, further = descend(triangles, place, theta, -1, root)
    return converged, squares, sweeps + evaluations + further


@kernel
def descend(triangles, place, theta, fixed, root):  # type: ignore[no-untyped-def]
    """Bring theta (P,) to the last digits of an optimum, in the gauge of the reference."""
    size = len(theta)
    free = np.ones(size, dtype=np.bool_)
    if fixed >= 0:
        free[fixed] = False
    converged, squares, evaluations = _minimise(triangles, place, theta, free, False)
    if not converged:
        return False, squares, evaluations
    normal, factor, gradient = np.empty((size, size)), np.empty((size, size)), np.empty(size)
    squares = _accumulate(triangles, place, theta, False, normal, gradient)
    if not _factorize(normal, free, 0.0, factor):
        return False, squares, evaluations + 1
    inflation = _invert(factor, normal, free, root)
    works = triangles.shape[0] * (triangles.shape[2] - 1)
    sane = inflation <= _MOST_INFLATION
    for inverse_speed in theta[works:]:
        sane = sane and abs(inverse_speed) <= _LARGEST_INVERSE_SPEED
    return sane, squares, evaluations + 1


@kernel
def _minimise(triangles, place, theta, free, is_open):  # type: ignore[no-untyped-def]
    """Newton steps where the objective is convex, damped Gauss-Newton steps elsewhere: `search`, `descend`.

    The model is bilinear, so that its second derivatives are single products: the Hessian costs no more than J'J.
    With the gauge open it ends near the optimum, otherwise at its last digits.
    """
    size = len(theta)
    normal, factor = np.empty((size, size)), np.empty((size, size))
    gradient, step, trial = np.empty(size), np.empty(size), np.empty(size)
    damping, last_decrement, was_near = 0.0, np.inf, False
    squares, evaluations = np.nan, 0
    while evaluations < _MOST_EVALUATIONS and damping <= _MOST_DAMPING:
        squares = _accumulate(triangles, place, theta, damping == 0.0, normal, gradient)
        evaluations += 1
        if is_open:
            _hold_heaviest(normal, theta, triangles.shape[0] * (triangles.shape[2] - 1), len(place), free)
        if not _factorize(normal, free, damping, factor):
            damping = max(_DAMPING_FACTOR * damping, _FIRST_DAMPING)
            continue
        _solve(factor, gradient, free, step)
        decrement = moved = extent = 0.0
        for j in range(size):
            decrement -= gradient[j] * step[j]
            moved += normal[j, j] * step[j] ** 2
            extent += normal[j, j] * theta[j] ** 2
            trial[j] = theta[j] + step[j]
        if decrement <= _NEAR_OFFSET_SQUARED * squares or moved <= _NEAR_STEP_SQUARED * extent:
            # Objectives agree in all digits here while parameters do in half of them: the remaining gain decides.
            if damping > 0.0:
                if was_near:
                    break  # a saddle, or parameters that no observation touches
                damping, was_near = 0.0, True
                continue
            if is_open or not decrement < _LEAST_GAIN_SQUARED * last_decrement:
                return True, squares, evaluations
            last_decrement = decrement
            for j in range(size):
                theta[j] = trial[j]
            continue
        evaluations += 1
        if _sum_of_squares(triangles, place, trial) < squares:
            for j in range(size):
                theta[j] = trial[j]
            damping = damping / _DAMPING_FACTOR if damping > _LEAST_DAMPING else 0.0
        else:
            damping = max(_DAMPING_FACTOR * damping, _FIRST_DAMPING)
    return False, squares, evaluations


@kernel
def _hold_heaviest(normal, theta, works, n_systems, free):  # type: ignore[no-untyped-def]
    """Of each function hold the system whose inverse speed explains most, and free the others."""
    for first in range(works, len(theta), n_systems):
        heaviest, most = first, -1.0
        for j in range(first, first + n_systems):
            free[j] = True
            explained = normal[j, j] * theta[j] ** 2
            if explained > most:
                heaviest, most = j, explained
        free[heaviest] = False


@kernel
def _accumulate(triangles, place, theta, second_order, normal, gradient):  # type: ignore[no-untyped-def]
    """Write J'J, or with its second-order part the Hessian, as a lower triangle, and J'r; return the sum of squares."""
    n_codes, n_systems = triangles.shape[0], triangles.shape[1]
    m = triangles.shape[2] - 1
    works = m * n_codes
    n_fitted = (len(theta) - works) // m
    normal[:, :] = 0.0
    gradient[:] = 0.0
    residual, inverse_speed, pull = np.empty(m), np.empty(m), np.empty(m)
    squares = 0.0
    for c in range(n_codes):
        for s in range(n_systems):
            triangle, column = triangles[c, s], place[s]
            for i in range(m):
                inverse_speed[i] = theta[works + i * n_fitted + column] if column >= 0 else 1.0
            squares += triangle[m, m] ** 2
            for k in range(m):
                total = -triangle[k, m]
                for i in range(k, m):
                    total += triangle[k, i] * theta[i * n_codes + c] * inverse_speed[i]
                residual[k] = total
                squares += total * total
            for i in range(m):
                total = 0.0
                for k in range(i + 1):
                    total += triangle[k, i] * residual[k]
                pull[i] = total
            for i in range(m):
                work = i * n_codes + c
                speed = works + i * n_fitted + column
                gradient[work] += pull[i] * inverse_speed[i]
                if column >= 0:
                    gradient[speed] += pull[i] * theta[work]
                    if second_order:
                        normal[speed, work] += pull[i]
                for j in range(m):
                    product = 0.0
                    for k in range(min(i, j) + 1):
                        product += triangle[k, i] * triangle[k, j]
                    other = j * n_codes + c
                    if j <= i:
                        normal[work, other] += product * inverse_speed[i] * inverse_speed[j]
                    if column >= 0:
                        normal[speed, other] += product * theta[work] * inverse_speed[j]
                        if j <= i:
                            normal[speed, works + j * n_fitted + column] += product * theta[work] * theta[other]
    return squares


@kernel
def _sum_of_squares(triangles, place, theta):  # type: ignore[no-untyped-def]
    n_codes, n_systems = triangles.shape[0], triangles.shape[1]
    m = triangles.shape[2] - 1
    works = m * n_codes
    n_fitted = (len(theta) - works) // m
    squares = 0.0
    for c in range(n_codes):
        for s in range(n_systems):
            triangle, column = triangles[c, s], place[s]
            squares += triangle[m, m] ** 2
            for k in range(m):
                total = -triangle[k, m]
                for i in range(k, m):
                    inverse_speed = theta[works + i * n_fitted + column] if column >= 0 else 1.0
                    total += triangle[k, i] * theta[i * n_codes + c] * inverse_speed
                squares += total * total
    return squares


@kernel
def _factorize(normal, free, damping, factor):  # type: ignore[no-untyped-def]
    """Write the lower Cholesky factor of the free part, the diagonal raised by a part; return whether it is positive.

    Parameters that are not free have the unit matrix. So has, when damped, a free one that no observation touches.
    """
    size = len(free)
    for i in range(size):
        for j in range(i):
            if free[i] and free[j]:
                total = normal[i, j]
                for k in range(j):
                    total -= factor[i, k] * factor[j, k]
                factor[i, j] = total / factor[j, j]
            else:
                factor[i, j] = 0.0
        diagonal = normal[i, i] * (1.0 + damping)
        if not free[i] or (damping > 0.0 and diagonal == 0.0):
            diagonal = 1.0
        pivot = diagonal
        for k in range(i):
            pivot -= factor[i, k] ** 2
        if not pivot > _LEAST_PIVOT * diagonal:
            return False
        factor[i, i] = np.sqrt(pivot)
    return True


@kernel
def _solve(factor, gradient, free, step):  # type: ignore[no-untyped-def]
    """Write the step that the factor and the gradient ask for; 0 for parameters that are not free."""
    size = len(step)
    for i in range(size):
        total = -gradient[i] if free[i] else 0.0
        for k in range(i):
            total -= factor[i, k] * step[k]
        step[i] = total / factor[i, i]
    for i in range(size - 1, -1, -1):
        step[i] /= factor[i, i]
        for k in range(i):
            step[k] -= factor[i, k] * step[i]


@kernel
def _invert(factor, normal, free, root):  # type: ignore[no-untyped-def]
    """Write the inverse of a lower triangle; return the sum of the variance inflation factors of the free ones."""
    size = len(free)
    inflation = 0.0
    for i in range(size):
        root[i, :] = 0.0
        for k in range(i):
            part = factor[i, k] / factor[i, i]
            for j in range(k + 1):
                root[i, j] -= part * root[k, j]
        root[i, i] = 1.0 / factor[i, i]
        for j in range(i + 1):
            if free[i] and free[j]:
                inflation += normal[j, j] * root[i, j] ** 2
    return inflation
