"""Commands about traces: where time is lost, the time of each function, messages, what-if replay, summaries."""

from __future__ import annotations

from perfcore import hookimpl
from perfcore.hooks.specs import Register

_ONE_TRACE, _TRACES = ("trace",), ("trace", "several traces")  # kinds of data on whose pages commands stand
# Of each command its group and help, what it shows besides the answer, the help of --output, and kinds of data.
_COMMANDS: dict[str, tuple[str, str, tuple[str, ...], str, tuple[str, ...]]] = {
    "overheads": (
        "Model", "Break down the time of a trace by category.",
        ("plot",), "Write times by category to this .csv, one row for each.", _TRACES,
    ),
    "profile": (
        "Model", "Profile the time of each function of traces.",
        ("plot",), "Write the table, a row for each function of each run.", _TRACES,
    ),
    "messages": ("Look", "Break down messages by sender, receiver and size.", ("plot", "table"), "", _ONE_TRACE),
    "whatif": (
        "Model", "How long a run takes with another network, faster or balanced computation, a faster GPU, or noise.",
        ("plot", "table"), "Write the runtime with noise, in seconds, as a value.", _ONE_TRACE,
    ),
    "summarize": ("Look", "Summarize the traces of a run in a small file, or join summaries.", (), "", ()),
}  # fmt: skip


@hookimpl
def register_commands(register: Register) -> None:
    """Announce the commands."""
    for name, (group, text, shows, saves, kinds) in _COMMANDS.items():
        function = f"perf_analysis.api:{name}"
        register(
            name, function, group=group, help=text, function=function, shows=shows, saves=saves, default_for=kinds,
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
