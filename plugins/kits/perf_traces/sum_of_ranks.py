"""How many locations compute, summed up over ranks of which no two are in memory together.

Each rank's beginnings and ends are sorted by themselves and put on disk; then all are merged stretch by stretch of the
run. Beside one rank, memory holds one stretch; the steps of the curve go to disk as they come.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from perfcore.base import progress
from perfcore.data.curve import UtilizationCurve
from perfcore.data.units import nanoseconds_per


Integers = npt.NDArray[np.int64]

FEW_INTERVALS = 1 << 18  # that are summed up in memory: some 10 MB meanwhile
_CHANGES_AT_ONCE = 1 << 19
_SAMPLES = 1 << 12  # of the times of a rank, to tell stretches with about as many changes


def summed_curve(
    ranks: Iterable[tuple[Integers, Integers]],
    folder: Path,
    span_ns: tuple[int, int],
    time_unit: str,
    *,
    changes_at_once: int = _CHANGES_AT_ONCE,
    **facts: Any,
) -> UtilizationCurve:
    """The curve of intervals that come rank by rank."""
    changes = [_sorted(times, folder / f"changes{k}.npy", span_ns[0]) for k, times in enumerate(ranks)]
    steps = _Steps(folder, span_ns, time_unit)
    with steps, progress.bar("summing up ranks", sum(map(len, changes))) as advance:
        begun = [0] * len(changes)
        for bound in _bounds(changes, changes_at_once):
            until = [int(np.searchsorted(each, bound)) for each in changes]
            merged = np.concatenate([each[first:last] for each, first, last in zip(changes, begun, until, strict=True)])
            begun = until
            if len(merged):
                merged.sort(kind="stable")  # runs of sorted numbers, which it merges
                steps.add(merged)
                advance(len(merged))
    return steps.curve(**facts)


def _sorted(times: tuple[Integers, Integers], path: Path, zero: int) -> Integers:
    """Twice the time from the run's start, one more for a beginning: sorted, mapped from a file."""
    changes = np.concatenate(times)
    changes -= zero
    changes <<= 1
    changes[: len(times[0])] |= 1
    changes.sort(kind="stable")
    np.save(path, changes, allow_pickle=False)
    mapped: Integers = np.load(path, mmap_mode="r", allow_pickle=False)
    return mapped


def _bounds(changes: Sequence[Integers], at_once: int) -> Iterator[int]:
    """Ends of stretches with about so many changes each, never between two of one time."""
    samples, weights = [], []
    for each in changes:
        if len(each):
            sample = each[:: -(-len(each) // _SAMPLES)]
            samples.append(sample)
            weights.append(np.full(len(sample), len(each) / len(sample)))
    if samples:
        times, weight = np.concatenate(samples), np.concatenate(weights)
        order = np.argsort(times, kind="stable")
        stretch = (np.cumsum(weight[order]) // at_once).astype(np.int64)
        last = np.flatnonzero(np.diff(stretch))
        yield from np.unique(times[order][last] & ~1).tolist()
    yield np.iinfo(np.int64).max


class _Steps:
    """Steps of a curve, which go to disk as they come."""

    def __init__(self, folder: Path, span_ns: tuple[int, int], time_unit: str) -> None:
        self._span, self._time_unit = span_ns, time_unit
        self._type = np.int64 if nanoseconds_per(time_unit) == 1 else np.float64
        self._paths = folder / "edges.bin", folder / "heights.bin"
        self._level = self._count = 0

    def __enter__(self) -> None:
        self._edges, self._heights = (path.open("wb") for path in self._paths)

    def __exit__(self, *_: object) -> None:
        if not self._count:
            self._write(np.zeros(1, np.int64), np.zeros(1))
        self._edges.write(self._times(np.array([self._span[1] - self._span[0]])).tobytes())
        self._edges.close()
        self._heights.close()

    def add(self, changes: Integers) -> None:
        """Take in changes that lie behind all before, sorted."""
        times = changes >> 1
        level = ((changes & 1).astype(np.int8) * 2 - 1).cumsum(dtype=np.int64)
        level += self._level
        kept = np.append(times[1:] != times[:-1], True)
        kept &= times < self._span[1] - self._span[0]
        times, after = times[kept], level[kept]
        begins = np.append(self._level, after[:-1]) != after
        self._level = int(level[-1])
        times, after = times[begins], after[begins]
        if not self._count and len(times) and times[0] > 0:  # the run may begin before anyone computes
            self._write(np.zeros(1, np.int64), np.zeros(1))
        self._write(times, after.astype(np.float64))

    def curve(self, **facts: Any) -> UtilizationCurve:
        """The curve of all steps, mapped from their files."""
        edges = np.memmap(self._paths[0], self._type, "r")
        heights = np.memmap(self._paths[1], np.float64, "r")
        return UtilizationCurve(edges, heights, self._time_unit, **facts)

    def _times(self, from_start: Integers) -> npt.NDArray[Any]:
        times = (from_start + self._span[0]).astype(self._type)
        return times if self._type is np.int64 else times / nanoseconds_per(self._time_unit)

    def _write(self, times: Integers, heights: npt.NDArray[np.float64]) -> None:
        self._edges.write(self._times(times).tobytes())
        self._heights.write(heights.tobytes())
        self._count += len(times)
