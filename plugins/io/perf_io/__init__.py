"""Readers of the formats in which traces, curves, series and tables come."""

from typing import NamedTuple

from perfcore import hookimpl
from perfcore.hooks.specs import Register

_FORMATS = "perfcore[formats]"
_TEXT = (".out", ".log", ".txt")


class _Format(NamedTuple):
    """One reader: its class and its options, in modules of this package."""

    name: str
    target: str
    help: str
    suffixes: tuple[str, ...]
    options: str | None = None
    extra: str | None = None


_READERS = (
    _Format(
        "csv", "tables.csv:CsvReader", "tables of text: curves, traces, time series", (".csv", ".tsv", ".txt"),
        "options:TextTableOptions",
    ),
    _Format(
        "parquet", "tables.parquet:ParquetReader", "Parquet: curves, traces, time series", (".parquet", ".pq"),
        "options:TableOptions",
    ),
    _Format(
        "pj_dump", "traces.pj_dump:PjDumpReader", "states printed by pj_dump or StarVZ", (".csv",),
        "options:PjDumpOptions",
    ),
    _Format("paje", "traces.paje:PajeReader", "Pajé traces", (".trace", ".paje"), "options:PajeOptions"),
    _Format("paraver", "traces.paraver:ParaverReader", "Paraver traces, with their .pcf", (".prv",)),
    _Format("picl", "traces.picl:PiclReader", "PICL traces, new and old format", (".trf", ".picl")),
    _Format(
        "mpstat", "sysstat:MpstatReader", "processors, by mpstat -o JSON", (".json",),
        "options:CpuOptions",
    ),
    _Format(
        "sadf", "sysstat:SadfReader", "processors, by sadf -j or sadf -d of sysstat", (".json", ".txt", ".csv"),
        "options:CpuOptions",
    ),
    _Format(
        "prometheus", "prometheus:PrometheusReader", "answers of Prometheus to range queries", (".json",)
    ),
    _Format("extrap", "results.extrap:ExtrapTextReader", "text format of Extra-P", (".extrap", ".txt")),
    _Format("extrap-lines", "results.extrap:ExtrapLinesReader", "JSON Lines of Extra-P", (".jsonl",)),
    _Format(
        "google-benchmark", "results.json_results:GoogleBenchmarkReader", "Google Benchmark, --benchmark_out",
        (".json",),
    ),
    _Format("hyperfine", "results.json_results:HyperfineReader", "hyperfine, --export-json", (".json",)),
    _Format(
        "pytest-benchmark", "results.json_results:PytestBenchmarkReader", "pytest-benchmark, --benchmark-json",
        (".json",),
    ),
    _Format("reframe", "results.json_results:ReframeReportReader", "reports of ReFrame", (".json",)),
    _Format(
        "reframe-perflog", "results.text_results:ReframePerflogReader", "logs of performance of ReFrame",
        (".log", ".txt", ".csv"),
    ),
    _Format("jube", "results.text_results:JubeReader", "tables of JUBE", (".dat", ".txt")),
    _Format("ramble", "results.json_results:RambleReader", "results of Ramble", (".json",)),
    _Format(
        "sacct", "results.accounting:SacctReader", "jobs of Slurm, by sacct --parsable2 or --json",
        (".json", ".log", ".txt", ".csv"), "options:SacctOptions",
    ),
    _Format(
        "perf-stat", "results.accounting:PerfStatReader", "counts of Linux's perf, by perf stat -x, or -j",
        (".json", ".csv", ".txt", ".log"),
    ),
    _Format("npb", "results.text_results:NpbReader", "NAS Parallel Benchmarks", _TEXT),
    _Format(
        "imb", "results.text_results:ImbReader", "Intel MPI Benchmarks", _TEXT, "options:MessageOptions"
    ),
    _Format(
        "osu", "results.text_results:OsuReader", "OSU Micro-Benchmarks", _TEXT, "options:MessageOptions"
    ),
    _Format("ior", "results.text_results:IorReader", "IOR, as text, JSON or CSV", (".json", *_TEXT, ".csv")),
    _Format("stream", "results.text_results:StreamReader", "STREAM and BabelStream", _TEXT),
    _Format(
        "nccl-tests", "results.text_results:NcclTestsReader", "nccl-tests and rccl-tests", _TEXT,
        "options:MessageOptions",
    ),
    _Format("go-bench", "results.text_results:GoBenchReader", "Go's benchmarks, go test -bench", _TEXT),
    _Format("jmh", "results.json_results:JmhReader", "JMH of Java, -rf json", (".json",)),
    _Format(
        "vllm", "results.json_results:VllmReader", "vLLM's benchmark of serving", (".json",),
        "options:ServingOptions",
    ),
    _Format("mlperf-log", "results.text_results:MlperfLogReader", "logs of MLPerf, :::MLLOG", _TEXT),
    _Format("fio", "results.json_results:FioReader", "fio, --output-format=json", (".json",)),
    _Format("extrap-json", "results.extrap:ExtrapJsonReader", "JSON documents of Extra-P", (".json",)),
    _Format(
        "extrap-archive", "results.extrap:ExtrapArchiveReader", "saved experiments of Extra-P 4", (".extra-p",)
    ),
    _Format("talp", "results.json_results:TalpReader", "efficiencies of TALP (DLB), JSON", (".json",)),
    _Format(
        "model-factors", "results.text_results:ModelFactorsReader", "POP factors of BSC's basicanalysis", (".csv",)
    ),
    _Format(
        "caliper", "caliper:CaliperProfileReader", "profiles of Caliper", (".cali",),
        "options:ProfileOptions", _FORMATS,
    ),
    _Format(
        "cube", "results.cube:CubeReader", "Cube profiles of Score-P, one or a series", (".cubex",),
        "options:ProfileOptions", _FORMATS,
    ),
    _Format(
        "chrome", "traces.chrome:ChromeReader", "Chrome and Perfetto JSON, PyTorch's profiler", (".json",),
        "options:ChromeOptions",
    ),
    _Format(
        "otf2", "traces.otf2:Otf2Reader", "OTF2, by Score-P and others, also as tar", (".otf2", ".tar"), None, _FORMATS
    ),
    _Format(
        "projections", "traces.projections:ProjectionsReader", "Projections of Charm++, also as tar", (".sts", ".tar")
    ),
    _Format(
        "nsight", "traces.nsight:NsightReader", "Nsight Systems, its SQLite export", (".sqlite", ".db"),
        "options:NsightOptions",
    ),
    _Format(
        "caliper-trace", "caliper:CaliperTraceReader", "event traces of Caliper", (".cali",), None,
        _FORMATS,
    ),
)  # fmt: skip


