"""What each column of a table of runs is: asked once of the data, for fitters, gates and ``perf info`` alike.

Roles (parameter, value, code, system, category) are those of the data, which their reader or the user gave. What the
other columns are is said by the words of ``perfcore/data/columns.toml`` and the kind of their cells. Columns about the
runs behind a mean are standard deviations (``sd_s``, ``time_std``, ``std dev [ms]``), standard errors (``sem``) and
half widths of 95 % confidence intervals (``ci95``), in the value's unit, with a number of runs (``N``, ``reps``).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import permutations
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from perfcore.base import pd, special
from perfcore.base.arrays import Booleans, Floats, Ints
from perfcore.base.errors import DataError, listing
from perfcore.data.columns import (
    RATIOS,
    SCALING_KINDS,
    SPREADS,
    counts_runs,
    direction,
    is_called_rate,
    is_called_time,
    is_named,
    is_of_spread,
    is_processors,
    is_run_identifier,
    is_size,
    plain_name,
    spread_kind,
    without_unit,
    words,
    words_of,
)
from perfcore.data.observations import labels_of
from perfcore.data.units import seconds_per, split_unit, unit_of

if TYPE_CHECKING:
    from perfcore.data.measurements import Measurements

# By which words of the vocabulary columns are called; the first meaning that fits counts.
_WORDS = {
    "repetition": words("rows", "repetition"),
    "version": words("roles", "version"),
    "date": words("rows", "date"),
    "commit date": words("rows", "commit_date"),
    "round": words("rows", "round"),
    "outcome": tuple(word for kind in ("states", "exits", "done", "failed") for word in words("outcome", kind)),
    "unit": words("rows", "unit"),
    "direction": words("rows", "direction"),
    "remark": words("rows", "remark"),
}
_WAYS = frozenset(words("words", "alternative"))
COMMITS = words("rows", "commit")
NUMBERS = ("rate", "time", "size", "number", "alternative")  # what may have been measured or varied
ROLES = ("parameter", "value", "alternative", "code", "system", "category")
NOT_VARIED = (*ROLES, "repetition", "identifier", "spread", "date", "commit date", "round", "version")
MAY_NAME_CASES = ("text", "number", "time", "rate", "size", "code", "category", "parameter")
DIRECTIONS = ("smaller", "larger")
_TEXTS = {
    **{kind: f"{kind} (--value, --parameter)" for kind in NUMBERS},
    "alternative": "alternative value, a model of its own (--value)",
    "code": "code (--path)",
    "repetition": "repetition",
    "version": "version (perf gate --version)",
    "date": "date (perf gate)",
    "commit date": "date of the commit (perf gate)",
    "round": "round (perf gate)",
    "outcome": "outcome of the run",
    "unit": "unit of the value",
    "direction": "which values are better (perf gate --better)",
    "remark": "remark (--path)",
    "spread": "spread of runs, of another value",
    "identifier": "identifier, not used",
    "text": "text (--path)",
}
_ALIKE = 0.02  # of a size: decompositions don't divide every problem evenly
_ALIKE_WORK = 0.1  # of the logarithm of a rate times a time, both with their noise
_LARGEST_RATIO = 1e5  # speedups and efficiencies, also in per cent
_FIRST_DAY, _LAST_DAY = 19700101, 20991231
_EARLIEST = 3e8  # seconds of Unix time: no run takes nine years
_MOST_DERIVED = 12  # columns of numbers, of which all pairs are compared
_SAME = 5e-3  # relative, between numbers that were rounded to three digits
# Profiles print three or four digits, and a sum of twenty rounded times is off by some units of the last of them.
SUM_ROUNDING = 2e-3
# A category of this name is the whole run.
_TOTALS = ("total", "whole run", "overall", "run time", "wall time", "elapsed", "elapsed time")
_NORMAL_95 = 1.959963984540054
_MEAN = words("spread", "mean")[0]
_MEAN_OF = re.compile(rf"(?:(?:{_MEAN}) )?(?P<rest>.*?)(?: (?:{_MEAN}))?")
_FEWEST = 2.0  # runs that have a spread
_LARGEST = 1e100  # of a spread; squares of larger values overflow


def meanings_of(data: Measurements) -> dict[str, str]:
    """Return what each column is: asked once of measurements, for fits, gates and `perf info` alike.

    A role that `perfcore.data.columns` or the user gave, or by name and values ``repetition``, ``version``, ``date``,
    ``commit date``, ``round``, ``outcome``, ``unit``, ``direction``, ``remark``, ``spread``, ``identifier``, ``text``,
    or one of `NUMBERS`.
    """
    roles = data.roles
    named = {
        **dict.fromkeys(roles.alternatives, "alternative"),
        **dict.fromkeys(roles.parameters.values(), "parameter"),
    }
    named |= {column: role for role in ("code", "system", "category") for column in getattr(roles, role)}
    named |= {roles.value: "value"} if roles.value else {}

    def find() -> dict[str, str]:
        return {c: named.get(c) or meaning_of(data.table[c], c) for c in map(str, data.table.columns)}

    meanings: dict[str, str] = data.once(("meanings", repr(roles)), find)
    return meanings


def meaning_of(column: pd.Series, name: str) -> str:
    """Return what a column without a role is, by its name and its values."""
    is_number = column.dtype.kind in "iuf"
    for meaning in _WORDS:
        fits = not is_number or {"date": _are_moments(column), "outcome": column.isin((0, 1))}.get(meaning, True)
        if np.all(fits) and called(meaning, [name]):
            return meaning
    return meaning_of_name(name, "number" if is_number else "text")


def _are_moments(numbers: pd.Series) -> Any:
    """Return which numbers are times since 1970, or days such as 20250708."""
    month, day = numbers // 100 % 100, numbers % 100
    is_day = numbers.between(_FIRST_DAY, _LAST_DAY) & month.between(1, 12) & day.between(1, 31)
    return (numbers > _EARLIEST) | is_day


def meaning_of_name(name: str, kind: str) -> str:
    """Return what the name of a column of ``kind`` numbers or texts says of it, apart from the words of rows."""
    if is_of_spread(name):
        return "spread"
    if kind != "number":
        return "text"
    kinds = {"rate": is_called_rate, "time": is_called_time, "size": is_size, "identifier": is_run_identifier}
    return next((meaning for meaning, is_called in kinds.items() if is_called(name)), "number")


def scaling_of(data: Measurements) -> str:
    """Return what a table says of scaling: ``"weak"``, ``"strong"``, ``"layouts"``, or nothing."""

    def find() -> str:
        parameters = list(data.roles.parameters.values())
        if not parameters or not is_processors(parameters[0]):
            return ""
        if layout_of(data, parameters[0]):
            return "layouts"
        if any(map(is_size_of_one, parameters[1:])):
            return "weak"
        names = [str(name) for name in data.table.columns if name not in (*parameters, data.roles.value)]
        for name in names:
            kinds = {*scaling_kinds(data.table[name]).values()}
            if len(kinds) == 1 and "" not in kinds:
                return kinds.pop()
        file = Path(data.source).name.partition(".")[0].lower()
        of_file = [kind for kind in SCALING_KINDS if re.search(rf"(?<![a-z]){kind}(?:[\W_]*scal|[\W\d_]*$)", file)]
        if len(of_file) == 1:
            return of_file[0]
        processors = np.prod([data.numbers(c) for c in parameters if is_processors(c)], axis=0)
        if np.ptp(processors) == 0.0 or not ((processors > 0.0) & (processors < np.inf)).all():
            return ""
        plain = {name: _with_low_lines(name) for name in names}
        of_one = {name: is_named("size_of_one", text) for name, text in plain.items()}
        sizes = {name: data.numbers(name) for name in names if is_size(name) or of_one[name]}
        sizes |= {name: data.numbers(name) for name in names if is_named("size", plain[name])}
        sizes = {name: size for name, size in sizes.items() if ((size > 0.0) & (size < np.inf)).all()}
        wholes = [size for name, size in sizes.items() if not of_one[name]]
        # Or the size is the side of a square or of a cube.
        per_processor = [size**power / processors for size in wholes for power in (1, 2, 3)]
        if any(np.ptp(size) <= _ALIKE * size.mean() for size in per_processor):
            return "weak" if not _falls(data, processors) else _scaling_of_work(data, processors, names)
        if kind := _scaling_of_work(data, processors, names):
            return kind
        fixed = [name for name, size in sizes.items() if np.ptp(size) == 0.0]
        if len(fixed) < len(sizes):  # of width and height one may be the size
            fixed = [name for name in fixed if of_one[name] or is_named("size", plain[name])]
        return "" if not fixed or steps_of(data) else "weak" if of_one[fixed[0]] else "strong"

    found: str = data.once(("scaling", repr(data.roles)), find)
    return found


def is_repetition(field: str) -> bool:
    """Return whether a field of a file's name is that of a run among those that were meant to be the same."""
    return field in words("words", "repetition") or is_run_identifier(field)


