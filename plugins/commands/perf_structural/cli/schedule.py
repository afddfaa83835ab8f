"""``perf stochastic schedule``: the allocation to choose, or how to divide work, by a structural model."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from perf_structural.cli._showing import show
from perfcore.cli.output import reporting
from perfcore.cli.parameters import Json, Picture
from perfcore.cli.signature import OptionsOf


def command(
    model: Annotated[str, typer.Argument(metavar="MODEL", show_default=False, help="A structural model (.toml).")],
    candidates: Annotated[
        list[str] | None, typer.Argument(metavar="CANDIDATES", help="Files of candidates beside those of MODEL.")
    ] = None,
    by: Annotated[
        str,
        typer.Option(
            "--by",
            metavar="MEASURE",
            help="What is to be small: mean, upper, quantile:Q or beyond:LIMIT, a probability.",
        ),
    ] = "mean",
    tuning: Annotated[
        float | None, typer.Option("--tuning", metavar="TF", help="Add TF standard deviations to the mean.")
    ] = None,
    divide: Annotated[
        int | None, typer.Option("--divide", min=0, metavar="UNITS", help="Divide this much work instead.")
    ] = None,
    unit_time: Annotated[
        str | None,
        typer.Option(
            "--unit-time", metavar="NAME", help="Replicated component: each machine's time for one unit of work."
        ),
    ] = None,
    fixed_time: Annotated[
        str | None,
        typer.Option("--fixed-time", metavar="NAME", help="Replicated component: each machine's time besides."),
    ] = None,
    picture: Picture = None,
    as_json: Json = False,
    **options: Annotated[Any, OptionsOf("perf_structural.options:EvaluationOptions", "evaluation")],
) -> None:
    """Choose among allocations by MODEL, a TOML file of a structural model.

    The candidates are [[candidate]] tables in the model's file or in files of their own, or files with [inputs].

    \b
    perf stochastic schedule sor.toml --by quantile:0.95
    perf stochastic schedule sor.toml two.toml four.toml --tuning 1.5 --plot candidates.png
    perf stochastic schedule sor.toml --divide 1000 --unit-time row --fixed-time exchange
    """
    with reporting():
        from perf_structural.api import schedule
        from perf_views.picture import check_files

        check_files(picture)
        scheduled = schedule(
            model,
            candidates or (),
            by=by,
            tuning=tuning,
            divide=divide,
            unit_time=unit_time,
            fixed_time=fixed_time,
            **options,
        )
        show(type(scheduled).__name__.lower(), scheduled, as_json, picture)
