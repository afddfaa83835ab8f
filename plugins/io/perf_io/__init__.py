"""Readers of the formats in which traces, curves, series and tables come."""

from perfcore import hookimpl
from perfcore.hooks.specs import Register

_TEXT = ".out .log .txt"
_NEED_LIBRARIES = {"otf2", "caliper", "caliper-json", "cube"}

# Name, class, endings, description, and the class of its options in `perf_io.options`.
_READERS = (
    ("csv", "perf_io.tables.csv:CsvReader", ".csv .tsv .txt",
     "tables of text: curves, traces, time series", "TextTableOptions"),
    ("parquet", "perf_io.tables.typed_tables:ParquetReader", ".parquet .pq",
     "Parquet: curves, traces, time series", "TableOptions"),
    ("json-records", "perf_io.tables.typed_tables:JsonRecordsReader", ".jsonl .ndjson .json",
     "records in JSON, one in a line or in an array", "TableOptions"),
    ("pj_dump", "perf_io.traces.pj_dump:PjDumpReader", ".csv", "states printed by pj_dump or StarVZ", "PjDumpOptions"),
    ("paje", "perf_io.traces.paje:PajeReader", ".trace .paje", "Pajé traces", "PajeOptions"),
    ("paraver", "perf_io.traces.paraver:ParaverReader", ".prv", "Paraver traces, with their .pcf", None),
    ("picl", "perf_io.traces.picl:PiclReader", ".trf .picl", "PICL traces", None),
    ("mpstat", "perf_io.monitors:MpstatReader", ".json", "processors, by mpstat -o JSON", "CpuOptions"),
    ("sadf", "perf_io.monitors:SadfReader", ".json .txt .csv",
     "processors, by sadf -j or sadf -d of sysstat", "CpuOptions"),
    ("prometheus", "perf_io.monitors:PrometheusReader", ".json", "answers of Prometheus to range queries", None),
    ("extrap", "perf_io.results.extrap:ExtrapTextReader", ".extrap .txt", "text format of Extra-P", None),
    ("extrap-lines", "perf_io.results.extrap:ExtrapLinesReader", ".jsonl", "JSON Lines of Extra-P", None),
    ("google-benchmark", "perf_io.results.json_results:GoogleBenchmarkReader", ".json .csv .txt",
     "Google Benchmark, --benchmark_out", None),
    ("hyperfine", "perf_io.results.json_results:HyperfineReader", ".json .csv .md",
     "hyperfine, --export-json or --export-csv", None),
    ("pytest-benchmark", "perf_io.results.json_results:PytestBenchmarkReader", ".json .csv",
     "pytest-benchmark, --benchmark-json", None),
    ("reframe", "perf_io.results.reframe:ReframeReportReader", ".json", "reports of ReFrame", None),
    ("reframe-perflog", "perf_io.results.reframe:ReframePerflogReader", ".log .txt .csv",
     "logs of performance of ReFrame", None),
    ("jube", "perf_io.results.text_results:JubeReader", ".dat .txt", "tables of JUBE", None),
    ("sacct", "perf_io.results.accounting:SacctReader", ".json .log .txt .csv",
     "jobs of Slurm, by sacct --parsable2 or --json", "SacctOptions"),
    ("perf-stat", "perf_io.results.accounting:PerfStatReader", ".json .csv .txt .log",
     "counts of Linux's perf, by perf stat -x, or -j", None),
    ("npb", "perf_io.results.text_results:NpbReader", _TEXT, "NAS Parallel Benchmarks", None),
    ("imb", "perf_io.results.text_results:ImbReader", _TEXT, "Intel MPI Benchmarks", "MessageOptions"),
    ("osu", "perf_io.results.text_results:OsuReader", _TEXT, "OSU Micro-Benchmarks", "MessageOptions"),
    ("ior", "perf_io.results.text_results:IorReader", ".json .out .log .txt .csv", "IOR, as text, JSON or CSV", None),
    ("stream", "perf_io.results.text_results:StreamReader", _TEXT, "STREAM and BabelStream", None),
    ("nccl-tests", "perf_io.results.text_results:NcclTestsReader", _TEXT,
     "nccl-tests and rccl-tests", "MessageOptions"),
    ("go-bench", "perf_io.results.text_results:GoBenchReader", _TEXT, "Go's benchmarks, go test -bench", None),
    ("jmh", "perf_io.results.json_results:JmhReader", ".json .csv", "JMH of Java, -rf json or csv", None),
    ("vllm", "perf_io.results.json_results:VllmReader", ".json", "vLLM's benchmark of serving", "ServingOptions"),
    ("fio", "perf_io.results.json_results:FioReader", ".json", "fio, --output-format=json", None),
    ("extrap-json", "perf_io.results.extrap:ExtrapJsonReader", ".json", "JSON documents of Extra-P", None),
    ("extrap-archive", "perf_io.results.extrap:ExtrapArchiveReader", ".extra-p",
     "saved experiments of Extra-P 4", None),
    ("talp", "perf_io.results.json_results:TalpReader", ".json", "efficiencies of TALP (DLB), JSON", None),
    ("model-factors", "perf_io.results.text_results:ModelFactorsReader", ".csv",
     "POP factors of BSC's basicanalysis", None),
    ("caliper", "perf_io.caliper:CaliperProfileReader", ".cali", "profiles of Caliper", "ProfileOptions"),
    ("caliper-json", "perf_io.caliper:CaliperJsonReader", ".json", "profiles of Caliper in JSON", "ProfileOptions"),
    ("criterion", "perf_io.results.json_results:CriterionReader", ".json .jsonl .txt",
     "criterion.rs, its estimates or cargo criterion --message-format=json", None),
    ("benchmark-action", "perf_io.results.json_results:BenchmarkActionReader", ".json .js",
     "github-action-benchmark, custom results and data", None),
    ("gnu-time", "perf_io.results.accounting:TimeReader", _TEXT,
     "times of commands, by time and /usr/bin/time -v", None),
    ("cube", "perf_io.results.cube:CubeReader", ".cubex",
     "Cube profiles of Score-P, one or a series", "ProfileOptions"),
    ("chrome", "perf_io.traces.chrome:ChromeReader", ".json",
     "Chrome and Perfetto JSON, PyTorch's profiler", "GpuOptions"),
    ("otf2", "perf_io.traces.otf2:Otf2Reader", ".otf2 .tar", "OTF2, by Score-P and others, also as tar", None),
    ("projections", "perf_io.traces.projections:ProjectionsReader", ".sts .tar",
     "Projections of Charm++, also as tar", None),
    ("nsight", "perf_io.traces.nsight:NsightReader", ".sqlite .db",
     "Nsight Systems, its SQLite export", "GpuOptions"),
    ("rocprofv3", "perf_io.traces.rocprofv3:RocprofReader", ".json",
     "rocprofv3 of ROCm, --output-format json", "GpuOptions"),
    ("gpu-tables", "perf_io.traces.gpu_tables:GpuTableReader", ".csv",
     "events of GPUs in CSV, by rocprofv3 and nsys stats", "GpuOptions"),
    ("gpu-sums", "perf_io.traces.gpu_tables:GpuSummaryReader", ".csv .txt .log .out",
     "times by kernel, by nsys stats, rocprof and PyTorch's profiler", None),
    ("benchmark-lines", "perf_io.results.benchmark_tools:BenchmarkLinesReader", ".txt .log .out",
     "lines of cargo bench: libtest and criterion.rs", None),
    ("benchmark-tables", "perf_io.results.benchmark_tools:BenchmarkTableReader", ".csv",
     "CSV of BenchmarkDotNet and Node.js's compare.js", None),
    ("lammps", "perf_io.results.program_logs:LammpsReader", _TEXT + " .lammps", "logs of LAMMPS", None),
    ("gromacs", "perf_io.results.program_logs:GromacsReader", _TEXT, "logs of GROMACS, md.log", None),
    ("hpl", "perf_io.results.program_logs:HplReader", _TEXT, "output of HPL", None),
    ("mlperf", "perf_io.results.program_logs:MlperfReader", _TEXT, "logs of MLPerf training", None),
    ("benchmark-reports", "perf_io.results.program_logs:FiguresReader", _TEXT,
     "reports of sysbench, wrk, ab, hey and HPCG", None),
    ("iperf3", "perf_io.results.json_results:IperfReader", ".json", "iperf3, --json", None),
    ("pyperf", "perf_io.results.benchmark_tools:PyperfReader", ".json", "pyperf, JSON", None),
    ("julia-benchmarks", "perf_io.results.benchmark_tools:JuliaBenchmarksReader", ".json",
     "BenchmarkTools.jl, JSON", None),
    ("xplane", "perf_io.traces.xplane:XplaneReader", ".pb", "XPlane of JAX and TensorFlow", "GpuOptions"),
)  # fmt: skip

