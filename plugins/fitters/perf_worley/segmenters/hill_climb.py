"""Moves breakpoints, one at a time, until no move lowers the sum of squared errors."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from perf_worley.segmenters.best_split import best_split
from perf_worley.segmenters.dynamic_programme import least_partitions
from perf_worley.segmenters.greedy import Greedy
from perf_worley.segmenters.minimax import Minimax
from perf_worley.segmenters.options import HillClimbOptions
from perf_worley.trees.error_trees import moment_tree
from perf_worley.trees.moment_tree import MomentTree
from perfcore import UtilizationCurve
from perfcore.base import progress
from perfcore.base.scratch_arrays import chunks
from perfcore.contracts import Basis, Segmentation, SequenceSegmenter

_MOST_ROUNDS = 1000
_MOST_RELOCATIONS = 1000

# Steps squared times phases up to which all edges are candidates: 5,000 steps and 20 phases, in less than a second.
_EXACT = 5_000**2 * 20
_MOST_LIKELY = 128  # phases beyond which no table of likely edges is made
_GRID = 512  # of the likely edges: as many evenly in time, evenly in steps, and by the size of the jump
_GAIN = 1e-9  # relative, of the sum, that is worth another round
_ROUNDS = 3  # of climbing and joining what was found, at most

# Phase by edges and degree: best split, its error, and the bound below which it was sought.
_Splits = dict[tuple[int, int, int], tuple[int, float, float]]


class HillClimb(SequenceSegmenter):
    """Local search for the least sum of squared errors, from the best partition at likely edges unless told otherwise.

    Choose it when the places of the breakpoints matter: the minimax partition lets short phases grow until all errors
    are equal, the least sum of squares puts breaks where the behaviour changes. A move shifts one break to the best
    place between its neighbours, or takes one out and puts it where it gains most; the result cannot be improved by
    one such move. Up to 5,000 steps and 20 phases it is the least sum itself, which `least-squares` finds at any size,
    at quadratic cost.

    A dynamic programme over likely edges finds where to start: those of an even grid, of Worley's partitions and of
    greedy ones, and the largest jumps. The breaks that climbing finds for any number of phases join the likely edges,
    and it is made again.

    Source: in the spirit of M. D. Vose's hill climber, which Worley cites as [13]. Deviation: a move is the exact best
    place between the neighbours, found by branch and bound, instead of a small shift.

    Examples
    --------
    >>> curve = UtilizationCurve([0, 1, 2, 3], [0, 9, 1])
    >>> HillClimb().segment(curve, 2, Basis(degree=0)).breaks
    array([0., 1., 3.])
    """

    Options = HillClimbOptions
    options: HillClimbOptions

    def sequence(self, curve: UtilizationCurve, counts: Sequence[int], basis: Basis) -> list[Segmentation]:
        """Phases for several n on one tree."""
        tree = moment_tree(curve)
        if self.options.start == "likely" and max(counts) <= _MOST_LIKELY:
            return _from_likely_edges(tree, curve, counts, basis)
        if self.options.start == "equal":
            starts = [np.linspace(0.0, curve.duration, min(n, curve.n_steps) + 1) for n in counts]
        else:
            starter = Greedy() if self.options.start == "greedy" else Minimax()
            starts = [segmentation.breaks for segmentation in starter.sequence(curve, counts, basis)]
        return _climbed(tree, starts, basis.degree)


def _climbed(tree: MomentTree, starts: Sequence[npt.NDArray[np.float64]], degree: int) -> list[Segmentation]:
    segmentations = []
    with progress.bar("hill climbing", len(starts)) as advance:
        for breaks in starts:
            segmentations.append(climb(tree, breaks, np.full(len(breaks) - 1, degree)))
            advance(1)
    return segmentations


def _from_likely_edges(
    tree: MomentTree, curve: UtilizationCurve, counts: Sequence[int], basis: Basis
) -> list[Segmentation]:
    """Climb from the best partitions at likely edges, until what was found makes no better ones."""
    exact = tree.n_steps**2 * min(max(counts), tree.n_steps) <= _EXACT
    likely = np.arange(tree.n_steps + 1) if exact else _likely_edges(tree, curve, counts, basis)
    best: list[Segmentation] = []
    for _ in range(_ROUNDS):
        pieces = np.array([tree.between(a, b) for a, b in itertools.pairwise(likely.tolist())])
        starts = [tree.edges[likely[places]] for places in least_partitions(pieces, counts, basis.degree)]
        if exact:
            facts = {"moves": 0, "relocations": 0}
            return [Segmentation(breaks, np.full(len(breaks) - 1, basis.degree), facts) for breaks in starts]
        segmentations = _climbed(tree, starts, basis.degree)
        sums = [[_sum_of_squares(tree, each) for each in several] for several in (segmentations, best)]
        better = [not best or new < (1.0 - _GAIN) * old for new, old in zip(sums[0], sums[1] or sums[0], strict=True)]
        if not any(better):
            break
        best = [
            new if is_better else old
            for new, old, is_better in zip(segmentations, best or segmentations, better, strict=True)
        ]
        likely = np.unique(np.concatenate([likely, *(_snap(tree, each.breaks) for each in segmentations)]))
    return best


def _likely_edges(
    tree: MomentTree, curve: UtilizationCurve, counts: Sequence[int], basis: Basis
) -> npt.NDArray[np.int64]:
    """Indices of edges where a break may be: of grids, the largest jumps, and of partitions that others find."""
    most = min(max(counts), tree.n_steps)
    evenly = np.searchsorted(tree.edges, np.linspace(0.0, tree.duration, _GRID + 1))
    candidates = [np.minimum(evenly, tree.n_steps), np.linspace(0, tree.n_steps, _GRID + 1).astype(np.int64)]
    # A short stretch that is far from its neighbours is worth a phase; its edges are the largest jumps.
    candidates.append(1 + _largest_jumps(tree) if tree.n_steps > _GRID + 1 else np.arange(tree.n_steps))
    several = sorted({min(n, tree.n_steps) for n in (most, 2 * most, 4 * most)})
    for starter in (Minimax(), Greedy()):
        candidates += [np.array(_snap(tree, each.breaks)) for each in starter.sequence(curve, several, basis)]
    return np.unique(np.concatenate(candidates))


def _largest_jumps(tree: MomentTree) -> npt.NDArray[np.int64]:
    """Steps (_GRID,) after which the curve jumps most, for as long as both sides last."""
    places, sizes = np.zeros(0, np.int64), np.zeros(0)
    for part in chunks(tree.n_steps - 1):
        widths = np.sqrt(np.diff(tree.edges[part.start : part.stop + 2]))
        jumps = np.abs(np.diff(tree.heights[part.start : part.stop + 1])) * np.minimum(widths[:-1], widths[1:])
        places, sizes = np.append(places, np.arange(part.start, part.stop)), np.append(sizes, jumps)
        largest = np.argpartition(sizes, -_GRID)[-_GRID:] if len(sizes) > _GRID else slice(None)
        places, sizes = places[largest], sizes[largest]
    return places


def _sum_of_squares(tree: MomentTree, segmentation: Segmentation) -> float:
    assert segmentation.degrees is not None
    return _total(tree, _snap(tree, segmentation.breaks), segmentation.degrees)


def climb(tree: MomentTree, breaks: npt.NDArray[np.float64], degrees: npt.NDArray[np.int64]) -> Segmentation:
    """Move breakpoints until no shift and no relocation of one lowers the sum of squared errors."""
    edges = _snap(tree, breaks)
    degrees = degrees.copy()
    moves = _shift_all(tree, edges, degrees, set(range(1, len(edges) - 1)))
    relocations = 0
    splits: _Splits = {}
    while relocations < _MOST_RELOCATIONS:
        before = _total(tree, edges, degrees)
        trial_edges, trial_degrees = list(edges), degrees.copy()
        if not _relocate(tree, trial_edges, trial_degrees, splits):
            break
        shifted = _shift_all(tree, trial_edges, trial_degrees, set(range(1, len(edges) - 1)))
        if not _total(tree, trial_edges, trial_degrees) < before:
            break
        edges, degrees = trial_edges, trial_degrees
        relocations += 1
        moves += shifted
    return Segmentation(tree.edges[edges], degrees, {"moves": moves, "relocations": relocations})


def _total(tree: MomentTree, edges: list[int], degrees: npt.NDArray[np.int64]) -> float:
    return sum(
        tree.error(tree.between(first, last), int(degree))
        for first, last, degree in zip(edges[:-1], edges[1:], degrees, strict=True)
    )


def _shift_all(tree: MomentTree, edges: list[int], degrees: npt.NDArray[np.int64], stale: set[int]) -> int:
    """Shift breaks between their neighbours, in place, until none of them can gain; returns how many were shifted."""
    moves = 0
    for _ in range(_MOST_ROUNDS):
        if not stale:
            break
        for i in sorted(stale):
            stale.discard(i)
            place, _squared = best_split(
                tree, edges[i - 1], edges[i + 1], int(degrees[i - 1]), edges[i], int(degrees[i])
            )
            if place != edges[i]:
                edges[i] = place
                moves += 1
                stale |= {k for k in (i - 1, i + 1) if 0 < k < len(edges) - 1}
    return moves


def _relocate(tree: MomentTree, edges: list[int], degrees: npt.NDArray[np.int64], splits: _Splits) -> bool:
    """Take out the break that is missed least and split the phase that gains most, in place; False if that is a loss.

    A shift cannot carry a break past another one; where Worley's partition has too many breaks on one side of a strong
    one and too few on the other, only this move helps.
    """
    n = len(degrees)
    errors = [tree.error(tree.between(edges[i], edges[i + 1]), int(degrees[i])) for i in range(n)]
    # A joined phase keeps the higher degree of the two.
    losses = [
        (
            tree.error(tree.between(edges[i - 1], edges[i + 1]), int(max(degrees[i - 1], degrees[i])))
            - errors[i - 1]
            - errors[i],
            i,
        )
        for i in range(1, n)
    ]
    needed = min((loss for loss, _ in losses), default=math.inf)
    gains = []
    for i in range(n):
        if edges[i + 1] - edges[i] >= 2:
            phase = (edges[i], edges[i + 1], int(degrees[i]))
            # Most phases stay as they are from one relocation to the next. A split that gains less than any break
            # is missed is no use: phases of pure noise are passed over quickly.
            place, squared, previous_bound = splits.get(phase, (0, math.inf, -math.inf))
            below = errors[i] - needed
            if squared >= previous_bound and below > previous_bound:
                place, squared = best_split(tree, *phase, below=below)
                splits[phase] = (place, squared, below)
            if squared < below:
                gains.append((errors[i] - squared, i, place))
    best = max(
        (
            (gain - loss, removed, split, place)
            for loss, removed in losses
            for gain, split, place in gains
            if split not in (removed - 1, removed)
        ),
        default=(0.0, 0, 0, 0),
    )
    profit, removed, split, place = best
    if profit <= 0.0:
        return False
    kept = [*edges[:removed], *edges[removed + 1 :]]
    joined = np.delete(degrees, removed)
    joined[removed - 1] = max(degrees[removed - 1], degrees[removed])
    phase_index = split if split < removed else split - 1
    kept.insert(phase_index + 1, place)
    edges[:] = kept
    degrees[:] = np.insert(joined, phase_index, degrees[split])
    return True


def _snap(tree: MomentTree, breaks: npt.NDArray[np.float64]) -> list[int]:
    """Indices of the nearest edges, all different, in order; there are at least as many steps as phases."""
    places = np.clip(np.searchsorted(tree.edges, breaks), 1, tree.n_steps)
    left_is_nearer = breaks - tree.edges[places - 1] < tree.edges[places] - breaks
    edges = np.where(left_is_nearer, places - 1, places)
    edges[0], edges[-1] = 0, tree.n_steps
    n = len(edges) - 1
    for i in range(1, n):  # push apart what fell together, from the left and then from the right
        edges[i] = max(edges[i], edges[i - 1] + 1)
    for i in range(n - 1, 0, -1):
        edges[i] = min(edges[i], edges[i + 1] - 1)
    return [int(edge) for edge in edges]
