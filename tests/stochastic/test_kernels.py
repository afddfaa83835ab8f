"""The kernels of arithmetic: exact laws and tails against rational arithmetic, closed forms, quadrature and scipy."""

from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from perf_stochastic.bins import place_edges, rebin
from perf_stochastic.histogram_arithmetic import (
    QuotientLaw,
    cartesian,
    intermediate_results,
    product,
    quotient,
    spread_evenly,
)
from perf_stochastic.laws import EXP, LOG, SQRT, PiecewiseUniform, SumLaw, image, largest, power
from perf_stochastic.normal import Moments
from perf_stochastic.normal import divide as reciprocal_of_normal
from perfcore.stochastic import representation_named


def pieces(knots, masses):
    masses = np.array(masses, dtype=float)
    return PiecewiseUniform(np.array(knots, dtype=float), masses / masses.sum())


UNIT = pieces([0, 1], [1])
POSITIVE = pieces([1, 3, 4, 4, 9], [2, 0, 3, 5])
SIGNED = pieces([-2, -1, 0, 0, 1.5, 3], [2, 1, 1, 3, 2])
NEGATIVE = POSITIVE.negated()


def test_pieces_too_narrow_for_a_density_are_single_values():
    law = pieces([0.0, 5e-324, 1.0], [1, 1])
    assert law.atoms[0].tolist() == [5e-324]
    assert law.cdf(np.array([0.0, 5e-324, 0.5, 1.0])).tolist() == [0.0, 0.5, 0.75, 1.0]


def test_quotients_of_what_varies_little():
    """Two uniform values: F is (c z - a)^2/(2 z) at first, from a/c on; its integral, which cancels, by 50 digits."""
    a, c = 1000, 2001
    x, y = (pieces(np.linspace(low, low + 1, 65), np.ones(64)) for low in (a, c - 1))
    z = np.linspace(a / c, a / (c - 1), 9)[1:]
    cdf, integral = QuotientLaw(x, y).cdf_and_integral(z)
    np.testing.assert_allclose(cdf, (c * z - a) ** 2 / (2 * z), atol=1e-12)
    with localcontext(prec=50):
        places = [Decimal(place) for place in z.tolist()]
        exact = [
            Decimal(c * c) / 4 * (place**2 - Decimal(a) ** 2 / c**2)
            - a * c * (place - Decimal(a) / c)
            + Decimal(a * a) / 2 * (place * c / a).ln()
            for place in places
        ]
    np.testing.assert_allclose(integral, np.array(exact, dtype=float), rtol=0, atol=1e-12 * integral[-1])


@st.composite
def small_pieces(draw, low=-8):
    """Pieces on whole numbers, with gaps and single values."""
    n = draw(st.integers(1, 4))
    knots = sorted(draw(st.lists(st.integers(low, 8), min_size=n + 1, max_size=n + 1)))
    masses = draw(st.lists(st.integers(0, 4), min_size=n, max_size=n).filter(any))
    if knots[0] == knots[-1]:
        knots[-1] += 1
    return pieces(knots, masses)


def exact_sum_cdf(x, y, z):
    """P(X + Y <= z) in rational arithmetic: for each pair of pieces the area of a rectangle below a diagonal."""
    total = Fraction(0)
    x_all, y_all = sum(map(Fraction, x.masses)), sum(map(Fraction, y.masses))
    for a, b, p in zip(x.knots, x.knots[1:], x.masses, strict=False):
        for c, d, q in zip(y.knots, y.knots[1:], y.masses, strict=False):
            corners = [(a + c, 1), (b + c, -1), (a + d, -1), (b + d, 1)]
            width_x, width_y = Fraction(b - a), Fraction(d - c)
            weight = Fraction(p) * Fraction(q) / x_all / y_all
            if width_x and width_y:
                area = sum(sign * max(Fraction(z) - Fraction(at), 0) ** 2 for at, sign in corners) / 2
                total += weight * area / (width_x * width_y)
            elif width_x or width_y:
                low, high = Fraction(a + c), Fraction(b + d)
                total += weight * min(max((Fraction(z) - low) / (high - low), 0), 1)
            else:
                total += weight * (a + c <= z)
    return total


def by_quadrature(function, x, y, z):
    """P(g(X, Y) <= z) and E[(z - g(X, Y))+] from 700 quantiles of each operand."""
    levels = (np.arange(700) + 0.5) / 700
    values = function(x.quantile(levels)[:, None], y.quantile(levels)).ravel()
    return np.array([(np.mean(values <= place), np.mean(np.maximum(place - values, 0))) for place in z]).T


