"""Readers of the formats in which traces, curves, series and tables come."""

from perfcore import hookimpl
from perfcore.hooks.specs import Register

_TEXT = ".out .log .txt"
_NEED_LIBRARIES = {"otf2", "caliper", "caliper-json", "cube"}

# Name, class, endings, description, and the class of its options in `perf_io.options`, if it has any.
_READERS: tuple[tuple[str, ...], ...] = (
    ("csv", "tables.csv:CsvReader", ".csv .tsv .txt",
     "tables of text: measurements, curves, traces", "TextTableOptions"),
    ("parquet", "tables.typed_tables:ParquetReader", ".parquet .pq",
     "Parquet: measurements, curves, traces", "TableOptions"),
    ("json-records", "tables.typed_tables:JsonRecordsReader", ".jsonl .ndjson .json",
     "records in JSON, one in a line or in an array", "TableOptions"),
    ("pj_dump", "traces.pj_dump:PjDumpReader", ".csv", "states printed by pj_dump or StarVZ", "PjDumpOptions"),
    ("paje", "traces.paje:PajeReader", ".trace .paje", "Pajé traces", "PajeOptions"),
    ("paraver", "traces.paraver:ParaverReader", ".prv", "Paraver traces, with their .pcf"),
    ("picl", "traces.picl:PiclReader", ".trf .picl", "PICL traces"),
    ("mpstat", "monitors:MpstatReader", ".json", "processors, by mpstat -o JSON", "CpuOptions"),
    ("sadf", "monitors:SadfReader", ".json .txt .csv", "processors, by sadf -j or sadf -d of sysstat", "CpuOptions"),
    ("prometheus", "monitors:PrometheusReader", ".json", "answers of Prometheus to range queries"),
    ("extrap", "results.extrap:ExtrapTextReader", ".extrap .txt", "text format of Extra-P"),
    ("extrap-lines", "results.extrap:ExtrapLinesReader", ".jsonl", "JSON Lines of Extra-P"),
    ("google-benchmark", "results.json_results:GoogleBenchmarkReader", ".json .csv .txt",
     "Google Benchmark, --benchmark_out"),
    ("hyperfine", "results.json_results:HyperfineReader", ".json .csv .md",
     "hyperfine, --export-json or --export-csv"),
    ("pytest-benchmark", "results.json_results:PytestBenchmarkReader", ".json .csv .txt .log",
     "pytest-benchmark, --benchmark-json or its table"),
    ("reframe", "results.benchmark_tools:ReframeReportReader", ".json", "reports of ReFrame"),
    ("reframe-perflog", "results.benchmark_tools:ReframePerflogReader", ".log .txt .csv",
     "logs of performance of ReFrame"),
    ("jube", "results.text_results:JubeReader", ".dat .txt", "tables of JUBE"),
    ("sacct", "results.accounting:SacctReader", ".json .log .txt .csv",
     "jobs of Slurm, by sacct --parsable2 or --json", "SacctOptions"),
    ("perf-stat", "results.accounting:PerfStatReader", ".json .csv .txt .log",
     "counts of Linux's perf stat, also with -x, or -j"),
    ("npb", "results.text_results:NpbReader", _TEXT, "NAS Parallel Benchmarks"),
    ("imb", "results.text_results:ImbReader", _TEXT, "Intel MPI Benchmarks", "MessageOptions"),
    ("osu", "results.text_results:OsuReader", _TEXT, "OSU Micro-Benchmarks", "MessageOptions"),
    ("ior", "results.text_results:IorReader", ".json .out .log .txt .csv", "IOR, as text, JSON or CSV"),
    ("mdtest", "results.text_results:MdtestReader", _TEXT, "mdtest, its rates of operations"),
    ("stream", "results.text_results:StreamReader", _TEXT, "STREAM and BabelStream"),
    ("nccl-tests", "results.text_results:NcclTestsReader", _TEXT, "nccl-tests and rccl-tests", "MessageOptions"),
    ("go-bench", "results.text_results:GoBenchReader", _TEXT, "Go's benchmarks, go test -bench"),
    ("jmh", "results.json_results:JmhReader", ".json .csv .txt .log", "JMH of Java, also JSON or CSV"),
    ("vllm", "results.json_results:VllmReader", ".json .csv", "vLLM's benchmarks", "ServingOptions"),
    ("fio", "results.json_results:FioReader", ".json", "fio, --output-format=json"),
    ("extrap-json", "results.extrap:ExtrapJsonReader", ".json", "JSON documents of Extra-P"),
    ("extrap-archive", "results.extrap:ExtrapArchiveReader", ".extra-p", "saved experiments of Extra-P 4"),
    ("talp", "results.json_results:TalpReader", ".json", "efficiencies of TALP (DLB), JSON"),
    ("model-factors", "results.text_results:ModelFactorsReader", ".csv", "POP factors of BSC's basicanalysis"),
    ("caliper", "caliper:CaliperProfileReader", ".cali", "profiles of Caliper", "ProfileOptions"),
    ("caliper-json", "caliper:CaliperJsonReader", ".json", "profiles of Caliper in JSON", "ProfileOptions"),
    ("criterion", "results.json_results:CriterionReader", ".json .jsonl .txt",
     "criterion.rs, its estimates or cargo criterion --message-format=json"),
    ("benchmark-action", "results.json_results:BenchmarkActionReader", ".json .js",
     "github-action-benchmark, custom results and data"),
    ("gnu-time", "results.accounting:TimeReader", _TEXT, "times of commands, by time and /usr/bin/time -v"),
    ("cube", "results.cube:CubeReader", ".cubex", "Cube profiles of Score-P, one or a series", "ProfileOptions"),
    ("chrome", "traces.chrome:ChromeReader", ".json", "Chrome and Perfetto JSON, PyTorch's profiler", "GpuOptions"),
    ("otf2", "traces.otf2:Otf2Reader", ".otf2 .tar", "OTF2, by Score-P and others, also as tar"),
    ("projections", "traces.projections:ProjectionsReader", ".sts .tar", "Projections of Charm++, also as tar"),
    ("nsight", "traces.nsight:NsightReader", ".sqlite .db", "Nsight Systems, its SQLite export", "GpuOptions"),
    ("rocprofv3", "traces.rocprofv3:RocprofReader", ".json", "rocprofv3 of ROCm, --output-format json", "GpuOptions"),
    ("gpu-tables", "traces.gpu_tables:GpuTableReader", ".csv",
     "events of GPUs in CSV, by rocprofv3 and nsys stats", "GpuOptions"),
    ("gpu-sums", "traces.gpu_tables:GpuSummaryReader", ".csv .txt .log .out",
     "times by kernel, by nsys stats, rocprof and PyTorch's profiler"),
    ("benchmark-lines", "results.benchmark_tools:BenchmarkLinesReader", ".txt .log .out",
     "console of libtest, criterion.rs, Catch2 and hyperfine"),
    ("benchmark-tables", "results.benchmark_tools:BenchmarkTableReader", ".csv",
     "CSV of BenchmarkDotNet and Node.js's compare.js"),
    ("lammps", "results.program_logs:LammpsReader", _TEXT + " .lammps", "logs of LAMMPS"),
    ("gromacs", "results.program_logs:GromacsReader", _TEXT, "logs of GROMACS, md.log"),
    ("hpl", "results.program_logs:HplReader", _TEXT, "output of HPL"),
    ("mlperf", "results.program_logs:MlperfReader", _TEXT, "logs of MLPerf training"),
    ("benchmark-reports", "results.program_logs:FiguresReader", _TEXT,
     "reports of sysbench, wrk, k6, HPCG, LULESH, OpenFOAM, NAMD and others"),
    ("iperf3", "results.json_results:IperfReader", ".json", "iperf3, --json"),
    ("pyperf", "results.benchmark_tools:PyperfReader", ".json", "pyperf, JSON"),
    ("julia-benchmarks", "results.benchmark_tools:JuliaBenchmarksReader", ".json", "BenchmarkTools.jl, JSON"),
    ("xplane", "traces.xplane:XplaneReader", ".pb", "XPlane of JAX and TensorFlow", "GpuOptions"),
)  # fmt: skip

