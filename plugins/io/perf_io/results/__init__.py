"""Readers of what benchmark tools, profilers and schedulers leave: one row for each run, or for each part of one."""

from perfcore.hooks.specs import Register

__all__ = ["register_results"]

_FORMATS = "perfcore[formats]"


def register_results(register: Register) -> None:
    """Announce the readers of this package."""
    register(
        "google-benchmark",
        "perf_io.results.google_benchmark:GoogleBenchmarkReader",
        help="Google Benchmark, --benchmark_out",
        suffixes=(".json",),
    )
    register(
        "hyperfine",
        "perf_io.results.hyperfine:HyperfineReader",
        help="hyperfine, --export-json",
        suffixes=(".json",),
    )
    register(
        "pytest-benchmark",
        "perf_io.results.pytest_benchmark:PytestBenchmarkReader",
        help="pytest-benchmark, --benchmark-json",
        suffixes=(".json",),
    )
    register(
        "reframe",
        "perf_io.results.reframe_report:ReframeReportReader",
        help="reports of ReFrame",
        suffixes=(".json",),
    )
    register(
        "reframe-perflog",
        "perf_io.results.reframe_perflog:ReframePerflogReader",
        help="logs of performance of ReFrame",
        suffixes=(".log", ".txt", ".csv"),
    )
    register("jube", "perf_io.results.jube:JubeReader", help="tables of JUBE", suffixes=(".dat", ".txt"))
    register("ramble", "perf_io.results.ramble:RambleReader", help="results of Ramble", suffixes=(".json",))
    register(
        "sacct",
        "perf_io.results.sacct:SacctReader",
        options="perf_io.results.options:SacctOptions",
        help="jobs of Slurm, by sacct --parsable2 or --json",
        suffixes=(".json", ".log", ".txt", ".csv"),
    )
    register(
        "perf-stat",
        "perf_io.results.perf_stat:PerfStatReader",
        help="counts of Linux's perf, by perf stat -x, or -j",
        suffixes=(".json", ".csv", ".txt", ".log"),
    )
    register("npb", "perf_io.results.npb:NpbReader", help="NAS Parallel Benchmarks", suffixes=(".out", ".log", ".txt"))
    register(
        "imb",
        "perf_io.results.imb:ImbReader",
        options="perf_io.results.options:MessageOptions",
        help="Intel MPI Benchmarks",
        suffixes=(".out", ".log", ".txt"),
    )
    register(
        "osu",
        "perf_io.results.osu:OsuReader",
        options="perf_io.results.options:MessageOptions",
        help="OSU Micro-Benchmarks",
        suffixes=(".out", ".log", ".txt"),
    )
    register(
        "ior",
        "perf_io.results.ior:IorReader",
        help="IOR, as text, JSON or CSV",
        suffixes=(".json", ".out", ".log", ".txt", ".csv"),
    )
    register(
        "stream",
        "perf_io.results.stream:StreamReader",
        help="STREAM and BabelStream",
        suffixes=(".out", ".log", ".txt"),
    )
    register(
        "nccl-tests",
        "perf_io.results.nccl_tests:NcclTestsReader",
        options="perf_io.results.options:MessageOptions",
        help="nccl-tests and rccl-tests",
        suffixes=(".out", ".log", ".txt"),
    )
    register(
        "go-bench",
        "perf_io.results.go_bench:GoBenchReader",
        help="Go's benchmarks, go test -bench",
        suffixes=(".txt", ".out", ".log"),
    )
    register("jmh", "perf_io.results.jmh:JmhReader", help="JMH of Java, -rf json", suffixes=(".json",))
    register(
        "vllm",
        "perf_io.results.vllm:VllmReader",
        options="perf_io.results.options:ServingOptions",
        help="vLLM's benchmark of serving",
        suffixes=(".json",),
    )
    register(
        "mlperf-log",
        "perf_io.results.mlperf_log:MlperfLogReader",
        help="logs of MLPerf, :::MLLOG",
        suffixes=(".log", ".txt", ".out"),
    )
    register("fio", "perf_io.results.fio:FioReader", help="fio, --output-format=json", suffixes=(".json",))
    register(
        "extrap-json",
        "perf_io.results.extrap_json:ExtrapJsonReader",
        help="JSON documents of Extra-P",
        suffixes=(".json",),
    )
    register(
        "extrap-archive",
        "perf_io.results.extrap_archive:ExtrapArchiveReader",
        help="saved experiments of Extra-P 4",
        suffixes=(".extra-p",),
    )
    register("talp", "perf_io.results.talp:TalpReader", help="efficiencies of TALP (DLB), JSON", suffixes=(".json",))
    register(
        "model-factors",
        "perf_io.results.model_factors:ModelFactorsReader",
        help="POP factors of BSC's basicanalysis",
        suffixes=(".csv",),
    )
    register(
        "caliper",
        "perf_io.results.caliper:CaliperProfileReader",
        options="perf_io.results.options:ProfileOptions",
        help="profiles of Caliper",
        extra=_FORMATS,
        suffixes=(".cali",),
    )
    register(
        "cube",
        "perf_io.results.cube:CubeReader",
        options="perf_io.results.options:ProfileOptions",
        help="Cube profiles of Score-P, one or a series",
        extra=_FORMATS,
        suffixes=(".cubex",),
    )
