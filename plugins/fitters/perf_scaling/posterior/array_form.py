"""Evidence, predictions, draws and distributions in array operations.

`weigh_shapes` and `mixture_quantiles` are those of `perf_scaling.posterior.kernels`: done with a few paths before these
would be compiled, and the same numbers.
"""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import NamedTuple

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
_log_gamma = np.vectorize(math.lgamma, otypes=[np.float64])


class Terms(NamedTuple):
    """What the evidence of any shape needs of N noises of k levels, under each of H scatters and drifts.

    With S the covariance of the logarithms of k means, u = S^-1 1 and P = S^-1 - u u' / 1'u, a shape h leaves r = m -
    ln h, and its evidence, the level integrated over a flat prior, is ``-1/2 (ln |S| + ln 1'u + r'P r + (k - 1) ln 2
    pi)``. That level i deviates by a further variance v is an update of rank one: with q = P r it adds ``-1/2 ln(1 + v
    P_ii) + 1/2 v q_i^2 / (1 + v P_ii)``.
    """

    base: Floats  # (N, H)
    widest: Floats  # (N, H): no weighted sum of levels whose weights add up to 0 has a larger variance
    projections: Floats  # P (N, H, k, k)
    offset: Floats  # (N, H, k), and the factor of q_i^2, if level i deviates
    gain: Floats
    far: Floats  # weights of residuals in what is predicted far beyond the last level (N, H, k)


def terms_of(noise: Floats, tau: Floats, drift: Floats, extra: Floats, deviates: float) -> Terms:
    """Return the terms for variances of means (N, k).

    `drift` (H, k + 1, k + 1) is the covariance of the drift between the levels and a point far beyond them, and `extra`
    (H, k) the further variance of a level that deviates, which one does with a probability.
    """
    n, k = noise.shape
    covariances = drift[:, :k, :k] + np.zeros((n, 1, 1, 1))
    covariances[..., range(k), range(k)] += tau[:, None] ** 2 + noise[:, None]
    inverse, determinants = inverses(covariances.reshape(-1, k, k))
    sums, totals, projections = (array.reshape(n, len(tau), *array.shape[1:]) for array in projected(inverse))
    log_none, log_one = math.log(1.0 - deviates), math.log(deviates / k)
    spread = 1.0 + extra * np.einsum("nhii->nhi", projections)
    trace, least = np.einsum("nhii->nh", covariances), tau**2 + noise.min(axis=1)[:, None]
    return Terms(
        -0.5 * (determinants.reshape(totals.shape) + np.log(totals) + (k - 1) * _LOG_2PI) + log_none,
        trace - covariances.sum(axis=(2, 3)) / k - max(k - 2, 0) * least,
        projections,
        log_one - log_none - 0.5 * np.log(spread),
        0.5 * extra / spread,
        sums / totals[:, :, None] + (projections @ drift[:, k, :k, None])[..., 0],
    )


