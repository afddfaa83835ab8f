"""A stochastic value from a window of samples, and what it leaves out of them."""

from __future__ import annotations

import contextlib
import functools
import math
import os
import re
import shlex
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from perf_structural.bounds import Range, check_within
from perf_structural.dependence import effective_size, hours_of, modes_of
from perf_structural.prediction_files import is_number, read_rows
from perf_structural.statistic import quantile_name
from perf_tables.arguments import parse_duration
from perf_tables.series import Window, is_duration, take_window
from perfcore.base.arrays import Floats
from perfcore.base.errors import DataError, InputError, OptionError, UnknownNameError, listing
from perfcore.data.columns import existing_column, is_called_time
from perfcore.data.curve import UtilizationCurve
from perfcore.data.measurements import Measurements
from perfcore.data.observations import without_duplicates
from perfcore.data.selection import parse_conditions, rows_that_meet
from perfcore.data.series import Series
from perfcore.data.units import nanoseconds_per, unit_in_name, unit_of_text
from perfcore.hooks.options import build
from perfcore.reading import Read
from perfcore.reading.compression import without_compressed_ending
from perfcore.reading.source import Source
from perfcore.report import Note, Report
from perfcore.results import Result
from perfcore.stochastic import default_name, default_representation, representation_named

if TYPE_CHECKING:
    import pandas as pd

    from perfcore.stochastic import StochasticValue


_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?", re.IGNORECASE)
_HEAD = 4096  # characters by which a file of numbers is recognized
KINDS = (Series, UtilizationCurve, Measurements)  # that a reader may give
_FEWEST_OF_WINDOW = 10  # samples, below which all of the series are used
FEWEST = 20  # samples: with as many a 90 % interval leaves out one on each side
CONFIDENCE = 0.95
SUMMARY_LEVELS = (0.05, 0.5, 0.9, 0.95, 0.99)  # of the quantiles that are shown if none are asked for
_LARGEST_ERROR = 0.02  # of probability, that a representation may have
_NOTEWORTHY = 0.01  # of probability
_INDEPENDENT = 0.8  # share of the samples from which on they count as independent
_COMPARED, _HUGE = 0.95, 100.0  # quantile by which other representations are judged
_LOW, _HIGH = 0.25, 0.5  # Schopf, section 4, of the range from 0 to 1


@dataclass(frozen=True)
class RunSamples:
    """Samples in no order."""

    column: str  # what was measured
    values: Floats  # finite
    source: str
    missing: int = 0  # rows without a value
    notes: tuple[str, ...] = ()  # what a reader of a result must know

    @property
    def variation(self) -> float:
        """Largest minus smallest value."""
        return float(np.ptp(self.values))

    def describe(self) -> str:
        """One line: how many samples, of what, from where."""
        gaps = f", {self.missing} missing" if self.missing else ""
        count = len(self.values)
        return f"{count} sample{'s' if count > 1 else ''}{gaps} of {self.column!r}, from {self.source}"


def read_numbers(
    source: Source, column: str | None = None, where: str | Iterable[str] | None = None
) -> RunSamples | None:
    """A file of one number a line, each with the same unit or none; None of any other.

    Empty lines and lines that begin with ``#`` count for nothing; a first line of text is the name, without one the
    file's. A unit, as in ``3.1 ms``, is added to the name.
    """
    head = source.head[:_HEAD].decode("utf-8-sig", errors="replace")
    first = [line.strip() for line in head.splitlines() if line.strip() and not line.startswith("#")][:3]
    named = bool(first) and _quantity(first[0]) is None
    if len(first) < 1 + named or any(_quantity(line) is None for line in first[named:]):
        return None
    if named and any(mark in first[0] for mark in ",;\t"):
        return None
    values: list[float] = []
    unit = ""
    name = "value" if source.is_stdin else Path(without_compressed_ending(source.name)).stem
    if column is None and where is None and not head.lstrip().startswith("#") and not source.is_stdin:
        with source.plain_file() as file, contextlib.suppress(ValueError):  # which the loop below words
            numbers = np.loadtxt(file, skiprows=int(named), ndmin=1, encoding="utf-8-sig")
            if numbers.ndim == 1 and np.isfinite(numbers).all():
                return RunSamples(first[0] if named else name, numbers, source.name)
    for number, line in source.lines():
        word = line.decode("utf-8-sig", errors="replace").strip()
        if not word or word.startswith("#"):
            continue
        quantity = _quantity(word)
        if quantity is None and not values and named:
            name = word
            continue
        if quantity is None or not np.isfinite(quantity[0]):
            raise InputError(source.name, f"{word[:40]!r} is met; one finite number a line is expected", line=number)
        if not values:
            unit = quantity[1]
        if quantity[1] != unit:
            before = f"are in {unit!r}" if unit else "have no unit"
            raise InputError(source.name, f"{word[:40]!r} is met, and the lines before it {before}", line=number)
        values.append(quantity[0])
    shown = f"{name} [{unit}]" if unit and unit_in_name(name) is None else name
    if column not in {None, name, shown}:
        raise InputError(source.name, f"it has one number a line, {name!r}, and no column {column!r}")
    if where is not None:
        raise InputError(source.name, f"it has one number a line; --where {where!r} picks rows of a table")
    return RunSamples(shown, np.array(values), source.name)


