"""Tables of intervals: whatever their columns are called, with and without locations, overlapping or not."""

import itertools
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from trace_samples import pieces

import perfcore
from perfcore.base.errors import InputError

HALO = Path(__file__).parents[2] / "examples" / "halo" / "halo.prv"

FILE = "jobs.csv"


@pytest.mark.parametrize("header", [
    "start_us,end_us,worker,task", "StartTimeUs,EndTimeUs,WorkerId,TaskName", "start [us],finish [us],Resource,Kind",
    "Start (us),Stop (us),location,operation", "task.start.us,task.end.us,container,state",
    "begin/us,end/us,worker_name,job_name", "start_micros,completed_at_micros,worker,activity",
    "taskStart (usec),taskEnd (usec),worker,type",
])  # fmt: skip
def test_names_and_units_in_many_spellings(write, header):
    trace = perfcore.read(write(f"{header}\n0,5,w,a\n5,9,w,b\n"))
    assert pieces(trace) == [("w", "a", 0, 5000), ("w", "b", 5000, 9000)]
    assert trace.time_unit == "us"
    assert trace.notes == ()


@pytest.mark.parametrize(("text", "note"), [
    ("start,duration_ms,w,task\n1,2,a,x\n".replace("w,", "worker,"), "as duration_ms is"),
    ("finished_ms,elapsed,worker,task\n3,2,a,x\n", None), ("start_ms,elapsed_us,worker,task\n1,2000,a,x\n", None),
])  # fmt: skip
def test_two_of_start_end_and_duration(write, text, note):
    trace = perfcore.read(write(text))
    assert pieces(trace) == [("a", "x", 1_000_000, 3_000_000)]
    assert [note in said for said in trace.notes] == ([True] if note else [])


def test_without_locations_the_curve_is_how_many_run_at_once(write):
    trace = perfcore.read(write("id,started_at_us,finished_at_us\n1,0,10\n2,5,15\n3,7,20\n4,10,12\n"))
    # By hand: from 5 two, from 7 three until 12 (one ends and one begins at 10), then two, then one.
    curve = trace.utilization()
    assert (curve.edges.tolist(), curve.heights.tolist()) == ([0, 5, 7, 12, 15, 20], [1, 2, 3, 2, 1])
    assert trace.locations == ("lane 1", "lane 2", "lane 3")
    assert trace.states == trace.busy_states == ("running",)
    assert "first free of 3 lanes" in trace.notes[-1]


OVERLAP = "start_us,end_us,worker,task\n0,10,w1,a\n5,15,w1,b\n3,20,w2,a\n"


def test_overlapping_intervals_are_refused_counted_or_united(write):
    path = write(OVERLAP)
    with pytest.raises(InputError, match=r"jobs.csv:3: 'w1' is in state 'b' .* -r overlap=count, .* -r overlap=union"):
        perfcore.read(path)
    counted = perfcore.read(path, overlap="count")
    assert pieces(counted) == [("w1 #1", "a", 0, 10_000), ("w1 #2", "b", 5_000, 15_000), ("w2", "a", 3_000, 20_000)]
    assert "2 locations are 3 lanes" in counted.notes[0]
    united = perfcore.read(path, overlap="union")
    assert pieces(united) == [("w1", "a", 0, 5_000), ("w1", "b", 5_000, 15_000), ("w2", "a", 3_000, 20_000)]
    assert "0.135 of the time" in united.notes[0]  # 5 of 10 + 10 + 17 us


