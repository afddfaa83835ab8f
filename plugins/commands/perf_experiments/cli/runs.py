"""``perf runs``: what a store holds."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from perfcore.base.errors import OptionError
from perfcore.cli.output import print_json, print_table, reporting

if TYPE_CHECKING:
    from perf_experiments.runs.records import Run

__all__ = ["command"]

_MOST_CHARACTERS = 60  # of a problem in the table; --show has all


def command(
    store: Annotated[str, typer.Argument(metavar="STORE", show_default=False)],
    failed: Annotated[bool, typer.Option("--failed", help="Only runs that failed.")] = False,
    number: Annotated[
        int | None, typer.Option("--show", min=1, metavar="RUN", help="All about one run, with its output.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """List the runs in STORE, which `perf run` made; also while it runs.

    \b
    perf runs design.db
    perf runs design.db --failed
    perf runs design.db --show 7
    perf run design.toml --retry-failed
    """
    with reporting():
        from perf_experiments import Store

        with Store.read(store) as opened:
            runs = opened.runs(number)
            waiting = len(opened.jobs())
    if number is not None:
        if not runs:
            raise OptionError(f"--show {number}: {store} has no run of this number")
        _show(runs[0], as_json)
        return
    listed = [run for run in runs if not (failed and run.succeeded)]
    if as_json:
        print_json("runs", [_facts(run) for run in listed])
        return
    if listed:
        _table(listed)
    well = sum(run.succeeded for run in runs)
    noisy = sum(run.noisy for run in runs if run.succeeded)
    typer.echo(f"{typer.format_filename(store)}: {well} succeeded, {noisy} of them noisy; {len(runs) - well} failed")
    if waiting:
        typer.echo(f"{waiting} runs are with Slurm; `perf run DESIGN --scheduler slurm --collect` collects them")


def _table(runs: Sequence[Run]) -> None:
    from perf_experiments.design.factors import level_text

    factors = list(dict.fromkeys(name for run in runs for name in run.point))
    values = list(dict.fromkeys(name for run in runs for name in run.values))
    rows = []
    for run in runs:
        problem = run.problem or ""
        if len(problem) > _MOST_CHARACTERS:
            problem = problem[:_MOST_CHARACTERS] + "..."
        rows.append(
            [
                str(run.number),
                *(level_text(run.point[name]) if name in run.point else "" for name in factors),
                str(run.replication),
                f"{run.wall_ns / 1e9:.4g}",
                *(f"{run.values[name]:.6g}" if name in run.values else "" for name in values),
                "failed" if problem else "noisy" if run.noisy else "ok",
                problem,
            ]
        )
    print_table(["run", *factors, "replication", "wall_s", *values, "state", "problem"], rows)


def _facts(run: Run) -> dict[str, Any]:
    left_out = ("stdout", "stderr", "results", "environment")
    return {name: value for name, value in vars(run).items() if name not in left_out}


def _show(run: Run, as_json: bool) -> None:
    texts = {name: getattr(run, name).decode(errors="replace") for name in ("stdout", "stderr", "results")}
    if as_json:
        print_json("run", {**_facts(run), "environment": run.environment, **texts})
        return
    facts = {**_facts(run), "command": shlex.join(run.command)}
    for name, value in {**facts, **run.environment}.items():
        shown = " ".join(f"{key}={one}" for key, one in value.items()) if isinstance(value, dict) else value
        typer.echo(f"{name}: {'-' if shown in (None, '') else shown}")
    for name, text in texts.items():
        if text:
            typer.echo(f"--- {name}")
            typer.echo(text.rstrip("\n"))
