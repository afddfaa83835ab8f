"""What a view is made of: plain blocks, which the page and the report turn into HTML.

A subject to show is a `Viewable`, whose first view has the path ``()``; `mounted` puts it below a path.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from perfcore.base.errors import InputError, OptionError, PerfError
from perfcore.models import answers
from perfcore.models.model import Model
from perfcore.report import Plot, Report, Result, interval_text

if TYPE_CHECKING:
    from matplotlib.figure import Figure


ViewPath = tuple[str, ...]
Query = Mapping[str, str]
Part = TypeVar("Part")
_WITH_LINKS = frozenset(("blocks", "trail", "links", "link", "live", "header", "rows"))  # fields
_MOST_TILES = 8
_MANY_PLOTS, _SMALL = 4, 2.0  # plots of this height, in inches, stand side by side if they are many
_HALF = 0.5  # share of a row; plots that are no wider stand side by side


@dataclass(frozen=True)
class Field:
    """One field of a form."""

    name: str  # in the query or the posted form
    label: str = ""
    value: str = ""  # what it holds now
    kind: Literal["text", "number", "range", "choice", "lines", "hidden"] = "text"
    choices: tuple[str, ...] = ()  # of a ``choice``
    minimum: str = ""  # of a ``number`` or ``range``; empty for none
    maximum: str = ""
    step: str = ""
    help: str = ""  # in one sentence


@dataclass(frozen=True)
class Form:
    """Fields that lead to another state of a view; the state stands in the address. A report leaves it out."""

    fields: tuple[Field, ...]
    path: ViewPath  # the view that gets them as its query
    submit: str = "Show"  # on the button
    title: str = ""
    is_folded: bool = False  # only its title is shown until it is opened; for forms that few need


@dataclass(frozen=True)
class Action:
    """Fields that change what is kept, after a preview: they go to `Viewable.act` with the path."""

    fields: tuple[Field, ...]
    path: ViewPath
    submit: str = "Preview"  # on the button that leads to the preview
    title: str = ""


class NoViewError(PerfError):
    """There is no view at a path: a link that is out of date, or an address that was typed."""

    def __init__(self, path: ViewPath) -> None:
        super().__init__(f"there is no view {'/'.join(path)!r} here; begin at the first one")


@dataclass(frozen=True)
class Link:
    """A way to another view, or to the same one in another state."""

    text: str
    path: ViewPath  # of the view; any text may stand in it
    query: Query = field(default_factory=dict)  # its state


@dataclass(frozen=True)
class Cell:
    """One cell of a table."""

    text: str  # always shown
    link: Link | None = None  # where a click on it leads; its own text is not shown
    shade: float | None = None  # A size, as the colour behind the text: dark for 0 and bright for 1
    indent: int = 0  # how many steps the text stands to the right, as what is below another row does
    bar: float | None = None  # length of a bar next to the text, which says the same as a number
    step: int | None = None  # A class of growth, as the colour behind the text; see `perf_views.colours.STEPS`
    is_sure: bool = True  # whether that class is sure; else its colour is pale and striped


@dataclass(frozen=True)
class Text:
    """Paragraphs, or a formula."""

    lines: tuple[str, ...] = ()
    title: str = ""
    kind: Literal["plain", "formula"] = "plain"  # A formula keeps its line breaks and scrolls when it is wide
    links: tuple[Link, ...] = ()  # below the lines, in one row
    is_folded: bool = False  # only its title is shown until it is opened


@dataclass(frozen=True)
class Table:
    """A table; the first column names the rows."""

    header: tuple[Cell | str, ...]
    rows: tuple[tuple[Cell | str, ...], ...]  # each as long as the header
    title: str = ""
    note: str = ""  # what must be known to read it
    is_folded: bool = False  # only its title is shown until it is opened

    def __post_init__(self) -> None:
        for number, row in enumerate(self.rows, 1):
            if len(row) != len(self.header):
                counts = f"{len(row)} cells, and the header has {len(self.header)}"
                raise ValueError(f"table {self.title!r}: row {number} has {counts}")

    @classmethod
    def of(cls, title: str, header: Iterable[Cell | str], rows: Iterable[Iterable[Cell | str]]) -> Table:
        """From the three parts that models' tables come in."""
        return cls(tuple(header), tuple(tuple(row) for row in rows), title)


