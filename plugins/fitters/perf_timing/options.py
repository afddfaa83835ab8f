"""Options that all fitters of measurements share: roles of columns, selection, scale, weights, functions."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from perf_statistics import CRITERIA
from perfcore.base.errors import OptionError
from perfcore.data.selection import AGGREGATES, DUPLICATES, parse_where
from perfcore.hooks.options import option
from perfcore.hooks.registry import registry

WEIGHTS = ("equal", "relative", "repetitions", "spread")
SIGNS = ("nonnegative", "bounded", "any")
_PREPARATIONS = ("auto", "none", "parameter", "operations", "peak")
_MOST_TERMS = 3
# What joint models are compared by: smaller is better.
JOINT_CRITERIA = {
    "aicc": "Akaike's information criterion, corrected for few points",
    "bic": "Bayes' information criterion",
    "sse": "sum of squared errors",
}


def parse_functions(value: Any) -> tuple[str, ...]:
    """Return names and formulas, separated by commas outside parentheses; formulas are checked."""
    from perf_formulas.formula import Formula, split_formulas  # what `perf info` does without

    words = split_formulas(value) if isinstance(value, str) else [str(word).strip() for word in value]
    words = [word for word in words if word]
    for word in words:
        if word not in ("all", "each") and word not in registry().entries("functions"):
            Formula(word)
    if len(words) > 1 and {"all", "each"} & set(words):
        raise ValueError("'all' and 'each' stand alone")
    return tuple(words)


def parse_terms(value: Any) -> str:
    """Return the number of functions in a model as ``"2"`` or ``"1..3"``."""
    if isinstance(value, range) and value.step == 1 and len(value):
        value = f"{value[0]}..{value[-1]}"
    first, dots, last = str(value).strip().partition("..")
    numbers = [part.strip() for part in ((first, last) if dots else (first,))]
    if isinstance(value, (bool, float)) or not all(n.isdecimal() and n.isascii() for n in numbers):
        raise ValueError("a number such as 2, or a range such as 1..3, is expected")
    if not 1 <= int(numbers[0]) <= int(numbers[-1]) <= _MOST_TERMS:
        raise ValueError(f"from 1 to {_MOST_TERMS} functions can be combined")
    return "..".join(numbers)


def number_of_terms(text: str) -> range:
    """Return what `parse_terms` checked, as numbers."""
    first, _, last = text.partition("..")
    return range(int(first), int(last or first) + 1)


def parse_prepare(value: Any) -> tuple[str, ...]:
    """Return steps of the preparation by name, or ``auto`` or ``none`` alone."""
    words: Iterable[str] = value.split(",") if isinstance(value, str) else map(str, value)
    steps = tuple(word.strip() for word in words)
    for step in steps:
        if step not in _PREPARATIONS:
            raise ValueError(f"{step!r} is none of {', '.join(_PREPARATIONS)}")
    if len(steps) != len(set(steps)) or (len(steps) > 1 and {"auto", "none"} & set(steps)):
        raise ValueError("each step may be given once; auto and none stand alone")
    return steps


def parse_quantities(quantities: Any) -> tuple[str, ...]:
    """Return quantities as an option takes them: a mapping becomes ``("SP=85.01", ...)``, a text stays one word."""
    if isinstance(quantities, Mapping):
        return tuple(f"{name}={float(value)!r}" for name, value in quantities.items())
    if isinstance(quantities, (list, tuple)):
        return tuple(map(str, quantities))
    text = os.fspath(quantities).strip() if isinstance(quantities, (str, os.PathLike)) else ""
    if not text:
        raise ValueError("a column, a formula over columns, FILE, FILE:COLUMN or NAME=VALUE,... is expected")
    return tuple(text.split(",")) if "=" in text else (text,)


@dataclass(frozen=True)
class ScalingOptions:
    """Options of every fitter of measurements."""

    parameter: tuple[str, ...] | None = option(
        None, "columns that were varied, COLUMN or SYMBOL=COLUMN; the first is p in formulas", metavar="COLUMN,..."
    )
    value: str | None = option(None, "column that was measured", metavar="COLUMN")
    code: tuple[str, ...] | None = option(None, "columns that together name the code", metavar="COLUMN,...")
    system: tuple[str, ...] | None = option(None, "columns that together name the system", metavar="COLUMN,...")
    unit: str | None = option(None, "unit of the value (default: the ending of the column's name)")
    where: tuple[str, ...] = option(
        (), "only rows that meet all conditions: COLUMN=A|B, COLUMN!=A, COLUMN>3", parse=parse_where, metavar="COND,..."
    )
    aggregate: str = option("median", "aggregate of repeated runs", choices=AGGREGATES)
    duplicates: str = option("refuse", "treatment of identical rows", choices=DUPLICATES)
    prepare: tuple[str, ...] = option(
        ("auto",),
        "scale of the fit: times the first parameter, over --operations, times --peak; auto is all that is given, and "
        "times the first parameter if it is a number of processors, by its name or as p=COLUMN; for a rate none",
        parse=parse_prepare, choices=_PREPARATIONS, metavar="STEP,...",
    )  # fmt: skip
    operations: tuple[str, ...] | None = option(
        None, "operation count of each code: a column, a formula over columns, FILE, FILE:COLUMN or CODE=NUMBER,...",
        parse=parse_quantities, metavar="WHAT",
    )  # fmt: skip
    peak: tuple[str, ...] | None = option(
        None, "peak performance of each system, in the same form", parse=parse_quantities, metavar="WHAT"
    )
    weights: str = option(
        "equal", "weight of each point: equal, 1/value^2, number of runs, or 1/variance of the runs", choices=WEIGHTS
    )
    sign: str = option(
        "nonnegative", "negative coefficients: such models come last (nonnegative), fits are bounded at 0 "
        "(bounded), or the sign does not count (any)", choices=SIGNS,
    )  # fmt: skip
    function: tuple[str, ...] = option(
        (), "formulas to combine besides the registered functions of p, such as p^(2/3)*log2(p)",
        parse=parse_functions, metavar="FORMULA,...",
    )  # fmt: skip

    def __post_init__(self) -> None:
        for name, key in (("operations", "CODE"), ("peak", "SYSTEM")):
            if name in self.prepare and getattr(self, name) is None:
                raise OptionError(f"--prepare {name} needs --{name}: a column, a small table, or {key}=NUMBER,...")


def registered_functions() -> tuple[str, ...]:
    """Return what is combined when nothing is named: the registered functions of the number of processors."""
    from perf_formulas.formula import functions_of

    return functions_of(("p",), constant=True)


@dataclass(frozen=True)
class IndividualOptions(ScalingOptions):
    """Options of the fitter `individual`."""

    functions: tuple[str, ...] = option(
        ("each",),
        "functions of the model, such as 1/p,1; all: the best for all pairs together; each: every pair its own",
        parse=parse_functions, choices=lambda: (*registered_functions(), "all", "each"), metavar="FUNCTION,...",
    )  # fmt: skip
    terms: str = option("1..3", "number of terms per model", parse=parse_terms, metavar="N|A..B")
    criterion: str = option(
        "loo",
        "model selection criterion: " + "; ".join(f"{k}, {v}" for k, v in CRITERIA.items()),
        choices=tuple(CRITERIA),
    )


@dataclass(frozen=True)
class JointOptions(ScalingOptions):
    """Options of the fitter `strohmaier`."""

    functions: tuple[str, ...] = option(
        ("all",), "functions of the model, such as 1/p,1/sqrt(p), one also twice; all: the best of all combinations",
        parse=parse_functions, choices=lambda: (*registered_functions(), "all"), metavar="FUNCTION,...",
    )  # fmt: skip
    terms: str = option("2", "number of terms per model", parse=parse_terms, metavar="N|A..B")
    criterion: str = option(
        "aicc", "model selection criterion: " + "; ".join(f"{k}, {v}" for k, v in JOINT_CRITERIA.items()),
        choices=tuple(JOINT_CRITERIA),
    )  # fmt: skip
    weights: str = option(
        "auto",
        "weight of each point: equal, 1/value^2, number of runs, or 1/variance of the runs; auto is relative if "
        "values in the scale of the fit differ by more than a factor of 10, else equal",
        choices=("auto", *WEIGHTS),
    )
    reference: str | None = option(None, "reference system (default: most observations)", metavar="SYSTEM")
    loss: str = option("linear", "loss: linear (least squares) or huber (robust)", choices=("linear", "huber"))
    drop_outliers: bool = option(False, "refit without the reported outliers")
    starts: int = option(5, "number of starting points", minimum=1)
    intervals: str = option(
        "asymptotic", "95% confidence intervals of parameters: from standard errors, profile likelihood or bootstrap",
        choices=("asymptotic", "profile", "bootstrap"),
    )  # fmt: skip
    draws: int = option(1000, "refits of the bootstrap", minimum=10)
    seed: int = option(0, "seed of random starts and the bootstrap", minimum=0)
    validate: bool = option(True, "leave-one-pair-out cross-validation")
