"""``perf design``: which runs to make."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from perfcore.base.errors import OptionError
from perfcore.cli.output import print_json, print_table, reporting

if TYPE_CHECKING:
    from perf_experiments import Design
    from perf_experiments.design.factors import Point

__all__ = ["command"]

_MOST_NAMED = 10  # points that a budget left out, on the terminal; the file has all


def command(
    factors: Annotated[
        list[str],
        typer.Option(
            "--factor",
            "-f",
            metavar="NAME=...",
            help="Levels: p=1,2,4, D=128..1024*2, n=0..100:10, solver=cg,lu. Once for each factor.",
        ),
    ],
    kind: Annotated[
        Literal["factorial", "one-at-a-time", "fractional", "latin-hypercube", "sobol"],
        typer.Option("--kind", help="Which combinations."),
    ] = "factorial",
    constraints: Annotated[
        list[str] | None,
        typer.Option(
            "--constraint",
            "-c",
            metavar="FORMULA",
            help="What every point meets, such as 'D % p == 0' or 'p <= cores'. May be repeated.",
        ),
    ] = None,
    replications: Annotated[int, typer.Option("--replications", min=1, help="Runs of each point.")] = 2,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Of the random order and points.")] = 0,
    centre: Annotated[
        list[str] | None,
        typer.Option("--centre", metavar="NAME=LEVEL", help="Centre of one-at-a-time (default: middle levels)."),
    ] = None,
    part: Annotated[
        int | None, typer.Option("--fraction", min=2, help="Of fractional: N for one in N combinations [2].")
    ] = None,
    count: Annotated[
        int | None, typer.Option("--points", min=1, help="Of latin-hypercube and sobol: how many points.")
    ] = None,
    model: Annotated[
        str | None, typer.Option("--model", metavar="FILE", help="Model file that predicts the time of a run.")
    ] = None,
    store: Annotated[
        str | None, typer.Option("--runs", metavar="FILE", help="Store whose runs tell the time instead.")
    ] = None,
    budget: Annotated[
        str | None,
        typer.Option(
            "--budget", metavar="DURATION", help="Leave out the dearest points until the rest takes less, as 2h."
        ),
    ] = None,
    output: Annotated[
        str | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help="Design to write (.toml); without it the points are printed."
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the points as JSON.")] = False,
) -> None:
    """Design an experiment: which points to measure, how often, in which order.

    \b
    perf design -f p=1,2,4,8 -f D=128..1024*2 -c 'D % p == 0' -o design.toml
    perf design -f p=1..64*2 -f D=128..1024*2 --kind one-at-a-time --model model.json --budget 2h -o design.toml
    perf run design.toml -- ./app -n {D} -np {p}
    """
    constraints = constraints or []
    centre = centre or []
    options: dict[str, Any] = {
        "constraints": constraints,
        "replications": replications,
        "seed": seed,
        "part": part,
        "count": count,
    }
    if model is not None and store is not None:
        raise OptionError("--model and --runs both tell the time of a run; give one")
    if budget is not None and model is None and store is None:
        raise OptionError("--budget needs the time of a run: --model MODEL, or --runs STORE once some were made")
    for name, kinds in (("part", ("fractional",)), ("count", ("latin-hypercube", "sobol"))):
        if options[name] is not None and kind not in kinds:
            raise OptionError(f"--{'fraction' if name == 'part' else 'points'} belongs to {' and '.join(kinds)}")
    with reporting():
        from perf_experiments import make_design, write_design
        from perf_experiments.advice.costs import within_budget
        from perfcore.data.durations import parse_duration

        budget_s = None if budget is None else parse_duration(budget) / 1e9
        options["part"] = options["part"] or 2
        design = make_design(_levels(factors), kind, centre=_one_level_each(centre), **options)
        budgeted = None
        if model is not None or store is not None:
            budgeted = within_budget(design, _costs(design.chosen(), model, store), budget_s)
            design = budgeted.design
        points = design.chosen()
        if output is not None:
            write_design(design, output)
    if as_json:
        print_json("design", [dict(point) for point in points])
        return
    if output is None:
        from perf_experiments.design.factors import level_text

        print_table(list(design.factors), [[level_text(level) for level in point.values()] for point in points])
    _report(design, points, output)
    if budgeted is not None:
        _report_costs(budgeted.total_s, budgeted.left_out)


def _levels(texts: Sequence[str]) -> dict[str, Sequence[Any]]:
    from perf_experiments.design.factors import parse_factor

    found: dict[str, Sequence[Any]] = {}
    for text in texts:
        name, levels = parse_factor(text)
        if name in found:
            raise OptionError(f"--factor {name} is given twice; write its levels with commas")
        found[name] = levels
    return found


def _one_level_each(texts: Sequence[str]) -> dict[str, Any]:
    from perf_experiments.design.factors import parse_factor

    found = {}
    for text in texts:
        name, levels = parse_factor(text)
        if len(levels) > 1:
            raise OptionError(f"--centre {text!r}: one level is expected")
        found[name] = levels[0]
    return found


def _costs(points: Sequence[Point], model: str | None, store: str | None) -> Any:
    from perf_experiments import Store
    from perf_experiments.advice.costs import costs_by_model, costs_by_runs

    if model is not None:
        import perfcore

        return costs_by_model(perfcore.load(model), points)
    assert store is not None
    with Store.read(store) as opened:
        measured = [
            (run.point, run.wall_ns / 1e9)
            for run in opened.runs()
            if run.succeeded and set(run.point) == set(points[0])
        ]
    return costs_by_runs(measured, points)


def _report(design: Design, points: Sequence[Point], output: str | None) -> None:
    count = len(points)
    where = "" if output is None else f"{typer.format_filename(output)}: "
    refused = {text: number for text, number in design.candidates()[1].items() if number}
    without = "".join(f"; {text} refuses {number}" for text, number in refused.items())
    typer.echo(
        f"{where}{count} point{'s' * (count > 1)} of {', '.join(design.factors)}, {design.replications} "
        f"replication{'s' * (design.replications > 1)}: {sum(design.counts(points))} runs{without}"
    )


def _report_costs(total_s: float, left_out: Any) -> None:
    from perf_experiments.advice.costs import duration_text

    typer.echo(f"about {duration_text(total_s)} in all")
    for number, (point, seconds) in enumerate(left_out.items()):
        if number == _MOST_NAMED:
            typer.echo(f"left out: {len(left_out) - number} more, see left_out in the design")
            break
        typer.echo(f"left out: {point}, {duration_text(seconds)} each run")
