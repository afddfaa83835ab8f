"""The formulas that a category is fitted with over one factor: a list to edit, and what an edit would change."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
import numpy as np

from perf_formulas.formula import Formula
from perf_lost_cycles.default_models.sets import (
    ANY,
    VARIABLE,
    DefaultModel,
    find_models,
    models_for,
    read_models,
    write_models,
)
from perf_lost_cycles.lca.categories import fit_categories
from perf_lost_cycles.lca.model import LcaModel
from perf_lost_cycles.modgen.generation import generate_model
from perf_lost_cycles.modgen.model import ModgenModel
from perf_lost_cycles.options import LcaOptions, ModgenOptions
from perf_lost_cycles.views.subject import (
    SHADES,
    LcaSubject,
    ModgenSubject,
    Subject,
    formulae_path,
    r2_cell,
    subject_of,
)
from perf_tables.category_table import CategoryTable
from perf_views.contents import Action, Block, Cell, Field, FileEdit, Notice, Query, Table, Text, content
from perfcore.base.errors import DataError, OptionError, PerfError, listing
from perfcore.data.columns import plain_name
from perfcore.hooks.options import build


def refitted(
    model: ModgenModel | LcaModel, names: Sequence[str], models: Sequence[DefaultModel]
) -> ModgenModel | LcaModel:
    """The model that the fitter would make of the same observations."""
    new_model = _modgen(model, models) if isinstance(model, ModgenModel) else _lca(model, models)
    options = {**model.origin.options, "models": list(names)}
    return msgspec.structs.replace(new_model, origin=msgspec.structs.replace(model.origin, options=options))


def _modgen(model: ModgenModel, models: Sequence[DefaultModel]) -> ModgenModel:
    subject, options = ModgenSubject(model), build(ModgenOptions, model.origin.options, "modgen")
    table = CategoryTable(
        points=subject.points,
        columns=model.columns,
        categories=model.names,
        values=subject.values.T,
        repetitions=np.array(model.observations.repetitions),
        spread=np.full(subject.values.T.shape, np.nan),
        total=subject.total,
        unit=model.unit,
        value_name=model.value_name,
        source=model.origin.source,
    )
    new_model = generate_model(table, models, options, np.array(model.root_weights), ~subject.fitted)
    return msgspec.structs.replace(new_model, notes=tuple(dict.fromkeys([*model.notes, *new_model.notes])))


def _lca(model: LcaModel, models: Sequence[DefaultModel]) -> LcaModel:
    subject, options = LcaSubject(model), build(LcaOptions, model.origin.options, "lca")
    table = CategoryTable(
        points=subject.points,
        columns=dict(model.factors),
        categories=model.names,
        values=subject.values.T,
        repetitions=model.fitted_repetitions,
        spread=np.array([fit.spread for fit in model.fits], dtype=np.float64).T,
        total=subject.total,
        unit=model.unit,
        value_name=model.value_name,
        source=model.origin.source,
    )
    fitted = fit_categories(table, model.factor, models, options, np.array(model.root_weights), "category")
    return msgspec.structs.replace(model, fits=fitted.categories())


# The user's file of default models, changed so that one category has the wanted formulas over one factor.
#
# Registered sets and other people's files stay as they are. As long as formulas are only added, the user's file holds
# the
# additions and stands next to the sets. When one is taken away that comes from elsewhere, the user's file takes over
# all
# models, and the others are no longer named: a set cannot say that a model of another set is void.


def models_file(names: Sequence[str], model_file: Path | None) -> Path:
    """The file that edits go to: the last one of the model, or a new one next to the model's file."""
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
    others = [n for n in names if not (n.lower().endswith(".toml") and Path(n).resolve() == file.resolve())]
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
    names = {n: Formula(VARIABLE) for n in Formula(model.formula).names if plain_name(n) in _plain(model.factor)}
    formula = Formula(model.formula).substituted(names).canonical if names else model.formula
    return DefaultModel(category, "|".join(factors), formula, model.origin)


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.split("|")]


def _plain(text: str) -> list[str]:
    return [plain_name(word) for word in _words(text)]


