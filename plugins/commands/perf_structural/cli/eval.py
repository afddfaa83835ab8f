"""``perf stochastic eval``: a formula over uncertain quantities."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from perf_structural.cli._showing import show
from perfcore.cli.output import reporting
from perfcore.cli.parameters import Picture
from perfcore.cli.signature import OptionsOf


def command(
    formula: Annotated[
        str, typer.Argument(metavar="FORMULA", show_default=False, help="Over the names that --with gives values to.")
    ],
    quantities: Annotated[
        list[str] | None,
        typer.Option(
            "--with",
            metavar="NAME=QUANTITY",
            help="A number, REPRESENTATION:NUMBERS such as normal:10,2, or a JSON file of a value. Once for each "
            "input.",
        ),
    ] = None,
    picture: Picture = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, which --with can read as a file.")] = False,
    **options: Annotated[Any, OptionsOf("perf_structural.options:EvaluationOptions", "evaluation")],
) -> None:
    """Evaluate FORMULA over quantities that are numbers, intervals, normals or histograms.

    The formula is seen as a whole: x - x is 0, and what occurs twice is the same quantity.

    \b
    perf stochastic eval "work/speed + delay" --with work=100 --with speed=normal:10,1 --with delay=interval:1,2
    perf stochastic eval "max(a,b) + a" --with a=load.json --with b=normal:3,0.5 --bins 50 --plot sum.png
    """
    with reporting():
        from perf_structural.api import evaluate
        from perf_structural.quantities import given_quantities
        from perf_views.picture import check_files

        check_files(picture)
        prediction = evaluate(formula, given_quantities(quantities or []), **options)
        show("prediction", prediction, as_json, picture)