def weigh_shapes(
    logs: Floats, noise_of: Ints, base: Floats, widest: Floats, projections: Floats, offset: Floats, gain: Floats,
    far: Floats, centred: Floats, beyond: Floats, log_priors: Floats, parts: int, law: Ints, setting: Ints,
    level: Ints, weight: Floats, count: Ints,
) -> None:  # fmt: skip
    """Write the components of each path: shape, noise, level that deviates or -1, and weight (K, C); and their count.

    `logs` (K, k) are logarithms of means, `noise_of` (K,) the number of the noise of each path in the `Terms` that
    follow. `centred` (k, S) are the logarithms of each shape at the levels less their mean, `beyond` (S,) the logarithm
    far beyond them less that mean; `log_priors` (H, S) are of each scatter and drift, and shape. Of the combinations of
    little weight, below one part in so many, every so many stay, each for all that are near it, in the order of what
    they predict far beyond.
    """
    n_shapes = centred.shape[1]
    for path, n in enumerate(map(int, noise_of)):
        mean = logs[path].mean()
        residuals = (logs[path] - mean)[:, None] - centred
        reached = base[n][:, None] + log_priors
        for number, projection in enumerate(projections[n]):
            q = projection @ residuals
            deviating = np.square(q) * gain[n, number][:, None] + offset[n, number][:, None]
            reached[number] += np.maximum(deviating.max(axis=0), 0.0) - 0.5 * (q * residuals).sum(axis=0)
        best = reached.max()
        likely = reached >= best - UNLIKELY
        of_likely = 1 + int(likely.sum()) // ENOUGH
        counts_for = np.where(likely, of_likely, of_likely * ONE_OF)
        place = np.arange(n_shapes) + np.arange(len(log_priors))[:, None]
        h, s = np.nonzero((reached >= best - HOPELESS) & (place % counts_for == 0))
        q = (projections[n, h] @ residuals.T[s][:, :, None])[:, :, 0]
        masses = np.insert(offset[n, h] + gain[n, h] * q * q, 0, 0.0, axis=1)
        ahead = beyond[s] + mean + (far[n, h] * residuals.T[s]).sum(axis=1)
        aheads = ahead[:, None] - np.insert(2.0 * gain[n, h] * far[n, h] * q, 0, 0.0, axis=1)
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


class AtPlaces:
    """What the levels of K paths that were measured at the same k points say of T places, for each setting.

    Paths of the same noise, and so with the same covariances, share their factorizations. `points` and `places` are
    logarithms, `noise` (K, k) variances of means.
    """

    def __init__(self, points: Floats, noise: Floats, settings: Floats, places: Floats) -> None:
        self.points, self.places, self.settings, (tau, kappa, length) = points, places, settings, settings.T
        self.noises, noise_of = np.unique(noise, axis=0, return_inverse=True)
        self.noise_of = noise_of.ravel()
        k, n = len(points), len(self.noises)
        between = np.abs(points[:, None] - np.concatenate([points, places]))  # (k, k + T, q)
        half = half_variogram(between, length[:, None, None, None]).sum(axis=3)
        scale = (0.5 * kappa * kappa * length)[:, None, None]
        drift = scale * (half[:, -1:, :k].swapaxes(1, 2) + half[:, -1:] - half)  # with level and place
        covariances = drift[:, :, :k] + np.zeros((n, 1, 1, 1))
        covariances[..., range(k), range(k)] += tau[:, None] ** 2 + self.noises[:, None]
        inverse = inverses(covariances.reshape(-1, k, k))[0]
        of_inverse = (array.reshape(n, len(tau), *array.shape[1:]) for array in (inverse, *projected(inverse)))
        inverse, sums, totals, self.projections = of_inverse
        cross = drift[:, :, k:]
        along = (sums[..., None] * cross).sum(axis=2)
        explained = (cross * (inverse @ cross)).sum(axis=2)
        prior = 2.0 * scale[:, 0] * half[:, -1, k:]
        # Weights of the levels at the places (N, H, T, k), projections (N, H, k, k), remaining variances (N, H, T).
        self.weights = np.swapaxes(sums[..., None] / totals[..., None, None] + self.projections @ cross, 2, 3)
        self.remaining = np.maximum(prior - explained + (1.0 - along) ** 2 / totals[..., None], 1e-12)

    def deviation(self, n: Ints, h: Ints, deviant: Ints, deviating: Floats) -> tuple[Floats, Floats, Floats]:
        """Return what changes if a level deviates, for B noises, settings and levels: the further variance (B,), the
        row of the projection (B, k), and how much of its residual is taken back at the places (B, T).
        """
        extra, row = deviating[h, np.minimum(deviant, 1)], self.projections[n, h, deviant]
        share = extra / (1.0 + extra * row[np.arange(len(row)), deviant])
        return extra, row, share[:, None] * self.weights[n, h, :, deviant]


