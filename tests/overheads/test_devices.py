"""Streams of GPUs: unions, hidden shares, and categories, against a count of every nanosecond."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import perfcore
from perf_overheads import overheads, profile_overheads
from perf_overheads.attribution import usual_categories
from perfcore import Trace

STATES = ("gemm", "ncclDevKernel_AllReduce", "Memcpy DtoH")
STREAMS = ("GPU 0 / stream 7", "GPU 0 / stream 8", "GPU 1 / stream 7")


def trace_of(rows):
    location, state, start, end = zip(*rows, strict=True)
    return Trace(location, state, start, end, STREAMS, STATES)


@st.composite
def traces(draw):
    rows = []
    for stream in range(3):
        at = 0
        for gap, width, state in draw(
            st.lists(st.tuples(st.integers(0, 3), st.integers(1, 9), st.integers(0, 2)), min_size=1, max_size=5)
        ):
            rows.append((stream, state, at + gap, at + gap + width))
            at += gap + width
    return trace_of(rows)


@settings(deadline=None, max_examples=40)
@given(trace=traces())
def test_as_every_nanosecond_says(trace):
    profile = profile_overheads(trace)
    found = dict(zip(profile.categories, profile.by_category_ns.tolist(), strict=True))
    expected = dict.fromkeys(found, 0)
    unions = {name: np.zeros(5, int) for name in ("GPU 0", "GPU 1")}
    start, end = trace.span_ns
    for now in range(start, end):
        states = [None] * 3
        for location, state in zip(
            *(column[(trace.start_ns <= now) & (now < trace.end_ns)] for column in (trace.location, trace.state)),
            strict=True,
        ):
            states[location] = state
        for device, mine in (("GPU 0", states[:2]), ("GPU 1", states[2:])):
            computes = 0 in mine
            for state in mine:
                hidden = "hidden" if computes else "exposed"
                names = {0: "computing", 1: f"{hidden} communication", 2: f"{hidden} copies", None: "idle"}
                expected[names[state]] += 1
            unions[device] += [computes, 1 in mine, computes and 1 in mine, 2 in mine, computes and 2 in mine]
    assert found == expected
    assert {
        each.device: [each.computing_ns, each.communicating_ns, each.hidden_communication_ns, each.copying_ns,
                      each.hidden_copies_ns]
        for each in profile.devices
    } == {device: times.tolist() for device, times in unions.items()}  # fmt: skip


def test_other_locations_have_the_standard_categories():
    trace = Trace([0, 1], [0, 0], [0, 0], [9, 9], ["GPU 0 / stream 7", "process 1 / thread 1"], ["gemm"])
    assert usual_categories(trace).source == "standard.toml"
    assert profile_overheads(trace).devices == ()


def test_a_gpu_is_one_location_to_its_efficiencies():
    trace = trace_of([(0, 0, 0, 60), (1, 0, 20, 80), (2, 0, 0, 40), (2, 1, 40, 100)])
    profile = profile_overheads(trace)
    whole = profile.efficiencies()
    assert whole.parallel[0] == pytest.approx((80 + 40) / 2 / 100)
    assert profile.efficiencies(by_phase=True) is None
    assert profile.to_dict()["devices"][1]["communicating_ns"] == 60
    assert "Each GPU" in profile.tables()[1][0]


def test_the_phases_of_gpus():
    trace = trace_of([(0, 0, 0, 60), (1, 1, 20, 80), (2, 0, 0, 40)])
    profile = profile_overheads(trace, phase_edges_ns=[0, 40, 80])
    assert profile.cycles_ns.sum(axis=(0, 1)).tolist() == [120, 120]
    assert profile.by_phase_ns[0].tolist() == [80, 20]


@pytest.mark.real_data
def test_two_ranks_to_the_microsecond(real_data):
    """Unions by an independent parser: computing, NCCL, copies, hidden share, span."""
    expected = ((210_320, 396_199, 1_325, 14.946, 1_222_847), (271_973, 379_053, 16_504, 19.926, 1_231_186))
    for rank, (computing, communicating, copying, hidden, span) in enumerate(expected):
        trace = perfcore.read(real_data / "traces" / "chrome" / "two_ranks" / f"sampled_rank-{rank}.json.gz")
        [profile] = overheads(trace)
        [device] = profile.devices
        times = (device.computing_ns, device.communicating_ns, device.copying_ns, device.span_ns)
        assert [time / 1000 for time in times] == [computing, communicating, copying, span]
        assert 100 * device.hidden_communication_ns / device.communicating_ns == pytest.approx(hidden, abs=5e-4)
        assert profile.by_category_ns[0] / profile.total_ns == pytest.approx(trace.utilization().mean / 5)
