"""``perf run``: makes the runs of a design."""

from __future__ import annotations

import signal
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from perfcore.base.errors import OptionError
from perfcore.cli.output import reporting

if TYPE_CHECKING:
    from perf_experiments import Summary

__all__ = ["command", "share"]

_SOME_FAILED = 1
_SOME_WAITING = 3  # 2 is for mistakes


def command(
    design: Annotated[str, typer.Argument(metavar="DESIGN", show_default=False)],
    words: Annotated[list[str] | None, typer.Argument(metavar="[-- COMMAND...]")] = None,
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
    warmup: Annotated[int, typer.Option("--warmup", min=0, help="Runs before each, not kept.")] = 0,
    until: Annotated[
        str | None,
        typer.Option(
            "--until", metavar="SHARE", help="Repeat until the median is known to this, such as 2% (95 % confidence)."
        ),
    ] = None,
    most: Annotated[int, typer.Option("--most", min=1, help="Runs of a point with --until.")] = 30,
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
    keep_bytes: Annotated[
        int, typer.Option("--keep", min=0, metavar="BYTES", help="Of the output of a run to keep.")
    ] = 1 << 20,
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
    perf run design.toml -- ./app -n {D} -np {p}
    perf run design.toml --launcher mpirun -v 'time=Time = *([0-9.]+)' --limit 10min -- ./app -n {D}
    perf run design.toml --scheduler slurm --sbatch '--ntasks={p} --exclusive' --launcher srun -- ./app -n {D}
    perf runs design.db
    perf fit design.db
    """
    words = words or []
    values = values or []
    options: dict[str, Any] = {
        "launcher": launcher,
        "values": tuple(values),
        "results": results,
        "warmup": warmup,
        "most": most,
        "max_load": max_load,
        "retry_failed": retry_failed,
        "keep_bytes": keep_bytes,
    }
    if scheduler is None and (sbatch is not None or collect):
        raise OptionError(f"{'--collect' if collect else '--sbatch'} belongs to --scheduler slurm")
    path = store or str(Path(design).with_suffix(".db"))
    with reporting():
        from perf_experiments import RunOptions, hand_over, read_design, run_design
        from perfcore.data.durations import parse_duration

        chosen = RunOptions(
            command=tuple(words),
            time_limit_s=None if limit is None else parse_duration(limit) / 1e9,
            until=None if until is None else share(until, "--until"),
            wait_s=0.0 if wait in ("0", "0s") else parse_duration(wait) / 1e9,
            **options,
        )
        before = signal.signal(signal.SIGTERM, _end)  # a batch system's: the run in flight is ended as by Ctrl-C
        try:
            plan = read_design(design)
            if scheduler is None:
                summary = run_design(plan, path, chosen)
            else:
                summary = hand_over(plan, path, chosen, sbatch, collect_only=collect)
        except KeyboardInterrupt:
            more = ("" if store is None else f" --store {store}") + ("" if scheduler is None else " --scheduler slurm")
            again = f"`perf run {design}{more}`"
            typer.echo(f"perf: all runs that ended are kept in {path}; {again} goes on", err=True)
            raise
        finally:
            signal.signal(signal.SIGTERM, before)
    _report(path, summary, "made" if scheduler is None else "collected")
    if summary.waiting:
        return _SOME_WAITING
    return _SOME_FAILED if summary.failed else 0


def _end(number: int, frame: FrameType | None) -> None:
    raise SystemExit(128 + number)


def share(text: str, option: str) -> float:
    """``2%`` or ``0.02``, as an option was given it."""
    try:
        found = float(text.removesuffix("%")) / (100.0 if text.endswith("%") else 1.0)
    except ValueError:
        found = 0.0
    if not 0.0 < found < 1.0:
        raise OptionError(f"{option} {text!r}: a share between 0 and 1 is expected, such as 2% or 0.02")
    return found


def _report(path: str, summary: Summary, done: str) -> None:
    name = typer.format_filename(path)
    noisy = f", {summary.noisy} of them noisy" if summary.noisy else ""
    typer.echo(f"{name}: {summary.made} runs {done}; {summary.succeeded} measurements in all{noisy}")
    if summary.waiting:
        typer.echo(
            f"{summary.handed_over} runs handed to Slurm; {summary.waiting} waiting or running; call again to collect"
        )
    if summary.wide:
        shown = ", ".join(summary.wide[:5]) + (", ..." if len(summary.wide) > 5 else "")
        typer.echo(f"not yet as narrow as --until asks: {len(summary.wide)} points ({shown})")
    if summary.failed:
        typer.echo(f"{summary.failed} failed; `perf runs {name} --failed` lists them, --retry-failed makes them again")
