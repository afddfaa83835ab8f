"""Data and models as a page in the browser, and as a report in one file."""

from __future__ import annotations

from perfcore import hookimpl
from perfcore.hooks.specs import Register

__all__ = ["register_commands"]


@hookimpl
def register_commands(register: Register) -> None:
    """Announce the commands."""
    register(
        "explore", "perf_explore.cli.explore:command", group="Look", help="Data and models as a page in the browser."
    )
    register("report", "perf_explore.cli.report:command", group="Look", help="The same as one file to hand on.")