def are_alternatives(column: pd.Series) -> bool:
    """Return whether texts name ways to run, such as ``serial`` and ``openmp``, of which each row is a whole run."""
    names = {*column.dropna().astype(str)} if column.dtype.kind not in "iufb" else set()
    return len(names) > 1 and not any(_WAYS.isdisjoint(words_of(name)) for name in names)


def steps_of(data: Measurements) -> list[str]:
    """Return the columns of numbers of steps that differ between runs, which then did not do the same work."""
    free = [c for c in map(str, data.table.columns) if c not in (*data.roles.parameters.values(), data.roles.value)]
    named = [c for c in free if is_named("steps", _with_low_lines(c)) and data.table[c].dtype.kind in "iuf"]
    return [column for column in named if data.table[column].nunique() > 1]


def _scaling_of_work(data: Measurements, processors: Floats, names: Sequence[str]) -> str:
    """Return the kind of scaling that rates times the measured time say: work that is constant, or grows with them.

    So does a speedup, and an efficiency is a speedup per processor.
    """
    value = str(data.roles.value)
    rates = [name for name in names if is_called_rate(name) and not is_named("rate_of_one", str(unit_of(name)))]
    for name in rates if is_called_time(value) else ():
        ratio = RATIOS.intersection(words_of(name))
        is_ratio = is_named("efficiency", name) or name.strip().lower() in RATIOS
        if ratio and not (is_ratio and data.numbers(name).max() < _LARGEST_RATIO):
            continue  # of energy, for one
        with np.errstate(invalid="ignore", divide="ignore"):
            speed = data.numbers(name) * (processors if "efficiency" in ratio else 1.0)
            work = np.log(speed * data.numbers(value))
            spreads = {"strong": np.ptp(work), "weak": np.ptp(work - np.log(processors))}
        if kind := next((kind for kind, spread in spreads.items() if spread <= _ALIKE_WORK), ""):
            return kind
    return ""


