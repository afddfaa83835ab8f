"""GPU work by operator, differences of traces, markers, counters and facts, by hand and by independent scripts."""

import pytest
from gpu_events import event, launched, write

import perfcore
from perfcore.base.errors import DataError, InputError, OptionError


def run(kernels, step=0):
    """Events of operators in turn, each with a launch after 5 us and a kernel of the duration 10 us later."""
    events = []
    for k, (name, duration) in enumerate(kernels):
        at = 200 * k
        events += [event("cpu_op", f"aten::{name}", at, 20), event("cuda_runtime", "launch", at + 5, 5, correlation=k)]
        events.append(event("kernel", name, at + 15, duration, 7, correlation=k))
        if step and k % step == 0:
            events.append(event("user_annotation", f"ProfilerStep#{k // step}", at, 200 * step))
    return events


def own(result, key="own_ns"):
    return {row["name"]: row[key] / 1000 for row in result.rows}


def test_own_and_total_time_of_recursive_operators(tmp_path):
    """An operator within one of its name counts once in its total; unlaunched work and launches outside have rows."""
    dims = {"Input Dims": [[2, 3], [3], []], "Input type": ["float", "c10::BFloat16", "Scalar"]}
    events = [
        event("cpu_op", "f", 0, 100, **dims), event("cpu_op", "f", 10, 50), event("cpu_op", "g", 10, 40),
        event("cuda_runtime", "launch", 12, 3, correlation=1), event("cuda_runtime", "launch", 70, 3, correlation=2),
        event("cuda_driver", "launch", 300, 3, correlation=3),
        event("kernel", "a", 20, 30, 7, correlation=1), event("kernel", "b", 80, 5, 7, correlation=2),
        event("gpu_memset", "Memset", 310, 2, 7, correlation=3), event("kernel", "c", 400, 9, 7, correlation=99),
    ]  # fmt: skip
    found = perfcore.profile(write(tmp_path / "t.json", events), by="operator")
    assert own(found) == {"g": 30, "(launched before the trace)": 9, "f": 5, "(no operator)": 2}
    assert own(found, "total_ns")["f"] == 35
    assert found.own_ns == 46_000
    assert own(perfcore.profile(tmp_path / "t.json", by="shape"))["f [[2,3],[3]] float,bfloat16"] == 5


def test_traces_that_lack_something(tmp_path):
    bare = write(tmp_path / "bare.json", [event("kernel", "k", 0, 5, 7), event("kernel", "k", 9, 5, 7)])
    assert own(perfcore.profile(bare, by="kernel")) == {"k": 10}
    with pytest.raises(DataError, match="none of its kernels, copies and memsets lasts"):
        perfcore.profile(write(tmp_path / "zero.json", [event("kernel", "k", 5, 0, 7)]))
    with pytest.raises(DataError, match="record activities"):
        perfcore.profile(bare, by="operator")
    with pytest.raises(DataError, match="no kernels"):
        perfcore.profile(write(tmp_path / "host.json", [event("cpu_op", "f", 0, 5)]), by="kernel")
    full = write(tmp_path / "full.json", run([("a", 5), ("b", 6)]))
    assert "shapes are not recorded" in perfcore.profile(full, by="shape").notes[0]
    (tmp_path / "cut.json").write_bytes(full.read_bytes()[:-150])
    assert "cut short" in perfcore.profile(tmp_path / "cut.json", by="kernel").notes[0]
    with pytest.raises(DataError, match="by='operator'"):
        perfcore.compare(bare, full, by="operator")
    assert perfcore.compare(bare, full).by == "kernel"


