"""Two versions become a verdict: is any benchmark slower?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from perf_gate.benchmark_runs import LongTable, Runs, are_other_machines, machine_difference, match, quantile
from perf_statistics import gating
from perf_statistics.student import stdtr, stdtrit
from perfcore.base.arrays import Floats
from perfcore.base.errors import DataError, OptionError
from perfcore.data.units import unit_of_text
from perfcore.report import Result

DESIGNS = ("interleaved", "blocked", "sessions")
_LONGEST_STREAK = 2  # runs of one version after another, where pairs are measured in random order
_IDLE = 10.0  # times the usual interval between runs: what lies farther apart are two sessions
_FROM_DECILES, _DECILES = 8, 2.563  # runs, whose deciles give the spread; their distance in standard deviations
_FEWEST = 3  # benchmarks
_SHIFT = 0.6  # scale of the common shift of two sessions of one version over the noise: Student's t, 2 degrees
_OPERATION_RATES = ("ops/s", "op/s", "iter/s", "iterations/s")
_USUAL_SECONDS = 1e-3  # of a run whose values are no times

_FIRST = 5  # rounds at the first look
_GROWTH = 1.5  # of the rounds from look to look
# Of the 5 %: statistics of Student's kind go together from look to look a little less than sums do; with all of it 5.1
# to 5.2 % of 100,000 series at the threshold were called slower at some of two to nine looks. The rest is distance.
_SPENT = 0.9
_NODES = 120  # of each integral, which agrees with twice as many to 1e-9
_LOWEST = -9.0  # standard deviations, below which nothing is


@dataclass(frozen=True)
class RunOrder:
    """Logarithms of a benchmark's values, in which slower is larger, ready to be compared."""

    design: str  # one of `DESIGNS`, or "counts"
    reason: str  # what shows it
    first: Floats  # interleaved: the same rounds in the same order; sessions: their medians
    second: Floats
    rounding: float  # by how much the last digits of the values may have moved the difference
    series: Floats  # all runs in order of time, of a blocked design; empty otherwise
    is_second: npt.NDArray[np.bool_]
    noise: tuple[float, float]  # standard deviation of runs within a session, as a share; NaN of single runs
    runs: tuple[float, float]  # of a session
    values: tuple[Floats, Floats]  # of all runs, as they were measured


def detect_run_order(
    first: Runs, second: Runs, larger: bool, design: str | None = None, is_exact: bool = False, seconds: float = 0.0
) -> RunOrder:
    """Find the design by rounds and times; iterations of one round or session become their median.

    ``seconds`` are those in one unit of the values, 0 where they are no times.
    """
    sides, enough = (first, second), min(len(first.value), len(second.value)) >= gating.FEWEST_ROUNDS
    (noise, number), (other_noise, other_number) = map(_within, sides)

    def run_order(design: str, reason: str, a: Floats, b: Floats, series: Any = (), is_second: Any = ()) -> RunOrder:
        one, other, logs = ((-1.0 if larger else 1.0) * np.log(values) for values in (a, b, np.asarray(series)))
        # as so many values show it
        rounding = gating.resolution(first.value) + gating.resolution(second.value) if enough else 0.0
        marks = np.asarray(is_second, dtype=np.bool_)
        return RunOrder(
            design, reason, one, other, rounding, logs, marks, (noise, other_noise), (number, other_number),
            (first.value, second.value),
        )  # fmt: skip

    if is_exact and all((side.value == side.value[0]).all() for side in sides):
        return run_order("counts", "equal counts in every run", first.value, second.value)
    if design in (None, "interleaved"):
        for reason, how in _PAIRINGS.items():
            if (pairs := how(first, second, seconds)) is not None:
                return run_order("interleaved", reason, *pairs)
    if design == "interleaved":
        ordered = [side.medians(side.session)[1] for side in sides]
        if min(map(len, ordered)) < gating.FEWEST_ROUNDS:
            ordered = [side.in_time().value for side in sides]
        count = min(map(len, ordered))
        return run_order("interleaved", "--design", ordered[0][:count], ordered[1][:count])
    times_known = _times_are_known(*sides)
    in_order = enough and times_known and not _are_apart(*sides)
    if design == "blocked" or (design is None and in_order):
        values = np.concatenate([side.in_time().value for side in sides])
        is_second = np.repeat([False, True], [len(side.value) for side in sides])
        if times_known:
            order = np.argsort(np.concatenate([side.in_time().order for side in sides]), kind="stable")
            values, is_second = values[order], is_second[order]
        return run_order("blocked", "run times", values[~is_second], values[is_second], values, is_second)
    return run_order("sessions", "", *(side.medians(side.session)[1] for side in sides))


