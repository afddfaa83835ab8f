"""What timing models of codes on systems report: pairs, parameters with intervals, and what limits them."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from perf_statistics.goodness import finite, normal_quantiles
from perf_tables.points import Places
from perf_timing.individual_model import LEAST_FREEDOM, freedom_warning
from perf_timing.joint_solver import JointStatus
from perf_timing.prepared import characteristics, design
from perf_timing.scaling_model import some_places
from perf_views.names import existing_file, shortened
from perfcore.base import pd
from perfcore.base.arrays import Booleans, Floats, Ints
from perfcore.base.errors import DataError
from perfcore.models.ranking import candidate_table
from perfcore.report import Axis, Band, Column, Figure, Line, Mark, Note, Plot, Points, Report, Rule, Table, Text

if TYPE_CHECKING:
    from perf_timing.individual_model import IndividualModel, PairFit
    from perf_timing.joint_model import JointModel


_MOST_PAIRS = 40
_MOST_CANDIDATES = 20
_PLACES = ("function", "code", "system")
_MOST_CELLS = 40
_MOST_JOINT_CANDIDATES = 10
_MOST_CORRELATED = 16  # parameters whose correlation matrix still fits on a line
_FEW_CELLS = 30  # with 16, bootstrap intervals of 95% hold the truth in 80% (docs/explanation/codes-on-systems.md)
_WIDE_SCALE = 20.0  # the paper's values differ by 4 to 7 after all three steps of section 3
_FAR_APART = 1.0  # relative standard error from which an asymptotic interval is not to be trusted

COVERAGE = 0.95  # of the intervals of parameters, and of those for a single run
_MOST_BANDS = 4  # systems in a plot whose intervals stay distinct
_MOST_FUNCTIONS = 6  # of a joint model whose parameters are drawn
_MOST_CODES = 12  # a plot for each
_MOST_PREDICTED = 4  # systems of a model that is drawn also where a code never ran
_SHAPES = ("circle", "square", "triangle", "diamond", "cross", "bar")  # filled, and then hollow
_MOST_SYSTEMS = 2 * len(_SHAPES)  # that can be distinguished without colours
_BEYOND = 4.0  # how far lines go beyond what was measured, a factor
_HOLLOW_POINTS = 5  # on a line of a pair that was never measured
_MOST_NAMED = 10  # outliers next to the residuals
_MOST_LETTERS = 20  # of a code or system next to its estimates
_BAND = f"{COVERAGE:.0%} prediction interval"


def individual_report(model: IndividualModel, data: Any = None) -> Report:
    """Return the errors of the fits, and each pair with its coefficients."""
    count = len(model.pairs)
    name = f"{count} individual fit{'s' if count > 1 else ''} of {Path(model.origin.source).name}"
    mean, worst = _error_figures(model)
    few = sum(pair.degrees_of_freedom < LEAST_FREEDOM for pair in model.pairs)
    return Report(
        title=name,
        answer=f"{name}: {_error_line(mean, worst)}",
        figures=[mean, worst],
        tables=[
            *_pairs(model),
            *_outliers(model, "Outliers (studentized residuals within their pair)"),
            *_ranking(model, "The same functions for all pairs" if count > 1 else "All models", _MOST_CANDIDATES),
        ],
        draw=lambda: scaling_plots(model, data),
        notes=[Note("Uncertain", freedom_warning(few, count).removeprefix("warning: "))] if few else [],
        details=[*model.data_lines(), _fit_line(model.statistics)],
        formula=model.formula,
    )


def joint_report(model: JointModel, data: Any = None) -> Report:
    """Return how well unmeasured pairs are predicted, work and speed, and every parameter with its interval."""
    title = f"Joint model {' + '.join(model.functions)} of {Path(model.origin.source).name}"
    name = f"{title}, {len(model.codes)} codes x {len(model.systems)} systems"
    figures, reached = model.statistics, f"{model.starts_reached} of {model.starts} start{'s' * (model.starts > 1)}"
    mean, worst = _error_figures(model)
    left_out: Any = figures.get("mean_relative_error_left_out_cells")
    if left_out is None or not np.isfinite(left_out):
        shown, answer = [mean, worst], f"{name}: {_error_line(mean, worst)}"
    else:
        error = Figure("error of unmeasured pairs", left_out, format=".1%", key="mean_relative_error_left_out_cells")
        key = "max_relative_error_left_out_cells"
        largest = Figure("worst unmeasured pair", figures[key], format=".1%", key=key)
        shown = [error, largest, mean, worst]
        answer = f"{name}: predicts unmeasured pairs within {error.text} (worst {largest.text})"
    file, parameters = existing_file(model.origin.source), _parameters(model)
    return Report(
        title=title,
        answer=answer,
        figures=shown,
        tables=[
            _work_and_speed(model),
            replace(parameters, importance="verbose"),
            _cells(model),
            *_outliers(model, "Outliers (studentized residuals; drop with --drop-outliers)"),
            *_correlations(model),
            *_ranking(model, "Model selection", _MOST_JOINT_CANDIDATES),
            replace(parameters, title="", importance="data"),
        ],
        draw=lambda: scaling_plots(model, data),
        notes=[Note("Uncertain", text) for text in _uncertain(model)],
        next=f"perf rank {file}" if file and not model.ranking else "",
        details=[
            *model.data_lines(),
            f"reference system {model.reference}; {model.status}; {reached} reached this optimum"
            + ("; confirm with more --starts" if 2 * model.starts_reached <= model.starts else ""),
            _fit_line(figures),
            _error_line(mean, worst),
        ],
        formula=model.formula,
    )


def _error_figures(model: IndividualModel | JointModel) -> tuple[Figure, Figure]:
    keys = ("mean_relative_error", "max_relative_error")
    mean, worst = (Figure(key.replace("_", " "), model.statistics[key], format=".1%", key=key) for key in keys)
    return mean, worst


def _error_line(mean: Figure, worst: Figure) -> str:
    return f"relative error: mean {mean.text}, max {worst.text}"


def _fit_line(figures: dict[str, Any]) -> str:
    uncentered, centered = (
        "-" if value is None or not np.isfinite(value) else format(value, ".5f")
        for value in (figures["r2_uncentered"], figures["r2_centered"])
    )
    return (
        f"{figures['n_parameters']} parameters; SSE {figures['sse']:.6g} (total SS {figures['sst_uncentered']:.6g}); "
        f"R^2 uncentered {uncentered}, centered {centered}"
    )


def _uncertain(model: JointModel) -> list[str]:
    """Return what could make the answer wrong, most important first."""
    lines: list[str] = []
    if model.status in (JointStatus.NOT_CONVERGED.value, JointStatus.NO_REFERENCE.value):
        lines.append("model not usable for prediction")
    # Of the means of codes on systems in the scale of the fit: the largest over the smallest.
    places = model.measured_places
    cell = model.cells(places)
    scaled = np.array(model.observations.value) * model.factor(places)
    means = np.bincount(cell, scaled)[np.unique(cell)] / np.bincount(cell)[np.unique(cell)]
    spread = float(means.max() / means.min())
    if spread > _WIDE_SCALE and not model.relative:
        lines.append(
            f"values span x{spread:,.0f}, so the largest dominate the fit; reduce with --operations and --peak, "
            "or use --weights relative"
        )
    if any(model.undetermined):
        names = [n for n, open_ in zip(model.parameter_names, model.undetermined, strict=True) if open_]
        shown = ", ".join(names[:12]) + (", ..." if len(names) > 12 else "")
        lines.append(f"individually not identifiable: {shown}")
    if model.left_out and (unknown := int(np.isnan(model.left_out_errors()).sum())):
        of_all = "no pair is" if unknown == len(model.left_out) else f"{unknown} observations are not"
        lines.append(f"cross-validation: {of_all} identifiable from the other pairs")
    if model.dropped:
        lines.append(f"outliers dropped: {'; '.join(model.dropped)}")
    if model.origin.options["intervals"] == "bootstrap" and len(means) < _FEW_CELLS:
        lines.append(f"bootstrap intervals from {len(means)} pairs are too narrow; use --intervals profile")
    wide = [p.name for p in model.parameters if p.standard_error and p.standard_error > _FAR_APART * abs(p.estimate)]
    if wide and not model.intervals:
        shown = ", ".join(wide[:6]) + (", ..." if len(wide) > 6 else "")
        lines.append(f"standard error above the estimate: {shown} (try --intervals profile)")
    return lines


def _outliers(model: IndividualModel | JointModel, title: str) -> list[Table]:
    judged = model.outliers()
    places = np.flatnonzero(judged.flagged)
    places = places[np.argsort(-np.abs(judged.robust[places]), kind="stable")]
    columns = [
        Column("observation", [model.describe(place) for place in places.tolist()]),
        Column(model.value_name, np.array(model.observations.value)[places], format=".6g"),
        Column("relative error", model.errors()[places], format=".1%"),
        Column("leave-out residual", [finite(value) for value in judged.studentized[places].tolist()], format="+.1f"),
        Column("robust residual", judged.robust[places], format="+.1f"),
    ]
    return [Table(columns, title=title, importance="verbose")] if len(places) else []


def _ranking(model: IndividualModel | JointModel, title: str, most: int) -> list[Table]:
    if not model.ranking:
        return []
    first = model.ranking[:most]
    return [candidate_table(first, f"{title} (best {len(first)} of {len(model.ranking)})", "verbose")]


def _pairs(model: IndividualModel) -> list[Table]:
    """Return every pair, worst first; as data with the coefficient and standard error of each function, NaN of none."""
    pairs = sorted(model.pairs, key=lambda pair: pair.r2_uncentered)

    def coefficients(pair: PairFit) -> str:
        return ", ".join(map(_with_error, pair.coefficients, pair.standard_errors))

    def of_function(pair: PairFit, name: str, field: str) -> float:
        value = dict(zip(pair.functions, getattr(pair, field), strict=True)).get(name)
        return math.nan if value is None else value

    columns = [
        Column("code", "code", importance="default" if len(model.codes) > 1 else "data"),
        Column("system", "system", importance="default" if len(model.systems) > 1 else "data"),
        Column("points", "n_observations", key="n_observations"),
        Column("functions", lambda pair: " + ".join(pair.functions) or "none", key=()),
        Column("coefficients ± SE", coefficients, key=()),
        Column("SSE", "sum_of_squares", key="sse"),
        Column("R^2 uncentered", "r2_uncentered", format=".5f", key="r2_uncentered"),
        Column("note", "note"),
    ]
    for name in model.functions:
        if any(name in pair.functions for pair in pairs):
            for label, field in ((name, "coefficients"), (f"standard error of {name}", "standard_errors")):
                value = partial(of_function, name=name, field=field)
                columns.append(Column(label, value, key=label, importance="data"))
    more = f" (the worst {_MOST_PAIRS} of {len(pairs):,}; --json has all)" if len(pairs) > _MOST_PAIRS else ""
    shown = Table(columns, pairs, title=f"Pairs{more}", limit=_MOST_PAIRS)
    return [shown, replace(shown, title="", limit=None, importance="data")]


def _intervals(model: JointModel) -> list[tuple[float, float, bool]]:
    """Return the ends of each parameter's interval, infinite if open, and whether every refit for it converged."""
    from scipy.special import stdtrit

    freedom = model.degrees_of_freedom
    quantile = float(stdtrit(freedom, 0.5 + 0.5 * COVERAGE)) if freedom > 0 else np.nan
    refitted = {interval.name: interval for interval in model.intervals}
    ends = []
    for parameter in model.parameters:
        half = quantile * (np.nan if parameter.standard_error is None else parameter.standard_error)
        lower, upper, is_complete = parameter.estimate - half, parameter.estimate + half, True
        if (interval := refitted.get(parameter.name)) is not None:
            lower = -np.inf if interval.lower is None else interval.lower
            upper = np.inf if interval.upper is None else interval.upper
            is_complete = interval.converged
        ends.append((lower, upper, is_complete))
    return ends


