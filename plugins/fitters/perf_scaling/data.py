"""From measurements to means of paths at points: which paths can be fitted, and how far repeated runs lie apart."""

from __future__ import annotations

import itertools
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from perf_scaling.call_tree import callers_of
from perf_scaling.options import ScalingOptions
from perf_tables import confounders, meanings
from perfcore.base import grouped, pd
from perfcore.base.arrays import Booleans, Floats, Ints
from perfcore.base.errors import DataError, OptionError, UnknownNameError, listing
from perfcore.data.columns import (
    is_called_rate,
    is_called_time,
    is_named,
    is_of_spread,
    is_processors,
    is_run_identifier,
    is_speed,
    named_columns,
    shown_names,
    words,
    words_of,
)
from perfcore.data.measurements import Measurements
from perfcore.data.observations import distinct, labels_of, numbers_of, points_of, values_of, without_duplicates
from perfcore.data.units import is_rate, split_unit, unit_of
from perfcore.models.points import Observed, measurements_for

if TYPE_CHECKING:
    from perf_scaling.model import ScalingModel

LEAST_POINTS = 3  # of one parameter: a slope between two, and one that says how well it holds; of several one more
PATH = "path"  # the variable of a model that names one
SPREAD_NAMES = {"deviation": "sd", "error": "sem", "confidence": "ci95"}
UNLIKE = "the runs did not do the same work"
OF_VALUE = "value of"  # the column that says which of the measured ones a row is from
_WHOLES = {*words("words", "whole")}
_PARTS = {*words("words", "part"), *_WHOLES}
_SUITE, _RESULTS = frozenset(words("words", "suite")), frozenset(words("words", "result"))
_OF_PARTS = (*words("roles", "category"), *words("words", "region"))  # words for a column of parts of a run
_METRIC = "metric"  # the column that Extra-P's experiments name a metric in
_LARGEST = 1e100  # squares of larger values overflow
_RANK = 1e-6  # of the logarithms of the points; below, they lie on a line but for rounding
# A run further from the median of its point than this many robust standard deviations counts less; of few runs these
# are known so badly that the limit is wider. Of paths with normal noise then less than 1 % have such a run.
_OUTLYING, _FEW = 5.0, 3.0
_LONG = 10_000  # runs that are sorted alone
_NAMED_PATHS = 6  # of those that are not fitted for one reason
_NORMAL = 1.4826  # a standard deviation in medians of the distance


@dataclass(frozen=True)
class ScalingData:
    """Runs of K paths at n points, and the paths that no law can be fitted to."""

    paths: tuple[str, ...]  # those that can be fitted (K)
    metrics: tuple[str, ...]
    points: Mapping[str, Floats]  # parameters by symbol; every point once
    columns: Mapping[str, str]  # symbol to the column's name in the data
    runs: Runs  # of the K paths
    unfitted: Mapping[str, str]  # the other paths and why they are not fitted
    value_name: str
    unit: str | None
    source: str
    fingerprint: str
    notes: tuple[str, ...]
    scaling: str  # how the problem grows with the first parameter, where it counts processors
    reciprocal: bool  # the values are work per time, such as tokens/s or speedups, so that laws are of one over them
    held: Mapping[str, float]  # levels of layouts, such as threads of each rank, and of each node's share


_ONE_LEVEL = "without a speedup"  # of layouts, unless nodes were varied, too


def scaling_data(data: Any, options: ScalingOptions) -> ScalingData:
    """Return measurements by path and point, of which at least one path can be fitted."""
    data = meanings.as_measurements(data, "scaling")
    measurements = gathered(data, options)
    if not measurements.paths:
        name, reason = next(iter(measurements.unfitted.items()))
        which = f"none of {len(measurements.unfitted)} paths can be fitted: " if len(measurements.unfitted) > 1 else ""
        cure = "; give the files of several runs together" if reason.startswith("1 distinct point") else ""
        if cure and (free := _varied_numbers(data)):
            cure = f"; name what was varied: --parameter {shlex.quote(free[0])}"
            cure += f" (or {listing(free[1:], 3)})" if free[1:] else ""
        raise DataError(f"{data.source}: {which}{name}: {reason}{cure}")
    if options.show is not None:
        if options.show in measurements.unfitted:
            raise DataError(f"--show {options.show}: it was not fitted: {measurements.unfitted[options.show]}")
        if options.show not in measurements.paths:
            raise UnknownNameError("path", options.show, [*measurements.paths, *measurements.unfitted])
    return measurements


