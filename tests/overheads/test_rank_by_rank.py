"""Overheads of a run from the files of its ranks, told rank by rank, are those of the same run in memory."""

from pathlib import Path

import numpy as np
import pytest
from traces.kineto_files import START_US, read, write_rank

import perfcore
from perf_analysis.attribution import profile_overheads
from perf_analysis.categories import STANDARD, STREAMS, read_categories
from perf_analysis.stretches import phase_edges
from perf_traces.levels import located
from perf_traces.windows import part_of
from perfcore import Trace
from perfcore.base.errors import DataError

N_RANKS = 3


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Each rank enters its collectives a microsecond after the one before."""
    folder = tmp_path_factory.mktemp("ranks")
    for rank in range(N_RANKS):
        write_rank(folder, rank, start_us=START_US + rank, world_size=4)
    return read(folder)


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
        source=trace.source,
        notes=trace.notes,
        markers=trace.markers,
        levels=trace.levels,
        facts=trace.facts,
    )


@pytest.mark.parametrize(
    ("level", "categories"),
    [("device", None), ("process", None), ("stream", None), ("node", None), ("device", STREAMS), ("stream", STANDARD)],
)
def test_the_overheads_are_those_of_the_run_in_memory(run, level, categories):
    run.levels["node"] = ("n",) * len(run.locations)
    rules = None if categories is None else read_categories(categories)
    edges = [run.span_ns[0], 150_000, run.span_ns[1]]
    for trace in (run, part_of(run, until="60%"), part_of(run, until=0.0035)):  # in the last there is one rank only
        cut = [edges[0], min(edges[1], trace.span_ns[1] // 2), edges[2]]
        one_by_one, whole = (
            profile_overheads(located(each, level), rules, phase_edges_ns=cut, by_marker=True)
            for each in (trace, in_memory(trace))
        )
        assert one_by_one.to_dict() == whole.to_dict()
        assert np.array_equal(one_by_one.timeline_ns, whole.timeline_ns)
        assert one_by_one.total_ns == one_by_one.elapsed_ns * len(one_by_one.locations)


def test_who_waits_for_whom(run):
    profile = profile_overheads(located(run, "auto"))
    assert [each.waited_ns for each in profile.ranks] == [10_000, 5_000, 0]
    assert profile.by_location_ns[profile.categories.index("waiting for other ranks")].tolist() == [10_000, 5_000, 0]


def test_no_array_of_the_run_is_made(run, monkeypatch):
    """A rank is read when it is needed; what is made of all of them would be as large as all of them."""
    monkeypatch.setattr(type(run), "_arrays", property(lambda _: pytest.fail("the arrays of the whole run")))
    for level in ("device", "process"):
        trace = located(run, level)
        assert profile_overheads(trace, by_marker=True).total_ns
        assert trace.utilization().integral
    assert profile_overheads(run).total_ns


# Phases of overheads: those of a model of the trace, which is checked, or as `perf fit` finds them.
EXAMPLE = "examples/cholesky/cholesky_trace.csv.gz"


def steps(source="steps", more=0, **facts):
    """Two locations, then one."""
    return Trace([0, 1], [0, 0], [0, 0], [100 + more, 60], ["a", "b"], ["run"], time_unit="ns", source=source, **facts)


def test_a_fitted_model_gives_the_phases_that_are_found_without_it(tmp_path):
    trace = perfcore.read(EXAMPLE)
    model = perfcore.fit(trace, fitter="phases")
    model.save(tmp_path / "model.json")
    expected = phase_edges(trace, "auto")
    assert len(expected) > 3
    for phases in (model, tmp_path / "model.json", str(tmp_path / "model.json")):
        assert phase_edges(trace, phases) == expected
    profile = perfcore.overheads(trace, phases=model)[0]
    assert profile.edges_ns.tolist() == expected
    np.testing.assert_array_equal(profile.cycles_ns.sum(axis=2), perfcore.overheads(trace)[0].cycles_ns.sum(axis=2))


def test_a_model_of_a_part_belongs_to_that_part():
    trace = steps()
    part = part_of(trace, since=20)
    model = perfcore.fit(part, fitter="phases", phases=2, degree=0)
    assert phase_edges(part, model) == [20, 60, 100]
    with pytest.raises(DataError, match=r"steps: goes from 0 ns to 100 ns, and the phases of the model, .* from 20 ns"):
        phase_edges(trace, model)


# The example's categories on the example's trace, against the utilization curve of the same trace.
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
