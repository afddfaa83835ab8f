"""What the parts of a picture share: colours, markers, sizes of text, axes and legends."""

from __future__ import annotations

import contextlib
import itertools
import textwrap
import warnings
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np
from cycler import cycler
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.collections import PathCollection
from matplotlib.legend import Legend
from matplotlib.text import Text
from matplotlib.ticker import (
    FixedFormatter,
    FixedLocator,
    LogFormatter,
    LogLocator,
    MaxNLocator,
    NullLocator,
    ScalarFormatter,
    StrMethodFormatter,
)
from matplotlib.transforms import IdentityTransform, ScaledTranslation, blended_transform_factory

from perf_views.colours import DARK, GRID, PAPER, SERIES, SIZES
from perf_views.names import LABEL_LETTERS, shortened, shortened_apart
from perfcore.base.errors import OptionError

if TYPE_CHECKING:
    from matplotlib.figure import Figure, FigureBase
    from matplotlib.transforms import BboxBase

LABEL_POINTS, SMALL_POINTS, TINY_POINTS = 9, 8, 7  # sizes of text
_HATCH_POINTS = 0.6
BELOW = "below"  # the name (gid) of a legend that stands below all plots
MOST_VECTORS = 5000  # points that a PDF or SVG still holds one by one
_LONGEST_LINE = 140  # letters, in the width of a page
_LONGEST_NAME = 60  # letters, of a name at a tick or in a legend
_LEAST_PLAIN, _MOST_PLAIN = 1e-4, 1e10  # times since 1970 in seconds have ten digits
_MOST_COUNTED = 2**18  # beyond it powers of two are no longer read as numbers


@contextlib.contextmanager
def drawing(**settings: Any) -> Iterator[None]:
    """Everything is drawn and written within it: a name is a name, whatever stands in it.

    A dollar does not begin mathematics, and a letter that the font lacks, such as an emoji, is an empty box.
    """
    chosen: Any = {name.replace("_", ".", 1): value for name, value in settings.items()}
    series: Any = {
        "axes.prop_cycle": cycler(color=SERIES),
        "image.cmap": SIZES,
        "hatch.linewidth": _HATCH_POINTS,
        "hatch.color": PAPER,
    }
    with mpl.rc_context({"text.parse_math": False, **series, **chosen}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=r"Glyph .* missing from")
        warnings.filterwarnings("error", message="constrained_layout not applied")
        try:
            yield
        except UserWarning as warning:
            if "constrained_layout" not in str(warning):
                raise
            raise OptionError(
                "the picture has no room for its panels; choose some, a larger size or smaller text"
            ) from None


def texts_of(area: FigureBase | Axes) -> dict[Text, str]:
    """All texts of a picture, names at ticks and empty ones among them."""
    at_ticks = [axis.get_ticklabels() for axis in area.findobj(Axis)]  # which are made when they are asked for
    return {text: text.get_text() for text in itertools.chain(area.findobj(Text), *at_ticks)}


def finish(area: FigureBase | Axes, before: Mapping[Text, str] | None = None) -> None:
    """Give a picture, or one panel of it, what all have in common."""
    artists = area.findobj()
    panels = [artist for artist in artists if isinstance(artist, Axes)]
    for axes in panels:
        for name, axis, limits in (("x", axes.xaxis, axes.get_xlim()), ("y", axes.yaxis, axes.get_ylim())):
            if axis.get_scale() == "log" and isinstance(axis.get_major_formatter(), LogFormatter):
                set_logarithmic(axes, name, *limits, base=2 if getattr(axis.get_transform(), "base", 10) == 2 else 10)
            elif axis.get_scale() == "linear" and type(axis.get_major_formatter()) is ScalarFormatter:
                _write_in_full(axis, *limits)
        for axis in (axes.xaxis, axes.yaxis):
            if isinstance(axis.get_major_locator(), FixedLocator):
                _shorten_ticks(axis)
    for legend in (artist for artist in artists if isinstance(artist, Legend)):
        texts = legend.get_texts()
        for text, name in zip(texts, _short([text.get_text() for text in texts]), strict=True):
            text.set_text(name)
    for text in (artist for artist in artists if isinstance(artist, Text)):
        lines = text.get_text().split("\n")
        if max(map(len, lines)) > _LONGEST_LINE:
            text.set_text("\n".join(shortened(line, _LONGEST_LINE) for line in lines))
    for text, content in texts_of(area).items():
        if content != (before or {}).get(text, ""):
            text.set_parse_math(False)
    if not any(axes.has_data() or axes.texts for axes in panels):
        transform: Any = area.transAxes if isinstance(area, Axes) else area.transSubfigure  # type: ignore[attr-defined]
        for axes in panels:
            axes.set_axis_off()
        area.text(0.5, 0.5, "there is nothing to draw", ha="center", va="center", color=DARK, transform=transform)


