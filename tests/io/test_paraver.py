"""Paraver: header, states, names, and what is refused."""

import gzip

import pytest

import perfcore
from perfcore.errors import InputError

HEADER = "#Paraver (26/01/04 at 16:35):{duration}:4(2,2):1:2(2:1,1:2),3\n"
PCF = "STATES\n0    Idle\n1    Running\n4    Blocking Send\n\n\nSTATES_COLOR\n0    {117,195,255}\n"


@pytest.fixture
def write(tmp_path):
    def write(body, duration="100", pcf=PCF, name="run.prv"):
        path = tmp_path / name
        text = (HEADER.format(duration=duration) + body).encode()
        path.write_bytes(gzip.compress(text) if name.endswith(".gz") else text)
        if pcf is not None:
            (tmp_path / "run.pcf").write_text(pcf)
        return path

    return write


BODY = "c:1:1:1:1\n1:1:1:1:1:0:10:1\n2:1:1:1:1:10:50000001:1\n1:1:1:1:1:10:40:4\n1:2:1:1:2:5:20:1\n"


@pytest.mark.parametrize("name", ["run.prv", "run.prv.gz"])
def test_states_of_all_declared_threads(write, name):
    trace = perfcore.read(write(BODY, name=name))
    assert trace.locations == ("1.1.1", "1.1.2", "1.2.1")
    assert trace.states == ("Running", "Blocking Send")
    assert trace.busy_states == ("Running",)
    assert trace.span_ns == (0, 100_000)
    curve = trace.utilization()
    assert curve.edges.tolist() == [0, 5, 10, 20, 100]
    assert curve.heights.tolist() == [1, 2, 1, 0]
    assert curve.n_locations == 3
    assert "1 event records passed over" in trace.notes


def test_the_header_tells_the_unit(write):
    trace = perfcore.read(write(BODY, duration="100_ns"))
    assert (trace.time_unit, trace.span_ns) == ("ns", (0, 100))


def test_states_have_their_usual_names_without_pcf(write):
    trace = perfcore.read(write(BODY + "1:2:1:1:2:20:30:99\n", pcf=None))
    assert trace.states == ("Running", "Blocking Send", "State 99")
    assert any("no .pcf" in note for note in trace.notes)


def test_a_state_that_the_pcf_leaves_out_keeps_its_number(write):
    trace = perfcore.read(write(BODY + "1:2:1:1:2:20:30:15\n"))
    assert "State 15" in trace.states
    assert any("15" in note for note in trace.notes)


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("1:2:1:1:2:20:30", r":7: state record has 7 fields, expected 8"),
        ("1:2:1:1:2:30:20:1", r":7: the state of '1.1.2' ends at 20, before it starts at 30"),
        ("1:2:1:1:2:20:x:1", r":7: the end is 'x'"),
        ("1:2:1:1:2:20:30:run", r":7: the state is 'run'"),
        ("1:2:1:1:2:15:30:4", r":7: '1.1.2' is in state '4' from 15 although '1' \(line 6\) lasts until 20"),
        ("9:what", r":7: '9:what' is no record of Paraver"),
    ],
)
def test_bad_records_are_refused_with_their_line(write, line, problem):
    with pytest.raises(InputError, match=problem):
        perfcore.read(write(BODY + line + "\n"))


@pytest.mark.parametrize(
    "first", ["#Paraver (x):", "#Paraver (x):12:4\n", "#Paraver", "#Paraver (x):12:1:1:1(99999999:1)\n"]
)
def test_bad_headers_are_refused(tmp_path, first):
    path = tmp_path / "bad.prv"
    path.write_text(first)
    with pytest.raises(InputError, match=r"bad.prv:1: .*header"):
        perfcore.read(path)


def test_a_trace_without_states_is_refused(write):
    with pytest.raises(InputError, match="no state intervals"):
        perfcore.read(write("2:1:1:1:1:10:50000001:1\n"))


@pytest.mark.real_data
def test_quicksort(real_data):
    # Figures from an independent parser: 111 steps, mean 0.293 of 4 threads.
    curve = perfcore.read(real_data / "traces" / "paraver" / "qsort_beo3.prv").utilization()
    assert curve.n_steps == 111
    assert curve.mean / 4 == pytest.approx(0.293, abs=5e-4)
