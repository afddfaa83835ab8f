"""Passes over moments, undefined efficiencies, and overheads of ranks, of phases and of the example."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from made_traces import STATES, trace_of
from traces.kineto_files import read, three_ranks

import perfcore
from perf_analysis import attribution
from perf_analysis.attribution import profile_overheads
from perf_analysis.categories import STANDARD, STREAMS, read_categories
from perf_analysis.efficiencies import efficiencies
from perf_traces.levels import located
from perf_traces.windows import part_of
from perfcore import Trace
from perfcore.base.errors import DataError


@st.composite
def traces(draw):
    """Up to four locations with states and gaps between them, some without duration."""
    n_locations = draw(st.integers(1, 4))
    rows = []
    for location in range(n_locations):
        at = draw(st.integers(0, 6))
        piece = st.tuples(st.integers(0, 3), st.integers(0, 9), st.sampled_from(STATES))
        for gap, width, state in draw(st.lists(piece, max_size=6)):
            rows.append((location, state, at + gap, at + gap + width))
            at += gap + width
    last = max((end for *_, end in rows), default=0)
    rows.append((0, "run", last, last + draw(st.integers(1, 5))))
    start = min(row[2] for row in rows) - draw(st.integers(0, 4))
    return trace_of(draw(st.permutations(rows)), n_locations, span_ns=(start, rows[-1][3]))


CLASSES = '[classes]\ncomputing = ["run"]\nidle = ["idle"]\nheld = ["lock", "wait/waitall", "send"]\n'
OWN = (
    ("work", "computing", None), ("starved", "idle", "held + 2*computing > locations"),
    ("unused", "idle", "held + 2*computing <= locations"), ("in turn", "held", "lock > 1 or idle == 0"),
    ("held", "held", "lock <= 1 and idle > 0"),
)  # fmt: skip


def by_instants(trace, edges):
    """The categories of `OWN`, one location and one nanosecond after the other: (category, location, phase)."""
    spent = np.zeros((5, len(trace.locations), len(edges) - 1), dtype=int)
    for now in range(edges[0], edges[-1]):
        states = []
        for location in range(len(trace.locations)):
            inside = (trace.location == location) & (trace.start_ns <= now) & (now < trace.end_ns)
            states.append(STATES[int(trace.state[inside][0])] if inside.any() else "idle")
        computing, idle, lock = states.count("run"), states.count("idle"), states.count("lock")
        held = len(states) - computing - idle
        phase = max(k for k in range(len(edges) - 1) if edges[k] <= now)
        for location, state in enumerate(states):
            if state == "run":
                own = 0
            elif state == "idle":
                own = 1 if held + 2 * computing > len(states) else 2
            else:
                own = 3 if lock > 1 or idle == 0 else 4
            spent[own, location, phase] += 1
    return spent


@pytest.fixture(params=["interpreted", "compiled"])
def passes(request, monkeypatch):
    """Both ways in which the passes run; the compiled one is compiled before any example is timed."""
    for passed in (attribution.number_vectors, attribution.attribute_time):
        monkeypatch.setattr(passed, "small", 10**9 if request.param == "interpreted" else 0)
    profile_overheads(trace_of([(0, "run", 0, 1)], 1))


@given(trace=traces(), cuts=st.sets(st.integers(1, 200), max_size=3))
@example(trace=trace_of([(0, "lock", 0, 5), (0, "run", 5, 9), (0, "send", 5, 5), (1, "run", 5, 6)], 2), cuts={5})
@settings(deadline=None, max_examples=60)
def check_against_instants(own, trace, cuts):
    start, end = trace.span_ns
    edges = [start, *sorted({start + cut for cut in cuts if start + cut < end}), end]
    profile = profile_overheads(trace, own, phase_edges_ns=edges)
    np.testing.assert_array_equal(profile.cycles_ns, by_instants(trace, edges))
    assert profile.total_ns == len(trace.locations) * (end - start)
    np.testing.assert_array_equal(profile.timeline_ns.sum(axis=1), profile.by_category_ns)
    np.testing.assert_array_equal(profile.class_cycles_ns.sum(axis=0), profile.cycles_ns.sum(axis=0))


def test_as_every_instant_says(tmp_path, passes):
    tables = (
        f'[[category]]\nname = "{name}"\nof = "{of}"\n' + (f'when = "{when}"\n' if when else "")
        for name, of, when in OWN
    )
    (tmp_path / "own.toml").write_text(CLASSES + "".join(tables))
    check_against_instants(read_categories(tmp_path / "own.toml"))


def test_efficiencies_where_they_are_not_defined():
    idle = np.zeros((2, 1), dtype=np.int64)
    assert np.isnan(efficiencies(idle, [5])["load_balance"]).all()
    with pytest.raises(DataError, match="has no duration"):
        efficiencies(idle, [0])


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return read(three_ranks(tmp_path_factory.mktemp("ranks")))


def in_memory(trace):
    """The same trace as arrays."""
    return Trace(
        trace.location, trace.state, trace.start_ns, trace.end_ns, trace.locations, trace.states,
        busy_states=trace.busy_states, span_ns=trace.span_ns, source=trace.source, notes=trace.notes,
        markers=trace.markers, levels=trace.levels, facts=trace.facts,
    )  # fmt: skip


@pytest.mark.parametrize(("level", "categories"), [
    ("device", None), ("process", None), ("stream", None), ("node", None), ("device", STREAMS), ("stream", STANDARD),
])  # fmt: skip
def test_the_overheads_are_those_of_the_run_in_memory(run, level, categories):
    run.levels["node"] = ("n",) * len(run.locations)
    rules = None if categories is None else read_categories(categories)
    edges = [run.span_ns[0], 150_000, run.span_ns[1]]
    for trace in (run, part_of(run, until="60%"), part_of(run, until=0.0035)):  # in the last there is one rank only
        cut = [edges[0], min(edges[1], trace.span_ns[1] // 2), edges[2]]
        runs = (located(each, level) for each in (trace, in_memory(trace)))
        one_by_one, whole = (profile_overheads(run, rules, phase_edges_ns=cut, by_marker=True) for run in runs)
        assert one_by_one.to_dict() == whole.to_dict()
        assert np.array_equal(one_by_one.timeline_ns, whole.timeline_ns)
        assert one_by_one.total_ns == one_by_one.elapsed_ns * len(one_by_one.locations)


def test_no_array_of_the_run_is_made(run, monkeypatch):
    """A rank is read when it is needed; what is made of all of them would be as large as all of them."""
    monkeypatch.setattr(type(run), "_arrays", property(lambda _: pytest.fail("the arrays of the whole run")))
    for level in ("device", "process"):
        trace = located(run, level)
        assert profile_overheads(trace, by_marker=True).total_ns
        assert trace.utilization().integral
    assert profile_overheads(run).total_ns


# Overheads of ranks, of phases as a model has them, and of the example, against the curve of the same trace.
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
