"""Laws of the segments between breaks, range by range, with the noise that all segments of a path share."""

from __future__ import annotations

import itertools
from collections import defaultdict
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from perf_laws.evidence.hypotheses import Hypotheses
from perf_laws.evidence.posterior import MOST_CORRECTED, Laws, scattered_paths

__all__ = ["Segment", "Weighed", "segment_laws", "weighed"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Booleans = npt.NDArray[np.bool_]

# Laws of less probability are dropped.
_LEAST = 2e-3


@dataclass(frozen=True)
class Segment:
    """Laws of some paths on one range of the points.

    Attributes
    ----------
    begin, end : int
        Range of the points, the end not included.
    paths : (k,) int
        Which paths have this segment.
    hypotheses : Hypotheses
        Numbered as those of the whole range; columns, and so coefficients, are scaled to the segment.
    laws : Laws
        Of these paths at these points; a constant, or a constant and one term.
    """

    begin: int
    end: int
    paths: Ints
    hypotheses: Hypotheses
    laws: Laws


class Weighed(NamedTuple):
    """What `perf_laws.evidence.kernels.weigh_hypotheses` writes."""

    evidence: Floats  # (K, J)
    squares: Floats  # (K, J)
    fitted: Floats  # (K, n)


def weighed(
    means: Floats, root_weights: Floats, hypotheses: Hypotheses, within: Floats, freedom: Floats, chosen: Ints
) -> Weighed:
    """Weigh the hypotheses that are chosen for each path (K, J); -1 is none."""
    from perf_laws.evidence.kernels import weigh_hypotheses

    found = Weighed(np.empty(chosen.shape), np.empty(chosen.shape), np.empty(means.shape))
    weigh_hypotheses(
        means, root_weights, hypotheses.columns, hypotheses.members, hypotheses.log_prior, within, freedom,
        np.ascontiguousarray(chosen), *found,
    )  # fmt: skip
    return found


def segment_laws(
    means: Floats, roots: Floats, within: Floats, freedom: Floats, hypotheses: Hypotheses, begins: Ints
) -> tuple[Segment, ...]:
    """Laws of the segments of all paths that have breaks.

    Parameters
    ----------
    means, roots : (K, n) float
        Means > 0, and one over their standard deviations in units of the noise of one run, relative; 0 where a path
        was not measured.
    within, freedom : (K,) float
        As in `Laws`.
    hypotheses : Hypotheses
        At the n points.
    begins : (K, B) int
        First point behind each break; -1 after the last.
    """
    ranges = _ranges(begins, means.shape[1])
    simple = np.flatnonzero((hypotheses.members >= 0).sum(axis=1) <= 1)

    def weigh(begin: int, end: int, paths: Ints, levels: Floats, within: Floats, freedom: Floats) -> Weighed:
        weights = (roots / levels)[paths, begin:end]
        chosen = np.broadcast_to(simple, (len(paths), len(simple)))
        return weighed(means[paths, begin:end], weights, _on(hypotheses, begin, end), within, freedom, chosen)

    squares, left, nearer = np.zeros(len(means)), np.zeros(len(means)), means.copy()
    shares = []
    for begin, end, paths in ranges:
        found = weigh(begin, end, paths, means, within[paths], freedom[paths])
        best = found.evidence.argmax(axis=1)
        terms = (hypotheses.members[simple[best]] >= 0).sum(axis=1)
        share = found.squares[np.arange(len(paths)), best], (roots[paths, begin:end] > 0.0).sum(axis=1) - 1.0 - terms
        squares[paths] += share[0]
        left[paths] += share[1]
        shares.append(share)
        own = means[paths, begin:end]
        nearer[paths, begin:end] = np.clip(found.fitted, own / MOST_CORRECTED, own * MOST_CORRECTED)
    scattered = scattered_paths(squares, left, within, freedom)
    # Where segments scatter, their misses are the noise; what was known before counts for one observation.
    within = np.where(scattered, squares / np.maximum(left, 1.0), within) + squares
    freedom = np.where(scattered, 1.0, freedom) + left
    segments = []
    for (begin, end, paths), share in zip(ranges, shares, strict=True):
        # A segment brings its own squares; those of the others are known beforehand.
        known = within[paths] - share[0], freedom[paths] - share[1]
        kept, probability = _likeliest(simple, weigh(begin, end, paths, nearer, *known).evidence)
        laws = Laws(kept, probability, (roots / nearer)[paths, begin:end], *known, scattered[paths])
        segments.append(Segment(begin, end, paths, _on(hypotheses, begin, end), laws))
    return tuple(segments)


def _ranges(begins: Ints, n: int) -> list[tuple[int, int, Ints]]:
    """Ranges in increasing order, each with the paths that have it."""
    together: dict[tuple[int, int], list[int]] = defaultdict(list)
    broken = np.flatnonzero(begins[:, 0] >= 0)
    for path, own in zip(broken.tolist(), begins[broken].tolist(), strict=True):
        for between in itertools.pairwise([0, *(begin for begin in own if begin >= 0), n]):
            together[between].append(path)
    return [(*between, np.array(together[between])) for between in sorted(together)]


def _on(hypotheses: Hypotheses, begin: int, end: int) -> Hypotheses:
    """The same laws on a range of the points."""
    columns = hypotheses.columns[:, begin:end]
    largest = columns.max(axis=1)
    return replace(hypotheses, columns=columns / largest[:, None], scales=hypotheses.scales * largest)


def _likeliest(numbers: Ints, evidence: Floats) -> tuple[Ints, Floats]:
    """Laws by falling probability, and their probabilities (k, L)."""
    probability = np.exp(evidence - evidence.max(axis=1, keepdims=True))
    order = np.argsort(-probability, axis=1, kind="stable")
    probability = np.take_along_axis(probability / probability.sum(axis=1, keepdims=True), order, axis=1)
    probability[probability < _LEAST] = 0.0
    width = int((probability > 0.0).sum(axis=1).max())
    kept = np.where(probability > 0.0, numbers[order], -1)[:, :width]
    return kept, probability[:, :width] / probability.sum(axis=1, keepdims=True)
