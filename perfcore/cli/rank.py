"""``perf rank``: all models that a fitter can make, compared."""

from __future__ import annotations

from typing import Any

import click

from perfcore.cli._dynamic import FitterCommand, fitter_option
from perfcore.cli._output import print_json, print_table, reporting
from perfcore.cli._reading import read_file, reader_options

__all__ = ["command"]


@click.command(cls=FitterCommand)
@click.argument("data", type=click.Path(allow_dash=True))
@fitter_option("individual")
@click.option("--above", type=float, metavar="R2", help="Only models whose uncentered R^2 is at least this.")
@click.option("--top", type=click.IntRange(min=1), metavar="N", help="Only the first N models.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
@reader_options
def command(
    data: str,
    fitter: str,
    above: float | None,
    top: int | None,
    as_json: bool,
    reader: str | None,
    read_pairs: tuple[str, ...],
    **options: Any,
) -> None:
    """Rank the models of DATA, best first: every combination of functions that the fitter can make.

    \b
    perf rank runs.csv --terms 2
    perf rank runs.csv --terms 2 --where "code=SP,system=T3D" --above 0.99
    perf rank runs.csv --fitter strohmaier --terms 2 --top 5
    """
    with reporting():
        import perfcore
        from perfcore.hooks.registry import registry
        from perfcore.models.fitting import resolve

        given = {name: value for name, value in options.items() if value is not None}
        entry = registry().entry("fitters", fitter)
        resolve(entry, given)
        measured = read_file(data, reader, read_pairs, entry.load().takes)
        ranking = perfcore.rank(measured, fitter=fitter, **given).filtered(above, top)
    if as_json:
        print_json([{"functions": c.functions, **c.figures, "note": c.note} for c in ranking.candidates])
        return
    for line in ranking.summary:
        click.echo(line)
    click.echo()
    if ranking.candidates:
        print_table(*ranking.table())
    else:
        click.echo(f"no model has an uncentered R^2 of {above} or more")
