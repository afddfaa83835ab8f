"""Plots of timing models: the model of each code over its points, residuals, work of codes and speed of systems."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from perf_statistics.goodness import normal_quantiles
from perf_tables.points import Places
from perf_timing.prepared import characteristics, design
from perf_views.names import shortened
from perfcore.base.arrays import Booleans, Floats, Ints
from perfcore.base.errors import DataError
from perfcore.report import Axis, Band, Line, Mark, Plot, Points, Rule, Text

if TYPE_CHECKING:
    from perf_timing.individual_model import IndividualModel
    from perf_timing.joint_model import JointModel

COVERAGE = 0.95  # of the intervals, for a single run
_MOST_BANDS = 4  # systems in a plot whose intervals stay distinct
_MOST_FUNCTIONS = 6  # of a joint model whose parameters are drawn
_MOST_CODES = 12  # a plot for each
_MOST_PREDICTED = 4  # systems of a model that is drawn also where a code never ran
_SHAPES = ("circle", "square", "triangle", "diamond", "cross", "bar")  # filled, and then hollow
_MOST_SYSTEMS = 2 * len(_SHAPES)  # that can be distinguished without colours
_BEYOND = 4.0  # how far lines go beyond what was measured, a factor
_HOLLOW_POINTS = 5  # on a line of a pair that was never measured
_MOST_NAMED = 10  # outliers next to the residuals
_MOST_LETTERS = 20  # of a code or system next to its estimates
_BAND = f"{COVERAGE:.0%} prediction interval"


@dataclass(frozen=True)
class _Selection:
    """Measured points, and what is drawn of them."""

    model: IndividualModel | JointModel
    at: Places  # of the points: the model's own, or those of other data
    value: Floats  # in the user's unit; the spread of repeated runs is NaN for a single one
    spread: Floats
    are_own: bool  # whether the model was fitted to exactly these points
    codes: tuple[int, ...]  # one plot for each
    systems: dict[int, int]  # number of the style of each; points of all other systems are grey
    everywhere: bool  # whether codes are drawn also on systems where they never ran
    others: dict[str, float]  # parameters but the first, and the values at which the plots show the model
    in_panels: Booleans  # points at these values
    remarks: tuple[str, ...]  # what a reader must know about the plots

    @property
    def first(self) -> str:
        """Symbol of the parameter that lines run over."""
        return next(iter(self.model.columns))


def scaling_plots(model: IndividualModel | JointModel, data: Any = None) -> list[Plot]:
    """Return ``curves`` of the first code, ``curves-2`` of the next, ``residuals`` and ``quantiles``.

    Of a joint model also ``work`` of the codes and ``speed`` of the systems, function by function.
    """
    selection = _select(model, data)
    curves = _predicted_curves(selection)
    plots = [_code_plot(selection, curves, number) for number in range(len(selection.codes))]
    plots += _residual_plots(selection)
    return [*plots, *_estimate_plots(selection, model)] if model.is_joint else plots


def _select(model: IndividualModel | JointModel, data: Any) -> _Selection:
    """Return the codes and systems with most points, at the most frequent values of the parameters but the first."""
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
    codes = _most_frequent(places.code[in_panels], _MOST_CODES)
    drawn = in_panels & np.isin(places.code, codes)
    systems = _most_frequent(places.system[drawn], _MOST_SYSTEMS)
    everywhere = model.is_joint and len(model.systems) <= _MOST_PREDICTED
    if everywhere:
        systems = tuple(range(len(model.systems)))
    pairs = np.unique(np.column_stack([places.code[drawn], places.system[drawn]]), axis=0)
    crowded = np.unique(pairs[:, 0], return_counts=True)[1] > _MOST_BANDS
    left_out = {
        "codes not shown": len(np.unique(places.code)) - len(codes),
        "systems in grey": len(np.unique(places.system[drawn])) - len(systems),
        "plots too full for intervals": int(crowded.sum()),
    }
    if model.is_joint:
        left_out["functions whose w and r are not shown"] = len(model.functions) - _MOST_FUNCTIONS
    remarks += [f"{reason}: {number:,}" for reason, number in left_out.items() if number > 0]
    styles = {system: k for k, system in enumerate(systems)}
    return _Selection(
        model, places, value, spread, are_own, codes, styles, everywhere, others, in_panels, tuple(remarks)
    )


def _named_places(model: IndividualModel | JointModel, places: Places) -> dict[str, Any]:
    """Return places as `ScalingModel.predict` takes them: columns by name, with names of codes and systems."""
    code, system = np.array(model.codes)[places.code], np.array(model.systems)[places.system]
    return {**places.points, "code": code, "system": system}


def _measured(model: IndividualModel | JointModel, data: Any) -> tuple[Places, Floats, Floats, bool, list[str]]:
    """Return points, values, spreads, whether they are the model's own, and remarks."""
    observed = None if data is None else model.check_data(data)
    dropped: tuple[str, ...] = getattr(model, "dropped", ())
    if observed is not None and dropped:
        observed = observed.select(np.array([observed.describe(k) not in dropped for k in range(len(observed))]))
    remarks = [f"outliers left out of fit and plot: {len(dropped):,}"] if dropped else []
    if observed is None or observed.fingerprint() == model.origin.fingerprint:
        observations = model.observations
        spread = np.array([np.nan if s is None else s for s in observations.spread])
        return model.measured_places, np.array(observations.value), spread, True, remarks
    code, system = (
        np.array([known.index(name) if name in known else -1 for name in names], dtype=np.int64)[index]
        for index, names, known in (
            (observed.code, observed.codes, model.codes), (observed.system, observed.systems, model.systems)
        )
    )  # fmt: skip
    kept = (code >= 0) & (system >= 0)
    if set(observed.points) != set(model.columns) or not kept.any():
        raise DataError(f"{observed.source}: no code on a system over {', '.join(model.columns)} that the model has")
    remarks.append(f"points of other data than the model's, {observed.source}")
    if not kept.all():
        remarks.append(f"{(~kept).sum():,} points are of codes or systems that the model does not have")
    points = Places({symbol: observed.points[symbol][kept] for symbol in model.columns}, code[kept], system[kept])
    return points, observed.value[kept], observed.spread[kept], False, remarks


