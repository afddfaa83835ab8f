"""Functions by name or formula: values against numpy, and what is refused."""

import numpy as np
import pandas as pd
import pytest
from formula_texts import EQUATION_3

import perfcore
from perfcore.contracts import Function
from perfcore.hooks.registry import registry

OF_TIME = {"reciprocal": lambda t: 1 / (1 + t), "log": np.log1p, "exp": lambda t: np.exp(-t)}
PROCESSORS = np.array([1.0, 2.0, 3.0, 25.0, 1024.0, 1e6])
TIMES = np.array([0.0, 1e-3, 1.0, 7.0, 300.0])


@pytest.mark.parametrize("name", EQUATION_3)
def test_the_functions_of_equation_3(name):
    function = registry().load("functions", name)()
    np.testing.assert_allclose(function({"p": PROCESSORS}), EQUATION_3[name](PROCESSORS), rtol=1e-14)
    assert function.name == function.formula == name


@pytest.mark.parametrize("name", OF_TIME)
def test_the_functions_of_time(name):
    function = registry().load("functions", name)()
    # The sum 1 + t rounds to 2^-53 of its size.
    np.testing.assert_allclose(function({"t": TIMES}), OF_TIME[name](TIMES), rtol=1e-15, atol=2.0**-52)
    assert function.variables == ("t",)


def test_functions_are_of_processors_or_of_time():
    variables = {name: entry.load().variables for name, entry in registry().entries("functions").items()}
    assert all(issubclass(registry().load("functions", name), Function) for name in variables)
    assert variables == {
        **dict.fromkeys(EQUATION_3, ("p",)), "1": (), **dict.fromkeys(OF_TIME, ("t",)),
    }  # fmt: skip
    # A constant is no law of a number that was varied, nor is a function of another one.
    table = pd.DataFrame({"p": [1.0, 2, 4, 8, 16], "time_s": [16.1, 8.3, 4.2, 2.3, 1.4]})
    ranking = perfcore.rank(table, fitter="individual", terms=1)
    assert {name for candidate in ranking.candidates for name in candidate.functions} == set(EQUATION_3)


@pytest.mark.parametrize(("text", "values"), [
    ("p^(2/3)*log2(p)", lambda p, n: p ** (2 / 3) * np.log2(p)),
    (" 1 / p ", lambda p, n: 1 / p), ("n^3/p + sqrt(n)", lambda p, n: n**3 / p + np.sqrt(n)),
    ("max(p,4)", lambda p, n: np.maximum(p, 4)), ("2.5", lambda p, n: np.full_like(p, 2.5)),
])  # fmt: skip
def test_a_formula_is_a_function_of_a_model(text, values):
    """Times that are three times a formula are so elsewhere."""
    p, n = (each.ravel() for each in np.meshgrid([2.0, 3.0, 25.0, 1024.0], [64.0, 200.0, 408.0]))
    table = pd.DataFrame({"p": p, "n": n, "time_s": 3.0 * values(p, n)})
    parameter = "p,n" if "n" in text else "p"
    where = {} if "n" in text else {"where": "n=64"}
    model = perfcore.fit(table, fitter="individual", parameter=parameter, functions=text, **where)
    far = {"p": np.array([1.0, 7.0, 5000.0]), "n": np.array([10.0, 100.0, 1000.0])}
    points = {name: far[name] for name in model.columns}
    assert model.predict(points) == pytest.approx(3.0 * values(**far), rel=1e-12)
