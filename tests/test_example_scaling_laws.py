"""The functions of the example program do what it says of them."""

import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.linalg import hadamard

EXAMPLE = Path(__file__).parents[1] / "examples" / "scaling_laws"


@pytest.fixture
def bodies(monkeypatch):
    monkeypatch.syspath_prepend(str(EXAMPLE))
    import bodies

    yield bodies
    sys.modules.pop("bodies")


def test_transform_is_that_of_walsh_and_hadamard(bodies):
    places = np.arange(16.0) ** 2
    assert np.array(bodies.transform(places.tolist())) == pytest.approx(hadamard(16) @ places)


def test_correlate_is_a_matrix_product(bodies):
    matrix = np.random.default_rng(1).standard_normal((8, 8))
    assert np.array(bodies.correlate(matrix.tolist())) == pytest.approx(matrix @ matrix)


def test_every_function_is_timed(bodies):
    assert set(bodies.run(16, 2)) == set(bodies.FUNCTIONS)
