"""Series that only a text tells apart: a model each, of which none is a part of another."""

import numpy as np
import pandas as pd
import pytest

import perfcore
from perfcore.base.errors import OptionError

SIZES = np.array([100.0, 200.0, 400.0, 800.0, 1600.0])


@pytest.fixture
def table():
    linear = pd.DataFrame({"size": SIZES, "algo": "a", "time_s": 0.01 * SIZES})
    quadratic = pd.DataFrame({"size": SIZES, "algo": "b", "time_s": 5e-5 * SIZES**2})
    return pd.concat([linear, quadratic], ignore_index=True)


def test_each_has_the_model_that_it_has_alone(table):
    model = perfcore.fit(table, fitter="scaling", parameter="size")
    assert model.paths == ("a", "b")
    assert any(
        note.startswith("one model for each algo, since rows of one point, such as size=") for note in model.notes
    )
    at = {"size": 6400.0}
    for name in model.paths:
        alone = perfcore.fit(table[table.algo == name], fitter="scaling", parameter="size")
        assert model.predict({**at, "path": name}) == pytest.approx(alone.predict(at), rel=1e-9)


def test_they_do_not_add_up(table):
    model = perfcore.fit(table, fitter="scaling", parameter="size")
    assert "total" not in model.report().answer
    assert not model.part_draws({"p": np.array([6400.0])}).add_up
    assert "total" not in perfcore.predict(model).report().answer


def test_they_are_found_again_in_other_data(table):
    model = perfcore.fit(table, fitter="scaling", parameter="size")
    report = perfcore.validate(model, table[table.algo == "b"].assign(size=table["size"] * 2))
    assert len(report.to_frame()) == len(SIZES)


def test_with_a_path_that_does_not_tell_them_apart_they_are_refused(table):
    table["machine"] = "m"
    with pytest.raises(OptionError, match=r"differ in algo \(a, b\) and are up to .*path='machine,algo', or choose"):
        perfcore.fit(table, fitter="scaling", parameter="size", path=("machine",))
