"""``perf value``: samples of the system to a stochastic value."""

from __future__ import annotations

from typing import Any

import click

from perfcore.cli._dynamic import RepresentationCommand, representation_option
from perfcore.cli._output import print_findings, print_json, reporting
from perfcore.cli._reading import read_file, reader_options

__all__ = ["command"]


@click.command(cls=RepresentationCommand)
@click.argument("series", type=click.Path(allow_dash=True))
@representation_option("histogram")
@click.option("--column", metavar="NAME", help="Series of several columns: the one to represent.")
@click.option(
    "--window", default="5min", show_default=True, metavar="DURATION|all", help="How much counts, from the end."
)
@click.option("--until", type=float, metavar="TIME", help="Last time that counts (default: the last sample's).")
@click.option(
    "--scale", type=float, default=1.0, show_default=True, help="Full range of the quantity, for its variation class."
)
@click.option("--output", "-o", type=click.Path(), help="Write the value to this JSON file.")
@click.option("--plot", "picture", type=click.Path(), help="Draw density and distribution: .png, .svg, .pdf or .html.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
@reader_options
def command(
    series: str,
    representation: str,
    column: str | None,
    window: str,
    until: float | None,
    scale: float,
    output: str | None,
    picture: str | None,
    as_json: bool,
    reader: str | None,
    read_pairs: tuple[str, ...],
    **options: Any,
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
        samples = take_window(read_file(series, reader, read_pairs, (Series, UtilizationCurve)), window, column, until)
        found = represent(samples, representation, scale, **given)
        if output is not None:
            text = msgspec.json.format(msgspec.json.encode(found.value.to_dict()), indent=1)
            write_bytes(output, text + b"\n")
        if picture is not None:
            plot(found, None, picture)
    if as_json:
        print_json(found.to_dict())
        return
    print_findings(found, value=output, picture=picture)
