"""Streams of GPUs: unions, hidden shares, and categories, against a count of every nanosecond."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_traces import by_gpu, phases_at, with_messages
from messages_by_hand import by_hand

import perfcore
from perfcore import Trace, overheads
from perfcore.base.errors import DataError

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
        piece = st.tuples(st.integers(0, 3), st.integers(1, 9), st.integers(0, 2))
        for gap, width, state in draw(st.lists(piece, min_size=1, max_size=5)):
            rows.append((stream, state, at + gap, at + gap + width))
            at += gap + width
    return trace_of(rows)


@settings(deadline=None, max_examples=40)
@given(trace=traces())
def test_as_every_nanosecond_says(trace):
    """By stream, where time is hidden or exposed; and by GPU, where what is hidden stands beside the categories."""
    [streams], [gpus] = overheads(trace), overheads(by_gpu(trace))
    of_streams, of_gpus = (dict.fromkeys(profile.categories, 0) for profile in (streams, gpus))
    unions = {name: np.zeros(5, int) for name in ("GPU 0", "GPU 1")}
    start, end = trace.span_ns
    for now in range(start, end):
        running = (trace.start_ns <= now) & (now < trace.end_ns)
        states = dict(zip(trace.location[running].tolist(), trace.state[running].tolist(), strict=True))
        for device, places in (("GPU 0", (0, 1)), ("GPU 1", (2,))):
            mine = {states.get(place) for place in places} - {None}
            computes, communicates, copies = (state in mine for state in range(3))
            unions[device] += [computes, communicates, computes and communicates, copies, computes and copies]
            of_gpus[("computing", "exposed communication", "exposed copies", "idle")[min(mine, default=3)]] += 1
            hidden = "hidden" if computes else "exposed"
            for place in places:
                kinds = {0: "computing", 1: f"{hidden} communication", 2: f"{hidden} copies", None: "idle"}
                of_streams[kinds[states.get(place)]] += 1
    for profile, expected in ((streams, of_streams), (gpus, of_gpus)):
        assert dict(zip(profile.categories, profile.by_category_ns.tolist(), strict=True)) == expected
        assert {
            each.device: [each.computing_ns, each.communicating_ns, each.hidden_communication_ns, each.copying_ns,
                          each.hidden_copies_ns]
            for each in profile.devices
        } == {device: times.tolist() for device, times in unions.items()}  # fmt: skip
    assert gpus.cycles_ns.sum(axis=(0, 2)).tolist() == [end - start] * 2
    assert gpus.hidden_ns[:, :, 0].T.tolist() == [times[[2, 4]].tolist() for times in unions.values()]
    assert by_gpu(trace).utilization().integral * 1000 == pytest.approx(of_gpus["computing"])


def test_other_locations_have_the_standard_categories():
    trace = Trace([0, 1], [0, 0], [0, 0], [9, 9], ["GPU 0 / stream 7", "process 1 / thread 1"], ["gemm"])
    [profile] = overheads(trace)
    assert "pure computation" in profile.categories
    assert profile.devices == ()


def test_a_gpu_is_one_location_to_its_efficiencies():
    recorded = trace_of([(0, 0, 0, 60), (1, 0, 20, 80), (2, 0, 0, 40), (2, 1, 40, 100)])
    trace = by_gpu(recorded)
    [profile] = overheads(trace, phases=phases_at([0, 50, 100], trace.source))
    assert profile.efficiencies()["parallel"][0] == pytest.approx((80 + 40) / 2 / 100)
    assert profile.efficiencies(by_phase=True)["parallel"].tolist() == pytest.approx([0.9, 0.3])
    assert profile.to_dict()["devices"][1]["communicating_ns"] == 60
    [streams] = overheads(recorded)
    assert streams.efficiencies()["parallel"][0] == pytest.approx((60 + 60 + 40) / 3 / 100)


def test_what_lies_within_markers():
    """The marker twice, overlapping itself, and one beyond the run."""
    rows = [(0, 0, 0, 60), (1, 1, 20, 80), (2, 0, 0, 100)]
    location, state, start, end = zip(*rows, strict=True)
    marks = [("step", 10, 30), ("step", 25, 70), ("late", 90, 200), ("never", 300, 400)]
    trace = by_gpu(Trace(location, state, start, end, STREAMS, STATES, markers=marks))
    [profile] = overheads(trace, by="marker")
    step, late = profile.markers
    assert (step.name, step.count, step.elapsed_ns) == ("step", 2, 60)
    assert dict(zip(profile.categories, step.cycles_ns, strict=True))["computing"] == 50 + 60
    assert dict(zip(profile.categories, step.cycles_ns, strict=True))["exposed communication"] == 10
    assert (step.hidden_communication_ns, step.hidden_copies_ns) == (40, 0)
    assert (late.count, late.elapsed_ns) == (1, 10)
    assert "(hidden communication)" in overheads(trace, by="marker").report().shown_tables[1][1]
    with pytest.raises(DataError, match="there are no markers"):
        overheads(trace_of(rows), by="marker")


RANKS = [f"rank {rank} / GPU 0 / stream {stream}" for rank in range(3) for stream in (7, 8)]


def run_of_ranks(rows, **facts):
    """Rows of rank, stream (0 or 1), state, start and end."""
    location, state, start, end = zip(*((2 * rank + stream, *rest) for rank, stream, *rest in rows), strict=True)
    levels = {"device": [name[: name.rindex(" / ")] for name in RANKS], "process": [name[:6] for name in RANKS]}
    return by_gpu(Trace(location, state, start, end, RANKS, STATES, levels=levels, facts=facts))


def test_ranks_wait_for_the_last_one():
    """Rank 2 computes longest and enters the first collective at 50; the second one is entered at 70, 80 and 90."""
    rows = [
        (0, 0, 0, 0, 30), (0, 1, 1, 30, 60), (0, 0, 0, 40, 45), (0, 1, 1, 70, 100),
        (1, 0, 0, 0, 40), (1, 1, 1, 40, 60), (1, 1, 1, 80, 100),
        (2, 0, 0, 0, 50), (2, 1, 1, 50, 60), (2, 1, 1, 90, 100),
    ]  # fmt: skip
    [profile] = overheads(run_of_ranks(rows, world_size=128))
    by_rank = dict(zip(profile.categories, profile.by_location_ns.tolist(), strict=True))
    # Of the 20 that rank 0 waits in the first collective it computes 5.
    assert by_rank["waiting for other ranks"] == [15 + 20, 10 + 10, 0]
    assert by_rank["exposed communication"] == [10 + 10, 10 + 10, 10 + 10]
    assert by_rank["computing"] == [35, 40, 50]
    found = [(each.rank, each.n_last, each.held_up_ns, each.waited_ns) for each in profile.ranks]
    assert found == [("rank 0", 0, 0, 40), ("rank 1", 0, 0, 20), ("rank 2", 2, 20, 0)]
    assert any("3 of 128 ranks are here" in note for note in profile.notes)
    _, _, table = next(each for each in profile.report().shown_tables if each[0].startswith("Wait time in collectives"))
    assert table[0][0] == "rank 2"
    assert profile.devices[0].communicating_ns == 60


@pytest.mark.real_data
def test_two_ranks_to_the_microsecond(real_data):
    """Unions by an independent parser: computing, NCCL, copies, hidden share, span."""
    expected = ((210_320, 396_199, 1_325, 14.946, 1_222_847), (271_973, 379_053, 16_504, 19.926, 1_231_186))
    folder = real_data / "traces" / "chrome" / "two_ranks"
    for rank, (computing, communicating, copying, hidden, span) in enumerate(expected):
        path = folder / f"sampled_rank-{rank}.json.gz"
        for trace in (perfcore.read(path), perfcore.read(path, locations="stream")):
            [profile] = overheads(trace)
            [device] = profile.devices
            times = (device.computing_ns, device.communicating_ns, device.copying_ns, device.span_ns)
            assert [time / 1000 for time in times] == [computing, communicating, copying, span]
            assert 100 * device.hidden_communication_ns / device.communicating_ns == pytest.approx(hidden, abs=5e-4)
            assert profile.by_category_ns[0] == pytest.approx(trace.utilization().integral * 1000)
        assert overheads(perfcore.read(path))[0].by_category_ns[0] / 1000 == computing
    both = perfcore.read(folder)  # as one run
    assert "warning: of 128 ranks 126 are missing: 2 to 127" in both.notes
    [profile] = overheads(both)
    assert [each.computing_ns / 1000 for each in profile.devices] == [each[0] for each in expected]
    assert [each.communicating_ns / 1000 for each in profile.devices] == [each[1] for each in expected]
    assert profile.by_location_ns[0].tolist() == [each.computing_ns for each in profile.devices]
    assert profile.cycles_ns.sum() == profile.total_ns == 2 * profile.elapsed_ns


# Factors of MPI x OpenMP and of GPUs: hand-made runs with known answers, their products, and their extrapolation.
STATES_OF_LEVELS = ("Running", "MPI_Allreduce", "Synchronization", "Scheduling and Fork/Join", "Not created", "I/O")
COMPUTES, CALLS, WAITS, STARTS, ABSENT, FILES = range(6)


def run_of(threads, source="run"):
    """A run from the states of each thread of each process; every call is of a collective of all processes."""
    names = [f"1.{k}.{t}" for k, own in enumerate(threads, 1) for t in range(1, len(own) + 1)]
    rows = [(place, *row) for place, own in enumerate(own for each in threads for own in each) for row in own]
    location, state, start, end = zip(*rows, strict=True)
    trace = Trace(location, state, start, end, names, STATES_OF_LEVELS, busy_states=["Running"], source=source)
    by_place = [[(STATES_OF_LEVELS[s], a, b) for s, a, b in own if s == CALLS] for each in threads for own in each]
    members = [(place, k) for k in range(8) for place, own in enumerate(by_place) if k < len(own)]
    joined = [([each for each in members if each[1] == k], None) for k in sorted({k for _, k in members})]
    found = by_hand(by_place, collectives=joined, ends=[trace.span_ns[1]] * len(names))
    return with_messages(trace, replace(found, locations=tuple(names)))


HYBRID = [
    [[(COMPUTES, 0, 60), (CALLS, 60, 100)], [(COMPUTES, 20, 50), (WAITS, 50, 60)]],
    [[(COMPUTES, 0, 80), (STARTS, 80, 90), (CALLS, 90, 100)], [(STARTS, 10, 15), (COMPUTES, 15, 90)]],
]


def test_mpi_x_openmp_by_hand():
    """Outside MPI 60 and 90 of 100, of these 40 and 80 in parallel regions, in which at most 40 and 75 are computed."""
    [profile] = perfcore.overheads(run_of(HYBRID))
    first, second = profile.threads
    assert first.process == "1.1"
    assert (first.outside_ns, first.regions_ns, first.longest_ns, first.serial_ns) == (60, 40, 40, 20)
    assert (second.outside_ns, second.regions_ns, second.longest_ns, second.serial_ns) == (90, 80, 75, 10)
    expected = {
        "parallel": 245 / 400,
        "MPI parallel": 0.75, "MPI load balance": 75 / 90, "MPI communication": 0.9,
        "MPI serialisation": 1, "MPI transfer": 0.9,
        "OpenMP parallel": 245 / 300, "OpenMP serialisation": 270 / 300, "OpenMP load balance": 245 / 260,
        "OpenMP scheduling": 260 / 270,
    }  # fmt: skip
    assert profile.to_dict()["factors"] == pytest.approx(expected, rel=1e-14)
    title, _, rows = profile.report().shown_tables[-1]
    assert title == "Efficiencies of MPI x OpenMP (2 processes of 2 threads)"
    assert [row[:2] for row in rows[:2]] == [["parallel", "61.3%"], ["MPI parallel", "75.0%"]]
    whole = profile.efficiencies()
    assert float(whole["parallel"][0]) == pytest.approx(expected["parallel"])
    assert float(whole["transfer"][0]) == pytest.approx(0.9)  # threads that never call are not replayed


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
    runs = perfcore.overheads(run_of(threads))
    [profile] = runs
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
    steps = runs.components()
    computing = sum(steps.times[name][0] for name in steps.times if name not in steps.alone) / len(profile.locations)
    lost = sum(steps.times[name][0] for name in steps.alone)
    assert 1e9 * (computing + lost) == pytest.approx(profile.elapsed_ns, rel=1e-12)
    factors = profile.to_dict()["factors"]
    assert factors["MPI parallel"] * factors["OpenMP parallel"] == pytest.approx(factors["parallel"], rel=1e-14)
    products = {"parallel", "MPI parallel", "OpenMP parallel", "MPI communication"}
    leaves = [value for name, value in factors.items() if name not in products]
    assert np.prod(leaves) == pytest.approx(factors["parallel"], rel=1e-14)
    assert factors["parallel"] == pytest.approx(float(profile.efficiencies()["parallel"][0]), rel=1e-14)


def threads_at(n_processes, n_threads=4, work_ns=1 << 26):
    """Serial 1 ms in each process, work that all threads share, 0.1 ms more in the first thread, and a network."""
    serial, share, network = 1_000_000, work_ns // (n_processes * n_threads), 200_000 * n_processes
    region = serial + share + 100_000
    first = [(COMPUTES, 0, region), (CALLS, region, region + network)]
    others = [(COMPUTES, serial, serial + share), (WAITS, serial + share, region)]
    return run_of([[first, *[others] * (n_threads - 1)]] * n_processes, source=f"{n_processes}x{n_threads}")


def test_several_hybrid_runs_and_what_limits_them():
    compared = perfcore.overheads([threads_at(n) for n in (2, 4, 8)])
    small, _, large = compared.to_dict()["efficiencies_of_runs"]
    for row in (small, large):
        assert row["MPI parallel"] * row["OpenMP parallel"] == pytest.approx(row["parallel"], rel=1e-14)
        assert row["parallel"] * row["computation scalability"] == pytest.approx(row["global"], rel=1e-14)
    limit = f"with 32 threads in 8 processes, limited by MPI transfer ({large['MPI transfer']:.1%})"
    assert any(limit in line for line in compared.report().lines)
    _, header, rows = compared.report().shown_tables[0]
    assert header == ["POP efficiency", "p=8", "p=16", "p=32"]
    assert {row[0]: row[-1] for row in rows}["MPI transfer"] == f"{large['MPI transfer']:.1%}"
    _, true = perfcore.overheads([threads_at(2), threads_at(16)]).to_dict()["efficiencies_of_runs"]
    at = perfcore.project([threads_at(n) for n in (2, 4, 8)], at="p=64").answer.at[0]
    value = {name: row[0] for name, row in at.efficiencies.items()}
    assert value["MPI parallel"] * value["OpenMP parallel"] == pytest.approx(value["parallel"], rel=1e-12)
    for name, (_, low, high) in at.efficiencies.items():
        assert low - 1e-9 <= true[name] <= high + 1e-9
    assert at.limits.name == "MPI transfer"


def test_gpus_by_hand():
    """One GPU computes 50 of 100, communicates 30 more and copies 5; the other computes 70 and communicates 10."""
    rows = [(0, 0, 0, 50), (1, 1, 40, 80), (0, 2, 80, 85), (2, 0, 0, 70), (2, 1, 70, 80), (3, 0, 95, 100)]
    location, state, start, end = zip(*rows, strict=True)
    streams = ["GPU 0 / stream 7", "GPU 0 / stream 8", "GPU 1 / stream 7", "GPU 1 / stream 8"]
    trace = Trace(location, state, start, end, streams, ("gemm", "ncclDevKernel_AllReduce", "Memcpy DtoH"))
    [profile] = perfcore.overheads(by_gpu(trace))
    expected = {
        "parallel": 62.5 / 100, "load balance": 62.5 / 75, "communication": 0.75,
        "GPU communication": 75 / 85, "GPU orchestration": 0.85,
    }  # fmt: skip
    assert profile.to_dict()["factors"] == pytest.approx(expected, rel=1e-14)
    assert profile.report().shown_tables[-1][0] == "Efficiencies of GPUs, as TALP defines them"
    # Busy 85 and 85 of 100, of which 62.5 on average compute.
    table = next(table for table in profile.report().shown_tables if table[1][0] == "GPU efficiency")
    assert [row[:2] for row in table[2]] == [
        ["device busy", "85.0%"], ["host", "-"], ["launch", "-"],
        ["communication", f"{62.5 / 85:.1%}"], ["load balance", f"{62.5 / 75:.1%}"],
    ]  # fmt: skip
    [of_streams] = perfcore.overheads(trace)
    assert "factors" not in of_streams.to_dict()
