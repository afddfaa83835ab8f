"""Inclusive times and calls, from the intervals of a trace and the calls that have callees.

The inclusive time of a function is that in which a location is in any call of it: a function that calls itself, at
whatever depth, counts once. So it is the union of its calls.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from perf_profile.stretches import Stretches
from perf_traces.nesting import Nesting
from perfcore.base.kernels import announce_compilation, kernel
from perfcore.data.trace import Trace

__all__ = ["with_callers"]

Integers = npt.NDArray[np.int64]

_BEFORE = np.iinfo(np.int64).min


@kernel
def _unite(
    cell: Integers, start: Integers, end: Integers, edges: Integers, part: Integers, times: Integers
) -> None:  # pragma: no cover
    """Add to ``times`` (n_cells, n_parts) the union of each cell's intervals, which are sorted by cell and start."""
    n_stretches, reach = len(part), _BEFORE
    for row in range(len(cell)):
        if row == 0 or cell[row] != cell[row - 1]:
            reach = _BEFORE
        first, last = max(start[row], reach), end[row]
        reach = max(reach, last)
        stretch = min(max(np.searchsorted(edges, first, "right") - 1, 0), n_stretches - 1)
        while first < last:
            until = last if stretch == n_stretches - 1 else min(last, edges[stretch + 1])
            times[cell[row], part[stretch]] += until - first
            first = until
            stretch += 1


def with_callers(
    trace: Trace,
    nesting: Nesting,
    function: npt.NDArray[np.int32],
    stretches: Stretches,
    times: Integers,
    begun: Integers,
) -> tuple[Integers, Integers]:
    """Inclusive times and calls of a run with nested states.

    Parameters
    ----------
    trace : Trace
    nesting : Nesting
        Of it.
    function : (n_states,) int32
        The function that each state is.
    stretches : Stretches
    times, begun : (n_functions, n_locations, n_parts) int64
        Exclusive times, in nanoseconds, and how many intervals begin.

    Returns
    -------
    inclusive, calls : (n_functions, n_locations, n_parts) int64
    """
    n_locations, n_parts = times.shape[1:]

    def cells(location: npt.NDArray[np.int32], state: npt.NDArray[np.int32]) -> Integers:
        return np.asarray(function[state].astype(np.int64) * n_locations + location)

    def count(cell: Integers, start: Integers) -> Integers:
        stretch = np.clip(np.searchsorted(stretches.edges_ns, start, "right") - 1, 0, len(stretches.part) - 1)
        number: Integers = np.bincount(cell * n_parts + stretches.part[stretch], minlength=times.size)
        return number.reshape(times.shape)

    rest = np.flatnonzero(~nesting.is_call)
    calling = cells(nesting.location, nesting.state)
    calls = begun - count(cells(trace.location[rest], trace.state[rest]), trace.start_ns[rest])
    calls += count(calling, nesting.start_ns)
    has_callers = np.zeros(times.shape[:2], bool)
    has_callers.ravel()[calling] = True
    # What has no callers is entered by whole intervals only, which do not overlap.
    inclusive = np.where(has_callers[:, :, None], 0, times)
    leaves = np.flatnonzero(has_callers[function[trace.state], trace.location] & nesting.is_call)
    cell = np.concatenate([calling, cells(trace.location[leaves], trace.state[leaves])])
    start = np.concatenate([nesting.start_ns, trace.start_ns[leaves]])
    end = np.concatenate([nesting.end_ns, trace.end_ns[leaves]])
    order = np.lexsort((start, cell))
    announce_compilation(_unite)
    _unite(cell[order], start[order], end[order], stretches.edges_ns, stretches.part, inclusive.reshape(-1, n_parts))
    return inclusive, calls
