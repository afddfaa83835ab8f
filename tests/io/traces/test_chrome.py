"""Chrome's trace events: times to the nanosecond, streams and threads, names, and what is no such trace."""

import gzip
import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from trace_samples import CHROME, KINETO, pieces

import perfcore
from perfcore.base.errors import InputError

FILE = "trace.json"
WAITING_FOR_HOST, NOT_STARTED = "(waiting for the host)", "(launched, not started)"
WITHOUT_LAUNCHES = "no launches by the host: idle streams do not tell whether they wait for it"
X = {"ph": "X", "pid": 1, "tid": 1, "name": "run", "cat": "cpu"}


@pytest.fixture
def read(read):
    def read_events(document, **options):
        return read(document if isinstance(document, str) else json.dumps(document), reader="chrome", **options)

    return read_events


def test_threads_with_nested_regions_and_names(read):
    trace = read(CHROME)
    main = "solver 7 / main 8"
    assert pieces(trace) == [
        (main, "MPI_Recv", 501, 2501), (main, "step", 0, 501), (main, "step", 2501, 4250),
        ("solver 7 / thread 9", '},{"ph"', 500, 3500),
    ]  # fmt: skip
    assert set(trace.busy_states) == {"step", '},{"ph"'}
    assert "times count from the first event, at 10.500 us" in trace.notes
    assert "1 events of kind i passed over" in trace.notes


def test_streams_of_gpus_compute_in_kernels(read):
    trace = read(KINETO, locations="stream")
    stream = "GPU 0 / stream 7"
    assert pieces(trace) == [(stream, "Memcpy HtoD", 25_000, 30_000), (stream, "gemm", 0, 20_000)]
    assert read(KINETO).locations == ("GPU 0",)
    assert trace.busy_states == ("gemm",)
    assert "the array of events has no end: the tracer was stopped" in trace.notes
    assert read(KINETO, locations="thread").states == ("aten::mm",)
    assert len(read(KINETO, locations="both").locations) == 2


@pytest.mark.parametrize("with_streams", [True, False])
def test_lanes_of_a_device_of_jax_that_repeat_its_streams_are_passed_over(read, with_streams):
    titles = ["Steps", "XLA Modules", "XLA Ops", *(["Stream #13(Compute)"] if with_streams else [])]
    about = [{"ph": "M", "pid": 3, "name": "process_name", "args": {"name": "/device:GPU:1"}}]
    events = [{"ph": "X", "pid": 701, "tid": 1, "name": "PjitFunction", "ts": 0, "dur": 9}]
    for tid, title in enumerate(titles):
        about.append({"ph": "M", "pid": 3, "tid": tid, "name": "thread_name", "args": {"name": title}})
        events += [{"ph": "X", "pid": 3, "tid": tid, "name": "fusion.1", "ts": ts, "dur": 2} for ts in (10, 14)]
    trace = read({"traceEvents": [*about, *events]})
    assert trace.locations == ("GPU 1",)
    assert [(state, start, end) for _, state, start, end in pieces(trace) if state == "fusion.1"] == [
        ("fusion.1", 0, 2_000), ("fusion.1", 4_000, 6_000)
    ]  # fmt: skip
    assert read({"traceEvents": [*about, *events]}, locations="thread").states == ("PjitFunction",)


