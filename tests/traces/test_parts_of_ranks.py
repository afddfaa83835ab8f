"""Parts of a run of several ranks are cut rank by rank, and add up to the whole."""

import numpy as np
import pytest
from traces.kineto_files import START_US, read, write_rank

from perf_traces.joined_trace import JoinedTrace
from perf_traces.windows import part_of
from perfcore import Trace


@pytest.fixture
def run(tmp_path):
    for rank in range(3):
        write_rank(tmp_path, rank, start_us=START_US + 7 * rank, world_size=3)
    return read(tmp_path)


def in_memory(trace):
    """The same trace as arrays."""
    return Trace(
        trace.location,
        trace.state,
        trace.start_ns,
        trace.end_ns,
        trace.locations,
        trace.states,
        busy_states=trace.busy_states,
        span_ns=trace.span_ns,
        markers=trace.markers,
        levels=trace.levels,
    )


@pytest.mark.parametrize(
    "asked",
    [{"until": "50%"}, {"since": 0.1, "until": "0.3ms"}, {"region": "ProfilerStep#2"}, {"only": "rank 1"},
     {"only": ("gemm", "rank 2*"), "since": "20%"}],
)  # fmt: skip
def test_a_part_is_that_of_the_same_trace_in_memory(run, asked):
    part, expected = part_of(run, **asked), part_of(in_memory(run), **asked)
    assert isinstance(part, JoinedTrace)
    assert part.span_ns == expected.span_ns
    assert part.locations == expected.locations
    assert part.levels == expected.levels
    assert part.markers == expected.markers
    assert part.n_intervals == expected.n_intervals
    rows = [
        sorted(zip(each.location.tolist(), each.start_ns.tolist(), each.end_ns.tolist(), strict=True))
        for each in (part, expected)
    ]
    assert rows[0] == rows[1]
    curves = [each.utilization(busy=["gemm"]) for each in (part, expected)]
    assert np.array_equal(curves[0].edges, curves[1].edges)
    assert np.array_equal(curves[0].heights, curves[1].heights)


def test_parts_add_up_to_the_whole(run):
    parts = [part_of(run, until=0.2), part_of(run, since=0.2, until="60%"), part_of(run, since="60%")]
    assert sum(part.utilization().integral for part in parts) == pytest.approx(run.utilization().integral, rel=1e-12)
