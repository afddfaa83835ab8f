"""The Python functions behind the commands solve and decide."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from perf_structural.measuring import ReadFile, read_samples, samples_of
from perf_structural.questions.deciding import Decision, compare_samples
from perf_structural.questions.solving import Solution, parse_range, solve_for
from perf_structural.structural_model import StructuralModel
from perf_structural.support import Bounds, parse_bounds
from perfcore.data.curve import UtilizationCurve
from perfcore.data.measurements import Measurements
from perfcore.data.series import Series

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
        ``"servers=1..64"``: the input and between what its value is looked for; of two whole numbers only whole ones
        are. The least that suffices is found, or the largest where the least of the range does.
    below : float
        The limit, in the result's unit.
    probability : float, 0 to 1
        Of results up to the limit.
    inputs : mapping, optional
        Quantities in the place of the model's, as of `evaluate`.
    **options
        ``samples`` and ``seed``, as of `perf_structural.EvaluationOptions`.

    Returns
    -------
    Solution
        ``.found`` is the value with its probability, None where none in the range suffices; ``to_frame()`` has all
        values that were tried.

    Raises
    ------
    OptionError
        The range, the probability or an option is not accepted, or the equation does not use the input.
    StructuralModelError
        The model cannot be read or evaluated.

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
    column : str, optional
        May be left out when there is only one.
    where : str or sequence of str, optional
        Conditions on the rows of a table: ``"host=a,p>4"``.
    quantile : float, 0 to 1, optional
        Compare this quantile instead of the mean.
    min_effect : float, >= 0, optional
        Smallest difference that matters, as a share of the first's figure: 0.01 for one per cent.
    power : float, 0 to 1
        How probable a decision shall be after the further measurements.
    support : (float, float), optional
        Between what samples of files are known to lie, as of `value`.
    read : callable, optional
        Takes the path and the types wanted, and gives the data.

    Returns
    -------
    Decision
        ``.verdict`` is ``"first"``, ``"second"``, ``"equal"`` or ``"undecided"``; ``.more`` how many more decide it.

    Raises
    ------
    OptionError
        A number is outside of what is accepted, or a column must be named.
    DataError
        There are too few samples.
    InputError
        A file cannot be read.

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
    bounds: Bounds | None,
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
