"""Structural models: performance equations over components and uncertain inputs, and what is decided by them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from perfcore.base.lazy import lazy_names

if TYPE_CHECKING:
    from perf_structural.decomposition import Decomposition, balance
    from perf_structural.evaluation import Evaluation, EvaluationOptions
    from perf_structural.mistakes import StructuralModelError
    from perf_structural.model_file import Component, read_candidates
    from perf_structural.picture import plot_distributions
    from perf_structural.prediction import Prediction
    from perf_structural.scheduling import Choice, choose, predict_candidates
    from perf_structural.statistic import Statistic, parse_statistic
    from perf_structural.structural_model import StructuralModel

__all__ = [
    "Choice",
    "Component",
    "Decomposition",
    "Evaluation",
    "EvaluationOptions",
    "Prediction",
    "Statistic",
    "StructuralModel",
    "StructuralModelError",
    "balance",
    "choose",
    "parse_statistic",
    "plot_distributions",
    "predict_candidates",
    "read_candidates",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "Choice": "perf_structural.scheduling",
        "Component": "perf_structural.model_file",
        "Decomposition": "perf_structural.decomposition",
        "Evaluation": "perf_structural.evaluation",
        "EvaluationOptions": "perf_structural.evaluation",
        "Prediction": "perf_structural.prediction",
        "Statistic": "perf_structural.statistic",
        "StructuralModel": "perf_structural.structural_model",
        "StructuralModelError": "perf_structural.mistakes",
        "balance": "perf_structural.decomposition",
        "choose": "perf_structural.scheduling",
        "parse_statistic": "perf_structural.statistic",
        "plot_distributions": "perf_structural.picture",
        "predict_candidates": "perf_structural.scheduling",
        "read_candidates": "perf_structural.model_file",
    },
)
