"""How the paths grow: the class of growth with its probability, and the local exponent towards the target."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from perf_laws.draws.draws import SIDES, Draws, quantiles
from perf_laws.evidence.hypotheses import Hypotheses
from perf_laws.evidence.noise import Runs
from perf_laws.evidence.path_data import Factor
from perf_laws.evidence.posterior import Laws
from perfcore.base.errors import UnknownNameError

__all__ = [
    "CLASSES",
    "SURE",
    "Growing",
    "Growth",
    "class_of",
    "class_probabilities",
    "growths",
    "growths_of_draws",
    "slope_points",
    "slopes_between",
]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

CLASSES = (
    "falling",
    "constant",
    "logarithmic",
    "below linear",
    "linear",
    "n log n",
    "between linear and quadratic",
    "quadratic",
    "above quadratic",
)

# Of the class that is named: below, one of ten answers would be wrong, and the second class is named as well.
SURE = 0.9

_LEAST = 1e-12  # of the largest value that is drawn of a path; keeps the logarithm of 0 finite


class Growth(NamedTuple):
    """How a path grows over one parameter.

    Attributes
    ----------
    name : str
        The most probable of `CLASSES`.
    probability : float
        Of that class: of all laws of the path that belong to it.
    exponent, low, high : float
        d log value / d log parameter between the largest measured level and the target: median and 95 % bounds.
    """

    name: str
    probability: float
    exponent: float
    low: float
    high: float


class Growing(Protocol):
    """Laws of paths of which growth can be told; `perf_laws.path_laws.PathLaws` says what these are."""

    @property
    def columns(self) -> Mapping[str, str]:
        """Symbol to the column's name in the data."""

    @property
    def symbols(self) -> tuple[str, ...]:
        """The parameters (q)."""

    @property
    def laws(self) -> Sequence[tuple[tuple[Factor, ...], ...]]:
        """Each a tuple of columns, each of these a tuple of factors."""

    @property
    def measured(self) -> Floats:
        """Measured points (n, q)."""

    @property
    def target_point(self) -> Floats:
        """The point that is looked at (q,)."""

    @property
    def arrays(self) -> tuple[Runs, Hypotheses, Laws]:
        """Runs, laws and their probabilities as arrays."""

    def draws(self, points: npt.ArrayLike, paths: Sequence[int] | None = None) -> Draws:
        """Draws of all paths or of some, at points (T, q)."""


def growths(model: Growing, parameter: str | None = None) -> tuple[Growth, ...]:
    """How each path grows over a parameter.

    Parameters
    ----------
    model : Growing
    parameter : str, optional
        Symbol of the parameter; the first by default. The others are held at the target.

    Raises
    ------
    UnknownNameError
        The model has no such parameter.

    Examples
    --------
    >>> import pandas as pd, perfcore
    >>> rows = [(n, "sort", 3e-8 * n * n) for n in (1000, 2000, 4000, 8000, 16000)]
    >>> model = perfcore.fit(pd.DataFrame(rows, columns=["n", "function", "time_s"]), fitter="scaling", parameter="n")
    >>> growth = growths(model)[0]
    >>> growth.name, round(growth.exponent, 1)
    ('quadratic', 2.0)
    """
    symbol = model.symbols[0] if parameter is None else parameter
    if symbol not in model.symbols:
        raise UnknownNameError("parameter", symbol, model.columns)
    return growths_of_draws(model, symbol, model.draws(slope_points(model, symbol)), (0, 1))


def slope_points(model: Growing, symbol: str) -> Floats:
    """The two points (2, q) between which the local exponent is taken; the second is the target.

    The first is the target with the parameter at its largest measured level; at its smallest where the target is not
    beyond that, or lies on it.
    """
    place = model.symbols.index(symbol)
    points = np.tile(model.target_point, (2, 1))
    low, high = model.measured[:, place].min(), model.measured[:, place].max()
    to = points[1, place]
    points[0, place] = high if to > high or to == low else low
    return points


def growths_of_draws(model: Growing, symbol: str, draws: Draws, places: tuple[int, int]) -> tuple[Growth, ...]:
    """As `growths`, where values at the two points were drawn already: their places among the drawn points."""
    probability = class_probabilities(model, symbol)
    best = probability.argmax(axis=1)
    ends = slope_points(model, symbol)[:, model.symbols.index(symbol)]
    start, end = (draws.values[:, :, place] for place in places)
    slope = slopes_between(start, end, ends[1] / ends[0])
    sides = quantiles(slope[:, :, None], draws.weights, SIDES)[:, 0]
    found = zip(best.tolist(), probability.max(axis=1).tolist(), sides.tolist(), strict=True)
    return tuple(Growth(CLASSES[number], share, *numbers) for number, share, numbers in found)


def slopes_between(start: Floats, end: Floats, factor: float) -> Floats:
    """Exponents of the powers of a parameter that lead from values to others.

    Parameters
    ----------
    start, end : (K, N) float
        Draws of K paths, >= 0.
    factor : float
        By which the parameter differs between the two.

    Returns
    -------
    (K, N) float

    Examples
    --------
    >>> slopes_between(np.array([[1.0, 2.0]]), np.array([[4.0, 2.0]]), 2.0).tolist()
    [[2.0, 0.0]]
    """
    least = _LEAST * np.maximum(start.max(axis=1), end.max(axis=1))[:, None]
    return np.asarray(np.log(np.maximum(end, least) / np.maximum(start, least)) / np.log(factor))


def class_probabilities(model: Growing, symbol: str) -> Floats:
    """Probability of each class (K, 9): of the laws of a path that belong to it."""
    of_law = np.array([class_of(law, symbol) for law in model.laws])
    _, _, laws = model.arrays
    path, _ = (used := laws.kept >= 0).nonzero()
    cell = path * len(CLASSES) + of_law[laws.kept[used]]
    shape = (len(laws.kept), len(CLASSES))
    return np.asarray(
        np.bincount(cell, laws.probability[used], minlength=shape[0] * shape[1]).reshape(shape), np.float64
    )


def class_of(law: tuple[tuple[Factor, ...], ...], symbol: str) -> int:
    """Number of the class of a law: of the term that outgrows the others; what falls to a constant falls."""
    orders = [
        (Fraction(factor.exponent), factor.logarithm) for column in law for factor in column if factor.symbol == symbol
    ]
    if not orders:
        return CLASSES.index("constant")
    exponent, logarithm = max(orders)
    if exponent < 0:
        return CLASSES.index("falling")
    if exponent == 0:
        return CLASSES.index("logarithmic")
    if exponent == 1:
        return CLASSES.index("n log n" if logarithm else "linear")
    if exponent == 2:
        return CLASSES.index("above quadratic" if logarithm else "quadratic")
    names = ("below linear", "between linear and quadratic", "above quadratic")
    return CLASSES.index(names[int(exponent > 1) + int(exponent > 2)])
