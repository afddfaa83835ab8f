"""Phases of a run: the fitters `worley` and `phases`, segmenters, and the model."""

from perfcore import hookimpl
from perfcore.hooks.specs import Register


@hookimpl
def register_segmenters(register: Register) -> None:
    """Announce the bundled segmenters."""
    none = "perfcore.hooks.options:NoOptions"
    for name, home, help_text in (
        ("bounded", "Bounded", "least sum of squares on 512 cells, within the processors"),
        ("least-squares", "LeastSquares", "Hawkins' exact dynamic programme"),
        ("greedy", "Greedy", "Friedman and Silverman: one breakpoint at a time"),
        ("hill-climb", "HillClimb", "moves breakpoints to the least sum of squares"),
    ):
        register(name, f"perf_worley.segmenters:{home}", options=none, help=help_text)


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
