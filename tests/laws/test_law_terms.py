"""Terms of scaling laws: their text is what they compute, and their slope how they grow."""

import math
from fractions import Fraction

import numpy as np
import pytest

from perf_formulas.formula import Formula
from perf_laws.evidence.terms import COMMON, DEFAULT_EXPONENTS, Term, generic_terms

LEVELS = np.array([1.0, 2.0, 3.0, 7.5, 64.0, 1e6, 1e12])


@pytest.mark.parametrize("term", generic_terms(), ids=lambda term: term.text("p"))
def test_text_and_values_are_the_same_function(term):
    """The formula parser knows nothing of terms."""
    assert term.values(LEVELS) == pytest.approx(Formula(term.text("p")).evaluate({"p": LEVELS}), rel=1e-12)


@pytest.mark.parametrize("symbol", ["n", "cells_per_side", "log2x"])
def test_text_in_any_symbol(symbol):
    for term in COMMON:
        formula = Formula(term.text(symbol))
        assert formula.names == (symbol,)
        assert formula.evaluate({symbol: LEVELS}) == pytest.approx(term.values(LEVELS), rel=1e-12)


def test_no_two_terms_are_the_same_function():
    terms = generic_terms()
    values = np.array([term.values([3.0, 10.0, 1e3]) for term in terms])
    closest = min(np.abs(values[i] / values[k] - 1.0).max() for i in range(len(terms)) for k in range(i))
    assert closest > 1e-3
    assert len({term.text("p") for term in terms}) == len(terms)


def test_the_default_terms():
    """All quarters and thirds from -2 to 3 with three logarithms each, less the constant."""
    usual = {Fraction(k, part) for part in (3, 4) for k in range(-2 * part, 3 * part + 1)}
    assert usual <= set(DEFAULT_EXPONENTS)
    assert (min(DEFAULT_EXPONENTS), max(DEFAULT_EXPONENTS)) == (-2, 3)
    assert list(DEFAULT_EXPONENTS) == sorted(set(DEFAULT_EXPONENTS))
    assert {term.logarithm for term in generic_terms()} == {0, 1, 2}
    assert len(generic_terms()) == len(DEFAULT_EXPONENTS) * 3 - 1
    assert Term(Fraction(0), 0) not in generic_terms()
    assert set(COMMON) <= set(generic_terms())
    assert len(set(COMMON)) == len(COMMON)


@pytest.mark.parametrize("n", [2.0, 16.0, 1e4])
def test_slope_is_the_logarithmic_derivative(n):
    """By central differences of log(term) over log(n)."""
    step = 1e-5
    for term in generic_terms():
        low, high = np.log(term.values([n * math.exp(-step), n * math.exp(step)]))
        assert term.slope(n) == pytest.approx((high - low) / (2.0 * step), rel=1e-6, abs=1e-6)


def test_falling_terms_go_to_zero():
    """At sizes where no logarithm keeps a falling power up any more."""
    for term in generic_terms():
        far, farther = term.values([1e50, 1e100])
        assert (farther < far) == term.falls
        assert (farther < 1e-10) == term.falls