def _is_finite(term: str, level: float) -> bool:
    import math

    import numpy as np

    return math.isfinite(float(Formula(term).evaluate({VARIABLE: np.array([level])})[0]))


_MOST_ROWS = 200


def difference_blocks(before: Subject, after: Subject, category: str, symbol: str) -> tuple[Block, ...]:
    """Tables of what changes."""
    names, old, new = before.model.names, before.averages(), after.averages()
    changed = {
        (name, title): (values[k], new[title][k])
        for k, name in enumerate(names)
        for title, values in old.items()
        if _differ(values[k], new[title][k])
    }
    rows = [
        _row((name, f"over {before.names[title]}" if title in before.points else title), *values)
        for (name, title), values in changed.items()
    ]
    lines = [
        (*_row((one.label,), one.r2, other.r2), one.form or "-", other.form or "-")
        for one, other in zip(before.instances(category, symbol), after.instances(category, symbol), strict=True)
        if _differ(one.r2, other.r2) or one.form != other.form
    ]
    formulas = [
        (name, label, text)
        for name, one, other in zip(names, before.formulas(), after.formulas(), strict=True)
        if one != other
        for label, text in (("now", one), ("after", other))
    ]
    blocks: list[Block] = []
    if not rows and not lines:
        blocks.append(Notice("No R^2 changes: the formulas that are left or new choose no other forms."))
    else:
        note = f"{SHADES}; all others stay"
        if len(rows) > _MOST_ROWS:
            note = f"The first {_MOST_ROWS} of {len(rows):,}. {note}"
        blocks.append(
            Table(("category", "", "now", "after", "change"), tuple(rows[:_MOST_ROWS]), "Every R^2 that changes", note)
        )
    others = {one for one, label in changed if one != category or (label in before.points and label != symbol)}
    if others:
        text = (
            "More changes than this edit: the sets or files of models, or this program, are other than when the model "
            f"was made; see {listing(sorted(others), 3)}."
        )
        blocks.insert(0, Notice(text, "warning"))
    if lines:
        header = ("held", "now", "after", "change", "form now", "form after")
        blocks.append(Table(header, tuple(lines[:_MOST_ROWS]), f"Lines of {category} over {before.names[symbol]}"))
    if formulas:
        blocks.append(Table(("category", "", "model"), tuple(formulas[:_MOST_ROWS]), "Models"))
    blocks.append(_total_table(before, after))
    return tuple(blocks)


def _total_table(before: Subject, after: Subject) -> Table:
    """The figures of the total, now and after the change."""
    old, new = before.model.statistics, after.model.statistics
    rows = tuple(
        (name.replace("_", " "), *(f"{v:.2%}" if name.endswith("error") else f"{v:.5g}" for v in (one, new[name])))
        for name, one in old.items()
        if isinstance(one, (int, float)) and one != new[name]
    )
    return Table(("figure of the total", "now", "after"), rows, "The sum of all categories")


def _row(heads: tuple[str, ...], one: float | None, other: float | None) -> tuple[Cell | str, ...]:
    change = "-" if one is None or other is None else f"{other - one:+.4f}"
    return (*heads, r2_cell(one), r2_cell(other), change)


def _differ(one: float | None, other: float | None) -> bool:
    """Whether four digits show it."""
    return r2_cell(one).text != r2_cell(other).text


_FORMULAS, _ORIGIN, _FILE = "formulas", "origin", "models_file"


