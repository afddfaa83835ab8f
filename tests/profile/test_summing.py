"""Times by function: every nanosecond of every location once, whatever the order of the intervals."""

import itertools
import json

import numpy as np
import pytest
from call_trees import NO_STATE, STATES, profiles_of_tree
from hypothesis import given, settings
from hypothesis import strategies as st

import perfcore
from perfcore import Trace
from perfcore.base.errors import DataError


def profiled(trace, edges=(), **options):
    """The profile of a run, in which what lies between the edges is odd and even in turn."""
    if edges:
        spans = itertools.pairwise(edges)
        trace.markers = tuple((("odd", "even")[k % 2], start, end) for k, (start, end) in enumerate(spans))
        options["by"] = "marker"
    (found,) = perfcore.profile(trace, **options)
    return found


@st.composite
def traces(draw):
    """Intervals of up to four locations with gaps, without duration, cut in two, in any order."""
    rows = []
    for location in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, 5))
        for _ in range(draw(st.integers(0, 8))):
            until = at + draw(st.integers(0, 6))
            rows.append((location, draw(st.integers(0, 2)), at, until))
            at = until + draw(st.sampled_from((0, 0, 3)))
    rows = draw(st.permutations([*rows, (0, 0, 100, 107)]))
    columns = zip(*rows, strict=True)
    return Trace(*columns, [f"cpu{k}" for k in range(4)], STATES, time_unit="ns", span_ns=(-2, 110))


def one_by_one(trace, edges):
    """The definition: each nanosecond by itself."""
    first, last = edges[0], edges[-1]
    times = np.zeros((len(STATES) + 1, len(trace.locations), 2), np.int64)
    in_state = np.full((len(trace.locations), last - first), len(STATES))
    columns = (trace.location, trace.state, trace.start_ns, trace.end_ns)
    for location, state, start, end in zip(*(column.tolist() for column in columns), strict=True):
        in_state[location, start - first : end - first] = state
    part = np.repeat(np.arange(len(edges) - 1) % 2, np.diff(edges))
    for location, row in enumerate(in_state):
        np.add.at(times, (row, location, part), 1)
    return times[:, :, : min(len(edges) - 1, 2)], np.bincount(part)


@settings(max_examples=60, deadline=None)
@given(traces(), st.lists(st.integers(-1, 109), unique=True, max_size=4))
def test_each_nanosecond_is_in_one_function(trace, inner):
    edges = [-2, *sorted(inner), 110]
    times, durations = one_by_one(trace, edges)
    found = profiled(trace, edges)
    assert found.functions == (*STATES, NO_STATE)
    assert found.parts == ("odd", "even")[: len(durations)]
    np.testing.assert_array_equal(found.times_ns, times)
    np.testing.assert_array_equal(found.times_ns.sum(axis=0), np.tile(durations, (4, 1)))


def test_without_nested_states_calls_are_intervals_in_any_order():
    trace = Trace([0] * 6, [0, 0, 1, 0, 2, 0], [0, 3, 5, 6, 9, 9], [3, 5, 6, 9, 9, 12], ["a"], STATES, time_unit="ns")
    assert profiled(trace).calls[:, 0, 0].tolist() == [4, 1, 1, 0]
    shuffled = np.array([3, 0, 5, 2, 1, 4])
    columns = (np.asarray(c)[shuffled] for c in (trace.location, trace.state, trace.start_ns, trace.end_ns))
    again = profiled(Trace(*columns, ["a"], STATES, time_unit="ns"))
    assert again.calls[:, 0, 0].tolist() == [4, 1, 1, 0]
    np.testing.assert_array_equal(again.inclusive_ns, again.times_ns)


@pytest.mark.parametrize("in_order", [True, False])
def test_a_trace_on_disk_gives_the_same(tmp_path, monkeypatch, in_order):
    rng = np.random.default_rng(5)
    rows = []
    for location in ("cpu10", "cpu2", "it's"):
        at = 0
        for length, state in zip(rng.integers(0, 9, 200).tolist(), rng.choice(STATES, 200).tolist(), strict=True):
            rows.append(f"{at},{at + length},{location},{state}")
            at += length + int(rng.integers(0, 2))
    if not in_order:
        rows = [rows[k] for k in rng.permutation(len(rows))]
    (tmp_path / "t.csv").write_text("start_ns,end_ns,location,state\n" + "\n".join(rows) + "\n")
    held = perfcore.read(tmp_path / "t.csv")
    monkeypatch.setattr("perf_io.tables.state_table.IN_MEMORY_ROWS", 10)
    on_disk = perfcore.read(tmp_path / "t.csv")
    assert type(on_disk) is not type(held)
    for edges in ((), [0, 300, held.span_ns[1]]):
        one, two = profiled(held, edges), profiled(on_disk, edges)
        assert "_arrays" not in vars(on_disk), "the intervals stay on disk"
        assert (one.functions, one.locations) == (two.functions, two.locations)
        np.testing.assert_array_equal(one.times_ns, two.times_ns)
        np.testing.assert_array_equal(one.calls, two.calls)


def times_of_markers(markers):
    found = profiled(Trace([0], [0], [0], [100], ["a"], ["run"], time_unit="ns", markers=markers), by="marker")
    return dict(zip(found.parts, found.parts_ns.tolist(), strict=True))


def test_markers_nest_and_count():
    marks = [("step#1", 0, 40), ("io", 10, 20), ("step#2", 50, 90), ("flush", 12, 14), ("dot", 30, 30)]
    assert times_of_markers(marks) == {"step": 68 + 2, "io": 8, "flush": 2, "(no marker)": 20}
    with pytest.raises(DataError, match="no markers with a duration"):
        times_of_markers([("dot", 5, 5)])


