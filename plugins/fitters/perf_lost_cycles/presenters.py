"""How models by category are shown: as tables and pictures, and on a page from the overview of R^2 down to one fit."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from perf_lost_cycles.lca.model import LcaModel
from perf_lost_cycles.modgen.model import ModgenModel
from perf_lost_cycles.options import CRITERIA
from perf_lost_cycles.pictures import POOR_R2, category_figures, overview, shares
from perf_views.names import existing_file
from perfcore.results import Column, Panels, Presenter, Table, Tables

if TYPE_CHECKING:
    from perf_lost_cycles.lca.categories import CategoryFit, DefaultFit
    from perf_lost_cycles.views.category_views import LostCyclesViews


_WHY = {
    "loo": "it predicts better than R^2, which rewards every further coefficient",
    "adjusted": "it charges for every coefficient",
}


def _candidates(fit: CategoryFit, factor: str) -> Table:
    columns = [
        Column("model", [each.form(factor) for each in fit.candidates]),
        *_fit_columns(fit.candidates),
        Column("note", [each.note for each in fit.candidates]),
        Column("where the form comes from", [each.origin for each in fit.candidates]),
    ]
    return Table(columns, title=f"All default models of {fit.category}")


def _fit_columns(fits: Sequence[DefaultFit]) -> list[Column]:
    return [
        Column("coefficients ± SE", [_coefficients(fit) for fit in fits], key=()),
        Column("R^2", [fit.r2 for fit in fits], format=_plain, key="r2_centered"),
        Column("adjusted R^2", [fit.r2_adjusted for fit in fits], format=_plain, key="r2_adjusted"),
        Column("leave-one-out R^2", [fit.r2_leave_one_out for fit in fits], format=_plain, key="r2_leave_one_out"),
    ]


def _coefficients(fit: DefaultFit) -> str:
    return ", ".join(
        "-" if coefficient is None else f"{coefficient:.4g}" + ("" if error is None else f" ± {error:.2g}")
        for coefficient, error in zip(fit.coefficients, fit.standard_errors, strict=True)
    )


def _plain(value: float) -> str:
    return f"{value:.3f}".replace("-0.000", "0.000")


_MOST_SHOWN = 40
_DIGITS = 4  # of coefficients in the short form
_NOTABLE = 0.01  # share of the total below which a badly fitted category does no harm


def _constants(model: ModgenModel) -> tuple[list[bool], list[float]]:
    """Whether each category is the same at all points, and its median relative error where it was measured."""
    measured, _ = model.measured()
    each, _ = model.predicted()
    with np.errstate(divide="ignore", invalid="ignore"):
        errors = np.where(measured > 0.0, np.abs(each / measured - 1.0), np.nan)
    flat, medians = [], []
    for values, error in zip(each.T, errors.T, strict=True):
        known = values[np.isfinite(values)]
        flat.append(known.size > 0 and bool(np.ptp(known) <= 1e-9 * np.abs(known).max()))
        medians.append(float(np.median(error[np.isfinite(error)])) if np.isfinite(error).any() else 0.0)
    return flat, medians


def _shown(value: float | int | str | None) -> str:
    return f"{value:.4f}" if isinstance(value, float) else "-"


def _largest_first(fits: Sequence[Any], share: Any, error: Any, result: ModgenModel) -> Table:
    order = np.argsort(-share, kind="stable").tolist()
    columns = [
        Column("category", [fits[k].name for k in order]),
        Column("share", share[order], format=".1%"),
        Column("leave-one-out R^2", [fits[k].r2_leave_one_out for k in order], format=".3f"),
        Column("error of total", error[order], format=".2%"),
        Column("model", [fits[k].text(result.shown_names, _DIGITS) for k in order]),
    ]
    return Table(columns, importance="brief")


def _sortable(value: float | None) -> float:
    return float("inf") if value is None else value


class _CategoryPresenter(Presenter):
    def views(self, result: LcaModel | ModgenModel, data: Any = None, file: Path | None = None) -> LostCyclesViews:
        from perf_lost_cycles.views.category_views import LostCyclesViews

        return LostCyclesViews(result, file)


class LcaPresenter(_CategoryPresenter):
    """Text, tables, picture and page of `LcaModel`."""

    def title(self, result: LcaModel) -> str:
        held_text = "".join(f", {symbol}={value:g}" for symbol, value in result.held.items())
        categories = "1 category" if len(result.fits) == 1 else f"{len(result.fits)} categories"
        return f"{categories} of {Path(result.origin.source).name} over {result.column}{held_text}"

    def answer(self, result: LcaModel) -> str:
        part, factor = shares(result), result.factor_name
        largest = max(range(len(result.fits)), key=lambda k: part[k])
        fit = result.fits[largest]
        model, unit = fit.model.text(factor, _DIGITS), f" {result.unit}" if result.unit else ""
        return f"{fit.category} is {part[largest]:.0%} of the time, {model}{unit} ({self.title(result)})"

    def next_command(self, result: LcaModel) -> str:
        part, file = shares(result), existing_file(result.origin.source)
        largest = result.fits[max(range(len(result.fits)), key=lambda k: part[k])].category
        return f"perf fit {file} --fitter lca --show {shlex.quote(largest)}" if file else ""

    def summary(self, result: LcaModel) -> list[str]:
        figures, options = result.statistics, result.origin.options
        unit = f" [{result.unit}]" if result.unit else ""
        over = result.column if result.factor_name == result.column else f"{result.factor}={result.column}"
        fixed = "".join(f", {symbol} held at {value:g}" for symbol, value in result.held.items())
        criterion = str(options["criterion"])
        return [
            self.answer(result),
            f"{figures['n_points']} points of {result.value_name}{unit} over {over}{fixed}; "
            f"weights: {options['weights']}; default models: {', '.join(options['models'])}",
            f"selected by {criterion}, {CRITERIA[criterion]}" + (f": {_WHY[criterion]}" if criterion in _WHY else ""),
            *result.notes,
            "sum of the categories: "
            + ("" if figures["r2_centered"] is None else f"R^2 centered {figures['r2_centered']:.5f}, ")
            + f"relative error: median {figures['median_relative_error'] or 0:.1%}, "
            f"max {figures['max_relative_error'] or 0:.1%}",
        ]

    def tables(self, result: LcaModel) -> Tables:
        part, factor = shares(result), result.factor_name
        order = sorted(range(len(result.fits)), key=lambda k: -part[k])
        fits = [result.fits[k].model for k in order]
        columns = [
            Column("category", [result.fits[k].category for k in order]),
            Column("share", [part[k] for k in order], format=".1%"),
            Column(f"model over {factor}", [fit.form(factor) for fit in fits], key=()),
            Column("formula", [fit.text(factor) for fit in fits], importance="data"),
            *_fit_columns(fits),
            Column("note", [fit.note for fit in fits], key=()),
        ]
        categories = Table(columns, title="Best default model by category", importance="verbose")
        model = Column("model", [fit.text(factor, _DIGITS) for fit in fits], result.unit or "")
        brief = [*columns[:2], model, *columns[5:6], *columns[7:8]]
        shown = [fit for fit in result.fits if fit.category == result.origin.options.get("show")]
        candidates = (_candidates(fit, factor) for fit in shown)
        brief_table, data = Table(brief, importance="brief"), replace(categories, title="", importance="data")
        return [brief_table, categories, *candidates, data]

    def heading(self, result: LcaModel, data: Any = None) -> str:
        from perf_lost_cycles.pictures import left_out_text

        return self.title(result) + left_out_text(result)

    def panels(self, result: LcaModel, data: Any = None) -> Panels:
        from perf_lost_cycles.pictures import lca_panels

        return lca_panels(result)


class ModgenPresenter(_CategoryPresenter):
    """Text, tables, picture and page of `ModgenModel`."""

    def title(self, result: ModgenModel) -> str:
        categories = "1 category" if len(result.categories) == 1 else f"{len(result.categories):,} categories"
        return f"{categories} over {', '.join(result.columns.values())} of {Path(result.origin.source).name}"

    def answer(self, result: ModgenModel) -> str:
        share, _ = category_figures(result)
        largest = int(np.argmax(share))
        fit, median = result.categories[largest], result.statistics["median_relative_error"]
        formula = fit.text(result.shown_names, _DIGITS)
        return f"{fit.name} is {share[largest]:.0%} of the time, {formula}; median error of the total {median:.1%}"

    def next_command(self, result: ModgenModel) -> str:
        file, parameters = existing_file(result.origin.source), ",".join(result.columns.values())
        if not file or result.set_aside:
            return ""
        return f"perf fit {file} --fitter modgen --parameter {shlex.quote(parameters)} --holdout 20%"

    def caveats(self, result: ModgenModel) -> dict[str, Sequence[str]]:
        shares, _ = category_figures(result)
        flat, errors = _constants(result)
        notable = (shares >= _NOTABLE).tolist()
        poor = [
            fit.name
            for fit, is_notable, is_flat in zip(result.categories, notable, flat, strict=True)
            if fit.r2_centered is not None and fit.r2_centered < POOR_R2 and is_notable and not is_flat
        ]
        constant = [
            (error, fit.name)
            for fit, error, is_notable, is_flat in zip(result.categories, errors, notable, flat, strict=True)
            if is_notable and is_flat
        ]
        lines = []
        if poor:
            more = f" and {len(poor) - 8} more" if len(poor) > 8 else ""
            limits = f"R^2 < {POOR_R2:g}, >= {_NOTABLE:.0%} of time"
            lines.append(f"poor fits ({limits}): {', '.join(poor[:8])}{more}")
        if constant:
            more = f" and {len(constant) - 8} more" if len(constant) > 8 else ""
            names = ", ".join(f"{name} ({error:.1%})" for error, name in sorted(constant, reverse=True)[:8])
            lines.append(f"constant, R^2 undefined (median error): {names}{more}")
        return {"Uncertain": lines}

    def summary(self, result: ModgenModel) -> list[str]:
        figures, options = result.statistics, result.origin.options
        unit = f" [{result.unit}]" if result.unit else ""
        shown = result.shown_names
        over = ", ".join(shown[s] if shown[s] == c else f"{s}={c}" for s, c in result.columns.items())
        lines = [
            self.answer(result),
            f"{figures['n_points']:,} points of {result.value_name}{unit} over {over}, weights: {options['weights']}",
            f"model selection by {options['criterion']}: {CRITERIA[options['criterion']]}",
            f"total: R^2 centered {_shown(figures['r2_centered'])}; relative error: median "
            f"{figures['median_relative_error']:.1%}, max {figures['max_relative_error']:.1%}; "
            f"{figures['n_parameters']:,} parameters",
        ]
        if result.set_aside:
            lines.append(
                f"{figures['n_set_aside']:,} held-out points (seed {options['seed']}): R^2 centered "
                f"{_shown(figures['r2_set_aside_centered'])}; relative error: median "
                f"{figures['set_aside_median_relative_error']:.1%}, max "
                f"{figures['set_aside_max_relative_error']:.1%}"
            )
        left_out = {
            factor.symbol: factor.left_out for each in result.generations for factor in each.factors if factor.left_out
        }
        if left_out:
            counts = ", ".join(f"{count} of {shown[symbol]}" for symbol, count in left_out.items())
            lines.append(f"skipped slices (fewer than three levels): {counts}")
        return [*lines, *result.notes]

    def tables(self, result: ModgenModel) -> Tables:
        order = sorted(range(len(result.categories)), key=lambda k: _sortable(result.categories[k].r2_centered))
        share, error = (values[order] for values in category_figures(result))
        fits = [result.categories[k] for k in order]
        lines = [
            Column(result.shown_names.get(name, name), [values[k] for k in order], format=".4f", key=f"r2_{shown}")
            for name, values in overview(result).items()
            for shown in [result.shown_names.get(name, name)]
        ]
        category = Column("category", [fit.name for fit in fits])
        formula = Column("formula", [fit.text(result.shown_names) for fit in fits])
        of_all = [
            Column("all points", [fit.r2_centered for fit in fits], format=".4f", key="r2_centered"),
            Column("leave-one-out R^2", [fit.r2_leave_one_out for fit in fits], format=".4f", key="r2_leave_one_out"),
        ]
        sizes = [Column("share", share, format=".1%"), Column("error of total", error, format=".2%")]
        kept = f" (the worst {_MOST_SHOWN} of {len(fits):,}; --json has all)" if len(fits) > _MOST_SHOWN else ""
        title = f"R^2 by category, averaged over 1-D slices and level combinations{kept}"
        return [
            _largest_first(fits, share, error, result),
            Table([category, *lines, *of_all], title=title, limit=_MOST_SHOWN, drops_empty=False, importance="verbose"),
            Table([category, *sizes, formula], title=f"Models{kept}", limit=_MOST_SHOWN, importance="verbose"),
            Table([category, *sizes, *lines, *of_all, formula], importance="data"),
        ]

    def panels(self, result: ModgenModel, data: Any = None) -> Panels:
        from perf_lost_cycles.pictures import modgen_panels

        return modgen_panels(result)
