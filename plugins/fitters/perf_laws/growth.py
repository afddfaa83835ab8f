"""How the paths grow: the class of growth with its probability, and the local exponent towards the target."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from perf_laws.drawn_laws import DrawnLaws
from perf_laws.path_data import Law
from perf_laws.posterior.posterior import SIDES, Draws
from perf_laws.posterior.prior import DRIFTS_FREELY
from perfcore.base.errors import UnknownNameError

__all__ = [
    "CLASSES",
    "SURE",
    "Growth",
    "class_of",
    "class_of_slope",
    "classes_of_draws",
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

# Of what is said: below, one of ten answers would be wrong.
SURE = 0.9

_SAME = 0.09  # exponents nearer than this to 0, 1 or 2 are taken for these
_PIVOTS = ((0.0, "constant"), (1.0, "linear"), (2.0, "quadratic"))
_BETWEEN = ("falling", "below linear", "between linear and quadratic", "above quadratic")


class Growth(NamedTuple):
    """How a path grows over one parameter.

    Attributes
    ----------
    name : str
        The most probable of `CLASSES`.
    probability : float
        Of that class.
    exponent, low, high : float
        d log value / d log parameter between the largest measured level and the target: median and 95 % bounds.
    statement : str
        What is sure: the class, or "at least linear", "at most n log n", "constant to linear", or that nothing is.
    """

    name: str
    probability: float
    exponent: float
    low: float
    high: float
    statement: str


def growths(model: DrawnLaws, parameter: str | None = None) -> tuple[Growth, ...]:
    """How each path grows over a parameter.

    Parameters
    ----------
    model : DrawnLaws
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


def slope_points(model: DrawnLaws, symbol: str) -> Floats:
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


def growths_of_draws(
    model: DrawnLaws, symbol: str, draws: Draws, places: tuple[int, int], first: int = 0
) -> tuple[Growth, ...]:
    """As `growths`, where values at the two points were drawn already: their places among the drawn points.

    The draws are of paths from the number `first` on.
    """
    ends = slope_points(model, symbol)[:, model.symbols.index(symbol)]
    values = draws.unchanged()
    start, end = (values[:, :, place] for place in places)
    slope = slopes_between(start, end, ends[1] / ends[0])
    paths = range(first, first + len(slope))
    of_draw = classes_of_draws(model, symbol, draws, slope, paths)
    probability = np.stack([(of_draw == number).mean(axis=1) for number in range(len(CLASSES))], axis=1)
    sides = np.quantile(slope, SIDES, axis=1).T
    found = []
    for share, (low, middle, high) in zip(probability, sides.tolist(), strict=True):
        best = int(share.argmax())
        found.append(Growth(CLASSES[best], float(share[best]), middle, low, high, _statement(share)))
    return tuple(found)


def _statement(probability: Floats) -> str:
    """What is sure of a class: itself, a bound on one side, or on both."""
    best = int(probability.argmax())
    if probability[best] >= SURE:
        return CLASSES[best]
    below = np.cumsum(probability)
    above = 1.0 - below + probability
    least = int(np.flatnonzero(above >= SURE)[-1])
    most = int(np.flatnonzero(below >= SURE - 1e-12)[0])
    if least and most < len(CLASSES) - 1 and probability[least : most + 1].sum() >= SURE:
        return f"{CLASSES[least]} to {CLASSES[most]}"
    if least > 1 or (least == 1 and most == len(CLASSES) - 1):
        return f"at least {CLASSES[least]}"
    if most < len(CLASSES) - 1:
        return f"at most {CLASSES[most]}"
    return "not determined"


def slopes_between(start: Floats, end: Floats, factor: float) -> Floats:
    """Exponents of the powers of a parameter that lead from values to others.

    Parameters
    ----------
    start, end : (K, N) float
        Draws of K paths, > 0.
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
    return np.asarray(np.log(end / start) / np.log(factor))


def classes_of_draws(model: DrawnLaws, symbol: str, draws: Draws, slopes: Floats, paths: range) -> Ints:
    """Number of the class of each draw (K, N): that of its law, or of its slope where it drifts freely from it."""
    posterior = model.posterior.of_paths(paths)
    of_law = np.array([class_of(law, symbol) for law in model.laws], dtype=np.int64)
    law, setting = (np.take_along_axis(one, draws.component, axis=1) for one in (posterior.law, posterior.setting))
    return np.where(posterior.settings[setting, 1] < DRIFTS_FREELY, of_law[law], class_of_slope(slopes))


def class_of_slope(slopes: Floats) -> Ints:
    """Number of the class of the power that grows alike.

    Examples
    --------
    >>> [CLASSES[number] for number in class_of_slope(np.array([-0.5, 0.01, 0.6, 1.02, 3.0]))]
    ['falling', 'constant', 'below linear', 'linear', 'above quadratic']
    """
    found = np.full(slopes.shape, CLASSES.index(_BETWEEN[-1]), dtype=np.int64)
    for (pivot, name), below in reversed(list(zip(_PIVOTS, _BETWEEN[:-1], strict=True))):
        found[slopes <= pivot + _SAME] = CLASSES.index(name)
        found[slopes < pivot - _SAME] = CLASSES.index(below)
    return found


def class_of(law: Law, symbol: str) -> int:
    """Number of the class of a law: of the term that outgrows the others; what falls to a constant falls."""
    orders = [(factor.exponent, factor.logarithm) for term in law for factor in term.factors if factor.symbol == symbol]
    if not orders:
        return CLASSES.index("constant")
    exponent, logarithm = max(orders)
    if logarithm:
        if abs(exponent) < _SAME:
            return CLASSES.index("logarithmic")
        if abs(exponent - 1.0) < _SAME:
            return CLASSES.index("n log n")
        if abs(exponent - 2.0) < _SAME:
            return CLASSES.index("above quadratic")
    return int(class_of_slope(np.array(exponent)))
