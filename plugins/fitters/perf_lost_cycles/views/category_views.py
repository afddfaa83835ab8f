"""Views of models by category: from the overview of R^2 down to one fit, and back to better ones.

Source: the chapter "Model Generation" of the Lost Cycles Toolkit, whose tool `xmodgen` has the windows
Fitting Overview, Fitting, Fit, Graph and Formulae.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from perf_lost_cycles.lca.model import LcaModel
from perf_lost_cycles.modgen.model import ModgenModel
from perf_lost_cycles.views.fit import fit_blocks
from perf_lost_cycles.views.fitting import category_blocks, fitting_blocks
from perf_lost_cycles.views.formulae import formula_checks, formulae_blocks, formulae_edit
from perf_lost_cycles.views.overview import overview_blocks, worst_first
from perf_lost_cycles.views.paths import (
    CATEGORY,
    FORMULAE,
    OVER,
    STEPS,
    VERIFY,
    category_path,
    fit_path,
    fitting_path,
    steps_path,
)
from perf_lost_cycles.views.steps import steps_blocks
from perf_lost_cycles.views.subject import ModgenSubject, subject_of
from perf_lost_cycles.views.verify import verify_blocks
from perf_views.contents import Block, Link, NoViewError, Query, View, ViewPath
from perf_views.edits import Change, Check
from perfcore.base.errors import OptionError


_STEPS_TITLE = "How it was put together"


class LostCyclesViews:
    """Views of a model by category."""

    def __init__(
        self, model: ModgenModel | LcaModel, data: Any = None, file: Path | None = None, stored: bytes | None = None
    ) -> None:
        self._model, self._data, self._file = model, data, file
        self._subject = subject_of(model)
        # An edit is refused where somebody else has written the file since.
        self._stored = stored if stored is not None or file is None or not file.exists() else file.read_bytes()

    @property
    def title(self) -> str:
        """That of the model."""
        return self._model.title

    @property
    def model(self) -> ModgenModel | LcaModel:
        """The model, so that the page can save it."""
        return self._model

    def view(self, path: ViewPath, query: Query) -> View:
        """The overview, or what it leads to; see `perf_views.Viewable.view`."""
        if path == ():
            return View(self.title, overview_blocks(self._subject, query))
        trail: tuple[Link, ...] = (Link("Fitting overview", ()),)
        if path == (VERIFY,):
            return View("Verify", verify_blocks(self._subject, query), path, trail)
        self._check(path)
        category, rest = path[1], path[2:]
        if not rest:
            return View(category, category_blocks(self._subject, category), path, trail)
        trail = (*trail, Link(category, category_path(category)))
        if rest == (STEPS,) and isinstance(self._subject, ModgenSubject):
            return View(_STEPS_TITLE, steps_blocks(self._subject, category), path, trail)
        symbol, factor = rest[1], self._subject.names[rest[1]]
        if len(rest) == 2:
            return View(f"Fitting over {factor}", fitting_blocks(self._subject, category, symbol), path, trail)
        fitting = Link(f"over {factor}", fitting_path(category, symbol))
        if rest[2] == FORMULAE:
            blocks: tuple[Block, ...] = formulae_blocks(self._subject, category, symbol, self._file)
            return View(f"Formulae of {category} over {factor}", blocks, path, (*trail, fitting))
        line = int(rest[2])
        label = self._subject.instances(category, symbol)[line].label
        blocks = fit_blocks(self._subject, category, symbol, line, self._data)
        return View(f"Fit of {category} over {factor}: {label}", blocks, path, (*trail, fitting))

    def paths(self) -> Iterable[ViewPath]:
        """Overview, verification, then the categories with their lines, each from the worst to the best."""
        yield from ((), (VERIFY,))
        for category in worst_first(self._subject):
            yield category_path(category)
            yield from (link.path for link in self._below(category))

    def ways(self, path: ViewPath, query: Query) -> Iterable[Link]:
        """The categories, and below the one that is shown its fits; see `perf_views.ways.Navigable`."""
        yield Link(self.title, ())
        yield Link("Verify and extrapolate", (VERIFY,))
        for category in worst_first(self._subject):
            yield Link(category, category_path(category))
            if path[:2] == category_path(category):
                yield from self._below(category)

    def _below(self, category: str) -> Iterable[Link]:
        """All lines over each factor where there are several, the worst of them, and how the model was put together."""
        for symbol in self._subject.points:
            factor = self._subject.names[symbol]
            lines = self._subject.instances(category, symbol)
            if len(lines) > 1:
                yield Link(factor, fitting_path(category, symbol))
            if lines:
                worst = int(np.argmin([1.0 if line.r2 is None else line.r2 for line in lines]))
                text = f"{lines[worst].label}, the worst" if len(lines) > 1 else f"{factor}: {lines[worst].label}"
                yield Link(text, fit_path(category, symbol, worst))
        if isinstance(self._subject, ModgenSubject):
            yield Link(_STEPS_TITLE, steps_path(category))

    def act(self, path: ViewPath, form: Query) -> Change:
        """Generate the model again with other formulas; see `perf_views.Editable.act`."""
        if path[4:] != (FORMULAE,):
            raise OptionError("there is nothing to change here")
        self._check(path)
        category, symbol = path[1], path[3]
        edit = formulae_edit(self._subject, category, symbol, form, self._file, self._stored)
        stored = next((each.after for each in edit.files if each.path == self._file), None)
        views = LostCyclesViews(edit.model, self._data, self._file, stored)
        return Change(views, edit.summary, edit.blocks, edit.files, fitting_path(category, symbol))

    def check(self, path: ViewPath, form: Query) -> tuple[Check, ...]:
        """What is right and wrong with formulas that are being typed; see `perf_views.Checkable.check`."""
        if path[4:] != (FORMULAE,):
            return ()
        self._check(path)
        return formula_checks(self._subject, path[1], path[3], form)

    def _check(self, path: ViewPath) -> None:
        """Refuse a path that leads nowhere."""
        is_category = path[:1] == (CATEGORY,) and path[1:2] and path[1] in self._model.names
        match path[2:]:
            case ():
                exists = True
            case (kind,):
                exists = kind == STEPS and isinstance(self._subject, ModgenSubject)
            case (kind, symbol, *line):
                exists = kind == OVER and symbol in self._subject.points and len(line) < 2
                if exists and line and line[0] != FORMULAE:
                    count = len(self._subject.instances(path[1], symbol)) if is_category else 0
                    exists = line[0].isascii() and line[0].isdecimal() and len(line[0]) < 9 and int(line[0]) < count
        if not (is_category and exists):
            raise NoViewError(path)
