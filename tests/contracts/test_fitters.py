"""Every registered fitter, whoever registered it, keeps the contract on data that it takes."""

import numpy as np
import pandas as pd
import pytest

from perfcore import Measurements, Series, UtilizationCurve, testing
from perfcore.hooks.registry import registry
from perfcore.hooks.specs import KINDS
from perfcore.testing import FitterSuite

CURVE = UtilizationCurve(
    [0, 2, 3, 7, 8, 12, 13, 17, 20, 26, 27, 31], [1, 2, 1.5, 2.5, 9, 8, 9, 8.5, 4, 3, 4.5], n_locations=10
)
WITHIN_CURVE = np.linspace(CURVE.start, CURVE.end, 9)

# Two codes on three systems, one pair missing; the work is 100 and 250, the speeds 1, 2 and 0.5.
TIMES = Measurements(
    pd.DataFrame(
        [
            (code, system, p, work / speed * (1 / p + 0.02 + 0.01 * np.sin(7 * p + work + speed) / p))
            for code, work in (("lu", 100.0), ("cg", 250.0))
            for system, speed in (("old", 1.0), ("new", 2.0), ("slow", 0.5))
            for p in (1, 2, 4, 8, 16)
            if (code, system) != ("cg", "slow")
        ],
        columns=["code", "system", "p", "time_s"],
    ),
    source="times.csv",
)
PLACES = {"p": [1, 4, 16, 64], "code": ["lu", "cg", "lu", "cg"], "system": ["old", "old", "slow", "new"]}
NEW_PLACES = {"p": [1, 4], "code": ["cg", "cg"], "system": ["slow", "old"]}
ONE_SERIES = Measurements(pd.DataFrame({"p": [1, 2, 4, 8, 16], "time_s": [8.2, 4.4, 2.4, 1.45, 0.93]}))
TWO_PARAMETERS = Measurements(
    pd.DataFrame(
        [(n, p, n**3 / p + 5 * n**2 + n * np.cos(p * n)) for n in (10, 20, 40) for p in (1, 4, 16)],
        columns=["n", "p", "time_s"],
    ),
    parameters="p,n",
)
CATEGORIES = Measurements(
    pd.DataFrame(
        [
            (p, name, time * (1 + 0.01 * np.sin(9 * p + time)))
            for p in (1, 2, 4, 8, 16)
            for name, time in (("compute", 80 / p), ("wait", 2 + np.log2(p)), ("total", 83 / p + 4 + 2 * np.log2(p)))
        ],
        columns=["p", "category", "time_s"],
    ),
    source="profile.csv",
)
# A path that changes its law at a node's 16 processors, one that does not, and one with too few points.
BROKEN = Measurements(
    pd.DataFrame(
        [
            (p, path, time * (1 + 0.01 * np.sin(50 * p + run)))
            for p in (1, 2, 4, 8, 16, 32, 64, 128)
            for path, time in (("halo", 1.0 if p <= 16 else 0.2 * p), ("solve", 2 + 64 / p), ("io", 5.0))
            for run in range(3)
            if path != "io" or p > 32
        ],
        columns=["p", "callpath", "time_s"],
    ),
    source="paths.csv",
)
THROUGHPUTS = Measurements(
    pd.DataFrame({"p": [1, 2, 4, 8, 16, 32, 64], "ops/s": [96.0, 186.0, 345.0, 560.0, 802.0, 818.0, 610.0]}),
    parameters="p",
    value="ops/s",
)
LOAD = Series(np.arange(40), {"cpu": 0.5 + 0.3 * np.sin(np.arange(40.0)), "disk": np.zeros(40)}, "s", source="load.csv")

