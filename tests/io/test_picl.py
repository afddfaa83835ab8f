"""PICL traces."""

import pytest
from trace_samples import sample

import perfcore

FILE = "run.trf"

NEW = sample("picl_events")


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
    curve = perfcore.read(real_data / "traces" / "picl" / "conceptual_pingpong.trf").utilization()
    assert curve.edges.tolist() == pytest.approx([0, 1e-5, 4e-5])
    assert curve.heights.tolist() == [2, 1]
    assert curve.mean / 2 == pytest.approx(0.625)
