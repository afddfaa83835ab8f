"""The fast way to fit the joint model by least squares: a compressed table and compiled Newton steps.

It answers only where the data determine every parameter well; the caller has `perf_timing.joint.solver.search` for
the rest.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from perf_timing.joint.problem import JointProblem
from perfcore.base.arrays import Floats, Ints
from perfcore.base.kernels import announce_compilation

# Importing numba and loading kernels that are compiled takes some 0.4 s in each process; the careful search takes about
# 3 us for each row times parameter.
_WORTH_LOADING = 150_000


@dataclass(frozen=True)
class Descent:
    """An optimum, at which the data determine every parameter."""

    theta: Floats
    objective: float  # the sum of squares
    evaluations: int  # of the residuals
    inverse_root: Floats  # A with A'A = (J'J)^-1


@dataclass(frozen=True)
class CompressedProblem:
    """A joint problem with the rows of each cell replaced by the triangle of their QR factorisation.

    All rows of a cell have the same parameters, so that J'J, J'r and the sum of squares of the m + 1 rows that are left
    are those of all rows at every theta; it takes one pass over the observations.
    """

    triangles: Floats  # of the rows [basis | target] of each cell; zero without observations
    place: Ints  # place of each system among the fitted ones, -1 for the reference

    @classmethod
    def of(cls, problem: JointProblem) -> CompressedProblem:
        """Compress a problem that has a reference system."""
        problem.reference_system  # noqa: B018  # raises where there is none, which the kernels could not
        side = problem.n_functions + 1
        triangles = np.zeros((problem.n_codes, problem.n_systems, side, side))
        _kernels().compress(*_rows(problem), triangles)
        return cls(triangles, problem.place)

    def weighted(self, cells: Ints, weights: Floats) -> CompressedProblem:
        """The same problem with weights (k,), >= 0, on the squared residuals of cells (k,), numbered as in the
        problem.
        """
        root = np.ones(self.triangles.shape[:2])
        root.flat[cells] = np.sqrt(weights)
        return replace(self, triangles=self.triangles * root[:, :, None, None])

    def search(self, v: Floats | None = None) -> Descent | None:
        """The optimum from inverse speeds v (m, S), all 1 if not given, and the work that fits them; see `descend`."""
        n_codes, n_systems, side, _ = self.triangles.shape
        v = np.ones((side - 1, n_systems)) if v is None else v
        theta = np.empty((side - 1) * (n_codes + n_systems - 1))
        root = np.empty((len(theta), len(theta)))
        outcome = _kernels().search(self.triangles, self.place, v, theta, root)
        return _descent(theta, root, *outcome)

    def descend(self, theta: Floats, fixed: int = -1) -> Descent | None:
        """The optimum from theta (P,), with one parameter held if its place is given."""
        theta, root = theta.copy(), np.empty((len(theta), len(theta)))
        outcome = _kernels().descend(self.triangles, self.place, theta, fixed, root)
        return _descent(theta, root, *outcome)


def _descent(theta: Floats, root: Floats, converged: bool, squares: float, evaluations: int) -> Descent | None:
    return Descent(theta, squares, evaluations, root) if converged else None


def is_worth_compiling(problem: JointProblem, fits: int) -> bool:
    """Do so many fits of such a problem take longer the careful way than a process takes to load the kernels?"""
    return fits * problem.n_rows * problem.n_parameters >= _WORTH_LOADING


def evaluate(problem: JointProblem, theta: Floats) -> tuple[Floats, Floats]:
    """Residuals (n,) and Jacobian (n, P) of all rows, as `JointProblem` has them, compiled."""
    residuals, jacobian = np.empty(problem.n_rows), np.zeros((problem.n_rows, problem.n_parameters))
    _kernels().evaluate(*_rows(problem), problem.place, theta, residuals, jacobian)
    return residuals, jacobian


def _rows(problem: JointProblem) -> tuple[Any, ...]:
    """Basis, target, code and system in the one layout that the kernels are compiled for."""
    floats = (np.ascontiguousarray(a, dtype=np.float64) for a in (problem.basis, problem.target))
    integers = (np.ascontiguousarray(a, dtype=np.int64) for a in (problem.code, problem.system))
    return (*floats, *integers)


def _kernels() -> Any:
    """The compiled kernels; numba is imported here and not before."""
    from perf_timing.joint import kernels as joint_kernels

    announce_compilation(*(getattr(joint_kernels, name) for name in ("compress", "descend", "evaluate", "search")))
    return joint_kernels
