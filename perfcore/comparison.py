"""Two models of the same parameters beside each other: where they cross, and which category makes the difference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from perfcore.default_models import plain_name
from perfcore.errors import DataError, OptionError
from perfcore.model import Model

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Comparison", "Crossing", "compare"]

Floats = npt.NDArray[np.float64]

CATEGORY = "category"  # the variable of models by category; their first level is the total
_SCAN = 256  # places between the ends of a line at which the models are compared in search of crossings
_SAME = 1e-9  # models that differ by less do not cross there, they agree


@dataclass(frozen=True)
class Crossing:
    """Where one model overtakes the other along a parameter.

    Parameters
    ----------
    at : float
        Value of the parameter.
    value : float
        Of both models there.
    below : int
        The model that is smaller before it: 0 or 1.
    held : mapping of str to float or str
        The other variables.
    """

    at: float
    value: float
    below: int
    held: Mapping[str, float | str]


@dataclass(frozen=True)
class Comparison:
    """Two models at n points.

    Parameters
    ----------
    names : pair of str
    unit : str or None
    along : str
        Parameter along which crossings were looked for: the first that varies, empty where none does.
    points : mapping of str to (n,) float or str
    totals : (n, 2) float
    categories : tuple of str
        Of either model; empty where one has none.
    of_category : (n, C, 2) float
        0 for a category that a model does not have.
    crossings : tuple of Crossing
    """

    names: tuple[str, str]
    unit: str | None
    along: str
    points: Mapping[str, npt.NDArray[Any]]
    totals: Floats
    categories: tuple[str, ...]
    of_category: Floats
    crossings: tuple[Crossing, ...]

    @property
    def ratio(self) -> Floats:
        """The second model over the first (n,)."""
        return self.totals[:, 1] / self.totals[:, 0]

    def largest(self, place: int) -> tuple[str, float] | None:
        """The category that makes most of the difference at a point, and its part of it, second less first."""
        if not self.categories:
            return None
        difference = np.diff(self.of_category[place])[:, 0]
        towards = difference * np.sign(self.totals[place, 1] - self.totals[place, 0])
        which = int(towards.argmax())
        return self.categories[which], float(difference[which])

    @property
    def title(self) -> str:
        """One line over a picture."""
        return f"{self.names[1]} against {self.names[0]}"

    @property
    def formula(self) -> str:
        """Nothing: a comparison has no formula."""
        return ""

    def summary(self) -> list[str]:
        """The crossings, or which model is smaller throughout."""
        lines = [self.title]
        for crossing in self.crossings:
            held = ", ".join(f"{name}={_text(value)}" for name, value in crossing.held.items())
            first, second = self.names[crossing.below], self.names[1 - crossing.below]
            lines.append(
                f"they cross at {self.along}={crossing.at:.4g}{f' ({held})' if held else ''}, {crossing.value:.4g}"
                f"{f' {self.unit}' if self.unit else ''}: {first} is smaller before, {second} after"
            )
        if not self.crossings and np.allclose(self.ratio, 1.0, rtol=_SAME, atol=0.0):
            lines.append(f"{self.names[0]} and {self.names[1]} agree at these points")
        elif not self.crossings:
            less = self.totals[:, 0] < self.totals[:, 1]
            if less.all() or not less.any():
                lines.append(f"{self.names[0 if less.all() else 1]} is nowhere larger; they do not cross")
            else:
                lines.append("which is smaller depends on the point; along one parameter they do not cross")
        return lines

    def tables(self) -> list[tuple[str, list[str], list[list[str]]]]:
        """Both models at the points, and their categories at the last of them."""
        rows = []
        for place in range(len(self.totals)):
            cells = [_text(values[place]) for values in self.points.values()]
            cells += [f"{value:.6g}" for value in self.totals[place]] + [f"{self.ratio[place]:.3f}"]
            if (most := self.largest(place)) is not None:
                cells += [most[0], f"{most[1]:+.4g}"]
            rows.append(cells)
        added = ["most of the difference", "of it"] if self.categories else []
        found = [("", [*self.points, *self.names, "ratio", *added], rows)]
        if self.categories:
            last = self.of_category[-1]
            order = np.argsort(-np.abs(last[:, 1] - last[:, 0]), kind="stable").tolist()
            where = ", ".join(f"{name}={_text(values[-1])}" for name, values in self.points.items())
            found.append(
                (
                    f"Categories at {where}",
                    ["category", *self.names, "difference"],
                    [
                        [self.categories[k], *(f"{v:.6g}" for v in last[k]), f"{last[k, 1] - last[k, 0]:+.4g}"]
                        for k in order[:40]
                    ],
                )
            )
        return found

    def to_dict(self) -> dict[str, Any]:
        """Everything, JSON-ready."""
        columns = {name: values.tolist() for name, values in self.points.items()}
        points = []
        for place, row in enumerate(zip(*columns.values(), strict=True)):
            entry = {**dict(zip(columns, row, strict=True)), "values": self.totals[place].tolist()}
            entry["ratio"] = float(self.ratio[place])
            if self.categories:
                entry["categories"] = dict(zip(self.categories, self.of_category[place].tolist(), strict=True))
            points.append(entry)
        return {
            "models": self.names,
            "unit": self.unit,
            "along": self.along,
            "crossings": [
                {"at": c.at, "value": c.value, "smaller_before": self.names[c.below], "held": dict(c.held)}
                for c in self.crossings
            ],
            "points": points,
        }

    def draw(self, figure: Figure, data: Any = None) -> None:
        """Draw both models along the parameter, and the difference by category."""
        from perfcore.comparison_picture import draw_comparison

        draw_comparison(self, figure)


def compare(one: Model, other: Model, points: Mapping[str, Any], names: tuple[str, str] = ("A", "B")) -> Comparison:
    """Compare two models at points.

    Parameters
    ----------
    one, other : Model
        Of the same parameters.
    points : mapping of str to (n,) float or str
        Parameters, and code or system where the models have several; not the category.
    names : pair of str

    Raises
    ------
    OptionError
        The models have different parameters, or a category is given.
    DataError
        The units differ.
    """
    numeric = [{s for s in model.variables if s not in model.levels} for model in (one, other)]
    if numeric[0] != numeric[1]:
        lists = [", ".join(sorted(symbols)) for symbols in numeric]
        raise OptionError(f"{names[0]} is a model of {lists[0]}, {names[1]} of {lists[1]}; the same are needed")
    if CATEGORY in points:
        raise OptionError("every category is compared; leave out --at category")
    units = [getattr(model, "unit", None) for model in (one, other)]
    if units[0] != units[1]:
        raise DataError(f"{names[0]} is in {units[0]}, {names[1]} in {units[1]}; convert the values and fit again")
    given = {name: np.atleast_1d(np.asarray(values)) for name, values in points.items()}
    arrays = np.broadcast_arrays(*given.values())
    columns: dict[str, npt.NDArray[Any]] = dict(zip(given, arrays, strict=True))
    totals = np.stack([_total(model, columns) for model in (one, other)], axis=1)
    if not np.isfinite(totals).all():
        raise DataError("a model has no value at one of the points; see `perf predict`")
    categories, of_category = _categories((one, other), columns)
    along = next((s for s in one.variables if s in numeric[0] and np.ptp(columns[s]) > 0.0), "")
    return Comparison(
        names=names,
        unit=units[0],
        along=along,
        points=columns,
        totals=totals,
        categories=categories,
        of_category=of_category,
        crossings=_crossings((one, other), columns, along) if along else (),
    )


def _total(model: Model, columns: Mapping[str, npt.NDArray[Any]]) -> Floats:
    """The model at points (n,), of all categories together."""
    if len(model.variables) == 1:
        return model.predict(columns[next(iter(model.variables))])
    here = {name: values for name, values in columns.items() if name in model.variables}
    if CATEGORY in model.levels:
        here[CATEGORY] = np.full(len(next(iter(columns.values()))), model.levels[CATEGORY][0])
    return model.predict(here)


def _categories(models: Sequence[Model], columns: Mapping[str, npt.NDArray[Any]]) -> tuple[tuple[str, ...], Floats]:
    """Categories of either model by their plain names, and their values (n, C, 2)."""
    n = len(next(iter(columns.values())))
    if not all(CATEGORY in model.levels for model in models):
        return (), np.empty((n, 0, 2))
    shown: dict[str, str] = {}
    for model in models:
        for name in model.levels[CATEGORY][1:]:
            shown.setdefault(plain_name(name), name)
    place = {name: number for number, name in enumerate(shown)}
    values = np.zeros((n, len(shown), 2))
    for which, model in enumerate(models):
        here = {name: column for name, column in columns.items() if name in model.variables}
        for name in model.levels[CATEGORY][1:]:
            values[:, place[plain_name(name)], which] = model.predict({**here, CATEGORY: np.full(n, name)})
    return tuple(shown.values()), values


def _crossings(
    models: tuple[Model, Model], columns: Mapping[str, npt.NDArray[Any]], along: str
) -> tuple[Crossing, ...]:
    """Changes of sign of the difference along one parameter, for each combination of the others."""
    from scipy.optimize import brentq

    held = [name for name in columns if name != along]
    low, high = float(columns[along].min()), float(columns[along].max())
    scan = np.geomspace(low, high, _SCAN) if low > 0.0 else np.linspace(low, high, _SCAN)
    found = []
    for kept in dict.fromkeys(zip(*(columns[name].tolist() for name in held), strict=True)) if held else [()]:
        fixed = dict(zip(held, kept, strict=True))

        def both(x: npt.ArrayLike, fixed: Mapping[str, Any] = fixed) -> Floats:
            at = np.atleast_1d(np.asarray(x, dtype=np.float64))
            here = {along: at, **{name: np.full(len(at), value) for name, value in fixed.items()}}
            return np.stack([_total(model, here) for model in models])

        first, second = both(scan)
        difference = np.where(np.abs(first - second) > _SAME * np.maximum(first, second), first - second, 0.0)
        differ = np.flatnonzero(difference)
        signs = np.sign(difference[differ])
        for k in np.flatnonzero(signs[:-1] != signs[1:]).tolist():
            at = float(brentq(lambda x: float(np.subtract(*both(x))[0]), scan[differ[k]], scan[differ[k + 1]]))
            found.append(Crossing(at, float(both(at)[0, 0]), 0 if signs[k] < 0 else 1, fixed))
    return tuple(found)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else f"{value:g}"
