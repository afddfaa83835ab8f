"""The joint model in lines, tables and a data frame."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from perf_statistics.goodness import outlier_table
from perf_timing.joint.model import JointModel
from perf_timing.joint.solver import JointStatus
from perf_views.drawable import candidate_table
from perfcore.results import Tables

if TYPE_CHECKING:
    import pandas as pd


Table = tuple[str, list[str], list[list[str]]]

_MOST_CELLS = 40
_MOST_CANDIDATES = 10
_MOST_CORRELATED = 16  # parameters whose correlation matrix still fits on a line
_FEW_CELLS = 30  # with 16, bootstrap intervals of 95% hold the truth in 80% (docs/explanation/codes-on-systems.md)
_WIDE_SCALE = 20.0  # the paper's values differ by 4 to 7 after all three steps of section 3
_FAR_APART = 1.0  # relative standard error from which an asymptotic interval is not to be trusted


def joint_summary(model: JointModel) -> list[str]:
    """What was fitted, in which scale, how well, and how it predicts."""
    figures = model.statistics
    lines = [
        model.title,
        *model.data_lines(),
        f"reference system: {model.reference}; {model.status}; {model.starts_reached} of {model.starts} "
        f"start{'s' if model.starts > 1 else ''} came to this optimum"
        + ("; more --starts make it surer" if 2 * model.starts_reached <= model.starts else ""),
        f"{figures['n_parameters']} parameters; SSE {figures['sse']:.6g} of {figures['sst_uncentered']:.6g}; "
        f"R^2 uncentered {_shown(figures['r2_uncentered'], '.5f')}, centered {_shown(figures['r2_centered'], '.5f')}",
        f"relative error: mean {figures['mean_relative_error']:.1%}, largest {figures['max_relative_error']:.1%}",
    ]
    spread = _spread_of_cells(model)
    if spread > _WIDE_SCALE and not model.relative:
        lines.append(
            f"codes and systems differ by a factor of {spread:,.0f} in this scale, so that the largest decide the fit; "
            "--operations and --peak bring them closer, or --weights relative counts relative errors"
        )
    if model.left_out:
        unknown = int(np.isnan(model.left_out_errors()).sum())
        text = "each code on each system predicted from all others: "
        if unknown == len(model.left_out):
            text += "none is determined by the others"
        else:
            text += (
                f"relative error mean {figures['mean_relative_error_left_out_cells']:.1%}, largest "
                f"{figures['max_relative_error_left_out_cells']:.1%}"
            )
            text += f" ({unknown} observations are not determined by the others)" if unknown else ""
        lines.append(text)
    if model.dropped:
        lines.append(f"left out as outliers: {'; '.join(model.dropped)}")
    if any(model.undetermined):
        names = [n for n, open_ in zip(model.parameter_names, model.undetermined, strict=True) if open_]
        lines.append(f"not determined one by one: {', '.join(names[:12])}{', ...' if len(names) > 12 else ''}")
    if model.status in (JointStatus.NOT_CONVERGED.value, JointStatus.NO_REFERENCE.value):
        lines.append("warning: do not use this model for predictions")
    cells = len({*zip(model.observations.code, model.observations.system, strict=True)})
    if model.origin.options["intervals"] == "bootstrap" and cells < _FEW_CELLS:
        lines.append(f"bootstrap intervals from {cells} pairs are too narrow; --intervals profile does not need many")
    wide = [p.name for p in model.parameters if p.standard_error and p.standard_error > _FAR_APART * abs(p.estimate)]
    if wide and not model.intervals:
        lines.append(
            f"standard errors as large as the values: {', '.join(wide[:6])}{', ...' if len(wide) > 6 else ''}; "
            "--intervals profile shows what the data really say about them"
        )
    return lines


def _spread_of_cells(model: JointModel) -> float:
    """Ratio of the largest to the smallest mean of a code on a system in the scale of the fit."""
    places = model.measured_places
    values = np.array(model.observations.value) * model.factor(places)
    cell = places.code * len(model.systems) + places.system
    means = np.bincount(cell, values)[np.unique(cell)] / np.bincount(cell)[np.unique(cell)]
    return float(means.max() / means.min())


def joint_tables(model: JointModel) -> Tables:
    """Parameters, cells, outliers, correlations, and the ranking."""
    tables = [_parameters(model), _cells(model), *_outliers(model), *_correlations(model)]
    if model.ranking:
        first = model.ranking[:_MOST_CANDIDATES]
        title = f"Other combinations (the best {len(first)} of {len(model.ranking)})"
        tables.append(candidate_table(first, title))
    return tables


def joint_frame(model: JointModel) -> pd.DataFrame:
    """Every parameter: its function, its code or system, estimate, standard error and interval.

    The interval is the model's own (profile likelihood or bootstrap), or the asymptotic one; an end is infinite where
    it does not close, and NaN where the data do not determine it.
    """
    import pandas as pd

    works = [(function, code, "") for function in model.functions for code in model.codes]
    others = [system for system in model.systems if system != model.reference]
    places = works + [(function, "", system) for function in model.functions for system in others]
    rows = [
        (each.name, *place, each.estimate, each.standard_error, lower, upper, each.unit or "")
        for each, place, (lower, upper, _) in zip(model.parameters, places, _intervals(model), strict=True)
    ]
    header = ["parameter", "function", "code", "system", "estimate", "standard_error", "lower", "upper", "unit"]
    return pd.DataFrame(rows, columns=header).astype({"standard_error": float})


def _intervals(model: JointModel) -> list[tuple[float, float, bool]]:
    """Ends of each parameter's interval, and whether every refit for it converged; infinite ends are open."""
    from scipy.stats import t

    level, freedom = model.origin.options["level"], model.degrees_of_freedom
    quantile = float(t.ppf(0.5 + 0.5 * level, freedom)) if freedom > 0 else np.nan
    refitted = {interval.name: interval for interval in model.intervals}
    ends = []
    for parameter in model.parameters:
        if parameter.name in refitted:
            interval = refitted[parameter.name]
            lower = -np.inf if interval.lower is None else interval.lower
            upper = np.inf if interval.upper is None else interval.upper
            ends.append((lower, upper, interval.converged))
        else:
            half = quantile * (np.nan if parameter.standard_error is None else parameter.standard_error)
            ends.append((parameter.estimate - half, parameter.estimate + half, True))
    return ends


