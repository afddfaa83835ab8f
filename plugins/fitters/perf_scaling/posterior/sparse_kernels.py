"""Compiled weighing of one parameter for very many paths: one shape stands for those that are near it.

Shapes are put together in octets of the nearest (`perf_scaling.posterior.octets`). Of each the one in the middle is
looked
at with every noise, and where one of the others could explain a path well, all of them are: none is farther off than
the radius of the octet. Elsewhere the one counts for all. Shapes that are usual are always looked at.
"""

from __future__ import annotations

import math

import numpy as np

from perf_scaling.posterior.evidence_kernels import cut, even_noise_terms, level_terms, noise_terms, smallest
from perf_scaling.posterior.octets import OCTET
from perfcore.base.kernels import kernel

# An octet is looked at whole where one of it may be within the first logarithm of the best; what is beyond the second
# is left out.
_LIKELY, _HOPELESS = 6.0, 12.0
_FAINT = 6.0  # a level that deviates is left out where it adds less, as a logarithm, than the one that adds most
_TOGETHER = 32  # numbers, in several registers of the processor
_NONE = -1e30  # logarithm of a weight
_IN_REGISTERS = 5  # levels
_TOLD_APART = 4  # times as many combinations as parts are told apart by the level that deviates


@kernel
def weigh_sparsely(  # type: ignore[no-untyped-def]
    logs, noise, shapes, log_weight, group, usual, log_prior, tau, kappa, length, which_drift, drifts, values, vectors,
    beyond, deviates, deviating_variance, deviating_factor, first_variance, parts, law, setting, level, weight, count,
):  # fmt: skip
    """Components of each path, as `perf_scaling.posterior.weigh_kernels.weigh_shapes` writes them; fewer.

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
    values, vectors, beyond : (D, k - 1), (D, k, k - 1) and (D, k - 1) float
        Of `drifts`; see `perf_scaling.posterior.covariances.spectrum`.
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
    log_none, log_one, none = math.log(1.0 - deviates), math.log(deviates / k), np.float32(_NONE)
    # Single precision does: what is left at levels is small where it matters.
    centred, priors = _centred(shapes, k), np.empty((n_noises, n_shapes), dtype=np.float32)
    for h in range(n_noises):
        for s in range(n_shapes):
            priors[h, s] = max(log_weight[s] + log_prior[h, group[s]], _NONE)
    standing, radius, standing_priors, ahead_of, stands_for = _standing(centred, priors, usual, k)
    wide = standing.shape[1]
    rest, reached = np.empty((k, wide), dtype=np.float32), np.empty((n_noises, wide), dtype=np.float32)
    every_rest = np.empty((k, n_shapes), dtype=np.float32)
    work_of_reach = np.empty((2, max(wide, n_shapes)), dtype=np.float32)
    value, middle = np.empty(wide, dtype=np.float32), np.empty(k, dtype=np.float32)
    whole = np.empty(looked + 1, dtype=np.int64)
    # Logarithms of weights in octets: of each noise those that are looked at with every noise, then whole octets.
    mass = np.empty(n_noises * (wide + n_shapes), dtype=np.float32)
    mass_of_octet = np.empty(len(mass) // OCTET, dtype=np.float32)
    code_of_octet = np.empty((len(mass_of_octet), 2), dtype=np.int64)  # of the first, and the step to the next
    most_kept = 2 * (_TOLD_APART * parts + 1) * (k + 1)
    kept_ahead, kept_mass = np.empty(most_kept), np.empty(most_kept)
    kept_code = np.empty(most_kept, dtype=np.int64)
    left, masses, aheads = np.empty(k), np.zeros(k + 1), np.empty(k + 1)
    for path in range(n_paths):
        best, least_noise, total = none, smallest(noise[path]), 0.0
        for i in range(k):
            total += logs[path, i] / k
        for i in range(k):
            middle[i] = logs[path, i] - total
        _leave(middle, standing, rest)
        _leave(middle, centred, every_rest)
        is_even = True
        for i in range(k):
            is_even &= noise[path, i] == least_noise
        for h in range(n_noises):
            drift, extra = which_drift[h], deviating_variance + deviating_factor * tau[h] * tau[h]
            if is_even:
                base[h] = even_noise_terms(
                    tau[h] * tau[h] + least_noise, kappa[h], length[h], values[drift], vectors[drift], beyond[drift],
                    log_none, log_one, extra, first_variance, projection[h], offset[h], gain[h], far[h],
                )  # fmt: skip
            else:
                base[h], _, _ = noise_terms(
                    noise[path], tau[h], kappa[h], length[h], drifts[drift], log_none, log_one, extra, first_variance,
                    least_noise, covariance, inverse, work, sums, projection[h], offset[h], gain[h], far[h],
                )  # fmt: skip
            _reach(rest, 0, wide, projection[h], offset[h], gain[h], base[h], standing_priors[h], work_of_reach,
                   reached[h])  # fmt: skip
            best = max(best, _largest(reached[h]))
        filled, likely, hopeless = 0, best - np.float32(_LIKELY), best - np.float32(_HOPELESS)
        for h in range(n_noises):
            top = _bound(reached[h], base[h], standing_priors[h], ahead_of[h], radius,
                         1.0 / math.sqrt(tau[h] * tau[h] + least_noise), value)  # fmt: skip
            if top < hopeless:
                continue
            n_whole = 0
            if top >= likely:
                for s in range(usual, looked):  # which are is hard to foretell, so that nothing branches on it
                    whole[n_whole] = s - usual
                    n_whole += value[s] >= likely
            for s in range(wide):
                mass[filled + s] = reached[h, s] + stands_for[h, s] if reached[h, s] >= hopeless else none
            for number in range(n_whole):
                mass[filled + usual + whole[number]] = none
            for s in range(0, wide, OCTET):
                octet = (filled + s) // OCTET
                code_of_octet[octet, 0] = h * n_shapes + (s if s < usual else usual + (s - usual) * OCTET)
                code_of_octet[octet, 1] = 1 if s < usual else OCTET
            filled += wide
            number = 0
            while number < n_whole:  # octets next to each other at once
                begin = number
                while number < n_whole and whole[number] == whole[begin] + number - begin:
                    octet = filled // OCTET + number - begin
                    code_of_octet[octet, 0], code_of_octet[octet, 1] = h * n_shapes + usual + whole[number] * OCTET, 1
                    number += 1
                size = (number - begin) * OCTET
                _reach(every_rest, usual + whole[begin] * OCTET, size, projection[h], offset[h], gain[h], base[h],
                       priors[h], work_of_reach, mass[filled : filled + size])  # fmt: skip
                filled += size
        summed = np.float64(_weigh(mass[:filled], best, mass_of_octet))
        # Those of little weight every so many, as `cut` does it, before they are told apart by the level that deviates.
        part = summed / (_TOLD_APART * parts)
        n_kept, passed, kept = 0, 0.5 * part, 0.0
        for octet in range(filled // OCTET):
            if passed + mass_of_octet[octet] < part:
                passed += mass_of_octet[octet]
                continue
            for place in range(OCTET):
                share = np.float64(mass[octet * OCTET + place])
                if share < part:
                    passed += share
                    if passed < part:
                        continue
                    passed -= part
                    share = part
                if n_kept + k + 1 > most_kept:
                    break
                code = code_of_octet[octet, 0] + place * code_of_octet[octet, 1]
                h, shape = code // n_shapes, code % n_shapes
                for i in range(k):
                    left[i] = middle[i] - centred[i, shape]
                top_level = level_terms(
                    left, np.float64(centred[k, shape]), projection[h], offset[h], gain[h], far[h], masses, aheads
                )
                for i in range(k + 1):
                    if masses[i] > top_level - _FAINT:
                        kept_ahead[n_kept], kept_mass[n_kept] = aheads[i], share * math.exp(masses[i] - top_level)
                        kept_code[n_kept] = code * (k + 1) + i
                        n_kept += 1
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
    """What is looked at with every noise: usual shapes, and the first of each octet."""
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
    """Write what no shape of an octet exceeds; the largest."""
    constant, zero, half = np.float32(base), np.float32(0.0), np.float32(0.5)
    scale, two = np.float32(per_radius), np.float32(2.0)
    for s in range(len(reached)):
        ahead = constant + priors[s]
        distance = max(np.sqrt(two * max(ahead - reached[s], zero)) - radius[s] * scale, zero)
        bound[s] = ahead + ahead_of[s] - half * distance * distance
    return _largest(bound)


@kernel
def _weigh(logs, best, of_octet):  # type: ignore[no-untyped-def]
    """Turn logarithms of weights into weights relative to the best, 0 where they are hopeless; their sum."""
    summed, one, half, scale = 0.0, np.float32(1.0), np.float32(0.5), np.float32(1.0 / 1024.0)
    zero, hopeless = np.float32(0.0), np.float32(-_HOPELESS / 1024.0)
    for number in range(len(logs)):
        part = (logs[number] - best) * scale
        value = one + part + half * part * part
        for _ in range(10):
            value *= value
        logs[number] = value if part >= hopeless else zero
    for octet in range(len(logs) // OCTET):
        total = zero
        for number in range(octet * OCTET, (octet + 1) * OCTET):
            total += logs[number]
        of_octet[octet] = total
        summed += np.float64(total)
    return summed


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
def _leave(middle, shapes, rest):  # type: ignore[no-untyped-def]
    """Write what shapes leave at the levels: at the last, and at the others beside that; at every level added up, 0."""
    k = len(middle)
    for i in range(k):
        for s in range(shapes.shape[1]):
            rest[i, s] = middle[i] - shapes[i, s]
    for i in range(k - 1):
        for s in range(shapes.shape[1]):
            rest[i, s] -= rest[k - 1, s]


@kernel
def _reach(rest, first, size, projection, offset, gain, base, priors, work, reached):  # type: ignore[no-untyped-def]
    """Logarithm of the largest weight that each of some shapes has, whichever level deviates."""
    k, half, zero = len(offset), np.float32(0.5), np.float32(0.0)
    if k <= _IN_REGISTERS:
        _reach_of_few(rest, first, size, projection, offset, gain, base, priors, reached)
        return
    evidence, most = work[0, :size], work[1, :size]
    q, prior = reached[:size], priors[first : first + size]
    for s in range(size):
        evidence[s] = zero
        most[s] = zero
    for i in range(k):
        for s in range(size):
            q[s] = zero
        for j in range(k - 1):
            factor, row = np.float32(projection[i, j]), rest[j, first : first + size]
            for s in range(size):
                q[s] += factor * row[s]
        more, times = np.float32(offset[i]), np.float32(gain[i])
        if i < k - 1:
            row = rest[i, first : first + size]
            for s in range(size):
                evidence[s] += q[s] * row[s]
        for s in range(size):
            most[s] = max(most[s], more + times * q[s] * q[s])
    constant = np.float32(base)
    for s in range(size):
        reached[s] = constant + prior[s] - half * evidence[s] + most[s]


@kernel
def _reach_of_few(rest, first, size, projection, offset, gain, base, priors, reached):  # type: ignore[no-untyped-def]
    """As `_reach`, of at most five levels: all that is worked out of a shape stays in registers of the processor."""
    k, zero, half, none = len(offset), np.float32(0.0), np.float32(0.5), np.float32(_NONE)
    last = k - 1
    p00, more0, times0 = np.float32(projection[0, 0]), np.float32(offset[0]), np.float32(gain[0])
    more4, times4 = np.float32(offset[last]), np.float32(gain[last])
    p01 = p02 = p03 = p11 = p12 = p13 = p22 = p23 = p33 = times1 = times2 = times3 = zero
    more1 = more2 = more3 = none
    if last > 1:
        p01, p11 = np.float32(projection[0, 1]), np.float32(projection[1, 1])
        more1, times1 = np.float32(offset[1]), np.float32(gain[1])
    if last > 2:
        p02, p12 = np.float32(projection[0, 2]), np.float32(projection[1, 2])
        p22, more2, times2 = np.float32(projection[2, 2]), np.float32(offset[2]), np.float32(gain[2])
    if last > 3:
        p03, p13 = np.float32(projection[0, 3]), np.float32(projection[1, 3])
        p23, p33 = np.float32(projection[2, 3]), np.float32(projection[3, 3])
        more3, times3 = np.float32(offset[3]), np.float32(gain[3])
    a, b = rest[0, first : first + size], rest[min(1, last), first : first + size]
    c, d = rest[min(2, last), first : first + size], rest[min(3, last), first : first + size]
    prior, constant = priors[first : first + size], np.float32(base)
    for s in range(size):
        q0 = p00 * a[s] + p01 * b[s] + p02 * c[s] + p03 * d[s]
        q1 = p01 * a[s] + p11 * b[s] + p12 * c[s] + p13 * d[s]
        q2 = p02 * a[s] + p12 * b[s] + p22 * c[s] + p23 * d[s]
        q3 = p03 * a[s] + p13 * b[s] + p23 * c[s] + p33 * d[s]
        q4 = q0 + q1 + q2 + q3
        evidence = q0 * a[s] + q1 * b[s] + q2 * c[s] + q3 * d[s]
        most = max(zero, more0 + times0 * q0 * q0)
        most = max(most, more1 + times1 * q1 * q1)
        most = max(most, more2 + times2 * q2 * q2)
        most = max(most, more3 + times3 * q3 * q3)
        most = max(most, more4 + times4 * q4 * q4)
        reached[s] = constant + prior[s] - half * evidence + most


@kernel
def _largest(array):  # type: ignore[no-untyped-def]
    largest = np.float32(_NONE)
    for value in array:
        largest = max(largest, value)
    return largest
