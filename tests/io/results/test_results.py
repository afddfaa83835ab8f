"""What benchmark tools, schedulers and profilers write: figures read from the files by hand, and what is refused.

The forms of OSU 5 to 7 and of IOR 3.0 to 4.0 are those of outputs that sites publish in their documentation.
"""

import json

import format_samples as files
import pytest
from trace_samples import sample

import perfcore
from perfcore.base import progress
from perfcore.base.errors import InputError


@pytest.fixture
def read(read):
    def read_text(content, name=None, **options):
        text = content if isinstance(content, str) else json.dumps(content)
        return read(text, name or ("run.json" if text[:1] in "{[" else "run.txt"), **options)

    return read_text


def gbench(*runs):
    return {"context": {"library_build_type": "release"}, "benchmarks": list(runs)}


def pytest_runs(*values):
    runs = [{"name": f"t[{at}]", "params": {"n": value}, "stats": {"mean": 1}} for at, value in enumerate(values)]
    return {"machine_info": {"node": "a"}, "benchmarks": runs}


OSU_PAIRS = files.OSU_OTHERS.partition("# OSU MPI Non-blocking")[0]
OSU_PAIRS = OSU_PAIRS[OSU_PAIRS.index("# OSU MPI Multiple") :]
OSU_CHECKED = (
    "# OSU MPI Allreduce Latency Test v7.5\n# Datatype: MPI_INT.\n"
    "# Size       Avg Latency(us)        Validation\n4   7.93   Pass\n8   7.94   Fail\n"
)
# Version 7.1 has the data type below the heading; old ones of MVAPICH2 had no version in the title.
OSU_SAID = (
    "# OSU MPI-CUDA Bandwidth Test v7.1\n# Send Buffer on DEVICE (D) and Receive Buffer on HOST (H)\n"
    "# Size      Bandwidth (MB/s)\n# Datatype: MPI_CHAR.\n1     1.47\n\n"
    "# OSU MPI_Put Latency Test v5.8\n# Window creation: MPI_Win_allocate\n# Synchronization: MPI_Win_flush\n"
    "# Size          Latency (us)\n1     39.13\n"
)
# Version 3.0, as its source writes it: neither IOPS nor latency, and other lines of the setup.
IOR_OLDER = sample("ior_older")
# As ``perf stat`` prints for people, in a locale of Germany and, of version 5.4, of three runs in another.
STAT_PRINTED = sample("stat_printed")
# ``sacct --json`` of the plugin dbv0.0.37: metadata first, and null for a missing text or list.
SLURM_21 = {
    "metadata": {"plugin": {"type": "openapi/dbv0.0.37"}, "Slurm": {"release": "21.08.8-2"}},
    "errors": [],
    "jobs": [{
        "job_id": 17, "name": None, "cluster": "hpc", "partition": None, "account": None, "allocation_nodes": 2,
        "derived_exit_code": {"status": "SUCCESS", "return_code": 0}, "state": {"current": "COMPLETED"},
        "time": {"elapsed": 217, "start": 1686088321, "limit": 4320}, "tres": {"allocated": None},
    }],
}  # fmt: skip
DAY = 26 * 3600 + 3 * 60 + 4  # 1-02:03:04
# Programs that print one figure: text, parameter, column, unit and the figures with 1 and 2 for {n}.
FIGURES = {
    "sysbench": (
        "sysbench 1.0.20 (using LuaJIT)\nNumber of threads: {n}\nCPU speed:\n    events per second:  431{n}.53\n"
        "General statistics:\n    total time:        10.0007s\nLatency (ms):\n         avg:      0.93\n",
        "threads", "rate", "1/s", [4311.53, 4312.53],
    ),
    "wrk": (
        "Running 30s test @ http://127.0.0.1/\n  {n} threads and 400 connections\nRequests/sec: 74886{n}.5\n",
        "threads", "rate", "requests/s", [748861.5, 748862.5],
    ),
    "k6": (
        "   ✓ http_req_duration..............: avg=798.87µs min=264.58µs max=48.1ms p(90)=2ms   p(95)=3.06ms\n"
        "     http_reqs......................: 48450   242{n}.5/s\n     vus_max...........: {n}  min={n}\n",
        "concurrency", "rate", "requests/s", [2421.5, 2422.5],
    ),
    "ab": (
        "This is ApacheBench, Version 2.3\nConcurrency Level:      {n}\nComplete requests:      1000\n"
        "Requests per second:    1052{n}.87 [#/sec] (mean)\n",
        "concurrency", "rate", "requests/s", [10521.87, 10522.87],
    ),
    "pgbench": (
        "transaction type: <builtin: TPC-B (sort of)>\nnumber of clients: {n}\nlatency average = 8.1 ms\n"
        "tps = 123{n}.512345 (without initial connection time)\n",
        "concurrency", "rate", "transactions/s", [1231.512345, 1232.512345],
    ),
    "HPCG": (
        "HPCG-Benchmark\nMachine Summary::Distributed Processes={n}\n"
        "Final Summary::HPCG result is VALID with a GFLOP/s rating of=12{n}.5\n",
        "processes", "rate", "Gflop/s", [121.5, 122.5],
    ),
    "graph500": (
        "SCALE: 20\nnum_mpi_processes:     {n}\nbfs  mean_time:  0.03\nbfs  harmonic_mean_TEPS:     !  {n}.5e+08\n",
        "processes", "rate", "edges/s", [1.5e8, 2.5e8],
    ),
    "LULESH": (
        "Running problem size 30^3 per domain until completion\nNum processors:      {n}\nNum threads: 2\n"
        "   Problem size        =  30\nElapsed time         =      2{n}.5 (s)\nGrind time (us/z/c)  = 0.35 (per dom)\n",
        "processes", "time", "s", [21.5, 22.5],
    ),
    "NAMD": (
        "Charm++> Running on 4 hosts\nInfo: NAMD 2.14 for Linux\nInfo: Running on {n} processors, 4 nodes.\n"
        "Info: Benchmark time: {n} CPUs 0.9 s/step 0.03 days/ns 1200.5 MB memory\n"
        "Info: Benchmark time: {n} CPUs 0.{n} s/step 0.03 days/ns 1200.5 MB memory\n",
        "processes", "s_per_step", "s/step", [0.1, 0.2],
    ),
    "OpenFOAM": (
        "Exec   : simpleFoam -parallel\nnProcs : {n}\nTime = 1s\n\nExecutionTime = 1.25 s  ClockTime = 2 s\n\n"
        "Time = 2s\n\nExecutionTime = 2.35 s  ClockTime = 1{n} s\n\nEnd\n",
        "processes", "clock_s", "s", [11, 12],
    ),
    "Quantum ESPRESSO": (
        "     Program PWSCF v.7.2 starts on 12Mar2024 at 10: 3:11\n     Number of MPI processes:               {n}\n"
        "     electrons    :     30.20s CPU      8.35s WALL (       1 calls)\n"
        "     PWSCF        :  1h 2m CPU     {n}m16.20s WALL\n",
        "processes", "time", "s", [76.2, 136.2],
    ),
    # Older versions print the concurrency above the report.
    "serving": (
        "Maximum request concurrency: {n}\n===== Serving Benchmark Result =====\nMean TTFT (ms):   20.5\n"
        "Output token throughput (tok/s):  71{n}.5\n====================\n\n",
        "concurrency", "rate", "tokens/s", [711.5, 712.5],
    ),
}  # fmt: skip

