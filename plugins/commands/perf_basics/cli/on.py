"""The option that says what does the work."""

from __future__ import annotations

from typing import Annotated

import typer

__all__ = ["On"]

On = Annotated[
    str | None,
    typer.Option(
        "--on",
        metavar="WHERE",
        help="What does parts of the work, where the fitter has such: local:N processes, or dask://HOST:PORT.",
    ),
]
