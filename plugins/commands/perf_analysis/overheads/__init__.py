"""Predicate profiling: where the cycles of a trace go, by complete and orthogonal overhead categories."""

from __future__ import annotations

from typing import TYPE_CHECKING

from perfcore import hookimpl
from perfcore.base.lazy import lazy_names
from perfcore.hooks.specs import Register

if TYPE_CHECKING:
    from perf_analysis.overheads.api import overheads
    from perf_analysis.overheads.attribution import profile_overheads
    from perf_analysis.overheads.category_set import STANDARD, Category, CategorySet, read_categories
    from perf_analysis.overheads.devices import DeviceTimes
    from perf_analysis.overheads.phases import phase_edges
    from perf_analysis.overheads.pop_efficiencies import DEFINITIONS, Efficiencies, efficiencies
    from perf_analysis.overheads.profile import OverheadProfile
    from perf_analysis.overheads.runs import OverheadRuns
    from perf_analysis.overheads.stacking import common_notes, stacked
    from perf_analysis.overheads.tables import comparison, profile_tables

__all__ = [
    "DEFINITIONS",
    "STANDARD",
    "Category",
    "CategorySet",
    "DeviceTimes",
    "Efficiencies",
    "OverheadProfile",
    "OverheadRuns",
    "common_notes",
    "comparison",
    "efficiencies",
    "overheads",
    "phase_edges",
    "profile_overheads",
    "profile_tables",
    "read_categories",
    "register_commands",
    "register_presenters",
    "stacked",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "Category": "perf_analysis.overheads.category_set",
        "CategorySet": "perf_analysis.overheads.category_set",
        "DeviceTimes": "perf_analysis.overheads.devices",
        "DEFINITIONS": "perf_analysis.overheads.pop_efficiencies",
        "Efficiencies": "perf_analysis.overheads.pop_efficiencies",
        "OverheadProfile": "perf_analysis.overheads.profile",
        "OverheadRuns": "perf_analysis.overheads.runs",
        "STANDARD": "perf_analysis.overheads.category_set",
        "common_notes": "perf_analysis.overheads.stacking",
        "comparison": "perf_analysis.overheads.tables",
        "efficiencies": "perf_analysis.overheads.pop_efficiencies",
        "overheads": "perf_analysis.overheads.api",
        "phase_edges": "perf_analysis.overheads.phases",
        "profile_overheads": "perf_analysis.overheads.attribution",
        "profile_tables": "perf_analysis.overheads.tables",
        "read_categories": "perf_analysis.overheads.category_set",
        "stacked": "perf_analysis.overheads.stacking",
    },
)


@hookimpl
def register_commands(register: Register) -> None:
    """Announce the commands."""
    register(
        "overheads",
        "perf_analysis.overheads.cli.overheads:command",
        group="Model",
        help="Where the cycles of a trace go, by category.",
        function="perf_analysis.overheads.api:overheads",
        former=("--set=--label",),
    )


@hookimpl
def register_presenters(register: Register) -> None:
    """Announce how lost cycles are shown, and the view of them that a trace has."""
    presenter = "perf_analysis.overheads.presenters:{}Presenter".format
    register(
        "perf_analysis.overheads.profile:OverheadProfile", presenter("Profile"), help="where the cycles of a run go"
    )
    register("perf_analysis.overheads.runs:OverheadRuns", presenter("Runs"), help="where the cycles of several runs go")
    register(
        "perf_analysis.overheads.pop_efficiencies:Efficiencies", presenter("Efficiencies"), help="POP's efficiencies"
    )
    register("perfcore.data.trace:Trace#overheads", presenter("Trace"), help="a trace's time by overhead category")