def test_nested_intervals_of_a_thread_are_calls(write):
    """By hand: of the step of 100 us its two children leave 60; of the loader on another thread there is no caller."""
    head = "Start (ns),Duration (ns),Name,PID,TID\n"
    rows = "0,100000,step,1,8\n10000,30000,forward,1,8\n50000,10000,loss,1,8\n60000,100000,load,1,9\n"
    path = write(head + rows)
    [run] = perfcore.profile(path)
    times = zip(run.functions, run.by_function_ns.tolist(), run.inclusive_ns.sum(axis=(1, 2)).tolist(), strict=True)
    assert {name: both for name, *both in times if name != "(no state)"} == {
        "step": [60_000, 100_000], "forward": [30_000, 30_000], "loss": [10_000, 10_000], "load": [100_000, 100_000]
    }  # fmt: skip
    assert any("nested intervals of a thread are calls" in note for note in perfcore.read(path).notes)
    with pytest.raises(InputError, match="must not overlap"):
        perfcore.read(path, overlap="refuse")
    with pytest.raises(InputError, match="must not overlap"):  # the last begins within `step` and ends after it
        perfcore.read(write(head + rows + "70000,50000,crossing,1,8\n"))
    with pytest.raises(InputError, match="must not overlap"):  # jobs of a node are no calls
        perfcore.read(write((head + rows).replace("TID", "node").replace("PID", "size")))
    head = "name,src_file,src_line,ns_since_start,exec_time_ns,thread,value\n"  # of Tracy
    trace = perfcore.read(write(f"{head}frame,a.cpp,1,5,90,1,\nwait,b.cpp,2,20,65,1,\n"))
    assert pieces(trace) == [("1", "frame", 5, 20), ("1", "frame", 85, 95), ("1", "wait", 20, 85)]


def test_the_next_command_reads_the_file_alike(write):
    path = write("location,state,start_us,end_us\na,main,0,10\na,solve,3,7\n")
    found = perfcore.overheads(path, reading={"overlap": "union"})
    assert found.report().next == f"perf profile {path} -r overlap=union"
    other = perfcore.overheads(str(HALO)).report().next
    assert other.startswith("perf ")
    assert "overlap" not in other  # nor does it change what was found before
    assert found.report().next == f"perf profile {path} -r overlap=union"
    times = perfcore.profile(path, reading={"overlap": "union"})[0]
    assert dict(zip(times.functions, times.by_function_ns.tolist(), strict=True))["main"] == 6_000


def test_overlaps_of_more_rows_than_memory_should_hold(write, monkeypatch):
    """The same in blocks, with the intervals in a database."""
    rows = [(start, start + 30, f"w{start % 3}") for start in range(0, 40_000, 10)]
    path = write("start_us,end_us,worker\n" + "".join(f"{a},{b},{w}\n" for a, b, w in rows))
    plain = {how: perfcore.read(path, overlap=how) for how in ("count", "union")}
    monkeypatch.setattr("perf_io.tables.duck._VECTORS_PER_CHUNK", 1)
    monkeypatch.setattr("perf_io.tables.state_table._LARGEST_BLOCK", 2_000)
    monkeypatch.setattr("perf_io.tables.state_table.IN_MEMORY_ROWS", 10)
    for how, expected in plain.items():
        found = perfcore.read(path, overlap=how)
        assert type(found).__name__ == "TabularTrace"
        assert pieces(found) == pieces(expected)
        assert found.locations == expected.locations


rows = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 30), st.integers(1, 12)), min_size=10, max_size=60)


