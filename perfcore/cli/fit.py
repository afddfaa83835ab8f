"""``perf fit``: data to a model."""

from __future__ import annotations

from typing import Any

import click

from perfcore.cli._dynamic import FitterCommand, fitter_option
from perfcore.cli._output import print_findings, print_json, reporting
from perfcore.cli._reading import read_file, reader_options

__all__ = ["command"]


@click.command(cls=FitterCommand)
@click.argument("data", type=click.Path(allow_dash=True))
@fitter_option("worley")
@click.option("--output", "-o", type=click.Path(), help="Write the model to this JSON file.")
@click.option(
    "--plot",
    "picture",
    type=click.Path(),
    help="Draw the model over its data: .png, .svg, .pdf or .html.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the model as JSON instead of a table.")
@reader_options
def command(
    data: str,
    fitter: str,
    output: str | None,
    picture: str | None,
    as_json: bool,
    reader: str | None,
    read_pairs: tuple[str, ...],
    **options: Any,
) -> None:
    """Fit a model to DATA, a file or - for standard input.

    \b
    perf fit trace.prv --fitter worley --phases 9
    perf fit trace.prv --fitter worley --phases 1..20 --degree 1 --refine -o model.json --plot phases.png
    """
    with reporting():
        import perfcore
        from perfcore.fitting import resolve
        from perfcore.picture import check_ending
        from perfcore.registry import registry

        given = {name: value for name, value in options.items() if value is not None}
        # What is wrong with the options is said before a long file is read.
        implementation = registry().load("fitters", fitter)
        resolve(implementation, given, fitter)
        if picture is not None:
            check_ending(picture)
        measured = read_file(data, reader, read_pairs, implementation.takes)
        model = perfcore.fit(measured, fitter=fitter, **given)
        if output is not None:
            model.save(output)
        if picture is not None:
            perfcore.plot(model, measured, picture)
    if as_json:
        import msgspec

        parameters = [msgspec.structs.asdict(parameter) for parameter in model.parameters]
        print_json({**model.to_dict(), "statistics": model.statistics, "parameters": parameters})
        return
    print_findings(model, model=output, picture=picture)
