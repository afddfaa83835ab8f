"""Bases of everything that is shown: a class computes, and its `report` says what it found (`perfcore.report`)."""

from __future__ import annotations

import contextlib
import html
import importlib
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from perfcore.base.errors import PerfError
from perfcore.report import Report
from perfcore.tables import Column, Table, html_table

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Column", "Result", "Shown", "Table", "cut"]


_LINES, _CELL_LINES = 10, 20  # of a repr and of a notebook cell, at most
# Of a notebook cell: width of the picture, letters of a line, rows and columns of the table, and letters of an entry.
_CELL_SIZE, _LINE_LETTERS, _ROWS, _COLUMNS, _ENTRY_LETTERS = "6in", 200, 6, 16, 80


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
