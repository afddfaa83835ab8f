"""Compiled weighing of one parameter for very many paths: one shape stands for those that are near it.

Shapes are put together in octets of the nearest (`perf_laws.posterior.octets`). Of each the one in the middle is looked
at with every noise, and where one of the others could explain a path well, all of them are: none is farther off than
the radius of the octet. Elsewhere the one counts for all. Shapes that are usual are always looked at.
"""

from __future__ import annotations

import math

import numpy as np

from perf_laws.posterior.evidence_kernels import cut, level_terms, noise_terms, smallest
from perf_laws.posterior.octets import OCTET
from perfcore.base.kernels import kernel

__all__ = ["weigh_sparsely"]

# An octet is looked at whole where one of it may be within the first logarithm of the best; what is beyond the second
# is left out.
_LIKELY, _HOPELESS = 6.0, 12.0
_NONE = -1e30  # logarithm of a weight
_TOLD_APART = 8  # times as many combinations as parts are told apart by the level that deviates


@kernel
def weigh_sparsely(  # type: ignore[no-untyped-def]
    logs, noise, shapes, log_weight, group, usual, log_prior, tau, kappa, length, which_drift, drifts, deviates,
    deviating_variance, deviating_factor, first_variance, parts, law, setting, level, weight, count,
):  # fmt: skip
    """Components of each path, as `perf_laws.posterior.weigh_kernels.weigh_shapes` writes them; fewer.

    Parameters
    ----------
    logs, noise : (K, k) float
    shapes : (k + 1, S) float
        The usual ones first, then octets, each with the one that stands for it in front; copies that fill the last
        octet have no weight.
    log_weight, group : (S,) float and int
    usual : int
        How many are looked at with every noise.
    log_prior, tau, kappa, length, which_drift, drifts, deviates, deviating_variance, deviating_factor, first_variance
        See `weigh_shapes`.
    parts : int
        As of `weigh_shapes`; some ten times as many combinations are told apart by the level that deviates.
    law, setting, level, weight, count : (K, C) and (K,)
        Written.
    """
    n_paths, k = logs.shape
    n_shapes, n_noises = shapes.shape[1], len(tau)
    n_octets = (n_shapes - usual) // OCTET
    looked = usual + n_octets  # with each noise
    covariance, inverse, work = np.empty((k, k)), np.empty((k, k)), np.empty((k, k))
    sums, one, projection = np.empty(k), np.empty(k), np.empty((n_noises, k, k))
    offset, gain, far = np.empty((n_noises, k)), np.empty((n_noises, k)), np.empty((n_noises, k))
    base = np.empty(n_noises)
    masses, aheads = np.zeros(k + 1), np.empty(k + 1)
    log_none, log_one = math.log(1.0 - deviates), math.log(deviates / k)
    # Single precision does: what is left at levels is small where it matters.
    centred, priors = _centred(shapes, k), np.empty((n_noises, n_shapes), dtype=np.float32)
    for h in range(n_noises):
        for s in range(n_shapes):
            priors[h, s] = max(log_weight[s] + log_prior[h, group[s]], _NONE)
    standing, radius = np.empty((k, looked), dtype=np.float32), np.zeros(looked, dtype=np.float32)
    standing_priors = np.empty((n_noises, looked), dtype=np.float32)
    ahead_of, stands_for = np.zeros((n_noises, looked), dtype=np.float32), np.ones((n_noises, looked), dtype=np.float32)
    for place in range(looked):
        first = place if place < usual else usual + (place - usual) * OCTET
        for i in range(k):
            standing[i, place] = centred[i, first]
        for h in range(n_noises):
            standing_priors[h, place] = priors[h, first]
        if place < usual:
            continue
        for s in range(first, first + OCTET):
            square = 0.0
            for i in range(k):
                square += (centred[i, s] - centred[i, first]) ** 2
            radius[place] = max(radius[place], math.sqrt(square))
        for h in range(n_noises):
            stands_for[h, place] = 0.0
            for s in range(first, first + OCTET):
                ahead_of[h, place] = max(ahead_of[h, place], priors[h, s] - priors[h, first])
                stands_for[h, place] += math.exp(priors[h, s] - priors[h, first])
    reached = np.empty((n_noises, looked), dtype=np.float32)
    q, evidence = np.empty(n_shapes, dtype=np.float32), np.empty(n_shapes, dtype=np.float32)
    most = np.empty(n_shapes, dtype=np.float32)
    rest, some_priors = np.empty((k, n_shapes), dtype=np.float32), np.empty(n_shapes, dtype=np.float32)
    of_octets, whole = np.empty(n_shapes, dtype=np.float32), np.empty(n_octets, dtype=np.int64)
    middle = np.empty(k, dtype=np.float32)
    room = n_noises * n_shapes
    found, found_value, found_for = np.empty(room, dtype=np.int64), np.empty(room), np.empty(room, dtype=np.float32)
    most_kept = 64 * parts * (k + 1)
    kept_ahead, kept_mass = np.empty(most_kept), np.empty(most_kept)
    kept_code = np.empty(most_kept, dtype=np.int64)
    for path in range(n_paths):
        best, least_noise, total = -np.inf, smallest(noise[path]), 0.0
        for i in range(k):
            total += logs[path, i] / k
        for i in range(k):
            middle[i] = logs[path, i] - total
        for h in range(n_noises):
            base[h], _, _ = noise_terms(
                noise[path], tau[h], kappa[h], length[h], drifts[which_drift[h]], log_none, log_one,
                deviating_variance + deviating_factor * tau[h] * tau[h], first_variance, least_noise,
                covariance, inverse, work, sums, projection[h], offset[h], gain[h], far[h],
            )  # fmt: skip
            for i in range(k):
                for s in range(looked):
                    rest[i, s] = middle[i] - standing[i, s]
            _reach(rest, looked, projection[h], offset[h], gain[h], base[h], standing_priors[h], q, evidence, most,
                   reached[h])  # fmt: skip
            top = np.float32(-1e30)
            for s in range(looked):
                top = max(top, reached[h, s])
            best = max(best, top)
        n_found = 0
        for h in range(n_noises):
            for s in range(usual):
                if reached[h, s] >= best - _HOPELESS:
                    found[n_found], found_value[n_found], found_for[n_found] = h * n_shapes + s, reached[h, s], 1.0
                    n_found += 1
            # No shape is farther from what stands for it than the radius, and no deviation is smaller than the scatter.
            per_radius = 1.0 / math.sqrt(tau[h] * tau[h] + least_noise)
            for s in range(usual, looked):
                ahead = base[h] + standing_priors[h, s]
                distance = math.sqrt(2.0 * max(ahead - reached[h, s], 0.0)) - radius[s] * per_radius
                of_octets[s] = ahead + ahead_of[h, s] - 0.5 * max(distance, 0.0) ** 2
            n_whole = 0
            for s in range(usual, looked):
                first = usual + (s - usual) * OCTET
                if of_octets[s] >= best - _LIKELY:
                    whole[n_whole] = first
                    n_whole += 1
                elif reached[h, s] >= best - _HOPELESS:
                    found[n_found], found_value[n_found] = h * n_shapes + first, reached[h, s]
                    found_for[n_found] = stands_for[h, s]
                    n_found += 1
            for number in range(n_whole):
                first, place = whole[number], number * OCTET
                for i in range(k):
                    for s in range(OCTET):
                        rest[i, place + s] = middle[i] - centred[i, first + s]
                for s in range(OCTET):
                    some_priors[place + s] = priors[h, first + s]
            _reach(rest, n_whole * OCTET, projection[h], offset[h], gain[h], base[h], some_priors, q, evidence, most,
                   of_octets)  # fmt: skip
            for number in range(n_whole):
                for s in range(OCTET):
                    value = of_octets[number * OCTET + s]
                    if value >= best - _HOPELESS:
                        found[n_found] = h * n_shapes + whole[number] + s
                        found_value[n_found], found_for[n_found] = value, 1.0
                        n_found += 1
        summed = 0.0
        for number in range(n_found):
            found_for[number] *= math.exp(found_value[number] - best)
            summed += found_for[number]
        # Those of little weight every so many, as `cut` does it, before they are told apart by the level that deviates.
        part = summed / (_TOLD_APART * parts)
        n_kept, passed, summed = 0, 0.5 * part, 0.0
        for number in range(n_found):
            mass = np.float64(found_for[number])
            if mass < part:
                passed += mass
                if passed < part:
                    continue
                passed -= part
                mass = part
            h, s = found[number] // n_shapes, found[number] % n_shapes
            ahead = np.float64(centred[k, s])
            for i in range(k):
                one[i] = middle[i] - centred[i, s]
            top = level_terms(one, ahead, projection[h], offset[h], gain[h], far[h], masses, aheads)
            for i in range(k + 1):
                if masses[i] > top - _HOPELESS:
                    kept_ahead[n_kept], kept_mass[n_kept] = aheads[i], mass * math.exp(masses[i] - top)
                    kept_code[n_kept] = found[number] * (k + 1) + i
                    summed += kept_mass[n_kept]
                    n_kept += 1
        count[path] = cut(
            kept_ahead, kept_mass, kept_code, n_kept, summed, parts, n_shapes, k, law[path], setting[path],
            level[path], weight[path],
        )  # fmt: skip