def _parameters(model: JointModel) -> Table:
    options = model.origin.options
    header = ["parameter", "estimate", "standard error", "t", f"{options['level']:.0%} interval"]
    rows = []
    for parameter, (lower, upper, converged) in zip(model.parameters, _intervals(model), strict=True):
        error = parameter.standard_error
        bounds = "-" if np.isnan(lower) else f"{_end(lower)} .. {_end(upper)}{'' if converged else ' at least'}"
        rows.append(
            [
                parameter.name,
                f"{parameter.estimate:.4g}",
                "-" if error is None else f"{error:.2g}",
                f"{parameter.estimate / error:.1f}" if error else "-",
                bounds,
            ]
        )
    names = ", ".join(f"{i}: {function}" for i, function in enumerate(model.functions, 1))
    return f"Parameters ({names}; {options['intervals']} intervals)", header, rows


def _cells(model: JointModel) -> Table:
    """The pairs, worst first."""
    observed, errors, left = model.observations, model.errors(), model.left_out_errors()
    cell = np.array(observed.code) * len(model.systems) + np.array(observed.system)
    pairs = []
    for number in np.unique(cell):
        mask = cell == number
        code, system = divmod(int(number), len(model.systems))
        defined = left[mask][np.isfinite(left[mask])]
        pairs.append((float(errors[mask].max()), code, system, mask, defined))
    pairs.sort(key=lambda item: -item[0])
    header = ["code", "system", "points", "mean error", "largest error"]
    rows = [
        [model.codes[code], model.systems[system], str(int(mask.sum())), f"{errors[mask].mean():.1%}", f"{largest:.1%}"]
        for largest, code, system, mask, _ in pairs[:_MOST_CELLS]
    ]
    if model.left_out:
        header.append("mean error when left out")
        rows = [
            [*row, f"{defined.mean():.1%}" if len(defined) else "not determined"]
            for row, (*_, defined) in zip(rows, pairs, strict=False)
        ]
    more = "" if len(pairs) <= _MOST_CELLS else f" (the worst {_MOST_CELLS} of {len(pairs):,})"
    return f"Codes on systems{more}", header, rows


def _outliers(model: JointModel) -> Tables:
    header, rows = outlier_table(
        model.outliers(), model.describe, model.value_name, model.observations.value, model.errors()
    )
    title = "Outliers, in standard errors (kept; --drop-outliers fits without them)"
    return [(title, header, rows)] if rows else []


def _correlations(model: JointModel) -> Tables:
    names = model.parameter_names
    if not 1 < len(names) <= _MOST_CORRELATED or model.covariance is None:
        return []
    matrix = model.correlation
    rows = [
        [name, *("" if k > row else _shown(matrix[row, k], ".2f") for k in range(len(names)))]
        for row, name in enumerate(names)
    ]
    return [("Correlations of the parameters", ["", *map(str, range(1, len(names) + 1))], rows)]


def _end(value: float) -> str:
    return "open" if np.isinf(value) else f"{value:.4g}"


def _shown(value: Any, form: str) -> str:
    return "-" if value is None or not np.isfinite(value) else format(value, form)
