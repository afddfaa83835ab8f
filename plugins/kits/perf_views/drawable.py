"""Views of everything that draws itself: a model, a prediction, a judgement, a profile.

Every result has these; a presenter's `views` adds more.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from perf_views import contents as page
from perfcore.models import answers
from perfcore.models.model import Model
from perfcore.report import Figure, Report, interval_text
from perfcore.results import Result

_MOST_TILES = 8
_MANY_PLOTS, _SMALL = 4, 2.0  # plots of this height, in inches, stand side by side if they are many
_HALF = 0.5  # share of a row; plots that are no wider stand side by side
_MOST_FIGURES = 5  # more are not taken in at a glance
# What figures of fits are called where their name does not say it, and how they are written.
_CALLED = {
    "crps": ("mean CRPS", ".4g"),
    "held_by_50": ("held by 50 % intervals", ".0%"),
    "held_by_80": ("held by 80 % intervals", ".0%"),
    "held_by_95": ("held by 95 % intervals", ".0%"),
    "r2_centered": ("R^2 centered", ".4f"),
    "r2_uncentered": ("R^2 uncentered", ".4f"),
    "sse": ("sum of squared errors", ".4g"),
}


def views_of(subject: Result, data: Any = None, file: Path | None = None) -> page.Viewable:
    """The views of a result that its presenter gives, or else one of all that it says of itself."""
    own: page.Viewable | None = subject.views(data, file)
    return own or ReportViews(subject, data)


class ReportViews:
    """What a result reports, and below it what it reports of each row of its first table, if it does."""

    def __init__(self, subject: Result, data: Any = None) -> None:
        self._subject, self._data = subject, data
        self._blocks = functools.cache(lambda: model_blocks(subject, data))

    @property
    def title(self) -> str:
        return self._subject.title

    def view(self, path: page.ViewPath, query: page.Query) -> page.View:
        """The report, or that of a row; see `Viewable.view`."""
        if not path:
            return page.View(self.title, self._blocks())
        part = self._subject.report(self._data).part
        try:
            report = part(path[0]) if part is not None and len(path) == 1 else None
        except KeyError:
            report = None
        if report is None:
            raise page.NoViewError(path)
        return page.View(report.title, report_blocks(report), path, (page.Link(self.title, ()),))

    def paths(self) -> Iterable[page.ViewPath]:
        return [()]


def model_blocks(subject: Result, data: Any = None) -> tuple[page.Block, ...]:
    """Return the blocks of a result's report, and of a model its statistics."""
    report = subject.report(data)
    blocks = list(report_blocks(report))
    if not report.figures and isinstance(subject, Model) and subject.statistics:
        blocks.insert(1, key_figures(subject))
    if isinstance(subject, Model):
        blocks += [] if any(each.title == "Parameters" for each in report.shown_tables) else [parameter_table(subject)]
        blocks.append(statistics_table(subject))
    return tuple(blocks)


def report_blocks(report: Report) -> tuple[page.Block, ...]:
    """Return the blocks of a report, from the answer to the next command; what --all adds is folded."""
    blocks = list(_answer(report))
    few = len(report.plots) < _MANY_PLOTS or any(plot.height > _SMALL for plot in report.plots)
    graphs = [page.Graph(plot, plot.title) for plot in report.plots]
    beside = [graph for graph in graphs if not few or 0.0 < graph.plot.width <= _HALF]
    blocks += [graph for graph in graphs if graph not in beside]
    blocks += [page.Graphs(tuple(beside))] if beside else []
    formula = report.formula
    if formula and not any(formula in line for line in report.lines):
        is_equation = "=" in formula  # else it is the value of a result
        blocks.append(page.Text(tuple(formula.split("\n")), "Formula" if is_equation else "", "formula"))
    brief = {id(table): page.Table.of(table.title, *table.shown(verbose=False)) for table in report.brief_tables}
    if report.part is not None and brief:
        first, *others = brief.values()
        keys = report.brief_tables[0].records()
        heading = next(iter(keys[0])) if keys else ""
        rows = [
            (page.Cell(_text(row[0]), page.Link("", (str(record[heading]),))), *row[1:])
            for row, record in zip(first.rows, keys, strict=False)
        ]
        brief = dict(zip(brief, (replace(first, rows=tuple(rows)), *others), strict=True))
    blocks.extend(brief.values())
    for table in report.shown_tables:
        whole, shown = page.Table.of(*table), brief.get(id(table))
        if shown is None or (whole.header, whole.rows) != (shown.header, shown.rows):
            is_named = table.title and not any(each.title == table.title for each in brief.values())
            title = table.title if is_named else ": ".join(filter(None, (table.title, "all rows and columns")))
            blocks.append(replace(whole, title=title[:1].upper() + title[1:], is_folded=bool(brief)))
    if details := tuple(line for line in report.details if line not in (report.title, report.formula)):
        blocks.append(page.Text(details, "Details", is_folded=True))
    return (*blocks, *_closing(report))


