"""One run from many files: which rank each is, which are missing, doubled or none, and what the run then is."""

import gzip
import json

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from trace_samples import pieces
from traces.kineto_files import START_US, STEPS, read, three_ranks, write_rank

import perfcore
from perfcore import Trace, overheads
from perfcore.base.errors import DataError, InputError


def test_four_ranks_are_one_trace(tmp_path):
    for rank in (3, 1, 0, 2):
        write_rank(tmp_path, rank, packed=rank == 2)
    trace = read(tmp_path)
    streams = [f"rank {rank} / GPU 0 / stream {stream}" for rank in range(4) for stream in (7, 20)]
    assert list(trace.locations) == streams
    assert trace.levels["process"] == tuple(f"rank {rank}" for rank in range(4) for _ in range(2))
    assert trace.n_intervals == 4 * 5 * 3
    assert trace.span_ns == (0, 485_000)
    assert trace.facts["epoch_ns"] == (START_US + 5) * 1000
    assert trace.facts["world_size"] == 4
    # All ranks compute for 40 us and the number of their rank, five times.
    curve = trace.utilization()
    assert curve.integral == pytest.approx(5 * (40 + 41 + 42 + 43))
    assert curve.heights.max() == 4
    assert trace.notes[:2] == (
        "4 ranks as one run, detected by what the files say",
        "clocks: as recorded; 5 collectives of ranks 0 and 3 end 0 ns apart (median), no others more; "
        "-r clocks=collectives lets them end together",
    )


def test_the_joined_arrays_are_those_of_the_ranks(tmp_path):
    trace = read(three_ranks(tmp_path, 7, 3))
    one_by_one = list(trace.rank_traces())
    assert [part.locations[0] for part in one_by_one] == [f"rank {rank} / GPU 0 / stream 7" for rank in range(3)]
    for name in ("state", "start_ns", "end_ns"):
        assert (getattr(trace, name) == np.concatenate([getattr(part, name) for part in one_by_one])).all()
    assert trace.location.max() == 5
    assert (trace.utilization().heights == Trace.utilization(trace).heights).all()
    assert (trace.utilization().edges == Trace.utilization(trace).edges).all()
    assert one_by_one[2].start_ns.min() == 14_000


@pytest.mark.parametrize("names", [
    ("trace_rank-0.json", "trace_rank-1.json"), ("rank_0/trace.json", "rank_1/trace.json"),
    ("job.0.json", "job.1.json"),
    ("node7_100.1700000000.pt.trace.json", "node8_90.1700000001.pt.trace.json"),
])  # fmt: skip
def test_names_tell_ranks_where_the_files_do_not(tmp_path, names):
    for rank, name in enumerate(names):
        write_rank(tmp_path, rank, name, told=False)
    trace = read(tmp_path)
    assert trace.ranks == (0, 1)
    assert trace.notes[0] == "2 ranks as one run, detected by the names of the files"
    assert ("node" in trace.levels) == names[0].startswith("node")


def test_a_rank_that_is_cut_short_is_used_and_named(tmp_path):
    write_rank(tmp_path, 0, world_size=2)
    path = write_rank(tmp_path, 1, world_size=2)
    text = path.read_text()
    path.write_text(text[: text.index("ProfilerStep#2")])
    trace = read(tmp_path)
    assert trace.n_intervals == 15 + 9
    assert "rank 1: warning: the file is cut short: what stands before its end is read" in trace.notes


def test_other_processes_read_the_same(tmp_path):
    three_ranks(tmp_path, 0, 3)
    here, there = read(tmp_path), read(tmp_path, processes=2)
    assert there.locations == here.locations
    assert there.notes == here.notes
    for name in ("location", "state", "start_ns", "end_ns"):
        assert (getattr(there, name) == getattr(here, name)).all()


