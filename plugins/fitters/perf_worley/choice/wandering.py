"""Whether phases say more than a level that wanders would, as a random walk or 1/f noise does.

Such noise has no scale: whatever the length of its stretches, the level of one differs from that of the next, so phases
gain far more than noise that is forgotten after a while. So two models are compared that have such noise, which is
autoregressive with an error of its own in each cell (a state-space model; J. Durbin, S. J. Koopman, Time Series
Analysis by State Space Methods, 2012, chapters 2 and 7): one curve, and the phases. Each has its likeliest correlation
and error; what phases must gain is G. Schwarz' criterion (Annals of Statistics 6, 1978). Deviations: means are by least
squares; the price has a factor; cells on both sides of a break do not count, as the break may lie within them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from perf_worley.choice.bounded_search import BoundedModels
from perf_worley.choice.long_run_variance import residuals
from perfcore.base.kernels import announce_compilation, kernel


Floats = npt.NDArray[np.float64]

_CORRELATIONS = np.array([0.3, 0.6, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995, 0.999])  # of neighbouring cells
_STEPS = np.geomspace(1e-4, 100.0, 14)  # variance of what is new in the level, over that of the error of a cell
_STILL, _OFTEN = 1e-9, 0.25  # a change that is rounding, beside all changes; share of the cells
# In halves of ln(cells) for each parameter, of each further phase and once more, as the best of many places for a break
# is taken. Set on 25 runs each of random walks, 1/f^1.5, AR(0.95) with errors, and benchmarks/phases_simulated.py.
_PRICE, _ONCE = 0.9, 1.0
# On 15 runs each of levels that rise or fall slowly, up to five phases (up and down again) lead by 18 to 114; of those
# that wander with Gaussian steps by 2 at most.
_CLEARLY, _MOST_ASKED = 20.0, 5


def may_wander(values: Floats) -> bool:
    """Whether the level of a curve may wander: not of one that often stands still, which is made of few steps."""
    return bool(np.mean(np.abs(np.diff(values)) <= _STILL * np.ptp(values)) <= _OFTEN)


class WanderingLevel:
    """A level that wanders about one curve, which phases are compared with."""

    def __init__(self, values: Floats, models: Mapping[int, BoundedModels]) -> None:
        announce_compilation(likeliest)
        self._values, self._models = values, models
        self._parameter = 0.5 * math.log(len(values))

    def lead(self, degree: int, n_phases: int) -> tuple[float, int]:
        """How much likelier phases are than one curve, and the degree of that curve."""
        counts = np.ones(len(self._values), dtype=np.bool_)
        breaks = self._models[degree].breaks[n_phases - 1]
        counts[breaks[1:-1] - 1] = counts[breaks[1:-1]] = False
        single = {one: self._likelihood(one, 1, counts) - self._parameter * (one + 1) for one in self._models}
        best = max(single, key=single.__getitem__)
        price = self._parameter * (degree + 2) * (_PRICE * (n_phases - 1) + _ONCE)
        return self._likelihood(degree, n_phases, counts) - price - single[best], best

    def is_refuted(self) -> bool:
        """Whether phases of any number are far likelier, though those in question may not be."""
        numbers = range(2, _MOST_ASKED + 1)
        return any(
            self.lead(degree, n)[0] > _CLEARLY
            for degree, each in self._models.items()
            for n in numbers[: len(each.squares) - 1]
        )

    def _likelihood(self, degree: int, n_phases: int, counts: npt.NDArray[np.bool_]) -> float:
        errors = np.empty(len(self._values))
        residuals(self._values, self._models[degree].breaks[n_phases - 1], np.full(n_phases, degree), errors)
        return float(likeliest(errors, counts, _CORRELATIONS, _STEPS))


@kernel
def likeliest(errors, counts, correlations, steps):  # type: ignore[no-untyped-def]
    """Largest log-likelihood of residuals (n,), those that ``counts`` marks, over what their level may do."""
    best = _likelihood(errors, counts, 0.0, 0.0)
    for correlation in correlations:
        for step in steps:
            best = max(best, _likelihood(errors, counts, correlation, step))
    return best


@kernel
def _likelihood(errors, counts, correlation, step):  # type: ignore[no-untyped-def]
    """By Kalman's filter, with the likeliest variance of the error."""
    level, variance = 0.0, step / (1.0 - correlation * correlation)
    squares = logarithms = 0.0
    n = 0
    for i in range(errors.shape[0]):
        gain = 0.0
        missed = errors[i] - level
        if counts[i]:
            expected = variance + 1.0
            squares += missed * missed / expected
            logarithms += np.log(expected)
            gain = variance / expected
            n += 1
        level = correlation * (level + gain * missed)
        variance = correlation * correlation * variance * (1.0 - gain) + step
    return -0.5 * (n * np.log(max(squares / max(n, 1), 1e-300)) + logarithms)
