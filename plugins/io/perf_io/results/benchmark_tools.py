"""Benchmark tools: console lines and CSV by a row of a table for each form, and JSON of pyperf and BenchmarkTools.jl.

A form says how its text begins, what a line or which columns hold, and what its spread is. Further forms of tools whose
JSON is read elsewhere, such as the console of Google Benchmark and the CSV of JMH, stand with that JSON.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from perf_io.results.json_results import benchmark_arguments, spread_columns
from perf_io.results.result_table import Found, ResultReader, Row, number_or_text, one_line
from perfcore.data.units import NANOSECONDS, unit_of_text

_NUMBER = r"[0-9][0-9,.]*(?:[eE][+-]?[0-9]+)?"
_LARGEST_DEPTH = 50  # of groups of BenchmarkTools.jl


@dataclass(frozen=True)
class _LineForm:
    """Benchmarks in lines; groups of the pattern: name, value, unit, and spread or low and high."""

    tool: str
    line: re.Pattern[str]
    name_above: bool = False  # a long name stands in the line above


_LINE_FORMS = (
    _LineForm(
        "libtest",
        re.compile(
            rf"test (?P<name>\S.*?)\s+\.\.\. bench: +(?P<value>{_NUMBER}) (?P<unit>[a-zµ]+)/iter"
            rf"(?: \(\+/- (?P<spread>{_NUMBER})\))?.*"
        ),
    ),
    _LineForm(
        "criterion",
        re.compile(
            rf"(?P<name>\S.*?)?\s+time: +\[(?P<low>{_NUMBER}) \S+ (?P<value>{_NUMBER}) (?P<unit>\S+) "
            rf"(?P<high>{_NUMBER}) \S+\]"
        ),
        name_above=True,
    ),
)  # fmt: skip


class BenchmarkLinesReader(ResultReader):
    """Benchmarks as libtest (``cargo bench``) and criterion.rs print them, also with ``--output-format bencher``.

    The spread of libtest, ``+/-``, is taken as the standard deviation of its runs, the ends of criterion's interval as
    those of a 95 % confidence interval. ``sort/100`` has the parameter ``arg1``.

    Source: Rust, ``library/test/src/bench.rs``; criterion.rs, ``src/report.rs``.
    """

    value, unit, code = "time_ns", None, ("benchmark",)

    def _take(self, content: Iterable[tuple[int, str]], found: Found, options: Any) -> None:
        above = ""
        for number, text in content:
            form, match = next(((f, m) for f in _LINE_FORMS if (m := f.line.fullmatch(text.rstrip()))), (None, None))
            if form is None or match is None:
                above = text.strip()
                continue
            unit = unit_of_text(match["unit"])
            if unit is None or unit.label not in NANOSECONDS:
                found.refuse(f"{match['unit'][:20]!r} is no unit of time from ns to s", number)
            parts = match.groupdict()
            factor = round(unit.factor * 1e9)
            numbers = {key: parts[key] for key in ("value", "spread", "low", "high") if parts.get(key)}
            amounts = {key: found.number(text.replace(",", ""), key, number) * factor for key, text in numbers.items()}
            named, arguments = benchmark_arguments(parts["name"] or (above if form.name_above else ""))
            row: Row = {**named, "time_ns": amounts["value"]}
            if "low" in amounts:
                row["ci95_ns"] = (amounts["high"] - amounts["low"]) / 2
            found.add(row | spread_columns(amounts.get("spread"), None, "_ns"), arguments, number)


@dataclass(frozen=True)
class _TableForm:
    """Benchmarks in CSV: the columns that hold what, by their headings."""

    tool: str
    names: Sequence[str]  # of the benchmark
    value: str
    column: str  # what the value is called here
    unit: str = ""  # if that does not say it
    deviation: str = ""
    error: str = ""  # half of a 99.9 % interval
    count: str = ""
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
    """Benchmarks in CSV of BenchmarkDotNet (``*-report.csv``) and of Node.js's ``benchmark/compare.js``.

    Of compare.js the rate of each run is a row, in operations per second, and ``binary`` is the version.

    Source: BenchmarkDotNet, "Exporters"; Node.js, ``benchmark/compare.js``.
    """

    code = ("benchmark",)

    def _take(self, content: Any, found: Found, options: Any) -> None:
        _, first = next(content, (1, ""))
        delimiter = ";" if first.count(";") > first.count(",") else ","
        headings = _fields(first, delimiter, found, 1)
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
            record = found.cells(_fields(text, delimiter, found, number), headings, number)
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


def _fields(text: str, delimiter: str, found: Found, line: int) -> list[str]:
    try:
        rows = list(csv.reader([text], delimiter=delimiter, skipinitialspace=True))
    except csv.Error as error:
        found.refuse(str(error), line)
    return [field.strip() for row in rows for field in row]


def _amount(text: str, found: Found, line: int) -> float | None:
    """A number, or a time with its unit in ns; None of a run that failed (``NA``)."""
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
    """Benchmarks of BenchmarkTools.jl (``BenchmarkTools.save``); each sample of a trial is a row.

    The names of the groups are the code, a number among them the parameter ``arg1``.

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
                    row = {**named, "repetition": repetition, "time_ns": time}
                    found.add(row, arguments)


def _trials(node: Any, names: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], list[float]]]:
    """Names and times, in ns, of the trials and estimates in a group."""
    match node:
        case ["BenchmarkGroup", {"data": dict() as children}] if len(names) < _LARGEST_DEPTH:
            for name, child in children.items():
                yield from _trials(child, (*names, str(name).strip('"')))
        case ["Trial", {"times": list() as times}]:
            yield names, [time for time in times if isinstance(time, (int, float)) and not isinstance(time, bool)]
        case ["TrialEstimate", {"time": int() | float() as time}]:
            yield names, [time]
