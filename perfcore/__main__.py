"""The program: ``perf``, ``perfcore`` and ``python -m perfcore``."""

from __future__ import annotations

import os
import sys

import typer

from perfcore.base.errors import PerfError
from perfcore.cli.app import program

__all__ = ["main"]

_INTERRUPTED = 130  # what typer makes of Ctrl-C, as shells do


def main() -> None:
    """Run the program; the user's mistakes become one line and exit status 2, bugs keep their traceback."""
    name = os.path.basename(sys.argv[0]) if sys.argv else "perf"  # noqa: PTH119 (no pathlib at start-up)
    if not name.startswith("perf"):
        name = "perf"  # python -m perfcore
    try:
        # The completion script of `perfcore` must complete the word `perfcore`.
        complete_var = f"_{name.upper().replace('-', '_')}_COMPLETE"
        status = program().main(prog_name=name, standalone_mode=False, complete_var=complete_var)
    except PerfError as error:
        _fail(str(error))
    except typer.TyperException as error:
        context = getattr(error, "ctx", None)  # of mistakes in the line
        where = f" (see `{context.command_path} --help`)" if context is not None else ""
        _fail(error.format_message() + where)
    except typer.Abort:
        status = _INTERRUPTED
    if status == _INTERRUPTED:
        typer.echo(f"\n{name}: interrupted", err=True)
    sys.exit(status if isinstance(status, int) else 0)


def _fail(message: str) -> None:
    typer.echo(f"perf: error: {' '.join(message.splitlines())}", err=True)
    sys.exit(2)


if __name__ == "__main__":
    main()