def _quantity(line: str) -> tuple[float, str] | None:
    """A number and its unit, empty where there is none; None of any other text."""
    number = _NUMBER.match(line)
    with contextlib.suppress(ValueError):
        return float(line), ""
    unit = line[number.end() :].strip() if number else ""
    if number is None or unit_of_text(unit) is None:
        return None
    return float(number[0]), unit


def samples_of_table(
    table: pd.DataFrame, column: str | None, where: str | Iterable[str] | None, source: str, factors: Sequence[str] = ()
) -> RunSamples:
    """One column of a table, of the rows that meet conditions; ``factors`` are what runs differ in."""
    import pandas as pd

    if column is None:
        numeric = [name for name in table.columns if pd.to_numeric(table[name], errors="coerce").notna().any()]
        if len(numeric) != 1:
            raise OptionError(f"{source}: name a column (--column NAME): {listing(list(table.columns))}")
        column = numeric[0]
    try:
        column = existing_column(column, list(table.columns))
    except UnknownNameError:
        raise UnknownNameError(f"column of {source}", column, list(table.columns)) from None
    if where is not None:
        try:
            conditions = parse_conditions(where)
        except ValueError as error:
            raise OptionError(f"--where: {error}") from None
        table = table[rows_that_meet(table, conditions)]
        if not len(table):
            raise DataError(f"{source}: no row meets {where!r}")
    values = pd.to_numeric(table[column], errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)
    finite = np.isfinite(values)
    if not finite.any():
        raise DataError(f"{source}: column {column!r} holds no numbers")
    notes: list[str] = []
    kinds = table.loc[finite, list(factors)].drop_duplicates()
    if factors and len(kinds) > 1:
        differing = [name for name in factors if kinds[name].nunique(dropna=False) > 1]
        notes.append(f"samples of {len(kinds)} kinds of runs, which differ in {listing(differing)}; --where picks some")
    return RunSamples(column, values[finite], source, int((~finite).sum()), notes=tuple(notes))


Samples = Window | RunSamples


def read_samples(
    path: str | os.PathLike[str],
    window: str,
    column: str | None = None,
    until: float | str | None = None,
    where: str | Iterable[str] | None = None,
    read: Read | None = None,
    within: Range | None = None,
) -> tuple[Samples, tuple[str, ...]]:
    """Samples of a file, and warnings about them."""
    data = _read_any(path, column, where, read or _read)
    if isinstance(data, Series) and where is not None:
        import pandas as pd

        table = pd.DataFrame({"time": data.times, **data.columns})
        data = samples_of_table(table, column, where, data.source)
    return samples_of(data, window, column, until, where, within)


def _read_any(path: str | os.PathLike[str], column: str | None, where: str | Iterable[str] | None, read: Read) -> Any:
    """Numbers, a column of a table of text, or what a reader gives."""
    if os.fspath(path) == "-" or Path(path).is_file():
        with Source(path) as source:
            samples = read_numbers(source, column, where)
            if samples is not None:
                return samples
            with _as_stdin(source):
                try:
                    return read(os.fspath(path), KINDS)
                except InputError as error:
                    # A table of text whose names say nothing needs no more than them, if a column is named or is to be.
                    is_table = error.line == 1 and _has_named_numbers(source.head)
                    if column is None and where is None and not is_table:
                        raise
            table = _plain_table(source, path, read)
            return samples_of_table(table, column, where, source.name)
    return read(os.fspath(path), KINDS)


