"""``perf info``: what a file contains, and which commands apply."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from perf_traces.reading import HowToReadTraces
from perfcore.base.errors import OptionError
from perfcore.cli.output import print_findings, print_json, reporting
from perfcore.cli.parameters import Json

if TYPE_CHECKING:
    from perfcore.reading.recognise import Reading


def command(
    data: Annotated[
        str | None,
        typer.Argument(metavar="DATA", help="A file, - for standard input, a folder, or a quoted pattern."),
    ] = None,
    *,
    how: HowToReadTraces,
    formats: Annotated[
        bool, typer.Option("--formats", help="List the formats that can be read, each with an example.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Show what DATA contains and which commands apply.

    DATA is a file, - for standard input, a folder, or a pattern in quotes; many files are one data set. Its format is
    detected from its content.

    \b
    perf info trace.prv
    perf info 'runs/*.out' --from-name 'run_p{p:int}_n{n}.out'
    perf info --formats
    """
    if formats:
        if data is not None:
            raise OptionError(f"--formats lists what can be read; leave out {data}")
        _list_formats(as_json)
        return
    if data is None:
        raise OptionError("name a file, a folder or a pattern; --formats lists what can be read")
    with reporting():
        from perf_basics.api import Facts
        from perf_basics.describe import describe
        from perfcore.base import progress

        with progress.collected() as notes:
            reading = how.read_with_format(data)
        named = {"file": typer.format_filename(data), "format": _format(reading)}
        facts = named | describe(reading.data, typer.format_filename(data), how.flags, notes)
    if as_json:
        print_json("info", {"facts": facts})
        return
    print_findings(Facts(facts))


def _list_formats(as_json: bool) -> None:
    with reporting():
        from perf_basics.api import formats

        listed = formats()
    if as_json:
        print_json("formats", listed.rows)
    else:
        print_findings(listed)


def _format(reading: Reading) -> str:
    """The name of the format, what it is, and how many files were read."""
    from perfcore.hooks.registry import registry

    description = f"{reading.reader}: {registry().entry('readers', reading.reader).help}"
    return description if reading.files == 1 else f"{description}; {reading.files} files"
