"""``perf convert``: converts a file."""

from __future__ import annotations

from typing import Annotated

import typer

from perf_traces.reading import HowToReadTraces
from perfcore.base.errors import OptionError
from perfcore.cli.output import reporting


def command(
    data: Annotated[str, typer.Argument(metavar="DATA", show_default=False)],
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="FILE", help="File to write; its ending is the format.")
    ],
    how: HowToReadTraces,
    curve: Annotated[
        bool, typer.Option("--curve", help="Write a trace's utilization curve instead of its intervals.")
    ] = False,
) -> None:
    """Read DATA and write it in another format.

    \b
    perf convert trace.prv -o trace.parquet
    perf convert trace.prv -o trace.json --from 10% --to 20%    for ui.perfetto.dev
    perf convert trace.prv --curve -o curve.csv
    """
    with reporting():
        import perfcore
        from perfcore.reading.recognise import writer

        writer(output)  # refuse a wrong ending or folder before a long file is read
        from perfcore.base.files import check_files

        check_files(None, output)
        content = how.read_file(data)
        if curve:
            if not isinstance(content, perfcore.Trace):
                raise OptionError("--curve belongs to traces; these data have no states")
            content = content.utilization()
        perfcore.write(content, output)
    typer.echo(f"{typer.format_filename(output)}: {content!r}")
