"""``perf completion``: prints the script that completes commands, options and names."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import typer
from typer.completion import show_callback


def command(
    ctx: typer.Context,
    shell: Annotated[Literal["bash", "zsh", "fish"], typer.Argument(metavar="SHELL", help="bash, zsh or fish.")],
) -> None:
    """Print a completion script for SHELL.

    \b
    eval "$(perf completion bash)"
    """
    parameter: Any = None  # typer's own option would be it; it is not looked at
    show_callback(ctx, parameter, shell)