# Content, options, columns and their rows, and of the roles those that are given.
TABLES = {
    "npb": (files.NPB + files.NPB.replace(" Total processes =                        4\n", "").replace("LU", "CG"), {},
        "benchmark class processes time_s", [["LU", "S", 4, 0.25], ["CG", "S", 1, 0.25]],
        {"parameters": {"p": "processes"}, "code": ("benchmark", "class")}),
    "npb, one wrong": (files.NPB.replace("SUCCESSFUL", "UNSUCCESSFUL") + files.NPB, {}, "benchmark", [["LU"]], {}),
    "imb": (files.IMB, {}, "benchmark processes bytes metric value unit",
        [["PingPong", 2, 8, "t", 2.5, "us"], ["Allreduce", 4, 4, "t_avg", 2.5, "us"]],
        {"parameters": {"p": "processes"}}),  # bytes say no more in these two rows
    "imb, empty": (files.IMB, {"empty": True}, "bytes", [[0], [8], [4]], {}),
    "osu": (files.OSU, {}, "test bytes metric value unit", [
        ["MPI Allreduce Latency Test", 1, "avg_latency", 86.56, "us"],
        ["MPI Allreduce Latency Test", 2, "avg_latency", 87.98, "us"],
        ["MPI Bandwidth Test", 1, "bandwidth", 3.45, "MB/s"]], {}),
    "osu, others": (files.OSU_OTHERS, {}, "test metric value unit", [
        ["MPI Init Test", "average", 68, "ms"], ["MPI Barrier Latency Test", "avg_latency", 8.63, "us"],
        ["MPI Multiple Bandwidth / Message Rate Test", "bandwidth", 8.36, "MB/s"],
        ["MPI Non-blocking Barrier Latency Test", "overall", 11.09, "us"]], {}),
    "osu, columns": (files.OSU_OTHERS, {},
        "processes pairs window datatype bytes messages_per_s compute pure_comm overlap",
        [[4, "", "", "", "", "", "", "", ""], [""] * 9, ["", 4, 64, "MPI_CHAR", 1, 8361985.11, "", "", ""],
        ["", "", "", "", "", "", 6.10, 5.18, 3.46]], {}),
    "osu, validation": (OSU_CHECKED, {}, "bytes", [[4]], {"value": "avg_latency", "unit": "us"}),
    "osu, settings": (OSU_SAID, {}, "send_buffer receive_buffer datatype window_creation synchronization",
        [["device", "host", "MPI_CHAR", "", ""], ["", "", "", "MPI_Win_allocate", "MPI_Win_flush"]], {}),
    "osu, no version": ("# OSU MPI_Put latency Test\n# Size            Latency (us)\n1    7.33\n", {}, "latency",
        [[7.33]], {}),
    "osu, pairs": (OSU_PAIRS + OSU_PAIRS.replace("pairs: 4", "pairs: 8"), {}, "pairs", [[4], [8]],
        {"parameters": {"p": "pairs"}}),
    "ior": (files.IOR, {}, "operation tasks nodes bandwidth total_s",
        [["write", 8, 2, 512.5, 1.61], ["read", 8, 2, 1024, 0.86]],
        {"value": "bandwidth", "unit": "MiB/s", "code": ("operation",)}),
    "ior, text": (files.IOR_TEXT, {}, "operation tasks nodes repetition bandwidth total_s", [
        ["write", 8, 2, 1, 512.5, 1.61], ["read", 8, 2, 1, 1024, 0.86], ["write", 8, 2, 2, 500, 1.71]], {}),
    "ior, several": ("start\n" + IOR_OLDER + "done\n" + files.IOR_TEXT, {}, "tasks tasks_per_node bandwidth",
        [[16, 8, 158.39], [8, 4, 512.5], [8, 4, 1024], [8, 4, 500]], {}),
    # The example of the pull request that added it, hpc/ior 260.
    "ior, csv": (files.IOR_CSV, {"name": "ior.csv"}, "operation bandwidth iops",
        [["write", 436.5474, 228841.8502], ["read", 2367.9204, 1220176.2821]], {}),
    "fio": (files.FIO, {}, "operation bandwidth bs_bytes size_bytes numjobs iodepth latency_ns",
        [["write", 1000, 65536, 4 << 20, 4, 2, 15.5]], {"unit": "B/s"}),
    "stream": (files.STREAM + files.BABELSTREAM, {}, "kernel threads elements bandwidth minimum_s average_s", [
        ["Copy", 4, 10_000_000, 28347.1, 0.005644, 0.005703], ["Triad", 4, 10_000_000, 21634.4, 0.011093, 0.011211],
        ["Copy", "", "", 1368294.603, 0.00039, 0.00039]],
        {"value": "bandwidth", "unit": "MB/s", "code": ("kernel",)}),
    "stream, failed": (files.STREAM.replace("Solution Validates: avg", "Failed Validation on array a[], Avg")
        + files.BABELSTREAM, {}, "kernel", [["Copy"]], {}),
    "nccl-tests": (files.NCCL_TESTS, {}, "processes bytes placement time_us bus_GB_s", [  # in place one result is wrong
        [2, 1024, "out-of-place", 24.5, 0.07], [2, 1048576, "out-of-place", 60.25, 30.45]],
        {"parameters": {"p": "bytes"}, "unit": "us"}),
    "nccl-tests, empty": (files.NCCL_TESTS, {"empty": True}, "processes", [[2]] * 4, {}),
    "go-bench": (files.GO_BENCH, {}, "benchmark n procs time allocs/op", [
        ["Sort/stable", 100, 8, 101234, 2], ["Sort/stable", 100, 8, 101236, 2], ["Sort/stable", 1000, 8, 1412340, ""]],
        {"unit": "ns/op"}),
    "jmh": (files.JMH, {}, "metric n fork repetition value unit", [
        ["average_time", 100, 1, 1, 12, "us/op"], ["average_time", 100, 1, 2, 12.5, "us/op"],
        ["average_time", 100, 2, 1, 13, "us/op"], ["sample_time", 200, 1, 1, 25, "us/op"]], {}),
    "vllm": (files.VLLM, {}, "output_tokens_per_s p99_ttft_ms request_rate", [[2, 497.5, 4]], {}),
    "vllm, CSV": (files.VLLM_CSV, {"name": "a.csv"}, "output_tokens_per_s p99_ttft_ms max_concurrency completed",
        [[98.5, 94, 1, 10], [190, 98, 2, 20]], {"parameters": {"p": "max_concurrency"}, "unit": "tokens/s"}),
    "vllm, requests": (files.VLLM, {"requests": True}, "ttft_s request_s input_tokens",
        [[0.25, 0.5, 10], [0.5, 0.75, 20]], {}),
    "google-benchmark": (files.GOOGLE_BENCHMARK, {},
        "benchmark arg1 n threads real_time_us bytes_per_second repetition",
        [["BM_copy", 8, 2, 4, 2.5, 3.2e6, 1], ["BM_copy", 16, 2, 4, 5, 3.1e6, 2]],
        {"parameters": {"p": "arg1"}, "value": "real_time_us", "unit": "us", "code": ("benchmark",)}),
    "google-benchmark, units": (gbench(*({"name": f"BM/{n}", "real_time": 3, "cpu_time": 1, "time_unit": unit}
        for n, unit in ((1, "ns"), (2, "ms")))), {}, "real_time_ns", [[3], [3e6]], {"unit": "ns"}),
    "hyperfine": (files.HYPERFINE, {}, "time_s n", [[0.101, 1], [0.099, 1], [0.201, 2]],  # one run failed
        {"parameters": {"p": "n"}, "code": ()}),
    "hyperfine, commands": ({"results": [{"command": c, "times": [1.5]} for c in ("a", "b")]}, {}, "command",
        [["a"], ["b"]], {"code": ("command",)}),
    "pytest-benchmark": (files.PYTEST_BENCHMARK, {}, "test time_s",  # two rounds, and a mean where rounds were not kept
        [["test_sum", 1e-5], ["test_sum", 3e-5], ["test_sum", 4e-5]],
        {"parameters": {"p": "n"}, "code": ("test", "solver"), "system": ("machine",)}),
    "pytest-benchmark, numbers": (pytest_runs("10", 20), {}, "n", [[10], [20]],
        {"parameters": {"p": "n"}, "code": ("test",)}),
    "pytest-benchmark, words": (pytest_runs("auto", 20), {}, "n", [["auto"], [20]],
        {"parameters": {}, "code": ("test", "n")}),
    "pytest-benchmark, truth": (pytest_runs(None, True), {}, "test", [["t"]] * 2,
        {"parameters": {}, "code": ("test", "n")}),
    "perf-stat": (files.PERF_STAT, {}, "metric value unit", [["task-clock", 1200.5, "ms"], ["cycles:u", 4000, ""]], {}),
    "perf-stat, semicolons": (files.PERF_STAT.replace(",", ";"), {}, "value", [[1200.5], [4000]], {}),
    "perf-stat, json": (files.PERF_STAT_JSON, {}, "metric value unit",
        [["task-clock", 1200.5, "ms"], ["cycles:u", 4000, ""]], {}),
    "perf-stat, spread": (files.PERF_STAT_JSON, {}, "stderr", [[""], [4]], {}),  # 0.10 % of the mean
    "perf-stat, header": ("# started on Mon Nov 23 10:00:00 2026\n\n" + files.PERF_STAT_JSON
        + '{"metric-value" : "none", "metric-unit" : "insn per cycle"}\n', {}, "metric value",
        [["task-clock", 1200.5], ["cycles:u", 4000]], {}),
    "mdtest": (
        "mdtest-3.4.0 was launched with 8 total task(s) on 2 node(s)\n\nSUMMARY rate: (of 3 iterations)\n"
        "   Operation                 Max        Min       Mean    Std Dev\n"
        "   ---------                 ---        ---       ----    -------\n"
        "   Directory creation:   900.500    700.000    800.250     20.500\n"
        "   File stat         :     0.000      0.000      0.000      0.000\n"
        "mdtest-4.0.0 was launched with 16 total task(s) on 2 node(s)\nSUMMARY rate: (of 1 iterations)\n"
        "   File creation         900.000    900.000    900.000      0.000\n\nSUMMARY time: (of 1 iterations)\n"
        "   File creation           2.000      2.000      2.000      0.000\n",
        {}, "operation tasks nodes rate stddev n_runs",
        [["Directory creation", 8, 2, 800.25, 20.5, 3], ["File creation", 16, 2, 900.0, "", ""]], {}),
    "jmh, printed": (  # Student's t of 0.9995 with 5 degrees of freedom is 6.8688
        "# Run complete.\n\nBenchmark     (n)  (how)  Mode  Cnt   Score   Error   Units\n"
        "Sum.sum       100   fast  avgt    6  12.500 ± 0.300   us/op\n"
        "Sum.sum       200   fast  avgt       25.500           us/op\n"
        "Sum.sum:·gc   100   fast  avgt    6   1.000 ± 0.100  MB/sec\n"
        "Sum.no        100   fast  avgt    6   ≈ 10⁻³           us/op\n",
        {}, "benchmark average_time n how n_runs stddev",
        [["Sum.sum", 12.5, 100, "fast", 6, pytest.approx(0.106984, rel=1e-4)],
         ["Sum.sum", 25.5, 200, "fast", "", ""]], {}),
    "jmh, of sbt": (
        "[info] Benchmark  Mode  Cnt   Score   Error  Units\n[info] A.b       thrpt    5  1000,5 ± 10,0  ops/s\n",
        {}, "benchmark throughput", [["A.b", 1000.5]], {}),
    "vllm, latency": (json.dumps({"avg_latency": 1.5, "latencies": [1.0, 2.0], "percentiles": {"50": 1.5}}),
        {}, "latency_s", [[1.0], [2.0]], {}),
    "vllm, throughput": (
        json.dumps({"elapsed_time": 8.0, "num_requests": 16, "total_num_tokens": 4000, "requests_per_second": 2.0,
                    "tokens_per_second": 500.0}),
        {}, "tokens_per_s elapsed_s num_requests", [[500.0, 8.0, 16]], {}),
    "perf-stat, printed": (STAT_PRINTED, {}, "command metric value unit n n_runs stderr", [
        ["./solve -n {n} x", "cpu_core/cycles/", 1250000500, "", 200, "", ""],
        ["./solve -n {n} x", "task-clock", 2500.25, "ms", 200, "", ""],
        ["./solve -n {n} x", "time elapsed", 0.25013299, "s", 200, "", ""],
        ["./solve -n {n} x", "user", 2.1, "s", 200, "", ""],
        ["./solve -n {n} x", "task-clock", 5.50025, "ms", 400, 3, 0.110005],
        ["./solve -n {n} x", "time elapsed", 0.52125, "s", 400, 3, 0.0010425],
    ], {}),
    "perf-stat, decimal commas": (files.PERF_STAT.replace(",", ";").replace(".", ","), {}, "value stderr",
        [[1200.5, 6.0025], [4000, 4]], {}),
    "criterion": (files.CRITERION, {}, "benchmark arg1 repetition time_ns",
        [["sort/quick", 100, 1, 1500], ["sort/quick", 100, 2, 2000]], {"parameters": {"p": "arg1"}, "unit": "ns"}),
    "criterion, estimates": (files.CRITERION_ESTIMATES, {}, "time_ns stddev_ns", [[100.5, 2.5]], {}),
    "benchmark-action": (files.BENCHMARK_ACTION, {}, "benchmark arg1 time stddev n_runs",
        [["sort", 100, 10, 0.2, 30], ["sort", 200, 20.5, 0.5, ""]], {"value": "time", "unit": "ms"}),
    "caliper-json": (files.CALIPER_JSON, {}, "callpath time_s",
        [["(no region)", 1.25], ["main", 10], ["main->solve", 2.5]],  # means over two ranks
        {"category": ("callpath",)}),
    "caliper-json, rank": (files.CALIPER_JSON.replace(",[0,1,11.0]", ""), {}, "callpath time_s",
        [["(no region)", 2.5], ["main", 9], ["main->solve", 5]], {}),
    "caliper-json, query": (files.CALIPER_QUERY, {}, "callpath ranks time_s inclusive_time_s",
        [["main", 8, 5.5, 10.5], ["main->solve", 8, 5, 5]], {}),
    "time -v": (files.TIME_V, {}, "command elapsed_s user_s", [["mpirun -n 4 ./app", 3723, 12.3]],
        {"code": ("command",)}),
    "time of shells": (files.SHELL_TIME, {}, "threads size elapsed_s", [[4, 100, 62.5], [8, 100, 31.25]],
        {"parameters": {"p": "threads"}, "unit": "s"}),
    "google-benchmark, aggregates": (gbench(*(
        {"name": f"sort/8_{kind}", "run_name": "sort/8", "run_type": "aggregate", "aggregate_name": kind,
         "repetitions": 9, "real_time": time, "cpu_time": time, "time_unit": "us"}
        for kind, time in (("median", 99.0), ("mean", 100.0), ("stddev", 1.5), ("cv", 0.015)))), {},
        "benchmark arg1 real_time_us stddev_us n_runs", [["sort", 8, 100, 1.5, 9]], {}),
    "google-benchmark, csv": ("name,iterations,real_time,cpu_time,time_unit,bytes_per_second,label,error_occurred\n"
        '"sort/8",100,10.5,10.4,us,,,\n"sort/9",,,,us,,,true\n"copy/8_mean",5,2,2,ns,,,\n"copy/8_stddev",5,0.5,1,ns,,,\n',
        {"name": "run.csv"}, "benchmark arg1 real_time_ns stddev_ns n_runs",
        [["sort", 8, 10500, "", ""], ["copy", 8, 2, 0.5, 5]], {}),
    "hyperfine, csv": ("command,mean,stddev,median,user,system,min,max,parameter_n\na 1,10.5,0.5,10,9,0,9,11,1\n"
        "a 2,5,,5,4,0,4,6,2\n", {"name": "run.csv"}, "n time_s stddev_s", [[1, 10.5, 0.5], [2, 5, ""]],
        {"parameters": {"p": "n"}}),
    "pytest, means": ({"machine_info": {"node": "x"}, "benchmarks": [
        {"name": "t[1]", "params": {"n": 1}, "stats": {"mean": 2.0, "stddev": 0.1, "rounds": 7}}]}, {},
        "time_s stddev_s n_runs", [[2, 0.1, 7]], {}),
    # 99.9 % of Student's t with 9 degrees of freedom lie within 4.7809.
    "jmh, score": ([{"jmhVersion": "1.37", "benchmark": "a", "mode": "avgt", "forks": 2, "measurementIterations": 5,
        "primaryMetric": {"score": 1.5, "scoreError": 0.0047809, "scoreUnit": "us/op"}}], {}, "average_time n_runs",
        [[1.5, 10]], {}),
    "hyperfine, NaN": ('{"results": [{"command": "a", "times": [1.0, NaN]}]}', {}, "time_s", [[1], [""]], {}),
    "sacct, steps": ("JobID|JobName|NNodes|Elapsed|State|MaxRSS|TotalCPU\n1|a|2|00:10|COMPLETED||01:00.5\n"
        "1.batch|b|1|00:10|COMPLETED|512M|00:01\n1.0|a|2|00:10|COMPLETED|3145728K|00:59\n", {},
        "nodes elapsed_s TotalCPU MaxRSS", [[2, 10, 60.5, 3]], {}),
    "sacct, printed": ("JobID           JobName      State    Elapsed   NNodes     ReqMem\n"
        "------------ ---------- ---------- ---------- -------- ----------\n"
        "17               solver  COMPLETED   00:01:00        2        4Gn\n"
        "17.0             solver  COMPLETED   00:01:00        2           \n"
        "18               solver CANCELLED+   00:01:00        1        4Gn\n", {}, "job nodes elapsed_s ReqMem",
        [["17", 2, 60, 8]], {}),
    "reframe": (files.REFRAME_REPORT, {}, "test n metric value unit",
        [["Pi", 10, "elapsed", 1.25, "s"], ["Pi", 20, "rate", 7, "op/s"]], {"code": ("test", "metric")}),
    "reframe-perflog": (files.REFRAME_PERFLOG, {}, "n elapsed system",
        [[10, 1.25, "daint:gpu"], [20, 2.5, "daint:gpu"]], {"parameters": {"p": "n"}, "unit": "s"}),
    "jube, pretty": (files.JUBE_PRETTY, {}, "time_s", [[8.25], [4.5]],
        {"parameters": {"p": "ntasks"}, "value": "time_s"}),
    "jube, aligned": (files.JUBE_ALIGNED, {}, "time_s", [[2.5], [1.25]], {"value": "time_s"}),
    "sacct": (files.SACCT, {}, "job nodes cpus elapsed_s", [["17", 2, 64, DAY], ["19", 1, 16, 30]],
        {"parameters": {"p": "cpus"}, "code": ("name",), "unit": "s"}),
    "sacct, failed": (files.SACCT, {"failed": True}, "state", [["COMPLETED"], ["CANCELLED"], ["COMPLETED"]], {}),
    "sacct, bars": ("".join(f"{line}|\n" for line in files.SACCT.splitlines()), {}, "job cpus",
        [["17", 64], ["19", 16]], {}),
    "sacct, a bar in a name": ("JobID|State|Elapsed|NCPUS|JobName\n1|COMPLETED|00:00:10|4|a|b\n", {}, "name",
        [["a|b"]], {}),
    "sacct, no header": ("7|COMPLETED|00:02:00|8\n", {"reader": "sacct", "fields": "jobid,state,elapsed,ncpus"},
        "cpus elapsed_s", [[8, 120]], {}),
    "sacct, XDMoD": (files.SACCT_XDMOD, {}, "name nodes cpus elapsed_s", [["job|x", 4, 48, 50449]], {}),
    "sacct, no names": (files.SACCT.replace("17|solver", "17|"), {}, "name", [["unnamed"], ["a"]],
        {"code": ("name",), "system": ()}),
    "sacct, json": (files.SACCT_JSON, {}, "nodes elapsed_s", [[2, 60], [4, 40]], {"system": ("cluster",)}),
    "sacct, Slurm 21.08": (SLURM_21, {}, "nodes elapsed_s", [[2, 217]], {"parameters": {"p": "nodes"}}),
    "libtest": (sample("libtest"), {}, "time_ns stddev_ns", [[135, 24], [18149.5, 755]],
        {"parameters": {"p": "arg1"}, "unit": "ns"}),
    "criterion, console": (sample("criterion_console"), {}, "benchmark printed#name time_ns ci95_ns",
        [["sort", "sort/100", 26200, 400],
        ["a very long name of a benchmark", "a very long name of a benchmark/1000", 1.1e6, 150e3]], {}),
    "google-benchmark, console": ("2024-05-01T10:00:00+00:00\nRunning ./bench\n" + "-" * 60 + "\n"
        "Benchmark                  Time             CPU   Iterations\n" + "-" * 60 + "\n"
        "BM_Sort/1024            10245 ns        10240 ns        68000\n"
        "BM_Sort/8192             105.5 us        104990 ns         6700 items_per_second=1.2M/s\n"
        "BM_Sort_BigO             12.1 NlgN        12.0 NlgN\n", {}, "arg1 real_time_ns",
        [[1024, 10245], [8192, 105500]], {}),
    "google-benchmark, lines of its console": ("BM_Sort/1024   10245 ns   10240 ns   68000\n", {}, "arg1 real_time_ns",
        [[1024, 10245]], {}),
    "pytest-benchmark, csv": ("name,min,max,mean,stddev,median,iqr,outliers,ops,rounds,iterations\n"
        "test_sort[10],0.9,1.4,1.0,0.02,1.0,0.01,1;0,1.0,50,1\ntest_sort[20],1.9,2.4,2.0,0.05,2.0,0.01,1;0,.5,30,1\n",
        {"name": "run.csv"}, "time_s stddev_s n_runs arg1", [[1, 0.02, 50, 10], [2, 0.05, 30, 20]], {}),
    "hyperfine, Markdown": (
        "| Command | Mean [ms] | Min [ms] | Max [ms] | Relative |\n|:---|---:|---:|---:|---:|\n"
        "| `sort 100` | 102.5 ± 0.5 | 101.0 | 104.0 | 1.00 |\n| `sort 200` | 205.0 ± 1.5 | 203.0 | 209.0 | 2.00 |\n",
        {"name": "run.md"}, "time_s stddev_s sort", [[0.1025, 0.0005, 100], [0.205, 0.0015, 200]], {}),
    "compare.js": (sample("compare_js"), {"name": "run.csv"}, "binary", [["old"], ["new"]],
        {"value": "rate", "unit": "ops/s"}),
    "BenchmarkDotNet": (sample("benchmark_dot_net"), {"name": "run.csv"}, "time_ns stddev_ns",
        [[1500, 12], [2.3e6, 1500]], {"parameters": {"p": "N"}}),
    "pytest-benchmark, console": ("collected 2 items\n\n---------- benchmark: 2 tests ----------\n"
        "Name (time in us)         Min              Mean             StdDev      Outliers  OPS (Kops/s)  Rounds\n"
        "------------------------------------------------------------------------\n"
        "test_a[10]      41.4000 (1.0)      45.5000 (1.0)       7.8920 (1.0)       33;181     21.8 (1.0)    4190\n"
        "test_a[20]     615.1000 (14.8)  1,668.0000 (14.6)     76.2500 (>9.64)       40;1      1.4 (0.0)    1190\n"
        "------------------------------------------------------------------------\n\nLegend:\n  Outliers: 1 SD\n", {},
        "arg1 time_s stddev_s n_runs", [[10, 45.5e-6, 7.892e-6, 4190], [20, 1.668e-3, 76.25e-6, 1190]], {}),
    "hyperfine, console": ("Benchmark 1: ./solve -n 4\n"
        "  Time (mean ± \N{GREEK SMALL LETTER SIGMA}):      1.25 s ±  0.5 ms    [User: 1.2 s, System: 3.0 ms]\n"
        "  Range (min … max):    1.22 s …  1.26 s    10 runs\n \n", {}, "benchmark time_ns stddev_ns n_runs",
        [["./solve -n 4", 1.25e9, 5e5, 10]], {"code": ("benchmark",)}),
    "catch2": ("\nbenchmark name            samples       iterations    estimated\n"
        "                          mean          low mean      high mean\n"
        "                          std dev       low std dev   high std dev\n" + "-" * 79 + "\n"
        "std::sort of a vector that\nis long                        100             5    1.11601 ms \n"
        "                          998.5 us      990.88 us     1.0021 ms \n"
        "                          25.5 us       19.4 us       37.9 us \n" + " " * 79 + "\n"
        "hash                           50           999    2.0 us \n                               2.5 ns"
        "        2.4 ns       2.6 ns \n                           0.5 ns        0 ns      1 ns \n\n",
        {}, "benchmark time_ns stddev_ns n_runs",
        [["std::sort of a vector that is long", 998500, 25500, 100], ["hash", 2.5, 0.5, 50]], {}),
    "pyperf": (sample("pyperf"), {}, "time_s", [[0.1], [0.2], [0.3]], {}),
    "BenchmarkTools.jl": (sample("julia"), {}, "benchmark arg1 time_ns", [["sort", 100, 10], ["sort", 100, 20]], {}),
    "gromacs": (sample("gromacs"), {}, "activity ranks threads time_s wall_time_s ns_per_day",
        [["Domain decomp.", 4, 2, 0.521, 28.8, 60], ["Rest", 4, 2, 0.1, 28.8, 60]], {}),
    "hpl": (sample("hpl"), {}, "processes N NB time_s", [[8, 29184, 192, 6.08], [16, 29184, 192, 3.5]], {}),
    "iperf3, received": (sample("iperf"), {}, "streams retransmits bandwidth", [[4, 7, 9.396e9]], {"unit": "bit/s"}),
    "lammps": (sample("lammps"), {}, "procs threads section time_s", [[4, 2, "Pair", 8.9], [4, 2, "Comm", 1.5],
        [4, 2, "Other", 0.5]], {"category": ("section",)}),
    "mlperf": (sample("mlperf"), {}, "time_to_train_s block_s", [[71, 61.5]], {}),
    **{name: (text.replace("{n}", "1") + text.replace("{n}", "2"), {}, f"{parameter} {value}",
        [[1, figures[0]], [2, figures[1]]], {"parameters": {"p": parameter}, "value": value, "unit": unit})
       for name, (text, parameter, value, unit, figures) in FIGURES.items()},
}  # fmt: skip


