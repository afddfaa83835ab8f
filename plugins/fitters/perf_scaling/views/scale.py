"""Colours of the classes of growth, from dark for what falls to bright for what grows fastest; shares as bars."""

from __future__ import annotations

from typing import TYPE_CHECKING

from perf_scaling.growth import CLASSES, SURE
from perf_views.colours import PALE, RULE, STEPS, pale
from perf_views.contents import Cell
from perf_views.pictures.style import SMALL_POINTS, add_legend

if TYPE_CHECKING:
    from collections.abc import Collection

    from matplotlib.figure import Figure

    from perf_scaling.growth import Growth


SCALE_NOTE = f"dark to bright: {', '.join(CLASSES)}; pale and striped: less than {SURE:.0%} sure"
HATCH = "////"  # of what is not sure
_LINE, _HANDLE = 150, 9  # letters in the width of a page, and what a patch of colour takes of them
_NOT_SURE = f"not sure (below {SURE:.0%})"


def is_sure(growth: Growth) -> bool:
    """Whether a class is as probable as a statement should be."""
    return growth.probability >= SURE


def class_colour(name: str, *, is_sure: bool = True) -> str:
    """Colour of a class in drawings, that of the cells of tables: the brighter the faster it grows."""
    colour = STEPS[CLASSES.index(name)]
    return colour if is_sure else pale(colour)


def class_cell(growth: Growth) -> Cell:
    """A class with its colour."""
    return Cell(growth.name, step=CLASSES.index(growth.name), is_sure=is_sure(growth))


def add_class_legend(figure: Figure, present: Collection[str], *, all_sure: bool) -> None:
    """What the colours of a drawing mean, for the classes that occur in it."""
    from matplotlib.patches import Patch

    names = [name for name in CLASSES if name in present]
    handles = [Patch(facecolor=class_colour(name), edgecolor=RULE, linewidth=0.4) for name in names]
    if not all_sure:
        names.append(_NOT_SURE)
        handles.append(Patch(facecolor=PALE, edgecolor=RULE, linewidth=0.4, hatch=HATCH))
    columns = len(names) if sum(map(len, names)) + _HANDLE * len(names) <= _LINE else -(-len(names) // 2)
    add_legend(figure, names, handles, loc="outside lower center", ncols=columns, fontsize=SMALL_POINTS)


def share_cell(share: float) -> Cell:
    """A share as a number with a bar."""
    return Cell(f"{share:.1%}", bar=share)
