"""Caliper's event traces."""

from trace_samples import CALIPER_TRACE

import perfcore


def test_the_innermost_region_counts(write):
    trace = perfcore.read(write(CALIPER_TRACE))
    assert trace.locations == ("rank 0", "rank 1")
    assert trace.busy_states == ("main",)
    curve = trace.utilization()
    assert curve.edges.tolist() == [1, 1.5, 2, 2.75, 4]
    assert curve.heights.tolist() == [1, 2, 1, 2]
