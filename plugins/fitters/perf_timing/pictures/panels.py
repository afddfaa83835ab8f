"""Panels of a picture, one for each code: measured points, the model's lines and its bounds."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from perf_tables.points import Places
from perf_timing.characteristic import characteristics, design
from perf_timing.individual.model import IndividualModel
from perf_timing.joint.model import JointModel
from perf_timing.pictures.selection import MOST_BANDS, Selection, is_drawn_everywhere, named_places, select
from perf_timing.scaling_model import ScalingModel
from perf_views.colours import DARK, LIGHT, PAPER
from perf_views.names import shortened
from perf_views.style import LABEL_POINTS, MOST_VECTORS, SMALL_POINTS, TINY_POINTS, add_legend, set_logarithmic

if TYPE_CHECKING:
    from collections.abc import Callable

    from matplotlib.axes import Axes
    from matplotlib.figure import FigureBase

Floats = npt.NDArray[np.float64]

COVERAGE = 0.95  # of the bounds, for a single run
_BEYOND = 4.0  # how far lines go on outside of what was measured, a factor


@dataclass(frozen=True)
class Curve:
    """The model of one code on one system over the first parameter."""

    code: int
    system: int
    over: Floats  # values of the parameter, rising
    low: float  # what was measured; NaN where nothing was
    high: float
    value: Floats  # prediction and its bounds; NaN where there is none
    lower: Floats
    upper: Floats


def predicted_curves(selection: Selection) -> list[Curve]:
    """The model of each code on each system that is drawn, from one prediction of all.

    A line runs from a fourth of the least to four times the largest value, and below 1 only as far as was measured;
    pairs that were never measured have one only where `is_drawn_everywhere` says so.
    """
    model, shown_places, first = selection.model, selection.at, selection.first
    measured_places = model.measured_places
    matching = np.ones(len(measured_places), dtype=np.bool_)
    for symbol, value in selection.others.items():
        matching &= measured_places.points[symbol] == value
    pairs, grids = [], []
    for code in selection.codes:
        drawn = selection.in_panels & (shown_places.code == code)
        for system in selection.systems:
            of_pair = drawn & (shown_places.system == system)
            if not (of_pair.any() or is_drawn_everywhere(model)):
                continue
            measured = measured_places.points[first][
                matching & (measured_places.code == code) & (measured_places.system == system)
            ]
            low, high = (measured.min(), measured.max()) if len(measured) else (np.nan, np.nan)
            points = shown_places.points[first][of_pair if of_pair.any() else drawn]
            start, end = np.fmin(low, points.min()), np.fmax(high, points.max())
            # Lines end at 1, where there is one processor; the ends of what was measured are places of their own.
            places = np.geomspace(max(start / _BEYOND, min(start, 1.0)), end * _BEYOND, 61)
            grids.append(np.unique([*places, low, high]) if len(measured) else places)
            pairs.append((code, system, float(low), float(high)))
    sizes = [len(grid) for grid in grids]
    over = np.concatenate(grids)
    of_code, of_system = (np.repeat([pair[k] for pair in pairs], sizes).astype(np.int64) for k in (0, 1))
    everywhere = {first: over, **{symbol: np.full(len(over), value) for symbol, value in selection.others.items()}}
    values = np.split(_predicted(model, Places(everywhere, of_code, of_system)), np.cumsum(sizes)[:-1])
    return [
        Curve(code, system, grid, low, high, *part.T)
        for (code, system, low, high), grid, part in zip(pairs, grids, values, strict=True)
    ]


def _predicted(model: ScalingModel, places: Places) -> Floats:
    """Value, lower and upper bound (n, 3); NaN where a function is not finite or the data do not determine them."""
    bounds = np.full((len(places), 3), np.nan)
    able = np.isfinite(design(characteristics(model.functions, model.columns), places.points)).all(axis=1)
    if able.any():
        part = Places(
            {symbol: values[able] for symbol, values in places.points.items()}, places.code[able], places.system[able]
        )
        bounds[able] = model.predict(named_places(model, part), interval=COVERAGE)
    if isinstance(model, JointModel) and model.covariance is not None:
        bounds[np.isnan(bounds[:, 1])] = np.nan
    elif isinstance(model, IndividualModel):
        # As many points as functions have no errors either, but determine the line.
        arbitrary = {
            (pair.code, pair.system)
            for pair in model.pairs
            if None in pair.standard_errors and pair.n_observations != len(pair.functions)
        }
        names = (
            (model.codes[code], model.systems[system]) for code, system in zip(places.code, places.system, strict=True)
        )
        bounds[[name in arbitrary for name in names]] = np.nan
    bounds[~(bounds[:, 0] > 0.0), 0] = np.nan  # has no place on a logarithmic axis
    return bounds


_HOLLOW_POINTS = 5
_BAND = f"{COVERAGE:.0%} of single runs"


def draw_panels(selection: Selection, area: FigureBase, grid: npt.NDArray[Any]) -> None:
    """Draw points and lines of each code, with what line styles mean above them and what colours mean below."""
    model, curves, drawn = selection.model, predicted_curves(selection), set[str]()
    panels: list[Axes] = list(grid.flat[: len(selection.codes)])
    for unused in grid.flat[len(panels) :]:
        unused.remove()
    unit = f" ({model.unit})" if model.unit else ""
    for number, (axes, code) in enumerate(zip(panels, selection.codes, strict=True)):
        drawn |= _draw_panel(selection, axes, code, [curve for curve in curves if curve.code == code])
        if number % grid.shape[1] == 0:
            axes.set_ylabel(shortened(model.value_name) + unit, fontsize=LABEL_POINTS, parse_math=False)
        if number + grid.shape[1] >= len(panels):
            axes.tick_params(labelbottom=True)
    for axes in panels[-(-len(panels) // grid.shape[1]) * grid.shape[1] - grid.shape[1] :]:
        axes.set_xlabel(shortened(model.columns[selection.first]), fontsize=LABEL_POINTS, parse_math=False)
    _set_across(panels[0], curves)
    line: dict[str, Any] = {"color": DARK, "linewidth": 1.2}
    kinds: dict[str, Line2D | Patch] = {
        "fit": Line2D([], [], **line),
        "extrapolated": Line2D([], [], linestyle="--", **line),
        "never measured (predicted)": Line2D([], [], linestyle=":", **line),
        _BAND: Patch(facecolor=DARK, alpha=0.2),
        "other systems": Line2D([], [], linestyle="", marker=".", color=LIGHT),
    }
    kinds = {name: handle for name, handle in kinds.items() if name in drawn}
    add_legend(area, list(kinds), list(kinds.values()), loc="outside upper right", ncols=5, fontsize=SMALL_POINTS)
    if len(model.systems) > 1:
        add_system_legend(selection, area)


def scaling_panels(model: ScalingModel, data: Any = None) -> dict[str, Callable[[Axes], None]]:
    """Panels by name: ``curves`` of the first code, ``curves-2`` of the next, ``residuals`` and ``quantiles``."""
    from perf_timing.pictures.diagnostics import draw_residuals

    selection = select(model, data)
    curves = predicted_curves(selection)
    unit = f" ({model.unit})" if model.unit else ""

    def draw(axes: Axes, code: int) -> None:
        code_curves = [curve for curve in curves if curve.code == code]
        _draw_panel(selection, axes, code, code_curves)
        _set_across(axes, curves)
        axes.set_xlabel(shortened(model.columns[selection.first]), fontsize=LABEL_POINTS, parse_math=False)
        axes.set_ylabel(shortened(model.value_name) + unit, fontsize=LABEL_POINTS, parse_math=False)
        if len(model.systems) > 1:
            names, handles = _system_handles(selection)
            add_legend(axes, names, handles, fontsize=TINY_POINTS)

    panels: dict[str, Callable[[Axes], None]] = {
        f"curves-{number}" if number > 1 else "curves": partial(draw, code=code)
        for number, code in enumerate(selection.codes, 1)
    }
    # Two panels that are drawn together, each with names of outliers beside it: the other one is left aside.
    panels["residuals"] = lambda axes: draw_residuals(selection, aside := Figure(), axes, aside.add_subplot())
    panels["quantiles"] = lambda axes: draw_residuals(selection, aside := Figure(), aside.add_subplot(), axes)
    return panels


def _set_across(axes: Axes, curves: list[Curve]) -> None:
    """The horizontal axis, as long as the curves are."""
    ends = np.concatenate([curve.over[[0, -1]] for curve in curves])
    set_logarithmic(axes, "x", ends.min() / 1.15, ends.max() * 1.15, base=2)


def _system_handles(selection: Selection) -> tuple[list[str], list[Line2D]]:
    """Names of the systems, and lines in their colours and with their markers."""
    names = [shortened(selection.model.systems[system]) for system in selection.systems]
    return names, [
        Line2D([], [], color=c, marker=m, markersize=4, linewidth=1.2) for c, m in selection.systems.values()
    ]


def add_system_legend(selection: Selection, area: FigureBase) -> None:
    """What colours and markers mean, below the panels of an area."""
    names, handles = _system_handles(selection)
    columns = legend_columns(selection)
    add_legend(area, names, handles, loc="outside lower center", ncols=columns, fontsize=SMALL_POINTS)


def legend_columns(selection: Selection) -> int:
    """The number of columns of the legend of systems, whose names may be long."""
    longest = max(len(shortened(selection.model.systems[system])) for system in selection.systems)
    return max(2, min(10, 170 // (longest + 8)))


def _draw_panel(selection: Selection, axes: Axes, code: int, curves: list[Curve]) -> set[str]:
    """One code; returns the kinds of things that were drawn."""
    model, places, drawn = selection.model, selection.at, set[str]()
    across, value, of_code = (
        places.points[selection.first],
        selection.value,
        selection.in_panels & (places.code == code),
    )
    axes.set_yscale("log")
    if len(model.codes) > 1:
        axes.set_title(shortened(model.codes[code]), fontsize=LABEL_POINTS, parse_math=False)
    rest = of_code & ~np.isin(places.system, list(selection.systems))
    if rest.any():
        axes.plot(across[rest], value[rest], ".", color=LIGHT, markersize=3, zorder=1.5,
                  rasterized=bool(rest.sum() > MOST_VECTORS))  # fmt: skip
        drawn.add("other systems")
    bottom, top = _limits(value[of_code], selection.spread[of_code], curves)
    has_bands = len(np.unique(places.system[of_code])) <= MOST_BANDS
    for curve in curves:
        colour, marker = selection.systems[curve.system]
        has_bounds = np.isfinite(curve.lower)
        if has_bands and has_bounds.any():
            lower, upper = (np.clip(bound, bottom, top) for bound in (curve.lower, curve.upper))
            axes.fill_between(curve.over, lower, upper, where=has_bounds.tolist(), color=colour, alpha=0.1, linewidth=0,
                              label=f"{model.systems[curve.system]} ({_BAND})")  # fmt: skip
            drawn.add(_BAND)
        drawn |= _draw_line(axes, curve, colour, marker, model.systems[curve.system])
        of_system = of_code & (places.system == curve.system)
        several = of_system & (selection.spread > 0.0)
        if several.any():
            axes.errorbar(across[several], value[several], yerr=selection.spread[several], fmt="none", ecolor=colour,
                          elinewidth=0.8, capsize=2)  # fmt: skip
        axes.plot(across[of_system], value[of_system], marker, color=colour, markersize=4.5, markeredgewidth=0.4,
                  markeredgecolor=PAPER, zorder=3, label=f"{model.systems[curve.system]} (measured)")  # fmt: skip
    set_logarithmic(axes, "y", bottom, top)
    return drawn


def _draw_line(axes: Axes, curve: Curve, colour: str, marker: str, system: str) -> set[str]:
    """Solid where the pair was measured, dashed beyond, dotted where it never was; returns which of these.

    No points tell in grey which system a dotted line is of: hollow ones do.
    """
    if np.isnan(curve.value).all():
        return set()
    if np.isnan(curve.low):
        axes.plot(curve.over, curve.value, ":", color=colour, linewidth=1.0, label=f"{system} (predicted)")
        few = np.linspace(0, len(curve.over) - 1, _HOLLOW_POINTS + 2).astype(int)[1:-1]
        axes.plot(curve.over[few], curve.value[few], marker, color=colour, markersize=4.0, markerfacecolor=PAPER,
                  label=f"{system} (predicted)")  # fmt: skip
        return {"never measured (predicted)"}
    inside = (curve.over >= curve.low) & (curve.over <= curve.high)
    axes.plot(curve.over[inside], curve.value[inside], color=colour, linewidth=1.2, label=system)
    for side, outside in (("below", curve.over <= curve.low), ("above", curve.over >= curve.high)):
        axes.plot(curve.over[outside], curve.value[outside], "--", color=colour, linewidth=0.9,
                  label=f"{system} (extrapolated {side})")  # fmt: skip
    return {"fit", "extrapolated"}


def _limits(value: Floats, spread: Floats, curves: list[Curve]) -> tuple[float, float]:
    """Ends of a panel's vertical axis: points and lines, the latter up to three times beyond the points."""
    high = value + np.nan_to_num(spread)
    lines = np.concatenate([np.empty(0), *(curve.value[np.isfinite(curve.value)] for curve in curves)])
    every = np.concatenate([value, high, np.clip(lines, value.min() / 3.0, high.max() * 3.0)])
    margin = max((every.max() / every.min()) ** 0.06, 1.1)
    return float(every.min() / margin), float(every.max() * margin)
