"""Options of the fitter `forecast`."""

from __future__ import annotations

from dataclasses import dataclass

from perf_forecast.support import check_within
from perf_tables.arguments import check_length
from perfcore.hooks.options import option


@dataclass(frozen=True)
class ForecastOptions:
    """Options of the fitter `forecast`."""

    column: str | None = option(None, "series of several columns: the one to forecast", metavar="NAME")
    window: str = option(
        "all",
        "how much of the series counts, from its end, such as 2h, or all",
        parse=check_length,
        metavar="DURATION|all",
    )
    within: str = option(
        "auto",
        "what values lie between, such as 0,1; auto: as names and samples say",
        parse=check_within,
        metavar="LOW,HIGH|auto|none",
    )
    horizon: int = option(30, "steps ahead, each with a distribution of its own", minimum=1)
