"""Structural models: performance equations over components and uncertain inputs, and what is decided by them."""

from __future__ import annotations

from perfcore import hookimpl
from perfcore.base import lazy_names
from perfcore.hooks.specs import COMMAND_GROUP, Register

_PUBLIC = {
    "api": ("evaluate", "schedule", "solve", "value"),
    "decisions": ("Decomposition", "Solution", "balance"),
    "judging": ("Judgement", "Recalibration", "judge", "recalibrate"),
    "measured_value": ("MeasuredValue",),
    "model_file": ("Component", "StructuralModelError", "read_candidates"),
    "options": ("EvaluationOptions", "Statistic", "parse_statistic"),
    "prediction": ("Evaluation", "Prediction"),
    "structural_model": ("Choice", "StructuralModel", "choose", "predict_candidates"),
}
_HOMES = {name: f"perf_structural.{module}" for module, names in _PUBLIC.items() for name in names}
__all__ = [*_HOMES, "register_commands", "register_models"]  # noqa: PLE0604
__getattr__, __dir__ = lazy_names(__name__, _HOMES)


@hookimpl
def register_commands(register: Register) -> None:
    """Announce the commands, and the functions behind them."""
    group = "Uncertainty"
    register("stochastic", COMMAND_GROUP, group=group, help="Distributions and uncertainty, exact or by Monte Carlo.")
    saves = "Write the value to this JSON file."
    for name, text, function in (
        ("summarize", "Turn samples of a load or time into a distribution.", "value"),
        ("eval", "Propagate uncertainty through a formula (exact or Monte Carlo).", "evaluate"),
        ("schedule", "Choose an allocation or a work partition.", "schedule"),
        ("solve", "Find the input value that meets a limit, such as a number of replicas.", "solve"),
    ):
        target = f"perf_structural.api:{function}"
        saved = saves if name == "summarize" else ""
        register(
            f"stochastic {name}", target, group=group, help=text, function=target, shows=("plot",), saves=saved
        )  # fmt: skip


@hookimpl
def register_models(register: Register) -> None:
    """Announce the model that operators and `perfcore.max_` make, structural models and predictions."""
    register(
        "composed",
        "perf_structural.composed_models:ComposedModel",
        help="sums, products and the largest of models",
        default_for=("composition",),
        function="perf_structural.composed_models:max_",
    )
    register(
        "structural",
        "perf_structural.structural_model:StructuralModel",
        help="structural models in TOML",
        options="perf_structural.options:PredictionOptions",
        suffixes=(".toml",),
        default_for=("prediction",),
    )
    register(
        "predictions",
        "perf_structural.judging:Predictions",
        help="predictions in JSON, to be compared with what happened",
        options="perf_structural.options:ValidationOptions",
        suffixes=(".json",),
        default_for=("validation",),
        function="perf_structural.judging:judge",
    )