def test_tables_of_operators_can_be_gated(tmp_path):
    """Of two operators one takes 1.2 times as long; numbers of calls differ, and the outer one has no own time."""
    for k in range(4):
        for version, times in {"old": 1.0, "new": 1.2}.items():
            events = [event("cpu_op", "outer", 0, 500)]
            for number, (name, us) in enumerate([("mm", 100 * times), ("add", 40), ("mm", 100 * times)], 1):
                at = 100 * number
                events += [event("cpu_op", name, at, 50), *launched(number, name, at + 5, 300 * number, us + k)]
            write(tmp_path / "t.json", events)
            perfcore.profile(tmp_path / "t.json", by="operator").save(tmp_path / f"{version}{k}.csv")
    judged = perfcore.gate(str(tmp_path / "old*.csv"), str(tmp_path / "new*.csv"))
    assert dict(zip(judged.benchmarks, judged.judged.slower.tolist(), strict=True)) == {"mm": True, "add": False}
    assert judged.outcome.value == "fail"
    with pytest.raises(OptionError, match="writes one of each run"):
        perfcore.gate(tmp_path / "t.json", tmp_path / "t.json")


def test_differences_add_up_also_by_kernels_that_are_new_and_gone(tmp_path):
    old = write(tmp_path / "old.json", run([("gemm", 100)] * 4 + [("copy", 20)]))
    events = run([("gemm", 90)] * 5)
    new = write(tmp_path / "new.json", [{**e, "name": "Cijk"} if e["cat"] == "kernel" else e for e in events])
    found = perfcore.compare(old, new)
    rows = {row["name"]: row for row in found.rows}
    assert rows["aten::gemm"]["count_ns"] == 100_000
    assert rows["aten::gemm"]["each_ns"] == -50_000
    assert rows["aten::copy"]["change"] == "gone"
    assert sum(new - old for old, new in found.parts.values()) == found.elapsed[1] - found.elapsed[0] == 70_000
    other = write(tmp_path / "other.json", [{**e, "name": "K"} if e["name"] == "copy" else e for e in run(
        [("gemm", 100)] * 4 + [("copy", 30)])])  # fmt: skip
    found = perfcore.compare(old, other, by="kernel")
    changes = [(row["name"], row["change"], row["difference_ns"]) for row in found.rows]
    assert changes == [("K", "new", 30_000), ("copy", "gone", -20_000), ("gemm", "changed", 0)]
    assert found.totals == {"new": (1, 30_000), "gone": (1, -20_000), "in both": (1, 0.0)}


def test_differences_of_steps_are_welch_s_test(tmp_path):
    """By scipy, of steps of one kernel each."""
    from scipy.stats import ttest_ind

    lengths = {"old": [3, 4, 6, 1], "new": [5, 9, 8]}
    steps = {name: run([("gemm", us) for us in times], step=1) for name, times in lengths.items()}
    old, new = (write(tmp_path / f"{name}.json", events) for name, events in steps.items())
    expected = ttest_ind(lengths["new"], lengths["old"], equal_var=False)
    found = perfcore.compare(old, new, by="kernel")
    (row,) = found.rows
    interval = [1000 * (22 / 3 - 3.5), *(1000 * bound for bound in expected.confidence_interval())]
    assert row["per_step_ns"] == pytest.approx(interval)
    assert found.work_interval == pytest.approx(interval)
    assert row["p_value"] == row["p_holm"] == pytest.approx(expected.pvalue)


OPERATORS = {
    "syn/ops.json": (110, {"aten::addmm": (90, 90, 2, 3), "aten::clamp_min": (8, 8, 1, 1), "aten::relu": (0, 8, 1, 0),
                           "(launched before the trace)": (12, 12, 0, 1), "aten::linear": (0, 90, 2, 0)}),
    "real/bert_h100.json.gz": (309.437, {
        "aten::addmm": (197.598, 197.598, 26, 26), "aten::_flash_attention_forward": (37.408, 37.408, 4, 4),
        "aten::native_layer_norm": (30.912, 30.912, 10, 10), "aten::add": (14.752, 14.752, 9, 9),
        "aten::index_select": (9.824, 9.824, 3, 3), "aten::gelu": (9.599, 9.599, 5, 5),
        "aten::linear": (0, 197.598, 26, 0)}),
    "real/vit_h100.json.gz": (1225.310, {
        "aten::addmm": (735.037, 735.037, 73, 73), "aten::cudnn_convolution": (125.632, 125.632, 1, 6),
        "aten::_flash_attention_forward": (122.848, 122.848, 12, 12), "aten::conv2d": (0, 129.6, 1, 0)}),
    "real/nccl_data.json.gz": (165185.838, {
        "record_param_comms": (46876.493, 46876.493, 21, 21),
        "aten::convolution_backward": (39529.069, 39529.069, 159, 1005),
        "aten::cudnn_batch_norm_backward": (20477.579, 20477.579, 159, 159),
        "aten::max_pool2d_with_indices_backward": (1796.008, 1994.469, 3, 3)}),
}  # fmt: skip


