"""``perf experiment next``: which runs would help most."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from perfcore.cli.output import print_json, print_table, reporting
from perfcore.cli.parameters import Json

if TYPE_CHECKING:
    from perf_experiments.recommendation import Recommendation
    from perf_experiments.replications import Replications


def command(
    source: Annotated[str, typer.Argument(metavar="SOURCE", help="A model, or a store of runs.")],
    target: Annotated[
        list[str] | None,
        typer.Option(
            "--target",
            "-t",
            metavar="NAME=LEVEL,...",
            help="Where the model's prediction matters: p=1024,code=LU. May be repeated.",
        ),
    ] = None,
    candidates: Annotated[
        list[str] | None,
        typer.Option(
            "--candidates",
            "-c",
            metavar="NAME=...|DESIGN",
            help="Points that can be measured: p=1..256*2,n=100, or a design (.toml). May be repeated. Default: the "
            "measured levels, and such up to twice the largest; never the target.",
        ),
    ] = None,
    constraints: Annotated[
        list[str] | None, typer.Option("--constraint", metavar="FORMULA", help="What every candidate meets.")
    ] = None,
    points: Annotated[
        int | None,
        typer.Option("--points", min=1, metavar="N", help="How many to choose, each after those before [4]."),
    ] = None,
    per_second: Annotated[bool, typer.Option("--per-second", help="Choose by gain for a second of runs.")] = False,
    largest: Annotated[
        list[str] | None,
        typer.Option(
            "--max",
            metavar="NAME=LEVEL,...",
            help="Without --candidates: the largest level that can be measured, p=1024. May be repeated. Default: "
            "twice the largest measured one.",
        ),
    ] = None,
    max_cost: Annotated[
        str | None,
        typer.Option("--max-cost", metavar="TIME", help="What the runs of one point may take together: 10min."),
    ] = None,
    precision: Annotated[
        str | None,
        typer.Option("--precision", metavar="SHARE", help="For a store: what is asked of each point's mean [2%]."),
    ] = None,
    most: Annotated[
        int | None, typer.Option("--most", min=1, metavar="N", help="For a store: runs of one point at most [30].")
    ] = None,
    value: Annotated[
        str | None,
        typer.Option(
            "--value", metavar="NAME", help="For a store: what is to be precise (default: the first reported)."
        ),
    ] = None,
    output: Annotated[
        str | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help="Design to write (.toml), which `perf experiment run` takes."
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Say which runs to make next, from a MODEL that `perf fit -o` wrote, or a STORE of `perf experiment run`.

    From a model: the points that lower the variance of its prediction at the target most, with what they cost. From a
    store: the points whose runs spread so much that more replications are needed.

    \b
    perf experiment next model.json --target p=1024 --candidates p=1..256*2 --points 4 -o more.toml
    perf experiment next design.db --precision 2% -o more.toml
    perf experiment run more.toml --store design.db
    """
    with reporting():
        from perf_experiments.next_runs import next_points
        from perf_experiments.replications import Replications

        advice = next_points(
            source,
            target,
            candidates,
            points,
            constraints=constraints or (),
            per_second=per_second,
            largest=largest,
            max_cost=max_cost,
            precision=precision,
            most=most,
            value=value,
            output=output,
        )
    if as_json:
        print_json("replications" if isinstance(advice, Replications) else "advice", _content(advice))
        return
    lines = advice.summary()
    over = 0 if isinstance(advice, Replications) else 1  # the prediction stands over the choices
    for line in lines[:over]:
        typer.echo(line)
    for _, header, rows in advice.tables():
        print_table(header, rows)
    for line in lines[over:]:
        typer.echo(line)
    if output is not None and advice.design is not None:
        typer.echo(
            f"{typer.format_filename(output)}: {len(advice.design.chosen())} points; `perf experiment run` takes it"
        )
    elif output is not None:
        typer.echo(f"no design is written: all {len(advice.to_frame())} points are precise enough")


def _content(advice: Recommendation | Replications) -> Any:
    from perf_experiments.recommendation import Recommendation

    if not isinstance(advice, Recommendation):
        return [{**vars(point), "more": point.more} for point in advice.points]
    return {
        **vars(advice),
        "choices": [{**vars(choice), "gain_per_s": choice.gain_per_s} for choice in advice.choices],
        "rivals": [vars(rival) for rival in advice.rivals],
    }