def _parameters(model: JointModel) -> Table:
    """Return parameters with their intervals; an end is infinite if it does not close, NaN if it is not determined."""
    options = model.origin.options
    others = [system for system in model.systems if system != model.reference]
    places = [(function, code, "") for function in model.functions for code in model.codes]
    places += [(function, "", system) for function in model.functions for system in others]
    errors = [math.nan if each.standard_error is None else each.standard_error for each in model.parameters]
    estimates = [each.estimate for each in model.parameters]
    lower, upper, converged = zip(*_intervals(model), strict=True)
    columns = [
        Column("parameter", [each.name for each in model.parameters]),
        *(Column(name, [place[k] for place in places], importance="data") for k, name in enumerate(_PLACES)),
        Column("estimate", estimates),
        Column("standard error", errors, format=".2g"),
        Column("t", [x / e if e else math.nan for x, e in zip(estimates, errors, strict=True)], format=".1f", key=()),
        Column(f"{COVERAGE:.0%} interval",
               [None if math.isnan(low) else (low, high) for low, high in zip(lower, upper, strict=True)],
               format=lambda end: "open" if np.isinf(end) else f"{end:.4g}", key=()),
        Column("", ["" if done else "at least" for done in converged], key=()),
        Column("lower", lower, importance="data"),
        Column("upper", upper, importance="data"),
        Column("unit", [each.unit or "" for each in model.parameters], importance="data"),
    ]  # fmt: skip
    names = ", ".join(f"{i}: {function}" for i, function in enumerate(model.functions, 1))
    return Table(columns, title=f"Parameters ({names}; {options['intervals']} intervals)")


