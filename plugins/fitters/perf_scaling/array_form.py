"""Evidence, predictions, draws and distributions in array operations.

`weigh_shapes` and `mixture_quantiles` are those of `perf_scaling.kernels`: done with a few paths before these
would be compiled, and the same numbers.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from perfcore.base.arrays import Floats, Ints

FEW = 24  # paths that take no longer than to load compiled kernels does
CLOSE = 1e-4  # step, of the narrowest deviation, with which a search for a quantile ends
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
_LOG_2PI, _ROOT_2PI = math.log(2.0 * math.pi), math.sqrt(2.0 * math.pi)
_BY_ROWS = 32  # levels of which triangles are inverted row by row, and all projections are kept
_NUMBERS_AT_ONCE = 1 << 20  # of matrices, 8 MB


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


def terms_of(at: AtPlaces, extra: Floats, deviates: float) -> Terms:
    """Return the terms from what levels say of one point far beyond them.

    `extra` (H, k) is the further variance of a level that deviates, which one does with a probability.
    """
    covariances = at.covariances
    k, least = len(covariances.points), covariances.settings[:, 0] ** 2 + covariances.noises.min(axis=1)[:, None]
    drift = covariances.drift(covariances.points)
    diagonal = covariances.settings[:, :1] ** 2 + covariances.noises[:, None] + np.einsum("hii->hi", drift)
    in_all = drift.sum(axis=(1, 2)) - np.einsum("hii->h", drift) + diagonal.sum(axis=2)
    log_none, log_one = math.log(1.0 - deviates), math.log(deviates / k)
    spread = 1.0 + extra * covariances.diagonal
    return Terms(
        covariances.evidence + log_none,
        diagonal.sum(axis=2) - in_all / k - max(k - 2, 0) * least,
        covariances.projections,
        log_one - log_none - 0.5 * np.log(spread),
        0.5 * extra / spread,
        at.weights[:, :, 0],
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
    return _inverse_lower(np.asarray(factors, dtype=np.float64)), 2.0 * np.log(np.einsum("bii->bi", factors)).sum(
        axis=1
    )


def _inverse_lower(factors: Floats) -> Floats:
    """Inverses of lower triangular matrices (B, k, k); not by ``np.linalg.inv``: it loses digits."""
    k = factors.shape[1]
    roots = np.zeros_like(factors)
    if k <= _BY_ROWS:
        roots[:, range(k), range(k)] = 1.0
        for i in range(k):
            roots[:, i] -= (factors[:, i, None, :i] @ roots[:, :i])[:, 0]
            roots[:, i] /= factors[:, i, i, None]
        return roots
    half = k // 2
    roots[:, :half, :half], roots[:, half:, half:] = map(
        _inverse_lower, (factors[:, :half, :half], factors[:, half:, half:])
    )
    roots[:, half:, :half] = -roots[:, half:, half:] @ (factors[:, half:, :half] @ roots[:, :half, :half])
    return roots


class Covariances:
    """Factorized covariances S of the logarithms of the means at k points, of N noises under each of H settings.

    With R = `roots`, S^-1 = R'R. If the points are many and on a grid of few levels, whose drifts span few dimensions,
    S^-1 = B - R'R with few rows R, of the diagonal B = `base` (the formula of Sherman, Morrison and Woodbury). With u =
    S^-1 1, the projection P = S^-1 - u u' / 1'u takes the level out.

    `points` (k, q) are logarithms, `noise` (K, k) variances of the means of K paths; those of the same noise share all.
    `factorize` is that of `perf_scaling.kernels`, or nothing if paths are few.
    """

    def __init__(self, points: Floats, noise: Floats, settings: Floats, factorize: Any = None) -> None:
        self.points, self.settings = points, settings
        self.noises, noise_of = np.unique(noise, axis=0, return_inverse=True)
        self.noise_of = noise_of.ravel()
        k, n, n_settings = len(points), len(self.noises), len(settings)
        rank = sum(len(np.unique(levels)) - 1 for levels in points.T)
        self.few_rows = k > _BY_ROWS and 2 * rank < k
        self.sign, size = (-1.0, rank) if self.few_rows else (1.0, k)
        self.roots, self.base = np.empty((n, n_settings, size, k)), np.zeros((n, n_settings, k))
        determinants = np.empty((n, n_settings))
        if factorize and k <= _BY_ROWS:
            self.totals, self.projections = np.empty(determinants.shape), np.empty(self.roots.shape)
            self.sums, self.diagonal = np.empty((2, n, n_settings, k))
            factorize(self.drift(points, settings), settings[:, 0] ** 2, self.noises, self.roots, determinants,
                      self.totals, self.sums, self.diagonal, self.projections)  # fmt: skip
        else:
            self._factorize(determinants)
        # What of the evidence no law changes, the level integrated over a flat prior.
        self.evidence = -0.5 * (determinants + np.log(self.totals) + (k - 1) * _LOG_2PI)

    def _factorize(self, determinants: Floats) -> None:
        """Work out the roots and their sums, and write the logarithms of determinants (N, H)."""
        k, (n, n_settings, size, _) = len(self.points), self.roots.shape
        step = max(1, _NUMBERS_AT_ONCE // (n * size * k))
        for begin in range(0, n_settings, step):
            own = slice(begin, begin + step)
            settings = self.settings[own]
            scatter = settings[:, :1] ** 2 + self.noises[:, None]  # and noise
            if self.few_rows:
                factors = self._drift_factors(settings)
                self.base[:, own] = 1.0 / scatter
                weighted = factors * self.base[:, own, None]
                matrices = np.eye(size) + weighted @ np.swapaxes(factors, 1, 2)
            else:
                matrices = self.drift(self.points, settings) + np.zeros((n, 1, 1, 1))
                matrices[..., range(k), range(k)] += scatter
            roots, logs = inverse_roots(matrices.reshape(-1, size, size))
            roots, logs = roots.reshape(matrices.shape), logs.reshape(n, -1)
            self.roots[:, own] = roots @ weighted if self.few_rows else roots
            determinants[:, own] = logs + np.log(scatter).sum(axis=2) if self.few_rows else logs
        of_ones = self.roots.sum(axis=3)
        self.totals = self.base.sum(axis=2) + self.sign * (of_ones**2).sum(axis=2)  # 1'u (N, H)
        self.sums = self.base + self.sign * (of_ones[:, :, None] @ self.roots)[:, :, 0]  # u (N, H, k)
        self.diagonal = self.base + self.sign * (self.roots**2).sum(axis=2)  # of P (N, H, k)
        self.diagonal -= self.sums**2 / self.totals[..., None]

    @functools.cached_property
    def projections(self) -> Floats:
        """All P (N, H, k, k)."""
        inverse = np.swapaxes(self.roots, 2, 3) @ self.roots
        return np.asarray(inverse - self.sums[..., None] * self.sums[:, :, None] / self.totals[..., None, None])

    def drift(self, places: Floats, settings: Floats | None = None) -> Floats:
        """Covariances (H, k, T) of the drift away from the last point, of the points and of places (T, q)."""
        settings = self.settings if settings is None else settings
        k, rows, drifts = len(self.points), np.concatenate([self.points, places]), {}
        for length in set(settings[:, 2].tolist()):
            half = np.zeros((k, len(rows)))
            for all_levels in rows.T:
                levels, place = np.unique(all_levels, return_inverse=True)
                between = half_variogram(np.abs(levels[:, None] - levels), length)
                half += between[np.ix_(place[:k], place)]
            drifts[length] = half[-1, :k, None] + half[-1, k:] - half[:, k:]
        return np.array([0.5 * kappa * kappa * length * drifts[length] for _, kappa, length in settings.tolist()])

    def _drift_factors(self, settings: Floats) -> Floats:
        """Matrices F (H, r, k) with the drift's covariances F'F, of r levels beside those of the last point."""
        factors = {}
        for length in set(settings[:, 2].tolist()):
            of_parameters = []
            for all_levels in self.points.T:
                levels, place = np.unique(all_levels, return_inverse=True)
                half, last = half_variogram(np.abs(levels[:, None] - levels), length), place[-1]
                values, vectors = np.linalg.eigh(half[last, :, None] + half[last] - half)  # of which one is 0
                of_parameters.append((vectors * np.sqrt(np.maximum(values, 0.0)))[:, 1:].T[:, place])
            factors[length] = np.concatenate(of_parameters)
        return np.array([kappa * math.sqrt(0.5 * length) * factors[length] for _, kappa, length in settings.tolist()])

    def project(self, n: Ints, h: Ints, vectors: Floats) -> Floats:
        """Return P times vectors (B, k, R), for B noises and settings."""
        if vectors.shape[1] <= _BY_ROWS:
            return np.asarray(self.projections[n, h] @ vectors)
        pairs, pair = np.unique(n * len(self.settings) + h, return_inverse=True)
        products = np.empty_like(vectors)
        for number, code in enumerate(pairs.tolist()):
            of, own = divmod(code, len(self.settings)), pair == number
            root, sums = self.roots[of], self.sums[of][:, None]
            flat = np.moveaxis(vectors[own], 1, 0).reshape(len(sums), -1)
            product = self.base[of][:, None] * flat + self.sign * (root.T @ (root @ flat))
            product -= sums * (sums.T @ flat) / self.totals[of]
            products[own] = np.moveaxis(product.reshape(len(sums), -1, vectors.shape[2]), 0, 1)
        return products

    def rows(self, n: Ints, h: Ints, i: Ints) -> Floats:
        """Return rows of P (B, k), for B noises and settings."""
        if len(self.points) <= _BY_ROWS:
            return np.asarray(self.projections[n, h, i])
        return self.project(n, h, np.eye(len(self.points))[i][:, :, None])[:, :, 0]


@functools.lru_cache(maxsize=2)
def _covariances(points: bytes, noise: bytes, settings: bytes, k: int, factorize: Any) -> Covariances:
    at, variances, rows = (np.frombuffer(array) for array in (points, noise, settings))
    return Covariances(at.reshape(k, -1), variances.reshape(-1, k), rows.reshape(-1, 3), factorize)


class AtPlaces:
    """What levels that were measured say of T places, for each noise and setting.

    The weights of the levels at the places are (N, H, T, k), the remaining variances (N, H, T).
    """

    def __init__(self, covariances: Covariances, places: Floats) -> None:
        self.covariances, self.places = covariances, places
        roots, sums, totals = covariances.roots, covariances.sums, covariances.totals
        cross = covariances.drift(places)
        along = (sums[:, :, None] @ cross)[:, :, 0]
        solved = roots @ cross
        explained = covariances.sign * (solved**2).sum(axis=2)
        self.weights = covariances.sign * (np.swapaxes(solved, 2, 3) @ roots)
        if covariances.few_rows:
            explained += (covariances.base[..., None] * cross**2).sum(axis=2)
            self.weights += covariances.base[:, :, None] * np.swapaxes(cross, 1, 2)
        self.weights += (sums / totals[..., None])[:, :, None] * (1.0 - along)[..., None]
        distance = np.abs(covariances.points[-1] - places)
        prior = np.array([half_variogram(distance, length).sum(axis=1) for length in covariances.settings[:, 2]])
        prior *= (covariances.settings[:, 1] ** 2 * covariances.settings[:, 2])[:, None]
        self.remaining = np.maximum(prior - explained + (1.0 - along) ** 2 / totals[..., None], 1e-12)

    @classmethod
    def of(cls, points: Floats, noise: Floats, settings: Floats, places: Floats, factorize: Any) -> AtPlaces:
        """Return that of places of which others with the same points may have been looked at before."""
        arrays = (np.ascontiguousarray(array).tobytes() for array in (points, noise, settings))
        return cls(_covariances(*arrays, len(points), factorize), places)


class Kinds(NamedTuple):
    """Components at T places under the B noises and settings that occur, with a deviating level if there is one.

    `remaining` are as in `AtPlaces`; the variances of levels (B, k), the length and scale of drifts (B,).
    """

    weights: Floats  # of the levels, of all noises and settings (N H, T, k), and which of these a kind has (B,)
    which: Ints
    rows: Floats  # of the projection, of the level that deviates (B, k), else 0
    shifts: Floats  # how much of its residual is taken back at the places (B, T)
    remaining: Floats
    variances: Floats
    lengths: Floats
    scales: Floats


def kinds_of(at: AtPlaces, setting: Ints, deviant: Ints, deviating: Floats) -> tuple[Kinds, Ints]:
    """Return the kinds of components, and the number of each one's (K, C).

    `setting` and `deviant`, a level or -1, are (K, C); `deviating` (H, 2) are further variances.
    """
    known = at.covariances
    shape = len(known.noises), len(known.settings), len(known.points) + 1
    codes = (known.noise_of[:, None] * shape[1] + np.maximum(setting, 0)) * shape[2] + deviant + 1
    occurs = np.zeros(math.prod(shape), dtype=np.bool_)
    occurs[codes] = True
    n, h, level = np.unravel_index(np.flatnonzero(occurs), shape)
    remaining, variances = at.remaining[n, h], known.settings[h, :1] ** 2 + known.noises[n]
    rows, shifts, far = np.zeros(variances.shape), np.zeros(remaining.shape), np.flatnonzero(level)
    i = level[far] - 1
    extra, own = deviating[h[far], np.minimum(i, 1)], at.weights[n[far], h[far], :, i]
    rows[far] = known.rows(n[far], h[far], i)
    shifts[far] = (extra / (1.0 + extra * rows[far, i]))[:, None] * own
    remaining[far] += shifts[far] * own
    variances[far, i] += extra
    lengths = known.settings[h, 2]
    kinds = Kinds(at.weights.reshape(-1, *at.weights.shape[2:]), n * shape[1] + h, rows, shifts, remaining, variances,
                  lengths, known.settings[h, 1] * np.sqrt(0.5 * lengths))  # fmt: skip
    return kinds, (np.cumsum(occurs) - 1)[codes]


def expect(logs: Floats, laws: Floats, ahead: Floats, law: Ints, kinds: Kinds, number: Ints, means: Floats) -> None:
    """Write what components make of places (K, C, T), by their laws and kinds (K, C).

    `logs` (K, k) are those of means at the levels, `laws` (L, k) and `ahead` (L, T) those of laws there and at places.
    """
    residuals, which = logs[:, None] - laws[law], kinds.which[number]
    means[:] = ahead[law]
    if residuals.size * means.shape[2] <= _NUMBERS_AT_ONCE * 8:
        means += np.einsum("pcti,pci->pct", kinds.weights[which], residuals)
    else:
        for one in np.unique(which).tolist():
            means[which == one] += residuals[which == one] @ kinds.weights[one].T
    means -= kinds.shifts[number] * (kinds.rows[number] * residuals).sum(axis=2)[..., None]


def _normal_quantile(probability: Floats) -> Floats:
    """Return standard normal quantiles to 3e-3: M. Abramowitz and I. Stegun, "Handbook of mathematical functions",
    26.2.22.
    """
    t = np.sqrt(-2.0 * np.log(np.minimum(probability, 1.0 - probability)))
    z = t - (2.30753 + 0.27061 * t) / (1.0 + 0.99229 * t + 0.04481 * t * t)
    return np.where(probability < 0.5, -z, z)


def _polynomial(coefficients: Sequence[float], x: Floats) -> Floats:
    value = coefficients[0] * x
    for coefficient in coefficients[1:-1]:
        value += coefficient
        value *= x
    value += coefficients[-1]
    return value


class Mixtures(NamedTuple):
    """Mixtures (R) of normal distributions: C components, each of J kinds with further variances."""

    means: Floats  # (R, C)
    variances: Floats
    squares: Floats  # of the scatter
    weights: Floats
    shares: Floats  # of the kinds (R, J)
    constants: Floats  # of the further variance (R, J), and factors of the square of the scatter
    factors: Floats

    def one_by_one(self) -> tuple[Floats, Floats, Floats]:
        """Return means, variances and weights (R, J C)."""
        shape = len(self.means), -1
        further = self.constants[..., None] + self.factors[..., None] * self.squares[:, None]
        return (
            np.tile(self.means, (1, self.shares.shape[1])),
            (self.variances[:, None] + further).reshape(shape),
            (self.shares[..., None] * self.weights[:, None]).reshape(shape),
        )


def mixture_quantiles(mixtures: Mixtures, levels: Floats, quantiles: Floats) -> None:
    """Write quantiles at levels (R, L) of mixtures, by Halley's method in a bracket."""
    means, variances, weights = mixtures.one_by_one()
    deviations = np.sqrt(variances)
    shares = weights / weights.sum(axis=1, keepdims=True)
    present, per_deviation = weights > 0.0, 1.0 / deviations
    low = np.where(present, means - 9.0 * deviations, np.inf).min(axis=1)[:, None] + np.zeros(levels.shape[1])
    high = np.where(present, means + 9.0 * deviations, -np.inf).max(axis=1)[:, None] + np.zeros(levels.shape[1])
    close = CLOSE * np.where(present, deviations, np.inf).min(axis=1)[:, None]
    mean = (shares * means).sum(axis=1, keepdims=True)
    spread = np.sqrt(np.maximum((shares * (variances + means * means)).sum(axis=1, keepdims=True) - mean * mean, 0.0))
    x, is_open = mean + spread * _normal_quantile(levels), np.ones(low.shape, dtype=np.bool_)
    x = np.where((low < x) & (x < high), x, 0.5 * (low + high))
    for _ in range(120):
        row, column = np.nonzero(is_open)
        if not len(row):
            break
        z = (x[row, column][:, None] - means[row]) * per_deviation[row]
        far = np.minimum(np.abs(z), FARTHEST)
        bell = np.where(far < FARTHEST, np.exp(-0.5 * far * far), 0.0)
        tail = bell * _polynomial(ABOVE, far) / _polynomial(UNDER, far)
        below = (shares[row] * np.where(z < 0.0, tail, 1.0 - tail)).sum(axis=1)
        densities = shares[row] * per_deviation[row] * bell
        density, falls = densities.sum(axis=1), (densities * per_deviation[row] * z).sum(axis=1)
        target, before = levels[row, column], x[row, column]
        low[row, column] = np.where(below < target, before, low[row, column])
        high[row, column] = np.where(below < target, high[row, column], before)
        with np.errstate(divide="ignore", invalid="ignore"):
            step = (below - target) * _ROOT_2PI / density
            after = before - step / np.maximum(1.0 + 0.5 * step * falls / density, 0.5)
        inside = (after == before) | (low[row, column] < after) & (after < high[row, column])
        middle = 0.5 * (low[row, column] + high[row, column])
        x[row, column] = np.where(inside, after, middle)
        gap = np.where(inside, np.abs(after - before), high[row, column] - low[row, column])
        is_open[row, column] = gap >= close[row, 0]
    quantiles[:] = x


