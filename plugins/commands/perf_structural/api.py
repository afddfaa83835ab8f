"""The Python functions behind the commands value, eval and schedule; further ones: `questions.api`, `judging.judge`."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from perf_structural.decomposition import Decomposition, Draws, balance
from perf_structural.expression import leaves
from perf_structural.measured_value import MeasuredValue, check_scale, represent
from perf_structural.measuring import ReadFile, read_samples, samples_of
from perf_structural.model_file import read_candidates
from perf_structural.prediction import Prediction
from perf_structural.scheduling import Choice, choose, predict_candidates
from perf_structural.statistic import LEVELS, Statistic, levels_given, parse_statistic
from perf_structural.structural_model import StructuralModel
from perf_structural.support import parse_bounds
from perf_structural.support import within as bounded
from perf_structural.together import Part, predict_together
from perf_tables.arguments import check_length
from perf_tables.series import DEFAULT_WINDOW
from perfcore.base.errors import OptionError
from perfcore.data.curve import UtilizationCurve
from perfcore.data.measurements import Measurements
from perfcore.data.series import Series
from perfcore.hooks.options import build
from perfcore.hooks.registry import registry
from perfcore.stochastic import default_name

if TYPE_CHECKING:
    pass

Floats = npt.NDArray[np.float64]

Path = str | os.PathLike[str]


def value(
    series: Path | Series | UtilizationCurve | Measurements,
    as_: str | None = None,
    *,
    column: str | None = None,
    window: str = DEFAULT_WINDOW,
    until: float | str | None = None,
    where: str | Sequence[str] | None = None,
    support: str | tuple[float, float] | None = None,
    quantile: str | float | Sequence[float] | None = None,
    scale: float | None = None,
    read: ReadFile | None = None,
    **options: Any,
) -> MeasuredValue:
    """Represent measurements by a stochastic value: the last samples of a series, or the rows of a table of runs.

    Choose it for what varies while a program runs, the load of a processor or the bandwidth of a network, and for what
    varies from run to run.

    Parameters
    ----------
    series : str, path, Series, UtilizationCurve or Measurements
        A file of any of these, or of numbers one a line.
    as_ : str, optional
        A registered representation (``perf plugins`` lists them); if not given the one that samples become by default.
        Samples that are all equal become one number, whatever is asked for.
    column : str, optional
        May be left out when there is only one.
    window : str
        How much counts, from the end: a duration such as ``"5min"``, or ``"all"``.
    until : float or str, optional
        Last time that counts, in the series' unit, or as a date such as ``"2014-09-13 14:05"``, of UTC unless it says
        otherwise; by default the last sample's.
    where : str or sequence of str, optional
        Conditions on the rows of a table: ``"host=a,p>4"``.
    support : (float, float), optional
        Between what the quantity is known to lie: ``(0, 1)`` of a share, ``(0, math.inf)`` of a time. A sample outside
        is refused, and what the samples become is kept inside. Without, only a negative length of time is refused, told
        by the name: ``(-math.inf, math.inf)`` lets one through.
    quantile : float or sequence of float, optional
        Levels of the quantiles that are shown, with limits that the samples give them.
    scale : float, > 0, optional
        Full range of the quantity, for the variation class: 1 for a share, 100 for per cent. Without it 1, and no class
        of lengths of time, told by the name.
    read : callable, optional
        Takes the path and the types wanted, once everything else is known to be right, and gives the data.
    **options
        Options of the representation.

    Returns
    -------
    MeasuredValue
        ``.value`` is the stochastic value; ``to_frame()`` has it beside the samples.

    Raises
    ------
    OptionError
        The representation, an option, the column or the window is not known, the scale is not above 0, or a level is
        not between 0 and 1.
    DataError
        There are no samples in the window, or they cannot be represented so.
    InputError
        The file cannot be read.

    Examples
    --------
    >>> load = Series([0, 60, 120, 180], {"cpu": [0.2, 0.9, 0.4, 0.6]}, "s")
    >>> value(load, "interval", window="3min").value
    Interval[0.4, 0.9]
    """
    # What is wrong with the choices is said before a long file is read.
    name = as_ or default_name("samples")
    build(registry().entry("representations", name).load_options(), options, name)
    check_length(window)
    if scale is not None:
        check_scale(scale)
    levels = LEVELS if quantile is None else levels_given(quantile)
    bounds = parse_bounds(support) if isinstance(support, str) else support
    if isinstance(series, (str, os.PathLike)):
        samples, warnings = read_samples(series, window, column, until, where, read, bounds)
    else:
        samples, warnings = samples_of(series, window, column, until, where, bounds)
    measured = represent(samples, name, scale, levels, warnings, **options)
    if bounds is None:
        return measured
    return replace(measured, value=bounded(measured.value, *bounds))


def evaluate(
    formula: str, inputs: Mapping[str, Any], *, executor: Executor | None = None, **options: Any
) -> Prediction:
    """Evaluate a formula over quantities that vary.

    Choose it for one formula; `perf_structural.StructuralModel` has components, candidates and correlations beside.
    The formula is seen as a whole: ``x - x`` is 0, and what occurs twice is the same quantity.

    Parameters
    ----------
    formula : str
    inputs : mapping of str to number, str, StochasticValue, mapping or sequence
        As of `perf_structural.StructuralModel`: ``"normal:10,2"``, or ``{"normal": [10, 2], "unit": "ms"}``.
    executor : concurrent.futures.Executor, optional
        What draws parts of a sample of millions of points; by default this process does. No digit depends on it.
    **options
        Of `perf_structural.EvaluationOptions`: ``method``, ``bins``, ``samples``, ``seed``.

    Returns
    -------
    Prediction
        ``.value`` is the distribution; ``to_frame()`` has its statistics.

    Raises
    ------
    OptionError
        An option is not accepted, or the method cannot evaluate the formula.
    StructuralModelError
        The formula cannot be read or evaluated, or an input is missing or not what is expected.

    Examples
    --------
    >>> evaluate("work/speed", {"work": 100, "speed": {"interval": [4, 5]}}).value
    Interval[20, 25]
    """
    return StructuralModel(formula, inputs=inputs, source="eval").predict(executor=executor, **options)


def schedule(
    model: Path | StructuralModel,
    candidates: Sequence[Path] | Mapping[str, Mapping[str, Any]] = (),
    *,
    by: str = "mean",
    tuning: float | None = None,
    divide: int | None = None,
    unit_time: str | None = None,
    fixed_time: str | None = None,
    **options: Any,
) -> Choice | Decomposition:
    """Choose among allocations, or divide work among unequal machines, by what a structural model predicts.

    Parameters
    ----------
    model : str, path or StructuralModel
        A TOML file, or the model.
    candidates : sequence of paths, or mapping of str to mapping
        Beside those of the model: files of candidates, or by name the inputs that take the place of the model's.
    by : str
        What is to be small: ``mean``, ``upper`` or ``quantile:Q``.
    tuning : float, optional
        With the mean: that many standard deviations are added to it.
    divide : int, >= 0, optional
        Divide this many units of work instead; ``candidates`` are then not looked at.
    unit_time, fixed_time : str, optional
        Replicated components, where work is divided: each machine's time for one unit, and its time besides.
    **options
        Of `perf_structural.EvaluationOptions`: ``method``, ``bins``, ``samples``, ``seed``.

    Returns
    -------
    Choice or Decomposition
        ``.chosen``, or ``.shares`` where work is divided; ``to_frame()`` has a row for each candidate or machine.

    Raises
    ------
    OptionError
        The statistic is not known; ``unit_time`` is missing or belongs to nothing; two candidates have one name.
    DataError
        A candidate or machine does not have the statistic.
    StructuralModelError
        The model cannot be read or evaluated, or there are no candidates.

    Examples
    --------
    >>> schedule("examples/structural/sor.toml", by="quantile:0.95").chosen
    'balanced strips'
    >>> rows = StructuralModel("0", inputs={"row": [{"normal": [1, 0.5]}, 1]})
    >>> schedule(rows, divide=300, unit_time="row", tuning=2).shares
    (100, 200)
    """
    statistic = parse_statistic(by, tuning)
    if divide is None and (unit_time is not None or fixed_time is not None):
        raise OptionError("--unit-time and --fixed-time belong to --divide UNITS")
    if not isinstance(model, StructuralModel):
        model = StructuralModel.read(model)
    if divide is not None:
        return _divided(model, divide, statistic, unit_time, fixed_time, options)
    gathered = _all_candidates(model, candidates)
    return choose(predict_candidates(model, gathered, **options), statistic)


def _all_candidates(
    model: StructuralModel, candidates: Sequence[Path] | Mapping[str, Mapping[str, Any]]
) -> dict[str, Mapping[str, Any]]:
    gathered = dict(model.candidates)
    sources = (
        {"candidates": candidates}
        if isinstance(candidates, Mapping)
        else {os.fspath(path): read_candidates(path) for path in candidates}
    )
    for source, inputs_by_name in sources.items():
        for name, inputs in inputs_by_name.items():
            if name in gathered:
                raise OptionError(f"{source}: there is a candidate {name!r} already")
            gathered[name] = inputs
    return gathered


def _divided(
    model: StructuralModel,
    total: int,
    statistic: Statistic,
    unit_time: str | None,
    fixed_time: str | None,
    options: Mapping[str, Any],
) -> Decomposition:
    if unit_time is None:
        raise OptionError("--divide needs --unit-time NAME, the component with each machine's time for one unit")
    parts = [model.part_named(name) for name in (unit_time, fixed_time) if name is not None]
    times, *others = predict_together(parts, options)
    fixed = others[0] if others else None
    if fixed is not None and fixed[0].unit != times[0].unit:
        raise OptionError(
            f"--unit-time is in {times[0].unit or 'no unit'} and --fixed-time in {fixed[0].unit or 'no unit'}"
        )
    return balance(
        [time.value for time in times],
        total,
        statistic,
        None if fixed is None else [time.value for time in fixed],
        times[0].unit,
        _draws(parts, times, fixed),
    )


def _draws(
    parts: Sequence[Part], times: Sequence[Prediction], fixed: Sequence[Prediction] | None
) -> list[Draws] | None:
    """Of each machine; they decide where both of its times use one quantity, or were sampled anyway."""
    needs = [[set(leaves(cell)) for cell in part.composition.result.cells.values()] for part in parts]
    draws = []
    for machine, time in enumerate(times):
        fixed_time = fixed[machine] if fixed is not None and machine < len(fixed) else None
        if time.draws is None or (fixed_time is not None and fixed_time.draws is None):
            return None
        shared = fixed_time is not None and bool(needs[0][machine] & needs[1][machine])
        was_sampled = any(each is not None and each.evaluation.sample is not None for each in (time, fixed_time))
        fixed_draws = (
            np.zeros(time.draws.size) if fixed_time is None or fixed_time.draws is None else fixed_time.draws.ravel()
        )
        draws.append(Draws(time.draws.ravel(), fixed_draws, shared or was_sampled))
    return draws
