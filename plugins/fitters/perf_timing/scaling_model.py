"""What models of codes on systems have in common: their data, their scale, and where they are asked to predict."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import msgspec
import numpy as np
import numpy.typing as npt

import perfcore
from perf_statistics.goodness import relative_errors
from perf_tables.points import Places, describe_outside, places
from perf_timing.options import ScalingOptions
from perf_timing.prepared import Preparation, Prepared, characteristics, design, prepare, span
from perfcore.base.arrays import Booleans, Floats, Ints
from perfcore.base.errors import DataError, PerfError, listing
from perfcore.data.observations import Observations
from perfcore.hooks.options import build, to_dict
from perfcore.models.model import Model, Origin, Points
from perfcore.models.points import Observed, measurements_for, observed_by_pair
from perfcore.tables import point_text


def some_places(places: Places, rows: Ints | Booleans) -> Places:
    """Return some of the places."""
    return Places({name: x[rows] for name, x in places.points.items()}, places.code[rows], places.system[rows])


class FittedObservations(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The observations that a model was fitted to, as columns; see `perfcore.data.observations.Observations`."""

    points: dict[str, tuple[float, ...]]
    value: tuple[float, ...]
    code: tuple[int, ...]
    system: tuple[int, ...]
    repetitions: tuple[int, ...]
    spread: tuple[float | None, ...]

    def __post_init__(self) -> None:
        columns = (*self.points.values(), self.code, self.system, self.repetitions, self.spread)
        if not self.value or any(len(column) != len(self.value) for column in columns):
            raise ValueError("the observations have columns of different lengths, or none")

    @classmethod
    def of(cls, observed: Observations) -> FittedObservations:
        return cls(
            points={symbol: tuple(values.tolist()) for symbol, values in observed.points.items()},
            **{name: tuple(getattr(observed, name).tolist()) for name in ("value", "code", "system", "repetitions")},
            spread=tuple(None if np.isnan(s) else float(s) for s in observed.spread),
        )


def common_fields(prepared: Prepared, fitter: str, options: ScalingOptions, functions: tuple[str, ...]) -> Any:
    """Return what all models of a table have: the data, and the scale of the fit."""
    observed = prepared.seen
    return {
        "origin": Origin(fitter, to_dict(options), observed.source, observed.fingerprint(), perfcore.__version__),
        "columns": dict(observed.columns),
        **{name: getattr(observed, name) for name in ("value_name", "unit", "codes", "systems", "notes")},
        "preparation": prepared.preparation,
        "relative": prepared.weights == "relative",
        "functions": functions,
        "observations": FittedObservations.of(observed),
        "root_weights": tuple(prepared.root_weight.tolist()),
    }


