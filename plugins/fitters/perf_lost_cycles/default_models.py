"""Default models: the formulas that a category of lost cycles is usually fitted with, over one factor at a time.

Source: M. E. Crovella and T. J. LeBlanc, "Parallel performance prediction using lost cycles analysis", Supercomputing
1994: the default models of a category are simple and few, and a user who knows the application adds to them.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from perf_formulas.formula import Formula, read_toml
from perf_formulas.parser import (
    INFIX,
    PREFIX,
    FormulaError,
    Node,
    Number,
    Operation,
    Parser,
    Variable,
    replaced,
    variables,
    written,
)
from perfcore.base.errors import InputError, PerfError, UnknownNameError, listing
from perfcore.base.files import write_bytes
from perfcore.data.columns import plain_name
from perfcore.hooks.registry import Entry, registry

STANDARD_MODELS = str(Path(__file__).with_name("standard.toml"))
ANY = "*"  # stands for every category, or for every factor
VARIABLE = "x"  # the factor in `DefaultModel.terms`

# What coefficients multiply, by coefficient; under the empty name the part without one.
_Linear = dict[str, Node]
_ONE = Number(1.0)


def linear_terms(text: str, factor: Collection[str], variable: str) -> dict[str, str]:
    """Return what each coefficient of a formula multiplies."""
    formula = Formula(text)
    called = {name.casefold() for name in factor}
    names = {name: Variable(variable) for name in formula.names if name.casefold() in called}
    tree = replaced(Parser(formula.text).formula(), names)
    coefficients = [name for name in formula.names if name not in names]
    title = f"default model {formula.canonical!r}"
    if not coefficients:
        raise FormulaError(f"{title} has no coefficient; write for example a*{variable} + b")
    parts = _expanded(tree, frozenset(coefficients), title)
    left = parts.pop("", None)
    if left is not None:
        raise FormulaError(f"{title}: the term {written(left)!r} has no coefficient; give it one, as in a*{variable}")
    empty = [name for name in coefficients if name not in parts]
    if empty:
        raise FormulaError(f"{title}: coefficient {empty[0]!r} cancels out")
    return {name: Formula(written(parts[name])).canonical for name in coefficients}


def _expanded(node: Node, coefficients: frozenset[str], title: str) -> _Linear:
    """Return the tree as a sum of parts, by structure; raises where a coefficient is not a factor of a term."""
    if not coefficients.intersection(variables(node)):
        return {} if node == Number(0.0) else {"": node}
    match node:
        case Variable(name):
            return {name: _ONE}
        case Operation(rule, (operand,)) if rule is PREFIX["-"]:
            parts = _expanded(operand, coefficients, title)
            return {name: Operation(rule, (part,)) for name, part in parts.items()}
        case Operation(rule, (left, right)) if rule in (INFIX["+"], INFIX["-"]):
            total = _expanded(left, coefficients, title)
            for name, part in _expanded(right, coefficients, title).items():
                if name in total:
                    total[name] = Operation(rule, (total[name], part))
                else:
                    total[name] = Operation(PREFIX["-"], (part,)) if rule.symbol == "-" else part
            return total
        case Operation(rule, (left, right)) if rule is INFIX["*"]:
            first, second = (_expanded(operand, coefficients, title) for operand in (left, right))
            if not first or not second:  # times 0
                return {}
            if set(first) == {""}:
                return {name: _product(first[""], part) for name, part in second.items()}
            if set(second) == {""}:
                return {name: _product(part, second[""]) for name, part in first.items()}
        case Operation(rule, (left, right)) if rule is INFIX["/"] and not coefficients.intersection(variables(right)):
            return {name: Operation(rule, (part, right)) for name, part in _expanded(left, coefficients, title).items()}
    names = [name for name in dict.fromkeys(variables(node)) if name in coefficients]
    raise FormulaError(
        f"{title} is not linear in {listing(names)}, see {written(node)!r}; every name that is not the factor's is a "
        "coefficient, which may only multiply a term, as in a + b*x^2"
    )


def _product(left: Node, right: Node) -> Node:
    if left == _ONE:
        return right
    return left if right == _ONE else Operation(INFIX["*"], (left, right))


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
        Such as ``"a + b*P*log2(P)"``; the factor is any of its symbols or ``x``.
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
        terms = linear_terms(self.formula, [*words_of(self.factor), VARIABLE], VARIABLE)
        object.__setattr__(self, "coefficients", tuple(terms))
        object.__setattr__(self, "terms", tuple(terms.values()))

    @classmethod
    def rows(cls, entry: Entry) -> list[dict[str, str]]:
        """Return the models of a registered set, as ``perf plugins NAME`` lists them."""
        keys = ("category", "factor", "formula", "origin")
        return [{key: getattr(each, key) for key in keys} for each in read_models(entry.name)]


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
    """Return the default models of a file, or of a set that is registered."""
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
    """Return the default models of several files and sets, in their order."""
    return tuple(model for name in names for model in read_models(name))


def models_for(models: Sequence[DefaultModel], category: str, factor: str, *also: str) -> tuple[DefaultModel, ...]:
    """Return the models of a category over a factor, in order; of equal terms the first.

    A category that is named has its own models; every other one has those of ``*``. So has one whose own models are all
    of other factors. Names are compared without regard to case; ``_`` and ``-`` are blanks.
    """
    called = {plain_name(name) for name in (factor, *also)}
    matching = [model for model in models if model.factor == ANY or called & plain_words(model.factor)]
    specific = [m for m in matching if m.category != ANY and plain_name(category) in plain_words(m.category)]
    chosen = specific or [model for model in matching if model.category == ANY]
    first: dict[tuple[str, ...], DefaultModel] = {}
    for model in chosen:
        first.setdefault(tuple(sorted(model.terms)), model)
    return tuple(first.values())


def write_models(models: Iterable[DefaultModel], path: str | os.PathLike[str]) -> None:
    """Write models to a TOML file that `read_models` reads, in their order, whole or not at all."""
    tables = []
    for model in models:
        values = {"category": model.category, "factor": model.factor, "formula": model.formula}
        values |= {"origin": model.origin} if model.origin else {}
        # JSON's escapes are those of TOML's basic strings.
        lines = [f"{key} = {msgspec.json.encode(value).decode()}" for key, value in values.items()]
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
    models = []
    for number, table in enumerate(tables, 1):
        where = f"model {number} ({table.category})"
        for key in ("category", "factor"):
            if not all(words_of(getattr(table, key))):
                raise InputError(name, f"{where}: {key} is empty; give a name, or {ANY} for every {key}")
        try:
            models.append(DefaultModel(table.category, table.factor, table.formula, table.origin))
        except PerfError as error:
            raise InputError(name, f"{where}: {error}") from None
    return tuple(models)


def words_of(text: str) -> list[str]:
    """Return alternatives with ``|`` between them."""
    return [word.strip() for word in text.split("|")]


@functools.lru_cache
def plain_words(alternatives: str) -> frozenset[str]:
    """Return `words_of` in the spelling by which they are compared."""
    return frozenset(plain_name(word) for word in words_of(alternatives))