def _varied_numbers(data: Measurements) -> list[str]:
    """Return the columns of numbers that differ between rows and may have been varied."""
    roles, named = data.roles, meanings.meanings_of(data)
    used = {roles.value, *roles.parameters.values(), *roles.code, *roles.system, *roles.category}
    free = [column for column, meaning in named.items() if meaning in ("number", "size") and column not in used]
    return [column for column in free if data.table[column].nunique() > 1]


def gathered(data: Measurements, options: ScalingOptions) -> ScalingData:
    """Return measurements by path and point, even if no path can be fitted; errors are those of `scaling_data`."""
    parameter = options.parameter or _parameters_of(data, options.at)
    data = with_values(data.with_roles(parameter), options.value, options.path).with_roles(unit=options.unit)
    notes = list[str]()
    if options.where:
        data = _without_held(data.where(options.where), notes)
    if data.roles.value is not None and not data.roles.parameters:
        problem = f"{data.source}: no number was varied that a model could be fitted to (--parameter COLUMN names one)"
        kind = "profile shows times" if data.roles.category else "gate compares versions and runs of benchmarks"
        raise OptionError(f"{problem}; perf {kind}, see perf info {data.source}")
    data.require_roles()
    data = _as_scaling(data, options.scaling)
    roles = data.roles
    notes += _copies_of_parameters(data) if options.parameter is None else []
    assert roles.value is not None
    if options.value is None:
        free = [c for c in map(str, data.table.columns) if c not in (roles.value, *roles.parameters.values())]
        others = [c for c in free if is_called_time(c) and not is_of_spread(c)]
        rates = [c for c in free if is_called_rate(c) and is_called_rate(roles.value)]
        others += [c for c in rates if unit_of(c) == unit_of(roles.value) and not is_of_spread(c)]
        notes += [f"{roles.value} is measured, not {listing(others, 3)} (set with --value)"] if others else []
    if options.parameter is None and options.path is None:
        data = confounders.split_by_switches(data, notes)
    several = confounders.several_parameters(data) if options.parameter is None else ()
    if several and len(several) <= confounders.MOST_PARAMETERS:
        one = options.value if len(options.value or ()) < 2 else (roles.value,)  # several are rows by now
        wider = gathered(data.with_roles(value=roles.value), replace(options, parameter=several, value=one, where=()))
        if wider.paths:
            named = f"parameters {', '.join(several)} (set with --parameter)"
            notes = [note for note in notes if not note.endswith(_ONE_LEVEL)]
            return replace(wider, notes=tuple(dict.fromkeys((*notes, *wider.notes, named))))
    for steps in meanings.steps_of(data):
        levels = data.table[steps]
        hold = f"--where {steps}={levels.mode().iloc[0]:g} holds them"
        notes.append(f"{UNLIKE}: {levels.min():g} to {levels.max():g} {steps} ({hold})")
    value = values_of(data, notes, zeros=True, signed=True)
    kept = ~np.isnan(value)
    points = {symbol: numbers_of(data, column, kept) for symbol, column in roles.parameters.items()}
    if len(points) > confounders.MOST_PARAMETERS:
        raise OptionError(
            f"{data.source}: {len(points)} parameters ({listing(points, 8)}); models have up to "
            f"{confounders.MOST_PARAMETERS}: name these with --parameter, and hold the others with --where"
        )
    kept &= without_duplicates(data, kept, options.duplicates, notes)
    chosen = slice(None) if kept.all() else kept  # without a copy of each column
    at_rows = {symbol: column[chosen] for symbol, column in points.items()}
    first, point = points_of(data, kept)
    distinct = np.stack([column[first] for column in at_rows.values()], axis=1)
    _refuse_both_kinds(data, kept)
    names, path = meanings.paths_of(data, kept)
    confounders.refuse_unnamed_factors(data, kept, point, path, at_rows)
    measured = value[chosen]
    if options.path is None:
        data = confounders.split_by_texts(data, kept, point, measured, at_rows, notes)
        names, path = meanings.paths_of(data, kept)
    else:
        confounders.refuse_unnamed_text(
            data, confounders.unnamed_text(data, kept, point, path, measured, at_rows), "path"
        )
    metrics = _metrics(data, kept, path)
    shape = (len(names), len(distinct))
    spread = meanings.spread_of_rows(data, kept, path * len(distinct) + point)
    reciprocal = is_speed(roles.unit, *([roles.value] if len(options.value or ()) < 2 else options.value or ()))
    zero_means = "nothing was done, which no model of a rate covers" if reciprocal else "below what the clock sees"
    resolved = _without_zeros(
        names, path, point, measured, shape, _least_points(len(points), len(distinct)), zero_means, notes
    )
    if not resolved.all():
        path, point, measured = path[resolved], point[resolved], measured[resolved]
    if spread is None:
        runs = runs_of(path, point, measured, shape)
    else:
        runs = _runs_of_means(path * len(distinct) + point, measured, spread, resolved, shape)
        notes.append(spread.text)
    reasons = _reasons(runs, path, measured, distinct, roles.parameters)
    fit = np.array([not reason for reason in reasons])
    unfitted = {name: reason for name, reason in zip(names, reasons, strict=True) if reason}
    if far := int(runs.outliers[fit].sum()):
        notes.append(f"{far:,} of {int(kept.sum()):,} runs are outliers at their point and count less")
    has_runs = (runs.counts[fit] > 0.0).any(axis=0)
    return ScalingData(
        paths=tuple(itertools.compress(names, fit)),
        metrics=tuple(itertools.compress(metrics, fit)),
        points={symbol: distinct[has_runs, number] for number, symbol in enumerate(points)},
        columns=dict(roles.parameters),
        runs=Runs(
            runs.means[fit][:, has_runs],
            runs.counts[fit][:, has_runs],
            runs.variances[fit][:, has_runs],
            runs.outliers[fit],
        ),
        unfitted=unfitted,
        value_name=roles.value,
        unit=roles.unit,
        source=data.source,
        fingerprint=_fingerprint(names, distinct, runs),
        notes=tuple(notes),
        scaling=meanings.scaling_of(data) if options.scaling == "auto" else options.scaling,
        reciprocal=reciprocal,
        held=_held(data, tuple(points), distinct, runs.means, reciprocal),
    )


