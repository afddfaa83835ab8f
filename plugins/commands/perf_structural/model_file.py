"""What stands in the TOML file of a structural model."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import numpy as np
from scipy.special import ndtri

from perf_formulas.formula import read_toml
from perfcore.base.arrays import Floats
from perfcore.base.errors import DataError, PerfError, UnknownNameError, key_first
from perfcore.models.model import Model, load
from perfcore.stochastic import StochasticValue, default_representation, of_moments
from perfcore.tables import printable

# Both tails beyond an interval of this coverage are what a run time is planned by, so a normal is made to agree with
# the model there, and not at one standard deviation.
_COVERAGE = 0.95
_ASYMMETRY = 0.2
# Of these a lopsided one is made.
_COVERAGES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, _COVERAGE, 0.98, 0.99, 0.998, 0.9998)
_Content = TypeVar("_Content", bound=msgspec.Struct)


class StructuralModelError(PerfError):
    """A structural model that cannot be read or evaluated; one line with the file, the key and what is accepted."""


@contextmanager
def error_context(source: str, key: str) -> Iterator[None]:
    """Put the file and the key before the message of an error, once."""
    try:
        yield
    except StructuralModelError:
        raise
    except PerfError as error:
        named = printable(source)  # a formula that was typed may hold anything
        where = f"{named}: {key}".removeprefix(": ") if key != "equation" or source.endswith(".toml") else named
        raise StructuralModelError(f"{where}: {error}") from None


def predict_fitted(model: Model, points: Sequence[dict[str, float | str]]) -> list[tuple[StochasticValue, list[str]]]:
    """Return a distribution at each point, a number if the model has no interval, and notes about it."""

    def bounds(coverage: float) -> Floats:
        """Return the value, lower and upper bound (n, 3)."""
        return np.reshape(model.predict_array(coordinates, interval=coverage), (len(points), 3))

    columns = {name: [point[name] for point in points] for name in model.variables}
    for name, levels in model.levels.items():
        for level in columns[name]:
            if level not in levels:
                raise UnknownNameError(name, str(level), levels)
    coordinates = next(iter(columns.values())) if len(columns) == 1 else columns
    rows = bounds(_COVERAGE)
    finite = np.asarray(np.isfinite(rows[:, 1:]).all(axis=1))
    skew = np.abs(rows[:, 1] + rows[:, 2] - 2.0 * rows[:, 0])
    lopsided = np.asarray(finite & (skew > _ASYMMETRY * (rows[:, 2] - rows[:, 1])))
    further = list(map(bounds, _COVERAGES)) if lopsided.any() else []
    remarks = model.remarks(coordinates) or [""] * len(points)
    predictions = []
    for row, (point, remark) in enumerate(zip(points, remarks, strict=True)):
        where = ", ".join(f"{name}={at if isinstance(at, str) else f'{at:g}'}" for name, at in point.items())
        mean, lower, upper = rows[row].tolist()
        if not math.isfinite(mean):
            raise DataError(f"the model has no value at {where}")
        notes = [f"at {where}: {remark}"] if remark else []
        if lopsided[row]:
            value = _between(mean, np.array([each[row, 1:] for each in further]))
        elif finite[row]:
            value = of_moments(mean, (upper - lower) / (2.0 * float(ndtri(0.5 + _COVERAGE / 2.0))))
        else:
            value = of_moments(mean, 0.0)
            notes.append(f"at {where} the model has no interval: taken as one number")
        predictions.append((value, notes))
    return predictions


def _between(middle: float, bounds: Floats) -> StochasticValue:
    """Return the histogram whose quantiles are a middle and the ends (k, 2) of intervals of `_COVERAGES`."""
    shares = np.array(_COVERAGES)
    levels = np.concatenate([(1.0 - shares[::-1]) / 2.0, [0.5], (1.0 + shares) / 2.0])
    places = np.maximum.accumulate(np.concatenate([bounds[::-1, 0], [middle], bounds[:, 1]]))
    levels[0], levels[-1] = 0.0, 1.0
    kept = np.concatenate([[True], np.diff(places) > 0.0])
    content = {"edges": places[kept].tolist(), "masses": np.diff([*levels[kept][:-1], 1.0]).tolist()}
    histogram: StochasticValue = default_representation("distributions").from_dict(content)
    return histogram


class Component(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A part of a model: an equation, or a fitted model at a place."""

    equation: str | None = None
    unit: str | None = None  # of the result: it is converted; a result without unit takes it as its label
    over: str | None = None
    model: Any = None  # A fitted model: its file or, from Python, itself
    at: dict[str, float | str] = {}


class CandidateTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One allocation to choose from: inputs that take the place of the model's."""

    name: str
    inputs: dict[str, Any]


class ModelFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The keys of a model file."""

    equation: str
    name: str = ""
    unit: str | None = None
    components: dict[str, Any] = {}
    inputs: dict[str, Any] = {}
    correlations: dict[str, float] = {}
    candidate: list[CandidateTable] = []
    recalibration: str | None = None


class _CandidatesFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A further file: several candidates, or the inputs of one that is named after the file."""

    candidate: list[CandidateTable] = []
    inputs: dict[str, Any] = {}


def read_as(content_type: type[_Content], path: str | os.PathLike[str]) -> _Content:
    """Return the content of a file, its tables as yet unread."""
    content = read_toml(path)
    known = [field.name for field in msgspec.structs.fields(content_type)]
    if unknown := next((key for key in content if key not in known), None):
        raise StructuralModelError(f"{os.fspath(path)}: {UnknownNameError('key', unknown, known)}")
    try:
        return msgspec.convert(content, content_type)
    except msgspec.ValidationError as error:
        raise StructuralModelError(f"{os.fspath(path)}: {key_first(error)}") from None


def read_candidates(path: str | os.PathLike[str]) -> dict[str, Mapping[str, Any]]:
    """Return candidates of a file: ``[[candidate]]`` tables, or ``[inputs]`` of one named after the file."""
    file = read_as(_CandidatesFile, path)
    if bool(file.candidate) == bool(file.inputs):
        raise StructuralModelError(f"{os.fspath(path)}: either [[candidate]] tables or one table [inputs] is expected")
    return by_name(file.candidate, os.fspath(path)) if file.candidate else {Path(path).stem: file.inputs}


def by_name(candidates: Sequence[CandidateTable], source: str) -> dict[str, Mapping[str, Any]]:
    """Return inputs of each candidate."""
    inputs_by_name: dict[str, Mapping[str, Any]] = {}
    for candidate in candidates:
        if candidate.name in inputs_by_name:
            raise StructuralModelError(f"{source}: candidate: two are named {candidate.name!r}")
        inputs_by_name[candidate.name] = candidate.inputs
    return inputs_by_name


def read_component(entry: Any, folder: Path) -> Component:
    """Return a component as a model file or a program gives it; a fitted model is loaded."""
    if isinstance(entry, str):
        return Component(equation=entry)
    if not isinstance(entry, Component):
        try:
            entry = msgspec.convert(entry, Component)
        except msgspec.ValidationError as error:
            raise DataError(key_first(error)) from None
    component: Component = entry
    if (component.equation is None) == (component.model is None):
        raise DataError("either an equation or a model is expected")
    if component.model is None:
        if component.at:
            raise DataError("'at' belongs to a model")
        return component
    if component.over is not None:
        raise DataError("'over' belongs to an equation")
    model = component.model if isinstance(component.model, Model) else load(folder / str(component.model))
    for name in component.at:
        if name not in model.variables:
            raise UnknownNameError("variable", name, model.variables)
    for name in model.variables:
        if name not in component.at:
            choices = f", one of {', '.join(model.levels[name])}" if name in model.levels else ""
            raise DataError(f"the model needs {name}{choices}; give at = {{{name} = ...}}")
    return msgspec.structs.replace(component, model=model)
