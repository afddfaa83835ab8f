"""Small files of each format, by the reader that they are for: file name and content."""

import dataclasses
import io
import struct
import tarfile
import tempfile
import zipfile
import zlib
from pathlib import Path

from trace_samples import TRACE_SAMPLES

import perfcore
from perf_experiments import Store, run_records

CURVE = "time_ms,value\n0,1\n2.5,4\n3,\n"
SERIES = "time_s,user,system\n0,1,\n1,2,5\n3,2,0.25\n"
TRACE = "start_us,end_us,location,state\n0,2,cpu0,run\n2,5.125,cpu0,wait\n1,4,cpu1,run\n"
MEASUREMENTS = 'code,machine,procs,time_s,remark\nlu,T3D,1,8.25,\nlu,T3D,2,,late\n"c, g",SP2,4,1e-3,\n'

PERF_STAT = """\
# started on Mon Nov 23 10:00:00 2026

1200.5,msec,task-clock,0.50%,1200500000,100.00,0.998,CPUs utilized
4000,,cycles:u,0.10%,600250000,50.00,3.250,GHz
0,,cpu-migrations,0.00%,1200500000,100.00,0.000,/sec
<not supported>,,L1-dcache-loads,0.00%,0,100.00,,
"""
PERF_STAT_JSON = """\
{"counter-value" : "1200.5", "unit" : "msec", "event" : "task-clock", "event-runtime" : 12, "pcnt-running" : 100.00}
{"counter-value" : "4000.0", "unit" : "", "event" : "cycles:u", "variance" : 0.10, "pcnt-running" : 50.0}
"""
TIME_V = """\
done
\tCommand being timed: "mpirun -n 4 ./app"
\tUser time (seconds): 12.30
\tElapsed (wall clock) time (h:mm:ss or m:ss): 1:02:03
\tMaximum resident set size (kbytes): 5120
\tExit status: 0
\tCommand being timed: "mpirun -n 8 ./app"
\tElapsed (wall clock) time (h:mm:ss or m:ss): 0:01.50
\tExit status: 1
"""
SHELL_TIME = """\
=== threads=4, size: 100 ===
error = 0.5
real\t1m2.500s
user\t0m11,000s
sys\t0m0.100s
threads=8
2.50user 0.10system 0:31.25elapsed 99%CPU (0avgtext+0avgdata 5120maxresident)k
"""
SYSBENCH = """\
sysbench 1.0.20 (using system LuaJIT 2.1.0-beta3)
Number of threads: 4
CPU speed:
    events per second:  4312.53
General statistics:
    total time:                          10.0007s
Latency (ms):
         avg:                                    0.93
"""
HPCG = """\
HPCG-Benchmark
Machine Summary::Distributed Processes=64
Benchmark Time Summary::Total=723.9
Final Summary::HPCG result is VALID with a GFLOP/s rating of=120.5
"""
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
PJ_DUMP = """\
Container, 0, machine, 0.0, 2.0, 2.0, cpu0
State, cpu0, STATE, 0.000000, 1.500000, 1.500000, 0.000000, running
State, cpu0, STATE, 1.500000, 2.000000, 0.500000, 0.000000, waiting
State, cpu1, STATE, 0.000000, 2.000000, 2.000000, 0.000000, running
State, cpu1, STATE, 0.500000, 0.750000, 0.250000, 1.000000, sending
"""
STARVZ = """\
Nature, ResourceId, Type, Start, End, Duration, Depth, Value, JobId
State, CPU0, Worker State, 95.646746, 95.764745, 0.117999, 0.000000, Initializing
State, CPU0, Worker State, 95.764745, 96.764745, 1.000000, 0.000000, dgemm, 17
"""

