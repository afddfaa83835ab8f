"""Compiled quantiles of mixtures of normal distributions."""

from __future__ import annotations

import math

import numpy as np

from perf_scaling.posterior.covariances import half_exponential, half_variogram, inverse_of, projected, variograms
from perf_scaling.posterior.few_paths import ABOVE, CLOSE, FARTHEST, UNDER
from perf_statistics.kernels import kernel

_ROOT_2PI = math.sqrt(2.0 * math.pi)


@kernel
def _mass_below(x, means, per_deviation, weights, count):  # type: ignore[no-untyped-def]
    """Probability below x of a mixture of normal distributions, and its density there times the root of 2 pi.

    The tail is ``bell`` times a quotient of polynomials. Beyond six deviations there is none.
    """
    below, density = 0.0, 0.0
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
        _row_quantiles(means[row], variances[row], weights[row], levels, work, quantiles[row])


@kernel
def _row_quantiles(means, variances, weights, levels, work, quantiles):  # type: ignore[no-untyped-def]
    places, per_deviation, shares = work[0], work[1], work[2]
    count, total, mean, square = 0, 0.0, 0.0, 0.0
    lowest, highest, narrowest = np.inf, -np.inf, np.inf
    for c in range(len(means)):
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
            x = x - (below - target) * _ROOT_2PI / density if density > 0.0 else np.nan
            if x != before and not low < x < high:
                x = 0.5 * (low + high)
                if high - low < CLOSE * narrowest:
                    break
            elif abs(x - before) < CLOSE * narrowest:  # the error is of the order of the square
                break
        quantiles[number] = x
        lowest = x


@kernel
def _weights_at(measured, noise, setting, variogram, inverse, projection, sums, covariance, work, weights, cross):  # type: ignore[no-untyped-def]
    """Weights of the measured levels at other points, and what is left open there without a level that deviates.

    The covariance of the drift, 0 at the last level, which most points are near and so few digits cancel, is the
    difference of variograms (`variogram` (n, n + T)). Writes `projection` (k, k) and `weights` (T, k); returns the
    variances (T,).
    """
    k, n = len(measured), len(variogram)
    tau, scale = setting[0], 0.5 * setting[1] * setting[1] * setting[2]
    from_last = variogram[measured[k - 1]]
    for i in range(k):
        for j in range(i + 1):
            covariance[i, j] = scale * (
                from_last[measured[i]] + from_last[measured[j]] - variogram[measured[i], measured[j]]
            )
        covariance[i, i] += tau * tau + noise[measured[i]]
    inverse_of(covariance, k, inverse, work)
    total = projected(inverse, k, sums, projection)
    variances = np.empty(variogram.shape[1] - n)
    for t in range(len(variances)):
        prior_variance, along = 2.0 * scale * from_last[n + t], 0.0
        for i in range(k):
            cross[i] = scale * (from_last[measured[i]] + from_last[n + t] - variogram[measured[i], n + t])
            along += sums[i] * cross[i]
        explained_variance = 0.0
        for i in range(k):
            value, explained = sums[i] / total, 0.0
            for j in range(k):
                value += projection[i, j] * cross[j]
                explained += inverse[i, j] * cross[j]
            weights[t, i] = value
            explained_variance += explained * cross[i]
        variances[t] = max(prior_variance - explained_variance + (1.0 - along) ** 2 / total, 1e-12)
    return variances


