"""Steps in noise with heavy tails: which are more than shocks that die away?

Where shocks of the machine are large now and then and its memory is long, a shock jumps up and comes back slowly, and
a normal likelihood takes it for a step. A likelihood with Student's t for the shocks does not: a jump that the noise's
own tails make probable counts little, and what counts is that the level stays. Its weights are those of K. L. Lange,
R. J. A. Little, J. M. G. Taylor, "Robust statistical modeling using the t distribution", Journal of the American
Statistical Association 84, 1989; the scale's update is that of C. Liu, D. B. Rubin, Y. N. Wu, "Parameter expansion to
accelerate EM", Biometrika 85, 1998.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from perf_statistics.gating.arma_noise import GAIN, GRID, first_variance, whitened


Floats = npt.NDArray[np.float64]

_FREEDOMS = (2.5, 3.0, 4.0, 6.0, 10.0)
_LIGHTEST = 10.0  # the first to be tried: it too is better than normal where tails are heavy
# Twice the difference of log-likelihoods from which on tails are heavy: normal noise with a step has less in 19 of 20
# series of 120 values, tails of t_3 more in all of 500 values, and in half of 120.
_HEAVY = 3.5
_ITERATIONS = 12  # the likelihood then changes by less than 0.01
_STRICTER = 1.15  # critical values, set on tails of t_3 at 120 and 500 values


class _Fit(NamedTuple):
    likelihood: float
    gain: float  # of the noise of long means
    place: int  # in the grid


def lasting_steps(
    y: Floats,
    dense: Floats,
    steps: Sequence[int],
    critical: Callable[[float], float],
    pair: float,
    kept: float,
) -> list[int]:
    """Those steps of a series that heavy tails do not explain; all of them where tails are not heavy."""
    fits = _Fits(y, dense, steps)
    everything = frozenset(steps)
    normal = fits.best(everything, math.inf)
    if float(fits.likelihoods(everything, _LIGHTEST, [normal.place])[0]) < normal.likelihood:
        return list(steps)
    freedom = max(_FREEDOMS, key=lambda each: fits.best(everything, each).likelihood)
    if 2.0 * (fits.best(everything, freedom).likelihood - normal.likelihood) < _HEAVY:
        return list(steps)

    def ratio(more: frozenset[int], fewer: frozenset[int]) -> tuple[float, float]:
        """Twice the difference, and the value that it must exceed."""
        one, other = fits.best(more, freedom), fits.best(fewer, freedom)
        return 2.0 * (one.likelihood - other.likelihood), _STRICTER * critical(max(one.gain, other.gain))

    chosen: frozenset[int] = frozenset()
    while chosen < everything:
        ratios = {step: ratio(chosen | {step}, chosen) for step in everything - chosen}
        step = max(ratios, key=lambda each: ratios[each][0])
        if ratios[step][0] > ratios[step][1]:
            chosen |= {step}
            continue
        together = {other: ratio(chosen | {step, other}, chosen) for other in everything - chosen - {step}}
        other = max(together, key=lambda each: together[each][0], default=step)
        if other == step or together[other][0] <= together[other][1] + pair:
            break
        chosen |= {step, other}
    while chosen:
        margins = {}
        for step in chosen:
            value, needed = ratio(chosen, chosen - {step})
            margins[step] = value - kept * needed
        worst = min(margins, key=lambda each: margins[each])
        if margins[worst] >= 0.0:
            break
        chosen -= {worst}
    return sorted(chosen)


class _Fits:
    """Regressions of a series on steps in noise of any of the grid, each made once."""

    def __init__(self, y: Floats, dense: Floats, steps: Sequence[int]) -> None:
        self._steps = sorted(steps)
        rows = [*dense, *((np.arange(len(y)) >= step).astype(float) for step in self._steps), y]
        self._white = np.stack([whitened(np.stack(rows), *pair) for pair in GRID.tolist()])
        self._constant = np.array([-0.5 * math.log(first_variance(*pair)) for pair in GRID.tolist()])
        self._first_step = len(dense)
        self._made: dict[tuple[frozenset[int], float], _Fit] = {}

    def best(self, steps: frozenset[int], freedom: float) -> _Fit:
        """The likeliest noise of the grid."""
        key = (steps, freedom)
        if key not in self._made:
            likelihoods = self.likelihoods(steps, freedom, list(range(len(GRID))))
            index = int(likelihoods.argmax())
            self._made[key] = _Fit(float(likelihoods[index]), float(GAIN[index]), index)
        return self._made[key]

    def likelihoods(self, steps: frozenset[int], freedom: float, places: list[int]) -> Floats:
        """Logarithms at places of the grid."""
        columns = [self._first_step + index for index, step in enumerate(self._steps) if step in steps]
        white = self._white[places]
        design = white[:, [*range(self._first_step), *columns]]
        return np.asarray(self._constant[places] + _log_likelihoods(design, white[:, -1], freedom))


def _log_likelihoods(design: Floats, values: Floats, freedom: float) -> Floats:
    """Of regressions with errors of Student's t, each with its own scale."""
    n = values.shape[1]
    weights = np.ones_like(values)
    for _ in range(1 if math.isinf(freedom) else _ITERATIONS):
        weighted = design * weights[:, None]
        gram = weighted @ design.transpose(0, 2, 1)
        ridge = 1e-12 * np.trace(gram, axis1=1, axis2=2)[:, None, None] * np.eye(gram.shape[1])
        estimate = np.linalg.solve(gram + ridge, weighted @ values[:, :, None])
        rest = values - (estimate.transpose(0, 2, 1) @ design)[:, 0]
        variance = np.maximum((weights * rest**2).sum(axis=1) / weights.sum(axis=1), 1e-300)
        relative = rest**2 / variance[:, None]
        weights = (freedom + 1.0) / (freedom + relative) if math.isfinite(freedom) else weights
    scale = -0.5 * n * np.log(variance)
    if math.isinf(freedom):
        return np.asarray(scale - 0.5 * n * (math.log(2.0 * math.pi) + 1.0))
    constant = math.lgamma((freedom + 1.0) / 2.0) - math.lgamma(freedom / 2.0) - 0.5 * math.log(freedom * math.pi)
    return np.asarray(scale + n * constant - 0.5 * (freedom + 1.0) * np.log1p(relative / freedom).sum(axis=1))
