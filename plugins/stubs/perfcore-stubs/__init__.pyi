"""Written by plugins/stubs/write_stubs.py."""

from concurrent.futures import Executor
from typing import Any, Literal, overload

from perf_analysis.api import messages as messages
from perf_analysis.api import overheads as overheads
from perf_analysis.api import profile as profile
from perf_analysis.api import summarize as summarize
from perf_analysis.api import whatif as whatif
from perf_basics.api import formats as formats
from perf_basics.api import info as info
from perf_basics.api import plugins as plugins
from perf_basics.api import predict as predict
from perf_experiments.api import design as design
from perf_experiments.api import next_points as next_points
from perf_experiments.api import run as run
from perf_experiments.api import runs as runs
from perf_experiments.api import sample as sample
from perf_explore.api import explore as explore
from perf_explore.api import view as view
from perf_forecast.model import ForecastModel as ForecastModel
from perf_gate.api import add_to_history as add_to_history
from perf_gate.api import compare as compare
from perf_gate.api import gate as gate
from perf_gate.api import gate_history as gate_history
from perf_gate.api import gate_run as gate_run
from perf_gate.api import gate_self_test as gate_self_test
from perf_gate.api import validate as validate
from perf_lost_cycles.lca import LcaModel as LcaModel
from perf_lost_cycles.modgen import ModgenModel as ModgenModel
from perf_project.api import project as project
from perf_project.model import ProjectionModel as ProjectionModel
from perf_regression.regression import RegressionModel as RegressionModel
from perf_regression.usl import UslModel as UslModel
from perf_scaling.model import ScalingModel as ScalingModel
from perf_structural.api import evaluate as evaluate
from perf_structural.api import schedule as schedule
from perf_structural.api import solve as solve
from perf_structural.api import value as value
from perf_structural.composed_models import max_ as max_
from perf_structural.judging import judge as judge
from perf_timing.individual_model import IndividualModel as IndividualModel
from perf_timing.joint_model import JointModel as JointModel
from perf_views.picture import plot as plot
from perf_worley.iterations_api import iterations as iterations
from perf_worley.phase_model import PhaseModel as PhaseModel
from perfcore.base.errors import PerfError as PerfError
from perfcore.data.curve import UtilizationCurve as UtilizationCurve
from perfcore.data.measurements import Measurements as Measurements
from perfcore.data.series import Series as Series
from perfcore.data.trace import Trace as Trace
from perfcore.hooks.specs import hookimpl as hookimpl
from perfcore.models.model import Model as Model
from perfcore.models.model import load as load
from perfcore.models.ranking import Ranking as Ranking
from perfcore.reading.recognise import read as read
from perfcore.reading.recognise import write as write
from perfcore.report import Result as Result

__version__: str

