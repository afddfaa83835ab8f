"""Quasi-Monte Carlo: scrambled Sobol points through the inputs' quantiles, several times, so that the error is seen.

Sources: A. B. Owen, "Scrambled net variance for integrals of smooth functions", Annals of Statistics 25, 1997, and
"Monte Carlo theory, methods and examples", 2013, section 17.3 (several nets to see the error). Inputs are correlated
by a Gaussian copula, whose parameter is the correlation of the normal scores: R. B. Nelsen, "An Introduction to
Copulas", 2nd edition, 2006, sections 2.3 and 5.1.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr, ndtri

from perf_structural import algebra
from perf_tables import thread_count
from perfcore.base import grouped
from perfcore.base.arrays import Floats
from perfcore.base.errors import DataError, UnknownNameError
from perfcore.stochastic import StochasticValue

_ROUNDING = 1e-9  # by which a smallest eigenvalue of zero may be missed
_MOST_RANGES = 4  # of operands in a message
# Numbers drawn at once; larger nets of many inputs are drawn in pieces to bound the memory.
_MOST_AT_ONCE = 2**20
_DIGITS = 30  # binary ones, of each coordinate of a point
# Few enough that each net stays large, many enough for a standard error that is itself known to a quarter.
FEWEST_NETS = 8
# Default number of points: so many, or of many inputs so many numbers together, of which a second draws as
# many. A sum of hundreds of inputs is not smoother for more: its p95 is known to 0.02 standard deviations.
_POINTS = 100_000
_NUMBERS = 2**24
_FEWEST_POINTS = 1024
_MOST_INPUTS = 21_201  # dimensions of scipy's Sobol points


def correlated_pairs(
    correlations: Mapping[str, float], copies: Mapping[str, Mapping[algebra.Place, str]]
) -> dict[algebra.Pair, float]:
    """Return correlations of names as correlations of quantities."""
    coefficients = {}
    known: dict[str, Mapping[algebra.Place, str]] = {
        leaf: {(): leaf} for cells in copies.values() for leaf in cells.values()
    }
    known.update(copies)
    for key, value in correlations.items():
        names = _names(key)
        if not -1.0 <= value <= 1.0:
            raise DataError(f"{key!r} is {value}; between -1 and 1 is expected")
        for name in names:
            if name not in known:
                raise UnknownNameError("uncertain input", name, known)
        for pair in _pairs(key, known[names[0]], known[names[1]]):
            coefficients[pair] = value
    return coefficients


def _names(key: str) -> tuple[str, str]:
    """Return the two names; a comma within brackets counts copies and separates nothing."""
    for index, character in enumerate(key):
        if character == "," and key[:index].count("[") == key[:index].count("]"):
            return key[:index].strip(), key[index + 1 :].strip()
    raise DataError(f"{key!r}: two inputs with a comma between them are expected, such as 'load,delay'")


def _pairs(key: str, first: Mapping[algebra.Place, str], second: Mapping[algebra.Place, str]) -> Iterable[algebra.Pair]:
    if first == second:
        if len(first) == 1:
            raise DataError(f"{key!r}: a quantity is always correlated with itself")
        return [frozenset(pair) for pair in itertools.combinations(first.values(), 2)]
    if set(first) == set(second):
        return [frozenset((first[place], second[place])) for place in first]
    if len(first) == 1 or len(second) == 1:
        return [frozenset(pair) for pair in itertools.product(first.values(), second.values())]
    raise DataError(f"{key!r}: {len(first)} copies and {len(second)} have no places in common; name single copies")


def factor_of(names: Sequence[str], pairs: Mapping[algebra.Pair, float]) -> npt.NDArray[np.float64]:
    """Return a matrix that makes independent normal scores correlated."""
    matrix = np.eye(len(names))
    for i, j in itertools.combinations(range(len(names)), 2):
        matrix[i, j] = matrix[j, i] = pairs.get(frozenset((names[i], names[j])), 0.0)
    try:
        return np.asarray(np.linalg.cholesky(matrix), dtype=np.float64)
    except np.linalg.LinAlgError:
        # Perfect dependence is allowed, and makes the matrix singular.
        values, vectors = np.linalg.eigh(matrix)
    if values[0] < -_ROUNDING * len(names):
        raise DataError(
            f"the correlations of {', '.join(names[:8])} contradict one another: their matrix has the eigenvalue "
            f"{values[0]:.3g}; what is not given counts as 0"
        )
    factor: npt.NDArray[np.float64] = vectors * np.sqrt(np.maximum(values, 0.0))
    return factor


@dataclass
class _Crossing:
    """What a divisor was: how often below zero, zero and above, and between what."""

    below: int = 0
    zero: int = 0
    above: int = 0
    low: float = math.inf
    high: float = -math.inf

    def add(self, values: Floats) -> None:
        self.below += int(np.count_nonzero(values < 0.0))
        self.zero += int(np.count_nonzero(values == 0.0))
        self.above += int(np.count_nonzero(values > 0.0))
        self.low = min(self.low, values.min(initial=math.inf))
        self.high = max(self.high, values.max(initial=-math.inf))

    @property
    def both(self) -> bool:
        """Whether there are values on both sides."""
        return self.below > 0 and self.above > 0

    def share(self, count: int) -> float:
        """Return the share of so many values among all."""
        return count / (self.below + self.zero + self.above)


class PointwiseEvaluation:
    """Evaluates an expression at many points, and remembers which divisors came to both sides of zero."""

    def __init__(self, root: algebra.Expression, supports: Mapping[str, tuple[float, float]]) -> None:
        self.root, self.supports = root, supports
        self.nodes = algebra.ordered(root)
        last = {operand: node for node in self.nodes for operand in node.operands}
        self.released = grouped((node, operand) for operand, node in last.items())
        self.crossings: dict[algebra.Expression, _Crossing] = {}
        always = {root}
        for node in reversed(self.nodes):
            if node in always:
                is_branching = isinstance(node, algebra.Call) and node.ufunc == "where"
                always.update(node.operands[:1] if is_branching else node.operands)
        # Nodes that count only where an `if` chooses them, so that they may be undefined elsewhere.
        self.branches = frozenset(self.nodes) - always

    def values_at(self, quantities: Mapping[str, Floats]) -> Floats:
        """Return the expression at each point."""
        node_values: dict[algebra.Expression, Floats] = {}
        with np.errstate(all="ignore"):
            for node in self.nodes:
                node_values[node] = self._value(node, [node_values[operand] for operand in node.operands], quantities)
                for operand in self.released.get(node, ()):
                    del node_values[operand]
        size = len(next(iter(quantities.values()))) if quantities else 1
        return np.broadcast_to(node_values[self.root], (size,))

    def _value(self, node: algebra.Expression, operands: Sequence[Floats], quantities: Mapping[str, Floats]) -> Floats:
        match node:
            case algebra.Constant():
                return np.asarray(node.value)
            case algebra.Leaf():
                return quantities[node.name]
            case algebra.Sum():
                total = node.weights[0] * operands[0] + node.constant
                for weight, operand in zip(node.weights[1:], operands[1:], strict=True):
                    total += operand if weight == 1.0 else weight * operand
                return self._defined(node, total, operands)
            case algebra.Product():
                return self._product(node, operands)
            case algebra.Extremum():
                choose = np.maximum if node.largest else np.minimum
                best = operands[0]
                for operand in operands[1:]:
                    best = choose(best, operand)
                return best
            case algebra.Call():
                try:
                    called = algebra.compute(node.ufunc, *operands)
                except DataError as error:
                    raise DataError(f"{algebra.shown(node)}: {error}") from None
                return self._defined(node, called, operands)
        raise TypeError(node)

    def _product(self, node: algebra.Product, operands: Sequence[Floats]) -> Floats:
        """Whole powers, multiplied; what has a negative power is a divisor."""
        result: Floats = np.asarray(node.factor)
        for expression, operand, power in zip(node.operands, operands, node.powers, strict=True):
            if power < 0:
                divisor = operand if node in self.branches else self._watched_divisor(expression, operand)
                result = result / (divisor if power == -1 else divisor**-power)
            else:
                result = result * (operand if power == 1 else operand**power)
        return self._defined(node, result, operands)

    def _watched_divisor(self, divisor: algebra.Expression, values: Floats) -> Floats:
        """Refuse a bounded divisor that comes to both sides of zero; count how often an unbounded one does."""
        crossing, names = self.crossings.setdefault(divisor, _Crossing()), algebra.leaves(divisor)
        crossing.add(values)
        if isinstance(divisor, algebra.Leaf):
            # Points come close to zero without meeting it; the bounds are known.
            crossing.add(np.array([end for end in self.supports[divisor.name] if math.isfinite(end)]))
        ends = [end for name in names for end in self.supports[name]]
        if (values == 0.0).any() or (crossing.both and all(map(math.isfinite, ends))):
            beyond = crossing.share(min(crossing.below, crossing.above) + crossing.zero)
            share = f"for {100.0 * beyond:.2g}% of {names[0]}" if len(names) == 1 else f"with probability {beyond:.2g}"
            raise DataError(
                f"the divisor {algebra.shown(divisor)} can be zero: it was {crossing.low:.4g} to {crossing.high:.4g}, "
                f"0 or beyond {share}; {self._fix_of(divisor, crossing)}"
            )
        return values

    def _fix_of(self, divisor: algebra.Expression, crossing: _Crossing) -> str:
        """Return what keeps a divisor on the side of zero where it is most often."""
        names = algebra.leaves(divisor)
        is_sum = isinstance(divisor, algebra.Sum) and len(names) == len(divisor.operands) == 1
        if not isinstance(divisor, algebra.Leaf) and not (is_sum and isinstance(divisor.operands[0], algebra.Leaf)):
            return f"--support LOW,HIGH keeps {' and '.join(names)} where it is not"
        weight, root = 1.0, 0.0
        if isinstance(divisor, algebra.Sum):
            weight, root = divisor.weights[0], -divisor.constant / divisor.weights[0]
        low, high = self.supports[names[0]]
        is_above = (crossing.above >= crossing.below) == (weight > 0.0)  # the quantity, of its root
        ends = (root, high) if is_above else (min(low, 0.0), root)
        return f"--support {ends[0]:.4g},{ends[1]:.4g} leaves these out"

    def _defined(self, node: algebra.Expression, result: Floats, operands: Sequence[Floats]) -> Floats:
        """Return the result, unless an operation is not defined at some point."""
        if node in self.branches or np.isfinite(result).all():
            return result
        ranges = ", ".join(f"{operand.min():.4g} to {operand.max():.4g}" for operand in operands[:_MOST_RANGES])
        ranges += ", ..." if len(operands) > _MOST_RANGES else ""
        raise DataError(f"{algebra.shown(node)} is not defined everywhere: its operands were {ranges}")

    @property
    def reaches_zero(self) -> bool:
        """Whether a divisor came to zero or beyond."""
        return any(crossing.both or crossing.zero > 0 for crossing in self.crossings.values())

    def notes(self) -> tuple[str, ...]:
        """Return a warning about each divisor that reaches zero."""
        notes = []
        for divisor, crossing in self.crossings.items():
            named = f"the divisor {algebra.shown(divisor)}"
            if crossing.both:
                share = crossing.share(min(crossing.below, crossing.above))
                notes.append(
                    f"{named} is beyond zero with probability {share:.2g}: go by the quantiles; unless it keeps away "
                    "from zero, there is no mean and no standard deviation"
                )
            elif crossing.zero:
                notes.append(f"{named} comes down to zero: the result has quantiles, but perhaps no mean")
        return tuple(notes)


# One scrambled net, shifted again by digits for each of several (P. L'Ecuyer and C. Lemieux, "Recent Advances in
# Randomized Quasi-Monte Carlo Methods", 2002, section 4): as independent as scrambled again, in a fraction of the time.


@dataclass(frozen=True)
class Formula:
    """An expression, and the quantities that its leaves stand for."""

    root: algebra.Expression
    values: Mapping[str, StochasticValue]  # at least the expression's leaves
    correlations: Mapping[algebra.Pair, float]  # of leaves
    keys: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def supports(self) -> dict[str, tuple[float, float]]:
        """Smallest and largest value of each leaf."""
        return {leaf: self.values[leaf].support for leaf in algebra.leaves(self.root)}

    def key(self, leaf: str) -> str:
        """Return the quantity that a leaf stands for."""
        return self.keys.get(leaf, leaf)


@dataclass(frozen=True)
class Sample:
    """Values of an expression."""

    values: Floats  # in the order of the points, a row for each net
    notes: tuple[str, ...]
    reaches_zero: bool = False  # whether a divisor comes down to zero or beyond, so that there may be no mean


def draw(formulas: Sequence[Formula], samples: int | None, seed: int) -> list[Sample]:
    """Values of formulas at the same points, which fill the space of all their inputs evenly; a row for each net.

    As many points are drawn as are asked for, or somewhat more.
    """
    keys = list(dict.fromkeys(formula.key(leaf) for formula in formulas for leaf in formula.supports))
    if len(keys) > _MOST_INPUTS:
        raise DataError(f"{len(keys):,} uncertain inputs; sampling takes at most {_MOST_INPUTS:,}")
    samples = points_for(samples, len(keys))
    size = 2 ** int(math.log2(samples / FEWEST_NETS))
    n_nets = math.ceil(samples / size)
    pairs = ((f, pair, value) for f in formulas for pair, value in f.correlations.items() if pair <= f.values.keys())
    present = {frozenset(map(formula.key, pair)): value for formula, pair, value in pairs}
    present = {pair: value for pair, value in present.items() if pair <= set(keys)}
    correlated = [k for k, key in enumerate(keys) if any(key in pair for pair in present)]
    factor = factor_of([keys[k] for k in correlated], present)
    place = {key: row for row, key in enumerate(keys)}
    results = [(each, PointwiseEvaluation(each.root, each.supports), np.empty((n_nets, size))) for each in formulas]
    rng = np.random.default_rng(seed)
    shifts = rng.integers(2**_DIGITS, size=(n_nets, len(keys), 1), dtype=np.uint32)
    offset = 0
    for digits in _net(len(keys), size, rng):
        for row, shift in enumerate(shifts):
            # The points are multiples of 2^-30 and begin at 0, where a normal has its -infinity.
            uniforms = np.multiply(digits ^ shift, 2.0**-_DIGITS)
            uniforms += 2.0 ** -(_DIGITS + 1)
            if correlated:  # what rounding takes to 0 or 1 would be infinite as a normal
                scores = ndtr(factor @ ndtri(uniforms[correlated]))
                uniforms[correlated] = np.clip(scores, np.finfo(np.float64).tiny, 1.0 - 2.0**-53)
            for formula, pointwise, rows in results:
                levels = {leaf: uniforms[place[formula.key(leaf)]] for leaf in formula.supports}
                quantities = {leaf: np.asarray(formula.values[leaf].quantile(q)) for leaf, q in levels.items()}
                rows[row, offset : offset + digits.shape[1]] = pointwise.values_at(quantities)
        offset += digits.shape[1]
    return [Sample(rows, pointwise.notes(), pointwise.reaches_zero) for _, pointwise, rows in results]


def _net(dimensions: int, size: int, rng: np.random.Generator) -> Iterator[npt.NDArray[np.uint32]]:
    """Yield the binary digits of a scrambled net in pieces (dimensions, points of the piece)."""
    from scipy.stats import qmc  # half a second that exact arithmetic does not need

    engine = qmc.Sobol(dimensions, scramble=True, bits=_DIGITS, rng=rng)
    piece = size
    while piece > 1 and piece * dimensions > _MOST_AT_ONCE:
        piece //= 2
    for _ in range(size // piece):
        yield np.ascontiguousarray((engine.random(piece) * 2.0**_DIGITS).astype(np.uint32).T)


def sort_at_once(arrays: Sequence[Floats]) -> None:
    """Sort each in place, by threads; what consists of sorted stretches is merged."""
    with ThreadPoolExecutor(thread_count(len(arrays))) as threads:
        list(threads.map(lambda array: array.sort(kind="stable"), arrays))


def points_for(samples: int | None, inputs: int) -> int:
    """Return how many points are drawn: those asked for, or as many as so many inputs can have in a second."""
    if samples is not None:
        return samples
    most = 1 << int(math.log2(_NUMBERS / max(inputs, 1)))
    return max(min(_POINTS, most), _FEWEST_POINTS)
