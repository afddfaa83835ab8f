"""``perf completion``: prints the script that completes commands, options and names."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

__all__ = ["command"]


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def command(ctx: click.Context, shell: str) -> None:
    """Print a completion script for SHELL.

    \b
    eval "$(perf completion bash)"
    """
    root = ctx.find_root()
    name = root.info_name or "perf"
    script = get_completion_class(shell)
    assert script is not None
    variable = f"_{name.upper().replace('-', '_')}_COMPLETE"
    click.echo(script(root.command, {}, name, variable).source())
