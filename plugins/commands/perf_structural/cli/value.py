"""``perf stochastic summarize``: samples of the system to a stochastic value."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from perf_structural.cli._showing import show
from perfcore.cli.output import reporting
from perfcore.cli.parameters import Json, Picture, names_of
from perfcore.cli.reading import HowToRead
from perfcore.cli.signature import OptionsOfSelected
from perfcore.stochastic import default_name


def command(
    series: Annotated[
        str,
        typer.Argument(metavar="SERIES", show_default=False, help="A file of samples or runs; - is standard input."),
    ],
    how: HowToRead,
    representation: Annotated[
        str,
        typer.Option(
            "--as", metavar="NAME", help="What the samples become.", autocompletion=names_of("representations")
        ),
    ] = default_name("samples"),
    column: Annotated[
        str | None, typer.Option("--column", metavar="NAME", help="Series of several columns: the one to represent.")
    ] = None,
    window: Annotated[
        str, typer.Option("--window", metavar="DURATION|all", help="How much counts, from the end.")
    ] = "5min",
    until: Annotated[
        str | None,
        typer.Option("--to", metavar="TIME", help="Last time or date that counts (default: the last sample's)."),
    ] = None,
    where: Annotated[
        str | None,
        typer.Option("--where", metavar="CONDITIONS", help="Rows of a table that count, such as host=a,p>4."),
    ] = None,
    support: Annotated[
        str | None,
        typer.Option("--support", metavar="LOW,HIGH", help="What it is known to lie between, such as 0,1 or 0,inf."),
    ] = None,
    quantile: Annotated[
        str | None,
        typer.Option("--quantile", metavar="Q,...", help="Quantiles to show, with the limits that samples give them."),
    ] = None,
    scale: Annotated[
        float | None,
        typer.Option(
            "--scale",
            metavar="RANGE",
            help="Full range of the quantity, for its variation class (default: 1, and of times none).",
        ),
    ] = None,
    output: Annotated[
        str | None, typer.Option("--output", "-o", metavar="FILE", help="Write the value to this JSON file.")
    ] = None,
    picture: Picture = None,
    as_json: Json = False,
    **options: Annotated[Any, OptionsOfSelected("representations", "as")],
) -> None:
    """Represent measurements by a point, interval, normal or histogram: the last samples of a series, the rows of a
    table of runs, or numbers one a line.

    \b
    perf stochastic summarize cpu.csv --column "cpu all busy" --as histogram --bins 5 --window 5min
    perf stochastic summarize load.json --as normal -o load.value.json --plot load.png
    perf stochastic summarize runs.csv --column time_s --where host=a --quantile 0.5,0.99,0.999
    """
    with reporting():
        import msgspec

        from perf_structural.api import value
        from perf_views.picture import check_files
        from perfcore.base.files import write_bytes

        check_files(picture, output)
        measured = value(
            series,
            representation,
            column=column,
            window=window,
            until=until,
            where=where,
            support=support,
            quantile=quantile,
            scale=scale,
            read=how.read_file,
            **options,
        )
        if output is not None:
            text = msgspec.json.format(msgspec.json.encode(measured.value.to_dict()), indent=1)
            write_bytes(output, text + b"\n")
        show("value", measured, as_json, picture, value=output)
