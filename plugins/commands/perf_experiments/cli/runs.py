"""``perf experiment list``: what a store holds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from perfcore.cli.output import print_json, print_table, reporting
from perfcore.cli.parameters import Json

if TYPE_CHECKING:
    from perf_experiments.run_records import Run


_PRINTED = ("stdout", "stderr", "results")


def command(
    store: Annotated[str, typer.Argument(metavar="STORE", help="Where `perf experiment run` keeps runs (.db).")],
    failed: Annotated[bool, typer.Option("--failed", help="Only runs that failed.")] = False,
    show: Annotated[
        int | None, typer.Option("--show", min=1, metavar="RUN", help="All about one run, with its output.")
    ] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Read all of the store, and refuse it where something has changed since.")
    ] = False,
    as_json: Json = False,
) -> None:
    """List the runs in STORE, which `perf experiment run` made; also while it runs.

    \b
    perf experiment list design.db
    perf experiment list design.db --failed
    perf experiment list design.db --show 7
    perf experiment run design.toml --retry-failed
    """
    with reporting():
        from perf_experiments.api import runs

        kept = runs(store, failed=failed, show=show, check=check)
    texts = {} if show is None else {name: getattr(kept.listed[0], name).decode(errors="replace") for name in _PRINTED}
    if as_json:
        content = [_facts(run) for run in kept.listed]
        if show is not None:
            print_json("run", {**content[0], "environment": kept.listed[0].environment, **texts})
        else:
            print_json("runs", content)
        return
    if show is None:
        for _, header, rows in kept.tables():
            print_table(header, rows)
    if check:
        typer.echo(f"{typer.format_filename(store)}: everything is as it was written")
    for line in (kept if show is None else kept.listed[0]).summary():
        typer.echo(typer.format_filename(line))
    for name, text in texts.items():
        if text:
            typer.echo(f"--- {name}")
            typer.echo(text.rstrip("\n"))


def _facts(run: Run) -> dict[str, Any]:
    return {name: value for name, value in vars(run).items() if name not in (*_PRINTED, "environment")}