def formulae_blocks(subject: Subject, category: str, symbol: str, file: Path | None) -> tuple[Block, ...]:
    """The candidates with where they are from and how often each was chosen, and the form to change them."""
    names = _names(subject)
    try:
        models = models_for(find_models(names), category, symbol)
    except PerfError as error:
        return (Notice(f"{error}. The formulas of the model can be changed where that file is.", "error"),)
    lines = subject.instances(category, symbol)
    chosen = [
        one.formula
        for number in range(len(lines))
        for one in subject.candidates(category, symbol, number)
        if one.is_chosen
    ]
    rows = tuple((one.formula, f"{chosen.count(one.formula)} of {len(lines)}", one.origin or "-") for one in models)
    action = Action(
        (
            Field(
                _FORMULAS,
                "one formula on each line",
                "\n".join(one.formula for one in models),
                "lines",
                help=f"{symbol} (also in lower case) or x is {subject.names[symbol]}; "
                f"other names are constants: a + b*{symbol}^2",
            ),
            Field(_ORIGIN, "where new ones come from", help="saved with the formula, such as what the program does"),
            Field(
                _FILE,
                "your models file",
                str(models_file(names, file)),
                help="TOML, written when you keep the change; sets such as `standard` stay as they are",
            ),
        ),
        formulae_path(category, symbol),
        "Refit and preview",
        "Change them",
    )  # fmt: skip
    return (
        Table(("formula", "chosen on lines", "where it comes from"), rows, "Candidates"),
        action,
        Text((f"The models are from {', '.join(names)}.",)),
    )


@dataclass(frozen=True)
class Edit:
    """What an edit of formulas makes."""

    model: ModgenModel | LcaModel
    summary: str
    blocks: tuple[Block, ...]  # what becomes different
    files: tuple[FileEdit, ...]  # the models file, and the model's own file where it has one


def formulae_edit(
    subject: ModgenSubject | LcaSubject,
    category: str,
    symbol: str,
    form: Query,
    file: Path | None,
    stored: bytes | None,
) -> Edit:
    """Generate the model with the formulas that were typed."""
    names, model = _names(subject), subject.model
    check_formulas(_typed(form), symbol, np.unique(subject.points[symbol]).tolist())
    lines = [line for line in _typed(form) if line]
    path = form.get(_FILE, "").strip() or str(models_file(names, file))
    if not path.lower().endswith(".toml"):
        raise OptionError(f"your models file is {path!r}; its name must end with .toml")
    present = {tuple(sorted(one.terms)): one.formula for one in models_for(find_models(names), category, symbol)}
    typed = {tuple(sorted(DefaultModel(category, symbol, line).terms)): line for line in lines}
    if set(present) == set(typed):
        raise OptionError("nothing would change: these are its formulas already")
    target, origin = Path(path), form.get(_ORIGIN, "").strip()
    before = content(target)
    used, file_models = edited_models(names, target, category, tuple(subject.points), symbol, lines, origin)
    new_model = refitted(model, used, [*find_models(used[:-1] if file_models else used), *file_models])
    files = [FileEdit(target, before, _with_models(target, before, file_models) if file_models else None)]
    if file is not None:
        files.append(FileEdit(file, stored, _written(new_model.save)))
    parts = [f"+ {line}" for terms, line in typed.items() if terms not in present]
    parts += [f"- {line}" for terms, line in present.items() if terms not in typed]
    blocks = difference_blocks(subject, subject_of(new_model), category, symbol)
    if not file_models:
        blocks = (Notice(f"No model is left in {target}; the file is removed.", "warning"), *blocks)
    if file is None:
        blocks += (Notice(f"There is no model file: fit again with --models {','.join(used)} to have the same model."),)
    return Edit(new_model, f"{category} over {subject.names[symbol]}: {', '.join(parts)}", blocks, tuple(files))


def _with_models(target: Path, before: bytes | None, models: Sequence[DefaultModel]) -> bytes:
    """What the user's file holds then; where models are only added, the rest stays as it was written."""
    present = () if before is None else read_models(target)
    if before is None or tuple(models[: len(present)]) != present:
        return _written(lambda path: write_models(models, path))
    return before.rstrip() + b"\n\n" + _written(lambda path: write_models(models[len(present) :], path))


def _typed(form: Query) -> list[str]:
    """The lines of a form, empty ones too, so that the numbers of lines are those that are seen."""
    return [line.strip() for line in form.get(_FORMULAS, "").split("\n")]


def _names(subject: Subject) -> tuple[str, ...]:
    """Sets and files of default models that the model was made with."""
    return tuple(subject.model.origin.options["models"])


def _written(write: Callable[[Path], None]) -> bytes:
    """What a function writes into a file; the page writes it when the change is kept."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "written"
        write(path)
        return path.read_bytes()