@pytest.mark.parametrize("name", TABLES)
def test_rows_and_roles(read, name):
    content, options, columns, rows, roles = TABLES[name]
    data = read(content, **options)
    data.table.columns = [name.partition(" [")[0] for name in data.table.columns]
    named = [name.replace("#", " ") for name in columns.split()]
    found = data.table[named].astype(object).fillna("").to_numpy().tolist()
    rounded = [[float(f"{cell:.12g}") if isinstance(cell, float) else cell for cell in row] for row in found]
    assert rounded == rows
    found = {role: getattr(data.roles, role) for role in roles}
    assert {**found, **({"parameters": dict(found["parameters"])} if "parameters" in found else {})} == roles


def test_sizes_of_runs_of_one_program_are_a_parameter_in_info_as_in_fit(tmp_path):
    text = FIGURES["LULESH"][0]
    for size in (20, 30):
        for n, p in enumerate((1, 8, 27), 1):
            run = text.replace("{n} \n", "").replace("Num processors:      {n}", f"Num processors: {p}")
            run = run.replace("=  30", f"=  {size}").replace("2{n}.5", f"{size + n}")
            (tmp_path / f"lulesh_{size}_{p}.out").write_text(run)
    found = perfcore.info(tmp_path)
    assert found["points"].keys() == {"processes", "size_per_process"}
    assert set(perfcore.fit(tmp_path).shown_names.values()) == found["points"].keys()


