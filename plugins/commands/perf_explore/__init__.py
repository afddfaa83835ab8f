"""Data and models as a page in the browser, and as a report in one file."""

from __future__ import annotations

from perfcore import hookimpl
from perfcore.hooks.specs import Register

__all__ = ["register_commands"]


@hookimpl
def register_commands(register: Register) -> None:
    """Announce the command."""
    register(
        "explore",
        "perf_explore.cli:command",
        group="Look",
        help="Show data and models as a page in the browser, or write one file.",
        function=("perf_explore.api:explore", "perf_explore.api:view"),
    )
