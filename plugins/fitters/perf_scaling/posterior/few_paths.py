"""The kernels of this folder in array operations: done with a few paths before the kernels would be compiled.

Each takes what the kernel of its name takes and gives the same numbers.
"""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np

from perfcore.base.arrays import Floats, Ints

FEW = 24  # paths that take no longer than to load compiled kernels does
CLOSE = 1e-6  # step, of the narrowest deviation, with which a search for a quantile ends
FARTHEST = 6.0  # deviations beyond which a normal distribution has no mass

# Combinations whose evidence is below that of the best by more than the first logarithm are left out; of those below
# the second only one of so many stays, and counts for them all. Of more likely ones than some thousand as many stay.
HOPELESS, UNLIKELY = 12.0, 7.0
ONE_OF, ENOUGH = 8, 3000
BINS = 4096  # of what is predicted, within which components keep their order
TAIL, FINER = 0.06, 4.0  # in both tails components are smaller by this factor

# Of the tail of the normal distribution beyond z > 0, over its density: polynomials in z, to 1e-15. J. Hart et al.,
# "Computer approximations", 1968, algorithm 5666. (``scipy.special`` takes longer to import than a fit takes.)
ABOVE = (
    3.52624965998911e-2, 0.700383064443688, 6.37396220353165, 33.912866078383, 112.079291497871, 221.213596169931,
    220.206867912376,
)  # fmt: skip
UNDER = (
    8.83883476483184e-2, 1.75566716318264, 16.064177579207, 86.7807322029461, 296.564248779674, 637.333633378831,
    793.826512519948, 440.413735824752,
)  # fmt: skip
_MANY_DEGREES = 1e5  # of freedom; beyond, the next term is below 1e-14
_LOG_2PI, _ROOT_2PI = math.log(2.0 * math.pi), math.sqrt(2.0 * math.pi)


def weigh_shapes(
    logs: Floats, noise: Floats, shapes: Floats, log_weight: Floats, group: Ints, log_prior: Floats, tau: Floats,
    kappa: Floats, length: Floats, which_drift: Ints, drifts: Floats, deviates: float, deviating_variance: float,
    deviating_factor: float, first_variance: float, parts: int, law: Ints, setting: Ints, level: Ints, weight: Floats,
    count: Ints,
) -> None:  # fmt: skip
    """Write the components of each path."""
    k, n_shapes = logs.shape[1], shapes.shape[1]
    log_none, log_one = math.log(1.0 - deviates), math.log(deviates / k)
    scale = (0.5 * kappa * kappa * length)[:, None, None]
    extra = (deviating_variance + deviating_factor * tau * tau)[:, None] + np.eye(1, k) * first_variance
    for path in range(len(logs)):
        middle = (logs[path][:, None] - shapes[:k]).mean(axis=0)
        residuals = logs[path][:, None] - shapes[:k] - middle
        covariances = scale * drifts[which_drift][:, :k, :k]
        covariances[:, range(k), range(k)] += tau[:, None] ** 2 + noise[path]
        inverse, determinants = inverses(covariances)
        sums, totals, projections = projected(inverse)
        far = sums / totals[:, None] + (projections @ (scale * drifts[which_drift])[:, k, :k, None])[:, :, 0]
        spread = 1.0 + extra * np.einsum("hii->hi", projections)
        offset, gain = log_one - log_none - 0.5 * np.log(spread), 0.5 * extra / spread
        base = -0.5 * (determinants + np.log(totals) + (k - 1) * _LOG_2PI) + log_none
        reached = base[:, None] + log_weight + log_prior[:, group]
        for number, projection in enumerate(projections):
            q = projection @ residuals
            deviating = np.square(q) * gain[number][:, None] + offset[number][:, None]
            reached[number] += np.maximum(deviating.max(axis=0), 0.0) - 0.5 * (q * residuals).sum(axis=0)
        best = reached.max()
        likely = reached >= best - UNLIKELY
        of_likely = 1 + int(likely.sum()) // ENOUGH
        counts_for = np.where(likely, of_likely, of_likely * ONE_OF)
        place = np.arange(n_shapes) + np.arange(len(tau))[:, None]
        h, s = np.nonzero((reached >= best - HOPELESS) & (place % counts_for == 0))
        q = (projections[h] @ residuals.T[s][:, :, None])[:, :, 0]
        masses = np.insert(offset[h] + gain[h] * q * q, 0, 0.0, axis=1)
        ahead = shapes[k, s] + middle[s] + (far[h] * residuals.T[s]).sum(axis=1)
        aheads = ahead[:, None] - np.insert(2.0 * gain[h] * far[h] * q, 0, 0.0, axis=1)
        masses += (reached[h, s] - masses.max(axis=1) - best)[:, None]
        row, column = np.nonzero(masses > -HOPELESS)
        mass = counts_for[h, s][row] * np.exp(masses[row, column])
        kept = h[row], s[row], column - 1
        count[path] = _cut(aheads[row, column], mass, kept, parts, setting[path], law[path], level[path], weight[path])


