"""Ratios of what is not known exactly: bounds, and the probability that one is above a factor.

Both sides are equally probable draws and independent of one another, so that every draw of the one meets every draw of
the other.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from perf_statistics.gating import holm

Floats = npt.NDArray[np.float64]
Booleans = npt.NDArray[np.bool_]

_SAME = 1e-9  # values that differ by less, relative to them, are equal; of these neither is larger
_BLOCKS = 64  # places of each side at which bounds are looked up: pairs of all draws would be far too many
_ROWS_AT_ONCE = 250  # whose ratios take 8 MB


def ratio_bounds(old: Floats, new: Floats, coverage: float = 0.95) -> Floats:
    """Bounds of new / old."""
    bounds = np.empty((len(old), 2))
    sides = [0.5 - 0.5 * coverage, 0.5 + 0.5 * coverage]
    for begin in range(0, len(old), _ROWS_AT_ONCE):
        below, above = (
            side[begin : begin + _ROWS_AT_ONCE].reshape(-1, _BLOCKS, side.shape[1] // _BLOCKS).mean(axis=2)
            for side in (old, new)
        )
        with np.errstate(divide="ignore", invalid="ignore"):
            ratios = above[:, :, None] / below[:, None, :]
        ratios[(above[:, :, None] == 0.0) & (below[:, None, :] == 0.0)] = 1.0
        ratios = ratios.reshape(len(ratios), _BLOCKS * _BLOCKS)
        bounds[begin : begin + _ROWS_AT_ONCE] = np.quantile(ratios, sides, axis=1, method="inverted_cdf").T
    return bounds


def probability_above(old: Floats, new: Floats, factor: float) -> Floats:
    """Probability that new is above `factor` times old (K,); draws as in `ratio_bounds`, NaN where they are."""
    margin = _SAME * factor * np.abs(old) + np.finfo(np.float64).tiny
    return 0.5 * (_above(factor * old + margin, new) + _above(factor * old - margin, new))


def probability_beyond(old: Floats, new: Floats, difference: float) -> Floats:
    """Probability that new - old is above a difference > 0 (K,); draws as in `ratio_bounds`, of any sign."""
    return _above(old + difference, new)


def _above(old: Floats, new: Floats) -> Floats:
    """Share of all pairs in which new is above old (K,)."""
    order = np.argsort(np.concatenate([old, new], axis=1), axis=1, kind="stable")
    is_old = order < old.shape[1]
    pairs = np.where(is_old, 0, np.cumsum(is_old, axis=1)).sum(axis=1)
    finite = np.isfinite(old).all(axis=1) & np.isfinite(new).all(axis=1)
    return np.where(finite, pairs / (old.shape[1] * new.shape[1]), np.nan)


def surely(probability: Floats, confidence: float) -> Booleans:
    """Which of several statements hold, so that all of these are right with a probability.

    S. Holm, "A simple sequentially rejective multiple test procedure", Scandinavian Journal of Statistics 6, 1979, with
    the probabilities that the statements are wrong: the likeliest of K must be as sure as all are to be together.
    """
    wrong = np.where(np.isnan(probability), np.inf, 1.0 - probability)
    # Rounding of 1 - 0.95 must not decide.
    return np.asarray(holm(wrong) <= 1.0 - confidence + _SAME)