def _held(
    data: Measurements, symbols: Sequence[str], points: Floats, means: Floats, reciprocal: bool
) -> dict[str, float]:
    """Return levels of layouts and of each node's share in the best run at the largest levels of all but layouts."""
    columns = [*data.roles.parameters.values()]
    layouts = [k > 0 and meanings.is_layout(data, column) for k, column in enumerate(columns)]
    held = [k for k, column in enumerate(columns) if layouts[k] or (k > 0 and meanings.is_size_of_one(column))]
    others = points[np.isfinite(means).any(axis=0)][:, np.logical_not(layouts)]
    if not held or not len(others):
        return {}
    largest = (points[:, np.logical_not(layouts)] == others[np.lexsort(others.T[::-1])[-1]]).all(axis=1)
    candidates = np.flatnonzero(largest & np.isfinite(means).any(axis=0))
    means = np.nanmean(means[:, candidates], axis=0)
    best = points[candidates[means.argmax() if reciprocal else means.argmin()]]
    return {symbols[k]: float(best[k]) for k in held}


def _parameters_of(data: Measurements, at: Sequence[str]) -> tuple[str, ...] | None:
    """Columns that the target names; or the only size that varies beside processors that do not. None for the usual."""
    columns, known = list(data.table.columns), data.roles.parameters
    named = [name for name, _, level in (word.partition("=") for word in at) if level and name in columns]
    if named and not {*named} <= {*known.values()}:
        rest = [column for column in known.values() if data.table[column].nunique() > 1]
        return tuple(sorted(dict.fromkeys([*rest, *named]), key=lambda column: meanings.is_layout(data, column)))
    if not known or any(data.table[column].nunique() > 1 for column in known.values()):
        return None
    used = {*known.values(), data.roles.value, *data.roles.code, *data.roles.system, *data.roles.category}
    varied = [
        column
        for column in columns
        if column not in used and data.table[column].dtype.kind in "iuf" and data.table[column].nunique() > 1
        and not is_run_identifier(column) and unit_of(column) in (None, "count") and (data.table[column] > 0).all()
        and all(level % 1.0 == 0.0 or float(f"{level:.4g}") == level for level in data.table[column].unique())  # chosen
    ]  # fmt: skip
    return tuple(varied) if len(varied) == 1 else None


