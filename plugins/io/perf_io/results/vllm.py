"""JSON of vLLM's benchmark of serving (``vllm bench serve --save-result``).

Source: vLLM 0.4 to 0.10, ``benchmarks/benchmark_serving.py``.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec

from perf_io.results.options import ServingOptions
from perf_io.results.result_table import Row, number_or_text, results
from perf_io.shared.json_document import decode_document
from perfcore.base.errors import InputError
from perfcore.contracts import Reader
from perfcore.data.measurements import Measurements
from perfcore.reading.source import Source

_STARTS = re.compile(rb'\s*\{\s*"date"\s*:')
_SETTINGS = ("request_rate", "max_concurrency", "num_prompts")
_NAMES = {"model_id": "model", "backend": "backend", "endpoint_type": "backend"}
_STATISTIC = re.compile(r"(?:mean|median|std|p[0-9.]{1,8})_(?:ttft|tpot|itl|e2el)_ms")
_TOTALS = {
    **{"duration": "duration_s", "completed": "completed", "request_throughput": "requests_per_s"},
    **{"output_throughput": "output_tokens_per_s", "total_token_throughput": "total_tokens_per_s"},
}


class _Requests(msgspec.Struct):
    ttfts: list[float] = []
    itls: list[list[float]] = []
    input_lens: list[int] = []
    output_lens: list[int] = []
    errors: list[str] = []


class VllmReader(Reader):
    """A run of vLLM's benchmark of serving: one row, or with ``-r requests=yes`` one for each request.

    The value is the throughput of generated tokens; the statistics of latencies are columns by their names, such as
    ``p99_ttft_ms``. Of requests it is the time to the first token. Rate, concurrency and number of requests are the
    parameters; a rate without limit is none.
    """

    Options = ServingOptions

    def sniff(self, source: Source) -> float:
        """Sure by the date with which it begins, the model and the number of prompts."""
        head = source.head
        return 0.95 if _STARTS.match(head) and b'"model_id"' in head and b'"num_prompts"' in head else 0.0

    def read(self, source: Source, options: ServingOptions) -> Measurements:
        """Read the run.

        Raises
        ------
        InputError
            No such document, nothing was generated, or requests are asked for and were not kept.
        """
        what = "JSON of vLLM's benchmark"
        document = decode_document(source, dict[str, Any], what)
        setup: Row = {column: str(document[name]) for name, column in _NAMES.items() if document.get(name)}
        setup |= {name: number_or_text(document.get(name)) for name in _SETTINGS}
        setup = {name: value for name, value in setup.items() if value not in (None, "inf")}
        if options.requests:
            rows = _requests(setup, decode_document(source, _Requests, what), source.name)
            value = "ttft_s"
        else:
            totals = {column: document.get(name) for name, column in _TOTALS.items()}
            rows = [{**setup, **totals, **{n: v for n, v in document.items() if _STATISTIC.fullmatch(n)}}]
            value = "output_tokens_per_s"
            if not isinstance(totals[value], (int, float)):
                raise InputError(source.name, "has no number `$.output_throughput`")
        return results(rows, source.name, parameters=_SETTINGS, value=value, code=["model", "backend"])


def _requests(setup: Row, kept: _Requests, source: str) -> list[Row]:
    """A row for each request that was answered."""
    count = len(kept.ttfts)
    lists: dict[str, list[Any]] = {
        "input_tokens": kept.input_lens,
        "output_tokens": kept.output_lens,
        "latencies": kept.itls,
    }
    if not count or any(len(values) not in (0, count) for values in lists.values()):
        raise InputError(source, "does not hold the times of its requests; run the benchmark with --save-detailed")
    rows = []
    for index, ttft in enumerate(kept.ttfts):
        if kept.errors[index : index + 1] not in ([], [""]):
            continue
        row: Row = {**setup, "ttft_s": ttft}
        row |= {name: values[index] for name, values in lists.items() if values and name != "latencies"}
        if kept.itls:
            row["request_s"] = ttft + sum(kept.itls[index])
        rows.append(row)
    return rows
