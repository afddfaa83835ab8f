"""The view of a trace that everyone opens first: who is in which state, when."""

from __future__ import annotations

import functools
import io
import itertools
import struct
import threading
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
import numpy.typing as npt
from matplotlib.colors import to_rgb
from matplotlib.patches import Patch

from perf_explore.blocks import chart_svg
from perf_explore.timeline import shown
from perf_traces.chrome_json import MOST_EVENTS, write_chrome_json
from perf_traces.summaries.summarized_trace import SummarizedTrace
from perf_traces.windows import model_edges
from perf_views import contents as page
from perf_views.colours import CLASS_COLOURS, DARK, FOUND
from perf_views.marks import readable_unit
from perf_views.names import shortened_apart
from perf_views.style import SMALL_POINTS, add_legend
from perfcore.base.errors import DataError, OptionError, PerfError
from perfcore.data.answers import time_axis
from perfcore.data.trace import Trace
from perfcore.data.units import nanoseconds_per, readable
from perfcore.models.fitting import default_fitter, fit

if TYPE_CHECKING:
    from matplotlib.figure import Figure


_KIND = "timeline"  # of what the page's script draws
_MOST_MARKERS, _MOST_LISTED = 400, 40  # in an answer, and in the table
_MOST_OFFERED, _LONGEST_OFFERED = 300, 80  # states that are offered while one is searched, and their letters
_JSON = "application/json"
COLUMNS = 1200  # of the lanes in a picture
_ROW, _CURVE, _FRAME = 0.18, 1.1, 1.1  # inches: a lane, the curve, and what stands around them
_FAINTEST = 0.25  # of a colour where a lane is in its state for a small part of a pixel


