"""Collectives, sends and receives of PyTorch's traces: by kernels, by the host, and of older versions."""

import json

import pytest
from traces.kineto_files import START_US

import perfcore
from perfcore.base.errors import DataError

KERNEL = "ncclDevKernel_Generic(ncclDevKernelArgsStorage<4096ul>)"
ALL, PAIR = {"Process Group Name": "0", "Process Group Ranks": "[0, 1, 2, 3]", "Group size": 4}, {"Group size": 2}


def told(name, elements, group=ALL, **more):
    """Arguments that say what is transferred."""
    elements = {"In msg nelems": elements, "Out msg nelems": 8}
    return {"Collective name": name, "dtype": "BFloat16", **elements, **group, **more}


def kernel(at, until, args, **more):
    return {"ph": "X", "cat": "kernel", "name": KERNEL, "pid": 0, "tid": 7, "ts": START_US + at, "dur": until - at,
            "args": args, **more}  # fmt: skip


def events(rank):
    """A reduction among all, whose number is told; two among neighbours, in their order; messages in a ring of four."""
    first = rank - rank % 2
    pair = {**PAIR, "Process Group Name": str(7 + first), "Process Group Ranks": f"[{first}, {first + 1}]"}
    after, before = (rank + 1) % 4, (rank - 1) % 4
    return [
        kernel(0, 10, {}, name="gemm"),
        kernel(20 + rank, 40, told("allreduce", 100, Seq=5 + rank // 4)),
        kernel(50, 60 + rank, told("_allgather_base", 4, pair)),
        kernel(70, 80, told("_allgather_base", 6, pair)),
        kernel(90, 100, told("send", 50, **{"Dst Rank": after, "Seq": 1})),
        kernel(101, 120, told("recv", 50, **{"Src Rank": before, "Seq": 2})),
    ]


def written(folder, change=lambda rank, found: found, ranks=range(4), size=4):
    for rank in ranks:
        document = {"distributedInfo": {"rank": rank, "world_size": size}, "traceEvents": change(rank, events(rank))}
        (folder / f"rank{rank}.json").write_text(json.dumps(document))
    return perfcore.read(folder)


@pytest.mark.parametrize("early_us", [0, 10])
def test_the_files_of_ranks_fit_together(tmp_path, early_us):
    """Whenever each of them begins."""

    def begun(rank, found):
        first = -early_us * (1 + rank)
        return [kernel(first, first + 5, {}, name="gemm"), *found] if early_us else found

    trace = written(tmp_path, begun)
    assert trace.locations == tuple(f"rank {rank} / GPU 0" for rank in range(4))
    found = perfcore.messages(trace)
    assert found.remarks == ()
    rows = {row.operation: row for row in found.collectives}
    assert {name: (row.count, row.bytes) for name, row in rows.items()} == {
        "nccl:_allgather_base": (4, 4 * 16), "nccl:allreduce": (1, 200),
    }  # fmt: skip
    assert perfcore.info(trace)["collectives"] == "5 on 3 communicators"
    # In the reduction the last of four comes at 23 us, after 3, 2 and 1 us, and all stay until 40; in the others both
    # come at once and stay, of the first two, 10 us and the number of the rank, of the others 10.
    times = {name: (row.timed, row.until_all_ns, row.after_ns) for name, row in rows.items()}
    assert times == {
        "nccl:allreduce": (1, (3 + 2 + 1) * 1000, 4 * (40 - 23) * 1000),
        "nccl:_allgather_base": (4, 0, (4 * 10 + 0 + 1 + 2 + 3 + 4 * 10) * 1000),
    }
    ring = [[0, 100, 0, 0], [0, 0, 100, 0], [0, 0, 0, 100], [100, 0, 0, 0]]
    assert (found.bytes.tolist(), (found.bytes == 100 * found.count).all()) == (ring, True)


def _late(rank, found):
    for event in found[3:4] if rank == 1 else ():
        event["ts"] += 600_000
    return found


def _early(rank, found):
    for event in found[5:] if rank == 0 else ():
        event["ts"], event["dur"] = START_US + 82, 4
    return found


CHANGES = [  # what is written instead, and what is said of it
    (_early, {"messages end before they are sent, so the clocks of locations differ": 1}),
    (_late, {"calls of collectives do not fit to those of other ranks": 2}),
    (lambda rank, found: [{**each, "args": each["args"] | {"dtype": "Thing"}} for each in found],
     {"transfers are of an unknown size or type, and their bytes count as 0": 20}),
    (lambda rank, found: [{**each, "args": each["args"] | {"Group size": [rank]}} for each in found],
     None),
    (lambda rank, found: [{**each, "args": each["args"] | {"Dst Rank": 9, "Src Rank": rank}} for each in found],
     {"sends or receives name ranks that do not exist (rank 9)": 4,
      "sends or receives have no partner in the files": 4}),
]  # fmt: skip


@pytest.mark.parametrize(("change", "remarks"), CHANGES)
def test_what_does_not_fit_is_counted(tmp_path, change, remarks):
    trace = written(tmp_path, change)
    if remarks is None:  # nothing is left that says anything
        with pytest.raises(DataError, match="records no messages or groups of ranks"):
            perfcore.messages(trace)
    else:
        assert set(perfcore.messages(trace).remarks) == {f"{text} ({count})" for text, count in remarks.items()}


def host(at, until, name, cat="cpu_op", **args):
    return {"ph": "X", "cat": cat, "name": name, "pid": 1, "tid": 3, "ts": START_US + at, "dur": until - at,
            "args": args}  # fmt: skip


def launch(at, number):
    return host(at, at + 1, "cudaLaunchKernel", "cuda_runtime", correlation=number)


def test_the_host_says_what_a_kernel_does_not(tmp_path):
    """By its record with arguments; by annotations of older versions with shapes; a send without a kernel."""
    shapes = {"Input Dims": [[1024], [64], []], "Input type": ["float", "float", "Scalar"]}
    document = [
        host(0, 9, "record_param_comms", **told("allreduce", 100)),
        host(1, 8, "nccl:all_reduce", "user_annotation", **{"Input Dims": [[100]], "Input type": ["c10::BFloat16"]}),
        launch(2, 1), host(10, 29, "c10d::_allgather_base_", **shapes),
        host(11, 28, "nccl:_all_gather_base", "user_annotation", **{"Input Dims": [[64]], "Input type": ["float"]}),
        launch(12, 2), launch(30, 3),
        host(40, 45, "record_param_comms", **told("send", 4, **{"Dst Rank": 1})),
        *(kernel(50 * number, 50 * number + 10, {"correlation": number}) for number in (1, 2, 3)),
    ]  # fmt: skip
    (tmp_path / "rank0.json").write_text(json.dumps(document))
    found = perfcore.messages(tmp_path / "rank0.json")
    assert {row.operation: row.bytes for row in found.collectives} == {
        "nccl:allreduce": 200, "nccl:_all_gather_base": 4096,
    }  # fmt: skip
    assert set(found.remarks) == {
        "kernels of NCCL do not say what they transfer (1)",
        "sends or receives have no kernel of their own (1)",
        "collectives name no known group of processes: each call of a rank counts as one (1)",
        "collectives lack members (1)",
    }


def test_annotations_without_shapes_name_the_operation(tmp_path):
    """Of a generic kernel; what a coalesced batch is made of they do not tell."""
    document = [
        host(0, 9, "nccl:all_reduce", "user_annotation"), launch(2, 1),
        host(20, 29, "nccl:coalesced", "user_annotation"), launch(22, 2),
        *(kernel(50 * number, 50 * number + 10, {"correlation": number}) for number in (1, 2)),
    ]  # fmt: skip
    (tmp_path / "rank0.json").write_text(json.dumps(document))
    found = perfcore.messages(tmp_path / "rank0.json")
    assert [(row.operation, row.bytes) for row in found.collectives] == [("nccl:all_reduce", 0)]
    assert "kernels of NCCL do not say what they transfer (1)" in found.remarks


@pytest.mark.real_data
@pytest.mark.parametrize(
    ("file", "expected"),
    # Elements of the shapes times the size of their type, summed up over annotations by a separate script.
    [
        ("rank0.json.gz", {"nccl:all_reduce": (10, 8_965_794_640)}),
        ("two_ranks", {"nccl:_all_gather_base": (4, 1 << 32)}),
    ],
)
def test_real_runs(real_data, file, expected):
    collectives = perfcore.messages(real_data / "traces/chrome" / file).collectives
    rows = {row.operation: (row.count, row.bytes) for row in collectives}
    assert expected.items() <= rows.items()