class ScalingModel(Model, frozen=True, forbid_unknown_fields=True):
    """A model of the time of codes on systems over parameters."""

    columns: dict[str, str]  # parameters: symbol in formulas to the column's name in the data
    value_name: str
    unit: str | None
    preparation: Preparation  # to the scale in which the model was fitted
    relative: bool  # the errors in that scale are proportional to the values
    codes: tuple[str, ...]
    systems: tuple[str, ...]
    functions: tuple[str, ...]  # characteristic functions that occur
    notes: tuple[str, ...]  # what a user should know about the rows of the data
    observations: FittedObservations
    root_weights: tuple[float, ...]  # square roots of the observations' weights

    is_joint: ClassVar[bool] = False  # whether work of codes and speed of systems are shared by all pairs
    needed_options: ClassVar[tuple[str, ...]] = ("weights",)  # of the fit, which predictions and tables go by

    def __post_init__(self) -> None:
        if missing := set(self.needed_options) - set(self.origin.options):
            raise ValueError(f"of the fit's options {listing(sorted(missing), 3)} is missing")
        observed = self.observations
        if set(observed.points) != set(self.columns) or not self.columns:
            raise ValueError("the observations are not those of the model's parameters")
        if len(self.root_weights) != len(observed.value):
            raise ValueError("there are not as many weights as observations")
        for indices, names in ((observed.code, self.codes), (observed.system, self.systems)):
            if not names or min(indices) < 0 or max(indices) >= len(names):
                raise ValueError("an observation is of a code or system that has no name")
        for step in self.preparation.steps:
            if step.of == "parameter" and step.name not in self.columns:
                raise ValueError(f"the scale needs {step.name!r}, which is no parameter of the model")
        try:
            characteristics(self.functions, self.columns)
        except PerfError as error:
            raise ValueError(str(error)) from None

    @property
    def variables(self) -> Mapping[str, str]:
        names = dict(self.columns)
        for role, labels in (("code", self.codes), ("system", self.systems)):
            if len(labels) > 1:
                names[role] = role
        return names

    @property
    def levels(self) -> Mapping[str, tuple[str, ...]]:
        every = {"code": self.codes, "system": self.systems}
        return {name: every[name] for name in self.variables if name in every}

    @property
    def ranges(self) -> Mapping[str, tuple[float, float]]:
        return {symbol: (min(values), max(values)) for symbol, values in self.observations.points.items()}

    def places(self, points: Points) -> Places:
        """Checked points; see `perf_tables.arguments`."""
        return places(points, self.columns, self.codes, self.systems)

    @property
    def measured_places(self) -> Places:
        """Where the model was fitted."""
        observed = self.observations
        return Places(
            {symbol: np.array(values) for symbol, values in observed.points.items()},
            np.array(observed.code, dtype=np.int64),
            np.array(observed.system, dtype=np.int64),
        )

    def cells(self, places: Places) -> Ints:
        """Return which pair of a code and a system each place is of, code by code (n,)."""
        return places.code * len(self.systems) + places.system

    def factor(self, places: Places) -> Floats:
        """Return what a value in the user's unit is multiplied by in the scale of the fit (n,)."""
        return self.preparation.factor(places.points, *self._names(places))

    def _names(self, places: Places) -> tuple[list[str], list[str]]:
        return [self.codes[k] for k in places.code], [self.systems[k] for k in places.system]

    def scaled_design(self, places: Places, functions: tuple[str, ...] | None = None) -> Floats:
        """Return what coefficients in the scale of the fit are multiplied by (n, number of functions)."""
        functions = self.functions if functions is None else functions
        values = design(characteristics(functions, self.columns), places.points)
        wrong = ~np.isfinite(values)
        if wrong.any():
            place, which = (int(number) for number in np.argwhere(wrong)[0])
            names = self.shown_names
            point = ", ".join(f"{names[symbol]}={column[place]:g}" for symbol, column in places.points.items())
            raise DataError(f"function {functions[which]!r} is {values[place, which]} at {point}")
        return values * self.preparation.of_parameters.factor(places.points, *self._names(places))[:, None]

    @property
    def fitted_points(self) -> dict[str, npt.NDArray[Any]]:
        """Where the model was fitted, by variable (m,)."""
        observed = self.observations
        points: dict[str, npt.NDArray[Any]] = {symbol: np.array(values) for symbol, values in observed.points.items()}
        for role, names, indices in (("code", self.codes, observed.code), ("system", self.systems, observed.system)):
            if role in self.variables:
                points[role] = np.array(names)[list(indices)]
        return points

    def remarks(self, points: Points) -> list[str]:
        places, measured_places = self.places(points), self.measured_places
        lines = [""] * len(places)
        cells, measured = self.cells(places), self.cells(measured_places)
        for cell in np.unique(cells):
            rows, in_cell = np.flatnonzero(cells == cell), measured == cell
            texts = ["extrapolated: no data for this code on this system"] * len(rows)
            if in_cell.any():
                known = some_places(measured_places, in_cell).points
                ranges = {symbol: (values.min(), values.max()) for symbol, values in known.items()}
                texts = describe_outside(some_places(places, rows).points, ranges, self.shown_names)
            for place, text in zip(rows.tolist(), texts, strict=True):
                lines[place] = text
        return lines

    def new_weights(self, scaled: Floats) -> Floats:
        """Return the square roots of the weights of new observations with these values in the scale of the fit (n,)."""
        return 1.0 / np.abs(scaled) if self.relative else np.ones(len(scaled))

    def errors(self) -> Floats:
        return relative_errors(self.predict(self.fitted_points), np.array(self.observations.value))

    def describe(self, place: int) -> str:
        """Return one observation as a person reads it."""
        observed = self.observations
        pairs = ((self.codes[observed.code[place]], self.codes), (self.systems[observed.system[place]], self.systems))
        names = [name for name, labels in pairs if len(labels) > 1]
        where = point_text({self.shown_names[symbol]: values[place] for symbol, values in observed.points.items()})
        return f"{' on '.join(names)}, {where}" if names else where

    @property
    def coefficient_unit(self) -> str | None:
        """Unit of a coefficient in the scale of the fit; multiplying by a parameter does not change it."""
        constants = [step.text for step in self.preparation.steps if step.of != "parameter"]
        return None if self.unit is None else " ".join([self.unit, *constants])

    def in_unit(self, terms: str) -> str:
        """Return a sum of terms of the scale of the fit as one of the user's unit."""
        undone = [
            f"* {step.name}" if step.of == "code" else f"/ {step.name}"
            for step in self.preparation.steps
            if step.of != "parameter"
        ]
        return f"({terms}) {' '.join(undone)}" if undone else terms

    def data_lines(self) -> list[str]:
        """Return what was measured and in which scale it was fitted."""
        names = self.shown_names
        over = ", ".join(names[s] if names[s] == c else f"{s}={c}" for s, c in self.columns.items())
        unit = f" [{self.unit}]" if self.unit else ""
        lines = [
            f"{len(self.observations.value):,} observations of {self.value_name}{unit} over {over}"
            + (f"; codes: {listing(self.codes, 8)}" if len(self.codes) > 1 else "")
            + (f"; systems: {listing(self.systems, 8)}" if len(self.systems) > 1 else "")
        ]
        weights, how = self.origin.options["weights"], ""
        if weights not in ("auto", "equal"):
            how = f", weights: {weights}"
        elif weights == "auto" and self.relative:  # the data decided it
            scaled = span(np.array(self.observations.value) * self.factor(self.measured_places))
            how = f"; weights: relative (values span {scaled:,.0f}x, 5th to 95th percentile)"
        lines.append(f"{self.preparation.line(self.columns)}{how}; predictions in original units")
        return [*lines, *self.notes]

    def observed(self, data: Any, where: str | None = None) -> Observed:
        options = self.origin.options
        roles = {role: options.get(role) for role in ("value", "code", "system", "unit")}
        runs = measurements_for(self, data, options.get("where") if where is None else where, roles)
        joining = {name: options[name] for name in ("aggregate", "duplicates") if name in options}
        return observed_by_pair(self, runs, **joining)

    def check_data(self, data: Any) -> Observations:
        """Return observations of other data for this model's pictures."""
        options = self.origin.options
        names = {field: options[field] for field in ScalingOptions.__dataclass_fields__ if field in options}
        names["weights"] = "equal"  # points are wanted, and other data need not have repeated runs
        observed = prepare(data, build(ScalingOptions, names, self.kind), self.kind).seen
        if observed.unit != self.unit:
            raise DataError(f"{observed.source}: the values are in {observed.unit}, those of the model in {self.unit}")
        return observed
