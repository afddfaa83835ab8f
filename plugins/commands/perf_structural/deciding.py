"""Whether measurements of two things tell which is smaller, and how many more would.

Sources: B. L. Welch, "The generalization of 'Student's' problem when several different population variances are
involved", Biometrika 34, 1947; for quantiles J. S. Maritz and R. G. Jarrett, "A note on estimating the variance of the
sample median", Journal of the American Statistical Association 73, 1978. Further measurements go where they help most,
in proportion to the standard deviations (J. Neyman, Journal of the Royal Statistical Society 97, 1934).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np

from perf_structural.measured_value import CONFIDENCE, samples_needed
from perf_structural.statistic import quantile_name
from perfcore.base.arrays import Floats
from perfcore.base.errors import DataError, OptionError
from perfcore.results import Result

_FEWEST = 3  # samples: two do not determine the spread
_ALIKE = 0.2  # correlation of neighbours: with it a mean varies a fifth more than of independent samples
_SURE = 3.0  # standard errors of such a correlation of independent samples, 1/sqrt(n)
_LARGEST, _SMALLEST = 1e140, 1e-140  # between which squares are no more than rounded
_MOST = 1_000_000  # measurements, the most to suggest


@dataclass(frozen=True, repr=False)
class Decision(Result):
    """Two sets of measurements side by side."""

    names: tuple[str, str]
    sizes: tuple[int, int]  # how many samples there are
    statistic: str  # what is compared
    figures: tuple[float, float]  # the statistic of each
    low: float  # between what the second minus the first lies, with 95 % confidence
    high: float
    worth: float | None  # smallest difference that matters, in the samples' unit
    more: tuple[int, int] | None  # how many more of each would decide it
    power: float  # how probable it is that so many decide it
    notes: tuple[str, ...] = ()

    @property
    def verdict(self) -> str:
        """``first`` or ``second``, which is smaller; ``equal`` for what is worth saying; or ``undecided``."""
        return _verdict(self.low, self.high, self.worth)

    def to_dict(self) -> dict[str, Any]:
        """The decision as JSON-ready values."""
        return {
            "verdict": self.verdict,
            "statistic": self.statistic,
            "first": {"name": self.names[0], "samples": self.sizes[0], "value": self.figures[0]},
            "second": {"name": self.names[1], "samples": self.sizes[1], "value": self.figures[1]},
            "difference": {"value": self.figures[1] - self.figures[0], "low": self.low, "high": self.high},
            "worth": self.worth,
            "more": None if self.more is None else list(self.more),
            "power": self.power,
            "notes": list(self.notes),
        }


def _verdict(low: float, high: float, worth: float | None) -> str:
    if worth is not None and -worth < low and high < worth:
        return "equal"
    return "first" if low > 0.0 else "second" if high < 0.0 else "undecided"


def compare_samples(
    first: Sequence[float] | Floats,
    second: Sequence[float] | Floats,
    quantile: float | None = None,
    worth: float | None = None,
    power: float = 0.9,
    names: tuple[str, str] = ("first", "second"),
) -> Decision:
    """Whether the first or the second is smaller, or how many more measurements would tell."""
    if not 0.0 < power < 1.0:
        raise OptionError(f"--power {power:g}: a number between 0 and 1 is expected, such as 0.9")
    if worth is not None and not 0.0 <= worth < math.inf:
        raise OptionError(f"--min-effect {worth:g}: a share of at least 0 is expected, such as 0.01")
    samples = [np.asarray(measured, dtype=np.float64) for measured in (first, second)]
    needed = _needed(samples, names, quantile)
    figures, spreads = zip(*(_figure(values, quantile) for values in samples), strict=True)
    sizes = (len(samples[0]), len(samples[1]))
    shares = [spread**2 / size for spread, size in zip(spreads, sizes, strict=True)]
    difference, error = figures[1] - figures[0], math.sqrt(sum(shares))
    half = _student(shares, sizes) * error if error else 0.0
    short = [max(needed - size, 0) for size in sizes]
    if any(short):
        half = math.inf
    least = None if worth is None else worth * abs(figures[0])
    more: tuple[int, int] | None = (0, 0)
    if _verdict(difference - half, difference + half, least) == "undecided":
        # The difference to detect: from none, or from one that is worth it, whichever is the easier.
        margin = abs(difference) if least is None else max(abs(difference), least - abs(difference))
        more = _more(spreads, sizes, margin, power)
        if more is not None:
            more = max(more[0], short[0]), max(more[1], short[1])
    name = "mean" if quantile is None else quantile_name(quantile)
    notes = tuple(
        f"{owner}: {size} samples are too few for {name}; {needed} bound it"
        for owner, size, missing in zip(names, sizes, short, strict=True)
        if missing
    )
    notes += tuple(note for owner, values in zip(names, samples, strict=True) if (note := _alike(owner, values)))
    if not error:
        notes += ("all samples of each are equal: the limits know nothing of what is finer than was measured",)
    return Decision(names, sizes, name, figures, difference - half, difference + half, least, more, power, notes)


def _needed(samples: Sequence[Floats], names: tuple[str, str], quantile: float | None) -> int:
    """How many samples there must be; refused is what is too little or too large to know a spread by."""
    for name, values in zip(names, samples, strict=True):
        if len(values) < _FEWEST:
            raise DataError(f"{name}: {len(values)} samples; at least {_FEWEST} say how much they vary")
        if not np.isfinite(values).all():
            raise DataError(f"{name}: a sample is not finite")
        size = float(np.abs(values).max())
        if size > _LARGEST or 0.0 < size < _SMALLEST:
            raise DataError(f"{name}: samples up to {size:.3g}; give them in a unit in which they are nearer to 1")
    if quantile is None:
        return _FEWEST
    if not 0.0 < quantile < 1.0:
        raise OptionError(f"--quantile {quantile:g}: a number between 0 and 1 is expected, such as 0.99")
    return samples_needed(quantile)


def _alike(owner: str, values: Floats) -> str:
    """A warning where successive samples are correlated; empty where they are not."""
    deviations = values - values.mean()
    total = float(deviations @ deviations)
    correlation = float(deviations[1:] @ deviations[:-1]) / total if total else 0.0
    if correlation < max(_ALIKE, _SURE / math.sqrt(len(values))):
        return ""
    return (
        f"{owner}: samples are like the ones before them (correlation {correlation:.2f}): unless both were measured in "
        "turn, the limits are too narrow"
    )


def _figure(values: Floats, quantile: float | None) -> tuple[float, float]:
    """The statistic, and the standard deviation that one sample of it would have."""
    if quantile is None:
        return float(values.mean()), float(values.std(ddof=1))
    from scipy.special import betainc

    # The quantile's order statistic has a beta distribution over the ranks, by which the samples are weighted.
    size, in_order = len(values), np.sort(values)
    ranks = betainc((size + 1) * quantile, (size + 1) * (1.0 - quantile), np.arange(size + 1) / size)
    weights = np.diff(ranks)
    middle = float(weights @ in_order)
    return float(np.quantile(values, quantile)), math.sqrt(size * float(weights @ (in_order - middle) ** 2))


def _student(shares: Sequence[float], sizes: Sequence[int]) -> float:
    """How many standard errors the limits are away, with Welch's degrees of freedom."""
    from scipy.stats import t

    total = sum(shares)
    freedom = 1.0 / sum((share / total) ** 2 / (size - 1) for share, size in zip(shares, sizes, strict=True))
    return float(t.ppf(0.5 + 0.5 * CONFIDENCE, freedom))


def _more(spreads: Sequence[float], sizes: tuple[int, int], margin: float, power: float) -> tuple[int, int] | None:
    """How many more of each tell a difference from none."""
    normal = NormalDist()
    away = normal.inv_cdf(0.5 + 0.5 * CONFIDENCE) + normal.inv_cdf(power)
    allowed = (margin / max(away, normal.inv_cdf(0.5 + 0.5 * CONFIDENCE))) ** 2  # variance of the difference
    if allowed * _MOST <= sum(spread**2 for spread in spreads):
        return None
    counts = [spread * sum(spreads) / allowed for spread in spreads]
    for one, other in ((0, 1), (1, 0)):
        if counts[one] < sizes[one]:  # there are more than need be; the other one makes up the rest
            left = allowed - spreads[one] ** 2 / sizes[one]
            counts = [0.0, 0.0]
            counts[other] = spreads[other] ** 2 / left
            break
    return max(math.ceil(counts[0]) - sizes[0], 0), max(math.ceil(counts[1]) - sizes[1], 0)
