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

from perf_scaling.posterior.covariances import half_exponential, inverse_of, projected
from perf_scaling.posterior.few_paths import BINS, ENOUGH, FINER, HOPELESS, ONE_OF, TAIL, UNLIKELY
from perf_statistics.kernels import kernel

_LOG_2PI = math.log(2.0 * math.pi)
_TILE = 128  # shapes that are looked at together; next to each other they are alike
_TOGETHER = 4  # paths of the same noise that are: what they reach is a megabyte


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
    ahead, mass, code, n_kept, summed, parts, n_shapes, k, bins, bin_of, masses, codes, law, setting, level, weight
):  # fmt: skip
    """Write the components of one path: those of little weight every so many, in the order of what they predict."""
    lowest, highest = smallest(ahead[:n_kept]), _largest(ahead[:n_kept])
    per_bin = (BINS - 1) / max(highest - lowest, 1e-300)
    for bin_number in range(BINS + 1):
        bins[bin_number] = 0
    for number in range(n_kept):
        bin_of[number] = int((ahead[number] - lowest) * per_bin)
    for number in range(n_kept):
        bins[bin_of[number] + 1] += 1
    for bin_number in range(BINS):
        bins[bin_number + 1] += bins[bin_number]
    per_mass = 1.0 / summed
    for number in range(n_kept):
        place = bins[bin_of[number]]
        bins[bin_of[number]] = place + 1
        masses[place] = mass[number] * per_mass
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


