"""Histograms: what bins stand for, arithmetic on values proper, and what is refused."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from perfcore.base.errors import DataError, OptionError
from perfcore.stochastic import (
    absolute,
    add,
    divide,
    exp,
    log,
    maximum,
    minimum,
    multiply,
    power,
    representation_named,
    sqrt,
    subtract,
)

Histogram, Normal = map(representation_named, ("histogram", "normal"))

D = Histogram([1, 3, 5], [0.25, 0.75])
E = Histogram([2, 4, 5, 8], [0.6, 0, 0.4])
Z = Histogram([0, 0, 1, 2], [0.1, 0, 0.9])  # 0 with a probability of its own
LEVELS = np.linspace(0.001, 0.999, 999)


@st.composite
def histograms(draw, low=-20.0, most_bins=12):
    n = draw(st.integers(1, most_bins))
    # Nearly equal edges among them, but nothing near the smallest floats.
    places = st.one_of(st.floats(low, 20.0), st.integers(math.ceil(low), 20)).map(lambda place: round(place, 9))
    edges = sorted(draw(st.lists(places, min_size=n + 1, max_size=n + 1)))
    masses = draw(st.lists(st.integers(0, 9), min_size=n, max_size=n).filter(any))
    shares = draw(st.lists(st.floats(0.01, 0.99), min_size=n, max_size=n))
    edges, masses = np.array(edges), np.array(masses) / sum(masses)
    means = np.clip(edges[:-1] + np.array(shares) * np.diff(edges), edges[:-1], edges[1:])
    return Histogram(edges, masses, means)


def test_a_bin_is_even_below_and_above_its_mean():
    """Of the bin [0, 4] of mean 1, three quarters lie below 1: then the mean is 3/4 * 1/2 + 1/4 * 5/2 = 1."""
    value = Histogram([0, 4], [1], [1])
    assert value.cdf([0.5, 1, 2.5, 4]) == pytest.approx([0.375, 0.75, 0.875, 1])
    assert value.pdf([0.5, 2]) == pytest.approx([0.75, 1 / 12])
    assert value.quantile([0.375, 0.75, 0.875]) == pytest.approx([0.5, 1, 2.5])
    assert value.mean == 1.0
    # E[X^2] = 3/4 * 1/3 + 1/4 * (16 + 4 + 1)/3 = 2
    assert value.std == pytest.approx(1.0)


def test_gaps_and_single_values():
    assert E.cdf([4, 4.5, 5]) == pytest.approx([0.6, 0.6, 0.6])
    assert E.quantile(0.6) == 4.0
    idle = Histogram([0, 0, 1], [0.7, 0.3])
    assert idle.cdf([-1e-9, 0, 0.5]) == pytest.approx([0, 0.7, 0.85])
    assert idle.quantile([0.0, 0.7, 0.85]) == pytest.approx([0, 0, 0.5])
    assert idle.support == (0.0, 1.0)


def test_empty_bins_at_the_ends_are_no_support():
    assert Histogram([0, 1, 2, 3], [0, 1, 0]) == Histogram([1, 2], [1])


def test_the_papers_sum_has_exact_masses_in_the_results_bins():
    """Equation 3's D + E; the law itself is tested on the paper's breaks. The mean is 3.5 + 4.4."""
    found = D + E
    assert found.support == (3.0, 13.0)
    assert found.mean == pytest.approx(7.9, rel=1e-15)
    x, y = np.meshgrid(D.quantile((np.arange(800) + 0.5) / 800), E.quantile((np.arange(800) + 0.5) / 800))
    shares = [np.mean(x + y <= edge) for edge in found.edges]
    np.testing.assert_allclose(np.concatenate([[0], np.cumsum(found.masses)]), shares, atol=2e-3)


@settings(max_examples=60)
@given(histograms(), histograms(), st.integers(1, 40))
def test_sums_keep_mass_and_mean(x, y, bins):
    found = add(x, y, bins=bins)
    assert math.fsum(found.masses) == pytest.approx(1.0, abs=1e-12)
    scale = max(abs(end) for end in (*x.support, *y.support)) or 1.0
    assert found.mean == pytest.approx(x.mean + y.mean, abs=1e-12 * scale)
    assert found.support == pytest.approx((x.support[0] + y.support[0], x.support[1] + y.support[1]))


@settings(max_examples=60)
@given(histograms(), histograms())
def test_operations_commute(x, y):
    """Up to where the bins of the result lie."""
    for one, other in ((x + y, y + x), (x * y, y * x)):
        assert one.mean == pytest.approx(other.mean, rel=1e-9, abs=1e-9)
        assert one.support == pytest.approx(other.support)


@settings(max_examples=60)
@given(histograms(), histograms())
def test_a_maximum_is_at_least_its_operands(x, y):
    """max(x, y) >= x: its distribution function is nowhere above, at the edges exactly."""
    found = maximum(x, y)
    at_edges = np.concatenate([[0], np.cumsum(found.masses)])[1:]
    # Before a single value's bin the edge is met twice; its upper level is the last.
    last = np.append(np.diff(found.edges[1:]) > 0, True)
    for operand in (x, y):
        assert (at_edges[last] <= operand.cdf(found.edges[1:][last]) + 1e-9).all()
    assert found.mean >= max(x.mean, y.mean) - 1e-9
    assert found.mean + minimum(x, y).mean == pytest.approx(x.mean + y.mean, abs=1e-9)


@settings(max_examples=40)
@given(histograms(low=0.01), histograms(low=0.01))
def test_means_of_products_and_quotients(x, y):
    """E[XY] = E[X] E[Y], and E[X/Y] = E[X] E[1/Y]."""
    assert (x * y).mean == pytest.approx(x.mean * y.mean, rel=1e-10)
    assert (x / y).mean == pytest.approx(x.mean * (1 / y).mean, rel=1e-9)


def binned(distribution, bins):
    """A known distribution in bins that are improbable in the tails, with exact means by quadrature over quantiles."""
    levels = 0.5 - 0.5 * np.cos(np.linspace(0, np.pi, bins + 1))
    shares = (np.arange(200) + 0.5) / 200
    places = distribution.ppf(levels[:-1, None] + np.diff(levels)[:, None] * shares)
    edges = np.concatenate([places[:1, 0], distribution.ppf(levels[1:-1]), places[-1:, -1]])
    return Histogram(edges, np.diff(levels), np.clip(places.mean(axis=1), edges[:-1], edges[1:]))


GAMMA = {shape: stats.gamma(shape) for shape in (2.0, 3.0, 5.0, 20.0)}


@pytest.mark.parametrize(("bins", "error"), [(25, 0.01), (100, 0.0015)])
def test_accuracy_against_known_distributions(bins, error):
    """Sums of gamma values are gamma, products of lognormal ones lognormal, maxima have powers of the function."""
    gamma2, gamma3 = binned(GAMMA[2.0], bins), binned(GAMMA[3.0], bins)
    first, second = stats.lognorm(0.3, scale=2.0), stats.lognorm(0.4, scale=3.0)
    a, b = binned(first, bins), binned(second, bins)
    ten = [gamma2] * 10
    cases = [
        (gamma2 + gamma3, GAMMA[5.0].cdf), (add(*ten), GAMMA[20.0].cdf), (a * b, stats.lognorm(0.5, scale=6.0).cdf),
        (a / b, stats.lognorm(0.5, scale=2 / 3).cdf),
        (maximum(gamma2, gamma3), lambda z: GAMMA[2.0].cdf(z) * GAMMA[3.0].cdf(z)),
        (maximum(*ten), lambda z: GAMMA[2.0].cdf(z) ** 10), (a**2, stats.lognorm(0.6, scale=4.0).cdf),
        (1 / a, stats.lognorm(0.3, scale=0.5).cdf), (log(a), stats.norm(math.log(2), 0.3).cdf),
        (sqrt(a), stats.lognorm(0.15, scale=math.sqrt(2)).cdf),
    ]  # fmt: skip
    for found, cdf in cases:
        places = found.quantile(LEVELS)
        assert np.abs(found.cdf(places) - cdf(places)).max() < error


def test_exponentials_of_a_long_tail():
    """exp of a normal in 100 bins is lognormal: bins are placed anew where those of the normal are too wide."""
    value = exp(Histogram.convert(Normal(0, 1))[0])
    places = value.quantile(LEVELS)
    assert np.abs(value.cdf(places) - stats.lognorm(1.0).cdf(places)).max() < 0.005


def test_signs_of_powers_and_absolute_values():
    """Uniform on [-1, 2]: P(X^2 <= z) by hand."""
    x = Histogram([-1, 2], [1])
    square = power(x, 2.0, bins=60)
    z = np.array([0.04, 0.25, 1.0, 2.25])
    np.testing.assert_allclose(square.cdf(z), np.where(z <= 1, 2 * np.sqrt(z), 1 + np.sqrt(z)) / 3, atol=0.005)
    cube = power(x, 3.0, bins=60)
    z = np.array([-0.5, 0.0, 1.0, 5.0])
    np.testing.assert_allclose(cube.cdf(z), (np.cbrt(z) + 1) / 3, atol=0.005)
    np.testing.assert_allclose(absolute(x, bins=60).cdf([0.5, 1.0, 1.5]), [1 / 3, 2 / 3, 2.5 / 3], atol=0.005)
    assert square.mean == pytest.approx(1.0)  # (1 + 8)/9
    assert cube.mean == pytest.approx(15 / 12)
    assert (Histogram([-3, -1], [1]) ** 2).support == (1.0, 9.0)
    assert (Histogram([-3, -1], [1]) ** 3).support == (-27.0, -1.0)
    assert (Histogram([-3, -1], [1]) ** -1).support == pytest.approx((-1, -1 / 3))
    assert (D**0).support == (1.0, 1.0)


def test_powers_with_uncertain_exponents():
    """2^Y for Y uniform on [0, 2]: log2(z)/2."""
    found = 2 ** Histogram(np.linspace(0, 2, 21), np.full(20, 0.05))
    np.testing.assert_allclose(found.cdf([1.5, 2.0, 3.0]), np.log2([1.5, 2.0, 3.0]) / 2, atol=0.003)
    assert (D ** Histogram([1, 1.5], [1])).support == pytest.approx((1.0, 5**1.5))


def test_a_maximum_with_a_number_has_a_single_value():
    """max(D, 3): D is below 3 with probability 1/4."""
    found = maximum(D, 3)
    assert found.cdf(3) == pytest.approx(0.25)
    assert found.cdf(np.nextafter(3, 0)) == 0.0
    assert minimum(D, 3).cdf(np.nextafter(3, 0)) == pytest.approx(0.25)
    assert maximum(D, 7).support == (7.0, 7.0)
    assert maximum(D, 0.5) == D


def test_single_values_stay_in_sums_and_products():
    """Two values that are 0 with probability 0.6 each: the sum is 0 with 0.36, the product with 0.84."""
    idle, other = Histogram([0, 0, 1], [0.6, 0.4]), Histogram([0, 0, 1], [0.6, 0.4])
    assert (idle + other).cdf(0) == pytest.approx(0.36)
    assert (idle * other).cdf(0) == pytest.approx(0.84)
    assert (idle * other).mean == pytest.approx(0.04)
    assert (idle / Histogram([1, 2], [1])).cdf(0) == pytest.approx(0.6)


def test_scaling_moves_edges_and_keeps_masses():
    for found, edges in ((2 * D, [2, 6, 10]), (D / -2, [-2.5, -1.5, -0.5]), (D + 1, [2, 4, 6]), (0 * D, [0, 0])):
        assert found.edges.tolist() == edges
    assert (D / -2).masses.tolist() == [0.75, 0.25]
    assert multiply(D, 1e300).std == pytest.approx(1e300 * D.std)  # whose variance is no number


def test_conversion_of_a_normal():
    found, _ = Histogram.convert(Normal(10, 2))
    assert found.mean == pytest.approx(10.0, rel=1e-14)
    assert found.std == pytest.approx(2.0, rel=1e-3)
    places = np.linspace(3, 17, 500)
    assert np.abs(found.cdf(places) - Normal(10, 2).cdf(places)).max() < 2e-4


def test_samples_in_five_equal_bins():
    """Section 3.2 of the paper: five intervals divided evenly over the range; probabilities sum to 1."""
    samples = [0, 1, 2, 3, 4, 5, 6, 7, 8, 10.0]
    found = Histogram.from_samples(samples, Histogram.Options(rule="width"))
    assert found.edges.tolist() == [0, 2, 4, 6, 8, 10]
    assert found.masses.tolist() == pytest.approx([0.2, 0.2, 0.2, 0.2, 0.2])
    assert found.means.tolist() == [0.5, 2.5, 4.5, 6.5, 9.0]
    assert found.mean == pytest.approx(np.mean(samples))


@settings(max_examples=60)
@given(
    st.lists(st.floats(-1e6, 1e6, allow_subnormal=False), min_size=1, max_size=200),
    st.integers(1, 30),
    st.sampled_from(["adaptive", "width"]),
)
def test_bins_of_samples_keep_all_of_them(samples, bins, rule):
    """Each sample is in one bin, or is cut by an edge that is numpy's quantile at the bins' own shares."""
    found = Histogram.from_samples(samples, Histogram.Options(bins=bins, rule=rule))
    scale = max(1.0, np.abs(samples).max())
    assert found.mean == pytest.approx(np.mean(samples), abs=1e-9 * scale)
    assert found.support == (min(samples), max(samples))
    inner = found.edges[1:-1]
    shares = np.cumsum(found.masses)[:-1]
    below = np.array([np.mean(np.array(samples) < edge) for edge in inner])
    up_to = np.array([np.mean(np.array(samples) <= edge) for edge in inner])
    is_between = (below - 1e-12 <= shares) & (shares <= up_to + 1e-12)
    if rule == "adaptive":
        is_between |= np.abs(np.quantile(samples, np.clip(shares, 0.0, 1.0)) - inner) <= 1e-9 * scale
    assert is_between.all()


def test_common_values_get_a_bin_of_their_own():
    """A machine that is idle in 70% of the samples."""
    samples = np.concatenate([np.ones(700), np.random.default_rng(1).uniform(0.2, 0.9, 300)])
    found = Histogram.from_samples(samples, Histogram.Options(bins=10))
    assert (found.edges[-2], found.edges[-1]) == (1.0, 1.0)
    assert found.masses[-1] == pytest.approx(0.7)
    assert len(found.masses) <= 10


SHAPES = {
    "normal": lambda rng: rng.normal(size=2000),
    "negative loads": lambda rng: -rng.exponential(size=2000),
    "Cauchy": lambda rng: rng.standard_cauchy(2000),
    "one outlier": lambda rng: np.append(rng.normal(size=1999), 1e9),
    "two modes": lambda rng: np.concatenate([rng.normal(0, 1, 1000), rng.normal(1000, 1, 1000)]),
    "counts": lambda rng: rng.poisson(3.0, 2000).astype(float),
    "thirty values": lambda rng: rng.integers(0, 30, 2000).astype(float),
    "idle or busy": lambda rng: np.concatenate([np.zeros(1500), rng.lognormal(0.0, 2.0, 500)]),
    "hundred": lambda rng: rng.exponential(size=100),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_forty_bins_keep_the_distribution(shape):
    """Against the empirical distribution: errors of the CDF, and of quantiles as a share of the interquartile range."""
    samples = SHAPES[shape](np.random.default_rng(4))
    found = Histogram.from_samples(samples)
    values, counts = np.unique(samples, return_counts=True)
    after = np.cumsum(counts) / len(samples)
    errors = [after - found.cdf(values), after - counts / len(samples) - found.cdf(np.nextafter(values, -np.inf))]
    assert len(found.masses) <= 40
    assert np.abs(errors).max() <= 0.02
    levels = [0.5, 0.9, 0.95, 0.99]
    width = np.ptp(np.quantile(samples, [0.25, 0.75])) or np.ptp(samples)
    np.testing.assert_allclose(found.quantile(levels), np.quantile(samples, levels), atol=0.02 * width)
    assert found.mean == pytest.approx(samples.mean(), rel=1e-9)
    assert found.support == (samples.min(), samples.max())


def test_two_samples_and_equal_ones():
    assert Histogram.from_samples([1.0, 2.0]).support == (1.0, 2.0)
    assert Histogram.from_samples([1.0, 2.0]).quantile(0.5) == pytest.approx(1.5)
    assert Histogram.from_samples([3.0] * 5).edges.tolist() == [3.0, 3.0]


@pytest.mark.parametrize(("make", "message"), [
    (lambda: Histogram([1, 2, 3], [0.5, 0.4]), r"sum to 0\.9, not to 1"),
    (lambda: Histogram([1, 2, 3], [1.5, -0.5]), r"bin 2 has the negative probability -0\.5"),
    (lambda: Histogram([1, 2, 3], [0.5, math.nan]), "masses: number 2 is nan"),
    (lambda: Histogram([1, 2, math.inf], [0.5, 0.5]), "edges: number 3 is inf"),
    (lambda: Histogram([1, 3, 2], [0.5, 0.5]), "bin 2 goes back from 3 to 2"),
    (lambda: Histogram([1, 2], [0.5, 0.5]), "2 edges and 2 masses"), (lambda: Histogram([[1, 2]], [1]), "2 dimensions"),
    (lambda: Histogram(["a", "b"], [1]), "edges must be numbers"),
    (lambda: Histogram([1, 2], [1], [3]), "mean 3 is outside its bin 1, 1 to 2"),
    (lambda: Histogram([1, 2], [1], [1, 2]), "2 means for 1 bins"), (lambda: Histogram([], []), "0 edges and 0 masses"),
    (lambda: D / Histogram([-1, 1], [1]), "divisor can be 0, it goes from -1 to 1"),
    (lambda: 1 / Histogram([0, 1], [1]), "divisor can be 0"), (lambda: Histogram([0, 1], [1]) ** -1, "division by 0"),
    (lambda: D / Z, "divisor can be 0, it goes from 0"), (lambda: Z**-1, "division by 0"),
    (lambda: Histogram.from_draws([1.0, math.inf], 5), "finite"),
    (lambda: Histogram([-1, 1], [1]) ** 0.5, "must be whole"),
    (lambda: Histogram([-1, 1], [1]) ** D, "must be above 0"), (lambda: log(Histogram([0, 1], [1])), "begin at 0"),
    (lambda: sqrt(Histogram([-1, 1], [1])), "begin at -1"), (lambda: exp(1000 * D), "too large"),
    (lambda: (1e200 * D) * (1e200 * E), "too large"),
])  # fmt: skip
def test_bad_input(make, message):
    with pytest.raises(DataError, match=message) as caught:
        make()
    assert len(str(caught.value).splitlines()) == 1


# Schopf's own arithmetic: the paper's equations 3 to 6.
def test_it_widens_sums():
    """Each interval of the sum of uniform values is spread evenly where it is triangular: variance w^2/3 for w^2/6.

    With one bin in place of the sum the deviation is too large by sqrt(2), with ever more bins by less.
    """
    unit = Histogram([0, 1], [1])
    assert add(unit, unit, method="cartesian").std == pytest.approx(np.sqrt(1 / 3))
    assert add(unit, unit, bins=200).std == pytest.approx(np.sqrt(1 / 6), rel=1e-4)
    ten = [Histogram(np.linspace(0, 1, 6), np.full(5, 0.2))] * 10
    assert add(*ten, method="cartesian").std > 1.5 * np.sqrt(10 / 12)
    assert add(*ten, bins=25).std == pytest.approx(np.sqrt(10 / 12), rel=1e-2)


@pytest.mark.parametrize("operation", [add, subtract, multiply, divide, maximum, minimum])
def test_mass_is_kept(operation):
    found = operation(D, E, method="cartesian", bins=8)
    assert len(found.masses) == 8
    assert found.masses.sum() == pytest.approx(1.0, abs=1e-15)
    assert (found.edges[0], found.edges[-1]) == pytest.approx(operation(D, E).support)


def test_what_it_does_not_do():
    assert exp(D, method="cartesian") == exp(D)
    with pytest.raises(OptionError, match="method= cartesian has no power"):
        power(D, E, method="cartesian")
    with pytest.raises(OptionError, match="divisor can be 0"):
        divide(D, Histogram([-1, 1], [1]), method="cartesian")


def test_a_probability_at_0_is_kept_by_powers_of_both_signs():
    x = Histogram([-1, 0, 0, 1], [0.25, 0.5, 0.25])
    for found, below in ((x**2, 0.0), (x**3, 0.25)):
        assert found.cdf(-1e-9) == pytest.approx(below, abs=1e-6)
        assert found.cdf(0.0) == pytest.approx(below + 0.5)
