"""Compiled quantiles of mixtures of normal distributions."""

from __future__ import annotations

import math

import numpy as np

from perfcore.base.kernels import kernel

_ROOT_2PI = math.sqrt(2.0 * math.pi)
_CLOSE = 1e-5  # step, of the narrowest deviation, with which a search for a quantile ends


@kernel
def _bell(square):  # type: ignore[no-untyped-def]
    """``exp(-square / 2)`` for squares of 0 to 36 without a branch, so that several are worked out at once.

    Taylor's series of a 64th of it, squared six times: to 3e-14.
    """
    y = square * (-0.5 / 64.0)
    value = 1.0 + y * (1.0 / 11.0)
    value = 1.0 + y * (1.0 / 10.0) * value
    value = 1.0 + y * (1.0 / 9.0) * value
    value = 1.0 + y * (1.0 / 8.0) * value
    value = 1.0 + y * (1.0 / 7.0) * value
    value = 1.0 + y * (1.0 / 6.0) * value
    value = 1.0 + y * (1.0 / 5.0) * value
    value = 1.0 + y * (1.0 / 4.0) * value
    value = 1.0 + y * (1.0 / 3.0) * value
    value = 1.0 + y * (1.0 / 2.0) * value
    value = 1.0 + y * value
    value *= value
    value *= value
    value *= value
    value *= value
    value *= value
    return value * value


@kernel
def _mass_below(x, means, per_deviation, weights, count):  # type: ignore[no-untyped-def]
    """Probability below x of a mixture of normal distributions, and its density there times the root of 2 pi.

    The tail is ``bell`` times a quotient of polynomials, to 1e-15: J. Hart et al., "Computer approximations", 1968,
    algorithm 5666. Beyond six deviations there is none.
    """
    below, density = 0.0, 0.0
    for c in range(count):
        z = (x - means[c]) * per_deviation[c]
        far = min(abs(z), 6.0)
        bell = _bell(far * far) if far < 6.0 else 0.0
        above = 3.52624965998911e-2 * far + 0.700383064443688
        above = above * far + 6.37396220353165
        above = above * far + 33.912866078383
        above = above * far + 112.079291497871
        above = above * far + 221.213596169931
        above = above * far + 220.206867912376
        under = 8.83883476483184e-2 * far + 1.75566716318264
        under = under * far + 16.064177579207
        under = under * far + 86.7807322029461
        under = under * far + 296.564248779674
        under = under * far + 637.333633378831
        under = under * far + 793.826512519948
        under = under * far + 440.413735824752
        tail = bell * above / under
        below += weights[c] * (tail if z < 0.0 else 1.0 - tail)
        density += weights[c] * bell * per_deviation[c]
    return below, density


@kernel
def _normal_quantile(probability):  # type: ignore[no-untyped-def]
    """Standard normal quantile to 3e-3: M. Abramowitz and I. Stegun, "Handbook of mathematical functions", 26.2.22."""
    t = math.sqrt(-2.0 * math.log(min(probability, 1.0 - probability)))
    z = t - (2.30753 + 0.27061 * t) / (1.0 + 0.99229 * t + 0.04481 * t * t)
    return -z if probability < 0.5 else z


@kernel
def mixture_quantiles(means, variances, weights, levels, quantiles):  # type: ignore[no-untyped-def]
    """Quantiles of mixtures of normal distributions, by Newton's method within a bracket."""
    work = np.empty((3, means.shape[1]))
    for row in range(len(means)):
        row_quantiles(means[row], variances[row], weights[row], means.shape[1], levels, work, quantiles[row])


@kernel
def row_quantiles(means, variances, weights, size, levels, work, quantiles):  # type: ignore[no-untyped-def]
    """As `mixture_quantiles`, of one mixture of so many components; `work` is (3, >= size)."""
    places, per_deviation, shares = work[0], work[1], work[2]
    count, total, mean, square = 0, 0.0, 0.0, 0.0
    lowest, highest, narrowest = np.inf, -np.inf, np.inf
    for c in range(size):
        if weights[c] > 0.0:
            deviation = math.sqrt(variances[c])
            places[count], per_deviation[count], shares[count] = means[c], 1.0 / deviation, weights[c]
            count += 1
            total += weights[c]
            mean += weights[c] * means[c]
            square += weights[c] * (variances[c] + means[c] * means[c])
            narrowest = min(narrowest, deviation)
            lowest = min(lowest, means[c] - 9.0 * deviation)
            highest = max(highest, means[c] + 9.0 * deviation)
    mean /= total
    spread = math.sqrt(max(square / total - mean * mean, 0.0))
    for number in range(len(levels)):
        low, high, target = lowest, highest, levels[number] * total
        x = mean + spread * _normal_quantile(levels[number])
        if not low < x < high:
            x = 0.5 * (low + high)
        for _ in range(80):
            below, density = _mass_below(x, places, per_deviation, shares, count)
            if below < target:
                low = x
            else:
                high = x
            before = x
            x = x - (below - target) * _ROOT_2PI / density if density > 0.0 else low
            if not low < x < high:
                x = 0.5 * (low + high)
                if high - low < _CLOSE * narrowest:
                    break
            elif abs(x - before) < _CLOSE * narrowest:  # what is left is of the order of the square
                break
        quantiles[number] = x
        lowest = x
