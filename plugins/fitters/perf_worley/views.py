"""Views of phases: the curve with its phases, sliders that refit, and what others show phase by phase."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

import perfcore
from perf_views.colours import DARK, DATA, MODEL
from perf_views.contents import (
    Block,
    Cell,
    Chart,
    DataEndpoint,
    Feed,
    Field,
    Form,
    Link,
    NoViewError,
    Query,
    Table,
    Text,
    Timeline,
    View,
    ViewPath,
    link_to_timeline,
)
from perf_views.drawable import chosen_figures, drawing_of, parameter_table, statistics_table, summary_blocks
from perf_views.marks import panels_of
from perf_worley.curve_views import FROM, TO, CurveSummary, Zoom, zoom_blocks
from perf_worley.fitter import as_curve
from perf_worley.options import DEGREES, PhasesOptions
from perfcore.base.arrays import Floats
from perfcore.base.errors import OptionError
from perfcore.hooks.chosen_options import option_fields
from perfcore.hooks.options import build
from perfcore.hooks.registry import registry
from perfcore.results import draw_panels, further_presenters

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from perf_worley.phase_model import PhaseModel


_PHASES, _DEGREE = "phases", "degree"
_TIMELINE = "timeline"  # what others show of the data, where each stretch has an address
_OF_DATA = ("busy", "idle", "column", "phases_from", "tolerance")  # that a curve and a number of phases do without
_FIGURES = (
    ("n_phases", "phases", ",d"),
    ("n_steps", "steps of the curve", ",d"),
    ("epsilon", "largest local L2 error", ".4g"),
    ("r2_centered", "R^2 centered", ".4f"),
)
_MOST_ON_SLIDER = 40
_MOST_FITS = 32  # that are remembered
_POINTS = 61  # of a phase's line


class PhaseViews:
    """Views of one model; with its data also of models with other numbers of phases."""

    def __init__(self, model: PhaseModel, data: Any = None) -> None:
        self._model, self._data = model, data
        self._further = {
            name: (presenter, views)
            for name, (presenter, _) in further_presenters(data).items()
            if (views := presenter.views(data, model)) is not None
        }
        self._summary: CurveSummary | None = None
        if data is not None:
            # The error tree belongs to the curve with equal neighbours joined: kept here, every refit finds it.
            self._summary = CurveSummary(as_curve(data, _curve_options(model)).merged())
        self._fits: OrderedDict[tuple[str, str], PhaseModel] = OrderedDict()

    @property
    def title(self) -> str:
        return self._model.title

    def view(self, path: ViewPath, query: Query) -> View:
        """The phases, or what others show of the data phase by phase; see `perf_views.Viewable.view`."""
        model, state = self._chosen(query)
        if path == ():
            return View(model.title, self._blocks(model, query, state))
        if path[0] not in self._further:
            raise NoViewError(path)
        try:
            view: View = self._further_views(path[0], model).view(path[1:], query)
        except NoViewError:
            raise NoViewError(path) from None
        mounted = view.mounted(path[:1], state, (Link(model.title, (), state),))
        timeline = self._further_views(_TIMELINE, model) if _TIMELINE in self._further else None
        return link_to_timeline(mounted, timeline, (_TIMELINE,), state) if isinstance(timeline, Timeline) else mounted

    def paths(self) -> Iterable[ViewPath]:
        """The phases, and what others show of the data phase by phase."""
        return [(), *((name,) for name in self._further)]

    def ways(self, path: ViewPath, query: Query) -> Iterable[Link]:
        """The same, by their titles and of the same model; see `perf_views.contents.Navigable`."""
        state = {name: query[name] for name in (_PHASES, _DEGREE) if query.get(name)}
        yield Link(self.title, (), state)
        for name, (presenter, _) in self._further.items():
            yield Link(presenter.title(self._data), (name,), state)

    def feed(self, path: ViewPath, query: Query) -> Feed:
        """Pass a question on to what others show of the data; see `DataEndpoint.feed`."""
        views = self._further_views(path[0], self._chosen(query)[0]) if path and path[0] in self._further else None
        if not isinstance(views, DataEndpoint):
            raise NoViewError(path)
        return views.feed(path[1:], query)

    def _further_views(self, name: str, model: PhaseModel) -> Any:
        presenter, views = self._further[name]
        return views if model is self._model else presenter.views(self._data, model)

    def _chosen(self, query: Query) -> tuple[PhaseModel, dict[str, str]]:
        """The model that an address asks for, and what of the address says so."""
        state = {name: query[name] for name in (_PHASES, _DEGREE) if query.get(name)}
        if not state or self._summary is None:
            return self._model, {}
        options = self._model.origin.options
        phases = state.get(_PHASES) or str(len(self._model.phases))
        degree = state.get(_DEGREE) or str(options["degree"])
        if (phases, degree) == (str(len(self._model.phases)), str(options["degree"])):
            return self._model, {}
        if not phases.isdecimal():
            raise OptionError(f"phases {phases!r}: a number is expected")
        key = (phases, degree)
        if key not in self._fits:
            fitter, known = _fitter_of(self._model)
            kept = {name: value for name, value in options.items() if name in known and name not in _OF_DATA}
            fitted = perfcore.fit(self._summary.curve, fitter=fitter, **{**kept, _PHASES: phases, _DEGREE: degree})
            self._fits[key] = fitted  # type: ignore[assignment]
            if len(self._fits) > _MOST_FITS:
                self._fits.popitem(last=False)
        return self._fits[key], state

    def _blocks(self, model: PhaseModel, query: Query, state: dict[str, str]) -> tuple[Block, ...]:
        figures, (headline, summary) = chosen_figures(model, _FIGURES), summary_blocks(model)
        tables = [Table.of(*table) for table in model.tables()]
        if self._summary is None:
            blocks: list[Block] = [headline, *figures, drawing_of(model), summary, *tables]
        else:
            zoom = Zoom.of(self._summary.curve, query, self._data)
            phases = self._phase_table(model, tables[0], zoom, state)
            blocks = [
                headline,
                *figures,
                self._sliders(model, query),
                *zoom_blocks(self._summary, zoom, (), state, _overlay(model)),
                summary,
                phases,
                *self._links(state),
                *tables[1 : len(tables) - bool(model.sequence)],
            ]
            if model.sequence:
                blocks.append(_sequence_chart(model, tables[-1]))
        blocks.append(Text(tuple(model.formula.split("\n")), "Formula", "formula"))
        return (*blocks, parameter_table(model), statistics_table(model))

    def _sliders(self, model: PhaseModel, query: Query) -> Form:
        most = str(max(_MOST_ON_SLIDER, len(model.phases)))
        count = str(len(model.phases))
        fields = [Field(_PHASES, "number of phases", count, "range", minimum="1", maximum=most, step="1")]
        if not model.functions:
            degree = str(model.origin.options["degree"])
            fields.append(Field(_DEGREE, "degree", degree, "choice", DEGREES[_fitter_of(model)[0]]))
        hidden = [Field(name, value=query[name], kind="hidden") for name in (FROM, TO) if query.get(name)]
        return Form((*fields, *hidden), (), "Fit")

    def _phase_table(self, model: PhaseModel, table: Table, zoom: Zoom, state: dict[str, str]) -> Table:
        """The phases' own table: a number shows that phase alone, its start leads to the stretch on the timeline."""
        rows: list[tuple[Cell | str, ...]] = []
        at = next(place for place, name in enumerate(table.header) if str(name).startswith("start"))
        for phase, row in zip(model.phases, table.rows, strict=True):
            query, cells = {**state, **zoom.query(phase.start, phase.end)}, list(row)
            cells[0] = Cell(_text(row[0]), Link("", (), query))
            if _TIMELINE in self._further:
                cells[at] = Cell(_text(row[at]), Link("", (_TIMELINE,), query))
            rows.append(tuple(cells))
        return Table(table.header, tuple(rows), "Phases", table.title)

    def _links(self, state: dict[str, str]) -> Sequence[Block]:
        links = [
            Link(f"{presenter.title(self._data)}, phase by phase", (name,), state)
            for name, (presenter, _) in self._further.items()
        ]
        return [Text(links=tuple(links))] if links else []


