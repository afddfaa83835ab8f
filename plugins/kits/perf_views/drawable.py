"""Views of everything that draws itself: a model, a prediction, a judgement, a profile.

Every result has these; a presenter's `views` adds more.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from perf_views import contents as page
from perfcore.models import answers
from perfcore.models.model import Model
from perfcore.report import Report, interval_text
from perfcore.results import Result

_MOST_TILES = 8
_MANY_PLOTS, _SMALL = 4, 2.0  # plots of this height, in inches, stand side by side if they are many
_HALF = 0.5  # share of a row; plots that are no wider stand side by side


def views_of(subject: Result, data: Any = None, file: Path | None = None) -> page.Viewable:
    """Return the views of a result that its presenter gives, or else one of all that it says of itself."""
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
        """Return the report, or that of a row; see `Viewable.view`."""
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
    if isinstance(subject, Model):
        blocks += [] if any(each.title == "Parameters" for each in report.shown_tables) else [parameter_table(subject)]
        blocks.append(statistics_table(subject))
    return tuple(blocks)


def report_blocks(report: Report) -> tuple[page.Block, ...]:
    """Return the blocks of a report, from the answer to the next command; what --all adds is folded."""
    blocks = list(answer_blocks(report))
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
    return (*answer_blocks(report), *tables, *_closing(report))


def answer_blocks(report: Report) -> tuple[page.Block, ...]:
    """Return the answer of a report and its figures."""
    figures = tuple(
        page.KeyFigure(
            figure.name,
            replace(figure, interval=None).text,
            f"{figure.kind} {interval_text(figure.interval, figure.format)}" if figure.interval else "",
        )
        for figure in report.figures[:_MOST_TILES]
    )
    return (page.Headline(report.answer), *([page.KeyFigures(figures)] if figures else ()))


def _closing(report: Report) -> tuple[page.Block, ...]:
    return (page.Notes(report.notes_by_label(), report.next),) if report.notes or report.next else ()


def parameter_table(model: Any) -> page.Table:
    """Return every number of a model with its standard error."""
    return replace(page.Table.of(*answers.parameter_table(model)), is_folded=True)


def statistics_table(model: Any) -> page.Table:
    """Return how well a model fits and what it cost."""
    rows = []
    for name, value in model.statistics.items():
        text = "-" if value is None else f"{value:.6g}" if isinstance(value, float) else str(value)
        rows.append((name.replace("_", " "), text))
    return page.Table(("figure", "value"), tuple(rows), "Fit statistics", is_folded=True)


def _text(cell: page.Cell | str) -> str:
    return cell if isinstance(cell, str) else cell.text
