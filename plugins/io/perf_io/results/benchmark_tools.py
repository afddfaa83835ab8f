"""Console lines, CSV by a table of forms, pyperf, BenchmarkTools.jl and ReFrame; others stand with the tool's JSON."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from perf_io.results.json_results import benchmark_arguments, spread_columns
from perf_io.results.result_table import Found, ResultReader, Row, number_or_text, one_line
from perf_io.text import csv_fields
from perfcore.data.units import NANOSECONDS, unit_of_text

_NUMBER = r"[0-9][0-9,.]*(?:[eE][+-]?[0-9]+)?"
_LARGEST_DEPTH = 50  # of groups of BenchmarkTools.jl
# Fields of a test of ReFrame that count what it ran on.
_TASKS = ("num_tasks", "num_tasks_per_node", "num_cpus_per_task", "num_gpus_per_node")
_PARAMETER = re.compile(r" %([\w.]+)=(\S+)")
_ABSENT = ("null", "None", "")

# Of libtest and criterion.rs: name, which stands in the line above if it is long, value, unit, and spread or ends.
_LINES = (
    re.compile(
        rf"test (?P<name>\S.*?)\s+\.\.\. bench: +(?P<value>{_NUMBER}) (?P<unit>[a-zµ]+)/iter"
        rf"(?: \(\+/- (?P<spread>{_NUMBER})\))?.*"
    ),
    re.compile(
        rf"(?P<name>\S.*?)?\s+time: +\[(?P<low>{_NUMBER}) \S+ (?P<value>{_NUMBER}) (?P<unit>\S+) "
        rf"(?P<high>{_NUMBER}) \S+\]"
    ),
)
# Of Catch2, whose three lines stand between blank ones: name, samples, mean and deviation, each with its bounds.
_BOUNDS = rf" (?P<%s>\S+)(?:\s+{_NUMBER} \S+){{2}}"
_BLOCK = re.compile(
    rf"(?P<name>\S.*?)\s+(?P<runs>[0-9]+)\s+[0-9]+\s+{_NUMBER} [mnµu]?s\s+(?P<value>{_NUMBER}){_BOUNDS % 'unit'}"
    rf"\s+(?P<spread>{_NUMBER}){_BOUNDS % 'spread_unit'}"
)
# Of hyperfine: three lines, of which the first names the command.
_COMMAND = re.compile(
    rf"Benchmark #?[0-9]+: (?P<command>\S.*?) +Time \(mean ± \S\): +(?P<value>{_NUMBER}) (?P<unit>\S+) ± +"
    rf"(?P<spread>{_NUMBER}) (?P<spread_unit>\S+) .* (?P<runs>[0-9]+) runs"
)
_LONGEST_BLOCK = 600


class BenchmarkLinesReader(ResultReader):
    """Read benchmarks as libtest (``cargo bench``), criterion.rs, Catch2 and hyperfine print them.

    The spread of libtest, ``+/-``, is taken as the standard deviation; criterion's ends are a 95% interval.

    Source: Rust, ``library/test/src/bench.rs``; criterion.rs, ``src/report.rs``; Catch2, ``docs/benchmarks.md``;
    hyperfine, ``src/benchmark/mod.rs``.
    """

    value, unit, code = "time_ns", None, ("benchmark",)

    def _take(self, content: Iterable[tuple[int, str]], found: Found, options: Any) -> None:
        above = block = ""
        for number, text in content:
            block = f"{block} {text.strip()}"[-_LONGEST_BLOCK:].strip() if text.strip("-. \t") else ""
            found_block = _BLOCK.fullmatch(block) or _COMMAND.fullmatch(block)
            match = next((m for line in _LINES if (m := line.fullmatch(text.rstrip()))), found_block)
            if match is None:
                above = text.strip()
                continue
            parts, block = match.groupdict(), ""
            units = {name: unit_of_text(parts.get(name) or parts["unit"]) for name in ("unit", "spread_unit")}
            amounts = dict[str, float]()
            for key in ("value", "spread", "low", "high"):
                unit = units["spread_unit" if key == "spread" else "unit"]
                if unit is None or unit.label not in NANOSECONDS:
                    found.refuse(f"{parts['unit'][:20]!r} is no unit of time from ns to s", number)
                if parts.get(key):
                    amounts[key] = found.number(parts[key].replace(",", ""), key, number) * round(unit.factor * 1e9)
            command = parts.get("command")
            named, arguments = ({"benchmark": command}, {}) if command else benchmark_arguments(parts["name"] or above)
            row: Row = {**named, "time_ns": amounts["value"]}
            if "low" in amounts:
                row["ci95_ns"] = (amounts["high"] - amounts["low"]) / 2
            runs = int(parts["runs"]) if parts.get("runs") else None
            found.add(row | spread_columns(amounts.get("spread"), runs, "_ns"), arguments, number)


@dataclass(frozen=True)
class _TableForm:
    """Benchmarks in CSV: the columns that hold what, by their headings."""

    tool: str
    names: Sequence[str]  # of the benchmark
    value: str
    column: str  # what the value is called here
    unit: str = ""  # if that does not say it
    deviation: str = ""
    version: str = ""
    measured: Mapping[str, str] = field(default_factory=dict)  # further ones, with what they are called here
    before: Sequence[str] = ()  # parameters stand behind the last of these columns and before the value


_TABLE_FORMS = (
    _TableForm(
        "compare.js",
        ("filename", "configuration"), "rate", "rate", "ops/s", version="binary", measured={"time": "time"},
    ),
    _TableForm(
        "BenchmarkDotNet",
        ("Method",), "Mean", "time_ns", deviation="StdDev",
        before=("Method", "Job", "Runtime", "Toolchain", "Platform", "Jit", "WarmupCount"),
    ),
)  # fmt: skip


class BenchmarkTableReader(ResultReader):
    """Read benchmarks in CSV of BenchmarkDotNet (``*-report.csv``) and of Node.js's ``benchmark/compare.js``.

    Source: BenchmarkDotNet, "Exporters"; Node.js, ``benchmark/compare.js``.
    """

    code = ("benchmark",)

    def _take(self, content: Any, found: Found, options: Any) -> None:
        _, first = next(content, (1, ""))
        delimiter = ";" if first.count(";") > first.count(",") else ","
        headings = [field.strip() for field in csv_fields(first, found.source, 1, delimiter, skips_blanks=True)]
        form = next((form for form in _TABLE_FORMS if {*form.names} <= {*headings}), None)
        if form is None:
            found.refuse("is no table of benchmarks", 1)
        needed = [*form.names, form.value, *form.measured, *([form.version] if form.version else [])]
        if missing := [name for name in needed if name not in headings]:
            found.refuse(f"has no column {missing[0]}, as tables of {form.tool} have", 1)
        found.value = form.column
        start = max((headings.index(name) for name in form.before if name in headings), default=len(headings))
        varied = headings[start + 1 : headings.index(form.value)]
        for number, text in content:
            if not text.strip():
                continue
            fields = csv_fields(text, found.source, number, delimiter, skips_blanks=True)
            record = found.cells([field.strip() for field in fields], headings, number)
            row: Row = {"benchmark": " ".join(record[name] for name in form.names)}
            if form.version:
                row[form.version] = record[form.version]
            if form.unit:
                row["unit"] = form.unit
            wanted = {form.value: form.column, **form.measured}
            row |= {column: _amount(record[name], found, number) for name, column in wanted.items()}
            if form.deviation and record.get(form.deviation, "NA") != "NA":
                row |= spread_columns(_amount(record[form.deviation], found, number), None, "_ns")
            found.add(row, {name: record[name] for name in varied}, number)


def _amount(text: str, found: Found, line: int) -> float | None:
    """Return a number, or a time with its unit in ns; None of a run that failed (``NA``)."""
    text = text.strip()
    if text in ("", "NA", "?"):
        return None
    number, _, label = text.replace(",", "").partition(" ")
    unit = unit_of_text(label.replace("μ", "µ")) if label else None
    amount = number_or_text(number)
    if isinstance(amount, str) or (label and (unit is None or unit.label not in NANOSECONDS)):
        found.refuse(f"{text[:40]!r} is no number or time", line)
    return float(amount) * (round(unit.factor * 1e9) if unit else 1)


class _PyperfRun(msgspec.Struct):
    values: list[float] = []


class _PyperfBenchmark(msgspec.Struct):
    runs: list[_PyperfRun]
    metadata: dict[str, Any] = {}


class _Pyperf(msgspec.Struct):
    benchmarks: list[_PyperfBenchmark]
    metadata: dict[str, Any] = {}


class PyperfReader(ResultReader):
    """Benchmarks of pyperf (``-o FILE``); each value of each process is a row.

    Source: pyperf, "API", class ``BenchmarkSuite``, and ``pyperf/_bench.py``.
    """

    shape, description = _Pyperf, "JSON of pyperf"
    value, code = "time_s", ("benchmark",)

    def _take(self, content: _Pyperf, found: Found, options: Any) -> None:
        for benchmark in content.benchmarks:
            facts = {**content.metadata, **benchmark.metadata}
            unit = str(facts.get("unit", "second"))
            if unit != "second":
                found.left_out[f"since their unit is {unit[:20]}, not second: {{}} benchmarks"] += 1
                continue
            name = one_line(str(facts.get("name", "")))
            for process, run in enumerate(benchmark.runs, start=1):
                for repetition, value in enumerate(run.values, start=1):
                    row = {"benchmark": name, "process": process, "repetition": repetition, "time_s": value}
                    found.add(row)


class JuliaBenchmarksReader(ResultReader):
    """Read benchmarks of BenchmarkTools.jl (``BenchmarkTools.save``); each sample of a trial is a row.

    Source: BenchmarkTools.jl, ``src/serialization.jl``.
    """

    shape, description = list[Any], "JSON of BenchmarkTools.jl"
    value, code = "time_ns", ("benchmark",)

    def _take(self, content: list[Any], found: Found, options: Any) -> None:
        roots = content[1] if len(content) > 1 and isinstance(content[1], list) else []
        for root in roots:
            for names, times in _trials(root, ()):
                named, arguments = benchmark_arguments("/".join(names) or "benchmark")
                for repetition, time in enumerate(times, start=1):
                    found.add({**named, "repetition": repetition, "time_ns": time}, arguments)


def _trials(node: Any, names: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], list[float]]]:
    """Yield names and times, in ns, of the trials and estimates in a group."""
    match node:
        case ["BenchmarkGroup", {"data": dict() as children}] if len(names) < _LARGEST_DEPTH:
            for name, child in children.items():
                yield from _trials(child, (*names, str(name).strip('"')))
        case ["Trial", {"times": list() as times}]:
            yield names, [time for time in times if isinstance(time, (int, float)) and not isinstance(time, bool)]
        case ["TrialEstimate", {"time": int() | float() as time}]:
            yield names, [time]


class _Case(msgspec.Struct):
    name: str = ""
    display_name: str = ""
    result: str = "pass"
    system: str = ""
    partition: str | None = None
    environ: str | None = None
    environment: str | None = None
    num_tasks: int | None = None
    num_tasks_per_node: int | None = None
    num_cpus_per_task: int | None = None
    num_gpus_per_node: int | None = None
    perfvalues: dict[str, list[Any]] = {}


class _Session(msgspec.Struct):
    testcases: list[_Case] = []


class _Report(msgspec.Struct):
    runs: list[_Session]


def _columns(fields: Mapping[str, Any], tasks: Row) -> tuple[Row, dict[str, str]]:
    """Return what a test is called and where it ran, and its parameters; those of fixtures keep the fixture's name."""
    displayed = next(filter(None, (fields.get(name) for name in ("display_name", "info", "name"))), "")
    plain = " ".join(displayed.split())
    system = ":".join(filter(None, (fields.get("system"), fields.get("partition"))))
    environ = fields.get("environ") or fields.get("environment")
    test = re.split(r" [%/@~]", plain, maxsplit=1)[0]
    return {"test": test, "system": system, "environ": environ, **tasks}, dict(_PARAMETER.findall(plain))


