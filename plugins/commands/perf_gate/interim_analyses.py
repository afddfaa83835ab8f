"""Interim analyses: rounds are added until the gate decides or the budget ends, at error rates that hold for all looks.

`sequential_plan` fixes before the first round after how many to look. The verdict of all rounds so far
(`judge_sequentially`) depends on nothing but the plan and the rounds; a benchmark keeps its first verdict, and rounds
between two looks change nothing. Each look spends the same share of the 5% (K. K. G. Lan, D. L. DeMets, "Discrete
sequential boundaries for clinical trials", Biometrika 70, 1983), with joint probabilities by recursive integration
(P. Armitage, C. K. McPherson, B. C. Rowe, "Repeated significance tests on accumulating data", Journal of the Royal
Statistical Society A 132, 1969) and Student's t at the level of each look (C. Jennison, B. W. Turnbull, "Group
Sequential Methods", 2000, section 4.4). `benchmarks/gates.py` measures both error rates.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from perf_statistics.gating import FEWEST_ROUNDS, SURE, Estimates, Judged, adjusted, paired_test, verdicts
from perfcore.base.arrays import Floats
from perfcore.base.errors import OptionError

_FIRST = 5  # rounds at the first look
_GROWTH = 1.5  # of the rounds from look to look
# Of the 5 %: statistics of Student's kind go together from look to look a little less than sums do; with all of it 5.1
# to 5.2 % of 100,000 series at the threshold were called slower at some of two to nine looks. The rest is distance.
_SPENT = 0.9
_NODES = 120  # of each integral, which agrees with twice as many to 1e-9
_LOWEST = -9.0  # standard deviations, below which nothing is


class InterimAnalysis(NamedTuple):
    """When to look, and what is sure then."""

    rounds: int
    slower: float  # level of probabilities adjusted for the number of benchmarks
    not_slower: float  # level of a benchmark's own probability


def sequential_plan(budget: int, benchmarks: int = 1) -> tuple[InterimAnalysis, ...]:
    """After how many rounds to look: 5, 8, 12, 18, 27 and so on to the budget."""
    if budget < FEWEST_ROUNDS:
        raise OptionError(f"a budget of {budget} rounds decides nothing; {FEWEST_ROUNDS} at least are needed")
    rounds: list[int] = []
    next_analysis = _FIRST
    while next_analysis * math.sqrt(_GROWTH) < budget:
        rounds.append(next_analysis)
        next_analysis = math.ceil(next_analysis * _GROWTH)
    rounds.append(budget)
    level = _SPENT * (1.0 - SURE)
    alone = _levels(rounds, level)
    together = alone if benchmarks == 1 else benchmarks * _levels(rounds, level / benchmarks)
    return tuple(map(InterimAnalysis, rounds, together.tolist(), alone.tolist()))


def next_analysis(plan: Sequence[InterimAnalysis], rounds: int) -> int | None:
    """How many rounds the next look is of; None where the plan has none."""
    return next((look.rounds for look in plan if look.rounds > rounds), None)


def judge_sequentially(
    first: Sequence[Floats],
    second: Sequence[Floats],
    threshold: float,
    plan: Sequence[InterimAnalysis],
    errors: str = "fwer",
    resolutions: Floats | None = None,
    is_strict: bool = False,
) -> tuple[Estimates, Judged]:
    """Judge rounds so far by the looks that they reach."""
    log_threshold, level = math.log(threshold), 1.0 - SURE
    sizes = np.array([len(each) for each in first])
    p_slow, p_not_slower = np.ones(len(first)), np.ones(len(first))
    reached = [look for look in plan if (sizes >= look.rounds).any()]
    for look in reached:
        begun = [[side[: look.rounds] for side in sides] for sides in (first, second)]
        look_estimates = paired_test(begun[0], begun[1], resolutions)
        counts = sizes >= look.rounds
        slow = adjusted(np.where(counts, look_estimates.p_slow(log_threshold), 1.0), errors)
        not_slower = np.where(counts, look_estimates.p_not_slower(log_threshold), 1.0)
        is_open = (p_slow > level) & (p_not_slower > level)
        p_slow = np.where(is_open, np.minimum(p_slow, level / look.slower * slow), p_slow)
        p_not_slower = np.where(is_open, np.minimum(p_not_slower, level / look.not_slower * not_slower), p_not_slower)
    latest = reached[-1] if reached else plan[0]
    estimates = replace(paired_test(first, second, resolutions), sure=1.0 - latest.not_slower)
    return estimates, verdicts(estimates, threshold, p_slow, p_not_slower, is_strict)


def _levels(rounds: Sequence[int], alpha: float) -> Floats:
    """Level of each look at which a sum of normal values first crosses in a share alpha / looks of all cases."""
    from scipy.optimize import brentq
    from scipy.special import ndtr, ndtri

    def crossing(bound: float, root: float, step: float, sums: Floats, masses: Floats) -> float:
        return float(masses @ ndtr((sums - bound * root) / step)) - spent

    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    spent = alpha / len(rounds)
    levels = np.empty(len(rounds))
    sums, masses = np.zeros(1), np.ones(1)  # of what has not crossed
    for look, k in enumerate(rounds):
        step = math.sqrt(k - rounds[look - 1] if look else k)
        bound = brentq(crossing, 0.0, 1.0 - float(ndtri(spent)), args=(math.sqrt(k), step, sums, masses), xtol=1e-10)
        levels[look] = ndtr(-bound)
        low, high = _LOWEST * math.sqrt(k), bound * math.sqrt(k)
        places = 0.5 * (high - low) * nodes + 0.5 * (high + low)
        density = np.exp(-0.5 * ((places[:, None] - sums) / step) ** 2) @ masses / (step * math.sqrt(2.0 * math.pi))
        sums, masses = places, 0.5 * (high - low) * weights * density
    return levels