# Content, what is replaced in it, and the message.
REFUSED = [
    (files.NPB.split(" LU Benchmark Completed.")[0], "", "", "no benchmark was completed"),
    (files.NPB.split(" Time in seconds")[0], "", "", r"run.txt:5: LU has no 'Time in seconds'; cut short\?"),
    (files.NPB, "0.25", "long", r"run.txt:9: time_s 'long' is no number"),
    (files.IMB, "2.50         3.20", "2.50", r"run.txt:7: 4 numbers \(#bytes, #repetitions, t\[usec\], Mbytes/sec\)"),
    (files.OSU, "86.56             21.32", "86.56", r"run.txt:4: 5 numbers"),
    (OSU_CHECKED, "7.93", "x", r"run.txt:4: 3 numbers"),
    (files.IOR, '"bwMiB": 512.5', '"bwMiB": "x"', r"is not JSON of IOR: Expected `float`, got `str`"),
    (files.IOR_TEXT, "512.50     2050 ", "512.50 ", r"run.txt:20: has 10 fields for 11 columns \(access, bw\(MiB/s\)"),
    (files.IOR_TEXT, "512.50     2050 ", "fast       2050 ", r"run.txt:20: bw\(MiB/s\) 'fast' is no number"),
    (files.IOR_TEXT, "512.50     2050 ", "-          2050 ", "run.txt:20: the write has no bandwidth"),
    (files.FIO, '"error": 0', '"error": 5', "holds no job that moved data"),
    (files.STREAM, "     0.011410", "", r"txt:10: 4 numbers \(Best Rate MB/s, Avg time, Min time, Max time\)"),
    (files.NCCL_TESTS, "   23.50", "", r"txt:8: has 12 fields for 13 columns \(size, count, type"),
    (files.NCCL_TESTS, " time ", " span ", "holds no results"),
    (files.GO_BENCH, "1412340 ns/op", "1412340", r"txt:7: pairs of a number and a unit"),
    (files.JMH.replace("rawData", "data"), '"score"', '"score": "NaN", "x"',
        r"primaryMetric` has neither rawData, nor"),
    (json.dumps(gbench({"name": "BM/1", "real_time": 1}, {"name": "BM/2", "run_type": "iteration"})), "", "",
        r"`\$.benchmarks\[1\]` \('BM/2'\) has no `real_time`"),
    (json.dumps(gbench({"name": "BM", "real_time": 1, "time_unit": "fortnight"})), "", "",
        "time unit 'fortnight' is not one of ns, us, ms, s"),
    ('{"results": [{"command": "a", "times": [1.5], "parameters": {"time_s": "1"}}]}', "", "",
        "'time_s' stands for two columns"),
    ("CPU0,1234,,cycles,1250,100.00,,\n", "", "", r"txt:1: holds counts of single processors"),
    (files.REFRAME_PERFLOG, "1.25", "fast", r"run.txt:2: elapsed_value 'fast' is no number"),
    ("\n".join([*files.REFRAME_PERFLOG.splitlines()[:2], "pass|x|y"]), "", "",
        r"run.txt:3: has 3 fields for 10 columns"),
    (files.JUBE_PRETTY, "|    4.5 |      |", "|   4.5", r"run.txt:5: the line does not stand between bars"),
    (files.JUBE_PRETTY, "|   8.25 |    a |", "|   8.25 |", r"run.txt:4: has 2 fields for 3 columns"),
    (files.JUBE_PRETTY + files.JUBE_PRETTY.removeprefix("result:\n"), "", "", r"run.txt:7: a second table begins"),
    (files.SACCT, "1-02:03:04|2", "tomorrow|2", r"run.txt:2: elapsed time 'tomorrow' is not"),
    (files.SACCT, "|2|64", "|two|64", r"run.txt:2: 'two' is no number of nodes"),
    (files.SACCT, "|2|64", "|2", r"run.txt:2: has 6 fields, expected 7"),
    (files.SACCT, "Elapsed", "Start", r"run.txt:1: the fields elapsed are missing"),
    ("HPCG-Benchmark\nMachine Summary::Distributed Processes=4\n", "", "", r"txt:1: .* HPCG has no rate; was it cut"),
    ("LAMMPS (2 Aug 2023)\nStep Temp\n0 1.0\n10 1.1\n", "", "", "the run did not end"),
    (sample("mlperf"), "success", "aborted", "no run that was completed"),
    (sample("mlperf"), '"time_ms": 1000,', '"time_ms": "x",', "run.txt:1: is no record of MLLOG"),
    # Texts for people name what is read.
    ("Linux 5.15.0 (n01) \t01/02/2025 \t_x86_64_\t(8 CPU)\n\n12:00:01 CPU %user\n", "", "", "sadf -d FILE"),
    ('{"commit_hash": "a1", "params": {"machine": "m"}, "results": {}}', "", "", "one commit.*perf gate"),
    ("Job ID: 1234\nCluster: big\nState: COMPLETED (exit code 0)\n", "", "", "sacct -j 1234 --parsable2"),
    ("# JMH version: 1.36\n# VM version: JDK 17\n", "", "", "-rf json"),
    ("@ mpiP\n@ Command : ./a.out\n", "", "", r"awk '/\^@--- MPI Time/"),
    ("# darshan log version: 3.41\n# exe: ./ior\n", "", "", "darshan-dxt-parser LOG"),
    ("-----------------------\nCPU name:\tIntel\n-----\nGroup 1: FLOPS_DP\n+--+\n", "", "", "a row for each run"),
    ("Connecting to host 10.0.0.2, port 5201\n[  5] local\n[ ID] Interval Transfer\n", "", "",
        "its JSON is read: iperf3"),
    ("HPCTOOLKITmeta\x04", "", "", "Pipit"),
]  # fmt: skip


