"""``perf profile``: the time of every function."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from perf_traces.reading import HowToReadTraces, next_step, options_of_runs
from perfcore.cli.output import print_findings, print_json, reporting
from perfcore.cli.parameters import Json, Picture


def command(
    traces: Annotated[
        list[str], typer.Argument(metavar="TRACES", help="Runs of one program: files, folders, or quoted patterns.")
    ],
    how: HowToReadTraces,
    by: Annotated[
        Literal["function", "location", "rank", "phase", "marker"] | None,
        typer.Option("--by", help="What times are told for, beside functions (default: nothing else)."),
    ] = None,
    phases: Annotated[
        str | None,
        typer.Option("--phases", metavar="N|A..B|auto|MODEL.json", help="By phases, found or those of a model."),
    ] = None,
    output: Annotated[
        str | None,
        typer.Option("--output", "-o", metavar="FILE", help="Write the table, a row for each function of each run."),
    ] = None,
    picture: Picture = None,
    as_json: Json = False,
) -> None:
    """Say in which functions the time of TRACES goes, and write one table from which the law of each is found.

    Times are exclusive: a function is a state, region or kernel, and each nanosecond of a location is in the innermost
    one, or in none. Inclusive times are those with callees, of a function that calls itself once; where no states are
    nested both are the same, and calls are intervals. The table has a column of what was varied: what --from-name says,
    or else p, the number of locations.

    \b
    perf profile trace.prv --phases 4 --plot functions.png
    perf profile runs/*.prv -o runs.jsonl
    perf fit runs.jsonl --fitter scaling
    """
    with reporting():
        from perf_analysis.profile import profile
        from perf_views.picture import check_files, plot
        from perfcore.reading.recognise import write, writer

        check_files(picture, output)
        if output is not None:
            writer(output)
        reading, files = options_of_runs(how)
        runs = profile(traces, by=by, phases=phases, from_name=how.from_name, files=files, read=reading.read_file)
        if output is not None:
            write(runs.measurements, output)
        if picture is not None:
            plot(runs, None, picture)
    if as_json:
        print_json("profile", runs.to_dict())
        return
    print_findings(runs, table=output, picture=picture)
    if output is not None and output.endswith(".jsonl") and runs.counters:
        typer.echo(f"{output} holds times alone; a file .csv or .parquet holds {', '.join(runs.counters)}, too")
    if output is not None and len(runs) > 1 and runs.by not in ("location", "rank"):
        typer.echo(next_step(output, [run.parameters for run in runs], runs.parameters))
