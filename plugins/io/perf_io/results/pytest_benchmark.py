"""JSON of pytest-benchmark (``--benchmark-json FILE`` or ``--benchmark-save``).

Source: pytest-benchmark, documentation, "Usage" and "Hooks".
"""

from __future__ import annotations

import re
from typing import Any

import msgspec

from perf_io.results.result_table import joined, number_or_text, one_line, results
from perf_io.shared.json_document import decode_document
from perfcore.contracts import NoOptions, Reader
from perfcore.data.measurements import Measurements
from perfcore.reading.source import Source

_STARTS = re.compile(rb'\s*\{\s*"machine_info"\s*:')


class _Stats(msgspec.Struct):
    mean: float
    rounds: int = 1
    data: list[float] = []


class _Benchmark(msgspec.Struct):
    name: str
    stats: _Stats
    group: str | None = None
    params: dict[str, Any] | None = None


class _Machine(msgspec.Struct):
    node: str = ""


class _Document(msgspec.Struct):
    machine_info: _Machine
    benchmarks: list[_Benchmark]


class PytestBenchmarkReader(Reader):
    """Benchmarks of pytest; each round is a row where the file kept them, otherwise each benchmark with its mean.

    pytest-benchmark keeps rounds with ``--benchmark-save-data``, and always with ``--benchmark-json``. The test's
    name without its parameters is the code, the parameters of ``pytest.mark.parametrize`` that hold numbers are the
    parameters, and the machine is the system.
    """

    def sniff(self, source: Source) -> float:
        """Sure by the description of the machine with which the document begins."""
        return 0.95 if _STARTS.match(source.head) else 0.0

    def read(self, source: Source, options: NoOptions) -> Measurements:
        """Read all rounds.

        Raises
        ------
        InputError
            No such document, or one without benchmarks.
        """
        document = decode_document(source, _Document, "JSON of pytest-benchmark")
        rows, numbers, words = [], dict[str, None](), dict[str, None]()
        for benchmark in document.benchmarks:
            params = benchmark.params or {}
            columns = {"test": benchmark.name.partition("[")[0], "machine": document.machine_info.node}
            for name, value in params.items():
                kind = words if isinstance(number_or_text(value), str) else numbers
                kind[one_line(name)] = None
            times = benchmark.stats.data or [benchmark.stats.mean]
            common = joined({**columns, "repetition": 0, "time_s": 0.0}, params, source.name)
            rows += [
                {**common, "repetition": repetition, "time_s": time} for repetition, time in enumerate(times, start=1)
            ]
        return results(
            rows, source.name, parameters=list(numbers), value="time_s", code=["test", *words], system=["machine"]
        )
