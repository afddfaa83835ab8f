"""``perf gate``: which of two is smaller by what was measured, or how many more measurements tell."""

from __future__ import annotations

from typing import Annotated

import typer

from perf_structural.cli._showing import show
from perfcore.cli.output import reporting
from perfcore.cli.parameters import Json, Picture
from perfcore.cli.reading import HowToRead


def command(
    first: Annotated[
        str, typer.Argument(metavar="FIRST", show_default=False, help="A file of samples, as perf value.")
    ],
    second: Annotated[str, typer.Argument(metavar="SECOND", show_default=False, help="Likewise.")],
    how: HowToRead,
    column: Annotated[
        str | None, typer.Option("--column", metavar="NAME", help="Files of several columns: the one to compare.")
    ] = None,
    where: Annotated[
        str | None,
        typer.Option("--where", metavar="CONDITIONS", help="Rows of a table that count, such as host=a,p>4."),
    ] = None,
    quantile: Annotated[
        float | None, typer.Option("--quantile", metavar="Q", help="Compare this quantile instead of the mean.")
    ] = None,
    min_effect: Annotated[
        float | None,
        typer.Option("--min-effect", metavar="SHARE", help="Smallest difference that matters: 0.01 for one per cent."),
    ] = None,
    power: Annotated[
        float, typer.Option("--power", metavar="P", help="How probable a decision shall be after measuring more.")
    ] = 0.9,
    support: Annotated[
        str | None,
        typer.Option("--support", metavar="LOW,HIGH", help="What samples are known to lie between, as 0,inf."),
    ] = None,
    picture: Picture = None,
    as_json: Json = False,
) -> None:
    """Say whether FIRST or SECOND is smaller, or how many more measurements of each would decide it.

    Both are files of independent samples of one quantity: numbers one a line, tables of runs, series.

    \b
    perf gate old.csv new.csv --column time_s
    perf gate a.txt b.txt --quantile 0.95 --min-effect 0.02
    """
    with reporting():
        from perf_structural.questions.api import decide
        from perf_views.picture import check_files

        check_files(picture)
        decision = decide(
            first,
            second,
            column=column,
            where=where,
            quantile=quantile,
            min_effect=min_effect,
            power=power,
            support=support,
            read=how.read_file,
        )
        show("decision", decision, as_json, picture)
