"""FLOP, bytes and rates of operators: by hand and real traces; exports of Nsight Systems answer as PyTorch's traces."""

import pytest
from gpu_events import event, launched, write, write_nsight

import perfcore
from perf_io.traces.gpu_activity import read_gpu_activity
from perfcore.base.errors import DataError, OptionError


def call(name, dims, concrete=(), kind="c10::Half"):
    told = {"Input Dims": dims, "Input type": [kind] * len(dims), "Concrete Inputs": list(concrete)}
    return event("cpu_op", name, 0, 30, **told)


def profiled(path, operator, peak=None):
    """The row of an operator that launches a kernel."""
    trace = write(path / "t.json", [operator, *launched(1, "k", 5, 40, 10)])
    (row,) = perfcore.profile(trace, by="shape", peak=peak).rows
    return row


CONV = [[2, 4, 8, 8], [6, 2, 3, 3], [6], [], [], [], []]
HAND = {
    "mm": (call("aten::mm", [[3, 4], [4, 5]]), 120, 2 * (12 + 20 + 15)),
    "addmm": (call("aten::addmm", [[5], [3, 4], [4, 5]]), 135, 2 * (5 + 12 + 20 + 15)),
    "bmm": (call("aten::bmm", [[7, 3, 4], [7, 4, 5]], kind="float"), 840, 4 * 7 * 47),
    "grouped, strided": (call("aten::conv2d", CONV, ["", "", "", "[2, 2]", "[1, 1]", "[1, 1]", "2"]),
                         2 * (2 * 6 * 4 * 4) * 2 * 9, 2 * (512 + 108 + 6 + 192)),
    "dilated": (call("aten::conv2d", CONV, ["", "", "", "1", "[0]", "[2, 2]", "2"]),
                2 * (2 * 6 * 4 * 4) * 18, 2 * (512 + 108 + 6 + 192)),
    "same": (call("aten::conv2d", CONV, ["", "", "", "[1, 1]", "same", "[1, 1]", "2"]),
             2 * (2 * 6 * 8 * 8) * 18, 2 * (512 + 108 + 6 + 768)),
    "transposed": (call("aten::convolution", [[1, 4, 5, 5], [4, 3, 2, 2], []], [
        "", "", "", "[2, 2]", "[0, 0]", "[1, 1]", "True", "[0, 0]", "1"]), 2 * 100 * 12, 2 * (100 + 48 + 300)),
    "one gradient": (call("aten::convolution_backward", [[2, 6, 4, 4], *CONV[:2]], [
        *[""] * 4, "[2, 2]", "[1, 1]", "[1, 1]", "False", "[0, 0]", "2", "[False, True, False]"]),
        2 * 192 * 18, 2 * (192 + 512 + 108 + 108)),
    "two gradients": (call("aten::convolution_backward", [[2, 6, 4, 4], *CONV[:2]], [
        *[""] * 4, "[2, 2]", "[1, 1]", "[1, 1]", "False", "[0, 0]", "2", "[True, True, False]"]),
        4 * 192 * 18, 2 * (192 + 512 + 108 + 512 + 108)),
    "causal": (call("aten::_flash_attention_forward", [[2, 10, 3, 8]] * 3, [*[""] * 8, "True"]),
               4 * 2 * 3 * 100 * 8 // 2, 4 * 2 * 480),
    "library": (call("flash_attn::_flash_attn_forward", [[2, 10, 3, 8], [2, 5, 1, 8], [2, 5, 1, 8]], [
        *[""] * 3, "0.", "0.1", "True", "-1", "-1"]), 4 * 2 * 3 * 50 * 8 // 2, 2 * (480 + 80 + 80 + 480)),
    "library, backward": (call("aiter::_flash_attn_backward", [[2, 10, 3, 8]] * 5, [*[""] * 12, "True"]),
                          5 * 4 * 2 * 3 * 100 * 8 // 4, 8 * 2 * 480),
    "backward": (call("aten::_scaled_dot_product_cudnn_attention_backward", [[2, 3, 10, 8]] * 4, [""] * 14 + ["False"]),
                 5 * 4 * 2 * 3 * 100 * 8 // 2, 8 * 2 * 480),
}  # fmt: skip


@pytest.mark.parametrize("name", HAND)
def test_flop_and_bytes_by_hand(tmp_path, name):
    operator, flop, moved = HAND[name]
    row = profiled(tmp_path, operator)
    assert (row["flop"], row["moved_bytes"], row["type"]) == (flop, moved, "fp32" if name == "bmm" else "fp16")


@pytest.mark.parametrize("operator", [
    call("aten::conv2d", CONV), call("aten::mm", [[3], [4, 5]]), call("aten::mm", [[3, 4], [4, 5]], kind="unknown"),
    event("cpu_op", "aten::mm", 0, 30, **{"Input Dims": "{"}),
])  # fmt: skip
def test_what_cannot_be_known_is_left_out(tmp_path, operator):
    assert "flop" not in profiled(tmp_path, operator)


PEAK = "bf16=2TFLOP/s, tf32=1000 GFLOPS, 10GB/s"


@pytest.mark.parametrize(("kind", "n", "peak", "bound"), [
    ("c10::BFloat16", 300, PEAK, 1e12),  # 100 FLOP each byte: of memory
    ("c10::BFloat16", 3000, PEAK, 2e12), ("float", 6 * 10**6, PEAK, 1e12), ("c10::Half", 3, PEAK, None),
    ("c10::Half", 9, "10GB/s", 3e10),
])  # fmt: skip
def test_roofs(tmp_path, kind, n, peak, bound):
    """A product of square matrices of n rows has 2 n^3 FLOP, and 3 n^2 numbers are moved."""
    row = profiled(tmp_path, call("aten::mm", [[n, n], [n, n]], kind=kind), peak)
    assert row["roof_flop_s"] == (bound and pytest.approx(bound))
    assert row["share_of_roof"] == (bound and pytest.approx(2 * n**3 / 1e-5 / bound))


def test_a_peak_without_its_unit_is_refused(tmp_path):
    with pytest.raises(OptionError, match="expected"):
        profiled(tmp_path, call("aten::mm", [[3, 3], [3, 3]]), "989")


def test_nested_operators_count_once(tmp_path):
    """The outermost convolution, and the attention that launches."""
    told = {"Input Dims": CONV, "Input type": ["float"] * 3, "Concrete Inputs": ["", "", "", "1", "1", "1", "2"]}
    again = {**told, "Concrete Inputs": [*told["Concrete Inputs"][:6], "False", "0", "2"]}
    events = [event("cpu_op", "aten::conv2d", 0, 30, **told), event("cpu_op", "aten::convolution", 1, 20, **again)]
    events += [*launched(1, "conv", 5, 40, 10), *launched(2, "bias", 24, 60, 5)]
    rows = perfcore.profile(write(tmp_path / "t.json", events), by="shape", peak="1TFLOP/s").rows
    (rated,) = [row for row in rows if row.get("flop")]
    assert rated["name"].startswith("aten::conv2d")
    assert rated["flop_ns"] == 15_000


REAL = {  # TFLOP/s by shape, and of all together
    "bert_h100": {"[[512],[141,512],[512,512]]": 12.743, "[[30522],[141,512],[512,30522]]": 106.860,
                  "[[1,141,8,64],[1,141,8,64],[1,141,8,64]]": 4.354, "": 34.89},
    "vit_h100": {"[[768],[788,768],[768,768]]": 111.862, "[[3072],[788,768],[768,3072]]": 268.012,
                 "aten::conv2d [[4,3,224,224],[768,3,16,16],[768]]": 7.136,
                 "[[4,197,12,64],[4,197,12,64],[4,197,12,64]]": 46.583},
}  # fmt: skip


@pytest.mark.real_data
@pytest.mark.parametrize("file", REAL)
def test_rates_of_real_traces(real_data, file):
    """By an independent script that agrees with TraceLens."""
    path = real_data / "traces" / "gpu" / "real" / f"{file}.json.gz"
    found = perfcore.profile(path, by="shape", peak="bf16=989.4TFLOP/s,3.35TB/s")
    rated = [row for row in found.rows if row.get("flop")]
    for shape, rate in REAL[file].items():
        if not shape:
            total = sum(row["flop"] for row in rated) / sum(row["flop_ns"] for row in rated) / 1000
            assert round(total, 2) == rate
            continue
        (row,) = [row for row in rated if shape in row["name"]]
        assert round(row["flop_s"] / 1e12, 3) == rate
    first = next(row for row in found.rows if "[[512],[141,512],[512,512]]" in row["name"] or file != "bert_h100")
    if file == "bert_h100":
        assert (first["flop"], first["moved_bytes"], first["calls"]) == (17 * 73996800, 17 * 814080, 17)
        assert round(first["flop_per_byte"], 2) == 90.90
        assert [round(first["roof_flop_s"] / 1e12, 1), round(first["share_of_roof"], 3)] == [304.5, 0.042]


# Exports of Nsight Systems answer as PyTorch's trace of the same run does.
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
