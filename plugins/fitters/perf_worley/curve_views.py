"""What a page of data has of a curve, or of the curve of a trace: a picture to zoom into."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from perf_traces.summaries.summarized_trace import SummarizedTrace
from perf_views.contents import Notice, NoViewError, Query, View, ViewPath
from perf_views.names import shortened
from perf_worley.curve_blocks import Zoom, zoom_blocks
from perf_worley.curve_summary import CurveSummary
from perfcore.base.errors import PerfError
from perfcore.data.curve import UtilizationCurve
from perfcore.data.trace import Trace
from perfcore.data.units import readable
from perfcore.results import Presenter, Tables

if TYPE_CHECKING:
    import pandas as pd

    from perf_views.contents import Viewable


_LONGEST = 200  # letters of why there is no curve, which may list a thousand states


class CurvePresenter(Presenter):
    """Presents utilization curves, and traces by theirs."""

    def title(self, result: Trace | UtilizationCurve) -> str:
        """What it is and where it is from."""
        return f"Processor utilization: {result.source}"

    def tables(self, result: Trace | UtilizationCurve) -> Tables:
        """The time of each state, the longest first; of a curve without states its extent and its heights."""
        if isinstance(result, UtilizationCurve):
            figures = [result.duration, result.mean, result.heights.min(), result.heights.max()]
            header = ["steps", f"duration ({result.time_unit})", "mean", "lowest", "highest"]
            return [("Processors computing", header, [[f"{result.n_steps:,}", *(f"{value:.6g}" for value in figures)]])]
        times, total = _state_times(result), result.span_ns[1] - result.span_ns[0]
        rows = [
            [
                result.states[k],
                "computing" if result.states[k] in result.busy_states else "",
                readable(int(times[k]), "ns"),
                f"{times[k] / (total * len(result.locations)):.2%}" if total else "-",
            ]
            for k in np.argsort(-times, kind="stable")
        ]
        return [("Time of all locations in each state", ["state", "counts as", "time of all", "share"], rows)]

    def frame(self, result: Trace | UtilizationCurve) -> pd.DataFrame:
        """A row for each interval, or for each step of a curve; of a summary for each location and state."""
        import pandas as pd

        if isinstance(result, UtilizationCurve):
            edges, unit = result.edges, result.time_unit
            return pd.DataFrame({f"start_{unit}": edges[:-1], f"end_{unit}": edges[1:], "processors": result.heights})
        if isinstance(result, SummarizedTrace):
            times, entries = result.times_and_entries()
            places: tuple[npt.NDArray[Any], ...] = times.nonzero()
            columns = {"time_ns": times[places], "entries": entries[places]}
        else:
            places = result.location, result.state
            columns = {"start_ns": result.start_ns, "end_ns": result.end_ns}
        named = zip(("location", "state"), (result.locations, result.states), places, strict=True)
        names = {name: _categories(texts, place) for name, texts, place in named}
        return pd.DataFrame({**names, **columns})

    def views(self, result: Trace | UtilizationCurve, data: Any = None, file: Path | None = None) -> Viewable:
        """The curve, closer and wider."""
        return CurveViews(result, self.title(result))


def _categories(texts: tuple[str, ...], place: npt.NDArray[Any]) -> pd.Categorical[str]:
    """Texts at places; each is kept once, since there may be millions of places."""
    import pandas as pd

    different: pd.Index[str] = pd.Index(dict.fromkeys(texts))  # names may be alike, and categories may not be
    return pd.Categorical.from_codes(different.get_indexer(pd.Index(texts))[place], different)


def _state_times(trace: Trace) -> npt.NDArray[np.int64]:
    """Time of all locations in each state, nanoseconds."""
    if isinstance(trace, SummarizedTrace):
        times: npt.NDArray[np.int64] = trace.times_and_entries()[0].sum(axis=0)
        return times
    # Sums of whole numbers are exact in float64 up to 104 days of all locations.
    return np.bincount(trace.state, trace.end_ns - trace.start_ns, minlength=len(trace.states)).astype(np.int64)


class CurveViews:
    """One view, whose stretch stands in the address."""

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
