"""Two versions become a verdict: is any benchmark slower?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from perf_gate.benchmark_runs import LongTable, match
from perf_gate.interim_analyses import InterimAnalysis, judge_sequentially
from perf_statistics.gating import (
    FEWEST_ROUNDS,
    Estimates,
    Judged,
    Outcome,
    judge,
    paired_test,
    resolution,
    unpaired_test,
)
from perf_statistics.known_order import blocked_test
from perfcore.base.arrays import Floats
from perfcore.base.errors import DataError
from perfcore.results import Result

if TYPE_CHECKING:
    import pandas as pd

LAYOUTS = ("turn", "blocks", "sessions")
_LONGEST_STREAK = 2  # runs of one version after another, where pairs are measured in random order


@dataclass(frozen=True)
class RunOrder:
    """Logarithms of a benchmark's values, in which slower is larger, ready to be compared."""

    layout: str
    first: Floats  # in turn, the same rounds in the same order
    second: Floats
    rounding: float  # by how much the last digits of the values may have moved the difference
    series: Floats  # all runs in order of time, of blocks; empty otherwise
    is_second: npt.NDArray[np.bool_]


def detect_run_order(first: pd.DataFrame, second: pd.DataFrame, larger: bool, layout: str | None = None) -> RunOrder:
    """Tell the layout from rounds, times and sessions; iterations of one round or file become their median."""

    def run_order(layout: str, first: Floats, second: Floats, series: Any = (), is_second: Any = ()) -> RunOrder:
        logs = [(-1.0 if larger else 1.0) * np.log(values) for values in (first, second, np.asarray(series))]
        rounding = resolution(first) + resolution(second)
        return RunOrder(layout, logs[0], logs[1], rounding, logs[2], np.asarray(is_second, dtype=np.bool_))

    sides = (first, second)
    if layout in (None, "turn"):
        pairs = next((pairing for how in _PAIRINGS if (pairing := how(*sides)) is not None), None)
        if pairs is None and layout == "turn":
            ordered = [_ordered(side)["value"].to_numpy() for side in sides]
            count = min(map(len, ordered))
            pairs = ordered[0][:count], ordered[1][:count]
        if pairs is not None:
            return run_order("turn", *pairs)
    times_known = _times_are_known(*sides)
    if layout == "blocks" or (layout is None and times_known):
        values = np.concatenate([_ordered(side)["value"].to_numpy() for side in sides])
        is_second = np.repeat([False, True], [len(first), len(second)])
        if times_known:
            times = np.concatenate([_ordered(side)["order"].to_numpy() for side in sides])
            order = np.argsort(times, kind="stable")
            values, is_second = values[order], is_second[order]
        return run_order("blocks", values[~is_second], values[is_second], values, is_second)
    medians = [
        side.groupby("session")["value"].median() if side["session"].nunique() > 1 else side["value"] for side in sides
    ]
    return run_order("sessions", medians[0].to_numpy(), medians[1].to_numpy())


def _ordered(side: pd.DataFrame) -> pd.DataFrame:
    return side.sort_values("order", kind="stable") if side["order"].notna().all() else side


def _by_round(first: pd.DataFrame, second: pd.DataFrame) -> tuple[Floats, Floats] | None:
    """Rounds that are numbered, in the same session."""
    if first["round"].isna().any() or second["round"].isna().any():
        return None
    one, other = (side.groupby(["session", "round"])["value"].median() for side in (first, second))
    common = one.index.intersection(other.index)
    return (one[common].to_numpy(), other[common].to_numpy()) if len(common) else None


def _times_are_known(first: pd.DataFrame, second: pd.DataFrame) -> bool:
    """Whether both say when each run was, on one clock: no two runs were at once."""
    times = np.concatenate([first["order"].to_numpy(), second["order"].to_numpy()])
    return bool(np.isfinite(times).all() and len(np.unique(times)) == len(times))


