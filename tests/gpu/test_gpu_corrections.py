"""Markers, steps, counters and facts of GPU traces."""

import pytest
from gpu_events import event, launched, write

import perfcore


def test_markers_of_rocm_that_end_with_the_first_kernel(tmp_path):
    """Where they cover less than half of what was launched within the host's, the host's count."""
    events = [event("user_annotation", f"Step#{k}", 100 * k, 90) for k in (1, 2)]
    events += [event("gpu_user_annotation", f"Step#{k}", 100 * k + 10, 5, 7) for k in (1, 2)]
    events += [event("user_annotation", "good", 100, 190), event("gpu_user_annotation", "good", 110, 120, 7)]
    for k in (1, 2):
        for j in range(3):
            events += launched(10 * k + j, "k", 100 * k + 20 * j, 100 * k + 10 + 20 * j, 5)
    file = write(tmp_path / "rocm.json", events)
    assert perfcore.read(file, region="Step#1").span_ns == (0, 45_000)
    assert perfcore.read(file, region="good").span_ns == (0, 120_000)


def test_steps_by_markers_that_occur_equally_often(tmp_path):
    events = [event("kernel", "k", 50 * k, 20, 7) for k in range(12)]
    for k in range(3):
        events += [event("gpu_user_annotation", "forward", 200 * k, 90, 7),
                   event("gpu_user_annotation", "update", 200 * k + 150, 20, 7),
                   event("gpu_user_annotation", "reduce", 200 * k + 100, 5, 7),
                   event("gpu_user_annotation", "reduce", 200 * k + 120, 5, 7)]  # fmt: skip
    found = perfcore.iterations(write(tmp_path / "steps.json", events))
    assert found.marker == "forward ... update"
    assert found.durations.tolist() == [200, 200, 200]  # the markers of the last end after 170, as those of all do
    assert found.unusual is None


def test_replayed_ranges_are_no_states_and_launches_may_lack(tmp_path):
    events = [event("cpu_op", "f", 0, 50), event("cuda_profiler_range", "k", 10, 90, **{"ffma.sum": 7})]
    path = write(
        tmp_path / "cupti.json", [*events, {**events[1], "ts": 110}], deviceProperties=[{"id": 0, "name": "G"}]
    )
    trace = perfcore.read(path)
    assert trace.states == ("f",)
    assert trace.facts["gpu"] == "G"
    assert any("kernels were replayed to count (2 ranges)" in note for note in trace.notes)
    assert "sums of counters: ffma.sum 14" in trace.notes
    lacking = [*launched(1, "k", 0, 10, 5), event("kernel", "k", 30, 5, 7, correlation=9)]
    assert any("1 of 2 kernels" in note for note in perfcore.read(write(tmp_path / "a.json", lacking)).notes)


def test_a_clock_that_jumps_back_within_a_stream_is_warned_of(tmp_path):
    """Ten kernels, then ten more whose times begin anew: what runs at once on a stream ran one after the other."""
    events = [each for k in range(20) for each in launched(k + 1, "gemm", 100 * (k % 10), 100 * (k % 10) + 20, 50)]
    jumps = write(tmp_path / "jumps.json", events)
    [note] = [note for note in perfcore.read(jumps).notes if "jumped" in note]
    assert "'gemm' begins 900 us before one launched earlier: the clock jumped back" in note
    assert [str(n.label) for n in perfcore.profile(jumps).report().notes if "jumped" in n.text] == ["Uncertain"]
    steady = write(tmp_path / "steady.json", events[:20])
    assert not any("jumped" in note for note in perfcore.read(steady).notes)


@pytest.mark.real_data
def test_corrections_of_real_traces(real_data):
    folder = real_data / "traces" / "gpu" / "real"
    steps = perfcore.iterations(folder / "nccl_data.json.gz")
    assert (steps.count, steps.marker) == (3, "DistributedDataParallel.forward ... Optimizer.step#SGD.step")
    counted = next(note for note in perfcore.read(folder / "cupti.json.gz").notes if note.startswith("sums"))
    for name, total in {"ffma": 39142369720, "fadd": 964651656, "fmul": 430063616, "hfma": 275791872}.items():
        assert f"op_{name}_pred_on.sum {total:,}" in counted
    for name in ("vit_h100", "bert_h100"):
        assert perfcore.read(folder / f"{name}.json.gz").facts["gpu"] == "NVIDIA H100 80GB HBM3"
