"""``perf project``: from runs at a few scales to the run at another, and the same as a fitter of categories."""

from __future__ import annotations

from perfcore import hookimpl
from perfcore.hooks.specs import Register


@hookimpl
def register_commands(register: Register) -> None:
    """Announce the command, and the function behind it."""
    register(
        "project",
        "perf_project.api:answer",
        group="Model",
        help="Project elapsed time and efficiency to another scale.",
        function="perf_project.api:project",
        shows=("plot", "table"),
        default_for=("several traces",),
        saves="Write the projection, a model, to this JSON file.",
    )


@hookimpl
def register_fitters(register: Register) -> None:
    """Announce the fitter of times by category over processors."""
    register(
        "projection",
        "perf_project.fitter:ProjectionFitter",
        options="perf_project.options:ProjectionOptions",
        help="elapsed time over processors as the sum of categories, as perf project",
        default_for=("times by category",),
    )


@hookimpl
def register_models(register: Register) -> None:
    """Announce the model that `perfcore.project` makes."""
    register("projection", "perf_project.model:ProjectionModel", help="elapsed time as a sum of components over p")
