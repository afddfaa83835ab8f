"""Launches, queues and memory of GPU work and what collectives reach, by hand and by independent scripts."""

import json

import pytest
from gpu_events import event, launched, write, write_nsight

import perfcore
from perfcore.base.errors import DataError, OptionError


def test_delays_and_queues_by_stream(tmp_path):
    """A piece that begins before its call returns has no delay; overlapping work of a stream is clipped and named."""
    events = [*launched(1, "a", 0, 2, 10), *launched(2, "b", 10, 20, 30), *launched(3, "c", 15, 40, 10)]
    events += launched(4, "d", 12, 30, 5, tid=8)
    found = perfcore.overheads(write(tmp_path / "t.json", events), by="launch")
    seven, eight = found.streams
    assert (seven["pieces"], seven["negative_delays"], seven["most_delay_ns"]) == (3, 1, 21_000)
    assert seven["mean_queued"] == (2 + 10 + 25) / 40
    assert (seven["most_queued"], seven["empty_share"], eight["mean_queued"]) == (2, 8 / 40, 1.0)
    assert (found.idle_ns["waiting for the host"], found.idle_ns["launched, not started"]) == (2_000, 6_000)
    assert "'b', by 10 us" in found.notes[0]


@pytest.mark.parametrize("category", ["cpu_op", "user_annotation"])
def test_a_data_loader_that_gpus_wait_for_is_named(tmp_path, category):
    """Steps of 100 us: 60 in the loader, a launch of 4 at 70, and a kernel of 25 us that begins 1 us later."""
    loader, events = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", []
    for step in range(4):
        at = 100 * step
        events += [event("user_annotation", f"ProfilerStep#{step}", at, 100), event(category, loader, at, 60)]
        events += [event("cpu_op", "aten::mm", at + 65, 20), *launched(step, "gemm", at + 70, at + 75, 25)]
    path = write(tmp_path / "t.json", events)
    found = perfcore.overheads(path)
    # Three waits from the end of a kernel, at 0 of the next step, until the next launch returns at 74.
    assert found.remedies.host == (loader, pytest.approx(60 / 74))
    report = found.report()
    assert "(81% of it in enumerate(DataLoader)#_Single…rIter.__next__)" in report.answer
    assert report.next == f"perf whatif {path}"
    assert "the host is late: 81% of the wait for it is in enumerate(DataLoader)" in perfcore.overheads(
        path, by="launch").report().answer  # fmt: skip


def test_pieces_of_a_graph_share_their_call(tmp_path):
    """Ten kernels of 3 us by one call of 20 us: each costs 2 us to launch."""
    kernels = [event("kernel", "k", 30 + 4 * k, 3, 7, correlation=1) for k in range(10)]
    graph = event("cuda_runtime", "cudaGraphLaunch", 0, 20, correlation=1)
    found = perfcore.overheads(write(tmp_path / "t.json", [graph, *kernels]), by="launch").all
    assert (found["pieces"], found["shorter_than_call"], found["mean_call_ns"]) == (10, 0, 20_000)
    assert found["mean_delay_ns"] == 10_000 + 4_500 * 4


def test_what_launches_need(tmp_path):
    bare = write(tmp_path / "bare.json", [event("kernel", "k", 0, 5, 7)])
    with pytest.raises(DataError, match="correlation"):
        perfcore.overheads(bare, by="launch")
    with pytest.raises(OptionError, match="labels"):
        perfcore.overheads(bare, by="launch", phases=2)


EXPECTED = {  # microseconds
    "syn/queue.json": {"mean_delay": 37.25, "median_delay": 39, "most_delay": 63, "median_call": 4, "short": 3,
                       "short_time": 9, "shorter_than_call": 3, "queue": (3, 0.778, 0.585)},
    "real/bert_h100.json.gz": {"mean_delay": 1.629, "median_delay": 1.668, "most_delay": 2.128, "mean_call": 5.451,
                               "short": 59, "short_time": 258.1, "shorter_than_call": 40, "queue": (1, None, None)},
    "real/vit_h100.json.gz": {"mean_delay": 3.254, "median_delay": 1.708, "mean_call": 4.905, "short": 117,
                              "short_time": 654.4, "shorter_than_call": 33, "queue": (4, 0.168, 0.851)},
    "real/resnet_queue_full.json.gz": {"long_calls": 936, "queue": (1022, 873.051, None)},
    "real/sampled_rank-0.json.gz": {"mean_delay": 17059.550, "median_delay": 10835, "most_delay": 111018,
                                    "queue": (80, 16.103, None)},
}  # fmt: skip


