"""What the commands about structural models share: how quantities are given, evaluated and shown."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import click

from perfcore.cli._output import print_findings, print_json

if TYPE_CHECKING:
    from perf_structural import Choice, Decomposition, Prediction

__all__ = ["evaluation_options", "given_quantities", "report", "with_option"]


def evaluation_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``--method``, ``--bins``, ``--samples`` and ``--seed``; what was not given is None."""
    for option in (
        click.option("--seed", type=int, help="Seed of the sample (default: 0)."),
        click.option("--samples", type=int, help="Points of a sample (default: 100000)."),
        click.option("--bins", type=int, help="Bins of the histograms that are computed (default: 100)."),
        click.option(
            "--method",
            type=click.Choice(["auto", "exact", "sample"]),
            help="Exact arithmetic where each uncertain quantity occurs once, else sampling (default: auto).",
        ),
    ):
        function = option(function)
    return function


def with_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``--with``."""
    return click.option(
        "--with",
        "words",
        multiple=True,
        metavar="NAME=QUANTITY",
        help="A number, normal:MEAN,STD, interval:LOW,HIGH, or a JSON file of a value. Once for each input.",
    )(function)


def given_quantities(words: Sequence[str]) -> dict[str, Any]:
    """``NAME=QUANTITY`` words as inputs of a structural model.

    Examples
    --------
    >>> given_quantities(["a=3", "b=normal:10,2", "c=load.json"])
    {'a': 3.0, 'b': {'normal': [10.0, 2.0]}, 'c': {'file': 'load.json'}}
    """
    found = {}
    for word in words:
        name, equals, text = (part.strip() for part in word.partition("="))
        if not (name and equals and text):
            raise click.UsageError(f"--with {word!r}: NAME=QUANTITY is expected, such as a=3 or a=normal:10,2")
        if name in found:
            raise click.UsageError(f"--with {word!r}: {name} was given before")
        found[name] = _quantity(word, text)
    return found


def _quantity(word: str, text: str) -> Any:
    kind, colon, rest = text.partition(":")
    if colon and kind in {"normal", "interval"}:
        try:
            first, second = map(float, rest.split(","))
        except ValueError:
            raise click.UsageError(f"--with {word!r}: {kind}: and two numbers with a comma are expected") from None
        return {kind: [first, second]}
    try:
        return float(text)
    except ValueError:
        return {"file": text}


def report(subject: Prediction | Choice | Decomposition, as_json: bool, picture: str | None) -> None:
    """Print a result as text or JSON, and name the picture that was written."""
    if as_json:
        print_json(subject.to_dict())
        return
    print_findings(subject, picture=picture)
