"""Pajé: definitions in any order of fields, nested states, aliases, variables, damage."""

import pytest
from trace_samples import pieces

import perfcore
from perfcore.base.errors import InputError

FILE = "run.trace"
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
def read(read):
    return lambda body, **options: read((HEADER + body).encode("latin-1"), **options)


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
        ("main", "really running", s, 2 * s), ("main", "wait", 2 * s, 3 * s), ("main", "copy", 3 * s, 4 * s),
        ("main", "wait", 4 * s, 5 * s), ("main", "really running", 5 * s, 6 * s), ("main", "wait", 6 * s, 7 * s),
        ("main", "other", 7 * s, 8 * s), ("main", "really running", 9_500_000_000, 10 * s),
        ("helper", "really running", 8 * s, 9 * s),
    ]  # fmt: skip
    assert trace.busy_states == ("really running", "copy", "other")
    assert "1 NewEvent events passed over" in trace.notes


def test_times_are_exact_and_in_the_unit_that_is_told(read):
    trace = read("106 0.000000001 S p1t1 r\n109 4503599.627370497 S p1t1\n")
    assert in_time(trace) == [("main", "really running", 1, 4503599627370497)]
    trace = read("106 0.25 S p1t1 r\n109 1 S p1t1\n", time_unit="ms")
    assert in_time(trace) == [("main", "really running", 250_000, 1_000_000)]


@pytest.mark.parametrize(("body", "problem"), [
    ("106 1 S p1t1\n", r"SetState has 3 fields, its definition has 4; the file is truncated or corrupt"),
    ("999 1 S p1t1\n", r"event '999' has no %EventDef"), ("106 1 S nobody r\n", r"container 'nobody' was not created"),
    ("106 1 nothing p1t1 r\n", r"type 'nothing' was not defined"),
    ("108 1 S p1t1\n", r"PopState of process 1/main that is in no state"),
    ("106 x S p1t1 r\n", r"time 'x' is not a finite number"), ("106 inf S p1t1 r\n", r"time 'inf' is not a finite"),
    ("106 1e999999999 S p1t1 r\n", r"time '1e999999999' is not a finite number"),
    ("110 1 V p1t1 nan\n", r"is 'nan'; expected a finite number"),
    ("%EventDef PajeSetState\n", r"no line of an event's definition"), ("%EndEventDef\n", r"without %EventDef"),
])  # fmt: skip
def test_bad_events_are_refused_with_their_line(read, body, problem):
    with pytest.raises(InputError, match=rf"run.trace:{HEADER_LINES + 1}: .*{problem}"):
        read(body)


@pytest.mark.real_data
def test_small_traces(real_data):
    folder = real_data / "traces" / "paje"
    # By hand from the eight events of the file.
    ms = 1_000_000
    assert in_time(perfcore.read(folder / "states.trace")) == [
        ("p1", "Inicio", 0, 320 * ms), ("p1", "Meio", 320 * ms, 530 * ms), ("p1", "Inicio", 530 * ms, 860 * ms),
        ("p1", "Fim", 860 * ms, 990 * ms), ("p1", "Inicio", 990 * ms, 1340 * ms),
    ]  # fmt: skip
    variables = perfcore.read(folder / "variables.trace")
    assert (variables.times.tolist(), variables.columns["VAR"].tolist()) == ([0, 0.32, 0.53], [10, 13, 11])
    assert perfcore.read(folder / "categories.trace").columns["Tremblay power"][0] == 98095000
    assert perfcore.read(folder / "simgrid-fg126.trace").columns["host1 speed"][0] == 2e9
