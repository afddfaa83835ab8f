"""Tables of GPU profilers: nanoseconds, categories and places as in the JSON of the same run."""

import pytest
from trace_samples import sample

import perfcore
from perfcore.base.errors import InputError
from perfcore.reading.recognise import named_files

FILE, OUTSIDE = "t.csv", "(outside of all regions)"
HEAD = sample("rocprof_table").partition("\n")[0] + "\n"


def pieces_of(trace):
    """State, begin and end in microseconds of each interval, in the order of time."""
    columns = (trace.state.tolist(), (trace.start_ns // 1000).tolist(), (trace.end_ns // 1000).tolist())
    return sorted(((trace.states[s], a, b) for s, a, b in zip(*columns, strict=True)), key=lambda piece: piece[1])


def test_kernels_of_rocprofv3_are_nanoseconds_of_gpus(write):
    rows = [
        ("Agent 10", 0, "gemm", 1_000, 101_000),
        ("Agent 10", 0, "add", 111_000, 131_000),
        ("Agent 9", 0, "gemm", 1_000, 201_000),
    ]
    lines = [f'"KERNEL_DISPATCH","{a}",1,{s},7,"{k}",{n},{b},{e}' for n, (a, s, k, b, e) in enumerate(rows, 1)]
    path = write(HEAD + "\n".join(lines) + "\n")
    trace = perfcore.read(path)
    assert len(trace.locations) == 2
    assert trace.span_ns == (0, 200_000)
    assert trace.facts["gpu"] == "Agent 10, Agent 9"
    rows = {row["name"]: (row["own_ns"], row["calls"]) for row in perfcore.profile(path, by="kernel").rows}
    assert rows == {"gemm": (300_000, 2), "add": (20_000, 1)}


def test_events_of_nsys_stats(write):
    """Streams of one GPU are one processor, copies are told by their brackets, and units by the headings."""
    trace = perfcore.read(write(
        "Start (us),Duration (us),CorrId,GrdX,Device,Ctx,Strm,Name\n"
        '1000.5,20,11,1,NVIDIA H100 (0),1,7,"gemm<float, 128>"\n'
        "1030.5,10,12,,NVIDIA H100 (0),1,13,[CUDA memcpy Host-to-Device]\n",
    ))  # fmt: skip
    assert trace.span_ns == (0, 40_000)
    assert len(trace.locations) == 1
    assert trace.busy_states == ("gemm<float, 128>",)


def test_calls_next_to_the_events_of_nsys_stats_launch_them(tmp_path):
    """The GPU is idle from 30 to 60 us: the launch returns at 50 us."""
    (tmp_path / "run_cuda_gpu_trace.csv").write_text(
        "Start (ns),Duration (ns),CorrId,GrdX,Device,Ctx,Strm,Name\n"
        "10000,20000,1,1,NVIDIA H100 (0),1,7,gemm\n60000,40000,2,1,NVIDIA H100 (0),1,7,gemm\n"
    )
    (tmp_path / "run_cuda_api_trace.csv").write_text(
        "Start (ns),Duration (ns),Name,Result,CorrID,Pid,Tid,T-Pri,Thread Name\n"
        "0,5000,cudaLaunchKernel,0,1,9,9,20,run\n45000,5000,cudaLaunchKernel,0,2,9,9,20,run\n"
    )
    calls = perfcore.read(tmp_path / "run_cuda_api_trace.csv")  # alone: the thread computes between them
    assert pieces_of(calls) == [("cudaLaunchKernel", 0, 5), (OUTSIDE, 5, 45), ("cudaLaunchKernel", 45, 50)]
    assert calls.busy_states == (OUTSIDE,)
    for path in (tmp_path / "run_cuda_gpu_trace.csv", tmp_path):
        answer = perfcore.overheads(path).report().answer
        assert "device busy 66.7%, waiting for the host 22.2%, launched but not started 11.1%" in answer


def test_what_nsys_stats_says_above_its_table_is_passed_over(write):
    said = "\nNOTICE: Existing SQLite export found: x.sqlite\n\nProcessing [x.sqlite] with [cuda_gpu_trace.py]... \n"
    head = "Start (ns),Duration (ns),CorrId,GrdX,Device,Ctx,Strm,Name\n"
    path = write(f"{said}{head}10,30,1,,A100 (0),1,7,[CUDA memcpy Host-to-Device]\n50,10,2,1,A100 (0),1,7,gemm\n")
    assert "device busy 80.0% (exposed copies 60.0%), idle 20.0%" in perfcore.overheads(path).report().answer


def test_nvprof_has_a_line_of_units(write):
    """In us: a copy of 1.5 from 10 on, and a kernel of 2.5 that begins at 12.5, so 4 of 5 us."""
    head = '"Start","Duration","Grid X","Size","Device","Stream","Name"\nus,us,,KB,,,\n'
    rows = '10.000,1.500,,4.0,"A (0)","7","[CUDA memcpy HtoD]"\n12.500,2.500,1,,"A (0)","7","gemm(float*, int)"\n'
    answer = perfcore.overheads(write(f"======== Profiling result:\n{head}{rows}")).report().answer
    assert "device busy 80.0% (exposed copies 30.0%), idle 20.0%" in answer


def test_a_row_without_a_time_is_refused_with_its_line(write):
    with pytest.raises(InputError, match=r"t.csv:2: Start_Timestamp 'x' is no whole number of nanoseconds"):
        perfcore.read(write(HEAD + '"KERNEL_DISPATCH","Agent 1",1,0,7,"k",1,x,5\n'))


@pytest.mark.parametrize(("head", "row"), [
    ("Time (%),Total Time (ns),Instances,Avg (ns),Name", "60.0,{},{},1.5,{}"),
    ('"Name","Calls","TotalDurationNs","AverageNs","Percentage"', '"{2}",{1},{0},1.5,60.0'),
])  # fmt: skip
def test_sums_by_kernel_are_a_profile(write, head, row):
    for ranks, time in ((1, 800), (2, 500), (4, 300)):
        text = "\n".join([head, row.format(time, 20, "gemm"), row.format(10 * ranks, 5, "nccl")]) + "\n"
        path = write(text, f"run_p{ranks}.csv")
    data = perfcore.read(str(path.with_name("run_p*.csv")), from_name="run_p{p:int}.csv")
    assert data.roles.category == ("kernel",)
    assert data.roles.unit == "ns"
    times = data.table.set_index(["p", "kernel"])["time"]
    assert (times[4, "gemm"], times[2, "nccl"]) == (300, 20)
    [gemm, nccl] = (result := perfcore.profile(path)).rows  # of the last
    assert result.report().figures[0].value == pytest.approx(300 / 340)
    assert [(row["name"], row["own_ns"], row["calls"]) for row in (gemm, nccl)] == [("gemm", 300, 20), ("nccl", 40, 5)]


CALLS = '"Domain","Function","Process_Id","Thread_Id","Correlation_Id","Start_Timestamp","End_Timestamp"\n'
COPIES = (
    '"Kind","Direction","Source_Agent_Id","Destination_Agent_Id","Correlation_Id","Start_Timestamp","End_Timestamp"\n'
)


def process(write, name="77_", launched=True):
    """Tables of one process: a copy to the GPU, a kernel, a copy back; a range around them; agents are numbers."""
    copies = [("HOST_TO_DEVICE", 0, 1, 1, 6_000, 16_000), ("DEVICE_TO_HOST", 1, 0, 3, 70_000, 90_000)]
    calls = [("hipMemcpyAsync", 1, 0, 4_000), ("hipLaunchKernel", 2, 20_000, 24_000), ("hipMemcpy", 3, 30_000, 92_000)]
    if launched:
        write(CALLS + "".join(f'"HIP_RUNTIME_API","{f}",77,77,{c},{s},{e}\n' for f, c, s, e in calls),
              f"{name}hip_api_trace.csv")  # fmt: skip
        write(CALLS + '"MARKER_CORE_API","step",77,77,9,0,95000\n', f"{name}marker_api_trace.csv")
    write(COPIES + "".join(f'"MEMORY_COPY","{way}",{a},{b},{c},{s},{e}\n' for way, a, b, c, s, e in copies),
          f"{name}memory_copy_trace.csv")  # fmt: skip
    write('"Node_Id","Logical_Node_Id","Agent_Type","Name"\n0,0,"CPU","EPYC"\n', f"{name}agent_info.csv")
    write('"Name","Calls","TotalDurationNs","AverageNs"\n"gemm",1,40000,40000\n', f"{name}kernel_stats.csv")
    return write(HEAD + '"KERNEL_DISPATCH",1,1,0,77,"gemm",2,26000,66000\n', f"{name}kernel_trace.csv")


def test_tables_of_one_process_are_one_trace(write, tmp_path):
    """Busy 70 of 84 us; the host waits for the copy back, of which no stream says what it waits for."""
    for path in (process(write), tmp_path):
        answer = perfcore.overheads(path).report().answer
        assert "device busy 83.3% (exposed copies 35.7%), waiting for the host 14.3%" in answer
        assert perfcore.whatif(path, compute=["gpu=2"]).scenarios[0].runtime_ns == 95_000 - 10_000
        assert {row["name"]: row["own_ns"] for row in perfcore.profile(path).rows} == {"step": 70_000}
    assert perfcore.read(tmp_path).markers == (("step", -6000, 89_000),)


def test_processes_next_to_each_other_and_unfinished_names_stay_apart(write, tmp_path):
    """A copy back has the CPU, whose agent is a number, as its destination: it is work of the one GPU."""
    process(write, "77_", launched=False)
    process(write, "77_1_", launched=False)
    assert len(perfcore.read(tmp_path / "77_memory_copy_trace.csv", locations="stream").locations) == 1
    assert [path.name for path in named_files(str(tmp_path))] == ["77_1_kernel_trace.csv", "77_kernel_trace.csv"]


@pytest.mark.parametrize("text", [
    "Start(nsec),Duration(nsec),CorrId,GrdX,Device,Ctx,Strm,Name\n"  # of nsys before 2022
    "1000,4000,1,1,NVIDIA A100 (0),1,7,gemm\n6000,1000,2,,NVIDIA A100 (0),1,7,[CUDA memcpy HtoD]\n",
    '"Index","KernelName","gpu-id","queue-id","pid","DispatchNs","BeginNs","EndNs","DurationNs"\n'  # of rocprof
    '0,"gemm",1,0,9,500,1000,5000,4000\n1,"__amd_rocclr_copyBuffer.kd",1,0,9,600,6000,7000,1000\n',
])  # fmt: skip
def test_tables_of_earlier_profilers_are_traces_of_gpus(write, text):
    path = write(text)
    answer = perfcore.overheads(path).report().answer
    assert answer.startswith("t.csv, 6 us: device busy 83.3% (exposed copies 16.7%), idle 16.7%")
    assert perfcore.profile(path).rows[0]["own_ns"] == 4000


PRINTED = sample("nsys_printed")


def test_what_nsys_stats_prints(tmp_path):
    """Kernels of all tables, in microseconds with commas between thousands."""
    (tmp_path / "stats.txt").write_text(PRINTED)
    rows = perfcore.profile(tmp_path / "stats.txt").rows
    assert [(row["name"], row["own_ns"], row["calls"]) for row in rows] == [
        ("axpy(int, float *)", 3_000_500, 100), ("void dot<float>(int)", 1_000_000, 50),
    ]  # fmt: skip
    (tmp_path / "cut.txt").write_text(PRINTED.replace("50      20.0  void dot<float>(int)", ""))
    with pytest.raises(InputError, match=r"cut.txt:14: has 2 fields for 5 columns; cut short\?"):
        perfcore.read(tmp_path / "cut.txt")