def _with_error(estimate: float, error: float | None, digits: int = 4) -> str:
    return f"{estimate:.{digits}g}" + ("" if error is None else f" ± {error:.2g}")


def _work_and_speed(model: JointModel) -> Table:
    """Return the work of each code and relative speed of each system, a column for each function."""
    theta = {each.name: (each.estimate, each.standard_error) for each in model.parameters}
    rows = [*((code, "code") for code in model.codes), *((system, "system") for system in model.systems)]

    def shown(row: tuple[str, str], number: int) -> str:
        return _with_error(*theta.get(f"{'w' if row[1] == 'code' else 'r'}_{number}^{row[0]}", (1.0, None)), digits=3)

    columns = [Column("name", 0), Column("kind", 1)]
    for number, name in enumerate(model.functions, 1):
        columns.append(Column(f"{name} (work or speed)", partial(shown, number=number)))
    return Table(columns, rows, importance="brief")


def _cells(model: JointModel) -> Table:
    """Return the pairs, worst first."""
    observed = model.observations
    frame = pd.DataFrame({"code": observed.code, "system": observed.system, "error": model.errors()})
    frame["left_out"] = model.left_out_errors()
    pairs = frame.groupby(["code", "system"], as_index=False).agg(
        points=("error", "size"), mean=("error", "mean"), max=("error", "max"), left_out=("left_out", "mean")
    )
    pairs = pairs.sort_values("max", ascending=False, kind="stable")
    columns = [
        Column("code", [model.codes[k] for k in pairs["code"]]),
        Column("system", [model.systems[k] for k in pairs["system"]]),
        Column("points", pairs["points"].to_numpy()),
        Column("mean error", pairs["mean"].to_numpy(), format=".1%"),
        Column("max error", pairs["max"].to_numpy(), format=".1%"),
    ]
    if model.left_out:
        left_out = ["not identifiable" if math.isnan(error) else f"{error:.1%}" for error in pairs["left_out"]]
        columns.append(Column("CV error", left_out))
    more = "" if len(pairs) <= _MOST_CELLS else f" (the worst {_MOST_CELLS} of {len(pairs):,})"
    return Table(columns, title=f"Fit error by code and system{more}", limit=_MOST_CELLS, importance="verbose")


