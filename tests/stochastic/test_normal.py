"""Normals: closed forms against quadrature, and the size of their errors against the exact distributions."""

import math
import statistics

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, stats

from perfcore.base.errors import DataError, OptionError
from perfcore.stochastic import add, divide, exp, log, maximum, minimum, multiply, representation_named, sqrt, subtract

Normal = representation_named("normal")


def expectation(function, x, y, correlation):
    """By Gauss-Hermite quadrature over both, exact for polynomials."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(80)
    weights = weights / weights.sum()
    u, v = np.meshgrid(nodes, nodes)
    first = x[0] + x[1] * u
    second = y[0] + y[1] * (correlation * u + math.sqrt(1 - correlation**2) * v)
    return float((weights * weights[:, None] * function(first, second)).sum())


@pytest.mark.parametrize("correlation", [-1.0, -0.6, 0.0, 0.3, 1.0])
def test_moments_of_products(correlation):
    """Mean, variance and third moment are polynomials: the quadrature is exact."""
    x, y = (3.0, 0.7), (-2.0, 1.1)
    found = multiply(Normal(*x), Normal(*y), correlation=correlation)
    mean = expectation(lambda a, b: a * b, x, y, correlation)
    assert found.mean == pytest.approx(mean, rel=1e-12)
    assert found.std**2 == pytest.approx(expectation(lambda a, b: (a * b - mean) ** 2, x, y, correlation), rel=1e-10)
    skewness = expectation(lambda a, b: (a * b - mean) ** 3, x, y, correlation) / found.std**3
    assert found.cdf_error == pytest.approx(abs(skewness) / (6 * math.sqrt(2 * math.pi)), rel=1e-9)


def test_errors_of_steps_add_up():
    x, y, z = Normal(3.0, 0.7), Normal(-2.0, 1.1), Normal(4.0, 0.9)
    first = x * y
    assert (first + z).cdf_error == first.cdf_error
    second = Normal(first.mean, first.std) * z
    both = multiply(x, y, z)
    assert (both.mean, both.std) == pytest.approx((second.mean, second.std), rel=1e-12)
    assert both.cdf_error == (first * z).cdf_error == pytest.approx(first.cdf_error + second.cdf_error, rel=1e-12)


@pytest.mark.parametrize("correlation", [-0.9, 0.0, 0.5, 0.99])
@pytest.mark.parametrize(("x", "y"), [((0, 1), (0, 1)), ((3, 1), (2, 2)), ((100.5, 0.1), (100.4, 0.3))])
def test_clarks_maximum(x, y, correlation):
    """Against the integral over the maximum's density, phi and Phi of each operand given the other."""

    def density(z):
        found = 0.0
        for (m, s), (n, t) in ((x, y), (y, x)):
            given_mean = n + correlation * t / s * (z - m)
            given_std = t * math.sqrt(1 - correlation**2)
            found += stats.norm.pdf(z, m, s) * stats.norm.cdf(z, given_mean, given_std)
        return found

    low, high = min(x[0], y[0]) - 9 * max(x[1], y[1]), max(x[0], y[0]) + 9 * max(x[1], y[1])
    z = np.linspace(low, high, 20_001)
    heights = density(z)
    mean = integrate.simpson(z * heights, x=z)
    std = math.sqrt(integrate.simpson((z - mean) ** 2 * heights, x=z))
    third = integrate.simpson((z - mean) ** 3 * heights, x=z)
    found = maximum(Normal(*x), Normal(*y), correlation=correlation)
    assert found.mean == pytest.approx(mean, rel=1e-9, abs=1e-9)
    assert found.std == pytest.approx(std, rel=1e-7)
    assert minimum(Normal(-x[0], x[1]), Normal(-y[0], y[1]), correlation=correlation).mean == -found.mean
    assert found.cdf_error == pytest.approx(abs(third) / std**3 / (6 * math.sqrt(2 * math.pi)), rel=1e-4, abs=1e-6)


def test_related_values_rise_and_fall_together():
    """With correlation 1 they are one value, shifted and scaled: deviations add, subtract, and maxima are of one."""
    x, y = Normal(3, 0.3), Normal(5, 0.4)
    assert add(x, y, correlation=1.0) == Normal(8, 0.7)
    both = subtract(y, x, correlation=1.0)
    assert (both.mean, both.std) == pytest.approx((2.0, 0.1))
    assert maximum(x, Normal(4, 0.3), correlation=1.0) == Normal(4, 0.3)