class TimelineViews(page.Viewable):
    """One view, every state of which has an address."""

    title, help = "Timeline", "states of each location over time, with phases, markers and utilization"

    def __init__(self, data: shown.TimelineData, model: Any = None) -> None:
        self.data, self._model = data, model
        self._lock = threading.Lock()
        self._marker_times = np.array([each[1:] for each in data.given.markers], dtype=np.int64).reshape(-1, 2)

    @classmethod
    def of(cls, trace: Trace, model: Any = None) -> TimelineViews | None:
        """Return the timeline of a trace, with the phases of a model; None if it has no intervals that can be shown."""
        if isinstance(trace, SummarizedTrace):
            return None
        try:
            return cls(shown.TimelineData(trace), model if getattr(model, "phases", ()) else None)
        except DataError:
            return None

    def view(self, path: page.ViewPath, query: page.Query) -> page.View:
        """Return the window that the address names, and where its classes and markers are."""
        if path:
            raise page.NoViewError(path)
        tables = (self._phase_table(), self._class_table(), self._marker_table())
        window = shown.Window.of(query, self.data.given, self.data.run_ns)
        return page.View(self.title, (self._chart(window), *(table for table in tables if table.rows)))

    def feed(self, path: page.ViewPath, query: page.Query) -> page.Feed:
        """Return what the page's script asks for; see `Viewable.feed`."""
        window = shown.Window.of(query, self.data.given, self.data.run_ns)
        match path:
            case ("lanes",):
                return self._lanes(window, query)
            case ("window",):
                return _json({"from": window.start_ns, "to": window.end_ns})
            case ("at",):
                return self._lane_lines(window, query)
            case ("longest",):
                return self._longest(window)
            case ("phases",):
                return self._phases()
            case ("picture",):
                return page.Feed(chart_svg(self._chart(window), _KIND).encode(), "image/svg+xml")
            case ("perfetto",):
                return self._perfetto(window)
        raise page.NoViewError(path)

    def _perfetto(self, window: shown.Window) -> page.Feed:
        """Return everything that overlaps a window, of all lanes, uncut; times count as those of the trace."""
        trace, written = self.data.trace, io.BytesIO()
        start, end = window.start_ns + self.data.run_ns[0], window.end_ns + self.data.run_ns[0]
        n_inside = int(((trace.start_ns < end) & (trace.end_ns > start)).sum())
        if n_inside > MOST_EVENTS:
            raise OptionError(
                f"{n_inside:,} intervals are in what is shown, and Perfetto opens {MOST_EVENTS:,}; zoom in first"
            )
        write_chrome_json(trace, written, (start, end))
        return page.Feed(written.getvalue(), _JSON, f"{Path(self.data.given.source).name or 'trace'}.json")

    def _chart(self, window: shown.Window) -> page.Chart:
        data = self.data
        factor = nanoseconds_per(data.time_unit)
        settings = {
            "unit": data.time_unit,
            "unitNs": factor,
            "durationNs": data.duration_ns,
            "shownFromNs": data.shown_from_ns,
            "locations": len(data.given.locations),
            "classes": [{"name": name, "colour": f"var(--class-{name})"} for name in data.classes],
            "found": "var(--found)",
            "rows": shown.ROWS,
            "letters": max(len(shown.state_name(lane.label)) + 2 * lane.depth + 2 for lane in data.lanes.all),
            "states": [name for name in data.trace.states if len(name) <= _LONGEST_OFFERED][:_MOST_OFFERED],
        }
        links = tuple(page.Link(text, (), to.query(data.run_ns, data.time_unit)) for text, to in self._steps(window))
        live = page.Live(_KIND, (), window.query(data.run_ns, data.time_unit), settings, links)
        of = f"{len(data.trace.locations)} locations of {Path(data.given.source).name}"
        alternative = f"{self.title}: states of {of} over time, by class"
        return page.Chart(
            lambda figure: draw_timeline(figure, data, data.bins(window, COLUMNS)), alternative, live=live
        )

    def _steps(self, window: shown.Window) -> list[tuple[str, shown.Window]]:
        """Windows near this one, for who has no script."""
        duration = self.data.duration_ns
        n_lanes = len(self.data.lanes.shown(window.toggled))
        steps = [("Zoom in", window.stretched(0.5, 0.0, duration))]
        if window.end_ns - window.start_ns < duration:
            steps += [
                ("Zoom out", window.stretched(2.0, 0.0, duration)),
                ("Earlier", window.stretched(1.0, -0.5, duration)),
                ("Later", window.stretched(1.0, 0.5, duration)),
                ("Whole run", replace(window, start_ns=0, end_ns=duration)),
            ]
        if window.top:
            steps.append(("Lanes above", replace(window, top=max(window.top - window.rows, 0))))
        if window.top + window.rows < n_lanes:
            steps.append(("Lanes below", replace(window, top=window.top + window.rows)))
        return steps

    def _phase_table(self) -> page.Table:
        rows = []
        for number, (start, end) in enumerate(itertools.pairwise(self._phase_edges if self._model else ()), 1):
            link = self._link(str(number), start, end)
            rows.append((page.Cell(link.text, link), readable(end - start, "ns")))
        return page.Table(("phase", "duration"), tuple(rows), "Phases", "Click a phase to zoom in on it.")

    def _class_table(self) -> page.Table:
        """Each class of states, with a way to its longest stretch."""
        data = self.data
        index = data.index
        members = np.arange(len(data.trace.locations), dtype=np.int64)
        edges = np.array(data.run_ns)
        time = index.time_in(edges, members, np.zeros_like(members), 1)[0, :, 0]
        total_time = data.duration_ns * len(members)
        rows = []
        longest = data.index.longest_of_groups()
        for class_index in np.argsort(-time, kind="stable").tolist():
            name, which = data.classes[class_index], longest[class_index]
            if which is None:
                continue
            share = float(time[class_index] / total_time)
            location, start, end, text = data.longest_at(index, which)
            way = self._link(name, start, end, location, shown.CLASS_PREFIX + name)
            cells = page.Cell(name.replace("_", " "), way), str(data.class_of_state.count(name))
            rows.append((*cells, page.Cell(f"{share:.2%}", bar=share), text.partition(": ")[2]))
        return page.Table(
            ("class", "states", "share of total time", "longest interval"), tuple(rows), "Time by state class",
            "Click a class to see its longest interval.",
        )  # fmt: skip

    def _marker_table(self) -> page.Table:
        """Return the longest markers, in the order of time."""
        markers = self.data.given.markers
        longest = sorted(range(len(markers)), key=lambda index: markers[index][1] - markers[index][2])[:_MOST_LISTED]
        rows = []
        for index in sorted(longest, key=lambda index: markers[index][1]):
            name, start, end = markers[index]
            begin = start - self.data.run_ns[0]
            link = self._link(shown.state_name(name), begin, end - self.data.run_ns[0])
            lasts = readable(end - start, "ns")
            rows.append((page.Cell(link.text, link), readable(begin + self.data.shown_from_ns, "ns"), lasts))
        title = "Markers" if len(markers) <= _MOST_LISTED else f"The {_MOST_LISTED} longest of {len(markers):,} markers"
        return page.Table(("marker", "start", "duration"), tuple(rows), title)

    def _link(self, text: str, start_ns: int, end_ns: int, location: int | None = None, find: str = "") -> page.Link:
        """Return a way to a stretch, with a tenth of it on both sides, and to the lane of a location."""
        margin, query = max((end_ns - start_ns) // 10, 1), dict[str, str]()
        start, end = max(start_ns - margin, 0), min(end_ns + margin, self.data.duration_ns)
        if start < end:
            query |= shown.Window(start, end).query(self.data.run_ns, self.data.time_unit)
        if location is not None:
            query |= self._lane_query(location, shown.Window(0, 1))
        return page.Link(text, (), query | ({"find": find} if find else {}))

    def _lane_query(self, location: int, window: shown.Window) -> dict[str, str]:
        """Return the first lane that is shown, so that a location's own lane, or the group that hides it, is."""
        positions = self.data.lanes.shown(window.toggled)
        lane = [position for position in positions if location in self.data.lanes.all[position].locations][-1]
        place = positions.index(lane)
        return {"top": str(max(place - window.rows // 2, 0))} if place >= window.rows else {}

    def _lanes(self, window: shown.Window, query: page.Query) -> page.Feed:
        """Return lanes in bins: length of the JSON header, header, and a byte for each lane and column, thrice: the
        class of which there is most, its share, and the share of what is searched, both of 255.
        """
        data, lanes = self.data, self.data.lanes
        bins = data.bins(window, _count(query, "columns", shown.MOST_COLUMNS))
        header = {
            "from": window.start_ns,
            "to": window.end_ns,
            "top": window.top,
            "rows": [
                {
                    "at": position, "name": shown.state_name(lane.name), "label": shown.state_name(lane.label),
                    "depth": lane.depth,
                    "open": lanes.is_open(position, window.toggled) if lane.kind != "location" else None,
                    "members": len(lane.locations),
                }
                for position, lane in bins.lanes
            ],
            "lanes": bins.n_lanes,
            "columns": len(bins.busy),
            "busy": np.round(bins.busy, 4).tolist(),
            "markers": self._markers(window),
            "search": data.search(window.find)[1] if window.find else "",
        }  # fmt: skip
        head = msgspec.json.encode(header)
        # What is there at all is not nothing.
        shares = [np.ceil(np.clip(each, 0.0, 1.0) * 255.0).astype(np.uint8) for each in (bins.share, bins.matching)]
        planes = b"".join(each.tobytes() for each in (bins.top, *shares))
        return page.Feed(struct.pack("<I", len(head)) + head + planes, "application/octet-stream")

    def _markers(self, window: shown.Window) -> list[tuple[str, int, int]]:
        """Return the longest of those that are seen, in the order of time."""
        start, end = (each + self.data.run_ns[0] for each in (window.start_ns, window.end_ns))
        starts, ends = self._marker_times.T
        visible = np.flatnonzero((starts < end) & (ends >= start))
        if len(visible) > _MOST_MARKERS:
            visible = np.sort(visible[np.argsort(starts[visible] - ends[visible], kind="stable")[:_MOST_MARKERS]])
        begin = self.data.run_ns[0]
        return [
            (shown.state_name(self.data.given.markers[each][0]), int(starts[each]) - begin, int(ends[each]) - begin)
            for each in visible.tolist()
        ]

    def _lane_lines(self, window: shown.Window, query: page.Query) -> page.Feed:
        lanes, position = self.data.lanes.all, _count(query, "lane", None)
        if position >= len(lanes):
            raise OptionError(f"there is no lane {position}; there are {len(lanes)}")
        return _json({"lines": self.data.lines_at(lanes[position], window.start_ns, window.end_ns)})

    def _longest(self, window: shown.Window) -> page.Feed:
        location, start, end, text = self.data.longest(window.find)
        place = self._lane_query(location, window)
        return _json({"text": text, "top": place.get("top"), "from": start, "to": end})

    def _phases(self) -> page.Feed:
        """Return where the phases of the whole run are; none if it cannot be fitted."""
        with self._lock:
            try:
                edges = self._phase_edges
            except PerfError as error:
                return _json({"phases": [], "text": str(error)})
        phases = [(f"phase {number}", start, end) for number, (start, end) in enumerate(itertools.pairwise(edges), 1)]
        return _json({"phases": phases, "text": ""})

    @functools.cached_property
    def _phase_edges(self) -> Sequence[int]:
        """In nanoseconds since the run's start."""
        model = self._model
        if model is None:
            subject = self.data.curve or self.data.given
            model = fit(subject, fitter=default_fitter(subject)[0])
        return [edge - self.data.run_ns[0] for edge in model_edges(model)]


def _count(query: page.Query, name: str, most: int | None) -> int:
    try:
        count = int(query[name])
    except (KeyError, ValueError):
        raise OptionError(f"{name} {query.get(name)!r}: a number is expected") from None
    if count < 0:
        raise OptionError(f"{name} {count}: at least 0 is expected")
    return count if most is None else min(count, most)


def _json(content: Any) -> page.Feed:
    return page.Feed(msgspec.json.encode(content), _JSON)


def draw_timeline(figure: Figure, data: shown.TimelineData, bins: shown.Bins) -> None:
    """Draw the lanes of a window, and below them how many locations compute."""
    n_rows = max(len(bins.lanes), 1)
    figure.set_size_inches(figure.get_size_inches()[0], _ROW * n_rows + _CURVE + _FRAME)
    lanes, curve = figure.subplots(2, 1, height_ratios=[max(_ROW * n_rows, 0.3), _CURVE], sharex=True)
    times = (bins.edges_ns - data.run_ns[0] + data.shown_from_ns).astype(np.float64)
    axis, origin = time_axis(times[0], times[-1], "ns")
    factor, unit = readable_unit(float(np.abs(times[[0, -1]] - origin).max()), "ns")
    times = (times - origin) * factor
    curve.set_xlabel(f"{axis.label} [{unit}]")
    left, right = times[[0, -1]]
    lanes.imshow(painted(data, bins), extent=(left, right, n_rows - 0.5, -0.5), aspect="auto", interpolation="nearest")
    lanes.set_yticks(range(len(bins.lanes)))
    names = shortened_apart([shown.state_name("  " * lane.depth + lane.label) for _, lane in bins.lanes], 40)
    lanes.set_yticklabels(names, fontsize=SMALL_POINTS, parse_math=False)
    lanes.tick_params(axis="x", labelbottom=False)
    lanes.set_xlim(left, right)
    curve.stairs(bins.busy, times, color=DARK, linewidth=0.8, baseline=0.0, fill=False, label="computing")
    curve.set_ylim(bottom=0.0, top=max(float(bins.busy.max(initial=0.0)) * 1.05, 1e-9))
    curve.set_ylabel(f"of {len(data.given.locations)}\ncomputing")
    names = [name.replace("_", " ") for name in data.classes]
    add_legend(
        figure, names, [Patch(color=CLASS_COLOURS[name]) for name in data.classes], loc="outside upper left",
        ncols=6, fontsize=SMALL_POINTS,
    )  # fmt: skip


def painted(data: shown.TimelineData, bins: shown.Bins) -> npt.NDArray[np.float64]:
    """Return red, green and blue of each lane and column, 0 to 1, on white paper."""
    colours = np.array([*(to_rgb(CLASS_COLOURS[name]) for name in data.classes), (1.0, 1.0, 1.0)])
    chosen = colours[np.where(bins.top == 255, len(data.classes), bins.top)]
    strength = np.where(bins.share > 0, _FAINTEST + (1.0 - _FAINTEST) * bins.share, 0.0)[..., None]
    if bins.matching.size:
        chosen = np.where(bins.matching[..., None] > 0, to_rgb(FOUND), chosen)
        found = np.maximum(bins.matching, 0.5)[..., None]
        strength = np.where(bins.matching[..., None] > 0, found, _FAINTEST * strength)
    image: npt.NDArray[np.float64] = 1.0 - strength * (1.0 - chosen)
    return image if len(image) else np.ones((1, 1, 3))
