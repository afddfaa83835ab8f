"""Models of codes on systems see other measurements with the roles, rows and joining of their fit."""

import numpy as np
import pandas as pd
import pytest

import perfcore
from perfcore.base.errors import UnknownNameError

P = (1, 2, 4, 8, 16)
# Columns whose names tell nothing, so that only the options of the fit say what they are.
OPTIONS = {
    "parameter": "p=x",
    "value": "y",
    "unit": "s",
    "code": "a",
    "system": "b",
    "where": "kind=good",
    "aggregate": "minimum",
    "functions": "1/p,1",
}


def table(change=1.0):
    """Two runs of each pair at each point, the second 3 % longer; rows of another kind that are to be left out."""
    rows = [
        (a, b, x, kind, factor * change * (work / speed) * (1.0 / x + 0.05))
        for a, work in (("lu", 8.0), ("cg", 3.0))
        for b, speed in (("T3D", 1.0), ("SP2", 2.0))
        for x in P
        for kind, factor in (("good", 1.0), ("good", 1.03), ("bad", 9.0))
    ]
    return pd.DataFrame(rows, columns=["a", "b", "x", "kind", "y"])


@pytest.fixture(scope="module", params=["individual", "strohmaier"])
def model(request):
    return perfcore.fit(table(), fitter=request.param, **OPTIONS)


def test_columns_rows_and_joining_are_those_of_the_fit(model):
    seen = model.observed(table(1.5))
    assert len(seen.value) == 2 * 2 * len(P)
    assert seen.unit == "s"
    assert set(seen.points) == {"p", "code", "system"}
    shortest = {(row.a, row.b, row.x): row.y for row in table(1.5)[::3].itertuples()}  # the first of each three
    places = zip(seen.points["code"], seen.points["system"], seen.points["p"], strict=True)
    np.testing.assert_allclose(seen.value, [shortest[place] for place in places])


def test_verified_with_slower_runs(model):
    """Half as long again: each prediction is 1/1.5 of what was measured."""
    np.testing.assert_allclose(perfcore.validate(model, table(1.5)).errors, 1.0 / 1.5 - 1.0, rtol=1e-6)


def test_other_rows_when_told(model):
    np.testing.assert_allclose(perfcore.validate(model, table(), where="kind=bad").errors, 1.0 / 9.0 - 1.0, rtol=1e-6)


def test_a_code_that_the_model_does_not_have(model):
    with pytest.raises(UnknownNameError, match="unknown code 'ft'"):
        perfcore.validate(model, table().replace({"a": {"cg": "ft"}}))
