"""A stochastic value from a window of samples: what it leaves out of them, their dependence in time and their modes."""

from __future__ import annotations

import functools
import itertools
import math
import os
import shlex
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from scipy import fft, ndimage

from perf_structural.bounds import Range
from perf_structural.options import figures_of, quantile_name
from perf_structural.samples import Samples
from perf_tables.arguments import parse_duration
from perf_tables.series import Window, is_duration
from perfcore.base.arrays import Floats
from perfcore.base.errors import DataError, OptionError
from perfcore.data.columns import is_named
from perfcore.data.units import nanoseconds_per
from perfcore.hooks.options import build
from perfcore.reading.source import without_compressed_ending
from perfcore.report import Note, Result
from perfcore.stochastic import StochasticValue, default_name, default_representation, representation_named

_LONGEST_LAG = 3  # the autocorrelation is summed up to one in so many samples
_GRID, _SILVERMAN = 512, 0.9  # places of a density, and the constant of its bandwidth
_LEAST_SHARE, _DEEPEST_VALLEY = 0.05, 0.5  # of the samples in a mode, and of the lower peak beside a valley
_FEWEST_OF_MODES = 50
_TICKS = 10.0  # steps of rounding that a spread has at least
CONFIDENCE = 0.95
SUMMARY_LEVELS = (0.05, 0.5, 0.9, 0.95, 0.99)  # of the quantiles that are shown if none are asked for
# Of n samples 1/U the largest is n/1.7 medians from the median on average; of means that exist it is sqrt(n).
_FEWEST_OF_TAIL, _TAIL_GROWTH = 200, 0.05
_LARGEST_ERROR = 0.02  # of probability, that a representation may have
_NOTEWORTHY = 0.01  # of probability
_INDEPENDENT = 0.8  # share of the samples from which on they count as independent
_COMPARED, _HUGE = (0.5, 0.95, 0.99), 100.0  # quantiles by which other representations are judged
_LOW, _HIGH = 0.25, 0.5  # Schopf, section 4, of the range from 0 to 1