def _correlations(model: JointModel) -> list[Table]:
    names = model.parameter_names
    if not 1 < len(names) <= _MOST_CORRELATED or model.covariance is None:
        return []
    lower = np.where(np.tri(len(names), dtype=bool), model.correlation, np.nan)
    columns = [Column("", names, key="parameter")]
    columns += [Column(str(k), [*map(finite, row.tolist())], format=".2f") for k, row in enumerate(lower.T, 1)]
    return [Table(columns, title="Correlations of the parameters", drops_empty=False, importance="verbose")]


@dataclass(frozen=True)
class _Selection:
    """Measured points, and what is drawn of them."""

    model: IndividualModel | JointModel
    at: Places  # of the points: the model's own, or those of other data
    value: Floats  # in the user's unit; the spread of repeated runs is NaN for a single one
    spread: Floats
    are_own: bool  # whether the model was fitted to exactly these points
    codes: tuple[int, ...]  # one plot for each
    systems: dict[int, int]  # number of the style of each; points of all other systems are grey
    everywhere: bool  # whether codes are drawn also on systems where they never ran
    others: dict[str, float]  # parameters but the first, and the values at which the plots show the model
    in_panels: Booleans  # points at these values
    remarks: tuple[str, ...]  # what a reader must know about the plots

    @property
    def first(self) -> str:
        """Symbol of the parameter that lines run over."""
        return next(iter(self.model.columns))


def scaling_plots(model: IndividualModel | JointModel, data: Any = None) -> list[Plot]:
    """Return ``curves`` of the first code, ``curves-2`` of the next, ``residuals`` and ``quantiles``.

    Of a joint model also ``work`` of the codes and ``speed`` of the systems, function by function.
    """
    selection = _select(model, data)
    curves = _predicted_curves(selection)
    plots = [_code_plot(selection, curves, number) for number in range(len(selection.codes))]
    plots += _residual_plots(selection)
    return [*plots, *_estimate_plots(selection, model)] if model.is_joint else plots


