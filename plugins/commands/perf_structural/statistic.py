"""The one number by which distributions are compared: mean, quantile, upper bound, or mean and some deviations."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from perfcore.base.errors import DataError, OptionError

PIT_BINS = 10  # of the histogram of places in the predicted distributions
LEVELS = (0.05, 0.5, 0.95)  # of the quantiles that are shown next to mean and deviation where none are asked for


def quantile_name(level: float) -> str:
    """How a quantile is called."""
    percent = f"{100.0 * level:.10g}"
    return f"p{percent.zfill(2)}" if "." not in percent else f"p{percent}"


def parse_levels(quantiles: Any) -> tuple[float, ...]:
    """Levels of quantiles: a text such as ``0.5,0.99``, a number or several."""
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
    of: Callable[[Any], float]  # takes a `StochasticValue`, or an `Evaluation`
    instead: str  # what to choose where a distribution does not have it
    scales: bool = True  # whether it grows in proportion with the quantity, as work does that is divided

    def __call__(self, distribution: Any, owner: str) -> float:
        """The statistic of one distribution."""
        value = float(self.of(distribution))
        if not math.isfinite(value) and not getattr(distribution, "has_moments", True):
            raise DataError(f"{owner} has no {self.name}: its divisor comes down to zero; choose by quantile:0.95")
        if not math.isfinite(value):
            raise DataError(f"{owner} has no {self.name}; choose by {self.instead}")
        return value


def parse_statistic(text: str, tuning: float | None = None) -> Statistic:
    """A statistic by name."""
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
    if kind == "beyond" and math.isfinite(probability):
        return Statistic(f"P(> {probability:g})", lambda d: 1.0 - float(d.cdf(probability)), "upper", scales=False)
    raise OptionError(f"--by {text!r}: mean, upper, quantile:Q with Q between 0 and 1 or beyond:LIMIT is expected")
