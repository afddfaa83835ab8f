"""Profiles: of one run by hand and by time, of several runs as a table for models, of call paths, and the command."""

import itertools
import json

import numpy as np
import pytest
from format_samples import cube
from hypothesis import given, settings
from hypothesis import strategies as st

import perfcore
from perf_analysis.profiles import profile_of
from perf_analysis.stretches import Stretches
from perf_io.traces.intervals import NestedStates
from perf_traces.messages.bursts import FACT, Counters, Readings
from perfcore import Trace, profile
from perfcore.base.errors import DataError, OptionError

STATES = ("run", "wait", "io")
NO_STATE = "(no state)"
LAWS = {
    "solve": lambda p: 8.0 / p, "exchange": lambda p: 0.02 + 0.05 * np.log2(p), "assemble": lambda p: 0.1 + 2.0 / p,
    "setup": lambda p: 0.5,
}  # fmt: skip


def run_at(p, seed=0, steps=20, noise=0.01, **facts):
    """A run on p locations whose functions follow `LAWS`, in seconds, each with the noise of a run."""
    rng = np.random.default_rng((seed, p))
    each = np.array([law(p) for law in LAWS.values()]) * 1e9 / steps
    lengths = (each * (1.0 + noise * rng.standard_normal((p, steps, len(LAWS))))).astype(np.int64)
    ends = lengths.reshape(p, -1).cumsum(axis=1)
    starts = ends - lengths.reshape(p, -1)
    location = np.repeat(np.arange(p), steps * len(LAWS))
    state = np.tile(np.arange(len(LAWS)), p * steps)
    names = [f"rank {k}" for k in range(p)]
    return Trace(location, state, starts.ravel(), ends.ravel(), names, list(LAWS), source=f"run at {p}", **facts)


def test_a_row_for_each_function_of_each_run():
    found = profile([run_at(p) for p in (1, 2, 4)])
    table = found.to_frame()
    assert list(table.columns[:3]) == ["function", "p", "time_s"]
    assert len(table) == 3 * 5
    whole = table.groupby("p")["time_s"].sum()
    for run in found:
        p = run.parameters["p"]
        assert whole[p] == pytest.approx(run.elapsed_ns / 1e9, rel=1e-12)
        own = table[table["p"] == p]
        assert int(own["all_locations_ns"].sum()) == p * run.elapsed_ns
        solve = own.set_index("function").loc["solve"]
        assert solve["longest_s"] == pytest.approx(solve["imbalance"] * solve["time_s"])
        assert solve["calls"] == 20 * p
    roles = found.measurements.roles
    assert (dict(roles.parameters), roles.value) == ({"p": "p"}, "time_s")
    assert (roles.code, roles.category) == ((), ("function",))


@pytest.mark.parametrize("ending", ["jsonl", "csv", "parquet"])
def test_fitters_read_the_table_as_it_is(tmp_path, ending):
    """Of traces at p = 1, 2 and 4 the law of each function; the next p is predicted inside its bounds."""
    path = tmp_path / f"runs.{ending}"
    perfcore.write(profile([run_at(p) for p in (1, 2, 4)]).measurements, path)
    table = perfcore.read(path)
    model = perfcore.fit(table, fitter="scaling")
    for name, law in LAWS.items():
        [[value, low, high]] = model.predict_array({"p": [8.0], "path": [name]}, interval=0.95)
        assert low <= law(8) <= high, name
        assert value == pytest.approx(law(8), rel=0.2), name
    for fitter in ("lca", "modgen"):
        of_categories = perfcore.fit(table, fitter=fitter)
        for name, law in LAWS.items():
            found = of_categories.predict({"p": [8.0], "category": [name]})
            assert float(np.asarray(found)[0]) == pytest.approx(law(8), rel=0.05), (fitter, name)


