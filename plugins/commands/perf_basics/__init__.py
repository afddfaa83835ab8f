"""Commands about one noun: look at data, fit, rank, predict, draw, convert, and what is installed."""

from __future__ import annotations

from perfcore import hookimpl
from perfcore.hooks.specs import Register

_COMMANDS = (
    (
        "info", "Look", "Show what a file contains and which commands apply.",
        ("perf_basics.api:info", "perf_basics.api:formats"),
    ),
    ("plot", "Look", "Plot a model or data to a file.", "perf_views.picture:plot"),
    ("convert", "Look", "Convert a file to another format.", None),
    (
        "fit", "Model", "Fit a model: phases, timings, scaling, overheads, forecasts.",
        "perfcore.models.fitting:fit",
    ),
    ("rank", "Model", "Rank the candidate models of a fitter.", "perfcore.models.fitting:rank"),
    ("predict", "Model", "Predict with a fitted or structural model.", "perf_basics.api:predict"),
    ("plugins", "Set up", "List installed plugins and their options.", "perf_basics.api:plugins"),
    ("plugins new", "Set up", "Write the package of a new plugin, with a test.", None),
)  # fmt: skip


@hookimpl
def register_commands(register: Register) -> None:
    """Announce the commands, and the functions behind them."""
    for name, group, text, function in _COMMANDS:
        shows = ("plot", "table") if name == "predict" else ()
        target = f"perf_basics.cli:{name.replace(' ', '_')}"
        register(name, target, group=group, help=text, function=function, shows=shows)
