"""Traces as a test makes them: with messages, with GPUs as locations, and models of phases that are cut as told."""

import itertools

import perfcore
from perf_traces.levels import located
from perf_traces.messages.communication import carry


def with_messages(trace, communication):
    """The trace, carrying the calls and messages of a run by hand."""
    return carry(trace, lambda: communication)


def by_gpu(trace):
    """The trace with each GPU as one location, as files of GPUs are read."""
    return located(trace, "auto")


def phases_at(edges_ns, source="data"):
    """A model whose phases are cut there: of a trace of this name that has one and three locations in turn."""
    rows = [
        (place, start, end)
        for number, (start, end) in enumerate(itertools.pairwise(edges_ns))
        for place in range(3 if number % 2 else 1)
    ]
    location, start, end = zip(*rows, strict=True)
    trace = perfcore.Trace(location, [0] * len(rows), start, end, list("abc"), ["run"], time_unit="ns", source=source)
    return perfcore.fit(trace, fitter="phases", phases=len(edges_ns) - 1, degree=0)
