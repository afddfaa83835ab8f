"""Whether a comparison passes a gate."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from perf_gate.compare.comparison.comparison import Comparison, RatioDraws
from perf_gate.compare.comparison.growth import GrowthChange
from perf_gate.compare.comparison.ratios import surely
from perf_gate.compare.gate.conditions import Gate
from perf_gate.compare.gate.verdict import Finding, Verdict
from perf_statistics.gating.estimates import Estimates
from perfcore.base.errors import OptionError, UnknownNameError

__all__ = ["judge"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

_MOST_NAMED = 4
_SAME = 1e-9  # rounding of 1 - 0.95 must not decide
_PERHAPS = 0.8  # probability of a worse law from which on it is worth a look


def judge(gate: Gate, comparison: Comparison, place: int) -> Verdict:
    """Say whether a comparison passes a gate.

    A gate fails where the data say with its confidence that there is too much. Of several parts it is the confidence
    that all are right that are called so (`perf_gate.compare.comparison.ratios.surely`), so that many parts do not make
    false alarms. It passes where the data say of each with this confidence that there is not, and is open otherwise. At
    points that both versions measured, runs are compared; laws are asked only beyond.

    Parameters
    ----------
    gate : Gate
    comparison : Comparison
    place : int
        The point of the comparison that the gate is about.

    Raises
    ------
    OptionError
        There are no parts, none of this name, or no laws; or rates are to be slower.
    """
    if gate.word == "slower" and (comparison.unit or "").endswith("/s"):
        raise _refused(gate, f"the values are rates ({comparison.unit}), of which more is faster; gates are of times")
    if gate.of == "total":
        draws, ratio = comparison.total_draws().rows([place]), comparison.ratio[[place]]
        return _by_ratio(gate, ("total",), draws, ratio, [comparison.runs_of(place, None)])
    if any(gate.part in left_out for left_out in comparison.left_out):
        return Verdict(gate, "open", f"{gate.part} could not be fitted")
    part_indices = _gated_parts(gate, comparison, place)
    chosen = part_indices[comparison.both[part_indices]]
    if gate.of == "part" and not len(chosen):
        lacking = comparison.names[0 if not comparison.has[0, part_indices[0]] else 1]
        return Verdict(gate, "open", f"{lacking} has nothing to compare it with")
    if not comparison.both.any():
        return Verdict(
            gate, "open", f"{comparison.names[0]} and {comparison.names[1]} have no {comparison.what} in common"
        )
    if not len(chosen):  # to pass would mean that something was looked at
        share = f"{100.0 * gate.least_share:g}%"
        return Verdict(
            gate, "open", f"no {comparison.what} of both has {share} of the total; ask for less with 'any of'"
        )
    names = tuple(comparison.parts[k] for k in chosen.tolist())
    if gate.word:
        draws = comparison.part_draws(place).rows(chosen.tolist())
        runs = [comparison.runs_of(place, name) for name in names]
        return _by_ratio(gate, names, draws, comparison.part_ratio(place)[chosen], runs)
    if not comparison.growth:
        raise _refused(gate, "these models do not say how anything grows; fit with --fitter scaling")
    return _by_growth(gate, names, [comparison.growth[k] for k in chosen.tolist()])


def _gated_parts(gate: Gate, comparison: Comparison, place: int) -> Ints:
    """Numbers of the parts that are looked at."""
    if not comparison.parts:
        raise _refused(gate, "these models have no parts to compare; leave out the name for the total")
    if gate.of == "any":
        return np.flatnonzero(comparison.share(place) >= gate.least_share)
    if gate.part not in comparison.parts:
        raise _refused(gate, str(UnknownNameError(comparison.what, gate.part, comparison.parts)))
    return np.array([comparison.parts.index(gate.part)])


def _by_ratio(
    gate: Gate,
    names: tuple[str, ...],
    draws: RatioDraws,
    ratio: Floats,
    runs: Sequence[Estimates | None],
) -> Verdict:
    """By runs where both versions have them at the point, otherwise by what the laws say."""
    above, bounds, ratio = draws.above(gate.factor), draws.bounds(), ratio.copy()
    not_above = 1.0 - above
    measured = np.array([estimates is not None for estimates in runs])
    for k, estimates in enumerate(runs):
        if estimates is not None:
            log_factor = float(np.log(gate.factor))
            above[k] = 1.0 - estimates.p_slow(log_factor)[0]
            not_above[k] = 1.0 - estimates.p_not_slower(log_factor)[0]
            ratio[k], bounds[k] = np.exp(estimates.log_ratio[0]), np.exp(estimates.bounds()[0])

    def described(k: int) -> tuple[Mapping[str, Any], str]:
        words = ("measured, 95% sure of each side: " if measured[k] else "95%: ", f"{bounds[k, 0]:.3f}")
        limits = f" ({words[0]}{words[1]} .. {bounds[k, 1]:.3f})" if np.isfinite(bounds[k]).all() else ""
        has_probability = np.isfinite(above[k]) and bool(limits or not measured[k])
        sure = f", {above[k]:.1%} sure to be above {gate.factor:g}x" if has_probability else ""
        numbers = {"ratio": float(ratio[k]), "bounds": bounds[k].tolist(), "measured": bool(measured[k])}
        return numbers, f"{names[k]} {ratio[k]:.3f}x{limits}{sure}"

    surely_not = not_above >= gate.confidence - _SAME
    return _verdict(gate, names, above, ~surely_not, described)


def _by_growth(gate: Gate, names: tuple[str, ...], changes: Sequence[GrowthChange]) -> Verdict:
    probability = np.array([change.worse for change in changes])

    def described(k: int) -> tuple[Mapping[str, Any], str]:
        change = changes[k]
        classes = " -> ".join(dict.fromkeys(change.classes))
        exponents = f"{change.parameter}^{change.exponents[0]:.2f} -> {change.parameter}^{change.exponents[1]:.2f}"
        return change._asdict(), f"{names[k]} {classes}, like {exponents}, {probability[k]:.1%} sure to be worse"

    return _verdict(gate, names, probability, probability > _PERHAPS, described)


def _verdict(
    gate: Gate,
    names: tuple[str, ...],
    probability: Floats,
    left_open: npt.NDArray[np.bool_],
    described: Callable[[int], tuple[Mapping[str, Any], str]],
) -> Verdict:
    """Failed where there surely is too much of something, passed where of nothing there may be, open in between."""
    failed = surely(probability, gate.confidence)
    is_listed = failed | left_open if gate.of == "any" else np.ones(len(names), dtype=np.bool_)
    order = [k for k in np.argsort(-probability, kind="stable").tolist() if is_listed[k]]
    findings = tuple(Finding(names[k], bool(failed[k]), float(probability[k]), *described(k)) for k in order)
    bad = [one for one in findings if one.failed]
    if bad:
        return Verdict(gate, "failed", _listed(bad), findings)
    if np.isnan(probability[left_open]).any():
        return Verdict(gate, "open", f"there are no bounds to tell by: {_listed(findings)}", findings)
    if left_open.any():
        return Verdict(gate, "open", f"the data leave it open: {_listed(findings)}", findings)
    if gate.of == "any":
        reason = f"surely none of {len(names):,}, of those with {100.0 * gate.least_share:g}% of the total or more"
        return Verdict(gate, "passed", reason, findings)
    return Verdict(gate, "passed", _listed(findings), findings)


def _listed(findings: Sequence[Finding]) -> str:
    more = len(findings) - _MOST_NAMED
    return "; ".join(one.text for one in findings[:_MOST_NAMED]) + (f"; and {more} more" if more > 0 else "")


def _refused(gate: Gate, problem: str) -> OptionError:
    return OptionError(f"--fail-if {gate.text!r}: {problem}")