def of_rocprof(name, pid, tid, begin, end):
    """As rocprof v1 writes it: numbers are texts, in whole microseconds, with nanoseconds in the arguments."""
    args = {"BeginNs": str(begin), "EndNs": str(end), "dev-id": "1", "stream-id": "3", "pid": "900", "tid": str(tid)}
    return {"ph": "X", "name": name, "pid": str(pid), "tid": str(tid), "ts": str(begin // 1000),
            "dur": str(end // 1000 - begin // 1000), "args": args}  # fmt: skip


def test_processes_of_rocprof_are_gpus_and_flows_their_launches(tmp_path):
    """By hand, in us: a copy until 30, a launch that returns at 50, its kernel from 60 to 100."""
    titles = {2: "CPU HIP API", 1: "COPY", 7: "GPU1"}
    named = [{"ph": "M", "pid": pid, "name": "process_name", "args": {"name": name}} for pid, name in titles.items()]
    work = [
        of_rocprof("hipMemcpy", 2, 900, 9_000, 31_500),
        of_rocprof("CopyHostToDevice", 1, 0, 10_400, 30_400),
        of_rocprof("hipLaunchKernel", 2, 900, 40_400, 50_400),
        of_rocprof("stencil(int)", 7, 3, 60_400, 100_400),
    ]
    flows = [{"ph": "s", "id": 0, "pid": 2, "tid": 900, "ts": 50, "cat": "DataFlow", "name": "dep"},
             {"ph": "t", "id": 0, "pid": 7, "tid": 3, "ts": 60, "cat": "DataFlow", "name": "dep"}]  # fmt: skip
    path = tmp_path / "results.json"
    path.write_text(json.dumps({"traceEvents": [{}, *named, *work, *flows]}))
    trace = perfcore.read(path)
    assert [(state, start, end) for _, state, start, end in pieces(trace)] == [
        (NOT_STARTED, 40_000, 50_000), (WAITING_FOR_HOST, 20_000, 40_000), ("CopyHostToDevice", 0, 20_000),
        ("stencil(int)", 50_000, 90_000),
    ]  # fmt: skip
    assert (trace.locations, trace.busy_states) == (("GPU 1",), ("stencil(int)",))
    states = perfcore.read(path, locations="thread").states
    assert states == ("hipMemcpy", "hipLaunchKernel", "(outside of all regions)")
    # The kernel waits for its launch, from 9 us on: 41.4 us of the host, 10 of launching, 40 of the kernel.
    found = perfcore.whatif(path)
    assert {each.question: each.runtime_ns for each in found.scenarios}["GPU 2x faster"] == found.runtime_ns - 20_000


def test_collectives_are_no_computation_and_annotations_no_states(read):
    stream = {**X, "cat": "kernel"}
    events = [
        {**stream, "ts": 0, "dur": 2, "name": "gemm"},
        {**stream, "ts": 2, "dur": 2, "name": "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgs<4096ul>)"},
        {**X, "cat": "gpu_user_annotation", "ts": 0, "dur": 9, "name": "forward"},
        {**X, "cat": "user_annotation", "pid": 9, "ts": 0, "dur": 9, "name": "nccl:all_reduce"},
        {**X, "pid": 9, "ts": 0, "dur": 9, "name": "ProfilerStep#3"},
        {**X, "pid": 9, "ts": 1, "dur": 2, "name": "aten::mm"},
    ]
    trace = read(events)
    assert trace.busy_states == ("gemm",)
    assert len(trace.states) == 2
    assert "annotations (gpu_user_annotation, user_annotation) are markers, no states" in trace.notes
    assert read(events, locations="thread").states == ("aten::mm",)


def correlated(number, **event):
    return {**X, **event, "args": {"stream": 7, "correlation": number}}


def test_gaps_of_streams_wait_for_the_host_until_the_launch_has_returned(read):
    """A gap of 20 us before the second kernel, whose launch returns after 12; a copy, launched long before."""
    call, work = {"cat": "cuda_runtime", "pid": 40, "tid": 41, "name": "cudaLaunchKernel"}, {"cat": "kernel"}
    events = [
        correlated(1, **call, ts=0, dur=4), correlated(2, **call, ts=28, dur=4), correlated(3, **call, ts=33, dur=1),
        correlated(1, **work, ts=10, dur=10, name="gemm"), correlated(2, **work, ts=40, dur=10, name="gemm"),
        correlated(3, cat="gpu_memcpy", ts=55, dur=5, name="Memcpy HtoD"),
        correlated(4, **work, ts=70, dur=5, name="of an unknown launch"),
    ]  # fmt: skip
    stream = read(events, locations="stream")
    assert [piece[1:] for piece in pieces(stream)] == [
        (NOT_STARTED, 22_000, 30_000), (NOT_STARTED, 40_000, 45_000), (WAITING_FOR_HOST, 10_000, 22_000),
        ("Memcpy HtoD", 45_000, 50_000), ("gemm", 0, 10_000), ("gemm", 30_000, 40_000),
        ("of an unknown launch", 60_000, 65_000),
    ]  # fmt: skip
    assert stream.busy_states == ("gemm", "of an unknown launch")
    assert stream.levels["process"] == ["process 40"]
    assert WITHOUT_LAUNCHES not in stream.notes
    assert WITHOUT_LAUNCHES in read([event for event in events if event["cat"] != "cuda_runtime"]).notes


# Decimal digits as tracers print them: microseconds with up to three decimals, from 1970 as well as from the start.
times = st.integers(0, 2 * 10**18)


@settings(max_examples=12)
@given(start=times, more=st.lists(st.integers(0, 10**9), min_size=4, max_size=16))
def test_times_are_exact_to_the_nanosecond(tmp_path_factory, start, more):
    path = tmp_path_factory.mktemp("exact") / "t.json"
    starts = [start + 10**10 * place for place in range(len(more))]

    def us(time):
        return f"{time // 1000}.{time % 1000:03d}" if time % 1000 else str(time // 1000)

    events = [
        f'{{"ph":"X","pid":0,"tid":{place},"ts":{us(time)},"dur":{us(duration + 1)}}}'
        for place, (time, duration) in enumerate(zip(starts, more, strict=True))
    ]
    path.write_text("[" + ",\n".join(events) + "]")
    trace = perfcore.read(path, reader="chrome")
    assert sorted(trace.start_ns.tolist()) == [time - start for time in starts]
    assert (trace.end_ns - trace.start_ns).sum() == sum(more) + len(more)


def chrome_file(folder, events, **layout):
    path = folder / "trace.json"
    path.write_text(json.dumps(events, **layout))
    return perfcore.read(path, reader="chrome")


rows = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 20), st.integers(0, 9)), min_size=1, max_size=12)


@settings(max_examples=30)
@given(rows=rows.filter(lambda rows: any(length for *_, length in rows)))
def test_every_moment_belongs_to_what_began_last(tmp_path_factory, rows):
    events = [
        {"ph": "X", "pid": 0, "tid": tid, "ts": start, "dur": length, "name": str(number)}
        for number, (tid, start, length) in enumerate(rows)
    ]
    trace = chrome_file(tmp_path_factory.mktemp("latest"), events)
    first = min(start for _, start, length in rows)
    for tid in {tid for tid, *_ in rows}:
        for moment in range(30):
            mine = [(start, -length, n) for n, (t, start, length) in enumerate(rows) if t == tid]
            running = [row for row in mine if row[0] <= moment < row[0] - row[1]]
            at = (moment - first) * 1000
            here = [name.endswith(f"thread {tid}") for name in trace.locations]
            held = np.array(here)[trace.location] & (trace.start_ns <= at) & (at < trace.end_ns)
            expected = [str(max(running)[2])] if running else []
            assert [trace.states[code] for code in trace.state[held]] == expected


values = st.recursive(
    st.integers() | st.text(alphabet='}{],["\\:a \n', max_size=12) | st.none(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["ph", "a", "},{"]), inner, max_size=3),
    max_leaves=8,
)
EVENT = {"ph": "X", "pid": 0, "tid": 0, "dur": 1}


