"""Structural models as files that ``perf predict``, ``perf explore`` and ``perf report`` open."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from perf_structural.options import PredictionOptions
from perfcore.models.opener import Opener

__all__ = ["StructuralOpener"]


class StructuralOpener(Opener):
    """Opens structural models in TOML."""

    Options = PredictionOptions
    predicts = True

    def sniff(self, path: Path) -> float:
        """Every TOML file that is named is meant as a structural model."""
        return 1.0

    def open(self, path: str, options: Any, data: str | None = None) -> Any:
        """The views of the model."""
        from perf_structural.views.structural import StructuralViews

        return StructuralViews.read(path)

    def predict(self, path: str, options: Any) -> Any:
        """The distribution of the model's result."""
        from perf_structural.quantities import given_quantities
        from perf_structural.structural_model import StructuralModel

        chosen = asdict(options)
        inputs = given_quantities(chosen.pop("with_"))
        return StructuralModel.read(path).with_inputs(inputs).predict(**chosen)
