"""Results in JSON: hyperfine, Google Benchmark, pytest-benchmark, criterion.rs, JMH, fio, vLLM, TALP and others."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from typing import Any

import msgspec

from perf_io.options import ServingOptions
from perf_io.results.result_table import SHARE, Found, ResultReader, Row, number_or_text, one_line
from perf_io.text import decode_content, decode_document, decode_json, json_problem, numbered_lines
from perfcore.base import progress, special
from perfcore.data.units import NANOSECONDS, is_rate, is_time, same_unit
from perfcore.reading.source import Source

_FAILED = "since they failed: {} runs"
PRINTED = "printed name"  # column of a benchmark's name as its tool prints it, with all arguments
_MEAN_CELL = re.compile(r"\| *`?(?P<command>.*?)`? *\| *(?P<mean>[0-9.]+)(?: ± (?P<stddev>[0-9.]+))? *\|")
# What a name holds other than arguments: how the run was set up, not what was varied.
_RELATIVE = re.compile(r" \([0-9.,>]+\)")  # behind a time, over the best one
_SETTINGS = ("iterations", "repeats", "min_time", "min_warmup_time")
_MARKS = ("real_time", "manual_time", "process_time")
_AGGREGATE = re.compile(r"_(mean|median|stddev|cv|BigO|RMS)$")  # of versions before run_type
_NO_COUNTER = {
    *("name", "run_name", "run_type", "family_index", "per_family_instance_index", "repetitions", "repetition_index"),
    *("threads", "iterations", "real_time", "cpu_time", "time_unit", "label", "error_occurred", "error_message"),
    *("aggregate_name", "aggregate_unit", "skipped", "skip_message"),
}
_CONSOLE = re.compile(
    r"(?P<name>\S.*?)\s+(?P<real_time>[0-9.]+(?:e[+-]?[0-9]+)?) (?P<time_unit>[num]?s)\s+"
    r"(?P<cpu_time>[0-9.]+(?:e[+-]?[0-9]+)?) [num]?s\s+(?P<iterations>[0-9]+)(?:\s.*)?"
)
_NUMBERS = ("iterations", "real_time", "cpu_time")
_BETTER = {"customBiggerIsBetter": "larger", "customSmallerIsBetter": "smaller"}
_RANGE = re.compile(r"(?:±|\+/-|stddev:)?\s*([0-9.]+(?:e[-+]?[0-9]+)?)\s*(%?)", re.IGNORECASE)
_ROUNDS = re.compile(r"\b(?:rounds|samples|runs): ([0-9]{1,9})\b|\b([0-9]{1,9}) (?:samples|runs)\b")
_MODES = {"thrpt": "throughput", "avgt": "average_time", "sample": "sample_time", "ss": "single_shot_time"}
# As JMH prints it for people, also in the log of sbt; errors and counts may be missing.
_JMH_HEADING = re.compile(r"(?:\[info\] )?Benchmark +(?P<params>(?:\([^)]*\) +)*)Mode +(?:Cnt|Samples) +Score\b.*")
# fio counts in powers of 1024 unless kb_base says otherwise, and drops a B at the end.
_SIZE = re.compile(r"([0-9]{1,15})\s*([kmgtp]?)i?b?", re.IGNORECASE)
_POWERS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4, "p": 5}
_SERVING_NAMES = {"model_id": "model", "backend": "backend", "endpoint_type": "backend"}
_STATISTIC = re.compile(r"(?:mean|median|std|p[0-9.]{1,8})_(?:ttft|tpot|itl|e2el)_ms")
_TOTALS = {
    **{"duration": "duration_s", "completed": "completed", "request_throughput": "requests_per_s"},
    **{"output_throughput": "output_tokens_per_s", "total_token_throughput": "total_tokens_per_s"},
}
_OFFLINE = {
    **{"elapsed_time": "elapsed_s", "num_requests": "num_requests", "total_num_tokens": "total_tokens"},
    **{"requests_per_second": "requests_per_s", "tokens_per_second": "tokens_per_s"},
}
# Keys of efficiencies to names; those before 3.5 knew MPI alone and did not say so.
_EFFICIENCIES = {
    "parallelEfficiency": "parallel", "mpiParallelEfficiency": "MPI parallel",
    "mpiLoadBalance": "MPI load balance", "mpiLoadBalanceIn": "MPI load balance within nodes",
    "mpiLoadBalanceOut": "MPI load balance between nodes", "mpiCommunicationEfficiency": "MPI communication",
    "ompParallelEfficiency": "OpenMP parallel", "ompLoadBalance": "OpenMP load balance",
    "ompSchedulingEfficiency": "OpenMP scheduling", "ompSerializationEfficiency": "OpenMP serialisation",
    "deviceOffloadEfficiency": "device offload", "gpuParallelEfficiency": "GPU parallel",
    "gpuLoadBalance": "GPU load balance", "gpuCommunicationEfficiency": "GPU communication",
    "gpuOrchestrationEfficiency": "GPU orchestration", "communicationEfficiency": "communication",
    "loadBalance": "load balance", "lbIn": "load balance within nodes", "lbOut": "load balance between nodes",
}  # fmt: skip
_OF_MPI = re.compile("MPI (load balance|communication)")  # of ranks without threads these are those of the whole run
_TALP_TIMES = {"elapsedTime": "elapsed_time_s", "usefulTime": "useful_time_s", "mpiTime": "mpi_time_s"}
_TALP_COUNTS = {"cycles": "useful_cycles", "instructions": "useful_instructions", "numMpiCalls": "mpi_calls"}
_LARGEST = 1 << 63  # nanoseconds and counts have 64 bits


class _Command(msgspec.Struct):
    command: str
    times: list[float | None] = []
    mean: float | None = None
    stddev: float | None = None
    exit_codes: list[int | None] = []
    parameters: dict[str, str] = {}


class _Commands(msgspec.Struct):
    results: list[_Command]


class HyperfineReader(ResultReader):
    """Read runs of commands timed by hyperfine (``--export-json FILE``); each is a row, in ``--export-csv`` each
    mean.

    Without ``--parameter-scan`` and ``--parameter-list`` the one number in which the commands differ is the
    parameter. Runs that ended with a status other than 0 are left out.

    Source: hyperfine, ``doc/export.md`` and its manual page.
    """

    shape, description = _Commands, "JSON of hyperfine"
    value, words_are_code = "time_s", True

    def _content(self, source: Source) -> Any:
        if not source.head.startswith(b"|"):
            return super()._content(source)
        lines = [text for _, text in numbered_lines(source) if text.startswith("|")]
        factor = 1e-3 if "Mean [ms]" in lines[0] else 1.0
        rows = [_MEAN_CELL.match(line) for line in lines[2:]]
        return _Commands([
            _Command(row["command"], [], float(row["mean"]) * factor, float(row["stddev"] or "nan") * factor)
            for row in rows if row is not None
        ])  # fmt: skip

    def _of_table(self, rows: list[dict[str, str]]) -> Any:
        filled = ({name: cell for name, cell in row.items() if cell} for row in rows)
        varied = (_with_prefix(row, "parameter_") for row in rows)
        return {"results": [{**row, "parameters": values} for row, values in zip(filled, varied, strict=True)]}

    def _take(self, content: _Commands, found: Found, options: Any) -> None:
        from perf_io.tables.measurement_table import numbers_of_commands

        commands = [one_line(result.command) for result in content.results]
        series, numbers = numbers_of_commands(commands, [result.parameters for result in content.results])
        for name in numbers:
            progress.note(f"{found.source}: {name} is the number in which the commands differ")
        for index, result in enumerate(content.results):
            if not result.times and result.mean is None:
                found.refuse(f"`$.results[{index}]` has neither `times` nor `mean`")
            varied = {**result.parameters, **{name: values[index] for name, values in numbers.items()}}
            names: Row = {"command": series[index]}
            if series[index] != commands[index]:
                names[PRINTED] = commands[index]
            if not result.times:
                found.add({**names, "time_s": result.mean, "stddev_s": result.stddev}, varied)
            if len(result.exit_codes) not in (0, len(result.times)):
                problem = f"has {len(result.exit_codes)} exit codes for {len(result.times)} times"
                found.refuse(f"`$.results[{index}]` {problem}")
            found.user_columns.update(dict.fromkeys(map(one_line, varied)))
            codes = result.exit_codes or [0] * len(result.times)
            for repetition, (time, status) in enumerate(zip(result.times, codes, strict=True), start=1):
                if status != 0:  # null where a signal ended the command
                    found.left_out[_FAILED] += 1
                    continue
                found.add({**names, "repetition": repetition, "time_s": time}, varied)
        found.code = ["command"] if len(set(series)) > 1 or not found.user_columns else []


def _with_prefix(row: dict[str, str], prefix: str) -> dict[str, str]:
    """Return the cells of columns whose names begin so, under the rest of their names."""
    return {name.removeprefix(prefix): cell for name, cell in row.items() if name.startswith(prefix)}


def spread_columns(deviation: float | None, runs: float | None, unit: str = "") -> Row:
    """Return the columns of a mean, from which fitters take the spread and number of its runs."""
    return {} if deviation is None else {f"stddev{unit}": deviation, **({"n_runs": runs} if runs else {})}


class _GoogleRun(msgspec.Struct):
    name: str
    real_time: float | None = None
    cpu_time: float | None = None
    time_unit: str = "ns"
    run_name: str | None = None
    run_type: str = "iteration"
    aggregate_name: str = ""
    repetition_index: int = 0
    repetitions: int | None = None
    iterations: float | None = None
    threads: int | None = None
    error_occurred: bool = False
    skipped: bool = False


class _GoogleRuns(msgspec.Struct):
    benchmarks: list[dict[str, Any]]


class GoogleBenchmarkReader(ResultReader):
    """Read runs of Google Benchmark (``--benchmark_out=FILE``, JSON or CSV); each repetition, or else each mean, is a
    row.

    ``BM_copy/1024/n:8/threads:4`` gives the code ``BM_copy`` and the parameters ``arg1``, ``n`` and ``threads``.

    Source: Google Benchmark, "User Guide".
    """

    shape, description = _GoogleRuns, "JSON of Google Benchmark"
    code = ("benchmark",)

    def _content(self, source: Source) -> Any:
        if source.head.lstrip()[:1] == b"{" or not self.sniff(source):
            return super()._content(source)
        lines = [text for _, text in numbered_lines(source)]
        begin = next((number for number, text in enumerate(lines) if text.startswith("name,iterations,")), None)
        printed = (match.groupdict() for text in lines if (match := _CONSOLE.match(text)))
        rows = [
            {name: number_or_text(cell) if name in _NUMBERS else cell for name, cell in row.items() if name and cell}
            for row in (printed if begin is None else csv.DictReader(lines[begin:]))
        ]
        return _GoogleRuns([{**row, "error_occurred": row.get("error_occurred") == "true"} for row in rows])

    def _take(self, content: _GoogleRuns, found: Found, options: Any) -> None:
        runs: list[tuple[int, _GoogleRun, Row]] = []
        aggregates: dict[str, dict[str, tuple[int, _GoogleRun, Row]]] = {}
        for index, fields in enumerate(content.benchmarks):
            try:
                run = msgspec.convert(fields, _GoogleRun)
            except msgspec.ValidationError as error:
                found.refuse(f"is not {self.description}: {str(error).replace('`$', f'`$.benchmarks[{index}]')}")
            aggregate = _AGGREGATE.search(run.name)
            if run.run_type != "iteration" or (run.run_name is None and aggregate):
                kind = run.aggregate_name or (aggregate[1] if aggregate else "")
                name = run.run_name or run.name.removesuffix(f"_{kind}")
                aggregates.setdefault(name, {})[kind] = (index, msgspec.structs.replace(run, run_name=name), fields)
            elif run.error_occurred or run.skipped:
                found.left_out["since they failed or were skipped: {} runs"] += 1
            else:
                runs.append((index, run, fields))
        measured = {run.run_name or run.name for _, run, _ in runs}
        alone = {name: kinds for name, kinds in aggregates.items() if name not in measured}
        for kinds in alone.values():
            runs += [kinds[kind] for kind in ("mean", "median") if kind in kinds][:1]
        runs.sort(key=lambda entry: entry[0])
        units = list(dict.fromkeys(run.time_unit for _, run, _ in runs))
        for unit in units:
            if unit not in NANOSECONDS:
                found.refuse(f"time unit {unit[:20]!r} is not one of {', '.join(NANOSECONDS)}")
        unit = units[0] if len(units) == 1 else "ns"
        found.value = f"real_time_{unit}"
        for index, run, fields in runs:
            if run.real_time is None:
                found.refuse(f"`$.benchmarks[{index}]` ({run.name[:60]!r}) has no `real_time`")
            run_name = run.run_name or run.name
            named, arguments = benchmark_arguments(run_name, run.threads)
            factor = NANOSECONDS[run.time_unit] / NANOSECONDS[unit]
            columns = {
                **named,
                "repetition": run.repetition_index + 1,
                "iterations": run.iterations,
                f"real_time_{unit}": run.real_time * factor,
                f"cpu_time_{unit}": None if run.cpu_time is None else run.cpu_time * factor,
            }
            if run_name in alone:
                _, deviation, _ = alone[run_name].get("stddev", (0, _GoogleRun(""), {}))
                del columns["repetition"], columns["iterations"]
                spread = None if deviation.real_time is None else deviation.real_time * factor
                columns |= spread_columns(spread, run.repetitions or run.iterations, f"_{unit}")
            others = {name: value for name, value in fields.items() if name not in _NO_COUNTER}
            counters = {name: value for name, value in others.items() if type(value) in (int, float)}
            found.add(columns, arguments, counters=counters)


def benchmark_arguments(name: str, threads: int | None = None) -> tuple[Row, dict[str, str]]:
    """Return the columns of the code, and the arguments, of a name such as ``BM_copy/1024/n:8``."""
    code: list[str] = []
    arguments: dict[str, str] = {}
    unnamed = 0
    for part in name.split("/"):
        key, colon, value = part.rpartition(":")
        if re.fullmatch(r"-?[0-9]+", part) and code:
            unnamed += 1
            arguments[f"arg{unnamed}"] = part
        elif colon and code and re.fullmatch(r"[\w .-]+", key) and value:
            if key not in _SETTINGS:
                arguments[key] = value
        elif part not in _MARKS:
            code.append(part)
    if threads is not None:
        arguments.setdefault("threads", str(threads))
    bare = "/".join(code)
    return {"benchmark": bare} | ({} if bare == name else {PRINTED: name}), arguments


class _Stats(msgspec.Struct):
    mean: float | None
    stddev: float | None = None
    rounds: int = 1
    data: list[float | None] = []


class _PytestBenchmark(msgspec.Struct):
    name: str
    stats: _Stats
    group: str | None = None
    params: dict[str, Any] | None = None


class _PytestBenchmarks(msgspec.Struct):
    machine_info: dict[str, Any]
    benchmarks: list[_PytestBenchmark]


class PytestBenchmarkReader(ResultReader):
    """Read benchmarks of pytest; each round is a row if the file has them, otherwise each mean with its spread.

    The parameters are those of ``pytest.mark.parametrize`` that hold numbers, and the machine is the system.

    Source: pytest-benchmark, documentation, "Usage" and "Hooks".
    """

    shape, description = _PytestBenchmarks, "JSON of pytest-benchmark"
    value, code, system, words_are_code = "time_s", ("test",), ("machine",), True

    def _content(self, source: Source) -> Any:
        if source.head.lstrip()[:1] == b"{" or source.head.startswith(b"name,"):
            return super()._content(source)
        rows: list[dict[str, str]] = []
        factor, columns = 1.0, list[str]()
        for _, text in numbered_lines(source):
            name, *cells = re.split(r"\s{2,}", _RELATIVE.sub("", text).strip())
            if match := re.fullmatch(r"Name \(time in (\w+)\)", name):
                factor, columns = NANOSECONDS[match[1]] * 1e-9, [cell.lower() for cell in cells]
            elif columns and len(cells) == len(columns):
                row = {key: number_or_text(cell.replace(",", "")) for key, cell in zip(columns, cells, strict=True)}
                times = {key: row[key] * factor for key in ("mean", "stddev") if isinstance(row.get(key), (int, float))}
                if "mean" in times:
                    runs = {"rounds": row["rounds"]} if isinstance(row.get("rounds"), int) else {}
                    rows.append({"name": name} | {key: str(number) for key, number in (times | runs).items()})
        return msgspec.convert(self._of_table(rows), self.shape, strict=False)

    def _of_table(self, rows: list[dict[str, str]]) -> Any:
        benchmarks = []
        for row in rows:
            words = row["name"].partition("[")[2].rstrip("]").split("-")
            params = _with_prefix(row, "param:") or {f"arg{k}": word for k, word in enumerate(words, 1) if word}
            stats = {key: row[key] for key in ("mean", "stddev", "rounds") if row.get(key)}
            numbers = {key: number_or_text(cell) for key, cell in params.items()}
            benchmarks.append({"name": row["name"], "stats": stats, "params": numbers})
        return {"machine_info": {}, "benchmarks": benchmarks}

    def _take(self, content: _PytestBenchmarks, found: Found, options: Any) -> None:
        machine = str(content.machine_info.get("node", ""))
        for benchmark in content.benchmarks:
            test = benchmark.name.partition("[")[0]
            columns: Row = {"test": test, "machine": machine}
            columns |= {} if test == benchmark.name else {PRINTED: benchmark.name}
            stats = benchmark.stats
            for repetition, time in enumerate(stats.data, start=1):
                found.add({**columns, "repetition": repetition, "time_s": time}, benchmark.params)
            if not stats.data:
                columns |= spread_columns(stats.stddev, stats.rounds, "_s")
                found.add({**columns, "time_s": stats.mean}, benchmark.params)


class _Estimate(msgspec.Struct):
    point_estimate: float | None = None
    estimate: float | None = None


class _Criterion(msgspec.Struct):
    """A message of cargo criterion, or what a folder of criterion.rs holds: estimates, or a sample."""

    reason: str = "benchmark-complete"
    id: str = ""
    iters: list[float] = msgspec.field(default_factory=list, name="iteration_count")
    times: list[float] = msgspec.field(default_factory=list, name="measured_values")
    unit: str = "ns"
    mean: _Estimate | None = None
    std_dev: _Estimate | None = None


class CriterionReader(ResultReader):
    """Read benchmarks of criterion.rs; each sample is a row, of ``estimates.json`` the mean with its spread.

    Read are messages of ``cargo criterion --message-format=json``, and ``sample.json`` and ``estimates.json`` below
    ``target/criterion``, which are called by their folders.

    Source: criterion.rs, book, "External tools"; ``src/estimate.rs`` and ``src/connection.rs``.
    """

    value, code = "time_ns", ("benchmark",)

    def _content(self, source: Source) -> Any:
        if source.head.lstrip().startswith(b'{"reason"'):
            return [(text.encode(), number) for number, text in numbered_lines(source) if text.lstrip().startswith("{")]
        folders = source.path.resolve().parent.parts
        names = folders[folders.index("criterion") + 1 :] if "criterion" in folders else folders[-2:-1]
        names = names if folders[-1] in ("new", "base") else ()
        document = decode_document(source, dict[str, Any], "JSON of criterion.rs")
        renamed = {"iters": "iteration_count", "times": "measured_values"}
        content = {renamed.get(name, name): value for name, value in document.items()} | {
            "id": "/".join(name for name in names if name not in ("new", "base"))
        }
        return [(msgspec.json.encode(content), None)]

    def _take(self, content: list[tuple[bytes, int | None]], found: Found, options: Any) -> None:
        for text, line in content:
            try:
                result = decode_json(text, _Criterion)
            except msgspec.MsgspecError as error:
                found.refuse(f"is not JSON of criterion.rs: {json_problem(text, error)[0]}", line)
            if result.reason != "benchmark-complete":
                continue
            if result.unit not in NANOSECONDS:
                found.refuse(f"the unit {result.unit[:20]!r} is not one of {', '.join(NANOSECONDS)}", line)
            columns, arguments = benchmark_arguments(result.id)
            factor = NANOSECONDS[result.unit]
            samples = [time / count * factor for time, count in zip(result.times, result.iters, strict=False) if count]
            for repetition, time in enumerate(samples, start=1):
                found.add({**columns, "repetition": repetition, "time_ns": time}, arguments, line)
            if not samples and result.mean is not None:
                of_run = result.std_dev.point_estimate if result.std_dev else None
                time = result.mean.point_estimate or result.mean.estimate
                found.add({**columns, "time_ns": time, **spread_columns(of_run, None, "_ns")}, arguments, line)


class _Bench(msgspec.Struct):
    name: str
    value: float | None
    unit: str = ""
    range: str | float | None = None
    extra: str = ""


class _BenchCommit(msgspec.Struct):
    id: str


class _BenchEntry(msgspec.Struct):
    commit: _BenchCommit
    benches: list[_Bench]
    date: float | None = None  # in milliseconds
    tool: str = ""


class _BenchData(msgspec.Struct):
    entries: dict[str, list[_BenchEntry]]


class BenchmarkActionReader(ResultReader):
    """Read results for github-action-benchmark, as custom tools write them, or its data of all commits.

    The ``range`` is taken as the standard deviation of the runs.

    Source: benchmark-action/github-action-benchmark, README.
    """

    shape, description = list[_Bench] | _BenchData, "data of github-action-benchmark"
    code = ("suite", "benchmark")

    def _content(self, source: Source) -> Any:
        if not source.head.lstrip().startswith(b"window"):
            return super()._content(source)
        with source.open() as stream:
            content = stream.read().partition(b"=")[2].strip().removesuffix(b";")
        return decode_content(content, _BenchData, self.description, source.name)

    def _take(self, content: list[_Bench] | _BenchData, found: Found, options: Any) -> None:
        rows: list[tuple[Row, _Bench]] = []
        if isinstance(content, _BenchData):
            of_suites = ((suite, entry) for suite, entries in content.entries.items() for entry in entries)
            for suite, entry in of_suites:
                about = {"suite": suite, "commit": entry.commit.id, "date": entry.date}
                rows += [(about | {"better": _BETTER.get(entry.tool, "")}, bench) for bench in entry.benches]
        else:
            rows = [({}, bench) for bench in content]
        for about, bench in rows:
            named, arguments = benchmark_arguments(bench.name)
            spread, rounds = _RANGE.fullmatch(str(bench.range or "").strip()), _ROUNDS.search(bench.extra)
            factor = (bench.value or 0.0) / 100 if spread and spread[2] else 1.0
            runs = int(rounds[1] or rounds[2]) if rounds else None
            metric = "time" if is_time(bench.unit) else "rate" if is_rate(bench.unit) else "result"
            columns = {**about, **named, "metric": metric, "value": bench.value, "unit": same_unit(bench.unit)}
            found.add(columns | spread_columns(float(spread[1]) * factor if spread else None, runs), arguments)


class _JmhMetric(msgspec.Struct, rename="camel"):
    score: float | str | None
    score_unit: str
    score_error: float | str | None = None
    raw_data: list[list[float | str | None]] = []
    raw_data_histogram: list[list[list[tuple[float, float]]]] = []


class _JmhBenchmark(msgspec.Struct, rename="camel"):
    benchmark: str
    mode: str
    primary_metric: _JmhMetric
    forks: int = 1
    measurement_iterations: int = 0
    threads: int | None = None
    params: dict[str, str] = {}


class JmhReader(ResultReader):
    """Read benchmarks of JMH, Java's harness (``-rf json``); each measured iteration of each fork is a row.

    Without the iterations, as in CSV and in what is printed, the score is a row, with the deviation that its error
    (99.9%) says. The value is called by the mode, such as ``average_time``.

    Source: JMH 1.37, ``JSONResultFormat``.
    """

    shape, description = list[_JmhBenchmark], "JSON of JMH"
    code, words_are_code = ("benchmark",), True
    nothing = "holds no table of scores; was it cut short? JSON is read too: java -jar benchmarks.jar -rf json"

    def _content(self, source: Source) -> Any:
        if re.match(rb'\s*(?:\[(?!info)|")', source.head):
            return super()._content(source)
        rows = list[dict[str, str]]()
        params: list[str] | None = None
        for _, text in numbered_lines(source):
            if match := _JMH_HEADING.fullmatch(text.rstrip()):
                params = re.findall(r"\(([^)]*)\)", match["params"])
            elif params is not None and len(cells := text.removeprefix("[info] ").split()) > len(params) + 3:
                name, values, mode = cells[0], cells[1 : len(params) + 1], cells[len(params) + 1]
                count, score, error = _printed_scores(cells[len(params) + 2 : -1])
                if mode in _MODES and ":" not in name and not isinstance(_with_point(score), str):
                    row = {"Benchmark": name, "Mode": mode, "Threads": "", "Samples": count, "Score": score}
                    row |= {"Score Error": error, "Unit": cells[-1]}
                    rows.append(row | {f"Param: {one}": value for one, value in zip(params, values, strict=True)})
        return msgspec.convert(self._of_table(rows), self.shape, strict=False)

    def _of_table(self, rows: list[dict[str, str]]) -> Any:
        results = []
        for row in rows:
            error = next((_with_point(row[key]) for key in row if key.startswith("Score Error")), None)
            about: dict[str, Any] = {"benchmark": row["Benchmark"], "mode": row["Mode"]}
            about["threads"] = row["Threads"] or None
            metric = {"score": _with_point(row["Score"]), "scoreUnit": row["Unit"], "scoreError": error}
            about |= {"primaryMetric": metric, "measurementIterations": row["Samples"] or 0}
            results.append(about | {"params": _with_prefix(row, "Param: ")})
        return results

    def _take(self, content: list[_JmhBenchmark], found: Found, options: Any) -> None:
        for index, result in enumerate(content):
            metric, count = result.primary_metric, len(found.rows)
            about = {"benchmark": result.benchmark, "threads": result.threads}
            about |= {"metric": _MODES.get(result.mode, result.mode), "unit": metric.score_unit}
            for fork, repetition, value in _iterations(metric):
                found.add({**about, "fork": fork, "repetition": repetition, "value": value}, result.params)
            if len(found.rows) > count:
                continue
            if not isinstance(metric.score, float):
                found.refuse(f"`$[{index}].primaryMetric` has neither rawData, nor rawDataHistogram, nor a score")
            runs = max(result.forks, 1) * result.measurement_iterations
            deviation = None
            if isinstance(metric.score_error, float) and runs > 1:
                deviation = metric.score_error * runs**0.5 / float(special.stdtrit(runs - 1, 0.9995))
            found.add({**about, "value": metric.score, **spread_columns(deviation, runs)}, result.params)
        found.parameters = [*found.user_columns, "threads"]


def _printed_scores(cells: list[str]) -> tuple[str, str, str]:
    """Return count, score and error; what is not printed is empty."""
    numbers = [cell for cell in cells if cell != "±"]
    if len(numbers) < 2 or "±" in cells[:2]:
        numbers = ["", *numbers]
    count, score, error, *_ = [*numbers, "", ""]
    return count, score, error


def _with_point(text: str) -> float | str:
    """Return a number of any locale; the text of what is none, such as NaN."""
    number = number_or_text(text if "." in text else text.replace(",", "."))
    return number if isinstance(number, str) else float(number)


def _iterations(metric: _JmhMetric) -> Iterator[tuple[int, int, Any]]:
    """Yield the fork and iteration, from 1, with what was measured."""
    for fork, values in enumerate(metric.raw_data, start=1):
        for repetition, value in enumerate(values, start=1):
            yield fork, repetition, None if isinstance(value, str) else value  # "NaN"
    for fork, histograms in enumerate(metric.raw_data_histogram, start=1):
        for repetition, histogram in enumerate(histograms, start=1):
            if count := sum(number for _, number in histogram):
                yield fork, repetition, sum(value * number for value, number in histogram) / count


class _IperfSum(msgspec.Struct):
    seconds: float = 0.0
    bits_per_second: float | None = None
    retransmits: int | None = None


class _IperfEnd(msgspec.Struct):
    sum_received: _IperfSum | None = None  # of TCP
    sum_sent: _IperfSum | None = None
    sum: _IperfSum | None = None  # of UDP


class _IperfStart(msgspec.Struct):
    test_start: dict[str, Any] = {}


class _Iperf(msgspec.Struct):
    start: _IperfStart
    end: _IperfEnd


class IperfReader(ResultReader):
    """A test of iperf3 (``--json``): the bandwidth that was received, over the number of parallel streams.

    Source: iperf3, ``src/iperf_api.c`` and ``src/iperf_client_api.c``.
    """

    shape, description, nothing = _Iperf, "JSON of iperf3", "holds no bandwidth: the test did not end"
    parameters, value, unit, code = ("streams", "block_bytes"), "bandwidth", "bit/s", ("protocol",)

    def _take(self, content: _Iperf, found: Found, options: Any) -> None:
        settings, sent = content.start.test_start, content.end.sum_sent
        total = content.end.sum_received or content.end.sum or sent
        if total is not None and total.bits_per_second is not None:
            row = {"protocol": str(settings.get("protocol", "TCP")), "seconds": total.seconds}
            row |= {"streams": settings.get("num_streams"), "block_bytes": settings.get("blksize")}
            found.add({**row, "retransmits": (sent or total).retransmits, "bandwidth": total.bits_per_second})


class _Latency(msgspec.Struct):
    mean: float = 0.0


class _Traffic(msgspec.Struct):
    io_bytes: float = 0.0
    bw_bytes: float = 0.0
    iops: float = 0.0
    runtime: float = 0.0
    total_ios: float = 0.0
    lat_ns: _Latency = msgspec.field(default_factory=_Latency)


class _FioJob(msgspec.Struct):
    jobname: str
    error: int = 0
    options: dict[str, str] = msgspec.field(default_factory=dict, name="job options")
    read: _Traffic = msgspec.field(default_factory=_Traffic)
    write: _Traffic = msgspec.field(default_factory=_Traffic)
    trim: _Traffic = msgspec.field(default_factory=_Traffic)


class _FioJobs(msgspec.Struct):
    jobs: list[_FioJob]
    global_options: dict[str, str] = msgspec.field(default_factory=dict, name="global options")


class FioReader(ResultReader):
    """Read jobs of fio (``--output-format=json``); each direction in which a job moved data is a row.

    The value is the bandwidth, with ``iops``, ``runtime_ms`` and the mean latency beside it.

    Source: fio, ``HOWTO``, section "JSON output", and ``stat.c``.
    """

    shape, description, nothing = _FioJobs, "JSON of fio", "holds no job that moved data"
    parameters, code = ("numjobs", "iodepth", "bs_bytes", "size_bytes"), ("job", "operation")
    value, unit = "bandwidth", "B/s"

    def _take(self, content: _FioJobs, found: Found, options: Any) -> None:
        for job in content.jobs:
            if job.error:
                found.left_out["since they failed: {} jobs"] += 1
                continue
            settings = {**content.global_options, **job.options}
            for direction in ("read", "write", "trim"):
                traffic: _Traffic = getattr(job, direction)
                if traffic.total_ios <= 0:
                    continue
                row: Row = {
                    "job": job.jobname, "operation": direction, "ioengine": settings.get("ioengine", ""),
                    "rw": settings.get("rw", settings.get("readwrite", "")),
                }  # fmt: skip
                for name in ("numjobs", "iodepth"):
                    count = settings.get(name, "1")
                    row[name] = int(count) if re.fullmatch(r"[0-9]{1,9}", count) else None
                row["bs_bytes"] = _bytes(settings.get("bs", settings.get("blocksize", "4k")))
                row |= {"size_bytes": _bytes(settings.get("size", "")), "bandwidth": traffic.bw_bytes}
                row |= {"iops": traffic.iops, "runtime_ms": traffic.runtime, "latency_ns": traffic.lat_ns.mean}
                found.add({**row, "io_bytes": traffic.io_bytes})


def _bytes(text: str) -> int | None:
    """Return a size as fio reads it; None for ranges, shares and what else is not one number."""
    match = _SIZE.fullmatch(text.strip())
    return int(match[1]) * 1024 ** _POWERS[match[2].lower()] if match else None


class _Requests(msgspec.Struct):
    ttfts: list[float] = []
    itls: list[list[float]] = []
    input_lens: list[int] = []
    output_lens: list[int] = []
    errors: list[str] = []


class VllmReader(ResultReader):
    """Read runs of vLLM's benchmark of serving: a row each, or with ``-r requests=yes`` one for each request.

    The value is the throughput of generated tokens, of requests the time to the first token; statistics of latencies
    are columns, such as ``p99_ttft_ms``. Of benchmarks of latency each iteration is a row, of throughput the run.

    Source: vLLM 0.4 to 0.10, ``benchmarks/benchmark_serving.py``, ``benchmark_latency.py`` and
    ``benchmark_throughput.py``.
    """

    Options = ServingOptions
    shape, description = dict[str, Any] | list[dict[str, Any]], "JSON of vLLM's benchmark"
    parameters, code = ("request_rate", "max_concurrency", "num_prompts"), ("model", "backend")
    value = "output_tokens_per_s"

    def _of_table(self, rows: list[dict[str, str]]) -> list[Row]:
        return [{name: number_or_text(cell) for name, cell in row.items() if cell} for row in rows]

    def _take(self, content: Row | list[Row], found: Found, options: ServingOptions) -> None:
        for run in content if isinstance(content, list) else [content]:
            setup: Row = {column: str(run[name]) for name, column in _SERVING_NAMES.items() if run.get(name)}
            setup |= {name: number_or_text(run.get(name)) for name in self.parameters}
            setup = {name: value for name, value in setup.items() if value not in (None, "inf")}
            if options.requests:
                self._take_requests(setup, run, found)
                continue
            if isinstance(latencies := run.get("latencies"), list):
                found.value = "latency_s"
                for repetition, latency in enumerate(latencies, start=1):
                    found.add({"repetition": repetition, "latency_s": latency})
                continue
            if "tokens_per_second" in run:
                found.value = "tokens_per_s"
                found.add({column: run.get(name) for name, column in _OFFLINE.items()})
                continue
            totals = {column: run.get(name) for name, column in _TOTALS.items()}
            if not isinstance(totals[self.value], (int, float)):
                found.refuse("has no number `$.output_throughput`")
            found.add({**setup, **totals, **{n: v for n, v in run.items() if _STATISTIC.fullmatch(n)}})

    def _take_requests(self, setup: Row, content: dict[str, Any], found: Found) -> None:
        try:
            requests = msgspec.convert(content, _Requests)
        except msgspec.ValidationError as error:
            found.refuse(f"is not {self.description}: {error}")
        found.value, count = "ttft_s", len(requests.ttfts)
        tokens: dict[str, list[int]] = {"input_tokens": requests.input_lens, "output_tokens": requests.output_lens}
        if not count or not {*map(len, tokens.values()), len(requests.itls)} <= {0, count}:
            cure = "run the benchmark with `vllm bench serve --save-detailed`"
            found.refuse(f"does not hold the times of its requests; {cure}")
        for index, ttft in enumerate(requests.ttfts):
            if requests.errors[index : index + 1] in ([], [""]):
                row: Row = {**setup, "ttft_s": ttft}
                row |= {name: values[index] for name, values in tokens.items() if values}
                found.add(row | ({"request_s": ttft + sum(requests.itls[index])} if requests.itls else {}))


class _Talp(msgspec.Struct):
    regions: dict[str, Row] | list[Row] = msgspec.field(name="popMetrics")


class TalpReader(ResultReader):
    """Read efficiencies, times and counts of each region that TALP monitored (``popMetrics``); each is a row.

    ``p`` is the number of CPUs; 0 stands for what was not measured. If each rank has one CPU, MPI's load balance and
    communication efficiency are those of the run.

    Source: DLB (BSC), "TALP for monitoring the Programming Model efficiencies"; versions 3.3 to 3.5.
    """

    shape, description = _Talp, "JSON of TALP with popMetrics"
    nothing = "holds no region of TALP in which time passed"
    parameters, code = ("p", "ranks", "nodes"), ("region",)

    def _take(self, content: _Talp, found: Found, options: Any) -> None:
        regions = content.regions
        if isinstance(regions, dict):
            regions = [{"name": name, **fields} for name, fields in regions.items()]
        for region in regions:
            numbers = {key: value for key, value in region.items() if key != "name"}
            for key, value in numbers.items():
                if isinstance(value, bool) or not isinstance(value, (int, float)) or not abs(value) < _LARGEST:
                    found.refuse(f"{key} is {str(value)[:40]!r}, and not a number as TALP writes it")
            if numbers.get("elapsedTime", 0) <= 0:
                continue
            ranks = numbers.get("numMpiRanks", 0)
            p = numbers.get("numCpus") or ranks
            columns = {"region": str(region.get("name", "")), "ranks": ranks, "nodes": numbers.get("numNodes", 0)}
            columns |= {"p": p} if p else {}
            for name, (value, unit) in _talp_metrics(numbers, p == ranks).items():
                if value > 0:
                    found.add({**columns, "metric": name, "unit": unit, "value": value})


def _talp_metrics(numbers: Row, without_threads: bool) -> dict[str, tuple[float, str]]:
    metrics: dict[str, tuple[float, str]] = {}
    for key, name in _EFFICIENCIES.items():
        if key in numbers:
            is_whole = without_threads and _OF_MPI.match(name)
            metrics[name.removeprefix("MPI ") if is_whole else name] = numbers[key], SHARE
    metrics |= {name: (numbers[key] * 1e-9, "s") for key, name in _TALP_TIMES.items() if key in numbers}
    return metrics | {name: (numbers[key], "") for key, name in _TALP_COUNTS.items() if key in numbers}