def _as_scaling(data: Measurements, scaling: str) -> Measurements:
    """Return rates per processor if scaling is said to be weak, and of all processors if it is said to be strong."""
    roles = data.roles
    unit, number = roles.unit or "", next(iter(roles.parameters.values()))
    is_of_one = is_named("rate_of_one", unit)
    if scaling == "auto" or not is_rate(unit) or not is_processors(number) or is_of_one == (scaling == "weak"):
        return data
    values_of(data, [], zeros=True)  # refuses what is no rate as the file has it
    one = next(word for word in (number.rstrip("s"), "processor") if is_named("rate_of_one", f"{unit}/{word}"))
    unit = unit.rpartition("/")[0] if is_of_one else f"{unit}/{one}"
    name = unit if roles.value == roles.unit else f"{split_unit(roles.value)[0]} [{unit}]"
    columns, spread = {str(roles.value): name}, meanings.spread_columns(data)
    if spread is not None:
        columns[spread.spread] = SPREAD_NAMES[spread.kind]
    factor = data.numbers(number) ** (1.0 if is_of_one else -1.0)
    scaled = data.table.drop(columns=list(columns))
    for column, new in columns.items():
        numbers = data.numbers(column)
        cells = data.table[column] if not np.isnan(numbers).any() else data.table[column].astype(object)
        scaled[new] = cells.where(np.isnan(numbers), factor * numbers)  # other cells stay, to be named as they are
    return confounders.with_table(data, scaled, name)


def _copies_of_parameters(data: Measurements) -> list[str]:
    """Return notes on counts of processors that say the same as a parameter, as nodes beside ranks."""
    table, notes = data.table, list[str]()
    parameter = next(iter(data.roles.parameters.values()))
    if other := meanings.layout_of(data, parameter):
        return [f"{parameter} x {other} is the same in all rows: layouts of the same processors, {_ONE_LEVEL}"]
    for column in data.roles.parameters.values():
        if not is_processors(column):
            continue
        same = [
            other
            for other in table.columns
            if other not in (*data.roles.parameters.values(), data.roles.value)
            and table[other].dtype.kind in "iuf" and is_processors(other) and table[other].nunique() > 1
            and len(table[[column, other]].drop_duplicates()) == table[column].nunique() == table[other].nunique()
        ]  # fmt: skip
        if same:
            notes.append(f"{column} is the parameter, from which {listing(same, 3)} follows (--parameter {same[0]})")
    return notes


def _refuse_both_kinds(data: Measurements, kept: Booleans) -> None:
    """Ask which runs are meant where a column says of each whether the problem grew with the processors."""
    roles = data.roles
    for name in data.table.columns:
        kinds = meanings.scaling_kinds(data.table[name][kept])
        if name in (*roles.code, *roles.system, *roles.category) or "" in kinds.values():
            continue
        if len({*kinds.values()}) > 1:
            choices = " or ".join(f"--where '{name}={text}'" for text in list(kinds)[:2])
            raise OptionError(f"{data.source}: {name} holds runs of both weak and strong scaling: choose {choices}")


def _without_held(data: Measurements, notes: list[str]) -> Measurements:
    """Drop parameters that the chosen rows have one level of, unless they have one level of each."""
    parameters = data.roles.parameters
    fixed = [symbol for symbol, column in parameters.items() if data.table[column].nunique() < 2]
    if not fixed or len(fixed) == len(parameters):
        return data
    names = shown_names(parameters)
    held = [symbol for symbol in fixed if data.table[parameters[symbol]].notna().any()]
    levels = ", ".join(f"{names[symbol]} = {data.table[parameters[symbol]].iloc[0]:g}" for symbol in held)
    notes += [f"held: {levels}"] if held else []
    left = {symbol: column for symbol, column in parameters.items() if symbol not in fixed}
    roles = data.roles
    kinds: dict[str, Any] = {"code": roles.code, "system": roles.system, "category": roles.category}
    return data.with_roles(left, roles.value, unit=roles.unit, **kinds)


