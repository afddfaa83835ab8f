"""Bounds of predictions by category: averages over the formulas that the measured points leave."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from perf_statistics.model_average import GatheredShapes, Shapes, expected_runs, shape_weights
from perfcore.base.arrays import Floats, Ints

if TYPE_CHECKING:
    from perf_lost_cycles.modgen import ModgenModel

_DRAWS = 64  # sums of formulas that the total is averaged over
_MOST_FORMULAS = 12  # of a category
_MOST_DRAWN = 24  # categories whose formulas are drawn, those with the largest share; the others keep their chosen one
_TILTED = 3  # categories, the largest, whose share of the total may be another one
_TILT = 0.5  # standard deviation of the logarithm of such a share
_MOST_LEVERAGE = 0.9  # of a point on its own prediction: one that alone decides a coefficient has no hold-out check
_FEWEST = 3  # points that are not 0
_POINTS_AT_ONCE = 128


def run_bounds(
    model: ModgenModel, points: Mapping[str, Floats], which: Ints, values: Floats, interval: float
) -> Floats:
    """Return lower and upper bounds of single runs (k, 2), with the predictions between them.

    A category's chosen formula is one of several that its points hardly distinguish, and none of them is quite right.
    So each category is averaged over its formulas, about which measurements scatter and from which they drift away with
    the distance; see `perf_statistics.model_average`. The total is averaged over sums of formulas, drawn for the
    categories, each as likely as its points make it; the totals that were measured say which sums are right, and how
    far they are off: what categories have in common needs no separate model.
    """
    bounds = np.full((len(which), 2), np.nan)
    shares = (0.5 - 0.5 * interval, 0.5 + 0.5 * interval)
    for number in np.unique(which).tolist():
        rows = np.flatnonzero(which == number)
        for begin in range(0, len(rows), _POINTS_AT_ONCE):
            part = rows[begin : begin + _POINTS_AT_ONCE]
            new_points = {symbol: column[part] for symbol, column in points.items()}
            shapes, measured, used = (
                _of_total(model, new_points) if number < 0 else _of_category(model, number, new_points, values[part])
            )
            if shapes is None:
                continue
            measured_points = {symbol: column[used] for symbol, column in model.fitted_points.items()}
            repetitions = model.fitted_repetitions[used].astype(np.float64)
            runs = expected_runs(
                measured, repetitions, np.full(len(measured), np.nan), measured_points, new_points, shapes
            )
            ends = runs.ratio_quantiles(shares)
            bounds[part, 0] = np.minimum(ends[0], values[part])
            bounds[part, 1] = np.maximum(ends[1], values[part])
    return bounds


@dataclass(frozen=True)
class _Category:
    """A category where it is not 0."""

    used: Ints  # measured points
    measured: Floats
    shapes: Shapes | None  # of its formulas that are positive; None if it has too few points, or no such formula
    left_out: Floats  # each point predicted from the others, by each of these formulas


def _category(model: ModgenModel, number: int, new_points: Mapping[str, Floats]) -> _Category:
    measured = np.nan_to_num(model.fitted_values[number])
    used = np.flatnonzero(measured > 0.0)
    measured = measured[used]
    measured_points = {symbol: column[used] for symbol, column in model.fitted_points.items()}
    gathered, left_out = GatheredShapes(), []
    for terms in list(model.candidate_terms(number))[:_MOST_FORMULAS] if len(used) >= _FEWEST else ():
        columns, columns_new = model.finite_terms(terms, measured_points), model.finite_terms(terms, new_points)
        if columns is None or columns_new is None or len(terms) >= len(used):
            continue
        if gathered.about_fit(measured, columns, columns_new, 0.0):
            # Each value predicted from the others by least relative squares.
            design = columns / measured[:, None]
            basis = np.linalg.svd(design / np.linalg.norm(design, axis=0), full_matrices=False)[0]
            residuals = 1.0 - basis @ basis.sum(axis=0)
            leverage = np.minimum((basis**2).sum(axis=1), _MOST_LEVERAGE)
            left_out.append(measured * np.maximum(1.0 - residuals / (1.0 - leverage), 0.0))
    return _Category(used, measured, gathered.shapes(), np.array(left_out))


def _of_category(
    model: ModgenModel, number: int, new_points: Mapping[str, Floats], values: Floats
) -> tuple[Shapes | None, Floats, Ints]:
    """Return the shapes of one category, its measured values that are not 0, and where these are."""
    fitted = _category(model, number, new_points)
    shapes = fitted.shapes
    if shapes is None and len(fitted.used) >= _FEWEST:
        measured_points = {symbol: column[fitted.used] for symbol, column in model.fitted_points.items()}
        columns = model.finite_terms(model.terms, measured_points)
        gathered = GatheredShapes()
        expected = fitted.measured if columns is None else columns @ model.coefficients[:, number]
        gathered.last_resort(fitted.measured, expected, values)
        shapes = gathered.shapes()
    return shapes, fitted.measured, fitted.used


def _of_total(model: ModgenModel, new_points: Mapping[str, Floats]) -> tuple[Shapes | None, Floats, Ints]:
    """Return sums of formulas, the measured totals, and where these are.

    At measured points each category is predicted from its other points: dozens of coefficients fit the totals better
    than they predict them.
    """
    measured = np.isfinite(model.fitted_values)
    every = np.where(measured, model.fitted_values, 0.0)
    total = every.sum(axis=0)
    used = np.flatnonzero(total > 0.0)
    measured_points = {symbol: column[used] for symbol, column in model.fitted_points.items()}
    columns, columns_new = model.finite_terms(model.terms, measured_points), model.finite_terms(model.terms, new_points)
    if len(used) < _FEWEST or columns is None or columns_new is None:
        return None, total[used], used
    chosen = np.maximum(columns @ model.coefficients, 0.0).T * measured[:, used]
    chosen_new = np.maximum(columns_new @ model.coefficients, 0.0).T
    sums, sums_new = np.tile(chosen.sum(axis=0), (_DRAWS, 1)), np.tile(chosen_new.sum(axis=0), (_DRAWS, 1))
    rng = np.random.default_rng(0)
    largest = np.argsort(-every.sum(axis=1), kind="stable")[:_MOST_DRAWN].tolist()
    for number in sorted(largest, key=lambda category: model.names[category]):
        uniform = rng.random(_DRAWS)
        fitted = _category(model, number, new_points)
        if fitted.shapes is None:
            continue
        points = {symbol: column[fitted.used] for symbol, column in model.fitted_points.items()}
        repetitions = model.fitted_repetitions[fitted.used].astype(np.float64)
        weights = shape_weights(fitted.measured, repetitions, np.full(len(fitted.used), np.nan), points, fitted.shapes)
        drawn = np.minimum(np.searchsorted(np.cumsum(weights), uniform), len(weights) - 1)
        place = np.searchsorted(used, fitted.used)
        sums[:, place] += fitted.left_out[drawn] - chosen[number, place]
        sums_new += np.exp(fitted.shapes.log_asked[drawn]) - chosen_new[number]
    gathered = GatheredShapes()
    tilts, tilts_new = (
        np.stack([np.divide(part[k], whole, out=np.zeros_like(whole), where=whole > 0.0) for k in largest[:_TILTED]], 1)
        for part, whole in ((chosen, sums), (chosen_new, sums_new))
    )
    gathered.add(sums, sums_new, tilts, tilts_new, _TILT, 0.0)
    if gathered.shapes() is None:
        gathered.last_resort(total[used], chosen.sum(axis=0), chosen_new.sum(axis=0))
    return gathered.shapes(), total[used], used
