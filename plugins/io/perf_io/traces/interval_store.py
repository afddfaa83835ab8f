"""State intervals of any number: arrays while they are few, a table on disk when they are many."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy.typing as npt

from perf_io.tables.duck import Database
from perf_io.tables.overlap_errors import overlap_error, overlapping_rows
from perf_io.tables.tabular_trace import INTERVALS, TabularTrace
from perfcore.base.errors import InputError
from perfcore.data.trace import Trace, first_overlap

_CODES = "interval_codes"  # the table of location and state as codes

Columns = dict[str, npt.NDArray[Any]]


class IntervalStore:
    """Intervals as a reader makes them, block by block.

    Choose it for a reader whose own codes name locations and states; `perf_io.tables.state_table` takes names.
    """

    def __init__(self, source: str) -> None:
        self._source = source
        self._n_intervals = 0
        self._columns: Columns = {}
        self._table: Database | None = None
        self._span = (0, 0)

    def add(self, columns: Columns) -> None:
        """Take in more than no intervals, which must not be changed afterwards."""
        first, last = int(columns["start_ns"].min()), int(columns["end_ns"].max())
        if not self._n_intervals:
            self._columns, self._span = columns, (first, last)
        else:
            if self._table is None:
                self._table = Database(self._source)
                self._table.run(
                    f"CREATE TABLE {_CODES} (location INTEGER, state INTEGER, start_ns BIGINT, end_ns BIGINT)"
                )
                self._table.append(_CODES, self._columns)
                self._columns.clear()
            self._table.append(_CODES, columns)
            self._span = min(first, self._span[0]), max(last, self._span[1])
        self._n_intervals += len(columns["start_ns"])

    def refuse_overlaps(self, at_row: Callable[[int], tuple[int, Mapping[str, str]]]) -> None:
        """Compare the intervals of each location, sorted, on disk if need be."""
        if self._table is None:
            pair = first_overlap(*(self._columns[name] for name in ("location", "start_ns", "end_ns")))
        else:
            pair = overlapping_rows(self._table, _CODES)
        if pair is not None:
            raise overlap_error(self._source, at_row, *pair)

    def trace(
        self,
        locations: Sequence[str],
        keys: Sequence[str],
        states: Sequence[str],
        *,
        span_ns: tuple[int, int],
        time_unit: str = "us",
        busy_states: Sequence[str] | None = None,
        notes: Sequence[str] = (),
        levels: Mapping[str, Sequence[str]] | None = None,
    ) -> Trace:
        """All intervals, which the caller has checked."""
        if not self._n_intervals:
            raise InputError(self._source, "contains no state intervals")
        facts: dict[str, Any] = {
            "time_unit": time_unit,
            "busy_states": busy_states,
            "span_ns": (min(self._span[0], span_ns[0]), max(self._span[1], span_ns[1])),
            "source": self._source,
            "notes": tuple(notes),
            "levels": levels,
        }
        if self._table is None:
            columns = self._columns
            return Trace(
                columns["location"],
                columns["state"],
                columns["start_ns"],
                columns["end_ns"],
                locations,
                states,
                **facts,
            )
        self._table.add_names("location_names", locations)
        self._table.add_names("state_names", keys)
        self._table.run(
            f"CREATE VIEW {INTERVALS} AS SELECT (enum_range(NULL::location_names))[location + 1] AS location, "
            f"(enum_range(NULL::state_names))[state + 1] AS state, start_ns, end_ns FROM {_CODES}"
        )
        return TabularTrace(self._table, self._n_intervals, keys, locations, states, **facts)
