"""``perf info``: what a file is, how much is in it, and what can be done with it."""

from __future__ import annotations

import click

from perfcore.cli._output import print_json, reporting
from perfcore.cli._reading import read_file, reader_options

__all__ = ["command"]

_ONE_LINE_EACH = ("next", "points", "rows to know about")


@click.command()
@click.argument("data", type=click.Path(allow_dash=True))
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@reader_options
def command(data: str, as_json: bool, reader: str | None, read_pairs: tuple[str, ...]) -> None:
    """Say what DATA is, how much is in it, and what can be done with it.

    \b
    perf info trace.prv
    """
    with reporting():
        from perfcore.describe import describe

        facts = describe(read_file(data, reader, read_pairs), click.format_filename(data))
    if as_json:
        print_json(facts)
        return
    width = max(map(len, facts))
    for name, value in facts.items():
        text = ", ".join(map(str, value)) if isinstance(value, list) and name not in _ONE_LINE_EACH else value
        lines = text if isinstance(text, list) else [text]
        for label, line in zip([name, *[""] * (len(lines) - 1)], lines, strict=True):
            click.echo(f"{label.ljust(width)}  {line}")
