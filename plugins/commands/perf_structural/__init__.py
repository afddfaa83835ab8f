"""Structural models: performance equations over components and uncertain inputs, and what is decided by them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from perfcore import hookimpl
from perfcore.base.lazy import lazy_names
from perfcore.hooks.specs import Register

if TYPE_CHECKING:
    from perf_structural.api import evaluate, schedule, value
    from perf_structural.decomposition import Decomposition, balance
    from perf_structural.evaluation import Evaluation
    from perf_structural.judging.judge import judge, recalibrate
    from perf_structural.judging.judgement import Judgement
    from perf_structural.judging.recalibration import Recalibration
    from perf_structural.measured_value import MeasuredValue
    from perf_structural.mistakes import StructuralModelError
    from perf_structural.model_file import Component, read_candidates
    from perf_structural.options import EvaluationOptions
    from perf_structural.prediction import Prediction
    from perf_structural.questions.api import decide, solve
    from perf_structural.questions.deciding import Decision
    from perf_structural.questions.solving import Solution
    from perf_structural.scheduling import Choice, choose, predict_candidates
    from perf_structural.statistic import Statistic, parse_statistic
    from perf_structural.structural_model import StructuralModel

__all__ = [
    "Choice",
    "Component",
    "Decision",
    "Decomposition",
    "Evaluation",
    "EvaluationOptions",
    "Judgement",
    "MeasuredValue",
    "Prediction",
    "Recalibration",
    "Solution",
    "Statistic",
    "StructuralModel",
    "StructuralModelError",
    "balance",
    "choose",
    "decide",
    "evaluate",
    "judge",
    "parse_statistic",
    "predict_candidates",
    "read_candidates",
    "recalibrate",
    "register_commands",
    "register_openers",
    "register_presenters",
    "schedule",
    "solve",
    "value",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "Choice": "perf_structural.scheduling",
        "Component": "perf_structural.model_file",
        "Decision": "perf_structural.questions.deciding",
        "Decomposition": "perf_structural.decomposition",
        "Evaluation": "perf_structural.evaluation",
        "EvaluationOptions": "perf_structural.options",
        "Judgement": "perf_structural.judging.judgement",
        "MeasuredValue": "perf_structural.measured_value",
        "Prediction": "perf_structural.prediction",
        "Recalibration": "perf_structural.judging.recalibration",
        "Solution": "perf_structural.questions.solving",
        "Statistic": "perf_structural.statistic",
        "StructuralModel": "perf_structural.structural_model",
        "StructuralModelError": "perf_structural.mistakes",
        "balance": "perf_structural.decomposition",
        "choose": "perf_structural.scheduling",
        "decide": "perf_structural.questions.api",
        "evaluate": "perf_structural.api",
        "judge": "perf_structural.judging.judge",
        "parse_statistic": "perf_structural.statistic",
        "predict_candidates": "perf_structural.scheduling",
        "read_candidates": "perf_structural.model_file",
        "recalibrate": "perf_structural.judging.judge",
        "schedule": "perf_structural.api",
        "solve": "perf_structural.questions.api",
        "value": "perf_structural.api",
    },
)


@hookimpl
def register_commands(register: Register) -> None:
    """Announce the commands, and the functions behind them."""
    group = "Uncertainty"
    register("stochastic", "", group=group, help="Values that vary: from samples, in formulas, in decisions.")
    for name, former, text, function in (
        (
            "summarize", "value", "The last samples of a series as an interval, a normal or a histogram.", "api:value",
        ),
        ("eval", "eval", "A formula over quantities that vary.", "api:evaluate"),
        ("schedule", "schedule", "The allocation to choose, or how to divide work.", "api:schedule"),
        (
            "solve", "solve", "How many replicas or which limit: the value of an input that suffices.",
            "questions.api:solve",
        ),
    ):  # fmt: skip
        register(
            f"stochastic {name}",
            f"perf_structural.cli.{former}:command",
            group=group,
            help=text,
            function=f"perf_structural.{function}",
            former=(former, *(("--to=--to", "--support=--support") if name == "summarize" else ())),
        )
    register(
        "decide",
        "perf_structural.cli.decide:command",
        group=group,
        help="Which of two is smaller, or how many more measurements tell.",
        function="perf_structural.questions.api:decide",
    )


@hookimpl
def register_presenters(register: Register) -> None:
    """Announce how results and series are shown."""
    presenter = "perf_structural.views.predictions:{}".format
    register("perf_structural.prediction:Prediction", presenter("PredictionPresenter"), help="a predicted distribution")
    register("perf_structural.scheduling:Choice", presenter("ChoicePresenter"), help="candidates beside one another")
    register("perf_structural.decomposition:Decomposition", presenter("DecompositionPresenter"), help="work divided")
    register(
        "perf_structural.questions.solving:Solution",
        "perf_structural.views.questions:SolutionPresenter",
        help="the value of an input that suffices",
    )
    register(
        "perf_structural.questions.deciding:Decision",
        "perf_structural.views.questions:DecisionPresenter",
        help="two sets of measurements beside one another",
    )
    register(
        "perf_structural.measured_value:MeasuredValue",
        "perf_structural.views.measured_value:MeasuredValuePresenter",
        help="a value beside the samples that it was made of",
    )
    register(
        "perf_structural.judging.recalibration:Recalibration",
        "perf_structural.judging.presenter:RecalibrationPresenter",
        help="what past predictions teach later ones",
    )
    register(
        "perf_structural.judging.judgement:Judgement",
        "perf_structural.judging.presenter:JudgementPresenter",
        help="predictions against what happened",
        function="perf_structural.judging.judge:judge",
    )
    register(
        "perf_structural.structural_model:StructuralModel",
        "perf_structural.views.structural:StructuralPresenter",
        help="a structural model: its prediction, inputs and candidates",
    )
    register(
        "perfcore.data.series:Series",
        "perf_structural.views.series:SeriesPresenter",
        help="a time series, and its columns as stochastic values",
    )


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