# What the first bytes of every such file hold; only readers whose signature a file has are imported. Of any text: csv.
_SIGNATURES = {
    "parquet": r"\APAR1",
    "json-records": r'\A(?:\xef\xbb\xbf)?\s*(?:\[|\{[^\n]*\}[ \t\r]*\n|\{[^\[]*"\s*:\s*\[\s*\{)',
    "pj_dump": r"\A\W*(?i:state|nature|container|variable|event|link|worker|resourceid)",
    "paje": r"%EventDef",
    "paraver": r"\A#Paraver",
    "picl": r"\A\s*-\d+\s+-?\d+\s",
    "mpstat": r'"sysstat"',
    "sadf": r'"sysstat"|\A# ?hostname',
    "prometheus": r'"status"',
    "extrap": r"PARAMETER[ \t]",
    "extrap-lines": r'"params"',
    "google-benchmark": r'"(?:context|benchmarks)"|real_time,cpu_time|Benchmark +Time +CPU',
    "hyperfine": r'"results"|command,mean,stddev|\| *Command *\|',
    "pytest-benchmark": r'"machine_info"|\Aname,(?:param:|min,)',
    "reframe": r'"session_info"',
    "reframe-perflog": r"job_completion_time",
    "jube": r"---",
    "sacct": r'(?i)\A\W*job|"(?:jobs|meta)"|\|[0-9]+:[0-9]+\|',
    "perf-stat": r"counter-value|[\d>] *[,;|\t:] *[A-Za-z%/]* *[,;|\t:] *[A-Za-z][\w.:/=,-]* *[,;|\t:]",
    "npb": r"NAS Parallel Benchmarks",
    "imb": r"Intel\(R\) MPI Benchmarks|Benchmarking \w",
    "osu": r"# *OSU|OSU ",
    "ior": r'IOR-|bw\(MiB/s\)|"Version"',
    "stream": r"STREAM version|Function ",
    "nccl-tests": r"nccl-tests|nThread|busbw",
    "go-bench": r"(?m)^Benchmark\S*[ \t]+[0-9]",
    "jmh": r'"jmhVersion"|"benchmark" *:|\A"Benchmark","Mode"',
    "vllm": r'"num_prompts"',
    "fio": r'"fio version"',
    "extrap-json": r'\A\s*\{\s*"(?:callpaths|coordinates|measurements|metrics|parameters)"',
    "extrap-archive": r"\APK",
    "talp": r'"(?:popMetrics|dlbVersion)"',
    "model-factors": r"Number of processes",
    "caliper": r"__rec=",
    "caliper-json": r'\A\s*(?:\{\s*"data"|\[\s*\{[^{}]*"(?:path|[\w.#]*duration[\w.#]*|annotation|function)"\s*:)',
    "criterion": r'"(?:reason|sampling_mode|confidence_interval)"',
    "benchmark-action": r'"(?:value|entries)"|\A\s*window\.BENCHMARK_DATA',
    "gnu-time": r"Elapsed \(wall clock\)|(?m:^real\s)|[0-9]user ",
    "cube": r"ustar",
    "chrome": r'"(?:traceEvents|ph|displayTimeUnit|distributedInfo|deviceProperties|systemTraceEvents)"',
    "otf2": r"\A\x03B|ustar",
    "projections": r"\A(?:VERSION|PROJECTIONS|ver:)|ustar",
    "nsight": r"\ASQLite",
    "rocprofv3": r'"rocprofiler-sdk-tool"',
    "gpu-tables": r'Start_Timestamp|"?Start \(\w+\)"?,',
    "gpu-sums": r'\A"?Time ?\(%\)|TotalDuration|Self CPU',
    "benchmark-lines": r"\.\.\. bench:|time: +\[",
    "benchmark-tables": r'"?filename"?, ?"?configuration|Method',
    "lammps": r"LAMMPS \(|Loop time of",
    "gromacs": r"GROMACS|R E A L   C Y C L E",
    "hpl": r"T/V +N",
    "mlperf": r":::MLLOG",
    "benchmark-reports": r"(?m)^(?:sysbench \d|Running \d+\w* test @|This is ApacheBench|HPCG-Bench| +Requests/sec:)",
    "iperf3": r'"intervals"',
    "pyperf": r'"benchmarks"\s*:\s*\[\s*\{\s*"(?:metadata|runs)"',
    "julia-benchmarks": r'"BenchmarkTools"',
    "xplane": r"/(?:host|device):",
}


@hookimpl
def register_kinds(register: Register) -> None:
    """Announce the kind of tables that say what a location does while it is in a state."""
    register(
        "class_tables",
        "perf_traces.states:ClassTable",
        help="state classification by name: the path of a TOML file, asked before the standard one",
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
def register_readers(register: Register) -> None:
    """Announce the bundled readers."""
    for name, target, suffixes, help_, options in _READERS:
        register(
            name,
            target,
            options=options and f"perf_io.options:{options}",
            help=help_,
            extra="perfcore[formats]" if name in _NEED_LIBRARIES else None,
            suffixes=tuple(suffixes.split()),
            signature=_SIGNATURES.get(name, ""),
        )
