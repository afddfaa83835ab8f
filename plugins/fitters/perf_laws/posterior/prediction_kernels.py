"""Compiled predictions of weighed components: normal distributions of the logarithm, their quantiles, and draws.

Given a component, the logarithm at a point x is ``ln h(x) + a'r`` with a = P k(x) + u / 1'u, where k(x) is the
covariance of the drift with the measured levels (universal kriging with a flat level; N. Cressie, "Statistics for
spatial data", 1993, section 3.4). Draws at several points are coherent: drift and noise are drawn from their prior, and
what the predictor says of the drawn data is taken off (A. Journel and C. Huijbregts, "Mining geostatistics", 1978,
ch. VII).
"""

from __future__ import annotations

import math

import numpy as np

from perf_laws.posterior.covariances import half_variogram, inverse_of, projected, variograms
from perfcore.base.kernels import kernel

__all__ = ["draw_paths", "mixture_quantiles", "predict_components"]

_ROOT_2PI = math.sqrt(2.0 * math.pi)
_CLOSE = 1e-5  # step, of the narrowest deviation, with which a search for a quantile ends


@kernel
def _log_law(coefficients, exponents, logarithms, logs):  # type: ignore[no-untyped-def]
    """Logarithm of a sum of terms at one point, given by the logarithms of its levels."""
    total = 0.0
    for term in range(len(coefficients)):
        if coefficients[term] > 0.0:
            power, value = 0.0, coefficients[term]
            for p in range(len(logs)):
                power += exponents[term, p] * logs[p]
                for _ in range(logarithms[term, p]):
                    value *= logs[p] / 0.6931471805599453
            total += value * math.exp(power)
    return math.log(max(total, 1e-300))


@kernel
def _weights_at(measured, noise, setting, variogram, inverse, projection, sums, covariance, work, weights, cross):  # type: ignore[no-untyped-def]
    """Weights of the measured levels at other points, and what is left open there without a level that deviates.

    The covariance of the drift, 0 at the first level, is the difference of variograms (`variogram` (n, n + T)). Writes
    `projection` (k, k) and `weights` (T, k); returns the variances (T,).
    """
    k, n = len(measured), len(variogram)
    tau, scale = setting[0], 0.5 * setting[1] * setting[1] * setting[2]
    from_first = variogram[measured[0]]
    for i in range(k):
        for j in range(i + 1):
            covariance[i, j] = scale * (
                from_first[measured[i]] + from_first[measured[j]] - variogram[measured[i], measured[j]]
            )
        covariance[i, i] += tau * tau + noise[measured[i]]
    inverse_of(covariance, k, inverse, work)
    total = projected(inverse, k, sums, projection)
    variances = np.empty(variogram.shape[1] - n)
    for t in range(len(variances)):
        prior_variance, along = 2.0 * scale * from_first[n + t], 0.0
        for i in range(k):
            cross[i] = scale * (from_first[measured[i]] + from_first[n + t] - variogram[measured[i], n + t])
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
def _log_laws(coefficients, exponents, logarithms, logs):  # type: ignore[no-untyped-def]
    """Logarithms of all laws at points (T, q), given by the logarithms of their levels: (L, T)."""
    log_values = np.empty((len(coefficients), len(logs)))
    for law in range(len(coefficients)):
        for t in range(len(logs)):
            log_values[law, t] = _log_law(coefficients[law], exponents[law], logarithms[law], logs[t])
    return log_values


