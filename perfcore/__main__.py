"""The program: ``perf``, ``perfcore`` and ``python -m perfcore``."""

from __future__ import annotations

import os
import sys

import click

from perfcore.base.errors import PerfError
from perfcore.cli import perf

__all__ = ["main"]


def main() -> None:
    """Run the program; the user's mistakes become one line and exit status 2, bugs keep their traceback."""
    name = os.path.basename(sys.argv[0]) if sys.argv else "perf"  # noqa: PTH119 (no pathlib at start-up)
    if not name.startswith("perf"):
        name = "perf"  # python -m perfcore
    try:
        # The completion script of `perfcore` must complete the word `perfcore`.
        status = perf.main(
            prog_name=name,
            standalone_mode=False,
            complete_var=f"_{name.upper().replace('-', '_')}_COMPLETE",
        )
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message())
        sys.exit(2)
    except PerfError as error:
        _fail(str(error))
    except click.UsageError as error:
        where = f" (see `{error.ctx.command_path} --help`)" if error.ctx is not None else ""
        _fail(error.format_message() + where)
    except click.ClickException as error:
        _fail(error.format_message())
    except (click.Abort, KeyboardInterrupt):
        click.echo(f"{name}: interrupted", err=True)
        sys.exit(130)
    sys.exit(status if isinstance(status, int) else 0)


def _fail(message: str) -> None:
    click.echo(f"perf: error: {' '.join(message.splitlines())}", err=True)
    sys.exit(2)


if __name__ == "__main__":
    main()