@kernel
def predict_components(  # type: ignore[no-untyped-def]
    points, logs, noise, settings, laws_measured, laws_predicted, law, setting, level, count, deviating, places,
    means, variances,
):  # fmt: skip
    """Mean and variance of the logarithm at points, of each component of each path."""
    n, n_places = logs.shape[1], len(places)
    half_variograms, of_length = variograms(points, places, settings)
    covariance, inverse, work = np.empty((n, n)), np.empty((n, n)), np.empty((n, n))
    projection, sums, cross = np.empty((n, n)), np.empty(n), np.empty(n)
    weights, residuals, measured = np.empty((n_places, n)), np.empty(n), np.empty(n, dtype=np.int64)
    remaining = np.empty(n_places)
    for path in range(len(logs)):
        k, last_h = 0, -1
        for i in range(n):
            if not math.isnan(logs[path, i]):
                measured[k] = i
                k += 1
        for c in range(count[path]):
            law_index, h = law[path, c], setting[path, c]
            if h != last_h:
                remaining = _weights_at(measured[:k], noise[path], settings[h], half_variograms[of_length[h]], inverse,
                                        projection, sums, covariance, work, weights, cross)  # fmt: skip
                last_h = h
            q, spread, deviant, extra = 0.0, 1.0, -1, 0.0
            for i in range(k):
                residuals[i] = logs[path, measured[i]] - laws_measured[law_index, measured[i]]
                if measured[i] == level[path, c]:
                    deviant = i
            if deviant >= 0:
                extra = deviating[h, min(deviant, 1)]
                for j in range(k):
                    q += projection[deviant, j] * residuals[j]
                spread = 1.0 + extra * projection[deviant, deviant]
            for t in range(n_places):
                value = laws_predicted[law_index, t]
                for i in range(k):
                    value += weights[t, i] * residuals[i]
                variance = remaining[t]
                if deviant >= 0:
                    shift = extra * weights[t, deviant] / spread
                    value -= shift * q
                    variance += shift * weights[t, deviant]
                means[path, c, t] = value
                variances[path, c, t] = variance


@kernel
def draw_paths(  # type: ignore[no-untyped-def]
    points, logs, noise, settings, laws_measured, laws_predicted, law, setting, level, weight, count, deviating,
    places, normals, values, component_of_draw,
):  # fmt: skip
    """Coherent draws of the logarithm at points, equally probable.

    Arguments are as of `predict_components`, with the weight (K, C) of each component, adding up to 1, and standard
    normal numbers (N, D), D at least n + 2 q (n + T). Written are values (K, N, T) and the component of each draw.
    """
    n_paths, n = logs.shape
    n_draws, n_places = len(normals), len(places)
    covariance, inverse, work = np.empty((n, n)), np.empty((n, n)), np.empty((n, n))
    projection, sums, cross = np.empty((n, n)), np.empty(n), np.empty(n)
    weights, measured = np.empty((n_places, n)), np.empty(n, dtype=np.int64)
    adjusted, constant = np.empty((n_places, n)), np.empty(n_places)
    half_variograms, of_length = variograms(points, places, settings)
    responses = np.zeros((len(half_variograms), n + n_places, normals.shape[1]))
    of_normals, is_known, known = np.empty((n_places, normals.shape[1])), np.zeros(n, dtype=np.bool_), -1
    for path in range(n_paths):
        k, is_as_before = 0, known >= 0
        for i in range(n):
            is_measured = not math.isnan(logs[path, i])
            is_as_before &= is_known[i] == is_measured
            is_known[i] = is_measured
            if is_measured:
                measured[k] = i
                k += 1
        if not is_as_before:
            known = k
            for h in range(len(settings)):
                _drift_responses(points, measured[:k], places, settings[h, 2], responses[of_length[h]])
        component, reached, last_h, before, last_deviant, used = 0, weight[path, 0], -1, -1, -2, 0
        for draw in range(n_draws):
            while reached < (draw + 0.5) / n_draws and component + 1 < count[path]:
                component += 1
                reached += weight[path, component]
            component_of_draw[path, draw] = component
            if component != before:
                before, deviant = component, -1
                law_index, h = law[path, component], setting[path, component]
                for i in range(k):
                    if measured[i] == level[path, component]:
                        deviant = i
                if h != last_h:
                    _weights_at(measured[:k], noise[path], settings[h], half_variograms[of_length[h]], inverse,
                                projection, sums, covariance, work, weights, cross)  # fmt: skip
                if h != last_h or deviant != last_deviant:
                    used = _answers_to_normals(
                        measured[:k], noise[path], settings[h], deviating[h, min(max(deviant, 0), 1)], deviant, weights,
                        projection, responses[of_length[h]], adjusted, of_normals,
                    )  # fmt: skip
                    last_h, last_deviant = h, deviant
                for t in range(n_places):
                    constant[t] = laws_predicted[law_index, t]
                    for i in range(k):
                        missed = logs[path, measured[i]] - laws_measured[law_index, measured[i]]
                        constant[t] += adjusted[t, i] * missed
            for t in range(n_places):
                value = constant[t]
                for d in range(used):
                    value += of_normals[t, d] * normals[draw, d]
                values[path, draw, t] = value


