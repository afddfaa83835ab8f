"""What is done in parts, here or in another process: combinations fitted, cells left out, draws of the bootstrap.

Parts are the same whoever does them, and nothing but texts, numbers and bytes goes in and out: so any number of
workers gives the digits of this process.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from perf_statistics import trust_region
from perf_statistics.trust_region import JacobianFactor
from perf_timing.joint.descent import CompressedProblem
from perf_timing.joint.problem import JointProblem
from perf_timing.joint.solver import JointFit, JointStatus, refine, search, solve
from perf_timing.joint.start import data_driven_start
from perf_timing.single_thread import single_thread

Floats = npt.NDArray[np.float64]

# Residuals beyond so many standard deviations count as large: 95% efficiency at normal errors (Huber's constant).
_TUNING = 1.345


class How(msgspec.Struct, frozen=True):
    """How a joint model is fitted."""

    starts: int  # starting points of a fit, and what the random ones of them come from
    seed: int
    positive: bool
    loss: str
    compiled: bool  # as of `perf_timing.joint.solver.solve`


class Outcome(msgspec.Struct, frozen=True):
    """What is told of the fit of one combination."""

    status: JointStatus
    sum_of_squares: float
    rank: int
    n_parameters: int
    has_negative: bool  # whether a parameter is negative; without one value for each, none is


class _Table(msgspec.Struct, frozen=True):
    """A joint problem as lists."""

    basis: list[list[float]]
    target: list[float]
    code: list[int]
    system: list[int]
    n_codes: int
    n_systems: int
    reference: int

    def problem(self, members: Sequence[int] | None = None) -> JointProblem:
        """With some of the functions, by default all."""
        basis = np.array(self.basis, dtype=np.float64).reshape(len(self.target), -1)
        return JointProblem(
            basis if members is None else basis[:, members],
            np.array(self.target, dtype=np.float64),
            np.array(self.code, dtype=np.int64),
            np.array(self.system, dtype=np.int64),
            self.n_codes,
            self.n_systems,
            self.reference,
        )


class _Fit(msgspec.Struct, frozen=True):
    """A joint problem with its fit, as far as refits need it."""

    table: _Table
    theta: list[float]
    positive: bool
    loss: str
    loss_scale: float
    compiled: bool


class _Combinations(msgspec.Struct, frozen=True):
    """A joint problem of all functions, and how each combination of them is fitted."""

    table: _Table
    how: How


def packed(problem: JointProblem, how: How) -> bytes:
    """The problem of all functions, for `compare_part`."""
    return msgspec.json.encode(_Combinations(_table(problem), how))


def packed_fit(problem: JointProblem, fit: JointFit) -> bytes:
    """A problem with its fit, for `bootstrap_part` and `left_out_part`."""
    fit_document = _Fit(_table(problem), fit.theta.tolist(), fit.positive, fit.loss, fit.loss_scale, fit.compiled)
    return msgspec.json.encode(fit_document)


def fitted(problem: JointProblem, how: How) -> JointFit:
    """The fit; a robust loss takes its scale from the residuals of least squares."""
    options: dict[str, Any] = {"starts": how.starts, "rng": how.seed, "positive": how.positive}
    fit = solve(problem, **options, compiled=how.compiled)
    if how.loss == "linear":
        return fit
    from scipy.stats import median_abs_deviation

    scale = float(median_abs_deviation(fit.residuals, scale="normal"))
    if scale == 0.0:
        return fit
    return solve(problem, **options, loss=how.loss, loss_scale=_TUNING * scale)


def compare_part(message: bytes | str, combinations: Sequence[Sequence[int]]) -> bytes:
    """A task: an `Outcome` for each combination, as MessagePack."""
    combined = msgspec.json.decode(message, type=_Combinations)
    with single_thread():
        return msgspec.msgpack.encode([_outcome(combined, members) for members in combinations])


def _outcome(combined: _Combinations, members: Sequence[int]) -> Outcome:
    # One start each where starts cost time, which a doubled function always does: nothing compiled fits it. The chosen
    # model is fitted again with all starts.
    cheap = combined.how.compiled and len(set(members)) == len(members)
    how = combined.how if cheap else msgspec.structs.replace(combined.how, starts=1)
    fit = fitted(combined.table.problem(members), how)
    negative = bool(not fit.undetermined.any() and (fit.theta < 0.0).any())
    return Outcome(fit.status, fit.sum_of_squares, fit.rank, len(fit.theta), negative)


def bootstrap_part(message: bytes | str, seed: int, part: int, draws: int) -> bytes:
    """A task: the parameters (k, P) of the refits that converge, as bytes."""
    fit = msgspec.json.decode(message, type=_Fit)
    problem, theta = fit.table.problem(), np.array(fit.theta)
    generator = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(part,)))
    cells, cell = np.unique(problem.cell, return_inverse=True)
    compressed = CompressedProblem.of(problem) if fit.compiled else None
    estimates = []
    with single_thread():
        for _ in range(draws):
            weights = generator.standard_exponential(len(cells))
            quick = compressed.weighted(cells, weights).descend(theta) if compressed else None
            if quick is not None:
                estimates.append(quick.theta)
            elif (refit := _refit(problem.weighted(weights[cell]), fit)).status is trust_region.Status.CONVERGED:
                estimates.append(refit.theta)
    return np.array(estimates, dtype="<f8").tobytes()


def left_out_part(message: bytes | str, cells: Sequence[int]) -> bytes:
    """A task: predictions of the observations of each cell from all others, cell after cell, as bytes."""
    fit = msgspec.json.decode(message, type=_Fit)
    problem, theta = fit.table.problem(), np.array(fit.theta)
    compressed = CompressedProblem.of(problem) if fit.compiled else None
    with single_thread():
        predictions = [_without(one, problem, theta, compressed, fit) for one in cells]
    return np.concatenate(predictions).astype("<f8").tobytes()


def _without(
    cell: int, problem: JointProblem, theta: Floats, compressed: CompressedProblem | None, fit: _Fit
) -> Floats:
    """Predictions of a cell's observations by all others; NaN where these do not determine them."""
    left = problem.cell == cell
    quick = compressed.weighted(np.array([cell]), np.zeros(1)).descend(theta) if compressed else None
    if quick is not None:
        return problem.subset(left).predict(quick.theta)
    nothing = np.full(int(left.sum()), np.nan)
    if left.all():
        return nothing
    rest = _refit(problem.subset(~left), fit)
    free = ~rest.at_bound
    removed = problem.subset(left)
    determined = JacobianFactor.of(rest.jacobian[:, free]).determines(removed.jacobian(rest.theta)[:, free])
    if rest.status is not trust_region.Status.CONVERGED:
        return nothing
    return np.where(determined, removed.predict(rest.theta), np.nan)


def _refit(problem: JointProblem, known: _Fit) -> trust_region.Solution:
    how: dict[str, Any] = {"positive": known.positive, "loss": known.loss, "loss_scale": known.loss_scale}
    near = refine(problem, np.array(known.theta), **how, polish=False)
    if near.status is trust_region.Status.CONVERGED:
        return near
    # The optimum has moved far away, and the way there is lost more easily than found anew.
    return search(problem, data_driven_start(problem), **how)


def _table(problem: JointProblem) -> _Table:
    return _Table(
        problem.basis.tolist(),
        problem.target.tolist(),
        problem.code.tolist(),
        problem.system.tolist(),
        problem.n_codes,
        problem.n_systems,
        problem.reference_system,
    )
