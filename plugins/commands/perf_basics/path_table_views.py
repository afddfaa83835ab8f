"""Views of a table of the laws of very many paths: a page of its rows at a time, found by name, and each path."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from perf_basics.cli.printed_laws import PrintedLaws
from perf_io.tables.path_table import PathTable
from perf_scaling.row_tables import shown_rows
from perf_views.contents import (
    Block,
    Cell,
    Field,
    Form,
    KeyFigure,
    KeyFigures,
    Link,
    Notice,
    NoViewError,
    Query,
    Table,
    Text,
    View,
    ViewPath,
)
from perfcore.base.errors import OptionError

_PATH = "path"
_ROWS = 40
_IN_REPORT = 20  # paths, those with the largest shares


class PathTableViews:
    """Rows of a table of laws, without reading the others."""

    def __init__(self, table: PathTable) -> None:
        self._table = table
        self._symbols = tuple(table.facts["columns"])

    @property
    def title(self) -> str:
        """How many paths, and the source."""
        return f"scaling laws of {self._table.facts['paths']:,} paths of {Path(self._table.facts['source']).name}"

    def view(self, path: ViewPath, query: Query) -> View:
        """The rows, or one of them; see `perf_views.Viewable.view`."""
        if path == ():
            return View(self.title, self._list_blocks(query.get("name", ""), _start(query)))
        if len(path) == 2 and path[0] == _PATH:
            try:
                row = self._table.row(path[1])
            except OptionError:
                raise NoViewError(path) from None
            return View(row["path"], self._row_blocks(row), path, (Link(self.title, ()),))
        raise NoViewError(path)

    def paths(self) -> Iterable[ViewPath]:
        """The first rows, and the paths with the largest shares."""
        yield ()
        yield from ((_PATH, row["path"]) for row in self._table.top(_IN_REPORT))

    def _list_blocks(self, name: str, start: int) -> tuple[Block, ...]:
        """What there is, a page of rows, and a form that finds others."""
        form = Form((Field("name", "name has", name),), ())
        count = self._table.count(name)
        if not count:
            return (Notice(f"no path has {name!r} in its name"), form)
        start = min(start, (count - 1) // _ROWS * _ROWS)
        rows = self._table.top(_ROWS, start, name)
        printed = PrintedLaws(self._table)
        which = f"Paths {start + 1:,} to {start + len(rows):,} of {count:,}. " if len(rows) < count else ""
        blocks: list[Block] = [KeyFigures(self._figures())]
        fitted = [row for row in rows if row["law"] is not None]
        if fitted:
            header, cells = shown_rows(fitted, self._symbols)
            linked: list[tuple[Cell | str, ...]] = [
                (Cell(row_cells[0], Link("", (_PATH, row["path"]))), *row_cells[1:])
                for row, row_cells in zip(fitted, cells, strict=True)
            ]
            blocks.append(
                Table(tuple(header), tuple(linked), "Paths, the largest share first", which + printed.share_text)
            )
        unfitted = tuple((row["path"], row["note"]) for row in rows if row["law"] is None)
        if unfitted:
            blocks.append(Table(("path", "note"), unfitted, "Not fitted", "" if fitted else which))
        pages = [
            Link(text, (), {"name": name, "start": str(place)})
            for text, place, exists in (
                (f"previous {_ROWS}", max(start - _ROWS, 0), start > 0),
                (f"next {_ROWS}", start + _ROWS, start + _ROWS < count),
            )
            if exists
        ]
        return (*blocks, *([Text(links=tuple(pages))] if pages else []), form, Text(tuple(printed.summary())))

    def _figures(self) -> tuple[KeyFigure, ...]:
        facts = self._table.facts
        figures = [KeyFigure("paths", f"{facts['paths']:,}")]
        figures += [KeyFigure("not fitted", f"{facts['unfitted']:,}")] if facts["unfitted"] else []
        figures += [KeyFigure(f"target {symbol}", f"{level:.6g}") for symbol, level in facts["target"].items()]
        return tuple(figures)

    def _row_blocks(self, row: dict[str, Any]) -> tuple[Block, ...]:
        """All columns of a path, and how to look closer."""
        facts = tuple(
            (name, f"{value:.6g}" if isinstance(value, float) else str(value))
            for name, value in row.items()
            if name != _PATH and value is not None and value != ""
        )
        closer = (
            "What else fits, and what to measure next: perf fit DATA --fitter scaling of the rows of this path alone."
        )
        return Table(("column", "value"), facts, "At the target"), Text((closer,))


def _start(query: Query) -> int:
    """First row of a page."""
    text = query.get("start", "0")
    if not (text.isascii() and text.isdigit() and len(text) < 12):
        raise OptionError(f"start: {text[:20]!r} is no number of a row")
    return int(text)
