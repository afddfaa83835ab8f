"""The figures of the paper that follow from other figures in it, and the models that its tables describe.

E. Strohmaier, "Statistical Performance Modeling: Case Study of the NPB 2.1 Results". Its measurements are no longer to
be had; what its tables say about one another, and about models with their parameters, can be computed.
"""

import numpy as np
import pandas as pd
import pytest

import perfcore

# Total sums of squares: SP on the Cray T3D (Table 1), class A and class B (Tables 2 and 3).
SP_ON_T3D, CLASS_A, CLASS_B = 3677.85, 13937.17, 10769.02
# Functions, SSE, R^2, coefficients.
TABLE_1 = [
    (("log(p)/p", "1/p^2"), 26.13, 0.99289, (3.616, 64.056)), (("1/p", "1/sqrt(p)"), 26.40, 0.99282, (11.595, 0.558)),
    (("1/p", "1"), 28.06, 0.99237, (14.066, 0.027)), (("1/p", "log(p)/p"), 28.17, 0.99234, (6.443, 2.422)),
    (("1/p", "log(p)"), 29.18, 0.99206, (14.516, 0.005)), (("1/p", "p"), 35.41, 0.99037, (15.304, 0.000)),
]  # fmt: skip
TABLE_2 = {
    CLASS_A: [
        *((39.14, 0.99719), (47.04, 0.99663), (48.59, 0.99651)),
        *((52.39, 0.99624), (80.87, 0.99420), (103.91, 0.99254)),
    ],
    CLASS_B: [
        *((85.17, 0.99209), (95.44, 0.99114), (96.95, 0.99100)),
        *((99.15, 0.99079), (101.51, 0.99057), (124.63, 0.98843)),
    ],
}
TABLE_3 = {
    CLASS_A: [(130.28, 0.99065), (142.02, 0.98981), (146.24, 0.98951), (148.84, 0.98932), (261.88, 0.98121)],
    CLASS_B: [(134.73, 0.98749), (156.03, 0.98551), (179.27, 0.98335), (180.67, 0.98322), (185.13, 0.98281)],
}
CODES, SYSTEMS = ("BT", "LU", "SP", "MG"), ("SP2", "Paragon", "T3D", "PCArray")
# Table 4, a column for each model: r_1 of Paragon, T3D, PCArray; w_1 of BT, LU, SP, MG; then r_2 and w_2, with errors.
TABLE_4 = {
    ("A", "1"): "0.406 0.026 0.425 0.024 0.482 0.031  4.572 0.297 4.023 0.249 5.355 0.308 4.672 0.293 "
    "1.538 0.360 1.913 0.266 2.351 3.628  0.013 0.006 0.033 0.007 0.067 0.007 0.014 0.007",
    ("A", "1/sqrt(p)"): "0.370 0.032 0.410 0.031 0.408 0.037  4.009 0.365 3.506 0.297 4.120 0.337 3.970 0.347 "
    "1.221 0.233 1.106 0.126 3.878 4.918  0.172 0.056 0.319 0.064 0.753 0.071 0.235 0.067",
    ("A", "log(p)/p"): "0.365 0.041 0.466 0.047 0.372 0.041  3.714 0.416 3.430 0.367 3.521 0.389 3.408 0.373 "
    "1.012 0.200 0.699 0.079 4.037 3.781  0.480 0.114 0.577 0.126 1.535 0.154 0.750 0.132",
    ("B", "1"): "0.401 0.033 0.479 0.035 0.457 0.034  4.840 0.390 4.227 0.317 5.729 0.402 4.049 0.324 "
    "6.521 18.08 1.053 0.328 0.182 0.086  0.004 0.005 0.007 0.006 0.029 0.009 0.020 0.007",
    ("B", "1/sqrt(p)"): "0.382 0.038 0.541 0.053 0.452 0.041  4.563 0.426 4.268 0.386 5.166 0.460 3.455 0.375 "
    "2.902 3.864 0.537 0.143 0.343 0.126  0.089 0.044 0.059 0.047 0.306 0.081 0.260 0.075",
    ("B", "log(p)/p"): "0.381 0.042 0.669 0.102 0.445 0.042  4.306 0.413 4.309 0.403 4.987 0.475 3.161 0.368 "
    "1.888 1.829 0.335 0.088 0.422 0.132  0.271 0.086 0.158 0.087 0.615 0.155 0.548 0.143",
}
PARAMETERS = tuple(
    name
    for i in (1, 2)
    for name in (*(f"r_{i}^{system}" for system in SYSTEMS[1:]), *(f"w_{i}^{code}" for code in CODES))
)
# What is measured in a class: some 102 values (section 6), so about this many sizes for each of the 16 cells.
PROCESSORS = (4.0, 8.0, 16.0, 32.0, 64.0, 128.0)


