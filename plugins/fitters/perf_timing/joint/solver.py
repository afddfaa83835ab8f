"""Fits the joint timing model, and says how well the data determine it."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

import numpy as np

from perf_statistics import trust_region
from perf_statistics.trust_region import JacobianFactor, influence
from perf_timing.joint.problem import JointProblem, in_gauge, same_functions
from perfcore.base.arrays import Booleans, Floats, Ints

# One thread for linear algebra on small matrices.
#
# A joint fit takes thousands of singular value decompositions of some hundred rows. OpenBLAS deals each out to all
# cores, which costs more than it gains: on two busy cores the 28 models of a table with 146 observations and 40
# parameters took 20 s with its own choice of threads, and 3 s with one.


@contextmanager
def single_thread() -> Iterator[None]:
    """Keep BLAS to one thread within; what it was set to comes back."""
    with _controller().limit(limits=1, user_api="blas"):
        yield


@functools.cache
def _controller() -> Any:
    """The libraries that are loaded; scipy brings its BLAS, so it must be there first."""
    import scipy.linalg  # noqa: F401
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


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


def random_start(problem: JointProblem, rng: np.random.Generator) -> Floats:
    """Parameters (P,) from inverse speeds of random size around the reference's, log-normal with sigma 1."""
    v = np.exp(rng.standard_normal((problem.n_functions, problem.n_systems)))
    v[:, problem.reference_system] = 1.0
    return alternate(problem, v)


def cell_fits(problem: JointProblem) -> tuple[Floats, Floats]:
    """Fit every cell of the table alone, with the shortest coefficients where it has too few observations."""
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


def _grouped_least_squares(design: Floats, target: Floats, group: Ints, n_groups: int) -> Floats:
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


def _grouped_sum(values: Floats, group: Ints, n_groups: int) -> Floats:
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
        # Nothing is left to explain; any direction separates the two copies.
        direction = np.linspace(-1.0, 1.0, len(first))
        length = np.linalg.norm(direction)
    return np.asarray(first + 0.5 * np.linalg.norm(first) * direction / max(length, np.finfo(float).tiny))


def _ratio(numerator: Floats, denominator: Floats) -> Floats:
    """Quotient, 0 where nothing was observed."""
    return np.divide(numerator, denominator, out=np.zeros_like(numerator), where=denominator > 0.0)


# Two starts came to the same optimum if their objectives agree so far.
_SAME_OPTIMUM = 1e-6
# An exact fit ends with residuals of rounding; objectives below this part of the data's are all the same.
_EXACT = 1e-24
# Inverse speeds in units of the reference's; machines do not differ so much, but v grows without end when the
# reference system has no part in a function.
_LARGEST_INVERSE_SPEED = 1e6
# A fit takes some thirty evaluations; one that takes so many follows a valley that does not end.
MOST_EVALUATIONS = 500
# The way with the gauge open ends here; along valleys that the data leave flat, the last digits cost most of the time.
_ROUGH = 1e-8
# A nonnegative fit begins inside the bounds: at zero work and zero inverse speed hold each other.
_INSIDE = 1e-2


class JointStatus(Enum):
    """How the fit ended; the values are what the user reads."""

    CONVERGED = "converged"
    UNDETERMINED = "converged; the data do not determine every parameter, and those they leave open have no error"
    NO_REFERENCE = "a function has zero weight on the reference system: choose another --reference or function"
    NOT_CONVERGED = "did not converge: try more starts, another reference system or fewer functions"


@dataclass(frozen=True)
class JointFit:
    """The joint model with its parameters."""

    w: Floats  # work of the codes; inverse speeds of the systems, the reference's 1
    v: Floats
    theta: Floats  # the same as the vector that `JointProblem.pack` makes
    w_errors: Floats  # asymptotic standard errors
    v_errors: Floats
    residuals: Floats  # model minus target
    jacobian: Floats
    sum_of_squares: float  # of the residuals; and what was minimised, which differs for robust losses
    objective: float
    rank: int  # number of directions of the parameters that the data determine, of those not at a bound
    covariance: Floats
    undetermined: Booleans  # parameters that can change without changing the fit
    at_bound: Booleans  # parameters of a nonnegative fit that are 0 and would be negative
    status: JointStatus
    starts: int  # number of starts, and of those that came to this optimum
    starts_reached: int
    evaluations: int  # evaluations of the residuals, all starts together
    positive: bool
    loss: str
    loss_scale: float

    @property
    def r(self) -> Floats:
        with np.errstate(divide="ignore"):
            return np.asarray(1.0 / self.v)

    @property
    def degrees_of_freedom(self) -> int:
        """Number of observations minus rank, n - P when everything is determined."""
        return len(self.residuals) - self.rank


