"""Candidate models of a path: sums of generic terms fitted to the measured range, and what they share of the posterior.

Each candidate is a constant, a term, or a sum of up to three (a constant, what falls, what grows), fitted by weighted
least squares relative to the measured means; a power law with a free exponent is one of them. With RSS the weighted
squares over N runs, the evidence is that of a linear model under Zellner's g prior, g = N (A. Zellner, "On assessing
prior distributions and Bayesian regression analysis with g-prior distributions", 1986): N levels instead where they
scatter more about every candidate than their runs explain. Usual terms count four times as much as others. The best is
the model that is named for the measured range.

What a path does beyond it is up to the posterior, whose laws drift. Each law is shared out among the candidates by
their evidence and by how near they are to it in form and exponents: what drifts in the measured range may be described
there by a sum of more terms. So the candidates' probabilities add up to 1, and their predictions mix to the prediction.
"""

from __future__ import annotations

import functools
import itertools
import math
import re
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from perf_scaling.options import MOST_EXPONENT, Given
from perf_scaling.terms import Factor, function_slope, product_text, product_values
from perf_statistics.student import distributions_for
from perfcore.base.arrays import Booleans, Floats, Ints

if TYPE_CHECKING:
    from perf_scaling.model import ScalingModel

Product = tuple[Factor, ...]  # empty for the constant
Design = tuple[Product, ...]

_TEXTS = "1/4 1/3 1/2 2/3 3/4 4/5 1 5/4 4/3 3/2 5/3 7/4 2 9/4 7/3 5/2 8/3 11/4 3"
_POWERS = tuple(float(Fraction(text)) for text in _TEXTS.split())
_FALLING = (*_POWERS[:7], 1.5, 2.0)
_USUAL = frozenset(
    [(0.0, 1), (0.5, 0), (1.0, 0), (1.0, 1), (1.5, 0), (2.0, 0), (3.0, 0), (-1.0, 0), (-0.5, 0), (0.0, 2), (2.0, 1)]
)
_FALLS = ((-1.0, 0), (-0.5, 0), (-2.0 / 3.0, 0))
_RISES = ((0.0, 1), (0.5, 0), (1.0, 0), (1.0, 1), (2.0, 0))
_MOST_TERMS = 6  # of a parameter, where there are several
_SURE_CHANGE = 0.005  # p-value of a power of the parameters from which on no constant is named
_VARIES = 0.5  # coefficient of variation of the means from which on no constant is named
_MUCH = 4.0  # logarithm of the evidence by which the best beats a constant
_SURE_SCATTER = 0.01  # p-value from which on levels scatter by more than their runs explain
_DEVIATES = 0.5  # probability from which on a level is left out, where so many are measured
_ENOUGH_LEVELS = 5
_DEPENDENT = 1e-10  # determinants of correlations below are rounding
_HARDLY = 0.02  # probability of a parameter that has no part in a model
_APART = 0.13  # of exponents that are tried beyond those of the posterior
_LEAST_VARIANCE = 1e-12
_USUAL_SQUARES = 1e-4  # in `run_variance`, with one degree of freedom
_PATHS_AT_ONCE = 256
_SURE_PART = 2.0  # standard errors
_MOST_CANDIDATES = 8  # of a path, beside the best of each form
# How far apart laws are: exponents that differ by 1, a power of the logarithm, a constant, a term of another kind.
# Laws that are as far apart as _NEAR belong together less by a factor of e.
_NEAR, _LEAST_EVIDENCE, _LEAST_SHARE = 0.5, -30.0, 0.01
_LOGARITHM_APART, _CONSTANT_APART, _KIND_APART = 0.1, 0.3, 3.0
QUANTILES = (0.025, 0.05, 0.1, 0.2, 0.25, 0.3, 0.4, 0.45, 0.5, 0.55, 0.6, 0.7, 0.75, 0.8, 0.9, 0.95, 0.975)  # kept
_Form = tuple[bool, dict[tuple[tuple[int, bool], ...], tuple[tuple[float, int], ...]]]


