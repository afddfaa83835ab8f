"""Structural models: performance equations over components and uncertain inputs, and what is decided by them."""

from perfcore.structural.decomposition import Decomposition, balance
from perfcore.structural.evaluation import Evaluation, EvaluationOptions
from perfcore.structural.mistakes import StructuralModelError
from perfcore.structural.model_file import Component, read_candidates
from perfcore.structural.picture import plot_distributions
from perfcore.structural.prediction import Prediction
from perfcore.structural.scheduling import Choice, choose, predict_candidates
from perfcore.structural.statistic import Statistic, parse_statistic
from perfcore.structural.structural_model import StructuralModel

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
