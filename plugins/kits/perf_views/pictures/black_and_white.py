"""Pictures that are told apart without their colours: hatches, dashes and markers for what is equally dark."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from matplotlib.axes import Axes
from matplotlib.collections import PathCollection, PolyCollection
from matplotlib.colors import to_hex, to_rgba_array
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from perf_views.colours import PAPER, lightness
from perf_views.pictures.style import MARKERS

if TYPE_CHECKING:
    from matplotlib.figure import FigureBase

__all__ = ["tell_apart"]

_LEAST_APART = 20.0  # of lightness, 0 to 100, so that a grey in a picture is found in its legend
# The first of several stays as it is. White lines leave a dark area dark; no two neighbours are lines of one direction.
_HATCHES = ("////", "....", "\\\\\\\\", "xxx", "---", "ooo", "|||", "+++", "**", "//..", "\\\\..", "xx..")
_DASHES: tuple[Any, ...] = (
    (0, (6.0, 1.5)), (0, (1.2, 1.2)), (0, (6.0, 1.5, 1.2, 1.5)), (0, (3.0, 1.5)), (0, (6.0, 1.5, 1.2, 1.5, 1.2, 1.5)),
)  # fmt: skip


def tell_apart(figure: FigureBase) -> None:
    """Give areas hatches, lines dashes and points other markers, where a print in grey shows their colours alike.

    Lines stay as they are in a panel where some are dashed, which says something already, and so do hollow points. What
    has one colour has one hatch, dash and marker in all panels and legends.

    Parameters
    ----------
    figure : matplotlib FigureBase
        With everything that is drawn.
    """
    panels = figure.findobj(Axes)
    legends = [*getattr(figure, "legends", ()), *(axes.get_legend() for axes in panels)]
    handles = [handle for legend in legends if legend is not None for handle in legend.legend_handles]
    areas = [list(_areas((*axes.patches, *axes.collections))) for axes in panels]
    for colour, hatch in _needed(areas, _HATCHES):
        for artist in (*itertools.chain.from_iterable(areas), *_areas(handles)):
            if _fill(artist) == colour:
                artist.set(hatch=hatch, edgecolor=PAPER, linewidth=0.0)
    lines = [_plain_lines(axes) for axes in panels]
    for colour, dash in _needed(lines, _DASHES):
        for line in (*itertools.chain.from_iterable(lines), *filter(_is_plain, handles)):
            if to_hex(line.get_color()) == colour:
                line.set_linestyle(dash)
    points = [list(filter(_has_discs, axes.lines)) for axes in panels]
    for colour, marker in _needed(points, MARKERS[1:]):
        for line in (*itertools.chain.from_iterable(points), *filter(_has_discs, handles)):
            if to_hex(line.get_color()) == colour:
                line.set_marker(marker)


def _needed(panels: list[list[Any]], forms: Sequence[Any]) -> Iterator[tuple[str, Any]]:
    """Colours that need a form of their own, with it: all but the first of those that some panel shows alike."""
    alike: dict[str, None] = {}
    for artists in panels:
        colours = list(dict.fromkeys(map(_colour, artists)))
        close = (pair for pair in itertools.combinations(colours, 2) if _are_alike(*pair))
        alike |= dict.fromkeys(itertools.chain.from_iterable(close))
    yield from zip(list(alike)[1:], itertools.cycle(forms), strict=False)


def _are_alike(first: str, second: str) -> bool:
    return abs(lightness(first) - lightness(second)) < _LEAST_APART


def _areas(artists: Iterable[Any]) -> Iterator[Any]:
    """Those filled with one colour that covers what lies below: bands that let it through have lines in them."""
    for artist in artists:
        is_area = isinstance(artist, (Patch, PolyCollection)) and not isinstance(artist, PathCollection)
        if is_area and _fill(artist) and not artist.get_hatch():
            yield artist


def _fill(artist: Any) -> str:
    """Colour of an area, or nothing where it has none, several, or one that lets through what lies below."""
    colours = to_rgba_array(artist.get_facecolor())
    is_one = len(colours) > 0 and (colours == colours[0]).all()
    return to_hex(colours[0]) if is_one and colours[0][3] == 1.0 else ""


def _colour(artist: Any) -> str:
    return to_hex(artist.get_color()) if isinstance(artist, Line2D) else _fill(artist)


def _plain_lines(axes: Axes) -> list[Line2D]:
    """Lines of a panel without markers, if none of them is dashed."""
    lines = [line for line in axes.lines if line.get_transform() == axes.transData and not _has_marker(line)]
    return lines if all(map(_is_plain, lines)) else []


def _has_marker(line: Line2D) -> bool:
    return line.get_marker() not in ("None", "", " ", None)


def _has_discs(artist: Any) -> bool:
    if not isinstance(artist, Line2D) or artist.get_marker() != MARKERS[0]:
        return False
    return to_hex(artist.get_markerfacecolor()) == to_hex(artist.get_color())


def _is_plain(artist: Any) -> bool:
    return isinstance(artist, Line2D) and artist.get_linestyle() == "-" and not _has_marker(artist)