class ReframeReportReader(ResultReader):
    """Read reports of ReFrame (data version 4); each performance variable of each test that passed is a row.

    The parameters are those in the test's name and its counts of tasks.

    Source: ReFrame, documentation, "Configuring ReFrame", "Reporting".
    """

    shape, description = _Report, "a report of ReFrame"
    parameters, code, system = _TASKS, ("test",), ("system", "environ")

    def _take(self, content: _Report, found: Found, options: Any) -> None:
        for index, run in enumerate(content.runs):
            for number, case in enumerate(run.testcases):
                variables = _variables(case, f"`$.runs[{index}].testcases[{number}]`", found)
                if case.result not in ("pass", "success"):
                    found.left_out["since they did not pass: {} tests"] += 1
                    continue
                fields = msgspec.structs.asdict(case)
                columns, parameters = _columns(fields, {name: fields[name] for name in _TASKS})
                for metric, value, unit in variables:
                    row = {**columns, "run": index + 1, "metric": metric, "value": value, "unit": unit}
                    found.add(row, parameters)


def _variables(case: _Case, place: str, found: Found) -> list[tuple[str, float, str]]:
    variables = []
    for key, fields in case.perfvalues.items():
        # Value, reference, lower and upper threshold, unit, and, in later versions, the verdict.
        value, unit = fields[0] if fields else None, fields[4] if len(fields) > 4 else None
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not isinstance(unit, (str, type(None))):
            problem = "is not [value, reference, lower, upper, unit, ...]"
            found.refuse(f"{place}: performance variable {key[:60]!r} {problem}")
        variables.append((key.rpartition(":")[2], float(value), unit or ""))
    return variables


