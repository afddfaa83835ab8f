"""Bootstrap and cross-validation of the joint model, with the cell (one code on one system) as the unit.

The observations of a cell share what the model misses there, so that single observations would make it look better
than it is. Parts of the work do not depend on the worker, and nothing but texts, numbers and bytes goes in and out: so
any number of workers gives the digits of this process.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, fields, replace
from typing import Any

import msgspec
import numpy as np

from perf_statistics import trust_region
from perf_statistics.goodness import median_deviation
from perf_statistics.trust_region import JacobianFactor
from perf_tables.executors import as_they_end, in_order
from perf_timing import joint_solver
from perfcore.base.arrays import Booleans, Floats

# Residuals beyond so many standard deviations count as large: 95% efficiency at normal errors (Huber's constant).
_TUNING = 1.345
# The search goes out to 2^14 times the asymptotic interval; one that is wider says no more than an open one.
_DOUBLINGS = 14
# Ends are found to this part of the asymptotic half-width: far below what anyone reads from an interval.
_PRECISION = 1e-6
# A row whose leverage is 1 is fitted exactly whatever its value; rounding leaves it a little less.
_FULL_LEVERAGE = 1.0 - 1e-10
# What a part is made of: a second or more where refits are slow. The draws of a seed hang on the first.
_DRAWS_OF_A_PART, _CELLS_OF_A_PART = 25, 8


class How(msgspec.Struct, frozen=True):
    """How a joint model is fitted."""

    starts: int  # starting points of a fit, and what the random ones of them come from
    seed: int
    positive: bool
    loss: str


class Outcome(msgspec.Struct, frozen=True):
    """Summary of the fit of one combination."""

    status: joint_solver.JointStatus
    sum_of_squares: float
    rank: int
    n_parameters: int
    has_negative: bool  # whether a parameter is negative; without one value for each, none is


def packed(problem: joint_solver.JointProblem, **known: Any) -> bytes:
    """Return a problem, and what is known of it, for a task of a worker."""
    content = {each.name: getattr(problem, each.name) for each in fields(problem)}
    return msgspec.json.encode([content, known], enc_hook=lambda array: array.tolist())


def _unpacked(message: bytes | str) -> tuple[joint_solver.JointProblem, dict[str, Any]]:
    content, known = msgspec.json.decode(message)
    content["target"] = np.array(content["target"], dtype=np.float64)
    content["basis"] = np.array(content["basis"], dtype=np.float64).reshape(len(content["target"]), -1)
    content |= {name: np.array(content[name], dtype=np.int64) for name in ("code", "system")}
    return joint_solver.JointProblem(**content), known


def packed_fit(problem: joint_solver.JointProblem, fit: joint_solver.JointFit) -> bytes:
    """Return a problem with its fit as far as refits need it, for `bootstrap_part` and `left_out_part`."""
    how = {"positive": fit.positive, "loss": fit.loss, "loss_scale": fit.loss_scale}
    return packed(problem, theta=fit.theta, how=how)


def _smaller(problem: joint_solver.JointProblem, loss: str) -> joint_solver.JointProblem:
    """Return the problem with few rows; a robust loss needs them all."""
    return problem.compressed() if loss == "linear" else problem


def fitted(problem: joint_solver.JointProblem, how: How) -> joint_solver.JointFit:
    """Return the fit; a robust loss takes its scale from the residuals of least squares."""
    options: dict[str, Any] = {"starts": how.starts, "rng": how.seed, "positive": how.positive}
    fit = joint_solver.solve(problem, **options)
    if how.loss == "linear":
        return fit
    scale = median_deviation(fit.residuals)
    if scale == 0.0:
        return fit
    return joint_solver.solve(problem, **options, loss=how.loss, loss_scale=_TUNING * scale)


def compare_part(message: bytes | str, combinations: Sequence[Sequence[int]]) -> bytes:
    """Return an `Outcome` for each combination of the problem's functions, as MessagePack: a worker's task."""
    problem, known = _unpacked(message)
    how = How(**{**known, "starts": 1})  # the chosen model is fitted again with all starts
    with joint_solver.single_thread():
        outcomes = []
        for members in combinations:
            fit = fitted(_smaller(replace(problem, basis=problem.basis[:, members]), how.loss), how)
            negative = bool(not fit.undetermined.any() and (fit.theta < 0.0).any())
            outcomes.append(Outcome(fit.status, fit.sum_of_squares, fit.rank, len(fit.theta), negative))
        return msgspec.msgpack.encode(outcomes)


def bootstrap_part(message: bytes | str, seed: int, part: int, draws: int) -> bytes:
    """Return the parameters (k, P) of the refits that converge, as bytes: a worker's task."""
    problem, known = _unpacked(message)
    problem = _smaller(problem, known["how"]["loss"])
    generator = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(part,)))
    cells, cell = np.unique(problem.cell, return_inverse=True)
    with joint_solver.single_thread():
        weights = (generator.standard_exponential(len(cells)) for _ in range(draws))
        refits = [_refit(problem.weighted(weight[cell]), **known) for weight in weights]
    estimates = [refit.theta for refit in refits if refit.status is trust_region.Status.CONVERGED]
    return np.array(estimates, dtype="<f8").tobytes()


