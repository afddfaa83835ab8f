"""Exports of Nsight Systems answer as PyTorch's trace of the same run does."""

import pytest
from gpu_events import event, launched, write, write_nsight

import perfcore
from perf_io.traces.gpu_activity import read_gpu_activity
from perfcore.base.errors import DataError


def steps(n=3):
    """Steps of 100 us: a copy of 10 us, a kernel of 40 launched at 20, one of 20 behind it, and a wait for both."""
    events = []
    for k in range(n):
        at, first = 100 * k, 10 * k
        events += [
            *(event(cat, name, at + begin, dur) for cat in ("user_annotation", "cpu_op")
              for name, begin, dur in (("step", 0, 95), ("forward", 19, 17))),
            event("cuda_runtime", "cudaMemcpyAsync", at, 4, correlation=first + 1),
            event("gpu_memcpy", "[CUDA memcpy Host-to-Device]", at + 6, 10, 7, correlation=first + 1),
            *launched(first + 2, "gemm<float>", at + 20, at + 26, 40),
            *launched(first + 3, "relu", at + 30, at + 66, 20),
            event("cuda_runtime", "cudaDeviceSynchronize", at + 40, 48, correlation=first + 4),
        ]  # fmt: skip
    return events


def waits():
    """A kernel of 80 us; another stream waits for its event and runs one of 30; the host waits for the second."""
    wait = {"stream": 20, "wait_on_stream": 7, "wait_on_cuda_event_record_corr_id": 2, "device": 0}
    return [
        *launched(1, "a", 0, 10, 80), event("cuda_runtime", "cudaEventRecord", 5, 1, correlation=2),
        event("cuda_runtime", "cudaStreamWaitEvent", 7, 1, correlation=3),
        event("cuda_sync", "Stream Wait Event", 7, 1, correlation=3, **wait),
        *launched(4, "b", 9, 92, 30, tid=20),
        event("cuda_runtime", "cudaStreamSynchronize", 14, 110, correlation=5),
        event("cuda_sync", "Stream Sync", 15, 109, correlation=5, stream=20, device=0),
    ]  # fmt: skip


def both(tmp_path, events):
    return write(tmp_path / "a.json", events), write_nsight(tmp_path / "a.sqlite", events)


def test_times_and_replays_are_the_same(tmp_path):
    """GPU twice as fast saves 30 us a step; of the host see the critical path: 16 + 16 + 13.5 us."""
    paths = both(tmp_path, steps())
    for answers in map(perfcore.whatif, paths):
        assert answers.runtime_ns == 295_000
        runtimes = {each.question: each.runtime_ns for each in answers.scenarios}
        assert (runtimes["GPU 2x faster"], runtimes["host 2x faster"]) == (205_000, 249_500)
    for by in (None, "kernel", "operator", "group"):
        rows, expected = ([(row["name"], row["own_ns"], row["calls"]) for row in perfcore.profile(path, by=by).rows]
                          for path in reversed(paths))  # fmt: skip
        assert rows == expected
    texts = [perfcore.overheads(path).report().answer for path in paths]
    assert texts[0].removeprefix("a.json") == texts[1].removeprefix("a.sqlite")
    assert texts[1].startswith("a.sqlite, 3 steps of 95 us: device busy 75.0% (exposed copies 10.7%)")
    assert perfcore.read(paths[1]).markers[:2] == (("step", 5000, 100_000), ("forward", 24_000, 41_000))
    assert perfcore.profile(paths[1]).report().next.endswith("--by kernel")  # no shapes are recorded


@pytest.mark.parametrize("times", [2, 8])
def test_a_stream_waits_for_the_recorded_event(tmp_path, times):
    """80 us and 30 us one behind the other on the path, whatever their streams: 10 + 80/t + 2 + 30/t + 2."""
    for path in both(tmp_path, waits()):
        answers = perfcore.whatif(path, compute=[f"gpu={times}"])
        assert answers.runtime_ns == 124_000
        assert answers.scenarios[0].runtime_ns == 14_000 + 110_000 / times


def test_of_waits_for_unknown_events_the_option_is_named(tmp_path):
    path = write_nsight(tmp_path / "a.sqlite", waits(), event_trace=False)
    assert any("nsys profile --cuda-event-trace=true" in note for note in perfcore.whatif(path).notes)


def test_processes_of_one_file_are_kept_apart(tmp_path):
    """Two ranks with the same numbers of devices, streams and correlations, whose steps are the same ones."""
    path = tmp_path / "two.sqlite"
    for process in (100, 200):
        write_nsight(path, steps(), process=process)
    activity = read_gpu_activity(path)
    assert activity.n_devices == 2
    assert activity.busy_ns == 2 * 210_000
    assert len(activity.step_spans()[0]) == 3
    found = {row["name"]: row["own_ns"] for row in perfcore.profile(path, by="operator").rows}
    assert found == {"forward": 2 * 180_000, "step": 2 * 30_000}
    assert perfcore.whatif(path, compute=["gpu=2"]).scenarios[0].runtime_ns == 205_000


def test_without_gpu_work_nothing_is_made_of_it(tmp_path):
    path = write_nsight(tmp_path / "host.sqlite", [event("cuda_runtime", "cudaMalloc", 0, 10, correlation=1)])
    assert read_gpu_activity(path) is None
    with pytest.raises(DataError, match="SQLite export of Nsight Systems"):
        perfcore.profile(path, by="kernel")


@pytest.mark.parametrize("ending", ["csv", "parquet", "json"])
def test_a_table_of_the_trace_answers_in_words_of_gpus(tmp_path, ending):
    """Categories are the same; launches are not in it, so that no command for them is suggested."""
    path = write(tmp_path / "a.json", steps())
    copied = tmp_path / f"b.{ending}"
    perfcore.write(perfcore.read(path), copied)
    original, other = (perfcore.overheads(each).to_frame() for each in (path, copied))
    assert other[["category", "time_s"]].values.tolist() == original[["category", "time_s"]].values.tolist()
    report = perfcore.overheads(copied).report()
    assert "device busy 75.0% (exposed copies 10.7%), waiting for the host 21.4%" in report.answer
    assert report.next == f"perf profile {copied}"
