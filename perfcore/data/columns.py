"""What the columns of a table mean: the one vocabulary that readers, fitters, gates and ``perf info`` ask.

Its words are in ``columns.toml``. Roles that a user names override what is detected here.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from perfcore.base import pd
from perfcore.base.errors import OptionError, UnknownNameError, listing
from perfcore.data.units import VOCABULARY, is_rate, seconds_per, split_unit, unit_in_name, unit_of


def words(table: str, key: str) -> tuple[str, ...]:
    """Return the words of an entry of the vocabulary, in their order."""
    text = VOCABULARY[table][key]
    return tuple(part.strip() for part in re.split(r";" if ";" in text else r"\s+", text.strip()))


_NAMES = {role: words("roles", role) for role in VOCABULARY["roles"]}
# What people write around a count of processors: `No. of nodes`, `#Cores`, `MPI ranks`, `numThreads`, `GPU count`.
# A word alone in the singular, such as `rank`, is the number of one; `threads per rank` and `cores/node` are others.
_COUNT = re.compile(
    r"(?:(?:omp|mkl|openblas|julia|slurm)(?=n))?"  # variables of the environment
    r"(?:total)?(?P<number>#|n|(?:no|nr|nb|num|number)(?:of)?|#of)?(?:total)?(?:(?:mpi|omp|openmp|cpu|compute)(?=\w{3}))?"
    rf"(?P<word>{'|'.join(_NAMES['processors'])})(?P<several>(?:e?s)?(?:total|count|#)?)"
)
_WHOLE = (*_NAMES["processors"][:10], *words("words", "processors"))  # no words in the singular
_AVERAGE = f"(?:{VOCABULARY['spread']['mean']})"
_MEAN = re.compile(rf"{_AVERAGE}\.?(?:\s+of)?[\s_-]+(?=\w)|(?<=\w)[\s_-]+(?:olympic[\s_-]+)?{_AVERAGE}")
_SYMBOL = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
# Behind a name: its formula, where it was measured, or a symbol, as in `number of tasks (p)`.
_BEHIND = re.compile(r"\s+=\s.*|\s*\(\w+\s*=[^()]*\)$|(?<=\w)\s*\([A-Za-z]\)$")
# Words to which formulas give a meaning, so that no parameter can be called so.
FORMULA_WORDS = frozenset(
    ["abs", "and", "cbrt", "ceil", "exp", "floor", "if", "log", "log10", "log2", "max", "min", "not", "or", "sqrt"]
)

_YEAR_2010, _YEAR_2035 = 1.26e9, 2.05e9  # in s since 1970
_AXES, _SHORT = ("x", "y", "z"), 3  # behind a size, as in grid_x; letters of nx and mnk
_LEVELS = 4  # from which on systems of one level each are names of the levels
_NEAR = 1.01  # times the shortest, of a run that was given its duration
_LOOKED_AT = 1000  # values of a column of texts, at even distances, that show whether it is meant to hold numbers

_T = re.compile(r"[tT](?:_|$)")  # a time by its symbol
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_STATISTIC = re.compile(r"(?P<name>.+?)[\s_-]+(?:mean|avg|average|median|min|max|total)", re.IGNORECASE)
_PER_SECOND = re.compile(r"(?:/|[\s_]per[\s_])(?:cpu[\s_]?)?(?:s|sec|seconds?)$", re.IGNORECASE)
_WORDS = {key: frozenset(words("words", key)) for key in VOCABULARY["words"]}
_TIME_WORDS, _SIGNED = _WORDS["time"], words("words", "signed")

RUN_COLUMNS = words("rows", "repetition")  # a column of this name identifies the runs of one point
_OF_RUNS = frozenset((*RUN_COLUMNS, *words("rows", "identifier")))
SPREADS = ("deviation", "error", "confidence")
RATIOS = frozenset(words("words", "ratio"))
# Longer words first: the rest of a name says of what the spread is.
_SPREADS = {
    kind: re.compile(rf"(?:(?:{VOCABULARY['spread'][kind]}) )?(?P<rest>.*?)(?: (?:{VOCABULARY['spread'][kind]}))?")
    for kind in SPREADS
}
_STATISTIC_WORD = re.compile(rf"(?:^|[ (\[])(?:{VOCABULARY['spread']['statistic']})(?:$|[ )\]])")
_RUNS = re.compile(VOCABULARY["spread"]["runs"])
_PATTERNS: dict[str, str] = {}
for _key, _text in VOCABULARY["names"].items():
    _PATTERNS[_key] = re.sub(r"{(\w+)}", lambda match: _PATTERNS[match[1]], _text)
SCALING_KINDS = tuple(_PATTERNS["weak_or_strong"].split())
_COUNT_WITH_SPREAD = VOCABULARY["spread"]["count_with_spread"].split("|")  # may be anything, unless there is a spread


@dataclass(frozen=True)
class MeasurementRoles:
    """The meaning of a table's columns; what is not known is empty or None."""

    parameters: Mapping[str, str] = field(default_factory=dict)  # symbol in formulas to column: ``{"p": "procs"}``
    value: str | None = None  # measured column
    unit: str | None = None  # unit of the value
    code: tuple[str, ...] = ()  # columns whose values together name the code, and the system
    system: tuple[str, ...] = ()
    category: tuple[str, ...] = ()  # columns whose values together name what a part of the time was spent in
    alternatives: tuple[str, ...] = ()  # times of each row that are never added up, such as those of CPU and GPU


