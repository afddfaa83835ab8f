"""How forecasts are shown: what comes next, who says so, and how far that has been off."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from perf_forecast.model import COVERAGE, ForecastModel, PredictorError
from perf_series.window import take_window
from perfcore.data.units import readable
from perfcore.results import Presenter, Tables

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

__all__ = ["ForecastPresenter"]

_MOST_DRAWN = 120  # samples before the forecast in a picture: more would squeeze the forecast


class ForecastPresenter(Presenter):
    """Text, tables and picture of a `ForecastModel`."""

    def title(self, result: ForecastModel) -> str:
        """What is forecast, and the source."""
        return f"Forecast of {result.column} from {Path(result.origin.source).name}"

    def summary(self, result: ForecastModel) -> list[str]:
        """What comes next, who says so, and how far that has been off."""
        _, lower, upper = result.predict([1], COVERAGE)[0]
        best, name = result.predictors[0], "root mean square" if result.criterion == "mse" else "mean absolute"
        gaps = f", {result.n_missing} missing" if result.n_missing else ""
        return [
            f"{self.title(result)} ({result.n_samples:,} samples{gaps}, one every "
            f"{readable(result.step, result.time_unit)})",
            f"next value: {result.forecast:.6g}, {COVERAGE:.0%} between {lower:.6g} and {upper:.6g} "
            f"(such bounds held for {result.covered:.1%} of the past)",
            f"predictor: {best.name}; its {name} error so far: {_shown_error(result, best):.4g}",
            f"choosing the best so far at each step would have erred by {_shown_error(result, result.chosen_anew):.4g}",
        ]

    def tables(self, result: ForecastModel) -> Tables:
        """The predictors, least error first, and the spread by steps."""
        rows = [
            [p.name, f"{p.forecast:.6g}", f"{math.sqrt(p.mse):.4g}", f"{p.mae:.4g}"]
            for p in (*result.predictors, result.chosen_anew)
        ]
        shown = [steps for steps in range(1, len(result.spread) + 1) if steps & (steps - 1) == 0]
        ahead = [
            [str(steps), readable(steps * result.step, result.time_unit), f"{result.spread[steps - 1]:.4g}"]
            for steps in sorted({*shown, len(result.spread)})
        ]
        return [
            ("Predictors", ["predictor", "next value", "root mean square error", "mean absolute error"], rows),
            ("Spread ahead", ["steps", "time", "standard deviation"], ahead),
        ]

    def frame(self, result: ForecastModel) -> pd.DataFrame:
        """One row for each step ahead: its time in the model's unit, the value with its 95 % bounds, the spread."""
        import pandas as pd

        steps = np.arange(1, len(result.spread) + 1)
        value, lower, upper = result.predict(steps, COVERAGE).T
        time = result.last_time + steps * result.step
        columns = {"steps": steps, "time": time, "value": value, "lower": lower, "upper": upper}
        return pd.DataFrame({**columns, "spread": result.spread})

    def draw(self, result: ForecastModel, figure: Figure, data: Any = None) -> None:
        """Draw the forecast with its bounds, after the samples where they are given, and the predictors' errors."""
        left, right = figure.subplots(1, 2, width_ratios=[2, 1])
        steps = np.arange(1, len(result.spread) + 1)
        values, lower, upper = result.predict(steps, COVERAGE).T
        left.fill_between(steps, lower, upper, color="#c1272d", alpha=0.15, linewidth=0, label=f"{COVERAGE:.0%}")
        left.plot(steps, values, color="#c1272d", label="forecast")
        if data is not None:
            options = result.origin.options
            window = take_window(data, options.get("window", "all"), options.get("column"))
            recent = window.values[-_MOST_DRAWN:]
            left.plot(np.arange(1 - len(recent), 1), recent, color="0.35", linewidth=0.8, label="samples")
        left.set_xlabel(f"steps of {readable(result.step, result.time_unit)} from the last sample")
        left.set_ylabel(result.column)
        left.set_title(self.title(result), fontsize=10, loc="left")
        left.legend(fontsize=8, frameon=False)
        names = [p.name for p in result.predictors]
        right.barh(names, [_shown_error(result, p) for p in result.predictors], color="0.6")
        right.invert_yaxis()
        right.tick_params(labelsize=7)
        right.set_title("root mean square error" if result.criterion == "mse" else "mean absolute error", fontsize=9)


def _shown_error(result: ForecastModel, predictor: PredictorError) -> float:
    """The criterion in the unit of the values."""
    return math.sqrt(predictor.mse) if result.criterion == "mse" else predictor.mae
