"""Curves and series from columns of times and values."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from perf_io.tables.columns import DATES, Roles
from perf_io.tables.duck import Column, Table, quoted_name
from perfcore.base import pd
from perfcore.base.arrays import Floats
from perfcore.base.errors import DataError, InputError, listing
from perfcore.data.curve import PROCESSORS_COMPUTING, UtilizationCurve
from perfcore.data.selection import is_mark
from perfcore.data.series import Series
from perfcore.data.units import EXACT_NS, moment_text, nanoseconds_per

_LARGEST = 1e150  # squares of larger values overflow
_FARTHEST_NS = float(1 << 62)
_COARSE_NS = 1e6  # steps of which a float64 of seconds since 1970 loses less than a thousandth
_MOST_SHARED = 0.1  # of all samples; where more share a time, something else tells them apart

Times = npt.NDArray[Any]


def read_steps(table: Table, roles: Roles) -> UtilizationCurve:
    """Return a curve from rows ``start, end, value`` that follow one another without gaps."""
    assert roles.start is not None
    assert roles.end is not None
    (starts, ends), (heights,) = _load(table, roles, (roles.start, roles.end))
    if (backwards := ends < starts).any():
        row = int(np.argmax(backwards))
        table.refuse(row, roles.end, f" but the step starts at {starts[row]!s}; an end must not precede its start")
    if (torn := starts[1:] != ends[:-1]).any():
        row = int(np.argmax(torn)) + 1
        table.refuse(
            row,
            roles.start,
            f" but the step before ends at {ends[row - 1]!s}; steps must follow without gap or overlap; if each row "
            "is an interval: -r kind=trace",
        )
    _check_heights(table, roles, heights)
    (starts, ends), roles = _counted(table, roles, (roles.start, roles.end), [starts, ends])
    return _curve(table, roles, np.append(starts, ends[-1:]), heights)


def read_samples(table: Table, roles: Roles) -> UtilizationCurve | Series:
    """Return a curve or a series from rows ``time, value, ...``."""
    if (start := roles.start) is None:
        _, values = _load(table, roles, ())
        notes = _check_missing(table, roles.values[0], values[0])
        steps = f"no column of times: the {len(values[0]):,} samples are numbered from 0, and taken 1 s apart"
        columns = {roles.values[0].name: values[0]}
        return Series(np.arange(len(values[0])), columns, source=table.source, notes=table.report(steps, *notes))
    recorded, values = _load(table, roles, (start,))
    (times,), roles = _counted(table, roles, (start,), recorded)
    if roles.location:
        return _by_device(table, roles, times, values)
    rising = times[1:] > times[:-1]
    if not rising.all() and table.types[start.name].endswith("timestamp"):
        if roles.kind != "series":
            _check_heights(table, roles, values[0])
        times, values, problem = _in_order(times, values)
        roles, rising = replace(roles, notes=(*roles.notes, *problem)), times[1:] > times[:-1]
    if not rising.all():
        row = int(np.argmin(rising)) + 1
        before = table.at_row(row - 1)[1].get(start.name, "")
        cure = "remove or merge the rows, or, if they are how long runs took, say -r kind=measurements"
        table.refuse(row, start, f" but the time before is {before!r}; times must increase; {cure}")
    if roles.kind == "series":
        columns = {column.name: column_values for column, column_values in zip(roles.values, values, strict=True)}
        gaps = (_check_missing(table, column, columns[column.name]) for column in roles.values)
        found = table.report(*itertools.chain(*gaps))
        return Series(times, columns, roles.time_unit, source=table.source, notes=(*found, *roles.notes))
    heights = values[0]
    if len(heights) > 1 and np.isnan(heights[-1]) and not table.at_row(len(heights) - 1)[1].get(roles.values[0].name):
        _check_heights(table, roles, heights[:-1])
        return _curve(table, roles, times, heights[:-1])
    _check_heights(table, roles, heights)
    cure = "; add a last row with the end's time and an empty value"
    return _curve(table, roles, times, heights, UtilizationCurve.from_samples, cure)


def _in_order(times: Times, values: list[Floats]) -> tuple[Times, list[Floats], list[str]]:
    """Return dated samples by time, the mean of those of one time if few share one; clocks set back repeat an hour."""
    axis, row = np.unique(times, return_inverse=True)
    if (shared := len(times) - len(axis)) > _MOST_SHARED * len(times):
        return times, values, []
    means: list[Floats] = [np.asarray(pd.Series(column).groupby(row).mean()) for column in values]
    told = f"{shared:,} of {len(times):,} samples share a time with another, of which the mean is taken"
    return axis, means, [told if shared else "samples were not in order of time and are sorted"]


def _load(table: Table, roles: Roles, times: tuple[Column, ...]) -> tuple[list[Times], list[Floats]]:
    """Return times and values; a time that cannot be read is refused, a value that cannot be read is NaN."""
    read = [_time_sql(table, roles, column) for column in times]
    parts = [f"{sql} AS t{number}" for number, (sql, _) in enumerate(read)]
    parts += [f"TRY_CAST({table.number(column)} AS DOUBLE) AS v{number}" for number, column in enumerate(roles.values)]
    loaded = table.database.columns(f"SELECT {', '.join(parts)} FROM {table.relation}")
    if not len(loaded["v0"]):
        raise InputError(table.source, "has column names but no rows", line=1)
    time_arrays = []
    for number, (column, (_, factor)) in enumerate(zip(times, read, strict=True)):
        array = loaded[f"t{number}"]
        bad = ~np.isfinite(array) if array.dtype.kind == "f" else np.ma.getmaskarray(array)
        if bad.any():
            table.refuse(int(np.argmax(bad)), column, "; a finite number or an ISO timestamp is expected")
        if array.dtype.kind in "iu" and (far := np.abs(array.astype(np.float64)) > _FARTHEST_NS).any():
            table.refuse(int(np.argmax(far)), column, "; times within 2^62 of 0 are expected: choose a larger unit")
        time_arrays.append(_in_unit(np.asarray(array), factor))
    return time_arrays, [np.asarray(loaded[f"v{number}"], dtype=np.float64) for number in range(len(roles.values))]


def _counted(table: Table, roles: Roles, columns: tuple[Column, ...], times: list[Times]) -> tuple[list[Times], Roles]:
    """Return times from the first one where a float64 would blur the steps between them: microseconds since 1970."""
    unit_ns = nanoseconds_per(roles.time_unit)
    with np.errstate(over="ignore"):
        farthest = np.abs(times[0]).max() * float(unit_ns)
    if (
        not EXACT_NS < farthest <= _FARTHEST_NS
        or np.diff(times[0].astype(np.float64)).min(initial=np.inf) * unit_ns >= _COARSE_NS
    ):
        return times, roles
    sql = ", ".join(f"{table.ns(column, roles.time_unit)} AS t{number}" for number, column in enumerate(columns))
    loaded = table.database.columns(f"SELECT {sql} FROM {table.relation}")
    first = int(loaded["t0"].min())
    notes = tuple(note for note in roles.notes if note != DATES)
    moment = f"{first} ns" if notes == roles.notes else f"{moment_text(first, 'ns')} UTC"
    note = f"times count from the first, at {moment}"
    exact = [_in_unit(np.asarray(loaded[f"t{number}"]) - first, unit_ns) for number in range(len(columns))]
    return exact, replace(roles, notes=(*notes, note))


def _time_sql(table: Table, roles: Roles, column: Column) -> tuple[str, int]:
    """Return SQL for a column of times, and what to divide by to get the unit of the roles."""
    name, kind = table.number(column), table.types[column.name]
    if kind.endswith("timestamp"):
        return table.ns(column, "ns"), nanoseconds_per(roles.time_unit)
    is_integer = kind == "integer"
    if kind == "text" and roles.time_unit == "ns":
        # Nanoseconds since 1970 have more digits than a float64.
        test = f"SELECT bool_and(regexp_full_match({name}, '\\s*[+-]?[0-9]+\\s*')) FROM {table.relation}"
        is_integer = bool(table.database.rows(test)[0][0])
    return f"TRY_CAST({name} AS {'BIGINT' if is_integer else 'DOUBLE'})", 1


def _in_unit(times_ns: Times, divisor: int) -> Times:
    """Return nanoseconds in another unit; whole ones stay whole: float64 seconds since 1970 are good to 0.2 us."""
    if divisor == 1:
        return times_ns
    whole, rest = np.divmod(times_ns, divisor)
    return whole + rest / divisor if rest.any() else whole


def _check_heights(table: Table, roles: Roles, heights: Floats) -> None:
    good = (heights >= 0.0) & (heights < np.inf)  # NaN fails both
    if not good.all():
        table.refuse(int(np.argmin(good)), roles.values[0], "; a finite number that is not negative is expected")


def _by_device(table: Table, roles: Roles, times: Times, values: list[Floats]) -> Series:
    """Return samples of several devices as columns; times of one round that lie close together become one."""
    (device,) = roles.location
    names = table.database.columns(f"SELECT CAST({quoted_name(device.name)} AS VARCHAR) AS name FROM {table.relation}")
    number, devices = pd.factorize(np.ma.filled(names["name"], ""))
    rounds = pd.Series(number).groupby(number).cumcount().to_numpy()
    gaps = itertools.chain(*(_check_missing(table, *pair) for pair in zip(roles.values, values, strict=True)))
    first = pd.Series(times).groupby(rounds).min()
    skew = (times - first.to_numpy()[rounds]).max()
    counts = np.bincount(number)
    if len(first) > 1 and np.ptp(counts) <= 1 and 2 * skew < np.diff(first).min():
        axis, row = first.to_numpy(), rounds
    else:
        axis, row = np.unique(times, return_inverse=True)
    columns = {}
    for k, name in enumerate(devices):
        for column, cells in zip(roles.values, values, strict=True):
            of_device = np.full(len(axis), np.nan)
            of_device[row[number == k]] = cells[number == k]
            columns[f"{column.name} ({device.name.strip()} {str(name).strip()})"] = of_device
    steps = f"{device.name.strip()} separates {len(devices)} series, each of {counts.max():,} samples"
    notes = (*table.report(steps, *gaps), *roles.notes)
    return Series(axis, columns, roles.time_unit, source=table.source, notes=notes)


def _check_missing(table: Table, column: Column, values: Floats) -> list[str]:
    """Return a note about missing samples, which are empty or say so; any other text that is no number is refused."""
    if (large := np.abs(values) > _LARGEST).any() and np.isfinite(values[large]).any():
        row = int(np.argmax(large & np.isfinite(values)))
        table.refuse(row, column, f"; values of at most {_LARGEST:g} are expected: choose another unit")
    missing = ~np.isfinite(values)
    if not missing.any():
        return []
    texts = table.database.rows(
        f"SELECT met, min(row) FROM (SELECT row_number() OVER () - 1 AS row, CAST({table.number(column)} AS VARCHAR) "
        f"AS met FROM {table.relation}) WHERE met IS NOT NULL AND coalesce(isinf(TRY_CAST(met AS DOUBLE)), true) "
        "GROUP BY met ORDER BY 2"
    )
    for text, row in texts:
        if not is_mark(text):
            table.refuse(row, column, "; a finite number, or nothing where a sample is missing, is expected")
    values[missing] = np.nan
    words = f" ({listing([text.strip() for text, _ in texts], 3)})" if texts else ""
    return [f"{column.name.strip()}: {int(missing.sum()):,} of {len(values):,} samples are missing{words}"]


def _curve(
    table: Table, roles: Roles, edges: Times, heights: Floats,
    make: Callable[..., UtilizationCurve] = UtilizationCurve, cure: str = "",
) -> UtilizationCurve:  # fmt: skip
    notes = (*table.report(), *roles.notes)
    facts = {"n_locations": table.facts.get("n_locations"), "source": table.source, "notes": notes}
    # A curve that was written here is of processors.
    quantity = PROCESSORS_COMPUTING if table.facts.get("kind") == "curve" else roles.values[0].name
    try:
        return make(edges, heights, roles.time_unit, quantity=quantity, **facts)
    except DataError as error:
        raise InputError(table.source, str(error).removeprefix(f"{table.source}: ") + cure, line=1) from None
