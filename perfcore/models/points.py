"""Points at which a model predicts: as a user gives them, where something was measured, and where it is not yet.

A user gives an array, a mapping or a DataFrame.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from perfcore.base import pd
from perfcore.base.arrays import Floats
from perfcore.base.errors import DataError, OptionError, UnknownNameError
from perfcore.data.columns import shown_names
from perfcore.data.measurements import Measurements

if TYPE_CHECKING:
    from perfcore.models.model import Model

N_DRAWS = 256  # of each part; pairs of independent draws then resolve probabilities of 2e-5


def by_symbol(user_points: Any, columns: Mapping[str, str], names: Collection[str]) -> dict[str, npt.NDArray[Any]]:
    """Columns of points under the symbols of a model's variables; values and lengths are not looked at."""
    named, shown = {}, shown_names(columns)
    for name, values in columns_of(user_points, columns).items():
        symbols = [name] if name in columns else [symbol for symbol, column in columns.items() if column == name]
        if not symbols and name not in names:
            raise UnknownNameError("variable", str(name), [shown.get(known, known) for known in [*columns, *names]])
        named.update(dict.fromkeys(symbols or [name], np.atleast_1d(np.asarray(values))))
    for symbol in columns:
        if symbol not in named:
            raise OptionError(f"the model is one of {', '.join(shown.values())}; {shown[symbol]} is missing")
    return named


def of_one_length(named: Mapping[str, npt.NDArray[Any]]) -> dict[str, npt.NDArray[Any]]:
    """Columns whose single values are repeated as often as the others have values."""
    try:
        return dict(zip(named, np.broadcast_arrays(*named.values()), strict=True))
    except ValueError:
        lengths = ", ".join(f"{name}: {len(values)}" for name, values in named.items())
        raise DataError(f"the points have columns of different lengths ({lengths})") from None


def check_coverage(interval: float) -> None:
    """Refuse a coverage that is none."""
    if not 0.0 < interval < 1.0:
        raise OptionError(f"interval {interval}: the coverage must be above 0 and below 1, such as 0.95")


def columns_of(user_points: Any, columns: Mapping[str, str]) -> Mapping[str, Any]:
    """Return points as columns under the names that the user gave, or under the only variable's."""
    if isinstance(user_points, Mapping):
        return user_points
    if hasattr(user_points, "columns"):  # a DataFrame
        return {str(name): user_points[name].to_numpy() for name in user_points.columns}
    if len(columns) > 1:
        raise OptionError(f"the model is one of {', '.join(columns)}; give a mapping with a column for each")
    return {next(iter(columns)): user_points}


@dataclass(frozen=True)
class Observed:
    """Measured values at n points of a model."""

    points: Mapping[str, Any]  # by variable of the model, as `Model.predict` takes them
    labels: tuple[str, ...]  # the points as a person reads them
    value: Floats  # in ``unit``
    unit: str | None
    source: str
    parts: tuple[str, ...]  # categories or the like whose sum the value is; empty where there are none
    of_part: Floats  # measured values of each part; NaN where one was not measured


def measurements_for(
    model: Model, data: Any, where: str | Iterable[str] | None = None, roles: Mapping[str, Any] | None = None
) -> Measurements:
    """Measurements with the roles that the model's variables say, selected by conditions."""
    if not isinstance(data, Measurements):
        if not isinstance(data, pd.DataFrame):
            raise DataError(f"a model is compared with measurements, not with {type(data).__name__}")
        data = Measurements(data, source="table")
    factors = {symbol: column for symbol, column in model.variables.items() if symbol not in model.levels}
    try:
        runs: Measurements = data.with_roles(parameters=factors, **(roles or {}))
    except UnknownNameError as error:
        raise DataError(f"{data.source}: columns that the model requires are missing: {error}") from None
    return runs.where(where) if where else runs


def observed_by_pair(model: Model, runs: Measurements, **observing: str) -> Observed:
    """Return each code on each system at each point, repeated runs joined; options of `Measurements.observations`."""
    observed = runs.observations(**observing)
    points: dict[str, Any] = dict(observed.points)
    named = {"code": (observed.codes, observed.code), "system": (observed.systems, observed.system)}
    points |= {role: np.array(names)[index] for role, (names, index) in named.items() if role in model.variables}
    labels = tuple(observed.describe(number) for number in range(len(observed)))
    return Observed(points, labels, observed.value, observed.unit, runs.source, (), np.empty((len(observed), 0)))


@dataclass(frozen=True)
class DesignRows:
    """A model as a sum of K parts, each fitted by weighted least squares; nonlinear parts at their estimate.

    A model of one part is the usual case. The sum of models of categories has several: each has separate terms, and
    the errors of categories in one run are correlated.
    """

    measured: tuple[Floats, ...]  # weighted rows of the observations; zeros where a part was not measured
    asked: tuple[Floats, ...]  # weighted rows that observations at the points asked for would have
    errors: Floats  # covariance of the weighted errors of one observation between parts
    scale: Floats  # what a weighted value at these points is multiplied by to be in the unit of the data
    points: Mapping[str, npt.NDArray[np.float64] | npt.NDArray[np.str_]]
    repetitions: npt.NDArray[np.int64]  # runs that each observation stands for
    unit: str | None
    outcomes: Any = None  # draws of the outcomes instead of rows; scale are then the values at the points


@dataclass(frozen=True)
class Rival:
    """Another model that fits the same data about as well."""

    name: str  # what it is made of
    figure: str  # how well it fits, next to the chosen model, as a person reads it
    values: Floats  # what it predicts at the points asked for


@dataclass(frozen=True)
class Drawn:
    """Predicted values and their uncertainty."""

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
    add_up: bool = True  # their sum is the whole, as of a run's call paths and not of several programs


@dataclass(frozen=True)
class GrowthDraws:
    """Growth of the K parts of a model."""

    laws: tuple[str, ...]  # the likeliest of each part
    classes: tuple[str, ...]  # all classes of growth, such as ``"linear"``; later ones grow faster (C)
    probabilities: Floats  # of the classes, over each parameter
    symbols: tuple[str, ...]  # parameters
    exponents: Floats
