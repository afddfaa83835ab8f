"""``perf design``: which runs to make."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from perfcore.cli._output import print_json, print_table, reporting

if TYPE_CHECKING:
    from perf_experiments import Design
    from perf_experiments.design.factors import Point

__all__ = ["command"]

_KINDS = ("factorial", "one-at-a-time", "fractional", "latin-hypercube", "sobol")
_MOST_NAMED = 10  # points that a budget left out, on the terminal; the file has all


@click.command()
@click.option(
    "--factor", "-f", "factors", multiple=True, required=True, metavar="NAME=...",
    help="Levels: p=1,2,4, D=128..1024*2, n=0..100:10, solver=cg,lu. Once for each factor.",
)  # fmt: skip
@click.option("--kind", type=click.Choice(_KINDS), default="factorial", show_default=True, help="Which combinations.")
@click.option(
    "--constraint", "-c", "constraints", multiple=True, metavar="FORMULA",
    help="What every point meets, such as 'D % p == 0' or 'p <= cores'. May be repeated.",
)  # fmt: skip
@click.option("--replications", type=click.IntRange(1), default=2, show_default=True, help="Runs of each point.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Of the random order and points.")
@click.option("--centre", multiple=True, metavar="NAME=LEVEL", help="Centre of one-at-a-time (default: middle levels).")
@click.option("--fraction", "part", type=click.IntRange(2), help="Of fractional: N for one in N combinations [2].")
@click.option("--points", "count", type=click.IntRange(1), help="Of latin-hypercube and sobol: how many points.")
@click.option("--model", type=click.Path(), help="Model file that predicts the time of a run.")
@click.option("--runs", "store", type=click.Path(), help="Store whose runs tell the time instead.")
@click.option("--budget", metavar="DURATION", help="Leave out the dearest points until the rest takes less, as 2h.")
@click.option("--output", "-o", type=click.Path(), help="Design to write (.toml); without it the points are printed.")
@click.option("--json", "as_json", is_flag=True, help="Print the points as JSON.")
def command(
    factors: Sequence[str],
    kind: str,
    centre: Sequence[str],
    model: str | None,
    store: str | None,
    budget: str | None,
    output: str | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Design an experiment: which points to measure, how often, in which order.

    \b
    perf design -f p=1,2,4,8 -f D=128..1024*2 -c 'D % p == 0' -o design.toml
    perf design -f p=1..64*2 -f D=128..1024*2 --kind one-at-a-time --model model.json --budget 2h -o design.toml
    perf run design.toml -- ./app -n {D} -np {p}
    """
    if model is not None and store is not None:
        raise click.UsageError("--model and --runs both tell the time of a run; give one")
    if budget is not None and model is None and store is None:
        raise click.UsageError("--budget needs the time of a run: --model MODEL, or --runs STORE once some were made")
    for name, kinds in (("part", ("fractional",)), ("count", ("latin-hypercube", "sobol"))):
        if options[name] is not None and kind not in kinds:
            raise click.UsageError(f"--{'fraction' if name == 'part' else 'points'} belongs to {' and '.join(kinds)}")
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
        print_json([dict(point) for point in points])
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
            raise click.UsageError(f"--factor {name} is given twice; write its levels with commas")
        found[name] = levels
    return found


def _one_level_each(texts: Sequence[str]) -> dict[str, Any]:
    from perf_experiments.design.factors import parse_factor

    found = {}
    for text in texts:
        name, levels = parse_factor(text)
        if len(levels) > 1:
            raise click.UsageError(f"--centre {text!r}: one level is expected")
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
    where = "" if output is None else f"{click.format_filename(output)}: "
    refused = {text: number for text, number in design.candidates()[1].items() if number}
    without = "".join(f"; {text} refuses {number}" for text, number in refused.items())
    click.echo(
        f"{where}{count} point{'s' * (count > 1)} of {', '.join(design.factors)}, {design.replications} "
        f"replication{'s' * (design.replications > 1)}: {sum(design.counts(points))} runs{without}"
    )


def _report_costs(total_s: float, left_out: Any) -> None:
    from perf_experiments.advice.costs import duration_text

    click.echo(f"about {duration_text(total_s)} in all")
    for number, (point, seconds) in enumerate(left_out.items()):
        if number == _MOST_NAMED:
            click.echo(f"left out: {len(left_out) - number} more, see left_out in the design")
            break
        click.echo(f"left out: {point}, {duration_text(seconds)} each run")