def _most_frequent(index: Ints, most: int) -> tuple[int, ...]:
    """Return the numbers that occur most often, in rising order."""
    numbers, counts = np.unique(index, return_counts=True)
    return tuple(sorted(numbers[np.argsort(-counts, kind="stable")[:most]].tolist()))


@dataclass(frozen=True)
class _Curve:
    """The model of one code on one system over the first parameter."""

    code: int
    system: int
    over: Floats  # values of the parameter, rising
    low: float  # what was measured; NaN if nothing was
    high: float
    value: Floats  # prediction and its bounds; NaN if there is none
    lower: Floats
    upper: Floats


def _predicted_curves(selection: _Selection) -> list[_Curve]:
    """Return the model of each code on each system that is drawn, from one prediction of all.

    A line runs from a fourth of the least to four times the largest value, and below 1 only as far as was measured;
    pairs that were never measured have one only if the selection says so.
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
            if not (of_pair.any() or selection.everywhere):
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
        _Curve(code, system, grid, low, high, *part.T)
        for (code, system, low, high), grid, part in zip(pairs, grids, values, strict=True)
    ]


def _predicted(model: Any, places: Places) -> Floats:
    """Return the value, lower and upper bound (n, 3); NaN if not finite or not determined."""
    bounds = np.full((len(places), 3), np.nan)
    able = np.isfinite(design(characteristics(model.functions, model.columns), places.points)).all(axis=1)
    if able.any():
        part = Places(
            {symbol: values[able] for symbol, values in places.points.items()}, places.code[able], places.system[able]
        )
        bounds[able] = model.predict_array(_named_places(model, part), interval=COVERAGE)
    if model.is_joint and model.covariance is not None:
        bounds[np.isnan(bounds[:, 1])] = np.nan
    else:
        # As many points as functions have no errors either, but determine the line.
        open_pairs = (pair for pair in model.pairs if None in pair.standard_errors)
        arbitrary = {(pair.code, pair.system) for pair in open_pairs if pair.n_observations != len(pair.functions)}
        names = (
            (model.codes[code], model.systems[system]) for code, system in zip(places.code, places.system, strict=True)
        )
        bounds[[name in arbitrary for name in names]] = np.nan
    bounds[~(bounds[:, 0] > 0.0), 0] = np.nan  # has no place on a logarithmic axis
    return bounds


def _style(number: int) -> dict[str, Any]:
    """Return how points of a system are drawn."""
    shape, is_filled = _SHAPES[number % len(_SHAPES)], number < len(_SHAPES)
    return {"colour": f"series:{number}", "shape": shape, "is_filled": is_filled}


def _code_plot(selection: _Selection, curves: list[_Curve], number: int) -> Plot:
    """Return the models of one code on its systems over the measured points."""
    model, places, code = selection.model, selection.at, selection.codes[number]
    of_code_curves = [curve for curve in curves if curve.code == code]
    across, value = places.points[selection.first], selection.value
    of_code = selection.in_panels & (places.code == code)
    several_systems = len(model.systems) > 1
    bottom, top = _limits(value[of_code], selection.spread[of_code], of_code_curves)
    bands: list[Mark] = []
    lines: list[Mark] = []
    points: list[Mark] = []
    rest = of_code & ~np.isin(places.system, list(selection.systems))
    if rest.any():
        points.append(Points(across[rest], value[rest], "other systems", "muted", size=2.0))
    has_bands = len(np.unique(places.system[of_code])) <= _MOST_BANDS
    for curve in of_code_curves:
        style, name = _style(selection.systems[curve.system]), shortened(model.systems[curve.system])
        if has_bands and np.isfinite(curve.lower).any():
            low, high = (np.clip(bound, bottom, top) for bound in (curve.lower, curve.upper))
            bands.append(Band(curve.over, low, high, _BAND, style["colour"], opacity=0.1))
        of_system = of_code & (places.system == curve.system)
        called = name if several_systems else "measured"
        lines += _lines(curve, style, called if several_systems else "model")
        if of_system.any():
            spread = np.nan_to_num(selection.spread[of_system])
            bars = {"low": value[of_system] - spread, "high": value[of_system] + spread} if spread.any() else {}
            points.append(Points(across[of_system], value[of_system], called, **style, **bars))
    ends = np.concatenate([curve.over[[0, -1]] for curve in curves])  # all plots are as long as the curves
    count = len(selection.codes)
    columns = 1 if count == 1 else 2 if count in (2, 4) else 3 if count <= 9 else 4
    return Plot(
        f"curves-{number + 1}" if number else "curves",
        [*bands, *lines, *points],
        Axis(model.columns[selection.first], scale="log", base=2, limits=(ends.min() / 1.15, ends.max() * 1.15)),
        Axis(model.value_name, model.unit or "", "log", limits=(bottom, top)),
        title=shortened(model.codes[code]) if len(model.codes) > 1 else "",
        height={1: 5.0, 2: 3.4}.get(columns, 2.5),
        width=1.0 / columns,
        note="; ".join(selection.remarks) if not number else "",
    )


def _lines(curve: _Curve, style: dict[str, Any], name: str) -> list[Mark]:
    """Return the model solid where the pair was measured, dashed beyond, dotted where it never was."""
    colour = style["colour"]
    if np.isnan(curve.value).all():
        return []
    if np.isnan(curve.low):
        few = np.linspace(0, len(curve.over) - 1, _HOLLOW_POINTS + 2).astype(int)[1:-1]
        return [
            Line(curve.over, curve.value, "never measured (predicted)", colour, "dotted", 1.0),
            Points(curve.over[few], curve.value[few], name, colour, shape=style["shape"], is_filled=False),
        ]
    inside = (curve.over >= curve.low) & (curve.over <= curve.high)
    marks: list[Mark] = [Line(curve.over[inside], curve.value[inside], name, colour, width=1.2)]
    for outside in (curve.over <= curve.low, curve.over >= curve.high):
        if outside.sum() > 1:
            marks.append(Line(curve.over[outside], curve.value[outside], "extrapolated", colour, "dashed", 0.9))
    return marks


def _limits(value: Floats, spread: Floats, curves: list[_Curve]) -> tuple[float, float]:
    """Return the ends of a plot's vertical axis: points and lines, the latter up to three times beyond the points."""
    high = value + np.nan_to_num(spread)
    lines = np.concatenate([np.empty(0), *(curve.value[np.isfinite(curve.value)] for curve in curves)])
    every = np.concatenate([value, high, np.clip(lines, value.min() / 3.0, high.max() * 3.0)])
    margin = max((every.max() / every.min()) ** 0.06, 1.1)
    return float(every.min() / margin), float(every.max() * margin)


