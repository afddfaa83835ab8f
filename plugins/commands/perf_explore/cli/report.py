"""``perf report``: what the page shows, in one file to hand on."""

from __future__ import annotations

import click

from perfcore.cli._output import reporting
from perfcore.cli._reading import read_file, reader_options

__all__ = ["command"]


@click.command()
@click.argument("files", nargs=-1, required=True, type=click.Path())
@click.option("--output", "-o", type=click.Path(), default="report.html", show_default=True, help="File to write.")
@click.option("--views", type=click.IntRange(min=1), metavar="N", help="At most N views (default: 60).")
@click.option("--column", metavar="NAME", help="Predictions: column of the table after them with what happened.")
@click.option("--at", metavar="NAME", help="Predictions: column of that table with times or run numbers.")
@reader_options
def command(
    files: tuple[str, ...],
    output: str,
    views: int | None,
    column: str | None,
    at: str | None,
    reader: str | None,
    read_pairs: tuple[str, ...],
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
        how = Opening(lambda path, wanted: read_file(path, reader, read_pairs, wanted), column, at)
        subject = open_subjects(files, how)
        written = report(subject, views or MOST_VIEWS).encode()
        write_bytes(output, written)
    click.echo(f"report: {click.format_filename(output)} ({len(written) / 1e6:.2g} MB)")