@dataclass(frozen=True)
class Live:
    """What a script of the page draws instead of a chart: long data, of which it asks for the part that is seen."""

    kind: str  # which script: ``timeline``
    path: ViewPath  # where it asks; see `Viewable.feed`
    query: Query = field(default_factory=dict)  # the state that it begins in
    settings: Mapping[str, Any] = field(default_factory=dict)
    links: tuple[Link, ...] = ()  # other states near this one, for who has no script


@dataclass(frozen=True)
class Chart:
    """A drawing."""

    draw: Callable[[Figure], None]  # draws into an empty matplotlib figure; it may change the figure's size
    alternative: str  # what it shows, in a sentence, for who cannot see it
    title: str = ""
    size: tuple[float, float] = (10.0, 4.0)  # width and height to begin with
    live: Live | None = None  # what the page shows in its place where scripts run


@dataclass(frozen=True)
class Graph:
    """A declared plot, which responds to the pointer where scripts run."""

    plot: Plot
    title: str = ""
    prefix: str = ""  # of the fields of the address that dragging sets; see `perfcore.report.Rule.drag`

    @property
    def alternative(self) -> str:
        """What it shows, for who cannot see it."""
        labels = ", ".join(dict.fromkeys(label for mark in self.plot.marks if (label := getattr(mark, "label", ""))))
        axes = " over ".join(axis.label for axis in (self.plot.y, self.plot.x) if axis.label)
        return ": ".join(filter(None, (self.title or self.plot.title or "Chart", axes, labels)))


@dataclass(frozen=True)
class Graphs:
    """Small plots of many things side by side, such as benchmarks; a click makes one larger."""

    graphs: tuple[Graph, ...]
    title: str = ""


@dataclass(frozen=True)
class Notes:
    """What must be known to read the answer, by label, and what to do next."""

    by_label: Mapping[str, Sequence[str]] = field(default_factory=dict)
    next: str = ""
    title: str = ""


@dataclass(frozen=True)
class Headline:
    """The answer in the sentence that the command prints first, above everything else."""

    text: str


@dataclass(frozen=True)
class Notice:
    """Something that must not be overlooked."""

    text: str
    kind: Literal["note", "warning", "error"] = "note"


@dataclass(frozen=True)
class KeyFigure:
    """One number that says most of what a view shows."""

    name: str
    text: str  # with its unit
    interval: str = ""  # with what it is, such as ``95% interval 0.38–1.2``


@dataclass(frozen=True)
class KeyFigures:
    """Three to five figures that stand above everything else."""

    figures: tuple[KeyFigure, ...]


Block = Text | Table | Chart | Graph | Graphs | Form | Action | Headline | Notice | Notes | KeyFigures


@dataclass(frozen=True)
class View:
    """One page, or one section of a report."""

    title: str
    blocks: tuple[Block, ...]  # from top to bottom
    path: ViewPath = ()
    trail: tuple[Link, ...] = ()  # the views above this one, outermost first


