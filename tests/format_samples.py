"""Small files of each format, by the reader that they are for: file name and content."""

import dataclasses
import io
import struct
import tempfile
import zipfile
import zlib
from pathlib import Path

from trace_samples import TRACE_SAMPLES, sample, tarred

import perfcore
from perf_experiments import Store, run_records

CURVE = "time_ms,value\n0,1\n2.5,4\n3,\n"
SERIES = "time_s,user,system\n0,1,\n1,2,5\n3,2,0.25\n"
TRACE = "start_us,end_us,location,state\n0,2,cpu0,run\n2,5.125,cpu0,wait\n1,4,cpu1,run\n"
MEASUREMENTS = 'code,machine,procs,time_s,remark\nlu,T3D,1,8.25,\nlu,T3D,2,,late\n"c, g",SP2,4,1e-3,\n'

PERF_STAT = sample("perf_stat")
PERF_STAT_JSON = sample("perf_stat_json")
TIME_V = sample("time_v")
SHELL_TIME = sample("shell_time")
CRITERION = sample("criterion")
CRITERION_ESTIMATES = sample("criterion_estimates")
BENCHMARK_ACTION = sample("benchmark_action")
CALIPER_JSON = sample("caliper_json")
CALIPER_QUERY = sample("caliper_query")


TALP = sample("talp")
TALP_OLDER = sample("talp_older")
MODEL_FACTORS = sample("model_factors")

MPSTAT = sample("mpstat")
SADF_JSON = sample("sadf_json")
SADF_TABLE = sample("sadf_table")
PROMETHEUS = sample("prometheus")

EXTRAP_TEXT = sample("extrap_text")

GOOGLE_BENCHMARK = sample("google_benchmark")
HYPERFINE = sample("hyperfine")
PYTEST_BENCHMARK = sample("pytest_benchmark")
REFRAME_REPORT = sample("reframe_report")
REFRAME_PERFLOG = sample("reframe_perflog")
JUBE_PRETTY = sample("jube_pretty")
JUBE_ALIGNED = "number | time_s\n-------+-------\n     1 |   2.50\n     2 |   1.25\n"
SACCT = sample("sacct")
SACCT_XDMOD = sample("sacct_xdmod")
SACCT_JSON = sample("sacct_json")
NPB = sample("npb")
IMB = sample("imb")
OSU = sample("osu")
# Tables without sizes, with pairs, with a heading that is no comment, and no table at all.
OSU_OTHERS = sample("osu_others")
STREAM = sample("stream")
BABELSTREAM = sample("babelstream")
NCCL_TESTS = sample("nccl_tests")
GO_BENCH = sample("go_bench")
JMH = sample("jmh")
VLLM = sample("vllm")
VLLM_CSV = sample("vllm_csv")
IOR = sample("ior")
IOR_TEXT = sample("ior_text")
IOR_CSV = sample("ior_csv")
FIO = sample("fio")
CALIPER = sample("caliper")


def cube() -> bytes:
    """A Cube archive: main (10 s, visited once) calls solve (7 s), on two locations alike."""
    anchor = sample("cube_anchor")
    index = b"CUBEX.INDEX" + struct.pack("<ihbiii", 1, 0, 1, 2, 0, 1)
    values = zlib.compress(struct.pack("<4d", 10.0, 10.0, 7.0, 7.0))
    data = b"ZCUBEX.DATA" + struct.pack("<qqqq", 1, 0, 0, len(values)) + values
    return tarred({"0.data": data, "0.index": index, "anchor.xml": anchor.encode()})


def experiments() -> bytes:
    """A store of runs with two measurements and a failure."""
    well = run_records.Run(
        *({"p": 1, "solver": "cg"}, 1, None, "2026-01-02T03:04:05.678+00:00", ("app", "1"), 2_500_000_000),
        *(1.5, 0.25, 2048, 0, None, 0.125, False),
        values={"time": 2.25},
        stdout=b"time 2.25",
        environment={"host": "node7"},
    )
    with tempfile.TemporaryDirectory() as folder:
        with Store.hold(Path(folder) / "runs.db") as store:
            for run in (
                well,
                dataclasses.replace(well, point={"p": 2, "solver": "cg"}, values={"time": 1.5}, noisy=True),
                dataclasses.replace(well, point={"p": 4, "solver": "cg"}, problem="exit status 3", values={}),
            ):
                store.add(run)
        return (Path(folder) / "runs.db").read_bytes()


def extrap_archive(document: str, members: dict[str, bytes] | None = None, compression: int = 8) -> bytes:
    """An experiment that Extra-P 4 saved."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", compression) as archive:
        for name, content in {**(members or {}), "experiment.json": document.encode()}.items():
            archive.writestr(zipfile.ZipInfo(name), content, compression)
    return packed.getvalue()


EXTRAP_MEANS = sample("extrap_means")


def summary() -> bytes:
    """Of one file with two locations."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.csv"
        path.write_text("location,state,start_ms,end_ms\na,solve,0,6\na,MPI_Wait,6,90\nb,solve,1,70\n")
        perfcore.summarize(path, Path(folder) / "run.summary", cells=16)
        return (Path(folder) / "run.summary").read_bytes()


