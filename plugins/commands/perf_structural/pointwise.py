"""An expression at many points at once."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from perf_structural.expression import (
    Call,
    Constant,
    Expression,
    Extremum,
    Leaf,
    Product,
    Sum,
    leaves,
    ordered,
    shown,
)
from perfcore.base.errors import DataError

__all__ = ["PointwiseEvaluation"]

Floats = npt.NDArray[np.float64]


@dataclass
class _Crossing:
    """What a divisor was: how often at or below zero and above, and between what."""

    below: int = 0
    above: int = 0
    low: float = math.inf
    high: float = -math.inf

    def add(self, values: Floats) -> None:
        self.below += int(np.count_nonzero(values <= 0.0))
        self.above += int(np.count_nonzero(values >= 0.0))
        self.low, self.high = values.min(initial=self.low), values.max(initial=self.high)

    @property
    def share(self) -> float:
        """Of the points on the side where fewer are."""
        return min(self.below, self.above) / (self.below + self.above)

    @property
    def both(self) -> bool:
        return self.below > 0 and self.above > 0


class PointwiseEvaluation:
    """Evaluates an expression at many points, and remembers which divisors came to both sides of zero.

    Parameters
    ----------
    root : Expression
    supports : mapping of str to (float, float)
        Bounds of each quantity; infinite for one without.

    Examples
    --------
    >>> from perf_structural.algebra import Algebra
    >>> algebra = Algebra()
    >>> x, y = algebra.leaf("x"), algebra.leaf("y")
    >>> ratio = PointwiseEvaluation(algebra.product([(x, 1), (y, -1)]), {"x": (0.0, 9.0), "y": (1.0, 9.0)})
    >>> ratio.values_at({"x": np.array([1.0, 6.0]), "y": np.array([4.0, 2.0])})
    array([0.25, 3.  ])
    """

    def __init__(self, root: Expression, supports: Mapping[str, tuple[float, float]]) -> None:
        self.root, self.supports = root, supports
        self.nodes = ordered(root)
        last = {operand: node for node in self.nodes for operand in node.operands}
        self.released: dict[Expression, list[Expression]] = {}
        for operand, node in last.items():
            self.released.setdefault(node, []).append(operand)
        self.crossings: dict[Expression, _Crossing] = {}

    def values_at(self, quantities: Mapping[str, Floats]) -> Floats:
        """The expression at each point.

        Parameters
        ----------
        quantities : mapping of str to (n,) float

        Returns
        -------
        (n,) float

        Raises
        ------
        DataError
            A bounded divisor came to both sides of zero, also in an earlier call; or an operation is not defined at a
            point, as the logarithm of a negative number.
        """
        found: dict[Expression, Floats] = {}
        with np.errstate(all="ignore"):
            for node in self.nodes:
                found[node] = self._value(node, [found[operand] for operand in node.operands], quantities)
                for operand in self.released.get(node, ()):
                    del found[operand]
        size = len(next(iter(quantities.values()))) if quantities else 1
        return np.broadcast_to(found[self.root], (size,))

    def _value(self, node: Expression, operands: Sequence[Floats], quantities: Mapping[str, Floats]) -> Floats:
        """One node."""
        match node:
            case Constant():
                return np.asarray(node.value)
            case Leaf():
                return quantities[node.name]
            case Sum():
                total = node.weights[0] * operands[0] + node.constant
                for weight, operand in zip(node.weights[1:], operands[1:], strict=True):
                    total += operand if weight == 1.0 else weight * operand
                return total
            case Product():
                return self._product(node, operands)
            case Extremum():
                choose = np.maximum if node.largest else np.minimum
                best = operands[0]
                for operand in operands[1:]:
                    best = choose(best, operand)
                return best
            case Call():
                return self._finite(node, np.asarray(getattr(np, node.ufunc)(*operands), dtype=np.float64), operands)
        raise TypeError(node)

    def _product(self, node: Product, operands: Sequence[Floats]) -> Floats:
        """Whole powers, multiplied; what has a negative power is a divisor."""
        result: Floats = np.asarray(node.factor)
        for expression, operand, power in zip(node.operands, operands, node.powers, strict=True):
            if power < 0:
                self._watch_divisor(expression, operand)
                result = result / (operand if power == -1 else operand**-power)
            else:
                result = result * (operand if power == 1 else operand**power)
        return self._finite(node, result, operands)

    def _watch_divisor(self, divisor: Expression, values: Floats) -> None:
        """Refuse a bounded divisor that comes to both sides of zero; count how often an unbounded one does."""
        seen = self.crossings.setdefault(divisor, _Crossing())
        seen.add(values)
        if isinstance(divisor, Leaf):
            # Points come close to zero without meeting it; the bounds are known.
            seen.add(np.array([end for end in self.supports[divisor.name] if math.isfinite(end)]))
        if seen.both and all(map(math.isfinite, self._bounds(divisor))):
            raise DataError(f"the divisor {shown(divisor)} can be zero: it was {seen.low:.4g} to {seen.high:.4g}")

    def _bounds(self, node: Expression) -> list[float]:
        """Ends of the supports of all quantities below a node."""
        return [end for name in leaves(node) for end in self.supports[name]]

    def _finite(self, node: Expression, result: Floats, operands: Sequence[Floats]) -> Floats:
        """The result, unless an operation is not defined at some point."""
        if np.isfinite(result).all():
            return result
        ranges = ", ".join(f"{operand.min():.4g} to {operand.max():.4g}" for operand in operands)
        raise DataError(f"{shown(node)} is not defined everywhere: its operands were {ranges}")

    def notes(self) -> tuple[str, ...]:
        """What is to be said about divisors that came to both sides of zero."""
        return tuple(
            f"the divisor {shown(divisor)} is beyond zero with probability {seen.share:.2g}: "
            "the result has quantiles, but no mean and no standard deviation"
            for divisor, seen in self.crossings.items()
            if seen.both
        )
