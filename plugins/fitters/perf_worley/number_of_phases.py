"""How many phases a curve has, and of which degree: four questions that phases must answer.

1. Significant? A phase gains more than the noise would give it; of three estimates of the noise the middle answer.
2. Material? A phase explains a share of what there is to explain: at 512 cells and degree 0 1.2 % of the squares.
3. More than noise? All phases together gain more than those of a curve without any.

4. More than a level that wanders, as a random walk or 1/f noise does? (`perf_worley.number_of_phases`)

They are asked once more of the curve without its outliers, whose answer counts where it has fewer phases, or as many
and one of them was no longer than an outlier: single cells far from their neighbours make no phases, and take none.
A curve that repeats itself every few cells is averaged over its period first (`perf_worley.cells`).

Criteria of the form ``S(n) / noise + c (d + 2) n log N``, where S(n) is the least sum of squares of n phases on cells
and N the number of independent stretches, go back to Y.-C. Yao, Statistics & Probability Letters 6 (1988). Deviations:
the noise is a long-run variance, since cells are dependent; the constants are calibrated on simulated utilization of
independent, alternating and synchronising processes (docs/how-we-know.md judges them on other data).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from perf_worley.bounded_models import BoundedModels, bounded_models
from perf_worley.cells import (
    LONGEST_OUTLIER,
    Cells,
    autoregressive,
    averaged_over_period,
    block_variance,
    event_variance,
    first_order,
    residuals,
    without_outliers,
)
from perfcore.base.arrays import Booleans, Floats

_CORRELATIONS = np.array([0.3, 0.6, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995, 0.999])  # of neighbouring cells
_STEPS = np.geomspace(1e-4, 100.0, 14)  # variance of what is new in the level, over that of the error of a cell
_STILL, _OFTEN = 1e-9, 0.25  # a change that is rounding, next to all changes; share of the cells
# In halves of ln(cells) for each parameter, of each further phase and once more, as the best of many places for a break
# is taken. Set on 25 runs each of random walks, 1/f^1.5, AR(0.95) with errors, and benchmarks/phases_simulated.py.
_PRICE, _ONCE = 0.9, 1.0
# On 15 runs each of levels that rise or fall slowly, up to five phases (up and down again) lead by 18 to 114; of those
# that wander with Gaussian steps by 2 at most.
_CLEARLY, _MOST_ASKED = 20.0, 5
FIRST_ORDER, _AUTOREGRESSIVE, _TOTAL = 1.5, 2.0, 1.0  # price of a parameter, by estimate of the noise
MATERIAL = 0.5  # also, of the mean square about one level
_LEVEL = 0.01  # of the processors: differences between levels that are too small to matter
_EVENTS = 3.0
_GATE, _GATE_SHORT = 1.5, 50.0  # what must be gained is _GATE + _GATE_SHORT / N units
_LEAST_STRETCHES = 8.0
WANDERS = "not identifiable: a random walk fits as well"
FEW = 16.0  # stretches that are too few to tell


def is_random_walk(values: Floats) -> bool:
    """Return whether the level of a curve may wander; one that often stands still is made of few steps."""
    return bool(np.mean(np.abs(np.diff(values)) <= _STILL * np.ptp(values)) <= _OFTEN)


class RandomWalk:
    """A level that wanders about one curve, which phases are compared with.

    Whether phases say more than a level that wanders would, as a random walk or 1/f noise does.

    Such noise has no scale: whatever the length of its stretches, the level of one differs from that of the next, so
    phases gain far more than noise that is forgotten after a while. So two models are compared that have such noise,
    which is autoregressive with an error of its own in each cell (a state-space model; J. Durbin, S. J. Koopman, Time
    Series Analysis by State Space Methods, 2012, chapters 2 and 7): one curve, and the phases. Each has its likeliest
    correlation and error; what phases must gain is G. Schwarz' criterion (Annals of Statistics 6, 1978). Deviations:
    means are by least squares; the price has a factor; cells on both sides of a break do not count, as the break may
    lie within them.
    """

    def __init__(self, values: Floats, models: Mapping[int, BoundedModels]) -> None:
        self._values, self._models = values, models
        self._parameter = 0.5 * math.log(len(values))

    def lead(self, degree: int, n_phases: int) -> tuple[float, int]:
        """Return how much likelier phases are than one curve, and the degree of that curve."""
        counts = np.ones(len(self._values), dtype=np.bool_)
        breaks = self._models[degree].breaks[n_phases - 1]
        counts[breaks[1:-1] - 1] = counts[breaks[1:-1]] = False
        single = {one: self._likelihood(one, 1, counts) - self._parameter * (one + 1) for one in self._models}
        best = max(single, key=single.__getitem__)
        price = self._parameter * (degree + 2) * (_PRICE * (n_phases - 1) + _ONCE)
        return self._likelihood(degree, n_phases, counts) - price - single[best], best

    def is_refuted(self) -> bool:
        """Return whether phases of any number are far likelier, though those in question may not be."""
        return any(
            self.lead(degree, n)[0] > _CLEARLY
            for degree, models in self._models.items()
            for n in range(2, min(_MOST_ASKED, len(models.squares)) + 1)
        )

    def _likelihood(self, degree: int, n_phases: int, counts: Booleans) -> float:
        errors = residuals(self._values, self._models[degree].breaks[n_phases - 1], np.full(n_phases, degree))
        return likeliest(errors, counts, _CORRELATIONS, _STEPS)


def likeliest(errors: Floats, counts: Booleans, correlations: Floats, steps: Floats) -> float:
    """Return the largest log-likelihood of residuals (n,), those that ``counts`` marks, over what their level may do.

    By Kalman's filter, with the likeliest variance of the error.
    """
    # All that a level may do at once; first, that it stays.
    correlation = np.append(0.0, np.repeat(correlations, len(steps)))
    step = np.append(0.0, np.tile(steps, len(correlations)))
    kept, level, variance = correlation * correlation, np.zeros(len(step)), step / (1.0 - correlation * correlation)
    squares, expected = np.zeros(len(step)), np.ones((len(errors), len(step)))
    for i, (error, is_counted) in enumerate(zip(errors.tolist(), counts.tolist(), strict=True)):
        if is_counted:
            missed = error - level
            expected[i] += variance
            squares += missed * missed / expected[i]
            level = level + variance / expected[i] * missed
            variance = variance / expected[i]
        level = correlation * level
        variance = kept * variance + step
    n = int(counts.sum())
    likelihoods = n * np.log(np.maximum(squares / max(n, 1), 1e-300)) + np.log(expected).sum(axis=0)
    return -0.5 * float(likelihoods.min())


@dataclass(frozen=True)
class Choice:
    """What the rule found."""

    n_phases: int
    degree: int
    gain: float
    needed: float  # what it must be above
    stretches: float  # N, how many independent stretches the curve is worth
    noise: float  # long-run variance of a cell
    reason: str  # why it is one phase; empty where it is several
    cells: Cells | None = None


def choose(cells: Cells, models: Mapping[int, BoundedModels], first: int = 1, last: int | None = None) -> Choice:
    """Return the number of phases and degree."""
    last = max(len(each.squares) for each in models.values()) if last is None else last

    def answer_of(variant: Cells) -> Choice:
        searched = {d: bounded_models(variant, d, len(each.squares)) for d, each in models.items()}
        return replace(_answer(variant, searched, first, last), cells=variant)

    averaged = averaged_over_period(cells) if first < last else cells
    if averaged is not cells and len(cells.values) >= 2.0 * averaged.period * first:
        return answer_of(averaged)
    choice = _answer(cells, models, first, last)
    calm = without_outliers(cells) if choice.n_phases > first else cells
    if calm is not cells:
        calm_choice = answer_of(calm)
        spent = np.diff(models[choice.degree].breaks[choice.n_phases - 1]).min() <= LONGEST_OUTLIER
        if calm_choice.n_phases < choice.n_phases or (spent and calm_choice.n_phases == choice.n_phases):
            return calm_choice
    return choice


def _answer(cells: Cells, models: Mapping[int, BoundedModels], first: int, last: int) -> Choice:
    """Return what the questions say."""
    values = cells.values
    n_cells = len(values)
    if float(np.ptp(values)) <= 1e-12 * cells.scale or n_cells < 4:
        reason = "the curve is constant" if n_cells >= 4 else "too few cells to tell"
        most = max(len(each.squares) for each in models.values())
        return Choice(min(first, most), min(models), 0.0, math.inf, float(n_cells), 0.0, reason)
    blocks, events = block_variance(values), _EVENTS * event_variance(values)
    judged = {degree: _judge(cells, each, blocks, events, first, last) for degree, each in models.items()}
    choice = next(iter(judged.values())) if len(models) == 1 else _with_degree(cells, models, judged, first)
    if first > 1 or choice.n_phases == 1 or cells.period or not is_random_walk(values):
        return choice
    level = RandomWalk(values, models)
    lead, single = level.lead(choice.degree, choice.n_phases)
    if lead > 0.0:
        return choice
    if not level.is_refuted():
        return replace(judged[single], n_phases=1, reason=WANDERS)
    several = [each for each in judged.values() if each.n_phases > 1]
    return max(several, key=lambda each: level.lead(each.degree, each.n_phases)[0])


def _stretches(squares: Floats, noise: float, n_cells: int) -> float:
    """Return how many independent stretches the cells are worth."""
    return max(_LEAST_STRETCHES, min(n_cells, float(squares[min(9, len(squares) - 1)]) / max(noise, 1e-300)))


def _least(squares: Floats, noise: float, price: float, degree: int, stretches: float) -> int:
    """Return the number of phases at which the criterion is least."""
    n = np.arange(1, len(squares) + 1)
    return 1 + int(np.argmin(squares / noise + price * (degree + 2) * n * math.log(stretches)))


def _consistent(squares: Floats, noises: Floats, price: float, degree: int, n_cells: int, floor: float) -> float:
    """Return the noise of the model that it makes the choice: from the richest model downwards."""
    n = len(squares)
    while True:
        noise = max(float(noises[n - 1]), floor)
        chosen = _least(squares, noise, price, degree, _stretches(squares, noise, n_cells))
        if chosen >= n:
            return noise
        n = chosen


def _judge(cells: Cells, models: BoundedModels, blocks: float, events: float, first: int, last: int) -> Choice:
    values, squares, degree = cells.values, models.squares, models.degree
    n_cells, total = len(values), max(float(np.var(values)), 1e-300)
    exact = 1e-12 * total  # below it there is only rounding
    # Long-run variances of the residuals of each model: by first order, and by any order.
    simple, rich = np.empty(len(squares)), np.empty(len(squares))
    widths = [m for m in (1, 2, 4) if m == 1 or n_cells >= 40 * m]
    for i, breaks in enumerate(models.breaks):
        errors = residuals(values, breaks, np.full(i + 1, degree))
        simple[i] = min(first_order(errors, i + 1, degree, m) for m in widths)
        rich[i] = autoregressive(errors, breaks, degree)
    simple_noise = max(_consistent(squares, simple, FIRST_ORDER, degree, n_cells, exact), blocks, events)
    rich_noise = max(_consistent(squares, rich, _AUTOREGRESSIVE, degree, n_cells, max(0.5 * blocks, exact)), events)
    significant = sorted(
        (
            _least(squares, simple_noise, FIRST_ORDER, degree, _stretches(squares, simple_noise, n_cells)),
            _least(squares, rich_noise, _AUTOREGRESSIVE, degree, _stretches(squares, rich_noise, n_cells)),
            _least(squares, total, _TOTAL, degree, n_cells),
        )
    )[1]
    level = max(total, (_LEVEL * cells.scale) ** 2)
    material = _least(squares, MATERIAL * level, 1.0, degree, n_cells)
    noise = sorted((simple_noise, rich_noise, total))[1]
    n, stretches = min(significant, material), _stretches(squares, noise, n_cells)
    needed = _GATE + _GATE_SHORT / stretches  # units of the noise, to be more than noise
    gain = max(_gains(squares, noise, degree, stretches)[1 : max(n, 2)], default=0.0)
    reason = ""
    if significant == 1:
        reason = "not significant"
    elif material == 1:
        reason = "no material change"
    elif gain <= needed:
        n, reason = 1, "no more than noise"
    if reason and stretches < FEW:
        reason = "effective sample size too small"
    n = min(max(n, first), last, len(squares))
    return Choice(n, degree, gain, needed, stretches, noise, reason if n == 1 else "")


def _gains(squares: Floats, noise: float, degree: int, stretches: float) -> list[float]:
    """Return what 1, 2, ... phases gain over one, in units of the noise."""
    unit = noise * (degree + 2) * math.log(stretches)
    return [0.0, *(float(squares[0] - s) / (unit * j) for j, s in enumerate(squares[1:], 1))]


def _with_degree(cells: Cells, models: Mapping[int, BoundedModels], judged: Mapping[int, Choice], first: int) -> Choice:
    """Return the degree whose model costs least at its own number; several phases must beat the best single one."""
    n_cells = len(cells.values)
    noise = min(each.noise for each in judged.values())
    tenth = min(float(each.squares[min(9, len(each.squares) - 1)]) for each in models.values())
    stretches = max(_LEAST_STRETCHES, min(n_cells, tenth / max(noise, 1e-300)))
    price = max(
        FIRST_ORDER * noise * math.log(stretches),
        MATERIAL * max(float(np.var(cells.values)), 1e-300) * math.log(n_cells),
    )
    costs: dict[tuple[int, int], float] = {}
    for degree, each in models.items():
        for n in {1, judged[degree].n_phases} if first == 1 else {judged[degree].n_phases}:
            costs[degree, n] = float(each.squares[n - 1]) + price * (degree + 2) * n
    singles = {key: cost for key, cost in costs.items() if key[1] == 1}
    if not singles:
        return judged[min(costs, key=costs.__getitem__)[0]]
    single = min(singles, key=singles.__getitem__)
    margin = _GATE_SHORT / stretches * noise * math.log(stretches)
    several = {
        (degree, n): cost
        for (degree, n), cost in costs.items()
        if n > 1 and costs[single] - cost >= margin * (degree + 2) * (n - 1) and cost < costs[single]
    }
    if several:
        return judged[min(several, key=several.__getitem__)[0]]
    single_choice = judged[single[0]]
    # Where the same degree found several, a single curve of another does as well.
    reason = single_choice.reason or (
        "one phase fits as well" if stretches >= FEW else "effective sample size too small"
    )
    return replace(single_choice, n_phases=1, reason=reason)


def gains_of(choice: Choice, models: BoundedModels) -> list[float]:
    """Return what each number of phases gains over one, in units of the noise (`Choice.gain`)."""
    if choice.noise <= 0.0:
        return [0.0] * len(models.squares)
    return _gains(models.squares, choice.noise, models.degree, choice.stretches)
