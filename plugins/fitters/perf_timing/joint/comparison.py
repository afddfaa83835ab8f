"""Joint models of all combinations of functions compared: Table 3 of the paper."""

from __future__ import annotations

import itertools
from concurrent.futures import Executor
from dataclasses import dataclass

import msgspec
import numpy as np
import numpy.typing as npt

from perf_statistics.least_squares.goodness import information, r_squared
from perf_timing.characteristic import by_growth, characteristics, measured_design, refuse_unused
from perf_timing.joint.descent import is_worth_compiling
from perf_timing.joint.options import JOINT_CRITERIA, JointOptions
from perf_timing.joint.problem import JointProblem, components
from perf_timing.joint.solver import JointFit, JointStatus
from perf_timing.joint.tasks import How, Outcome, compare_part, fitted, packed
from perf_timing.options import number_of_terms, registered_functions
from perf_timing.prepared import Prepared
from perfcore.base import progress
from perfcore.base.errors import DataError, OptionError, UnknownNameError, listing
from perfcore.base.executors.tasks import as_they_end
from perfcore.data.observations import Observations
from perfcore.models.ranking import Candidate, Ranking


Floats = npt.NDArray[np.float64]

# Two ends, each by some steps of a search for a root.
_FITS_OF_A_PROFILE = 14
# Seconds of what is slow: combinations with a doubled function, of tables of some hundred cells.
_COMBINATIONS_OF_A_PART = 4


@dataclass(frozen=True)
class _Compared:
    """One combination and how well it fits."""

    members: tuple[int, ...]
    outcome: Outcome
    candidate: Candidate


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
        self.reference = _reference(data, options.reference)
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
        largest = self.problem(max(self.combinations, key=len))
        self._compiled = is_worth_compiling(largest, self._number_of_fits(largest))

    def problem(self, members: tuple[int, ...]) -> JointProblem:
        """The least-squares problem of one combination."""
        data = self.prepared.seen
        return JointProblem(
            self._design[:, members],
            self.target,
            data.code,
            data.system,
            len(data.codes),
            len(data.systems),
            self.reference,
        )

    def solve(self, members: tuple[int, ...], starts: int) -> JointFit:
        """The fit of one combination, with the loss and the bounds of the options."""
        return fitted(self.problem(members), self._how(starts))

    def _how(self, starts: int) -> How:
        options = self.options
        return How(starts, options.seed, options.sign == "bounded", options.loss, self._compiled)

    def compare(self, executor: Executor | None = None) -> list[_Compared]:
        """Every combination, best first; parts of them are fitted by an executor, or here."""
        count = -(-len(self.combinations) // _COMBINATIONS_OF_A_PART)
        # Neighbours are alike, and those with a doubled function slow: each part has some of both.
        parts = [self.combinations[part::count] for part in range(count)]
        message = packed(self.problem(tuple(range(len(self.names)))), self._how(self.options.starts))
        compared: dict[tuple[int, ...], _Compared] = {}
        with progress.bar("comparing joint models", len(self.combinations)) as advance:
            for number, answer in as_they_end(executor, compare_part, [(message, part) for part in parts]):
                outcomes = msgspec.msgpack.decode(answer, type=list[Outcome])
                for members, outcome in zip(parts[number], outcomes, strict=True):
                    compared[members] = _Compared(members, outcome, self._candidate(members, outcome))
                advance(len(parts[number]))
        return sorted((compared[members] for members in self.combinations), key=self._place)

    def _place(self, one: _Compared) -> tuple[bool, bool, float, float]:
        """What combinations are sorted by: whether the fit failed, negative parameters, its criterion, its squares."""
        squares = one.outcome.sum_of_squares
        failed = one.outcome.status in (JointStatus.NOT_CONVERGED, JointStatus.NO_REFERENCE)
        aicc, bic = (float(value) for value in information(squares, len(self.target), one.outcome.rank))
        comes_last = self.options.sign != "any" and one.outcome.has_negative
        return failed, comes_last, {"aicc": aicc, "bic": bic, "sse": squares}[self.options.criterion], squares

    def ranking(self, executor: Executor | None = None) -> Ranking:
        """Every combination with its figures, best first (Table 3); see `compare`."""
        data = self.prepared.seen
        total, centered = self.totals()
        summary = (
            f"{len(self.combinations)} joint models of {len(data.codes)} codes on {len(data.systems)} systems: "
            f"{len(data):,} observations of {data.value_name}",
            self.prepared.preparation.line(data.columns),
            f"total sum of squares: {total:.6g} (about the mean: {centered:.6g})",
            f"ordered by {JOINT_CRITERIA[self.options.criterion]}"
            + ("; those with negative parameters last" if self.options.sign == "nonnegative" else ""),
            *data.notes,
        )
        return Ranking(summary, tuple(compared.candidate for compared in self.compare(executor)))

    def totals(self) -> tuple[float, float]:
        """Sums of squares of the weighted values, about zero and about their mean."""
        weight = self.prepared.root_weight**2
        mean = float(weight @ self.prepared.target / weight.sum())
        return float(self.target @ self.target), float(weight @ (self.prepared.target - mean) ** 2)

    def _candidate(self, members: tuple[int, ...], outcome: Outcome) -> Candidate:
        squares, (total, centered) = outcome.sum_of_squares, self.totals()
        aicc, bic = (float(value) for value in information(squares, len(self.target), outcome.rank))
        figures: dict[str, float | int | None] = {
            "n_parameters": outcome.n_parameters,
            "sse": squares,
            "r2_uncentered": _finite(float(r_squared(squares, total))),
            "r2_centered": _finite(float(r_squared(squares, centered))),
            "aicc": _finite(aicc),
            "bic": _finite(bic),
        }
        notes = [] if outcome.status is JointStatus.CONVERGED else [_SHORT[outcome.status]]
        if outcome.has_negative:
            notes.append("negative parameters")
        return Candidate(tuple(self.names[f] for f in members), figures, ", ".join(notes))

    def _number_of_fits(self, problem: JointProblem) -> int:
        """About how many optima the options ask for."""
        options = self.options
        refits = {"bootstrap": options.draws, "profile": _FITS_OF_A_PROFILE * problem.n_parameters}
        cells = len(np.unique(problem.cell)) if options.validate else 0
        return len(self.combinations) + options.starts + cells + refits.get(options.intervals, 0)

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


_SHORT = {
    JointStatus.UNDETERMINED: "parameters not determined",
    JointStatus.NO_REFERENCE: "reference system has no part in a function",
    JointStatus.NOT_CONVERGED: "did not converge",
}


def _check_table(data: Observations) -> None:
    """Refuse a table that no joint model can join."""
    if len(data.systems) < 2:
        named = data.systems[0]
        raise DataError(
            f"{data.source}: there is one system only ({named}), so that nothing joins the codes; name the column of "
            "systems (--system COLUMN), or fit each code by itself (--fitter individual)"
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


def _reference(data: Observations, name: str | None) -> int:
    if name is None:
        return int(np.bincount(data.system, minlength=len(data.systems)).argmax())
    if name not in data.systems:
        raise UnknownNameError("system", name, data.systems)
    return data.systems.index(name)


def _finite(value: float) -> float | None:
    return value if np.isfinite(value) else None
