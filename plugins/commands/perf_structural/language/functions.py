"""The functions that an equation may call, and the arrays that compute those which are no functions of numpy."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import numpy.typing as npt

from perf_formulas.parser import FUNCTIONS, OR, QUANTILE, Limits, Node, Parser, Rule
from perf_structural.language import barriers, copies, curves, pipeline, workers

Floats = npt.NDArray[np.float64]

_LEVEL = FUNCTIONS["max"].level
INTERPOLATE = "interpolate"

# An equation of a thousand terms is written by a program and is meant; ten thousand take a second.
LIMITS = Limits(length=100_000, nodes=10_000)


def _rule(symbol: str, fewest: int, most: int | None) -> Rule:
    return Rule(symbol, symbol, _LEVEL, (OR,) * fewest, most)


# Place of the replicated argument of each function that takes its copies.
OVER_COPIES: Mapping[str, int] = {
    "sum_over": 0,
    "mean_over": 0,
    "max_over": 0,
    "min_over": 0,
    "k_th_over": 1,
    "pick_over": 0,
    "loop_over": 0,
    "barrier_over": 0,
    "grained_barrier_over": 0,
    "pipeline_over": 0,
}

_RULES = (
    _rule("sum_over", 1, 2),
    _rule("mean_over", 1, 2),
    _rule("max_over", 1, 2),
    _rule("min_over", 1, 2),
    _rule("k_th", 3, None),
    _rule("k_th_over", 2, 2),
    _rule("pick_over", 2, 2),
    _rule(QUANTILE, 2, 2),
    _rule("loop_over", 2, 3),
    _rule("barrier_over", 2, 2),
    _rule("grained_barrier_over", 3, 3),
    _rule("pipeline_over", 2, 2),
    _rule(INTERPOLATE, 5, None),
)
EQUATION_FUNCTIONS: Mapping[str, Rule] = FUNCTIONS | {rule.symbol: rule for rule in _RULES}

# Each takes the values of its arguments, copies spread out, at the same points.
COMPUTED: Mapping[str, Callable[..., Floats]] = {
    "where": np.where,
    "sum_over": copies.sum_of_first,
    "mean_over": copies.mean_of_first,
    "max_over": copies.max_of_first,
    "min_over": copies.min_of_first,
    "k_th": copies.k_th,
    "pick_over": copies.picked,
    "loop_over": workers.loop_time,
    "barrier_over": barriers.barrier_progress,
    "grained_barrier_over": barriers.grained_progress,
    "pipeline_over": pipeline.pipeline_time,
    INTERPOLATE: curves.interpolated,
}


def compute(name: str, *operands: npt.ArrayLike) -> Floats:
    """A function of arrays by its name: one of equations, else numpy's."""
    function = COMPUTED.get(name) or getattr(np, name)
    with np.errstate(all="ignore"):
        return np.asarray(function(*operands), dtype=np.float64)


def parsed(text: str) -> Node:
    """The tree of an equation: a formula that may also call what only equations have, as in
    ``max_over(work/speed)``.
    """
    return Parser(text.strip(), EQUATION_FUNCTIONS, LIMITS).formula()