def _within(side: Runs) -> tuple[float, float]:
    """Noise of runs within the sessions, as a share, and runs of a session."""
    squares, counts = [], []
    for own in side.of_sessions():
        counts.append(float(own.number.sum()))
        middle, values = quantile(own.value), own.value
        if (own.number > 1).any():
            squares.append(float(np.nanmean(own.deviation**2)) / middle**2)
        elif len(values) >= _FROM_DECILES:
            squares.append(((quantile(values, 0.9) - quantile(values, 0.1)) / _DECILES / middle) ** 2)
        elif len(values) > 1:
            squares.append(float(np.var(values, ddof=1)) / middle**2)
    return (math.sqrt(sum(squares) / len(squares)) if squares else math.nan), sum(counts) / len(counts)


def _by_round(first: Runs, second: Runs, seconds: float) -> tuple[Floats, Floats] | None:
    """Rounds that are numbered, in the same session."""
    if np.isnan(first.round).any() or np.isnan(second.round).any():
        return None
    sides = (side.medians(side.session * 1e9 + side.round) for side in (first, second))
    (names, values), (others, other_values) = sides
    _, one, other = np.intersect1d(names, others, return_indices=True)
    return (values[one], other_values[other]) if len(one) else None


def _times_are_known(first: Runs, second: Runs) -> bool:
    """Whether both say when each run was, on one clock: no two runs were at once."""
    times = np.concatenate([first.order, second.order])
    return bool(np.isfinite(times).all() and len(np.unique(times)) == len(times))


def _are_apart(first: Runs, second: Runs) -> bool:
    """Whether much more time lies between the versions than between runs."""
    times = [np.sort(side.order) for side in (first, second)]
    usual = float(np.median(np.concatenate([np.diff(each) for each in times])))
    gap = float(max(times[1][0] - times[0][-1], times[0][0] - times[1][-1]))
    return gap > _IDLE * usual > 0.0


def _alternate(times: Floats, other_times: Floats) -> bool:
    """Whether runs of two versions took turns, in any order within a round."""
    is_second = np.repeat([False, True], [len(times), len(other_times)])
    changes = np.flatnonzero(np.diff(is_second[np.argsort(np.concatenate([times, other_times]), kind="stable")]))
    return bool(np.diff(np.r_[-1, changes, len(is_second) - 1]).max() <= _LONGEST_STREAK)


def _by_order(first: Runs, second: Runs, seconds: float) -> tuple[Floats, Floats] | None:
    """Runs next to each other in time, where versions took turns."""
    if not _times_are_known(first, second) or abs(len(first.value) - len(second.value)) > 1:
        return None
    count = min(len(first.value), len(second.value))
    if count < 2 or not _alternate(first.order, second.order):
        return None
    return first.in_time().value[:count], second.in_time().value[:count]


def _by_row(first: Runs, second: Runs, seconds: float) -> tuple[Floats, Floats] | None:
    """Return runs next to each other in a table whose rows are of both versions in turn, in any order within a pair."""
    count = len(first.row)
    if count < gating.FEWEST_ROUNDS or len(second.row) != count or (first.row == second.row).any():
        return None
    turns = np.stack([first.row, second.row])
    return (first.value, second.value) if (turns.max(axis=0)[:-1] < turns.min(axis=0)[1:]).all() else None