def test_what_goes_wrong_in_another_process_is_said(tmp_path):
    three_ranks(tmp_path, 0, 3)
    (tmp_path / "rank2.json").write_text('{"traceEvents": [{"ph": "X", "ts": "soon"}]}')
    with pytest.raises(InputError, match=r"rank2\.json.*'soon' is no time"):
        read(tmp_path, processes=2)


def test_gpus_of_long_runs_are_merged_and_summed_up_alike(tmp_path, monkeypatch):
    expected = perfcore.read(three_ranks(tmp_path, 7, 3))
    monkeypatch.setattr("perf_traces.joined_trace.FEW_INTERVALS", 4)
    curve = perfcore.read(tmp_path).utilization()
    assert (curve.edges == expected.utilization().edges).all()
    assert (curve.heights == expected.utilization().heights).all()
    perfcore.write(read(tmp_path), tmp_path / "streams.csv")  # their names say of which GPU they are
    assert pieces(perfcore.read(tmp_path / "streams.csv")) == pieces(expected)


# Clocks of ranks: known shifts are found again, and what cannot be aligned is said.
def starts(trace):
    """First start of each rank, in nanoseconds."""
    return [int(part.start_ns.min()) for part in trace.rank_traces()]


@pytest.mark.parametrize("shift_us", [-987_654_321, 5_000_000, 86_400_000_000])
def test_a_known_shift_is_found_again_by_collectives(tmp_path, shift_us):
    """Clocks that count from each machine's own start, and ranks that leave collectives up to 2 us apart."""
    write_rank(tmp_path, 0, world_size=2, start_us=10**9)
    write_rank(tmp_path, 1, world_size=2, start_us=10**9 + shift_us, wobble_us=2)
    trace = read(tmp_path)
    assert trace.facts["clocks"] == "collectives"
    assert trace.facts["clock_residual_ns"] <= 4000
    assert starts(trace)[1] == pytest.approx(0, abs=2000)
    assert "aligned by the ends of common collectives; half of the 5 of ranks 0 and 1 lie within" in trace.notes[1]


def write_csv_rank(folder, rank, *rows):
    lines = "".join(f"{start},{end},{state}\n" for start, end, state in rows)
    (folder / f"rank{rank}.csv").write_text("start_us,end_us,state\n" + lines)


def test_ranks_that_begin_near_0_are_assumed_to_be_synchronised(tmp_path):
    """As files of one run whose times count from its beginning; a summary of them assumes the same."""
    write_csv_rank(tmp_path, 0, (0, 90, "compute"), (90, 100, "io"))
    write_csv_rank(tmp_path, 1, (5, 60, "compute"), (60, 100, "io"))
    trace = perfcore.read(tmp_path)
    assert starts(trace) == [0, 5_000]
    assert sum("assumes: clocks are synchronised" in note for note in trace.notes) == 1
    summary = perfcore.summarize(tmp_path)
    assert summary.span_ns == trace.span_ns
    assert sum("assumes: clocks are synchronised" in note for note in summary.notes) == 1
    write_csv_rank(tmp_path, 1, (50, 60, "compute"), (60, 100, "io"))
    with pytest.raises(DataError, match="cannot be aligned: the times of rank 0 are no times since 1970"):
        perfcore.read(tmp_path)


def test_a_collective_that_ends_before_another_rank_begins_it_is_reported(tmp_path):
    """Clocks 300 us apart, and collectives of some 10 us."""
    write_rank(tmp_path, 0, world_size=2)
    write_rank(tmp_path, 1, world_size=2, start_us=START_US + 300)
    skewed = [note for note in read(tmp_path).notes if "skewed" in note]
    assert len(skewed) == 1
    assert skewed[0].startswith("warning: the clocks of ranks 0 and 1 are skewed: a collective ends on one")
    assert not any("skewed" in note for note in read(tmp_path, clocks="collectives").notes)


