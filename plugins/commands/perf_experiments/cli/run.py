"""``perf experiment run``: makes the runs of a design."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import typer

from perfcore.cli.output import reporting

_SOME_FAILED = 1
_SOME_WAITING = 3  # 2 is for mistakes
_NAMED = ("design", "words", "versions", "store", "values")  # the other options go on as they are


def command(
    design: Annotated[
        str | None,
        typer.Argument(
            metavar="DESIGN", help="A design that `perf experiment design` wrote (.toml); of versions at will."
        ),
    ] = None,
    words: Annotated[
        list[str] | None,
        typer.Argument(metavar="[-- COMMAND...]", help="Program and arguments (default: those of the store)."),
    ] = None,
    versions: Annotated[
        list[str] | None,
        typer.Option(
            "--version",
            metavar="NAME=COMMAND",
            help="A version of the program; COMMAND after -- follows it. Repeat it: in every round each is measured "
            "once, in random order.",
        ),
    ] = None,
    rounds: Annotated[
        int | None,
        typer.Option(
            "--rounds", min=1, metavar="N", help="Rounds (default: the design's replications; of versions alone 10)."
        ),
    ] = None,
    store: Annotated[
        str | None,
        typer.Option("--store", metavar="FILE", help="Where runs are kept (default: the design's name with .db)."),
    ] = None,
    launcher: Annotated[
        str,
        typer.Option(
            "--launcher",
            metavar="NAME|WORDS",
            help="local, mpirun (mpirun -np {p}), srun (srun -n {p}), or words to put before the command.",
        ),
    ] = "local",
    values: Annotated[
        list[str] | None,
        typer.Option(
            "--value",
            "-v",
            metavar="NAME=REGEX",
            help="Value in the output, such as 'time=Time in seconds = *([0-9.]+)'. May be repeated; the first is what "
            "is modelled, without any the wall time.",
        ),
    ] = None,
    results: Annotated[
        str | None,
        typer.Option(
            "--results", metavar="FILE", help="File that a run writes: .json of numbers, or text that --value searches."
        ),
    ] = None,
    limit: Annotated[
        str | None,
        typer.Option("--limit", metavar="DURATION", help="Stop a run that takes longer; it counts as failed."),
    ] = None,
    warmup: Annotated[int, typer.Option("--warmup", min=0, metavar="N", help="Runs before each, not kept.")] = 0,
    until: Annotated[
        str | None,
        typer.Option(
            "--until", metavar="SHARE", help="Repeat until the median is known to this, such as 2% (95 % confidence)."
        ),
    ] = None,
    most: Annotated[int, typer.Option("--most", min=1, metavar="N", help="Runs of a point with --until.")] = 30,
    max_load: Annotated[
        float,
        typer.Option(
            "--max-load",
            metavar="SHARE",
            help="Busy share of the processors before a run above which it waits; 1: do not look.",
        ),
    ] = 0.2,
    wait: Annotated[str, typer.Option("--wait", metavar="DURATION", help="How long; then it is marked noisy.")] = "10s",
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Make runs again that failed; the failures are kept too.")
    ] = False,
    keep: Annotated[int, typer.Option("--keep", min=0, metavar="BYTES", help="Of the output of a run to keep.")] = 1
    << 20,
    scheduler: Annotated[
        Literal["slurm"] | None, typer.Option("--scheduler", help="Hand the runs over instead; call again to collect.")
    ] = None,
    sbatch: Annotated[
        str | None,
        typer.Option("--sbatch", metavar="OPTIONS", help="For sbatch, such as '--ntasks={p} --exclusive --time=10'."),
    ] = None,
    collect: Annotated[
        bool, typer.Option("--collect", help="Only collect what the scheduler's jobs have made.")
    ] = False,
) -> int:
    """Make the runs of DESIGN that its store does not have yet, with {FACTOR} in COMMAND replaced.

    Every run is on the disk before the next one starts. After Ctrl-C, a crash or a full disk the same call goes on, and
    COMMAND may then be left out. No shell is involved: for variables write `env OMP_NUM_THREADS={p} ./app`. The exit
    status is 0 when all runs of the design succeeded and 1 when some failed.

    With --scheduler slurm each run becomes a job, and the command returns at once. Calling it again collects the jobs
    that have ended and hands over what is missing. The exit status is 3 while jobs are waiting or running.

    \b
    perf experiment run design.toml -- ./app -n {D} -np {p}
    perf experiment run design.toml --launcher mpirun -v 'time=Time = *([0-9.]+)' --limit 10min -- ./app -n {D}
    perf experiment run --version old='./old/app in' --version new='./new/app in' --rounds 20 --store gate.db
    perf gate gate.db
    perf experiment run design.toml --scheduler slurm --sbatch '--ntasks={p}' --launcher srun -- ./app -n {D}
    perf experiment list design.db
    perf fit design.db
    """
    given: dict[str, Any] = {name: each for name, each in locals().items() if name not in _NAMED}
    with reporting():
        from perf_experiments.api import default_store, run
        from perf_experiments.design import parse_versions

        parsed_versions = parse_versions(versions or ())
        if parsed_versions and design is not None and not design.endswith(".toml"):  # what follows -- without a design
            words = [design, *(words or ())]
            design = None
        path = store or default_store(design)
        try:
            summary = run(design, words or (), versions=parsed_versions, store=path, values=values or (), **given)
        except KeyboardInterrupt:
            more = ("" if store is None else f" --store {store}") + ("" if scheduler is None else " --scheduler slurm")
            more = ("" if design is None else f" {design}") + more + ("" if rounds is None else f" --rounds {rounds}")
            again = f"`perf experiment run{more}`"
            typer.echo(f"perf: all runs that ended are kept in {path}; {again} goes on", err=True)
            raise
    for line in summary.summary():
        typer.echo(typer.format_filename(line))
    if summary.waiting:
        return _SOME_WAITING
    return _SOME_FAILED if summary.failed else 0