def _cut(
    ahead: Floats, mass: Floats, kept: tuple[Ints, Ints, Ints], parts: int, setting: Ints, law: Ints, level: Ints,
    weight: Floats,
) -> int:  # fmt: skip
    """Write components: those of little weight every so many, in the order of what they predict; how many they are."""
    bins = ((ahead - ahead.min()) * ((BINS - 1) / max(np.ptp(ahead), 1e-300))).astype(np.int64)
    order = np.argsort(bins, kind="stable")
    masses = (mass / mass.sum())[order]
    cumulated = np.cumsum(masses)
    in_tail = np.minimum(cumulated, 1.0 - cumulated) < TAIL
    least = np.where(in_tail, 1.0 / parts / FINER, 1.0 / parts)
    passed, chosen = 0.5 / (parts * FINER), []
    for number, (stays, part) in enumerate(zip(masses.tolist(), least.tolist(), strict=True)):
        if stays < part:
            passed += stays
            if passed < part:
                continue
            passed -= part
        chosen.append(number)
    for values, of_kept in zip((setting, law, level), kept, strict=True):
        values[: len(chosen)] = of_kept[order[chosen]]
    weight[: len(chosen)] = np.maximum(masses, least)[chosen]
    return len(chosen)


def half_variogram(distance: Floats | float, length: Floats | float) -> Floats:
    """Half the variance of an Ornstein-Uhlenbeck process of variance 1 that is integrated over a distance."""
    return np.asarray(length * (distance + length * np.expm1(-distance / length)))


def inverse_roots(matrices: Floats) -> tuple[Floats, Floats]:
    """Inverses of the Cholesky factors of matrices (B, k, k), and the logarithms of their determinants (B,)."""
    factors = np.linalg.cholesky(matrices)
    roots = np.broadcast_to(np.eye(matrices.shape[1]), matrices.shape).copy()
    for i in range(matrices.shape[1]):  # not by ``np.linalg.inv``: it loses digits
        roots[:, i] -= (factors[:, i, None, :i] @ roots[:, :i])[:, 0]
        roots[:, i] /= factors[:, i, i, None]
    return roots, 2.0 * np.log(np.einsum("bii->bi", factors)).sum(axis=1)


def inverses(matrices: Floats) -> tuple[Floats, Floats]:
    """Inverses of positive definite matrices (B, k, k), and the logarithms of their determinants (B,)."""
    roots, determinants = inverse_roots(matrices)
    return np.swapaxes(roots, 1, 2) @ roots, determinants


def projected(inverses: Floats) -> tuple[Floats, Floats, Floats]:
    """Sums of inverse covariances (H, k), of all (H,), and the inverses without the flat level (H, k, k)."""
    sums = inverses.sum(axis=2)
    totals = sums.sum(axis=1)
    return sums, totals, inverses - sums[:, :, None] * sums[:, None] / totals[:, None, None]


