"""Terms of scaling laws: their text is what they compute."""

import itertools

import numpy as np
import pytest

from perf_formulas.formula import Formula
from perf_scaling.posterior.family import shapes_of
from perf_scaling.terms import Factor, product_text, product_values

LEVELS = np.array([1.0, 2.0, 3.0, 7.5, 64.0, 1e6, 1e12])
EXPONENTS = (-2.0, -4 / 3, -1.0, -0.5, -1 / 3, 0.0, 0.25, 0.44, 0.5, 2 / 3, 1.0, 1.3, 1.5, 7 / 4, 2.0, 3.0)


@pytest.mark.parametrize(("exponent", "logarithm"), list(itertools.product(EXPONENTS, (0, 1, 2))))
def test_text_and_values_are_the_same_function(exponent, logarithm):
    """The formula parser knows nothing of terms."""
    if not (exponent or logarithm):
        return
    factors = [Factor("p", exponent, logarithm)]
    found = Formula(product_text(factors, {"p": "ranks"})).evaluate({"ranks": LEVELS})
    assert product_values(factors, {"p": LEVELS}) == pytest.approx(found, rel=1e-12)


def test_text_of_a_product():
    factors = [Factor("cells", 1.5, 0), Factor("p", -1.0, 0), Factor("n", 1 / 3, 1)]
    assert product_text(factors, {"cells": "cells", "p": "ranks", "n": "n"}) == "cells^(3/2)*n^(1/3)*log2(n)/ranks"


def test_shapes_are_positive_and_no_two_of_a_group_are_the_same():
    shapes = shapes_of([4.0, 8, 16, 32, 64])
    assert np.isfinite(shapes.logs).all()
    assert np.exp(np.logaddexp.reduce(shapes.log_weight[shapes.group == 5])) == pytest.approx(1.0)
    centred = shapes.logs - shapes.logs[:, :1]
    for group in range(10):
        own = centred[shapes.group == group].round(9)
        weight = len(np.unique(own, axis=0)) / len(own)
        assert weight > 0.75  # powers on two grids meet


@pytest.mark.parametrize("levels", [[1.0, 2, 4], [0.25, 0.5, 1, 2], [1e12, 2e12, 4e12], [1000.0, 1001, 1002]])
def test_unusual_levels(levels):
    shapes = shapes_of(levels)
    assert len(shapes.group) > 100
    assert np.isfinite(shapes.logs).all()
    if min(levels) < 1.0:
        assert not shapes.logarithms.any()