def _text(cell: Cell | str) -> str:
    return cell if isinstance(cell, str) else cell.text


def _sequence_chart(model: PhaseModel, table: Table) -> Chart:
    title, alternative = table.title, "Breakpoints and errors over the number of phases"
    table = replace(table, title="")
    plots = panels_of(model.report())
    chosen = {name: plots[name] for name in ("breaks", "errors")}
    return Chart(lambda figure: draw_panels(figure, chosen), alternative, (table,), title, (10.0, 3.2))


def _fitter_of(model: PhaseModel) -> tuple[str, Collection[str]]:
    """The fitter of a model and its options with those of the part that it selects; files of 0.1 name another one."""
    name = "phases" if "segmenter" in model.origin.options else model.origin.fitter
    groups = option_fields(registry().entry("fitters", name), model.origin.options)
    return name, {field.name for fields in groups.values() for field in fields}


def _curve_options(model: PhaseModel) -> PhasesOptions:
    """What of the model's options makes a curve of its data."""
    chosen = {name: model.origin.options.get(name) for name in ("busy", "idle", "column")}
    options: PhasesOptions = build(PhasesOptions, {n: v for n, v in chosen.items() if v is not None}, "phases")
    return options


def _overlay(model: PhaseModel) -> Callable[[Axes, Any, Zoom], None]:
    """Draws the phases over their curve, as far as they are shown."""

    def draw(axes: Axes, place: Any, zoom: Zoom) -> None:
        visible = [phase for phase in model.phases if phase.end > zoom.start and phase.start < zoom.end]
        inner = [phase.start for phase in visible if zoom.start < phase.start]
        intervals = [phase.break_interval for phase in visible if phase.break_interval is not None]
        if intervals:
            _mark_intervals(axes, place(np.clip(intervals, zoom.start, zoom.end)))
        if inner:
            axes.vlines(
                place(inner), 0.0, 1.0, transform=axes.get_xaxis_transform(), color=DARK, linewidth=0.8,
                linestyle=":", label="breakpoint",
            )  # fmt: skip
        times = [np.linspace(max(p.start, zoom.start), min(p.end, zoom.end), _POINTS) for p in visible]
        values = np.concatenate([model.evaluate(p, phase_times) for p, phase_times in zip(visible, times, strict=True)])
        axes.plot(place(np.concatenate(times)), values, color=MODEL, linewidth=1.5, label="model")
        bottom, top = axes.get_ylim()
        axes.set_ylim(min(bottom, 1.05 * float(values.min())), max(top, 1.05 * float(values.max())))

    return draw


def _mark_intervals(axes: Axes, intervals: Floats) -> None:
    """Shade intervals of breaks; a bar with ends above the shade shows also those that are a line wide."""
    for i, (begin, end) in enumerate(intervals):
        axes.axvspan(
            begin, end, color=DATA, alpha=0.13, linewidth=0, zorder=0, label="start 95% CI" if i == 0 else None
        )
    middle, half = intervals.mean(axis=1), 0.5 * np.diff(intervals, axis=1)[:, 0]
    axes.errorbar(
        middle, np.full(len(middle), 1.0), xerr=half, fmt="none", ecolor=DATA, elinewidth=2.5, capsize=4, capthick=1.2,
        transform=axes.get_xaxis_transform(), clip_on=False, zorder=5,
    )  # fmt: skip
