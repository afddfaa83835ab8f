"""Variables of a Pajé trace, as they change, to a series of all of them."""

from __future__ import annotations

import math
from array import array

import numpy as np

from perfcore.base.errors import InputError
from perfcore.data.series import Series
from perfcore.data.units import nanoseconds_per

__all__ = ["VariableSamples"]


class VariableSamples:
    """Collects the changes of all variables in 20 bytes each.

    Examples
    --------
    >>> samples = VariableSamples()
    >>> samples.change("p1 load", "SetVariable", "10", at_ns=0, line=1, source="demo")
    >>> samples.change("p1 load", "SubVariable", "4", at_ns=2_000_000_000, line=2, source="demo")
    >>> samples.series("s", "demo", ()).columns["p1 load"]
    array([10.,  6.])
    """

    def __init__(self) -> None:
        self._codes: dict[str, int] = {}
        self._latest: list[float] = []
        self._column, self._time, self._value = array("i"), array("q"), array("d")

    def __len__(self) -> int:
        return len(self._time)

    def change(self, name: str, event: str, amount: str, at_ns: int, line: int, source: str) -> None:
        """Take ``SetVariable``, ``AddVariable`` or ``SubVariable``.

        Raises
        ------
        InputError
            The amount is no finite number.
        """
        try:
            number = float(amount)
        except ValueError:
            number = math.nan
        if not math.isfinite(number):
            raise InputError(
                source,
                f"the value of {name} is {amount[:40]!r}; a finite number is expected",
                line=line,
            )
        code = self._codes.setdefault(name, len(self._codes))
        if code == len(self._latest):
            self._latest.append(0.0)
        base = 0.0 if event == "SetVariable" else self._latest[code]
        self._latest[code] = base - number if event == "SubVariable" else base + number
        self._column.append(code)
        self._time.append(at_ns)
        self._value.append(self._latest[code])

    def series(self, time_unit: str, source: str, notes: tuple[str, ...]) -> Series:
        """One column for each variable; NaN before its first value."""
        changed = np.frombuffer(self._time, np.int64)
        times, row = np.unique(changed, return_inverse=True)
        column, value = (
            np.frombuffer(self._column, np.int32),
            np.frombuffer(self._value, np.float64),
        )
        columns = {}
        for name, code in self._codes.items():
            of_this = column == code
            values = np.full(len(times), np.nan)
            values[row[of_this]] = value[of_this]  # of several at one time the last one stays
            latest = np.maximum.accumulate(np.where(np.isnan(values), -1, np.arange(len(times))))
            columns[name] = np.where(latest >= 0, values[latest], np.nan)
        factor = nanoseconds_per(time_unit)
        return Series(times if factor == 1 else times / factor, columns, time_unit, source=source, notes=notes)