@kernel
def predict_components(  # type: ignore[no-untyped-def]
    points, logs, noise, settings, coefficients, exponents, logarithms, law, setting, level, count, deviating, places,
    means, variances,
):  # fmt: skip
    """Mean and variance of the logarithm at points, of each component of each path.

    Parameters
    ----------
    points : (n, q) float
        Logarithms of the measured levels.
    logs, noise : (K, n) float
        Logarithms of means, NaN where there is none, and their variance by the noise of the runs.
    settings : (H, 3) float
        Scatter, drift and its length.
    coefficients, exponents, logarithms : (L, M), (L, M, q), (L, M, q)
        Laws: sums of M terms.
    law, setting, level, count : (K, C), (K, C), (K, C), (K,) int
        Components of each path.
    deviating : (H, 2) float
        Further variance of a level that deviates: of the first that was measured, and of another.
    places : (T, q) float
        Logarithms of levels.
    means, variances : (K, C, T) float
        Written.
    """
    n_paths, n = logs.shape
    covariance, inverse, work = np.empty((n, n)), np.empty((n, n)), np.empty((n, n))
    projection, sums, cross = np.empty((n, n)), np.empty(n), np.empty(n)
    weights, residuals, measured = np.empty((len(places), n)), np.empty(n), np.empty(n, dtype=np.int64)
    remaining = np.empty(len(places))
    laws_measured = _log_laws(coefficients, exponents, logarithms, points)
    laws_predicted = _log_laws(coefficients, exponents, logarithms, places)
    half_variograms, of_length = variograms(points, places, settings)
    for path in range(n_paths):
        k = 0
        for i in range(n):
            if not math.isnan(logs[path, i]):
                measured[k] = i
                k += 1
        last_h = -1
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
            for t in range(len(places)):
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

    Parameters
    ----------
    x : float
    means, per_deviation, weights : (>= count,) float
        Of each component, with one over its deviation.
    count : int
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
    """Quantiles of mixtures of normal distributions, by Newton's method within a bracket.

    It begins where a normal distribution of the same mean and variance has the quantile, and ends where what is left is
    some 1e-10 of the narrowest component's deviation.

    Parameters
    ----------
    means, variances, weights : (R, C) float
        Components of weight 0 take no part.
    levels : (Q,) float
        Between 0 and 1, rising.
    quantiles : (R, Q) float
        Written.
    """
    n_rows, size = means.shape
    places, per_deviation, shares = np.empty(size), np.empty(size), np.empty(size)
    for row in range(n_rows):
        count, total, mean, square = 0, 0.0, 0.0, 0.0
        lowest, highest, narrowest = np.inf, -np.inf, np.inf
        for c in range(size):
            if weights[row, c] > 0.0:
                deviation = math.sqrt(variances[row, c])
                places[count], per_deviation[count], shares[count] = means[row, c], 1.0 / deviation, weights[row, c]
                count += 1
                total += weights[row, c]
                mean += weights[row, c] * means[row, c]
                square += weights[row, c] * (variances[row, c] + means[row, c] * means[row, c])
                narrowest = min(narrowest, deviation)
                lowest = min(lowest, means[row, c] - 9.0 * deviation)
                highest = max(highest, means[row, c] + 9.0 * deviation)
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
            quantiles[row, number] = x
            lowest = x


