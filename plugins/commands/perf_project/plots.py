"""Components over the scale, stacked, and the efficiency below."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from perf_project.projection import At, Projection
from perf_views.colours import AREAS, INK, MODEL
from perf_views.names import shortened
from perf_views.style import legend_below
from perfcore.base.arrays import Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST, _LETTERS = 7, 24


def _bars(found: Projection) -> list[tuple[float, bool]]:
    """Each scale, and whether it is projected, ascending."""
    symbol = found.model.symbol
    measured = [(size, False) for size in _measured(found)]
    return sorted(measured + [(at.point[symbol], True) for at in _targets(found)])


def _measured(found: Projection) -> dict[float, int]:
    """Runs by scale, whose other parameters are those of the last target."""
    others = tuple(found.at[-1].point.values())[1:]
    runs = enumerate(zip(*found.model.points.values(), strict=True))
    return {point[0]: k for k, point in runs if point[1:] == others}


def _targets(found: Projection) -> list[At]:
    """Targets whose other parameters are those of the last."""
    others = tuple(found.at[-1].point.values())[1:]
    return [at for at in found.at if tuple(at.point.values())[1:] == others]


def _times(found: Projection) -> tuple[list[str], Floats]:
    """The largest components and the rest of each bar: (n, bars)."""
    model = found.model
    names = [each.name for each in found.at[-1].components if any(model.measured[each.name]) or each.time[2]]
    measured = _measured(found)
    projected = {at.point[model.symbol]: {each.name: each.time[0] for each in at.components} for at in _targets(found)}
    columns = [
        [projected[p][name] if is_projected else model.measured[name][measured[p]] for name in names]
        for p, is_projected in _bars(found)
    ]
    times = np.array(columns).T
    order = np.argsort(-(times / times.sum(axis=0)).max(axis=1), kind="stable")
    kept, rest = order[:_MOST], order[_MOST:]
    names = [found.at[-1].labels[name] for name in names]
    if len(rest) < 2:
        return [names[k] for k in order], times[order]
    return [*(names[k] for k in kept), f"{len(rest)} others"], np.vstack([times[kept], times[rest].sum(axis=0)])


def draw_components(found: Projection, axes: Axes) -> None:
    """Stacked bars, projected ones hatched, and the elapsed time with its interval."""
    bars, (names, times) = _bars(found), _times(found)
    bottom = np.zeros(len(bars))
    for k, (name, row) in enumerate(zip(names, times, strict=True)):
        drawn = axes.bar(range(len(bars)), row, bottom=bottom, color=AREAS[k % len(AREAS)], width=0.7,
                         label=shortened(name, _LETTERS))  # fmt: skip
        for patch, (_, is_projected) in zip(drawn, bars, strict=True):
            if is_projected:
                patch.set(hatch="///", edgecolor="white", linewidth=0.0)
        bottom += row
    projected = [k for k, (_, is_projected) in enumerate(bars) if is_projected]
    elapsed = np.array([at.elapsed for at in sorted(_targets(found), key=lambda at: at.point[found.model.symbol])])
    axes.errorbar(projected, elapsed[:, 0], _sides(elapsed), fmt="D", color=INK, markersize=4, capsize=4,
                  label="elapsed (95% interval)")  # fmt: skip
    axes.set_ylim(0.0, 1.05 * max(bottom.max(), elapsed.max()))
    axes.set_ylabel(f"time [{found.model.unit}]" if found.model.unit else "time")
    _scale(axes, found, bars)
    legend_below(axes)


def draw_efficiencies(found: Projection, axes: Axes) -> None:
    """Efficiencies at each scale: measured as points, projected with intervals."""
    model, bars = found.model, _bars(found)
    names = [name for name in ("global", "parallel", "computation scalability", "scaling")
             if name in found.at[-1].efficiencies]  # fmt: skip
    of_target = {at.point[model.symbol]: at for at in _targets(found)}
    measured = _measured(found)
    reference = model.reference(np.array(list(found.at[-1].point.values())))
    for number, name in enumerate(names):
        middle, sides = [], []
        for p, is_projected in bars:
            if is_projected:
                bounds = of_target[p].efficiencies[name]
            else:
                times = {each: values[measured[p]] for each, values in model.measured.items()}
                bounds = (float(model.efficiencies(times, p, reference)[name]),) * 3
            middle.append(bounds[0])
            sides.append(bounds)
        colour = (MODEL, AREAS[0], AREAS[2])[number % 3]
        places = np.arange(len(bars)) + 0.04 * (number - (len(names) - 1) / 2)
        axes.errorbar(places, 100 * np.array(middle), 100 * _sides(np.array(sides)), fmt="o-", color=colour,
                      markersize=4, capsize=3, linewidth=1.0, label=name)  # fmt: skip
    axes.set_ylim(0.0, None)
    axes.set_ylabel("efficiency [%]")
    _scale(axes, found, bars)
    legend_below(axes)


def _sides(bounds: Floats) -> Floats:
    """Distances of the ends from the median, (2, n)."""
    sides: Floats = np.array([bounds[:, 0] - bounds[:, 1], bounds[:, 2] - bounds[:, 0]])
    return sides


def _scale(axes: Axes, found: Projection, bars: Sequence[tuple[float, bool]]) -> None:
    axes.set_xticks(range(len(bars)), [f"{p:g}" for p, _ in bars])
    axes.set_xlim(-0.6, len(bars) - 0.4)
    axes.set_xlabel(found.model.variables[found.model.symbol])
