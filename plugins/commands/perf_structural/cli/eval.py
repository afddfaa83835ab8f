"""``perf eval``: a formula over uncertain quantities."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from perf_structural.cli._evaluation import With, report
from perfcore.cli.output import reporting
from perfcore.cli.signature import OptionsOf

__all__ = ["command"]


def command(
    formula: Annotated[str, typer.Argument(metavar="FORMULA", show_default=False)],
    words: With = None,
    picture: Annotated[
        str | None, typer.Option("--plot", metavar="FILE", help="Draw the distribution: .png, .svg, .pdf or .html.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, which --with can read as a file.")] = False,
    **options: Annotated[Any, OptionsOf("perf_structural.options:EvaluationOptions", "evaluation")],
) -> None:
    """Evaluate FORMULA over quantities that are numbers, intervals, normals or histograms.

    The formula is seen as a whole: x - x is 0, and what occurs twice is the same quantity.

    \b
    perf eval "work/speed + delay" --with work=100 --with speed=normal:10,1 --with delay=interval:1,2
    perf eval "max(a,b) + a" --with a=load.json --with b=normal:3,0.5 --bins 50 --plot sum.png
    """
    with reporting():
        from perf_structural import StructuralModel, plot_distributions
        from perf_structural.quantities import given_quantities
        from perfcore.views.picture import check_ending

        if picture is not None:
            check_ending(picture)
        model = StructuralModel(formula, inputs=given_quantities(words or []), source="eval")
        prediction = model.predict(**{name: value for name, value in options.items() if value is not None})
        if picture is not None:
            plot_distributions(prediction, picture)
    report(prediction, as_json, picture)
