"""Evaluation: against distributions known in closed form, by each method."""

import math

import numpy as np
import pytest
from scipy import stats

import perfcore
from perf_structural import StructuralModel, StructuralModelError

UNIFORM = {"histogram": {"edges": [0.0, 1.0], "masses": [1.0]}}
ATOM = {"histogram": {"edges": [0, 0, 1], "masses": [0.1, 0.9]}}
ARITHMETIC, SAMPLING, ENCLOSURE = "arithmetic", "quasi-Monte Carlo", "interval arithmetic"


def predicted(equation, inputs, correlations=None, **options):
    return StructuralModel(equation, inputs=inputs, correlations=correlations or {}).predict(**options)


# Quantile functions of X, Y independent and uniform on [0, 1].
KNOWN = {
    "x*x": (lambda q: q**2, 1 / 3, math.sqrt(4 / 45), ARITHMETIC),
    "x - x": (lambda q: 0.0 * q, 0.0, 0.0, ARITHMETIC),
    "x + x": (lambda q: 2 * q, 1.0, math.sqrt(1 / 3), ARITHMETIC),
    "x*(1 - x)": (lambda q: (1 - (1 - q) ** 2) / 4, 1 / 6, math.sqrt(1 / 180), SAMPLING),
    "max(x, 1 - x)": (lambda q: (1 + q) / 2, 3 / 4, math.sqrt(1 / 48), SAMPLING),
    "x + y": (stats.triang(0.5, scale=2).ppf, 1.0, math.sqrt(1 / 6), ARITHMETIC),
    "max(x, y) + min(x, y)": (stats.triang(0.5, scale=2).ppf, 1.0, math.sqrt(1 / 6), SAMPLING),
    "max(x, y) - min(x, y)": (lambda q: 1 - np.sqrt(1 - q), 1 / 3, math.sqrt(1 / 18), SAMPLING),
    "max(x, y)": (np.sqrt, 2 / 3, math.sqrt(1 / 18), ARITHMETIC),
    "exp(x)": (np.exp, math.e - 1, math.sqrt((math.e**2 - 1) / 2 - (math.e - 1) ** 2), ARITHMETIC),
    "floor(3*x)": (lambda q: np.floor(3 * q), 1.0, math.sqrt(2 / 3), SAMPLING),
}


@pytest.mark.parametrize("equation", KNOWN)
def test_known_distributions(equation):
    quantile, mean, std, method = KNOWN[equation]
    prediction = predicted(equation, {"x": UNIFORM, "y": UNIFORM})
    assert prediction.evaluation.method.startswith(method)
    found = prediction.statistics
    assert found["mean"] == pytest.approx(mean, rel=1e-3, abs=1e-12)
    assert found["std"] == pytest.approx(std, rel=5e-3, abs=1e-12)
    for name, q in (("p05", 0.05), ("p50", 0.5), ("p95", 0.95)):
        assert found[name] == pytest.approx(float(quantile(np.float64(q))), abs=5e-3)


@pytest.mark.parametrize("equation", ["x + y", "x*y", "max(x, y)", "x/(y + 1)", "exp(x) + y", "sqrt(x)*y"])
def test_both_methods_agree(equation):
    """The sample's standard errors bound what it may differ by; arithmetic errs by its 400 bins."""
    inputs = {"x": UNIFORM, "y": {"histogram": {"edges": [1, 2, 4], "masses": [0.7, 0.3]}}}
    exact = predicted(equation, inputs, method="exact", bins=400).statistics
    sample = predicted(equation, inputs, method="sample")
    for name, error in sample.evaluation.errors.items():
        assert sample.statistics[name] == pytest.approx(exact[name], abs=6 * error + 1e-3)


def test_standard_errors_are_what_seeds_differ_by():
    """Over 40 seeds: the root mean square of the mean's true error, against what was said."""
    inputs = {"x": UNIFORM, "y": {"normal": [1.0, 0.3]}}
    found = [predicted("x*x*y + y", inputs, method="sample", samples=1024, seed=seed) for seed in range(40)]
    truth = 4 / 3  # E[x^2] E[y] + E[y]
    actual = math.sqrt(np.mean([(f.statistics["mean"] - truth) ** 2 for f in found]))
    said = math.sqrt(np.mean([f.evaluation.errors["mean"] ** 2 for f in found]))
    assert said == pytest.approx(actual, rel=0.5)
    assert actual < 0.3 * math.sqrt((0.3**2 + 4 / 45) / 1024)  # well below that of random sampling


