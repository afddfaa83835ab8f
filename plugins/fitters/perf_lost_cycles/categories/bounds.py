"""Bounds of single runs of categories and of their sum, over all formulas that a category may have.

A category's chosen formula is one of several that its points hardly tell apart, and none of them is quite right. So
each category is averaged over its formulas, about which measurements scatter and from which they drift away with the
distance; see `perf_least_squares.shape_average`. The total is averaged over sums of formulas that are drawn for the
categories, each as likely as its points make it; the totals that were measured say which sums are right, and how far
they are off: what categories have in common needs no model of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from perf_least_squares.shape_average import expected_runs, shape_weights
from perf_least_squares.shapes import GatheredShapes, Shapes

__all__ = ["Averaged", "run_bounds"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

_DRAWS = 64  # sums of formulas that the total is averaged over
_MOST_FORMULAS = 12  # of a category
_MOST_DRAWN = 24  # categories whose formulas are drawn, those with the largest share; the others keep their chosen one
_TILTED = 3  # categories, the largest, whose share of the total may be another one
_TILT = 0.5  # standard deviation of the logarithm of such a share
_MOST_LEVERAGE = 0.9  # of a point on its own prediction: one that alone decides a coefficient is not told by the others
_FEWEST = 3  # points that are not 0
_POINTS_AT_ONCE = 128


class Averaged(Protocol):
    """What a sum of categories must say of itself."""

    @property
    def names(self) -> tuple[str, ...]:
        """The categories (C)."""

    @property
    def fitted_points(self) -> Mapping[str, Floats]:
        """Measured points (n,)."""

    @property
    def fitted_values(self) -> Floats:
        """Times of the categories there (C, n); NaN where there are none."""

    @property
    def fitted_repetitions(self) -> Ints:
        """Runs of each (n,)."""

    @property
    def terms(self) -> tuple[str, ...]:
        """All terms (F)."""

    @property
    def coefficients(self) -> Floats:
        """Of each category (F, C)."""

    def candidate_terms(self, category: int) -> Sequence[tuple[str, ...]]:
        """Terms of each formula that a category may have, the chosen one first."""

    def finite_terms(self, terms: tuple[str, ...], at: Mapping[str, Floats]) -> Floats | None:
        """Values of terms (n, F); None where one is not finite."""


def run_bounds(model: Averaged, at: Mapping[str, Floats], which: Ints, values: Floats, interval: float) -> Floats:
    """Lower and upper bounds of single runs (k, 2), with the predictions between them.

    Parameters
    ----------
    model : Averaged
    at : mapping of str to (k,) float
        Factors.
    which : (k,) int
        Category, -1 for the total.
    values : (k,) float
        What the model predicts.
    interval : float
        Coverage, between 0 and 1.

    Returns
    -------
    (k, 2) float
        NaN where fewer than three points were measured that are not 0.
    """
    found = np.full((len(which), 2), np.nan)
    shares = (0.5 - 0.5 * interval, 0.5 + 0.5 * interval)
    for number in np.unique(which).tolist():
        mine = np.flatnonzero(which == number)
        for begin in range(0, len(mine), _POINTS_AT_ONCE):
            part = mine[begin : begin + _POINTS_AT_ONCE]
            there = {symbol: column[part] for symbol, column in at.items()}
            shapes, measured, used = (
                _of_total(model, there) if number < 0 else _of_category(model, number, there, values[part])
            )
            if shapes is None:
                continue
            here = {symbol: column[used] for symbol, column in model.fitted_points.items()}
            repetitions = model.fitted_repetitions[used].astype(np.float64)
            runs = expected_runs(measured, repetitions, np.full(len(measured), np.nan), here, there, shapes)
            ends = runs.ratio_quantiles(shares)
            found[part, 0] = np.minimum(ends[0], values[part])
            found[part, 1] = np.maximum(ends[1], values[part])
    return found


@dataclass(frozen=True)
class _Category:
    """A category where it is not 0.

    Attributes
    ----------
    used : (n,) int
        Measured points.
    measured : (n,) float
    shapes : Shapes or None
        Of its formulas that are positive; None where it has too few points, or no such formula.
    left_out : (S, n) float
        Each point predicted from the others, by each of these formulas.
    """

    used: Ints
    measured: Floats
    shapes: Shapes | None
    left_out: Floats


def _category(model: Averaged, number: int, there: Mapping[str, Floats]) -> _Category:
    measured = np.nan_to_num(model.fitted_values[number])
    used = np.flatnonzero(measured > 0.0)
    measured = measured[used]
    here = {symbol: column[used] for symbol, column in model.fitted_points.items()}
    found, left_out = GatheredShapes(), []
    for terms in list(model.candidate_terms(number))[:_MOST_FORMULAS] if len(used) >= _FEWEST else ():
        columns, columns_there = model.finite_terms(terms, here), model.finite_terms(terms, there)
        if columns is None or columns_there is None or len(terms) >= len(used):
            continue
        if found.about_fit(measured, columns, columns_there, 0.0):
            left_out.append(_left_out(measured, columns))
    return _Category(used, measured, found.shapes(), np.array(left_out))


def _left_out(measured: Floats, columns: Floats) -> Floats:
    """Each value predicted from the others by least relative squares of columns (n, m)."""
    design = columns / measured[:, None]
    basis = np.linalg.svd(design / np.linalg.norm(design, axis=0), full_matrices=False)[0]
    left = 1.0 - basis @ basis.sum(axis=0)
    leverage = np.minimum((basis**2).sum(axis=1), _MOST_LEVERAGE)
    return np.asarray(measured * np.maximum(1.0 - left / (1.0 - leverage), 0.0))


def _of_category(
    model: Averaged, number: int, there: Mapping[str, Floats], values: Floats
) -> tuple[Shapes | None, Floats, Ints]:
    """The shapes of one category, its measured values that are not 0, and where these are."""
    own = _category(model, number, there)
    shapes = own.shapes
    if shapes is None and len(own.used) >= _FEWEST:
        here = {symbol: column[own.used] for symbol, column in model.fitted_points.items()}
        columns = model.finite_terms(model.terms, here)
        found = GatheredShapes()
        expected = own.measured if columns is None else columns @ model.coefficients[:, number]
        found.last_resort(own.measured, expected, values)
        shapes = found.shapes()
    return shapes, own.measured, own.used


def _of_total(model: Averaged, there: Mapping[str, Floats]) -> tuple[Shapes | None, Floats, Ints]:
    """Sums of formulas, the measured totals, and where these are.

    At measured points each category is predicted from its other points: dozens of coefficients fit the totals better
    than they predict them.
    """
    known = np.isfinite(model.fitted_values)
    every = np.where(known, model.fitted_values, 0.0)
    total = every.sum(axis=0)
    used = np.flatnonzero(total > 0.0)
    here = {symbol: column[used] for symbol, column in model.fitted_points.items()}
    columns, columns_there = model.finite_terms(model.terms, here), model.finite_terms(model.terms, there)
    if len(used) < _FEWEST or columns is None or columns_there is None:
        return None, total[used], used
    chosen = np.maximum(columns @ model.coefficients, 0.0).T * known[:, used]
    chosen_there = np.maximum(columns_there @ model.coefficients, 0.0).T
    sums, sums_there = np.tile(chosen.sum(axis=0), (_DRAWS, 1)), np.tile(chosen_there.sum(axis=0), (_DRAWS, 1))
    rng = np.random.default_rng(0)
    largest = np.argsort(-every.sum(axis=1), kind="stable")[:_MOST_DRAWN].tolist()
    for number in sorted(largest, key=lambda category: model.names[category]):
        uniform = rng.random(_DRAWS)
        own = _category(model, number, there)
        if own.shapes is None:
            continue
        points = {symbol: column[own.used] for symbol, column in model.fitted_points.items()}
        repetitions = model.fitted_repetitions[own.used].astype(np.float64)
        weights = shape_weights(own.measured, repetitions, np.full(len(own.used), np.nan), points, own.shapes)
        drawn = np.minimum(np.searchsorted(np.cumsum(weights), uniform), len(weights) - 1)
        place = np.searchsorted(used, own.used)
        sums[:, place] += own.left_out[drawn] - chosen[number, place]
        sums_there += np.exp(own.shapes.log_asked[drawn]) - chosen_there[number]
    found = GatheredShapes()
    tilts, tilts_there = (
        np.stack([np.divide(part[k], whole, out=np.zeros_like(whole), where=whole > 0.0) for k in largest[:_TILTED]], 1)
        for part, whole in ((chosen, sums), (chosen_there, sums_there))
    )
    found.add(sums, sums_there, tilts, tilts_there, _TILT, 0.0)
    if found.shapes() is None:
        found.last_resort(total[used], chosen.sum(axis=0), chosen_there.sum(axis=0))
    return found.shapes(), total[used], used