def _falls(data: Measurements, processors: Floats) -> bool:
    """Return whether a time falls so much with the processors that its work, as of a batch, cannot have grown."""
    value = str(data.roles.value)
    times = data.numbers(value)
    if not is_called_time(value) or not ((times > 0.0) & (times < np.inf)).all():
        return False
    return bool(np.polyfit(np.log(processors), np.log(times), 1)[0] < -0.5)


def scaling_kinds(column: pd.Series) -> dict[str, str]:
    """Return for each text of a column the kind of scaling that it names; empty for other texts."""
    texts = [] if column.dtype.kind in "iufb" else [str(text) for text in column.dropna().unique()]
    together = "\n".join(texts)
    words = {kind: re.compile(rf"\b{kind}|{kind}\b", re.IGNORECASE) for kind in SCALING_KINDS}
    words = {kind: word for kind, word in words.items() if word.search(together)}  # most columns name none
    return {text: next((kind for kind, word in words.items() if word.search(text)), "") for text in texts}


def layout_of(data: Measurements, parameter: str) -> str:
    """Return the column, such as threads, whose product with a parameter never changes, or ``""``."""
    processors = data.numbers(parameter)
    if not is_processors(parameter) or not np.isfinite(processors).all() or np.ptp(processors) == 0.0:
        return ""
    others = [c for c in map(str, data.table.columns) if c not in (parameter, data.roles.value)]
    columns = (c for c in others if is_processors(c) or _is_of_node(c))
    return next((c for c in columns if np.ptp(processors * data.numbers(c)) == 0.0), "")


def is_layout(data: Measurements, column: str) -> bool:
    """Return whether a column says how a run was laid out on its processors, and so does not grow with them."""
    if _is_of_node(column) or layout_of(data, column):
        return True
    counts = [c for c in map(str, data.table.columns) if c != column and is_processors(c)] * is_processors(column)
    sides = ((data.numbers(column) * data.numbers(one), data.numbers(all_)) for one, all_ in permutations(counts, 2))
    return any(np.array_equal(product, total) for product, total in sides)  # such as ranks x threads = cores


def is_size_of_one(column: str) -> bool:
    """Return whether a name is that of the size of each processor's share, such as ``cells per node``."""
    return is_named("size_of_one", _with_low_lines(column))


