"""One model of all codes on all systems: T = sum_i (w_i^c / r_i^s) u_i(p)."""

from __future__ import annotations

from typing import ClassVar

import msgspec
import numpy as np
import numpy.typing as npt

from perf_statistics.goodness import Outliers, find_outliers, information, r_squared, relative_errors
from perf_statistics.model_average import positions, run_variance
from perf_statistics.trust_region import JacobianFactor
from perf_tables.points import Places, check_coverage
from perf_timing.joint.bounds import PairPoints, expected_runs
from perf_timing.joint.problem import JointProblem
from perf_timing.joint.resampling import leave_one_out_residuals
from perf_timing.scaling_model import ScalingModel
from perfcore.base.arrays import Floats
from perfcore.base.errors import DataError
from perfcore.models.design_rows import DesignRows
from perfcore.models.model import Parameter, Points
from perfcore.models.ranking import Candidate

_EXACT = 1e-24  # share of the total sum of squares that rounding leaves
_LEAST = 0.05  # of a measured value, below which a model that misses it has no logarithm
_UNDETERMINED = "not determined by these data"


class Interval(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Confidence interval of one parameter."""

    name: str
    lower: float | None  # none where it does not close: every value beyond some point agrees with the data
    upper: float | None
    converged: bool  # did every refit converge? If not, the interval may be too narrow


class JointModel(ScalingModel, frozen=True, forbid_unknown_fields=True):
    """Work of the codes and speed of the systems for each characteristic function.

    Attributes
    ----------
    reference : str
        The system whose speeds are 1.
    work : tuple of (C,) tuple of float
        w, one row for each function, in the scale of the fit.
    inverse_speed : tuple of (S,) tuple of float
        1/r; 1 for the reference.
    covariance : tuple of tuple of float, or None
        Asymptotic, of the work of all codes and the inverse speeds of all systems but the reference, function by
        function; None without degrees of freedom.
    undetermined : tuple of bool
        Which of these can change without changing the model.
    at_bound : tuple of bool
        Which are held at 0.
    rank : int
        Directions of the parameters that the data determine.
    sum_of_squares, total_squares, centered_squares : float
        Squares of residuals, values, and values about their mean; weighted, in the scale of the fit.
    status : str
        How the fit ended.
    starts, starts_reached, evaluations : int
    left_out : tuple of float or None
        Prediction of each observation from all other cells, in the user's unit; None where these do not determine it.
    intervals : tuple of Interval
        By profile likelihood or bootstrap; empty for asymptotic ones.
    dropped : tuple of str
        Observations that were left out as outliers.
    ranking : tuple of Candidate
        Combinations that were compared; empty where the functions were named.
    """

    reference: str
    work: tuple[tuple[float, ...], ...]
    inverse_speed: tuple[tuple[float, ...], ...]
    covariance: tuple[tuple[float, ...], ...] | None
    undetermined: tuple[bool, ...]
    at_bound: tuple[bool, ...]
    rank: int
    sum_of_squares: float
    total_squares: float
    centered_squares: float
    status: str
    starts: int
    starts_reached: int
    evaluations: int
    left_out: tuple[float | None, ...]
    intervals: tuple[Interval, ...]
    dropped: tuple[str, ...]
    ranking: tuple[Candidate, ...]

    kind: ClassVar[str] = "joint timing model"
    needed_options: ClassVar[tuple[str, ...]] = ("weights", "intervals", "level")

    def __post_init__(self) -> None:
        """Refuse what a file edited by hand may hold."""
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

    def predict(self, points: Points, interval: float | None = None) -> Floats:
        """Predicted values in the user's unit, also of a code on a system where it never ran."""
        places = self.places(points)
        factor = self.factor(places)
        problem = self.problem(places)
        scaled = problem.predict(self.theta)
        if interval is None:
            return scaled / factor
        check_coverage(interval)
        values = scaled / factor
        return np.column_stack([values, self._bounds(places, problem, values, interval)])

    def _bounds(self, places: Places, problem: JointProblem, values: Floats, interval: float) -> Floats:
        """Lower and upper bounds of single runs (n, 2), with the values between them."""
        if self.degrees_of_freedom <= 0 or self.covariance is None:
            return np.full((len(places), 2), np.nan)
        measured_places, free, observed = self.measured_places, ~np.array(self.at_bound), self.observations
        measured_positions, new_positions = positions(measured_places.points, places.points)
        measured, model = np.array(observed.value) * self.factor(measured_places), self.problem(measured_places)
        fitted = np.maximum(model.predict(self.theta), _LEAST * measured)
        expected = np.maximum(problem.predict(self.theta), 0.0)
        safe = np.where(expected > 0.0, expected, 1.0)
        spread = np.array([np.nan if value is None else value for value in observed.spread]) / np.array(observed.value)
        repetitions = np.array(observed.repetitions, dtype=np.float64)
        run = run_variance(repetitions, spread)
        systems = len(self.systems)
        runs = expected_runs(
            np.log(measured / fitted),
            PairPoints(
                measured_places.code * systems + measured_places.system,
                measured_positions,
                model.jacobian(self.theta)[:, free] / fitted[:, None],
            ),
            PairPoints(
                places.code * systems + places.system,
                new_positions,
                problem.jacobian(self.theta)[:, free] / safe[:, None],
            ),
            run / repetitions,
            run,
        )
        ends = values[:, None] * runs.ratio_quantiles((0.5 - 0.5 * interval, 0.5 + 0.5 * interval)).T
        determined = (expected > 0.0) & self._determined(problem.jacobian(self.theta))
        ends = np.column_stack([np.minimum(ends[:, 0], values), np.maximum(ends[:, 1], values)])
        return np.where(determined[:, None], ends, np.nan)

    def remarks(self, points: Points) -> list[str]:
        """Where a pair was never measured, a parameter is outside of what was measured, or nothing determines it."""
        lines = super().remarks(points)
        determined = self._determined(self.problem(self.places(points)).jacobian(self.theta))
        return [text if is_determined else _UNDETERMINED for text, is_determined in zip(lines, determined, strict=True)]

    def design_rows(self, points: Points) -> DesignRows:
        """Gradients at the estimate, of the parameters that are not held at 0.

        Raises
        ------
        DataError
            The data leave no degree of freedom.
        """
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
            points=self.measured_points(),
            repetitions=np.array(self.observations.repetitions),
            unit=self.unit,
        )

    def _determined(self, gradients: Floats) -> npt.NDArray[np.bool_]:
        """Whether the data determine the predictions with these gradients (n, P)."""
        if not any(self.undetermined):
            return np.ones(len(gradients), dtype=np.bool_)
        free = ~np.array(self.at_bound)
        measured = self.weighted_problem().jacobian(self.theta)
        return JacobianFactor.of(measured[:, free]).determines(gradients[:, free])

    def problem(self, places: Places) -> JointProblem:
        """The bilinear problem at points, with targets of 0."""
        return JointProblem(
            self.scaled_design(places),
            np.zeros(len(places)),
            places.code,
            places.system,
            len(self.codes),
            len(self.systems),
            self.systems.index(self.reference),
        )

    def weighted_problem(self) -> JointProblem:
        """The least-squares problem that was solved."""
        places, root = self.measured_places, np.array(self.root_weights)
        problem = self.problem(places)
        target = np.array(self.observations.value) * self.factor(places) * root
        return JointProblem(
            problem.basis * root[:, None],
            target,
            places.code,
            places.system,
            len(self.codes),
            len(self.systems),
            problem.reference,
        )

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

    def outliers(self) -> Outliers:
        """Residuals that identify outliers."""
        # Residuals of an exact fit are rounding, among which there is always a largest.
        residuals = (
            self.residuals if self.sum_of_squares > _EXACT * self.total_squares else np.zeros(len(self.residuals))
        )
        return find_outliers(residuals, self.leave_one_out(), self.degrees_of_freedom)

    def leave_one_out(self) -> Floats:
        """Residuals against the fit of all other observations, in one step (n,); NaN where one alone decides."""
        jacobian = self.weighted_problem().jacobian(self.theta)
        return leave_one_out_residuals(self.residuals, jacobian[:, ~np.array(self.at_bound)])

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """Work w of the codes and speed r of the systems, by function; the reference's r is left out.

        A speed without end, of a system that a function does not touch, is given as its inverse 1/r = 0.
        """
        errors = self.standard_errors()
        unit = self.coefficient_unit
        estimates = []
        for name, value, error, is_speed in self._named_values(errors):
            standard_error = None if np.isnan(error) else float(error)
            if not is_speed:
                estimates.append(Parameter(name, value, standard_error, unit))
            elif value == 0.0:
                estimates.append(Parameter(f"1/{name}", value, standard_error))
            else:
                estimates.append(
                    Parameter(name, 1.0 / value, None if standard_error is None else standard_error / value**2)
                )
        return tuple(estimates)

    def standard_errors(self) -> Floats:
        """Asymptotic standard errors of `theta` (P,); NaN where there are none."""
        if self.covariance is None:
            return np.full(len(self.undetermined), np.nan)
        variance = np.diag(np.array(self.covariance))
        return np.where(np.array(self.undetermined) | np.array(self.at_bound), np.nan, np.sqrt(variance))

    def _named_values(self, errors: Floats) -> list[tuple[str, float, float, bool]]:
        """Name, value, error, and whether it is an inverse speed, in the order of `theta`."""
        names = self.parameter_names
        works = len(self.functions) * len(self.codes)
        return [
            (name, float(value), float(error), place >= works)
            for place, (name, value, error) in enumerate(zip(names, self.theta, errors, strict=True))
        ]

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
        """Asymptotic correlations of the parameters (P, P), speeds as r; NaN where there is no standard error."""
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
        """Figures of the fit; R^2 both uncentered and centered, in the scale of the fit."""
        n = len(self.observations.value)
        aicc, bic = (float(value) for value in information(self.sum_of_squares, n, self.rank))
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
            "r2_uncentered": _finite(float(r_squared(self.sum_of_squares, self.total_squares))),
            "r2_centered": _finite(float(r_squared(self.sum_of_squares, self.centered_squares))),
            "residual_standard_error": float(np.sqrt(self.sum_of_squares / freedom)) if freedom > 0 else None,
            "aicc": _finite(aicc),
            "bic": _finite(bic),
            "loo_rmse": _finite(float(np.sqrt(np.mean(self.leave_one_out() ** 2)))),
            "mean_relative_error": float(errors.mean()),
            "max_relative_error": float(errors.max()),
            "mean_relative_error_left_out_cells": float(defined.mean()) if len(defined) else None,
            "max_relative_error_left_out_cells": float(defined.max()) if len(defined) else None,
            "quantile_correlation": self._straightness(),
            "status": self.status,
            "starts": self.starts,
            "starts_reached": self.starts_reached,
            "evaluations": self.evaluations,
        }

    def _straightness(self) -> float | None:
        """Correlation of the residuals' quantiles with those of a normal distribution."""
        from scipy.special import ndtri

        n = len(self.residuals)
        if n < 3 or not np.any(self.residuals):
            return None
        # Medians of order statistics: J. J. Filliben, Technometrics 17, 1975. (``scipy.stats`` takes half a second.)
        levels = (np.arange(1, n + 1) - 0.3175) / (n + 0.365)
        levels[[0, -1]] = 1.0 - 0.5 ** (1.0 / n), 0.5 ** (1.0 / n)
        return float(np.corrcoef(ndtri(levels), np.sort(self.residuals))[0, 1])

    def left_out_errors(self) -> Floats:
        """Relative error of each observation predicted from all other cells (n,); NaN where unknown."""
        if not self.left_out:
            return np.full(len(self.observations.value), np.nan)
        predicted = np.array([np.nan if value is None else value for value in self.left_out])
        measured = np.array(self.observations.value)
        return relative_errors(predicted, measured)

    @property
    def formula(self) -> str:
        """The model as a sum over its functions."""
        terms = " + ".join(
            f"w_{i}/r_{i}" + ("" if function == "1" else f" {function}") for i, function in enumerate(self.functions, 1)
        )
        return f"{self.value_name} = {self.in_unit(terms)}"


def _finite(value: float) -> float | None:
    return value if np.isfinite(value) else None
