"""``perf judge``: predictions against what then happened."""

from __future__ import annotations

from typing import Annotated

import typer

from perfcore.cli.output import print_findings, print_json, reporting

__all__ = ["command"]


def command(
    predictions: Annotated[str, typer.Argument(metavar="PREDICTIONS", show_default=False)],
    actual: Annotated[str, typer.Argument(metavar="ACTUAL", show_default=False)],
    column: Annotated[
        str | None, typer.Option("--column", metavar="NAME", help="Column of ACTUAL that holds the measured values.")
    ] = None,
    at: Annotated[
        str | None,
        typer.Option("--at", metavar="NAME", help="Column of ACTUAL with start times or run numbers, for the picture."),
    ] = None,
    picture: Annotated[
        str | None,
        typer.Option("--plot", metavar="FILE", help="Draw bounds and actual values: .png, .svg, .pdf or .html."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False,
) -> None:
    """Judge PREDICTIONS by the ACTUAL values: shares in each bin and interval, and scores.

    PREDICTIONS is a JSON file: a list of values as `perf value`, `perf eval` and `perf predict --interval` print them,
    or such values one after another, one for each run; a single one counts for all. ACTUAL is a CSV table with a row
    for each run.

    \b
    perf judge predictions.json runs.csv --column time_s --plot judged.png
    """
    with reporting():
        from perf_structural.judging.judge import judge
        from perf_structural.judging.prediction_files import read_actual, read_predictions
        from perfcore.views.picture import check_ending, plot

        if picture is not None:
            check_ending(picture)
        name, values, places = read_actual(actual, column, at)
        found = judge(read_predictions(predictions), values, at=places, at_name=at or "run", name=name)
        if picture is not None:
            plot(found, None, picture)
    if as_json:
        print_json("judgement", found.to_dict())
        return
    print_findings(found, picture=picture)
