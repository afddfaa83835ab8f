"""Roles of the columns of a table of measurements: given by name, or guessed from usual names."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from perfcore.base.errors import OptionError, UnknownNameError, listing
from perfcore.data.units import split_unit, unit_in_name, unit_of

# The first that a table has is taken, so the narrower word comes first: with processes and nodes in one table, the
# processes are what was varied and the nodes are where they ran. Case, blanks and - _ . : between words don't count.
_NAMES = {
    role: tuple(names.split())
    for role, names in {
        "processors": "p np worldsize commsize proc process processor rank task core cpu pe thread worker gpu "
        "accelerator device node",
        "value": "time runtime walltime wall elapsed elapsedtime elapsedraw duration exectime executiontime seconds "
        "realtime wallclock wallclocktime totaltime timetosolution timetaken total real mean average avg median "
        "secs sec milliseconds msec ms microseconds usec us nanoseconds nsec ns minutes hours",
        "code": "code benchmark bench application app program kernel workload",
        "system": "system machine platform cluster computer host hostname site",
        "category": "category overhead region function routine callpath path kernelname timer section",
    }.items()
}
# What people write around a count of processors: `No. of nodes`, `#Cores`, `MPI ranks`, `numThreads`, `GPU count`.
# A word alone in the singular, such as `rank`, is the number of one; `threads per rank` and `cores/node` are others.
_COUNT = re.compile(
    r"(?:total)?(?P<number>#|n|(?:no|nr|nb|num|number)(?:of)?|#of)?(?:total)?(?:(?:mpi|omp|openmp|cpu|compute)(?=\w{3}))?"
    rf"(?P<word>{'|'.join(_NAMES['processors'])})(?P<several>(?:e?s)?(?:total|count|#)?)"
)
_WHOLE = _NAMES["processors"][:4]  # no words in the singular
_AVERAGE = "(?:mean|average|avg|median)"
_MEAN = re.compile(rf"{_AVERAGE}\.?(?:\s+of)?[\s_-]+(?=\w)|(?<=\w)[\s_-]+(?:olympic[\s_-]+)?{_AVERAGE}")
_SYMBOL = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
# Words to which formulas give a meaning, so that no parameter can be called so.
FORMULA_WORDS = frozenset(
    ["abs", "and", "cbrt", "ceil", "exp", "floor", "if", "log", "log10", "log2", "max", "min", "not", "or", "sqrt"]
)


@dataclass(frozen=True)
class MeasurementRoles:
    """The meaning of a table's columns; what is not known is empty or None."""

    parameters: Mapping[str, str] = field(default_factory=dict)  # symbol in formulas to column: ``{"p": "procs"}``
    value: str | None = None  # measured column
    unit: str | None = None  # unit of the value
    code: tuple[str, ...] = ()  # columns whose values together name the code, and the system
    system: tuple[str, ...] = ()
    category: tuple[str, ...] = ()  # columns whose values together name what a part of the time was spent in


def guess_roles(columns: Sequence[str], numeric: Collection[str]) -> MeasurementRoles:
    """What the names of the columns suggest."""
    kinds = {column: None if (unit := unit_in_name(column)) is None else unit.kind for column in columns}
    counting = [column for column in columns if kinds[column] in (None, "count")]
    timing = [column for column in columns if kinds[column] in (None, "time")]  # a rate is none
    processors = _first(counting, "processors", among=numeric)
    timing.sort(key=lambda column: column.lower().endswith(("min", "max")))  # behind the means of the same runs
    value = _first([c for c in timing if c != processors], "value", among=numeric)
    named = [column for column in columns if column != value]
    named = [column for column in named if not (column in numeric and kinds[column] not in (None, "count"))]
    code, system = (_first(named, role) for role in ("code", "system"))
    # Names only: a column of numbers that is called `function` or `region` counts something.
    category = _first([column for column in named if column not in numeric], "category")
    if value is None and processors is not None:
        left = [c for c in columns if c in numeric and c not in (processors, code, system)]
        # What was measured next to the rates that follow from it, or the only thing that was.
        others = [c for c in left if kinds[c] != "rate"]
        if len(left) == 1 or (len(others) == 1 and kinds[others[0]] == "time"):
            value = (others or left)[0]
    return MeasurementRoles(
        parameters={} if processors is None else {_symbol(processors, True, columns): processors},
        value=value,
        unit=None if value is None else unit_of(value),
        code=() if code is None else (code,),
        system=() if system is None else (system,),
        category=() if category is None else (category,),
    )


