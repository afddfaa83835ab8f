"""Pajé: definitions in any order of fields, nested states, aliases, variables, damage."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from trace_samples import pieces

import perfcore
from perfcore.base.errors import InputError

# Each event has its own order of fields, and numbers of its own.
DEFINITIONS = {
    "DefineContainerType 100": "Alias:string Type:string Name:string",
    "DefineStateType 101": "Name:string Type:string Alias:string",
    "DefineVariableType 102": "Alias:string Type:string Name:string",
    "DefineEntityValue 103": "Alias:string Type:string Name:string",
    "CreateContainer 104": "Time:date Alias:string Type:string Container:string Name:string",
    "DestroyContainer 105": "Time:date Type:string Name:string",
    "SetState 106": "Time:date Type:string Container:string Value:string",
    "PushState 107": "Value:string Container:string Type:string Time:date",
    "PopState 108": "Time:date Type:string Container:string",
    "ResetState 109": "Time:date Type:string Container:string",
    "SetVariable 110": "Time:date Type:string Container:string Value:double",
    "AddVariable 111": "Time:date Type:string Container:string Value:double",
    "SubVariable 112": "Time:date Type:string Container:string Value:double",
    "NewEvent 113": "Time:date Type:string Container:string Value:string",
}
HEADER = "# written by hand\n" + "".join(
    f"%EventDef Paje{event}\n"
    + "".join(f"% {field.replace(':', ' ')}\n" for field in fields.split())
    + "%EndEventDef\n"
    for event, fields in DEFINITIONS.items()
)
HEADER += """\
100 P 0 "Process"
100 T P Thread
101 "Thread State" T S
102 V T load
103 r S "really running"
104 0 p1 P 0 "process 1"
104 0.0 p1t1 T p1 main
104 0.0 p1t2 T p1 helper
"""
HEADER_LINES = HEADER.count("\n")


@pytest.fixture
def read(tmp_path):
    def read(body, **options):
        path = tmp_path / "run.trace"
        path.write_text(HEADER + body, encoding="latin-1")
        return perfcore.read(path, **options)

    return read


def in_time(trace):
    return sorted(pieces(trace), key=lambda row: (trace.locations.index(row[0]), row[2]))


def test_push_pop_set_reset_and_the_end_of_containers(read):
    trace = read(
        "106 1 S p1t1 r\n"  # by aliases
        "107 wait p1t1 S 2\n"
        '107 copy main "Thread State" 3\n'  # by names
        "108 4 S p1t1\n"
        "108 5 S p1t1\n"
        "107 wait p1t1 S 6\n"
        "106 7 S p1t1 other\n"  # ends what was pushed
        "109 8 S p1t1\n"
        "106 8 S p1t2 r\n"
        "105 9 T p1t2\n"
        "106 9.5 S p1t1 r\n"
        "113 10 S p1t1 bell\n"
    )
    s = 1_000_000_000
    assert in_time(trace) == [
        ("main", "really running", s, 2 * s),
        ("main", "wait", 2 * s, 3 * s),
        ("main", "copy", 3 * s, 4 * s),
        ("main", "wait", 4 * s, 5 * s),
        ("main", "really running", 5 * s, 6 * s),
        ("main", "wait", 6 * s, 7 * s),
        ("main", "other", 7 * s, 8 * s),
        ("main", "really running", 9_500_000_000, 10 * s),
        ("helper", "really running", 8 * s, 9 * s),
    ]
    assert trace.busy_states == ("really running", "copy", "other")
    assert "1 NewEvent events passed over" in trace.notes


def test_times_are_exact_and_in_the_unit_that_is_told(read):
    trace = read("106 0.000000001 S p1t1 r\n109 4503599.627370497 S p1t1\n")
    assert in_time(trace) == [("main", "really running", 1, 4503599627370497)]
    trace = read("106 0.25 S p1t1 r\n109 1 S p1t1\n", time_unit="ms")
    assert in_time(trace) == [("main", "really running", 250_000, 1_000_000)]


def test_variables_are_a_series_where_there_are_no_states(read):
    series = read("110 0 V p1t1 10\n111 0.5 V p1t1 3\n110 0.5 V p1t2 1\n112 2 V p1t1 4.5\n")
    assert series.times.tolist() == [0, 0.5, 2]
    assert series.columns["process 1/main load"].tolist() == [10, 13, 8.5]
    assert series.columns["process 1/helper load"].tolist() == [0, 1, 1]
    assert series.columns["load"].tolist() == [10, 14, 9.5]
    assert series.notes == ("sums over containers: load", "1 variables have no value at first, which counts as 0")


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ("106 1 S p1t1\n", r"SetState has 3 fields, its definition has 4; the file is cut short"),
        ("999 1 S p1t1\n", r"event '999' has no %EventDef"),
        ("106 1 S nobody r\n", r"container 'nobody' was not created"),
        ("106 1 nothing p1t1 r\n", r"type 'nothing' was not defined"),
        ("108 1 S p1t1\n", r"PopState of process 1/main that is in no state"),
        ("106 x S p1t1 r\n", r"time 'x' is not a finite number"),
        ("106 inf S p1t1 r\n", r"time 'inf' is not a finite number"),
        ("106 1e999999999 S p1t1 r\n", r"time '1e999999999' is not a finite number"),
        ("110 1 V p1t1 nan\n", r"is 'nan'; a finite number"),
        ("%EventDef PajeSetState\n", r"no line of an event's definition"),
        ("%EndEventDef\n", r"without %EventDef"),
    ],
)
def test_bad_events_are_refused_with_their_line(read, body, problem):
    with pytest.raises(InputError, match=rf"run.trace:{HEADER_LINES + 1}: .*{problem}"):
        read(body)


@pytest.mark.real_data
def test_small_traces(real_data):
    folder = real_data / "traces" / "paje"
    # By hand from the eight events of the file.
    ms = 1_000_000
    assert in_time(perfcore.read(folder / "states.trace")) == [
        ("p1", "Inicio", 0, 320 * ms),
        ("p1", "Meio", 320 * ms, 530 * ms),
        ("p1", "Inicio", 530 * ms, 860 * ms),
        ("p1", "Fim", 860 * ms, 990 * ms),
        ("p1", "Inicio", 990 * ms, 1340 * ms),
    ]
    variables = perfcore.read(folder / "variables.trace")
    assert (variables.times.tolist(), variables.columns["VAR"].tolist()) == ([0, 0.32, 0.53], [10, 13, 11])
    assert perfcore.read(folder / "categories.trace").columns["Tremblay power"][0] == 98095000
    assert perfcore.read(folder / "simgrid-fg126.trace").columns["host1 speed"][0] == 2e9


# pj_dump: lines and StarVZ's table, nested states, state types.
PLAIN = """\
Container, 0, HOST, 0.0, 9.0, 9.0, p1
State, p1, S, 0.000000, 6.000000, 6.000000, 0.000000, compute
State, p1, S, 1.000000, 3.000000, 2.000000, 1.000000, MPI_Recv
State, p1, S, 2.000000, 3.000000, 1.000000, 2.000000, copy
State, p2, S, 0.0000000014, 4.000000, 4.000000, 0.000000, compute
Variable, p1, power, 0.0, 9.0, 9.0, 1.0
Link, 0, L, 0.0, 1.0, 1.0, x, p1, p2
Event, p1, E, 0.5, done
"""
TABLE = """\
Nature, ResourceId, Type, Start, End, Duration, Depth, Value, Size
State, CPU0, Worker State, 0.5, 2.0, 1.5, 0.0, Idle
State, CPU0, Worker State, 2.0, 4.0, 2.0, 0.0, dgemm, 12
State, CPU0, Worker State, 2.5, 3.0, 0.5, 1.0, Callback
"""


def pieces_of_pj_dump(trace, location):
    return [
        (trace.states[state], start, end)
        for where, state, start, end in sorted(
            zip(trace.location, trace.state, trace.start_ns.tolist(), trace.end_ns.tolist(), strict=True),
            key=lambda row: row[2],
        )
        if trace.locations[where] == location
    ]


def test_the_innermost_state_counts(write):
    trace = perfcore.read(write(PLAIN))
    s = 1_000_000_000
    assert pieces_of_pj_dump(trace, "p1") == [
        ("compute", 0, s),
        ("MPI_Recv", s, 2 * s),
        ("copy", 2 * s, 3 * s),
        ("compute", 3 * s, 6 * s),
    ]
    assert pieces_of_pj_dump(trace, "p2") == [("compute", 1, 4 * s)]
    assert trace.time_unit == "s"
    assert "1 variable lines passed over, which -r kind=variables reads" in trace.notes


def test_starvz_counts_a_task_whole_unless_told_otherwise(write):
    path = write(TABLE)
    trace = perfcore.read(path)
    assert pieces_of_pj_dump(trace, "CPU0") == [("Idle", 500_000, 2_000_000), ("dgemm", 2_000_000, 4_000_000)]
    assert (trace.time_unit, trace.busy_states) == ("ms", ("dgemm",))
    inner = perfcore.read(path, nested="innermost", time_unit="us")
    assert pieces_of_pj_dump(inner, "CPU0") == [
        ("Idle", 500, 2000),
        ("dgemm", 2000, 2500),
        ("Callback", 2500, 3000),
        ("dgemm", 3000, 4000),
    ]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("State, p1, S, 7.0, 8.0", r":9: the state line .* has fewer than 8 fields"),
        ("State, p1, S, 7.0, 6.5, 1, 0, run", r":9: the state of 'p1' ends at 6.5, before it starts at 7.0"),
        ("State, p1, S, x, 6.5, 1, 0, run", r":9: the start is 'x'"),
        ("State, , S, 7, 8, 1, 0, run", r":9: the location is ''"),
        ("State, p1, S, 5.0, 8.0, 3, 0, run", r":9: 'p1' is in state 'run' from 5.0 although 'compute' \(line 2\)"),
        ("Stat", r":9: 'Stat' is none of State, Container"),
    ],
)
def test_bad_lines_are_refused_with_their_number(write, line, problem):
    with pytest.raises(InputError, match=problem):
        perfcore.read(write(PLAIN + line + "\n"))


@pytest.mark.real_data
def test_starpu_factorization(real_data):
    # Figures from an independent parser: 9,678 times at which the number of busy workers changes, mean 0.754 of 10.
    trace = perfcore.read(real_data / "traces" / "paje" / "qr_trace.paje.worker_state.csv.gz")
    curve = trace.utilization()
    # No worker is busy when the trace begins and when it ends: one step more than changes.
    assert curve.n_steps == 9678 + 1
    assert curve.mean / 10 == pytest.approx(0.754, abs=5e-4)
    # Tasks in which a task is submitted are cut where the submission, a runtime state, is the innermost one.
    inner = perfcore.read(trace.source, nested="innermost").utilization()
    assert inner.n_steps > curve.n_steps
    assert inner.integral < curve.integral
    assert inner.mean / 10 == pytest.approx(0.754, abs=5e-4)


VARIABLES = """\
Nature, ResourceId, Type, Start, End, Duration, Value
Variable, scheduler, Number of Ready Tasks, 0.0, 1.5, 1.5, 3
Variable, scheduler, Number of Ready Tasks, 1.5, 4.0, 2.5, 0
Variable, CPU0, GFlops, 0.0, 4.0, 4.0, 10.5
Variable, CPU1, GFlops, 0.5, 4.0, 3.5, 4
"""


def test_variables_are_a_series_by_type_and_summed_over_containers(write):
    series = perfcore.read(write(VARIABLES, "paje.variable.csv"))
    assert (series.time_unit, series.times.tolist()) == ("ms", [0, 0.5, 1.5])
    assert {name: values.tolist() for name, values in series.columns.items()} == {
        "Number of Ready Tasks": [3, 3, 0],
        "GFlops": [10.5, 14.5, 14.5],
        "CPU0 GFlops": [10.5, 10.5, 10.5],
        "CPU1 GFlops": [0, 4, 4],
    }
    power = perfcore.read(write(PLAIN), kind="variables")
    assert (power.time_unit, power.columns["power"].tolist()) == ("s", [1])


def test_ready_work_from_variables_tells_imbalance_from_lack_of_work(write):
    """By hand: of two locations CPU1 is idle for 1 ms with tasks ready and for 2.5 ms without."""
    lines = (
        "State, CPU0, Worker State, 0.0, 4.0, 4.0, 0.0, dgemm\nState, CPU1, Worker State, 0.5, 1.0, 0.5, 0.0, dgemm\n"
    )
    trace = perfcore.read(write(TABLE.split("\n")[0] + "\n" + lines, "worker_state.csv"))
    ready = write(VARIABLES, "paje.variable.csv")
    profile = perfcore.overheads(trace, ready=ready, ready_column="Number of Ready Tasks")
    spent = profile.to_frame().set_index("category")["time_s"]
    assert spent["load imbalance"] == pytest.approx(1e-3 / 2)
    assert spent["insufficient parallelism"] == pytest.approx(2.5e-3 / 2)


@st.composite
def nested(draw, start=0, end=30, depth=0):
    """Intervals (start, end, depth) that lie within one another or apart."""
    found = []
    cuts = sorted(draw(st.lists(st.integers(start, end), max_size=4)))
    for first, last in zip(cuts[::2], cuts[1::2], strict=False):
        found.append((first, last, depth))
        if depth < 3:
            found += draw(nested(first, last, depth + 1))
    return found


@settings(deadline=None, max_examples=50)
@given(intervals=nested().filter(lambda rows: any(end > start for start, end, _ in rows)), order=st.randoms())
def test_every_moment_belongs_to_the_deepest_interval(tmp_path_factory, intervals, order):
    path = tmp_path_factory.mktemp("nested") / "dump.csv"
    order.shuffle(intervals)
    lines = [f"State, p, S, {a}, {b}, {b - a}, {depth}, d{depth}\n" for a, b, depth in intervals]
    path.write_text("".join(lines))
    trace = perfcore.read(path, time_unit="ns")
    for moment in range(30):
        holding = [depth for a, b, depth in intervals if a <= moment < b]
        mine = (trace.start_ns <= moment) & (moment < trace.end_ns)
        assert [trace.states[code] for code in trace.state[mine]] == [f"d{max(holding, default=0)}"] * bool(holding)


# PICL: the new format, and the old one in numbers and in words.
# One message of 4 bytes from node 0, which then waits 2 ms for an answer within a block of the user's and a barrier.
OLD = """\
1 0 0 0 1 1 1
1 0 0 1 1 1 1
3 0 0 -1
20 0 1000 0 7 0 0
4 0 1500 0 1 5 4
11 0 1500 0 0 0
7 0 2000 0 6
8 0 4000 0 1 6 4
21 0 5000 0 7 0 0
20 0 5000 0 -1 0 0
21 0 5500 0 -1 0 0
18 0 6000 0 0 6500
19 0 7000 0 100
19 0 7000 1 100
"""
WORDS = """\
trace_start clock 0 0 node 0 event 1 compstats 1 commstats 1
trace_start clock 0 0 node 1 event 1 compstats 1 commstats 1
load clock 0 0 node -1
block_begin clock 0 1000 node 0 block_type 7 location_type 0 parameter_type 0
send clock 0 1500 node 0 to 1 type 5 lth 4
compstats clock 0 1500 node 0 busy 0 1500 idle 0 0
recv_blocking clock 0 2000 node 0 type 6
recv_waking clock 0 4000 node 0 from 1 type 6 lth 4
block_end clock 0 5000 node 0 block_type 7 location_type 0 parameter_type 0
block_begin clock 0 5000 node 0 block_type -1 location_type 0 parameter_type 0
block_end clock 0 5500 node 0 block_type -1 location_type 0 parameter_type 0
trace_flush clock 0 6000 node 0 finished 0 6500
trace_exit clock 0 7000 node 0 space 100
trace_exit clock 0 7000 node 1 space 100
"""
NEW = """\
-3 -901 0.0 0 0 0
-3 -901 0.0 1 0 0
-3 5 0.001 0 0 0
-3 -52 0.002 0 0 3 2 1 0 0
-4 -52 0.0030000004 0 0 0
-2 -7 0.003 0 0 0
-4 5 0.004 0 0 0
-4 -901 0.005 0 0 0
-4 -901 0.004 1 0 0
"""


@pytest.mark.parametrize("text", [OLD, WORDS], ids=["numbers", "words"])
@pytest.mark.parametrize("name", ["run.trf", "unknown"])
def test_old_format(read, text, name):
    trace = read(text, name)
    assert trace.locations == ("0", "1")
    assert set(trace.busy_states) == {"computing", "user event 7"}
    assert set(trace.states) - set(trace.busy_states) == {"recv", "barrier", "trace flush"}
    curve = trace.utilization()
    # Node 1 computes throughout, node 0 except in waiting 2 to 4, barrier 5 to 5.5 and flush 6 to 6.5 ms.
    assert curve.edges.tolist() == [0, 2000, 4000, 5000, 5500, 6000, 6500, 7000]
    assert curve.heights.tolist() == [2, 1, 2, 1, 2, 1, 2]


@pytest.mark.parametrize("name", ["run.trf", "unknown"])
def test_new_format(read, name):
    trace = read(NEW, name)
    assert set(trace.busy_states) == {"computing", "user event 5"}
    curve = trace.utilization()
    assert curve.edges.tolist() == pytest.approx([0, 0.002, 0.003, 0.004, 0.005])
    assert curve.heights.tolist() == [2, 1, 2, 1]
    assert trace.notes == ("1 type -2 records passed over",)
    [run] = perfcore.profile(trace)
    calls = dict(zip(run.functions, run.calls.sum(axis=(1, 2)).tolist(), strict=True))
    assert calls == {"computing": 0, "user event 5": 1, "recv": 1, "(no state)": 0}


@pytest.mark.real_data
def test_ping_pong(real_data):
    # By hand: node 0 waits from 2 to 3, node 1 from 1 to 2 and is traced until 3 of 4 units of 10 us, so 5 of 8 units
    # are computed, and the number of computing nodes changes at 0, 1 and 4.
    trace = perfcore.read(real_data / "traces" / "picl" / "conceptual_pingpong.trf")
    curve = trace.utilization()
    assert curve.edges.tolist() == pytest.approx([0, 1e-5, 4e-5])
    assert curve.heights.tolist() == [2, 1]
    assert curve.mean / 2 == pytest.approx(0.625)
