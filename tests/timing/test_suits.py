"""Which data the individual fits say that they suit."""

import pandas as pd

import perfcore
from perf_timing.individual.fitter import IndividualFitter


def test_two_parameters_need_functions_of_both_to_be_named():
    """The usual functions are of the first alone: a fit of them leaves the second out, and none is suggested."""
    index = pd.MultiIndex.from_product([[1, 2, 4, 8], [10, 20, 40]], names=["p", "n"])
    table = index.to_frame(index=False).eval("time_s = n / p")
    both = perfcore.Measurements(table, parameters="p,n")
    assert not IndividualFitter.suits(both)
    assert IndividualFitter.suits(perfcore.Measurements(table[table.n == 10], parameters="p"))
    assert perfcore.fit(both, fitter="individual", functions="n/p").formula
