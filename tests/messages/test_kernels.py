"""What nothing outside of perf_traces shows: replays of runs made by hand, whose critical paths a person can follow.

At the end the merging of intervals and sums over ranks, compiled and interpreted.
"""

import dataclasses
import random

import numpy as np
import pytest
from messages_by_hand import by_hand, exchange

from perf_traces import nesting
from perf_traces.joined_trace import summed_curve
from perf_traces.messages.kernels import last_not_after
from perf_traces.messages.replay import BURST, CALL, COLLECTIVE, MESSAGE, Replay, bsc_rules, observed_rules
from perfcore.base.errors import DataError
from perfcore.data.trace import curve_from_intervals


def test_ping_pong():
    found = by_hand(
        [[("MPI_Send", 10, 12), ("MPI_Recv", 12, 40)], [("MPI_Recv", 0, 25), ("MPI_Send", 30, 31)]],
        [{"send": (0, 0), "receive": (1, 0)}, {"send": (1, 1), "receive": (0, 1)}],
        ends=[45, 31],
    )
    replay = Replay(found)
    assert replay.runtime_ns() == 45
    assert replay.runtime_ns(0) == 10 + 5 + 5
    # Residuals: 15 to the second rank after the send at 10, 10 back after the send at 30.
    assert replay.residual_ns.tolist() == [2, 10, 15, 1]
    assert replay.waiting_ns.tolist() == [0, 18, 10, 0]
    assert replay.runtime_ns(2) == 10 + 30 + 5 + 20 + 5
    path = replay.path()
    assert path.kind.tolist() == [BURST, MESSAGE, BURST, MESSAGE, BURST]
    assert path.cost_ns.tolist() == [10, 15, 5, 10, 5]


def test_a_barrier_and_who_is_late():
    calls = [[("MPI_Barrier", work, 55)] for work in (10, 50, 20)]
    replay = Replay(by_hand(calls, collectives=[([(0, 0), (1, 0), (2, 0)], None)], ends=[60, 60, 75]))
    assert replay.runtime_ns(0) == 70
    path = replay.path()
    assert path.kind.tolist() == [BURST, 3, COLLECTIVE, BURST]
    assert path.subject.tolist()[0] == 1  # the burst of the late rank
    assert path.cost_ns.tolist() == [50, 0, 5, 20]


@pytest.mark.parametrize(("operation", "ideal"), [("MPI_Bcast", [40, 40, 60]), ("MPI_Reduce", [10, 60, 60])])
def test_collectives_with_a_root(operation, ideal):
    """Of a broadcast nobody waits for the others but for the root; of a reduction the root alone waits."""
    calls = [[(operation, 10, 65)], [(operation, 40, 66)], [(operation, 60, 67)]]
    found = by_hand(calls, collectives=[([(0, 0), (1, 0), (2, 0)], (1, 0))])
    assert Replay(found).times_ns(0)[1].tolist() == ideal
    assert Replay(found, bsc_rules(found)).times_ns(0)[1].tolist() == [60, 60, 60]


def test_calls_that_do_not_block():
    """The receive is posted, work goes on, and the wait ends when the message is there: it is hidden by the work."""
    found = by_hand(
        [[("MPI_Isend", 30, 31), ("MPI_Wait", 35, 36)], [("MPI_Irecv", 0, 1), ("MPI_Wait", 21, 50)]],
        [{"send": (0, 0), "done": (0, 1), "receive": (1, 1), "post": (1, 0), "bytes": 100}],
    )
    replay = Replay(found)
    assert replay.times_ns(0)[1].tolist() == [30, 34, 0, 30]
    assert replay.waiting_ns.tolist() == [0, 0, 0, 9]


def test_large_sends_wait_for_the_receive_unless_one_did_not():
    def run(leave, n_bytes=10_000):
        calls = [[("MPI_Send", 10, leave)], [("MPI_Recv", 50, 70)]]
        return by_hand(calls, [{"send": (0, 0), "receive": (1, 0), "bytes": n_bytes}])

    assert Replay(run(60)).times_ns(0)[1].tolist() == [50, 50]
    early = Replay(run(20))
    assert early.rules.eager_bytes == 10_000
    assert early.times_ns(0)[1].tolist() == [10, 50]
    assert early.n_contradictions == 0
    assert Replay(run(60, 100)).times_ns(0)[1].tolist() == [10, 50]  # small ones never wait
    assert Replay(run(20), bsc_rules(run(20, 40_000))).n_contradictions == 0
    assert Replay(run(20, 40_000), bsc_rules(run(20, 40_000))).n_contradictions == 1


