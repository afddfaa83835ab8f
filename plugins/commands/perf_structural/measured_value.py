"""A stochastic value from a window of samples, and what it leaves out of them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from perfcore.base.errors import DataError, OptionError
from perfcore.data.window import Window, variation_class
from perfcore.hooks.options import build
from perfcore.stochastic import default_name, default_representation, representation_named

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from perfcore.stochastic import StochasticValue

__all__ = ["MeasuredValue", "represent"]

_QUANTILES = {"p05": 0.05, "p50": 0.5, "p95": 0.95}


@dataclass(frozen=True)
class MeasuredValue:
    """What `represent` gives.

    Parameters
    ----------
    window : Window
        The samples.
    value : StochasticValue
        What represents them.
    scale : float
        Full range of the quantity, for the variation class.
    """

    window: Window
    value: StochasticValue
    scale: float = 1.0

    @property
    def variation_class(self) -> str | None:
        """How much the samples vary; None where they lie outside of 0 to `scale`, on which the classes are defined."""
        low, high = self.window.values.min(), self.window.values.max()
        return variation_class(self.window.variation, self.scale) if low >= 0.0 and high <= self.scale else None

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
        quantiles = {name: float(value.quantile(level)) for name, level in _QUANTILES.items()}
        lowest, highest = value.support
        figures: dict[str, float] = {"mean": value.mean, "std": value.std, **quantiles}
        figures |= {
            "lowest": lowest,
            "highest": highest,
            "samples_mean": samples.mean(),
            "samples_std": self.samples_std,
        }
        figures["cdf_error"] = self.cdf_error
        return {
            "samples": len(samples),
            **{name: float(figure) if math.isfinite(figure) else None for name, figure in figures.items()},
            "variation": self.window.variation,
            "variation_class": self.variation_class,
        }

    @property
    def title(self) -> str:
        """One line over a picture."""
        return f"{self.window.column} of {Path(self.window.source).name} as {self.value.name}"

    @property
    def formula(self) -> str:
        """The value in a line."""
        return repr(self.value)

    def summary(self) -> list[str]:
        """The value, what it comes from, how much the samples vary, and what is lost."""
        variation, scale = f"variation: {self.window.variation:.4g}", f"{self.scale:g}"
        named = self.variation_class
        unnamed = f"its class needs samples between 0 and --scale ({scale})"
        lost = "everything but the bounds"
        if not math.isnan(self.cdf_error):
            lost = f"the order in time; the cumulative distribution is off by at most {self.cdf_error:.3f}"
        return [
            self.formula,
            self.window.describe(),
            f"{variation}; {unnamed}" if named is None else f"{variation}, {named} on a scale from 0 to {scale}",
            f"lost: {lost}",
            *(f"note: {note}" for note in self.value.notes),
        ]

    def tables(self) -> list[tuple[str, list[str], list[list[str]]]]:
        """The figures of the value beside the samples'."""
        samples = self.window.values
        represented = [
            self.value.mean,
            self.value.std,
            *(float(self.value.quantile(level)) for level in _QUANTILES.values()),
            *self.value.support,
        ]
        measured = [
            samples.mean(),
            self.samples_std,
            *np.quantile(samples, list(_QUANTILES.values()), method="hazen"),
            samples.min(),
            samples.max(),
        ]
        rows = [[name, *map(_shown, figures)] for name, figures in (("value", represented), ("samples", measured))]
        return [("", ["", "mean", "std", *_QUANTILES, "lowest", "highest"], rows)]

    def to_dict(self) -> dict[str, Any]:
        """The value as its file has it, its figures, and where it comes from, as JSON-ready values."""
        return {
            "value": self.value.to_dict(),
            **self.statistics,
            "column": self.window.column,
            "source": self.window.source,
            "from": float(self.window.times[0]),
            "to": float(self.window.times[-1]),
            "time_unit": self.window.time_unit,
            "notes": list(self.value.notes),
        }

    def draw(self, figure: Figure, data: Any = None) -> None:
        """Draw density and cumulative distribution over those of the samples."""
        from perf_structural.picture import draw_distributions

        draw_distributions(figure, {self.value.name: self.value}, "")
        density, cumulative = figure.axes
        samples = self.window.values
        if self.window.variation > 0.0:
            density.hist(samples, bins="auto", density=True, color="0.75", zorder=0, label="samples")
        cumulative.ecdf(samples, color="0.5", linewidth=0.8, label="samples")
        density.set_xlabel(self.window.column)
        cumulative.set_xlabel(self.window.column)
        cumulative.legend(fontsize="small")
        density.set_title(self.title, fontsize=10, loc="left")


def _shown(figure: float) -> str:
    return "-" if math.isnan(figure) else f"{figure:.6g}"


def represent(window: Window, representation: str | None = None, scale: float = 1.0, **options: Any) -> MeasuredValue:
    """Represent the samples of a window.

    Parameters
    ----------
    window : Window
        As `perfcore.data.window.take_window` gives it.
    representation : str, optional
        A registered representation (``perf plugins`` lists them); if not given the one that samples become by default.
        Samples that are all equal become one number, whatever is asked for.
    scale : float, > 0
        Full range of the quantity, for the variation class: 1 for a share, 100 for per cent.
    **options
        Options of the representation.

    Raises
    ------
    OptionError
        The representation or an option is not known, or the scale is not above 0.
    DataError
        The samples cannot be represented so.
    """
    if not 0.0 < scale < math.inf:
        raise OptionError(f"--scale {scale:g}: a positive number is expected")
    implementation = representation_named(representation or default_name("samples"))
    chosen = build(implementation.Options, options, implementation.name)
    if window.variation == 0.0:
        return MeasuredValue(window, default_representation("number").from_samples(window.values), scale)
    try:
        return MeasuredValue(window, implementation.from_samples(window.values, chosen), scale)
    except DataError as error:
        raise DataError(f"{window.source}, {window.column!r}: {error}") from None
