"""How timing models of codes on systems are shown: tables of pairs and parameters, panels of curves, residuals."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from perf_timing.individual.fits import LEAST_FREEDOM, PairFit, freedom_warning
from perf_timing.individual.model import IndividualModel
from perf_timing.joint.model import JointModel
from perf_timing.joint.solver import JointStatus
from perf_views.drawable import candidate_table
from perfcore.results import Column, Panels, Presenter, Table, Tables

if TYPE_CHECKING:
    from perf_timing.views import IndividualViews, JointViews


_MOST_PAIRS = 40
_MOST_CANDIDATES = 20


def _outliers(model: IndividualModel | JointModel, title: str) -> Tables:
    """The outliers, worst first."""
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
    return [Table(columns, title=title)] if len(places) else []


def _ranking(model: IndividualModel | JointModel, title: str, most: int) -> Tables:
    if not model.ranking:
        return []
    first = model.ranking[:most]
    return [candidate_table(first, f"{title} (the best {len(first)} of {len(model.ranking)})")]


def _worst_first(model: IndividualModel) -> list[PairFit]:
    return sorted(model.pairs, key=lambda pair: pair.r2_uncentered)


def _pairs(model: IndividualModel) -> Table:
    pairs = _worst_first(model)
    columns = [
        *([Column("code", "code")] if len(model.codes) > 1 else []),
        *([Column("system", "system")] if len(model.systems) > 1 else []),
        Column("points", "n_observations"),
        Column("functions", lambda pair: " + ".join(pair.functions) or "none"),
        Column("coefficients ± standard error", _coefficients_of),
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


def _cells(model: JointModel) -> Table:
    """The pairs, worst first."""
    observed, errors, left = model.observations, model.errors(), model.left_out_errors()
    cell = np.array(observed.code) * len(model.systems) + np.array(observed.system)
    pairs = []
    for number in np.unique(cell):
        mask = cell == number
        code, system = divmod(int(number), len(model.systems))
        defined = left[mask][np.isfinite(left[mask])]
        left_out = f"{defined.mean():.1%}" if len(defined) else "not determined"
        names = model.codes[code], model.systems[system]
        pairs.append((*names, int(mask.sum()), errors[mask].mean(), float(errors[mask].max()), left_out))
    pairs.sort(key=lambda pair: -pair[4])
    columns = [
        Column("code", 0),
        Column("system", 1),
        Column("points", 2),
        Column("mean error", 3, format=".1%"),
        Column("largest error", 4, format=".1%"),
        *([Column("mean error when left out", 5)] if model.left_out else []),
    ]
    more = "" if len(pairs) <= _MOST_CELLS else f" (the worst {_MOST_CELLS} of {len(pairs):,})"
    return Table(columns, pairs, title=f"Codes on systems{more}", limit=_MOST_CELLS)


def _correlations(model: JointModel) -> Tables:
    names = model.parameter_names
    if not 1 < len(names) <= _MOST_CORRELATED or model.covariance is None:
        return []
    matrix = model.correlation
    columns = [Column("", names, key="parameter")]
    for k in range(len(names)):
        values = [None if k > row else _finite(float(matrix[row, k])) for row in range(len(names))]
        columns.append(Column(str(k + 1), values, format=".2f"))
    return [Table(columns, title="Correlations of the parameters", drops_empty=False)]


def _end(value: float) -> str:
    return "open" if np.isinf(value) else f"{value:.4g}"


def _finite(value: float | None) -> float | None:
    return value if value is not None and np.isfinite(value) else None


def _shown(value: Any, form: str) -> str:
    return "-" if value is None or not np.isfinite(value) else format(value, form)


class _ScalingPresenter(Presenter):
    """The picture that both models have."""

    def heading(self, result: IndividualModel | JointModel, data: Any = None) -> str:
        """The title, and what a reader must know about the picture."""
        from perf_timing.pictures.panels import picture_heading

        return picture_heading(result, data)

    def panels(self, result: IndividualModel | JointModel, data: Any = None) -> Panels:
        """Measured points and models by code, residuals and their quantiles, and the parameters of a joint model."""
        from perf_timing.pictures.panels import scaling_panels

        return scaling_panels(result, data)


class IndividualPresenter(_ScalingPresenter):
    """Text, tables, picture and page of `IndividualModel`."""

    def title(self, result: IndividualModel) -> str:
        """How many pairs, and the source."""
        count = len(result.pairs)
        return f"{count} individual fit{'s' if count > 1 else ''} of {Path(result.origin.source).name}"

    def summary(self, result: IndividualModel) -> list[str]:
        """What was fitted, in which scale, and how well."""
        figures = result.statistics
        few = sum(pair.degrees_of_freedom < LEAST_FREEDOM for pair in result.pairs)
        return [
            result.title,
            *result.data_lines(),
            f"{figures['n_parameters']} parameters; SSE {figures['sse']:.6g} of {figures['sst_uncentered']:.6g}; "
            f"R^2 uncentered {figures['r2_uncentered']:.5f}"
            + ("" if figures["r2_centered"] is None else f", centered {figures['r2_centered']:.5f}"),
            f"relative error: mean {figures['mean_relative_error']:.1%}, largest {figures['max_relative_error']:.1%}",
            *([freedom_warning(few, len(result.pairs))] if few else []),
        ]

    def tables(self, result: IndividualModel) -> Tables:
        """The pairs, worst first, outliers, and the ranking that the functions were chosen from."""
        title = "The same functions for all pairs" if len(result.pairs) > 1 else "All models"
        return [
            _pairs(result),
            *_outliers(result, "Outliers, in standard errors of their own pair"),
            *_ranking(result, title, _MOST_CANDIDATES),
            _coefficients(result),
        ]

    def views(self, result: IndividualModel, data: Any = None, file: Path | None = None) -> IndividualViews:
        """The pairs with their R^2, curves, residuals."""
        from perf_timing.views import IndividualViews

        return IndividualViews(result, data)


class JointPresenter(_ScalingPresenter):
    """Text, tables, picture and page of `JointModel`."""

    def title(self, result: JointModel) -> str:
        """The functions, and the source."""
        return f"Joint model {' + '.join(result.functions)} of {Path(result.origin.source).name}"

    def summary(self, result: JointModel) -> list[str]:
        """What was fitted, in which scale, how well, and how it predicts."""
        figures = result.statistics
        lines = [
            result.title,
            *result.data_lines(),
            f"reference system: {result.reference}; {result.status}; {result.starts_reached} of {result.starts} "
            f"start{'s' if result.starts > 1 else ''} came to this optimum"
            + ("; more --starts make it surer" if 2 * result.starts_reached <= result.starts else ""),
            f"{figures['n_parameters']} parameters; SSE {figures['sse']:.6g} of {figures['sst_uncentered']:.6g}; "
            f"R^2 uncentered {_shown(figures['r2_uncentered'], '.5f')}, "
            f"centered {_shown(figures['r2_centered'], '.5f')}",
            f"relative error: mean {figures['mean_relative_error']:.1%}, largest {figures['max_relative_error']:.1%}",
        ]
        spread = _spread_of_cells(result)
        if spread > _WIDE_SCALE and not result.relative:
            lines.append(
                f"codes and systems differ by a factor of {spread:,.0f} in this scale, so that the largest decide the "
                "fit; --operations and --peak bring them closer, or --weights relative counts relative errors"
            )
        if result.left_out:
            unknown = int(np.isnan(result.left_out_errors()).sum())
            text = "each code on each system predicted from all others: "
            if unknown == len(result.left_out):
                text += "none is determined by the others"
            else:
                text += (
                    f"relative error mean {figures['mean_relative_error_left_out_cells']:.1%}, largest "
                    f"{figures['max_relative_error_left_out_cells']:.1%}"
                )
                text += f" ({unknown} observations are not determined by the others)" if unknown else ""
            lines.append(text)
        if result.dropped:
            lines.append(f"left out as outliers: {'; '.join(result.dropped)}")
        if any(result.undetermined):
            names = [n for n, open_ in zip(result.parameter_names, result.undetermined, strict=True) if open_]
            lines.append(f"not determined one by one: {', '.join(names[:12])}{', ...' if len(names) > 12 else ''}")
        if result.status in (JointStatus.NOT_CONVERGED.value, JointStatus.NO_REFERENCE.value):
            lines.append("warning: do not use this model for predictions")
        cells = len({*zip(result.observations.code, result.observations.system, strict=True)})
        if result.origin.options["intervals"] == "bootstrap" and cells < _FEW_CELLS:
            lines.append(
                f"bootstrap intervals from {cells} pairs are too narrow; --intervals profile does not need many"
            )
        wide = [
            p.name for p in result.parameters if p.standard_error and p.standard_error > _FAR_APART * abs(p.estimate)
        ]
        if wide and not result.intervals:
            lines.append(
                f"standard errors as large as the values: {', '.join(wide[:6])}{', ...' if len(wide) > 6 else ''}; "
                "--intervals profile shows what the data really say about them"
            )
        return lines

    def tables(self, result: JointModel) -> Tables:
        """Parameters, cells, outliers, correlations, and the ranking that the functions were chosen from."""
        parameters = _parameters(result)
        return [
            parameters,
            _cells(result),
            *_outliers(result, "Outliers, in standard errors (kept; --drop-outliers fits without them)"),
            *_correlations(result),
            *_ranking(result, "Other combinations", _MOST_JOINT_CANDIDATES),
            replace(parameters, title="", importance="data"),
        ]

    def views(self, result: JointModel, data: Any = None, file: Path | None = None) -> JointViews:
        """The pairs, curves, work and speed, residuals."""
        from perf_timing.views import JointViews

        return JointViews(result, data)
