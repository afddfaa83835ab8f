"""Options of structural models (how an equation is evaluated, what its inputs are) and of what is judged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from perf_structural.statistic import LEVELS, parse_levels
from perfcore.hooks.options import option


def parse_support(bounds: Any) -> tuple[float, float]:
    """Return two rising numbers, from a text such as ``0,1`` too."""
    try:
        low, high = map(float, bounds.split(",") if isinstance(bounds, str) else bounds)
    except (TypeError, ValueError):
        low = high = 0.0
    if not low < high:
        raise ValueError("two rising numbers are expected, such as 0,1")
    return low, high


@dataclass(frozen=True)
class SamplingOptions:
    """How a sample is drawn."""

    samples: int | None = option(
        None,
        "Monte Carlo sample size, rounded up by up to an eighth (default: 100000, fewer for more than 128 inputs)",
        minimum=64,
    )
    seed: int = option(0, "seed of the sample", minimum=0)


@dataclass(frozen=True)
class EvaluationOptions(SamplingOptions):
    """How an equation is evaluated."""

    method: str = option(
        "auto",
        "exact (independent inputs, each used once), sample (Monte Carlo), or auto",
        choices=("auto", "exact", "sample"),
    )
    # At 100 bins one operation errs by some 0.001 in the cumulative distribution and takes a millisecond.
    bins: int = option(100, "bins of histograms", minimum=1)
    quantile: tuple[float, ...] = option(
        LEVELS, "levels of the quantiles that are shown", parse=parse_levels, metavar="Q,..."
    )
    below: float | None = option(None, "print the probability of results up to LIMIT", metavar="LIMIT")
    support: tuple[float, float] | None = option(
        None, "bounds of the quantities in divisors, such as 0,1", parse=parse_support, metavar="LOW,HIGH"
    )


@dataclass(frozen=True)
class PredictionOptions(EvaluationOptions):
    """The same for ``perf predict MODEL.toml``, with quantities given on the command line."""

    inputs: tuple[str, ...] = option(
        (),
        "an input: a number, REPRESENTATION:NUMBERS such as normal:10,2, or a JSON file of a value; once for each",
        flag="--with",
        metavar="NAME=QUANTITY",
        repeats=True,
    )


@dataclass(frozen=True)
class ValidationOptions:
    """Of predictions and outcomes."""

    column: str | None = option(None, "column of the table that holds the measured values", metavar="NAME")
    at: str | None = option(
        None, "column of the table with start times or run numbers, for the plot", flag="--at", metavar="NAME"
    )
    quantile: str | None = option(None, "quantiles to judge in addition to the intervals", metavar="Q,...")
    recalibrate: bool = option(False, "learn the correction of later predictions; -o writes it")
    recalibration: str | None = option(None, "judge the predictions as this file corrects them", metavar="FILE")
