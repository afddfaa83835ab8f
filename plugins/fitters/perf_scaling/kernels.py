"""Compiled evidence of shapes of one parameter, and quantiles of mixtures of normal distributions."""

from __future__ import annotations

import math

import numpy as np

from perf_scaling.array_form import (
    ABOVE,
    BINS,
    CLOSE,
    ENOUGH,
    FARTHEST,
    FINER,
    HOPELESS,
    ONE_OF,
    TAIL,
    UNDER,
    UNLIKELY,
)  # fmt: skip
from perf_statistics.kernels import kernel

_ROOT_2PI = math.sqrt(2.0 * math.pi)
_TILE = 128  # shapes that are looked at together; next to each other they are alike
_TOGETHER = 4  # paths of the same noise that are: what they reach is a megabyte


@kernel
def half_exponential(square):  # type: ignore[no-untyped-def]
    """``exp(-square / 2)`` for squares of 0 to 36 without a branch, so that several are worked out at once.

    Taylor's series of a 64th of it, squared six times: to 3e-14.
    """
    y = square * (-0.5 / 64.0)
    value = 1.0 + y * (1.0 / 9.0) * (1.0 + y * (1.0 / 10.0) * (1.0 + y * (1.0 / 11.0)))
    value = 1.0 + y * (1.0 / 6.0) * (1.0 + y * (1.0 / 7.0) * (1.0 + y * (1.0 / 8.0) * value))
    value = 1.0 + y * (1.0 / 3.0) * (1.0 + y * (1.0 / 4.0) * (1.0 + y * (1.0 / 5.0) * value))
    value = 1.0 + y * (1.0 + y * (1.0 / 2.0) * value)
    value *= value
    value *= value
    value *= value
    value *= value
    value *= value
    return value * value


@kernel
def _cut(  # type: ignore[no-untyped-def]
    ahead, mass, code, n_kept, summed, parts, n_shapes, k, bins, bin_of, ordered, law, setting, level, weight
):  # fmt: skip
    """Write the components of one path: those of little weight every so many, in the order of what they predict."""
    lowest, highest = _extremes(ahead[:n_kept])
    per_bin = (BINS - 1) / max(highest - lowest, 1e-300)
    bins[:] = 0
    for number in range(n_kept):
        bin_of[number] = int((ahead[number] - lowest) * per_bin)
    for number in range(n_kept):
        bins[bin_of[number] + 1] += 1
    for bin_number in range(BINS):
        bins[bin_number + 1] += bins[bin_number]
    for number in range(n_kept):
        ordered[bins[bin_of[number]]] = number
        bins[bin_of[number]] += 1
    per_mass, whole, finer = 1.0 / summed, 1.0 / parts, 1.0 / parts / FINER
    filled, passed, cumulated = 0, 0.5 * finer, 0.0
    for turn in range(n_kept):
        stays = mass[ordered[turn]] * per_mass
        cumulated += stays
        part = finer if min(cumulated, 1.0 - cumulated) < TAIL else whole
        if stays < part:
            passed += stays
            if passed < part:
                continue
            passed -= part
            stays = part
        number = code[ordered[turn]]
        level[filled] = number % (k + 1) - 1
        number //= k + 1
        law[filled] = number % n_shapes
        setting[filled] = number // n_shapes
        weight[filled] = stays
        filled += 1
    return filled


@kernel
def _longer(array):  # type: ignore[no-untyped-def]
    """Return the same numbers with room for as many more."""
    longer = np.empty(2 * len(array), array.dtype)
    for k in range(len(array)):
        longer[k] = array[k]
    return longer


@kernel
def _extremes(array):  # type: ignore[no-untyped-def]
    """Return the smallest and the largest number."""
    low_0 = low_1 = low_2 = low_3 = high_0 = high_1 = high_2 = high_3 = array[0]
    whole = len(array) - len(array) % 4
    for s in range(0, whole, 4):  # four by four: each comparison waits for the one before it
        low_0, high_0 = min(low_0, array[s]), max(high_0, array[s])
        low_1, high_1 = min(low_1, array[s + 1]), max(high_1, array[s + 1])
        low_2, high_2 = min(low_2, array[s + 2]), max(high_2, array[s + 2])
        low_3, high_3 = min(low_3, array[s + 3]), max(high_3, array[s + 3])
    for value in array[whole:]:
        low_0, high_0 = min(low_0, value), max(high_0, value)
    return min(low_0, low_1, low_2, low_3), max(high_0, high_1, high_2, high_3)


