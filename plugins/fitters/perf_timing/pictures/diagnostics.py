"""Residuals of a picture: over the prediction and against normal quantiles, with the outliers among them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from matplotlib.lines import Line2D

from perf_timing.individual.model import IndividualModel
from perf_timing.joint.model import JointModel
from perf_timing.pictures.selection import Selection, named_places
from perf_views.colours import DARK, LIGHT, RULE
from perf_views.names import shortened
from perf_views.style import (
    LABEL_POINTS,
    MOST_VECTORS,
    SMALL_POINTS,
    TINY_POINTS,
    add_legend,
    set_logarithmic,
    set_plain,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import FigureBase


Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

_MOST_NAMED = 10  # outliers beside the residuals


def draw_residuals(selection: Selection, area: FigureBase, over: Axes, quantiles: Axes) -> None:
    """Draw weighted residuals in the scale of the fit over the prediction, and their quantiles against normal ones.

    Of a single pair they are drawn over the first parameter: its prediction hardly varies in the scale of the fit.

    Parameters
    ----------
    selection : Selection
    area : matplotlib FigureBase
        Holds both panels, and gets the names of outliers.
    over, quantiles : matplotlib Axes
        Empty.
    """
    from scipy.stats import probplot

    model, shown_places = selection.model, selection.at
    factor = model.factor(shown_places)
    scaled = model.predict(named_places(model, shown_places)) * factor
    residuals = selection.value * factor - scaled
    if selection.are_own:
        residuals = residuals * np.array(model.root_weights)
    elif model.relative:  # other weights of other data are not known
        residuals = residuals / (selection.value * factor)
    finite = np.flatnonzero(np.isfinite(residuals))
    values = residuals[finite]
    is_one_pair = len(model.codes) * len(model.systems) == 1
    across = (shown_places.points[selection.first] if is_one_pair else scaled)[finite]
    is_weighted = selection.are_own and np.ptp(model.root_weights) > 0.0
    unit = f" ({model.coefficient_unit})" if model.coefficient_unit else ""
    label = "relative residual" if model.relative else "weighted residual" if is_weighted else f"residual{unit}"
    for axes, x_label, title in (
        (over, model.columns[selection.first] if is_one_pair else f"model, in the scale of the fit{unit}", "Residuals"),
        (quantiles, "quantile of the normal distribution", "Normal Q-Q"),
    ):
        axes.set_title(title, fontsize=LABEL_POINTS)
        axes.set_xlabel(shortened(x_label, 60), fontsize=LABEL_POINTS, parse_math=False)
        axes.set_ylabel(label, fontsize=LABEL_POINTS)
        axes.axhline(0.0, color=RULE, linewidth=0.7)
        axes.margins(x=0.06, y=0.1)
        set_plain(axes)
    if not len(finite):
        return
    order = np.argsort(values, kind="stable")
    normal = np.zeros(len(finite))
    if len(finite) > 1:
        normal[order] = probplot(values, fit=False)[0]
    if across.min() > 0.0:
        set_logarithmic(over, "x", across.min() / 1.3, across.max() * 1.3, base=2 if is_one_pair else 10)
    for system, (colour, marker) in {-1: (LIGHT, "."), **selection.systems}.items():
        mask = shown_places.system[finite] == system
        if system < 0:
            mask = ~np.isin(shown_places.system[finite], list(selection.systems))
        for axes, places in ((over, across), (quantiles, normal)):
            axes.plot(places[mask], values[mask], marker, color=colour, markersize=3.5, markeredgewidth=0, alpha=0.8,
                      rasterized=bool(mask.sum() > MOST_VECTORS))  # fmt: skip
    if len(finite) > 2 and np.ptp(values) > 0.0:
        slope, intercept, correlation = probplot(values)[1]
        ends = normal[order[[0, -1]]]
        quantiles.plot(ends, intercept + slope * ends, color=DARK, linewidth=0.9, zorder=1.5)
        quantiles.set_title(f"Normal Q-Q, correlation {correlation:.3f}", fontsize=LABEL_POINTS)
    if isinstance(model, (IndividualModel, JointModel)) and selection.are_own:
        flagged = np.flatnonzero(model.outliers().flagged[finite])
        flagged = flagged[np.argsort(-np.abs(values[flagged]), kind="stable")]
        names = [shortened(model.describe(int(k)), 40) for k in finite[flagged[:_MOST_NAMED]]]
        # Below a narrow column of panels, beside a wide row of them.
        where = "outside lower left" if len(selection.codes) == 1 else "outside right upper"
        _ring_outliers(area, ((over, across), (quantiles, normal)), values, flagged, names, where)


def _ring_outliers(
    area: FigureBase,
    panels: tuple[tuple[Axes, Floats], ...],
    values: Floats,
    flagged: Ints,
    names: list[str],
    where: str,
) -> None:
    """Outliers ringed, and numbered as far as they have names, which stand outside the panels."""
    if not len(flagged):
        return
    for axes, across in panels:
        axes.plot(across[flagged], values[flagged], "o", color=DARK, markersize=9, markerfacecolor="none",
                  markeredgewidth=0.8, label="outliers")  # fmt: skip
        for number, k in enumerate(flagged[: len(names)], 1):
            axes.annotate(str(number), (across[k], values[k]), (5, 3), textcoords="offset points", fontsize=TINY_POINTS)
    lines = [f"{number}  {name}" for number, name in enumerate(names, 1)]
    if len(flagged) > len(names):
        lines.append(f"and {len(flagged) - len(names):,} more")
    nothing = [Line2D([], [], linestyle="") for _ in lines]
    add_legend(area, lines, nothing, loc=where, fontsize=TINY_POINTS, handlelength=0, title="outliers",
                title_fontsize=SMALL_POINTS, alignment="left")  # fmt: skip