def column_of(problem_class, second):
    """Estimates and standard errors by name."""
    values = np.array([float(word) for word in TABLE_4[problem_class, second].split()]).reshape(14, 2)
    return dict(zip(PARAMETERS, values[:, 0], strict=True)), dict(zip(PARAMETERS, values[:, 1], strict=True))


def table_of(second, estimates, noise=0.0, seed=0):
    """Times by the model 1/p and one other function of Table 4, with normal errors of t' = t p."""
    rng = np.random.default_rng(seed)
    rows = []
    for code in CODES:
        for system in SYSTEMS:
            delta = [estimates[f"w_{i}^{code}"] / estimates.get(f"r_{i}^{system}", 1.0) for i in (1, 2)]
            rows += [(code, system, p, delta[0] / p + delta[1] * function(second, p)) for p in PROCESSORS]
    table = pd.DataFrame(rows, columns=["code", "system", "p", "time"])
    return table.assign(time=table["time"] + noise * rng.standard_normal(len(table)) / table["p"])


def function(name, p):
    values = {
        **{"1": 1.0, "1/sqrt(p)": p**-0.5, "log(p)/p": np.log(p) / p},
        **{"1/p": 1 / p, "1/p^2": p**-2, "log(p)": np.log(p), "p": p},
    }
    return values[name]


def scaled_by_table_1(p):
    """t' = p (delta_1 u_1 + delta_2 u_2) of its models but the last, whose second coefficient has no digits."""
    return np.array([p * (a * function(u, p) + b * function(v, p)) for (u, v), _, _, (a, b) in TABLE_1[:-1]])


ROWS = [
    *((SP_ON_T3D, squares, printed) for _, squares, printed, _ in TABLE_1),
    *((total, *row) for table in (TABLE_2, TABLE_3) for total, rows in table.items() for row in rows),
]
# In these rows the digits printed for SSE give one more, or one less, in the last digit of R^2: 0.99290 (0.9928953),
# 0.99207 (0.9920660) and 0.99662 (0.9966249). Half a unit in the last digit of SSE accounts for all three.
OFF_BY_ONE = {26.13, 29.18, 47.04}


@pytest.mark.parametrize(("total", "squares", "printed"), ROWS)
def test_determination_coefficients_are_uncentered_ones(total, squares, printed):
    """Two times whose products with p have these sums of squares, about 0 and about their mean."""
    mean, half = np.sqrt((total - squares) / 2), np.sqrt(squares / 2)
    data = pd.DataFrame({"p": [1.0, 2.0], "time": [mean + half, (mean - half) / 2]})
    found = perfcore.fit(data, fitter="individual", functions="1/p").statistics
    assert (found["sse"], found["sst_uncentered"]) == (pytest.approx(squares), pytest.approx(total))
    rounded = round(found["r2_uncentered"], 5)
    assert rounded == (pytest.approx(printed, abs=1.01e-5) if squares in OFF_BY_ONE else printed)
    assert (rounded != printed) == (squares in OFF_BY_ONE)
    lowest, highest = 1 - (squares + 0.005) / (total - 0.005), 1 - (squares - 0.005) / (total + 0.005)
    assert lowest <= printed + 5e-6
    assert highest >= printed - 5e-6