def guess_roles(columns: Sequence[str], numeric: Collection[str]) -> MeasurementRoles:
    """Return the roles that the names of the columns suggest."""
    kinds = {column: None if (unit := unit_in_name(column)) is None else unit.kind for column in columns}
    plain = [column for column in columns if not (is_of_spread(column) or is_called_rate(column))]
    counting = [column for column in plain if kinds[column] in (None, "count")]
    timing = [column for column in plain if kinds[column] in (None, "time")]  # a rate is none
    processors = _first(counting, "processors", among=numeric)
    timing.sort(key=lambda column: column.lower().endswith(("min", "max")))  # behind the means of the same runs
    of_one = [c for c in timing if c in numeric and not split_unit(c)[0] and "/" in (unit_of(c) or "")]  # ns/op
    value = of_one[0] if len(of_one) == 1 else _first([c for c in timing if c != processors], "value", among=numeric)
    processors = None if value is None and (processors or "").strip().lower() in _WORDS["alternative"] else processors
    named = [column for column in columns if column != value]
    named = [column for column in named if not (column in numeric and kinds[column] not in (None, "count"))]
    code, system = (_first(named, role) for role in ("code", "system"))
    # Names only: a column of numbers that is called `function` or `region` counts something.
    category = _first([column for column in named if column not in numeric], "category")
    if value is None:
        left = [c for c in columns if c in numeric and c not in (processors, code, system) and not is_of_spread(c)]
        times = [c for c in left if is_called_time(c) and c.partition(":")[0] not in {*left} - {c}]  # nor its parts
        # What was measured next to the rates that follow from it, or the only thing that was.
        others = [c for c in left if kinds[c] != "rate" and not is_called_rate(c)]
        rates = sorted((c for c in left if is_called_rate(c)), key=lambda c: (kinds[c] == "share", c == "rate"))
        means = [c for c in times if not _STATISTIC_WORD.search(plain_name(split_unit(c)[0]))]
        rates = [c for c in rates if RATIOS.isdisjoint(words_of(c))] or rates
        # A percentile next to a rate is not the result of a run.
        if rates and ((len(rates) == 1 and not times) or all(map(_is_given, others))):
            value = rates[0]
        elif processors is not None and (len(left) == 1 or (len(others) == 1 and kinds[others[0]] == "time")):
            value = (others or left)[0]
        elif len(times) == 1 or len({_MEAN.sub("", split_unit(c)[0].lower()) for c in means}) == 1:
            value = (means or times)[0]
        elif len(whole := [c for c in times if not _WORDS["whole"].isdisjoint(words_of(c))]) == 1:
            value = whole[0]
    return MeasurementRoles(
        parameters={} if processors is None else {_symbol(processors, True, columns): processors},
        value=value,
        unit=None if value is None else unit_of(value),
        code=() if code is None else (code,),
        system=() if system is None else (system,),
        category=() if category is None else (category,),
    )


