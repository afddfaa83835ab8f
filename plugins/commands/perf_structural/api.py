"""What ``perf stochastic`` does, in Python."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from perfcore.base.errors import OptionError
from perfcore.hooks.options import build
from perfcore.hooks.parameters import OptionGroup, OptionRules, OptionsOf, OptionsOfSelected, names_of
from perfcore.hooks.registry import registry
from perfcore.reading import Read

if TYPE_CHECKING:
    from perf_structural.decisions import Decomposition, Solution
    from perf_structural.measured_value import MeasuredValue
    from perf_structural.prediction import Prediction
    from perf_structural.structural_model import Choice, StructuralModel
    from perfcore.data.curve import UtilizationCurve
    from perfcore.data.measurements import Measurements
    from perfcore.data.series import Series

Named = str | os.PathLike[str]
_TAIL = "quantile:0.95"  # by which a choice by the mean is to be looked at too
_KEEP = "run the first one and keep its times: `perf validate` compares predictions with them"
_EVALUATION = OptionsOf("perf_structural.options:EvaluationOptions", "evaluation")
_READ = OptionGroup("perfcore.cli.reading:HowToRead", "read_file")


def solve(
    model: Annotated[
        Named | StructuralModel, Argument(metavar="MODEL", help="A structural model (.toml), or a formula.")
    ],
    range_: Annotated[
        str,
        Option(
            "--for",
            metavar="NAME=LOW..HIGH",
            help="The input and its range, such as servers=1..64 or limit=0.1..2.0: of whole numbers if both ends are.",
        ),
    ],
    below: Annotated[float, Option(metavar="LIMIT", help="Limit of the result, in its unit.")],
    probability: Annotated[
        float, Option(metavar="P", help="Probability of meeting the limit, between 0 and 1.")
    ] = 0.99,
    *,
    inputs: Annotated[
        Mapping[str, Any] | Sequence[str] | None,
        Option("--with", metavar="NAME=QUANTITY", help="An input, as of `perf stochastic eval`."),
    ] = None,
    **options: Annotated[Any, OptionsOf("perf_structural.options:SamplingOptions", "sampling")],
) -> Solution:
    """Find how many replicas, or which time limit, keep the result of MODEL below LIMIT with probability P.

    The least value that suffices is found, or the largest where the least of the range does. All are tried with the
    same draws.

    Parameters
    ----------
    model : str, path or StructuralModel
        Or the model in memory.
    inputs : mapping or sequence of str, optional
        Once for each.
    **options
        ``samples`` and ``seed``, as of `perf_structural.EvaluationOptions`.

    Returns
    -------
    Solution
        ``.found`` is the value with its probability, or None; ``to_frame()`` has all values that were tried.

    Examples
    --------
    As a command::

        perf stochastic solve service.toml --for servers=1..64 --below 0.2 --probability 0.99
        perf stochastic solve "work/n + 0.01*n" --for n=1..64 --below 1.0 --with work=normal:10,1

    >>> found = solve("work/n", "n=1..64", 0.5, 0.99, inputs={"work": "normal:10,1"}, samples=4096)
    >>> found.found.value
    25
    """
    from perf_structural.decisions import parse_range, solve_for
    from perf_structural.inputs import as_quantities, with_words
    from perf_structural.structural_model import StructuralModel

    name, ends = parse_range(range_)
    text = "" if isinstance(model, StructuralModel) else os.fspath(model)
    is_file = text.endswith(".toml")
    if not isinstance(model, StructuralModel):
        model = StructuralModel.read(model) if is_file else StructuralModel(text, source=text)
    solution = solve_for(model.with_inputs(as_quantities(inputs)), name, ends, below, probability, **options)
    if not text or solution.found is None or isinstance(inputs, Mapping):
        return solution
    command = "predict" if is_file else "stochastic eval"
    words = f"{shlex.quote(text)} --with {name}={solution.found.value:.6g}{with_words(inputs)}"
    return replace(solution, next=f"perf {command} {words} --below {below:g}")


def value(
    series: Annotated[
        Named | Series | UtilizationCurve | Measurements,
        Argument(metavar="SERIES", help="A file of samples or runs; - is standard input."),
    ],
    as_: Annotated[
        str | None,
        Option(
            "--as",
            metavar="NAME",
            autocompletion=names_of("representations"),
            help="Representation of the samples (default: see `perf plugins`).",
        ),
    ] = None,
    *,
    column: Annotated[
        str | None, Option(metavar="NAME", help="Series of several columns: the one to represent.")
    ] = None,
    window: Annotated[str, Option(metavar="DURATION|all", help="Window of samples, from the end.")] = "5min",
    until: Annotated[
        float | str | None,
        Option("--to", metavar="TIME", help="Last time or date that counts (default: the last sample's)."),
    ] = None,
    where: Annotated[
        str | tuple[str, ...] | None,
        Option(metavar="CONDITIONS", help="Rows of a table that count, such as host=a,p>4."),
    ] = None,
    support: Annotated[
        str | tuple[float, float] | None, Option(metavar="LOW,HIGH", help="Known bounds, such as 0,1 or 0,inf.")
    ] = None,
    quantile: Annotated[
        str | float | tuple[float, ...] | None,
        Option(metavar="Q,...", help="Quantiles to show, with the limits that samples give them."),
    ] = None,
    run: Annotated[
        str | None,
        Option(
            metavar="DURATION",
            help="Distribution of the mean over a run this long that starts now, instead of single samples.",
        ),
    ] = None,
    read: Annotated[Read | None, _READ] = None,
    **options: Annotated[Any, OptionsOfSelected("representations", "as")],
) -> MeasuredValue:
    """Represent measurements by a point, interval, normal or histogram: the last samples of a series, the rows of a
    table of runs, or numbers one a line.

    Parameters
    ----------
    as_ : str, optional
        Samples that are all equal become one number.
    support : str or (float, float), optional
        A sample outside is refused, and the value is kept inside. Without, only a negative length of time is refused,
        known by the name.
    read : callable, optional
        Takes the path and the types wanted, once everything else is known to be right, and gives the data.
    **options
        Options of the representation.

    Returns
    -------
    MeasuredValue
        ``.value`` is the stochastic value; ``to_frame()`` has it with the samples.

    Examples
    --------
    As a command::

        perf stochastic summarize cpu.csv --column "cpu all busy" --as histogram --bins 5 --window 5min
        perf stochastic summarize load.json --as normal -o load.value.json --plot load.png
        perf stochastic summarize runs.csv --column time_s --where host=a --quantile 0.5,0.99,0.999
        perf stochastic summarize load.json --run 10min -o load.value.json

    >>> from perfcore import Series
    >>> load = Series([0, 60, 120, 180], {"cpu": [0.2, 0.9, 0.4, 0.6]}, "s")
    >>> value(load, "interval").value
    Interval[0.2, 0.9]
    """
    from perf_structural.bounds import parse_bounds
    from perf_structural.bounds import within as bounded
    from perf_structural.measured_value import SUMMARY_LEVELS, represent, represent_run
    from perf_structural.options import levels_given
    from perf_structural.samples import read_samples
    from perf_tables.arguments import check_length
    from perf_tables.series import DEFAULT_WINDOW
    from perfcore.stochastic import default_name

    # Wrong choices are refused before a long file is read.
    name = as_ or default_name("samples")
    build(registry().entry("representations", name).load_options(), options, name)
    check_length(window)
    levels = SUMMARY_LEVELS if quantile is None else levels_given(quantile)
    bounds = parse_bounds(support) if isinstance(support, str) else support
    if run is not None:
        window = "all" if window == DEFAULT_WINDOW else window
        check_length(run)
    samples, warnings = read_samples(series, window, column, until, where, read, bounds)
    if run is not None:
        return represent_run(samples, run, bounds, levels, warnings)
    measured = represent(samples, name, levels, warnings, **options)
    if bounds is None:
        return measured
    return replace(measured, value=bounded(measured.value, *bounds))


def evaluate(
    formula: Annotated[str, Argument(metavar="FORMULA", help="Formula over the inputs given by --with.")],
    inputs: Annotated[
        Mapping[str, Any] | Sequence[str] | None,
        Option(
            "--with",
            metavar="NAME=QUANTITY",
            help="A number, REPRESENTATION:NUMBERS such as normal:10,2, or a JSON file of a value.",
        ),
    ] = None,
    **options: Annotated[Any, _EVALUATION],
) -> Prediction:
    """Evaluate FORMULA over quantities that are numbers, intervals, normals or histograms.

    The formula is seen as a whole: x - x is 0, and what occurs twice is the same quantity.

    Parameters
    ----------
    inputs : mapping of str to number, str, StochasticValue, mapping or sequence; or sequence of str
        Once for each input. In Python as of `perf_structural.StructuralModel`: ``"normal:10,2"``, or ``{"normal": [10,
        2], "unit": "ms"}``.
    **options
        Of `perf_structural.EvaluationOptions`: ``method``, ``bins``, ``samples``, ``seed``.

    Returns
    -------
    Prediction
        ``.value`` is the distribution; ``to_frame()`` has its statistics.

    Examples
    --------
    As a command::

        perf stochastic eval "work/speed + delay" --with work=100 --with speed=normal:10,1 --with delay=interval:1,2
        perf stochastic eval "max(a,b) + a" --with a=load.json --with b=normal:3,0.5 --bins 50 --plot sum.png

    >>> evaluate("work/speed", {"work": 100, "speed": {"interval": [4, 5]}}).value
    Interval[20, 25]
    """
    from perf_structural.inputs import as_quantities, with_words
    from perf_structural.structural_model import TO_VALIDATE, StructuralModel

    prediction = StructuralModel(formula, inputs=as_quantities(inputs), source=formula).predict(**options)
    if not (words := with_words(inputs)):
        return prediction
    return replace(prediction, next=f"perf stochastic eval {shlex.quote(formula)}{words}{TO_VALIDATE}")


def schedule(
    model: Annotated[Named | StructuralModel, Argument(metavar="MODEL", help="A structural model (.toml).")],
    candidates: Annotated[
        Sequence[Named] | Mapping[str, Mapping[str, Any]],
        Argument(metavar="CANDIDATES", help="Further files of candidates."),
    ] = (),
    *,
    by: Annotated[str, Option(metavar="MEASURE", help="Objective to minimize: mean, upper or quantile:Q.")] = "mean",
    tuning: Annotated[float | None, Option(metavar="TF", help="Add this many standard deviations to the mean.")] = None,
    divide: Annotated[
        int | None,
        Option(metavar="UNITS", min=0, help="Divide this much work instead; candidates are then not looked at."),
    ] = None,
    unit_time: Annotated[
        str | None,
        Option(metavar="NAME", help="Replicated component: each machine's time for one unit of work."),
        OptionRules(needs="--divide UNITS"),
    ] = None,
    **options: Annotated[Any, _EVALUATION],
) -> Choice | Decomposition:
    """Choose among allocations by MODEL, a TOML file of a structural model, or divide work among unequal machines.

    The candidates are [[candidate]] tables in the model's file or in files of their own, or files with [inputs].

    Parameters
    ----------
    model : str, path or StructuralModel
        Or the model in memory.
    candidates : sequence of paths, or mapping of str to mapping
        Or by name the inputs that take the place of the model's.
    **options
        Of `perf_structural.EvaluationOptions`: ``method``, ``bins``, ``samples``, ``seed``.

    Returns
    -------
    Choice or Decomposition
        ``.chosen``, or ``.shares`` where work is divided; ``to_frame()`` has a row for each candidate or machine.

    Examples
    --------
    As a command::

        perf stochastic schedule sor.toml --by quantile:0.95
        perf stochastic schedule sor.toml two.toml four.toml --tuning 1.5 --plot candidates.png
        perf stochastic schedule sor.toml --divide 1000 --unit-time row

    >>> from perf_structural import StructuralModel
    >>> schedule("examples/structural/sor.toml", by="quantile:0.95").chosen
    'balanced strips'
    >>> rows = StructuralModel("0", inputs={"row": [{"normal": [1, 0.5]}, 1]})
    >>> schedule(rows, divide=300, unit_time="row", tuning=2).shares
    (100, 200)
    """
    from perf_structural.decisions import all_candidates, divided
    from perf_structural.options import parse_statistic
    from perf_structural.structural_model import StructuralModel, choose, predict_candidates

    statistic = parse_statistic(by, tuning)
    text = "" if isinstance(model, StructuralModel) else shlex.quote(os.fspath(model))
    if divide is None and unit_time is not None:
        raise OptionError("--unit-time belongs to --divide UNITS")
    if not isinstance(model, StructuralModel):
        model = StructuralModel.read(model)
    result: Choice | Decomposition
    if divide is not None:
        result = divided(model, divide, statistic, unit_time, options)
        words = f" --divide {divide} --unit-time {unit_time}"
    else:
        result = choose(predict_candidates(model, all_candidates(model, candidates), **options), statistic)
        files = () if isinstance(candidates, Mapping) else candidates
        words = "".join(f" {shlex.quote(os.fspath(file))}" for file in files)
    following = f"perf stochastic schedule {text}{words} --by {_TAIL}" if text and by != _TAIL else _KEEP
    return replace(result, next=following)
