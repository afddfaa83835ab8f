"""Options of `regression` and `usl`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from perf_formulas.formula import Formula
from perfcore.base.errors import OptionError
from perfcore.data.selection import parse_where
from perfcore.hooks.options import option

WEIGHTS = ("equal", "relative", "1/variance")


def parse_start(value: Any) -> tuple[str, ...]:
    """``"b=1,c=0.5"`` or a mapping as words that hold numbers."""
    words = value.split(",") if isinstance(value, str) else value
    pairs = value.items() if isinstance(value, Mapping) else [word.partition("=")[::2] for word in words]
    try:
        return tuple(f"{str(name).strip()}={float(number)!r}" for name, number in pairs)
    except ValueError:
        raise ValueError("numbers by coefficient are expected, such as b=1,c=0.5") from None


def parse_errors(value: Any) -> str:
    """A kind of standard errors."""
    if value not in ("classical", "HC0", "HC1", "HC2", "HC3") and not str(value).startswith("cluster:"):
        raise ValueError("classical, HC0, HC1, HC2, HC3 or cluster:COLUMN is expected")
    return str(value)


@dataclass(frozen=True)
class MeasuredOptions:
    """What the columns are, and which rows count."""

    parameter: tuple[str, ...] | None = option(
        None, "columns that were varied, COLUMN or SYMBOL=COLUMN", metavar="COLUMN,..."
    )
    value: str | None = option(None, "column that was measured", metavar="COLUMN")
    unit: str | None = option(None, "unit of the value (default: the ending of the column's name)")
    where: tuple[str, ...] = option(
        (), "only rows that meet all conditions: COLUMN=A|B, COLUMN!=A, COLUMN>3", parse=parse_where, metavar="COND,..."
    )


@dataclass(frozen=True)
class RegressionOptions(MeasuredOptions):
    """Options of `regression`."""

    formula: str | None = option(
        None, "value as a formula of columns, registered functions, and coefficients (all other names)",
        parse=lambda value: Formula(str(value)).canonical, metavar="FORMULA",
    )  # fmt: skip
    start: tuple[str, ...] = option(
        (), "start values of coefficients in which the formula is not linear", parse=parse_start, metavar="NAME=X,..."
    )
    by: tuple[str, ...] = option((), "columns whose values each get a fit of their own", metavar="COLUMN,...")
    weights: str = option(
        "equal", "weights of the runs: equal, relative (1/value^2), 1/variance (of repetitions), or a column"
    )
    errors: str = option(
        "classical", "standard errors: classical, HC0..HC3 (unequal variances) or cluster:COLUMN (dependent runs)",
        parse=parse_errors,
    )  # fmt: skip
    robust: str | None = option(None, "norm that gives outliers less weight", choices=("huber", "tukey"))
    quantile: float | None = option(None, "quantile to fit instead of the mean", above=0.0, metavar="0..1")
    family: str = option("gaussian", "distribution of the errors; gamma for times", choices=("gaussian", "gamma"))

    @property
    def starts(self) -> dict[str, float]:
        """Start values by coefficient."""
        return {name: float(number) for name, _, number in (word.partition("=") for word in self.start)}

    def __post_init__(self) -> None:
        if self.quantile is not None and self.quantile >= 1.0:
            raise OptionError(f"--quantile {self.quantile:g}: must be below 1, such as 0.9")
        given = {"--robust": self.robust, "--quantile": self.quantile, "--family": self.family == "gamma" or None}
        named = [name for name, value in given.items() if value is not None]
        if "--family" not in named and named and self.errors != "classical":
            named.append("--errors")
        if named and self.weights != "equal":
            named.append("--weights")
        if len(named) > 1:
            raise OptionError(f"{' and '.join(named)} do not go together; leave one of them out")
        if self.quantile is not None and self.start:
            raise OptionError("--quantile needs a formula that is linear in its coefficients; leave out --start")


@dataclass(frozen=True)
class UslOptions(MeasuredOptions):
    """Options of `usl`."""

    quantity: str = option(
        "auto", "measured quantity; auto: by the value's unit or name", choices=("auto", "throughput", "time")
    )
    weights: str = option(
        "auto", "weights of the runs; auto: equal for throughputs, relative (1/value^2) for times",
        choices=("auto", "equal", "relative"),
    )  # fmt: skip
