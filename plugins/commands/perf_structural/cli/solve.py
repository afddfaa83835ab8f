"""``perf stochastic solve``: the value of an input with which a model keeps a limit often enough."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from perf_structural.cli._showing import show
from perfcore.cli.output import reporting
from perfcore.cli.parameters import Json, Picture
from perfcore.cli.signature import OptionsOf


def command(
    model: Annotated[
        str, typer.Argument(metavar="MODEL", show_default=False, help="A structural model (.toml), or a formula.")
    ],
    range_: Annotated[
        str,
        typer.Option("--for", metavar="NAME=LOW..HIGH", help="The input, such as servers=1..64 or limit=0.1..2.0."),
    ],
    below: Annotated[float, typer.Option("--below", metavar="LIMIT", help="What the result is to keep.")],
    probability: Annotated[
        float, typer.Option("--probability", metavar="P", help="How often, between 0 and 1.")
    ] = 0.99,
    quantities: Annotated[
        list[str] | None,
        typer.Option("--with", metavar="NAME=QUANTITY", help="An input, as of perf eval. Once for each."),
    ] = None,
    picture: Picture = None,
    as_json: Json = False,
    **options: Annotated[Any, OptionsOf("perf_structural.options:SamplingOptions", "sampling")],
) -> None:
    """Find how many replicas, or which time limit, keep the result of MODEL below LIMIT with probability P.

    The least value that suffices is found, or the largest where the least of the range does. All are tried with the
    same draws.

    \b
    perf stochastic solve service.toml --for servers=1..64 --below 0.2 --probability 0.99
    perf stochastic solve "work/n + 0.01*n" --for n=1..64 --below 1.0 --with work=normal:10,1
    """
    with reporting():
        from perf_structural.quantities import given_quantities
        from perf_structural.questions.api import solve
        from perf_views.picture import check_files

        check_files(picture)
        inputs = given_quantities(quantities or [])
        show("solution", solve(model, range_, below, probability, inputs=inputs, **options), as_json, picture)
