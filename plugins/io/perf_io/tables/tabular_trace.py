"""A trace that stays in its table: 10^8 intervals become a curve in bounded memory.

`TabularTrace.utilization` sums up the interval boundaries in SQL, where groups that do not fit into memory go to disk.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from perf_io.tables.duck import Database, quoted
from perf_traces.joined_trace import COLUMNS, LazyTrace
from perfcore.data.curve import UtilizationCurve
from perfcore.data.trace import busy_mask, curve_from_intervals

INTERVALS = "state_intervals"  # the table or view of location, state, start_ns, end_ns

_numbers = itertools.count(1)  # of views


class TabularTrace(LazyTrace):
    """A checked trace whose intervals are in a database; see `perfcore.Trace` for what it offers.

    The arrays ``location``, ``state``, ``start_ns`` and ``end_ns`` are made when they are first asked for.
    """

    def __init__(
        self,
        database: Database,
        n_intervals: int,
        keys: Sequence[str],
        locations: Sequence[str],
        states: Sequence[str],
        *,
        time_unit: str,
        busy_states: Sequence[str] | None,
        span_ns: tuple[int, int],
        source: str,
        notes: Sequence[str],
        markers: Sequence[tuple[str, int, int]] = (),
        levels: Mapping[str, Sequence[str]] | None = None,
        facts: Mapping[str, Any] | None = None,
        intervals: str = INTERVALS,
        codes: tuple[Sequence[int], Sequence[int]] | None = None,
    ) -> None:
        super().__init__(
            locations,
            states,
            time_unit=time_unit,
            busy_states=busy_states,
            span_ns=span_ns,
            source=source,
            notes=notes,
            markers=markers,
            levels=levels,
            facts=facts,
        )
        self.intervals = intervals  # the table or view that has them
        self._codes = codes or (range(len(locations)), range(len(states)))  # positions in the database's enumerations
        self.database = database
        self._n_intervals = n_intervals
        self._keys = tuple(keys)

    @property
    def n_intervals(self) -> int:
        """Number of state intervals."""
        return self._n_intervals

    @property
    def query(self) -> str:
        """SELECT of ``location, state`` (names) and ``start_ns, end_ns``, for writing without arrays."""
        if self._keys == self.states:
            return f"SELECT location, state, start_ns, end_ns FROM {self.intervals}"
        self.database.run("CREATE OR REPLACE TABLE state_labels (name VARCHAR, label VARCHAR)")
        self.database.run(
            "INSERT INTO state_labels SELECT unnest($1), unnest($2)",
            [list(self._keys), list(self.states)],
        )
        return (
            "SELECT location, (SELECT map(list(name), list(label)) FROM state_labels)[state] AS state, "
            f"start_ns, end_ns FROM {self.intervals}"
        )

    def cut(
        self, first: int, beyond: int, locations: Sequence[int], states: Sequence[int], **facts: Any
    ) -> TabularTrace:
        """The part of it from ``first`` until before ``beyond``, nanoseconds, that stays in the database."""
        start, end = facts["span_ns"]
        keys = [self._keys[index] for index in states]
        conditions = [f"start_ns < {beyond}", f"(end_ns > {first} OR start_ns >= {first})"]
        for column, kept, every in (
            ("location", [self.locations[index] for index in locations], self.locations),
            ("state", keys, self._keys),
        ):
            if len(kept) < len(every):
                conditions.append(f"{column} IN ({', '.join(map(quoted, kept))})")
        view = f"part_{next(_numbers)}"
        self.database.run(
            f"CREATE VIEW {view} AS SELECT location, state, greatest(start_ns, {start}) AS start_ns, "
            f"least(end_ns, {end}) AS end_ns FROM {self.intervals} WHERE {' AND '.join(conditions)}"
        )
        ((n_intervals,),) = self.database.rows(f"SELECT count(*) FROM {view}")
        return TabularTrace(
            self.database,
            n_intervals,
            keys,
            [self.locations[index] for index in locations],
            [self.states[index] for index in states],
            intervals=view,
            codes=([self._codes[0][index] for index in locations], [self._codes[1][index] for index in states]),
            **facts,
        )

    def utilization(self, busy: Sequence[str] | None = None, *, idle: Sequence[str] | None = None) -> UtilizationCurve:
        """How many locations compute at each time; see `perfcore.Trace.utilization`."""
        mask = busy_mask(self.states, self.busy_states, busy, idle)
        chosen = ", ".join(quoted(key) for key, counts in zip(self._keys, mask, strict=True) if counts)
        busy = f"FROM {self.intervals} WHERE state IN ({chosen or 'NULL'})"
        n_busy = self.database.rows(f"SELECT count(*) {busy}")[0][0]
        times, offset = np.empty((2, n_busy), np.int64), 0
        for chunk in self.database.chunks(f"SELECT start_ns, end_ns {busy}", n_busy, "summing up"):
            until = offset + len(chunk["start_ns"])
            times[0, offset:until], times[1, offset:until] = chunk["start_ns"], chunk["end_ns"]
            offset = until
        return curve_from_intervals(
            times.ravel(),
            self.span_ns,
            self.time_unit,
            n_locations=len(self.locations),
            source=self.source,
        )

    @functools.cached_property
    def _arrays(self) -> dict[str, npt.NDArray[Any]]:
        arrays = {name: np.empty(self._n_intervals, dtype) for name, dtype in COLUMNS.items()}
        first = 0
        for chunk in self.database.chunks(coded_query(self.intervals), self._n_intervals, "loading"):
            last = first + len(chunk["start_ns"])
            for name, array in arrays.items():
                array[first:last] = chunk[name]
            first = last
        for name, codes in zip(("location", "state"), self._codes, strict=True):
            if codes != range(len(codes)):
                arrays[name] = np.searchsorted(codes, arrays[name]).astype(np.int32)
        return arrays


def coded_query(intervals: str = INTERVALS) -> str:
    """SELECT of all intervals in the order of the file, names as positions in their enumeration."""
    return (
        "SELECT CAST(enum_code(CAST(location AS location_names)) AS INTEGER) AS location, "
        "CAST(enum_code(CAST(state AS state_names)) AS INTEGER) AS state, start_ns, end_ns "
        f"FROM {intervals}"
    )
