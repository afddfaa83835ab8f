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
_TOGETHER = 32  # numbers, in several registers of the processor
_NONE = -1e30  # logarithm of a weight
_TOLD_APART = 4  # times as many combinations as parts are told apart by the level that deviates


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
    looked = usual + (n_shapes - usual) // OCTET  # with each noise
    covariance, inverse, work = np.empty((k, k)), np.empty((k, k)), np.empty((k, k))
    sums, projection, base = np.empty(k), np.empty((n_noises, k, k)), np.empty(n_noises)
    offset, gain, far = np.empty((n_noises, k)), np.empty((n_noises, k)), np.empty((n_noises, k))
    log_none, log_one = math.log(1.0 - deviates), math.log(deviates / k)
    # Single precision does: what is left at levels is small where it matters.
    centred, priors = _centred(shapes, k), np.empty((n_noises, n_shapes), dtype=np.float32)
    for h in range(n_noises):
        for s in range(n_shapes):
            priors[h, s] = max(log_weight[s] + log_prior[h, group[s]], _NONE)
    standing, radius, standing_priors, ahead_of, stands_for = _standing(centred, priors, usual, k)
    wide, room = standing.shape[1], n_shapes + _TOGETHER
    rest, reached = np.empty((k, wide), dtype=np.float32), np.empty((n_noises, wide), dtype=np.float32)
    whole_rest, whole_priors = np.zeros((k, room), dtype=np.float32), np.zeros(room, dtype=np.float32)
    q, evidence = np.empty(room, dtype=np.float32), np.empty(room, dtype=np.float32)
    most, value = np.empty(room, dtype=np.float32), np.empty(room, dtype=np.float32)
    middle, whole = np.empty(k, dtype=np.float32), np.empty(looked, dtype=np.int64)
    most_combinations = n_noises * n_shapes
    combinations, mass = np.empty(most_combinations, dtype=np.int64), np.empty(most_combinations, dtype=np.float32)
    most_kept = 2 * (_TOLD_APART * parts + 1) * (k + 1)
    kept_ahead, kept_mass = np.empty(most_kept), np.empty(most_kept)
    kept_code = np.empty(most_kept, dtype=np.int64)
    for path in range(n_paths):
        best, least_noise, total = np.float32(_NONE), smallest(noise[path]), 0.0
        for i in range(k):
            total += logs[path, i] / k
        for i in range(k):
            middle[i] = logs[path, i] - total
            for s in range(wide):
                rest[i, s] = middle[i] - standing[i, s]
        for h in range(n_noises):
            base[h], _, _ = noise_terms(
                noise[path], tau[h], kappa[h], length[h], drifts[which_drift[h]], log_none, log_one,
                deviating_variance + deviating_factor * tau[h] * tau[h], first_variance, least_noise,
                covariance, inverse, work, sums, projection[h], offset[h], gain[h], far[h],
            )  # fmt: skip
            best = max(best, _reach(rest, wide, projection[h], offset[h], gain[h], base[h], standing_priors[h], q,
                                    evidence, most, reached[h]))  # fmt: skip
        n_combinations, likely, hopeless = 0, best - np.float32(_LIKELY), best - np.float32(_HOPELESS)
        for h in range(n_noises):
            for s in range(usual):
                if reached[h, s] >= hopeless:
                    combinations[n_combinations], mass[n_combinations] = h * n_shapes + s, reached[h, s]
                    n_combinations += 1
            _bound(reached[h], base[h], standing_priors[h], ahead_of[h], radius,
                   1.0 / math.sqrt(tau[h] * tau[h] + least_noise), value)  # fmt: skip
            n_whole = 0
            for s in range(usual, looked):
                if value[s] >= likely:
                    whole[n_whole] = usual + (s - usual) * OCTET
                    n_whole += 1
                elif reached[h, s] >= hopeless:
                    combinations[n_combinations] = h * n_shapes + usual + (s - usual) * OCTET
                    mass[n_combinations] = reached[h, s] + stands_for[h, s]
                    n_combinations += 1
            if not n_whole:
                continue
            for number in range(n_whole):
                first, place = whole[number], number * OCTET
                for s in range(OCTET):
                    whole_priors[place + s] = priors[h, first + s]
                for i in range(k):
                    for s in range(OCTET):
                        whole_rest[i, place + s] = middle[i] - centred[i, first + s]
            _reach(whole_rest, _filled(n_whole * OCTET), projection[h], offset[h], gain[h], base[h], whole_priors, q,
                   evidence, most, value)  # fmt: skip
            for number in range(n_whole):
                code, place = h * n_shapes + whole[number], number * OCTET
                for s in range(OCTET):
                    log_mass = value[place + s]
                    combinations[n_combinations], mass[n_combinations] = code + s, log_mass
                    n_combinations += log_mass >= hopeless
        summed = np.float64(_weigh(mass, n_combinations, best))
        # Those of little weight every so many, as `cut` does it, before they are told apart by the level that deviates.
        part = summed / (_TOLD_APART * parts)
        n_kept, passed, kept = 0, 0.5 * part, 0.0
        for number in range(n_combinations):
            share = np.float64(mass[number])
            if share < part:
                passed += share
                if passed < part:
                    continue
                passed -= part
                share = part
            if n_kept + k + 1 > most_kept:
                break
            h = combinations[number] // n_shapes
            n_kept = _tell_apart(
                middle, centred, combinations[number] - h * n_shapes, share, projection[h], offset[h], gain[h], far[h],
                kept_ahead, kept_mass, kept_code, combinations[number], n_kept,
            )  # fmt: skip
        for number in range(n_kept):
            kept += kept_mass[number]
        count[path] = cut(
            kept_ahead, kept_mass, kept_code, n_kept, kept, parts, n_shapes, k, law[path], setting[path],
            level[path], weight[path],
        )  # fmt: skip


