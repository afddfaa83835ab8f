"""What Pajé traces and the output of pj_dump have in common: types of states, and samples of variables."""

from __future__ import annotations

import math
from array import array
from collections import Counter
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import numpy.typing as npt

from perfcore.base.errors import InputError, UnknownNameError
from perfcore.data.series import Series
from perfcore.data.trace import Trace
from perfcore.data.units import nanoseconds_per

# What StarPU calls the states of its workers; its other types describe threads, memory nodes and schedulers.
STARPU_STATES = "Worker State"


def choose_state_type(types: Sequence[str], state_type: str | None, source: str) -> str:
    """The type that was asked for, the only one, or StarPU's workers."""
    if not types:
        raise InputError(source, "contains no state intervals")
    if state_type is not None:
        if state_type not in types:
            raise UnknownNameError(f"state type of {source}", state_type, types)
        return state_type
    if len(types) == 1:
        return types[0]
    if STARPU_STATES in types:
        return STARPU_STATES
    raise InputError(source, f"has states of several types: {', '.join(types)}; name one with the option state_type")


_MOST_VALUES = 20_000_000  # that the columns of single containers may hold together: 160 MB


class VariableSamples:
    """Collects the changes of all variables in 20 bytes each.

    Amounts are added up as decimals, so that what was added and subtracted again leaves nothing.
    """

    def __init__(self) -> None:
        self._codes: dict[tuple[str, str], int] = {}
        self._latest: list[Decimal] = []
        self._column, self._time, self._value = array("i"), array("q"), array("d")

    def __len__(self) -> int:
        return len(self._time)

    @property
    def types(self) -> Mapping[str, int]:
        """How many containers have each type, in the order of their first change."""
        return Counter(of_type for _, of_type in self._codes)

    def change(self, container: str, of_type: str, event: str, amount: str, at_ns: int, line: int, source: str) -> None:
        try:
            finite = math.isfinite(float(amount))
        except ValueError:
            finite = False
        if not finite:
            problem = f"the value of {container} {of_type} is {amount[:40]!r}; a finite number is expected"
            raise InputError(source, problem, line=line)
        number = Decimal(amount)
        code = self._codes.setdefault((container, of_type), len(self._codes))
        if code == len(self._latest):
            self._latest.append(Decimal(0))
        base = Decimal(0) if event == "SetVariable" else self._latest[code]
        self._latest[code] = base - number if event == "SubVariable" else base + number
        self._column.append(code)
        self._time.append(at_ns)
        self._value.append(float(self._latest[code]))

    def series(self, time_unit: str, source: str, notes: tuple[str, ...]) -> Series:
        """A column for each type, the sum over its containers; where it has several, also one for each of them."""
        times, row = np.unique(np.frombuffer(self._time, np.int64), return_inverse=True)
        code, value = np.frombuffer(self._column, np.int32), np.frombuffer(self._value, np.float64)
        order = np.argsort(code, kind="stable")
        bounds = np.searchsorted(code[order], np.arange(len(self._codes) + 1))
        types = self.types
        each = {name for name, count in types.items() if count > 1}
        if len(times) * sum(types[name] for name in each) > _MOST_VALUES:
            notes = (*notes, f"only the sums over containers, as there are {len(self._codes)} variables")
            each = set()
        sums = {name: np.zeros(len(times)) for name in types}
        single: dict[str, npt.NDArray[np.float64]] = {}
        late = 0
        for (container, of_type), number in self._codes.items():
            selected = order[bounds[number] : bounds[number + 1]]
            values = _sample_and_hold(row[selected], value[selected], len(times))
            late += int(row[selected].min() > 0)
            sums[of_type] += values
            if of_type in each:
                single[f"{container} {of_type}"] = values
        several = [name for name in types if types[name] > 1]
        if several:
            notes = (*notes, f"sums over containers: {', '.join(several)}")
        if late:
            notes = (*notes, f"{late} variables have no value at first, which counts as 0")
        factor = nanoseconds_per(time_unit)
        scaled_times = times if factor == 1 else times / factor
        return Series(scaled_times, {**sums, **single}, time_unit, source=source, notes=notes)


def variables_for(wanted: Sequence[type]) -> Mapping[str, Any]:
    """The option of a reader of states and variables for who can do with a series and not with a trace."""
    return {"kind": "variables"} if Series in wanted and Trace not in wanted else {}


def _sample_and_hold(
    row: npt.NDArray[np.int64], value: npt.NDArray[np.float64], n_rows: int
) -> npt.NDArray[np.float64]:
    """A value for each row, each held until the next; 0 before the first, and of several in one row the last."""
    latest = np.zeros(n_rows, np.int64)
    latest[row] = np.arange(1, len(row) + 1)  # the last of equal indices stays
    np.maximum.accumulate(latest, out=latest)
    return np.append(0.0, value)[latest]
