"""JSON of JMH, Java's harness of microbenchmarks (``-rf json``).

Source: JMH 1.37, ``JSONResultFormat``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from perf_io.results.result_table import Row, joined, one_line, results
from perf_io.shared.json_document import decode_document
from perfcore.base.errors import InputError
from perfcore.contracts import NoOptions, Reader
from perfcore.data.measurements import Measurements
from perfcore.reading.source import Source

_STARTS = re.compile(rb'\s*\[\s*\{\s*"(?:jmhVersion|benchmark)"\s*:')
_MODES = {"thrpt": "throughput", "avgt": "average_time", "sample": "sample_time", "ss": "single_shot_time"}


class _Metric(msgspec.Struct, rename="camel"):
    score: float | str
    score_unit: str
    raw_data: list[list[float]] = []
    raw_data_histogram: list[list[list[tuple[float, float]]]] = []


class _Benchmark(msgspec.Struct, rename="camel"):
    benchmark: str
    mode: str
    primary_metric: _Metric
    threads: int | None = None
    params: dict[str, str] = {}


class JmhReader(Reader):
    """Benchmarks of JMH; each measured iteration of each fork is a row.

    The value is called by the mode, such as ``average_time``. The parameters are those of ``@Param`` that hold numbers,
    and ``threads``. Of the mode ``sample`` a row is the mean of the iteration's samples.
    """

    def sniff(self, source: Source) -> float:
        """Sure by the first key and the metric."""
        head = source.head
        return 0.95 if _STARTS.match(head) and (b'"jmhVersion"' in head or b'"primaryMetric"' in head) else 0.0

    def read(self, source: Source, options: NoOptions) -> Measurements:
        """Read all iterations.

        Raises
        ------
        InputError
            No such document, or a benchmark without iterations.
        """
        rows: list[Row] = []
        parameters: dict[str, None] = {}
        for index, result in enumerate(decode_document(source, list[_Benchmark], "JSON of JMH")):
            metric, count = result.primary_metric, len(rows)
            parameters.update(dict.fromkeys(map(one_line, result.params)))
            for fork, repetition, value in _iterations(metric):
                columns = {
                    **{"benchmark": result.benchmark, "threads": result.threads},
                    **{"fork": fork, "repetition": repetition, "metric": _MODES.get(result.mode, result.mode)},
                    **{"value": value, "unit": metric.score_unit},
                }
                rows.append(joined(columns, result.params, source.name))
            if len(rows) == count:
                raise InputError(source.name, f"`$[{index}].primaryMetric` has neither rawData nor rawDataHistogram")
        words = [name for name in parameters if any(isinstance(row.get(name), str) for row in rows)]
        return results(
            rows, source.name, parameters=[*parameters, "threads"], value="value", code=["benchmark", *words]
        )


def _iterations(metric: _Metric) -> Iterator[tuple[int, int, float]]:
    """Fork and iteration, from 1, with what was measured."""
    for fork, values in enumerate(metric.raw_data, start=1):
        for repetition, value in enumerate(values, start=1):
            yield fork, repetition, value
    for fork, histograms in enumerate(metric.raw_data_histogram, start=1):
        for repetition, histogram in enumerate(histograms, start=1):
            if count := sum(number for _, number in histogram):
                yield fork, repetition, sum(value * number for value, number in histogram) / count