def test_clocks_that_cannot_be_aligned_are_refused(tmp_path):
    write_rank(tmp_path, 0, world_size=2)
    write_rank(tmp_path, 1, world_size=2, start_us=START_US + 10**9, steps=STEPS - 1)
    with pytest.raises(DataError, match=r"rank 1 begins 1000 s after rank 0 ended, and they have no collectives"):
        read(tmp_path)
    unaligned = read(tmp_path, clocks="unaligned")
    assert starts(unaligned) == [0, 0]
    assert "not aligned" in unaligned.notes[1]
    assert starts(read(tmp_path, clocks="recorded")) == [0, 10**12]


@pytest.mark.real_data
def test_a_shifted_copy_of_a_real_rank_is_found_again(real_data, tmp_path):
    """By its sends and receives renamed to a collective; the copy's clock is 7.654321 s late."""
    with gzip.open(real_data / "traces" / "chrome" / "two_ranks" / "sampled_rank-0.json.gz", "rt") as file:
        text = file.read().replace("ncclKernel_SendRecv", "ncclKernel_AllReduce")
    (tmp_path / "rank0.json").write_text(text)
    document = json.loads(text)
    document["distributedInfo"]["rank"] = 1
    for event in document["traceEvents"]:
        if "ts" in event:
            event["ts"] += 7_654_321
    (tmp_path / "rank1.json").write_text(json.dumps(document))
    trace = read(tmp_path)
    assert trace.facts["clocks"] == "collectives"
    assert trace.facts["clock_residual_ns"] == 0
    assert starts(trace) == [0, 0]


def test_collectives_of_other_groups_say_nothing_of_clocks(tmp_path):
    """Kernels have one name; two pairs of ranks end theirs at other times, and all four end one a step together."""
    for rank in range(4):
        pair, start_us = rank // 2, 10**9 * (rank + 1)
        groups = {"pair": (30 + 20 * pair, [2 * pair, 2 * pair + 1]), "all": (90, [0, 1, 2, 3])}
        events = []
        for step in range(STEPS):
            for name, (end, members) in groups.items():
                told = {"Process Group Name": name, "Process Group Ranks": str(members), "Group size": len(members)}
                args = {"Collective name": "allreduce", **told}
                kernel = {"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce", "pid": 0, "tid": 7}
                events.append({**kernel, "ts": start_us + 100 * step + end - 10, "dur": 10, "args": args})
        document = {"distributedInfo": {"rank": rank, "world_size": 4}, "traceEvents": events}
        (tmp_path / f"rank{rank}.json").write_text(json.dumps(document))
    trace = read(tmp_path)
    assert (trace.facts["clocks"], trace.facts["clock_residual_ns"]) == ("collectives", 0)
    assert starts(trace) == [0, 0, 20_000, 20_000]


# Locations of a level: what is shown of several at once, against a look at every nanosecond.
# In the order in which they are shown.
STATES = ("gemm", "ncclAllReduce", "Memcpy HtoD", "(launched, not started)", "(waiting for the host)", "Idle")
STREAMS = ("GPU 0 / stream 1", "GPU 1 / stream 1", "GPU 0 / stream 2", "GPU 0 / stream 3")
EMPTY = len(STATES)  # no state
piece = st.tuples(st.integers(0, 3), st.integers(0, 6), st.integers(0, 5))
pieces_of_a_stream = st.lists(piece, min_size=1, max_size=15)


def at_every_moment(trace, end=150):
    """The state of each location at each nanosecond."""
    table = np.full((len(trace.locations), end), EMPTY)
    for location, state, start, until in zip(trace.location, trace.state, trace.start_ns, trace.end_ns, strict=True):
        table[location, start:until] = STATES.index(trace.states[state])
    return table


