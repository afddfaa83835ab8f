"""Messages of a run, and what if: it is repeated with another network, faster or balanced computation, or noise."""

from __future__ import annotations

from perfcore import hookimpl
from perfcore.hooks.specs import Register

__all__ = ["register_commands", "register_presenters"]


@hookimpl
def register_commands(register: Register) -> None:
    """Announce the commands."""
    register(
        "messages",
        "perf_analysis.whatif.cli.messages:command",
        group="Look",
        help="Who sends how much to whom, and in messages of which sizes.",
        function="perf_analysis.whatif.api:messages",
    )
    register(
        "whatif",
        "perf_analysis.whatif.cli.whatif:command",
        group="Model",
        help="How long a run takes with another network, faster or balanced computation, or noise.",
        function="perf_analysis.whatif.api:whatif",
    )


@hookimpl
def register_presenters(register: Register) -> None:
    """Announce how answers are shown."""
    register(
        "perf_analysis.whatif.answers:Answers",
        "perf_analysis.whatif.presenters:AnswersPresenter",
        help="what would be if",
    )
    register(
        "perfcore.data.trace:Trace#messages",
        "perf_analysis.whatif.trace_presenter:TracePresenter",
        help="a trace's messages by sender and receiver, and their sizes",
    )
    register(
        "perf_analysis.whatif.message_table:MessageTable",
        "perf_analysis.whatif.trace_presenter:MessageTablePresenter",
        help="who sends how much to whom",
    )
