"""``perf experiment sample``: measures this machine for a while."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from perfcore.cli.output import reporting


def command(
    what: Annotated[
        Literal["cpu", "network"], typer.Argument(metavar="WHAT", help="Busy time of processors, or bytes per second.")
    ],
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="FILE", help="File to write; its ending is the format.")
    ],
    for_: Annotated[str, typer.Option("--for", metavar="DURATION", help="For how long.")] = "5min",
    every: Annotated[str, typer.Option("--every", metavar="DURATION", help="How often.")] = "1s",
) -> None:
    """Sample WHAT of this machine: cpu (shares of busy time) or network (bytes per second).

    Ctrl-C ends it early; what was measured until then is written. It needs psutil: pip install 'perfcore[sample]'.

    \b
    perf experiment sample cpu --for 60s --every 1s -o cpu.csv
    perf stochastic summarize cpu.csv --column "cpu all busy" --window 5min
    """
    with reporting():
        from perf_experiments.api import sample

        series = sample(what, for_=for_, every=every, output=output)
    for note in series.notes:
        typer.echo(f"perf: {note}", err=True)
    typer.echo(f"{typer.format_filename(output)}: {len(series.times)} samples of {', '.join(series.columns)}")
