"""Tables of what was varied and how long it took or how fast it was, such as ``batch,time_ms``, told from curves.

A curve is written ``time,value``: what stands before a time is what the run was given.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Generic, NamedTuple, Protocol, TypeVar

from perf_io.tables.column_names import LEVELS, SYNONYMS, split_name, without_row


# Of what a row is the how-manieth: nothing was varied, and the times are of repeated runs.
_RUNS = frozenset(
    (
        *("rep", "reps", "repeat", "repetition", "replication", "replicate", "replica", "round", "run", "trial", "try"),
        *("attempt", "retry", "pass", "iteration", "iter", "it", "step", "pid", "process_id", "build", "commit"),
        *(
            "epoch",
            "index",
            "idx",
            "i",
            "id",
            "no",
            "nr",
            "row",
            "line",
            "sample",
            "seed",
            "request",
            "job",
            "order",
            "seq",
        ),
    )
)
_NUMBERING = re.compile(r"_(?:id|no|nr|num|number|index|idx)$")
_MOMENTS = frozenset(("time", "t"))  # of samples, or how long a run took; a timestamp or a date is a moment
_RATES = frozenset(("throughput", "speedup", "speed_up", "bandwidth"))
_OTHERS = frozenset().union(*(SYNONYMS[role] for role in ("value", "start", "end", "time")), *LEVELS.values())
_NUMBERS = frozenset(("processors", "count"))  # of both kinds: heights of a curve, or what runs were given


class _Named(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def kind(self) -> str: ...


_C = TypeVar("_C", bound=_Named)


class Sweep(NamedTuple, Generic[_C]):
    """Two columns of numbers, of which the second is a time or a rate.

    ``counts_runs`` where the first only counts the rows; ``may_be_moments`` where the name of the second is also one of
    sampling times; ``may_be_log`` where the first counts and shares follow, as in a log of steps at times.
    """

    columns: tuple[_C, _C]
    counts_runs: bool
    may_be_moments: bool
    may_be_log: bool = False


def sweep_of(columns: Sequence[_C]) -> Sweep[_C] | None:
    """What was varied and how long it took or how fast it was, where a table has these two, and in this order."""
    numbers = [column for column in columns if column.kind in ("number", "timestamp")]
    if len(numbers) < 2 or any(column.kind != "number" for column in numbers):
        return None
    # A share behind a time is of the run, such as how busy its processors were.
    measured = [k for k, column in enumerate(numbers) if not _is_share(column.name)]
    shares = numbers[max(measured, default=0) + 1 :] if len(measured) > 1 else []
    numbers = numbers[: len(numbers) - len(shares)]
    (first, counting), (last, unit) = (split_name(column.name) for column in (numbers[0], numbers[-1]))
    # Between what was varied and a time that ends the rows stands what was counted of the runs.
    if len(numbers) > 2 and not (last in _MOMENTS and unit is not None):
        return None
    is_time = last in _MOMENTS or last in SYNONYMS["duration"] or (unit is not None and unit.kind == "time")
    is_measured = is_time or last in _RATES or (unit is not None and unit.kind == "rate")
    if not is_measured or without_row(last) in {*SYNONYMS["start"], *SYNONYMS["end"], *SYNONYMS["time"]} - _MOMENTS:
        return None
    if first in _OTHERS - _NUMBERS or (counting is not None and counting.kind in ("time", "rate")):
        return None
    counts_runs = _NUMBERING.sub("", first) in _RUNS
    return Sweep((numbers[0], numbers[-1]), counts_runs, last in _MOMENTS, counts_runs and bool(shares))


def _is_share(name: str) -> bool:
    unit = split_name(name).unit
    return unit is not None and unit.kind == "share"
