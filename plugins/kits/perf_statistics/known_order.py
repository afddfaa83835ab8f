"""Versions measured one after the other on one machine: a step at known places in noise with memory.

All of A, then all of B, is the usual layout of benchmark runners and the worst: what the machine did meanwhile looks
like a difference. Nothing can take that out; but the noise's memory shows in the runs, and makes the test as unsure as
it is. The statistic is a likelihood ratio with the noise's parameters profiled under both hypotheses, so that a
difference does not pass for memory, and memory does not pass for a difference.

The noise is a slow state of the machine and white noise on top, an ARMA(1,1) process x_t = phi x_{t-1} + e_t - theta
e_{t-1} with 0 <= theta <= phi: AR(1) plus white noise is of this form (G. E. P. Box, G. M. Jenkins, "Time Series
Analysis", section A4.4). A likelihood is taken at each pair of a grid, since it has several maxima in short series.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from perf_statistics.gating import FEWEST_ROUNDS, Estimates, resolution_error
from perfcore.base.arrays import Booleans, Floats

_PHI = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.93, 0.95)
_PHI_WITH_WHITE = (0.5, 0.7, 0.8, 0.9, 0.95)
_THETA_OVER_PHI = (0.3, 0.55, 0.75, 0.88)

GRID: Floats = np.array(
    [(phi, 0.0) for phi in _PHI] + [(phi, round(phi * part, 3)) for phi in _PHI_WITH_WHITE for part in _THETA_OVER_PHI]
)
GAIN: Floats = (1.0 - GRID[:, 1]) / (1.0 - GRID[:, 0])  # of the noise of long means: 1 of white noise


_NEGLIGIBLE = 1e-16  # weight of values long ago
# By how much the noise's gain makes a statistic smaller: memory near the end of the grid is estimated too small from
# few runs. Set on simulated AR(1) noise with 5 to 30 runs of each version, where the plain statistic calls 3 to 11 %
# slower that 5 % should be.
_SHRINK = 0.2


def first_variance(phi: Any, theta: Any) -> Any:
    """Variance of the process over that of its innovations, which is the first value's."""
    return (1.0 + theta * theta - 2.0 * phi * theta) / (1.0 - phi * phi)


def whitened(rows: Floats, phi: float | Floats, theta: float | Floats) -> Floats:
    """Return rows (p, n) in order of time without the noise's memory; (G, p, n) for G pairs of parameters.

    Rows may differ for each pair, (G, p, n).
    """
    phi, theta = np.asarray(phi)[..., None, None], np.asarray(theta)[..., None, None]
    white = np.empty(np.broadcast_shapes(phi.shape, rows.shape))
    white[..., 1:] = rows[..., 1:] - phi * rows[..., :-1]
    white[..., :1] = rows[..., :1] / np.sqrt(first_variance(phi, theta))
    step = 1  # z_t = u_t + theta z_{t-1}, summed over twice as many values each time
    while step < rows.shape[-1] and np.max(theta) > _NEGLIGIBLE:
        earlier = white[..., :-step].copy()
        white[..., step:] += theta * earlier
        step, theta = 2 * step, theta * theta
    return white


def blocked_test(
    series: Sequence[Floats], is_second: Sequence[Booleans], log_threshold: float, last_digits: Floats | None = None
) -> Estimates:
    """Of runs whose order is known, in any layout."""
    count = len(series)
    ratio, error, spread = np.full(count, np.nan), np.full(count, np.nan), np.full(count, np.nan)
    freedom = np.zeros(count)
    sides = np.array([[int((~np.asarray(s)).sum()), int(np.asarray(s).sum())] for s in is_second]).reshape(count, 2)
    for k in np.flatnonzero(sides.min(axis=1) >= FEWEST_ROUNDS).tolist():
        y, second = np.asarray(series[k]), np.asarray(is_second[k])
        ratio[k], error[k], spread[k] = _step(y, second, log_threshold)
        freedom[k] = len(y) - 3.0
    return Estimates(
        log_ratio=ratio,
        standard_error=error,
        freedom=freedom,
        rounding=np.zeros(count) if last_digits is None else resolution_error(last_digits, spread),
        rounds=sides.min(axis=1).astype(np.int64),
        decides=sides.min(axis=1) >= FEWEST_ROUNDS,
    )


def _step(y: Floats, second: Booleans, log_threshold: float) -> tuple[float, float, float]:
    """Size of the step, the standard error that a t statistic of the likelihood ratio has, spread of single runs."""
    n = len(y)
    rows = np.stack([np.ones(n), second.astype(float), y - np.median(y)])
    likelihoods = np.empty((2, len(GRID)))
    sizes, errors = np.empty(len(GRID)), np.empty(len(GRID))
    for k, (phi, theta) in enumerate(GRID.tolist()):
        constant, step, z = whitened(rows, phi, theta)
        constant = constant / math.sqrt(constant @ constant)
        step, z = step - (constant @ step) * constant, z - (constant @ z) * constant
        square = float(step @ step)
        sizes[k] = step @ z / square
        residues = [z - sizes[k] * step, z - log_threshold * step]
        sums = [max(float(r @ r), 1e-300) for r in residues]
        errors[k] = math.sqrt(sums[0] / (n - 3.0) / square)
        likelihoods[:, k] = [-0.5 * n * math.log(s) - 0.5 * math.log(first_variance(phi, theta)) for s in sums]
    free, fixed = likelihoods.argmax(axis=1).tolist()
    size = float(sizes[free])
    deviations = np.where(second, y - y[second].mean(), y - y[~second].mean())
    spread = math.sqrt(float(deviations @ deviations) / (n - 2.0))
    shrink = 1.0 + _SHRINK * math.log(max(GAIN[free], GAIN[fixed]))
    ratio = max(0.0, 2.0 * float(likelihoods[0, free] - likelihoods[1, fixed]))
    statistic = math.sqrt(math.expm1(min(ratio / n, 600.0)) * (n - 3.0))
    distance = abs(size - log_threshold)
    by_ratio = distance / statistic if statistic > 1.0 else float(errors[free])
    return size, shrink * max(by_ratio, float(errors[free])), spread