def roles_of(table: pd.DataFrame) -> MeasurementRoles:
    """Return the roles that names and values of a table suggest.

    Dates are not measured, and a parameter is what was varied: of several columns that may be one, the first that has
    more than one value; without a number of processors the sizes.
    """
    columns = list(table.columns)
    numeric = {name for name in columns if holds_numbers(table[name])}
    guessed = guess_roles(columns, numeric)
    if guessed.value is None and (alternatives := alternatives_of([c for c in columns if c in numeric])):
        guessed = replace(guessed, value=alternatives[0], unit=unit_of(alternatives[0]), alternatives=alternatives)
    if guessed.value is not None and 3 * table[guessed.value].count() < 2 * len(table):
        complete = {c for c in numeric if c != guessed.value and table[c].notna().all()}
        guessed = other if is_called_time((other := guess_roles(columns, complete)).value or "") else guessed
    if guessed.value is not None:
        measured = pd.to_numeric(table[guessed.value].dropna(), errors="coerce")
        is_date, near = are_dates(measured), (measured <= _NEAR * measured.min()).mean()
        is_constant = measured.nunique() == 1 or (near == 1.0 and not guessed.parameters)  # else of weak scaling
        is_given = near > 0.5 and ("duration" in words_of(guessed.value) or is_constant)
        without = guess_roles(columns, numeric - {guessed.value}) if is_date or is_given else guessed
        rates = [c for c in (without.value, *columns) if c in numeric and is_called_rate(c)]
        if is_date or (is_given and rates and table[rates[0]].nunique() + ("duration" in words_of(guessed.value)) > 1):
            guessed = without if is_date else replace(without, value=rates[0], unit=unit_of(rates[0]))
    for column in guessed.parameters.values():
        if table[column].nunique(dropna=False) == 1 and (others := guess_roles(columns, numeric - {column}).parameters):
            guessed = replace(guessed, parameters=others)
    machines = table.groupby([*guessed.system] or table.index * 0)  # few may have one number of processors each
    if all(table[c].nunique() < _LEVELS and machines[c].nunique().max() <= 1 for c in guessed.parameters.values()):
        sizes = [c for c in columns if c in numeric and is_size(c) and c != guessed.value and table[c].nunique() > 1]
        if sizes := without_copies(table, sizes):
            guessed = replace(guessed, parameters={_symbol(column, True, columns): column for column in sizes[:1]})
    stems = {re.sub("[0-9]+", "", str(name)) for name in table[guessed.system[0]].unique()} if guessed.system else set()
    least = _LEVELS - (len(stems) == 1)  # nodes of one machine
    varied = [column for column in guessed.parameters.values() if table[column].nunique() >= least]
    if guessed.system and varied and (table.groupby(guessed.system[0])[varied].nunique() <= 1).all(axis=None):
        guessed = replace(guessed, system=())  # each at one level: a name of that level
    return guessed


def alternatives_of(columns: Sequence[str]) -> tuple[str, ...]:
    """Return the times of which each row has one for each of several ways to run, such as CPU and GPU.

    Examples
    --------
    >>> alternatives_of(["Matrix_Size", "CPU_Time_ms", "GPU_Time_ms", "Speedup"])
    ('CPU_Time_ms', 'GPU_Time_ms')
    """
    times = {column: set(words_of(split_unit(column)[0])) - _TIME_WORDS for column in columns if is_called_time(column)}
    common = set.intersection(*times.values()) if times else set()
    ways = [names - common for names in times.values()]
    units = {unit_of(column) for column in times}
    is_split = len(times) > 1 and len(units) == 1 and all(names and names <= _WORDS["alternative"] for names in ways)
    return tuple(times) if is_split else ()


