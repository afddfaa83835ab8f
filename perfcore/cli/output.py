"""What the commands share: tables, JSON, and progress on standard error."""

from __future__ import annotations

import contextlib
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from typing import Annotated, Any, Literal

import typer

from perfcore.base import progress
from perfcore.hooks.registry import registry
from perfcore.report import Result, Shown
from perfcore.tables import Table, csv_lines, latex_lines, printable, printed

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Output = Annotated[str | None, typer.Option("--output", "-o", metavar="FILE", help="File to write.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace a file that can't be made again.")]
Picture = Annotated[
    str | None, typer.Option("--plot", metavar="FILE", help="Draw a picture: .png, .svg, .pdf or .html.")
]
TableFormat = Annotated[
    Literal["csv", "spreadsheet", "latex"] | None,
    typer.Option("--table", metavar="FORMAT", help="Print the tables alone: csv, spreadsheet (no formulas) or latex."),
]

_SCHEMA = "perfcore-output/1"
_STEERING = (*range(0x7F, 0xA0), 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))  # of terminals, bidi
_SPELT = {sign: f"\\u{sign:04x}" for sign in _STEERING}
_LINES, _COLUMNS = 25, 100  # of the short form, where there is no terminal
VERBOSE = ContextVar("VERBOSE", default=False)  # --all


def print_table(table: Table) -> None:
    """Print a table: by rich in the width of a terminal, else as aligned text."""
    for line in _table_lines(table):
        typer.echo(line)


def _table_lines(table: Table) -> list[str]:
    """Title, rows and how many there are more."""
    verbose, is_terminal = VERBOSE.get(), sys.stdout.isatty()
    cells, numeric = printed(table, None if verbose and not is_terminal else _width(), verbose)
    lines = [printable(table.title)] if table.title else []
    if is_terminal:
        lines += _drawn(cells, numeric)
    else:
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        for row in cells if any(cells[0]) else cells[1:]:
            aligned = zip(row, widths, numeric, strict=True)
            lines.append("  ".join(t.rjust(size) if right else t.ljust(size) for t, size, right in aligned).rstrip())
    if left_out := table.left_out(verbose):
        hint = " (--all)" if table.importance == "brief" or table.left_out(True) < left_out else ""
        place = bool(table.title) + any(cells[0]) if table.shows_last else len(lines)
        lines.insert(place, f"... {left_out} more row{'s' * (left_out != 1)}{hint}")
    return lines


def _width() -> int:
    """Columns of the terminal, or as COLUMNS says."""
    return shutil.get_terminal_size((_COLUMNS, 0)).columns


def _drawn(cells: Sequence[Sequence[str]], numeric: Sequence[bool]) -> list[str]:
    """Lines of a table as rich draws it."""
    from rich.cells import cell_len
    from rich.console import Console
    from rich.table import Table as Drawn
    from rich.text import Text

    console = Console(highlight=False)
    header, *rows = cells
    drawn = Drawn(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold", show_header=any(header))
    for name, right in zip(header, numeric, strict=True):
        drawn.add_column(Text(name), justify="right" if right else "left", no_wrap=True)
    for row in rows:
        drawn.add_row(*map(Text, row))
    needed = sum(max(map(cell_len, column)) + 2 for column in zip(*cells, strict=True))
    console.width = max(console.width, needed)  # numbers are never cut
    with console.capture() as capture:
        console.print(drawn)
    return capture.get().splitlines()


def print_findings(findings: Shown, **files: str | None) -> None:
    """Print the answer, a table, caveats and the next command; with --all every line and table.

    ``files`` are those that were written, by what they are.
    """
    verbose, width = VERBOSE.get(), _width()
    report = findings.report()  # errors come before output
    summary, tables = report.lines, report.shown_tables if verbose else report.brief_tables
    closing = report.closing(None if verbose else width)
    names = [f"{label}: {typer.format_filename(path)}" for label, path in files.items() if path is not None]
    lines = [printable(line) for line in summary]
    if not verbose:
        lines = textwrap.wrap(lines[0], width, break_long_words=False, break_on_hyphens=False) if lines else []
    room = _LINES - len(lines) - len(closing) - len(names) - 1
    for number, table in enumerate(tables):
        shown = ["", *_table_lines(table)]
        if verbose or not number or len(shown) <= room:
            lines += shown
            room -= len(shown)
    lines += [*([""] if closing else []), *map(printable, closing), *names]
    for line in lines:
        typer.echo(line)


def print_result(result: Any, as_json: bool, table_format: str | None, **files: str | None) -> None:
    """Print a result in the form that was asked for; JSON calls it by its class, or as its ``json_kind`` says.

    Of tables alone a blank line parts several, and a title is a comment or the caption.
    """
    is_data = not isinstance(result, Result)
    if as_json and is_data:
        print_json("data", result.to_frame().to_dict("list"))
    elif is_data:
        print_findings(result)
    elif as_json:
        kind = getattr(result, "json_kind", type(result).__name__.lower())
        print_json(kind, {**reported(result), **result.to_dict()})
    elif table_format is not None:
        report = result.report()
        for number, table in enumerate(report.shown_tables if table_format == "latex" else report.plain_tables):
            typer.echo("", nl=number > 0)
            is_sheet = table_format == "spreadsheet"
            for line in latex_lines(table) if table_format == "latex" else csv_lines(table, is_sheet):
                typer.echo(line)
    else:
        print_findings(result, **files)


def reported(result: Result) -> dict[str, Any]:
    """Return what JSON has of the report of a result: answer, figures, notes and next command."""
    return {name: value for name, value in result.report().to_dict().items() if name != "title"}


def print_json(kind: str, content: Any) -> None:
    """One JSON document in the envelope that all share; NaN and infinity become null, and a sequence ``rows``."""
    import msgspec

    if not isinstance(content, Mapping):
        content = {"rows": content}
    if "schema" not in content:
        content = {"schema": _SCHEMA, "kind": kind, **content}
    typer.echo(msgspec.json.format(msgspec.json.encode(content), indent=1).decode().translate(_SPELT))


class _Stderr(progress.Sink):
    """Bars by tqdm, only where a person looks and only for what takes over a second; each note once."""

    def __init__(self) -> None:
        self._said: set[str] = set()

    @contextlib.contextmanager
    def bar(self, label: str, total: int | None) -> Iterator[Callable[[int], None]]:
        if not sys.stderr.isatty():
            yield lambda amount: None
            return
        from tqdm import tqdm

        with tqdm(total=total, desc=label, delay=1.0, leave=False, unit_scale=True, file=sys.stderr) as progress_bar:
            yield lambda amount: (progress_bar.update(amount), None)[1]

    def note(self, text: str) -> None:
        if text not in self._said:
            typer.echo(f"perf: {text}", err=True)
        self._said.add(text)


@contextlib.contextmanager
def reporting() -> Iterator[None]:
    """Show progress, and name plugins that were skipped."""
    for problem in registry().problems:
        typer.echo(f"perf: warning: {problem}", err=True)
    with progress.show_with(_Stderr()):
        yield
