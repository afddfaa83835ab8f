"""Options of the fitter `lca`."""

from __future__ import annotations

from dataclasses import dataclass

from perf_lost_cycles.categories.options import CategoryOptions
from perfcore.data.selection import ABSENT
from perfcore.hooks.options import option


@dataclass(frozen=True)
class LcaOptions(CategoryOptions):
    """Options of the fitter `lca`."""

    factor: str | None = option(
        None, "the parameter to model over, where several vary; the others are held by --where", metavar="SYMBOL"
    )
    absent: str = option("unknown", "categories that a run does not list: not measured there, or 0", choices=ABSENT)
    show: str | None = option(
        None, "the category whose candidates `perf rank` lists and the picture shows", metavar="CATEGORY"
    )
