"""What a model by category predicts elsewhere: a slider for each factor, reaching far beyond the data."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from perf_lost_cycles.categories.points import CATEGORY, TOTAL
from perf_lost_cycles.views.paths import VERIFY
from perf_lost_cycles.views.subject import Subject
from perf_views.colours import DARK, INK, MODEL, PALE
from perf_views.contents import Block, Chart, Field, Form, Notice, Query, Table
from perf_views.pictures.style import LABEL_POINTS, set_logarithmic
from perfcore.base.errors import PerfError

if TYPE_CHECKING:
    from matplotlib.figure import Figure


Floats = npt.NDArray[np.float64]

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
            _chart(subject, point, float(coverage)),
            _table(subject, point, float(coverage), predicted[0]),
        ]
    except PerfError as error:
        return form, Notice(str(error), "error")
    notices = (Notice(remark, "warning"),) if remark else ()
    return (form, *notices, *blocks)


def _chart(subject: Subject, point: dict[str, float], coverage: float) -> Chart:
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