@kernel
def _centred(shapes, k):  # type: ignore[no-untyped-def]
    """Shapes about the mean of their logarithms at the levels."""
    found = np.empty(shapes.shape, dtype=np.float32)
    for s in range(shapes.shape[1]):
        mean = 0.0
        for i in range(k):
            mean += shapes[i, s] / k
        for i in range(k + 1):
            found[i, s] = shapes[i, s] - mean
    return found


@kernel
def _reach(rest, size, projection, offset, gain, base, priors, q, evidence, most, reached):  # type: ignore[no-untyped-def]
    """Logarithm of the largest weight that each of some shapes has, whichever level deviates.

    Parameters
    ----------
    rest : (k, >= size) float
        What they leave at the levels.
    size : int
    projection, offset, gain, base : float
        See `perf_laws.posterior.evidence_kernels.noise_terms`.
    priors : (>= size,) float
    q, evidence, most : (>= size,) float
        Written, for what follows.
    reached : (>= size,) float
        Written.
    """
    k, half = len(offset), np.float32(0.5)
    for s in range(size):
        evidence[s] = np.float32(0.0)
        most[s] = np.float32(0.0)
    for i in range(k):
        first = np.float32(projection[i, 0])
        for s in range(size):
            q[s] = first * rest[0, s]
        for j in range(1, k - 1, 2):
            factor, following = np.float32(projection[i, j]), np.float32(projection[i, j + 1])
            for s in range(size):
                q[s] += factor * rest[j, s] + following * rest[j + 1, s]
        last = np.float32(projection[i, k - 1]) if k % 2 == 0 else np.float32(0.0)
        more, times = np.float32(offset[i]), np.float32(gain[i])
        for s in range(size):
            value = q[s] + last * rest[k - 1, s]
            evidence[s] += value * rest[i, s]
            most[s] = max(most[s], more + times * value * value)
    constant = np.float32(base)
    for s in range(size):
        reached[s] = constant + priors[s] - half * evidence[s] + most[s]
