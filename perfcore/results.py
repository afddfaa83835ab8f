"""How results are shown: a result says what it is, its presenter how that looks in text, tables, pictures and pages.

A result class inherits `Result` and computes; a `Presenter` registered for it draws. Data inherit `Shown`.
"""

from __future__ import annotations

import contextlib
import functools
import html
import importlib
import itertools
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from perfcore.base.errors import OptionError, PerfError
from perfcore.hooks.registry import registry
from perfcore.report import Note, Report
from perfcore.tables import Column, Table, html_table

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    "Column", "Panel", "Panels", "Presenter", "Result", "Shown", "Table", "Tables", "cut", "draw_panels",
    "further_presenters", "presenter_of",
]  # fmt: skip

Tables = list[Table]

_USUAL_HEIGHT, _PAGE_WIDTH = 3.1, 11.0  # inches, of panels and of the picture
BELOW = "below"  # the name (gid) of a panel's legend that stands below all panels
_LINES, _CELL_LINES = 10, 20  # of a repr and of a notebook cell, at most
# Of a notebook cell: width of the picture, letters of a line, rows and columns of the table, and letters of an entry.
_CELL_SIZE, _LINE_LETTERS, _ROWS, _COLUMNS, _ENTRY_LETTERS = "6in", 200, 6, 16, 80


@dataclass(frozen=True)
class Panel:
    """A function that draws a part of a picture into axes of any size, with the room that it takes."""

    draw: Callable[[Axes], None]
    height: float = 0.0  # inches, with its labels; 0 for the usual one
    width: float = 0.0  # share of a row; 0 for the usual one, by the number of panels

    def __call__(self, axes: Axes) -> None:
        """Draw it into axes of any size."""
        self.draw(axes)


Panels = Mapping[str, Callable[["Axes"], None]]


class Presenter:
    """How one type of result is shown. Every method has a default; registered with ``register_presenters``."""

    def title(self, result: Any) -> str:
        """What it is, in one line."""
        return type(result).__name__

    def formula(self, result: Any) -> str:
        """The result as a formula that a person can read; empty where it has none."""
        return ""

    def answer(self, result: Any) -> str:
        """The answer in one sentence, with a number, its unit and its uncertainty."""
        return self.title(result)

    def caveats(self, result: Any) -> dict[str, Sequence[str]]:
        """What is ``Assumed``, ``Uncertain`` and ``Not recorded``, shown below the tables."""
        return {}

    def next_command(self, result: Any) -> str:
        """A command that leads on, shown last."""
        return ""

    def summary(self, result: Any) -> list[str]:
        """Lines before any table, by default the answer."""
        return [self.answer(result)]

    def tables(self, result: Any) -> Tables:
        """Tables of declared columns; see `perfcore.tables`."""
        return []

    def plain_tables(self, result: Any) -> Tables:
        """Tables for other programs: those that are declared as data, or else all."""
        tables = self.tables(result)
        return [t for t in tables if t.importance == "data"] or [t for t in tables if t.importance != "brief"]

    def frame(self, result: Any) -> pd.DataFrame:
        """The result as a data frame: the first of its tables of data, with true numbers."""
        table: Table = next(iter(self.plain_tables(result)), Table(()))
        return table.frame()

    def panels(self, result: Any, data: Any = None) -> Panels:
        """Parts of the picture by name, each drawn into axes of any size, the most important first."""
        return {}

    def draw(self, result: Any, figure: Figure, data: Any = None) -> None:
        """Draw the result, over its data where given, into an empty matplotlib figure; by default all panels."""
        panels = self.panels(result, data)
        if not panels:
            raise OptionError(f"{type(result).__name__} has no picture")
        draw_panels(figure, panels, self.heading(result, data))

    def heading(self, result: Any, data: Any = None) -> str:
        """Heading of the picture: the title, and what it omits."""
        return self.title(result)

    def commands(self, result: Any, file: str) -> list[str]:
        """Commands about data that `perf info` suggests; ``file`` is quoted, with the options by which it is read."""
        return []

    def views(self, result: Any, data: Any = None, file: Path | None = None) -> Any:
        """What the page shows (`perf_views.Viewable`), by default all of the above.

        ``data`` is what a result was fitted to, or a model that the data are shown with.
        """
        return None


