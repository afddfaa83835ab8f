"""Linear least squares for many series and many subsets of functions at once.

A hypothesis is a subset of candidate functions; every series is fitted with every hypothesis. What depends on a design
alone is computed once for each design: one QR factorisation for all hypotheses, then for each of them a singular value
decomposition of a few columns of the triangle,

    X D^-1 = Q R,    R_S = W Sigma V',    beta = D_S^-1 V Sigma^-1 W' Q'y,

where D holds the norms of X's columns and S is the subset. Columns of unit norm make the singular values say how
nearly the functions are collinear, whatever their sizes (1/p^2 and p differ by 10^9 at 1,000 processors). The hat
matrix of a hypothesis is (Q W)(Q W)'; its diagonal turns residuals into leave-one-out residuals.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from perfcore.base.arrays import Booleans, Floats, Ints

_EPSILON = float(np.finfo(np.float64).eps)

# A singular value below this many max(n, m) eps times the largest is rounding. Exactly collinear random columns of 3 to
# 2,000 points left at most 0.44 max(n, m) eps; functions that were computed with some rounding leave more.
_RANK_ROUNDING = 4.0

# Floats that the arrays of one step hold, some 8 MB; half or twice as much is as fast.
_FLOATS_AT_ONCE = 1 << 20
_ROUNDING = 8 * np.finfo(np.float64).eps  # of a coefficient, over the norm of the values


@dataclass(frozen=True)
class SubsetFits:
    """Fits of K series with H hypotheses of m functions each."""

    subsets: Ints  # the functions of each hypothesis
    group: Ints  # the design of each series, 0 to G - 1
    n_observations: int  # points of each series, n
    coefficients: Floats
    standard_errors: Floats  # of the coefficients
    sum_of_squares: Floats  # squared residuals, summed up: SSE
    leave_one_out: Floats
    rank: Ints  # numerical rank of each design
    condition: Floats  # largest over smallest singular value of the columns scaled to unit norm
    covariance: Floats


class _Factors(NamedTuple):
    """What B designs give to H hypotheses, for all series; r is the smaller of n and F."""

    projection: Floats  # (B, n, r): Q
    left: Floats  # (B, H, m, r): W', zero beyond the rank
    solution: Floats  # (B, H, m, m): D_S^-1 V Sigma^-1, zero beyond the rank
    deletion: Floats  # (B, H, n): 1 / (1 - h), which makes a residual a leave-one-out residual; zero where h is 1
    undetermined: Booleans  # (B, H): h is 1 at some point
    rank: Ints  # (B, H)
    condition: Floats  # (B, H)


def fit_subsets(
    designs: npt.ArrayLike, group: npt.ArrayLike, values: npt.ArrayLike, subsets: npt.ArrayLike
) -> SubsetFits:
    """Fit every series with every subset of the functions.

    Weighted fits: multiply the rows of `designs` and `values` by the square roots of the weights. A row of weight zero
    still counts as an observation.
    """
    designs_, group_, values_, subsets_ = _checked(designs, group, values, subsets)
    (n_designs, n, n_functions), n_series, (n_subsets, m) = designs_.shape, len(group_), subsets_.shape
    fits = SubsetFits(
        subsets=subsets_,
        group=group_,
        n_observations=n,
        coefficients=np.empty((n_series, n_subsets, m)),
        standard_errors=np.empty((n_series, n_subsets, m)),
        sum_of_squares=np.empty((n_series, n_subsets)),
        leave_one_out=np.empty((n_series, n_subsets)),
        rank=np.empty((n_designs, n_subsets), dtype=np.int64),
        condition=np.empty((n_designs, n_subsets)),
        covariance=np.empty((n_designs, n_subsets, m, m)),
    )
    by_design = np.argsort(group_, kind="stable")
    shares = np.bincount(group_, minlength=n_designs)
    first = np.cumsum(shares) - shares
    for_factors = (n + n_functions) * (m + 3) + 4 * m * m
    for_series = 2 * n + n_functions + 2 * m
    # Designs that equally many series share go together; there are at most sqrt(2 K) different numbers.
    for share in np.unique(shares):
        same_share = np.flatnonzero(shares == share)
        for designs_now in _parts(same_share, n_subsets * (for_factors + int(share) * for_series)):
            norms = np.linalg.norm(designs_[designs_now], axis=1)
            norms[norms == 0.0] = 1.0
            projection, triangles = np.linalg.qr(designs_[designs_now] / norms[:, None, :])
            for subsets_now in _parts(np.arange(n_subsets), len(designs_now) * (for_factors + for_series)):
                factors = _factorise(norms, projection, triangles, subsets_[subsets_now])
                place = np.ix_(designs_now, subsets_now)
                fits.rank[place], fits.condition[place] = factors.rank, factors.condition
                fits.covariance[place] = factors.solution @ factors.solution.swapaxes(-1, -2)
                for places in _parts(np.arange(share), len(designs_now) * len(subsets_now) * for_series):
                    series = by_design[first[designs_now, None] + places]
                    _fit(fits, factors, values_, series, subsets_now)
    return fits


def _checked(
    designs: npt.ArrayLike, group: npt.ArrayLike, values: npt.ArrayLike, subsets: npt.ArrayLike
) -> tuple[Floats, Ints, Floats, Ints]:
    designs_, values_ = np.asarray(designs, dtype=np.float64), np.asarray(values, dtype=np.float64)
    group_, subsets_ = np.asarray(group, dtype=np.int64), np.asarray(subsets, dtype=np.int64)
    if designs_.ndim != 3 or values_.ndim != 2 or group_.ndim != 1 or subsets_.ndim != 2:
        raise ValueError("designs (G, n, F), group (K,), values (K, n) and subsets (H, m) are expected")
    if designs_.shape[1] == 0 or subsets_.shape[1] == 0:
        raise ValueError("at least one point and one function in each hypothesis are expected")
    if designs_.shape[1] != values_.shape[1] or len(group_) != len(values_):
        raise ValueError(f"designs {designs_.shape}, group {group_.shape} and values {values_.shape} do not agree")
    for name, indices, bound in (("group", group_, designs_.shape[0]), ("subsets", subsets_, designs_.shape[2])):
        if indices.size and not 0 <= indices.min() <= indices.max() < bound:
            raise ValueError(f"{name}: indices from 0 to {bound - 1} are expected")
    if not np.isfinite(designs_).all() or not np.isfinite(values_).all():
        raise ValueError("designs and values must be finite")
    return designs_, group_, values_, subsets_


def _parts(items: Ints, floats_each: int) -> Iterator[Ints]:
    """Cut items into parts that hold about `_FLOATS_AT_ONCE`, one item at least."""
    length = max(1, _FLOATS_AT_ONCE // max(1, floats_each))
    for begin in range(0, len(items), length):
        yield items[begin : begin + length]


def _factorise(norms: Floats, projection: Floats, triangles: Floats, subsets: Ints) -> _Factors:
    n_designs, n, r = projection.shape
    n_subsets, m = subsets.shape
    columns = triangles[:, :, subsets].swapaxes(1, 2)  # (B, H, r, m)
    # Rows of zeros change nothing but bring out all m singular vectors where there are fewer points than functions.
    padded = np.concatenate([columns, np.zeros((n_designs, n_subsets, max(m - r, 0), m))], axis=2)
    basis, sigma, right = np.linalg.svd(padded, full_matrices=False)
    rounding = _RANK_ROUNDING * max(n, m) * _EPSILON
    kept = sigma > rounding * sigma[..., :1]
    inverse = np.divide(1.0, sigma, out=np.zeros_like(sigma), where=kept)
    left = np.ascontiguousarray((basis[:, :, :r] * kept[:, :, None]).swapaxes(-1, -2))
    solution = right.swapaxes(-1, -2) * inverse[:, :, None] / norms[:, subsets][..., None]
    rank = kept.sum(axis=2)
    condition = np.divide(sigma[..., 0], sigma[..., -1], out=np.full(rank.shape, np.inf), where=rank == m)
    vectors = left.reshape(n_designs, n_subsets * m, r) @ projection.swapaxes(1, 2)
    vectors = vectors.reshape(n_designs, n_subsets, m, n)
    rest = 1.0 - np.einsum("bhjn,bhjn->bhn", vectors, vectors)
    determined = rest > rounding
    deletion = np.divide(1.0, rest, out=np.zeros_like(rest), where=determined)
    return _Factors(projection, left, solution, deletion, ~determined.all(axis=2), rank, condition)


def _fit(fits: SubsetFits, factors: _Factors, values: Floats, series: Ints, subsets: Ints) -> None:
    """Fit series (B, s), those of one design in each row, and write them into the result."""
    n_designs, n_subsets, m, r = factors.left.shape
    n, share = values.shape[1], series.shape[1]
    y = values[series]
    left = factors.left.reshape(n_designs, n_subsets * m, r)
    scores = (y @ factors.projection @ left.swapaxes(1, 2)).reshape(n_designs, share, n_subsets, m)
    # From y minus its projection, not from coefficients: those of nearly collinear functions are large and cancel.
    components = np.einsum("bshj,bhjr->bshr", scores, factors.left).reshape(n_designs, share * n_subsets, r)
    fitted = (components @ factors.projection.swapaxes(1, 2)).reshape(n_designs, share, n_subsets, n)
    residuals = np.subtract(y[:, :, None, :], fitted, out=fitted)
    sum_of_squares = np.einsum("bshn,bshn->bsh", residuals, residuals)
    residuals *= factors.deletion[:, None]
    leave_one_out = np.einsum("bshn,bshn->bsh", residuals, residuals)
    leave_one_out[np.broadcast_to(factors.undetermined[:, None], leave_one_out.shape)] = np.inf
    freedom = n - factors.rank
    estimable = (freedom > 0) & (factors.rank == m)
    scale = np.divide(1.0, freedom, out=np.full(freedom.shape, np.nan), where=estimable)
    unscaled = np.einsum("bhij,bhij->bhi", factors.solution, factors.solution) * scale[..., None]
    place = (series[:, :, None], subsets)
    coefficients = np.einsum("bshj,bhij->bshi", scores, factors.solution)
    rounding = np.einsum("bs,bhi->bshi", np.linalg.norm(y, axis=-1), np.linalg.norm(factors.solution, axis=-1))
    fits.coefficients[place] = np.where(np.abs(coefficients) > _ROUNDING * rounding, coefficients, 0.0)
    fits.standard_errors[place] = np.sqrt(sum_of_squares[..., None] * unscaled[:, None])
    fits.sum_of_squares[place] = sum_of_squares
    fits.leave_one_out[place] = leave_one_out
