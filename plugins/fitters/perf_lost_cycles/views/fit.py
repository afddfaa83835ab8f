"""One fit: every candidate of a category on one line, the data under them, residuals and their quantiles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from perf_lost_cycles.categories.category_sum import term_values
from perf_lost_cycles.views.paths import SHADES, fitting_path, formulae_path, r2_cell, r2_text
from perf_lost_cycles.views.runs import runs_on_line
from perf_lost_cycles.views.subject import Candidate, Subject
from perf_views.colours import DARK, INK, PAPER, RULE, SERIES
from perf_views.contents import Block, Cell, Chart, Link, Table, Text
from perf_views.pictures.style import LABEL_POINTS, SMALL_POINTS, add_legend, set_plain
from perf_views.short_names import shortened

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


Floats = npt.NDArray[np.float64]

_MOST_DRAWN = 6  # candidates with a curve: the chosen one and the best of the others
_DASHES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 3)))
_CURVE_POINTS = 100


def fit_blocks(subject: Subject, category: str, symbol: str, line: int, data: Any) -> tuple[Block, ...]:
    """Candidates with their constants, picture, and points.

    Parameters
    ----------
    subject : Subject
    category, symbol : str
    line : int
    data : object
        Measurements, whose single runs are drawn; None for none.
    """
    instance, name = subject.instances(category, symbol)[line], subject.names[symbol]
    candidates = subject.candidates(category, symbol, line)
    points = instance.points
    x, y = subject.points[symbol][points], subject.values[subject.model.names.index(category), points]
    order = np.argsort(x, kind="stable")
    points, x, y = points[order], x[order], y[order]
    drawn = [candidate for candidate in candidates if None not in candidate.coefficients][:_MOST_DRAWN]
    runs = runs_on_line(subject, data, category, symbol, points)
    spread = None if subject.spread is None else subject.spread[subject.model.names.index(category), points]
    root = np.array(subject.model.root_weights)[points]
    unit = f" ({subject.model.unit})" if subject.model.unit else ""
    predicted = [_curve(candidate, symbol, x) for candidate in drawn]
    table = _points_table(name, unit, x, y, drawn, predicted)

    def draw(figure: Figure) -> None:
        curves, residuals, quantiles = figure.subplots(1, 3, width_ratios=[1.7, 1.0, 1.0])
        _draw_curves(figure, curves, (symbol, name), drawn, (x, y), runs, spread)
        curves.set_ylabel(f"time{unit}", fontsize=LABEL_POINTS)
        if predicted:
            _draw_residuals(residuals, quantiles, x, (y - predicted[0]) * root)
        residuals.set_xlabel(name, fontsize=LABEL_POINTS, parse_math=False)

    links = (
        Link("Formulae: add, change or remove one", formulae_path(category, symbol)),
        Link("All lines", fitting_path(category, symbol)),
    )
    marks = "single runs and what stands for them" if len(runs[0]) else "measured points"
    rows = tuple(_row(candidate) for candidate in candidates)
    remarks = tuple(f"{candidate.text}: {candidate.note}" for candidate in candidates if candidate.note)
    return (
        Text((f"{len(points)} points, {instance.label}; R^2 of the chosen one {r2_text(instance.r2)}",), links=links),
        Table(("model", "", "constants, in order", "R^2", "R^2 leave-one-out"), rows, "Candidates", SHADES),
        *((Text(remarks, "What stands against a fit"),) if remarks else ()),
        Chart(draw, f"{category} over {name}: {marks}, candidates, residuals of the first, and their quantiles",
              (table,), "Graph", (10.0, 4.2)),
    )  # fmt: skip


def _row(one: Candidate) -> tuple[Cell | str, ...]:
    constants = [
        "-" if value is None else f"{value:.5g}" + ("" if error is None else f" ± {error:.2g}")
        for value, error in zip(one.coefficients, one.standard_errors, strict=True)
    ]
    chosen = "chosen" if one.is_chosen else ""
    return (one.text, chosen, "; ".join(constants), r2_cell(one.r2), r2_cell(one.r2_leave_one_out))


def _points_table(
    name: str, unit: str, x: Floats, y: Floats, drawn: Sequence[Candidate], predicted: Sequence[Floats]
) -> Table:
    rows = []
    for number, level in enumerate(x.tolist()):
        values = [f"{curve[number]:.5g}" for curve in predicted]
        residual = [f"{y[number] - predicted[0][number]:.3g}"] if predicted else []
        rows.append((f"{level:g}", f"{y[number]:.5g}", *values, *residual))
    last = ["residual of the first"] if predicted else []
    return Table((name, f"measured{unit}", *(one.text for one in drawn), *last), tuple(rows))


def _curve(one: Candidate, symbol: str, x: Floats) -> Floats:
    return np.asarray(term_values(one.terms, {symbol: x}) @ np.array(one.coefficients, dtype=np.float64))


def _draw_curves(
    figure: Figure,
    axes: Axes,
    factor: tuple[str, str],
    drawn: Sequence[Candidate],
    measured: tuple[Floats, Floats],
    runs: tuple[Floats, Floats],
    spread: Floats | None,
) -> None:
    (symbol, name), (x, y) = factor, measured
    fine = np.linspace(x.min(), x.max(), _CURVE_POINTS)
    handles, names = [], []
    for number, one in enumerate(drawn):
        width = 2.2 if one.is_chosen else 1.2
        (curve,) = axes.plot(
            fine, _curve(one, symbol, fine), color=SERIES[number], linestyle=_DASHES[number], linewidth=width, zorder=2
        )
        handles.append(curve)
        names.append(shortened(one.text, 30) + (" (chosen)" if one.is_chosen else ""))
    if spread is not None and np.isfinite(spread).any():
        axes.errorbar(x, y, np.nan_to_num(spread), fmt="none", ecolor=DARK, capsize=3, zorder=3)
    if len(runs[0]):
        (single,) = axes.plot(*runs, "o", color=RULE, markersize=3.5, zorder=3)
        handles.append(single)
        names.append("single runs")
    (joined,) = axes.plot(x, y, "o", color=INK, markersize=5, markerfacecolor=PAPER, zorder=4)
    handles.append(joined)
    names.append("measured")
    axes.set_xlabel(name, fontsize=LABEL_POINTS, parse_math=False)
    axes.margins(y=0.1)
    set_plain(axes)
    add_legend(figure, names, handles, loc="outside lower left", ncols=3, fontsize=SMALL_POINTS)


def _draw_residuals(residuals: Axes, quantiles: Axes, x: Floats, values: Floats) -> None:
    """Weighted residuals of one model over the factor, and against quantiles of the normal distribution."""
    from scipy.stats import probplot

    residuals.plot(x, values, "o", color=SERIES[0], markersize=4)
    residuals.set_title("Residuals, weighted", fontsize=LABEL_POINTS)
    normal = probplot(values, fit=False)[0]
    quantiles.plot(normal, np.sort(values), "o", color=SERIES[0], markersize=4)
    if np.ptp(values) > 0.0:
        slope, intercept, correlation = probplot(values)[1]
        quantiles.plot(normal, intercept + slope * normal, color=DARK, linewidth=0.9)
        quantiles.set_title(f"Normal Q-Q, correlation {correlation:.3f}", fontsize=LABEL_POINTS)
    quantiles.set_xlabel("quantile of the normal distribution", fontsize=LABEL_POINTS)
    for axes in (residuals, quantiles):
        axes.axhline(0.0, color=RULE, linewidth=0.7)
        axes.margins(x=0.08, y=0.12)
        set_plain(axes)