def mounted(part: Part, prefix: ViewPath, query: Query | None = None) -> Part:
    """Return a view, a block or a link of a viewable that stands below a path, where it may have a state."""
    state = query or {}
    if isinstance(part, tuple):
        return tuple(mounted(each, prefix, state) for each in part)  # type: ignore[return-value]
    if not isinstance(part, (View, Link, Live, Cell, Text, Table, Chart, Form, Action)):
        return part
    names = _WITH_LINKS & {item.name for item in fields(part)}
    changes = {name: mounted(getattr(part, name), prefix, state) for name in names}
    if isinstance(part, (View, Link, Live, Form, Action)):
        changes["path"] = (*prefix, *part.path)
    if isinstance(part, (Link, Live)):
        changes["query"] = {**state, **part.query}
    if isinstance(part, (Form, Action)):
        own = {item.name for item in part.fields}
        kept = (Field(name, value=value, kind="hidden") for name, value in state.items() if name not in own)
        changes["fields"] = (*kept, *part.fields)
    return replace(part, **changes)


def headed(subject: Viewable, view: View) -> View:
    """Return the view, with the headline of the nearest view above it if it has none."""
    shown, above = view, [*view.trail]
    while not (found := [block for block in shown.blocks if isinstance(block, Headline)]) and above:
        link = above.pop()
        shown = subject.view(link.path, link.query)
    return view if shown is view else replace(view, blocks=(*found[:1], *view.blocks))


@dataclass(frozen=True)
class Feed:
    """An answer."""

    content: bytes
    media: str  # its type, such as ``application/json``
    file_name: str = ""  # under which a browser keeps it; empty if it is not kept


@dataclass(frozen=True)
class FileEdit:
    """A file that a change writes when it is kept."""

    path: Path
    before: bytes | None  # what it must hold until then, so that no other edit is lost
    after: bytes | None  # what it holds then; None removes it


@dataclass(frozen=True)
class Change:
    """What an action would do, before it is kept."""

    subject: Viewable  # what takes the place of the present one
    summary: str  # in one line, for the preview, the button of undo, and other tabs
    blocks: tuple[Block, ...]  # what becomes different, such as a table of R^2 before and after
    files: tuple[FileEdit, ...] = ()  # written when the change is kept, each whole or not at all
    path: ViewPath = ()  # the view to show afterwards
    query: Query = field(default_factory=dict)  # its state


class Viewable:
    """What the page and the report can show. It does not change; an edit gives another one."""

    title: str  # of the whole

    def view(self, path: ViewPath, query: Query) -> View:
        """Return the view at a path in a state."""
        raise NoViewError(path)

    def paths(self) -> Iterable[ViewPath]:
        """Return views for a report, the most important first; the report stops where it becomes too long."""
        return [()]

    def ways(self, path: ViewPath, query: Query) -> Iterable[Link]:
        """Return views that can be reached without computing anything, the most important first."""
        return (Link("" if target else self.title, target) for target in self.paths())

    def feed(self, path: ViewPath, query: Query) -> Feed:
        """Return what a script of the page asks for; several requests may come at once."""
        raise NoViewError(path)

    def act(self, path: ViewPath, form: Query) -> Change:
        """Return what an action would change; nothing is changed by asking."""
        raise OptionError("nothing to edit in this view")


def content(path: Path) -> bytes | None:
    """Return what a file holds; None if there is none."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise InputError(path, f"cannot be read: {error.strerror or error}") from error


def views_of(subject: Result, data: Any = None, file: Path | None = None) -> Viewable:
    """Return the views of a result that its presenter gives, or else one of all that it says of itself."""
    own: Viewable | None = subject.views(data, file)
    return own or ReportViews(subject, data)


class ReportViews(Viewable):
    """What a result reports, and below it what it reports of each row of its first table, if it does."""

    def __init__(self, subject: Result, data: Any = None) -> None:
        self._subject, self._data = subject, data
        self._blocks = functools.cache(lambda: model_blocks(subject, data))

    @functools.cached_property
    def title(self) -> str:  # type: ignore[override]
        return self._subject.title

    def view(self, path: ViewPath, query: Query) -> View:
        """Return the report, or that of a row; see `Viewable.view`."""
        if not path:
            return View(self.title, self._blocks())
        part = self._subject.report(self._data).part
        try:
            report = part(path[0]) if part is not None and len(path) == 1 else None
        except KeyError:
            report = None
        if report is None:
            raise NoViewError(path)
        return View(report.title, report_blocks(report), path, (Link(self.title, ()),))


def model_blocks(subject: Result, data: Any = None) -> tuple[Block, ...]:
    """Return the blocks of a result's report, and of a model its statistics."""
    report = subject.report(data)
    blocks = list(report_blocks(report))
    if isinstance(subject, Model):
        if not any(each.title == "Parameters" for each in report.shown_tables):
            blocks.append(replace(Table.of(*answers.parameter_table(subject)), is_folded=True))
        rows = []
        for name, value in subject.statistics.items():
            text = "-" if value is None else f"{value:.6g}" if isinstance(value, float) else str(value)
            rows.append((name.replace("_", " "), text))
        blocks.append(Table(("figure", "value"), tuple(rows), "Fit statistics", is_folded=True))
    return tuple(blocks)


