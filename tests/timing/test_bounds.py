"""Bounds of `individual` and `strohmaier` where the truth is outside of what they fit; weights that the data decide."""

import re

import numpy as np
import pandas as pd
import pytest

import perfcore
from perfcore.base.errors import UnknownNameError

P = np.array([4.0, 8.0, 16.0, 32.0, 64.0])


def series(seed, count=60, noise=0.03):
    """Sums of powers that no combination of the functions is: (p, times of each series at p)."""
    rng = np.random.default_rng(seed)
    fall, grow = rng.uniform(0.6, 0.95, (count, 1)), rng.uniform(0.2, 0.7, (count, 1))
    share = rng.uniform(0.02, 0.6, (count, 1))
    p = np.append(P, 128.0)
    times = (p / 4.0) ** -fall + share * (p / 4.0) ** grow
    return p, times * np.exp(noise * rng.standard_normal(times.shape))


def table_of(p, times, system="one"):
    n, k = times.shape
    return pd.DataFrame({
        "code": np.repeat([f"c{i:02d}" for i in range(n)], k), "system": system, "p": np.tile(p, n),
        "time_s": times.ravel(),
    })  # fmt: skip


@pytest.mark.parametrize("seed", [1, 2])
def test_individual_bounds_hold_laws_that_no_combination_is(seed):
    """Bounds of the chosen formula alone, by Student's t, held 20 and 37 % of these; the largest p is left out."""
    p, times = series(seed)
    model = perfcore.fit(table_of(p[:-1], times[:, :-1]), fitter="individual")
    value, lower, upper = model.predict_array({"p": 128.0, "code": model.codes}, interval=0.95).T
    assert ((lower <= times[:, -1]) & (times[:, -1] <= upper)).mean() >= 0.9
    assert np.median((upper - lower) / 2 / value) < 0.8


def test_individual_bounds_of_one_pair_do_not_depend_on_the_unit_of_the_parameter():
    """Functions that are powers are the same in any unit of x; the size of a problem is not multiplied by the time."""
    p, times = series(3, count=1)
    table = pd.DataFrame({"cells": p, "time_s": times[0]})
    options = {"fitter": "individual", "functions": "1/p,p", "parameter": "cells"}
    expected = perfcore.fit(table, **options).predict_array([200.0], interval=0.9)
    kilo = perfcore.fit(table.assign(cells=p / 1e3), **options).predict_array([0.2], interval=0.9)
    np.testing.assert_allclose(kilo, expected, rtol=1e-6)


def test_two_degrees_of_freedom_are_left_where_functions_are_chosen():
    p, times = series(4, count=1)
    for n, most in ((3, 1), (4, 2), (5, 3)):
        table = pd.DataFrame({"p": p[:n], "time_s": times[0, :n]})
        model = perfcore.fit(table, fitter="individual")
        assert len(model.pairs[0].functions) <= most
        assert np.isfinite(model.predict_array([2 * p[n - 1]], interval=0.95)).all()
        assert len(perfcore.rank(table, fitter="individual").candidates[0].functions) <= most


def joint_table(seed, pair=0.25, drift=0.1, noise=0.03):
    """Work over speed, with an effect of each pair and a slope of its own; the largest p stands apart."""
    rng = np.random.default_rng(seed)
    rows = []
    for code in range(5):
        for system in range(4):
            off, slope = pair * rng.standard_normal(), drift * rng.standard_normal()
            p = np.append(P, 128.0)
            time = 3.0**code / (1.0 + system) * (16.0 / p + 0.2) * np.exp(off + slope * np.log(p / 16.0))
            noisy = time * np.exp(noise * rng.standard_normal(6))
            rows += [(f"c{code}", f"s{system}", *row) for row in zip(p, noisy, strict=True)]
    table = pd.DataFrame(rows, columns=["code", "system", "p", "time_s"])
    return table[table.p < 128.0], table[table.p == 128.0]


