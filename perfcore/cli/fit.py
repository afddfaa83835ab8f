"""``perf fit``: data to a model."""

from __future__ import annotations

from typing import Any

import click

from perfcore.cli._dynamic import FitterCommand, fitter_option
from perfcore.cli._output import print_findings, print_json, print_plainly, reporting, table_option
from perfcore.cli._reading import read_file, reader_options

__all__ = ["command"]

_SOME_UNFITTED = 3


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
@table_option()
@reader_options
def command(
    data: str,
    fitter: str,
    output: str | None,
    picture: str | None,
    as_json: bool,
    table_format: str | None,
    reader: str | None,
    read_pairs: tuple[str, ...],
    **options: Any,
) -> None:
    """Fit a model to DATA, a file or - for standard input.

    \b
    perf fit trace.prv --fitter worley --phases 9
    perf fit trace.prv --fitter worley --phases 1..20 --degree 1 --refine -o model.json --plot phases.png
    perf fit runs.jsonl --fitter scaling --at p=4096 --table csv > laws.csv

    The exit status is 3 where paths of the data could not be fitted, for example with too few points: the others
    are, and the model is written.
    """
    if as_json and table_format is not None:
        raise click.UsageError("--json and --table do not go together")
    with reporting():
        import perfcore
        from perfcore.hooks.registry import registry
        from perfcore.models.fitting import resolve
        from perfcore.views.picture import check_ending

        given = {name: value for name, value in options.items() if value is not None}
        # What is wrong with the options is said before a long file is read.
        entry = registry().entry("fitters", fitter)
        resolve(entry, given)
        if picture is not None:
            check_ending(picture)
        measured = read_file(data, reader, read_pairs, entry.load().takes)
        model = perfcore.fit(measured, fitter=fitter, **given)
        if output is not None:
            model.save(output)
        if picture is not None:
            perfcore.plot(model, measured, picture)
    if as_json:
        import msgspec

        parameters = [msgspec.structs.asdict(parameter) for parameter in model.parameters]
        details = {"details": found} if (found := model.details()) else {}
        print_json({**model.to_dict(), "statistics": model.statistics, "parameters": parameters, **details})
    elif table_format is not None:
        print_plainly(table_format, model.plain_tables() if table_format == "csv" else model.tables())
    else:
        print_findings(model, model=output, picture=picture)
    if model.unfitted:
        if as_json or table_format is not None:
            count = len(model.unfitted)
            click.echo(f"perf: warning: {count} path{'s' * (count > 1)} of the data could not be fitted", err=True)
        raise click.exceptions.Exit(_SOME_UNFITTED)
