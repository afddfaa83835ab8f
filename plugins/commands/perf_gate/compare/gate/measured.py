"""Runs at a point that both versions measured: they are compared, and no law is asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from perf_statistics.gating.estimates import FEWEST_ROUNDS, Estimates
from perf_statistics.gating.sessions import apart
from perf_tables.categories.plain_name import plain_name
from perfcore.data.measurements import Measurements
from perfcore.models.model import Model

__all__ = ["MeasuredRuns", "measured_runs"]

Floats = npt.NDArray[np.float64]

Runs = dict[tuple[Any, ...], dict[str, Floats]]  # values of the parts at each point, "" for what has none

_FEWEST_IN_LINE = 5
# Of an estimate by second differences (T. Gasser, L. Sroka, C. Jennen-Steinmetz, "Residual variance and residual
# pattern in nonlinear regression", Biometrika 73, 1986).
_EFFICIENCY = 18.0 / 35.0
_FEWEST_OTHERS = 3  # points whose differences say how much single runs differ


@dataclass(frozen=True)
class MeasuredRuns:
    """Runs of two versions.

    Parameters
    ----------
    symbols : tuple of str
        Variables that a point is of.
    first, second : mapping of tuple to mapping of str to (k,) float
        Values at each point, by part.
    """

    symbols: tuple[str, ...]
    first: Mapping[tuple[Any, ...], Mapping[str, Floats]]
    second: Mapping[tuple[Any, ...], Mapping[str, Floats]]

    def estimate(self, point: Mapping[str, Any], part: str | None) -> Estimates | None:
        """How many times as slow a part is at a point, or the total; None where not both measured it.

        With three runs of each or more by their own spread. With fewer by how the differences scatter from point to
        point: along a line of five points or more by second differences, which a trend does not enter; otherwise by
        those at the other points, with all that truly differs between them.

        Parameters
        ----------
        point : mapping of str to float or str
        part : str or None
            None for the total.
        """
        key = tuple(_level(point[symbol]) for symbol in self.symbols)
        sides = self._values(key, part)
        if sides is None:
            return None
        first, second = (np.log(side) for side in sides)
        if min(len(first), len(second)) >= FEWEST_ROUNDS:
            return apart([first], [second], between=0.0)
        scatter, freedom = self._scatter(key, part)
        return Estimates(
            log_ratio=np.array([np.median(second) - np.median(first)]),
            standard_error=np.array([scatter]),
            freedom=np.array([freedom]),
            rounding=np.zeros(1),
            rounds=np.array([FEWEST_ROUNDS if freedom > 0.0 else min(len(first), len(second))]),
            may_pass=np.array([True]),
        )

    def _scatter(self, key: tuple[Any, ...], part: str | None) -> tuple[float, float]:
        """Standard deviation of the differences of single runs and its degrees of freedom, 0 of too few points."""
        differences = {
            other: float(np.median(np.log(sides[1])) - np.median(np.log(sides[0])))
            for other in self.first
            if (sides := self._values(other, part)) is not None
        }
        lines = [
            sorted(other for other in differences if other[:k] + other[k + 1 :] == key[:k] + key[k + 1 :])
            for k, level in enumerate(key)
            if isinstance(level, float)
        ]
        line = max(lines, key=len, default=[])
        if len(line) >= _FEWEST_IN_LINE:
            second = np.diff([differences[other] for other in line], n=2)
            return float(np.sqrt(np.mean(second**2) / 6.0)), _EFFICIENCY * len(second)
        others = [value for other, value in differences.items() if other != key]
        if len(others) < _FEWEST_OTHERS:
            return np.nan, 0.0
        return float(np.std(others, ddof=1)), len(others) - 1.0

    def _values(self, key: tuple[Any, ...], part: str | None) -> tuple[Floats, Floats] | None:
        sides = [_of_part(side.get(key, {}), part) for side in (self.first, self.second)]
        return None if sides[0] is None or sides[1] is None else (sides[0], sides[1])


def measured_runs(models: Sequence[Model], data: Sequence[Any], part_kind: str) -> MeasuredRuns | None:
    """Runs of both versions by point and part; None where the data are not there, or are not of these columns.

    Parameters
    ----------
    models : pair of Model
    data : pair of Measurements
        What each was fitted to; anything else has no runs.
    part_kind : str
        Variable that names the parts; empty where there are none.
    """
    symbols = tuple(symbol for symbol in models[0].variables if symbol != part_kind)
    sides = [_runs(model, dataset, symbols, part_kind) for model, dataset in zip(models, data, strict=True)]
    return None if sides[0] is None or sides[1] is None else MeasuredRuns(symbols, sides[0], sides[1])


def _runs(model: Model, data: Any, symbols: tuple[str, ...], part_kind: str) -> Runs | None:
    import pandas as pd

    if not isinstance(data, Measurements) or data.roles.value is None:
        return None
    columns = [model.variables.get(symbol, "") for symbol in symbols]
    part = model.variables.get(part_kind, "") if part_kind else None
    if part is not None and part not in data.table.columns and len(data.roles.category) == 1:
        part = data.roles.category[0]  # what models by category call so, whatever the column is called
    if any(column not in data.table.columns for column in [*columns, *([part] if part is not None else [])]):
        return None
    values = pd.to_numeric(data.table[data.roles.value], errors="coerce").to_numpy(dtype=float)
    keys = zip(*(map(_level, data.table[column].tolist()) for column in columns), strict=True)
    parts = [""] * len(values) if part is None else [plain_name(str(name)) for name in data.table[part].tolist()]
    values_by_key: dict[tuple[Any, ...], dict[str, list[float]]] = {}
    for key, name, value in zip(keys, parts, values.tolist(), strict=True):
        if value > 0.0:  # what takes no time in a run says nothing of a ratio
            values_by_key.setdefault(key, {}).setdefault(name, []).append(value)
    return {
        key: {name: np.array(part_values) for name, part_values in by_part.items()}
        for key, by_part in values_by_key.items()
    }


def _of_part(runs: Mapping[str, Floats], part: str | None) -> Floats | None:
    """Values of a part, or of all together run by run; None where that cannot be told."""
    if part is not None:
        return runs.get(plain_name(part))
    counts = {len(part_values) for part_values in runs.values()}
    return np.sum(list(runs.values()), axis=0) if len(counts) == 1 else None


def _level(value: Any) -> Any:
    """A level as it is compared: numbers by 12 digits, names as they are."""
    try:
        return float(f"{float(value):.12g}")
    except (TypeError, ValueError):
        return str(value)
