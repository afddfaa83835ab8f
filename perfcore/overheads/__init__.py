"""Predicate profiling: where the cycles of a trace go, by complete and orthogonal overhead categories."""

from perfcore.overheads.attribution import profile_overheads
from perfcore.overheads.category_set import STANDARD, Category, CategorySet, read_categories
from perfcore.overheads.efficiencies import DEFINITIONS, Efficiencies, efficiencies
from perfcore.overheads.phases import phase_edges
from perfcore.overheads.profile import OverheadProfile
from perfcore.overheads.stacking import common_notes, comparison, stacked

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
    "stacked",
]
