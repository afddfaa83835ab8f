"""The options by which commands read a file."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import click

from perfcore.base.errors import OptionError
from perfcore.cli._dynamic import key_values

if TYPE_CHECKING:
    from perfcore.reading.recognise import Reading

__all__ = ["read_file", "read_with_format", "reader_options", "reading_flags"]

_FROM_NAME = "perfcore.from_name"  # where the context keeps the pattern, so that commands need not hand it on


def _reader_names(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    from perfcore.hooks.registry import registry

    return [name for name in registry().entries("readers") if name.startswith(incomplete)]


def _keep_pattern(ctx: click.Context, param: click.Parameter, value: str | None) -> None:
    ctx.meta[_FROM_NAME] = value


def reader_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``--reader``, ``--read`` and ``--from-name`` to a command."""
    function = click.option(
        "--from-name", metavar="PATTERN", expose_value=False, callback=_keep_pattern,
        help="What the names of the files say, such as 'run_p{p:int}_n{n}.out'.",
    )(function)  # fmt: skip
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
    """Read what the command line names, with the options given there."""
    return read_with_format(path, reader, pairs, wanted).data


def read_with_format(path: str, reader: str | None, pairs: Sequence[str], wanted: Sequence[type] = ()) -> Reading:
    """The same, with the name of the format."""
    from perfcore.reading.recognise import read_named

    options = dict(key_values(pairs, "--read"))
    if (pattern := _pattern()) is not None:
        if "from_name" in options:
            raise OptionError("--from-name and -r from_name= are the same; give one of them")
        options["from_name"] = pattern
    return read_named(path, reader=reader, wanted=wanted, **options)


def reading_flags(reader: str | None, pairs: Sequence[str]) -> str:
    """The options by which a file was read, to be repeated in a command that reads it again."""
    words = [] if reader is None else ["--reader", reader]
    for pair in pairs:
        words += ["-r", pair]
    if (pattern := _pattern()) is not None:
        words += ["--from-name", pattern]
    return "".join(f" {shlex.quote(word)}" for word in words)


def _pattern() -> str | None:
    context = click.get_current_context(silent=True)
    found: str | None = None if context is None else context.meta.get(_FROM_NAME)
    return found