def predict_components(
    at: AtPlaces, residuals: Floats, law: Floats, setting: Ints, deviant: Ints, deviating: Floats
) -> tuple[Floats, Floats]:
    """Return mean and variance of the logarithm at places (K, C, T) of components, without those of little weight.

    `residuals` (K, C, k) are those of the levels, `law` (K, C, T) what the laws give at the places, `deviant` (K, C)
    the number of the level that deviates or -1.
    """
    n = at.noise_of[:, None]
    means = law + np.einsum("pcti,pci->pct", at.weights[n, setting], residuals)
    variances = at.remaining[n, setting]
    path, c = np.nonzero(deviant >= 0)
    numbers = at.noise_of[path], setting[path, c], deviant[path, c]
    _, row, shift = at.deviation(*numbers, deviating)
    means[path, c] -= shift * (row * residuals[path, c]).sum(axis=1)[:, None]
    variances[path, c] += shift * at.weights[numbers[0], numbers[1], :, numbers[2]]
    return means, variances


def mixture_quantiles(means: Floats, variances: Floats, weights: Floats, levels: Floats, quantiles: Floats) -> None:
    """Write quantiles at levels (R, L) of mixtures (R, C) of normal distributions, by Newton's method in a bracket."""
    deviations = np.sqrt(variances)
    shares = weights / weights.sum(axis=1, keepdims=True)
    present = weights > 0.0
    low = np.where(present, means - 9.0 * deviations, np.inf).min(axis=1)[:, None] + np.zeros(levels.shape[1])
    high = np.where(present, means + 9.0 * deviations, -np.inf).max(axis=1)[:, None] + np.zeros(levels.shape[1])
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
        target, before = levels[row, column], x[row, column]
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
    at: AtPlaces, residuals: Floats, law: Floats, setting: Ints, deviant: Ints, deviating: Floats, component: Ints,
    normals: Floats, first: int,
) -> Floats:  # fmt: skip
    """Return coherent draws of the logarithm at places (K, N, T), each of a component of its path (K, N).

    Arguments are those of `predict_components`, with standard normal numbers (N, D); those of the drift begin at
    `first`.
    """
    k, n_settings = residuals.shape[2], len(at.settings)
    kinds = (at.noise_of[:, None] * n_settings + setting) * (k + 1) + deviant + 1
    occurs = np.zeros(len(at.noises) * n_settings * (k + 1), dtype=np.bool_)
    occurs[np.take_along_axis(kinds, component, axis=1)] = True
    number = (np.cumsum(occurs) - 1)[kinds]  # of the kinds that are drawn
    n, h, level = np.unravel_index(np.flatnonzero(occurs), (len(at.noises), n_settings, k + 1))
    far = np.flatnonzero(level)
    adjusted, variances = at.weights[n, h], at.settings[h, :1] ** 2 + at.noises[n]
    extra, row, shift = at.deviation(n[far], h[far], level[far] - 1, deviating)
    adjusted[far] -= shift[:, :, None] * row[:, None]
    variances[far, level[far] - 1] += extra
    answers = np.empty((len(h), len(at.places), normals.shape[1]))  # to each normal number
    for length in np.unique(at.settings[:, 2]).tolist():
        own = at.settings[h, 2] == length
        responses = _drift_responses(at.points, at.places, length, first, normals.shape[1])
        scale = at.settings[h[own], 1] * math.sqrt(0.5 * length)
        answers[own] = scale[:, None, None] * (responses[k:] - adjusted[own] @ responses[:k])
    answers[:, :, :k] -= adjusted * np.sqrt(variances)[:, None]
    drawn = (answers.reshape(-1, normals.shape[1]) @ normals.T).reshape(len(h), len(at.places), len(normals))
    number = np.where(occurs[kinds], number, 0)
    constant = law + np.einsum("pcti,pci->pct", adjusted[number], residuals)
    of_draws = drawn[np.take_along_axis(number, component, axis=1), :, np.arange(len(normals))]
    return np.asarray(np.take_along_axis(constant, component[..., None], axis=1) + of_draws)


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
