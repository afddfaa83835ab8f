"""Generic terms of scaling laws: ``n^i log2(n)^j``, as text and as numbers, and how usual each is."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

__all__ = [
    "COMMON",
    "DEFAULT_EXPONENTS",
    "DEFAULT_LOGARITHMS",
    "MOST_EXPONENT",
    "MOST_LOGARITHM",
    "Term",
    "generic_terms",
]

# Beyond these powers nothing can be told from anything.
MOST_EXPONENT, MOST_LOGARITHM = 6, 3


@dataclass(frozen=True)
class Term:
    """``n^exponent log2(n)^logarithm``.

    Examples
    --------
    >>> Term(Fraction(2, 3), 1).text("p")
    'p^(2/3)*log2(p)'
    >>> Term(Fraction(-1), 0).text("p"), Term(Fraction(0), 2).text("n")
    ('1/p', 'log2(n)^2')
    """

    exponent: Fraction
    logarithm: int
    _hash: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        # Tens of thousands of laws are looked up by their terms, and fractions hash slowly.
        object.__setattr__(self, "_hash", hash((self.exponent, self.logarithm)))

    def __hash__(self) -> int:
        return self._hash

    def text(self, symbol: str) -> str:
        """The term as a formula of a parameter."""
        logarithm = {0: "", 1: f"log2({symbol})"}.get(self.logarithm, f"log2({symbol})^{self.logarithm}")
        size = abs(self.exponent)
        power = symbol if size == 1 else f"{symbol}^{size}" if size.denominator == 1 else f"{symbol}^({size})"
        if self.exponent == 0:
            return logarithm
        if self.exponent > 0:
            return f"{power}*{logarithm}" if logarithm else power
        return f"{logarithm or 1}/{power}"

    def values(self, n: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """At positive levels of a parameter."""
        import numpy as np

        levels = np.asarray(n, dtype=np.float64)
        return np.asarray(levels ** float(self.exponent) * np.log2(levels) ** self.logarithm)

    def slope(self, n: float) -> float:
        """Exponent of the power that grows like the term around `n`, > 1."""
        return float(self.exponent) + self.logarithm / math.log(n)

    @property
    def falls(self) -> bool:
        """Whether it goes to 0 for large n."""
        return self.exponent < 0


def _exponents(low: int, high: int) -> tuple[Fraction, ...]:
    """Quarters and thirds; above 0 also twelfths, which lie between them: the orders of real codes are on no grid."""
    steps = {Fraction(k, part) for part in (3, 4) for k in range(low * part, high * part + 1)}
    return tuple(sorted(steps | {Fraction(k, 12) for k in range(high * 12 + 1)}))


DEFAULT_EXPONENTS = _exponents(-2, 3)
DEFAULT_LOGARITHMS = (0, 1, 2)

# What algorithms are known for: trees and sorting, surfaces and volumes, dense linear algebra, the division of work.
COMMON = (
    *(Term(Fraction(i), 0) for i in (Fraction(1, 2), 1, Fraction(3, 2), 2, 3)),
    *(Term(Fraction(i), 1) for i in (0, 1, 2)),
    *(Term(Fraction(i), 0) for i in (-1, -2, Fraction(-1, 2))),
)


@functools.cache
def generic_terms(
    exponents: Sequence[Fraction] = DEFAULT_EXPONENTS, logarithms: Sequence[int] = DEFAULT_LOGARITHMS
) -> tuple[Term, ...]:
    """All terms of these exponents, without the constant.

    Examples
    --------
    >>> [term.text("n") for term in generic_terms((Fraction(0), Fraction(1)), (0, 1))]
    ['log2(n)', 'n', 'n*log2(n)']
    """
    return tuple(Term(i, j) for i in exponents for j in logarithms if i or j)
