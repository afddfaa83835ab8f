"""Profile-likelihood intervals of the joint model: where they differ from the asymptotic ones, these mislead.

Source: D. M. Bates and D. G. Watts, "Nonlinear Regression Analysis and Its Applications", 1988, section 6.1.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from perf_statistics import trust_region
from perf_timing.joint.descent import CompressedProblem
from perf_timing.joint.problem import JointProblem
from perf_timing.joint.solver import MOST_EVALUATIONS, JointFit

Floats = npt.NDArray[np.float64]

# The search goes out to 2^14 times the asymptotic interval; one that is wider says no more than an open one.
_DOUBLINGS = 14
# Ends are found to this part of the asymptotic half-width: far below what anyone reads from an interval.
_PRECISION = 1e-6


@dataclass(frozen=True)
class ProfileIntervals:
    """Intervals of single parameters."""

    lower: Floats  # infinite where the interval does not close; NaN without degrees of freedom
    upper: Floats
    converged: npt.NDArray[np.bool_]  # did every refit converge? If not, the interval may be too narrow
    lowest: float  # least sum of squares met on the way


def profile_intervals(
    problem: JointProblem,
    fit: JointFit,
    parameters: Sequence[int],
    *,
    level: float = 0.95,
    advance: Callable[[int], None] = lambda amount: None,
) -> ProfileIntervals:
    """Find where holding a parameter raises the least sum of squares to SSE (1 + F(1, n - P) / (n - P)).

    All other parameters are fitted anew for each value that is tried, so that the curvature of the model counts. For a
    linear model the result is the asymptotic interval.
    """
    from scipy.stats import t as student

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
            limit = float(student.ppf(0.5 + 0.5 * level, fit.degrees_of_freedom))
            ends.append((profile.end(-1.0, limit), profile.end(1.0, limit)))
            lowest = min(lowest, profile.lowest)
            complete = profile.converged
        converged.append(complete)
        advance(1)
    lower, upper = np.array(ends, dtype=float).reshape(-1, 2).T
    return ProfileIntervals(lower, upper, np.array(converged, dtype=bool), lowest)


def reciprocal(lower: Floats, upper: Floats, estimate: Floats) -> tuple[Floats, Floats]:
    """Intervals of speeds r = 1/v from those of inverse speeds v."""
    with np.errstate(divide="ignore"):
        low, high = 1.0 / upper, 1.0 / lower
    open_above = (lower <= 0.0) & (estimate >= 0.0)
    open_below = (upper >= 0.0) & (estimate < 0.0)
    return np.where(open_below, -np.inf, low), np.where(open_above, np.inf, high)


class _Profile:
    """The least sum of squares as a function of one parameter, as distance from the optimum in standard errors."""

    def __init__(self, problem: JointProblem, fit: JointFit, index: int) -> None:
        self.problem, self.fit, self.index = problem, fit, index
        self.others = np.arange(problem.n_parameters) != index
        self.variance = fit.sum_of_squares / fit.degrees_of_freedom
        self.estimate = float(fit.theta[index])
        error = float(np.sqrt(fit.covariance[index, index]))
        # A parameter at a bound has no error of its own.
        self.unit = error if error > 0.0 else max(abs(self.estimate), _PRECISION)
        self.compressed = CompressedProblem.of(problem) if fit.compiled else None
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

        if self.compressed is not None and (quick := self.compressed.descend(whole(start), self.index)) is not None:
            return self._remember(value, quick.objective, quick.theta[others])
        solution = trust_region.solve(
            lambda part: self.problem.residuals(whole(part)),
            lambda part: self.problem.jacobian(whole(part))[:, others],
            start,
            lower=np.zeros(int(others.sum())) if self.fit.positive else None,
            max_evaluations=MOST_EVALUATIONS,
            polish=False,
        )
        self.converged &= solution.status is trust_region.Status.CONVERGED
        return self._remember(value, solution.sum_of_squares, solution.theta)

    def _remember(self, value: float, squares: float, others: Floats) -> float:
        """Keep the least sum of squares at a value with the other parameters there; its distance."""
        self.lowest = min(self.lowest, squares)
        rise = max(squares - self.fit.sum_of_squares, 0.0)
        self.known[value] = (float(np.sqrt(rise / self.variance)), others)
        return self.known[value][0]

    def end(self, direction: float, limit: float) -> float:
        """Where the distance first reaches the limit on one side; infinite where it does not."""
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