def _is_of_node(column: str) -> bool:
    return is_named("of_node", _with_low_lines(column))


def _with_low_lines(name: str) -> str:
    return re.sub(r"[\s\-#]+", "_", name.strip()).strip("_")


def called(meaning: str, columns: Iterable[str]) -> list[str]:
    """Return the columns that a word of a meaning names, in the order of the words; ``"commit"`` is one of them.

    Examples
    --------
    >>> called("commit", ["time_s", "version", "SHA"])
    ['SHA', 'version']
    """
    names = list(_WORDS.get(meaning, COMMITS))
    found = {column: [n for n in (column.strip().lower(), plain_name(column)) if n in names] for column in columns}
    return sorted((column for column in found if found[column]), key=lambda column: names.index(found[column][0]))


def moments_of(table: pd.DataFrame, but: Iterable[str] = ()) -> Floats | None:
    """Return numbers that increase with the time of each run (n_rows,); None if no column says when it was."""
    for column in called("date", [str(column) for column in table.columns if column not in set(but)]):
        numbers = pd.to_numeric(table[column], errors="coerce")
        if numbers.notna().all():
            if plain_name(column) != "time" or (numbers > _EARLIEST).all():  # else how long runs took
                return np.asarray(numbers, dtype=np.float64)
            continue
        dates = pd.to_datetime(table[column], errors="coerce", utc=True, format="ISO8601")
        if dates.notna().all():
            return np.asarray(dates.astype("int64"), dtype=np.float64)
    return None


def directions_of(table: pd.DataFrame) -> pd.Series | str:
    """Return which values are better by row, ``smaller``, ``larger`` or nothing, as a column of the table says."""
    columns = called("direction", map(str, table.columns))
    if not columns:
        return ""
    better = table[columns[0]].fillna("").astype(str).str.strip().str.lower()
    return better.where(better.isin(DIRECTIONS), "")


def column_meanings(data: Measurements) -> dict[str, str]:
    """Return what each column is as a person reads it, and the option that overrides it."""
    roles, meanings = data.roles, meanings_of(data)
    texts = {column: _TEXTS.get(meaning, f"{meaning} (--{meaning})") for column, meaning in meanings.items()}
    texts |= {c: f"parameter{'' if s == c else f' {s}'} (--parameter)" for s, c in roles.parameters.items()}
    if roles.value:
        better, unit = direction(roles.unit or "", roles.value), f" [{roles.unit}]" if roles.unit else ""
        texts[roles.value] = f"value{unit}{f', {better} is better' if better else ''} (--value)"
    texts |= {c: "number of runs" for c, meaning in meanings.items() if meaning == "spread" and counts_runs(c)}
    spread = spread_columns(data)
    if spread is not None:
        texts[spread.spread] = f"spread of runs ({spread.kind})"
        texts |= {spread.number: "number of runs"} if spread.number else {}
    counted = () if spread is None else (spread.spread, spread.number)
    free = [c for c, meaning in meanings.items() if meaning not in ROLES and c not in counted]
    return texts | _derived_columns(data, free)


def _derived_columns(data: Measurements, columns: Sequence[str]) -> dict[str, str]:
    """Return columns that are a multiple, a ratio or a product of others, with the formula."""
    roles = data.roles
    used = [*roles.parameters.values(), *([roles.value] if roles.value else []), *roles.alternatives, *columns]
    numbers = {c: data.numbers(c) for c in dict.fromkeys(used) if data.table[c].dtype.kind in "iuf"}
    numbers = {c: n for c, n in numbers.items() if len(np.unique(n)) > 2 and (n > 0.0).all()}
    derived: dict[str, str] = {}
    candidates = [c for c in reversed(columns) if c in numbers and not is_called_time(c)]
    for column in candidates if len(numbers) <= _MOST_DERIVED else []:
        others = [c for c in numbers if c != column and c not in derived]
        if is_size(column):  # what was chosen follows from nothing that was measured
            others = [c for c in others if c != roles.value and not is_called_time(c) and not is_called_rate(c)]
        forms = {f"{c}": numbers[c] for c in others}
        forms |= {f"1/{c}": 1.0 / numbers[c] for c in others if c == roles.value or is_called_time(c)}
        forms |= {f"{a}/{b}": numbers[a] / numbers[b] for a in others for b in others if a != b}
        forms |= {f"{a}*{b}": numbers[a] * numbers[b] for k, a in enumerate(others) for b in others[:k]}
        for text, expected in forms.items():
            factor = numbers[column] / expected
            if np.ptp(factor) <= _SAME * factor.mean():
                constant = f"{factor.mean():.4g} * " if abs(factor.mean() - 1.0) > _SAME else ""
                derived[column] = f"derived, {constant}{text}: not used"
                break
    return derived


