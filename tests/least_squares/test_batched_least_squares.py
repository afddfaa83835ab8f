"""Batched least squares: against other programs, exact arithmetic, left-out points and NIST's certified values."""

import csv
import itertools
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
import statsmodels.api as sm
from scipy.optimize import nnls
from statsmodels.stats.outliers_influence import OLSInfluence

from perf_statistics import batched as batched_least_squares
from perf_statistics.batched import fit_nonnegative, fit_subsets

NIST = Path(__file__).parent / "nist" / "linear"


def characteristic(p):
    """The seven functions of Strohmaier, "Statistical Performance Modeling", equation 3."""
    return np.stack([1 / p**2, 1 / p, np.log(p) / p, 1 / np.sqrt(p), np.ones_like(p), np.log(p), p], axis=-1)


def all_subsets(n_functions, size):
    return np.array(list(itertools.combinations(range(n_functions), size)))


def problem(n_series, n_designs, n=12, seed=0):
    """Series that share designs in unequal numbers, the first design most."""
    rng = np.random.default_rng(seed)
    designs = characteristic(rng.uniform(1, 200, (n_designs, n)))
    group = np.minimum(rng.geometric(0.4, n_series) - 1, n_designs - 1)
    return designs, group, rng.normal(5.0, 2.0, (n_series, n))


def fit_one(design, y, subset=None):
    """One series, one hypothesis: the first of every array."""
    subset = range(design.shape[1]) if subset is None else subset
    return fit_subsets(design[None], [0], y[None], [list(subset)])


@pytest.mark.parametrize("size", [1, 2, 3, 5])
@pytest.mark.parametrize(("n_series", "n_designs"), [(7, 1), (5, 5), (40, 6)])
def test_as_statsmodels(n_series, n_designs, size):
    """Tolerance: scaled columns of these designs have condition numbers up to 1e6, times 1e-16, times a margin."""
    designs, group, values = problem(n_series, n_designs)
    subsets = all_subsets(7, size)[::3]
    fits = fit_subsets(designs, group, values, subsets)
    assert fits.coefficients.shape == (n_series, len(subsets), size)
    for k, h in itertools.product(range(0, n_series, 3), range(0, len(subsets), 2)):
        design = designs[group[k]][:, subsets[h]]
        scale = np.linalg.norm(design, axis=0)
        other = sm.OLS(values[k], design / scale).fit()
        assert fits.coefficients[k, h] * scale == pytest.approx(other.params, rel=1e-8, abs=1e-8)
        assert fits.standard_errors[k, h] * scale == pytest.approx(other.bse, rel=1e-8)
        assert fits.sum_of_squares[k, h] == pytest.approx(other.ssr, rel=1e-10)
        assert fits.leave_one_out[k, h] == pytest.approx(np.sum(OLSInfluence(other).resid_press ** 2), rel=1e-8)
        covariance = fits.covariance[group[k], h] * np.outer(scale, scale)
        assert covariance == pytest.approx(other.normalized_cov_params, rel=1e-8)
        assert fits.condition[group[k], h] == pytest.approx(np.linalg.cond(design / scale), rel=1e-8)
        assert fits.rank[group[k], h] == size


def solve_exactly(a, b):
    """Gaussian elimination in fractions; the diagonal of these normal equations is never zero."""
    rows = [[*row, value] for row, value in zip(a, b, strict=True)]
    for i in range(len(rows)):
        rows[i] = [x / rows[i][i] for x in rows[i]]
        for j in range(len(rows)):
            if j != i:
                rows[j] = [x - rows[j][i] * z for x, z in zip(rows[j], rows[i], strict=True)]
    return [row[-1] for row in rows]