@pytest.mark.parametrize("y", [POSITIVE, NEGATIVE, SIGNED, UNIT])
@pytest.mark.parametrize("x", [POSITIVE, NEGATIVE, SIGNED, UNIT])
@pytest.mark.parametrize("operation", ["sum", "product", "quotient"])
def test_laws_of_any_sign(operation, x, y):
    if operation == "quotient" and y in (SIGNED, UNIT):
        pytest.skip("the divisor can be 0")
    made = {"sum": (SumLaw, np.add), "product": (product, np.multiply), "quotient": (quotient, np.divide)}
    make, function = made[operation]
    law = make(x, y)
    # Not at places where many pairs of quantiles lie exactly.
    z = np.linspace(*law.support, 12)[1:-1] + 1e-4
    cdf, integral = law.cdf_and_integral(z)
    expected_cdf, expected_integral = by_quadrature(function, x, y, z)
    np.testing.assert_allclose(cdf, expected_cdf, atol=5e-3)
    np.testing.assert_allclose(integral, expected_integral, atol=5e-3 * (law.support[1] - law.support[0]))
    # E[Z] from the law's end: z - E[(z - Z)+] at its last place.
    high = law.support[1]
    last = law.cdf_and_integral(np.array([law.support[0], high]))
    assert last[0][1] == pytest.approx(1.0, abs=1e-12)
    assert high - last[1][1] == pytest.approx(law.mean, rel=1e-11)


def test_known_products_and_quotients():
    """Of two uniform values: z - z log z; z/2 and 1 - 1/(2z) for a divisor that begins just above 0."""
    z = np.array([1e-9, 0.01, 0.3, 0.9, 1.0])
    np.testing.assert_allclose(product(UNIT, UNIT).cdf_and_integral(z)[0], z - z * np.log(z), rtol=1e-12)
    nearly = pieces([1e-9, 1], [1])
    z = np.array([0.1, 0.9, 2.0, 50.0])
    expected = np.where(z <= 1, z / 2, 1 - 1 / (2 * z))
    np.testing.assert_allclose(quotient(UNIT, nearly).cdf_and_integral(z)[0], expected, atol=1e-8)


@settings(max_examples=40)
@given(st.lists(small_pieces(), min_size=1, max_size=5))
def test_maxima(values):
    """The product of distribution functions, its integral by a fine rule, and single values in the right place."""
    law = largest(values)
    low, high = law.support
    if low == high:
        return
    z = np.linspace(low, high, 1001)
    cdf, integral = law.cdf_and_integral(z)
    np.testing.assert_allclose(cdf, np.prod([x.cdf(z) for x in values], axis=0), atol=1e-14)
    middles = 0.5 * (z[1:] + z[:-1])
    rises = np.prod([x.cdf(middles) for x in values], axis=0) * (z[1] - z[0])
    np.testing.assert_allclose(integral[1:], np.cumsum(rises), atol=0.02)
    at, masses = law.atoms
    before = [np.prod([1 - x.negated().cdf(-np.array([place]))[0] for x in values]) for place in at]
    np.testing.assert_allclose(law.cdf_and_integral(at)[0] - masses, before, atol=1e-14)


@pytest.mark.parametrize(("function", "of_array"), [
    (EXP, np.exp), (LOG, np.log), (SQRT, np.sqrt), (power(2.0), np.square), (power(0.3), lambda x: x**0.3),
    (power(-1.0), lambda x: -1 / x), (power(-2.5), lambda x: -(x**-2.5)),
])  # fmt: skip
def test_functions_of_one(function, of_array):
    """Levels are kept; the mean is that of many quantiles, and the integral leads to it."""
    law = image(function, POSITIVE)
    places = POSITIVE.quantile(np.linspace(0.01, 0.99, 99))
    np.testing.assert_allclose(law.cdf_and_integral(of_array(places))[0], POSITIVE.cdf(places), atol=1e-12)
    levels = (np.arange(200_000) + 0.5) / 200_000
    assert law.mean == pytest.approx(of_array(POSITIVE.quantile(levels)).mean(), rel=1e-7)
    low, high = law.support
    assert high - law.cdf_and_integral(np.array([low, high]))[1][1] == pytest.approx(law.mean, rel=1e-12)


