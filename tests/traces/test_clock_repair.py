"""Clocks of ranks in one file: known shifts and rates are put in, and taken out as far as messages tell."""

from dataclasses import replace

import numpy as np
import pytest

import perfcore
from perf_traces.clock_repair import with_repaired_clocks
from perf_traces.messages.communication import carry, communication_of
from perf_traces.messages.replay import Replay
from perf_traces.messages.testing import by_hand
from perfcore.base.errors import DataError
from perfcore.data.trace import Trace

STEPS = 10


def run(shifts_ns, rates=(0.0, 0.0, 0.0), step_ns=1_000_000):
    """Ranks that send around a ring in each step, with 200 ns to travel, on clocks that are ahead."""
    n = len(shifts_ns)

    def on_clock(rank, time):
        return round(time + shifts_ns[rank] + rates[rank] * time)

    calls, pairs = [[] for _ in range(n)], []
    for step in range(STEPS):
        begin = (step + 1) * step_ns
        for rank in range(n):
            pairs.append({"send": (rank, len(calls[rank])), "receive": ((rank + 1) % n, 2 * step + 1)})
            times = (begin, begin + 100, begin + 150, begin + 300)
            first, second, third, fourth = (on_clock(rank, each) for each in times)
            calls[rank] += [("MPI_Send", first, second), ("MPI_Recv", third, fourth)]
    ends = [on_clock(rank, (STEPS + 1) * step_ns) for rank in range(n)]
    names = tuple(f"rank {k}" for k in range(n))
    found = replace(by_hand(calls, pairs, ends=ends), locations=names)
    trace = Trace(range(n), [0] * n, [0] * n, ends, names, ["work"], span_ns=(0, max(ends)))
    return carry(trace, lambda: found)


@pytest.mark.parametrize("shift_ns", [50_000, -50_000])
def test_a_shift_is_taken_out_to_what_messages_tell(shift_ns):
    trace = run([0, shift_ns, 0])
    assert communication_of(trace).backwards.sum() == STEPS
    found = with_repaired_clocks(trace)
    assert not communication_of(found).backwards.any()
    # A message may take 300 ns, from when it is asked for to when it is there; all but that is certain.
    begins = found.start_ns - trace.start_ns
    assert begins[[0, 2]].tolist() == [0, 0]
    assert begins[1] == -shift_ns + (300 if shift_ns > 0 else -300)
    sign = "-" if shift_ns > 0 else "+"
    assert f"1 of 3 shifted by as little as messages need (rank 1 {sign}49.7 us)" in found.notes[-1]
    assert "10 messages and collectives ended before they could, none do now" in found.notes[-1]
    assert Replay(communication_of(found)).n_contradictions == 0


def test_a_clock_that_runs_faster_needs_a_rate():
    trace = run([0, -4_000_000, 0], rates=(0.0, 1e-3, 0.0), step_ns=1_000_000_000)
    assert communication_of(trace).backwards.any()
    found = with_repaired_clocks(trace)
    assert not communication_of(found).backwards.any()
    assert "us a second" in found.notes[-1]


def test_nothing_is_shifted_where_nothing_is_wrong_and_nothing_tells():
    trace = run([0, 0, 0])
    start = trace.start_ns.copy()
    found = with_repaired_clocks(trace)
    assert np.array_equal(found.start_ns, start)
    assert found.notes == ("clocks: no message ends before it is sent; nothing was shifted",)
    with pytest.raises(DataError, match="needs messages or collectives in the trace, and it has none"):
        with_repaired_clocks(Trace([0], [0], [0], [9], ["a"], ["run"]))


def test_collectives_and_counters_of_an_archive(tmp_path):
    pytest.importorskip("otf2")
    from otf2_runs import otf2_run

    from perf_traces.messages.burst_classes import burst_classes

    path = otf2_run(tmp_path, 3, shifts_ns=[0, 0, 50_000])
    assert any("Rank 2 -49.9 us" in note for note in perfcore.read(path, clocks="messages").notes)
    counted = [burst_classes(perfcore.read(path, clocks=how)).instructions.sum() for how in ("auto", "messages")]
    assert counted[0] == counted[1]