def test_in_exact_arithmetic():
    points, y = [1, 2, 4, 8, 16], [Fraction(n) for n in (40, 23, 13, 10, 7)]
    design = [[Fraction(1, p), Fraction(1), Fraction(p)] for p in points]

    def coefficients(rows):
        normal = [[sum(design[i][a] * design[i][b] for i in rows) for b in range(3)] for a in range(3)]
        return normal, solve_exactly(normal, [sum(design[i][a] * y[i] for i in rows) for a in range(3)])

    def residual(beta, i):
        return y[i] - sum(b * x for b, x in zip(beta, design[i], strict=True))

    normal, beta = coefficients(range(5))
    fits = fit_one(np.array(design, dtype=float), np.array(y, dtype=float))
    assert fits.coefficients[0, 0] == pytest.approx([float(b) for b in beta], rel=1e-13)
    squares = sum(residual(beta, i) ** 2 for i in range(5))
    assert fits.sum_of_squares[0, 0] == pytest.approx(float(squares), rel=1e-13)
    for a in range(3):
        column = solve_exactly(normal, [Fraction(a == b) for b in range(3)])
        assert fits.covariance[0, 0, a] == pytest.approx([float(c) for c in column], rel=1e-12)
        assert fits.standard_errors[0, 0, a] == pytest.approx(float(column[a] * squares / 2) ** 0.5, rel=1e-13)
    left_out = sum(residual(coefficients([j for j in range(5) if j != i])[1], i) ** 2 for i in range(5))
    assert fits.leave_one_out[0, 0] == pytest.approx(float(left_out), rel=1e-12)


def test_leaving_points_out():
    designs, group, values = problem(6, 2, n=9, seed=4)
    subsets = all_subsets(7, 2)
    fits = fit_subsets(designs, group, values, subsets)
    expected = 0.0
    for i in range(9):
        rest = fit_subsets(np.delete(designs, i, axis=1), group, np.delete(values, i, axis=1), subsets)
        predicted = np.sum(rest.coefficients * designs[group, i][:, subsets], axis=2)
        expected = expected + (values[:, i, None] - predicted) ** 2
    assert fits.leave_one_out == pytest.approx(expected, rel=1e-8)


def test_a_point_that_alone_determines_a_coefficient():
    """The last point is the only one where the second function is not zero: nothing predicts it."""
    design = np.array([[1.0, 0.0], [1.0, 0.0], [1.0, 0.0], [1.0, 1.0]])
    fits = fit_one(design, np.array([1.0, 2.0, 3.0, 9.0]))
    assert fits.coefficients[0, 0] == pytest.approx([2.0, 7.0])
    assert fits.sum_of_squares[0, 0] == pytest.approx(2.0)
    assert fits.leave_one_out[0, 0] == np.inf
    assert fits.standard_errors[0, 0] == pytest.approx([(1 / 3) ** 0.5, (4 / 3) ** 0.5])


def test_as_many_points_as_functions():
    design, y = characteristic(np.array([1.0, 3.0, 9.0])), np.array([5.0, 4.0, 4.5])
    fits = fit_one(design, y, [1, 4, 6])
    assert design[:, [1, 4, 6]] @ fits.coefficients[0, 0] == pytest.approx(y, rel=1e-12)
    assert fits.rank[0, 0] == 3
    assert fits.sum_of_squares[0, 0] < 1e-25
    assert np.isnan(fits.standard_errors).all()
    assert fits.leave_one_out[0, 0] == np.inf


@pytest.mark.parametrize(
    ("design", "rank"),
    [
        (np.column_stack([np.arange(1.0, 7), 1e-7 * np.arange(1.0, 7), np.ones(6)]), 2),
        (np.column_stack([np.arange(1.0, 7), np.zeros(6), np.ones(6)]), 2),
        (np.column_stack([np.full(6, 3.0), np.full(6, 1e9), np.ones(6)]), 1),
        (np.zeros((6, 3)), 0),
        (characteristic(np.array([2.0, 5.0]))[:, [1, 4, 6]], 2),
        (characteristic(np.array([2.0]))[:, [1, 4, 6]], 1),
    ],
    ids=["multiple", "zero", "constants", "nothing", "two points", "one point"],
)
def test_deficient_rank(design, rank):
    """The solution of least norm in scaled columns, from numpy's pseudo-inverse; fitted values do not depend on it."""
    y = np.array([3.0, 1.0, 4.0, 1.0, 5.0, 9.0])[: len(design)]
    fits = fit_one(design, y)
    norms = np.linalg.norm(design, axis=0)
    scaled = design / np.where(norms > 0, norms, 1)
    expected = np.linalg.pinv(scaled, rcond=1e-12) @ y
    assert fits.rank[0, 0] == rank
    assert fits.coefficients[0, 0] * norms == pytest.approx(np.where(norms > 0, expected, 0), rel=1e-9, abs=1e-12)
    assert fits.condition[0, 0] == np.inf
    assert np.isnan(fits.standard_errors).all()
    assert fits.sum_of_squares[0, 0] == pytest.approx(np.sum((y - scaled @ expected) ** 2), rel=1e-12, abs=1e-25)


