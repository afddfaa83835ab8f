"""``perf explore``: a page on this machine to look at data and models, and to improve them."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from perf_traces.options import HowToReadTraces
from perfcore.base.errors import OptionError
from perfcore.cli.output import reporting
from perfcore.hooks.parameters import OptionsOfEach
from perfcore.reading import read_file


def command(
    files: Annotated[
        list[str],
        typer.Argument(metavar="FILES", help="Data, models, structural models, predictions; may be repeated."),
    ],
    how: HowToReadTraces,
    port: Annotated[
        int | None, typer.Option("--port", min=1, metavar="PORT", help="Port to listen on (default: a free one).")
    ] = None,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Only print the address.")] = False,
    output: Annotated[
        str | None,
        typer.Option("--output", "-o", metavar="FILE", help="Write what the page shows to this file (.html) instead."),
    ] = None,
    views: Annotated[
        int | None, typer.Option("--views", min=1, metavar="N", help="With -o: at most N views (default: 60).")
    ] = None,
    **options: Annotated[Any, OptionsOfEach("models", "validation")],
) -> None:
    """Show data or models as a page in the browser, until Ctrl-C.

    FILES are data, models of `perf fit -o`, structural models (.toml), or predictions with the table of what happened.
    Data after a model are what it was fitted to; a folder or a quoted pattern is one data set of many files. The page
    listens on this machine only, and its address opens it once, in one browser only. With -o it is one HTML
    file that opens anywhere, without network.

    \b
    perf explore trace.prv
    perf explore model.json runs.csv
    perf explore 'runs/*.out' --from-name 'run_p{p:int}.out'
    perf explore predictions.json runs.csv --column time_s
    perf explore trace.prv -o trace.html
    """
    with reporting():
        read = how.read_file if how.flags else read_file
        if output is not None:
            from perf_explore.api import report
            from perf_explore.page import MOST_VIEWS

            if port is not None or no_browser:
                raise OptionError("--port and --no-browser are of the page; -o writes a file instead")
            most = views or MOST_VIEWS
            text = report(*files, output=output, views=most, read=read, **options)
            typer.echo(f"report: {typer.format_filename(output)} ({len(text) / 1e6:.2g} MB)")
            return
        if views is not None:
            raise OptionError("--views belongs to -o FILE")
        from perf_explore.api import explore

        explore(*files, port=port, browser=not no_browser, read=read, announce=typer.echo, **options)
