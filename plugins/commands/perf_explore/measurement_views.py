"""What a page of data has of measurements and of series: what they report."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from perf_views.contents import OneView
from perf_views.drawable import report_blocks
from perfcore.data.measurements import Measurements
from perfcore.data.series import Series
from perfcore.results import Presenter

if TYPE_CHECKING:
    from perf_views.contents import Viewable


class DataPresenter(Presenter):
    """Presents tables of runs and time series."""

    def views(self, result: Measurements | Series, data: Any = None, file: Path | None = None) -> Viewable:
        report = result.report()
        return OneView(report.title, lambda query: report_blocks(report))