def _residual_plots(selection: _Selection) -> list[Plot]:
    """Return weighted residuals in the scale of the fit over the prediction, and over normal quantiles.

    Of a single pair over the first parameter, since its prediction hardly varies.
    """
    model, shown_places = selection.model, selection.at
    factor = model.factor(shown_places)
    scaled = model.predict(_named_places(model, shown_places)) * factor
    residuals = selection.value * factor - scaled
    if selection.are_own:
        residuals = residuals * np.array(model.root_weights)
    elif model.relative:  # other weights of other data are not known
        residuals = residuals / (selection.value * factor)
    finite = np.flatnonzero(np.isfinite(residuals))
    values, system = residuals[finite], shown_places.system[finite]
    is_one_pair = len(model.codes) * len(model.systems) == 1
    across = (shown_places.points[selection.first] if is_one_pair else scaled)[finite]
    is_weighted = selection.are_own and np.ptp(model.root_weights) > 0.0
    unit = model.coefficient_unit or ""
    is_plain = not (model.relative or is_weighted)
    label = "relative residual" if model.relative else "weighted residual" if is_weighted else "residual"
    outliers, note = np.empty(0, dtype=np.int64), ""
    if selection.are_own and len(finite):
        outliers = np.flatnonzero(model.outliers().flagged[finite])
        outliers = outliers[np.argsort(-np.abs(values[outliers]), kind="stable")]
        names = [shortened(model.describe(int(k)), 40) for k in finite[outliers[:_MOST_NAMED]]]
        more = [f"{len(outliers) - len(names):,} more"] if len(outliers) > len(names) else []
        numbered = [*(f"{number} {name}" for number, name in enumerate(names, 1)), *more]
        note = f"outliers: {'; '.join(numbered)}" if numbered else ""
    is_log = bool(len(across)) and across.min() > 0.0
    label_x = model.columns[selection.first] if is_one_pair else "model, in the scale of the fit"
    x = Axis(label_x, "" if is_one_pair else unit)
    if is_log:
        limits = float(across.min() / 1.3), float(across.max() * 1.3)
        x = Axis(x.label, x.unit, "log", limits, base=2 if is_one_pair else 10)
    y = Axis(label, unit if is_plain else "")
    quantiles, ends, line, correlation = normal_quantiles(values)
    marks = _residual_marks(selection, values, system, outliers)
    known = "" if np.isnan(correlation) else f", correlation {correlation:.3f}"
    return [
        Plot("residuals", marks(across), x, y, "Residuals", 2.9, 0.5, note),
        Plot("quantiles", [Line(ends, line, colour="dark", width=0.9), *marks(quantiles)], Axis("normal quantile"), y,
             f"Normal Q-Q{known}", 2.9, 0.5),
    ]  # fmt: skip


