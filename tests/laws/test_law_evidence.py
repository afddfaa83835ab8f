"""Evidence of laws, against numerical integration over coefficients and noise."""

import math

import numpy as np
import pytest
from scipy.optimize import nnls
from scipy.stats import multivariate_normal

from perf_laws.evidence.kernels import _orthant, weigh_hypotheses

N = np.array([4.0, 8.0, 16.0, 32.0, 64.0])
CUBE = np.array([[a, b, c] for a in (2.0, 8.0) for b in (2.0, 8.0) for c in (2.0, 8.0)])


def weighed(columns, means, roots, within, freedom, log_prior=0.0):
    """Evidence, squares and fit of the law of all these columns, for one path."""
    n, size = len(means), len(columns)
    # A law of no columns has one gap.
    members = np.array([list(range(size)) or [-1]])
    evidence, squares, fitted = np.empty((1, 1)), np.empty((1, 1)), np.empty((1, n))
    weigh_hypotheses(
        means[None], roots[None], np.array(columns).reshape(size, n), members, np.array([log_prior]),
        np.array([within]), np.array([freedom]), np.zeros((1, 1), dtype=np.int64), evidence, squares, fitted,
    )  # fmt: skip
    return evidence[0, 0], squares[0, 0], fitted[0]


def noise_integral(squares, n):
    """Logarithm of the integral of s^-n exp(-squares / (2 s^2)) over ds/s, by trapezoids in log s."""
    log_s = np.linspace(-14.0, 8.0, 4001)
    nodes = np.linspace(np.log(squares.min()) - 0.1, np.log(squares.max()) + 0.1, 60)
    exponents = -n * log_s - 0.5 * np.exp(nodes[:, None] - 2.0 * log_s)
    top = exponents.max(axis=1)
    table = top + np.log(np.trapezoid(np.exp(exponents - top[:, None]), log_s, axis=1))
    # The integral is a power of the squares: a straight line in logarithms.
    return np.interp(np.log(squares), nodes, table)


def simplex(size, n_nodes):
    """Nodes and weights for shares that sum to 1, uniformly distributed: Gauss and Legendre, share after share."""
    x, w = np.polynomial.legendre.leggauss(n_nodes)
    x, w = 0.5 * (x + 1.0), 0.5 * w
    shares, weights, left = np.empty((1, 0)), np.full(1, float(math.factorial(size))), np.ones(1)
    for _ in range(size):
        shares = np.column_stack([np.repeat(shares, n_nodes, axis=0), (left[:, None] * x).ravel()])
        weights = (weights[:, None] * left[:, None] * w).ravel()
        left = (left[:, None] * (1.0 - x)).ravel()
    return np.column_stack([left, shares]), weights


def integrated(columns, means, roots, within, freedom, n_nodes):
    """The same evidence from its definition: over the sum T of the coefficients (dT/T), their shares, and the noise."""
    shares, weights = simplex(len(columns), n_nodes)
    curves = shares @ (np.vstack([np.ones(len(means)), *columns]) * roots)
    own, cross = (curves**2).sum(axis=1), curves @ (means * roots)
    best = cross / own
    least = ((means * roots) ** 2).sum() - cross * best
    n = freedom + (roots > 0.0).sum()
    # The range of T, dense where the data want it; below a fiftieth of that the likelihood is nothing.
    v = np.linspace(-4.0, 4.0, 101)
    width = np.sqrt((within + least) / n / own)[:, None]
    total = np.maximum(best[:, None] + width * np.sinh(v), 0.02 * best[:, None])
    steps = np.where(total > 0.02 * best[:, None], width * np.cosh(v) * (v[1] - v[0]), 0.0)
    squares = within + least[:, None] + own[:, None] * (total - best[:, None]) ** 2
    logs = noise_integral(squares, n) - np.log(total)
    return logs.max() + math.log((weights[:, None] * steps * np.exp(logs - logs.max())).sum())


def path(truth, noise, n_runs, seed):
    """Means of some runs, their weights, and squares of 20 degrees of freedom."""
    rng = np.random.default_rng(seed)
    means = truth * (1.0 + noise * rng.standard_normal(len(truth)) / math.sqrt(n_runs))
    return means, math.sqrt(n_runs) / means, 20.0 * noise**2, 20.0


def to_one(*columns):
    return [column / column.max() for column in columns]


