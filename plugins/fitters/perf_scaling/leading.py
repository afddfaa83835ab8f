"""The likeliest law of each path by least squares, where the data determine one; else its growth at the last level."""

from __future__ import annotations

import functools
import itertools
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

import msgspec
import numpy as np

from perf_scaling.posterior.family import DRIFTS_FREELY, deviating_variances
from perf_scaling.terms import Factor, Law, product_text, product_values
from perfcore.base.arrays import Booleans, Floats, Ints

if TYPE_CHECKING:
    from perf_scaling.fitted import FittedModel


Form = tuple[tuple[Factor, ...], ...]  # the terms of a law beside the constant

_DETERMINED = 0.5  # probability that some law holds without drifting freely, for one to be named
_CONSTANT = 0.45  # probability from which on a constant is named
_SMALL_TREND, _SURE_TREND = 0.1, 5.0  # of ln of the means over all levels; in standard errors
_DEPENDENT = 1e-10  # singular values below this share of the largest are rounding
_SHARPEST = 0.1  # standard deviation of an exponent up to which a near fraction may stand for it
_NEAR = 1.0  # standard deviations
_NONE = 1e-9  # deviations below are rounding
_PATHS_AT_ONCE = 1024


class Exponent(NamedTuple):
    """An exponent that is on no grid."""

    parameter: str  # of which parameter, in which term; by the names that texts have
    term: str
    estimate: float  # mean and standard deviation of what the data leave open
    deviation: float


class LeadingLaw(NamedTuple):
    """The likeliest law of a path."""

    path: str
    determined: bool  # some law explains the path
    terms: tuple[str, ...]  # beside the constant, as formulas
    coefficients: tuple[float, ...]  # of the constant and of these, in the unit of the data; >= 0
    standard_errors: tuple[float, ...]  # naN where a coefficient is 0 or no law is determined
    probability: float  # of the law; where none is determined, that there is none
    slopes: tuple[tuple[str, float, float], ...]
    exponents: tuple[Exponent, ...] = ()  # those of the law that were fitted; of several parameters
    reciprocal: bool = False  # the law and its coefficients are of one over what was measured

    @property
    def is_constant(self) -> bool:
        """The likeliest law has no term."""
        return self.determined and not self.terms

    @property
    def formula(self) -> str:
        """The law as a formula; the local power where none is determined."""
        parts = [f"{c:.4g}*{t}" for c, t in zip(self.coefficients[1:], self.terms, strict=True) if c > 0.0]
        parts = [f"{part.split('*', 1)[0]}{part.split('*', 1)[1][1:]}" if "*1/" in part else part for part in parts]
        constant = self.coefficients[0]
        law = " + ".join([f"{constant:.4g}", *parts] if constant > 0.0 or not parts else parts)
        return f"1/({law})" if self.reciprocal else law

    @property
    def text(self) -> str:
        """The law, or that the data determine none."""
        if self.determined:
            return self.formula
        several = len(self.slopes) > 1
        of = ", ".join(f"{name + ' ' if several else ''}{mean:.2g} +- {error:.1g}" for name, mean, error in self.slopes)
        return f"no law determined; local slope{'s' if several else ''} {of}"


def form_of(law: Law) -> Form:
    """Terms of a law beside the constant, without coefficients."""
    terms = [term.factors for term in law if term.factors]
    if len({factor.symbol for factors in terms for factor in factors}) > 1 or _off_grid(terms):
        terms = [tuple(_by_sign(factor) for factor in factors) for factors in terms]
    return tuple(sorted(terms, key=lambda factors: [(f.symbol, f.exponent, f.logarithm) for f in factors]))


def _by_sign(factor: Factor) -> Factor:
    return Factor(factor.symbol, 1.0 if factor.exponent > 0.0 else -1.0, factor.logarithm)


def _off_grid(terms: Sequence[Sequence[Factor]]) -> bool:
    exponents = (factor.exponent for factors in terms for factor in factors)
    return any(abs(e * 60.0 - round(e * 60.0)) > 1e-6 for e in exponents)


def forms_of(model: FittedModel) -> tuple[list[Form], Ints]:
    """Forms of all laws, and the number of that of each."""
    forms = [form_of(law) for law in model.laws]
    numbers = {form: number for number, form in enumerate(dict.fromkeys(forms))}
    return list(numbers), np.array([numbers[form] for form in forms], dtype=np.int64)