@pytest.mark.real_data
@pytest.mark.parametrize("file", OPERATORS)
def test_operators_of_real_traces(real_data, file):
    """By hand, and by independent scripts that agree with TraceLens."""
    work, expected = OPERATORS[file]
    found = perfcore.profile(real_data / "traces" / "gpu" / file, by="operator")
    assert found.own_ns / 1000 == work
    rows = {row["name"]: row for row in found.rows}
    for name, (own_us, total_us, calls, pieces) in expected.items():
        row = rows[name]
        assert (row["own_ns"], row["total_ns"], row["calls"]) == (own_us * 1000, total_us * 1000, calls)
        assert row["pieces"] == pieces


DIFFERENCES = [
    ("syn/diff_a.json", "syn/diff_b.json", "kernel", 61, {"gemm": 80, "copy": -40, "fused": 21, "relu": 0}),
    ("real/bert_h100.json.gz", "real/bert_mi300.json.gz", "operator", 81.311, {
        "aten::_flash_attention_forward": 76.248, "aten::addmm": -23.468, "aten::gelu": 12.125,
        "aten::native_layer_norm": 8.607, "aten::add": 4.563, "aten::eq": 2.288, "aten::add_": 0.869,
        "aten::index_select": -0.766}),
    ("real/vit_h100.json.gz", "real/vit_mi300.json.gz", "operator", 490.991, {
        "aten::_flash_attention_forward": 251.839, "aten::addmm": 207.288, "aten::cudnn_convolution": -125.632,
        "aten::miopen_convolution": 46.342, "aten::add": 72.722, "aten::native_layer_norm": 28.494,
        "aten::gelu": 5.117, "aten::add_": 2.807}),
]  # fmt: skip


@pytest.mark.real_data
@pytest.mark.parametrize(("old", "new", "by", "work", "expected"), DIFFERENCES)
def test_differences_of_real_traces(real_data, old, new, by, work, expected):
    folder = real_data / "traces" / "gpu"
    found = perfcore.compare(folder / old, folder / new, by=by)
    rows = {row["name"]: round(row["difference_ns"]) for row in found.rows}
    assert {name: rows[name] / 1000 for name in expected} == expected
    assert sum(rows.values()) == round(work * 1000)


@pytest.mark.real_data
def test_kernels_and_steps(real_data):
    folder = real_data / "traces" / "gpu"
    kernels = perfcore.compare(folder / "real/bert_h100.json.gz", folder / "real/bert_mi300.json.gz", by="kernel")
    assert kernels.totals == {"new": (9, 338_123), "gone": (9, -266_941), "in both": (3, 10_129)}
    steps = perfcore.compare(folder / "syn/steps_a.json", folder / "syn/steps_b.json", by="kernel")
    rows = {row["name"]: row for row in steps.rows}
    assert [round(v / 1000, 3) for v in rows["gemm"]["per_step_ns"]] == [3.925, 2.315, 5.535]
    assert [round(v / 1000, 3) for v in rows["relu"]["per_step_ns"]] == [-0.476, -1.156, 0.204]
    assert (rows["gemm"]["real"], rows["relu"]["real"]) == (True, False)
    assert [round(v / 1000, 3) for v in steps.work_interval] == [3.450, 1.442, 5.457]