class Candidate(NamedTuple):
    """A model of one path in the measured range."""

    terms: tuple[str, ...]  # as formulas; "1" is the constant
    products: Design
    coefficients: tuple[float, ...]  # in the unit of the data, or of one over it
    standard_errors: tuple[float, ...]
    fit_error: float  # root mean square of the relative residuals of the means
    evidence: float  # logarithm, relative to that of the best
    reciprocal: bool = False  # the model and its coefficients are of one over what was measured

    @property
    def is_constant(self) -> bool:
        return self.terms == ("1",)

    @property
    def growth(self) -> str:
        """Its terms without coefficients, beside the constant; a rate levels off at its constant."""
        if self.is_constant or not self.reciprocal:
            return " + ".join(term for term in self.terms if term != "1") or "constant"
        if len(self.terms) == 1:
            return self.terms[0].removeprefix("1/") if self.terms[0].startswith("1/") else f"1/({self.terms[0]})"
        return f"1/({' + '.join(self.terms)})"

    @property
    def formula(self) -> str:
        return self.text()

    def text(self, digits: int = 4) -> str:
        """Return a sum of terms with coefficients."""
        if self.reciprocal and len(self.terms) == 1 and re.fullmatch(r"1/[^/*]+", self.terms[0]):
            return f"{1.0 / self.coefficients[0]:.{digits}g}*{self.terms[0][2:]}"
        parts = []
        for term, coefficient in zip(self.terms, self.coefficients, strict=True):
            number = f"{coefficient:.{digits}g}"
            parts.append(number if term == "1" else number + term[1:] if term.startswith("1/") else f"{number}*{term}")
        return f"1/({' + '.join(parts)})" if self.reciprocal else " + ".join(parts)

    def values(self, symbols: Sequence[str], points: Floats) -> Floats:
        """Return what it gives at points (T, q)."""
        return np.asarray(values_of([self], symbols, points)[0])


def values_of(candidates: Sequence[Candidate], symbols: Sequence[str], points: Floats) -> Floats:
    """Return what candidates give at points (T, q), those of the same terms at once: (K, T)."""
    levels, alike = dict(zip(symbols, points.T, strict=True)), dict[Design, list[int]]()
    for k, candidate in enumerate(candidates):
        alike.setdefault(candidate.products, []).append(k)
    sums = np.empty((len(candidates), len(points)))
    for design, own in alike.items():
        coefficients = np.array([candidates[k].coefficients for k in own])
        sums[own] = coefficients @ [product_values(factors, levels) for factors in design]
    return 1.0 / sums if candidates[0].reciprocal else sums


class CandidateRow(NamedTuple):
    """What a candidate shares of the prediction at the target; its laws drift."""

    candidate: Candidate
    probability: float
    predicted: float  # median of a single run
    likely: tuple[float, float]  # ends of its 50% interval
    low: float  # ends of its 95% interval
    high: float
    continued: float  # the value of the formula itself
    quantiles: tuple[float, ...]  # at the levels of `QUANTILES`


def candidate_rows(model: ScalingModel, path: int, point: Floats) -> tuple[CandidateRow, ...]:
    """Return candidates of a path with their probabilities and predictions at a point, likeliest first."""
    (candidates,) = find_candidates(model, [path], every=True)
    posterior = model.posterior.of_paths([path])
    symbols = model.symbols
    owners = [_form(tuple(_factors_of(symbols, factors)) for factors in own.products) for own in candidates]
    evidence = np.array([max(own.evidence, _LEAST_EVIDENCE) if k else 0.0 for k, own in enumerate(candidates)])
    shares = np.zeros((posterior.law.shape[1], len(candidates)))
    for law in np.unique(posterior.law[0][posterior.weight[0] > 0.0]).tolist():
        own = _form(tuple(_factors_of(symbols, term.factors)) for term in model.laws[law])
        logs = evidence - np.array([_distance(own, owner) for owner in owners]) / _NEAR
        shares[posterior.law[0] == law] = np.exp(logs - logs.max())
    total = posterior.weight[0] @ (shares / np.maximum(shares.sum(axis=1, keepdims=True), 1e-300))
    shares[:, total < _LEAST_SHARE * total.max()] = 0.0
    shares = shares / np.maximum(shares.sum(axis=1, keepdims=True), 1e-300)
    probability, quantiles = posterior.divided(point, shares, QUANTILES)
    rows = [
        CandidateRow(
            candidate=candidates[k],
            probability=float(probability[k]),
            predicted=float(quantiles[k, QUANTILES.index(0.5)]),
            likely=(float(quantiles[k, QUANTILES.index(0.25)]), float(quantiles[k, QUANTILES.index(0.75)])),
            low=float(quantiles[k, 0]),
            high=float(quantiles[k, -1]),
            continued=float(candidates[k].values(symbols, point[None])[0]),
            quantiles=tuple(quantiles[k].tolist()),
        )
        for k in np.flatnonzero(probability).tolist()
    ]
    return tuple(sorted(rows, key=lambda row: -row.probability))


