"""Data and models as a page in the browser, and as a report in one file."""

from __future__ import annotations

from perfcore import hookimpl
from perfcore.hooks.specs import Register

__all__ = ["register_commands", "register_presenters"]


@hookimpl
def register_commands(register: Register) -> None:
    """Announce the command."""
    register(
        "explore",
        "perf_explore.cli:command",
        group="Look",
        help="Show data and models as a page in the browser, or write one file.",
        function="perf_explore.api:explore",
    )


@hookimpl
def register_presenters(register: Register) -> None:
    """Announce how tables of runs and cells of notebooks are shown, and the timeline that a trace has."""
    register(
        "perf_explore.api:Inline",
        "perf_explore.api:InlinePresenter",
        help="a report within a notebook",
        function="perf_explore.api:view",
    )
    for data in ("perfcore.data.measurements:Measurements", "perfcore.data.series:Series"):
        register(data, "perf_explore.measurement_views:DataPresenter", help="what data report")
