"""Shapes that a phase may take over time besides polynomials."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from perfcore.contracts import Function

__all__ = ["Exp", "Log", "Reciprocal"]

Floats = npt.NDArray[np.float64]


class Reciprocal(Function):
    """Falls off like 1/t: work that is dealt out while it shrinks.

    Examples
    --------
    >>> Reciprocal()(np.array([0.0, 3.0]), scale=1.0)
    array([1.  , 0.25])
    """

    name = "reciprocal"
    formula = "1 / (1 + t/scale)"

    def __call__(self, points: Floats, scale: float = 1.0) -> Floats:
        """Values at times ``points`` >= 0."""
        return 1.0 / (1.0 + points / scale)


class Log(Function):
    """Grows ever more slowly: a pool that fills up.

    Examples
    --------
    >>> Log()(np.array([0.0]), scale=1.0)
    array([0.])
    """

    name = "log"
    formula = "log(1 + t/scale)"

    def __call__(self, points: Floats, scale: float = 1.0) -> Floats:
        """Values at times ``points`` >= 0."""
        return np.log1p(points / scale)


class Exp(Function):
    """Decays to a level: transients.

    Examples
    --------
    >>> Exp()(np.array([0.0]), scale=1.0)
    array([1.])
    """

    name = "exp"
    formula = "exp(-t/scale)"

    def __call__(self, points: Floats, scale: float = 1.0) -> Floats:
        """Values at times ``points`` >= 0."""
        return np.exp(-points / scale)
