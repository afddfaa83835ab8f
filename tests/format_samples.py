"""Small files of each format, by the reader that they are for: file name and content."""

import dataclasses
import io
import struct
import tarfile
import tempfile
import zipfile
import zlib
from pathlib import Path

from trace_samples import TRACE_SAMPLES, sample

import perfcore
from perf_experiments import Store, run_records

CURVE = "time_ms,value\n0,1\n2.5,4\n3,\n"
SERIES = "time_s,user,system\n0,1,\n1,2,5\n3,2,0.25\n"
TRACE = "start_us,end_us,location,state\n0,2,cpu0,run\n2,5.125,cpu0,wait\n1,4,cpu1,run\n"
MEASUREMENTS = 'code,machine,procs,time_s,remark\nlu,T3D,1,8.25,\nlu,T3D,2,,late\n"c, g",SP2,4,1e-3,\n'

PERF_STAT = sample("perf_stat")
PERF_STAT_JSON = """\
{"counter-value" : "1200.5", "unit" : "msec", "event" : "task-clock", "event-runtime" : 12, "pcnt-running" : 100.00}
{"counter-value" : "4000.0", "unit" : "", "event" : "cycles:u", "variance" : 0.10, "pcnt-running" : 50.0}
"""
TIME_V = sample("time_v")
SHELL_TIME = sample("shell_time")
SYSBENCH = sample("sysbench")
HPCG = sample("hpcg")
IPERF = """\
{"start": {"test_start": {"protocol": "TCP", "num_streams": 4, "blksize": 131072}}, "intervals": [],
 "end": {"sum_sent": {"seconds": 2.0, "bits_per_second": 9.4e9, "retransmits": 7},
         "sum_received": {"seconds": 2.0, "bits_per_second": 9.396e9}}}
"""
CRITERION = """\
{"reason":"benchmark-complete","id":"sort/quick/100","iteration_count":[10,20],"measured_values":[15.0,40.0],"unit":"us"}
{"reason":"group-complete","group_name":"sort","benchmarks":["sort/quick/100"]}
"""
CRITERION_ESTIMATES = (
    '{"mean":{"confidence_interval":{"confidence_level":0.95,"lower_bound":99.0,"upper_bound":101.0},'
    '"point_estimate":100.5,"standard_error":0.5},"std_dev":{"point_estimate":2.5}}'
)
BENCHMARK_ACTION = (
    '[{"name": "sort/100", "unit": "ms", "value": 10, "range": "± 2%", "extra": "30 samples"},'
    ' {"name": "sort/200", "unit": "ms", "value": 20.5, "range": "stddev: 0.5"}]'
)
CALIPER_JSON = (
    '{"data":[[null,0,2.5],[0,0,9.0],[1,0,5.0],[0,1,11.0]],"columns":["path","mpi.rank","time"],'
    '"nodes":[{"label":"main","column":"path"},{"label":"solve","column":"path","parent":0}]}'
)
CALIPER_QUERY = (
    '[{"path":"main","time (inc)":10.5,"mpi.world.size":8},{"path":"main/solve","time (inc)":5,"mpi.world.size":8}]'
)
PJ_DUMP = sample("pj_dump")
STARVZ = """\
Nature, ResourceId, Type, Start, End, Duration, Depth, Value, JobId
State, CPU0, Worker State, 95.646746, 95.764745, 0.117999, 0.000000, Initializing
State, CPU0, Worker State, 95.764745, 96.764745, 1.000000, 0.000000, dgemm, 17
"""

PAJE = sample("paje")

PARAVER = sample("paraver")

PICL_NEW = sample("picl_new")

TALP = sample("talp")
TALP_OLDER = """\
{"popMetrics": [{"name": "MPI Execution", "elapsedTime": 3000000000, "parallelEfficiency": 0.81,
                 "communicationEfficiency": 0.9, "loadBalance": 0.9, "lbIn": 0.95, "lbOut": 0.94}]}
"""
MODEL_FACTORS = sample("model_factors")

