"""The options by which commands read a file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import click

from perfcore.cli._dynamic import key_values

__all__ = ["read_file", "reader_options"]


def _reader_names(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    from perfcore.registry import registry

    return [name for name in registry().entries("readers") if name.startswith(incomplete)]


def reader_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``--reader`` and ``--read`` to a command."""
    function = click.option(
        "--read", "-r", "read_pairs", metavar="KEY=VALUE", multiple=True,
        help="Option of the reader, such as -r time=t_us; `perf plugins NAME` lists them.",
    )(function)  # fmt: skip
    return click.option(
        "--reader",
        metavar="NAME",
        shell_complete=_reader_names,
        help="Format of the file (default: told from it).",
    )(function)


def read_file(path: str, reader: str | None, pairs: Sequence[str], wanted: Sequence[type] = ()) -> Any:
    """Read a file with the options given on the command line."""
    import perfcore

    return perfcore.read(path, reader=reader, wanted=wanted, **key_values(pairs, "--read"))
