"""Compiled loops over noises and shapes of one parameter: how well each combination explains each path.

See `perf_scaling.posterior.evidence_kernels` for what is worked out.
"""

from __future__ import annotations

import math

import numpy as np

from perf_scaling.posterior.evidence_kernels import cut, level_terms, longer, noise_terms, smallest
from perfcore.base.kernels import kernel

# Combinations whose evidence is below that of the best by more than this logarithm are left out, all together some
# hundredth of the weight; of those below the second only one of so many is looked at, and counts for them all. Where
# the others are more than some thousand, which each have little weight, only as many are.
_HOPELESS, _UNLIKELY = 12.0, 7.0
_ONE_OF, _ENOUGH = 8, 3000
_TILE = 128  # shapes that are looked at together; next to each other they are alike


@kernel
def weigh_shapes(  # type: ignore[no-untyped-def]
    logs, noise, shapes, log_weight, group, log_prior, tau, kappa, length, which_drift, drifts, deviates,
    deviating_variance, deviating_factor, first_variance, parts, law, setting, level, weight, count,
):  # fmt: skip
    """Components of each path: combinations of a shape, a noise, and which level deviates, with their weights.

    Of the combinations of little weight every so many stay, each for all that are near it, in the order of what they
    predict far beyond the last level.

    Parameters
    ----------
    logs, noise : (K, k) float
        Logarithm of the mean at each level, and the variance that runs give it.
    shapes : (k + 1, S) float
        Logarithm of each shape at the levels and far beyond them.
    log_weight, group : (S,) float and int
    log_prior : (H, G) float
        Of each noise and group.
    tau, kappa, length, which_drift : (H,)
        Noises; number of each in `drifts`.
    drifts : (D, k + 1, k + 1) float
        Covariances of the drift for a slope of variance 1; the last is far beyond the levels.
    deviates, deviating_variance, deviating_factor, first_variance : float
        Probability that one level deviates, and its further variance: a constant, a multiple of tau squared, and what
        comes on top for the first level.
    parts : int
        A weight of less than one part in so many is little.
    law, setting, level, weight : (K, C) int and float
        Written: shape, noise, level that deviates or -1, and weight of each component.
    count : (K,) int
        Written: how many components.
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
                if bound < best - _HOPELESS:
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
                if reached_most[h, tile] >= best - _UNLIKELY:
                    for s in range(tile * _TILE, min((tile + 1) * _TILE, n_shapes)):
                        n_likely += reached[h, s] >= best - _UNLIKELY
        of_likely = 1 + n_likely // _ENOUGH
        if of_likely != of_sampled:
            of_sampled = of_likely
            for number in range(n_shapes + n_noises):
                sampled[0, number] = number % (of_likely * _ONE_OF) == 0
                sampled[1, number] = number % of_likely == 0
        for h in range(n_noises):
            for tile in range(n_tiles):
                if reached_most[h, tile] < best - _HOPELESS:
                    continue
                begin, step = tile * _TILE, 1
                if reached_most[h, tile] < best - _UNLIKELY:  # then only every so many can count
                    begin, step = begin + (-(begin + h)) % _ONE_OF, _ONE_OF
                for s in range(begin, min((tile + 1) * _TILE, n_shapes), step):
                    if reached[h, s] < best - _HOPELESS:
                        continue
                    is_likely = reached[h, s] >= best - _UNLIKELY
                    if not sampled[1 if is_likely else 0, s + h]:
                        continue
                    for i in range(k):
                        column[i] = residuals[i, s]
                    counts_for = of_likely if is_likely else of_likely * _ONE_OF
                    top = level_terms(
                        column, shapes[k, s] + middle[s], projections[h], offset[h], gain[h], far[h], masses, aheads
                    )
                    none = reached[h, s] - top - best  # without a level that deviates
                    if n_kept + k + 1 > len(kept_mass):
                        kept_ahead, kept_mass = longer(kept_ahead), longer(kept_mass)
                        kept_code = longer(kept_code)
                    for i in range(k + 1):
                        if none + masses[i] > -_HOPELESS:
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
