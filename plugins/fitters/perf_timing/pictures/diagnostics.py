"""Residuals of a picture: over the prediction and against normal quantiles, with the outliers among them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
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
    draw_quantile_line,
    set_logarithmic,
    set_plain,
)
from perfcore.base.arrays import Booleans, Floats, Ints
from perfcore.base.errors import DataError

if TYPE_CHECKING:
    from matplotlib.axes import Axes


MOST_BANDS = 4  # systems in a panel whose intervals stay distinct
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
    in_panels: Booleans  # points at these values
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


_MOST_NAMED = 10  # outliers next to the residuals


@dataclass(frozen=True)
class Residuals:
    """Weighted residuals in the scale of the fit, where they are finite."""

    selection: Selection
    label: str
    across_label: str
    across: Floats  # the prediction; of a single pair the first parameter, since its prediction hardly varies
    values: Floats
    system: Ints
    outliers: Ints  # the largest first
    names: list[str]  # of the first outliers

    @classmethod
    def of(cls, selection: Selection) -> Residuals:
        """Those of the points of a selection."""
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
        unit = f" [{model.coefficient_unit}]" if model.coefficient_unit else ""
        label = "relative residual" if model.relative else "weighted residual" if is_weighted else f"residual{unit}"
        flagged, names = np.empty(0, dtype=np.int64), []
        if isinstance(model, (IndividualModel, JointModel)) and selection.are_own and len(finite):
            flagged = np.flatnonzero(model.outliers().flagged[finite])
            flagged = flagged[np.argsort(-np.abs(values[flagged]), kind="stable")]
            names = [shortened(model.describe(int(k)), 40) for k in finite[flagged[:_MOST_NAMED]]]
        across_label = model.columns[selection.first] if is_one_pair else f"model, in the scale of the fit{unit}"
        system = shown_places.system[finite]
        return cls(selection, label, across_label, across, values, system, flagged, names)

    def draw_over_model(self, axes: Axes) -> None:
        """Draw them over the prediction."""
        axes.set_title("Residuals", fontsize=LABEL_POINTS)
        axes.set_xlabel(shortened(self.across_label, 60), fontsize=LABEL_POINTS, parse_math=False)
        self._draw(axes, self.across)
        if len(self.across) and self.across.min() > 0.0:
            is_one_pair = len(self.selection.model.codes) * len(self.selection.model.systems) == 1
            limits = self.across.min() / 1.3, self.across.max() * 1.3
            set_logarithmic(axes, "x", *limits, base=2 if is_one_pair else 10)

    def draw_quantiles(self, axes: Axes) -> None:
        """Draw their quantiles against normal ones, and the names of outliers."""
        self._draw(axes, draw_quantile_line(axes, self.values))
        lines = [f"{number}  {name}" for number, name in enumerate(self.names, 1)]
        if len(self.outliers) > len(lines):
            lines.append(f"and {len(self.outliers) - len(lines):,} more")
        if lines:
            nothing = [Line2D([], [], linestyle="") for _ in lines]
            add_legend(axes, lines, nothing, loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize=TINY_POINTS,
                       handlelength=0, title="outliers", title_fontsize=SMALL_POINTS, alignment="left")  # fmt: skip

    def _draw(self, axes: Axes, across: Floats) -> None:
        """The residuals by system over something; outliers are ringed, and numbered as far as they have names."""
        axes.set_ylabel(self.label, fontsize=LABEL_POINTS)
        axes.axhline(0.0, color=RULE, linewidth=0.7)
        axes.margins(x=0.06, y=0.1)
        set_plain(axes)
        systems = self.selection.systems
        for system, (colour, marker) in {-1: (LIGHT, "."), **systems}.items():
            mask = ~np.isin(self.system, list(systems)) if system < 0 else self.system == system
            axes.plot(across[mask], self.values[mask], marker, color=colour, markersize=3.5, markeredgewidth=0,
                      alpha=0.8, rasterized=bool(mask.sum() > MOST_VECTORS))  # fmt: skip
        if len(self.outliers):
            axes.plot(across[self.outliers], self.values[self.outliers], "o", color=DARK, markersize=9,
                      markerfacecolor="none", markeredgewidth=0.8, label="outliers")  # fmt: skip
        for number, k in enumerate(self.outliers[: len(self.names)].tolist(), 1):
            place = across[k], self.values[k]
            axes.annotate(str(number), place, (5, 3), textcoords="offset points", fontsize=TINY_POINTS)