def test_joint_bounds_hold_what_a_pair_misses():
    """The largest p is left out: asymptotic bounds of the model alone, with equal weights, held 86 % within +-87 %."""
    held, width = [], []
    for seed in range(6):
        table, last = joint_table(seed)
        model = perfcore.fit(table, fitter="strohmaier", functions="1/p,1", starts=1, validate=False)
        value, lower, upper = model.predict_array(last.drop(columns="time_s"), interval=0.95).T
        held.append((lower <= last.time_s) & (last.time_s <= upper))
        width.append((upper - lower) / 2 / value)
    assert np.mean(held) >= 0.9
    assert np.median(width) < 0.7


def test_joint_bounds_are_wider_where_a_pair_was_not_measured():
    table, _ = joint_table(7)
    at = {"p": 16.0, "code": "c1", "system": "s2"}
    apart = table[(table.code != "c1") | (table.system != "s2")]
    widths = []
    for part in (table, apart):
        model = perfcore.fit(part, fitter="strohmaier", functions="1/p,1", starts=1, validate=False)
        _, lower, upper = model.predict_array(at, interval=0.95)[0]
        widths.append(np.log(upper / lower))
    assert widths[1] > 1.5 * widths[0]


def test_weights_are_relative_where_values_span_decades_and_the_model_says_so():
    table, _ = joint_table(8)
    wide = perfcore.fit(table, fitter="strohmaier", functions="1/p,1", starts=1, validate=False)
    assert wide.relative
    said = re.compile(r"weights: relative \(values span [\d,]+x, 5th to 95th percentile\)")
    assert any(said.search(line) for line in wide.report().lines)
    narrow = table.assign(time_s=table.time_s / 3.0 ** table.code.str[1:].astype(int))
    near = perfcore.fit(narrow, fitter="strohmaier", functions="1/p,1", starts=1, validate=False)
    assert not near.relative
    assert not any("weights:" in line for line in near.report().lines)


# Models of codes on systems see other measurements with the roles, rows and joining of their fit.
P_OF_OBSERVED = (1, 2, 4, 8, 16)
# Columns whose names tell nothing, so that only the options of the fit say what they are.
OPTIONS = {
    "parameter": "p=x", "value": "y", "unit": "s", "code": "a", "system": "b", "where": "kind=good",
    "aggregate": "minimum", "functions": "1/p,1",
}  # fmt: skip


def table(change=1.0):
    """Two runs of each pair at each point, the second 3 % longer; rows of another kind that are to be left out."""
    rows = [
        (a, b, x, kind, factor * change * (work / speed) * (1.0 / x + 0.05))
        for a, work in (("lu", 8.0), ("cg", 3.0))
        for b, speed in (("T3D", 1.0), ("SP2", 2.0))
        for x in P_OF_OBSERVED
        for kind, factor in (("good", 1.0), ("good", 1.03), ("bad", 9.0))
    ]
    return pd.DataFrame(rows, columns=["a", "b", "x", "kind", "y"])


@pytest.fixture(scope="module", params=["individual", "strohmaier"])
def model(request):
    return perfcore.fit(table(), fitter=request.param, **OPTIONS)


def test_columns_rows_and_joining_are_those_of_the_fit(model):
    seen = model.observed(table(1.5))
    assert len(seen.value) == 2 * 2 * len(P_OF_OBSERVED)
    assert seen.unit == "s"
    assert set(seen.points) == {"p", "code", "system"}
    shortest = {(row.a, row.b, row.x): row.y for row in table(1.5)[::3].itertuples()}  # the first of each three
    places = zip(seen.points["code"], seen.points["system"], seen.points["p"], strict=True)
    np.testing.assert_allclose(seen.value, [shortest[place] for place in places])


def test_verified_with_slower_runs_and_with_other_rows_when_told(model):
    """Half as long again: each prediction is 1/1.5 of what was measured."""
    np.testing.assert_allclose(perfcore.validate(model, table(1.5)).errors, 1.0 / 1.5 - 1.0, rtol=1e-6)
    np.testing.assert_allclose(perfcore.validate(model, table(), where="kind=bad").errors, 1.0 / 9.0 - 1.0, rtol=1e-6)


def test_a_code_that_the_model_does_not_have(model):
    with pytest.raises(UnknownNameError, match="unknown code 'ft'"):
        perfcore.validate(model, table().replace({"a": {"cg": "ft"}}))