def _by_file(first: Runs, second: Runs, seconds: float) -> tuple[Floats, Floats] | None:
    """As many files of each version, written in turn and as far apart as their runs took."""
    if first.is_one_session or second.is_one_session:
        return None
    levels = [side.medians(side.session)[1] for side in (first, second)]
    times = [np.array([own.written[0] for own in side.of_sessions()]) for side in (first, second)]
    together = np.concatenate(times)
    if len(levels[0]) != len(levels[1]) or len(np.unique(together)) < len(together):
        return None
    took = sum(float((side.value * side.number).sum()) for side in (first, second)) / len(together)
    if not _alternate(*times) or np.diff(np.sort(together)).min() < seconds * took / 2.0:
        return None
    return levels[0][np.argsort(times[0])], levels[1][np.argsort(times[1])]


_PAIRINGS = {"round numbers": _by_round, "run times alternate": _by_order, "rows alternate": _by_row,
             "file times alternate": _by_file}  # fmt: skip


class CommonShift(NamedTuple):
    """By how much all benchmarks together are slower."""

    ratio: float
    lower: float  # 95% interval
    upper: float
    benchmarks: int
    usual: float | None  # probability that two sessions of one version shift as much; None of one session
    outcome: str


def common_shift(orders: Sequence[RunOrder], ratios: Floats, log_threshold: float) -> CommonShift | None:
    """The shift, where the data say that there is one.

    By rounds where all benchmarks have the same number of them: the median over benchmarks of each round is one value,
    so that what a round's state does to all of them counts once. Otherwise by benchmarks.
    """
    values = ratios[np.isfinite(ratios)]
    if len(values) < _FEWEST:
        return None
    sample = values
    if {order.design for order in orders} == {"interleaved"} and len({len(order.first) for order in orders}) == 1:
        sample = np.median(np.stack([order.second - order.first for order in orders]), axis=0)
    if len(sample) < gating.FEWEST_ROUNDS:
        return None
    middle = float(np.mean(sample))
    side = float(stdtrit(len(sample) - 1, 0.975) * np.std(sample, ddof=1) / np.sqrt(len(sample)))
    if abs(middle) <= side:
        return None
    noises = [max(order.noise) for order in orders if order.design == "sessions" and max(order.noise) > 0.0]
    usual = None
    if noises:
        scale = _SHIFT * float(np.median(noises))
        usual = float(2.0 * stdtr(2.0, np.array(-abs(middle) / scale)))
        side = math.hypot(side, float(stdtrit(2, 0.975)) * scale)
    outcome = "fail" if middle - side > log_threshold else "pass" if middle + side < log_threshold else "inconclusive"
    ratio, lower, upper = np.exp([middle, middle - side, middle + side]).tolist()
    return CommonShift(ratio, lower, upper, len(values), usual, outcome)