PAJE = """\
%EventDef PajeDefineContainerType 0
% Alias string
% Type string
% Name string
%EndEventDef
%EventDef PajeDefineStateType 1
% Alias string
% Type string
% Name string
%EndEventDef
%EventDef PajeCreateContainer 2
% Time date
% Alias string
% Type string
% Container string
% Name string
%EndEventDef
%EventDef PajeSetState 3
% Time date
% Type string
% Container string
% Value string
%EndEventDef
%EventDef PajePushState 4
% Time date
% Type string
% Container string
% Value string
%EndEventDef
%EventDef PajePopState 5
% Time date
% Type string
% Container string
%EndEventDef
%EventDef PajeDestroyContainer 6
% Time date
% Type string
% Name string
%EndEventDef
0 T 0 "thread"
1 S T "state"
2 0.0 a T 0 "first thread"
2 0.0 b T 0 "second thread"
3 0.0 S a "running"
3 0.5 S b "running"
4 1.0 S a "waiting"
5 1.5 S a
6 2.0 T a
6 2.5 T b
"""

PARAVER = """\
#Paraver (26/01/04 at 16:35):2000:2(1,1):1:2(1:1,1:2)
1:1:1:1:1:0:1500:1
2:1:1:1:1:100:42000050:7
1:2:1:2:1:0:500:1
1:2:1:2:1:500:2000:3
1:1:1:1:1:1500:2000:0
"""

PICL_NEW = """\
-3 -901 0.00000 0 0 0
-3 -901 0.00000 1 1 0
-3 -21 0.00100 0 0 4 2 32768 1 1 1
-4 -21 0.00200 0 0 0
-3 -52 0.00100 1 1 3 2 1 0 0
-4 -52 0.00250 1 1 4 2 32768 1 0 0
-4 -901 0.00300 1 1 0
-4 -901 0.00400 0 0 0
"""

TALP = """\
{
  "dlbVersion": "3.5.0",
  "popMetrics": {
    "Global": {"numCpus": 4, "numMpiRanks": 4, "numNodes": 1, "cycles": 12000, "instructions": 24000,
      "elapsedTime": 2000, "usefulTime": 7000, "mpiTime": 1000, "parallelEfficiency": 0.88,
      "mpiParallelEfficiency": 0.88, "mpiCommunicationEfficiency": 0.93, "mpiLoadBalance": 0.94,
      "ompParallelEfficiency": 0.00},
    "solve": {"numCpus": 8, "numMpiRanks": 4, "numNodes": 1, "elapsedTime": 1000, "parallelEfficiency": 0.72,
      "mpiParallelEfficiency": 0.90, "mpiLoadBalance": 0.95, "ompParallelEfficiency": 0.80},
    "never": {"numCpus": 4, "numMpiRanks": 4, "elapsedTime": 0, "parallelEfficiency": 0.00}
  }
}
"""
TALP_OLDER = """\
{"popMetrics": [{"name": "MPI Execution", "elapsedTime": 3000000000, "parallelEfficiency": 0.81,
                 "communicationEfficiency": 0.9, "loadBalance": 0.9, "lbIn": 0.95, "lbOut": 0.94}]}
"""
MODEL_FACTORS = """\
"Number of processes";2;8
"Global efficiency";94.906000;77.850000
"-- Parallel efficiency";99.378000;95.708000
"   -- Load balance";99.761000;98.281000
"      -- Serialization efficiency";99.842000;Non-Avail
"-- Computation scalability";95.500000;81.341000
"   -- IPC scalability";99.917000;93.982000
Average IPC;1.5;1.4
#
"""