@kernel
def weigh_shapes(  # type: ignore[no-untyped-def]
    logs, noise_of, base, widest, projections, offset, gain, far, centred, beyond, log_priors, parts,
    law, setting, level, weight, count,
):  # fmt: skip
    """Write the components of each path; see `array_form.weigh_shapes`.

    Paths behind each other that have the same noise are weighed together, a few at a time: P h of a noise and a shape
    is worked out once, so that of each path only P m - P h is left.
    """
    n_paths, k = logs.shape
    n_noises, n_shapes = log_priors.shape
    n_tiles, n_padded = (n_shapes + _TILE - 1) // _TILE, 3 * ((k + 2) // 3)
    # Within a tile those of which one of so many may count are next to each other.
    shape_at, at_shape = np.empty(n_shapes, dtype=np.int64), np.empty(n_shapes, dtype=np.int64)
    begins, filled = np.empty((n_tiles, ONE_OF + 1), dtype=np.int64), 0
    for tile in range(n_tiles):
        for first in range(ONE_OF):
            begins[tile, first] = filled
            for s in range(tile * _TILE + first, min((tile + 1) * _TILE, n_shapes), ONE_OF):
                shape_at[filled], at_shape[s] = s, filled
                filled += 1
        begins[tile, ONE_OF] = filled
    centred_at, log_priors_at = np.empty((k, n_shapes)), np.empty((n_noises, n_shapes))
    for at in range(n_shapes):
        for i in range(k):
            centred_at[i, at] = centred[i, shape_at[at]]
        for h in range(n_noises):
            log_priors_at[h, at] = log_priors[h, shape_at[at]]
    residuals = np.zeros((_TOGETHER, n_padded, n_shapes))
    squares, farthest, at_mean = np.empty(n_shapes), np.empty(n_shapes), np.zeros(n_padded)
    more, times = np.full((n_noises, n_padded), -np.inf), np.zeros((n_noises, n_padded))
    mean, least_squares = np.empty(_TOGETHER), np.empty((_TOGETHER, n_tiles))
    least_without, bound = np.empty((_TOGETHER, n_tiles)), np.empty(_TOGETHER)
    projected_shapes, evidence, most = np.zeros((n_padded, _TILE)), np.empty(_TILE), np.empty(_TILE)
    reached, reached_most = np.empty((_TOGETHER, n_noises, n_shapes)), np.empty((_TOGETHER, n_noises, n_tiles))
    best, centre, prior_most = np.empty(_TOGETHER), np.empty((_TOGETHER, k)), np.empty((n_noises, n_tiles))
    for h in range(n_noises):
        for tile in range(n_tiles):
            prior_most[h, tile] = _extremes(log_priors[h, tile * _TILE : (tile + 1) * _TILE])[1]
    limits, of_limits = np.empty(n_shapes + n_noises), 0
    kept_ahead, kept_mass = np.empty(4096), np.empty(4096)
    kept_code, bins = np.empty(4096, dtype=np.int64), np.empty(BINS + 1, dtype=np.int32)
    bin_of, ordered = np.empty(4096, dtype=np.int32), np.empty(4096, dtype=np.int32)
    chosen, aheads = np.empty(n_shapes + 1, dtype=np.int64), np.empty((k + 1, n_shapes))
    own, q, masses = np.empty((k, n_shapes)), np.empty(n_shapes), np.empty((k + 1, n_shapes))
    reached_by, counts_for = np.empty(n_shapes), np.empty(n_shapes)
    begin_path = 0
    while begin_path < n_paths:
        together = 1
        while together < _TOGETHER and begin_path + together < n_paths:
            if noise_of[begin_path + together] != noise_of[begin_path]:
                break
            together += 1
        n = noise_of[begin_path]
        for h in range(n_noises):
            for i in range(k):
                more[h, i], times[h, i] = offset[n, h, i], gain[n, h, i]
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
                    value = centre[g, i] - centred_at[i, s]
                    residuals[g, i, s] = value
                    squares[s] += value * value
                    farthest[s] = max(farthest[s], value * value)
            for tile in range(n_tiles):
                begin, end = tile * _TILE, min((tile + 1) * _TILE, n_shapes)
                least_squares[g, tile] = _extremes(squares[begin:end])[0]
                for s in range(begin, end):
                    # What is left without the level that is farthest off, about the mean of the others.
                    squares[s] -= farthest[s] * k / max(k - 1, 1)
                least_without[g, tile] = _extremes(squares[begin:end])[0]
        for h in range(n_noises):
            most_more = _extremes(more[h])[1]
            for tile in range(n_tiles):
                any_whole, any_sampled = False, False
                for g in range(together):
                    reached_most[g, h, tile] = -np.inf
                    # At most this, and if one level deviates.
                    bound[g] = -0.5 * least_squares[g, tile] / widest[n, h]
                    bound[g] = max(bound[g], most_more - 0.5 * least_without[g, tile] / widest[n, h])
                    bound[g] += base[n, h] + prior_most[h, tile] - best[g]
                    any_whole = any_whole or bound[g] >= -UNLIKELY
                    any_sampled = any_sampled or bound[g] >= -HOPELESS
                if not any_sampled:
                    continue
                # Of the unlikely only one of so many can count.
                first = begins[tile, 0 if any_whole else -h % ONE_OF]
                end = begins[tile, ONE_OF if any_whole else -h % ONE_OF + 1]
                for i in range(k):
                    projected = projected_shapes[i, : end - first]
                    projected[:] = 0.0
                    for j in range(k):
                        factor, own_centred = projections[n, h, i, j], centred_at[j, first:end]
                        for s in range(end - first):
                            projected[s] += factor * own_centred[s]
                for g in range(together):
                    begin, end = begins[tile, 0], begins[tile, ONE_OF]
                    if bound[g] < -UNLIKELY:
                        begin, end = begins[tile, -h % ONE_OF], begins[tile, -h % ONE_OF + 1]
                    size, shift = end - begin, begin - first
                    if bound[g] < -HOPELESS or not size:
                        continue
                    for s in range(size):
                        evidence[s] = 0.0
                        most[s] = 0.0
                    for i in range(k):
                        at_mean[i] = 0.0
                        for j in range(k):
                            at_mean[i] += projections[n, h, i, j] * centre[g, j]
                    for i in range(0, n_padded, 3):  # three levels at a time: each passes over all shapes
                        mean_0, mean_1, mean_2 = at_mean[i], at_mean[i + 1], at_mean[i + 2]
                        more_0, more_1, more_2 = more[h, i], more[h, i + 1], more[h, i + 2]
                        times_0, times_1, times_2 = times[h, i], times[h, i + 1], times[h, i + 2]
                        own_0, own_1 = residuals[g, i, begin:end], residuals[g, i + 1, begin:end]
                        own_2, shape_0 = residuals[g, i + 2, begin:end], projected_shapes[i, shift:]
                        shape_1, shape_2 = projected_shapes[i + 1, shift:], projected_shapes[i + 2, shift:]
                        for s in range(size):
                            q_0, q_1, q_2 = mean_0 - shape_0[s], mean_1 - shape_1[s], mean_2 - shape_2[s]
                            evidence[s] += q_0 * own_0[s] + q_1 * own_1[s] + q_2 * own_2[s]
                            of_0, of_1 = more_0 + times_0 * q_0 * q_0, more_1 + times_1 * q_1 * q_1
                            most[s] = max(most[s], of_0, of_1, more_2 + times_2 * q_2 * q_2)
                    own_prior = log_priors_at[h, begin:end]
                    for s in range(size):
                        evidence[s] = base[n, h] + own_prior[s] - 0.5 * evidence[s] + most[s]
                    top = _extremes(evidence[:size])[1]
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
                        for value in reached[g, h, tile * _TILE : (tile + 1) * _TILE]:
                            n_likely += value >= best[g] - UNLIKELY
            of_likely = 1 + n_likely // ENOUGH
            log_likely, log_one_of = math.log(of_likely), math.log(ONE_OF)
            if of_likely != of_limits:
                of_limits = of_likely
                for number in range(n_shapes + n_noises):
                    limits[number] = -UNLIKELY if number % of_likely == 0 else np.inf
                    if number % (of_likely * ONE_OF) == 0:
                        limits[number] = -HOPELESS
            for h in range(n_noises):
                size = 0
                for tile in range(n_tiles):
                    if reached_most[g, h, tile] < best[g] - HOPELESS:
                        continue
                    begin, step = tile * _TILE, 1
                    if reached_most[g, h, tile] < best[g] - UNLIKELY:  # then only every so many can count
                        begin, step = begin + (-(begin + h)) % ONE_OF, ONE_OF
                    for s in range(begin, min((tile + 1) * _TILE, n_shapes), step):
                        chosen[size] = at_shape[s]
                        size += reached[g, h, at_shape[s]] >= best[g] + limits[s + h]
                if not size:
                    continue
                for t in range(size):
                    aheads[0, t] = beyond[shape_at[chosen[t]]] + mean[g]
                    masses[0, t] = 0.0
                    reached_by[t] = reached[g, h, chosen[t]]
                for i in range(k):
                    for t in range(size):
                        own[i, t] = residuals[g, i, chosen[t]]
                    for t in range(size):
                        aheads[0, t] += far[n, h, i] * own[i, t]
                for i in range(k):
                    q[:size] = 0.0
                    for j in range(k):
                        factor = projections[n, h, i, j]
                        for t in range(size):
                            q[t] += factor * own[j, t]
                    taken_back = 2.0 * times[h, i] * far[n, h, i]
                    for t in range(size):
                        masses[i + 1, t] = more[h, i] + times[h, i] * q[t] * q[t]
                        masses[0, t] = max(masses[0, t], masses[i + 1, t])
                        aheads[i + 1, t] = aheads[0, t] - taken_back * q[t]
                for t in range(size):
                    masses[0, t] = reached_by[t] - masses[0, t] - best[g]  # without a level that deviates
                    counts_for[t] = log_likely + (log_one_of if reached_by[t] < best[g] - UNLIKELY else 0.0)
                for i in range(k):
                    for t in range(size):
                        masses[i + 1, t] += masses[0, t]
                while n_kept + size * (k + 1) > len(kept_mass):
                    kept_ahead, kept_mass, kept_code = _longer(kept_ahead), _longer(kept_mass), _longer(kept_code)
                begin = n_kept
                for t in range(size):
                    code = (h * n_shapes + shape_at[chosen[t]]) * (k + 1)
                    for i in range(k + 1):
                        kept_ahead[n_kept], kept_mass[n_kept] = aheads[i, t], masses[i, t] + counts_for[t]
                        kept_code[n_kept] = code + i
                        n_kept += masses[i, t] > -HOPELESS
                for number in range(begin, n_kept):
                    kept_mass[number] = half_exponential(-2.0 * kept_mass[number])
                    summed += kept_mass[number]
            while n_kept > len(bin_of):
                bin_of, ordered = _longer(bin_of), _longer(ordered)
            count[path] = _cut(
                kept_ahead, kept_mass, kept_code, n_kept, summed, parts, n_shapes, k, bins, bin_of, ordered, law[path],
                setting[path], level[path], weight[path],
            )  # fmt: skip
        begin_path += together