def draw_kinds(
    kinds: Kinds, number: Ints, levels: Floats, places: Floats, of_levels: Floats, of_drift: Floats
) -> Floats:
    """Return coherent draws (K, N, T) of how far the logarithm at places is from what is expected.

    Each is of one kind, the `number` (K, N). Of standard normal numbers there are k of each draw for the levels, and
    more for the drift: (N, k) and (N, D).
    """
    k, n_draws, n_places = len(levels), number.shape[1], len(places)
    lengths, of_length = np.unique(kinds.lengths, return_inverse=True)
    drifts = np.array([_drift_draws(levels, places, length, of_drift.T).T for length in lengths.tolist()])  # (., N, .)
    drawn, deviations = np.empty((number.size, n_places)), np.sqrt(kinds.variances)
    step = max(1, _NUMBERS_AT_ONCE // (4 * n_places * k))
    for begin in range(0, number.size, step):
        own = number.ravel()[begin : begin + step]
        draw = np.arange(begin, begin + len(own)) % n_draws
        drifted = drifts[of_length[own], draw] * kinds.scales[own, None]
        off = drifted[:, :k] + of_levels[draw] * deviations[own]
        part = drifted[:, k:] - (kinds.weights[kinds.which[own]] @ off[:, :, None])[:, :, 0]
        drawn[begin : begin + step] = part + kinds.shifts[own] * (kinds.rows[own] * off).sum(axis=1)[:, None]
    return drawn.reshape(*number.shape, n_places)


def _drift_draws(levels: Floats, places: Floats, length: float, normals: Floats) -> Floats:
    """Return draws (k + T, N) of the drift at levels and places, for slopes of 1, from normal numbers (D, N)."""
    at = np.concatenate([levels, places])
    drifts = np.zeros((len(at), normals.shape[1]))
    for number, where in enumerate(at.T):  # each has two numbers for every step between places, used or not
        own_normals = normals[number * (2 * len(at) - 1) :]
        slope, drifted = own_normals[0], np.zeros(normals.shape[1])
        order = np.argsort(where, kind="stable")
        steps = np.diff(where[order], prepend=where[order[0]])
        ends = np.flatnonzero(np.append(steps[1:] > 0.0, True)) + 1  # of places at the same level, which drift alike
        for begin, end in zip([0, *ends[:-1].tolist()], ends.tolist(), strict=True):
            if begin:
                distance = float(steps[begin])
                decay = math.exp(-distance / length)
                of_slope, joint = 1.0 - decay * decay, length * (1.0 - decay) ** 2
                of_both = joint / math.sqrt(of_slope) if of_slope > 0.0 else 0.0
                of_drift = max(2.0 * float(half_variogram(distance, length)) - (length * (1.0 - decay)) ** 2, 0.0)
                both, own = own_normals[2 * begin - 1 : 2 * begin + 1]
                drifted = drifted + length * (1.0 - decay) * slope
                drifted += of_both * both + math.sqrt(max(of_drift - of_both**2, 0.0)) * own
                slope = decay * slope + math.sqrt(of_slope) * both
            drifts[order[begin:end]] += drifted
    return drifts
