"""Views of models by category: from the overview of R^2 down to one fit, and back to better ones.

Source: the chapter "Model Generation" of the Lost Cycles Toolkit, whose tool `xmodgen` has the windows
Fitting Overview, Fitting, Fit, Graph and Formulae.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from perf_lost_cycles.categories.category_sum import term_values
from perf_lost_cycles.lca.model import LcaModel
from perf_lost_cycles.modgen.model import ModgenModel
from perf_lost_cycles.views.formulae import formula_checks, formulae_blocks, formulae_edit
from perf_lost_cycles.views.subject import (
    CATEGORY,
    FORMULAE,
    OVER,
    SHADES,
    STEPS,
    VERIFY,
    Candidate,
    ModgenSubject,
    Subject,
    category_path,
    fit_path,
    fitting_path,
    formulae_path,
    r2_cell,
    r2_text,
    steps_blocks,
    steps_path,
    subject_of,
)
from perf_lost_cycles.views.verify import verify_blocks
from perf_views import contents as page
from perf_views.colours import DARK, INK, PAPER, RULE, SERIES
from perf_views.drawable import chosen_figures
from perf_views.names import shortened
from perf_views.style import LABEL_POINTS, SMALL_POINTS, add_legend, draw_quantile_line, set_plain
from perfcore.base.arrays import Floats
from perfcore.base.errors import OptionError, PerfError
from perfcore.data.measurements import Measurements
from perfcore.data.observations import labels_of, numbers_of, values_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def runs_on_line(
    subject: Subject, data: Any, category: str, symbol: str, points: npt.NDArray[np.int64]
) -> tuple[Floats, Floats]:
    """Level of the factor and time of every run on a line (r,), (r,)."""
    none = np.empty(0), np.empty(0)
    if not isinstance(data, Measurements):
        return none
    options, columns = subject.model.origin.options, subject.model.factors
    try:
        measurements = data.with_roles(
            dict(columns), subject.model.value_name, category=options["category"], unit=options["unit"]
        )
        if options["where"]:
            measurements = measurements.where(options["where"])
        roles = measurements.roles
        if roles.value is None or not roles.category:
            return none
        value = values_of(measurements, [], zeros=True)
        kept = np.isfinite(value)
        levels = {name: numbers_of(measurements, column, kept) for name, column in columns.items()}
        names, of_row = labels_of(measurements, "category", kept)
    except PerfError:  # the data were changed since; the model's own observations are shown all the same
        return none
    rows = np.flatnonzero(kept)[of_row == names.index(category)] if category in names else np.empty(0, dtype=np.int64)
    for name, values in levels.items():
        if name != symbol:
            rows = rows[values[rows] == subject.points[name][points[0]]]
    rows = rows[np.isin(levels[symbol][rows], subject.points[symbol][points])]
    return levels[symbol][rows], value[rows]


_MOST, _NAME, _ORDER = "rows", "name", "order"
_FIGURES = (
    ("n_categories", "categories", ",d"),
    ("n_points", "points", ",d"),
    ("median_relative_error", "median error of the sum", ".1%"),
    ("max_relative_error", "largest error of the sum", ".1%"),
    ("set_aside_median_relative_error", "median of what was set aside", ".1%"),
)
_ROWS = 40
_MOST_ROWS = 500  # a longer table takes seconds to draw in a browser
_ORDERS = ("worst fit first", "largest share first", "by name")
_MOST_ACROSS = 7  # categories that stand side by side, as in the paper; more stand below one another


def worst_first(subject: Subject) -> list[str]:
    """The categories, those first whose model of all points fits worst; constant ones last."""
    *_, of_points = [column for name, column in subject.averages().items() if name != "leave-one-out"]
    order = sorted(range(len(of_points)), key=lambda k: _sortable(of_points[k]))
    return [subject.model.names[k] for k in order]


def overview_blocks(subject: Subject, query: page.Query) -> tuple[page.Block, ...]:
    """The table, how to choose its rows where there are many, and the ways to all else."""
    model = subject.model
    rows, part = _wanted_rows(query.get(_MOST, "")), query.get(_NAME, "")
    order = query.get(_ORDER, _ORDERS[0])
    shares = np.nansum(subject.values, axis=1) / subject.total.sum()
    chosen = [k for k in _ordered(subject, order, shares) if part.casefold() in model.names[k].casefold()]
    blocks: list[page.Block] = [
        *chosen_figures(model, _FIGURES),
        page.Text(tuple(model.summary()[1:]), links=(page.Link("Verify and extrapolate", (VERIFY,)),)),
    ]
    if len(model.names) > _MOST_ACROSS:
        blocks.append(
            page.Form(
                (
                    page.Field(_MOST, "rows", str(rows), "number", minimum="1", maximum=str(_MOST_ROWS)),
                    page.Field(_NAME, "name has", part),
                    page.Field(_ORDER, "order", order, "choice", _ORDERS),
                ),
                (),
            )
        )
    if not chosen:
        blocks.append(page.Notice(f"no category has {part!r} in its name"))
    else:
        blocks.append(_table(subject, chosen[:rows], len(chosen), shares))
    formulas = subject.formulas()
    blocks.append(
        page.Table(
            ("category", "model"),
            tuple((page.Cell(model.names[k], _to_category(model.names[k])), formulas[k]) for k in chosen[:rows]),
            "Models",
        )
    )
    return tuple(blocks)


def _table(
    subject: Subject, chosen: Sequence[int], count: int, shares: np.ndarray[tuple[int], np.dtype[np.float64]]
) -> page.Table:
    names = [subject.model.names[k] for k in chosen]
    columns: list[tuple[str, list[page.Cell | str]]] = []
    for title, values in subject.averages().items():
        is_factor = title in subject.points
        columns.append((
            f"over {subject.names[title]}" if is_factor else title,
            [
                r2_cell(values[k], page.Link("", fitting_path(name, title)) if is_factor else _to_category(name))
                for k, name in zip(chosen, names, strict=True)
            ],
        ))  # fmt: skip
    columns.append(("share of the time", [f"{shares[k]:.1%}" for k in chosen]))
    note = f"Averages over lines and tuples. {SHADES}. A category that does not depend on a factor has a low "
    note += "R^2 over it and loses nothing. Click a number to see what is behind it."
    if len(chosen) < count:
        note = f"{len(chosen)} of {count:,} categories. {note}"
    heads = [page.Cell(name, _to_category(name)) for name in names]
    if len(names) <= _MOST_ACROSS:
        return page.Table(("", *heads), tuple((name, *cells) for name, cells in columns), "Fitting overview", note)
    rows = tuple(zip(heads, *(cells for _, cells in columns), strict=True))
    return page.Table(("category", *(name for name, _ in columns)), rows, "Fitting overview", note)


def _ordered(subject: Subject, order: str, shares: np.ndarray[tuple[int], np.dtype[np.float64]]) -> list[int]:
    names = subject.model.names
    if order == _ORDERS[1]:
        return [int(k) for k in np.argsort(-shares, kind="stable")]
    if order == _ORDERS[2]:
        return sorted(range(len(names)), key=lambda k: names[k].casefold())
    place = {name: k for k, name in enumerate(names)}
    return [place[name] for name in worst_first(subject)]


def _wanted_rows(text: str) -> int:
    return min(max(int(text), 1), _MOST_ROWS) if text.isascii() and text.isdecimal() and len(text) < 9 else _ROWS


def _to_category(name: str) -> page.Link:
    return page.Link("", category_path(name))


def _sortable(value: float | None) -> float:
    return float("inf") if value is None else value


def fitting_blocks(subject: Subject, category: str, symbol: str) -> tuple[page.Block, ...]:
    """The R^2 of each instance: each combination of levels of the other factors."""
    lines, name = subject.instances(category, symbol), subject.names[symbol]
    links = (
        page.Link("Formulae", formulae_path(category, symbol)),
        page.Link("Model of the category", category_path(category)),
    )
    if not lines:
        return (page.Notice(f"no line over {name} has three levels, so no model over {name} alone can be judged"),)
    levels = subject.points[symbol]
    rows = tuple(
        (
            line.label,
            r2_cell(line.r2, page.Link("", fit_path(category, symbol, number))),
            line.form or "-",
            f"{len(line.points)}",
            f"{levels[line.points].min():g} .. {levels[line.points].max():g}",
        )
        for number, line in enumerate(lines)
    )
    r2 = [line.r2 for line in lines if line.r2 is not None]
    mean = f"On average R^2 is {np.mean(r2):.4f}." if r2 else "The times do not vary along any line."
    table = page.Table(("held", "R^2", "chosen form", "points", name), rows, f"{category} over {name}", SHADES)
    return page.Text((f"{mean} Click a number to see all candidates on that line.",), links=links), table


def category_blocks(subject: Subject, category: str) -> tuple[page.Block, ...]:
    """The model of a category over all factors: its constants, how well it does, and where it is from."""
    model, number = subject.model, subject.model.names.index(category)
    averages = [
        (
            f"average over the lines of {subject.names[title]}" if title in subject.points else title,
            r2_cell(values[number], page.Link("", fitting_path(category, title)) if title in subject.points else None),
        )
        for title, values in subject.averages().items()
    ]
    unit = f" ({model.unit})" if model.unit else ""
    constants = tuple(
        (one.name.removeprefix(f"{category}: "), f"{one.estimate:.6g}", _error_text(one.standard_error))
        for one in model.parameters
        if one.name.startswith(f"{category}: ")
    )
    links = [
        page.Link(f"Formulae over {subject.names[symbol]}", formulae_path(category, symbol))
        for symbol in subject.points
    ]
    if isinstance(subject, ModgenSubject):
        links.insert(0, page.Link("How it was put together", steps_path(category)))
    return (
        page.Text((f"{category} = {subject.formulas()[number]}",), "Model", "formula"),
        page.Text(links=tuple(links)),
        page.Table(("", "R^2"), tuple(averages), "How well it fits", SHADES),
        page.Table(("term", f"constant{unit}", "standard error"), constants, "Constants"),
    )


def _error_text(error: float | None) -> str:
    return "-" if error is None else f"{error:.3g}"


_MOST_DRAWN = 6  # candidates with a curve: the chosen one and the best of the others
_DASHES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 3)))
_CURVE_POINTS = 100


def fit_blocks(subject: Subject, category: str, symbol: str, line: int, data: Any) -> tuple[page.Block, ...]:
    """Candidates with their constants, picture, and points; of measurements also single runs."""
    instance, name = subject.instances(category, symbol)[line], subject.names[symbol]
    candidates = subject.candidates(category, symbol, line)
    points = instance.points
    x, y = subject.points[symbol][points], subject.values[subject.model.names.index(category), points]
    order = np.argsort(x, kind="stable")
    points, x, y = points[order], x[order], y[order]
    drawn = [candidate for candidate in candidates if None not in candidate.coefficients][:_MOST_DRAWN]
    runs = runs_on_line(subject, data, category, symbol, points)
    spread = None if subject.spread is None else subject.spread[subject.model.names.index(category), points]
    root = np.array(subject.model.root_weights)[points]
    unit = f" ({subject.model.unit})" if subject.model.unit else ""
    predicted = [_curve(candidate, symbol, x) for candidate in drawn]
    table = _points_table(name, unit, x, y, drawn, predicted)

    def draw(figure: Figure) -> None:
        curves, residuals, quantiles = figure.subplots(1, 3, width_ratios=[1.7, 1.0, 1.0])
        _draw_curves(figure, curves, (symbol, name), drawn, (x, y), runs, spread)
        curves.set_ylabel(f"time{unit}", fontsize=LABEL_POINTS)
        if predicted:
            _draw_residuals(residuals, quantiles, x, (y - predicted[0]) * root)
        residuals.set_xlabel(name, fontsize=LABEL_POINTS, parse_math=False)

    links = (
        page.Link("Formulae: add, change or remove one", formulae_path(category, symbol)),
        page.Link("All lines", fitting_path(category, symbol)),
    )
    marks = "single runs and what stands for them" if len(runs[0]) else "measured points"
    rows = tuple(_row(candidate) for candidate in candidates)
    remarks = tuple(f"{candidate.text}: {candidate.note}" for candidate in candidates if candidate.note)
    what = f"{len(points)} points, {instance.label}; R^2 of the chosen one {r2_text(instance.r2)}"
    return (
        page.Text((what,), links=links),
        page.Table(("model", "", "constants, in order", "R^2", "R^2 leave-one-out"), rows, "Candidates", SHADES),
        *((page.Text(remarks, "What stands against a fit"),) if remarks else ()),
        page.Chart(draw, f"{category} over {name}: {marks}, candidates, residuals of the first, and their quantiles",
              (table,), "Graph", (10.0, 4.2)),
    )  # fmt: skip


def _row(one: Candidate) -> tuple[page.Cell | str, ...]:
    constants = [
        "-" if value is None else f"{value:.5g}" + ("" if error is None else f" ± {error:.2g}")
        for value, error in zip(one.coefficients, one.standard_errors, strict=True)
    ]
    chosen = "chosen" if one.is_chosen else ""
    return (one.text, chosen, "; ".join(constants), r2_cell(one.r2), r2_cell(one.r2_leave_one_out))


def _points_table(
    name: str, unit: str, x: Floats, y: Floats, drawn: Sequence[Candidate], predicted: Sequence[Floats]
) -> page.Table:
    rows = []
    for number, level in enumerate(x.tolist()):
        values = [f"{curve[number]:.5g}" for curve in predicted]
        residual = [f"{y[number] - predicted[0][number]:.3g}"] if predicted else []
        rows.append((f"{level:g}", f"{y[number]:.5g}", *values, *residual))
    last = ["residual of the first"] if predicted else []
    return page.Table((name, f"measured{unit}", *(one.text for one in drawn), *last), tuple(rows))


def _curve(one: Candidate, symbol: str, x: Floats) -> Floats:
    return np.asarray(term_values(one.terms, {symbol: x}) @ np.array(one.coefficients, dtype=np.float64))


def _draw_curves(
    figure: Figure,
    axes: Axes,
    factor: tuple[str, str],
    drawn: Sequence[Candidate],
    measured: tuple[Floats, Floats],
    runs: tuple[Floats, Floats],
    spread: Floats | None,
) -> None:
    (symbol, name), (x, y) = factor, measured
    fine = np.linspace(x.min(), x.max(), _CURVE_POINTS)
    handles, names = [], []
    for number, one in enumerate(drawn):
        width = 2.2 if one.is_chosen else 1.2
        (curve,) = axes.plot(
            fine, _curve(one, symbol, fine), color=SERIES[number], linestyle=_DASHES[number], linewidth=width, zorder=2
        )
        handles.append(curve)
        names.append(shortened(one.text, 30) + (" (chosen)" if one.is_chosen else ""))
    if spread is not None and np.isfinite(spread).any():
        axes.errorbar(x, y, np.nan_to_num(spread), fmt="none", ecolor=DARK, capsize=3, zorder=3)
    if len(runs[0]):
        (single,) = axes.plot(*runs, "o", color=RULE, markersize=3.5, zorder=3)
        handles.append(single)
        names.append("single runs")
    (joined,) = axes.plot(x, y, "o", color=INK, markersize=5, markerfacecolor=PAPER, zorder=4)
    handles.append(joined)
    names.append("measured")
    axes.set_xlabel(name, fontsize=LABEL_POINTS, parse_math=False)
    axes.margins(y=0.1)
    set_plain(axes)
    add_legend(figure, names, handles, loc="outside lower left", ncols=3, fontsize=SMALL_POINTS)


def _draw_residuals(residuals: Axes, quantiles: Axes, x: Floats, values: Floats) -> None:
    """Weighted residuals of one model over the factor, and against quantiles of the normal distribution."""
    residuals.plot(x, values, "o", color=SERIES[0], markersize=4)
    residuals.set_title("Residuals, weighted", fontsize=LABEL_POINTS)
    quantiles.plot(draw_quantile_line(quantiles, values), values, "o", color=SERIES[0], markersize=4)
    for axes in (residuals, quantiles):
        axes.axhline(0.0, color=RULE, linewidth=0.7)
        axes.margins(x=0.08, y=0.12)
        set_plain(axes)


_STEPS_TITLE = "How it was put together"


class LostCyclesViews:
    """Views of a model by category."""

    def __init__(
        self, model: ModgenModel | LcaModel, data: Any = None, file: Path | None = None, stored: bytes | None = None
    ) -> None:
        self._model, self._data, self._file = model, data, file
        self._subject = subject_of(model)
        # An edit is refused where somebody else has written the file since.
        self._stored = stored if stored is not None or file is None or not file.exists() else file.read_bytes()

    @property
    def title(self) -> str:
        """That of the model."""
        return self._model.title

    @property
    def model(self) -> ModgenModel | LcaModel:
        """The model, so that the page can save it."""
        return self._model

    def view(self, path: page.ViewPath, query: page.Query) -> page.View:
        """The overview, or what it leads to; see `perf_views.Viewable.view`."""
        if path == ():
            return page.View(self.title, overview_blocks(self._subject, query))
        trail: tuple[page.Link, ...] = (page.Link("Fitting overview", ()),)
        if path == (VERIFY,):
            return page.View("Verify", verify_blocks(self._subject, query), path, trail)
        self._check(path)
        category, rest = path[1], path[2:]
        if not rest:
            return page.View(category, category_blocks(self._subject, category), path, trail)
        trail = (*trail, page.Link(category, category_path(category)))
        if rest == (STEPS,) and isinstance(self._subject, ModgenSubject):
            return page.View(_STEPS_TITLE, steps_blocks(self._subject, category), path, trail)
        symbol, factor = rest[1], self._subject.names[rest[1]]
        if len(rest) == 2:
            return page.View(f"Fitting over {factor}", fitting_blocks(self._subject, category, symbol), path, trail)
        fitting = page.Link(f"over {factor}", fitting_path(category, symbol))
        if rest[2] == FORMULAE:
            blocks: tuple[page.Block, ...] = formulae_blocks(self._subject, category, symbol, self._file)
            return page.View(f"Formulae of {category} over {factor}", blocks, path, (*trail, fitting))
        line = int(rest[2])
        label = self._subject.instances(category, symbol)[line].label
        blocks = fit_blocks(self._subject, category, symbol, line, self._data)
        return page.View(f"Fit of {category} over {factor}: {label}", blocks, path, (*trail, fitting))

    def paths(self) -> Iterable[page.ViewPath]:
        """Overview, verification, then the categories with their lines, each from the worst to the best."""
        yield from ((), (VERIFY,))
        for category in worst_first(self._subject):
            yield category_path(category)
            yield from (link.path for link in self._below(category))

    def ways(self, path: page.ViewPath, query: page.Query) -> Iterable[page.Link]:
        """The categories, and below the one that is shown its fits; see `perf_views.contents.Navigable`."""
        yield page.Link(self.title, ())
        yield page.Link("Verify and extrapolate", (VERIFY,))
        for category in worst_first(self._subject):
            yield page.Link(category, category_path(category))
            if path[:2] == category_path(category):
                yield from self._below(category)

    def _below(self, category: str) -> Iterable[page.Link]:
        """All lines over each factor where there are several, the worst of them, and how the model was put together."""
        for symbol in self._subject.points:
            factor = self._subject.names[symbol]
            lines = self._subject.instances(category, symbol)
            if len(lines) > 1:
                yield page.Link(factor, fitting_path(category, symbol))
            if lines:
                worst = int(np.argmin([1.0 if line.r2 is None else line.r2 for line in lines]))
                text = f"{lines[worst].label}, the worst" if len(lines) > 1 else f"{factor}: {lines[worst].label}"
                yield page.Link(text, fit_path(category, symbol, worst))
        if isinstance(self._subject, ModgenSubject):
            yield page.Link(_STEPS_TITLE, steps_path(category))

    def act(self, path: page.ViewPath, form: page.Query) -> page.Change:
        """Generate the model again with other formulas; see `perf_views.Editable.act`."""
        if path[4:] != (FORMULAE,):
            raise OptionError("there is nothing to change here")
        self._check(path)
        category, symbol = path[1], path[3]
        edit = formulae_edit(self._subject, category, symbol, form, self._file, self._stored)
        stored = next((each.after for each in edit.files if each.path == self._file), None)
        views = LostCyclesViews(edit.model, self._data, self._file, stored)
        return page.Change(views, edit.summary, edit.blocks, edit.files, fitting_path(category, symbol))

    def check(self, path: page.ViewPath, form: page.Query) -> tuple[page.Check, ...]:
        """What is right and wrong with formulas that are being typed; see `perf_views.Checkable.check`."""
        if path[4:] != (FORMULAE,):
            return ()
        self._check(path)
        return formula_checks(self._subject, path[1], path[3], form)

    def _check(self, path: page.ViewPath) -> None:
        """Refuse a path that leads nowhere."""
        is_category = path[:1] == (CATEGORY,) and path[1:2] and path[1] in self._model.names
        match path[2:]:
            case ():
                exists = True
            case (kind,):
                exists = kind == STEPS and isinstance(self._subject, ModgenSubject)
            case (kind, symbol, *line):
                exists = kind == OVER and symbol in self._subject.points and len(line) < 2
                if exists and line and line[0] != FORMULAE:
                    count = len(self._subject.instances(path[1], symbol)) if is_category else 0
                    exists = line[0].isascii() and line[0].isdecimal() and len(line[0]) < 9 and int(line[0]) < count
        if not (is_category and exists):
            raise page.NoViewError(path)