class ReframePerflogReader(ResultReader):
    """Read a log of performance of ReFrame; each variable of each test that passed is a row, with the roles of a
    report.

    Source: ReFrame, documentation, "Performance logging": fields are separated by ``|``, each variable has the
    columns ``NAME_value``, ``NAME_unit``, ``NAME_ref`` and its thresholds.
    """

    parameters, code, system = _TASKS, ("test",), ("system", "environ")

    def _take(self, content: Iterable[tuple[int, str]], found: Found, options: Any) -> None:
        columns: list[str] = []
        for number, text in content:
            fields = text.split("|")
            if not columns:
                columns = fields
                metrics = [name.removesuffix("_value") for name in columns if name.endswith("_value")]
                if not metrics or len(set(columns)) < len(columns):
                    found.refuse("has no column names of ReFrame, such as NAME_value", number)
                continue
            if not text or fields == columns:
                continue
            row = found.cells(fields, columns, number, "; a field may hold a | itself")
            if row.get("result", "pass") not in ("pass", "success"):
                found.left_out["since they did not pass: {} tests"] += 1
                continue
            tasks = {name: int(row[name][:15]) if row[name].isdecimal() else None for name in _TASKS if name in row}
            about, parameters = _columns(row, tasks)
            about["job_completion_time"] = row.get("job_completion_time")
            for metric in metrics:
                if row[f"{metric}_value"].strip() in _ABSENT:
                    continue
                value = found.number(row[f"{metric}_value"], f"{metric}_value", number)
                measured = {**about, "metric": metric, "value": value, "unit": row.get(f"{metric}_unit") or ""}
                found.add(measured, parameters, number)
