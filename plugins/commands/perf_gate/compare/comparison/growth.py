"""Whether parts of one model grow faster than those of another."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from perf_gate.compare.comparison.ratios import probability_beyond
from perfcore.models.part_draws import GrowthDraws

# Exponents that differ by less are alike: with 0.05 more, doubling a parameter costs 3.5 % more than it did.
_ALIKE = 0.05


class GrowthChange(NamedTuple):
    """How a part grows in both models."""

    laws: tuple[str, str]
    parameter: str  # parameter along which growth changed most surely
    classes: tuple[str, str]  # the likeliest class of growth over it
    exponents: tuple[float, float]  # of a power of it that grows as the part does; medians
    worse: float


def growth_changes(
    growths: tuple[GrowthDraws | None, GrowthDraws | None], numbers: npt.NDArray[np.int64], called: Mapping[str, str]
) -> Mapping[int, GrowthChange]:
    """Compare the growth of parts."""
    first, second = growths
    both = np.flatnonzero((numbers >= 0).all(axis=0))
    if first is None or second is None or not len(both):
        return {}
    one, other = numbers[:, both]
    q = len(first.symbols)
    order = [second.symbols.index(symbol) for symbol in first.symbols]
    old, new = first.exponents[one], second.exponents[other][:, order]
    larger = probability_beyond(old.reshape(-1, old.shape[2]), new.reshape(-1, new.shape[2]), _ALIKE).reshape(-1, q)
    before, after = first.probabilities[one], second.probabilities[other][:, order]
    # The class before is below: what it was below is summed up, less its own.
    higher = (after * (np.cumsum(before, axis=2) - before)).sum(axis=2)
    surest = np.fmax(larger, higher)
    rows = np.arange(len(both))
    along = np.where(np.isnan(surest), -1.0, surest).argmax(axis=1)
    # The surest of several parameters was chosen, so each may be wrong q times as seldom.
    worse = np.maximum(1.0 - q * (1.0 - surest[rows, along]), 0.0)
    medians = np.median(old, axis=2), np.median(new, axis=2)
    along = np.where(worse > 0.5, along, np.abs(medians[1]).argmax(axis=1))
    named = before[rows, along].argmax(axis=1), after[rows, along].argmax(axis=1)
    return {
        part: GrowthChange(
            laws=(first.laws[one[row]], second.laws[other[row]]),
            parameter=called.get(first.symbols[along[row]], first.symbols[along[row]]),
            classes=(first.classes[named[0][row]], second.classes[named[1][row]]),
            exponents=(float(medians[0][row, along[row]]), float(medians[1][row, along[row]])),
            worse=float(worse[row]),
        )
        for row, part in enumerate(both.tolist())
    }
