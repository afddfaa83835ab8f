"""One model of all codes on all systems, T = sum_i (w_i^c / r_i^s) u_i(p), with bounds of single runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import msgspec
import numpy as np

from perf_statistics import goodness, model_average
from perf_statistics.trust_region import JacobianFactor
from perf_tables.points import Places
from perf_timing.joint_resampling import leave_one_out_residuals
from perf_timing.joint_solver import JointProblem
from perf_timing.scaling_model import ScalingModel
from perfcore.base.arrays import Booleans, Floats, Ints
from perfcore.base.errors import DataError
from perfcore.models.model import Parameter, Points
from perfcore.models.points import DesignRows, check_coverage
from perfcore.models.ranking import Candidate

_EFFECTS = (0.0, 0.03, 0.1, 0.3, 1.0)  # standard deviation of a pair's effect, in the logarithm; equally likely
_COMMON_DRIFTS = (0.0, 0.06, 0.25, 1.0)  # of the drift that all pairs share; equally likely
_STRANGE = 12.0  # how many times the variance of others the misfit of a pair has that deviates
_NEGLIGIBLE = 12.0  # in the logarithm of the likelihood
_ROUNDING = 1e-12  # eigenvalues of a covariance below this share of the largest
_EXACT = 1e-24  # share of the total sum of squares that rounding leaves
_LEAST = 0.05  # of a measured value, below which a model that misses it has no logarithm
_UNDETERMINED = "not identifiable from these data"


@dataclass(frozen=True)
class PairPoints:
    """Points of pairs, as the linearised logarithm of the model sees them."""

    cell: Ints  # pair of each
    place: Floats  # logarithms of the parameters
    gradient: Floats  # derivatives of the logarithm of the model by its free parameters
    common: int = 0  # how many of these, the last, are of a drift that all pairs share


def expected_runs(
    off: Floats, measured: PairPoints, new_points: PairPoints, level: Floats, run: float
) -> model_average.NormalMixture:
    """Return the logarithm of single runs over the model, at the asked points.

    Work over speed is the same for all pairs, and no pair keeps to it exactly. So the logarithm of a value is that of
    the model, plus an effect of the pair, plus a misfit that grows with the distance over the parameters, of the pair
    and of all pairs together, plus noise, as `perf_statistics.model_average` has them. About the estimate the model is
    linear in its parameters; their errors are those of generalised least squares. What the measurements of a pair say
    about its own effect moves its bounds; for a pair that was never measured the whole effect stays open. How large
    effects, drift and noise are is not known: each value is weighed by its restricted likelihood over all pairs.

    Source: G. K. Robinson, "That BLUP is a good thing: the estimation of random effects", Statistical Science 6, 1991;
    D. A. Harville, "Maximum likelihood approaches to variance component estimation", JASA 72, 1977.
    """
    # Derivatives by independent directions of the parameters, those that the measured points determine.
    factor = JacobianFactor.of(measured.gradient)
    directions = factor.right / factor.scale[:, None] / factor.singular
    independent = [replace(points, gradient=points.gradient @ directions) for points in (measured, new_points)]
    measured, new_points, unexplained = _with_common_drift(*independent)
    all_cells, counts = np.unique(measured.cell, return_counts=True)
    groups = [_Group.of(measured, new_points, all_cells[counts == size]) for size in np.unique(counts)]
    far = model_average.drift_variance(new_points.place)
    parts = []
    for effect in _EFFECTS:
        for noise, drift, log_prior in model_average.misfits():
            conditional = _given(off, new_points.gradient, groups, far, level + noise**2, effect**2, drift**2)
            for common in _COMMON_DRIFTS:
                likelihood, mean, variance = conditional.with_common(common, measured.common, unexplained)
                parts.append((likelihood + log_prior, mean, variance, noise))
    best = max(part[0] for part in parts)
    kept = [part for part in parts if part[0] > best - _NEGLIGIBLE]
    evidence, noises = (np.array([part[place] for part in kept]) for place in (0, 3))
    means, variances = (np.stack([part[place] for part in kept]) for place in (1, 2))
    usual = noises**2 + run
    deviating = usual + model_average.deviating_variance(noises)
    return model_average.NormalMixture.of(
        np.concatenate([evidence + np.log(1.0 - model_average.DEVIATES), evidence + np.log(model_average.DEVIATES)]),
        np.concatenate([means, means]),
        np.concatenate([variances + usual[:, None], _STRANGE * variances + deviating[:, None]]),
    )


@dataclass(frozen=True)
class _Group:
    """Pairs with the same number of measured points, and the points that are asked of them."""

    rows: Ints  # measured points of each pair
    gradient: Floats
    own: Floats  # covariance of their misfit for a drift of 1
    asked: Ints  # asked points, and which of the pairs each is of
    pair: Ints
    cross: Floats  # covariance of their misfit with that of the pair's measured points

    @classmethod
    def of(cls, measured: PairPoints, new_points: PairPoints, cells: Ints) -> _Group:
        rows = np.stack([np.flatnonzero(measured.cell == cell) for cell in cells])
        new_rows = np.flatnonzero(np.isin(new_points.cell, cells))
        pair = np.searchsorted(cells, new_points.cell[new_rows])
        places = measured.place[rows]
        cross = [
            model_average.drift_covariance(new_points.place[[k]], places[b])[0]
            for k, b in zip(new_rows, pair, strict=True)
        ]
        return cls(
            rows=rows,
            gradient=measured.gradient[rows],
            own=np.stack([model_average.drift_covariance(place, place) for place in places]),
            asked=new_rows,
            pair=pair,
            cross=np.array(cross).reshape(len(new_rows), rows.shape[1]),
        )


def _with_common_drift(measured: PairPoints, new_points: PairPoints) -> tuple[PairPoints, PairPoints, Floats]:
    """Return points with derivatives by a drift that all pairs share, in independent directions of like size."""
    places, index = np.unique(measured.place, axis=0, return_inverse=True)
    values, vectors = np.linalg.eigh(model_average.drift_covariance(places, places))
    positive = values > _ROUNDING * max(float(values[-1]), 0.0)
    root = vectors[:, positive] * np.sqrt(values[positive])
    across = model_average.drift_covariance(new_points.place, places) @ (
        vectors[:, positive] / np.sqrt(values[positive])
    )
    first, second = (
        replace(points, gradient=np.hstack([points.gradient, part]), common=int(positive.sum()))
        for points, part in ((measured, root[index.ravel()]), (new_points, across))
    )
    return first, second, np.maximum(model_average.drift_variance(new_points.place) - (across**2).sum(axis=1), 0.0)


@dataclass(frozen=True)
class _Given:
    """What generalised least squares is made of, for some variances."""

    normal: Floats
    right: Floats
    constant: float
    left: Floats
    mean: Floats  # of the pair's own part at the asked points
    variance: Floats

    def with_common(self, drift: float, count: int, unexplained: Floats) -> tuple[float, Floats, Floats]:
        """Logarithm of the restricted likelihood, mean and variance (k,), for a common drift in the last parameters.

        What that is free to do besides, at the asked points, has the variances apart (k,) for a drift of 1.
        """
        parameters = len(self.right) - count
        scale = np.concatenate([np.ones(parameters), np.full(count, drift)])
        normal = scale[:, None] * self.normal * scale
        normal += np.diag(np.concatenate([np.zeros(parameters), np.ones(count)]))
        right, left = scale * self.right, self.left * scale
        shift = np.linalg.solve(normal, np.column_stack([right, left.T]))
        likelihood = self.constant - 0.5 * (float(np.linalg.slogdet(normal)[1]) - float(right @ shift[:, 0]))
        mean = self.mean + left @ shift[:, 0]
        variance = np.maximum(self.variance, 1e-12) + drift**2 * unexplained + np.einsum("kp,pk->k", left, shift[:, 1:])
        return likelihood, mean, variance


def _given(
    off: Floats, gradient: Floats, groups: Sequence[_Group], far: Floats, level: Floats, effect: float, drift: float
) -> _Given:
    """Generalised least squares for variances of level (n,), effect and drift of a pair."""
    count = gradient.shape[1]
    normal, right, constant = np.zeros((count, count)), np.zeros(count), 0.0
    left, mean, variance = gradient.copy(), np.zeros(len(far)), effect + drift * far
    for group in groups:
        values = off[group.rows]
        covariance = effect + drift * group.own + level[group.rows][:, :, None] * np.eye(group.rows.shape[1])
        inverse = np.linalg.inv(covariance)
        solved = (inverse @ values[:, :, None])[:, :, 0]
        flat = group.gradient.reshape(-1, count)
        normal += flat.T @ (inverse @ group.gradient).reshape(-1, count)
        right += flat.T @ solved.ravel()
        constant -= 0.5 * float(np.linalg.slogdet(covariance)[1].sum() + (values * solved).sum())
        cross = effect + drift * group.cross
        weights = np.einsum("as,ast->at", cross, inverse[group.pair])
        mean[group.asked] = (weights * values[group.pair]).sum(axis=1)
        left[group.asked] -= np.einsum("as,asp->ap", weights, group.gradient[group.pair])
        variance[group.asked] -= (weights * cross).sum(axis=1)
    return _Given(normal, right, constant, left, mean, variance)


class Interval(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Confidence interval of one parameter."""

    name: str
    lower: float | None  # none if it does not close: every value beyond some point agrees with the data
    upper: float | None
    converged: bool  # did every refit converge? If not, the interval may be too narrow


