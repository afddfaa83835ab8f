"""Structural models: performance equations over components and uncertain inputs, and what is decided by them."""

from __future__ import annotations

from perfcore import hookimpl
from perfcore.base.lazy import lazy_names
from perfcore.hooks.specs import Register

_PUBLIC = {
    "api": ("decide", "evaluate", "schedule", "solve", "value"),
    "deciding": ("Decision",),
    "decomposition": ("Decomposition", "balance"),
    "evaluation": ("Evaluation",),
    "judging": ("Judgement", "judge", "recalibrate"),
    "measured_value": ("MeasuredValue",),
    "model_file": ("Component", "StructuralModelError", "read_candidates"),
    "options": ("EvaluationOptions",),
    "prediction": ("Prediction",),
    "recalibration": ("Recalibration",),
    "solving": ("Solution",),
    "statistic": ("Statistic", "parse_statistic"),
    "structural_model": ("Choice", "StructuralModel", "choose", "predict_candidates"),
}
_HOMES = {name: f"perf_structural.{module}" for module, names in _PUBLIC.items() for name in names}
__all__ = [*_HOMES, "register_commands", "register_models", "register_openers", "register_presenters"]  # noqa: PLE0604
__getattr__, __dir__ = lazy_names(__name__, _HOMES)


@hookimpl
def register_commands(register: Register) -> None:
    """Announce the commands, and the functions behind them."""
    group = "Uncertainty"
    register(
        "value",
        "perf_structural.cli.value:command",
        group=group,
        help="The last samples of a series as an interval, a normal or a histogram.",
        function="perf_structural.api:value",
    )
    register(
        "eval",
        "perf_structural.cli.eval:command",
        group=group,
        help="A formula over quantities that vary.",
        function="perf_structural.api:evaluate",
    )
    register(
        "schedule",
        "perf_structural.cli.schedule:command",
        group=group,
        help="The allocation to choose, or how to divide work.",
        function="perf_structural.api:schedule",
    )
    register(
        "solve",
        "perf_structural.cli.solve:command",
        group=group,
        help="How many replicas or which limit: the value of an input that suffices.",
        function="perf_structural.api:solve",
    )
    register(
        "decide",
        "perf_structural.cli.decide:command",
        group=group,
        help="Which of two is smaller, or how many more measurements tell.",
        function="perf_structural.api:decide",
    )
    register(
        "judge",
        "perf_structural.cli.judge:command",
        group=group,
        help="Predictions against what then happened.",
        function="perf_structural.judging:judge",
    )


@hookimpl
def register_models(register: Register) -> None:
    """Announce the model that operators and `perfcore.max_` make."""
    register(
        "composed",
        "perf_structural.composed_models:ComposedModel",
        help="sums, products and the largest of models",
        default_for=("composition",),
        function="perf_structural.composed_models:max_",
    )


@hookimpl
def register_presenters(register: Register) -> None:
    """Announce how results and series are shown."""
    for result, presenter, shows in (
        ("composed_models:ComposedModel", "composed_presenter:ComposedPresenter", "sums, products, largest of models"),
        ("prediction:Prediction", "presenters:PredictionPresenter", "a predicted distribution"),
        ("structural_model:Choice", "presenters:ChoicePresenter", "candidates beside one another"),
        ("decomposition:Decomposition", "presenters:DecompositionPresenter", "work divided"),
        ("solving:Solution", "presenters:SolutionPresenter", "the value of an input that suffices"),
        ("deciding:Decision", "presenters:DecisionPresenter", "two sets of measurements beside one another"),
        ("measured_value:MeasuredValue", "presenters:MeasuredValuePresenter", "a value beside its samples"),
        ("recalibration:Recalibration", "judging_views:RecalibrationPresenter", "what predictions teach later ones"),
        ("judging:Judgement", "judging_views:JudgementPresenter", "predictions against what happened"),
        ("structural_model:StructuralModel", "views:StructuralPresenter", "a structural model: prediction, inputs"),
    ):
        register(f"perf_structural.{result}", f"perf_structural.{presenter}", help=shows)
    series = "a time series, and its columns as stochastic values"
    register("perfcore.data.series:Series", "perf_structural.views:SeriesPresenter", help=series)


@hookimpl
def register_openers(register: Register) -> None:
    """Announce what opens structural models, and predictions to judge."""
    register(
        "structural", "perf_structural.opening:StructuralOpener", help="structural models in TOML", suffixes=(".toml",)
    )
    register(
        "predictions",
        "perf_structural.opening:PredictionsOpener",
        help="predictions in JSON, with the table of what happened",
        suffixes=(".json",),
    )
