"""Segmenters: the phases of a curve with the least sum of squared errors, by search, or by dynamic programming."""

from __future__ import annotations

import heapq
import itertools
import math
import weakref
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from perf_statistics.kernels import kernel
from perf_traces.scratch_arrays import chunks
from perf_worley.cells import Cells, cells_of
from perf_worley.factor_tree import moment_tree
from perf_worley.minimax import Minimax
from perf_worley.moment_tree import EMPTY, MomentTree, ShortTree, interval, join, node, squared_error
from perfcore import UtilizationCurve
from perfcore.base import progress
from perfcore.base.arrays import Booleans, Floats, Ints
from perfcore.contracts import Basis, Segmentation, SequenceSegmenter

# Ranges looked at before the best split so far is taken: enough but where the sum of squares is flat (at 10^7 steps and
# 20 phases it is then higher by a share of 3e-7, nine times sooner than with forty times the limit).
_MOST_RANGES = 5_000
_MOST_ROUNDS = 1000
_MOST_RELOCATIONS = 1000
# Steps squared times phases up to which all edges are candidates: 5,000 steps and 20 phases, in less than a second.
_EXACT = 5_000**2 * 20
_MOST_LIKELY = 128  # phases beyond which no table of likely edges is made, and Worley's partition is the start
_GRID = 512  # of the likely edges: as many evenly in time, evenly in steps, and by the size of the jump
_GAIN = 1e-9  # relative, of the sum, that is worth another round
_ROUNDS = 3  # of climbing and joining what was found, at most
# Phase by edges and degree: best split, its error, and the bound below which it was sought.
_Splits = dict[tuple[int, int, int], tuple[int, float, float]]
_ENDS_AT_ONCE = 256

MOST = 20  # phases; Worley's own range (Figures 6 and 18)
_STARTS_AT_ONCE = 32  # of stretches: some arrays of 512 cells that a processor's cache holds
MOST_BOUNDED = 128  # phases that are looked for on cells
# As with trees: kept while someone uses the curve.
_made: weakref.WeakKeyDictionary[UtilizationCurve, dict[bool, CurveModels]] = weakref.WeakKeyDictionary()


@kernel
def _error(edges, heights, origin, nodes, first, last, degree):  # type: ignore[no-untyped-def]
    if last <= first:
        return 0.0
    summary = interval(edges, heights, origin, nodes, edges[first], first, edges[last], last - 1)
    return squared_error(summary, degree)


@kernel
def _search(edges, heights, origin, nodes, first, last, left_degree, right_degree, initial, below, most):  # type: ignore[no-untyped-def]
    """Return the edge strictly between ``first`` and ``last`` with the least sum of squared errors, and that sum."""
    best, least = initial, below
    # Entries: bound, low edge, high edge, error left of the low edge, error right of the high edge.
    heap = [(0.0, first, last, 0.0, 0.0)]
    looked = -1
    while heap and looked < most:
        middle, low, high, left, right = initial, first, last, 0.0, 0.0
        if looked >= 0:
            bound, low, high, left, right = heapq.heappop(heap)
            if bound >= least:
                break
            if high - low < 2:
                continue
            middle = (low + high) // 2
        looked += 1
        to_left = to_right = 0.0
        for is_right in range(2):  # what is called in two places is compiled twice
            begin, end, degree = (middle, last, right_degree) if is_right else (first, middle, left_degree)
            error = _error(edges, heights, origin, nodes, begin, end, degree)
            to_left, to_right = (to_left, error) if is_right else (error, to_right)
        if to_left + to_right < least:
            least, best = to_left + to_right, middle
        for is_right in range(2 if looked else 0):
            begin, end = (middle, high) if is_right else (low, middle)
            before, after = (to_left, right) if is_right else (left, to_right)
            if before + after < least:
                heapq.heappush(heap, (before + after, begin, end, before, after))
    return best, least


