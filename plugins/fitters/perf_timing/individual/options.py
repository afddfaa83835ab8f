"""Options of the fitter `individual`."""

from __future__ import annotations

from dataclasses import dataclass

from perf_statistics.goodness import CRITERIA
from perf_timing.options import ScalingOptions, parse_functions, parse_terms, registered_functions
from perfcore.hooks.options import option


@dataclass(frozen=True)
class IndividualOptions(ScalingOptions):
    """Options of the fitter `individual`."""

    functions: tuple[str, ...] = option(
        ("each",),
        "functions of the model, such as 1/p,1; all: the best for all pairs together; each: every pair its own",
        parse=parse_functions, choices=lambda: (*registered_functions(), "all", "each"), metavar="FUNCTION,...",
    )  # fmt: skip
    terms: str = option(
        "1..3", "how many functions are combined where they are not named", parse=parse_terms, metavar="N|A..B"
    )
    criterion: str = option(
        "loo",
        "what models are compared by: " + "; ".join(f"{k}, {v}" for k, v in CRITERIA.items()),
        choices=tuple(CRITERIA),
    )
