"""Quasi-Monte Carlo: scrambled Sobol points through the inputs' quantiles, several times, so that the error is seen.

A large sample is drawn in parts, by an executor where one is given: each depends on its place in the sample alone, and
so has the same values whatever draws it.

Source: A. B. Owen, "Monte Carlo theory, methods and examples", 2013, section 17.3 (several nets to see the error).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from perf_structural.correlation import Pair
from perf_structural.drawing import Drawn, Formula, Nets, draw, evaluation_of, quantities_of
from perf_structural.expression import Expression
from perf_structural.sampling_parts import packed, sample_part, unpacked_part
from perfcore.base.errors import DataError
from perfcore.base.executors import in_order, thread_count
from perfcore.stochastic import StochasticValue

Floats = npt.NDArray[np.float64]

# Few enough that each net stays large, many enough for a standard error that is itself known to a quarter.
FEWEST_NETS = 8

# Points where nobody says how many: so many, or of many inputs so many numbers together, of which a second draws as
# many. A sum of hundreds of inputs is not smoother for more: its p95 is known to 0.02 standard deviations.
_POINTS = 100_000
_NUMBERS = 2**24
_FEWEST_POINTS = 1024
_MOST_INPUTS = 21_201  # dimensions of scipy's Sobol points

# Numbers, one more than inputs at each point, from which on a sample has parts: two seconds of work, which is more than
# another process needs to start.
_FEWEST_IN_PARTS = 2**25
_POINTS_OF_A_PART = 2**22  # at most, 32 MiB


@dataclass(frozen=True)
class Sample:
    """Values of an expression."""

    values: Floats  # in the order of the points, or each row sorted
    notes: tuple[str, ...]
    reaches_zero: bool = False  # whether a divisor comes down to zero or beyond, so that there may be no mean
    is_sorted: bool = False  # whether each row is


def draw_sample(
    root: Expression,
    values: Mapping[str, StochasticValue],
    correlations: Mapping[Pair, float],
    samples: int | None,
    seed: int,
    executor: Executor | None = None,
) -> Sample:
    """Values of one expression, each row sorted; see `draw_together`."""
    formula = Formula(root, values, correlations)
    nets = _nets_for([formula], samples, seed)
    if nets.number * nets.size * (len(quantities_of([formula])) + 1) < _FEWEST_IN_PARTS:
        (drawn,) = draw([formula], nets, range(nets.number), range(nets.size))
        drawn.values.sort(axis=1)
    else:
        drawn = _drawn_in_parts(formula, nets, executor)
    return Sample(drawn.values, drawn.pointwise.notes(), drawn.pointwise.reaches_zero, is_sorted=True)


def _drawn_in_parts(formula: Formula, nets: Nets, executor: Executor | None) -> Drawn:
    """Values of a formula, each row sorted."""
    length = min(nets.size, _POINTS_OF_A_PART)
    places = [(net, begin) for net in range(nets.number) for begin in range(0, nets.size, length)]
    message = packed(formula)
    answers = in_order(executor, sample_part, [(message, *nets, net, begin, length) for net, begin in places])
    whole = Drawn(np.empty((nets.number, nets.size)), evaluation_of(formula))
    for (net, begin), answer in zip(places, answers, strict=True):
        whole.values[net, begin : begin + length] = unpacked_part(answer, whole.pointwise)
    if length < nets.size:
        sort_at_once(list(whole.values))
    return whole


def sort_at_once(arrays: Sequence[Floats]) -> None:
    """Sort each in place, by threads; what consists of sorted stretches is merged."""
    with ThreadPoolExecutor(thread_count(len(arrays))) as threads:
        list(threads.map(lambda array: array.sort(kind="stable"), arrays))


def points_for(samples: int | None, inputs: int) -> int:
    """How many points are drawn: those asked for, or as many as so many inputs can have in a second."""
    if samples is not None:
        return samples
    most = 1 << int(math.log2(_NUMBERS / max(inputs, 1)))
    return max(min(_POINTS, most), _FEWEST_POINTS)


def draw_together(formulas: Sequence[Formula], samples: int | None, seed: int) -> list[Sample]:
    """Values of expressions at the same points, which fill the space of all their inputs evenly."""
    nets = _nets_for(formulas, samples, seed)
    drawn = draw(formulas, nets, range(nets.number), range(nets.size))
    return [Sample(each.values, each.pointwise.notes(), each.pointwise.reaches_zero) for each in drawn]


def _nets_for(formulas: Sequence[Formula], samples: int | None, seed: int) -> Nets:
    """As many points as are asked for, or somewhat more."""
    inputs = len(quantities_of(formulas))
    if inputs > _MOST_INPUTS:
        raise DataError(f"{inputs:,} uncertain inputs; sampling takes at most {_MOST_INPUTS:,}")
    samples = points_for(samples, inputs)
    size = 2 ** int(math.log2(samples / FEWEST_NETS))
    return Nets(math.ceil(samples / size), size, seed)