def _residual_marks(selection: _Selection, values: Floats, system: Ints, outliers: Ints) -> Any:
    """Return what makes the marks of the residuals over something: outliers are ringed, and numbered."""

    def marks(across: Floats) -> list[Mark]:
        made: list[Mark] = [Rule([0.0], "y", style="solid")]
        others = ~np.isin(system, list(selection.systems))
        if others.any():
            made.append(Points(across[others], values[others], colour="muted", size=2.0))
        for each, number in selection.systems.items():
            mask = system == each
            if mask.any():
                made.append(Points(across[mask], values[mask], **{**_style(number), "size": 3.0}))
        if len(outliers):
            made.append(Points(across[outliers], values[outliers], "outliers", "dark", is_filled=False, size=9.0))
            first = outliers[:_MOST_NAMED]
            texts = [f"  {number}" for number in range(1, len(first) + 1)]
            made.append(Text(across[first], values[first], texts, size=7.0))
        return made

    return marks


def _estimate_plots(selection: _Selection, model: Any) -> list[Plot]:
    """Return the work of the codes and speed of the systems with their standard errors."""
    systems = [model.systems[system] for system in selection.systems if model.systems[system] != model.reference]
    blocks = [("work", "w", [model.codes[code] for code in selection.codes], "work", model.coefficient_unit or "")]
    if systems:
        blocks.append(("speed", "r", systems, f"speed over that of {shortened(model.reference)}", ""))
    functions = model.functions[:_MOST_FUNCTIONS]
    return [
        Plot(
            f"{block}-{k}" if k > 1 else block,
            *_estimates(model, f"{letter}_{k}", names, Axis(label, unit)),
            title=f"{letter}_{k}: {shortened(function, 24)}",
            height=0.9 + 0.19 * max(len(names), 3),
            width=1.0 / min(len(functions), 3),
        )
        for block, letter, names, label, unit in blocks
        for k, function in enumerate(functions, 1)
    ]


def _estimates(model: JointModel, symbol: str, names: list[str], x: Axis) -> tuple[list[Mark], Axis, Axis]:
    """Return estimates with their standard errors, one below the other, and both axes."""
    places = [model.parameter_names.index(f"{symbol}^{name}") for name in names]
    parameters, rows = [model.parameters[k] for k in places], np.arange(len(names))
    value = np.array([parameter.estimate for parameter in parameters])
    error = np.array([parameter.standard_error or 0.0 for parameter in parameters])
    is_open = np.array([model.undetermined[k] for k in places])
    shown = ~is_open & np.array([not parameter.name.startswith("1/r_") for parameter in parameters])
    ends = value[shown] - error[shown], value[shown] + error[shown]
    marks: list[Mark] = [
        Rule([0.0], style="solid"),
        Points(value[shown], rows[shown], left=ends[0], right=ends[1], colour="series:0"),
    ]
    for row in np.flatnonzero(~shown).tolist():
        text = "not identifiable" if is_open[row] else "without end"
        marks.append(Text([0.0], [row], [f"  {text}"], "dark", "left", 7.0))
    y = Axis(scale="category", names=[shortened(name, _MOST_LETTERS) for name in names], is_reversed=True)
    return marks, x, y
