"""Two versions of many benchmarks become verdicts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from perf_gate.reading.long_table import LongTable
from perf_gate.reading.matching import match
from perf_gate.versions.layouts import Laid, laid_out
from perf_gate.versions.sequential import Look, judge_in_looks
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
from perfcore.base.errors import DataError
from perfcore.results import Result

Floats = npt.NDArray[np.float64]

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
    """Verdicts on n benchmarks of two versions.

    Parameters
    ----------
    names : pair of str
        Of the versions.
    benchmarks : tuple of str
    values : (2, n) float
        Medians of both versions, as they were measured.
    units : tuple of str
    larger_is_better : (n,) bool
    layouts : tuple of str
        How the runs of each lay in time: turn, blocks, sessions.
    estimates : Estimates
    judged : Judged
    errors : {"fwer", "fdr"}
    between : float or None
        How sessions were said to differ.
    shift : CommonShift or None
        Of all benchmarks together.
    only : pair of tuple of str
        Benchmarks that one version alone has.
    missing_fails : bool
    undecided : Outcome
        What undecided counts as.
    """

    names: tuple[str, str]
    benchmarks: tuple[str, ...]
    values: Floats
    units: tuple[str, ...]
    larger_is_better: npt.NDArray[np.bool_]
    layouts: tuple[str, ...]
    estimates: Estimates
    judged: Judged
    errors: str
    between: float | None
    shift: CommonShift | None
    only: tuple[tuple[str, ...], tuple[str, ...]]
    missing_fails: bool
    undecided: Outcome

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
        outcome = self.undecided if self.outcome is Outcome.UNDECIDED else self.outcome
        return {Outcome.PASSED: 0, Outcome.FAILED: 1, Outcome.UNDECIDED: 3}[outcome]

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
    better: str | None = None,
    missing_fails: bool = False,
    undecided: Outcome = Outcome.UNDECIDED,
    plan: Sequence[Look] | None = None,
) -> VersionGate:
    """Judge whether the benchmarks of the second version are slower."""
    matched = match(first, second, better)
    laid = [laid_out(matched.runs[0][name], matched.runs[1][name], layout) for name in matched.names]
    larger = np.array([matched.larger_is_better[name] for name in matched.names])
    if plan is None:
        estimates = _estimates(laid, larger, float(np.log(threshold)), between)
        judged = judge(estimates, threshold, errors)
    else:
        estimates, judged = _in_looks(matched.names, laid, larger, threshold, plan, errors)
    medians = [[float(side[name]["value"].median()) for name in matched.names] for side in matched.runs]
    return VersionGate(
        names=names,
        benchmarks=matched.names,
        values=np.array(medians),
        units=tuple(matched.units[name] for name in matched.names),
        larger_is_better=larger,
        layouts=tuple(each.layout for each in laid),
        estimates=estimates,
        judged=judged,
        errors=errors,
        between=between,
        shift=common_shift(_differences(laid, larger), estimates.log_ratio),
        only=matched.only,
        missing_fails=missing_fails,
        undecided=undecided,
    )


def _logs(values: Floats, larger: bool) -> Floats:
    """Logarithms in which slower is larger."""
    return -np.log(values) if larger else np.log(values)


def _differences(laid: Sequence[Laid], larger: npt.NDArray[np.bool_]) -> list[Floats]:
    """Differences of the rounds of those benchmarks that were measured in turn."""
    return [
        _logs(each.second, bool(up)) - _logs(each.first, bool(up))
        for each, up in zip(laid, larger, strict=True)
        if each.layout == "turn"
    ]


def _in_looks(
    names: Sequence[str],
    laid: Sequence[Laid],
    larger: npt.NDArray[np.bool_],
    threshold: float,
    plan: Sequence[Look],
    errors: str,
) -> tuple[Estimates, Judged]:
    """Rounds so far by the looks that they reach."""
    for name, each in zip(names, laid, strict=True):
        if each.layout != "turn":
            raise DataError(f"{name}: versions must be measured in turn where rounds are added until it is decided")
    oriented = list(zip(laid, larger.tolist(), strict=True))
    first, second = [_logs(e.first, up) for e, up in oriented], [_logs(e.second, up) for e, up in oriented]
    return judge_in_looks(first, second, threshold, plan, errors, _last_digits(laid))


def _last_digits(laid: Sequence[Laid]) -> Floats:
    return np.array([resolution(each.first) + resolution(each.second) for each in laid])


def _estimates(
    laid: Sequence[Laid], larger: npt.NDArray[np.bool_], log_threshold: float, between: float | None
) -> Estimates:
    """Each benchmark by the method of its layout."""
    digits = _last_digits(laid)
    layouts = np.array([each.layout for each in laid])
    by_layout: list[tuple[npt.NDArray[np.int64], Estimates]] = []
    for layout in dict.fromkeys(layouts.tolist()):
        chosen = np.flatnonzero(layouts == layout)
        oriented = [(laid[k], bool(larger[k])) for k in chosen.tolist()]
        first, second = [_logs(e.first, up) for e, up in oriented], [_logs(e.second, up) for e, up in oriented]
        if layout == "turn":
            estimates = paired_test(first, second, digits[chosen])
        elif layout == "blocks":
            series = [_logs(each.series, up) for each, up in oriented]
            estimates = blocked_test(series, [each.is_second for each, _ in oriented], log_threshold, digits[chosen])
        else:
            estimates = unpaired_test(first, second, between, digits[chosen])
        by_layout.append((chosen, estimates))
    order = np.argsort(np.concatenate([chosen for chosen, _ in by_layout]), kind="stable")
    fields = ("log_ratio", "standard_error", "freedom", "rounding", "rounds", "may_pass")
    joined: dict[str, Any] = {f: np.concatenate([getattr(e, f) for _, e in by_layout])[order] for f in fields}
    return Estimates(**joined)