@kernel
def factorize(  # type: ignore[no-untyped-def]
    drifts, squares, noises, roots, determinants, totals, sums, diagonal, projections
):  # fmt: skip
    """Write what `array_form.Covariances` has of each noise and setting."""
    n_settings, k = drifts.shape[:2]
    factor = np.zeros((k, k))
    for n in range(len(noises)):
        for h in range(n_settings):
            root, projection, log_determinant, total = roots[n, h], projections[n, h], 0.0, 0.0
            root[:] = 0.0
            sums[n, h] = 0.0
            for i in range(k):
                for j in range(i):
                    value = drifts[h, i, j]
                    for m in range(j):
                        value -= factor[i, m] * factor[j, m]
                    factor[i, j] = value / factor[j, j]
                value = drifts[h, i, i] + squares[h] + noises[n, i]
                for m in range(i):
                    value -= factor[i, m] * factor[i, m]
                factor[i, i] = math.sqrt(value)
                log_determinant += math.log(value)
                root[i, i] = 1.0
                for j in range(i + 1):
                    for m in range(j, i):
                        root[i, j] -= factor[i, m] * root[m, j]
                    root[i, j] /= factor[i, i]
                of_ones = root[i].sum()
                total += of_ones * of_ones
                for j in range(i + 1):
                    sums[n, h, j] += of_ones * root[i, j]
            for i in range(k):
                for j in range(i + 1):
                    value = -sums[n, h, i] * sums[n, h, j] / total
                    for m in range(i, k):
                        value += root[m, i] * root[m, j]
                    projection[i, j] = projection[j, i] = value
                diagonal[n, h, i] = projection[i, i]
            determinants[n, h], totals[n, h] = log_determinant, total