def _shorten_ticks(axis: Axis) -> None:
    names = [text.get_text() for text in axis.get_ticklabels()]
    if (short := _short(names)) != names:
        axis.set_ticklabels(short)


def _short(names: list[str]) -> list[str]:
    """Names next to a panel or in a legend, where some would leave it no room."""
    is_long = max(map(len, names), default=0) > _LONGEST_NAME
    return shortened_apart(names, LABEL_LETTERS) if is_long else names


def _write_in_full(axis: Axis, low: float, high: float) -> None:
    """Numbers at the ticks of a linear axis as they are: nothing is to be added to them or multiplied with."""
    largest = max(abs(low), abs(high))
    if _LEAST_PLAIN <= largest < _MOST_PLAIN:
        plain = ScalarFormatter(useOffset=False)
        plain.set_scientific(False)
        axis.set_major_formatter(plain)
    else:
        axis.set_major_formatter(StrMethodFormatter("{x:g}"))


def set_text_size(figure: FigureBase, points: float) -> None:
    """Give all text of a picture one size, as papers want it."""
    for axes in figure.findobj(Axes):
        axes.tick_params(which="both", labelsize=points)
    for text in figure.findobj(Text):
        text.set_fontsize(points)


def set_logarithmic(axes: Axes, name: str, start: float, end: float, base: int = 10) -> None:
    """Make an axis logarithmic, in powers of two for what is counted in them, such as processors."""
    axes.set(**{f"{name}scale": "log", f"{name}lim": (start, end)})
    axis, decades = axes.xaxis if name == "x" else axes.yaxis, np.log10(end / start)
    if base == 2 and end < _MOST_COUNTED:
        axis.set_major_locator(LogLocator(base=2.0, numticks=7))
    elif decades < 0.7:
        axis.set_major_locator(MaxNLocator(4))
    else:
        axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if decades < 2.5 else (1.0,), numticks=9))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(StrMethodFormatter("{x:g}"))
    set_plain(axes)


def set_plain(axes: Axes) -> None:
    """Give a panel small tick labels and a faint grid behind what is drawn."""
    axes.tick_params(labelsize=SMALL_POINTS)
    axes.grid(color=GRID, linewidth=0.6)
    axes.set_axisbelow(True)


def add_legend(area: FigureBase | Axes, names: list[str], handles: list[Any], **how: Any) -> Legend:
    """Add a legend of names as they are: none is passed over for its first letter, and a dollar is a dollar."""
    legend: Legend = area.legend(handles, [str(number) for number in range(len(names))], **{"frameon": False, **how})
    for text, name in zip(legend.get_texts(), names, strict=True):
        text.set(text=name, parse_math=False)
    return legend