def _plain_table(source: Source, path: str | os.PathLike[str], read: Read) -> Any:
    """A table of text as its reader reads cells, or, where none knows the file, as it is."""
    import pandas as pd

    try:
        with _as_stdin(source):
            return read(os.fspath(path), (Measurements,)).table
    except InputError as error:
        if error.line not in (None, 1):
            raise
    with source.plain_file() as file:
        return pd.DataFrame([row for _, row in read_rows(file, source.name)])


def _has_named_numbers(head: bytes) -> bool:
    """Whether a file begins as a table of several columns with names, some of numbers, so that naming one helps."""
    lines = head[:_HEAD].decode("utf-8-sig", errors="replace").splitlines()[:2]
    mark = max(",;\t", key=lines[0].count) if lines else ","
    names, *rows = ([word.strip() for word in line.split(mark)] for line in lines)
    has_columns = bool(rows) and len(names) == len(rows[0]) > 1
    return has_columns and not any(map(is_number, names)) and any(map(is_number, rows[0]))


@contextlib.contextmanager
def _as_stdin(source: Source) -> Iterator[None]:
    """What was taken from standard input once, for who reads it himself; nothing of a file."""
    if not source.is_stdin:
        yield
        return
    before = sys.stdin
    with source.path.open() as stream:
        sys.stdin = stream
        try:
            yield
        finally:
            sys.stdin = before


def _read(path: str, types: Sequence[type]) -> Any:
    from perfcore.reading.recognise import read

    return read(path, wanted=types)


def samples_of(
    data: Any,
    window: str,
    column: str | None = None,
    until: float | str | None = None,
    where: str | Iterable[str] | None = None,
    within: Range | None = None,
) -> tuple[Samples, tuple[str, ...]]:
    """Samples of data, and warnings about them."""
    samples, warnings = _samples_in_window(data, window, column, until, where)
    try:
        check_within(samples.values, within, samples.column, samples.source)
    except DataError as error:
        raise DataError(f"{samples.source}, {samples.column!r}: {error}") from None
    return samples, warnings


def _samples_in_window(
    data: Any, window: str, column: str | None, until: float | str | None, where: str | Iterable[str] | None
) -> tuple[Samples, tuple[str, ...]]:
    if isinstance(data, Measurements):
        import pandas as pd

        roles = data.roles
        if column is None and roles.value is None:
            raise OptionError(f"{data.source}: name a column (--column NAME): {listing(list(data.table.columns))}")
        factors = [*roles.parameters.values(), *roles.code, *roles.system, *roles.category]
        notes = list[str]()
        table = data.table[without_duplicates(data, np.ones(len(data.table), dtype=np.bool_))]
        name = str(column or roles.value)
        if name in table and is_called_time(name):
            zero = (times := pd.to_numeric(table[name], errors="coerce")) == 0.0
            if zero.any() and (times > 0.0).any():  # as fits take it: no run takes no time
                table = table[~zero]
                notes.append(f"left out, {name} is 0: {int(zero.sum()):,} of {len(zero):,} rows")
        data = samples_of_table(table, name, where, data.source, factors)
        data = replace(data, notes=(*notes, *data.notes))
    if isinstance(data, RunSamples):
        if until is not None:
            raise OptionError(f"--to {until}: {data.source} is no series over time")
        return data, (*few_samples(len(data.values)), *data.notes)
    if where is not None:
        raise OptionError(f"--where {where!r} picks rows of a table; {data.source} is a series over time")
    selected = take_window(data, window, column, until)
    everything = take_window(data, "all", selected.column, until)
    count, of_all = len(selected.values), len(everything.values)
    if count < min(_FEWEST_OF_WINDOW, of_all):
        note = f"--window {window} holds only {count} sample{'s' if count > 1 else ''}: all {of_all} are used"
        return everything, (note, *few_samples(of_all))
    return selected, few_samples(count, f"; --window all has {of_all}" if of_all > count else "")


def few_samples(count: int, enough: str = "") -> tuple[str, ...]:
    """The warning where a value is made of few samples."""
    if count >= FEWEST:
        return ()
    warning = f"{count} sample{'s are' if count > 1 else ' is'} few: beyond them nothing is known; {FEWEST} would do"
    return (f"{warning}{enough}",)


def samples_needed(level: float) -> int:
    """Return how many independent samples have an order statistic on each side of a quantile with confidence."""
    outside = 0.5 * (1.0 - CONFIDENCE)
    return math.ceil(math.log(outside) / math.log(max(level, 1.0 - level)))


