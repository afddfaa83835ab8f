"""A trace without the states that its file only defines: hundreds of regions of MPI that no process was ever in."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from perfcore.base.errors import InputError
from perfcore.data.trace import Trace

__all__ = ["used_states"]


def used_states(
    found: Trace,
    *,
    without: str | None = None,
    duration_ns: int | None = None,
    notes: Sequence[str] = (),
) -> Trace:
    """The trace with the states that occur.

    Parameters
    ----------
    found : Trace
    without : str, optional
        A state that says that there is none.
    duration_ns : int, optional
        How long the run took from time 0, where the file says it.
    notes : sequence of str
        In place of the trace's own.

    Raises
    ------
    InputError
        Nothing is left.
    """
    keep = np.array([name != without for name in found.states])[found.state]
    if not keep.any():
        raise InputError(found.source, "contains no state that lasts")
    used, state = np.unique(found.state[keep], return_inverse=True)
    names = [found.states[code] for code in used.tolist()]
    first, last = found.span_ns
    return Trace(
        found.location[keep],
        state,
        found.start_ns[keep],
        found.end_ns[keep],
        found.locations,
        names,
        time_unit=found.time_unit,
        span_ns=(first, last) if duration_ns is None else (min(0, first), max(duration_ns, last)),
        source=found.source,
        notes=notes,
    )