@kernel
def _largest(array):  # type: ignore[no-untyped-def]
    largest = array[0]
    for value in array:
        largest = max(largest, value)
    return largest


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

    Paths behind each other that have the same noise are weighed together, a few at a time: P h of a noise and a shape
    is worked out once, so that of each path only P m - P h is left.
    """
    n_paths, k = logs.shape
    n_shapes, n_noises = shapes.shape[1], len(tau)
    n_tiles = (n_shapes + _TILE - 1) // _TILE
    covariance, inverse, work = np.empty((k, k)), np.empty((k, k)), np.empty((k, k))
    n_padded = 3 * ((k + 2) // 3)
    sums, centred, residuals = np.empty(k), np.empty((k, n_shapes)), np.zeros((_TOGETHER, n_padded, n_shapes))
    squares, farthest, log_priors = np.empty(n_shapes), np.empty(n_shapes), np.empty((n_noises, n_shapes))
    projections, offset = np.empty((n_noises, k, k)), np.full((n_noises, n_padded), -np.inf)
    gain, far, at_mean = np.zeros((n_noises, n_padded)), np.empty((n_noises, k)), np.zeros(n_padded)
    base, widest, largest = np.empty(n_noises), np.empty(n_noises), np.empty(n_noises)
    shape_mean, mean, least_squares = np.empty(n_shapes), np.empty(_TOGETHER), np.empty((_TOGETHER, n_tiles))
    projected_shapes, evidence, most = np.zeros((n_padded, _TILE)), np.empty(_TILE), np.empty(_TILE)
    reached, reached_most = np.empty((_TOGETHER, n_noises, n_shapes)), np.empty((_TOGETHER, n_noises, n_tiles))
    best, centre = np.empty(_TOGETHER), np.empty((_TOGETHER, k))
    tile_weight, prior_most = np.empty(n_tiles), np.empty(n_noises)
    for tile in range(n_tiles):
        tile_weight[tile] = _largest(log_weight[tile * _TILE : (tile + 1) * _TILE])
    for h in range(n_noises):
        prior_most[h] = _largest(log_prior[h])
        for s in range(n_shapes):
            log_priors[h, s] = log_weight[s] + log_prior[h, group[s]]
    for s in range(n_shapes):
        shape_mean[s] = 0.0
    for i in range(k):
        for s in range(n_shapes):
            shape_mean[s] += shapes[i, s] / k
    for i in range(k):
        for s in range(n_shapes):
            centred[i, s] = shapes[i, s] - shape_mean[s]
    log_none, log_one = math.log(1.0 - deviates), math.log(deviates / k)
    sampled, of_sampled = np.empty((2, n_shapes + n_noises), dtype=np.bool_), 0
    kept_ahead, kept_mass = np.empty(4096), np.empty(4096)
    kept_code, bins = np.empty(4096, dtype=np.int64), np.empty(BINS + 1, dtype=np.int32)
    bin_of, masses_in_order = np.empty(4096, dtype=np.int32), np.empty(4096)
    codes_in_order = np.empty(4096, dtype=np.int64)
    chosen, ahead = np.empty(n_shapes, dtype=np.int64), np.empty(n_shapes)
    own, q, masses = np.empty((k, n_shapes)), np.empty((k, n_shapes)), np.empty((k + 1, n_shapes))
    begin_path = 0
    while begin_path < n_paths:
        together = 1
        while together < _TOGETHER and begin_path + together < n_paths:
            is_same = True
            for i in range(k):
                is_same &= noise[begin_path + together, i] == noise[begin_path, i]
            if not is_same:
                break
            together += 1
        for h in range(n_noises):
            base[h], widest[h], largest[h] = noise_terms(
                noise[begin_path], tau[h], kappa[h], length[h], drifts[which_drift[h]], log_none, log_one,
                deviating_variance + deviating_factor * tau[h] * tau[h], first_variance, smallest(noise[begin_path]),
                covariance, inverse, work, sums, projections[h], offset[h], gain[h], far[h],
            )  # fmt: skip
        for g in range(together):
            mean[g], best[g] = 0.0, -np.inf
            for i in range(k):
                mean[g] += logs[begin_path + g, i] / k
            for i in range(k):
                centre[g, i] = logs[begin_path + g, i] - mean[g]
            for s in range(n_shapes):
                squares[s], farthest[s] = 0.0, 0.0
            for i in range(k):
                for s in range(n_shapes):
                    value = centre[g, i] - centred[i, s]
                    residuals[g, i, s] = value
                    squares[s] += value * value
                    farthest[s] = max(farthest[s], value * value)
            for tile in range(n_tiles):
                least_squares[g, tile] = np.inf
            for s in range(n_shapes):
                # What is left without the level that is farthest off, about the mean of the others.
                squares[s] -= farthest[s] * k / max(k - 1, 1)
            for s in range(n_shapes):
                least_squares[g, s // _TILE] = min(least_squares[g, s // _TILE], squares[s])
        for h in range(n_noises):
            for tile in range(n_tiles):
                begin, end = tile * _TILE, min((tile + 1) * _TILE, n_shapes)
                size, is_projected = end - begin, False
                for g in range(together):
                    reached_most[g, h, tile] = -np.inf
                    # Even if one level deviates, it explains at most this.
                    bound = base[h] + largest[h] + tile_weight[tile] + prior_most[h]
                    if bound - 0.5 * least_squares[g, tile] / widest[h] < best[g] - HOPELESS:
                        continue
                    if not is_projected:
                        is_projected = True
                        for i in range(k):
                            factor = projections[h, i, 0]
                            for s in range(size):
                                projected_shapes[i, s] = factor * centred[0, begin + s]
                            for j in range(1, k):
                                factor = projections[h, i, j]
                                for s in range(size):
                                    projected_shapes[i, s] += factor * centred[j, begin + s]
                    for s in range(size):
                        evidence[s] = 0.0
                        most[s] = 0.0
                    for i in range(k):
                        at_mean[i] = 0.0
                        for j in range(k):
                            at_mean[i] += projections[h, i, j] * centre[g, j]
                    for i in range(0, n_padded, 3):  # three levels at a time: each passes over all shapes
                        mean_0, mean_1, mean_2 = at_mean[i], at_mean[i + 1], at_mean[i + 2]
                        more_0, more_1, more_2 = offset[h, i], offset[h, i + 1], offset[h, i + 2]
                        times_0, times_1, times_2 = gain[h, i], gain[h, i + 1], gain[h, i + 2]
                        for s in range(size):
                            q_0 = mean_0 - projected_shapes[i, s]
                            q_1 = mean_1 - projected_shapes[i + 1, s]
                            q_2 = mean_2 - projected_shapes[i + 2, s]
                            evidence[s] += (
                                q_0 * residuals[g, i, begin + s]
                                + q_1 * residuals[g, i + 1, begin + s]
                                + q_2 * residuals[g, i + 2, begin + s]
                            )
                            of_0, of_1 = more_0 + times_0 * q_0 * q_0, more_1 + times_1 * q_1 * q_1
                            most[s] = max(most[s], of_0, of_1, more_2 + times_2 * q_2 * q_2)
                    top, other = -np.inf, -np.inf
                    for s in range(size):
                        evidence[s] = base[h] + log_priors[h, begin + s] - 0.5 * evidence[s] + most[s]
                    for s in range(0, size - 1, 2):  # two by two: each comparison waits for the one before it
                        top = max(top, evidence[s])
                        other = max(other, evidence[s + 1])
                    top = max(top, other, evidence[size - 1])
                    if top >= best[g] - HOPELESS:
                        reached_most[g, h, tile] = top
                        best[g] = max(best[g], top)
                        for s in range(size):
                            reached[g, h, begin + s] = evidence[s]
        for g in range(together):
            # The combinations that count, one noise after the other; first what they add up to.
            path, n_kept, summed, n_likely = begin_path + g, 0, 0.0, 0
            for h in range(n_noises):
                for tile in range(n_tiles):
                    if reached_most[g, h, tile] >= best[g] - UNLIKELY:
                        for s in range(tile * _TILE, min((tile + 1) * _TILE, n_shapes)):
                            n_likely += reached[g, h, s] >= best[g] - UNLIKELY
            of_likely = 1 + n_likely // ENOUGH
            log_likely, log_one_of = math.log(of_likely), math.log(ONE_OF)
            if of_likely != of_sampled:
                of_sampled = of_likely
                for number in range(n_shapes + n_noises):
                    sampled[0, number] = number % (of_likely * ONE_OF) == 0
                    sampled[1, number] = number % of_likely == 0
            for h in range(n_noises):
                size = 0
                for tile in range(n_tiles):
                    if reached_most[g, h, tile] < best[g] - HOPELESS:
                        continue
                    begin, step = tile * _TILE, 1
                    if reached_most[g, h, tile] < best[g] - UNLIKELY:  # then only every so many can count
                        begin, step = begin + (-(begin + h)) % ONE_OF, ONE_OF
                    for s in range(begin, min((tile + 1) * _TILE, n_shapes), step):
                        is_likely = reached[g, h, s] >= best[g] - UNLIKELY
                        if reached[g, h, s] >= best[g] - HOPELESS and sampled[1 if is_likely else 0, s + h]:
                            chosen[size] = s
                            size += 1
                if not size:
                    continue
                for t in range(size):
                    ahead[t] = shapes[k, chosen[t]] + mean[g] - shape_mean[chosen[t]]
                    masses[0, t] = 0.0
                for i in range(k):
                    for t in range(size):
                        own[i, t] = residuals[g, i, chosen[t]]
                    for t in range(size):
                        ahead[t] += far[h, i] * own[i, t]
                for i in range(k):
                    for t in range(size):
                        q[i, t] = 0.0
                    for j in range(k):
                        factor = projections[h, i, j]
                        for t in range(size):
                            q[i, t] += factor * own[j, t]
                    more, times = offset[h, i], gain[h, i]
                    for t in range(size):
                        masses[i + 1, t] = more + times * q[i, t] * q[i, t]
                        masses[0, t] = max(masses[0, t], masses[i + 1, t])
                for t in range(size):
                    masses[0, t] = reached[g, h, chosen[t]] - masses[0, t] - best[g]  # without a level that deviates
                for i in range(k):
                    for t in range(size):
                        masses[i + 1, t] += masses[0, t]
                while n_kept + size * (k + 1) > len(kept_mass):
                    kept_ahead, kept_mass, kept_code = longer(kept_ahead), longer(kept_mass), longer(kept_code)
                begin = n_kept
                for t in range(size):
                    code = (h * n_shapes + chosen[t]) * (k + 1)
                    counts_for = log_likely
                    if reached[g, h, chosen[t]] < best[g] - UNLIKELY:
                        counts_for += log_one_of
                    for i in range(k + 1):
                        kept_ahead[n_kept] = ahead[t]
                        if i:
                            kept_ahead[n_kept] -= 2.0 * gain[h, i - 1] * far[h, i - 1] * q[i - 1, t]
                        kept_mass[n_kept], kept_code[n_kept] = masses[i, t] + counts_for, code + i
                        n_kept += masses[i, t] > -HOPELESS
                for number in range(begin, n_kept):
                    kept_mass[number] = half_exponential(-2.0 * kept_mass[number])
                    summed += kept_mass[number]
            if n_kept > len(bin_of):
                bin_of, masses_in_order = np.empty(len(kept_mass), dtype=np.int32), np.empty(len(kept_mass))
                codes_in_order = np.empty(len(kept_mass), dtype=np.int64)
            count[path] = cut(
                kept_ahead, kept_mass, kept_code, n_kept, summed, parts, n_shapes, k, bins, bin_of, masses_in_order,
                codes_in_order, law[path], setting[path], level[path], weight[path],
            )  # fmt: skip
        begin_path += together