class _AtPlaces:
    """Weights (H, T, k) of the measured levels of a path at places, of each setting, and remaining variances (H, T)."""

    def __init__(self, points: Floats, measured: Ints, noise: Floats, settings: Floats, places: Floats) -> None:
        n, k = len(points), len(measured)
        tau, kappa, length = settings.T
        between = np.abs(points[measured][:, None] - np.concatenate([points, places]))  # (k, n + T, q)
        half = half_variogram(between, length[:, None, None, None]).sum(axis=3)
        scale = (0.5 * kappa * kappa * length)[:, None, None]
        drift = scale * (half[:, -1:, measured].swapaxes(1, 2) + half[:, -1:] - half)  # with level and place
        covariances = drift[:, :, measured]
        covariances[:, range(k), range(k)] += tau[:, None] ** 2 + noise[measured]
        inverse, _ = inverses(covariances)
        sums, totals, self.projections = projected(inverse)
        cross = drift[:, :, n:]
        self.weights = np.swapaxes(sums[:, :, None] / totals[:, None, None] + self.projections @ cross, 1, 2)
        explained = (cross * (inverse @ cross)).sum(axis=1)
        along = (sums[:, :, None] * cross).sum(axis=1)
        prior = 2.0 * scale[:, 0] * half[:, -1, n:]
        self.remaining = np.maximum(prior - explained + (1.0 - along) ** 2 / totals[:, None], 1e-12)


def predict_components(
    points: Floats, logs: Floats, noise: Floats, settings: Floats, laws_measured: Floats, laws_predicted: Floats,
    law: Ints, setting: Ints, level: Ints, count: Ints, deviating: Floats, places: Floats, means: Floats,
    variances: Floats,
) -> None:  # fmt: skip
    """Write the mean and variance of the logarithm at places, of each component of each path."""
    for path, size in enumerate(count.tolist()):
        measured = np.flatnonzero(~np.isnan(logs[path]))
        used, h = np.unique(setting[path, :size], return_inverse=True)
        at = _AtPlaces(points, measured, noise[path], settings[used], places)
        laws = law[path, :size]
        residuals = logs[path, measured] - laws_measured[np.ix_(laws, measured)]
        means[path, :size] = laws_predicted[laws] + (at.weights[h] @ residuals[:, :, None])[:, :, 0]
        variances[path, :size] = at.remaining[h]
        far = np.flatnonzero(np.isin(level[path, :size], measured))
        deviant, h = np.searchsorted(measured, level[path, far]), h[far]
        extra = deviating[used[h], np.minimum(deviant, 1)]
        shift = (extra / (1.0 + extra * at.projections[h, deviant, deviant]))[:, None] * at.weights[h, :, deviant]
        means[path, far] -= shift * (at.projections[h, deviant] * residuals[far]).sum(axis=1)[:, None]
        variances[path, far] += shift * at.weights[h, :, deviant]


def mixture_quantiles(means: Floats, variances: Floats, weights: Floats, levels: Floats, quantiles: Floats) -> None:
    """Write quantiles (R, L) of mixtures (R, C) of normal distributions, by Newton's method within a bracket."""
    deviations = np.sqrt(variances)
    shares = weights / weights.sum(axis=1, keepdims=True)
    present = weights > 0.0
    low = np.where(present, means - 9.0 * deviations, np.inf).min(axis=1)[:, None] + np.zeros(len(levels))
    high = np.where(present, means + 9.0 * deviations, -np.inf).max(axis=1)[:, None] + np.zeros(len(levels))
    close = CLOSE * np.where(present, deviations, np.inf).min(axis=1)[:, None]
    x, is_open = 0.5 * (low + high), np.ones(low.shape, dtype=np.bool_)
    for _ in range(120):
        row, column = np.nonzero(is_open)
        if not len(row):
            break
        z = (x[row, column][:, None] - means[row]) / deviations[row]
        far = np.minimum(np.abs(z), FARTHEST)
        bell = np.where(far < FARTHEST, np.exp(-0.5 * far * far), 0.0)
        tail = bell * np.polyval(ABOVE, far) / np.polyval(UNDER, far)
        below = (shares[row] * np.where(z < 0.0, tail, 1.0 - tail)).sum(axis=1)
        density = (shares[row] / deviations[row] * bell).sum(axis=1)
        target, before = levels[column], x[row, column]
        low[row, column] = np.where(below < target, before, low[row, column])
        high[row, column] = np.where(below < target, high[row, column], before)
        with np.errstate(divide="ignore", invalid="ignore"):
            step = before - (below - target) * _ROOT_2PI / density
        inside = (step == before) | (low[row, column] < step) & (step < high[row, column])
        middle = 0.5 * (low[row, column] + high[row, column])
        x[row, column] = np.where(inside, step, middle)
        gap = np.where(inside, np.abs(step - before), high[row, column] - low[row, column])
        is_open[row, column] = gap >= close[row, 0]
    quantiles[:] = x