@pytest.mark.real_data
@pytest.mark.parametrize("file", EXPECTED)
def test_launches_of_real_traces(real_data, file):
    found = perfcore.overheads(real_data / "traces" / "gpu" / file, by="launch")
    counts = {name: found.all[name] for name in ("short", "shorter_than_call", "long_calls")}
    times = {name: found.all[f"{name}_ns"] / 1000 for name in ("mean_delay", "median_delay", "most_delay", "mean_call",
                                                               "median_call")}  # fmt: skip
    values = counts | times | {"short_time": round(found.all["short_ns"] / 1000, 1)}
    for name, expected in EXPECTED[file].items():
        if name != "queue":
            assert round(values[name], 3) == expected, name
    most, mean, empty = EXPECTED[file]["queue"]
    first = found.streams[0]
    assert first["most_queued"] == most
    assert mean is None or round(first["mean_queued"], 3) == mean
    assert empty is None or round(first["empty_share"], 3) == empty
    if file.startswith("syn"):
        assert (found.span_ns, found.busy_ns, *list(found.idle_ns.values())[:2]) == (195_000, 59_000, 125_000, 11_000)
    if "sampled" in file:
        by_stream = {row["stream"].split()[-1]: row["most_queued"] for row in found.streams}
        assert by_stream == {"7": 80, "23": 4, "25": 8, "84": 2, "203": 1}


# Memory of GPUs over time, by hand and by independent scripts.
def change(ts, address, amount, allocated, device=0, tid=1):
    args = {"Device Type": 1, "Device Id": device, "Addr": address, "Bytes": amount, "Total Allocated": allocated,
            "Total Reserved": 100}  # fmt: skip
    return {"ph": "i", "cat": "cpu_instant_event", "name": "[memory]", "pid": 100, "tid": tid, "ts": ts, "args": args}


def test_operators_around_changes(tmp_path):
    """The innermost one of the thread; blocks of before the trace are freed, and not live."""
    events = [*launched(1, "k", 5, 12, 5), event("cpu_op", "f", 0, 50), event("cpu_op", "g", 10, 10)]
    events += [event("cpu_op", "h", 0, 90, tid=2), change(15, 1, 30, 70), change(40, 2, 20, 90), change(60, 9, -40, 50)]
    events += [change(70, 1, -30, 20), change(72, 5, 10, 10, device=1, tid=2)]
    found = perfcore.profile(write(tmp_path / "t.json", events), by="memory")
    assert (found.device, found.stack, found.live) == ("GPU 0", ("f",), (1, 20))
    assert {row["name"]: (row["allocated"], row["freed"]) for row in found.operators} == {
        "g": (30, 0), "f": (20, 0), "(no operator)": (0, 70)}  # fmt: skip
    assert found.time_ns[found.peak] == 25_000
    assert found.save(tmp_path / "curve.csv")[0] == f"series: {tmp_path / 'curve.csv'}"
    assert list(perfcore.read(tmp_path / "curve.csv").columns) == ["allocated", "reserved"]


def test_memory_must_be_recorded(tmp_path):
    with pytest.raises(DataError, match="profile_memory=True"):
        perfcore.profile(write(tmp_path / "t.json", launched(1, "k", 0, 10, 5)), by="memory")


REAL = {  # peak, when, operators around it, most reserved, allocated, freed, live
    "syn/memory.json": (4500, 25_000, ["aten::mm"], 8000, 4700, 3500, (2, 1200)),
    "real/bert_h100.json.gz": (101305344, 3875_557, ["aten::empty", "aten::addmm", "aten::linear"], 121634816,
                               47460864, 47460864, (0, 0)),
    "real/bert_mi300.json.gz": (146394112, None, None, 224395264, None, None, None),
}  # fmt: skip


