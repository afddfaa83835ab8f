"""The Python functions behind the commands value, eval and schedule; further ones: `questions.api`, `judging.judge`."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from perf_structural.algebra import leaves
from perf_structural.bounds import Range, parse_bounds
from perf_structural.bounds import within as bounded
from perf_structural.deciding import Decision, compare_samples
from perf_structural.decomposition import Decomposition, Draws, balance
from perf_structural.measured_value import MeasuredValue, check_scale, represent
from perf_structural.measuring import ReadFile, read_samples, samples_of
from perf_structural.model_file import read_candidates
from perf_structural.prediction import Part, Prediction, predict_jointly
from perf_structural.solving import Solution, parse_range, solve_for
from perf_structural.statistic import LEVELS, Statistic, levels_given, parse_statistic
from perf_structural.structural_model import Choice, StructuralModel, choose, predict_candidates
from perf_tables.arguments import check_length
from perf_tables.series import DEFAULT_WINDOW
from perfcore.base.errors import OptionError
from perfcore.data.curve import UtilizationCurve
from perfcore.data.measurements import Measurements
from perfcore.data.series import Series
from perfcore.hooks.options import build
from perfcore.hooks.registry import registry
from perfcore.stochastic import default_name

Floats = npt.NDArray[np.float64]
Path = str | os.PathLike[str]
Measured = Path | Sequence[float] | Series | UtilizationCurve | Measurements


def solve(
    model: Path | StructuralModel,
    range_: str,
    below: float,
    probability: float,
    *,
    inputs: Mapping[str, Any] | None = None,
    **options: Any,
) -> Solution:
    """Find the value of an input with which a result keeps a limit often enough.

    Choose it for how many replicas, which time limit or how much bandwidth gives P(T < 200 ms) >= 0.99. All values are
    tried with the same draws.

    Parameters
    ----------
    model : str, path or StructuralModel
        A TOML file, a formula, or the model.
    range_ : str
        ``"servers=1..64"``: the input and its range, of whole numbers if both ends are. The least value that suffices
        is found, or the largest where the least of the range does.
    below, probability : float
        The limit, in the result's unit, and how often it is to be kept.
    inputs : mapping, optional
        Quantities in the place of the model's, as of `evaluate`.
    **options
        ``samples`` and ``seed``, as of `perf_structural.EvaluationOptions`.

    Returns
    -------
    Solution
        ``.found`` is the value with its probability, or None; ``to_frame()`` has all values that were tried.

    Raises
    ------
    PerfError
        A choice, a file or a value is not what is expected; one line says what is.

    Examples
    --------
    >>> found = solve("work/n", "n=1..64", 0.5, 0.99, inputs={"work": "normal:10,1"}, samples=4096)
    >>> found.found.value
    25
    """
    name, ends = parse_range(range_)
    if not isinstance(model, StructuralModel):
        is_file = os.fspath(model).endswith(".toml")
        model = StructuralModel.read(model) if is_file else StructuralModel(os.fspath(model), source="solve")
    return solve_for(model.with_inputs(inputs or {}), name, ends, below, probability, **options)


def decide(
    first: Measured,
    second: Measured,
    *,
    column: str | None = None,
    where: str | Sequence[str] | None = None,
    quantile: float | None = None,
    min_effect: float | None = None,
    power: float = 0.9,
    support: str | tuple[float, float] | None = None,
    read: ReadFile | None = None,
) -> Decision:
    """Say which of two is smaller by what was measured of each, or how many more measurements would decide it.

    Choose it for two machines, settings or versions; `perf gate` is for versions in continuous integration. Samples
    are taken to be independent.

    Parameters
    ----------
    first, second : str, path, Series, UtilizationCurve, Measurements or sequence of float
        As of `value`; of a series over time everything counts.
    column, where, support, read
        As of `value`.
    quantile : float, 0 to 1, optional
        Compare this quantile instead of the mean.
    min_effect : float, >= 0, optional
        Smallest difference that matters, as a share of the first's figure: 0.01 for one per cent.
    power : float, 0 to 1
        How probable a decision shall be after the further measurements.

    Returns
    -------
    Decision
        ``.verdict`` is ``"first"``, ``"second"``, ``"equal"`` or ``"undecided"``; ``.more`` how many more decide it.

    Raises
    ------
    PerfError
        A choice, a file or a value is not what is expected; one line says what is.

    Examples
    --------
    >>> decide([10, 11, 12, 11, 10, 12], [14, 15, 13, 14, 15, 13]).verdict
    'first'
    """
    bounds = parse_bounds(support) if isinstance(support, str) else support
    sides = [
        _labelled_samples(name, measured, column, where, read, bounds)
        for name, measured in (("first", first), ("second", second))
    ]
    (first_label, first_samples, warnings), (second_label, second_samples, further) = sides
    decision = compare_samples(first_samples, second_samples, quantile, min_effect, power, (first_label, second_label))
    return replace(decision, notes=(*warnings, *further, *decision.notes))


def _labelled_samples(
    name: str,
    measured: Measured,
    column: str | None,
    where: str | Sequence[str] | None,
    read: ReadFile | None,
    bounds: Range | None,
) -> tuple[str, Floats, tuple[str, ...]]:
    """What one of the two is called, its samples, and what is to be said about them."""
    if isinstance(measured, (str, os.PathLike)):
        label = os.fspath(measured)
        samples, warnings = read_samples(measured, "all", column, None, where, read, bounds)
    elif isinstance(measured, (Series, UtilizationCurve, Measurements)):
        label = name
        samples, warnings = samples_of(measured, "all", column, None, where, bounds)
    else:
        return name, np.asarray(measured, dtype=np.float64), ()
    return label, samples.values, tuple(f"{label}: {warning}" for warning in warnings)


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
        A registered representation (see ``perf plugins``). Samples that are all equal become one number.
    column : str, optional
        May be left out when there is only one.
    window : str
        How much counts, from the end: a duration such as ``"5min"``, or ``"all"``.
    until : float or str, optional
        Last time that counts, in the series' unit or as a date of UTC; by default the last sample's.
    where : str or sequence of str, optional
        Conditions on the rows of a table: ``"host=a,p>4"``.
    support : (float, float), optional
        Known limits, such as ``(0, 1)`` of a share. A sample outside is refused, and the value is kept inside. Without,
        only a negative length of time is refused, known by the name.
    quantile : float or sequence of float, optional
        Levels of the quantiles that are shown, with limits that the samples give them.
    scale : float, > 0, optional
        Full range of the quantity, for the variation class; by default 1, and of lengths of time none.
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
    PerfError
        A choice, a file or a value is not what is expected; one line says what is.

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
        What draws parts of a sample of millions of points. No digit depends on it.
    **options
        Of `perf_structural.EvaluationOptions`: ``method``, ``bins``, ``samples``, ``seed``.

    Returns
    -------
    Prediction
        ``.value`` is the distribution; ``to_frame()`` has its statistics.

    Raises
    ------
    PerfError
        A choice, a file or a value is not what is expected; one line says what is.

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
    PerfError
        A choice, a file or a value is not what is expected; one line says what is.

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
    times, *others = predict_jointly(parts, options)
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
