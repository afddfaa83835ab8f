"""Times of call paths: which function called which, of traces whose readers keep calls within calls."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from perf_statistics.kernels import kernel
from perf_traces.nesting import Nesting
from perfcore.base.arrays import Ints
from perfcore.data.trace import Trace

_MOST_PATHS, _DEEPEST = 20_000, 400  # time of further paths and of deeper ones is that of their callers


@dataclass(frozen=True, eq=False)
class CallPaths:
    """A tree of calls, each path behind that of its caller."""

    function: Ints  # (n,) index of the function that a path ends with
    parent: Ints  # (n,) the path of the caller; -1 of outermost ones
    time_ns: Ints  # (n,) with callees, in all locations

    @property
    def depth(self) -> Ints:
        """Callers of each path (n,)."""
        depth = np.zeros(len(self.parent), np.int64)
        for path, parent in enumerate(self.parent.tolist()):
            depth[path] = depth[parent] + 1 if parent >= 0 else 0
        return depth

    def named(self, functions: Sequence[str], separator: str) -> dict[str, int]:
        """Return the time of each path by the names of its functions."""
        names: list[str] = []
        for function, parent in zip(self.function.tolist(), self.parent.tolist(), strict=True):
            names.append(f"{names[parent]}{separator}{functions[function]}" if parent >= 0 else functions[function])
        return dict(zip(names, self.time_ns.tolist(), strict=True))


def call_paths(trace: Trace, nesting: Nesting, function: npt.NDArray[np.int32]) -> CallPaths:
    """Return the times of call paths of all locations; ``function`` is the function of each state."""
    n = len(nesting)
    location = np.concatenate([nesting.location, trace.location]).astype(np.int64)
    start = np.concatenate([nesting.start_ns, trace.start_ns])
    end = np.concatenate([nesting.end_ns, trace.end_ns])
    functions = function[np.concatenate([nesting.state, trace.state])].astype(np.int64)
    # Calls come before the pieces that begin with them, the longest first.
    order = np.lexsort((np.arange(len(start)) >= n, -end, start, location))
    tree = np.full((4, _MOST_PATHS), -1, np.int64)
    tree[3] = 0
    count = _walk(location[order], start[order], end[order], functions[order], order < n, tree)
    function_of, parent, own = tree[0, :count].copy(), tree[1, :count].copy(), tree[3, :count].copy()
    for path in range(count - 1, 0, -1):
        if parent[path] >= 0:
            own[parent[path]] += own[path]
    return CallPaths(function_of, parent, own)


@kernel(small=20_000)
def _walk(  # pragma: no cover
    location: Ints, start: Ints, end: Ints, function: Ints, is_caller: npt.NDArray[np.bool_], tree: Ints
) -> int:
    """Fill function, caller, next path of the same caller, and own time of each path; return how many there are."""
    first_child = np.full(tree.shape[1] + 1, -1, np.int64)  # of outermost paths the last place
    path_on, end_on = np.empty(_DEEPEST, np.int64), np.empty(_DEEPEST, np.int64)
    count, depth = 0, 0
    for row in range(len(start)):
        if row and location[row] != location[row - 1]:
            depth = 0
        while depth and end_on[depth - 1] <= start[row]:
            depth -= 1
        caller = path_on[depth - 1] if depth else -1
        if not is_caller[row] and caller >= 0 and tree[0, caller] == function[row]:
            tree[3, caller] += end[row] - start[row]  # what a caller does itself
            continue
        path = first_child[caller]
        while path >= 0 and tree[0, path] != function[row]:
            path = tree[2, path]
        if path < 0:
            if count == tree.shape[1]:
                if caller >= 0 and not is_caller[row]:
                    tree[3, caller] += end[row] - start[row]
                continue
            path = count
            tree[0, path], tree[1, path], tree[2, path] = function[row], caller, first_child[caller]
            first_child[caller] = path
            count += 1
        if not is_caller[row]:
            tree[3, path] += end[row] - start[row]
        elif depth < _DEEPEST and end[row] > start[row]:
            path_on[depth], end_on[depth] = path, end[row]
            depth += 1
    return count