def _factors_of(symbols: Sequence[str], factors: Product) -> Iterator[tuple[int, float, int]]:
    return ((symbols.index(factor.symbol), factor.exponent, factor.logarithm) for factor in factors)


def _form(terms: Iterator[tuple[tuple[int, float, int], ...]]) -> _Form:
    """Return whether a law has a constant, and its terms by their parameters and whether they fall."""
    has_constant, kinds = False, {}
    for term in terms:
        if term:
            kinds[tuple((p, e < 0.0) for p, e, _ in sorted(term))] = tuple((e, j) for _, e, j in sorted(term))
        else:
            has_constant = True
    return has_constant, kinds


def _distance(one: _Form, other: _Form) -> float:
    """Return how far two laws are apart; beside what falls and what grows a constant is hardly seen."""
    apart = _CONSTANT_APART if one[0] != other[0] and min(len(one[1]), len(other[1])) < 2 else 0.0
    apart += _KIND_APART * len(one[1].keys() ^ other[1].keys())
    for kind in one[1].keys() & other[1].keys():
        for (e, j), (other_e, other_j) in zip(one[1][kind], other[1][kind], strict=True):
            apart += abs(e - other_e) + _LOGARITHM_APART * abs(j - other_j)
    return apart


def find_candidates(
    model: ScalingModel, paths: Sequence[int] | None = None, every: bool = False
) -> tuple[tuple[Candidate, ...], ...]:
    """Fit the candidates of paths; the first of each is the best in the measured range, and with `every` others too."""
    posterior = model.posterior
    chosen = np.arange(len(model.paths)) if paths is None else np.asarray(paths, dtype=np.int64)
    is_measured = np.isfinite(model.means)
    of_level = (np.where(posterior.level == point, posterior.weight, 0.0) for point in range(len(model.measured)))
    share = np.stack([weight.sum(axis=1) for weight in of_level], axis=1)  # probability that a level is an exception
    measured = is_measured & ~((share > _DEVIATES) & (is_measured.sum(axis=1) >= _ENOUGH_LEVELS)[:, None])
    values = np.where(is_measured, 1.0 / model.means if posterior.reciprocal else model.means, 1.0)
    counts = np.where(measured, posterior.counts, 0.0)
    found: dict[int, tuple[Candidate, ...]] = {}
    for block in _blocks(model, measured, chosen):
        designs, is_free = _designs(model, int(block[0]))
        regression = _Regression(model, values[block], counts[block], posterior.spread[block], is_free, every)
        found.update(zip(block.tolist(), regression.weigh(designs), strict=True))
    return tuple(found[k] for k in chosen.tolist())


def _blocks(model: ScalingModel, measured: Booleans, chosen: Ints) -> Iterator[Ints]:
    """Yield paths that have the same candidates."""
    if len(model.symbols) > 1:
        yield from chosen[:, None]
        return
    patterns, pattern = np.unique(measured[chosen], axis=0, return_inverse=True)
    for number in range(len(patterns)):
        paths = chosen[pattern.ravel() == number]
        yield from np.split(paths, range(_PATHS_AT_ONCE, len(paths), _PATHS_AT_ONCE))


def _designs(model: ScalingModel, path: int) -> tuple[list[Design], bool]:
    """Return candidates of a path, and whether a power with free exponents is one of them."""
    given = Given.of(model.origin.options, model.columns)
    is_free = given is None
    if len(model.symbols) == 1:
        symbol = model.symbols[0]
        rising, falling = ([(Factor(symbol, *term),) for term in terms] for terms in _generic_terms(given))
        if given is not None:
            top = float(model.measured[:, 0].max())
            for name in given.functions:
                slope = function_slope(name, symbol, top)
                (rising if slope >= 0.0 else falling).append((Factor(symbol, slope, 0, name),))
        products: list[Product] = [*rising, *falling]
        usual = ([(Factor(symbol, *term),) for term in terms] for terms in (_FALLS, _RISES))
        both = list(itertools.product(*usual) if is_free else itertools.product(falling, rising))
        return [
            ((),),
            *((p,) for p in products),
            *(((), p) for p in products),
            *both,
            *(((), *p) for p in both),
        ], is_free
    terms = {symbol: _likely_terms(model, path, symbol, given) for symbol in model.symbols}
    terms = {symbol: own for symbol, own in terms.items() if own}
    products = [own for factors in terms.values() for own in factors]
    designs: list[Design] = [((),), *((p,) for p in products), *(((), p) for p in products)]
    for first, second in itertools.combinations(terms.values(), 2):
        for a, b in itertools.product(first, second):
            designs += [(a + b,), ((), a + b), (a, b), ((), a, b), (a, a + b), (b, a + b)]
    if len(terms) > 2:
        for several in itertools.product(*(own[:3] for own in terms.values())):
            designs += [(sum(several, ()),), ((), sum(several, ())), ((), *several)]
    return designs, is_free


