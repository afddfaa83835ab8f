"""The core's own plugin: commands about one noun, registered as anyone else registers theirs."""

from __future__ import annotations

from perfcore.hooks.specs import Register, hookimpl

__all__ = ["register_commands", "register_presenters"]


@hookimpl
def register_commands(register: Register) -> None:
    """Announce the commands of the core, and the functions behind them."""
    look, model, set_up = "Look", "Model", "Set up"
    command = "perfcore.cli.{}:command".format
    register("info", command("info"), group=look, help="What a file is, and what can be done with it.")
    register("plot", command("plot"), group=look, help="Draw a model or data.", function="perfcore.views.picture:plot")
    register(
        "read",
        command("read"),
        group=look,
        help="Write a file in another format.",
        function="perfcore.reading.recognise:read",
    )
    register(
        "fit",
        command("fit"),
        group=model,
        help="Fit a model: phases, timings, scaling laws, overheads, forecasts.",
        function="perfcore.models.fitting:fit",
    )
    register(
        "rank",
        command("rank"),
        group=model,
        help="Compare the models that a fitter can make.",
        function="perfcore.models.fitting:rank",
    )
    register("predict", command("predict"), group=model, help="Values of a model, with bounds; or a distribution.")
    register("formats", command("formats"), group=set_up, help="The formats that can be read.")
    register("plugins", command("plugins"), group=set_up, help="What is installed, and the options of one.")
    register("completion", command("completion"), group=set_up, help="The script that completes commands and names.")


@hookimpl
def register_presenters(register: Register) -> None:
    """Announce how models are shown that have no presenter of their own."""
    register("perfcore.models.model:Model", "perfcore.models.presenter:ModelPresenter", help="any fitted model")
    register(
        "perfcore.models.composed:ComposedModel",
        "perfcore.models.composed_presenter:ComposedPresenter",
        help="sums, products and the largest of models",
    )