@settings(max_examples=10)
@given(rows=rows)
def test_lanes_are_as_many_as_intervals_are_at_once_and_none_overlaps(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("lanes") / "jobs.csv"
    lines = (f"{start},{start + length},w{place}\n" for place, start, length in rows)
    path.write_text("start_ns,end_ns,worker\n" + "".join(lines))
    trace = perfcore.read(path, overlap="count")
    for _, of_lane in itertools.groupby(pieces(trace), key=lambda row: row[0]):
        mine = sorted((start, end) for _, _, start, end in of_lane)
        assert all(before[1] <= after[0] for before, after in itertools.pairwise(mine))
    for worker in {place for place, *_ in rows}:
        running = [sum(p == worker and a <= t < a + n for p, a, n in rows) for t in range(45)]
        assert sum(name.startswith(f"w{worker}") for name in trace.locations) == max(running)


@pytest.mark.parametrize(("text", "problem"), [
    ("start,duration,rank\n0,-5,a\n", r":2: the state of 'a' has the duration -5; none is negative"),
    ("start,duration,rank\n0,5,a\n7,x,a\n", r":3: the duration is 'x'; a finite number"),
    ("end,duration,rank\n3,,a\n", r":2: the duration is ''"), ("end,duration,rank\n,3,a\n", r":2: the end is ''"),
    ("start,end,load\n0,5,0\n6,7,1\n", r":3: start is '6' .* if each row is an interval: -r kind=trace"),
    ("start,end,user,system\n0,5,0,1\n5,7,1,1\n", r":1: the columns start .* do not say"),
    ("start,end,rank,task\n0;5,7,a,x\n1,2,a,x\n", r":2: the start is '0;5'"),
    ("ts;ph;rank\nx;B;a\n1;E;a\n", r":2: a time, a location and a state are expected"),
    ('start,duration,rank\n"0,5","1,5",a\n', r":2: the start is '0,5'; .* -r decimal=,"),
])  # fmt: skip
def test_bad_tables_of_intervals(write, text, problem):
    with pytest.raises(InputError, match=problem) as caught:
        perfcore.read(write(text))
    assert "\n" not in str(caught.value)


NS_SINCE_1970 = 1_732_300_000 * 10**9
TOOLS = {
    "joblog of GNU parallel": (
        "Seq\tHost\tStarttime\tJobRuntime\tSend\tExitval\tCommand\n1\tn1\t1732300000.500\t     2.500\t0\t0\tmake a\n",
        [("n1", "running", NS_SINCE_1970 + 500_000_000, NS_SINCE_1970 + 3_000_000_000)],
    ),
    "pandas with its index": (
        ",start_us,end_us,worker\n0,0,5,a\n1,5,7,a\n",
        [("a", "running", 0, 5000), ("a", "running", 5000, 7000)],
    ),
    "rocprof": (
        '"Index","KernelName","gpu-id","queue-id","pid","tid","BeginNs","EndNs","DurationNs"\n0,"vadd",0,3,5,6,100,500,400\n',
        [("GPU 0", "vadd", 100, 500)],
    ),
    "ranges of NVTX on the GPU": (
        "Name,Projected Start (ns),Projected Duration (ns),Orig Start (ns),Orig Duration (ns),PID,TID,Lvl\n"
        "step,100,400,50,600,5,5,0\n",
        [("5/5", "step", 100, 500)],
    ),
    "Nextflow": (
        "task_id\tname\tstatus\tsubmit\tstart\tcomplete\tduration\n"
        "1\tFASTQC\tCOMPLETED\t2024-11-22 18:26:30\t2024-11-22 18:26:40.5\t2024-11-22 18:26:42\t12s\n",
        [("lane 1", "FASTQC", NS_SINCE_1970 + 500_000_000, NS_SINCE_1970 + 2_000_000_000)],
    ),
    "Spark": (
        "taskId,executorId,launchTime,finishTime,status\n0,7,1732300000000,1732300004000,SUCCESS\n",
        [("7", "SUCCESS", NS_SINCE_1970, NS_SINCE_1970 + 4_000_000_000)],
    ),
}


@pytest.mark.parametrize(("text", "expected"), TOOLS.values(), ids=TOOLS)
def test_tables_that_tools_write(write, text, expected):
    trace = perfcore.read(write(text, "table.csv"))
    zero = trace.facts.get("epoch_ns", 0)
    assert [(place, state, zero + start, zero + end) for place, state, start, end in pieces(trace)] == expected


@pytest.mark.parametrize(("last", "unit"), [("4.4", "s"), ("4", "us"), ("2000.5", "us")])
def test_times_without_a_unit_are_seconds_if_they_are_fractions_within_a_thousand(tmp_path, last, unit):
    """Clocks that count microseconds have whole ones, or many."""
    (tmp_path / "tasks.csv").write_text(f"worker,task,start,duration\nw0,load,0,1\nw1,load,0,2\nw0,fit,{last},3\n")
    trace = perfcore.read(tmp_path / "tasks.csv")
    assert trace.time_unit == unit
    assert any(
        f"start has no unit: its times are taken in {unit}; if not: -r time_unit=" in note for note in trace.notes
    )
