"""What a result reports: one object that the terminal, JSON, notebooks, plots and pages show.

A result (a model, an analysis, a verdict) is a `Result`, data are `Shown`. Both have one method ``report()``, which
returns a `Report`: the answer in a sentence, named figures, tables of declared columns, plots as marks, notes and the
next command. Renderers know nothing of what they render, and nothing else formats a number. Everything here is
declared: no library is imported.
"""

from __future__ import annotations

import contextlib
import html
import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Literal

from perfcore.base import grouped, pd
from perfcore.base.errors import PerfError
from perfcore.tables import Column, Table, html_table

__all__ = [
    "Axis", "Band", "Bars", "Column", "Figure", "Line", "Mark", "Note", "Plot", "Points", "Report", "Result", "Rule",
    "Shown", "Spans", "Steps", "Table", "Text", "cut", "interval_text", "number_format", "number_text",
]  # fmt: skip

# Below the tables in this order; each text of a label is a sentence without its full stop.
NOTE_LABELS = ("Model", "Assumed", "Uncertain", "Check", "Not recorded", "Not fitted", "Left out", "Note")
_PLAIN = 1e3, 1e7  # numbers between these are written in full
RANGE = "\N{EN DASH}"  # between the ends of an interval in a sentence

Numbers = Any  # a sequence or an array of numbers
# A colour by what it means: "data" (measured), "model", "accent" (target), "muted", "faint", "good", "careful",
# "series:K" (K-th of several side by side), "area:K", "class:NAME" (a class of states), "pale:NAME" (a part of such a
# class that is hidden or uncertain), "size:X" (0 to 1), "step:K".
Colour = str
Style = Literal["solid", "dashed", "dotted"]

_LINES, _CELL_LINES = 10, 20  # of a repr and of a notebook cell, at most
# Of a notebook cell: width of the picture, letters of a line, rows and columns of the table, and letters of an entry.
_CELL_SIZE, _LINE_LETTERS, _ROWS, _COLUMNS, _ENTRY_LETTERS = "6in", 200, 6, 16, 80


