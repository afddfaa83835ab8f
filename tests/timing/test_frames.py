"""Data frames of timing models and rankings: every number with all digits, and what it belongs to."""

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm

import perfcore

U = {"1/p": lambda p: 1 / p, "1/sqrt(p)": lambda p: p**-0.5}
SPEEDS = {"SP2": (1.0, 1.0), "T3D": (0.5, 0.8), "Paragon": (0.3, 0.6)}
WORK = {"BT": (900.0, 20.0), "LU": (400.0, 30.0), "MG": (60.0, 5.0)}


@pytest.fixture
def runs():
    """Three codes on three systems that obey the joint model, with relative errors of 2 %."""
    rng = np.random.default_rng(0)
    rows = [
        (code, system, p, sum(w / r * u(p) for w, r, u in zip(work, speed, U.values(), strict=True)))
        for code, work in WORK.items()
        for system, speed in SPEEDS.items()
        for p in (2.0, 4.0, 8.0, 16.0, 32.0, 64.0)
    ]
    table = pd.DataFrame(rows, columns=["code", "system", "p", "time_s"])
    return table.assign(time_s=table["time_s"] * (1 + 0.02 * rng.standard_normal(len(table))))


def test_pairs_have_the_coefficients_of_an_independent_program(runs):
    frame = perfcore.fit(runs, fitter="individual", functions="1/p,1/sqrt(p)", prepare="none", sign="any").to_frame()
    assert len(frame) == len(WORK) * len(SPEEDS)
    assert frame["r2_uncentered"].is_monotonic_increasing
    for row in frame.to_dict("records"):
        data = runs[(runs["code"] == row["code"]) & (runs["system"] == row["system"])]
        design = np.column_stack([u(data["p"]) for u in U.values()])
        line = sm.OLS(data["time_s"].to_numpy(), design, hasconst=False).fit()
        assert [row[name] for name in U] == pytest.approx(line.params, rel=1e-9)
        assert [row[f"standard error of {name}"] for name in U] == pytest.approx(line.bse, rel=1e-9)
        assert (row["n_observations"], row["sse"]) == (line.nobs, pytest.approx(line.ssr, rel=1e-9))
        assert row["r2_uncentered"] == pytest.approx(line.rsquared, rel=1e-9)


def test_parameters_make_the_predictions_of_the_joint_model(runs):
    """T = sum_i (w_i^c / r_i^s) u_i(p), with the numbers of the data frame alone."""
    model = perfcore.fit(runs, fitter="strohmaier", functions="1/p,1/sqrt(p)", reference="SP2", prepare="none")
    frame = model.to_frame()
    work = frame[frame["code"] != ""].set_index(["function", "code"])["estimate"]
    speed = frame[frame["system"] != ""].set_index(["function", "system"])["estimate"]
    assert len(work) + len(speed) == len(frame) == 2 * (len(WORK) + len(SPEEDS) - 1)
    p = np.array([3.0, 100.0])
    for code in WORK:
        for system in SPEEDS:
            times = sum(work[name, code] / (1.0 if system == "SP2" else speed[name, system]) * U[name](p) for name in U)
            points = {"p": p, "code": code, "system": system}
            assert model.predict(points) == pytest.approx(times, rel=1e-9)
    assert ((frame["upper"] + frame["lower"]) / 2).tolist() == pytest.approx(frame["estimate"].tolist())
    assert ((frame["upper"] - frame["lower"]) > 2 * frame["standard_error"]).all()


def test_intervals_that_do_not_close_are_infinite(runs):
    """With the second function 0 on the T3D, no speed there is too large: its interval has no upper end."""
    exact = runs.assign(time_s=[
        sum(w / r * u(p) for w, r, u in zip(WORK[code], SPEEDS[system], U.values(), strict=True) if r > 0.0)
        - (WORK[code][1] / SPEEDS["T3D"][1] * U["1/sqrt(p)"](p) if system == "T3D" else 0.0)
        for code, system, p in zip(runs["code"], runs["system"], runs["p"], strict=True)
    ])  # fmt: skip
    noise = np.random.default_rng(1).standard_normal(len(exact))
    table = exact.assign(time_s=exact["time_s"] * (1 + 0.02 * noise))
    model = perfcore.fit(table, fitter="strohmaier", functions="1/p,1/sqrt(p)", reference="SP2", intervals="profile",
                         prepare="none")  # fmt: skip
    open_ends = {each.name for each in model.intervals if each.upper is None or each.lower is None}
    frame = model.to_frame()
    assert open_ends
    assert set(frame.loc[np.isinf(frame["lower"]) | np.isinf(frame["upper"]), "parameter"]) == open_ends