JSON_LINES = '{"p": 1, "time_s": 8.25, "host": "a"}\n{"p": 2, "time_s": 4.5, "host": null}\n{"p": 4, "time_s": 2}\n'
JSON_ARRAY = '[{"time": 0, "user": 1, "system": 2.5},\n {"time": 1, "user": null, "system": 5, "more": {"a": [1]}}]'

NSYS_SUMS = "Time (%),Total Time (ns),Instances,Avg (ns),Name\n61.5,820,20,41.0,gemm\n"
TORCH_TABLE = sample("torch_table")
HISTORY = sample("history")
SCALARS = "Wall time,Step,Value\n1700000000.5,0,2.5\n1700000010.5,100,2.0\n1700000020.5,200,1.5\n"  # of TensorBoard

SAMPLES = {
    "benchmark-lines": [("bench.txt", sample("libtest")), ("criterion.log", sample("criterion_console"))],
    "benchmark-tables": [("compare.csv", sample("compare_js")), ("report.csv", sample("benchmark_dot_net"))],
    "pyperf": [("pyperf.json", sample("pyperf"))],
    "julia-benchmarks": [("julia.json", sample("julia"))],
    "lammps": [("log.lammps", sample("lammps"))],
    "gromacs": [("md.log", sample("gromacs"))],
    "hpl": [("hpl.out", sample("hpl"))],
    "mlperf": [("result_0.txt", sample("mlperf"))],
    "benchmark-reports": [("sysbench.txt", sample("sysbench")), ("hpcg.txt", sample("hpcg"))],
    "iperf3": [("iperf.json", sample("iperf"))],
    "gpu-tables": [("kernels.csv", sample("rocprof_table")), ("cuda_gpu_trace.csv", sample("nsys_table"))],
    "gpu-sums": [("cuda_gpu_kern_sum.csv", NSYS_SUMS), ("averages.txt", TORCH_TABLE)],
    "json-records": [("runs.jsonl", JSON_LINES), ("series.json", JSON_ARRAY), ("history.jsonl", HISTORY)],
    "csv": [
        ("curve.csv", CURVE),
        ("series.tsv", SERIES.replace(",", "\t")),
        ("t.csv", TRACE),
        ("runs.csv", MEASUREMENTS),
    ],
    "pj_dump": [("dump.csv", sample("pj_dump")), ("starvz.csv", sample("starvz"))],
    "paje": [("states.trace", sample("paje"))],
    "paraver": [("run.prv", sample("paraver"))],
    "picl": [("new.trf", sample("picl_new"))],
    "mpstat": [("cpu.json", MPSTAT)],
    "sadf": [("cpu.json", SADF_JSON), ("cpu.csv", SADF_TABLE)],
    "prometheus": [("load.json", PROMETHEUS)],
    "experiments": [("runs.db", experiments())],
    "extrap": [("regions.extrap", EXTRAP_TEXT)],
    "extrap-lines": [("lines.jsonl", sample("extrap_lines"))],
    "google-benchmark": [("bench.json", GOOGLE_BENCHMARK)],
    "hyperfine": [("times.json", HYPERFINE)],
    "perf-stat": [("counts.csv", PERF_STAT), ("counts.json", PERF_STAT_JSON)],
    "pytest-benchmark": [("tests.json", PYTEST_BENCHMARK)],
    "reframe": [("report.json", REFRAME_REPORT)],
    "reframe-perflog": [("perf.log", REFRAME_PERFLOG)],
    "jube": [("result.dat", JUBE_PRETTY), ("aligned.dat", JUBE_ALIGNED)],
    "sacct": [("jobs.txt", SACCT), ("jobs.log", SACCT_XDMOD), ("jobs.json", SACCT_JSON)],
    "caliper-json": [("regions.json", CALIPER_JSON), ("query.json", CALIPER_QUERY)],
    "criterion": [("criterion.jsonl", CRITERION), ("estimates.json", CRITERION_ESTIMATES)],
    "benchmark-action": [("custom.json", BENCHMARK_ACTION)],
    "gnu-time": [("runs.log", TIME_V + SHELL_TIME)],
    "npb": [("lu.out", NPB)],
    "imb": [("imb.out", IMB)],
    "osu": [("osu.txt", OSU), ("others.out", OSU_OTHERS)],
    "mdtest": [("mdtest.out", sample("mdtest"))],
    "ior": [("ior.json", IOR), ("ior.out", IOR_TEXT), ("ior.csv", IOR_CSV)],
    "fio": [("fio.json", FIO)],
    "stream": [("stream.txt", STREAM), ("babelstream.out", BABELSTREAM)],
    "nccl-tests": [("all_reduce.txt", NCCL_TESTS)],
    "go-bench": [("bench.txt", GO_BENCH)],
    "jmh": [("jmh.json", JMH)],
    "vllm": [("serving.json", VLLM), ("serving.csv", VLLM_CSV)],
    "extrap-json": [("now.json", sample("extrap_json")), ("older.json", sample("extrap_json_older"))],
    "extrap-archive": [
        ("means.extra-p", extrap_archive(EXTRAP_MEANS)),
        ("runs.extra-p", extrap_archive(sample("extrap_runs"))),
    ],
    "talp": [("talp.json", TALP), ("older.json", TALP_OLDER)],
    "model-factors": [("modelfactors.csv", MODEL_FACTORS)],
    "summary": [("run.summary", summary())],
    "caliper": [("run.cali", CALIPER)],
    "cube": [("profile.cubex", cube())],
    **TRACE_SAMPLES,
}
