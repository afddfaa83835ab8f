"""Weighing laws of several parameters, whose exponents and shares are continuous.

A law is ``c (floor + sum_t e^b_t prod_p (x_p / top_p)^a_tp)``, with all numbers but c in a vector theta that has a
normal prior. Around the theta that explains a path best its logarithm is nearly linear, so that with covariance S of
the means the evidence is that of a normal distribution (D. MacKay, "Information theory, inference, and learning
algorithms", 2003, chapter 27). Draws of theta are weighed by what the law itself says of the data over what its linear
form says.

Shapes: K paths, k measured points, H noises, P numbers in theta, N draws of each path.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from perf_scaling.array_form import Covariances, inverse_roots
from perfcore.base.arrays import Floats, Ints

_ITERATIONS, _TRIES = 40, 8
_LEAST, _MOST = 0.3, 4.0  # exponents with which the search begins
_MANY_LEVELS, _FIRST_LAWS, _HOPELESS = 64, 6, 40.0  # the last of logarithms of the evidence
_FARTHER, _FAR = 1.5, 15.0  # a cost of so many times the least and this more: no scatter or drift makes up for that


class Forms(NamedTuple):
    """Logarithms of up to T terms of F forms at k points: ``constant + slopes theta``, times powers of logarithms."""

    floor: Floats  # (F,)
    constant: Floats  # (F, T, k)
    factor: Floats  # (F, T, k)
    slopes: Floats  # (F, P, T, k)
    is_exponent: Ints  # parameter of each number in theta (F, P), -1 of shares and of numbers that are not used
    middle: Floats  # of the prior of theta (F, P)
    precision: Floats
    log_weight: Floats  # (F,)

    def values(self, f: Ints, theta: Floats) -> tuple[Floats, Floats]:
        """Return logarithms of laws (B, k) with theta (B, P), and the shares of their terms (B, T, k)."""
        power = (theta[:, None] @ self.slopes.reshape(*self.middle.shape, -1)[f])[:, 0]
        power = self.constant[f] + power.reshape(-1, *self.constant.shape[1:])
        terms = self.factor[f] * np.exp(np.minimum(power, 300.0))
        total = np.maximum(self.floor[f, None] + terms.sum(axis=1), 1e-300)
        return np.log(total), terms / total[:, None]

    def gradients(self, f: Ints, shares: Floats) -> Floats:
        """Return gradients (B, k, P) of the logarithms of laws."""
        return np.asarray(np.einsum("bti,bati->bia", shares, self.slopes[f]))

    def best(self, f: Ints, theta: Floats, values: Floats, weights: Floats) -> tuple[Floats, Floats]:
        """Return theta (B, P) that explains values (B, k) best, and the cost (B,); the search begins at theta.

        Forms of as many terms and numbers go together, without those that only others have.
        """
        n_terms = self.factor.any(axis=2).sum(axis=1)
        sizes = ((self.is_exponent >= 0) | self.slopes.any(axis=(2, 3))).sum(axis=1)
        theta, costs, kinds = theta.copy(), np.empty(len(theta)), np.stack([n_terms, sizes], axis=1).clip(1)[f]
        for t, p in np.unique(kinds, axis=0).tolist():
            some = self._replace(
                constant=self.constant[:, :t], factor=self.factor[:, :t], slopes=self.slopes[:, :p, :t],
                middle=self.middle[:, :p], precision=self.precision[:, :p],
            )  # fmt: skip
            own = np.flatnonzero((kinds == (t, p)).all(axis=1))
            theta[own, :p], costs[own] = some._descend(f[own], theta[own, :p], values[own], weights[own])
        return theta, costs

    def _descend(self, f: Ints, theta: Floats, values: Floats, weights: Floats) -> tuple[Floats, Floats]:
        """Return the best theta (B, P) and its cost (B,), by Levenberg and Marquardt's method."""
        theta, shares = theta.copy(), weights / weights.sum(axis=1, keepdims=True)

        def centred(theta: Floats, rows: Ints) -> tuple[Floats, Floats, Floats]:
            value, of_terms = self.values(f[rows], theta)
            gradient, residual = self.gradients(f[rows], of_terms), values[rows] - value
            residual -= (shares[rows] * residual).sum(axis=1, keepdims=True)
            gradient -= shares[rows, None] @ gradient
            prior = (self.precision[f[rows]] * (theta - self.middle[f[rows]]) ** 2).sum(axis=1)
            return residual, gradient, 0.5 * ((weights[rows] * residual**2).sum(axis=1) + prior)

        residuals, gradients, costs = centred(theta, np.arange(len(theta)))
        damping, tries, iterations = np.full(len(theta), 1e-2), np.zeros(len(theta)), np.zeros(len(theta))
        rows, numbers = np.flatnonzero((self.slopes != 0.0).sum(axis=(1, 2, 3))[f]), range(theta.shape[1])
        while len(rows):
            precision, weighed = self.precision[f[rows]], np.swapaxes(gradients[rows] * weights[rows, :, None], 1, 2)
            right = (weighed @ residuals[rows, :, None])[:, :, 0] - precision * (theta[rows] - self.middle[f[rows]])
            normal = weighed @ gradients[rows]
            normal[:, numbers, numbers] = (normal[:, numbers, numbers] + precision) * (1.0 + damping[rows, None])
            trial = theta[rows] + np.clip(np.linalg.solve(normal, right[:, :, None])[:, :, 0], -2.0, 2.0)
            residual, gradient, cost = centred(trial, rows)
            better = cost < costs[rows]
            goes_on = ~better | (costs[rows] - cost > 1e-6 * (1.0 + costs[rows]))
            accepted = rows[better]
            theta[accepted], residuals[accepted] = trial[better], residual[better]
            gradients[accepted], costs[accepted] = gradient[better], cost[better]
            damping[rows] = np.where(better, np.maximum(0.2 * damping[rows], 1e-9), 6.0 * damping[rows])
            tries[rows] = np.where(better, 0, tries[rows] + 1)
            iterations[accepted] += 1
            rows = rows[goes_on & (tries[rows] < _TRIES) & (iterations[rows] < _ITERATIONS)]
        return theta, costs

    def search(self, values: Floats, weights: Floats, slopes: Floats, scales: Floats) -> tuple[Floats, Floats]:
        """Return theta (K, F, P) of each path and form, and its cost (K, F); infinite of many points and a poor form.

        The search for exponents begins at slopes (K, q) times each of some scales. Of many points some are looked at
        first.
        """
        if (step := values.shape[1] // _MANY_LEVELS) > 1:
            some = np.arange(0, values.shape[1], step)
            of_some = self._replace(
                constant=self.constant[..., some], factor=self.factor[..., some], slopes=self.slopes[..., some]
            )
            theta, costs = of_some.search(values[:, some], weights[:, some], slopes, scales)
            path, f = np.nonzero(costs <= 2.0 * _FARTHER * costs.min(axis=1, keepdims=True) + _FAR)
            costs = np.full(costs.shape, np.inf)
            theta[path, f], costs[path, f] = self.best(f, theta[path, f], values[path], weights[path])
            return theta, costs
        is_free = self.is_exponent >= 0
        starts = slopes[:, None, self.is_exponent] * scales[:, None, None]
        starts = np.where(is_free, np.copysign(np.clip(np.abs(starts), _LEAST, _MOST), starts), 0.0)
        path, start, f = np.nonzero(
            np.broadcast_to(is_free.any(axis=1) | (np.arange(len(scales)) == 0)[:, None], starts.shape[:3])
        )
        costs = np.full(starts.shape[:3], np.inf)
        starts[path, start, f], costs[path, start, f] = self.best(
            f, starts[path, start, f], values[path], weights[path]
        )
        best = costs.argmin(axis=1)[:, None]
        theta = np.take_along_axis(starts, best[..., None], axis=1)[:, 0]
        return theta, np.take_along_axis(costs, best, axis=1)[:, 0]


class Draws(NamedTuple):
    """Draws of each path: theta (K, N, P), and form, noise, level that deviates or -1, and weight (K, N)."""

    theta: Floats
    form: Ints
    setting: Ints
    level: Ints
    weight: Floats


def weigh_forms(
    forms: Forms, points: Floats, values: Floats, noise: Floats, slopes: Floats, scales: Floats, settings: Floats,
    log_setting: Floats, deviates: float, deviating: Floats, reference: float, normals: Floats,
) -> Draws:  # fmt: skip
    """Draw a law, a noise, and which level deviates, as components of each path.

    `points` (k, q) are logarithms of levels, `values` and `noise` (K, k) of means, and the variances that runs give
    them. `settings` (H, 3) are scatter, drift and its length, with their prior, and the further variance of a level
    that deviates, which each does with a probability, at most 1/2 in all. The best theta is looked for with a variance
    `reference` of a level. `normals` (N, P) are standard normal.
    """
    (n_paths, k), n_draws = values.shape, len(normals)
    theta, costs = forms.search(values, 1.0 / (reference + noise), slopes, scales)
    path, number = np.nonzero(costs <= _FARTHER * costs.min(axis=1, keepdims=True) + _FAR)
    theta, middle, precision = theta[path, number], forms.middle[number], forms.precision[number]
    value, shares = forms.values(number, theta)
    gradients = forms.gradients(number, shares)
    # What a law that is linear in theta leaves.
    linear = values[path] - value + (gradients @ (theta - middle)[:, :, None])[:, :, 0]
    probability = min(0.5, deviates * k)
    log_none, log_one = math.log(1.0 - probability), math.log(probability / k)
    prior = forms.log_weight[number] + 0.5 * np.log(precision).sum(axis=1)
    masses = np.full((n_paths, len(settings), len(forms.floor), k + 1), -np.inf)
    covariances = Covariances(points, noise, settings)
    noise_of, vectors = covariances.noise_of[path], np.concatenate([linear[:, :, None], gradients], axis=2)

    def weigh(own: Ints, h: int, extra: float) -> None:
        """Write the evidence of some laws of paths under one setting."""
        fit = _linear_fit(
            covariances.project(noise_of[own], np.full_like(own, h), vectors[own]), vectors[own], precision[own]
        )
        explained = (fit.q * linear[own]).sum(axis=1) - (fit.right * fit.solution).sum(axis=1)
        none = log_setting[h] + covariances.evidence[noise_of[own], h] + log_none + prior[own]
        none -= 0.5 * (explained + fit.determinant)
        residual = fit.q - (fit.along @ fit.solution[:, :, None])[:, :, 0]
        diagonal = covariances.diagonal[noise_of[own], h] - (fit.along * (fit.along @ fit.inverse)).sum(axis=2)
        spread = 1.0 + extra * np.maximum(diagonal, 0.0)
        more = 0.5 * extra * residual**2 / spread - 0.5 * np.log(spread)
        masses[path[own], h, number[own]] = none[:, None] + np.insert(more + (log_one - log_none), 0, 0.0, axis=1)

    every, first = np.arange(len(path)), np.empty(0, dtype=np.int64)
    if k >= _MANY_LEVELS:  # where the best laws make a setting hopeless, others are not weighed under it
        rank = np.argsort(np.argsort(costs, axis=1), axis=1)[path, number]
        first, every = every[rank < _FIRST_LAWS], every[rank >= _FIRST_LAWS]
    for h, extra in enumerate(deviating.tolist() if len(first) else []):
        weigh(first, h, extra)
    reached = masses.max(axis=(2, 3))
    hopeless = reached < reached.max(axis=1, keepdims=True) - _HOPELESS if len(first) else np.zeros_like(reached, bool)
    for h, extra in enumerate(deviating.tolist()):
        if len(own := every[~hopeless[path[every], h]]):
            weigh(own, h, extra)
    shares = np.exp(masses - masses.max(axis=(1, 2, 3), keepdims=True)).reshape(n_paths, -1).cumsum(axis=1)
    sides = np.arange(n_draws) + 0.5
    kinds = np.stack([np.searchsorted(row / row[-1] * n_draws, sides) for row in shares])
    setting, of_form, level = np.unravel_index(kinds.ravel(), masses.shape[1:])
    pairs = np.zeros(costs.shape, dtype=np.int64)
    pairs[path, number] = np.arange(len(path))
    of_draws = np.stack([np.repeat(np.arange(n_paths), n_draws), setting, of_form, level - 1])
    return _drawn(forms, values, vectors, middle, precision, pairs, covariances, of_draws, deviating, normals)


class _LinearFit(NamedTuple):
    """The normal distribution of theta for laws that are linear in it, of B laws and covariances."""

    q: Floats  # inverse covariance times the residuals (B, k)
    along: Floats  # inverse covariance times the gradient (B, k, P)
    right: Floats  # (B, P)
    roots: Floats  # inverse of the Cholesky factor of the precision (B, P, P)
    inverse: Floats  # covariance of theta (B, P, P)
    determinant: Floats  # logarithm of that of the precision (B,)
    solution: Floats  # mean of theta less that of its prior (B, P)


def _linear_fit(projected: Floats, vectors: Floats, precision: Floats) -> _LinearFit:
    """Fit residuals, the first of vectors (B, k, 1 + P), by gradients, the others, whose projections are given."""
    q, along, gradients = projected[:, :, 0], projected[:, :, 1:], vectors[:, :, 1:]
    right = np.einsum("bka,bk->ba", along, vectors[:, :, 0])
    normal = np.swapaxes(gradients, 1, 2) @ along
    normal[:, range(precision.shape[1]), range(precision.shape[1])] += precision
    roots, determinants = inverse_roots(normal)
    inverse = np.swapaxes(roots, 1, 2) @ roots
    return _LinearFit(q, along, right, roots, inverse, determinants, (inverse @ right[:, :, None])[:, :, 0])


def _drawn(
    forms: Forms, values: Floats, vectors: Floats, middle: Floats, precision: Floats, pairs: Ints,
    covariances: Covariances, kinds: Ints, deviating: Floats, normals: Floats,
) -> Draws:  # fmt: skip
    """Draws of theta for each path and the kind (4, K N): path, noise, form, level that deviates or -1.

    `vectors`, `middle` and `precision` are of pairs of a path and a form, with their numbers in `pairs`.
    """
    n_draws = len(normals)
    groups, group = np.unique(kinds, axis=1, return_inverse=True)
    group = group.ravel()
    path, h, form, level = groups
    pair, far, n = pairs[path, form], np.flatnonzero(level >= 0), covariances.noise_of[path]
    rows, shrink = np.zeros((len(pair), values.shape[1])), np.zeros(len(pair))
    rows[far] = covariances.rows(n[far], h[far], level[far])
    shrink[far] = deviating[h[far]] / (1.0 + deviating[h[far]] * rows[far, level[far]])

    def project(own: Ints, vectors: Floats) -> Floats:
        """Return P times vectors (B, k, R) of groups, whose level that deviates counts for less."""
        less = shrink[own, None, None] * rows[own, :, None] * (rows[own, None] @ vectors)
        return covariances.project(n[own], h[own], vectors) - less

    fit = _linear_fit(project(np.arange(len(pair)), vectors[pair]), vectors[pair], precision[pair])
    left, of_left = (
        first - (others @ fit.solution[:, :, None])[:, :, 0]
        for first, others in ((vectors[pair, :, 0], vectors[pair, :, 1:]), (fit.q, fit.along))
    )
    of_solution = (left * of_left).sum(axis=1) + (precision[pair] * fit.solution**2).sum(axis=1)
    of_draws = np.tile(normals, (len(values), 1))
    shifts = np.einsum("ba,bac->bc", of_draws, fit.roots[group]) + fit.solution[group]
    theta = shifts + middle[pair][group]
    residuals = values[path[group]] - forms.values(form[group], theta)[0]
    exact = (residuals * project(group, residuals[:, :, None])[:, :, 0]).sum(axis=1)
    exact += (precision[pair][group] * shifts**2).sum(axis=1)
    excess = 0.5 * (of_solution[group] + (of_draws**2).sum(axis=1) - exact)
    weight = np.exp(np.clip(excess, -30.0, 2.0)).reshape(-1, n_draws)
    shape = weight.shape
    return Draws(
        theta.reshape(*shape, -1), form[group].reshape(shape), h[group].reshape(shape), level[group].reshape(shape),
        weight / weight.sum(axis=1, keepdims=True),
    )  # fmt: skip