@dataclass(frozen=True)
class Figure:
    """A named number of the answer, with its unit and interval.

    Examples
    --------
    >>> Figure("time", 0.6641, "s", (0.376, 1.19)).text
    '0.664 s (0.376–1.19)'
    >>> Figure("efficiency", 0.12, format=".0%").text
    '12%'
    """

    name: str  # a noun of one to three words
    value: Any  # a number, or a word
    unit: str = ""
    interval: tuple[float, float] | None = None
    kind: str = "95% interval"  # what the interval is: of the mean, or of a single run
    format: str = ".3g"
    key: str = ""  # in JSON; made of the name if empty

    @property
    def text(self) -> str:
        """Value, unit and interval as a sentence has them."""
        if isinstance(self.value, str) or self.value is None:
            return self.value or "-"
        unit = f" {self.unit}" if self.unit else ""
        ends = f" ({interval_text(self.interval, self.format)})" if self.interval is not None else ""
        return f"{self.value:{self.format}}{unit}{ends}"

    @property
    def sentence(self) -> str:
        """Value and unit, and the interval with what it is: ``0.66 s, 95% interval 0.38–1.2``."""
        if self.interval is None:
            return self.text
        return f"{replace(self, interval=None).text}, {self.kind} {interval_text(self.interval, self.format)}"

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready: name, value, unit, and the interval with its kind."""
        content = {"name": self.key or self.name, "value": self.value, "unit": self.unit or None}
        return content if self.interval is None else {**content, "interval": [*self.interval], "kind": self.kind}


def number_format(value: float) -> str:
    """Return the format of a predicted amount: in full from a thousand on, else three digits."""
    return ",.0f" if _PLAIN[0] <= abs(value) < _PLAIN[1] else ".3g"


def number_text(value: float) -> str:
    """Return an amount in `number_format`: 0.664, 7,280."""
    return f"{value:{number_format(value)}}"


def interval_text(ends: Sequence[float], spec: str = ".3g") -> str:
    """The ends of an interval in a sentence: ``0.38–1.2``; the sign of per cent stands once."""
    low, high = (f"{end:{spec}}" for end in ends)
    return f"{low.removesuffix('%') if high.endswith('%') else low}{RANGE}{high}"


@dataclass(frozen=True)
class Note:
    """What must be known to read the answer, most important first."""

    label: str  # one of NOTE_LABELS
    text: str


@dataclass(frozen=True)
class Axis:
    """What an axis measures."""

    label: str = ""  # quantity, without its unit
    unit: str = ""  # "s" of the values of the marks; ``time`` axes choose the unit that is shown
    scale: Literal["linear", "log", "time", "category"] = "linear"  # of time, values are in `unit` (ns, us, ms, s)
    limits: tuple[float | None, float | None] = (None, None)
    names: Sequence[str] = ()  # of the places 0, 1, 2 ... of a category axis
    ticks: Numbers = ()  # places that are labelled; chosen by the renderer if empty
    format: str = ""  # of tick labels and values under the pointer, such as ``.0%``
    base: int = 10  # of a log axis: 2 for levels that double
    is_reversed: bool = False  # category axes whose first name stands on top


@dataclass(frozen=True)
class Line:
    """Points (n,) joined by a line; NaN interrupts it."""

    x: Numbers
    y: Numbers
    label: str = ""  # in the legend; lines without a label are not in it
    colour: Colour = "model"
    style: Style = "solid"
    width: float = 1.5  # typographic points


@dataclass(frozen=True)
class Points:
    """Single points (n,), with error bars if `low` and `high` are given."""

    x: Numbers
    y: Numbers
    label: str = ""
    colour: Colour = "data"
    low: Numbers = ()  # ends of the error bars (n,)
    high: Numbers = ()
    left: Numbers = ()  # ends of horizontal ones
    right: Numbers = ()
    shape: Literal["circle", "diamond", "square", "triangle", "cross", "bar"] = "circle"
    is_filled: bool = True
    size: float = 4.0
    names: Sequence[str] = ()  # of the points, under the pointer


@dataclass(frozen=True)
class Band:
    """The area between `low` and `high` (n,) over `x`."""

    x: Numbers
    low: Numbers
    high: Numbers
    label: str = ""
    colour: Colour = "model"
    opacity: float = 0.2


@dataclass(frozen=True)
class Bars:
    """Bars (n,) at places of a category axis, or on a numeric one with `width`; they begin at `base`."""

    places: Numbers
    values: Numbers
    label: str = ""
    colour: Colour | Sequence[Colour] = "series:0"
    base: Numbers | float = 0.0
    is_horizontal: bool = False
    width: float = 0.8
    low: Numbers = ()
    high: Numbers = ()
    names: Sequence[str] = ()
    texts: Sequence[str] = ()  # at the ends of the bars


@dataclass(frozen=True)
class Steps:
    """A step function: `values` (n,) hold between `edges` (n + 1,)."""

    edges: Numbers
    values: Numbers
    label: str = ""
    colour: Colour = "data"
    is_filled: bool = False
    width: float = 1.0
    base: Numbers | float = 0.0  # where a filled one begins; (n,) if areas are stacked


@dataclass(frozen=True)
class Spans:
    """Rectangles from `starts` to `ends` (n,): over the whole height, or in lanes `bottoms` to `tops`."""

    starts: Numbers
    ends: Numbers
    label: str = ""
    colour: Colour | Sequence[Colour] = "faint"
    bottoms: Numbers = ()  # (n,); the whole height if empty
    tops: Numbers = ()
    opacity: float = 1.0
    names: Sequence[str] = ()


@dataclass(frozen=True)
class Text:
    """Words (n,) at points."""

    x: Numbers
    y: Numbers | Literal["top"]  # "top" is just below the upper edge of the plot
    texts: Sequence[str]
    colour: Colour = "data"
    align: Literal["left", "center", "right"] = "left"
    size: float = 8.0


@dataclass(frozen=True)
class Rule:
    """Straight lines over the whole plot at places of an axis, or through `point` with `slope`."""

    places: Numbers = ()
    axis: Literal["x", "y"] = "x"  # places of x are vertical lines
    label: str = ""
    colour: Colour = "muted"
    style: Style = "dotted"
    slope: float | None = None
    point: tuple[float, float] = (0.0, 0.0)
    drag: str = ""  # option and parameter that a page sets by dragging it: "at=p" asks for ``at="p=VALUE"``


Mark = Line | Points | Band | Bars | Steps | Spans | Text | Rule


@dataclass(frozen=True)
class Plot:
    """Marks over two axes, drawn in this order."""

    name: str  # by which it is chosen: ``--panels NAME``
    marks: Sequence[Mark]
    x: Axis = Axis()
    y: Axis = Axis()
    title: str = ""  # what distinguishes it from the other plots of the report; often empty
    height: float = 0.0  # inches, with its labels; 0 for the usual one
    width: float = 0.0  # share of a row; 0 for the usual one
    note: str = ""  # below it: what must be known to read it
    legend: bool = True  # whether labels of marks are explained


@dataclass(frozen=True)
class Report:
    """The answer of a result, and all that is shown of it.

    Examples
    --------
    >>> report = Report("Runs", "2 runs take 3 s", notes=[Note("Assumed", "times are in s")], next="perf info runs.csv")
    >>> report.closing()
    ['Assumed: times are in s', 'Next: perf info runs.csv']
    """

    title: str  # what is shown and of which file, without a sentence
    answer: str  # one sentence with a number, its unit and its uncertainty
    figures: Sequence[Figure] = ()  # the numbers of the answer first; pages show them as tiles
    tables: Sequence[Table] = ()
    draw: Callable[[], Sequence[Plot]] = field(default=tuple, repr=False)  # makes the plots when they are shown
    notes: Sequence[Note] = ()
    next: str = ""  # a command that runs as printed, or a sentence on what to measure
    details: Sequence[str] = ()  # further lines, with --all
    formula: str = ""
    part: Callable[[str], Report] | None = field(default=None, repr=False)  # of a row of the first table, by its name

    @cached_property
    def plots(self) -> Sequence[Plot]:
        """The plots, the most important first."""
        return tuple(self.draw())

    @property
    def shown_tables(self) -> list[Table]:
        """What --all, notebooks and pages show."""
        return [table for table in self.tables if table.importance in ("default", "verbose")]

    @property
    def brief_tables(self) -> list[Table]:
        """What is shown without --all."""
        return [table for table in self.tables if table.importance in ("default", "brief")]

    @property
    def plain_tables(self) -> list[Table]:
        """Tables for other programs: those that are declared as data, or else all."""
        data = [table for table in self.tables if table.importance == "data"]
        return data or [table for table in self.tables if table.importance != "brief"]

    @property
    def lines(self) -> list[str]:
        """The answer and the details."""
        return [self.answer, *self.details]

    def notes_by_label(self) -> Mapping[str, list[str]]:
        """Texts of the notes, labels in the order of `NOTE_LABELS`; one may go on in brackets: ``Model (p=1..32)``."""
        order = {label: place for place, label in enumerate(NOTE_LABELS)}
        notes = sorted(self.notes, key=lambda note: order.get(note.label.partition(" (")[0], len(order)))
        return grouped((note.label, note.text) for note in notes)

    def closing(self, width: int | None = None) -> list[str]:
        """Lines below the tables: notes by their labels, and what to do next.

        With a width, of the texts of a label those that fit into a line; it is wrapped if one does not.
        """
        import textwrap

        lines: list[str] = []
        for label, texts in self.notes_by_label().items():
            line, count = f"{label}: {'; '.join(texts)}", len(texts)
            while width is not None and len(line) > width and count > 1:
                count -= 1
                line = f"{label}: {'; '.join(texts[:count])}; {len(texts) - count} more (--all)"
            lines += [line] if width is None else textwrap.wrap(line, width, subsequent_indent="  ")
        if not self.next:
            return lines
        following = f"Next: {self.next}"
        is_command = self.next.startswith("perf ")  # commands are copied as they are
        if width is None or is_command:
            return [*lines, following]
        return [*lines, *textwrap.wrap(following, width, subsequent_indent="  ")]

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready: title, answer, figures, notes and next command; tables are in the result's own values."""
        return {
            "title": self.title,
            "answer": self.answer,
            "figures": [figure.to_dict() for figure in self.figures],
            "notes": {label: list(texts) for label, texts in self.notes_by_label().items()},
            "next": self.next or None,
        }


