"""Bounds of `lca` and `modgen` where the truth is none of the formulas, and what they must not depend on."""

import itertools

import numpy as np
import pandas as pd
import pytest

import perfcore

P, D = (1.0, 2.0, 4.0, 8.0, 16.0), (10.0, 20.0, 40.0, 80.0)


def table_of(seed, levels=P, sizes=D, noise=0.05):
    """Work that speeds up less and less, and waiting that grows: powers that are among no default models."""
    rng = np.random.default_rng(seed)
    fall, grow = rng.uniform(0.6, 0.9), rng.uniform(0.3, 0.6)
    rows = []
    for p, d in itertools.product((*levels, 2 * levels[-1]), sizes):
        parts = {"work": d**1.1 * p**-fall, "wait": 0.03 * d**0.7 * p**grow, "start": 0.5 + 0.02 * p**0.8}
        rows += [(p, d, name, time * np.exp(noise * rng.standard_normal())) for name, time in parts.items()]
    table = pd.DataFrame(rows, columns=["P", "D", "category", "time_s"])
    return table[levels[-1] >= table.P], table[levels[-1] < table.P].groupby(["P", "D"], as_index=False).time_s.sum()


def held(fitter, seeds, noise, **options):
    """Share of totals at twice the processors within 95 % bounds, and the median half-width."""
    inside, width = [], []
    for seed in seeds:
        table, last = table_of(seed, sizes=D if fitter == "modgen" else D[:1], noise=noise)
        model = perfcore.fit(table, fitter=fitter, **options)
        value, lower, upper = model.predict({name: last[name] for name in model.factors.values()}, interval=0.95).T
        inside += ((lower <= last.time_s) & (last.time_s <= upper)).tolist()
        width += ((upper - lower) / 2 / value).tolist()
    return np.mean(inside), np.median(width)


@pytest.mark.parametrize(
    ("fitter", "seeds", "noise", "least"), [("modgen", range(10), 0.05, 0.85), ("lca", range(40), 0.01, 0.92)]
)
def test_bounds_of_totals_hold_what_no_formula_is(fitter, seeds, noise, least):
    """At twice the largest P; bounds of the chosen formulas alone held 75 % (modgen) and 88 % (lca)."""
    options = {"modgen": {"parameter": "P,D"}, "lca": {"parameter": "P=P", "where": "D=10"}}[fitter]
    coverage, width = held(fitter, seeds, noise, **options)
    assert coverage >= least
    assert width < 0.6


def test_bounds_do_not_depend_on_the_order_of_rows_or_on_units():
    table, _last = table_of(3)
    at, options = (
        {"P": 32.0, "D": [20.0, 80.0], "category": ["total", "work"]},
        {"fitter": "modgen", "parameter": "P,D"},
    )
    expected = perfcore.fit(table, **options).predict(at, interval=0.9)
    shuffled = perfcore.fit(table.sample(frac=1, random_state=2), **options).predict(at, interval=0.9)
    np.testing.assert_allclose(shuffled, expected, rtol=1e-6)
    milli = table.assign(time_ms=1e3 * table.time_s).drop(columns="time_s")
    np.testing.assert_allclose(perfcore.fit(milli, **options).predict(at, interval=0.9), 1e3 * expected, rtol=1e-6)


def test_a_category_that_is_mostly_zero_has_no_bounds():
    table, _ = table_of(4, sizes=D[:1])
    rare = table[table.category == "wait"].assign(category="rare", time_s=[0.0, 0.0, 0.0, 0.0, 0.1])
    model = perfcore.fit(pd.concat([table, rare]), fitter="lca", parameter="P=P", where="D=10")
    bounds = model.predict({"P": [4.0, 4.0], "category": ["rare", "work"]}, interval=0.95)[:, 1:]
    assert np.isnan(bounds[0]).all()
    assert np.isfinite(bounds[1]).all()
