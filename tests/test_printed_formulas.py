"""Every printed formula of every fitter gives the predicted numbers, to the digits that it shows."""

import re

import numpy as np
import pandas as pd
import pytest
from result_kinds import golden

import perfcore


def evaluated(text, **values):
    """A formula as it is printed: coefficients stand before their terms."""
    product = re.sub(r"(?<=[\d.]) (?=[\w(])", "*", text)
    return perfcore.evaluate(product, values).value.mean


def lines_of(model):
    for line in model.formula.splitlines():
        name, _, formula = line.rpartition(" = ")
        yield name, formula


@pytest.mark.parametrize("point", [{"n": 64.0, "m": 4.0}, {"n": 1024.0, "m": 64.0}])
def test_scaling(point):
    model = golden("scaling")
    continued = {row.path: row.continued for row in model.at(point).rows}
    for (name, formula), (path, value) in zip(lines_of(model), ((p, continued[p]) for p in model.paths), strict=True):
        assert name == path
        assert evaluated(formula, **point) == pytest.approx(value, rel=2e-3)


@pytest.mark.parametrize("kind", ["rate", "power"])
def test_scaling_of_one_series(kind):
    """Of rates, whose formula is one over that of times, and of a power with an exponent that is no fraction."""
    p = np.array([1.0, 2, 4, 8, 16, 32])
    values = {"rate": 1.0 / (0.01 + 0.2 / p), "power": 3.0 * p**0.37}[kind]
    column = {"rate": "bandwidth [MB/s]", "power": "time_s"}[kind]
    model = perfcore.fit(pd.DataFrame({"p": p, column: values}), fitter="scaling", parameter="p", value=column)
    assert evaluated(model.formula, p=128) == pytest.approx(model.rows[0].continued, rel=2e-3)


@pytest.mark.parametrize("kind", ["lca", "modgen"])
def test_categories(kind):
    model = golden(kind)
    point = {name: {"p": 16.0, "P": 16.0, "D": 64.0}[name] for name in model.variables if name != "category"}
    for category, formula in lines_of(model):
        if category in model.levels["category"]:
            value = model.predict({**{name: [level] for name, level in point.items()}, "category": [category]})
            found = evaluated(formula, **{model.variables[n]: v for n, v in point.items()})
            assert found == pytest.approx(float(np.ravel(value)[0]), rel=1e-4)


def test_codes_on_systems():
    model = golden("individual")
    for name, formula in lines_of(model):
        code, system = name.split(" on ")
        value = model.predict({"p": [16.0], "code": [code], "system": [system]})
        assert evaluated(formula, p=16.0) == pytest.approx(float(np.ravel(value)[0]), rel=1e-4)


@pytest.mark.parametrize("kind", ["phases", "worley"])
def test_phases(kind):
    model = golden(kind)
    for line in model.formula.splitlines():
        polynomial, start, end = re.fullmatch(r"(.*?)  for (\S+) <=? t <=? (\S+) us", line).groups()
        for t in np.linspace(float(start), float(end), 5)[1:-1].round():
            value = float(np.ravel(model.predict(np.array([t])))[0])
            assert evaluated(polynomial, t=t) == pytest.approx(value, rel=1e-3, abs=1e-4)


@pytest.mark.parametrize("fitter", ["regression", "usl"])
def test_regressions(fitter):
    p = np.array([1.0, 2, 4, 8, 16, 32])
    if fitter == "usl":
        data = pd.DataFrame({"load": p, "throughput": 50 * p / (1 + 0.03 * (p - 1) + 1e-4 * p * (p - 1))})
        model, name = perfcore.fit(data, fitter="usl"), "load"
    else:
        data = pd.DataFrame({"p": p, "time_s": 3 + 40 / p + 0.1 * np.sqrt(p)})
        model, name = perfcore.fit(data, fitter="regression", formula="a + b/p + c*sqrt(p)"), "p"
    formula = model.formula.rpartition(" = ")[2]
    value = float(np.ravel(model.predict({name: [24.0]}))[0])
    assert evaluated(formula, p=24.0) == pytest.approx(value, rel=2e-3)
