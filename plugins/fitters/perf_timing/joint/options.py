"""Options of the fitter `strohmaier`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from perf_timing.options import WEIGHTS, ScalingOptions, parse_functions, parse_terms, registered_functions
from perfcore.hooks.options import option

# What joint models are compared by: smaller is better.
JOINT_CRITERIA = {
    "aicc": "Akaike's information criterion, corrected for few points",
    "bic": "Bayes' information criterion",
    "sse": "sum of squared errors",
}
_LOSSES = ("linear", "huber", "soft_l1", "cauchy")


def parse_coverage(value: Any) -> float:
    """A coverage above 0 and below 1."""
    try:
        coverage = float(value)
    except (TypeError, ValueError):
        coverage = 0.0
    if isinstance(value, bool) or not 0.0 < coverage < 1.0:
        raise ValueError("a number above 0 and below 1 is expected, such as 0.95")
    return coverage


@dataclass(frozen=True)
class JointOptions(ScalingOptions):
    """Options of the fitter `strohmaier`."""

    functions: tuple[str, ...] = option(
        ("all",), "functions of the model, such as 1/p,1/sqrt(p), one also twice; all: the best of all combinations",
        parse=parse_functions, choices=lambda: (*registered_functions(), "all"), metavar="FUNCTION,...",
    )  # fmt: skip
    terms: str = option(
        "2", "how many functions are combined where they are not named", parse=parse_terms, metavar="N|A..B"
    )
    criterion: str = option(
        "aicc", "what combinations are compared by: " + "; ".join(f"{k}, {v}" for k, v in JOINT_CRITERIA.items()),
        choices=tuple(JOINT_CRITERIA),
    )  # fmt: skip
    weights: str = option(
        "auto",
        "weight of each point: equal, 1/value^2, number of runs, or 1/variance of the runs; auto is relative where "
        "values in the scale of the fit differ by more than a factor of 10, else equal",
        choices=("auto", *WEIGHTS),
    )
    reference: str | None = option(
        None, "system whose speeds are 1 (default: the one with most observations)", metavar="SYSTEM"
    )
    loss: str = option("linear", "least squares (linear), or a loss that outliers do not rule", choices=_LOSSES)
    drop_outliers: bool = option(False, "fit again without the outliers that are reported; each is named")
    starts: int = option(5, "how many starting points are tried", minimum=1)
    intervals: str = option(
        "asymptotic", "confidence intervals of the parameters: from standard errors, profile likelihood or bootstrap",
        choices=("asymptotic", "profile", "bootstrap"),
    )  # fmt: skip
    level: float = option(0.95, "coverage of the confidence intervals", parse=parse_coverage, metavar="0..1")
    draws: int = option(1000, "refits of the bootstrap", minimum=10)
    seed: int = option(0, "of random starts and the bootstrap", minimum=0)
    validate: bool = option(True, "predict each code on each system from all others")