def _generic_terms(given: Given | None) -> tuple[list[tuple[float, int]], list[tuple[float, int]]]:
    """Return terms that rise and that fall, as exponents and powers of the logarithm, as far as a user allows."""
    if given is not None:
        terms = given.terms(("0", *_TEXTS.split(), *(f"-{text}" for text in _TEXTS.split())))
        return [term for term in terms if term[0] >= 0.0], [term for term in terms if term[0] < 0.0]
    rising = [(i, j) for i in (0.0, *_POWERS) for j in (0, 1, 2) if i or j]
    return rising, [(-i, j) for i in _FALLING for j in (0, 1)]


def _likely_terms(model: ScalingModel, path: int, symbol: str, given: Given | None) -> list[Product]:
    """Return terms of one of several parameters near those of the posterior of a path, the nearest first."""
    posterior = model.posterior
    place = model.symbols.index(symbol)
    components = posterior.weight[path] > 0.0
    laws = posterior.law[path][components]
    weight = np.repeat(posterior.weight[path][components][:, None], posterior.laws.exponents.shape[1], axis=1)
    exponents, logarithms = posterior.laws.exponents[laws, :, place], posterior.laws.logarithms[laws, :, place]
    has = ((exponents != 0.0) | (logarithms > 0)) & (posterior.laws.coefficients[laws] > 0.0)
    if not has.any() or weight[has].sum() < _HARDLY:
        return []
    order = np.argsort(exponents[has])
    cumulated = np.cumsum(weight[has][order]) / weight[has].sum()
    low, middle, high = exponents[has][order][np.searchsorted(cumulated, [0.1, 0.5, 0.9]).clip(max=len(order) - 1)]
    chosen = [
        (i, j)
        for i, j in itertools.chain(*_generic_terms(given))
        if low - _APART <= i <= high + _APART and (j == 0 or (given and given.logarithms) or j == 1)
    ]
    chosen.sort(key=lambda term: (abs(term[0] - middle) + 0.1 * term[1], term))
    return [(Factor(symbol, *term),) for term in chosen[:_MOST_TERMS]]


