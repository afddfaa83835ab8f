"""A trace without the states that its file only defines: hundreds of regions of MPI that no process was ever in."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from perf_traces.nesting import BACKGROUND, Nesting, keep_nesting, nesting_of
from perfcore.base.errors import InputError
from perfcore.data.trace import Trace


def used_states(
    original: Trace, *, without: str | None = None, duration_ns: int | None = None, notes: Sequence[str] = ()
) -> Trace:
    """The trace with the states that occur."""
    is_wanted = np.array([name != without for name in original.states])
    keep = is_wanted[original.state]
    if not keep.any():
        raise InputError(original.source, "contains no state that lasts")
    nesting, lasting = nesting_of(original), original.state[keep]
    calling = np.zeros(0, np.int64)
    if nesting is not None:
        calling = np.flatnonzero(is_wanted[nesting.state])
        lasting = np.concatenate([lasting, nesting.state[calling]])
    used, code = np.unique(lasting, return_inverse=True)
    names = [original.states[code] for code in used.tolist()]
    state = code.reshape(-1).astype(np.int32)
    n_intervals = int(keep.sum())
    first, last = original.span_ns
    trace = Trace(
        original.location[keep],
        state[:n_intervals],
        original.start_ns[keep],
        original.end_ns[keep],
        original.locations,
        names,
        time_unit=original.time_unit,
        span_ns=(first, last) if duration_ns is None else (min(0, first), max(duration_ns, last)),
        source=original.source,
        notes=notes,
        levels=original.levels,
        facts={BACKGROUND: original.facts[BACKGROUND]} if original.facts.get(BACKGROUND) in names else None,
    )
    if nesting is not None:
        kept_nesting = Nesting(
            nesting.location[calling],
            state[n_intervals:],
            nesting.start_ns[calling],
            nesting.end_ns[calling],
            nesting.is_call[keep],
        )
        keep_nesting(trace, kept_nesting)
    return trace
