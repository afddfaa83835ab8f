"""Launches and queues of GPU work, by hand and by independent scripts."""

import pytest
from gpu_events import event, launched, write

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
