"""What regressions report: coefficients with tests, the fit over its data, residuals and influence."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

import numpy as np

from perf_formulas.formula import Formula
from perf_statistics.goodness import normal_quantiles
from perfcore.base import pd
from perfcore.hooks.options import describe
from perfcore.hooks.registry import registry
from perfcore.report import Axis, Band, Column, Figure, Line, Mark, Note, Plot, Points, Report, Rule, Table

if TYPE_CHECKING:
    from perf_regression.regression import RegressionModel
    from perf_regression.usl import Derived, UslModel

_MOST_ROWS = 12
_MOST_GROUPS = 8  # that are drawn
_SIGNIFICANT, _UNEQUAL = 0.05, 0.01  # p-values, of coefficients and of Breusch and Pagan's test
_INFLUENTIAL = 1.0  # Cook's distance: R. D. Cook and S. Weisberg, "Residuals and Influence in Regression", 1982


def report_of(model: RegressionModel, data: Any = None) -> Report:
    """Return the formula with its errors, the coefficients with tests, and plots of fit and residuals."""
    unequal = _breusch_pagan(model)
    figures = _fit_figures(model)
    runs = f"{sum(len(group.value) for group in model.groups):,} runs"
    of = runs if len(model.groups) == 1 else f"medians of {len(model.groups)} fits, {runs}"
    formula = _formula(model)
    words, given = [], model.origin.options
    for field in describe(registry().entry("fitters", model.origin.fitter).load_options()):
        if (value := given[field.name]) and value != field.default:
            words += [field.flag, ",".join(value) if isinstance(value, (tuple, list)) else str(value)]
    if unequal < _UNEQUAL:
        words += ["--errors", "HC3"]
    command = " ".join(map(quote, ["perf", "fit", model.origin.source, "--fitter", model.origin.fitter, *words]))
    return Report(
        title=f"{model.value_name} by {model.origin.fitter}, {Path(model.origin.source).name}",
        answer=f"{formula} ({', '.join(f'{each.name} {each.text}' for each in figures)}; {of})",
        figures=figures,
        tables=[_coefficients(model)],
        draw=lambda: _plots(model, data),
        notes=_notes(model, unequal),
        next=f"{command} -o model.json --plot fit.png" if Path(model.origin.source).exists() else "",
        formula=formula,
    )


def _fit_figures(model: RegressionModel) -> list[Figure]:
    """Return errors and R^2, medians over the groups."""
    figures, unit = [model.figures(group) for group in model.groups], model.unit or ""

    def median(name: str) -> float:
        return float(np.median([each.get(name, np.nan) for each in figures]))

    r2 = median("r2_centered" if model.options.quantile is None else "pseudo_r2_centered")
    found = [
        Figure("error", median("relative_error"), format=".2%", key="relative_error")
        if model.is_relative
        else Figure("error", median("residual_error"), unit, key="residual_error"),
        Figure("leave-one-out", median("leave_one_out_rmse"), unit, key="leave_one_out_rmse"),
        Figure("R²", r2, format=f".{4 if r2 < 0.9999 else 6}f", key="r2_centered"),
    ]
    return [each for each in found if np.isfinite(each.value)]


def _formula(model: RegressionModel) -> str:
    formula = Formula(str(model.options.formula))
    if len(model.groups) == 1:
        estimates = zip(model.coefficients, model.groups[0].estimates, strict=True)
        formula = formula.substituted({name: Formula(f"{value:.4g}") for name, value in estimates})
    return f"{model.value_name} = {formula.canonical.replace('+ -', '- ')}"


def _coefficients(model: RegressionModel) -> Table:
    rows = []
    for group in model.groups:
        found = model.estimates[group.names]
        parts = group.estimates, found.bse, found.tvalues, found.pvalues, found.intervals
        tests = zip(model.coefficients, *(np.asarray(part).tolist() for part in parts), strict=True)
        rows += [(*group.names, *test) for test in tests]
    names = (*model.options.by, "coefficient", "estimate", "standard error", "t", "p-value")
    columns = [Column(name, k, format=".3g" if k >= len(names) - 3 else "") for k, name in enumerate(names)]
    columns.append(Column("95% interval", len(columns), format=".4g", key=("lower", "upper")))
    return Table(columns, rows, limit=_MOST_ROWS)


def _notes(model: RegressionModel, unequal: float) -> list[Note]:
    options = model.options
    spread = {"equal": "equal variance", "relative": "equal relative variance"}
    errors = f"independent errors of {spread.get(options.weights, f'variance by {options.weights}')}"
    if options.family == "gamma":
        errors = "independent errors with a gamma distribution"
    if options.errors != "classical" or options.quantile is not None:
        column = options.errors.partition(":")[2]
        errors = f"errors independent between values of {column}" if column else "independent errors of any variance"
    assumed = [f"{symbol} is {column}" for symbol, column in model.columns.items() if symbol != column]
    open_ = []
    if len(model.groups) == 1:
        for name, p in zip(model.coefficients, model.estimates[model.groups[0].names].pvalues, strict=True):
            open_ += [] if p < _SIGNIFICANT else [f"{name} is not distinguishable from 0 (p-value {p:.2g})"]
    if options.robust is None and options.quantile is None:
        with np.errstate(all="ignore"):
            distances = [model.estimates[group.names].cooks_distance() for group in model.groups]
            group, distance = max(zip(model.groups, distances, strict=True), key=lambda each: np.fmax.reduce(each[1]))
        np.fmax(distance, 0.0, out=distance)
        if distance.max() > _INFLUENTIAL:
            run = dict(zip(options.by, group.names, strict=True))
            run |= {name: f"{numbers[int(distance.argmax())]:g}" for name, numbers in group.points.items()}
            place = ", ".join(f"{model.shown_names[name]}={text}" for name, text in run.items())
            open_.append(f"{place} decides the fit (Cook's distance {distance.max():.2g})")
    if unequal < _UNEQUAL:
        open_.append(f"errors of unequal variance (Breusch-Pagan p-value {unequal:.1g}); see --weights and --errors")
    failed = [f"{name}: {reason}" for name, reason in [*model.failures.items()][:3]]
    failed += [f"{len(model.failures) - 3} more"] if len(model.failures) > 3 else []
    if options.start:
        assumed.append("linearized intervals")
    by_label = {"Assumed": [errors, *assumed], "Uncertain": open_, "Not fitted": failed}
    return [Note(label, text) for label, texts in by_label.items() for text in texts]


def _plots(model: RegressionModel, data: Any) -> list[Plot]:
    """Return the fit over its data, and residuals, their quantiles and their influence."""
    influence = model.influence()
    name = "studentized" if "studentized" in influence else "residual"
    label = "residual" + " [standard errors]" * (name == "studentized")
    fitted, residuals = influence["fitted"].to_numpy(), influence[name].to_numpy()
    ordered = np.sort(residuals[np.isfinite(residuals)])
    quantiles, ends, line, _ = normal_quantiles(ordered)
    half: dict[str, Any] = {"height": 2.9, "width": 0.5}
    plots = [
        _fit_plot(model, influence, data),
        Plot("residuals", [Points(fitted, residuals, size=3.0), Rule([0.0], "y", colour="model", style="solid")],
             Axis("fitted", model.unit or ""), Axis(label), **half),
        Plot("normal quantiles", [Points(quantiles, ordered, size=3.0), Line(ends, line, colour="model")],
             Axis("normal quantile"), Axis(label), **half),
    ]  # fmt: skip
    if "leverage" in influence:
        marks: list[Mark] = [
            Points(influence["leverage"].to_numpy(), influence["cooks_distance"].to_numpy(), size=3.0),
            Rule([_INFLUENTIAL], "y", style="dashed"),
        ]
        plots.append(Plot("influence", marks, Axis("leverage", ticks=[0.0, 0.5, 1.0]), Axis("Cook's distance"), **half))
    return plots


def _fit_plot(model: RegressionModel, influence: pd.DataFrame, data: Any) -> Plot:
    """Return the model over its variable with both intervals; of several variables measured over fitted values."""
    unit = "" if model.value_name.endswith("]") else model.unit or ""
    whole: dict[str, Any] = {"height": 4.0, "width": 1.0}
    if len(model.columns) > 1:
        marks: list[Mark] = [
            Points(influence["fitted"].to_numpy(), influence["value"].to_numpy(), "measured", size=3.0),
            Rule(slope=1.0, label="model", colour="model", style="solid"),
        ]
        return Plot("fit", marks, Axis("fitted", unit), Axis(model.value_name, unit), **whole)
    (symbol,) = model.columns
    low, high = model.ranges[symbol]
    places = np.geomspace(low, high, 200) if low > 0.0 else np.linspace(low, high, 200)
    marks = []
    for k, group in enumerate(model.groups[:_MOST_GROUPS]):
        at = {symbol: places, **dict(zip(model.options.by, group.names, strict=True))}
        if model.options.by:
            marks += [
                Points(group.points[symbol], group.value, colour=f"series:{k}", size=3.0),
                Line(places, model.predict(at), " ".join(group.names), f"series:{k}"),
            ]
            continue
        predicted, mean = model.predict_array(at, 0.95), model.mean_array(at, 0.95)
        marks += [
            Band(places, predicted[:, 1], predicted[:, 2], "95% PI (one run)", opacity=0.15),
            Band(places, mean[:, 1], mean[:, 2], "95% CI (mean)", opacity=0.25),
            Line(places, predicted[:, 0], "model"),
            Points(group.points[symbol], group.value, "measured", size=3.0),
        ]
    observed = None if data is None else model.observed(data)
    if observed is not None and sorted(observed.value) != sorted(v for group in model.groups for v in group.value):
        marks.append(Points(observed.points[symbol], observed.value, "other runs", is_filled=False))
    is_positive = low > 0.0 and min(min(group.value) for group in model.groups) > 0.0
    scale: Any = "log" if is_positive else "linear"
    return Plot("fit", marks, Axis(model.columns[symbol], scale=scale), Axis(model.value_name, unit, scale), **whole)


def usl_report_of(model: UslModel, data: Any = None) -> Report:
    """Return where throughput peaks, the coefficients of the law, and what follows from them."""
    report, derived = report_of(model, data), model.derived()
    found = {each.name.partition(" ")[0]: each for each in derived}
    unit, is_time = model.unit or "", model.quantity == "time"

    def figure(name: str, called: str, unit: str) -> Figure:
        return Figure(called, found[name].value, unit, found[name].interval, "95% CI", ".4g", key=found[name].name)

    if model.has_peak and len(found) > 2:
        figures = [figure("p*", "p of the peak", ""), figure("peak", "peak", unit)]
        what = "Time is shortest" if is_time else "Throughput peaks"
        suffix = f" {unit}" if unit else ""
        answer = f"{what} at p = {_with_interval(found['p*'])}: {_with_interval(found['peak'])}{suffix}"
    elif "limit" in found:
        figures = [figure("limit", "limit", unit)]
        limit = f"{_with_interval(found['limit'])}{f' {unit}' if unit else ''}"
        answer = f"No {model.quantity} peak: kappa is not distinguishable from 0 (Amdahl); limit {limit}"
    else:  # sigma is 0
        figures = []
        answer = f"{'Speedup' if is_time else 'Throughput'} is linear in p: contention and coherency are 0"
    largest = model.ranges["p"][1]
    kept = [note for note in report.notes if note.label != "Uncertain" or "distinguishable" not in note.text]
    kept.insert(0, Note("Assumed", f"{model.quantity}s"))
    if model.has_peak and found["p*"].value > largest:
        kept.append(Note("Uncertain", f"the peak lies beyond the data, which end at p = {largest:g}"))
    if model.groups[0].estimates[1] < 0.0:
        kept.append(Note("Uncertain", "contention is negative: speedup is superlinear at small p"))

    def draw() -> list[Plot]:
        """Return the plots of the regression, with the peak."""
        first, *others = _plots(model, data)
        peaks = [found["p*"].value] if model.has_peak and "p*" in found else []
        return [replace(first, marks=[*first.marks, Rule(peaks, label="peak")]) if peaks else first, *others]

    return replace(
        report,
        answer=answer,
        figures=[*figures, figure("efficiency", "efficiency at the largest p", ""), *report.figures],
        tables=[_law(model, derived)],
        draw=draw,
        notes=kept,
    )


def _law(model: UslModel, derived: list[Derived]) -> Table:
    meanings = "gamma (throughput at p = 1)", "sigma (contention)", "kappa (coherency)"
    law, estimates = model.estimates[()], model.groups[0].estimates
    tests = zip(meanings, estimates, law.bse.tolist(), law.intervals.tolist(), strict=True)
    rows = [*tests, *((each.name, each.value, None, each.interval) for each in derived)]
    columns = [Column("quantity", 0), Column("estimate", 1), Column("standard error", 2, format=".3g")]
    return Table([*columns, Column("95% interval", 3, format=".4g", key=("lower", "upper"))], rows)


def _with_interval(derived: Derived) -> str:
    low, high = derived.interval
    return f"{derived.value:.4g} (95% CI {f'{low:.4g} to {high:.4g}' if np.isfinite(high) else f'above {low:.4g}'})"


def _breusch_pagan(model: RegressionModel) -> float:
    """Return the p-value that errors are of equal variance (Breusch and Pagan, 1979, by R. Koenker's score).

    1 if the regression does not assume it, of several groups, and of fewer than 10 runs.
    """
    from scipy.stats import chi2

    options, group = model.options, model.groups[0]
    assumes = options.errors == "classical" and options.robust is None and options.quantile is None
    if len(model.groups) > 1 or len(group.value) < 10 or not assumes or options.family == "gamma":
        return 1.0
    fitted = model.parametric.value_at(group.points, group.estimates)
    squares = model.estimates[group.names].results.wresid ** 2
    if np.ptp(fitted) == 0.0 or np.ptp(squares) == 0.0:
        return 1.0
    squares -= squares.mean()
    fitted -= fitted.mean()
    return float(chi2.sf(len(squares) * (squares @ fitted) ** 2 / (squares @ squares) / (fitted @ fitted), 1))