def _without_zeros(
    names: Sequence[str],
    path: Ints,
    point: Ints,
    value: Floats,
    shape: tuple[int, int],
    least: int,
    zero_means: str,
    notes: list[str],
) -> Booleans:
    """Return which rows hold no 0 that is left out: of paths above 0 at enough other points."""
    zero = value == 0.0
    if not zero.any():
        return np.ones(len(value), dtype=np.bool_)
    cell = path * shape[1] + point
    zeros, runs = (np.bincount(cell, weights, minlength=shape[0] * shape[1]) for weights in (zero, np.ones(len(value))))
    unseen = 2.0 * zeros >= runs
    n_usable = ((runs > 0.0) & ~unseen).reshape(shape).sum(axis=1)
    skipped = (zero | unseen[cell]) & (n_usable >= least)[path]
    if skipped.any():
        count = int((zero & skipped).sum())
        of = listing([names[k] for k in np.unique(path[skipped]).tolist()], 4)
        notes.append(f"{count} zero{'s' if count > 1 else ''} left out: {zero_means} ({of})")
    return np.asarray(~skipped)


def _runs_of_means(cell: Ints, value: Floats, spread: meanings.Spread, kept: Booleans, shape: tuple[int, int]) -> Runs:
    kept_spread = spread._replace(variances=spread.variances[kept], counts=spread.counts[kept])
    means, counts, variances = (
        part.reshape(shape) for part in meanings.pooled_runs(cell, value, kept_spread, shape[0] * shape[1])
    )
    return Runs(means, counts, variances, np.zeros(shape[0], dtype=np.int64))


def _metrics(data: Measurements, kept: Booleans, path: Ints) -> tuple[str, ...]:
    """Return what was measured of each path, or of which program on which system: paths of two do not add up."""
    is_named = _METRIC in (*data.roles.code, *data.roles.system, *data.roles.category)
    apart = (*(column for column in data.roles.code if not _is_part(data, column)), *data.roles.system)
    if not is_named and not apart:
        return ()
    _, first = np.unique(path, return_index=True)
    if is_named:
        return tuple(map(str, data.table[_METRIC][kept].iloc[first]))
    names, system = labels_of(data.with_roles(code=(), system=apart), "system", kept)
    return tuple(names[number] for number in system[first].tolist()) if len(names) > 1 else ()


def _is_part(data: Measurements, column: str) -> bool:
    """Return whether a column names parts of a run: by its name, or names of parts, of calls or of the whole.

    Kernels of a suite or with rates or checksums of their own, and several wholes, such as totals, are programs.
    """
    names = data.table[column].dropna().astype(str).unique().tolist()
    of_programs = any(is_called_rate(c) or not _RESULTS.isdisjoint(words_of(c)) for c in map(str, data.table.columns))
    is_suite = of_programs or not any(_SUITE.isdisjoint(words_of(name)) for name in names)
    if ("kernel" in words_of(column) and is_suite) or not any(_WHOLES.isdisjoint(words_of(name)) for name in names):
        return False
    if any(word.removesuffix("s") in _OF_PARTS for word in words_of(column)):
        return True
    if not any(_PARTS.isdisjoint(words_of(name)) for name in names) or (callers_of(names) >= 0).any():
        return True
    return meanings.whole_of_parts(names, np.empty((0, len(names)))) is not None


def _reasons(runs: Runs, path: Ints, value: Floats, points: Floats, parameters: Mapping[str, str]) -> list[str]:
    """Return why a path cannot be fitted; empty if it can."""
    reasons = [""] * len(runs.means)
    patterns, pattern = np.unique(runs.counts > 0.0, axis=0, return_inverse=True)
    texts = [_pattern_reason(points[measured], parameters, len(points)) for measured in patterns]
    for number in np.flatnonzero([bool(text) for text in texts]).tolist():
        for k in np.flatnonzero(pattern.ravel() == number).tolist():
            reasons[k] = texts[number]
    extreme = (value > 0.0) & ((value < 1.0 / _LARGEST) | (value > _LARGEST))
    for k in np.unique(path[extreme]).tolist():
        example = value[extreme & (path == k)][0]
        reasons[k] = (
            f"holds {example:g}; values from {1.0 / _LARGEST:g} to {_LARGEST:g} can be fitted: choose another unit"
        )
    wrong = np.flatnonzero(value <= 0.0)
    for k in np.unique(path[wrong]).tolist():
        least = value[wrong[path[wrong] == k]].min()
        if (value[path == k] == 0.0).all():
            reasons[k] = "is 0 at every point"
        elif least == 0.0:
            least_points = _least_points(len(parameters), len(points))
            reasons[k] = f"holds 0, and is above 0 at fewer than the {least_points} points that are needed"
        else:
            reasons[k] = (
                f"holds {least:g}; noise is relative to the value, which must be positive (--where leaves rows out)"
            )
    return reasons


