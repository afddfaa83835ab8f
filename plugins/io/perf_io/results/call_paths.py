"""What profiles have in common: a time for each call path of a run."""

from __future__ import annotations

from collections.abc import Mapping

from perf_io.results.result_table import Row

ARROW = "->"  # between the regions of a call path, as in Extra-P


def profile_rows(run: Row, exclusive: Mapping[str, float], inclusive: Mapping[str, float], value: str) -> list[Row]:
    """One row for each call path of a run, with what was spent in it alone and with all that it called."""
    return [
        {**run, "callpath": path, value: amount, f"inclusive_{value}": inclusive.get(path)}
        for path, amount in exclusive.items()
    ]


def exclusive_of(inclusive: Mapping[tuple[str, ...], float]) -> dict[str, float]:
    """What was spent in each call path itself: the inclusive amount less that of the paths called from it."""
    left = dict(inclusive)
    for path, amount in inclusive.items():
        # The nearest caller that was measured; regions between may have been filtered out.
        caller = path[:-1]
        while caller and caller not in left:
            caller = caller[:-1]
        if caller:
            left[caller] -= amount
    return {ARROW.join(path): max(amount, 0.0) for path, amount in left.items()}
