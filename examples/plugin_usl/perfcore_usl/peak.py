"""``perf peak MODEL``: where more processors no longer help."""

from typing import Annotated, Any

import numpy as np
import typer

import perfcore


def peak(model: Any, most: int = 1024) -> int:
    """The number of processors, up to ``most``, with the shortest predicted time."""
    loaded = perfcore.load(model) if isinstance(model, str) else model
    return int(np.argmin(loaded.predict(np.arange(1.0, most + 1)))) + 1


def command(
    model: Annotated[str, typer.Argument(help="A model of times over processors.")],
    most: Annotated[int, typer.Option(min=1, help="Processors to look at.")] = 1024,
) -> None:
    """Say beyond how many processors MODEL gets slower."""
    typer.echo(f"fastest on {peak(model, most)} processors")
