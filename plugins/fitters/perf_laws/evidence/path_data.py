"""What a model of scaling laws keeps of each path: its means, and the laws that are left with their probabilities."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import msgspec

from perf_laws.evidence.terms import MOST_EXPONENT, MOST_LOGARITHM

__all__ = ["Factor", "LawsBefore", "PathData", "WeighedLaws"]

_ROUNDING = 1e-6  # of probabilities that add up to 1
_LARGEST = 1e150  # squares of larger means overflow


class Factor(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A generic term of one parameter: ``symbol^exponent log2(symbol)^logarithm``."""

    symbol: str
    exponent: str
    logarithm: int

    def __post_init__(self) -> None:
        """Refuse what is no term."""
        try:
            exponent = Fraction(self.exponent)
        except (ValueError, ZeroDivisionError):
            raise ValueError(f"the exponent {self.exponent[:20]!r} is no fraction") from None
        if abs(exponent) > MOST_EXPONENT or not 0 <= self.logarithm <= MOST_LOGARITHM:
            raise ValueError(f"{self.exponent[:20]} and {self.logarithm} are no powers of a term and its logarithm")
        if not exponent and not self.logarithm:
            raise ValueError("a term is constant")


class WeighedLaws(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """Laws of a path and how they were weighed.

    Attributes
    ----------
    root_weights : tuple of float
        One over the standard deviation of the mean at each point, in units of the relative noise of one run; 0 where
        it was not measured.
    within, freedom : float
        Relative squares about the means and their degrees of freedom, with what the other paths say.
    scattered : bool
        The points miss every law by more than repetitions explain; their misses are the noise.
    laws : tuple of int
        The laws that are left, likeliest first, by their number in the model.
    probabilities : tuple of float
        Of these; they add up to 1.
    """

    root_weights: tuple[float, ...]
    within: float
    freedom: float
    scattered: bool
    laws: tuple[int, ...]
    probabilities: tuple[float, ...]

    def __post_init__(self) -> None:
        """Refuse lists of different lengths."""
        if len(self.laws) != len(self.probabilities) or not self.laws:
            raise ValueError("there are not as many probabilities as laws")
        if not min(self.probabilities) > 0.0 or not abs(sum(self.probabilities) - 1.0) < _ROUNDING:
            raise ValueError("the probabilities of a path do not add up to 1")
        if not (0.0 < self.within < math.inf and 0.0 < self.freedom < math.inf):
            raise ValueError("the noise of a path is no positive number")
        if not (min(self.root_weights) >= 0.0 and 0.0 < max(self.root_weights) < math.inf):
            raise ValueError("the weights of a path are negative, or all are 0")


class LawsBefore(WeighedLaws, frozen=True, forbid_unknown_fields=True, kw_only=True, gc=False):
    """Laws of a segment of a path that ends with a break; its weights are 0 outside of it.

    Attributes
    ----------
    until : float
        The break: geometric mean of the levels on both sides.
    """

    until: float


class PathData(WeighedLaws, frozen=True, forbid_unknown_fields=True, kw_only=True, gc=False):
    """What was measured of a path, and its laws: behind its last break, if there is one.

    Attributes
    ----------
    means : tuple of float or None
        At each point of the model; None where it was not measured.
    counts : tuple of float
        Runs that each mean stands for, of which outliers count less than one.
    before : tuple of LawsBefore
        What held before each break, in order.
    """

    means: tuple[float | None, ...]
    counts: tuple[float, ...]
    before: tuple[LawsBefore, ...] = ()

    def __post_init__(self) -> None:
        """Refuse columns of different lengths."""
        super().__post_init__()
        lengths = {len(self.counts), len(self.root_weights), *(len(own.root_weights) for own in self.before)}
        if lengths != {len(self.means)}:
            raise ValueError("there are columns of different lengths")
        for mean, weight, count in zip(self.means, self.root_weights, self.counts, strict=True):
            if (mean is None and weight > 0.0) or (mean is not None and not 0.0 < mean < _LARGEST) or not count >= 0.0:
                raise ValueError("the means and counts of a path are no positive numbers")
        breaks = [0.0, *(own.until for own in self.before)]
        if not all(low < high < math.inf for low, high in itertools.pairwise(breaks)):
            raise ValueError("the breaks of a path do not increase")
