"""Paraver: header, states, names, and what is refused."""

import gzip

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import perfcore
from perfcore.base.errors import InputError

HEADER = "#Paraver (26/01/04 at 16:35):{duration}:4(2,2):1:2(2:1,1:2),3\n"
PCF = "STATES\n0    Idle\n1    Running\n4    Blocking Send\n\n\nSTATES_COLOR\n0    {117,195,255}\n"


@pytest.fixture
def write(tmp_path):
    def write(body, duration="100", pcf=PCF, name="run.prv"):
        path = tmp_path / name
        text = (HEADER.format(duration=duration) + body).encode(errors="surrogateescape")
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
    assert trace.levels["node"] == ["node 1", "node 1", "node 2"]
    assert trace.states == ("Running", "Blocking Send")
    assert trace.busy_states == ("Running",)
    assert trace.span_ns == (0, 100_000)
    curve = trace.utilization()
    assert curve.edges.tolist() == [0, 5, 10, 20, 100]
    assert curve.heights.tolist() == [1, 2, 1, 0]
    assert curve.n_locations == 3
    assert "1 event records: those of calls, user functions and counters are read" in trace.notes


def test_the_header_tells_the_unit(write):
    trace = perfcore.read(write(BODY, duration="100_ns"))
    assert (trace.time_unit, trace.span_ns) == ("ns", (0, 100))


@pytest.mark.parametrize(("line", "problem"), [
    ("1:2:1:1:2:20:30", r":7: state record has 7 fields, expected 8"),
    ("1:2:1:1:2:30:20:1", r":7: the state of '1.1.2' ends at 20, before it starts at 30"),
    ("1:2:1:1:2:20:x:1", r":7: the end is 'x'"), ("1:2:1:1:2:20:30:run", r":7: the state is 'run'"),
    ("1:2:1:1:2:15:30:4", r":7: '1.1.2' is in state '4' from 15 although '1' \(line 6\) lasts until 20"),
    ("9:what", r":7: '9:what' is no record of Paraver"),
    ("11:1:1:1:1:50:60:1", r":7: '11:1:1:1:1:50:60:1' is no record of Paraver"),
    ("1:2:1:1:2:20:30:5000000000", r":7: the state is '5000000000'; a number below 4294967296"),
    ("1:2:1:1:2:20:9999999999999999999:1", r":7: the end is '9999999999999999999'; a finite number within 64 bits"),
    ("1:2:1:1:2:20:9223372036854775:1\n1:2:1:1:2:30:40:1", r":8: '1.1.2' .* lasts until 9223372036854775;"),
    ("2:1:1:1:1:10:\udcff", r":7: is no UTF-8"),
])  # fmt: skip
@pytest.mark.parametrize(("in_memory", "compiled_from"), [(1 << 20, 1), (2, 1), (2, 1 << 20)])
def test_bad_records_are_refused_with_their_line(write, monkeypatch, line, problem, in_memory, compiled_from):
    monkeypatch.setattr("perf_io.traces.paraver.IN_MEMORY_ROWS", in_memory)
    monkeypatch.setattr("perf_io.traces.paraver._COMPILED_FROM", compiled_from)
    with pytest.raises(InputError, match=problem):
        perfcore.read(write(BODY + line + "\n"))


def intervals(trace):
    columns = (trace.location, trace.state, trace.start_ns, trace.end_ns)
    rows = zip(*(column.tolist() for column in columns), strict=True)
    return [(trace.locations[place], trace.states[state], start, end) for place, state, start, end in rows]


UNUSUAL = (
    "1:1:1:1:1:0.0005:10.25:1\r\n"  # decimal times, and a line end of Windows
    "  \r\n"
    "#a comment\n"
    "1:cpu: 1:1:x: 20 :+3e1: 70000 \n"  # a location that the header does not have, a large state, spaces
    "1:1:2:3:1:5:5:4\n\n"  # application 2 has three tasks
    "1:1:1:1:1:11:12:1"  # no line end
)


@pytest.mark.parametrize("compiled_from", [1, 1 << 20])
def test_unusual_records_are_read_as_well(write, monkeypatch, compiled_from):
    monkeypatch.setattr("perf_io.traces.paraver._COMPILED_FROM", compiled_from)
    assert intervals(perfcore.read(write(UNUSUAL))) == [
        ("1.1.1", "Running", 1, 10_250),  # 0.5 ns, half up
        (" 1.1.x", "State 70000", 20_000, 30_000),
        ("2.3.1", "Blocking Send", 5000, 5000),
        ("1.1.1", "Running", 11_000, 12_000),
    ]


states_of_one = st.lists(
    st.tuples(st.integers(0, 10**14), st.integers(0, 10**6), st.integers(0, 20), st.booleans()), max_size=8
)


@settings(max_examples=15)
@given(
    threads=st.lists(states_of_one, min_size=3, max_size=3),
    block=st.integers(1, 300),
    rows=st.integers(1, 9),
    compiled_from=st.sampled_from([1, 1 << 18]),
)
def test_blocks_tables_and_compilation_change_nothing(tmp_path_factory, threads, block, rows, compiled_from):
    """Whatever blocks the file is cut into, however many rows are in memory, and whoever takes the lines."""
    lines, expected, at = [], [], 0
    for thread, states in enumerate(threads):
        name, at = ("1.1.1", "1.1.2", "1.2.1")[thread], 0
        for pause, duration, state, decimal in states:
            begin, at = at + pause, at + pause + duration
            lines.append(f"1:1:{name.replace('.', ':')}:{begin}:{at}{'.0' if decimal else ''}:{state}\n2:1:x\n")
            expected.append((name, state, begin, at))
    if not expected or at == 0:
        return
    path = tmp_path_factory.mktemp("blocks") / "run.prv"
    path.write_text(HEADER.format(duration="100_ns") + "".join(lines))
    path.with_suffix(".pcf").write_text("STATES\n" + "".join(f"{state} task {state}\n" for state in range(21)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("perf_io.traces.paraver.IN_MEMORY_ROWS", rows)
        patch.setattr("perf_io.text._STEP", block)
        patch.setattr("perf_io.traces.paraver._COMPILED_FROM", compiled_from)
        trace = perfcore.read(path)
    assert trace.n_intervals == len(expected)
    assert intervals(trace) == [(name, f"task {state}", start, end) for name, state, start, end in expected]
    assert trace.span_ns == (0, max(100, *(end for *_, end in expected)))
    busy = sum(end - start for _, state, start, end in expected)  # in no class, so they compute
    if busy:
        assert trace.utilization().integral == pytest.approx(busy, rel=1e-12)


def test_a_trace_in_a_table_is_written_with_its_names(write, tmp_path, monkeypatch):
    body = BODY + "1:2:1:1:2:20:30:99\n"
    perfcore.write(perfcore.read(write(body)), tmp_path / "arrays.csv")
    monkeypatch.setattr("perf_io.traces.paraver.IN_MEMORY_ROWS", 2)
    perfcore.write(perfcore.read(write(body)), tmp_path / "table.csv")
    assert (tmp_path / "table.csv").read_text() == (tmp_path / "arrays.csv").read_text()


def test_states_out_of_order_are_no_mistake(write, monkeypatch):
    body = "".join(f"1:1:1:1:1:{10 * place}:{10 * place + 5}:1\n" for place in np.random.default_rng(1).permutation(50))
    for rows in (1 << 20, 7):
        monkeypatch.setattr("perf_io.traces.paraver.IN_MEMORY_ROWS", rows)
        assert perfcore.read(write(body)).utilization().integral == 250
