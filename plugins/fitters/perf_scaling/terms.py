"""Generic terms of scaling laws, ``n^i log2(n)^j``, as text and as numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    from perf_scaling.path_data import Factor


_COARSEST = 12  # denominators of exponents that are written as fractions


def product_text(factors: Sequence[Factor], names: Mapping[str, str]) -> str:
    """A product of generic terms as a formula, with what each symbol is called in it."""
    texts = [_text(names[factor.symbol], factor.exponent, factor.logarithm) for factor in factors]
    above = [text for text in texts if not text.startswith("1/")]
    below = [text[2:] for text in texts if text.startswith("1/")]
    return "/".join(["*".join(above) or "1", *below])


def point_text(point: Mapping[str, float]) -> str:
    """A point, by the names of its parameters, as a person writes it."""
    return ", ".join(f"{name} = {level:.6g}" for name, level in point.items())


def product_values(factors: Sequence[Factor], levels: dict[str, npt.NDArray[np.float64]]) -> npt.NDArray[np.float64]:
    """A product of generic terms at levels of its parameters, by symbol."""
    product = np.ones(len(next(iter(levels.values()))))
    for factor in factors:
        level = levels[factor.symbol]
        product = product * level**factor.exponent
        if factor.logarithm:
            product = product * np.log2(level) ** factor.logarithm
    return product


def _text(symbol: str, exponent: float, logarithm: int) -> str:
    of_logarithm = {0: "", 1: f"log2({symbol})"}.get(logarithm, f"log2({symbol})^{logarithm}")
    near = Fraction(exponent).limit_denominator(_COARSEST)
    size = abs(near)
    if abs(float(near) - exponent) > 1e-9 or (size * 10).denominator == 1 < size.denominator != 2:
        power = f"{symbol}^{abs(exponent):.3g}"
    else:
        power = symbol if size == 1 else f"{symbol}^{size}" if size.denominator == 1 else f"{symbol}^({size})"
    if exponent == 0.0:
        return of_logarithm
    if exponent > 0.0:
        return f"{power}*{of_logarithm}" if of_logarithm else power
    return f"{of_logarithm or 1}/{power}"