@pytest.mark.parametrize(("content", "old", "new", "message"), REFUSED, ids=[row[3][:40] for row in REFUSED])
def test_what_is_refused(read, content, old, new, message):
    assert not old or old in content
    with pytest.raises(InputError, match=message):
        read(content.replace(old, new) if old else content)


def test_ranks_of_pme_are_counted_and_their_rows_left_out(read):
    """They run beside those of the other ranks: the rows of these, with the rest, are the wall time."""
    with progress.collected() as notes:
        data = read(
            "     R E A L   C Y C L E   A N D   T I M E   A C C O U N T I N G\n\n"
            "On 12 MPI ranks doing PP, each using 4 OpenMP threads, and\n"
            "on 4 MPI ranks doing PME, each using 4 OpenMP threads\n\n"
            " Force                12    4      10001      28.250       1080.000  81.2\n"
            " PME mesh *            4    4      10001      20.123        772.700  10.6\n"
            " PME wait for PP *                             8.001        422.400   5.8\n"
            " Rest                                          0.100          3.000   0.3\n"
            " Total                                        28.350       1083.000 100.0\n"
        )
    assert data.table[["ranks", "threads", "time_s"]].to_numpy().tolist() == [[16, 4, 28.25], [16, 4, 0.1]]
    assert "2 rows of PME" in notes[0]


