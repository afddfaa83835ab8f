"""The fitter `strohmaier`: one model of all codes on all systems."""

from __future__ import annotations

from concurrent.futures import Executor
from typing import Any

import numpy as np
import numpy.typing as npt

import perfcore
from perf_statistics.least_squares.outliers import find_outliers
from perf_timing.joint.comparison import JointComparison
from perf_timing.joint.intervals import profile_intervals, reciprocal
from perf_timing.joint.model import Interval, JointModel
from perf_timing.joint.options import JointOptions
from perf_timing.joint.problem import JointProblem
from perf_timing.joint.resampling import bootstrap, leave_one_cell_out, leave_one_out_residuals
from perf_timing.joint.solver import JointFit
from perf_timing.prepared import Prepared, prepare
from perf_timing.scaling_model import FittedObservations
from perf_timing.single_thread import single_thread
from perfcore.base import progress
from perfcore.base.errors import OptionError, PerfError
from perfcore.contracts import Fitter
from perfcore.data.measurements import Measurements
from perfcore.hooks.options import to_dict
from perfcore.models.model import Origin
from perfcore.models.ranking import Ranking


Floats = npt.NDArray[np.float64]

_SAME_OPTIMUM = 1e-6  # sums of squares that agree so far are of one optimum


class JointFitter(Fitter):
    """Fits all codes on all systems at once: each function's coefficient is the work of the code over a speed.

    Choose it to compare codes and systems, to predict a code on a system where it never ran, and where each pair has
    few measurements: with n codes and m systems each function has n + m - 1 parameters instead of n m.

    Source: E. Strohmaier, "Statistical Performance Modeling: Case Study of the NPB 2.1 Results", sections 5 and 6.

    Examples
    --------
    >>> import pandas as pd
    >>> table = [(c, s, p, w / r * (16 / p + 1)) for c, w in (("lu", 2.0), ("cg", 3.0)) for s, r in (("a", 1), ("b", 2))
    ...          for p in (1, 2, 4, 8)]
    >>> runs = pd.DataFrame(table, columns=["code", "system", "p", "time_s"])
    >>> model = perfcore.fit(runs, fitter="strohmaier", functions="1/p,1")
    >>> model.predict({"p": [16], "code": "cg", "system": "b"}).round(6)
    array([3.])
    """

    Options = JointOptions
    model_type = JointModel
    takes = (Measurements,)
    takes_executor = True

    @classmethod
    def suits(cls, data: Any) -> bool:
        """Whether codes and systems are joined by observations enough for some combination; see `Fitter.suits`."""
        options = JointOptions(duplicates="drop")
        try:
            JointComparison(prepare(data, options, "strohmaier", adds_times=True), options)
        except PerfError:
            return False
        return True

    def fit(self, data: Any, options: JointOptions, *, executor: Executor | None = None, **parts: Any) -> JointModel:
        """Fit; an executor compares combinations, leaves out cells and refits for the bootstrap; see `perfcore.fit`.

        Raises
        ------
        PerfError
            Data or options that do not go together, in one line.
        """
        prepared = prepare(data, options, "strohmaier", adds_times=True)
        with single_thread():
            return self._fit(prepared, options, executor)

    def _fit(self, prepared: Prepared, options: JointOptions, executor: Executor | None) -> JointModel:
        compared = JointComparison(prepared, options)
        members, ranking = _chosen(compared, executor)
        fit = compared.solve(members, options.starts)
        dropped: list[str] = []
        while options.drop_outliers and (worst := _worst_outlier(fit)) is not None:
            # One at a time: a gross outlier draws the fit, which makes others look like outliers.
            dropped.append(prepared.seen.describe(worst))
            prepared = prepared.select(np.arange(len(prepared.seen)) != worst)
            compared = JointComparison(prepared, options, functions=tuple(compared.names[f] for f in members))
            members = compared.combinations[0]
            fit = compared.solve(members, options.starts)
        return _model(prepared, compared, members, fit, options, tuple(dropped), ranking, executor)

    def rank(self, data: Any, options: JointOptions, *, executor: Executor | None = None, **parts: Any) -> Ranking:
        """Compare all combinations of functions; see `perfcore.rank`."""
        prepared = prepare(data, options, "strohmaier", adds_times=True)
        with single_thread():
            return JointComparison(prepared, options).ranking(executor)


def _worst_outlier(fit: JointFit) -> int | None:
    """The outlier with the largest leave-out residual; None where there is none."""
    leave_out = leave_one_out_residuals(fit.residuals, fit.jacobian[:, ~fit.at_bound])
    judged = find_outliers(fit.residuals, leave_out, fit.degrees_of_freedom)
    if not judged.flagged.any():
        return None
    return int(np.argmax(np.where(judged.flagged, np.abs(np.nan_to_num(judged.studentized, nan=np.inf)), -1.0)))


