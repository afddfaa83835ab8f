"""Tables of GPU profilers: nanoseconds, categories and places as in the JSON of the same run."""

import pytest
from trace_samples import sample

import perfcore
from perfcore.base.errors import InputError

FILE = "t.csv"
HEAD = sample("rocprof_table").partition("\n")[0] + "\n"


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