def best_split(
    tree: MomentTree,
    first: int,
    last: int,
    degree: int,
    initial: int | None = None,
    right_degree: int | None = None,
    below: float = math.inf,
) -> tuple[int, float]:
    """Return the best edge to split the steps between two edges, and the sum of squares, by branch and bound.

    For a range of candidate edges
    [l, h] the error left of l plus the error right of h bounds the sum of squares of every split in the range from
    below, since a local error grows with its interval (Worley, Theorem 2.3). Ranges are halved in the order of their
    bounds until no bound is below the best split found.
    """
    initial = (first + last) // 2 if initial is None else initial
    right_degree = degree if right_degree is None else right_degree
    if isinstance(tree, ShortTree):
        return tree.best_split(first, last, degree, right_degree, initial, below)
    edge, squared = _search(*tree.arrays, first, last, degree, right_degree, initial, below, _MOST_RANGES)
    return int(edge), float(squared)


class Greedy(SequenceSegmenter):
    """Inserts breakpoints one by one and never moves one that is placed.

    For the strongest breaks in order of their strength. A poor heuristic where the best breaks for n and n + 1 phases
    differ much, as Worley notes.

    Source: J. H. Friedman and B. W. Silverman, "Flexible Parsimonious Smoothing and Additive Modeling",
    Technometrics 31 (1989). Deviations: the pieces are discontinuous polynomials, and the best place of each
    insertion is found exactly by branch and bound instead of over a grid of knots.

    Examples
    --------
    >>> curve = UtilizationCurve([0, 1, 2, 3], [0, 9, 1])
    >>> Greedy().segment(curve, 2, Basis(degree=0)).breaks
    array([0., 1., 3.])
    """

    def sequence(self, curve: UtilizationCurve, counts: Sequence[int], basis: Basis) -> list[Segmentation]:
        """Return phases for increasing n, each the previous ones with breakpoints added."""
        tree = moment_tree(curve)
        candidates = {0: _Candidate.unsearched(tree, 0, tree.n_steps, basis.degree)}
        segmentations = []
        with progress.bar("phases", max(counts)) as advance:
            for n in counts:
                while len(candidates) < min(n, tree.n_steps):
                    first, best = max(candidates.items(), key=lambda item: (item[1].gain, item[1].exact))
                    if not best.exact:
                        # The best known gain of the others is all that it must beat: noise is passed over quickly.
                        rival = max((c.gain for c in candidates.values() if c.exact), default=0.0)
                        candidates[first] = best.searched(tree, first, basis.degree, rival)
                        continue
                    candidates[first] = _Candidate.unsearched(tree, first, best.middle, basis.degree)
                    candidates[best.middle] = _Candidate.unsearched(tree, best.middle, best.last, basis.degree)
                    advance(1)
                edges = [*sorted(candidates), tree.n_steps]
                segmentations.append(Segmentation(tree.edges[edges]))
        return segmentations


