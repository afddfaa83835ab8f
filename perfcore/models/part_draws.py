"""What data leave open about a model, part by part: draws by which two models are compared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

__all__ = ["N_DRAWS", "Drawn", "GrowthDraws", "PartDraws"]

Floats = npt.NDArray[np.float64]

N_DRAWS = 256  # of each part; pairs of independent draws then resolve probabilities of 2e-5


@dataclass(frozen=True)
class Drawn:
    """Predicted values and what is left open about them.

    Parameters
    ----------
    values : (..., T) float
        As the model predicts them at T points.
    draws : (..., T, N) float
        Equally probable values at each point, ascending; NaN where the model gives no bounds. N is a multiple of 64.
    """

    values: Floats
    draws: Floats


@dataclass(frozen=True)
class PartDraws:
    """A model at T points by its K parts, which are independent of one another.

    Parameters
    ----------
    what : str
        What a part is: ``"category"``, ``"path"``; empty where the model has none.
    names : tuple of str
    keys : tuple of str
        What parts of two models are matched by.
    parts : Drawn
        Values (K, T), draws (K, T, N).
    total : Drawn or None
        Values (T,), draws (T, N) of the whole; None where it is the sum of the parts.
    single_runs : bool
        The draws are of single runs, which hold their noise, and not of means.
    left_out : mapping of str to str
        Parts that no model could be fitted to, and why.
    """

    what: str
    names: tuple[str, ...]
    keys: tuple[str, ...]
    parts: Drawn
    total: Drawn | None
    single_runs: bool
    left_out: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class GrowthDraws:
    """How the K parts of a model grow.

    Parameters
    ----------
    laws : tuple of str
        The likeliest of each part.
    classes : tuple of str
        All classes of growth, such as ``"linear"``; later ones grow faster (C).
    probabilities : (K, q, C) float
        Of the classes, over each parameter.
    symbols : tuple of str
        Parameters.
    exponents : (K, q, N) float
        Equally probable exponents of a power of each parameter that grows as the part does, ascending.
    """

    laws: tuple[str, ...]
    classes: tuple[str, ...]
    probabilities: Floats
    symbols: tuple[str, ...]
    exponents: Floats
