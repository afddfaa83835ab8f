"""Functions by name or formula: values against numpy, and what is refused."""

import numpy as np
import pytest

from perf_formulas.formula import find_function, functions_of
from perfcore.contracts import Function

# E. Strohmaier, "Statistical Performance Modeling: Case Study of the NPB 2.1 Results", equation 3.
EQUATION_3 = {
    "1/p^2": lambda p: p**-2.0,
    "1/p": lambda p: 1 / p,
    "log(p)/p": lambda p: np.log(p) / p,
    "1/sqrt(p)": lambda p: p**-0.5,
    "1": np.ones_like,
    "log(p)": np.log,
    "p": lambda p: p,
}
OF_TIME = {"reciprocal": lambda t: 1 / (1 + t), "log": np.log1p, "exp": lambda t: np.exp(-t)}
PROCESSORS = np.array([1.0, 2.0, 3.0, 25.0, 1024.0, 1e6])
TIMES = np.array([0.0, 1e-3, 1.0, 7.0, 300.0])


@pytest.mark.parametrize("name", EQUATION_3)
def test_the_functions_of_equation_3(name):
    function = find_function(name, ("p",))
    np.testing.assert_allclose(function({"p": PROCESSORS}), EQUATION_3[name](PROCESSORS), rtol=1e-14)
    assert function.name == function.formula == name


@pytest.mark.parametrize("name", OF_TIME)
def test_the_functions_of_time(name):
    function = find_function(name, ("t",))
    # The sum 1 + t rounds to 2^-53 of its size.
    np.testing.assert_allclose(function({"t": TIMES}), OF_TIME[name](TIMES), rtol=1e-15, atol=2.0**-52)
    assert function.variables == ("t",)


def test_functions_are_found_by_what_they_are_of():
    assert set(functions_of(("p",))) == set(EQUATION_3) - {"1"}
    assert set(functions_of(("p",), constant=True)) == set(EQUATION_3)
    assert set(functions_of(("t",))) == set(OF_TIME)
    assert set(functions_of(("n", "p"))) == set(EQUATION_3) - {"1"}
    assert functions_of((), constant=True) == ("1",)
    assert functions_of(("n",)) == ()
    assert list(functions_of(("p", "t"), constant=True)) == sorted({*EQUATION_3, *OF_TIME})


@pytest.mark.parametrize(
    ("text", "variables", "values"),
    [
        ("p^(2/3)*log2(p)", ("p",), lambda p, n: p ** (2 / 3) * np.log2(p)),
        (" 1 / p ", ("p",), lambda p, n: 1 / p),
        ("n^3/p + sqrt(n)", ("n", "p"), lambda p, n: n**3 / p + np.sqrt(n)),
        ("max(p,4)", ("p",), lambda p, n: np.maximum(p, 4)),
        ("2.5", (), lambda p, n: np.full_like(p, 2.5)),
    ],
)
def test_a_formula_is_a_function(text, variables, values):
    size = np.linspace(64, 408, len(PROCESSORS))
    function = find_function(text, ("p", "n"))
    assert isinstance(function, Function)
    assert set(function.variables) == set(variables)
    np.testing.assert_allclose(function({"p": PROCESSORS, "n": size}), values(PROCESSORS, size), rtol=1e-14)