def factors(data, **where):
    table = data.table
    for column, value in where.items():
        table = table[table[column] == value]
    return dict(zip(table["metric"], table["value"], strict=True))


def test_efficiencies(read):
    data = read(files.TALP)
    assert factors(data, region="Global") == pytest.approx({
        "parallel": 0.88, "MPI parallel": 0.88, "load balance": 0.94, "communication": 0.93, "elapsed_time_s": 2e-6,
        "useful_time_s": 7e-6, "mpi_time_s": 1e-6, "useful_cycles": 12000, "useful_instructions": 24000,
    })  # fmt: skip
    with_threads = factors(data, region="solve")
    assert with_threads["MPI load balance"] == 0.95  # of ranks, not of the run
    assert with_threads["OpenMP parallel"] == 0.8
    assert (set(data.table["region"]), data.table["p"].tolist()[0]) == ({"Global", "solve"}, 4)
    older = factors(read(files.TALP_OLDER))
    assert (older["communication"], older["load balance"], older["elapsed_time_s"]) == (0.9, 0.9, 3.0)
    data = read(files.MODEL_FACTORS, name="modelfactors.csv")
    assert factors(data, p=8) == pytest.approx({
        "global": 0.7785, "parallel": 0.95708, "load balance": 0.98281, "computation scalability": 0.81341,
        "IPC scalability": 0.93982, "average IPC": 1.4,
    })  # fmt: skip
    assert factors(data, p=2)["serialisation"] == pytest.approx(0.99842)