MPSTAT = """\
{"sysstat": {
  "hosts": [
    {
      "nodename": "node7", "sysname": "Linux", "number-of-cpus": 2, "date": "11/21/26",
      "statistics": [
        {"timestamp": "23:59:59", "cpu-load": [
          {"cpu": "all", "usr": 50.00, "nice": 0.00, "sys": 5.00, "iowait": 20.00, "steal": 5.00, "idle": 20.00},
          {"cpu": "0", "usr": 90.00, "nice": 0.00, "sys": 10.00, "iowait": 0.00, "steal": 0.00, "idle": 0.00}]},
        {"timestamp": "00:00:00", "cpu-load": [
          {"cpu": "all", "usr": 0.00, "nice": 25.00, "sys": 0.00, "iowait": 0.00, "steal": 0.00, "idle": 75.00},
          {"cpu": "1", "usr": 0.00, "nice": 0.00, "sys": 0.00, "iowait": 0.00, "steal": 0.00, "idle": 0.00}]}
      ]
    }
  ]
}}
"""
SADF_JSON = """\
{"sysstat": {
  "hosts": [
    {"nodename": "node7", "file-date": "2019-04-18", "timezone": "GMT", "statistics": [
      {"timestamp": {"date": "2019-04-18", "time": "13:20:19", "tz": "UTC", "interval": 10},
       "cpu-load": [{"cpu": "all", "usr": 2.0, "sys": 1.5, "iowait": 0.5, "steal": 0.0, "idle": 96.0}],
       "memory": {"memfree": 7}},
      {"timestamp": {"date": "2019-04-18", "time": "13:20:29", "tz": "UTC", "interval": 10},
       "cpu-load": [{"cpu": "all", "usr": 30.0, "sys": 20.0, "iowait": 0.0, "steal": 0.0, "idle": 50.0}]}
    ], "restarts": []}
  ]
}}
"""
SADF_TABLE = """\
# hostname;interval;timestamp;CPU;%user;%nice;%system;%iowait;%steal;%idle
node7;10;2019-04-18 13:20:19 UTC;-1;2.00;0.00;1.50;0.50;0.00;96.00
node7;10;2019-04-18 13:20:29 UTC;-1;30.00;0.00;20.00;0.00;0.00;50.00
# hostname;interval;timestamp;IFACE;rxpck/s;txpck/s
node7;10;2019-04-18 13:20:19 UTC;eth0;1.00;2.00
node7;-1;2019-04-18 13:37:29 UTC;LINUX-RESTART\t(2 CPU)
# hostname;interval;timestamp;CPU;%user;%nice;%system;%iowait;%steal;%idle
node7;10;2019-04-18 13:54:35 UTC;-1;0.00;0.00;0.00;0.00;0.00;100.00
"""
PROMETHEUS = """\
{"status": "success", "data": {"resultType": "matrix", "result": [
  {"metric": {"__name__": "node_load1", "instance": "a:9100", "job": "node"},
   "values": [[1435781430.5, "0.25"], [1435781445.5, "NaN"], [1435781460.5, "1e1"]]},
  {"metric": {"__name__": "node_load1", "instance": "b:9100", "job": "node"},
   "values": [[1435781445.5, "+Inf"], [1435781460.5, "3"]]}
]}}
"""

EXTRAP_TEXT = """\
# two regions, one metric
PARAMETER x y
POINTS (1 10) (2 10)

METRIC time
REGION main->a
DATA 1.5 2
DATA 3 4.25
REGION main
DATA 7
DATA 0.125
"""
EXTRAP_LINES = """\
{"params":{"x":1,"y":10},"metric":"time","callpath":"main","value":[1.5,2]}

{"params":{"x":2,"y":10},"metric":"time","callpath":"main","value":3}
"""

