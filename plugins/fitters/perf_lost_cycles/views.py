"""Views of models by category: from the overview of R^2 down to one fit, and back to better ones.

Source: the chapter "Model Generation" of the Lost Cycles Toolkit, whose tool `xmodgen` has the windows
Fitting Overview, Fitting, Fit, Graph and Formulae.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from perf_lost_cycles.default_fits import DefaultFit
from perf_lost_cycles.default_models import VARIABLE
from perf_lost_cycles.forms import term_values
from perf_lost_cycles.formulae import (
    CATEGORY,
    FORMULAE,
    OVER,
    SHADES,
    fitting_path,
    formulae_blocks,
    formulae_edit,
    r2_cell,
)
from perf_lost_cycles.modgen import LEFT_OUT, ModgenModel
from perf_statistics.goodness import normal_quantiles
from perf_views import contents as page
from perf_views.drawable import answer_blocks
from perf_views.names import shortened
from perfcore.base.arrays import Floats
from perfcore.base.errors import OptionError
from perfcore.report import Axis, Line, Mark, Plot, Points, Rule

_NAME = "name"
_MOST_ROWS = 40
_MOST_DRAWN = 6  # candidates with a curve: the chosen one and the best of the others
_CURVE_POINTS = 100
_MOST_ACROSS = 7  # categories that stand side by side, as in the paper; more stand below one another


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
    predicted = [_curve(fit, x) for fit, _ in drawn]
    rows = []
    for place, level in enumerate(x.tolist()):
        residual = [f"{y[place] - predicted[0][place]:.3g}"] if predicted else []
        rows.append((f"{level:g}", f"{y[place]:.5g}", *(f"{curve[place]:.5g}" for curve in predicted), *residual))
    heads = [*(fit.form(name) for fit, _ in drawn), *(["residual of the first"] if predicted else [])]
    fine = np.linspace(x.min(), x.max(), _CURVE_POINTS)
    marks: list[Mark] = [
        Line(fine, _curve(fit, fine), shortened(fit.form(name), 30) + " (chosen)" * is_chosen, f"series:{k}",
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
    shown = tuple(_row(fit, is_chosen, name) for fit, is_chosen in candidates)
    return (
        page.Text((what,), links=links),
        page.Table(("model", "", "constants, in order", "R^2", "R^2 leave-one-out"), shown, "Candidates", SHADES),
        *((page.Text(remarks, "Remarks"),) if remarks else ()),
        page.Graph(curves, f"{category} over {name}"),
        *((page.Graphs(tuple(residuals)),) if residuals else ()),
        page.Table((name, f"measured{unit}", *heads), tuple(rows), "Points"),
    )


def _row(fit: DefaultFit, is_chosen: bool, name: str) -> tuple[page.Cell | str, ...]:
    constants = [
        "-" if value is None else f"{value:.5g}" + ("" if error is None else f" ± {error:.2g}")
        for value, error in zip(fit.coefficients, fit.standard_errors, strict=True)
    ]
    chosen = "chosen" if is_chosen else ""
    return (fit.form(name), chosen, "; ".join(constants), r2_cell(fit.r2), r2_cell(fit.r2_leave_one_out))


def _curve(fit: DefaultFit, x: Floats) -> Floats:
    return np.asarray(term_values(fit.terms, {VARIABLE: x}) @ np.array(fit.coefficients, dtype=np.float64))


class LostCyclesViews:
    """Views of a model by category."""

    def __init__(self, model: ModgenModel, file: Path | None = None, stored: bytes | None = None) -> None:
        self._model, self._file = model, file
        # An edit is refused where somebody else has written the file since.
        self._stored = stored if stored is not None or file is None or not file.exists() else file.read_bytes()

    @property
    def title(self) -> str:
        return self._model.title

    @property
    def model(self) -> ModgenModel:
        """The model, so that the page can save it."""
        return self._model

    def view(self, path: page.ViewPath, query: page.Query) -> page.View:
        """Return the overview, or what it leads to; see `perf_views.Viewable.view`."""
        if path == ():
            return page.View(self.title, overview_blocks(self._model, query))
        trail: tuple[page.Link, ...] = (page.Link("Fitting overview", ()),)
        self._check(path)
        category, rest = path[1], path[2:]
        if not rest:
            return page.View(category, category_blocks(self._model, category), path, trail)
        trail = (*trail, page.Link(category, (CATEGORY, category)))
        symbol, factor = rest[1], self._model.shown_names[rest[1]]
        if len(rest) == 2:
            return page.View(f"Fitting over {factor}", fitting_blocks(self._model, category, symbol), path, trail)
        fitting = page.Link(f"over {factor}", fitting_path(category, symbol))
        if rest[2] == FORMULAE:
            blocks: tuple[page.Block, ...] = formulae_blocks(self._model, category, symbol, self._file)
            return page.View(f"Formulae of {category} over {factor}", blocks, path, (*trail, fitting))
        line = int(rest[2])
        label = self._model.lines(category, symbol)[line].label
        blocks = fit_blocks(self._model, category, symbol, line)
        return page.View(f"Fit of {category} over {factor}: {label}", blocks, path, (*trail, fitting))

    def paths(self) -> Iterable[page.ViewPath]:
        """Return the overview, then the categories with their lines, each from the worst to the best."""
        yield ()
        for category in worst_first(self._model):
            yield (CATEGORY, category)
            yield from (link.path for link in self._below(category))

    def ways(self, path: page.ViewPath, query: page.Query) -> Iterable[page.Link]:
        """Return the categories, and below the one that is shown its fits; see `perf_views.contents.Navigable`."""
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
        """Generate the model again with other formulas; see `perf_views.Editable.act`."""
        if path[4:] != (FORMULAE,):
            raise OptionError("nothing to edit in this view")
        self._check(path)
        category, symbol = path[1], path[3]
        edit = formulae_edit(self._model, category, symbol, form, self._file, self._stored)
        stored = next((each.after for each in edit.files if each.path == self._file), None)
        views = LostCyclesViews(edit.model, self._file, stored)
        return page.Change(views, edit.summary, edit.blocks, edit.files, fitting_path(category, symbol))

    def _check(self, path: page.ViewPath) -> None:
        """Refuse a path that leads nowhere."""
        is_category = path[:1] == (CATEGORY,) and path[1:2] and path[1] in self._model.names
        match path[2:]:
            case ():
                exists = True
            case (_,):
                exists = False
            case (kind, symbol, *line):
                exists = kind == OVER and symbol in self._model.factors and len(line) < 2
                if exists and line and line[0] != FORMULAE:
                    count = len(self._model.lines(path[1], symbol)) if is_category else 0
                    exists = line[0].isascii() and line[0].isdecimal() and len(line[0]) < 9 and int(line[0]) < count
        if not (is_category and exists):
            raise page.NoViewError(path)