@dataclass(frozen=True, repr=False)
class VersionGate(Result):
    """Verdicts on n benchmarks of two versions."""

    reporter: ClassVar[str] = "perf_gate.answers:report_of_versions"
    json_kind: ClassVar[str] = "gate"

    names: tuple[str, str]  # of the versions
    benchmarks: tuple[str, ...]
    values: Floats  # (2, n), medians of both versions, as they were measured
    units: tuple[str, ...]
    larger_is_better: npt.NDArray[np.bool_]  # (n,)
    orders: tuple[RunOrder, ...]  # the design of each, and what shows it
    estimates: gating.Estimates
    judged: gating.Judged
    session_cv: Floats  # (n,) standard deviation of a session's level, as a share; NaN of other designs
    cv_sources: tuple[str, ...]  # what each comes from (`perf_statistics.gating.SessionVariation`)
    errors: str  # {"fwer", "fdr"}
    between: float | None  # --session-cv
    machines: str  # in what the machines of the versions differ; empty otherwise
    sources: tuple[str, str]
    shift: CommonShift | None  # of all benchmarks together
    only: tuple[tuple[str, ...], tuple[str, ...]]  # benchmarks that one version alone has
    computed: tuple[str, ...]  # rows that the others give, such as a total
    missing_fails: bool
    undecided: gating.Outcome  # what undecided counts as
    is_strict: bool  # whether pass means that all are below the limit with 95% confidence
    reader: str  # format of the files
    program: str  # that ran the benchmarks, if the files name it
    commands: tuple[str, str] | None  # of both versions, if the files name one of each

    def __len__(self) -> int:
        return len(self.benchmarks)

    @property
    def what_differs(self) -> str:
        """What keeps two sessions from deciding anything; empty if nothing does."""
        what = "builds" if "build " in self.machines else "machines"
        return f"the {what} differ" if are_other_machines(self.machines, self.between) else ""

    @property
    def outcome(self) -> gating.Outcome:
        """Of all together; benchmarks that are missing fail where that was asked for."""
        if self.missing_fails and any(self.only):
            return gating.Outcome.FAILED
        return self.judged.outcome

    @property
    def status(self) -> int:
        """Exit status: 0 passed, 1 failed, 3 undecided."""
        return (self.undecided if self.outcome is gating.Outcome.UNDECIDED else self.outcome).status

    @property
    def resolution(self) -> Floats:
        """Ratio of a slowdown that would not pass with 90% probability (n,); infinite without a decision."""
        return self.estimates.resolution(math.log(self.judged.threshold))

    @cached_property
    def designs(self) -> tuple[str, ...]:
        return tuple(order.design for order in self.orders)

    @property
    def more_rounds(self) -> npt.NDArray[np.int64]:
        """Rounds that decide each benchmark, 90% likely (n,): more of them, or interleaved ones in place of sessions.

        0 of what is decided, -1 where none do.
        """
        log_threshold, sessions = float(np.log(self.judged.threshold)), np.array(self.designs) == "sessions"
        noise = np.array([max(0.0, *order.noise) for order in self.orders])
        apart = replace(
            self.estimates,
            standard_error=np.where(
                sessions, math.sqrt(2.0 / gating.FEWEST_ROUNDS) * noise, self.estimates.standard_error
            ),
            freedom=np.where(sessions, gating.FEWEST_ROUNDS - 1.0, self.estimates.freedom),
            rounds=np.where(sessions, gating.FEWEST_ROUNDS, self.estimates.rounds),
        )
        needed = apart.rounds_that_decide(log_threshold)
        more = np.where(needed > 0, np.maximum(needed - np.where(sessions, 0, self.estimates.rounds), 1), -1)
        unknown = np.where(sessions, noise <= 0.0, self.estimates.rounds < 2)  # nothing says how much runs differ
        more = np.where(unknown | (np.array(self.designs) == "blocked"), -1, more)
        return np.where(self.judged.possibly_slower, more, 0).astype(np.int64)

    @property
    def cases(self) -> list[tuple[str, str, str]]:
        """Name, outcome and figures of each benchmark, as a test of a suite."""
        ratio, bounds = np.exp(self.estimates.log_ratio), np.exp(self.estimates.bounds())
        return [
            (name, self.judged.outcome_of(k).value, f"{ratio[k]:.3f}x [{bounds[k, 0]:.3f}, {bounds[k, 1]:.3f}]")
            for k, name in enumerate(self.benchmarks)
        ]

    def to_dict(self) -> dict[str, Any]:
        ratio, bounds = np.exp(self.estimates.log_ratio), np.exp(self.estimates.bounds())
        more, resolution = self.more_rounds.tolist(), self.resolution
        return {
            "outcome": self.outcome.value,
            "versions": self.names,
            "slower_than": self.judged.threshold,
            "errors": self.errors,
            "strict": self.is_strict,
            "between": self.between,
            "machines": self.machines,
            "benchmarks": [
                {
                    "benchmark": name,
                    "outcome": self.judged.outcome_of(k).value,
                    "values": self.values[:, k].tolist(),
                    "unit": self.units[k],
                    "better": "larger" if self.larger_is_better[k] else "smaller",
                    "slowdown": float(ratio[k]),
                    "bounds": bounds[k].tolist(),
                    "p_slow": float(self.judged.p_slow[k]),
                    "p_not_slower": float(self.judged.p_not_slower[k]),
                    "layout": self.designs[k],
                    "noise": [None if math.isnan(noise) else noise for noise in self.orders[k].noise],
                    "session_cv": None if math.isnan(self.session_cv[k]) else float(self.session_cv[k]),
                    "resolution": float(resolution[k]) if np.isfinite(resolution[k]) else None,
                    "rounds": int(self.estimates.rounds[k]),
                    "more_rounds": None if more[k] < 0 else more[k],
                }
                for k, name in enumerate(self.benchmarks)
            ],
            "common_shift": None if self.shift is None else self.shift._asdict(),
            "only": dict(zip(self.names, map(list, self.only), strict=True)),
            "computed": list(self.computed),
        }


