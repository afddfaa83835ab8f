"""Traces as a test makes them, at random, with messages or GPUs as locations, and models of phases cut as told."""

import itertools
import json
import struct

import numpy as np

import perfcore
from perf_traces.levels import located
from perf_traces.messages.communication import carry

STATES = ("run", "idle", "lock", "wait/waitall", "send")


def with_messages(trace, communication):
    """The trace, carrying the calls and messages of a run by hand."""
    return carry(trace, lambda: communication)


def by_gpu(trace):
    """The trace with each GPU as one location, as files of GPUs are read."""
    return located(trace, "auto")


def phases_at(edges_ns, source="data"):
    """A model whose phases are cut there: of a trace of this name that has one and three locations in turn."""
    spans = enumerate(itertools.pairwise(edges_ns))
    rows = [(place, start, end) for number, (start, end) in spans for place in range(3 if number % 2 else 1)]
    location, start, end = zip(*rows, strict=True)
    trace = perfcore.Trace(location, [0] * len(rows), start, end, list("abc"), ["run"], time_unit="ns", source=source)
    return perfcore.fit(trace, fitter="phases", phases=len(edges_ns) - 1, degree=0)


def random_trace(n_locations=6, each=50, seed=1, **facts):
    """Intervals with gaps between them, in no order."""
    rng = np.random.default_rng(seed)
    cuts = np.sort(rng.choice(20_000, (n_locations, 2 * each), replace=False), axis=1) + 1000
    order = rng.permutation(n_locations * each)
    state = rng.integers(0, 4, n_locations * each)
    columns = (np.repeat(np.arange(n_locations), each), state, cuts[:, ::2], cuts[:, 1::2])
    names = [f"rank {at // 2} / thread {at % 2}" for at in range(n_locations)]
    states = ["solve", "MPI_Wait", "MPI_Allreduce", "free"]
    return perfcore.Trace(*(column.ravel()[order] for column in columns), names, states, source="random", **facts)


def lanes_of(view, query, path=()):
    """What the page gets for its lanes: what is said, and planes of (lanes, columns)."""
    content = view.feed((*path, "lanes"), {"columns": "40", **query}).content
    (length,) = struct.unpack_from("<I", content)
    said = json.loads(content[4 : 4 + length])
    planes = np.frombuffer(content, np.uint8, offset=4 + length)
    return said, planes.reshape(-1, len(said["rows"]), said["columns"])


def trace_of(rows, n_locations, states=STATES, **facts):
    """A trace from (location, state, start, end)."""
    location, state, start, end = zip(*rows, strict=True)
    names = [f"cpu{k}" for k in range(n_locations)]
    return perfcore.Trace(location, [states.index(s) for s in state], start, end, names, states, **facts)
