"""XPlane files of JAX and TensorFlow: the same facts as of Kineto's traces, by hand."""

import gzip

import pytest
from trace_samples import DERIVED, HOST, XPLANE_BEGAN, jax, pieces, proto, xplane, xspace

import perfcore
from perfcore.base.errors import InputError

NOT_STARTED = "(launched, not started)"


@pytest.fixture
def write(tmp_path):
    def write(content, name="t.xplane.pb"):
        (tmp_path / name).write_bytes(content)
        return tmp_path / name

    return write


def test_streams_count_and_derived_lines_do_not(write):
    """From the copy's begin at 6 us: launches return at 5, 9 and 12 us, kernels begin at 20 and 40.5 us."""
    trace = perfcore.read(write(gzip.compress(jax()), "t.xplane.pb.gz"))
    assert [row[1:] for row in pieces(trace)] == sorted([
        ("MemcpyH2D", 0, 10_000), (NOT_STARTED, 10_000, 14_000), ("gemm", 14_000, 34_000),
        (NOT_STARTED, 34_000, 34_500), ("add", 34_500, 39_501)])  # fmt: skip
    assert trace.locations == ("GPU 0",)
    assert trace.busy_states == ("gemm", "add")
    assert trace.markers == (("train", -6_000, 54_000),)
    assert trace.facts["gpu"] == "NVIDIA H100"
    assert trace.facts["epoch_ns"] == XPLANE_BEGAN + 6_000
    threads = perfcore.read(write(jax()), locations="thread")
    assert threads.locations == ("process host / thread python 4243",)
    # Calls within the step: it counts from 0 to 1, 5 to 7, 9 to 10 and 12 to 60 us.
    times = dict.fromkeys(threads.states, 0)
    for _, state, start, end in pieces(threads):
        times[state] += end - start
    assert times == {"train": 52_000, "cuMemcpyHtoDAsync": 4_000, "cuLaunchKernel": 4_000}


def test_work_by_kernel_operator_and_launch(write):
    path = write(jax())
    rows = {row["name"]: (row["own_ns"], row["calls"]) for row in perfcore.profile(path, by="kernel").rows}
    assert rows == {"gemm": (20_000, 1), "add": (5_001, 1), "MemcpyH2D": (10_000, 1)}
    (row,) = perfcore.profile(path, by="operator").rows
    assert (row["name"], row["own_ns"], row["pieces"]) == ("train", 35_001, 3)
    launches = perfcore.overheads(path, by="launch")
    assert launches.idle_ns == {"waiting for the host": 0, "launched, not started": 4_500,
                                "idle, launch not recorded": 0}  # fmt: skip


def test_tpus_have_operations_for_streams(write):
    lines = DERIVED, (1, "Steps", [("7", 0, 60_000, {})]), (2, "XLA Modules", [("jit_f", 0, 50_000, {})])
    trace = perfcore.read(write(xspace(xplane("/device:TPU:0", *lines, device_type_string="TPU v4"))))
    assert [row[1:] for row in pieces(trace)] == [("fusion.1", 0, 25_501)]
    assert trace.facts["gpu"] == "TPU v4"


def event(name, begin, duration, *stats):
    return 4, proto((1, name), (2, begin), (3, duration), *((4, stat) for stat in stats))


def test_picoseconds_are_rounded_once_and_only_work_counts(write):
    """Of a stream that begins at 10 us: events that touch still do. Allocations and sums of events are no work."""
    events = [event(1, 1_000_499, 1_002), event(1, 1_001_501, 998_000), event(2, -500, 700_000),
              event(3, 3_000_000, 700_000, proto((1, 300), (3, 9))),
              (4, proto((1, 1), (5, 12), (3, 90_000)))]  # fmt: skip
    names = [(4, proto((1, k), (2, proto((1, k), (2, name))))) for k, name in [(1, "k"), (2, "Memset"), (3, "Alloc")]]
    stats = (5, proto((1, 300), (2, proto((1, 300), (2, "memalloc_details")))))
    line = (3, proto((1, 7), (2, "Stream #7"), (3, 10_000), *events))
    path = write(xspace(proto((1, 1), (2, "/device:GPU:1"), line, *names, stats)))
    trace = perfcore.read(path, locations="stream")
    assert [row[1:] for row in pieces(trace)] == [("Memset", 0, 700), ("k", 1_000, 1_002), ("k", 1_002, 2_000)]
    assert trace.busy_states == ("k",)
    assert {row["name"]: row["calls"] for row in perfcore.profile(path, by="kernel").rows} == {"Memset": 1, "k": 2}
    assert any("left out, without a time" in note for note in trace.notes)


def test_files_that_cannot_be_read_are_one_line(write):
    content = jax()
    host = len(xspace(xplane("/host:CPU", HOST)))  # where the GPU's plane begins
    for damaged, at in [(content[:-1], host), (content[:host] + b"\x0f" + content[host + 1 :], host)]:
        with pytest.raises(InputError, match=rf"t.xplane.pb: is damaged or cut short: .* at byte {at}$"):
            perfcore.read(write(damaged))
    with pytest.raises(InputError, match="holds no events of GPUs, TPUs or the host"):
        perfcore.profile(write(xspace(xplane("/host:metadata"))), by="kernel")
