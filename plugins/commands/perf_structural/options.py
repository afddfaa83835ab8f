"""Options of structural models and of what is judged, and the one number by which distributions are compared."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from perfcore.base.errors import DataError, OptionError
from perfcore.hooks.options import option

PIT_BINS = 10  # of the histogram of places in the predicted distributions
LEVELS = (0.05, 0.5, 0.95)  # of the quantiles that are shown next to mean and deviation where none are asked for


def quantile_name(level: float) -> str:
    """Return how a quantile is called."""
    percent = f"{100.0 * level:.10g}"
    return f"p{percent.zfill(2)}" if "." not in percent else f"p{percent}"


def figures_of(distribution: Any, levels: Iterable[float]) -> dict[str, float]:
    """Return mean, standard deviation, quantiles and ends of a distribution; NaN where there is none."""
    lowest, highest = distribution.support
    quantiles = {quantile_name(level): float(distribution.quantile(level)) for level in levels}
    return {"mean": distribution.mean, "std": distribution.std, **quantiles, "lowest": lowest, "highest": highest}


def parse_levels(quantiles: Any) -> tuple[float, ...]:
    """Return levels of quantiles: a text such as ``0.5,0.99``, a number or several."""
    listed = isinstance(quantiles, Iterable)
    words = quantiles.split(",") if isinstance(quantiles, str) else quantiles if listed else [quantiles]
    try:
        levels = tuple(dict.fromkeys(float(word) for word in words))
    except (TypeError, ValueError):
        levels = ()
    if not levels or not all(0.0 < level < 1.0 for level in levels):
        raise ValueError("numbers between 0 and 1 are expected, such as 0.5,0.99,0.999")
    return levels


def levels_given(quantile: Any) -> tuple[float, ...]:
    """`parse_levels` of what a user gives."""
    try:
        return parse_levels(quantile)
    except ValueError as error:
        raise OptionError(f"--quantile {quantile!r}: {error}") from None


@dataclass(frozen=True)
class Statistic:
    """A number that stands for a distribution; smaller is better."""

    name: str
    of: Callable[[Any], float]  # takes a `StochasticValue`, or draws
    instead: str  # what to choose where a distribution does not have it

    def __call__(self, distribution: Any, owner: str) -> float:
        """Return the statistic of one distribution."""
        value = float(self.of(distribution))
        if not math.isfinite(value) and not getattr(distribution, "has_moments", True):
            raise DataError(f"{owner} has no {self.name}: its divisor comes down to zero; choose by quantile:0.95")
        if not math.isfinite(value):
            raise DataError(f"{owner} has no {self.name}; choose by {self.instead}")
        return value


def parse_statistic(text: str, tuning: float | None = None) -> Statistic:
    """Return a statistic by name."""
    if tuning is not None and (text != "mean" or not math.isfinite(tuning)):
        raise OptionError(f"--tuning {tuning:g} adds standard deviations to the mean; use it with --by mean")
    if text == "mean" and tuning is not None:
        return Statistic(f"mean + {tuning:g} std", lambda d: d.mean + tuning * d.std, "upper")
    if text == "mean":
        return Statistic("mean", lambda d: d.mean, "upper")
    if text == "upper":
        return Statistic("upper bound", lambda d: d.support[1], "quantile:0.99")
    kind, _, number = text.partition(":")
    try:
        probability = float(number)
    except ValueError:
        probability = math.nan
    if kind == "quantile" and 0.0 < probability < 1.0:
        return Statistic(f"{100.0 * probability:.10g}% quantile", lambda d: d.quantile(probability), "upper")
    raise OptionError(f"--by {text!r}: mean, upper, or quantile:Q with Q between 0 and 1 is expected")


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
