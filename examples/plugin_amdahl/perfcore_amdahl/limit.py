"""``perf limit MODEL``: the speedup that no number of processors exceeds."""

from typing import Annotated, Any

import typer

import perfcore


def limit(model: Any) -> float:
    """The time on one processor over the time on endlessly many."""
    loaded = perfcore.load(model) if isinstance(model, str) else model
    first, last = loaded.predict([1.0, 1e15])
    return float(first / last)


def command(model: Annotated[str, typer.Argument(help="A model of times over processors.")]) -> None:
    """Print the largest speedup of MODEL."""
    typer.echo(f"speedup below {limit(model):.4g}")
