"""Overheads of ranks, of phases as a model has them, and of the example, against the curve of the same trace."""

from pathlib import Path

import numpy as np
import pytest

import perfcore
from perfcore.base.errors import DataError

# Phases of overheads: those of a model of the trace, which is checked, or as `perf fit` finds them.
EXAMPLES = Path(__file__).parents[2] / "examples"
EXAMPLE = EXAMPLES / "cholesky" / "cholesky_trace.csv.gz"


def test_a_fitted_model_gives_the_phases_that_are_found_without_it(tmp_path):
    trace = perfcore.read(EXAMPLE)
    model = perfcore.fit(trace, fitter="phases")
    model.save(tmp_path / "model.json")
    expected = perfcore.overheads(trace, phases="auto")[0].edges_ns.tolist()
    assert len(expected) > 3
    [profile] = perfcore.overheads(trace, phases=model)
    assert profile.edges_ns.tolist() == expected
    np.testing.assert_array_equal(profile.cycles_ns.sum(axis=2), perfcore.overheads(trace)[0].cycles_ns.sum(axis=2))


def test_a_model_of_a_part_belongs_to_that_part(tmp_path):
    """Two locations, and one from 60 ns on."""
    file = tmp_path / "steps.csv"
    file.write_text("location,state,start_ns,end_ns\na,run,0,100\nb,run,0,60\n")
    trace, part = perfcore.read(file), perfcore.read(file, since="20ns")
    model = perfcore.fit(part, fitter="phases", phases=2, degree=0)
    model.save(tmp_path / "model.json")
    for phases in (model, tmp_path / "model.json", str(tmp_path / "model.json")):
        assert perfcore.overheads(part, phases=phases)[0].edges_ns.tolist() == [20, 60, 100]
    message = r"steps.csv: goes from 0 ns to 100 ns, and the phases of the model, .* from 20 ns"
    with pytest.raises(DataError, match=message):
        perfcore.overheads(trace, phases=model)


# The example's categories on the example's trace, against the utilization curve of the same trace.
def test_losses_are_areas_beside_the_utilization_curve():
    """With W and C workers that wait and compute, the losses are the integrals of W where C > 1, C = 1 and C = 0."""
    trace = perfcore.read(EXAMPLE)
    [profile] = perfcore.overheads(trace, categories=EXAMPLES / "overheads" / "task_graph.toml")
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
    [profile] = perfcore.overheads(trace)
    assert profile.total_ns == len(trace.locations) * (trace.span_ns[1] - trace.span_ns[0])
    lasting = np.bincount(trace.state, trace.end_ns - trace.start_ns, len(trace.states))
    without = {
        name: profile.class_cycles_ns[k].sum()
        - sum(lasting[trace.states.index(state)] for state in profile.states[name] if state in trace.states)
        for k, name in enumerate(profile.classes)
    }
    if name.endswith("qsort_beo3.prv"):  # MPI_Init and MPI_Finalize by their events, in a state that the .pcf lacks
        started = (30_892 + 108_127) * 1000
        assert without.pop("runtime") == started == -without.pop("unknown")
        assert lasting[trace.states.index("State 15")] == started
    assert without.pop("idle") >= 0
    assert not any(without.values())
