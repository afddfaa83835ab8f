"""How probable each law is for each path, and what follows: the engine of the fitter `scaling`, on arrays.

The probability of a law is its prior times the evidence, the integral of the likelihood over all coefficients that are
not negative (`perf_laws.evidence.kernels`). It rewards a law for explaining the data and makes it pay for what
else it could have explained, so that no further criterion is needed; predictions are averages over all laws that are
left. J. A. Hoeting et al., "Bayesian model averaging: a tutorial", Statistical Science 14, 1999.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from perf_laws.evidence.hypotheses import Hypotheses
from perf_laws.evidence.in_parts import in_parts
from perf_laws.evidence.noise import Runs, common_variance, noise_of, smooth_means

__all__ = ["MOST_CORRECTED", "Laws", "fit_laws", "scattered_paths"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Booleans = npt.NDArray[np.bool_]

# Cells of laws of two parameters whose members are looked at one by one, for each path.
_CELLS_KEPT = 24

# Parts that a probability of 1 is cut into when laws are thinned out.
_PARTS = 256

# Repetitions do not show what differs from point to point. Where points miss the best law by more than repetitions
# explain with this probability, their misses are the noise.
_SIGNIFICANT = 0.01

# Where repetitions do not tell, the noise is that of so many paths, evenly taken.
_PATHS_FOR_NOISE = 500

# Choosing the law that fits best takes about so many degrees of freedom beside its coefficients.
_CHOICE = 1.0

_LEAST_FREEDOM = 3.0  # below, repetitions are too few to test anything against

_NUMBERS_AT_ONCE = 1 << 23

# Weights are one over the squares of the fitted law, which may be wrong: not further than this from smoothed means.
MOST_CORRECTED = 2.0


@dataclass(frozen=True)
class Laws:
    """Laws of K paths at n points.

    Attributes
    ----------
    kept : (K, L) int
        Number of each law among the hypotheses, likeliest first; -1 after the last.
    probability : (K, L) float
        Sums to 1 for each path.
    root_weights : (K, n) float
        One over the standard deviation of each mean, in units of the relative noise; 0 where nothing was measured.
    within, freedom : (K,) float
        Relative squares about the means of the runs and degrees of freedom, with what the other paths say; the misses
        of a law come on top of these.
    scattered : (K,) bool
        The points miss every law by more than repetitions explain. Repetitions then say nothing about the noise, and
        `within` and `freedom` are what is known without them.
    """

    kept: Ints
    probability: Floats
    root_weights: Floats
    within: Floats
    freedom: Floats
    scattered: Booleans


def fit_laws(runs: Runs, hypotheses: Hypotheses) -> Laws:
    """Weigh all laws for all paths.

    Parameters
    ----------
    runs : Runs
        Means positive where there are runs.
    hypotheses : Hypotheses
        At the same points.
    """
    means = np.nan_to_num(runs.means, nan=1.0)
    within, freedom, roots = noise_of(runs)
    repeated = (runs.counts > 1.0).any(axis=1)
    runs_each = runs.counts.sum(axis=1) / np.maximum((runs.counts > 0.0).sum(axis=1), 1)
    each = np.where(repeated, within / freedom / np.maximum(runs_each, 1.0), np.nan)  # variance of a mean
    about = np.nan_to_num(smooth_means(runs.means, each, hypotheses.points), nan=1.0)

    def weigh(paths: Ints) -> _Weighed:
        return _weighed(means[paths], (roots / about)[paths], hypotheses, within[paths], freedom[paths])

    scattered = np.zeros(len(means), dtype=np.bool_)
    found = []
    if repeated.any():
        known = np.flatnonzero(repeated)
        first = weigh(known)
        scattered[known] = scattered_paths(
            first.squares, _left(roots[known], first, hypotheses), within[known], freedom[known]
        )
        found.append((known, first))
    unknown = np.flatnonzero(scattered | ~repeated)
    if len(unknown):
        # Every point counts once: repeating a run does not help against what differs between points.
        roots[unknown] = roots[unknown] > 0.0
        some = unknown[:: -(-len(unknown) // _PATHS_FOR_NOISE)]
        tried = weigh(some)
        free = np.maximum(_left(roots[some], tried, hypotheses) - _CHOICE, 0.0)
        shared, worth = common_variance(tried.squares / np.maximum(free, 1.0), free)
        within[unknown], freedom[unknown] = shared * worth, worth
        each[unknown] = shared
        about[unknown] = np.nan_to_num(smooth_means(runs.means[unknown], each[unknown], hypotheses.points), nan=1.0)
        found.append((unknown, weigh(unknown)))
    candidates, fitted = _merged(found, means.shape)
    # Weights by the fitted law, which is nearer to the truth than the means of few runs.
    nearer = np.clip(fitted, about / MOST_CORRECTED, about * MOST_CORRECTED)
    last = _weighed(means, roots / nearer, hypotheses, within, freedom, candidates)
    return Laws(last.candidates.numbers, last.probability, roots / nearer, within, freedom, scattered)


class _Candidates(NamedTuple):
    """Laws of each path that stay, and the logarithm of how many others each stands for."""

    numbers: Ints  # (K, L)
    log_share: Floats  # (K, L)


class _Weighed(NamedTuple):
    candidates: _Candidates  # likeliest first
    probability: Floats  # (K, L)
    squares: Floats  # (K,) of the likeliest law
    fitted: Floats  # (K, n) by it


def _left(roots: Floats, weighed: _Weighed, hypotheses: Hypotheses) -> Floats:
    """Degrees of freedom that the likeliest law of each path leaves (K,)."""
    size = 1.0 + (hypotheses.members[weighed.candidates.numbers[:, 0]] >= 0).sum(axis=1)
    return np.asarray((roots > 0.0).sum(axis=1) - size)


def _merged(found: Sequence[tuple[Ints, _Weighed]], shape: tuple[int, int]) -> tuple[_Candidates, Floats]:
    """What was found for some paths each, later for earlier: candidates and means by the likeliest law."""
    width = max(weighed.probability.shape[1] for _, weighed in found)
    numbers, shares = np.full((shape[0], width), -1, dtype=np.int64), np.zeros((shape[0], width))
    fitted = np.empty(shape)
    for paths, weighed in found:
        numbers[paths] = _widened(weighed.candidates.numbers, width, -1)
        shares[paths] = _widened(weighed.candidates.log_share, width, 0.0)
        fitted[paths] = weighed.fitted
    return _Candidates(numbers, shares), fitted


def _widened(array: npt.NDArray[Any], width: int, by: float) -> npt.NDArray[Any]:
    return np.pad(array, ((0, 0), (0, width - array.shape[1])), constant_values=by)


def _weighed(
    means: Floats,
    root_weights: Floats,
    hypotheses: Hypotheses,
    within: Floats,
    freedom: Floats,
    candidates: _Candidates | None = None,
) -> _Weighed:
    """Weigh all laws, or the candidates of each path; parts of the paths by threads."""
    from perf_laws.evidence.kernels import weigh_hypotheses
    from perfcore.base.kernels import announce_compilation

    announce_compilation(weigh_hypotheses)

    def evidence_of(numbers: Ints, own: slice) -> tuple[Floats, Floats, Floats]:
        evidence, squares, fitted = np.empty(numbers.shape), np.empty(numbers.shape), np.empty(means[own].shape)
        weigh_hypotheses(
            means[own], root_weights[own], hypotheses.columns, hypotheses.members, hypotheses.log_prior, within[own],
            freedom[own], np.ascontiguousarray(numbers), evidence, squares, fitted,
        )  # fmt: skip
        return evidence, squares, fitted

    # Cells with more laws than the one that stands for them.
    divided = np.flatnonzero((hypotheses.finer >= 0).any(axis=1))

    def part(own: slice) -> _Weighed:
        if candidates is not None:
            numbers = candidates.numbers[own]
            evidence, squares, fitted = evidence_of(numbers, own)
            probability = _normalised(evidence + candidates.log_share[own])
            staying = (probability, candidates.log_share[own])
        else:
            numbers = np.broadcast_to(hypotheses.coarse, (len(means[own]), len(hypotheses.coarse)))
            evidence, squares, fitted = evidence_of(numbers, own)
            if len(divided):
                best = divided[_largest(evidence[:, divided], min(_CELLS_KEPT, len(divided)))]
                more = hypotheses.finer[best].reshape(len(best), -1)
                again = evidence_of(more, own)
                better = again[0].max(axis=1) > evidence.max(axis=1)
                fitted = np.where(better[:, None], again[2], fitted)
                numbers = np.concatenate([numbers, more], axis=1)
                evidence, squares = (
                    np.concatenate([a, b], axis=1) for a, b in ((evidence, again[0]), (squares, again[1]))
                )
            staying = _thinned(_normalised(evidence))
        least = np.take_along_axis(squares, evidence.argmax(axis=1)[:, None], axis=1)[:, 0]
        return _Weighed(*_ordered(numbers, *staying), least, fitted)

    widest = len(hypotheses.coarse) + min(_CELLS_KEPT, len(divided)) * hypotheses.finer.shape[1]
    found = in_parts(part, len(means), max(1, _NUMBERS_AT_ONCE // (3 * widest)))
    width = max(one.probability.shape[1] for one in found)
    return _Weighed(
        _Candidates(
            np.concatenate([_widened(one.candidates.numbers, width, -1) for one in found]),
            np.concatenate([_widened(one.candidates.log_share, width, 0.0) for one in found]),
        ),
        np.concatenate([_widened(one.probability, width, 0.0) for one in found]),
        np.concatenate([one.squares for one in found]),
        np.concatenate([one.fitted for one in found]),
    )


def _normalised(log_probability: Floats) -> Floats:
    probability = np.exp(log_probability - log_probability.max(axis=1, keepdims=True))
    return np.asarray(probability / probability.sum(axis=1, keepdims=True))


def _largest(array: Floats, count: int) -> Ints:
    """Places of the largest numbers of each row, in no order."""
    return np.argpartition(-array, count - 1, axis=1)[:, :count]


def _thinned(probability: Floats) -> tuple[Floats, Floats]:
    """Probabilities of fewer laws, 0 for the others, and the logarithm of how much larger each became.

    Hundreds of laws of little probability each may together matter as much as the likeliest. Those of less than one
    part in so many stay with a chance of that many times their probability, picked at even distances of all of them
    side by side, and then count as one part: what is left out is made up for on average.
    """
    little = probability < 1.0 / _PARTS
    places = np.floor(np.cumsum(np.where(little, probability, 0.0), axis=1) * _PARTS + 0.5)
    stays = np.where(little, np.diff(places, axis=1, prepend=0.0) / _PARTS, probability)
    return stays, np.log(np.divide(stays, probability, out=np.ones(stays.shape), where=stays > 0.0))


def _ordered(numbers: Ints, probability: Floats, log_share: Floats) -> tuple[_Candidates, Floats]:
    """Laws of some probability, likeliest first."""
    count = int((probability > 0.0).sum(axis=1).max())
    top = _largest(probability, count)
    order = np.take_along_axis(top, np.argsort(-np.take_along_axis(probability, top, axis=1), axis=1, kind="stable"), 1)
    sorted_probability = np.take_along_axis(probability, order, axis=1)
    kept = np.where(sorted_probability > 0.0, np.take_along_axis(numbers, order, axis=1), -1)
    candidates = _Candidates(kept, np.take_along_axis(log_share, order, axis=1))
    return candidates, sorted_probability / sorted_probability.sum(axis=1, keepdims=True)


def scattered_paths(squares: Floats, left: Floats, within: Floats, freedom: Floats) -> Booleans:
    """Where the points miss the likeliest law by more than repetitions explain (K,)."""
    from scipy.special import fdtri

    tested = (left > 0.0) & (freedom > _LEAST_FREEDOM)
    ratio = np.divide(squares * freedom, within * np.maximum(left, 1.0))
    limit = fdtri(np.maximum(left, 1.0), freedom, 1.0 - _SIGNIFICANT)
    return np.asarray(tested & (ratio > limit))