def form_text(form: Form, names: Mapping[str, str], reciprocal: bool = False) -> str:
    """Terms beside a constant, with what each symbol is called in them; of rates those of one over them."""
    text = " + ".join(product_text(factors, names) for factors in form)
    return f"1/(c + {text})" if reciprocal and text else text or "a constant"


def leading_laws(model: FittedModel) -> tuple[LeadingLaw, ...]:
    """The likeliest law of each path; its coefficients >= 0 by least squares relative to what is predicted."""
    posterior = model.posterior
    forms, form_of_law = forms_of(model)
    is_law = np.where(posterior.setting >= 0, posterior.settings[posterior.setting, 1] < DRIFTS_FREELY, False)
    form = form_of_law[posterior.law]
    is_flat = np.array([not one for one in forms])
    weight = np.where(is_law, posterior.weight, 0.0)
    share = weight.sum(axis=1)
    best = np.empty(len(form), dtype=np.int64)
    probability = np.empty(len(form))
    for begin in range(0, len(form), _PATHS_AT_ONCE):
        block = slice(begin, begin + _PATHS_AT_ONCE)
        sums = _sums(form[block], weight[block], len(forms))
        # What grows is divided among many forms, and a constant is one.
        best[block] = np.where(is_flat & (sums < _CONSTANT), 0.0, sums).argmax(axis=1)
        probability[block] = np.take_along_axis(sums, best[block, None], axis=1)[:, 0]
    # A constant that drifts may well go on as one, and yet is no law of means that rise or fall.
    is_none = is_flat[best] & _have_trend(model)
    is_open = (share <= _DETERMINED) | is_none
    without = 1.0 - share + np.where(is_none, probability, 0.0)
    local_laws = _local_laws(model, np.flatnonzero(is_open), without)
    of_best = (form == best[:, None]) & (weight > 0.0)
    root_weights = _root_weights(model)
    sorted_terms = [tuple(_sorted_terms(law)) for law in model.laws]
    numbers = {terms: number for number, terms in enumerate(dict.fromkeys(sorted_terms))}
    terms_of_law = np.array([numbers[terms] for terms in sorted_terms])
    paths_of_size: dict[int, list[int]] = defaultdict(list)
    laws: list[LeadingLaw] = [None] * len(form)  # type: ignore[list-item]
    for k, size in enumerate(np.array(list(map(len, forms)))[best].tolist()):
        if is_open[k]:
            laws[k] = next(local_laws)
        else:
            paths_of_size[size].append(k)
    levels = dict(zip(model.symbols, model.measured.T, strict=True))
    every_terms = list(numbers)
    column_of = functools.cache(lambda factors: product_values(factors, levels))
    names = model.parameter_names
    text_of = functools.cache(lambda factors: product_text(factors, names))
    terms = terms_of_law[posterior.law]
    lowest = np.where(of_best, terms, len(numbers)).min(axis=1)
    is_one = lowest == np.where(of_best, terms, -1).max(axis=1)
    for size, paths in paths_of_size.items():
        chosen: list[tuple[Form, tuple[Exponent, ...]]] = []
        for k in paths:
            if is_one[k]:
                chosen.append((every_terms[lowest[k]], ()))
            else:
                components = np.flatnonzero(of_best[k])
                several = [every_terms[number] for number in terms[k, components].tolist()]
                chosen.append(_with_exponents(forms[best[k]], several, weight[k, components], names))
        columns = np.ones((len(paths), len(model.measured), size + 1))
        for row, (chosen_terms, _) in enumerate(chosen):
            for number, factors in enumerate(chosen_terms, start=1):
                columns[row, :, number] = column_of(factors)
        scales = columns.max(axis=1)
        values = np.nan_to_num(1.0 / model.means[paths] if posterior.reciprocal else model.means[paths])
        coefficients, covariance = fit_designs(columns / scales[:, None, :], root_weights[paths], values)
        errors = np.sqrt(np.einsum("kmm->km", covariance))
        errors = np.where(errors > 0.0, errors, np.nan) / scales
        for row, k in enumerate(paths):
            laws[k] = LeadingLaw(
                path=model.paths[k],
                determined=True,
                terms=tuple(text_of(factors) for factors in chosen[row][0]),
                coefficients=tuple((coefficients[row] / scales[row]).tolist()),
                standard_errors=tuple(errors[row].tolist()),
                probability=float(probability[k]),
                slopes=(),
                exponents=chosen[row][1],
                reciprocal=posterior.reciprocal,
            )
    return tuple(laws)


