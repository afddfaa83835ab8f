"""Measurements made ready for fitting: selected, joined, weighted, and brought to the scale of the fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, cast

import msgspec
import numpy as np

from perf_formulas.formula import Formula, find_function, renamed
from perf_formulas.parser import FormulaError
from perf_tables.confounders import refuse_unnamed_of_codes
from perf_tables.meanings import as_measurements
from perf_timing.options import ScalingOptions
from perfcore.base import pd
from perfcore.base.arrays import Booleans, Floats
from perfcore.base.errors import DataError, OptionError, UnknownNameError, listing
from perfcore.contracts import Function
from perfcore.data.columns import is_processors, is_size, is_speed, shown_names
from perfcore.data.measurements import Measurements
from perfcore.data.observations import Observations, labels_of, no_number
from perfcore.data.units import unit_in_name

# NPB prints a rate with two decimals, so that rate times time gives the operation count to some 1e-4 only; what
# differs by more within one code is not a quantity of the code.
_SPREAD = 0.01
# Values in the scale of the fit that differ by more than this count by their relative errors: with equal weights the
# largest few would decide. Those of Strohmaier's paper differ by 4 to 7; docs/how-we-know.md has the figures.
WIDE = 10.0
_LARGEST = 1e100  # in the scale of the fit
# As if so many more runs had been made with the spread that all points share: a spread estimated from two or three
# runs may be near zero by chance. The form is Smyth's moderated variance (Stat. Appl. Genet. Mol. Biol. 3, 2004).
_SHARED_RUNS = 4.0
_FAR = 1e6  # where functions that differ in growth differ by far


class Step(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What a value is multiplied by: a parameter, the reciprocal of a quantity of the code, or one of the system.

    ``t * p`` of a code that scales perfectly is the same for every p; operation counts W_c and peak performances r_peak
    make codes and systems comparable.
    """

    of: Literal["parameter", "code", "system"]
    name: str  # symbol of the parameter, or what the quantity is called
    quantities: dict[str, float] = {}  # by code or system

    @property
    def text(self) -> str:
        return f"{'/' if self.of == 'code' else '*'} {self.name}"

    def factor(self, points: Mapping[str, Floats], code: Sequence[str], system: Sequence[str]) -> Floats:
        """Return what a value is multiplied by (n,)."""
        if self.of == "parameter":
            return np.asarray(points[self.name], dtype=np.float64)
        names = code if self.of == "code" else system
        unknown = [name for name in dict.fromkeys(names) if name not in self.quantities]
        if unknown:
            raise DataError(
                f"{self.name} is not known for {self.of} {listing(unknown, 5)}; it is for "
                f"{listing(sorted(self.quantities), 8)}; add it, or leave such rows out with --where"
            )
        table, positions = np.unique(np.asarray(names, dtype=np.str_), return_inverse=True)
        values = np.array([self.quantities[str(name)] for name in table])[positions]
        return 1.0 / values if self.of == "code" else values


