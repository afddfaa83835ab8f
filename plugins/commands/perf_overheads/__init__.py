"""Predicate profiling: where the cycles of a trace go, by complete and orthogonal overhead categories."""

from __future__ import annotations

from typing import TYPE_CHECKING

from perfcore import hookimpl
from perfcore.base.lazy import lazy_names
from perfcore.hooks.specs import Register

if TYPE_CHECKING:
    from perf_overheads.attribution import profile_overheads
    from perf_overheads.category_set import STANDARD, Category, CategorySet, read_categories
    from perf_overheads.phases import phase_edges
    from perf_overheads.pop_efficiencies import DEFINITIONS, Efficiencies, efficiencies
    from perf_overheads.profile import OverheadProfile
    from perf_overheads.stacking import common_notes, comparison, stacked

__all__ = [
    "DEFINITIONS",
    "STANDARD",
    "Category",
    "CategorySet",
    "Efficiencies",
    "OverheadProfile",
    "common_notes",
    "comparison",
    "efficiencies",
    "phase_edges",
    "profile_overheads",
    "read_categories",
    "register_commands",
    "stacked",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "Category": "perf_overheads.category_set",
        "CategorySet": "perf_overheads.category_set",
        "DEFINITIONS": "perf_overheads.pop_efficiencies",
        "Efficiencies": "perf_overheads.pop_efficiencies",
        "OverheadProfile": "perf_overheads.profile",
        "STANDARD": "perf_overheads.category_set",
        "common_notes": "perf_overheads.stacking",
        "comparison": "perf_overheads.stacking",
        "efficiencies": "perf_overheads.pop_efficiencies",
        "phase_edges": "perf_overheads.phases",
        "profile_overheads": "perf_overheads.attribution",
        "read_categories": "perf_overheads.category_set",
        "stacked": "perf_overheads.stacking",
    },
)


@hookimpl
def register_commands(register: Register) -> None:
    """Announce the commands."""
    register(
        "overheads",
        "perf_overheads.cli.overheads:command",
        group="Model",
        help="Where the cycles of a trace go, by category.",
    )