@kernel
def _mass_below(x, means, per_deviation, weights, count):  # type: ignore[no-untyped-def]
    """Probability below x of a mixture of normal distributions; density there and how it falls, times root 2 pi.

    The tail is ``bell`` times a quotient of polynomials. Beyond six deviations there is none.
    """
    below, density, falls = 0.0, 0.0, 0.0
    for c in range(count):
        z = (x - means[c]) * per_deviation[c]
        far = min(abs(z), FARTHEST)
        bell = half_exponential(far * far) if far < FARTHEST else 0.0
        above = ((ABOVE[0] * far + ABOVE[1]) * far + ABOVE[2]) * far + ABOVE[3]
        above = ((above * far + ABOVE[4]) * far + ABOVE[5]) * far + ABOVE[6]
        under = (((UNDER[0] * far + UNDER[1]) * far + UNDER[2]) * far + UNDER[3]) * far + UNDER[4]
        under = ((under * far + UNDER[5]) * far + UNDER[6]) * far + UNDER[7]
        tail = bell * above / under
        below += weights[c] * (tail if z < 0.0 else 1.0 - tail)
        density += weights[c] * bell * per_deviation[c]
        falls += weights[c] * bell * per_deviation[c] * per_deviation[c] * z
    return below, density, falls


@kernel
def _normal_quantile(probability):  # type: ignore[no-untyped-def]
    """Standard normal quantile to 3e-3: M. Abramowitz and I. Stegun, "Handbook of mathematical functions", 26.2.22."""
    t = math.sqrt(-2.0 * math.log(min(probability, 1.0 - probability)))
    z = t - (2.30753 + 0.27061 * t) / (1.0 + 0.99229 * t + 0.04481 * t * t)
    return -z if probability < 0.5 else z


