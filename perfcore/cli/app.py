"""The program as a typer app whose commands are what plugins registered."""

from __future__ import annotations

import os
import sys
from typing import Annotated, Any

import typer
import typer.core
import typer.main

import perfcore
from perfcore.base.errors import UnknownNameError
from perfcore.cli.command import CONTEXT_SETTINGS, build_command, markup_mode, plain
from perfcore.hooks.registry import Entry, registry

_SIGPIPE_STATUS = 128 + 13  # what a shell reports for a program that SIGPIPE ended
_GROUPS = ("Look", "Model", "Measure", "Uncertainty", "Set up")  # headings of the help, in this order; others follow


class CommandGroup(typer.core.TyperGroup):
    """A group whose commands are those of the registry; a listing imports none of them."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Names of all commands, by group."""
        return [entry.name for entry in _commands()]

    def get_command(self, ctx: Any, cmd_name: str) -> typer.core.TyperCommand | None:
        """What a listing says of a command."""
        entry = registry().entries("commands").get(cmd_name)
        if entry is None:
            return None
        text = plain(entry.help)
        return typer.core.TyperCommand(cmd_name, help=text, short_help=text, rich_help_panel=_group(entry))

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """Make the command that the line names, with the options of what the rest of the line selects.

        Raises
        ------
        UnknownNameError
            There is no such command; the nearest is named.
        """
        name, *words = args
        entry = registry().entries("commands").get(name)
        if entry is not None:
            return name, build_command(entry, words), words
        if ctx.resilient_parsing:  # while a line is completed
            return None, None, words
        if name.startswith("-"):
            ctx.fail(f"No such option {name}")
        raise UnknownNameError("command", name, registry().entries("commands"))

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Commands under the headings of their groups, each with its whole line of help."""
        groups: dict[str, list[tuple[str, str]]] = {}
        for entry in _commands():
            groups.setdefault(_group(entry), []).append((entry.name, entry.help))
        for title, rows in groups.items():
            with formatter.section(title):
                formatter.write_dl(rows)

    def invoke(self, ctx: Any) -> Any:
        """Run the command; that nobody reads what it prints, as with ``| head``, is no error."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            # Python would complain once more when it flushes at exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(_SIGPIPE_STATUS) from None


def _group(entry: Entry) -> str:
    return entry.group or "Others"


def _commands() -> list[Entry]:
    """Commands in the order of the help: by group, then as their plugin registered them."""
    places = {name: number for number, name in enumerate(_GROUPS)}
    entries = registry().entries("commands").values()
    return sorted(entries, key=lambda entry: (places.get(_group(entry), len(places)), _group(entry)))


def _say_version(requested: bool) -> None:
    if requested:
        typer.echo(f"perfcore, version {perfcore.__version__}")
        raise typer.Exit


def _perf(
    ctx: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_say_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> int | None:
    """Performance models from measurements of parallel programs.

    \b
    perf info trace.prv
    perf fit trace.prv --fitter worley --phases 9 --plot phases.png
    """
    if ctx.invoked_subcommand is None:
        typer.echo(ctx.get_help())
        return 2
    return None


def program() -> typer.core.TyperGroup:
    """The command of the whole program, to be run with ``standalone_mode=False``."""
    app = typer.Typer(cls=CommandGroup, rich_markup_mode=markup_mode(), context_settings=CONTEXT_SETTINGS)
    app.callback(invoke_without_command=True)(_perf)
    group = typer.main.get_command(app)
    assert isinstance(group, CommandGroup)
    # `perf completion` says what typer's two options would; typer has to add them to know the shells.
    group.params = [parameter for parameter in group.params if not str(parameter.name).endswith("_completion")]
    return group
