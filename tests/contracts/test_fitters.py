"""Every registered fitter, whoever registered it, keeps the contract on data that it takes."""

import numpy as np
import pytest

from perfcore import UtilizationCurve
from perfcore.registry import registry
from perfcore.testing import FitterSuite

CURVE = UtilizationCurve(
    [0, 2, 3, 7, 8, 12, 13, 17, 20, 26, 27, 31], [1, 2, 1.5, 2.5, 9, 8, 9, 8.5, 4, 3, 4.5], n_locations=10
)
WITHIN_CURVE = np.linspace(CURVE.start, CURVE.end, 9)

CASES = {
    "one number": ("worley", CURVE, {"phases": 3, "degree": 1}, WITHIN_CURVE),
    "sequence": ("worley", CURVE, {"phases": "1..4", "rule": "penalty"}, WITHIN_CURVE),
    "refined": ("worley", CURVE, {"phases": 3, "degree": 0, "refine": True}, WITHIN_CURVE),
    "functions": ("worley", CURVE, {"phases": 2, "functions": ("exp",), "scale": 5.0}, WITHIN_CURVE),
    "climber": ("worley", CURVE, {"phases": 3, "degree": 2, "segmenter": "hill-climb", "start": "equal"}, WITHIN_CURVE),
}


class TestFitters(FitterSuite):
    @pytest.fixture(autouse=True, params=CASES)
    def choose(self, request):
        self.name, self._data, self.options, self._points = CASES[request.param]

    def data(self):
        return self._data

    def points(self):
        return self._points


def test_every_bundled_fitter_has_a_case():
    bundled = {name for name, entry in registry().entries("fitters").items() if entry.distribution == "perfcore"}
    assert bundled == {name for name, *_ in CASES.values()}, "add a case for the new fitter to CASES"


def test_every_kind_that_is_registered_has_a_suite():
    assert not registry().entries("representations"), "write a suite for representations, and its test here"
