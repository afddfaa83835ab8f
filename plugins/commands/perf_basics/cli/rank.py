"""``perf rank``: all models that a fitter can make, compared."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from perf_basics.cli.fit import On, check_executor
from perf_traces.reading import HowToReadTraces
from perfcore.cli.output import print_findings, print_json, reporting
from perfcore.cli.parameters import FitterOfKind
from perfcore.hooks.parameters import OptionsOfSelected


def command(
    data: Annotated[str, typer.Argument(metavar="DATA", show_default=False)],
    how: HowToReadTraces,
    fitter: FitterOfKind = None,
    above: Annotated[
        float | None, typer.Option("--above", metavar="R2", help="Only models whose uncentered R^2 is at least this.")
    ] = None,
    top: Annotated[int | None, typer.Option("--top", min=1, metavar="N", help="Only the first N models.")] = None,
    on: On = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
    **options: Annotated[Any, OptionsOfSelected("fitters", "fitter")],
) -> None:
    """Rank the models of DATA, best first: every combination of functions that the fitter can make.

    \b
    perf rank runs.csv --terms 2
    perf rank runs.csv --terms 2 --where "code=SP,system=T3D" --above 0.99
    perf rank runs.csv --fitter strohmaier --terms 2 --top 5
    perf rank runs.csv --fitter strohmaier --terms 3 --parallel local:8
    """
    with reporting():
        import perfcore
        from perfcore.base.executors import executor_of
        from perfcore.hooks.registry import registry
        from perfcore.models.fitting import resolve, types_to_read

        set_options = {name: value for name, value in options.items() if value is not None}
        if fitter is not None:
            resolve(registry().entry("fitters", fitter), set_options)
            if on is not None:
                check_executor(fitter)
        with executor_of(on) as executor:
            measured = how.read_file(data, types_to_read(fitter, ranking=True))
            ranking = perfcore.rank(measured, fitter=fitter, executor=executor, **set_options).filtered(above, top)
    if as_json:
        print_json("ranking", [{"functions": c.functions, **c.figures, "note": c.note} for c in ranking.candidates])
        return
    if ranking.candidates:
        print_findings(ranking)
    else:
        typer.echo("\n".join([*ranking.summary(), ""]))
        typer.echo(f"no model has an uncentered R^2 of {above} or more")