@settings(max_examples=25)
@given(
    arguments=st.lists(values, min_size=1, max_size=12),
    indent=st.sampled_from([None, 0, 2]),
    before=st.dictionaries(st.text(max_size=3), values, max_size=2),
    size=st.integers(1, 200),
)
def test_events_come_whole_whatever_pieces_the_file_is_read_in(tmp_path_factory, arguments, indent, before, size):
    before.pop("traceEvents", None)
    events = [EVENT | {"ts": 2 * place, "x": value} for place, value in enumerate(arguments)]
    document = {**before, "other": {"traceEvents": [{"no": 1}]}, "traceEvents": events, "tail": [{"ph": 2}, {"ph": 3}]}
    folder = tmp_path_factory.mktemp("pieces")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("perf_io.traces.json_array._PIECE_BYTES", size)
        for content in (events, document):
            trace = chrome_file(folder, content, indent=indent)
            assert trace.start_ns.tolist() == [2000 * place for place in range(len(events))]


def test_pieces_end_where_other_events_begin_than_the_first_does(read, monkeypatch):
    """Metadata begins with its name, and events with their phase: a piece is not all that follows."""
    monkeypatch.setattr("perf_io.traces.json_array._LARGEST_BYTES", 1 << 19)
    rows = [{"name": "thread_name", "ph": "M", "pid": 1, "tid": 1, "args": {"name": "main"}}]
    rows += [X | {"ts": 2 * k, "dur": 1, "args": {"text": "." * 1000}} for k in range(1600)]
    assert read({"traceEvents": rows}).n_intervals == 1600