CASES = {
    "one number": ("worley", CURVE, {"phases": 3, "degree": 1}, WITHIN_CURVE),
    "sequence": ("worley", CURVE, {"phases": "1..4", "rule": "penalty"}, WITHIN_CURVE),
    "refined": ("worley", CURVE, {"phases": 3, "degree": 0, "refine": True}, WITHIN_CURVE),
    "by a tolerance": ("worley", CURVE, {"tolerance": 4.0}, WITHIN_CURVE),
    "phases": ("phases", CURVE, {}, WITHIN_CURVE),
    "functions": ("worley", CURVE, {"phases": 2, "functions": ("exp",), "scale": 5.0}, WITHIN_CURVE),
    "climber": ("phases", CURVE, {"phases": 3, "degree": 2, "segmenter": "hill-climb", "start": "equal"}, WITHIN_CURVE),
    "each pair its own": ("individual", TIMES, {}, PLACES),
    "one for all pairs": ("individual", TIMES, {"functions": "all", "terms": "1..2", "sign": "bounded"}, PLACES),
    "relative": ("individual", TIMES, {"functions": ("1/p", "1"), "weights": "relative"}, PLACES),
    "one series": ("individual", ONE_SERIES, {"functions": ("1/p", "1")}, np.array([1.0, 3.0, 64.0])),
    "two parameters": ("individual", TWO_PARAMETERS, {"functions": ("n^3/p", "n^2")}, {"p": [2, 8], "n": [10, 80]}),
    "joint": ("strohmaier", TIMES, {"functions": ("1/p", "1")}, NEW_PLACES),
    "best joint": ("strohmaier", TIMES, {"criterion": "bic", "terms": "1..2", "validate": False}, PLACES),
    "joint, function twice": ("strohmaier", TIMES, {"functions": ("1", "1")}, PLACES),
    "joint, prepared": (
        "strohmaier",
        TIMES,
        {"functions": ("1/p",), "operations": {"lu": 1e9, "cg": 3e9}, "intervals": "profile", "loss": "linear"},
        NEW_PLACES,
    ),
    "joint, robust": (
        "strohmaier",
        TIMES,
        {"functions": ("1/p", "1"), "loss": "huber", "intervals": "bootstrap", "draws": 10, "drop_outliers": True},
        PLACES,
    ),
    "default models": ("lca", CATEGORIES, {}, {"p": [1, 3, 64], "category": ["compute", "total", "wait"]}),
    "default models, as the paper": (
        "lca",
        CATEGORIES,
        {"criterion": "r2", "weights": "equal", "show": "wait"},
        {"p": [1, 3, 64]},
    ),
    "generated": ("modgen", CATEGORIES, {}, {"p": [1, 3, 64], "category": ["compute", "total", "wait"]}),
    "sum of categories": ("projection", CATEGORIES, {"at": "p=64"}, np.array([1.0, 3.0, 64.0])),
    "law of one series": ("scaling", ONE_SERIES, {}, np.array([1.0, 3.0, 64.0])),
    "laws of several paths": ("scaling", TIMES, {"exponents": "-1,0,1"}, {"p": [1, 64], "path": ["lu old", "cg new"]}),
    "law of two parameters": ("scaling", TWO_PARAMETERS, {"at": "p=64,n=80"}, {"p": [2, 8], "n": [10, 80]}),
    "laws that drift": ("scaling", BROKEN, {"show": "halo"}, {"p": [3, 256, 256], "path": ["halo", "halo", "solve"]}),
    "formula": ("regression", ONE_SERIES, {"formula": "a + b/p"}, np.array([1.0, 3.0, 64.0])),
    "formula of groups": (
        "regression",
        TIMES,
        {"formula": "a + b/p", "by": "code,system", "weights": "relative"},
        {"p": [1, 3, 64], "code": ["lu", "lu", "cg"], "system": ["old", "slow", "new"]},
    ),
    "nonlinear formula": (
        "regression",
        TWO_PARAMETERS,
        {"formula": "a*n^b/p + c*n^2", "start": "b=3", "family": "gamma"},
        {"p": [2, 8], "n": [10, 80]},
    ),
    "formula, robust": ("regression", TIMES, {"formula": "a + b/p", "robust": "huber"}, {"p": [1, 3]}),
    "throughputs": ("usl", THROUGHPUTS, {}, np.array([1.0, 3.0, 64.0])),
    "times": ("usl", ONE_SERIES, {}, np.array([1.0, 3.0, 64.0])),
    "forecast": ("forecast", LOAD, {"column": "cpu", "within": "0,1", "horizon": 4}, np.array([1, 2, 4])),
}
MODELS = {}  # by case


class TestFitters(FitterSuite):
    @pytest.fixture(autouse=True, params=CASES)
    def choose(self, request):
        self._case = request.param
        self.name, self._data, self.options, self._points = CASES[request.param]

    def fit(self):
        """One model for all tests of a case: models are frozen."""
        if self._case not in MODELS:
            MODELS[self._case] = super().fit()
        return MODELS[self._case]

    def test_fits_are_reproducible(self):
        assert super().fit().parameters == self.fit().parameters

    def data(self):
        return self._data

    def points(self):
        return self._points


def test_every_bundled_fitter_has_a_case():
    bundled = {name for name, entry in registry().entries("fitters").items() if entry.distribution == "perfcore"}
    assert bundled == {name for name, *_ in CASES.values()}, "add a case for the new fitter to CASES"


def test_every_kind_of_thing_has_a_suite():
    suites = {f"{name.removesuffix('Suite').lower()}s" for name in testing.__all__}
    assert suites == set(KINDS) - {"kinds", "classifiers", "models", "commands"}