def test_what_the_trace_refutes():
    """A call of MPI_Comm_dup that left before the last member arrived waits for nobody; a barrier always waits."""
    calls = [[("MPI_Comm_dup", 10, 20), ("MPI_Barrier", 30, 90)], [("MPI_Comm_dup", 50, 60), ("MPI_Barrier", 70, 90)]]
    pairs = [([(0, 0), (1, 0)], None), ([(0, 1), (1, 1)], None)]
    rules = observed_rules(by_hand(calls, collectives=pairs))
    assert rules.waits == {"MPI_Barrier": "all", "MPI_Comm_dup": "nobody"}
    refuted = [(each.operation, each.refuted, each.calls) for each in rules.refutations]
    assert refuted == [("MPI_Comm_dup", 1, 2), ("MPI_Barrier", 0, 2)]
    assert Replay(by_hand(calls, collectives=pairs)).n_contradictions == 0


def test_clocks_that_differ_are_said():
    calls = [[("MPI_Send", 100, 101)], [("MPI_Recv", 10, 50)]]
    replay = Replay(by_hand(calls, [{"send": (0, 0), "receive": (1, 0)}], ends=[101, 60]))
    assert replay.runtime_ns() == 101
    assert replay.n_contradictions == 1
    assert "messages end before they are sent, so the clocks of locations differ (1)" in replay.remarks()[0]


def test_a_circle_of_messages_is_named_and_cut():
    calls = [[("MPI_Recv", 0, 10), ("MPI_Send", 20, 21)], [("MPI_Recv", 0, 10), ("MPI_Send", 20, 21)]]
    messages = [{"send": (0, 1), "receive": (1, 0), "tag": 7}, {"send": (1, 1), "receive": (0, 0), "tag": 8}]
    replay = Replay(by_hand(calls, messages))
    assert replay.runtime_ns() == 21
    [said] = [line for line in replay.remarks() if "circle" in line]
    assert said.startswith("2 messages wait in a circle; the replay ignores them")
    assert "rank 0 to rank 1, tag 7" in said


def test_nobody_calls():
    with pytest.raises(DataError, match="has no calls"):
        Replay(by_hand([[], []], ends=[10, 20]))


def test_a_location_that_never_calls_keeps_its_time():
    replay = Replay(by_hand([[("MPI_Barrier", 5, 10)], [], []], ends=[10, 30, 20]))
    assert replay.runtime_ns(0) == 30
    assert "2 of 3 locations never call" in replay.remarks()[0]


@pytest.mark.parametrize(("unmatched", "said"), [({}, 0), ({"sends without a receive": 0}, 0), ({"sends": 2}, 1)])
def test_what_was_left_out_is_said(unmatched, said):
    remarks = Replay(dataclasses.replace(exchange(), unmatched=unmatched)).remarks()
    assert sum("the replay does not wait" in line for line in remarks) == said


def _simulated(rng, n_ranks, n_steps, late):
    """A random program, run by hand on a clock for each rank: messages to the right, and barriers."""
    clock, calls = [0] * n_ranks, [[] for _ in range(n_ranks)]
    messages, collectives = [], []
    for _ in range(n_steps):
        works = [rng.randrange(50) for _ in range(n_ranks)]
        clock = [time + work for time, work in zip(clock, works, strict=True)]
        if rng.random() < 0.3:
            leave = [max(clock) + late * rng.randrange(9) for _ in clock]
            collectives.append(([(rank, len(calls[rank])) for rank in range(n_ranks)], None))
            for rank in range(n_ranks):
                calls[rank].append(("MPI_Barrier", clock[rank], leave[rank]))
            clock = leave
            continue
        sender, receiver = rng.sample(range(n_ranks), 2)
        sent, arrival = clock[sender], clock[sender] + late * rng.randrange(40)
        messages.append({"send": (sender, len(calls[sender])), "receive": (receiver, len(calls[receiver]))})
        done = max(arrival, clock[receiver])
        calls[sender].append(("MPI_Send", sent, sent + late * 2))
        calls[receiver].append(("MPI_Recv", clock[receiver], done))
        clock[sender], clock[receiver] = sent + late * 2, done
    return by_hand(calls, messages, collectives, clock), max(clock)