class Preparation(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Scale of a fit: the product of several factors for each value; dividing by it restores the values.

    Source: E. Strohmaier, "Statistical Performance Modeling: Case Study of the NPB 2.1 Results", section 3: times over
    four orders of magnitude become comparable when they are multiplied by the number of processors, divided by the
    operation count of the code, and multiplied by the peak performance of the system (equation 4).
    """

    steps: tuple[Step, ...] = ()

    @property
    def formula(self) -> str:
        """The transformation as the paper writes it."""
        return " ".join(["t' = t", *(step.text for step in self.steps)])

    def line(self, columns: Mapping[str, str]) -> str:
        """In which scale a model was fitted, with parameters as texts call those of these columns, by symbol."""
        if not self.steps:
            return "fitted as measured"
        names = shown_names(columns)
        steps = (Step("parameter", names[step.name]) if step.of == "parameter" else step for step in self.steps)
        return f"response transformed to {Preparation(tuple(steps)).formula}"

    @property
    def of_parameters(self) -> Preparation:
        """The steps that depend on parameters; the others are constant for each code on each system."""
        return Preparation(tuple(step for step in self.steps if step.of == "parameter"))

    def factor(self, points: Mapping[str, Floats], code: Sequence[str], system: Sequence[str]) -> Floats:
        """Return what a value in the user's unit is multiplied by (n,), positive."""
        result = np.ones(len(code))
        for step in self.steps:
            result = result * step.factor(points, code, system)
        return result


def quantities_of(words: Sequence[str], data: Measurements, role: str, option: str) -> tuple[str, dict[str, float]]:
    """Return one positive number for each code or system: of words, a column, a formula or a small table."""
    from perfcore.reading.recognise import read

    if all("=" in word for word in words):
        return option, _listed(words, option)
    word = words[0]
    path, _, column = word.rpartition(":") if ":" in word else (word, "", "")
    if word in data.table.columns or not Path(path).is_file():
        return _by_label(data, word, role, option)
    small = cast(Measurements, read(path, wanted=(Measurements,)))
    columns: tuple[str, ...] = getattr(data.roles, role)
    if not columns:
        raise OptionError(f"{path}: the measurements have no column that names the {role}; give --{role} COLUMN")
    if missing := [name for name in columns if name not in small.table.columns]:
        raise DataError(
            f"{path}: has no column {missing[0]!r}, by which the {role} of the measurements is named; its columns are "
            f"{listing(small.table.columns)}"
        )
    if not column:  # the only numeric one apart from those that name the role
        numbers = [str(c) for c in small.table.columns if small.table[c].dtype.kind in "iuf" and c not in columns]
        if len(numbers) != 1:
            source = small.source
            raise OptionError(
                f"{source}: say which column to take, {source}:COLUMN; of numbers it has {listing(numbers)}"
            )
        (column,) = numbers
    roles: dict[str, Any] = {"code": (), "system": (), role: columns}
    return _by_label(small.with_roles(parameters=(), **roles), column, role, option)


def _listed(words: Sequence[str], option: str) -> dict[str, float]:
    quantities: dict[str, float] = {}
    for word in words:
        label, _, text = word.rpartition("=")
        name = label.strip()
        try:
            value = float(text)
        except ValueError:
            value = -1.0
        if not (0.0 < value < float("inf") and name):
            raise OptionError(f"{option} {word!r}: NAME=VALUE with a positive number is expected")
        if name in quantities:
            raise OptionError(f"{option}: {name} is given twice")
        quantities[name] = value
    return quantities


def _by_label(data: Measurements, column: str, role: str, option: str) -> tuple[str, dict[str, float]]:
    """Return the mean of a column or formula for each code or system, which must be the same there."""
    values = _evaluated(data, column, option)
    kept = np.ones(len(values), dtype=np.bool_)
    labels, index = labels_of(data, role, kept)
    means = {}
    for number, label in enumerate(labels):
        rows = np.flatnonzero((index == number) & ~np.isnan(values))
        group = values[rows]
        if not len(rows):
            data.refuse(int(np.argmax(index == number)), f"{column} is empty; a positive number is expected")
        wrong = ~((group > 0.0) & (group < np.inf))
        if wrong.any():
            problem = f"{column} of {role} {label} is {group[wrong][0]:g}; a positive number is expected"
            data.refuse(int(rows[np.argmax(wrong)]), problem)
        if group.max() - group.min() > _SPREAD * group.min():
            raise DataError(
                f"{data.source}: {column} of {role} {label} is between {group.min():g} and {group.max():g}; a quantity "
                f"of the {role} must be the same in all its rows: name the {role} by more columns, or give a table"
            )
        means[label] = float(group.mean())
    return column, means


def _evaluated(data: Measurements, text: str, option: str) -> Floats:
    """Return a column, or a formula over columns (n,); NaN if it is empty."""
    table = data.table
    try:
        formula = None if text in table.columns else Formula(text)
    except FormulaError as error:
        raise OptionError(f"{option} {text!r}: neither a column, nor a file, nor a formula: {error}") from None
    arrays = {}
    for name in [text] if formula is None else formula.names:
        if name not in table.columns:
            what = f"column of {data.source} (and there is no such file)"
            raise UnknownNameError(what, name, map(str, table.columns))
        column = table[name]
        numbers = pd.to_numeric(column, errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)
        texts = np.isnan(numbers) & column.notna().to_numpy()
        if texts.any():
            row = int(np.argmax(texts))
            data.refuse(row, no_number(name, str(column.iloc[row]).strip()))
        arrays[name] = numbers
    return arrays[text] if formula is None else np.broadcast_to(formula.evaluate(arrays), len(table))


@dataclass(frozen=True)
class Prepared:
    """Observations in the scale of the fit."""

    seen: Observations
    preparation: Preparation  # from the user's unit to the scale of the fit
    factor: Floats  # what each value is multiplied by in it
    by_point: Floats  # the part of the factor that depends on parameters
    target: Floats  # values in the scale of the fit
    root_weight: Floats  # square roots of the weights
    weights: str  # which weights they are, a name in `perf_timing.options.WEIGHTS`

    def select(self, kept: Booleans) -> Prepared:
        """Return the observations kept (n,) bool."""
        names = ("factor", "by_point", "target", "root_weight")
        return replace(self, seen=self.seen.select(kept), **{name: getattr(self, name)[kept] for name in names})


def prepare(data: Any, options: ScalingOptions, fitter: str, *, adds_times: bool = False) -> Prepared:
    """Select, check, join and scale; see `ScalingOptions`."""
    data = as_measurements(data, fitter)
    runs = data.with_roles(
        parameters=options.parameter, value=options.value, code=options.code, system=options.system, unit=options.unit
    )
    if options.where:
        runs = runs.where(options.where)
    observed = runs.observations(options.aggregate, options.duplicates)
    refuse_unnamed_of_codes(runs)
    unit = f" ({observed.unit})" if observed.unit else ""
    if adds_times and options.prepare == ("auto",) and is_speed(observed.unit, observed.value_name):
        raise OptionError(
            f"{observed.source}: {observed.value_name} is a rate{unit}, and {fitter} adds up times of "
            "parts; name a column of times with --value, or take --fitter individual; --prepare none fits it as if "
            "rates added up"
        )
    preparation = _preparation(runs, observed, options)
    codes, systems = [observed.codes[k] for k in observed.code], [observed.systems[k] for k in observed.system]
    factor = preparation.factor(observed.points, codes, systems)
    by_point = preparation.of_parameters.factor(observed.points, codes, systems)
    target = observed.value * factor
    # Of others no number can hold the squares, or their reciprocals.
    extreme = (target != 0.0) & ~((np.abs(target) >= 1.0 / _LARGEST) & (np.abs(target) <= _LARGEST))
    if extreme.any():
        raise DataError(
            f"{observed.source}: {observed.value_name} is {observed.value[extreme][0]:g} at "
            f"{observed.describe(int(np.argmax(extreme)))}; values from {1.0 / _LARGEST:g} to {_LARGEST:g} can be "
            "fitted: choose another unit"
        )
    weights = options.weights
    if weights == "auto":
        weights = "relative" if span(target) > WIDE else "equal"
    return Prepared(
        seen=observed,
        preparation=preparation,
        factor=factor,
        by_point=by_point,
        target=target,
        root_weight=_root_weights(observed, target, weights),
        weights=weights,
    )


def span(values: Floats) -> float:
    """By what factor values (n,) differ, the largest and the smallest twentieth aside, where outliers are."""
    low, high = np.quantile(values, [0.05, 0.95])
    return float(high / low)


def _preparation(runs: Measurements, observed: Observations, options: ScalingOptions) -> Preparation:
    """Return the steps that the options ask for, in the order of equation 4; for a rate only those that are named."""
    requested = options.prepare
    every = requested == ("auto",)
    steps: list[Step] = []
    unit = f" ({observed.unit})" if observed.unit else ""
    if every and is_speed(observed.unit, observed.value_name):
        if options.operations is not None or options.peak is not None:
            raise OptionError(
                f"{observed.source}: --operations and --peak scale times, and {observed.value_name} is a rate"
                f"{unit}; name a column of times with --value, or say with --prepare which steps to "
                "take all the same"
            )
        return Preparation()
    if every or "parameter" in requested:
        symbol = _processors(observed, options) if every else next(iter(observed.points))
        if symbol is not None:
            steps.append(Step("parameter", symbol))
    roles: tuple[Literal["code", "system"], ...] = ("code", "system")
    for name, option, role in zip(("operations", "peak"), (options.operations, options.peak), roles, strict=True):
        if option is not None and (every or name in requested):
            label, quantities = quantities_of(option, runs, role, f"--{name}")
            used = {key: quantities[key] for key in getattr(observed, f"{role}s") if key in quantities}
            steps.append(Step(role, label.removeprefix("--"), used or quantities))
    return Preparation(tuple(steps))


def _processors(observed: Observations, options: ScalingOptions) -> str | None:
    """Return the first parameter, where its column or the user says that it is a number of processors."""
    symbol, column = next(iter(observed.columns.items()))
    unit = unit_in_name(column)
    if (unit is not None and unit.kind != "count") or is_size(column):
        return None
    words = (word.partition("=") for word in options.parameter or ())
    is_named = any(equals and name.strip() == "p" == symbol for name, equals, _ in words)
    return symbol if is_named or is_processors(column) else None


def _root_weights(observed: Observations, target: Floats, weights: str) -> Floats:
    """Return the square roots of the weights (n,), their squares with mean 1 except for relative ones."""
    if weights == "equal":
        return np.ones(len(observed))
    if weights == "relative":
        return np.asarray(1.0 / target)
    runs = observed.repetitions.astype(np.float64)
    if (observed.repetitions < 2).all():
        raise OptionError(
            f"--weights {weights} needs repeated runs, and no point of {observed.source} was measured twice"
        )
    if weights == "repetitions":
        return np.asarray(np.sqrt(runs / runs.mean()))
    # The spread of run times grows with the run time, so what points share is the relative spread.
    freedom = runs - 1.0
    relative = np.where(freedom > 0, observed.spread / observed.value, 0.0) ** 2
    shared = float((freedom * relative).sum() / freedom.sum())
    if shared == 0.0:
        raise OptionError("--weights spread: all repeated runs took exactly the same time; use --weights repetitions")
    moderated = (_SHARED_RUNS * shared + freedom * relative) / (_SHARED_RUNS + freedom)
    weight = runs / (moderated * target**2)
    return np.asarray(np.sqrt(weight / weight.mean()))


@dataclass(frozen=True)
class Characteristic:
    """One function u of the parameters, normalised."""

    name: str  # as the user spells it, over parameters as texts call them
    function: Function
    scale: float  # value at 1, by which it is divided; 1 where that is 0 or not finite

    def __call__(self, points: Mapping[str, Floats]) -> Floats:
        """Return values at points (n,); not finite where the function is not defined."""
        return self.function(points) / self.scale


def characteristics(names: Sequence[str], columns: Mapping[str, str]) -> tuple[Characteristic, ...]:
    """Return functions by name or formula, normalised to u(1) = 1 or 0 (Strohmaier, section 2)."""
    own_names = shown_names(columns)
    ones = {symbol: np.ones(1) for symbol in columns}
    functions = []
    for name in names:
        function = find_function(name, tuple(columns), own_names)
        value = float(function(ones)[0])
        scale = value if np.isfinite(value) and value != 0.0 else 1.0
        functions.append(Characteristic(renamed(name, own_names), function, scale))
    return tuple(functions)


def refuse_unused(functions: Sequence[Characteristic], data: Observations) -> None:
    """Refuse data over a parameter that no function has: what differs by it would pass for error."""
    for symbol, column in data.points.items():
        if len(levels := np.unique(column)) < 2:
            continue
        constant = {other: np.full(len(levels), values[0]) for other, values in data.points.items()}
        varied = {**constant, symbol: levels}
        with np.errstate(all="ignore"):
            is_used = any(not np.array_equal(each(varied), each(constant), equal_nan=True) for each in functions)
        if not is_used:
            name = data.columns[symbol]
            raise OptionError(
                f"{data.source}: {name} was varied, {levels[0]:g} to {levels[-1]:g}, and no function has it; add "
                f"functions of it, such as --function {name}, or take one level, such as --where {name}={levels[-1]:g}"
            )


def by_growth(functions: Sequence[Characteristic], variables: Sequence[str]) -> tuple[Characteristic, ...]:
    """From the one that falls fastest to the one that grows fastest, the order of equation 3."""
    far = {name: np.full(1, _FAR) for name in variables}
    return tuple(sorted(functions, key=lambda function: float(np.nan_to_num(function(far)[0], nan=np.inf))))


def design(functions: Sequence[Characteristic], points: Mapping[str, Floats]) -> Floats:
    """Return values of the functions at the points, (n, number of functions)."""
    length = len(next(iter(points.values())))
    return np.column_stack([function(points) for function in functions]) if functions else np.empty((length, 0))


def measured_design(functions: Sequence[Characteristic], data: Observations) -> Floats:
    """Return values of the functions at the measured points."""
    values = design(functions, data.points)
    wrong = ~np.isfinite(values)
    if wrong.any():
        k, which = (int(number) for number in np.argwhere(wrong)[0])
        raise OptionError(
            f"function {functions[which].name!r} is {values[k, which]} at {data.describe(k)}; leave it out, or leave "
            "such points out with --where"
        )
    return values