def gate_versions(
    first: LongTable,
    second: LongTable,
    names: tuple[str, str],
    *,
    threshold: float,
    errors: str = "fwer",
    between: float | None = None,
    design: str | None = None,
    missing_fails: bool = False,
    undecided: gating.Outcome = gating.Outcome.UNDECIDED,
    is_strict: bool = False,
    plan: Sequence[InterimAnalysis] | None = None,
) -> VersionGate:
    """Judge whether the benchmarks of the second version are slower."""
    matched = match(first, second)
    benchmarks = list(matched.benchmarks.values())
    units = tuple(each.unit for each in benchmarks)
    orders = tuple(
        detect_run_order(*each.runs, each.larger_is_better, design, each.is_count, seconds_of(each.unit))
        for each in benchmarks
    )
    values = np.array([[quantile(side.value) for side in each.runs] for each in benchmarks]).T
    rounding = np.array([order.rounding for order in orders])
    log_threshold, machines = math.log(threshold), ""
    variation = gating.SessionVariation(np.full(len(orders), np.nan), ("",) * len(orders))
    if plan is None:
        times = np.array(list(map(_seconds, values.mean(axis=0).tolist(), units)))
        estimates, variation = _estimates(orders, rounding, log_threshold, between, times)
        if "sessions" in [order.design for order in orders]:
            machines = machine_difference(first, second)
            estimates = replace(estimates, decides=estimates.decides & (not are_other_machines(machines, between)))
        judged = gating.judge(estimates, threshold, errors, is_strict)
    else:
        apart = [name for name, order in zip(matched.benchmarks, orders, strict=True) if order.design != "interleaved"]
        if apart:
            problem = "versions must be measured interleaved where rounds are added until it is decided"
            raise DataError(f"{apart[0]}: {problem}")
        logs = [order.first for order in orders], [order.second for order in orders]
        estimates, judged = judge_sequentially(*logs, threshold, plan, errors, rounding, is_strict)
    return VersionGate(
        names=names,
        benchmarks=tuple(matched.benchmarks),
        values=values,
        units=units,
        larger_is_better=np.array([each.larger_is_better for each in benchmarks]),
        orders=orders,
        estimates=estimates,
        judged=judged,
        session_cv=variation.cv,
        cv_sources=variation.source,
        errors=errors,
        between=between,
        machines=machines,
        sources=(first.source, second.source),
        shift=common_shift(orders, estimates.log_ratio, log_threshold),
        only=matched.only,
        computed=matched.computed,
        missing_fails=missing_fails,
        undecided=undecided,
        is_strict=is_strict,
        reader=first.reader if first.reader == second.reader else "",
        program=second.program,
        commands=None if None in (commands := (first.command, second.command)) else commands,  # type: ignore[arg-type]
    )