@pytest.mark.real_data
@pytest.mark.parametrize("file", REAL)
def test_memory_of_real_traces(real_data, file):
    found = perfcore.profile(real_data / "traces" / "gpu" / file, by="memory").to_dict()
    values = [found[name] for name in ("peak_bytes", "peak_ns", "peak_stack", "peak_reserved", "allocated_bytes",
                                       "freed_bytes")]  # fmt: skip
    for value, expected in zip([*values, (found["live_blocks"], found["live_bytes"])], REAL[file], strict=True):
        assert expected is None or value == expected
    if "h100" in file:
        assert (found["allocated"][0], found["allocated"][-1]) == (91505152, 91360768)


# Bandwidth, skew and stragglers of collectives: nccl-tests' definitions on made and real traces.
def run(folder, entered, name, elements, end=1000.0, **args):
    """Files of one rank each, which enter a collective of floats at these times and leave together."""
    for rank, starts in enumerate(entered):
        events = []
        for k, start in enumerate(starts):
            told = {"Collective name": name, "In msg nelems": elements // 2, "Out msg nelems": elements}
            told |= {"dtype": "Float", "Group size": len(entered), "Process Group Name": "0", **args}
            at = end * (k + 1)
            events += launched(k, f"ncclDevKernel_{name}", at - 900, start, at - start, 20, **told)
        info = {"backend": "nccl", "rank": rank, "world_size": len(entered)}
        write(folder / f"rank{rank}.json", events, distributedInfo=info, baseTimeNanoseconds=1_700_000_000_000_000_000)
    return folder


FACTORS = {"allreduce": 4 / 3, "_allgather_base": 2 / 3, "reduce_scatter": 2 / 3, "all_to_all": 2 / 3, "broadcast": 1,
           "barrier": None}  # fmt: skip


@pytest.mark.parametrize(("name", "factor"), FACTORS.items())
def test_bandwidths_by_nccl_tests(tmp_path, name, factor):
    (row,) = perfcore.messages(run(tmp_path, [[400], [500], [300]], name, 1_000_000)).speeds
    assert (row.bytes, row.ranks, row.time_ns, row.skew_ns, row.last) == (
        4_000_000, 3, (500_000,), (200_000,), ("rank 1",))  # fmt: skip
    assert row.bandwidths(bus=False) == [8.0]
    assert row.bandwidths(bus=True) == ([] if factor is None else [pytest.approx(8 * factor)])


def test_ties_blame_nobody_and_missing_ranks_are_said(tmp_path):
    result = perfcore.messages(run(tmp_path, [[400, 1100], [400, 1500], [300, 1200]], "allreduce", 1000))
    (row,) = result.speeds
    assert row.last == (None, "rank 1")
    assert row.last_most == ("rank 1", 1)
    waits = {each.rank: (each.n_last, each.held_up_ns, each.waited_ns) for each in result.waits}
    assert waits == {"rank 0": (0, 0, 400_000), "rank 1": (1, 300_000, 0), "rank 2": (0, 0, 400_000)}
    alone = perfcore.messages(tmp_path / "rank0.json")
    assert not alone.speeds[0].is_complete
    assert alone.waits == ()
    assert "at least" in str(alone)


def test_exposed_part(tmp_path):
    events = launched(9, "gemm", 100, 550, 100)
    run(tmp_path, [[500]], "allreduce", 1000, **{"Group size": 8})
    document = json.loads((tmp_path / "rank0.json").read_text())
    write(tmp_path / "rank0.json", document.pop("traceEvents") + events, **document)
    (row,) = perfcore.messages(tmp_path / "rank0.json").speeds
    assert (row.member_ns, row.exposed_ns) == (500_000, 400_000)


@pytest.mark.parametrize("form", ["json", "sqlite"])
def test_kernels_without_arguments_are_matched_by_name_and_time(tmp_path, form):
    """Rank 1 computes 70 us of each step of 100, rank 0 only 50, then both reduce until 90: 20 us of 36 are waiting."""
    name = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
    wait = {"stream": 20, "wait_on_stream": 7, "device": 0}
    for rank, computing in enumerate((50, 70)):
        events = []
        for k in range(4):
            at, first = 100 * k, 10 * k
            record = {"correlation": first + 3, "wait_on_cuda_event_record_corr_id": first + 2}
            events += [
                *launched(first + 1, "gemm", at, at + 4, computing),
                event("cuda_runtime", "cudaEventRecord", at + 4, 1, correlation=first + 2),
                event("cuda_runtime", "cudaStreamWaitEvent", at + 5, 1, correlation=first + 3),
                event("cuda_sync", "Stream Wait Event", at + 5, 1, **record, **wait),
                *launched(first + 4, name, at + 6, at + 4 + computing, 86 - computing, 20),
                event("cuda_runtime", "cudaDeviceSynchronize", at + 12, 80, correlation=first + 5),
            ]
        facts = {"distributedInfo": {"rank": rank, "world_size": 2}, "baseTimeNanoseconds": 1_700_000_000_000_000_000}
        path = tmp_path / f"rank{rank}.{form}"
        write(path, events, **facts) if form == "json" else write_nsight(path, events, process=100 + rank, rank=rank)
    found = perfcore.messages(tmp_path)
    (row,) = found.speeds
    assert (row.operation, row.ranks, row.time_ns, row.skew_ns) == ("allreduce", 2, (16_000,) * 4, (20_000,) * 4)
    waits = [(each.rank, each.n_last, each.waited_ns) for each in found.waits]
    assert waits == [("rank 1", 4, 0), ("rank 0", 0, 80_000)]
    calls, _, waits = found.report().answer.partition("; ")
    assert calls == "allreduce among 2 ranks: 4 calls, 64 us in total"
    assert waits == "rank 1 is last in 4 of 4, ranks wait 80 us in total"
    assert found.report().next == f"perf whatif {tmp_path} --compute collectives=inf"
    replayed = perfcore.whatif(tmp_path, compute=["gpu=2"])
    assert (replayed.n_met, replayed.runtime_ns - replayed.scenarios[0].runtime_ns) == (4, 4 * (35 + 8) * 1000)
    assert replayed.report().next == f"perf profile {tmp_path} --by kernel"


@pytest.mark.real_data
def test_collectives_of_all_ranks_by_hand(real_data):
    folder = real_data / "traces" / "gpu"
    result = perfcore.messages(str(folder / "syn" / "coll_rank*.json"))
    (row,) = result.speeds
    assert (row.bytes, row.time_ns, row.skew_ns) == (40_000_000, (200_000, 200_000, 600_000), (400_000, 400_000, 0))
    assert row.last == ("rank 2", "rank 2", None)
    assert row.bandwidths(bus=True) == pytest.approx([300, 300, 100])
    assert row.to_dict()["overall_bus_gb_s"] == pytest.approx(180)
    assert row.exposed_ns == row.member_ns
    assert {each.rank: each.waited_ns for each in result.waits} == {
        "rank 0": 800_000, "rank 1": 800_000, "rank 2": 0, "rank 3": 800_000}  # fmt: skip
    (alone,) = perfcore.messages(folder / "syn" / "coll_rank0.json").speeds
    assert max(alone.bandwidths(bus=True)) == pytest.approx(100)


@pytest.mark.real_data
def test_collectives_of_one_rank_of_two(real_data):
    """By an independent script."""
    import numpy as np

    rows = perfcore.messages(real_data / "traces" / "gpu" / "real" / "nccl_data.json.gz").speeds
    found = {(row.operation, row.bytes): row for row in rows}
    large = found["allreduce", 31502336]
    assert (min(large.time_ns), np.median(large.time_ns)) == (2_424_415, 2_673_916)
    assert [round(f(large.bandwidths(bus=True)), 3) for f in (np.median, max)] == [11.781, 12.994]
    assert round(np.median(found["allreduce", 8196000].bandwidths(bus=True)), 3) == 2.478
    small = found["broadcast", 212480]
    assert (np.median(small.time_ns), round(np.median(small.bandwidths(bus=True)), 3)) == (30_848, 6.888)