def test_times_of_several_locations_are_their_sums(tmp_path):
    """Each of two threads is in `main` for 10 us, and in `solve` within it for 4 us."""
    events = [{"ph": "X", "pid": 0, "tid": thread, "name": name, "ts": start, "dur": duration}
              for thread in (0, 1) for name, start, duration in (("main", 0, 10), ("solve", 3, 4))]  # fmt: skip
    (tmp_path / "run.json").write_text(json.dumps({"traceEvents": events}))
    table = profile(tmp_path / "run.json").report().brief_tables[0].frame().set_index("function")
    assert table.loc["main", ["total_time_ns", "inclusive_ns"]].tolist() == [12_000, 20_000]
    assert table.loc["solve", ["total_time_ns", "inclusive_ns"]].tolist() == [8_000, 8_000]


def test_call_paths_of_a_profile(tmp_path):
    """`main` takes 10 s on the average location, `solve` 7 s of them."""
    (tmp_path / "run.cubex").write_bytes(cube())
    found = profile(tmp_path / "run.cubex")
    assert found.report().answer.startswith("run.cubex: 70.0% of the time (10 s) is main->solve")
    rows = {row["name"]: (row["own_ns"], row["total_ns"]) for row in found.to_dict()["rows"]}
    assert rows == {"main": (3 * 10**9, 10**10), "main->solve": (7 * 10**9, 7 * 10**9)}


def test_a_function_of_one_run_only_is_a_note_and_took_no_time_in_the_others():
    one = Trace([0], [0], [0], [100], ["a"], ["solve"], source="one")
    two = Trace([0, 1, 1], [0, 0, 1], [0, 0, 50], [60, 50, 60], ["a", "b"], ["solve", "MPI_Wait"], source="two")
    found = profile([one, two])
    assert found.remarks() == ["only in two: MPI_Wait; counted as 0 elsewhere"]
    times = found.to_frame().set_index(["function", "p"])["all_locations_ns"]
    assert times["MPI_Wait", 1] == 0
    assert times["MPI_Wait", 2] == 10
    assert NO_STATE not in set(found.to_frame()["function"])


def test_repeated_runs_are_told_apart_and_different_sizes_are_suspected():
    twice = profile([run_at(2, seed=1), run_at(2, seed=2), run_at(4)])
    assert twice.to_frame()["run"].unique().tolist() == [1, 2, 3]
    assert twice.remarks() == []
    assert "2 points" in "".join(perfcore.fit(twice.measurements, fitter="lca").report().lines)
    in_disorder = profile([run_at(1), run_at(8), run_at(2)]).report().answer
    assert in_disorder == profile([run_at(1), run_at(2), run_at(8)]).report().answer  # of the largest
    longer = Trace([0], [0], [0], [900], ["a"], ["solve"], source="longer")
    [note] = profile([longer, Trace([0], [0], [0], [100], ["a"], ["solve"], source="shorter")]).remarks()
    assert note.startswith("runs of one point took from 100 ns (shorter) to 900 ns (longer): if something was varied")


def test_by_location_rank_and_marker():
    trace = run_at(4, levels={"process": ["r0", "r0", "r1", "r1"]}, markers=[("step", 0, 10**9)])
    by_location = profile(trace, by="location").to_frame()
    assert by_location["path"][0] == "rank 0->solve"
    assert "longest_s" not in by_location
    by_rank = profile(trace, by="rank").to_frame()
    assert set(by_rank["rank"]) == {"r0", "r1"}
    assert int(by_rank["all_locations_ns"].sum()) == int(by_location["all_locations_ns"].sum())
    r0 = by_location[by_location["location"].isin(["rank 0", "rank 1"])]
    solve = r0[r0["state"] == "solve"]["time_s"]
    of_rank = by_rank.set_index("path").loc["r0->solve"]
    assert of_rank["time_s"] == pytest.approx(solve.mean())
    assert of_rank["longest_s"] == pytest.approx(solve.max())
    by_marker = profile(trace, by="marker").to_frame().groupby("marker")["time_s"].sum()
    assert by_marker["step"] == pytest.approx(1.0)
    with pytest.raises(DataError, match="of which rank"):
        profile(run_at(2), by="rank")
    tasks = Trace([0, 1, 2], [0, 0, 0], [0, 0, 0], [9, 6, 3], ["1.1.1", "1.1.2", "1.2.1"], ["solve"])
    assert set(profile(tasks, by="rank").to_frame()["rank"]) == {"1.1", "1.2"}  # as Paraver numbers them


