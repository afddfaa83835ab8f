"""Regressions against statsmodels' own numbers, NIST's certified values, refits without a run, and simulations."""

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from scipy import optimize, stats
from statsmodels.tools.eval_measures import aicc

import perfcore
from perf_formulas.formula import FormulaFunction
from perf_formulas.parametric import derivative
from perf_formulas.parser import Parser, value_of
from perfcore.base.errors import PerfError
from perfcore.hooks.registry import registry

NIST = Path(__file__).parents[1] / "least_squares" / "nist"
POLYNOMIAL = "+".join(f"B{k}*x^{k}" for k in range(11))
LINEAR = {
    "norris": "B0 + B1*x",
    "pontius": "B0 + B1*x + B2*x^2",
    "noint1": "B1*x",
    "noint2": "B1*x",
    "filip": POLYNOMIAL,
    "longley": "B0 + " + " + ".join(f"B{k}*x{k}" for k in range(1, 7)),
    **{f"wampler{k}": POLYNOMIAL.partition("+B6")[0] for k in range(1, 6)},
}
EXPONENTIALS = "b1*exp(-b2*x1) + b3*exp(-b4*x1) + b5*exp(-b6*x1)"
RATIONAL = "(b1 + b2*x1 + b3*x1^2 + b4*x1^3)/(1 + b5*x1 + b6*x1^2 + b7*x1^3)"
NONLINEAR = {
    "Misra1a": "b1*(1 - exp(-b2*x1))",
    "Chwirut2": "exp(-b1*x1)/(b2 + b3*x1)",
    "Lanczos1": EXPONENTIALS,
    "Lanczos3": EXPONENTIALS,
    "Gauss1": "b1*exp(-b2*x1) + b3*exp(-(x1 - b4)^2/b5^2) + b6*exp(-(x1 - b7)^2/b8^2)",
    "DanWood": "b1*x1^b2",
    "Kirby2": "(b1 + b2*x1 + b3*x1^2)/(1 + b4*x1 + b5*x1^2)",
    "Hahn1": RATIONAL,
    "Thurber": RATIONAL,
    "Nelson": "b1 - b2*x1*exp(-b3*x2)",
    "MGH17": "b1 + b2*exp(-x1*b4) + b3*exp(-x1*b5)",
    "MGH09": "b1*(x1^2 + x1*b2)/(x1^2 + x1*b3 + b4)",
    "MGH10": "b1*exp(b2/(x1 + b3))",
    "BoxBOD": "b1*(1 - exp(-b2*x1))",
    "Rat42": "b1/(1 + exp(b2 - b3*x1))",
    "Rat43": "b1/(1 + exp(b2 - b3*x1))^(1/b4)",
    "Eckerle4": "b1/b2*exp(-0.5*((x1 - b3)/b2)^2)",
    "Bennett5": "b1*(b2 + x1)^(-1/b3)",
}


def digits(found, certified):
    """Least number of matching digits of all; a certified 0 counts as an absolute error."""
    certified = np.asarray(certified)
    error = np.abs(np.asarray(found) - certified) / np.where(certified == 0.0, 1.0, np.abs(certified))
    return float(-np.log10(np.maximum(error, 1e-15)).min())


@pytest.mark.parametrize("name", LINEAR)
def test_nist_linear(name):
    data = pd.read_csv(NIST / "linear" / f"{name}.csv")
    rows = pd.read_csv(NIST / "linear" / "certified.csv").query("problem == @name").set_index("parameter")
    model = perfcore.fit(data, fitter="regression", formula=LINEAR[name], value="y")
    certified = rows.loc[[parameter.name for parameter in model.parameters]]
    found = [[p.estimate for p in model.parameters], [p.standard_error for p in model.parameters]]
    print(name, digits(found[0], certified["estimate"]), digits(found[1], certified["standard_deviation"]))
    assert digits(found[0], certified["estimate"]) > 7
    assert digits(found[1], certified["standard_deviation"]) > 7
    assert digits(model.statistics["residual_error"], rows.loc["residual", "standard_deviation"]) > 7


@pytest.mark.parametrize("start", [0, 1])
@pytest.mark.parametrize("name", NONLINEAR)
def test_nist_nonlinear(name, start):
    lines = (NIST / "nonlinear" / f"{name}.dat").read_text().splitlines()
    number = r"[-+]?[\d.]+(?:[eE][-+]?\d+)?"
    rows = [re.findall(number, line.split("=")[1]) for line in lines if re.match(r"\s*b\d+ =.*", line)]
    values = np.array(rows, dtype=float)
    begin = int(next(re.findall(r"\d+", line)[0] for line in lines if line.strip().startswith("Data   ")))
    data = np.array([line.split() for line in lines[begin - 1 :] if line.strip()], dtype=float)
    table = pd.DataFrame(data, columns=["y", "x1", "x2"][: data.shape[1]])
    if name == "Nelson":
        table["y"] = np.log(table["y"])
    starts = {f"b{k + 1}": value for k, value in enumerate(values[:, start])}
    model = perfcore.fit(table, fitter="regression", formula=NONLINEAR[name], value="y", start=starts)
    order = [int(parameter.name[1:]) - 1 for parameter in model.parameters]
    assert digits([p.estimate for p in model.parameters], values[order, 2]) > 8
    if name != "Lanczos1":  # its residuals are near the rounding of its data
        assert digits([p.standard_error for p in model.parameters], values[order, 3]) > 7