MPSTAT = sample("mpstat")
SADF_JSON = sample("sadf_json")
SADF_TABLE = sample("sadf_table")
PROMETHEUS = sample("prometheus")

EXTRAP_TEXT = sample("extrap_text")
EXTRAP_LINES = """\
{"params":{"x":1,"y":10},"metric":"time","callpath":"main","value":[1.5,2]}

{"params":{"x":2,"y":10},"metric":"time","callpath":"main","value":3}
"""

GOOGLE_BENCHMARK = sample("google_benchmark")
HYPERFINE = sample("hyperfine")
PYTEST_BENCHMARK = sample("pytest_benchmark")
REFRAME_REPORT = sample("reframe_report")
REFRAME_PERFLOG = sample("reframe_perflog")
JUBE_PRETTY = sample("jube_pretty")
JUBE_ALIGNED = "number | time_s\n-------+-------\n     1 |   2.50\n     2 |   1.25\n"
SACCT = sample("sacct")
SACCT_XDMOD = (
    "4107219|4107219|hpc|general|qos|acct|group|456|user|101|2015-06-26T20:22:22|2015-06-26T20:22:22|"
    "2015-06-30T12:04:04|2015-07-01T02:04:53|14:00:49|0:0|COMPLETED|4|48|48|3000Mc|cpu=48|billing=48|14:20:00|n[1-4]|job|x\n"
)
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
IOR = sample("ior")
IOR_TEXT = sample("ior_text")
IOR_CSV = """\
access,bw(MiB/s),IOPS,Latency,block(KiB),xfer(KiB),open(s),wr/rd(s),close(s),total(s),iter
write,436.5474,228841.8502,0.0000,2048.0000,2.0000,0.0001,0.0045,0.0000,0.0046,0
read,2367.9204,1220176.2821,0.0000,2048.0000,2.0000,0.0000,0.0008,0.0000,0.0008,0
"""
FIO = sample("fio")
EXTRAP_JSON_OLDER = sample("extrap_json_older")
EXTRAP_JSON = """\
{"parameters": ["x", "y"], "measurements": {"main->a": {"time": [
  {"point": [1, 10], "values": [1.5, 2]}, {"point": [2, 10], "values": [3]}]}}}
"""
CALIPER = sample("caliper")


def cube() -> bytes:
    """A Cube archive: main (10 s, visited once) calls solve (7 s), on two locations alike."""
    anchor = b"""<?xml version="1.0"?>
<cube version="4.3"><metrics><metric id="0" type="INCLUSIVE"><disp_name>Time</disp_name><uniq_name>time</uniq_name>
<dtype>DOUBLE</dtype><uom>sec</uom></metric></metrics><program>
<region id="0" mod="" begin="-1" end="-1"><name>main</name></region>
<region id="1" mod="" begin="-1" end="-1"><name>solve</name></region>
<cnode id="0" calleeId="0"><cnode id="1" calleeId="1"></cnode></cnode></program>
<system><systemtreenode Id="0"><name>machine</name><class>machine</class>
<locationgroup Id="0"><name>process 0</name><rank>0</rank><type>process</type>
<location Id="0"><name>thread 0</name><rank>0</rank><type>thread</type></location>
<location Id="1"><name>thread 1</name><rank>1</rank><type>thread</type></location>
</locationgroup></systemtreenode></system></cube>
"""
    index = b"CUBEX.INDEX" + struct.pack("<ihbiii", 1, 0, 1, 2, 0, 1)
    values = zlib.compress(struct.pack("<4d", 10.0, 10.0, 7.0, 7.0))
    data = b"ZCUBEX.DATA" + struct.pack("<qqqq", 1, 0, 0, len(values)) + values
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, content in (("0.data", data), ("0.index", index), ("anchor.xml", anchor)):
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return packed.getvalue()


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
EXTRAP_RUNS = """\
{"Extra-P": "4.3.0", "parameters": ["x"], "measurements": {"main": {"time": [
{"coordinate": [1.0], "mean": 1.75, "values": [0, 0]}, {"coordinate": [2.0], "mean": 3.5, "values": [0, 1]}]}}}
"""


