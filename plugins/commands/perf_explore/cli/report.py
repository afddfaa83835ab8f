"""``perf report``: what the page shows, in one file to hand on."""

from __future__ import annotations

from typing import Annotated

import typer

from perfcore.cli.output import reporting
from perfcore.cli.reading import HowToRead

__all__ = ["command"]


def command(
    files: Annotated[list[str], typer.Argument(metavar="FILES...")],
    how: HowToRead,
    output: Annotated[str, typer.Option("--output", "-o", metavar="FILE", help="File to write.")] = "report.html",
    views: Annotated[
        int | None, typer.Option("--views", min=1, metavar="N", help="At most N views (default: 60).")
    ] = None,
    column: Annotated[
        str | None,
        typer.Option(
            "--column", metavar="NAME", help="Predictions: column of the table after them with what happened."
        ),
    ] = None,
    at: Annotated[
        str | None,
        typer.Option("--at", metavar="NAME", help="Predictions: column of that table with times or run numbers."),
    ] = None,
) -> None:
    """Write a report of data or models: one HTML file that opens anywhere, without network and without scripts.

    FILES are what `perf explore` takes. Every figure is also there as a table.

    \b
    perf report trace.prv -o trace.html
    perf report model.json runs.csv other.json -o models.html
    """
    with reporting():
        from perf_explore.opening import Opening, open_subjects
        from perf_explore.report import MOST_VIEWS, report
        from perfcore.base.errors import OptionError
        from perfcore.base.files import write_bytes

        if not output.lower().endswith((".html", ".htm")):
            raise OptionError(f"cannot write {output!r}: the ending must be .html; `perf plot` makes single pictures")
        opening = Opening(how.read_file, column, at)
        subject = open_subjects(files, opening)
        written = report(subject, views or MOST_VIEWS).encode()
        write_bytes(output, written)
    typer.echo(f"report: {typer.format_filename(output)} ({len(written) / 1e6:.2g} MB)")