def _select(model: IndividualModel | JointModel, data: Any) -> _Selection:
    """Return the codes and systems with most points, at the most frequent values of the parameters but the first."""
    places, value, spread, are_own, remarks = _measured(model, data)
    others: dict[str, float] = {}
    in_panels = np.ones(len(places), dtype=np.bool_)
    symbols = list(model.columns)[1:]
    if symbols:
        table = np.column_stack([places.points[symbol] for symbol in symbols])
        combinations, which, counts = np.unique(table, axis=0, return_inverse=True, return_counts=True)
        in_panels = which.ravel() == np.argmax(counts)
        others = dict(zip(symbols, combinations[np.argmax(counts)].tolist(), strict=True))
        text = ", ".join(f"{model.columns[symbol]}={number:g}" for symbol, number in others.items())
        remarks.append(f"lines at {text}, where {in_panels.sum():,} of {len(places):,} points are")
    codes = _most_frequent(places.code[in_panels], _MOST_CODES)
    drawn = in_panels & np.isin(places.code, codes)
    systems = _most_frequent(places.system[drawn], _MOST_SYSTEMS)
    everywhere = model.is_joint and len(model.systems) <= _MOST_PREDICTED
    if everywhere:
        systems = tuple(range(len(model.systems)))
    pairs = np.unique(np.column_stack([places.code[drawn], places.system[drawn]]), axis=0)
    crowded = np.unique(pairs[:, 0], return_counts=True)[1] > _MOST_BANDS
    left_out = {
        "codes not shown": len(np.unique(places.code)) - len(codes),
        "systems in grey": len(np.unique(places.system[drawn])) - len(systems),
        "plots too full for intervals": int(crowded.sum()),
    }
    if model.is_joint:
        left_out["functions whose w and r are not shown"] = len(model.functions) - _MOST_FUNCTIONS
    remarks += [f"{reason}: {number:,}" for reason, number in left_out.items() if number > 0]
    styles = {system: k for k, system in enumerate(systems)}
    return _Selection(
        model, places, value, spread, are_own, codes, styles, everywhere, others, in_panels, tuple(remarks)
    )


def _named_places(model: IndividualModel | JointModel, places: Places) -> dict[str, Any]:
    """Return places as `ScalingModel.predict` takes them: columns by name, with names of codes and systems."""
    code, system = np.array(model.codes)[places.code], np.array(model.systems)[places.system]
    return {**places.points, "code": code, "system": system}


def _measured(model: IndividualModel | JointModel, data: Any) -> tuple[Places, Floats, Floats, bool, list[str]]:
    """Return points, values, spreads, whether they are the model's own, and remarks."""
    observed = None if data is None else model.check_data(data)
    dropped: tuple[str, ...] = getattr(model, "dropped", ())
    if observed is not None and dropped:
        observed = observed.select(np.array([observed.describe(k) not in dropped for k in range(len(observed))]))
    remarks = [f"outliers left out of fit and plot: {len(dropped):,}"] if dropped else []
    if observed is None or observed.fingerprint() == model.origin.fingerprint:
        observations = model.observations
        spread = np.array([np.nan if s is None else s for s in observations.spread])
        return model.measured_places, np.array(observations.value), spread, True, remarks
    code, system = (
        np.array([known.index(name) if name in known else -1 for name in names], dtype=np.int64)[index]
        for index, names, known in (
            (observed.code, observed.codes, model.codes), (observed.system, observed.systems, model.systems)
        )
    )  # fmt: skip
    kept = (code >= 0) & (system >= 0)
    if set(observed.points) != set(model.columns) or not kept.any():
        raise DataError(f"{observed.source}: no code on a system over {', '.join(model.columns)} that the model has")
    remarks.append(f"points of other data than the model's, {observed.source}")
    if not kept.all():
        remarks.append(f"{(~kept).sum():,} points are of codes or systems that the model does not have")
    points = Places({symbol: observed.points[symbol][kept] for symbol in model.columns}, code[kept], system[kept])
    return points, observed.value[kept], observed.spread[kept], False, remarks


def _most_frequent(index: Ints, most: int) -> tuple[int, ...]:
    """Return the numbers that occur most often, in rising order."""
    numbers, counts = np.unique(index, return_counts=True)
    return tuple(sorted(numbers[np.argsort(-counts, kind="stable")[:most]].tolist()))


