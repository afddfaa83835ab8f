"""What the views of series and of structural models have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from perf_views.contents import Block, Cell, Form, Link, Notice, Table, ViewPath
from perf_views.drawable import model_blocks
from perfcore.base.errors import PerfError
from perfcore.results import Result


def answered(form: Form, ask: Callable[[], Result]) -> tuple[Block, ...]:
    """A form and below it what it leads to; where that is a mistake, it stands above the form."""
    try:
        return form, *model_blocks(ask())
    except PerfError as error:
        return Notice(str(error), "error"), form


def linked_table(title: str, header: Iterable[str], rows: Iterable[Sequence[str]], path: ViewPath) -> Table:
    """A table whose rows lead each to the view below ``path`` that is called as its first cell."""
    return Table.of(title, header, [(Cell(name, Link(name, (*path, name))), *cells) for name, *cells in rows])
