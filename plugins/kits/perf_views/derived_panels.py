"""Panels of pictures whose presenters name none: each panel of the whole picture, by its number, in axes of its own."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from matplotlib.axes import Axes
from matplotlib.colors import to_hex, to_rgba_array
from matplotlib.figure import Figure

from perf_views.style import add_legend
from perfcore.results import Result


def derived_panels(model: Result, data: Any) -> dict[str, Callable[[Axes], None]]:
    """What draws each panel of a picture into axes of any size, by the numbers of the panels, from 1 on."""
    stage = _Stage()
    model.draw(stage, data)
    return {str(number): partial(_draw, model, data, number) for number in range(1, len(stage.panels) + 1)}


def _draw(model: Result, data: Any, number: int, axes: Axes) -> None:
    stage = _Stage(axes, number)
    model.draw(stage, data)
    if axes.get_legend() is not None:
        return
    names: list[str] = []
    handles: list[Any] = []
    artists = (*axes.lines, *axes.patches, *axes.collections)
    drawn: set[str] = set().union(*map(_colours, artists))
    for legend in stage.legends:  # of the whole picture: a single panel has inside what it shows of it
        for text, handle in zip(legend.get_texts(), legend.legend_handles, strict=True):
            if handle is not None and _colours(handle) & drawn:
                name = text.get_text()
                names.append(name)
                # Areas of one panel may be points in another, as which the legend shows both.
                handles.append(next((artist for artist in artists if artist.get_label() == name), handle))
    if not stage.legends:  # that of another panel names the same things, if there is one
        handles, names = axes.get_legend_handles_labels()
    if len(names) > 1:
        add_legend(axes, names, handles, frameon=True, framealpha=0.85)


def _colours(artist: Any) -> set[str]:
    """Colours of lines, of areas, or of points."""
    getters = (getattr(artist, f"get_{part}", None) for part in ("color", "markerfacecolor", "facecolor"))
    colours = (to_rgba_array(getter()) for getter in getters if getter is not None)
    return {to_hex(colour) for part in colours for colour in part if colour[3] > 0.0}


class _Stage(Figure):
    """A figure in which one panel is somebody else's axes; what is drawn into the others is not seen."""

    def __init__(self, axes: Axes | None = None, number: int = 0) -> None:
        self._given, self._number = axes, number
        self.panels: list[Axes] = []  # which matplotlib asks for while it begins
        super().__init__()

    @property  # type: ignore[misc]
    def axes(self) -> list[Axes]:  # type: ignore[override]
        """In the order in which they were made."""
        return self.panels

    def colorbar(self, mappable: Any, *where: Any, **how: Any) -> Any:
        """Beside the panel that it belongs to, in the figure of that one."""
        owner = mappable.axes.figure
        return super().colorbar(mappable, *where, **how) if owner is self else owner.colorbar(mappable, *where, **how)

    def add_subplot(self, *where: Any, **how: Any) -> Any:
        """Make a panel, or take the given axes for it."""
        if how.get("label") == "<colorbar>":
            return super().add_subplot(*where, **how)
        is_given = self._given is not None and len(self.panels) + 1 == self._number
        # Axes of another figure share no ends with those that nobody sees.
        panel = self._given if is_given else super().add_subplot(*where, **{**how, "sharex": None, "sharey": None})
        assert panel is not None
        self.panels.append(panel)
        return panel