def test_sums_and_maxima_of_many_with_a_common_correlation():
    """Sums: the variance is that of the matrix. Maxima of four equicorrelated standard normals: the mean is the
    independent one, 1.029375 (Teichroew 1956), times sqrt(1 - correlation), which Clark's chain meets roughly."""
    values = [Normal(k, k) for k in (1.0, 2.0, 3.0)]
    covariance = np.outer([1, 2, 3], [1, 2, 3]) * (0.4 + 0.6 * np.eye(3))
    found = add(*values, correlation=0.4)
    assert (found.mean, found.std**2) == pytest.approx((6.0, covariance.sum()))
    for correlation in (0.0, 0.5):
        largest_of_four = maximum(*[Normal()] * 4, correlation=correlation)
        assert largest_of_four.mean == pytest.approx(1.029375 * math.sqrt(1 - correlation), abs=0.01)


def test_the_maximum_of_three_unlike_values_with_a_common_correlation():
    """By a common factor z: P(max <= x) is the mean over z of the product of the conditional distributions."""
    means, deviations, correlation = np.array([0.0, 2.0, 2.0]), np.array([3.0, 0.5, 2.0]), 0.8
    nodes, weights = np.polynomial.hermite_e.hermegauss(40)
    x = np.linspace(-20.0, 20.0, 4001)
    conditional = means + deviations * math.sqrt(correlation) * nodes[:, None]
    below = stats.norm.cdf(x[:, None, None], conditional, deviations * math.sqrt(1.0 - correlation)).prod(axis=2)
    expected = 20.0 - integrate.trapezoid(below @ weights / weights.sum(), x)
    found = maximum(*map(Normal, means.tolist(), deviations.tolist()), correlation=correlation)
    assert found.mean == pytest.approx(expected, rel=0.01)  # with the weights of the two exchanged it is 8% smaller


@pytest.mark.parametrize(("dividend", "divisor"), [(6.0, 2.0), (-6.0, 2.0), (6.0, -2.0)])
@pytest.mark.parametrize("correlation", [-0.8, 0.0, 0.8])
def test_quotients_with_a_divisor_far_from_zero(correlation, dividend, divisor):
    """Against quadrature: the delta method's next terms are of the order of the fourth power of its deviation, 1e-4."""
    x, y = (dividend, 0.3), (divisor, 0.1)
    found = divide(Normal(*x), Normal(*y), correlation=correlation)
    mean = expectation(lambda a, b: a / b, x, y, correlation)
    std = math.sqrt(expectation(lambda a, b: (a / b - mean) ** 2, x, y, correlation))
    assert found.mean == pytest.approx(mean, rel=1e-4)
    assert found.std == pytest.approx(std, rel=2e-2)


@pytest.mark.parametrize(("correlation", "sign"), [(0.0, 1.0), (0.0, -1.0), (0.5, 1.0), (-0.5, -1.0)])
def test_a_poor_quotient_says_how_poor(correlation, sign):
    """The figure is the distance from the exact distribution, here by integration over the divisor."""
    found = divide(Normal(6, 1), Normal(2 * sign, 0.4), correlation=correlation)
    (note,) = found.notes
    assert "5 standard deviations away from 0" in note
    claimed = float(note.split("up to ")[1].split(";")[0])
    y = np.linspace(2 - 4.9 * 0.4, 2 + 8 * 0.4, 20_001)  # the divisor but for its sign
    weights = stats.norm.pdf(y, 2, 0.4) * (y[1] - y[0])
    places = found.mean + found.std * np.linspace(-4, 4, 161)
    dividend = stats.norm(6 + sign * correlation * (y - 2) / 0.4, math.sqrt(1 - correlation**2))
    truth = np.array([weights @ (dividend.cdf(z * y) if sign > 0 else dividend.sf(-z * y)) for z in places])
    assert claimed == pytest.approx(np.abs(truth - found.cdf(places)).max(), rel=0.1)
    assert (Normal(6, 0.1) / Normal(2, 0.02)).notes == ()