def seconds_of(unit: str) -> float:
    """Return the seconds of a unit of time, also of one for each operation; 0 of others."""
    known = unit_of_text(unit)
    return known.factor if known is not None and known.kind == "time" else 0.0


def _seconds(value: float, unit: str) -> float:
    """Return how long a run takes: the value if it is a time, its inverse if it is a rate of operations."""
    if factor := seconds_of(unit):
        return value * factor
    known = unit_of_text(unit)
    return 1.0 / value if known is not None and known.label in _OPERATION_RATES else _USUAL_SECONDS


def _estimates(
    orders: Sequence[RunOrder], rounding: Floats, log_threshold: float, between: float | None, seconds: Floats
) -> tuple[gating.Estimates, gating.SessionVariation]:
    """Return the estimates of each benchmark by the method of its design."""
    designs, session_cv = np.array([order.design for order in orders]), np.full(len(orders), np.nan)
    sources, joined = [""] * len(orders), dict[str, Any]()
    for design in dict.fromkeys(designs.tolist()):
        chosen = np.flatnonzero(designs == design)
        of_design = [orders[k] for k in chosen.tolist()]
        first, second = [order.first for order in of_design], [order.second for order in of_design]
        if design == "interleaved":
            estimates = gating.paired_test(first, second, rounding[chosen])
        elif design == "blocked":
            series, is_second = [order.series for order in of_design], [order.is_second for order in of_design]
            estimates = gating.blocked_test(series, is_second, log_threshold, rounding[chosen])
        elif design == "counts":
            zero, one = np.zeros(len(chosen)), np.ones(len(chosen), np.int64)
            ratios = np.array([b[0] - a[0] for a, b in zip(first, second, strict=True)])
            estimates = gating.Estimates(ratios, zero, zero, zero, one, one > 0)
        else:
            noise, runs = (np.array([getattr(order, name) for order in of_design]).T for name in ("noise", "runs"))
            before, after = (gating.Sessions(levels, noise[k], runs[k]) for k, levels in enumerate((first, second)))
            estimates, variation = gating.session_test(before, after, seconds[chosen], between, rounding[chosen])
            session_cv[chosen] = variation.cv
            for k, source in zip(chosen.tolist(), variation.source, strict=True):
                sources[k] = source
        for field in ("log_ratio", "standard_error", "freedom", "rounding", "rounds", "decides", "least"):
            values = np.asarray(getattr(estimates, field))
            joined.setdefault(field, np.empty(len(orders), values.dtype))[chosen] = values
    return gating.Estimates(**joined), gating.SessionVariation(session_cv, tuple(sources))


# Interim analyses: rounds are added until the gate decides or the budget ends, at error rates that hold for all looks.
#
# `sequential_plan` fixes before the first round after how many to look. The verdict of all rounds so far
# (`judge_sequentially`) depends on nothing but the plan and the rounds; a benchmark keeps its first verdict, and rounds
# between two looks change nothing. Each look spends the same share of the 5% (K. K. G. Lan, D. L. DeMets, "Discrete
# sequential boundaries for clinical trials", Biometrika 70, 1983), with joint probabilities by recursive integration
# (P. Armitage, C. K. McPherson, B. C. Rowe, "Repeated significance tests on accumulating data", Journal of the Royal
# Statistical Society A 132, 1969) and Student's t at the level of each look (C. Jennison, B. W. Turnbull, "Group
# Sequential Methods", 2000, section 4.4). `benchmarks/gates.py` measures both error rates.


class InterimAnalysis(NamedTuple):
    """When to look, and what is sure then."""

    rounds: int
    slower: float  # level of probabilities adjusted for the number of benchmarks
    not_slower: float  # level of a benchmark's own probability


