"""Commands about traces: where time is lost, the time of each function, messages, what-if replay, summaries."""

from __future__ import annotations

from perfcore import hookimpl
from perfcore.hooks.specs import Register

_COMMANDS = {  # by function: group and help
    "perf_analysis.api:overheads": ("Model", "Break down the time of a trace by category."),
    "perf_analysis.api:profile": ("Model", "Profile the time of each function of traces."),
    "perf_analysis.api:messages": ("Look", "Break down messages by sender, receiver and size."),
    "perf_analysis.api:whatif": (
        "Model",
        "How long a run takes with another network, faster or balanced computation, a faster GPU, or noise.",
    ),
    "perf_analysis.api:summarize": ("Look", "Summarize the traces of a run in a small file, or join summaries."),
}
_SHOWS = {  # and the help of --output
    "overheads": (("plot",), "Write times by category to this .csv, one row for each."),
    "profile": (("plot",), "Write the table, a row for each function of each run."),
    "messages": (("plot", "table"), ""),
    "whatif": (("plot", "table"), "Write the runtime with noise, in seconds, as a value."),
}
_PAGES = {  # kinds of data on whose pages they stand
    "overheads": ("trace", "several traces"),
    "profile": ("trace", "several traces"),
    "messages": ("trace",),
    "whatif": ("trace",),
}


@hookimpl
def register_commands(register: Register) -> None:
    """Announce the commands."""
    for function, (group, text) in _COMMANDS.items():
        name = function.partition(":")[2]
        shows, saves = _SHOWS.get(name, ((), ""))
        register(
            name, function, group=group, help=text, function=function, shows=shows, saves=saves,
            default_for=_PAGES.get(name, ()),
        )  # fmt: skip


@hookimpl
def register_readers(register: Register) -> None:
    """Announce the reader of summaries."""
    register(
        "summary",
        "perf_analysis.summarize:SummaryReader",
        help="summaries of runs, by perf summarize",
        suffixes=(".summary",),
    )
