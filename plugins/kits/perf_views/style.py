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
from matplotlib import ticker
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.legend import Legend
from matplotlib.text import Text
from matplotlib.transforms import BboxBase

from perf_views.colours import DARK, GRID, PAPER, SERIES, SIZES
from perf_views.names import LABEL_LETTERS, shortened, shortened_apart
from perfcore.base.errors import OptionError

if TYPE_CHECKING:
    from matplotlib.figure import Figure, FigureBase

LABEL_POINTS, SMALL_POINTS, TINY_POINTS = 9, 8, 7  # sizes of text
_HATCH_POINTS = 0.6
MOST_VECTORS = 5000  # points that a PDF or SVG still holds one by one
_LONGEST_LINE = 140  # letters, in the width of a page
_LONGEST_NAME = 60  # letters, of a name at a tick or in a legend
_LEAST_PLAIN, _MOST_PLAIN = 1e-4, 1e10  # times since 1970 in seconds have ten digits
_SHORTEST_LINE = 12  # letters, if a label is broken
_MOST_COLUMNS = 5  # of a legend
_LABEL_ROOM = 1.2  # of a tick, over the extent of its label
_LEAST_HEIGHT = 0.5  # inches, of a panel
_MOST_LOG_TICKS = 9
_ROUNDS = 3  # a higher picture has its texts in other lines
_MOST_COUNTED = 2**18  # beyond it powers of two are no longer read as numbers


@contextlib.contextmanager
def drawing(**settings: Any) -> Iterator[None]:
    """Draw and write within it: a dollar begins no mathematics, and a letter that the font lacks is an empty box."""
    chosen: Any = {name.replace("_", ".", 1): value for name, value in settings.items()}
    series: Any = {
        "axes.prop_cycle": cycler(color=SERIES), "image.cmap": SIZES, "hatch.linewidth": _HATCH_POINTS,
        "hatch.color": PAPER,
    }  # fmt: skip
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
    """Return all texts of a picture, names at ticks and empty ones among them."""
    at_ticks = [axis.get_ticklabels() for axis in area.findobj(Axis)]  # which are made when they are asked for
    return {text: text.get_text() for text in itertools.chain(area.findobj(Text), *at_ticks)}


def finish(area: FigureBase | Axes, before: Mapping[Text, str] | None = None) -> None:
    """Give a picture, or one panel of it, what all have in common."""
    artists = area.findobj()
    panels = [artist for artist in artists if isinstance(artist, Axes)]
    for axes in panels:
        for name, axis, limits in (("x", axes.xaxis, axes.get_xlim()), ("y", axes.yaxis, axes.get_ylim())):
            if axis.get_scale() == "log" and isinstance(axis.get_major_formatter(), ticker.LogFormatter):
                set_logarithmic(axes, name, *limits, base=2 if getattr(axis.get_transform(), "base", 10) == 2 else 10)
            elif axis.get_scale() == "linear" and type(axis.get_major_formatter()) is ticker.ScalarFormatter:
                _write_in_full(axis, *limits)
        for axis in (axes.xaxis, axes.yaxis):
            if isinstance(axis.get_major_locator(), ticker.FixedLocator):
                names = [text.get_text() for text in axis.get_ticklabels()]
                if (short := _short(names)) != names:
                    axis.set_ticklabels(short)
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


def _short(names: list[str]) -> list[str]:
    """Return names next to a panel or in a legend, if some would leave it no room."""
    is_long = max(map(len, names), default=0) > _LONGEST_NAME
    return shortened_apart(names, LABEL_LETTERS) if is_long else names


