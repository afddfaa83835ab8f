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
    "perf_analysis.summarize:summarize": ("Look", "Summarize the traces of a run in a small file, or join summaries."),
}
_SHOWS = {  # and the help of --output
    "overheads": (("plot",), "Write times by category to this .csv, one row for each."),
    "profile": (("plot",), "Write the table, a row for each function of each run."),
    "messages": (("plot", "table"), ""),
    "whatif": (("plot", "table"), "Write the runtime with noise, in seconds, as a value."),
}
_PRESENTERS = (
    ("perf_analysis.overhead_profile:OverheadProfile", "overhead_presenters:Profile", "where the cycles of a run go"),
    ("perf_analysis.overheads:OverheadRuns", "overhead_presenters:Runs", "where the cycles of several runs go"),
    ("perfcore.data.trace:Trace#overheads", "overhead_views:Trace", "a trace's time by overhead category"),
    ("perf_analysis.profiles:Profiles", "profile_presenter:Profiles", "the time of every function"),
    ("perf_analysis.operators:OperatorTimes", "operators_presenter:OperatorTimes", "GPU time of every operator"),
    ("perf_analysis.operators:GpuMemory", "operators_presenter:GpuMemory", "memory of a GPU over time"),
    ("perf_analysis.launches:LaunchTimes", "operators_presenter:LaunchTimes", "launches and queues of a GPU"),
    ("perf_analysis.replay_answers:Answers", "whatif_presenter:Answers", "what would be if"),
    ("perf_analysis.gpu_whatif:GpuAnswers", "gpu_whatif_presenter:GpuAnswers", "critical path through host and GPU"),
    (
        "perfcore.data.trace:Trace#messages",
        "messages_presenter:Trace",
        "a trace's messages by sender and receiver, and their sizes",
    ),
    ("perf_analysis.messages:MessageTable", "messages_presenter:MessageTable", "messages by location"),
)


@hookimpl
def register_commands(register: Register) -> None:
    """Announce the commands."""
    for function, (group, text) in _COMMANDS.items():
        name = function.partition(":")[2]
        shows, saves = _SHOWS.get(name, ((), ""))
        target = function if shows else "perf_analysis.cli:command"
        register(
            name, target, group=group, help=text, function=function, shows=shows,
            saves=saves,
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


@hookimpl
def register_presenters(register: Register) -> None:
    """Announce how results are shown, and the views that a trace has."""
    for result, presenter, text in _PRESENTERS:
        register(result, f"perf_analysis.{presenter}Presenter", help=text)
