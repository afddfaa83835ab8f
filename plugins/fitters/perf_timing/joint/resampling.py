"""Bootstrap and cross-validation of the joint model, with the cell (one code on one system) as the unit.

The observations of a cell share what the model misses there, so that single observations would make it look better
than it is.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from perf_statistics.trust_region import JacobianFactor
from perf_timing.joint.problem import JointProblem
from perf_timing.joint.solver import JointFit
from perf_timing.joint.tasks import bootstrap_part, left_out_part, packed_fit
from perfcore.base.executors import as_they_end, in_order

Floats = npt.NDArray[np.float64]

# A row whose leverage is 1 is fitted exactly whatever its value; rounding leaves it a little less.
_FULL_LEVERAGE = 1.0 - 1e-10

# What a part is made of: a second or more where refits are slow. The draws of a seed hang on the first.
_DRAWS_OF_A_PART, _CELLS_OF_A_PART = 25, 8


@dataclass(frozen=True)
class Bootstrap:
    """Parameters refitted with random weights."""

    draws: Floats  # parameters theta of each refit that converged
    failed: int  # number of refits that did not; they are left out

    def intervals(self, level: float = 0.95) -> tuple[Floats, Floats]:
        """Percentile intervals, lower and upper (P,) float; NaN without draws."""
        if len(self.draws) == 0:
            return np.full(self.draws.shape[1], np.nan), np.full(self.draws.shape[1], np.nan)
        lower, upper = np.quantile(self.draws, [0.5 - 0.5 * level, 0.5 + 0.5 * level], axis=0)
        return lower, upper


def bootstrap(
    problem: JointProblem,
    fit: JointFit,
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
    problem: JointProblem,
    fit: JointFit,
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
    """Residuals (n,) of each observation against the fit of all others, in one step: e / (1 - h)."""
    leverage = JacobianFactor.of(jacobian).leverage
    lone = leverage > _FULL_LEVERAGE
    return np.where(lone, np.nan, residuals / np.where(lone, 1.0, 1.0 - leverage))