def _by_order(first: pd.DataFrame, second: pd.DataFrame) -> tuple[Floats, Floats] | None:
    """Runs next to each other in time, where versions were measured in turn."""
    if not _times_are_known(first, second) or abs(len(first) - len(second)) > 1:
        return None
    one, other = _ordered(first), _ordered(second)
    count = min(len(one), len(other))
    times = np.concatenate([one["order"].to_numpy(), other["order"].to_numpy()])
    is_second = np.repeat([False, True], [len(one), len(other)])[np.argsort(times, kind="stable")]
    changes = np.flatnonzero(np.diff(is_second))
    streaks = np.diff(np.r_[-1, changes, len(is_second) - 1])
    if count < 2 or streaks.max() > _LONGEST_STREAK:
        return None
    return one["value"].to_numpy()[:count], other["value"].to_numpy()[:count]


def _by_file(first: pd.DataFrame, second: pd.DataFrame) -> tuple[Floats, Floats] | None:
    """As many files of each version, several, are rounds."""
    one, other = (side.groupby("session")["value"].median() for side in (first, second))
    if len(one) < 2 or len(one) != len(other):
        return None
    return one.to_numpy(), other.to_numpy()


_PAIRINGS = (_by_round, _by_order, _by_file)

_FEWEST = 3  # benchmarks


class CommonShift(NamedTuple):
    """By how much all benchmarks together are slower."""

    ratio: float
    lower: float  # 95 % bounds
    upper: float
    benchmarks: int


def common_shift(differences: Sequence[Floats], ratios: Floats) -> CommonShift | None:
    """The shift, where the data say that there is one.

    By rounds where all benchmarks have the same number of them: the median over benchmarks of each round is one value,
    so that what a round's state does to all of them counts once. Otherwise by benchmarks.
    """
    from scipy.stats import t

    values = ratios[np.isfinite(ratios)]
    if len(values) < _FEWEST:
        return None
    sample = values
    if len(differences) == len(ratios) and len({len(each) for each in differences}) == 1:
        sample = np.median(np.stack(list(differences)), axis=0)
    if len(sample) < FEWEST_ROUNDS:
        return None
    middle = float(np.mean(sample))
    side = float(t.ppf(0.975, len(sample) - 1) * np.std(sample, ddof=1) / np.sqrt(len(sample)))
    if abs(middle) <= side:
        return None
    ratio, lower, upper = np.exp([middle, middle - side, middle + side]).tolist()
    return CommonShift(ratio, lower, upper, len(values))


@dataclass(frozen=True, repr=False)
class VersionGate(Result):
    """Verdicts on n benchmarks of two versions."""

    json_kind: ClassVar[str] = "gate"

    names: tuple[str, str]  # of the versions
    benchmarks: tuple[str, ...]
    values: Floats  # (2, n), medians of both versions, as they were measured
    units: tuple[str, ...]
    larger_is_better: npt.NDArray[np.bool_]  # (n,)
    layouts: tuple[str, ...]  # how the runs of each lay in time: turn, blocks, sessions
    estimates: Estimates
    judged: Judged
    errors: str  # {"fwer", "fdr"}
    between: float | None  # how sessions were said to differ
    shift: CommonShift | None  # of all benchmarks together
    only: tuple[tuple[str, ...], tuple[str, ...]]  # benchmarks that one version alone has
    missing_fails: bool
    undecided: Outcome  # what undecided counts as

    def __len__(self) -> int:
        """How many benchmarks."""
        return len(self.benchmarks)

    @property
    def outcome(self) -> Outcome:
        """Of all together; benchmarks that are missing fail where that was asked for."""
        if self.missing_fails and any(self.only):
            return Outcome.FAILED
        return self.judged.outcome

    @property
    def status(self) -> int:
        """Exit status: 0 passed, 1 failed, 3 undecided."""
        return (self.undecided if self.outcome is Outcome.UNDECIDED else self.outcome).status

    @property
    def more_rounds(self) -> npt.NDArray[np.int64]:
        """How many more rounds decide each benchmark, 90 % likely (n,); 0 of what is decided, -1 where none do."""
        needed = self.estimates.rounds_that_decide(float(np.log(self.judged.threshold)))
        more = np.where(needed > 0, np.maximum(needed - self.estimates.rounds, 1), -1)
        too_few = self.estimates.rounds < 2  # nothing says how much runs differ
        more = np.where(too_few | np.array([layout != "turn" for layout in self.layouts]), -1, more)
        return np.where(self.judged.slower | self.judged.not_slower, 0, more).astype(np.int64)

    @property
    def cases(self) -> list[tuple[str, str, str]]:
        """Name, outcome and figures of each benchmark, as a test of a suite."""
        ratio, bounds = np.exp(self.estimates.log_ratio), np.exp(self.estimates.bounds())
        return [
            (name, self.judged.outcome_of(k).value, f"{ratio[k]:.3f}x [{bounds[k, 0]:.3f}, {bounds[k, 1]:.3f}]")
            for k, name in enumerate(self.benchmarks)
        ]

    def to_dict(self) -> dict[str, Any]:
        """Everything, JSON-ready but for NaN."""
        ratio, bounds = np.exp(self.estimates.log_ratio), np.exp(self.estimates.bounds())
        more = self.more_rounds.tolist()
        return {
            "outcome": self.outcome.value,
            "versions": self.names,
            "slower_than": self.judged.threshold,
            "errors": self.errors,
            "between": self.between,
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
                    "layout": self.layouts[k],
                    "rounds": int(self.estimates.rounds[k]),
                    "more_rounds": None if more[k] < 0 else more[k],
                }
                for k, name in enumerate(self.benchmarks)
            ],
            "common_shift": None if self.shift is None else self.shift._asdict(),
            "only": dict(zip(self.names, map(list, self.only), strict=True)),
        }


