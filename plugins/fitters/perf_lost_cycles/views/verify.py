"""How well a model by category predicts: points that it never saw, and how sure it is beyond the data."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from perf_lost_cycles.categories.category_sum import CATEGORY, TOTAL, CategorySum, figures_of_total, term_values
from perf_lost_cycles.views.subject import VERIFY, Subject, held_text, r2_text
from perf_views.colours import DARK, INK, LIGHT, MODEL, PALE, RULE, SERIES
from perf_views.contents import Block, Chart, Field, Form, Notice, Query, Table, Text
from perf_views.names import shortened
from perf_views.style import LABEL_POINTS, MARKERS, SMALL_POINTS, add_legend, set_logarithmic, set_plain
from perfcore.base.arrays import Floats
from perfcore.base.errors import PerfError

if TYPE_CHECKING:
    from matplotlib.figure import Figure


_AT, _COVERAGE = "at.", "interval"
_COVERAGES = ("0.8", "0.9", "0.95", "0.99")
_REACH = 8.0  # times the largest level; who asks for more has `perf predict`
_FIRST = 2.0  # times the largest level, where the sliders stand at first
_STEPS = 200
_CURVE_POINTS = 60
_MOST_ROWS = 40


def extrapolation_blocks(subject: Subject, query: Query) -> tuple[Block, ...]:
    """Sliders, the total along each factor with bounds, and the categories at the chosen point."""
    fields, point = [], dict[str, float]()
    for symbol, values in subject.points.items():
        lowest, highest, step = _scale(values)
        point[symbol] = _number(query.get(_AT + symbol, ""), lowest, highest, _nearest(values, lowest, step))
        text = [f"{number:.10g}" for number in (point[symbol], lowest, highest, step)]
        measured = f"{subject.names[symbol]} (measured {lowest:g} to {values.max():g})"
        fields.append(Field(_AT + symbol, measured, text[0], "range", (), text[1], text[2], text[3]))
    typed = query.get(_COVERAGE, "0.95")
    coverage = typed if typed in _COVERAGES else "0.95"
    form = Form(
        (*fields, Field(_COVERAGE, "coverage of the bounds", coverage, "choice", _COVERAGES)), (VERIFY,), "Predict",
        "Extrapolation",
    )  # fmt: skip
    try:
        predicted = subject.model.predict(
            {symbol: np.array([value]) for symbol, value in point.items()}, float(coverage)
        )
        remark = subject.model.remarks({symbol: np.array([value]) for symbol, value in point.items()})[0]
        blocks: list[Block] = [
            _chart_extrapolation(subject, point, float(coverage)),
            _table(subject, point, float(coverage), predicted[0]),
        ]
    except PerfError as error:
        return form, Notice(str(error), "error")
    notices = (Notice(remark, "warning"),) if remark else ()
    return (form, *notices, *blocks)


def _chart_extrapolation(subject: Subject, point: dict[str, float], coverage: float) -> Chart:
    """The total along each factor, the others where their sliders stand."""
    model, unit = subject.model, f" ({subject.model.unit})" if subject.model.unit else ""
    curves, names = {}, subject.names
    for symbol, values in subject.points.items():
        x = np.geomspace(values.min(), max(point[symbol], values.max()), _CURVE_POINTS)
        points = {name: x if name == symbol else np.full(len(x), value) for name, value in point.items()}
        curves[symbol] = x, model.predict(points, coverage)

    def draw(figure: Figure) -> None:
        for axes, (symbol, (x, predicted)) in zip(
            figure.subplots(1, len(curves), squeeze=False)[0], curves.items(), strict=True
        ):
            axes.fill_between(x, predicted[:, 1], predicted[:, 2], color=MODEL, alpha=0.2, linewidth=0.0)
            values = subject.points[symbol]
            inside = (x >= values.min()) & (x <= values.max())
            inside &= all(_is_within(point[name], subject.points[name]) for name in point if name != symbol)
            axes.plot(x, predicted[:, 0], "--", color=MODEL, linewidth=1.2)
            axes.plot(x[inside], predicted[inside, 0], color=MODEL, linewidth=1.8)
            on_line = np.all([subject.points[name] == value for name, value in point.items() if name != symbol], axis=0)
            on_line = np.broadcast_to(on_line, values.shape)
            axes.plot(values[on_line], subject.total[on_line], "o", color=INK, markersize=4)
            axes.axvspan(values.min(), values.max(), color=PALE, zorder=0)
            axes.axvline(point[symbol], color=DARK, linewidth=1.2, linestyle=":")
            set_logarithmic(axes, "x", float(x[0]) / 1.1, float(x[-1]) * 1.1, base=2)
            drawn = np.concatenate([predicted[predicted > 0.0], subject.total[on_line]])
            set_logarithmic(axes, "y", float(drawn.min()) / 1.2, float(drawn.max()) * 1.2)
            held_text = ", ".join(f"{names[name]}={value:g}" for name, value in point.items() if name != symbol)
            axes.set_xlabel(
                f"{names[symbol]}; {held_text}" if held_text else names[symbol],
                fontsize=LABEL_POINTS,
                parse_math=False,
            )
            axes.set_ylabel(f"total{unit}", fontsize=LABEL_POINTS)

    tables = tuple(
        Table(
            (names[symbol], f"total{unit}", "lower", "upper"),
            tuple(
                (f"{level:.4g}", *(f"{v:.5g}" for v in row)) for level, row in list(zip(x, predicted, strict=True))[::6]
            ),
            f"along {names[symbol]}",
        )
        for symbol, (x, predicted) in curves.items()
    )
    text = f"Predicted total along each factor, {coverage:.0%} bounds of a single run; grey: measured, dashed: beyond"
    return Chart(draw, text, tables, text, (10.0, 3.6))


def _table(subject: Subject, point: dict[str, float], coverage: float, total: Floats) -> Table:
    names, count = subject.model.names, len(subject.model.names)
    points = {symbol: np.full(count, value) for symbol, value in point.items()}
    plain = subject.model.predict({**points, CATEGORY: np.array(names)})
    largest = np.argsort(-plain, kind="stable")[:_MOST_ROWS]
    chosen = {symbol: values[: len(largest)] for symbol, values in points.items()}
    predicted = subject.model.predict({**chosen, CATEGORY: np.array(names)[largest]}, coverage)
    rows = [(TOTAL, *_bounds(total), "100.0%")]
    for k, row in zip(largest.tolist(), predicted, strict=True):
        rows.append((names[k], *_bounds(row), f"{row[0] / total[0]:.1%}" if total[0] > 0.0 else "-"))
    unit = f" ({subject.model.unit})" if subject.model.unit else ""
    where = ", ".join(f"{subject.names[symbol]}={value:g}" for symbol, value in point.items())
    note = f"The largest {len(largest)} of {count:,} categories." if len(largest) < count else ""
    return Table(("", f"predicted{unit}", "lower", "upper", "share"), tuple(rows), f"Prediction at {where}", note)


def _bounds(row: Floats) -> tuple[str, ...]:
    return tuple(f"{value:.5g}" if math.isfinite(value) else "-" for value in row)


def _is_within(level: float, measured: Floats) -> bool:
    return bool(measured.min() <= level <= measured.max())


def _scale(values: Floats) -> tuple[float, float, float]:
    """Lowest, highest and step of a slider; whole numbers step by what divides all of them."""
    lowest, highest = float(values.min()), float(values.max())
    levels = np.unique(values)
    if (levels == np.round(levels)).all() and highest < 2**53:
        step = float(math.gcd(*map(int, levels.tolist())))
    else:
        step = (_REACH * highest - lowest) / _STEPS
    return lowest, lowest + step * math.floor((_REACH * highest - lowest) / step), step


def _nearest(values: Floats, lowest: float, step: float) -> float:
    """Where a slider stands at first."""
    return lowest + step * round((_FIRST * float(values.max()) - lowest) / step)


def _number(text: str, lowest: float, highest: float, default: float) -> float:
    try:
        value = float(text)
    except ValueError:
        return default
    return min(max(value, lowest), highest) if math.isfinite(value) else default


_MOST_VECTORS = 1000  # dots of one kind that are drawn one by one: each takes 100 bytes of a page
_MOST_NAMED = 6  # categories with a colour of their own: the largest


def verify_blocks(subject: Subject, query: Query) -> tuple[Block, ...]:
    """Predicted against measured, errors by category, and the prediction elsewhere."""
    model = subject.model
    aside = ~subject.fitted
    if aside.any():
        points: Mapping[str, Floats] = {symbol: values[aside] for symbol, values in subject.points.items()}
        each = np.maximum(model.design(model.terms, points) @ model.coefficients, 0.0).T
        measured, total = subject.values[:, aside], subject.total[aside]
        each = np.where(np.isfinite(measured), each, np.nan)
        how = f"Predicted at the {int(aside.sum())} points that were set aside: the model was not fitted to them."
    else:
        points, measured, total = subject.points, subject.values, subject.total
        each = left_out(model)
        how = (
            "No points were set aside, so each point is predicted from the fit of the same forms to all others "
            "(leave-one-out). The forms were chosen with all points: with --holdout 20% the test is harder."
        )
    predicted_total = np.nansum(each, axis=0)
    known = np.isfinite(each).all(axis=0) | ~np.isfinite(measured).any(axis=0)
    blocks: list[Block] = [Text((how,))]
    if not known.all():
        blocks.append(Notice(f"{int((~known).sum())} points have a category that the others do not determine; its time "
                             "is left out of the total there.", "warning"))  # fmt: skip
    blocks += [
        _chart(subject, points, measured, each, total, predicted_total),
        _category_table(subject, measured, each, total),
    ]
    return (*blocks, *extrapolation_blocks(subject, query))


def left_out(model: CategorySum) -> Floats:
    """Each category at each of its points, predicted by the fit of its form to all others.

    The residual of a point that is left out is its residual over one minus its leverage.
    """
    points, values, root = model.fitted_points, model.fitted_values, model.fitted_root_weights
    predicted = np.full(values.shape, np.nan)
    bases: dict[tuple[tuple[str, ...], bytes], tuple[Floats, Floats]] = {}
    for k, (terms, coefficients) in enumerate(model.formulas):
        rows = np.flatnonzero(np.isfinite(values[k]))
        key = (terms, rows.tobytes())
        if key not in bases:
            design = term_values(terms, {symbol: levels[rows] for symbol, levels in points.items()})
            weighted = design * root[rows, None]
            norms = np.linalg.norm(weighted, axis=0)
            basis = np.linalg.qr(weighted / np.where(norms > 0.0, norms, 1.0))[0]
            bases[key] = design, 1.0 - (basis**2).sum(axis=1)
        design, rest = bases[key]
        residual = values[k, rows] - design @ coefficients
        with np.errstate(divide="ignore", invalid="ignore"):
            left = values[k, rows] - residual / rest
        predicted[k, rows] = np.where(rest > 1e-12 * len(rows), np.maximum(left, 0.0), np.nan)
    return predicted


def _chart(
    subject: Subject,
    points: Mapping[str, Floats],
    measured: Floats,
    each: Floats,
    total: Floats,
    predicted_total: Floats,
) -> Chart:
    names, unit = subject.model.names, subject.model.unit
    largest = np.argsort(-np.nansum(measured, axis=1), kind="stable")[:_MOST_NAMED]
    rest = np.setdiff1d(np.arange(len(names)), largest)
    label = f" ({unit})" if unit else ""

    def draw(figure: Figure) -> None:
        against, errors = figure.subplots(1, 2, width_ratios=[1.0, 1.0])
        handles, labels = [], []
        groups = [(np.array([k]), names[k], SERIES[i], MARKERS[i]) for i, k in enumerate(largest.tolist())]
        if len(rest):
            groups.append((rest, f"{len(rest)} more", LIGHT, "."))
        for members, name, colour, marker in groups:
            measured_times, predicted_times = measured[members].ravel(), each[members].ravel()
            style = {"color": colour, "markersize": 3.5, "linestyle": "none"}
            (dots,) = against.plot(
                measured_times, predicted_times, marker, rasterized=measured_times.size > _MOST_VECTORS, **style
            )
            handles.append(dots)
            labels.append(shortened(name))
        (dots,) = against.plot(total, predicted_total, "p", color=INK, markersize=5.5)
        handles.append(dots)
        labels.append("total")
        against.axline((1.0, 1.0), slope=1.0, color=RULE, linewidth=0.8)
        times = np.concatenate([measured[measured > 0.0], total[total > 0.0]])
        if len(times):
            set_logarithmic(against, "x", *_around(times))
            set_logarithmic(
                against,
                "y",
                *_around(np.concatenate([times, each[each > 0.0], predicted_total[predicted_total > 0.0]])),
            )
        against.set_xlabel(f"measured{label}", fontsize=LABEL_POINTS)
        against.set_ylabel(f"predicted{label}", fontsize=LABEL_POINTS)
        positive = total > 0.0
        errors.plot(
            total[positive], 100.0 * (predicted_total[positive] / total[positive] - 1.0), "p", color=INK, markersize=5.5
        )
        errors.axhline(0.0, color=RULE, linewidth=0.8)
        if positive.any():
            set_logarithmic(errors, "x", *_around(total[positive]))
        errors.set_xlabel(f"measured total{label}", fontsize=LABEL_POINTS)
        errors.set_ylabel("relative error of the total (%)", fontsize=LABEL_POINTS)
        set_plain(errors)
        add_legend(figure, labels, handles, loc="outside lower center", ncols=4, fontsize=SMALL_POINTS)

    order = np.argsort(-np.abs(predicted_total / np.where(total > 0.0, total, np.nan) - 1.0), kind="stable")[
        :_MOST_ROWS
    ]
    rows = tuple(
        (
            held_text(subject, points, k),
            f"{total[k]:.5g}",
            f"{predicted_total[k]:.5g}",
            _percent(predicted_total[k] - total[k], total[k]),
        )
        for k in order.tolist()
    )
    title = "The worst points" if len(order) < len(total) else "All points, the worst first"
    table = Table(("point", f"measured{label}", f"predicted{label}", "relative error"), rows, title)
    figures = figures_of_total(total, predicted_total)
    median, most = figures["median_relative_error"], figures["max_relative_error"]
    title = f"Total: R^2 centered {r2_text(figures['r2_centered'])}"
    if median is not None and most is not None:
        title += f"; relative error: median {median:.1%}, largest {most:.1%}"
    return Chart(draw, f"Predicted over measured times of categories and total, and errors. {title}", (table,), title,
                 (10.0, 4.4))  # fmt: skip


def _around(values: Floats) -> tuple[float, float]:
    """Ends of a logarithmic axis that shows values > 0."""
    return 0.8 * float(values.min()), 1.25 * float(values.max())


def _category_table(subject: Subject, measured: Floats, each: Floats, total: Floats) -> Table:
    """Errors by category, those first that do most harm to the total."""
    rows = []
    for k, name in enumerate(subject.model.names):
        usable = np.isfinite(measured[k]) & np.isfinite(each[k]) & (total > 0.0)
        error = np.abs(each[k, usable] - measured[k, usable])
        if not usable.any():
            rows.append((-1.0, (name, "-", "-", "-", "-", "0")))
            continue
        harm = float(np.median(error / total[usable]))
        positive = measured[k, usable] > 0.0
        relative = error[positive] / measured[k, usable][positive]
        squares = float(((measured[k, usable] - measured[k, usable].mean()) ** 2).sum())
        r2 = 1.0 - float((error**2).sum()) / squares if squares > 0.0 else None
        rows.append((
            harm,
            (name, f"{harm:.2%}", f"{(error / total[usable]).max():.2%}",
             f"{np.median(relative):.1%}" if len(relative) else "-", r2_text(r2), str(int(usable.sum()))),
        ))  # fmt: skip
    rows.sort(key=lambda row: -row[0])
    note = "errors as a share of the total of their point; of own time: of the category's own"
    if len(rows) > _MOST_ROWS:
        note = f"The worst {_MOST_ROWS} of {len(rows):,}. {note}"
    header = ("category", "median error", "largest error", "median of own time", "R^2 centered", "points")
    return Table(header, tuple(row for _, row in rows[:_MOST_ROWS]), "Errors by category", note)


def _percent(error: float, of: float) -> str:
    return f"{error / of:+.1%}" if of > 0.0 else "-"