class _Regression:
    """Weighted least squares of the values (K, n) of paths that have the same candidates."""

    def __init__(
        self, model: ScalingModel, values: Floats, counts: Floats, spread: Floats, is_free: bool, every: bool
    ) -> None:
        self.is_free = is_free  # powers with free exponents are candidates
        self.every = every  # whether candidates beside the best are wanted
        self.names = model.parameter_names
        self.reciprocal = model.posterior.reciprocal
        self.measured = counts[0] > 0.0
        self.levels = dict(zip(model.symbols, model.measured[self.measured].T, strict=True))
        self.values, counts = values[:, self.measured], counts[:, self.measured]
        freedom = np.maximum(counts - 1.0, 0.0).sum(axis=1)
        # Without the usual noise that `run_variance` adds where the runs themselves tell.
        own = np.divide(spread * (freedom + 1.0) - _USUAL_SQUARES, freedom, out=spread.copy(), where=freedom > 1.0)
        self.freedom = np.maximum(freedom, 1.0)
        self.variances = np.maximum(own, _LEAST_VARIANCE)[:, None] / counts
        self.n_runs = counts.sum(axis=1)

    def weigh(self, designs: Sequence[Design]) -> list[tuple[Candidate, ...]]:
        n = self.values.shape[1]
        fits = self._fits(designs, self.variances, self.freedom)
        squares = np.where(fits.valid, fits.squares, np.inf)
        left = np.maximum(n - fits.sizes, 1)
        with np.errstate(invalid="ignore"):
            explained = distributions_for(self.freedom).fdtrc(left, self.freedom[:, None], squares / left)
        scatters = (explained.max(axis=1) < _SURE_SCATTER) & (n > _ENOUGH_LEVELS)
        found = self._candidates(fits, self.freedom, self.n_runs, np.flatnonzero(~scatters))
        if scatters.any():
            fits = self._fits(designs, np.ones_like(self.variances), np.zeros_like(self.freedom))
            counts = np.full(len(self.values), float(n))
            found |= self._candidates(fits, np.zeros_like(self.freedom), counts, np.flatnonzero(scatters))
        return [found[k] for k in range(len(found))]

    def _fits(self, designs: Sequence[Design], variances: Floats, freedom: Floats) -> _Fits:
        n_paths, n = self.values.shape
        roots = 1.0 / (self.values * np.sqrt(variances))
        column_of = functools.cache(lambda factors: product_values(factors, self.levels))
        usable = [design for design in designs if len(design) < max(n, 2)]
        with np.errstate(all="ignore"):
            columns = {factors: column_of(factors) for design in usable for factors in design}
        bad = {factors for factors, column in columns.items() if not (np.isfinite(column) & (column >= 0.0)).all()}
        fits = _Fits(n_paths)
        for size in sorted({len(design) for design in usable}):
            own = [design for design in usable if len(design) == size and not bad.intersection(design)]
            if own:
                stacked = np.array([[columns[factors] for factors in design] for design in own]).transpose(0, 2, 1)
                fits.add(own, stacked, roots, self.values * roots, freedom)
        powers = [np.log(level) for level in self.levels.values() if np.ptp(level) > 0.0]
        if len(powers) == len(self.levels) and n > len(powers) + 1:
            stacked = np.stack([np.ones(n), *powers], axis=1)[None]
            roots = 1.0 / np.sqrt(variances)
            fits.add([()], stacked, roots, np.log(self.values) * roots, freedom)
        return fits

    def _candidates(self, fits: _Fits, freedom: Floats, count: Floats, paths: Ints) -> dict[int, tuple[Candidate, ...]]:
        """Return candidates of paths: the best of each, and with `every` the best of each form and the next ones."""
        evidence = self._evidence(fits, freedom, count)
        best = np.where(evidence[:, 0] > evidence.max(axis=1) - _MUCH, 0, evidence.argmax(axis=1))
        # Without any evidence the first that can be fitted.
        best = np.where(fits.valid[np.arange(len(best)), best], best, fits.valid.argmax(axis=1))
        if not self.every:
            alike = {int(c): paths[best[paths] == c] for c in np.unique(best[paths])}
            return {
                k: (candidate,)
                for c, own in alike.items()
                for k, candidate in zip(own.tolist(), self._of_design(fits, own, c, freedom), strict=True)
            }
        found = {}
        for k in paths.tolist():
            order = np.argsort(-evidence[k], kind="stable").tolist()
            order = [int(best[k]), *(c for c in order if c != best[k])]
            valid = [c for c in order if fits.valid[k, c] and (c == order[0] or not np.isnan(evidence[k, c]))]
            best_of_form: dict[Any, int] = {}
            for c in valid:
                best_of_form.setdefault(fits.forms[c], c)
            chosen = [c for c in valid if c in {*valid[:_MOST_CANDIDATES], *best_of_form.values()}] or [0]
            off = evidence[k] - evidence[k].max()
            found[k] = tuple(self._of_design(fits, np.array([k]), c, freedom, float(off[c]))[0] for c in chosen)
        return found

    def _evidence(self, fits: _Fits, freedom: Floats, count: Floats) -> Floats:
        """Return the logarithm of the evidence of each design (K, D); levels scatter without degrees of freedom."""
        n, sizes = self.values.shape[1], fits.sizes
        with np.errstate(divide="ignore", invalid="ignore"):
            if freedom.any():
                penalty = 0.5 * (sizes - 1) * np.log(count)[:, None]
                power = 0.5 * (freedom + n - 1.0)[:, None] * np.log(freedom[:, None] + fits.squares)
                evidence = fits.log_prior - penalty - power
            else:  # Akaike's criterion for few levels (C. Hurvich and C.-L. Tsai, 1989)
                estimated = sizes + 1.0
                penalty = np.where(n > estimated + 1.0, estimated * n / np.maximum(n - estimated - 1.0, 1.0), np.inf)
                evidence = fits.log_prior - 0.5 * n * np.log(np.maximum(fits.squares, _LEAST_VARIANCE)) - penalty
        evidence = np.where(fits.valid, evidence, -np.inf)
        no_constant = np.std(self.values, axis=1) > _VARIES * np.mean(self.values, axis=1)
        if not fits.designs[-1]:
            scale, left = self._scale(fits, -1, freedom)
            errors = np.sqrt(np.diagonal(fits.covariance[-1], axis1=1, axis2=2)[:, 1:] * scale[:, None])
            ratios = -np.abs(fits.coefficients[-1][:, 1:]) / np.maximum(errors, 1e-300)
            changes = distributions_for(self.freedom).stdtr(left[:, None], ratios).min(axis=1)
            if not self.is_free:
                evidence[:, -1] = -np.inf
            no_constant |= changes < 0.5 * _SURE_CHANGE / errors.shape[1]
        evidence[no_constant & np.isfinite(evidence[:, 1:]).any(axis=1), 0] = -np.inf
        return evidence

    def _scale(self, fits: _Fits, c: int, freedom: Floats) -> tuple[Floats, Floats]:
        """Return the factor of the variances (K,) that residuals ask for, and its degrees of freedom."""
        left = max(self.values.shape[1] - int(fits.sizes[c]), 1)
        return (freedom + fits.squares[:, c]) / (freedom + left), freedom + left

    def _of_design(self, fits: _Fits, paths: Ints, c: int, freedom: Floats, evidence: float = 0.0) -> list[Candidate]:
        """Return the candidate with one design of each of some paths."""
        coefficients, design, values = fits.coefficients[c][paths], fits.designs[c], self.values[paths]
        scale, _ = self._scale(fits, c, freedom)
        errors = np.sqrt(np.diagonal(fits.covariance[c][paths], axis1=1, axis2=2) * scale[paths, None])
        if design:
            terms = [tuple(product_text(factors, self.names) if factors else "1" for factors in design)] * len(paths)
            designs = [design] * len(paths)
            fitted = coefficients @ [product_values(factors, self.levels) for factors in design]
        else:  # exponents as they are written, and the factor that goes with them
            exponents = np.array([[float(f"{exponent:.3g}") for exponent in row[1:]] for row in coefficients.tolist()])
            exponents = exponents.clip(-MOST_EXPONENT, MOST_EXPONENT)  # steeper than any law: noise of tiny times
            logs = np.stack([np.log(level) for level in self.levels.values()], axis=1)
            powers = exponents @ logs.T
            coefficients = np.exp(np.mean(np.log(values) - powers, axis=1))[:, None]
            errors = errors[:, :1] * coefficients
            designs = [
                (tuple(Factor(s, e, 0) for s, e in zip(self.levels, row, strict=True) if e),)
                for row in exponents.tolist()
            ]
            text = functools.cache(lambda factors: product_text(factors, self.names) if factors else "1")
            terms = [(text(factors),) for (factors,) in designs]
            fitted = coefficients * np.exp(powers)
        residuals = np.sqrt(np.mean((values / fitted - 1.0) ** 2, axis=1)).tolist()
        columns = (terms, designs, map(tuple, coefficients.tolist()), map(tuple, errors.tolist()), residuals)
        return [Candidate(*row, evidence, self.reciprocal) for row in zip(*columns, strict=True)]


