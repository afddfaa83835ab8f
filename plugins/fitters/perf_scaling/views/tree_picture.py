"""The call tree as a drawing: each region as wide as its share at the target, below its caller, coloured by growth."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from perf_scaling.call_tree import CallTree
from perf_scaling.views.outlook import Outlook
from perf_scaling.views.scale import HATCH, add_class_legend, class_colour, is_sure
from perf_views.colours import INK, PALE, PAPER, RULE, text_on
from perf_views.contents import Chart
from perf_views.pictures.style import LABEL_POINTS, SMALL_POINTS, TINY_POINTS, set_plain
from perf_views.short_names import shortened

if TYPE_CHECKING:
    from matplotlib.figure import Figure


Floats = npt.NDArray[np.float64]

_NARROWEST = 0.002  # of the width; narrower ones are not drawn, so that there are a few hundred at most in a row
_DEEPEST = 14  # rows; deeper regions are seen below one that is chosen
_MOST_BARS = 20
_LETTERS = 165  # of the size of the names, side by side in the width
_FEWEST = 6  # letters that a shortened name is still read in
_HEIGHT = 0.27  # inches, of a row


def tree_chart(outlook: Outlook, tree: CallTree, inclusive_shares: Floats, top: int | None) -> Chart:
    """The tree, or where nothing calls anything the largest shares as bars.

    Parameters
    ----------
    outlook : Outlook
    tree : CallTree
    inclusive_shares : (N,) float
        Share of each region with all that it calls.
    top : int, optional
        The region that is looked below; by default all.
    """
    target_text = outlook.model.target_text
    if tree.is_flat:
        return _bar_chart(outlook, tree, target_text)
    placed = _placed(tree, inclusive_shares, tree.outermost if top is None else (top,))
    levels = 1 + max((level for _, level, _, _ in placed), default=0)

    def draw(figure: Figure) -> None:
        from matplotlib.collections import PolyCollection

        axes = figure.subplots()
        grown = [outlook.rows[tree.paths[node]].growths[0] if tree.paths[node] >= 0 else None for node, *_ in placed]
        corners = [
            ((left, level), (left + width, level), (left + width, level + 1.0), (left, level + 1.0))
            for _, level, left, width in placed
        ]
        colours = [PALE if growth is None else class_colour(growth.name, is_sure=is_sure(growth)) for growth in grown]
        unsure = [growth is not None and not is_sure(growth) for growth in grown]
        # One collection of all: hundreds of rectangles of their own take a second.
        axes.add_collection(PolyCollection(corners, facecolors=colours, edgecolors=PAPER, linewidths=0.7))
        striped = [corner for corner, is_striped in zip(corners, unsure, strict=True) if is_striped]
        if striped:
            hatched = PolyCollection(striped, facecolors="none", edgecolors=RULE, linewidths=0.0, hatch=HATCH)
            axes.add_collection(hatched)
        for (node, level, left, width), colour in zip(placed, colours, strict=True):
            letters = int(width * _LETTERS) - 1
            if letters >= min(_FEWEST, len(tree.names[node])):
                axes.text(left + 0.003, level + 0.5, shortened(tree.names[node], letters), fontsize=TINY_POINTS,
                          va="center", color=INK if colour == PALE else text_on(colour), parse_math=False)  # fmt: skip
        axes.set(xlim=(0.0, 1.0), ylim=(levels, 0.0), yticks=[])
        axes.xaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
        axes.tick_params(labelsize=SMALL_POINTS)
        axes.spines[:].set_visible(False)
        of = "" if top is None else f" below {shortened(tree.full_names[top], 60)}"
        axes.set_xlabel(f"share{of} at {target_text}", fontsize=LABEL_POINTS, parse_math=False)
        add_class_legend(figure, {growth.name for growth in grown if growth is not None}, all_sure=not any(unsure))

    first, *others = outlook.model.parameter_names.values()
    over = f" over {first}" if others else ""
    text = f"Regions below their callers, as wide as their share at {target_text}, coloured by their growth{over}"
    return Chart(draw, text, (), f"Where the {_what(outlook)} goes, coloured by growth{over}",
                 (10.0, 0.95 + _HEIGHT * levels))  # fmt: skip


def _placed(
    tree: CallTree, inclusive_shares: Floats, outermost: tuple[int, ...]
) -> list[tuple[int, int, float, float]]:
    """Node, level, left end and width of what is wide enough to be seen; callees from the left, the widest first."""
    total = sum(float(inclusive_shares[node]) for node in outermost)
    if not total > 0.0:
        return []
    placed: list[tuple[int, int, float, float]] = []
    waiting = [(outermost, 0, 0.0, 1.0)]
    while waiting:
        nodes, level, left, room = waiting.pop()
        # Medians of what a region calls may exceed its own where values are inclusive.
        widths = {node: float(inclusive_shares[node]) / total for node in nodes}
        squeeze = min(1.0, room / sum(widths.values())) if sum(widths.values()) > 0.0 else 1.0
        for node in sorted(nodes, key=lambda node: -widths[node]):
            width = widths[node] * squeeze
            if width < _NARROWEST:
                break
            placed.append((node, level, left, width))
            if tree.callees[node] and level + 1 < _DEEPEST:
                waiting.append((tree.callees[node], level + 1, left, width))
            left += width
    return placed


def _bar_chart(outlook: Outlook, tree: CallTree, target_text: str) -> Chart:
    of_metric = set(tree.paths)
    paths = [path for path in outlook.rows if path in of_metric][:_MOST_BARS]

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        growths = [outlook.rows[path].growths[0] for path in paths]
        shares = [outlook.rows[path].share for path in paths]
        colours = [class_colour(growth.name, is_sure=is_sure(growth)) for growth in growths]
        hatches = ["" if is_sure(growth) else HATCH for growth in growths]
        axes.barh(range(len(paths)), shares, color=colours, height=0.8, hatch=hatches, edgecolor=RULE, linewidth=0.0)
        labels = [shortened(outlook.model.paths[path], 50) for path in paths]
        axes.set_yticks(range(len(paths)), labels, parse_math=False)
        axes.invert_yaxis()
        axes.xaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
        set_plain(axes)
        axes.set_xlabel(f"share at {target_text}", fontsize=LABEL_POINTS, parse_math=False)
        add_class_legend(figure, {growth.name for growth in growths}, all_sure=not any(hatches))

    which = f"; the {_MOST_BARS} largest" if len(tree.names) > _MOST_BARS else ""
    title = f"Where the {_what(outlook)} goes, coloured by growth{which}"
    return Chart(
        draw, f"Shares of paths at {target_text}, coloured by growth", (), title, (10.0, 0.95 + 0.2 * len(paths))
    )


def _what(outlook: Outlook) -> str:
    return "time" if "time" in outlook.model.value_name.lower() else outlook.model.value_name
