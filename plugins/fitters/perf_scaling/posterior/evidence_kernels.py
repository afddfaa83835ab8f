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
from perf_scaling.posterior.few_paths import BINS, ENOUGH, FINER, HOPELESS, ONE_OF, TAIL, UNLIKELY
from perf_statistics.kernels import kernel

_LOG_2PI = math.log(2.0 * math.pi)


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
    per_bin = (BINS - 1) / max(highest - lowest, 1e-300)
    bins = np.zeros(BINS + 1, dtype=np.int32)
    bin_of = np.empty(n_kept, dtype=np.int32)
    for number in range(n_kept):
        bin_number = int((ahead[number] - lowest) * per_bin)
        bin_of[number] = bin_number
        bins[bin_number + 1] += 1
    for bin_number in range(BINS):
        bins[bin_number + 1] += bins[bin_number]
    masses, codes = np.empty(n_kept), np.empty(n_kept, dtype=np.int64)
    for number in range(n_kept):
        place = bins[bin_of[number]]
        bins[bin_of[number]] = place + 1
        masses[place] = mass[number] / summed
        codes[place] = code[number]
    filled, passed, cumulated = 0, 0.5 / (parts * FINER), 0.0
    for turn in range(n_kept):
        stays = masses[turn]
        cumulated += stays
        part = 1.0 / parts
        if min(cumulated, 1.0 - cumulated) < TAIL:
            part /= FINER
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


_TILE = 128  # shapes that are looked at together; next to each other they are alike