@dataclass(frozen=True)
class _Curve:
    """The model of one code on one system over the first parameter."""

    code: int
    system: int
    over: Floats  # values of the parameter, rising
    low: float  # what was measured; NaN if nothing was
    high: float
    value: Floats  # prediction and its bounds; NaN if there is none
    lower: Floats
    upper: Floats


def _predicted_curves(selection: _Selection) -> list[_Curve]:
    """Return the model of each code on each system that is drawn, from one prediction of all.

    A line runs from a fourth of the least to four times the largest value, and below 1 only as far as was measured;
    pairs that were never measured have one only if the selection says so.
    """
    model, shown_places, first = selection.model, selection.at, selection.first
    measured_places = model.measured_places
    matching = np.ones(len(measured_places), dtype=np.bool_)
    for symbol, value in selection.others.items():
        matching &= measured_places.points[symbol] == value
    pairs, grids = [], []
    for code in selection.codes:
        drawn = selection.in_panels & (shown_places.code == code)
        for system in selection.systems:
            of_pair = drawn & (shown_places.system == system)
            if not (of_pair.any() or selection.everywhere):
                continue
            measured = measured_places.points[first][
                matching & (measured_places.code == code) & (measured_places.system == system)
            ]
            low, high = (measured.min(), measured.max()) if len(measured) else (np.nan, np.nan)
            points = shown_places.points[first][of_pair if of_pair.any() else drawn]
            start, end = np.fmin(low, points.min()), np.fmax(high, points.max())
            # Lines end at 1, where there is one processor; the ends of what was measured are places of their own.
            places = np.geomspace(max(start / _BEYOND, min(start, 1.0)), end * _BEYOND, 61)
            grids.append(np.unique([*places, low, high]) if len(measured) else places)
            pairs.append((code, system, float(low), float(high)))
    sizes = [len(grid) for grid in grids]
    over = np.concatenate(grids)
    of_code, of_system = (np.repeat([pair[k] for pair in pairs], sizes).astype(np.int64) for k in (0, 1))
    everywhere = {first: over, **{symbol: np.full(len(over), value) for symbol, value in selection.others.items()}}
    values = np.split(_predicted(model, Places(everywhere, of_code, of_system)), np.cumsum(sizes)[:-1])
    return [
        _Curve(code, system, grid, low, high, *part.T)
        for (code, system, low, high), grid, part in zip(pairs, grids, values, strict=True)
    ]


def _predicted(model: Any, places: Places) -> Floats:
    """Return the value, lower and upper bound (n, 3); NaN if not finite or not determined."""
    bounds = np.full((len(places), 3), np.nan)
    able = np.asarray(np.isfinite(design(characteristics(model.functions, model.columns), places.points)).all(axis=1))
    if able.any():
        bounds[able] = model.predict_array(_named_places(model, some_places(places, able)), interval=COVERAGE)
    if model.is_joint and model.covariance is not None:
        bounds[np.isnan(bounds[:, 1])] = np.nan
    else:
        # As many points as functions have no errors either, but determine the line.
        open_pairs = (pair for pair in model.pairs if None in pair.standard_errors)
        arbitrary = {(pair.code, pair.system) for pair in open_pairs if pair.n_observations != len(pair.functions)}
        names = (
            (model.codes[code], model.systems[system]) for code, system in zip(places.code, places.system, strict=True)
        )
        bounds[[name in arbitrary for name in names]] = np.nan
    bounds[~(bounds[:, 0] > 0.0), 0] = np.nan  # has no place on a logarithmic axis
    return bounds


def _style(number: int) -> dict[str, Any]:
    """Return how points of a system are drawn."""
    shape, is_filled = _SHAPES[number % len(_SHAPES)], number < len(_SHAPES)
    return {"colour": f"series:{number}", "shape": shape, "is_filled": is_filled}