@overload
def fit(
    data: Any,
    *,
    fitter: Literal["forecast"],
    executor: Executor | None = None,
    column: Any = ...,
    by: Any = ...,
    window: Any = ...,
    within: Any = ...,
    horizon: int | None = ...,
    at: Any = ...,
) -> ForecastModel: ...
@overload
def fit(
    data: Any,
    *,
    fitter: Literal["individual"],
    executor: Executor | None = None,
    parameter: Any = ...,
    value: Any = ...,
    code: Any = ...,
    system: Any = ...,
    unit: Any = ...,
    where: Any = ...,
    aggregate: Literal["median", "mean", "minimum"] | None = ...,
    duplicates: Literal["refuse", "keep", "drop"] | None = ...,
    prepare: Any = ...,
    operations: Any = ...,
    peak: Any = ...,
    weights: Literal["equal", "relative", "repetitions", "spread"] | None = ...,
    sign: Literal["nonnegative", "bounded", "any"] | None = ...,
    function: Any = ...,
    functions: Any = ...,
    terms: Any = ...,
    criterion: Literal["loo", "aicc", "bic", "sse"] | None = ...,
) -> IndividualModel: ...
@overload
def fit(
    data: Any,
    *,
    fitter: Literal["lca"],
    executor: Executor | None = None,
    parameter: Any = ...,
    value: Any = ...,
    category: Any = ...,
    total: Any = ...,
    unit: Any = ...,
    where: Any = ...,
    aggregate: Literal["median", "mean", "minimum"] | None = ...,
    duplicates: Literal["refuse", "keep", "drop"] | None = ...,
    models: Any = ...,
    criterion: Literal["loo", "adjusted", "r2"] | None = ...,
    weights: Literal["relative", "equal", "repetitions"] | None = ...,
    factor: Any = ...,
    absent: Literal["unknown", "zero"] | None = ...,
    show: Any = ...,
) -> LcaModel: ...
@overload
def fit(
    data: Any,
    *,
    fitter: Literal["modgen"],
    executor: Executor | None = None,
    parameter: Any = ...,
    value: Any = ...,
    category: Any = ...,
    total: Any = ...,
    unit: Any = ...,
    where: Any = ...,
    aggregate: Literal["median", "mean", "minimum"] | None = ...,
    duplicates: Literal["refuse", "keep", "drop"] | None = ...,
    models: Any = ...,
    criterion: Literal["loo", "adjusted", "r2"] | None = ...,
    weights: Literal["relative", "equal", "repetitions"] | None = ...,
    absent: Literal["refuse", "zero", "skip"] | None = ...,
    set_aside: Any = ...,
    seed: int | None = ...,
) -> ModgenModel: ...
@overload
def fit(
    data: Any,
    *,
    fitter: Literal["phases"],
    executor: Executor | None = None,
    phases: Any = ...,
    phases_from: Any = ...,
    degree: Literal["auto", "0", "1", "2", "3"] | None = ...,
    segmenter: str | None = ...,
    refine: bool | None = ...,
    rule: Literal["auto", "knee", "penalty"] | None = ...,
    busy: Any = ...,
    idle: Any = ...,
    column: Any = ...,
) -> PhaseModel: ...
@overload
def fit(
    data: Any,
    *,
    fitter: Literal["projection"],
    executor: Executor | None = None,
    parameter: Any = ...,
    value: Any = ...,
    unit: Any = ...,
    where: Any = ...,
    duplicates: Literal["refuse", "keep", "drop"] | None = ...,
    at: Any = ...,
    scaling: Literal["auto", "weak", "strong"] | None = ...,
) -> ProjectionModel: ...
@overload
def fit(
    data: Any,
    *,
    fitter: Literal["regression"],
    executor: Executor | None = None,
    parameter: Any = ...,
    value: Any = ...,
    unit: Any = ...,
    where: Any = ...,
    formula: Any = ...,
    start: Any = ...,
    by: Any = ...,
    weights: Any = ...,
    errors: Any = ...,
    robust: Literal["huber", "tukey"] | None = ...,
    quantile: float | None = ...,
    family: Literal["gaussian", "gamma"] | None = ...,
) -> RegressionModel: ...
@overload
def fit(
    data: Any,
    *,
    fitter: Literal["scaling"],
    executor: Executor | None = None,
    parameter: Any = ...,
    value: Any = ...,
    path: Any = ...,
    unit: Any = ...,
    where: Any = ...,
    duplicates: Literal["refuse", "keep", "drop"] | None = ...,
    at: Any = ...,
    exponents: Any = ...,
    logarithms: Any = ...,
    functions: Any = ...,
    scaling: Literal["auto", "weak", "strong"] | None = ...,
    show: Any = ...,
) -> ScalingModel: ...
@overload
def fit(
    data: Any,
    *,
    fitter: Literal["strohmaier"],
    executor: Executor | None = None,
    parameter: Any = ...,
    value: Any = ...,
    code: Any = ...,
    system: Any = ...,
    unit: Any = ...,
    where: Any = ...,
    aggregate: Literal["median", "mean", "minimum"] | None = ...,
    duplicates: Literal["refuse", "keep", "drop"] | None = ...,
    prepare: Any = ...,
    operations: Any = ...,
    peak: Any = ...,
    weights: Literal["auto", "equal", "relative", "repetitions", "spread"] | None = ...,
    sign: Literal["nonnegative", "bounded", "any"] | None = ...,
    function: Any = ...,
    functions: Any = ...,
    terms: Any = ...,
    criterion: Literal["aicc", "bic", "sse"] | None = ...,
    reference: Any = ...,
    loss: Literal["linear", "huber"] | None = ...,
    drop_outliers: bool | None = ...,
    starts: int | None = ...,
    intervals: Literal["asymptotic", "profile", "bootstrap"] | None = ...,
    draws: int | None = ...,
    seed: int | None = ...,
    validate: bool | None = ...,
) -> JointModel: ...
@overload
def fit(
    data: Any,
    *,
    fitter: Literal["usl"],
    executor: Executor | None = None,
    parameter: Any = ...,
    value: Any = ...,
    unit: Any = ...,
    where: Any = ...,
    quantity: Literal["auto", "throughput", "time"] | None = ...,
    weights: Literal["auto", "equal", "relative"] | None = ...,
) -> UslModel: ...
@overload
def fit(
    data: Any,
    *,
    fitter: Literal["worley"],
    executor: Executor | None = None,
    phases: Any = ...,
    tolerance: float | None = ...,
    degree: Literal["0", "1", "2", "3", "mixed"] | None = ...,
    rule: Literal["knee", "penalty"] | None = ...,
    refine: bool | None = ...,
    functions: Any = ...,
    scale: float | None = ...,
    busy: Any = ...,
    idle: Any = ...,
    column: Any = ...,
) -> PhaseModel: ...
@overload
def fit(
    data: Any,
    *,
    fitter: str | None = None,
    executor: Executor | None = None,
    **options: Any,
) -> Model: ...
@overload
def rank(
    data: Any,
    *,
    fitter: Literal["individual"],
    executor: Executor | None = None,
    parameter: Any = ...,
    value: Any = ...,
    code: Any = ...,
    system: Any = ...,
    unit: Any = ...,
    where: Any = ...,
    aggregate: Literal["median", "mean", "minimum"] | None = ...,
    duplicates: Literal["refuse", "keep", "drop"] | None = ...,
    prepare: Any = ...,
    operations: Any = ...,
    peak: Any = ...,
    weights: Literal["equal", "relative", "repetitions", "spread"] | None = ...,
    sign: Literal["nonnegative", "bounded", "any"] | None = ...,
    function: Any = ...,
    functions: Any = ...,
    terms: Any = ...,
    criterion: Literal["loo", "aicc", "bic", "sse"] | None = ...,
) -> Ranking: ...
@overload
def rank(
    data: Any,
    *,
    fitter: str | None = None,
    executor: Executor | None = None,
    **options: Any,
) -> Ranking: ...
