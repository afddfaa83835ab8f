"""Factors of MPI x OpenMP and of GPUs: hand-made runs with known answers, their products, and their extrapolation."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from messages_by_hand import by_hand

import perfcore
from perf_analysis.efficiencies import factors_of, losses_of
from perf_analysis.scaling_efficiencies import efficiencies_of_runs
from perf_traces.levels import located
from perf_traces.messages.communication import carry
from perfcore import Trace

STATES = ("Running", "MPI_Allreduce", "Synchronization", "Scheduling and Fork/Join", "Not created", "I/O")
COMPUTES, CALLS, WAITS, STARTS, ABSENT, FILES = range(6)


def run_of(threads, source="run"):
    """A run from the states of each thread of each process; every call is of a collective of all processes."""
    names = [f"1.{k}.{t}" for k, own in enumerate(threads, 1) for t in range(1, len(own) + 1)]
    rows = [(place, *row) for place, own in enumerate(own for each in threads for own in each) for row in own]
    location, state, start, end = zip(*rows, strict=True)
    trace = Trace(location, state, start, end, names, STATES, busy_states=["Running"], source=source)
    by_place = [[(STATES[s], a, b) for s, a, b in own if s == CALLS] for each in threads for own in each]
    members = [(place, k) for k in range(8) for place, own in enumerate(by_place) if k < len(own)]
    joined = [([each for each in members if each[1] == k], None) for k in sorted({k for _, k in members})]
    found = by_hand(by_place, collectives=joined, ends=[trace.span_ns[1]] * len(names))
    return carry(trace, lambda: replace(found, locations=tuple(names)))


HYBRID = [
    [[(COMPUTES, 0, 60), (CALLS, 60, 100)], [(COMPUTES, 20, 50), (WAITS, 50, 60)]],
    [[(COMPUTES, 0, 80), (STARTS, 80, 90), (CALLS, 90, 100)], [(STARTS, 10, 15), (COMPUTES, 15, 90)]],
]


def test_mpi_x_openmp_by_hand():
    """Outside MPI 60 and 90 of 100, of these 40 and 80 in parallel regions, in which at most 40 and 75 are computed."""
    [profile] = perfcore.overheads(run_of(HYBRID))
    first, second = profile.threads
    assert (first.process, first.outside_ns, first.regions_ns, first.longest_ns, first.serial_ns) == (
        "1.1",
        60,
        40,
        40,
        20,
    )
    assert (second.outside_ns, second.regions_ns, second.longest_ns, second.serial_ns) == (90, 80, 75, 10)
    expected = {
        "parallel": 245 / 400,
        "MPI parallel": 0.75, "MPI load balance": 75 / 90, "MPI communication": 0.9,
        "MPI serialisation": 1, "MPI transfer": 0.9,
        "OpenMP parallel": 245 / 300, "OpenMP serialisation": 270 / 300, "OpenMP load balance": 245 / 260,
        "OpenMP scheduling": 260 / 270,
    }  # fmt: skip
    assert profile.to_dict()["factors"] == pytest.approx(expected, rel=1e-14)
    title, _, rows = profile.tables()[-1]
    assert title == "Efficiencies of MPI x OpenMP (2 processes of 2 threads)"
    assert [row[:2] for row in rows[:2]] == [["parallel", "61.25%"], ["MPI parallel", "75.00%"]]
    whole = profile.efficiencies()
    assert float(whole.parallel[0]) == pytest.approx(expected["parallel"])
    assert float(whole.transfer[0]) == pytest.approx(0.9)  # threads that never call are not replayed


@st.composite
def runs(draw):
    """Two processes of one to three threads, in states of some nanoseconds each; first threads call."""
    threads = []
    for n_threads in (draw(st.integers(2, 3)), draw(st.integers(1, 3))):
        own = []
        for thread in range(n_threads):
            at, rows = 0, []
            kinds = st.sampled_from([COMPUTES, WAITS, STARTS, ABSENT, FILES, None, *([CALLS] if thread == 0 else [])])
            for state, width in draw(st.lists(st.tuples(kinds, st.integers(1, 9)), min_size=1, max_size=5)):
                rows += [] if state is None else [(state, at, at + width)]
                at += width
            own.append(rows)
        own[0] += [(COMPUTES, 45, 46), (CALLS, 46, 50)]
        threads.append(own)
    return threads


@settings(deadline=None, max_examples=25)
@given(threads=runs())
def test_as_every_nanosecond_says_and_products_are_exact(threads):
    [profile] = perfcore.overheads(run_of(threads))
    first, last = int(profile.edges_ns[0]), int(profile.edges_ns[-1])
    for own, found in zip(threads, profile.threads, strict=True):
        states = np.full((len(own), last), -1)
        for thread, rows in enumerate(own):
            for state, start, end in rows:
                states[thread, start:end] = state
        states = states[:, first:]
        outside = np.isin(states[0], [COMPUTES, WAITS, STARTS, -1])
        regions = outside & np.isin(states[1:], [COMPUTES, CALLS, WAITS, STARTS, FILES]).any(axis=0)
        number = np.cumsum(np.diff(regions, prepend=False)) * regions
        longest = sum((states[:, number == k] == COMPUTES).sum(axis=1).max() for k in set(number.tolist()) - {0})
        serial = (states[0, outside & ~regions] == COMPUTES).sum()
        assert (found.outside_ns, found.regions_ns, found.longest_ns, found.serial_ns) == (
            outside.sum(), regions.sum(), longest, serial,
        )  # fmt: skip
    computing, lost = losses_of(profile)
    assert computing + sum(lost.values()) == pytest.approx(profile.elapsed_ns, rel=1e-14)
    factors = profile.to_dict()["factors"]
    assert factors["MPI parallel"] * factors["OpenMP parallel"] == pytest.approx(factors["parallel"], rel=1e-14)
    steps = factors_of(computing, lost, products=False)
    assert np.prod(list(steps.values())) == pytest.approx(factors["parallel"], rel=1e-14)
    assert factors["parallel"] == pytest.approx(float(profile.efficiencies().parallel[0]), rel=1e-14)


def threads_at(n_processes, n_threads=4, work_ns=1 << 26):
    """Serial 1 ms in each process, work that all threads share, 0.1 ms more in the first thread, and a network."""
    serial, share, network = 1_000_000, work_ns // (n_processes * n_threads), 200_000 * n_processes
    region = serial + share + 100_000
    first = [(COMPUTES, 0, region), (CALLS, region, region + network)]
    others = [(COMPUTES, serial, serial + share), (WAITS, serial + share, region)]
    return run_of([[first, *[others] * (n_threads - 1)]] * n_processes, source=f"{n_processes}x{n_threads}")


def test_several_hybrid_runs_and_what_limits_them():
    compared = perfcore.overheads([threads_at(n) for n in (2, 4, 8)], at="p=64")
    small, _, large = efficiencies_of_runs(list(compared))
    for row in (small, large):
        assert row["MPI parallel"] * row["OpenMP parallel"] == pytest.approx(row["parallel"], rel=1e-14)
        assert row["parallel"] * row["computation scalability"] == pytest.approx(row["global"], rel=1e-14)
    assert compared.summary()[1].startswith(
        f"what limits the scaling: MPI transfer, {large['MPI transfer']:.2%} with 32 threads in 8 processes, where"
    )
    titles = [title for title, _, _ in compared.tables()]
    assert titles[2] == "MPI x OpenMP, whose product is the parallel efficiency"
    assert compared.tables()[2][1][2:4] == ["MPI parallel", "MPI load balance"]
    [true] = efficiencies_of_runs(list(perfcore.overheads([threads_at(2), threads_at(16)])))[1:]
    [predicted] = compared.predicted
    value = {name: row[0] for name, row in predicted.factors.items()}
    assert value["MPI parallel"] * value["OpenMP parallel"] == pytest.approx(value["parallel"], rel=1e-14)
    for name, (_, low, high) in predicted.factors.items():
        assert low - 1e-9 <= true[name] <= high + 1e-9
    assert predicted.summary().startswith("at p=64: most is lost by MPI transfer")


def test_gpus_by_hand():
    """One GPU computes 50 of 100, communicates 30 more and copies 5; the other computes 70 and communicates 10."""
    rows = [(0, 0, 0, 50), (1, 1, 40, 80), (0, 2, 80, 85), (2, 0, 0, 70), (2, 1, 70, 80), (3, 0, 95, 100)]
    location, state, start, end = zip(*rows, strict=True)
    streams = ["GPU 0 / stream 7", "GPU 0 / stream 8", "GPU 1 / stream 7", "GPU 1 / stream 8"]
    names = ("gemm", "ncclDevKernel_AllReduce", "Memcpy DtoH")
    trace = Trace(location, state, start, end, streams, names)
    [profile] = perfcore.overheads(located(trace, "auto"))
    expected = {
        "parallel": 62.5 / 100, "load balance": 62.5 / 75, "communication": 0.75,
        "GPU communication": 75 / 85, "GPU orchestration": 0.85,
    }  # fmt: skip
    assert profile.to_dict()["factors"] == pytest.approx(expected, rel=1e-14)
    assert profile.tables()[-1][0] == "Efficiencies of GPUs"
    [of_streams] = perfcore.overheads(trace)
    assert "factors" not in of_streams.to_dict()


@pytest.mark.real_data
def test_factors_of_real_gpus_multiply(real_data):
    [profile] = perfcore.overheads(real_data / "traces/chrome/two_ranks")
    factors = profile.to_dict()["factors"]
    # From the published unions: (210,320 + 271,973) / 2, and 271,973 us.
    assert factors["load balance"] == pytest.approx(241_146.5 / 271_973, abs=1e-5)
    product = factors["load balance"] * factors["GPU communication"] * factors["GPU orchestration"]
    assert product == pytest.approx(factors["parallel"], rel=1e-14)