def test_invariance():
    designs, group, values = problem(20, 4, seed=5)
    subsets = all_subsets(7, 3)
    fits = fit_subsets(designs, group, values, subsets)
    rng = np.random.default_rng(6)
    order, factors = rng.permutation(designs.shape[1]), 10.0 ** rng.integers(-8, 9, 7)
    shuffled = fit_subsets(designs[:, order] * factors, group, 3.0 * values[:, order], subsets)
    scaled = shuffled.coefficients * factors[subsets] / 3.0
    assert np.allclose(scaled, fits.coefficients, rtol=1e-8, atol=1e-9)
    assert shuffled.sum_of_squares == pytest.approx(9.0 * fits.sum_of_squares, rel=1e-10)
    assert shuffled.leave_one_out == pytest.approx(9.0 * fits.leave_one_out, rel=1e-8)
    assert shuffled.condition == pytest.approx(fits.condition, rel=1e-8)


@pytest.mark.parametrize("floats", [1, 700, 20_000])
def test_steps_do_not_show(monkeypatch, floats):
    designs, group, values = problem(40, 6, seed=7)
    whole = fit_subsets(designs, group, values, all_subsets(7, 3))
    monkeypatch.setattr(batched_least_squares, "_FLOATS_AT_ONCE", floats)
    parts = fit_subsets(designs, group, values, all_subsets(7, 3))
    for name in ("sum_of_squares", "condition", "rank"):
        assert getattr(parts, name) == pytest.approx(getattr(whole, name), rel=1e-9), name
    # Some points have leverages up to 1 - 1e-7: rounding differs with the order of sums, and is divided by 1e-7.
    assert parts.leave_one_out == pytest.approx(whole.leave_one_out, rel=1e-6)
    assert np.allclose(parts.coefficients, whole.coefficients, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"values": np.ones((2, 4))}, "do not agree"),
        ({"values": np.full((2, 5), np.nan)}, "finite"),
        ({"designs": np.full((1, 5, 3), np.inf)}, "finite"),
        ({"group": [0, 1]}, "group: indices from 0 to 0"),
        ({"subsets": [[0, 3]]}, "subsets: indices from 0 to 2"),
        ({"subsets": [0, 1]}, r"subsets \(H, m\)"),
        ({"subsets": np.zeros((1, 0))}, "at least one"),
    ],
)
def test_refused(change, message):
    given = {"designs": np.ones((1, 5, 3)), "group": [0, 0], "values": np.ones((2, 5)), "subsets": [[0, 1]]}
    with pytest.raises(ValueError, match=message):
        fit_subsets(**(given | change))


@pytest.fixture(scope="module")
def signed():
    """Series that have negative coefficients without the constraint; one design collinear, one series all negative."""
    designs, group, values = problem(30, 4, seed=8)
    designs[1, :, 2] = 2.0 * designs[1, :, 1]
    values[0] *= -1.0
    fits = [fit_subsets(designs, group, values, all_subsets(7, size)[::-1, ::-1]) for size in (1, 2, 3)]
    return designs, group, values, fits


@pytest.mark.parametrize("size", [1, 2, 3])
def test_nonnegative_as_scipy(signed, size):
    designs, group, values, fits = signed
    found = fit_nonnegative(fits[:size], values)
    assert (fits[size - 1].coefficients < 0).any()
    for k, h in itertools.product(range(len(values)), range(len(found.subsets))):
        design = designs[group[k]][:, found.subsets[h]]
        expected, norm = nnls(design, values[k])
        assert found.sum_of_squares[k, h] == pytest.approx(norm**2, rel=1e-10)
        if np.linalg.matrix_rank(design / np.linalg.norm(design, axis=0)) == size:
            scale = np.linalg.norm(design, axis=0)
            assert found.coefficients[k, h] * scale == pytest.approx(expected * scale, rel=1e-8, abs=1e-8)


