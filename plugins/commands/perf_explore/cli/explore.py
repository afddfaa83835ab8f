"""``perf explore``: a page on this machine to look at data and models, and to improve them."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from perf_explore.cli.files import Files
from perf_traces.reading import HowToReadTraces
from perfcore.cli.output import reporting
from perfcore.cli.signature import OptionsOfEach


def command(
    files: Files,
    how: HowToReadTraces,
    port: Annotated[
        int | None, typer.Option("--port", min=1, metavar="PORT", help="Port to listen on (default: a free one).")
    ] = None,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Only print the address.")] = False,
    **options: Annotated[Any, OptionsOfEach("openers", "takes_data")],
) -> None:
    """Show data or models as a page in the browser, until Ctrl-C.

    FILES are data, models of `perf fit -o`, structural models (.toml), or predictions with the table of what happened.
    Data after a model are what it was fitted to; a folder or a quoted pattern is one data set of many files. The page
    listens on this machine only, and its address opens it once, in one browser: nobody else can.

    \b
    perf explore trace.prv
    perf explore model.json runs.csv
    perf explore 'runs/*.out' --from-name 'run_p{p:int}.out'
    perf explore predictions.json runs.csv --column time_s
    """
    with reporting():
        from perf_explore.api import explore

        explore(*files, port=port, browser=not no_browser, read=how.read_file, announce=typer.echo, **options)
