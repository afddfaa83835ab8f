"""Bounds on the result of an operation if nothing is known about how its operands depend on each other.

The distribution function lies between two others, whatever the dependence, and each of them is reached by some
dependence at each place. Sources: M. Frechet (1935), and G. D. Makarov, "Estimates for the Distribution Function of a
Sum of Two Random Variables when the Marginal Distributions Are Fixed", Theory of Probability and its Applications 26
(1981); for other operations R. C. Williamson and T. Downs, "Probabilistic Arithmetic I", International Journal of
Approximate Reasoning 4 (1990).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from perf_stochastic.exact.piecewise_uniform import PiecewiseUniform
from perfcore.base.errors import DataError, OptionError

Floats = npt.NDArray[np.float64]

_OPERATIONS = ("add", "subtract", "multiply", "divide", "maximum", "minimum")
_BISECTIONS = 60


@dataclass(frozen=True, eq=False)
class DependenceBounds:
    """A pair of distribution functions between which the result's lies."""

    operation: str
    x: PiecewiseUniform  # operands; above 0 for products and quotients
    y: PiecewiseUniform

    def __post_init__(self) -> None:
        if self.operation not in _OPERATIONS:
            raise OptionError(f"no bounds are known for {self.operation!r}; known are {', '.join(_OPERATIONS)}")
        if self.operation in ("multiply", "divide") and min(self.x.knots[0], self.y.knots[0]) <= 0.0:
            raise DataError(f"{self.operation}: bounds are known for operands above 0 only; negate those below")

    @property
    def support(self) -> tuple[float, float]:
        """Smallest and largest value that the result may have."""
        (a, b), (c, d) = self.x.support, self.y.support
        ends = {
            "add": (a + c, b + d),
            "subtract": (a - d, b - c),
            "multiply": (a * c, b * d),
            "maximum": (max(a, c), max(b, d)),
            "minimum": (min(a, c), min(b, d)),
        }
        return ends[self.operation] if self.operation in ends else (a / d, b / c)

    def cdf(self, z: npt.ArrayLike) -> tuple[Floats, Floats]:
        """The lower and the upper bound of the distribution function at ``z`` (...)."""
        places = np.asarray(z, dtype=np.float64)
        flat = places.reshape(-1)
        if self.operation in ("maximum", "minimum"):
            at_x, at_y = self.x.cdf(flat), self.y.cdf(flat)
            if self.operation == "maximum":
                lower, upper = np.maximum(at_x + at_y - 1.0, 0.0), np.minimum(at_x, at_y)
            else:
                lower, upper = np.maximum(at_x, at_y), np.minimum(at_x + at_y, 1.0)
        else:
            lower, upper = self._makarov(flat)
        return lower.reshape(places.shape), upper.reshape(places.shape)

    def quantile(self, q: npt.ArrayLike) -> tuple[Floats, Floats]:
        """The least and the largest value that the quantile ``q`` (...) may have."""
        levels = np.asarray(q, dtype=np.float64)
        return self._inverse(levels, 1), self._inverse(levels, 0)

    def _inverse(self, levels: Floats, which: int) -> Floats:
        low, high = (np.full(levels.shape, end) for end in self.support)
        for _ in range(_BISECTIONS):
            middle = 0.5 * (low + high)
            reached = self.cdf(middle)[which] >= levels
            low, high = np.where(reached, low, middle), np.where(reached, middle, high)
        return high

    def _makarov(self, z: Floats) -> tuple[Floats, Floats]:
        """Best bounds over all ways to reach z: X <= u and Y' <= v give at most z, X > u and Y' > v more than z."""
        x, column = self.x, z[:, None]
        y = self.y if self.operation in ("add", "multiply") else self.y.negated()
        x_knots, y_knots = (np.broadcast_to(knots, (len(z), len(knots))) for knots in (x.knots, y.knots))
        if self.operation in ("add", "subtract"):
            others_x, others_y = column - y_knots, column - x_knots
        elif self.operation == "multiply":
            others_x, others_y = column / y_knots, column / x_knots
        else:
            others_x, others_y = -column * y_knots, -x_knots / np.maximum(column, np.finfo(np.float64).tiny)
        u = np.concatenate([x_knots, others_x], axis=1)
        v = np.concatenate([others_y, y_knots], axis=1)
        if self.operation == "multiply":
            between = _bends(x, y, column, u)
            u, v = np.concatenate([u, between], axis=1), np.concatenate([v, column / between], axis=1)
        at_u, at_v = x.cdf(u), y.cdf(v)
        lower = (at_u + at_v).max(axis=1) - 1.0
        # Where a single value has a probability, the smallest sum is the limit from one side.
        upper = np.minimum(_before(x, u) + at_v, at_u + _before(y, v)).min(axis=1)
        return np.clip(lower, 0.0, 1.0), np.clip(upper, 0.0, 1.0)


def _before(x: PiecewiseUniform, places: Floats) -> Floats:
    """P(X < x)."""
    return 1.0 - x.negated().cdf(-places)


def _bends(x: PiecewiseUniform, y: PiecewiseUniform, z: Floats, u: Floats) -> Floats:
    """Where F_X(u) + F_Y(z/u) may be least between places (n, k) at which one of them bends: (n, k - 1)."""
    ends = np.sort(u, axis=1)
    middles = 0.5 * (ends[:, 1:] + ends[:, :-1])
    rises, falls = x.table[2].take(x.place(middles)), z * y.table[2].take(y.place(z / middles))
    minima = np.sqrt(np.divide(falls, rises, out=ends[:, :-1] ** 2, where=rises > 0.0))
    clipped: Floats = np.clip(minima, ends[:, :-1], ends[:, 1:])
    return clipped
