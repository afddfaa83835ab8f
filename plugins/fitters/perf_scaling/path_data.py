"""What a model of scaling laws keeps of each path: its means, and the components that are left with their weights."""

from __future__ import annotations

import math

import msgspec

from perf_scaling.limits import MOST_EXPONENT, MOST_LOGARITHM

_ROUNDING = 1e-6  # of weights that add up to 1
_LARGEST = 1e150  # squares of larger means overflow


class Factor(msgspec.Struct, frozen=True, array_like=True):
    """A generic term of one parameter: ``symbol^exponent log2(symbol)^logarithm``."""

    symbol: str
    exponent: float
    logarithm: int

    def __post_init__(self) -> None:
        """Refuse what is no term."""
        if not abs(self.exponent) <= MOST_EXPONENT or not 0 <= self.logarithm <= MOST_LOGARITHM:
            raise ValueError(f"{self.exponent:g} and {self.logarithm} are no powers of a term and its logarithm")
        if not self.exponent and not self.logarithm:
            raise ValueError("a term is constant")


class Term(msgspec.Struct, frozen=True, array_like=True):
    """A product of generic terms with its coefficient; without any factor, a constant."""

    coefficient: float
    factors: tuple[Factor, ...]

    def __post_init__(self) -> None:
        """Refuse what is not positive."""
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
        """Refuse columns of different lengths, and what is no number that it can be."""
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
