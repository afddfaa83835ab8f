"""Distributions that other tools have counted: Prometheus' buckets, HDR histograms and t-digests, as samples.

Sources: Prometheus, "Exposition formats" and "Histograms and summaries" (linear within a bucket, as its
``histogram_quantile``); HdrHistogram, ``outputPercentileDistribution``; T. Dunning and O. Ertl, "Computing Extremely
Accurate Quantiles Using t-Digests", 2019, section 2.9 (half of a centroid's weight on each side of its mean).
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from perf_structural.samples import RunSamples
from perfcore.base.errors import DataError, InputError, OptionError, UnknownNameError, listing
from perfcore.data.selection import parse_conditions, rows_that_meet

if TYPE_CHECKING:
    from perfcore.reading.source import Source

__all__ = ["read_counted"]

Floats = npt.NDArray[np.float64]

_MOST_SAMPLES = 200_000  # that stand for the counts
_LARGEST = 64 * 2**20  # bytes of a file that is looked into
_BUCKET = re.compile(
    r"^(?P<name>[A-Za-z_:][\w:]*)_bucket\{(?P<labels>[^}]*)\}\s+(?P<count>[0-9.eE+]+)(?:\s+[-0-9.]+)?\s*$", re.MULTILINE
)
_LABEL = re.compile(r'\s*([A-Za-z_]\w*)\s*=\s*"((?:[^"\\]|\\.)*)"\s*,?')
_HDR_HEAD = re.compile(r"^\s*\"?Value\"?[\s,]+\"?Percentile\"?[\s,]+\"?TotalCount\"?", re.MULTILINE)


def read_counted(
    source: Source, column: str | None = None, where: str | Iterable[str] | None = None
) -> RunSamples | None:
    """Samples that stand for the counts of a file; None of a file that holds no such.

    Parameters
    ----------
    source : Source
    column : str, optional
        Prometheus: the metric, where there are several.
    where : str or sequence of str, optional
        Prometheus: conditions on labels; what is left is summed.

    Raises
    ------
    InputError
        Counts fall where they must rise, or there are none.
    OptionError
        Several metrics and none was named.
    UnknownNameError
        No metric or label has the name.
    """
    try:
        with source.open() as stream:
            content = stream.read(_LARGEST + 1)
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None
    if len(content) > _LARGEST:
        return None
    if _BUCKET.search(text):
        return _prometheus(text, source.name, column, where)
    if _HDR_HEAD.search(text[:_LARGEST]):
        return _hdr(text, source.name)
    return _t_digest(text, source.name) if text.lstrip()[:1] in "[{" and "centroids" in text else None


def _spread(places: Floats, levels: Floats, count: float) -> Floats:
    """Quantiles of a distribution function that is linear between places, where it may jump."""
    n = max(1, min(math.floor(count), _MOST_SAMPLES))
    return np.interp((np.arange(n) + 0.5) / n, levels, places)


def _prometheus(text: str, source: str, column: str | None, where: Any) -> RunSamples:
    rows: list[dict[str, Any]] = []
    for match in _BUCKET.finditer(text):
        labels = dict(_LABEL.findall(match["labels"]))
        rows.append({**labels, "metric": match["name"], "count": float(match["count"]), "le": labels.get("le", "")})
    names = list(dict.fromkeys(row["metric"] for row in rows))
    if column is None and len(names) > 1:
        raise OptionError(f"{source}: name a metric (--column NAME): {listing(names)}")
    name = column or names[0]
    if name not in names:
        raise UnknownNameError(f"metric of {source}", name, names)
    rows = [row for row in rows if row["metric"] == name]
    if where is not None:
        import pandas as pd

        try:
            kept = rows_that_meet(pd.DataFrame(rows), parse_conditions(where))
        except ValueError as error:
            raise OptionError(f"--where: {error}") from None
        rows = [row for row, keep in zip(rows, kept, strict=True) if keep]
    by_bound: dict[float, float] = {}
    for row in rows:
        bound = float(row["le"].replace("Inf", "inf"))
        by_bound[bound] = by_bound.get(bound, 0.0) + row["count"]
    series = len({tuple(sorted((k, v) for k, v in row.items() if k not in ("le", "count"))) for row in rows})
    notes = [f"the sum of {series} series of {name}; --where LABEL=VALUE picks some"] if series > 1 else []
    return _of_buckets(by_bound, source, name, notes)


def _of_buckets(by_bound: Mapping[float, float], source: str, name: str, notes: list[str]) -> RunSamples:
    bounds = np.array(sorted(by_bound))
    counts = np.array([by_bound[bound] for bound in bounds])
    if (np.diff(counts) < 0.0).any():
        index = int(np.flatnonzero(np.diff(counts) < 0.0)[0])
        raise InputError(
            source, f"{name}: {counts[index]:g} up to {bounds[index]:g}, {counts[index + 1]:g} up to the next bound"
        )
    total, finite = counts[-1], np.isfinite(bounds)
    if total < 1.0 or not finite.any():
        raise DataError(f"{source}: {name} has counted nothing")
    overflow = total - counts[finite][-1]
    if overflow:
        notes.append(
            f"{overflow:g} of {total:g} are above the last bound, {bounds[finite][-1]:g}, and count as it: "
            f"quantiles beyond {1.0 - overflow / total:.4g} are only known to be larger"
        )
    notes.append("samples are spread evenly within their buckets")
    low = min(0.0, float(bounds[0]))
    levels = np.concatenate([[0.0], counts[finite] / total, [1.0]])
    places = np.concatenate([[low], bounds[finite], [bounds[finite][-1]]])
    return RunSamples(name, _spread(places, levels, total), source, count=int(total), notes=tuple(notes))


def _hdr(text: str, source: str) -> RunSamples:
    rows = [
        [float(word) for word in words[:3]]
        for line in text.splitlines()
        if len(words := line.replace(",", " ").split()) >= 3 and words[0].replace(".", "", 1).isdigit()
    ]
    if not rows:
        raise InputError(source, "a distribution of percentiles without a line of numbers")
    values, _, counts = np.array(rows).T
    if (np.diff(values) < 0.0).any() or (np.diff(counts) < 0.0).any():
        raise InputError(source, "values and counts of a distribution of percentiles must rise")
    levels, places = np.concatenate([[0.0], counts / counts[-1]]), np.concatenate([values[:1], values])
    note = "samples are spread evenly between the percentiles"
    return RunSamples("value", _spread(places, levels, counts[-1]), source, count=int(counts[-1]), notes=(note,))


def _t_digest(text: str, source: str) -> RunSamples | None:
    try:
        content = json.loads(text)
    except ValueError:
        return None
    if not isinstance(content, dict) or not isinstance(content.get("centroids"), list):
        return None
    try:
        pairs = [
            (each.get("mean", each.get("m")), each.get("weight", each.get("count", each.get("c"))))
            if isinstance(each, dict)
            else (each[0], each[1])
            for each in content["centroids"]
        ]
        means, weights = np.array(sorted(pairs), dtype=np.float64).T
        low, high = float(content.get("min", means[0])), float(content.get("max", means[-1]))
    except (TypeError, ValueError, IndexError, AttributeError):
        raise InputError(source, "centroids must be pairs of mean and weight") from None
    if not (weights > 0.0).all() or not np.isfinite(means).all():
        raise InputError(source, "centroids must have finite means and weights above 0")
    total = float(weights.sum())
    levels = np.concatenate([[0.0], (np.cumsum(weights) - 0.5 * weights) / total, [1.0]])
    places = np.concatenate([[min(low, means[0])], means, [max(high, means[-1])]])
    note = "samples are spread evenly between the centroids"
    return RunSamples("value", _spread(places, levels, total), source, count=int(total), notes=(note,))
