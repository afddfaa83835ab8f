"""The command line: every module of this package is one command, imported when it is called.

A command module has a `click.Command` named ``command``; its file name is the command's name.
"""

from __future__ import annotations

import importlib
import os
import pkgutil
import sys
from typing import Any

import click

import perfcore
from perfcore.base.errors import UnknownNameError

__all__ = ["perf"]

_SIGPIPE_STATUS = 128 + 13  # what a shell reports for a program that SIGPIPE ended
_ELSEWHERE = {
    name: f"{package}.cli"
    for package, names in {
        "perf_compare": ("compare", "verify"),
        "perf_experiments": ("design", "next", "run", "runs", "sample"),
        "perf_explore": ("explore", "report"),
        "perf_overheads": ("overheads",),
        "perf_structural": ("eval", "judge", "schedule", "value"),
    }.items()
    for name in names
}


class CommandFolder(click.Group):
    """A group whose commands are the modules of this package."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names of all commands."""
        own = (m.name for m in pkgutil.iter_modules(__path__) if not m.name.startswith("_"))
        return sorted([*own, *_ELSEWHERE])

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import one command."""
        if cmd_name not in self.list_commands(ctx):
            return None
        home = _ELSEWHERE.get(cmd_name, __name__)
        found: click.Command = importlib.import_module(f"{home}.{cmd_name}").command
        return found

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command, or name the nearest."""
        if args[0] not in self.list_commands(ctx) and not ctx.resilient_parsing:
            raise UnknownNameError("command", args[0], self.list_commands(ctx))
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; that nobody reads what it prints, as with ``| head``, is no error."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            # Python would complain once more when it flushes at exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise click.exceptions.Exit(_SIGPIPE_STATUS) from None


@click.group(
    cls=CommandFolder,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)
@click.version_option(perfcore.__version__, prog_name="perfcore")
def perf() -> None:
    """Performance models from measurements of parallel programs.

    \b
    perf fit trace.prv --fitter worley --phases 9 --plot phases.png
    perf info trace.prv
    """
