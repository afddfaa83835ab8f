"""Runs of more traces than one machine can hold: summaries of their files, which add up."""

from __future__ import annotations

from perfcore import hookimpl
from perfcore.hooks.specs import Register

__all__ = ["register_commands", "register_readers"]


@hookimpl
def register_commands(register: Register) -> None:
    """Announce the commands."""
    register(
        "summarize",
        "perf_analysis.summarize.cli.summarize:command",
        group="Look",
        help="Sum up the traces of a run, part by part, in a small file; or join such files.",
        function="perf_analysis.summarize.api:summarize",
        former=("merge", "--on=--parallel"),
    )


@hookimpl
def register_readers(register: Register) -> None:
    """Announce the reader."""
    register(
        "summary",
        "perf_analysis.summarize.reader:SummaryReader",
        help="summaries of runs, by perf summarize",
        suffixes=(".summary",),
    )
