"""What Extra-P calls an experiment: values of a metric at points, for each call path; to and from measurements."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from perfcore.base.errors import DataError, InputError
from perfcore.data.kinds import type_in_words
from perfcore.data.measurements import Measurements

# What Extra-P itself shows where a file names none.
DEFAULT_CALLPATH = "<root>"
DEFAULT_METRIC = "<default>"


class Observation(NamedTuple):
    """One value: point, call path, metric."""

    point: Mapping[str, float]
    callpath: str
    metric: str
    value: float


class Summary(NamedTuple):
    """What an experiment holds of the runs of one call path at one point, besides or instead of the runs."""

    point: Mapping[str, float]
    callpath: str
    metric: str
    runs: Sequence[float]  # single runs; empty where there is only their mean
    mean: float
    median: float | None
    minimum: float | None
    maximum: float | None
    std: float | None  # standard deviation of a sample of runs
    repetitions: int | None


def sample_deviation(deviation: float | None, repetitions: int | None) -> float | None:
    """The standard deviation of a sample, of that of the runs themselves (over N, as Extra-P 4 stores it)."""
    if deviation is None or repetitions is None or repetitions < 2:
        return deviation
    return deviation * math.sqrt(repetitions / (repetitions - 1))


def summaries_as_measurements(summaries: Sequence[Summary], source: str, unit: str | None = None) -> Measurements:
    """Runs as rows; where there are none, a row with the mean, the spread, and how many runs they are of."""
    rows = [(summary, run, False) for summary in summaries for run in summary.runs]
    rows += [(summary, summary.mean, True) for summary in summaries if not summary.runs]
    figures = ("median", "minimum", "maximum", "std", "repetitions")
    return columns_as_measurements(
        [summary.point for summary, _, _ in rows],
        [summary.callpath for summary, _, _ in rows],
        [summary.metric for summary, _, _ in rows],
        [value for _, value, _ in rows],
        source,
        None,
        further={name: [getattr(summary, name) if alone else None for summary, _, alone in rows] for name in figures},
        unit=unit,
    )


def as_measurements(observations: Sequence[Observation], source: str, lines: Sequence[int] | None) -> Measurements:
    """A table of observations; see `columns_as_measurements`."""
    points, callpaths, metrics, values = zip(*observations, strict=True) if observations else ((), (), (), ())
    return columns_as_measurements(points, callpaths, metrics, values, source, lines)


def columns_as_measurements(
    points: Sequence[Mapping[str, float]],
    callpaths: Sequence[str],
    metrics: Sequence[str],
    values: Sequence[float],
    source: str,
    lines: Sequence[int] | None,
    *,
    further: Mapping[str, Sequence[float | None]] | None = None,
    unit: str | None = None,
) -> Measurements:
    """A table with columns for parameters, ``callpath``, ``repetition``, and the metric or ``metric`` and ``value``."""
    import pandas as pd

    if not values:
        raise InputError(source, "has no values")
    parameters = list(dict.fromkeys(name for names in dict.fromkeys(map(tuple, points)) for name in names))
    metric_names = list(dict.fromkeys(metrics))
    several = len(metric_names) > 1
    value = "value" if several else metric_names[0]
    more = {name: column for name, column in (further or {}).items() if any(number is not None for number in column)}
    reserved = ["callpath", "repetition", *(["metric"] if several else []), *more, value]
    for name in reserved:
        if name in parameters or reserved.count(name) > 1:
            raise InputError(source, f"{name!r} is the name of a parameter and of another column; rename the parameter")
    columns: dict[str, object] = {name: [point.get(name) for point in points] for name in parameters}
    columns["callpath"] = callpaths
    if several:
        columns["metric"] = metrics
    table = pd.DataFrame(columns)
    table["repetition"] = table.groupby(list(columns), sort=False, dropna=False).cumcount() + 1
    if more and table["repetition"].max() == 1:  # there are means of runs, and no runs
        del table["repetition"]
    table[value] = values
    for name, column in more.items():
        table[name] = pd.array(column, dtype="Float64").to_numpy(dtype=float, na_value=float("nan"))
    code = ["callpath", "metric"] if several else ["callpath"]
    return Measurements(table, parameters, value, code=code, system=(), unit=unit, source=source, lines=lines)


def as_observations(data: Measurements) -> list[Observation]:
    """The values of a table, its code and category as call path and its value column as metric."""
    import pandas as pd

    if not isinstance(data, Measurements):
        raise DataError(f"Extra-P's formats hold measurements, not {type_in_words(data)}")
    roles = data.roles
    if not roles.parameters or roles.value is None:
        raise DataError(f"{data.source}: Extra-P's formats need parameters and a value column; name them")
    metric = roles.value
    # A name must not hold blanks; then the symbol that formulas use stands for it.
    names = {column if len(column.split()) == 1 else symbol: column for symbol, column in roles.parameters.items()}
    columns = {name: pd.to_numeric(data.table[column], errors="coerce") for name, column in names.items()}
    numbers = pd.to_numeric(data.table[metric], errors="coerce")
    named = [data.table[column].astype(str).tolist() for column in (*roles.code, *roles.system, *roles.category)]
    observations = []
    for row, value in enumerate(numbers.tolist()):
        point = {name: float(column.iloc[row]) for name, column in columns.items()}
        for name, number in {**point, metric: value}.items():
            if not abs(number) < float("inf"):
                data.refuse(row, f"{name} is no finite number, which Extra-P's formats need")
        callpath = "->".join(parts[row] for parts in named) or DEFAULT_CALLPATH
        observations.append(Observation(point, callpath, metric, float(value)))
    return observations
