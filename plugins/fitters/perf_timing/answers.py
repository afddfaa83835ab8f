"""What timing models of codes on systems report: pairs, parameters with intervals, and what limits them."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from perf_statistics.goodness import finite
from perf_timing.individual_fits import LEAST_FREEDOM, freedom_warning
from perf_timing.joint_solver import JointStatus
from perf_timing.plots import scaling_plots
from perf_views.names import existing_file
from perfcore.models.ranking import candidate_table
from perfcore.report import Column, Figure, Note, Report, Table

if TYPE_CHECKING:
    from perf_timing.individual_fits import PairFit
    from perf_timing.individual_model import IndividualModel
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
            _pairs(model),
            *_outliers(model, "Outliers (studentized residuals within their pair)"),
            *_ranking(model, "The same functions for all pairs" if count > 1 else "All models", _MOST_CANDIDATES),
            _coefficients(model),
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
    cell = places.code * len(model.systems) + places.system
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


def _pairs(model: IndividualModel) -> Table:
    pairs = sorted(model.pairs, key=lambda pair: pair.r2_uncentered)

    def coefficients(pair: PairFit) -> str:
        return ", ".join(
            f"{coefficient:.4g}" + ("" if error is None else f" ± {error:.2g}")
            for coefficient, error in zip(pair.coefficients, pair.standard_errors, strict=True)
        )

    columns = [
        *([Column("code", "code")] if len(model.codes) > 1 else []),
        *([Column("system", "system")] if len(model.systems) > 1 else []),
        Column("points", "n_observations"),
        Column("functions", lambda pair: " + ".join(pair.functions) or "none"),
        Column("coefficients ± SE", coefficients),
        Column("SSE", "sum_of_squares"),
        Column("R^2 uncentered", "r2_uncentered", format=".5f"),
        Column("note", "note"),
    ]
    more = f" (the worst {_MOST_PAIRS} of {len(pairs):,}; --json has all)" if len(pairs) > _MOST_PAIRS else ""
    return Table(columns, pairs, title=f"Pairs{more}", limit=_MOST_PAIRS)


def _coefficients(model: IndividualModel) -> Table:
    """Return every pair, worst first, with the coefficient and standard error of each function; NaN of none."""
    pairs = sorted(model.pairs, key=lambda pair: pair.r2_uncentered)
    columns = [
        Column("code", [pair.code for pair in pairs]),
        Column("system", [pair.system for pair in pairs]),
        Column("points", [pair.n_observations for pair in pairs], key="n_observations"),
        Column("SSE", [pair.sum_of_squares for pair in pairs], key="sse"),
        Column("R^2 uncentered", [pair.r2_uncentered for pair in pairs], key="r2_uncentered"),
        Column("note", [pair.note for pair in pairs]),
    ]
    for name in model.functions:
        if any(name in pair.functions for pair in pairs):
            places = [pair.functions.index(name) if name in pair.functions else None for pair in pairs]
            for label, field in ((name, "coefficients"), (f"standard error of {name}", "standard_errors")):
                values = [
                    math.nan if k is None or (value := getattr(pair, field)[k]) is None else value
                    for pair, k in zip(pairs, places, strict=True)
                ]
                columns.append(Column(label, values, key=label))
    return Table(columns, importance="data")


def _intervals(model: JointModel) -> list[tuple[float, float, bool]]:
    """Return the ends of each parameter's interval, infinite if open, and whether every refit for it converged."""
    from scipy.special import stdtrit

    level, freedom = model.origin.options["level"], model.degrees_of_freedom
    quantile = float(stdtrit(freedom, 0.5 + 0.5 * level)) if freedom > 0 else np.nan
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
    """Every parameter with its interval: the model's own (profile likelihood or bootstrap), or the asymptotic one. An
    end is infinite if it does not close, and NaN if the data do not determine it.
    """
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
        Column(f"{options['level']:.0%} interval",
               [None if math.isnan(low) else (low, high) for low, high in zip(lower, upper, strict=True)],
               format=lambda end: "open" if np.isinf(end) else f"{end:.4g}", key=()),
        Column("", ["" if done else "at least" for done in converged], key=()),
        Column("lower", lower, importance="data"),
        Column("upper", upper, importance="data"),
        Column("unit", [each.unit or "" for each in model.parameters], importance="data"),
    ]  # fmt: skip
    names = ", ".join(f"{i}: {function}" for i, function in enumerate(model.functions, 1))
    return Table(columns, title=f"Parameters ({names}; {options['intervals']} intervals)")


def _work_and_speed(model: JointModel) -> Table:
    """Return the work of each code and relative speed of each system, a column for each function."""
    theta = {each.name: (each.estimate, each.standard_error) for each in model.parameters}
    rows = [*((code, "code") for code in model.codes), *((system, "system") for system in model.systems)]

    def shown(row: tuple[str, str], number: int) -> str:
        estimate, error = theta.get(f"{'w' if row[1] == 'code' else 'r'}_{number}^{row[0]}", (1.0, None))
        return f"{estimate:.3g}" + ("" if error is None else f" ± {error:.2g}")

    columns = [Column("name", 0), Column("kind", 1)]
    for number, name in enumerate(model.functions, 1):
        columns.append(Column(f"{name} (work or speed)", partial(shown, number=number)))
    return Table(columns, rows, importance="brief")


def _cells(model: JointModel) -> Table:
    """Return the pairs, worst first."""
    import pandas as pd

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