def limits_of_quantile(samples: Floats, level: float, size: float = math.inf) -> tuple[float, float]:
    """Return between which values the true quantile lies with probability 0.95; NaN of too few samples.

    ``size`` is how many independent samples they are worth; then the limits are those of Clopper and Pearson.
    """
    from scipy.stats import beta, quantile_test

    if size >= len(samples):
        limits: Any = quantile_test(samples, p=level).confidence_interval(CONFIDENCE)
        return float(limits.low), float(limits.high)
    if size < samples_needed(level):
        return math.nan, math.nan
    outside, count = 0.5 * (1.0 - CONFIDENCE), level * size
    levels: Floats = np.asarray(
        beta.ppf([outside, 1.0 - outside], [count, count + 1.0], [size - count + 1.0, size - count])
    )
    return float(np.quantile(samples, levels[0])), float(np.quantile(samples, levels[1]))


@dataclass(frozen=True, repr=False)
class MeasuredValue(Result):
    """A stochastic value that represents samples."""

    json_kind: ClassVar[str] = "value"

    window: Samples  # the samples
    value: StochasticValue  # what represents them
    scale: float | None = None  # full range of the quantity, for the variation class
    levels: tuple[float, ...] = SUMMARY_LEVELS  # of the quantiles that are shown
    warnings: tuple[str, ...] = ()  # about the samples
    run: str = ""  # length of the run over which the value is a mean; of single samples empty
    files: list[str] = field(default_factory=list, repr=False, compare=False)  # to which it was saved

    def save(self, path: str | os.PathLike[str]) -> list[str]:
        """Write the value; return what the command line prints about it."""
        self.files.append(os.fspath(path))
        return self.value.save(path)

    def report(self, data: Any = None) -> Report:
        from perf_structural.answers import report_of_value

        return report_of_value(self)

    @property
    def column(self) -> str:
        """What was measured: the column, or the name of the file if the column says nothing."""
        if self.window.column not in ("value", "values"):
            return self.window.column
        return Path(without_compressed_ending(self.window.source)).stem

    @functools.cached_property
    def effective_size(self) -> float:
        """How many independent samples these are worth; as many as there are if they have no order."""
        return effective_size(self.window.values) if isinstance(self.window, Window) else float(len(self.window.values))

    @functools.cached_property
    def others(self) -> dict[str, StochasticValue]:
        """The samples as a normal and as an interval, if the value is neither."""
        if self.run or self.value.support[0] == self.value.support[1]:
            return {}
        names = dict.fromkeys((self.value.name, default_name("moments"), default_name("bounds")))
        return {name: representation_named(name).from_samples(self.window.values) for name in list(names)[1:]}

    @property
    def other_errors(self) -> dict[str, float | None]:
        """Errors of the distribution function of `others`; None of mere bounds."""
        return {name: self._error_of(value) if value.has_distribution else None for name, value in self.others.items()}

    @property
    def report_notes(self) -> list[Note]:
        """What must be known to read the answer, most important first."""
        notes = [Note("Uncertain", text) for text in self.notes]
        if self.levels != SUMMARY_LEVELS:
            limits = [
                f"{name} {low:.6g} to {high:.6g}"
                for name, (low, high) in self.quantile_limits.items()
                if math.isfinite(low) and math.isfinite(high)
            ]
            notes += [Note("Uncertain", f"95% CI {', '.join(limits)}")] * bool(limits)
            notes += [Note("Uncertain", text) for text in self.too_few]
        if isinstance(self.window, Window) and (hours := hours_of(self.window)):
            notes.append(Note("Uncertain", f"by time of day: {hours}"))
        modes = [] if self.run else modes_of(self.window.values)
        if len(modes) > 1:
            text = ", ".join(f"{place:.3g} ({share:.0%})" for place, share in modes)
            notes.append(Note("Uncertain", f"{len(modes)} modes: {text}"))
        count = len(self.window.values)
        if self.effective_size < _INDEPENDENT * count:
            text = (
                f"samples depend on those before: {count:,} are worth about {self.effective_size:,.0f} independent ones"
            )
            notes.append(Note("Uncertain", text))
        if (normal := self.others.get(default_name("moments"))) is not None and normal.has_distribution:
            right = float(np.quantile(self.window.values, _COMPARED))
            off = abs(float(normal.quantile(_COMPARED)) / right - 1.0) if right else math.inf
            share = f" off by {off:.0%}" if off < _HUGE else f" {float(normal.quantile(_COMPARED)):.3g}"
            notes.append(Note("Check", f"--as {normal.name} would have {quantile_name(_COMPARED)}{share}"))
        return notes

    @property
    def next(self) -> str:
        """The command that follows: keep the value, or compute with it."""
        if not self.files:
            words = ["perf", "stochastic", "summarize", self.window.source, "--column", self.window.column]
            words += ["--run", self.run] * bool(self.run)
            words += ["--as", self.value.name] * (
                self.value.name not in {default_name("samples"), default_name("number")}
            )
            return "" if self.window.source in ("-", "series") else shlex.join([*words, "-o", "value.json"])
        name = (
            "time"
            if self._is_duration
            else "share"
            if 0.0 <= self.value.support[0] <= self.value.support[1] <= 1.0
            else "x"
        )
        is_free = re.search(r"avail|idle|free", self.window.column, re.IGNORECASE) is not None
        formula = {"time": "10*time", "share": "120/share" if is_free else "120*(1 + share)"}.get(name, "2*x")
        return f"perf stochastic eval {shlex.quote(formula)} --with {name}={shlex.quote(self.files[-1])}"

    @property
    def notes(self) -> tuple[str, ...]:
        """What is to be kept in mind, each once."""
        below, nothing = self._below_zero, "time" if self._is_duration else "sample"
        notes = []
        # What has no jumps is off by up to each sample's share, whatever its shape.
        if (
            not self.run
            and self.value.binned is not None
            and self.cdf_error > _LARGEST_ERROR + 1.0 / len(self.window.values)
        ):
            notes.append(f"the bins hide the shape: CDF error {self.cdf_error:.2g}; --rule adaptive keeps it")
        if below > _NOTEWORTHY:
            notes.append(
                f"{below:.2g} of the {self.value.name} is below 0, where no {nothing} is; --support 0,inf leaves it out"
            )
        return tuple(dict.fromkeys((*self.warnings, *notes, *self.value.notes)))

    @property
    def _below_zero(self) -> float:
        """How much the value has below 0, if the samples have none."""
        if not self.value.has_distribution or self.window.values.min() < 0.0:
            return 0.0
        return float(self.value.cdf(np.nextafter(0.0, -math.inf)))

    @property
    def quantile_limits(self) -> dict[str, tuple[float, float]]:
        """Where the true quantile lies with probability 0.95, as many samples as these are worth; NaN of too few."""
        samples, size = self.window.values, self.effective_size
        return {quantile_name(level): limits_of_quantile(samples, level, size) for level in self.levels}

    @property
    def too_few(self) -> list[str]:
        """Quantiles that the samples don't reach, with how many samples would."""
        size = round(self.effective_size)
        return [
            f"too few samples for {quantile_name(level)}: {size:,}; {needed:,} are needed"
            for level in self.levels
            if (needed := samples_needed(level)) > size
        ]

    @property
    def variation_text(self) -> str:
        """How much the samples vary, with the class of Schopf."""
        full, named = self.full_range, self.variation_class
        missing = "--scale, the full range" if full is None else f"samples between 0 and --scale ({full:g})"
        varies = f" (class needs {missing})" if named is None else f", {named} on a scale from 0 to {full:g}"
        return f"variation: {self.window.variation:.4g}{varies}"

    @property
    def variation_class(self) -> str | None:
        """How much the samples vary; None without a range, or outside of it, on which the classes are defined."""
        low, high, full = self.window.values.min(), self.window.values.max(), self.full_range
        return None if full is None or low < 0.0 or high > full else variation_class(self.window.variation, full)

    @property
    def full_range(self) -> float | None:
        """The scale, without one 1; None of lengths of time, which have no such range."""
        return 1.0 if self.scale is None and not self._is_duration else self.scale

    @property
    def _is_duration(self) -> bool:
        return is_duration(self.window.column, self.window.source)

    @property
    def samples_std(self) -> float:
        """Standard deviation of the samples, with n - 1 in the denominator."""
        return float(self.window.values.std(ddof=1)) if len(self.window.values) > 1 else 0.0

    @functools.cached_property
    def cdf_error(self) -> float:
        """Largest distance between the cumulative distributions of samples and value; NaN of bounds and of runs."""
        return self._error_of(self.value) if self.value.has_distribution and not self.run else math.nan

    @functools.cached_property
    def _levels(self) -> tuple[Floats, Floats, Floats]:
        """Distinct samples, and their shares below and up to each."""
        ordered, counts = np.unique(self.window.values, return_counts=True)
        after = np.cumsum(counts) / counts.sum()
        return ordered, after - counts / counts.sum(), after

    def _error_of(self, value: StochasticValue) -> float:
        ordered, before, after = self._levels
        errors = after - np.asarray(value.cdf(ordered)), before - np.asarray(value.cdf(np.nextafter(ordered, -np.inf)))
        return float(np.abs(errors).max())

    @property
    def statistics(self) -> dict[str, float | int | str | None]:
        """The value's figures, and how they differ from the samples'; None if an interval has none."""
        value, samples = self.value, self.window.values
        quantiles = {quantile_name(level): float(value.quantile(level)) for level in self.levels}
        lowest, highest = value.support
        figures: dict[str, float] = {"mean": value.mean, "std": value.std, **quantiles}
        figures |= {"lowest": lowest, "highest": highest, "samples_mean": samples.mean()}
        figures |= {"samples_std": self.samples_std, "cdf_error": self.cdf_error}
        return {
            "samples": len(self.window.values),
            "effective_samples": self.effective_size,
            **{name: float(figure) if math.isfinite(figure) else None for name, figure in figures.items()},
            "variation": self.window.variation,
            "variation_class": self.variation_class,
        }

    def to_dict(self) -> dict[str, Any]:
        stretch: dict[str, Any] = {}
        if isinstance(self.window, Window):
            times = self.window.times
            stretch = {"from": float(times[0]), "to": float(times[-1]), "time_unit": self.window.time_unit}
        return {
            "value": self.value.to_dict(),
            **self.statistics,
            "column": self.window.column,
            "source": self.window.source,
            **stretch,
            "samples_quantiles": {
                quantile_name(level): float(np.quantile(self.window.values, level)) for level in self.levels
            },
            "quantile_limits": {name: list(limits) for name, limits in self.quantile_limits.items()},
        }


