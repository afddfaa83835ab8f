"""Colours of the classes of growth, from dark for what falls to bright for what grows fastest; shares as bars."""

from __future__ import annotations

from typing import TYPE_CHECKING

from perf_laws.growth import CLASSES
from perf_pictures.style import SMALL_POINTS, add_legend
from perf_views.contents import Cell

if TYPE_CHECKING:
    from collections.abc import Collection

    from matplotlib.figure import Figure

    from perf_laws.growth import Growth

__all__ = [
    "DARK_TEXT",
    "SCALE_NOTE",
    "add_class_legend",
    "class_cell",
    "class_colour",
    "class_shade",
    "share_cell",
    "text_colour",
]

SCALE_NOTE = f"dark to bright: {', '.join(CLASSES)}"
DARK_TEXT = "#0a0a0a"  # on bright colours
_LINE, _HANDLE = 150, 9  # letters in the width of a page, and what a patch of colour takes of them
_MIDDLE = 0.5  # brighter colours have black text, as in the cells of tables


def class_shade(name: str) -> float:
    """Place of a class on the scale, 0 to 1: what `perf_views.Cell` takes."""
    return CLASSES.index(name) / (len(CLASSES) - 1)


def class_colour(name: str) -> tuple[float, float, float]:
    """Colour of a class in drawings, that of the cells of tables: its brightness rises for every colour vision."""
    import matplotlib as mpl

    red, green, blue, _ = mpl.colormaps["cividis"](class_shade(name))
    return red, green, blue


def text_colour(name: str) -> str:
    """What is read on the colour of a class; not plain black, which a dark page makes light as it does all ink."""
    return DARK_TEXT if class_shade(name) >= _MIDDLE else "white"


def class_cell(growth: Growth) -> Cell:
    """A class with its colour."""
    return Cell(growth.name, shade=class_shade(growth.name))


def add_class_legend(figure: Figure, present: Collection[str]) -> None:
    """What the colours of a drawing mean, for the classes that occur in it."""
    from matplotlib.patches import Patch

    names = [name for name in CLASSES if name in present]
    handles = [Patch(facecolor=class_colour(name), edgecolor="0.4", linewidth=0.4) for name in names]
    columns = len(names) if sum(map(len, names)) + _HANDLE * len(names) <= _LINE else -(-len(names) // 2)
    add_legend(figure, names, handles, loc="outside lower center", ncols=columns, fontsize=SMALL_POINTS)


def share_cell(share: float) -> Cell:
    """A share as a number with a bar."""
    return Cell(f"{share:.1%}", bar=share)
