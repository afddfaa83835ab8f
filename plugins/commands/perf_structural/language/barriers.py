"""What barriers leave of the progress of workers that share their processors with others.

Source: D. G. Feitelson and L. Rudolph, "Gang scheduling performance benefits for fine-grain synchronization", Journal
of Parallel and Distributed Computing 16, 1992, say why processes that are not scheduled together progress together only
while all of them run. What lies between that and the slowest is ours: an exponent that was measured, or the grain.

With a grain, each processor goes back and forth between the worker and others, for exponentially distributed times, the
shorter of which on average is a slice: a worker with half of it has one slice and waits one, with a fifth it has one
and waits four. This goes on while a worker waits at a barrier, whatever the others do. In a time T worker i then has
its processor for a share A_i of mean a_i and variance

    a_i (1 - a_i) 2/u (1 - (1 - exp(-u))/u),   u = T/t_i,   1/t_i = 1/(mean time had) + 1/(mean time waited),

the variance of an average of a process whose correlation falls as exp(-t/t_i). In a long time A_i is a_i and in a short
one 0 or 1, as a variable with the beta distribution of this mean and variance is. Together they progress by the least
of the A_i in the T of a step: p = E[min A_i], T = grain/p. So p is the product of all a_i where the grain is far below
a slice and the least of them where it is far above. The beta distribution and one T for all steps are approximations.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from scipy.special import betainc

from perf_structural.language.copies import within
from perfcore.base.errors import DataError

Floats = npt.NDArray[np.float64]

_REACH = 7.0  # standard deviations around a share, beyond which the share in a step never is
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(16)  # leave 0.6 % at most of 4 workers, 3 % of 8
_ROUNDS = 40  # of the secant rule for T, at most; 3 to 5 do for 2 to 8 workers
_NEAR = 1e-3  # of log T
_AT_ONCE = 1 << 13
_SMALL = 1e-4  # times in units of the correlation's: there the closed form is all rounding


def barrier_progress(*arguments: npt.ArrayLike) -> Floats:
    """Share of full speed that workers which meet at barriers make together of their shares of their processors."""
    *shares, last = arguments
    exponent = within("exponent", last, 0.0, 1.0)
    spread = np.array(np.broadcast_arrays(*_shares(shares)))
    slowest = spread.min(axis=0)
    with np.errstate(all="ignore"):
        others = np.where(slowest > 0.0, spread.prod(axis=0) / slowest, 1.0)
    return np.asarray(slowest * others**exponent)


def grained_progress(*arguments: npt.ArrayLike) -> Floats:
    """Share of full speed that workers make together which meet at a barrier after each so much computing."""
    *shares, grain, length = arguments
    time_slice = within("slice", length, 0.0)
    if not np.all(time_slice > 0.0):
        raise DataError("the slice came to 0; more than 0 is accepted")
    spread = np.broadcast_arrays(within("grain", grain, 0.0) / time_slice, *_shares(shares))
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
    return [within("share of a processor", share, 0.0, 1.0) for share in shares]


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