def test_the_histogram_of_a_sample_keeps_its_mean_and_bins():
    prediction = predicted("x*(1 - x)", {"x": UNIFORM}, bins=7)
    assert prediction.value.mean == pytest.approx(prediction.statistics["mean"], rel=1e-9)
    assert len(prediction.value.to_dict()["masses"]) == 7


@pytest.mark.parametrize("r", [-1.0, -0.5, 0.0, 0.8, 1.0])
def test_correlated_normals(r):
    """Var(a + b) = 1 + 4 + 2 r 2, and E[ab] = 6 + 2 r."""
    inputs = {"a": {"normal": [2.0, 1.0]}, "b": {"normal": [3.0, 2.0]}}
    together = predicted("a + b", inputs, {"a,b": r}, method="sample").statistics
    assert together["mean"] == pytest.approx(5.0, abs=1e-3)
    assert together["std"] == pytest.approx(math.sqrt(5 + 4 * r), rel=2e-3, abs=1e-6)
    product = predicted("a*b", inputs, {"a,b": r}, method="sample").statistics
    assert product["mean"] == pytest.approx(6 + 2 * r, rel=1e-3)


@pytest.mark.parametrize(("equation", "correlations", "variance"), [
    ("sum_over(a)", {"a,a": 0.5}, 3 + 6 * 0.5),  # of n values n + n (n - 1) r
    ("sum_over(a + b)", {"a,b": 0.5, "a[1],a[2]": 0.25}, 6 + 2 * (3 * 0.5 + 0.25)),  # three pairs, and one of a
])  # fmt: skip
def test_correlated_copies_and_places_of_lists(equation, correlations, variance):
    inputs = {name: [{"normal": [0.0, 1.0]} for _ in range(3)] for name in "ab"}
    found = predicted(equation, inputs, correlations)
    assert found.evaluation.method.startswith(SAMPLING)
    assert found.statistics["std"] == pytest.approx(math.sqrt(variance), rel=2e-3)


def test_rank_correlation_of_a_copula():
    """Spearman's is 6/pi asin(r/2), whatever the margins: for two uniforms 12 E[xy] - 3."""
    found = predicted("x*y", {"x": UNIFORM, "y": UNIFORM}, {"x,y": 0.7}).statistics
    assert 12 * found["mean"] - 3 == pytest.approx(6 / math.pi * math.asin(0.35), abs=1e-3)


def test_intervals_are_enclosed():
    """x (1 - x) on [0, 1] lies in [0, 1/4]; seen twice, bounds are wider, and the notes say so."""
    found = predicted("x*(1 - x)", {"x": {"interval": [0.0, 1.0]}})
    low, high = found.value.support
    assert low <= 0.0
    assert high >= 0.25
    assert found.evaluation.method == ENCLOSURE
    assert any("'x' occurs more than once" in note and "may be wider" in note for note in found.notes)
    assert math.isnan(found.statistics["mean"])


@pytest.mark.parametrize(("equation", "message"), [
    ("x/(x - 0.5)", "the divisor x - 0.5 can be zero"), ("y/(1 - 2*x)*y", "the divisor -2.x . 1 can be zero"),
    ("max(x - 0.6, 0)/max(x - 0.5, 0)", r"the divisor max\(x . 0.5, 0\) can be zero: it was 0 to 0"),
    ("1/z0", "the divisor z0 can be zero: it was 0 to 1"), ("log(z0) + x", "is not defined everywhere"),
    ("max_over(z, 3*x)",
        r"max_over\(z\[1\], z\[2\], 3\*x\): the number of copies came to .* to 3; 1 to 2 is accepted"),
    ("log(x - 0.5)*x", "is not defined everywhere"), ("sqrt(x - 0.5)*x", "is not defined everywhere"),
])  # fmt: skip
def test_what_sampling_meets(equation, message):
    with pytest.raises(StructuralModelError, match=message):
        predicted(equation, {"x": UNIFORM, "y": UNIFORM, "z": [UNIFORM, UNIFORM], "z0": ATOM}, method="sample")


def test_an_unbounded_divisor_near_zero_is_noted():
    """A normal is below zero with probability Phi(-2) = 0.0228."""
    found = predicted("x/y + x", {"x": UNIFORM, "y": {"normal": [2.0, 1.0]}}, method="sample")
    (note,) = found.notes
    assert "the divisor y is beyond zero with probability 0.023" in note
    assert math.isnan(found.statistics["mean"])
    assert math.isnan(found.statistics["std"])
    assert found.statistics["p50"] > 0.5