def _write_in_full(axis: Axis, low: float, high: float) -> None:
    """Write numbers at the ticks of a linear axis as they are: nothing is to be added to them or multiplied with."""
    largest = max(abs(low), abs(high))
    if _LEAST_PLAIN <= largest < _MOST_PLAIN:
        plain = ticker.ScalarFormatter(useOffset=False)
        plain.set_scientific(False)
        axis.set_major_formatter(plain)
    else:
        axis.set_major_formatter(ticker.StrMethodFormatter("{x:g}"))


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
        axis.set_major_locator(ticker.LogLocator(base=2.0, numticks=7))
    elif decades < 0.7:
        axis.set_major_locator(ticker.MaxNLocator(4))
    else:
        axis.set_major_locator(ticker.LogLocator(subs=(1.0, 2.0, 5.0) if decades < 2.5 else (1.0,), numticks=9))
    axis.set_minor_locator(ticker.NullLocator())
    axis.set_major_formatter(ticker.StrMethodFormatter("{x:g}"))
    set_plain(axes)


def set_plain(axes: Axes) -> None:
    """Give a panel small tick labels and a faint grid behind what is drawn."""
    axes.tick_params(labelsize=SMALL_POINTS)
    axes.grid(color=GRID, linewidth=0.6)
    axes.set_axisbelow(True)


def add_legend(area: FigureBase | Axes, names: list[str], handles: list[Any], **how: Any) -> Legend:
    """Add a legend of names as they are: none is passed over for its first letter, and a dollar is a dollar."""
    legend: Legend = area.legend(handles, [str(number) for number in range(len(names))], **{"frameon": False, **how})
    for text, name in zip(legend.get_texts(), _short(names), strict=True):
        text.set(text=name, parse_math=False)
    return legend


def join_legends(figure: Figure, may_grow: bool) -> None:
    """Explain below all panels what each of them explained; the picture becomes higher by it if it may grow."""
    handles: dict[str, Any] = {}
    for axes in figure.axes:
        if (inside := axes.get_legend()) is not None:
            for text, handle in zip(inside.get_texts(), inside.legend_handles, strict=True):
                handles.setdefault(text.get_text(), handle)
            size = inside.get_texts()[0].get_fontsize()
            inside.remove()
    if not handles:
        return
    how: dict[str, Any] = {"loc": "outside lower center", "fontsize": size, "columnspacing": 1.0, "handletextpad": 0.5}
    for columns in range(min(len(handles), _MOST_COLUMNS), 0, -1):
        legend = add_legend(figure, list(handles), list(handles.values()), ncols=columns, **how)
        if (reach := legend.get_window_extent().width) <= figure.bbox.width or columns == 1:
            break
        legend.remove()
    widest = max(text.get_window_extent().width for text in legend.get_texts())
    if (excess := reach - figure.bbox.width) > 0.0:
        letters = max(int(max(map(len, handles)) * (1.0 - excess / widest)) - 2, _SHORTEST_LINE)
        for text, name in zip(legend.get_texts(), shortened_apart(list(handles), letters), strict=True):
            text.set_text(name)
    if may_grow:
        width, height = figure.get_size_inches()
        figure.set_size_inches(width, height + legend.get_window_extent().height / figure.dpi)


def _lay_out(figure: Figure) -> None:
    """Give all panels their places, without drawing them."""
    engine = figure.get_layout_engine()
    assert engine is not None  # pictures have a constrained layout
    engine.execute(figure)


def panel_shapes(figure: Figure) -> dict[Axes, float]:
    """Return the height over width of each panel of a picture that has the size in which it was thought."""
    _lay_out(figure)
    boxes = {axes: axes.get_window_extent() for axes in _panels(figure)}
    return {axes: box.height / box.width for axes, box in boxes.items()}


def set_height(figure: Figure, shapes: Mapping[Axes, float]) -> None:
    """Give a picture the height at which no panel is flatter than it was thought: its texts don't shrink with it."""
    for _ in range(_ROUNDS):
        _lay_out(figure)
        boxes = {axes: axes.get_window_extent() for axes in _panels(figure) if axes in shapes}
        least = {axes: max(_LEAST_HEIGHT * figure.dpi, shapes[axes] * box.width) for axes, box in boxes.items()}
        factor = max((least[axes] / boxes[axes].height for axes in boxes), default=1.0)
        if abs(factor - 1.0) < 0.02:
            break
        width, height = figure.get_size_inches()
        figure.set_size_inches(width, height + (factor - 1.0) * _covered(list(boxes.values())) / figure.dpi)