def draw_panels(figure: Figure, panels: Panels, title: str = "") -> None:
    """Lay panels out in rows; names that several of them explain are explained once, below all."""
    usual = {1: 1.0, 2: 0.5, 4: 0.5}.get(len(panels), 1.0 / 3.0)
    heights: list[float] = []
    places: list[tuple[int, float, float]] = []  # row, and the ends within it
    end = 1.0
    for panel in panels.values():
        width = getattr(panel, "width", 0.0) or usual
        start = 0.0 if end + width > 1.01 else end
        end = round(start + width, 2)
        end = 1.0 if end > 0.98 else end  # as three thirds are
        heights = [*heights, 0.0] if start == 0.0 else heights
        heights[-1] = max(heights[-1], getattr(panel, "height", 0.0))
        places.append((len(heights) - 1, start, end))
    if len(heights) > 1 or heights[0]:
        heights = [height or _USUAL_HEIGHT for height in heights]
        figure.set_size_inches(_PAGE_WIDTH, sum(heights) + 0.9)
    else:
        heights = [1.0]
    edges = sorted({0.0, *(edge for _, *ends in places for edge in ends)})  # no more columns than these, for labels
    widths = [after - before for before, after in itertools.pairwise(edges)]
    grid = figure.add_gridspec(len(heights), len(widths), height_ratios=heights, width_ratios=widths)
    for (row, start, end), draw in zip(places, panels.values(), strict=True):
        draw(figure.add_subplot(grid[row, edges.index(start) : edges.index(end)]))
    figure.suptitle(title, x=0.01, ha="left", fontsize=10, parse_math=False)
    _join_legends(figure)


def _join_legends(figure: Figure) -> None:
    """Make one of the legends that share names with others, or are to stand below."""
    found = (legend for axes in figure.axes if (legend := axes.get_legend()) is not None)
    legends = {legend: [text.get_text() for text in legend.get_texts()] for legend in found}
    count = Counter(name for names in legends.values() for name in set(names))
    handles: dict[str, Any] = {}
    for legend, names in legends.items():
        if legend.get_gid() == BELOW or any(count[name] > 1 for name in names):
            handles = {**dict(zip(names, legend.legend_handles, strict=True)), **handles}
            legend.remove()
    if handles:
        numbers = [str(number) for number in range(len(handles))]  # a name may begin with an underscore
        where: Any = {"loc": "outside lower center", "ncols": 5, "fontsize": 8, "frameon": False}
        joint = figure.legend(list(handles.values()), numbers, **where)
        for text, name in zip(joint.get_texts(), handles, strict=True):
            text.set(text=name, parse_math=False)


class Shown:
    """Base of data and results: a table of pandas, a picture, and a short cell of a notebook."""

    __slots__ = ()

    def report(self, data: Any = None) -> Report:
        """The answer, figures, tables, plots, notes and next command (`perfcore.report`).

        Parameters
        ----------
        data : object, optional
            What a model was fitted to; plots are drawn over it.
        """
        presenter = presenter_of(self)
        answer, *details = presenter.summary(self) or [presenter.title(self)]
        return Report(
            title=presenter.title(self),
            answer=answer,
            tables=presenter.tables(self),
            notes=[Note(label, text) for label, texts in presenter.caveats(self).items() for text in texts],
            next=presenter.next_command(self),
            details=details,
            formula=presenter.formula(self),
        )

    def to_frame(self) -> pd.DataFrame:
        """All of it as a data frame of pandas: one row for each thing that it is about."""
        if has_presenter(self):
            return presenter_of(self).frame(self)
        return next(iter(self.report().plain_tables), Table(())).frame()

    def plot(self, **how: Any) -> Any:
        """The picture: in a file, in axes or in a notebook; ``how`` as `perfcore.plot`."""
        return importlib.import_module("perfcore").plot(None, self, **how)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: " + "\n  ".join(_first_lines(self.report().lines)) + ">"

    def _repr_html_(self) -> str:
        """First lines, a small picture, and the head of the first table, for a notebook."""
        report = self.report()
        lines = [*report.lines, *report.closing()]
        text = html.escape("\n".join(_first_lines(lines, _CELL_LINES)))
        parts = [f'<pre style="white-space:pre-wrap">{text}</pre>']
        with contextlib.suppress(PerfError):  # not everything has a picture, or panels with names
            names = [plot.name for plot in report.plots] or list(presenter_of(self).panels(self))
            parts.append(self.plot(panels=names[:1], size=_CELL_SIZE)._repr_html_())
        tables = report.shown_tables
        return "".join([*parts, *(html_table(table, _ROWS, _COLUMNS, _ENTRY_LETTERS) for table in tables[:1])])


