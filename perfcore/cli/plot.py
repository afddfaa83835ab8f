"""``perf plot``: a picture of a model or of data."""

from __future__ import annotations

import click

from perfcore.cli._output import reporting
from perfcore.cli._reading import read_file, reader_options

__all__ = ["command"]


@click.command()
@click.argument("subject", type=click.Path())
@click.argument("data", type=click.Path(), required=False)
@click.option(
    "--output",
    "-o",
    type=click.Path(),
    default="plot.png",
    show_default=True,
    help="Picture to write.",
)
@reader_options
def command(subject: str, data: str | None, output: str, reader: str | None, read_pairs: tuple[str, ...]) -> None:
    """Draw SUBJECT, a model file (.json) or data; DATA are drawn below a model.

    \b
    perf plot model.json trace.prv -o phases.svg
    perf plot trace.prv -o utilization.png
    """
    with reporting():
        import perfcore
        from perfcore.views.picture import check_ending

        check_ending(output)
        if subject.lower().endswith(".json") and reader is None:
            model = perfcore.load(subject)
            measured = None if data is None else read_file(data, reader, read_pairs)
            perfcore.plot(model, measured, output)
        elif data is not None:
            raise click.UsageError("the first of two files must be a model, made by `perf fit -o model.json`")
        else:
            perfcore.plot(None, read_file(subject, reader, read_pairs), output)
    click.echo(f"picture: {click.format_filename(output)}")
