"""Parts of a run for which times are summed up: the whole, its phases, or its markers."""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

import perfcore
from perf_traces.summaries.summarized_trace import SummarizedTrace
from perf_traces.windows import families, model_edges
from perfcore.base.errors import DataError
from perfcore.data.trace import Trace

NO_MARKER = "(no marker)"

Integers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Stretches:
    """A run from its start to its end without a gap, each stretch being of one part.

    Parameters
    ----------
    names : tuple of str
        Parts; one without a name is the whole run.
    edges_ns : (n + 1,) int64, nanoseconds, increasing
        Where stretches begin and end; the outermost are the run's start and end.
    part : (n,) int64
        Index into ``names`` of each stretch.
    """

    names: tuple[str, ...]
    edges_ns: Integers
    part: Integers

    @property
    def durations_ns(self) -> Integers:
        """Duration of each part."""
        total = np.zeros(len(self.names), dtype=np.int64)
        np.add.at(total, self.part, np.diff(self.edges_ns))
        return total


def span_of(trace: Trace) -> tuple[int, int]:
    """When the run begins and ends, in nanoseconds."""
    from perf_io.tables.tabular_trace import TabularTrace

    start, end = trace.span_ns
    # Their spans contain all intervals, and their arrays are not in memory.
    if not isinstance(trace, TabularTrace | SummarizedTrace):
        start, end = min(start, int(trace.start_ns.min())), max(end, int(trace.end_ns.max()))
    if end <= start:
        raise DataError(f"{trace.source}: the trace has no duration")
    return start, end


def whole_run(trace: Trace) -> Stretches:
    """One part: the run.

    Examples
    --------
    >>> whole_run(Trace([0], [0], [5], [9], ["a"], ["run"])).edges_ns.tolist()
    [5, 9]
    """
    return Stretches(("",), np.array(span_of(trace), dtype=np.int64), np.zeros(1, dtype=np.int64))


def phase_stretches(trace: Trace, phases: str | int) -> Stretches:
    """Phases of the run.

    Parameters
    ----------
    trace : Trace
    phases : str or int
        A number, a range such as ``"1..20"``, or ``"auto"``, as `perfcore.fit` takes them; or the file of a model of
        this trace, whose name ends in ``.json``.

    Raises
    ------
    DataError
        The model has no phases, or they are not those of this run.
    OptionError
        The number of phases is none that can be fitted.

    Examples
    --------
    >>> trace = Trace([0, 1], [0, 0], [0, 4000], [9000, 9000], ["a", "b"], ["run"])
    >>> found = phase_stretches(trace, 2)
    >>> found.names, found.edges_ns.tolist()
    (('phase 1', 'phase 2'), [0, 4000, 9000])
    """
    start, end = span_of(trace)
    model: Any
    if isinstance(phases, str) and phases.lower().endswith(".json"):
        model, name = perfcore.load(phases), phases
    else:
        model, name = perfcore.fit(trace, fitter="worley", phases=phases), "the fitter worley"
    first, *inner, last = model_edges(model, name)
    nearly = math.floor(2.0 * math.ulp(float(max(abs(first), abs(last)))))  # of times that the model has as floats
    if abs(first - start) > nearly or abs(last - end) > nearly:
        raise DataError(
            f"{name}: its phases are from {first} to {last} ns, and {trace.source} is from {start} to {end} ns; give "
            "the model of this trace"
        )
    edges = np.array([start, *inner, end], dtype=np.int64)
    if (np.diff(edges) <= 0).any():
        raise DataError(f"{name}: a phase lasts no nanosecond of {trace.source}; take fewer phases")
    return Stretches(tuple(f"phase {k}" for k in range(1, len(edges))), edges, np.arange(len(edges) - 1))


def marker_stretches(trace: Trace) -> Stretches:
    """Markers of the run by name; each moment belongs to the innermost, the one that began last.

    Markers that differ in a number at their end only, such as those of steps, are one part; what no marker covers is
    one, too.

    Raises
    ------
    DataError
        There is no marker that lasts.

    Examples
    --------
    >>> marks = [("step#1", 0, 40), ("io", 10, 20), ("step#2", 50, 90)]
    >>> found = marker_stretches(Trace([0], [0], [0], [100], ["cpu"], ["run"], markers=marks))
    >>> dict(zip(found.names, found.durations_ns.tolist()))
    {'step': 70, 'io': 10, '(no marker)': 20}
    """
    start, end = span_of(trace)
    clipped = [(max(begin, start), min(until, end), name) for name, begin, until in trace.markers]
    lasting = sorted(each for each in clipped if each[1] > each[0])
    if not lasting:
        raise DataError(f"{trace.source}: there are no markers in it that last; `perf info` tells what a trace has")
    family = _families([name for _, _, name in lasting])
    names = [*dict.fromkeys(family.values()), NO_MARKER]
    code = {name: names.index(base) for name, base in family.items()}
    edges = np.unique(np.array([start, end, *(k for each in lasting for k in each[:2])], dtype=np.int64))
    owner = np.full(len(edges) - 1, len(names) - 1, dtype=np.int64)
    active: list[tuple[int, int, int]] = []  # first the one that began last, of these the one that ends first
    following = 0
    for k, edge in enumerate(edges[:-1].tolist()):
        while following < len(lasting) and lasting[following][0] <= edge:
            begin, until, name = lasting[following]
            heapq.heappush(active, (-begin, until, code[name]))
            following += 1
        while active and active[0][1] <= edge:
            heapq.heappop(active)
        if active:
            owner[k] = active[0][2]
    present, part = np.unique(owner, return_inverse=True)
    return Stretches(tuple(names[k] for k in present.tolist()), edges, part.astype(np.int64))


def _families(names: Sequence[str]) -> dict[str, str]:
    """What each name counts as: itself, or what it has in common with others that differ in their number only."""
    counted = {name: base for base, members in families(names).items() if len(members) > 1 for name in members.values()}
    return {name: counted.get(name, name) for name in names}
