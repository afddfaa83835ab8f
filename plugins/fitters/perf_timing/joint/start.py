"""Where the joint fit begins: fits of single cells, rank-one factors of their coefficients, alternating linear fits."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from perf_timing.joint.gauge import same_functions
from perf_timing.joint.problem import JointProblem

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

# Directions whose share of a group's information is below this are left at zero. These are starting values, which
# wild coefficients of a cell with nearly collinear functions would only spoil.
_CUTOFF = 1e-9
# The factors of noise-free cells are found at once, those of noisy ones in a few rounds; the joint fit does the rest.
_FACTOR_ROUNDS = 20
_SOLVE_ROUNDS = 3
# An inverse speed of the reference smaller than this part of the largest would make all others huge once it is 1.
_SMALLEST_REFERENCE = 1e-3


def data_driven_start(problem: JointProblem) -> Floats:
    """Parameters (P,) from the data alone."""
    coefficients, information = cell_fits(problem)
    v = np.ones((problem.n_functions, problem.n_systems))
    for copies in same_functions(problem.basis):
        # A cell's fit shares the coefficient of a function equally among its copies.
        left = coefficients[copies].sum(axis=0)
        for k in copies:
            work, inverse_speed = rank_one(left, information[k])
            left = left - np.outer(work, inverse_speed)
            first = k == copies[0]
            v[k] = _scaled_to(inverse_speed, problem.reference_system) if first else _apart(v[copies[0]], inverse_speed)
            v[k, problem.reference_system] = 1.0
    return alternate(problem, v)


def random_inverse_speeds(problem: JointProblem, rng: np.random.Generator) -> Floats:
    """Inverse speeds v (m, S) of random size around the reference's, log-normal with sigma 1."""
    v = np.exp(rng.standard_normal((problem.n_functions, problem.n_systems)))
    v[:, problem.reference_system] = 1.0
    return v


def random_start(problem: JointProblem, rng: np.random.Generator) -> Floats:
    """Parameters (P,) from `random_inverse_speeds`."""
    return alternate(problem, random_inverse_speeds(problem, rng))


def cell_fits(problem: JointProblem) -> tuple[Floats, Floats]:
    """Fit every cell of the table by itself, with the shortest coefficients where it has too few observations."""
    shape = (problem.n_functions, problem.n_codes, problem.n_systems)
    n_cells = problem.n_codes * problem.n_systems
    coefficients = _grouped_least_squares(problem.basis, problem.target, problem.cell, n_cells)
    information = _grouped_sum(problem.basis**2, problem.cell, n_cells)
    return coefficients.T.reshape(shape), information.T.reshape(shape)


def rank_one(table: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Factors (C,), (S,) whose product is nearest to a table (C, S), by alternating weighted least squares."""
    inverse_speed = np.ones(table.shape[1])
    # Signs may cancel in a row of ones (what a first pair of factors leaves): begin with the heaviest row instead.
    heaviest = int(np.argmax((weights * table**2).sum(axis=1)))
    if np.any(table[heaviest] * weights[heaviest]):
        inverse_speed = np.where(weights[heaviest] > 0.0, table[heaviest], 0.0)
    work = np.zeros(table.shape[0])
    for _ in range(_FACTOR_ROUNDS):
        work = _ratio((weights * table) @ inverse_speed, weights @ inverse_speed**2)
        inverse_speed = _ratio((weights * table).T @ work, weights.T @ work**2)
    return work, inverse_speed


def alternate(problem: JointProblem, v: Floats) -> Floats:
    """Rounds of exact linear fits: given v (m, S) the work of each code is one, given w each system is one."""
    for _ in range(_SOLVE_ROUNDS):
        w = _work(problem, v)
        solved = _grouped_least_squares(
            problem.basis * w.T[problem.code], problem.target, problem.system, problem.n_systems
        ).T
        solved[:, problem.reference_system] = 1.0
        v = np.where(solved != 0.0, solved, v)
    return problem.pack(_work(problem, v), v)


def _grouped_least_squares(design: Floats, target: Floats, group: Integers, n_groups: int) -> Floats:
    """Solve one small linear problem for each group of rows: (n_groups, m), the shortest where several are as good.

    Normal equations with unit diagonal: they lose digits, which a start can spare, and need no loop over groups.
    """
    m = design.shape[1]
    products = (design[:, :, None] * design[:, None, :]).reshape(-1, m * m)
    gram = _grouped_sum(products, group, n_groups).reshape(n_groups, m, m)
    moment = _grouped_sum(design * target[:, None], group, n_groups)
    scale = np.sqrt(np.einsum("gii->gi", gram))
    scale = np.where(scale > 0.0, scale, 1.0)
    inverse = np.linalg.pinv(gram / (scale[:, :, None] * scale[:, None, :]), rcond=_CUTOFF, hermitian=True)
    return np.asarray(np.einsum("gij,gj->gi", inverse, moment / scale) / scale)


def _grouped_sum(values: Floats, group: Integers, n_groups: int) -> Floats:
    """Sums over the rows (n, k) of each group: (n_groups, k)."""
    k = values.shape[1]
    places = group[:, None] * k + np.arange(k)
    sums = np.bincount(places.ravel(), weights=values.ravel(), minlength=n_groups * k)
    return sums.reshape(n_groups, k).astype(np.float64)


def _work(problem: JointProblem, v: Floats) -> Floats:
    design = problem.basis * v.T[problem.system]
    return _grouped_least_squares(design, problem.target, problem.code, problem.n_codes).T


def _scaled_to(inverse_speed: Floats, reference: int) -> Floats:
    """Scale v (S,) so that the reference's is 1, or as near as leaves the others of reasonable size."""
    largest = np.abs(inverse_speed).max()
    if largest == 0.0:
        return np.ones_like(inverse_speed)
    at_reference = inverse_speed[reference]
    smallest = _SMALLEST_REFERENCE * largest
    return np.asarray(inverse_speed / np.copysign(max(abs(at_reference), smallest), at_reference))


def _apart(first: Floats, further: Floats) -> Floats:
    """A second v (S,) of one function: the first plus half its size in the direction that the rest of the data asks."""
    direction = further - first * (further @ first) / (first @ first)
    length = np.linalg.norm(direction)
    if length == 0.0:
        # Nothing is left to explain; any direction tells the two copies apart.
        direction = np.linspace(-1.0, 1.0, len(first))
        length = np.linalg.norm(direction)
    return np.asarray(first + 0.5 * np.linalg.norm(first) * direction / max(length, np.finfo(float).tiny))


def _ratio(numerator: Floats, denominator: Floats) -> Floats:
    """Quotient, 0 where nothing was observed."""
    return np.divide(numerator, denominator, out=np.zeros_like(numerator), where=denominator > 0.0)