@pytest.mark.parametrize("samples", [[1.0, 2.0, 4.0, 4.5], [1.0, 3.0]])
def test_the_deviation_of_samples_is_the_unbiased_one(samples):
    assert Normal.from_samples(samples).std == pytest.approx(statistics.stdev(samples))


@pytest.mark.parametrize(("function", "reference", "exact"), [
    (exp, Normal(0.5, 0.4), stats.lognorm(0.4, scale=math.exp(0.5))), (abs, Normal(0.3, 1.0), stats.foldnorm(0.3)),
    (lambda x: x**2, Normal(0.0, 1.0), stats.chi2(1)), (lambda x: x**2, Normal(3.0, 1.0), stats.ncx2(1, 9.0)),
])  # fmt: skip
def test_functions_against_known_distributions(function, reference, exact):
    found = function(reference)
    assert found.mean == pytest.approx(exact.mean(), rel=1e-9)
    assert found.std == pytest.approx(exact.std(), rel=1e-6)
    (note,) = found.notes
    places = exact.ppf(np.linspace(0.0005, 0.9995, 1000))
    error = np.abs(found.cdf(places) - exact.cdf(places)).max()
    claimed = float(note.split("up to ")[1].split(";")[0])
    # Of |x| the claim rests on the skewness, elsewhere on the distribution itself.
    assert claimed == pytest.approx(error, rel=0.5 if function is abs else 0.05)


def test_roots_and_logarithms_by_quadrature():
    """Against the integral over the density."""
    for function, of_array in ((sqrt, np.sqrt), (log, np.log), (lambda x: x**1.7, lambda x: x**1.7)):
        x = np.linspace(10 - 9, 10 + 9, 40_001)
        weights = stats.norm.pdf(x, 10, 1) * (x[1] - x[0])
        mean = weights @ of_array(x)
        found = function(Normal(10, 1))
        assert found.mean == pytest.approx(mean, rel=1e-8)
        assert found.std == pytest.approx(math.sqrt(weights @ (of_array(x) - mean) ** 2), rel=1e-6)
    found, places = sqrt(Normal(0.5, 0.1)), np.linspace(0.3, 1.1, 2001)
    error = np.abs(found.cdf(places) - stats.norm.cdf(places**2, 0.5, 0.1)).max()
    assert found.cdf_error == pytest.approx(error, rel=0.05)


def test_powers_with_normal_exponents_are_exponentials():
    """2^y is lognormal."""
    found = 2 ** Normal(1.0, 0.1)
    exact = stats.lognorm(0.1 * math.log(2), scale=2.0)
    assert (found.mean, found.std) == pytest.approx((exact.mean(), exact.std()), rel=1e-9)
    exact, found = stats.lognorm(0.1 * math.log(2), scale=0.5), 0.5 ** Normal(1.0, 0.1)
    assert (found.mean, found.std) == pytest.approx((exact.mean(), exact.std()), rel=1e-9)
    assert (Normal(3, 0.3) ** Normal(2, 0.0)).mean == pytest.approx(9.09)
    assert (Normal(3, 0.01) ** Normal(2, 0.01)).mean == pytest.approx(9.0, rel=1e-3)
    inverse = Normal(10, 0.1) ** -2  # 0.01 (1 + 3 * 0.01^2), with 2 * 0.01 of that as deviation
    assert (inverse.mean, inverse.std) == pytest.approx((0.010003, 0.0002), rel=1e-3)


@given(st.floats(-1e6, 1e6), st.floats(0.0, 1e6), st.floats(-1e6, 1e6), st.floats(0.0, 1e6))
def test_sums_are_exact(m, s, n, t):
    found = Normal(m, s) + Normal(n, t)
    assert (found.mean, found.std) == (m + n, pytest.approx(math.hypot(s, t), rel=1e-12))
    assert found.notes == ()


def test_without_spread_it_is_a_number():
    """Operations on numbers written as normals are those of numbers."""
    x, y = Normal(9, 0), Normal(2, 0)
    for found, expected in (
        (x + y, 11), (x - y, 7), (x * y, 18), (x / y, 4.5), (x**y, 81), (x**-0.5, 1 / 3), (sqrt(x), 3),
        (exp(y), math.exp(2)), (log(x), math.log(9)), (maximum(x, y), 9), (minimum(x, y), 2),
    ):  # fmt: skip
        assert (found.mean, found.std, found.cdf_error) == (pytest.approx(expected), 0.0, 0.0)
    assert x.support == (9.0, 9.0)