def _have_trend(model: FittedModel) -> Booleans:
    """Whether the means of each path rise or fall as a power of a parameter, by far more than they scatter about it."""
    logs = np.log(model.measured)
    have_trend = np.empty(len(model.means), dtype=np.bool_)
    for begin in range(0, len(have_trend), _PATHS_AT_ONCE):
        block = slice(begin, begin + _PATHS_AT_ONCE)
        means = model.means[block]
        measured = np.isfinite(means) & (means > 0.0)
        values = np.log(np.where(measured, means, 1.0))
        columns = np.where(measured[:, :, None], np.column_stack([np.ones(len(logs)), logs - logs.mean(axis=0)]), 0.0)
        inverse = np.linalg.pinv(columns, rcond=_DEPENDENT)
        slopes = np.einsum("kmn,kn->km", inverse, values)
        squares = ((values - np.einsum("knm,km->kn", columns, slopes)) ** 2).sum(axis=1)
        scatter = np.sqrt(squares / np.maximum(measured.sum(axis=1) - columns.shape[2], 1))
        errors = scatter[:, None] * np.sqrt(np.einsum("kmn,kmn->km", inverse, inverse))
        growth = np.abs(slopes[:, 1:]) * np.ptp(columns[:, :, 1:], axis=1)
        have_trend[block] = ((growth > _SMALL_TREND) & (np.abs(slopes) > _SURE_TREND * errors)[:, 1:]).any(axis=1)
    return have_trend


def _with_exponents(
    form: Form, terms: Sequence[Form], weight: Floats, names: Mapping[str, str]
) -> tuple[Form, tuple[Exponent, ...]]:
    """The terms of a form whose exponents are on no grid, with their means over the weighed laws of a path."""
    share = weight / weight.sum()
    products, exponents = [], []
    for number, factors in enumerate(form):
        product = []
        for place, factor in enumerate(factors):
            drawn = np.array([law[number][place].exponent for law in terms])
            logarithm = terms[0][number][place].logarithm
            mean = float(share @ drawn)
            deviation = float(np.sqrt(share @ (drawn - mean) ** 2))
            if deviation > _NONE:
                product.append(Factor(factor.symbol, _simple(mean, deviation), logarithm))
                exponents.append((factor.symbol, number, mean, deviation))
            else:
                product.append(Factor(factor.symbol, float(drawn[0]), logarithm))
        products.append(tuple(product))
    named = [
        Exponent(names[symbol], product_text(products[number], names), mean, error)
        for symbol, number, mean, error in exponents
    ]
    return tuple(products), tuple(named)


def _sorted_terms(law: Law) -> list[tuple[Factor, ...]]:
    """Terms beside the constant in the order of those of the form."""
    terms = [term.factors for term in law if term.factors]
    if (form_of(law) and _off_grid(terms)) or len({f.symbol for factors in terms for f in factors}) > 1:
        return sorted(terms, key=lambda factors: [tuple(msgspec.structs.astuple(_by_sign(f))) for f in factors])
    return sorted(terms, key=lambda factors: [(f.symbol, f.exponent, f.logarithm) for f in factors])


def _simple(mean: float, deviation: float) -> float:
    """A fraction near an exponent that is known well, the simplest first."""
    if deviation < _SHARPEST:
        for denominator in (1, 2, 3, 4):
            near = Fraction(round(mean * denominator), denominator)
            if near and abs(float(near) - mean) < _NEAR * deviation:
                return float(near)
    return mean


def _local_laws(model: FittedModel, paths: Ints, probability: Floats) -> Iterator[LeadingLaw]:
    """Of some paths, through their medians at the largest levels."""
    if len(paths):
        values = model.band([model.measured.max(axis=0)], 0.5, paths.tolist())[:, 0, 0]
        facts = zip(paths.tolist(), values.tolist(), _slopes(model, paths), probability[paths].tolist(), strict=True)
        yield from (_local_law(model, *path_facts) for path_facts in facts)


