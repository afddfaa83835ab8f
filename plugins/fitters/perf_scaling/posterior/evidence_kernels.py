"""Compiled evidence of shapes of one parameter under one noise, and which of the weighed combinations are kept.

With S the covariance of the logarithms of k means (`perf_scaling.posterior.covariances`), u = S^-1 1 and P = S^-1 - u
u' /
1'u, a shape h leaves r = m - ln h, and its evidence, the level integrated over a flat prior, is
``-1/2 (ln |S| + ln 1'u + r'P r + (k - 1) ln 2 pi)``. That level i deviates by a further variance v is an update of rank
one: with q = P r it adds ``-1/2 ln(1 + v P_ii) + 1/2 v q_i^2 / (1 + v P_ii)``.
"""

from __future__ import annotations

import math

import numpy as np

from perf_scaling.posterior.covariances import inverse_of, projected
from perfcore.base.kernels import kernel

_LOG_2PI = math.log(2.0 * math.pi)
_BINS = 4096
_TAIL, _FINER = 0.06, 4.0  # on both sides bounds are told from parts that are smaller by this factor


@kernel
def noise_terms(  # type: ignore[no-untyped-def]
    noise, tau, kappa, length, drift, log_none, log_one, extra, first_variance, least_noise,
    covariance, inverse, work, sums, projection, offset, gain, far,
):  # fmt: skip
    """What the evidence of any shape needs of one noise."""
    k = len(noise)
    scale = 0.5 * kappa * kappa * length
    for i in range(k):
        for j in range(i + 1):
            covariance[i, j] = scale * drift[i, j]
        covariance[i, i] += tau * tau + noise[i]
    widest = _widest(covariance, k, tau * tau + least_noise)
    determinant = inverse_of(covariance, k, inverse, work)
    total = projected(inverse, k, sums, projection)
    largest = 0.0
    for i in range(k):
        far[i] = sums[i] / total
        for j in range(k):
            far[i] += projection[i, j] * scale * drift[k, j]
        variance = extra + first_variance if i == 0 else extra
        spread = 1.0 + variance * projection[i, i]
        offset[i] = log_one - log_none - 0.5 * math.log(spread)
        gain[i] = 0.5 * variance / spread
        largest = max(largest, offset[i])
    return -0.5 * (determinant + math.log(total) + (k - 1) * _LOG_2PI) + log_none, widest, largest


@kernel
def level_terms(residuals, ahead, projection, offset, gain, far, masses, aheads):  # type: ignore[no-untyped-def]
    """What each level that may deviate adds to the evidence of a shape, and what is then predicted far beyond them."""
    k, top = len(residuals), 0.0
    for i in range(k):
        ahead += far[i] * residuals[i]
    for i in range(k):
        value = 0.0
        for j in range(k):
            value += projection[i, j] * residuals[j]
        aheads[i + 1] = ahead - 2.0 * gain[i] * far[i] * value
        masses[i + 1] = offset[i] + gain[i] * value * value
        top = max(top, masses[i + 1])
    aheads[0] = ahead
    return top


@kernel
def _widest(covariance, k, least):  # type: ignore[no-untyped-def]
    """No weighted sum of levels has a larger variance whose weights add up to 0, and their squares to 1."""
    total, trace = 0.0, 0.0
    for i in range(k):
        trace += covariance[i, i]
        for j in range(i + 1):
            total += covariance[i, j] if i == j else 2.0 * covariance[i, j]
    return trace - total / k - max(k - 2, 0) * least


@kernel
def cut(  # type: ignore[no-untyped-def]
    ahead, mass, code, n_kept, summed, parts, n_shapes, k, law, setting, level, weight
):  # fmt: skip
    """Write the components of one path: those of little weight every so many, in the order of what they predict."""
    lowest, highest = ahead[0], ahead[0]
    for number in range(n_kept):
        lowest, highest = min(lowest, ahead[number]), max(highest, ahead[number])
    per_bin = (_BINS - 1) / max(highest - lowest, 1e-300)
    bins = np.zeros(_BINS + 1, dtype=np.int32)
    bin_of = np.empty(n_kept, dtype=np.int32)
    for number in range(n_kept):
        bin_number = int((ahead[number] - lowest) * per_bin)
        bin_of[number] = bin_number
        bins[bin_number + 1] += 1
    for bin_number in range(_BINS):
        bins[bin_number + 1] += bins[bin_number]
    masses, codes = np.empty(n_kept), np.empty(n_kept, dtype=np.int64)
    for number in range(n_kept):
        place = bins[bin_of[number]]
        bins[bin_of[number]] = place + 1
        masses[place] = mass[number] / summed
        codes[place] = code[number]
    filled, passed, cumulated = 0, 0.5 / (parts * _FINER), 0.0
    for turn in range(n_kept):
        stays = masses[turn]
        cumulated += stays
        part = 1.0 / parts
        if min(cumulated, 1.0 - cumulated) < _TAIL:
            part /= _FINER
        if stays < part:
            passed += stays
            if passed < part:
                continue
            passed -= part
            stays = part
        number = codes[turn]
        level[filled] = number % (k + 1) - 1
        number //= k + 1
        law[filled] = number % n_shapes
        setting[filled] = number // n_shapes
        weight[filled] = stays
        filled += 1
    return filled


@kernel
def longer(array):  # type: ignore[no-untyped-def]
    """The same numbers with room for as many more."""
    longer = np.empty(2 * len(array), array.dtype)
    for k in range(len(array)):
        longer[k] = array[k]
    return longer


@kernel
def smallest(array):  # type: ignore[no-untyped-def]
    """The smallest number."""
    smallest = array[0]
    for value in array:
        smallest = min(smallest, value)
    return smallest
