"""What stands in the TOML file of a structural model."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from perf_formulas.formula import read_toml
from perf_structural.fitted import check_places
from perf_structural.mistakes import StructuralModelError
from perfcore.base.errors import DataError, UnknownNameError, key_first
from perfcore.models.model import Model, load

_Content = TypeVar("_Content", bound=msgspec.Struct)


class Component(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A part of a model: an equation, or a fitted model at a place.

    Attributes
    ----------
    equation : str, optional
    unit : str, optional
        Of the result: it is converted; a result without unit takes it as its label.
    over : str, optional
        The index over which ``sum_over``, ``max_over`` and ``min_over`` reduce where a part has several.
    model : str or Model, optional
        A fitted model: its file or, from Python, itself.
    at : dict
        For each variable of the fitted model a number, an equation over inputs, or the name of a level.
    """

    equation: str | None = None
    unit: str | None = None
    over: str | None = None
    model: Any = None
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
    """A file beside the model's: several candidates, or the inputs of one that is named after the file."""

    candidate: list[CandidateTable] = []
    inputs: dict[str, Any] = {}


def _read(path: str | os.PathLike[str], content_type: type[_Content]) -> _Content:
    content = read_toml(path)
    known = [field.name for field in msgspec.structs.fields(content_type)]
    if unknown := next((key for key in content if key not in known), None):
        raise StructuralModelError(f"{os.fspath(path)}: {UnknownNameError('key', unknown, known)}")
    try:
        return msgspec.convert(content, content_type)
    except msgspec.ValidationError as error:
        raise StructuralModelError(f"{os.fspath(path)}: {key_first(error)}") from None


def read_model_file(path: str | os.PathLike[str]) -> ModelFile:
    """The content of a model file, its tables as yet unread."""
    return _read(path, ModelFile)


def read_candidates(path: str | os.PathLike[str]) -> dict[str, Mapping[str, Any]]:
    """Candidates of a file of their own: ``[[candidate]]`` tables, or ``[inputs]`` of one named after the file.

    Raises
    ------
    InputError, StructuralModelError
        As `read_model_file`.
    """
    file = _read(path, _CandidatesFile)
    if bool(file.candidate) == bool(file.inputs):
        raise StructuralModelError(f"{os.fspath(path)}: either [[candidate]] tables or one table [inputs] is expected")
    return by_name(file.candidate, os.fspath(path)) if file.candidate else {Path(path).stem: file.inputs}


def by_name(candidates: Sequence[CandidateTable], source: str) -> dict[str, Mapping[str, Any]]:
    """Inputs of each candidate."""
    inputs_by_name: dict[str, Mapping[str, Any]] = {}
    for candidate in candidates:
        if candidate.name in inputs_by_name:
            raise StructuralModelError(f"{source}: candidate: two are named {candidate.name!r}")
        inputs_by_name[candidate.name] = candidate.inputs
    return inputs_by_name


def read_component(entry: Any, folder: Path) -> Component:
    """A component as a model file or a program gives it; a fitted model is loaded."""
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
    check_places(model, tuple(component.at))
    return msgspec.structs.replace(component, model=model)