def gate_versions(
    first: LongTable,
    second: LongTable,
    names: tuple[str, str],
    *,
    threshold: float,
    errors: str = "fwer",
    between: float | None = None,
    layout: str | None = None,
    missing_fails: bool = False,
    undecided: Outcome = Outcome.UNDECIDED,
    plan: Sequence[InterimAnalysis] | None = None,
) -> VersionGate:
    """Judge whether the benchmarks of the second version are slower."""
    matched = match(first, second)
    orders = [
        detect_run_order(matched.runs[0][name], matched.runs[1][name], matched.larger_is_better[name], layout)
        for name in matched.names
    ]
    rounding = np.array([order.rounding for order in orders])
    if plan is None:
        estimates = _estimates(orders, rounding, math.log(threshold), between)
        judged = judge(estimates, threshold, errors)
    else:
        for name, order in zip(matched.names, orders, strict=True):
            if order.layout != "turn":
                raise DataError(f"{name}: versions must be measured in turn where rounds are added until it is decided")
        logs = [order.first for order in orders], [order.second for order in orders]
        estimates, judged = judge_sequentially(*logs, threshold, plan, errors, rounding)
    return VersionGate(
        names=names,
        benchmarks=matched.names,
        values=np.array([[float(side[name]["value"].median()) for name in matched.names] for side in matched.runs]),
        units=tuple(matched.units[name] for name in matched.names),
        larger_is_better=np.array([matched.larger_is_better[name] for name in matched.names]),
        layouts=tuple(order.layout for order in orders),
        estimates=estimates,
        judged=judged,
        errors=errors,
        between=between,
        shift=common_shift([o.second - o.first for o in orders if o.layout == "turn"], estimates.log_ratio),
        only=matched.only,
        missing_fails=missing_fails,
        undecided=undecided,
    )


def _estimates(orders: Sequence[RunOrder], rounding: Floats, log_threshold: float, between: float | None) -> Estimates:
    """Each benchmark by the method of its layout."""
    layouts = np.array([order.layout for order in orders])
    by_layout: list[tuple[npt.NDArray[np.int64], Estimates]] = []
    for layout in dict.fromkeys(layouts.tolist()):
        chosen = np.flatnonzero(layouts == layout)
        of_layout = [orders[k] for k in chosen.tolist()]
        first, second = [order.first for order in of_layout], [order.second for order in of_layout]
        if layout == "turn":
            estimates = paired_test(first, second, rounding[chosen])
        elif layout == "blocks":
            series, is_second = [order.series for order in of_layout], [order.is_second for order in of_layout]
            estimates = blocked_test(series, is_second, log_threshold, rounding[chosen])
        else:
            estimates = unpaired_test(first, second, between, rounding[chosen])
        by_layout.append((chosen, estimates))
    order = np.argsort(np.concatenate([chosen for chosen, _ in by_layout]), kind="stable")
    fields = ("log_ratio", "standard_error", "freedom", "rounding", "rounds", "may_pass")
    joined: dict[str, Any] = {f: np.concatenate([getattr(e, f) for _, e in by_layout])[order] for f in fields}
    return Estimates(**joined)
