"""Structural models: performance equations over components and uncertain inputs, and what is decided by them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from perfcore import hookimpl
from perfcore.base.lazy import lazy_names
from perfcore.hooks.specs import Register

if TYPE_CHECKING:
    from perf_structural.decomposition import Decomposition, balance
    from perf_structural.evaluation import Evaluation
    from perf_structural.mistakes import StructuralModelError
    from perf_structural.model_file import Component, read_candidates
    from perf_structural.options import EvaluationOptions
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
    "register_commands",
    "register_openers",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "Choice": "perf_structural.scheduling",
        "Component": "perf_structural.model_file",
        "Decomposition": "perf_structural.decomposition",
        "Evaluation": "perf_structural.evaluation",
        "EvaluationOptions": "perf_structural.options",
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


@hookimpl
def register_commands(register: Register) -> None:
    """Announce the commands."""
    register(
        "value",
        "perf_structural.cli.value:command",
        group="Uncertainty",
        help="The last samples of a series as an interval, a normal or a histogram.",
    )
    register(
        "eval", "perf_structural.cli.eval:command", group="Uncertainty", help="A formula over quantities that vary."
    )
    register(
        "schedule",
        "perf_structural.cli.schedule:command",
        group="Uncertainty",
        help="The allocation to choose, or how to divide work.",
    )
    register(
        "judge",
        "perf_structural.cli.judge:command",
        group="Uncertainty",
        help="Predictions against what then happened.",
    )


@hookimpl
def register_openers(register: Register) -> None:
    """Announce what opens structural models."""
    register(
        "structural", "perf_structural.opening:StructuralOpener", help="structural models in TOML", suffixes=(".toml",)
    )
