"""Measurements: a tidy table, one row for each run, and what its columns mean."""

from __future__ import annotations

import copy
import importlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, cast

from perfcore.base import pd
from perfcore.base.errors import DataError, InputError, OptionError, PerfError
from perfcore.data.columns import (
    MeasurementRoles,
    is_processors,
    missing_roles,
    named_columns,
    named_parameters,
    roles_of,
)
from perfcore.data.units import is_time, same_unit, unit_of
from perfcore.report import Shown, cut

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from perfcore.base.arrays import Floats, Ints
    from perfcore.data.observations import Observations

__all__ = ["Measurements"]

Names = str | Iterable[str] | None

_SEVERAL = 2  # codes on one system, and systems of one code, that a joint model needs


class Measurements(Shown):
    """A tidy table: one row for each measurement.

    Parameters
    ----------
    table : pandas.DataFrame
        The rows, with all columns; those without a role are kept, for `where` and for tables of operation counts.
    parameters : str, sequence or mapping of str, optional
        Columns that were varied (processors, problem size, ...): ``"procs"``, ``["procs", "size"]``, or with the
        symbols that formulas use ``{"p": "procs"}``. Guessed from usual names when left out.
    value : str, optional
        Column that was measured; guessed when left out.
    code, system : str or sequence of str, optional
        Columns whose values, joined, name the code and the system; guessed when left out. ``()`` for none.
    category : str or sequence of str, optional
        Columns whose values, joined, name what a part of the time was spent in, such as an overhead or a call path;
        guessed when left out. ``()`` for none.
    unit : str, optional
        Unit of the value; by default the ending of its name, or the column ``unit``.
    source : str
        Where it came from, for messages.
    lines : (n_rows,) sequence of int, optional
        Line of each row in the source.
    notes : sequence of str
        What its reader assumed and left out.
    duplicates : {"refuse", "keep", "drop"}, optional
        What the option of the reader says of rows that agree in every column; None if the reader has no such option.

    Raises
    ------
    UnknownNameError
        A named column does not exist.
    DataError
        The table has no rows, or its column names are not texts that differ.
    OptionError
        One column was given two roles, or a unit contradicts the name of the column.

    Examples
    --------
    >>> import pandas as pd
    >>> runs = pd.DataFrame({"code": ["lu", "lu", "cg"], "procs": [1, 2, 4], "time_s": [8.0, 4.1, 2.2]})
    >>> Measurements(runs)
    Measurements(3 rows, time_s [s] over p=procs, code by code)
    """

    def __init__(
        self,
        table: pd.DataFrame,
        parameters: Names | Mapping[str, str] = None,
        value: str | None = None,
        *,
        code: Names = None,
        system: Names = None,
        category: Names = None,
        unit: str | None = None,
        source: str = "measurements",
        lines: Sequence[int] | None = None,
        notes: Sequence[str] = (),
        duplicates: str | None = None,
    ) -> None:
        self.notes, self.duplicates = tuple(notes), duplicates
        if not len(table):
            raise DataError(f"{source}: the table has no rows")
        columns = list(table.columns)
        if not all(isinstance(name, str) for name in columns) or len(set(columns)) < len(columns):
            raise DataError(f"{source}: the names of the columns must be texts that differ, not {columns!r}"[:300])
        self.table = table.reset_index(drop=True)
        self.source = source
        self._lines = lines
        self._rows: range | Ints = range(len(table))  # of the table that it was made of
        self._found: dict[Any, Any] = {}  # what was computed of the table, shared by all with these rows
        self._guessed: MeasurementRoles | None = None
        given = {"parameters": parameters, "value": value, "code": code, "system": system, "category": category}
        self._assign({role: columns for role, columns in {**given, "unit": unit}.items() if columns is not None})

    def _assign(self, given: dict[str, Any]) -> None:
        """Take the roles that were given, and guess the others."""
        self._given, columns = given, list(self.table.columns)
        self._guessed = self._guessed or roles_of(self.table)
        named: dict[str, Any] = {
            role: named_columns(given[role], columns) for role in ("code", "system", "category") if role in given
        }
        chosen, explicit = replace(self._guessed, **named), dict[str, Sequence[str]](named)
        if "parameters" in given:
            chosen = replace(chosen, parameters=named_parameters(given["parameters"], columns))
            explicit["parameter"] = tuple(chosen.parameters.values())
        if "value" in given:
            chosen = replace(chosen, value=named_columns([given["value"]], columns)[0], alternatives=())
            explicit["value"] = [str(chosen.value)]
        self.roles = _without_conflicts(chosen, explicit)
        self._read_unit()

    reporter: ClassVar[str] = "perfcore.data.answers:report_of_measurements"
    in_words: ClassVar[str] = "measurements"
    assumed: frozenset[str] = frozenset()  # of "parameters" and "value", which give way to roles that are given

    @property
    def data_kind(self) -> str:
        """Return ``"timings"``, ``"codes x systems"``, ``"categories"``, or over processors ``"times by category"``."""
        roles, table, over = self.roles, self.table, list(self.roles.parameters.values())
        if roles.category and (roles.unit is None or is_time(roles.unit)) and len(over) == 1 and is_processors(over[0]):
            return "times by category"
        if roles.category or not (roles.code and roles.system):
            return "categories" if roles.category else "timings"
        table = table if roles.value is None else table[table[roles.value].notna()]
        pairs = table[[*roles.code, *roles.system]].dropna().drop_duplicates()
        # A name is made of several columns if several were given.
        code, system = (pairs.groupby(list(columns)).ngroup() for columns in (roles.code, roles.system))
        is_joint = all((names.value_counts() >= _SEVERAL).sum() >= _SEVERAL for names in (code, system))
        return "codes x systems" if is_joint else "timings"

    @classmethod
    def join(cls, parts: Any, fields: Sequence[Mapping[str, Any]], name: str, *how_to_read: Any) -> Measurements:
        """Return tables of several files as one, with what the names of the files say as further columns.

        Arguments are those of `perfcore.reading.recognise.join`.
        """
        tables: Any = importlib.import_module("perf_io.results.result_table")
        return cast(Measurements, tables.join_measurements(parts, fields, name))

    def __repr__(self) -> str:
        roles = self.roles
        unit = f" [{roles.unit}]" if roles.unit else ""
        over = ", ".join(c if s == c else f"{s}={c}" for s, c in roles.parameters.items()) or "nothing"
        named = "".join(
            f", {role} by {' '.join(columns)}"
            for role, columns in (("code", roles.code), ("system", roles.system), ("category", roles.category))
            if columns
        )
        return cut(f"Measurements({len(self.table)} rows, {roles.value or 'no value'}{unit} over {over}{named})")

    def to_frame(self) -> pd.DataFrame:
        """A copy of the table."""
        return self.table.copy()

    def with_roles(
        self, parameters: Names | Mapping[str, str] = None, value: str | None = None, **roles: Names
    ) -> Measurements:
        """Return the same rows; roles that are not given stay: ``code``, ``system``, ``category``, ``unit``."""
        if unknown := roles.keys() - {"code", "system", "category", "unit"}:
            raise TypeError(f"with_roles() has no role {sorted(unknown)[0]!r}")
        given = {"parameters": parameters, "value": value, **roles}
        explicit = {role: columns for role, columns in given.items() if columns is not None}
        kept = {role: columns for role, columns in self._given.items() if role != "unit" or "value" not in explicit}
        named = {c for columns in explicit.values() for c in ([columns] if isinstance(columns, str) else columns)}
        for role in self.assumed & kept.keys():
            free = [c for c in ([kept[role]] if role == "value" else kept[role]) if c not in named]
            kept[role] = (free or [None])[0] if role == "value" else free or None
        measurements = copy.copy(self)
        measurements.assumed = self.assumed - explicit.keys()
        measurements._assign({role: columns for role, columns in (kept | explicit).items() if columns is not None})
        return measurements

    def where(self, conditions: str | Iterable[str]) -> Measurements:
        """The rows that meet all conditions, such as ``"class=D,nodes>4,benchmark=ssd|resnet"``.

        Raises
        ------
        OptionError
            A text that is no condition, a column that does not exist, or no row is left.

        Examples
        --------
        >>> import pandas as pd
        >>> runs = pd.DataFrame({"p": [1, 2, 4], "time_s": [8.0, 4.1, 2.2]})
        >>> len(Measurements(runs).where("p>1").table)
        2
        """
        from perfcore.data.selection import parse_conditions, rows_that_meet

        try:
            kept = rows_that_meet(self.table, parse_conditions(conditions))
        except (ValueError, PerfError) as error:
            raise OptionError(f"where: {error}") from None
        if not kept.any():
            text = conditions if isinstance(conditions, str) else ",".join(conditions)
            raise OptionError(f"{self.source}: no row meets {text!r}")
        return self.rows(kept.nonzero()[0])

    def rows(self, numbers: npt.NDArray[np.int64]) -> Measurements:
        """Those rows, with the roles of the whole table: detected roles must not change with the rows kept."""
        chosen = copy.copy(self)
        chosen.table, chosen._guessed = self.table.iloc[numbers].reset_index(drop=True), None
        chosen._rows, chosen._found = numbers if isinstance(self._rows, range) else self._rows[numbers], {}
        chosen._read_unit()
        return chosen

    @property
    def given_roles(self) -> Mapping[str, Any]:
        """Roles that were given and not guessed, as they were given."""
        return dict(self._given)

    def without_file(self) -> Measurements:
        """Return the same rows as those of a table in memory, which has no lines."""
        self.source, self._lines = "table", None
        return self

    def line(self, row: int) -> int | None:
        """Line of a row in the source, if it has lines."""
        return None if self._lines is None else self._lines[int(self._rows[row])]

    def row(self, row: int) -> int:
        """Number of a row, from 0, in the table that this was made of, before `where`."""
        return int(self._rows[row])

    def once(self, key: Any, compute: Callable[[], Any]) -> Any:
        """Return what is computed of these rows, the first time that it is asked for."""
        if key not in self._found:
            self._found[key] = compute()
        return self._found[key]

    def numbers(self, column: str) -> Floats:
        """Return a column as numbers (n_rows,), NaN for what is none; dates and complex numbers are none."""
        from perfcore.data.observations import numbers_in

        return cast("Floats", self.once(("numbers", column), lambda: numbers_in(self.table[column])))

    def levels(self, column: str) -> tuple[Ints, Any]:
        """Return for each row (n_rows,) which of the values of a column it has, -1 for none, and these values."""
        from perfcore.data.observations import levels_in

        return cast("tuple[Ints, Any]", self.once(("levels", column), lambda: levels_in(self.table[column])))

    def refuse(self, row: int, problem: str) -> NoReturn:
        """Raise the error about one row."""
        if (line := self.line(row)) is None:
            file = f" ({self.table['file'].iloc[row]})" if "file" in self.table else ""
            raise DataError(f"{self.source}: row {self.row(row)}{file}: {problem}")
        raise InputError(self.source, problem, line=line)

    def observations(self, aggregate: str = "median", duplicates: str = "refuse") -> Observations:
        """The runs of one code on one system at one point as one value with its spread; see `Observations`.

        Parameters
        ----------
        aggregate : {"median", "mean", "minimum"}
            What stands for repeated runs.
        duplicates : {"refuse", "keep", "drop"}
            What to do with rows that agree in every column: a run that was copied, or repetitions that were rounded.

        Raises
        ------
        OptionError
            The parameter or the value is not known.
        InputError, DataError
            A value or parameter that is no positive number, duplicates; with the line.
        """
        from perfcore.data.observations import observe

        self.require_roles()
        return observe(self, aggregate, duplicates)

    def require_roles(self) -> None:
        """Refuse measurements of which it is not known what was varied, what was measured, or in which unit.

        Raises
        ------
        OptionError
            A role is missing.
        DataError
            The values are in several units.
        """
        if self._several_units is not None:
            raise DataError(self._several_units)
        missing = missing_roles(self.roles, list(self.table.columns))
        if missing is not None:
            raise OptionError(f"{self.source}: {missing}")

    def _read_unit(self) -> None:
        """Return the unit: given, or of a name or a column; several are an error once used, as a selection has one."""
        value = self.roles.value
        unit_by_place: dict[str, str] = {}
        self._several_units: str | None = None
        if (given_unit := self._given.get("unit")) is not None:
            unit_by_place["the option unit"] = same_unit(given_unit)
        if value is not None and (by_name := unit_of(value)) is not None:
            unit_by_place[f"the name of column {value!r}"] = by_name
        column = next((c for c in self.table.columns if c.strip().lower() in ("unit", "units")), None)
        if value is not None and column is not None:
            units = list(dict.fromkeys(same_unit(str(unit)) for unit in self.table[column].dropna()))
            if len(units) > 1:
                listed = ", ".join(unit or "counts" for unit in units[:5])
                advice = f"convert the values to one, or choose with --where {column}={next(filter(None, units))}"
                self._several_units = f"{self.source}: column {column!r} has several units ({listed}); {advice}"
            elif units:
                unit_by_place[f"column {column!r}"] = units[0]
        if len(place_of := {unit: place for place, unit in reversed(unit_by_place.items())}) > 1:
            said = " and ".join(f"{place} says {unit!r}" for unit, place in list(place_of.items())[:-3:-1])
            raise OptionError(f"{self.source}: {said}; correct one of them")
        self.roles = replace(self.roles, unit=next(iter(unit_by_place.values()), None))


def _without_conflicts(roles: MeasurementRoles, explicit: Mapping[str, Iterable[str]]) -> MeasurementRoles:
    """Given roles override guesses; a column with two given roles is refused."""
    owners: dict[str, str] = {}
    for role, column in ((role, column) for role, columns in explicit.items() for column in columns):
        if owners.setdefault(column, role) != role:
            raise OptionError(f"column {column!r} is given as {owners[column]} and as {role}")

    def free(role: str, column: str | None) -> bool:
        return column is not None and owners.get(column, role) == role

    return MeasurementRoles(
        parameters={s: c for s, c in roles.parameters.items() if free("parameter", c)},
        value=roles.value if free("value", roles.value) else None,
        code=tuple(c for c in roles.code if free("code", c)),
        system=tuple(c for c in roles.system if free("system", c)),
        category=tuple(c for c in roles.category if free("category", c)),
        alternatives=roles.alternatives if all(free("value", c) for c in roles.alternatives) else (),
    )