@settings(max_examples=20)
@given(streams=st.lists(pieces_of_a_stream, min_size=4, max_size=4))
def test_the_first_class_is_shown(tmp_path_factory, streams):
    recorded, rows = np.full((4, 150), EMPTY), []
    for stream, intervals in enumerate(streams):
        at = 0
        for gap, width, state in intervals:
            at += gap
            rows.append(f'{at},{at + width},{STREAMS[stream]},"{STATES[state]}"')
            recorded[stream, at : at + width] = state
            at += width
    assume((recorded < EMPTY).any())
    path = tmp_path_factory.mktemp("streams") / "gpus.csv"
    path.write_text("\n".join(["start_ns,end_ns,location,state", *rows, ""]))
    gpus = perfcore.read(path)
    assert gpus.locations == ("GPU 0", "GPU 1")
    expected = np.array([recorded[[0, 2, 3]].min(axis=0), recorded[1]])
    assert at_every_moment(gpus).tolist() == expected.tolist()
    # Neighbours differ, and any states that are asked for are counted whatever they hide behind.
    touching = (gpus.location[1:] == gpus.location[:-1]) & (gpus.start_ns[1:] == gpus.end_ns[:-1])
    assert not (touching & (gpus.state[1:] == gpus.state[:-1])).any()
    if "Memcpy HtoD" in gpus.states:
        copies = (recorded == 2)[[0, 2, 3]].any(axis=0).sum() + (recorded == 2)[1].sum()
        assert gpus.utilization(["Memcpy HtoD"]).integral == pytest.approx(copies)
    if "gemm" in gpus.states:
        assert gpus.utilization().integral == pytest.approx((expected == 0).sum())


def test_levels_are_those_of_readers_or_of_names(tmp_path):
    names = ["a / thread 1", "a / thread 2", "1.1.1", "1.1.2", "rank 3 / CPU", "x"]
    path = tmp_path / "run.csv"
    path.write_text("start_ns,end_ns,location,state\n" + "".join(f"0,9,{name},run\n" for name in names))
    processes = perfcore.read(path, locations="process")
    assert processes.locations == ("1.1", "a", "rank 3", "x")
    said = "each computes while any of its members does; where one computes, 1.50 of them do at once"
    assert said in processes.notes[-1]
    with pytest.raises(DataError, match=r"is the GPU known; known: locations='process'; leave"):
        perfcore.read(path, locations="device")
    for level in ("auto", "stream", "thread", "both"):
        assert perfcore.read(path, locations=level).locations == tuple(sorted(names))
    # Of Paraver the header says which tasks are on a node: here both.
    (tmp_path / "run.prv").write_text(
        "#Paraver (01/01/26 at 10:00):9_ns:1(2):1:2(1:1,1:1),1\n1:1:1:1:1:0:9:1\n1:2:1:2:1:0:9:1\n"
    )
    node = perfcore.read(tmp_path / "run.prv", locations="node")
    assert (node.locations, node.levels["process"]) == (("node 1",), ("",))


def test_ranks_are_merged_one_by_one(tmp_path):
    """Two ranks in files of their own: the same as what their intervals together give; also cut to a part."""
    for rank in range(2):
        rows = ("1,gemm", rank, 10), ("2,nccl", 5, 14 + rank), ("2,gemm", 20, 22)
        lines = ["location,state,start_us,end_us", *(f"GPU 0 / stream {what},{a},{b}" for what, a, b in rows)]
        (tmp_path / f"rank{rank}.csv").write_text("\n".join(lines) + "\n")
    run = perfcore.read(tmp_path, clocks="unaligned")
    assert run.locations == ("rank 0 / GPU 0", "rank 1 / GPU 0")
    recorded = perfcore.read(tmp_path, clocks="unaligned", locations="stream")
    assert hasattr(recorded, "rank_traces")
    perfcore.write(recorded, tmp_path.with_suffix(".parquet"))
    whole = perfcore.read(tmp_path.with_suffix(".parquet"))
    assert not hasattr(whole.recorded, "rank_traces")
    assert pieces(run) == pieces(whole)
    assert run.utilization().integral == run.utilization(["gemm"]).integral == (10 + 2) + (9 + 2)
    assert overheads(run)[0].devices == overheads(whole)[0].devices
    part = perfcore.read(tmp_path, clocks="unaligned", until="12us")
    assert part.locations == run.locations
    assert part.utilization().integral == 10 + 9
