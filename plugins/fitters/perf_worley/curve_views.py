"""What a page of data has of a curve, or of the curve of a trace: a picture to zoom into."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from perf_views.contents import Notice, NoViewError, Query, View, ViewPath
from perf_views.short_names import shortened
from perf_worley.curve_blocks import Zoom, zoom_blocks
from perf_worley.curve_summary import CurveSummary
from perfcore.base.errors import PerfError
from perfcore.data.curve import UtilizationCurve
from perfcore.data.trace import Trace
from perfcore.results import Presenter

if TYPE_CHECKING:
    from perf_views.contents import Viewable

__all__ = ["CurvePresenter", "CurveViews"]

_LONGEST = 200  # letters of why there is no curve, which may list a thousand states


class CurvePresenter(Presenter):
    """Presents utilization curves, and traces by theirs."""

    def title(self, result: Trace | UtilizationCurve) -> str:
        """What it is and where it is from."""
        return f"Processor utilization: {result.source}"

    def views(self, result: Trace | UtilizationCurve, data: Any = None, file: Path | None = None) -> Viewable:
        """The curve, closer and wider."""
        return CurveViews(result, self.title(result))


class CurveViews:
    """One view, whose stretch stands in the address.

    Parameters
    ----------
    data : Trace or UtilizationCurve
    title : str
    """

    def __init__(self, data: Trace | UtilizationCurve, title: str) -> None:
        self._data, self._title = data, title
        self._summary: CurveSummary | None = None

    @property
    def title(self) -> str:
        """That of the presenter."""
        return self._title

    def view(self, path: ViewPath, query: Query) -> View:
        """The stretch that the address names; see `Viewable.view`."""
        if path:
            raise NoViewError(path)
        if self._summary is None:
            try:
                curve = self._data.utilization() if isinstance(self._data, Trace) else self._data
            except PerfError as error:  # no state is known to compute; the view of lost cycles asks what each one is
                return View(self.title, (Notice(f"no picture: {shortened(str(error), _LONGEST)}", "warning"),))
            self._summary = CurveSummary(curve)
        return View(self.title, zoom_blocks(self._summary, Zoom.of(self._summary.curve, query, self._data), (), {}))

    def paths(self) -> Iterable[ViewPath]:
        """The only one."""
        return [()]
