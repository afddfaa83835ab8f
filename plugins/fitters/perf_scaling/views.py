"""Views of scaling laws: the call tree coloured by growth, the growth of the whole, and each path's laws."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from perf_scaling.advice import advice, expected_spread, measurable
from perf_scaling.call_tree import CallTree
from perf_scaling.growth import CLASSES, SURE
from perf_scaling.outlook import (
    GROWTH,
    HATCH,
    PATH_VIEW,
    SCALE_NOTE,
    Outlook,
    Outlooks,
    State,
    add_class_legend,
    class_colour,
    is_sure,
    share_cell,
    state_of,
    target_blocks,
)
from perf_scaling.picture import COVERAGE, draw_legend, draw_panel, held_text, path_curve, path_points, standard_errors
from perf_scaling.tree_view import tree_blocks, tree_cells, tree_header, unfitted_blocks
from perf_views.colours import AREAS, FAINT, INK, PAPER, RULE
from perf_views.contents import (
    Block,
    Cell,
    Chart,
    Headline,
    Link,
    Notice,
    NoViewError,
    Query,
    Table,
    Text,
    View,
    ViewPath,
)
from perf_views.drawable import summary_blocks
from perf_views.names import shortened
from perf_views.style import LABEL_POINTS, SMALL_POINTS, add_legend, set_plain
from perfcore.base.arrays import Floats

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from perf_scaling.model import ScalingModel


_MOST_LAWS = 12
_CURVE_ROWS = 13
_MOST_RELATIVES = 20
_LARGEST = 4.0  # times the largest measured level: how far a next measurement is thought of


def _range(low: float, high: float) -> str:
    return f"[{low:.3g}, {high:.3g}]"


def path_blocks(outlook: Outlook, state: State, path: int, view: ViewPath) -> tuple[Block, ...]:
    """All of the view of a path."""
    model = outlook.model
    row = outlook.rows[path]
    unit = f" {model.unit}" if model.unit else ""
    interval = f"95% interval {_range(row.low, row.high)}"
    headline = f"{row.path} at {model.target_text}: {row.predicted:.3g}{unit}, {interval}"
    lines = [
        f"If the model holds: {row.holds[0]:.3g}{unit}, 95% {_range(*row.holds[1:])}. "
        f"If behaviour may change: {row.predicted:.3g}{unit}, 50% interval {_range(*row.likely)}, {interval}."
    ]
    if len(model.paths) > 1 and model.has_parts:
        lines.append(f"{row.share:.1%} of the whole.")
    lines += [
        f"Growth over {name}: {growth.statement}; most probable class {growth.name} ({growth.probability:.0%}); "
        f"{name}^{growth.exponent:.2f} at the target, 95% [{growth.low:.2f}, {growth.high:.2f}]."
        for name, growth in zip(model.parameter_names.values(), row.growths, strict=True)
    ]
    notices = [Notice(entry.text[0].upper() + entry.text[1:] + ".", "warning") for entry in advice(model, [path])]
    if row.misses > 1.0:
        text = f"Residual {row.misses:.2g}x at a measured level; repeat that measurement."
        notices.insert(0, Notice(text, "warning"))
    if row.deviates >= 0.5:
        text = f"The largest value may deviate from the others (probability {row.deviates:.0%}): repeat it."
        notices.append(Notice(text, "warning"))
    return (
        Headline(headline),
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
        unit = f" [{model.unit}]" if model.unit else ""
        grid[0, 0].set_ylabel(shortened(model.value_name) + unit, fontsize=LABEL_POINTS, parse_math=False)
        grid[1, 0].set_ylabel("residual [%]", fontsize=LABEL_POINTS)
        draw_legend(model, [path], figure)

    curves = (_curve_table(outlook, path, symbol) for symbol in model.symbols)
    text = f"{model.paths[path]}: means of runs, model and 95% intervals; below, residuals of all points"
    return Chart(draw, text, (*curves, _residual_table(model, residuals)), "Measured and predicted", (10.0, 5.6))


def _curve_table(outlook: Outlook, path: int, symbol: str) -> Table:
    """Some tens of places of the curve, all measured ones among them."""
    model = outlook.model
    curve, points = path_curve(model, path, symbol), path_points(model, path, symbol)
    columns = zip(points.mean.tolist(), points.error.tolist(), points.runs.tolist(), strict=True)
    measured = {
        level: (f"{mean:.5g} ± {error:.2g}", f"{runs:.3g}")
        for level, (mean, error, runs) in zip(points.over.tolist(), columns, strict=True)
    }
    places = np.linspace(0, len(curve.over) - 1, _CURVE_ROWS).round().astype(np.int64).tolist()
    rows = []
    for k, level in enumerate(curve.over.tolist()):
        if k in places or level in measured or level == model.target[symbol]:
            bounds = [_range(low, high) for _, low, high in (curve.likely[k], curve.run[k])]
            rows.append((f"{level:.5g}", *measured.get(level, ("", "")), f"{curve.run[k, 0]:.5g}", *bounds))
    fixed_text = f" at {model.point_text(points.held)}" if points.held else ""
    name = model.parameter_names[symbol]
    header = (name, "mean of the runs", "runs", "prediction", "likely (50%)", "95% interval")
    return Table(header, tuple(rows), f"Over {name}{fixed_text}")


def _law_table(outlook: Outlook, path: int) -> Table:
    model = outlook.model
    laws = model.laws_left(path, model.target_point[None])
    rows = [(text, share_cell(share), f"{float(value[0]):.4g}") for text, share, value in laws[:_MOST_LAWS]]
    if omitted := laws[_MOST_LAWS:]:
        rows.append((f"{len(omitted)} others", share_cell(sum(share for _, share, _ in omitted)), ""))
    header = ("terms besides a constant", "probability", f"predicts at {model.target_text}")
    note = "Predictions allow for drift from the model."
    if len(model.symbols) > 1:
        note += " n stands for any increasing power of n, 1/n for any decreasing one."
    return Table(header, tuple(rows), "Candidate models", note)


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
    header = ("next measurement", f"95% at {model.target_text} within a factor of")
    return Table(header, rows, "Next measurement", "Expected effect of one more point with as many repetitions.")


def _coefficient_table(outlook: Outlook, path: int) -> Table:
    model = outlook.model
    fit = model.best.named[path]
    rows = tuple(
        ("constant" if name == "1" else name, f"{value:.5g}", f"{error:.2g}")
        for name, value, error in zip(fit.terms, fit.coefficients, fit.standard_errors, strict=True)
    )
    unit = f" [{model.unit_of_laws}]" if model.unit else ""
    others = f"; as good: {', '.join(fit.alternatives)}" if fit.alternatives else ""
    note = f"{fit.formula}, fit error {fit.fit_error:.1%}{others}"
    return Table(("term", f"coefficient{unit}", "standard error"), rows, "Model of the measured range", note)


class _Residuals(NamedTuple):
    """Means over the median law, less 1, at all points where a path was measured."""

    points: Floats  # (n, q)
    mean: Floats
    law: Floats
    residual: Floats
    error: Floats


def _residuals(model: ScalingModel, path: int) -> _Residuals:
    measured = np.isfinite(model.means[path])
    points, mean = model.measured[measured], model.means[path, measured]
    law = model.band(points, COVERAGE, [path])[0, :, 0]
    return _Residuals(points, mean, law, mean / law - 1.0, standard_errors(model, path)[measured] / law)


def _residual_table(model: ScalingModel, residuals: _Residuals) -> Table:
    rows = tuple(
        (*(f"{level:.5g}" for level in point), f"{mean:.5g}", f"{law:.5g}", f"{residual:+.2%}", f"{error:.2%}")
        for point, mean, law, residual, error in zip(*residuals, strict=True)
    )
    header = (
        *model.parameter_names.values(),
        "mean of the runs",
        "prediction",
        "residual",
        "standard error of the mean",
    )
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
        note += f" {len(called) - _MOST_RELATIVES:,} smaller callees are not shown."
    header = tree_header(outlook, tree, "region")
    return (Table((header[0], "", *header[1:]), tuple(rows), "Callers and callees", note),)


def _relative(
    outlook: Outlook, state: State, tree: CallTree, node: int, inclusive_shares: Floats, relation: str
) -> tuple[Cell | str, ...]:
    name, *others = tree_cells(outlook, state, tree, node, inclusive_shares, tree.names[node])
    return (name, relation, *others)


_MOST_PATHS = 8
_MOST_LEVELS, _LEAST_LEVELS = 8, 3
_PLACES = 15_000  # paths times levels that are predicted in about a second


class _Parts(NamedTuple):
    """Values of the paths that add up to the whole, over one parameter."""

    levels: Floats  # (T,)
    paths: list[int]  # the largest share at the target first
    values: Floats  # (k, T)


def growth_blocks(outlook: Outlook, state: State) -> tuple[Block, ...]:
    """All of the view."""
    model = outlook.model
    tree = outlook.tree(state.metric)
    whole = model.whole
    of_metric = set(tree.paths)
    paths = [path for path in outlook.rows if path in of_metric and whole.counted[path]]
    parts = _parts(outlook, paths)
    note = "Of the outermost paths, whose values hold all that they call." if tree.is_inclusive else ""
    back = Text((note,) if note else (), links=(Link("Call paths", (), state.query()),))
    tables = [_class_table(outlook, tree.paths, parts, number) for number in range(len(model.symbols))]
    charts = (_class_chart(outlook, parts), _path_chart(outlook, parts))
    return (*target_blocks(state, model, (GROWTH,)), back, *tables, *charts)


def _parts(outlook: Outlook, paths: list[int]) -> _Parts:
    """Medians at measured levels of the first parameter and up to the target, which also holds the others."""
    model = outlook.model
    measured, target = np.unique(model.measured[:, 0]), model.target[model.symbols[0]]
    last, most = float(measured[-1]), int(np.clip(_PLACES // len(paths), _LEAST_LEVELS, _MOST_LEVELS))
    extrapolated = [np.sqrt(last * target), target] if target > 3.0 * last else [target]
    levels = np.unique([*measured, *extrapolated])
    ends = [0, int(np.searchsorted(levels, last)), int(np.searchsorted(levels, target))]
    spread = np.linspace(0, len(levels) - 1, max(most - len(ends) + 2, 2)).round().astype(np.int64)
    levels = levels[np.unique([*ends, *(spread if len(levels) > most else range(len(levels)))])]
    points = np.tile(model.target_point, (len(levels), 1))
    points[:, 0] = levels
    return _Parts(levels, paths, model.posterior.of_paths(paths).quantiles(points, [0.5])[:, :, 0])


def _class_table(outlook: Outlook, paths: Sequence[int], parts: _Parts, number: int) -> Table:
    """How many paths are of each class, and their share of the whole."""
    model = outlook.model
    last, target = float(model.measured[:, 0].max()), model.target[model.symbols[0]]
    rows: list[tuple[Cell | str, ...]] = []
    for name in CLASSES:
        class_rows = [outlook.rows[k] for k in paths if k >= 0 and outlook.rows[k].growths[number].name == name]
        sure = sum(is_sure(row.growths[number]) for row in class_rows)
        counted = [outlook.rows[path].growths[number].name == name for path in parts.paths]
        sums = parts.values[counted].sum(axis=0) / parts.values.sum(axis=0)
        shares = [f"{sums[parts.levels == level][0]:.1%}" for level in (last, target)]
        if class_rows:
            rows.append((Cell(name, step=CLASSES.index(name)), f"{len(class_rows):,}", f"{sure:,}", *shares))
    names = list(model.parameter_names.values())
    parameter, first = names[number], names[0]
    header = (f"growth over {parameter}", "paths", f"probability >= {SURE:.0%}", f"share at {first} = {last:g}",
              f"at {first} = {target:g}")  # fmt: skip
    return Table(header, tuple(rows), f"Growth classes over {parameter}", "Shares of predicted medians.")


def _class_chart(outlook: Outlook, parts: _Parts) -> Chart:
    of_path = [(growth.name, is_sure(growth)) for growth in (outlook.rows[path].growths[0] for path in parts.paths)]
    kinds = [kind for name in CLASSES for kind in ((name, True), (name, False)) if kind in of_path]
    sums = np.array([parts.values[[kind == path_class for path_class in of_path]].sum(axis=0) for kind in kinds])
    names = [name if sure else f"{name}, probability below {SURE:.0%}" for name, sure in kinds]

    def draw(figure: Figure) -> None:
        colours = [class_colour(name, is_sure=sure) for name, sure in kinds]
        _draw_stack(outlook, figure, parts.levels, sums, colours, ["" if sure else HATCH for _, sure in kinds])
        add_class_legend(figure, {name for name, _ in kinds}, all_sure=all(sure for _, sure in kinds))

    parameter = _first_name(outlook)
    return Chart(draw, f"Share of each growth class over {parameter}", (_shares(outlook, parts, names, sums),),
                 f"Composition by growth over {parameter}", (10.0, 3.6))  # fmt: skip


def _path_chart(outlook: Outlook, parts: _Parts) -> Chart:
    first = parts.values[:_MOST_PATHS]
    names = [outlook.model.paths[path] for path in parts.paths[:_MOST_PATHS]]
    n_others = len(parts.paths) - len(names)
    sums = np.vstack([first, parts.values[_MOST_PATHS:].sum(axis=0)]) if n_others else first
    labels = [*names, f"{n_others:,} others"] if n_others else names

    def draw(figure: Figure) -> None:
        from matplotlib.patches import Patch

        colours = [*AREAS[: len(names)], *([FAINT] if n_others else [])]
        _draw_stack(outlook, figure, parts.levels, sums, colours, [""] * len(colours))
        names_above = [shortened(name, 44) for name in reversed(labels)]  # as they stand in the bars
        handles = [Patch(facecolor=colour) for colour in reversed(colours)]
        add_legend(figure, names_above, handles, loc="outside right upper", fontsize=SMALL_POINTS)

    parameter = _first_name(outlook)
    return Chart(draw, f"Share of the largest paths over {parameter}", (_shares(outlook, parts, labels, sums),),
                 "Composition by call path", (10.0, 3.6))  # fmt: skip


def _first_name(outlook: Outlook) -> str:
    return next(iter(outlook.model.parameter_names.values()))


def _draw_stack(
    outlook: Outlook, figure: Figure, levels: Floats, sums: Floats, colours: Sequence[str], hatches: Sequence[str]
) -> None:
    """Bars of shares that add up to 1, one for each level; the total above."""
    axes = figure.subplots()
    total = sums.sum(axis=0)
    shares = sums / total
    bottom = np.cumsum(shares, axis=0) - shares
    first, *others = outlook.model.measured.T
    targets = [outlook.model.target[symbol] for symbol in outlook.model.symbols[1:]]
    is_inside = all(level.min() <= target <= level.max() for level, target in zip(others, targets, strict=True))
    last = float(first.max()) if is_inside else 0.0  # beyond any parameter's range nothing was measured
    for heights, base, colour, hatch in zip(shares, bottom, colours, hatches, strict=True):
        axes.bar(range(len(levels)), heights, bottom=base, color=colour, width=0.72, edgecolor=RULE if hatch else PAPER,
                 linewidth=0.5, hatch=hatch)  # fmt: skip
    texts = [f"{level:.4g}" if level <= last else f"{level:.4g}\n(predicted)" for level in levels.tolist()]
    axes.set_xticks(range(len(levels)), texts)
    axes.yaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
    set_plain(axes)
    axes.grid(visible=False, axis="x")
    axes.set_ylim(0.0, 1.0)
    unit = f" {outlook.model.unit}" if outlook.model.unit else ""
    for place, value in enumerate(total.tolist()):
        axes.annotate(f"{value:.4g}{unit}", (place, 1.0), (0, 2), textcoords="offset points", ha="center",
                      fontsize=SMALL_POINTS)  # fmt: skip
    model = outlook.model
    fixed_text = model.point_text({symbol: model.target[symbol] for symbol in model.symbols[1:]})
    name = model.columns[model.symbols[0]] + (f", {fixed_text}" if fixed_text else "")
    axes.set_xlabel(shortened(name), fontsize=LABEL_POINTS, parse_math=False)


def _shares(outlook: Outlook, parts: _Parts, names: Sequence[str], sums: Floats) -> Table:
    parameter = _first_name(outlook)
    total = sums.sum(axis=0)
    rows = [
        (name, *(f"{share:.1%}" for share in level_shares))
        for name, level_shares in zip(names, (sums / total).tolist(), strict=True)
    ]
    rows.append(("all", *(f"{value:.4g}" for value in total.tolist())))
    return Table(("", *(f"{parameter} = {level:.4g}" for level in parts.levels.tolist())), tuple(rows))


class ScalingViews:
    """Views of scaling laws; each can be looked at for any target."""

    def __init__(self, model: ScalingModel) -> None:
        self._outlooks = Outlooks(model)
        self._number = {path: k for k, path in enumerate(model.paths)}

    @property
    def title(self) -> str:
        return self._outlooks.model.title

    def view(self, path: ViewPath, query: Query) -> View:
        """The call tree, the growth of the whole, or one path; see `perf_views.Viewable.view`."""
        model = self._outlooks.model
        state = state_of(model, query)
        trail = (Link(self.title, (), state.query()),)
        if path == (GROWTH,):
            return View("Growth of the total", growth_blocks(self._outlooks.at(state.target), state), path, trail)
        if path == ():
            outlook = self._outlooks.at(state.target)
            if len(model.paths) > 1:
                return View(self.title, tree_blocks(outlook, state))
            blocks = path_blocks(outlook, state, 0, path)
            head, *others = summary_blocks(outlook.model)
            return View(self.title, (head, *others, *blocks[1:], *unfitted_blocks(outlook, state)))
        if len(path) == 2 and path[0] == PATH_VIEW:
            name = path[1]
            if name in model.unfitted:
                return View(name, (Notice(f"Not fitted: {model.unfitted[name]}", "warning"),), path, trail)
            if name in self._number:
                outlook = self._outlooks.at(state.target)
                return View(name, path_blocks(outlook, state, self._number[name], path), path, trail)
        raise NoViewError(path)

    def paths(self) -> Iterable[ViewPath]:
        """The call tree, the growth of the whole, and the paths, the largest share at the target first."""
        yield ()
        if len(self._number) > 1:
            yield (GROWTH,)
            yield from ((PATH_VIEW, row.path) for row in self._outlooks.model.rows)
