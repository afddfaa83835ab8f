"""``perf summarize``: the traces of a run to a small file; and an option of ``perf overheads``."""

from __future__ import annotations

import os
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from perf_traces.options import CELLS
from perf_traces.reading import HowToReadTraces
from perfcore.base.errors import OptionError
from perfcore.cli.output import Json, Overwrite, print_json, reporting
from perfcore.cli.reading import HowToRead, key_values

if TYPE_CHECKING:
    from perf_analysis.slurm_array import SubmittedJobs
    from perf_traces.summaries.summarized_trace import SummarizedTrace


WAITING = 3  # the exit status while jobs wait or run, as of perf experiment run


def _print_categories(requested: bool) -> None:
    if requested:
        from perf_analysis.categories import STANDARD

        typer.echo(STANDARD.read_text(encoding="utf-8"), nl=False)
        raise typer.Exit


@dataclass(frozen=True)
class HowToReadOverheads(HowToReadTraces):
    """How traces are read, and ``--print-categories``."""

    print_categories: Annotated[
        bool,
        typer.Option(
            "--print-categories",
            is_eager=True,
            callback=_print_categories,
            help="Print the standard categories, to start a file of your own from.",
        ),
    ] = False


def print_submitted(jobs: SubmittedJobs, as_json: bool) -> None:
    """How far an array of jobs is."""
    if as_json:
        facts = {"parts": jobs.parts, "there": jobs.there, "jobs": list(jobs.jobs), "folder": str(jobs.folder)}
        print_json("array", facts)
        return
    typer.echo(f"{jobs.there:,} of {jobs.parts:,} parts are done; jobs pending or running: {', '.join(jobs.jobs)}")
    typer.echo(f"parts and logs: {typer.format_filename(jobs.folder)}; call again for the status, or to continue")


def print_summary(summarized_trace: SummarizedTrace, output: str, as_json: bool) -> None:
    """What is in a summary, and what can be done with it."""
    summary = summarized_trace.summary
    missing = [summary.facts.run.files[index].name for index in summary.facts.missing()]
    facts: dict[str, Any] = {
        "files": len(summary.facts.files),
        "files of the run": len(summary.facts.run.files),
        "intervals": summarized_trace.n_intervals,
        "locations": len(summarized_trace.locations),
        "states": len(summarized_trace.states),
        "cells": len(summary.cells),
        "cell_ns": 1 << summary.facts.bits[0],
        "windows": len(summary.windows),
        "window_ns": 1 << summary.facts.bits[1],
        "bytes": Path(output).stat().st_size,
        "left out": list(summary.facts.left_out.values()),
        "notes": list(summarized_trace.notes),
    }
    if as_json:
        print_json("summary", {**{name.replace(" ", "_"): value for name, value in facts.items()}, "missing": missing})
        return
    typer.echo(
        f"{facts['intervals']:,} intervals of {facts['locations']:,} locations and {facts['states']:,} states, from "
        f"{facts['files']:,} of {facts['files of the run']:,} files"
    )
    for note in summarized_trace.notes:
        typer.echo(f"note: {note}")
    name = typer.format_filename(output)
    typer.echo(f"summary: {name} ({facts['bytes']:,} bytes)")
    if missing:
        typer.echo(f"next: perf summarize PARTS -o {shlex.quote(os.fspath(Path(output).with_name('whole.summary')))}")
    else:
        typer.echo(f"next: perf fit {shlex.quote(name)}")


def command(
    traces: Annotated[
        list[str], typer.Argument(metavar="TRACES", help="Traces of one run: files, folders, or quoted patterns.")
    ],
    output: Annotated[str, typer.Option("--output", "-o", metavar="FILE", help="Summary to write.")],
    how: HowToRead,
    part: Annotated[
        str | None, typer.Option("--part", metavar="K/N", help="Process partition K of N of the files.")
    ] = None,
    cells: Annotated[
        int, typer.Option("--cells", metavar="N", help="Largest number of time bins of equal width.")
    ] = CELLS,
    where: Annotated[
        str | None,
        typer.Option(
            "--parallel",
            metavar="WHERE",
            help="Parallel reading: local:N processes, dask://HOST:PORT, or slurm[:KEY=VALUE,...], jobs of an array.",
        ),
    ] = None,
    allow_missing: Annotated[
        bool, typer.Option("--allow-missing", help="Leave out files that cannot be read, by name.")
    ] = False,
    overwrite: Overwrite = False,
    as_json: Json = False,
) -> None:
    """Sum up TRACES, the files of one run, in whole nanoseconds: one file is in memory at a time.

    A summary has the computing time of each cell of the run, the time of each state in each window and at each
    location, and markers. Summaries of parts add up by `perf summarize` to those of one pass over all files. A
    part that is there is kept, so that a job array can be submitted again.

    \b
    perf summarize 'ranks/*.parquet' -o run.summary --parallel local:8
    perf summarize 'ranks/*.parquet' -o run.summary --parallel slurm:parts=100,time=01:00:00
    perf summarize 'ranks/*.parquet' --part $SLURM_ARRAY_TASK_ID/100 -o part-$SLURM_ARRAY_TASK_ID
    perf summarize part-* -o run.summary
    perf fit run.summary
    """
    with reporting():
        from perf_tables.executors import executor_of
        from perfcore.base.files import check_folder

        check_folder(output)
        settings: dict[str, Any] = {
            "cells": cells,
            "allow_missing": allow_missing,
            "overwrite": overwrite,
            "reader": how.reader,
            "from_name": how.from_name,
            **key_values(how.read_pairs or (), "--read"),
        }
        outcome: SummarizedTrace | SubmittedJobs
        if where is not None and where.partition(":")[0] == "slurm":
            from perf_analysis.slurm_array import SubmittedJobs, slurm_options
            from perf_analysis.summarize import summarize_by_slurm

            if part is not None:
                raise OptionError("--part is what each job of --parallel slurm does; leave one of them out")
            outcome = summarize_by_slurm(traces, output, slurm_options(where.removeprefix("slurm")), **settings)
            if isinstance(outcome, SubmittedJobs):
                print_submitted(outcome, as_json)
                raise typer.Exit(WAITING)
        else:
            with executor_of(where, "perf_traces.summaries.summarizing:prepare") as executor:
                from perf_analysis.summarize import summarize  # while processes start

                outcome = summarize(traces, output, part=part, executor=executor, **settings)
    print_summary(outcome, output, as_json)
