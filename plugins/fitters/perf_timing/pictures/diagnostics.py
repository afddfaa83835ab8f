"""Residuals of a picture: over the prediction and against normal quantiles, with the outliers among them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from matplotlib.lines import Line2D

from perf_tables.points import Places
from perf_timing.individual.model import IndividualModel
from perf_timing.joint.model import JointModel
from perf_timing.scaling_model import ScalingModel
from perf_views.colours import DARK, LIGHT, RULE, SERIES
from perf_views.names import shortened
from perf_views.style import (
    LABEL_POINTS,
    MARKERS,
    MOST_VECTORS,
    SMALL_POINTS,
    TINY_POINTS,
    add_legend,
    set_logarithmic,
    set_plain,
)
from perfcore.base.errors import DataError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import FigureBase


Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

MOST_BANDS = 4  # systems in a panel whose bounds can still be told apart
MOST_FUNCTIONS = 6  # of a joint model whose parameters are drawn
_MOST_PANELS = 12
_MOST_PREDICTED = 4  # systems of a model that is drawn also where a code never ran


@dataclass(frozen=True)
class Selection:
    """Measured points, and what is drawn of them."""

    model: ScalingModel
    at: Places  # of the points: the model's own, or those of other data
    value: Floats  # in the user's unit; the spread of repeated runs is NaN for a single one
    spread: Floats
    are_own: bool  # whether the model was fitted to exactly these points
    codes: tuple[int, ...]  # one panel for each
    systems: dict[int, tuple[str, str]]  # colour and marker; points of all other systems are grey
    others: dict[str, float]  # parameters but the first, and the values at which the panels show the model
    in_panels: Bools  # points at these values
    remarks: tuple[str, ...]  # what a reader must know about the picture

    @property
    def first(self) -> str:
        """Symbol of the parameter that lines run over."""
        return next(iter(self.model.columns))


def select(model: ScalingModel, data: Any) -> Selection:
    """The codes and systems with most points, at the most frequent values of the parameters but the first."""
    places, value, spread, are_own, remarks = _measured(model, data)
    others: dict[str, float] = {}
    in_panels = np.ones(len(places), dtype=np.bool_)
    symbols = list(model.columns)[1:]
    if symbols:
        table = np.column_stack([places.points[symbol] for symbol in symbols])
        combinations, which, counts = np.unique(table, axis=0, return_inverse=True, return_counts=True)
        in_panels = which.ravel() == np.argmax(counts)
        others = dict(zip(symbols, combinations[np.argmax(counts)].tolist(), strict=True))
        text = ", ".join(f"{model.columns[symbol]}={number:g}" for symbol, number in others.items())
        remarks.append(f"lines at {text}, where {in_panels.sum():,} of {len(places):,} points are")
    codes = _most_frequent(places.code[in_panels], _MOST_PANELS)
    drawn = in_panels & np.isin(places.code, codes)
    systems = _most_frequent(places.system[drawn], len(MARKERS))
    if is_drawn_everywhere(model):
        systems = tuple(range(len(model.systems)))
    pairs = np.unique(np.column_stack([places.code[drawn], places.system[drawn]]), axis=0)
    crowded = np.unique(pairs[:, 0], return_counts=True)[1] > MOST_BANDS
    left_out = {
        "codes not shown": len(np.unique(places.code)) - len(codes),
        "systems in grey": len(np.unique(places.system[drawn])) - len(systems),
        "panels too full for bounds": int(crowded.sum()),
    }
    if isinstance(model, JointModel):
        left_out["functions whose w and r are not shown"] = len(model.functions) - MOST_FUNCTIONS
    remarks += [f"{reason}: {number:,}" for reason, number in left_out.items() if number > 0]
    styles = {s: (SERIES[k % len(SERIES)], MARKERS[k]) for k, s in enumerate(systems)}
    return Selection(model, places, value, spread, are_own, codes, styles, others, in_panels, tuple(remarks))


def is_drawn_everywhere(model: ScalingModel) -> bool:
    """Whether codes are drawn also on systems where they never ran."""
    return isinstance(model, JointModel) and len(model.systems) <= _MOST_PREDICTED


def named_places(model: ScalingModel, places: Places) -> dict[str, Any]:
    """Places as `ScalingModel.predict` takes them: columns by name, with names of codes and systems."""
    return {
        **places.points,
        "code": np.array(model.codes)[places.code],
        "system": np.array(model.systems)[places.system],
    }


def _measured(model: ScalingModel, data: Any) -> tuple[Places, Floats, Floats, bool, list[str]]:
    """Points, values, spreads, whether they are the model's own, and remarks."""
    observed = None if data is None else model.check_data(data)
    dropped = model.dropped if isinstance(model, JointModel) else ()
    if observed is not None and dropped:
        observed = observed.select(np.array([observed.describe(k) not in dropped for k in range(len(observed))]))
    remarks = [f"outliers left out of fit and picture: {len(dropped):,}"] if dropped else []
    if observed is None or observed.fingerprint() == model.origin.fingerprint:
        observations = model.observations
        spread = np.array([np.nan if s is None else s for s in observations.spread])
        return model.measured_places, np.array(observations.value), spread, True, remarks
    code, system = (
        np.array([places.get(name, -1) for name in names], dtype=np.int64)[index]
        for index, names, places in (
            (observed.code, observed.codes, {name: k for k, name in enumerate(model.codes)}),
            (observed.system, observed.systems, {name: k for k, name in enumerate(model.systems)}),
        )
    )
    kept = (code >= 0) & (system >= 0)
    if set(observed.points) != set(model.columns) or not kept.any():
        raise DataError(f"{observed.source}: no code on a system over {', '.join(model.columns)} that the model has")
    remarks.append(f"points of other data than the model's, {observed.source}")
    if not kept.all():
        remarks.append(f"{(~kept).sum():,} points are of codes or systems that the model does not have")
    points = Places({symbol: observed.points[symbol][kept] for symbol in model.columns}, code[kept], system[kept])
    return points, observed.value[kept], observed.spread[kept], False, remarks


def _most_frequent(index: Ints, most: int) -> tuple[int, ...]:
    """The numbers that occur most often, in rising order."""
    numbers, counts = np.unique(index, return_counts=True)
    return tuple(sorted(numbers[np.argsort(-counts, kind="stable")[:most]].tolist()))


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