def _chosen(compared: JointComparison, executor: Executor | None) -> tuple[tuple[int, ...], Any]:
    """The combination to fit, and the ranking that it was chosen from."""
    if compared.is_named:
        return compared.combinations[0], ()
    every = compared.compare(executor)
    # A doubled function leaves every parameter undetermined; it is fitted where it is asked for by name.
    distinct = [one for one in every if len(set(one.members)) == len(one.members)]
    return (distinct or every)[0].members, tuple(one.candidate for one in every)


def _model(
    prepared: Prepared,
    compared: JointComparison,
    members: tuple[int, ...],
    fit: JointFit,
    options: JointOptions,
    dropped: tuple[str, ...],
    ranking: Any,
    executor: Executor | None,
) -> JointModel:
    observed, problem = prepared.seen, compared.problem(members)
    total, centered = compared.totals()
    has_covariance = bool(np.isfinite(fit.covariance).all())
    model = JointModel(
        origin=Origin(
            fitter="strohmaier",
            options=to_dict(options),
            source=observed.source,
            fingerprint=observed.fingerprint(),
            version=perfcore.__version__,
        ),
        columns=dict(observed.columns),
        value_name=observed.value_name,
        unit=observed.unit,
        preparation=prepared.preparation,
        relative=prepared.weights == "relative",
        codes=observed.codes,
        systems=observed.systems,
        functions=tuple(compared.names[f] for f in members),
        notes=observed.notes,
        observations=FittedObservations.of(observed),
        root_weights=tuple(prepared.root_weight.tolist()),
        reference=observed.systems[compared.reference],
        work=_rows(fit.w),
        inverse_speed=_rows(fit.v),
        covariance=_rows(fit.covariance) if has_covariance else None,
        undetermined=tuple(fit.undetermined.tolist()),
        at_bound=tuple(fit.at_bound.tolist()),
        rank=fit.rank,
        sum_of_squares=fit.sum_of_squares,
        total_squares=total,
        centered_squares=centered,
        status=fit.status.value,
        starts=fit.starts,
        starts_reached=fit.starts_reached,
        evaluations=fit.evaluations,
        left_out=_left_out(prepared, problem, fit, executor) if options.validate else (),
        intervals=(),
        dropped=dropped,
        ranking=ranking,
    )
    if options.intervals == "asymptotic":
        return model
    from msgspec.structs import replace

    return replace(model, intervals=_intervals(model, problem, fit, options, executor))


def _left_out(
    prepared: Prepared, problem: JointProblem, fit: JointFit, executor: Executor | None
) -> tuple[float | None, ...]:
    """Each observation predicted from all other cells, in the user's unit."""
    with progress.bar("leaving out cells", len(np.unique(problem.cell))) as advance:
        weighted = leave_one_cell_out(problem, fit, executor=executor, advance=advance)
    values = weighted / (prepared.root_weight * prepared.factor)
    return tuple(None if np.isnan(value) else float(value) for value in values)


def _intervals(
    model: JointModel, problem: JointProblem, fit: JointFit, options: JointOptions, executor: Executor | None
) -> tuple[Interval, ...]:
    """Profile or bootstrap intervals of all parameters, speeds turned over from their inverses."""
    count = problem.n_parameters
    if options.intervals == "profile":
        if options.loss != "linear":
            raise OptionError("--intervals profile needs least squares; with --loss use --intervals bootstrap")
        with progress.bar("profiling parameters", count) as advance:
            profile = profile_intervals(problem, fit, range(count), level=options.level, advance=advance)
        lower, upper, complete = profile.lower, profile.upper, profile.converged
        if profile.lowest < fit.sum_of_squares * (1.0 - _SAME_OPTIMUM):
            progress.note("the profiles met a better optimum than the fit; use more --starts")
    else:
        with progress.bar("bootstrap", options.draws) as advance:
            sample = bootstrap(problem, fit, draws=options.draws, seed=options.seed, executor=executor, advance=advance)
        lower, upper = sample.intervals(options.level)
        complete = np.full(count, sample.failed == 0)
    works = problem.n_functions * problem.n_codes
    r_lower, r_upper = reciprocal(lower[works:], upper[works:], fit.theta[works:])
    ends = zip(
        [parameter.name for parameter in model.parameters],
        [*lower[:works], *_unless_zero(fit.theta[works:], lower[works:], r_lower)],
        [*upper[:works], *_unless_zero(fit.theta[works:], upper[works:], r_upper)],
        complete.tolist(),
        strict=True,
    )
    return tuple(Interval(name, _closed(low), _closed(high), is_complete) for name, low, high, is_complete in ends)


def _unless_zero(inverse: Floats, direct: Floats, turned: Floats) -> Floats:
    """Ends of speeds; where the inverse speed is 0 it is reported itself, so its own ends."""
    return np.where(inverse == 0.0, direct, turned)


def _closed(end: float) -> float | None:
    return float(end) if np.isfinite(end) else None


def _rows(matrix: Floats) -> tuple[tuple[float, ...], ...]:
    return tuple(tuple(row) for row in matrix.tolist())
