"""Small traces of the formats of tracing tools, by the reader that they are for: file name and content."""

import io
import json
import sqlite3
import tarfile
import tempfile
from pathlib import Path
from unittest import mock


def sample(name: str) -> str:
    """A small file of the folder ``samples``."""
    return (Path(__file__).with_name("samples") / f"{name}.txt").read_text(encoding="utf-8")


CHROME = sample("chrome")
KINETO = sample("kineto")


def rocprof_record(operation, start, end, correlation, **more):
    """Times in nanoseconds from the begin of the run, 5000 s after the machine's."""
    times = {"start_timestamp": start + 5 * 10**12, "end_timestamp": end + 5 * 10**12}
    return {"operation": operation, "thread_id": 4243, "correlation_id": {"internal": correlation, "external": 0},
            **times, **more}  # fmt: skip


def rocprof_kernel(number, start, end, correlation, queue=1, **more):
    where = {"agent_id": {"handle": 11}, "queue_id": {"handle": queue}, "kernel_id": number, "dispatch_id": correlation}
    return rocprof_record(0, start, end, correlation, kind=2, dispatch_info=where, **more)


def rocprofv3():
    """A range of 60 us with one copy and three kernels; names are numbers of kinds and of their operations."""
    one, launch = {"stream_id": {"handle": 1}}, {"kind": 1}
    return {
        "metadata": {"pid": 4242, "init_time": 1, "fini_time": 2},
        "agents": [{"id": {"handle": 10}, "type": 1, "name": "EPYC", "product_name": "EPYC"},
                   {"id": {"handle": 11}, "type": 2, "name": "gfx942", "product_name": "AMD Instinct MI300X"}],
        "strings": {
            "buffer_records": [{"kind": "NONE", "operations": []},
                               {"kind": "HIP_RUNTIME_API", "operations": ["hipLaunchKernel", "hipMemcpyAsync"]},
                               {"kind": "KERNEL_DISPATCH", "operations": ["KERNEL_DISPATCH_COMPLETE"]},
                               {"kind": "MEMORY_COPY", "operations": ["NONE", "MEMORY_COPY_HOST_TO_DEVICE"]},
                               {"kind": "MARKER_CORE_RANGE_API", "operations": ["roctxThreadRangeA"]},
                               {"kind": "MARKER_CORE_API", "operations": ["roctxMarkA", "roctxRangePushA"]}],
            "marker_api": [{"key": 1, "value": "train_step"}]},
        "kernel_symbols": [{"kernel_id": 0},
                           {"kernel_id": 1, "kernel_name": "_Z4gemm.kd", "formatted_kernel_name": "gemm(float*)"},
                           {"kernel_id": 2, "kernel_name": "_Z3add.kd", "formatted_kernel_name": "add(float*)"}],
        "buffer_records": {
            "kernel_dispatch": [
                rocprof_kernel(1, 20_000, 40_000, 3, **one), rocprof_kernel(2, 40_500, 45_501, 4, **one),
                rocprof_kernel(1, 55_000, 65_000, 5, **one)],
            "hip_api": [
                rocprof_record(1, 1_000, 5_000, 2, **launch), rocprof_record(0, 7_000, 9_000, 3, **launch),
                rocprof_record(0, 10_000, 12_000, 4, **launch), rocprof_record(0, 50_000, 53_000, 5, **launch)],
            "marker_api": [rocprof_record(0, 0, 60_000, 1, kind=4)],
            "memory_copy": [rocprof_record(1, 6_000, 16_000, 2, kind=3, bytes=4096, src_agent_id={"handle": 10},
                                           dst_agent_id={"handle": 11}, **one)]},
    }  # fmt: skip


def rocprof_text(process=None):
    return json.dumps({"rocprofiler-sdk-tool": [process or rocprofv3()]}, indent=1)


def proto(*fields):
    """A message of pairs of numbers and values: integers, texts, or messages."""
    return b"".join(
        varint(number << 3) + varint(value) if isinstance(value, int) else
        varint(number << 3 | 2) + varint(len(content := value.encode() if isinstance(value, str) else value)) + content
        for number, value in fields)  # fmt: skip


def varint(value):
    value %= 1 << 64
    return bytes([value]) if value < 128 else bytes([value % 128 | 128]) + varint(value >> 7)


XPLANE_BEGAN = 1_700_000_000 * 10**9


def xplane(name, *lines, **about):
    """A plane by its lines: number, name and events, which are name, begin and end in nanoseconds, and stats."""
    events = sorted({event[0] for *_, listed in lines for event in listed})
    stats = ["flops", *sorted({key for *_, listed in lines for event in listed for key in event[3]}), *about]

    def stat(key, value):
        return proto((1, stats.index(key) + 1), (5 if isinstance(value, str) else 3, value))

    def event(name, start, end, described):
        of_event = [(4, stat(*each)) for each in [("flops", 300), *described.items()]]
        return proto((1, events.index(name) + 1), (2, start * 1000), (3, (end - start) * 1000), *of_event)

    def table(number, names):
        return [(number, proto((1, k), (2, proto((1, k), (2, text))))) for k, text in enumerate(names, 1)]

    return proto(
        (2, name),
        *((3, proto((1, number), (2, text), (3, XPLANE_BEGAN), *((4, event(*each)) for each in listed)))
          for number, text, listed in lines),
        *table(4, events), *table(5, stats), *((6, stat(*each)) for each in about.items()))  # fmt: skip


HOST = (4243, "python", [
    ("train", 0, 60_000, {"step_num": 7}), ("cuMemcpyHtoDAsync", 1_000, 5_000, {"correlation_id": 2}),
    ("cuLaunchKernel", 7_000, 9_000, {"correlation_id": 3}),
    ("cuLaunchKernel", 10_000, 12_000, {"correlation_id": 4})])  # fmt: skip
