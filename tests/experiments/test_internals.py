"""What no answer shows by itself: variances of several parts, and ranks of the interval of a median."""

import math
from fractions import Fraction

import numpy as np
import pytest

from perf_experiments.recommendation import PartialFit
from perf_experiments.run_records import median_interval
from perfcore.models.points import DesignRows


def fresh_variance(rows, target, errors):
    """V from inverses computed anew: sum over k, l of S_kl t_k' A_k X_k' X_l A_l t_l."""
    inverses = [np.linalg.inv(part.T @ part) for part in rows]
    moved = [part @ inverse @ wanted for part, inverse, wanted in zip(rows, inverses, target, strict=True)]
    return sum(
        errors[k, m] * moved[k] @ moved[m] for k in range(len(rows)) for m in range(len(rows))
    )  # fmt: skip


@pytest.mark.parametrize("sizes", [(3,), (2, 4), (1, 2, 3)])
def test_variances_agree_with_fresh_inverses(sizes):
    rng = np.random.default_rng(len(sizes))
    measured = tuple(rng.normal(size=(9, size)) * 10.0 ** rng.integers(-3, 4, size) for size in sizes)
    asked = tuple(
        rng.normal(size=(6, size)) * np.linalg.norm(part, axis=0) for part, size in zip(measured, sizes, strict=True)
    )
    root = rng.normal(size=(len(sizes), len(sizes)))
    rows = DesignRows(measured, asked, root @ root.T, np.ones(6), {}, np.ones(9, int), None)
    fit = PartialFit.of(rows)
    assert fit.determined
    target = [part[0] for part in asked]
    np.testing.assert_allclose(fit.variance, fresh_variance(measured, target, rows.errors), rtol=1e-9)
    expected = [
        fresh_variance([np.vstack([x, new[c]]) for x, new in zip(measured, asked, strict=True)], target, rows.errors)
        for c in range(1, 6)
    ]
    np.testing.assert_allclose(fit.variances_with_one(), expected, rtol=1e-9)
    again = fit.with_one(3)
    np.testing.assert_allclose(again.variance, expected[3], rtol=1e-9)


@pytest.mark.parametrize("count", range(6, 41))
def test_ranks_by_counting_outcomes(count):
    """Among 2^n equally likely outcomes, fewer than k values lie below the median in sum_{i<k} C(n, i) of them."""
    missed = [Fraction(2 * sum(math.comb(count, i) for i in range(k)), 2**count) for k in range(1, count)]
    rank = sum(share <= Fraction(5, 100) for share in missed)
    values = np.random.default_rng(0).permutation(count) + 1.0
    assert median_interval(values) == (rank, count + 1 - rank)
