"""Data and models as a page in the browser, and as a report in one file."""

from __future__ import annotations

from perfcore import hookimpl
from perfcore.base import lazy_names
from perfcore.hooks.specs import Register

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "Page": "perf_explore.server",
        "Session": "perf_explore.session",
        "open_subjects": "perf_explore.opening",
        "report_text": "perf_explore.page",
        "served": "perf_explore.server",
    },
)


@hookimpl
def register_commands(register: Register) -> None:
    """Announce the command."""
    register(
        "explore", "perf_explore.cli:command", group="Look",
        help="Show data and models as a page in the browser, or write one file.",
        function=("perf_explore.api:explore", "perf_explore.api:view"),
    )  # fmt: skip