def test_begin_and_end_in_any_order_of_the_file(read):
    rows = [
        {"ph": "E", "pid": 1, "tid": 1, "ts": 9}, {"ph": "B", "pid": 1, "tid": 1, "ts": 5, "name": "inner"},
        {"ph": "B", "pid": 1, "tid": 2, "ts": 6, "name": "open"},
        {"ph": "B", "pid": 1, "tid": 1, "ts": 1, "name": "outer"}, {"ph": "E", "pid": 1, "tid": 1, "ts": 7},
        {"ph": "E", "pid": 1, "tid": 3, "ts": 8}, {"ph": "E", "pid": 1, "tid": 3, "ts": 8},
        {"ph": "X", "pid": 1, "tid": 2, "ts": 7, "dur": 1, "name": "whole"},
    ]  # fmt: skip
    trace = read(rows)
    one = "process 1 / thread 1"
    found = [row[1:] for row in pieces(trace) if row[0] == one]
    assert found == [("inner", 4000, 6000), ("outer", 0, 4000), ("outer", 6000, 8000)]
    # Two ends alone, and a beginning alone, which lasts until the end of the trace.
    assert "warning: 1 begin events have no end: they last until the end of the trace" in trace.notes
    assert "2 end events without a begin passed over" in trace.notes


@pytest.mark.parametrize("word", ["NaN", "-Infinity", "inf", "nan"])
def test_numbers_that_json_does_not_have_are_read_as_missing(read, word):
    event = '{"ph": "X", "pid": 1, "tid": 1, "name": "a", "ts": %s, "dur": %s, "args": {"rate (nan, inf)": %s}}'
    rows = [event % (10, 5, word), event % (word, 5, 1), event % (20, word, 1), event % (30, 5, 1)]
    trace = read('{"traceEvents": [' + ",\n".join(rows) + f'], "x": {word}}}')
    assert [row[2:] for row in pieces(trace)] == [(0, 5_000), (20_000, 25_000)]
    assert "warning: NaN and inf, which JSON does not have, are read as missing" in trace.notes
    assert any(note.startswith("warning: left out, without a time") and ": 2 events" in note for note in trace.notes)


def test_an_event_of_negative_duration_is_left_out_and_named(read):
    rows = [{**X, "ts": 1000, "dur": 100}, {**X, "name": "bad", "ts": 1200, "dur": -5}, {**X, "ts": 1400, "dur": 100}]
    trace = read({"traceEvents": rows})
    assert [row[2:] for row in pieces(trace)] == [(0, 100_000), (400_000, 500_000)]
    assert any("1 events (the first: 'bad' at 1200 us, duration -5 us)" in note for note in trace.notes)


