"""Panels of a picture, one for each code: measured points, the model's lines and its bounds."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from perf_tables.points import Places
from perf_timing.characteristic import characteristics, design
from perf_timing.individual.model import IndividualModel
from perf_timing.joint.model import JointModel
from perf_timing.scaling_model import ScalingModel
from perf_views.colours import DARK, LIGHT, PAPER, RULE, SERIES
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
from perfcore.results import Panel, Panels

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
    code, system = np.array(model.codes)[places.code], np.array(model.systems)[places.system]
    return {**places.points, "code": code, "system": system}


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


def scaling_panels(model: ScalingModel, data: Any = None) -> Panels:
    """Panels by name: ``curves`` of the first code, ``curves-2`` of the next, ``residuals`` and ``quantiles``; of a
    joint model also ``work`` of the codes and ``speed`` of the systems, function by function.
    """
    selection = select(model, data)
    curves, residuals = cache(lambda: predicted_curves(selection)), cache(lambda: Residuals.of(selection))
    count = len(selection.codes)
    columns = 1 if count == 1 else 2 if count in (2, 4) else 3 if count <= 9 else 4
    height = {1: 5.0, 2: 3.4}.get(columns, 2.5)
    panels = {
        f"curves-{number}" if number > 1 else "curves": Panel(
            partial(_draw_panel, selection, curves, code), height, 1.0 / columns
        )
        for number, code in enumerate(selection.codes, 1)
    }
    panels["residuals"] = Panel(lambda axes: residuals().draw_over_model(axes), 2.9, 0.5)
    panels["quantiles"] = Panel(lambda axes: residuals().draw_quantiles(axes), 2.9, 0.5)
    return {**panels, **_parameter_panels(selection, model)} if isinstance(model, JointModel) else panels


def picture_heading(model: ScalingModel, data: Any = None) -> str:
    """The title of a picture, and what a reader must know about it."""
    remarks = select(model, data).remarks
    return "\n".join([shortened(model.title, 110), *textwrap.wrap("; ".join(remarks), 150)])


def _parameter_panels(selection: Selection, model: JointModel) -> dict[str, Panel]:
    """Work of the codes and speed of the systems with their standard errors."""
    unit = f" [{model.coefficient_unit}]" if model.coefficient_unit else ""
    systems = [model.systems[system] for system in selection.systems if model.systems[system] != model.reference]
    blocks = [("work", "w", [model.codes[code] for code in selection.codes], f"work{unit}")]
    if systems:
        blocks.append(("speed", "r", systems, f"speed over that of {shortened(model.reference)}"))
    functions = model.functions[:MOST_FUNCTIONS]
    width = 1.0 / min(len(functions), 3)
    return {
        f"{block}-{k}" if k > 1 else block: Panel(
            partial(_draw_estimates, model, f"{letter}_{k}", names, shortened(function, 24), label),
            0.9 + 0.19 * max(len(names), 3),
            width,
        )
        for block, letter, names, label in blocks
        for k, function in enumerate(functions, 1)
    }


def _draw_estimates(
    model: JointModel, symbol: str, names: Sequence[str], function: str, label: str, axes: Axes
) -> None:
    """Estimates with their standard errors, one below the other.

    The axis is that of estimates which are larger than their errors, up to three times as long for the others; what
    lies beyond it is printed at its end.
    """
    places = [model.parameter_names.index(f"{symbol}^{name}") for name in names]
    parameters = [model.parameters[k] for k in places]
    value = np.array([parameter.estimate for parameter in parameters])
    error = np.array([parameter.standard_error or 0.0 for parameter in parameters])
    is_open = np.array([model.undetermined[k] for k in places])
    is_endless = np.array([parameter.name.startswith("1/r_") for parameter in parameters])
    determined = ~is_open & ~is_endless
    sure = determined & (error <= np.abs(value))
    ends = np.array([0.0, *(value - error)[sure], *(value + error)[sure]])
    reach = np.ptp(ends) if sure.any() else np.inf
    ends = np.array([*ends, *value[determined & (np.abs(value) <= 3.0 * reach)]])
    margin = 0.06 * float(np.ptp(ends) or 1.0)
    left, right = float(ends.min()) - margin, float(ends.max()) + margin
    for row, (x, e) in enumerate(zip(value, error, strict=True)):
        if determined[row] and left <= x <= right:
            axes.errorbar(x, row, xerr=e, fmt="o", color=SERIES[0], markersize=4, elinewidth=1.0, capsize=2)
            continue
        if not determined[row]:
            place, side, text = 0.5, "center", "not identifiable" if is_open[row] else "without end"
        elif x < left:
            place, side, text = 0.02, "left", f"← {x:.3g} ± {e:.3g}"
        else:
            place, side, text = 0.98, "right", f"{x:.3g} ± {e:.3g} →"
        axes.text(place, row, text, transform=axes.get_yaxis_transform(), ha=side, va="center", fontsize=TINY_POINTS,
                  color=DARK, bbox={"facecolor": PAPER, "edgecolor": "none", "pad": 0.5})  # fmt: skip
    axes.axvline(0.0, color=RULE, linewidth=0.7, zorder=1.0)
    axes.set_xlim(left, right)
    axes.xaxis.set_major_locator(MaxNLocator(4))
    set_plain(axes)
    axes.set_title(f"{symbol}: {function}", fontsize=LABEL_POINTS, parse_math=False)
    axes.set_yticks(range(len(names)), [shortened(name, _MOST_LETTERS) for name in names], parse_math=False)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.set_xlabel(label, fontsize=LABEL_POINTS, parse_math=False)


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
        open_pairs = (pair for pair in model.pairs if None in pair.standard_errors)
        arbitrary = {(pair.code, pair.system) for pair in open_pairs if pair.n_observations != len(pair.functions)}
        names = (
            (model.codes[code], model.systems[system]) for code, system in zip(places.code, places.system, strict=True)
        )
        bounds[[name in arbitrary for name in names]] = np.nan
    bounds[~(bounds[:, 0] > 0.0), 0] = np.nan  # has no place on a logarithmic axis
    return bounds


_HOLLOW_POINTS = 5
_MOST_LETTERS = 20  # of a code or system next to its estimates
_BAND = f"{COVERAGE:.0%} prediction interval"


def _explain(selection: Selection, kinds: set[str], axes: Axes) -> None:
    """What colours and markers mean, and lines as far as they are drawn."""
    line: dict[str, Any] = {"color": DARK, "linewidth": 1.2}
    handles: dict[str, Line2D | Patch] = {
        "fit": Line2D([], [], **line),
        "extrapolated": Line2D([], [], linestyle="--", **line),
        "never measured (predicted)": Line2D([], [], linestyle=":", **line),
        _BAND: Patch(facecolor=DARK, alpha=0.2),
        "other systems": Line2D([], [], linestyle="", marker=".", color=LIGHT),
    }
    handles = {name: handle for name, handle in handles.items() if name in kinds}
    if len(selection.model.systems) > 1:
        for system, (colour, marker) in selection.systems.items():
            style: dict[str, Any] = {"marker": marker, "markersize": 4, "linewidth": 1.2}
            handles[shortened(selection.model.systems[system])] = Line2D([], [], color=colour, **style)
    add_legend(axes, list(handles), list(handles.values()), fontsize=TINY_POINTS)


def _draw_panel(selection: Selection, every_curve: Callable[[], list[Curve]], code: int, axes: Axes) -> None:
    model, places, drawn = selection.model, selection.at, set[str]()
    curves = [curve for curve in every_curve() if curve.code == code]
    across, value = places.points[selection.first], selection.value
    of_code = selection.in_panels & (places.code == code)
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
    ends = np.concatenate([curve.over[[0, -1]] for curve in every_curve()])  # all panels are as long as the curves
    set_logarithmic(axes, "x", ends.min() / 1.15, ends.max() * 1.15, base=2)
    unit = f" [{model.unit}]" if model.unit else ""
    axes.set_xlabel(shortened(model.columns[selection.first]), fontsize=LABEL_POINTS, parse_math=False)
    axes.set_ylabel(shortened(model.value_name) + unit, fontsize=LABEL_POINTS, parse_math=False)
    _explain(selection, drawn, axes)


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
