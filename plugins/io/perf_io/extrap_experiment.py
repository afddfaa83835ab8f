"""What Extra-P calls an experiment: values of a metric at points, for each call path; to and from measurements."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from perfcore.errors import DataError, InputError
from perfcore.measurements import Measurements

__all__ = ["DEFAULT_CALLPATH", "DEFAULT_METRIC", "Observation", "as_measurements", "as_observations"]

# What Extra-P itself shows where a file names none.
DEFAULT_CALLPATH = "<root>"
DEFAULT_METRIC = "<default>"


@dataclass(frozen=True)
class Observation:
    """One value: point, call path, metric."""

    point: Mapping[str, float]
    callpath: str
    metric: str
    value: float


def as_measurements(observations: Sequence[Observation], source: str, lines: Sequence[int] | None) -> Measurements:
    """A table with columns for parameters, ``callpath``, ``repetition``, and the metric or ``metric`` and ``value``.

    Raises
    ------
    InputError
        There is nothing, or a parameter has the name of another column.
    """
    import pandas as pd

    if not observations:
        raise InputError(source, "has no values")
    parameters = list(dict.fromkeys(name for one in observations for name in one.point))
    metrics = list(dict.fromkeys(one.metric for one in observations))
    several = len(metrics) > 1
    value = "value" if several else metrics[0]
    own = ["callpath", "repetition", *(["metric"] if several else []), value]
    for name in own:
        if name in parameters or own.count(name) > 1:
            raise InputError(source, f"{name!r} is the name of a parameter and of another column; rename the parameter")
    seen = Counter[object]()
    rows = []
    for one in observations:
        place = (*one.point.items(), one.callpath, one.metric)
        seen[place] += 1
        rows.append(
            {
                **{name: one.point.get(name) for name in parameters},
                "callpath": one.callpath,
                **({"metric": one.metric} if several else {}),
                "repetition": seen[place],
                value: one.value,
            }
        )
    code = ["callpath", "metric"] if several else ["callpath"]
    return Measurements(pd.DataFrame(rows), parameters, value, code=code, system=(), source=source, lines=lines)


def as_observations(data: Measurements) -> list[Observation]:
    """The values of a table, its code as call path and its value column as metric.

    Raises
    ------
    DataError
        Data of another type, without parameters or a value, or a point or value that is no finite number.
    """
    import pandas as pd

    if not isinstance(data, Measurements):
        raise DataError(f"Extra-P's formats hold measurements, not {type(data).__name__}")
    roles = data.roles
    if not roles.parameters or roles.value is None:
        raise DataError(f"{data.source}: Extra-P's formats need parameters and a value column; name them")
    metric = roles.value
    # A name must not hold blanks; then the symbol that formulas use stands for it.
    names = {column if len(column.split()) == 1 else symbol: column for symbol, column in roles.parameters.items()}
    columns = {name: pd.to_numeric(data.table[column], errors="coerce") for name, column in names.items()}
    numbers = pd.to_numeric(data.table[metric], errors="coerce")
    named = [data.table[column].astype(str).tolist() for column in (*roles.code, *roles.system)]
    found = []
    for row, value in enumerate(numbers.tolist()):
        point = {name: float(column.iloc[row]) for name, column in columns.items()}
        for name, number in {**point, metric: value}.items():
            if not abs(number) < float("inf"):
                data.refuse(row, f"{name} is no finite number, which Extra-P's formats need")
        callpath = "->".join(parts[row] for parts in named) or DEFAULT_CALLPATH
        found.append(Observation(point, callpath, metric, float(value)))
    return found