def test_a_kernel_that_lasts_beyond_the_next_ones_of_its_stream_is_clipped(read):
    rows = [(0, 100), (100, 1_600_000), (220, 100), (330, 50), (400, 100)]
    events = [
        *({**X, "cat": "kernel", "name": f"k{start}", "ts": start, "dur": length} for start, length in rows),
        *({**X, "cat": "cpu_op", "name": "call", "ts": start, "dur": length} for start, length in rows),
        {**X, "cat": "kernel", "name": "other", "tid": 2, "ts": 0, "dur": 490},
    ]
    trace = read(events, locations="stream")
    on_first = [(name, start // 1000, end // 1000) for place, name, start, end in pieces(trace) if "stream 1" in place]
    assert sorted(row[1:] for row in on_first) == [(0, 100), (100, 220), (220, 320), (330, 380), (400, 500)]
    assert any("1 outlast the next" in n and "'k100' at 100 us, by 1.59988 s" in n for n in trace.notes)
    assert not any("outlast" in note for note in read(events, locations="thread").notes)


@pytest.mark.parametrize(("document", "problem"), [
    ('{"traceEvents": [\n{"ph": "X", "ts": 1, "dur": 1},\n{"ph": "X", "ts": x}]}', r":3: is no JSON: .*invalid"),
    ('{"traceEvents": [\n{"ph": "X", "ts": 1},\n{"ph": "X", "ts": []}]}',
        r":3: an element is not as expected: expected `int \| float \| str \| null`, got `array` in 'ts'"),
    ('{"traceEvents": [\n{"ph": "X", "ts": 1},\n{"ph": "X", ', "no events of threads that last; the file is cut"),
    ('[{"ph": "X", "dur": 1}]', "no time 'ts'"),
    ('[{"ph": "X", "ts": 1e300, "dur": 1}]', "beyond 64 bits of nanoseconds"),
    ('[{"ph": "X", "ts": 10000000000000000, "dur": "x", "dur": 1}]', "a time is no number"),
    ('[{"ph": "X", "ts": 3, "dur": -1}]', "with a negative duration: 1 events"),
    ('[{"ph": "i", "ts": 3}]', "no events of threads that last"),
    ('{"a": {"traceEvents": [{"ph": "X"}]}}', "no JSON object that has one called 'traceEvents'"),
    ('[{"ph": "X", "a": ' + "[" * 100_000 + "]" * 100_000 + "}]", "nested too deeply"),
    ("[" * 100_000, "an element is not as expected: expected `object`, got `array`"),
    ("hello", "no JSON array of objects"), ('[{"ph": "X"}]]', "no time 'ts'|is no JSON"),
    ('{"a": ["' + '\\"traceEvents\\": [' * 200 + '"], "traceEvents": []}', "no events of threads that last"),
    ('{"a": {' + '"traceEvents": [1], ' * 200, "no JSON object that has one called 'traceEvents'"),
])  # fmt: skip
def test_what_is_wrong_is_said_with_its_place(read, document, problem):
    with pytest.raises(InputError, match=problem):
        read(document)


@pytest.mark.real_data
def test_pytorch_on_one_gpu(real_data):
    # An independent parser counted 15,462 changes and a mean of 0.061 of 6 streams. It counts copies and memory sets as
    # busy, and a stream as two where it ran two things at once, which happens once.
    path = real_data / "traces" / "chrome" / "rank0.json.gz"
    work = {"kernel", "gpu_memcpy", "gpu_memset"}
    events = [row for row in json.loads(gzip.decompress(path.read_bytes()))["traceEvents"] if row.get("cat") in work]
    first = min(row["ts"] for row in events)
    moments = np.unique([[row["ts"], row["ts"] + row["dur"]] for row in events])
    starts, ends = np.sort([[row["ts"], row["ts"] + row["dur"]] for row in events], axis=0).T
    level = np.searchsorted(starts, moments, "right") - np.searchsorted(ends, moments, "right")
    assert np.count_nonzero(np.diff(level)) + 1 == 15_462
    streams = sorted({(row["pid"], row["tid"]) for row in events})

    def busy(categories):
        """How many streams do something, at each moment."""
        total = np.zeros(len(moments), int)
        for stream in streams:
            mine = [row for row in events if (row["pid"], row["tid"]) == stream and row["cat"] in categories]
            starts, ends = np.sort(np.reshape([[row["ts"], row["ts"] + row["dur"]] for row in mine], (-1, 2)), axis=0).T
            total += np.searchsorted(starts, moments, "right") > np.searchsorted(ends, moments, "right")
        return total

    trace = perfcore.read(path, locations="stream")
    curve = trace.utilization(busy=[name for name in trace.states if name not in (WAITING_FOR_HOST, NOT_STARTED)])
    assert len(streams) == 6
    assert curve.n_steps == np.count_nonzero(np.diff(busy(work))) == 15_459
    assert curve.mean / 6 == pytest.approx(0.061, abs=5e-4)
    assert curve.edges[0] == 0
    assert curve.edges[-1] == moments[-1] - first
    kernels = trace.utilization()
    # Where a copy begins before a kernel ends, as it once does, the copy counts, which began last.
    # Collectives are kernels that do not compute.
    for row in events:
        row["cat"] = "collective" if row["name"].startswith("nccl") else row["cat"]
    alone = busy({*work, "collective"}) - busy({*work, "collective"} - {"kernel"})
    assert kernels.integral == np.diff(moments) @ alone[:-1]
    # As one location the GPU computes while any stream does.
    assert perfcore.read(path).utilization().integral == np.diff(moments) @ (alone[:-1] > 0)


def again(trace, folder, **options):
    """What is read of a trace that was written."""
    perfcore.write(trace, folder / "written.json")
    return perfcore.read(folder / "written.json", **{"locations": "both"} | options)


def assert_same(trace, found):
    """Both say the same, except for intervals without duration, and locations without others."""
    last = trace.end_ns > trace.start_ns
    kept = perfcore.Trace(
        trace.location[last], trace.state[last], trace.start_ns[last], trace.end_ns[last], trace.locations, trace.states
    )
    assert pieces(found) == pieces(kept)
    assert (found.markers, found.span_ns, found.time_unit) == (trace.markers, trace.span_ns, trace.time_unit)
    assert set(found.busy_states) == set(trace.busy_states) & set(found.states)


def test_what_is_written_is_read_again_with_its_calls(read, tmp_path):
    trace = read(CHROME)
    found = again(trace, tmp_path)
    assert_same(trace, found)
    for each in (trace, found):  # MPI_Recv is called within step, which is entered once and lasts 4.250 us
        step = perfcore.profile(each, by="location").to_frame().set_index("path").loc["solver 7 / main 8->step"]
        assert (step["inclusive_s"], step["calls"]) == (pytest.approx(4.250e-6, rel=1e-12), 1)
    events = json.loads((tmp_path / "written.json").read_text())["traceEvents"]
    assert [event["cat"] for event in events if event["ph"] == "X"] == ["computing", "waiting", "computing"]


@pytest.mark.parametrize("name", [
    "paraver/qsort_beo3.prv", "otf2/sst-10rank/traces.otf2", "projections/ping-pong/pingpong.prj.sts",
    "picl/conceptual_pingpong.trf", "paje/states.trace", "chrome/rank0.json.gz", "chrome/two_ranks",
])  # fmt: skip
def test_real_traces_are_written_without_loss(name, real_data, tmp_path):
    trace = perfcore.read(real_data / "traces" / name)
    assert_same(trace, again(trace, tmp_path))


def test_sums_of_clang_are_no_threads(tmp_path):
    """Each ``Total`` stands on a thread of its own, as long as all events of the name."""
    rows = [(1, 0, 100, "ExecuteCompiler"), (1, 10, 60, "Source"), (2, 0, 100, "Total ExecuteCompiler")]
    events = [{"ph": "X", "pid": 1, "tid": tid, "ts": ts, "dur": dur, "name": name} for tid, ts, dur, name in rows]
    path = tmp_path / "a.json"
    path.write_text(json.dumps({"traceEvents": events, "beginningOfTime": 17}))
    trace = perfcore.read(path)
    assert (len(trace.locations), trace.states) == (1, ("ExecuteCompiler", "Source"))
    path.write_text(json.dumps({"traceEvents": events}))
    assert len(perfcore.read(path).locations) == 2
