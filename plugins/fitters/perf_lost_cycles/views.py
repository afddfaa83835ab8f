"""Views of models by category: from the overview of R^2 down to one fit, and back to better ones.

Source: the chapter "Model Generation" of the Lost Cycles Toolkit, whose tool `xmodgen` has the windows
Fitting Overview, Fitting, Fit, Graph and Formulae.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
import numpy as np

from perf_formulas.formula import Formula
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
from perf_lost_cycles.forms import term_values, terms_in
from perf_lost_cycles.generate import generate_model
from perf_lost_cycles.lca import LcaModel, lca_model
from perf_lost_cycles.modgen import LEFT_OUT, ModgenModel
from perf_lost_cycles.options import LcaOptions, ModgenOptions
from perf_statistics.goodness import normal_quantiles
from perf_views import contents as page
from perf_views.contents import answer_blocks
from perf_views.names import shortened
from perfcore.base.errors import DataError, OptionError, PerfError, listing
from perfcore.data.columns import plain_name
from perfcore.hooks.options import build
from perfcore.report import Axis, Line, Mark, Plot, Points, Rule

_NAME = "name"
_MOST_ROWS = 40
_MOST_DRAWN = 6  # candidates with a curve: the chosen one and the best of the others
_CURVE_POINTS = 100
_MOST_ACROSS = 7  # categories that stand side by side, as in the paper; more stand below one another

CATEGORY, OVER, FORMULAE = "category", "over", "formulae"  # parts of paths of views

_FORMULAS, _ORIGIN, _FILE = "formulas", "origin", "models_file"  # fields of the form
_DARKEST = 0.5  # a model that leaves half of the variance is as bad as none
SHADES = f"R^2 centered; color scale {_DARKEST:g} (dark) to 1 (bright); - = no variation"
_MOST_CHANGES = 200


def worst_first(model: ModgenModel) -> list[str]:
    """Return the categories, those first whose model of all points fits worst; constant ones last."""
    *_, of_points = [column for name, column in model.averages().items() if name != LEFT_OUT]
    order = np.argsort([np.inf if r2 is None else r2 for r2 in of_points], kind="stable")
    return [model.names[k] for k in order.tolist()]


def overview_blocks(model: ModgenModel, query: page.Query) -> tuple[page.Block, ...]:
    """Return the table, how to choose its rows where there are many, and the ways to all else."""
    part = query.get(_NAME, "")
    found = [model.names.index(name) for name in worst_first(model) if part.casefold() in name.casefold()]
    chosen = found[:_MOST_ROWS]
    report = model.report()
    blocks: list[page.Block] = [*answer_blocks(report), page.Text(tuple(report.details), "Details", is_folded=True)]
    if len(model.names) > _MOST_ACROSS:
        blocks.append(page.Form((page.Field(_NAME, "name has", part),), ()))
    if not chosen:
        blocks.append(page.Notice(f"no category has {part!r} in its name"))
    else:
        blocks.append(_table(model, chosen, len(found)))
    formulas = model.texts()
    names = [model.names[k] for k in chosen]
    rows = [(page.Cell(name, _to_category(name)), formulas[k]) for name, k in zip(names, chosen, strict=True)]
    blocks.append(page.Table(("category", "model"), tuple(rows), "Models"))
    return tuple(blocks)


def _table(model: ModgenModel, chosen: Sequence[int], count: int) -> page.Table:
    values = np.array(model.observations.values, dtype=np.float64)
    shares = np.nansum(values, axis=1) / sum(model.observations.total)
    names = [model.names[k] for k in chosen]
    columns: list[tuple[str, list[page.Cell | str]]] = []
    for title, averages in model.averages().items():
        is_factor = title in model.factors
        columns.append((
            f"over {model.shown_names[title]}" if is_factor else title,
            [
                r2_cell(averages[k], page.Link("", fitting_path(name, title)) if is_factor else _to_category(name))
                for k, name in zip(chosen, names, strict=True)
            ],
        ))  # fmt: skip
    columns.append(("share of the time", [f"{shares[k]:.1%}" for k in chosen]))
    note = f"Averages over lines and tuples. {SHADES}. A category that does not depend on a factor has a low "
    note += "R^2 over it, which is no misfit. Click a number to see its fits."
    if len(chosen) < count:
        note = f"{len(chosen)} of {count:,} categories. {note}"
    heads = [page.Cell(name, _to_category(name)) for name in names]
    if len(names) <= _MOST_ACROSS:
        return page.Table(("", *heads), tuple((name, *cells) for name, cells in columns), "Fitting overview", note)
    rows = tuple(zip(heads, *(cells for _, cells in columns), strict=True))
    return page.Table(("category", *(name for name, _ in columns)), rows, "Fitting overview", note)


def _to_category(name: str) -> page.Link:
    return page.Link("", (CATEGORY, name))


def fitting_blocks(model: ModgenModel, category: str, symbol: str) -> tuple[page.Block, ...]:
    """Return the R^2 of each instance: each combination of levels of the other factors."""
    lines, name = model.lines(category, symbol), model.shown_names[symbol]
    links = (
        page.Link("Formulae", fitting_path(category, symbol, FORMULAE)),
        page.Link("Model of the category", (CATEGORY, category)),
    )
    if not lines:
        return (page.Notice(f"no line over {name} has three levels, so no model over {name} alone can be judged"),)
    levels = np.array(model.observations.points[symbol])
    rows = tuple(
        (
            line.label,
            r2_cell(line.r2, page.Link("", fitting_path(category, symbol, str(number)))),
            line.form or "-",
            f"{len(line.points)}",
            f"{levels[line.points].min():g} .. {levels[line.points].max():g}",
        )
        for number, line in enumerate(lines)
    )
    r2 = [line.r2 for line in lines if line.r2 is not None]
    mean = f"On average R^2 is {np.mean(r2):.4f}." if r2 else "The times do not vary along any line."
    table = page.Table(("held", "R^2", "chosen form", "points", name), rows, f"{category} over {name}", SHADES)
    return page.Text((f"{mean} Click a number to see its candidates.",), links=links), table


def category_blocks(model: ModgenModel, category: str) -> tuple[page.Block, ...]:
    """Return the model of a category over all factors: its constants, how well it does, and where it is from."""
    number = model.names.index(category)
    averages = [
        (
            f"average over the lines of {model.shown_names[title]}" if title in model.factors else title,
            r2_cell(values[number], page.Link("", fitting_path(category, title)) if title in model.factors else None),
        )
        for title, values in model.averages().items()
    ]
    unit = f" [{model.unit}]" if model.unit else ""
    constants = tuple(
        (one.name.removeprefix(f"{category}: "), f"{one.estimate:.6g}", "-" if error is None else f"{error:.3g}")
        for one, error in ((one, one.standard_error) for one in model.parameters)
        if one.name.startswith(f"{category}: ")
    )
    links = [
        page.Link(f"Formulae over {model.shown_names[symbol]}", fitting_path(category, symbol, FORMULAE))
        for symbol in model.factors
    ]
    return (
        page.Text((f"{category} = {model.texts()[number]}",), "Model", "formula"),
        page.Text(links=tuple(links)),
        page.Table(("", "R^2"), tuple(averages), "How well it fits", SHADES),
        page.Table(("term", f"constant{unit}", "standard error"), constants, "Constants"),
    )


def fit_blocks(model: ModgenModel, category: str, symbol: str, line: int) -> tuple[page.Block, ...]:
    """Return candidates with their constants, plots, and points."""
    on_line, name, observed = model.lines(category, symbol)[line], model.shown_names[symbol], model.category_table()
    candidates, number = model.fits_on(category, symbol, line), model.names.index(category)
    points = on_line.points[np.argsort(observed.points[symbol][on_line.points], kind="stable")]
    x, y, spread = observed.points[symbol][points], observed.values[points, number], observed.spread[points, number]
    drawn = [pair for pair in candidates if None not in pair[0].coefficients][:_MOST_DRAWN]
    unit = f" [{model.unit}]" if model.unit else ""
    predicted = [fit.values(x) for fit, _ in drawn]
    rows = []
    for place, level in enumerate(x.tolist()):
        residual = [f"{y[place] - predicted[0][place]:.3g}"] if predicted else []
        rows.append((f"{level:g}", f"{y[place]:.5g}", *(f"{curve[place]:.5g}" for curve in predicted), *residual))
    heads = [*(fit.form(name) for fit, _ in drawn), *(["residual of the first"] if predicted else [])]
    fine = np.linspace(x.min(), x.max(), _CURVE_POINTS)
    marks: list[Mark] = [
        Line(fine, fit.values(fine), shortened(fit.form(name), 30) + " (chosen)" * is_chosen, f"series:{k}",
             "solid" if is_chosen else "dashed", 2.2 if is_chosen else 1.2)
        for k, (fit, is_chosen) in enumerate(drawn)
    ]  # fmt: skip
    errors = np.nan_to_num(spread)
    ends = {"low": y - errors, "high": y + errors} if errors.any() else {}
    marks.append(Points(x, y, "measured", is_filled=False, **ends))
    curves = Plot("curves", marks, Axis(name), Axis("time", model.unit or ""), height=4.0)
    residuals: list[page.Graph] = []
    if predicted:
        values = (y - predicted[0]) * np.array(model.root_weights)[points]
        quantiles, across, along, correlation = normal_quantiles(values)
        known = "" if np.isnan(correlation) else f", correlation {correlation:.3f}"
        zero, y_axis = Rule([0.0], "y", style="solid"), Axis("weighted residual")
        of_normal: list[Mark] = [zero, Line(across, along, colour="dark", width=0.9), Points(quantiles, values)]
        residuals = [
            page.Graph(Plot("residuals", [zero, Points(x, values)], Axis(name), y_axis), "Residuals, weighted"),
            page.Graph(Plot("quantiles", of_normal, Axis("normal quantile"), y_axis), f"Normal Q-Q{known}"),
        ]
    links = (
        page.Link("Formulae: add, change or remove one", fitting_path(category, symbol, FORMULAE)),
        page.Link("All lines", fitting_path(category, symbol)),
    )
    remarks = tuple(f"{fit.form(name)}: {fit.note}" for fit, _ in candidates if fit.note)
    what = f"{len(points)} points, {on_line.label}; R^2 of the chosen one {r2_cell(on_line.r2).text}"
    shown = tuple(
        (fit.form(name), "chosen" * is_chosen, "; ".join(fit.constants(5)), r2_cell(fit.r2),
         r2_cell(fit.r2_leave_one_out))
        for fit, is_chosen in candidates
    )  # fmt: skip
    return (
        page.Text((what,), links=links),
        page.Table(("model", "", "constants, in order", "R^2", "R^2 leave-one-out"), shown, "Candidates", SHADES),
        *((page.Text(remarks, "Remarks"),) if remarks else ()),
        page.Graph(curves, f"{category} over {name}"),
        *((page.Graphs(tuple(residuals)),) if residuals else ()),
        page.Table((name, f"measured{unit}", *heads), tuple(rows), "Points"),
    )


class LostCyclesViews(page.Viewable):
    """Views of a model by category."""

    def __init__(self, model: ModgenModel, file: Path | None = None, stored: bytes | None = None) -> None:
        self.title, self._model, self._file = model.title, model, file
        # An edit is refused where somebody else has written the file since.
        self._stored = stored if stored is not None or file is None or not file.exists() else file.read_bytes()

    @property
    def model(self) -> ModgenModel:
        """The model, so that the page can save it."""
        return self._model

    def view(self, path: page.ViewPath, query: page.Query) -> page.View:
        """Return the overview, or what it leads to; see `Viewable.view`."""
        if path == ():
            return page.View(self.title, overview_blocks(self._model, query))
        category, symbol, last = self._place(path)
        trail: tuple[page.Link, ...] = (page.Link("Fitting overview", ()),)
        if not symbol:
            return page.View(category, category_blocks(self._model, category), path, trail)
        factor, trail = self._model.shown_names[symbol], (*trail, page.Link(category, (CATEGORY, category)))
        if not last:
            return page.View(f"Fitting over {factor}", fitting_blocks(self._model, category, symbol), path, trail)
        trail = (*trail, page.Link(f"over {factor}", fitting_path(category, symbol)))
        if last == FORMULAE:
            blocks: tuple[page.Block, ...] = formulae_blocks(self._model, category, symbol, self._file)
            return page.View(f"Formulae of {category} over {factor}", blocks, path, trail)
        label = self._model.lines(category, symbol)[int(last)].label
        blocks = fit_blocks(self._model, category, symbol, int(last))
        return page.View(f"Fit of {category} over {factor}: {label}", blocks, path, trail)

    def paths(self) -> Iterable[page.ViewPath]:
        """Return the overview, then the categories with their lines, each from the worst to the best."""
        yield ()
        for category in worst_first(self._model):
            yield (CATEGORY, category)
            yield from (link.path for link in self._below(category))

    def ways(self, path: page.ViewPath, query: page.Query) -> Iterable[page.Link]:
        """Return the categories, and below the one that is shown its fits; see `Viewable.ways`."""
        yield page.Link(self.title, ())
        for category in worst_first(self._model):
            yield page.Link(category, (CATEGORY, category))
            if path[:2] == (CATEGORY, category):
                yield from self._below(category)

    def _below(self, category: str) -> Iterable[page.Link]:
        """Return all lines over each factor where there are several, and the worst of them."""
        for symbol in self._model.factors:
            factor = self._model.shown_names[symbol]
            lines = self._model.lines(category, symbol)
            if len(lines) > 1:
                yield page.Link(factor, fitting_path(category, symbol))
            if lines:
                worst = int(np.argmin([1.0 if line.r2 is None else line.r2 for line in lines]))
                text = f"{lines[worst].label}, the worst" if len(lines) > 1 else f"{factor}: {lines[worst].label}"
                yield page.Link(text, fitting_path(category, symbol, str(worst)))

    def act(self, path: page.ViewPath, form: page.Query) -> page.Change:
        """Generate the model again with other formulas; see `Viewable.act`."""
        if path[4:] != (FORMULAE,):
            raise OptionError("nothing to edit in this view")
        category, symbol, _ = self._place(path)
        return formulae_edit(self._model, category, symbol, form, self._file, self._stored)

    def _place(self, path: page.ViewPath) -> tuple[str, str, str]:
        """Return category, factor, and line or `FORMULAE` of a path, empty behind its end; refuse one to nowhere."""
        match path:
            case (kind, category) if kind == CATEGORY and category in self._model.names:
                return category, "", ""
            case (kind, category, over, symbol, *line) if (
                (kind, over) == (CATEGORY, OVER) and category in self._model.names and symbol in self._model.factors
            ):
                numbers = map(str, range(len(self._model.lines(category, symbol))))
                if not line or line in ([last] for last in (FORMULAE, *numbers)):
                    return category, symbol, "".join(line)
        raise page.NoViewError(path)


def fitting_path(category: str, symbol: str, *line: str) -> page.ViewPath:
    """Return the view of all lines of a category over a factor, of one of them, or of its formulas."""
    return (CATEGORY, category, OVER, symbol, *line)


def r2_cell(value: float | None, link: page.Link | None = None) -> page.Cell:
    """Return a determination coefficient with its colour."""
    shade = None if value is None else min(max((value - _DARKEST) / (1.0 - _DARKEST), 0.0), 1.0)
    return page.Cell("-" if value is None else f"{value:.4f}", link, shade)


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
            wrong = f": {terms_in(terms, symbol)[term]} is not finite at {symbol}={level:g}, which was measured"
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


def difference_blocks(before: ModgenModel, after: ModgenModel, category: str, symbol: str) -> tuple[page.Block, ...]:
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
        _change_row((name, f"over {factors[title]}" if title in factors else title), *values)
        for (name, title), values in changed.items()
    ]
    lines = [
        (*_change_row((one.label,), one.r2, other.r2), one.form or "-", other.form or "-")
        for one, other in zip(before.lines(category, symbol), after.lines(category, symbol), strict=True)
        if _differ(one.r2, other.r2) or one.form != other.form
    ]
    formulas = [
        (name, label, text)
        for name, one, other in zip(names, before.texts(), after.texts(), strict=True)
        if one != other
        for label, text in (("now", one), ("after", other))
    ]
    blocks: list[page.Block] = []
    if not rows and not lines:
        blocks.append(page.Notice("No R^2 changes: the formulas that are left or new choose no other forms."))
    else:
        note = f"{SHADES}; all others stay"
        if len(rows) > _MOST_CHANGES:
            note = f"The first {_MOST_CHANGES} of {len(rows):,}. {note}"
        head = ("category", "", "now", "after", "change")
        blocks.append(page.Table(head, tuple(rows[:_MOST_CHANGES]), "Every R^2 that changes", note))
    others = {one for one, label in changed if one != category or (label in factors and label != symbol)}
    if others:
        cause = "the sets or files of models, or this program, are other than when the model was made"
        text = f"More changes than this edit: {cause}; see {listing(sorted(others), 3)}."
        blocks.insert(0, page.Notice(text, "warning"))
    if lines:
        header = ("held", "now", "after", "change", "form now", "form after")
        blocks.append(page.Table(header, tuple(lines[:_MOST_CHANGES]), f"Lines of {category} over {factors[symbol]}"))
    if formulas:
        blocks.append(page.Table(("category", "", "model"), tuple(formulas[:_MOST_CHANGES]), "Models"))
    figures = after.statistics
    total = tuple(
        (name.replace("_", " "), *(f"{v:.2%}" if name.endswith("error") else f"{v:.5g}" for v in (one, figures[name])))
        for name, one in before.statistics.items()
        if isinstance(one, (int, float)) and one != figures[name]
    )
    blocks.append(page.Table(("figure of the total", "now", "after"), total, "The sum of all categories"))
    return tuple(blocks)


def _change_row(heads: tuple[str, ...], one: float | None, other: float | None) -> tuple[page.Cell | str, ...]:
    change = "-" if one is None or other is None else f"{other - one:+.4f}"
    return (*heads, r2_cell(one), r2_cell(other), change)


def _differ(one: float | None, other: float | None) -> bool:
    """Return whether four digits show it."""
    return r2_cell(one).text != r2_cell(other).text


def formulae_blocks(model: ModgenModel, category: str, symbol: str, file: Path | None) -> tuple[page.Block, ...]:
    """Return the candidates with where they are from and how often each was chosen, and the form to change them."""
    names = tuple(model.origin.options["models"])
    try:
        models = models_for(find_models(names), category, symbol)
    except PerfError as error:
        return (page.Notice(f"{error}. The formulas of the model can be changed where that file is.", "error"),)
    count = len(model.lines(category, symbol))
    fits = [pair for number in range(count) for pair in model.fits_on(category, symbol, number)]
    chosen = [fit.model.formula for fit, is_chosen in fits if is_chosen]
    rows = tuple((one.formula, f"{chosen.count(one.formula)} of {count}", one.origin or "-") for one in models)
    what = f"{symbol} (also in lower case) or x is {model.shown_names[symbol]}; "
    what += f"other names are constants: a + b*{symbol}^2"
    where = "TOML, written when you keep the change; sets such as `standard` stay as they are"
    fields = (
        page.Field(_FORMULAS, "one formula on each line", "\n".join(one.formula for one in models), "lines", help=what),
        page.Field(_ORIGIN, "where new ones come from", help="saved with the formula, such as what the program does"),
        page.Field(_FILE, "your models file", str(models_file(names, file)), help=where),
    )
    action = page.Action(fields, fitting_path(category, symbol, FORMULAE), "Refit and preview", "Change them")
    return (
        page.Table(("formula", "chosen on lines", "where it comes from"), rows, "Candidates"),
        action,
        page.Text((f"The models are from {', '.join(names)}.",)),
    )


def formulae_edit(
    model: ModgenModel, category: str, symbol: str, form: page.Query, file: Path | None, stored: bytes | None
) -> page.Change:
    """Generate the model with the formulas that were typed."""
    names, points = tuple(model.origin.options["models"]), model.observations.points
    # Empty lines too, so that the numbers of lines are those that are seen.
    typed_lines = [line.strip() for line in form.get(_FORMULAS, "").split("\n")]
    wrong = [text for text in formula_mistakes(typed_lines, symbol, np.unique(points[symbol]).tolist()) if text]
    if not any(typed_lines):
        wrong.append(f"no formula is left; give at least one, such as a + b*{symbol}")
    if wrong:
        raise DataError("\n".join(wrong))
    lines = [line for line in typed_lines if line]
    path = form.get(_FILE, "").strip() or str(models_file(names, file))
    if not path.lower().endswith(".toml"):
        raise OptionError(f"your models file is {path!r}; its name must end with .toml")
    present = {_terms(one): one.formula for one in models_for(find_models(names), category, symbol)}
    typed = {_terms(DefaultModel(category, symbol, line)): line for line in lines}
    if set(present) == set(typed):
        raise OptionError("nothing would change: these are its formulas already")
    target, origin = Path(path), form.get(_ORIGIN, "").strip()
    before = page.content(target)
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
    files, written = [page.FileEdit(target, before, saved)], None
    if file is not None:
        written = _written(new_model.save)
        files.append(page.FileEdit(file, stored, written))
    parts = [f"+ {line}" for terms, line in typed.items() if terms not in present]
    parts += [f"- {line}" for terms, line in present.items() if terms not in typed]
    blocks = difference_blocks(model, new_model, category, symbol)
    if not file_models:
        blocks = (page.Notice(f"No model is left in {target}; the file is removed.", "warning"), *blocks)
    if file is None:
        text = f"There is no model file: fit again with --models {','.join(used)} to have the same model."
        blocks = (*blocks, page.Notice(text))
    summary = f"{category} over {model.shown_names[symbol]}: {', '.join(parts)}"
    views = LostCyclesViews(new_model, file, written)
    return page.Change(views, summary, blocks, tuple(files), fitting_path(category, symbol))


def _written(write: Callable[[Path], None]) -> bytes:
    """Return what a function writes into a file; the page writes it when the change is kept."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "written"
        write(path)
        return path.read_bytes()