def fdtrc(freedom: Floats, other: Floats, ratio: Floats) -> Floats:
    """Upper tail of Fisher's F, as ``scipy.special``."""
    with np.errstate(divide="ignore", invalid="ignore"):
        odds = np.asarray(freedom * ratio / other)
        return _beta(0.5 * other, 0.5 * np.asarray(freedom), 1.0 / (1.0 + odds), 1.0 / (1.0 + 1.0 / odds))


def stdtr(freedom: Floats | float, t: Floats) -> Floats:
    """Distribution of Student's t, as ``scipy.special``."""
    freedom, squares = np.asarray(freedom), t * t
    tail = 0.5 * _beta(0.5 * freedom, np.array(0.5), freedom / (freedom + squares), squares / (freedom + squares))
    return np.where(t < 0.0, tail, 1.0 - tail)


def stdtrit(freedom: Floats, level: float) -> Floats:
    """Quantile of Student's t, as ``scipy.special``: by Newton's method, left of the median.

    It starts from 26.7.5 of Abramowitz and Stegun, Handbook of Mathematical Functions, which many degrees need alone.
    """
    tail = min(level, 1.0 - level)
    z, few = NormalDist().inv_cdf(tail), freedom < _MANY_DEGREES
    terms = (z, (z**3 + z) / 4.0, (5.0 * z**5 + 16.0 * z**3 + 3.0 * z) / 96.0)
    t = np.asarray(sum(term / freedom**k for k, term in enumerate(terms)))
    t = np.where(few, z, t)
    scale = np.exp(_log_gamma(0.5 * freedom + 0.5) - _log_gamma(0.5 * freedom)) / np.sqrt(freedom * math.pi)
    for _ in range(100):
        step = (stdtr(freedom, t) - tail) / (scale * (1.0 + t * t / freedom) ** (-0.5 * freedom - 0.5))
        step = np.where(few, step, 0.0)
        t -= step
        if (np.abs(step) <= 1e-13 * np.abs(t)).all():
            break
    return t if level < 0.5 else -t


_log_gamma = np.vectorize(math.lgamma, otypes=[np.float64])


def _beta(a: Floats, b: Floats, x: Floats, y: Floats) -> Floats:
    """Regularized incomplete beta function of x = 1 - y: the continued fraction 8.17.22 of DLMF, by Lentz's method."""
    log_beta = _log_gamma(a) + _log_gamma(b) - _log_gamma(a + b)
    is_right = x > (a + 1.0) / (a + b + 2.0)
    a, b = np.where(is_right, b, a), np.where(is_right, a, b)
    x, y = np.where(is_right, y, x), np.where(is_right, x, y)
    with np.errstate(divide="ignore"):
        value = np.exp(a * np.log(x) + b * np.log(y) - log_beta) / a
    above, below = np.ones_like(x), 1.0 / (1.0 - (a + b) * x / (a + 1.0))
    value *= below
    for m in range(1, 10_000):
        at = a + 2.0 * m
        for step in (m * (b - m) * x / ((at - 1.0) * at), -(a + m) * (a + b + m) * x / (at * (at + 1.0))):
            below, above = 1.0 / (1.0 + step * below), 1.0 + step / above
            value *= above * below
        if (np.abs(above * below - 1.0) < 1e-15).all():
            break
    return np.asarray(np.where(is_right, 1.0 - value, value))


