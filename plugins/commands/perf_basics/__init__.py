"""Commands about one noun: look at data, fit, rank, predict, draw, convert, and what is installed."""

from __future__ import annotations

from perfcore import hookimpl
from perfcore.hooks.specs import Register

__all__ = ["register_commands", "register_presenters"]

_COMMANDS = (
    ("info", "Look", "Show what a file contains and which commands apply.", "perf_basics.api:info"),
    ("plot", "Look", "Plot a model or data to a file.", "perf_views.picture:plot"),
    ("convert", "Look", "Convert a file to another format.", None),
    (
        "fit", "Model", "Fit a model: phases, timings, scaling, overheads, forecasts.",
        "perfcore.models.fitting:fit",
    ),
    ("rank", "Model", "Rank the candidate models of a fitter.", "perfcore.models.fitting:rank"),
    ("predict", "Model", "Predict with a fitted or structural model.", "perf_basics.api:predict"),
    ("plugins", "Set up", "List installed plugins and their options.", "perf_basics.api:plugins"),
)  # fmt: skip


@hookimpl
def register_commands(register: Register) -> None:
    """Announce the commands, and the functions behind them."""
    for name, group, text, function in _COMMANDS:
        register(name, f"perf_basics.cli:{name}", group=group, help=text, function=function)


@hookimpl
def register_presenters(register: Register) -> None:
    """Announce how predictions, facts, listings and comparisons of candidates are shown."""
    for name, text in (("Predictions", "values of a model at points"), ("Facts", "what a file is")):
        register(f"perf_basics.api:{name}", f"perf_basics.presenters:{name}Presenter", help=text)
    register(
        "perf_basics.api:Listing",
        "perf_basics.presenters:ListingPresenter",
        help="what is installed, or can be read",
        function="perf_basics.api:formats",
    )