def holds_numbers(column: pd.Series) -> bool:
    """Return whether half of the values are numbers: a text among them is refused with its line, and no name."""
    if column.dtype.kind in "iuf":
        return True
    if column.dtype.kind not in "OUT" and str(column.dtype) not in ("str", "string"):
        return False
    values = column.dropna()
    values = values.iloc[:: max(1, len(values) // _LOOKED_AT)]
    return len(values) > 0 and bool(2 * pd.to_numeric(values, errors="coerce").notna().sum() >= len(values))


def are_dates(column: pd.Series) -> bool:
    """Return whether values increase from 2010 on as times since 1970 do, in the unit of the name or in any."""
    times, unit = pd.to_numeric(column, errors="coerce").dropna(), unit_of(str(column.name))
    factors = [seconds_per(unit) or 0.0] if unit else [1.0, 1e-3, 1e-6, 1e-9]
    inside = any(times.min() * factor > _YEAR_2010 and times.max() * factor < _YEAR_2035 for factor in factors)
    return len(times) > 1 and inside and times.is_monotonic_increasing


def without_copies(table: pd.DataFrame, columns: Sequence[str]) -> list[str]:
    """Return the columns less those that say the same as another one; counts of results go before sizes."""
    kept: list[str] = []
    levels = {column: table[column].nunique() for column in columns}
    for column in sorted(columns, key=lambda column: not _WORDS["result"].isdisjoint(words_of(column))):
        same = (len(table[[column, other]].drop_duplicates()) for other in kept if levels[other] == levels[column])
        if levels[column] not in same:
            kept.append(column)
    return [column for column in columns if column in kept]


def is_processors(column: str) -> bool:
    """Whether a column's name says that it counts processors, and not the size of a problem."""
    return _first([column], "processors") is not None


def named_parameters(given: str | Iterable[str] | Mapping[str, str], columns: Sequence[str]) -> dict[str, str]:
    """Parameters as a user names them, as symbols and columns."""
    if isinstance(given, Mapping):
        pairs = [(str(symbol), str(column)) for symbol, column in given.items()]
    else:
        words = given.split(",") if isinstance(given, str) else list(given)
        split = (str(word).partition("=") for word in words)
        pairs = [(s.strip(), column.strip()) if equals else ("", s.strip()) for s, equals, column in split]
    named = [(symbol, existing_column(column, columns)) for symbol, column in pairs]
    symbols = {symbol for symbol, _ in named if symbol}
    parameters: dict[str, str] = {}
    for given_symbol, column in named:
        symbol = given_symbol or _symbol(column, "p" not in symbols, columns)
        symbols.add(symbol)
        if not can_stand(symbol):
            raise OptionError(f"parameter {symbol!r} cannot stand in a formula; give it a name, such as n={symbol!r}")
        if symbol in parameters or column in parameters.values():
            raise OptionError(f"parameter {symbol!r} ({column}) is given twice")
        parameters[symbol] = column
    return parameters


def shown_names(parameters: Mapping[str, str]) -> dict[str, str]:
    """What texts and tables call parameters: as their columns are called, where that can stand in a formula."""
    columns = list(parameters.values())
    return {
        symbol: column if can_stand(column) and column not in parameters and columns.count(column) == 1 else symbol
        for symbol, column in parameters.items()
    }


def can_stand(name: str) -> bool:
    """Return whether a name can stand in a formula."""
    return name not in FORMULA_WORDS and _SYMBOL.fullmatch(name) is not None


def named_columns(given: str | Iterable[str] | None, columns: Sequence[str]) -> tuple[str, ...]:
    """Columns as a user names them: one, or several with commas."""
    if given is None:
        return ()
    words = given.split(",") if isinstance(given, str) else given
    named = tuple(existing_column(word.strip(), columns) for word in words)
    if twice := [name for name in named if named.count(name) > 1]:
        raise OptionError(f"column {twice[0]!r} is given twice")
    return named


def missing_roles(roles: MeasurementRoles, columns: Sequence[str]) -> str | None:
    """One line that says which role is not known and how to give it, or None."""
    missing = []
    if not roles.parameters:
        missing.append("which column was varied: --parameter COLUMN")
    if roles.value is None:
        missing.append("which was measured: --value COLUMN")
    return f"it does not say {', nor '.join(missing)}; the columns are {listing(columns)}" if missing else None


def _is_given(column: str) -> bool:
    """Return whether a column holds an input or the number of a run, or a percentile or a count of its result."""
    bare = split_unit(column)[0] if column.endswith((")", "]")) else column  # a time in [min] is no smallest one
    is_statistic = _STATISTIC_WORD.search(f"{plain_name(bare)} {' '.join(words_of(bare))}") is not None
    is_cost = not _WORDS["cost"].isdisjoint(words_of(column))
    return is_size(column) or is_run_identifier(column) or is_statistic or is_cost


def _first(columns: Sequence[str], role: str, among: Collection[str] | None = None) -> str | None:
    """The column that bears the earliest name of a role."""
    spelt: dict[str, str] = {}
    candidates = [column for column in reversed(columns) if among is None or column in among]
    for around in (True, False):  # a name that is spelt as here goes before one with more words
        for column in candidates:
            if name := _name(column, role, around):
                spelt[name] = column
    return next((spelt[name] for name in _NAMES[role] if name in spelt), None)


def _name(column: str, role: str, around: bool) -> str | None:
    """What a column is called, without its unit, and if wanted without what people write around names of a role."""
    bare, unit = split_unit(column)
    if role == "processors" and unit is not None and unit.kind != "count":
        return None  # the share of them that is busy, or the time that they were
    bare = _BEHIND.sub("", bare.lower() or column.lower())
    if around and role == "value":
        bare = split_unit(_MEAN.sub("", bare))[0]
    plain = re.sub(r"[\s_.:-]+", "", bare)
    if role != "processors":
        return plain
    match = _COUNT.fullmatch(plain)
    return match["word"] if match and (unit or match["number"] or match["several"] or match["word"] in _WHOLE) else None


def _symbol(column: str, may_be_p: bool, columns: Sequence[str]) -> str:
    """What a parameter is called in formulas when the user does not say."""
    if column.lower() == "p" or (may_be_p and "p" not in columns):
        return "p"
    symbol = re.sub(r"\W", "_", column, flags=re.ASCII)
    return symbol if symbol.strip("_") or "n" in columns else "n"


def existing_column(name: str, columns: Sequence[str]) -> str:
    """The column of this name, its case aside, and its unit aside, where that is clear; or UnknownNameError."""
    if name in columns:
        return name
    for spelt in (str.strip, lambda column: split_unit(column)[0] if column.endswith(("]", ")")) else ""):
        if len(same := [column for column in columns if spelt(column).lower() == name.lower()]) == 1:
            return same[0]
    raise UnknownNameError("column", name, columns)


# What names say of quantities.


@functools.lru_cache(maxsize=1 << 14)  # thousands of call paths are compared with every model
def plain_name(name: str) -> str:
    """Return a name as it is compared: in lower case, with single blanks for ``_`` and ``-``."""
    return " ".join(re.sub(r"[_\-\s]+", " ", name).casefold().split())


def words_of(name: str) -> list[str]:
    """Return the words of a name in lower case, also of CamelCase."""
    return [word.lower() for word in _WORD.findall(name)]


def is_called_time(column: str) -> bool:
    """Return whether a name holds a word for a time, or ends with a unit of one."""
    unit, names = unit_in_name(column), set(words_of(column))
    if unit is not None and unit.kind not in ("time", "count"):
        return False
    is_time = (unit is not None and unit.kind == "time") or not names.isdisjoint(_TIME_WORDS) or _T.match(column)
    return bool(is_time) and not (is_run_identifier(column) or is_signed(names))


def is_called_rate(column: str) -> bool:
    """Return whether a name is that of work per time, of which more is better."""
    statistic = _STATISTIC.fullmatch(column.strip())
    name, unit = split_unit(statistic["name"] if statistic else _BEHIND.sub("", column))
    if unit is not None and unit.kind not in ("count", "share"):
        return unit.kind == "rate"
    names = words_of(name)
    if _WORDS["cost"].intersection(names) or "".join(names[-2:]) in _WORDS["offered"] or {"total", "ops"} <= {*names}:
        return False
    return _PER_SECOND.search(name) is not None or bool({*names[-1:], "".join(names[-2:])} & _WORDS["rate"])


def is_size(column: str) -> bool:
    """Return whether a name is that of the size of a problem, or of what else a run was asked for."""
    names = words_of(re.sub(r"[(\[][kKMGT][)\]]$", "", split_unit(column)[0] or column))  # Alloc[k]
    if is_run_identifier(column) or is_called_time(column) or is_called_rate(column):
        return False
    last = next((name for name in reversed(names) if name not in _AXES), "") or "".join(names[-1:])
    counted = last.removeprefix("n") if len(last) > _SHORT else last  # npoints
    return not _WORDS["size"].isdisjoint((last, counted)) or "".join(names[-2:]) in _WORDS["offered"]


def is_named(what: str, name: str) -> bool:
    """Return whether a whole name is one of those that a regular expression of the vocabulary means: ``"nodes"``."""
    return re.fullmatch(_PATTERNS[what], name, re.IGNORECASE | re.DOTALL) is not None


def is_speed(unit: str | None, *names: str) -> bool:
    """Return whether what was measured is work per time, by its unit, or without one by what its columns are called."""
    return is_rate(unit) if unit and unit != "%" else bool(names) and all(map(is_called_rate, names))


def direction(unit: str, column: str) -> str:
    """Return which values are better, ``"larger"`` or ``"smaller"``; empty if neither unit nor name says it."""
    counted, last = last_word(unit.partition("/")[0]), last_word(column.rstrip("[(%)] "))
    if counted in _WORDS["smaller"]:  # misses/s
        return "smaller"
    bare = not unit.strip("%")
    if is_speed(unit, column) or (bare and last in _WORDS["larger"]):
        return "larger"
    words_behind = {last, last_word(column)}
    known = not bare or (unit_of(column) or "").strip("%") or not words_behind.isdisjoint(_WORDS["smaller"])
    is_average = re.fullmatch(_AVERAGE, plain_name(column)) is not None  # of what, it does not say
    is_time = not is_average and guess_roles([column], {column}).value is not None
    return "smaller" if known or is_time else ""


def last_word(name: str) -> str:
    """Return the last run of letters of a name, in lower case."""
    return str((re.findall(r"[a-z]+", name.lower()) or [""])[-1])


def is_signed(names: Collection[str]) -> bool:
    """Return whether words name a quantity that may be negative."""
    return any(word.startswith(_SIGNED) for word in names)


# What names say of rows.


def is_run_identifier(column: str) -> bool:
    """Return whether a name is that of a column in which runs differ that were meant to be the same."""
    plain = plain_name(column).strip("# ")
    return plain in _OF_RUNS or plain.removesuffix(" #") in _OF_RUNS or is_of_spread(column)


def is_of_spread(column: str) -> bool:
    """Return whether a name is that of a spread, or of a number of runs: it identifies no rows."""
    return spread_kind(column)[0] is not None or counts_runs(column)


def counts_runs(column: str, has_spread: bool = False) -> bool:
    """Return whether a name is that of the number of runs behind a mean; next to a spread a short one is enough."""
    plain = plain_name(column)
    return _RUNS.fullmatch(plain) is not None or (has_spread and plain in _COUNT_WITH_SPREAD)


def spread_kind(column: str) -> tuple[str | None, str]:
    """Return which spread a name means, and the rest of it, which says of what."""
    bare = split_unit(column)[0] or column
    plain = plain_name(re.sub(r"[.,()\[\]]", " ", bare))
    for kind in SPREADS:
        if re.fullmatch(VOCABULARY["spread"][kind], plain):
            return kind, ""
    for kind, pattern in _SPREADS.items():
        match = pattern.fullmatch(plain)
        if match and match["rest"] != plain:
            return kind, without_unit(match["rest"].removeprefix("of "))
    return None, plain


def without_unit(plain: str) -> str:
    """Return a name such as ``time s``, from which a word behind was taken, without its unit."""
    return plain_name(split_unit(plain.replace(" ", "_"))[0])
