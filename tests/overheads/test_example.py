"""The example's categories on the example's trace, against the utilization curve of the same trace."""

from pathlib import Path

import numpy as np
import pytest

import perfcore
from perf_analysis.attribution import profile_overheads
from perf_analysis.categories import read_categories

EXAMPLES = Path(__file__).parents[2] / "examples"


def test_losses_are_areas_beside_the_utilization_curve():
    """With W and C workers that wait and compute, the losses are the integrals of W where C > 1, C = 1 and C = 0."""
    trace = perfcore.read(EXAMPLES / "cholesky" / "cholesky_trace.csv.gz")
    profile = profile_overheads(trace, read_categories(EXAMPLES / "overheads" / "task_graph.toml"))
    computing = trace.utilization(["computing"])
    waiting = trace.utilization(["waiting"])
    edges = np.union1d(computing.edges, waiting.edges)
    middle = (edges[1:] + edges[:-1]) / 2
    c, w = computing.value_at(middle), waiting.value_at(middle)
    area_us = [np.sum((w * np.diff(edges))[where]) for where in (c > 1, c == 1, c == 0)]
    assert profile.by_category_ns[1:4] / 1e3 == pytest.approx(area_us, rel=1e-9)
    assert profile.by_category_ns[0] / 1e3 == pytest.approx(computing.integral, rel=1e-12)
    assert profile.total_ns == 4 * profile.elapsed_ns


@pytest.mark.real_data
@pytest.mark.parametrize(
    "name", ["paraver/qsort_beo3.prv", "paje/qr_trace.paje.worker_state.csv.gz", "picl/conceptual_pingpong.trf"]
)
def test_real_traces_are_partitioned(real_data, name):
    trace = perfcore.read(real_data / "traces" / name, wanted=(perfcore.Trace,))
    profile = profile_overheads(trace)
    assert profile.total_ns == len(trace.locations) * (trace.span_ns[1] - trace.span_ns[0])
    lasting = np.bincount(trace.state, trace.end_ns - trace.start_ns, len(trace.states))
    for k, name in enumerate(profile.classes):
        recorded = sum(lasting[trace.states.index(state)] for state in profile.states[name] if state in trace.states)
        without = profile.class_cycles_ns[k].sum() - recorded
        assert (without >= 0) if name == "idle" else (without == 0)
