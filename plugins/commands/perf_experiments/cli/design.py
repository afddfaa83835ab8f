"""``perf experiment design``: which runs to make."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

import typer

from perfcore.base.errors import OptionError
from perfcore.cli.output import print_json, print_table, reporting
from perfcore.cli.parameters import Json


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
    replications: Annotated[int, typer.Option("--replications", min=1, metavar="N", help="Runs of each point.")] = 2,
    seed: Annotated[int, typer.Option("--seed", min=0, metavar="N", help="Of the random order and points.")] = 0,
    centre: Annotated[
        list[str] | None,
        typer.Option("--centre", metavar="NAME=LEVEL", help="Centre of one-at-a-time (default: middle levels)."),
    ] = None,
    fraction: Annotated[
        int | None,
        typer.Option("--fraction", min=2, metavar="N", help="Of fractional: N for one in N combinations [2]."),
    ] = None,
    points: Annotated[
        int | None, typer.Option("--points", min=1, metavar="N", help="Of latin-hypercube and sobol: how many points.")
    ] = None,
    model: Annotated[
        str | None, typer.Option("--model", metavar="FILE", help="Model file that predicts the time of a run.")
    ] = None,
    runs: Annotated[
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
    as_json: Json = False,
) -> None:
    """Design an experiment: which points to measure, how often, in which order.

    \b
    perf experiment design -f p=1,2,4,8 -f D=128..1024*2 -c 'D % p == 0' -o design.toml
    perf experiment design -f p=1..64*2 -f D=128..1024*2 --model model.json --budget 2h -o design.toml
    perf experiment run design.toml -- ./app -n {D} -np {p}
    """
    with reporting():
        from perf_experiments.api import design

        planned = design(
            _levels_of_each(factors, "--factor"),
            kind,
            constraints=constraints or (),
            replications=replications,
            seed=seed,
            centre=_level_of_each(centre or (), "--centre"),
            fraction=fraction,
            points=points,
            model=model,
            runs=runs,
            budget=budget,
            output=output,
        )
    if as_json:
        print_json("design", [dict(point) for point in planned.chosen()])
        return
    if output is None:
        for _, header, rows in planned.tables():
            print_table(header, rows)
    else:
        typer.echo(f"{typer.format_filename(output)}: ", nl=False)
    for line in planned.summary():
        typer.echo(line)


def _levels_of_each(texts: Sequence[str], flag: str) -> dict[str, Sequence[Any]]:
    """Levels by name, each name once."""
    from perf_experiments.design import parse_factor

    levels_by_name: dict[str, Sequence[Any]] = {}
    for text in texts:
        name, levels = parse_factor(text)
        if name in levels_by_name:
            raise OptionError(f"{flag} {name} is given twice; write its levels with commas")
        levels_by_name[name] = levels
    return levels_by_name


def _level_of_each(texts: Sequence[str], flag: str) -> dict[str, Any]:
    """A single level by name."""
    levels_by_name = _levels_of_each(texts, flag)
    for text, levels in zip(texts, levels_by_name.values(), strict=True):
        if len(levels) > 1:
            raise OptionError(f"{flag} {text!r}: one level is expected")
    return {name: levels[0] for name, levels in levels_by_name.items()}
