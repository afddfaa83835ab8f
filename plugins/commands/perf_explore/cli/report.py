"""``perf report``: what the page shows, in one file to hand on."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from perf_explore.cli.files import Files
from perf_traces.reading import HowToReadTraces
from perfcore.cli.output import reporting
from perfcore.cli.parameters import Overwrite
from perfcore.cli.signature import OptionsOfEach


def command(
    files: Files,
    how: HowToReadTraces,
    output: Annotated[str, typer.Option("--output", "-o", metavar="FILE", help="File to write.")] = "report.html",
    overwrite: Overwrite = False,
    views: Annotated[
        int | None, typer.Option("--views", min=1, metavar="N", help="At most N views (default: 60).")
    ] = None,
    **options: Annotated[Any, OptionsOfEach("openers", "takes_data")],
) -> None:
    """Write a report of data or models: one HTML file that opens anywhere, without network.

    FILES are what `perf explore` takes. Charts tell the values under the pointer and can be zoomed; every figure is
    also there as a table.

    \b
    perf report trace.prv -o trace.html
    perf report model.json runs.csv other.json -o models.html
    """
    with reporting():
        from perf_explore.api import report
        from perf_explore.page import MOST_VIEWS

        most = views or MOST_VIEWS
        text = report(*files, output=output, overwrite=overwrite, views=most, read=how.read_file, **options)
    typer.echo(f"report: {typer.format_filename(output)} ({len(text.encode()) / 1e6:.2g} MB)")