@pytest.fixture
def table(real_data):
    def table(name, **options):
        return perfcore.read(real_data / "benchresults" / name, **options).table

    return table


@pytest.mark.real_data
def test_real_files(real_data, table):
    (lu,) = table("npb/lu-D-16-16.out").to_dict("records")
    assert (lu["benchmark"], lu["class"], lu["processes"], lu["time_s"]) == ("LU", "D", 16, 2166.09)
    # NPB's operation count of LU: 1984.77 n^3 - 10923.3 n^2 + 27770.9 n - 144010 for each iteration, n = 408.
    operations = 300 * (1984.77 * 408**3 - 10923.3 * 408**2 + 27770.9 * 408 - 144010)
    assert operations / lu["time_s"] / 1e6 == pytest.approx(lu["mops_total"], rel=1e-5)
    (imb_file,) = (real_data / "benchresults").glob("imb_*.out")
    imb = perfcore.read(imb_file).table
    assert imb["bytes"].tolist() == [2**k for k in range(16)]
    assert imb["processes"].unique().tolist() == [16384]
    assert imb["t_avg"].iloc[[0, -1]].tolist() == [214.81, 1437044.06]
    (fio,) = table("fio.json").to_dict("records")
    assert (fio["bandwidth"], fio["iops"], fio["runtime_ms"]) == (4194304000, 64000, 1)
    # 64 blocks of 64 KiB are the 4 MiB that were written, in the millisecond that fio counts.
    assert fio["bs_bytes"] * 64 == fio["size_bytes"] == fio["io_bytes"]
    # The means and medians that hyperfine itself computed stand in the file.
    runs = table("hyperfine.json").groupby("n")["time_s"]
    assert runs.mean().tolist() == pytest.approx([0.3937730695, 0.4159843865, 0.409136302], rel=1e-12)
    assert runs.median().tolist() == pytest.approx([0.395115109, 0.39658613100000006, 0.409290159], rel=1e-12)
    rounds = table("pytest_benchmark.json").groupby("n")["time_s"]
    expected = {1000: 1.3835999652656028e-05, 10000: 0.000158105000082287}
    assert rounds.min().to_dict() == pytest.approx(expected, rel=0.15)
    assert rounds.size().to_dict() == {1000: 50, 10000: 50}  # the file was cut to 50 rounds of each
    compared = table("google_benchmark_1.json").set_index("benchmark")["real_time_ns"]
    assert (compared["BM_SameTimes"], compared["BM_100xFaster"]) == (10, 10000)
    with pytest.raises(InputError, match="has no `real_time`"):
        table("google_benchmark_repetitions.json")


