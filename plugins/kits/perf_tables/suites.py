"""Suites of benchmarks: parts that have parameters of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from perfcore.base.arrays import Booleans, Ints
from perfcore.base.errors import listing
from perfcore.data.observations import labels_of

if TYPE_CHECKING:
    from perfcore.data.measurements import Measurements


def paths_of(data: Measurements, kept: Booleans) -> tuple[tuple[str, ...], Ints]:
    """Names of the modelled series, and the index of each kept row: code, system and category together.

    Roles with one name for all rows are left out of the names, unless all of them have.
    """
    import pandas as pd

    parts = [role for role in ("code", "system", "category") if getattr(data.roles, role)]
    if not parts:
        return (data.roles.value or "value",), np.zeros(int(kept.sum()), dtype=np.int64)
    labels = [labels_of(data, role, kept) for role in parts]
    if len(labels) == 1:
        return labels[0]
    together, different = pd.factorize(pd.MultiIndex.from_arrays([number for _, number in labels]))
    several = [k for k, (names, _) in enumerate(labels) if len(names) > 1] or [0]
    paths = tuple(" ".join(labels[k][0][numbers[k]] for k in several) for numbers in different)
    return paths, np.asarray(together, dtype=np.int64)


def parts_of(data: Measurements, notes: list[str] | None = None) -> list[Measurements]:
    """The benchmarks of each set of parameters, with these; the data alone where no benchmark lacks a parameter.

    A benchmark whose rows are all of one point is left out, with a note.
    """
    import pandas as pd

    parameters = data.roles.parameters
    cells = data.table[list(parameters.values())]
    numbers = {str(column): data.levels(str(column)) for column in cells}
    blank = {column: [-1, *(k for k, level in enumerate(levels) if not str(level).strip())]
             for column, (_, levels) in numbers.items()}  # fmt: skip
    missing = pd.DataFrame({column: np.isin(number, blank[column]) for column, (number, _) in numbers.items()})
    if not missing.to_numpy().any():
        return [data]
    names, path = paths_of(data, np.ones(len(cells), dtype=np.bool_))
    lacking = missing.groupby(path).all()
    if not lacking.to_numpy().any():
        return [data]
    levels: dict[Any, dict[Any, Any]] = cells.astype(object).where(~missing).groupby(path).nunique().to_dict("index")
    own = {k: tuple(s for s, column in parameters.items() if levels[k][column] > 1) for k in range(len(names))}
    if notes is not None and (alone := [names[k] for k, symbols in own.items() if not symbols]):
        notes.append(f"left out, measured at one point: {listing(alone, 6)}")
    roles = data.roles
    kinds = {"code": roles.code, "system": roles.system, "category": roles.category}
    parts = []
    for symbols in dict.fromkeys(filter(None, own.values())):
        rows = np.flatnonzero(pd.Series(path).map(own).map(symbols.__eq__))
        chosen = {symbol: parameters[symbol] for symbol in symbols}
        parts.append(data.rows(rows).with_roles(chosen, roles.value, unit=roles.unit, **kinds))
    return parts
