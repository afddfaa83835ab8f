"""The fitter keeps the contract, and finds the law that its data were made of."""

import numpy as np
import pandas as pd
import pytest

from perfcore import Measurements
from perfcore.base.errors import DataError
from perfcore.hooks.options import NoOptions
from perfcore.testing import FitterSuite
from perfcore_amdahl.amdahl import AmdahlFitter
from perfcore_amdahl.limit import limit

P = np.array([1.0, 2, 4, 8, 16, 32, 64])
SERIAL, PARALLEL = 5.0, 95.0


def runs(noise: float = 0.0, seed: int = 3) -> Measurements:
    factors = 1 + noise * np.random.default_rng(seed).standard_normal(len(P))
    return Measurements(pd.DataFrame({"p": P, "time_s": (SERIAL + PARALLEL / P) * factors}), source="runs")


class TestContract(FitterSuite):
    """What perfcore asks of every fitter."""

    name = "amdahl"

    def data(self):
        return runs(0.02)

    def points(self):
        return np.array([2.0, 100.0, 300.0])


def test_exact_data_give_the_law_back():
    model = AmdahlFitter().fit(runs(), NoOptions())
    np.testing.assert_allclose([each.estimate for each in model.parameters], (SERIAL, PARALLEL), rtol=1e-12)
    assert limit(model).speedup == pytest.approx((SERIAL + PARALLEL) / SERIAL)


def test_standard_errors_are_those_of_many_repetitions():
    """Against the spread of the estimates over 200 draws of the noise."""
    models = [AmdahlFitter().fit(runs(0.02, seed), NoOptions()) for seed in range(200)]
    estimates = [[each.estimate for each in model.parameters] for model in models]
    errors = [[each.standard_error for each in model.parameters] for model in models]
    np.testing.assert_allclose(np.median(errors, axis=0), np.std(estimates, axis=0), rtol=0.25)


def test_what_it_cannot_fit_is_refused():
    with pytest.raises(DataError, match="3 or more"):
        AmdahlFitter().fit(runs().where("p<4"), NoOptions())
