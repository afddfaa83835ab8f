"""What every set of default models promises."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from perf_formulas.formula import Formula
from perf_lost_cycles.default_models.sets import VARIABLE, read_models, write_models

_LEVELS = np.array([1.0, 2.0, 3.0, 8.0, 100.0, 1e6])


class DefaultModelSuite:
    """Tests of one set of default models, by its registered name."""

    name: str  # what the set is registered as

    def test_each_model_says_where_its_form_comes_from(self) -> None:
        """One line, which tables show."""
        models = read_models(self.name)
        assert models
        for model in models:
            assert model.origin.strip(), f"{model.formula} of {model.category} has no origin"
            assert len(model.origin.splitlines()) == 1

    def test_terms_are_finite(self) -> None:
        """From one processor, element or step to a million, so that no measured level is lost."""
        for model in read_models(self.name):
            for term in model.terms:
                values = Formula(term).evaluate({VARIABLE: _LEVELS})
                assert np.isfinite(values).all(), f"{term} of {model.formula} is not finite"

    def test_terms_are_independent(self) -> None:
        """No coefficient of a model can take the place of another."""
        for model in read_models(self.name):
            columns = np.stack([Formula(term).evaluate({VARIABLE: _LEVELS}) for term in model.terms], axis=1)
            scaled = columns / np.linalg.norm(columns, axis=0)
            assert np.linalg.matrix_rank(scaled) == len(model.terms), f"{model.formula} has dependent terms"

    def test_written_and_read_they_are_the_same(self, tmp_path: Path) -> None:
        """In the same order."""
        models = read_models(self.name)
        write_models(models, tmp_path / "models.toml")
        assert read_models(tmp_path / "models.toml") == models