def left_out_part(message: bytes | str, cells: Sequence[int]) -> bytes:
    """Return predictions of each cell's observations from all others, cell after cell, as bytes: a worker's task.

    They are NaN if the others do not determine them.
    """
    problem, known = _unpacked(message)
    smaller = _smaller(problem, known["how"]["loss"])
    predictions = []
    with joint_solver.single_thread():
        for cell in cells:
            left = problem.cell == cell
            predictions.append(np.full(int(left.sum()), np.nan))
            if left.all():
                continue
            rest = _refit(smaller.subset(smaller.cell != cell), **known)
            if rest.status is trust_region.Status.CONVERGED:
                free, removed = ~rest.at_bound, problem.subset(left)
                factor = JacobianFactor.of(rest.jacobian[:, free])
                determined = factor.determines(removed.jacobian(rest.theta)[:, free])
                predictions[-1] = np.where(determined, removed.predict(rest.theta), np.nan)
    return np.concatenate(predictions).astype("<f8").tobytes()


def _refit(problem: joint_solver.JointProblem, theta: Sequence[float], how: dict[str, Any]) -> trust_region.Solution:
    near = joint_solver.refine(problem, np.array(theta), **how, polish=False)
    if near.status is trust_region.Status.CONVERGED:
        return near
    # The optimum has moved far away, and the way there is lost more easily than found again.
    return joint_solver.search(problem, joint_solver.data_driven_start(problem), **how)


@dataclass(frozen=True)
class ProfileIntervals:
    """Intervals of single parameters."""

    lower: Floats  # infinite if the interval does not close; NaN without degrees of freedom
    upper: Floats
    converged: Booleans  # did every refit converge? If not, the interval may be too narrow
    lowest: float  # least sum of squares met on the way


def profile_intervals(
    problem: joint_solver.JointProblem,
    fit: joint_solver.JointFit,
    parameters: Sequence[int],
    *,
    level: float = 0.95,
    advance: Callable[[int], None] = lambda amount: None,
) -> ProfileIntervals:
    """Find where holding a parameter raises the least sum of squares to SSE (1 + F(1, n - P) / (n - P)).

    Profile-likelihood intervals of the joint model: where they differ from the asymptotic ones, these mislead.

    Source: D. M. Bates and D. G. Watts, "Nonlinear Regression Analysis and Its Applications", 1988, section 6.1.

    All other parameters are fitted again for each value that is tried, so that the curvature of the model counts. For a
    linear model the result is the asymptotic interval.
    """
    from scipy.special import stdtrit

    if fit.loss != "linear":
        raise ValueError(f"profile intervals need least squares, the fit has the loss {fit.loss!r}; use the bootstrap")
    ends: list[tuple[float, float]] = []
    converged = []
    lowest = fit.sum_of_squares
    for index in parameters:
        complete = True
        if fit.degrees_of_freedom <= 0:
            ends.append((np.nan, np.nan))
        elif fit.undetermined[index]:
            ends.append((0.0 if fit.positive else -np.inf, np.inf))
        else:
            profile = _Profile(problem, fit, index)
            limit = float(stdtrit(fit.degrees_of_freedom, 0.5 + 0.5 * level))
            ends.append((profile.end(-1.0, limit), profile.end(1.0, limit)))
            lowest = min(lowest, profile.lowest)
            complete = profile.converged
        converged.append(complete)
        advance(1)
    lower, upper = np.array(ends, dtype=float).reshape(-1, 2).T
    return ProfileIntervals(lower, upper, np.array(converged, dtype=bool), lowest)


def reciprocal(lower: Floats, upper: Floats, estimate: Floats) -> tuple[Floats, Floats]:
    """Return intervals of speeds r = 1/v from those of inverse speeds v."""
    with np.errstate(divide="ignore"):
        low, high = 1.0 / upper, 1.0 / lower
    open_above = (lower <= 0.0) & (estimate >= 0.0)
    open_below = (upper >= 0.0) & (estimate < 0.0)
    return np.where(open_below, -np.inf, low), np.where(open_above, np.inf, high)


