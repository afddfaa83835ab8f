"""Fit the joint timing model of codes and systems, a bilinear least-squares problem, and how well data determine it.

A row is one observation of code c on system s; the model is ``sum_i basis_i w_i^c v_i^s``, where w is the work of the
code and v = 1/r the inverse speed of the system. In v the model is bilinear, and a system that a function does not
touch (r infinite) is the harmless v = 0. Multiplying w_i and dividing v_i by the same number changes nothing (the
gauge), so v_i of the reference system is 1 for every i.

Source: E. Strohmaier, "Statistical Performance Modeling: Case Study of the NPB 2.1 Results", equations 5 and 6.
Deviation: fitted in (w, v), reported in (w, r); the text of section 5 fixes a code, its Table 4 a system, as here.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property
from typing import Any

import numpy as np

from perf_statistics import trust_region
from perf_statistics.trust_region import JacobianFactor, influence
from perfcore.base.arrays import Booleans, Floats, Ints

# Directions whose share of a group's information is below this are left at zero. These are starting values, which
# wild coefficients of a cell with nearly collinear functions would only spoil.
_CUTOFF = 1e-9
# The factors of noise-free cells are found at once, those of noisy ones in a few rounds; the joint fit does the rest.
_FACTOR_ROUNDS = 20
_SOLVE_ROUNDS = 3
# An inverse speed of the reference smaller than this part of the largest would make all others huge once it is 1.
_SMALLEST_REFERENCE = 1e-3
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
# Two columns are one function if the cosine of their angle is this close to 1.
_SAME_FUNCTION = 1e-12
# A reference with less than this part of the largest inverse speed counts as having this: it must be brought to 1.
_SMALLEST_IN_GAUGE = 1e-9


@contextmanager
def single_thread() -> Iterator[None]:
    """Keep BLAS to one thread within; what it was set to comes back.

    A joint fit takes thousands of singular value decompositions of some hundred rows. OpenBLAS deals each out to all
    cores, which costs more than it gains: on two busy cores the 28 models of a table with 146 observations and 40
    parameters took 20 s with its own choice of threads, and 3 s with one.
    """
    with _controller().limit(limits=1, user_api="blas"):
        yield


@functools.cache
def _controller() -> Any:
    """Return the libraries that are loaded; scipy brings its BLAS, so it must be there first."""
    import scipy.linalg  # noqa: F401
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def data_driven_start(problem: JointProblem) -> Floats:
    """Return parameters (P,) from the data alone."""
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
    """Return parameters (P,) from inverse speeds of random size around the reference's, log-normal with sigma 1."""
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
    """Return factors (C,), (S,) whose product is nearest to a table (C, S), by alternating weighted least squares."""
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
    """Solve a small problem for each group (n_groups, m) by normal equations with unit diagonal: enough for a start."""
    m = design.shape[1]
    products = (design[:, :, None] * design[:, None, :]).reshape(-1, m * m)
    gram = _grouped_sum(products, group, n_groups).reshape(n_groups, m, m)
    moment = _grouped_sum(design * target[:, None], group, n_groups)
    scale = np.sqrt(np.einsum("gii->gi", gram))
    scale = np.where(scale > 0.0, scale, 1.0)
    inverse = np.linalg.pinv(gram / (scale[:, :, None] * scale[:, None, :]), rcond=_CUTOFF, hermitian=True)
    return np.asarray(np.einsum("gij,gj->gi", inverse, moment / scale) / scale)


def _grouped_sum(values: Floats, group: Ints, n_groups: int) -> Floats:
    """Return sums over the rows (n, k) of each group: (n_groups, k)."""
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
    """Return a second v (S,) of one function: the first plus half its size in the direction that the rest asks."""
    direction = further - first * (further @ first) / (first @ first)
    length = np.linalg.norm(direction)
    if length == 0.0:
        # Nothing is left to explain; any direction separates the two copies.
        direction = np.linspace(-1.0, 1.0, len(first))
        length = np.linalg.norm(direction)
    return np.asarray(first + 0.5 * np.linalg.norm(first) * direction / max(length, np.finfo(float).tiny))


