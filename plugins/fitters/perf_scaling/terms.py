"""Generic terms of scaling models, ``n^i log2(n)^j``, their text and values, and what a model keeps of each path."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from perf_scaling.options import MOST_EXPONENT, MOST_LOGARITHM

if TYPE_CHECKING:
    import numpy.typing as npt

_ROUNDING = 1e-6  # of weights that add up to 1
_NEARBY = 1.001  # factor from the level that the slope of a function is taken at
_LARGEST = 1e150  # squares of larger means overflow
_COARSEST = 12  # denominators of exponents that are written as fractions


class Factor(msgspec.Struct, frozen=True, array_like=True):
    """A generic term of one parameter: ``symbol^exponent log2(symbol)^logarithm``."""

    symbol: str
    exponent: float
    logarithm: int
    function: str = ""  # a registered or typed function in its place; the exponent is then its slope at the last level

    def __post_init__(self) -> None:
        if not abs(self.exponent) <= MOST_EXPONENT or not 0 <= self.logarithm <= MOST_LOGARITHM:
            raise ValueError(f"{self.exponent:g} and {self.logarithm} are no powers of a term and its logarithm")
        if not self.exponent and not self.logarithm and not self.function:
            raise ValueError("a term is constant")


class Term(msgspec.Struct, frozen=True, array_like=True):
    """A product of generic terms with its coefficient; without any factor, a constant."""

    coefficient: float
    factors: tuple[Factor, ...]

    def __post_init__(self) -> None:
        if not 0.0 < self.coefficient < math.inf:
            raise ValueError("a coefficient is no positive number")


Law = tuple[Term, ...]  # up to a factor, which is another one for each path


class PathData(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """What was measured of a path, and what explains it."""

    means: tuple[float | None, ...]  # at each point of the model; None where it was not measured
    counts: tuple[float, ...]  # runs that each mean stands for, of which outliers count less than one
    spread: float  # relative variance of one run
    laws: tuple[int, ...]  # of each component: its law and its scatter and drift, by their numbers in the model
    settings: tuple[int, ...]
    levels: tuple[int, ...]  # of each component: the point that deviates; -1 where none does
    weights: tuple[float, ...]  # of the components; they add up to 1

    def __post_init__(self) -> None:
        if not self.laws or len({len(self.laws), len(self.settings), len(self.levels), len(self.weights)}) > 1:
            raise ValueError("there are not as many weights as laws")
        if not min(self.weights) > 0.0 or not abs(sum(self.weights) - 1.0) < _ROUNDING:
            raise ValueError("the weights of a path do not add up to 1")
        if not 0.0 < self.spread < math.inf:
            raise ValueError("the noise of a path is no positive number")
        if len(self.counts) != len(self.means):
            raise ValueError("there are columns of different lengths")
        for mean, count in zip(self.means, self.counts, strict=True):
            if (mean is not None and not 0.0 < mean < _LARGEST) or not count >= 0.0 or (mean is not None and not count):
                raise ValueError("the means and counts of a path are no positive numbers")
        deviating = set(self.levels) - {-1}
        if not all(0 <= level < len(self.means) and self.means[level] for level in deviating):
            raise ValueError("a point deviates that was not measured")


def product_text(factors: Sequence[Factor], names: Mapping[str, str]) -> str:
    """Return a product of generic terms as a formula, with what each symbol is called in it."""
    texts = []
    for factor in factors:
        name = names[factor.symbol]
        text = _text(name, factor.exponent, factor.logarithm)
        if factor.function:
            from perf_formulas.formula import renamed

            text = renamed(factor.function, {factor.symbol: name})
            text = f"({text})" if " + " in text or " - " in text else text
        texts.append(text)
    above = [text for text in texts if not text.startswith("1/")]
    below = [text[2:] for text in texts if text.startswith("1/")]
    return "/".join(["*".join(above) or "1", *below])


def product_values(factors: Sequence[Factor], levels: dict[str, npt.NDArray[np.float64]]) -> npt.NDArray[np.float64]:
    """Return a product of generic terms at levels of its parameters, by symbol."""
    product = np.ones(len(next(iter(levels.values()))))
    for factor in factors:
        level = levels[factor.symbol]
        if factor.function:
            product = product * function_values(factor.function, factor.symbol, level)
            continue
        product = product * level**factor.exponent
        if factor.logarithm:
            product = product * np.log2(level) ** factor.logarithm
    return product


def function_values(name: str, symbol: str, levels: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return values of a registered or typed function of one parameter at its levels."""
    from perf_formulas.formula import find_function

    return np.asarray(find_function(name, (symbol,))({symbol: np.asarray(levels, dtype=np.float64)}))


def function_slope(name: str, symbol: str, level: float) -> float:
    """Return the exponent of the power that a function is like at a level; 0 if it is not above 0."""
    low, high = function_values(name, symbol, np.array([level / _NEARBY, level * _NEARBY]))
    return math.log(high / low) / (2.0 * math.log(_NEARBY)) if low > 0.0 < high else 0.0


def _text(symbol: str, exponent: float, logarithm: int) -> str:
    of_logarithm = {0: "", 1: f"log2({symbol})"}.get(logarithm, f"log2({symbol})^{logarithm}")
    near = Fraction(exponent).limit_denominator(_COARSEST)
    size = abs(near)
    if abs(float(near) - exponent) > 1e-9 or (size * 10).denominator == 1 < size.denominator != 2:
        power = f"{symbol}^{abs(exponent):.3g}"
    else:
        power = symbol if size == 1 else f"{symbol}^{size}" if size.denominator == 1 else f"{symbol}^({size})"
        power = f"sqrt({symbol})" if size == Fraction(1, 2) else power
    if exponent == 0.0:
        return of_logarithm
    if exponent > 0.0:
        return f"{power}*{of_logarithm}" if of_logarithm else power
    return f"{of_logarithm or 1}/{power}"