@pytest.mark.parametrize("seed", range(12))
def test_an_ideal_network_is_what_a_simulation_gives(seed):
    """The same program on a network with and without times: the replay of the one is the other."""
    slow, slow_time = _simulated(random.Random(seed), 4, 60, 1)
    ideal, ideal_time = _simulated(random.Random(seed), 4, 60, 0)
    replay = Replay(slow)
    assert replay.runtime_ns() == slow_time
    np.testing.assert_array_equal(replay.times_ns(), (slow.calls.enter_ns, slow.calls.leave_ns))
    assert replay.n_contradictions == 0
    assert (replay.residual_ns >= 0).all()
    assert replay.runtime_ns(0) == ideal_time == Replay(ideal).runtime_ns()
    path = replay.path()
    assert path.cost_ns.sum() == slow_time
    assert set(path.kind.tolist()) <= {BURST, CALL, MESSAGE, 3, COLLECTIVE}


@pytest.mark.parametrize(("location", "when", "index"), [
    (0, 0, -1), (0, 1, 0), (0, 4, 0), (0, 9, 1), (1, 1, -1), (1, 2, 2), (1, 9, 3), (-1, 9, -1), (2, 9, -1),
])  # fmt: skip
def test_the_last_time_that_is_not_after_a_moment(location, when, index):
    first, times = np.array([0, 2, 4]), np.array([1, 5, 2, 3])
    assert last_not_after(first, times, np.array([location]), np.array([when])).tolist() == [index]


def test_noise_makes_no_order_of_edges_matter():
    """Costs of edges, changed one by one, give what bursts and residuals give."""
    found, _ = _simulated(random.Random(3), 3, 30, 1)
    replay = Replay(found)
    bursts = replay.burst_ns + np.arange(len(replay.burst_ns))
    costs = replay.edge_costs(0.5, bursts)
    assert replay.runtime_ns(edge_cost_ns=costs) == replay.runtime_ns(0.5, burst_ns=bursts)


def test_several_replays_at_once_are_each_by_itself():
    replay = Replay(exchange())
    bursts = replay.burst_ns + np.arange(11)[:, None] * np.arange(len(replay.burst_ns))
    for transfer in (0.0, 0.5, 1.0):
        alone = [replay.runtime_ns(transfer, burst_ns=each) for each in bursts]
        assert replay.runtimes_ns(bursts, transfer).tolist() == alone


@pytest.mark.parametrize("at_once", [3, 50, 10**6])
def test_the_sum_over_ranks_is_that_of_all_intervals(tmp_path, at_once):
    rng = np.random.default_rng(4)
    span, ranks = (100, 3000), []
    for _ in range(5):
        edges = 100 + np.sort(rng.choice(2900, 60, replace=False))
        ranks.append((edges[::2].copy(), edges[1::2].copy()))
    expected = curve_from_intervals(np.concatenate([*(r[0] for r in ranks), *(r[1] for r in ranks)]), span, "us")
    found = summed_curve(iter(ranks), tmp_path, span, "us", changes_at_once=at_once)
    assert (found.edges == expected.edges).all()
    assert (found.heights == expected.heights).all()


def test_many_intervals_are_merged_alike(monkeypatch):
    """Compiled as interpreted, on streams that switch at the same moments."""
    rng = np.random.default_rng(1)
    n = 400
    columns = [np.repeat(np.arange(6), n), rng.integers(0, 5, 6 * n), *np.empty((2, 6 * n), np.int64)]
    edges = np.sort(rng.integers(0, 5000, (6, 2 * n)), axis=1)
    columns[2], columns[3] = edges[:, ::2].ravel(), edges[:, 1::2].ravel()
    place, rank = np.array([0, 1, 0, 1, 2, 0]), np.array([2, 0, 1, 1, 2])
    slow = nesting.merged_states(*columns, place=place, rank=rank)
    monkeypatch.setattr(nesting._sweep, "small", 0)
    fast = nesting.merged_states(*columns, place=place, rank=rank)
    assert all((one == two).all() for one, two in zip(slow, fast, strict=True))
