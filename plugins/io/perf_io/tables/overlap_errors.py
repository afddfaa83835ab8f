"""Intervals of one location that overlap: which they are, and what to say of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from perf_io.tables.duck import Database
from perfcore.base.errors import InputError


def overlapping_rows(database: Database, intervals: str) -> tuple[int, int] | None:
    """Two rows of one location that overlap, or None; sorted by the database, on disk if need be."""
    pairs = database.rows(
        "SELECT earlier, row FROM (SELECT row, start_ns, "
        "lag(end_ns) OVER by_location AS until_ns, lag(row) OVER by_location AS earlier "
        f"FROM (SELECT row_number() OVER () - 1 AS row, * FROM {intervals}) WHERE end_ns > start_ns "
        "WINDOW by_location AS (PARTITION BY location ORDER BY start_ns, row)) WHERE start_ns < until_ns LIMIT 1"
    )
    return (pairs[0][0], pairs[0][1]) if pairs else None


def overlap_error(
    source: str, at_row: Callable[[int], tuple[int, Mapping[str, str]]], one: int, two: int, cure: str = ""
) -> InputError:
    """The error for two rows of one location that overlap; ``at_row`` as for `StateTable`."""
    (first_line, first), (line, second) = at_row(one), at_row(two)
    since, until = second.get("since", second["start"]).strip(), first.get("until", first["end"]).strip()
    return InputError(
        source,
        f"{second['location']!r} is in state {second['state']!r} from {since} although "
        f"{first['state']!r} (line {first_line}) lasts until {until}; "
        f"states of one location must not overlap{cure}",
        line=line,
    )
