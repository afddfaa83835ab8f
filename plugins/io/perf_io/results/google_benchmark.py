"""JSON of Google Benchmark (``--benchmark_out=FILE``).

Source: Google Benchmark, "User Guide", sections "Output Formats", "Passing Arguments", "Multithreaded Benchmarks".
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import msgspec

from perf_io.results.result_table import joined, results
from perf_io.shared.json_document import decode_document
from perfcore.base import progress
from perfcore.base.errors import InputError
from perfcore.contracts import NoOptions, Reader
from perfcore.data.measurements import Measurements
from perfcore.data.units import NANOSECONDS
from perfcore.reading.source import Source

_STARTS = re.compile(rb'\s*\{\s*"(?:context|benchmarks)"\s*:')
_KNOWN = re.compile(rb'"(?:real_time|run_type|run_name|library_build_type|mhz_per_cpu|time_unit)"\s*:')
# What a name holds beside arguments: how the run was set up, not what was varied.
_SETTINGS = ("iterations", "repeats", "min_time", "min_warmup_time")
_MARKS = ("real_time", "manual_time", "process_time")
_AGGREGATE = re.compile(r"_(?:mean|median|stddev|cv|BigO|RMS)$")  # of versions before run_type
_NO_COUNTER = {
    *("name", "run_name", "run_type", "family_index", "per_family_instance_index", "repetitions", "repetition_index"),
    *("threads", "iterations", "real_time", "cpu_time", "time_unit", "label", "error_occurred", "error_message"),
    *("aggregate_name", "aggregate_unit", "skipped", "skip_message"),
}


class _Benchmark(msgspec.Struct):
    name: str
    real_time: float | None = None
    cpu_time: float | None = None
    time_unit: str = "ns"
    run_name: str | None = None
    run_type: str = "iteration"
    repetition_index: int = 0
    iterations: float | None = None
    threads: int | None = None
    error_occurred: bool = False
    skipped: bool = False


class _Document(msgspec.Struct):
    benchmarks: list[msgspec.Raw]


class GoogleBenchmarkReader(Reader):
    """Runs of Google Benchmark; each repetition is a row, its aggregates are left out.

    The name ``BM_copy/1024/n:8/threads:4`` gives the code ``BM_copy`` and the parameters ``arg1``, ``n`` and
    ``threads``. The value is ``real_time``; ``cpu_time`` and the user's counters are columns.
    """

    def sniff(self, source: Source) -> float:
        """Sure by the frame and one of the fields that no other tool writes."""
        return 0.95 if _STARTS.match(source.head) and _KNOWN.search(source.head) else 0.0

    def read(self, source: Source, options: NoOptions) -> Measurements:
        """Read all runs that were measured.

        Raises
        ------
        InputError
            No such document, a run without a time, or none that was measured.
        """
        document = decode_document(source, _Document, "JSON of Google Benchmark")
        runs = []
        for index, raw in enumerate(document.benchmarks):
            try:
                run = msgspec.json.decode(raw, type=_Benchmark)
                fields = msgspec.json.decode(raw, type=dict[str, Any])
            except (msgspec.MsgspecError, UnicodeDecodeError) as error:
                place = str(error).replace("`$", f"`$.benchmarks[{index}]")
                raise InputError(source.name, f"is not JSON of Google Benchmark: {place}") from None
            if run.run_type != "iteration" or (run.run_name is None and _AGGREGATE.search(run.name)):
                continue
            runs.append((index, run, fields))
        measured = [(index, run, fields) for index, run, fields in runs if not (run.error_occurred or run.skipped)]
        if len(measured) < len(runs):
            progress.note(
                f"{source.name}: left out, since they failed or were skipped: {len(runs) - len(measured)} runs"
            )
        unit = _common_unit([run for _, run, _ in measured], source.name)
        rows, parameters = [], {}
        for index, run, fields in measured:
            if run.real_time is None:
                raise InputError(source.name, f"`$.benchmarks[{index}]` ({run.name[:60]!r}) has no `real_time`")
            code, arguments = _taken_apart(run.run_name or run.name, run.threads)
            parameters.update(dict.fromkeys(arguments))
            factor = NANOSECONDS[run.time_unit] / NANOSECONDS[unit]
            columns = {
                "benchmark": code,
                "repetition": run.repetition_index + 1,
                "iterations": run.iterations,
                f"real_time_{unit}": run.real_time * factor,
                f"cpu_time_{unit}": None if run.cpu_time is None else run.cpu_time * factor,
            }
            counters = {
                name: value
                for name, value in fields.items()
                if name not in _NO_COUNTER and isinstance(value, (int, float)) and not isinstance(value, bool)
            }
            rows.append(joined(joined(columns, arguments, source.name), counters, source.name))
        return results(rows, source.name, parameters=list(parameters), value=f"real_time_{unit}", code=["benchmark"])


def _common_unit(runs: Sequence[_Benchmark], source: str) -> str:
    """The unit of all runs, or nanoseconds where they differ."""
    units = list(dict.fromkeys(run.time_unit for run in runs))
    for unit in units:
        if unit not in NANOSECONDS:
            raise InputError(source, f"time unit {unit[:20]!r} is not one of {', '.join(NANOSECONDS)}")
    return units[0] if len(units) == 1 else "ns"


def _taken_apart(name: str, threads: int | None) -> tuple[str, dict[str, str]]:
    """Family and arguments of a benchmark's name."""
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
    return "/".join(code), arguments