GOOGLE_BENCHMARK = """\
{"context": {"date": "2026-01-02T03:04:05+00:00", "num_cpus": 4, "library_build_type": "release"},
 "benchmarks": [
  {"name": "BM_copy/8/n:2/real_time/threads:4", "run_name": "BM_copy/8/n:2/real_time/threads:4",
   "run_type": "iteration", "repetitions": 2, "repetition_index": 0, "threads": 4, "iterations": 1000,
   "real_time": 2.5, "cpu_time": 10, "time_unit": "us", "bytes_per_second": 3.2e6},
  {"name": "BM_copy/16/n:2/real_time/threads:4", "run_name": "BM_copy/16/n:2/real_time/threads:4",
   "run_type": "iteration", "repetition_index": 1, "threads": 4, "iterations": 500,
   "real_time": 5, "cpu_time": 20, "time_unit": "us", "bytes_per_second": 3.1e6},
  {"name": "BM_copy/8/n:2/real_time/threads:4_mean", "run_type": "aggregate", "aggregate_name": "mean",
   "threads": 4, "iterations": 2, "real_time": 3, "cpu_time": 12, "time_unit": "us"},
  {"name": "BM_bad", "run_type": "iteration", "error_occurred": true, "error_message": "no", "threads": 1}
 ]}
"""
HYPERFINE = """\
{"results": [
  {"command": "sleep 0.1", "mean": 0.1, "times": [0.101, 0.099], "exit_codes": [0, 0], "parameters": {"n": "1"}},
  {"command": "sleep 0.2", "mean": 0.2, "times": [0.201, 0.3], "exit_codes": [0, 1], "parameters": {"n": "2"}}
]}
"""
PYTEST_BENCHMARK = """\
{"machine_info": {"node": "node7"}, "commit_info": {}, "benchmarks": [
  {"group": null, "name": "test_sum[10-cg]", "params": {"n": 10, "solver": "cg"},
   "stats": {"mean": 2e-5, "rounds": 2, "data": [1e-5, 3e-5]}},
  {"group": null, "name": "test_sum[20-cg]", "params": {"n": 20, "solver": "cg"}, "stats": {"mean": 4e-5, "rounds": 9}}
], "version": "5.1.0"}
"""
REFRAME_REPORT = """\
{"session_info": {"data_version": "4.2"}, "runs": [{"run_index": 0, "testcases": [
  {"display_name": "Pi %n=10", "name": "Pi %n=10", "result": "pass", "system": "daint", "partition": "gpu",
   "environ": "gnu", "num_tasks": 4, "perfvalues": {"daint:gpu:elapsed": [1.25, 0, null, null, "s", "pass"]}},
  {"display_name": "Pi %n=20", "name": "Pi %n=20", "result": "pass", "system": "daint", "partition": "gpu",
   "environ": "gnu", "num_tasks": 4, "perfvalues": {"daint:gpu:rate": [7, 0, null, null, "op/s"]}},
  {"display_name": "Pi %n=30", "name": "Pi %n=30", "result": "fail"}
]}]}
"""
REFRAME_PERFLOG = """\
result|job_completion_time|display_name|system|partition|environ|num_tasks|elapsed_value|elapsed_unit|elapsed_ref
pass|2026-11-21T05:17:43|Pi %n=10|daint|gpu|gnu|4|1.25|s|0
pass|2026-11-21T05:18:43|Pi %n=20|daint|gpu|gnu|null|2.5|s|0
fail|2026-11-21T05:19:43|Pi %n=30|daint|gpu|gnu|4|null|s|0
"""
JUBE_PRETTY = """\
result:
| ntasks | time_s | note |
|--------|--------|------|
|      1 |   8.25 |    a |
|      2 |    4.5 |      |
"""
JUBE_ALIGNED = "number | time_s\n-------+-------\n     1 |   2.50\n     2 |   1.25\n"
SACCT = """\
JobID|JobName|Partition|State|Elapsed|NNodes|NCPUS
17|solver|batch|COMPLETED|1-02:03:04|2|64
17.batch|batch||COMPLETED|1-02:03:04|1|32
18|solver|batch|CANCELLED by 1000|00:01:00|1|32
19|a|b|COMPLETED|00:30|1|16
"""
SACCT_XDMOD = (
    "4107219|4107219|hpc|general|qos|acct|group|456|user|101|2015-06-26T20:22:22|2015-06-26T20:22:22|"
    "2015-06-30T12:04:04|2015-07-01T02:04:53|14:00:49|0:0|COMPLETED|4|48|48|3000Mc|cpu=48|billing=48|14:20:00|n[1-4]|job|x\n"
)
SACCT_JSON = """\
{"jobs": [
  {"job_id": 8, "name": "a", "cluster": "hpc", "partition": "p", "account": "x", "allocation_nodes": 2,
   "derived_exit_code": {"status": "SUCCESS"}, "state": {"current": "COMPLETED", "reason": "None"},
   "time": {"elapsed": 60, "start": 1}, "tres": {"allocated": [{"type": "cpu", "name": "", "count": 8}]}},
  {"job_id": 9, "name": "a", "cluster": "hpc", "allocation_nodes": {"set": true, "infinite": false, "number": 4},
   "state": {"current": ["COMPLETED"]}, "time": {"elapsed": 40}, "tres": {"allocated": []}}
 ], "meta": {}, "errors": []}
"""
NPB = """\
 NAS Parallel Benchmarks 3.4 -- LU Benchmark

 Size:   12x  12x  12  (class S)

 LU Benchmark Completed.
 Class           =                        S
 Size            =             12x 12x  12
 Iterations      =                       50
 Time in seconds =                     0.25
 Total processes =                        4
 Mop/s total     =                   412.50
 Verification    =               SUCCESSFUL
 Version         =                    3.4.3

 Compile options:
    FFLAGS       = -O3
"""
IMB = """\
#    Intel(R) MPI Benchmarks 2019 Update 6, MPI-1 part
# Benchmarking PingPong
# #processes = 2
#---------------------------------------------------
       #bytes #repetitions      t[usec]   Mbytes/sec
            0         1000         2.25         0.00
            8         1000         2.50         3.20
           16 out-of-mem.; needed X=   1.001 GB

# Benchmarking Allreduce
# #processes = 4
       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]
            4         1000         1.50         3.50         2.50
"""
OSU = """\
# OSU MPI Allreduce Latency Test v7.0
# Datatype: MPI_CHAR.
# Size       Avg Latency(us)   Min Latency(us)   Max Latency(us)  Iterations
1                      86.56             21.32            126.27        1000
2                      87.98             21.39            128.87        1000

# OSU MPI Bandwidth Test v7.0
# Size      Bandwidth (MB/s)
1                       3.45
"""
# Tables without sizes, with pairs, with a heading that is no comment, and no table at all.
OSU_OTHERS = """\
# OSU MPI Init Test v5.6.2
nprocs: 4, min: 67 ms, max: 69 ms, avg: 68 ms

# OSU MPI Barrier Latency Test v5.8
# Avg Latency(us)
             8.63

real\t0m7.832s
# OSU MPI Multiple Bandwidth / Message Rate Test v7.5.2
# [ pairs: 4 ] [ window size: 64 ]
# Datatype: MPI_CHAR.
# Size                  MB/s        Messages/s
1                       8.36        8361985.11

# OSU MPI Non-blocking Barrier Latency Test v5.6.3
# Overall = Coll. Init + Compute + MPI_Test + MPI_Wait

       Overall(us)       Compute(us)    Pure Comm.(us)        Overlap(%)
              11.09              6.10              5.18              3.46
"""
STREAM = """\
-------------------------------------------------------------
STREAM version $Revision: 5.10 $
-------------------------------------------------------------
Array size = 10000000 (elements), Offset = 0 (elements)
Number of Threads requested = 4
Number of Threads counted = 4
-------------------------------------------------------------
Function    Best Rate MB/s  Avg time     Min time     Max time
Copy:           28347.1     0.005703     0.005644     0.005780
Triad:          21634.4     0.011211     0.011093     0.011410
-------------------------------------------------------------
Solution Validates: avg error less than 1.000000e-13 on all three arrays
"""
BABELSTREAM = """\
BabelStream
Version: 4.0
Running kernels 100 times
Function    MBytes/sec  Min (sec)   Max         Average
Copy        1368294.603 0.00039     0.00040     0.00039
"""
NCCL_TESTS = """\
# nThread 1 nGpus 2 minBytes 0 maxBytes 1048576 step: 2(factor) warmup iters: 5 iters: 20 agg iters: 1 validation: 1
#  Rank  0 Group  0 Pid  12345 on      node01 device  0 [0x07] NVIDIA A100-SXM4-40GB
#  Rank  1 Group  0 Pid  12345 on      node01 device  1 [0x0f] NVIDIA A100-SXM4-40GB
#                                                              out-of-place                       in-place
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
           0             0     float     sum      -1     0.25    0.00    0.00      0     0.25    0.00    0.00      0
        1024           256     float     sum      -1    24.50    0.04    0.07      0    23.50    0.04    0.07      3
     1048576        262144     float     sum      -1    60.25   17.40   30.45      0      N/A     N/A     N/A    N/A
# Avg bus bandwidth    : 7.63
"""
GO_BENCH = """\
goos: linux
pkg: example.com/sort
cpu: Intel(R) Xeon(R) CPU @ 2.20GHz
BenchmarkSort/n=100/stable-8     \t   10000\t    101234 ns/op\t  12.50 MB/s\t      64 B/op\t       2 allocs/op
BenchmarkSort/n=100/stable-8     \t   10000\t    101236 ns/op\t  12.50 MB/s\t      64 B/op\t       2 allocs/op
a line that the program printed
BenchmarkSort/n=1000/stable-8    \t    1000\t   1412340 ns/op
BenchmarkRounds-8                \t       1\t        12.0 rounds
PASS
"""
JMH = """\
[{"jmhVersion": "1.36", "benchmark": "org.sample.Sum.sum", "mode": "avgt", "threads": 1, "forks": 2,
  "params": {"n": "100"}, "primaryMetric": {"score": 12.5, "scoreError": "NaN", "scoreUnit": "us/op",
   "rawData": [[12.0, 12.5], [13.0]]}, "secondaryMetrics": {}},
 {"jmhVersion": "1.36", "benchmark": "org.sample.Sum.sum", "mode": "sample", "threads": 1, "forks": 1,
  "params": {"n": "200"}, "primaryMetric": {"score": 25.0, "scoreError": 0.3, "scoreUnit": "us/op",
   "rawDataHistogram": [[[[24.0, 3], [28.0, 1]]]]}, "secondaryMetrics": {}}]
"""
VLLM = """\
{"date": "20250801-101010", "backend": "vllm", "model_id": "tiny", "tokenizer_id": "tiny", "num_prompts": 2,
 "request_rate": 4.0, "max_concurrency": null, "duration": 2.5, "completed": 2, "request_throughput": 0.8,
 "output_throughput": 2.0, "total_token_throughput": 14.0, "input_lens": [10, 20], "output_lens": [3, 2],
 "ttfts": [0.25, 0.5], "itls": [[0.125, 0.125], [0.25]], "errors": ["", ""],
 "mean_ttft_ms": 375.0, "p99_ttft_ms": 497.5}
"""
IOR = """\
{"Version": "3.3.0", "Began": "Thu Jan  1 00:00:00 2026", "Command line": "ior -O summaryFormat=JSON",
 "Machine": "Linux node7", "tests": [{"TestID": 0, "StartTime": "x", "Options": {"api": "POSIX",
  "access": "single-shared-file", "nodes": 2, "tasks": 8, "clients per node": 4, "segments": 1, "repetitions": 2,
  "Results": [[
   {"access": "write", "bwMiB": 512.5, "blockKiB": 1024, "xferKiB": 256, "iops": 2050, "latency": 0.001,
    "openTime": 0.1, "wrRdTime": 1.5, "closeTime": 0.01, "totalTime": 1.61},
   {"access": "read", "bwMiB": 1024, "blockKiB": 1024, "xferKiB": 256, "openTime": 0.1, "wrRdTime": 0.75,
    "closeTime": 0.01, "totalTime": 0.86}]]}}],
 "summary": [], "Finished": "x"}
"""
IOR_TEXT = """\
IOR-3.3.0: MPI Coordinated Test of Parallel I/O
Command line        : ior -i 2
TestID              : 0

Options:
api                 : POSIX
test filename       : testFile
access              : single-shared-file
segments            : 1
nodes               : 2
tasks               : 8
clients per node    : 4
repetitions         : 2

Results:

access    bw(MiB/s)  IOPS       Latency(s)  block(KiB) xfer(KiB)  open(s)    wr/rd(s)   close(s)   total(s)   iter
------    ---------  ----       ----------  ---------- ---------  --------   --------   --------   --------   ----
Commencing write performance test: Thu Jan  1 00:00:00 2026
write     512.50     2050       0.001000    1024.00    256.00     0.100000   1.50       0.010000   1.61       0
read      1024       4096       0.000500    1024.00    256.00     0.100000   0.750000   0.010000   0.860000   0
remove    -          -          -           -          -          -          -          -          0.000564   0
write     500.00     2000       0.001000    1024.00    256.00     0.100000   1.60       0.010000   1.71       1
Max Write: 512.50 MiB/sec (537.40 MB/sec)

Summary of all tests:
Operation   Max(MiB)   Min(MiB)  Mean(MiB)     StdDev   Max(OPs)   Min(OPs)  Mean(OPs)     StdDev    Mean(s) Test#
write         512.50     500.00     506.25       6.25    2050.00    2000.00    2025.00      25.00    1.66000     0
"""
IOR_CSV = """\
access,bw(MiB/s),IOPS,Latency,block(KiB),xfer(KiB),open(s),wr/rd(s),close(s),total(s),iter
write,436.5474,228841.8502,0.0000,2048.0000,2.0000,0.0001,0.0045,0.0000,0.0046,0
read,2367.9204,1220176.2821,0.0000,2048.0000,2.0000,0.0000,0.0008,0.0000,0.0008,0
"""
FIO = """\
{"fio version": "fio-3.33", "global options": {"bs": "64k", "numjobs": "4"}, "jobs": [
  {"jobname": "t", "groupid": 0, "error": 0, "job options": {"rw": "write", "size": "4M", "iodepth": "2"},
   "read": {"io_bytes": 0, "bw_bytes": 0, "iops": 0.0, "runtime": 0, "total_ios": 0, "lat_ns": {"mean": 0.0}},
   "write": {"io_bytes": 4194304, "bw_bytes": 1000, "iops": 64.5, "runtime": 12, "total_ios": 64,
    "lat_ns": {"mean": 15.5}}}]}
"""
EXTRAP_JSON_OLDER = """\
{"callpaths": [{"id": 1, "name": "sweep"}], "metrics": [{"id": 1, "name": "time"}],
 "parameters": [{"id": 1, "name": "x"}],
 "coordinates": [{"id": 1, "parameter_value_pairs": [{"parameter_id": 1, "parameter_value": 4}]},
  {"id": 2, "parameter_value_pairs": [{"parameter_id": 1, "parameter_value": 8}]}],
 "measurements": [{"callpath_id": 1, "coordinate_id": 1, "id": 1, "metric_id": 1, "value": 3.5},
  {"callpath_id": 1, "coordinate_id": 2, "id": 2, "metric_id": 1, "value": 5}]}
"""
EXTRAP_JSON = """\
{"parameters": ["x", "y"], "measurements": {"main->a": {"time": [
  {"point": [1, 10], "values": [1.5, 2]}, {"point": [2, 10], "values": [3]}]}}}
"""
CALIPER = """\
__rec=node,id=12,attr=10,data=64,parent=3
__rec=node,id=13,attr=8,data=attribute.alias,parent=12
__rec=node,id=14,attr=8,data=attribute.unit,parent=12
__rec=node,id=63,attr=14,data=sec,parent=5
__rec=node,id=70,attr=13,data=Avg time/rank,parent=63
__rec=node,id=71,attr=10,data=65,parent=70
__rec=node,id=72,attr=8,data=avg#inclusive#sum#time.duration,parent=71
__rec=node,id=31,attr=10,data=268,parent=3
__rec=node,id=32,attr=8,data=region,parent=31
__rec=node,id=33,attr=32,data=main
__rec=ctx,ref=33,attr=72,data=4.5
__rec=node,id=34,attr=32,data=solve,parent=33
__rec=ctx,ref=34,attr=72,data=3.25
__rec=node,id=40,attr=10,data=1612,parent=2
__rec=node,id=41,attr=8,data=mpi.world.size,parent=40
__rec=node,id=42,attr=41,data=8
__rec=globals,ref=42
"""


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


EXTRAP_MEANS = """\
{"Extra-P": "4.2.0", "scaling": null, "parameters": ["x", "y"], "measurements": {"main->a": {"time": [
{"coordinate": [1.0, 10.0], "median": 1.5, "mean": 1.75, "minimum": 1.5, "maximum": 2.0, "std": 0.25,
 "repetitions": 2, "values": null},
{"coordinate": [2.0, 10.0], "median": 3.0, "mean": 3.0, "std": "nan"}]}}, "modelers": []}
"""
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
LAMMPS = """LAMMPS (2 Aug 2023)
Loop time of 10.5 on 4 procs for 100 steps with 32000 atoms
Section |  min time  |  avg time  |  max time  |%varavg| %total
---------------------------------------------------------------
Pair    | 8.1        | 8.9        | 9.7        |  12.1 | 80.00
"""
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
