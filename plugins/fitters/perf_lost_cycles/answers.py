"""What models by category report: where the time goes, how well each category is modelled, and plots of both."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from perf_lost_cycles.lca import LcaModel
from perf_lost_cycles.options import CRITERIA, LcaOptions, ModgenOptions
from perf_views.names import existing_file, shortened
from perfcore.base.arrays import Floats
from perfcore.hooks.options import to_dict
from perfcore.report import Axis, Band, Column, Figure, Line, Mark, Note, Plot, Points, Report, Rule, Table
from perfcore.tables import level_text, point_text

if TYPE_CHECKING:
    from perf_lost_cycles.modgen import ModgenModel

POOR_R2 = 0.9  # the paper's final models reach 0.93 or better
_MOST_SHOWN = 40
_DIGITS = 4  # of coefficients in the short form
_NOTABLE = 0.01  # share of the total below which a badly fitted category does no harm
_MOST_DRAWN = 12  # categories
_DRAWN_POINTS = 200
_MOST_COLOURS = 7  # candidates that have one of their own
_WIDEST_TITLE = 42  # letters in a line over one of three plots next to one another
_MOST_NAMED = 6  # categories with a colour of their own: the largest
_WIDEST_RANGE = 1e6  # the smallest categories would squeeze all others into a corner


def _fit_command(model: LcaModel | ModgenModel, asked: LcaOptions | ModgenOptions) -> str:
    """Return the command that fits the same data once more, with some options; empty if they came from no file."""
    file = existing_file(model.origin.source)
    if not file:
        return ""
    words, wanted = ["perf", "fit", file, "--fitter", model.origin.fitter], to_dict(asked)
    for name, usual in to_dict(type(asked)()).items():
        value = wanted[name] if wanted[name] != usual else model.origin.options.get(name, usual)
        if value == usual:
            continue
        text = ",".join(value) if isinstance(value, list) else f"{value:.0%}" if name == "set_aside" else str(value)
        words += ["--holdout" if name == "set_aside" else f"--{name}", shlex.quote(text)]
    return " ".join(words)


def _lca_tables(model: LcaModel, part: Sequence[float]) -> list[Table]:
    factor = model.factor_name
    order = sorted(range(len(part)), key=lambda k: -part[k])
    rows = [(model.names[k], part[k], model.default_fits[k][0]) for k in order]
    of_fit = [
        Column("coefficients ± SE", lambda row: ", ".join(row[2].constants(4)), key=()),
        Column("R^2", lambda row: row[2].r2, format=_plain, key="r2_centered"),
        Column("adjusted R^2", lambda row: row[2].r2_adjusted, format=_plain, key="r2_adjusted"),
        Column("leave-one-out R^2", lambda row: row[2].r2_leave_one_out, format=_plain, key="r2_leave_one_out"),
    ]
    form, note = (lambda row: row[2].form(factor)), (lambda row: row[2].note)
    columns = [
        Column("category", 0),
        Column("share", 1, format=".1%"),
        Column(f"model over {factor}", form, key=()),
        Column("formula", lambda row: row[2].text(factor), importance="data"),
        *of_fit,
        Column("note", note, key=()),
    ]
    categories = Table(columns, rows, title="Best default model by category", importance="verbose")
    formulas = Column("model", lambda row: row[2].text(factor, _DIGITS), model.unit or "")
    where = Column("where the form comes from", lambda row: row[2].model.origin)
    candidates = [
        Table([Column("model", form), *of_fit, Column("note", note), where],
              [(name, None, candidate) for candidate in fits], f"All default models of {name}")
        for name, fits in zip(model.names, model.default_fits, strict=True)
        if name == model.origin.options.get("show")
    ]  # fmt: skip
    brief = Table([*columns[:2], formulas, of_fit[1], of_fit[3]], rows, importance="brief")
    return [brief, categories, *candidates, replace(categories, title="", importance="data")]


def _plain(value: float) -> str:
    return f"{value:.3f}".replace("-0.000", "0.000")


def _lca_plots(model: LcaModel, part: Sequence[float]) -> list[Plot]:
    """Return ``curves`` of the largest category or of the one of ``show``, ``curves-2`` of the next."""
    selected = [k for k, name in enumerate(model.names) if name == model.origin.options.get("show")]
    drawn = selected or sorted(range(len(part)), key=lambda k: -part[k])[:_MOST_DRAWN]
    height = 4.1 if selected else 2.7 if len(drawn) > 2 else 0.0
    remainder = len(part) - len(drawn)
    note = f"the {len(drawn)} largest categories; {remainder} more" if remainder and not selected else ""
    return [
        replace(_category_plot(model, k, bool(selected)), name=f"curves-{number}" if number > 1 else "curves",
                height=height, note=note if number == 1 else "")
        for number, k in enumerate(drawn, 1)
    ]  # fmt: skip


def _category_plot(model: LcaModel, category: int, has_names: bool) -> Plot:
    """Return points and default models of a category, the chosen one heavy; with names in colours and with formulas."""
    levels, fits = model.fitted_points[model.factor], model.default_fits[category]
    over = np.geomspace(levels.min(), levels.max(), _DRAWN_POINTS)
    measured, spread = model.fitted_values[category], np.nan_to_num(model.category_table().spread[:, category])
    usable = [c for c in fits if None not in c.coefficients]
    marks: list[Mark] = []
    for number in range(len(usable) - 1, -1, -1):
        candidate = usable[number]
        r2 = "-" if candidate.r2 is None else f"{candidate.r2:.3f}"
        label = "chosen model" if number == 0 else "other default models"
        label = f"{candidate.text(model.factor_name)}   R^2 {r2}" if has_names else label
        colour = "model" if number == 0 else f"series:{number}" if has_names else "faint"
        style: Any = "dashed" if has_names and number >= _MOST_COLOURS else "solid"
        marks.append(Line(over, candidate.values(over), label, colour, style, 2.0 if number == 0 else 0.8))
    errors = {"low": measured - spread, "high": measured + spread} if spread.any() else {}
    marks.append(Points(levels, measured, "measured", **errors))
    top, bottom = np.nanmax(measured + spread), min(0.0, float(np.nanmin(measured - spread)))
    limits = (bottom - 0.03 * top, 1.15 * top) if top > 0 else (None, None)
    share = "" if fits[0].r2 is None else f"R^2 centered {fits[0].r2:.4f}"
    formula = shortened(fits[0].text(model.factor_name), 40)
    gap = "   " if len(formula) + len(share) <= _WIDEST_TITLE else "\n"
    return Plot(
        "curves",
        marks,
        Axis(model.factors[model.factor], scale="log", base=2, limits=(levels.min() / 1.1, levels.max() * 1.1)),
        Axis(model.value_name, model.unit or "", limits=limits),
        title=f"{shortened(model.names[category])}\n{formula}{gap if share else ''}{share}",
    )


def report_of(model: ModgenModel, data: Any = None) -> Report:
    """Return the largest category with its model, all categories, and how far the total is from the measured one."""
    categories = "1 category" if len(model.categories) == 1 else f"{len(model.categories):,} categories"
    (measured, total), (each, _) = model.measured(), model.predicted()
    shares = np.nansum(measured, axis=0) / max(total.sum(), np.finfo(float).tiny)  # of the total time
    largest, statistics = int(np.argmax(shares)), model.statistics
    fit = model.categories[largest]
    share = Figure(f"share of {fit.name}", float(shares[largest]), format=".0%", key="largest_share")
    median, worst = (
        Figure(f"{word} error of the total", statistics[key] or 0.0, format=".1%", key=key)
        for word, key in (("median", "median_relative_error"), ("largest", "max_relative_error"))
    )
    figures, key = [share, median, worst], "set_aside_median_relative_error"
    if model.set_aside:
        figures.append(Figure("median hold-out error", statistics[key], format=".1%", key=key))
    if isinstance(model, LcaModel):
        formula = model.default_fits[largest][0].text(model.factor_name, _DIGITS)
        tables, draw = _lca_tables(model, shares.tolist()), partial(_lca_plots, model, shares.tolist())
        following = "" if model.origin.options.get("show") else _fit_command(model, LcaOptions(show=fit.name))
    else:
        formula = fit.text(model.shown_names, _DIGITS)
        errors = np.nanmedian(np.abs(each - measured) / total[:, None], axis=0)  # as a share of the total of its point
        tables, draw = _modgen_tables(model, shares, errors), partial(_modgen_plots, model, shares)
        held_out = ModgenOptions(parameter=tuple(model.columns.values()), set_aside=0.2)
        following = "" if model.set_aside else _fit_command(model, held_out)
    held = [point_text(model.held)] if model.held else []
    return Report(
        title=f"{categories} over {', '.join([*model.factors.values(), *held])} of {Path(model.origin.source).name}",
        answer=f"{fit.name} is {share.text} of the time{' at ' * bool(held)}{', '.join(held)}, {formula}"
        f"{f' {model.unit}' if model.unit else ''}; "
        f"median error of the total {median.text}",
        figures=figures,
        tables=tables,
        draw=draw,
        notes=[Note("Uncertain", text) for text in _poor_fits(model, shares)],
        next=following,
        details=_details(model),
        formula=model.formula,
    )


def _poor_fits(model: ModgenModel, shares: Floats) -> list[str]:
    """Return notable categories that are fitted badly, or as constants."""
    measured, predicted = model.measured()[0].T, model.predicted()[0].T
    poor, constant = [], []
    for fit, share, values, times in zip(model.categories, shares.tolist(), predicted, measured, strict=True):
        if share < _NOTABLE:
            continue
        known, positive = values[np.isfinite(values)], times > 0.0
        if known.size and np.ptp(known) <= 1e-9 * np.abs(known).max():
            errors = np.abs(values[positive] / times[positive] - 1.0)
            errors = errors[np.isfinite(errors)]
            constant.append((float(np.median(errors)) if len(errors) else 0.0, fit.name))
        elif fit.r2_centered is not None and fit.r2_centered < POOR_R2:
            poor.append(fit.name)
    lines = []
    if poor:
        lines.append(f"poor fits (R^2 < {POOR_R2:g}, >= {_NOTABLE:.0%} of time): {_first(poor)}")
    if constant:
        names = [f"{name} ({error:.1%})" for error, name in sorted(constant, reverse=True)]
        lines.append(f"constant, R^2 undefined (median error): {_first(names)}")
    return lines


def _first(names: Sequence[str]) -> str:
    return ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")


def _details(model: ModgenModel) -> list[str]:
    figures, options = model.statistics, model.origin.options
    unit = f" [{model.unit}]" if model.unit else ""
    shown = model.shown_names
    over = [shown[s] if shown[s] == c else f"{s}={c}" for s, c in model.factors.items()]
    over += [f"{name} held at {level_text(value)}" for name, value in model.held.items()]
    lines = [
        f"{figures['n_points']:,} points of {model.value_name}{unit} over {', '.join(over)}, "
        f"weights: {options['weights']}",
        f"model selection by {options['criterion']}: {CRITERIA[options['criterion']]}",
        f"total: R^2 centered {_r2(figures['r2_centered'])}; relative error: median "
        f"{figures['median_relative_error'] or 0.0:.1%}, max {figures['max_relative_error'] or 0.0:.1%}; "
        f"{figures['n_parameters']:,} parameters",
    ]
    if model.set_aside:
        lines.append(
            f"{figures['n_set_aside']:,} held-out points (seed {options['seed']}): R^2 centered "
            f"{_r2(figures['r2_set_aside_centered'])}; relative error: median "
            f"{figures['set_aside_median_relative_error']:.1%}, max "
            f"{figures['set_aside_max_relative_error']:.1%}"
        )
    factors = (factor for each in model.generations for factor in each.factors)
    left_out = {factor.symbol: factor.left_out for factor in factors if factor.left_out}
    if left_out:
        counts = ", ".join(f"{count} of {shown[symbol]}" for symbol, count in left_out.items())
        lines.append(f"skipped slices (fewer than three levels): {counts}")
    return [*lines, *model.notes]


def _r2(value: float | int | str | None) -> str:
    return f"{value:.4f}" if isinstance(value, float) else "-"


def _modgen_tables(model: ModgenModel, shares: Floats, errors: Floats) -> list[Table]:
    r2 = [np.inf if fit.r2_centered is None else fit.r2_centered for fit in model.categories]
    order = sorted(range(len(r2)), key=lambda k: r2[k])
    share, error = shares[order], errors[order]
    fits = [model.categories[k] for k in order]
    lines = [
        Column(model.shown_names.get(name, name), [values[k] for k in order], format=".4f", key=f"r2_{shown}")
        for name, values in model.overview().items()
        for shown in [model.shown_names.get(name, name)]
    ]
    category = Column("category", [fit.name for fit in fits])
    formula = Column("formula", [fit.text(model.shown_names) for fit in fits])
    of_all = [
        Column("all points", [fit.r2_centered for fit in fits], format=".4f", key="r2_centered"),
        Column("leave-one-out R^2", [fit.r2_leave_one_out for fit in fits], format=".4f", key="r2_leave_one_out"),
    ]
    sizes = [Column("share", share, format=".1%"), Column("error of total", error, format=".2%")]
    kept = f" (the worst {_MOST_SHOWN} of {len(fits):,}; --json has all)" if len(fits) > _MOST_SHOWN else ""
    title = f"R^2 by category, averaged over 1-D slices and level combinations{kept}"
    largest = np.argsort(-share, kind="stable").tolist()
    brief = [
        Column("category", [fits[k].name for k in largest]),
        Column("share", share[largest], format=".1%"),
        Column("leave-one-out R^2", [fits[k].r2_leave_one_out for k in largest], format=".3f"),
        Column("error of total", error[largest], format=".2%"),
        Column("model", [fits[k].text(model.shown_names, _DIGITS) for k in largest]),
    ]
    return [
        Table(brief, importance="brief"),
        Table([category, *lines, *of_all], title=title, limit=_MOST_SHOWN, drops_empty=False, importance="verbose"),
        Table([category, *sizes, formula], title=f"Models{kept}", limit=_MOST_SHOWN, importance="verbose"),
        Table([category, *sizes, *lines, *of_all, formula], importance="data"),
    ]


def _modgen_plots(model: ModgenModel, shares: Floats) -> list[Plot]:
    """Return the model against its observations, relative errors of the total, and shares over a factor."""
    order = np.argsort(-shares, kind="stable")
    named, rest = order[:_MOST_NAMED], order[_MOST_NAMED:]
    parts = [([k], shortened(model.names[k]), f"series:{number}") for number, k in enumerate(named.tolist())]
    parts += [(rest.tolist(), f"{len(rest)} more", "faint")] if len(rest) else []
    total, predicted = model.measured()[1], model.predicted()[1]
    marks = [Rule([0.0], "y", style="solid"), *_total_points(model, predicted, predicted / total - 1.0)]
    x, y = Axis("model, total", model.unit or "", "log"), Axis("relative error of the total", format=".0%")
    return [_against(model, parts), Plot("residuals", marks, x, y), _share_areas(model, parts)]


def _total_points(model: ModgenModel, x: Floats, y: Floats) -> list[Mark]:
    """Return the totals of observations; those that were set aside are hollow."""
    aside = ~model.fitted
    marks: list[Mark] = [Points(x[~aside], y[~aside], "total", shape="square")]
    if aside.any():
        marks.append(Points(x[aside], y[aside], "total, set aside", shape="square", is_filled=False))
    return marks


def _against(model: ModgenModel, parts: Sequence[tuple[list[int], str, str]]) -> Plot:
    (measured, total), (each, predicted) = model.measured(), model.predicted()
    marks: list[Mark] = [
        Points(measured[:, members].ravel(), each[:, members].ravel(), name, colour, size=3.0)
        for members, name, colour in parts
    ]
    positive = np.concatenate([measured[measured > 0.0], total])
    low, high = float(positive.min()) / 1.5, float(positive.max()) * 1.5
    low = max(low, high / _WIDEST_RANGE)
    marks += [*_total_points(model, total, predicted), Line([low, high], [low, high], colour="muted", width=0.7)]
    x, y = (Axis(name, model.unit or "", "log", (low, high)) for name in ("measured", "model"))
    return Plot("against", marks, x, y)


def _share_areas(model: ModgenModel, parts: Sequence[tuple[list[int], str, str]]) -> Plot:
    """Return each category's share of the measured time over the first factor, upon one another."""
    symbol = next(iter(model.columns))
    levels, level = np.unique(np.array(model.observations.points[symbol]), return_inverse=True)
    sums = np.zeros((len(levels), len(model.categories)))
    np.add.at(sums, level, np.nan_to_num(model.measured()[0]))
    portions = sums / sums.sum(axis=1, keepdims=True)
    marks: list[Mark] = []
    below = np.zeros(len(levels))
    for members, name, colour in parts:
        above = below + portions[:, members].sum(axis=1)
        marks.append(Band(levels, below, above, name, colour, opacity=1.0))
        below = above
    scale: Any = "log" if levels[-1] / levels[0] > 8.0 else "linear"
    x = Axis(model.columns[symbol], scale=scale, limits=(levels[0], levels[-1]), base=2)
    y = Axis("share of the measured time", limits=(0.0, 1.0), format=".0%")
    return Plot("shares", marks, x, y)
