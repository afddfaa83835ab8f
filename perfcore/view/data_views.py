"""Views of data that nobody has made a model of yet: what is there, a picture, and every fitter that takes it."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import Any

import perfcore
from perfcore.curve import UtilizationCurve
from perfcore.describe import describe
from perfcore.errors import OptionError, PerfError
from perfcore.measurements import Measurements
from perfcore.picture import draw_measurements
from perfcore.registry import registry
from perfcore.series import Series
from perfcore.trace import Trace
from perfcore.view.contents import Block, Cell, Chart, Link, Notice, NoViewError, Query, Table, View, Viewable, ViewPath
from perfcore.view.curve_blocks import Zoom, zoom_blocks
from perfcore.view.curve_summary import CurveSummary
from perfcore.view.edits import Change, Editable
from perfcore.view.option_form import as_query, given_options, option_form
from perfcore.view.overhead_views import overhead_view
from perfcore.view.series_views import column_view, series_blocks

__all__ = ["DataViews"]

FIT, OVERHEADS, COLUMN = "fit", "overheads", "column"
_MOST_FITS = 16  # that are remembered; those that were changed always are
_MOST_ROWS = 40
_PHASES = "worley"  # the fitter that a curve's report is made with

_Key = tuple[str, tuple[tuple[str, str], ...]]


class DataViews:
    """Views of data.

    Parameters
    ----------
    data : Trace, UtilizationCurve, Series or Measurements
    name : str
        How the user calls the file, the folder or the pattern.
    """

    def __init__(self, data: Any, name: str) -> None:
        self._data, self._name = data, name
        self._fits: OrderedDict[_Key, Viewable] = OrderedDict()
        self._changed: dict[_Key, Viewable] = {}  # no file may hold them, and fitting again would not bring them back
        self._summary: CurveSummary | None = None

    @property
    def title(self) -> str:
        """Name of the file."""
        return Path(self._name).name or self._name

    def view(self, path: ViewPath, query: Query) -> View:
        """The data, a fit with its own views, a trace's overheads, or a column of a series; see `Viewable.view`."""
        if not path:
            return View(self.title, self._overview(query))
        trail = (Link(self.title, ()),)
        if path[0] == FIT and len(path) > 1 and path[1] in self._fitters():
            return self._fit_view(path[1], path[2:], query)
        if path == (OVERHEADS,) and isinstance(self._data, Trace):
            return overhead_view(self._data, path, trail)
        if path[0] == COLUMN and len(path) == 2 and isinstance(self._data, Series) and path[1] in self._data.columns:
            return column_view(self._data, path[1], path, query, trail)
        raise NoViewError(path)

    def paths(self) -> Iterable[ViewPath]:
        """The data, then the phases of a curve with their views, a trace's overheads, a series' columns."""
        yield ()
        if isinstance(self._data, (Trace, UtilizationCurve)) and _PHASES in self._fitters():
            for path in self._fitted(_PHASES, {}).paths():
                yield (FIT, _PHASES, *path)
        if isinstance(self._data, Trace):
            yield (OVERHEADS,)
        if isinstance(self._data, Series):
            yield from ((COLUMN, name) for name in self._data.columns)

    def act(self, path: ViewPath, form: Query) -> Change:
        """Pass an action on to the fit whose view it was sent from; see `Editable.act`."""
        if len(path) < 2 or path[0] != FIT:
            raise OptionError("there is nothing to change here")
        options, own = given_options(form)
        subject = self._fitted(path[1], options)
        if not isinstance(subject, Editable):
            raise OptionError(f"a fit of {path[1]} has nothing to change")
        change = subject.act(path[2:], own)
        following = copy(self)  # what is remembered of the data and of other fits holds for both
        following._changed = {**self._changed, self._key(path[1], options): change.subject}
        return replace(
            change,
            subject=following,
            path=(FIT, path[1], *change.path),
            query={**as_query(options), **change.query},
        )

    def _overview(self, query: Query) -> tuple[Block, ...]:
        facts = describe(self._data, self._name)
        facts.pop("next", None)  # what to do next are the links below
        rows = [
            (str(name), ", ".join(map(str, value)) if isinstance(value, list) else str(value))
            for name, value in facts.items()
        ]
        blocks: list[Block] = list(self._pictures(query))
        blocks.append(Table(("", ""), tuple(rows), "What is there"))
        links = [(Link("Where the cycles go", (OVERHEADS,)), "a trace's time by overhead category")] * isinstance(
            self._data, Trace
        )
        links += [(Link(name, (FIT, name)), text) for name, text in self._fitters().items()]
        cells = tuple((Cell(link.text, link), text) for link, text in links)
        blocks.append(Table(("view", "what it shows"), cells, "Models of it"))
        return tuple(blocks)

    def _pictures(self, query: Query) -> tuple[Block, ...]:
        if isinstance(self._data, (Trace, UtilizationCurve)):
            if self._summary is None:
                curve = self._data.utilization() if isinstance(self._data, Trace) else self._data
                self._summary = CurveSummary(curve)
            return zoom_blocks(self._summary, Zoom.of(self._summary, query), (), {})
        if isinstance(self._data, Series):
            return series_blocks(self._data, (COLUMN,))
        if isinstance(self._data, Measurements):
            return _measurement_blocks(self._data)
        return ()

    def _fitters(self) -> dict[str, str]:
        """Fitters that take the data, with what they say of themselves."""
        found = {}
        for name, entry in registry().entries("fitters").items():
            try:
                if isinstance(self._data, entry.load().takes):
                    found[name] = entry.help
            except PerfError:  # one that lacks its library must not hide the others
                continue
        return found

    def _fit_view(self, fitter: str, path: ViewPath, query: Query) -> View:
        options, own = given_options(query)
        prefix, trail = (FIT, fitter), (Link(self.title, ()),)
        try:
            inner = self._fitted(fitter, options).view(path, own)
        except NoViewError:
            raise NoViewError((*prefix, *path)) from None
        except PerfError as error:
            form = option_form(fitter, options, prefix)
            return View(f"{fitter}: no model", (Notice(str(error), "error"), form), (*prefix, *path), trail)
        view = inner.mounted(prefix, as_query(options), trail)
        if path:
            return view
        return replace(view, blocks=(*view.blocks, option_form(fitter, options, prefix, is_folded=True)))

    def _fitted(self, fitter: str, options: Mapping[str, str]) -> Viewable:
        key = self._key(fitter, options)
        if key in self._changed:
            return self._changed[key]
        if key not in self._fits:
            self._fits[key] = perfcore.fit(self._data, fitter=fitter, **options).views(self._data)
            if len(self._fits) > _MOST_FITS:
                self._fits.popitem(last=False)
        self._fits.move_to_end(key)
        return self._fits[key]

    @staticmethod
    def _key(fitter: str, options: Mapping[str, str]) -> _Key:
        return fitter, tuple(sorted(options.items()))


def _measurement_blocks(data: Measurements) -> tuple[Block, ...]:
    table = data.table
    rows = tuple(tuple(map(_shown, row)) for row in table.head(_MOST_ROWS).itertuples(index=False))
    title = f"The first {len(rows)} of {len(table):,} rows" if len(rows) < len(table) else "All rows"
    shown = Table(tuple(map(str, table.columns)), rows, title)
    try:
        data.observations(duplicates="keep")
    except PerfError as error:
        return Notice(f"no picture: {error}", "warning"), shown
    alternative = f"{data.roles.value} of each code on each system over its first parameter"
    return Chart(lambda figure: draw_measurements(figure.add_subplot(), data), alternative, ()), shown


def _shown(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