@pytest.mark.parametrize("noise", [0.05, 0.2])
@pytest.mark.parametrize(
    ("truth", "columns"),
    [
        (np.full(5, 5.0), []),
        (3.0 + N, []),
        (np.full(5, 5.0), [N]),
        (np.full(5, 5.0), [N**3]),
        (np.full(5, 5.0), [np.log2(N)]),
        (np.full(5, 5.0), [1.0 / N]),
        (3.0 + N, [N]),
        (3.0 + N, [N**3]),
        (10.0 + 1000.0 / N, [1.0 / N]),
        (8.0 / N + 0.1 * N, [N]),
        (8.0 / N + 0.1 * N, [1.0 / N]),
        (np.full(5, 5.0), [1.0 / N, N]),
        (3.0 + N, [1.0 / N, N]),
        (10.0 + 1000.0 / N, [1.0 / N, N]),
        (8.0 / N + 0.1 * N, [1.0 / N, N]),
    ],
)
def test_evidence_is_the_integral_over_coefficients_and_noise(truth, columns, noise):
    """Within 12 %: the prior is taken at the mean of the coefficients, and the noise at its estimate."""
    columns = to_one(*columns)
    given = path(truth, noise, 5, seed=1)
    # The kernel leaves out the factor 1/2 of every law's integral over the noise.
    ours = weighed(columns, *given)[0] - math.log(2.0)
    assert ours == pytest.approx(integrated(columns, *given, n_nodes=120), abs=0.12)


@pytest.mark.parametrize("noise", [0.05, 0.2])
def test_evidence_of_three_columns(noise):
    """A constant and a term of each of three parameters, on the corners of a cube."""
    columns = to_one(*CUBE.T)
    given = path(10.0 + CUBE @ [1.0, 2.0, 3.0], noise, 5, seed=2)
    ours = weighed(columns, *given)[0] - math.log(2.0)
    assert ours == pytest.approx(integrated(columns, *given, n_nodes=32), abs=0.15)


def test_evidence_where_the_simplex_is_cut():
    """The truth has one coefficient of 0, so half of the mass is beyond the bound."""
    columns = to_one(N, N**3)
    given = path(5.0 + N, 0.1, 5, seed=3)
    ours = weighed(columns, *given)[0] - math.log(2.0)
    assert ours == pytest.approx(integrated(columns, *given, n_nodes=150), abs=0.12)


def test_prior_is_added():
    given = path(3.0 + N, 0.05, 5, seed=4)
    plain, less = (weighed(to_one(N), *given, log_prior=p)[0] for p in (0.0, -2.5))
    assert plain - less == pytest.approx(2.5)


def test_squares_are_those_of_least_squares_without_negative_coefficients():
    for columns in ([], to_one(N), to_one(1.0 / N, N), to_one(np.log2(N), N**2)):
        means, roots, *noise = path(3.0 + N, 0.2, 5, seed=5)
        design = np.vstack([np.ones(5), *columns]).T * roots[:, None]
        _, length = nnls(design, means * roots)
        assert weighed(columns, means, roots, *noise)[1] == pytest.approx(length**2, rel=1e-9)


def test_fit_well_inside_the_bounds_is_that_of_least_squares():
    columns = to_one(1.0 / N, N)
    means, roots, *noise = path(10.0 + 100.0 / N + N, 0.01, 5, seed=6)
    design = np.vstack([np.ones(5), *columns]).T
    best = np.linalg.lstsq(design * roots[:, None], means * roots)[0]
    assert weighed(columns, means, roots, *noise)[2] == pytest.approx(design @ best, rel=1e-6)


@pytest.mark.parametrize("truth", [100.0 / N, 70.0 - N, np.array([5.0, 1.0, 5.0, 1.0, 5.0])])
def test_fit_is_never_negative(truth):
    """Rising terms only, to data that fall or jump."""
    for columns in (to_one(N), to_one(N, N**3), to_one(np.log2(N), N**2)):
        assert (weighed(columns, *path(truth, 0.2, 5, seed=7))[2] > 0.0).all()


def test_points_without_weight_are_not_there():
    """Where a column is largest at a point that remains, so that its scale is the same."""
    means, roots, *noise = path(3.0 + N, 0.05, 5, seed=8)
    roots[2] = 0.0
    there = roots > 0.0
    evidence, squares, fitted = weighed(to_one(N), means, roots, *noise)
    less = weighed([column[there] for column in to_one(N)], means[there], roots[there], *noise)
    assert evidence == pytest.approx(less[0], abs=1e-9)
    assert squares == pytest.approx(less[1], rel=1e-9)
    assert fitted[there] == pytest.approx(less[2], rel=1e-9)


