"""Models of the time of codes on systems over the number of processors and other parameters."""

from __future__ import annotations

from perfcore import hookimpl
from perfcore.hooks.specs import Register


@hookimpl
def register_fitters(register: Register) -> None:
    """Announce the bundled fitters."""
    register(
        "individual",
        "perf_timing.individual_fitter:IndividualFitter",
        options="perf_timing.options:IndividualOptions",
        help="separate timing models of every code on every system",
        # Times by category too: it says which rows to choose, and a selection leaves one category.
        ranks_for=("timings", "codes x systems", "categories", "times by category"),
    )
    register(
        "strohmaier",
        "perf_timing.joint_fitter:JointFitter",
        options="perf_timing.options:JointOptions",
        help="one timing model of all codes on all systems, with standard errors",
        default_for=("codes x systems",),
    )
