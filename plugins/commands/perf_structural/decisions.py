"""Decisions: which value of an input meets a limit, and how work is divided among unequal machines (time balancing).

Source: J. M. Schopf and F. Berman, "Stochastic scheduling", Supercomputing 1999, section 3: machine i gets the share
D_i of the work D with D_i t_i = D_k t_k for all machines. Here t_i may be any statistic.
"""

from __future__ import annotations

import contextlib
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from perf_structural.algebra import Constant
from perf_structural.model_file import error_context, read_candidates
from perf_structural.options import EvaluationOptions, SamplingOptions, Statistic
from perf_structural.prediction import Drawn, predict_jointly, probability_below, without_quantiles
from perf_structural.sampling import draw
from perf_structural.structural_model import StructuralModel
from perfcore.base.arrays import Floats
from perfcore.base.errors import DataError, OptionError
from perfcore.hooks.options import build
from perfcore.report import Result
from perfcore.stochastic import StochasticValue, default_representation

_BINS = 100  # of what is made of draws
_THINNED = 8  # one in so many points decides in the search for the best division
_MOST_MOVES = 64  # of work from one machine to another that are tried at once
_RESOLUTION = 1e-4  # of the range, of numbers that are not whole
_INTERIOR = 15  # places looked at where neither end of the range suffices
_SURE = 2.0  # standard errors


@dataclass(frozen=True)
class Division:
    """A way to divide work, and when the last machine is done with it."""

    name: str
    shares: tuple[int, ...]
    figure: float  # the statistic of the time at which all are done
    median: float
    beaten: float | None = None  # probability that the first division is done earlier


@dataclass(frozen=True, repr=False)
class Decomposition(Result):
    """Work divided."""

    reporter: ClassVar[str] = "perf_structural.answers:report_of_decomposition"

    shares: tuple[int, ...]  # whole units of work for each machine; their sum is what was to be divided
    times: tuple[StochasticValue, ...]  # time of each machine with its share
    figures: tuple[float, ...]  # the statistic of each
    statistic: Statistic
    unit: str = ""  # of the times; empty where there is none
    finish: StochasticValue | None = None  # time at which the last machine is done, of all at the same draws
    divisions: tuple[Division, ...] = ()  # this one first, and others to compare it with, if there are draws
    next: str = ""  # the command that follows

    def to_dict(self) -> dict[str, Any]:
        return {
            "by": self.statistic.name,
            "unit": self.unit,
            "finish": None if self.finish is None else self.finish.to_dict(),
            "machines": [
                {"share": share, "by": figure, "value": time.to_dict()}
                for share, time, figure in zip(self.shares, self.times, self.figures, strict=True)
            ],
        }


def balance(
    unit_times: Sequence[StochasticValue],
    total: int,
    statistic: Statistic,
    unit: str = "",
    draws: Floats | None = None,
    judged: Sequence[Any] = (),
) -> Decomposition:
    """Divide work so that no machine's statistic is larger than need be.

    Draws (machines, points) are the times for one unit, at points that are the same for all machines. The statistic is
    that of the times, or of the distributions to judge them by.
    """
    if total < 0 or not unit_times:
        raise OptionError(f"{total} units among {len(unit_times)} machines: at least 0 among at least 1 are expected")
    per_unit = []
    for number, time in enumerate(judged or unit_times, 1):
        per_unit.append(statistic(time, f"machine {number}"))
        if per_unit[-1] <= 0.0:
            raise DataError(
                f"machine {number}: the {statistic.name} of its time for one unit is {per_unit[-1]:g}, not positive"
            )
    # In inverse proportion to the times, D_i t_i is the same for all; a unit left over goes where it takes least.
    speeds = [1.0 / figure for figure in per_unit]
    units = [math.floor(total * speed / math.fsum(speeds)) for speed in speeds]
    while sum(units) > total:  # rounding errors may have made the sum too large by one or two
        units[max(range(len(units)), key=lambda k: units[k] * per_unit[k])] -= 1
    while sum(units) < total:
        units[min(range(len(units)), key=lambda k: (units[k] + 1) * per_unit[k])] += 1
    shares = tuple(units)
    times = tuple(share * time for share, time in zip(shares, unit_times, strict=True))
    figures = tuple(share * figure for share, figure in zip(shares, per_unit, strict=True))
    if draws is None:
        return Decomposition(shares, times, figures, statistic, unit)
    finish = default_representation("distributions").from_draws(_finish(draws, shares), _BINS)
    divisions = _divisions(draws, shares, statistic) if len(shares) > 1 and total else ()
    return Decomposition(shares, times, figures, statistic, unit, finish, divisions)


def _finish(draws: Floats, shares: Sequence[int]) -> Floats:
    """Return when the last machine is done, at each point."""
    return np.asarray((np.array(shares)[:, None] * draws).max(axis=0))


def _divisions(draws: Floats, shares: tuple[int, ...], statistic: Statistic) -> tuple[Division, ...]:
    """Return the division by a statistic of the machines, and others by what all together need."""
    total, count = sum(shares), len(shares)
    own, means, stds = f"by {statistic.name}", draws.mean(axis=1), draws.std(axis=1)
    every = {own: shares, "equal": _apportioned(np.ones(count), total)}
    every["by mean"] = _apportioned(1.0 / means, total)
    every["by mean + std"] = _apportioned(1.0 / (means + stds), total)
    thinned = draws[:, ::_THINNED]
    best = min(every.values(), key=lambda each: statistic(Drawn(_finish(thinned, each)), "all"))
    every["optimized"] = _optimized(thinned, best, statistic)
    first = _finish(draws, shares)
    divisions = []
    for name, each in every.items():
        if name.startswith("by") and name != own and each == shares:
            continue
        last = _finish(draws, each)
        beaten = None if each == shares else probability_below(first, last)
        divisions.append(Division(name, each, statistic(Drawn(last), "all"), float(np.median(last)), beaten))
    return tuple(divisions)


