"""The commands summarize, eval, schedule, solve and decide."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from perfcore.cli.output import print_findings, print_json, reporting
from perfcore.cli.parameters import Json, Picture, names_of
from perfcore.cli.reading import HowToRead
from perfcore.hooks.parameters import OptionsOf, OptionsOfSelected
from perfcore.stochastic import default_name


def _show(kind: str, result: Any, as_json: bool, picture: str | None, value: str | None = None) -> None:
    """Draw the picture that was asked for, then print tables or JSON (with the kind), and name the files written."""
    from perf_views.picture import plot

    if picture is not None:
        plot(result, None, picture)
    if as_json:
        print_json(kind, result.to_dict())
    else:
        print_findings(result, value=value, picture=picture)


def value_command(
    series: Annotated[
        str,
        typer.Argument(metavar="SERIES", show_default=False, help="A file of samples or runs; - is standard input."),
    ],
    how: HowToRead,
    representation: Annotated[
        str,
        typer.Option(
            "--as", metavar="NAME", help="What the samples become.", autocompletion=names_of("representations")
        ),
    ] = default_name("samples"),
    column: Annotated[
        str | None, typer.Option("--column", metavar="NAME", help="Series of several columns: the one to represent.")
    ] = None,
    window: Annotated[
        str, typer.Option("--window", metavar="DURATION|all", help="How much counts, from the end.")
    ] = "5min",
    until: Annotated[
        str | None,
        typer.Option("--to", metavar="TIME", help="Last time or date that counts (default: the last sample's)."),
    ] = None,
    where: Annotated[
        str | None,
        typer.Option("--where", metavar="CONDITIONS", help="Rows of a table that count, such as host=a,p>4."),
    ] = None,
    support: Annotated[
        str | None,
        typer.Option("--support", metavar="LOW,HIGH", help="What it is known to lie between, such as 0,1 or 0,inf."),
    ] = None,
    quantile: Annotated[
        str | None,
        typer.Option("--quantile", metavar="Q,...", help="Quantiles to show, with the limits that samples give them."),
    ] = None,
    scale: Annotated[
        float | None,
        typer.Option(
            "--scale",
            metavar="RANGE",
            help="Full range of the quantity, for its variation class (default: 1, and of times none).",
        ),
    ] = None,
    output: Annotated[
        str | None, typer.Option("--output", "-o", metavar="FILE", help="Write the value to this JSON file.")
    ] = None,
    picture: Picture = None,
    as_json: Json = False,
    **options: Annotated[Any, OptionsOfSelected("representations", "as")],
) -> None:
    """Represent measurements by a point, interval, normal or histogram: the last samples of a series, the rows of a
    table of runs, or numbers one a line.

    \b
    perf stochastic summarize cpu.csv --column "cpu all busy" --as histogram --bins 5 --window 5min
    perf stochastic summarize load.json --as normal -o load.value.json --plot load.png
    perf stochastic summarize runs.csv --column time_s --where host=a --quantile 0.5,0.99,0.999
    """
    with reporting():
        import msgspec

        from perf_structural.api import value
        from perfcore.base.files import check_files, write_bytes

        check_files(picture, output)
        measured = value(
            series,
            representation,
            column=column,
            window=window,
            until=until,
            where=where,
            support=support,
            quantile=quantile,
            scale=scale,
            read=how.read_file,
            **options,
        )
        if output is not None:
            text = msgspec.json.format(msgspec.json.encode(measured.value.to_dict()), indent=1)
            write_bytes(output, text + b"\n")
        _show("value", measured, as_json, picture, value=output)


def eval_command(
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
        from perf_structural.inputs import given_quantities
        from perfcore.base.files import check_files

        check_files(picture)
        prediction = evaluate(formula, given_quantities(quantities or []), **options)
        _show("prediction", prediction, as_json, picture)


def schedule_command(
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
        from perfcore.base.files import check_files

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
        _show(type(scheduled).__name__.lower(), scheduled, as_json, picture)


def solve_command(
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
        typer.Option("--with", metavar="NAME=QUANTITY", help="An input, as of perf stochastic eval. Once for each."),
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
        from perf_structural.api import solve
        from perf_structural.inputs import given_quantities
        from perfcore.base.files import check_files

        check_files(picture)
        inputs = given_quantities(quantities or [])
        _show("solution", solve(model, range_, below, probability, inputs=inputs, **options), as_json, picture)


def decide_command(
    first: Annotated[
        str,
        typer.Argument(metavar="FIRST", show_default=False, help="A file of samples, or a table of runs."),
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
    perf decide old.csv new.csv --column time_s
    perf decide a.txt b.txt --quantile 0.95 --min-effect 0.02
    """
    with reporting():
        from perf_structural.api import decide
        from perfcore.base.files import check_files

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
        _show("decision", decision, as_json, picture)