def _log_prior(design: Design) -> float:
    """Return the logarithm of the prior: usual terms are likelier, sums of two that are no constants are not."""
    if not design:
        return math.log(2.0)
    terms = [factors for factors in design if factors]
    usual = sum((f.exponent, f.logarithm) in _USUAL for factors in terms for f in factors)
    return math.log(4.0) * (usual - (len(terms) > 1))


class _Fits:
    """Fits of D designs to K paths."""

    def __init__(self, n_paths: int) -> None:
        self.designs: list[Design] = []  # empty: a power with free exponents
        self.forms: list[tuple[Any, ...]] = []  # which terms they have, but for exponents
        self.coefficients: list[Floats] = []  # (K, m), and their covariances (K, m, m), of each design
        self.covariance: list[Floats] = []
        self.sizes = np.empty(0, dtype=np.int64)
        self.log_prior = np.empty(0)
        self.squares, self.valid = np.empty((n_paths, 0)), np.empty((n_paths, 0), dtype=np.bool_)

    def add(
        self, designs: Sequence[Design], columns: Floats, roots: Floats, weighted_values: Floats, freedom: Floats
    ) -> None:
        """Fit designs of as many columns (D, n, m) each by least squares.

        Invalid are those with coefficients that are not positive, and sums of what falls and what grows of which one
        part hardly differs from 0.
        """
        n, size = columns.shape[1:]
        weights = roots * roots
        normal, right = np.zeros((len(roots), len(designs), size, size)), np.zeros((len(roots), len(designs), size))
        for i in range(n):  # not by BLAS, whose sums depend on how many paths there are
            normal += weights[:, i, None, None, None] * (columns[:, i, :, None] * columns[:, i, None, :])
            right += (roots[:, i] * weighted_values[:, i])[:, None, None] * columns[:, i]
        lengths = np.maximum(np.sqrt(np.einsum("kdaa->kda", normal)), 1e-300)
        normal /= lengths[..., :, None] * lengths[..., None, :]
        inverse, determinant = _inverses(normal)
        singular = ~(determinant > _DEPENDENT)
        right /= lengths
        solution = sum(inverse[..., a] * right[..., a, None] for a in range(size))
        coefficients, fitted = solution / lengths, np.zeros((len(roots), len(designs), n))
        for a in range(size):
            fitted += coefficients[:, :, a, None] * columns[:, :, a]
        fitted *= roots[:, None]
        squares = ((weighted_values[:, None] - fitted) ** 2).sum(axis=2)
        valid = ~singular
        if designs[0]:
            parts = np.array([sum(map(bool, design)) for design in designs])
            scale = (freedom[:, None] + squares) / np.maximum(freedom + n - size, 1.0)[:, None]
            least = _SURE_PART * np.sqrt(np.diagonal(inverse, axis1=2, axis2=3) * scale[:, :, None])
            valid &= (solution > np.where((parts > 1)[:, None], least, 0.0)).all(axis=2) & (fitted > 0.0).all(axis=2)
        self.designs += designs
        self.forms += [
            tuple(tuple((f.symbol, f.exponent < 0.0) for f in product) for product in own) or (None,) for own in designs
        ]
        self.coefficients += list(np.swapaxes(coefficients, 0, 1))
        self.covariance += list(np.swapaxes(inverse / (lengths[:, :, :, None] * lengths[:, :, None, :]), 0, 1))
        self.sizes = np.append(self.sizes, np.full(len(designs), size))
        self.log_prior = np.append(self.log_prior, list(map(_log_prior, designs)))
        self.squares, self.valid = np.hstack([self.squares, squares]), np.hstack([self.valid, valid])