@kernel
def draw_paths(  # type: ignore[no-untyped-def]
    points, logs, noise, settings, coefficients, exponents, logarithms, law, setting, level, weight, count, deviating,
    places, normals, values, component_of_draw,
):  # fmt: skip
    """Coherent draws of the logarithm at points, equally probable.

    Parameters
    ----------
    points, logs, noise, settings, coefficients, exponents, logarithms, law, setting, level, count, deviating, places
        As `predict_components`.
    weight : (K, C) float
        Of each component, adding up to 1.
    normals : (N, D) float
        Standard normal; D is at least n + 2 q (n + T).
    values : (K, N, T) float
        Written.
    component_of_draw : (K, N) int
        Written: the component that each draw is of.
    """
    n_paths, n = logs.shape
    n_draws, n_places, q = len(normals), len(places), points.shape[1]
    covariance, inverse, work = np.empty((n, n)), np.empty((n, n)), np.empty((n, n))
    projection, sums, cross = np.empty((n, n)), np.empty(n), np.empty(n)
    weights, measured = np.empty((n_places, n)), np.empty(n, dtype=np.int64)
    adjusted, law_measured, law_predicted = np.empty((n_places, n)), np.empty(n), np.empty(n_places)
    drift_measured, drift_predicted, missed = np.empty(n), np.empty(n_places), np.empty(n)
    size = n + n_places
    steps, order = np.empty((q, size, 4)), np.empty((q, size), dtype=np.int64)
    where = np.empty(size)
    laws_measured = _log_laws(coefficients, exponents, logarithms, points)
    laws_predicted = _log_laws(coefficients, exponents, logarithms, places)
    half_variograms, of_length = variograms(points, places, settings)
    for path in range(n_paths):
        k = 0
        for i in range(n):
            if not math.isnan(logs[path, i]):
                measured[k] = i
                k += 1
        for p in range(q):
            for i in range(k):
                where[i] = points[measured[i], p]
            for t in range(n_places):
                where[k + t] = places[t, p]
            for place in range(k + n_places):
                slot = place
                while slot > 0 and where[order[p, slot - 1]] > where[place]:
                    order[p, slot] = order[p, slot - 1]
                    slot -= 1
                order[p, slot] = place
        component, reached, last_h, before, extra = 0, weight[path, 0], -1, -1, 0.0
        for draw in range(n_draws):
            while reached < (draw + 0.5) / n_draws and component + 1 < count[path]:
                component += 1
                reached += weight[path, component]
            component_of_draw[path, draw] = component
            law_index, h = law[path, component], setting[path, component]
            length = settings[h, 2]
            slope_deviation = settings[h, 1] * math.sqrt(0.5 * length)
            if h != last_h:
                _weights_at(measured[:k], noise[path], settings[h], half_variograms[of_length[h]], inverse, projection,
                            sums, covariance, work, weights, cross)  # fmt: skip
                last_h = h
                for p in range(q):
                    last = 0.0
                    for place in range(k + n_places):
                        number = order[p, place]
                        coordinate = points[measured[number], p] if number < k else places[number - k, p]
                        distance = coordinate - last if place else 0.0
                        last = coordinate
                        decay = math.exp(-distance / length)
                        of_slope = 1.0 - decay * decay
                        joint = length * (1.0 - decay) ** 2
                        of_drift = max(2.0 * half_variogram(distance, length) - (length * (1.0 - decay)) ** 2, 0.0)
                        steps[p, place, 0] = decay
                        steps[p, place, 1] = math.sqrt(of_slope)
                        steps[p, place, 2] = joint / math.sqrt(of_slope) if of_slope > 0.0 else 0.0
                        steps[p, place, 3] = math.sqrt(max(of_drift - steps[p, place, 2] ** 2, 0.0))
            if component != before:
                before, deviant, extra = component, -1, 0.0
                for i in range(k):
                    law_measured[i] = laws_measured[law_index, measured[i]]
                    if measured[i] == level[path, component]:
                        deviant = i
                        extra = deviating[h, min(deviant, 1)]
                for t in range(n_places):
                    law_predicted[t] = laws_predicted[law_index, t]
                    for i in range(k):
                        adjusted[t, i] = weights[t, i]
                    if deviant >= 0:
                        spread = 1.0 + extra * projection[deviant, deviant]
                        shift = extra * weights[t, deviant] / spread
                        for i in range(k):
                            adjusted[t, i] -= shift * projection[deviant, i]
            for i in range(k):
                drift_measured[i] = 0.0
            for t in range(n_places):
                drift_predicted[t] = 0.0
            column = n
            if slope_deviation > 0.0:
                for p in range(q):
                    slope, drifted = normals[draw, column], 0.0
                    column += 1
                    for place in range(k + n_places):
                        number = order[p, place]
                        if place:
                            first_normal, second_normal = normals[draw, column], normals[draw, column + 1]
                            column += 2
                            drifted += length * (1.0 - steps[p, place, 0]) * slope
                            drifted += steps[p, place, 2] * first_normal + steps[p, place, 3] * second_normal
                            slope = steps[p, place, 0] * slope + steps[p, place, 1] * first_normal
                        if number < k:
                            drift_measured[number] += slope_deviation * drifted
                        else:
                            drift_predicted[number - k] += slope_deviation * drifted
            for i in range(k):
                variance = settings[h, 0] ** 2 + noise[path, measured[i]]
                if i == deviant:
                    variance += extra
                missed[i] = (
                    logs[path, measured[i]]
                    - law_measured[i]
                    - drift_measured[i]
                    - math.sqrt(variance) * normals[draw, i]
                )
            for t in range(n_places):
                value = law_predicted[t] + drift_predicted[t]
                for i in range(k):
                    value += adjusted[t, i] * missed[i]
                values[path, draw, t] = value