@pytest.mark.parametrize("columns", [[np.ones(5)], to_one(N, 3.0 * N), to_one(N, N + 64.0)])
def test_dependent_columns_have_no_evidence(columns):
    assert weighed(columns, *path(3.0 + N, 0.05, 5, seed=9))[0] == -np.inf


def test_laws_that_leave_no_freedom_have_no_evidence():
    """Two points, nothing known of the noise: no law of three coefficients is weighed."""
    n = N[:2]
    evidence = weighed(to_one(n, n**2), np.array([3.0, 5.0]), np.ones(2), 0.0, 0.0)[0]
    assert evidence == -np.inf


def test_many_paths_and_laws_at_once_are_each_weighed_as_alone():
    """The order of laws does not matter either, nor what is passed over (-1); a law that is hopeless is not weighed."""
    rng = np.random.default_rng(10)
    columns = np.array(to_one(1.0 / N, N, np.log2(N)))
    members = np.array([[-1, -1], [0, -1], [1, -1], [2, -1], [0, 1], [0, 2]])
    means = 5.0 + rng.uniform(0.0, 1.0, (20, 1)) * N
    roots, within, freedom = 1.0 / means, np.full(20, 0.2), np.full(20, 20.0)
    chosen = np.array([rng.permutation([-1, 0, 1, 2, 3, 4, 5]) for _ in range(20)])
    evidence, squares, fitted = np.empty((20, 7)), np.empty((20, 7)), np.empty((20, 5))
    weigh_hypotheses(
        means, roots, columns, members, np.zeros(6), within, freedom, chosen, evidence, squares, fitted
    )  # fmt: skip
    assert np.isfinite(evidence).sum() > 60
    for k in range(20):
        for j, h in enumerate(chosen[k].tolist()):
            if h < 0:
                assert evidence[k, j] == -np.inf
            else:
                own = columns[members[h][members[h] >= 0]]
                alone = weighed(own, means[k], roots[k], within[k], freedom[k])
                if evidence[k, j] == -np.inf:
                    assert alone[0] < evidence[k].max() - 16.0
                else:
                    assert evidence[k, j] == pytest.approx(alone[0], rel=1e-9)
                assert squares[k, j] == pytest.approx(alone[1], rel=1e-9)


def random_normal(rng, size):
    factor = rng.standard_normal((size, size + 4))
    return rng.normal(0.5, 1.0, size), factor @ factor.T / (size + 4)


@pytest.mark.parametrize(
    ("size", "worst", "usual"), [(1, 1e-12, 1e-12), (2, 0.02, 0.002), (3, 0.05, 0.005), (4, 0.1, 0.01)]
)
def test_orthant_probability(size, worst, usual):
    """Against scipy's integration, where at least 5 % of the mass is left; `worst` and `usual` are relative errors."""
    rng = np.random.default_rng(size)
    errors = []
    while len(errors) < 40:
        mean, covariance = random_normal(rng, size)
        exact = multivariate_normal(-mean, covariance, seed=1).cdf(np.zeros(size))
        if exact > 0.05:
            errors.append(abs(math.exp(_orthant(mean, covariance, size)) / exact - 1.0))
    assert max(errors) < worst
    assert np.mean(errors) < usual


@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_mean_beyond_the_bounds(size):
    """Against the mean of drawn vectors of which no part is negative, in standard deviations."""
    rng = np.random.default_rng(10 + size)
    for _ in range(10):
        mean, covariance = random_normal(rng, size)
        drawn = rng.multivariate_normal(mean, covariance, 50_000)
        drawn = drawn[(drawn >= 0.0).all(axis=1)]
        deviation = np.sqrt(np.diag(covariance))
        if len(drawn) > 2_000:
            _orthant(mean, covariance, size)
            assert mean / deviation == pytest.approx(drawn.mean(axis=0) / deviation, abs=0.12)


@pytest.mark.parametrize("z", [-300.0, -30.0, -20.001, -19.999, -5.0, 0.0, 7.999, 8.001, 300.0])
def test_one_dimension_far_from_the_bound(z):
    """The logarithm of the normal distribution function, to where that itself is 0 in double precision."""
    from scipy.special import log_ndtr

    mean = np.array([z])
    assert _orthant(mean, np.eye(1), 1) == pytest.approx(log_ndtr(z), rel=1e-2, abs=1e-14)
    assert mean[0] >= max(z, 0.0)
