"""``perf eval``: a formula over uncertain quantities."""

from __future__ import annotations

import click

from perf_structural.cli._evaluation import evaluation_options, given_quantities, report, with_option
from perfcore.cli._output import reporting

__all__ = ["command"]


@click.command()
@click.argument("formula")
@with_option
@evaluation_options
@click.option("--plot", "picture", type=click.Path(), help="Draw the distribution: .png, .svg, .pdf or .html.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, which --with can read as a file.")
def command(
    formula: str, words: tuple[str, ...], picture: str | None, as_json: bool, **options: str | int | None
) -> None:
    """Evaluate FORMULA over quantities that are numbers, intervals, normals or histograms.

    The formula is seen as a whole: x - x is 0, and what occurs twice is the same quantity.

    \b
    perf eval "work/speed + delay" --with work=100 --with speed=normal:10,1 --with delay=interval:1,2
    perf eval "max(a,b) + a" --with a=load.json --with b=normal:3,0.5 --bins 50 --plot sum.png
    """
    with reporting():
        from perf_structural import StructuralModel, plot_distributions
        from perfcore.views.picture import check_ending

        if picture is not None:
            check_ending(picture)
        model = StructuralModel(formula, inputs=given_quantities(words), source="eval")
        prediction = model.predict(**{name: value for name, value in options.items() if value is not None})
        if picture is not None:
            plot_distributions(prediction, picture)
    report(prediction, as_json, picture)