class _Profile:
    """The least sum of squares as a function of one parameter, as distance from the optimum in standard errors."""

    def __init__(self, problem: joint_solver.JointProblem, fit: joint_solver.JointFit, index: int) -> None:
        self.problem, self.fit, self.index = problem.compressed(), fit, index
        self.others = np.arange(problem.n_parameters) != index
        self.variance = fit.sum_of_squares / fit.degrees_of_freedom
        self.estimate = float(fit.theta[index])
        error = float(np.sqrt(fit.covariance[index, index]))
        # A parameter at a bound has no error.
        self.unit = error if error > 0.0 else max(abs(self.estimate), _PRECISION)
        self.known = {self.estimate: (0.0, fit.theta[self.others])}
        self.lowest = fit.sum_of_squares
        self.converged = True

    def distance(self, value: float) -> float:
        """Root of the rise of the sum of squares over its variance, >= 0; linear in the value for a linear model."""
        if value in self.known:
            return self.known[value][0]
        nearest = min(self.known, key=lambda other: abs(other - value))
        others, start = self.others, self.known[nearest][1]

        def whole(part: Floats) -> Floats:
            theta = np.empty(len(others))
            theta[others], theta[self.index] = part, value
            return theta

        solution = trust_region.solve(
            lambda part: self.problem.residuals(whole(part)),
            lambda part: self.problem.jacobian(whole(part))[:, others],
            start,
            lower=np.zeros(int(others.sum())) if self.fit.positive else None,
            max_evaluations=joint_solver.MOST_EVALUATIONS,
            polish=False,
        )
        self.converged &= solution.status is trust_region.Status.CONVERGED
        self.lowest = min(self.lowest, solution.sum_of_squares)
        rise = max(solution.sum_of_squares - self.fit.sum_of_squares, 0.0)
        self.known[value] = (float(np.sqrt(rise / self.variance)), solution.theta)
        return self.known[value][0]

    def end(self, direction: float, limit: float) -> float:
        """Return where the distance first reaches the limit on one side; infinite if it does not."""
        from scipy.optimize import brentq

        bound = 0.0 if self.fit.positive else -np.inf
        inner, width = self.estimate, limit * self.unit
        for _ in range(_DOUBLINGS):
            outer = max(self.estimate + direction * width, bound)
            if outer == inner:
                return bound
            if self.distance(outer) >= limit:
                return float(brentq(lambda x: self.distance(x) - limit, inner, outer, xtol=_PRECISION * width))
            inner, width = outer, 2.0 * width
        return direction * np.inf


@dataclass(frozen=True)
class Bootstrap:
    """Parameters refitted with random weights."""

    draws: Floats  # parameters theta of each refit that converged
    failed: int  # number of refits that did not; they are left out

    def intervals(self, level: float = 0.95) -> tuple[Floats, Floats]:
        """Return the percentile intervals, lower and upper (P,) float; NaN without draws."""
        if len(self.draws) == 0:
            return np.full(self.draws.shape[1], np.nan), np.full(self.draws.shape[1], np.nan)
        lower, upper = np.quantile(self.draws, [0.5 - 0.5 * level, 0.5 + 0.5 * level], axis=0)
        return lower, upper


def bootstrap(
    problem: joint_solver.JointProblem,
    fit: joint_solver.JointFit,
    *,
    draws: int,
    seed: int,
    executor: Executor | None = None,
    advance: Callable[[int], None] = lambda amount: None,
) -> Bootstrap:
    """Refit with random weights on the cells, Exp(1) each."""
    message = packed_fit(problem, fit)
    sizes = [min(_DRAWS_OF_A_PART, draws - before) for before in range(0, draws, _DRAWS_OF_A_PART)]
    parts = [(message, seed, part, size) for part, size in enumerate(sizes)]
    estimates = []
    for size, answer in zip(sizes, in_order(executor, bootstrap_part, parts), strict=True):
        estimates.append(np.frombuffer(answer, "<f8"))
        advance(size)
    refits = np.concatenate([np.empty(0), *estimates]).reshape(-1, problem.n_parameters)
    return Bootstrap(refits, draws - len(refits))


def leave_one_cell_out(
    problem: joint_solver.JointProblem,
    fit: joint_solver.JointFit,
    *,
    executor: Executor | None = None,
    advance: Callable[[int], None] = lambda amount: None,
) -> Floats:
    """Predict the observations of each cell from all other cells.

    This asks what the joint model is for: the time of a code on a system where it has not run.
    """
    cells = np.unique(problem.cell).tolist()
    parts = [cells[first : first + _CELLS_OF_A_PART] for first in range(0, len(cells), _CELLS_OF_A_PART)]
    message = packed_fit(problem, fit)
    predictions = np.full(problem.n_rows, np.nan)
    for number, answer in as_they_end(executor, left_out_part, [(message, part) for part in parts]):
        values = np.frombuffer(answer, "<f8")
        for cell in parts[number]:
            left = problem.cell == cell
            predictions[left], values = np.split(values, [int(left.sum())])
        advance(len(parts[number]))
    return predictions


def leave_one_out_residuals(residuals: Floats, jacobian: Floats) -> Floats:
    """Return residuals (n,) of each observation against the fit of all others, in one step: e / (1 - h)."""
    leverage = JacobianFactor.of(jacobian).leverage
    lone = leverage > _FULL_LEVERAGE
    return np.where(lone, np.nan, residuals / np.where(lone, 1.0, 1.0 - leverage))
