"""``perf value``: samples of the system to a stochastic value."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from perfcore.cli.output import print_findings, print_json, reporting
from perfcore.cli.parameters import names_of
from perfcore.cli.reading import HowToRead
from perfcore.cli.signature import OptionsOfSelected
from perfcore.stochastic import default_name

__all__ = ["command"]


def command(
    series: Annotated[str, typer.Argument(metavar="SERIES", show_default=False)],
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
        float | None,
        typer.Option("--until", metavar="TIME", help="Last time that counts (default: the last sample's)."),
    ] = None,
    scale: Annotated[float, typer.Option("--scale", help="Full range of the quantity, for its variation class.")] = 1.0,
    output: Annotated[
        str | None, typer.Option("--output", "-o", metavar="FILE", help="Write the value to this JSON file.")
    ] = None,
    picture: Annotated[
        str | None,
        typer.Option("--plot", metavar="FILE", help="Draw density and distribution: .png, .svg, .pdf or .html."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
    **options: Annotated[Any, OptionsOfSelected("representations", "as")],
) -> None:
    """Represent the last samples of SERIES, a file or - for standard input, by a point, interval, normal or histogram.

    \b
    perf value cpu.csv --column "cpu all busy" --as histogram --bins 5 --window 5min
    perf value load.json --as normal -o load.value.json --plot load.png
    """
    with reporting():
        import msgspec

        from perf_structural.measured_value import represent
        from perfcore.base.files import write_bytes
        from perfcore.data.curve import UtilizationCurve
        from perfcore.data.durations import check_length
        from perfcore.data.series import Series
        from perfcore.data.window import take_window
        from perfcore.hooks.options import build
        from perfcore.hooks.registry import registry
        from perfcore.views.picture import check_ending, plot

        given = {name: value for name, value in options.items() if value is not None}
        # What is wrong with the options is said before a long file is read.
        build(registry().entry("representations", representation).load_options(), given, representation)
        check_length(window)
        if picture is not None:
            check_ending(picture)
        samples = take_window(how.read_file(series, (Series, UtilizationCurve)), window, column, until)
        found = represent(samples, representation, scale, **given)
        if output is not None:
            text = msgspec.json.format(msgspec.json.encode(found.value.to_dict()), indent=1)
            write_bytes(output, text + b"\n")
        if picture is not None:
            plot(found, None, picture)
    if as_json:
        print_json("value", found.to_dict())
        return
    print_findings(found, value=output, picture=picture)