def test_by_phase(tmp_path):
    trace = Trace(
        [0, 1, 0, 1], [0, 0, 1, 1], [0, 0, 4000, 6000], [4000, 4000, 9000, 9000], ["a", "b"], ["gemm", "trsm"],
        time_unit="ns",
    )  # fmt: skip
    found = profile(trace, phases=2)
    assert found.by == "phase"
    assert int(found.to_frame().groupby("phase")["all_locations_ns"].sum().sum()) == 2 * 9000
    title, _, rows = found.report().shown_tables[1]
    assert title == "Time breakdown by phase"
    assert rows[0][3].startswith("100% gemm")
    with pytest.raises(OptionError, match="leave out one"):
        profile(trace, phases=2, by="location")
    perfcore.fit(trace, fitter="phases", phases=2).save(tmp_path / "m.json")
    with pytest.raises(OptionError, match="those of one trace"):
        profile([trace, trace], phases=str(tmp_path / "m.json"))


def test_a_folder_of_ranks_is_one_run(tmp_path):
    """Rank by rank on disk, in any order of its intervals."""
    for rank in range(2):
        rows = [f"{at},{at + 5 + rank},main,{name}\n" for at, name in ((0, "solve"), (7, "wait"), (20, "solve"))]
        (tmp_path / f"rank{rank}.csv").write_text("start_us,end_us,location,state\n" + "".join(rows[::-1]))

    [found] = profile(tmp_path, by="rank", reading={"clocks": "unaligned"})
    assert found.ranks == ("rank 0", "rank 1")
    times = dict(zip(found.functions, found.by_location_ns.tolist(), strict=True))
    assert times == {"solve": [10_000, 12_000], "wait": [5_000, 6_000], NO_STATE: [11_000, 8_000]}
    assert [run.elapsed_ns for run in profile(tmp_path, reading={"files": "runs"})] == [25_000, 26_000]


# Call paths of a trace with calls within calls: times by hand, and the icicle that shows them.
# Microseconds: a(10..40) calls b(20..30), a(50..70) and c(80..90), all within main(0..100), on two threads of two.
CALLS = [("main", 0, 100), ("a", 10, 40), ("b", 20, 30), ("a", 50, 70), ("c", 80, 90)]
TIMES = {"main": 200, "main → a": 100, "main → a → b": 20, "main → c": 20}


def write(file, calls):
    """The calls of both threads in Chrome's format."""
    events = [
        {"ph": "X", "name": name, "ts": start, "dur": end - start, "pid": 0, "tid": thread}
        for thread in (1, 2)
        for name, start, end in calls
    ]
    file.write_text(json.dumps({"traceEvents": events}))


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    file = tmp_path_factory.mktemp("calls") / "nested.json"
    write(file, CALLS)
    return perfcore.profile(file, by="function").report()


def test_boxes_are_as_wide_as_the_time_of_their_call_path(report):
    (plot,) = (plot for plot in report.plots if plot.name == "paths")
    boxes = plot.marks[0]
    widths = {name: end - start for name, start, end in zip(boxes.names, boxes.starts, boxes.ends, strict=True)}
    assert widths == pytest.approx({name: time / 200 for name, time in TIMES.items()})
    depth = dict(zip(boxes.names, boxes.bottoms.tolist(), strict=True))
    assert depth == {name: name.count("→") for name in TIMES}


def test_callees_lie_within_their_callers_side_by_side(report):
    boxes = next(plot for plot in report.plots if plot.name == "paths").marks[0]
    place = dict(zip(boxes.names, zip(boxes.starts, boxes.ends, strict=True), strict=True))
    for name, (start, end) in place.items():
        caller = name.rpartition(" → ")[0]
        assert not caller or (place[caller][0] <= start and end <= place[caller][1] + 1e-12)
    assert place["main → a"][1] == pytest.approx(place["main → c"][0])


