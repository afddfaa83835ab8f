"""``perf explore``: a page on this machine to look at data and models, and to improve them."""

from __future__ import annotations

from typing import Annotated

import typer

from perfcore.cli.output import reporting
from perfcore.cli.reading import HowToRead

__all__ = ["command"]


def command(
    files: Annotated[list[str], typer.Argument(metavar="FILES...")],
    how: HowToRead,
    port: Annotated[int | None, typer.Option("--port", min=1, help="Port to listen on (default: a free one).")] = None,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Only print the address.")] = False,
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
    """Show data or models as a page in the browser, until Ctrl-C.

    FILES are data, models of `perf fit -o`, structural models (.toml), or predictions with the table of what happened.
    Data after a model are what it was fitted to; a folder or a quoted pattern is one data set of many files. The page
    listens on this machine only, and its address has a secret: nobody else can open it.

    \b
    perf explore trace.prv
    perf explore model.json runs.csv
    perf explore 'runs/*.out' --from-name 'run_p{p:int}.out'
    perf explore predictions.json runs.csv --column time_s
    """
    with reporting():
        from perf_explore.journal import Journal, state_folder
        from perf_explore.opening import Opening, open_subjects
        from perf_explore.server import Page, listen, require_libraries, serve
        from perf_explore.session import Session

        require_libraries()
        with listen(port or 0) as listener:
            opening = Opening(how.read_file, column, at)
            journal = Journal(state_folder(), files)
            journal.mend()  # before the files are read
            session = Session(open_subjects(files, opening), journal, lambda: open_subjects(files, opening))
            page = Page(session, listener.getsockname()[1])
            try:
                typer.echo(f"open {page.address} (Ctrl-C ends it)")
                if not no_browser:
                    import webbrowser

                    # Where there is no browser, as on a login node, the address has been printed.
                    webbrowser.open(page.address)
                serve(page, listener)
            except KeyboardInterrupt:
                typer.echo("stopped; everything that was kept is in its files")
                if session.unsaved:
                    typer.echo(f"not saved: {'; '.join(session.unsaved)}")
