"""``perf info``: what a file is, how much is in it, and what can be done with it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from perf_traces.reading import HowToReadTraces
from perfcore.cli.output import print_json, reporting
from perfcore.cli.parameters import Data, Json

if TYPE_CHECKING:
    from perfcore.reading.recognise import Reading


def command(data: Data, how: HowToReadTraces, as_json: Json = False) -> None:
    """Say what DATA is, how much is in it, and what can be done with it.

    DATA is a file, - for standard input, a folder, or a pattern in quotes; many files are one data set.

    \b
    perf info trace.prv
    perf info 'runs/*.out' --from-name 'run_p{p:int}_n{n}.out'
    """
    with reporting():
        from perf_basics.api import Facts
        from perf_basics.describe import describe

        reading = how.read_with_format(data)
        named = {"file": typer.format_filename(data), "format": _format(reading)}
        facts = named | describe(reading.data, typer.format_filename(data), how.flags)
    if as_json:
        print_json("info", {"facts": facts})
        return
    for line in Facts(facts).summary():
        typer.echo(line)


def _format(reading: Reading) -> str:
    """The name of the format, what it is, and how many files were read."""
    from perfcore.hooks.registry import registry

    description = f"{reading.reader}: {registry().entry('readers', reading.reader).help}"
    return description if reading.files == 1 else f"{description}; {reading.files} files"
