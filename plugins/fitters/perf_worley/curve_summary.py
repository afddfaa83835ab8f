"""A long curve in a short picture: extremes and means of any stretch of it, also at ten million steps."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from perfcore.data.curve import UtilizationCurve

Floats = npt.NDArray[np.float64]

_BLOCK = 256  # steps that are summed up once; a stretch of fewer than this in each bin is read step by step


@dataclass(frozen=True)
class Stretch:
    """Part of a curve in bins."""

    edges: Floats  # in the curve's unit; the first may lie before the stretch and the last after it
    low: Floats  # of the heights within each bin; no step is left out
    high: Floats
    mean: Floats


class CurveSummary:
    """Extremes and areas of blocks of steps, from which every stretch is put together."""

    def __init__(self, curve: UtilizationCurve) -> None:
        self.curve = curve
        self._blocks: tuple[Floats, Floats, Floats, Floats] | None = None

    def stretch(self, start: float, end: float, n_bins: int) -> Stretch:
        """Bins of nearly the same duration."""
        edges, heights = self.curve.edges, self.curve.heights
        if len(heights) > _BLOCK * n_bins:
            borders, low, high, area = self._summed()
            first, last = _within(borders, start, end)
            if last - first >= n_bins:
                blocks = slice(first, last)
                return _binned(borders[first : last + 1], low[blocks], high[blocks], area[blocks], start, end, n_bins)
        first, last = _within(edges, start, end)
        part, values = edges[first : last + 1].astype(np.float64), heights[first:last]
        if last - first <= n_bins:
            return Stretch(part, values, values, values)
        return _binned(part, values, values, np.diff(part) * values, start, end, n_bins)

    def _summed(self) -> tuple[Floats, Floats, Floats, Floats]:
        """Edges, lowest and highest height, and area of the blocks."""
        if self._blocks is None:
            edges, heights = self.curve.edges, self.curve.heights
            first = np.arange(0, len(heights), _BLOCK)
            area = np.empty(len(first))
            # A few blocks at a time: no array as long as the curve is made beside it.
            for begin in range(0, len(first), _BLOCK):
                steps = slice(first[begin], min(first[begin] + _BLOCK * _BLOCK, len(heights)))
                areas = np.diff(edges[steps.start : steps.stop + 1]) * heights[steps]
                block_starts = first[begin : begin + _BLOCK]
                area[begin : begin + _BLOCK] = np.add.reduceat(areas, block_starts - block_starts[0])
            self._blocks = (
                np.append(edges[first], edges[-1]).astype(np.float64),
                np.minimum.reduceat(heights, first),
                np.maximum.reduceat(heights, first),
                area,
            )
        return self._blocks


def _within(edges: npt.NDArray[Any], start: float, end: float) -> tuple[int, int]:
    """First step that reaches into a stretch, and the one after the last."""
    if edges.dtype.kind == "i":  # a search for other numbers would copy all edges
        start, end = math.floor(start), math.ceil(end)
    first = int(np.clip(np.searchsorted(edges, start, side="right") - 1, 0, len(edges) - 2))
    last = int(np.clip(np.searchsorted(edges, end, side="left"), first + 1, len(edges) - 1))
    return first, last


def _binned(edges: Floats, low: Floats, high: Floats, area: Floats, start: float, end: float, n_bins: int) -> Stretch:
    cuts = np.linspace(start, end, n_bins + 1)[:-1]
    first = np.unique(np.clip(np.searchsorted(edges, cuts, side="right") - 1, 0, len(low) - 1))
    borders = np.append(edges[first], edges[-1])
    return Stretch(
        borders,
        np.minimum.reduceat(low, first),
        np.maximum.reduceat(high, first),
        np.add.reduceat(area, first) / np.diff(borders),
    )
