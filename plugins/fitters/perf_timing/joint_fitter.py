"""The fitter `strohmaier`: one model of all codes on all systems."""

from __future__ import annotations

import itertools
from concurrent.futures import Executor
from typing import Any

import msgspec
import numpy as np

from perf_statistics.goodness import find_outliers, finite, information, r_squared
from perf_tables.executors import as_they_end
from perf_timing import joint_resampling
from perf_timing.joint_model import Interval, JointModel
from perf_timing.joint_solver import JointFit, JointProblem, JointStatus, components, single_thread
from perf_timing.options import JOINT_CRITERIA, JointOptions, number_of_terms, registered_functions
from perf_timing.prepared import Prepared, by_growth, characteristics, measured_design, prepare, refuse_unused
from perf_timing.scaling_model import common_fields
from perfcore.base import progress
from perfcore.base.arrays import Floats
from perfcore.base.errors import DataError, OptionError, PerfError, UnknownNameError, listing
from perfcore.contracts import Fitter
from perfcore.data.measurements import Measurements
from perfcore.data.observations import Observations
from perfcore.models.ranking import Candidate, Ranking

# Seconds of what is slow: combinations with a doubled function, of tables of some hundred cells.
_COMBINATIONS_OF_A_PART = 4
_SHORT = {
    JointStatus.UNDETERMINED: "not identifiable",
    JointStatus.NO_REFERENCE: "reference system has no part in a function",
    JointStatus.NOT_CONVERGED: "did not converge",
}
_SAME_OPTIMUM = 1e-6  # sums of squares that agree so far are of one optimum