@kernel
def _answers_to_normals(  # type: ignore[no-untyped-def]
    measured, noise, setting, extra, deviant, weights, projection, responses, adjusted, of_normals
):  # fmt: skip
    """How a draw at each place answers to each normal number, written (T, D); how many of these take part.

    Also written are the weights of the measured levels (T, k) where one of them deviates, if any does (`deviant` >= 0).
    """
    k = len(measured)
    slope_deviation = setting[1] * math.sqrt(0.5 * setting[2])
    used = responses.shape[1] if slope_deviation > 0.0 else k
    for t in range(len(weights)):
        for i in range(k):
            adjusted[t, i] = weights[t, i]
        if deviant >= 0:
            shift = extra * weights[t, deviant] / (1.0 + extra * projection[deviant, deviant])
            for i in range(k):
                adjusted[t, i] -= shift * projection[deviant, i]
        for d in range(used):
            of_normals[t, d] = slope_deviation * responses[k + t, d]
        if slope_deviation > 0.0:
            for i in range(k):
                factor = slope_deviation * adjusted[t, i]
                for d in range(used):
                    of_normals[t, d] -= factor * responses[i, d]
        for i in range(k):
            variance = setting[0] * setting[0] + noise[measured[i]] + (extra if i == deviant else 0.0)
            of_normals[t, i] -= adjusted[t, i] * math.sqrt(variance)
    return used


@kernel
def _drift_responses(points, measured, places, length, responses):  # type: ignore[no-untyped-def]
    """How the drift at measured levels and at places answers to each normal number, for a slope of deviation 1."""
    k, n_numbers = len(measured), responses.shape[1]
    size = k + len(places)
    where, order = np.empty(size), np.empty(size, dtype=np.int64)
    slope, drifted = np.empty(n_numbers), np.empty(n_numbers)
    for place in range(size):
        for d in range(n_numbers):
            responses[place, d] = 0.0
    column = len(points)
    for p in range(points.shape[1]):
        for place in range(size):
            where[place] = points[measured[place], p] if place < k else places[place - k, p]
            slot = place
            while slot > 0 and where[order[slot - 1]] > where[place]:
                order[slot] = order[slot - 1]
                slot -= 1
            order[slot] = place
        for d in range(n_numbers):
            slope[d], drifted[d] = 0.0, 0.0
        slope[column] = 1.0
        column += 1
        for place in range(size):
            if place:
                distance = where[order[place]] - where[order[place - 1]]
                decay = math.exp(-distance / length)
                of_slope = 1.0 - decay * decay
                joint = length * (1.0 - decay) ** 2
                of_both = joint / math.sqrt(of_slope) if of_slope > 0.0 else 0.0
                of_drift = max(2.0 * half_variogram(distance, length) - (length * (1.0 - decay)) ** 2, 0.0)
                for d in range(n_numbers):
                    drifted[d] += length * (1.0 - decay) * slope[d]
                    slope[d] *= decay
                drifted[column] += of_both
                drifted[column + 1] += math.sqrt(max(of_drift - of_both**2, 0.0))
                slope[column] += math.sqrt(of_slope)
                column += 2
            for d in range(n_numbers):
                responses[order[place], d] += drifted[d]
