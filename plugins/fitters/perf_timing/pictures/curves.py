"""Lines of a picture: what the model predicts for each code on each system, over the first parameter."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from perf_tables.points.points import Places
from perf_timing.characteristic import characteristics, design
from perf_timing.individual.model import IndividualModel
from perf_timing.joint.model import JointModel
from perf_timing.pictures.selection import Selection, is_drawn_everywhere, named_places
from perf_timing.scaling_model import ScalingModel


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