def effective_size(values: Floats) -> float:
    """Return how many independent samples know the mean as well as these, in their order.

    Source: C. J. Geyer, "Practical Markov Chain Monte Carlo", Statistical Science 7 (1992): the sum of
    autocorrelations in pairs, as long as these are positive and fall. Ranks stand for the values, so that outliers
    don't hide what depends on what.

    Examples
    --------
    >>> effective_size(np.repeat(np.random.default_rng(0).normal(size=200), 10)) < 400
    True
    """
    count = len(values)
    if count < 4 or values.min() == values.max():
        return float(count)
    _, places = np.unique(values, return_inverse=True)
    centred = places - places.mean()
    spectrum = fft.rfft(centred, fft.next_fast_len(2 * count))
    covariance = fft.irfft(np.abs(spectrum) ** 2)[: 2 * max(1, count // (2 * _LONGEST_LAG))]
    pairs = (covariance / covariance[0]).reshape(-1, 2).sum(axis=1)
    positive = np.append(pairs > 0.0, False).argmin()
    time = 2.0 * np.minimum.accumulate(pairs[:positive]).sum() - 1.0 if positive else 1.0
    return float(count / max(time, 1.0))


def modes_of(values: Floats) -> list[tuple[float, float]]:
    """Return the modes of samples, each with its share of them; one if there are no valleys between peaks.

    Peaks of a density by Gaussian kernels of Silverman's width, over ranks of magnitude if the values span many.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> [round(share, 2) for _, share in modes_of(np.concatenate([rng.normal(0, 1, 300), rng.normal(9, 1, 100)]))]
    [0.75, 0.25]
    """
    if len(values) < _FEWEST_OF_MODES:
        return []
    low, high = np.quantile(values, [0.005, 0.995])
    quartiles = np.quantile(values, [0.25, 0.75])
    inside = values[(values >= low) & (values <= high)]
    spread = min(float(inside.std()), float(np.ptp(quartiles)) / 1.34 or math.inf)
    if not high > low or not spread >= 0.0:
        return []
    steps = np.diff(np.unique(inside))
    spread = max(spread, float(steps.min()) * _TICKS if len(steps) else 0.0)  # values that are rounded are no modes
    width = _SILVERMAN * spread * len(inside) ** -0.2 / ((high - low) / _GRID)
    counts, edges = np.histogram(inside, _GRID, (low, high))
    density = ndimage.gaussian_filter1d(counts.astype(np.float64), max(width, 1.0), mode="constant")
    padded = np.concatenate([[-1.0], density, [-1.0]])
    peaks = np.flatnonzero((density > padded[:-2]) & (density >= padded[2:])).tolist()
    while len(peaks) > 1:
        valleys = [first + int(density[first:second].argmin()) for first, second in itertools.pairwise(peaks)]
        ends = [0, *valleys, _GRID]
        shares = [float(counts[start:end].sum()) / len(inside) for start, end in itertools.pairwise(ends)]
        depth = [float(density[at]) / min(density[peaks[k]], density[peaks[k + 1]]) for k, at in enumerate(valleys)]
        weak = [max(depth[max(k - 1, 0) : k + 1]) / _DEEPEST_VALLEY for k in range(len(peaks))]
        weak = [max(one, _LEAST_SHARE / max(share, 1e-9)) for one, share in zip(weak, shares, strict=True)]
        if max(weak) <= 1.0:
            return [(float(edges[peak]), share) for peak, share in zip(peaks, shares, strict=True)]
        weakest = [peak for peak, one in zip(peaks, weak, strict=True) if one == max(weak)]
        peaks.remove(min(weakest, key=lambda k: density[k]))
    return [(float(edges[peak]), 1.0) for peak in peaks]


def samples_needed(level: float) -> int:
    """Return how many independent samples have an order statistic on each side of a quantile with confidence."""
    outside = 0.5 * (1.0 - CONFIDENCE)
    return math.ceil(math.log(outside) / math.log(max(level, 1.0 - level)))


def limits_of_quantile(samples: Floats, level: float, size: float = math.inf) -> tuple[float, float]:
    """Return between which values the true quantile lies with probability 0.95; NaN of too few samples.

    ``size`` is how many independent samples they are worth; then the limits are those of Clopper and Pearson.
    """
    from scipy.stats import beta, quantile_test

    if size >= len(samples):
        limits: Any = quantile_test(samples, p=level).confidence_interval(CONFIDENCE)
        return float(limits.low), float(limits.high)
    if size < samples_needed(level):
        return math.nan, math.nan
    outside, count = 0.5 * (1.0 - CONFIDENCE), level * size
    levels = beta.ppf([outside, 1.0 - outside], [count, count + 1.0], [size - count + 1.0, size - count])
    low, high = np.quantile(samples, np.asarray(levels)).tolist()
    return low, high


@dataclass(frozen=True, repr=False)
class MeasuredValue(Result):
    """A stochastic value that represents samples."""

    reporter: ClassVar[str] = "perf_structural.answers:report_of_value"
    json_kind: ClassVar[str] = "value"

    window: Samples  # the samples
    value: StochasticValue  # what represents them
    levels: tuple[float, ...] = SUMMARY_LEVELS  # of the quantiles that are shown
    warnings: tuple[str, ...] = ()  # about the samples
    run: str = ""  # length of the run over which the value is a mean; of single samples empty
    files: list[str] = field(default_factory=list, repr=False, compare=False)  # to which it was saved

    def save(self, path: str | os.PathLike[str]) -> list[str]:
        """Write the value; return what the command line prints about it."""
        self.files.append(os.fspath(path))
        return self.value.save(path)

    @property
    def column(self) -> str:
        """What was measured: the column, or the name of the file if the column says nothing."""
        if self.window.column not in ("value", "values"):
            return self.window.column
        return Path(without_compressed_ending(self.window.source)).stem

    @functools.cached_property
    def effective_size(self) -> float:
        """How many independent samples these are worth; as many as there are if they have no order."""
        return effective_size(self.window.values) if isinstance(self.window, Window) else float(self.count)

    @property
    def count(self) -> int:
        """Return the number of samples."""
        return len(self.window.values)

    @functools.cached_property
    def others(self) -> dict[str, StochasticValue]:
        """The samples as a normal and as an interval, if the value is neither."""
        if self.run or self.value.support[0] == self.value.support[1]:
            return {}
        names = dict.fromkeys((self.value.name, default_name("moments"), default_name("bounds")))
        return {name: representation_named(name).from_samples(self.window.values) for name in list(names)[1:]}

    @property
    def report_notes(self) -> list[Note]:
        """What must be known to read the answer, most important first."""
        notes = [Note("Uncertain", text) for text in self.notes]
        if self.levels != SUMMARY_LEVELS:
            known = [(name, *ends) for name, ends in self.quantile_limits.items() if all(map(math.isfinite, ends))]
            limits = [f"{name} {low:.6g} to {high:.6g}" for name, low, high in known]
            notes += [Note("Uncertain", f"95% CI {', '.join(limits)}")] * bool(limits)
            size = round(self.effective_size)
            needed = {level: n for level in self.levels if (n := samples_needed(level)) > size}
            notes += [
                Note("Uncertain", f"too few samples for {quantile_name(level)}: {size:,}; {n:,} are needed")
                for level, n in needed.items()
            ]
        modes = [] if self.run else modes_of(self.window.values)
        if len(modes) > 1:
            text = ", ".join(f"{place:.3g} ({share:.0%})" for place, share in modes)
            notes.append(Note("Uncertain", f"{len(modes)} modes: {text}"))
        count = self.count
        if self.effective_size < _INDEPENDENT * count:
            worth = f"{count:,} are worth about {self.effective_size:,.0f} independent ones"
            notes.append(Note("Uncertain", f"samples depend on those before: {worth}"))
        if (normal := self.others.get(default_name("moments"))) is not None and normal.has_distribution:
            right, there = np.quantile(self.window.values, _COMPARED), np.asarray(normal.quantile(_COMPARED))
            off = np.abs(np.divide(there, right, out=np.full(len(right), math.inf), where=right != 0.0) - 1.0)
            worst = int(off.argmax())
            share = f" off by {off[worst]:.0%}" if off[worst] < _HUGE else f" {there[worst]:.3g}"
            notes.append(Note("Check", f"--as {normal.name} would have {quantile_name(_COMPARED[worst])}{share}"))
        return notes

    @property
    def next(self) -> str:
        """The command that follows: keep the value, or compute with it."""
        if not self.files:
            words = ["perf", "stochastic", "summarize", self.window.source, "--column", self.window.column]
            words += ["--run", self.run] * bool(self.run)
            is_usual = self.value.name in {default_name("samples"), default_name("number")}
            words += [] if is_usual else ["--as", self.value.name]
            return "" if self.window.source in ("-", "series") else shlex.join([*words, "-o", "value.json"])
        low, high = self.value.support
        name = "time" if self._is_duration else "share" if 0.0 <= low <= high <= 1.0 else "x"
        is_free = is_named("free", self.window.column)
        formula = {"time": "10*time", "share": "120/share" if is_free else "120*(1 + share)"}.get(name, "2*x")
        return f"perf stochastic eval {shlex.quote(formula)} --with {name}={shlex.quote(self.files[-1])}"

    @property
    def notes(self) -> tuple[str, ...]:
        """What is to be kept in mind, each once."""
        notes = []
        off = np.abs(self.window.values - np.median(self.window.values))
        if not self.run and len(off) >= _FEWEST_OF_TAIL and off.max() > _TAIL_GROWTH * len(off) * np.median(off) > 0.0:
            notes.append("heavy tail: mean and std are those of few samples, and may not exist; use the quantiles")
        # What has no jumps is off by up to each sample's share, whatever its shape.
        accepted = _LARGEST_ERROR + 1.0 / len(self.window.values)
        if not self.run and self.value.binned is not None and self.cdf_error > accepted:
            notes.append(f"the bins hide the shape: CDF error {self.cdf_error:.2g}; --rule adaptive keeps it")
        if self.value.has_distribution and self.window.values.min() >= 0.0:
            below = float(self.value.cdf(np.nextafter(0.0, -math.inf)))
            nothing = "time" if self._is_duration else "sample"
            if below > _NOTEWORTHY:
                of_value = f"{below:.2g} of the {self.value.name} is below 0, where no {nothing} is"
                notes.append(f"{of_value}; --support 0,inf leaves it out")
        return tuple(dict.fromkeys((*self.warnings, *notes, *self.value.notes)))

    @property
    def quantile_limits(self) -> dict[str, tuple[float, float]]:
        """Where the true quantile lies with probability 0.95, as many samples as these are worth; NaN of too few."""
        samples, size = self.window.values, self.effective_size
        return {quantile_name(level): limits_of_quantile(samples, level, size) for level in self.levels}

    @property
    def variation_class(self) -> str | None:
        """How much shares vary; None of other quantities, for which the classes are not defined."""
        is_share = self.window.values.min() >= 0.0 and self.window.values.max() <= 1.0 and not self._is_duration
        return variation_class(self.window.variation) if is_share else None

    @property
    def _is_duration(self) -> bool:
        return is_duration(self.window.column, self.window.source)

    @property
    def samples_std(self) -> float:
        """Standard deviation of the samples, with n - 1 in the denominator."""
        return float(self.window.values.std(ddof=1)) if len(self.window.values) > 1 else 0.0

    @functools.cached_property
    def cdf_error(self) -> float:
        """Largest distance between the cumulative distributions of samples and value; NaN of bounds and of runs."""
        return self.error_of(self.value) if self.value.has_distribution and not self.run else math.nan

    def error_of(self, value: StochasticValue) -> float:
        """Return the largest distance between the cumulative distributions of the samples and a value."""
        ordered, counts = np.unique(self.window.values, return_counts=True)
        after = np.cumsum(counts) / counts.sum()
        before = after - counts / counts.sum()
        errors = after - np.asarray(value.cdf(ordered)), before - np.asarray(value.cdf(np.nextafter(ordered, -np.inf)))
        return float(np.abs(errors).max())

    @property
    def statistics(self) -> dict[str, float | int | str | None]:
        """The value's figures, and how they differ from the samples'; None if an interval has none."""
        figures = figures_of(self.value, self.levels) | {"samples_mean": self.window.values.mean()}
        figures |= {"samples_std": self.samples_std, "cdf_error": self.cdf_error}
        return {
            "samples": self.count,
            "effective_samples": self.effective_size,
            **{name: float(figure) if math.isfinite(figure) else None for name, figure in figures.items()},
            "variation": self.window.variation,
            "variation_class": self.variation_class,
        }

    def to_dict(self) -> dict[str, Any]:
        stretch: dict[str, Any] = {}
        if isinstance(self.window, Window):
            times = self.window.times
            stretch = {"from": float(times[0]), "to": float(times[-1]), "time_unit": self.window.time_unit}
        return {
            "value": self.value.to_dict(),
            **self.statistics,
            "column": self.window.column,
            "source": self.window.source,
            **stretch,
            "samples_quantiles": {
                quantile_name(level): float(np.quantile(self.window.values, level)) for level in self.levels
            },
            "quantile_limits": {name: list(limits) for name, limits in self.quantile_limits.items()},
        }


def represent(
    window: Samples,
    representation: str | None = None,
    levels: tuple[float, ...] = SUMMARY_LEVELS,
    warnings: tuple[str, ...] = (),
    **options: Any,
) -> MeasuredValue:
    """Represent the samples of a window."""
    implementation = representation_named(representation or default_name("samples"))
    chosen = build(implementation.Options, options, implementation.name)
    if window.variation == 0.0:
        number = default_representation("number").from_samples(window.values)
        count = len(window.values)
        same = f"all {count} samples are {window.values[0]:.6g}: one number, whatever was asked for"
        return MeasuredValue(window, number, levels, (*warnings, same) if count > 1 else warnings)
    try:
        return MeasuredValue(window, implementation.from_samples(window.values, chosen), levels, warnings)
    except DataError as error:
        raise DataError(f"{window.source}, {window.column!r}: {error}") from None


def represent_run(
    window: Samples,
    run: str,
    bounds: Range | None = None,
    levels: tuple[float, ...] = SUMMARY_LEVELS,
    warnings: tuple[str, ...] = (),
) -> MeasuredValue:
    """Represent the mean over a run that starts after the last sample, given all before it."""
    from perf_forecast.model import mean_ahead
    from perf_forecast.options import support_of

    if not isinstance(window, Window):
        raise OptionError(f"--run {run}: {window.source} is no series over time")
    step_ns = 1.0
    if len(window.times) > 1:
        step_ns = float(np.median(np.diff(window.times))) * nanoseconds_per(window.time_unit)
    count = max(1, round(parse_duration(run) / step_ns))
    support = bounds or support_of(window.values, "auto", f"{window.column} {Path(window.source).name}")[0]
    try:
        places, quantiles = mean_ahead(window.values, count, support)
    except DataError as error:
        raise DataError(f"{window.source}: {error}") from None
    if quantiles[0] == quantiles[-1]:
        value = default_representation("number")(float(quantiles[0]))
    else:
        content = {"edges": quantiles.tolist(), "masses": np.diff(places).tolist()}
        value = default_representation("distributions").from_dict(content)
    return MeasuredValue(window, value, levels, warnings, run)


def variation_class(variation: float) -> str:
    """Return whether a share varies little, some or much (Schopf 1999, section 4)."""
    return "low" if variation <= _LOW else "medium" if variation < _HIGH else "high"