def has_presenter(result: Any) -> bool:
    """Whether a result is shown by a registered presenter: its nearest base decides that has one, or its own report."""
    entries = registry().entries("presenters")
    for base in type(result).__mro__:
        if base is not Shown and "report" in vars(base):
            return False
        if f"{base.__module__}:{base.__qualname__}" in entries:
            return True
    return False


class Result(Shown):
    """Base of what commands and functions give back: its `report` is shown wherever it appears."""

    __slots__ = ()

    @property
    def title(self) -> str:
        """One line over a picture."""
        return presenter_of(self).title(self) if has_presenter(self) else self.report().title

    @property
    def formula(self) -> str:
        """The result as a formula that a person can read; empty where it has none."""
        return presenter_of(self).formula(self) if has_presenter(self) else self.report().formula

    def closing(self, width: int | None = None) -> list[str]:
        """Lines below the tables; see `perfcore.report.Report.closing`."""
        return self.report().closing(width)

    def tables(self, verbose: bool = True) -> Tables:
        """Each table that the command line prints; it unpacks into title, header and rows."""
        report = self.report()
        return report.shown_tables if verbose else report.brief_tables

    def plain_tables(self) -> Tables:
        """Tables for other programs, as CSV has them."""
        if has_presenter(self):
            return presenter_of(self).plain_tables(self)
        return self.report().plain_tables

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready: the rows of each table for other programs, by its title."""
        tables = self.report().plain_tables
        return {"rows": tables[0].records()} if len(tables) == 1 else {"tables": {t.title: t.records() for t in tables}}

    def draw(self, figure: Figure, data: Any = None) -> None:
        """Draw the result, over its data where given, into an empty matplotlib figure."""
        presenter_of(self).draw(self, figure, data)

    def plot(self, data: Any = None, **how: Any) -> Any:
        """The picture, over its data where given: in a file, in axes or in a notebook; ``how`` as `perfcore.plot`."""
        return importlib.import_module("perfcore").plot(self, data, **how)

    def views(self, data: Any = None, file: Path | None = None) -> Any:
        """What the page shows of it, over the data that it was fitted to; ``file`` is where it was read from."""
        return presenter_of(self).views(self, data, file)


def _first_lines(lines: list[str], most: int = _LINES) -> list[str]:
    """As many as a cell should have, none longer than a few lines of it: names may have thousands of letters."""
    single_lines = [cut(part) for line in lines for part in line.split("\n")]
    return single_lines if len(single_lines) <= most else [*single_lines[: most - 1], "..."]


def cut(text: str, most: int = _LINE_LETTERS) -> str:
    """A text to shorten, such as a name."""
    return text[:most] + "…" * (len(text) > most)


def presenter_of(result: Any) -> Presenter:
    """The presenter that is registered for a result's class, or for the nearest of its bases."""
    kind: type = type(result)
    return _presenter_of(kind)


@functools.cache
def _presenter_of(kind: type[Any]) -> Presenter:
    entries = registry().entries("presenters")
    for base in kind.__mro__:
        entry = entries.get(f"{base.__module__}:{base.__qualname__}")
        if entry is not None:
            presenter: Presenter = entry.load()()
            return presenter
    return Presenter()


def further_presenters(result: Any) -> dict[str, tuple[Presenter, str]]:
    """Views that others add to a result or to data (``"module:Class#name"``), by name: presenter, and what it shows."""
    further: dict[str, tuple[Presenter, str]] = {}
    for base in type(result).__mro__:
        first = f"{base.__module__}:{base.__qualname__}#"
        for name, entry in registry().entries("presenters").items():
            if name.startswith(first) and name.removeprefix(first) not in further:
                with contextlib.suppress(PerfError):  # one that lacks its library must not hide the others
                    further[name.removeprefix(first)] = entry.load()(), entry.help
    return further