def represent(
    window: Samples,
    representation: str | None = None,
    scale: float | None = None,
    levels: tuple[float, ...] = SUMMARY_LEVELS,
    warnings: tuple[str, ...] = (),
    **options: Any,
) -> MeasuredValue:
    """Represent the samples of a window."""
    if scale is not None:
        check_scale(scale)
    implementation = representation_named(representation or default_name("samples"))
    chosen = build(implementation.Options, options, implementation.name)
    if window.variation == 0.0:
        number = default_representation("number").from_samples(window.values)
        count = len(window.values)
        same = f"all {count} samples are {window.values[0]:.6g}: one number, whatever was asked for"
        return MeasuredValue(window, number, scale, levels, (*warnings, same) if count > 1 else warnings)
    try:
        return MeasuredValue(window, implementation.from_samples(window.values, chosen), scale, levels, warnings)
    except DataError as error:
        raise DataError(f"{window.source}, {window.column!r}: {error}") from None


def represent_run(
    window: Samples,
    run: str,
    bounds: Range | None = None,
    levels: tuple[float, ...] = SUMMARY_LEVELS,
    warnings: tuple[str, ...] = (),
) -> MeasuredValue:
    """Represent the mean over a run that starts after the last sample, given all before it."""
    from perf_forecast.fitter import mean_ahead
    from perf_forecast.options import support_of

    if not isinstance(window, Window):
        raise OptionError(f"--run {run}: {window.source} is no series over time")
    step_ns = (
        float(np.median(np.diff(window.times))) * nanoseconds_per(window.time_unit) if len(window.times) > 1 else 1.0
    )
    count = max(1, round(parse_duration(run) / step_ns))
    support = bounds or support_of(window.values, "auto", f"{window.column} {Path(window.source).name}")[0]
    try:
        places, quantiles = mean_ahead(window.values, count, support)
    except DataError as error:
        raise DataError(f"{window.source}: {error}") from None
    if quantiles[0] == quantiles[-1]:
        value = default_representation("number")(float(quantiles[0]))
    else:
        content = {"edges": quantiles.tolist(), "masses": np.diff(places).tolist()}
        value = default_representation("distributions").from_dict(content)
    return MeasuredValue(window, value, None, levels, warnings, run)


def check_scale(scale: float) -> None:
    """Refuse what can be no full range of a quantity."""
    if not 0.0 < scale < math.inf:
        raise OptionError(f"--scale {scale:g}: a positive number is expected")


def variation_class(variation: float, scale: float = 1.0) -> str:
    """Whether a quantity varies little, some or much (Schopf 1999, section 4)."""
    share = variation / scale
    return "low" if share <= _LOW else "medium" if share < _HIGH else "high"
