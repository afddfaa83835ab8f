"""The representation ``example``: Laplace distributions, for errors with more outliers than a normal has."""

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from perfcore.base.errors import DataError
from perfcore.stochastic import StochasticValue, checked_samples

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Example(StochasticValue):
    """A quantity around `center` whose distance from it is exponential with the mean `spread`."""

    name: ClassVar[str] = "example"
    generality: ClassVar[int] = 15  # between normal (10) and histogram (20): what it can't do, the histogram does
    center: float
    spread: float

    def __post_init__(self) -> None:
        if not (np.isfinite(self.center) and 0.0 <= self.spread < np.inf):
            raise DataError(f"example: center {self.center:g} must be finite, and spread {self.spread:g} 0 or more")

    @classmethod
    def from_samples(cls, samples: npt.ArrayLike, options: Any = None) -> Self:
        """Return the most likely distribution of samples (n,)."""
        values = checked_samples(samples)
        center = float(np.median(values))
        return cls(center, float(np.abs(values - center).mean()))

    def cdf(self, x: npt.ArrayLike) -> Floats:
        """Return the probabilities of values up to x (n,)."""
        distance = np.asarray(x, dtype=np.float64) - self.center
        with np.errstate(over="ignore", invalid="ignore"):
            tail = 0.5 * np.exp(-np.abs(distance) / self.spread) if self.spread else np.zeros_like(distance)
        return np.where(distance < 0.0, tail, 1.0 - tail)

    def quantile(self, q: npt.ArrayLike) -> Floats:
        """Return the values at levels q (n,); NaN if a level is not from 0 to 1."""
        levels = np.asarray(q, dtype=np.float64)
        tail = np.minimum(levels, 1.0 - levels)
        with np.errstate(divide="ignore", invalid="ignore"):
            distance = -self.spread * np.log(2.0 * tail) if self.spread else np.zeros_like(tail)
        return np.where(tail >= 0.0, self.center + np.sign(levels - 0.5) * distance, np.nan)
