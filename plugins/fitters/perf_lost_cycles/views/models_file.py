"""The user's file of default models, changed so that one category has the wanted formulas over one factor.

Registered sets and other people's files stay as they are. As long as formulas are only added, the user's file holds the
additions and stands beside the sets. When one is taken away that comes from elsewhere, the user's file takes over all
models, and the others are no longer named: a set cannot say that a model of another set is void.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from perf_formulas.formula import Formula
from perf_lost_cycles.default_models.sets import (
    ANY,
    VARIABLE,
    DefaultModel,
    find_models,
    models_for,
    read_models,
)
from perf_tables.categories.plain_name import plain_name
from perfcore.base.errors import DataError, PerfError


def models_file(names: Sequence[str], model_file: Path | None) -> Path:
    """The file that edits go to: the last one of the model, or a new one beside the model's own file."""
    files = [name for name in names if name.lower().endswith(".toml")]
    if files:
        return Path(files[-1])
    return Path("models.toml") if model_file is None else model_file.with_name(f"{model_file.stem}-models.toml")


def check_formulas(lines: Sequence[str], symbol: str, levels: Sequence[float]) -> None:
    """Refuse formulas that cannot be default models of a factor; one line for each that is wrong."""
    wrong = [text for text in formula_mistakes(lines, symbol, levels) if text]
    if not any(lines):
        wrong.append(f"no formula is left; give at least one, such as a + b*{symbol}")
    if wrong:
        raise DataError("\n".join(wrong))


def formula_mistakes(lines: Sequence[str], symbol: str, levels: Sequence[float]) -> list[str]:
    """For each formula what is wrong with it as a default model; empty where nothing is, or where there is none.

    It is no formula, not linear in its coefficients, not finite at a level, or there twice; with the number of the line
    and the column of the mistake.
    """
    mistakes, first_lines = [], dict[tuple[str, ...], int]()
    for number, line in enumerate(lines, 1):
        if not line:
            mistakes.append("")
            continue
        try:
            terms = DefaultModel(ANY, symbol, line).terms
        except PerfError as error:
            mistakes.append(f"line {number}: {error}")
            continue
        first = first_lines.setdefault(tuple(sorted(terms)), number)
        wrong = "" if first == number else f" has the terms of line {first}; leave one of them out"
        for term in terms:
            infinite = [level for level in levels if not _is_finite(term, level)]
            if infinite and not wrong:
                term_text = Formula(term).substituted({VARIABLE: Formula(symbol)}).canonical
                wrong = f": {term_text} is not finite at {symbol}={infinite[0]:g}, which was measured"
        mistakes.append(f"line {number}: {line!r}{wrong}" if wrong else "")
    return mistakes


def edited_models(
    names: Sequence[str], file: Path, category: str, symbols: Sequence[str], factor: str, formulas: Sequence[str],
    origin: str,
) -> tuple[tuple[str, ...], tuple[DefaultModel, ...]]:  # fmt: skip
    """Sets and files of the model after an edit, the user's file last, and what that then holds.

    A file that holds nothing any more is not among them: no fit would accept it.
    """
    others = [name for name in names if not _is(name, file)]
    file_models = list(read_models(file)) if file.exists() else []
    foreign = list(find_models(others))
    # The order in which a fit reads them decides of which of two equal models the origin is shown.
    everything = find_models(names) if len(others) < len(names) else (*foreign, *file_models)
    present = models_for(everything, category, factor)
    by_terms = {_terms(model.formula, factor): model for model in present}
    kept = {_terms(line, factor) for line in formulas} & set(by_terms)
    shared = bool(present) and all(model.category == ANY for model in present)
    added = [DefaultModel(category, factor, line, origin) for line in formulas if _terms(line, factor) not in by_terms]
    if shared and (added or len(kept) < len(present)):
        # A category that is named has its own models only, so that it keeps of the shared ones what it is given.
        copies = [_narrowed(model, category, [factor]) for terms, model in by_terms.items() if terms in kept]
        return (*others, str(file)), (*file_models, *copies, *added)
    gone = {terms for terms in by_terms if terms not in kept}
    if any(_serves(model, category, factor) and _terms_of(model) in gone for model in foreign):
        others, file_models = [], list(everything)
    rest = [
        part
        for model in file_models
        for part in (
            _without(model, category, factor, symbols)
            if _serves(model, category, factor) and _terms_of(model) in gone
            else [model]
        )
    ]
    content = (*rest, *added)
    return (*others, *([str(file)] if content else [])), content


def _terms(formula: str, factor: str) -> tuple[str, ...]:
    return tuple(sorted(DefaultModel(ANY, factor, formula).terms))


def _terms_of(model: DefaultModel) -> tuple[str, ...]:
    return tuple(sorted(model.terms))


def _serves(model: DefaultModel, category: str, factor: str) -> bool:
    """Whether it is one of the category's own models over the factor."""
    return plain_name(category) in _plain(model.category) and (
        model.factor == ANY or plain_name(factor) in _plain(model.factor)
    )


def _without(model: DefaultModel, category: str, factor: str, symbols: Sequence[str]) -> list[DefaultModel]:
    """The model for everything but one category over one factor."""
    remaining = []
    left = [word for word in _words(model.category) if plain_name(word) != plain_name(category)]
    if left:
        remaining.append(DefaultModel("|".join(left), model.factor, model.formula, model.origin))
    if model.factor == ANY:
        factors = [symbol for symbol in symbols if symbol != factor]
    else:
        factors = [word for word in _words(model.factor) if plain_name(word) != plain_name(factor)]
        if not any(plain_name(word) == plain_name(symbol) for word in factors for symbol in symbols):
            factors = []  # names that other programs give to the same factor, as P and procs
    if factors:
        remaining.append(_narrowed(model, category, factors))
    return remaining


def _narrowed(model: DefaultModel, category: str, factors: Sequence[str]) -> DefaultModel:
    """The model for one category and some factors; in ``x``, since it may call the factor by another name."""
    names = {
        name: Formula(VARIABLE) for name in Formula(model.formula).names if plain_name(name) in _plain(model.factor)
    }
    formula = Formula(model.formula).substituted(names).canonical if names else model.formula
    return DefaultModel(category, "|".join(factors), formula, model.origin)


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.split("|")]


def _plain(text: str) -> list[str]:
    return [plain_name(word) for word in _words(text)]


def _is(name: str, file: Path) -> bool:
    return name.lower().endswith(".toml") and Path(name).resolve() == file.resolve()


def _is_finite(term: str, level: float) -> bool:
    import math

    import numpy as np

    return math.isfinite(float(Formula(term).evaluate({VARIABLE: np.array([level])})[0]))
