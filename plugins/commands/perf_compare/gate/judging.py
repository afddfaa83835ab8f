"""Whether a comparison passes a gate."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from perf_compare.comparison.comparison import Comparison, RatioDraws
from perf_compare.comparison.growth import GrowthChange
from perf_compare.comparison.ratios import surely
from perf_compare.gate.conditions import Gate
from perf_compare.gate.verdict import Finding, Verdict
from perfcore.base.errors import OptionError, UnknownNameError

__all__ = ["judge"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

_MOST_NAMED = 4
_PERHAPS = 0.8  # probability of a worse law from which on it is worth a look


def judge(gate: Gate, comparison: Comparison, place: int) -> Verdict:
    """Say whether a comparison passes a gate.

    A gate fails where the data say with its confidence that there is too much. Of several parts it is the confidence
    that all are right that are called so (`perf_compare.comparison.ratios.surely`), so that many parts do not make
    false alarms.

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
        return _by_ratio(gate, ("total",), comparison.total_draws().rows([place]), comparison.ratio[[place]])
    if any(gate.part in own for own in comparison.left_out):
        return Verdict(gate, "open", f"{gate.part} could not be fitted")
    asked = _asked(gate, comparison, place)
    chosen = asked[comparison.both[asked]]
    if gate.of == "part" and not len(chosen):
        lacking = comparison.names[0 if not comparison.has[0, asked[0]] else 1]
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
        rows = chosen.tolist()
        return _by_ratio(gate, names, comparison.part_draws(place).rows(rows), comparison.part_ratio(place)[chosen])
    if not comparison.growth:
        raise _refused(gate, "these models do not say how anything grows; fit with --fitter scaling")
    return _by_growth(gate, names, [comparison.growth[k] for k in chosen.tolist()])


def _asked(gate: Gate, comparison: Comparison, place: int) -> Ints:
    """Numbers of the parts that are looked at."""
    if not comparison.parts:
        raise _refused(gate, "these models have no parts to compare; leave out the name for the total")
    if gate.of == "any":
        return np.flatnonzero(comparison.share(place) >= gate.least_share)
    if gate.part not in comparison.parts:
        raise _refused(gate, str(UnknownNameError(comparison.what, gate.part, comparison.parts)))
    return np.array([comparison.parts.index(gate.part)])


def _by_ratio(gate: Gate, names: tuple[str, ...], draws: RatioDraws, ratio: Floats) -> Verdict:
    probability, bounds = draws.above(gate.factor), draws.bounds()

    def described(k: int) -> tuple[Mapping[str, Any], str]:
        limits = f" (95%: {bounds[k, 0]:.3f} .. {bounds[k, 1]:.3f})" if np.isfinite(bounds[k]).all() else ""
        sure = f", {probability[k]:.1%} sure to be above {gate.factor:g}x" if np.isfinite(probability[k]) else ""
        numbers = {"ratio": float(ratio[k]), "bounds": bounds[k].tolist()}
        return numbers, f"{names[k]} {ratio[k]:.3f}x{limits}{sure}"

    return _verdict(gate, names, probability, ratio > gate.factor, described)


def _by_growth(gate: Gate, names: tuple[str, ...], changes: Sequence[GrowthChange]) -> Verdict:
    probability = np.array([change.worse for change in changes])

    def described(k: int) -> tuple[Mapping[str, Any], str]:
        change = changes[k]
        classes = " -> ".join(dict.fromkeys(change.classes))
        exponents = f"{change.symbol}^{change.exponents[0]:.2f} -> {change.symbol}^{change.exponents[1]:.2f}"
        return change._asdict(), f"{names[k]} {classes}, like {exponents}, {probability[k]:.1%} sure to be worse"

    return _verdict(gate, names, probability, probability > _PERHAPS, described)


def _verdict(
    gate: Gate,
    names: tuple[str, ...],
    probability: Floats,
    above: npt.NDArray[np.bool_],
    described: Callable[[int], tuple[Mapping[str, Any], str]],
) -> Verdict:
    failed = surely(probability, gate.confidence)
    shown = failed | above if gate.of == "any" else np.ones(len(names), dtype=np.bool_)
    order = [k for k in np.argsort(-probability, kind="stable").tolist() if shown[k]]
    findings = tuple(Finding(names[k], bool(failed[k]), float(probability[k]), *described(k)) for k in order)
    bad = [one for one in findings if one.failed]
    if bad:
        return Verdict(gate, "failed", _listed(bad), findings)
    if np.isnan(probability[above]).any():
        return Verdict(gate, "open", f"there are no bounds to tell by: {_listed(findings)}", findings)
    if gate.of == "any":
        reason = f"none of {len(names):,} surely, of those with {100.0 * gate.least_share:g}% of the total or more"
        reason += f"; perhaps, but for so many the data leave it open: {_listed(findings)}" if findings else ""
    else:
        reason = _listed(findings) + (": the data leave it open" if above.any() else "")
    return Verdict(gate, "passed", reason, findings)


def _listed(findings: Sequence[Finding]) -> str:
    more = len(findings) - _MOST_NAMED
    return "; ".join(one.text for one in findings[:_MOST_NAMED]) + (f"; and {more} more" if more > 0 else "")


def _refused(gate: Gate, problem: str) -> OptionError:
    return OptionError(f"--fail-if {gate.text!r}: {problem}")
