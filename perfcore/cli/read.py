"""``perf read``: converts a file."""

from __future__ import annotations

import click

from perfcore.cli._output import reporting
from perfcore.cli._reading import read_file, reader_options

__all__ = ["command"]


@click.command()
@click.argument("data", type=click.Path(allow_dash=True))
@click.option(
    "--output",
    "-o",
    type=click.Path(),
    required=True,
    help="File to write; its ending is the format.",
)
@click.option("--curve", is_flag=True, help="Write a trace's utilization curve instead of its intervals.")
@reader_options
def command(data: str, output: str, curve: bool, reader: str | None, read_pairs: tuple[str, ...]) -> None:
    """Read DATA and write it in another format.

    \b
    perf read trace.prv -o trace.parquet
    perf read trace.prv --curve -o curve.csv
    """
    with reporting():
        import perfcore
        from perfcore.reading.recognise import writer

        writer(output)  # a wrong ending is said before a long file is read
        content = read_file(data, reader, read_pairs)
        if curve:
            if not isinstance(content, perfcore.Trace):
                raise click.UsageError("--curve belongs to traces; these data have no states")
            content = content.utilization()
        perfcore.write(content, output)
    click.echo(f"{click.format_filename(output)}: {content!r}")