_TEXT_ONLY = r"\A[^\0]*\Z"
# What the first bytes of every such file hold, all of it; only readers whose signature a file has are imported, and
# those without a `sniff` of their own are then sure. Of any text: csv.
_SIGNATURES: dict[str, str | tuple[str, ...]] = {
    "parquet": r"\APAR1",
    "json-records": r'\A(?:\xef\xbb\xbf)?\s*(?:\[|\{[^\n]*\}[ \t\r]*\n|\{[^\[]*"\s*:\s*\[\s*\{)',
    "pj_dump": r"\A\W*(?i:state|nature|container|variable|event|link|worker|resourceid)",
    "paje": r"(?m)^%EventDef",
    "paraver": r"\A#Paraver",
    "picl": r"\A\s*-\d+\s+-?\d+\s",
    "mpstat": (r'\A\s*\{\s*"sysstat"\s*:', r'"timestamp"\s*:\s*"'),  # times of day, which sadf does not write
    "sadf": (r'\A(?:\s*\{\s*"sysstat"\s*:|# hostname;interval;timestamp)',
     r'"file-date"\s*:|"timestamp"\s*:\s*\{|\A# hostname'),
    "prometheus": r'\A\s*\{\s*"status"\s*:\s*"(?:success|error)"',
    "extrap": r"\A(?:\s*#[^\n]*\n)*\s*PARAMETER[ \t]+\S",
    "extrap-lines": r'\A\s*\{[^\n]*"params"\s*:\s*\{\s*(?:\}|"[^"\n]*"\s*:\s*[-0-9])',
    "google-benchmark": (
        r'\A(?:\s*\{\s*"(?:context|benchmarks)"\s*:|(?:[^\n]*\n){0,40}?(?:name,iter|Benchmark +Time +CPU +Iterations))'
        r"|\A\S+(?: +[0-9.]+ [num]?s){2} +[0-9]+\b",
        r'"(?:real_time|run_type|run_name|library_build_type|mhz_per_cpu|time_unit)"\s*:'
        r"|name,iterations,real_time,cpu_time,time_unit,|Benchmark +Time +CPU|\A\S+(?: +[0-9.]+ [num]?s){2} +[0-9]+\b",
    ),
    "hyperfine": r'\A(?:\s*\{\s*"results"\s*:\s*\[\s*\{\s*"command"\s*:'
    r"|(?:\xef\xbb\xbf)?command,mean,stddev,median,|\| *Command *\| *Mean \[m?s\] *\|)",
    "pytest-benchmark": r'\A(?:\s*\{\s*"machine_info"\s*:|name,(?:param:[^\n]*,)?min,max,mean,stddev,)'
    r"|(?m:^Name \(time in \w+\)  )",
    "reframe": r'\A\s*\{\s*"session_info"\s*:',
    "reframe-perflog": (r"\A(?=[^\n]*job_completion_time)(?=[^\n]*_value\|)(?=[^\n]*_unit\|)[\w|]+\r?\n", _TEXT_ONLY),
    "jube": r"---",
    "sacct": r'(?i)\A\W*job|"(?:jobs|meta)"|\|[0-9]+:[0-9]+\|',
    "perf-stat": r"counter-value|Performance counter stats for "
    r"|[\d>] *[,;|\t:] *[A-Za-z%/]* *[,;|\t:] *[A-Za-z][\w.:/=,-]* *[,;|\t:]",
    "npb": (r"NAS Parallel Benchmarks", _TEXT_ONLY),
    "imb": (r"(?m)#\s*Intel\(R\) MPI Benchmarks|^#\s*Benchmarking \w+\s*$", _TEXT_ONLY),
    "osu": (r"(?m)^[ \t]*#[ \t]*OSU [^\n]+(?: v[0-9]|\bTest[ \t\r]*$)", _TEXT_ONLY),
    "ior": (r"(?m)^\s*(?:IOR-\S+: MPI Coordinated Test of Parallel I/O|access(?:,| +)bw\(MiB/s\))"
     r'|\A\s*\{\s*"Version"\s*:\s*"[\s\S]*?"(?:Command line|tests|TestID)"\s*:', _TEXT_ONLY),
    "mdtest": (r"(?m)^\s*(?:mdtest-\S+ was launched|SUMMARY(?: rate)?: \(of [0-9]+ iterations\))", _TEXT_ONLY),
    "stream": (r"(?m)^[ \t]*(?:STREAM version \$|Function  +(?:Best )?(?:Rate|M(?:i)?Bytes/sec)\b)", _TEXT_ONLY),
    "nccl-tests": (r"(?m)^(?:\[[0-9]{1,9},[0-9]{1,9}\]<stdout>: ?|[0-9]{1,9}: )?"
     r"# +(?:nccl-tests version |nThread [0-9]+ |size +count .*\balgbw +busbw\b)", _TEXT_ONLY),
    "go-bench": (r"(?m)^Benchmark[^\s\x00]*[ \t]+[0-9]+[ \t]+[0-9][0-9.e+-]* [^\s\d]\S*(?:[ \t]|\r?$)", _TEXT_ONLY),
    "jmh": (
        r'\A(?:\s*\[\s*\{\s*"(?:jmhVersion|benchmark)"\s*:|"Benchmark","Mode","Threads","Samples","Score","Score E)'
        r"|(?m:^(?:\[info\] )?(?:# JMH version: |Benchmark +(?:\([^\n]*\) +)?Mode +(?:Cnt|Samples) +Score\b))",
        r'"(?:jmhVersion|primaryMetric|Benchmark)"|JMH|Mode +(?:Cnt|Samples) ',
    ),
    "vllm": (r'\A(?:\s*\[?\s*\{\s*"(?:date|avg_latency|elapsed_time)"\s*:'
     r"|[^\n{]*\b(?:num_prompts|max_concurrency),[^\n{]*\boutput_throughput,)",
     r'"model_id"|throughput,|"latencies"|"tokens_per_second"',
     r'"num_prompts"|throughput,|"latencies"|"tokens_per_second"'),
    "fio": r'\A\s*\{\s*"fio version"\s*:',
    "extrap-json": (r'\A\s*\{\s*"(?:callpaths|coordinates|measurements|metrics|parameters)"\s*:',
     r'"point"|"(?:\w+_)?id"\s*:', r'"measurements"|"(?:\w+_)?id"\s*:'),
    "extrap-archive": r"\APK\x03\x04[\s\S]{26}(?:experiment\.json|values/)",
    "talp": r'\A\s*\{[\s\S]*"(?:popMetrics|dlbVersion)"\s*:',
    "model-factors": (r'\A\s*"?Number of processes"?;', _TEXT_ONLY),
    "caliper": r"\A__rec=(?:node|ctx|globals|attr),",
    "caliper-json": r'\A\s*(?:\{\s*"data"\s*:\s*\[(?=[\s\S]*?"columns")'
    r'|\[\s*\{(?=[^{}]*"(?:path|[\w.#]*duration[\w.#]*|annotation|function)"\s*:))',
    "criterion": (
        r'\A\s*\{\s*"(?:reason"\s*:\s*"(?:benchmark|group)-complete"|sampling_mode"|mean"\s*:\s*\{\s*"confidence_interval")',
        _TEXT_ONLY,
    ),
    "benchmark-action": (r'\A\s*(?:\[\s*\{\s*"(?:name|unit|value|range|extra)"'
     r'|(?:window\.BENCHMARK_DATA\s*=\s*)?\{\s*"(?:lastUpdate|repoUrl)"|window\.BENCHMARK_DATA\s*=\s*\{\s*"entries")\s*:',
     r'"(?:value|entries)"\s*:|BENCHMARK_DATA', r'"(?:unit|entries)"\s*:|BENCHMARK_DATA'),
    "gnu-time": (
        r"(?m)^\tElapsed \(wall clock\) time|^real\s+[0-9m.,]+s?\s*\n\s*user\s|^[0-9.]+user [0-9.]+system ", _TEXT_ONLY,
    ),
    "cube": r"\A(?=[\s\S]{257}ustar)(?:\./)?(?:anchor\.xml|[0-9]+\.(?:data|index))\0",
    "chrome": r'"(?:traceEvents|ph|displayTimeUnit|distributedInfo|deviceProperties|systemTraceEvents)"',
    "otf2": r"\A\x03B|ustar",
    "projections": r"\A(?:VERSION|PROJECTIONS|ver:)|ustar",
    "nsight": r"\ASQLite",
    "rocprofv3": (r"\A\s*\{", r'"rocprofiler-sdk-tool"'),
    "gpu-tables": r'\A"?(?:Kind"?,"?(?:Agent_Id"?,[^\n]*Kernel_Name|(?:Direction|Operation|Name)"?,[^\n]*Source_Agent)'
    r'[^\n]*Start_Timestamp|Domain"?,"?Function"?,[^\n]*Start_Timestamp'
    r'|Index"?,"?KernelName"?,"?gpu-id"?,[^\n]*BeginNs)'
    r'|(?m:^"?Start ?\(\w+\)"?,"?Duration ?\(\w+\)"?,"?(?:CorrId|Name"?,"?Result)"?,|^"?Start"?,"?Duration"?,"?Grid X)',
    "gpu-sums": r'(?m)^[ \t]*"?Time ?\(%\)"?(?:,| {2,})"?Total Time(?: \(\w+\))?"?(?:,| {2,})'
    r'"?(?:Instances|Num Calls|Count)\b'
    r'|\A(?:"?Name"?,"?Calls"?,"?TotalDuration(?:Ns)?"?,|[-\s]*Name {2,}(?:Self CPU|CPU total))',
    "benchmark-lines": (
        r"(?m)^test \S[^\n]*? \.\.\. bench: +[0-9]|^(?:\S[^\n]*)? +time: +\[(?:[0-9.]+ \S+ ){2}[0-9.]+ \S+\]"
        r"|^benchmark name +samples +iterations +est|^Benchmark #?[0-9]+: [^\n]*\n +Time \(mean",
        _TEXT_ONLY,
    ),
    "benchmark-tables": r'\A(?:"?binary"?, ?"?filename"?, ?"?configuration"?, ?"?rate"?, ?"?time"?'
    r'|(?:\xef\xbb\xbf)?"?Method"?[,;]"?(?:Job|Runtime)"?[,;][^\n]*[,;]"?Mean"?[,;]"?Error"?[,;])',
    "lammps": (r"(?m)^LAMMPS \(|^Loop time of [0-9.]+ on [0-9]+ procs for [0-9]+ steps", _TEXT_ONLY),
    "gromacs": (r"(?m):-\) GROMACS - |^ *GROMACS: +gmx|R E A L   C Y C L E", _TEXT_ONLY),
    "hpl": (r"(?m)^T/V +N +NB +P +Q +Time +Gflops", _TEXT_ONLY),
    "mlperf": (r":::MLLOG \{", _TEXT_ONLY),
    "benchmark-reports": (
        r"(?m)^(?:sysbench [0-9]|Running [0-9]+\w* test @ |This is ApacheBench| +Requests/sec:\t|HPCG-Benchmark"
        r"|transaction type: |SCALE: +[0-9]|=+ Serving Benchmark Result =|\W*http_req_duration\.*: avg="
        r"|Running problem size [0-9]+\^3|Info: NAMD [0-9]|Exec +: \w+| +Program [A-Z]+ v\.?[0-9.]+ starts on )",
        _TEXT_ONLY,
    ),
    "iperf3": (r'\A\s*\{\s*"start"\s*:\s*\{', r'"(?:test_start|iperf[^"]*|num_streams)"|"iperf'),
    "pyperf": (r"\A\s*\{", r'"benchmarks"\s*:\s*\[\s*\{\s*"(?:metadata|runs)"\s*:'),
    "julia-benchmarks": r'\A\s*\[\s*\{(?=[^\n}]*"BenchmarkTools")',
    "xplane": (
        r"\A\n[\x80-\xff]{0,9}[\0-\x7f](?:\x08[\x80-\xff]{0,9}[\0-\x7f])?\x12[\1-\x7f][\w/#]", r"/(?:host|device):",
    ),
}  # fmt: skip


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
    for name, target, suffixes, help_, *options in _READERS:
        register(
            name, f"perf_io.{target}", options=f"perf_io.options:{options[0]}" if options else None, help=help_,
            extra="perfcore[formats]" if name in _NEED_LIBRARIES else None, suffixes=tuple(suffixes.split()),
            signature=_SIGNATURES.get(name, ""),
        )  # fmt: skip
