"""rocprofv3's JSON: the same facts as of Kineto's traces, by hand."""

import pytest
from trace_samples import pieces, rocprof_kernel, rocprof_record, rocprof_text, rocprofv3

import perfcore
from perfcore.base.errors import DataError, InputError

WAITING_FOR_HOST, NOT_STARTED = "(waiting for the host)", "(launched, not started)"


@pytest.fixture
def write(tmp_path):
    """Write the sample, after a change of its records or of the whole process."""

    def write(change=None, name="t.json", **records):
        process = rocprofv3()
        process["buffer_records"] |= records
        if change:
            change(process)
        (tmp_path / name).write_text(rocprof_text(process))
        return tmp_path / name

    return write


def test_a_stream_waits_until_launches_return(write):
    """From the copy's begin at 6 us: launches return at 9, 12 and 53 us, kernels begin at 20, 40.5 and 55 us."""
    trace = perfcore.read(write())
    assert [row[1:] for row in pieces(perfcore.read(write(), locations="stream"))] == sorted([
        ("MEMORY_COPY_HOST_TO_DEVICE", 0, 10_000), (NOT_STARTED, 10_000, 14_000), ("gemm(float*)", 14_000, 34_000),
        (NOT_STARTED, 34_000, 34_500), ("add(float*)", 34_500, 39_501), (WAITING_FOR_HOST, 39_501, 47_000),
        (NOT_STARTED, 47_000, 49_000), ("gemm(float*)", 49_000, 59_000)])  # fmt: skip
    assert trace.busy_states == ("gemm(float*)", "add(float*)")
    assert trace.markers == (("train_step", -6_000, 54_000),)
    assert trace.facts["gpu"] == "AMD Instinct MI300X"
    assert trace.facts["epoch_ns"] == 5_000_000_006_000
    threads = perfcore.read(write(), locations="thread")
    assert threads.locations == ("process 4242 / thread 4243",)
    assert "hipLaunchKernel" in threads.states


def test_work_by_kernel_operator_and_launch(write):
    path = write()
    rows = {row["name"]: (row["own_ns"], row["calls"]) for row in perfcore.profile(path, by="kernel").rows}
    assert rows == {"gemm(float*)": (30_000, 2), "add(float*)": (5_001, 1), "MEMORY_COPY_HOST_TO_DEVICE": (10_000, 1)}
    (row,) = perfcore.profile(path, by="operator").rows
    assert (row["name"], row["own_ns"], row["pieces"]) == ("train_step", 45_001, 4)
    launches = perfcore.overheads(path, by="launch")
    assert launches.idle_ns == {"waiting for the host": 7_499, "launched, not started": 6_500,
                                "idle, launch not recorded": 0}  # fmt: skip
    assert launches.streams[0]["median_delay_ns"] == 6_500


def test_markers(write):
    """Marks are no operators, ends of ranges nothing; older files call ranges pushes."""
    mark, end = rocprof_record(0, 30_000, 30_010, 9, kind=5), rocprof_record(1, 60_000, 60_100, 8, kind=5)
    push = rocprof_record(1, 0, 60_000, 1, kind=5)

    def name_mark(process):
        process["strings"]["marker_api"].append({"key": 9, "value": "half"})

    path = write(name_mark, marker_api=[push, mark, end])
    assert [name for name, *_ in perfcore.read(path).markers] == ["train_step", "half"]
    assert [row["name"] for row in perfcore.profile(path, by="operator").rows] == ["train_step"]


@pytest.mark.parametrize(("stream", "places"), [({"stream_id": {"handle": 0}}, 2), ({}, 2)])
def test_queues_stand_for_streams(write, stream, places):
    """Two kernels at once on two queues, of the stream 0, or of none."""
    kernels = [rocprof_kernel(1, 0, 10_000, 3, 1, **stream), rocprof_kernel(2, 0, 10_000, 4, 2, **stream)]
    path = write(kernel_dispatch=kernels, memory_copy=[])
    assert len(perfcore.read(path, locations="stream").locations) == places
    assert sum(row["own_ns"] for row in perfcore.profile(path, by="kernel").rows) == 20_000


def test_unknown_names_and_plain_numbers(write):
    """As converters write them: operations as texts, agents as numbers, kernels without symbols."""
    kernel = rocprof_kernel(7, 0, 10_000, 3)
    kernel["dispatch_info"] |= {"agent_id": 11}
    copy = rocprof_record("copy", 10_000, 12_000, 2, kind="H2D", dst_agent_id=11)
    trace = perfcore.read(write(kernel_dispatch=[kernel], memory_copy=[copy]), locations="stream")
    assert {"kernel 7", "copy"} <= set(trace.states)


def without_correlation(process):
    for records in process["buffer_records"].values():
        for record in records:
            record["correlation_id"] = {"internal": 0}


def test_what_is_missing_is_one_line(write, tmp_path):
    with pytest.raises(InputError, match="no kernel dispatches, copies or calls; `rocprofv3 --runtime-trace`"):
        perfcore.read(write(lambda process: process.update(buffer_records={})))
    calls = write(kernel_dispatch=[], memory_copy=[])
    assert "hipLaunchKernel" in perfcore.read(calls).states
    with pytest.raises(DataError, match=r"no kernels, copies or memsets.*rocprofv3"):
        perfcore.profile(calls, by="kernel")
    alone = write(without_correlation)
    assert any("no launches by the host" in note for note in perfcore.read(alone).notes)
    assert len(perfcore.profile(alone, by="kernel").rows) == 3
    with pytest.raises(DataError, match="--hip-trace"):
        perfcore.overheads(alone, by="launch")
    (tmp_path / "cut.json").write_text(rocprof_text()[:-900])
    with pytest.raises(InputError, match="is not JSON of rocprofv3: Input data was truncated"):
        perfcore.profile(tmp_path / "cut.json", by="kernel")
    (tmp_path / "two.json").write_text('{"rocprofiler-sdk-tool": []}')
    with pytest.raises(InputError, match="holds 0 processes"):
        perfcore.read(tmp_path / "two.json")
    late = write(kernel_dispatch=[rocprof_kernel(1, 0, 1 << 63, 3)])
    with pytest.raises(InputError, match="beyond 64 bits"):
        perfcore.read(late)


def test_compare_finds_what_each_call_adds(write):
    """Each of three kernels takes 300 ns more."""

    def slower(process):
        for record in process["buffer_records"]["kernel_dispatch"]:
            record["end_timestamp"] += 300

    found = perfcore.compare(write(), write(slower, "new.json"), by="kernel")
    rows = {row["name"]: row["difference_ns"] for row in found.rows}
    assert (rows["gemm(float*)"], rows["add(float*)"]) == (600, 300)