@hookimpl
def register_kinds(register: Register) -> None:
    """Announce the kind of tables that say what a location does while it is in a state."""
    register(
        "class_tables",
        "perf_traces.states:ClassTable",
        help="classes of states by name: the path of a TOML file, asked before the standard one",
    )


@hookimpl
def register_class_tables(register: Register) -> None:
    """Announce the bundled table."""
    register("states", "perf_traces.states:STANDARD", help="states of the tracers and libraries that are known here")


@hookimpl
def register_classifiers(register: Register) -> None:
    """Announce which states compute."""
    register("class-tables", "perf_traces.states:computing_states", help="computing by the tables of classes")


@hookimpl
def register_joins(register: Register) -> None:
    """Announce what makes one table of measurements in several files."""
    register(
        "perfcore.data.measurements:Measurements",
        "perf_io.joining:join_measurements",
        help="tables with what the names of the files say as further columns",
    )
    register(
        "perfcore.data.trace:Trace",
        "perf_traces.runs:join_traces",
        options="perf_traces.options:TraceOptions",
        help="which locations and which part of a run; of several runs what their curves are together",
    )


@hookimpl
def register_readers(register: Register) -> None:
    """Announce the bundled readers."""
    for reader in _READERS:
        register(
            reader.name,
            f"perf_io.{reader.target}",
            options=None if reader.options is None else f"perf_io.{reader.options}",
            help=reader.help,
            extra=reader.extra,
            suffixes=reader.suffixes,
        )