@kernel
def weigh_shapes(  # type: ignore[no-untyped-def]
    logs, noise, shapes, log_weight, group, log_prior, tau, kappa, length, which_drift, drifts, deviates,
    deviating_variance, deviating_factor, first_variance, parts, law, setting, level, weight, count,
):  # fmt: skip
    """Components of each path: combinations of a shape, a noise, and which level deviates, with their weights.

    Of the combinations of little weight every so many stay, each for all that are near it, in the order of what they
    predict far beyond the last level.

    `logs` and `noise` (K, k) are the logarithm of the mean at each level, and the variance that runs give it; `shapes`
    (k + 1, S) the logarithm of each shape at the levels and far beyond them, of a `group` and a `log_weight` in it.
    `log_prior` (H, G) is of each noise and group; noises are `tau`, `kappa`, `length` (H,), with the number of each in
    `drifts` (D, k + 1, k + 1): covariances of the drift for a slope of variance 1. One level deviates with the
    probability `deviates`, by a constant further variance, a multiple of tau squared, and what comes on top for the
    first level. A weight of less than one part in so many is little. Written are shape, noise, level that deviates or
    -1, and weight of each component (K, C), and how many there are.
    """
    n_paths, k = logs.shape
    n_shapes, n_noises = shapes.shape[1], len(tau)
    n_tiles = (n_shapes + _TILE - 1) // _TILE
    covariance, inverse, work = np.empty((k, k)), np.empty((k, k)), np.empty((k, k))
    sums, residuals, column = np.empty(k), np.empty((k, n_shapes)), np.empty(k)
    squares, farthest, log_priors = np.empty(n_shapes), np.empty(n_shapes), np.empty((n_noises, n_shapes))
    projections, offset = np.empty((n_noises, k, k)), np.empty((n_noises, k))
    gain, far = np.empty((n_noises, k)), np.empty((n_noises, k))
    middle, least_squares = np.empty(n_shapes), np.empty(n_tiles)
    q, evidence, most = np.empty(_TILE), np.empty(_TILE), np.empty(_TILE)
    reached, reached_most = np.empty((n_noises, n_shapes)), np.empty((n_noises, n_tiles))
    tile_weight, prior_most = np.empty(n_tiles), np.empty(n_noises)
    for tile in range(n_tiles):
        tile_weight[tile] = _largest(log_weight[tile * _TILE : (tile + 1) * _TILE])
    for h in range(n_noises):
        prior_most[h] = _largest(log_prior[h])
        for s in range(n_shapes):
            log_priors[h, s] = log_weight[s] + log_prior[h, group[s]]
    log_none, log_one = math.log(1.0 - deviates), math.log(deviates / k)
    masses, aheads = np.zeros(k + 1), np.empty(k + 1)  # the first are those of no level
    sampled, of_sampled = np.empty((2, n_shapes + n_noises), dtype=np.bool_), 0
    kept_ahead, kept_mass = np.empty(4096), np.empty(4096)
    kept_code = np.empty(4096, dtype=np.int64)
    for path in range(n_paths):
        for tile in range(n_tiles):
            least_squares[tile] = np.inf
        for s in range(n_shapes):
            middle[s], squares[s], farthest[s] = 0.0, 0.0, 0.0
        for i in range(k):
            for s in range(n_shapes):
                middle[s] += (logs[path, i] - shapes[i, s]) / k
        for i in range(k):
            for s in range(n_shapes):
                value = logs[path, i] - shapes[i, s] - middle[s]
                residuals[i, s] = value
                squares[s] += value * value
                farthest[s] = max(farthest[s], value * value)
        for s in range(n_shapes):
            # What is left without the level that is farthest off, about the mean of the others.
            squares[s] -= farthest[s] * k / max(k - 1, 1)
        for s in range(n_shapes):
            least_squares[s // _TILE] = min(least_squares[s // _TILE], squares[s])
        best, least_noise = -np.inf, smallest(noise[path])
        for h in range(n_noises):
            base, widest, largest = noise_terms(
                noise[path], tau[h], kappa[h], length[h], drifts[which_drift[h]], log_none, log_one,
                deviating_variance + deviating_factor * tau[h] * tau[h], first_variance, least_noise,
                covariance, inverse, work, sums, projections[h], offset[h], gain[h], far[h],
            )  # fmt: skip
            for tile in range(n_tiles):
                begin, end = tile * _TILE, min((tile + 1) * _TILE, n_shapes)
                reached_most[h, tile] = -np.inf
                # Even if one level deviates, it explains at most this.
                bound = base + largest + tile_weight[tile] + prior_most[h] - 0.5 * least_squares[tile] / widest
                if bound < best - HOPELESS:
                    continue
                size = end - begin
                for s in range(size):
                    evidence[s] = 0.0
                    most[s] = 0.0
                for i in range(k):  # two levels at a time, and the last with what is made of them
                    first, last = projections[h, i, 0], projections[h, i, k - 1]
                    if k % 2:
                        for s in range(size):
                            q[s] = 0.0
                    else:
                        for s in range(size):
                            q[s] = first * residuals[0, begin + s]
                    for j in range(1 - k % 2, k - 1, 2):
                        factor, following = projections[h, i, j], projections[h, i, j + 1]
                        for s in range(size):
                            q[s] += factor * residuals[j, begin + s] + following * residuals[j + 1, begin + s]
                    more, times = offset[h, i], gain[h, i]
                    for s in range(size):
                        value = q[s] + last * residuals[k - 1, begin + s]
                        evidence[s] += value * residuals[i, begin + s]
                        most[s] = max(most[s], more + times * value * value)
                for s in range(size):
                    reached[h, begin + s] = base + log_priors[h, begin + s] - 0.5 * evidence[s] + most[s]
                top, other = -np.inf, -np.inf
                for s in range(0, size - 1, 2):  # two by two: each comparison waits for the one before it
                    top = max(top, reached[h, begin + s])
                    other = max(other, reached[h, begin + s + 1])
                top = max(top, other, reached[h, end - 1])
                reached_most[h, tile] = top
                best = max(best, top)
        # The combinations that count, one noise after the other; first what they add up to.
        n_kept, summed, n_likely = 0, 0.0, 0
        for h in range(n_noises):
            for tile in range(n_tiles):
                if reached_most[h, tile] >= best - UNLIKELY:
                    for s in range(tile * _TILE, min((tile + 1) * _TILE, n_shapes)):
                        n_likely += reached[h, s] >= best - UNLIKELY
        of_likely = 1 + n_likely // ENOUGH
        if of_likely != of_sampled:
            of_sampled = of_likely
            for number in range(n_shapes + n_noises):
                sampled[0, number] = number % (of_likely * ONE_OF) == 0
                sampled[1, number] = number % of_likely == 0
        for h in range(n_noises):
            for tile in range(n_tiles):
                if reached_most[h, tile] < best - HOPELESS:
                    continue
                begin, step = tile * _TILE, 1
                if reached_most[h, tile] < best - UNLIKELY:  # then only every so many can count
                    begin, step = begin + (-(begin + h)) % ONE_OF, ONE_OF
                for s in range(begin, min((tile + 1) * _TILE, n_shapes), step):
                    if reached[h, s] < best - HOPELESS:
                        continue
                    is_likely = reached[h, s] >= best - UNLIKELY
                    if not sampled[1 if is_likely else 0, s + h]:
                        continue
                    for i in range(k):
                        column[i] = residuals[i, s]
                    counts_for = of_likely if is_likely else of_likely * ONE_OF
                    top = level_terms(
                        column, shapes[k, s] + middle[s], projections[h], offset[h], gain[h], far[h], masses, aheads
                    )
                    none = reached[h, s] - top - best  # without a level that deviates
                    if n_kept + k + 1 > len(kept_mass):
                        kept_ahead, kept_mass = longer(kept_ahead), longer(kept_mass)
                        kept_code = longer(kept_code)
                    for i in range(k + 1):
                        if none + masses[i] > -HOPELESS:
                            kept_ahead[n_kept] = aheads[i]
                            kept_mass[n_kept] = counts_for * math.exp(none + masses[i])
                            kept_code[n_kept] = (h * n_shapes + s) * (k + 1) + i
                            summed += kept_mass[n_kept]
                            n_kept += 1
        count[path] = cut(
            kept_ahead, kept_mass, kept_code, n_kept, summed, parts, n_shapes, k, law[path], setting[path],
            level[path], weight[path],
        )  # fmt: skip


@kernel
def _largest(array):  # type: ignore[no-untyped-def]
    largest = array[0]
    for value in array:
        largest = max(largest, value)
    return largest
