"""Options of the fitter `forecast`."""

from __future__ import annotations

from dataclasses import dataclass

from perf_series.durations import check_length
from perfcore.hooks.options import option

__all__ = ["ForecastOptions"]


@dataclass(frozen=True)
class ForecastOptions:
    """Options of the fitter `forecast`."""

    column: str | None = option(None, "series of several columns: the one to forecast", metavar="NAME")
    criterion: str = option(
        "mse", "the past error that chooses the predictor: mean squared (mse) or mean absolute (mae)",
        choices=("mse", "mae"),
    )  # fmt: skip
    window: str = option(
        "all",
        "how much of the series counts, from its end, such as 2h, or all",
        parse=check_length,
        metavar="DURATION|all",
    )
    horizon: int = option(30, "steps ahead for which the spread is measured", minimum=1)
