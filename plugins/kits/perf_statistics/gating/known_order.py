"""Versions measured one after the other on one machine: a step at known places in noise with memory.

All of A, then all of B, is the usual layout of benchmark runners and the worst: what the machine did meanwhile looks
like a difference. Nothing can take that out; but the noise's memory shows in the runs, and makes the test as unsure as
it is. The statistic is a likelihood ratio with the noise's parameters profiled under both hypotheses, so that a
difference does not pass for memory, and memory does not pass for a difference.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from perf_statistics.gating.arma_noise import GAIN, GRID, first_variance, whitened
from perf_statistics.gating.estimates import FEWEST_ROUNDS, Estimates
from perf_statistics.gating.rounding import rounding_limits

Floats = npt.NDArray[np.float64]

# By how much the noise's gain makes a statistic smaller: memory near the end of the grid is estimated too small from
# few runs. Set on simulated AR(1) noise with 5 to 30 runs of each version, where the plain statistic calls 3 to 11 %
# slower that 5 % should be.
_SHRINK = 0.2


def blocked_test(
    series: Sequence[Floats],
    is_second: Sequence[npt.NDArray[np.bool_]],
    log_threshold: float,
    resolutions: Floats | None = None,
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
        rounding=np.zeros(count) if resolutions is None else rounding_limits(resolutions, spread),
        rounds=sides.min(axis=1).astype(np.int64),
        may_pass=np.ones(count, dtype=np.bool_),
    )


def _step(y: Floats, second: npt.NDArray[np.bool_], log_threshold: float) -> tuple[float, float, float]:
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
