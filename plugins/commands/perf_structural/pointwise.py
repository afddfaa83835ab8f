"""An expression at many points at once."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from perf_structural.algebra import Call, Constant, Expression, Extremum, Leaf, Product, Sum, leaves, ordered, shown
from perf_structural.functions import compute
from perfcore.base.arrays import Floats
from perfcore.base.errors import DataError

_MOST_RANGES = 4  # of operands in a message


@dataclass
class _Crossing:
    """What a divisor was: how often below zero, zero and above, and between what."""

    below: int = 0
    zero: int = 0
    above: int = 0
    low: float = math.inf
    high: float = -math.inf

    def add(self, values: Floats) -> None:
        """Look at further values."""
        below, zero, above = (int(np.count_nonzero(where)) for where in (values < 0.0, values == 0.0, values > 0.0))
        self.below, self.zero, self.above = self.below + below, self.zero + zero, self.above + above
        self.low = min(self.low, values.min(initial=math.inf))
        self.high = max(self.high, values.max(initial=-math.inf))

    @property
    def beyond(self) -> float:
        """Share of the values on the side of zero where fewer are."""
        return min(self.below, self.above) / (self.below + self.zero + self.above)

    @property
    def both(self) -> bool:
        """Whether there are values on both sides."""
        return self.below > 0 and self.above > 0

    def note(self, divisor: str) -> str:
        """A warning about it; empty where it stays away from zero."""
        if self.both:
            return (
                f"the divisor {divisor} is beyond zero with probability {self.beyond:.2g}: "
                "go by the quantiles; unless it keeps away from zero, there is no mean and no standard deviation"
            )
        if self.zero:
            return f"the divisor {divisor} comes down to zero: the result has quantiles, but perhaps no mean"
        return ""


class PointwiseEvaluation:
    """Evaluates an expression at many points, and remembers which divisors came to both sides of zero."""

    def __init__(self, root: Expression, supports: Mapping[str, tuple[float, float]]) -> None:
        self.root, self.supports = root, supports
        self.nodes = ordered(root)
        last = {operand: node for node in self.nodes for operand in node.operands}
        self.released: dict[Expression, list[Expression]] = {}
        for operand, node in last.items():
            self.released.setdefault(node, []).append(operand)
        self.crossings: dict[Expression, _Crossing] = {}
        self.branches = _only_in_branches(root, self.nodes)

    def values_at(self, quantities: Mapping[str, Floats]) -> Floats:
        """The expression at each point."""
        node_values: dict[Expression, Floats] = {}
        with np.errstate(all="ignore"):
            for node in self.nodes:
                node_values[node] = self._value(node, [node_values[operand] for operand in node.operands], quantities)
                for operand in self.released.get(node, ()):
                    del node_values[operand]
        size = len(next(iter(quantities.values()))) if quantities else 1
        return np.broadcast_to(node_values[self.root], (size,))

    def _value(self, node: Expression, operands: Sequence[Floats], quantities: Mapping[str, Floats]) -> Floats:
        match node:
            case Constant():
                return np.asarray(node.value)
            case Leaf():
                return quantities[node.name]
            case Sum():
                total = node.weights[0] * operands[0] + node.constant
                for weight, operand in zip(node.weights[1:], operands[1:], strict=True):
                    total += operand if weight == 1.0 else weight * operand
                return self._defined(node, total, operands)
            case Product():
                return self._product(node, operands)
            case Extremum():
                choose = np.maximum if node.largest else np.minimum
                best = operands[0]
                for operand in operands[1:]:
                    best = choose(best, operand)
                return best
            case Call():
                return self._defined(node, self._called(node, operands), operands)
        raise TypeError(node)

    def _product(self, node: Product, operands: Sequence[Floats]) -> Floats:
        """Whole powers, multiplied; what has a negative power is a divisor."""
        result: Floats = np.asarray(node.factor)
        for expression, operand, power in zip(node.operands, operands, node.powers, strict=True):
            if power < 0:
                divisor = operand if node in self.branches else self._watched_divisor(expression, operand)
                result = result / (divisor if power == -1 else divisor**-power)
            else:
                result = result * (operand if power == 1 else operand**power)
        return self._defined(node, result, operands)

    def _called(self, node: Call, operands: Sequence[Floats]) -> Floats:
        """A function of arrays; its errors name the call."""
        try:
            return compute(node.ufunc, *operands)
        except DataError as error:
            raise DataError(f"{shown(node)}: {error}") from None

    def _watched_divisor(self, divisor: Expression, values: Floats) -> Floats:
        """Refuse a bounded divisor that comes to both sides of zero; count how often an unbounded one does."""
        crossing = self.crossings.setdefault(divisor, _Crossing())
        crossing.add(values)
        if isinstance(divisor, Leaf):
            # Points come close to zero without meeting it; the bounds are known.
            crossing.add(np.array([end for end in self.supports[divisor.name] if math.isfinite(end)]))
        if (values == 0.0).any() or (crossing.both and all(map(math.isfinite, self._bounds(divisor)))):
            raise DataError(
                f"the divisor {shown(divisor)} can be zero: it was {crossing.low:.4g} to {crossing.high:.4g}"
            )
        return values

    def _bounds(self, node: Expression) -> list[float]:
        """Ends of the supports of all quantities below a node."""
        return [end for name in leaves(node) for end in self.supports[name]]

    def _defined(self, node: Expression, result: Floats, operands: Sequence[Floats]) -> Floats:
        """The result, unless an operation is not defined at some point."""
        if node in self.branches or np.isfinite(result).all():
            return result
        ranges = ", ".join(f"{operand.min():.4g} to {operand.max():.4g}" for operand in operands[:_MOST_RANGES])
        ranges += ", ..." if len(operands) > _MOST_RANGES else ""
        raise DataError(f"{shown(node)} is not defined everywhere: its operands were {ranges}")

    @property
    def reaches_zero(self) -> bool:
        """Whether a divisor came to zero or beyond."""
        return any(crossing.both or crossing.zero > 0 for crossing in self.crossings.values())

    def notes(self) -> tuple[str, ...]:
        """A warning about divisors that reach zero."""
        return tuple(filter(None, (crossing.note(shown(divisor)) for divisor, crossing in self.crossings.items())))


def _only_in_branches(root: Expression, nodes: Sequence[Expression]) -> frozenset[Expression]:
    """Nodes that count only where an ``if`` chooses them, so that they may be undefined elsewhere."""
    always = {root}
    for node in reversed(nodes):
        if node in always:
            branching = isinstance(node, Call) and node.ufunc == "where"
            always.update(node.operands[:1] if branching else node.operands)
    return frozenset(nodes) - always