def _ratio(numerator: Floats, denominator: Floats) -> Floats:
    """Return the quotient, 0 if nothing was observed."""
    return np.divide(numerator, denominator, out=np.zeros_like(numerator), where=denominator > 0.0)


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
    w, v = problem.unpack(best.theta)
    return JointFit(
        w=w,
        v=v,
        theta=best.theta,
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
    """Return the optimum that is reached from one start theta (P,); the options are those of `trust_region.solve`."""
    lower = np.zeros(problem.n_parameters) if positive else None
    return trust_region.solve(
        problem.residuals, problem.jacobian, theta, lower=lower, loss=loss, loss_scale=loss_scale,
        max_evaluations=MOST_EVALUATIONS, tolerance=tolerance, polish=polish,
    )  # fmt: skip


def asymptotic_covariance(factor: JacobianFactor, residuals: Floats, loss: str, loss_scale: float) -> Floats:
    """Return the covariance (P, P) of the parameters: s^2 (J'J)^+ with s^2 = SSE / (n - rank) for least squares.

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
    """Return the optimum from one start theta (P,): with the gauge open first, then in the gauge of the reference.

    With v of the reference held at 1 the way from a poor start to the optimum may lead through infinity, and the
    search ends there; without a reference there is no such place.
    """
    how: dict[str, Any] = {"positive": positive, "loss": loss, "loss_scale": loss_scale}
    ungauged = replace(problem, reference=None)
    w, v = problem.unpack(theta)
    if positive:  # negative and tiny entries are raised to a part of the size of their function's others
        w, v = (np.maximum(part, _INSIDE * np.abs(part).mean(axis=1, keepdims=True)) for part in (w, v))
        w, v = problem.unpack(problem.pack(w, v))
    roughly = refine(ungauged, ungauged.pack(w, v), **how, polish=False, tolerance=_ROUGH)
    # Mixing the copies of a function would lead out of the bounds of a nonnegative fit.
    mixed = [] if positive else same_functions(problem.basis)
    gauged = problem.pack(*in_gauge(*ungauged.unpack(roughly.theta), problem.reference_system, mixed))
    final = refine(problem, gauged, **how, polish=True)
    return replace(final, evaluations=final.evaluations + roughly.evaluations)


def _status(optimum: trust_region.Solution, undetermined: Booleans, first_speed: int) -> JointStatus:
    # An inverse speed that no code has work for may have any size.
    huge = (np.abs(optimum.theta) > _LARGEST_INVERSE_SPEED) & ~undetermined
    if huge[first_speed:].any():
        return JointStatus.NO_REFERENCE
    if optimum.status is not trust_region.Status.CONVERGED:
        return JointStatus.NOT_CONVERGED
    return JointStatus.UNDETERMINED if undetermined.any() else JointStatus.CONVERGED


def same_functions(basis: Floats) -> list[list[int]]:
    """Return indices of the columns (n, m), those together that are one function."""
    length = np.linalg.norm(basis, axis=0)
    unit = basis / np.where(length > 0.0, length, 1.0)
    same = unit.T @ unit > 1.0 - _SAME_FUNCTION
    np.fill_diagonal(same, val=True)
    return [columns.tolist() for k, row in enumerate(same) if (columns := np.flatnonzero(row))[0] == k]


def in_gauge(w: Floats, v: Floats, reference: int, mixed: list[list[int]]) -> tuple[Floats, Floats]:
    """Bring v of the reference system to 1 and leave the model as it is."""
    w, v = w.copy(), v.copy()
    for copies in mixed:
        if len(copies) > 1:
            # Of the same size first: the scale of one copy against the other is arbitrary.
            size = np.linalg.norm(v[copies], axis=1, keepdims=True)
            size[size == 0.0] = 1.0
            w[copies], v[copies] = w[copies] * size, v[copies] / size
            # The Householder reflection that turns a vector into one of the same length with equal entries.
            mirror = v[copies, reference] - np.linalg.norm(v[copies, reference]) / np.sqrt(len(copies))
            if squared := mirror @ mirror:
                reflection = np.eye(len(copies)) - 2.0 * np.outer(mirror, mirror) / squared
                w[copies], v[copies] = reflection @ w[copies], reflection @ v[copies]
    scale = v[:, reference, None]
    smallest = _SMALLEST_IN_GAUGE * np.abs(v).max(axis=1, keepdims=True)
    smallest[smallest == 0.0] = 1.0
    scale = np.where(np.abs(scale) > smallest, scale, smallest)
    w, v = w * scale, v / scale
    v[:, reference] = 1.0
    return w, v


@dataclass(frozen=True)
class JointProblem:
    """Observations of codes on systems, and the functions that are to explain them."""

    basis: Floats
    target: Floats  # the observed times with the same factors
    code: Ints  # 0 <= code < n_codes, 0 <= system < n_systems
    system: Ints
    n_codes: int
    n_systems: int
    reference: int | None  # the system whose v is 1

    @property
    def n_rows(self) -> int:
        return len(self.target)

    @property
    def n_functions(self) -> int:
        """Number m of functions, a function that is allowed twice counted twice."""
        return int(self.basis.shape[1])

    @property
    def n_parameters(self) -> int:
        """P = m (C + S - 1), or m (C + S) without a reference."""
        return self.n_functions * (self.n_codes + len(self.fitted_systems))

    @property
    def reference_system(self) -> int:
        """The reference, for those who need one."""
        if self.reference is None:
            raise ValueError("the problem has no reference system: its work and speeds are known up to a factor only")
        return self.reference

    @property
    def cell(self) -> Ints:
        """(n,) int: the cell of the table code x system that each row belongs to, code * n_systems + system."""
        return self.code * self.n_systems + self.system

    @cached_property
    def fitted_systems(self) -> Ints:
        """Systems whose v are parameters, in order: all but the reference."""
        return np.flatnonzero(np.arange(self.n_systems) != self.reference)

    def pack(self, w: Floats, v: Floats) -> Floats:
        """Return parameters theta (P,) from w (m, C) and v (m, S); the reference's v is left out and must be 1."""
        return np.concatenate([w.ravel(), v[:, self.fitted_systems].ravel()])

    def unpack(self, theta: Floats) -> tuple[Floats, Floats]:
        """Return the work w (m, C) and inverse speed v (m, S) from theta (P,)."""
        m = self.n_functions
        v = np.ones((m, self.n_systems))
        v[:, self.fitted_systems] = theta[m * self.n_codes :].reshape(m, -1)
        return theta[: m * self.n_codes].reshape(m, self.n_codes), v

    def predict(self, theta: Floats) -> Floats:
        """Return the model at the rows, (n,), with their factors."""
        w, v = self.unpack(theta)
        return np.asarray(np.einsum("ni,in,in->n", self.basis, w[:, self.code], v[:, self.system]))

    def residuals(self, theta: Floats) -> Floats:
        """Model minus target, (n,)."""
        return self.predict(theta) - self.target

    def jacobian(self, theta: Floats) -> Floats:
        """Return derivatives of the residuals, (n, P)."""
        w, v = self.unpack(theta)
        work_columns, fitted, speed_columns = self._columns
        jacobian = np.zeros((self.n_rows, self.n_parameters))
        jacobian[np.arange(self.n_rows)[:, None], work_columns] = self.basis * v.T[self.system]
        jacobian[fitted[:, None], speed_columns] = (self.basis * w.T[self.code])[fitted]
        return jacobian

    @cached_property
    def _columns(self) -> tuple[Ints, Ints, Ints]:
        """Columns of each row's w; the rows not on the reference system; columns of their v."""
        m, functions = self.n_functions, np.arange(self.n_functions)
        fitted = np.flatnonzero(np.isin(self.system, self.fitted_systems))
        place = np.searchsorted(self.fitted_systems, self.system[fitted])
        speed_columns = m * self.n_codes + functions * len(self.fitted_systems) + place[:, None]
        return functions * self.n_codes + self.code[:, None], fitted, speed_columns

    def subset(self, rows: Booleans) -> JointProblem:
        """Return the same codes, systems and parameters with some of the rows (n,) bool."""
        return replace(
            self, basis=self.basis[rows], target=self.target[rows], code=self.code[rows], system=self.system[rows]
        )

    def compressed(self) -> JointProblem:
        """Return the same sums of squares at every theta, by a triangle (QR factorisation) for each cell's rows."""
        rows = np.column_stack([self.basis, self.target])
        cells, cell = np.unique(self.cell, return_inverse=True)
        triangles = [np.linalg.qr(rows[cell == k], mode="r") for k in range(len(cells))]
        joined = np.concatenate(triangles)
        code, system = np.divmod(np.repeat(cells, list(map(len, triangles))), self.n_systems)
        return replace(self, basis=joined[:, :-1], target=joined[:, -1], code=code, system=system)

    def weighted(self, weights: Floats) -> JointProblem:
        """Return the same problem with further weights (n,), >= 0, on the squared residuals of the rows."""
        root = np.sqrt(weights)
        return replace(self, basis=self.basis * root[:, None], target=self.target * root)


def components(code: Ints, system: Ints, n_codes: int, n_systems: int) -> tuple[Ints, Ints]:
    """Return connected components of the table of observed cells."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    size = n_codes + n_systems
    edges = coo_array((np.ones(len(code)), (code, n_codes + system)), shape=(size, size))
    _, labels = connected_components(edges, directed=False)
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    numbers = np.argsort(np.argsort(first))[inverse]
    return numbers[:n_codes], numbers[n_codes:]