def sequential_plan(budget: int, benchmarks: int = 1) -> tuple[InterimAnalysis, ...]:
    """After how many rounds to look: 5, 8, 12, 18, 27 and so on to the budget."""
    if budget < gating.FEWEST_ROUNDS:
        raise OptionError(f"a budget of {budget} rounds decides nothing; {gating.FEWEST_ROUNDS} at least are needed")
    rounds: list[int] = []
    next_analysis = _FIRST
    while next_analysis * math.sqrt(_GROWTH) < budget:
        rounds.append(next_analysis)
        next_analysis = math.ceil(next_analysis * _GROWTH)
    rounds.append(budget)
    level = _SPENT * (1.0 - gating.SURE)
    alone = _levels(rounds, level)
    together = benchmarks * _levels(rounds, level / benchmarks)
    return tuple(map(InterimAnalysis, rounds, together.tolist(), alone.tolist()))


def next_analysis(plan: Sequence[InterimAnalysis], rounds: int) -> int | None:
    """Return how many rounds the next look is of; None if the plan has none."""
    return next((look.rounds for look in plan if look.rounds > rounds), None)


def judge_sequentially(
    first: Sequence[Floats],
    second: Sequence[Floats],
    threshold: float,
    plan: Sequence[InterimAnalysis],
    errors: str = "fwer",
    resolutions: Floats | None = None,
    is_strict: bool = False,
) -> tuple[gating.Estimates, gating.Judged]:
    """Judge rounds so far by the looks that they reach."""
    log_threshold, level = math.log(threshold), 1.0 - gating.SURE
    sizes = np.array([len(each) for each in first])
    p_slow, p_not_slower = np.ones(len(first)), np.ones(len(first))
    reached = [look for look in plan if (sizes >= look.rounds).any()]
    for look in reached:
        begun = [[side[: look.rounds] for side in sides] for sides in (first, second)]
        look_estimates = gating.paired_test(begun[0], begun[1], resolutions)
        counts = sizes >= look.rounds
        slow = gating.adjusted(np.where(counts, look_estimates.p_slow(log_threshold), 1.0), errors)
        not_slower = np.where(counts, look_estimates.p_not_slower(log_threshold), 1.0)
        is_open = (p_slow > level) & (p_not_slower > level)
        p_slow = np.where(is_open, np.minimum(p_slow, level / look.slower * slow), p_slow)
        p_not_slower = np.where(is_open, np.minimum(p_not_slower, level / look.not_slower * not_slower), p_not_slower)
    latest = reached[-1] if reached else plan[0]
    estimates = replace(gating.paired_test(first, second, resolutions), sure=1.0 - latest.not_slower)
    return estimates, gating.verdicts(estimates, threshold, p_slow, p_not_slower, is_strict)


def _levels(rounds: Sequence[int], alpha: float) -> Floats:
    """Level of each look at which a sum of normal values first crosses in a share alpha / looks of all cases."""
    from scipy.optimize import brentq
    from scipy.special import ndtr, ndtri

    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    spent = alpha / len(rounds)
    levels = np.empty(len(rounds))
    sums, masses = np.zeros(1), np.ones(1)  # of what has not crossed
    for look, k in enumerate(rounds):
        step = math.sqrt(k - rounds[look - 1] if look else k)
        bound = brentq(
            lambda x, root, step, sums, masses: float(masses @ ndtr((sums - x * root) / step)) - spent,
            0.0,
            1.0 - float(ndtri(spent)),
            args=(math.sqrt(k), step, sums, masses),
            xtol=1e-10,
        )
        levels[look] = ndtr(-bound)
        low, high = _LOWEST * math.sqrt(k), bound * math.sqrt(k)
        places = 0.5 * (high - low) * nodes + 0.5 * (high + low)
        density = np.exp(-0.5 * ((places[:, None] - sums) / step) ** 2) @ masses / (step * math.sqrt(2.0 * math.pi))
        sums, masses = places, 0.5 * (high - low) * weights * density
    return levels