def test_two_runs_differ_by_call_path(tmp_path):
    """In the second run b takes 30 us longer in each of two threads, and c does not occur."""
    slower = [("main", 0, 120), ("a", 10, 70), ("b", 20, 60), ("a", 80, 100)]
    for name, calls in (("old", CALLS), ("new", slower)):
        write(tmp_path / f"{name}.json", calls)
    report = perfcore.profile([tmp_path / "old.json", tmp_path / "new.json"]).report()
    (table,) = (table for table in report.tables if "by call path" in (table.title or ""))
    found = {path: (old / 1000, new / 1000) for path, old, new in table.rows}
    assert found == {
        "main → a → b": (10, 40), "main → a": (50, 80), "main": (100, 120), "main → c": (10, 0),
    }  # fmt: skip
    assert [path for path, _, _ in table.rows][:2] == ["main → a", "main → a → b"]


# Times by function: every nanosecond of every location once, whatever the order of the intervals.
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
    perfcore.fit(trace, fitter="phases", phases=2).save(tmp_path / "model.json")
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


def by_recursion(tree, edges, part, shape):
    """Inclusive times and calls by definition: a call is a function, its start, its end and its callees."""
    inclusive, calls = np.zeros(shape, np.int64), np.zeros(shape, np.int64)

    def walk(siblings, callers):
        for function, start, end, callees in siblings:
            calls[function, part[min(np.searchsorted(edges, start, "right") - 1, len(part) - 1)]] += 1
            if function not in callers:
                for k, where in enumerate(part):
                    inclusive[function, where] += max(0, min(end, edges[k + 1]) - max(start, edges[k]))
            walk(callees, {*callers, function})

    walk(tree, set())
    return inclusive, calls


def profiles_of_tree(found, tree, edges, part, scale):
    inclusive, calls = by_recursion(tree, edges, part, (len(STATES), 2))
    order = [STATES.index(name) for name in found.functions if name != NO_STATE]
    np.testing.assert_array_equal(found.inclusive_ns[:-1, 0], inclusive[order] * scale)
    np.testing.assert_array_equal(found.calls[:-1, 0], calls[order])
    assert found.has_calls


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


# Inclusive times, calls and counters of any tree of calls, entered and left one by one.
@st.composite
def nested(draw):
    """A tree of calls: function, start, end and callees, some of which take no time."""

    def calls(first, last, depth):
        found, at = [], first
        for _ in range(draw(st.integers(0, 3 if depth else 0))):
            start = draw(st.integers(at, last))
            at = draw(st.integers(start, last))
            found.append((draw(st.integers(0, 2)), start, at, calls(start, at, depth - 1)))
        return found

    return calls(0, 60, 3)


@settings(max_examples=60, deadline=None)
@given(nested())
def test_inclusive_times_and_calls_are_those_of_the_tree_of_calls(tree):
    states, tree = NestedStates("tree"), [*tree, (0, 60, 70, [])]  # something that lasts

    def enter(siblings):
        for function, start, end, callees in siblings:
            states.push(0, function, start, 1)
            enter(callees)
            states.pop(0, end, 1)

    enter(tree)
    trace = states.trace(["cpu"], STATES, time_unit="ns", span_ns=(0, 70))
    ticks = Readings(np.zeros(70, np.int64), np.arange(1, 71), np.full(70, 2), every=True)
    trace.facts = {**trace.facts, FACT: Counters(trace.locations, ("ticks",), lambda names: {"ticks": ticks})}
    edges, part = np.array([0, 25, 40, 70]), np.array([0, 1, 0])
    found = profile_of(trace, Stretches(("odd", "even"), edges, part))
    profiles_of_tree(found, tree, edges, part, 1)
    np.testing.assert_array_equal(found.counted["ticks"], 2 * found.times_ns)
    np.testing.assert_array_equal(found.counted_inclusive["ticks"], 2 * found.inclusive_ns)


