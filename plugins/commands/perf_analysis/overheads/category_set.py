"""Overhead categories as a TOML file defines them: classes of states, and performance predicates over their counts."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import msgspec

from perf_formulas.formula import Formula, read_toml
from perf_formulas.parser import FormulaError
from perfcore.base.errors import InputError, UnknownNameError, key_first

STANDARD = Path(__file__).with_name("standard.toml")
GPU = Path(__file__).with_name("gpu.toml")
STREAMS = Path(__file__).with_name("streams.toml")

LOCATIONS, READY, WORK_EXISTS = "locations", "ready", "work_exists"
WAITING = "waiting_for_ranks"  # the class that a set has which tells waiting in collectives
_MOST_CATEGORIES = 62  # one bit of an int64 for each


@dataclass(frozen=True)
class Category:
    """One kind of cycles.

    Parameters
    ----------
    name : str
    classes : tuple of str
        Classes of states whose cycles belong to it while the predicate holds.
    predicate : Formula or None
        Over counts of locations; None holds always.
    text : str
        What it means, in a few words.
    """

    name: str
    classes: tuple[str, ...]
    predicate: Formula | None
    text: str


@dataclass(frozen=True)
class CategorySet:
    """Categories and the classes of states that they are made of.

    Parameters
    ----------
    categories : tuple of Category
    classes : dict of str to tuple of str
        Patterns of state names by class.
    counts : dict of str to tuple of str
        Patterns of state names by the name that predicates use.
    computing_states : str or None
        Class of states that no pattern names but the trace counts as computing.
    without_state : str
        Class of a location that is in no state.
    needs : tuple of str
        Classes and counts that a trace must have.
    source : str
        The file, for messages.
    counts_over : {"run", "device"}
        Whose locations predicates count: all, or those of the same GPU.
    """

    categories: tuple[Category, ...]
    classes: dict[str, tuple[str, ...]]
    counts: dict[str, tuple[str, ...]]
    computing_states: str | None
    without_state: str
    needs: tuple[str, ...]
    source: str
    counts_over: str = "run"

    @property
    def variables(self) -> tuple[str, ...]:
        """Names that the predicates use, each once."""
        names = (name for category in self.categories if category.predicate for name in category.predicate.names)
        return tuple(dict.fromkeys(names))


class _CategoryTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    name: str
    of: str | list[str]
    when: str | None = None
    text: str = ""


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    classes: dict[str, list[str]]
    category: list[_CategoryTable]
    counts: dict[str, list[str]] = {}
    computing_states: str | None = None
    without_state: str = "idle"
    needs: list[str] | None = None
    counts_over: Literal["run", "device"] = "run"


def read_categories(path: str | os.PathLike[str] | None = None) -> CategorySet:
    """Read a set of categories.

    Parameters
    ----------
    path : str or path, optional
        TOML file; by default the standard set.

    Raises
    ------
    InputError
        There is no such file, it is not TOML, a key is missing or of the wrong type, a predicate is no formula, or a
        name is used that the file does not define; with file and key.

    Examples
    --------
    >>> [category.name for category in read_categories().categories][:3]
    ['pure computation', 'load imbalance', 'insufficient parallelism']
    """
    chosen = path or STANDARD
    source = Path(chosen).name if chosen in (STANDARD, GPU, STREAMS) else os.fspath(chosen)
    try:
        file = msgspec.convert(read_toml(chosen, "`perf overheads --print-categories` prints one"), _File)
    except msgspec.ValidationError as error:
        raise InputError(source, key_first(error)) from None
    _check_names(file, source)
    categories = tuple(
        _category(file, table, f"category[{index}]", source) for index, table in enumerate(file.category)
    )
    classes, counts = (
        {name: tuple(patterns) for name, patterns in group.items()} for group in (file.classes, file.counts)
    )
    category_set = CategorySet(
        categories, classes, counts, file.computing_states, file.without_state, (), source, file.counts_over
    )
    used = [name if name != WORK_EXISTS else "computing" for name in category_set.variables]
    needed = [name for name in used if name in classes or name in counts] if file.needs is None else file.needs
    return replace(category_set, needs=tuple(needed))


def _check_names(file: _File, source: str) -> None:
    """Refuse names that a predicate could not use, that mean two things, or that nothing is defined under."""
    if not file.category:
        raise InputError(source, "category: there is none; write a [[category]] table for each")
    if len(file.category) > _MOST_CATEGORIES:
        raise InputError(source, f"category: {len(file.category)} are defined; at most {_MOST_CATEGORIES} can be")
    for group, names in (("classes", file.classes), ("counts", file.counts)):
        for name in names:
            if not _is_variable(name):
                raise InputError(source, f"{group}.{name}: a name of letters, digits and _ is expected")
            if name in (LOCATIONS, READY, WORK_EXISTS) or (group == "counts" and name in file.classes):
                raise InputError(source, f"{group}.{name}: the name has a meaning already; choose another")
    _known(file.without_state, file.classes, "class", "without_state", source)
    if file.computing_states is not None:
        _known(file.computing_states, file.classes, "class", "computing_states", source)
    for name in file.needs or ():
        _known(name, [*file.classes, *file.counts], "class or count", "needs", source)
    category_names: set[str] = set()
    for table in file.category:
        if table.name in category_names:
            raise InputError(source, f"category: two are named {table.name!r}")
        category_names.add(table.name)


def _category(file: _File, table: _CategoryTable, key: str, source: str) -> Category:
    classes = (table.of,) if isinstance(table.of, str) else tuple(table.of)
    for name in classes:
        _known(name, file.classes, "class", f"{key}.of", source)
    if table.when is None:
        return Category(table.name, classes, None, table.text)
    try:
        return Category(table.name, classes, Formula(table.when), table.text)
    except FormulaError as error:
        raise InputError(source, f"{key}.when: {error}") from None


def _known(name: str, names: list[str] | dict[str, list[str]], kind: str, key: str, source: str) -> None:
    if name not in names:
        raise InputError(source, f"{key}: {UnknownNameError(kind, name, names)}")


def _is_variable(name: str) -> bool:
    try:
        return Formula(name).names == (name,)
    except FormulaError:
        return False