def test_normality_of_samples():
    """Normal samples pass, exponential ones do not, few cannot be judged."""
    rng = np.random.default_rng(3)
    assert Normal.from_samples(rng.normal(5, 2, 500)).notes == ()
    (note,) = Normal.from_samples(rng.exponential(2.0, 500)).notes
    assert "do not look normal" in note
    skewness = float(note.split("skewness ")[1].split(",")[0])
    assert skewness == pytest.approx(2.0, abs=0.7)  # that of the exponential distribution
    assert ["too few" in str(Normal.from_samples(rng.normal(size=n)).notes) for n in (2, 19, 20)] == [True, True, False]
    assert Normal.from_samples([1.0, 1.0]).notes == ()


def test_conversion_says_how_much_the_shape_matters():
    """A fair coin between 0 and 1: the normal is wrong by 1/2 - Phi(-1) at least, just above 0."""
    from perfcore.stochastic import from_dict

    uniform = Normal.convert(representation_named("interval")(2.0, 4.0))[0]
    assert (uniform.mean, uniform.std) == pytest.approx((3.0, 2.0 / math.sqrt(12.0)))
    coin = from_dict({"representation": "histogram", "edges": [0, 0, 1, 1], "masses": [0.5, 0, 0.5]})
    found, lost = Normal.convert(coin)
    assert (found.mean, found.std) == pytest.approx((0.5, 0.5))
    assert float(lost.split()[-1]) == pytest.approx(0.5 - stats.norm.cdf(-1), abs=0.01)


@pytest.mark.parametrize(("make", "message"), [
    (lambda: Normal(1, -1), "standard deviation -1 is negative; give 0 or more, such as 1"),
    (lambda: Normal(math.nan, 1), "must be finite"), (lambda: Normal("a", 1), "must be numbers"),
    (lambda: Normal(1, 1) / Normal(0.5, 1), "0.5 ± 1 may well be 0"),
    (lambda: log(Normal(1, 1)), "a value below 0 has probability 0.16"),
    (lambda: sqrt(Normal(-9, 0)), "outside its domain"), (lambda: Normal(1, 1) ** 0.5, "a value below 0"),
    (lambda: exp(Normal(0, 100)), "not finite"), (lambda: Normal(1e200, 1e200) * Normal(1e200, 1), "finite"),
    (lambda: multiply(Normal(1, 1), Normal(1, 1), Normal(1, 1), correlation=0.5), "two at a time"),
])  # fmt: skip
def test_bad_input(make, message):
    with pytest.raises(DataError, match=message) as caught:
        make()
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize("correlation", [-1.5, 1.5])
def test_correlations_are_from_minus_one_to_one(correlation):
    with pytest.raises(OptionError, match="must be at"):
        add(Normal(), Normal(), correlation=correlation)


def test_the_density_is_that_of_scipy_and_without_spread_there_is_a_step():
    places = np.array([-1.0, 1.5, 2.0])
    np.testing.assert_allclose(Normal(1.5, 0.7).pdf(places), stats.norm.pdf(places, 1.5, 0.7), rtol=1e-12)
    assert type(Normal(2, 1).std) is float
    assert Normal(2, 0).pdf(places).tolist() == [0.0] * 3
    assert Normal(2, 0).cdf([1.0, 2.0, 3.0]).tolist() == [0.0, 1.0, 1.0]


@pytest.mark.parametrize("actual", [-1.0, 0.5, 2.0, 7.0])
def test_the_ranked_probability_score_is_its_integral(actual):
    normal = Normal(1.5, 0.7)
    split = [1.5] if actual > 1.5 else None
    below = integrate.quad(lambda x: float(normal.cdf(x)) ** 2, -20.0, actual, points=split)[0]
    split = [1.5] if actual < 1.5 else None
    above = integrate.quad(lambda x: (1.0 - float(normal.cdf(x))) ** 2, actual, 20.0, points=split)[0]
    assert normal.crps(actual) == pytest.approx(below + above, rel=1e-7)
