"""Views of scaling laws: the call tree coloured by growth, the growth of the whole, and each path's laws."""

from __future__ import annotations

from collections.abc import Iterable

from perf_scaling.model import LawModel
from perf_scaling.views.growth import growth_blocks
from perf_scaling.views.outlook import GROWTH, PATH_VIEW, Outlooks, state_of
from perf_scaling.views.path import path_blocks
from perf_scaling.views.tree import tree_blocks, unfitted_blocks
from perf_views.contents import Link, Notice, NoViewError, Query, Text, View, ViewPath


class LawViews:
    """Views of scaling laws; each can be looked at for any target."""

    def __init__(self, model: LawModel) -> None:
        self._outlooks = Outlooks(model)
        self._number = {path: k for k, path in enumerate(model.paths)}

    @property
    def title(self) -> str:
        """That of the model."""
        return self._outlooks.model.title

    def view(self, path: ViewPath, query: Query) -> View:
        """The call tree, the growth of the whole, or one path; see `perf_views.Viewable.view`."""
        model = self._outlooks.model
        state = state_of(model, query)
        trail = (Link(self.title, (), state.query()),)
        if path == (GROWTH,):
            return View("Growth of the whole", growth_blocks(self._outlooks.at(state.target), state), path, trail)
        if path == ():
            outlook = self._outlooks.at(state.target)
            if len(model.paths) > 1:
                return View(self.title, tree_blocks(outlook, state))
            blocks = path_blocks(outlook, state, 0, path)
            return View(self.title, (Text(outlook.summary), *blocks, *unfitted_blocks(outlook, state)))
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
