"""How a stochastic value is shown beside the samples that it was made of."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from perf_structural.statistic import LEVELS, quantile_name
from perf_views.colours import LIGHT, RULE
from perf_views.names import shortened
from perfcore.results import Presenter, Tables

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from perf_structural.measured_value import MeasuredValue


class MeasuredValuePresenter(Presenter):
    """The value, what it comes from, and what is lost."""

    def title(self, result: MeasuredValue) -> str:
        """What is represented, and by what."""
        return f"{result.window.column} of {Path(result.window.source).name} as {result.value.name}"

    def formula(self, result: MeasuredValue) -> str:
        """The value in a line."""
        return repr(result.value)

    def summary(self, result: MeasuredValue) -> list[str]:
        """The value, what it comes from, how much the samples vary, and what is lost."""
        variation, full, named = f"variation: {result.window.variation:.4g}", result.full_range, result.variation_class
        missing = "--scale, the full range" if full is None else f"samples between 0 and --scale ({full:g})"
        varies = f"; its class needs {missing}" if named is None else f", {named} on a scale from 0 to {full:g}"
        lost = "everything but the bounds"
        if not math.isnan(result.cdf_error):
            lost = f"the order in time; the cumulative distribution is off by at most {result.cdf_error:.3f}"
        return [
            self.formula(result),
            result.window.describe(),
            variation + varies,
            f"lost: {lost}",
            *self._of_quantiles(result),
            *(f"note: {note}" for note in result.notes),
        ]

    @staticmethod
    def _of_quantiles(result: MeasuredValue) -> list[str]:
        """Between what the quantiles that were asked for lie."""
        if result.levels == LEVELS:
            return []
        quantile_texts = [
            f"{name} {low:.6g} to {high:.6g}"
            for name, (low, high) in result.quantile_limits.items()
            if math.isfinite(low) and math.isfinite(high)
        ]
        limits = f"with probability 0.95, if the samples are independent: {', '.join(quantile_texts)}"
        return [*([limits] if quantile_texts else []), *result.too_few]

    def tables(self, result: MeasuredValue) -> Tables:
        """The figures of the value beside the samples'."""
        rows = [
            [name, *("-" if math.isnan(figure) else f"{figure:.6g}" for figure in figures.values())]
            for name, figures in self._figures(result).items()
        ]
        return [("", ["", *self._figures(result)["value"]], rows)]

    def frame(self, result: MeasuredValue) -> pd.DataFrame:
        """A row for the value and one for the samples: their moments, quantiles and bounds."""
        import pandas as pd

        return pd.DataFrame([{"of": name, **figures} for name, figures in self._figures(result).items()])

    def draw(self, result: MeasuredValue, figure: Figure, data: Any = None) -> None:
        """Density and cumulative distribution over those of the samples."""
        from perf_structural.views.distributions import draw_distributions

        draw_distributions(figure, {result.value.name: result.value}, "")
        density, cumulative = figure.axes
        samples = result.window.values
        if result.window.variation > 0.0:
            heights, *_ = density.hist(samples, bins="auto", density=True, color=LIGHT, zorder=0, label="samples")
            density.set_ylim(0.0, max(density.get_ylim()[1], 1.05 * float(np.max(heights))))
        cumulative.ecdf(samples, color=RULE, linewidth=0.8, label="samples")
        for axes in (density, cumulative):
            axes.set_xlabel(shortened(result.window.column), parse_math=False)
        cumulative.legend(fontsize="small")
        figure.suptitle(self.title(result), x=0.01, ha="left", fontsize=10, parse_math=False)

    @staticmethod
    def _figures(result: MeasuredValue) -> dict[str, dict[str, float]]:
        value, samples, levels = result.value, result.window.values, list(result.levels)
        represented = [value.mean, value.std, *(float(value.quantile(level)) for level in levels), *value.support]
        quantiles = np.quantile(samples, levels, method="hazen")
        measured = [samples.mean(), result.samples_std, *quantiles, samples.min(), samples.max()]
        names = ("mean", "std", *map(quantile_name, levels), "lowest", "highest")
        return {
            "value": dict(zip(names, represented, strict=True)),
            "samples": dict(zip(names, map(float, measured), strict=True)),
        }