@pytest.mark.parametrize(("n", "m"), [(4, 4), (2, 3), (3, 7)])
def test_numbers_of_parameters(n, m):
    """Section 5: fewer by the factor n m / (n + m - 1); for 4 codes on 4 systems 14 instead of 32 (section 6)."""
    p = np.array([1.0, 2.0, 4.0, 8.0])
    rows = [
        (f"c{c}", f"s{s}", x, (c + 2) * (10 / x + np.sin(c * s + x)) + s) for c in range(n) for s in range(m) for x in p
    ]
    data = pd.DataFrame(rows, columns=["code", "system", "p", "time"])
    single, joint = (
        perfcore.fit(data, fitter=name, functions="1/p,1", sign="any").statistics["n_parameters"]
        for name in ("individual", "strohmaier")
    )
    assert (single, joint) == (2 * n * m, 2 * (n + m - 1))
    assert single / joint == pytest.approx(n * m / (n + m - 1))
    assert (n, m) != (4, 4) or (single, joint) == (32, 14)


def test_the_functions_are_those_of_the_time_and_not_of_its_scaled_value():
    """SST over the mean square of t' is the number of measurements: a dozen or two as p u(p), thousands as u(p)."""
    processors = np.array([16.0, 32.0, 64.0, 128.0])
    squares = np.array([np.mean(scaled_by_table_1(p) ** 2) for p in processors])
    as_times, as_scaled = SP_ON_T3D / squares, SP_ON_T3D / (squares / processors**2)
    assert 10 < as_times.min() < as_times.max() < 20
    assert as_scaled.min() > 4000


@pytest.mark.parametrize("key", TABLE_4)
def test_table_4_is_recovered_from_times_that_it_describes(key):
    estimates, _ = column_of(*key)
    table = table_of(key[1], estimates)
    model = perfcore.fit(table, fitter="strohmaier", functions=["1/p", key[1]], reference="SP2", validate=False)
    found = {parameter.name: parameter.estimate for parameter in model.parameters}
    assert found == pytest.approx(estimates, rel=1e-6)
    assert model.statistics["status"] == "converged"


@pytest.mark.parametrize("second", ["1", "1/sqrt(p)", "log(p)/p"])
def test_the_pair_that_made_the_times_ranks_first(second):
    """With errors a tenth of the paper's; its SSE of 130 to 146 in class A is a standard deviation of about 1.2."""
    noisy = table_of(second, column_of("A", second)[0], noise=0.12, seed=1)
    ranking = perfcore.rank(noisy, fitter="strohmaier", terms=2)
    assert set(ranking.candidates[0].functions) == {"1/p", second}


def test_errors_of_table_4_follow_from_its_sum_of_squares():
    """SSE / (n - 14) of Table 3 and six sizes for each cell give the printed standard errors up to a factor of 2.1.

    Which sizes were measured is not known; the largest ratios are those of the speed that hardly any data determine.
    """
    estimates, errors = column_of("A", "1/sqrt(p)")
    noise = np.sqrt(130.28 / (96 - 14))
    table = table_of("1/sqrt(p)", estimates)
    exact = perfcore.fit(table, fitter="strohmaier", functions="1/p,1/sqrt(p)", reference="SP2", validate=False)
    jacobian = exact.weighted_problem().jacobian(exact.theta)
    covariance = noise**2 * np.linalg.inv(jacobian.T @ jacobian)
    for place, parameter in enumerate(exact.parameters):
        size = np.sqrt(covariance[place, place])
        if parameter.name.startswith("r"):
            size *= parameter.estimate**2  # of r = 1/v
        assert 1 / 2.1 < size / errors[parameter.name] < 2.1


def test_correlations_of_the_first_parameters_are_the_high_ones():
    """Section 6: 0.5 to 0.7 for the first parameters and much smaller for others; it depends on the sizes measured."""
    noisy = table_of("1/sqrt(p)", column_of("A", "1/sqrt(p)")[0], noise=1.26, seed=2)
    model = perfcore.fit(noisy, fitter="strohmaier", functions="1/p,1/sqrt(p)", reference="SP2", validate=False)
    correlation = np.abs(model.correlation)
    assert np.diag(correlation) == pytest.approx(np.ones(14))
    first = np.array(["_1^" in name for name in model.parameter_names])
    among_first = correlation[np.ix_(first, first)][np.triu_indices(7, 1)]
    others = correlation[np.ix_(~first, ~first)][np.triu_indices(7, 1)]
    assert np.median(among_first) > 0.5 > np.median(others)
