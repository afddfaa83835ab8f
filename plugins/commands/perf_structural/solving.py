"""Which value of an input keeps a limit often enough: how many replicas, which time limit, how much bandwidth."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from perf_structural.algebra import Constant, leaves
from perf_structural.model_file import error_context
from perf_structural.options import EvaluationOptions, SamplingOptions
from perf_structural.prediction import without_quantiles
from perf_structural.sampling import draw_sample
from perf_structural.structural_model import StructuralModel
from perfcore.base.errors import OptionError
from perfcore.hooks.options import build
from perfcore.report import Report
from perfcore.results import Result

_RESOLUTION = 1e-4  # of the range, of numbers that are not whole
_INTERIOR = 15  # places looked at where neither end of the range suffices
_SURE = 2.0  # standard errors


@dataclass(frozen=True)
class Trial:
    """One value, and how often the limit is kept with it."""

    value: float
    probability: float
    error: float  # standard error


@dataclass(frozen=True, repr=False)
class Solution(Result):
    """The value of an input with which a result keeps a limit often enough."""

    name: str  # the input
    unit: str  # of the limit; empty where there is none
    limit: float  # what was asked for: results up to the limit with at least this probability
    probability: float
    found: Trial | None  # the value; None where none in the range suffices
    most: bool  # whether it is the largest that suffices, instead of the least
    tried: tuple[Trial, ...]  # all values that were looked at, in order
    next: str = ""  # the command that follows

    def report(self, data: Any = None) -> Report:
        from perf_structural.answers import report_of_solution

        return report_of_solution(self)

    @property
    def best(self) -> Trial:
        """The value with the largest probability of those that were looked at."""
        return max(self.tried, key=lambda trial: trial.probability)

    @property
    def notes(self) -> tuple[str, ...]:
        integer_trials = [trial for trial in self.tried if isinstance(trial.value, int)]
        if self.found is None or not any(
            abs(trial.probability - self.probability) <= _SURE * trial.error for trial in integer_trials
        ):
            return ()
        return ("a probability is too near to what is asked for to be sure of the value; --samples takes more points",)

    def to_dict(self) -> dict[str, Any]:
        return {
            "input": self.name,
            "limit": self.limit,
            "unit": self.unit,
            "probability": self.probability,
            "value": None if self.found is None else self.found.value,
            "most": self.most,
            "tried": list(map(vars, self.tried)),
            "notes": list(self.notes),
        }


def parse_range(text: str) -> tuple[str, tuple[float, float]]:
    """An input and the range of its values, ``servers=1..64``; both are whole where both are written so."""
    name, _, words = (part.strip() for part in text.partition("="))
    ends: list[float] = []
    for kind in (float, int):  # whole numbers if all are written so
        with contextlib.suppress(ValueError):
            ends = [kind(word) for word in words.split("..")]
    low, high = ends if len(ends) == 2 else (0.0, 0.0)
    if not name or not low < high or not all(map(math.isfinite, (low, high))):
        raise OptionError(f"--for {text!r}: NAME=LOW..HIGH is expected, such as servers=1..64 or limit=0.1..2.0")
    return name, (low, high)


def solve_for(
    model: StructuralModel, name: str, ends: tuple[float, float], limit: float, probability: float, **options: Any
) -> Solution:
    """The least value that suffices, or the largest where the least of the range does."""
    if not math.isfinite(limit):
        raise OptionError(f"the limit is {limit:g}; expected a finite number, such as 0.2")
    if not 0.0 < probability < 1.0:
        raise OptionError(f"the probability is {probability:g}; a number between 0 and 1 is expected, such as 0.99")
    sampling: SamplingOptions = build(SamplingOptions, options, "solve")
    chosen = EvaluationOptions(samples=sampling.samples, seed=sampling.seed)
    is_integer = all(isinstance(end, int) for end in ends)
    trials: dict[float, Trial] = {}
    units: set[str] = set()

    def suffices(value: float) -> bool:
        if value not in trials:
            trials[value], unit = _probability_with(model, name, value, limit, chosen)
            units.add(unit)
        return trials[value].probability >= probability

    low, high = ends
    kept = (suffices(low), suffices(high))
    if kept == (False, False):
        inner: list[float] = np.linspace(low, high, _INTERIOR + 2)[1:-1].tolist()
        if is_integer:
            inner = sorted({round(place) for place in inner} - {low, high})
        first = next((place for place, value in enumerate(inner) if suffices(value)), None)
        if first is not None:
            low, high, kept = (inner[first - 1] if first else low), inner[first], (False, True)
    threshold: float | None = None
    if kept == (True, True):
        threshold = low
    elif any(kept):
        threshold = _boundary(suffices, low, high, is_integer)
    in_order = tuple(trials[value] for value in sorted(trials))
    most = kept == (True, False)
    solution = None if threshold is None else trials[threshold]
    return Solution(name, units.pop(), limit, probability, solution, most, in_order)


def _boundary(suffices: Callable[[float], bool], low: float, high: float, is_integer: bool) -> float:
    """The value that suffices next to one that does not, of which one is at each end."""
    good, bad = (low, high) if suffices(low) else (high, low)
    step = 1.0 if is_integer else _RESOLUTION * (high - low)
    while abs(good - bad) > step:
        middle = (good + bad) // 2 if is_integer else 0.5 * (good + bad)
        good, bad = (middle, bad) if suffices(middle) else (good, middle)
    return good


def _probability_with(
    model: StructuralModel, name: str, value: float, limit: float, options: EvaluationOptions
) -> tuple[Trial, str]:
    """How often the limit is kept with one value, by the same draws for all; and the limit's unit."""
    part = without_quantiles(model.with_inputs({name: value}).part(f"{name} = {value:g}"), options)
    composition = part.composition
    if f"input {name!r} is not used" in composition.notes:
        raise OptionError(f"{model.source}: nothing uses {name!r}; name an input on which the result depends")
    (root,) = composition.result.cells.values()
    unit = str(composition.result.unit) if composition.result.unit.powers else ""
    if isinstance(root, Constant):
        return Trial(value, float(root.value <= limit), 0.0), unit
    with error_context(part.source, part.label):
        for leaf in leaves(root):
            if not composition.values[leaf].has_distribution:
                raise OptionError(f"{leaf!r} has bounds and no distribution, so it has no probability; use a histogram")
        drawn = draw_sample(root, composition.values, composition.correlations, options.samples, options.seed)
    shares = (drawn.values <= limit).mean(axis=1)
    return Trial(value, float(shares.mean()), float(shares.std(ddof=1)) / math.sqrt(len(shares))), unit