def test_profiles_of_two_runs_are_compared_by_function(tmp_path):
    """Saved profiles, of one point each: 8 of 9 ns solve, then 6 of 8."""
    for name, solve, wait in (("a", 8, 1), ("b", 6, 2)):
        trace = perfcore.Trace([0, 0], [0, 1], [0, solve], [solve, solve + wait], ["x"], ["solve", "wait"])
        perfcore.profile(trace).save(tmp_path / f"{name}.csv")
    report = perfcore.profile([tmp_path / "a.csv", tmp_path / "b.csv"]).report()
    assert report.answer == "b.csv: 8 ns, 0.889x 9 ns of a.csv; most of it solve (-2 ns)"
    [table] = report.brief_tables
    assert [row[3] for row in table.shown()[1]] == ["-2", "1", "-1"]


def test_of_ranks_the_next_question_is_who_waits_for_whom():
    halo = "examples/halo/halo.prv"
    assert perfcore.profile(halo, by="rank").report().next == f"perf messages {halo}"


@pytest.mark.parametrize("header", [
    "function,calls,own_time,total_time", "name,ncalls,tottime,cumtime", "region,count,exclusive_s,inclusive_s",
    "Function,Calls,Self (s),Total (s)",
])  # fmt: skip
def test_own_times_of_a_table_add_up_and_times_with_callees_stand_beside_them(tmp_path, header):
    """Of main 0.1 s of 10.2 s; sums of times with callees would count each call again."""
    (tmp_path / "functions.csv").write_text(f"{header}\nmain,1,0.1,10.2\nsolve,100,6.2,9.1\nio,10,3.9,3.9\n")
    found = profile(tmp_path / "functions.csv")
    assert [(row["name"], row["own_ns"], row["total_ns"]) for row in found.rows] == [
        ("solve", 6_200_000_000, 9_100_000_000), ("io", 3_900_000_000, 3_900_000_000),
        ("main", 100_000_000, 10_200_000_000),
    ]  # fmt: skip
    assert "60.8% of the time (10.2 s) is solve" in found.report().answer


def test_own_times_at_several_scales_are_over_these_in_info_and_fit(tmp_path):
    """At 4 processors 0.1 s + 10 s / 4 + 0.2 s, whatever the times with callees."""
    rows = [f"{p},main,0.1,{10 / p + 0.3}\n{p},solve,{10 / p},{10 / p + 0.2}\n{p},io,0.2,0.2\n" for p in (1, 2, 4, 8)]
    (tmp_path / "functions.csv").write_text("p,function,self_s,total_s\n" + "".join(rows))
    facts = perfcore.info(tmp_path / "functions.csv")
    assert facts["points"] == {"p": {"values": 4, "levels": [1, 2, 4, 8]}}
    assert facts["total"] == "1.55 to 10.3 s"
    assert facts["next"][0].startswith(f"perf fit {tmp_path / 'functions.csv'}")
    fitted = perfcore.fit(tmp_path / "functions.csv")
    assert fitted.predict({"p": [4.0]}) == pytest.approx([2.8], rel=0.05)


def test_two_tables_of_functions_are_compared_whatever_their_numbers_of_calls(tmp_path):
    old, new, third = (tmp_path / name for name in ("old.csv", "new.csv", "third.csv"))
    old.write_text("function,calls,time_s\nsolve,10,5\nexchange,10,2\nio,2,1\n")
    new.write_text("function,calls,time_s\nsolve,10,4\nexchange,14,3.5\nio,2,1\n")
    third.write_text("p,time_s\n1,4\n2,2\n")
    report = perfcore.profile([old, new]).report()
    assert report.answer == "new.csv: 8.5 s, 1.06x 8 s of old.csv; most of it exchange (+1.5 s)"
    with pytest.raises(DataError, match=r"third.csv: has no times by function as .*old.csv has; give two profiles"):
        perfcore.profile([old, third])
    with pytest.raises(OptionError, match="3 profiles: give one, or two to compare"):
        perfcore.profile([old, new, new])
