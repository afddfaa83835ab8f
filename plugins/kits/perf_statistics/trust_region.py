"""Nonlinear least squares with an analytic Jacobian, bounds and robust losses, brought to the last digits.

Source: the reflective trust region of M. A. Branch, T. F. Coleman and Y. Li, "A Subspace, Interior, and Conjugate
Gradient Method for Large-Scale Bound-Constrained Minimization Problems", SIAM J. Sci. Comput. 21, 1999, as in
`scipy.optimize.least_squares`; convergence is judged by the relative offset of D. M. Bates and D. G. Watts, "A
Relative Offset Orthogonality Convergence Criterion for Nonlinear Least Squares", Technometrics 23, 1981. Losses grow
slower than the square of a residual, so that gross outliers do not rule a fit; each gives rho, rho' and rho'' at z, the
square of a residual over its scale (P. J. Huber and E. M. Ronchetti, "Robust Statistics", 2nd edition, 2009, chapters 3
and 7; in z as B. Triggs and others, "Bundle Adjustment: A Modern Synthesis", 2000, section 3).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import Enum
from types import MappingProxyType

import numpy as np

from perfcore.base.arrays import Booleans, Floats

Loss = Callable[[Floats], Floats]
# A unit direction that the data do not determine moves a parameter when its component exceeds this; rounding leaves
# components of some 1e-15, so anything in between is a matter of taste.
_PART_OF_A_DIRECTION = 1e-8
# Just above what scipy accepts: narrow valleys (NIST's Bennett5, MGH09) are left too early with looser ones.
TIGHT = 1e-15
# Bates and Watts ask for 0.001: the optimum is then within a thousandth of the radius of the confidence region.
_RELATIVE_OFFSET = 1e-3
# An exact fit has residuals of rounding, whose offset says nothing; there a step must be small next to the parameters.
_RELATIVE_STEP = 1e-8
# Final steps converge by a factor each; one that gains less than this is rounding or a valley that does not end.
_LEAST_GAIN = 0.8
_MOST_FINAL_STEPS = 40
# Root of the machine's precision: weaker, and the problem is still rank-deficient; stronger, and the fit notices.
_PULL = 1e-8
# An interior method comes so near to a bound that being on it changes the objective by less than this part.
_SAME_OBJECTIVE = 1e-9


def linear(z: Floats) -> Floats:
    """Least squares: rho = z."""
    return np.stack([z, np.ones_like(z), np.zeros_like(z)])


def huber(z: Floats) -> Floats:
    """Squares up to the scale, absolute values beyond."""
    root = np.sqrt(np.maximum(z, 1.0))
    inside = z <= 1.0
    return np.stack([np.where(inside, z, 2.0 * root - 1.0), 1.0 / root, np.where(inside, 0.0, -0.5 / root**3)])


LOSSES: MappingProxyType[str, Loss] = MappingProxyType({"linear": linear, "huber": huber})


def influence(loss: str, residuals: Floats, scale: float) -> tuple[Floats, Floats]:
    """Return the influence psi of each residual and its derivative; psi is the residual itself in least squares."""
    z = (residuals / scale) ** 2
    _, first, second = LOSSES[loss](z)
    return first * residuals, first + 2.0 * z * second


@dataclass(frozen=True)
class JacobianFactor:
    """A Jacobian J (n, P) with its columns scaled to unit length, as U diag(s) V'.

    The scaling makes the rank independent of the units of the parameters, which differ by many orders of magnitude when
    functions like 1/p^2 and p stand side by side.
    """

    scale: Floats  # length of each column; 1 for a column of zeros
    left: Floats  # orthonormal basis of what the parameters can reach
    singular: Floats  # singular values of the scaled Jacobian, those that are zero by rounding left out
    right: Floats  # directions in scaled parameters that the data determine
    null: Floats  # unit directions in scaled parameters that the data do not determine

    @classmethod
    def of(cls, jacobian: Floats) -> JacobianFactor:
        """Factor a Jacobian (n, P)."""
        n, count = jacobian.shape
        scale = np.linalg.norm(jacobian, axis=0)
        scale = np.where(scale > 0.0, scale, 1.0)
        scaled = jacobian / scale
        # Rows of zeros change nothing but bring out all P right singular vectors when there are few observations.
        padded = scaled if n >= count else np.vstack([scaled, np.zeros((count - n, count))])
        left, singular, right = np.linalg.svd(padded, full_matrices=False)
        # The customary bound on what rounding makes of a zero singular value.
        tolerance = max(n, count) * np.finfo(float).eps * singular[0] if count else 0.0
        rank = int(np.count_nonzero(singular > tolerance))
        return cls(scale, left[:n, :rank], singular[:rank], right[:rank].T, right[rank:].T)

    @property
    def rank(self) -> int:
        """Number of directions that the data determine."""
        return len(self.singular)

    @property
    def undetermined(self) -> Booleans:
        """(P,) bool: parameters with a part in a direction that the data do not determine."""
        if self.null.shape[1] == 0:
            return np.zeros(len(self.scale), dtype=bool)
        moved: Booleans = np.abs(self.null).max(axis=1) > _PART_OF_A_DIRECTION
        return moved

    @property
    def inverse_normal(self) -> Floats:
        """(P, P) float: (J'J)^+, in the scaled parameters the Moore-Penrose inverse."""
        root = self.right / self.singular / self.scale[:, None]
        return np.asarray(root @ root.T)

    @property
    def leverage(self) -> Floats:
        """(n,) float in [0, 1]: diagonal of the projection on the columns of J, the pull of each row on its own fit."""
        return np.asarray(np.einsum("nk,nk->n", self.left, self.left))

    def step(self, residuals: Floats) -> Floats:
        """Return the Gauss-Newton step (P,) for residuals (n,): of several as good the shortest, scaled."""
        return np.asarray(-(self.right @ (self.reached(residuals) / self.singular)) / self.scale)

    def reached(self, residuals: Floats) -> Floats:
        """(rank,) float: the part of residuals (n,) that a change of parameters would remove; 0 at an optimum."""
        return np.asarray(self.left.T @ residuals)

    def determines(self, gradients: Floats) -> Booleans:
        """(k,) bool: do the data determine the linear functions of the parameters with these gradients (k, P)?"""
        scaled = gradients / self.scale
        length = np.linalg.norm(scaled, axis=1)
        determined: Booleans = np.linalg.norm(scaled @ self.null, axis=1) <= _PART_OF_A_DIRECTION * length
        return determined


class Status(Enum):
    """How a fit ended; the values are what the user reads."""

    CONVERGED = "converged"
    OUT_OF_EVALUATIONS = "did not converge in the evaluations allowed: try another start or fewer parameters"
    STALLED = "stopped where no step helps, yet not at an optimum: try another start or rescale the parameters"
    NOT_FINITE = "the model is not finite at the start: try another start"


@dataclass(frozen=True)
class Solution:
    """Where a fit ended."""

    theta: Floats  # the parameters
    objective: float  # what was minimised: the sum of squares, or of the robust loss
    sum_of_squares: float  # sum of the squared residuals
    residuals: Floats
    jacobian: Floats  # both at `theta`
    at_bound: Booleans  # parameters that lie on a bound and would leave it for a better fit
    status: Status
    evaluations: int  # number of evaluations of the residuals


def solve(
    residuals: Callable[[Floats], Floats],
    jacobian: Callable[[Floats], Floats],
    start: Floats,
    *,
    lower: Floats | None = None,
    upper: Floats | None = None,
    loss: str = "linear",
    loss_scale: float = 1.0,
    max_evaluations: int = 5000,
    tolerance: float = TIGHT,
    polish: bool = True,
) -> Solution:
    """Minimise the sum of squares, or of a robust loss, of the residuals."""
    from scipy.optimize import least_squares

    search = _Search(residuals, jacobian, LOSSES[loss], loss_scale)
    low = np.full(start.shape, -np.inf) if lower is None else lower
    high = np.full(start.shape, np.inf) if upper is None else upper
    start = np.clip(start, low, high)
    # A step may lead out of a function's domain; the trust region then shrinks, and the user need not know.
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        first = search.at(start, np.zeros(start.shape, dtype=bool))
        if not (np.isfinite(first.residuals).all() and np.isfinite(first.jacobian).all()):
            return search.solution(first, Status.NOT_FINITE, 1)
        if start.size == 0:
            return search.solution(first, Status.CONVERGED, 1)
        anchored = search.anchored(first)
        try:
            solution = least_squares(
                anchored.model,
                start,
                jac=anchored.jacobian,  # type: ignore[arg-type]  # the stubs know only of a callable with further arguments
                bounds=(low, high),
                method="trf",
                x_scale="jac",
                ftol=tolerance,
                xtol=tolerance,
                # The gradient has the units of the problem, so that no fixed bound on it would mean anything.
                gtol=None,
                loss="linear" if loss == "linear" else LOSSES[loss],  # type: ignore[arg-type]  # also
                f_scale=loss_scale,
                max_nfev=max_evaluations,
            )
        except np.linalg.LinAlgError:  # of slopes as large as numbers go, where a step led
            return search.solution(first, Status.NOT_FINITE, 1)
        reached = search.at(np.asarray(solution.x), np.zeros(start.shape, dtype=bool))
        on_bound = search.snapped(reached, low, high)
        final, steps = search.polished(on_bound, low, high) if polish else (on_bound, 0)
        status = Status.OUT_OF_EVALUATIONS if solution.status == 0 else Status.STALLED
        if final.is_optimum:
            status = Status.CONVERGED
        return search.solution(final, status, int(solution.nfev) + steps)


@dataclass(frozen=True)
class _Point:
    """A place in parameter space, with the weighted least-squares problem that touches the objective there."""

    theta: Floats
    held: Booleans
    objective: float
    residuals: Floats
    jacobian: Floats
    root_weights: Floats

    @property
    def factor(self) -> JacobianFactor:
        return JacobianFactor.of((self.jacobian * self.root_weights[:, None])[:, ~self.held])

    def look(self) -> tuple[float, Floats]:
        """Return the removable part of the residuals, as a length, and the step (P,) that would remove it."""
        factor = self.factor
        weighted = self.residuals * self.root_weights
        step = np.zeros(len(self.theta))
        step[~self.held] = factor.step(weighted)
        return float(np.linalg.norm(factor.reached(weighted))), step

    @property
    def is_optimum(self) -> bool:
        removable, step = self.look()
        scale = np.linalg.norm(self.jacobian, axis=0)
        small_step = np.linalg.norm(step * scale) <= _RELATIVE_STEP * np.linalg.norm(self.theta * scale)
        return bool(small_step or removable <= _RELATIVE_OFFSET * np.linalg.norm(self.residuals * self.root_weights))


@dataclass(frozen=True)
class _Search:
    model: Callable[[Floats], Floats]
    jacobian: Callable[[Floats], Floats]
    loss: Callable[[Floats], Floats]
    loss_scale: float

    def at(self, theta: Floats, fixed: Booleans) -> _Point:
        residuals = np.asarray(self.model(theta), dtype=float)
        rho, weights, _ = self.loss((residuals / self.loss_scale) ** 2)
        objective = float(self.loss_scale**2 * rho.sum())
        return _Point(theta, fixed, objective, residuals, np.asarray(self.jacobian(theta)), np.sqrt(weights))

    def anchored(self, start: _Point) -> _Search:
        """Return the same problem with a weak pull to the start, where the data do not determine every parameter."""
        factor = start.factor
        if factor.rank == len(start.theta):
            return self
        pull = _PULL * factor.scale
        return replace(
            self,
            model=lambda theta: np.concatenate([self.model(theta), pull * (theta - start.theta)]),
            jacobian=lambda theta: np.vstack([self.jacobian(theta), np.diag(pull)]),
        )

    def snapped(self, point: _Point, low: Floats, high: Floats) -> _Point:
        """Put parameters on the bounds that they press against: an interior method only comes near them.

        One after the other, the nearest first: in a product of two parameters the other one no longer matters then.
        """
        if not (np.isfinite(low).any() or np.isfinite(high).any()):
            return point
        reached = point
        while (pressing := self.pressing(point, low, high) & ~point.held).any():
            distance = np.where(pressing, np.minimum(point.theta - low, high - point.theta), np.inf)
            nearest = int(np.argmin(distance))
            theta, fixed = point.theta.copy(), point.held.copy()
            theta[nearest] = low[nearest] if theta[nearest] - low[nearest] == distance[nearest] else high[nearest]
            fixed[nearest] = True
            point = self.at(theta, fixed)
        # Rounding may let a parameter seem to press; then all stay inside, next to their bounds.
        return point if point.objective <= reached.objective * (1.0 + _SAME_OBJECTIVE) else reached

    def pressing(self, point: _Point, low: Floats, high: Floats) -> Booleans:
        """(P,) bool: would a Gauss-Newton step of the parameter alone carry it past its bound?"""
        gradient = point.jacobian.T @ (point.root_weights**2 * point.residuals)
        curvature = np.einsum("n,nk,nk->k", point.root_weights**2, point.jacobian, point.jacobian)
        alone = point.theta - np.divide(gradient, curvature, out=np.zeros_like(gradient), where=curvature > 0.0)
        return np.asarray((alone < low) | (alone > high))

    def polished(self, point: _Point, low: Floats, high: Floats) -> tuple[_Point, int]:
        """Take plain Gauss-Newton steps while they shrink the removable part of the residuals.

        A trust region compares objectives, which near an optimum agree in all digits long before the parameters do;
        these steps compare the remainder, which falls to rounding itself.
        """
        steps = 0
        removable, step = point.look()
        while steps < _MOST_FINAL_STEPS and removable > 0.0:
            theta = point.theta + step
            if not ((theta >= low) & (theta <= high)).all():
                break
            steps += 1
            further = self.at(theta, point.held)
            if not (np.isfinite(further.residuals).all() and np.isfinite(further.jacobian).all()):
                break
            still_removable, step = further.look()
            if not still_removable < _LEAST_GAIN * removable:
                break
            point, removable = further, still_removable
        return point, steps

    def solution(self, point: _Point, status: Status, evaluations: int) -> Solution:
        return Solution(
            point.theta, point.objective, float(point.residuals @ point.residuals), point.residuals, point.jacobian,
            point.held, status, evaluations,
        )  # fmt: skip
