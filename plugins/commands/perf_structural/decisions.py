"""Decisions: which value of an input meets a limit, and how work is divided among unequal machines (time balancing).

Source: J. M. Schopf and F. Berman, "Stochastic scheduling", Supercomputing 1999, section 3: machine i gets the share
D_i of the work D with D_i t_i = D_k t_k for all machines. Here t_i may be any statistic, and may have a part that does
not grow with the share.
"""

from __future__ import annotations

import contextlib
import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from perf_structural.algebra import Constant, leaves
from perf_structural.model_file import error_context, read_candidates
from perf_structural.options import EvaluationOptions, SamplingOptions, Statistic
from perf_structural.prediction import Drawn, Part, Prediction, predict_jointly, without_quantiles
from perf_structural.sampling import draw_sample
from perf_structural.structural_model import StructuralModel
from perfcore.base.arrays import Floats
from perfcore.base.errors import DataError, OptionError
from perfcore.hooks.options import build
from perfcore.report import Report
from perfcore.results import Result
from perfcore.stochastic import StochasticValue, default_representation

_SHARE_TOLERANCE = 1e-3  # of a unit of work: far below the rounding to whole units
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

    shares: tuple[int, ...]  # whole units of work for each machine; their sum is what was to be divided
    times: tuple[StochasticValue, ...]  # time of each machine with its share
    figures: tuple[float, ...]  # the statistic of each
    statistic: Statistic
    unit: str = ""  # of the times; empty where there is none
    finish: StochasticValue | None = None  # time at which the last machine is done, of all at the same draws
    divisions: tuple[Division, ...] = ()  # this one first, and others to compare it with, if there are draws
    next: str = ""  # the command that follows

    def report(self, data: Any = None) -> Report:
        from perf_structural.answers import report_of_decomposition

        return report_of_decomposition(self)

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


@dataclass(frozen=True)
class Draws:
    """One machine's times at points that are the same for all machines."""

    unit_time: Floats
    fixed: Floats
    decide: bool = True

    def times(self, share: float) -> Floats:
        return np.asarray(self.fixed + share * self.unit_time)


def balance(
    unit_times: Sequence[StochasticValue],
    total: int,
    statistic: Statistic,
    fixed: Sequence[StochasticValue] | None = None,
    unit: str = "",
    draws: Sequence[Draws] | None = None,
) -> Decomposition:
    """Divide work so that no machine's statistic is larger than need be."""
    if total < 0 or not unit_times:
        raise OptionError(f"{total} units among {len(unit_times)} machines: at least 0 among at least 1 are expected")
    if not statistic.scales:
        raise OptionError(f"--by {statistic.name}: work is divided by mean, upper or quantile:Q")
    if fixed is not None and len(fixed) != len(unit_times):
        raise DataError(f"{len(unit_times)} machines have a time for each unit, and {len(fixed)} a fixed time")
    machines = []
    for number, time in enumerate(unit_times):
        drawn = None if draws is None or not draws[number].decide else draws[number]
        own = None if fixed is None else fixed[number]
        machines.append(_Machine(f"machine {number + 1}", time, own, statistic, drawn))
    if fixed is None:  # in inverse proportion to the times: D_i t_i is the same for all
        speeds = [1.0 / machine.per_unit for machine in machines]
        exact = [total * speed / math.fsum(speeds) for speed in speeds]
    else:
        exact = _bracketed(machines, total)
    shares = _whole(machines, exact, total)
    times = tuple(machine.time(share) for machine, share in zip(machines, shares, strict=True))
    figures = tuple(machine.figure(share) for machine, share in zip(machines, shares, strict=True))
    if draws is None:
        return Decomposition(tuple(shares), times, figures, statistic, unit)
    finish = default_representation("distributions").from_draws(_finish(draws, shares), _BINS)
    divisions = _divisions(draws, shares, statistic) if len(shares) > 1 and total else ()
    return Decomposition(tuple(shares), times, figures, statistic, unit, finish, divisions)


def _finish(draws: Sequence[Draws], shares: Sequence[int]) -> Floats:
    """Return when the last machine is done, at each point."""
    last: Floats = np.max([each.times(share) for each, share in zip(draws, shares, strict=True)], axis=0)
    return last


def _divisions(draws: Sequence[Draws], shares: Sequence[int], statistic: Statistic) -> tuple[Division, ...]:
    """Return the division by a statistic of the machines, and others by what all together need."""
    total, count = sum(shares), len(shares)
    every = {f"by {statistic.name}": tuple(shares), "equal": _apportioned(np.ones(count), total)}
    means, stds = (np.array([getattr(each.unit_time, name)() for each in draws]) for name in ("mean", "std"))
    every["by mean"] = _apportioned(1.0 / means, total)
    every["by mean + std"] = _apportioned(1.0 / (means + stds), total)
    thinned = [replace(each, unit_time=each.unit_time[::_THINNED], fixed=each.fixed[::_THINNED]) for each in draws]
    best = min(every.values(), key=lambda each: statistic(Drawn(_finish(thinned, each)), "all"))
    every["optimized"] = _optimized(thinned, best, statistic)
    first = _finish(draws, shares)
    divisions = []
    for name, each in every.items():
        if name.startswith("by") and name != f"by {statistic.name}" and each == tuple(shares):
            continue
        last = _finish(draws, each)
        beaten = None if each == tuple(shares) else float((first < last).mean() + 0.5 * (first == last).mean())
        divisions.append(Division(name, each, statistic(Drawn(last), "all"), float(np.median(last)), beaten))
    return tuple(divisions)


