"""The trees of a curve: each is built once, for the segmenter, the refinement and the final fit alike."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from perf_statistics.kernels import can_compile, kernel
from perf_traces.scratch_arrays import zeros
from perf_worley.moment_tree import SHORT, MomentTree, Reach, ShortTree
from perfcore import UtilizationCurve
from perfcore.base import progress
from perfcore.base.arrays import Floats, Ints
from perfcore.base.errors import OptionError
from perfcore.contracts import Basis

_MACHINE_EPSILON = 2.0**-52
_MAX_EVALUATIONS = 400
BLOCK = 64
_BLOCKS_AT_ONCE = 256
_POINTS, _WEIGHTS = np.polynomial.legendre.leggauss(4)
# A panel is halved until the integrals of all products agree with those of its halves to this share; the rounding of
# times alone is some 1e-13 for exp at 700 time constants.
_QUADRATURE = 1e-11
_MAX_HALVINGS = 60
_MOST_PANELS = 1 << 18
_NEGLIGIBLE = 1e-280
# A column whose part outside of the columns before it is this small is noise there and is left out.
_DEPENDENT = 1e-10
# The functions as given must be better conditioned than that over the whole curve, or the model has no meaning.
_SINGULAR = 1e-7
# A curve never changes, and neither does its tree; both go when the last one who uses the curve lets go of it.
_moment_trees: weakref.WeakKeyDictionary[UtilizationCurve, MomentTree] = weakref.WeakKeyDictionary()
_factor_trees: weakref.WeakKeyDictionary[UtilizationCurve, tuple[PhaseBasis, FactorTree]] = weakref.WeakKeyDictionary()


def bracket_root(
    function: Callable[[float], float], lower: float, f_lower: float, upper: float, f_upper: float, width: float
) -> tuple[float, float]:
    """Narrow a bracket ``f_lower < 0 <= f_upper`` down to a width.

    Regula falsi after Anderson and Bjorck ("A new high order method of regula falsi type", BIT 13, 1973), with a
    bisection whenever three steps did not halve the bracket: a jump through zero costs no more than bisection.
    """
    checkpoint, steps, moved = upper - lower, 0, 0
    for _ in range(_MAX_EVALUATIONS):
        if upper - lower <= max(width, 4.0 * _MACHINE_EPSILON * max(abs(lower), abs(upper))):
            break
        steps += 1
        if steps == 3 and upper - lower > 0.5 * checkpoint:
            middle = 0.5 * (lower + upper)
        else:
            middle = upper - f_upper * (upper - lower) / (f_upper - f_lower)
            # Stay off the ends: the last digits are gained by stepping just across the zero.
            middle = min(max(middle, lower + 0.25 * width), upper - 0.25 * width)
        if not lower < middle < upper:
            middle = 0.5 * (lower + upper)
        if steps == 3:
            checkpoint, steps = upper - lower, 0
        f_middle = function(middle)
        if f_middle >= 0.0:
            if moved == 1:
                factor = 1.0 - f_middle / f_upper if f_upper > 0.0 else 0.5
                f_lower *= factor if factor > 0.0 else 0.5
            upper, f_upper, moved = middle, f_middle, 1
        else:
            if moved == -1:
                factor = 1.0 - f_middle / f_lower
                f_upper *= factor if factor > 0.0 else 0.5
            lower, f_lower, moved = middle, f_middle, -1
    return lower, upper


@kernel
def rotate_in(triangle, row, n_columns):  # type: ignore[no-untyped-def]
    """Zero the first ``n_columns`` entries of a row against the triangle; returns what is left of its last entry.

    Overwrites ``row``. The last column of both is the right-hand side of the least-squares problem.
    """
    n_all = row.shape[0]
    for i in range(n_columns):
        if row[i] == 0.0:
            continue
        radius = np.hypot(triangle[i, i], row[i])
        cosine, sine = triangle[i, i] / radius, row[i] / radius
        for k in range(i, n_all):
            upper = triangle[i, k]
            triangle[i, k] = cosine * upper + sine * row[k]
            row[k] = cosine * row[k] - sine * upper
    return row[n_all - 1]


@kernel
def absorb(triangle, rows):  # type: ignore[no-untyped-def]
    """Rotate rows into a triangle whose last diagonal entry gathers the error."""
    n = triangle.shape[0]
    for m in range(rows.shape[0]):
        row = rows[m].copy()
        remainder = rotate_in(triangle, row, n - 1)
        triangle[n - 1, n - 1] = np.hypot(triangle[n - 1, n - 1], remainder)


@kernel
def factor_blocks(triangles, rows, blocks):  # type: ignore[no-untyped-def]
    """Rotate each row into the triangle of its block."""
    n = triangles.shape[1]
    for m in range(rows.shape[0]):
        row = rows[m].copy()
        remainder = rotate_in(triangles[blocks[m]], row, n - 1)
        triangles[blocks[m], n - 1, n - 1] = np.hypot(triangles[blocks[m], n - 1, n - 1], remainder)


@kernel
def stack(left, right):  # type: ignore[no-untyped-def]
    """Return the factor of two neighbouring intervals together."""
    joined = left.copy()
    absorb(joined, right)
    return joined


@dataclass(frozen=True)
class PhaseBasis(Basis):
    """What a phase of Worley's may look like besides polynomials of one degree.

    ``mixed`` chooses constant, linear or quadratic for each phase (section 5.1). ``functions`` take times (n,) counted
    from the curve's start and give values (n,); with the constant they are the model in place of polynomials.
    """

    mixed: bool = False
    functions: tuple[Callable[[Floats], Floats], ...] = ()
    names: tuple[str, ...] = ()


class FactorTree(MomentTree):
    """Tree of triangular factors of one curve: a moment tree for other functions than polynomials.

    Each block of steps is a weighted least-squares problem, rows from a Gauss rule with positive weights on every step.
    Its triangular factor sums it up; two blocks join by factoring their triangles stacked. The squared error is the
    last diagonal entry squared, a sum of squares, so nothing cancels. Algorithm K runs on it unchanged.

    Functions count time from the start of the curve, not of the phase: the space of functions on an interval is then
    the same seen from any larger one, and the local error is monotone, which Algorithm K needs (Theorem 2.3).

    Source: P. H. Worley, "Modeling Histogram Data with Piecewise Polynomials", section 6.
    """

    def __init__(self, curve: UtilizationCurve, basis: PhaseBasis) -> None:
        super().__init__(curve)
        self.functions, self.names = basis.functions, basis.names
        n_blocks = -(-self.n_steps // BLOCK)
        self.n_leaves = 1 << (n_blocks - 1).bit_length()
        size = len(self.functions) + 2
        self.nodes = zeros((2 * self.n_leaves, size, size))
        with progress.bar("factor tree", n_blocks) as advance:
            for first in range(0, n_blocks, _BLOCKS_AT_ONCE):
                last = min(first + _BLOCKS_AT_ONCE, n_blocks)
                steps = slice(first * BLOCK, min(last * BLOCK, self.n_steps))
                rows, owner = self._rows(self.edges[:-1][steps], self.edges[1:][steps], self.heights[steps])
                leaves = self.nodes[self.n_leaves + first : self.n_leaves + last]
                factor_blocks(leaves, rows, owner // BLOCK)
                advance(last - first)
        for i in range(self.n_leaves - 1, 0, -1):
            self.nodes[i] = stack(self.nodes[2 * i], self.nodes[2 * i + 1])
        self._refuse_dependent()

    def _refuse_dependent(self) -> None:
        root = self.nodes[1]
        for i in range(1, len(self.functions) + 1):
            if abs(root[i, i]) <= _SINGULAR * float(np.linalg.norm(root[: i + 1, i])):
                others = ", ".join(("constant", *self.names)[:i])
                raise OptionError(
                    f"the function {self.names[i - 1]!r} is a combination of {others} on this curve, so that its Gram "
                    "matrix is singular; leave it out or change --scale"
                )

    def _rows(self, left: Floats, right: Floats, heights: Floats) -> tuple[Floats, Ints]:
        """Return weighted rows of the steps, and for each the step that it belongs to."""
        owner = np.arange(len(left))
        accepted: list[tuple[Floats, Ints]] = []
        for _ in range(_MAX_HALVINGS):
            middle = 0.5 * (left + right)
            whole = self._weighted(left, right)
            halves = np.concatenate([self._weighted(left, middle), self._weighted(middle, right)], axis=1)
            coarse = np.einsum("spi,spj->sij", whole, whole)
            fine = np.einsum("spi,spj->sij", halves, halves)
            # Largest values instead of norms, whose squares vanish for exp far beyond its scale; products too small
            # for full precision count as zero.
            norms = np.abs(halves).max(axis=1)
            scale = norms[:, :, None] * norms[:, None, :] + _NEGLIGIBLE * (right - left)[:, None, None]
            good = (np.abs(coarse - fine) <= _QUADRATURE * scale).all(axis=(1, 2))
            good |= ~((left < middle) & (middle < right))
            if len(good) > _MOST_PANELS and not good.all():
                time = left[int(np.argmin(good))]
                raise OptionError(f"a function varies too fast to be integrated near time {time:g}; change --scale")
            values = whole[good]
            targets = values[:, :, :1] * (heights[good] - self.origin)[:, None, None]
            rows = np.concatenate([values, targets], axis=2).reshape(-1, len(self.functions) + 2)
            accepted.append((rows, np.repeat(owner[good], len(_POINTS))))
            left, right, middle = left[~good], right[~good], middle[~good]
            if not len(left):
                break
            left, right = np.concatenate([left, middle]), np.concatenate([middle, right])
            heights, owner = np.tile(heights[~good], 2), np.tile(owner[~good], 2)
        return np.concatenate([rows for rows, _ in accepted]), np.concatenate([of for _, of in accepted])

    def _weighted(self, left: Floats, right: Floats) -> Floats:
        """Return the constant and the functions at the nodes of each panel, by the roots of the rule's weights."""
        half = 0.5 * (right - left)
        times = (0.5 * (left + right))[:, None] + half[:, None] * _POINTS
        columns = [np.ones_like(times)]
        for function, name in zip(self.functions, self.names, strict=True):
            values = function(times)
            if not np.isfinite(values).all():
                time = times.flat[int(np.argmin(np.isfinite(values)))]
                raise OptionError(f"the function {name!r} is not finite at time {time:g}; change --scale")
            columns.append(values)
        return np.asarray(np.stack(columns, axis=-1) * np.sqrt(half[:, None] * _WEIGHTS)[:, :, None])

    def _direct(self, first: int, last: int, begin: float, end: float) -> Floats:
        """Return the factor of steps ``first`` to ``last - 1`` cut to [begin, end]."""
        triangle = np.zeros(self.nodes.shape[1:])
        left = np.maximum(self.edges[first:last], begin)
        right = np.minimum(self.edges[first + 1 : last + 1], end)
        wide = right > left
        if wide.any():
            absorb(triangle, self._rows(left[wide], right[wide], self.heights[first:last][wide])[0])
        return triangle

    def reach(self, begin: float, step: int, limit: float, degree: int) -> Reach:
        """Return the longest phase from ``begin`` (in ``step``) whose squared error is at most ``limit``."""
        updates = 1
        first, last = step, min((step // BLOCK + 1) * BLOCK, self.n_steps)
        summary = np.zeros(self.nodes.shape[1:])
        block_summary = self._direct(first, last, begin, self.edges[last])
        if self.error(block_summary, degree) <= limit:
            summary = block_summary
            i = self.n_leaves + step // BLOCK + 1
            if last == self.n_steps:
                return Reach(self.duration, self.n_steps - 1, summary, updates)
            while True:
                while i % 2 == 0:
                    i //= 2
                joined = stack(summary, self.nodes[i])
                updates += 1
                if self.error(joined, degree) > limit:
                    break
                summary = joined
                i += 1
                if i & (i - 1) == 0:  # one past the right end of the tree
                    return Reach(self.duration, self.n_steps - 1, summary, updates)
            while i < self.n_leaves:
                i *= 2
                joined = stack(summary, self.nodes[i])
                updates += 1
                if self.error(joined, degree) <= limit:
                    summary = joined
                    i += 1
            first = (i - self.n_leaves) * BLOCK
            if first >= self.n_steps:  # the parent failed only by the rounding of a different order of joins
                return Reach(self.duration, self.n_steps - 1, summary, updates)
            last = min(first + BLOCK, self.n_steps)
            begin = float(self.edges[first])
        while last - first > 1:
            middle = (first + last) // 2
            joined = stack(summary, self._direct(first, middle, begin, self.edges[middle]))
            updates += 1
            if self.error(joined, degree) <= limit:
                summary, first, begin = joined, middle, float(self.edges[middle])
            else:
                last = middle

        def excess(part: float) -> float:
            nonlocal updates
            updates += 1
            joined = stack(summary, self._direct(first, first + 1, begin, begin + part))
            # Just below zero counts as below, so that the bracket's lower end keeps the limit.
            return self.error(joined, degree) - limit

        width = float(self.edges[first + 1]) - begin
        f_lower, f_upper = self.error(summary, degree) - limit, excess(width)
        part = width
        if f_lower >= 0.0:
            part = 0.0
        elif f_upper > 0.0:
            part, _ = bracket_root(excess, 0.0, f_lower, width, f_upper, 1e-13 * width)
        summary = stack(summary, self._direct(first, first + 1, begin, begin + part))
        return Reach(begin + part, first, summary, updates)

    def _summary(self, begin: float, first: int, end: float, last: int) -> Any:
        """Return the factor of [begin, end], from one step to another."""
        left_block, right_block = first // BLOCK, last // BLOCK
        if left_block == right_block:
            return self._direct(first, last + 1, begin, end)
        border = (left_block + 1) * BLOCK
        summary = self._direct(first, border, begin, self.edges[border])
        i, k = self.n_leaves + left_block + 1, self.n_leaves + right_block
        while i < k:
            if i % 2 == 1:
                summary = stack(summary, self.nodes[i])
                i += 1
            if k % 2 == 1:
                k -= 1
                summary = stack(summary, self.nodes[k])
            i //= 2
            k //= 2
        border = right_block * BLOCK
        return stack(summary, self._direct(border, last + 1, self.edges[border], end))

    def error(self, summary: Any, degree: int) -> float:
        """Return the squared error of the best combination; columns that are noise on the interval do not count."""
        return float(summary[-1, -1]) ** 2 + sum(float(summary[i, -1]) ** 2 for i in _dependent(summary))

    def coefficients(self, summary: Floats) -> Floats:
        """Return coefficients of the constant and of each function; 0 for columns that are noise on the interval."""
        n = summary.shape[0] - 1
        use = [i for i in range(n) if i not in _dependent(summary)]
        solution = np.zeros(n)
        if use:
            solution[use] = np.linalg.solve(summary[np.ix_(use, use)], summary[use, -1])
        solution[0] += self.origin
        return solution


def _dependent(triangle: Floats) -> list[int]:
    n = triangle.shape[0] - 1
    return [i for i in range(n) if abs(triangle[i, i]) <= _DEPENDENT * float(np.linalg.norm(triangle[: i + 1, i]))]


def moment_tree(curve: UtilizationCurve, often: bool = False) -> MomentTree:
    """Return the moment tree of a curve; if asked often, as for mixed forms, compiled for short curves, too."""
    kind = MomentTree if curve.n_steps > SHORT or (often and can_compile()) else ShortTree
    kept = _moment_trees.get(curve)
    if type(kept) is not kind:
        kept = _moment_trees[curve] = kind(curve)
    return kept


def error_tree(curve: UtilizationCurve, basis: PhaseBasis) -> MomentTree:
    """Return the tree for a basis; of those of functions the one asked last is kept."""
    if not basis.functions:
        return moment_tree(curve, often=basis.mixed)
    kept = _factor_trees.get(curve)
    if kept is None or kept[0] != basis:
        kept = _factor_trees[curve] = (basis, FactorTree(curve, basis))
    return kept[1]