def solve(
    problem: JointProblem,
    *,
    starts: int = 5,
    rng: np.random.Generator | int = 0,
    positive: bool = False,
    loss: str = "linear",
    loss_scale: float = 1.0,
) -> JointFit:
    """Fit work and inverse speeds.

    A function may stand in the basis twice: its coefficients are then a matrix of rank two instead of one. The pairs of
    factors can be mixed without changing the model, so that only the fit and its predictions are determined.
    """
    generator = np.random.default_rng(rng)
    begin = [data_driven_start(problem), *(random_start(problem, generator) for _ in range(starts - 1))]
    optima = [search(problem, theta, positive=positive, loss=loss, loss_scale=loss_scale) for theta in begin]
    best = min(optima, key=lambda optimum: optimum.objective)
    same = best.objective * (1.0 + _SAME_OPTIMUM) + _EXACT * float(problem.target @ problem.target)
    free, count = ~best.at_bound, len(best.theta)
    factor = JacobianFactor.of(best.jacobian[:, free])
    covariance, undetermined = np.zeros((count, count)), np.zeros(count, dtype=bool)
    covariance[np.ix_(free, free)] = asymptotic_covariance(factor, best.residuals, loss, loss_scale)
    undetermined[free] = factor.undetermined
    errors = np.where(undetermined | best.at_bound, np.nan, np.sqrt(np.diagonal(covariance)))
    w, v = problem.unpack(best.theta)
    w_errors, v_errors = problem.unpack(errors)
    v_errors[:, problem.reference_system] = 0.0
    return JointFit(
        w=w,
        v=v,
        theta=best.theta,
        w_errors=w_errors,
        v_errors=v_errors,
        residuals=best.residuals,
        jacobian=best.jacobian,
        sum_of_squares=best.sum_of_squares,
        objective=best.objective,
        rank=factor.rank,
        covariance=covariance,
        undetermined=undetermined,
        at_bound=best.at_bound,
        status=_status(best, undetermined, problem.n_functions * problem.n_codes),
        starts=starts,
        starts_reached=sum(optimum.objective <= same for optimum in optima),
        evaluations=sum(optimum.evaluations for optimum in optima),
        positive=positive,
        loss=loss,
        loss_scale=loss_scale,
    )


def refine(
    problem: JointProblem,
    theta: Floats,
    *,
    positive: bool,
    loss: str,
    loss_scale: float,
    polish: bool,
    tolerance: float = trust_region.TIGHT,
) -> trust_region.Solution:
    """The optimum that is reached from one start theta (P,); the options are those of `trust_region.solve`."""
    lower = np.zeros(problem.n_parameters) if positive else None
    return trust_region.solve(
        problem.residuals,
        problem.jacobian,
        theta,
        lower=lower,
        loss=loss,
        loss_scale=loss_scale,
        max_evaluations=MOST_EVALUATIONS,
        tolerance=tolerance,
        polish=polish,
    )


def asymptotic_covariance(factor: JacobianFactor, residuals: Floats, loss: str, loss_scale: float) -> Floats:
    """Covariance (P, P) of the parameters: s^2 (J'J)^+ with s^2 = SSE / (n - rank) for least squares.

    Source: P. J. Huber, "Robust Statistics", 1981, section 7.6, equation 6.5.
    """
    n, rank = len(residuals), factor.rank
    psi, derivative = influence(loss, residuals, loss_scale)
    slope = float(derivative.mean())
    if n <= rank or slope <= 0.0:
        return np.full(factor.inverse_normal.shape, np.nan)
    kappa = 1.0 + rank / n * float(derivative.var()) / slope**2
    variance = kappa**2 * float(psi @ psi) / (n - rank) / slope**2
    return variance * factor.inverse_normal


def search(
    problem: JointProblem, theta: Floats, *, positive: bool, loss: str, loss_scale: float
) -> trust_region.Solution:
    """The optimum from one start theta (P,): with the gauge open first, then in the gauge of the reference.

    With v of the reference held at 1 the way from a poor start to the optimum may lead through infinity, and the
    search ends there; without a reference there is no such place.
    """
    ungauged = replace(problem, reference=None)
    begin = ungauged.pack(*problem.unpack(_inside(problem, theta) if positive else theta))
    roughly = refine(
        ungauged, begin, positive=positive, loss=loss, loss_scale=loss_scale, polish=False, tolerance=_ROUGH
    )
    # Mixing the copies of a function would lead out of the bounds of a nonnegative fit.
    mixed = [] if positive else same_functions(problem.basis)
    gauged = problem.pack(*in_gauge(*ungauged.unpack(roughly.theta), problem.reference_system, mixed))
    final = refine(problem, gauged, positive=positive, loss=loss, loss_scale=loss_scale, polish=True)
    return replace(final, evaluations=final.evaluations + roughly.evaluations)


def _inside(problem: JointProblem, theta: Floats) -> Floats:
    """Theta with negative and tiny entries raised to a part of the size of their function's others."""
    w, v = problem.unpack(theta)
    raised = [np.maximum(x, _INSIDE * np.abs(x).mean(axis=1, keepdims=True)) for x in (w, v)]
    return problem.pack(raised[0], raised[1])


def _status(optimum: trust_region.Solution, undetermined: Booleans, first_speed: int) -> JointStatus:
    # An inverse speed that no code has work for may have any size.
    huge = (np.abs(optimum.theta) > _LARGEST_INVERSE_SPEED) & ~undetermined
    if huge[first_speed:].any():
        return JointStatus.NO_REFERENCE
    if optimum.status is not trust_region.Status.CONVERGED:
        return JointStatus.NOT_CONVERGED
    return JointStatus.UNDETERMINED if undetermined.any() else JointStatus.CONVERGED