def test_nonnegative_is_the_fit_of_the_active_functions(signed):
    designs, group, values, fits = signed
    found = fit_nonnegative(fits, values)
    assert (found.coefficients >= 0).all()
    assert (found.coefficients[~found.active] == 0).all()
    assert np.isnan(found.standard_errors[~found.active]).all()
    assert {0, 1, 2, 3} == set(found.active.sum(axis=2).ravel().tolist())
    for k, h in itertools.product(range(0, len(values), 7), range(0, len(found.subsets), 3)):
        active = found.active[k, h]
        if active.any():
            alone = fit_one(designs[group[k]], values[k], found.subsets[h][active])
            assert found.coefficients[k, h, active] == pytest.approx(alone.coefficients[0, 0], rel=1e-9)
            assert found.standard_errors[k, h, active] == pytest.approx(alone.standard_errors[0, 0], rel=1e-9)
            assert found.leave_one_out[k, h] == pytest.approx(alone.leave_one_out[0, 0], rel=1e-9)
        else:
            assert found.leave_one_out[k, h] == pytest.approx(np.sum(values[k] ** 2))


def test_nonnegative_needs_every_subset(signed):
    designs, group, values, fits = signed
    with pytest.raises(ValueError, match="with one function, with two"):
        fit_nonnegative(fits[1:], values)
    few = fit_subsets(designs, group, values, [[0], [1]])
    with pytest.raises(ValueError, match="have no fit of their own"):
        fit_nonnegative([few, fits[1]], values)


def read_certified():
    certified = {}
    with (NIST / "certified.csv").open() as file:
        for row in csv.DictReader(file):
            certified.setdefault(row["problem"], []).append(row)
    return certified


def digits(found, certified, size):
    """Fewest matching digits: log relative error, at most 15; of a certified zero, relative to the size beside it."""
    certified = np.asarray(certified)
    error = np.abs(found - certified) / np.where(certified == 0.0, size, np.abs(certified))
    return float(-np.log10(max(1e-15, np.max(error))))


def nist_digits(name):
    """Matching digits of coefficients, their standard deviations and the residual standard deviation."""
    *parameters, residual = read_certified()[name]
    data = np.loadtxt(NIST / f"{name}.csv", delimiter=",", skiprows=1)
    y, x = data[:, 0], data[:, 1:]
    numbers = [int(row["parameter"].removeprefix("B")) for row in parameters]
    # B0 is the intercept; Bi belongs to the power i of the only predictor, or to the predictor i.
    design = x ** np.array(numbers) if x.shape[1] == 1 else np.column_stack([np.ones(len(x)), x])
    fits = fit_one(design, y)
    estimates = np.array([float(row["estimate"]) for row in parameters])
    deviations = np.array([float(row["standard_deviation"]) for row in parameters])
    deviation = np.sqrt(fits.sum_of_squares[0, 0] / (len(y) - len(numbers)))
    return (
        digits(fits.coefficients[0, 0], estimates, 1.0),
        digits(fits.standard_errors[0, 0], deviations, np.abs(estimates)),
        digits(deviation, float(residual["standard_deviation"]), np.sqrt(np.mean(y**2))),
    )


# Digits to be reached: coefficients, standard deviations, residual standard deviation. Double precision has 15.6, of
# which log10(condition) may be lost (3.3 for Wampler, 9.7 for Filip), and more in Wampler4 and 5, where coefficients of
# 1 are found under noise of 10^5 and 10^7. A digit or more is left for other processors and libraries.
FLOORS = {
    "norris": (11, 13, 13),
    "pontius": (10, 11, 11),
    "noint1": (13, 13, 13),
    "noint2": (13, 13, 13),
    "filip": (6, 6, 7),
    "longley": (9, 10, 10),
    "wampler1": (8, 8, 14),
    "wampler2": (11, 11, 14),
    "wampler3": (8, 12, 13),
    "wampler4": (6, 12, 13),
    "wampler5": (4, 12, 13),
}


@pytest.mark.parametrize("name", FLOORS)
def test_nist_certified_values(name):
    found = nist_digits(name)
    assert all(digits >= floor for digits, floor in zip(found, FLOORS[name], strict=True)), found
