"""Default models: the formulas that a category of lost cycles is usually fitted with, over one factor at a time.

Source: M. E. Crovella and T. J. LeBlanc, "Parallel performance prediction using lost cycles analysis", Supercomputing
1994: the default models of a category are simple and few, and a user who knows the application adds to them.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import msgspec

from perf_formulas.formula import read_toml
from perf_lost_cycles.default_models.linear_terms import linear_terms
from perf_tables.names import plain_name
from perfcore.base.errors import InputError, PerfError, UnknownNameError
from perfcore.base.files import write_bytes
from perfcore.hooks.registry import Entry, registry

ANY = "*"  # stands for every category, or for every factor
VARIABLE = "x"  # the factor in `DefaultModel.terms`


@dataclass(frozen=True)
class DefaultModel:
    """A formula that is linear in its coefficients, which are all of its names but the factor.

    Parameters
    ----------
    category : str
        What it is a model of; several names with ``|`` between them, or ``*`` for every category that has no models
        of its own.
    factor : str
        Symbol of what was varied, several with ``|`` between them, or ``*`` for any.
    formula : str
        Such as ``"a + b*P*log2(P)"``; the factor goes by any of its symbols or by ``x``.
    origin : str
        One line: where the form comes from.

    Attributes
    ----------
    terms : tuple of str
        What the coefficients multiply, in the order of the coefficients, as formulas of ``x``.
    coefficients : tuple of str
        Their names, in order of appearance.

    Raises
    ------
    FormulaError
        The text is no formula, is not linear in its coefficients, or has a term without a coefficient.

    Examples
    --------
    >>> DefaultModel("synchronization loss", "P", "a + b*P*log2(P)").terms
    ('1', 'x*log2(x)')
    >>> DefaultModel("*", "P", "a*(P - 1) + b").terms
    ('x - 1', '1')
    """

    category: str
    factor: str
    formula: str
    origin: str = ""
    terms: tuple[str, ...] = field(init=False)
    coefficients: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        terms = linear_terms(self.formula, [*_words(self.factor), VARIABLE], VARIABLE)
        object.__setattr__(self, "coefficients", tuple(terms))
        object.__setattr__(self, "terms", tuple(terms.values()))

    @classmethod
    def rows(cls, entry: Entry) -> list[dict[str, str]]:
        """The models of a registered set, as ``perf plugins NAME`` lists them."""
        return [
            {"category": each.category, "factor": each.factor, "formula": each.formula, "origin": each.origin}
            for each in read_models(entry.name)
        ]


class _ModelTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One ``[[model]]`` of a file."""

    category: str
    factor: str
    formula: str
    origin: str = ""


class _ModelsFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The keys of a file of default models."""

    model: list[_ModelTable]


def read_models(path_or_name: str | os.PathLike[str]) -> tuple[DefaultModel, ...]:
    """Default models of a file, or of a set that is registered."""
    name = os.fspath(path_or_name)
    sets = registry().entries("default_models")
    if name not in sets:
        if not name.lower().endswith(".toml"):
            raise UnknownNameError("set of default models", name, [*sets, "FILE.toml"])
        return _read_file(name)
    models = registry().load("default_models", name)
    if isinstance(models, (str, os.PathLike)):
        return _read_file(os.fspath(models))
    return tuple(DefaultModel(each.category, each.factor, each.formula, each.origin) for each in models)


def find_models(names: Iterable[str | os.PathLike[str]]) -> tuple[DefaultModel, ...]:
    """Default models of several files and sets, in their order."""
    return tuple(model for name in names for model in read_models(name))


def models_for(models: Sequence[DefaultModel], category: str, factor: str, *also: str) -> tuple[DefaultModel, ...]:
    """The models of a category over a factor, in order; of equal terms the first.

    A category that is named has its own models; every other one has those of ``*``. So has one whose own models are all
    of other factors. Names are compared without regard to case; ``_`` and ``-`` are blanks.
    """
    called = {plain_name(name) for name in (factor, *also)}
    matching = [model for model in models if model.factor == ANY or called & _plain_words(model.factor)]
    specific = [
        model for model in matching if model.category != ANY and plain_name(category) in _plain_words(model.category)
    ]
    chosen = specific or [model for model in matching if model.category == ANY]
    first: dict[tuple[str, ...], DefaultModel] = {}
    for model in chosen:
        first.setdefault(tuple(sorted(model.terms)), model)
    return tuple(first.values())


def write_models(models: Iterable[DefaultModel], path: str | os.PathLike[str]) -> None:
    """Write models to a TOML file that `read_models` reads, in their order, whole or not at all."""
    tables = []
    for model in models:
        values = {"category": model.category, "factor": model.factor, "formula": model.formula, "origin": model.origin}
        lines = [f"{key} = {_quoted(value)}" for key, value in values.items() if value or key != "origin"]
        tables.append("\n".join(["[[model]]", *lines]))
    write_bytes(path, ("\n\n".join(tables) + "\n" if tables else "model = []\n").encode())


def _read_file(name: str) -> tuple[DefaultModel, ...]:
    content = read_toml(name)
    try:
        tables = msgspec.convert(content, _ModelsFile).model
    except msgspec.ValidationError as error:
        raise InputError(
            name, f"{error}; [[model]] tables with category, factor, formula and origin are expected"
        ) from None
    if not tables:
        raise InputError(name, "there is no [[model]] in it")
    return tuple(_model(table, number, name) for number, table in enumerate(tables, 1))


def _model(table: _ModelTable, number: int, source: str) -> DefaultModel:
    where = f"model {number} ({table.category})"
    for key in ("category", "factor"):
        if not all(_words(getattr(table, key))):
            raise InputError(source, f"{where}: {key} is empty; give a name, or {ANY} for every {key}")
    try:
        return DefaultModel(table.category, table.factor, table.formula, table.origin)
    except PerfError as error:
        raise InputError(source, f"{where}: {error}") from None


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.split("|")]


@functools.lru_cache
def _plain_words(alternatives: str) -> frozenset[str]:
    return frozenset(plain_name(word) for word in _words(alternatives))


def _quoted(text: str) -> str:
    """A TOML basic string; JSON's escapes are TOML's."""
    return msgspec.json.encode(text).decode()