STREAM = (7, "Stream #7(Compute,MemcpyH2D)", [
    ("MemcpyH2D", 6_000, 16_000, {"correlation_id": 2, "memcpy_details": "kind_src:pinned size:4096"}),
    ("gemm", 20_000, 40_000, {"correlation_id": 3}), ("add", 40_500, 45_501, {"correlation_id": 4})])  # fmt: skip
DERIVED = (1 << 62, "XLA Ops", [("fusion.1", 20_000, 45_501, {"hlo_op": "fusion.1"})])


def xspace(*planes):
    return proto(*((1, plane) for plane in planes))


def jax():
    """A step of 60 us with a copy and two kernels, which a line of XLA's operations repeats."""
    gpu = xplane("/device:GPU:0", STREAM, DERIVED, device_vendor="Nvidia", gpu_device_name="NVIDIA H100")
    return xspace(xplane("/host:CPU", HOST), gpu)


PROJECTIONS_STS = sample("projections_sts")
PROJECTIONS_LOGS = (
    "PROJECTIONS-RECORD\n6 100\n2 4 0 110 16 0 104\n1 3 1 120 0 0 112\n3 0 0 150 16 0 0\n14 150 0\n15 190 0\n7 200\n",
    "PROJECTIONS-RECORD\n6 100\n2 4 1 130 16 0 104\n2 4 0 140 16 0 104\n3 0 0 145 16 0 0\n3 0 1 170 16 0 0\n7 200\n",
)


NSIGHT_SCHEMA = sample("nsight_schema")
# globalTid: process 12 and thread 34 in 24 bits each, as the schema reference says.
NSIGHT_THREAD = 12 << 24 | 34


def nsight(rows: str = "") -> bytes:
    """An export with kernels on two streams, a copy, calls of the runtime and ranges."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "report.sqlite"
        connection = sqlite3.connect(path)
        connection.executescript(
            NSIGHT_SCHEMA
            + f"""
            INSERT INTO StringIds VALUES (1, 'gemm'), (2, 'cudaLaunchKernel'), (3, 'cudaDeviceSynchronize');
            INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (1000, 4000, 0, 1, 7, 1, 0, 1, 1, NULL),
                (3000, 5000, 0, 1, 13, 2, 0, 1, 1, NULL);
            INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (5000, 6500, 0, 1, 7, 64, 1);
            INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (500, 700, 0, {NSIGHT_THREAD}, 1, 2, 0),
                (800, 6500, 0, {NSIGHT_THREAD}, 0, 3, 0);
            INSERT INTO NVTX_EVENTS VALUES (100, 7000, 59, NULL, NULL, 'step', {NSIGHT_THREAD}, NULL),
                (200, NULL, 34, NULL, NULL, 'mark', {NSIGHT_THREAD}, NULL);
            {rows}
            """
        )
        connection.close()
        return path.read_bytes()


def tarred(files: dict[str, bytes]) -> bytes:
    """A tar archive."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return buffer.getvalue()


def otf2_files() -> dict[str, bytes]:
    """Files of a trace of two threads with MPI within a region; the anchor file's first bytes where OTF2 is missing."""
    try:
        import _otf2
        import otf2
    except ImportError:
        return {"traces.otf2": b"\x03BOTF2"}
    with tempfile.TemporaryDirectory() as folder:
        with (
            mock.patch("time.time", return_value=1.0),  # the library notes when the trace was written
            otf2.writer.open(f"{folder}/run", timer_resolution=1_000_000) as writer,
        ):
            machine = writer.definitions.system_tree_node("machine")
            main, wait = (writer.definitions.region(name) for name in ("main", "MPI_Recv"))
            for rank in range(2):
                group = writer.definitions.location_group(f"Rank {rank}", system_tree_parent=machine)
                events = writer.event_writer("thread", group=group)
                events.enter(0, main)
                events.enter(3 + rank, wait)
                events.leave(5, wait)
                events.leave(9, main)
        root = Path(folder)
        reader = _otf2.Reader_Open(f"{folder}/run/traces.otf2")
        drawn = _otf2.Reader_GetTraceId(reader).to_bytes(8, "little")
        _otf2.Reader_Close(reader)
        files = {str(path.relative_to(root)): path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()}
        anchor = files["run/traces.otf2"]
        assert drawn in anchor
        # Each trace has a number drawn at random, which the library does not let one choose.
        return {**files, "run/traces.otf2": anchor.replace(drawn, b"perfcore")}


TRACE_SAMPLES: dict[str, list[tuple[str, str | bytes]]] = {
    "chrome": [("threads.json", CHROME), ("kineto.json", KINETO)],
    "otf2": [("run.otf2.tar", tarred(otf2_files()))],
    "projections": [
        (
            "run.tar",
            tarred(
                {
                    "run/cell.sts": PROJECTIONS_STS.encode(),
                    **{f"run/cell.{pe}.log": log.encode() for pe, log in enumerate(PROJECTIONS_LOGS)},
                    "run/cell.sum.sts": b"VERSION 9.0\n",
                }
            ),
        )
    ],
    "nsight": [("report.sqlite", nsight())],
    "rocprofv3": [("1234_results.json", rocprof_text())],
    "xplane": [("host.xplane.pb", jax())],
}


def pieces(trace):
    """Location, state, start and end in nanoseconds of each interval, sorted."""
    rows = zip(trace.location, trace.state, trace.start_ns.tolist(), trace.end_ns.tolist(), strict=True)
    return sorted((trace.locations[place], trace.states[state], start, end) for place, state, start, end in rows)
