"""Weighing the laws of several parameters: sums and products of powers with continuous exponents.

Every parameter matters or does not. Given those that do, a law is a power of each in a product or a sum, or a product
and one of its factors, each with a floor or without. Exponents and the shares of terms at the largest levels have wide
normal priors; noise, drift of every slope, and a level that deviates are those of one parameter.

A law is ``c (floor + sum_t e^b_t prod_p (x_p / top_p)^a_tp)``, with all numbers but c in a vector theta. Around the
theta that explains a path best its logarithm is nearly linear, so that with covariance S of the means the evidence is
that of a normal distribution (D. MacKay, "Information theory, inference, and learning algorithms", 2003, chapter 27).
Draws of theta are weighed by what the law itself says of the data over what its linear form says.

Shapes: K paths, k measured points, H noises, P numbers in theta, N draws of each path.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from perf_scaling.array_form import Covariances, inverse_roots
from perf_scaling.family import DEVIATES, NOISES, PRIOR, deviating_variance, settings
from perf_scaling.options import Given
from perf_scaling.posterior import Laws, Posterior, in_parts
from perfcore.base.arrays import Floats, Ints
from perfcore.base.errors import OptionError

_PARTS, _PARTS_OF_MANY = 192, 96  # draws of a law of each path
_MANY = 500  # paths, of which fewer draws do, as nobody looks at each
_NUMBERS_AT_ONCE = 1 << 20
_SEED = 7041

_EXPONENT, _EXPONENT_DEVIATION = 0.5, 1.25
_SHARE, _SHARE_DEVIATION = 0.0, 2.5  # logarithm of a term over the one before it, at the largest levels
_STARTS = np.array([1.0, 2.0])  # times the slope: exponents beside a floor are steeper
_REFERENCE = 0.02**2  # scatter with which the best exponents are looked for

_NOTHING, _SEVERAL = 0.1, 0.5  # probability that no parameter matters, and that all do; the rest for the others
_MOST_APART = 2  # factors that have logarithms each for itself
_LOGARITHM = 0.8  # weight of a logarithm beside a power with a free exponent
_MIXED = 0.25  # weight of a product and one of its factors beside a sum or a product
_MOST_GIVEN = 3000  # laws of exponents that a user names
_ITERATIONS, _TRIES = 40, 8
_LEAST, _MOST = 0.3, 4.0  # exponents with which the search begins
_MANY_LEVELS, _FIRST_LAWS, _HOPELESS = 64, 6, 40.0  # the last of logarithms of the evidence
_FARTHER, _FAR = 1.5, 15.0  # a cost of so many times the least and this more: no scatter or drift makes up for that


class _Form(NamedTuple):
    floor: bool
    terms: tuple[tuple[int, ...], ...]  # parameters of each
    weight: float


def weigh_several(
    points: Floats, means: Floats, counts: Floats, spread: Floats, given: Given | None = None
) -> Posterior:
    """Return what the means of K paths at points (n, q) leave open."""
    q = points.shape[1]
    top = points.max(axis=0)
    levels = np.log(points / top)
    with np.errstate(divide="ignore", invalid="ignore"):
        base = np.log2(points) / np.where(top > 1.0, np.log2(top), 1.0)
    forms = list(_forms(q))
    allowed = None if given is None else _given(given, bool((points >= 1.0).all()))
    is_free = allowed is None
    fixed, logs, chosen = _laws(forms, allowed, q, bool((points > 1.0).all()))
    terms = max(1, *(len(form.terms) for form in chosen))
    uses = np.zeros((len(chosen), terms, q), dtype=np.int64)
    for number, form in enumerate(chosen):
        for t, term in enumerate(form.terms):
            uses[number, t, list(term)] = 1
    n_shares = np.array([max(len(form.terms) - (0 if form.floor else 1), 0) for form in chosen])
    sizes = n_shares + is_free * uses.sum(axis=(1, 2))
    width = max(1, int(sizes.max()))
    is_share = np.arange(width) < n_shares[:, None]
    middle = np.where(is_share, _SHARE, _EXPONENT)
    precision = np.where(is_share, _SHARE_DEVIATION**-2, _EXPONENT_DEVIATION**-2)
    log_weights = np.log([form.weight for form in chosen])
    log_weights -= math.log(sum(form.weight for form in chosen))
    class_share = PRIOR.sum(axis=1)[NOISES.drift] / np.bincount(NOISES.drift)[NOISES.drift]
    parts = _PARTS if len(means) < _MANY else _PARTS_OF_MANY
    normals = np.random.default_rng(_SEED).standard_normal((parts, width))
    theta = np.zeros((len(means), parts, width))
    form_of, setting, level = (np.full((len(means), parts), -1, dtype=np.int64) for _ in range(3))
    weight = np.zeros((len(means), parts))
    with np.errstate(invalid="ignore"):
        values = np.log(means)
    slopes = _slopes(levels, values)
    noise = spread[:, None] / np.where(counts > 0.0, counts, np.nan)
    patterns, pattern = np.unique(np.isfinite(values), axis=0, return_inverse=True)
    for number, measured in enumerate(patterns):
        used, paths = np.flatnonzero(measured), np.flatnonzero(pattern.ravel() == number)
        at = (levels[used], np.nan_to_num(base)[used])
        terms_at = [_terms_at(form, is_free, fixed[f], logs[f], width, *at) for f, form in enumerate(chosen)]
        constant, factor, of_theta, is_exponent = map(np.array, zip(*terms_at, strict=True))
        floor = np.array([float(form.floor or not form.terms) for form in chosen])
        forms_at = Forms(floor, constant, factor, of_theta, is_exponent, middle, precision, log_weights)

        def part(chunk: slice, paths: Ints = paths, used: Ints = used, forms_at: Forms = forms_at) -> None:
            rows = paths[chunk]
            grid = np.ix_(rows, used)
            theta[rows], form_of[rows], setting[rows], deviating, weight[rows] = weigh_forms(
                forms_at, levels[used], values[grid], noise[grid], slopes[rows], np.log(class_share), normals
            )
            level[rows] = np.append(used, -1)[deviating]

        size = len(NOISES.tau) * len(chosen) * (len(used) + 1)
        in_parts(part, len(paths), max(1, _NUMBERS_AT_ONCE // size))
    setting = np.where(weight > 0.0, setting, -1)
    laws = _stored_laws(chosen, uses, is_free, fixed, logs, n_shares, theta, form_of, top)
    law = np.where(weight > 0.0, np.arange(form_of.size).reshape(form_of.shape), -1)
    order = np.argsort(weight <= 0.0, axis=1, kind="stable")
    law, setting, level, weight = (np.take_along_axis(array, order, axis=1) for array in (law, setting, level, weight))
    return Posterior(points, means, counts, spread, laws, settings(), law, setting, level, weight)


def _terms_at(
    form: _Form, is_free: bool, fixed: Floats, logs: Ints, width: int, levels: Floats, base: Floats
) -> tuple[Floats, Floats, Floats, Ints]:
    """Return terms of a form as `Forms` has them, at points (k, q) by logarithms of levels over the largest."""
    n_terms, shift = len(form.terms), 0 if form.floor else 1
    shares = max(n_terms - shift, 0)
    factor = np.zeros((len(logs), len(levels)))
    factor[:n_terms] = (base ** logs[:n_terms, None]).prod(axis=2)
    slopes, is_exponent = np.zeros((width, *factor.shape)), np.full(width, -1)
    slopes[range(shares), range(shift, shift + shares)] = 1.0
    places = [(t, p) for t, term in enumerate(form.terms) for p in term] if is_free else []
    for number, (t, p) in enumerate(places, start=shares):
        slopes[number, t], is_exponent[number] = levels[:, p], p
    return np.einsum("tq,kq->tk", fixed, levels), factor, slopes, is_exponent


def left_out(points: Floats, given: Given | None) -> str:
    """Return which laws would be too many for the exponents that a user names; empty if none."""
    q = points.shape[1]
    if given is None:
        return ""
    count = len(_given(given, bool((points >= 1.0).all())))
    factors = max(sum(map(len, form.terms)) for form in _forms(q))
    most = int(_MOST_GIVEN ** (1.0 / q) + 1e-9)
    if count > most:
        raise OptionError(
            f"{count} powers and logarithms are {count**q:,} laws of {q} parameters of each form, more than "
            f"{_MOST_GIVEN:,}; name at most {most} with --exponents and --logarithms, or none for any exponent"
        )
    fewer = int(_MOST_GIVEN ** (1.0 / factors) + 1e-9)
    if count <= fewer:
        return ""
    return (
        f"laws with more factors than parameters were left out: {count} powers and logarithms make too many; "
        f"with {fewer} or fewer they are weighed too"
    )


def _forms(q: int) -> Iterator[_Form]:
    yield _Form(True, (), _NOTHING)
    for count in range(1, q + 1):
        subsets = list(itertools.combinations(range(q), count))
        share = (_SEVERAL if count == q else (1.0 - _NOTHING - _SEVERAL) / (q - 1)) / len(subsets)
        for subset in subsets:
            variants = [(floor, terms, weight) for terms, weight in _sums(subset) for floor in (False, True)]
            total = sum(weight for _, _, weight in variants)
            for floor, terms, weight in variants:
                yield _Form(floor, terms, share * weight / total)


def _sums(subset: tuple[int, ...]) -> Iterator[tuple[tuple[tuple[int, ...], ...], float]]:
    """Yield ways to put parameters into terms, with weights: a partition, or a product and one of its factors."""
    yield from ((tuple(tuple(group) for group in groups), 1.0) for groups in _partitions(list(subset)))
    if len(subset) == 2:
        yield from (((subset, (one,)), _MIXED) for one in subset)


def _partitions(items: list[int]) -> Iterator[list[list[int]]]:
    if not items:
        yield []
        return
    for groups in _partitions(items[1:]):
        yield [[items[0]], *groups]
        for k in range(len(groups)):
            yield [*groups[:k], [items[0], *groups[k]], *groups[k + 1 :]]


def _given(given: Given, positive: bool) -> list[tuple[float, int]]:
    """Return generic terms that a user names; logarithms only if none is negative."""
    return [(i, j) for i, j in given.terms(("-1", "0", "1/2", "1", "3/2", "2", "3")) if positive or not j]


def _laws(
    forms: Sequence[_Form], allowed: Sequence[tuple[float, int]] | None, q: int, positive: bool
) -> tuple[Floats, Ints, list[_Form]]:
    """Return forms with free exponents, or with every choice of those given: exponents, logarithms, forms.

    Beside free exponents logarithms come where all levels are above 1 (`positive`).
    """
    terms = max(1, *(len(form.terms) for form in forms))
    fixed, logs, chosen = [], [], []
    for form in forms:
        places = [(t, p) for t, term in enumerate(form.terms) for p in term]
        choices: list[tuple[tuple[float, int], ...]] = [()]
        if allowed is None and places and positive:
            # Logarithms of none or one of two powers, or of all.
            count = len(places)
            of_each = itertools.product((0, 1), repeat=count) if count <= _MOST_APART else [(0,) * count, (1,) * count]
            choices = [tuple((0.0, j) for j in powers) for powers in of_each]
        elif allowed is not None:
            count = len(allowed) ** len(places)
            if count > _MOST_GIVEN:
                continue
            choices = list(itertools.product(allowed, repeat=len(places)))
        sizes = np.array([_LOGARITHM ** sum(j for _, j in choice) if allowed is None else 1.0 for choice in choices])
        shares = sizes / sizes.sum()
        for number, choice in enumerate(choices):
            exponents, powers = np.zeros((terms, q)), np.zeros((terms, q), dtype=np.int64)
            for (t, p), (i, j) in zip(places, choice, strict=bool(choice)):
                exponents[t, p], powers[t, p] = i, j
            fixed.append(exponents)
            logs.append(powers)
            chosen.append(form._replace(weight=form.weight * shares[number]))
    return np.array(fixed), np.array(logs), chosen


def _slopes(levels: Floats, values: Floats) -> Floats:
    """Return the slope of each path (K, q) over every parameter, of a product of powers by least squares."""
    slopes = np.zeros((len(values), levels.shape[1]))
    patterns, pattern = np.unique(np.isfinite(values), axis=0, return_inverse=True)
    for number, measured in enumerate(patterns):
        paths = np.flatnonzero(pattern.ravel() == number)
        design = np.column_stack([np.ones(int(measured.sum())), levels[measured]])
        slopes[paths] = (np.linalg.pinv(design) @ values[np.ix_(paths, np.flatnonzero(measured))].T)[1:].T
    return slopes


def _stored_laws(
    forms: Sequence[_Form], uses: Ints, is_free: bool, fixed: Floats, logs: Ints, n_shares: Ints,
    theta: Floats, form_of: Ints, top: Floats,
) -> Laws:  # fmt: skip
    """Return coefficients and exponents of all draws in the units of the parameters."""
    flat, of = theta.reshape(-1, theta.shape[2]), form_of.ravel()
    most, q = uses.shape[1], uses.shape[2]
    coefficients = np.zeros((len(of), most + 1))
    exponents = np.zeros((len(of), most + 1, q))
    logarithms = np.zeros(exponents.shape, dtype=np.int64)
    for number, form in enumerate(forms):
        rows = np.flatnonzero(of == number)
        if not len(rows):
            continue
        coefficients[rows, 0] = 1.0 if form.floor else 0.0
        shift, place = (0 if form.floor else 1), int(n_shares[number])
        for t, term in enumerate(form.terms):
            scale = flat[rows, t - shift].copy() if t >= shift else np.zeros(len(rows))
            for p in term:
                power = np.full(len(rows), fixed[number, t, p])
                if is_free:
                    power = np.clip(flat[rows, place], -6.0, 6.0)
                    place += 1
                exponents[rows, t + 1, p] = power
                logarithms[rows, t + 1, p] = logs[number, t, p]
                scale -= power * math.log(top[p])
                if logs[number, t, p]:
                    scale -= logs[number, t, p] * math.log(math.log2(top[p]))
            coefficients[rows, t + 1] = np.exp(np.clip(scale, -650.0, 650.0))
        if not form.terms:
            coefficients[rows, 0] = 1.0
    return Laws(coefficients, exponents, logarithms)


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

    def search(self, values: Floats, weights: Floats, slopes: Floats) -> tuple[Floats, Floats]:
        """Return theta (K, F, P) of each path and form, and its cost (K, F); infinite of many points and a poor form.

        The search for exponents begins at slopes (K, q) times `_STARTS`. Of many points some are looked at first.
        """
        if (step := values.shape[1] // _MANY_LEVELS) > 1:
            some = np.arange(0, values.shape[1], step)
            of_some = self._replace(
                constant=self.constant[..., some], factor=self.factor[..., some], slopes=self.slopes[..., some]
            )
            theta, costs = of_some.search(values[:, some], weights[:, some], slopes)
            path, f = np.nonzero(costs <= 2.0 * _FARTHER * costs.min(axis=1, keepdims=True) + _FAR)
            costs = np.full(costs.shape, np.inf)
            theta[path, f], costs[path, f] = self.best(f, theta[path, f], values[path], weights[path])
            return theta, costs
        is_free = self.is_exponent >= 0
        starts = slopes[:, None, self.is_exponent] * _STARTS[:, None, None]
        starts = np.where(is_free, np.copysign(np.clip(np.abs(starts), _LEAST, _MOST), starts), 0.0)
        path, start, f = np.nonzero(
            np.broadcast_to(is_free.any(axis=1) | (np.arange(len(_STARTS)) == 0)[:, None], starts.shape[:3])
        )
        costs = np.full(starts.shape[:3], np.inf)
        starts[path, start, f], costs[path, start, f] = self.best(
            f, starts[path, start, f], values[path], weights[path]
        )
        best = costs.argmin(axis=1)[:, None]
        theta = np.take_along_axis(starts, best[..., None], axis=1)[:, 0]
        return theta, np.take_along_axis(costs, best, axis=1)[:, 0]


def weigh_forms(
    forms: Forms, points: Floats, values: Floats, noise: Floats, slopes: Floats, log_setting: Floats, normals: Floats
) -> tuple[Floats, Ints, Ints, Ints, Floats]:
    """Draw theta (K, N, P), and form, noise, level that deviates or -1, and weight (K, N).

    `points` (k, q) are logarithms of levels, `values` and `noise` (K, k) of means, and the variances that runs give
    them. Scatter, drift and its length have the prior `log_setting` (H,); a level deviates with a probability, at most
    1/2 in all. `normals` (N, P) are standard normal.
    """
    deviating = deviating_variance(NOISES.tau)
    (n_paths, k), n_draws = values.shape, len(normals)
    theta, costs = forms.search(values, 1.0 / (_REFERENCE + noise), slopes)
    path, number = np.nonzero(costs <= _FARTHER * costs.min(axis=1, keepdims=True) + _FAR)
    theta, middle, precision = theta[path, number], forms.middle[number], forms.precision[number]
    value, shares = forms.values(number, theta)
    gradients = forms.gradients(number, shares)
    # What a law that is linear in theta leaves.
    linear = values[path] - value + (gradients @ (theta - middle)[:, :, None])[:, :, 0]
    probability = min(0.5, DEVIATES * k)
    log_none, log_one = math.log(1.0 - probability), math.log(probability / k)
    prior = forms.log_weight[number] + 0.5 * np.log(precision).sum(axis=1)
    masses = np.full((n_paths, len(log_setting), len(forms.floor), k + 1), -np.inf)
    covariances = Covariances(points, noise, settings())
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
) -> tuple[Floats, Ints, Ints, Ints, Floats]:  # fmt: skip
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
    form, h, level = (each[group].reshape(shape) for each in (form, h, level))
    return theta.reshape(*shape, -1), form, h, level, weight / weight.sum(axis=1, keepdims=True)