def _code_plot(selection: _Selection, curves: list[_Curve], number: int) -> Plot:
    """Return the models of one code on its systems over the measured points."""
    model, places, code = selection.model, selection.at, selection.codes[number]
    of_code_curves = [curve for curve in curves if curve.code == code]
    across, value = places.points[selection.first], selection.value
    of_code = selection.in_panels & (places.code == code)
    several_systems = len(model.systems) > 1
    bottom, top = _limits(value[of_code], selection.spread[of_code], of_code_curves)
    bands: list[Mark] = []
    lines: list[Mark] = []
    points: list[Mark] = []
    rest = of_code & ~np.isin(places.system, list(selection.systems))
    if rest.any():
        points.append(Points(across[rest], value[rest], "other systems", "muted", size=2.0))
    has_bands = len(np.unique(places.system[of_code])) <= _MOST_BANDS
    for curve in of_code_curves:
        style, name = _style(selection.systems[curve.system]), shortened(model.systems[curve.system])
        if has_bands and np.isfinite(curve.lower).any():
            low, high = (np.clip(bound, bottom, top) for bound in (curve.lower, curve.upper))
            bands.append(Band(curve.over, low, high, _BAND, style["colour"], opacity=0.1))
        of_system = of_code & (places.system == curve.system)
        called = name if several_systems else "measured"
        lines += _lines(curve, style, called if several_systems else "model")
        if of_system.any():
            spread = np.nan_to_num(selection.spread[of_system])
            bars = {"low": value[of_system] - spread, "high": value[of_system] + spread} if spread.any() else {}
            points.append(Points(across[of_system], value[of_system], called, **style, **bars))
    ends = np.concatenate([curve.over[[0, -1]] for curve in curves])  # all plots are as long as the curves
    count = len(selection.codes)
    columns = 1 if count == 1 else 2 if count in (2, 4) else 3 if count <= 9 else 4
    return Plot(
        f"curves-{number + 1}" if number else "curves",
        [*bands, *lines, *points],
        Axis(model.columns[selection.first], scale="log", base=2, limits=(ends.min() / 1.15, ends.max() * 1.15)),
        Axis(model.value_name, model.unit or "", "log", limits=(bottom, top)),
        title=shortened(model.codes[code]) if len(model.codes) > 1 else "",
        height={1: 5.0, 2: 3.4}.get(columns, 2.5),
        width=1.0 / columns,
        note="; ".join(selection.remarks) if not number else "",
    )


def _lines(curve: _Curve, style: dict[str, Any], name: str) -> list[Mark]:
    """Return the model solid where the pair was measured, dashed beyond, dotted where it never was."""
    colour = style["colour"]
    if np.isnan(curve.value).all():
        return []
    if np.isnan(curve.low):
        few = np.linspace(0, len(curve.over) - 1, _HOLLOW_POINTS + 2).astype(int)[1:-1]
        return [
            Line(curve.over, curve.value, "never measured (predicted)", colour, "dotted", 1.0),
            Points(curve.over[few], curve.value[few], name, colour, shape=style["shape"], is_filled=False),
        ]
    inside = (curve.over >= curve.low) & (curve.over <= curve.high)
    marks: list[Mark] = [Line(curve.over[inside], curve.value[inside], name, colour, width=1.2)]
    for outside in (curve.over <= curve.low, curve.over >= curve.high):
        if outside.sum() > 1:
            marks.append(Line(curve.over[outside], curve.value[outside], "extrapolated", colour, "dashed", 0.9))
    return marks


def _limits(value: Floats, spread: Floats, curves: list[_Curve]) -> tuple[float, float]:
    """Return the ends of a plot's vertical axis: points and lines, the latter up to three times beyond the points."""
    high = value + np.nan_to_num(spread)
    lines = np.concatenate([np.empty(0), *(curve.value[np.isfinite(curve.value)] for curve in curves)])
    every = np.concatenate([value, high, np.clip(lines, value.min() / 3.0, high.max() * 3.0)])
    margin = max((every.max() / every.min()) ** 0.06, 1.1)
    return float(every.min() / margin), float(every.max() * margin)