def _least_points(n_parameters: int, n_points: int) -> int:
    """Return the points that a path needs; two if the whole table has no more, for the line between them."""
    return 2 if n_parameters == 1 and n_points == 2 else LEAST_POINTS + (n_parameters > 1)


def _pattern_reason(points: Floats, parameters: Mapping[str, str], n_points: int) -> str:
    """Return why these points do not do; empty if they do."""
    symbols = list(shown_names(parameters).values())
    if len(points) < (least := _least_points(len(symbols), n_points)):
        return f"{len(points)} distinct point{'s' if len(points) != 1 else ''}; {least} are required"
    levels = [len(np.unique(column)) for column in points.T]
    for symbol, count in zip(symbols, levels, strict=True):
        if count < 2:
            return f"only one value of {symbol}; add values or fix it with --where"
    logs = np.log(points)
    centred = (logs - logs.mean(axis=0)) / np.maximum(logs.std(axis=0), 1e-300)
    if np.linalg.matrix_rank(centred, tol=_RANK * len(points)) < len(symbols):
        for one, other in itertools.combinations(range(len(symbols)), 2):
            left_out = one
            if np.ptp(logs[:, one] + logs[:, other]) < _RANK:
                relation = f"{symbols[one]} x {symbols[other]} = {points[0, one] * points[0, other]:g}"
            elif np.ptp(logs[:, other] - logs[:, one]) < _RANK:
                left_out, factor = other, points[0, other] / points[0, one]
                relation = f"{symbols[other]} = {'' if factor == 1.0 else f'{factor:g} x '}{symbols[one]}"
            else:
                continue
            left = ",".join(column for k, column in enumerate(parameters.values()) if k != left_out)
            return f"{relation} at every point, so one follows from the other: --parameter '{left}'"
        names = " and ".join(symbols)
        return f"{names} are collinear; vary one while holding the other fixed"
    return ""


def _fingerprint(names: Sequence[str], points: Floats, runs: Runs) -> str:
    """Return a digest of paths, points and values, whatever the order of the rows."""
    import hashlib

    order = np.argsort(names)
    digest = hashlib.sha256("\0".join(sorted(names)).encode())
    for array in (points, runs.means[order], runs.counts[order], runs.variances[order]):
        digest.update(np.ascontiguousarray(np.nan_to_num(array)).tobytes())
    return f"sha256:{digest.hexdigest()}"


def describe_paths(unfitted: Mapping[str, str]) -> list[str]:
    """Give reasons, each with the paths that it holds for."""
    by_reason = grouped((reason, name) for name, reason in unfitted.items())
    return [f"{listing(names, _NAMED_PATHS)}: {reason}" for reason, names in by_reason.items()]


def observed_by_path(model: ScalingModel, data: Any, where: str | None = None) -> Observed:
    """Return the mean of the runs of each of a model's paths at each point."""
    options = model.origin.options
    if isinstance(data, pd.DataFrame):
        data = Measurements(data, source="table")
    if isinstance(data, Measurements):
        data = with_values(data, options.get("value"), options.get("path"))
    roles = {"unit": options.get("unit")}
    runs = measurements_for(model, data, options.get("where") if where is None else where, roles)
    runs.require_roles()
    runs = _as_scaling(runs, options.get("scaling", "auto"))
    assert runs.roles.value is not None
    value = values_of(runs, [])
    kept = value > 0.0  # no error can be relative to 0
    names, path = meanings.paths_of(runs, kept)
    if model.paths and not {*names} & {*model.paths}:
        runs = confounders.split_by_switches(runs, [])
        names, path = meanings.paths_of(runs, kept)
    for column in runs.table.columns if model.paths and not {*names} & {*model.paths} else ():
        # The text that distinguishes series may have no role; see `gathered`.
        if runs.table[column].dtype.kind not in "iufM" and column not in (*runs.roles.code, *runs.roles.system):
            apart, path_apart = meanings.paths_of(runs.with_roles(system=(*runs.roles.system, column)), kept)
            names, path = (apart, path_apart) if {*apart} & {*model.paths} else (names, path)
    if len(model.paths) == 1 and not (runs.roles.code or runs.roles.system or runs.roles.category):
        names = model.paths  # without a column that names it, a path is called as the value is
    columns = {symbol: numbers_of(runs, column, kept) for symbol, column in runs.roles.parameters.items()}
    first, cell = distinct([path, points_of(runs, kept)[1]])
    means = np.bincount(cell, value[kept]) / np.bincount(cell)
    in_order = np.argsort(first)
    in_order = in_order[np.isin(np.array(names)[path[first[in_order]]], model.paths)]
    if not len(in_order):
        raise DataError(f"{runs.source}: has none of the model's paths ({listing(model.paths, 5)})")
    row = first[in_order]
    levels = {symbol: column[np.flatnonzero(kept)[row]] for symbol, column in columns.items()}
    joined = pd.DataFrame({PATH: np.array(names)[path[row]], **levels, "value": means[in_order]})
    called = [model.parameter_names[symbol] for symbol in columns]
    labels = (
        ", ".join([str(name), *(f"{word}={level:.6g}" for word, level in zip(called, levels, strict=True))])
        for name, *levels in joined[[PATH, *columns]].itertuples(index=False)
    )
    return Observed(
        points={name: joined[name].to_numpy() for name in model.variables},
        labels=tuple(labels),
        value=joined["value"].to_numpy(dtype=np.float64),
        unit=runs.roles.unit,
        source=runs.source,
        parts=(),
        of_part=np.empty((len(joined), 0)),
    )


