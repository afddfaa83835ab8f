"""The functions that an equation may call, and the arrays that compute those which are no functions of numpy."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np
import numpy.typing as npt
from scipy.special import betainc

from perf_formulas.parser import FUNCTIONS, OR, QUANTILE, Limits, Node, Parser, Rule
from perfcore.base.arrays import Floats
from perfcore.base.errors import DataError

_REACH = 7.0  # standard deviations around a share, beyond which the share in a step never is
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(16)  # leave 0.6 % at most of 4 workers, 3 % of 8
_ROUNDS = 40  # of the secant rule for T, at most; 3 to 5 do for 2 to 8 workers
_NEAR = 1e-3  # of log T
_AT_ONCE = 1 << 13
_SMALL = 1e-4  # times in units of the correlation's: there the closed form is all rounding
_LEVEL = FUNCTIONS["max"].level
# An equation of a thousand terms is written by a program and is meant; ten thousand take a second.
LIMITS = Limits(length=100_000, nodes=10_000)
# The fewest and the most arguments of each function.
_ARGUMENTS: Mapping[str, tuple[int, int | None]] = {
    **dict.fromkeys(("sum_over", "mean_over", "max_over", "min_over"), (1, 2)),
    "k_th": (3, None),
    **dict.fromkeys(("k_th_over", QUANTILE), (2, 2)),
    "barrier_over": (2, 2),
    "grained_barrier_over": (3, 3),
    "pipeline_over": (2, 2),
}
EQUATION_FUNCTIONS: Mapping[str, Rule] = FUNCTIONS | {
    name: Rule(name, name, _LEVEL, (OR,) * fewest, most) for name, (fewest, most) in _ARGUMENTS.items()
}
# Place of the replicated argument of each function that takes its copies.
OVER_COPIES: Mapping[str, int] = {name: int(name == "k_th_over") for name in _ARGUMENTS if name.endswith("_over")}


def as_integer(name: str, numbers: npt.ArrayLike, least: int, most: float) -> Floats:
    """Return numbers rounded to whole ones."""
    return checked(name, np.rint(np.asarray(numbers, dtype=np.float64)), least, most)


def checked(name: str, numbers: npt.ArrayLike, least: float, most: float = np.inf) -> Floats:
    """Return numbers that are none less than the least, and none more than the most that is accepted."""
    values = np.asarray(numbers, dtype=np.float64)
    if not np.all((values >= least) & (values <= most)):  # NaN is neither
        low, high = float(values.min()), float(values.max())
        span = f"{low:.4g}" if low == high else f"{low:.4g} to {high:.4g}"
        accepted = f"at least {least:.0f}" if most == np.inf else f"{least:.0f} to {most:.0f}"
        raise DataError(f"the {name} came to {span}; {accepted} is accepted")
    return values


def sum_of_first(*arguments: npt.ArrayLike) -> Floats:
    """Return the sum of the first copies; the last argument says of how many, 0 to all."""
    *values, count = arguments
    number = as_integer("number of copies", count, 0, len(values))
    total: Floats = np.zeros(())
    for place, value in enumerate(values, start=1):
        total = total + np.where(place <= number, value, 0.0)
    return total


def mean_of_first(*arguments: npt.ArrayLike) -> Floats:
    """Return the mean of the first copies, 1 to all; arguments as of `sum_of_first`."""
    return sum_of_first(*arguments) / as_integer("number of copies", arguments[-1], 1, len(arguments) - 1)


def extreme_of_first(choose: np.ufunc, *arguments: npt.ArrayLike) -> Floats:
    """Return the largest or smallest of the first copies, 1 to all; arguments as of `sum_of_first`."""
    *values, count = arguments
    number = as_integer("number of copies", count, 1, len(values))
    best = np.asarray(values[0], dtype=np.float64)
    for place, value in enumerate(values[1:], start=2):
        best = np.where(place <= number, choose(best, value), best)
    return best


def kth_smallest(k: npt.ArrayLike, *values: npt.ArrayLike) -> Floats:
    """Return the k-th smallest of some: 2 of 3 answers are there after the second."""
    place, *spread = np.broadcast_arrays(as_integer("place", k, 1, len(values)), *values)
    return np.asarray(np.take_along_axis(np.sort(spread, axis=0), place[None].astype(int) - 1, axis=0)[0])


# A line of stages with room for a few items between each two of them (blocking after service): J. A. Buzacott and
# J. G. Shanthikumar, "Stochastic Models of Manufacturing Systems", 1993, section 5.2.


def pipeline_time(*arguments: npt.ArrayLike) -> Floats:
    """Return the time until the last item has left the last stage; the first stage never waits for items."""
    *times, room, stages = arguments
    depth = int(np.asarray(stages))
    spread = np.broadcast_arrays(as_integer("room between two stages", room, 0, np.inf), *times)
    capacity, items = spread[0], [spread[1 + first : 1 + first + depth] for first in range(0, len(times), depth)]
    if any(np.any(time < 0.0) for time in spread[1:]):
        raise DataError("a time of a stage came to less than 0")
    # Times at which the earlier items left each stage, the first of them first; before it was anybody it was free.
    left = np.zeros((len(items) + 1, depth, *capacity.shape))
    for number, item in enumerate(items, start=1):
        # Item j leaves once item j - room - 1 has left the next stage.
        before = np.clip(number - 1.0 - capacity, 0, number)[None].astype(int)
        arrived = np.zeros(capacity.shape)
        for stage, time in enumerate(item):
            arrived = np.maximum(arrived, left[number - 1, stage]) + time
            if stage + 1 < depth:
                arrived = np.maximum(arrived, np.take_along_axis(left[:number, stage + 1], before, axis=0)[0])
            left[number, stage] = arrived
    return np.asarray(left[-1, -1], dtype=np.float64)


# What barriers leave of the progress of workers that share their processors with others.
#
# Source: D. G. Feitelson and L. Rudolph, "Gang scheduling performance benefits for fine-grain synchronization", Journal
# of Parallel and Distributed Computing 16, 1992, for both ends: without a grain workers progress only while all of them
# run, with a large one as fast as the slowest. What lies between is ours. Each processor goes back and forth between
# the worker and others for exponential times, the shorter of which is a slice on average. In a time T worker i has its
# processor for a share A_i of mean a_i and variance
#
#     a_i (1 - a_i) 2/u (1 - (1 - exp(-u))/u),   u = T/t_i,   1/t_i = 1/(mean time had) + 1/(mean time waited),
#
# taken as a beta distribution. Together they progress by p = E[min A_i] in the T = grain/p of a step.


def barrier_progress(*arguments: npt.ArrayLike) -> Floats:
    """Return the share of full speed of workers that meet at barriers, of their shares of their processors."""
    *shares, last = arguments
    exponent = checked("exponent", last, 0.0, 1.0)
    spread = np.array(np.broadcast_arrays(*_shares(shares)))
    slowest = spread.min(axis=0)
    with np.errstate(all="ignore"):
        others = np.where(slowest > 0.0, spread.prod(axis=0) / slowest, 1.0)
    return np.asarray(slowest * others**exponent)


def grained_progress(*arguments: npt.ArrayLike) -> Floats:
    """Return the share of full speed of workers that meet at a barrier after each so much computing."""
    *shares, grain, length = arguments
    time_slice = checked("slice", length, 0.0)
    if not np.all(time_slice > 0.0):
        raise DataError("the slice came to 0; more than 0 is accepted")
    spread = np.broadcast_arrays(checked("grain", grain, 0.0) / time_slice, *_shares(shares))
    shape = spread[0].shape
    slices, each = spread[0].ravel(), np.array([share.ravel() for share in spread[1:]])
    if slices.size > 1 and not np.ptp(slices) and not np.ptp(each, axis=1).any():
        return np.full(shape, _progress(each[:, :1], slices[:1]))
    parts = [
        _progress(each[:, first : first + _AT_ONCE], slices[first : first + _AT_ONCE])
        for first in range(0, slices.size, _AT_ONCE)
    ]
    return np.concatenate(parts).reshape(shape)


def _shares(shares: Sequence[npt.ArrayLike]) -> list[Floats]:
    return [checked("share of a processor", share, 0.0, 1.0) for share in shares]


def _progress(shares: Floats, slices: Floats) -> Floats:
    """Of shares (workers, n) and the grain in slices (n,); (n,)."""
    least, product = shares.min(axis=0), shares.prod(axis=0)
    with np.errstate(all="ignore"):
        had, waited = (np.maximum(1.0, odds) for odds in (shares / (1.0 - shares), (1.0 - shares) / shares))
        correlation = 1.0 / (1.0 / had + 1.0 / waited)
        # log(T p(T)) rises with log T. The secant rule, inside of what is known to enclose log T.
        low, high = np.log(slices) - np.log(least), np.log(slices) - np.log(product)
        place, slope = 0.5 * (low + high), np.full(slices.shape, 1.5)
        missing, step = np.full((2, *slices.shape), np.nan)
        for _ in range(_ROUNDS):
            before, progress = missing, _least_of(shares, np.exp(place) / correlation)
            missing = np.log(slices) - np.log(progress) - place
            low, high = np.where(missing > 0.0, place, low), np.where(missing < 0.0, place, high)
            steepness = (before - missing) / step
            slope = np.where(steepness >= 1.0, np.minimum(steepness, 1.0 + len(shares)), slope)
            target = place + missing / slope
            target = np.where((target >= low) & (target <= high), target, 0.5 * (low + high))
            step, place = target - place, target
            if not np.any(np.abs(step) > _NEAR):
                break
    # Nothing is outside the two limits; without time between barriers, or with endless time, it is one of them.
    progress = np.where(np.isnan(progress), np.where(slices > 1.0, least, product), progress)
    return np.where(product > 0.0, np.clip(progress, product, least), 0.0)


def _least_of(shares: Floats, times: Floats) -> Floats:
    """E[min A_i] for times (workers, n) in units of the correlation's; (n,)."""
    decay = np.where(times > _SMALL, 2.0 / times * (1.0 + np.expm1(-times) / times), 1.0 - times / 3.0)
    deviations = np.sqrt(shares * (1.0 - shares) * decay)
    low = np.clip(shares - _REACH * deviations, 0.0, 1.0).min(axis=0)
    high = np.clip(shares + _REACH * deviations, 0.0, 1.0).min(axis=0)
    places = low + (high - low) * (0.5 + 0.5 * _NODES[:, None])
    survival = np.ones(places.shape)
    for share, part in zip(shares, 1.0 / decay - 1.0, strict=True):
        survival *= np.where(share < 1.0, 1.0 - betainc(part * share, part * (1.0 - share), places), 1.0)
    return np.asarray(low + (high - low) * (0.5 * _WEIGHTS @ survival))


# Each takes the values of its arguments, copies spread out, at the same points.
COMPUTED: Mapping[str, Callable[..., Floats]] = {
    "where": np.where,
    "sum_over": sum_of_first,
    "mean_over": mean_of_first,
    "max_over": partial(extreme_of_first, np.maximum),
    "min_over": partial(extreme_of_first, np.minimum),
    "k_th": kth_smallest,
    "barrier_over": barrier_progress,
    "grained_barrier_over": grained_progress,
    "pipeline_over": pipeline_time,
}


def compute(name: str, *operands: npt.ArrayLike) -> Floats:
    """Return a function of arrays by its name: one of equations, else numpy's."""
    function = COMPUTED.get(name) or getattr(np, name)
    with np.errstate(all="ignore"):
        return np.asarray(function(*operands), dtype=np.float64)


def parsed(text: str) -> Node:
    """Return the tree of an equation: a formula that may also call what only equations have, such as ``max_over``."""
    return Parser(text.strip(), EQUATION_FUNCTIONS, LIMITS).formula()
