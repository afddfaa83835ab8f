"""``perf judge``: predictions against what then happened."""

from __future__ import annotations

from typing import Annotated

import typer

from perf_structural.cli._showing import show
from perfcore.base.errors import OptionError
from perfcore.cli.output import reporting
from perfcore.cli.parameters import Json, Picture


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
    recalibrate: Annotated[
        bool,
        typer.Option("--recalibrate", help="Learn how later predictions are to be corrected, instead of judging."),
    ] = False,
    recalibration: Annotated[
        str | None,
        typer.Option("--recalibration", metavar="FILE", help="Judge the predictions as this file corrects them."),
    ] = None,
    output: Annotated[
        str | None,
        typer.Option("--output", "-o", metavar="FILE", help="Write what --recalibrate learned to this file."),
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
    perf judge predictions.json runs.csv --recalibrate -o correction.json
    perf judge later.json later.csv --recalibration correction.json
    """
    with reporting():
        from perf_structural.judging import judge
        from perf_views.picture import check_files

        check_files(picture, output)
        if not recalibrate:
            if output is not None:
                raise OptionError("-o writes what --recalibrate learned; give --recalibrate with it")
            judged = judge.judge(
                predictions, actual, column=column, at=at, quantile=quantile, recalibration=recalibration
            )
            show("judgement", judged, as_json, picture)
            return
        needless = {"--recalibration": recalibration, "--at": at, "--quantile": quantile}
        if judging_flags := [flag for flag, value in needless.items() if value is not None]:
            raise OptionError(f"{judging_flags[0]} judges, and --recalibrate learns: give one of them")
        learned = judge.recalibrate(predictions, actual, column=column)
        if output is not None:
            learned.save(output)
        show("recalibration", learned, as_json, picture, recalibration=output)
