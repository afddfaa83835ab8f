"""Bootstrap and cross-validation of the joint model, with the cell (one code on one system) as the unit.

The observations of a cell share what the model misses there, so that single observations would make it look better
than it is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from perf_least_squares import trust_region
from perf_least_squares.jacobian_factor import JacobianFactor
from perf_timing.joint.descent import CompressedProblem
from perf_timing.joint.problem import JointProblem
from perf_timing.joint.solver import JointFit, refine, search
from perf_timing.joint.start import data_driven_start

__all__ = ["Bootstrap", "bootstrap", "leave_one_cell_out", "leave_one_out_residuals"]

Floats = npt.NDArray[np.float64]

# A row whose leverage is 1 is fitted exactly whatever its value; rounding leaves it a little less.
_FULL_LEVERAGE = 1.0 - 1e-10


@dataclass(frozen=True)
class Bootstrap:
    """Parameters refitted with random weights.

    Attributes
    ----------
    draws : (B, P) float
        Parameters theta of each refit that converged.
    failed : int
        Number of refits that did not; they are left out.
    """

    draws: Floats
    failed: int

    def intervals(self, level: float = 0.95) -> tuple[Floats, Floats]:
        """Percentile intervals, lower and upper (P,) float; NaN without draws.

        Those of speeds come from `perf_timing.joint.intervals.reciprocal`. For parameters that the data do not
        determine they mean nothing.
        """
        if len(self.draws) == 0:
            return np.full(self.draws.shape[1], np.nan), np.full(self.draws.shape[1], np.nan)
        lower, upper = np.quantile(self.draws, [0.5 - 0.5 * level, 0.5 + 0.5 * level], axis=0)
        return lower, upper


def bootstrap(
    problem: JointProblem,
    fit: JointFit,
    *,
    draws: int,
    rng: np.random.Generator | int,
    advance: Callable[[int], None] = lambda amount: None,
) -> Bootstrap:
    """Refit with random weights on the cells, Exp(1) each.

    Unlike drawing cells with replacement it never loses one, so that every code and system stays determined. With few
    cells for each code and system the spread comes out too small, as with every bootstrap of few units, since a refit
    adapts to the heaviest cells: by a fifth and more for 4 codes on 4 systems, whose
    95% intervals then hold the truth in some 80%.

    Parameters
    ----------
    problem : JointProblem
    fit : JointFit
        Where each refit begins; its bounds and loss are kept.
    draws : int
        Number B of refits; some hundred for standard errors, 2,000 for intervals.
    rng : numpy.random.Generator or int
    advance : callable
        Called with 1 after each refit.

    Returns
    -------
    Bootstrap

    Source: L. Xu, C. Gotwalt, Y. Hong, C. B. King and W. Q. Meeker, "Applications of the Fractional-Random-Weight
    Bootstrap", The American Statistician 74, 2020. Deviation: one weight for each cell instead of each observation.
    """
    generator = np.random.default_rng(rng)
    cells, cell = np.unique(problem.cell, return_inverse=True)
    compressed = CompressedProblem.of(problem) if fit.compiled else None
    found = []
    for _ in range(draws):
        weights = generator.standard_exponential(len(cells))
        quick = compressed.weighted(cells, weights).descend(fit.theta) if compressed else None
        if quick is not None:
            found.append(quick.theta)
        elif (one := _refit(problem.weighted(weights[cell]), fit)).status is trust_region.Status.CONVERGED:
            found.append(one.theta)
        advance(1)
    return Bootstrap(np.array(found).reshape(-1, problem.n_parameters), draws - len(found))


def leave_one_cell_out(
    problem: JointProblem, fit: JointFit, *, advance: Callable[[int], None] = lambda amount: None
) -> Floats:
    """Predict the observations of each cell from all other cells.

    This asks what the joint model is for: the time of a code on a system where it has not run.

    Parameters
    ----------
    problem : JointProblem
    fit : JointFit
        Where each refit begins; its bounds and loss are kept.
    advance : callable
        Called with 1 after each cell.

    Returns
    -------
    (n,) float
        Predictions with the factors of their rows; NaN where the other cells do not determine them (the only cell of a
        code or system, or the only link between two parts of the table) and where the refit did not converge.
    """
    cell = problem.cell
    predictions = np.full(problem.n_rows, np.nan)
    compressed = CompressedProblem.of(problem) if fit.compiled else None
    for one in np.unique(cell):
        left = cell == one
        quick = compressed.weighted(np.array([one]), np.zeros(1)).descend(fit.theta) if compressed else None
        if quick is not None:
            predictions[left] = problem.subset(left).predict(quick.theta)
        elif not left.all():
            rest = _refit(problem.subset(~left), fit)
            free = ~rest.at_bound
            removed = problem.subset(left)
            determined = JacobianFactor.of(rest.jacobian[:, free]).determines(removed.jacobian(rest.theta)[:, free])
            if rest.status is trust_region.Status.CONVERGED:
                predictions[left] = np.where(determined, removed.predict(rest.theta), np.nan)
        advance(1)
    return predictions


def leave_one_out_residuals(residuals: Floats, jacobian: Floats) -> Floats:
    """Residuals (n,) of each observation against the fit of all others, in one step: e / (1 - h).

    Exact for a linear model; here h is the leverage in the model's linearisation at the optimum.

    Parameters
    ----------
    residuals : (n,) float
    jacobian : (n, P) float
        At the optimum, of the parameters that are not at a bound.

    Returns
    -------
    (n,) float
        NaN where an observation alone determines a parameter.
    """
    leverage = JacobianFactor.of(jacobian).leverage
    lone = leverage > _FULL_LEVERAGE
    return np.where(lone, np.nan, residuals / np.where(lone, 1.0, 1.0 - leverage))


def _refit(problem: JointProblem, fit: JointFit) -> trust_region.Solution:
    near = refine(problem, fit.theta, positive=fit.positive, loss=fit.loss, loss_scale=fit.loss_scale, polish=False)
    if near.status is trust_region.Status.CONVERGED:
        return near
    # The optimum has moved far away, and the way there is lost more easily than found anew.
    return search(problem, data_driven_start(problem), positive=fit.positive, loss=fit.loss, loss_scale=fit.loss_scale)