class Shown:
    """Base of data and results: a table of pandas, a picture, and a short cell of a notebook."""

    __slots__ = ()
    reporter: ClassVar[str] = ""  # ``module:function`` that makes the report of it and of the data, imported when asked

    def report(self, data: Any = None) -> Report:
        """The answer, figures, tables, plots, notes and next command (`perfcore.report`).

        Parameters
        ----------
        data : object, optional
            What a model was fitted to; plots are drawn over it.
        """
        module, _, function = self.reporter.partition(":")
        report: Report = getattr(importlib.import_module(module), function)(self, data)
        return report

    def to_frame(self) -> pd.DataFrame:
        """All of it as a data frame of pandas: one row for each thing that it is about."""
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
            names = [plot.name for plot in report.plots]
            parts.append(self.plot(panels=names[:1], size=_CELL_SIZE)._repr_html_())
        tables = report.shown_tables
        return "".join([*parts, *(html_table(table, _ROWS, _COLUMNS, _ENTRY_LETTERS) for table in tables[:1])])


class Result(Shown):
    """Base of what commands and functions give back: its `report` is shown wherever it appears."""

    __slots__ = ()

    @property
    def title(self) -> str:
        """One line over a picture."""
        return self.report().title

    @property
    def formula(self) -> str:
        """The result as a formula that a person can read; empty where it has none."""
        return self.report().formula

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready: the rows of each table for other programs, by its title."""
        tables = self.report().plain_tables
        return {"rows": tables[0].records()} if len(tables) == 1 else {"tables": {t.title: t.records() for t in tables}}

    def plot(self, data: Any = None, **how: Any) -> Any:
        """The picture, over its data where given: in a file, in axes or in a notebook; ``how`` as `perfcore.plot`."""
        return importlib.import_module("perfcore").plot(self, data, **how)

    def views(self, data: Any = None, file: Path | None = None) -> Any:
        """Return a custom page (`perf_views.contents.Viewable`) over the data; None for that of its report.

        ``file`` is where it was read from, which a page may change.
        """
        return None


def _first_lines(lines: list[str], most: int = _LINES) -> list[str]:
    """As many as a cell should have, none longer than a few lines of it: names may have thousands of letters."""
    single_lines = [cut(part) for line in lines for part in line.split("\n")]
    return single_lines if len(single_lines) <= most else [*single_lines[: most - 1], "..."]


def cut(text: str, most: int = _LINE_LETTERS) -> str:
    """A text to shorten, such as a name."""
    return text[:most] + "…" * (len(text) > most)
