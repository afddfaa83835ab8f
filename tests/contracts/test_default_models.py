"""Every registered set of default models, whoever registered it, keeps the contract."""

import numpy as np
import pytest

from perf_formulas import Formula
from perf_lost_cycles.default_models import VARIABLE, read_models, write_models
from perfcore.hooks.registry import registry

LEVELS = np.array([1.0, 2.0, 3.0, 8.0, 100.0, 1e6])


@pytest.fixture(params=registry().entries("default_models"))
def models(request):
    return read_models(request.param)


def test_each_model_says_in_one_line_where_its_form_comes_from(models):
    assert models
    for model in models:
        assert model.origin.strip(), f"{model.formula} of {model.category} has no origin"
        assert len(model.origin.splitlines()) == 1


def test_terms_are_finite(models):
    """From one processor, element or step to a million, so that no measured level is lost."""
    for model in models:
        for term in model.terms:
            values = Formula(term).evaluate({VARIABLE: LEVELS})
            assert np.isfinite(values).all(), f"{term} of {model.formula} is not finite"


def test_terms_are_independent(models):
    """No coefficient of a model can take the place of another."""
    for model in models:
        columns = np.stack([Formula(term).evaluate({VARIABLE: LEVELS}) for term in model.terms], axis=1)
        scaled = columns / np.linalg.norm(columns, axis=0)
        assert np.linalg.matrix_rank(scaled) == len(model.terms), f"{model.formula} has dependent terms"


def test_written_and_read_they_are_the_same(models, tmp_path):
    """In the same order."""
    write_models(models, tmp_path / "models.toml")
    assert read_models(tmp_path / "models.toml") == models
