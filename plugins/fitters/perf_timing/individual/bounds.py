"""Bounds of single runs of pairs that were fitted each by itself, over all combinations of functions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from perf_statistics.least_squares.shape_average import expected_runs
from perf_tables.points.points import Places
from perf_timing.characteristic import characteristics, design
from perf_timing.individual.fits import subsets
from perf_timing.individual.pair import LEAST_FREEDOM, PairFit
from perf_timing.individual.shapes import shapes_of
from perf_timing.options import number_of_terms, parse_terms
from perf_timing.scaling_model import ScalingModel
from perfcore.base.errors import DataError


Floats = npt.NDArray[np.float64]

_POINTS_AT_ONCE = 128


def pair_bounds(
    model: ScalingModel, pairs: Sequence[PairFit], places: Places, values: Floats, interval: float
) -> Floats:
    """Values with the bounds of single runs, in the user's unit."""
    bounds = np.column_stack([values, np.full((len(places), 2), np.nan)])
    cells = places.code * len(model.systems) + places.system
    shares = (0.5 - 0.5 * interval, 0.5 + 0.5 * interval)
    for pair in pairs:
        cell = model.codes.index(pair.code) * len(model.systems) + model.systems.index(pair.system)
        rows = np.flatnonzero(cells == cell)
        if pair.degrees_of_freedom < LEAST_FREEDOM or None in pair.standard_errors:
            continue
        for begin in range(0, len(rows), _POINTS_AT_ONCE):
            part = rows[begin : begin + _POINTS_AT_ONCE]
            ends = _bounds(model, pair, cell, _some(places, part), values[part], shares)
            bounds[part, 1] = np.minimum(ends[0], values[part])
            bounds[part, 2] = np.maximum(ends[1], values[part])
    return bounds


def _bounds(
    model: ScalingModel, pair: PairFit, cell: int, places: Places, values: Floats, shares: tuple[float, float]
) -> Floats:
    """Quantiles (2, k) of single runs of one pair at k points."""
    measured_places = model.measured_places
    rows = np.flatnonzero(measured_places.code * len(model.systems) + measured_places.system == cell)
    pair_places, observed = _some(measured_places, rows), model.observations
    functions = characteristics(model.functions, model.columns)
    measured = np.array(observed.value)[rows]
    shapes = shapes_of(
        measured,
        design(functions, pair_places.points),
        design(functions, places.points),
        _hypotheses(model.origin.options, pair, len(functions)),
        signed=min(pair.coefficients, default=0.0) < 0.0,
        expected=values,
    )
    spread = np.array(
        [np.nan if observed.spread[k] is None else observed.spread[k] for k in rows.tolist()], dtype=np.float64
    )
    runs = expected_runs(
        measured,
        np.array(observed.repetitions, dtype=np.float64)[rows],
        spread / measured,
        pair_places.points,
        places.points,
        shapes,
    )
    return runs.ratio_quantiles(shares)


def _hypotheses(options: dict[str, Any], pair: PairFit, n_functions: int) -> tuple[tuple[int, ...], ...]:
    """What could have been chosen: the functions that were named, or all sums that leave two degrees of freedom."""
    if tuple(options["functions"]) not in (("all",), ("each",)):
        return (tuple(range(n_functions)),)
    try:
        terms = parse_terms(options["terms"])
    except ValueError as error:
        raise DataError(f"the model is damaged: its option terms is {options['terms']!r}; {error}") from None
    sizes = [size for size in number_of_terms(terms) if size <= pair.n_observations - LEAST_FREEDOM]
    return subsets(n_functions, sizes or [len(pair.functions)])


def _some(places: Places, rows: npt.NDArray[np.int64]) -> Places:
    return Places(
        {name: column[rows] for name, column in places.points.items()}, places.code[rows], places.system[rows]
    )