def is_processors(column: str) -> bool:
    """Whether a column's name says that it counts processors, and not the size of a problem."""
    return _first([column], "processors") is not None


def named_parameters(given: str | Iterable[str] | Mapping[str, str], columns: Sequence[str]) -> dict[str, str]:
    """Parameters as a user names them, as symbols and columns."""
    if isinstance(given, Mapping):
        pairs = [(str(symbol), str(column)) for symbol, column in given.items()]
    else:
        words = given.split(",") if isinstance(given, str) else list(given)
        pairs = [_pair(str(word)) for word in words]
    named = [(symbol, existing_column(column, columns)) for symbol, column in pairs]
    symbols = {symbol for symbol, _ in named if symbol}
    parameters: dict[str, str] = {}
    for given_symbol, column in named:
        symbol = given_symbol or _symbol(column, "p" not in symbols, columns)
        symbols.add(symbol)
        _check_symbol(symbol)
        if symbol in parameters or column in parameters.values():
            raise OptionError(f"parameter {symbol!r} ({column}) is given twice")
        parameters[symbol] = column
    return parameters


def shown_names(parameters: Mapping[str, str]) -> dict[str, str]:
    """What texts and tables call parameters: as their columns are called, where that can stand in a formula."""
    columns = list(parameters.values())
    return {
        symbol: column if _can_stand(column) and column not in parameters and columns.count(column) == 1 else symbol
        for symbol, column in parameters.items()
    }


def _can_stand(name: str) -> bool:
    return name not in FORMULA_WORDS and _SYMBOL.fullmatch(name) is not None


def _check_symbol(symbol: str) -> None:
    """Refuse what cannot stand in a formula, such as a name with blanks or that of a function."""
    if not _can_stand(symbol):
        raise OptionError(f"parameter {symbol!r} cannot stand in a formula; give it a name, such as n={symbol!r}")


def named_columns(given: str | Iterable[str] | None, columns: Sequence[str]) -> tuple[str, ...]:
    """Columns as a user names them: one, or several with commas."""
    if given is None:
        return ()
    words = given.split(",") if isinstance(given, str) else list(given)
    named = tuple(existing_column(word.strip(), columns) for word in words)
    twice = [name for name in named if named.count(name) > 1]
    if twice:
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
    bare = bare.lower() or column.lower()
    if around and role == "value":
        bare = split_unit(_MEAN.sub("", bare))[0]
    plain = re.sub(r"[\s_.:-]+", "", bare)
    if role != "processors":
        return plain
    match = _COUNT.fullmatch(plain)
    return match["word"] if match and (match["number"] or match["several"] or match["word"] in _WHOLE) else None


def _symbol(column: str, may_be_p: bool, columns: Sequence[str]) -> str:
    """What a parameter is called in formulas when the user does not say."""
    if column.lower() == "p" or (may_be_p and "p" not in columns):
        return "p"
    return column if _SYMBOL.fullmatch(column) else re.sub(r"\W", "_", column, flags=re.ASCII)


def _pair(word: str) -> tuple[str, str]:
    """Symbol, empty where none is given, and column of ``p=procs`` or ``procs``."""
    symbol, equals, column = word.partition("=")
    return (symbol.strip(), column.strip()) if equals else ("", word.strip())


def existing_column(name: str, columns: Sequence[str]) -> str:
    """The column of this name, its case aside, and its unit aside, where that is clear; or UnknownNameError."""
    if name in columns:
        return name
    for spelt in (str.strip, lambda column: split_unit(column)[0] if column.endswith(("]", ")")) else ""):
        if len(same := [column for column in columns if spelt(column).lower() == name.lower()]) == 1:
            return same[0]
    raise UnknownNameError("column", name, columns)
