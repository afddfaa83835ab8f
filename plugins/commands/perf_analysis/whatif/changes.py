"""Other times between calls: a class of states faster, balanced over ranks, or noisy."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from perf_traces.messages.burst_times import BurstTimes
from perf_traces.messages.communication import Communication
from perf_traces.messages.matching import numbered
from perfcore.base.errors import DataError


_LONGEST_NS = 2.0**62

Integers = npt.NDArray[np.int64]


def faster(burst_ns: Integers, inside_ns: Integers, times: float) -> Integers:
    """Bursts whose part in a class takes so many times less."""
    return burst_ns - inside_ns + np.rint(inside_ns / times).astype(np.int64)


def balanced(
    burst_ns: Integers, inside_ns: Integers, communication: Communication, times: BurstTimes
) -> tuple[Integers, float]:
    """Bursts whose part in a class is, occurrence by occurrence, the mean over the ranks.

    Collectives of all ranks cut the run into stretches. Where all ranks make equally many calls in a stretch, the k-th
    burst of one is the k-th of the others; elsewhere nobody can say which belong together, and they stay as they are.
    """
    together, calls, first = communication.collectives, communication.calls, communication.first_call
    n_calls, has_calls = len(calls), np.diff(first) > 0
    ranks = np.flatnonzero(has_calls)
    of_all = np.bincount(together.member_of, minlength=len(together)) == len(ranks)
    cuts = np.zeros(n_calls + 1, np.int64)
    cuts[together.member_call[of_all[together.member_of]] + 1] = 1
    stretch = np.cumsum(cuts)
    stretch = stretch[:n_calls] - stretch[first[calls.location]]  # those that begin after a cut belong to the next
    n_stretches = int(stretch.max(initial=0)) + 1
    count = np.zeros((n_stretches, len(communication.locations)), np.int64)
    np.add.at(count, (stretch, calls.location), 1)
    matching = (count[:, ranks] == count[:, ranks[:1]]).all(axis=1)
    number = numbered(stretch * len(communication.locations) + calls.location)
    chosen = np.flatnonzero(matching[stretch])
    _, group = np.unique(stretch[chosen] * (int(number.max(initial=0)) + 1) + number[chosen], return_inverse=True)
    # The burst after the last call is one more occurrence, of all ranks.
    chosen = np.concatenate([chosen, n_calls + ranks])
    group = np.concatenate([group.reshape(-1), np.full(len(ranks), group.max(initial=-1) + 1)])
    mean = np.bincount(group, inside_ns[chosen].astype(np.float64)) / np.bincount(group)
    changed = burst_ns.copy()
    changed[chosen] += np.rint(mean[group]).astype(np.int64) - inside_ns[chosen]
    return changed, float(inside_ns[chosen].sum() / max(inside_ns.sum(), 1))


def noisy(burst_ns: Integers, spread: float, rng: np.random.Generator) -> Integers:
    """Bursts each times a lognormal factor of mean 1 and the given standard deviation."""
    variance = np.log1p(spread * spread)
    # In single precision, which is three times as fast: a factor of noise needs no more than seven digits.
    factor = rng.standard_normal(len(burst_ns), dtype=np.float32)
    factor *= np.float32(np.sqrt(variance))
    factor -= np.float32(variance / 2)
    with np.errstate(over="ignore"):
        drawn = burst_ns * np.exp(factor, out=factor)
    if not drawn.max(initial=0) < _LONGEST_NS:
        raise DataError("the noise makes bursts longer than a clock counts")
    return np.rint(drawn, out=drawn).astype(np.int64)