class JointModel(ScalingModel, frozen=True, forbid_unknown_fields=True):
    """Work of the codes and speed of the systems for each characteristic function.

    Parameters are ordered as in `theta`: function by function the work of all codes, then the inverse speeds of all
    systems but the reference.
    """

    reference: str  # the system whose speeds are 1
    work: tuple[tuple[float, ...], ...]  # w of the codes in the scale of the fit, one row for each function
    inverse_speed: tuple[tuple[float, ...], ...]  # 1/r of the systems; 1 for the reference
    covariance: tuple[tuple[float, ...], ...] | None  # asymptotic, of the parameters; None without degrees of freedom
    undetermined: tuple[bool, ...]  # parameters that can change without changing the model
    at_bound: tuple[bool, ...]  # parameters that are held at 0
    rank: int  # directions of the parameters that the data determine
    sum_of_squares: float  # weighted squares in the scale of the fit: of residuals, values, values about their mean
    total_squares: float
    centered_squares: float
    status: str  # how the fit ended
    starts: int
    starts_reached: int
    evaluations: int
    left_out: tuple[float | None, ...]  # each observation predicted from all other cells, in the user's unit
    intervals: tuple[Interval, ...]  # by profile likelihood or bootstrap; empty for asymptotic ones
    dropped: tuple[str, ...]  # observations that were left out as outliers
    ranking: tuple[Candidate, ...]  # combinations that were compared; empty if the functions were named

    reporter: ClassVar[str] = "perf_timing.answers:joint_report"
    kind: ClassVar[str] = "joint timing model"
    is_joint: ClassVar[bool] = True
    needed_options: ClassVar[tuple[str, ...]] = ("weights", "intervals")

    def __post_init__(self) -> None:
        super().__post_init__()
        count = len(self.functions)
        parameters = count * (len(self.codes) + len(self.systems) - 1)
        rows = [len(row) for row in self.covariance] if self.covariance is not None else [parameters] * parameters
        sizes = {
            "reference": self.reference in self.systems,
            "work": [len(row) for row in self.work] == [len(self.codes)] * count,
            "inverse_speed": [len(row) for row in self.inverse_speed] == [len(self.systems)] * count,
            "covariance": rows == [parameters] * parameters,
            "undetermined": len(self.undetermined) == parameters,
            "at_bound": len(self.at_bound) == parameters,
            "left_out": len(self.left_out) in (0, len(self.observations.value)),
        }
        for name, right in sizes.items():
            if not right:
                raise ValueError(f"{name} does not belong to the model's functions, codes and systems")

    def predict_array(self, points: Points, interval: float | None = None) -> Floats:
        places = self.places(points)
        problem = self.problem(places)
        values = problem.predict(self.theta) / self.factor(places)
        if interval is None:
            return values
        check_coverage(interval)
        return np.column_stack([values, self._bounds(places, problem, values, interval)])

    def _bounds(self, places: Places, problem: JointProblem, values: Floats, interval: float) -> Floats:
        """Return lower and upper bounds of single runs (n, 2), with the values between them."""
        if self.degrees_of_freedom <= 0 or self.covariance is None:
            return np.full((len(places), 2), np.nan)
        measured_places, free, observed = self.measured_places, ~np.array(self.at_bound), self.observations
        measured_positions, new_positions = model_average.positions(measured_places.points, places.points)
        measured, model = np.array(observed.value) * self.factor(measured_places), self.problem(measured_places)
        fitted = np.maximum(model.predict(self.theta), _LEAST * measured)
        expected = np.maximum(problem.predict(self.theta), 0.0)
        safe = np.where(expected > 0.0, expected, 1.0)
        spread = np.array(observed.spread, dtype=np.float64) / np.array(observed.value)
        repetitions = np.array(observed.repetitions, dtype=np.float64)
        run = model_average.run_variance(repetitions, spread)
        at_measured, at_new = (
            PairPoints(self.cells(at), place, one.jacobian(self.theta)[:, free] / values_there[:, None])
            for at, place, one, values_there in (
                (measured_places, measured_positions, model, fitted), (places, new_positions, problem, safe)
            )
        )  # fmt: skip
        runs = expected_runs(np.log(measured / fitted), at_measured, at_new, run / repetitions, run)
        ends = values[:, None] * runs.ratio_quantiles((0.5 - 0.5 * interval, 0.5 + 0.5 * interval)).T
        determined = (expected > 0.0) & self._determined(problem.jacobian(self.theta))
        ends = np.column_stack([np.minimum(ends[:, 0], values), np.maximum(ends[:, 1], values)])
        return np.where(determined[:, None], ends, np.nan)

    def remarks(self, points: Points) -> list[str]:
        lines = super().remarks(points)
        determined = self._determined(self.problem(self.places(points)).jacobian(self.theta))
        return [text if is_determined else _UNDETERMINED for text, is_determined in zip(lines, determined, strict=True)]

    def design_rows(self, points: Points) -> DesignRows:
        if self.degrees_of_freedom <= 0:
            raise DataError("the data leave no degree of freedom, so the noise is unknown; measure more points")
        places, free = self.places(points), ~np.array(self.at_bound)
        problem = self.problem(places)
        weights = self.new_weights(problem.predict(self.theta))
        return DesignRows(
            measured=(self.weighted_problem().jacobian(self.theta)[:, free],),
            asked=(problem.jacobian(self.theta)[:, free] * weights[:, None],),
            errors=np.array([[self.sum_of_squares / self.degrees_of_freedom]]),
            scale=1.0 / (weights * self.factor(places)),
            points=self.fitted_points,
            repetitions=np.array(self.observations.repetitions),
            unit=self.unit,
        )

    def _determined(self, gradients: Floats) -> Booleans:
        """Return whether the data determine the predictions with these gradients (n, P)."""
        if not any(self.undetermined):
            return np.ones(len(gradients), dtype=np.bool_)
        free = ~np.array(self.at_bound)
        measured = self.weighted_problem().jacobian(self.theta)
        return JacobianFactor.of(measured[:, free]).determines(gradients[:, free])

    def problem(self, places: Places) -> JointProblem:
        """Return the bilinear problem at points, with targets of 0."""
        basis, sizes = self.scaled_design(places), (len(self.codes), len(self.systems))
        reference = self.systems.index(self.reference)
        return JointProblem(basis, np.zeros(len(places)), places.code, places.system, *sizes, reference)

    def weighted_problem(self) -> JointProblem:
        """Return the least-squares problem that was solved."""
        places, root = self.measured_places, np.array(self.root_weights)
        problem = self.problem(places)
        target = np.array(self.observations.value) * self.factor(places) * root
        return replace(problem, basis=problem.basis * root[:, None], target=target)

    @property
    def theta(self) -> Floats:
        """All parameters as `JointProblem` orders them (P,)."""
        speeds = np.array(self.inverse_speed)[:, [system != self.reference for system in self.systems]]
        return np.concatenate([np.array(self.work).ravel(), speeds.ravel()])

    @property
    def degrees_of_freedom(self) -> int:
        """Observations minus directions that the data determine."""
        return len(self.observations.value) - self.rank

    @property
    def residuals(self) -> Floats:
        """Measured minus model, weighted, in the scale of the fit (n,)."""
        return -self.weighted_problem().residuals(self.theta)

    def outliers(self) -> goodness.Outliers:
        """Return residuals that identify outliers."""
        # Residuals of an exact fit are rounding, among which there is always a largest.
        residuals = self.residuals * (self.sum_of_squares > _EXACT * self.total_squares)
        return goodness.find_outliers(residuals, self.leave_one_out(), self.degrees_of_freedom)

    def leave_one_out(self) -> Floats:
        """Return residuals against the fit of all other observations, in one step (n,); NaN if one alone decides."""
        jacobian = self.weighted_problem().jacobian(self.theta)
        return leave_one_out_residuals(self.residuals, jacobian[:, ~np.array(self.at_bound)])

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """Work w of the codes and speed r of the systems, by function; the reference's r is left out.

        A speed without end, of a system that a function does not touch, is given as its inverse 1/r = 0.
        """
        works, estimates = len(self.functions) * len(self.codes), []
        errors = map(goodness.finite, self.standard_errors().tolist())
        for place, (name, value, error) in enumerate(
            zip(self.parameter_names, self.theta.tolist(), errors, strict=True)
        ):
            if place < works:
                estimates.append(Parameter(name, value, error, self.coefficient_unit))
            elif value == 0.0:
                estimates.append(Parameter(f"1/{name}", value, error))
            else:
                estimates.append(Parameter(name, 1.0 / value, None if error is None else error / value**2))
        return tuple(estimates)

    def standard_errors(self) -> Floats:
        """Return asymptotic standard errors of `theta` (P,); NaN if there are none."""
        if self.covariance is None:
            return np.full(len(self.undetermined), np.nan)
        variance = np.diag(np.array(self.covariance))
        return np.where(np.array(self.undetermined) | np.array(self.at_bound), np.nan, np.sqrt(variance))

    @property
    def parameter_names(self) -> tuple[str, ...]:
        """Names in the order of `theta`: ``w_1^BT`` and ``r_1^T3D``, after the paper's Table 4."""
        numbers = range(1, len(self.functions) + 1)
        others = [system for system in self.systems if system != self.reference]
        return (
            *(f"w_{i}^{code}" for i in numbers for code in self.codes),
            *(f"r_{i}^{system}" for i in numbers for system in others),
        )

    @property
    def correlation(self) -> Floats:
        """Asymptotic correlations of the parameters (P, P), speeds as r; NaN if there is no standard error."""
        if self.covariance is None:
            return np.full((len(self.theta), len(self.theta)), np.nan)
        errors = self.standard_errors()
        works = len(self.functions) * len(self.codes)
        # r = 1/v falls where v grows, so that its correlations have the other sign.
        sign = np.where(np.arange(len(errors)) < works, 1.0, -1.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(np.array(self.covariance) / np.outer(errors, errors) * np.outer(sign, sign))

    @property
    def statistics(self) -> dict[str, float | int | str | None]:
        n = len(self.observations.value)
        aicc, bic = (float(value) for value in goodness.information(self.sum_of_squares, n, self.rank))
        errors = self.errors()
        cells = self.left_out_errors()
        defined = cells[np.isfinite(cells)]
        freedom = self.degrees_of_freedom
        return {
            "n_observations": n,
            "n_parameters": len(self.theta),
            "degrees_of_freedom": freedom,
            "sse": self.sum_of_squares,
            "sst_uncentered": self.total_squares,
            "r2_uncentered": goodness.finite(float(goodness.r_squared(self.sum_of_squares, self.total_squares))),
            "r2_centered": goodness.finite(float(goodness.r_squared(self.sum_of_squares, self.centered_squares))),
            "residual_standard_error": float(np.sqrt(self.sum_of_squares / freedom)) if freedom > 0 else None,
            "aicc": goodness.finite(aicc),
            "bic": goodness.finite(bic),
            "loo_rmse": goodness.finite(float(np.sqrt(np.mean(self.leave_one_out() ** 2)))),
            "mean_relative_error": float(errors.mean()),
            "max_relative_error": float(errors.max()),
            "mean_relative_error_left_out_cells": float(defined.mean()) if len(defined) else None,
            "max_relative_error_left_out_cells": float(defined.max()) if len(defined) else None,
            "quantile_correlation": goodness.finite(goodness.normal_quantiles(self.residuals)[3]),
            "status": self.status,
            "starts": self.starts,
            "starts_reached": self.starts_reached,
            "evaluations": self.evaluations,
        }

    def left_out_errors(self) -> Floats:
        """Return the relative error of each observation predicted from all other cells (n,); NaN if unknown."""
        if not self.left_out:
            return np.full(len(self.observations.value), np.nan)
        predicted = np.array(self.left_out, dtype=np.float64)
        return goodness.relative_errors(predicted, np.array(self.observations.value))

    @property
    def formula(self) -> str:
        terms = " + ".join(
            f"w_{i}/r_{i}" + ("" if function == "1" else f" {function}") for i, function in enumerate(self.functions, 1)
        )
        return f"{self.value_name} = {self.in_unit(terms)}"
