"""Classes of growth and local exponents, against laws whose growth is known."""

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import perfcore
from perf_scaling.growth import CLASSES, SURE, class_of, growths, slope_points
from perf_scaling.terms import Factor, Term
from perfcore.base.errors import UnknownNameError

LEVELS = np.array([4.0, 8, 16, 32, 64])
TARGET = 256.0
LAWS = {
    "falling": lambda p: 10 + 1000 / p,
    "constant": lambda p: np.full_like(p, 7.0),
    "logarithmic": lambda p: 1 + np.log2(p),
    "sublinear": lambda p: 1 + np.sqrt(p),
    "linear": lambda p: 1 + 0.5 * p,
    "n log n": lambda p: 1 + 0.2 * p * np.log2(p),
    "subquadratic": lambda p: 1 + 0.1 * p**1.5,
    "quadratic": lambda p: 1 + 0.01 * p**2,
    "superquadratic": lambda p: 1 + 0.001 * p**3,
}


@pytest.fixture(scope="module")
def model():
    """One path for each class, runs without noise."""
    rows = [(p, name, law(np.array([p]))[0]) for name, law in LAWS.items() for p in LEVELS]
    return perfcore.fit(pd.DataFrame(rows, columns=["p", "function", "time_s"]), fitter="scaling", at=f"p={TARGET}")


def test_each_class_is_recognised(model):
    """Or the next one: n log n and a power a little above 1 are the same over a factor of 16."""
    found = [CLASSES.index(growth.name) for growth in growths(model)]
    assert np.abs(np.array(found) - np.arange(len(CLASSES))).max() <= 1
    assert sum(k == number for k, number in enumerate(found)) >= 7


def test_the_exponent_is_the_slope_of_the_true_law(model):
    """d log value / d log p of the law itself, between the largest level and the target."""
    for path, growth in zip(model.paths, growths(model), strict=True):
        values = LAWS[path](np.array([64.0, TARGET]))
        slope = np.log(values[1] / values[0]) / np.log(TARGET / 64.0)
        assert growth.exponent == pytest.approx(slope, abs=0.2), path  # what noise of 1 % and drift leave open
        assert growth.low <= growth.exponent <= growth.high


def test_what_is_sure_is_said_of_what_is_not(model):
    """A class, or a bound on one or both sides; nine classes, of which a statement names one or two."""
    for growth in growths(model):
        if growth.probability >= SURE:
            assert growth.statement == growth.name
        else:
            words = growth.statement.removeprefix("at least ").removeprefix("at most ")
            assert words == "not determined" or all(word in CLASSES for word in words.split(" to "))


@pytest.mark.parametrize(
    ("terms", "name"),
    [
        ([], "constant"),
        ([("-1", 0)], "falling"),
        ([("-1/3", 2)], "falling"),
        ([("-1", 0), ("0", 1)], "logarithmic"),
        ([("2/3", 2)], "sublinear"),
        ([("1", 0), ("-2", 0)], "linear"),
        ([("1", 2)], "n log n"),
        ([("7/6", 0)], "subquadratic"),
        ([("5/3", 1)], "subquadratic"),
        ([("2", 0)], "quadratic"),
        ([("2", 1)], "superquadratic"),
        ([("9/4", 0)], "superquadratic"),
    ],
)
def test_the_class_is_that_of_the_fastest_term(terms, name):
    law = tuple(Term(1.0, (Factor("p", float(Fraction(exponent)), logarithm),)) for exponent, logarithm in terms)
    assert CLASSES[class_of(law, "p")] == name


def test_factors_of_other_parameters_do_not_count():
    law = (Term(2.0, (Factor("p", -1.0, 0), Factor("n", 1.5, 0))),)
    assert CLASSES[class_of(law, "p")] == "falling"
    assert CLASSES[class_of(law, "n")] == "subquadratic"


@pytest.mark.parametrize(("target", "levels"), [(256, (64, 256)), (64, (4, 64)), (16, (4, 16)), (4, (64, 4))])
def test_the_slope_ends_at_the_target(target, levels):
    data = pd.DataFrame({"p": LEVELS, "time_s": 1 + LEVELS})
    model = perfcore.fit(data, fitter="scaling", at=f"p={target}")
    assert slope_points(model, "p").ravel().tolist() == list(levels)


def test_what_is_sure_is_right():
    """Over 400 functions drawn as in the benchmark: nine of ten statements hold the true class, less 4.5 % chance."""
    rng = np.random.default_rng(77)
    orders = [(i, j) for i in range(13) for j in range(3) if (i, j) != (0, 0)]
    rows, true = [], {}
    for k in range(400):
        i, j = orders[rng.integers(len(orders))] if rng.uniform() > 0.1 else (0, 0)
        share = rng.uniform(0.3, 0.99)
        term = LEVELS ** (i / 4) * np.log2(LEVELS) ** j
        values = (1 - share + share * term / term[-1])[:, None] * (1 + 0.05 * rng.standard_normal((5, 5)))
        rows += [(p, f"f{k}", y) for p, own in zip(LEVELS, values, strict=True) for y in own]
        law = (Term(1.0, (Factor("p", i / 4, j),)),) if (i, j) != (0, 0) else ()
        true[f"f{k}"] = class_of(law, "p")
    model = perfcore.fit(pd.DataFrame(rows, columns=["p", "function", "time_s"]), fitter="scaling", at="p=256")
    right = []
    for growth, path in zip(growths(model), model.paths, strict=True):
        statement = growth.statement
        ends = statement.removeprefix("at least ").removeprefix("at most ").split(" to ")
        if statement == "not determined":
            continue
        low, high = CLASSES.index(ends[0]), CLASSES.index(ends[-1])
        low, high = (0 if statement.startswith("at most") else low), (8 if statement.startswith("at least") else high)
        right.append(low <= true[path] <= high)
    assert len(right) > 300
    assert np.mean(right) >= 0.855


def test_growth_over_each_of_two_parameters():
    rows = [(p, n, 1 + 3 * n**2 / p) for p in LEVELS for n in (10.0, 20, 40, 80)]
    model = perfcore.fit(pd.DataFrame(rows, columns=["p", "n", "time_s"]), fitter="scaling", parameter="p,n")
    (over_p,), (over_n,) = (growths(model, symbol) for symbol in model.symbols)
    assert (over_p.name, over_n.name) == ("falling", "quadratic")
    assert over_n.exponent == pytest.approx(2.0, abs=0.1)
    assert over_p.exponent == pytest.approx(-1.0, abs=0.1)


def test_a_parameter_that_the_model_does_not_have(model):
    with pytest.raises(UnknownNameError, match="parameter 'q'"):
        growths(model, "q")
