"""Which rows of a table count: by simple conditions, ``class=D,nodes>4,benchmark=ssd|resnet``, and of several alike."""

from __future__ import annotations

import operator
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from perfcore.base import pd
from perfcore.base.errors import OptionError, UnknownNameError
from perfcore.data.columns import existing_column

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


AGGREGATES = ("median", "mean", "minimum")  # of repeated runs
DUPLICATES = ("refuse", "keep", "drop")  # what to do with rows that agree in every column
ABSENT = ("unknown", "zero")  # the time of a category that a run does not list

# What tables hold in place of a number: nothing was measured, or the run failed.
_MISSING_WORDS = "- -- --- ? . n/a na nan null none nil <na> #n/a #na #null! #div/0! #value! #num! #ref!"
_MISSING = frozenset(_MISSING_WORDS.split())
_FAILURES = re.compile(
    r"(?:out[\s_-]?of[\s_-]?mem(?:ory)?|oom|fail(?:ed|ure)?|time[\s_-]?(?:d[\s_-]?)?out|tle|err(?:or)?|crash(?:ed)?|"
    r"abort(?:ed)?|killed|cancell?ed|segfault|sigsegv|dnf|did not finish|exceeded|missing|unsupported|skip(?:ped)?|"
    r"not (?:supported|available|run|counted)|diverged|inf(?:inity)?)"
)

_ORDERS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
_CONDITION = re.compile(r"\s*(?P<column>[^<>=!]+?)\s*(?P<relation><=|>=|!=|<|>|==?)\s*(?P<value>[^<>=!]*?)\s*")


def is_mark(text: str) -> bool:
    """Whether a cell says that there is no number, such as ``N/A`` or ``OOM``."""
    word = text.strip().strip("[]()<>*").strip().lower()
    return not word or word in _MISSING or text.strip().lower() in _MISSING or _FAILURES.fullmatch(word) is not None


@dataclass(frozen=True)
class Condition:
    """One condition on one column."""

    column: str
    relation: str
    values: tuple[str, ...]  # one of them must be met; with an order a single number


def parse_conditions(given: str | Iterable[str]) -> tuple[Condition, ...]:
    """Conditions that a row must meet, all of them."""
    conditions = []
    for word in given.split(",") if isinstance(given, str) else given:
        match = _CONDITION.fullmatch(str(word))
        if match is None:
            raise ValueError(f"{word!r} is no condition; COLUMN=VALUE, COLUMN=A|B, COLUMN!=VALUE or COLUMN>NUMBER is")
        relation = "=" if match["relation"] == "==" else match["relation"]
        values = tuple(value.strip() for value in match["value"].split("|"))
        if relation not in ("=", "!=") and (len(values) > 1 or not is_number(values[0])):
            raise ValueError(f"{word!r}: {relation} takes one number")
        conditions.append(Condition(match["column"], relation, values))
    return tuple(conditions)


def parse_where(given: Any) -> tuple[str, ...]:
    """Conditions as an option takes them: a text or several, as words that are checked."""
    words = [w for w in (given.split(",") if isinstance(given, str) else map(str, given)) if w.strip()]
    parse_conditions(words)
    return tuple(words)


def rows_that_meet(table: pd.DataFrame, conditions: Iterable[Condition]) -> npt.NDArray[np.bool_]:
    """Which rows meet all conditions (n_rows,).

    Numbers are compared as numbers, so ``4`` finds ``4.0``; everything else as text.
    """
    import numpy as np

    kept = np.ones(len(table), dtype=np.bool_)
    for condition in conditions:
        column = table[existing_column(condition.column, list(map(str, table.columns)))]
        if condition.relation in ("=", "!="):
            equal = np.zeros(len(table), dtype=np.bool_)
            for value in condition.values:
                matches = _equal(column, value)
                if not matches.any():
                    unknown = UnknownNameError("value", value, map(str, column.dropna().unique()))
                    raise OptionError(f"no row has {condition.column}={value}; {unknown}")
                equal |= matches
            kept &= equal if condition.relation == "=" else ~equal
            continue
        numbers = pd.to_numeric(column, errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)
        if column.dtype.kind in "mM" or (column.dtype.kind not in "iufb" and np.isnan(numbers).all()):
            raise OptionError(f"column {condition.column!r} does not hold numbers; use = or !=")
        kept &= _ORDERS[condition.relation](numbers, float(condition.values[0]))
    return kept


def _equal(column: pd.Series, value: str) -> npt.NDArray[np.bool_]:
    import numpy as np

    if column.dtype.kind in "iufb" and is_number(value):
        return (column == float(value)).to_numpy(dtype=np.bool_, na_value=False)
    same = (column.astype(str).str.strip() == value) & column.notna()
    return same.to_numpy(dtype=np.bool_, na_value=False)


def is_number(text: str) -> bool:
    """Return whether Python reads a text as a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True
