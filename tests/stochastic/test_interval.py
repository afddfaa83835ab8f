"""Intervals enclose: against exact rational arithmetic, and against many digits."""

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from perfcore.base.errors import DataError
from perfcore.stochastic import exp, log, maximum, minimum, power, representation_named, sqrt

Interval, Normal = map(representation_named, ("interval", "normal"))

NUMBERS = st.floats(-1e100, 1e100, allow_subnormal=False)


@st.composite
def intervals_with_a_member(draw, numbers=NUMBERS):
    """An interval, and a rational number inside."""
    low, high = sorted((draw(numbers), draw(numbers)))
    share = draw(st.fractions(0, 1))
    return Interval(low, high), Fraction(low) + share * (Fraction(high) - Fraction(low))


def encloses(interval, exact):
    return Fraction(interval.lower) <= exact <= Fraction(interval.upper)


@given(intervals_with_a_member(), intervals_with_a_member())
def test_exact_results_are_enclosed(first, second):
    (x, a), (y, b) = first, second
    assert encloses(x + y, a + b)
    assert encloses(x - y, a - b)
    assert encloses(x * y, a * b)
    assert encloses(maximum(x, y), max(a, b))
    assert encloses(minimum(x, y), min(a, b))
    assert encloses(abs(x), abs(a))
    assert encloses(-x, -a)


@given(intervals_with_a_member(), intervals_with_a_member())
def test_exact_quotients_are_enclosed(first, second):
    (x, a), (y, b) = first, second
    assume(not y.lower <= 0 <= y.upper)
    assume(max(abs(x.lower), abs(x.upper)) < 1e200 * min(abs(y.lower), abs(y.upper)))
    assert encloses(x / y, a / b)


@given(intervals_with_a_member(st.floats(-1e10, 1e10, allow_subnormal=False)), st.integers(0, 20))
def test_exact_powers_are_enclosed(first, exponent):
    x, a = first
    assert encloses(x**exponent, a**exponent)


@given(intervals_with_a_member(st.floats(0, 1e100, allow_subnormal=False)))
def test_exact_roots_are_enclosed(first):
    x, a = first
    root = sqrt(x)
    assert Fraction(root.lower) ** 2 <= a <= Fraction(root.upper) ** 2


@given(st.floats(1e-10, 700), st.floats(-20, 20, allow_subnormal=False))
def test_functions_of_the_library_are_enclosed(x, y):
    """Against forty digits."""
    with localcontext() as context:
        context.prec = 40
        digits = Decimal(x)
        for found, exact in ((exp(Interval(x, x)), digits.exp()), (log(Interval(x, x)), digits.ln())):
            assert Decimal(found.lower) <= exact <= Decimal(found.upper)
        if not y.is_integer():
            found, exact = power(Interval(x, x), Interval(y, y)), (digits.ln() * Decimal(y)).exp()
            # The reference has a relative error of its own, of its logarithm's last digit times the exponent.
            assert Decimal(found.lower) <= exact * (1 + Decimal("1e-34"))
            assert exact * (1 - Decimal("1e-34")) <= Decimal(found.upper)


def test_bounds_are_exact_where_floats_are():
    """Outward rounding moves nothing that needs no rounding."""
    assert (Interval(3, 5) * Interval(2, 4)).support == (6.0, 20.0)
    assert (Interval(1, 2) + Interval(0.25, 0.5)).support == (1.25, 2.5)
    assert (6 / Interval(1, 2)).support == (3.0, 6.0)
    assert sqrt(Interval(4, 9)).support == (2.0, 3.0)
    assert (Interval(0, 4) * 2).support == (0.0, 8.0)


def test_bounds_that_need_rounding_move_outward():
    tenth, fifth = Fraction(0.1), Fraction(0.2)
    found = Interval(0.1, 0.1) + Interval(0.2, 0.2)
    assert Fraction(found.lower) < tenth + fifth < Fraction(found.upper)
    assert found.upper == math.nextafter(found.lower, 1.0)


@pytest.mark.parametrize(
    ("operands", "operation", "expected"),
    [  # Neumaier, section 1.1, and squares, which are no products of independent values
        ((Interval(-2, 1), Interval(3, 4)), lambda x, y: x * y, (-8, 4)),
        ((Interval(-2, 1), Interval(-3, 4)), lambda x, y: x * y, (-8, 6)),
        ((Interval(1, 2), Interval(-4, -2)), lambda x, y: x / y, (-1, -0.25)),
        ((Interval(-2, 1),), lambda x: x**2, (0, 4)),
        ((Interval(-2, 1),), lambda x: x**3, (-8, 1)),
        ((Interval(-2, 1),), lambda x: x**0, (1, 1)),
        ((Interval(2, 4),), lambda x: x**-2, (0.0625, 0.25)),
        ((Interval(-2, 1),), abs, (0, 2)),
        ((Interval(-2, -1),), abs, (1, 2)),
    ],
)
def test_signs(operands, operation, expected):
    assert operation(*operands).support == expected


def test_what_has_no_bounds_is_cut_and_says_so():
    found, lost = Interval.convert(Normal(10, 2))
    assert found.support == (4.0, 16.0)
    assert "probability 0.0027" in lost
    assert (Interval(0, 1) + Normal(10, 2)).notes == (f"Normal(10 ± 2) taken as interval: {lost}",)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Interval(3, 2), "lower 3 is above upper 2; exchange them"),
        (lambda: Interval(0, math.inf), "must be finite"),
        (lambda: Interval("a", 2), "must be numbers"),
        (lambda: Interval(1, 2) / Interval(-1, 1), r"the divisor \[-1, 1\] contains 0"),
        (lambda: Interval(1, 2) ** Interval(-1, 1) + Interval(-1, 2) ** 0.5, "can be negative"),
        (lambda: Interval(0, 2) ** -0.5, "can be 0"),
        (lambda: Interval(0, 2) ** -1, "contains 0"),
        (lambda: log(Interval(0, 2)), "only values above 0"),
        (lambda: sqrt(Interval(-1, 2)), "negative values have no root"),
        (lambda: Interval(1e300, 1e300) * Interval(1, 1e300), "too large"),
        (lambda: exp(Interval(0, 1000)), "too large"),
    ],
)
def test_bad_input(make, message):
    with pytest.raises(DataError, match=message) as caught:
        make()
    assert len(str(caught.value).splitlines()) == 1