class JointComparison:
    """All joint models that the options ask for."""

    def __init__(self, prepared: Prepared, options: JointOptions, functions: tuple[str, ...] | None = None) -> None:
        self.prepared, self.options = prepared, options
        requested = options.functions if functions is None else functions
        self.is_named = requested != ("all",)
        data = prepared.seen
        _check_table(data)
        variables = tuple(data.points)
        if "each" in requested:
            raise OptionError("--functions each belongs to the fitter individual; a joint model has the same for all")
        names = requested if self.is_named else (*registered_functions(), *options.function)
        named = {function.name: function for function in characteristics(names, data.columns)}
        candidates = tuple(named.values()) if self.is_named else by_growth(tuple(named.values()), variables)
        if not self.is_named:
            refuse_unused(candidates, data)
        self.names = tuple(function.name for function in candidates)
        self._design = measured_design(candidates, data) * (prepared.by_point * prepared.root_weight)[:, None]
        self.target = prepared.target * prepared.root_weight
        if options.reference is None:
            self.reference = int(np.bincount(data.system, minlength=len(data.systems)).argmax())
        elif options.reference not in data.systems:
            raise UnknownNameError("system", options.reference, data.systems)
        else:
            self.reference = data.systems.index(options.reference)
        if self.is_named:
            spelt = (function.name for function in characteristics(requested, data.columns))
            self.combinations = [tuple(self.names.index(name) for name in spelt)]
        else:
            self.combinations = [
                members
                for size in number_of_terms(options.terms)
                for members in itertools.combinations_with_replacement(range(len(candidates)), size)
            ]
        self._check_counts()

    def problem(self, members: tuple[int, ...]) -> JointProblem:
        """Return the least-squares problem of one combination."""
        data = self.prepared.seen
        basis, sizes = self._design[:, members], (len(data.codes), len(data.systems))
        return JointProblem(basis, self.target, data.code, data.system, *sizes, self.reference)

    def solve(self, members: tuple[int, ...], starts: int) -> JointFit:
        """Return the fit of one combination, with the loss and the bounds of the options."""
        return joint_resampling.fitted(self.problem(members), self._how(starts))

    def _how(self, starts: int) -> joint_resampling.How:
        options = self.options
        return joint_resampling.How(starts, options.seed, options.sign == "bounded", options.loss)

    def compare(self, executor: Executor | None = None) -> list[tuple[tuple[int, ...], Candidate]]:
        """Return every combination with its figures, best first; parts are fitted by an executor, or here."""
        count = -(-len(self.combinations) // _COMBINATIONS_OF_A_PART)
        # Neighbours are alike, and those with a doubled function slow: each part has some of both.
        parts = [self.combinations[part::count] for part in range(count)]
        how = msgspec.structs.asdict(self._how(self.options.starts))
        message = joint_resampling.packed(self.problem(tuple(range(len(self.names)))), **how)
        compared: dict[tuple[int, ...], joint_resampling.Outcome] = {}
        tasks = [(message, part) for part in parts]
        with progress.bar("comparing joint models", len(self.combinations)) as advance:
            for number, answer in as_they_end(executor, joint_resampling.compare_part, tasks):
                outcomes = msgspec.msgpack.decode(answer, type=list[joint_resampling.Outcome])
                compared.update(zip(parts[number], outcomes, strict=True))
                advance(len(parts[number]))
        ordered = sorted(self.combinations, key=lambda members: self._place(compared[members]))
        return [(members, self._candidate(members, compared[members])) for members in ordered]

    def _place(self, outcome: joint_resampling.Outcome) -> tuple[bool, bool, float, float]:
        """Return what combinations are sorted by: failure of the fit, negative parameters, criterion, squares."""
        squares = outcome.sum_of_squares
        failed = outcome.status in (JointStatus.NOT_CONVERGED, JointStatus.NO_REFERENCE)
        aicc, bic = (float(value) for value in information(squares, len(self.target), outcome.rank))
        comes_last = self.options.sign != "any" and outcome.has_negative
        return failed, comes_last, {"aicc": aicc, "bic": bic, "sse": squares}[self.options.criterion], squares

    def ranking(self, executor: Executor | None = None) -> Ranking:
        """Return every combination with its figures, best first (Table 3); see `compare`."""
        data = self.prepared.seen
        total, centered = self.totals()
        summary = (
            f"{len(self.combinations)} joint models of {len(data.codes)} codes on {len(data.systems)} systems: "
            f"{len(data):,} observations of {data.value_name}",
            self.prepared.preparation.line(data.columns),
            f"total sum of squares {total:.6g} (centered {centered:.6g})",
            f"ordered by {JOINT_CRITERIA[self.options.criterion]}"
            + ("; those with negative parameters last" if self.options.sign == "nonnegative" else ""),
            *data.notes,
        )
        return Ranking(summary, tuple(candidate for _, candidate in self.compare(executor)))

    def totals(self) -> tuple[float, float]:
        """Return sums of squares of the weighted values, about zero and about their mean."""
        weight = self.prepared.root_weight**2
        mean = float(weight @ self.prepared.target / weight.sum())
        return float(self.target @ self.target), float(weight @ (self.prepared.target - mean) ** 2)

    def _candidate(self, members: tuple[int, ...], outcome: joint_resampling.Outcome) -> Candidate:
        squares, (total, centered) = outcome.sum_of_squares, self.totals()
        aicc, bic = (float(value) for value in information(squares, len(self.target), outcome.rank))
        figures: dict[str, float | int | None] = {
            "n_parameters": outcome.n_parameters,
            "sse": squares,
            "r2_uncentered": finite(float(r_squared(squares, total))),
            "r2_centered": finite(float(r_squared(squares, centered))),
            "aicc": finite(aicc),
            "bic": finite(bic),
        }
        notes = [] if outcome.status is JointStatus.CONVERGED else [_SHORT[outcome.status]]
        if outcome.has_negative:
            notes.append("negative parameters")
        return Candidate(tuple(self.names[f] for f in members), figures, ", ".join(notes))

    def _check_counts(self) -> None:
        """Leave out combinations with more parameters than observations; a doubled function has fewer directions."""
        data = self.prepared.seen
        each = len(data.codes) + len(data.systems) - 1
        fitting = [members for members in self.combinations if len(members) * each <= len(data)]
        if not fitting:
            fewest = min(map(len, self.combinations)) * each
            raise DataError(
                f"{data.source}: {len(data)} observations are fewer than the {fewest} parameters of "
                f"{len(data.codes)} codes on {len(data.systems)} systems; measure more, combine fewer functions "
                "(--terms), or select fewer codes or systems (--where)"
            )
        self.combinations = fitting


def _check_table(data: Observations) -> None:
    """Refuse a table that no joint model can join."""
    if len(data.systems) < 2:
        named = data.systems[0]
        raise DataError(
            f"{data.source}: there is one system only ({named}), so that nothing joins the codes; name the column of "
            "systems (--system COLUMN), or fit each code separately (--fitter individual)"
        )
    by_code, by_system = components(data.code, data.system, len(data.codes), len(data.systems))
    if by_code.max(initial=0) == 0 and by_system.max(initial=0) == 0:
        return
    main = int(np.bincount(by_code[data.code]).argmax())
    other_codes = [name for name, part in zip(data.codes, by_code, strict=True) if part != main]
    other_systems = [name for name, part in zip(data.systems, by_system, strict=True) if part != main]
    raise DataError(
        f"{data.source}: code {listing(other_codes, 5)} was measured on no system that the others share (only on "
        f"{listing(other_systems, 5)}); measure one of them on a shared system, or leave it out with --where"
    )


class JointFitter(Fitter):
    """Fits all codes on all systems at once: each function's coefficient is the work of the code over a speed.

    Choose it to compare codes and systems, to predict a code on a system where it never ran, and where each pair has
    few measurements: with n codes and m systems each function has n + m - 1 parameters instead of n m.

    Source: E. Strohmaier, "Statistical Performance Modeling: Case Study of the NPB 2.1 Results", sections 5 and 6.

    Examples
    --------
    >>> import pandas as pd
    >>> import perfcore
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
        options = JointOptions(duplicates="drop")
        try:
            JointComparison(prepare(data, options, "strohmaier", adds_times=True), options)
        except PerfError:
            return False
        return True

    def fit(self, data: Any, options: JointOptions, *, executor: Executor | None = None, **parts: Any) -> JointModel:
        """Fit; an executor compares combinations, leaves out cells and refits for the bootstrap."""
        prepared = prepare(data, options, "strohmaier", adds_times=True)
        with single_thread():
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
        prepared = prepare(data, options, "strohmaier", adds_times=True)
        with single_thread():
            return JointComparison(prepared, options).ranking(executor)


def _worst_outlier(fit: JointFit) -> int | None:
    """Return the outlier with the largest leave-out residual; None if there is none."""
    leave_out = joint_resampling.leave_one_out_residuals(fit.residuals, fit.jacobian[:, ~fit.at_bound])
    judged = find_outliers(fit.residuals, leave_out, fit.degrees_of_freedom)
    if not judged.flagged.any():
        return None
    return int(np.argmax(np.where(judged.flagged, np.abs(np.nan_to_num(judged.studentized, nan=np.inf)), -1.0)))


def _chosen(compared: JointComparison, executor: Executor | None) -> tuple[tuple[int, ...], Any]:
    """Return the combination to fit, and the ranking that it was chosen from."""
    if compared.is_named:
        return compared.combinations[0], ()
    combinations, candidates = zip(*compared.compare(executor), strict=True)
    # A doubled function leaves every parameter undetermined; it is fitted where it is asked for by name.
    distinct = [members for members in combinations if len(set(members)) == len(members)]
    return (distinct or combinations)[0], candidates


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
    left_out: tuple[float | None, ...] = ()  # each observation predicted from all other cells, in the user's unit
    if options.validate:
        with progress.bar("leaving out cells", len(np.unique(problem.cell))) as advance:
            weighted = joint_resampling.leave_one_cell_out(problem, fit, executor=executor, advance=advance)
        left_out = tuple(map(finite, (weighted / (prepared.root_weight * prepared.factor)).tolist()))
    model = JointModel(
        **common_fields(prepared, "strohmaier", options, tuple(compared.names[f] for f in members)),
        reference=observed.systems[compared.reference],
        work=_rows(fit.w),
        inverse_speed=_rows(fit.v),
        covariance=_rows(fit.covariance) if has_covariance else None,
        undetermined=tuple(fit.undetermined.tolist()),
        at_bound=tuple(fit.at_bound.tolist()),
        **{name: getattr(fit, name) for name in ("rank", "sum_of_squares", "starts", "starts_reached", "evaluations")},
        total_squares=total,
        centered_squares=centered,
        status=fit.status.value,
        left_out=left_out,
        intervals=(),
        dropped=dropped,
        ranking=ranking,
    )
    if options.intervals == "asymptotic":
        return model
    return msgspec.structs.replace(model, intervals=_intervals(model, problem, fit, options, executor))


def _intervals(
    model: JointModel, problem: JointProblem, fit: JointFit, options: JointOptions, executor: Executor | None
) -> tuple[Interval, ...]:
    """Return the profile or bootstrap intervals of all parameters, speeds turned over from their inverses."""
    count = problem.n_parameters
    if options.intervals == "profile":
        if options.loss != "linear":
            raise OptionError("--intervals profile needs least squares; with --loss use --intervals bootstrap")
        with progress.bar("profiling parameters", count) as advance:
            profile = joint_resampling.profile_intervals(problem, fit, range(count), advance=advance)
        lower, upper, complete = profile.lower, profile.upper, profile.converged
        if profile.lowest < fit.sum_of_squares * (1.0 - _SAME_OPTIMUM):
            progress.note("profiling found a better optimum; refit with more --starts")
    else:
        with progress.bar("bootstrap", options.draws) as advance:
            sample = joint_resampling.bootstrap(
                problem, fit, draws=options.draws, seed=options.seed, executor=executor, advance=advance
            )
        lower, upper = sample.intervals()
        complete = np.full(count, sample.failed == 0)
    works = problem.n_functions * problem.n_codes
    speeds = joint_resampling.reciprocal(lower[works:], upper[works:], fit.theta[works:])
    # Where the inverse speed is 0 it is reported itself, so its own ends.
    ends = (
        [*direct[:works], *np.where(fit.theta[works:] == 0.0, direct[works:], turned)]
        for direct, turned in zip((lower, upper), speeds, strict=True)
    )
    names = [parameter.name for parameter in model.parameters]
    rows = zip(names, *ends, complete.tolist(), strict=True)
    return tuple(Interval(name, finite(low), finite(high), is_complete) for name, low, high, is_complete in rows)


def _rows(matrix: Floats) -> tuple[tuple[float, ...], ...]:
    return tuple(tuple(row) for row in matrix.tolist())
