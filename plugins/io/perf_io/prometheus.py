"""Series that a Prometheus server answered a range query with."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import numpy as np

from perf_io.text import decode_document, decode_json
from perfcore.base.arrays import Floats
from perfcore.base.errors import InputError
from perfcore.data.series import Series
from perfcore.reading.source import Reader, Source

_STATUS = re.compile(rb'\s*\{\s*"status"\s*:\s*"(?:success|error)"')
_NAME = "__name__"
_MOST_NOTED = 20


class _Samples(msgspec.Struct):
    """One series: its labels, and pairs of a time in seconds and a number as text."""

    metric: dict[str, str]
    values: tuple[tuple[float, str], ...] = ()


class _Data(msgspec.Struct, rename="camel"):
    result_type: str
    result: msgspec.Raw  # its shape depends on the type


class _Answer(msgspec.Struct, rename="camel"):
    status: str
    data: _Data | None = None
    error_type: str = ""
    error: str = ""
    warnings: tuple[str, ...] = ()


class PrometheusReader(Reader):
    """Reads the JSON of ``/api/v1/query_range``.

    Choose it where the machines are monitored already. Times are seconds since 1970. Each series is a column, called
    by the labels in which it differs from the others; the notes give the labels that all share. Where a series has no
    sample, or one that is NaN or infinite (a quotient by zero), the sample is missing.
    """

    def sniff(self, source: Source) -> float:
        return 0.95 if _STATUS.match(source.head) else 0.0

    def read(self, source: Source, options: Any) -> Series:
        answer = decode_document(source, _Answer, "an answer of Prometheus")
        if answer.status != "success" or answer.data is None:
            problem = f"the server refused the query: {' '.join(f'{answer.error_type}: {answer.error}'.split())[:300]}"
            raise InputError(source.name, problem)
        if answer.data.result_type != "matrix":
            problem = f"holds a {answer.data.result_type[:20]!r}; ask the server for a range: /api/v1/query_range"
            raise InputError(source.name, problem)
        try:  # what was taken as raw was not looked at: neither its texts nor its depth
            matrix = decode_json(answer.data.result, tuple[_Samples, ...])
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            place = str(error).replace("`$", "`$.data.result")
            raise InputError(source.name, f"is not a matrix of Prometheus: {place}") from None
        with_samples = [(position, samples) for position, samples in enumerate(matrix) if samples.values]
        if not with_samples:
            raise InputError(source.name, "the query found no samples; check its labels and its range of time")
        names, shared = _column_names([samples.metric for _, samples in with_samples])
        notes = [*(" ".join(warning.split()) for warning in answer.warnings)]
        if shared:
            notes.insert(0, f"all series: {shared}")
        read = [_numbers(samples, position, source.name) for position, samples in with_samples]
        times = np.unique(np.concatenate([sample_times for sample_times, _ in read]))
        columns = {}
        for name, (sample_times, values) in zip(names, read, strict=True):
            infinite = int(np.isinf(values).sum())
            if infinite:
                notes.append(f"{name}: {infinite} infinite samples are taken as missing")
            columns[name] = np.full(len(times), np.nan)
            columns[name][np.searchsorted(times, sample_times)] = np.where(np.isinf(values), np.nan, values)
        return Series(times, columns, "s", source=source.name, notes=notes[:_MOST_NOTED])


def _numbers(samples: _Samples, position: int, source: str) -> tuple[Floats, Floats]:
    """Times and values of one series; the server writes NaN, +Inf and -Inf as Python reads them."""
    times = np.array([time for time, _ in samples.values])
    try:
        values = np.array([float(text) for _, text in samples.values])
    except ValueError as error:
        raise InputError(source, f"{error} - at `$.data.result[{position}].values`") from None
    if not (rising := np.diff(times) > 0).all():
        late = int(np.argmin(rising)) + 1
        problem = f"time {times[late]!s} follows {times[late - 1]!s} - at `$.data.result[{position}].values[{late}]`"
        raise InputError(source, f"{problem}; times must increase")
    return times, values


def _column_names(metrics: Sequence[Mapping[str, str]]) -> tuple[list[str], str]:
    """A name for each series from the labels that differ, and the labels that all share."""
    labels = sorted({label for metric in metrics for label in metric})
    differing = [label for label in labels if len({metric.get(label) for metric in metrics}) > 1]
    if not differing and _NAME in labels:
        differing = [_NAME]
    names = [
        ", ".join(
            _one_line(metric[label] if label == _NAME else f"{label}={metric[label]}")
            for label in differing
            if label in metric
        )
        or "value"
        for metric in metrics
    ]
    # Labels that hold line ends or commas, or a damaged answer, could make two names alike.
    counts = Counter(name.casefold() for name in names)
    unique = [f"{name} #{position}" if counts[name.casefold()] > 1 else name for position, name in enumerate(names)]
    shared = ", ".join(f"{label}={metrics[0][label]}" for label in labels if label not in differing)
    return unique, _one_line(shared)


def _one_line(text: str) -> str:
    return " ".join(text.split())
