"""Options of the fitter `modgen`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from perf_lost_cycles.categories.options import CategoryOptions
from perfcore.hooks.options import option


def parse_share(value: Any) -> float:
    """A share of the points, ``20%`` or 0.2."""
    text = str(value).strip()
    try:
        share = float(text.removesuffix("%")) / (100.0 if text.endswith("%") else 1.0)
    except ValueError:
        share = -1.0
    if isinstance(value, bool) or not 0.0 <= share <= 0.5:
        raise ValueError("a share of the points from 0% to 50% is expected, such as 20%")
    return share


@dataclass(frozen=True)
class ModgenOptions(CategoryOptions):
    """Options of the fitter `modgen`."""

    absent: str = option(
        "refuse",
        "categories that some points do not have: zero, they took no time there; skip, they were not measured there",
        choices=("refuse", "zero", "skip"),
    )
    set_aside: float = option(
        0.0, "share of the points, chosen at random, that the model is not fitted to", parse=parse_share, metavar="N%",
        flag="--holdout",
    )  # fmt: skip
    seed: int = option(0, "of the random choice of points set aside", minimum=0)