class SpreadColumns(NamedTuple):
    """Columns about the runs behind a value."""

    spread: str
    kind: str
    number: str | None  # column with the number of runs

    @property
    def text(self) -> str:
        runs = f"{self.number} runs each" if self.number else "their number is unknown: two, the fewest"
        return f"noise from {self.spread}, {runs}"


class Spread(NamedTuple):
    """Of each row that is kept (n,)."""

    variances: Floats  # of the runs, in the value's unit squared
    counts: Floats  # how many runs the value is the mean of
    text: str


def spread_columns(data: Measurements, *, named: bool = False) -> SpreadColumns | None:
    """Return the columns about the runs behind the value; those of another value are passed over."""
    roles = data.roles
    if roles.value is None:
        return None
    used = {*roles.parameters.values(), roles.value, *roles.category, *roles.code, *roles.system}
    free = [str(column) for column in data.table.columns if column not in used]
    kinds = {column: spread_kind(column) for column in free}
    spreads = {column: (kind, rest) for column, (kind, rest) in kinds.items() if kind is not None}
    stem = stem_of_mean(roles.value)
    columns = [column for column, (_, rest) in spreads.items() if stem_of_mean(rest) == stem]
    if not columns and not named:
        columns = [column for column, (_, rest) in spreads.items() if not rest]
    columns = [c for c in columns if _factor(c, roles.unit) is not None and np.isfinite(data.numbers(c)).any()]
    if not columns:
        return None
    order = list(SPREADS)
    spread = min(columns, key=lambda column: order.index(str(spreads[column][0])))
    numbers = [column for column in free if counts_runs(column) and _whole(data, column)]
    numbers += [column for column in free if counts_runs(column, True) and _whole(data, column)]
    if numbers and spreads[spread][0] == "deviation":
        numbers = [column for column in numbers if not _is_contradicted(data, column, spread)]
    return SpreadColumns(spread, str(spreads[spread][0]), numbers[0] if numbers else None)


def _is_contradicted(data: Measurements, number: str, deviation: str) -> bool:
    """Return whether an error is wider than a 99.9% interval of so many runs: BenchmarkDotNet has parameters N."""
    errors = [column for column in data.table.columns if plain_name(split_unit(column)[0] or column) == "error"]
    counts = np.maximum(data.numbers(number), 2.0)
    widest = special.stdtrit(counts - 1.0, 0.9995) * data.numbers(deviation) / np.sqrt(counts)
    return any(bool((data.numbers(error) > 1.05 * widest).any()) for error in errors)


def stem_of_mean(column: str) -> str:
    """Return what a value's name says, without that it is a mean."""
    plain = plain_name(split_unit(column)[0])
    if re.fullmatch(_MEAN, plain):
        return ""
    match = _MEAN_OF.fullmatch(plain)
    return without_unit(match["rest"] if match else plain)


def spread_of_rows(data: Measurements, kept: Booleans, cell: Ints) -> Spread | None:
    """What the columns about runs say of each row; None if there are none, or where the rows are runs themselves."""
    columns = spread_columns(data)
    if columns is None:
        return None
    spread = data.numbers(columns.spread)[kept]
    several = len(np.unique(cell)) < len(cell)
    if several and (pd.Series(spread).groupby(cell).nunique() <= 1).all():
        return None
    if several and columns.number is not None and not counts_runs(columns.number):
        columns = columns._replace(number=None)
    counts = np.full(len(spread), _FEWEST)
    if columns.number is not None:
        counts = data.numbers(columns.number)[kept]
    unknown = ~((spread < _LARGEST) & (spread >= 0.0) & (counts > 1.0))
    counts[unknown] = 1.0
    deviation = np.where(unknown, 0.0, spread) * (_factor(columns.spread, data.roles.unit) or 1.0)
    if columns.kind == "confidence":
        # Half widths of 95 % intervals of a mean, in standard errors, by Student's t.
        deviation /= special.stdtrit(np.maximum(counts - 1.0, 1.0), 0.975) if columns.number else _NORMAL_95
    if columns.kind != "deviation":
        deviation *= np.sqrt(counts)
    return Spread(deviation**2, counts, columns.text)