def _apportioned(weights: Floats, total: int) -> tuple[int, ...]:
    """Return whole shares in proportion to weights; the largest remainders get what is left."""
    exact = total * weights / weights.sum()
    shares = np.floor(exact).astype(np.int64)
    shares[np.argsort(shares - exact, kind="stable")[: total - int(shares.sum())]] += 1
    return tuple(shares.tolist())


def _optimized(draws: Sequence[Draws], shares: Sequence[int], statistic: Statistic) -> tuple[int, ...]:
    """Return shares from which no unit can be moved so that the statistic of the finish becomes smaller."""
    current, least = list(shares), statistic(Drawn(_finish(draws, shares)), "all")
    step = max(1, sum(shares) // 8)
    while step:
        moves = [(a, b) for a in range(len(shares)) for b in range(len(shares)) if a != b and current[a] >= step]
        if len(moves) > _MOST_MOVES:  # from the machine that is last most often
            last = int(np.argmax([np.median(each.times(share)) for each, share in zip(draws, current, strict=True)]))
            moves = [(a, b) for a, b in moves if a == last]
        found = [[share + step * ((k == b) - (k == a)) for k, share in enumerate(current)] for a, b in moves]
        figures = [statistic(Drawn(_finish(draws, each)), "all") for each in found]
        if figures and min(figures) < least:
            least = min(figures)
            current = found[figures.index(least)]
        else:
            step //= 2
    return tuple(current)


class _Machine:
    """One machine: its time for a share, and the share for a time."""

    def __init__(
        self,
        name: str,
        unit_time: StochasticValue,
        fixed: StochasticValue | None,
        statistic: Statistic,
        draws: Draws | None,
    ) -> None:
        self.name, self.unit_time, self.fixed, self.statistic, self.draws = name, unit_time, fixed, statistic, draws
        self.per_unit = statistic(unit_time if draws is None else Drawn(draws.unit_time), name)
        if self.per_unit <= 0.0:
            raise DataError(f"{name}: the {statistic.name} of its time for one unit is {self.per_unit:g}, not positive")
        self.seen: dict[float, float] = {}

    def time(self, share: float) -> StochasticValue:
        if self.draws is not None:
            drawn: StochasticValue = default_representation("distributions").from_draws(self.draws.times(share), _BINS)
            return drawn
        scaled = share * self.unit_time
        return scaled if self.fixed is None else self.fixed + scaled

    def figure(self, share: float) -> float:
        """The statistic of its time for a share; all statistics grow in proportion with a value."""
        if self.fixed is None:
            return share * self.per_unit
        if share not in self.seen:
            time = self.time(share) if self.draws is None else Drawn(self.draws.times(share))
            self.seen[share] = self.statistic(time, self.name)
        return self.seen[share]

    def share_within(self, level: float, most: float) -> float:
        """The largest share, at most ``most``, whose figure is within a level."""
        if self.figure(0.0) >= level:
            return 0.0
        if self.figure(most) <= level:
            return most
        # What was computed for other levels narrows the bracket.
        from scipy.optimize import brentq

        below = max(share for share, figure in self.seen.items() if figure <= level)
        above = min(share for share, figure in self.seen.items() if figure > level and share > below)
        return float(brentq(lambda share: self.figure(share) - level, below, above, xtol=_SHARE_TOLERANCE))


def _bracketed(machines: Sequence[_Machine], total: int) -> list[float]:
    """Shares at the level at which all together do the work."""
    from scipy.optimize import brentq

    def missing(level: float) -> float:
        return total - math.fsum(machine.share_within(level, total) for machine in machines)

    low = min(machine.figure(0.0) for machine in machines)
    high = min(machine.figure(float(total)) for machine in machines)
    if total == 0 or len(machines) == 1:
        return [float(total)] + [0.0] * (len(machines) - 1)
    level = brentq(missing, low, high, xtol=_SHARE_TOLERANCE * min(machine.per_unit for machine in machines))
    return [machine.share_within(level, total) for machine in machines]


def _whole(machines: Sequence[_Machine], shares: Sequence[float], total: int) -> list[int]:
    """Whole units with the sum kept: each unit left over goes where it makes the smallest time."""
    units = [math.floor(share) for share in shares]
    # Rounding errors may have made the sum of the floors too large by one or two.
    while sum(units) > total:
        units[max(range(len(units)), key=lambda k: machines[k].figure(units[k]))] -= 1
    while sum(units) < total:
        units[min(range(len(units)), key=lambda k: machines[k].figure(units[k] + 1))] += 1
    return units


def all_candidates(
    model: StructuralModel, candidates: Sequence[str | os.PathLike[str]] | Mapping[str, Mapping[str, Any]]
) -> dict[str, Mapping[str, Any]]:
    """Candidates of a model and of files or mappings, each name once."""
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


def divided(
    model: StructuralModel,
    total: int,
    statistic: Statistic,
    unit_time: str | None,
    fixed_time: str | None,
    options: Mapping[str, Any],
) -> Decomposition:
    """Work divided so that all machines end at the same time by a statistic."""
    if unit_time is None:
        raise OptionError("--divide needs --unit-time NAME, the component with each machine's time for one unit")
    parts = [model.part_named(name) for name in (unit_time, fixed_time) if name is not None]
    times, *others = predict_jointly(parts, options)
    fixed = others[0] if others else None
    if fixed is not None and fixed[0].unit != times[0].unit:
        raise OptionError(
            f"--unit-time is in {times[0].unit or 'no unit'} and --fixed-time in {fixed[0].unit or 'no unit'}"
        )
    fixed_values = None if fixed is None else [time.value for time in fixed]
    draws = _draws(parts, times, fixed)
    return balance([time.value for time in times], total, statistic, fixed_values, times[0].unit, draws)


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