def brief_blocks(report: Report) -> tuple[page.Block, ...]:
    """Return the answer of a report, its figures, and the tables that the terminal shows."""
    tables = (page.Table.of(table.title, *table.shown(verbose=False)) for table in report.brief_tables)
    return (*_answer(report), *tables, *_closing(report))


def _answer(report: Report) -> tuple[page.Block, ...]:
    figures = tuple(map(key_figure, report.figures[:_MOST_TILES]))
    return (page.Headline(report.answer), *([page.KeyFigures(figures)] if figures else ()))


def _closing(report: Report) -> tuple[page.Block, ...]:
    return (page.Notes(report.notes_by_label(), report.next),) if report.notes or report.next else ()


def key_figure(figure: Figure) -> page.KeyFigure:
    """Return a figure of a report as a tile."""
    interval = f"{figure.kind} {interval_text(figure.interval, figure.format)}" if figure.interval else ""
    return page.KeyFigure(figure.name, replace(figure, interval=None).text, interval)


def summary_blocks(subject: Result, links: tuple[page.Link, ...] = ()) -> tuple[page.Headline, page.Text]:
    """The first line of the summary as the headline, and the others."""
    first, *others = subject.report().lines or [subject.title]
    return page.Headline(first), page.Text(tuple(line for line in others if line != subject.title), links=links)


def chosen_figures(model: Model, chosen: Sequence[tuple[str, str, str]]) -> tuple[page.KeyFigures, ...]:
    """Figures of a fit that stand above everything else; one block, or none where the model has none of them."""
    rows = [(name, model.statistics.get(key), form) for key, name, form in chosen]
    figures = tuple(
        page.KeyFigure(name, format(value, form))
        for name, value, form in rows
        if isinstance(value, (int, float)) and math.isfinite(value)
    )
    return (page.KeyFigures(figures),) if figures else ()


def key_figures(model: Any) -> page.KeyFigures:
    """The first figures of a fit that are numbers, which are the most telling ones."""
    numbers = [(name, value) for name, value in model.statistics.items() if isinstance(value, (int, float))]
    figures = []
    for name, value in numbers[:_MOST_FIGURES]:
        plain = name.removeprefix("n_").replace("_n_", " ").replace("_", " ")
        called, form = _CALLED.get(name, (plain, "," if isinstance(value, int) else ".4g"))
        figures.append(page.KeyFigure(called, format(value, form)))
    return page.KeyFigures(tuple(figures))


def parameter_table(model: Any) -> page.Table:
    """Every number of a model with its standard error."""
    return replace(page.Table.of(*answers.parameter_table(model)), is_folded=True)


def statistics_table(model: Any) -> page.Table:
    """How well a model fits and what it cost."""
    rows = []
    for name, value in model.statistics.items():
        text = "-" if value is None else f"{value:.6g}" if isinstance(value, float) else str(value)
        rows.append((name.replace("_", " "), text))
    return page.Table(("figure", "value"), tuple(rows), "Fit statistics", is_folded=True)


def _text(cell: page.Cell | str) -> str:
    return cell if isinstance(cell, str) else cell.text
