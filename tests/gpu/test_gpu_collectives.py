"""Bandwidth, skew and stragglers of collectives: nccl-tests' definitions on made and real traces."""

import json

import pytest
from gpu_events import event, launched, write, write_nsight

import perfcore


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
    assert [(each.rank, each.n_last, each.waited_ns) for each in found.waits] == [
        ("rank 1", 4, 0),
        ("rank 0", 0, 80_000),
    ]
    answer = found.report().answer
    assert (
        answer
        == "allreduce among 2 ranks: 4 calls, 64 us in total; rank 1 is last in 4 of 4, ranks wait 80 us in total"
    )
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
