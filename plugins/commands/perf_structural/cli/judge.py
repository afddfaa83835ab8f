"""``perf judge``: predictions against what then happened."""

from __future__ import annotations

from typing import Annotated

import typer

from perf_structural.cli._showing import show
from perfcore.cli.output import reporting
from perfcore.cli.parameters import Json, Picture

__all__ = ["command"]


def command(
    predictions: Annotated[
        str, typer.Argument(metavar="PREDICTIONS", show_default=False, help="A JSON file of values.")
    ],
    actual: Annotated[
        str, typer.Argument(metavar="ACTUAL", show_default=False, help="A CSV table with a row for each run.")
    ],
    column: Annotated[
        str | None, typer.Option("--column", metavar="NAME", help="Column of ACTUAL that holds the measured values.")
    ] = None,
    at: Annotated[
        str | None,
        typer.Option("--at", metavar="NAME", help="Column of ACTUAL with start times or run numbers, for the picture."),
    ] = None,
    quantile: Annotated[
        str | None, typer.Option("--quantile", metavar="Q,...", help="Quantiles to judge beside the intervals.")
    ] = None,
    picture: Picture = None,
    as_json: Json = False,
) -> None:
    """Judge PREDICTIONS by the ACTUAL values: shares in each bin and interval, and scores.

    PREDICTIONS is a JSON file: a list of values as `perf value`, `perf eval` and `perf predict --interval` print them,
    or such values one after another, one for each run; a single one counts for all. ACTUAL is a CSV table with a row
    for each run.

    \b
    perf judge predictions.json runs.csv --column time_s --plot judged.png
    """
    with reporting():
        from perf_pictures.picture import check_files
        from perf_structural.judging.judge import judge

        check_files(picture)
        show("judgement", judge(predictions, actual, column=column, at=at, quantile=quantile), as_json, picture)
