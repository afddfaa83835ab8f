"""How results are shown: a result says what it is, its presenter how that looks in text, tables, pictures and pages.

A result class inherits `Result` and computes; a `Presenter` registered for it draws. So no result imports a drawing,
and whoever writes a result of their own gets text, a table, a page and a notebook cell before writing any presenter.
Data inherit `Shown`: a frame, a picture and a notebook cell.
"""

from __future__ import annotations

import contextlib
import functools
import html
import importlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from perfcore.base.errors import OptionError, PerfError
from perfcore.hooks.registry import registry
from perfcore.tables import Column, Table, as_table, html_table

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["Column", "Presenter", "Result", "Shown", "Table", "Tables", "cut", "further_presenters", "presenter_of"]

Tables = list[Any]  # of `Table`, or of title, header and rows of text

_LINES, _CELL_LINES = 10, 20  # of a repr and of a notebook cell, at most
# Of a notebook cell: width of the picture, letters of a line, rows and columns of the table, and letters of an entry.
_CELL_SIZE, _LINE_LETTERS, _ROWS, _COLUMNS, _ENTRY_LETTERS = "6in", 200, 6, 16, 80


class Presenter:
    """How one type of result is shown. Every method has a default; registered with ``register_presenters``."""

    def title(self, result: Any) -> str:
        """One line over a picture."""
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
        return [table for table in tables if _importance(table) == "data"] or tables

    def frame(self, result: Any) -> pd.DataFrame:
        """The result as a data frame: the first of its tables of data, with true numbers."""
        import pandas as pd

        table = as_table(next(iter(self.plain_tables(result)), Table(())))
        frame = table.frame()
        for place in range(0 if table.drops_empty else len(frame.columns)):  # texts, until all columns are declared
            numbers = pd.to_numeric(frame.iloc[:, place], errors="coerce")
            if (numbers.notna() | (frame.iloc[:, place] == "")).all() and numbers.notna().any():  # some may be empty
                frame.isetitem(place, numbers.to_numpy())
        return frame

    def draw(self, result: Any, figure: Figure, data: Any = None) -> None:
        """Draw the result, over its data where given, into an empty matplotlib figure; by default all panels."""
        panels = self.panels(result, data)
        if not panels:
            raise OptionError(f"{type(result).__name__} has no picture")
        columns = 1 if len(panels) == 1 else 2 if len(panels) in (2, 4) else 3
        rows = -(-len(panels) // columns)
        if rows > 1:
            figure.set_size_inches(11.0, 3.1 * rows + 0.9)
        figure.suptitle(self.title(result), x=0.01, ha="left", fontsize=10, parse_math=False)
        for place, draw in enumerate(panels.values(), 1):
            draw(figure.add_subplot(rows, columns, place))

    def panels(self, result: Any, data: Any = None) -> dict[str, Callable[[Axes], None]]:
        """Parts of the picture by name, each drawn into axes of any size, the most important first."""
        return {}

    def commands(self, result: Any, file: str) -> list[str]:
        """Commands about data that `perf info` suggests; ``file`` is quoted, with the options by which it is read."""
        return []

    def views(self, result: Any, data: Any = None, file: Path | None = None) -> Any:
        """What the page shows (`perf_views.Viewable`), by default all of the above.

        ``data`` is what a result was fitted to, or a model that data are seen beside.
        """
        return None


class Shown:
    """Base of data and results: a table of pandas, a picture, and a short cell of a notebook."""

    __slots__ = ()

    def to_frame(self) -> pd.DataFrame:
        """All of it as a data frame of pandas: one row for each thing that it is about."""
        return presenter_of(self).frame(self)

    def plot(self, **how: Any) -> Any:
        """The picture: in a file, in axes or in a notebook; ``how`` as `perfcore.plot`."""
        return importlib.import_module("perfcore").plot(None, self, **how)

    def _lines_and_tables(self) -> tuple[list[str], Tables]:
        """What a notebook cell says."""
        return [repr(self)], _tables(self)

    def _repr_html_(self) -> str:
        """First lines, a small picture, and the head of the first table, for a notebook."""
        lines, tables = self._lines_and_tables()
        text = html.escape("\n".join(_first_lines(lines, _CELL_LINES)))
        parts = [f'<pre style="white-space:pre-wrap">{text}</pre>']
        with contextlib.suppress(PerfError):  # not everything has a picture, or panels with names
            parts.append(self.plot(panels=list(presenter_of(self).panels(self))[:1], size=_CELL_SIZE)._repr_html_())
        return "".join([*parts, *(html_table(table, _ROWS, _COLUMNS, _ENTRY_LETTERS) for table in tables[:1])])


class Result(Shown):
    """Base of what commands and functions give back: shown by its presenter, a table of pandas, short in a notebook."""

    __slots__ = ()

    @property
    def title(self) -> str:
        """One line over a picture."""
        return presenter_of(self).title(self)

    @property
    def formula(self) -> str:
        """The result as a formula that a person can read; empty where it has none."""
        return presenter_of(self).formula(self)

    def summary(self) -> list[str]:
        """Lines that say what it is and how sure."""
        return presenter_of(self).summary(self)

    def closing(self) -> list[str]:
        """Lines below the tables: caveats by their labels, and what to do next."""
        presenter = presenter_of(self)
        caveats, command = presenter.caveats(self), presenter.next_command(self)
        lines = [f"{label}: {'; '.join(texts)}" for label, texts in caveats.items() if texts]
        return [*lines, *([f"Next: {command}"] if command else [])]

    def tables(self) -> Tables:
        """Each table that the command line prints; it unpacks into title, header and rows."""
        return _tables(self)

    def plain_tables(self) -> Tables:
        """Tables for other programs, as CSV has them."""
        return presenter_of(self).plain_tables(self)

    def draw(self, figure: Figure, data: Any = None) -> None:
        """Draw the result, over its data where given, into an empty matplotlib figure."""
        presenter_of(self).draw(self, figure, data)

    def plot(self, data: Any = None, **how: Any) -> Any:
        """The picture, over its data where given: in a file, in axes or in a notebook; ``how`` as `perfcore.plot`."""
        return importlib.import_module("perfcore").plot(self, data, **how)

    def views(self, data: Any = None, file: Path | None = None) -> Any:
        """What the page shows of it, over the data that it was fitted to; ``file`` is where it was read from."""
        return presenter_of(self).views(self, data, file)

    def __repr__(self) -> str:
        """The summary, in a few lines."""
        return f"<{type(self).__name__}: " + "\n  ".join(_first_lines(self.summary())) + ">"

    def _lines_and_tables(self) -> tuple[list[str], Tables]:
        return [*self.summary(), *self.closing()], self.tables()


def _first_lines(lines: list[str], most: int = _LINES) -> list[str]:
    """As many as a cell should have, none longer than a few lines of it: names may have thousands of letters."""
    single_lines = [cut(part) for line in lines for part in line.split("\n")]
    return single_lines if len(single_lines) <= most else [*single_lines[: most - 1], "..."]


def cut(text: str, most: int = _LINE_LETTERS) -> str:
    """A text of which nobody wants to see thousands of letters, such as a name."""
    return text[:most] + "…" * (len(text) > most)


def _importance(table: Any) -> str:
    return table.importance if isinstance(table, Table) else "default"


def _tables(result: Any) -> Tables:
    return [table for table in presenter_of(result).tables(result) if _importance(table) != "data"]


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
