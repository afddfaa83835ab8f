"""How good a distribution whose distribution function is made of lines was as a prediction."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


def jumps_of(cdf: Callable[[Floats], Floats], places: Floats) -> tuple[Floats, Floats]:
    """Each of ``places`` (k,) twice (2k,), and the limits of a distribution function from the left and the right."""
    limits = np.stack([cdf(np.nextafter(places, -np.inf)), cdf(places)], axis=1)
    return np.repeat(places, 2), limits.ravel()


def crps_piecewise_linear(knots: npt.ArrayLike, cdf: npt.ArrayLike, actual: float) -> float:
    """Continuous ranked probability score of a distribution whose CDF is linear between knots; exact."""
    places, height = np.asarray(knots, dtype=np.float64), np.asarray(cdf, dtype=np.float64)
    outside = max(places[0] - actual, actual - places[-1], 0.0)  # there F is 0 or 1 and the integrand 1
    inner = np.clip(actual, places[0], places[-1])
    first, last = places.searchsorted(inner, side="left"), places.searchsorted(inner, side="right")
    # Within a piece F is the same from both sides; at a knot it may jump.
    below, above = (height[first], height[last - 1]) if last > first else np.interp([inner, inner], places, height)
    left = _square_of_lines(np.append(places[:first], inner), np.append(height[:first], below))
    right = _square_of_lines(np.append(inner, places[last:]), 1.0 - np.append(above, height[last:]))
    return float(outside + left + right)


def _square_of_lines(places: Floats, height: Floats) -> float:
    first, second = height[:-1], height[1:]
    return float(np.sum(np.diff(places) * (first**2 + first * second + second**2)) / 3.0)