def test_markers_of_one_time_belong_to_the_shorter():
    marks = [("outer", 0, 40), ("inner", 0, 30), ("beyond", -50, 200)]
    assert times_of_markers(marks) == {"outer": 10, "inner": 30, "beyond": 60}


def test_phases_of_a_model_are_those_of_its_trace(tmp_path):
    trace = Trace([0, 1], [0, 0], [0, 4000], [9000, 9000], ["a", "b"], ["run"], time_unit="ns")
    model = perfcore.fit(trace, fitter="phases", phases=2)
    model.save(tmp_path / "model.json")
    assert profiled(trace, phases=str(tmp_path / "model.json")).parts_ns.tolist() == [4000, 5000]
    other = Trace([0], [0], [0], [500], ["a"], ["run"])
    with pytest.raises(DataError, match="fit this trace"):
        perfcore.profile(other, phases=str(tmp_path / "model.json"))


def test_times_are_exact_beyond_what_floats_hold():
    year = 365 * 24 * 3600 * 10**9
    trace = Trace([0, 0], [0, 1], [0, year], [year, year + 1], ["a"], STATES[:2], time_unit="ns")
    assert profiled(trace).by_function_ns.tolist() == [year, 1, 0]


@pytest.mark.real_data
@pytest.mark.parametrize(("name", "elapsed_ns", "n_locations"), [
    # published runtimes of EPOCH, in microseconds
    ("paraver/epoch/epoch_2proc.prv.gz", 11_528_374_000, 2), ("paraver/epoch/epoch_8proc.prv.gz", 3_513_565_000, 8),
    ("otf2/sst-10rank/traces.otf2", None, 10), ("chrome/rank0.json.gz", None, 1),
])  # fmt: skip
def test_real_traces_are_whole(real_data, name, elapsed_ns, n_locations):
    found = profiled(real_data / "traces" / name, by="function")
    assert len(found.locations) == n_locations
    assert (found.by_location_ns.sum(axis=0) == found.elapsed_ns).all()
    assert (found.times_ns >= 0).all()
    if elapsed_ns is not None:
        assert round(found.elapsed_ns, -3) == elapsed_ns


@pytest.mark.real_data
def test_instructions_of_epoch_are_all_in_a_function(real_data):
    run = profiled(real_data / "traces/paraver/epoch/epoch_2proc.prv.gz")
    counted = dict(zip(run.functions, run.counted["instructions"].sum(axis=(1, 2)).tolist(), strict=True))
    assert sum(counted.values()) == 88_214_429_565  # of all readings in the file, each moment once
    assert counted["Running"] == 87_640_358_419  # of which POP's factors are made
    assert counted["(no state)"] == 0


def test_inclusive_times_and_calls_of_a_chrome_trace(tmp_path):
    """`run` calls itself within `wait`; `io` is nothing but its callee."""
    tree = [
        (0, 0, 50, [(1, 5, 30, [(0, 10, 20, []), (1, 21, 22, [])]), (0, 31, 35, [])]),
        (2, 52, 69, [(0, 52, 69, [])]),
    ]
    events = []

    def enter(siblings):
        for function, start, end, callees in siblings:
            events.append({"ph": "X", "pid": 0, "tid": 0, "name": STATES[function], "ts": start, "dur": end - start})
            enter(callees)

    enter(tree)
    path = tmp_path / "run.json"
    path.write_text(json.dumps({"traceEvents": events}))
    edges, part = np.array([0, 25, 40, 69]), np.array([0, 1, 0])
    profiles_of_tree(profiled(perfcore.read(path), (1000 * edges).tolist()), tree, edges, part, 1000)
    # What is left of the states in a part of the trace does not tell calls.
    cut = perfcore.profile(path, reading={"until": "60us"})
    assert not cut[0].has_calls
    assert all(np.isnan(row["calls"]) for row in cut.to_dict()["rows"])


def test_user_functions_divide_what_runs(tmp_path):
    """From 20 to 80 the thread is in solve, of that from 40 to 60 in kernel; from 50 to 70 in MPI_Barrier."""
    (tmp_path / "run.pcf").write_text(
        "STATES\n1 Running\n13 Group Communication\n\nEVENT_TYPE\n9 50000002 MPI Collective Comm\nVALUES\n"
        "8 MPI_Barrier\n"
        "\nEVENT_TYPE\n0 60000019 User functions\nVALUES\n0 End\n1 solve\n2 kernel\n"
    )
    lines = ["#Paraver (01/01/2026 at 10:00):100_ns:1(1):1:1(1:1)", "1:1:1:1:1:0:50:1", "1:1:1:1:1:50:70:13",
             "1:1:1:1:1:70:100:1"]  # fmt: skip
    events = ((20, 60000019, 1), (40, 60000019, 2), (50, 50000002, 8), (60, 60000019, 0), (70, 50000002, 0),
              (80, 60000019, 0))  # fmt: skip
    lines += [f"2:1:1:1:1:{time}:{kind}:{value}" for time, kind, value in events]
    (tmp_path / "run.prv").write_text("\n".join(lines) + "\n")
    [run] = perfcore.profile(tmp_path / "run.prv")
    times = dict(zip(run.functions, run.by_function_ns.tolist(), strict=True))
    assert {name: time for name, time in times.items() if time} == {
        "Running": 40, "solve": 30, "kernel": 10, "MPI_Barrier": 20,
    }  # fmt: skip
    calls = dict(zip(run.functions, run.calls.sum(axis=(1, 2)).tolist(), strict=True))
    assert (calls["solve"], calls["kernel"], calls["MPI_Barrier"]) == (1, 1, 1)
