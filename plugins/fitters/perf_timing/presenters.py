"""How timing models of codes on systems are shown: tables of pairs and parameters, panels of curves, residuals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from perf_timing.individual.fits import LEAST_FREEDOM, PairFit, freedom_warning
from perf_timing.individual.model import IndividualModel
from perf_timing.joint.model import JointModel
from perf_timing.joint.solver import JointStatus
from perf_views.names import existing_file
from perfcore.models.ranking import candidate_table
from perfcore.results import Column, Panels, Presenter, Table, Tables

_MOST_PAIRS = 40
_MOST_CANDIDATES = 20


def _outliers(model: IndividualModel | JointModel, title: str) -> Tables:
    judged = model.outliers()
    places = np.flatnonzero(judged.flagged)
    places = places[np.argsort(-np.abs(judged.robust[places]), kind="stable")]
    columns = [
        Column("observation", [model.describe(place) for place in places.tolist()]),
        Column(model.value_name, np.array(model.observations.value)[places], format=".6g"),
        Column("relative error", model.errors()[places], format=".1%"),
        Column("leave-out residual", [_finite(value) for value in judged.studentized[places].tolist()], format="+.1f"),
        Column("robust residual", judged.robust[places], format="+.1f"),
    ]
    return [Table(columns, title=title, importance="verbose")] if len(places) else []


def _ranking(model: IndividualModel | JointModel, title: str, most: int) -> Tables:
    if not model.ranking:
        return []
    first = model.ranking[:most]
    return [candidate_table(first, f"{title} (best {len(first)} of {len(model.ranking)})", "verbose")]


def _worst_first(model: IndividualModel) -> list[PairFit]:
    return sorted(model.pairs, key=lambda pair: pair.r2_uncentered)


def _pairs(model: IndividualModel) -> Table:
    pairs = _worst_first(model)
    columns = [
        *([Column("code", "code")] if len(model.codes) > 1 else []),
        *([Column("system", "system")] if len(model.systems) > 1 else []),
        Column("points", "n_observations"),
        Column("functions", lambda pair: " + ".join(pair.functions) or "none"),
        Column("coefficients ± SE", _coefficients_of),
        Column("SSE", "sum_of_squares"),
        Column("R^2 uncentered", "r2_uncentered", format=".5f"),
        Column("note", "note"),
    ]
    more = f" (the worst {_MOST_PAIRS} of {len(pairs):,}; --json has all)" if len(pairs) > _MOST_PAIRS else ""
    return Table(columns, pairs, title=f"Pairs{more}", limit=_MOST_PAIRS)


def _coefficients_of(pair: PairFit) -> str:
    parts = [
        f"{coefficient:.4g}" + ("" if error is None else f" ± {error:.2g}")
        for coefficient, error in zip(pair.coefficients, pair.standard_errors, strict=True)
    ]
    return ", ".join(parts)


def _coefficients(model: IndividualModel) -> Table:
    """Every pair, worst first; a function has its coefficient and the standard error, NaN where there is none."""
    pairs = _worst_first(model)
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


_PLACES = ("function", "code", "system")
_MOST_CELLS = 40
_MOST_JOINT_CANDIDATES = 10
_MOST_CORRELATED = 16  # parameters whose correlation matrix still fits on a line
_FEW_CELLS = 30  # with 16, bootstrap intervals of 95% hold the truth in 80% (docs/explanation/codes-on-systems.md)
_WIDE_SCALE = 20.0  # the paper's values differ by 4 to 7 after all three steps of section 3
_FAR_APART = 1.0  # relative standard error from which an asymptotic interval is not to be trusted


def _spread_of_cells(model: JointModel) -> float:
    """Ratio of the largest to the smallest mean of a code on a system in the scale of the fit."""
    places = model.measured_places
    values = np.array(model.observations.value) * model.factor(places)
    cell = places.code * len(model.systems) + places.system
    means = np.bincount(cell, values)[np.unique(cell)] / np.bincount(cell)[np.unique(cell)]
    return float(means.max() / means.min())


def _intervals(model: JointModel) -> list[tuple[float, float, bool]]:
    """Ends of each parameter's interval, and whether every refit for it converged; infinite ends are open."""
    from scipy.special import stdtrit

    level, freedom = model.origin.options["level"], model.degrees_of_freedom
    quantile = float(stdtrit(freedom, 0.5 + 0.5 * level)) if freedom > 0 else np.nan
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
    """Every parameter with its interval: the model's own (profile likelihood or bootstrap), or the asymptotic one. An
    end is infinite where it does not close, and NaN where the data do not determine it.
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
        Column(
            f"{options['level']:.0%} interval",
            [None if math.isnan(low) else (low, high) for low, high in zip(lower, upper, strict=True)],
            format=_end,
            key=(),
        ),
        Column("", ["" if done else "at least" for done in converged], key=()),
        Column("lower", lower, importance="data"),
        Column("upper", upper, importance="data"),
        Column("unit", [each.unit or "" for each in model.parameters], importance="data"),
    ]
    names = ", ".join(f"{i}: {function}" for i, function in enumerate(model.functions, 1))
    return Table(columns, title=f"Parameters ({names}; {options['intervals']} intervals)")


def _work_and_speed(model: JointModel) -> Table:
    """Work of each code and relative speed of each system, a column for each function."""
    theta = {each.name: (each.estimate, each.standard_error) for each in model.parameters}
    rows = [(code, "code", f"^{code}") for code in model.codes]
    rows += [(system, "system", f"^{system}") for system in model.systems]
    numbers = range(1, len(model.functions) + 1)

    def shown(number: int, kind: str, name: str) -> str:
        estimate, error = theta.get(f"{'w' if kind == 'code' else 'r'}_{number}{name}", (1.0, None))
        return f"{estimate:.3g}" + ("" if error is None else f" ± {error:.2g}")

    columns = [
        Column("name", [row[0] for row in rows]),
        Column("kind", [row[1] for row in rows]),
        *(
            Column(f"{name} (work or speed)", [shown(number, row[1], row[2]) for row in rows])
            for number, name in zip(numbers, model.functions, strict=True)
        ),
    ]
    return Table(columns, importance="brief")


def _cells(model: JointModel) -> Table:
    """The pairs, worst first."""
    observed, errors, left = model.observations, model.errors(), model.left_out_errors()
    cell = np.array(observed.code) * len(model.systems) + np.array(observed.system)
    pairs = []
    for number in np.unique(cell):
        mask = cell == number
        code, system = divmod(int(number), len(model.systems))
        defined = left[mask][np.isfinite(left[mask])]
        left_out = f"{defined.mean():.1%}" if len(defined) else "not identifiable"
        names = model.codes[code], model.systems[system]
        pairs.append((*names, int(mask.sum()), errors[mask].mean(), float(errors[mask].max()), left_out))
    pairs.sort(key=lambda pair: -pair[4])
    columns = [
        Column("code", 0),
        Column("system", 1),
        Column("points", 2),
        Column("mean error", 3, format=".1%"),
        Column("max error", 4, format=".1%"),
        *([Column("CV error", 5)] if model.left_out else []),
    ]
    more = "" if len(pairs) <= _MOST_CELLS else f" (the worst {_MOST_CELLS} of {len(pairs):,})"
    return Table(columns, pairs, title=f"Fit error by code and system{more}", limit=_MOST_CELLS, importance="verbose")


def _correlations(model: JointModel) -> Tables:
    names = model.parameter_names
    if not 1 < len(names) <= _MOST_CORRELATED or model.covariance is None:
        return []
    matrix = model.correlation
    columns = [Column("", names, key="parameter")]
    for k in range(len(names)):
        values = [None if k > row else _finite(float(matrix[row, k])) for row in range(len(names))]
        columns.append(Column(str(k + 1), values, format=".2f"))
    return [Table(columns, title="Correlations of the parameters", drops_empty=False, importance="verbose")]


def _end(value: float) -> str:
    return "open" if np.isinf(value) else f"{value:.4g}"


def _finite(value: float | None) -> float | None:
    return value if value is not None and np.isfinite(value) else None


def _shown(value: Any, form: str) -> str:
    return "-" if value is None or not np.isfinite(value) else format(value, form)


class _ScalingPresenter(Presenter):
    def heading(self, result: IndividualModel | JointModel, data: Any = None) -> str:
        from perf_timing.pictures import picture_heading

        return picture_heading(result, data)

    def panels(self, result: IndividualModel | JointModel, data: Any = None) -> Panels:
        from perf_timing.pictures import scaling_panels

        return scaling_panels(result, data)


def _fit_line(figures: dict[str, Any]) -> str:
    return (
        f"{figures['n_parameters']} parameters; SSE {figures['sse']:.6g} (total SS {figures['sst_uncentered']:.6g}); "
        f"R^2 uncentered {_shown(figures['r2_uncentered'], '.5f')}, centered {_shown(figures['r2_centered'], '.5f')}"
    )


def _error_line(figures: dict[str, Any]) -> str:
    return f"relative error: mean {figures['mean_relative_error']:.1%}, max {figures['max_relative_error']:.1%}"


class IndividualPresenter(_ScalingPresenter):
    """Text, tables, picture and page of `IndividualModel`."""

    def title(self, result: IndividualModel) -> str:
        count = len(result.pairs)
        return f"{count} individual fit{'s' if count > 1 else ''} of {Path(result.origin.source).name}"

    def answer(self, result: IndividualModel) -> str:
        return f"{result.title}: {_error_line(result.statistics)}"

    def summary(self, result: IndividualModel) -> list[str]:
        return [self.answer(result), *result.data_lines(), _fit_line(result.statistics)]

    def caveats(self, result: IndividualModel) -> dict[str, Sequence[str]]:
        few = sum(pair.degrees_of_freedom < LEAST_FREEDOM for pair in result.pairs)
        return {"Uncertain": [freedom_warning(few, len(result.pairs))] if few else []}

    def tables(self, result: IndividualModel) -> Tables:
        title = "The same functions for all pairs" if len(result.pairs) > 1 else "All models"
        return [
            _pairs(result),
            *_outliers(result, "Outliers (studentized residuals within their pair)"),
            *_ranking(result, title, _MOST_CANDIDATES),
            _coefficients(result),
        ]


class JointPresenter(_ScalingPresenter):
    """Text, tables, picture and page of `JointModel`."""

    def title(self, result: JointModel) -> str:
        return f"Joint model {' + '.join(result.functions)} of {Path(result.origin.source).name}"

    def answer(self, result: JointModel) -> str:
        figures, name = result.statistics, f"{result.title}, {len(result.codes)} codes x {len(result.systems)} systems"
        mean = figures.get("mean_relative_error_left_out_cells")
        if mean is None or not np.isfinite(mean):
            return f"{name}: {_error_line(figures)}"
        worst = figures["max_relative_error_left_out_cells"]
        return f"{name}: predicts unmeasured pairs within {mean:.1%} (worst {worst:.1%})"

    def summary(self, result: JointModel) -> list[str]:
        reached = f"{result.starts_reached} of {result.starts} start{'s' if result.starts > 1 else ''}"
        return [
            self.answer(result),
            *result.data_lines(),
            f"reference system {result.reference}; {result.status}; {reached} reached this optimum"
            + ("; confirm with more --starts" if 2 * result.starts_reached <= result.starts else ""),
            _fit_line(result.statistics),
            _error_line(result.statistics),
        ]

    def next_command(self, result: JointModel) -> str:
        file = existing_file(result.origin.source)
        return f"perf rank {file}" if file and not result.ranking else ""

    def caveats(self, result: JointModel) -> dict[str, Sequence[str]]:
        lines = []
        if result.status in (JointStatus.NOT_CONVERGED.value, JointStatus.NO_REFERENCE.value):
            lines.append("warning: model not usable for prediction")
        spread = _spread_of_cells(result)
        if spread > _WIDE_SCALE and not result.relative:
            lines.append(
                f"values span x{spread:,.0f}, so the largest dominate the fit; reduce with --operations and --peak, "
                "or use --weights relative"
            )
        if any(result.undetermined):
            names = [n for n, open_ in zip(result.parameter_names, result.undetermined, strict=True) if open_]
            shown = ", ".join(names[:12]) + (", ..." if len(names) > 12 else "")
            lines.append(f"individually not identifiable: {shown}")
        if result.left_out and (unknown := int(np.isnan(result.left_out_errors()).sum())):
            of_all = "no pair is" if unknown == len(result.left_out) else f"{unknown} observations are not"
            lines.append(f"cross-validation: {of_all} identifiable from the other pairs")
        if result.dropped:
            lines.append(f"outliers dropped: {'; '.join(result.dropped)}")
        cells = len({*zip(result.observations.code, result.observations.system, strict=True)})
        if result.origin.options["intervals"] == "bootstrap" and cells < _FEW_CELLS:
            lines.append(f"bootstrap intervals from {cells} pairs are too narrow; use --intervals profile")
        wide = [
            p.name for p in result.parameters if p.standard_error and p.standard_error > _FAR_APART * abs(p.estimate)
        ]
        if wide and not result.intervals:
            shown = ", ".join(wide[:6]) + (", ..." if len(wide) > 6 else "")
            lines.append(f"standard error above the estimate: {shown} (try --intervals profile)")
        return {"Uncertain": lines}

    def tables(self, result: JointModel) -> Tables:
        parameters = _parameters(result)
        return [
            _work_and_speed(result),
            replace(parameters, importance="verbose"),
            _cells(result),
            *_outliers(result, "Outliers (studentized residuals; drop with --drop-outliers)"),
            *_correlations(result),
            *_ranking(result, "Model selection", _MOST_JOINT_CANDIDATES),
            replace(parameters, title="", importance="data"),
        ]
