"""What the commands share: tables, JSON, and progress on standard error."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol

import typer

from perfcore.base import progress
from perfcore.hooks.registry import registry
from perfcore.results import Result
from perfcore.tables import Table, as_table, csv_lines, latex_lines, printable, printed

_SCHEMA = "perfcore-output/1"


def print_table(table: Any, rows: Sequence[Sequence[str]] | None = None, *, verbose: bool = True) -> None:
    """Print a table: by rich in the width of a terminal, else as aligned text of any width.

    Parameters
    ----------
    table : Table, or sequence of str
        A header where rows of text are given.
    """
    table = as_table(table if rows is None else ("", table, rows))
    if sys.stdout.isatty():
        _print_in_terminal(table, verbose)
    else:
        lines, numeric = printed(table, None, verbose)
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        for line in lines:
            cells = zip(line, widths, numeric, strict=True)
            typer.echo(
                "  ".join(text.rjust(size) if right else text.ljust(size) for text, size, right in cells).rstrip()
            )
    if left_out := table.left_out:
        typer.echo(f"... {left_out} more row{'s' * (left_out != 1)}")


def _print_in_terminal(table: Table, verbose: bool) -> None:
    from rich.cells import cell_len
    from rich.console import Console
    from rich.table import Table as Drawn
    from rich.text import Text

    console = Console(highlight=False)
    (header, *lines), numeric = printed(table, console.width, verbose)
    drawn = Drawn(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for name, right in zip(header, numeric, strict=True):
        drawn.add_column(Text(name), justify="right" if right else "left", no_wrap=True)
    for line in lines:
        drawn.add_row(*map(Text, line))
    needed = sum(max(map(cell_len, column)) + 2 for column in zip(header, *lines, strict=True))
    console.width = max(console.width, needed)  # numbers are never cut
    console.print(drawn)


def print_plainly(table_format: str, tables: Sequence[Any]) -> None:
    """Tables as CSV or LaTeX; several are parted by a blank line, and a title is a comment or the caption."""
    for number, table in enumerate(tables):
        if number:
            typer.echo()
        for line in csv_lines(table) if table_format == "csv" else latex_lines(table):
            typer.echo(line)


class Findings(Protocol):
    """What a command found: a model, a prediction, a comparison."""

    def summary(self) -> list[str]:
        """What is said first."""

    def tables(self) -> list[Any]:
        """What is shown in columns."""


def print_findings(findings: Findings, **files: str | None) -> None:
    """Summary, tables and remarks, and by what they are the files that were written."""
    summary, tables = findings.summary(), findings.tables()  # what is wrong is said before anything is printed
    for line in summary:
        typer.echo(printable(line))
    for table in map(as_table, tables):
        typer.echo()
        if table.title:
            typer.echo(printable(table.title))
        print_table(table)
    closing: list[str] = getattr(findings, "closing", list)()
    for number, line in enumerate(closing):
        typer.echo("\n" * (not number) + printable(line))
    for label, path in files.items():
        if path is not None:
            typer.echo(f"{label}: {typer.format_filename(path)}")


def print_result(result: Any, as_json: bool, table_format: str | None) -> None:
    """Print a result in the form that was asked for; JSON calls it by its class, or as its ``json_kind`` says."""
    is_data = not isinstance(result, Result)
    if as_json and is_data:
        print_json("data", result.to_frame().to_dict("list"))
    elif is_data:
        typer.echo(repr(result))
        for note in getattr(result, "notes", ()):
            typer.echo(f"perf: {note}", err=True)
    elif as_json:
        print_json(getattr(result, "json_kind", type(result).__name__.lower()), result.to_dict())
    elif table_format is not None:
        print_plainly(table_format, result.plain_tables() if table_format == "csv" else result.tables())
    else:
        print_findings(result)


def print_json(kind: str, content: Any) -> None:
    """One JSON document in the envelope that all share; NaN and infinity become null.

    Parameters
    ----------
    kind : str
        What it is: ``"ranking"``, ``"comparison"``.
    content : mapping or sequence
        A sequence becomes ``rows``. What has a schema of its own, as model files do, is printed as it is.
    """
    import msgspec

    if not isinstance(content, Mapping):
        content = {"rows": content}
    if "schema" not in content:
        content = {"schema": _SCHEMA, "kind": kind, **content}
    typer.echo(msgspec.json.format(msgspec.json.encode(content), indent=1))


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