def thin_out_ticks(figure: Figure) -> None:
    """Leave out ticks whose labels would run into each other, turn names that would, and break labels of axes again."""
    break_long_lines(figure)
    for axes in figure.findobj(Axes):
        for axis, side in ((axes.xaxis, "width"), (axes.yaxis, "height")):
            low, high = sorted(axis.get_view_interval())
            slack = 1e-6 * (high - low)  # matplotlib keeps labels beyond the ends
            ticks = zip(axis.get_majorticklocs(), axis.get_majorticklabels(), strict=False)
            labels = [text for at, text in ticks if low - slack <= at <= high + slack and text.get_text()]
            extents = [getattr(label.get_window_extent(), side) for label in labels]
            room = getattr(axes.get_window_extent(), side)
            most = max(int(room / (_LABEL_ROOM * max(extents, default=1.0))), 1)
            locator = axis.get_major_locator()
            if isinstance(locator, ticker.MaxNLocator) and len(labels) > most:
                locator.set_params(nbins=most)
            elif isinstance(locator, ticker.LogLocator) and _collide(labels):
                base = 2.0 if getattr(axis.get_transform(), "base", 10.0) == 2.0 else 10.0  # of which powers remain
                axis.set_major_locator(ticker.LogLocator(base=base, subs=(1.0,), numticks=min(most, _MOST_LOG_TICKS)))
            elif isinstance(locator, ticker.FixedLocator):
                if not isinstance(axis.get_major_formatter(), ticker.FixedFormatter):
                    places = axis.get_majorticklocs().tolist()  # numbers; names are never left out
                    axis.set_major_locator(ticker.FixedLocator(places[:: -(-len(places) // most)]))
                elif side == "width" and _collide(labels):
                    axis.set_tick_params(rotation=90)


def _collide(labels: list[Text]) -> bool:
    boxes: list[BboxBase] = [label.get_window_extent() for label in labels]
    return any(before.overlaps(after) for before, after in itertools.pairwise(boxes))


def _panels(figure: Figure) -> list[Axes]:
    """Return all that may become higher: neither scales of colours nor maps with cells of a fixed shape."""
    panels = (axes for axes in figure.findobj(Axes) if axes.get_aspect() == "auto" and axes.get_visible())
    return [axes for axes in panels if axes.get_label() != "<colorbar>"]


def _covered(boxes: list[BboxBase]) -> float:
    """Return the height that panels cover, side by side or not."""
    covered, top = 0.0, -np.inf
    for low, high in sorted((box.y0, box.y1) for box in boxes):
        covered += max(high - max(low, top), 0.0)
        top = max(top, high)
    return covered


def break_long_lines(figure: Figure) -> None:
    """Break titles and labels of axes that a narrow picture would cut off."""
    _lay_out(figure)
    width = figure.bbox.width
    overall = [title for title in (figure._suptitle,) if title is not None]  # type: ignore[attr-defined]
    texts = [(title, width - title.get_window_extent().x0 if title.get_ha() == "left" else width) for title in overall]
    for axes in figure.findobj(Axes):
        box = axes.get_window_extent()
        titles = (axes.title, axes._left_title, axes._right_title)  # type: ignore[attr-defined]
        texts += [(text, box.width) for text in (*titles, axes.xaxis.label)]
        texts.append((axes.yaxis.label, box.height))
    for text, length in texts:
        content = text.get_text()
        extent = text.get_window_extent()
        reaches = max(extent.width, extent.height)
        if content and reaches > length:
            letters = max(int(len(max(content.split("\n"), key=len)) * length / reaches), _SHORTEST_LINE)
            text.set_text("\n".join(part for line in content.split("\n") for part in textwrap.wrap(line, letters)))
