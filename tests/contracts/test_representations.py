"""Every registered representation, whoever registered it, keeps the contract on values of its own."""

import math

import pytest

from perfcore.hooks.registry import registry
from perfcore.stochastic import from_dict
from perfcore.testing import RepresentationSuite

BINS = {"edges": [1, 3, 3, 5, 6, 8], "masses": [0.2, 0.25, 0.35, 0, 0.2], "means": [2.5, 3, 3.5, 5.5, 7]}

# Two values of each, options for samples, and how well samples' standard deviation is kept.
CASES = {
    "point": ([{"value": 3.0}, {"value": 4.0}], {}, math.inf),
    "normal": ([{"mean": 10.0, "std": 1.0}, {"mean": 12.0, "std": 0.5}], {}, 1e-3),
    "histogram": ([{"edges": [2, 4, 7], "masses": [0.6, 0.4]}, BINS], {}, 0.1),
    "histogram of equal probability": (
        [{"edges": [2, 4, 7], "masses": [0.6, 0.4]}, BINS],
        {"bins": 40, "rule": "probability"},
        0.02,
    ),
    "histogram by curvature": (
        [{"edges": [2, 4, 7], "masses": [0.6, 0.4]}, BINS],
        {"bins": 20, "rule": "curvature"},
        0.01,
    ),
    "histogram by a rule": ([{"edges": [2, 4, 7], "masses": [0.6, 0.4]}, BINS], {"rule": "fd"}, 0.02),
    "interval": ([{"lower": 3.0, "upper": 5.0}, {"lower": 4.0, "upper": 8.0}], {"trim": 0.05}, math.inf),
}


class TestRepresentations(RepresentationSuite):
    @pytest.fixture(autouse=True, params=CASES)
    def choose(self, request):
        values, options, self.std_tolerance = CASES[request.param]
        name = request.param.split()[0]
        self.representation = registry().load("representations", name)
        self.values = [from_dict({"representation": name} | content) for content in values]
        self.options = self.representation.Options(**options)


def test_every_bundled_representation_has_a_case():
    entries = registry().entries("representations")
    bundled = {name for name, entry in entries.items() if entry.distribution == "perfcore"}
    assert bundled == {case.split()[0] for case in CASES}, "add a case for the new representation to CASES"
