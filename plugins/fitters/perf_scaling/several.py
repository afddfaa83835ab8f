"""Weighing the laws of several parameters: sums and products of powers with continuous exponents.

Every parameter matters or does not. Given those that do, a law is a power of each in a product or a sum, or a product
and one of its factors, each with a floor or without. Exponents and the shares of terms at the largest levels have wide
normal priors; noise, drift of every slope, and a level that deviates are those of one parameter.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from perf_scaling.family import DEVIATES, NOISES, PRIOR, deviating_variance, settings
from perf_scaling.forms import Forms, weigh_forms
from perf_scaling.options import Given
from perf_scaling.posterior import Laws, Posterior, in_parts
from perfcore.base.arrays import Booleans, Floats, Ints
from perfcore.base.errors import OptionError

_PARTS, _PARTS_OF_MANY = 192, 96  # draws of a law of each path
_MANY = 500  # paths, of which fewer draws do, as nobody looks at each
_NUMBERS_AT_ONCE = 1 << 20
_SEED = 7041

_EXPONENT, _EXPONENT_DEVIATION = 0.5, 1.25
_SHARE, _SHARE_DEVIATION = 0.0, 2.5  # logarithm of a term over the one before it, at the largest levels
_STARTS = (1.0, 2.0)  # times the slope: exponents beside a floor are steeper
_REFERENCE = 0.02**2  # scatter with which the best exponents are looked for

_NOTHING, _SEVERAL = 0.1, 0.5  # probability that no parameter matters, and that all do; the rest for the others
_MOST_APART = 2  # factors that have logarithms each for itself
_LOGARITHM = 0.8  # weight of a logarithm beside a power with a free exponent
_MIXED = 0.25  # weight of a product and one of its factors beside a sum or a product
_MOST_GIVEN = 3000  # laws of exponents that a user names


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
    free, fixed, logs, chosen = _laws(forms, allowed, q, bool((points > 1.0).all()))
    terms = max(1, *(len(form.terms) for form in chosen))
    uses = np.zeros((len(chosen), terms, q), dtype=np.int64)
    for number, form in enumerate(chosen):
        for t, term in enumerate(form.terms):
            uses[number, t, list(term)] = 1
    n_shares = np.array([max(len(form.terms) - (0 if form.floor else 1), 0) for form in chosen])
    sizes = n_shares + np.where(free, uses.sum(axis=(1, 2)), 0)
    width = max(1, int(sizes.max()))
    middle, precision = np.zeros((len(chosen), width)), np.ones((len(chosen), width))
    for number in range(len(chosen)):
        middle[number, : n_shares[number]] = _SHARE
        middle[number, n_shares[number] :] = _EXPONENT
        precision[number, : n_shares[number]] = _SHARE_DEVIATION**-2
        precision[number, n_shares[number] :] = _EXPONENT_DEVIATION**-2
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
        terms_at = [_terms_at(form, bool(free[f]), fixed[f], logs[f], width, *at) for f, form in enumerate(chosen)]
        constant, factor, of_theta, is_exponent = map(np.array, zip(*terms_at, strict=True))
        floor = np.array([float(form.floor or not form.terms) for form in chosen])
        forms_at = Forms(floor, constant, factor, of_theta, is_exponent, middle, precision, log_weights)

        def part(chunk: slice, paths: Ints = paths, used: Ints = used, forms_at: Forms = forms_at) -> None:
            rows = paths[chunk]
            draws = weigh_forms(
                forms_at, levels[used], values[np.ix_(rows, used)], noise[np.ix_(rows, used)], slopes[rows],
                np.array(_STARTS), settings(), np.log(class_share), DEVIATES, deviating_variance(NOISES.tau),
                _REFERENCE, normals,
            )  # fmt: skip
            theta[rows], form_of[rows], setting[rows], weight[rows] = draws[0], draws[1], draws[2], draws[4]
            level[rows] = np.append(used, -1)[draws.level]

        size = len(NOISES.tau) * len(chosen) * (len(used) + 1)
        in_parts(part, len(paths), max(1, _NUMBERS_AT_ONCE // size))
    setting = np.where(weight > 0.0, setting, -1)
    laws = _stored_laws(chosen, uses, free, fixed, logs, n_shares, theta, form_of, top)
    law = np.where(weight > 0.0, np.arange(form_of.size).reshape(form_of.shape), -1)
    order = np.argsort(weight <= 0.0, axis=1, kind="stable")
    law, setting, level, weight = (np.take_along_axis(array, order, axis=1) for array in (law, setting, level, weight))
    return Posterior(points, means, counts, spread, laws, settings(), law, setting, level, weight)


def _terms_at(
    form: _Form, free: bool, fixed: Floats, logs: Ints, width: int, levels: Floats, base: Floats
) -> tuple[Floats, Floats, Floats, Ints]:
    """Return terms of a form as `Forms` has them, at points (k, q) by logarithms of levels over the largest."""
    n_terms, shift = len(form.terms), 0 if form.floor else 1
    shares = max(n_terms - shift, 0)
    factor = np.zeros((len(logs), len(levels)))
    factor[:n_terms] = (base ** logs[:n_terms, None]).prod(axis=2)
    slopes, is_exponent = np.zeros((width, *factor.shape)), np.full(width, -1)
    slopes[range(shares), range(shift, shift + shares)] = 1.0
    places = [(t, p) for t, term in enumerate(form.terms) for p in term] if free else []
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
) -> tuple[Booleans, Floats, Ints, list[_Form]]:
    """Return forms with free exponents, or with every choice of those given: if free, exponents, logarithms.

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
    return np.full(len(chosen), allowed is None), np.array(fixed), np.array(logs), chosen


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
    forms: Sequence[_Form], uses: Ints, free: Booleans, fixed: Floats, logs: Ints, n_shares: Ints,
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
                if free[number]:
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
