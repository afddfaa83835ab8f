"""Breaks: where one law cannot hold, because of a cache or the boundary of a node, one law on each side.

A segmentation cuts the points into contiguous segments of at least three points, each with a law of its own, a constant
or a constant and one term. All segmentations are weighed against all single laws by their evidence, exactly: given the
size of the noise, which the segments of a path share, the evidence of a segmentation is the product of those of its
segments, so that dynamic programming over the last break gives the best segmentation and the sum over all of them.

Source: D. Barry and J. A. Hartigan, "Product partition models for change point problems", Annals of Statistics 20,
1992; P. Fearnhead, "Exact and efficient Bayesian inference for multiple changepoint problems", Statistics and Computing
16, 2006. Deviations: segments have laws of a discrete choice, and the noise is summed over instead of being simulated.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import astuple, dataclass, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from perf_laws.breaks.segment_laws import Segment, segment_laws, weighed
from perf_laws.evidence.hypotheses import Hypotheses, term_weight
from perf_laws.evidence.in_parts import in_parts
from perf_laws.evidence.noise import Runs, noise_of
from perf_laws.evidence.posterior import Laws
from perf_laws.evidence.terms import COMMON, Term

__all__ = ["Breaks", "find_breaks"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Booleans = npt.NDArray[np.bool_]

_LEAST_POINTS = 7
_MOST_BREAKS = 3

# Before the data: most functions have no break, and several are rarer than one.
_PRIOR = np.array([0.08, 0.03, 0.01])
_NO_BREAK = math.log(1.0 - float(_PRIOR.sum()))

# The level behind a break is within a factor of ten of the one before, flat in its logarithm.
_PER_BREAK = -math.log(2.0 * math.log(10.0))

# Runs at one point share what differs between points: the state of the machine, the placement. With this probability
# the noise is as repetitions show it; else it is one of some sizes up to the largest, evenly spaced in the logarithm.
_AS_KNOWN = 0.7
_LEAST_FREEDOM = 3.0  # below, repetitions say nothing
_SMALLEST, _LARGEST = 0.005, 0.5  # noise of a mean, relative, that is considered at all
_N_OTHER = 8

# With so many degrees of freedom the noise counts as known.
_KNOWN = 1e6

# A single law whose squares leave less to gain than breaks cost in prior probability needs no search.
_NO_GAIN = 2.0 * (-math.log(_PRIOR[0]) - _PER_BREAK)

# Laws that are compared with breaks, the likeliest of each path.
_LAWS_COMPARED = 16

# A curve that is a sum of so many common terms bends, and has no break.
_MOST_TERMS = 3

# Paths that are searched together.
_PATHS_AT_ONCE = 1000


@dataclass(frozen=True)
class Breaks:
    """Breaks of K paths.

    Attributes
    ----------
    count : (K,) int
        Number of breaks; 0 unless it is likelier that there are some than that there are none.
    places : (K, B) float
        Geometric mean of the points on both sides of each break; NaN after the last.
    begins : (K, B) int
        First point behind each break; -1 after the last.
    probability : (K,) float
        That there is any break; 0 where a single law explains the path to the noise.
    segments : tuple of Segment
        Of the paths with breaks, by ranges in increasing order.
    """

    count: Ints
    places: Floats
    begins: Ints
    probability: Floats
    segments: tuple[Segment, ...]


def find_breaks(points: npt.ArrayLike, runs: Runs, laws: Laws, hypotheses: Hypotheses) -> Breaks:
    """Find where paths change their law, of one parameter.

    Parameters
    ----------
    points : (n,) array_like
        Levels of the parameter, positive, increasing.
    runs : Runs
        Of K paths at these points.
    laws, hypotheses : Laws, Hypotheses
        Laws without breaks, and among which they were chosen.

    Raises
    ------
    ValueError
        Points do not increase.

    Notes
    -----
    Paths with fewer than seven points have no breaks. The noise is that of the repetitions; without any, that of the
    other paths; or, for both, an unknown one of up to 50 %, so that scatter between points is not taken for breaks. A
    sum of two or three common terms counts as a law without a break.
    """
    levels = np.asarray(points, dtype=np.float64)
    if levels.ndim != 1 or not (np.diff(levels) > 0.0).all():
        raise ValueError("points of one parameter, in increasing order, are expected")
    n_paths = len(runs.means)
    means = np.nan_to_num(runs.means, nan=1.0)
    begins = np.full((n_paths, _MOST_BREAKS), -1, dtype=np.int64)
    probability = np.zeros(n_paths)
    noise = _Noise.of(runs, laws)
    searched = np.flatnonzero(_worth_a_search(means, noise, laws, hypotheses))
    if len(searched):
        part = _Noise(*(of_all[searched] for of_all in astuple(noise)))
        found = _search(means[searched], part, laws.kept[searched], hypotheses)
        probability[searched], begins[searched] = found
    count = (begins >= 0).sum(axis=1)
    return Breaks(
        count=count,
        places=_places(levels, noise.roots > 0.0, begins),
        begins=begins,
        probability=probability,
        segments=segment_laws(means, noise.roots, noise.within, noise.freedom, hypotheses, begins),
    )


@dataclass(frozen=True)
class _Noise:
    """What repetitions say about the noise of each path, and where there are none, the other paths."""

    within: Floats  # (K,)
    freedom: Floats  # (K,)
    roots: Floats  # (K, n), one over the standard deviation of a mean in units of the noise of one run
    repeated: Booleans  # (K,)

    @classmethod
    def of(cls, runs: Runs, laws: Laws) -> _Noise:
        within, freedom, roots = noise_of(runs)
        repeated = (runs.counts > 1.0).any(axis=1) & (freedom >= _LEAST_FREEDOM)
        # Where points scatter more than runs, they count alike; but in the same unit.
        met = roots > 0.0
        usual = np.sqrt((roots**2).sum(axis=1) / np.maximum(met.sum(axis=1), 1))
        roots = np.where((laws.scattered | ~repeated)[:, None], met * usual[:, None], roots)
        within, freedom = np.where(repeated, (within, freedom), (laws.within, laws.freedom))
        return cls(within, freedom, roots, repeated)

    def sizes(self) -> tuple[Floats, Floats]:
        """Sizes of the noise to sum over (K, Q), and the logarithm of their probabilities (Q,)."""
        runs = np.sqrt((self.roots**2).sum(axis=1) / np.maximum((self.roots > 0.0).sum(axis=1), 1))[:, None]
        known = np.sqrt(self.within / self.freedom)[:, None]
        # Three abscissas of Gauss and Hermite for the logarithm, whose deviation is that of a chi-square's.
        near = known * np.exp(np.array([-1.0, 0.0, 1.0]) * np.sqrt(1.5 / self.freedom)[:, None])
        lowest = np.where(self.repeated[:, None], known, _SMALLEST * runs)
        highest = np.maximum(_LARGEST * runs, 2.0 * lowest)
        other = lowest * (highest / lowest) ** (np.arange(1, _N_OTHER + 1) / _N_OTHER)
        prior = [*(_AS_KNOWN * np.array([1.0, 4.0, 1.0]) / 6.0), *np.full(_N_OTHER, (1.0 - _AS_KNOWN) / _N_OTHER)]
        return np.concatenate([near, other], axis=1), np.log(prior)


def _worth_a_search(means: Floats, noise: _Noise, laws: Laws, hypotheses: Hypotheses) -> Booleans:
    """Where there are points enough, and the likeliest single law leaves something to gain (K,)."""
    single = weighed(means, noise.roots / means, hypotheses, noise.within, noise.freedom, laws.kept[:, :1])
    variance = np.where(noise.repeated, noise.within / noise.freedom, _SMALLEST**2)
    enough = (noise.roots > 0.0).sum(axis=1) >= _LEAST_POINTS
    return np.asarray(enough & (single.squares[:, 0] > _NO_GAIN * variance))


def _search(means: Floats, noise: _Noise, kept: Ints, hypotheses: Hypotheses) -> tuple[Floats, Ints]:
    """Probability of any break (K,), and where segments begin if that is likelier than none (K, B)."""
    from scipy.special import expit

    powers = [f for f, term in _terms(hypotheses) if term in COMMON or not term.logarithm]
    few = _common_columns(hypotheses) or powers
    sums = _sums(hypotheses)
    noises, prior = noise.sizes()
    weights = noise.roots / means

    def part(own: slice) -> tuple[Floats, Ints]:
        seen = means[own], weights[own], noises[own]
        single = _single_evidence(*seen, prior, hypotheses, kept[own, :_LAWS_COMPARED])
        broken = _segmentations(*seen, prior, hypotheses, few)
        log_odds, begins = broken.evidence - single - _NO_BREAK, broken.begins
        likely = np.flatnonzero(log_odds > 0.0)
        if len(likely):
            # More terms for the segments, and sums of terms for the curves that bend without a break. These compete
            # where they leave as little as the segments do, so that one size of the noise speaks for all.
            near, own_weights, sizes = (one[likely] for one in seen)
            broken = _segmentations(near, own_weights, sizes, prior, hypotheses, powers)
            size = np.take_along_axis(sizes, broken.likeliest[:, None], axis=1)
            every = np.broadcast_to(np.arange(len(sums)), (len(likely), len(sums)))
            bent = _single_evidence(near, own_weights, size, np.zeros(1), sums, every)
            single = np.logaddexp(single[likely], bent + prior[broken.likeliest] - broken.share)
            log_odds[likely], begins[likely] = broken.evidence - single - _NO_BREAK, broken.begins
        return expit(log_odds), np.where(log_odds[:, None] > 0.0, begins, -1)

    found = in_parts(part, len(means), _PATHS_AT_ONCE)
    return np.concatenate([one[0] for one in found]), np.concatenate([one[1] for one in found])


class _Segmentations(NamedTuple):
    evidence: Floats  # (K,) log, of any break, with its prior
    begins: Ints  # (K, B) of the best segmentation with the likeliest number of breaks
    likeliest: Ints  # (K,) size of the noise that suits it best
    share: Floats  # (K,) log of the part of the evidence that belongs to that size


def _segmentations(
    means: Floats, weights: Floats, noises: Floats, noise_prior: Floats, hypotheses: Hypotheses, terms: list[int]
) -> _Segmentations:
    """Weigh all segmentations whose segments are constants or have one of these terms."""
    from perf_laws.breaks.kernels import weigh_segmentations
    from perfcore.base.kernels import announce_compilation

    announce_compilation(weigh_segmentations)
    term_weights = np.array([term_weight(hypotheses.terms[f][0][1]) for f in terms])
    log_prior = np.log([0.5, *(0.5 * term_weights / term_weights.sum())])
    columns = np.ascontiguousarray(hypotheses.columns[terms])
    shape = (len(means), _MOST_BREAKS)
    evidence, share, likeliest = np.empty(shape), np.empty(shape), np.empty(shape, dtype=np.int64)
    begins = np.empty((*shape, _MOST_BREAKS), dtype=np.int64)
    weigh_segmentations(
        means, weights, columns, log_prior, noises, noise_prior, _PER_BREAK, evidence, share, likeliest, begins
    )
    joint = evidence + np.log(_PRIOR)
    best = np.arange(len(means)), joint.argmax(axis=1)
    return _Segmentations(np.logaddexp.reduce(joint, axis=1), begins[best], likeliest[best], share[best])


def _single_evidence(
    means: Floats, weights: Floats, noises: Floats, noise_prior: Floats, hypotheses: Hypotheses, chosen: Ints
) -> Floats:
    """Log evidence of laws without a break (K,), in the unit of `weigh_segmentations`."""
    from scipy.special import gammaln

    total = np.full(len(means), -np.inf)
    for size, prior in zip(noises.T, noise_prior, strict=True):
        within = _KNOWN * size**2
        found = weighed(means, weights, hypotheses, within, np.full(len(means), _KNOWN), chosen)
        unit = gammaln(0.5 * _KNOWN) + 0.5 * _KNOWN * (math.log(2.0) - np.log(within))
        total = np.logaddexp(total, np.logaddexp.reduce(found.evidence, axis=1) - unit + prior)
    return total


def _terms(hypotheses: Hypotheses) -> list[tuple[int, Term]]:
    """Columns of one term, with their numbers."""
    return [(f, column[0][1]) for f, column in enumerate(hypotheses.terms) if len(column) == 1]


def _common_columns(hypotheses: Hypotheses) -> list[int]:
    return [f for f, term in _terms(hypotheses) if term in COMMON]


def _sums(hypotheses: Hypotheses) -> Hypotheses:
    """Sums of two and three common terms, each as unlikely as the least likely law."""
    common = _common_columns(hypotheses)
    laws = [law for size in range(2, _MOST_TERMS + 1) for law in itertools.combinations(common, size)]
    members = np.full((len(laws), _MOST_TERMS), -1, dtype=np.int64)
    for number, law in enumerate(laws):
        members[number, : len(law)] = law
    return replace(hypotheses, members=members, log_prior=np.full(len(laws), hypotheses.log_prior.min()))


def _places(levels: Floats, met: Booleans, begins: Ints) -> Floats:
    """Geometric mean of the measured points on both sides (K, B)."""
    index = np.where(met, np.arange(len(levels)), -1)
    before = np.maximum.accumulate(index, axis=1)
    left = np.take_along_axis(before, np.maximum(begins - 1, 0), axis=1)
    return np.where(begins >= 0, np.sqrt(levels[left] * levels[begins]), np.nan)
