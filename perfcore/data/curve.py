"""The processor-utilization curve: how many processors compute at each time."""

from __future__ import annotations

import functools
import hashlib
import importlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from perfcore.base import pd
from perfcore.base.arrays import Floats
from perfcore.base.errors import DataError
from perfcore.data.units import EXACT_NS, nanoseconds_per
from perfcore.hooks.registry import registry
from perfcore.report import Shown

if TYPE_CHECKING:
    from pathlib import Path


__all__ = ["PROCESSORS_COMPUTING", "UtilizationCurve"]

PROCESSORS_COMPUTING = "busy processors"  # what the heights of a trace's curve are

_CHUNK = 1 << 20  # steps checked at a time: bounded temporaries at 10^8 steps
_FINGERPRINT_SAMPLES = 1 << 16


class UtilizationCurve(Shown):
    """A nonnegative step function of time.

    Parameters
    ----------
    edges : (n_steps + 1,) float or int
        Times at which the height changes, increasing, in ``time_unit``. Whole numbers are kept as int64, so that
        nanoseconds since 1970 lose nothing. Steps of zero width are dropped.
    heights : (n_steps,) float, >= 0
        Number of computing processors (or any utilization) between ``edges[j]`` and ``edges[j + 1]``.
    time_unit : {"us", "ns", "ms", "s"}
        Unit of ``edges``.
    n_locations : int, optional
        How many processors there are, if known.
    source : str, optional
        Where the data came from, for messages.
    notes : sequence of str, optional
        What its reader has to say about it, for ``perf info``.
    quantity : str
        What the heights are: of a table, which may hold requests or passengers, the name of the column.

    Raises
    ------
    DataError
        Wrong lengths, values that are not finite, negative heights or decreasing edges; the message names the
        first place.

    Examples
    --------
    >>> curve = UtilizationCurve([0, 2, 3], [1, 4], time_unit="us")
    >>> curve.n_steps, curve.mean
    (2, 2.0)
    """

    def __init__(
        self,
        edges: npt.ArrayLike,
        heights: npt.ArrayLike,
        time_unit: str = "us",
        *,
        n_locations: int | None = None,
        source: str = "curve",
        notes: Sequence[str] = (),
        quantity: str = PROCESSORS_COMPUTING,
    ) -> None:
        nanoseconds_per(time_unit)
        self.time_unit, self.n_locations, self.source = time_unit, n_locations, source
        self.notes, self.quantity = tuple(notes), quantity
        times = _numbers(edges, "edges")
        values = _numbers(heights, "heights").astype(np.float64, copy=False)
        if times.ndim != 1 or values.ndim != 1 or len(times) != len(values) + 1:
            raise DataError(
                f"{source}: {times.size} edges and {values.size} heights; "
                "a curve has one edge more than heights, both one-dimensional"
            )
        if len(values) == 0:
            raise DataError(f"{source}: the curve has no steps")
        zero_width = _check(times, values, source)
        if zero_width:
            keep = np.empty(len(values), dtype=bool)
            np.not_equal(times[1:], times[:-1], out=keep)
            if not keep.any():
                raise DataError(f"{source}: the curve has no duration, all its edges are {times[0]!s}")
            values = values[keep]
            times = np.append(times[:-1][keep], times[-1])
        self.edges: npt.NDArray[Any] = _frozen(times)
        self.heights: Floats = _frozen(values)

    reporter: ClassVar[str] = "perfcore.data.answers:report_of_curve"
    data_kind: ClassVar[str] = "curve"
    in_words: ClassVar[str] = "a utilization curve"
    join_options: ClassVar[str] = "perf_traces.options:CurveOptions"

    @classmethod
    def join(
        cls,
        parts: Iterable[tuple[Path, UtilizationCurve]],
        fields: Sequence[Mapping[str, Any]],
        name: str,
        options: Any,
        *how_to_read: Any,
    ) -> Any:
        """Return the part of a curve that is asked for; of several what the default fitter of curves makes of them.

        Arguments are those of `perfcore.reading.recognise.join`.
        """
        wanted_part = importlib.import_module("perf_traces.windows").wanted_part
        selected = ((path, wanted_part(curve, options)) for path, curve in parts)
        if len(fields) == 1 and not fields[0]:
            return next(selected)[1]
        entries = registry().entries("fitters").values()
        return next(entry for entry in entries if "curve" in entry.default_for).load().join_runs(selected, fields, name)

    def __repr__(self) -> str:
        extent = f"{self.start!s} to {self.end!s} {self.time_unit}"
        return f"UtilizationCurve({self.n_steps} steps, {extent}, mean {self.mean:.6g})"

    def to_frame(self) -> pd.DataFrame:
        """A row for each step: start, end and height."""
        sides = {f"start_{self.time_unit}": self.edges[:-1], f"end_{self.time_unit}": self.edges[1:]}
        return pd.DataFrame({**sides, "processors": self.heights})

    @property
    def n_steps(self) -> int:
        """Number of steps."""
        return len(self.heights)

    @property
    def start(self) -> float:
        """First edge."""
        return self.edges[0].item()  # type: ignore[no-any-return]

    @property
    def end(self) -> float:
        """Last edge."""
        return self.edges[-1].item()  # type: ignore[no-any-return]

    @property
    def duration(self) -> float:
        """Time from the first to the last edge."""
        return float(self.edges[-1] - self.edges[0])

    @functools.cached_property
    def integral(self) -> float:
        """Area under the curve: processors times ``time_unit``."""
        return float(sum(np.dot(np.diff(edges), heights) for edges, heights in self._chunks()))

    @property
    def mean(self) -> float:
        """Time average of the height."""
        return self.integral / self.duration

    @property
    def relative_edges(self) -> Floats:
        """Edges as float64 counted from the first one; no copy where they already are."""
        if self.edges.dtype == np.float64 and self.edges[0] == 0.0:
            return self.edges
        return np.asarray(np.subtract(self.edges, self.edges[0]), dtype=np.float64)

    def counted_from_start(self) -> UtilizationCurve:
        """The curve with its start as time 0 where a float64 cannot hold its whole times; else itself."""
        if self.edges.dtype.kind != "i" or abs(self.start) <= EXACT_NS:
            return self
        notes = (*self.notes, f"times count from the first, at {self.start} {self.time_unit}")
        return self._with(self.edges - self.edges[0], self.heights, notes)

    def _chunks(self) -> Iterator[tuple[npt.NDArray[Any], Floats]]:
        for first in range(0, self.n_steps, _CHUNK):
            last = min(first + _CHUNK, self.n_steps)
            yield self.edges[first : last + 1], self.heights[first:last]

    def value_at(self, times: npt.ArrayLike) -> Floats:
        """Heights at given times; at an edge the step to its right counts. NaN outside of the curve."""
        instants = np.asarray(times)
        index = np.clip(np.searchsorted(self.edges, instants, side="right") - 1, 0, self.n_steps - 1)
        inside = (instants >= self.edges[0]) & (instants <= self.edges[-1])
        return np.where(inside, self.heights[index], np.nan)

    def merged(self) -> UtilizationCurve:
        """The same function with neighbouring steps of equal height joined; itself when there are none."""
        keep = np.ones(self.n_steps + 1, np.bool_)  # edges
        np.not_equal(self.heights[1:], self.heights[:-1], out=keep[1:-1])
        if keep.all():
            return self
        return self._with(self.edges[keep], self.heights[keep[:-1]], self.notes)

    def _with(self, edges: npt.NDArray[Any], heights: Floats, notes: Sequence[str]) -> UtilizationCurve:
        """Return another curve of the same quantity, locations and source."""
        facts: dict[str, Any] = {fact: getattr(self, fact) for fact in ("n_locations", "source", "quantity")}
        return UtilizationCurve(edges, heights, self.time_unit, notes=notes, **facts)

    def averaged(self, n_bins: int) -> tuple[Floats, Floats]:
        """Time averages in ``n_bins`` bins of equal duration.

        Returns
        -------
        edges : (n_bins + 1,) float
            Times in ``time_unit``.
        means : (n_bins,) float
            Mean height in each bin.

        Examples
        --------
        >>> UtilizationCurve([0, 1, 4], [4, 0]).averaged(2)[1]
        array([2., 0.])
        """
        cuts = np.linspace(0.0, self.duration, n_bins + 1)
        return float(self.start) + cuts, np.diff(self.area_until(cuts)) / np.diff(cuts)

    def area_until(self, elapsed: Floats) -> Floats:
        """Area under the curve from its start until so long (...,) after it, 0 to `duration`.

        Examples
        --------
        >>> UtilizationCurve([5, 6, 9], [4, 1]).area_until(np.array([1.0, 2.0]))
        array([4., 5.])
        """
        # The edges about each time, so that no array as long as the curve is made.
        near = np.searchsorted(self.edges, self.edges[0] + elapsed.astype(self.edges.dtype))
        places = np.sort(np.clip(near[..., None] + np.arange(-2, 3), 0, self.n_steps), axis=None)
        places = places[np.append(True, places[1:] > places[:-1])]  # not by `numpy.unique`, which hashes
        area, total = np.empty(len(places)), 0.0
        for number, (edges, heights) in enumerate(self._chunks()):
            first = number * _CHUNK
            inside = slice(*np.searchsorted(places, (first, first + len(heights))))
            starts = places[inside] - first
            products = np.multiply(np.diff(edges), heights)
            total += float(products[: starts[0] if len(starts) else None].sum())
            if len(starts):
                sums = np.cumsum(np.append(total, np.add.reduceat(products, starts)))
                area[inside], total = sums[:-1], float(sums[-1])
        area[places == self.n_steps] = total
        return np.interp(elapsed, (self.edges[places] - self.edges[0]).astype(np.float64), area)

    @functools.cached_property
    def fingerprint(self) -> str:
        """Identity of the data for model files.

        A hash of the length, the area and up to 65,536 evenly spread steps, so that it costs little at 10^8 steps.
        """
        stride = max(1, self.n_steps // _FINGERPRINT_SAMPLES)
        digest = hashlib.sha256(f"{self.n_steps} {self.integral!r} {self.time_unit}".encode())
        digest.update(np.ascontiguousarray(self.edges[::stride]).tobytes())
        digest.update(np.ascontiguousarray(self.heights[::stride]).tobytes())
        return f"sha256:{digest.hexdigest()[:32]}"

    @classmethod
    def from_samples(
        cls,
        times: npt.ArrayLike,
        values: npt.ArrayLike,
        time_unit: str = "us",
        *,
        end: float | None = None,
        **facts: Any,
    ) -> Self:
        """A curve from samples, each valid until the next one.

        Parameters
        ----------
        times, values : (n,) float
            Sampling times, increasing, and values.
        end : float, optional
            Until when the last sample is valid; by default it lasts as long as the median sample.
        """
        starts = _numbers(times, "times")
        if end is None:
            if len(starts) < 2:
                raise DataError(f"{facts.get('source', 'curve')}: one sample has no duration; give the end")
            width = np.median(np.diff(starts))
            end = starts[-1] + (width.astype(starts.dtype) if starts.dtype.kind == "i" else width)
        return cls(np.append(starts, end), values, time_unit, **facts)


def _numbers(values: npt.ArrayLike, name: str) -> npt.NDArray[Any]:
    """Int64 where all are whole numbers of an integer type, else float64."""
    try:
        array = np.asarray(values)
        if array.dtype.kind in "iub":
            return array.astype(np.int64, copy=False)
        return array.astype(np.float64, copy=False)
    except (TypeError, ValueError) as error:
        raise DataError(f"{name}: numbers are expected: {error}") from None


def _check(edges: npt.NDArray[Any], heights: Floats, source: str) -> bool:
    """Refuse what is not a curve; say whether there are steps of zero width."""
    zero_width = False
    for first in range(0, len(heights), _CHUNK):
        part = heights[first : first + _CHUNK]
        # NaN fails every comparison, so one test finds NaN, negative and infinite heights.
        good = (part >= 0.0) & (part < np.inf)
        if not good.all():
            index = first + int(np.argmin(good))
            raise DataError(
                f"{source}: height {heights[index]} of step {index} (from time {edges[index]!s}); "
                "heights must be finite and not negative"
            )
        with np.errstate(invalid="ignore"):  # infinity minus infinity is reported below
            widths = np.diff(edges[first : first + _CHUNK + 1])
        good = widths > 0
        if not good.all():
            increasing = (widths >= 0) & (widths < np.inf)
            if not increasing.all():
                index = first + int(np.argmin(increasing))
                raise DataError(
                    f"{source}: time {edges[index + 1]!s} follows {edges[index]!s} at edge {index + 1}; "
                    "times must be finite and increase"
                )
            zero_width = True
    for index in (0, len(edges) - 1):  # what lies between has passed, since it increases
        if not np.isfinite(edges[index]):
            raise DataError(f"{source}: time {edges[index]!s} at edge {index}; times must be finite and increase")
    return zero_width


def _frozen(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    view = np.ascontiguousarray(array).view()
    view.flags.writeable = False
    return view