def spread_in_words(data: Measurements) -> str | None:
    """Return what is taken from where, of all rows; None if no column says how far runs lie apart."""
    roles = data.roles
    if spread_columns(data) is None:
        return None
    keys = [*roles.parameters.values(), *roles.code, *roles.system, *roles.category]
    rows = data.table.groupby(keys, dropna=False, sort=False).ngroup() if keys else data.table.index
    cell = np.asarray(rows, dtype=np.int64)
    spread = spread_of_rows(data, np.ones(len(cell), dtype=np.bool_), cell)
    return None if spread is None else spread.text


def pooled_runs(cell: Ints, value: Floats, spread: Spread, n_cells: int) -> tuple[Floats, Floats, Floats]:
    """Return means, numbers and relative variances of the runs of each cell (n_cells,), of means that are rows."""
    counts = np.asarray(np.bincount(cell, spread.counts, minlength=n_cells), dtype=np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        means = np.bincount(cell, spread.counts * value, minlength=n_cells) / counts
    squares = (spread.counts - 1.0) * spread.variances + spread.counts * (value - means[cell]) ** 2
    total = np.bincount(cell, squares, minlength=n_cells)
    scale = np.maximum(counts - 1.0, 0.0) * np.where(np.isfinite(means), means, 1.0) ** 2
    variances: Floats = np.divide(total, scale, out=np.zeros(n_cells), where=scale > 0.0)
    return means, counts, variances


def _factor(column: str, unit: str | None) -> float | None:
    """Return what a spread is multiplied by to be in the value's unit; None if it cannot be."""
    column_unit = unit_of(column)
    if column_unit is None or column_unit == unit:
        return 1.0
    sizes = seconds_per(column_unit), None if unit is None else seconds_per(unit)
    return None if sizes[0] is None or sizes[1] is None else sizes[0] / sizes[1]


def _whole(data: Measurements, column: str) -> bool:
    """Return whether a column holds whole numbers of at least 1, where it holds any."""
    values = data.numbers(column)
    values = values[np.isfinite(values)]
    return len(values) > 0 and bool((values >= 1.0).all() and (values == np.rint(values)).all())


# Suites of benchmarks: series, and parts that have parameters of their own.


def as_measurements(data: Any, fitter: str) -> Measurements:
    """Return measurements, also of a pandas table of them, for a fitter."""
    from perfcore.data.measurements import Measurements

    if isinstance(data, pd.DataFrame):
        data = Measurements(data, source="table")
    if not isinstance(data, Measurements):
        raise DataError(f"{fitter} fits measurements, or a pandas table of them, not {type(data).__name__}")
    return data


def paths_of(data: Measurements, kept: Booleans) -> tuple[tuple[str, ...], Ints]:
    """Return names of the modelled series, and the index of each kept row: code, system and category together.

    Roles with one name for all rows are left out of the names, unless all of them have.
    """
    parts = [role for role in ("code", "system", "category") if getattr(data.roles, role)]
    if not parts:
        return (data.roles.value or "value",), np.broadcast_to(np.int64(0), int(kept.sum()))
    labels = [labels_of(data, role, kept) for role in parts]
    if len(labels) == 1:
        return labels[0]
    together, different = pd.factorize(pd.MultiIndex.from_arrays([number for _, number in labels]))
    several = [k for k, (names, _) in enumerate(labels) if len(names) > 1] or [0]
    paths = tuple(" ".join(labels[k][0][numbers[k]] for k in several) for numbers in different)
    return paths, np.asarray(together, dtype=np.int64)


def whole_of_parts(names: Sequence[str], values: Floats) -> int | None:
    """Return which of the categories with these times (n_runs, n_names) is the whole run; None if none is.

    Its name says so, or it is the sum of all others in every run, as ``main`` is of inclusive times.
    """
    named = [number for number, name in enumerate(names) if plain_name(name) in _TOTALS]
    if named or len(names) < 3 or len(values) < 2:
        return named[0] if named else None
    added = np.nansum(values, axis=1, keepdims=True)
    is_sum = (abs(2.0 * values - added) <= SUM_ROUNDING * added).all(axis=0)
    return int(is_sum.argmax()) if is_sum.any() else None


def parts_of(data: Measurements, notes: list[str] | None = None) -> list[Measurements]:
    """Return the benchmarks of each set of parameters, with these; the data alone where no benchmark lacks a parameter.

    A benchmark whose rows are all of one point is left out, with a note.
    """
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