def draw_paths(
    points: Floats, logs: Floats, noise: Floats, settings: Floats, laws_measured: Floats, laws_predicted: Floats,
    law: Ints, setting: Ints, level: Ints, weight: Floats, count: Ints, deviating: Floats, places: Floats,
    normals: Floats, values: Floats, component_of_draw: Ints,
) -> None:  # fmt: skip
    """Write coherent draws of the logarithm at places, equally probable, and the component of each."""
    for path, size in enumerate(count.tolist()):
        measured = np.flatnonzero(~np.isnan(logs[path]))
        k, laws = len(measured), law[path, :size]
        used, h = np.unique(setting[path, :size], return_inverse=True)
        at = _AtPlaces(points, measured, noise[path], settings[used], places)
        responses = {
            length: _drift_responses(points[measured], places, length, len(points), normals.shape[1])
            for length in np.unique(settings[used, 2]).tolist()
        }
        sides = (np.arange(len(normals)) + 0.5) / len(normals)
        component = np.minimum(np.searchsorted(np.cumsum(weight[path, :size]), sides), size - 1)
        component_of_draw[path] = component
        residuals = logs[path, measured] - laws_measured[np.ix_(laws, measured)]
        is_far = np.isin(level[path, :size], measured)
        deviants = np.where(is_far, np.searchsorted(measured, level[path, :size]), -1)
        pairs, pair = np.unique(np.stack([h, deviants]), axis=1, return_inverse=True)
        for number, (of_setting, deviant) in enumerate(pairs.T.tolist()):
            draws = np.flatnonzero(pair.ravel()[component] == number)
            tau, kappa, length = settings[used[of_setting]].tolist()
            adjusted, variances = at.weights[of_setting], tau * tau + noise[path, measured]
            if deviant >= 0:
                extra, along = deviating[used[of_setting], min(deviant, 1)], at.projections[of_setting, deviant]
                adjusted = adjusted - np.outer(adjusted[:, deviant] * extra / (1.0 + extra * along[deviant]), along)
                variances[deviant] += extra
            of_slope = kappa * math.sqrt(0.5 * length) * responses[length]
            answers = of_slope[k:] - adjusted @ of_slope[:k]
            answers[:, :k] -= adjusted * np.sqrt(variances)
            chosen = component[draws]
            of_laws = laws_predicted[laws[chosen]] + residuals[chosen] @ adjusted.T
            values[path, draws] = of_laws + normals[draws] @ answers.T


def _drift_responses(levels: Floats, places: Floats, length: float, first: int, n_numbers: int) -> Floats:
    """How the drift at levels and at places answers to each normal number from the first on, for slopes of 1."""
    at = np.concatenate([levels, places])
    responses, column = np.zeros((len(at), n_numbers)), first
    for where in at.T:
        slope, drifted = np.zeros(n_numbers), np.zeros(n_numbers)
        slope[column] = 1.0
        column += 1
        order = np.argsort(where, kind="stable")
        for place, distance in zip(
            order.tolist(), np.diff(where[order], prepend=where[order[0]]).tolist(), strict=True
        ):
            if place != order[0]:
                decay = math.exp(-distance / length)
                of_slope, joint = 1.0 - decay * decay, length * (1.0 - decay) ** 2
                of_both = joint / math.sqrt(of_slope) if of_slope > 0.0 else 0.0

                of_drift = max(2.0 * float(half_variogram(distance, length)) - (length * (1.0 - decay)) ** 2, 0.0)
                drifted += length * (1.0 - decay) * slope
                slope *= decay
                drifted[column : column + 2] += of_both, math.sqrt(max(of_drift - of_both**2, 0.0))
                slope[column] += math.sqrt(of_slope)
                column += 2
            responses[place] += drifted
    return responses
