"""The fitter keeps the contract, and finds the law that its data were made of."""

import numpy as np
import pandas as pd
import pytest

from perfcore import Measurements
from perfcore.base.errors import DataError
from perfcore.hooks.options import NoOptions
from perfcore.testing import FitterSuite
from perfcore_usl.peak import peak
from perfcore_usl.usl import UslFitter, law

P = np.array([1.0, 2, 4, 8, 16, 32, 64])
TRUTH = (100.0, 0.02, 0.0005)


def runs(noise: float = 0.0) -> Measurements:
    factors = 1 + noise * np.random.default_rng(3).standard_normal(len(P))
    return Measurements(pd.DataFrame({"p": P, "time_s": law(P, *TRUTH) * factors}), source="usl")


class TestContract(FitterSuite):
    """What perfcore asks of every fitter."""

    name = "usl"

    def data(self):
        return runs(0.02)

    def points(self):
        return np.array([2.0, 100.0, 300.0])


def test_exact_data_give_the_law_back():
    model = UslFitter().fit(runs(), NoOptions())
    np.testing.assert_allclose([each.estimate for each in model.parameters], TRUTH, rtol=1e-5)


def test_standard_errors_are_those_of_many_repetitions():
    """Against the spread of the estimates over 200 draws of the noise."""
    estimates, errors = [], []
    for seed in range(200):
        factors = 1 + 0.02 * np.random.default_rng(seed).standard_normal(len(P))
        model = UslFitter().fit(
            Measurements(pd.DataFrame({"p": P, "time_s": law(P, *TRUTH) * factors}), source="usl"), NoOptions()
        )
        estimates.append([each.estimate for each in model.parameters])
        errors.append([each.standard_error for each in model.parameters])
    np.testing.assert_allclose(np.median(errors, axis=0), np.std(estimates, axis=0), rtol=0.25)


def test_the_peak_is_where_the_derivative_is_zero():
    """p = sqrt((1 - a)/b), Gunther's formula."""
    model = UslFitter().fit(runs(), NoOptions())
    assert abs(peak(model) - np.sqrt((1 - TRUTH[1]) / TRUTH[2])) <= 1


def test_what_it_cannot_fit_is_refused():
    with pytest.raises(DataError, match="4 or more"):
        UslFitter().fit(runs().where("p<8"), NoOptions())
