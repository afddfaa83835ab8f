"""The option that says what does the work."""

from __future__ import annotations

from typing import Annotated

import typer

from perfcore.base.errors import OptionError
from perfcore.hooks.registry import registry

On = Annotated[
    str | None,
    typer.Option(
        "--parallel",
        metavar="WHERE",
        help="What does parts of the work, where the fitter has such: local:N processes, or dask://HOST:PORT.",
    ),
]


def check_executor(fitter: str) -> None:
    """Refuse a fitter that does all of its work in one process, before a long file is read.

    Raises
    ------
    UnknownNameError
        No such fitter.
    OptionError
    """
    from perfcore.models.fitting import NO_PARTS

    if not registry().load("fitters", fitter).takes_executor:
        raise OptionError(NO_PARTS.format(fitter))