def _local_law(
    model: FittedModel, path: int, value: float, slopes: tuple[tuple[str, float, float], ...], probability: float
) -> LeadingLaw:
    """A power of each parameter through a value at the largest levels, with the slopes there."""
    top = model.measured.max(axis=0)
    factors = [
        Factor(symbol, round(mean, 2), 0)
        for symbol, (_, mean, _) in zip(model.symbols, slopes, strict=True)
        if round(mean, 2)
    ]
    factors = [
        f if abs(f.exponent) <= _MOST_SLOPE else Factor(f.symbol, np.copysign(_MOST_SLOPE, f.exponent), 0)
        for f in factors
    ]
    if not factors:
        return LeadingLaw(model.paths[path], False, (), (value,), (float("nan"),), probability, slopes)
    top_product = float(product_values(factors, dict(zip(model.symbols, top[:, None], strict=True)))[0])
    coefficients, errors = (0.0, value / top_product), (float("nan"), float("nan"))
    terms = (product_text(factors, model.parameter_names),)
    return LeadingLaw(model.paths[path], False, terms, coefficients, errors, probability, slopes)


_MOST_SLOPE = 6.0


def _sums(number: Ints, weight: Floats, count: int) -> Floats:
    """Sums of the weights (K, C) of each number below a count (K, count)."""
    place = np.arange(len(number))[:, None] * count + number
    sums = np.bincount(place.ravel(), weight.ravel(), len(number) * count)
    return np.asarray(sums.reshape(len(number), count))


def _slopes(model: FittedModel, paths: Ints) -> list[tuple[tuple[str, float, float], ...]]:
    """Mean and deviation of the exponent of each parameter between the largest levels and twice these."""
    top = model.measured.max(axis=0)
    places = np.tile(top, (1 + len(top), 1))
    places[1:] *= 1.0 + np.eye(len(top))
    slopes: list[tuple[tuple[str, float, float], ...]] = []
    for _, draws in model.draws_in_blocks(places, paths.tolist()):
        exponents = (draws.logs[:, :, 1:] - draws.logs[:, :, :1]) / np.log(2.0)
        for means, deviations in zip(exponents.mean(axis=1).tolist(), exponents.std(axis=1).tolist(), strict=True):
            slopes.append(tuple(zip(model.parameter_names.values(), means, deviations, strict=True)))
    return slopes


def _root_weights(model: FittedModel) -> Floats:
    """One over the standard deviation of each mean (K, n); 0 where a path was not measured."""
    posterior = model.posterior
    tau = np.where(posterior.setting >= 0, posterior.settings[posterior.setting, 0], 0.0)
    variance = np.repeat((posterior.weight * tau**2).sum(axis=1)[:, None], len(model.measured), axis=1)
    extra = posterior.weight[:, :, None] * deviating_variances(tau, len(model.symbols))
    first = np.isfinite(posterior.means).argmax(axis=1)
    for point in range(variance.shape[1]):
        of_point = np.where((first == point)[:, None], extra[:, :, 0], extra[:, :, 1])
        variance[:, point] += np.where(posterior.level == point, of_point, 0.0).sum(axis=1)
    fitted = 1.0 / model.fitted if posterior.reciprocal else model.fitted
    return np.nan_to_num(1.0 / (fitted * np.sqrt(variance + posterior.noise)))


def fit_designs(columns: Floats, root_weights: Floats, values: Floats) -> tuple[Floats, Floats]:
    """Weighted least squares with coefficients >= 0.

    There are few columns, so that all subsets are tried; a column of zeros takes no part.
    """
    n_paths, _, size = columns.shape
    weighted_values = values * root_weights
    least = np.full(n_paths, np.inf)
    coefficients, covariance = np.zeros((n_paths, size)), np.zeros((n_paths, size, size))
    for subset in itertools.product((0.0, 1.0), repeat=size):
        weighted = columns * root_weights[:, :, None] * np.array(subset)
        inverse = np.linalg.pinv(weighted, rcond=_DEPENDENT)
        solution = np.einsum("kmn,kn->km", inverse, weighted_values)
        squares = ((weighted_values - np.einsum("knm,km->kn", weighted, solution)) ** 2).sum(axis=1)
        better = (squares < least) & (solution >= 0.0).all(axis=1)
        least[better], coefficients[better] = squares[better], solution[better]
        covariance[better] = np.einsum("kmn,kjn->kmj", inverse[better], inverse[better])
    return coefficients, covariance
