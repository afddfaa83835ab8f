"""A whole formula as a graph in which equal parts are the same node.

A quantity that a formula uses twice is one quantity. Evaluating ``x - x`` from two
independent values gets a spread where there is none. So formulas are built by an `Algebra`, which collects sums and
products while it builds: ``x - x`` is 0, ``x*x`` is ``x^2``, ``x/x`` is 1, ``max(x, x)`` is ``x``; and it gives the
same node for the same expression (hash-consing), so that repeated nodes can be counted.

Only what holds for every value is used: roots are not squared away, since a root refuses negative values.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt
from scipy.special import betainc, cbrt

from perf_formulas.parser import FUNCTIONS, INFIX, OR, PREFIX, QUANTILE, Limits, Node, Parser, Rule
from perfcore.base.arrays import Floats
from perfcore.base.errors import DataError

Place = tuple[int, ...]  # of a copy along the indices over which a quantity is replicated, from 0
Pair = frozenset[str]  # names of two correlated quantities
MAX_NODES = 200_000  # some 200 MB; 1,000 processors over 100 iterations stay below
_COMPARISONS = frozenset(rule.ufunc for symbol, rule in INFIX.items() if symbol[0] in "<>=!")

_REACH = 7.0  # standard deviations around a share, beyond which the share in a step never is
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(16)  # leave 0.6 % at most of 4 workers, 3 % of 8
_ROUNDS = 40  # of the secant rule for T, at most; 3 to 5 do for 2 to 8 workers
_NEAR = 1e-3  # of log T
_AT_ONCE = 1 << 13
_SMALL = 1e-4  # times in units of the correlation's: there the closed form is all rounding
_LEVEL = FUNCTIONS["max"].level
_SHARE = "share of a processor"
# An equation of a thousand terms is written by a program and is meant; ten thousand take a second.
LIMITS = Limits(length=100_000, nodes=10_000)
# The fewest and the most arguments of each function.
_ARGUMENTS: Mapping[str, tuple[int, int | None]] = {
    **dict.fromkeys(("sum_over", "mean_over", "max_over", "min_over"), (1, 2)),
    "k_th": (3, None),
    **dict.fromkeys(("k_th_over", QUANTILE), (2, 2)),
    "barrier_over": (2, 2),
    "grained_barrier_over": (3, 3),
    "pipeline_over": (2, 2),
}
EQUATION_FUNCTIONS: Mapping[str, Rule] = FUNCTIONS | {
    name: Rule(name, name, _LEVEL, (OR,) * fewest, most) for name, (fewest, most) in _ARGUMENTS.items()
}
# Place of the replicated argument of each function that takes its copies.
OVER_COPIES: Mapping[str, int] = {name: int(name == "k_th_over") for name in _ARGUMENTS if name.endswith("_over")}
_RULES = [pair for table in (INFIX, PREFIX, EQUATION_FUNCTIONS) for pair in table.items()]
SYMBOLS = {rule.ufunc: symbol for symbol, rule in _RULES if symbol != "**"}


@dataclass(frozen=True, eq=False, slots=True)
class Expression:
    """A node; only an `Algebra` makes one, so that equal expressions of it are identical."""

    number: int  # order of creation; operands have smaller ones
    operands: tuple[Expression, ...]


@dataclass(frozen=True, eq=False, slots=True)
class Constant(Expression):
    """A number."""

    value: float


@dataclass(frozen=True, eq=False, slots=True)
class Leaf(Expression):
    """An uncertain quantity."""

    name: str


@dataclass(frozen=True, eq=False, slots=True)
class Sum(Expression):
    """``constant`` plus each operand times its weight; no operand is a sum or a constant."""

    constant: float
    weights: tuple[float, ...]


@dataclass(frozen=True, eq=False, slots=True)
class Product(Expression):
    """``factor`` times each operand to its whole power; no operand is a product or a constant."""

    factor: float
    powers: tuple[int, ...]


@dataclass(frozen=True, eq=False, slots=True)
class Extremum(Expression):
    """The largest or the smallest operand; at most one operand is a constant."""

    largest: bool


@dataclass(frozen=True, eq=False, slots=True)
class Call(Expression):
    """Any other operation, named by the function that computes it (`perf_structural.algebra.compute`)."""

    ufunc: str


def ordered(root: Expression) -> list[Expression]:
    """Return all nodes below and with ``root``, operands before those that use them."""
    nodes, open_nodes = {root}, [root]
    while open_nodes:
        for operand in open_nodes.pop().operands:
            if operand not in nodes:
                nodes.add(operand)
                open_nodes.append(operand)
    return sorted(nodes, key=lambda node: node.number)


def leaves(root: Expression) -> list[str]:
    """Return names of the uncertain quantities, in order of creation."""
    return [node.name for node in ordered(root) if isinstance(node, Leaf)]


def repeated(root: Expression) -> list[str]:
    """Return names of the uncertain quantities that are reached from the root in more than one way."""
    nodes = ordered(root)
    ways = dict.fromkeys(nodes, 0)
    ways[root] = 1
    for node in reversed(nodes):
        for operand in node.operands:
            ways[operand] = min(ways[operand] + ways[node], 2)
    return [node.name for node in nodes if isinstance(node, Leaf) and ways[node] > 1]


def shown(root: Expression, most: int = 100) -> str:
    """Return the expression as a formula, cut where it would be longer than a line."""
    text = _shown(root, most)
    return text if len(text) <= most else f"{text[:most]}..."


def _shown(node: Expression, most: int) -> str:
    """Written out, and gone into, only as far as it will be seen: a graph may stand for a formula of any length."""
    if most <= 0:
        return "..."
    parts: list[str] = []
    left = most
    for operand in node.operands:
        parts.append(_shown(operand, left - 1))
        left -= len(parts[-1])
        if left <= 0:
            break
    match node:
        case Constant():
            return f"{node.value:g}"
        case Leaf():
            return node.name
        case Sum():
            terms = []
            for weight, part in zip(node.weights, parts, strict=False):
                if abs(weight) == 1.0:
                    terms.append(part if weight > 0.0 else f"-{part}")
                else:
                    terms.append(f"{weight:g}{part[1:]}" if part.startswith("1/") else f"{weight:g}*{part}")
            if node.constant:
                terms.append(f"{node.constant:g}")
            return " + ".join(terms).replace("+ -", "- ")
        case Product():
            above, below = [f"{node.factor:g}"] if node.factor != 1.0 else [], list[str]()
            for operand, part, power in zip(node.operands, parts, node.powers, strict=False):
                base = f"({part})" if isinstance(operand, Sum) else part
                (above if power > 0 else below).append(base if abs(power) == 1 else f"{base}^{abs(power)}")
            return "/".join(["*".join(above) or "1", *below])
        case Extremum():
            return f"{'max' if node.largest else 'min'}({', '.join(parts)})"
        case Call():
            symbol = SYMBOLS[node.ufunc]
            return f"({f' {symbol} '.join(parts)})" if symbol in INFIX else f"{symbol}({', '.join(parts)})"
    raise TypeError(node)


class Algebra:
    """Makes expressions, simplified."""

    def __init__(self) -> None:
        self._known: dict[Hashable, Expression] = {}
        self._numbers = itertools.count()

    def __len__(self) -> int:
        return len(self._known)

    def _node(self, key: Hashable, make: Callable[[int], Expression]) -> Expression:
        expression = self._known.get(key)
        if expression is None:
            if len(self._known) >= MAX_NODES:
                raise DataError(f"the model has more than {MAX_NODES:,} operations when it is written out")
            expression = self._known[key] = make(next(self._numbers))
        return expression

    def constant(self, value: float) -> Expression:
        if not np.isfinite(value):
            raise DataError(f"a number becomes {value}")
        value = float(value) + 0.0  # -0.0 and 0.0 are one node
        return self._node(("constant", value), lambda number: Constant(number, (), value))

    def leaf(self, name: str) -> Expression:
        return self._node(("leaf", name), lambda number: Leaf(number, (), name))

    def add(self, terms: Iterable[Expression]) -> Expression:
        return self._sum((term, 1.0) for term in terms)

    def scale(self, factor: float, operand: Expression) -> Expression:
        return self._sum([(operand, factor)])

    def _sum(self, terms: Iterable[tuple[Expression, float]]) -> Expression:
        constant, weights = 0.0, dict[Expression, float]()
        for term, weight in terms:
            match term:
                case Constant():
                    constant += weight * term.value
                case Sum():
                    constant += weight * term.constant
                    for operand, inner in zip(term.operands, term.weights, strict=True):
                        weights[operand] = weights.get(operand, 0.0) + weight * inner
                case Product():
                    unscaled = self._product(1.0, dict(zip(term.operands, term.powers, strict=True)))
                    weights[unscaled] = weights.get(unscaled, 0.0) + weight * term.factor
                case _:
                    weights[term] = weights.get(term, 0.0) + weight
        weights = {operand: weight for operand, weight in weights.items() if weight != 0.0}
        if not weights:
            return self.constant(constant)
        if not np.isfinite(constant) or not all(map(np.isfinite, weights.values())):
            raise DataError("a number is too large")
        if len(weights) == 1 and constant == 0.0:
            ((operand, weight),) = weights.items()
            if weight == 1.0:
                return operand
            powers = {operand: 1}
            if isinstance(operand, Product):
                powers = dict(zip(operand.operands, operand.powers, strict=True))
            return self._product(weight, powers)
        return self._node(
            ("sum", constant, frozenset(weights.items())),
            lambda number: Sum(number, tuple(weights), constant, tuple(weights.values())),
        )

    def product(self, factors: Iterable[tuple[Expression, int]]) -> Expression:
        constant, powers = 1.0, dict[Expression, int]()
        for factor, power in factors:
            match factor:
                case Constant():
                    constant *= self._constant_power(factor.value, power)
                case Product():
                    constant *= self._constant_power(factor.factor, power)
                    for operand, inner in zip(factor.operands, factor.powers, strict=True):
                        powers[operand] = powers.get(operand, 0) + power * inner
                case _:
                    powers[factor] = powers.get(factor, 0) + power
        return self._product(constant, {operand: power for operand, power in powers.items() if power != 0})

    def _constant_power(self, value: float, power: int) -> float:
        if value == 0.0 and power < 0:
            raise DataError("a divisor is zero")
        try:
            return value**power
        except OverflowError:
            raise DataError(f"{value:g}^{power} is too large") from None

    def _product(self, factor: float, powers: Mapping[Expression, int]) -> Expression:
        if factor == 0.0 or not powers:
            return self.constant(factor)
        if not np.isfinite(factor):
            raise DataError("a number is too large")
        if len(powers) == 1:
            ((operand, power),) = powers.items()
            if power == 1 and factor == 1.0:
                return operand
            if power == 1 and isinstance(operand, Sum):
                return self._sum([(operand, factor)])
        return self._node(
            ("product", factor, frozenset(powers.items())),
            lambda number: Product(number, tuple(powers), factor, tuple(powers.values())),
        )

    def power(self, base: Expression, exponent: Expression) -> Expression:
        """Return a power; one whose exponent is a whole number joins the products."""
        if isinstance(exponent, Constant):
            if exponent.value.is_integer() and abs(exponent.value) <= 2**31:
                return self.product([(base, int(exponent.value))])
            if exponent.value == 0.5:
                return self.call("sqrt", [base])
        elif isinstance(base, Constant) and base.value > 0.0:
            return self.call("exp", [self.scale(float(np.log(base.value)), exponent)])
        return self.call("power", [base, exponent])

    def extremum(self, largest: bool, operands: Iterable[Expression]) -> Expression:
        """Return the largest or the smallest of some; by the lattice laws ``max(x, min(x, y))`` is ``x``."""
        members = dict[Expression, None]()
        numbers = []
        for operand in operands:
            inner = operand.operands if isinstance(operand, Extremum) and operand.largest == largest else (operand,)
            for member in inner:
                if isinstance(member, Constant):
                    numbers.append(member.value)
                else:
                    members[member] = None
        of_members = {m for m in members if isinstance(m, Extremum) and any(each in members for each in m.operands)}
        kept = [member for member in members if member not in of_members]
        if numbers:
            kept.append(self.constant(max(numbers) if largest else min(numbers)))
        if len(kept) == 1:
            return kept[0]
        return self._node(("extremum", largest, frozenset(kept)), lambda number: Extremum(number, tuple(kept), largest))

    def call(self, ufunc: str, operands: Iterable[Expression]) -> Expression:
        arguments = tuple(operands)
        if ufunc == "where" and isinstance(arguments[0], Constant):
            return arguments[1] if arguments[0].value != 0.0 else arguments[2]
        same = ufunc in _COMPARISONS and len(set(arguments)) == 1
        if ufunc != QUANTILE and (same or all(isinstance(argument, Constant) for argument in arguments)):
            numbers = [argument.value if isinstance(argument, Constant) else 0.0 for argument in arguments]
            with np.errstate(all="ignore"):
                value = float(compute(ufunc, *numbers))
            if not np.isfinite(value):
                shown_numbers = ", ".join(f"{number:g}" for number in numbers)
                raise DataError(f"{SYMBOLS[ufunc]}({shown_numbers}) is {value}")
            return self.constant(value)
        if ufunc in {"log2", "log10"}:
            return self.scale(1.0 / float(np.log(float(ufunc[3:]))), self.call("log", arguments))
        return self._node(("call", ufunc, arguments), lambda number: Call(number, arguments, ufunc))


def as_integer(name: str, numbers: npt.ArrayLike, least: int, most: float) -> Floats:
    """Return numbers rounded to whole ones."""
    return checked(name, np.rint(np.asarray(numbers, dtype=np.float64)), least, most)


def checked(name: str, numbers: npt.ArrayLike, least: float, most: float = np.inf) -> Floats:
    """Return numbers that are none less than the least, and none more than the most that is accepted."""
    values = np.asarray(numbers, dtype=np.float64)
    if not np.all((values >= least) & (values <= most)):  # NaN is neither
        low, high = float(values.min()), float(values.max())
        span = f"{low:.4g}" if low == high else f"{low:.4g} to {high:.4g}"
        accepted = f"at least {least:.0f}" if most == np.inf else f"{least:.0f} to {most:.0f}"
        raise DataError(f"the {name} came to {span}; {accepted} is accepted")
    return values


def sum_of_first(*arguments: npt.ArrayLike) -> Floats:
    """Return the sum of the first copies; the last argument says of how many, 0 to all."""
    *values, count = arguments
    number = as_integer("number of copies", count, 0, len(values))
    total: Floats = np.zeros(())
    for place, value in enumerate(values, start=1):
        total = total + np.where(place <= number, value, 0.0)
    return total


def extreme_of_first(choose: np.ufunc, *arguments: npt.ArrayLike) -> Floats:
    """Return the largest or smallest of the first copies, 1 to all; arguments as of `sum_of_first`."""
    *values, count = arguments
    number = as_integer("number of copies", count, 1, len(values))
    best = np.asarray(values[0], dtype=np.float64)
    for place, value in enumerate(values[1:], start=2):
        best = np.where(place <= number, choose(best, value), best)
    return best


def kth_smallest(k: npt.ArrayLike, *values: npt.ArrayLike) -> Floats:
    """Return the k-th smallest of some: 2 of 3 answers are there after the second."""
    place, *spread = np.broadcast_arrays(as_integer("place", k, 1, len(values)), *values)
    return np.asarray(np.take_along_axis(np.sort(spread, axis=0), place[None].astype(int) - 1, axis=0)[0])


# A line of stages with room for a few items between each two of them (blocking after service): J. A. Buzacott and
# J. G. Shanthikumar, "Stochastic Models of Manufacturing Systems", 1993, section 5.2.


def pipeline_time(*arguments: npt.ArrayLike) -> Floats:
    """Return the time until the last item has left the last stage; the first stage never waits for items."""
    *times, room, stages = arguments
    depth = int(np.asarray(stages))
    spread = np.broadcast_arrays(as_integer("room between two stages", room, 0, np.inf), *times)
    capacity, items = spread[0], [spread[1 + first : 1 + first + depth] for first in range(0, len(times), depth)]
    if any(np.any(time < 0.0) for time in spread[1:]):
        raise DataError("a time of a stage came to less than 0")
    # Times at which the earlier items left each stage, the first of them first; before it was anybody it was free.
    left = np.zeros((len(items) + 1, depth, *capacity.shape))
    for number, item in enumerate(items, start=1):
        # Item j leaves once item j - room - 1 has left the next stage.
        before = np.clip(number - 1.0 - capacity, 0, number)[None].astype(int)
        arrived = np.zeros(capacity.shape)
        for stage, time in enumerate(item):
            arrived = np.maximum(arrived, left[number - 1, stage]) + time
            if stage + 1 < depth:
                arrived = np.maximum(arrived, np.take_along_axis(left[:number, stage + 1], before, axis=0)[0])
            left[number, stage] = arrived
    return np.asarray(left[-1, -1], dtype=np.float64)


# What barriers leave of the progress of workers that share their processors with others.
#
# Source: D. G. Feitelson and L. Rudolph, "Gang scheduling performance benefits for fine-grain synchronization", Journal
# of Parallel and Distributed Computing 16, 1992, for both ends: without a grain workers progress only while all of them
# run, with a large one as fast as the slowest. What lies between is ours. Each processor goes back and forth between
# the worker and others for exponential times, the shorter of which is a slice on average. In a time T worker i has its
# processor for a share A_i of mean a_i and variance
#
#     a_i (1 - a_i) 2/u (1 - (1 - exp(-u))/u),   u = T/t_i,   1/t_i = 1/(mean time had) + 1/(mean time waited),
#
# taken as a beta distribution. Together they progress by p = E[min A_i] in the T = grain/p of a step.


def barrier_progress(*arguments: npt.ArrayLike) -> Floats:
    """Return the share of full speed of workers that meet at barriers, of their shares of their processors."""
    *shares, last = arguments
    exponent = checked("exponent", last, 0.0, 1.0)
    spread = np.array(np.broadcast_arrays(*(checked(_SHARE, share, 0.0, 1.0) for share in shares)))
    slowest = spread.min(axis=0)
    with np.errstate(all="ignore"):
        others = np.where(slowest > 0.0, spread.prod(axis=0) / slowest, 1.0)
    return np.asarray(slowest * others**exponent)


def grained_progress(*arguments: npt.ArrayLike) -> Floats:
    """Return the share of full speed of workers that meet at a barrier after each so much computing."""
    *shares, grain, length = arguments
    time_slice = checked("slice", length, 0.0)
    if not np.all(time_slice > 0.0):
        raise DataError("the slice came to 0; more than 0 is accepted")
    each_checked = (checked(_SHARE, share, 0.0, 1.0) for share in shares)
    spread = np.broadcast_arrays(checked("grain", grain, 0.0) / time_slice, *each_checked)
    shape = spread[0].shape
    slices, each = spread[0].ravel(), np.array([share.ravel() for share in spread[1:]])
    if slices.size > 1 and not np.ptp(slices) and not np.ptp(each, axis=1).any():
        return np.full(shape, _progress(each[:, :1], slices[:1]))
    parts = [
        _progress(each[:, first : first + _AT_ONCE], slices[first : first + _AT_ONCE])
        for first in range(0, slices.size, _AT_ONCE)
    ]
    return np.concatenate(parts).reshape(shape)


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


# Each takes the values of its arguments, copies spread out, at the same points.
COMPUTED: Mapping[str, Callable[..., Floats]] = {
    "cbrt": cbrt,  # whole for whole cubes, which numpy's is on some machines only
    "where": np.where,
    "sum_over": sum_of_first,
    "mean_over": lambda *args: sum_of_first(*args) / as_integer("number of copies", args[-1], 1, len(args) - 1),
    "max_over": partial(extreme_of_first, np.maximum),
    "min_over": partial(extreme_of_first, np.minimum),
    "k_th": kth_smallest,
    "barrier_over": barrier_progress,
    "grained_barrier_over": grained_progress,
    "pipeline_over": pipeline_time,
}


def compute(name: str, *operands: npt.ArrayLike) -> Floats:
    """Return a function of arrays by its name: one of equations, else numpy's."""
    function = COMPUTED.get(name) or getattr(np, name)
    with np.errstate(all="ignore"):
        return np.asarray(function(*operands), dtype=np.float64)


def parsed(text: str) -> Node:
    """Return the tree of an equation: a formula that may also call what only equations have, such as ``max_over``."""
    return Parser(text.strip(), EQUATION_FUNCTIONS, LIMITS).formula()