@dataclass(frozen=True)
class Runs:
    """Repeated runs, joined."""

    means: Floats  # mean of the runs of path k at point i; NaN where there are none
    counts: Floats  # how many runs, of which outliers count less than one
    variances: Floats  # variance of the runs relative to their squared mean; 0 for one run
    outliers: Ints  # runs that count less


def runs_of(path: Ints, point: Ints, value: Floats, shape: tuple[int, int]) -> Runs:
    """Join the runs of each path at each point."""
    n_paths, n = shape
    cell = path * n + point if n_paths > 1 else point
    size = np.bincount(cell, minlength=n_paths * n)
    is_one = not (size > 2).any()
    weight = np.ones(len(value)) if is_one else _without_outliers(cell, path, value, size, n_paths)
    counts = np.bincount(cell, weight, minlength=n_paths * n).astype(np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        means = np.bincount(cell, weight * value, minlength=n_paths * n) / counts
        relative = means[cell]  # in place: of 10^7 runs each array is 80 MB
        np.divide(value, relative, out=relative)
        relative -= 1.0
        freedom = np.maximum(counts - 1.0, 0.0)
        relative[~np.isfinite(relative)] = 0.0
        # As far as the limit and no further, as in the mean: one run that is 20 times as long is not the usual noise.
        relative *= weight
        relative *= relative
        squares = np.bincount(cell, relative, minlength=n_paths * n)
        variances = np.divide(squares, freedom, out=np.zeros(len(size)), where=freedom > 0.0)
    return Runs(
        means=means.reshape(shape),
        counts=counts.reshape(shape),
        variances=variances.reshape(shape),
        outliers=np.bincount(path[weight < 1.0], minlength=n_paths),
    )


def _without_outliers(cell: Ints, path: Ints, value: Floats, size: Ints, n_paths: int) -> Floats:
    """Weight of each run: 1, or less where it is far from the median of its point."""
    order = _in_order(cell, value, size)
    first = np.cumsum(size) - size
    low = np.minimum(first + (size - 1) // 2, len(value) - 1)
    high = np.minimum(first + size // 2, len(value) - 1)
    median = 0.5 * (value[order[low]] + value[order[high]])
    distance = median[cell]
    with np.errstate(invalid="ignore", divide="ignore"):
        np.divide(value, distance, out=distance)
    distance -= 1.0
    np.abs(distance, out=distance)
    distance[~np.isfinite(distance)] = 0.0
    several = (size > 2)[cell]
    # One run of each point is as near to the median as can be, whatever the noise: the others tell how far is usual.
    telling = several.copy()
    telling[order[low[size > 2]]] = False
    del order
    telling_paths = path[telling]
    typical = _medians(telling_paths, distance[telling], n_paths)
    limit = _OUTLYING * _NORMAL * typical * (1.0 + _FEW / np.maximum(np.bincount(telling_paths, minlength=n_paths), 1))
    del telling_paths
    far = np.flatnonzero(several & (distance > limit[path]) & (limit > 0.0)[path])
    n_far = np.bincount(cell[far], minlength=len(size))
    far = far[(2 * n_far < size)[cell[far]]]  # where half are, the point is noisier than others
    weight = np.ones(len(value))
    weight[far] = limit[path[far]] / distance[far]
    return weight


def _medians(group: Ints, value: Floats, n_groups: int) -> Floats:
    """Return the median of each group, 0 of an empty one; the values lose their order."""
    if n_groups == 1 and len(value):
        return np.array([np.median(value, overwrite_input=True)])
    size = np.bincount(group, minlength=n_groups)
    ordered = value[_in_order(group, value, size)]
    first = np.cumsum(size) - size
    medians = np.zeros(n_groups)
    nonempty = size > 0
    low, high = first[nonempty] + (size[nonempty] - 1) // 2, first[nonempty] + size[nonempty] // 2
    medians[nonempty] = 0.5 * (ordered[low] + ordered[high])
    return medians


def _in_order(group: Ints, value: Floats, size: Ints) -> Ints:
    """Return numbers of values, group by group, the smallest of each first; groups of one size at once."""
    order = np.argsort(group.astype(np.min_scalar_type(len(size))), kind="stable")  # the smallest type sorts fastest
    first = np.cumsum(size) - size
    for start, count in zip(first[size > _LONG].tolist(), size[size > _LONG].tolist(), strict=True):
        rows = order[start : start + count]
        order[start : start + count] = rows[np.argsort(value[rows], kind="stable")]
    for count in np.unique(size[(size > 1) & (size <= _LONG)]).tolist():
        places = first[size == count][:, None] + np.arange(count)
        rows = order[places]
        order[places] = np.take_along_axis(rows, np.argsort(value[rows], axis=1, kind="stable"), axis=1)
    return order


def with_values(data: Measurements, columns: Sequence[str] | str | None, path: Sequence[str] | None) -> Measurements:
    """Return measurements of one column, or of several, each of which is then a path."""
    others: dict[str, Any] = {} if path is None else {"code": tuple(path), "system": (), "category": ()}
    names = [columns] if isinstance(columns, str) else list(columns or data.roles.alternatives)
    role = "code" if columns else "system"  # alternatives are never added up
    exact = [column for column in data.table.columns if re.split(r"\s*,\s*", column) == names]
    if len(names) > 1 and "run" in data.table.columns and set(names) == set(data.table["run"].unique()):
        names = []  # columns of repetitions, which the reader made rows
    names = exact or list(named_columns(names, list(data.table.columns)))
    if len(names) < 2:
        return data.with_roles(value=names[0] if names else None, **others)
    units = {unit_of(name) for name in names}
    if len(units) > 1:
        described = ", ".join(f"{name} [{unit_of(name) or 'no unit'}]" for name in names)
        raise DataError(
            f"{data.source}: --value: several columns are paths of one unit, not of {described}; fit each alone"
        )
    value = "value" if None in units else f"value_{next(iter(units))}"
    for column in (value, OF_VALUE):
        if column in data.table.columns:
            raise DataError(
                f"{data.source}: several values are joined in a column {column!r}, which is there; rename it"
            )
    table = pd.concat([_rows_of(data, name, names, value) for name in names], ignore_index=True)
    lines = [data.line(row) for row in range(len(data.table))]
    roles = dict(data.with_roles(**others).given_roles)
    roles |= {"value": value, role: (*(roles.get(role, getattr(data.roles, role))), OF_VALUE)}
    roles |= {
        role: getattr(data.roles, role) for role in ("parameters", "code", "system", "category") if role not in roles
    }
    roles.pop("unit", None)
    source_lines = [line for line in lines if line is not None]
    return Measurements(
        table, **roles, source=data.source, lines=source_lines * len(names) if len(source_lines) == len(lines) else None
    )


def _rows_of(data: Measurements, name: str, names: Sequence[str], value: str) -> pd.DataFrame:
    """Return the rows of one of several values, with its own spread alone."""
    spreads = {each: meanings.spread_columns(data.with_roles(value=each), named=True) for each in names}
    dropped = [*names, *(columns.spread for columns in spreads.values() if columns is not None)]
    rows = data.table.drop(columns=dropped).copy()
    rows[OF_VALUE], rows[value] = name, data.table[name]
    if (value_spread := spreads[name]) is not None:
        rows[SPREAD_NAMES[value_spread.kind]] = data.table[value_spread.spread]
    return rows
