"""`perf next` on a scaling law: its rows against weighted least squares done by hand."""

import numpy as np
import pandas as pd
import pytest

import perfcore
from perf_experiments.advice.next_points import advise
from perfcore.base.errors import OptionError

LEVELS = np.array([4.0, 8, 16, 32, 64])
NOISE = 0.05


@pytest.fixture(scope="module")
def model():
    rng = np.random.default_rng(2)
    means = {"solve": 10 + 1000 / LEVELS, "exchange": 2 + 0.5 * LEVELS}
    rows = [
        (p, path, y * (1 + NOISE * z))
        for path, own in means.items()
        for p, y in zip(LEVELS, own, strict=True)
        for z in rng.standard_normal(5)
    ]
    return perfcore.fit(pd.DataFrame(rows, columns=["p", "function", "time_s"]), fitter="scaling", at="p=256")


def test_the_error_after_a_measurement_is_that_of_weighted_least_squares(model):
    number = model.paths.index("exchange")
    own, leading = model.data[number], model.leading[number]
    assert leading.text.endswith("*p")
    advice = advise(model, {"p": 256.0, "path": "exchange"}, [{"p": 128.0}, {"p": 32.0}])
    variance = own.within / own.freedom
    constant, slope = leading.coefficients
    roots = np.array(own.root_weights)
    target = np.array([1.0, 256.0])

    def error(levels, weights):
        rows = np.stack([np.ones(len(levels)), levels], axis=1) * weights[:, None]
        return np.sqrt(variance * target @ np.linalg.inv(rows.T @ rows) @ target)

    assert advice.value == pytest.approx(130, rel=0.2)
    assert advice.error == pytest.approx(error(LEVELS, roots), rel=1e-6)
    typical = np.median(roots * (constant + slope * LEVELS))
    weight = typical / (constant + slope * 128.0)
    assert advice.choices[0].point == {"p": 128.0}
    assert advice.choices[0].repetitions == 5
    assert advice.choices[0].error == pytest.approx(error(np.append(LEVELS, 128.0), np.append(roots, weight)), rel=1e-6)


def test_rivals_are_the_other_laws(model):
    number = model.paths.index("exchange")
    rivals = model.rivals({"p": [64.0, 256.0], "path": ["exchange"] * 2})
    assert [rival.name for rival in rivals] == [
        " + ".join(model.law_text(law)) or "a constant" for law in model.data[number].laws[1 : 1 + len(rivals)]
    ]
    for rival in rivals[:3]:  # they all went through the same points
        assert rival.values[0] == pytest.approx(34.0, rel=4 * NOISE / np.sqrt(5))


def test_one_path_has_to_be_named(model):
    with pytest.raises(OptionError, match="name the path"):
        advise(model, {"p": 256.0}, [{"p": 128.0}])
    with pytest.raises(OptionError, match="points of one path are expected, not of solve, exchange"):
        model.design_rows({"p": [256.0, 256.0], "path": ["solve", "exchange"]})