@dataclass(frozen=True)
class _Candidate:
    """A phase that may be split: by its last edge, its error, and what a split gains, exactly or at most."""

    last: int
    error: float
    middle: int
    gain: float
    exact: bool

    @classmethod
    def unsearched(cls, tree: MomentTree, first: int, last: int, degree: int) -> _Candidate:
        """Nothing is known but that a split gains at most the whole error."""
        error = tree.error(tree.between(first, last), degree)
        if last - first < 2:
            return cls(last, error, first, -math.inf, True)
        return cls(last, error, (first + last) // 2, error, False)

    def searched(self, tree: MomentTree, first: int, degree: int, rival: float) -> _Candidate:
        """Return the best split if it gains more than ``rival``; otherwise the knowledge that it does not."""
        below = self.error - rival
        middle, squared = best_split(tree, first, self.last, degree, below=below)
        if squared < below:
            return replace(self, middle=middle, gain=self.error - squared, exact=True)
        # With no rival to beat, no split gains anything: any will do.
        return replace(self, gain=rival, exact=rival == 0.0)


class HillClimb(SequenceSegmenter):
    """Local search for the least sum of squared errors, from the best partition at likely edges.

    Choose it when the places of the breakpoints matter. A move shifts one break to the best place between its
    neighbours, or takes one out and puts it where it gains most; no one such move improves the result. Up to 5,000
    steps and 20 phases it is the least sum itself. A dynamic programme over likely edges finds where to start: those of
    an even grid, of Worley's partitions and of greedy ones, and the largest jumps; what climbing finds joins them.

    Source: in the spirit of M. D. Vose's hill climber, which Worley cites as [13]. Deviation: a move is the exact best
    place between the neighbours, found by branch and bound, instead of a small shift.

    Examples
    --------
    >>> curve = UtilizationCurve([0, 1, 2, 3], [0, 9, 1])
    >>> HillClimb().segment(curve, 2, Basis(degree=0)).breaks
    array([0., 1., 3.])
    """

    def sequence(self, curve: UtilizationCurve, counts: Sequence[int], basis: Basis) -> list[Segmentation]:
        tree = moment_tree(curve)
        if max(counts) <= _MOST_LIKELY:
            return _from_likely_edges(tree, curve, counts, basis)
        starts = [segmentation.breaks for segmentation in Minimax().sequence(curve, counts, basis)]
        return _climbed(tree, starts, basis.degree)


def _climbed(tree: MomentTree, starts: Sequence[Floats], degree: int) -> list[Segmentation]:
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
    best: list[tuple[float, Segmentation]] = []
    for _ in range(_ROUNDS):
        pieces = np.array([tree.between(a, b) for a, b in itertools.pairwise(likely.tolist())])
        starts = [tree.edges[likely[places]] for places in least_partitions(pieces, counts, basis.degree)]
        if exact:
            facts = {"moves": 0, "relocations": 0}
            return [Segmentation(breaks, np.full(len(breaks) - 1, basis.degree), facts) for breaks in starts]
        climbed = _climbed(tree, starts, basis.degree)
        found = [(_total(tree, _snap(tree, each.breaks), each.degrees), each) for each in climbed]
        better = [
            not best or new < (1.0 - _GAIN) * old for (new, _), (old, _) in zip(found, best or found, strict=True)
        ]
        if not any(better):
            break
        best = [new if is_better else old for new, old, is_better in zip(found, best or found, better, strict=True)]
        likely = np.unique(np.concatenate([likely, *(_snap(tree, each.breaks) for each in climbed)]))
    return [each for _, each in best]


def _likely_edges(tree: MomentTree, curve: UtilizationCurve, counts: Sequence[int], basis: Basis) -> Ints:
    """Return indices of edges where a break may be: of grids, the largest jumps, and of partitions that others find."""
    most = min(max(counts), tree.n_steps)
    evenly = np.searchsorted(tree.edges, np.linspace(0.0, tree.duration, _GRID + 1))
    candidates = [np.minimum(evenly, tree.n_steps), np.linspace(0, tree.n_steps, _GRID + 1).astype(np.int64)]
    # A short stretch that is far from its neighbours is worth a phase; its edges are the largest jumps.
    candidates.append(1 + _largest_jumps(tree) if tree.n_steps > _GRID + 1 else np.arange(tree.n_steps))
    several = sorted({min(n, tree.n_steps) for n in (most, 2 * most, 4 * most)})
    for starter in (Minimax(), Greedy()):
        candidates += [np.array(_snap(tree, each.breaks)) for each in starter.sequence(curve, several, basis)]
    return np.unique(np.concatenate(candidates))


def _largest_jumps(tree: MomentTree) -> Ints:
    """Return steps (_GRID,) after which the curve jumps most, for as long as both sides last."""
    places, sizes = np.zeros(0, np.int64), np.zeros(0)
    for part in chunks(tree.n_steps - 1):
        widths = np.sqrt(np.diff(tree.edges[part.start : part.stop + 2]))
        jumps = np.abs(np.diff(tree.heights[part.start : part.stop + 1])) * np.minimum(widths[:-1], widths[1:])
        places, sizes = np.append(places, np.arange(part.start, part.stop)), np.append(sizes, jumps)
        largest = np.argpartition(sizes, -_GRID)[-_GRID:] if len(sizes) > _GRID else slice(None)
        places, sizes = places[largest], sizes[largest]
    return places


def climb(tree: MomentTree, breaks: Floats, degrees: Ints) -> Segmentation:
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


def _total(tree: MomentTree, edges: list[int], degrees: Any) -> float:
    return sum(
        tree.error(tree.between(first, last), int(degree))
        for first, last, degree in zip(edges[:-1], edges[1:], degrees, strict=True)
    )


def _shift_all(tree: MomentTree, edges: list[int], degrees: Ints, stale: set[int]) -> int:
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


def _relocate(tree: MomentTree, edges: list[int], degrees: Ints, splits: _Splits) -> bool:
    """Take out the break that is missed least and split the phase that gains most, in place; False if that is a loss.

    A shift cannot carry a break past another one; where Worley's partition has too many breaks on one side of a strong
    one and too few on the other, only this move helps.
    """
    n = len(degrees)
    errors = [tree.error(tree.between(edges[i], edges[i + 1]), int(degrees[i])) for i in range(n)]
    # A joined phase keeps the higher degree of the two.
    losses = []
    for i in range(1, n):
        together = tree.error(tree.between(edges[i - 1], edges[i + 1]), int(max(degrees[i - 1], degrees[i])))
        losses.append((together - errors[i - 1] - errors[i], i))
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
    moves = [
        (gain - loss, removed, split, place)
        for loss, removed in losses
        for gain, split, place in gains
        if split not in (removed - 1, removed)
    ]
    profit, removed, split, place = max(moves, default=(0.0, 0, 0, 0))
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


def _snap(tree: MomentTree, breaks: Floats) -> list[int]:
    """Return indices of the nearest edges, all different, in order; there are at least as many steps as phases."""
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


@kernel
def _extend_table(pieces, cost, back, first_end, last_end, degree):  # type: ignore[no-untyped-def]
    """Fill columns ``first_end`` to ``last_end - 1``: cost[n, j] is the least error of n phases up to piece j."""
    most = cost.shape[0] - 1
    for j in range(first_end, last_end):
        summary = EMPTY
        for i in range(j - 1, -1, -1):
            summary = join(node(pieces, i), summary)
            error = squared_error(summary, degree)
            # The cost falls with the number of phases: what is too much for n is too much for more.
            for n in range(2, most + 1):
                if error > cost[n, j]:
                    break
                total = cost[n - 1, i] + error
                if total < cost[n, j]:
                    cost[n, j] = total
                    back[n, j] = i
            # A local error only grows to the left; one phase is made separately: nothing to the left can improve any.
            if most == 1 or error > cost[2, j]:
                break


@kernel
def _one_phase(pieces, cost, degree):  # type: ignore[no-untyped-def]
    """Return the first row of the table: everything up to piece j in one phase."""
    summary = EMPTY
    for j in range(pieces.shape[0]):
        summary = join(summary, node(pieces, j))
        cost[1, j + 1] = squared_error(summary, degree)


def least_partitions(pieces: Floats, counts: Sequence[int], degree: int) -> list[Ints]:
    """Return where the phases begin, and the number of pieces, for each number of phases, by dynamic programming.

    It is exact: no phases that begin where pieces do have a smaller sum of squared errors. Pieces are summaries of
    neighbouring stretches (`perf_worley.moment_tree`): the steps of a curve, or longer ones.
    """
    n_pieces = len(pieces)
    most = min(max(counts), n_pieces)
    cost = np.full((most + 1, n_pieces + 1), np.inf)
    back = np.zeros((most + 1, n_pieces + 1), np.int32)
    cost[0, 0] = 0.0
    _one_phase(pieces, cost, degree)
    with progress.bar("dynamic programme", n_pieces) as advance:
        for first in range(1, n_pieces + 1, _ENDS_AT_ONCE):
            last = min(first + _ENDS_AT_ONCE, n_pieces + 1)
            _extend_table(pieces, cost, back, first, last, degree)
            advance(last - first)
    return [traced(back, min(n, n_pieces)) for n in counts]


def traced(back: npt.NDArray[Any], n: int) -> Ints:
    """Return where n phases begin, and the number of pieces, from where the last phase up to each piece begins."""
    places = [back.shape[1] - 1]
    for phase in range(n, 0, -1):
        places.append(int(back[phase, places[-1]]))
    return np.array(places[::-1], dtype=np.int64)


class LeastSquares(SequenceSegmenter):
    """Hawkins' dynamic programme: no partition into n phases has a smaller sum of squared errors.

    Choose it to judge the others, or up to some 10,000 steps: time grows with their square.

    Source: D. M. Hawkins, "Fitting Multiple Change-Point Models to Data", Computational Statistics & Data Analysis 37
    (2001), and his earlier work that Worley cites as [10] and [11]. Deviation: breakpoints lie at edges of the curve,
    as his do at data points, but steps have widths.

    Examples
    --------
    >>> curve = UtilizationCurve([0, 1, 2, 3], [0, 9, 1])
    >>> LeastSquares().segment(curve, 2, Basis(degree=0)).breaks
    array([0., 1., 3.])
    """

    def sequence(self, curve: UtilizationCurve, counts: Sequence[int], basis: Basis) -> list[Segmentation]:
        edges = curve.relative_edges
        steps = np.zeros((curve.n_steps, 6))
        steps[:, 0], steps[:, 1] = np.diff(edges), curve.heights - curve.heights[0]
        partitions = least_partitions(steps, counts, basis.degree)
        return [Segmentation(edges[places]) for places in partitions]


# The least sum of squares on cells by phases that stay within the processors, for every number of phases at once.
#
# Source: D. M. Hawkins, "Fitting Multiple Change-Point Models to Data", Computational Statistics & Data Analysis 37
# (2001), on cell means. Deviation: a stretch costs what the polynomial of the highest degree up to d leaves that stays
# within the bounds on it; a constant always does. Lowering the degree of a free fit afterwards costs far more.


@dataclass(frozen=True)
class BoundedModels:
    """The best models of 1, 2, ... phases of one degree."""

    degree: int
    squares: Floats  # sum over cells of (mean - model)^2
    breaks: tuple[Ints, ...]  # in cells
    degrees: tuple[Ints, ...]  # of each phase: `degree`, or lower where that would leave the bounds


def leaves_bounds(c0: Floats, c1: Floats, c2: Floats, length: Floats, low: float, high: float) -> Booleans:
    """Return whether ``c0 + c1 x + c2 x^2`` leaves [low, high] for x in [0, length]."""
    x = np.clip(-c1 / (2.0 * c2), 0.0, length)  # an end where the vertex lies outside
    values = np.stack([c0, c0 + length * (c1 + length * c2), np.where(c2 == 0.0, c0, c0 + x * (c1 + x * c2))])
    return np.asarray((values.min(axis=0) < low) | (values.max(axis=0) > high))


def stretch_costs(values: Floats, degree: int, low: float, high: float) -> tuple[Floats, npt.NDArray[np.int8]]:
    """Return squares and degree of the best bounded polynomial on cells i to j - 1, at [j, i]; infinite for j <= i."""
    n = len(values)
    costs, degrees = np.full((n + 1, n + 1), np.inf), np.zeros((n + 1, n + 1), np.int8)
    # In rows one stretch after another from the same cell, in columns those of the same length.
    x = np.arange(n) + 0.5
    length, s1, s2, s3, s4 = (np.cumsum(x**power) for power in range(5))
    center, h = s1 / length, s2 / length
    sxx = s2 - s1 * center
    g = (s3 - center * s2) / sxx  # what is left of x^2 next to 1 and x
    szz = (s4 - h * s2) - g * (s3 - center * s2)
    windows = np.lib.stride_tricks.sliding_window_view(np.append(values, np.zeros(n - 1)), n)
    for first in range(0, n, _STARTS_AT_ONCE):
        v = windows[first : first + _STARTS_AT_ONCE]
        b0, squares = np.cumsum(v, axis=1), np.cumsum(v * v, axis=1)
        mean = b0 / length
        error, best = squares - b0 * mean, np.zeros(v.shape, np.int8)
        if degree >= 1:
            left = np.cumsum(v * x, axis=1) - center * b0
            slope = left / sxx
            line = error - slope * slope * sxx
            fits = (sxx > 0.0) & ~leaves_bounds(mean - slope * center, slope, np.zeros(1), length, low, high)
            error, best = np.where(fits, line, error), fits.astype(np.int8)
        if degree >= 2:
            sxy = (np.cumsum(v * (x * x), axis=1) - h * b0) - g * left
            c2 = sxy / szz
            c1 = slope - c2 * g
            fits = (szz > 1e-14 * s4) & ~leaves_bounds(mean - c2 * h - c1 * center, c1, c2, length, low, high)
            fits[:, :2] = False
            error, best = np.where(fits, line - c2 * sxy, error), np.where(fits, np.int8(2), best)
        for i, (row, row_degrees) in enumerate(zip(np.maximum(error, 0.0), best, strict=True), first):
            costs[i + 1 :, i], degrees[i + 1 :, i] = row[: n - i], row_degrees[: n - i]
    return costs, degrees


def bounded_models(cells: Cells, degree: int, most: int = MOST) -> BoundedModels:
    """Return the best models of 1 to ``most`` phases, fewer where the cells do not suffice."""
    n_cells = len(cells.values)
    shortest = min(max(2, degree + 1, math.ceil(2.0 * cells.period)), n_cells)
    most = max(1, min(most, n_cells // shortest))
    mean = float(cells.values.mean())
    with np.errstate(all="ignore"):  # of one or two cells
        costs, stretch_degrees = stretch_costs(cells.values - mean, degree, cells.low - mean, cells.high - mean)
    total = np.full((most + 1, n_cells + 1), np.inf)  # least cost of n phases up to cell j
    total[0, 0] = 0.0
    back = np.zeros((most + 1, n_cells + 1), np.int64)  # where the last one begins
    places = np.arange(n_cells + 1)
    long_enough = np.where(places[:, None] - places >= shortest, costs, np.inf)
    for n in range(1, most + 1):
        sums = long_enough + total[n - 1]
        back[n] = sums.argmin(axis=1)
        total[n] = sums[places, back[n]]
    breaks = [traced(back, n) for n in range(1, most + 1)]
    degrees = tuple(stretch_degrees[each[1:], each[:-1]].astype(np.int64) for each in breaks)
    return BoundedModels(degree, total[1:, n_cells].copy(), tuple(breaks), degrees)


class CurveModels:
    """Cells of one curve and the best models on them."""

    def __init__(self, cells: Cells) -> None:
        self.cells = cells
        self._models: dict[int, BoundedModels] = {}

    def of_degree(self, degree: int, most: int = MOST) -> BoundedModels:
        """Of 1 to ``most`` phases or more."""
        most = min(max(most, MOST), MOST_BOUNDED)
        enough = min(most, len(self.cells.values) // max(2, degree + 1))
        if degree not in self._models or len(self._models[degree].squares) < enough:
            self._models[degree] = bounded_models(self.cells, degree, most)
        return self._models[degree]


def curve_models(curve: UtilizationCurve, *, fine: bool = False) -> CurveModels:
    """Return those of a curve; ``fine`` splits the samples of short series (`cells_of`)."""
    cached = _made.setdefault(curve, {})
    if fine not in cached:
        cells = cells_of(moment_tree(curve), curve.n_locations, fine=fine)
        other = cached.get(not fine)
        same = other is not None and len(other.cells.values) == len(cells.values)
        cached[fine] = other if other is not None and same else CurveModels(cells)
    return cached[fine]


class Bounded(SequenceSegmenter):
    """Dynamic programme over 512 cells of equal duration, whose phases do not leave [0, P] by more than 2 % of P.

    The default. Its breaks lie where the behaviour changes; refinement places them on the steps of the curve. A phase
    that would leave the bounds has a lower degree. More than 128 phases are left to `hill-climb`, the mixed basis and
    functions to `minimax`.

    Examples
    --------
    >>> curve = UtilizationCurve([0, 1, 2, 3], [0, 9, 1])
    >>> Bounded().segment(curve, 2, Basis(degree=0)).breaks.round(2)
    array([0., 1., 3.])
    """

    def sequence(self, curve: UtilizationCurve, counts: Sequence[int], basis: Basis) -> list[Segmentation]:
        searched = curve_models(curve, fine=True)
        models = searched.of_degree(min(basis.degree, 2), max(counts))
        segmentations = []
        for n in counts:
            if n >= curve.n_steps:
                each = Segmentation(curve.relative_edges.copy(), np.zeros(curve.n_steps, np.int64))
            elif n > min(len(models.squares), MOST_BOUNDED):
                each = HillClimb().segment(curve, n, basis)
            else:
                breaks = searched.cells.times(models.breaks[n - 1], curve.duration)
                degrees = models.degrees[n - 1]
                if basis.degree == 3:  # searched with quadratics; refinement sees to the bounds of cubics
                    degrees = np.where(degrees == 2, 3, degrees)
                each = Segmentation(breaks, degrees)
            segmentations.append(each)
        return segmentations
