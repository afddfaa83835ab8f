"""What the parts of a picture share: colours, markers, sizes of text, axes and legends."""

from __future__ import annotations

import contextlib
import itertools
import warnings
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np
import numpy.typing as npt
from cycler import cycler
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.legend import Legend
from matplotlib.text import Text
from matplotlib.ticker import (
    FixedLocator,
    LogFormatter,
    LogLocator,
    MaxNLocator,
    NullLocator,
    ScalarFormatter,
    StrMethodFormatter,
)

from perf_views.colours import DARK, GRID, PAPER, SERIES, SIZES
from perf_views.short_names import LABEL_LETTERS, shortened, shortened_apart
from perfcore.base.errors import OptionError

if TYPE_CHECKING:
    from matplotlib.figure import FigureBase


MARKERS = "os^DvPX<>*hdp8"  # no two systems share one, so that the picture can be read without its colours
LABEL_POINTS, SMALL_POINTS, TINY_POINTS = 9, 8, 7  # sizes of text
_HATCH_POINTS = 0.6
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
    """Names beside a panel or in a legend, where some would leave it no room."""
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


def tick_base(levels: npt.NDArray[np.float64]) -> int:
    """Base of the ticks for levels that were measured: powers of two get ticks of their own."""
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log2(levels)
    return 2 if len(levels) and np.array_equal(logs, np.round(logs)) and np.isfinite(logs).all() else 10


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
