"""The formulas that a category is fitted with over one factor: a list to edit, and what an edit would change."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
import numpy as np

from perf_formulas.formula import Formula
from perf_lost_cycles.default_fits import in_factor
from perf_lost_cycles.default_models import (
    ANY,
    VARIABLE,
    DefaultModel,
    find_models,
    models_for,
    plain_words,
    read_models,
    words_of,
    write_models,
)
from perf_lost_cycles.forms import term_values
from perf_lost_cycles.generate import generate_model
from perf_lost_cycles.lca import LcaModel, lca_model
from perf_lost_cycles.modgen import ModgenModel
from perf_lost_cycles.options import LcaOptions, ModgenOptions
from perf_views.contents import (
    Action,
    Block,
    Cell,
    Field,
    FileEdit,
    Link,
    Notice,
    Query,
    Table,
    Text,
    ViewPath,
    content,
)
from perfcore.base.errors import DataError, OptionError, PerfError, listing
from perfcore.data.columns import plain_name
from perfcore.hooks.options import build

CATEGORY, OVER, FORMULAE = "category", "over", "formulae"  # parts of paths of views

_FORMULAS, _ORIGIN, _FILE = "formulas", "origin", "models_file"  # fields of the form
_DARKEST = 0.5  # a model that leaves half of the variance is as bad as none
SHADES = f"R^2 centered; color scale {_DARKEST:g} (dark) to 1 (bright); - = no variation"
_MOST_ROWS = 200


def fitting_path(category: str, symbol: str, *line: str) -> ViewPath:
    """Return the view of all lines of a category over a factor, of one of them, or of its formulas."""
    return (CATEGORY, category, OVER, symbol, *line)


def r2_cell(value: float | None, link: Link | None = None) -> Cell:
    """Return a determination coefficient with its colour."""
    shade = None if value is None else min(max((value - _DARKEST) / (1.0 - _DARKEST), 0.0), 1.0)
    return Cell("-" if value is None else f"{value:.4f}", link, shade)


def refit(model: ModgenModel, names: Sequence[str], models: Sequence[DefaultModel]) -> ModgenModel:
    """Return the model that the fitter would make of the same observations."""
    table, root, given = model.category_table(), np.array(model.root_weights), model.origin.options
    new_model: ModgenModel
    if isinstance(model, LcaModel):
        new_model = lca_model(table, model.factor, models, build(LcaOptions, given, "lca"), root, CATEGORY)
    else:
        new_model = generate_model(table, models, build(ModgenOptions, given, "modgen"), root, ~model.fitted)
    origin = msgspec.structs.replace(model.origin, options={**given, "models": list(names)})
    notes = tuple(dict.fromkeys([*model.notes, *new_model.notes]))
    return msgspec.structs.replace(new_model, notes=notes, origin=origin)


def models_file(names: Sequence[str], model_file: Path | None) -> Path:
    """Return the file that edits go to: the last one of the model, or a new one next to the model's file."""
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
    """For each formula what is wrong with it as a default model; empty if nothing is, or where there is none.

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
        is_finite = np.isfinite(term_values(terms, {VARIABLE: np.array(levels)}))
        if not wrong and not is_finite.all():
            term = int(np.argmin(is_finite.all(axis=0)))
            level = levels[int(np.argmin(is_finite[:, term]))]
            wrong = f": {in_factor(terms[term], symbol)} is not finite at {symbol}={level:g}, which was measured"
        mistakes.append(f"line {number}: {line!r}{wrong}" if wrong else "")
    return mistakes


def edited_models(
    names: Sequence[str], file: Path, category: str, symbols: Sequence[str], factor: str, formulas: Sequence[str],
    origin: str,
) -> tuple[tuple[str, ...], tuple[DefaultModel, ...]]:  # fmt: skip
    """Sets and files of the model after an edit, the user's file last, and what that then holds.

    Registered sets and other people's files stay as they are. As long as formulas are only added, the user's file holds
    the additions and stands next to the sets. When one is taken away that comes from elsewhere, the user's file takes
    over all models, and the others are no longer named: a set cannot say that a model of another set is void. A file
    that holds nothing any more is not among them: no fit would accept it.
    """
    others = [n for n in names if not (n.lower().endswith(".toml") and Path(n).resolve() == file.resolve())]
    file_models = list(read_models(file)) if file.exists() else []
    foreign = list(find_models(others))
    # The order in which a fit reads them decides of which of two equal models the origin is shown.
    everything = find_models(names) if len(others) < len(names) else (*foreign, *file_models)
    present = models_for(everything, category, factor)
    by_terms = {_terms(DefaultModel(ANY, factor, model.formula)): model for model in present}
    typed = {line: _terms(DefaultModel(ANY, factor, line)) for line in formulas}
    kept, gone = set(typed.values()) & set(by_terms), set(by_terms) - set(typed.values())
    added = [DefaultModel(category, factor, line, origin) for line, terms in typed.items() if terms not in by_terms]
    if present and all(model.category == ANY for model in present) and (added or gone):
        # A category that is named has its own models only, so that it keeps of the shared ones what it is given.
        copies = [_narrowed(model, category, [factor]) for terms, model in by_terms.items() if terms in kept]
        return (*others, str(file)), (*file_models, *copies, *added)

    def is_gone(model: DefaultModel) -> bool:
        return (
            plain_name(category) in plain_words(model.category)
            and (model.factor == ANY or plain_name(factor) in plain_words(model.factor))
        ) and _terms(model) in gone

    if any(map(is_gone, foreign)):
        others, file_models = [], list(everything)
    rest: list[DefaultModel] = []
    for model in file_models:
        rest += _without(model, category, factor, symbols) if is_gone(model) else [model]
    content = (*rest, *added)
    return (*others, *([str(file)] if content else [])), content


def _terms(model: DefaultModel) -> tuple[str, ...]:
    return tuple(sorted(model.terms))


def _without(model: DefaultModel, category: str, factor: str, symbols: Sequence[str]) -> list[DefaultModel]:
    """Return the model for everything but one category over one factor."""
    remaining = []
    left = [word for word in words_of(model.category) if plain_name(word) != plain_name(category)]
    if left:
        remaining.append(DefaultModel("|".join(left), model.factor, model.formula, model.origin))
    if model.factor == ANY:
        factors = [symbol for symbol in symbols if symbol != factor]
    else:
        factors = [word for word in words_of(model.factor) if plain_name(word) != plain_name(factor)]
        if not any(plain_name(word) == plain_name(symbol) for word in factors for symbol in symbols):
            factors = []  # names that other programs give to the same factor, as P and procs
    if factors:
        remaining.append(_narrowed(model, category, factors))
    return remaining


def _narrowed(model: DefaultModel, category: str, factors: Sequence[str]) -> DefaultModel:
    """Return the model for one category and some factors; in ``x``, since it may call the factor by another name."""
    names = {n: Formula(VARIABLE) for n in Formula(model.formula).names if plain_name(n) in plain_words(model.factor)}
    formula = Formula(model.formula).substituted(names).canonical if names else model.formula
    return DefaultModel(category, "|".join(factors), formula, model.origin)


def difference_blocks(before: ModgenModel, after: ModgenModel, category: str, symbol: str) -> tuple[Block, ...]:
    """Return tables of what changes."""
    names, old, new = before.names, before.averages(), after.averages()
    factors = before.shown_names
    changed = {
        (name, title): (values[k], new[title][k])
        for k, name in enumerate(names)
        for title, values in old.items()
        if _differ(values[k], new[title][k])
    }
    rows = [
        _row((name, f"over {factors[title]}" if title in factors else title), *values)
        for (name, title), values in changed.items()
    ]
    lines = [
        (*_row((one.label,), one.r2, other.r2), one.form or "-", other.form or "-")
        for one, other in zip(before.lines(category, symbol), after.lines(category, symbol), strict=True)
        if _differ(one.r2, other.r2) or one.form != other.form
    ]
    formulas = [
        (name, label, text)
        for name, one, other in zip(names, before.texts(), after.texts(), strict=True)
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
    others = {one for one, label in changed if one != category or (label in factors and label != symbol)}
    if others:
        text = (
            "More changes than this edit: the sets or files of models, or this program, are other than when the model "
            f"was made; see {listing(sorted(others), 3)}."
        )
        blocks.insert(0, Notice(text, "warning"))
    if lines:
        header = ("held", "now", "after", "change", "form now", "form after")
        blocks.append(Table(header, tuple(lines[:_MOST_ROWS]), f"Lines of {category} over {factors[symbol]}"))
    if formulas:
        blocks.append(Table(("category", "", "model"), tuple(formulas[:_MOST_ROWS]), "Models"))
    figures = after.statistics
    total = tuple(
        (name.replace("_", " "), *(f"{v:.2%}" if name.endswith("error") else f"{v:.5g}" for v in (one, figures[name])))
        for name, one in before.statistics.items()
        if isinstance(one, (int, float)) and one != figures[name]
    )
    blocks.append(Table(("figure of the total", "now", "after"), total, "The sum of all categories"))
    return tuple(blocks)


def _row(heads: tuple[str, ...], one: float | None, other: float | None) -> tuple[Cell | str, ...]:
    change = "-" if one is None or other is None else f"{other - one:+.4f}"
    return (*heads, r2_cell(one), r2_cell(other), change)


def _differ(one: float | None, other: float | None) -> bool:
    """Return whether four digits show it."""
    return r2_cell(one).text != r2_cell(other).text


def formulae_blocks(model: ModgenModel, category: str, symbol: str, file: Path | None) -> tuple[Block, ...]:
    """Return the candidates with where they are from and how often each was chosen, and the form to change them."""
    names = tuple(model.origin.options["models"])
    try:
        models = models_for(find_models(names), category, symbol)
    except PerfError as error:
        return (Notice(f"{error}. The formulas of the model can be changed where that file is.", "error"),)
    count = len(model.lines(category, symbol))
    fits = [pair for number in range(count) for pair in model.fits_on(category, symbol, number)]
    chosen = [fit.formula for fit, is_chosen in fits if is_chosen]
    rows = tuple((one.formula, f"{chosen.count(one.formula)} of {count}", one.origin or "-") for one in models)
    what = f"{symbol} (also in lower case) or x is {model.shown_names[symbol]}; "
    what += f"other names are constants: a + b*{symbol}^2"
    where = "TOML, written when you keep the change; sets such as `standard` stay as they are"
    fields = (
        Field(_FORMULAS, "one formula on each line", "\n".join(one.formula for one in models), "lines", help=what),
        Field(_ORIGIN, "where new ones come from", help="saved with the formula, such as what the program does"),
        Field(_FILE, "your models file", str(models_file(names, file)), help=where),
    )
    action = Action(fields, fitting_path(category, symbol, FORMULAE), "Refit and preview", "Change them")
    return (
        Table(("formula", "chosen on lines", "where it comes from"), rows, "Candidates"),
        action,
        Text((f"The models are from {', '.join(names)}.",)),
    )


@dataclass(frozen=True)
class Edit:
    """What an edit of formulas makes."""

    model: ModgenModel
    summary: str
    blocks: tuple[Block, ...]  # what becomes different
    files: tuple[FileEdit, ...]  # the models file, and the model's own file where it has one


def formulae_edit(
    model: ModgenModel,
    category: str,
    symbol: str,
    form: Query,
    file: Path | None,
    stored: bytes | None,
) -> Edit:
    """Generate the model with the formulas that were typed."""
    names, points = tuple(model.origin.options["models"]), model.observations.points
    # Empty lines too, so that the numbers of lines are those that are seen.
    typed_lines = [line.strip() for line in form.get(_FORMULAS, "").split("\n")]
    check_formulas(typed_lines, symbol, np.unique(points[symbol]).tolist())
    lines = [line for line in typed_lines if line]
    path = form.get(_FILE, "").strip() or str(models_file(names, file))
    if not path.lower().endswith(".toml"):
        raise OptionError(f"your models file is {path!r}; its name must end with .toml")
    present = {_terms(one): one.formula for one in models_for(find_models(names), category, symbol)}
    typed = {_terms(DefaultModel(category, symbol, line)): line for line in lines}
    if set(present) == set(typed):
        raise OptionError("nothing would change: these are its formulas already")
    target, origin = Path(path), form.get(_ORIGIN, "").strip()
    before = content(target)
    used, file_models = edited_models(names, target, category, tuple(model.factors), symbol, lines, origin)
    new_model = refit(model, used, [*find_models(used[:-1] if file_models else used), *file_models])
    saved = None
    if file_models:
        # Where models are only added, the rest of the file stays as it was written.
        present_models = () if before is None else read_models(target)
        is_longer = before is not None and tuple(file_models[: len(present_models)]) == present_models
        added = file_models[len(present_models) :] if is_longer else file_models
        saved = _written(lambda path: write_models(added, path))
        saved = before.rstrip() + b"\n\n" + saved if before is not None and is_longer else saved
    files = [FileEdit(target, before, saved)]
    if file is not None:
        files.append(FileEdit(file, stored, _written(new_model.save)))
    parts = [f"+ {line}" for terms, line in typed.items() if terms not in present]
    parts += [f"- {line}" for terms, line in present.items() if terms not in typed]
    blocks = difference_blocks(model, new_model, category, symbol)
    if not file_models:
        blocks = (Notice(f"No model is left in {target}; the file is removed.", "warning"), *blocks)
    if file is None:
        blocks += (Notice(f"There is no model file: fit again with --models {','.join(used)} to have the same model."),)
    return Edit(new_model, f"{category} over {model.shown_names[symbol]}: {', '.join(parts)}", blocks, tuple(files))


def _written(write: Callable[[Path], None]) -> bytes:
    """Return what a function writes into a file; the page writes it when the change is kept."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "written"
        write(path)
        return path.read_bytes()