def summary() -> bytes:
    """Of one file with two locations."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.csv"
        path.write_text("location,state,start_ms,end_ms\na,solve,0,6\na,MPI_Wait,6,90\nb,solve,1,70\n")
        perfcore.summarize(path, Path(folder) / "run.summary", cells=16)
        return (Path(folder) / "run.summary").read_bytes()


JSON_LINES = '{"p": 1, "time_s": 8.25, "host": "a"}\n{"p": 2, "time_s": 4.5, "host": null}\n{"p": 4, "time_s": 2}\n'
JSON_ARRAY = '[{"time": 0, "user": 1, "system": 2.5},\n {"time": 1, "user": null, "system": 5, "more": {"a": [1]}}]'

LIBTEST = "running 1 test\ntest sort/100 ... bench:       18,149 ns/iter (+/- 755)\ntest result: ok.\n"
CRITERION_CONSOLE = "sort/100                time:   [26.0 us 26.2 us 26.8 us]\n"
COMPARE_JS = '"binary","filename","configuration","rate","time"\n"old","a.js","n=6",392.5,0.15\n'
BENCHMARK_DOT_NET = "Method,Job,WarmupCount,N,Mean,Error,StdDev\nSort,DefaultJob,Default,100,1.5 us,0.02 us,12 ns\n"
PYPERF = '{"benchmarks":[{"metadata":{"name":"sort"},"runs":[{"values":[0.1,0.2]}]}],"version":"1.0"}'
JULIA = (
    '[{"Julia":"1.9","BenchmarkTools":"1.0"},[["BenchmarkGroup",{"data":{"sort":["Trial",{"times":[10.0,20.0]}]}}]]]'
)
LAMMPS = sample("lammps")
GROMACS = """     R E A L   C Y C L E   A N D   T I M E   A C C O U N T I N G
On 4 MPI ranks, each using 2 OpenMP threads
 Force                     4    2      10001      28.250       1080.000  81.2