def test_kernels_of_a_graph_belong_to_what_launches_it(tmp_path):
    """One graph is launched within an operator, one outside of all: its kernels are of the launch call."""
    events = [
        event("cpu_op", "replay", 0, 50), event("cuda_runtime", "cudaGraphLaunch", 10, 5, correlation=1),
        event("cuda_runtime", "cudaGraphLaunch", 100, 5, correlation=2),
        event("cuda_runtime", "launch", 200, 5, correlation=3),
        event("kernel", "a", 20, 30, 7, correlation=1), event("kernel", "b", 60, 4, 7, correlation=1),
        event("kernel", "a", 110, 40, 7, correlation=2), event("kernel", "c", 210, 3, 7, correlation=3),
    ]  # fmt: skip
    found = perfcore.profile(write(tmp_path / "graph.json", events), by="operator")
    assert own(found) == {"cudaGraphLaunch": 40, "replay": 34, "(no operator)": 3}


def test_kernels_of_a_graph_belong_to_the_operators_that_captured_it(tmp_path):
    """Two launches while a stream is captured run as two kernels of each replay; a graph of three is not recorded."""
    events = [
        event("cuda_runtime", "cudaStreamBeginCapture", 0, 2, correlation=1),
        event("cpu_op", "aten::mm", 10, 10), event("cuda_runtime", "cudaLaunchKernel", 12, 2, correlation=2),
        event("cpu_op", "aten::relu", 30, 10), event("cuda_driver", "cuLaunchKernel", 32, 2, correlation=3),
        event("cuda_runtime", "cudaStreamEndCapture", 50, 2, correlation=4),
    ]  # fmt: skip
    for replay in range(3):
        start, number = 100 * (replay + 1), 10 + replay
        events += [event("cuda_runtime", "cudaGraphLaunch", start, 5, correlation=number),
                   event("kernel", "relu", start + 40, 7, 7, correlation=number),
                   event("kernel", "gemm", start + 20, 20, 7, correlation=number)]  # fmt: skip
    events += [event("cuda_runtime", "cudaGraphLaunch", 500, 5, correlation=20),
               *(event("kernel", "a", at, 1, 7, correlation=20) for at in (510, 520, 530))]  # fmt: skip
    found = perfcore.profile(write(tmp_path / "captured.json", events), by="operator")
    assert own(found) == {"aten::mm": 60, "aten::relu": 21, "cudaGraphLaunch": 3}


def test_groups_by_kernel_operator_and_marker(tmp_path):
    """The first group in the table counts that names fit; those of the user's table go before."""
    events = [
        event("user_annotation", "Optimizer.step#SGD.step", 0, 100), event("cpu_op", "aten::add_", 5, 20),
        *launched(1, "elementwise_kernel", 10, 20, 8), *launched(2, "ncclDevKernel_AllReduce", 110, 120, 50),
        event("cpu_op", "aten::mm", 200, 20), *launched(3, "mine", 205, 210, 7), *launched(4, "unheard", 300, 310, 2),
        *launched(5, "elementwise_kernel", 400, 410, 5),
    ]  # fmt: skip
    trace = write(tmp_path / "t.json", events)
    expected = {"collective": 50, "optimizer": 8, "GEMM": 7, "elementwise": 5, "other": 2}
    assert own(perfcore.profile(trace, by="group")) == expected
    table = tmp_path / "own.toml"
    table.write_text('[[group]]\nname = "solver"\nkernels = ["min?", "unheard"]\n')
    found = own(perfcore.profile(trace, by="group", groups=table))
    assert (found["solver"], "other" in found, "GEMM" in found) == (9, False, False)
    with pytest.raises(OptionError, match="groups= belongs to by='group'"):
        perfcore.profile(trace, by="kernel", groups=table)
    table.write_text('[[group]]\nname = "solver"\nkernel = "x"\n')
    with pytest.raises(InputError, match="kernel"):
        perfcore.profile(trace, by="group", groups=table)


def test_modules_have_own_and_total_time(tmp_path):
    events = [
        event("python_function", "nn.Module: Net_0", 0, 100), event("python_function", "nn.Module: Linear_0", 10, 30),
        event("python_function", "forward", 11, 20), event("cpu_op", "aten::mm", 12, 10),
        *launched(1, "gemm", 13, 20, 9), *launched(2, "relu", 60, 70, 4),
    ]  # fmt: skip
    found = perfcore.profile(write(tmp_path / "t.json", events), by="module")
    assert own(found) == {"nn.Module: Linear_0": 9, "nn.Module: Net_0": 4}
    assert own(found, "total_ns")["nn.Module: Net_0"] == 13
    functions = perfcore.profile(write(tmp_path / "f.json", [each for each in events if "nn.M" not in each["name"]]),
                                 by="module")  # fmt: skip
    assert own(functions) == {"forward": 9, "(no operator)": 4}
    with pytest.raises(DataError, match="with_modules=True"):
        perfcore.profile(write(tmp_path / "n.json", run([("a", 5)])), by="module")