@pytest.mark.real_data
def test_real_files_of_test_suites_and_schedulers(real_data, table):
    elapsed = {100000: 0.001767873764038086, 200000: 0.019390583038330078}
    for name in ("reframe_report.json", "reframe_perflog.log"):
        assert table(name).set_index("n")["elapsed"].to_dict() == elapsed
    flops = perfcore.read(real_data / "benchresults" / "reframe_perflog_excalibur.log")
    assert flops.table["flops"].tolist() == [0.67, 1.23, 0.67, 1.23, 1.23, 0.67, 1.23, 0.67, 1.31, 0.67, 0.67, 1.29]
    assert (list(flops.roles.parameters.values()), flops.roles.unit) == (["num_tasks", "num_cpus_per_task"], "Gflop/s")
    assert table("jube_iterations.dat")["foo"].tolist() == [1] * 4 + [2] * 4 + [4] * 4 + [1, 1, 2, 2, 4, 4]
    assert table("jube_statistic.dat").iloc[0].tolist() == [1, 1, 10, 1, 10, 55, 10, 5.5, 3.03]
    assert table("jube_scripting_pattern.dat")["missing_dep_pat"].tolist() == ["nan"] * 3
    log, arrays = "slurm_sacct_accounting-logs.log", "slurm_sacct_accounting-logs-with-job-arrays.log"
    assert table(log)[["cpus", "nodes", "elapsed_s"]].to_numpy().tolist() == [[48, 4, 14 * 3600 + 49]]
    everything = table(log, failed=True)
    assert everything["state"].tolist() == ["TIMEOUT", "CANCELLED", "COMPLETED"]  # the fourth ran for no time
    assert everything["elapsed_s"].tolist()[:2] == [3 * 86400, 2 * 86400 + 22 * 3600 + 3 * 60 + 4]
    with pytest.raises(InputError, match="none of the 6 jobs completed"):
        table(arrays)
    assert "4103947_[9-11,13,16-20]" in table(arrays, failed=True)["job"].tolist()
    with pytest.raises(InputError, match=r"not in any of the [0-9]+ known formats"):
        table("slurm_sacct.json")  # a table of a tool's own tests, not what sacct prints


def test_intervals_of_perf_stat_are_a_series(read):
    row = "{0},{1},msec,task-clock,1200500000,100.00,0.998,CPUs utilized\n{0},{2},,cs,120050,100.00,,\n"
    series = read("# started\n\n" + row.format("1.000123456", 1200.5, 0) + row.format("2.500223456", 3, 4))
    assert series.times.tolist() == [1.000123456, 2.500223456]
    columns = {name: column.tolist() for name, column in series.columns.items()}
    assert columns == {"task-clock [ms]": [1200.5, 3.0], "cs": [0.0, 4.0]}


@pytest.mark.parametrize(("point", "head"), [(".", "99.9%"), (",", "99,9%")])
def test_csv_of_jmh_in_any_locale(read, point, head):
    """The error is half of a 99.9 % interval of 5 samples: Student's t of 4 degrees of freedom is 8.610."""
    rows = [("0.12", "0.0861", 1000), ("1.5", "NaN", 10000)]
    lines = [
        f'"o.Sort.merge","avgt",1,5,"{score.replace(".", point)}","{error.replace(".", point)}","ms/op",{n}'
        for score, error, n in rows
    ]
    header = f'"Benchmark","Mode","Threads","Samples","Score","Score Error ({head})","Unit","Param: n"'
    data = read("\n".join([header, *lines]) + "\n", "jmh.csv")
    assert data.table["average_time"].tolist() == [0.12, 1.5]
    assert data.table["stddev"][0] == pytest.approx(0.0861 * 5**0.5 / 8.610, rel=1e-4)
    assert (data.roles.parameters, data.roles.unit) == ({"p": "n"}, "ms/op")


def test_what_is_no_number_in_a_table_of_a_tool_is_refused_with_its_line(read):
    with pytest.raises(InputError, match=r"run.csv:2: 'abc' is no number or time"):
        read(sample("benchmark_dot_net").replace("1.500 us", "abc"), "run.csv")


def test_a_lone_carriage_return_in_a_table_is_refused(tmp_path):
    path = tmp_path / "serving.csv"
    path.write_bytes(files.VLLM_CSV.replace("\n", "\n1\r", 1).encode())
    with pytest.raises(InputError, match=r"is no table of JSON of vLLM's benchmark: new-line character"):
        perfcore.read(path)