@kernel
def _filled(count):  # type: ignore[no-untyped-def]
    """Next multiple of what is worked out together: what is left over of loops takes longer than it."""
    return -(-count // _TOGETHER) * _TOGETHER


@kernel
def _standing(centred, priors, usual, k):  # type: ignore[no-untyped-def]
    """What is looked at with every noise: usual shapes, and the first of each octet.

    Returns
    -------
    (k, U) float
        These shapes at the levels; beyond the last of them, without any weight, up to a width that is worked out fast.
    (U,) float
        How far the farthest of the octet is from them.
    (H, U) float, (H, U) float, (H, U) float
        Logarithms of their weights; by how much the largest of the octet is ahead; by how much all of it together.
    """
    n_noises, n_shapes = priors.shape
    looked = usual + (n_shapes - usual) // OCTET
    wide = _filled(looked)
    standing, radius = np.zeros((k, wide), dtype=np.float32), np.zeros(wide, dtype=np.float32)
    standing_priors, ahead_of = (
        np.full((n_noises, wide), _NONE, np.float32),
        np.zeros((n_noises, wide), dtype=np.float32),
    )
    stands_for = np.zeros((n_noises, wide), dtype=np.float32)
    for place in range(looked):
        size = 1 if place < usual else OCTET
        first = place if place < usual else usual + (place - usual) * OCTET
        for i in range(k):
            standing[i, place] = centred[i, first]
        for h in range(n_noises):
            standing_priors[h, place] = priors[h, first]
            total = 1.0
            for s in range(first + 1, first + size):
                ahead_of[h, place] = max(ahead_of[h, place], priors[h, s] - priors[h, first])
                total += math.exp(priors[h, s] - priors[h, first])
            stands_for[h, place] = math.log(total)
        for s in range(first + 1, first + size):
            square = 0.0
            for i in range(k):
                square += (centred[i, s] - centred[i, first]) ** 2
            radius[place] = max(radius[place], math.sqrt(square))
    return standing, radius, standing_priors, ahead_of, stands_for


@kernel
def _bound(reached, base, priors, ahead_of, radius, per_radius, bound):  # type: ignore[no-untyped-def]
    """Write what no shape of an octet exceeds.

    None is farther from the one that stands for it than the radius, and no deviation is smaller than the scatter.

    Parameters
    ----------
    reached, priors, ahead_of, radius : (U,) float
        See `_standing`; what the one reached.
    base, per_radius : float
        What a shape that leaves nothing reaches, and one over the scatter of a level.
    bound : (>= U,) float
    """
    constant, zero, half = np.float32(base), np.float32(0.0), np.float32(0.5)
    scale, two = np.float32(per_radius), np.float32(2.0)
    for s in range(len(reached)):
        ahead = constant + priors[s]
        distance = max(np.sqrt(two * max(ahead - reached[s], zero)) - radius[s] * scale, zero)
        bound[s] = ahead + ahead_of[s] - half * distance * distance


@kernel
def _weigh(logs, count, best):  # type: ignore[no-untyped-def]
    """Turn logarithms of weights into weights relative to the best; their sum.

    The exponential is ``(1 + y + y^2 / 2)^1024`` of a 1024th: to 0.04 % up to 12, and without a branch.
    """
    summed, one, half, scale = 0.0, np.float32(1.0), np.float32(0.5), np.float32(1.0 / 1024.0)
    for number in range(count):
        part = (logs[number] - best) * scale
        value = one + part + half * part * part
        for _ in range(10):
            value *= value
        logs[number] = value
    for number in range(count):
        summed += logs[number]
    return summed


@kernel
def _tell_apart(  # type: ignore[no-untyped-def]
    middle, centred, shape, mass, projection, offset, gain, far, kept_ahead, kept_mass, kept_code, code, n_kept
):  # fmt: skip
    """Put a combination among those that are kept, for no level and for every level that may deviate; how many are."""
    k = len(middle)
    rest, masses, aheads = np.empty(k), np.zeros(k + 1), np.empty(k + 1)
    for i in range(k):
        rest[i] = middle[i] - centred[i, shape]
    top = level_terms(rest, np.float64(centred[k, shape]), projection, offset, gain, far, masses, aheads)
    for i in range(k + 1):
        if masses[i] > top - _HOPELESS:
            kept_ahead[n_kept], kept_mass[n_kept] = aheads[i], mass * math.exp(masses[i] - top)
            kept_code[n_kept] = code * (k + 1) + i
            n_kept += 1
    return n_kept


@kernel
def _centred(shapes, k):  # type: ignore[no-untyped-def]
    """Shapes about the mean of their logarithms at the levels."""
    centred = np.empty(shapes.shape, dtype=np.float32)
    for s in range(shapes.shape[1]):
        mean = 0.0
        for i in range(k):
            mean += shapes[i, s] / k
        for i in range(k + 1):
            centred[i, s] = shapes[i, s] - mean
    return centred


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

    Returns
    -------
    float
        The largest.
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
    top = np.float32(_NONE)
    for s in range(size):
        reached[s] = constant + priors[s] - half * evidence[s] + most[s]
    for s in range(size):
        top = max(top, reached[s])
    return top