def test_each_gpu_of_a_process_is_busy_by_itself(tmp_path):
    """100 us: the first GPU from 10 to 60 and 30 to 110, the second from 50 to 70, launched at 12."""
    second = launched(3, "gemm", 8, 50, 20)
    second[1]["pid"] = 1
    path = write(tmp_path / "two.json", [*launched(1, "gemm", 0, 10, 50), *launched(2, "gemm", 4, 30, 80, 9), *second])
    found = perfcore.profile(path, by="kernel")
    assert (found.busy_ns, found.elapsed_ns) == (120_000, 200_000)
    launches = perfcore.overheads(path, by="launch")
    idle = {"waiting for the host": 2000, "launched, not started": 38_000, "idle, launch not recorded": 0,
            "after its last work": 40_000}  # fmt: skip
    assert launches.idle_ns == idle
    assert (launches.busy_ns, launches.span_ns) == (120_000, 200_000)
    assert "device busy 60.0%" in perfcore.overheads(path).report().answer
    assert perfcore.compare(path, path).elapsed == (100_000, 100_000)


def test_a_gpu_trace_is_profiled_by_operator_unless_told_otherwise(tmp_path):
    trace = write(tmp_path / "t.json", run([("a", 5), ("b", 6)]))
    assert perfcore.profile(trace).by == "operator"
    assert perfcore.profile(trace, by="function").by == "function"
    assert perfcore.profile(trace, reading={"since": "10%"}).by == "function"
    bare = write(tmp_path / "bare.json", [event("kernel", "k", 0, 5, 7), event("kernel", "k", 9, 5, 7)])
    assert perfcore.profile(bare).by == "kernel"


def test_the_first_answer_on_a_gpu(tmp_path):
    """One GPU computes 5 and 6 of the 211 us from its first to its last piece; the host launches after 5 us."""
    trace = write(tmp_path / "t.json", run([("a", 5), ("b", 6)]))
    report = perfcore.overheads(trace).report()
    assert next(each for each in report.figures if each.name == "device busy").value == pytest.approx(11 / 206)
    assert report.answer.startswith("t.json, 206 us: device busy 5.3%, waiting for the host ")
    assert report.next.endswith("--by launch")
    longest = next(table for table in report.brief_tables if "longest operators" in table.shown()[0])
    assert [row[0] for row in longest.shown()[1]] == ["aten::b", "aten::a"]
    # The host twice as fast: between the two launches lie 200 us of the host.
    replays = {row["question"]: row["runtime_ns"] for row in perfcore.whatif(trace).to_dict()["scenarios"]}
    gains = perfcore.overheads(trace).to_dict()["remedies"]["gains"]
    assert {row["question"]: row["runtime_ns"] for row in gains}.items() <= replays.items()


def test_hundreds_of_streams_are_one_device(tmp_path):
    """A kernel of 9 us on a stream of its own every 20 us, 8 us after its launch began."""
    kernels = [launched(k, "gemm", 20 * k, 20 * k + 8, 9, 7 + k, device=0) for k in range(600)]
    profile = perfcore.overheads(write(tmp_path / "t.json", [each for pair in kernels for each in pair]))[0]
    times = dict(zip(profile.categories, profile.by_category_ns.tolist(), strict=True))
    assert times["computing"] == 600 * 9_000
    assert times["waiting for the host"] == 599 * 7_000
    assert times["launched, not started"] == 599 * 4_000


# Markers, steps, counters and facts of GPU traces.
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
    properties = [{"id": 0, "name": "G"}]
    path = write(tmp_path / "cupti.json", [*events, {**events[1], "ts": 110}], deviceProperties=properties)
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
