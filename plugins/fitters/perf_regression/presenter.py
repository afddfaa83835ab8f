"""How regressions are shown: coefficients with tests, the fit over its data, residuals and influence."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

import numpy as np

from perf_formulas.formula import Formula
from perf_regression.regression import RegressionModel
from perf_regression.usl import Derived
from perf_views.colours import DARK, MODEL, RULE, SERIES
from perfcore.hooks.options import describe
from perfcore.hooks.registry import registry
from perfcore.results import Column, Presenter, Table, Tables

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import pandas as pd
    from matplotlib.axes import Axes

_MOST_ROWS = 12
_SIGNIFICANT, _UNEQUAL = 0.05, 0.01  # p-values, of coefficients and of Breusch and Pagan's test
_INFLUENTIAL = 1.0  # Cook's distance: R. D. Cook and S. Weisberg, "Residuals and Influence in Regression", 1982


class RegressionPresenter(Presenter):
    """Text, tables and panels of a `RegressionModel`."""

    def title(self, result: RegressionModel) -> str:
        return f"{result.value_name} by {result.origin.fitter}, {Path(result.origin.source).name}"

    def formula(self, result: RegressionModel) -> str:
        formula = Formula(str(result.options.formula))
        if len(result.groups) == 1:
            estimates = zip(result.coefficients, result.groups[0].estimates, strict=True)
            formula = formula.substituted({name: Formula(f"{value:.4g}") for name, value in estimates})
        return f"{result.value_name} = {formula.canonical.replace('+ -', '- ')}"

    def answer(self, result: RegressionModel) -> str:
        figures = [result.figures(group) for group in result.groups]
        unit = f" {result.unit}" if result.unit else ""

        def median(name: str) -> float:
            return float(np.median([each.get(name, np.nan) for each in figures]))

        error = f"{median('relative_error'):.2%}" if result.is_relative else f"{median('residual_error'):.3g}{unit}"
        texts = [f"error {error}"]
        if np.isfinite(left_out := median("leave_one_out_rmse")):
            texts.append(f"leave-one-out {left_out:.3g}{unit}")
        r2 = median("r2_centered" if result.options.quantile is None else "pseudo_r2_centered")
        texts.append(f"R² {r2:.{4 if r2 < 0.9999 else 6}f}")
        runs = f"{sum(len(group.value) for group in result.groups):,} runs"
        of = runs if len(figures) == 1 else f"medians of {len(figures)} fits, {runs}"
        return f"{self.formula(result)} ({', '.join(texts)}; {of})"

    def tables(self, result: RegressionModel) -> Tables:
        rows = []
        for group in result.groups:
            found = result.estimates[group.names]
            parts = group.estimates, found.bse, found.tvalues, found.pvalues, found.intervals
            tests = zip(result.coefficients, *(np.asarray(part).tolist() for part in parts), strict=True)
            rows += [(*group.names, *test) for test in tests]
        names = ["coefficient", "estimate", "standard error", "t", "p-value"]
        keys = ["coefficient", "estimate", "standard_error", "t", "p_value"]
        columns = [Column(name, k) for k, name in enumerate(result.options.by)]
        for k, (name, key) in enumerate(zip(names, keys, strict=True), len(columns)):
            columns.append(Column(name, k, format=".3g" if k > len(result.options.by) + 1 else "", key=key))
        columns.append(Column("95% interval", len(columns), format=".4g", key=("lower", "upper")))
        return [Table(columns, rows, limit=_MOST_ROWS)]

    def caveats(self, result: RegressionModel) -> dict[str, Sequence[str]]:
        options, influence = result.options, result.influence()
        spread = {"equal": "equal variance", "relative": "equal relative variance"}
        errors = f"independent errors of {spread.get(options.weights, f'variance by {options.weights}')}"
        if options.family == "gamma":
            errors = "independent errors with a gamma distribution"
        if options.errors != "classical" or options.quantile is not None:
            column = options.errors.partition(":")[2]
            errors = (
                f"errors independent between values of {column}" if column else "independent errors of any variance"
            )
        assumed = [f"{symbol} is {column}" for symbol, column in result.columns.items() if symbol != column]
        open_ = []
        if len(result.groups) == 1:
            for name, p in zip(result.coefficients, result.estimates[result.groups[0].names].pvalues, strict=True):
                open_ += [] if p < _SIGNIFICANT else [f"{name} is not distinguishable from 0 (p-value {p:.2g})"]
        if "cooks_distance" in influence and (strong := influence[influence["cooks_distance"] > _INFLUENTIAL]).size:
            run = strong.sort_values("cooks_distance").iloc[-1]
            names = [*options.by, *result.columns]
            place = ", ".join(f"{result.shown_names[n]}={run[n] if n in options.by else f'{run[n]:g}'}" for n in names)
            open_.append(f"{place} decides the fit (Cook's distance {run['cooks_distance']:.2g})")
        if (p := breusch_pagan(result)) < _UNEQUAL:
            open_.append(f"errors of unequal variance (Breusch-Pagan p-value {p:.1g}); see --weights and --errors")
        failed = [f"{name}: {reason}" for name, reason in [*result.failures.items()][:3]]
        failed += [f"{len(result.failures) - 3} more"] if len(result.failures) > 3 else []
        if options.start:
            assumed.append("linearized intervals")
        return {"Assumed": [errors, *assumed], "Uncertain": open_, "Not fitted": failed}

    def next_command(self, result: RegressionModel) -> str:
        words, given = [], result.origin.options
        for field in describe(registry().entry("fitters", result.origin.fitter).load_options()):
            if (value := given[field.name]) and value != field.default:
                words += [field.flag, ",".join(value) if isinstance(value, (tuple, list)) else str(value)]
        if breusch_pagan(result) < _UNEQUAL:
            words += ["--errors", "HC3"]
        command = " ".join(map(quote, ["perf", "fit", result.origin.source, "--fitter", result.origin.fitter, *words]))
        return f"{command} -o model.json --plot fit.png" if Path(result.origin.source).exists() else ""

    def panels(self, result: RegressionModel, data: Any = None) -> dict[str, Callable[[Axes], None]]:
        influence = result.influence()
        kinds = ("residuals", "normal quantiles", *(["influence"] if "leverage" in influence else []))
        panels: dict[str, Callable[[Axes], None]] = {"fit": partial(_draw_fit, result, data)}
        return panels | {kind: partial(_draw_residuals, influence, kind) for kind in kinds}


class UslPresenter(RegressionPresenter):
    """Text, tables and panels of a `UslModel`."""

    def answer(self, result: Any) -> str:
        found = {each.name.partition(" ")[0]: each for each in result.derived()}
        unit, is_time = f" {result.unit}" if result.unit else "", result.quantity == "time"
        if result.has_peak and len(found) > 2:
            what = "Time is shortest" if is_time else "Throughput peaks"
            return f"{what} at p = {_with_interval(found['p*'])}: {_with_interval(found['peak'])}{unit}"
        if "limit" not in found:  # sigma is 0
            return f"{'Speedup' if is_time else 'Throughput'} is linear in p: contention and coherency are 0"
        limit = f"{_with_interval(found['limit'])}{unit}"
        return f"No {result.quantity} peak: kappa is not distinguishable from 0 (Amdahl); limit {limit}"

    def tables(self, result: Any) -> Tables:
        meanings = "gamma (throughput at p = 1)", "sigma (contention)", "kappa (coherency)"
        law, estimates = result.estimates[()], result.groups[0].estimates
        tests = zip(meanings, estimates, law.bse.tolist(), law.intervals.tolist(), strict=True)
        rows = [*tests, *((each.name, each.value, None, each.interval) for each in result.derived())]
        columns = [Column("quantity", 0), Column("estimate", 1), Column("standard error", 2, format=".3g")]
        return [Table([*columns, Column("95% interval", 3, format=".4g", key=("lower", "upper"))], rows)]

    def caveats(self, result: Any) -> dict[str, Sequence[str]]:
        caveats = super().caveats(result)
        largest, found = result.ranges["p"][1], {each.name.partition(" ")[0]: each for each in result.derived()}
        open_ = [text for text in caveats["Uncertain"] if "distinguishable" not in text]
        if result.has_peak and found["p*"].value > largest:
            open_.append(f"the peak lies beyond the data, which end at p = {largest:g}")
        if result.groups[0].estimates[1] < 0.0:
            open_.append("contention is negative: speedup is superlinear at small p")
        return {"Assumed": [f"{result.quantity}s", *caveats["Assumed"]], "Uncertain": open_}

    def panels(self, result: Any, data: Any = None) -> dict[str, Callable[[Axes], None]]:
        panels = super().panels(result, data)
        peaks = [each.value for each in result.derived() if each.name.startswith("p*")] if result.has_peak else []

        def draw(axes: Axes) -> None:
            _draw_fit(result, data, axes)
            for peak in peaks:
                axes.axvline(peak, color=RULE, linestyle=":", label="peak")
            axes.legend(fontsize="x-small")

        return panels | {"fit": draw}


def _with_interval(derived: Derived) -> str:
    low, high = derived.interval
    return f"{derived.value:.4g} (95% CI {f'{low:.4g} to {high:.4g}' if np.isfinite(high) else f'above {low:.4g}'})"


def breusch_pagan(result: RegressionModel) -> float:
    """The p-value that errors are of equal variance (T. S. Breusch and A. R. Pagan, 1979, by R. Koenker's score).

    1 where the regression does not assume it, of several groups, and of fewer than 10 runs.
    """
    from scipy.stats import chi2

    options, group = result.options, result.groups[0]
    assumes = options.errors == "classical" and options.robust is None and options.quantile is None
    if len(result.groups) > 1 or len(group.value) < 10 or not assumes or options.family == "gamma":
        return 1.0
    squares, fitted = result.estimates[group.names].results.wresid ** 2, result.influence()["fitted"].to_numpy()
    if np.ptp(fitted) == 0.0 or np.ptp(squares) == 0.0:
        return 1.0
    return float(chi2.sf(len(squares) * np.corrcoef(squares, fitted)[0, 1] ** 2, 1))


def _draw_fit(result: RegressionModel, data: Any, axes: Axes) -> None:
    if len(result.columns) > 1:
        influence = result.influence()
        axes.plot(influence["fitted"], influence["value"], "o", color=DARK, markersize=3, label="measured")
        axes.axline((0.0, 0.0), slope=1.0, color=MODEL, label="model")
        axes.set(xlabel="fitted", ylabel=result.value_name)
        return
    (symbol,) = result.columns
    low, high = result.ranges[symbol]
    places = np.geomspace(low, high, 200) if low > 0.0 else np.linspace(low, high, 200)
    for k, group in enumerate(result.groups[: len(SERIES)]):
        at = {symbol: places, **dict(zip(result.options.by, group.names, strict=True))}
        color, label = (SERIES[k], " ".join(group.names)) if result.options.by else (MODEL, "model")
        axes.plot(group.points[symbol], group.value, "o", color=color if result.options.by else DARK, markersize=3)
        axes.plot(places, result.predict(at), color=color, label=label)
        if not result.options.by:
            for values, name in (
                (result.confidence(at), "95% CI (mean)"),
                (result.predict(at, 0.95), "95% PI (one run)"),
            ):
                axes.fill_between(places, values[:, 1], values[:, 2], color=color, alpha=0.2, linewidth=0, label=name)
    if data is not None:
        observed = result.observed(data)
        axes.plot(observed.points[symbol], observed.value, "o", color=DARK, fillstyle="none", label="measured")
    is_positive = low > 0.0 and min(min(group.value) for group in result.groups) > 0.0
    scale = "log" if is_positive else "linear"
    unit = f" [{result.unit}]" if result.unit and not result.value_name.endswith("]") else ""
    axes.set(xscale=scale, yscale=scale, xlabel=result.columns[symbol], ylabel=f"{result.value_name}{unit}")
    axes.legend(fontsize="x-small")


def _draw_residuals(influence: pd.DataFrame, kind: str, axes: Axes) -> None:
    from scipy.stats import probplot

    name = "studentized" if "studentized" in influence else "residual"
    label = "residual" + " [standard errors]" * (name == "studentized")
    style: dict[str, Any] = {"color": DARK, "markersize": 3}
    if kind == "influence":
        axes.plot(influence["leverage"], influence["cooks_distance"], "o", **style)
        axes.axhline(_INFLUENTIAL, color=RULE, linestyle="--")
        axes.set(xlabel="leverage", ylabel="Cook's distance", xticks=[0.0, 0.5, 1.0])
    elif kind == "normal quantiles":
        (expected, ordered), (slope, intercept, _) = probplot(influence[name].dropna())
        axes.plot(expected, ordered, "o", **style)
        axes.axline((0.0, intercept), slope=slope, color=MODEL)
        axes.set(xlabel="normal quantile", ylabel=label)
    else:
        axes.plot(influence["fitted"], influence[name], "o", **style)
        axes.axhline(0.0, color=MODEL)
        axes.set(xlabel="fitted", ylabel=label)
