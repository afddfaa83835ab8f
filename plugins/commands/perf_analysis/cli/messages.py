"""``perf messages``: who sends how much to whom."""

from __future__ import annotations

from typing import Annotated

import typer

from perf_traces.reading import HowToReadTraces
from perfcore.base.errors import OptionError
from perfcore.cli.output import print_findings, print_json, print_plainly, reporting
from perfcore.cli.parameters import Json, Picture, TableFormat


def command(
    trace: Annotated[str, typer.Argument(metavar="TRACE", help="Of a run with messages.")],
    how: HowToReadTraces,
    picture: Picture = None,
    as_json: Json = False,
    table_format: TableFormat = None,
) -> None:
    """Say who sends how much to whom in a trace, and in messages of which sizes.

    \b
    perf messages trace.prv --plot matrix.png
    perf messages trace.prv --table csv > pairs.csv
    """
    with reporting():
        from perf_analysis.messages import messages
        from perf_views.picture import check_files, plot

        if as_json and table_format is not None:
            raise OptionError("--json and --table do not go together")
        check_files(picture)
        result = messages(trace, read=how.read_file)
        if picture is not None:
            plot(result, None, picture)
    if as_json:
        print_json("messages", result.to_dict())
    elif table_format is not None:
        print_plainly(table_format, result.plain_tables() if table_format == "csv" else result.tables())
    else:
        print_findings(result, picture=picture)
