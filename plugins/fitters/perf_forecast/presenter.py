"""How forecasts are shown: what comes next, what says so, and how such forecasts have held."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from perf_forecast.model import COVERAGE, NOTEWORTHY, Ahead, ForecastModel
from perf_forecast.options import JUDGED_COVERAGES
from perf_tables.series import take_window
from perf_views.colours import DARK, MODEL
from perfcore.data.units import readable
from perfcore.results import Column, Panels, Presenter, Table, Tables

if TYPE_CHECKING:
    from matplotlib.axes import Axes


_MOST_DRAWN = 120  # samples before the forecast in a picture: more would squeeze the forecast
_BANDS = (0.95, 0.8, 0.5)
_OPACITY = 0.15  # of each


class ForecastPresenter(Presenter):
    """Text, tables and picture of a `ForecastModel`."""

    def title(self, result: ForecastModel) -> str:
        return f"Forecast of {result.column} from {Path(result.origin.source).name}"

    def answer(self, result: ForecastModel) -> str:
        middle, lower, upper = result.predict([1], COVERAGE)[0]
        interval = f"{COVERAGE:.0%} prediction interval [{lower:.3g}, {upper:.3g}]"
        return f"{self.title(result)}: next value {middle:.3g}, {interval}"

    def summary(self, result: ForecastModel) -> list[str]:
        gaps = f", {result.n_missing} missing" if result.n_missing else ""
        return [
            self.answer(result),
            f"{result.n_samples:,} samples{gaps}, one every {readable(result.step, result.time_unit)}",
            f"predictor: {result.ahead[0].chosen[0]}",
            f"seasons: {_seasons(result)}; {_support(result)}",
        ]

    def caveats(self, result: ForecastModel) -> dict[str, Sequence[str]]:
        return {"Uncertain": [_record(result.ahead[0]), *_repeated(result)]}

    def tables(self, result: ForecastModel) -> Tables:
        last = len(result.ahead)
        steps = sorted({2**power for power in range(last.bit_length())} | {last})
        chosen = [(step, name) for step in steps for name in result.ahead[step - 1].chosen]
        return [
            Table(_columns(result, np.array(steps)), title="Next values"),
            Table([Column("steps", 0), Column("predictor; error model", 1)], chosen, "Ensemble members", "verbose"),
            Table(_columns(result, np.arange(1, last + 1)), importance="data"),
        ]

    def panels(self, result: ForecastModel, data: Any = None) -> Panels:
        return {"forecast": partial(_draw_forecast, result, data)}


def _columns(result: ForecastModel, steps: np.ndarray[Any, Any]) -> list[Column]:
    (median, *bounds), (_, *halves) = (result.predict(steps, coverage).T for coverage in (COVERAGE, 0.5))
    ahead = [result.ahead[step - 1] for step in steps.tolist()]
    time_unit = result.time_unit
    return [
        Column("steps", steps),
        Column("time", steps * result.step, time_unit, "time", key=()),
        Column("time", result.last_time + steps * result.step, time_unit, importance="data"),
        Column("median", median, format=".6g", key="value"),
        Column("95% interval", np.transpose(bounds), format=".5g", key=("lower", "upper")),
        Column("50% interval", np.transpose(halves), format=".5g", key=("lower_50", "upper_50")),
        Column("CRPS", [each.crps for each in ahead], importance="data"),
        *(
            Column(f"{coverage:.0%} coverage", [each.held and each.held[k] for each in ahead], format=".0%", key=())
            for k, coverage in enumerate(JUDGED_COVERAGES)
        ),
    ]


def _record(ahead: Ahead) -> str:
    if ahead.held is None:
        return "too few samples for a backtest"
    shares = ", ".join(f"{share:.0%} for {c:.0%}" for c, share in zip(JUDGED_COVERAGES, ahead.held, strict=True))
    return f"backtest coverage {shares} ({ahead.judged} held-out samples), mean CRPS {ahead.crps:.4g}"


def _repeated(result: ForecastModel) -> list[str]:
    """A value that recurs, which makes intervals cover more than they claim."""
    value, probability = result.likeliest(1)
    if not NOTEWORTHY <= probability < 1.0:
        return []
    return [f"point mass of {probability:.2g} at {value:.6g}: intervals that include it cover more"]


def _seasons(result: ForecastModel) -> str:
    lengths = [f"{n} samples ({readable(n * result.step, result.time_unit)})" for n in result.seasons]
    return ", ".join(lengths) or "none found"


def _support(result: ForecastModel) -> str:
    if result.lower is None and result.upper is None:
        return f"no bounds ({result.support})"
    lower, upper = (
        ("-inf" if result.lower is None else f"{result.lower:g}"),
        ("inf" if result.upper is None else f"{result.upper:g}"),
    )
    return f"values from {lower} to {upper} ({result.support})"


def _draw_forecast(result: ForecastModel, data: Any, axes: Axes) -> None:
    steps = np.arange(1, len(result.ahead) + 1)
    for coverage in _BANDS:
        values, lower, upper = result.predict(steps, coverage).T
        label = f"{coverage:.0%}"
        axes.fill_between(steps, lower, upper, color=MODEL, alpha=_OPACITY, linewidth=0, label=label)
    axes.plot(steps, values, color=MODEL, label="median")
    if data is not None:
        options = result.origin.options
        window = take_window(data, options.get("window", "all"), result.column)
        recent = window.values[-_MOST_DRAWN:]
        axes.plot(np.arange(1 - len(recent), 1), recent, color=DARK, linewidth=0.8, label="samples")
    axes.set_xlabel(f"steps of {readable(result.step, result.time_unit)} from the last sample")
    axes.set_ylabel(result.column)
    legend = axes.legend(fontsize=8, frameon=False)
    # Each band lies upon the wider ones: the legend shows the colour that is seen.
    for number, handle in enumerate(legend.legend_handles[: len(_BANDS)], 1):
        assert handle is not None
        handle.set_alpha(1.0 - (1.0 - _OPACITY) ** number)