def test_narrow_pieces_keep_their_place():
    """A piece a billionth as wide as the range counts as a value; one that is just wider does not lose digits."""
    for width in (1e-9, 1e-7, 1e-5):
        narrow = pieces([0, 0.5, 0.5 + width, 1], [1, 2, 1])
        cdf = SumLaw(UNIT, narrow).cdf_and_integral(np.array([0.5, 1.0, 1.5]))[0]
        # By hand for a value at 1/2: 1/16, 1/2, 15/16.
        np.testing.assert_allclose(cdf, [1 / 16, 0.5, 15 / 16], atol=2 * width)


@settings(max_examples=60)
@given(small_pieces(), small_pieces(), st.integers(1, 30))
def test_bins_hold_exactly_what_the_law_says(x, y, bins):
    law = SumLaw(x, y)
    edges, masses, means = rebin(law, bins)
    assert len(masses) <= max(bins, 3)  # one single value needs a bin of its own, and one to each side
    assert (np.diff(edges) >= 0).all()
    assert (edges[0], edges[-1]) == law.support
    assert masses.sum() == pytest.approx(1.0, abs=1e-12)
    assert masses @ means == pytest.approx(law.mean, rel=1e-12, abs=1e-12)
    assert ((means >= edges[:-1]) & (means <= edges[1:])).all()
    single = np.diff(edges) == 0
    inner = np.flatnonzero(~(single | np.append(single[1:], False)))[:-1]
    levels = [float(exact_sum_cdf(x, y, edge)) for edge in edges[inner + 1]]
    np.testing.assert_allclose(np.cumsum(masses)[inner], levels, atol=1e-12)


def test_edges_equidistribute_the_error():
    """Of a triangular density, whose slope is the same everywhere, edges are even; of a normal sum as its curvature."""
    edges = place_edges(SumLaw(UNIT, UNIT), 20)
    np.testing.assert_allclose(np.diff(edges), 0.1, atol=0.04)
    normal = stats.norm(0, 1)
    knots = np.linspace(-6, 6, 601)
    edges = place_edges(pieces(knots, np.diff(normal.cdf(knots))), 50)
    z = np.linspace(-6, 6, 100_001)
    chords = np.interp(z, edges, normal.cdf(edges))
    errors = np.abs(chords - normal.cdf(z))
    # Integrating sqrt|f'| gives the least possible largest error, (integral)^2/(8 n^2) = 4.79/20000.
    assert errors.max() < 2 * 4.79 / 20_000


# Schopf's own arithmetic: the paper's equations 3 to 6.
def test_intermediate_results_and_masses_spread_evenly():
    """Equation 5, whose [6, 11] is printed as [6, 1]; probabilities per unit are 0.0375, 0.02, 0.1125 and 0.06."""
    histogram = representation_named("histogram")
    d, e = histogram([1, 3, 5], [0.25, 0.75]).bins, histogram([2, 4, 5, 8], [0.6, 0, 0.4]).bins
    intervals, masses = intermediate_results("add", d, e)
    assert intervals.tolist() == [[3, 7], [6, 11], [5, 9], [8, 13]]
    assert masses == pytest.approx([0.15, 0.1, 0.45, 0.3])
    spread = spread_evenly(intervals, masses, np.array([3.0, 5, 6, 7, 8, 9, 13]))
    assert spread == pytest.approx([0.075, 0.15, 0.17, 0.1325, 0.1925, 0.28])
    found = cartesian("maximum", [d, histogram([3, 3], [1]).bins], 2)
    assert found.edges.tolist() == [3, 4, 5]
    assert found.masses == pytest.approx([0.625, 0.375])


def test_the_error_of_a_reciprocal_counts_divisors_below_zero():
    """P(1/Y <= v) in closed form: Y >= 1/v or Y < 0 if v > 0, else 1/v <= Y < 0."""
    found = reciprocal_of_normal(Moments(1.0, 0.0), Moments(1.0, 0.8), 0.0)
    scores = np.linspace(-5.0, 5.0, 1001)
    v = found.mean + found.std * scores
    below, at_least = stats.norm.cdf(0.0, 1.0, 0.8), stats.norm.sf(1.0 / v, 1.0, 0.8)
    truth = np.where(v > 0.0, below + at_least, below - stats.norm.cdf(1.0 / v, 1.0, 0.8))
    assert found.error == pytest.approx(np.abs(truth - stats.norm.cdf(scores)).max(), rel=0.01)
