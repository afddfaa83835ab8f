"""Measurements: a tidy table of parameters and one measured value."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from perfcore.errors import DataError, UnknownNameError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Measurements"]


class Measurements:
    """A tidy table: one row for each measurement.

    Parameters
    ----------
    table : pandas.DataFrame
        The rows.
    parameters : sequence of str
        Columns that were varied (processors, problem size, ...).
    value : str
        Column that was measured.
    unit : str, optional
        Unit of the value.
    source : str
        Where it came from, for messages.

    Raises
    ------
    UnknownNameError
        A named column does not exist.
    DataError
        The table has no rows.

    Examples
    --------
    >>> import pandas as pd
    >>> runs = pd.DataFrame({"p": [1, 2, 4], "time_s": [8.0, 4.1, 2.2]})
    >>> Measurements(runs, parameters=["p"], value="time_s", unit="s")
    Measurements(3 rows, time_s [s] over p)
    """

    def __init__(
        self,
        table: pd.DataFrame,
        parameters: Sequence[str],
        value: str,
        *,
        unit: str | None = None,
        source: str = "measurements",
    ) -> None:
        for name in (*parameters, value):
            if name not in table.columns:
                raise UnknownNameError("column", name, map(str, table.columns))
        if not len(table):
            raise DataError(f"{source}: the table has no rows")
        self.table = table.copy()
        self.parameters = tuple(parameters)
        self.value = value
        self.unit = unit
        self.source = source

    def __repr__(self) -> str:
        unit = f" [{self.unit}]" if self.unit else ""
        return f"Measurements({len(self.table)} rows, {self.value}{unit} over {', '.join(self.parameters)})"
