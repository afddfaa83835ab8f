"""Parts of a run: the whole, its phases, or its markers."""

from __future__ import annotations

import heapq
import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np

import perfcore
from perf_traces.joined_trace import run_of
from perf_traces.runs import Named
from perf_traces.windows import families, model_edges
from perfcore.base.arrays import Ints
from perfcore.base.errors import DataError, OptionError
from perfcore.data.trace import Trace
from perfcore.data.units import readable
from perfcore.models.model import Model

NO_MARKER = "(no marker)"
_AUTO = "auto"


@dataclass(frozen=True)
class Stretches:
    """A run from its start to its end without a gap, each stretch being of one part."""

    names: tuple[str, ...]  # parts; one without a name is the whole run
    edges_ns: Ints  # where stretches begin and end; the outermost are the run's start and end
    part: Ints  # index into ``names`` of each stretch


def phase_edges(
    trace: Trace,
    phases: str | os.PathLike[str] | int | Model,
    *,
    degree: str = _AUTO,
    busy: Sequence[str] | None = None,
) -> list[int]:
    """Where the phases of a trace begin and end: those of a model of it, or as the fitter `phases` finds them."""
    is_file = isinstance(phases, str) and (phases.lower().endswith(".json") or Path(phases).is_file())
    if is_file or isinstance(phases, (Model, os.PathLike)):
        if degree != _AUTO:
            raise OptionError("--degree is of phases that are fitted, and --phases names a model, which has its own")
        model = phases if isinstance(phases, Model) else perfcore.load(cast("Named", phases))
        edges = model_edges(model)
        _check_belongs(trace, model, edges)
        return edges
    # States that are those of the trace anyway need not be named: iterations are then those that `perf fit` sees.
    named = None if busy is None or set(busy) == set(trace.busy_states) else tuple(busy)
    return model_edges(perfcore.fit(trace, fitter="phases", phases=phases, degree=degree, busy=named))


def _check_belongs(trace: Trace, model: Any, edges: Sequence[int]) -> None:
    """Refuse a model of another run, or of another part of it."""
    origin, (start, end) = model.origin, run_of(trace)
    rounding = math.floor(2.0 * math.ulp(max(abs(edges[0]), abs(edges[-1]))))  # of times that the model has as floats
    if max(abs(edges[0] - start), abs(edges[-1] - end)) > rounding:
        spans = [" to ".join(readable(time, "ns") for time in span) for span in ((start, end), (edges[0], edges[-1]))]
        raise DataError(
            f"{trace.source}: goes from {spans[0]}, and the phases of the model, which is of {origin.source}, from "
            f"{spans[1]}; fit this trace, or read the same part of it (--from, --to)"
        )
    if Path(origin.source).name == Path(trace.source).name:
        return
    chosen = {name: origin.options.get(name) for name in ("busy", "idle")}
    try:
        same = trace.utilization(chosen["busy"], idle=chosen["idle"]).fingerprint == origin.fingerprint
    except OptionError:  # states that this trace does not have
        same = False
    if not same:
        raise DataError(
            f"{trace.source}: the phases are those of a model of other data, {origin.source}; fit this trace"
        )


def phase_stretches(trace: Trace, phases: str | int) -> Stretches:
    """Phases of the run, as `phase_edges` finds them."""
    _, *inner, _ = phase_edges(trace, phases)
    start, end = run_of(trace)
    edges = np.array([start, *inner, end], dtype=np.int64)
    if (np.diff(edges) <= 0).any():
        raise DataError(f"a phase lasts no nanosecond of {trace.source}; take fewer phases")
    return Stretches(tuple(f"phase {k}" for k in range(1, len(edges))), edges, np.arange(len(edges) - 1))


def marker_stretches(trace: Trace) -> Stretches:
    """Markers of the run by name; each moment belongs to the innermost, the one that began last, or to no marker."""
    start, end = run_of(trace)
    clipped = [(max(begin, start), min(until, end), name) for name, begin, until in trace.markers]
    lasting = sorted(each for each in clipped if each[1] > each[0])
    if not lasting:
        raise DataError(f"{trace.source}: no markers with a duration; `perf info` shows what a trace has")
    family = {name: name for _, _, name in lasting}
    for base, members in families(list(family)).items():
        if len(members) > 1:  # names that differ in a number at their end only
            family |= dict.fromkeys(members.values(), base)
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