def report_blocks(report: Report, is_brief: bool = False) -> tuple[Block, ...]:
    """Return the blocks of a report, from the answer to the next command; if brief those that the terminal shows."""
    blocks = list(answer_blocks(report))
    brief = {id(table): Table.of(table.title, *table.shown(verbose=False)) for table in report.brief_tables}
    if is_brief:
        blocks.extend(brief.values())
    else:
        blocks += _all_blocks(report, brief)
    if report.notes or report.next:
        blocks.append(Notes(report.notes_by_label(), report.next))
    return tuple(blocks)


def _all_blocks(report: Report, brief: dict[int, Table]) -> list[Block]:
    """Return charts, the formula, tables in their brief and whole form, and details."""
    blocks: list[Block] = []
    few = len(report.plots) < _MANY_PLOTS or any(plot.height > _SMALL for plot in report.plots)
    graphs = [Graph(plot, plot.title) for plot in report.plots]
    beside = [graph for graph in graphs if not few or 0.0 < graph.plot.width <= _HALF]
    blocks += [graph for graph in graphs if graph not in beside]
    blocks += [Graphs(tuple(beside))] if beside else []
    formula = report.formula
    if formula and not any(formula in line for line in report.lines):
        is_equation = "=" in formula  # else it is the value of a result
        blocks.append(Text(tuple(formula.split("\n")), "Formula" if is_equation else "", "formula"))
    if report.part is not None and brief:
        first, *others = brief.values()
        keys = report.brief_tables[0].records()
        heading = next(iter(keys[0])) if keys else ""
        rows = [
            (Cell(row[0] if isinstance(row[0], str) else row[0].text, Link("", (str(record[heading]),))), *row[1:])
            for row, record in zip(first.rows, keys, strict=False)
        ]
        brief = dict(zip(brief, (replace(first, rows=tuple(rows)), *others), strict=True))
    blocks.extend(brief.values())
    for table in report.shown_tables:
        whole, shown = Table.of(*table), brief.get(id(table))
        if shown is None or (whole.header, whole.rows) != (shown.header, shown.rows):
            is_named = table.title and not any(each.title == table.title for each in brief.values())
            title = table.title if is_named else ": ".join(filter(None, (table.title, "all rows and columns")))
            blocks.append(replace(whole, title=title[:1].upper() + title[1:], is_folded=bool(brief)))
    if details := tuple(line for line in report.details if line not in (report.title, report.formula)):
        blocks.append(Text(details, "Details", is_folded=True))
    return blocks


def answer_blocks(report: Report) -> tuple[Block, ...]:
    """Return the answer of a report and its figures."""
    figures = tuple(
        KeyFigure(
            figure.name,
            replace(figure, interval=None).text,
            f"{figure.kind} {interval_text(figure.interval, figure.format)}" if figure.interval else "",
        )
        for figure in report.figures[:_MOST_TILES]
    )
    return (Headline(report.answer), *([KeyFigures(figures)] if figures else ()))
