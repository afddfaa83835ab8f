"""The fitter `scaling`: what it takes, what it finds, and which paths it leaves out."""

import numpy as np
import pandas as pd
import pytest

import perfcore
from perfcore.base.errors import DataError

LEVELS = np.array([4.0, 8, 16, 32, 64])


def frame(values, levels=LEVELS):
    rows = [(p, path, y) for path, own in values.items() for p, y in zip(levels, own, strict=True) if not np.isnan(y)]
    return pd.DataFrame(rows, columns=["p", "function", "time_s"])


GOOD = {"solve": 10 + 1000 / LEVELS, "exchange": 2 + 0.5 * LEVELS}


def test_coefficients_of_noiseless_laws():
    model = perfcore.fit(frame(GOOD), fitter="scaling")
    assert model.formula == "solve = 10 + 1000/p\nexchange = 2 + 0.5*p"
    assert [law.coefficients for law in model.leading] == [pytest.approx((10, 1000)), pytest.approx((2, 0.5))]


def test_rows_in_any_order_give_the_same_model():
    data = frame(GOOD)
    first, second = (perfcore.fit(d, fitter="scaling") for d in (data, data.sample(frac=1.0, random_state=1)))
    assert first.origin.fingerprint == second.origin.fingerprint
    at = {"p": [256.0, 256.0], "path": ["solve", "exchange"]}
    assert first.predict(at) == pytest.approx(second.predict(at))


def test_values_in_another_unit_give_the_same_laws():
    data = frame(GOOD)
    scaled = data.assign(time_s=1e6 * data.time_s)
    first, second = (perfcore.fit(d, fitter="scaling") for d in (data, scaled))
    at = {"p": [256.0, 256.0], "path": ["solve", "exchange"]}
    assert second.predict(at) == pytest.approx(1e6 * first.predict(at), rel=1e-4)
    for one, other in zip(first.rows, second.rows, strict=True):
        assert [growth.name for growth in one.growths] == [growth.name for growth in other.growths]
        assert one.growths[0][1:5] == pytest.approx(other.growths[0][1:5], rel=1e-3, abs=1e-6)


def test_the_target_is_four_times_the_largest_level_unless_given():
    assert perfcore.fit(frame(GOOD), fitter="scaling").target == {"p": 256.0}
    assert perfcore.fit(frame(GOOD), fitter="scaling", at={"p": 1000}).target == {"p": 1000.0}


BAD = {
    "zero at every point": (np.zeros(5), "is 0 at every point"),
    "a zero": (
        np.array([1.0, 0, 1, np.nan, np.nan]),
        "holds 0, and is above 0 at fewer than the 3 points that are needed",
    ),
    "negative": (np.array([1.0, -2.5, 1, 1, 1]), "holds -2.5; noise is relative to the value"),
    "too few points": (np.array([1.0, 2, np.nan, np.nan, np.nan]), "measured at 2 points; 3 are needed"),
    "one point": (np.array([1.0, np.nan, np.nan, np.nan, np.nan]), "measured at 1 point; 3 are needed"),
}


@pytest.mark.parametrize("kind", BAD)
def test_a_path_that_cannot_be_fitted_has_its_reason_and_the_others_are_fitted(kind):
    values, reason = BAD[kind]
    model = perfcore.fit(frame({**GOOD, "bad": values}), fitter="scaling")
    assert model.paths == tuple(GOOD)
    assert model.unfitted["bad"].startswith(reason)
    alone = perfcore.fit(frame(GOOD), fitter="scaling")
    assert model.formula == alone.formula


@pytest.mark.parametrize("kind", BAD)
def test_nothing_that_can_be_fitted_is_an_error(kind):
    values, reason = BAD[kind]
    for paths in ({"bad": values}, {"bad": values, "worse": values}):
        with pytest.raises(DataError) as raised:
            perfcore.fit(frame(paths), fitter="scaling")
        assert reason in str(raised.value)
    assert "none of 2 paths can be fitted; bad: " in str(raised.value)


def test_three_points_have_a_law_with_wide_bounds():
    """A power law goes through them within a few per cent, so that far away much remains open."""
    data = pd.DataFrame({"p": [1, 2, 4], "time_s": [100.0, 50.5, 26.0]})
    model = perfcore.fit(data, fitter="scaling")
    _, lower, upper = model.predict([16], interval=0.95)[0]
    assert lower < 100 / 16 + 2 < upper
    assert upper / lower > 2
    two = pd.DataFrame({"p": [1, 2, 4], "n": [1, 4, 2], "time_s": [100.0, 50.5, 26.0]})
    with pytest.raises(DataError, match="measured at 3 points; 4 are needed"):
        perfcore.fit(two, fitter="scaling", parameter="p,n")


def test_a_path_missing_at_some_points_is_fitted_from_the_others():
    values = {**GOOD, "holes": np.where(LEVELS == 16, np.nan, 3 + 0.2 * LEVELS)}
    model = perfcore.fit(frame(values), fitter="scaling")
    assert model.unfitted == {}
    assert model.leading[2].text == "3 + 0.2*p"


@pytest.mark.parametrize(
    ("points", "reason"),
    [
        ([(p, 10.0) for p in LEVELS], "measured at one level of n"),
        ([(p, 100 * p) for p in LEVELS], "varied together only (the points lie on a line)"),
    ],
)
def test_two_parameters_that_cannot_be_told_apart(points, reason):
    data = pd.DataFrame([(p, n, 1 + p * n) for p, n in points], columns=["p", "n", "time_s"])
    with pytest.raises(DataError) as raised:
        perfcore.fit(data, fitter="scaling", parameter="p,n")
    assert reason in str(raised.value)


def test_a_parameter_of_which_the_chosen_rows_have_one_level_is_held():
    rows = [(p, n, 0.5 + 3e-3 * n * p) for p in LEVELS for n in (10.0, 20, 40)]
    model = perfcore.fit(
        pd.DataFrame(rows, columns=["p", "n", "time_s"]), fitter="scaling", parameter="p,n", where="n=20", at="p=512"
    )
    assert model.target == {"p": 512.0}
    assert "held: n = 20" in model.notes
    assert model.leading[0].text == "0.5 + 0.06*p"
