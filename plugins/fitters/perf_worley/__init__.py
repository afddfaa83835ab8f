"""Phases of a run: the fitters `worley` and `phases`, segmenters, and the model."""

from perfcore import hookimpl
from perfcore.hooks.specs import Register

__all__ = ["register_commands", "register_fitters", "register_segmenters"]


@hookimpl
def register_segmenters(register: Register) -> None:
    """Announce the bundled segmenters."""
    register(
        "bounded",
        "perf_worley.segmenters:Bounded",
        options="perfcore.hooks.options:NoOptions",
        help="least sum of squares on 512 cells, within the processors",
    )
    register(
        "least-squares",
        "perf_worley.segmenters:LeastSquares",
        options="perfcore.hooks.options:NoOptions",
        help="Hawkins' exact dynamic programme",
    )
    register(
        "greedy",
        "perf_worley.segmenters:Greedy",
        options="perfcore.hooks.options:NoOptions",
        help="Friedman and Silverman: one breakpoint at a time",
    )
    register(
        "hill-climb",
        "perf_worley.segmenters:HillClimb",
        options="perf_worley.options:HillClimbOptions",
        help="moves breakpoints to the least sum of squares",
    )


@hookimpl
def register_fitters(register: Register) -> None:
    """Announce the fitters."""
    register(
        "phases",
        "perf_worley.fitter:PhasesFitter",
        options="perf_worley.options:PhasesOptions",
        help="phases of a run: where its behavior changes, with intervals",
        default_for=("trace", "curve"),
    )
    register(
        "worley",
        "perf_worley.fitter:WorleyFitter",
        options="perf_worley.options:WorleyOptions",
        help="Worley's algorithms K and M: phases with the least largest error",
    )


@hookimpl
def register_commands(register: Register) -> None:
    """Announce the command, and the function behind it."""
    register(
        "iterations",
        "perf_worley.iterations_api:iterations",
        group="Model",
        help="Detect iterations: count, duration, outliers.",
        function="perf_worley.iterations_api:iterations",
        shows=("plot", "table"),
        saves="Write an iteration's duration in seconds as a value.",
        default_for=("trace",),
    )
