"""Observations: measurements by code, system and point, repeated runs as one value with its spread."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from perfcore.base import pd
from perfcore.base.arrays import Booleans, Floats, Ints
from perfcore.base.errors import DataError, UnknownNameError, listing
from perfcore.data.columns import shown_names
from perfcore.data.selection import AGGREGATES, DUPLICATES, is_mark
from perfcore.tables import point_text

if TYPE_CHECKING:
    from perfcore.data.measurements import Measurements


_ALL = "all"  # the one code, or system, of a table that names none

_SHORTEST_BLOCK = 3  # different rows
_MOST_COMPARED = 1 << 18  # rows at a time
_MOST_COUNTED = 1 << 20  # numbers that are counted instead of sorted


def numbers_in(column: pd.Series) -> Floats:
    """Return a column as numbers, NaN for what is none."""
    if column.dtype.kind in "mMc":
        return np.full(len(column), np.nan)
    if column.dtype == np.float64:  # without a copy
        return column.to_numpy()
    numbers = np.asarray(pd.to_numeric(column, errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)).view()
    numbers.flags.writeable = False
    return numbers


def levels_in(column: pd.Series) -> tuple[Ints, Any]:
    """Return which of the values of a column each row has, and these values; any cells can be compared as texts."""
    try:
        numbers, values = pd.factorize(column)
    except TypeError:
        numbers, values = pd.factorize(column.astype(str))
    return numbers.astype(np.min_scalar_type(-1 - len(values))), values  # the smallest type that holds them


def differs(numbers: npt.NDArray[Any], group: Ints) -> bool:
    """Return whether the rows of some group have several numbers from 0; -1 is none."""
    known = numbers >= 0
    numbers, group = (numbers, group) if known.all() else (numbers[known], group[known])
    return len(group) > 0 and bool((numbers != numbers[first_of_each(group)[group]]).any())


@dataclass(frozen=True)
class Observations:
    """What a model of codes on systems is fitted to: one row for each code, system and point."""

    points: Mapping[str, Floats]  # parameters by their symbol in formulas, positive
    columns: Mapping[str, str]  # symbol to the column's name in the source
    value: Floats  # measured, positive, in ``unit``; of repeated runs the aggregate
    code: Ints  # index into ``codes`` and ``systems``
    system: Ints
    codes: tuple[str, ...]
    systems: tuple[str, ...]
    repetitions: Ints  # how many runs the value stands for
    spread: Floats  # standard deviation of the runs, in ``unit``; NaN for a single run
    row: Ints  # first row of the table that it came from
    value_name: str
    unit: str | None
    aggregate: str  # of repeated runs
    source: str
    notes: tuple[str, ...] = field(default=())

    def __len__(self) -> int:
        return len(self.value)

    @property
    def cell(self) -> Ints:
        """Code-system pair of each observation (n,), ``code * n_systems + system``."""
        return self.code * len(self.systems) + self.system

    def cell_name(self, cell: int) -> str:
        """A pair as a person reads it."""
        code, system = divmod(int(cell), len(self.systems))
        pairs = ((self.codes[code], self.codes), (self.systems[system], self.systems))
        names = [name for name, names in pairs if names != (_ALL,)]
        return " on ".join(names) or _ALL

    def describe(self, at: int) -> str:
        """One observation as a person reads it: ``SP on Cray T3D, p=16``."""
        names = shown_names(self.columns)
        place = point_text({names[symbol]: values[at] for symbol, values in self.points.items()})
        name = self.cell_name(int(self.cell[at]))
        return place if name == _ALL else f"{name}, {place}"

    def select(self, kept: Booleans) -> Observations:
        """Those observations, with the codes and systems that are left."""
        codes, code = np.unique(self.code[kept], return_inverse=True)
        systems, system = np.unique(self.system[kept], return_inverse=True)
        rows = {name: getattr(self, name)[kept] for name in ("value", "repetitions", "spread", "row")}
        return replace(
            self,
            points={symbol: values[kept] for symbol, values in self.points.items()},
            code=code,
            system=system,
            codes=tuple(self.codes[number] for number in codes),
            systems=tuple(self.systems[number] for number in systems),
            **rows,
        )

    def fingerprint(self) -> str:
        """Digest of points, codes, systems and values, whatever the order of the rows: the same data have the same."""
        import hashlib

        digest = hashlib.sha256(repr((sorted(self.codes), sorted(self.systems), list(self.points), self.unit)).encode())
        named = ((self.codes, self.code), (self.systems, self.system))
        code, system = (np.argsort(np.argsort(names, kind="stable"))[index] for names, index in named)
        order = np.lexsort((*self.points.values(), system, code))
        for array in (*self.points.values(), self.value, code, system, self.repetitions, self.spread):
            digest.update(np.ascontiguousarray(array[order]).tobytes())
        return f"sha256:{digest.hexdigest()}"


def observe(data: Measurements, aggregate: str, duplicates: str) -> Observations:
    """Check measurements and join repeated runs; see `Measurements.observations`."""
    for choice, choices, option in ((aggregate, AGGREGATES, "aggregate"), (duplicates, DUPLICATES, "duplicates")):
        if choice not in choices:
            raise UnknownNameError(option, choice, choices)
    roles, notes = data.roles, list[str]()
    assert roles.value is not None
    value = values_of(data, notes)
    kept = ~np.isnan(value)
    points = {symbol: numbers_of(data, column, kept) for symbol, column in roles.parameters.items()}
    kept &= without_duplicates(data, kept, duplicates, notes)
    codes, code = labels_of(data, "code", kept)
    systems, system = labels_of(data, "system", kept)
    first, group = distinct([code, system, points_of(data, kept)[1]])
    runs = pd.Series(value if kept.all() else value[kept], copy=False).groupby(group)
    joined = runs.agg("min" if aggregate == "minimum" else aggregate)
    row = np.flatnonzero(kept)[first]
    repetitions = np.asarray(runs.size(), dtype=np.int64)
    if data.roles.category:
        names, category = labels_of(data, "category", kept)
        if differs(category, group):  # the categories of a run are no repeated runs
            choice = f"{data.roles.category[0]}={names[0]}"
            raise DataError(
                f"{data.source}: each run is in rows of several categories ({listing(names, 4)}); choose one, such as "
                f"--where '{choice}', or model all of them, by `perf fit` without --fitter"
            )
    if (repetitions > 1).any():
        used = {*roles.parameters.values(), roles.value, *roles.code, *roles.system, *roles.category}
        free = [name for name in map(str, data.table.columns) if name not in {*used, "run", "repetition"}]
        differ = [name for name in free if differs(data.levels(name)[0][kept] + 1, group)]
        text = f"{(repetitions > 1).sum()} of {len(repetitions)} points have several runs (up to {repetitions.max()}); "
        cure = f"; they differ in {listing(differ, 6)} (--parameter names what was varied)" if differ else ""
        notes.append(f"{text}the {aggregate} stands for them{cure}")
    return Observations(
        points={symbol: values[row] for symbol, values in points.items()},
        columns=dict(roles.parameters),
        value=joined.to_numpy(dtype=np.float64),
        code=code[first],
        system=system[first],
        codes=codes,
        systems=systems,
        repetitions=repetitions,
        spread=np.asarray(runs.std(ddof=1), dtype=np.float64),
        row=row,
        value_name=roles.value,
        unit=roles.unit,
        aggregate=aggregate,
        source=data.source,
        notes=tuple(notes),
    )


def labels_of(data: Measurements, role: str, kept: Booleans) -> tuple[tuple[str, ...], Ints]:
    """Names of the codes or systems, in order of appearance, and the index of each kept row."""
    columns: tuple[str, ...] = getattr(data.roles, role)
    if not columns:
        return (_ALL,), np.broadcast_to(np.int64(0), int(kept.sum()))  # takes no memory
    rows = np.flatnonzero(kept)
    parts: list[tuple[Ints, list[str]]] = []
    for column in columns:
        # Names are made of the few different values, not of every row.
        number, values = data.levels(column)
        names = _texts(values)
        absent = np.array([number < 0, *(number == k for k, name in enumerate(names) if not name)]).any(axis=0) & kept
        if absent.any():
            data.refuse(int(np.argmax(absent)), f"{column} is empty; each row needs the name of its {role}; fill it in")
        parts.append((number[rows], names))
    if len(parts) == 1:  # a million rows of one column take half of the time
        together, alone = pd.factorize(parts[0][0])
        different = [(number,) for number in alone.tolist()]
    else:
        together, index = pd.factorize(pd.MultiIndex.from_arrays([number for number, _ in parts]))
        different = index.tolist()
    # Values that differ may read the same, such as 16 and 16.0: their rows belong together.
    texts = [tuple(names[k] for k, (_, names) in zip(combination, parts, strict=True)) for combination in different]
    order = {text: position for position, text in enumerate(dict.fromkeys(texts))}
    labels = [" ".join(text) for text in order]
    if len(set(labels)) < len(labels):  # ("gcc", "12 lu") is not ("gcc 12", "lu")
        labels = [" | ".join(text) for text in order]
    return tuple(labels), np.array([order[text] for text in texts], dtype=np.int64)[together]


def _texts(values: Any) -> list[str]:
    """Values as names: a number without a needless ``.0``, and with all of its digits."""
    return [
        repr(float(value)).removesuffix(".0")
        if isinstance(value, float | np.floating)
        else " ".join(str(value).split())
        for value in values
    ]


def values_of(
    data: Measurements,
    notes: list[str],
    *,
    zeros: bool = False,
    signed: bool = False,
    minus_one: bool = True,
    points: bool = True,
) -> Floats:
    """The measured value of each row, NaN where there is none, with a note about the rows left out.

    No values are empty cells, words for failed runs, infinities, with ``minus_one`` -1 where no other number is
    negative, unless ``zeros`` 0, and with ``points`` those without a level of a parameter, which is empty or 0, unless
    half of all are (merged cells) or levels count from 0.
    """
    name = str(data.roles.value)
    lacking, note = _without_number(data, name, zeros, minus_one)
    if lacking.all():
        raise DataError(f"{data.source}: column {name!r} holds no value at all")
    notes += note
    for column in data.roles.parameters.values() if points else ():
        rows, note = _without_number(data, column, zeros=False, minus_one=False)
        levels = set(data.numbers(column)[~np.isnan(data.numbers(column))]) if rows.any() else {1.0}
        if 2 * rows.sum() < len(rows) and levels != set(range(len(levels))):
            notes += note
            lacking |= rows
    values = numbers_of(data, name, ~lacking, zero=zeros, signed=signed) + 0.0
    values[lacking] = np.nan
    return values


def _without_number(data: Measurements, name: str, zeros: bool, minus_one: bool) -> tuple[Booleans, list[str]]:
    """Return the rows in which a column holds no number, and a note on them if there are any."""
    column, numbers = data.table[name], data.numbers(name)
    negative = numbers < 0.0
    marked = {
        "-1": negative & (minus_one and bool((numbers > 0.0).any() and (numbers[negative] == -1.0).all())),
        "0": (numbers == 0.0) & (not zeros) & bool((numbers > 0.0).any()),
        "inf": np.isinf(numbers),
    }
    unread = np.flatnonzero(np.isnan(numbers))
    words = ["empty" if pd.isna(cell) else str(cell).strip()[:40] or "empty" for cell in column.iloc[unread]]
    for word in filter(lambda text: text == "empty" or is_mark(text), dict.fromkeys(words)):
        marked[word] = np.zeros_like(negative)
        marked[word][unread[[text == word for text in words]]] = True
    lacking = np.logical_or.reduce(list(marked.values()))
    reasons = ", ".join(f"{word} ({_rows(data, rows, 5)})" for word, rows in marked.items() if rows.any())
    note = f"left out, without {name}: {int(lacking.sum()):,} of {len(lacking):,} rows: {reasons}"
    return lacking, [note] if reasons else []


def no_number(name: str, text: str) -> str:
    """What a cell holds, and what to do about it."""
    description = f"{name} is {text[:40]!r}; a number is expected"
    if re.fullmatch(r"[+-]?[0-9]{1,3}(,[0-9]{3})+", text):
        cure = f"give -r decimal=, and if not, write {text.replace(',', '')}"
        return f"{description}; if its comma is a decimal sign, {cure}"
    if re.fullmatch(r"[+-]?[0-9]*,[0-9]+", text):
        return f"{description}; it has a decimal comma, which tables of text are read with by -r decimal=,"
    if re.fullmatch(r"[+-]?[0-9.]+ ?[kKMGT]", text):
        return f"{description}; {text[-1]} may be a power of 1000 or of 1024: write the number in full"
    is_other = text.lower() in ("total", "sum", "mean", "serial", "sequential")
    return description + f"; --where '{name}!={text}' leaves it out" * is_other


def numbers_of(data: Measurements, name: str, kept: Booleans, *, zero: bool = False, signed: bool = False) -> Floats:
    """A column as positive numbers, also 0, or of any sign, in the rows that are kept."""
    column = data.table[name]
    if column.dtype.kind in "mMc":  # dates, durations and complex numbers turn into meaningless numbers
        data.refuse(0, f"{name} is {str(column.iloc[0])[:40]!r}; a number is expected")
    numbers = data.numbers(name)
    unread = kept & np.isnan(numbers)
    if unread.any():
        row = int(np.argmax(unread))
        text = "" if pd.isna(column.iloc[row]) else str(column.iloc[row]).strip()
        if not is_mark(text):
            data.refuse(row, no_number(name, text))
        description = f"is {text[:40]!r}" if text else "is empty"
        cure = f"fix the value, or exclude such rows with --where '{name}>0'"
        data.refuse(row, f"{name} {description}; a number is expected; {cure}")
    with np.errstate(invalid="ignore"):
        accepted = (numbers > 0.0) | (zero & (numbers == 0.0)) | (signed & (numbers > -np.inf))
        wrong = kept & ~(accepted & (numbers < np.inf))
    if wrong.any():
        row, count = int(np.argmax(wrong)), int(wrong.sum())
        more = f" (and in {count - 1} more row{'s' if count > 2 else ''})" if count > 1 else ""
        least = f"{name}>=0" if zero else f"{name}>0"
        condition = f"{name}<{np.finfo(np.float64).max:.0e}" if numbers[row] > 0.0 else least
        expected = "a finite number" if signed else "a positive number or 0" if zero else "a positive number"
        cure = f"fix the value, or exclude such rows with --where '{condition}'"
        data.refuse(row, f"{name} is {numbers[row]:g}{more}; {expected} is expected; {cure}")
    return numbers


def without_duplicates(
    data: Measurements, kept: Booleans, duplicates: str = "refuse", notes: list[str] | None = None
) -> Booleans:
    """Which rows stay; a row that repeats an earlier one in every column may be a copy or a repetition.

    A block of rows that follows an equal one is refused in every command that reads runs, unless the option of the
    reader or of the fitter accepts it.
    """
    option = "--duplicates " if data.duplicates is None else "-r duplicates="
    duplicates = data.duplicates or "refuse" if duplicates == "refuse" else duplicates
    everything, notes = np.ones(len(kept), dtype=np.bool_), [] if notes is None else notes
    if duplicates == "keep":
        return everything
    # A copied file has another name.
    used = {*data.roles.parameters.values(), *data.roles.code, *data.roles.system, *data.roles.category}
    columns = [str(name) for name in data.table.columns if name != "file" or name in used]
    number: Ints = data.once(("rows", *columns), lambda: _row_numbers(data, columns))
    repeated = (number < np.arange(len(number), dtype=np.int32)) & kept
    if not repeated.any():
        return everything
    if duplicates == "refuse":
        if (copied := _copied_block(number)) is not None:
            row, earlier = copied
            line = data.line(earlier)
            begin = f"row {data.row(earlier)}" if line is None else f"line {line}"
            problem = f"from here on the rows repeat those from {begin} on in every column and in their order"
            cure = f"remove the copy ({option}drop) or say that these are repeated runs ({option}keep)"
            data.refuse(row, f"{problem}; {cure}")
        count = int(repeated.sum())
        notes.append(
            f"{count:,} row{'s repeat earlier ones' if count > 1 else ' repeats an earlier one'} in every column "
            f"({_rows(data, repeated, 5)}): kept as repeated runs of equal values ({option}drop removes them)"
        )
        return everything
    notes.append(f"left out, a copy of another row in every column: {_rows(data, repeated)}")
    return ~repeated


def _row_numbers(data: Measurements, columns: Sequence[str]) -> npt.NDArray[np.int32]:
    """Return for each row the first row that is equal to it; rows are compared with those of as many as fit memory."""
    count = len(data.table)
    n_parts = 1 + (count // _MOST_COMPARED if data.roles.value else 0)
    bits = (data.numbers(str(data.roles.value)) + 0.0).view(np.uint64) if n_parts > 1 else np.zeros(count, np.uint64)
    bits >>= np.uint64(7)
    bits %= np.uint64(n_parts)
    part = bits.astype(np.uint16)  # that of equal values
    first = np.empty(count, dtype=np.int32)
    for number in range(n_parts):
        rows = np.flatnonzero(part == number)
        together, size = np.zeros(len(rows), dtype=np.int64), 1
        for column in columns:
            numbers, levels = levels_in(data.table[column].iloc[rows] if n_parts > 1 else data.table[column])
            if size > np.iinfo(np.int64).max // (len(levels) + 1):
                together, size = _renumbered(together)
            together = together * (len(levels) + 1) + numbers + 1
            size *= len(levels) + 1
        together = pd.factorize(together)[0]
        first[rows] = rows[first_of_each(together)][together] if len(rows) else rows
    return first


def first_of_each(number: Ints) -> Ints:
    """Return the first row of each number from 0."""
    first = np.empty(number.max() + 1, dtype=np.int64)
    for end in range(len(number), 0, -_MOST_COMPARED):
        rows = np.arange(max(end - _MOST_COMPARED, 0), end)[::-1]
        first[number[rows]] = rows
    return first


def distinct(columns: Sequence[npt.NDArray[Any]]) -> tuple[Ints, Ints]:
    """Return the first row of each combination of numbers, in their order, and which combination each row has."""
    number, size = _renumbered(columns[0])
    for column in columns[1:]:
        of_column, levels = _renumbered(column)
        if levels > 1:
            number, size = _renumbered(number * levels + of_column, size * levels)
    return first_of_each(number), number


def _renumbered(column: npt.NDArray[Any], size: int = 0) -> tuple[Ints, int]:
    """Return which of the numbers of a column, in their order, each row has, and how many there are."""
    if column.dtype.kind == "i" and len(column):
        size = size or int(column.max()) + 1
        if 0 < size <= _MOST_COUNTED + len(column) and column.min() >= 0:
            order = np.cumsum(np.bincount(column, minlength=size) > 0) - 1
            return order[column], int(order[-1]) + 1
    numbers, levels = pd.factorize(column, sort=True)
    return numbers, len(levels)


def points_of(data: Measurements, kept: Booleans) -> tuple[Ints, Ints]:
    """Return the first of the kept rows of each point, and which of the points, in their order, each of them has."""
    ranks = []
    for column in data.roles.parameters.values():
        numbers, values = data.levels(column)
        levels = np.asarray(values, dtype=np.float64) if values.dtype.kind in "iuf" else numbers_in(values.to_series())
        ranks.append(np.unique(levels, return_inverse=True)[1].astype(np.int32)[numbers[kept]])
    return distinct(ranks)


def _copied_block(number: npt.NDArray[Any]) -> tuple[int, int] | None:
    """First row of a block that follows an equal one, as in a file that was joined with itself, and of that one."""
    order = np.argsort(number, kind="stable").astype(np.int32)
    again = np.flatnonzero(np.diff(number[order]) == 0)
    shifts, counts = np.unique(order[again + 1] - order[again], return_counts=True)
    for shift in shifts[(counts >= shifts) & (shifts >= _SHORTEST_BLOCK)].tolist():
        equal = np.concatenate([[False], number[shift:] == number[:-shift], [False]])
        starts, ends = (np.flatnonzero(equal[1:] & ~equal[:-1]), np.flatnonzero(equal[:-1] & ~equal[1:]))
        for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
            if end - start >= shift and len(np.unique(number[start : start + shift])) >= _SHORTEST_BLOCK:
                return start + shift, start
    return None


def _rows(data: Measurements, chosen: Booleans, most: int = 20) -> str:
    rows = np.flatnonzero(chosen)
    lines = [data.line(row) for row in rows[:most].tolist()]
    named = lines if None not in lines else [data.row(row) for row in rows[:most].tolist()]
    return f"{'line' if None not in lines else 'row'} {', '.join(map(str, named))}" + ", ..." * (len(rows) > most)