@kernel
def expect(logs, laws, ahead, law, kinds, number, means):  # type: ignore[no-untyped-def]
    """Write what components make of places; see `array_form.expect`."""
    n_paths, n_components, n_places = means.shape
    for path in range(n_paths):
        for c in range(n_components):
            one, kind, of_level = law[path, c], number[path, c], 0.0
            for i in range(logs.shape[1]):
                of_level += kinds.rows[kind, i] * (logs[path, i] - laws[one, i])
            for place in range(n_places):
                value = ahead[one, place] - kinds.shifts[kind, place] * of_level
                for i in range(logs.shape[1]):
                    value += kinds.weights[kinds.which[kind], place, i] * (logs[path, i] - laws[one, i])
                means[path, c, place] = value


@kernel
def mixture_quantiles(mixtures, levels, quantiles):  # type: ignore[no-untyped-def]
    """Quantiles of mixtures of normal distributions, by Halley's method within a bracket."""
    work = np.empty((3, mixtures.means.shape[1] * mixtures.shares.shape[1]))
    for row in range(len(levels)):
        _row_quantiles(mixtures, row, levels[row], work, quantiles[row])


@kernel
def _row_quantiles(mixtures, row, levels, work, quantiles):  # type: ignore[no-untyped-def]
    places, per_deviation, shares = work[0], work[1], work[2]
    count, total, mean, square = 0, 0.0, 0.0, 0.0
    lowest, highest, narrowest = np.inf, -np.inf, np.inf
    means, weights = mixtures.means[row], mixtures.weights[row]
    for kind in range(mixtures.shares.shape[1]):
        share, constant, factor = mixtures.shares[row, kind], mixtures.constants[row, kind], mixtures.factors[row, kind]
        for c in range(len(means)):
            weight = share * weights[c]
            if weight > 0.0:
                variance = mixtures.variances[row, c] + constant + factor * mixtures.squares[row, c]
                deviation = math.sqrt(variance)
                places[count], per_deviation[count], shares[count] = means[c], 1.0 / deviation, weight
                count += 1
                total += weight
                mean += weight * means[c]
                square += weight * (variance + means[c] * means[c])
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
            below, density, falls = _mass_below(x, places, per_deviation, shares, count)
            if below < target:
                low = x
            else:
                high = x
            before = x
            step = (below - target) * _ROOT_2PI / density if density > 0.0 else np.nan
            x = x - step / max(1.0 + 0.5 * step * falls / density, 0.5)
            if x != before and not low < x < high:
                x = 0.5 * (low + high)
                if high - low < CLOSE * narrowest:
                    break
            elif abs(x - before) < CLOSE * narrowest:  # the error is of the order of the cube
                break
        quantiles[number] = x