"""
HPL = """T/V                N    NB     P     Q               Time                 Gflops
WR11C2R4       29184   192     2     4              6.08              2.7260e+03
"""
MLPERF = "".join(
    f'0: :::MLLOG {{"time_ms": {time}, "event_type": "INTERVAL_{side}", "key": "run_{key}", "metadata": {{}}}}\n'
    for time, side, key in ((1000, "START", "start"), (72000, "END", "stop"))
)
ROCPROF_TABLE = (
    '"Kind","Agent_Id","Queue_Id","Stream_Id","Thread_Id","Kernel_Name","Correlation_Id","Start_Timestamp",'
    '"End_Timestamp"\n"KERNEL_DISPATCH","Agent 4",1,0,7,"gemm",1,1000,101000\n'
)
NSYS_TABLE = (
    "Start (ns),Duration (ns),CorrId,Device,Ctx,Strm,Name\n1000,20000,11,H100 (0),1,7,gemm\n"
    "30000,500,12,H100 (0),1,7,[CUDA memset]\n"
)
NSYS_SUMS = "Time (%),Total Time (ns),Instances,Avg (ns),Name\n61.5,820,20,41.0,gemm\n"
_RULER = "  ".join(["-" * 20, *["-" * 12] * 6]) + "  \n"
TORCH_TABLE = (  # of torch.profiler: key_averages().table(), of PyTorch 2 with activities=[CPU, CUDA]
    _RULER + "                Name  Self CPU %      Self CPU     CPU total     Self CUDA    CUDA total  # of Calls \n"
    + _RULER
    + "            aten::mm           0.60%     245.000us      20.200ms       9.000ms       9.000ms           200  \n"
    "  ampere_sgemm_64x64           0.00%       0.000us       0.000us       9.000ms       9.000ms           200  \n"
    "         Memcpy HtoD           0.00%       0.000us       0.000us       3.000ms       3.000ms             2  \n"
    + _RULER + "Self CPU time total: 40.600ms\nSelf CUDA time total: 12.000ms\n"
)  # fmt: skip
HISTORY = "".join(
    f'{{"commit":"c{k}","benchmark":"sort/100","value":{100 + k}.0,"unit":"ns","better":"smaller","machine":"",'
    f'"started":"2026-01-0{k + 1}T00:00:00+00:00"}}\n'
    for k in range(3)
)
SCALARS = "Wall time,Step,Value\n1700000000.5,0,2.5\n1700000010.5,100,2.0\n1700000020.5,200,1.5\n"  # of TensorBoard

SAMPLES = {
    "benchmark-lines": [("bench.txt", LIBTEST), ("criterion.log", CRITERION_CONSOLE)],
    "benchmark-tables": [("compare.csv", COMPARE_JS), ("report.csv", BENCHMARK_DOT_NET)],
    "pyperf": [("pyperf.json", PYPERF)],
    "julia-benchmarks": [("julia.json", JULIA)],
    "lammps": [("log.lammps", LAMMPS)],
    "gromacs": [("md.log", GROMACS)],
    "hpl": [("hpl.out", HPL)],
    "mlperf": [("result_0.txt", MLPERF)],
    "benchmark-reports": [("sysbench.txt", SYSBENCH), ("hpcg.txt", HPCG)],
    "iperf3": [("iperf.json", IPERF)],
    "gpu-tables": [("kernels.csv", ROCPROF_TABLE), ("cuda_gpu_trace.csv", NSYS_TABLE)],
    "gpu-sums": [("cuda_gpu_kern_sum.csv", NSYS_SUMS), ("averages.txt", TORCH_TABLE)],
    "json-records": [("runs.jsonl", JSON_LINES), ("series.json", JSON_ARRAY), ("history.jsonl", HISTORY)],
    "csv": [
        ("curve.csv", CURVE),
        ("series.tsv", SERIES.replace(",", "\t")),
        ("t.csv", TRACE),
        ("runs.csv", MEASUREMENTS),
    ],
    "pj_dump": [("dump.csv", PJ_DUMP), ("starvz.csv", STARVZ)],
    "paje": [("states.trace", PAJE)],
    "paraver": [("run.prv", PARAVER)],
    "picl": [("new.trf", PICL_NEW)],
    "mpstat": [("cpu.json", MPSTAT)],
    "sadf": [("cpu.json", SADF_JSON), ("cpu.csv", SADF_TABLE)],
    "prometheus": [("load.json", PROMETHEUS)],
    "experiments": [("runs.db", experiments())],
    "extrap": [("regions.extrap", EXTRAP_TEXT)],
    "extrap-lines": [("lines.jsonl", EXTRAP_LINES)],
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
    "ior": [("ior.json", IOR), ("ior.out", IOR_TEXT), ("ior.csv", IOR_CSV)],
    "fio": [("fio.json", FIO)],
    "stream": [("stream.txt", STREAM), ("babelstream.out", BABELSTREAM)],
    "nccl-tests": [("all_reduce.txt", NCCL_TESTS)],
    "go-bench": [("bench.txt", GO_BENCH)],
    "jmh": [("jmh.json", JMH)],
    "vllm": [("serving.json", VLLM)],
    "extrap-json": [("now.json", EXTRAP_JSON), ("older.json", EXTRAP_JSON_OLDER)],
    "extrap-archive": [
        ("means.extra-p", extrap_archive(EXTRAP_MEANS)),
        ("runs.extra-p", extrap_archive(EXTRAP_RUNS)),
    ],
    "talp": [("talp.json", TALP), ("older.json", TALP_OLDER)],
    "model-factors": [("modelfactors.csv", MODEL_FACTORS)],
    "summary": [("run.summary", summary())],
    "caliper": [("run.cali", CALIPER)],
    "cube": [("profile.cubex", cube())],
    **TRACE_SAMPLES,
}
