"""PICL: the new format, and the old one in numbers and in words."""

import pytest

import perfcore

FILE = "run.trf"

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
