"""`perf experiment next` on a scaling law: what it expects against the covariance of draws."""

import numpy as np
import pandas as pd
import pytest

import perfcore
from perf_experiments.recommendation import recommend
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


def test_the_error_is_what_the_draws_leave_open(model):
    number = model.paths.index("exchange")
    advice = recommend(model, {"p": 256.0, "path": "exchange"}, [{"p": 128.0}, {"p": 32.0}])
    draws = model.draws([[256.0], [128.0], [32.0]], [number])
    logs = np.log(draws.values[0])
    noise = np.std(draws.scatter[0] + draws.noise[0])
    spread = logs[:, 0].std()
    left = np.sqrt(spread**2 - np.cov(logs.T, bias=True)[0, 1] ** 2 / (logs[:, 1].var() + noise**2))
    assert advice.value == pytest.approx(130, rel=0.2)
    assert advice.error == pytest.approx(np.exp(np.median(logs[:, 0])) * spread, rel=1e-2)
    assert advice.choices[0].point == {"p": 128.0}
    assert advice.choices[0].repetitions == 5
    assert advice.choices[0].error == pytest.approx(np.exp(np.median(logs[:, 0])) * left, rel=2e-2)


def test_rivals_are_the_other_laws(model):
    rivals = model.rivals({"p": [64.0, 256.0], "path": ["exchange"] * 2})
    assert len({rival.name for rival in rivals}) == len(rivals) > 3
    shares = [float(rival.figure.removeprefix("probability ").rstrip("%")) for rival in rivals]
    assert shares == sorted(shares, reverse=True)
    for rival in rivals[:3]:  # they all went through the same points
        assert rival.values[0] == pytest.approx(34.0, rel=4 * NOISE / np.sqrt(5))


def test_one_path_has_to_be_named(model):
    with pytest.raises(OptionError, match="name the path"):
        recommend(model, {"p": 256.0}, [{"p": 128.0}])
    with pytest.raises(OptionError, match="points of one path are expected, not of solve, exchange"):
        model.design_rows({"p": [256.0, 256.0], "path": ["solve", "exchange"]})
