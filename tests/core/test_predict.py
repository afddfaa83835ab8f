"""Predictions in Python: arrays for numbers, tables with intervals that are indexed by the points."""

import numpy as np
import pandas as pd
import pytest

import perfcore

RUNS = pd.DataFrame({"p": [1, 2, 4, 8, 16], "time_s": [8.21, 4.42, 2.39, 1.46, 0.92]})
OPTIONS = {"individual": {"functions": "1/p,1"}, "regression": {"formula": "a/p + b"}}
TWO = pd.DataFrame([{"p": p, "n": n, "time_s": 1e-3 * n / p + 0.1} for p in (1, 2, 4, 8) for n in (100, 200, 400)])


@pytest.mark.parametrize("fitter", [None, "individual", "regression", "usl"])
def test_an_interval_comes_as_a_table_indexed_by_the_points(fitter):
    model = perfcore.fit(RUNS, fitter=fitter, **OPTIONS.get(fitter, {}))
    table = model.predict([32, 64], interval=0.95)
    assert list(table.columns) == ["predicted", "lower", "upper"]
    assert table.index.equals(pd.Index([32, 64], name="p"))
    np.testing.assert_array_equal(table["predicted"], model.predict([32, 64]))
    assert ((table["lower"] < table["predicted"]) & (table["predicted"] < table["upper"])).all()
    assert len(model.predict()) == 1  # at the target


def test_points_of_several_variables_are_levels_of_the_index():
    model = perfcore.fit(TWO, parameter=["p", "n"])
    table = model.predict({"p": [16, 32], "n": 400}, interval=0.5)
    assert table.index.equals(pd.MultiIndex.from_tuples([(16, 400), (32, 400)], names=["p", "n"]))
    assert table.equals(model.predict(pd.DataFrame({"p": [16, 32], "n": [400, 400]}), interval=0.5))


@pytest.mark.parametrize("fitter", [None, "regression"])
def test_the_interval_of_a_mean_is_within_that_of_a_single_run(fitter):
    model = perfcore.fit(RUNS, fitter=fitter, **OPTIONS.get(fitter, {}))
    prediction = model.prediction([8.0, 16.0])
    assert (prediction.mean["predicted"] == prediction.single_run["predicted"]).all()
    assert (prediction.single_run["lower"] < prediction.mean["lower"]).all()
    assert (prediction.mean["upper"] < prediction.single_run["upper"]).all()
    assert prediction.single_run.equals(model.predict([8.0, 16.0], interval=0.95))


@pytest.mark.parametrize(("options", "message"), [
    ({"fitter": "individual", "functions": "1/p", "value": "watt"}, "watt"),
    ({"parameter": "q"}, "q"),
])  # fmt: skip
def test_errors_in_python_name_keywords(options, message):
    with pytest.raises(perfcore.PerfError, match=message) as raised:
        perfcore.fit(RUNS, **options)
    assert "--" not in str(raised.value)


def test_tables_of_the_screen_are_frames():
    model = perfcore.fit(RUNS)
    assert list(model.table["p"]) == [1, 2, 4, 8, 16, 32, 64]
    assert model.table["measured"].iloc[0] == 8.21
    assert model.to_frame()["predicted"].iloc[-1] == pytest.approx(model.predict([64.0])[0], rel=1e-9)
    assert model.candidates["probability"].sum() == pytest.approx(1.0, abs=1e-6)
