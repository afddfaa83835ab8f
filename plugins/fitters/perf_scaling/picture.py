"""Plots of scaling models: means, prediction with intervals, and the best-fitting model, a panel for each path."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from perf_views.colours import INK, MODEL, SERIES
from perf_views.names import shortened
from perf_views.style import LABEL_POINTS, SMALL_POINTS, TINY_POINTS, add_legend, set_logarithmic, tick_base
from perfcore.base.arrays import Floats
from perfcore.results import Panel, Panels

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import FigureBase

    from perf_scaling.model import ScalingModel


LIKELY, COVERAGE = 0.5, 0.95  # of the intervals
_MOST_PANELS = 6
_PLACES = 49  # of a curve
_MOST_BEYOND = 5.0  # times the largest of means and median: bounds that go farther are cut, with the axis
_LONGEST = {True: 120, False: 44}  # letters of a law over one panel, and over each of several
_COLOUR, _TARGET = MODEL, SERIES[0]


class PathCurve(NamedTuple):
    """Predictions of a path over one parameter, the others held."""

    over: Floats  # levels, rising: the measured ones and the target among them
    run: Floats  # (T, 3): median and ends of the 95% interval of a measurement
    likely: Floats  # (T, 3): the same of the 50% interval
    holds: Floats  # (T,): the best-fitting model

    def between(self, low: float, high: float) -> PathCurve:
        """The part between two levels."""
        inside = (self.over >= low) & (self.over <= high)
        return PathCurve(self.over[inside], self.run[inside], self.likely[inside], self.holds[inside])


class PathPoints(NamedTuple):
    """What was measured of a path over one parameter, the others held."""

    over: Floats  # levels, means, their standard errors, and how many runs
    mean: Floats
    error: Floats
    runs: Floats
    held: dict[str, float]  # the other parameters


def left_out_text(model: ScalingModel) -> str:
    """How many of the paths are drawn, where not all are."""
    return f"; the {_MOST_PANELS} largest at {model.target_text}" if len(model.paths) > _MOST_PANELS else ""


def model_panels(model: ScalingModel) -> Panels:
    """Panels by name: ``curves`` is that of the path with the largest share at the target, ``curves-2`` the next.

    The path that stands alone has one for each parameter.
    """
    chosen = [model.paths.index(row.path) for row in model.rows[:_MOST_PANELS]]
    symbols = model.symbols if len(chosen) == 1 else model.symbols[:1]
    unit = f" [{model.unit}]" if model.unit else ""
    is_alone = len(chosen) == len(symbols) == 1

    def draw(axes: Axes, path: int, symbol: str) -> None:
        draw_panel(model, axes, path, symbol)
        _title(model, axes, path, is_alone)
        axes.set_ylabel(shortened(model.value_name) + unit, fontsize=LABEL_POINTS, parse_math=False)
        kinds = _kinds(model, [path])
        add_legend(axes, list(kinds), list(kinds.values()), fontsize=TINY_POINTS)

    height = 5.6 if is_alone else 0.0
    panels = [Panel(partial(draw, path=path, symbol=symbol), height) for path in chosen for symbol in symbols]
    return {f"curves-{number}" if number > 1 else "curves": panel for number, panel in enumerate(panels, 1)}


def draw_panel(model: ScalingModel, axes: Axes, path: int, symbol: str) -> None:
    """Draw one path over one parameter: dashed where nothing was measured.

    The curve that is marked with the target passes through it: where the other parameters were not measured at the
    target's levels, it is a second one, beside that of the measurements.
    """
    points = path_points(model, path, symbol)
    low, high = float(points.over.min()), float(points.over.max())
    aim = {name: model.target[name] for name in points.held}
    measured = path_curve(model, path, symbol, points.held)
    curves = [(measured, _COLOUR)]
    if aim != points.held:
        measured = measured.between(low, high)
        curves = [(measured, _COLOUR), (path_curve(model, path, symbol, aim), _TARGET)]
    marked = curves[-1][0]
    bottom, top = _limits(points, [curve for curve, _ in curves])
    for curve, colour in curves:
        for bounds, shade, quantity in ((curve.run, 0.13, "95%"), (curve.likely, 0.28, "likely")):
            sides = np.clip(bounds[:, 1:], bottom, top)
            label = f"{quantity} interval"
            axes.fill_between(curve.over, *sides.T, color=colour, alpha=shade, linewidth=0.0, label=label)
    inside = (measured.over >= low) & (measured.over <= high)
    axes.plot(measured.over[inside], measured.run[inside, 0], color=_COLOUR, linewidth=1.5, label="prediction")
    if marked is measured:
        for outside in (measured.over <= low, measured.over >= high):
            axes.plot(
                measured.over[outside], measured.run[outside, 0], "--", color=_COLOUR, linewidth=1.3, label="predicted"
            )
    else:
        axes.plot(marked.over, marked.run[:, 0], "--", color=_TARGET, linewidth=1.3, label="predicted")
    axes.plot(marked.over, marked.holds, ":", color=INK, linewidth=1.1, label="if the model holds")
    axes.errorbar(
        points.over, points.mean, yerr=np.minimum(points.error, points.mean - bottom), fmt="o", color=INK,
        markersize=4.0, elinewidth=0.8, capsize=2.0, zorder=3, label="mean of runs",
    )  # fmt: skip
    target = model.target[symbol]
    axes.axvline(target, color=_TARGET, linewidth=0.9, linestyle=":")
    axes.plot(
        [target], marked.run[marked.over == target, 0], "D", color=_TARGET, markersize=5.0, zorder=4, label="target"
    )
    set_logarithmic(axes, "x", marked.over[0] / 1.15, marked.over[-1] * 1.15, base=tick_base(points.over))
    set_logarithmic(axes, "y", bottom, top)
    fixed_text = held_text(model, path, symbol)
    label = shortened(model.columns[symbol]) + (f"\n{fixed_text}" if fixed_text else "")
    axes.set_xlabel(label, fontsize=LABEL_POINTS, parse_math=False)


def held_text(model: ScalingModel, path: int, symbol: str) -> str:
    """Where the other parameters are held, by the names that they have in the data; empty where there are none."""
    fixed = path_points(model, path, symbol).held
    measured, target = (
        ", ".join(f"{shortened(model.columns[name], 24)} = {level[name]:g}" for name in fixed)
        for level in (fixed, model.target)
    )
    if not measured:
        return ""
    return f"at {measured}" if measured == target else f"measured at {measured}; target at {target}"


def path_points(model: ScalingModel, path: int, symbol: str) -> PathPoints:
    """What was measured of a path over a parameter.

    The other parameters are held at the target's levels where at least two points were measured there; else at the
    levels where most is measured over this one, and of several such levels at the largest.
    """
    place = model.symbols.index(symbol)
    others = np.delete(model.measured, place, axis=1)
    measured = np.isfinite(model.means[path])
    other_levels, level_number = np.unique(others, axis=0, return_inverse=True)
    counts = np.bincount(level_number.ravel()[measured], minlength=len(other_levels))
    best = int(np.flatnonzero(counts == counts.max())[-1])
    names = [name for name in model.symbols if name != symbol]
    aimed = np.flatnonzero((other_levels == [model.target[name] for name in names]).all(axis=1) & (counts > 1))
    best = int(aimed[0]) if len(aimed) else best
    rows = np.flatnonzero(measured & (level_number.ravel() == best))
    rows = rows[np.argsort(model.measured[rows, place])]
    return PathPoints(
        over=model.measured[rows, place],
        mean=model.means[path, rows],
        error=standard_errors(model, path)[rows],
        runs=np.array(model.data[path].counts)[rows],
        held=dict(zip(names, other_levels[best].tolist(), strict=True)),
    )


def standard_errors(model: ScalingModel, path: int) -> Floats:
    """Standard errors of the means of a path (n,); NaN where it was not measured."""
    posterior = model.posterior.of_paths([path])
    return np.asarray(model.means[path] * np.sqrt(posterior.noise[0]))


def path_curve(model: ScalingModel, path: int, symbol: str, fixed: Mapping[str, float] | None = None) -> PathCurve:
    """Predictions of a path over a parameter, from the least level or the target to the largest of them."""
    points = path_points(model, path, symbol)
    levels = points.held if fixed is None else fixed
    marks = [*points.over.tolist(), model.target[symbol]]
    over = np.unique([*np.geomspace(min(marks), max(marks), _PLACES)[1:-1], *marks])
    curve_points = np.empty((len(over), len(model.symbols)))
    for place, name in enumerate(model.symbols):
        curve_points[:, place] = over if name == symbol else levels[name]
    run, likely = (model.band(curve_points, coverage, [path], run=True)[0] for coverage in (COVERAGE, LIKELY))
    return PathCurve(over, run, likely, model.best.predict(curve_points, paths=[path])[0, :, 0])


def draw_legend(model: ScalingModel, paths: Sequence[int], area: FigureBase) -> None:
    """What dots, lines and shades mean, below the panels of paths."""
    kinds = _kinds(model, paths)
    add_legend(area, list(kinds), list(kinds.values()), loc="outside lower center", ncols=4, fontsize=SMALL_POINTS)


def _kinds(model: ScalingModel, paths: Sequence[int]) -> dict[str, Any]:
    """Names of what is drawn of paths, with what a legend shows of each."""
    line: dict[str, Any] = {"color": _COLOUR, "linewidth": 1.4}
    kinds: dict[str, Any] = {
        "mean ± SE": Line2D([], [], color=INK, marker="o", markersize=4, linewidth=0.8),
        "prediction (median)": Line2D([], [], **line),
        "likely (50% interval)": Patch(facecolor=_COLOUR, alpha=0.41),
        "95% interval": Patch(facecolor=_COLOUR, alpha=0.13),
        "if the model holds": Line2D([], [], color=INK, linestyle=":", linewidth=1.1),
        "target": Line2D([], [], color=_TARGET, marker="D", markersize=5, linestyle=":", linewidth=0.9),
    }
    if any(_reaches_beyond(model, path, symbol) for path in paths for symbol in model.symbols):
        kinds["extrapolated"] = Line2D([], [], linestyle="--", **line)
    if any(_is_aside(model, path, symbol) for path in paths for symbol in model.symbols):
        kinds["prediction at the target's other parameters"] = Line2D(
            [], [], linestyle="--", color=_TARGET, linewidth=1.4
        )
    return kinds


def _title(model: ScalingModel, axes: Axes, path: int, is_alone: bool) -> None:
    most = _LONGEST[is_alone]
    row = next(row for row in model.rows if row.path == model.paths[path])
    grows = "; ".join(
        f"{growth.statement}{f' in {shortened(model.columns[symbol], 24)}' if len(model.symbols) > 1 else ''}"
        for symbol, growth in zip(model.symbols, row.growths, strict=True)
    )
    below = textwrap.wrap(grows, most)
    share = f"  {row.share:.1%}" if len(model.paths) > 1 and model.has_parts else ""
    law = model.best.named[path].formula
    lines = [shortened(model.paths[path], most - len(share)) + share, shortened(law, most), *below]
    axes.set_title("\n".join(lines), fontsize=SMALL_POINTS, loc="left", parse_math=False)


def _is_aside(model: ScalingModel, path: int, symbol: str) -> bool:
    """Whether the target's curve is another one than that of the measurements."""
    return any(model.target[name] != level for name, level in path_points(model, path, symbol).held.items())


def _reaches_beyond(model: ScalingModel, path: int, symbol: str) -> bool:
    """Whether the curve of the measurements goes on to a target that lies outside of them."""
    over = path_points(model, path, symbol).over
    return not _is_aside(model, path, symbol) and not over.min() <= model.target[symbol] <= over.max()


def _limits(points: PathPoints, curves: list[PathCurve]) -> tuple[float, float]:
    """Ends of the vertical axis: all points and the median, and of the bounds what is not far beyond."""
    medians = np.concatenate([values for curve in curves for values in (curve.run[:, 0], curve.holds)])
    values = np.concatenate([points.mean, medians[medians > 0.0]])
    low, high = float(values.min()), float(values.max())
    bounds = np.clip(np.concatenate([curve.run[:, 1:] for curve in curves]), low / _MOST_BEYOND, high * _MOST_BEYOND)
    low, high = min(low, float(bounds.min())), max(high, float(bounds.max()))
    margin = min(max((high / low) ** 0.04, 1.05), 2.0)
    return low / margin, high * margin