def legend_below(axes: Axes) -> None:
    """Explain what a panel shows below it, past the labels of its horizontal axis."""
    handles, names = axes.get_legend_handles_labels()
    names = shortened_apart(names, LABEL_LETTERS)
    place = axes.transAxes + ScaledTranslation(0.0, -_BELOW, axes.figure.dpi_scale_trans)
    where: dict[str, Any] = {"loc": "upper left", "bbox_to_anchor": (-0.01, 0.0), "bbox_transform": place}
    columns = min(_IN_ROW, max(1, _LINE_LETTERS // max(map(len, names), default=1)))
    add_legend(axes, names, handles, ncols=columns, fontsize=SMALL_POINTS, **where).set_gid(BELOW)


_BELOW = 0.42  # inches, of an axis with its label
_IN_ROW, _LINE_LETTERS = 4, 130  # of a legend below a panel
_SHORTEST_LINE = 12  # letters, where a label is broken
_MOST_COLUMNS = 5  # of a legend below a panel
_MOST_OF_PANEL = 0.35  # of the height of a panel, for a legend below it in a picture of a given height
_BESIDE_LABELS = 0.8  # of the width of a picture
_LABEL_ROOM = 1.2  # of a tick, over the extent of its label
_MARGIN = 0.05  # inches, that constrained layout leaves at the edge of a picture
_LEAST_HEIGHT = 0.5  # inches, of a panel
_MOST_LOG_TICKS = 9
_ROUNDS = 3  # a higher picture has its texts in other lines


def panel_shapes(figure: Figure) -> dict[Axes, float]:
    """Height over width of each panel of a picture that has the size in which it was thought."""
    figure.draw_without_rendering()
    boxes = {axes: axes.get_window_extent() for axes in _panels(figure)}
    return {axes: box.height / box.width for axes, box in boxes.items()}


def fit_texts(figure: Figure) -> None:
    """Break what a narrow picture would cut off: legends below the panels, and titles and labels of axes."""
    engine = figure.get_layout_engine()
    figure.set_layout_engine("none")  # a legend that is too wide leaves no room for any panel
    figure.draw_without_rendering()
    for legend in [*figure.legends, *_legends(figure).values()]:
        _narrow(legend, figure)
    for legend in _legends(figure).values():
        legend.set_in_layout(False)  # until `move_legends` knows where it stands
    figure.set_layout_engine(engine)
    figure.draw_without_rendering()
    _break_long_lines(figure)


def has_free_legend(figure: Figure) -> bool:
    """Whether matplotlib chose the place of any legend, which may lie over what is drawn where nothing is free."""
    return any(legend._loc == 0 for legend in _legends(figure).values())  # type: ignore[attr-defined]


def _legends(figure: Figure) -> dict[Axes, Legend]:
    legends = ((axes, axes.get_legend()) for axes in figure.axes)
    return {axes: legend for axes, legend in legends if legend is not None}


def move_legends(figure: Figure, may_grow: bool) -> None:
    """Put legends that lie over what is drawn or over a title below their panels."""
    figure.draw_without_rendering()
    heights: dict[int, float] = {}  # inches, by row of panels
    for axes, legend in _legends(figure).items():
        room = np.inf if may_grow else _MOST_OF_PANEL * axes.get_window_extent().height
        if legend.get_window_extent().height > room or not (legend.get_gid() == BELOW or _hides(legend, axes)):
            continue
        moved = _moved_below(axes, legend, figure)
        row = 0 if (place := axes.get_subplotspec()) is None else place.rowspan.start
        heights[row] = max(heights.get(row, 0.0), moved.get_window_extent().height / figure.dpi)
    if may_grow and heights:
        width, height = figure.get_size_inches()
        figure.set_size_inches(width, height + sum(heights.values()))
    for legend in _legends(figure).values():
        legend.set_in_layout(True)


def raise_panels(figure: Figure, shapes: Mapping[Axes, float]) -> None:
    """Make a picture higher until no panel is flatter than it was thought: its texts don't shrink with it."""
    for _ in range(_ROUNDS):
        figure.draw_without_rendering()
        boxes = {axes: axes.get_window_extent() for axes in _panels(figure) if axes in shapes}
        least = {axes: max(_LEAST_HEIGHT * figure.dpi, shapes[axes] * box.width) for axes, box in boxes.items()}
        factor = max((least[axes] / boxes[axes].height for axes in boxes), default=1.0)
        if factor < 1.02:
            break
        width, height = figure.get_size_inches()
        figure.set_size_inches(width, height + (factor - 1.0) * _covered(list(boxes.values())) / figure.dpi)


def thin_out_ticks(figure: Figure) -> None:
    """Leave out ticks where their labels would run into each other; names that would do so are turned.

    Labels of axes are broken again: panels have the size by now that they keep.
    """
    figure.draw_without_rendering()
    _break_long_lines(figure)
    for axes in figure.findobj(Axes):
        for axis, side in ((axes.xaxis, "width"), (axes.yaxis, "height")):
            labels = _shown_labels(axis)
            extents = [getattr(label.get_window_extent(), side) for label in labels]
            room = getattr(axes.get_window_extent(), side)
            most = max(int(room / (_LABEL_ROOM * max(extents, default=1.0))), 1)
            locator = axis.get_major_locator()
            if isinstance(locator, MaxNLocator) and len(labels) > most:
                locator.set_params(nbins=most)
            elif isinstance(locator, LogLocator) and _collide(labels):
                _thin_out_powers(axis, most)
            elif isinstance(locator, FixedLocator) and not isinstance(axis.get_major_formatter(), FixedFormatter):
                places = axis.get_majorticklocs().tolist()  # numbers; names are never left out
                axis.set_major_locator(FixedLocator(places[:: -(-len(places) // most)]))
            elif isinstance(locator, FixedLocator) and side == "width" and _collide(labels):
                axis.set_tick_params(rotation=90)


def _thin_out_powers(axis: Axis, most: int) -> None:
    """Leave the powers of its base to a logarithmic axis, and of those as many as there is room for."""
    base = 2.0 if getattr(axis.get_transform(), "base", 10.0) == 2.0 else 10.0
    axis.set_major_locator(LogLocator(base=base, subs=(1.0,), numticks=min(most, _MOST_LOG_TICKS)))


def _shown_labels(axis: Axis) -> list[Text]:
    """Labels of ticks between the ends of an axis; matplotlib keeps some beyond."""
    low, high = sorted(axis.get_view_interval())
    room = 1e-6 * (high - low)
    ticks = zip(axis.get_majorticklocs(), axis.get_majorticklabels(), strict=False)
    return [label for place, label in ticks if low - room <= place <= high + room and label.get_text()]


def _collide(labels: list[Text]) -> bool:
    boxes: list[BboxBase] = [label.get_window_extent() for label in labels]
    return any(before.overlaps(after) for before, after in itertools.pairwise(boxes))


def _panels(figure: Figure) -> list[Axes]:
    """All that may become higher: neither scales of colours nor maps with cells of a fixed shape."""
    panels = (axes for axes in figure.findobj(Axes) if axes.get_aspect() == "auto" and axes.get_visible())
    return [axes for axes in panels if axes.get_label() != "<colorbar>"]


def _covered(boxes: list[BboxBase]) -> float:
    """Height that panels cover, side by side or not."""
    covered, top = 0.0, -np.inf
    for low, high in sorted((box.y0, box.y1) for box in boxes):
        covered += max(high - max(low, top), 0.0)
        top = max(top, high)
    return covered


def _hides(legend: Legend, axes: Axes) -> bool:
    """Whether lines, points, bars, areas or titles of a panel lie behind its legend."""
    box = legend.get_window_extent()
    if any(title.get_text() and title.get_window_extent().overlaps(box) for title in _titles(axes)):
        return True
    for line in axes.lines:
        path = line.get_transform().transform_path(line.get_path())
        if line.get_linestyle() in ("None", "", " "):
            if box.count_contains(path.vertices):
                return True
        elif path.intersects_bbox(box, filled=False):
            return True
    if any(patch.get_window_extent().overlaps(box) for patch in axes.patches):
        return True
    for area in axes.collections:
        offsets = area.get_offset_transform().transform(np.ma.filled(area.get_offsets(), np.nan))
        if isinstance(area, PathCollection):
            if box.count_contains(offsets):
                return True
        elif any(area.get_transform().transform_path(path).intersects_bbox(box) for path in area.get_paths()):
            return True
    return bool(axes.images)


def _titles(axes: Axes) -> list[Text]:
    return [axes.title, axes._left_title, axes._right_title]  # type: ignore[attr-defined]


def _moved_below(axes: Axes, legend: Legend, figure: Figure) -> Legend:
    """A new legend, below the label of the horizontal axis, in as many columns as there is room for."""
    names, size = [text.get_text() for text in legend.get_texts()], legend.get_texts()[0].get_fontsize()
    handles: list[Any] = list(legend.legend_handles)
    margin = _MARGIN * figure.dpi
    width = figure.bbox.width / len({each.get_window_extent().x0 for each in figure.axes}) - 2.0 * margin
    panel, box = axes.get_window_extent(), axes.get_tightbbox()
    assert box is not None  # it is visible
    below = (panel.y0 - box.y0) / figure.dpi  # labels keep their height
    # Across in parts of the picture: where it would reach beyond the edge of it, it is not in the middle of its panel.
    place = blended_transform_factory(
        figure.transFigure, axes.transAxes + ScaledTranslation(0.0, -below, figure.dpi_scale_trans)
    )
    for columns in range(min(len(names), _MOST_COLUMNS), 0, -1):
        legend.remove()
        legend = add_legend(
            axes, names, handles, loc="upper center", ncols=columns, fontsize=size, borderaxespad=0.2,
            columnspacing=1.0, handletextpad=0.5,
        )  # fmt: skip
        legend.set_in_layout(False)
        figure.draw_without_rendering()
        reach = legend.get_window_extent().width
        if reach <= width:
            break
    if (excess := reach - width) > 0.0:  # in one column
        _wrap_names(legend, excess)
        figure.draw_without_rendering()
        reach = legend.get_window_extent().width
    half = reach / 2.0 + margin
    middle = min(max((panel.x0 + panel.x1) / 2.0, half), max(figure.bbox.width - half, half))
    legend.set_bbox_to_anchor((middle / figure.bbox.width, 0.0), place)
    return legend


def _wrap_names(legend: Legend, excess: float) -> None:
    """Break the names of a legend that is too wide by some pixels."""
    for text in legend.get_texts():
        name, wide = text.get_text(), text.get_window_extent().width
        room = max(each.get_window_extent().width for each in legend.get_texts()) - excess
        if wide > room:
            letters = max(int(len(name) * room / wide), _SHORTEST_LINE)
            text.set_text("\n".join(textwrap.wrap(name, letters)))


def _break_long_lines(figure: Figure) -> None:
    width = figure.bbox.width
    overall = [title for title in (figure._suptitle,) if title is not None]  # type: ignore[attr-defined]
    texts = [(title, width - title.get_window_extent().x0 if title.get_ha() == "left" else width) for title in overall]
    for axes in figure.findobj(Axes):
        box = axes.get_window_extent()
        texts += [(text, box.width) for text in (*_titles(axes), axes.xaxis.label)]
        texts.append((axes.yaxis.label, box.height))
    for text, length in texts:
        content = text.get_text()
        extent = text.get_window_extent()
        reaches = max(extent.width, extent.height)
        if content and reaches > length:
            letters = max(int(len(max(content.split("\n"), key=len)) * length / reaches), _SHORTEST_LINE)
            text.set_text("\n".join(part for line in content.split("\n") for part in textwrap.wrap(line, letters)))


def _narrow(legend: Legend, figure: Figure) -> None:
    """Give a legend fewer columns until it fits, and then shorter names."""
    if not legend.get_texts():
        return
    names, size = [text.get_text() for text in legend.get_texts()], legend.get_texts()[0].get_fontsize()
    # One of a panel begins where that does, next to the labels of its axis.
    room = figure.bbox.width * (1.0 if legend in figure.legends else _BESIDE_LABELS)
    columns, anchor = legend._ncols, legend.get_bbox_to_anchor()  # type: ignore[attr-defined]
    while columns > 1 and legend.get_window_extent().width > room:
        columns -= 1
        handles: list[Any] = list(legend.legend_handles)
        how: dict[str, Any] = {"ncols": columns, "fontsize": size, "frameon": legend.get_frame_on()}
        axes: Any = legend.axes  # None of the figure's
        place = legend._loc  # type: ignore[attr-defined]
        legend.remove()
        if axes is not None:
            name = legend.get_gid()
            legend = add_legend(axes, names, handles, loc=place, **how)
            legend.set_bbox_to_anchor(anchor, IdentityTransform())
            legend.set_gid(name)
        else:
            legend = add_legend(figure, names, handles, loc="outside lower center", **how)
        figure.draw_without_rendering()
    widest = max(text.get_window_extent().width for text in legend.get_texts())
    if (excess := legend.get_window_extent().width - room) > 0.0:
        letters = int(max(map(len, names)) * (1.0 - excess / widest)) - 2
        for text, name in zip(legend.get_texts(), shortened_apart(names, max(letters, _SHORTEST_LINE)), strict=True):
            text.set_text(name)
