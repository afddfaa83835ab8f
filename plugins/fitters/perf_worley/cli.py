"""``perf iterations``: sections of a run that repeat."""

from __future__ import annotations

from typing import Annotated

import typer

from perf_traces.reading import HowToReadTraces
from perfcore.cli.output import print_findings, print_json, print_plainly, reporting
from perfcore.cli.parameters import Data, Json, Picture, TableFormat, names_of


def command(
    data: Data,
    how: HowToReadTraces,
    busy: Annotated[
        str | None, typer.Option("--busy", metavar="STATE,...", help="Traces: states that count as computing.")
    ] = None,
    idle: Annotated[
        str | None, typer.Option("--idle", metavar="STATE,...", help="Traces: instead, states that do not count.")
    ] = None,
    column: Annotated[
        str | None, typer.Option("--column", metavar="NAME", help="Series of several columns: the one to look at.")
    ] = None,
    markers: Annotated[
        bool, typer.Option("--markers/--no-markers", help="Believe markers that count, such as step#1, step#2.")
    ] = True,
    marker: Annotated[
        str | None,
        typer.Option("--marker", metavar="NAME", help="Traces: what this marker spans, which `perf info` lists."),
    ] = None,
    representation: Annotated[
        str | None,
        typer.Option(
            "--as",
            metavar="NAME",
            help="What the durations become in --output (default: as in `perf stochastic summarize`).",
            autocompletion=names_of("representations"),
        ),
    ] = None,
    output: Annotated[
        str | None,
        typer.Option("--output", "-o", metavar="FILE", help="Write an iteration's duration in seconds as a value."),
    ] = None,
    picture: Picture = None,
    as_json: Json = False,
    table_format: TableFormat = None,
) -> None:
    """Find the iterations of DATA, a trace or a utilization curve: how many, how long, which one differs and why.

    \b
    perf iterations trace.prv
    perf iterations trace.json --marker ProfilerStep
    perf iterations trace.prv --as normal -o iteration.json
    perf stochastic eval "100*x" --with x=iteration.json
    """
    with reporting():
        import msgspec

        from perf_views.picture import plot
        from perf_worley.iterations.iterations import iterations
        from perfcore.base.errors import OptionError
        from perfcore.base.files import check_files, write_bytes

        if as_json and table_format is not None:
            raise OptionError("--json and --table do not go together")
        if representation is not None and output is None:
            raise OptionError("--as belongs to --output FILE")
        check_files(picture, output)
        detected = iterations(
            data,
            busy=_names(busy),
            idle=_names(idle),
            column=column,
            markers=markers,
            marker=marker,
            read=how.read_file,
        )
        if output is not None:
            value = detected.value(representation)
            write_bytes(output, msgspec.json.format(msgspec.json.encode(value.to_dict()), indent=1) + b"\n")
        if picture is not None:
            plot(detected, None, picture)
    if as_json:
        print_json("iterations", detected.to_dict())
    elif table_format is not None:
        print_plainly(table_format, detected.plain_tables() if table_format == "csv" else detected.tables())
    else:
        print_findings(detected, value=output, picture=picture)


def _names(text: str | None) -> tuple[str, ...] | None:
    return None if text is None else tuple(word.strip() for word in text.split(",") if word.strip())