def _inverses(matrices: Floats) -> tuple[Floats, Floats]:
    """Return inverses and determinants of correlation matrices, of up to three columns without LAPACK."""
    size = matrices.shape[-1]
    if size == 1:
        return np.ones_like(matrices), matrices[..., 0, 0]
    if size > 3:
        determinants = np.linalg.det(matrices)
        regular = (determinants > _DEPENDENT)[..., None, None]
        return np.linalg.inv(np.where(regular, matrices, np.eye(size))), determinants
    inverse = np.empty_like(matrices)
    if size == 2:
        r = matrices[..., 0, 1]
        determinants = (1.0 - r) * (1.0 + r)
        inverse[..., 0, 0] = inverse[..., 1, 1] = 1.0
        inverse[..., 0, 1] = inverse[..., 1, 0] = -r
    else:
        a, b, c = matrices[..., 0, 1], matrices[..., 0, 2], matrices[..., 1, 2]
        inverse[..., 0, 0], inverse[..., 1, 1] = (1.0 - c) * (1.0 + c), (1.0 - b) * (1.0 + b)
        inverse[..., 2, 2] = (1.0 - a) * (1.0 + a)
        inverse[..., 0, 1] = inverse[..., 1, 0] = b * c - a
        inverse[..., 0, 2] = inverse[..., 2, 0] = a * c - b
        inverse[..., 1, 2] = inverse[..., 2, 1] = a * b - c
        determinants = inverse[..., 0, 0] + a * inverse[..., 0, 1] + b * inverse[..., 0, 2]
    regular = determinants > _DEPENDENT
    inverse /= np.where(regular, determinants, 1.0)[..., None, None]
    return inverse, determinants