def _residual_plots(selection: _Selection) -> list[Plot]:
    """Return weighted residuals in the scale of the fit over the prediction, and over normal quantiles.

    Of a single pair over the first parameter, since its prediction hardly varies.
    """
    model, shown_places = selection.model, selection.at
    factor = model.factor(shown_places)
    scaled = model.predict(_named_places(model, shown_places)) * factor
    residuals = selection.value * factor - scaled
    if selection.are_own:
        residuals = residuals * np.array(model.root_weights)
    elif model.relative:  # other weights of other data are not known
        residuals = residuals / (selection.value * factor)
    finite = np.flatnonzero(np.isfinite(residuals))
    values, system = residuals[finite], shown_places.system[finite]
    is_one_pair = len(model.codes) * len(model.systems) == 1
    across = (shown_places.points[selection.first] if is_one_pair else scaled)[finite]
    is_weighted = selection.are_own and np.ptp(model.root_weights) > 0.0
    unit = model.coefficient_unit or ""
    is_plain = not (model.relative or is_weighted)
    label = "relative residual" if model.relative else "weighted residual" if is_weighted else "residual"
    outliers, note = np.empty(0, dtype=np.int64), ""
    if selection.are_own and len(finite):
        outliers = np.flatnonzero(model.outliers().flagged[finite])
        outliers = outliers[np.argsort(-np.abs(values[outliers]), kind="stable")]
        names = [shortened(model.describe(int(k)), 40) for k in finite[outliers[:_MOST_NAMED]]]
        more = [f"{len(outliers) - len(names):,} more"] if len(outliers) > len(names) else []
        numbered = [*(f"{number} {name}" for number, name in enumerate(names, 1)), *more]
        note = f"outliers: {'; '.join(numbered)}" if numbered else ""
    is_log = bool(len(across)) and across.min() > 0.0
    label_x = model.columns[selection.first] if is_one_pair else "model, in the scale of the fit"
    x = Axis(label_x, "" if is_one_pair else unit)
    if is_log:
        limits = float(across.min() / 1.3), float(across.max() * 1.3)
        x = Axis(x.label, x.unit, "log", limits, base=2 if is_one_pair else 10)
    y = Axis(label, unit if is_plain else "")
    quantiles, ends, line, correlation = normal_quantiles(values)

    def marks(across: Floats) -> list[Mark]:
        """Return the residuals over something: outliers are ringed, and numbered."""
        made: list[Mark] = [Rule([0.0], "y", style="solid")]
        others = ~np.isin(system, list(selection.systems))
        if others.any():
            made.append(Points(across[others], values[others], colour="muted", size=2.0))
        for each, number in selection.systems.items():
            mask = system == each
            if mask.any():
                made.append(Points(across[mask], values[mask], **{**_style(number), "size": 3.0}))
        if len(outliers):
            made.append(Points(across[outliers], values[outliers], "outliers", "dark", is_filled=False, size=9.0))
            first = outliers[:_MOST_NAMED]
            texts = [f"  {number}" for number in range(1, len(first) + 1)]
            made.append(Text(across[first], values[first], texts, size=7.0))
        return made

    known = "" if np.isnan(correlation) else f", correlation {correlation:.3f}"
    return [
        Plot("residuals", marks(across), x, y, "Residuals", 2.9, 0.5, note),
        Plot("quantiles", [Line(ends, line, colour="dark", width=0.9), *marks(quantiles)], Axis("normal quantile"), y,
             f"Normal Q-Q{known}", 2.9, 0.5),
    ]  # fmt: skip


def _estimate_plots(selection: _Selection, model: Any) -> list[Plot]:
    """Return the work of the codes and speed of the systems with their standard errors."""
    systems = [model.systems[system] for system in selection.systems if model.systems[system] != model.reference]
    blocks = [("work", "w", [model.codes[code] for code in selection.codes], "work", model.coefficient_unit or "")]
    if systems:
        blocks.append(("speed", "r", systems, f"speed over that of {shortened(model.reference)}", ""))
    functions = model.functions[:_MOST_FUNCTIONS]
    return [
        Plot(
            f"{block}-{k}" if k > 1 else block,
            *_estimates(model, f"{letter}_{k}", names, Axis(label, unit)),
            title=f"{letter}_{k}: {shortened(function, 24)}",
            height=0.9 + 0.19 * max(len(names), 3),
            width=1.0 / min(len(functions), 3),
        )
        for block, letter, names, label, unit in blocks
        for k, function in enumerate(functions, 1)
    ]


def _estimates(model: JointModel, symbol: str, names: list[str], x: Axis) -> tuple[list[Mark], Axis, Axis]:
    """Return estimates with their standard errors, one below the other, and both axes."""
    places = [model.parameter_names.index(f"{symbol}^{name}") for name in names]
    parameters, rows = [model.parameters[k] for k in places], np.arange(len(names))
    value = np.array([parameter.estimate for parameter in parameters])
    error = np.array([parameter.standard_error or 0.0 for parameter in parameters])
    is_open = np.array([model.undetermined[k] for k in places])
    shown = ~is_open & np.array([not parameter.name.startswith("1/r_") for parameter in parameters])
    ends = value[shown] - error[shown], value[shown] + error[shown]
    marks: list[Mark] = [
        Rule([0.0], style="solid"),
        Points(value[shown], rows[shown], left=ends[0], right=ends[1], colour="series:0"),
    ]
    for row in np.flatnonzero(~shown).tolist():
        text = "not identifiable" if is_open[row] else "without end"
        marks.append(Text([0.0], [row], [f"  {text}"], "dark", "left", 7.0))
    y = Axis(scale="category", names=[shortened(name, _MOST_LETTERS) for name in names], is_reversed=True)
    return marks, x, y
