"""What both commands say of the summary that they have written."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from perfcore.cli.output import print_json

if TYPE_CHECKING:
    from perf_analysis.summarize.slurm_array import Handed
    from perf_traces.summaries.summarized_trace import SummarizedTrace


WAITING = 3  # the exit status while jobs wait or run, as of perf experiment run


def print_handed(handed: Handed, as_json: bool) -> None:
    """How far an array of jobs is."""
    if as_json:
        facts = {"parts": handed.parts, "there": handed.there, "jobs": list(handed.jobs), "folder": str(handed.folder)}
        print_json("array", facts)
        return
    typer.echo(
        f"{handed.there:,} of {handed.parts:,} parts are there; jobs waiting or running: {', '.join(handed.jobs)}"
    )
    typer.echo(f"parts, and what jobs say: {typer.format_filename(handed.folder)}; call again to see, or to go on")


def print_summary(summarized_trace: SummarizedTrace, output: str, as_json: bool) -> None:
    """What is in a summary, and what can be done with it."""
    summary = summarized_trace.summary
    missing = [summary.run.files[index].name for index in summary.missing()]
    facts: dict[str, Any] = {
        "files": len(summary.files),
        "files of the run": len(summary.run.files),
        "intervals": summarized_trace.n_intervals,
        "locations": len(summarized_trace.locations),
        "states": len(summarized_trace.states),
        "cells": len(summary.cells),
        "cell_ns": 1 << summary.cell_bits,
        "windows": len(summary.windows),
        "window_ns": 1 << summary.window_bits,
        "bytes": Path(output).stat().st_size,
        "left out": list(summary.left_out.values()),
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
