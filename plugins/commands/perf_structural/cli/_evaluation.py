"""What the commands about structural models share: how quantities are given, evaluated and shown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from perfcore.cli.output import print_findings, print_json

if TYPE_CHECKING:
    from perf_structural import Choice, Decomposition, Prediction

__all__ = ["With", "report"]


With = Annotated[
    list[str] | None,
    typer.Option(
        "--with",
        metavar="NAME=QUANTITY",
        help="A number, REPRESENTATION:NUMBERS such as normal:10,2, or a JSON file of a value. Once for each input.",
    ),
]


def report(subject: Prediction | Choice | Decomposition, as_json: bool, picture: str | None) -> None:
    """Print a result as text or JSON, and name the picture that was written."""
    if as_json:
        print_json(type(subject).__name__.lower(), subject.to_dict())
        return
    print_findings(subject, picture=picture)
