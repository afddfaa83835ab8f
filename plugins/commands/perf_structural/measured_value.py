"""A stochastic value from a window of samples, and what it leaves out of them."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from perf_structural.statistic import LEVELS, quantile_name
from perf_tables.names import is_duration
from perf_tables.series import Window
from perfcore.base.errors import DataError, OptionError
from perfcore.hooks.options import build
from perfcore.results import Result
from perfcore.stochastic import default_name, default_representation, representation_named

if TYPE_CHECKING:
    from perf_structural.measuring import Samples
    from perfcore.stochastic import StochasticValue

CONFIDENCE = 0.95


def samples_needed(level: float) -> int:
    """How many independent samples have an order statistic on each side of a quantile with enough confidence."""
    outside = 0.5 * (1.0 - CONFIDENCE)
    return math.ceil(math.log(outside) / math.log(max(level, 1.0 - level)))


def limits_of_quantile(samples: npt.NDArray[np.float64], level: float) -> tuple[float, float]:
    """Between which samples the true quantile lies, with probability 0.95 at least; NaN of too few samples."""
    from scipy.stats import quantile_test

    limits: Any = quantile_test(samples, p=level).confidence_interval(CONFIDENCE)
    return float(limits.low), float(limits.high)


_COARSE = 0.15  # of probability: three times what five equal bins lose of 300 samples of a normal at most
_NOTEWORTHY = 0.01  # of probability
_RESOLVED = "--rule tails --bins 50"
_LOW, _HIGH = 0.25, 0.5  # Schopf, section 4, of the range from 0 to 1


@dataclass(frozen=True, repr=False)
class MeasuredValue(Result):
    """What `represent` gives."""

    json_kind: ClassVar[str] = "value"

    window: Samples  # the samples
    value: StochasticValue  # what represents them
    scale: float | None = None  # full range of the quantity, for the variation class
    levels: tuple[float, ...] = LEVELS  # of the quantiles that are shown
    warnings: tuple[str, ...] = ()  # about the samples

    def save(self, path: str | os.PathLike[str]) -> list[str]:
        """Write the value; gives what the command line says of it."""
        return self.value.save(path)

    @property
    def notes(self) -> tuple[str, ...]:
        """What is to be kept in mind, each once."""
        coarse = f"the bins hide the shape, since a few samples lie far out; {_RESOLVED} keeps it"
        below, nothing = self._below_zero, "time" if self._is_duration else "sample"
        impossible = (
            f"{below:.2g} of the {self.value.name} is below 0, where no {nothing} is; --support 0,inf leaves it out"
        )
        # What has no jumps is off by up to each sample's share, whatever its shape.
        hidden = self.value.binned is not None and self.cdf_error > _COARSE + 1.0 / len(self.window.values)
        shape_notes = [coarse] * hidden + [impossible] * (below > _NOTEWORTHY)
        return tuple(dict.fromkeys((*self.warnings, *shape_notes, *self.value.notes)))

    @property
    def _below_zero(self) -> float:
        """How much the value has below 0, where the samples have none."""
        if not self.value.has_distribution or self.window.values.min() < 0.0:
            return 0.0
        return float(self.value.cdf(np.nextafter(0.0, -math.inf)))

    @property
    def quantile_limits(self) -> dict[str, tuple[float, float]]:
        """Where the true quantile lies with probability 0.95 if the samples are independent; NaN of too few samples."""
        return {quantile_name(level): limits_of_quantile(self.window.values, level) for level in self.levels}

    @property
    def too_few(self) -> list[str]:
        """Quantiles that the samples don't reach, with how many samples would."""
        count = len(self.window.values)
        return [
            f"too few samples for {quantile_name(level)}: {count:,}; {needed:,} are needed"
            for level in self.levels
            if (needed := samples_needed(level)) > count
        ]

    @property
    def variation_class(self) -> str | None:
        """How much the samples vary; None without a range, or outside of it, on which the classes are defined."""
        low, high, full = self.window.values.min(), self.window.values.max(), self.full_range
        return None if full is None or low < 0.0 or high > full else variation_class(self.window.variation, full)

    @property
    def full_range(self) -> float | None:
        """The scale, without one 1; None of lengths of time, which have no such range."""
        return 1.0 if self.scale is None and not self._is_duration else self.scale

    @property
    def _is_duration(self) -> bool:
        return is_duration(self.window.column, self.window.source)

    @property
    def samples_std(self) -> float:
        """Standard deviation of the samples, with n - 1 in the denominator."""
        return float(self.window.values.std(ddof=1)) if len(self.window.values) > 1 else 0.0

    @property
    def cdf_error(self) -> float:
        """Largest distance between the cumulative distributions of samples and value; NaN of mere bounds."""
        if not self.value.has_distribution:
            return math.nan
        ordered, counts = np.unique(self.window.values, return_counts=True)
        after = np.cumsum(counts) / counts.sum()
        predicted = np.asarray(self.value.cdf(ordered), dtype=np.float64)
        before = np.asarray(self.value.cdf(np.nextafter(ordered, -np.inf)), dtype=np.float64)
        return float(np.max(np.maximum(np.abs(after - predicted), np.abs(after - counts / counts.sum() - before))))

    @property
    def statistics(self) -> dict[str, float | int | str | None]:
        """The value's figures, and how they differ from the samples'; None where an interval has none."""
        value, samples = self.value, self.window.values
        quantiles = {quantile_name(level): float(value.quantile(level)) for level in self.levels}
        lowest, highest = value.support
        figures: dict[str, float] = {"mean": value.mean, "std": value.std, **quantiles}
        figures |= {"lowest": lowest, "highest": highest, "samples_mean": samples.mean()}
        figures |= {"samples_std": self.samples_std, "cdf_error": self.cdf_error}
        return {
            "samples": len(self.window.values),
            **{name: float(figure) if math.isfinite(figure) else None for name, figure in figures.items()},
            "variation": self.window.variation,
            "variation_class": self.variation_class,
        }

    def to_dict(self) -> dict[str, Any]:
        """The value as its file has it, its figures, and where it comes from, as JSON-ready values."""
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
            "quantile_limits": {name: list(limits) for name, limits in self.quantile_limits.items()},
            "notes": list(self.notes),
        }


def represent(
    window: Samples,
    representation: str | None = None,
    scale: float | None = None,
    levels: tuple[float, ...] = LEVELS,
    warnings: tuple[str, ...] = (),
    **options: Any,
) -> MeasuredValue:
    """Represent the samples of a window."""
    if scale is not None:
        check_scale(scale)
    implementation = representation_named(representation or default_name("samples"))
    chosen = build(implementation.Options, options, implementation.name)
    if window.variation == 0.0:
        number = default_representation("number").from_samples(window.values)
        count = len(window.values)
        same = f"all {count} samples are {window.values[0]:.6g}: one number, whatever was asked for"
        return MeasuredValue(window, number, scale, levels, (*warnings, same) if count > 1 else warnings)
    try:
        return MeasuredValue(window, implementation.from_samples(window.values, chosen), scale, levels, warnings)
    except DataError as error:
        raise DataError(f"{window.source}, {window.column!r}: {error}") from None


def check_scale(scale: float) -> None:
    """Refuse what can be no full range of a quantity."""
    if not 0.0 < scale < math.inf:
        raise OptionError(f"--scale {scale:g}: a positive number is expected")


def variation_class(variation: float, scale: float = 1.0) -> str:
    """Whether a quantity varies little, some or much (Schopf 1999, section 4)."""
    share = variation / scale
    return "low" if share <= _LOW else "medium" if share < _HIGH else "high"
