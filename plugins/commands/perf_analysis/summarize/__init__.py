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
        help="Sum up the traces of a run, part by part, in a small file.",
        function="perf_analysis.summarize.api:summarize",
    )
    register(
        "merge",
        "perf_analysis.summarize.cli.merge:command",
        group="Look",
        help="Join the summaries of the parts of a run.",
        function="perf_analysis.summarize.api:merge",
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
