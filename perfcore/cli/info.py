"""``perf info``: what a file is, how much is in it, and what can be done with it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from perfcore.cli.output import print_json, reporting
from perfcore.cli.reading import HowToRead

if TYPE_CHECKING:
    from perfcore.reading.recognise import Reading

__all__ = ["command"]

_ONE_LINE_EACH = ("next", "notes", "points", "rows to know about")
_LONGEST_NAME = 60  # of a state or category; templates of GPU kernels have thousands of letters


def command(
    data: Annotated[str, typer.Argument(metavar="DATA", show_default=False)],
    how: HowToRead,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Say what DATA is, how much is in it, and what can be done with it.

    DATA is a file, - for standard input, a folder, or a pattern in quotes; many files are one data set.

    \b
    perf info trace.prv
    perf info 'runs/*.out' --from-name 'run_p{p:int}_n{n}.out'
    """
    with reporting():
        from perfcore.base.errors import listing
        from perfcore.models.describe import describe

        found = how.read_with_format(data)
        named = {"file": typer.format_filename(data), "format": _format(found)}
        facts = named | describe(found.data, typer.format_filename(data), how.flags)
    if as_json:
        print_json("info", {"facts": facts})
        return
    width = max(map(len, facts))
    for name, value in facts.items():
        text = listing(map(_shortened, value)) if isinstance(value, list) and name not in _ONE_LINE_EACH else value
        lines = text if isinstance(text, list) else [text]
        for label, line in zip([name, *[""] * (len(lines) - 1)], lines, strict=True):
            typer.echo(f"{label.ljust(width)}  {line}")


def _shortened(name: object) -> str:
    text = str(name)
    return text if len(text) <= _LONGEST_NAME else text[: _LONGEST_NAME - 3] + "..."


def _format(found: Reading) -> str:
    """The name of the format, what it is, and how many files were read."""
    from perfcore.hooks.registry import registry

    what = f"{found.reader}: {registry().entry('readers', found.reader).help}"
    return what if found.files == 1 else f"{what}; {found.files} files"
