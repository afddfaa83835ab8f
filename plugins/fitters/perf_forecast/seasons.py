"""The seasons of a series: after how many samples it repeats itself, found from the samples alone.

A season is believed only where it foretells: the mean of the last cycles, at the same place of each, must be nearer to
a sample than the level of the last cycle by a fair share, and nearer than cycles of somewhat different lengths are.
Noise, trends, random walks and steps fail the one or the other. Ranks stand for the samples, so that a few bursts
decide nothing.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy import fft, stats

Floats = npt.NDArray[np.float64]

_SHORTEST = 4  # samples: what returns sooner is left to the autoregressions
_CYCLES = 10  # that must have been seen: five to learn from and as many to judge; with fewer, steps look like seasons
_AVERAGED = 5  # cycles
_LEAST_SKILL = 0.1  # share of the squared error without a season that it must explain
_BESIDE = (0.8, 0.9, 1.1, 1.2)  # of the length: cycles as long as that must do worse
_NEARLY = 0.12  # of a length: peaks of the autocorrelation nearer than this are one
_UNSURE = 0.05  # of a length: how far noise moves a peak
_LONGER_GAIN = 0.1  # share of the squared error that a multiple must still take away: a week after a day

_AS_GOOD = 0.05  # share of the least error by which a shorter one may do worse: two weeks are no better than one


def find_seasons(values: npt.ArrayLike) -> tuple[int, ...]:
    """Lengths of the seasons in samples, shortest first; at most two, such as a day and a week."""
    samples: Floats = np.asarray(values, dtype=np.float64)
    if len(samples) < _CYCLES * _SHORTEST or np.ptp(samples) == 0.0:
        return ()
    ranks = stats.rankdata(samples) / len(samples)
    for peak in _peaks(ranks):
        near = _best_within(ranks, peak, max(1, round(0.2 * _UNSURE * peak)))
        if _stands_out(ranks, near, tuple({round(near * share) for share in _BESIDE} - {near})):
            short = _best_within(ranks, near, round(_UNSURE * near))
            long = _longer(ranks, short)
            return (short,) if long is None else (short, long)
    return ()


def _peaks(ranks: Floats) -> list[int]:
    """Lags at which the autocorrelation is positive and higher than at all that are nearly as long, shortest first."""
    longest = len(ranks) // _CYCLES
    spectrum = fft.rfft(ranks - ranks.mean(), fft.next_fast_len(2 * len(ranks)))
    correlation = fft.irfft(np.abs(spectrum) ** 2)
    peaks = []
    for lag in range(_SHORTEST, longest + 1):
        reach = max(1, round(_NEARLY * lag))
        if correlation[lag] > 0.0 and correlation[lag] >= correlation[lag - reach : lag + reach + 1].max():
            peaks.append(lag)
    return peaks


def _best_within(ranks: Floats, length: int, reach: int) -> int:
    lengths = range(max(_SHORTEST, length - reach), length + reach + 1)
    return max(lengths, key=lambda each: (_skill(ranks, each), -each))


def _stands_out(ranks: Floats, length: int, others: tuple[int, ...]) -> bool:
    skill = _skill(ranks, length)
    return skill >= _LEAST_SKILL and all(skill >= _skill(ranks, other) + _LEAST_SKILL for other in others)


def _longer(ranks: Floats, short: int) -> int | None:
    """The multiple of a season that foretells best, if it is better than the season and the multiples beside."""
    multiples = [k * short for k in range(2, len(ranks) // (_CYCLES * short) + 1)]
    if not multiples:
        return None
    first = _AVERAGED * multiples[-1]
    errors = {length: _errors(ranks, length, first)[0] for length in (short, *multiples)}
    least = min(errors.values())
    long = next(length for length in errors if errors[length] <= (1.0 + _AS_GOOD) * least)
    better = errors[long] <= (1.0 - _LONGER_GAIN) * errors[short]  # not the season itself, then
    return long if better and _stands_out(ranks, long, (long - short, long + short)) else None


def _skill(values: Floats, length: int) -> float:
    """Share of the squared error of the last cycle's level that the mean of the last cycles takes away."""
    error, without = _errors(values, length, _AVERAGED * length)
    return 1.0 - error / without if without > 0.0 else -np.inf


def _errors(values: Floats, length: int, first: int) -> tuple[float, float]:
    """Mean squared errors of samples from ``first`` on, with the season and with the level of the last cycle alone."""
    now, before = values[first:], mean_of_cycles(values, length, _AVERAGED)[first : len(values)]
    sums = np.concatenate([[0.0], np.cumsum(values)])
    ends = np.arange(first, len(values))
    level = (sums[ends] - sums[ends - length]) / length
    levels = (sums[ends] - sums[ends - _AVERAGED * length]) / (_AVERAGED * length)
    return float(np.mean((now - level - (before - levels)) ** 2)), float(np.mean((now - level) ** 2))


def mean_of_cycles(values: Floats, length: int, cycles: int) -> Floats:
    """The mean of the samples one to ``cycles`` lengths before, for each sample and one length beyond the last."""
    count = len(values) + length
    total, number = np.zeros(count), np.zeros(count)
    for place in range(length, min(cycles * length, count - 1) + 1, length):
        shifted = values[: count - place]
        total[place : place + len(shifted)] += shifted
        number[place : place + len(shifted)] += 1
    means: Floats = np.divide(total, number, out=np.full(count, np.nan), where=number > 0)
    return means