def _apportioned(weights: Floats, total: int) -> tuple[int, ...]:
    """Return whole shares in proportion to weights; the largest remainders get what is left."""
    exact = total * weights / weights.sum()
    shares = np.floor(exact).astype(np.int64)
    shares[np.argsort(shares - exact, kind="stable")[: total - int(shares.sum())]] += 1
    return tuple(shares.tolist())


def _optimized(draws: Floats, shares: Sequence[int], statistic: Statistic) -> tuple[int, ...]:
    """Return shares from which no unit can be moved so that the statistic of the finish becomes smaller."""
    current, least = list(shares), statistic(Drawn(_finish(draws, shares)), "all")
    step = max(1, sum(shares) // 8)
    while step:
        moves = [(a, b) for a in range(len(shares)) for b in range(len(shares)) if a != b and current[a] >= step]
        if len(moves) > _MOST_MOVES:  # from the machine that is last most often
            last = int(np.argmax(np.array(current) * np.median(draws, axis=1)))
            moves = [(a, b) for a, b in moves if a == last]
        found = [[share + step * ((k == b) - (k == a)) for k, share in enumerate(current)] for a, b in moves]
        figures = [statistic(Drawn(_finish(draws, each)), "all") for each in found]
        if figures and min(figures) < least:
            least = min(figures)
            current = found[figures.index(least)]
        else:
            step //= 2
    return tuple(current)


def all_candidates(
    model: StructuralModel, candidates: Sequence[str | os.PathLike[str]] | Mapping[str, Mapping[str, Any]]
) -> dict[str, Mapping[str, Any]]:
    """Return candidates of a model and of files or mappings, each name once."""
    gathered = dict(model.candidates)
    of_mapping = isinstance(candidates, Mapping)
    for path in ["candidates"] if of_mapping else candidates:
        added = candidates if isinstance(candidates, Mapping) else read_candidates(path)
        for name, inputs in added.items():
            if name in gathered:
                raise OptionError(f"{os.fspath(path)}: there is a candidate {name!r} already")
            gathered[name] = inputs
    return gathered


def divided(
    model: StructuralModel, total: int, statistic: Statistic, unit_time: str | None, options: Mapping[str, Any]
) -> Decomposition:
    """Divide work so that all machines end at the same time by a statistic."""
    if unit_time is None:
        raise OptionError("--divide needs --unit-time NAME, the component with each machine's time for one unit")
    (times,) = predict_jointly([model.part(name=unit_time)], options)
    draws = [time.draws.ravel() for time in times if time.draws is not None]
    values, evaluations = [time.value for time in times], [time.evaluation.distribution for time in times]
    joint = np.array(draws) if len(draws) == len(times) else None
    return balance(values, total, statistic, times[0].unit, joint, evaluations)


@dataclass(frozen=True)
class Trial:
    """One value, and how often the limit is kept with it."""

    value: float
    probability: float
    error: float  # standard error


@dataclass(frozen=True, repr=False)
class Solution(Result):
    """The value of an input with which a result keeps a limit often enough."""

    reporter: ClassVar[str] = "perf_structural.answers:report_of_solution"

    name: str  # the input
    unit: str  # of the limit; empty where there is none
    limit: float  # what was asked for: results up to the limit with at least this probability
    probability: float
    found: Trial | None  # the value; None where none in the range suffices
    most: bool  # whether it is the largest that suffices, instead of the least
    tried: tuple[Trial, ...]  # all values that were looked at, in order
    next: str = ""  # the command that follows

    @property
    def notes(self) -> tuple[str, ...]:
        near = [each for each in self.tried if abs(each.probability - self.probability) <= _SURE * each.error]
        if self.found is None or not any(isinstance(each.value, int) for each in near):
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
    """Return an input and the range of its values, ``servers=1..64``; both are whole where both are written so."""
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
    """Return the least value that suffices, or the largest where the least of the range does."""
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
        threshold, bad = (low, high) if suffices(low) else (high, low)
        step = 1.0 if is_integer else _RESOLUTION * (high - low)
        while abs(threshold - bad) > step:
            middle = (threshold + bad) // 2 if is_integer else 0.5 * (threshold + bad)
            threshold, bad = (middle, bad) if suffices(middle) else (threshold, middle)
    in_order = tuple(trials[value] for value in sorted(trials))
    most = kept == (True, False)
    solution = None if threshold is None else trials[threshold]
    return Solution(name, units.pop(), limit, probability, solution, most, in_order)


def _probability_with(
    model: StructuralModel, name: str, value: float, limit: float, options: EvaluationOptions
) -> tuple[Trial, str]:
    """Return how often the limit is kept with one value, by the same draws for all; and the limit's unit."""
    part = without_quantiles(model.with_inputs({name: value}).part(f"{name} = {value:g}"), options)
    if f"input {name!r} is not used" in part.composition.notes:
        raise OptionError(f"{model.source}: nothing uses {name!r}; name an input on which the result depends")
    (formula,) = part.formulas()
    if isinstance(formula.root, Constant):
        return Trial(value, float(formula.root.value <= limit), 0.0), part.unit
    with error_context(part.source, part.label):
        for leaf in formula.supports:
            if not formula.values[leaf].has_distribution:
                raise OptionError(f"{leaf!r} has bounds and no distribution, so it has no probability; use a histogram")
        (drawn,) = draw([formula], options.samples, options.seed)
    shares = (drawn.values <= limit).mean(axis=1)
    return Trial(value, float(shares.mean()), float(shares.std(ddof=1)) / math.sqrt(len(shares))), part.unit
