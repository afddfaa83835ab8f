"""What data leave open about a model, part by part: draws by which two models are compared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from perfcore.base.arrays import Floats

N_DRAWS = 256  # of each part; pairs of independent draws then resolve probabilities of 2e-5


@dataclass(frozen=True)
class Drawn:
    """Predicted values and what is left open about them."""

    values: Floats  # as the model predicts them at T points
    draws: Floats  # equally probable values at each point, ascending


@dataclass(frozen=True)
class PartDraws:
    """A model at T points by its K parts, which are independent of one another."""

    what: str  # what a part is: ``"category"``, ``"path"``; empty where the model has none
    names: tuple[str, ...]
    keys: tuple[str, ...]  # what parts of two models are matched by
    parts: Drawn  # values (K, T), draws (K, T, N)
    total: Drawn | None  # values (T,), draws (T, N) of the whole; None where it is the sum of the parts
    single_runs: bool  # the draws are of single runs, which hold their noise, and not of means
    left_out: Mapping[str, str] = field(default_factory=dict)  # parts that no model could be fitted to, and why


@dataclass(frozen=True)
class GrowthDraws:
    """How the K parts of a model grow."""

    laws: tuple[str, ...]  # the likeliest of each part
    classes: tuple[str, ...]  # all classes of growth, such as ``"linear"``; later ones grow faster (C)
    probabilities: Floats  # of the classes, over each parameter
    symbols: tuple[str, ...]  # parameters
    exponents: Floats