@pytest.mark.parametrize(("equation", "divisor", "mean"), [
    ("1/y", {"histogram": {"edges": [0, 1, 3], "masses": [0.4, 0.6]}}, math.nan),
    ("1/y", {"exponential": [0, 2]}, math.nan),
    ("min(4, 1/y)", {"histogram": {"edges": [0, 1], "masses": [1]}}, 1 + math.log(4)),
    ("1/y", {"lognormal": [0, 1]}, math.exp(0.5)), ("1/y", {"gamma": [3, 3**0.5]}, 0.5),
])  # fmt: skip
def test_what_divides_by_zero_has_a_mean_where_its_tail_allows_one(equation, divisor, mean):
    """Of 1/U none; of what is bounded, or of 1/x for a lognormal or gamma x, the integral."""
    found = predicted(equation, {"y": divisor}, method="sample").statistics["mean"]
    assert found == pytest.approx(mean, rel=0.01, nan_ok=True)


def test_many_inputs_are_drawn_in_pieces():
    """The sum of 600 uniforms: mean 300, variance 50."""
    inputs = {"x": {**UNIFORM, "replicate": {"i": 600}}}
    found = predicted("sum_over(x)", inputs, method="sample", samples=2**16).statistics
    assert found["mean"] == pytest.approx(300.0, rel=1e-4)
    assert found["std"] == pytest.approx(math.sqrt(50.0), rel=0.02)


# Formulas seen as a whole: equal parts are one quantity, so that what occurs once can be evaluated exactly.
BETWEEN_1_AND_2 = {name: {"histogram": {"edges": [1.0, 2.0], "masses": [1.0]}} for name in "xyz"}


@pytest.mark.parametrize(("text", "same"), [
    ("x - x", "0"), ("x*x", "x^2"), ("x/x", "1"), ("x + x", "2*x"), ("max(x, x)", "x"),
    ("min(x, min(y, x))", "min(y, x)"), ("max(x, min(x, y))", "x"), ("min(max(y, x), y)", "y"),
    ("max(3, max(x, 5))", "max(x, 5)"), ("(x + y) - x", "y"), ("2*(x + y) - y - y", "2*x"), ("x*y/x", "y"),
    ("x^3/x", "x*x"), ("(x*y)^2", "x^2*y^2"), ("x^0", "1"), ("0*x", "0"), ("-(-x)", "x"), ("-x + y", "y - x"),
    ("x^0.5", "sqrt(x)"), ("exp(x)*exp(x)", "exp(x)^2"), ("log(x + y) - log(y + x)", "0"),
    ("max(x, y)/max(y, x)", "1"), ("x*(y + z)/(z + y)", "x"), ("(x + 1) + 2", "x + 3"), ("2*x*3", "x*6"),
    ("x/2", "0.5*x"), ("x == x", "1"), ("x + y < y + x", "0"), ("2^x", "exp(log(2)*x)"), ("log2(8*1) + x", "x + 3"),
])  # fmt: skip
def test_equal_expressions_are_one(text, same):
    one, other = (perfcore.evaluate(each, BETWEEN_1_AND_2, method="exact").value for each in (text, same))
    assert one.support == other.support
    levels = np.linspace(0.0, 1.0, 21)
    assert one.quantile(levels) == pytest.approx(other.quantile(levels), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize(("text", "twice"), [
    ("x + y*z", []), ("x*x + y", []), ("(x + y)^2", []), ("x*(1 - x)", ["x"]), ("x*y + x*z", ["x"]),
    ("max(x, y) + min(x, y)", ["x", "y"]),
    ("sqrt(x)*x", ["x"]),  # not x^1.5 without saying that a root needs x >= 0
    ("(x + y - y)*z/(x/x)", []),
])  # fmt: skip
def test_what_occurs_twice(text, twice):
    if not twice:
        assert perfcore.evaluate(text, BETWEEN_1_AND_2, method="exact").value.has_distribution
        return
    more = f", and so do {len(twice) - 1} others" if len(twice) > 1 else ", so"
    with pytest.raises(StructuralModelError, match=f"'{twice[0]}' occurs more than once in .*{more}"):
        perfcore.evaluate(text, BETWEEN_1_AND_2, method="exact")


def test_a_root_is_not_squared_away():
    """sqrt(x)^2 is x for x >= 0 only; that a negative x has no root must still be found."""
    even = {"histogram": {"edges": [-1.0, 1.0], "masses": [1.0]}}
    with pytest.raises(StructuralModelError, match="not defined everywhere"):
        perfcore.evaluate("sqrt(x)*sqrt(x)", {"x": even}, method="sample")
