"""Growth of the whole: how many paths grow how, and what the time is made of from the measured scale to the target."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from perf_scaling.growth import CLASSES, SURE
from perf_scaling.views.outlook import GROWTH, Outlook, State, target_blocks
from perf_scaling.views.scale import HATCH, add_class_legend, class_colour, is_sure
from perf_views.colours import AREAS, FAINT, PAPER, RULE
from perf_views.contents import Block, Cell, Chart, Link, Table, Text
from perf_views.pictures.style import LABEL_POINTS, SMALL_POINTS, add_legend, set_plain
from perf_views.short_names import shortened

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.figure import Figure


Floats = npt.NDArray[np.float64]

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
    back = Text((note,) if note else (), links=(Link("Paths", (), state.query()),))
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
        class_rows = [
            outlook.rows[path] for path in paths if path >= 0 and outlook.rows[path].growths[number].name == name
        ]
        sure = sum(is_sure(row.growths[number]) for row in class_rows)
        counted = [outlook.rows[path].growths[number].name == name for path in parts.paths]
        sums = parts.values[counted].sum(axis=0) / parts.values.sum(axis=0)
        shares = [f"{sums[parts.levels == level][0]:.1%}" for level in (last, target)]
        rows.append((Cell(name, step=CLASSES.index(name)), f"{len(class_rows):,}", f"{sure:,}", *shares))
    names = list(model.parameter_names.values())
    parameter, first = names[number], names[0]
    header = (f"growth over {parameter}", "paths", f"sure ({SURE:.0%})", f"share at {first} = {last:g}",
              f"at {first} = {target:g}")  # fmt: skip
    return Table(header, tuple(rows), f"Classes of growth over {parameter}", "Shares are of medians.")


def _class_chart(outlook: Outlook, parts: _Parts) -> Chart:
    of_path = [(growth.name, is_sure(growth)) for growth in (outlook.rows[path].growths[0] for path in parts.paths)]
    kinds = [kind for name in CLASSES for kind in ((name, True), (name, False)) if kind in of_path]
    sums = np.array([parts.values[[kind == path_class for path_class in of_path]].sum(axis=0) for kind in kinds])
    names = [name if sure else f"{name}, not sure" for name, sure in kinds]

    def draw(figure: Figure) -> None:
        colours = [class_colour(name, is_sure=sure) for name, sure in kinds]
        _draw_stack(outlook, figure, parts.levels, sums, colours, ["" if sure else HATCH for _, sure in kinds])
        add_class_legend(figure, {name for name, _ in kinds}, all_sure=all(sure for _, sure in kinds))

    parameter = _first_name(outlook)
    return Chart(draw, f"Share of each class of growth over {parameter}", (_shares(outlook, parts, names, sums),),
                 f"What the whole is made of, by growth over {parameter}", (10.0, 3.6))  # fmt: skip


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
                 "What the whole is made of, by path", (10.0, 3.6))  # fmt: skip


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
