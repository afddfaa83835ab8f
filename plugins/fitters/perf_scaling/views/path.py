"""One path: measurements and law up to the target, the laws that are left, residuals, and what to measure next."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from perf_scaling.advice.advice import advice
from perf_scaling.advice.expected_spread import expected_spread, measurable
from perf_scaling.call_tree import CallTree
from perf_scaling.picture import COVERAGE, draw_legend, draw_panel, held_text, law_curve, path_points, standard_errors
from perf_scaling.tables import laws_left
from perf_scaling.views.outlook import Outlook, State, target_blocks
from perf_scaling.views.scale import SCALE_NOTE, share_cell
from perf_scaling.views.tree import tree_cells, tree_header
from perf_views.colours import INK, RULE
from perf_views.contents import Block, Cell, Chart, Notice, Table, Text, ViewPath
from perf_views.pictures.style import LABEL_POINTS, set_plain
from perf_views.short_names import shortened

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from perf_scaling.model import LawModel


Floats = npt.NDArray[np.float64]

_MOST_LAWS = 12
_CURVE_ROWS = 13
_MOST_RELATIVES = 20
_LARGEST = 4.0  # times the largest measured level: how far a next measurement is thought of


def path_blocks(outlook: Outlook, state: State, path: int, view: ViewPath) -> tuple[Block, ...]:
    """All of the view of a path."""
    model = outlook.model
    row = outlook.rows[path]
    unit = f" {model.unit}" if model.unit else ""
    lines = [
        f"At {model.target_text}: {row.predicted:.4g}{unit}, 95 % of the mean between {row.low:.4g} and "
        f"{row.high:.4g}{f'; {row.share:.1%} of the whole' if len(model.paths) > 1 and model.has_parts else ''}."
    ]
    lines += [
        f"Growth over {name}: {growth.statement}, most likely {growth.name} ({growth.probability:.0%}); "
        f"towards the target like {name}^{growth.exponent:.2f}, 95 % between {growth.low:.2f} and {growth.high:.2f}."
        for name, growth in zip(model.parameter_names.values(), row.growths, strict=True)
    ]
    notices = [Notice(entry.text[0].upper() + entry.text[1:] + ".", "warning") for entry in advice(model, [path])]
    if row.misses > 1.0:
        text = f"The fitted value is off by a factor of {row.misses:.2g} at a measured level; measure there again."
        notices.insert(0, Notice(text, "warning"))
    if row.deviates >= 0.5:
        text = f"The last level may be one of its own (probability {row.deviates:.0%}): repeat it."
        notices.append(Notice(text, "warning"))
    return (
        Text(tuple(lines)),
        *notices,
        *target_blocks(state, model, view),
        _curve_chart(outlook, path),
        _law_table(outlook, path),
        _coefficient_table(outlook, path),
        _next_table(outlook, path),
        *_relatives(outlook, state, path),
    )


def _curve_chart(outlook: Outlook, path: int) -> Chart:
    """Means, law and bounds over each parameter, and what is left of the means below."""
    model = outlook.model
    residuals = _residuals(model, path)

    def draw(figure: Figure) -> None:
        grid = figure.subplots(2, len(model.symbols), squeeze=False, sharex="col", height_ratios=[2.6, 1.0])
        for number, symbol in enumerate(model.symbols):
            draw_panel(model, grid[0, number], path, symbol)
            below = grid[1, number]
            grid[0, number].set_xlabel("")
            fixed_text = held_text(model, path, symbol)
            grid[0, number].set_title(fixed_text, fontsize=LABEL_POINTS, parse_math=False)
            below.axhline(0.0, color=RULE, linewidth=0.8)
            over, of_hundred = residuals.points[:, number], 100.0 * residuals.residual
            below.errorbar(over, of_hundred, yerr=100.0 * residuals.error, fmt="o", color=INK, markersize=4.0,
                           elinewidth=0.8, capsize=2.0)  # fmt: skip
            set_plain(below)
            below.set_xlabel(shortened(model.columns[symbol]), fontsize=LABEL_POINTS, parse_math=False)
        unit = f" ({model.unit})" if model.unit else ""
        grid[0, 0].set_ylabel(shortened(model.value_name) + unit, fontsize=LABEL_POINTS, parse_math=False)
        grid[1, 0].set_ylabel("mean over law,\nless 1 (%)", fontsize=LABEL_POINTS)
        draw_legend(model, [path], figure)

    curves = (_curve_table(outlook, path, symbol) for symbol in model.symbols)
    text = f"{model.paths[path]}: means of runs, law and bounds; below, residuals of all points"
    return Chart(draw, text, (*curves, _residual_table(model, residuals)), "Measured and predicted", (10.0, 5.6))


def _curve_table(outlook: Outlook, path: int, symbol: str) -> Table:
    """Some tens of places of the curve, all measured ones among them."""
    model = outlook.model
    curve, points = law_curve(model, path, symbol), path_points(model, path, symbol)
    columns = zip(points.mean.tolist(), points.error.tolist(), points.runs.tolist(), strict=True)
    measured = {
        level: (f"{mean:.5g} ± {error:.2g}", f"{runs:.3g}")
        for level, (mean, error, runs) in zip(points.over.tolist(), columns, strict=True)
    }
    places = np.linspace(0, len(curve.over) - 1, _CURVE_ROWS).round().astype(np.int64).tolist()
    rows = []
    for k, level in enumerate(curve.over.tolist()):
        if k in places or level in measured or level == model.target[symbol]:
            bounds = [f"{low:.4g} .. {high:.4g}" for _, low, high in (curve.mean[k], curve.run[k])]
            rows.append((f"{level:.5g}", *measured.get(level, ("", "")), f"{curve.mean[k, 0]:.5g}", *bounds))
    fixed_text = f" at {model.point_text(points.held)}" if points.held else ""
    name = model.parameter_names[symbol]
    header = (name, "mean of the runs", "runs", "law", "95 % of the mean", "95 % of single runs")
    return Table(header, tuple(rows), f"Over {name}{fixed_text}")


def _law_table(outlook: Outlook, path: int) -> Table:
    """The laws that are left, with their probabilities."""
    model = outlook.model
    laws = laws_left(model, path)
    rows = [(text, share_cell(share), f"{value:.4g}") for text, share, value in laws[:_MOST_LAWS]]
    if omitted := laws[_MOST_LAWS:]:
        rows.append((f"{len(omitted)} others", share_cell(sum(share for _, share, _ in omitted)), ""))
    header = ("beside a constant", "probability", f"predicts at {model.target_text}")
    note = "Each with what the data leave of drift from it."
    if len(model.symbols) > 1:
        note += " A parameter stands for any power that rises with it, one over it for any that falls."
    return Table(header, tuple(rows), "Laws that the data leave", note)


def _next_table(outlook: Outlook, path: int) -> Table:
    """What each further measurement is expected to leave open."""
    model = outlook.model
    row = outlook.rows[path]
    points = measurable(model, _LARGEST)
    spread = expected_spread(model, points, [path])[0]
    # The bounds of now, narrowed as the standard deviation of the logarithm is.
    side = 0.5 * np.log(row.high / row.low) if row.low > 0.0 else np.inf
    remaining = side * np.sqrt(spread / spread[0]) if spread[0] > 0.0 else np.full(len(spread), side)
    names = ["nothing more", *(model.point_text(dict(zip(model.symbols, p, strict=True))) for p in points.tolist())]
    rows = tuple((name, f"{np.exp(factor):.4g}" if np.isfinite(factor) else "-") for name, factor in
                 zip(names, remaining.tolist(), strict=True))  # fmt: skip
    header = ("measured next", f"95 % at {model.target_text} within a factor of")
    return Table(header, rows, "What to measure next", "Expected of one more point with as many runs as the others.")


def _coefficient_table(outlook: Outlook, path: int) -> Table:
    """The likeliest law, where there is one; else the power that stands for it."""
    model = outlook.model
    law = model.leading[path]
    rows = [
        (name, f"{value:.5g}", "-" if np.isnan(error) else f"{error:.2g}")
        for name, value, error in zip(("constant", *law.terms), law.coefficients, law.standard_errors, strict=True)
    ]
    rows += [
        (f"exponent of {e.parameter} in {e.term}", f"{e.estimate:.4g}", f"{e.deviation:.2g}") for e in law.exponents
    ]
    unit = f" ({model.unit_of_laws})" if model.unit else ""
    note = f"Law of probability {law.probability:.0%}: {law.text}" if law.determined else law.text.capitalize()
    return Table(("term", f"coefficient{unit}", "standard error"), tuple(rows), "The likeliest law", note)


class _Residuals(NamedTuple):
    """Means over the median law, less 1, at all points where a path was measured."""

    points: Floats  # (n, q)
    mean: Floats
    law: Floats
    residual: Floats
    error: Floats


def _residuals(model: LawModel, path: int) -> _Residuals:
    measured = np.isfinite(model.means[path])
    points, mean = model.measured[measured], model.means[path, measured]
    law = model.band(points, COVERAGE, [path])[0, :, 0]
    return _Residuals(points, mean, law, mean / law - 1.0, standard_errors(model, path)[measured] / law)


def _residual_table(model: LawModel, residuals: _Residuals) -> Table:
    rows = tuple(
        (*(f"{level:.5g}" for level in point), f"{mean:.5g}", f"{law:.5g}", f"{residual:+.2%}", f"{error:.2%}")
        for point, mean, law, residual, error in zip(*residuals, strict=True)
    )
    header = (*model.parameter_names.values(), "mean of the runs", "law", "residual", "standard error of the mean")
    return Table(header, rows, "Residuals")


def _relatives(outlook: Outlook, state: State, path: int) -> tuple[Block, ...]:
    """The nearest callers of a path, and the largest that it calls."""
    tree = next(tree for tree in outlook.model.whole.trees if path in tree.paths)
    if tree.is_flat:
        return ()
    node = tree.paths.index(path)
    inclusive_shares = tree.with_callees(outlook.shares)
    called = sorted(tree.callees[node], key=lambda one: -inclusive_shares[one])
    rows = [
        _relative(outlook, state, tree, one, inclusive_shares, "calls it")
        for one in tree.above(node)[-_MOST_RELATIVES:]
    ]
    rows += [_relative(outlook, state, tree, one, inclusive_shares, "called") for one in called[:_MOST_RELATIVES]]
    if not rows:
        return ()
    note = f"Growth is coloured {SCALE_NOTE}."
    if len(called) > _MOST_RELATIVES:
        note += f" {len(called) - _MOST_RELATIVES:,} more that it calls are smaller."
    header = tree_header(outlook, tree, "region")
    return (Table((header[0], "", *header[1:]), tuple(rows), "Callers, and what it calls", note),)


def _relative(
    outlook: Outlook, state: State, tree: CallTree, node: int, inclusive_shares: Floats, relation: str
) -> tuple[Cell | str, ...]:
    name, *others = tree_cells(outlook, state, tree, node, inclusive_shares, tree.names[node])
    return (name, relation, *others)
